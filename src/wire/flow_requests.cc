// The requests of flows: what their members are called.
#include "wire/flow_requests.h"

#include "wire/request_visitor.h"
#include "wire/requests.h"

namespace ff::wire {

// ------------------------------------------------------------------------------- parts of graphs

namespace {

void describe_settings(RequestVisitor& v, FlowSettings& settings) {
    v.optional("deadline_at", settings.deadline_at);
    v.defaulted("on_member_failure", settings.on_member_failure);
    v.defaulted("max_active_members", settings.max_active_members);
}

}  // namespace

/// A node is a create with a name. Its namespace is the flow's and need not be said when that is
/// said. `policy` is the execution's own, as everywhere; how inbound edges count is `group_policy`.
void describe_node(RequestVisitor& v, FlowNode& node) {
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

namespace {

template <class Edge>
void describe_conditions(RequestVisitor& v, Edge& edge) {
    v.word("dependency_kind", edge.dependency_kind, ErrorCode::invalid_dependency_kind);
    v.reference_text("data_passing_ref", edge.data_passing_ref);
    v.sparse("when", edge.when);
}

}  // namespace

void describe_edge(RequestVisitor& v, FlowEdge& edge, Ends ends) {
    v.required("from", edge.from);
    if (ends == Ends::named) {
        v.required("to", edge.to);
    } else {
        v.sparse("to", edge.to);
    }
    describe_conditions(v, edge);
}

// -------------------------------------------------------------------------------- the operations

void describe_request(RequestVisitor& v, CreateFlow& op) {
    v.optional("flow_id", op.flow_id);
    v.required("flow_kind", op.flow_kind);
    v.required("namespace", op.ns);
    describe_settings(v, op.settings);
}

void describe_request(RequestVisitor& v, SubmitFlow& op) {
    v.optional("flow_id", op.flow_id);
    v.required("flow_kind", op.flow_kind);
    v.required("namespace", op.ns);
    describe_settings(v, op.settings);
    v.defaulted("tags", op.tags);
    v.nodes("nodes", op.nodes);
    v.edges("edges", op.edges, Ends::named);
    v.defaulted("seal", op.seal);
}

void describe_request(RequestVisitor& v, SpawnChildren& op) {
    v.lease(op.lease);
    v.nodes("nodes", op.nodes);
    v.edges("edges", op.edges, Ends::caller);
}

/// Those that take nothing but the id of a flow.
void describe_request(RequestVisitor& v, ApplyAllDependencies& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, SealFlow& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, PauseFlow& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, ResumeFlow& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, DescribeFlow& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, ReadFlowSummary& op) { v.flow_id(op.flow_id); }
void describe_request(RequestVisitor& v, ReadFlowGraph& op) { v.flow_id(op.flow_id); }

/// And those that take nothing but the id of an execution.
void describe_request(RequestVisitor& v, PromoteExecution& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, EvaluateEligibility& op) { v.id(op.execution_id); }

void describe_request(RequestVisitor& v, AddExecutionToFlow& op) {
    v.flow_id(op.flow_id);
    v.required("execution_id", op.execution_id);
}

void describe_request(RequestVisitor& v, StageDependencyEdge& op) {
    v.flow_id(op.flow_id);
    v.optional("edge_id", op.edge_id);
    v.required("upstream_execution_id", op.upstream_execution_id);
    v.required("downstream_execution_id", op.downstream_execution_id);
    describe_conditions(v, op);
    v.required("expected_graph_revision", op.expected_graph_revision);
}

void describe_request(RequestVisitor& v, SetEdgeGroupPolicy& op) {
    v.flow_id(op.flow_id);
    v.path_id("downstream_execution_id", op.downstream_execution_id);
    v.required_policy("policy", op.policy);
}

/// What else older clients send is in the staged edge already.
void describe_request(RequestVisitor& v, ApplyDependency& op) {
    v.flow_id(op.flow_id);
    v.required("edge_id", op.edge_id);
    v.required("upstream_execution_id", op.upstream_execution_id);
    v.required("downstream_execution_id", op.downstream_execution_id);
}

/// `grace_ms` has a meaning for a cancel in two steps only; a wrong one is refused all the same.
void describe_request(RequestVisitor& v, CancelFlow& op) {
    DurationMs grace_ms = 30'000;
    v.flow_id(op.flow_id);
    v.query_flag("escalate", op.escalate);
    v.query_constant("detail", "true");
    v.required("reason", op.reason);
    v.cancellation_policy("cancellation_policy", op.cancellation_policy);
    v.unused_grace("grace_ms", grace_ms);
}

void describe_request(RequestVisitor& v, CancelFlowHeader& op) {
    v.flow_id(op.flow_id);
    v.required("reason", op.reason);
    v.cancellation_policy("cancellation_policy", op.cancellation_policy);
    v.grace("grace_ms", op.grace_ms);
}

void describe_request(RequestVisitor& v, AckCancelMember& op) {
    v.flow_id(op.flow_id);
    v.path_id("execution_id", op.execution_id);
}

void describe_request(RequestVisitor& v, ResolveDependency& op) {
    v.flow_id(op.flow_id);
    v.path_id("edge_id", op.edge_id);
    v.required("upstream_outcome", op.upstream_outcome);
}

void describe_request(RequestVisitor& v, RetryFlow& op) {
    v.flow_id(op.flow_id);
    v.optional("from", op.from);
    v.defaulted("include_skipped", op.include_skipped);
}

void describe_request(RequestVisitor& v, SetFlowTags& op) {
    v.flow_id(op.flow_id);
    v.required("tags", op.tags);
}

void describe_request(RequestVisitor& v, GetFlowTag& op) {
    v.flow_id(op.flow_id);
    v.path("key", op.key);
}
void describe_request(RequestVisitor& v, RemoveFlowTag& op) {
    v.flow_id(op.flow_id);
    v.path("key", op.key);
}

void describe_request(RequestVisitor& v, ListFlows& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
    v.query_optional("partition", op.partition);
    v.query_optional("namespace", op.ns);
    v.query_optional("status", op.status);
}

void describe_request(RequestVisitor& v, ListFlowMembers& op) {
    v.flow_id(op.flow_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
    v.query_optional("state", op.state);
}

void describe_request(RequestVisitor& v, ListEdges& op) {
    v.flow_id(op.flow_id);
    v.query_optional("direction", op.direction);
    v.query_optional("execution_id", op.execution_id);
}

void describe_request(RequestVisitor& v, DescribeEdge& op) {
    v.flow_id(op.flow_id);
    v.path_id("edge_id", op.edge_id);
}

/// `rows` keeps what each input is made of; without it values are spelled for people.
void describe_request(RequestVisitor& v, ReadInputs& op) {
    v.id(op.execution_id);
    v.query_constant("form", "rows");
}

}  // namespace ff::wire
