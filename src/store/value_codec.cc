#include "store/value_codec.h"

#include <concepts>
#include <utility>

#include <ff/json.h>

namespace ff::store {

std::string encode_words(const std::vector<std::string>& words) {
    return js::dump(js::Value(js::Array(words.begin(), words.end())));
}

std::optional<std::vector<std::string>> decode_words(std::string_view text) {
    std::vector<std::string> out;
    auto value = js::parse(text);
    if (!value || value->if_array() == nullptr) {
        return std::nullopt;
    }
    for (const auto& item : *value->if_array()) {
        if (item.if_string() == nullptr) {
            return std::nullopt;
        }
        out.push_back(*item.if_string());
    }
    return out;
}

std::string encode_tags(const Tags& tags) {
    js::Object object;
    object.reserve(tags.size());
    for (const auto& [key, value] : tags) {
        object.emplace_back(key, value);
    }
    return js::dump(js::Value(std::move(object)));
}

std::optional<Tags> decode_tags(std::string_view text) {
    Tags out;
    if (text.empty()) {
        return out;
    }
    auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return std::nullopt;
    }
    for (const auto& [key, item] : *value->if_object()) {
        if (item.if_string() == nullptr) {
            return std::nullopt;
        }
        out[key] = *item.if_string();
    }
    return out;
}

std::string encode_amounts(const Amounts& amounts) {
    js::Object object;
    object.reserve(amounts.size());
    for (const auto& [name, amount] : amounts) {
        object.emplace_back(name, amount);
    }
    return js::dump(js::Value(std::move(object)));
}

std::optional<Amounts> decode_amounts(std::string_view text) {
    Amounts out;
    if (text.empty()) {
        return out;
    }
    const auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return std::nullopt;
    }
    for (const auto& [name, item] : *value->if_object()) {
        const auto amount = item.as_uint64();
        if (!amount || *amount > amount_max) {
            return std::nullopt;
        }
        out[name] = *amount;
    }
    return out;
}

std::string encode_limits(const BudgetLimits& limits) {
    js::Object object;
    object.reserve(limits.size());
    for (const auto& [name, limit] : limits) {
        object.emplace_back(name, js::Array{limit.hard, limit.soft});
    }
    return js::dump(js::Value(std::move(object)));
}

std::optional<BudgetLimits> decode_limits(std::string_view text) {
    BudgetLimits out;
    if (text.empty()) {
        return out;
    }
    const auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return std::nullopt;
    }
    for (const auto& [name, item] : *value->if_object()) {
        const js::Array* pair = item.if_array();
        if (pair == nullptr || pair->size() != 2) {
            return std::nullopt;
        }
        const auto hard = (*pair)[0].as_uint64();
        const auto soft = (*pair)[1].as_uint64();
        if (!hard || !soft || *hard > amount_max || *soft > amount_max) {
            return std::nullopt;
        }
        out[name] = {*hard, *soft};
    }
    return out;
}

namespace {

/// Appends a member's value as JSON. An optional one is set.
template <class T>
void append_extra(std::string& out, const T& value) {
    if constexpr (is_optional<T>::value) {
        append_extra(out, *value);
    } else if constexpr (std::integral<T>) {
        out += std::to_string(static_cast<std::int64_t>(value));
    } else if constexpr (is_uuid_id<T>::value) {
        js::append_quoted(out, value.to_string());
    } else if constexpr (std::same_as<T, Amounts>) {
        js::append_quoted(out, encode_amounts(value));
    } else {
        js::append_quoted(out, value);
    }
}

/// False when the JSON value is not one of the member's type.
template <class T>
bool take_extra(const js::Value& from, T& value) {
    if constexpr (is_optional<T>::value) {
        return take_extra(from, value.emplace());
    } else if constexpr (std::same_as<T, bool>) {
        const auto number = from.as_int64();
        value = number == 1;
        return number == 0 || number == 1;
    } else if constexpr (std::integral<T>) {
        const auto number = from.as_int64();
        if (!number || !std::in_range<T>(*number)) {
            return false;
        }
        value = static_cast<T>(*number);
        return true;
    } else if constexpr (is_uuid_id<T>::value) {
        const auto id = from.if_string() == nullptr ? std::nullopt : T::parse(*from.if_string());
        value = id.value_or(T{});
        return id.has_value();
    } else if constexpr (std::same_as<T, Amounts>) {
        const auto amounts =
            from.if_string() == nullptr ? std::nullopt : decode_amounts(*from.if_string());
        value = amounts.value_or(Amounts{});
        return amounts.has_value();
    } else {
        if (from.if_string() == nullptr) {
            return false;
        }
        value = *from.if_string();
        return true;
    }
}

}  // namespace

// Written without building values: it is done for every transition of an execution that has any.
std::string encode_extra(const core::ExecutionExtra& extra) {
    static const core::ExecutionExtra unset;
    std::string out;
    const auto put = [&](const ColumnInfo& column, const auto& value, const auto& nothing) {
        if (value != nothing) {
            out += out.empty() ? '{' : ',';
            out += '"';
            out += column.name;
            out += "\":";
            append_extra(out, value);
        }
    };
    for_each_column<core::ExecutionExtra>(put, extra, unset);
    if (!out.empty()) {
        out += '}';
    }
    return out;
}

std::optional<core::ExecutionExtra> decode_extra(std::string_view text) {
    auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return std::nullopt;
    }
    core::ExecutionExtra extra;
    bool good = true;
    // We write them in this order, so each is mostly the next.
    auto next = value->if_object()->begin();
    const auto end = value->if_object()->end();
    const auto take_next = [&](const ColumnInfo& column, auto& into) {
        if (next != end && next->first == column.name) {
            good = good && take_extra(next->second, into);
            ++next;
        }
    };
    for_each_column<core::ExecutionExtra>(take_next, extra);
    if (good && next != end) {
        const auto find = [&](const ColumnInfo& column, auto& into) {
            if (const js::Value* member = value->find(column.name)) {
                good = good && take_extra(*member, into);
            }
        };
        for_each_column<core::ExecutionExtra>(find, extra);
    }
    return good ? std::optional(std::move(extra)) : std::nullopt;
}

void split_capabilities(core::Route& route) {
    route.required.clear();
    std::string_view rest = route.key.capabilities;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        route.required.emplace_back(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
}

}  // namespace ff::store
