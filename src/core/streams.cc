// Places in a stream, as callers write them.
#include <ff/streams.h>

#include <charconv>
#include <limits>

namespace ff {

namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

/// Digits and nothing else, up to 2^63-1.
std::optional<std::int64_t> number(std::string_view digits) {
    std::int64_t value = 0;
    const char* end = digits.data() + digits.size();
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return std::nullopt;
    }
    const auto [stopped, fault] = std::from_chars(digits.data(), end, value);
    return fault == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string FrameId::to_string() const { return std::to_string(ms) + "-" + std::to_string(seq); }

std::string FrameCursor::to_string() const {
    switch (at) {
        case At::start: return "start";
        case At::end: return "end";
        case At::millisecond: return std::to_string(id.ms);
        case At::frame: return id.to_string();
    }
    return "start";
}

expected<FrameCursor> FrameCursor::parse(std::string_view text) {
    if (text.empty()) {
        return fail(ErrorCode::invalid_input, "stream cursor must not be empty");
    }
    if (text == "-" || text == "+") {
        return fail(ErrorCode::invalid_input, "bare marker '" + std::string(text) +
                                                  "' is not a stream cursor: use 'start' or 'end'");
    }
    if (text == "start") {
        return start();
    }
    if (text == "end") {
        return end();
    }
    const std::size_t dash = text.find('-');
    const auto ms = number(text.substr(0, dash));
    const auto seq = dash == std::string_view::npos ? std::optional<std::int64_t>(0)
                                                    : number(text.substr(dash + 1));
    if (!ms || !seq) {
        return fail(ErrorCode::invalid_input,
                    "malformed stream cursor: expected 'start', 'end', '<ms>' or '<ms>-<seq>'");
    }
    FrameCursor out(FrameId{*ms, *seq});
    if (dash == std::string_view::npos) {
        out.at = At::millisecond;
    }
    return out;
}

std::optional<FrameId> FrameCursor::lower() const {
    switch (at) {
        case At::start: return FrameId{};
        case At::end: return std::nullopt;
        case At::millisecond: return FrameId{id.ms, 0};
        case At::frame: return id;
    }
    return std::nullopt;
}

std::optional<FrameId> FrameCursor::upper() const {
    switch (at) {
        case At::start: return std::nullopt;
        case At::end: return FrameId{highest, highest};
        case At::millisecond: return FrameId{id.ms, highest};
        case At::frame: return id;
    }
    return std::nullopt;
}

}  // namespace ff
