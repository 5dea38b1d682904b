#include "store/warm_rows.h"

namespace ff::store {

using core::ExecutionCell;

namespace {

/// A member that a claim will load by its number.
bool may_be_claimed(const core::Execution& e) {
    return e.flow_id && e.state.phase == LifecyclePhase::runnable &&
           e.state.eligibility == EligibilityState::eligible_now;
}

/// The holder of a lease comes back soon, to renew or to finish. A member that waits for others is
/// looked at when one of them ends, and claimed soon after the last did.
bool is_expected_soon(const core::Execution& e) {
    const bool waits = e.flow_id && e.state.phase == LifecyclePhase::runnable &&
                       e.state.eligibility == EligibilityState::blocked_by_dependencies;
    return e.state.ownership == OwnershipState::leased || waits || may_be_claimed(e);
}

/// Made by the transaction, and by no other before it. Edges join members (F2), so all it has are
/// among those of the batch.
bool is_new(const ExecutionCell& cell) {
    return cell.execution.dirty && !cell.execution.stored && cell.execution.current &&
           !cell.deleted;
}

}  // namespace

std::optional<core::Execution> WarmRows::take(core::Eid eid) {
    const auto id = members_.take(eid);
    return id ? executions_.take(*id) : std::nullopt;
}

void WarmRows::committed(const ExecutionCell& cell) {
    const auto& current = cell.execution.current;
    if (cell.deleted) {
        groups_.drop(cell.id);
        outbound_.drop(cell.id);
    }
    if (current && is_expected_soon(*current)) {
        if (may_be_claimed(*current)) {
            members_.keep(current->eid, cell.id);
        }
        executions_.keep(cell.id, *current);
    } else if (cell.execution.dirty) {
        executions_.drop(cell.id);
    }
    const auto& group = cell.group.current;
    if (group && group->state == GroupState::pending) {
        groups_.keep(cell.id, *group);
    } else if (cell.group.dirty) {
        groups_.drop(cell.id);
    }
}

void WarmRows::committed_edges(const core::Snapshot& snapshot) {
    std::unordered_map<ExecutionId, std::vector<core::Edge>> made;
    for (const ExecutionCell& cell : snapshot.cells) {
        if (is_new(cell) && cell.execution.current->flow_id) {
            made[cell.id];
        }
    }
    for (const auto& [key, edge] : snapshot.edges) {
        if (!edge.dirty || !edge.current) {
            continue;
        }
        if (auto it = made.find(edge.current->upstream); it != made.end()) {
            it->second.push_back(*edge.current);
        } else {
            outbound_.drop(edge.current->upstream);
        }
    }
    for (auto& [upstream, edges] : made) {
        outbound_.keep(upstream, std::move(edges));
    }
}

void WarmRows::committed(const core::Snapshot& snapshot) {
    for (const ExecutionCell& cell : snapshot.cells) {
        committed(cell);
    }
    if (snapshot.flows.empty()) {
        return;  // nothing changes a graph without its flow
    }
    committed_edges(snapshot);
    for (const auto& [id, cell] : snapshot.flows) {
        if (cell.flow.current && !cell.flow.current->finished_at) {
            flows_.keep(id, *cell.flow.current);
        } else if (cell.flow.dirty) {
            flows_.drop(id);
        }
        if (cell.deleted) {
            // Its edges and groups went with it, whoever they belonged to. Rare: all go.
            groups_.clear();
            outbound_.clear();
        }
    }
}

}  // namespace ff::store
