#include "core/graph_edit.h"

#include <utility>

#include <ff/json.h>

#include "base/check.h"
#include "core/flow_rules.h"
#include "core/json_path.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

constexpr std::size_t payload_bytes_max = 1U << 20;

bool replaces_payload(const Edge& edge) {
    return edge.data_passing_ref && edge.data_passing_ref->front() != '{';
}

bool is_open_edge(const Edge& edge) {
    return edge.state == EdgeState::applied && edge.dependency == DependencyState::unsatisfied;
}

template <class Map, class Key, class Find>
auto& changed(Map& map, const Key& key, Find stored) {
    auto it = map.find(key);
    if (it == map.end()) {
        const auto* row = stored();
        FF_CHECK(row != nullptr, "a row that does not exist cannot be changed");
        it = map.emplace(key, *row).first;
    }
    return it->second;
}

}  // namespace

const Flow* GraphEdit::flow(const FlowId& id) const {
    const auto it = flows_.find(id);
    return it != flows_.end() ? &it->second : view_.flow(id);
}

const Execution* GraphEdit::execution(const ExecutionId& id) const {
    const auto it = executions_.find(id);
    return it != executions_.end() ? &it->second : view_.execution(id);
}

const EdgeGroup* GraphEdit::group(const ExecutionId& downstream) const {
    const auto it = groups_.find(downstream);
    return it != groups_.end() ? &it->second : view_.group(downstream);
}

const Edge* GraphEdit::edge(const EdgeKey& key) const {
    const auto it = edges_.find(key);
    return it != edges_.end() ? &it->second : view_.edge(key);
}

Flow& GraphEdit::change_flow(const FlowId& id) {
    return changed(flows_, id, [&] { return view_.flow(id); });
}

Execution& GraphEdit::change_execution(const ExecutionId& id) {
    return changed(executions_, id, [&] { return view_.execution(id); });
}

EdgeGroup& GraphEdit::change_group(const FlowId& flow, const ExecutionId& downstream) {
    auto it = groups_.find(downstream);
    if (it == groups_.end()) {
        const EdgeGroup* stored = view_.group(downstream);
        EdgeGroup group;
        if (stored != nullptr) {
            group = *stored;
        } else {
            group.flow = flow;
            group.downstream = downstream;
            group.created_at = ctx_.now;
        }
        it = groups_.emplace(downstream, std::move(group)).first;
    }
    return it->second;
}

Edge& GraphEdit::change_edge(const EdgeKey& key) {
    return changed(edges_, key, [&] { return view_.edge(key); });
}

void GraphEdit::add(Edge edge) {
    const EdgeKey key = edge.key;
    edges_.insert_or_assign(key, std::move(edge));
}

const Attempt* GraphEdit::last_attempt(const Execution& execution) const {
    return execution.current_attempt_index && is_terminal(execution.state)
               ? view_.attempt(execution, *execution.current_attempt_index)
               : nullptr;
}

const js::Value* GraphEdit::last_result(const Execution& execution) {
    if (parsed_of_ != execution.id) {
        parsed_of_ = execution.id;
        parsed_.reset();
        const Attempt* attempt = last_attempt(execution);
        if (attempt != nullptr && attempt->result) {
            if (auto document = js::parse(*attempt->result)) {
                parsed_ = std::move(*document);
            }
        }
    }
    return parsed_ ? &*parsed_ : nullptr;
}

// ------------------------------------------------------------------------------------ resolving

expected<ResolveResult> GraphEdit::resolve(const EdgeKey& key, TerminalOutcome outcome) {
    const Edge* found = edge(key);
    if (found == nullptr || found->state != EdgeState::applied) {
        return ff::fail(ErrorCode::invalid_dependency, "the edge is not applied");
    }
    return resolve(*found, outcome);
}

