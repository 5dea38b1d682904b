// Client: hands work over and looks after it, on any Engine.
//
//   ff::Client client(engine, {.ns = "acme"});
//   const auto id = client.submit(ff::Submit("fetch", Job{"https://x"}).lane("web")).id();
//   const Out out = client.wait(id, 30s).as<Out>();
//
// A cheap handle: an engine and a namespace. Copies share the engine; all calls may come from any
// thread, but not from inside an engine's callback, as they wait for their answer. Every call that
// throws ff::Exception has a twin `try_…` that gives expected<T>.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/codec.h>
#include <ff/engine.h>
#include <ff/exception.h>
#include <ff/flow_builder.h>
#include <ff/follow.h>
#include <ff/inputs.h>
#include <ff/listing.h>
#include <ff/submit.h>

namespace ff {

struct ClientOptions {
    std::string ns = "default";
    std::string creator;           ///< of what is submitted without its own
    std::shared_ptr<Clock> clock;  ///< for Submit::delay and grants; the engine's when absent
};

/// What became of a submit: made now, or a duplicate of one made before.
class Submitted {
  public:
    explicit Submitted(CreateResult result) : result_(std::move(result)) {}
    [[nodiscard]] const ExecutionId& id() const { return result_.execution_id; }
    [[nodiscard]] bool created() const { return result_.created; }
    /// `waiting` or `delayed`; meaningful when created.
    [[nodiscard]] PublicState state() const { return result_.public_state; }

  private:
    CreateResult result_;
};

/// What became of a graph that was handed in: made now, or the one made before under its id.
class SubmittedFlow {
  public:
    explicit SubmittedFlow(SubmitFlowResult result) : result_(std::move(result)) {}
    [[nodiscard]] const FlowId& id() const { return result_.flow_id; }
    [[nodiscard]] bool created() const { return result_.created; }
    [[nodiscard]] const std::map<std::string, ExecutionId>& nodes() const { return result_.nodes; }
    /// The execution of a node. Throws when it has no such node.
    [[nodiscard]] const ExecutionId& node(const std::string& name) const;

  private:
    SubmitFlowResult result_;
};

/// What an edge asks for and passes on; see StageDependencyEdge.
struct EdgeOptions {
    DependencyKind dependency_kind = DependencyKind::success_only;
    std::string data_passing_ref;
    std::string when;
};

/// Who answers, and what they have to say.
struct Approval {
    std::string actor;                ///< two actors count as two sources
    std::optional<std::string> note;  ///< the payload of the signal
    /// Answers with the same suffix are the same answer. Empty: the actor's name, or, without one,
    /// nothing else is.
    std::string idempotency_suffix;
};

enum class WithPayload : bool { no, yes };

/// Why a front end could not hand a signal on.
struct BridgeError {
    enum class Kind : std::uint8_t {
        unknown_waitpoint,  ///< none that is open: 404
        token_mismatch,     ///< 401
        backend,            ///< `cause` says
    };
    Kind kind = Kind::backend;
    Error cause;
};

/// How an execution ended.
struct Finished {
    ExecutionId id;
    PublicState state = PublicState::completed;
    std::optional<ExecutionResult> result;  ///< of a completed one that had any
    std::string reason;                     ///< why it failed, expired or was cancelled
    std::string category;                   ///< of a failure

    [[nodiscard]] bool completed() const { return state == PublicState::completed; }
    /// The result's bytes; empty when there is none.
    [[nodiscard]] std::string bytes() const { return result ? result->payload : std::string(); }
    /// The result decoded from JSON, or as it stands for std::string. `terminal` when there is
    /// none because the execution did not complete.
    template <class T>
    [[nodiscard]] expected<T> try_as() const {
        FF_TRY(const ExecutionResult* found, decodable(std::same_as<T, std::string>));
        if constexpr (std::same_as<T, std::string>) {
            return found->payload;
        } else {
            return decode_json<T>(found->payload);
        }
    }
    template <class T>
    [[nodiscard]] T as() const {
        return value_or_throw(try_as<T>());
    }

  private:
    [[nodiscard]] expected<const ExecutionResult*> decodable(bool any_encoding) const;
};

class Client {
  public:
    explicit Client(std::shared_ptr<Engine> engine, ClientOptions options = {});

