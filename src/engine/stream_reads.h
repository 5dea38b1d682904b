// Reading streams: pages, and what a page may hold.
#pragma once

#include <functional>

#include <ff/streams.h>

#include "engine/reads.h"
#include "store/store.h"

namespace ff::engine {

/// Frames of a page together; one that would go beyond ends before it, but has one frame at least.
inline constexpr std::size_t page_bytes_max = 8U << 20;

/// A stretch of a stream and which of its frames are wanted.
struct FrameRange {
    FrameId from;
    FrameId to;
    store::Order order = store::Order::oldest_first;
    std::uint64_t limit = 0;
    std::function<bool(const core::FrameRow&)> wanted;
};

/// Frames and closure in one view. A stream that nobody wrote, or whose execution is not there, has
/// no frames and is open. `last_seen`: the last frame looked at, wanted or not; none when there was
/// none.
expected<StreamPage> read_page(store::Store& store, TimestampMs now, const ExecutionId& id,
                               std::uint32_t attempt_index, const FrameRange& range,
                               std::optional<FrameId>* last_seen = nullptr);

/// What a tail finds now. One that finds nothing it wants is moved on behind what it looked at.
expected<StreamPage> read_tail(TailStream& op, const ReadContext& c);

/// Everything behind a place; nothing when nothing can be.
std::optional<FrameRange> range_after(const TailStream& op);

/// Is the frame one that the tail asks for?
bool is_wanted(const TailStream& op, const StreamFrame& frame);

}  // namespace ff::engine
