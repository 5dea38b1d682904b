// Where readers of streams wait for the next frame, or for the end.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/stream_reads.h"
#include "engine/wait_desk.h"

namespace ff::engine {

struct TailKind {
    using Op = TailStream;
    using Page = StreamPage;
    struct Place {
        ExecutionId execution;
        std::uint32_t attempt_index = 0;
        auto operator<=>(const Place&) const = default;
    };

    static Place place_of(const Op& op) { return {op.execution_id, op.attempt_index}; }
    static expected<void> check(const Op& op) { return engine::check(op); }
    static expected<Page> read(Op& op, const ReadContext& c) { return read_tail(op, c); }
    static bool is_answer(const Page& page) {
        return !page.frames.empty() || page.closed_at.has_value();
    }
    static bool is_last(const Page& page) { return page.frames.empty(); }
    /// From the place of the one that is furthest behind; all frames, whatever they filter.
    static Op common(std::span<const Op* const> ops) {
        Op out;
        out.execution_id = ops.front()->execution_id;
        out.attempt_index = ops.front()->attempt_index;
        out.after =
            (*std::ranges::min_element(ops, {}, [](const Op* op) { return op->after.id; }))->after;
        out.limit = frames_per_read_max;
        return out;
    }
    static Page share(Op& op, const Page& page) {
        Page own{{}, page.closed_at, page.closed_reason};
        for (const StreamFrame& frame : page.frames) {
            if (own.frames.size() < op.limit && is_wanted(op, frame)) {
                own.frames.push_back(frame);
            }
        }
        if (own.frames.empty() && !page.frames.empty()) {
            // A page may end before the stream does: what this reader wants may stand behind it.
            op.after = std::max(op.after.id, page.frames.back().id);
            own.closed_at.reset();
            own.closed_reason.reset();
        }
        return own;
    }
};

class TailDesk : public WaitDesk<TailKind> {
  public:
    using WaitDesk::changed;
    using WaitDesk::WaitDesk;
    /// These executions have changed, and it is durable.
    void changed(std::span<const ExecutionId> executions) {
        if (is_empty()) {
            return;
        }
        for (const ExecutionId& id : executions) {
            changed({id, 0}, {id, std::numeric_limits<std::uint32_t>::max()});
        }
    }
};

}  // namespace ff::engine
