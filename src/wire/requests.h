// Every operation's request, described once: where it lives and what its members are called.
//
// describe_request(visitor, operation) is run by three visitors: RequestIn (a server reads),
// RequestOut
// (a client writes) and RequestSchema (the OpenAPI document). Members that are compared or limited
// only over HTTP say so here; everything else is the engine's to check.
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

// ------------------------------------------------------------------------------- the descriptions

template <class V>
void describe_request(V& v, CreateExecution& op) {
    v.optional("execution_id", op.execution_id);
    v.required("namespace", op.ns);
    v.lane("lane_id", op.lane_id);
    v.required("execution_kind", op.execution_kind);
    v.bytes("input_payload", op.input_payload);
    v.optional("payload_encoding", op.payload_encoding);
    v.defaulted("priority", op.priority);
    v.defaulted("creator_identity", op.creator_identity);
    v.optional("idempotency_key", op.idempotency_key);
    v.defaulted("tags", op.tags);
    v.document("policy", op.policy);
    v.optional("delay_until", op.delay_until);
    v.optional("execution_deadline_at", op.execution_deadline_at);
    v.optional("partition_id", op.partition_id);
}

template <class V>
void describe_request(V& v, ListExecutions& op) {
    v.query("partition", op.partition);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 50);
}

template <class V>
void describe_request(V& v, SearchExecutions& op) {
    v.query_optional("namespace", op.ns);
    v.query_optional("lane", op.lane_id);
    v.query_optional("kind", op.kind);
    v.query_optional("flow", op.flow_id);
    v.query_each("state", op.states);
    v.query_tags(op.tags);
    v.query_optional("created_after", op.created_after);
    v.query_optional("created_before", op.created_before);
    v.query_order(op.oldest_first);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

/// Reads of one execution that take nothing but its id.
template <class V, class Op>
    requires(std::is_same_v<Op, ReadExecutionInfo> || std::is_same_v<Op, ReadExecutionState> ||
             std::is_same_v<Op, GetExecutionResult> || std::is_same_v<Op, DescribeExecution> ||
             std::is_same_v<Op, ReadExecutionContext> || std::is_same_v<Op, ReadAttemptCounters> ||
             std::is_same_v<Op, ListAttempts> || std::is_same_v<Op, ExplainExecution> ||
             std::is_same_v<Op, GetExecutionNamespace> || std::is_same_v<Op, ReplayExecution> ||
             std::is_same_v<Op, MarkLeaseExpiredIfDue>)
void describe_request(V& v, Op& op) {
    v.id(op.execution_id);
}

template <class V>
void describe_request(V& v, ReadLeaseHistory& op) {
    v.id(op.execution_id);
    v.query_limit(op.limit, 1000);
}

template <class V>
void describe_request(V& v, CancelExecution& op) {
    v.id(op.lease.execution_id);
    v.required("reason", op.reason);
    v.defaulted("source", op.source);
    v.optional("lease_id", op.lease.lease_id);
    v.optional("lease_epoch", op.lease.lease_epoch);
    v.optional("attempt_id", op.lease.attempt_id);
    v.optional("attempt_index", op.lease.attempt_index);
    v.backend(op.lease.backend);
}

template <class V>
void describe_request(V& v, ChangePriority& op) {
    v.id(op.execution_id);
    v.required("new_priority", op.new_priority);
}

template <class V>
void describe_request(V& v, RevokeLease& op) {
    v.required("execution_id", op.execution_id);
    v.optional("expected_lease_id", op.expected_lease_id);
    v.optional("worker_instance_id", op.worker_instance_id);
    v.defaulted("reason", op.reason);
}

template <class V, class Op>
void describe_grant_audit(V& v, Op& op) {
    v.optional("capability_hash", op.capability_hash);
    v.optional("route_snapshot_json", op.route_snapshot_json);
    v.optional("admission_summary", op.admission_summary);
}

template <class V>
void describe_request(V& v, IssueReclaimGrant& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("worker_capabilities", op.worker_capabilities);
    describe_grant_audit(v, op);
}

template <class V>
void describe_request(V& v, ClaimForWorker& op) {
    v.path("worker_id", op.worker_id);
    v.lane("lane_id", op.lane_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("capabilities", op.capabilities);
    v.optional("namespace", op.ns);
}

template <class V>
void describe_request(V& v, Claim& op) {
    v.path("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lanes("lanes", op.lanes);
    v.optional("namespace", op.ns);
    v.defaulted("capabilities", op.capabilities);
    v.ranged("max_tasks", op.max_tasks, 1, poll_tasks_max);
    v.ranged("lease_ttl_ms", op.lease_ttl_ms, lease_ttl_ms_min, lease_ttl_ms_max);
    v.ranged("block_ms", op.max_wait_ms, 0, block_ms_max);
    v.defaulted("kinds", op.kinds);
}

template <class V, class Op>
void describe_lessee(V& v, Op& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.ranged("lease_ttl_ms", op.lease_ttl_ms, lease_ttl_ms_min, lease_ttl_ms_max);
    v.optional("lease_id", op.lease_id);
}

template <class V>
void describe_request(V& v, ClaimExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.optional("attempt_id", op.attempt_id);
    v.constant("kind", "claim");
}

template <class V>
void describe_request(V& v, ClaimResumedExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.constant("kind", "resume");
}

template <class V>
void describe_request(V& v, ReclaimExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.optional("attempt_id", op.attempt_id);
    v.optional("max_reclaim_count", op.max_reclaim_count);
}

template <class V>
void describe_request(V& v, IssueClaimGrant& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("capabilities", op.capabilities);
    describe_grant_audit(v, op);
}

template <class V>
void describe_request(V& v, IssueGrantAndClaim& op) {
    v.id(op.execution_id);
    v.lane("lane_id", op.lane_id);
    v.ranged("lease_duration_ms", op.lease_duration_ms, lease_ttl_ms_min, lease_ttl_ms_max);
}

template <class V>
void describe_request(V& v, Renew& op) {
    v.lease(op.lease);
    v.optional_ranged("lease_ttl_ms", op.lease_ttl_ms, lease_ttl_ms_min, lease_ttl_ms_max);
}

template <class V>
void describe_request(V& v, Progress& op) {
    v.lease(op.lease);
    v.optional_ranged("percent", op.percent, 0, 100);
    v.optional_text("message", op.message, progress_message_bytes_max);
}

template <class V>
void describe_request(V& v, Complete& op) {
    v.lease(op.lease);
    v.optional_bytes("result_payload", op.result_payload);
    v.optional("result_encoding", op.result_encoding);
    v.source(op.source);
}

template <class V>
void describe_request(V& v, Fail& op) {
    v.lease(op.lease);
    v.required("failure_reason", op.failure_reason);
    v.required("failure_category", op.failure_category);
    v.source(op.source);
}

template <class V>
void describe_request(V& v, Delay& op) {
    v.lease(op.lease);
    v.required("delay_until", op.delay_until);
    v.source(op.source);
}

template <class V>
void describe_request(V& v, WaitChildren& op) {
    v.lease(op.lease);
    v.source(op.source);
}

template <class V>
void describe_request(V& v, Release& op) {
    v.lease(op.lease);
}

template <class V>
void describe_request(V& v, BlockExecution& op) {
    v.id(op.execution_id);
    v.required("reason", op.reason);
    v.optional("detail", op.detail);
}

template <class V>
void describe_request(V& v, UnblockExecution& op) {
    v.id(op.execution_id);
    v.optional("expected_reason", op.expected_reason);
}

template <class V>
void describe_request(V& v, SetExecutionTags& op) {
    v.id(op.execution_id);
    v.required("tags", op.tags);
}

template <class V, class Op>
    requires(std::is_same_v<Op, GetExecutionTag> || std::is_same_v<Op, RemoveExecutionTag>)
void describe_request(V& v, Op& op) {
    v.id(op.execution_id);
    v.path("key", op.key);
}

template <class V>
void describe_request(V& v, SetLaneState& op) {
    v.path("lane", op.lane_id);
    v.required("state", op.state);
}

template <class V>
void describe_request(V& v, RegisterWorker& op) {
    v.path("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
    v.lanes("lanes", op.lanes);
    v.defaulted("capabilities", op.capabilities);
    v.required_ranged("liveness_ttl_ms", op.liveness_ttl_ms, liveness_ttl_ms_min,
                      liveness_ttl_ms_max);
}

template <class V>
void describe_request(V& v, HeartbeatWorker& op) {
    v.path_for_people("worker_id", op.worker_instance_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
}

template <class V>
void describe_request(V& v, MarkWorkerDead& op) {
    v.path_for_people("worker_id", op.worker_instance_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
    v.required("reason", op.reason);
    v.defaulted("revoke_leases", op.revoke_leases);
}

template <class V>
void describe_request(V& v, RunScanner& op) {
    v.path("name", op.scanner);
}

template <class V>
void describe_request(V& v, ListLanes& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V>
void describe_request(V& v, ListWorkers& op) {
    v.query_optional("namespace", op.ns);
    v.query_cursor(op.after);
    v.query_limit(op.limit, 1000);
}

template <class V>
void describe_request(V& v, ListExpiredLeases& op) {
    v.query("as_of", op.as_of);
    v.query_optional("namespace", op.ns);
    v.query_cursor(op.after);
    v.query_limit(op.limit, 1000, 10'000);
}

template <class V, class Op>
    requires(std::is_same_v<Op, ReadCapabilities> || std::is_same_v<Op, ListScanners> ||
             std::is_same_v<Op, ReadStoreReport>)
void describe_request(V& /*v*/, Op& /*op*/) {}

}  // namespace ff::wire
