// Numbers, times and foreign text in the form people read. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ff/ids.h>

namespace ff::cli {

/// `1234567` as `1,234,567`.
std::string with_commas(std::uint64_t value);
/// About three significant digits and thousands separators: `18,400`, `73.2`, `0.41`.
std::string rounded(double value);
/// `712 B`, `4.3 KiB`, `1.2 GiB`.
std::string bytes_text(std::uint64_t bytes);
/// `640 ms`, `12.4 s`, `3 min 20 s`, `5 h 12 min`, `3 d 4 h`. A negative span gets a minus sign.
std::string span_text(DurationMs span_ms);
/// `2026-03-01 12:34:56.789Z`.
std::string time_text(TimestampMs at);

/// Why an execution waits, with the milliseconds that the engine keeps in it (`delayed until <ms>`,
/// `resume delay <n>ms`) as a time or a span. Any other detail is as it was.
std::string detail_text(std::string_view detail);

/// The text with everything that could steer a terminal, and what is not UTF-8, made visible.
/// Names, reasons and payloads come from strangers.
std::string printable(std::string_view text);
/// How many columns a printable text takes: one for each code point.
std::size_t columns_of(std::string_view text);
/// At most `columns` columns; what was cut is marked by an ellipsis.
std::string cut_to(std::string_view text, std::size_t columns);
/// `a, b, c`.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

}  // namespace ff::cli