    [[nodiscard]] Engine& engine() const { return *engine_; }
    [[nodiscard]] const std::string& ns() const { return options_.ns; }

    // -------------------------------------------------------------------------- executions

    Submitted submit(const Submit& request) { return value_or_throw(try_submit(request)); }
    expected<Submitted> try_submit(const Submit& request);
    /// Many at once, answered in their order; they share transactions.
    std::vector<expected<Submitted>> try_submit_all(const std::vector<Submit>& requests);

    /// Everything about it; nothing when there is no such execution.
    std::optional<ExecutionSnapshot> inspect(const ExecutionId& id) {
        return value_or_throw(try_inspect(id));
    }
    expected<std::optional<ExecutionSnapshot>> try_inspect(const ExecutionId& id);
    /// The result's bytes; nothing while there is none.
    std::optional<std::string> result(const ExecutionId& id) {
        return value_or_throw(try_result(id));
    }
    expected<std::optional<std::string>> try_result(const ExecutionId& id);
    /// What it was submitted with; nothing when there is no such execution.
    std::optional<ExecutionContext> read_context(const ExecutionId& id) {
        return value_or_throw(try_read_context(id));
    }
    expected<std::optional<ExecutionContext>> try_read_context(const ExecutionId& id);

    /// Waits until it has ended, in whatever way. `timeout` when it has not by then. Faults that
    /// may pass (see Exception::retryable) are waited out.
    Finished wait(const ExecutionId& id, std::chrono::milliseconds timeout) {
        return value_or_throw(try_wait(id, timeout));
    }
    expected<Finished> try_wait(const ExecutionId& id, std::chrono::milliseconds timeout);

    StateResult cancel(const ExecutionId& id, const std::string& reason) {
        return value_or_throw(try_cancel(id, reason));
    }
    expected<StateResult> try_cancel(const ExecutionId& id, const std::string& reason);
    /// Runs a finished one again.
    StateResult replay(const ExecutionId& id) { return value_or_throw(try_replay(id)); }
    expected<StateResult> try_replay(const ExecutionId& id);
    StateResult change_priority(const ExecutionId& id, std::int32_t priority) {
        return value_or_throw(try_change_priority(id, priority));
    }
    expected<StateResult> try_change_priority(const ExecutionId& id, std::int32_t priority);
    /// Takes a lease away; the execution can be claimed again.
    RevokeResult revoke_lease(const ExecutionId& id,
                              const std::string& reason = "operator_revoke") {
        return value_or_throw(try_revoke_lease(id, reason));
    }
    expected<RevokeResult> try_revoke_lease(const ExecutionId& id,
                                            const std::string& reason = "operator_revoke");

    // ------------------------------------------------------------------------------- flows

