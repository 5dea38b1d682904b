// The records that answers are made of, described once for writing and for reading (see object.h).
#pragma once

#include <ff/contracts.h>

#include "wire/object.h"

namespace ff::wire {

template <class V>
void describe(V& v, StateVector& state) {
    v.field("lifecycle_phase", state.phase);
    v.field("ownership_state", state.ownership);
    v.field("eligibility_state", state.eligibility);
    v.field("blocking_reason", state.blocking_reason);
    v.field("terminal_outcome", state.outcome);
    v.field("attempt_state", state.attempt_state);
}

template <class V>
void describe_info(V& v, ExecutionInfo& info) {
    v.field("execution_id", info.execution_id);
    v.field("namespace", info.ns);
    v.field("lane_id", info.lane_id);
    v.field("execution_kind", info.execution_kind);
    v.field("public_state", info.public_state);
    v.field("priority", info.priority);
    v.field("created_at", info.created_at);
    v.field("started_at", info.started_at);
    v.field("completed_at", info.completed_at);
    v.field("current_attempt_index", info.current_attempt_index);
    v.field("flow_id", info.flow_id);
    v.object("state_vector", info.state);
    v.field("blocking_reason", info.state.blocking_reason);
    v.field("blocking_detail", info.blocking_detail);
}

template <class V>
void describe(V& v, ExecutionInfo& info) {
    describe_info(v, info);
    v.field("total_attempt_count", info.total_attempt_count);
}

template <class V>
void describe(V& v, LeaseInfo& lease) {
    v.field("lease_id", lease.lease_id);
    v.field("lease_epoch", lease.lease_epoch);
    v.field("attempt_index", lease.attempt_index);
    v.field("worker_id", lease.worker_id);
    v.field("worker_instance_id", lease.worker_instance_id);
    v.field("expires_at", lease.expires_at);
    v.field("renewal_deadline", lease.renewal_deadline);
    v.field("last_heartbeat_at", lease.last_heartbeat_at);
}

/// The attempt that `current_attempt` names.
struct CurrentAttempt {
    AttemptId attempt_id;
    std::uint32_t attempt_index = 0;
};

template <class V>
void describe(V& v, CurrentAttempt& attempt) {
    v.field("attempt_id", attempt.attempt_id);
    v.field("attempt_index", attempt.attempt_index);
}

/// How far it has come.
struct ProgressReport {
    std::optional<std::int32_t> percent;
    std::optional<std::string> message;
    std::optional<TimestampMs> updated_at;
};

template <class V>
void describe(V& v, ProgressReport& progress) {
    v.field("percent", progress.percent);
    v.field("message", progress.message);
    v.field("updated_at", progress.updated_at);
}

template <class V>
void describe(V& v, ExecutionSnapshot& s) {
    describe_info(v, s.info);
    std::optional<CurrentAttempt> attempt;
    ProgressReport progress{s.progress_percent, s.progress_message, s.progress_updated_at};
    if (s.current_attempt_id) {
        attempt = CurrentAttempt{*s.current_attempt_id, s.info.current_attempt_index};
    }
    v.object("current_attempt", attempt);
    v.object("current_lease", s.current_lease);
    v.field("current_waitpoint", s.current_waitpoint);
    v.object("progress", progress);
    v.field("total_attempt_count", s.total_attempt_count);
    v.field("retry_count", s.retry_count);
    v.field("replay_count", s.replay_count);
    v.field("lease_reclaim_count", s.lease_reclaim_count);
    v.field("lease_epoch", s.lease_epoch);
    v.field("delay_until", s.delay_until);
    v.field("execution_deadline_at", s.execution_deadline_at);
    v.field("attempt_deadline_at", s.attempt_deadline_at);
    v.field("failure_reason", s.failure_reason);
    v.field("failure_category", s.failure_category);
    v.field("cancellation_reason", s.cancellation_reason);
    v.field("cancelled_by", s.cancelled_by);
    v.field("last_hmac_validation_failed_at", s.last_hmac_validation_failed_at);
    v.field("last_transition_at", s.last_transition_at);
    v.field("last_mutation_at", s.last_mutation_at);
    v.field("creator_identity", s.creator_identity);
    v.field("idempotency_key", s.idempotency_key);
    v.document("policy", s.policy);
    v.field("required_capabilities", s.required_capabilities);
    v.field("tags", s.tags);
    if constexpr (V::reads) {
        s.info.total_attempt_count = s.total_attempt_count;
        s.current_attempt_id = attempt ? std::optional(attempt->attempt_id) : std::nullopt;
        s.progress_percent = progress.percent;
        s.progress_message = progress.message;
        s.progress_updated_at = progress.updated_at;
    }
}

template <class V>
void describe(V& v, AttemptInfo& a) {
    v.field("attempt_index", a.attempt_index);
    v.field("attempt_id", a.attempt_id);
    v.field("attempt_type", a.type);
    v.field("attempt_state", a.state);
    v.field("lease_id", a.lease_id);
    v.field("lease_epoch", a.lease_epoch);
    v.field("worker_id", a.worker_id);
    v.field("worker_instance_id", a.worker_instance_id);
    v.field("created_at", a.started_at);
    v.field("started_at", a.started_at);
    v.field("resumed_at", a.resumed_at);
    v.field("suspended_at", a.suspended_at);
    v.field("ended_at", a.ended_at);
    v.field("suspension_id", a.suspension_id);
    v.field("failure_reason", a.failure_reason);
    v.field("failure_category", a.failure_category);
    v.field("reason", a.reason);
    v.field("requested_by", a.requested_by);
    v.field("previous_attempt_index", a.previous_attempt_index);
    v.field("frame_count", a.frame_count);
}

template <class V>
void describe(V& v, HistoryEntry& h) {
    v.field("event_id", h.event_id);
    v.field("at", h.at);
    v.field("event", h.event);
    v.field("lease_id", h.lease_id);
    v.field("lease_epoch", h.lease_epoch);
    v.field("attempt_index", h.attempt_index);
    v.field("attempt_id", h.attempt_id);
    v.field("worker_id", h.worker_id);
    v.field("worker_instance_id", h.worker_instance_id);
    v.field("reason", h.reason);
    v.field("revoked_by", h.revoked_by);
    v.field("outcome", h.outcome);
    v.field("old_lease_id", h.old_lease_id);
    v.field("old_lease_epoch", h.old_lease_epoch);
    v.field("replay_count", h.replay_count);
    v.field("replay_type", h.replay_type);
}

template <class V>
void describe(V& v, Explanation& why) {
    v.field("public_state", why.public_state);
    v.field("blocking_reason", why.blocking_reason);
    v.field("summary", why.summary);
    v.field("until", why.until);
    v.field("lane_state", why.lane_state);
    v.field("required_capabilities", why.required_capabilities);
    v.field("missing_capabilities", why.missing_capabilities);
    v.field("capable_workers", why.capable_workers);
    v.field("ahead", why.ahead);
}

template <class V>
void describe(V& v, LaneInfo& lane) {
    v.field("lane_id", lane.lane_id);
    v.field("lane_state", lane.state);
}

template <class V>
void describe(V& v, WorkerInfo& w) {
    v.field("worker_id", w.worker_id);
    v.field("worker_instance_id", w.worker_instance_id);
    v.field("namespace", w.ns);
    v.field("lanes", w.lanes);
    v.field("capabilities", w.capabilities);
    v.field("last_heartbeat_ms", w.last_heartbeat_ms);
    v.field("liveness_ttl_ms", w.liveness_ttl_ms);
    v.field("registered_at_ms", w.registered_at_ms);
    if constexpr (!V::reads) {
        v.field("alive", true);  // only those are listed
    }
}

template <class V>
void describe(V& v, ExpiredLease& lease) {
    v.field("execution_id", lease.execution_id);
    v.field("lease_id", lease.lease_id);
    v.field("lease_epoch", lease.lease_epoch);
    v.field("worker_instance_id", lease.worker_instance_id);
    v.field("expires_at_ms", lease.expires_at_ms);
    v.field("attempt_index", lease.attempt_index);
}

template <class V>
void describe(V& v, ExecutionContext& context) {
    v.bytes("input_payload", context.input_payload);
    v.field("payload_encoding", context.payload_encoding);
    v.field("execution_kind", context.execution_kind);
    v.field("namespace", context.ns);
    v.field("tags", context.tags);
}

template <class V>
void describe(V& v, AttemptCounters& counters) {
    v.field("current_attempt_index", counters.current_attempt_index);
    v.field("total_attempt_count", counters.total_attempt_count);
}

/// Of a claim grant; reclaim grants have a form of their own.
template <class V>
void describe(V& v, Grant& grant) {
    v.field("execution_id", grant.execution_id);
    if constexpr (!V::reads) {
        v.field("partition_key", grant.partition_key());
    }
    v.field("grant_key", grant.grant_key);
    v.field("expires_at_ms", grant.expires_at_ms);
    v.field("kind", grant.kind);
    v.field("lane_id", grant.lane_id);
    v.field("attempt_index", grant.attempt_index);
}

/// A handle travels as its text; what is not one reads as a fault.
template <class V>
void describe_handle(V& v, Handle& handle) {
    std::string text;
    if constexpr (!V::reads) {
        text = handle.to_text();
    }
    v.field("handle", text);
    if constexpr (V::reads) {
        auto parsed = Handle::parse_text(text);
        if (parsed) {
            handle = std::move(*parsed);
        } else {
            v.keep("handle", ": " + parsed.error().detail);
        }
    }
}

template <class V>
void describe(V& v, ClaimedTask& task) {
    if constexpr (!V::reads) {
        v.field("execution_id", task.handle.execution_id);
        v.field("attempt_index", task.handle.attempt_index);
        v.field("attempt_id", task.handle.attempt_id);
    }
    v.field("attempt_type", task.attempt_type);
    if constexpr (!V::reads) {
        v.field("lease_id", task.handle.lease_id);
        v.field("lease_epoch", task.handle.lease_epoch);
        v.field("lease_ttl_ms", task.handle.lease_ttl_ms);
        v.field("resumed", task.resumed());
        v.field("lane_id", task.handle.lane_id);
    }
    v.field("lease_expires_at", task.lease_expires_at);
    v.field("namespace", task.ns);
    v.field("execution_kind", task.execution_kind);
    v.bytes("input_payload", task.input_payload);
    v.field("payload_encoding", task.payload_encoding);
    v.field("tags", task.tags);
    v.field("priority", task.priority);
    v.field("flow_id", task.flow_id);
    describe_handle(v, task.handle);
    v.field("attempt_timeout_at", task.attempt_deadline_at);
    v.field("execution_deadline_at", task.execution_deadline_at);
    if constexpr (!V::reads) {
        v.field("cancel_requested", false);  // a cancel ends the lease: the next call says so
    }
    v.document("policy", task.policy_snapshot);
}

template <class V>
void describe(V& v, OperatorLease& lease) {
    v.field("lease_id", lease.lease_id);
    v.field("lease_epoch", lease.lease_epoch);
    v.field("attempt_index", lease.attempt_index);
    describe_handle(v, lease.handle);
}

template <class V>
void describe(V& v, StateResult& result) {
    v.field("execution_id", result.execution_id);
    v.field("public_state", result.public_state);
}

template <class V>
void describe(V& v, BlockResult& result) {
    v.field("blocked", result.blocked);
    v.field("message", result.message);
}

template <class V>
void describe(V& v, CountResult& result) {
    v.field("count", result.count);
}

template <class V>
void describe(V& v, ScannerResult& result) {
    v.field("processed", result.processed);
    v.field("errors", result.errors);
    v.field("findings", result.findings);
}

template <class V>
void describe(V& v, ScannerInfo& info) {
    v.field("scanner", info.scanner);
    v.field("period_ms", info.period_ms);
    v.field("cycles", info.cycles);
    v.field("processed", info.processed);
    v.field("errors", info.errors);
    v.field("last_run_at", info.last_run_at);
    v.field("last_duration_us", info.last_duration_us);
    v.field("total_duration_us", info.total_duration_us);
}

template <class V>
void describe(V& v, PartitionCounts& counts) {
    v.field("flow", counts.flow);
    v.field("budget", counts.budget);
    v.field("quota", counts.quota);
}

template <class V>
void describe(V& v, StoreReport& report) {
    v.field("store", report.family);
    v.field("durability", report.durability);
    v.field("wake_ups", report.wake_ups);
    v.field("schema_version", report.schema_version);
    v.field("prepared", report.prepared);
    v.field("bytes", report.bytes);
    v.field("log_bytes", report.log_bytes);
    v.object("partitions", report.partitions);
}

}  // namespace ff::wire
