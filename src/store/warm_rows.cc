#include "store/warm_rows.h"

#include <algorithm>

#include "store/prepare.h"

namespace ff::store {

using core::ExecutionCell;

namespace {

/// One that a claim will load by its number, soon: it has waited for others or for a signal, and
/// does not stand behind a backlog as new ones may.
bool may_be_claimed(const core::Execution& e) {
    return (e.flow_id || e.suspension_count > 0) && e.state.phase == LifecyclePhase::runnable &&
           e.state.eligibility == EligibilityState::eligible_now;
}

/// The holder of a lease comes back soon, to renew or to finish. A member that waits for others is
/// looked at when one of them ends, and claimed soon after the last did. Who suspends is often
/// answered at once, by another program.
bool is_expected_soon(const core::Execution& e) {
    const bool waits = e.flow_id && e.state.phase == LifecyclePhase::runnable &&
                       e.state.eligibility == EligibilityState::blocked_by_dependencies;
    return e.state.ownership == OwnershipState::leased ||
           e.state.phase == LifecyclePhase::suspended || waits || may_be_claimed(e);
}

/// Few are large, and those are read again rather than kept.
bool is_small(const OpenWaits& open) {
    constexpr std::size_t waitpoints_max = 8;
    constexpr std::size_t bytes_max = 4'096;
    const auto& suspension = open.suspension;
    const std::size_t bytes = suspension
                                  ? suspension->condition.size() + suspension->waitpoints.size() +
                                        suspension->continuation.value_or("").size()
                                  : 0;
    return open.waitpoints.size() <= waitpoints_max && bytes <= bytes_max;
}

/// Made by the transaction, and by no other before it. Edges join members (F2), so all it has are
/// among those of the batch.
bool is_new(const ExecutionCell& cell) {
    return cell.execution.dirty && !cell.execution.stored && cell.execution.current() &&
           !cell.deleted;
}

}  // namespace

std::optional<core::Execution> WarmRows::take(core::Eid eid) {
    const auto id = members_.take(eid);
    return id ? take(*id) : std::nullopt;
}

void WarmRows::committed(const ExecutionCell& cell) {
    if (cell.deleted) {
        executions_.drop(cell.id);
    }
    const auto& current = cell.execution.current();
    const auto& group = cell.group.current();
    const bool keeps_row = current && is_expected_soon(*current);
    const bool keeps_group = group && group->state == GroupState::pending;
    WarmExecution* warm =
        keeps_row || keeps_group ? &executions_.at(cell.id) : executions_.find(cell.id);
    if (warm == nullptr) {
        return;
    }
    if (keeps_row) {
        if (may_be_claimed(*current)) {
            members_.keep(current->eid, cell.id);
        }
        warm->row = *current;
    } else if (cell.execution.dirty) {
        warm->row.reset();
    }
    if (keeps_group) {
        const bool has_row = cell.group.dirty && !cell.group.implied;
        warm->group = {*group, has_row ? std::nullopt : cell.only_edge};
    } else if (cell.group.dirty) {
        warm->group.reset();
    }
    if (warm->empty()) {
        executions_.drop(cell.id);
    }
}

void WarmRows::drop_outbound(const ExecutionId& upstream) {
    if (WarmExecution* warm = executions_.find(upstream)) {
        warm->outbound.reset();
    }
}

void WarmRows::committed_edges(const core::Snapshot& snapshot) {
    std::unordered_map<ExecutionId, std::vector<core::Edge>> made;
    for (const ExecutionCell& cell : snapshot.cells) {
        if (is_new(cell) && cell.execution.current()->flow_id) {
            made[cell.id];
        }
    }
    for (const auto& [key, edge] : snapshot.edges) {
        if (!edge.dirty || !edge.current()) {
            continue;
        }
        if (auto it = made.find(edge.current()->upstream); it != made.end()) {
            it->second.push_back(*edge.current());
        } else {
            drop_outbound(edge.current()->upstream);
        }
    }
    for (auto& [upstream, edges] : made) {
        executions_.at(upstream).outbound = std::move(edges);
    }
}

void WarmRows::committed_waits(const ExecutionCell& cell, const core::WaitTable& waits) {
    const auto waits_for_something = [](const std::optional<core::Execution>& e) {
        return e && (e->open_waitpoints > 0 || e->current_suspension_id);
    };
    const auto& before = cell.execution.stored;
    const auto& now = cell.execution.current();
    if (waits_for_something(before)) {
        waits_.drop(before->eid);
    }
    if (!waits_for_something(now)) {
        return;
    }
    const bool all_known = waits.knows_open(now->eid) || !waits_for_something(before);
    const auto key = open_suspension(*now);
    const auto suspension = key ? waits.suspensions.find(*key) : waits.suspensions.end();
    if (!all_known || (key && suspension == waits.suspensions.end())) {
        return;
    }
    OpenWaits open;
    if (key) {
        open.suspension = suspension->second.current();
    }
    for (const core::Waitpoint* waitpoint : waits.open_waitpoints(now->eid)) {
        open.waitpoints.push_back(*waitpoint);
    }
    if (open.waitpoints.size() == now->open_waitpoints && is_small(open)) {
        waits_.keep(now->eid, std::move(open));
    }
}

void WarmRows::committed_keys(const core::WaitTable& waits) {
    const bool changed =
        std::ranges::any_of(waits.hmac_keys, [](const auto& entry) { return entry.second.dirty; });
    if (changed) {
        hmac_keys_.reset();
    }
    if (hmac_keys_ || !waits.knows_keys()) {
        return;
    }
    hmac_keys_.emplace();
    for (const core::HmacKey* key : waits.keys()) {
        hmac_keys_->push_back(*key);
    }
}

void WarmRows::committed(const core::Snapshot& snapshot) {
    for (const ExecutionCell& cell : snapshot.cells) {
        committed(cell);
        committed_waits(cell, snapshot.waits);
    }
    committed_keys(snapshot.waits);
    if (snapshot.flows.empty()) {
        return;  // nothing changes a graph without its flow
    }
    committed_edges(snapshot);
    bool any_deleted = false;
    for (const auto& [id, cell] : snapshot.flows) {
        if (cell.flow.current() && !cell.flow.current()->finished_at) {
            flows_.keep(id, *cell.flow.current());
        } else if (cell.flow.dirty) {
            flows_.drop(id);
        }
        any_deleted = any_deleted || cell.deleted;
    }
    if (any_deleted) {
        // Their edges and groups went with them, whoever they belonged to. Rare: all go.
        executions_.each([](WarmExecution& warm) {
            warm.group.reset();
            warm.outbound.reset();
        });
    }
}

}  // namespace ff::store