    /// A whole graph, in one transaction.
    SubmittedFlow submit(const FlowBuilder& graph) { return value_or_throw(try_submit(graph)); }
    expected<SubmittedFlow> try_submit(const FlowBuilder& graph);
    /// An empty flow, to be filled one by one.
    FlowId create_flow(const std::string& kind, const FlowSettings& settings = {}) {
        return value_or_throw(try_create_flow(kind, settings));
    }
    expected<FlowId> try_create_flow(const std::string& kind, const FlowSettings& settings = {});
    /// A new execution as a member. Two transactions: it may run before edges hold it back.
    Submitted submit_to(const FlowId& flow, const Submit& request) {
        return value_or_throw(try_submit_to(flow, request));
    }
    expected<Submitted> try_submit_to(const FlowId& flow, const Submit& request);
    /// Stages an edge and applies it. Whoever changes the graph meanwhile is waited out.
    EdgeId add_edge(const FlowId& flow, const ExecutionId& upstream, const ExecutionId& downstream,
                    const EdgeOptions& options = {}) {
        return value_or_throw(try_add_edge(flow, upstream, downstream, options));
    }
    expected<EdgeId> try_add_edge(const FlowId& flow, const ExecutionId& upstream,
                                  const ExecutionId& downstream, const EdgeOptions& options = {});
    /// How the edges of a downstream count together; before its first edge.
    SetPolicyResult set_edge_group_policy(const FlowId& flow, const ExecutionId& downstream,
                                          const GroupPolicy& policy) {
        return value_or_throw(try_set_edge_group_policy(flow, downstream, policy));
    }
    expected<SetPolicyResult> try_set_edge_group_policy(const FlowId& flow,
                                                        const ExecutionId& downstream,
                                                        const GroupPolicy& policy);
    /// No more members or edges: it ends when its members have ended.
    FlowStateResult seal_flow(const FlowId& id) { return value_or_throw(try_seal_flow(id)); }
    expected<FlowStateResult> try_seal_flow(const FlowId& id);
    /// Hands out no more members until resume_flow.
    FlowStateResult pause_flow(const FlowId& id) { return value_or_throw(try_pause_flow(id)); }
    expected<FlowStateResult> try_pause_flow(const FlowId& id);
    FlowStateResult resume_flow(const FlowId& id) { return value_or_throw(try_resume_flow(id)); }
    expected<FlowStateResult> try_resume_flow(const FlowId& id);
    CancelFlowResult cancel_flow(const FlowId& id, const std::string& reason) {
        return value_or_throw(try_cancel_flow({id, reason}));
    }
    /// With a `wait` until every member the policy is for has been reached, which only a large flow
    /// makes one notice. `timeout` when that takes longer; the cancellation stands.
    CancelFlowResult cancel_flow(const CancelFlow& op, std::chrono::milliseconds wait = {}) {
        return value_or_throw(try_cancel_flow(op, wait));
    }
    expected<CancelFlowResult> try_cancel_flow(const CancelFlow& op,
                                               std::chrono::milliseconds wait = {});
    /// Runs failed members again, and what was skipped because of them.
    RetryFlowResult retry_flow(const FlowId& id) { return value_or_throw(try_retry_flow({id})); }
    expected<RetryFlowResult> try_retry_flow(const RetryFlow& op);

    /// Everything about it; nothing when there is no such flow.
    std::optional<FlowSnapshot> inspect_flow(const FlowId& id) {
        return value_or_throw(try_inspect_flow(id));
    }
    expected<std::optional<FlowSnapshot>> try_inspect_flow(const FlowId& id);
    /// Waits until it has ended: one that is sealed ends with its members, any when it is
    /// cancelled. `timeout` when it has not by then.
    FlowSnapshot wait_flow(const FlowId& id, std::chrono::milliseconds timeout) {
        return value_or_throw(try_wait_flow(id, timeout));
    }
    expected<FlowSnapshot> try_wait_flow(const FlowId& id, std::chrono::milliseconds timeout);
    /// How many members are in which state.
    FlowSummary flow_summary(const FlowId& id) { return value_or_throw(try_flow_summary(id)); }
    expected<FlowSummary> try_flow_summary(const FlowId& id);
    /// The graph as it stands; FlowGraph draws it.
    FlowGraph flow_graph(const FlowId& id) { return value_or_throw(try_flow_graph(id)); }
    expected<FlowGraph> try_flow_graph(const FlowId& id);
    /// By id; those of one execution with a direction.
    std::vector<EdgeSnapshot> flow_edges(const ListEdges& op) {
        return value_or_throw(try_flow_edges(op));
    }
    expected<std::vector<EdgeSnapshot>> try_flow_edges(const ListEdges& op);
    void set_flow_tags(const FlowId& id, const Tags& tags) {
        value_or_throw(try_set_flow_tags(id, tags));
    }
    expected<CountResult> try_set_flow_tags(const FlowId& id, const Tags& tags);
    /// What the upstreams of an execution hand to it.
    Inputs inputs(const ExecutionId& id) { return value_or_throw(try_inputs(id)); }
    expected<Inputs> try_inputs(const ExecutionId& id);

    // ----------------------------------------------------------------------------- signals

