#include "engine/stream_reads.h"

#include <algorithm>
#include <limits>

#include "core/stream_rules.h"
#include "engine/reads.h"

namespace ff::engine {

namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
/// As many frames as fill a page when each is as large as may be.
constexpr std::size_t frames_a_chunk = page_bytes_max / frame_bytes_max;

StreamFrame frame_of(core::FrameRow row) {
    StreamFrame out;
    out.id = row.key.id;
    out.frame_type = std::move(row.frame_type);
    out.payload = std::move(row.payload);
    out.mode = row.mode;
    out.ts = row.ts;
    out.correlation_id = std::move(row.correlation_id);
    out.summary_version = row.summary_version;
    out.ttl_ms = row.ttl_ms;
    return out;
}

/// The id right behind another; nothing behind the highest.
std::optional<FrameId> next(const FrameId& id) {
    if (id.seq < highest) {
        return FrameId{id.ms, id.seq + 1};
    }
    return id.ms < highest ? std::optional(FrameId{id.ms + 1, 0}) : std::nullopt;
}

std::optional<FrameId> previous(const FrameId& id) {
    if (id.seq > 0) {
        return FrameId{id.ms, id.seq - 1};
    }
    return id.ms > 0 ? std::optional(FrameId{id.ms - 1, highest}) : std::nullopt;
}

/// The frames of a range, read in chunks so that a page of large frames stays within its bytes.
expected<std::vector<StreamFrame>> read_frames(store::Reader& reader, const core::StreamKey& key,
                                               FrameRange range,
                                               std::optional<FrameId>& last_seen) {
    std::vector<StreamFrame> out;
    std::size_t bytes = 0;
    while (out.size() < range.limit && range.from <= range.to) {
        const std::size_t most =
            range.wanted ? frames_a_chunk
                         : std::min<std::size_t>(frames_a_chunk, range.limit - out.size());
        FF_TRY(auto rows, reader.frames(key, range.from, range.to, range.order, most));
        for (core::FrameRow& row : rows) {
            last_seen = row.key.id;
            if (range.wanted && !range.wanted(row)) {
                continue;
            }
            bytes += row.payload.size();
            if (out.size() == range.limit || (bytes > page_bytes_max && !out.empty())) {
                return out;
            }
            out.push_back(frame_of(std::move(row)));
        }
        if (rows.size() < most) {
            break;
        }
        const bool ascending = range.order == store::Order::oldest_first;
        const auto edge = ascending ? next(rows.back().key.id) : previous(rows.back().key.id);
        if (!edge) {
            break;
        }
        (ascending ? range.from : range.to) = *edge;
    }
    return out;
}

bool passes(StreamVisibility visibility, const std::vector<std::string>& types, FrameMode mode,
            const std::string& type) {
    return (visibility == StreamVisibility::all || mode != FrameMode::best_effort) &&
           (types.empty() || std::ranges::find(types, type) != types.end());
}

/// Nothing when every frame passes.
template <class Op>
std::function<bool(const core::FrameRow&)> filter_of(const Op& op) {
    if (op.visibility == StreamVisibility::all && op.frame_types.empty()) {
        return {};
    }
    return [visibility = op.visibility, types = op.frame_types](const core::FrameRow& row) {
        return passes(visibility, types, row.mode, row.frame_type);
    };
}

expected<void> check_limit(std::uint64_t limit) {
    if (limit == 0) {
        return ff::fail(ErrorCode::invalid_input, "count_limit must be >= 1");
    }
    if (limit > frames_per_read_max) {
        return ff::fail(ErrorCode::invalid_input, "count_limit_exceeds_hard_cap");
    }
    return {};
}

}  // namespace

