// The requests of flows, described once like those of requests.h: for reading, for writing and for
// the description of the interface.
//
// `now` is accepted in every body and not looked at: the store's clock decides. Members of nodes
// and edges that say nothing are left out when written (`sparse`): a graph has thousands.
#pragma once

#include <string_view>
#include <type_traits>

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

/// Limits that only HTTP has.
inline constexpr DurationMs flow_wait_ms_max = 30'000;         ///< of one that waits for an end
inline constexpr DurationMs cancel_wait_ms_max = 300'000;      ///< of a cancel that waits
inline constexpr std::int64_t grace_ms_max = (1LL << 53) - 1;  ///< what every JSON number can hold

/// Where the edges of a graph may lead: to nodes of its own only, or also to whoever asks.
enum class Ends : std::uint8_t { named, caller };

FF_BIND(CreateFlow, post, "/v1/flows", control, "Create a flow")
FF_BIND(SubmitFlow, post, "/v1/flows/submit", graph, "Create a whole graph in one transaction")
FF_BIND(AddExecutionToFlow, post, "/v1/flows/{id}/members", control, "Add an execution to a flow")
FF_BIND(StageDependencyEdge, post, "/v1/flows/{id}/edges", control,
        "Stage an edge: it is part of the graph, and holds nothing back yet")
FF_BIND(ApplyDependency, post, "/v1/flows/{id}/edges/apply", control,
        "Apply a staged edge: its downstream waits for it")
FF_BIND(ApplyAllDependencies, post, "/v1/flows/{id}/edges/apply-all", control,
        "Apply every staged edge")
FF_BIND(SetEdgeGroupPolicy, put, "/v1/flows/{id}/edge-groups/{downstream_execution_id}", control,
        "Say how the inbound edges of an execution count together")
FF_BIND(CancelFlow, post, "/v1/flows/{id}/cancel", control, "Cancel a flow")
FF_BIND(SealFlow, post, "/v1/flows/{id}/seal", control,
        "No more members or edges: it ends when its members have ended")
FF_BIND(PauseFlow, post, "/v1/flows/{id}/pause", control, "Hand out no member until it is resumed")
FF_BIND(ResumeFlow, post, "/v1/flows/{id}/resume", control, "Hand out members again")
FF_BIND(RetryFlow, post, "/v1/flows/{id}/retry", control,
        "Run failed members again, and what was skipped because of them")
FF_BIND(SetFlowTags, put, "/v1/flows/{id}/tags", control, "Set tags of a flow")
FF_BIND(RemoveFlowTag, delete_, "/v1/flows/{id}/tags/{key}", control, "Remove a tag of a flow")
FF_BIND(GetFlowTag, get, "/v1/flows/{id}/tags/{key}", control, "One tag of a flow")
FF_BIND(ListFlows, get, "/v1/flows", control, "Flows, by id")
FF_BIND(DescribeFlow, get, "/v1/flows/{id}", control, "All about a flow, or wait for its end")
FF_BIND(ListFlowMembers, get, "/v1/flows/{id}/members", control, "Its members, by id")
FF_BIND(ListEdges, get, "/v1/flows/{id}/edges", control, "Its edges, by id")
FF_BIND(DescribeEdge, get, "/v1/flows/{id}/edges/{edge_id}", control, "One of its edges")
FF_BIND(ReadFlowSummary, get, "/v1/flows/{id}/summary", control,
        "How many of its members are in which state")
FF_BIND(ReadFlowGraph, get, "/v1/flows/{id}/graph", control,
        "Its graph as it stands: JSON, or text for Graphviz and Mermaid")
FF_BIND(SpawnChildren, post, "/v1/executions/{id}/attempts/{idx}/spawn", graph,
        "Add members and edges to the flow of a running execution")
FF_BIND(EvaluateEligibility, get, "/v1/executions/{id}/eligibility", control,
        "Whether its dependencies let it go")
FF_BIND(PromoteExecution, post, "/v1/executions/{id}/promote", control,
        "Repair: let a blocked execution go whose dependencies are satisfied")
