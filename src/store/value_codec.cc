#include "store/value_codec.h"

#include <bit>
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

void put_columns(ValueSink& sink, Columns columns, const void* row, ColumnMask mask) {
    for (; mask != 0; mask &= mask - 1) {
        const ColumnInfo& column = columns[static_cast<std::size_t>(std::countr_zero(mask))];
        column.type->put(sink, column.kind, column.in(row));
    }
}

void take_columns(ValueSource& source, Columns columns, void* row) {
    for (const ColumnInfo& column : columns) {
        column.type->take(source, column.name, column.in(row));
    }
}

// Written without building values: it is done for every transition of an execution that has any.
std::string encode_extra(const core::ExecutionExtra& extra) {
    static const core::ExecutionExtra unset;
    std::string out;
    for (const ColumnInfo& column : columns_of<core::ExecutionExtra>) {
        if (!column.type->equal(column.in(&extra), column.in(&unset))) {
            out += out.empty() ? '{' : ',';
            out += '"';
            out += column.name;
            out += "\":";
            column.type->append_json(out, column.in(&extra));
        }
    }
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
    std::optional<core::ExecutionExtra> extra(std::in_place);
    bool good = true;
    // We write them in this order, so each is mostly the next.
    auto next = value->if_object()->begin();
    const auto end = value->if_object()->end();
    for (const ColumnInfo& column : columns_of<core::ExecutionExtra>) {
        if (next != end && next->first == column.name) {
            good = good && column.type->take_json(next->second, column.in(&*extra));
            ++next;
        }
    }
    if (good && next != end) {
        for (const ColumnInfo& column : columns_of<core::ExecutionExtra>) {
            if (const js::Value* member = value->find(column.name)) {
                good = good && column.type->take_json(*member, column.in(&*extra));
            }
        }
    }
    if (!good) {
        extra.reset();
    }
    return extra;
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
