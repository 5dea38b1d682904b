// Mending what follows from the rest of a row, for the index reconciler. Phase and outcome are not
// touched: what they should be is not for a pass to say.
#include <utility>

#include "core/decide.h"
#include "core/leasing.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

bool lacks_part_of_lease(const Execution& e) {
    return e.state.phase == LifecyclePhase::active && e.state.ownership == OwnershipState::leased &&
           !(e.lease_id && e.worker_id && e.worker_instance_id && e.lease_expires_at);
}

/// Nobody can be its holder any more: it is for the next to take over. What is lost is filled in,
/// since every event names a lease.
void take_from_nobody(const Snapshot& view, Execution& e, Changes& changes, const Context& ctx) {
    e.lease_id = e.lease_id.value_or(LeaseId{ctx.ids.uuid(ctx.now)});
    e.worker_id = e.worker_id.value_or("unknown");
    e.worker_instance_id = e.worker_instance_id.value_or("unknown");
    e.lease_expires_at = ctx.now;
    mark_lease_expired(view, e, changes, ctx);
}

/// How many attempts there were by the rows there are; nothing when the rows do not say.
std::optional<std::uint32_t> attempts_by_rows(const Execution& e,
                                              const std::vector<std::uint32_t>& indexes) {
    const auto rows = static_cast<std::uint32_t>(indexes.size());
    for (std::uint32_t i = 0; i < rows; ++i) {
        if (indexes[i] != i) {
            return std::nullopt;
        }
    }
    if (e.state.phase != LifecyclePhase::active) {
        const bool never_ran = e.state.attempt_state == AttemptState::pending_first_attempt;
        // Where rows were lost their frames may be left, and the next attempt would add to them.
        const bool lost = rows < e.total_attempt_count && e.has_streams;
        return (never_ran && rows > 0) || lost ? std::nullopt : std::optional(rows);
    }
    // The running attempt lives in the execution's row; it may have a row from an earlier pause.
    const auto running = e.current_attempt_index;
    return running && (rows == *running || rows == *running + 1) ? std::optional(*running + 1)
                                                                 : std::nullopt;
}

bool mend_count(Execution& e, const std::vector<std::uint32_t>& indexes) {
    const auto attempts = attempts_by_rows(e, indexes);
    if (!attempts) {
        return false;
    }
    const auto last = *attempts > 0 ? std::optional(*attempts - 1) : std::nullopt;
    if (e.total_attempt_count == *attempts && e.current_attempt_index == last) {
        return false;
    }
    e.total_attempt_count = *attempts;
    e.current_attempt_index = last;
    return true;
}

}  // namespace

void reads(const RepairExecution& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);
}

void reads_more(const Snapshot& view, const RepairExecution& args, ReadSet& set) {
    read_lane_of(view, args.execution_id, set);
}

Decision<bool> decide(const Snapshot& view, const RepairExecution& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr || found->last_mutation_at != args.seen_at_mutation) {
        return false;
    }
    Execution e = *found;
    Changes changes;
    if (const std::string& lane = view.route(e.route).key.lane; view.lane(lane) == nullptr) {
        changes.put_lanes.push_back({lane, LaneState::active, ctx.now});
    }
    bool mended = mend_count(e, args.attempt_indexes);
    if (lacks_part_of_lease(e)) {
        take_from_nobody(view, e, changes, ctx);
        mended = true;
    }
    if (e.public_state != public_state(e.state)) {
        e.public_state = public_state(e.state);
        mended = true;
    }
    if (mended) {
        e.last_mutation_at = ctx.now;
        changes.put_executions.push_back(std::move(e));
    }
    const bool any = mended || !changes.put_lanes.empty();
    return {any, std::move(changes)};
}

}  // namespace ff::core
