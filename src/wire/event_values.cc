#include "wire/event_values.h"

#include <algorithm>
#include <array>

#include "wire/object.h"
#include "wire/request_in.h"
#include "wire/request_schema.h"

namespace ff::wire {

namespace {

/// The members that every event has; the others are its payload.
constexpr std::array<std::string_view, 7> event_members{
    "cursor", "family", "type", "execution_id", "flow_id", "namespace", "at"};

}  // namespace

std::string event_tag_text(const EventTag& tag) { return tag.first + "=" + tag.second; }

Fault parse_text(std::string_view text, EventTag& out) {
    const std::size_t at = text.find('=');
    if (at == std::string_view::npos || at == 0) {
        return ": expected key=value";
    }
    out = {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
    return {};
}

Fault parse_text(std::string_view text, EventCursor& out) {
    auto parsed = EventCursor::from_hex(text);
    if (!parsed) {
        return ": " + parsed.error().detail;
    }
    out = *parsed;
    return {};
}

Fault read(const json& value, EventCursor& out) {
    const std::string* text = value.if_string();
    return text != nullptr ? parse_text(*text, out) : Fault(": expected a string");
}

void write(std::string& out, const EventCursor& cursor) {
    write(out, std::string_view(cursor.hex()));
}

Fault read(const json& value, EventFilter& out) {
    if (value.if_object() == nullptr) {
        return ": expected an object";
    }
    // A misspelt member would let through what it should keep out.
    for (const auto& [name, member] : *value.if_object()) {
        if (name != "namespace" && name != "tag" && name != "execution_id" && name != "flow_id") {
            return ": unknown member \"" + truncate_utf8(name, 64) +
                   "\", expected namespace, tag, execution_id or flow_id";
        }
    }
    const auto take = [&](std::string_view name, auto read_member) -> Fault {
        const json* member = value.find(name);
        if (member == nullptr || member->is_null()) {
            return {};
        }
        Fault fault = read_member(*member);
        return fault.empty() ? fault : "." + std::string(name) + fault;
    };
    Fault fault = take("namespace", [&](const json& v) { return read(v, out.ns.emplace()); });
    if (fault.empty()) {
        fault = take("tag", [&](const json& v) {
            const std::string* text = v.if_string();
            return text != nullptr ? parse_text(*text, out.tag.emplace())
                                   : Fault(": expected a string");
        });
    }
    if (fault.empty()) {
        fault = take("execution_id",
                     [&](const json& v) { return read(v, out.execution_id.emplace()); });
    }
    if (fault.empty()) {
        fault = take("flow_id", [&](const json& v) { return read(v, out.flow_id.emplace()); });
    }
    return fault;
}

static std::string all_families() {
    std::string all;
    for (std::size_t i = 0; i < enum_count<EventFamily>; ++i) {
        all += (i > 0 ? ", " : "") + event_family_path(static_cast<EventFamily>(i));
    }
    return all;
}

Fault read(const json& value, EventFamily& out) {
    const std::string* text = value.if_string();
    const auto family = text != nullptr ? event_family_of(*text) : std::nullopt;
    if (!family) {
        return unknown_word(value, all_families());
    }
    out = *family;
    return {};
}

void write(std::string& out, const EventFilter& filter) {
    ObjectOut object(out);
    object.field_if("namespace", filter.ns);
    if (filter.tag) {
        object.field("tag", event_tag_text(*filter.tag));
    }
    object.field_if("execution_id", filter.execution_id);
    object.field_if("flow_id", filter.flow_id);
    object.close();
}

void write_event(std::string& out, const Event& event) {
    ObjectOut object(out);
    object.field("cursor", event.cursor);
    object.field("family", event.family);
    object.field("type", event.type);
    object.field("execution_id", event.execution_id);
    object.field("flow_id", event.flow_id);
    object.field("namespace", event.ns);
    object.field("at", event.at);
    const std::string_view payload = event.payload;
    if (payload.size() > 2) {  // more than {}
        out.push_back(',');
        out += payload.substr(1, payload.size() - 2);
    }
    object.close();
}

Fault read_event(const json& value, Event& out) {
    ObjectIn in(value);
    in.field("cursor", out.cursor);
    in.field("family", out.family);
    in.field("type", out.type);
    in.field("execution_id", out.execution_id);
    in.field("flow_id", out.flow_id);
    in.field("namespace", out.ns);
    in.field("at", out.at);
    if (Fault fault = in.take_fault(); !fault.empty()) {
        return fault;
    }
    js::Object payload;
    for (const js::Member& member : *value.if_object()) {
        if (std::ranges::find(event_members, member.first) == event_members.end()) {
            payload.push_back(member);
        }
    }
    out.payload = js::dump(std::move(payload));
    return {};
}

// ------------------------------------------------------------------------------------ in requests

void RequestIn::family(EventFamily& family) {
    const std::string_view word = routed_.parameter("family");
    if (const auto known = event_family_of(word)) {
        family = *known;
        return;
    }
    keep_id("family", "there is no such family of events; there are " + all_families());
}

void RequestSchema::family(EventFamily& /*family*/) {
    js::Array all;
    for (std::size_t i = 0; i < enum_count<EventFamily>; ++i) {
        all.emplace_back(event_family_path(static_cast<EventFamily>(i)));
    }
    parameter("path", "family", json{{"type", "string"}, {"enum", std::move(all)}}, true);
}

}  // namespace ff::wire
