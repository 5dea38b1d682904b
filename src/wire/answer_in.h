// How parts of answers are read; for the units that read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>

#include "wire/object.h"

namespace ff::wire {

inline Error strange(std::string_view what) {
    return {ErrorCode::store_io, "the server's answer was not understood" + std::string(what), {}};
}

template <class T>
expected<T> object_of(const json& body) {
    T out{};
    if (const Fault fault = read_object(body, out); !fault.empty()) {
        return std::unexpected(strange(fault));
    }
    return out;
}

template <class T>
expected<T> tagged_of(const json& body, std::string_view tag) {
    const json* inner = body.find(tag);
    if (inner == nullptr) {
        return std::unexpected(strange(": no " + std::string(tag)));
    }
    return object_of<T>(*inner);
}

template <class T>
expected<std::vector<T>> items_of(const json& body, std::string_view name = "items") {
    const json* items = body.find(name);
    std::vector<T> out;
    const Fault fault = items != nullptr ? read_objects(*items, out) : ": no list";
    if (!fault.empty()) {
        return std::unexpected(strange(fault));
    }
    return out;
}

template <class T>
expected<T> field_of(const json* object, std::string_view name) {
    const json* member = object != nullptr ? object->find(name) : nullptr;
    T out{};
    const Fault fault = member != nullptr ? read(*member, out) : Fault(": missing");
    if (!fault.empty()) {
        return std::unexpected(strange(": " + std::string(name) + fault));
    }
    return out;
}

inline std::optional<std::string> next_cursor_of(const json& body) {
    const json* member = body.find("next_cursor");
    const std::string* text = member != nullptr ? member->if_string() : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

inline bool is_word(const json& body, std::string_view word) {
    const std::string* text = body.if_string();
    return text != nullptr && *text == word;
}

}  // namespace ff::wire
