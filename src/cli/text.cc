#include "cli/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <system_error>

#include "base/utf8.h"

namespace ff::cli {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Characters that change the direction of what follows: a name must not disguise itself.
bool turns_text(char32_t c) {
    return (c >= 0x200E && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string with_commas(std::uint64_t value) {
    std::string out = std::to_string(value);
    for (std::size_t at = out.size(); at > 3;) {
        at -= 3;
        out.insert(at, 1, ',');
    }
    return out;
}

std::string rounded(double value) {
    if (!std::isfinite(value)) {
        return "-";
    }
    const double size = std::abs(value);
    const std::string sign = value < 0 ? "-" : "";
    if (size >= 1'000) {
        const double step = std::pow(10, std::floor(std::log10(size)) - 2);
        return sign + with_commas(static_cast<std::uint64_t>(std::round(size / step) * step));
    }
    if (size >= 100) {
        return fmt::format("{:.0f}", value);
    }
    return size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1'024) {
        return fmt::format("{} B", bytes);
    }
    double value = static_cast<double>(bytes) / 1'024;
    std::size_t unit = 0;
    while (value >= 1'023.5 && unit + 1 < units.size()) {
        value /= 1'024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value < 99.5 ? 1 : 0, units[unit]);
}

std::string span_text(DurationMs span_ms) {
    const std::string sign = span_ms < 0 ? "-" : "";
    const DurationMs ms = std::abs(span_ms);
    const DurationMs seconds = ms / 1'000;
    if (ms < 1'000) {
        return fmt::format("{}{} ms", sign, ms);
    }
    if (seconds < 60) {
        return fmt::format("{}{:.1f} s", sign, std::floor(static_cast<double>(ms) / 100) / 10);
    }
    if (seconds < 3'600) {
        return fmt::format("{}{} min {} s", sign, seconds / 60, seconds % 60);
    }
    if (seconds < 86'400) {
        return fmt::format("{}{} h {} min", sign, seconds / 3'600, seconds % 3'600 / 60);
    }
    return fmt::format("{}{} d {} h", sign, seconds / 86'400, seconds % 86'400 / 3'600);
}

std::string time_text(TimestampMs at) {
    const DurationMs part = ((at % 1'000) + 1'000) % 1'000;
    const auto seconds = static_cast<std::time_t>((at - part) / 1'000);
    std::tm fields{};
    if (gmtime_r(&seconds, &fields) == nullptr) {
        return fmt::format("{} ms", at);
    }
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}Z", fields.tm_year + 1'900,
                       fields.tm_mon + 1, fields.tm_mday, fields.tm_hour, fields.tm_min,
                       fields.tm_sec, part);
}

std::string detail_text(std::string_view detail) {
    // Only where the engine puts its number: what follows may be a reason of strangers.
    for (const std::string_view before : {"delayed until ", "retry backoff until ",
                                          "suspension escalated: timeout at ", "resume delay "}) {
        if (!detail.starts_with(before)) {
            continue;
        }
        std::string_view rest = detail.substr(before.size());
        std::int64_t number = 0;
        const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (fault != std::errc{}) {
            break;
        }
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        const bool is_span = rest.starts_with("ms");
        rest.remove_prefix(is_span ? 2 : 0);
        return fmt::format("{}{}{}", before, is_span ? span_text(number) : time_text(number), rest);
    }
    return std::string(detail);
}

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode_utf8(text, at);
        if (c.bytes == 0) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
            at += 1;
            continue;
        }
        if (c.value == '\n') {
            out += "\\n";
        } else if (is_control(c.value)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.value));
        } else if (turns_text(c.value)) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
        } else {
            out += text.substr(at, c.bytes);
        }
        at += c.bytes;
    }
    return out;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    for (char c : text) {
        columns += is_continuation(c) ? 0 : 1;
    }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) {
        return std::string(text);
    }
    if (columns == 0) {
        return "";
    }
    std::size_t end = 0;
    for (std::size_t kept = 0; kept + 1 < columns; ++kept) {
        do {
            ++end;
        } while (end < text.size() && is_continuation(text[end]));
    }
    return std::string(text.substr(0, end)) + "…";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty()) {
            out += between;
        }
        out += word;
    }
    return out;
}

}  // namespace ff::cli
