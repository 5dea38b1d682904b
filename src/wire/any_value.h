// A value of any type that a member of a request may have, for those who handle members one like
// the other. What differs between types is a table of functions, made once a type; so neither the
// descriptions of requests nor those who are shown them are templates.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/query_text.h"
#include "wire/schemas.h"
#include "wire/values.h"

namespace ff::wire {

/// What can be done with values of a type. Null is what no request needs of it.
struct ValueKind {
    void (*write)(std::string& out, const void* value) = nullptr;
    Fault (*read)(const json& value, void* out) = nullptr;
    /// Of a path or a query. An optional gets a value, a list one more.
    Fault (*parse)(std::string_view text, void* out) = nullptr;
    /// For a path or a query: none of an empty optional, many of a list.
    std::vector<std::string> (*texts)(const void* value) = nullptr;
    bool (*is_default)(const void* value) = nullptr;
    json (*schema)() = nullptr;   ///< of an optional: of what it may hold
    std::string_view words = {};  ///< that it may be, if it is one, as enum_text() gives them
};

namespace detail {

template <class T>
void write_any(std::string& out, const void* value) {
    write(out, *static_cast<const T*>(value));
}
template <class T>
Fault read_any(const json& value, void* out) {
    return read(value, *static_cast<T*>(out));
}
template <class T>
bool is_default_any(const void* value) {
    return *static_cast<const T*>(value) == T{};
}

/// How a value, a value that may be absent and a list of values stand in a query.
template <class T>
struct InQuery {
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        return parse_text(text, *static_cast<T*>(out));
    }
    static std::vector<std::string> texts(const void* value) {
        return {text_of(*static_cast<const T*>(value))};
    }
};
template <class T>
struct InQuery<std::optional<T>> {
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        T parsed{};
        Fault fault = parse_text(text, parsed);
        if (fault.empty()) {
            *static_cast<std::optional<T>*>(out) = std::move(parsed);
        }
        return fault;
    }
    static std::vector<std::string> texts(const void* value) {
        const auto& held = *static_cast<const std::optional<T>*>(value);
        return held ? std::vector{text_of(*held)} : std::vector<std::string>();
    }
};
template <class T>
struct InQuery<std::vector<T>> {
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        return parse_text(text, static_cast<std::vector<T>*>(out)->emplace_back());
    }
    static std::vector<std::string> texts(const void* value) {
        std::vector<std::string> out;
        for (const T& item : *static_cast<const std::vector<T>*>(value)) {
            out.push_back(text_of(item));
        }
        return out;
    }
};

template <class T>
struct SchemaOf {
    static json make() { return schemas::of(T{}); }
};
template <class T>
struct SchemaOf<std::optional<T>> : SchemaOf<T> {};

template <class T>
consteval ValueKind kind_of() {
    using Item = typename InQuery<T>::Item;
    ValueKind kind;
    if constexpr (std::equality_comparable<Item>) {
        kind.is_default = &is_default_any<T>;
    }
    if constexpr (requires(std::string& out, const Item& value) { write(out, value); }) {
        kind.write = &write_any<T>;
    }
    if constexpr (requires(const json& value, Item& out) { read(value, out); }) {
        kind.read = &read_any<T>;
    }
    if constexpr (requires(std::string_view text, Item& out) { parse_text(text, out); }) {
        kind.parse = &InQuery<T>::parse;
        kind.texts = &InQuery<T>::texts;
    }
    if constexpr (requires(const Item& item) { schemas::of(item); }) {
        kind.schema = &SchemaOf<T>::make;
    }
    if constexpr (WordEnum<T>) {
        kind.words = enum_text(T{});
    }
    return kind;
}

}  // namespace detail

template <class T>
inline constexpr ValueKind value_kind = detail::kind_of<T>();

class AnyValue {
  public:
    template <class T>
        requires(!std::same_as<T, AnyValue>)
    AnyValue(T& value)  // NOLINT(google-explicit-constructor): every member is one
        : kind_(&value_kind<T>), at_(&value) {}
    /// Ids differ in their type only.
    template <class Tag>
    AnyValue(UuidId<Tag>& id)  // NOLINT(google-explicit-constructor)
        : AnyValue(id.uuid) {}

    void write(std::string& out) const { kind_->write(out, at_); }
    Fault read(const json& value) const { return kind_->read(value, at_); }
    Fault parse(std::string_view text) const { return kind_->parse(text, at_); }
    [[nodiscard]] std::vector<std::string> texts() const { return kind_->texts(at_); }
    [[nodiscard]] bool is_default() const { return kind_->is_default(at_); }
    [[nodiscard]] json schema() const { return kind_->schema(); }
    [[nodiscard]] std::string_view words() const { return kind_->words; }

  private:
    const ValueKind* kind_;
    void* at_;
};

}  // namespace ff::wire
