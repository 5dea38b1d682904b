#include "engine/creation_time.h"

#include <algorithm>
#include <limits>

namespace ff::engine {

namespace {

using core::Eid;

/// A row on each side is near enough when it lies within this of the moment.
constexpr DurationMs near_ms = 1'000;

/// Two rows: one created before a moment and, numbered above it, one created at it or later.
struct Bracket {
    Created low;
    Created high;
};

/// Where to look next: by turns where times that rise evenly would have it, and in the middle. The
/// first finds it at once where numbers are made of the time, the second bounds the steps.
Eid between(const Bracket& bracket, TimestampMs at, bool evenly) {
    const Eid low = bracket.low.eid;
    const Eid high = bracket.high.eid;
    Eid place = low + (high - low) / 2;
    if (evenly) {
        const auto part = static_cast<long double>(at - bracket.low.at) /
                          static_cast<long double>(bracket.high.at - bracket.low.at);
        place = low + static_cast<Eid>(part * static_cast<long double>(high - low));
    }
    return std::clamp<Eid>(place, low, high - 2);  // each look must leave less
}

/// Looks in a row that found no row: then it is asked whether there is any between the two at all.
/// Numbers made of the time leave wide gaps, and halving one to its end would take sixty looks.
constexpr int hollow_max = 2;

/// Narrows a bracket until `near_enough` says so, or nothing lies within it.
template <class NearEnough>
expected<Bracket> narrow(const CreationTimes& times, Bracket bracket, TimestampMs at,
                         NearEnough near_enough) {
    int hollow = 0;
    for (bool evenly = true; bracket.high.eid - bracket.low.eid > 1 && !near_enough(bracket);
         evenly = !evenly) {
        const Eid above = between(bracket, at, evenly);
        FF_TRY(const auto row, times.first_above(above));
        const bool found = row && row->eid < bracket.high.eid;
        hollow = found ? 0 : hollow + 1;
        if (found && row->at < at) {
            bracket.low = *row;
            continue;
        }
        // Nothing lies between `above` and this row, so `high` may be called the lower number.
        if (found) {
            bracket.high.at = row->at;
        }
        bracket.high.eid = above + 1;
        if (hollow == hollow_max) {
            hollow = 0;
            FF_TRY(const auto next, times.first_above(bracket.low.eid));
            if (!next || next->at >= at) {
                bracket.high.eid = bracket.low.eid + 1;
                break;
            }
            bracket.low = *next;
        }
    }
    return bracket;
}

struct Ends {
    Created first;
    Created last;
};

expected<std::optional<Ends>> ends_of(const CreationTimes& times) {
    FF_TRY(const auto first, times.first_above(std::numeric_limits<Eid>::min()));
    FF_TRY(const auto last, times.last());
    if (!first || !last) {
        return std::nullopt;
    }
    return Ends{*first, *last};
}

}  // namespace

expected<Eid> last_before(const CreationTimes& times, TimestampMs at) {
    const TimestampMs surely = at - clock_slack_ms;
    FF_TRY(const auto ends, ends_of(times));
    if (!ends || ends->first.at >= surely) {
        return Eid{0};
    }
    if (ends->last.at < surely) {
        return ends->last.eid;
    }
    FF_TRY(const Bracket bracket,
           narrow(times, Bracket{ends->first, ends->last}, surely,
                  [&](const Bracket& b) { return b.low.at >= surely - near_ms; }));
    return bracket.low.eid;
}

expected<Eid> first_from(const CreationTimes& times, TimestampMs at) {
    const TimestampMs surely = at + clock_slack_ms;
    FF_TRY(const auto ends, ends_of(times));
    if (!ends || ends->last.at < surely) {
        return std::numeric_limits<Eid>::max();
    }
    if (ends->first.at >= surely) {
        return ends->first.eid;
    }
    FF_TRY(const Bracket bracket,
           narrow(times, Bracket{ends->first, ends->last}, surely,
                  [&](const Bracket& b) { return b.high.at <= surely + near_ms; }));
    return bracket.high.eid;
}

}  // namespace ff::engine
