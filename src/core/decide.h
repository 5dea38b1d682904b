// The state machine: one pure function per operation.
//
// decide(view, command, context) looks at the rows that reads(command) asked for and answers with
// a Decision: what to tell the caller and what to write. It does no I/O, reads no clock and keeps
// nothing; the same view, command and context give the same decision. Checks run in the order of
// spec 02, and the first that fails is the answer.
//
// Each operation has three functions:
//   validate  shape and limits of what the caller gave; needs no rows, runs on the caller's thread
//   reads     what must be loaded; reads_more: what must be loaded because of that
//   decide    the decision
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>
#include <ff/policy.h>

#include "core/changes.h"
#include "core/context.h"
#include "core/snapshot.h"

namespace ff::core {

// ---------------------------------------------------------------------------------------- create

/// A create with everything derived that needs no rows. The policy's fault, if any, is reported in
/// its turn: after the idempotency checks.
struct PreparedCreate {
    CreateExecution args;
    ExecutionId id;
    expected<Policy> policy;                 ///< a default Policy when none was given
    std::optional<std::string> policy_json;  ///< normalised, when one was given
    RouteKey route;
};

expected<PreparedCreate> prepare(CreateExecution args, const Settings& settings, IdSource& ids,
                                 TimestampMs now);
void reads(const PreparedCreate& command, ReadSet& set);
Decision<CreateResult> decide(const Snapshot& view, const PreparedCreate& command,
                              const Context& ctx);

// ------------------------------------------------------------------------------ claims and grants

/// Who takes a lease and on what terms.
struct Lessee {
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    DurationMs lease_ttl_ms = 30'000;
    std::optional<LeaseId> lease_id;
    std::optional<AttemptId> attempt_id;
};

expected<void> validate(Claim& args);
/// Hands a candidate (claimable, input loaded) to a worker: a new attempt, the interrupted one
/// resumed, or a lost one taken over. Answers nothing when the candidate turned out to be at its
/// reclaim cap; then it is ended.
Decision<std::optional<ClaimedTask>> decide_take(const Snapshot& view, const Execution& candidate,
                                                 const Lessee& lessee, const Context& ctx);

expected<void> validate(ClaimForWorker& args);
/// The same for a grant instead of a lease.
Decision<std::optional<Grant>> decide_grant(const Snapshot& view, const Execution& candidate,
                                            const ClaimForWorker& args, const Context& ctx);

expected<void> validate(IssueClaimGrant& args);
void reads(const IssueClaimGrant& args, ReadSet& set);
void reads_more(const Snapshot& view, const IssueClaimGrant& args, ReadSet& set);
Decision<Grant> decide(const Snapshot& view, const IssueClaimGrant& args, const Context& ctx);

expected<void> validate(ClaimExecution& args);
void reads(const ClaimExecution& args, ReadSet& set);
void reads_more(const Snapshot& view, const ClaimExecution& args, ReadSet& set);
Decision<ClaimedTask> decide(const Snapshot& view, const ClaimExecution& args, const Context& ctx);

expected<void> validate(ClaimResumedExecution& args);
void reads(const ClaimResumedExecution& args, ReadSet& set);
void reads_more(const Snapshot& view, const ClaimResumedExecution& args, ReadSet& set);
Decision<ClaimedTask> decide(const Snapshot& view, const ClaimResumedExecution& args,
                             const Context& ctx);

expected<void> validate(IssueGrantAndClaim& args);
void reads(const IssueGrantAndClaim& args, ReadSet& set);
void reads_more(const Snapshot& view, const IssueGrantAndClaim& args, ReadSet& set);
Decision<OperatorLease> decide(const Snapshot& view, const IssueGrantAndClaim& args,
                               const Context& ctx);

expected<void> validate(IssueReclaimGrant& args);
void reads(const IssueReclaimGrant& args, ReadSet& set);
void reads_more(const Snapshot& view, const IssueReclaimGrant& args, ReadSet& set);
Decision<IssueReclaimGrantResult> decide(const Snapshot& view, const IssueReclaimGrant& args,
                                         const Context& ctx);

expected<void> validate(ReclaimExecution& args);
void reads(const ReclaimExecution& args, ReadSet& set);
Decision<ReclaimResult> decide(const Snapshot& view, const ReclaimExecution& args,
                               const Context& ctx);

// ------------------------------------------------------------------------------------ while leased

expected<void> validate(Renew& args);
void reads(const Renew& args, ReadSet& set);
Decision<RenewResult> decide(const Snapshot& view, const Renew& args, const Context& ctx);

expected<void> validate(Progress& args);
void reads(const Progress& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const Progress& args, const Context& ctx);

expected<void> validate(Complete& args);
void reads(const Complete& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const Complete& args, const Context& ctx);

expected<void> validate(Fail& args);
void reads(const Fail& args, ReadSet& set);
Decision<FailResult> decide(const Snapshot& view, const Fail& args, const Context& ctx);

expected<void> validate(CancelExecution& args);
void reads(const CancelExecution& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const CancelExecution& args, const Context& ctx);

expected<void> validate(Delay& args);
void reads(const Delay& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const Delay& args, const Context& ctx);

expected<void> validate(WaitChildren& args);
void reads(const WaitChildren& args, ReadSet& set);
void reads_more(const Snapshot& view, const WaitChildren& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const WaitChildren& args, const Context& ctx);

expected<void> validate(Release& args);
void reads(const Release& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const Release& args, const Context& ctx);

// ------------------------------------------------------------------------- losing a lease, timers

void reads(const MarkLeaseExpiredIfDue& args, ReadSet& set);
Decision<MarkLeaseExpiredResult> decide(const Snapshot& view, const MarkLeaseExpiredIfDue& args,
                                        const Context& ctx);

expected<void> validate(RevokeLease& args);
void reads(const RevokeLease& args, ReadSet& set);
Decision<RevokeResult> decide(const Snapshot& view, const RevokeLease& args, const Context& ctx);

/// An armed timer fired: do whatever time has made due, and re-arm.
struct HandleDue {
    ExecutionId execution_id;
    /// An execution that goes takes no more frames with it. One that has more stays for now, and
    /// loses as many.
    std::uint64_t frames_max = frames_per_sweep;
};
void reads(const HandleDue& args, ReadSet& set);
void reads_more(const Snapshot& view, const HandleDue& args, ReadSet& set);
/// Answers true if anything was due (a renewed lease's early timer finds nothing).
Decision<bool> decide(const Snapshot& view, const HandleDue& args, const Context& ctx);

// ------------------------------------------------------------------------------- operator changes

void reads(const ChangePriority& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const ChangePriority& args, const Context& ctx);

void reads(const ReplayExecution& args, ReadSet& set);
void reads_more(const Snapshot& view, const ReplayExecution& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const ReplayExecution& args, const Context& ctx);

expected<void> validate(BlockExecution& args);
void reads(const BlockExecution& args, ReadSet& set);
Decision<BlockResult> decide(const Snapshot& view, const BlockExecution& args, const Context& ctx);

void reads(const UnblockExecution& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const UnblockExecution& args, const Context& ctx);

/// One that was blocked for a budget or quota by name: is it over? What would be admitted is made
/// eligible; nothing is taken. Answers whether it was.
struct UnblockIfAdmitted {
    ExecutionId execution_id;
};
void reads(const UnblockIfAdmitted& args, ReadSet& set);
void reads_more(const Snapshot& view, const UnblockIfAdmitted& args, ReadSet& set);
Decision<bool> decide(const Snapshot& view, const UnblockIfAdmitted& args, const Context& ctx);

/// Mends what a row says of itself that follows from the rest: its label, its lane in the registry,
/// its count of attempts, a lease of which parts are lost. Answers whether anything was mended.
struct RepairExecution {
    ExecutionId execution_id;
    TimestampMs seen_at_mutation = 0;            ///< as of then; one that has changed is left
    std::vector<std::uint32_t> attempt_indexes;  ///< of all its attempt rows, ascending
};
void reads(const RepairExecution& args, ReadSet& set);
void reads_more(const Snapshot& view, const RepairExecution& args, ReadSet& set);
Decision<bool> decide(const Snapshot& view, const RepairExecution& args, const Context& ctx);

expected<void> validate(SetExecutionTags& args);
void reads(const SetExecutionTags& args, ReadSet& set);
Decision<CountResult> decide(const Snapshot& view, const SetExecutionTags& args,
                             const Context& ctx);

expected<void> validate(RemoveExecutionTag& args);
void reads(const RemoveExecutionTag& args, ReadSet& set);
Decision<CountResult> decide(const Snapshot& view, const RemoveExecutionTag& args,
                             const Context& ctx);

expected<void> validate(SetLaneState& args);
void reads(const SetLaneState& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const SetLaneState& args, const Context& ctx);

// --------------------------------------------------------------------------------- worker registry

expected<void> validate(RegisterWorker& args);
void reads(const RegisterWorker& args, ReadSet& set);
Decision<RegisterWorkerResult> decide(const Snapshot& view, const RegisterWorker& args,
                                      const Context& ctx);

expected<void> validate(HeartbeatWorker& args);
void reads(const HeartbeatWorker& args, ReadSet& set);
Decision<HeartbeatResult> decide(const Snapshot& view, const HeartbeatWorker& args,
                                 const Context& ctx);

expected<void> validate(MarkWorkerDead& args);
void reads(const MarkWorkerDead& args, ReadSet& set);
Decision<MarkWorkerDeadResult> decide(const Snapshot& view, const MarkWorkerDead& args,
                                      const Context& ctx);

/// A worker whose heartbeat ran out long enough ago to be forgotten.
struct SweepWorker {
    WorkerKey key;
};
void reads(const SweepWorker& args, ReadSet& set);
Decision<bool> decide(const Snapshot& view, const SweepWorker& args, const Context& ctx);

// ------------------------------------------------------------------------------------------- flows

expected<void> validate(CreateFlow& args);
void reads(const CreateFlow& args, ReadSet& set);
Decision<CreateFlowResult> decide(const Snapshot& view, const CreateFlow& args, const Context& ctx);

void reads(const AddExecutionToFlow& args, ReadSet& set);
void reads_more(const Snapshot& view, const AddExecutionToFlow& args, ReadSet& set);
Decision<AddMemberResult> decide(const Snapshot& view, const AddExecutionToFlow& args,
                                 const Context& ctx);

expected<void> validate(StageDependencyEdge& args);
void reads(const StageDependencyEdge& args, ReadSet& set);
void reads_more(const Snapshot& view, const StageDependencyEdge& args, ReadSet& set);
Decision<StageEdgeResult> decide(const Snapshot& view, const StageDependencyEdge& args,
                                 const Context& ctx);

expected<void> validate(SetEdgeGroupPolicy& args);
void reads(const SetEdgeGroupPolicy& args, ReadSet& set);
void reads_more(const Snapshot& view, const SetEdgeGroupPolicy& args, ReadSet& set);
Decision<SetPolicyResult> decide(const Snapshot& view, const SetEdgeGroupPolicy& args,
                                 const Context& ctx);

void reads(const ApplyDependency& args, ReadSet& set);
void reads_more(const Snapshot& view, const ApplyDependency& args, ReadSet& set);
Decision<ApplyResult> decide(const Snapshot& view, const ApplyDependency& args, const Context& ctx);

void reads(const ApplyAllDependencies& args, ReadSet& set);
void reads_more(const Snapshot& view, const ApplyAllDependencies& args, ReadSet& set);
Decision<ApplyAllResult> decide(const Snapshot& view, const ApplyAllDependencies& args,
                                const Context& ctx);

expected<void> validate(ResolveDependency& args);
void reads(const ResolveDependency& args, ReadSet& set);
void reads_more(const Snapshot& view, const ResolveDependency& args, ReadSet& set);
Decision<ResolveResult> decide(const Snapshot& view, const ResolveDependency& args,
                               const Context& ctx);

void reads(const PromoteExecution& args, ReadSet& set);
void reads_more(const Snapshot& view, const PromoteExecution& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const PromoteExecution& args, const Context& ctx);

void reads(const SealFlow& args, ReadSet& set);
void reads_more(const Snapshot& view, const SealFlow& args, ReadSet& set);
Decision<FlowStateResult> decide(const Snapshot& view, const SealFlow& args, const Context& ctx);

void reads(const PauseFlow& args, ReadSet& set);
Decision<FlowStateResult> decide(const Snapshot& view, const PauseFlow& args, const Context& ctx);

void reads(const ResumeFlow& args, ReadSet& set);
Decision<FlowStateResult> decide(const Snapshot& view, const ResumeFlow& args, const Context& ctx);

expected<void> validate(SetFlowTags& args);
void reads(const SetFlowTags& args, ReadSet& set);
Decision<CountResult> decide(const Snapshot& view, const SetFlowTags& args, const Context& ctx);

expected<void> validate(RemoveFlowTag& args);
void reads(const RemoveFlowTag& args, ReadSet& set);
Decision<CountResult> decide(const Snapshot& view, const RemoveFlowTag& args, const Context& ctx);

expected<void> validate(CancelFlow& args);
void reads(const CancelFlow& args, ReadSet& set);
void reads_more(const Snapshot& view, const CancelFlow& args, ReadSet& set);
Decision<CancelFlowResult> decide(const Snapshot& view, const CancelFlow& args, const Context& ctx);

expected<void> validate(CancelFlowHeader& args);
void reads(const CancelFlowHeader& args, ReadSet& set);
void reads_more(const Snapshot& view, const CancelFlowHeader& args, ReadSet& set);
Decision<CancelFlowHeaderResult> decide(const Snapshot& view, const CancelFlowHeader& args,
                                        const Context& ctx);

void reads(const AckCancelMember& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const AckCancelMember& args, const Context& ctx);

void reads(const RetryFlow& args, ReadSet& set);
void reads_more(const Snapshot& view, const RetryFlow& args, ReadSet& set);
Decision<RetryFlowResult> decide(const Snapshot& view, const RetryFlow& args, const Context& ctx);

/// A graph with everything checked and derived that needs no rows. Nodes are executions in an order
/// in which upstreams come first; edges name them by their place there.
struct PreparedGraph {
    struct Node {
        std::string name;
        PreparedCreate create;
        GroupPolicy policy;
        std::uint64_t inbound = 0;
    };
    struct Link {
        std::size_t from = 0;  ///< `caller`: the execution that spawns
        std::size_t to = 0;
        EdgeId id;
        DependencyKind kind = DependencyKind::success_only;
        std::optional<std::string> data_passing_ref;
        std::optional<std::string> when;
    };
    static constexpr std::size_t caller = static_cast<std::size_t>(-1);

