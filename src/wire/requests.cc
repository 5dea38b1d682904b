// Every operation's request: what its members are called.
#include "wire/requests.h"

#include "wire/request_visitor.h"

namespace ff::wire {

// ------------------------------------------------------------------------------- the descriptions

void describe_request(RequestVisitor& v, CreateExecution& op) {
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

void describe_request(RequestVisitor& v, ListExecutions& op) {
    v.query("partition", op.partition);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 50, page_items_max);
}

void describe_request(RequestVisitor& v, SearchExecutions& op) {
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
    v.query_limit(op.limit, 100, page_items_max);
}

/// Reads of one execution that take nothing but its id.
void describe_request(RequestVisitor& v, ReadExecutionInfo& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ReadExecutionState& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, GetExecutionResult& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, DescribeExecution& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ReadExecutionContext& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ReadAttemptCounters& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ListAttempts& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ExplainExecution& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, GetExecutionNamespace& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, ReplayExecution& op) { v.id(op.execution_id); }
void describe_request(RequestVisitor& v, MarkLeaseExpiredIfDue& op) { v.id(op.execution_id); }

void describe_request(RequestVisitor& v, ReadLeaseHistory& op) {
    v.id(op.execution_id);
    v.query_limit(op.limit, 1000, page_items_max);
}

void describe_request(RequestVisitor& v, CancelExecution& op) {
    v.id(op.lease.execution_id);
    v.required("reason", op.reason);
    v.defaulted("source", op.source);
    v.optional("lease_id", op.lease.lease_id);
    v.optional("lease_epoch", op.lease.lease_epoch);
    v.optional("attempt_id", op.lease.attempt_id);
    v.optional("attempt_index", op.lease.attempt_index);
    v.backend(op.lease.backend);
}

void describe_request(RequestVisitor& v, ChangePriority& op) {
    v.id(op.execution_id);
    v.required("new_priority", op.new_priority);
}

void describe_request(RequestVisitor& v, RevokeLease& op) {
    v.required("execution_id", op.execution_id);
    v.optional("expected_lease_id", op.expected_lease_id);
    v.optional("worker_instance_id", op.worker_instance_id);
    v.defaulted("reason", op.reason);
}

namespace {

template <class Op>
void describe_grant_audit(RequestVisitor& v, Op& op) {
    v.optional("capability_hash", op.capability_hash);
    v.optional("route_snapshot_json", op.route_snapshot_json);
    v.optional("admission_summary", op.admission_summary);
}

}  // namespace

void describe_request(RequestVisitor& v, IssueReclaimGrant& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("worker_capabilities", op.worker_capabilities);
    describe_grant_audit(v, op);
}

void describe_request(RequestVisitor& v, ClaimForWorker& op) {
    v.path("worker_id", op.worker_id);
    v.lane("lane_id", op.lane_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("capabilities", op.capabilities);
    v.optional("namespace", op.ns);
}

void describe_request(RequestVisitor& v, Claim& op) {
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

namespace {

template <class Op>
void describe_lessee(RequestVisitor& v, Op& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.ranged("lease_ttl_ms", op.lease_ttl_ms, lease_ttl_ms_min, lease_ttl_ms_max);
    v.optional("lease_id", op.lease_id);
}

}  // namespace

void describe_request(RequestVisitor& v, ClaimExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.optional("attempt_id", op.attempt_id);
    v.constant("kind", "claim");
}

void describe_request(RequestVisitor& v, ClaimResumedExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.constant("kind", "resume");
}

void describe_request(RequestVisitor& v, ReclaimExecution& op) {
    describe_lessee(v, op);
    v.optional("grant_key", op.grant_key);
    v.optional("attempt_id", op.attempt_id);
    v.optional("max_reclaim_count", op.max_reclaim_count);
}

void describe_request(RequestVisitor& v, IssueClaimGrant& op) {
    v.id(op.execution_id);
    v.required("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.lane("lane_id", op.lane_id);
    v.required("grant_ttl_ms", op.grant_ttl_ms);
    v.defaulted("capabilities", op.capabilities);
    describe_grant_audit(v, op);
}

void describe_request(RequestVisitor& v, IssueGrantAndClaim& op) {
    v.id(op.execution_id);
    v.lane("lane_id", op.lane_id);
    v.ranged("lease_duration_ms", op.lease_duration_ms, lease_ttl_ms_min, lease_ttl_ms_max);
}

void describe_request(RequestVisitor& v, Renew& op) {
    v.lease(op.lease);
    v.optional_ranged("lease_ttl_ms", op.lease_ttl_ms, lease_ttl_ms_min, lease_ttl_ms_max);
}

void describe_request(RequestVisitor& v, Progress& op) {
    v.lease(op.lease);
    v.optional_ranged("percent", op.percent, 0, 100);
    v.optional_text("message", op.message, progress_message_bytes_max);
}

void describe_request(RequestVisitor& v, Complete& op) {
    v.lease(op.lease);
    v.optional_bytes("result_payload", op.result_payload);
    v.optional("result_encoding", op.result_encoding);
    v.source(op.source);
}

void describe_request(RequestVisitor& v, Fail& op) {
    v.lease(op.lease);
    v.required("failure_reason", op.failure_reason);
    v.required("failure_category", op.failure_category);
    v.source(op.source);
}

void describe_request(RequestVisitor& v, Delay& op) {
    v.lease(op.lease);
    v.required("delay_until", op.delay_until);
    v.source(op.source);
}

void describe_request(RequestVisitor& v, WaitChildren& op) {
    v.lease(op.lease);
    v.source(op.source);
}

void describe_request(RequestVisitor& v, Release& op) { v.lease(op.lease); }

void describe_request(RequestVisitor& v, BlockExecution& op) {
    v.id(op.execution_id);
    v.required("reason", op.reason);
    v.optional("detail", op.detail);
}

void describe_request(RequestVisitor& v, UnblockExecution& op) {
    v.id(op.execution_id);
    v.optional("expected_reason", op.expected_reason);
}

void describe_request(RequestVisitor& v, SetExecutionTags& op) {
    v.id(op.execution_id);
    v.required("tags", op.tags);
}

void describe_request(RequestVisitor& v, GetExecutionTag& op) {
    v.id(op.execution_id);
    v.path("key", op.key);
}
void describe_request(RequestVisitor& v, RemoveExecutionTag& op) {
    v.id(op.execution_id);
    v.path("key", op.key);
}

void describe_request(RequestVisitor& v, SetLaneState& op) {
    v.path("lane", op.lane_id);
    v.required("state", op.state);
}

void describe_request(RequestVisitor& v, RegisterWorker& op) {
    v.path("worker_id", op.worker_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
    v.lanes("lanes", op.lanes);
    v.defaulted("capabilities", op.capabilities);
    v.required_ranged("liveness_ttl_ms", op.liveness_ttl_ms, liveness_ttl_ms_min,
                      liveness_ttl_ms_max);
}

void describe_request(RequestVisitor& v, HeartbeatWorker& op) {
    v.path_for_people("worker_id", op.worker_instance_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
}

void describe_request(RequestVisitor& v, MarkWorkerDead& op) {
    v.path_for_people("worker_id", op.worker_instance_id);
    v.required("worker_instance_id", op.worker_instance_id);
    v.required("namespace", op.ns);
    v.required("reason", op.reason);
    v.defaulted("revoke_leases", op.revoke_leases);
}

void describe_request(RequestVisitor& v, RunScanner& op) { v.path("name", op.scanner); }

void describe_request(RequestVisitor& v, ListLanes& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ListWorkers& op) {
    v.query_optional("namespace", op.ns);
    v.query_cursor(op.after);
    v.query_limit(op.limit, 1000, page_items_max);
}

void describe_request(RequestVisitor& v, ListExpiredLeases& op) {
    v.query("as_of", op.as_of);
    v.query_optional("namespace", op.ns);
    v.query_cursor(op.after);
    v.query_limit(op.limit, 1000, 10'000);
}

void describe_request(RequestVisitor& /*v*/, ReadCapabilities& /*op*/) {}
void describe_request(RequestVisitor& /*v*/, ListScanners& /*op*/) {}
void describe_request(RequestVisitor& /*v*/, ReadStoreReport& /*op*/) {}

}  // namespace ff::wire