expected<StreamPage> read_page(store::Store& store, TimestampMs now, const ExecutionId& id,
                               std::uint32_t attempt_index, const FrameRange& range,
                               std::optional<FrameId>* last_seen) {
    StreamPage page;
    std::optional<FrameId> seen;
    FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
        page = {};
        seen.reset();
        FF_TRY(const auto execution, reader.execution(id));
        if (!execution) {
            return {};
        }
        const core::StreamKey key{execution->eid, attempt_index};
        FF_TRY(const auto attempt, reader.attempt(key.eid, attempt_index));
        if (const auto closure =
                core::closure_of(*execution, attempt_index, attempt ? &*attempt : nullptr)) {
            page.closed_at = closure->at;
            page.closed_reason = closure->reason;
        }
        if (!execution->has_streams) {
            return {};
        }
        FF_TRY(const auto meta, reader.stream_meta(key));
        if (meta && !meta->expired(now)) {
            FF_TRY(page.frames, read_frames(reader, key, range, seen));
        }
        return {};
    }));
    if (last_seen != nullptr) {
        *last_seen = seen;
    }
    return page;
}

std::optional<FrameRange> range_after(const TailStream& op) {
    const auto from = next(op.after.id);
    if (!from) {
        return std::nullopt;
    }
    return FrameRange{
        *from, {highest, highest}, store::Order::oldest_first, op.limit, filter_of(op)};
}

bool is_wanted(const TailStream& op, const StreamFrame& frame) {
    return frame.id > op.after.id &&
           passes(op.visibility, op.frame_types, frame.mode, frame.frame_type);
}

expected<void> check(const TailStream& op) {
    FF_TRY_VOID(check_limit(op.limit));
    if (op.after.at == FrameCursor::At::start || op.after.at == FrameCursor::At::end) {
        return ff::fail(ErrorCode::invalid_input,
                        "tail cursor must be concrete: '<ms>' or '<ms>-<seq>' ('0-0' is the "
                        "beginning)");
    }
    if (op.block_ms < 0 || op.block_ms > stream_block_ms_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "block_ms must be in 0..=" + std::to_string(stream_block_ms_max) +
                            " (got " + std::to_string(op.block_ms) + ")");
    }
    return {};
}

expected<StreamPage> answer(const ReadStream& op, const ReadContext& c) {
    FF_TRY_VOID(check_limit(op.limit));
    const auto from = op.from.lower();
    const auto to = op.to.upper();
    const bool backwards = op.order == StreamOrder::desc;
    FrameRange range{from.value_or(FrameId{highest, highest}), to.value_or(FrameId{}),
                     backwards ? store::Order::newest_first : store::Order::oldest_first, op.limit,
                     filter_of(op)};
    if (!from || !to) {
        range.limit = 0;
    }
    return read_page(c.store, c.now, op.execution_id, op.attempt_index, range);
}

expected<StreamPage> answer(const TailStream& op, const ReadContext& c) {
    TailStream once = op;
    return read_tail(once, c);
}

expected<StreamPage> read_tail(TailStream& op, const ReadContext& c) {
    FF_TRY_VOID(check(op));
    const FrameRange range = range_after(op).value_or(FrameRange{});
    std::optional<FrameId> last_seen;
    FF_TRY(StreamPage page,
           read_page(c.store, c.now, op.execution_id, op.attempt_index, range, &last_seen));
    if (page.frames.empty() && last_seen) {
        op.after = *last_seen;
    }
    return page;
}

expected<std::optional<StreamSummary>> answer(const ReadStreamSummary& op, const ReadContext& c) {
    std::optional<StreamSummary> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        out.reset();
        FF_TRY(const auto execution, reader.execution(op.execution_id));
        if (!execution || !execution->has_streams) {
            return {};
        }
        FF_TRY(auto row, reader.summary({execution->eid, op.attempt_index}));
        if (row) {
            out =
                StreamSummary{std::move(row->document), row->version, std::string(json_merge_patch),
                              row->last_updated_ms, row->first_applied_ms};
        }
        return {};
    }));
    return out;
}

}  // namespace ff::engine
