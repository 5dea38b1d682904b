// The errors of flows: status, kind, code and retry advice of spec 03 section 3.17.
#include "wire/flow_support.h"

namespace ff::wire::test {

namespace {

const ErrorRow flow_rows[] = {
    {ErrorCode::flow_not_found, "", 404, "", "", "not found: flow"},
    {ErrorCode::flow_not_found, "flow not found: 1", 404, "", "", "flow not found: 1"},
    {ErrorCode::execution_not_found, "", 404, "", "", "not found: execution"},
    {ErrorCode::edge_not_found, "", 404, "", "", "not found: edge"},
    {ErrorCode::invalid_input, "partition mismatch", 400, "", "",
     "invalid_input: partition mismatch"},
    {ErrorCode::invalid_tag_key, "bogus", 400, "", "", "invalid_tag_key: bogus"},
    {ErrorCode::invalid_grace_ms, "x", 400, "", "", "invalid_grace_ms: x"},
    {ErrorCode::invalid_cancellation_policy, "x", 400, "", "", "invalid_cancellation_policy: x"},
    {ErrorCode::invalid_dependency_kind, "x", 400, "", "", "invalid_dependency_kind: x"},
    {ErrorCode::invalid_dependency, "x", 400, "", "", "invalid_dependency: x"},
    {ErrorCode::namespace_mismatch, "x", 400, "", "", "namespace_mismatch: x"},
    {ErrorCode::edge_endpoint_mismatch, "", 400, "", "", "edge_endpoint_mismatch"},
    {ErrorCode::edge_group_policy_already_fixed, "dependencies already staged", 400, "", "",
     "edge_group_policy_already_fixed: dependencies already staged"},
    {ErrorCode::self_referencing_edge, "", 409, "self_referencing_edge", "false",
     "self_referencing_edge: SelfReferencingEdge"},
    {ErrorCode::cycle_detected, "", 409, "cycle_detected", "false",
     "cycle_detected: CycleDetected"},
    {ErrorCode::dependency_already_exists, "", 409, "dependency_already_exists", "false",
     "dependency_already_exists: DependencyAlreadyExists"},
    {ErrorCode::execution_already_in_flow, "already_member_of_different_flow:2", 409,
     "execution_already_in_flow", "false",
     "execution_already_in_flow: ExecutionAlreadyInFlow: already_member_of_different_flow:2"},
    {ErrorCode::graph_too_large, "", 409, "graph_too_large", "false",
     "graph_too_large: GraphTooLarge"},
    {ErrorCode::flow_limit_exceeded, "", 409, "flow_limit_exceeded", "false",
     "flow_limit_exceeded: FlowLimitExceeded"},
    {ErrorCode::downstream_already_terminal, "", 409, "downstream_already_terminal", "false",
     "downstream_already_terminal: DownstreamAlreadyTerminal"},
    {ErrorCode::flow_already_exists, "", 409, "flow_already_exists", "false",
     "flow_already_exists: FlowAlreadyExists"},
    {ErrorCode::stale_graph_revision, "", 409, "contention", "true",
     "contention: StaleGraphRevision"},
    {ErrorCode::flow_already_terminal, "", 409, "flow_already_terminal", "false",
     "flow_already_terminal: FlowAlreadyTerminal"},
    {ErrorCode::execution_not_terminal, "", 409, "execution_not_terminal", "false",
     "execution_not_terminal: ExecutionNotTerminal"},
    {ErrorCode::max_replays_exhausted, "", 409, "max_replays_exhausted", "false",
     "max_replays_exhausted: MaxReplaysExhausted"},
    {ErrorCode::replay_not_allowed, "", 409, "replay_not_allowed", "false",
     "replay_not_allowed: ReplayNotAllowed"},
    {ErrorCode::not_runnable, "", 409, "not_runnable", "false", "not_runnable: NotRunnable"},
    {ErrorCode::terminal, "", 409, "terminal", "false", "terminal: Terminal"},
    {ErrorCode::execution_not_in_flow, "", 409, "state_conflict", "false",
     "state_conflict: ExecutionNotInFlow"},
    {ErrorCode::deps_not_satisfied, "", 409, "state_conflict", "false",
     "state_conflict: DepsNotSatisfied"},
    {ErrorCode::not_blocked_by_deps, "", 409, "state_conflict", "false",
     "state_conflict: NotBlockedByDeps"},
    {ErrorCode::retry_exhausted, "", 500, "retry_exhausted", "false",
     "retry_exhausted: RetryExhausted"},
    {ErrorCode::timeout, "cancel_flow", 504, "timeout", "true", "timeout: cancel_flow"},
    {ErrorCode::invariant_violation, "", 500, "", "false", "invariant_violation"},
};

}  // namespace

TEST(FlowErrors, AreThoseOfTheTable) {
    for (const ErrorRow& row : flow_rows) {
        expect_row(row);
    }
}

TEST(FlowErrors, CarryWhatAProgramNeeds) {
    const Error error{ErrorCode::dependency_already_exists,
                      "the edge is there already",
                      {{"edge_id", std::string(edge_text)}, {"edge_state", "applied"}}};
    const Answer answer = write_error(error);
    EXPECT_TRUE(
        answer.body.contains(R"("detail":{"message":"the edge is there already","edge_id":")" +
                             std::string(edge_text) + R"(","edge_state":"applied"})"))
        << answer.body;
    EXPECT_EQ(read_error(answer.status, answer.body), error);
}

}  // namespace ff::wire::test
