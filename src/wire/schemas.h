// What single values look like to those who read the description of the interface: JSON schemas.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/event_values.h"
#include "wire/values.h"

namespace ff::wire::schemas {

json text(std::string_view description);
json integer(std::int64_t low, std::int64_t high);
json boolean();
json uuid();
/// One that has a name in the document.
json reference(std::string_view name);
json nullable(json schema);
/// Words with commas between them, as enum_text() gives them.
json words(std::string_view names);
json camel_words(std::string_view names);
json object_of(json values);
json list_of(json items);

// What a type looks like.
json of(const std::string&);
json of(std::same_as<bool> auto) { return boolean(); }
json of(const EventCursor&);
json of(const EventTag&);
json of(const EventFilter&);
json of(const FrameCursor&);
json of(const ExecutionId&);
json of(const Uuid&);
json of(const Tags&);
json of(const BudgetLimit&);
template <class Tag>
json of(const UuidId<Tag>&) {
    return uuid();
}
template <Integer T>
json of(T) {
    using Limits = std::numeric_limits<T>;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return integer(
        static_cast<std::int64_t>(Limits::min()),
        std::cmp_greater(Limits::max(), most) ? most : static_cast<std::int64_t>(Limits::max()));
}
template <WordEnum E>
json of(E) {
    return words(enum_text(E{}));
}
template <class T>
json of(const std::map<std::string, T>&) {
    return object_of(of(T{}));
}
template <class T>
json of(const std::vector<T>&) {
    return list_of(of(T{}));
}

}  // namespace ff::wire::schemas
