// Changing the course of a whole flow: cancel, acknowledge, retry.
#include <algorithm>
#include <map>
#include <set>

#include <ff/json.h>

#include "core/decide.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/replay.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::size_t terminal_members_max = 1'000;
constexpr std::size_t reason_bytes_max = 1'024;

/// The members as the policy chooses them.
bool is_target(const Execution& member, CancellationPolicy policy) {
    switch (policy) {
        case CancellationPolicy::cancel_all: return !is_terminal(member.state);
        case CancellationPolicy::cancel_pending:
            return member.state.phase == LifecyclePhase::submitted ||
                   member.state.phase == LifecyclePhase::runnable;
        case CancellationPolicy::flow_only: return false;
    }
    return false;
}

std::vector<ExecutionId> targets(const Snapshot& view, const FlowId& flow,
                                 CancellationPolicy policy) {
    std::vector<ExecutionId> out;
    for (const ExecutionId& id : view.members(flow)) {
        const Execution* member = view.execution(id);
        if (member != nullptr && is_target(*member, policy)) {
            out.push_back(id);
        }
    }
    return out;
}

/// Reads of both ways to cancel: the flow, its members, and the groups of those to be cancelled.
void read_for_cancel(const FlowId& flow, ReadSet& set) {
    ReadSet::ExecutionNeed need;
    need.input = InputNeed::if_tagged;
    need.attempt = true;
    set.members.emplace_back(flow, need);
    set.flows.push_back(flow);
}

void read_groups(const Snapshot& view, const FlowId& flow, CancellationPolicy policy,
                 ReadSet& set) {
    if (view.flow(flow) == nullptr) {
        return;
    }
    for (const ExecutionId& id : targets(view, flow, policy)) {
        if (!view.knows_group(id)) {
            set.groups.emplace_back(flow, id);
        }
    }
}

/// Marks the flow and the groups that can no longer fire.
void mark_cancelled(GraphEdit& edit, const FlowId& flow_id, CancellationPolicy policy,
                    const std::string& reason, const std::vector<ExecutionId>& targets,
                    const Context& ctx) {
    Flow& flow = edit.change_flow(flow_id);
    flow.state = FlowState::cancelled;
    flow.cancelled_at = ctx.now;
    flow.cancel_reason = non_empty(reason);
    flow.cancellation_policy = policy;
    flow.last_mutation_at = ctx.now;
    flow.finished_at.reset();
    for (const ExecutionId& id : targets) {
        const EdgeGroup* group = edit.group(id);
        if (group != nullptr && group->state == GroupState::pending) {
            edit.change_group(flow_id, id).state = GroupState::cancelled;
        }
    }
    edit.finish_if_done(flow);
    edit.changes().log_events.push_back(flow_event(
        flow, LogFamily::operator_, "flow_cancel_requested",
        js::dump(js::Object{{"cancellation_policy", std::string(to_string(policy))},
                            {"reason", reason},
                            {"member_count", static_cast<std::uint64_t>(targets.size())}}),
        ctx.now));
}

bool is_stronger(CancellationPolicy wanted, CancellationPolicy stored) {
    return static_cast<int>(wanted) < static_cast<int>(stored);
}

}  // namespace

// -------------------------------------------------------------------------------------- cancel

expected<void> validate(CancelFlow& args) {
    return check_reason("reason", args.reason, reason_bytes_max);
}

void reads(const CancelFlow& args, ReadSet& set) { read_for_cancel(args.flow_id, set); }

void reads_more(const Snapshot& view, const CancelFlow& args, ReadSet& set) {
    read_groups(view, args.flow_id, args.cancellation_policy, set);
}