    /// Delivers a signal, proved by the waitpoint's token.
    SignalResult signal(const DeliverSignal& op) { return value_or_throw(try_signal(op)); }
    expected<SignalResult> try_signal(const DeliverSignal& op);
    /// The answers `approved` and `rejected` of an operator, who needs no token.
    SignalResult approve(const ExecutionId& id, const WaitpointId& waitpoint,
                         const Approval& approval = {}) {
        return value_or_throw(try_answer(id, waitpoint, "approved", approval));
    }
    SignalResult reject(const ExecutionId& id, const WaitpointId& waitpoint,
                        const Approval& approval = {}) {
        return value_or_throw(try_answer(id, waitpoint, "rejected", approval));
    }
    expected<SignalResult> try_approve(const ExecutionId& id, const WaitpointId& waitpoint,
                                       const Approval& approval = {}) {
        return try_answer(id, waitpoint, "approved", approval);
    }
    expected<SignalResult> try_reject(const ExecutionId& id, const WaitpointId& waitpoint,
                                      const Approval& approval = {}) {
        return try_answer(id, waitpoint, "rejected", approval);
    }
    /// Any other answer.
    expected<SignalResult> try_answer(const ExecutionId& id, const WaitpointId& waitpoint,
                                      const std::string& signal_name,
                                      const Approval& approval = {});
    /// For a front end that takes signals from outside: compares the presented token with the
    /// stored one before it delivers. Needs the right to read tokens.
    std::expected<SignalResult, BridgeError> verify_and_deliver(const DeliverSignal& op);
    /// Ends a suspension, as an operator.
    StateResult resume(const ExecutionId& id, const std::string& actor = {}, DurationMs delay = 0) {
        return value_or_throw(try_resume(id, actor, delay));
    }
    expected<StateResult> try_resume(const ExecutionId& id, const std::string& actor = {},
                                     DurationMs delay = 0);
    /// Nothing when there is none of that id.
    std::optional<WaitpointInfo> find_waitpoint(const WaitpointId& id) {
        return value_or_throw(try_find_waitpoint(id));
    }
    expected<std::optional<WaitpointInfo>> try_find_waitpoint(const WaitpointId& id);
    /// Every time it has waited, oldest first.
    std::vector<SuspensionInfo> suspensions(const ExecutionId& id) {
        return value_or_throw(try_suspensions(id));
    }
    expected<std::vector<SuspensionInfo>> try_suspensions(const ExecutionId& id);

    // ------------------------------------------------------------------------------ limits

    /// One that is there stays as it is.
    CreateBudgetResult create_budget(const CreateBudget& op) {
        return value_or_throw(try_create_budget(op));
    }
    expected<CreateBudgetResult> try_create_budget(const CreateBudget& op);
    BudgetStatus budget(const BudgetId& id) { return value_or_throw(try_budget(id)); }
    expected<BudgetStatus> try_budget(const BudgetId& id);
    /// Counts what was consumed; a breach is an answer, not an error. Without a key it is not
    /// repeated when the connection fails.
    UsageResult report_usage(const BudgetId& id, const Amounts& amounts,
                             const std::string& dedup_key = {}) {
        return value_or_throw(try_report_usage(id, amounts, dedup_key));
    }
    expected<UsageResult> try_report_usage(const BudgetId& id, const Amounts& amounts,
                                           const std::string& dedup_key = {});
    ResetBudgetResult reset_budget(const BudgetId& id) {
        return value_or_throw(try_reset_budget(id));
    }
    expected<ResetBudgetResult> try_reset_budget(const BudgetId& id);
    /// Lets what it covers go on past its soft limits, until the next reset.
    ApproveBudgetResult approve_budget(const BudgetId& id, const std::string& actor = {}) {
        return value_or_throw(try_approve_budget(id, actor));
    }
    expected<ApproveBudgetResult> try_approve_budget(const BudgetId& id,
                                                     const std::string& actor = {});
    CreateQuotaResult create_quota(const CreateQuotaPolicy& op) {
        return value_or_throw(try_create_quota(op));
    }
    expected<CreateQuotaResult> try_create_quota(const CreateQuotaPolicy& op);

    // ----------------------------------------------------------------------------- streams

    /// What it says, over all its attempts, until it has ended; see ff/follow.h.
    [[nodiscard]] Following follow(const ExecutionId& id, FollowOptions options = {});
    /// One attempt, until its stream is closed.
    [[nodiscard]] Following follow(const ExecutionId& id, std::uint32_t attempt_index);
    /// The document that an attempt has made, the latest when none is named; nothing without one.
    std::optional<StreamSummary> summary(const ExecutionId& id,
                                         std::optional<std::uint32_t> attempt_index = {}) {
        return value_or_throw(try_summary(id, attempt_index));
    }
    expected<std::optional<StreamSummary>> try_summary(
        const ExecutionId& id, std::optional<std::uint32_t> attempt_index = {});

    // ------------------------------------------------------------------------------ events

