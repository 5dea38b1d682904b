// The operations on flows: executions tied into a graph by edges `upstream -> downstream`.
//
// A downstream execution may not be claimed until the policy of its inbound edges (its *group*) is
// satisfied by how its upstreams ended. What follows from an end (children that become eligible or
// are skipped, siblings that are cancelled, a flow that is finished) happens in the transaction of
// that end. Spec 03 has every rule; <ff/flow_builder.h> is the comfortable way to submit a graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/executions.h>

namespace ff {

/// What a flow itself says. Only a sealed flow ends by itself.
FF_WORD_ENUM(FlowState, open, completed, failed, cancelled)
/// When an edge lets its downstream go: how the upstream ended.
FF_WORD_ENUM(DependencyKind, success_only, on_failure, always, on_skip)
/// A staged edge is part of the graph; an applied one holds its downstream back.
FF_WORD_ENUM(EdgeState, pending, applied)
FF_WORD_ENUM(DependencyState, unsatisfied, satisfied, impossible, not_taken)
FF_WORD_ENUM(GroupPolicyKind, all_of, any_of, quorum)
FF_WORD_ENUM(OnSatisfied, let_run, cancel_remaining)
FF_WORD_ENUM(GroupState, pending, satisfied, impossible, cancelled)
FF_WORD_ENUM(CancellationPolicy, cancel_all, cancel_pending, flow_only)
FF_WORD_ENUM(OnMemberFailure, continue_, cancel_rest)

/// How the inbound edges of an execution count together.
struct GroupPolicy {
    GroupPolicyKind kind = GroupPolicyKind::all_of;
    std::uint32_t k = 1;  ///< of a quorum
    OnSatisfied on_satisfied = OnSatisfied::let_run;
    /// Cancel also siblings that another group still waits for.
    bool force_cancel_shared = false;

    static GroupPolicy all_of() { return {}; }
    static GroupPolicy any_of(OnSatisfied then = OnSatisfied::let_run) {
        return {GroupPolicyKind::any_of, 1, then, false};
    }
    static GroupPolicy quorum(std::uint32_t k, OnSatisfied then = OnSatisfied::let_run) {
        return {GroupPolicyKind::quorum, k, then, false};
    }
    bool operator==(const GroupPolicy&) const = default;
};

/// What may be set when a flow is made, beyond its name.
struct FlowSettings {
    std::optional<TimestampMs> deadline_at;  ///< then everything that has not ended is cancelled
    OnMemberFailure on_member_failure = OnMemberFailure::continue_;
    std::uint32_t max_active_members = 0;  ///< how many may run at once; 0: any number
    bool operator==(const FlowSettings&) const = default;
};

// -------------------------------------------------------------------------------- building a graph

struct CreateFlowResult {
    bool created = false;  ///< false: it was there already
    FlowId flow_id;
    bool operator==(const CreateFlowResult&) const = default;
};

struct CreateFlow {
    using Result = CreateFlowResult;
    static constexpr std::string_view name = "create_flow";

    std::optional<FlowId> flow_id;  ///< minted when absent
    std::string flow_kind;          ///< a label, such as `pipeline`
    std::string ns;
    FlowSettings settings;
};

struct AddMemberResult {
    bool added = false;  ///< false: it was a member already
    ExecutionId execution_id;
    std::uint64_t node_count = 0;
    bool operator==(const AddMemberResult&) const = default;
};

struct AddExecutionToFlow {
    using Result = AddMemberResult;
    static constexpr std::string_view name = "add_execution_to_flow";

    FlowId flow_id;
    ExecutionId execution_id;
};

struct StageEdgeResult {
    EdgeId edge_id;
    std::uint64_t new_graph_revision = 0;
    bool operator==(const StageEdgeResult&) const = default;
};

struct StageDependencyEdge {
    using Result = StageEdgeResult;
    static constexpr std::string_view name = "stage_dependency_edge";

    FlowId flow_id;
    std::optional<EdgeId> edge_id;  ///< minted when absent
    ExecutionId upstream_execution_id;
    ExecutionId downstream_execution_id;
    DependencyKind dependency_kind = DependencyKind::success_only;
    /// Empty: nothing is passed. `{"as":"name","path":"$.x"}`: a named input of the downstream. Any
    /// other text: the upstream's result replaces the downstream's payload.
    std::string data_passing_ref;
    /// Looks at the upstream's result, such as `$.score >= 0.8`; false: the edge is not taken.
    std::string when;
    std::uint64_t expected_graph_revision = 0;
};

struct SetPolicyResult {
    bool set = false;  ///< false: it was that already
    bool operator==(const SetPolicyResult&) const = default;
};

struct SetEdgeGroupPolicy {
    using Result = SetPolicyResult;
    static constexpr std::string_view name = "set_edge_group_policy";

