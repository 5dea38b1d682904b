#include "core/cascade.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/decide.h"
#include "core/derive.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

/// As many as a flow may have members.
constexpr std::size_t parked_max = 1'000'000;
/// So many more than there are places may stand in front of one that somebody asks for; beyond,
/// the repair pass lets it go.
constexpr std::size_t parked_looked_at = 64;
/// Members that another process is at are let go after this time.
constexpr DurationMs unpark_again_ms = 100;

/// How often each downstream appears among some edges.
class Downstreams {
  public:
    explicit Downstreams(const std::vector<const Edge*>& edges) {
        if (edges.size() > 1) {
            for (const Edge* edge : edges) {
                times_[edge->downstream] += 1;
            }
        }
    }
    [[nodiscard]] std::size_t times(const ExecutionId& id) const {
        return times_.empty() ? 1 : times_.at(id);
    }

  private:
    std::unordered_map<ExecutionId, std::size_t> times_;  // empty for a single edge
};

bool is_unresolved(const Edge& edge) {
    return edge.state == EdgeState::pending || edge.dependency == DependencyState::unsatisfied;
}

/// Members of a limited flow that waited and may try again, best first. Of each route as many as
/// there are places: nobody may ask for the best of all. Who then finds no place waits again.
void let_pass(GraphEdit& edit, const Snapshot& view, const FlowId& flow_id, std::size_t places,
              const Context& ctx) {
    if (places == 0) {
        return;
    }
    const std::string gate = gate_of(flow_id);
    std::map<RouteId, std::size_t> passed;
    for (const ExecutionId& id : view.parked(gate)) {
        const Execution* waiting = edit.execution(id);
        if (waiting != nullptr && waiting->gate == gate && passed[waiting->route] < places) {
            passed[waiting->route] += 1;
            make_eligible(edit.change_execution(id), ctx.now);
        }
    }
}

std::size_t free_places(const Flow& flow) {
    return flow.paused || flow.max_active_members <= flow.slots  // or not limited at all
               ? 0
               : static_cast<std::size_t>(flow.max_active_members - flow.slots);
}

void read_waiting(const Snapshot& view, const Flow& flow, ReadSet& set) {
    if (flow.max_active_members == 0) {
        return;
    }
    if (const std::string gate = gate_of(flow.id); !view.knows_parked(gate)) {
        set.parked.emplace_back(gate, flow.max_active_members + parked_looked_at);
    }
}

void reads_of_ended(const Snapshot& view, const FlowWork& work, ReadSet& set) {
    const ExecutionId& id = work.key.execution;
    if (!view.knows_execution(id)) {
        set.need(id);
        return;
    }
    const Execution* ended = view.execution(id);
    if (ended == nullptr || !is_terminal(ended->state)) {
        return;
    }
    if (!view.knows_outbound(id)) {
        set.outbound.push_back(id);
        return;
    }
    const auto edges = view.outbound(id);
    const Downstreams downstreams(edges);
    for (const Edge* edge : edges) {
        const std::size_t times = downstreams.times(edge->downstream);
        need_resolution(view, *edge, ended->state.outcome, times, set);
    }
}

Decision<Done> decide_ended(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    const Execution* ended = view.execution(work.key.execution);
    if (ended == nullptr || !is_terminal(ended->state)) {
        return Done{};  // it runs again: its next end counts
    }
    GraphEdit edit(view, ctx);
    for (const Edge* edge : view.outbound(ended->id)) {
        if (edge->state != EdgeState::applied) {
            continue;
        }
        if (auto resolved = edit.resolve(*edge, ended->state.outcome); !resolved) {
            return std::move(resolved).error();
        }
    }
    return {Done{}, edit.take()};
}

// ------------------------------------------------------------------------------------- siblings

void reads_of_siblings(const Snapshot& view, const FlowWork& work, ReadSet& set) {
    const ExecutionId& child = work.key.execution;
    if (!view.knows_group(child)) {
        set.groups.emplace_back(work.key.flow, child);
    }
    if (!view.knows_inbound(child)) {
        set.inbound.push_back(child);
        return;
    }
    for (const Edge* edge : view.inbound(child)) {
        if (!is_unresolved(*edge)) {
            continue;
        }
        need_member(view, edge->upstream, InputNeed::if_tagged, set);
        if (!view.knows_outbound(edge->upstream)) {
            set.outbound.push_back(edge->upstream);
            continue;
        }
        for (const Edge* other : view.outbound(edge->upstream)) {
            if (is_unresolved(*other) && !view.knows_group(other->downstream)) {
                set.groups.emplace_back(work.key.flow, other->downstream, other->key);
            }
        }
    }
}

