// Places in a family of events, as callers write them.
#include <ff/events.h>

#include <algorithm>
#include <charconv>

namespace ff {

namespace {

constexpr std::string_view earliest_word = "earliest";
constexpr std::size_t cursor_digits = 18;

}  // namespace

std::string event_family_path(EventFamily family) {
    std::string out(to_string(family));
    std::ranges::replace(out, '_', '-');
    return out;
}

std::optional<EventFamily> event_family_of(std::string_view text) {
    std::string word(text);
    std::ranges::replace(word, '-', '_');
    return parse_enum<EventFamily>(word);
}

EventCursor EventCursor::earliest() {
    EventCursor out;
    out.place_ = Place::earliest;
    return out;
}

EventCursor EventCursor::at(BackendTag store, std::int64_t event_id) {
    EventCursor out;
    out.place_ = Place::event;
    out.store_ = store;
    out.event_id_ = event_id;
    return out;
}

std::string EventCursor::hex() const {
    if (place_ == Place::now) {
        return {};
    }
    if (place_ == Place::earliest) {
        return std::string(earliest_word);
    }
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string out(cursor_digits, '0');
    out[1] = digits[static_cast<std::uint8_t>(store_) & 0xf];
    auto left = static_cast<std::uint64_t>(event_id_);
    for (std::size_t i = cursor_digits; i-- > 2;) {
        out[i] = digits[left & 0xf];
        left >>= 4;
    }
    return out;
}

expected<EventCursor> EventCursor::from_hex(std::string_view text) {
    if (text.empty()) {
        return EventCursor();
    }
    if (text == earliest_word) {
        return earliest();
    }
    const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const char* end = digits.data() + digits.size();
        const auto [stopped, fault] = std::from_chars(digits.data(), end, value, 16);
        return fault == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
    };
    const auto fault = ff::fail(ErrorCode::invalid_input, "invalid event cursor");
    if (text.size() != cursor_digits) {
        return fault;
    }
    const auto store = number(text.substr(0, 2));
    const auto event = number(text.substr(2));
    const auto is = [&](BackendTag tag) { return store == static_cast<std::uint8_t>(tag); };
    if (!store || !event || *event > static_cast<std::uint64_t>(INT64_MAX) ||
        (!is(BackendTag::sqlite) && !is(BackendTag::postgres))) {
        return fault;
    }
    return at(static_cast<BackendTag>(*store), static_cast<std::int64_t>(*event));
}

}  // namespace ff