expected<ResolveResult> GraphEdit::resolve(const Edge& found, TerminalOutcome outcome) {
    if (!is_open_edge(found)) {
        return ResolveResult{};
    }
    const EdgeKey key = found.key;
    if (found.fence_replays) {
        const Execution* upstream = execution(found.upstream);
        if (upstream != nullptr && upstream->replay_count <= *found.fence_replays) {
            return ResolveResult{};
        }
    }
    const js::Value* result = nullptr;
    if (found.when && outcome == TerminalOutcome::success) {
        const Execution* upstream = execution(found.upstream);
        result = upstream != nullptr ? last_result(*upstream) : nullptr;
    }
    // The edges of an upstream come in the order of the map.
    Edge& edge = edges_.try_emplace(edges_.end(), key, found)->second;
    const DependencyState state = resolve_edge(edge, outcome, result);
    edge.dependency = state;
    edge.outcome = outcome;
    edge.resolved_at = ctx_.now;
    EdgeGroup& group = change_group(key.flow, edge.downstream);
    count(group, state, outcome);
    if (group.resolved() > group.applied) {
        return ff::fail(ErrorCode::invariant_violation,
                        "the group of " + edge.downstream.to_string() + " counts " +
                            std::to_string(group.resolved()) + " of " +
                            std::to_string(group.applied) + " edges");
    }
    ResolveResult answer;
    answer.outcome = state == DependencyState::satisfied ? ResolveOutcome::satisfied
                                                         : ResolveOutcome::impossible;
    if (group.state != GroupState::pending) {
        return answer;
    }
    const GroupState verdict = evaluate_group(group, flow(key.flow)->sealed);
    const bool copies = group.policy == GroupPolicyKind::all_of || verdict == GroupState::satisfied;
    if (state == DependencyState::satisfied && outcome == TerminalOutcome::success &&
        replaces_payload(edge) && copies) {
        FF_TRY(answer.data_injected, pass_data(edge));
    }
    const ExecutionId downstream = edge.downstream;
    const bool may_change =
        verdict != GroupState::pending ||
        (group.policy == GroupPolicyKind::quorum && group.resolved() == group.staged);
    if (may_change) {
        const Execution* child = execution(downstream);
        const bool was_live = child != nullptr && !is_terminal(child->state);
        FF_TRY_VOID(settle(downstream));
        child = execution(downstream);
        answer.child_skipped = was_live && is_terminal(child->state);
    }
    return answer;
}

expected<void> GraphEdit::settle(const ExecutionId& downstream) {
    const EdgeGroup* found = group(downstream);
    if (found == nullptr || found->state != GroupState::pending) {
        return {};
    }
    const FlowId flow_id = found->flow;
    EdgeGroup& group = change_group(flow_id, downstream);
    switch (evaluate_group(group, flow(flow_id)->sealed)) {
        case GroupState::satisfied:
            group.state = GroupState::satisfied;
            group.satisfied_at = ctx_.now;
            release(downstream);
            flag_siblings(group, sibling_satisfied);
            break;
        case GroupState::impossible:
            group.state = GroupState::impossible;
            skip(downstream);
            flag_siblings(group, sibling_impossible);
            break;
        default:
            if (group.policy == GroupPolicyKind::quorum && group.staged < group.k &&
                group.staged > 0 && group.resolved() == group.staged) {
                const Execution* child = execution(downstream);
                if (child != nullptr &&
                    child->state.eligibility == EligibilityState::blocked_by_dependencies) {
                    Execution& e = change_execution(downstream);
                    e.blocking_detail = "quorum unreachable: k=" + std::to_string(group.k) +
                                        " of " + std::to_string(group.staged) + " edge(s)";
                    e.last_mutation_at = ctx_.now;
                }
            }
            break;
    }
    return {};
}

void GraphEdit::release(const ExecutionId& downstream) {
    const Execution* child = execution(downstream);
    if (child == nullptr || child->state.phase != LifecyclePhase::runnable ||
        child->state.ownership != OwnershipState::unowned ||
        child->state.eligibility != EligibilityState::blocked_by_dependencies) {
        return;  // a late success must not disturb one that runs
    }
    Execution& e = change_execution(downstream);
    if (e.state.attempt_state == AttemptState::none) {
        e.state.attempt_state = AttemptState::pending_first_attempt;
    }
    if (e.delay_until && *e.delay_until > ctx_.now) {
        e.blocked_at.reset();
        e.blocking_detail = "delayed until " + std::to_string(*e.delay_until);
        set_state(e,
                  {LifecyclePhase::runnable, OwnershipState::unowned,
                   EligibilityState::not_eligible_until_time, BlockingReason::waiting_for_delay,
                   TerminalOutcome::none, e.state.attempt_state},
                  ctx_.now);
    } else {
        make_eligible(e, ctx_.now);
    }
}