Decision<CancelFlowResult> decide(const Snapshot& view, const CancelFlow& args,
                                  const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    CancelFlowResult reply;
    reply.cancellation_policy = args.cancellation_policy;
    reply.member_execution_ids = view.members(args.flow_id);
    const CancellationPolicy stored = found->cancellation_policy.value_or(args.cancellation_policy);
    const bool escalates = args.escalate && found->state == FlowState::cancelled &&
                           is_stronger(args.cancellation_policy, stored);
    if (found->state != FlowState::open && !escalates) {
        reply.already_terminal = true;
        reply.cancellation_policy = stored;
        if (reply.member_execution_ids.size() > terminal_members_max) {
            reply.member_execution_ids.resize(terminal_members_max);
        }
        return reply;
    }
    const auto chosen = targets(view, args.flow_id, args.cancellation_policy);
    reply.member_count = chosen.size();
    GraphEdit edit(view, ctx);
    mark_cancelled(edit, args.flow_id, args.cancellation_policy, args.reason, chosen, ctx);
    reply.scheduled = chosen.size() > ctx.settings.flows.cascade_rows;
    std::size_t now = 0;
    for (const ExecutionId& id : chosen) {
        FlowWork work{
            {args.flow_id, FlowWorkKind::cancel_member, id}, non_empty(args.reason), ctx.now};
        auto& list = now++ < ctx.settings.flows.cascade_rows ? edit.changes().follow_ups
                                                             : edit.changes().put_work;
        list.push_back(std::move(work));
    }
    return {std::move(reply), edit.take()};
}

// --------------------------------------------------------------------- header and acknowledgement

expected<void> validate(CancelFlowHeader& args) {
    constexpr DurationMs exact_in_json = (DurationMs{1} << 53) - 1;
    if (args.grace_ms < 0 || args.grace_ms > exact_in_json) {
        return ff::fail(ErrorCode::invalid_grace_ms, std::to_string(args.grace_ms));
    }
    return check_reason("reason", args.reason, reason_bytes_max);
}

void reads(const CancelFlowHeader& args, ReadSet& set) { read_for_cancel(args.flow_id, set); }

void reads_more(const Snapshot& view, const CancelFlowHeader& args, ReadSet& set) {
    read_groups(view, args.flow_id, args.cancellation_policy, set);
}

Decision<CancelFlowHeaderResult> decide(const Snapshot& view, const CancelFlowHeader& args,
                                        const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    CancelFlowHeaderResult reply;
    reply.member_execution_ids = view.members(args.flow_id);
    if (found->state != FlowState::open) {
        reply.already_terminal = true;
        reply.cancellation_policy = found->cancellation_policy;
        reply.cancel_reason = found->cancel_reason;
        return reply;
    }
    reply.cancellation_policy = args.cancellation_policy;
    reply.cancel_reason = non_empty(args.reason);
    const auto chosen = targets(view, args.flow_id, args.cancellation_policy);
    GraphEdit edit(view, ctx);
    mark_cancelled(edit, args.flow_id, args.cancellation_policy, args.reason, chosen, ctx);
    for (const ExecutionId& id : chosen) {
        edit.changes().put_work.push_back({{args.flow_id, FlowWorkKind::cancel_member, id},
                                           non_empty(args.reason),
                                           ctx.now + args.grace_ms});
    }
    return {std::move(reply), edit.take()};
}

void reads(const AckCancelMember& args, ReadSet& set) {
    set.work.push_back({args.flow_id, FlowWorkKind::cancel_member, args.execution_id});
}

Decision<Done> decide(const Snapshot& view, const AckCancelMember& args, const Context& /*ctx*/) {
    const FlowWorkKey key{args.flow_id, FlowWorkKind::cancel_member, args.execution_id};
    Changes changes;
    if (view.work(key) != nullptr) {
        changes.delete_work.push_back(key);
    }
    return {Done{}, std::move(changes)};
}

// --------------------------------------------------------------------------------------- retry

namespace {

bool is_retried(const Execution& e) {
    return e.state.outcome == TerminalOutcome::failed ||
           e.state.outcome == TerminalOutcome::expired ||
           (e.state.outcome == TerminalOutcome::cancelled &&
            e.cancellation_reason != sibling_satisfied &&
            e.cancellation_reason != sibling_impossible);
}

/// Members in an order in which upstreams come first.
std::vector<ExecutionId> in_graph_order(const Snapshot& view, const FlowId& flow) {
    std::map<ExecutionId, std::size_t> waiting;
    std::map<ExecutionId, std::vector<ExecutionId>> next;
    for (const ExecutionId& id : view.members(flow)) {
        waiting[id] = 0;
    }
    for (const Edge* edge : view.edges_of(flow)) {
        waiting[edge->downstream] += 1;
        next[edge->upstream].push_back(edge->downstream);
    }
    std::vector<ExecutionId> order;
    for (const auto& [id, count] : waiting) {
        if (count == 0) {
            order.push_back(id);
        }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const ExecutionId& child : next[order[i]]) {
            if (--waiting[child] == 0) {
                order.push_back(child);
            }
        }
    }
    return order;
}

