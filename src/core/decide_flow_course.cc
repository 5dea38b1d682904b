// Changing the course of a whole flow: cancel, acknowledge, retry.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
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
    std::size_t now = 0;  // whether any is left for later is known when the transaction is
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

/// The graph of a flow as a retry looks at it: members that are still there.
class RetryGraph {
  public:
    RetryGraph(const Snapshot& view, const FlowId& flow) : view_(view), flow_(*view.flow(flow)) {
        for (const ExecutionId& id : view.members(flow)) {
            inbound_[id];
        }
        for (const Edge* edge : view.edges_of(flow)) {
            if (auto to = inbound_.find(edge->downstream); to != inbound_.end()) {
                to->second.push_back(edge);
            }
        }
    }

    [[nodiscard]] const std::vector<const Edge*>& inbound(const ExecutionId& id) const {
        return inbound_.at(id);
    }
    /// Null when retention has removed it.
    [[nodiscard]] const Execution* member(const ExecutionId& id) const {
        return inbound_.contains(id) ? view_.execution(id) : nullptr;
    }
    /// Null when nothing leads to it.
    [[nodiscard]] const EdgeGroup* group(const ExecutionId& id) const {
        return view_.knows_group(id) ? view_.group(id) : nullptr;
    }

    /// Members in an order in which upstreams come first.
    [[nodiscard]] std::vector<ExecutionId> in_order() const {
        std::map<ExecutionId, std::size_t> waiting;
        std::map<ExecutionId, std::vector<ExecutionId>> next;
        std::vector<ExecutionId> order;
        for (const auto& [id, edges] : inbound_) {
            for (const Edge* edge : edges) {
                if (inbound_.contains(edge->upstream)) {
                    waiting[id] += 1;
                    next[edge->upstream].push_back(id);
                }
            }
            if (!waiting.contains(id)) {
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

    using Reached = std::set<ExecutionId>;
    /// Will the upstream of this edge end (again), or has it done so since the edge was resolved?
    [[nodiscard]] bool is_open(const Edge& edge, const Reached& reached) const {
        const Execution* upstream = member(edge.upstream);
        if (upstream == nullptr) {
            return false;
        }
        if (!is_terminal(upstream->state) || reached.contains(edge.upstream)) {
            return true;
        }
        // Its end may not have been passed on yet.
        return edge.dependency == DependencyState::impossible
                   ? upstream->state.outcome == TerminalOutcome::success
                   : edge.dependency == DependencyState::unsatisfied &&
                         (!edge.fence_replays || upstream->replay_count > *edge.fence_replays);
    }
    /// Was it skipped because of something that is run again?
    [[nodiscard]] bool has_new_chance(const ExecutionId& id, const Reached& reached) const {
        return std::ranges::any_of(inbound(id), [&](const Edge* edge) {
            return edge->dependency && *edge->dependency != DependencyState::satisfied &&
                   is_open(*edge, reached);
        });
    }
    /// May its group still be satisfied, with what stays as it is? It would wait for ever if not.
    [[nodiscard]] bool can_start(const ExecutionId& id, const Reached& reached) const {
        const EdgeGroup* found = group(id);
        if (!waits_for_upstreams(found)) {
            return true;
        }
        EdgeGroup left = *found;
        for (const Edge* edge : inbound(id)) {
            const bool resolved =
                edge->dependency && *edge->dependency != DependencyState::unsatisfied;
            const bool open = is_open(*edge, reached);
            if (resolved && open && *edge->dependency != DependencyState::satisfied) {
                uncount(left, *edge->dependency, *edge->outcome);
            } else if (!resolved && !open && edge->state == EdgeState::applied) {
                left.failed += 1;  // an end from before a replay, which does not count
            }
        }
        return evaluate_group(left, flow_.sealed) != GroupState::impossible;
    }

  private:
    const Snapshot& view_;
    const Flow& flow_;
    std::map<ExecutionId, std::vector<const Edge*>> inbound_;
};

/// What a retry that begins at a node looks at: the node and what hangs on it.
std::set<ExecutionId> below(const RetryGraph& graph, const std::vector<ExecutionId>& order,
                            const std::optional<ExecutionId>& from) {
    std::set<ExecutionId> out;
    for (const ExecutionId& id : order) {
        if (!from || *from == id || std::ranges::any_of(graph.inbound(id), [&](const Edge* edge) {
                return out.contains(edge->upstream);
            })) {
            out.insert(id);
        }
    }
    return out;
}

/// Those who were cancelled because a join among `looked_at` could not start any more: it needs
/// them again.
std::set<ExecutionId> lost_siblings(const RetryGraph& graph,
                                    const std::set<ExecutionId>& looked_at) {
    std::set<ExecutionId> out;
    for (const ExecutionId& id : looked_at) {
        if (!waits_for_upstreams(graph.group(id))) {
            continue;
        }
        for (const Edge* edge : graph.inbound(id)) {
            const Execution* upstream = graph.member(edge->upstream);
            if (upstream != nullptr && upstream->cancellation_reason == sibling_impossible &&
                !looked_at.contains(upstream->id)) {
                out.insert(upstream->id);
            }
        }
    }
    return out;
}

/// What a retry runs again, upstreams first: every end that made the flow fail, and what was
/// skipped because of one.
std::vector<ExecutionId> retried(const Snapshot& view, const RetryFlow& args) {
    const RetryGraph graph(view, args.flow_id);
    const auto order = graph.in_order();
    const std::set<ExecutionId> looked_at = below(graph, order, args.from);
    const std::set<ExecutionId> siblings = lost_siblings(graph, looked_at);
    std::set<ExecutionId> reached;
    for (const ExecutionId& id : order) {
        const Execution* e = graph.member(id);
        if (e == nullptr || !(looked_at.contains(id) || siblings.contains(id))) {
            continue;
        }
        const bool skipped = args.include_skipped && e->state.outcome == TerminalOutcome::skipped &&
                             graph.has_new_chance(id, reached);
        if ((is_bad_end(*e) || skipped) && graph.can_start(id, reached)) {
            reached.insert(id);
        }
    }
    // A sibling is run again only for a join that is.
    std::set<ExecutionId> needed;
    for (const ExecutionId& id : reached) {
        if (waits_for_upstreams(graph.group(id))) {
            for (const Edge* edge : graph.inbound(id)) {
                needed.insert(edge->upstream);
            }
        }
    }
    std::vector<ExecutionId> out;
    std::ranges::copy_if(order, std::back_inserter(out), [&](const ExecutionId& id) {
        return reached.contains(id) && (!siblings.contains(id) || needed.contains(id));
    });
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
        if (e != nullptr && (e->state.outcome == TerminalOutcome::skipped || is_bad_end(*e))) {
            return ff::fail(ErrorCode::invalid_input,
                            "from: " + args.from->to_string() +
                                " cannot start because of what is before it; begin there");
        }
    }
    GraphEdit edit(view, ctx);
    for (const ExecutionId& id : reply.replayed) {
        if (auto ok = check_replay(view, *view.execution(id), ctx); !ok) {
            ok.error().detail = id.to_string() + ": " + ok.error().detail;
            return std::move(ok).error();
        }
        if (auto ok = replay(edit, view, id, Upstreams::stay, ctx); !ok) {
            return std::move(ok).error();
        }
    }
    return {std::move(reply), edit.take()};
}

}  // namespace ff::core