    std::vector<Node> nodes;
    std::vector<Link> links;
};

struct PreparedSubmit {
    SubmitFlow args;  ///< without its nodes and edges
    FlowId flow_id;
    PreparedGraph graph;
};
expected<PreparedSubmit> prepare(SubmitFlow args, const Settings& settings, IdSource& ids,
                                 TimestampMs now);
void reads(const PreparedSubmit& command, ReadSet& set);
void reads_more(const Snapshot& view, const PreparedSubmit& command, ReadSet& set);
Decision<SubmitFlowResult> decide(const Snapshot& view, const PreparedSubmit& command,
                                  const Context& ctx);

struct PreparedSpawn {
    LeaseRef lease;
    PreparedGraph graph;
};
expected<PreparedSpawn> prepare(SpawnChildren args, const Settings& settings, IdSource& ids,
                                TimestampMs now);
void reads(const PreparedSpawn& command, ReadSet& set);
void reads_more(const Snapshot& view, const PreparedSpawn& command, ReadSet& set);
Decision<SpawnResult> decide(const Snapshot& view, const PreparedSpawn& command,
                             const Context& ctx);

// -------------------------------------------------------------------------------------- suspension

expected<void> validate(CreateWaitpoint& args);
void reads(const CreateWaitpoint& args, ReadSet& set);
Decision<WaitpointTicket> decide(const Snapshot& view, const CreateWaitpoint& args,
                                 const Context& ctx);

expected<void> validate(CloseWaitpoint& args);
void reads(const CloseWaitpoint& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const CloseWaitpoint& args, const Context& ctx);

/// Ids and keys the caller left out have been filled in (core/condition_rules.h).
expected<void> validate(Suspend& args);
void reads(const Suspend& args, ReadSet& set);
void reads_more(const Snapshot& view, const Suspend& args, ReadSet& set);
Decision<SuspendResult> decide(const Snapshot& view, const Suspend& args, const Context& ctx);

/// The id of the signal has been filled in.
expected<void> validate(DeliverSignal& args);
void reads(const DeliverSignal& args, ReadSet& set);
void reads_more(const Snapshot& view, const DeliverSignal& args, ReadSet& set);
Decision<SignalResult> decide(const Snapshot& view, const DeliverSignal& args, const Context& ctx);

expected<void> validate(DeliverApprovalSignal& args);
void reads(const DeliverApprovalSignal& args, ReadSet& set);
void reads_more(const Snapshot& view, const DeliverApprovalSignal& args, ReadSet& set);
Decision<SignalResult> decide(const Snapshot& view, const DeliverApprovalSignal& args,
                              const Context& ctx);

expected<void> validate(ResumeExecution& args);
void reads(const ResumeExecution& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const ResumeExecution& args, const Context& ctx);

void reads(const ExpireSuspension& args, ReadSet& set);
Decision<ExpireSuspensionResult> decide(const Snapshot& view, const ExpireSuspension& args,
                                        const Context& ctx);

expected<void> validate(SeedWaitpointKey& args);
void reads(const SeedWaitpointKey& args, ReadSet& set);
Decision<SeedKeyResult> decide(const Snapshot& view, const SeedWaitpointKey& args,
                               const Context& ctx);

/// How many waitpoints outlive the grace is not known here: the engine adds it to the answer.
expected<void> validate(RotateWaitpointKey& args);
void reads(const RotateWaitpointKey& args, ReadSet& set);
Decision<RotateKeyResult> decide(const Snapshot& view, const RotateWaitpointKey& args,
                                 const Context& ctx);

/// Seals the secrets that rest as they are, when the keystore seals: those of tokens, and those of
/// these webhooks.
struct SealSecrets {
    std::vector<WebhookId> webhooks;
};
void reads(const SealSecrets& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const SealSecrets& args, const Context& ctx);

/// Operations whose shape cannot be wrong need no validate of their own.
template <class Op>
expected<void> validate(Op&) {
    return {};
}
/// What must be loaded because of what was loaded; called again until it asks for nothing. Most
/// operations know at once what they need.
template <class Op>
void reads_more(const Snapshot&, const Op&, ReadSet&) {}

// --------------------------------------------------------------------------------------- streams

/// Frames whose patches have been read on the thread of the caller, so that the writer need not.
struct PreparedAppend {
    AppendFrames args;
    /// Of each frame; empty when none is a patch. What is wrong with one is told in its turn.
    std::vector<expected<js::Value>> patches;
};
expected<void> validate(AppendFrames& args);
expected<PreparedAppend> prepare(AppendFrames args);
void reads(const PreparedAppend& command, ReadSet& set);
void reads_more(const Snapshot& view, const PreparedAppend& command, ReadSet& set);
Decision<AppendResult> decide(const Snapshot& view, const PreparedAppend& command,
                              const Context& ctx);

// -------------------------------------------------------------------------------------- webhooks

/// `webhook_id` and `cursor` are given: who calls has found a place for `now` and `earliest`.
expected<void> validate(CreateWebhook& args);
void reads(const CreateWebhook& args, ReadSet& set);
Decision<CreateWebhookResult> decide(const Snapshot& view, const CreateWebhook& args,
                                     const Context& ctx);
void reads(const PauseWebhook& args, ReadSet& set);
Decision<WebhookInfo> decide(const Snapshot& view, const PauseWebhook& args, const Context& ctx);
void reads(const DeleteWebhook& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const DeleteWebhook& args, const Context& ctx);
expected<void> validate(ClaimWebhook& args);
void reads(const ClaimWebhook& args, ReadSet& set);
Decision<std::optional<WebhookErrand>> decide(const Snapshot& view, const ClaimWebhook& args,
                                              const Context& ctx);
expected<void> validate(SettleWebhook& args);
void reads(const SettleWebhook& args, ReadSet& set);
Decision<WebhookInfo> decide(const Snapshot& view, const SettleWebhook& args, const Context& ctx);

// -------------------------------------------------------------------------- streams, from inside

/// Time has come to look at a stream: best-effort frames that nobody reads any more go, and the
/// whole of it when it was closed long enough ago. What is too much at once stays due.
struct SweepStream {
    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    std::uint64_t frames_max = frames_per_sweep;
};
struct SweptStream {
    bool swept = false;  ///< something went
    std::uint64_t frames = 0;

