// The tables whose rows are records: their columns once, in the order they are stored.
//
// From these lists come the INSERT, UPDATE and SELECT texts and the conversion between a record and
// its columns, for every database. A column is left out of a write when its value is what the row
// already has (or, for a new row, what a default-constructed record has: the schema's DEFAULT says
// the same). The first `named_columns` of a table are in every insert: its key, and the columns
// without a DEFAULT because no value goes without saying. `since` is the version of the schema that
// brought a table which was not there from the start.
#pragma once

#include <cstddef>

#include "core/records.h"
#include "core/stream_records.h"
#include "core/suspension_records.h"
#include "core/webhook_records.h"
#include "store/columns.h"
#include "store/limit_tables.h"

namespace ff::store {

/// The rare part of an execution: one column of its row, a JSON object of those of these members
/// that are set.
template <>
struct Table<core::ExecutionExtra> {
    FF_COLUMNS(core::ExecutionExtra) {
        FF_COLUMN("lease_expired_at", integer, lease_expired_at);
        FF_COLUMN("lease_revoked_at", integer, lease_revoked_at);
        FF_COLUMN("lease_revoke_reason", text, lease_revoke_reason);
        FF_COLUMN("reclaim_not_before", integer, reclaim_not_before);
        FF_COLUMN("retention_ms", integer, retention_ms);
        FF_COLUMN("attempt_resumed_at", integer, attempt_resumed_at);
        FF_COLUMN("attempt_leased_ms", integer, attempt_leased_ms);
        FF_COLUMN("lineage_reason", text, lineage_reason);
        FF_COLUMN("lineage_requested_by", text, lineage_requested_by);
        FF_COLUMN("lineage_previous_index", integer, lineage_previous_index);
        FF_COLUMN("replay_count", integer, replay_count);
        FF_COLUMN("lease_reclaim_count", integer, lease_reclaim_count);
        FF_COLUMN("blocking_detail", text, blocking_detail);
        FF_COLUMN("blocked_at", integer, blocked_at);
        FF_COLUMN("progress_percent", integer, progress_percent);
        FF_COLUMN("progress_message", text, progress_message);
        FF_COLUMN("progress_updated_at", integer, progress_updated_at);
        FF_COLUMN("failure_reason", text, failure_reason);
        FF_COLUMN("failure_category", text, failure_category);
        FF_COLUMN("cancellation_reason", text, cancellation_reason);
        FF_COLUMN("cancelled_by", text, cancelled_by);
        FF_COLUMN("last_capability_mismatch_at", integer, last_capability_mismatch_at);
        FF_COLUMN("holds_flow_slot", integer, holds_flow_slot);
        FF_COLUMN("gate", text, gate);
        FF_COLUMN("retain_until", integer, retain_until);
        FF_COLUMN("current_suspension_id", text, current_suspension_id);
        FF_COLUMN("current_waitpoint_id", text, current_waitpoint_id);
        FF_COLUMN("suspension_timeout_at", integer, suspension_timeout_at);
        FF_COLUMN("waitpoint_due_at", integer, waitpoint_due_at);
        FF_COLUMN("suspension_count", integer, suspension_count);
        FF_COLUMN("open_waitpoints", integer, open_waitpoints);
        FF_COLUMN("signal_count", integer, signal_count);
        FF_COLUMN("timeout_signals", integer, timeout_signals);
        FF_COLUMN("last_hmac_validation_failed_at", integer, last_hmac_validation_failed_at);
        FF_COLUMN("has_waits", integer, has_waits);
        FF_COLUMN("has_streams", integer, has_streams);
        FF_COLUMN("budgets", text, budgets);
        FF_COLUMN("quota", text, quota);
        FF_COLUMN("blocked_until", integer, blocked_until);
        FF_COLUMN("has_admissions", integer, has_admissions);
        FF_COLUMN("holds_slots", integer, holds_slots);
        FF_COLUMN("reserve", text, reserve);
        FF_COLUMN("reserved_in", text, reserved_in);
        FF_COLUMN("limit_key", text, limit_key);
        FF_COLUMN("has_turn", integer, has_turn);
        FF_COLUMN("place", integer, place);
    }
};

inline core::ExecutionExtra& extra_of(core::Execution& row) { return row; }
inline const core::ExecutionExtra& extra_of(const core::Execution& row) { return row; }
/// Where they stand in an execution.
inline constexpr std::size_t extra_offset =
    offsetof(core::Execution, gate) - offsetof(core::ExecutionExtra, gate);

template <>
struct Table<core::Execution> {
    static constexpr const char* name = "ff_exec_core";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::Execution) {
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("id", bytes, id);
        FF_COLUMN("route", integer, route);
        FF_COLUMN("priority", integer, priority);
        FF_COLUMN("lifecycle_phase", integer, state.phase);
        FF_COLUMN("ownership_state", integer, state.ownership);
        FF_COLUMN("eligibility_state", integer, state.eligibility);
        FF_COLUMN("blocking_reason", integer, state.blocking_reason);
        FF_COLUMN("terminal_outcome", integer, state.outcome);
        FF_COLUMN("attempt_state", integer, state.attempt_state);
        FF_COLUMN("public_state", integer, public_state);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("last_transition_at", integer, last_transition_at);
        FF_COLUMN("last_mutation_at", integer, last_mutation_at);
        FF_COLUMN("timer_at", integer, timer_at);
        FF_COLUMN("last_event_id", integer, last_event_id);
        FF_COLUMN("has_tags", integer, has_tags);
        FF_COLUMN("has_policy", integer, has_policy);
        FF_COLUMN("has_idempotency_key", integer, has_idempotency_key);
        FF_COLUMN("started_at", integer, started_at);
        FF_COLUMN("completed_at", integer, completed_at);
        FF_COLUMN("total_attempt_count", integer, total_attempt_count);
        FF_COLUMN("current_attempt_index", integer, current_attempt_index);
        FF_COLUMN("current_attempt_id", bytes, current_attempt_id);
        FF_COLUMN("attempt_type", integer, attempt_type);
        FF_COLUMN("attempt_started_at", integer, attempt_started_at);
        FF_COLUMN("lease_epoch", integer, lease_epoch);
        FF_COLUMN("lease_id", bytes, lease_id);
        FF_COLUMN("worker_id", text, worker_id);
        FF_COLUMN("worker_instance_id", text, worker_instance_id);
        FF_COLUMN("lease_acquired_at", integer, lease_acquired_at);
        FF_COLUMN("lease_expires_at", integer, lease_expires_at);
        FF_COLUMN("lease_renewed_at", integer, lease_renewed_at);
        FF_COLUMN("grant_expires_at", integer, grant_expires_at);
        FF_COLUMN("delay_until", integer, delay_until);
        FF_COLUMN("execution_deadline_at", integer, execution_deadline_at);
        FF_COLUMN("attempt_deadline_at", integer, attempt_deadline_at);
        FF_COLUMN("retry_count", integer, retry_count);
        FF_COLUMN("flow_id", bytes, flow_id);
        fn(ColumnInfo{"extra", Kind::text, extra_offset, &MemberOf<core::ExecutionExtra>::type},
           extra_of(rows)...);
        FF_COLUMN("edges_told", integer, edges_told);
    }
};

