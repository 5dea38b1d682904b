#include "cli/times.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr double day_ms = 86'400'000;
constexpr double span_max_ms = 3'653 * day_ms;
/// Milliseconds since 1970 below this are more likely a span without its unit.
constexpr TimestampMs moment_min = 100'000'000'000;

constexpr std::array<std::pair<std::string_view, double>, 5> units{{
    {"ms", 1},
    {"s", 1'000},
    {"m", 60'000},
    {"h", 3'600'000},
    {"d", day_ms},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes digits off the front, exactly as many as asked for.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    if (text.size() < digits) {
        return std::nullopt;
    }
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        if (!is_digit(text[i])) {
            return std::nullopt;
        }
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, std::string_view any_of) {
    if (text.empty() || !any_of.contains(text[0])) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

/// `12:34`, `12:34:56`, `12:34:56.789` into the fields; what is left stays in `text`.
bool take_clock(std::string_view& text, std::tm& fields, int& milliseconds) {
    const auto hour = take_number(text, 2);
    const bool colon = take(text, ":");
    const auto minute = take_number(text, 2);
    if (!hour || !colon || !minute || *hour > 23 || *minute > 59) {
        return false;
    }
    fields.tm_hour = *hour;
    fields.tm_min = *minute;
    if (!take(text, ":")) {
        return true;
    }
    const auto second = take_number(text, 2);
    if (!second || *second > 59) {
        return false;
    }
    fields.tm_sec = *second;
    if (!take(text, ".")) {
        return true;
    }
    const auto part = take_number(text, 3);
    milliseconds = part.value_or(0);
    return part.has_value();
}

std::optional<TimestampMs> parse_date(std::string_view text) {
    const auto year = take_number(text, 4);
    const bool dash = take(text, "-");
    const auto month = take_number(text, 2);
    const bool second_dash = take(text, "-");
    const auto day = take_number(text, 2);
    if (!year || !dash || !month || !second_dash || !day) {
        return std::nullopt;
    }
    std::tm fields{};
    fields.tm_year = *year - 1'900;
    fields.tm_mon = *month - 1;
    fields.tm_mday = *day;
    int milliseconds = 0;
    if (take(text, "T ") && !take_clock(text, fields, milliseconds)) {
        return std::nullopt;
    }
    take(text, "Z");
    const std::tm asked = fields;
    const std::time_t seconds = timegm(&fields);  // puts a 31st of February into March
    const bool real = fields.tm_mon == asked.tm_mon && fields.tm_mday == asked.tm_mday;
    if (!text.empty() || !real || *year < 1'970) {
        return std::nullopt;
    }
    return static_cast<TimestampMs>(seconds) * 1'000 + milliseconds;
}

}  // namespace

expected<DurationMs> parse_span(std::string_view text) {
    const std::size_t split = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view unit = text.substr(split);
    double number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + split, number);
    for (const auto& [name, ms] : units) {
        if (unit == name && fault == std::errc{} && end == text.data() + split && split > 0) {
            if (number * ms > span_max_ms) {
                return ff::fail(ErrorCode::invalid_input,
                                fmt::format("{} is more than ten years", text));
            }
            return std::llround(number * ms);
        }
    }
    return ff::fail(ErrorCode::invalid_input,
                    fmt::format("{} is not a span of time; write one like 500ms, 10s, 5m, 2h or 1d",
                                text.empty() ? "nothing" : printable(text)));
}

expected<TimestampMs> parse_moment(std::string_view text, TimestampMs now, Towards towards) {
    if (const auto span = parse_span(text)) {
        return towards == Towards::past ? now - *span : now + *span;
    }
    if (const auto date = parse_date(text)) {
        return *date;
    }
    TimestampMs number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault == std::errc{} && end == text.data() + text.size() && number >= moment_min) {
        return number;
    }
    return ff::fail(ErrorCode::invalid_input,
                    fmt::format("{} is neither a span (10s, 5m, 2h, 1d) nor a time like "
                                "2026-03-01T12:00:00Z",
                                text.empty() ? "nothing" : printable(text)));
}

expected<std::optional<TimestampMs>> moment_of(std::string_view option,
                                               const std::optional<std::string>& text,
                                               TimestampMs now, Towards towards) {
    if (!text) {
        return std::nullopt;
    }
    auto at = parse_moment(*text, now, towards);
    if (!at) {
        return ff::fail(ErrorCode::invalid_input, fmt::format("{}: {}", option, at.error().detail));
    }
    return *at;
}

}  // namespace ff::cli