/// Does another group still wait for this execution? Winning one race must not spoil another.
bool is_awaited_elsewhere(const Snapshot& view, const ExecutionId& sibling,
                          const ExecutionId& child) {
    return std::ranges::any_of(view.outbound(sibling), [&](const Edge* edge) {
        if (edge->downstream == child || !is_unresolved(*edge)) {
            return false;
        }
        const EdgeGroup* group = view.group(edge->downstream);
        return group == nullptr || group->state == GroupState::pending;
    });
}

Decision<Done> decide_siblings(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    const ExecutionId& child = work.key.execution;
    GraphEdit edit(view, ctx);
    const EdgeGroup* found = view.group(child);
    if (found == nullptr || !found->siblings_pending) {
        return Done{};
    }
    std::set<ExecutionId> siblings;
    for (const Edge* edge : view.inbound(child)) {
        if (!is_unresolved(*edge)) {
            continue;
        }
        const Execution* sibling = view.execution(edge->upstream);
        FlowTally& tally = edit.changes().flow_tally;
        if (sibling == nullptr) {
            tally.siblings_missing += 1;
        } else if (is_terminal(sibling->state)) {
            tally.siblings_ended += 1;
        } else if (!found->force_cancel_shared && is_awaited_elsewhere(view, sibling->id, child)) {
            tally.siblings_spared += 1;
        } else {
            siblings.insert(sibling->id);
        }
    }
    for (const ExecutionId& id : siblings) {
        edit.changes().follow_ups.push_back(
            {{work.key.flow, FlowWorkKind::cancel_member, id}, work.reason, ctx.now});
    }
    EdgeGroup& group = edit.change_group(work.key.flow, child);
    group.siblings_pending = false;
    const bool satisfied = group.siblings_reason == sibling_satisfied;
    FlowTally& tally = edit.changes().flow_tally;
    (satisfied ? tally.joins_satisfied : tally.joins_impossible) += 1;
    return {Done{}, edit.take()};
}

Decision<Done> decide_cancel_rest(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    Changes changes;
    if (view.flow(work.key.flow) == nullptr) {
        return Done{};
    }
    // What is there to clean up after a failure must still run; a deadline spares nothing.
    std::set<ExecutionId> spared;
    for (const Edge* edge : view.edges_of(work.key.flow)) {
        if (work.reason == member_failed &&
            (edge->kind == DependencyKind::always || edge->kind == DependencyKind::on_failure)) {
            spared.insert(edge->downstream);
        }
    }
    for (const ExecutionId& id : view.members(work.key.flow)) {
        const Execution* member = view.execution(id);
        if (member != nullptr && !is_terminal(member->state) && !spared.contains(id)) {
            changes.follow_ups.push_back(
                {{work.key.flow, FlowWorkKind::cancel_member, id}, work.reason, ctx.now});
        }
    }
    return {Done{}, std::move(changes)};
}

Decision<Done> decide_cancel_member(const Snapshot& view, const FlowWork& work,
                                    const Context& ctx) {
    const Execution* member = view.execution(work.key.execution);
    if (member == nullptr || is_terminal(member->state)) {
        return Done{};
    }
    const std::string reason = work.reason.value_or("flow_cancelled");
    const bool engines = is_engines_reason(reason);
    const Flow* flow = view.flow(work.key.flow);
    const bool may_go_on = member->state.phase == LifecyclePhase::active ||
                           member->state.phase == LifecyclePhase::suspended;
    if (!engines && may_go_on && flow != nullptr && flow->state == FlowState::cancelled &&
        flow->cancellation_policy == CancellationPolicy::cancel_pending) {
        return Done{};  // it began before its turn to be cancelled came
    }
    Execution e = *member;
    Changes changes;
    cancel(view, e, reason, engines ? "engine" : "operator_override", changes, ctx,
           CancelledAs::member_of_flow);
    changes.put_executions.push_back(std::move(e));
    return {Done{}, std::move(changes)};
}

// ----------------------------------------------------------------------------- the flow row only

Decision<Done> decide_counted(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    GraphEdit edit(view, ctx);
    for (std::uint32_t i = 0; i < work.times; ++i) {
        edit.count_end(work.key.flow, work.reason.value_or(""));
    }
    if (const Flow* flow = edit.flow(work.key.flow)) {
        let_pass(edit, view, flow->id, free_places(*flow), ctx);
    }
    return {Done{}, edit.take()};
}

Decision<Done> decide_slot_freed(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    GraphEdit edit(view, ctx);
    if (view.flow(work.key.flow) == nullptr) {
        return Done{};
    }
    Flow& flow = edit.change_flow(work.key.flow);
    flow.slots -= flow.slots > 0 ? 1 : 0;
    let_pass(edit, view, flow.id, free_places(flow), ctx);
    return {Done{}, edit.take()};
}