template <>
struct Table<core::ExecutionInput> {
    static constexpr const char* name = "ff_exec_input";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 1;
    FF_COLUMNS(core::ExecutionInput) {
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("creator_identity", text, creator_identity);
        FF_COLUMN("payload", bytes, payload);
        FF_COLUMN("payload_encoding", text, payload_encoding);
        FF_COLUMN("policy", text, policy);
        FF_COLUMN("tags", text, tags);
        FF_COLUMN("idempotency_key", text, idempotency_key);
        FF_COLUMN("flow_node", text, flow_node);
        FF_COLUMN("original_payload", bytes, original_payload);
        FF_COLUMN("original_encoding", text, original_encoding);
    }
};

template <>
struct Table<core::Attempt> {
    static constexpr const char* name = "ff_attempt";
    static constexpr std::size_t key_columns = 2;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::Attempt) {
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("attempt_index", integer, attempt_index);
        FF_COLUMN("attempt_id", bytes, attempt_id);
        FF_COLUMN("attempt_type", integer, type);
        FF_COLUMN("attempt_state", integer, state);
        FF_COLUMN("started_at", integer, started_at);
        FF_COLUMN("resumed_at", integer, resumed_at);
        FF_COLUMN("suspended_at", integer, suspended_at);
        FF_COLUMN("ended_at", integer, ended_at);
        FF_COLUMN("suspension_id", text, suspension_id);
        FF_COLUMN("lease_id", bytes, lease_id);
        FF_COLUMN("lease_epoch", integer, lease_epoch);
        FF_COLUMN("worker_id", text, worker_id);
        FF_COLUMN("worker_instance_id", text, worker_instance_id);
        FF_COLUMN("failure_reason", text, failure_reason);
        FF_COLUMN("failure_category", text, failure_category);
        FF_COLUMN("reason", text, reason);
        FF_COLUMN("requested_by", text, requested_by);
        FF_COLUMN("previous_attempt_index", integer, previous_attempt_index);
        FF_COLUMN("retry_at", integer, retry_at);
        FF_COLUMN("result", bytes, result);
        FF_COLUMN("result_encoding", text, result_encoding);
        FF_COLUMN("closed_as", integer, closed_as);
    }
};

