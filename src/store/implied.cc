#include "store/implied.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/flow_rules.h"

namespace ff::store {

using core::Edge;
using core::EdgeGroup;
using core::EdgeKey;
using core::Execution;
using core::ExecutionCell;
using core::Snapshot;

namespace {

bool is_same_end(const Execution& a, const Execution& b) {
    return a.eid == b.eid && a.state.outcome == b.state.outcome &&
           a.completed_at == b.completed_at && a.replay_count == b.replay_count;
}

/// Would this edge be taken for resolved, if its upstream said that its edges were told?
bool is_implied_by_end(const Edge& edge, const Execution& upstream) {
    return edge.state == EdgeState::applied && edge.dependency == DependencyState::unsatisfied &&
           edge.kind == DependencyKind::success_only && !edge.when && !edge.fence_replays &&
           upstream.state.phase == LifecyclePhase::terminal && upstream.completed_at;
}

/// Is its flow deleted, with all edges?
bool goes_with_flow(const Execution& member, const Snapshot& snapshot) {
    const auto it = member.flow_id ? snapshot.flows.find(*member.flow_id) : snapshot.flows.end();
    return it != snapshot.flows.end() && it->second.deleted;
}

/// The edge that implies a group the batch has changed; none when there is a row, or must be.
std::optional<EdgeKey> implied_by(const ExecutionCell& cell, const Snapshot& snapshot) {
    if (cell.group.stored && !cell.only_edge) {
        return std::nullopt;
    }
    const std::vector<EdgeKey>& made = snapshot.made_inbound(cell.id);
    if (made.size() > 1 || (made.empty() && !cell.only_edge)) {
        return std::nullopt;
    }
    const EdgeKey key = made.empty() ? *cell.only_edge : made.front();
    if (cell.only_edge && key != *cell.only_edge) {
        return std::nullopt;
    }
    const auto it = snapshot.edges.find(key);
    const Edge* edge = it == snapshot.edges.end() ? nullptr : it->second.get();
    return edge != nullptr && implied_group(*edge) == *cell.group.current() ? std::optional(key)
                                                                            : std::nullopt;
}

/// Which upstreams may say that their edges were told: those of which all edges are known, and none
/// is open any more. That is so when their end was told to all of them, and not when somebody has
/// resolved one by hand while the rest still waits to be told.
class Tellers {
  public:
    explicit Tellers(const Snapshot& snapshot) : snapshot_(snapshot) {}

    bool may_tell(const ExecutionCell* upstream) {
        if (upstream == nullptr || upstream->deleted || !upstream->execution.dirty ||
            !upstream->execution.current() || !upstream->outbound) {
            return false;
        }
        const auto [known, is_new] = judged_.try_emplace(upstream, false);
        if (is_new) {
            known->second = std::ranges::none_of(*upstream->outbound, [&](const EdgeKey& key) {
                const auto it = snapshot_.edges.find(key);
                const Edge* edge = it == snapshot_.edges.end() ? nullptr : it->second.get();
                return edge == nullptr || is_implied_by_end(*edge, *upstream->execution.current());
            });
        }
        return known->second;
    }

