// The records of flows that answers are made of, described once for writing and for reading.
#pragma once

#include <array>
#include <string>

#include <ff/contracts.h>

#include "wire/flow_values.h"
#include "wire/object.h"

namespace ff::wire {

template <class V>
void describe(V& v, EdgeGroupSnapshot& group) {
    v.field("downstream_execution_id", group.downstream_execution_id);
    v.field("policy", group.policy);
    v.field("total_deps", group.total_deps);
    v.field("satisfied_count", group.satisfied_count);
    v.field("failed_count", group.failed_count);
    v.field("skipped_count", group.skipped_count);
    v.field("not_taken_count", group.not_taken_count);
    v.field("running_count", group.running_count);
    v.field("group_state", group.group_state);
    v.field("satisfied_at", group.satisfied_at);
    v.field("cancel_siblings_pending", group.cancel_siblings_pending);
}

template <class V>
void describe(V& v, FlowSnapshot& flow) {
    v.field("flow_id", flow.flow_id);
    v.field("flow_kind", flow.flow_kind);
    v.field("namespace", flow.ns);
    v.field("public_flow_state", flow.public_flow_state);
    v.field("graph_revision", flow.graph_revision);
    v.field("node_count", flow.node_count);
    v.field("edge_count", flow.edge_count);
    v.field("created_at", flow.created_at);
    v.field("last_mutation_at", flow.last_mutation_at);
    v.field("cancelled_at", flow.cancelled_at);
    v.field("cancel_reason", flow.cancel_reason);
    v.field("cancellation_policy", flow.cancellation_policy);
    v.field("finished_at", flow.finished_at);
    v.field("sealed", flow.sealed);
    v.field("paused", flow.paused);
    v.field("deadline_at", flow.settings.deadline_at);
    v.field("on_member_failure", flow.settings.on_member_failure);
    v.field("max_active_members", flow.settings.max_active_members);
    v.field("live_members", flow.live_members);
    v.field("tags", flow.tags);
    v.objects("edge_groups", flow.edge_groups);
}

template <class V>
void describe(V& v, FlowListItem& item) {
    v.field("flow_id", item.flow_id);
    v.field("flow_kind", item.flow_kind);
    v.field("namespace", item.ns);
    v.field("status", item.status);
    v.field("node_count", item.node_count);
    v.field("created_at", item.created_at);
}

template <class V>
void describe(V& v, FlowMember& member) {
    v.field("execution_id", member.execution_id);
    v.field("node", member.node);
    v.field("execution_kind", member.execution_kind);
    v.field("lane_id", member.lane_id);
    v.field("public_state", member.public_state);
}

/// Two members are the same for every edge there is; older clients look at them.
template <class V>
void describe(V& v, EdgeSnapshot& edge) {
    v.field("edge_id", edge.edge_id);
    v.field("flow_id", edge.flow_id);
    v.field("upstream_execution_id", edge.upstream_execution_id);
    v.field("downstream_execution_id", edge.downstream_execution_id);
    v.field("dependency_kind", edge.dependency_kind);
    if constexpr (!V::reads) {
        v.field("satisfaction_condition", std::string_view("all_required"));
    }
    v.field("data_passing_ref", edge.data_passing_ref);
    v.field("when", edge.when);
    v.field("edge_state", edge.edge_state);
    v.field("created_at", edge.created_at);
    if constexpr (!V::reads) {
        v.field("created_by", std::string_view("engine"));
    }
    v.field("dependency_state", edge.dependency_state);
    v.field("resolved_at", edge.resolved_at);
}

inline constexpr std::array public_states{
    PublicState::completed,    PublicState::failed,           PublicState::cancelled,
    PublicState::expired,      PublicState::skipped,          PublicState::active,
    PublicState::suspended,    PublicState::waiting,          PublicState::delayed,
    PublicState::rate_limited, PublicState::waiting_children, PublicState::resumable,
};

/// Counts of zero are written, so that a reader needs no list of states; they are not kept.
template <class V>
void describe(V& v, FlowSummary& summary) {
    v.field("flow_id", summary.flow_id);
    v.field("total_members", summary.total_members);
    if constexpr (!V::reads) {
        v.field("sampled_members", summary.total_members);  // the store counts, it never samples
    }
    for (const PublicState state : public_states) {
        const auto known = summary.members.find(state);
        std::uint64_t count = known != summary.members.end() ? known->second : 0;
        v.field("members_" + std::string(to_string(state)), count);
        if (V::reads && count > 0) {
            summary.members[state] = count;
        }
    }
    v.field("public_flow_state", summary.public_flow_state);
    v.field("last_summary_update_at", summary.last_summary_update_at);
}

template <class V>
void describe(V& v, FlowInput& input) {
    v.field("name", input.name);
    v.field("execution_id", input.execution_id);
    v.field("encoding", input.encoding);
    v.bytes("value", input.value);
}

template <class V>
void describe(V& v, GraphNode& node) {
    v.field("execution_id", node.execution_id);
    v.field("node", node.node);
    v.field("execution_kind", node.execution_kind);
    v.field("lane_id", node.lane_id);
    v.field("public_state", node.public_state);
    v.field("created_at", node.created_at);
    v.field("started_at", node.started_at);
    v.field("completed_at", node.completed_at);
    v.field("total_attempt_count", node.total_attempt_count);
    v.field("failure_reason", node.failure_reason);
    v.field("critical", node.critical);
}

template <class V>
void describe(V& v, FlowGraph& graph) {
    v.object("flow", graph.flow);
    v.objects("nodes", graph.nodes);
    v.objects("edges", graph.edges);
    v.field("critical_path_ms", graph.critical_path_ms);
}

// ------------------------------------------------------------------------------ parts of answers

template <class V>
void describe(V& v, StageEdgeResult& result) {
    v.field("edge_id", result.edge_id);
    v.field("new_graph_revision", result.new_graph_revision);
}

template <class V>
void describe(V& v, ApplyAllResult& result) {
    v.field("applied", result.applied);
    v.field("groups", result.groups);
}

template <class V>
void describe(V& v, FlowStateResult& result) {
    v.field("flow_id", result.flow_id);
    v.field("public_flow_state", result.state);
    v.field("sealed", result.sealed);
    v.field("paused", result.paused);
}

template <class V>
void describe(V& v, SpawnResult& result) {
    v.field("nodes", result.nodes);
    v.field("new_graph_revision", result.new_graph_revision);
}

template <class V>
void describe(V& v, RetryFlowResult& result) {
    v.field("replayed", result.replayed);
}

template <class V>
void describe(V& v, EligibilityResult& result) {
    v.field("status", result.status);
}

/// Of a submit, without the tag that says whether it was there.
template <class V>
void describe(V& v, SubmitFlowResult& result) {
    v.field("flow_id", result.flow_id);
    v.field("nodes", result.nodes);
}

template <class V>
void describe(V& v, ResolveResult& result) {
    v.field("data_injected", result.data_injected);
    v.field("child_skipped", result.child_skipped);
}

}  // namespace ff::wire
