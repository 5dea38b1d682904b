#include "core/json_path.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ff::core {

namespace {

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

std::unexpected<Error> bad(std::string_view field, std::string_view text, std::size_t at,
                           std::string_view what) {
    return ff::fail(ErrorCode::invalid_input, std::string(field) + ": " + std::string(what) +
                                                  " at column " + std::to_string(at + 1) + " of `" +
                                                  std::string(text) + "`");
}

using Step = std::variant<std::string, std::size_t>;

constexpr std::size_t index_digits_max = 9;

/// The path at the start of the text; `at` is left behind it.
expected<std::vector<Step>> parse_steps(std::string_view field, std::string_view text,
                                        std::size_t& at) {
    if (at >= text.size() || text[at] != '$') {
        return bad(field, text, at, "a path begins with $");
    }
    ++at;
    std::vector<Step> steps;
    while (at < text.size() && (text[at] == '.' || text[at] == '[')) {
        if (text[at] == '.') {
            const std::size_t begin = ++at;
            while (at < text.size() && is_name(text[at])) {
                ++at;
            }
            if (at == begin) {
                return bad(field, text, at, "a member's name is missing");
            }
            steps.emplace_back(std::string(text.substr(begin, at - begin)));
            continue;
        }
        const std::size_t begin = ++at;
        if (at < text.size() && text[at] == '"') {
            ++at;
            while (at < text.size() && text[at] != '"') {
                at += text[at] == '\\' ? 2U : 1U;
            }
            if (at >= text.size()) {
                return bad(field, text, begin, "a quoted name has no end");
            }
            ++at;
            auto name = js::parse(text.substr(begin, at - begin));
            if (!name || name->if_string() == nullptr) {
                return bad(field, text, begin, "a quoted name is not a JSON text");
            }
            steps.emplace_back(*name->if_string());
        } else {
            while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
                ++at;
            }
            if (at == begin || at - begin > index_digits_max) {
                return bad(field, text, begin, "an index or a quoted name is missing");
            }
            steps.emplace_back(
                static_cast<std::size_t>(std::stoul(std::string(text.substr(begin, at - begin)))));
        }
        if (at >= text.size() || text[at] != ']') {
            return bad(field, text, at, "] is missing");
        }
        ++at;
    }
    return steps;
}

void skip_blanks(std::string_view text, std::size_t& at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) {
        ++at;
    }
}

bool is_true(const js::Value& value) {
    if (const bool* truth = value.if_bool()) {
        return *truth;
    }
    if (value.if_number() != nullptr) {
        return value.as_double().value_or(0) != 0;
    }
    if (const auto* text = value.if_string()) {
        return !text->empty();
    }
    if (const auto* items = value.if_array()) {
        return !items->empty();
    }
    if (const auto* members = value.if_object()) {
        return !members->empty();
    }
    return false;
}

/// -1, 0, 1, or nothing when the two cannot be compared.
std::optional<int> compare(const js::Value& a, const js::Value& b) {
    if (a.if_number() != nullptr && b.if_number() != nullptr) {
        const auto x = a.as_double();
        const auto y = b.as_double();
        if (x && y) {
            return *x < *y ? -1 : *x > *y ? 1 : 0;
        }
    }
    if (a.if_string() != nullptr && b.if_string() != nullptr) {
        const int order = a.if_string()->compare(*b.if_string());
        return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    return a == b ? std::optional(0) : std::nullopt;
}

}  // namespace

expected<JsonPath> JsonPath::parse(std::string_view field, std::string_view text) {
    std::size_t at = 0;
    JsonPath path;
    FF_TRY(path.steps_, parse_steps(field, text, at));
    if (at != text.size()) {
        return bad(field, text, at, "a path goes on with . or [");
    }
    return path;
}

const js::Value* JsonPath::find(const js::Value& root) const {
    const js::Value* value = &root;
    for (const Step& step : steps_) {
        if (const auto* name = std::get_if<std::string>(&step)) {
            value = value->find(*name);
        } else {
            const auto* items = value->if_array();
            const std::size_t index = std::get<std::size_t>(step);
            value = items != nullptr && index < items->size() ? &(*items)[index] : nullptr;
        }
        if (value == nullptr) {
            return nullptr;
        }
    }
    return value;
}

expected<Condition> Condition::parse(std::string_view field, std::string_view text) {
    Condition condition;
    std::size_t at = 0;
    skip_blanks(text, at);
    const bool negated = at < text.size() && text[at] == '!';
    at += negated ? 1U : 0U;
    FF_TRY(condition.path_.steps_, parse_steps(field, text, at));
    skip_blanks(text, at);
    if (at == text.size()) {
        condition.compare_ = negated ? Compare::not_truth : Compare::truth;
        return condition;
    }
    constexpr std::array<std::pair<std::string_view, Compare>, 6> words{{{"==", Compare::eq},
                                                                         {"!=", Compare::ne},
                                                                         {"<=", Compare::le},
                                                                         {">=", Compare::ge},
                                                                         {"<", Compare::lt},
                                                                         {">", Compare::gt}}};
    const auto word = std::ranges::find_if(
        words, [&](const auto& entry) { return text.substr(at).starts_with(entry.first); });
    if (word == words.end() || negated) {
        return bad(field, text, at, "one of == != < <= > >= is expected");
    }
    condition.compare_ = word->second;
    at += word->first.size();
    skip_blanks(text, at);
    auto value = js::parse(text.substr(at));
    if (!value) {
        return bad(field, text, at, "a JSON value is expected");
    }
    condition.value_ = std::move(*value);
    return condition;
}

bool Condition::holds(const js::Value* root) const {
    const js::Value* found = root != nullptr ? path_.find(*root) : nullptr;
    if (compare_ == Compare::truth || compare_ == Compare::not_truth) {
        return (found != nullptr && is_true(*found)) == (compare_ == Compare::truth);
    }
    const auto order = found != nullptr ? compare(*found, value_) : std::nullopt;
    switch (compare_) {
        case Compare::eq: return order == 0;
        case Compare::ne: return order != 0;
        case Compare::lt: return order && *order < 0;
        case Compare::le: return order && *order <= 0;
        case Compare::gt: return order && *order > 0;
        case Compare::ge: return order && *order >= 0;
        default: return false;
    }
}

expected<DataPassing> DataPassing::parse(std::string_view ref) {
    DataPassing passing;
    if (ref.empty()) {
        return passing;
    }
    if (ref.front() != '{') {
        passing.replaces_payload = true;
        return passing;
    }
    const auto refuse = [](std::string_view what) {
        return ff::fail(ErrorCode::invalid_input, "data_passing_ref: " + std::string(what));
    };
    auto document = js::parse(ref);
    if (!document) {
        return refuse(document.error().detail);
    }
    for (const auto& [name, value] : *document->if_object()) {
        if ((name != "as" && name != "path") || value.if_string() == nullptr) {
            return refuse("members are the texts `as` and `path` (got `" + name + "`)");
        }
    }
    const js::Value* as = document->find("as");
    if (as == nullptr || as->if_string()->empty()) {
        return refuse("`as` is missing: the name of the input");
    }
    passing.as = *as->if_string();
    if (const js::Value* path = document->find("path")) {
        FF_TRY(passing.path, JsonPath::parse("data_passing_ref.path", *path->if_string()));
    }
    return passing;
}

}  // namespace ff::core