  private:
    const Snapshot& snapshot_;
    std::unordered_map<const ExecutionCell*, bool> judged_;
};

/// An edge that was open and has been resolved by the end that its upstream now has.
bool says_nothing_new(const core::Tracked<Edge>& edge, const Execution& upstream) {
    const auto implied = edge.stored ? resolved_by_end(*edge.stored, upstream) : std::nullopt;
    return implied && *implied == *edge.current();
}

}  // namespace

std::optional<Edge> resolved_by_end(const Edge& edge, const Execution& upstream) {
    if (!is_implied_by_end(edge, upstream)) {
        return std::nullopt;
    }
    Edge resolved = edge;
    resolved.dependency = core::resolve_edge(edge, upstream.state.outcome, nullptr);
    resolved.outcome = upstream.state.outcome;
    resolved.resolved_at = upstream.completed_at;
    return resolved;
}

EdgeGroup implied_group(const Edge& only) {
    EdgeGroup group;
    group.flow = only.key.flow;
    group.downstream = only.downstream;
    group.created_at = only.created_at;
    group.staged = 1;
    group.applied = only.state == EdgeState::applied ? 1 : 0;
    if (only.outcome && only.dependency && only.dependency != DependencyState::unsatisfied) {
        core::count(group, *only.dependency, *only.outcome);
    }
    // What a seal changes concerns quorums only.
    group.state = core::evaluate_group(group, false);
    if (group.state == GroupState::satisfied) {
        group.satisfied_at = only.resolved_at;
    }
    return group;
}

std::optional<EdgeGroup> or_implied(std::optional<EdgeGroup> row, const FlowId& flow,
                                    const std::vector<Edge>& inbound) {
    if (!row && inbound.size() == 1 && inbound.front().key.flow == flow) {
        row = implied_group(inbound.front());
    }
    return row;
}

std::vector<ExecutionId> leave_out_implied(Snapshot& snapshot) {
    std::vector<ExecutionId> spelled_out;
    for (ExecutionCell& cell : snapshot.cells) {
        const auto& before = cell.execution.stored;
        if (before && before->edges_told &&
            (cell.deleted || !cell.execution.current() ||
             !is_same_end(*before, *cell.execution.current()))) {
            if (!goes_with_flow(*before, snapshot)) {
                spelled_out.push_back(cell.id);
            }
            if (cell.execution.current()) {
                cell.execution.edit().edges_told = false;
            }
        }
        if (cell.group.dirty && cell.group.current()) {
            const auto by = implied_by(cell, snapshot);
            cell.group.implied = by.has_value();
            cell.only_edge = by ? by : cell.only_edge;
        }
    }
    Tellers tellers(snapshot);
    for (auto& [key, edge] : snapshot.edges) {
        if (!edge.dirty || !edge.current()) {
            continue;
        }
        ExecutionCell* upstream = snapshot.find_cell(edge.current()->upstream);
        edge.implied =
            tellers.may_tell(upstream) && says_nothing_new(edge, *upstream->execution.current());
        if (edge.implied) {
            upstream->execution.edit().edges_told = true;
        }
    }
    return spelled_out;
}

Edge not_implied(Edge before, const Edge& after) {
    before.dependency =
        after.dependency ? std::nullopt : std::optional(DependencyState::unsatisfied);
    before.outcome = after.outcome ? std::nullopt : std::optional(TerminalOutcome::none);
    before.resolved_at = after.resolved_at ? std::nullopt : std::optional(TimestampMs{0});
    return before;
}

void load_group(const ExecutionId& downstream, std::optional<EdgeGroup> row,
                const std::vector<EdgeKey>& inbound, Snapshot& snapshot) {
    std::optional<EdgeKey> only;
    if (!row && inbound.size() == 1) {
        const auto& edge = snapshot.edges[inbound.front()];
        if (edge.stored) {
            row = implied_group(*edge.stored);
            only = inbound.front();
        }
    }
    snapshot.load_group(downstream, std::move(row), only);
}

void load_implied_groups(const FlowId& flow, Snapshot& snapshot) {
    std::map<ExecutionId, std::vector<EdgeKey>> inbound;
    for (auto it = snapshot.edges.lower_bound({flow, EdgeId{}});
         it != snapshot.edges.end() && it->first.flow == flow; ++it) {
        if (it->second.stored) {
            inbound[it->second.stored->downstream].push_back(it->first);
        }
    }
    for (const auto& [downstream, edges] : inbound) {
        if (!snapshot.knows_group(downstream)) {
            load_group(downstream, std::nullopt, edges, snapshot);
        }
    }
}

std::vector<EdgeGroup> with_implied(std::vector<EdgeGroup> rows, const std::vector<Edge>& edges) {
    std::set<ExecutionId> known;
    for (const EdgeGroup& row : rows) {
        known.insert(row.downstream);
    }
    std::map<ExecutionId, std::vector<const Edge*>> inbound;
    for (const Edge& edge : edges) {
        inbound[edge.downstream].push_back(&edge);
    }
    for (const auto& [downstream, edges_in] : inbound) {
        if (edges_in.size() == 1 && !known.contains(downstream)) {
            rows.push_back(implied_group(*edges_in.front()));
        }
    }
    std::ranges::sort(rows, {}, &EdgeGroup::downstream);
    return rows;
}

}  // namespace ff::store
