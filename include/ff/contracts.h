// Every operation of the engine as data, in one type: what may be asked, what may be answered.
//
// <ff/executions.h> has those on executions, <ff/workers.h> those on workers, lanes and the engine,
// <ff/flows.h> those on flows, <ff/suspension.h> those of waiting for signals, <ff/streams.h> those
// of attempt streams, <ff/events.h> and <ff/webhooks.h> those on events, <ff/limits.h> those of
// budgets and quotas.
#pragma once

#include <string_view>

#include <ff/events.h>
#include <ff/executions.h>
#include <ff/flows.h>
#include <ff/limits.h>
#include <ff/one_of.h>
#include <ff/streams.h>
#include <ff/suspension.h>
#include <ff/webhooks.h>
#include <ff/workers.h>

namespace ff {

/// Types of their own rather than names for the lists: a list of a hundred types would be part of
/// the name of every function that takes one, kilobytes each.
struct Request
    : OneOf<CreateExecution, Claim, ClaimForWorker, IssueClaimGrant, ClaimExecution,
            ClaimResumedExecution, IssueGrantAndClaim, IssueReclaimGrant, ReclaimExecution, Renew,
            Progress, Complete, Fail, CancelExecution, Delay, WaitChildren, Release,
            MarkLeaseExpiredIfDue, RevokeLease, ChangePriority, ReplayExecution, BlockExecution,
            UnblockExecution, SetExecutionTags, RemoveExecutionTag, SetLaneState, RegisterWorker,
            HeartbeatWorker, MarkWorkerDead, RunScanner, DescribeExecution, GetExecutionTag,
            GetExecutionNamespace, ReadExecutionInfo, ReadExecutionState, GetExecutionResult,
            ReadExecutionContext, ReadAttemptCounters, ListAttempts, ListExecutions,
            SearchExecutions, ListLanes, ListWorkers, ListExpiredLeases, ExplainExecution,
            ReadLeaseHistory, ReadCapabilities, ListScanners, ReadStoreReport, CreateFlow,
            AddExecutionToFlow, StageDependencyEdge, SetEdgeGroupPolicy, ApplyDependency,
            ApplyAllDependencies, ResolveDependency, PromoteExecution, CancelFlow, CancelFlowHeader,
            AckCancelMember, SetFlowTags, RemoveFlowTag, SubmitFlow, SealFlow, SpawnChildren,
            RetryFlow, PauseFlow, ResumeFlow, DescribeFlow, ListFlows, ListFlowMembers, ListEdges,
            DescribeEdge, ReadFlowSummary, GetFlowTag, EvaluateEligibility, ReadInputs,
            ReadFlowGraph, CreateWaitpoint, Suspend, CloseWaitpoint, DeliverSignal,
            DeliverApprovalSignal, ResumeExecution, ExpireSuspension, SeedWaitpointKey,
            RotateWaitpointKey, ListWaitpointKeys, ListPendingWaitpoints, FindWaitpoint,
            ReadWaitpointToken, ListSuspensions, ListSuspended, ListSignals, ObserveSignals,
            AppendFrames, ReadStream, TailStream, ReadStreamSummary, CreateBudget,
            UpdateBudgetLimits, ReportUsage, ReportUsageAdmin, RecordSpend, ReleaseBudget,
            ResetBudget, ApproveBudget, GetBudgetStatus, ListBudgets, ListSpend, AttachBudget,
            DetachBudget, CreateQuotaPolicy, UpdateQuotaPolicy, DeleteQuotaPolicy, ReadQuotaPolicy,
            ListQuotaPolicies, ListQuotaKeys, AttachQuota, DetachQuota, CheckAdmission,
            ReleaseAdmission, ReadEvents, ReadTimeline, CreateWebhook, ListWebhooks,
            DescribeWebhook, PauseWebhook, DeleteWebhook, ClaimWebhook, SettleWebhook> {
    using OneOf::OneOf;
};

struct Reply
    : OneOf<CreateResult, ClaimResult, ClaimForWorkerResult, Grant, ClaimedTask, OperatorLease,
            IssueReclaimGrantResult, ReclaimResult, RenewResult, Done, StateResult, FailResult,
            MarkLeaseExpiredResult, RevokeResult, BlockResult, CountResult, RegisterWorkerResult,
            HeartbeatResult, MarkWorkerDeadResult, ScannerResult, std::optional<ExecutionSnapshot>,
            ExecutionInfo, PublicState, std::optional<ExecutionResult>, ExecutionContext,
            AttemptCounters, std::vector<AttemptInfo>, ExecutionPage, SearchPage, LanePage,
            WorkerPage, ExpiredLeasePage, Explanation, std::vector<HistoryEntry>, Capabilities,
            std::vector<ScannerInfo>, StoreReport, CreateFlowResult, AddMemberResult,
            StageEdgeResult, SetPolicyResult, ApplyResult, ApplyAllResult, ResolveResult,
            CancelFlowResult, CancelFlowHeaderResult, SubmitFlowResult, FlowStateResult,
            SpawnResult, RetryFlowResult, std::optional<FlowSnapshot>, FlowPage, MemberPage,
            std::vector<EdgeSnapshot>, std::optional<EdgeSnapshot>, FlowSummary,
            std::optional<std::string>, EligibilityResult, InputsResult, FlowGraph, WaitpointTicket,
            SuspendResult, SignalResult, ExpireSuspensionResult, SeedKeyResult, RotateKeyResult,
            KeyList, WaitpointPage, std::optional<WaitpointInfo>, std::vector<SuspensionInfo>,
            SuspendedPage, SignalPage, std::vector<SignalInfo>, AppendResult, StreamPage,
            std::optional<StreamSummary>, CreateBudgetResult, UsageResult, ReleaseBudgetResult,
            ResetBudgetResult, ApproveBudgetResult, BudgetStatus, BudgetPage, SpendPage,
            AttachmentResult, CreateQuotaResult, std::optional<QuotaPolicyInfo>, QuotaPage,
            QuotaKeyPage, AdmissionResult, EventPage, CreateWebhookResult, WebhookPage,
            std::optional<WebhookInfo>, WebhookInfo, std::optional<WebhookErrand>> {
    using OneOf::OneOf;
};

using Response = expected<Reply>;

/// The name of the operation a request holds.
std::string_view operation_name(const Request& request);

}  // namespace ff
