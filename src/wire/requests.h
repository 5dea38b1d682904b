// Every operation's request, described once: where it lives is said here, what its members are
// called in requests.cc, by the describe_request() that FF_BIND declares.
//
// Three visitors are shown these members (request_visitor.h): RequestIn (a server reads),
// RequestOut (a client writes) and RequestSchema (the OpenAPI document). Members that are compared
// or limited only over HTTP say so there; everything else is the engine's to check.
#pragma once

#include <string_view>

#include <ff/contracts.h>

#include "wire/binding.h"
#include "wire/event_requests.h"
#include "wire/flow_requests.h"
#include "wire/limit_requests.h"
#include "wire/stream_requests.h"
#include "wire/suspension_requests.h"

namespace ff::wire {

/// Limits that only HTTP has (spec 07, and the rulings of the specification).
inline constexpr DurationMs lease_ttl_ms_min = 1'000;
inline constexpr DurationMs lease_ttl_ms_max = 3'600'000;
inline constexpr DurationMs block_ms_max = 30'000;
inline constexpr DurationMs liveness_ttl_ms_min = 1'000;
inline constexpr DurationMs liveness_ttl_ms_max = 3'600'000;
inline constexpr std::uint32_t poll_tasks_max = 64;
inline constexpr std::uint32_t page_items_max = 1'000;
inline constexpr std::size_t progress_message_bytes_max = 4'096;
inline constexpr std::size_t batch_creates_max = 1'000;
inline constexpr std::size_t batch_outcomes_max = 256;

FF_BIND(CreateExecution, post, "/v1/executions", large, "Create an execution")
FF_BIND(ListExecutions, get, "/v1/executions", control, "List the ids of a partition")
FF_BIND(SearchExecutions, get, "/v1/search/executions", control, "Find executions by filter")
FF_BIND(ReadExecutionInfo, get, "/v1/executions/{id}", control, "Read an execution")
FF_BIND(ReadExecutionState, get, "/v1/executions/{id}/state", control, "Read its public state")
FF_BIND(GetExecutionResult, get, "/v1/executions/{id}/result", control, "Read its result")
FF_BIND(CancelExecution, post, "/v1/executions/{id}/cancel", control, "Cancel an execution")
FF_BIND(ChangePriority, put, "/v1/executions/{id}/priority", control, "Change its priority")
FF_BIND(ReplayExecution, post, "/v1/executions/{id}/replay", control, "Run it again")
FF_BIND(RevokeLease, post, "/v1/leases/revoke", control, "Revoke a lease, if it is the named one")
FF_BIND(IssueReclaimGrant, post, "/v1/executions/{id}/reclaim", control, "Issue a reclaim grant")
FF_BIND(ClaimForWorker, post, "/v1/workers/{worker_id}/claim", control,
        "Issue a claim grant for the best execution")
FF_BIND(Claim, post, "/v1/workers/{worker_id}/poll", control, "Take work, waiting for it")
FF_BIND(ClaimExecution, post, "/v1/executions/{id}/claim", control, "Turn a grant into a lease")
FF_BIND(ClaimResumedExecution, post, "/v1/executions/{id}/claim", control,
        "Turn a resume grant into a lease")
FF_BIND(ReclaimExecution, post, "/v1/executions/{id}/claim-reclaimed", control,
        "Take over a lost lease with a grant")
FF_BIND(IssueClaimGrant, post, "/v1/executions/{id}/grant", control,
        "Issue a claim grant for this execution")
FF_BIND(IssueGrantAndClaim, post, "/v1/executions/{id}/claim-by-operator", control,
        "Take this execution, whoever could run it")
FF_BIND(Renew, post, "/v1/executions/{id}/attempts/{idx}/renew", control, "Renew a lease")
FF_BIND(Progress, post, "/v1/executions/{id}/attempts/{idx}/progress", control, "Tell how far")
FF_BIND(Complete, post, "/v1/executions/{id}/attempts/{idx}/complete", large, "End with success")
FF_BIND(Fail, post, "/v1/executions/{id}/attempts/{idx}/fail", control, "End with a failure")
FF_BIND(Delay, post, "/v1/executions/{id}/attempts/{idx}/delay", control, "Go on at a later time")
FF_BIND(WaitChildren, post, "/v1/executions/{id}/attempts/{idx}/wait-children", control,
        "Go on when the children have ended")
FF_BIND(Release, post, "/v1/executions/{id}/attempts/{idx}/release", control, "Give the work back")
FF_BIND(MarkLeaseExpiredIfDue, post, "/v1/executions/{id}/expire-lease", control,
        "Mark a lease whose time is over")
FF_BIND(BlockExecution, post, "/v1/executions/{id}/block", control, "Hold it back")
FF_BIND(UnblockExecution, post, "/v1/executions/{id}/unblock", control, "Let it go on")
FF_BIND(SetExecutionTags, put, "/v1/executions/{id}/tags", control, "Set tags")
FF_BIND(RemoveExecutionTag, delete_, "/v1/executions/{id}/tags/{key}", control, "Remove a tag")
FF_BIND(SetLaneState, put, "/v1/lanes/{lane}", control, "Pause, drain, disable or open a lane")
FF_BIND(RegisterWorker, post, "/v1/workers/{worker_id}/register", control, "Register a worker")
FF_BIND(HeartbeatWorker, post, "/v1/workers/{worker_id}/heartbeat", control,
        "Say that a worker is alive, and renew its leases")
FF_BIND(MarkWorkerDead, post, "/v1/workers/{worker_id}/dead", control, "Say that a worker is gone")
FF_BIND(RunScanner, post, "/v1/admin/scanners/{name}/run", control, "Run a background job now")
FF_BIND(DescribeExecution, get, "/v1/executions/{id}/describe", control, "All about an execution")
FF_BIND(GetExecutionTag, get, "/v1/executions/{id}/tags/{key}", control, "One of its tags")
FF_BIND(GetExecutionNamespace, get, "/v1/executions/{id}/namespace", control, "Whose it is")
FF_BIND(ReadExecutionContext, get, "/v1/executions/{id}/context", control, "What it was given")
FF_BIND(ReadAttemptCounters, get, "/v1/executions/{id}/attempt-counters", control,
        "How many attempts it had")
FF_BIND(ListAttempts, get, "/v1/executions/{id}/attempts", control, "Its attempts")
FF_BIND(ListLanes, get, "/v1/lanes", control, "Known lanes")
FF_BIND(ListWorkers, get, "/v1/workers", control, "Live workers")
FF_BIND(ListExpiredLeases, get, "/v1/leases/expired", control, "Leases past their time")
FF_BIND(ExplainExecution, get, "/v1/executions/{id}/why", control, "Why it is not running")
FF_BIND(ReadLeaseHistory, get, "/v1/executions/{id}/lease-history", control,
        "Who held it, and how it ended")
FF_BIND(ReadCapabilities, get, "/v1/capabilities", control, "What this server is and can do")
FF_BIND(ListScanners, get, "/v1/admin/scanners", control, "Background jobs and what they did")
FF_BIND(ReadStoreReport, get, "/v1/admin/store", control, "The store: size, schema, durability")

}  // namespace ff::wire
