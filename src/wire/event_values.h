// Events as JSON, and their tags and cursors as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <ff/events.h>

#include "wire/values.h"

namespace ff::wire {

/// `key=value`
using EventTag = std::pair<std::string, std::string>;

std::string event_tag_text(const EventTag& tag);
Fault parse_text(std::string_view text, EventTag& out);
Fault parse_text(std::string_view text, EventCursor& out);

/// `{"cursor":…,"family":…,"type":…,…}` with the members of the payload behind those of all events.
void write_event(std::string& out, const Event& event);
Fault read_event(const json& value, Event& out);

}  // namespace ff::wire