template <>
struct Table<core::GrantRow> {
    static constexpr const char* name = "ff_claim_grant";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 6;
    FF_COLUMNS(core::GrantRow) {
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("grant_id", bytes, grant_id);
        FF_COLUMN("kind", integer, kind);
        FF_COLUMN("worker_id", text, worker_id);
        FF_COLUMN("worker_instance_id", text, worker_instance_id);
        FF_COLUMN("lane_id", text, lane);
        FF_COLUMN("worker_capabilities", text, worker_capabilities);
        FF_COLUMN("capability_hash", text, capability_hash);
        FF_COLUMN("route_snapshot_json", text, route_snapshot_json);
        FF_COLUMN("admission_summary", text, admission_summary);
        FF_COLUMN("grant_ttl_ms", integer, grant_ttl_ms);
        FF_COLUMN("issued_at", integer, issued_at);
        FF_COLUMN("expires_at", integer, expires_at);
    }
};

template <>
struct Table<core::Lane> {
    static constexpr const char* name = "ff_lane_registry";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 1;
    FF_COLUMNS(core::Lane) {
        FF_COLUMN("lane_id", text, name);
        FF_COLUMN("lane_state", integer, state);
        FF_COLUMN("registered_at", integer, registered_at);
    }
};

template <>
struct Table<core::Route> {
    static constexpr const char* name = "ff_route";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Route) {
        FF_COLUMN("route", integer, id);
        FF_COLUMN("lane_id", text, key.lane);
        FF_COLUMN("namespace", text, key.ns);
        FF_COLUMN("execution_kind", text, key.kind);
        FF_COLUMN("required_capabilities", text, key.capabilities);
    }
};

template <>
struct Table<core::IdempotencyEntry> {
    static constexpr const char* name = "ff_idempotency";
    static constexpr std::size_t key_columns = 2;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::IdempotencyEntry) {
        FF_COLUMN("namespace", text, key.ns);
        FF_COLUMN("idempotency_key", text, key.key);
        FF_COLUMN("execution_id", bytes, execution_id);
        FF_COLUMN("expires_at", integer, expires_at);
    }
};

template <>
struct Table<core::WorkerRow> {
    static constexpr const char* name = "ff_worker_registry";
    static constexpr std::size_t key_columns = 2;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::WorkerRow) {
        FF_COLUMN("namespace", text, key.ns);
        FF_COLUMN("worker_instance_id", text, key.worker_instance_id);
        FF_COLUMN("worker_id", text, worker_id);
        FF_COLUMN("lanes", text, lanes);
        FF_COLUMN("capabilities", text, capabilities);
        FF_COLUMN("liveness_ttl_ms", integer, liveness_ttl_ms);
        FF_COLUMN("registered_at", integer, registered_at);
        FF_COLUMN("last_heartbeat", integer, last_heartbeat);
    }
};

