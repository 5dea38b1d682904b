// Holding a flow: seal it against new members and edges, pause it and let it go on.
#include <set>
#include <utility>
#include <vector>

#include "core/decide.h"
#include "core/flow_checks.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

FlowStateResult state_of(const Flow& flow) {
    return {flow.id, flow.state, flow.sealed, flow.paused};
}

/// Quorums of the flow that no edge can be added to any more.
std::vector<ExecutionId> pending_quorums(const Snapshot& view, const FlowId& flow) {
    std::set<ExecutionId> out;
    for (const Edge* edge : view.edges_of(flow)) {
        const EdgeGroup* group = view.group(edge->downstream);
        if (group != nullptr && group->policy == GroupPolicyKind::quorum &&
            group->state == GroupState::pending && group->applied == group->staged) {
            out.insert(edge->downstream);
        }
    }
    return {out.begin(), out.end()};
}

}  // namespace

void reads(const SealFlow& args, ReadSet& set) {
    set.flows.push_back(args.flow_id);
    set.edges_of_flows.push_back(args.flow_id);
}

void reads_more(const Snapshot& view, const SealFlow& args, ReadSet& set) {
    for (const ExecutionId& id : pending_quorums(view, args.flow_id)) {
        need_member(view, id, InputNeed::if_tagged, set);
    }
}

Decision<FlowStateResult> decide(const Snapshot& view, const SealFlow& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    if (found->sealed) {
        return state_of(*found);
    }
    if (found->state != FlowState::open) {
        return already_terminal(*found);
    }
    GraphEdit edit(view, ctx);
    Flow& flow = edit.change_flow(args.flow_id);
    flow.sealed = true;
    flow.last_mutation_at = ctx.now;
    for (const ExecutionId& id : pending_quorums(view, args.flow_id)) {
        if (auto ok = edit.settle(id); !ok) {
            return std::move(ok).error();
        }
    }
    edit.finish_if_done(flow);
    const FlowStateResult reply = state_of(flow);
    return {reply, edit.take()};
}

void reads(const PauseFlow& args, ReadSet& set) { set.flows.push_back(args.flow_id); }

Decision<FlowStateResult> decide(const Snapshot& view, const PauseFlow& args, const Context& ctx) {
    auto found = open_flow(view, args.flow_id);
    if (!found) {
        return std::move(found).error();
    }
    if ((*found)->paused) {
        return state_of(**found);
    }
    Flow flow = **found;
    flow.paused = true;
    flow.last_mutation_at = ctx.now;
    Changes changes;
    changes.log_events.push_back(
        flow_event(flow, LogFamily::operator_, "flow_paused", "{}", ctx.now));
    const FlowStateResult reply = state_of(flow);
    changes.put_flows.push_back(std::move(flow));
    return {reply, std::move(changes)};
}

void reads(const ResumeFlow& args, ReadSet& set) { set.flows.push_back(args.flow_id); }

Decision<FlowStateResult> decide(const Snapshot& view, const ResumeFlow& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    if (!found->paused && found->state != FlowState::open) {
        return ff::fail(ErrorCode::flow_already_terminal,
                        "flow " + found->id.to_string() + " has ended");
    }
    if (!found->paused) {
        return state_of(*found);
    }
    Flow flow = *found;
    flow.paused = false;
    flow.last_mutation_at = ctx.now;
    Changes changes;
    changes.log_events.push_back(
        flow_event(flow, LogFamily::operator_, "flow_resumed", "{}", ctx.now));
    changes.follow_ups.push_back(
        {{flow.id, FlowWorkKind::unpark, ExecutionId{}}, std::nullopt, ctx.now});
    const FlowStateResult reply = state_of(flow);
    changes.put_flows.push_back(std::move(flow));
    return {reply, std::move(changes)};
}

}  // namespace ff::core
