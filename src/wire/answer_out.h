// The forms that answers come in; for the units that write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/answers.h"
#include "wire/object.h"

namespace ff::wire {

inline Answer ok(std::string body) { return {200, std::move(body), "application/json", {}}; }

/// `{"Tag":{…}}`.
template <class T>
Answer tagged(std::string_view tag, const T& record, int status = 200) {
    std::string out;
    ObjectOut object(out);
    object.object(tag, record);
    object.close();
    return {status, std::move(out), "application/json", {}};
}

template <class T>
Answer plain(const T& record) {
    std::string out;
    write_object(out, record);
    return ok(std::move(out));
}

/// `{"name":value}`.
template <class T>
Answer one_field(std::string_view name, const T& value) {
    std::string out;
    ObjectOut object(out);
    object.field(name, value);
    object.close();
    return ok(std::move(out));
}

template <class T>
Answer page(const std::vector<T>& items, const std::optional<std::string>& next_cursor,
            std::string_view name = "items") {
    std::string list;
    write_objects(list, items);
    return ok(items_page(list, next_cursor, name));
}

/// `{"Tag":{"name":value}}`.
template <class T>
Answer tagged_field(std::string_view tag, std::string_view name, const T& value, int status = 200) {
    std::string out;
    ObjectOut object(out);
    object.key(tag);
    ObjectOut inner(out);
    inner.field(name, value);
    inner.close();
    object.close();
    return {status, std::move(out), "application/json", {}};
}

}  // namespace ff::wire
