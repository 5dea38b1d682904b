// The requests of suspension: what their members are called.
#include "wire/suspension_requests.h"

#include "wire/request_visitor.h"
#include "wire/requests.h"

namespace ff::wire {

// ------------------------------------------------------------------------------ under a lease

void describe_request(RequestVisitor& v, CreateWaitpoint& op) {
    v.lease(op.lease);
    v.required("waitpoint_key", op.waitpoint_key);
    v.required("expires_in_ms", op.expires_in_ms);
}

void describe_request(RequestVisitor& v, CloseWaitpoint& op) {
    v.lease(op.lease);
    v.path_id("waitpoint_id", op.waitpoint_id);
    v.or_null("reason", op.reason);
}

void describe_request(RequestVisitor& v, Suspend& op) {
    v.lease(op.lease);
    v.optional("suspension_id", op.suspension_id);
    v.waitpoints("waitpoints", op.waitpoints);
    v.condition("resume_condition", op.resume_condition);
    v.resume_policy("resume_policy", op.resume_policy);
    v.either_word("reason_code", op.reason_code);
    v.either_word("requested_by", op.requested_by);
    v.optional("timeout_at", op.timeout_at);
    v.either_word("timeout_behavior", op.timeout_behavior);
    v.optional("continuation_metadata_pointer", op.continuation_metadata_pointer);
    v.or_null("idempotency_key", op.idempotency_key);
}

void describe_request(RequestVisitor& v, ObserveSignals& op) {
    v.attempt(op.execution_id, op.attempt_index);
}

// ------------------------------------------------------------------------------------ signals

/// `detail` adds to a duplicate what the first one did, which older clients do not expect.
void describe_request(RequestVisitor& v, DeliverSignal& op) {
    v.id(op.execution_id);
    v.query_constant("detail", "true");
    v.required("waitpoint_id", op.waitpoint_id);
    v.optional("signal_id", op.signal_id);
    v.required("signal_name", op.signal_name);
    v.defaulted("signal_category", op.signal_category);
    v.defaulted("source_type", op.source_type);
    v.defaulted("source_identity", op.source_identity);
    v.either_word("target_scope", op.target_scope);
    v.required("waitpoint_token", op.waitpoint_token);
    v.payload(op.payload);
    v.or_null("payload_encoding", op.payload_encoding);
    v.or_null("correlation_id", op.correlation_id);
    v.or_null("idempotency_key", op.idempotency_key);
    v.optional("created_at", op.created_at);
    v.or_null("dedup_ttl_ms", op.dedup_ttl_ms);
    v.optional("resume_delay_ms", op.resume_delay_ms);
    v.or_null("signal_maxlen", op.signal_maxlen);
    v.optional("max_signals_per_execution", op.max_signals_per_execution);
}

void describe_request(RequestVisitor& v, DeliverApprovalSignal& op) {
    v.id(op.execution_id);
    v.query_constant("detail", "true");
    v.lane("lane_id", op.lane_id);
    v.required("waitpoint_id", op.waitpoint_id);
    v.required("signal_name", op.signal_name);
    v.required("idempotency_suffix", op.idempotency_suffix);
    v.or_null("signal_dedup_ttl_ms", op.signal_dedup_ttl_ms);
    v.optional("maxlen", op.maxlen);
    v.optional("max_signals_per_execution", op.max_signals_per_execution);
    v.optional("signal_id", op.signal_id);
    v.or_null("actor", op.actor);
    v.optional("note", op.note);
}

void describe_request(RequestVisitor& v, ResumeExecution& op) {
    v.id(op.execution_id);
    v.either_word("trigger_type", op.trigger_type);
    v.or_null("resume_delay_ms", op.resume_delay_ms);
    v.or_null("actor", op.actor);
    v.or_null("reason", op.reason);
}

void describe_request(RequestVisitor& v, ExpireSuspension& op) { v.id(op.execution_id); }

// --------------------------------------------------------------------------------------- keys

void describe_request(RequestVisitor& v, SeedWaitpointKey& op) {
    v.required("kid", op.kid);
    v.required("secret_hex", op.secret_hex);
}

/// Without `grace_ms` the server's own counts. `detail` adds what older clients do not expect.
void describe_request(RequestVisitor& v, RotateWaitpointKey& op) {
    v.query_constant("detail", "true");
    v.required("new_kid", op.new_kid);
    v.required("new_secret_hex", op.new_secret_hex);
    v.grace("grace_ms", op.grace_ms);
}

void describe_request(RequestVisitor& /*v*/, ListWaitpointKeys& /*op*/) {}

// -------------------------------------------------------------------------------------- reads

/// `detail` adds the counts of signals.
void describe_request(RequestVisitor& v, ListPendingWaitpoints& op) {
    v.id(op.execution_id);
    v.query_constant("detail", "true");
    v.query_optional("after", op.after);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ReadWaitpointToken& op) {
    v.id(op.execution_id);
    v.path_id("waitpoint_id", op.waitpoint_id);
}

void describe_request(RequestVisitor& v, FindWaitpoint& op) {
    v.path_id("waitpoint_id", op.waitpoint_id);
}

void describe_request(RequestVisitor& v, ListSuspensions& op) {
    v.id(op.execution_id);
    v.query_optional("latest", op.latest);
}

void describe_request(RequestVisitor& v, ListSuspended& op) {
    v.query_optional("partition", op.partition);
    v.query_optional("lane", op.lane_id);
    v.query_optional("namespace", op.ns);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ListSignals& op) {
    v.id(op.execution_id);
    v.query_sequence("after_seq", op.after_seq);
    v.query_limit(op.limit, 100, page_items_max);
    v.query_flag("with_payload", op.with_payload);
    v.query_optional("signal_id", op.signal_id);
}

}  // namespace ff::wire