    /// What happens, of one family, from a place on; an empty one is now. Of all namespaces, unless
    /// the filter names one. Keep the cursor of what you have handled, and go on from it.
    [[nodiscard]] std::unique_ptr<Subscription> subscribe(EventFamily family, EventCursor from = {},
                                                          EventFilter filter = {}) {
        return value_or_throw(try_subscribe(family, from, std::move(filter)));
    }
    expected<std::unique_ptr<Subscription>> try_subscribe(EventFamily family, EventCursor from = {},
                                                          EventFilter filter = {});

    // ------------------------------------------------------------------------------- lists
    // Of the client's namespace, unless the filter names another.

    Listing<ExecutionInfo> executions(SearchExecutions filter = {});
    Listing<FlowListItem> flows(ListFlows filter = {});
    /// By execution id.
    Listing<FlowMember> flow_members(const FlowId& flow, std::optional<PublicState> state = {});
    /// Its open waitpoints, by id.
    Listing<WaitpointInfo> pending_waitpoints(const ExecutionId& id);
    /// Those whose time runs out first at the head.
    Listing<SuspendedEntry> suspended(ListSuspended filter = {});
    /// Every signal it has accepted, oldest first.
    Listing<SignalInfo> signals(const ExecutionId& id, WithPayload payload = WithPayload::no);
    Listing<LaneInfo> lanes();
    /// The live ones.
    Listing<WorkerInfo> workers();
    /// Leases past their time at `as_of`; now when absent.
    Listing<ExpiredLease> expired_leases(std::optional<TimestampMs> as_of = {});

    // ------------------------------------------------------------------------------- admin

    /// A grant for one worker, which turns it into a lease: Worker::take.
    std::optional<Grant> claim_for_worker(ClaimForWorker op) {
        return value_or_throw(try_claim_for_worker(std::move(op)));
    }
    expected<std::optional<Grant>> try_claim_for_worker(ClaimForWorker op);
    /// The same for an execution whose worker has lost its lease.
    IssueReclaimGrantResult issue_reclaim_grant(const IssueReclaimGrant& op) {
        return value_or_throw(try_issue_reclaim_grant(op));
    }
    expected<IssueReclaimGrantResult> try_issue_reclaim_grant(const IssueReclaimGrant& op);
    /// Uses a reclaim grant. Refused here, before the grant is touched: a grant of another kind,
    /// execution or lane than `op` names (`invalid_input`), or past its time
    /// (`claim_grant_expired`).
    ReclaimResult claim_reclaimed(const Grant& grant, const ReclaimExecution& op) {
        return value_or_throw(try_claim_reclaimed(grant, op));
    }
    expected<ReclaimResult> try_claim_reclaimed(const Grant& grant, const ReclaimExecution& op);

    /// The token of an open waitpoint; nothing when there is none.
    std::optional<std::string> waitpoint_token(const ExecutionId& id,
                                               const WaitpointId& waitpoint) {
        return value_or_throw(try_waitpoint_token(id, waitpoint));
    }
    expected<std::optional<std::string>> try_waitpoint_token(const ExecutionId& id,
                                                             const WaitpointId& waitpoint);
    /// Installs the first key that signs tokens; never overwrites.
    SeedKeyResult seed_waitpoint_key(const SeedWaitpointKey& op) {
        return value_or_throw(try_seed_waitpoint_key(op));
    }
    expected<SeedKeyResult> try_seed_waitpoint_key(const SeedWaitpointKey& op);
    /// Signs with a new key from now on.
    RotateKeyResult rotate_waitpoint_key(const RotateWaitpointKey& op) {
        return value_or_throw(try_rotate_waitpoint_key(op));
    }
    expected<RotateKeyResult> try_rotate_waitpoint_key(const RotateWaitpointKey& op);
    KeyList waitpoint_keys() { return value_or_throw(try_waitpoint_keys()); }
    expected<KeyList> try_waitpoint_keys();

  private:
    struct Partitions;

    expected<PartitionCounts> partitions();
    expected<CreateExecution> prepare(const Submit& request);
    static expected<Submitted> submitted(const Submit& request, const ExecutionId& minted,
                                         expected<CreateResult> answer);

    // Fixed after construction.
    std::shared_ptr<Engine> engine_;
    ClientOptions options_;
    std::shared_ptr<Partitions> partitions_;  ///< asked for once, shared by copies
};

}  // namespace ff
