// A text that is shown again and again: in place on a terminal, one after the other elsewhere.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/session.h"

namespace ff::cli {

/// How often a view is renewed when nobody says how often.
inline constexpr DurationMs watch_every_ms = 1'000;

/// Shows `frame` until Ctrl-C, the key q, or until nobody reads any more. A fault of the first
/// frame ends it; a later one is shown, and the next frame is tried: servers restart.
ExitCode watch(DurationMs every_ms, const std::string& title,
               const std::function<expected<std::string>()>& frame);

/// Prints what `body` gives once, or watches it. Each frame has a session of its own: nothing is
/// held open between two.
ExitCode print_or_watch(const CommonOptions& options, const std::optional<DurationMs>& every_ms,
                        const std::string& title,
                        const std::function<expected<std::string>(const Session&)>& body);

}  // namespace ff::cli
