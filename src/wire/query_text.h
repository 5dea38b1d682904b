// Values as they stand in a path or a query: one parse_text() and one text_of() for each type.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/cursors.h"
#include "wire/event_values.h"
#include "wire/values.h"

namespace ff::wire {

// An empty fault is success.
Fault parse_text(std::string_view text, std::string& out);
Fault parse_text(std::string_view text, ExecutionId& out);
Fault parse_unsigned_text(std::string_view text, std::uint64_t high, std::uint64_t& out);
Fault parse_text(std::string_view text, std::int64_t& out);
Fault parse_text(std::string_view text, Uuid& out);
Fault parse_text(std::string_view text, FrameCursor& out);
Fault parse_text(std::string_view text, WorkerCursor& out);
Fault parse_text(std::string_view text, ExpiredLeaseCursor& out);
template <class Tag>
Fault parse_text(std::string_view text, UuidId<Tag>& out) {
    return parse_text(text, out.uuid);
}
template <WordEnum E>
Fault parse_text(std::string_view text, E& out) {
    return read(json(text), out);
}
template <Integer T>
    requires std::is_unsigned_v<T>
Fault parse_text(std::string_view text, T& out) {
    std::uint64_t wide = 0;
    Fault fault = parse_unsigned_text(text, std::numeric_limits<T>::max(), wide);
    out = fault.empty() ? static_cast<T>(wide) : out;
    return fault;
}

inline std::string text_of(const std::string& value) { return value; }
inline std::string text_of(const Uuid& id) { return id.to_string(); }
inline std::string text_of(const ExecutionId& id) { return id.to_string(); }
inline std::string text_of(const FrameCursor& cursor) { return cursor.to_string(); }
inline std::string text_of(const EventCursor& cursor) { return cursor.hex(); }
inline std::string text_of(const EventTag& tag) { return event_tag_text(tag); }
inline std::string text_of(const WorkerCursor& cursor) { return cursor_text(cursor); }
inline std::string text_of(const ExpiredLeaseCursor& cursor) { return cursor_text(cursor); }
template <class Tag>
std::string text_of(const UuidId<Tag>& id) {
    return id.to_string();
}
template <Integer T>
std::string text_of(T value) {
    return std::to_string(value);
}
template <WordEnum E>
std::string text_of(E word) {
    return std::string(to_string(word));
}

}  // namespace ff::wire