    FlowId flow_id;
    ExecutionId downstream_execution_id;
    GroupPolicy policy;
};

struct ApplyResult {
    bool applied = false;  ///< false: it was applied already
    std::uint64_t unsatisfied_count = 0;
    bool operator==(const ApplyResult&) const = default;
};

struct ApplyDependency {
    using Result = ApplyResult;
    static constexpr std::string_view name = "apply_dependency_to_child";

    FlowId flow_id;
    EdgeId edge_id;
    ExecutionId upstream_execution_id;
    ExecutionId downstream_execution_id;
};

struct ApplyAllResult {
    std::uint64_t applied = 0;
    std::uint64_t groups = 0;
    bool operator==(const ApplyAllResult&) const = default;
};

/// Applies every staged edge of a flow.
struct ApplyAllDependencies {
    using Result = ApplyAllResult;
    static constexpr std::string_view name = "apply_all_dependencies";

    FlowId flow_id;
};

/// A node of a graph that is submitted whole: an execution under a name.
struct FlowNode {
    std::string name;
    CreateExecution execution;  ///< its namespace is the flow's; an id is minted when absent
    GroupPolicy policy;
};

struct FlowEdge {
    std::string from;  ///< a node's name
    std::string to;
    DependencyKind dependency_kind = DependencyKind::success_only;
    std::string data_passing_ref;
    std::string when;
};

struct SubmitFlowResult {
    bool created = false;  ///< false: it was there already, and these are its nodes
    FlowId flow_id;
    std::map<std::string, ExecutionId> nodes;
    bool operator==(const SubmitFlowResult&) const = default;
};

/// A whole graph in one transaction, every child blocked from the start.
struct SubmitFlow {
    using Result = SubmitFlowResult;
    static constexpr std::string_view name = "submit_flow";

    std::optional<FlowId> flow_id;  ///< minted when absent; the same id again is the same flow
    std::string flow_kind;
    std::string ns;
    FlowSettings settings;
    Tags tags;
    std::vector<FlowNode> nodes;
    std::vector<FlowEdge> edges;
    bool seal = true;  ///< no more members or edges: the flow ends when they have ended
};

struct SpawnResult {
    std::map<std::string, ExecutionId> nodes;
    std::uint64_t new_graph_revision = 0;
    bool operator==(const SpawnResult&) const = default;
};

/// Adds members and edges to the flow of a running execution, under its lease. An edge to the empty
/// name leads to the caller, which then waits for it with wait_children.
struct SpawnChildren {
    using Result = SpawnResult;
    static constexpr std::string_view name = "spawn_children";

    LeaseRef lease;
    std::vector<FlowNode> nodes;
    std::vector<FlowEdge> edges;
};

// --------------------------------------------------------------------------- changing its course

struct FlowStateResult {
    FlowId flow_id;
    FlowState state = FlowState::open;
    bool sealed = false;
    bool paused = false;
    bool operator==(const FlowStateResult&) const = default;
};

/// No more members or edges; the flow ends when its members have ended.
struct SealFlow {
    using Result = FlowStateResult;
    static constexpr std::string_view name = "seal_flow";

    FlowId flow_id;
};

/// No member is handed out until resume_flow; what runs goes on.
struct PauseFlow {
    using Result = FlowStateResult;
    static constexpr std::string_view name = "pause_flow";

    FlowId flow_id;
};

struct ResumeFlow {
    using Result = FlowStateResult;
    static constexpr std::string_view name = "resume_flow";

    FlowId flow_id;
};

struct CancelFlowResult {
    bool already_terminal = false;
    /// The bound of a transaction was passed: the rest goes on by itself.
    bool scheduled = false;
    CancellationPolicy cancellation_policy = CancellationPolicy::cancel_all;
    std::uint64_t member_count = 0;                 ///< of those to be cancelled
    std::vector<ExecutionId> member_execution_ids;  ///< of the whole flow; capped when terminal
    bool operator==(const CancelFlowResult&) const = default;
};

struct CancelFlow {
    using Result = CancelFlowResult;
    static constexpr std::string_view name = "cancel_flow";

    FlowId flow_id;
    std::string reason;
    CancellationPolicy cancellation_policy = CancellationPolicy::cancel_all;
    bool escalate = false;  ///< a flow cancelled with a weaker policy is cancelled with this one
};

struct CancelFlowHeaderResult {
    bool already_terminal = false;
    std::optional<CancellationPolicy> cancellation_policy;  ///< the stored one
    std::optional<std::string> cancel_reason;               ///< the stored one
    std::vector<ExecutionId> member_execution_ids;          ///< of the whole flow, by id
    bool operator==(const CancelFlowHeaderResult&) const = default;
};

/// Cancels the flow and only notes its members: the caller cancels each and acknowledges it; after
/// `grace_ms` the engine does what is left.
struct CancelFlowHeader {
    using Result = CancelFlowHeaderResult;
    static constexpr std::string_view name = "cancel_flow_header";

