// Where in the order of executions a moment of creation lies.
//
// Executions are numbered in the order in which they are created, so times of creation rise with
// the numbers, and a moment is found by asking for a few rows instead of walking to it. They rise
// only nearly: clocks of several machines differ a little, and a clock may have been set back
// between two runs. What is given here holds as long as no execution has a time more than
// `clock_slack_ms` earlier than that of one numbered before it.
#pragma once

#include <functional>
#include <optional>

#include <ff/ids.h>

#include "core/records.h"

namespace ff::engine {

/// Clocks must agree to well within a lease; this is a third of the usual one.
inline constexpr DurationMs clock_slack_ms = 10'000;

struct Created {
    core::Eid eid = 0;
    TimestampMs at = 0;
};

/// The rows, as far as they are asked for.
struct CreationTimes {
    /// The first execution numbered above, if there is one.
    std::function<expected<std::optional<Created>>(core::Eid above)> first_above;
    /// The last of all.
    std::function<expected<std::optional<Created>>()> last;
};

/// A number such that all executions up to it were created before `at`. Some above it may be, too,
/// but not many seconds' worth.
expected<core::Eid> last_before(const CreationTimes& times, TimestampMs at);
/// A number such that all executions from it on were created at `at` or later. Some below it may
/// be, too, but not many seconds' worth.
expected<core::Eid> first_from(const CreationTimes& times, TimestampMs at);

}  // namespace ff::engine
