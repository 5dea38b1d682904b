#include "core/replay.h"

#include <algorithm>
#include <vector>

#include <ff/json.h>

#include "core/flow_rules.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

bool is_taken_back(const Edge& edge) {
    return edge.state == EdgeState::applied && (edge.dependency == DependencyState::impossible ||
                                                edge.dependency == DependencyState::not_taken);
}

/// Takes back what made the group impossible, blocks the execution, and counts what holds already.
expected<void> reopen_group(GraphEdit& edit, const Snapshot& view, const ExecutionId& id,
                            Upstreams rest) {
    EdgeGroup& group = edit.change_group(*edit.execution(id)->flow_id, id);
    group.state = GroupState::pending;
    group.satisfied_at.reset();
    group.siblings_pending = false;
    group.siblings_reason.reset();
    const auto edges = view.inbound(id);
    const bool was_failed = std::ranges::any_of(
        edges, [](const Edge* edge) { return edge->dependency == DependencyState::impossible; });
    std::vector<EdgeKey> succeeded;  // meanwhile, by a replay of the upstream
    for (const Edge* found : edges) {
        const Execution* upstream = edit.execution(found->upstream);
        if (!is_taken_back(*found) || upstream == nullptr) {
            continue;  // one that is gone cannot end again: what it was goes on to count
        }
        const bool was_impossible = found->dependency == DependencyState::impossible;
        const bool ended = is_terminal(upstream->state);
        const bool succeeds =
            ended && was_impossible && upstream->state.outcome == TerminalOutcome::success;
        // A branch that was not taken is no reason to wait, unless there is no other.
        if (ended && !succeeds && (rest == Upstreams::stay || (!was_impossible && was_failed))) {
            continue;
        }
        Edge& edge = edit.change_edge(found->key);
        uncount(group, *edge.dependency, *edge.outcome);
        edge.dependency = DependencyState::unsatisfied;
        edge.outcome.reset();
        edge.resolved_at.reset();
        edge.fence_replays.reset();
        if (succeeds) {
            succeeded.push_back(edge.key);
        } else if (ended) {
            edge.fence_replays = upstream->replay_count;  // that end was the reason: not again
        }
    }
    edit.block(
        id, std::to_string(group.staged - group.resolved()) + " dep(s) unsatisfied after replay");
    for (const EdgeKey& key : succeeded) {
        FF_TRY_VOID(edit.resolve(key, TerminalOutcome::success));
    }
    return edit.settle(id);
}

}  // namespace

bool waits_for_upstreams(const EdgeGroup* group) {
    return group != nullptr && group->staged > 0 && group->state != GroupState::satisfied;
}

expected<void> check_replay(const Snapshot& view, const Execution& e, const Context& ctx) {
    if (!is_terminal(e.state)) {
        return ff::fail(ErrorCode::execution_not_terminal,
                        "it is " + std::string(to_string(e.public_state)));
    }
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    const std::uint32_t cap = policy != nullptr ? policy->replay_cap() : Policy{}.replay_cap();
    if (e.replay_count >= cap) {
        return ff::fail(ErrorCode::max_replays_exhausted,
                        std::to_string(e.replay_count) + " of " + std::to_string(cap));
    }
    const Flow* flow = view.flow_of(e);
    if (flow != nullptr && flow->state == FlowState::cancelled) {
        return ff::fail(ErrorCode::flow_already_terminal,
                        "flow " + flow->id.to_string() + " is cancelled");
    }
    return {};
}

void need_replay(const Snapshot& view, const ExecutionId& id, ReadSet& set) {
    need_member(view, id, InputNeed::if_tagged_or_policy, set);
    const Execution* e = view.knows_execution(id) ? view.execution(id) : nullptr;
    if (e == nullptr || !e->flow_id) {
        return;
    }
    if (!view.knows_flow(*e->flow_id)) {
        set.flows.push_back(*e->flow_id);
    }
    if (!view.knows_group(id)) {
        set.groups.emplace_back(*e->flow_id, id);
        return;
    }
    if (!waits_for_upstreams(view.group(id))) {
        return;
    }
    if (!view.knows_inbound(id)) {
        set.inbound.push_back(id);
        return;
    }
    for (const Edge* edge : view.inbound(id)) {
        need_member(view, edge->upstream, InputNeed::none, set);
        if (edge->data_passing_ref) {
            need_member(view, id, InputNeed::always, set);
        }
    }
}

expected<void> replay(GraphEdit& edit, const Snapshot& view, const ExecutionId& id, Upstreams rest,
                      const Context& ctx) {
    const bool waits =
        edit.execution(id)->flow_id.has_value() && waits_for_upstreams(edit.group(id));
    if (const auto flow = edit.execution(id)->flow_id) {
        edit.uncount_end(*flow, *edit.execution(id));
    }
    Execution& e = edit.change_execution(id);
    e.replay_count += 1;
    e.retry_count = 0;
    e.lease_reclaim_count = 0;
    e.completed_at.reset();
    e.retain_until.reset();
    e.failure_reason.reset();
    e.failure_category.reset();
    e.cancellation_reason.reset();
    e.cancelled_by.reset();
    e.lineage_previous_index = e.current_attempt_index;
    e.lineage_requested_by = "operator";
    e.lineage_reason = "operator_replay";
    if (e.execution_deadline_at && *e.execution_deadline_at <= ctx.now) {
        e.execution_deadline_at.reset();
    }
    e.state.attempt_state = AttemptState::pending_replay_attempt;
    make_eligible(e, ctx.now);
    js::Object details{{"branch", "normal"}};
    if (waits) {
        details = js::Object{{"branch", "skipped_flow_member"}, {"groups_reset", 1}};
    }
    ExecutionEvent history = lease_event(view, e, LeaseEventType::replay_initiated, ctx.now);
    history.reason = waits ? "skipped_flow_member" : "normal";
    edit.changes().events.push_back(std::move(history));
    edit.changes().log_events.push_back(
        operator_event(view, e, "replayed", js::dump(js::Value(std::move(details))), ctx.now));
    if (!waits) {
        return {};
    }
    FF_TRY_VOID(reopen_group(edit, view, id, rest));
    if (is_terminal(edit.execution(id)->state)) {
        // Skipped again at once, by what has happened meanwhile. The row has ended before and
        // after, so nobody else sees that it did.
        const FlowId flow = *edit.execution(id)->flow_id;
        edit.count_end(flow, "");
        edit.changes().follow_ups.push_back({{flow, FlowWorkKind::ended, id}, {}, ctx.now});
    }
    return {};
}

}  // namespace ff::core