    FlowId flow_id;
    std::string reason;
    CancellationPolicy cancellation_policy = CancellationPolicy::cancel_all;
    DurationMs grace_ms = 30'000;
};

struct AckCancelMember {
    using Result = Done;
    static constexpr std::string_view name = "ack_cancel_member";

    FlowId flow_id;
    ExecutionId execution_id;
};

struct RetryFlowResult {
    std::vector<ExecutionId> replayed;  ///< in the order of the graph
    bool operator==(const RetryFlowResult&) const = default;
};

/// Runs failed members again, and what was skipped because of them, in one transaction.
struct RetryFlow {
    using Result = RetryFlowResult;
    static constexpr std::string_view name = "retry_flow";

    FlowId flow_id;
    std::optional<ExecutionId> from;  ///< only this one and what hangs on it
    bool include_skipped = true;
};

/// `Satisfied`, `Impossible`, `AlreadyResolved`.
FF_WORD_ENUM(ResolveOutcome, satisfied, impossible, already_resolved)

struct ResolveResult {
    ResolveOutcome outcome = ResolveOutcome::already_resolved;
    bool data_injected = false;
    bool child_skipped = false;
    bool operator==(const ResolveResult&) const = default;
};

/// Resolves one edge by how its upstream ended. The engine does so by itself; this is for repair.
struct ResolveDependency {
    using Result = ResolveResult;
    static constexpr std::string_view name = "resolve_dependency";

    FlowId flow_id;
    EdgeId edge_id;
    std::string upstream_outcome;  ///< success, failed, cancelled, expired or skipped
};

/// Repair: makes a blocked execution eligible whose group has fired.
struct PromoteExecution {
    using Result = Done;
    static constexpr std::string_view name = "promote_blocked_to_eligible";

    ExecutionId execution_id;
};

struct SetFlowTags {
    using Result = CountResult;
    static constexpr std::string_view name = "set_flow_tags";

    FlowId flow_id;
    Tags tags;  ///< at least one
};

struct RemoveFlowTag {
    using Result = CountResult;
    static constexpr std::string_view name = "remove_flow_tag";

