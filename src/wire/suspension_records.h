// The records of suspension that answers are made of, described once for writing and for reading.
//
// They are projections of rows: words stand as they are stored. Tokens are in tickets alone.
#pragma once

#include <string>

#include <ff/contracts.h>

#include "wire/object.h"

namespace ff::wire {

/// A waitpoint as older clients know it: without what is not there, without counts.
template <class V>
void describe_waitpoint(V& v, WaitpointInfo& waitpoint) {
    v.field("waitpoint_id", waitpoint.waitpoint_id);
    v.field("waitpoint_key", waitpoint.waitpoint_key);
    v.field("state", waitpoint.state);
    v.field("required_signal_names", waitpoint.required_signal_names);
    v.field("created_at", waitpoint.created_at);
    v.field_if("activated_at", waitpoint.activated_at);
    v.field_if("expires_at", waitpoint.expires_at);
    v.field("execution_id", waitpoint.execution_id);
    v.field("token_kid", waitpoint.token_kid);
    v.field("token_fingerprint", waitpoint.token_fingerprint);
}

template <class V>
void describe(V& v, WaitpointInfo& waitpoint) {
    describe_waitpoint(v, waitpoint);
    v.field("signal_count", waitpoint.signal_count);
    v.field("matched_signal_count", waitpoint.matched_signal_count);
}

template <class V>
void describe(V& v, WaitpointTicket& ticket) {
    v.field("waitpoint_id", ticket.waitpoint_id);
    v.field("waitpoint_key", ticket.waitpoint_key);
    v.field("waitpoint_token", ticket.waitpoint_token);
}

template <class V>
void describe(V& v, SuspensionDetails& details) {
    v.field("suspension_id", details.suspension_id);
    describe(v, details.waitpoint);
    v.objects("additional_waitpoints", details.additional);
}

/// What a suspension keeps of a waitpoint.
struct BoundWaitpoint {
    WaitpointId waitpoint_id;
    std::string waitpoint_key;
};

template <class V>
void describe(V& v, BoundWaitpoint& bound) {
    v.field("waitpoint_id", bound.waitpoint_id);
    v.field("waitpoint_key", bound.waitpoint_key);
}

template <class V>
void describe(V& v, SuspensionInfo& s) {
    v.field("suspension_id", s.suspension_id);
    v.field("execution_id", s.execution_id);
    v.field("attempt_index", s.attempt_index);
    v.field("waitpoint_id", s.waitpoint_id);
    v.field("waitpoint_key", s.waitpoint_key);
    std::vector<BoundWaitpoint> additional;
    for (const auto& [id, key] : s.additional_waitpoints) {
        additional.push_back({id, key});
    }
    v.objects("additional_waitpoints", additional);
    if constexpr (V::reads) {
        s.additional_waitpoints.clear();
        for (BoundWaitpoint& bound : additional) {
            s.additional_waitpoints.emplace_back(bound.waitpoint_id,
                                                 std::move(bound.waitpoint_key));
        }
    }
    v.field("reason_code", s.reason_code);
    v.field("requested_by", s.requested_by);
    v.field("created_at", s.created_at);
    v.field("timeout_at", s.timeout_at);
    v.field("timeout_behavior", s.timeout_behavior);
    v.field("resume_condition", s.resume_condition);
    v.field("resume_policy", s.resume_policy);
    v.field("continuation_metadata_pointer", s.continuation_metadata_pointer);
    v.field("last_signal_at", s.last_signal_at);
    v.field("satisfied_at", s.satisfied_at);
    v.field("closed_at", s.closed_at);
    v.field("close_reason", s.close_reason);
    v.field("resume_trigger", s.resume_trigger);
    v.field("resumed_by", s.resumed_by);
    v.field("closer_signal_id", s.closer_signal_id);
    v.field("all_satisfier_signals", s.all_satisfier_signals);
    v.field("escalated_at", s.escalated_at);
    v.field("remaining_attempt_timeout_ms", s.remaining_attempt_timeout_ms);
}

template <class V>
void describe(V& v, SuspendedEntry& entry) {
    v.field("execution_id", entry.execution_id);
    v.field("suspended_at_ms", entry.suspended_at_ms);
    v.field("suspended_since_ms", entry.suspended_since_ms);
    v.field("reason", entry.reason);
    v.field("lane_id", entry.lane_id);
    v.field("namespace", entry.ns);
    v.field("execution_kind", entry.execution_kind);
    v.field("waitpoint_id", entry.waitpoint_id);
}

/// A signal as the worker that it resumed sees it.
template <class V>
void describe(V& v, SignalInfo& signal) {
    v.field("seq", signal.seq);
    v.field("signal_id", signal.signal_id);
    v.field("execution_id", signal.execution_id);
    v.field("waitpoint_id", signal.waitpoint_id);
    v.field("target_scope", signal.target_scope);
    v.field("signal_name", signal.signal_name);
    v.field("signal_category", signal.signal_category);
    v.field("source_type", signal.source_type);
    v.field("source_identity", signal.source_identity);
    v.field("correlation_id", signal.correlation_id);
    v.field("idempotency_key", signal.idempotency_key);
    v.field("created_at", signal.created_at);
    v.field("accepted_at", signal.accepted_at);
    v.bytes_if("payload", signal.payload);
    v.field("payload_encoding", signal.payload_encoding);
    v.field("observed_effect", signal.observed_effect);
    v.field("matched", signal.matched);
}

/// A signal as the ledger has it: the same, by the names of spec 04 section 3.
struct LedgerRow {
    SignalInfo signal;
};

template <class V>
void describe(V& v, LedgerRow& row) {
    SignalInfo& signal = row.signal;
    v.field("seq", signal.seq);
    v.field("signal_id", signal.signal_id);
    v.field("target_execution_id", signal.execution_id);
    v.field("target_waitpoint_id", signal.waitpoint_id);
    v.field("target_scope", signal.target_scope);
    v.field("signal_name", signal.signal_name);
    v.field("signal_category", signal.signal_category);
    v.field("source_type", signal.source_type);
    v.field("source_identity", signal.source_identity);
    v.field("correlation_id", signal.correlation_id);
    v.field("idempotency_key", signal.idempotency_key);
    v.field("created_at_ms", signal.created_at);
    v.field("accepted_at_ms", signal.accepted_at);
    v.bytes_if("payload", signal.payload);
    v.field("payload_encoding", signal.payload_encoding);
    v.field("observed_effect", signal.observed_effect);
    v.field("matched", signal.matched);
}

template <class V>
void describe(V& v, KeyList::Retired& key) {
    v.field("kid", key.kid);
    v.field("expires_at_ms", key.expires_at_ms);
}

template <class V>
void describe(V& v, KeyList& keys) {
    v.field("current_kid", keys.current_kid);
    v.objects("verifying", keys.verifying);
}

}  // namespace ff::wire