void GraphEdit::skip(const ExecutionId& downstream) {
    const Execution* child = execution(downstream);
    if (child == nullptr || is_terminal(child->state)) {
        return;
    }
    Execution& e = change_execution(downstream);
    Ending ending;
    ending.outcome = TerminalOutcome::skipped;
    ending.attempt_end = AttemptLifecycle::ended_cancelled;
    ending.release_reason = "dependency_impossible";
    ending.revoked_by = "reconciler";
    ending.revoked = true;
    ending.attempt_failure_reason = "dependency_impossible";
    ending.closed_as = StreamClosedReason::dependency_impossible;
    finish(view_, e, std::move(ending), changes_, ctx_.now);
}

void GraphEdit::block(const ExecutionId& downstream, std::string detail) {
    const Execution* child = execution(downstream);
    if (child == nullptr || child->state.phase != LifecyclePhase::runnable) {
        return;  // it counts when it next becomes runnable
    }
    Execution& e = change_execution(downstream);
    if (e.grant_expires_at) {
        changes_.delete_grants.push_back(e.eid);
        e.grant_expires_at.reset();
    }
    e.blocking_detail = std::move(detail);
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned,
               EligibilityState::blocked_by_dependencies, BlockingReason::waiting_for_children,
               TerminalOutcome::none, e.state.attempt_state},
              ctx_.now);
}

void GraphEdit::flag_siblings(EdgeGroup& group, std::string_view reason) {
    if (group.policy == GroupPolicyKind::all_of ||
        group.on_satisfied != OnSatisfied::cancel_remaining) {
        return;
    }
    group.siblings_pending = true;
    group.siblings_reason = std::string(reason);
    changes_.follow_ups.push_back({{group.flow, FlowWorkKind::cancel_siblings, group.downstream},
                                   std::string(reason),
                                   ctx_.now});
}

expected<bool> GraphEdit::pass_data(const Edge& edge) {
    const Execution* upstream = execution(edge.upstream);
    const Execution* child = execution(edge.downstream);
    if (upstream == nullptr || child == nullptr || is_terminal(child->state)) {
        return false;
    }
    const Attempt* attempt = last_attempt(*upstream);
    if (attempt == nullptr || !attempt->result) {
        return false;
    }
    if (attempt->result->size() > payload_bytes_max) {
        change_execution(edge.downstream).blocking_detail = "data_passing_too_large";
        return false;
    }
    auto it = inputs_.find(edge.downstream);
    if (it == inputs_.end()) {
        const ExecutionInput* stored = view_.input(*child);
        if (stored == nullptr) {
            return ff::fail(ErrorCode::corruption,
                            "input row of " + edge.downstream.to_string() + " is missing");
        }
        it = inputs_.emplace(edge.downstream, *stored).first;
    }
    ExecutionInput& input = it->second;
    if (!input.original_payload) {
        input.original_payload = input.payload;
        input.original_encoding = input.payload_encoding;
    }
    input.payload = *attempt->result;
    input.payload_encoding = attempt->result_encoding;
    return true;
}

// ------------------------------------------------------------------------------- the flow itself

void GraphEdit::count_end(const FlowId& flow_id, std::string_view ending) {
    const Flow* found = flow(flow_id);
    if (found == nullptr) {
        return;
    }
    Flow& flow = change_flow(flow_id);
    flow.live -= flow.live > 0 ? 1 : 0;  // a damaged count stops nobody
    const bool bad = ending == "failed" || ending == "cancelled" || ending == "expired";
    flow.bad += bad ? 1 : 0;
    if (bad && ending != "cancelled" && flow.state == FlowState::open && flow.live > 0 &&
        flow.on_member_failure == OnMemberFailure::cancel_rest) {
        changes_.follow_ups.push_back({{flow_id, FlowWorkKind::cancel_rest, ExecutionId{}},
                                       std::string(member_failed),
                                       ctx_.now});
    }
    finish_if_done(flow);
}