    FlowId flow_id;
    std::string key;
};

// ------------------------------------------------------------------------------------------- reads

struct EdgeGroupSnapshot {
    ExecutionId downstream_execution_id;
    GroupPolicy policy;
    std::uint64_t total_deps = 0;
    std::uint64_t satisfied_count = 0;
    std::uint64_t failed_count = 0;
    std::uint64_t skipped_count = 0;
    std::uint64_t not_taken_count = 0;
    std::uint64_t running_count = 0;
    GroupState group_state = GroupState::pending;
    std::optional<TimestampMs> satisfied_at;
    bool cancel_siblings_pending = false;
    bool operator==(const EdgeGroupSnapshot&) const = default;
};

struct FlowSnapshot {
    FlowId flow_id;
    std::string flow_kind;
    std::string ns;
    FlowState public_flow_state = FlowState::open;
    std::uint64_t graph_revision = 0;
    std::uint64_t node_count = 0;
    std::uint64_t edge_count = 0;
    TimestampMs created_at = 0;
    TimestampMs last_mutation_at = 0;
    std::optional<TimestampMs> cancelled_at;
    std::optional<std::string> cancel_reason;
    std::optional<CancellationPolicy> cancellation_policy;
    std::optional<TimestampMs> finished_at;
    bool sealed = false;
    bool paused = false;
    FlowSettings settings;
    std::uint64_t live_members = 0;  ///< that have not ended
    Tags tags;
    std::vector<EdgeGroupSnapshot> edge_groups;
    bool operator==(const FlowSnapshot&) const = default;
};

struct DescribeFlow {
    using Result = std::optional<FlowSnapshot>;
    static constexpr std::string_view name = "describe_flow";
    FlowId flow_id;
};

struct FlowListItem {
    FlowId flow_id;
    std::string flow_kind;
    std::string ns;
    std::string status;  ///< active, completed, failed, cancelled
    std::uint64_t node_count = 0;
    TimestampMs created_at = 0;
    bool operator==(const FlowListItem&) const = default;
};

struct FlowPage {
    std::vector<FlowListItem> flows;
    std::optional<FlowId> next_cursor;
};

struct ListFlows {
    using Result = FlowPage;
    static constexpr std::string_view name = "list_flows";
    std::optional<FlowId> cursor;  ///< exclusive
    std::uint32_t limit = 100;     ///< at most 1000
    std::optional<std::uint16_t> partition;
    std::optional<std::string> ns;
    std::optional<std::string> status;
};

struct FlowMember {
    ExecutionId execution_id;
    std::string node;  ///< its name in a submitted graph; empty: it was added by itself
    std::string execution_kind;
    std::string lane_id;
    PublicState public_state = PublicState::waiting;
    bool operator==(const FlowMember&) const = default;
};

struct MemberPage {
    std::vector<FlowMember> members;
    std::optional<ExecutionId> next_cursor;
};

/// By execution id.
struct ListFlowMembers {
    using Result = MemberPage;
    static constexpr std::string_view name = "list_flow_members";
    FlowId flow_id;
    std::optional<ExecutionId> cursor;
    std::uint32_t limit = 100;  ///< at most 1000
    std::optional<PublicState> state;
};

struct EdgeSnapshot {
    EdgeId edge_id;
    FlowId flow_id;
    ExecutionId upstream_execution_id;
    ExecutionId downstream_execution_id;
    DependencyKind dependency_kind = DependencyKind::success_only;
    std::optional<std::string> data_passing_ref;
    std::optional<std::string> when;
    EdgeState edge_state = EdgeState::pending;
    TimestampMs created_at = 0;
    std::optional<DependencyState> dependency_state;  ///< absent: staged only
    std::optional<TimestampMs> resolved_at;
    bool operator==(const EdgeSnapshot&) const = default;
};

FF_WORD_ENUM(EdgeDirection, outgoing, incoming)

/// By edge id; all of the flow without a direction.
struct ListEdges {
    using Result = std::vector<EdgeSnapshot>;
    static constexpr std::string_view name = "list_edges";
    FlowId flow_id;
    std::optional<EdgeDirection> direction;
    std::optional<ExecutionId> execution_id;
};

struct DescribeEdge {
    using Result = std::optional<EdgeSnapshot>;
    static constexpr std::string_view name = "describe_edge";
    FlowId flow_id;
    EdgeId edge_id;
};

struct FlowSummary {
    FlowId flow_id;
    std::uint64_t total_members = 0;
    std::map<PublicState, std::uint64_t> members;  ///< by state; those with none are left out
    /// open, running, blocked, completed, failed, cancelled.
    std::string public_flow_state;
    TimestampMs last_summary_update_at = 0;
    bool operator==(const FlowSummary&) const = default;
};

struct ReadFlowSummary {
    using Result = FlowSummary;
    static constexpr std::string_view name = "read_flow_summary";
    FlowId flow_id;
};

struct GetFlowTag {
    using Result = std::optional<std::string>;
    static constexpr std::string_view name = "get_flow_tag";
    FlowId flow_id;
    std::string key;
};

struct EligibilityResult {
    /// not_found, not_runnable, owned, terminal, eligible, impossible, blocked_by_dependencies.
    std::string status;
    bool operator==(const EligibilityResult&) const = default;
};

struct EvaluateEligibility {
    using Result = EligibilityResult;
    static constexpr std::string_view name = "evaluate_flow_eligibility";
    ExecutionId execution_id;
};

/// One thing an upstream passes on.
struct FlowInput {
    std::string name;  ///< of the edge's `as`, or the upstream's node name or id
    ExecutionId execution_id;
    std::string value;  ///< the result, or what the edge's path selects of it
    std::optional<std::string> encoding;
    bool operator==(const FlowInput&) const = default;
};

struct InputsResult {
    std::vector<FlowInput> inputs;  ///< by name
    bool operator==(const InputsResult&) const = default;
};

/// What the upstreams that succeeded hand to an execution.
struct ReadInputs {
    using Result = InputsResult;
    static constexpr std::string_view name = "read_inputs";
    ExecutionId execution_id;
};

struct GraphNode {
    ExecutionId execution_id;
    std::string node;  ///< its name, empty when it has none
    std::string execution_kind;
    std::string lane_id;
    PublicState public_state = PublicState::waiting;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> started_at;
    std::optional<TimestampMs> completed_at;
    std::uint32_t total_attempt_count = 0;
    std::optional<std::string> failure_reason;
    bool critical = false;  ///< on the longest path, by time
    bool operator==(const GraphNode&) const = default;
};

/// A flow as it stands, nodes before those that depend on them.
struct FlowGraph {
    FlowSnapshot flow;
    std::vector<GraphNode> nodes;
    std::vector<EdgeSnapshot> edges;
    DurationMs critical_path_ms = 0;

    /// For Graphviz.
    [[nodiscard]] std::string to_dot() const;
    [[nodiscard]] std::string to_mermaid() const;
};

struct ReadFlowGraph {
    using Result = FlowGraph;
    static constexpr std::string_view name = "read_flow_graph";
    FlowId flow_id;
};

}  // namespace ff