Decision<Done> decide_unpark(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    GraphEdit edit(view, ctx);
    const Flow* flow = view.flow(work.key.flow);
    if (flow == nullptr || flow->paused) {
        return Done{};
    }
    const std::size_t all = view.parked(gate_of(flow->id)).size();
    let_pass(edit, view, flow->id, flow->max_active_members > 0 ? free_places(*flow) : all, ctx);
    if (view.parked_partly(gate_of(flow->id))) {
        edit.changes().put_work.push_back({work.key, std::nullopt, ctx.now + unpark_again_ms});
    }
    return {Done{}, edit.take()};
}

Decision<Done> decide_trimmed(const Snapshot& view, const FlowWork& work) {
    const Flow* found = view.flow(work.key.flow);
    if (found == nullptr) {
        return Done{};
    }
    Changes changes;
    Flow flow = *found;
    flow.trimmed += 1;
    if (flow.trimmed >= flow.node_count) {
        changes.delete_flows.push_back(flow.id);
    } else {
        changes.put_flows.push_back(std::move(flow));
    }
    return {Done{}, std::move(changes)};
}

}  // namespace

bool may_wait(FlowWorkKind kind) {
    switch (kind) {
        case FlowWorkKind::counted:
        case FlowWorkKind::slot_freed:
        case FlowWorkKind::trimmed: return false;
        default: return true;
    }
}

void reads_more(const Snapshot& view, const FlowWork& work, ReadSet& set) {
    if (!view.knows_flow(work.key.flow)) {
        set.flows.push_back(work.key.flow);
        if (work.key.kind == FlowWorkKind::ended && !view.knows_outbound(work.key.execution)) {
            set.outbound.push_back(work.key.execution);  // one round trip for both
        }
        if (work.key.kind != FlowWorkKind::ended) {
            return;
        }
    }
    switch (work.key.kind) {
        case FlowWorkKind::ended: reads_of_ended(view, work, set); break;
        case FlowWorkKind::cancel_siblings: reads_of_siblings(view, work, set); break;
        case FlowWorkKind::cancel_member:
            need_member(view, work.key.execution, InputNeed::if_tagged, set);
            break;
        case FlowWorkKind::cancel_rest:
            if (!view.knows_members(work.key.flow)) {
                set.members.push_back({work.key.flow, {}});
            }
            if (!view.knows_edges_of(work.key.flow)) {
                set.edges_of_flows.push_back(work.key.flow);
            }
            break;
        case FlowWorkKind::counted:
        case FlowWorkKind::slot_freed:
            if (const Flow* flow = view.flow(work.key.flow)) {
                read_waiting(view, *flow, set);
            }
            break;
        case FlowWorkKind::unpark:
            if (const std::string gate = gate_of(work.key.flow); !view.knows_parked(gate)) {
                set.parked.emplace_back(gate, parked_max);
            }
            break;
        case FlowWorkKind::trimmed: break;
    }
}

Decision<Done> decide(const Snapshot& view, const FlowWork& work, const Context& ctx) {
    switch (work.key.kind) {
        case FlowWorkKind::counted: return decide_counted(view, work, ctx);
        case FlowWorkKind::ended: return decide_ended(view, work, ctx);
        case FlowWorkKind::cancel_member: return decide_cancel_member(view, work, ctx);
        case FlowWorkKind::cancel_siblings: return decide_siblings(view, work, ctx);
        case FlowWorkKind::cancel_rest: return decide_cancel_rest(view, work, ctx);
        case FlowWorkKind::slot_freed: return decide_slot_freed(view, work, ctx);
        case FlowWorkKind::trimmed: return decide_trimmed(view, work);
        case FlowWorkKind::unpark: return decide_unpark(view, work, ctx);
    }
    return Done{};
}

// ---------------------------------------------------------------------------------------- timers

void reads(const HandleFlowDue& args, ReadSet& set) { set.flows.push_back(args.flow_id); }

Decision<bool> decide(const Snapshot& view, const HandleFlowDue& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return false;
    }
    Flow flow = *found;
    Changes changes;
    if (flow.state == FlowState::open && flow.deadline_at && *flow.deadline_at <= ctx.now) {
        flow.state = FlowState::cancelled;
        flow.cancelled_at = ctx.now;
        flow.cancel_reason = std::string(flow_deadline);
        flow.cancellation_policy = CancellationPolicy::cancel_all;
        flow.last_mutation_at = ctx.now;
        if (flow.live == 0) {
            flow.finished_at = ctx.now;
        }
        changes.log_events.push_back(
            flow_event(flow, LogFamily::flows, "flow_deadline", "{}", ctx.now));
        changes.follow_ups.push_back({{flow.id, FlowWorkKind::cancel_rest, ExecutionId{}},
                                      std::string(flow_deadline),
                                      ctx.now});
        changes.put_flows.push_back(std::move(flow));
        return {true, std::move(changes)};
    }
    if (flow.node_count == 0 && empty_flow_goes_at(flow, ctx.settings.retention_ms) <= ctx.now) {
        changes.delete_flows.push_back(flow.id);
        return {true, std::move(changes)};
    }
    changes.put_flows.push_back(std::move(flow));  // arms it anew
    return {false, std::move(changes)};
}