/// What a retry runs again, upstreams first.
std::vector<ExecutionId> retried(const Snapshot& view, const RetryFlow& args) {
    std::set<ExecutionId> below;    // the node it begins at, and what hangs on it
    std::set<ExecutionId> reached;  // of these, what is run again
    std::vector<ExecutionId> out;
    std::map<ExecutionId, std::vector<const Edge*>> inbound;
    for (const Edge* edge : view.edges_of(args.flow_id)) {
        inbound[edge->downstream].push_back(edge);
    }
    // One that was skipped would wait for ever behind a failure that stays one.
    const auto stays_bad = [&](const Edge* edge) {
        const Execution* upstream = view.execution(edge->upstream);
        return edge->kind == DependencyKind::success_only && upstream != nullptr &&
               (is_retried(*upstream) || upstream->state.outcome == TerminalOutcome::skipped) &&
               !reached.contains(edge->upstream);
    };
    for (const ExecutionId& id : in_graph_order(view, args.flow_id)) {
        const Execution* e = view.execution(id);
        const auto& edges = inbound[id];
        if (args.from == id || std::ranges::any_of(edges, [&](const Edge* edge) {
                return below.contains(edge->upstream);
            })) {
            below.insert(id);
        }
        if (e == nullptr || (args.from && !below.contains(id))) {
            continue;
        }
        const bool skipped = args.include_skipped && e->state.outcome == TerminalOutcome::skipped;
        if (is_retried(*e) || (skipped && std::ranges::none_of(edges, stays_bad))) {
            out.push_back(id);
            reached.insert(id);
        }
    }
    return out;
}

}  // namespace

void reads(const RetryFlow& args, ReadSet& set) {
    ReadSet::ExecutionNeed need;
    need.input = InputNeed::if_tagged_or_policy;
    set.members.emplace_back(args.flow_id, need);
    set.flows.push_back(args.flow_id);
    set.edges_of_flows.push_back(args.flow_id);
}

void reads_more(const Snapshot& view, const RetryFlow& args, ReadSet& set) {
    if (view.flow(args.flow_id) == nullptr) {
        return;
    }
    for (const ExecutionId& id : retried(view, args)) {
        need_replay(view, id, set);
    }
}

Decision<RetryFlowResult> decide(const Snapshot& view, const RetryFlow& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    if (found->state == FlowState::cancelled) {
        return ff::fail(ErrorCode::flow_already_terminal,
                        "flow " + found->id.to_string() + " is cancelled");
    }
    if (args.from) {
        const auto& members = view.members(args.flow_id);
        if (!std::ranges::binary_search(members, *args.from)) {
            return ff::fail(ErrorCode::execution_not_in_flow, args.from->to_string());
        }
    }
    RetryFlowResult reply;
    reply.replayed = retried(view, args);
    if (args.from && reply.replayed.empty()) {
        const Execution* e = view.execution(*args.from);
        if (e != nullptr && e->state.outcome == TerminalOutcome::skipped) {
            return ff::fail(ErrorCode::invalid_input,
                            "from: " + args.from->to_string() +
                                " was skipped because of what is before it; begin there");
        }
    }
    GraphEdit edit(view, ctx);
    for (const ExecutionId& id : reply.replayed) {
        if (auto ok = check_replay(view, *view.execution(id), ctx); !ok) {
            ok.error().detail = id.to_string() + ": " + ok.error().detail;
            return std::move(ok).error();
        }
        if (auto ok = replay(edit, view, id, ctx); !ok) {
            return std::move(ok).error();
        }
    }
    return {std::move(reply), edit.take()};
}

}  // namespace ff::core