template <>
struct Table<core::ExecutionEvent> {
    static constexpr const char* name = "ff_exec_event";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::ExecutionEvent) {
        FF_COLUMN("event_id", integer, event_id);
        FF_COLUMN("previous_event_id", integer, previous_event_id);
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("execution_id", bytes, execution_id);
        FF_COLUMN("route", integer, route);
        FF_COLUMN("occurred_at", integer, at);
        FF_COLUMN("lease_event", integer, type);
        FF_COLUMN("outcome", integer, outcome);
        FF_COLUMN("lease_id", bytes, lease_id);
        FF_COLUMN("lease_epoch", integer, lease_epoch);
        FF_COLUMN("attempt_index", integer, attempt_index);
        FF_COLUMN("attempt_id", bytes, attempt_id);
        FF_COLUMN("worker_id", text, worker_id);
        FF_COLUMN("worker_instance_id", text, worker_instance_id);
        FF_COLUMN("expires_at", integer, expires_at);
        FF_COLUMN("old_lease_id", bytes, old_lease_id);
        FF_COLUMN("reason", text, reason);
        FF_COLUMN("revoked_by", text, revoked_by);
        FF_COLUMN("flow_id", bytes, flow_id);
        FF_COLUMN("tags", text, tags);
    }
};

template <>
struct Table<core::LogEvent> {
    static constexpr const char* name = "ff_log_event";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::LogEvent) {
        FF_COLUMN("event_id", integer, event_id);
        FF_COLUMN("family", integer, family);
        FF_COLUMN("type", text, type);
        FF_COLUMN("occurred_at", integer, at);
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("execution_id", bytes, execution_id);
        FF_COLUMN("flow_id", bytes, flow_id);
        FF_COLUMN("namespace", text, ns);
        FF_COLUMN("tags", text, tags);
        FF_COLUMN("payload", text, payload);
    }
};

template <>
struct Table<core::EventTrim> {
    static constexpr const char* name = "ff_event_trim";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 1;
    static constexpr int since = 6;
    FF_COLUMNS(core::EventTrim) {
        FF_COLUMN("family", integer, family);
        FF_COLUMN("through", integer, through);
    }
};

template <>
struct Table<core::Webhook> {
    static constexpr const char* name = "ff_webhook";
    static constexpr std::size_t key_columns = 1;
    static constexpr std::size_t named_columns = 2;
    static constexpr int since = 6;
    FF_COLUMNS(core::Webhook) {
        FF_COLUMN("webhook_id", bytes, id);
        FF_COLUMN("url", text, url);
        FF_COLUMN("family", integer, family);
        FF_COLUMN("filter", text, filter);
        FF_COLUMN("secret", bytes, secret);
        FF_COLUMN("sealed", integer, sealed);
        FF_COLUMN("paused", integer, paused);
        FF_COLUMN("position", integer, position);
        FF_COLUMN("delivered", integer, delivered);
        FF_COLUMN("failures", integer, failures);
        FF_COLUMN("missed_gaps", integer, missed_gaps);
        FF_COLUMN("next_try_at", integer, next_try_at);
        FF_COLUMN("last_success_at", integer, last_success_at);
        FF_COLUMN("last_failure_at", integer, last_failure_at);
        FF_COLUMN("last_error", text, last_error);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("holder", text, holder);
        FF_COLUMN("held_until", integer, held_until);
    }
};

