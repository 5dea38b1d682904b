#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"

namespace ff {

namespace {

constexpr std::string_view audit_target = "audit";
/// A longer value is cut: nobody can flood the log with one request.
constexpr std::size_t value_bytes_max = 2'048;
constexpr std::string_view cut_mark = "[cut]";

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

expected<LogLevel> parse_level(std::string_view word) {
    if (const auto level = parse_enum<LogLevel>(lower(word))) {
        return *level;
    }
    return ff::fail(ErrorCode::invalid_input, "\"" + std::string(word) +
                                                  "\" is no level; there are error, warn, info, "
                                                  "debug and trace");
}

// ------------------------------------------------------------------------------------ escaping

/// Characters that end a line for some reader, or turn the direction of what follows.
bool is_deceptive(char32_t c) {
    return c == 0x061C || c == 0x200E || c == 0x200F || c == 0xFEFF ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void append_hex(std::string& out, char32_t value, int digits) {
    constexpr std::string_view hex = "0123456789abcdef";
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
        out.push_back(hex[(value >> static_cast<unsigned>(shift)) & 0xFU]);
    }
}

enum class Quotes : std::uint8_t { around, none };

/// One code point so that it stays on its line and inside its quotes. What needs an escape beyond
/// ASCII lies below U+10000, where JSON and people write it the same way.
void append_escaped(std::string& out, char32_t c, Quotes quotes) {
    switch (c) {
        case '"': out += quotes == Quotes::around ? "\\\"" : "\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default: break;
    }
    if (is_control(c) || is_deceptive(c)) {
        out += "\\u";
        append_hex(out, c, 4);
    } else {
        append_utf8(out, c);
    }
}

/// Appends text, cut to its limit. A byte that is not UTF-8 becomes `\xNN` for people; JSON has no
/// way to say it, and gets U+FFFD.
void append_text(std::string& out, std::string_view text, LogFormat format, Quotes quotes) {
    const std::string_view quote = quotes == Quotes::around ? "\"" : "";
    out += quote;
    const std::size_t end = std::min(text.size(), value_bytes_max);
    std::size_t at = 0;
    while (at < end) {
        const CodePoint c = decode_utf8(text, at);
        if (c.bytes != 0) {
            append_escaped(out, c.value, quotes);
        } else if (format == LogFormat::json_) {
            append_utf8(out, 0xFFFD);
        } else {
            out += "\\x";
            append_hex(out, static_cast<unsigned char>(text[at]), 2);
        }
        at += std::max<std::size_t>(c.bytes, 1);
    }
    if (at < text.size()) {
        out += cut_mark;
    }
    out += quote;
}

/// May a value stand without quotes in a line for people?
bool is_bare(std::string_view text) {
    return !text.empty() && text.size() <= value_bytes_max &&
           std::ranges::all_of(text, [](unsigned char c) {
               return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '=';
           });
}

// -------------------------------------------------------------------------------------- values

template <class N>
void append_number(std::string& out, N value) {
    std::array<char, 32> text{};
    const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), value);
    out.append(text.data(), end);
}

struct ValueWriter {
    std::string& out;
    LogFormat format;

    void operator()(std::string_view text) const {
        if (format == LogFormat::text && is_bare(text)) {
            out += text;
        } else {
            append_text(out, text, format, Quotes::around);
        }
    }
    void operator()(bool value) const { out += value ? "true" : "false"; }
    void operator()(double value) const {
        if (std::isfinite(value)) {
            append_number(out, value);
        } else {
            out += format == LogFormat::json_ ? "null" : std::isnan(value) ? "nan" : "inf";
        }
    }
    void operator()(std::integral auto value) const { append_number(out, value); }
};

void append_value(std::string& out, const LogField::Value& value, LogFormat format) {
    std::visit(ValueWriter{out, format}, value);
}

// --------------------------------------------------------------------------------------- lines

