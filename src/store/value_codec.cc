#include "store/value_codec.h"

#include "base/json.h"

namespace ff::store {

std::string encode_words(const std::vector<std::string>& words) {
    return json::dump(json::Value(json::Array(words.begin(), words.end())));
}

std::optional<std::vector<std::string>> decode_words(std::string_view text) {
    std::vector<std::string> out;
    auto value = json::parse(text);
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
    json::Object object;
    object.reserve(tags.size());
    for (const auto& [key, value] : tags) {
        object.emplace_back(key, value);
    }
    return json::dump(json::Value(std::move(object)));
}

std::optional<Tags> decode_tags(std::string_view text) {
    Tags out;
    if (text.empty()) {
        return out;
    }
    auto value = json::parse(text);
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