template <>
struct Table<core::Flow> {
    static constexpr const char* name = "ff_flow";
    static constexpr std::size_t key_columns = 1;
    static constexpr int since = 3;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Flow) {
        FF_COLUMN("flow_id", bytes, id);
        FF_COLUMN("partition", integer, partition);
        FF_COLUMN("flow_kind", text, kind);
        FF_COLUMN("namespace", text, ns);
        FF_COLUMN("flow_state", integer, state);
        FF_COLUMN("sealed", integer, sealed);
        FF_COLUMN("paused", integer, paused);
        FF_COLUMN("graph_revision", integer, graph_revision);
        FF_COLUMN("node_count", integer, node_count);
        FF_COLUMN("edge_count", integer, edge_count);
        FF_COLUMN("live_members", integer, live);
        FF_COLUMN("bad_members", integer, bad);
        FF_COLUMN("trimmed_members", integer, trimmed);
        FF_COLUMN("slots", integer, slots);
        FF_COLUMN("deadline_at", integer, deadline_at);
        FF_COLUMN("on_member_failure", integer, on_member_failure);
        FF_COLUMN("max_active_members", integer, max_active_members);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("last_mutation_at", integer, last_mutation_at);
        FF_COLUMN("cancelled_at", integer, cancelled_at);
        FF_COLUMN("cancel_reason", text, cancel_reason);
        FF_COLUMN("cancellation_policy", integer, cancellation_policy);
        FF_COLUMN("finished_at", integer, finished_at);
        FF_COLUMN("tags", text, tags);
        FF_COLUMN("timer_at", integer, timer_at);
        FF_COLUMN("held", integer, held);
        FF_COLUMN("limited", integer, limited);
    }
};

template <>
struct Table<core::Edge> {
    static constexpr const char* name = "ff_edge";
    static constexpr const char* view = "ff_edge_now";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 3;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Edge) {
        FF_COLUMN("upstream_id", bytes, upstream);
        FF_COLUMN("edge_id", bytes, key.id);
        FF_COLUMN("flow_id", bytes, key.flow);
        FF_COLUMN("downstream_id", bytes, downstream);
        FF_COLUMN("dependency_kind", integer, kind);
        FF_COLUMN("edge_state", integer, state);
        FF_COLUMN("dependency_state", integer, dependency);
        FF_COLUMN("outcome", integer, outcome);
        FF_COLUMN("data_passing_ref", text, data_passing_ref);
        FF_COLUMN("condition", text, when);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("applied_at", integer, applied_at);
        FF_COLUMN("resolved_at", integer, resolved_at);
        FF_COLUMN("fence_replays", integer, fence_replays);
    }
};

template <>
struct Table<core::EdgeGroup> {
    static constexpr const char* name = "ff_edge_group";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 3;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::EdgeGroup) {
        FF_COLUMN("flow_id", bytes, flow);
        FF_COLUMN("downstream_id", bytes, downstream);
        FF_COLUMN("policy", integer, policy);
        FF_COLUMN("k", integer, k);
        FF_COLUMN("on_satisfied", integer, on_satisfied);
        FF_COLUMN("force_cancel_shared", integer, force_cancel_shared);
        FF_COLUMN("staged", integer, staged);
        FF_COLUMN("applied", integer, applied);
        FF_COLUMN("succeeded", integer, succeeded);
        FF_COLUMN("failed", integer, failed);
        FF_COLUMN("skipped", integer, skipped);
        FF_COLUMN("not_taken", integer, not_taken);
        FF_COLUMN("group_state", integer, state);
        FF_COLUMN("satisfied_at", integer, satisfied_at);
        FF_COLUMN("siblings_pending", integer, siblings_pending);
        FF_COLUMN("siblings_reason", text, siblings_reason);
        FF_COLUMN("created_at", integer, created_at);
    }
};

template <>
struct Table<core::FlowWork> {
    static constexpr const char* name = "ff_flow_work";
    static constexpr std::size_t key_columns = 3;
    static constexpr int since = 3;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::FlowWork) {
        FF_COLUMN("flow_id", bytes, key.flow);
        FF_COLUMN("kind", integer, key.kind);
        FF_COLUMN("execution_id", bytes, key.execution);
        FF_COLUMN("reason", text, reason);
        FF_COLUMN("due_at", integer, due_at);
    }
};