std::string upper(std::string_view word) {
    std::string out(word);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

struct Event {
    std::string time;
    LogLevel level;
    std::string_view target;
    std::string_view message;
    std::span<const LogField> fields;
};

std::string text_line(const Event& event) {
    std::string out = event.time + ' ' + upper(to_string(event.level)) + ' ';
    append_text(out, event.target, LogFormat::text, Quotes::none);
    out.push_back(' ');
    append_text(out, event.message, LogFormat::text, Quotes::none);
    for (const LogField& field : event.fields) {
        out.push_back(' ');
        append_text(out, field.key, LogFormat::text, Quotes::none);
        out.push_back('=');
        append_value(out, field.value, LogFormat::text);
    }
    out.push_back('\n');
    return out;
}

std::string json_line(const Event& event) {
    std::string out = R"({"ts":")" + event.time + R"(","level":")";
    out += to_string(event.level);
    out += R"(","target":)";
    append_text(out, event.target, LogFormat::json_, Quotes::around);
    out += R"(,"msg":)";
    append_text(out, event.message, LogFormat::json_, Quotes::around);
    for (const LogField& field : event.fields) {
        out.push_back(',');
        append_text(out, field.key, LogFormat::json_, Quotes::around);
        out.push_back(':');
        append_value(out, field.value, LogFormat::json_);
    }
    out += "}\n";
    return out;
}

/// One write, and more only when the system took a part. Nobody can be told that the log itself
/// does not work, so a line that cannot be written is given up.
void write_to_stderr(std::string_view line) {
    while (!line.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
        if (written >= 0) {
            line.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd ready{STDERR_FILENO, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

}  // namespace

// -------------------------------------------------------------------------------------- filter

expected<LogFilter> LogFilter::parse(std::string_view text) {
    LogFilter filter;
    for (bool more = !trimmed(text).empty(); more;) {
        const std::size_t comma = text.find(',');
        const std::string_view part = trimmed(text.substr(0, comma));
        more = comma != std::string_view::npos;
        text.remove_prefix(more ? comma + 1 : text.size());
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            FF_TRY(filter.others_, parse_level(part));
            continue;
        }
        const std::string name = lower(trimmed(part.substr(0, equals)));
        if (name.empty()) {
            return ff::fail(ErrorCode::invalid_input,
                            "\"" + std::string(part) + "\" names no target; write NAME=LEVEL");
        }
        FF_TRY(const LogLevel level, parse_level(trimmed(part.substr(equals + 1))));
        std::erase_if(filter.targets_, [&](const auto& known) { return known.first == name; });
        filter.targets_.emplace_back(name, level);
    }
    return filter;
}

LogLevel LogFilter::level_of(std::string_view target) const {
    if (target == audit_target) {
        return LogLevel::trace;
    }
    const auto own = std::ranges::find(
        targets_, target, [](const auto& known) -> const std::string& { return known.first; });
    return own == targets_.end() ? others_ : own->second;
}

std::string LogFilter::to_string() const {
    std::string out(ff::to_string(others_));
    for (const auto& [name, level] : targets_) {
        out += "," + name + "=" + std::string(ff::to_string(level));
    }
    return out;
}

// -------------------------------------------------------------------------------------- logger

void Log::write(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
    if (on(level)) {
        logger_->write(level, target_, message, fields);
    }
}

Logger::Logger(LogOptions options, std::shared_ptr<Clock> clock, Sink sink)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      sink_(sink ? std::move(sink) : Sink(write_to_stderr)) {}

Log Logger::target(std::string_view name) { return {*this, name, options_.filter.level_of(name)}; }

void Logger::write(LogLevel level, std::string_view target, std::string_view message,
                   std::span<const LogField> fields) {
    const Event event{utc_text(clock_->now()), level, target, message, fields};
    const std::string line =
        options_.format == LogFormat::json_ ? json_line(event) : text_line(event);
    const std::lock_guard lock(mutex_);
    sink_(line);
}

std::string utc_text(TimestampMs at) {
    using std::chrono::days;
    using std::chrono::floor;
    using std::chrono::milliseconds;
    constexpr TimestampMs first = -62'167'219'200'000;  // 0000-01-01
    constexpr TimestampMs last = 253'402'300'799'999;   // the end of 9999
    const std::chrono::sys_time<milliseconds> time(milliseconds(std::clamp(at, first, last)));
    const auto day = floor<days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    std::array<char, 40> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
        static_cast<int>(clock.subseconds().count()));
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace ff