// ------------------------------------------------------------------------------------ admission

namespace {

FlowWorkKey cancel_of(const Execution& member) {
    return {*member.flow_id, FlowWorkKind::cancel_member, member.id};
}

/// Under cancel_pending who ran when it was ordered may go on, and be started again: only those go
/// who are still to be cancelled.
bool asks_for_work(const Flow& flow) {
    return is_being_cancelled(flow) &&
           flow.cancellation_policy == CancellationPolicy::cancel_pending;
}

bool goes_with_flow(const Snapshot& view, const Execution& member, const Flow& flow) {
    return is_being_cancelled(flow) &&
           (!asks_for_work(flow) || view.work(cancel_of(member)) != nullptr);
}

}  // namespace

std::optional<Changes> hold_back(const Snapshot& view, const Execution& member,
                                 const Context& ctx) {
    const Flow* flow = view.flow_of(member);
    if (flow == nullptr || is_reclaimable(member.state)) {
        return std::nullopt;  // one that was running goes on
    }
    Changes changes;
    if (goes_with_flow(view, member, *flow)) {
        changes.follow_ups.push_back({{flow->id, FlowWorkKind::cancel_member, member.id},
                                      flow->cancel_reason.value_or("flow_cancelled"),
                                      ctx.now});
        return changes;
    }
    const bool full = flow->max_active_members > 0 && flow->slots >= flow->max_active_members;
    if (!flow->paused && !full) {
        return std::nullopt;
    }
    Execution e = member;
    set_state(
        e,
        {LifecyclePhase::runnable, OwnershipState::unowned,
         flow->paused ? EligibilityState::blocked_by_operator : EligibilityState::blocked_by_quota,
         flow->paused ? BlockingReason::paused_by_operator : BlockingReason::waiting_for_quota,
         TerminalOutcome::none, e.state.attempt_state},
        ctx.now);
    e.gate = gate_of(flow->id);
    e.blocked_at = ctx.now;
    e.blocking_detail = flow->paused ? "flow " + flow->id.to_string() + " is paused"
                                     : "flow " + flow->id.to_string() + " runs " +
                                           std::to_string(flow->slots) + " of at most " +
                                           std::to_string(flow->max_active_members) + " members";
    changes.put_executions.push_back(std::move(e));
    return changes;
}

expected<void> check_admitted(const Snapshot& view, const Execution& member) {
    const Flow* flow = view.flow_of(member);
    if (flow == nullptr) {
        return {};
    }
    if (flow->paused) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "flow " + flow->id.to_string() + " is paused");
    }
    if (goes_with_flow(view, member, *flow)) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "flow " + flow->id.to_string() + " is being cancelled");
    }
    if (flow->max_active_members > 0 && flow->slots >= flow->max_active_members) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "flow " + flow->id.to_string() + " runs " + std::to_string(flow->slots) +
                            " members, the most it may");
    }
    return {};
}

void read_flow_of(const Snapshot& view, const ExecutionId& id, ReadSet& set) {
    const Execution* e = view.knows_execution(id) ? view.execution(id) : nullptr;
    if (e == nullptr || !e->flow_id) {
        return;
    }
    if (!view.knows_flow(*e->flow_id)) {
        set.flows.push_back(*e->flow_id);
        return;
    }
    const Flow* flow = view.flow(*e->flow_id);
    if (flow != nullptr && asks_for_work(*flow) && !view.knows_work(cancel_of(*e))) {
        set.work.push_back(cancel_of(*e));
    }
}

void take_slot(const Snapshot& view, Execution& member, Changes& changes) {
    const Flow* found =
        member.flow_id && view.knows_flow(*member.flow_id) ? view.flow(*member.flow_id) : nullptr;
    if (found == nullptr || found->max_active_members == 0 || member.holds_flow_slot ||
        member.state.phase != LifecyclePhase::active) {
        return;
    }
    Flow flow = *found;
    flow.slots += 1;
    member.holds_flow_slot = true;
    changes.put_flows.push_back(std::move(flow));
}

}  // namespace ff::core
