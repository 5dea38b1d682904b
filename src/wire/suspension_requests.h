// The requests of suspension, described once like those of requests.h: waiting, signals, keys.
//
// `now` is accepted in every body and not looked at: the store's clock decides. Words may be
// spelled as here (`WaitingForApproval`) or as they are stored (`waiting_for_approval`).
#pragma once

#include <string_view>
#include <type_traits>

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

FF_BIND(CreateWaitpoint, post, "/v1/executions/{id}/attempts/{idx}/waitpoints", control,
        "Make a waitpoint ahead of the suspension")
FF_BIND(CloseWaitpoint, post, "/v1/executions/{id}/attempts/{idx}/waitpoints/{waitpoint_id}/close",
        control, "Close a waitpoint that was made ahead and is not needed")
FF_BIND(Suspend, post, "/v1/executions/{id}/attempts/{idx}/suspend", large,
        "Give the lease back until signals come")
FF_BIND(ObserveSignals, get, "/v1/executions/{id}/attempts/{idx}/resume-signals", control,
        "The signals that ended the latest suspension of an attempt")
FF_BIND(DeliverSignal, post, "/v1/executions/{id}/signal", medium, "Deliver a signal")
FF_BIND(DeliverApprovalSignal, post, "/v1/executions/{id}/approval-signal", control,
        "Approve or reject, as an operator")
FF_BIND(ResumeExecution, post, "/v1/executions/{id}/resume", control,
        "End a suspension, as an operator")
FF_BIND(ExpireSuspension, post, "/v1/executions/{id}/expire-suspension", control,
        "Apply the timeout of a suspension that is past due")
FF_BIND(ListPendingWaitpoints, get, "/v1/executions/{id}/pending-waitpoints", control,
        "Its open waitpoints, by id")
FF_BIND(ReadWaitpointToken, get, "/v1/executions/{id}/waitpoints/{waitpoint_id}/token", control,
        "The token of an open waitpoint")
FF_BIND(FindWaitpoint, get, "/v1/waitpoints/{waitpoint_id}", control,
        "A waitpoint by its id, whatever its state")
FF_BIND(ListSuspensions, get, "/v1/executions/{id}/suspensions", control,
        "Every time it has waited, oldest first")
FF_BIND(ListSuspended, get, "/v1/suspended", control,
        "Suspended executions, those whose time runs out first at the head")
FF_BIND(ListSignals, get, "/v1/executions/{id}/signals", control, "Every signal it has accepted")
FF_BIND(SeedWaitpointKey, post, "/v1/admin/seed-waitpoint-secret", control,
        "Install the first key that signs waitpoint tokens")
FF_BIND(RotateWaitpointKey, post, "/v1/admin/rotate-waitpoint-secret", control,
        "Sign waitpoint tokens with a new key")
FF_BIND(ListWaitpointKeys, get, "/v1/admin/waitpoint-kids", control,
        "The names of the keys that sign and verify waitpoint tokens")

// ------------------------------------------------------------------------------ under a lease

template <class V>
void describe_request(V& v, CreateWaitpoint& op) {
    v.lease(op.lease);
    v.required("waitpoint_key", op.waitpoint_key);
    v.required("expires_in_ms", op.expires_in_ms);
}

template <class V>
void describe_request(V& v, CloseWaitpoint& op) {
    v.lease(op.lease);
    v.path_id("waitpoint_id", op.waitpoint_id);
    v.or_null("reason", op.reason);
}

template <class V>
void describe_request(V& v, Suspend& op) {
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

template <class V>
void describe_request(V& v, ObserveSignals& op) {
    v.attempt(op.execution_id, op.attempt_index);
}

// ------------------------------------------------------------------------------------ signals

/// `detail` adds to a duplicate what the first one did, which older clients do not expect.
template <class V>
void describe_request(V& v, DeliverSignal& op) {
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

template <class V>
void describe_request(V& v, DeliverApprovalSignal& op) {
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

template <class V>
void describe_request(V& v, ResumeExecution& op) {
    v.id(op.execution_id);
    v.either_word("trigger_type", op.trigger_type);
    v.or_null("resume_delay_ms", op.resume_delay_ms);
    v.or_null("actor", op.actor);
    v.or_null("reason", op.reason);
}

template <class V>
void describe_request(V& v, ExpireSuspension& op) {
    v.id(op.execution_id);
}

// --------------------------------------------------------------------------------------- keys

template <class V>
void describe_request(V& v, SeedWaitpointKey& op) {
    v.required("kid", op.kid);
    v.required("secret_hex", op.secret_hex);
}

/// Without `grace_ms` the server's own counts. `detail` adds what older clients do not expect.
template <class V>
void describe_request(V& v, RotateWaitpointKey& op) {
    v.query_constant("detail", "true");
    v.required("new_kid", op.new_kid);
    v.required("new_secret_hex", op.new_secret_hex);
    v.grace("grace_ms", op.grace_ms);
}

template <class V>
void describe_request(V& /*v*/, ListWaitpointKeys& /*op*/) {}

// -------------------------------------------------------------------------------------- reads

/// `detail` adds the counts of signals.
template <class V>
void describe_request(V& v, ListPendingWaitpoints& op) {
    v.id(op.execution_id);
    v.query_constant("detail", "true");
    v.query_optional("after", op.after);
    v.query_limit(op.limit, 100);
}

template <class V>
void describe_request(V& v, ReadWaitpointToken& op) {
    v.id(op.execution_id);
    v.path_id("waitpoint_id", op.waitpoint_id);
}

template <class V>
void describe_request(V& v, FindWaitpoint& op) {
    v.path_id("waitpoint_id", op.waitpoint_id);
}

template <class V>
void describe_request(V& v, ListSuspensions& op) {
    v.id(op.execution_id);
    v.query_optional("latest", op.latest);
}

template <class V>
void describe_request(V& v, ListSuspended& op) {
    v.query_optional("partition", op.partition);
    v.query_optional("lane", op.lane_id);
    v.query_optional("namespace", op.ns);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V>
void describe_request(V& v, ListSignals& op) {
    v.id(op.execution_id);
    v.query_sequence("after_seq", op.after_seq);
    v.query_limit(op.limit, 100);
    v.query_flag("with_payload", op.with_payload);
    v.query_optional("signal_id", op.signal_id);
}

}  // namespace ff::wire