FF_BIND(ReadInputs, get, "/v1/executions/{id}/inputs", control, "What its upstreams hand over")
FF_BIND(CancelFlowHeader, post, "/v1/admin/flows/{id}/cancel-header", control,
        "Cancel a flow and only note its members")
FF_BIND(AckCancelMember, post, "/v1/admin/flows/{id}/cancel-members/{execution_id}/ack", control,
        "Say that a noted member has been cancelled")
FF_BIND(ResolveDependency, post, "/v1/admin/flows/{id}/edges/{edge_id}/resolve", control,
        "Repair: resolve an edge by how its upstream ended")

// ------------------------------------------------------------------------------- parts of graphs

template <class V>
void describe_settings(V& v, FlowSettings& settings) {
    v.optional("deadline_at", settings.deadline_at);
    v.defaulted("on_member_failure", settings.on_member_failure);
    v.defaulted("max_active_members", settings.max_active_members);
}

/// A node is a create with a name. Its namespace is the flow's and need not be said when that is
/// said. `policy` is the execution's own, as everywhere; how inbound edges count is `group_policy`.
template <class V>
void describe_node(V& v, FlowNode& node) {
    CreateExecution& op = node.execution;
    v.required("name", node.name);
    v.optional("execution_id", op.execution_id);
    v.sparse("namespace", op.ns);
    v.lane("lane_id", op.lane_id);
    v.required("execution_kind", op.execution_kind);
    v.sparse_bytes("input_payload", op.input_payload);
    v.optional("payload_encoding", op.payload_encoding);
    v.sparse("priority", op.priority);
    v.sparse("creator_identity", op.creator_identity);
    v.optional("idempotency_key", op.idempotency_key);
    v.sparse("tags", op.tags);
    v.document("policy", op.policy);
    v.optional("delay_until", op.delay_until);
    v.optional("execution_deadline_at", op.execution_deadline_at);
    v.sparse_policy("group_policy", node.policy);
}

template <class V, class Edge>
void describe_conditions(V& v, Edge& edge) {
    v.word("dependency_kind", edge.dependency_kind, ErrorCode::invalid_dependency_kind);
    v.reference_text("data_passing_ref", edge.data_passing_ref);
    v.sparse("when", edge.when);
}

template <class V>
void describe_edge(V& v, FlowEdge& edge, Ends ends) {
    v.required("from", edge.from);
    if (ends == Ends::named) {
        v.required("to", edge.to);
    } else {
        v.sparse("to", edge.to);
    }
    describe_conditions(v, edge);
}

// -------------------------------------------------------------------------------- the operations

template <class V>
void describe_request(V& v, CreateFlow& op) {
    v.optional("flow_id", op.flow_id);
    v.required("flow_kind", op.flow_kind);
    v.required("namespace", op.ns);
    describe_settings(v, op.settings);
}

template <class V>
void describe_request(V& v, SubmitFlow& op) {
    v.optional("flow_id", op.flow_id);
    v.required("flow_kind", op.flow_kind);
    v.required("namespace", op.ns);
    describe_settings(v, op.settings);
    v.defaulted("tags", op.tags);
    v.nodes("nodes", op.nodes);
    v.edges("edges", op.edges, Ends::named);
    v.defaulted("seal", op.seal);
}

template <class V>
void describe_request(V& v, SpawnChildren& op) {
    v.lease(op.lease);
    v.nodes("nodes", op.nodes);
    v.edges("edges", op.edges, Ends::caller);
}

/// Those that take nothing but the id of a flow.
template <class V, class Op>
    requires(std::is_same_v<Op, ApplyAllDependencies> || std::is_same_v<Op, SealFlow> ||
             std::is_same_v<Op, PauseFlow> || std::is_same_v<Op, ResumeFlow> ||
             std::is_same_v<Op, DescribeFlow> || std::is_same_v<Op, ReadFlowSummary> ||
             std::is_same_v<Op, ReadFlowGraph>)
void describe_request(V& v, Op& op) {
    v.flow_id(op.flow_id);
}

/// And those that take nothing but the id of an execution.
template <class V, class Op>
    requires(std::is_same_v<Op, PromoteExecution> || std::is_same_v<Op, EvaluateEligibility>)
