// What waits for the writer: a checked command and where its answer goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <ff/engine.h>

#include "core/decide.h"
#include "engine/event_families.h"

namespace ff::engine {

/// Everything the writer can be asked to do.
struct Command
    : OneOf<core::PreparedCreate, Claim, ClaimForWorker, IssueClaimGrant, ClaimExecution,
            ClaimResumedExecution, IssueGrantAndClaim, IssueReclaimGrant, ReclaimExecution, Renew,
            Progress, Complete, Fail, CancelExecution, Delay, WaitChildren, Release,
            MarkLeaseExpiredIfDue, RevokeLease, ChangePriority, ReplayExecution, BlockExecution,
            UnblockExecution, SetExecutionTags, RemoveExecutionTag, SetLaneState, RegisterWorker,
            HeartbeatWorker, MarkWorkerDead, RunScanner, core::PreparedSubmit, core::PreparedSpawn,
            CreateFlow, AddExecutionToFlow, StageDependencyEdge, SetEdgeGroupPolicy,
            ApplyDependency, ApplyAllDependencies, ResolveDependency, PromoteExecution, CancelFlow,
            CancelFlowHeader, AckCancelMember, SetFlowTags, RemoveFlowTag, SealFlow, RetryFlow,
            PauseFlow, ResumeFlow, Suspend, DeliverSignal, DeliverApprovalSignal, CreateWaitpoint,
            CloseWaitpoint, ResumeExecution, ExpireSuspension, SeedWaitpointKey, RotateWaitpointKey,
            core::SealSecrets, core::PreparedAppend, CreateBudget, UpdateBudgetLimits, ReportUsage,
            ReportUsageAdmin, RecordSpend, ReleaseBudget, ResetBudget, ApproveBudget, AttachBudget,
            DetachBudget, CreateQuotaPolicy, UpdateQuotaPolicy, DeleteQuotaPolicy, AttachQuota,
            DetachQuota, CheckAdmission, ReleaseAdmission, CreateWebhook, PauseWebhook,
            DeleteWebhook, ClaimWebhook, SettleWebhook> {
    using OneOf::OneOf;
    Command(OneOf&& list) noexcept : OneOf(std::move(list)) {}  // NOLINT: what adopt() gives
};

using DoneFn = Engine::DoneFn;

/// A command with the call that wants its answer.
struct Pending {
    Command command;
    DoneFn done;
    std::size_t bytes = 0;
    std::optional<TimestampMs> deadline;  ///< of a claim that may wait; set when it is first seen
    bool no_room = false;      ///< a claim that would wait, but as many as may are waiting already
    std::uint64_t number = 0;  ///< of a claim that may be abandoned
    /// Tells the writer when it is.
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_abandon;
    std::uint64_t ticket = 0;  ///< of the run that had it alone: a failure there is its own
    std::size_t weight = 1;    ///< as work of the writer: about so many plain commands
};

/// A command and its answer, which may be given once the batch is durable.
struct Outcome {
    Pending pending;
    Response response;
};

/// What a batch has written, for those who wait to read it or keep copies.
struct Changed {
    std::vector<ExecutionId> executions;  ///< changed by themselves or in a stream
    EventFamilies families;               ///< that got events
    bool routes = false;                  ///< there are new ones

    [[nodiscard]] bool empty() const { return executions.empty() && families.empty() && !routes; }
    void add(Changed others) {
        if (executions.empty()) {
            executions = std::move(others.executions);
        } else {
            executions.insert(executions.end(), others.executions.begin(), others.executions.end());
        }
        families.add(others.families);
        routes = routes || others.routes;
    }
};

/// Commands that take the best execution there is, rather than a named one. They run after the
/// others of their batch, so that they see what these made ready.
inline bool takes_any(const Command& command) {
    return ff::holds_alternative<Claim>(command) || ff::holds_alternative<ClaimForWorker>(command);
}

}  // namespace ff::engine