template <>
struct Table<core::Suspension> {
    static constexpr const char* name = "ff_suspension";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 4;
    static constexpr std::size_t named_columns = 5;
    FF_COLUMNS(core::Suspension) {
        FF_COLUMN("eid", integer, key.eid);
        FF_COLUMN("episode", integer, key.episode);
        FF_COLUMN("suspension_id", bytes, id);
        FF_COLUMN("execution_id", bytes, execution_id);
        FF_COLUMN("lane_id", text, lane);
        FF_COLUMN("attempt_index", integer, attempt_index);
        FF_COLUMN("waitpoints", text, waitpoints);
        FF_COLUMN("reason_code", text, reason_code);
        FF_COLUMN("requested_by", integer, requested_by);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("timeout_at", integer, timeout_at);
        FF_COLUMN("timeout_behavior", integer, timeout_behavior);
        FF_COLUMN("condition", text, condition);
        FF_COLUMN("resume_policy", text, resume_policy);
        FF_COLUMN("satisfied_counts", text, satisfied_counts);
        FF_COLUMN("continuation", text, continuation);
        FF_COLUMN("idempotency_key", text, idempotency_key);
        FF_COLUMN("dedup_expires_at", integer, dedup_expires_at);
        FF_COLUMN("lease_id", bytes, lease_id);
        FF_COLUMN("entered", integer, entered);
        FF_COLUMN("last_signal_at", integer, last_signal_at);
        FF_COLUMN("satisfied_at", integer, satisfied_at);
        FF_COLUMN("closed_at", integer, closed_at);
        FF_COLUMN("close_reason", text, close_reason);
        FF_COLUMN("resume_trigger", integer, resume_trigger);
        FF_COLUMN("resumed_by", text, resumed_by);
        FF_COLUMN("closer_signal_id", bytes, closer_signal_id);
        FF_COLUMN("escalated_at", integer, escalated_at);
        FF_COLUMN("remaining_attempt_timeout_ms", integer, remaining_attempt_timeout_ms);
        FF_COLUMN("waits_until", integer, waits_until);
    }
};

template <>
struct Table<core::Waitpoint> {
    static constexpr const char* name = "ff_waitpoint";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 4;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::Waitpoint) {
        FF_COLUMN("eid", integer, eid);
        FF_COLUMN("waitpoint_id", bytes, id);
        FF_COLUMN("execution_id", bytes, execution_id);
        FF_COLUMN("attempt_index", integer, attempt_index);
        FF_COLUMN("episode", integer, episode);
        FF_COLUMN("waitpoint_key", text, key);
        FF_COLUMN("token", text, token);
        FF_COLUMN("token_kid", text, token_kid);
        FF_COLUMN("waitpoint_state", integer, state);
        FF_COLUMN("required_signal_names", text, required_signal_names);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("activated_at", integer, activated_at);
        FF_COLUMN("satisfied_at", integer, satisfied_at);
        FF_COLUMN("expires_at", integer, expires_at);
        FF_COLUMN("closed_at", integer, closed_at);
        FF_COLUMN("close_reason", text, close_reason);
        FF_COLUMN("signal_count", integer, signal_count);
        FF_COLUMN("matched_signal_count", integer, matched_signal_count);
        FF_COLUMN("last_signal_at", integer, last_signal_at);
    }
};

template <>
struct Table<core::Signal> {
    static constexpr const char* name = "ff_signal";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 4;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Signal) {
        FF_COLUMN("eid", integer, key.eid);
        FF_COLUMN("seq", integer, key.seq);
        FF_COLUMN("signal_id", bytes, id);
        FF_COLUMN("waitpoint_id", bytes, waitpoint_id);
        FF_COLUMN("target_scope", integer, scope);
        FF_COLUMN("signal_name", text, name);
        FF_COLUMN("signal_category", text, category);
        FF_COLUMN("source_type", text, source_type);
        FF_COLUMN("source_identity", text, source_identity);
        FF_COLUMN("correlation_id", text, correlation_id);
        FF_COLUMN("idempotency_key", text, idempotency_key);
        FF_COLUMN("dedup_expires_at", integer, dedup_expires_at);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("accepted_at", integer, accepted_at);
        FF_COLUMN("payload", bytes, payload);
        FF_COLUMN("payload_encoding", text, payload_encoding);
        FF_COLUMN("observed_effect", integer, effect);
        FF_COLUMN("matched", integer, matched);
    }
};

