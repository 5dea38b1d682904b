// Spans and moments as people write them. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ff/error.h>
#include <ff/ids.h>

namespace ff::cli {

/// `500ms`, `10s`, `5m`, `2h`, `1d`, also `1.5h`; at most ten years. `invalid_input` that says how
/// to write one.
expected<DurationMs> parse_span(std::string_view text);

/// In which direction of now a span lies.
enum class Towards : std::uint8_t { past, future };

/// A span from now, a time like `2026-03-01T12:00:00Z` (or shorter: `2026-03-01 12:00`,
/// `2026-03-01`; always UTC), or milliseconds since 1970.
expected<TimestampMs> parse_moment(std::string_view text, TimestampMs now, Towards towards);
/// The same of an option, which the error names; nothing when it was not given.
expected<std::optional<TimestampMs>> moment_of(std::string_view option,
                                               const std::optional<std::string>& text,
                                               TimestampMs now, Towards towards);

}  // namespace ff::cli
