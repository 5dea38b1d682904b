// A small JSON value: strict to read, exact to write.
//
// Why our own: policies, tags and merge patches live in core/, which has no third-party headers;
// stored documents must keep the text of their numbers and the order of their members; and every
// fault must name the place where it is. Not for megabyte inputs from strangers: the parser bounds
// depth, and the caller bounds size.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ff/error.h>

namespace ff::js {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
/// Members in the order written. Looking one up is linear: objects here are small.
using Object = std::vector<Member>;

/// A number as it was spelled; parsed on demand.
struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
};

class Value {
  public:
    Value() = default;
    Value(std::nullptr_t) {}                                      // NOLINT
    Value(bool b) : data_(b) {}                                   // NOLINT
    Value(std::int64_t n) : data_(Number{std::to_string(n)}) {}   // NOLINT
    Value(std::uint64_t n) : data_(Number{std::to_string(n)}) {}  // NOLINT
    Value(int n) : data_(Number{std::to_string(n)}) {}            // NOLINT
    Value(std::uint32_t n) : data_(Number{std::to_string(n)}) {}  // NOLINT
    Value(double d);                                              // NOLINT: finite only
    Value(Number n) : data_(std::move(n)) {}                      // NOLINT
    Value(const char* s) : data_(std::string(s)) {}               // NOLINT
    Value(std::string_view s) : data_(std::string(s)) {}          // NOLINT
    Value(std::string s) : data_(std::move(s)) {}                 // NOLINT
    Value(Array a) : data_(std::move(a)) {}                       // NOLINT
    Value(Object o) : data_(std::move(o)) {}                      // NOLINT
    /// An object: `json{{"ok", true}, {"n", 3}}`.
    Value(std::initializer_list<Member> members) : data_(Object(members)) {}

    bool operator==(const Value&) const = default;

    [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
    [[nodiscard]] const bool* if_bool() const { return std::get_if<bool>(&data_); }
    [[nodiscard]] const Number* if_number() const { return std::get_if<Number>(&data_); }
    [[nodiscard]] const std::string* if_string() const { return std::get_if<std::string>(&data_); }
    [[nodiscard]] const Array* if_array() const { return std::get_if<Array>(&data_); }
    [[nodiscard]] const Object* if_object() const { return std::get_if<Object>(&data_); }
    Array* if_array() { return std::get_if<Array>(&data_); }
    Object* if_object() { return std::get_if<Object>(&data_); }

    /// The value as an integer: a number without fraction or exponent (`5`, not `5.0`) that fits.
    [[nodiscard]] std::optional<std::int64_t> as_int64() const;
    [[nodiscard]] std::optional<std::uint64_t> as_uint64() const;
    /// Any number that is finite as a double.
    [[nodiscard]] std::optional<double> as_double() const;

    /// The member of an object (the last of that name), or null when absent or not an object.
    [[nodiscard]] const Value* find(std::string_view name) const;
    /// Sets or appends a member; the value must be an object.
    void set(std::string name, Value value);

  private:
    std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

struct ParseLimits {
    std::size_t depth_max = 64;
};

/// One JSON document and nothing after it. Strict RFC 8259: UTF-8 checked, no NaN, no trailing
/// commas, no comments, lone surrogates refused. Duplicate members: the last one wins, at the
/// place of the first. Errors are `invalid_input` with detail `<what> at line L column C`.
expected<Value> parse(std::string_view text, ParseLimits limits = {});

/// Compact text. Strings are escaped minimally; numbers appear as they were spelled.
std::string dump(const Value& value);
/// The same with line breaks and two spaces a level.
std::string dump_pretty(const Value& value);

/// Appends a quoted and escaped string; for hot paths that write JSON without building values.
void append_quoted(std::string& out, std::string_view text);

}  // namespace ff::js

namespace ff {
using json = js::Value;
}  // namespace ff
