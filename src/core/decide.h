// The state machine: one pure function per operation.
//
// decide(view, command, context) looks at the rows that reads(command) asked for and answers with
// a Decision: what to tell the caller and what to write. It does no I/O, reads no clock and keeps
// nothing; the same view, command and context give the same decision. Checks run in the order of
// spec 02, and the first that fails is the answer.
//
// Each operation has three functions:
//   validate  shape and limits of what the caller gave; needs no rows, runs on the caller's thread
//   reads     what must be loaded
//   decide    the decision
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>
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
Decision<Grant> decide(const Snapshot& view, const IssueClaimGrant& args, const Context& ctx);

expected<void> validate(ClaimExecution& args);
void reads(const ClaimExecution& args, ReadSet& set);
Decision<ClaimedTask> decide(const Snapshot& view, const ClaimExecution& args, const Context& ctx);

expected<void> validate(ClaimResumedExecution& args);
void reads(const ClaimResumedExecution& args, ReadSet& set);
Decision<ClaimedTask> decide(const Snapshot& view, const ClaimResumedExecution& args,
                             const Context& ctx);

expected<void> validate(IssueGrantAndClaim& args);
void reads(const IssueGrantAndClaim& args, ReadSet& set);
Decision<OperatorLease> decide(const Snapshot& view, const IssueGrantAndClaim& args,
                               const Context& ctx);

expected<void> validate(IssueReclaimGrant& args);
void reads(const IssueReclaimGrant& args, ReadSet& set);
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
};
void reads(const HandleDue& args, ReadSet& set);
/// Answers true if anything was due (a renewed lease's early timer finds nothing).
Decision<bool> decide(const Snapshot& view, const HandleDue& args, const Context& ctx);

// ------------------------------------------------------------------------------- operator changes

void reads(const ChangePriority& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const ChangePriority& args, const Context& ctx);

void reads(const ReplayExecution& args, ReadSet& set);
Decision<StateResult> decide(const Snapshot& view, const ReplayExecution& args, const Context& ctx);

expected<void> validate(BlockExecution& args);
void reads(const BlockExecution& args, ReadSet& set);
Decision<BlockResult> decide(const Snapshot& view, const BlockExecution& args, const Context& ctx);

void reads(const UnblockExecution& args, ReadSet& set);
Decision<Done> decide(const Snapshot& view, const UnblockExecution& args, const Context& ctx);

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

/// Operations whose shape cannot be wrong need no validate of their own.
template <class Op>
expected<void> validate(Op&) {
    return {};
}

}  // namespace ff::core
