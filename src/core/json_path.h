// Looking into a result: `$.a.b[0]`, and conditions such as `$.score >= 0.8`.
//
// A path is `$` followed by members (`.name` or `["any name"]`) and indexes (`[0]`). A condition is
// a path, a path with a comparison (== != < <= > >=) and a JSON value, or `!` before a path. A path
// alone holds when it finds something that is not null, false, 0 or empty. Numbers compare as
// numbers, texts as texts; what cannot be compared is not equal and not smaller or greater.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ff/error.h>
#include <ff/json.h>

namespace ff::core {

class JsonPath {
  public:
    /// `invalid_input` naming `field` and the column of the fault.
    static expected<JsonPath> parse(std::string_view field, std::string_view text);
    /// What it leads to, or null.
    [[nodiscard]] const js::Value* find(const js::Value& root) const;

  private:
    friend class Condition;
    std::vector<std::variant<std::string, std::size_t>> steps_;
};

class Condition {
  public:
    static expected<Condition> parse(std::string_view field, std::string_view text);
    /// Nothing to look at: false, or true for `!`.
    [[nodiscard]] bool holds(const js::Value* root) const;

  private:
    enum class Compare : std::uint8_t { truth, not_truth, eq, ne, lt, le, gt, ge };
    JsonPath path_;
    Compare compare_ = Compare::truth;
    js::Value value_;
};

/// What an edge passes on: nothing, the whole result in place of the payload, or a named input.
struct DataPassing {
    bool replaces_payload = false;
    std::optional<std::string> as;
    std::optional<JsonPath> path;

    static expected<DataPassing> parse(std::string_view ref);
};

}  // namespace ff::core