void GraphEdit::uncount_end(const FlowId& flow_id, const Execution& member) {
    Flow& flow = change_flow(flow_id);
    flow.live += 1;
    if (is_bad_end(member)) {
        flow.bad -= flow.bad > 0 ? 1 : 0;
    }
    if (flow.state == FlowState::completed || flow.state == FlowState::failed) {
        flow.state = FlowState::open;
        flow.finished_at.reset();
        if (flow.deadline_at && *flow.deadline_at <= ctx_.now) {
            flow.deadline_at.reset();  // it was for the run that is over
        }
    }
}

void GraphEdit::finish_if_done(Flow& flow) {
    if (flow.live > 0 || flow.finished_at) {
        return;
    }
    if (flow.state == FlowState::cancelled) {
        flow.finished_at = ctx_.now;
        return;
    }
    if (!flow.sealed) {
        return;
    }
    flow.state = flow.bad > 0 ? FlowState::failed : FlowState::completed;
    flow.finished_at = ctx_.now;
    changes_.log_events.push_back(flow_event(
        flow, LogFamily::flows, "flow_" + std::string(to_string(flow.state)),
        js::dump(js::Object{{"node_count", flow.node_count}, {"failed", flow.bad}}), ctx_.now));
}

Changes GraphEdit::take() {
    const auto move_all = [](auto& from, auto& to) {
        to.reserve(to.size() + from.size());
        for (auto& [key, row] : from) {
            to.push_back(std::move(row));
        }
        from.clear();
    };
    move_all(flows_, changes_.put_flows);
    move_all(executions_, changes_.put_executions);
    move_all(groups_, changes_.put_groups);
    move_all(edges_, changes_.put_edges);
    move_all(inputs_, changes_.put_inputs);
    return std::move(changes_);
}

// ---------------------------------------------------------------------------------------- reads

void need_member(const Snapshot& view, const ExecutionId& id, InputNeed input, ReadSet& set) {
    const Execution* e = view.knows_execution(id) ? view.execution(id) : nullptr;
    const bool missing = !view.knows_execution(id) ||
                         (e != nullptr && ((needs_attempt(*e) && !view.knows_attempt(*e)) ||
                                           (needs_input(input, *e) && !view.knows_input(id))));
    if (missing) {
        set.need(id, input).attempt = true;
    }
}

void need_resolution(const Snapshot& view, const Edge& edge, TerminalOutcome outcome,
                     std::size_t edges, ReadSet& set) {
    if (!is_open_edge(edge)) {
        return;
    }
    if (!view.knows_flow(edge.key.flow)) {
        set.flows.push_back(edge.key.flow);
    }
    const bool passes = replaces_payload(edge) && outcome == TerminalOutcome::success;
    if (edge.when || passes) {
        need_member(view, edge.upstream, InputNeed::none, set);
    } else if (!view.knows_execution(edge.upstream)) {
        set.need(edge.upstream);
    }
    if (!view.knows_group(edge.downstream)) {
        set.groups.emplace_back(edge.key.flow, edge.downstream, edge.key);
        return;
    }
    const EdgeGroup* group = view.group(edge.downstream);
    if (group == nullptr || group->state != GroupState::pending) {
        return;
    }
    // Most ends leave an all_of group waiting for others: then the child is not looked at.
    const bool fails =
        edge.kind == DependencyKind::success_only && outcome != TerminalOutcome::success;
    const bool waits = group->policy == GroupPolicyKind::all_of && !fails && !passes &&
                       group->succeeded + group->not_taken + edges < group->staged;
    if (!waits) {
        need_member(view, edge.downstream, passes ? InputNeed::always : InputNeed::if_tagged, set);
    }
}

LogEvent flow_event(const Flow& flow, LogFamily family, std::string type, std::string payload,
                    TimestampMs now) {
    LogEvent event;
    event.family = family;
    event.type = std::move(type);
    event.at = now;
    event.flow_id = flow.id;
    event.ns = flow.ns;
    if (!flow.tags.empty()) {
        event.tags = tags_json(flow.tags);
    }
    event.payload = std::move(payload);
    return event;
}

}  // namespace ff::core