template <>
struct Table<core::Satisfier> {
    static constexpr const char* name = "ff_satisfier";
    static constexpr std::size_t key_columns = 4;
    static constexpr int since = 4;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Satisfier) {
        FF_COLUMN("eid", integer, key.suspension.eid);
        FF_COLUMN("episode", integer, key.suspension.episode);
        FF_COLUMN("node", integer, key.node);
        FF_COLUMN("token", text, key.token);
        FF_COLUMN("seq", integer, seq);
    }
};

template <>
struct Table<core::HmacKey> {
    static constexpr const char* name = "ff_hmac_key";
    static constexpr std::size_t key_columns = 1;
    static constexpr int since = 4;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::HmacKey) {
        FF_COLUMN("kid", text, kid);
        FF_COLUMN("secret", bytes, secret);
        FF_COLUMN("sealed", integer, sealed);
        FF_COLUMN("installed_at", integer, installed_at);
        FF_COLUMN("is_current", integer, is_current);
        FF_COLUMN("expires_at", integer, expires_at);
    }
};

template <>
struct Table<core::StreamMeta> {
    static constexpr const char* name = "ff_stream_meta";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 5;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::StreamMeta) {
        FF_COLUMN("eid", integer, key.eid);
        FF_COLUMN("attempt_index", integer, key.attempt_index);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("last_ms", integer, last.ms);
        FF_COLUMN("last_seq", integer, last.seq);
        FF_COLUMN("frame_count", integer, frame_count);
        FF_COLUMN("total_bytes", integer, total_bytes);
        FF_COLUMN("last_frame_at", integer, last_frame_at);
        FF_COLUMN("has_durable_frame", integer, has_durable_frame);
        FF_COLUMN("retained_durable", integer, retained_durable);
        FF_COLUMN("retained_summary", integer, retained_summary);
        FF_COLUMN("retained_best_effort", integer, retained_best_effort);
        FF_COLUMN("ema_rate_hz", text, ema_rate_hz);
        FF_COLUMN("last_append_ts_ms", integer, last_append_ts_ms);
        FF_COLUMN("maxlen_applied_last", integer, maxlen_applied_last);
        FF_COLUMN("expires_at", integer, expires_at);
        FF_COLUMN("last_client_seq", integer, last_client_seq);
        FF_COLUMN("retention_ttl_ms", integer, retention_ttl_ms);
        FF_COLUMN("sweep_at", integer, sweep_at);
    }
};

template <>
struct Table<core::FrameRow> {
    static constexpr const char* name = "ff_stream_frame";
    static constexpr std::size_t key_columns = 4;
    static constexpr int since = 5;
    static constexpr std::size_t named_columns = 5;
    FF_COLUMNS(core::FrameRow) {
        FF_COLUMN("eid", integer, key.stream.eid);
        FF_COLUMN("attempt_index", integer, key.stream.attempt_index);
        FF_COLUMN("ms", integer, key.id.ms);
        FF_COLUMN("seq", integer, key.id.seq);
        FF_COLUMN("frame_type", text, frame_type);
        FF_COLUMN("mode", integer, mode);
        FF_COLUMN("ts", integer, ts);
        FF_COLUMN("payload", bytes, payload);
        FF_COLUMN("correlation_id", text, correlation_id);
        FF_COLUMN("summary_version", integer, summary_version);
        FF_COLUMN("ttl_ms", integer, ttl_ms);
    }
};

template <>
struct Table<core::SummaryRow> {
    static constexpr const char* name = "ff_stream_summary";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 5;
    static constexpr std::size_t named_columns = 3;
    FF_COLUMNS(core::SummaryRow) {
        FF_COLUMN("eid", integer, key.eid);
        FF_COLUMN("attempt_index", integer, key.attempt_index);
        FF_COLUMN("document", text, document);
        FF_COLUMN("version", integer, version);
        FF_COLUMN("last_updated_ms", integer, last_updated_ms);
        FF_COLUMN("first_applied_ms", integer, first_applied_ms);
    }
};

#undef FF_COLUMN
#undef FF_COLUMNS
#pragma GCC diagnostic pop

}  // namespace ff::store