void describe_request(V& v, Op& op) {
    v.id(op.execution_id);
}

template <class V>
void describe_request(V& v, AddExecutionToFlow& op) {
    v.flow_id(op.flow_id);
    v.required("execution_id", op.execution_id);
}

template <class V>
void describe_request(V& v, StageDependencyEdge& op) {
    v.flow_id(op.flow_id);
    v.optional("edge_id", op.edge_id);
    v.required("upstream_execution_id", op.upstream_execution_id);
    v.required("downstream_execution_id", op.downstream_execution_id);
    describe_conditions(v, op);
    v.required("expected_graph_revision", op.expected_graph_revision);
}

template <class V>
void describe_request(V& v, SetEdgeGroupPolicy& op) {
    v.flow_id(op.flow_id);
    v.path_id("downstream_execution_id", op.downstream_execution_id);
    v.required_policy("policy", op.policy);
}

/// What else older clients send is in the staged edge already.
template <class V>
void describe_request(V& v, ApplyDependency& op) {
    v.flow_id(op.flow_id);
    v.required("edge_id", op.edge_id);
    v.required("upstream_execution_id", op.upstream_execution_id);
    v.required("downstream_execution_id", op.downstream_execution_id);
}

/// `grace_ms` has a meaning for a cancel in two steps only; a wrong one is refused all the same.
template <class V>
void describe_request(V& v, CancelFlow& op) {
    DurationMs grace_ms = 30'000;
    v.flow_id(op.flow_id);
    v.query_flag("escalate", op.escalate);
    v.query_constant("detail", "true");
    v.required("reason", op.reason);
    v.cancellation_policy("cancellation_policy", op.cancellation_policy);
    v.unused_grace("grace_ms", grace_ms);
}

template <class V>
void describe_request(V& v, CancelFlowHeader& op) {
    v.flow_id(op.flow_id);
    v.required("reason", op.reason);
    v.cancellation_policy("cancellation_policy", op.cancellation_policy);
    v.grace("grace_ms", op.grace_ms);
}

template <class V>
void describe_request(V& v, AckCancelMember& op) {
    v.flow_id(op.flow_id);
    v.path_id("execution_id", op.execution_id);
}

template <class V>
void describe_request(V& v, ResolveDependency& op) {
    v.flow_id(op.flow_id);
    v.path_id("edge_id", op.edge_id);
    v.required("upstream_outcome", op.upstream_outcome);
}

template <class V>
void describe_request(V& v, RetryFlow& op) {
    v.flow_id(op.flow_id);
    v.optional("from", op.from);
    v.defaulted("include_skipped", op.include_skipped);
}

template <class V>
void describe_request(V& v, SetFlowTags& op) {
    v.flow_id(op.flow_id);
    v.required("tags", op.tags);
}

template <class V, class Op>
    requires(std::is_same_v<Op, GetFlowTag> || std::is_same_v<Op, RemoveFlowTag>)
void describe_request(V& v, Op& op) {
    v.flow_id(op.flow_id);
    v.path("key", op.key);
}

template <class V>
void describe_request(V& v, ListFlows& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
    v.query_optional("partition", op.partition);
    v.query_optional("namespace", op.ns);
    v.query_optional("status", op.status);
}

template <class V>
void describe_request(V& v, ListFlowMembers& op) {
    v.flow_id(op.flow_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
    v.query_optional("state", op.state);
}

template <class V>
void describe_request(V& v, ListEdges& op) {
    v.flow_id(op.flow_id);
    v.query_optional("direction", op.direction);
    v.query_optional("execution_id", op.execution_id);
}

template <class V>
void describe_request(V& v, DescribeEdge& op) {
    v.flow_id(op.flow_id);
    v.path_id("edge_id", op.edge_id);
}

/// `rows` keeps what each input is made of; without it values are spelled for people.
template <class V>
void describe_request(V& v, ReadInputs& op) {
    v.id(op.execution_id);
    v.query_constant("form", "rows");
}

}  // namespace ff::wire
