// Rules of streams that need no rows but those they are given.
#pragma once

#include <optional>

#include <ff/streams.h>

#include "core/changes.h"
#include "core/records.h"
#include "core/stream_records.h"

namespace ff::core {

inline constexpr std::uint64_t summary_frames_max = 64;

struct StreamClosure {
    TimestampMs at = 0;
    StreamClosedReason reason = StreamClosedReason::attempt_success;

    bool operator==(const StreamClosure&) const = default;
};

/// Whether the stream of an attempt is closed. `row` is the attempt's own, or null when it has
/// none: then it runs, or there is no such attempt.
std::optional<StreamClosure> closure_of(const Execution& execution, std::uint32_t attempt_index,
                                        const Attempt* row);

/// The id of the next frame: ids never go back, whatever the clock does.
FrameId next_frame_id(const FrameId& last, TimestampMs now);

/// When a sweep must look at the stream again; nothing when it goes with its execution only.
std::optional<TimestampMs> next_sweep(const StreamMeta& meta,
                                      const std::optional<StreamClosure>& closure, TimestampMs now);

/// Drops the oldest frames of a mode, `most` at most; answers how many went.
std::uint64_t drop_frames(StreamMeta& meta, FrameMode mode, std::uint64_t most, Changes& changes);
/// The same for all modes.
std::uint64_t drop_frames(StreamMeta& meta, std::uint64_t most, Changes& changes);

/// How many best-effort frames to keep now that another has come; remembers the rate in `meta`.
std::int64_t best_effort_maxlen(const BestEffort& config, StreamMeta& meta, TimestampMs now);

}  // namespace ff::core
