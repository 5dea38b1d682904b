#include "wire/query_text.h"

#include <charconv>

namespace ff::wire {

Fault parse_text(std::string_view text, std::string& out) {
    out = text;
    return {};
}

Fault parse_text(std::string_view text, ExecutionId& out) {
    const auto id = ExecutionId::parse(text);
    if (!id) {
        return ": " + id.error().detail;
    }
    out = *id;
    return {};
}

Fault parse_text(std::string_view text, Uuid& out) {
    const auto id = parse_any_uuid(text);
    if (!id) {
        return ": expected a UUID";
    }
    out = *id;
    return {};
}

namespace {

template <class N>
bool parse_whole(std::string_view text, N& out) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, out);
    return error == std::errc() && at == end && !text.empty();
}

}  // namespace

Fault parse_unsigned_text(std::string_view text, std::uint64_t high, std::uint64_t& out) {
    std::uint64_t value = 0;
    if (!parse_whole(text, value) || value > high) {
        return ": expected an integer between 0 and " + std::to_string(high);
    }
    out = value;
    return {};
}

Fault parse_text(std::string_view text, std::int64_t& out) {
    std::int64_t value = 0;
    if (!parse_whole(text, value)) {
        return ": expected an integer";
    }
    out = value;
    return {};
}

Fault parse_text(std::string_view text, FrameCursor& out) {
    auto parsed = FrameCursor::parse(text);
    if (!parsed) {
        return ": " + parsed.error().detail;
    }
    out = *parsed;
    return {};
}

Fault parse_text(std::string_view text, WorkerCursor& out) {
    return parse_cursor(text, out) ? Fault() : Fault(": not a cursor");
}

Fault parse_text(std::string_view text, ExpiredLeaseCursor& out) {
    return parse_cursor(text, out) ? Fault() : Fault(": not a cursor");
}

}  // namespace ff::wire
