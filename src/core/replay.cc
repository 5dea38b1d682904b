#include "core/replay.h"

#include <vector>

#include <ff/json.h>

#include "core/flow_rules.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

/// Must it wait for its upstreams (again)? A member runs only when its group is satisfied: one that
/// was skipped has an impossible group, one that was cancelled early perhaps a pending one.
bool waits_for_upstreams(const EdgeGroup* group) {
    return group != nullptr && group->staged > 0 && group->state != GroupState::satisfied;
}

/// Takes back what made the group impossible, blocks the execution, and counts what holds already.
expected<void> reopen_group(GraphEdit& edit, const Snapshot& view, const ExecutionId& id) {
    EdgeGroup& group = edit.change_group(*edit.execution(id)->flow_id, id);
    group.state = GroupState::pending;
    group.satisfied_at.reset();
    group.siblings_pending = false;
    group.siblings_reason.reset();
    std::vector<EdgeKey> succeeded;  // meanwhile, by a replay of the upstream
    for (const Edge* found : view.inbound(id)) {
        if (found->state != EdgeState::applied ||
            found->dependency == DependencyState::unsatisfied ||
            found->dependency == DependencyState::satisfied) {
            continue;
        }
        Edge& edge = edit.change_edge(found->key);
        const bool was_impossible = edge.dependency == DependencyState::impossible;
        uncount(group, *edge.dependency, *edge.outcome);
        edge.dependency = DependencyState::unsatisfied;
        edge.outcome.reset();
        edge.resolved_at.reset();
        edge.fence_replays.reset();
        const Execution* upstream = edit.execution(edge.upstream);
        if (upstream == nullptr || !is_terminal(upstream->state)) {
            continue;
        }
        if (was_impossible && upstream->state.outcome == TerminalOutcome::success) {
            succeeded.push_back(edge.key);
        } else {
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

expected<void> replay(GraphEdit& edit, const Snapshot& view, const ExecutionId& id,
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
        FF_TRY_VOID(reopen_group(edit, view, id));
        details = js::Object{{"branch", "skipped_flow_member"}, {"groups_reset", 1}};
    }
    ExecutionEvent history = lease_event(view, e, LeaseEventType::replay_initiated, ctx.now);
    history.reason = waits ? "skipped_flow_member" : "normal";
    edit.changes().events.push_back(std::move(history));
    edit.changes().log_events.push_back(
        operator_event(view, e, "replayed", js::dump(js::Value(std::move(details))), ctx.now));
    return {};
}

}  // namespace ff::core