    bool operator==(const SweptStream&) const = default;
};
void reads(const SweepStream& args, ReadSet& set);
void reads_more(const Snapshot& view, const SweepStream& args, ReadSet& set);
Decision<SweptStream> decide(const Snapshot& view, const SweepStream& args, const Context& ctx);

// ------------------------------------------------------------------------------------------ limits

expected<void> validate(CreateBudget& args);
void reads(const CreateBudget& args, ReadSet& set);
Decision<CreateBudgetResult> decide(const Snapshot& view, const CreateBudget& args,
                                    const Context& ctx);

expected<void> validate(UpdateBudgetLimits& args);
void reads(const UpdateBudgetLimits& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const UpdateBudgetLimits& args, const Context& ctx);

expected<void> validate(ReportUsage& args);
void reads(const ReportUsage& args, ReadSet& set);
void reads_more(const Snapshot& view, const ReportUsage& args, ReadSet& set);
Decision<UsageResult> decide(const Snapshot& view, const ReportUsage& args, const Context& ctx);

expected<void> validate(ReportUsageAdmin& args);
void reads(const ReportUsageAdmin& args, ReadSet& set);
Decision<UsageResult> decide(const Snapshot& view, const ReportUsageAdmin& args,
                             const Context& ctx);

expected<void> validate(RecordSpend& args);
void reads(const RecordSpend& args, ReadSet& set);
Decision<UsageResult> decide(const Snapshot& view, const RecordSpend& args, const Context& ctx);

expected<void> validate(ReleaseBudget& args);
void reads(const ReleaseBudget& args, ReadSet& set);
Decision<ReleaseBudgetResult> decide(const Snapshot& view, const ReleaseBudget& args,
                                     const Context& ctx);

expected<void> validate(ApproveBudget& args);
void reads(const ApproveBudget& args, ReadSet& set);
Decision<ApproveBudgetResult> decide(const Snapshot& view, const ApproveBudget& args,
                                     const Context& ctx);
expected<void> validate(ResetBudget& args);
void reads(const ResetBudget& args, ReadSet& set);
Decision<ResetBudgetResult> decide(const Snapshot& view, const ResetBudget& args,
                                   const Context& ctx);

expected<void> validate(AttachBudget& args);
void reads(const AttachBudget& args, ReadSet& set);
Decision<AttachmentResult> decide(const Snapshot& view, const AttachBudget& args,
                                  const Context& ctx);

expected<void> validate(DetachBudget& args);
void reads(const DetachBudget& args, ReadSet& set);
void reads_more(const Snapshot& view, const AttachQuota& args, ReadSet& set);
void reads_more(const Snapshot& view, const CheckAdmission& args, ReadSet& set);
void reads_more(const Snapshot& view, const ReleaseAdmission& args, ReadSet& set);
void reads_more(const Snapshot& view, const DetachBudget& args, ReadSet& set);
Decision<AttachmentResult> decide(const Snapshot& view, const DetachBudget& args,
                                  const Context& ctx);

expected<void> validate(CreateQuotaPolicy& args);
void reads(const CreateQuotaPolicy& args, ReadSet& set);
Decision<CreateQuotaResult> decide(const Snapshot& view, const CreateQuotaPolicy& args,
                                   const Context& ctx);

expected<void> validate(UpdateQuotaPolicy& args);
void reads(const UpdateQuotaPolicy& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const UpdateQuotaPolicy& args, const Context& ctx);

expected<void> validate(DeleteQuotaPolicy& args);
void reads(const DeleteQuotaPolicy& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const DeleteQuotaPolicy& args, const Context& ctx);

expected<void> validate(AttachQuota& args);
void reads(const AttachQuota& args, ReadSet& set);
Decision<AttachmentResult> decide(const Snapshot& view, const AttachQuota& args,
                                  const Context& ctx);

expected<void> validate(DetachQuota& args);
void reads(const DetachQuota& args, ReadSet& set);
void reads_more(const Snapshot& view, const DetachQuota& args, ReadSet& set);
Decision<AttachmentResult> decide(const Snapshot& view, const DetachQuota& args,
                                  const Context& ctx);

expected<void> validate(CheckAdmission& args);
void reads(const CheckAdmission& args, ReadSet& set);
Decision<AdmissionResult> decide(const Snapshot& view, const CheckAdmission& args,
                                 const Context& ctx);

expected<void> validate(ReleaseAdmission& args);
void reads(const ReleaseAdmission& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const ReleaseAdmission& args, const Context& ctx);

/// The time of a limit has come: a reset, somebody who may go on, something to cancel.
struct LimitDue {
    std::uint64_t handled = 0;          ///< what was done
    std::optional<FlowId> cancel_flow;  ///< to be cancelled next, with all its members
    std::string cancel_reason;
};
struct HandleBudgetDue {
    BudgetId budget_id;
};
void reads(const HandleBudgetDue& args, ReadSet& set);
void reads_more(const Snapshot& view, const HandleBudgetDue& args, ReadSet& set);
Decision<LimitDue> decide(const Snapshot& view, const HandleBudgetDue& args, const Context& ctx);

struct HandleQuotaDue {
    QuotaPolicyId quota_policy_id;
    bool offers_lapse = false;
};
void reads(const HandleQuotaDue& args, ReadSet& set);
void reads_more(const Snapshot& view, const HandleQuotaDue& args, ReadSet& set);
Decision<LimitDue> decide(const Snapshot& view, const HandleQuotaDue& args, const Context& ctx);

}  // namespace ff::core
