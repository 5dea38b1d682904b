#include "store/views.h"

#include <string_view>

#include "core/records.h"
#include "core/suspension_records.h"

namespace ff::store {

namespace {

/// `CASE column WHEN 0 THEN 'word' … END AS name`
template <class E>
std::string word(const std::string& column, const std::string& name) {
    std::string out = "CASE " + column;
    for (std::size_t i = 0; i < enum_count<E>; ++i) {
        out += " WHEN " + std::to_string(i) + " THEN '" + std::string(enum_names<E>[i]) + "'";
    }
    return out + " END AS " + name;
}

std::string hex(const std::string& column, Dialect dialect) {
    return dialect == Dialect::sqlite ? "lower(hex(" + column + "))"
                                      : "encode(" + column + ", 'hex')";
}

/// A UUID kept as bytes, in its text form.
std::string uuid(const std::string& column, Dialect dialect) {
    const std::string h = hex(column, dialect);
    std::string out = "substr(" + h + ", 1, 8)";
    for (const auto& [at, size] : {std::pair{9, 4}, {13, 4}, {17, 4}, {21, 12}}) {
        out += " || '-' || substr(" + h + ", " + std::to_string(at) + ", " + std::to_string(size) +
               ")";
    }
    return out;
}

/// An execution id kept as 18 bytes, in its text form.
std::string execution_id(const std::string& column, Dialect dialect) {
    const std::string index =
        dialect == Dialect::sqlite
            ? "((instr('0123456789ABCDEF', substr(hex(" + column + "), 1, 1)) - 1) * 4096 + " +
                  "(instr('0123456789ABCDEF', substr(hex(" + column + "), 2, 1)) - 1) * 256 + " +
                  "(instr('0123456789ABCDEF', substr(hex(" + column + "), 3, 1)) - 1) * 16 + " +
                  "(instr('0123456789ABCDEF', substr(hex(" + column + "), 4, 1)) - 1))"
            : "(get_byte(" + column + ", 0) * 256 + get_byte(" + column + ", 1))";
    const std::string tail = dialect == Dialect::sqlite ? "substr(" + column + ", 3)"
                                                        : "substring(" + column + " from 3)";
    return "'{fp:' || " + index + " || '}:' || " + uuid(tail, dialect);
}

std::string create(const std::string& name, const std::string& select) {
    return "DROP VIEW IF EXISTS " + name + ";\nCREATE VIEW " + name + " AS " + select + ";\n";
}

/// A member of the execution's rare part.
std::string extra(const std::string& name, Dialect dialect) {
    return (dialect == Dialect::sqlite ? "json_extract(e.extra, '$." + name + "')"
                                       : "(e.extra::json ->> '" + name + "')") +
           " AS " + name;
}

/// Spelled out: SQLite's hex() of NULL is an empty text.
std::string unless_null(const std::string& column, const std::string& text,
                        const std::string& name) {
    return "CASE WHEN " + column + " IS NOT NULL THEN " + text + " END AS " + name;
}

std::string executions(Dialect d) {
    return "SELECT " + execution_id("e.id", d) +
           " AS execution_id, r.namespace, r.lane_id, r.execution_kind, e.priority, " +
           word<PublicState>("e.public_state", "public_state") + ", " +
           word<LifecyclePhase>("e.lifecycle_phase", "lifecycle_phase") + ", " +
           word<OwnershipState>("e.ownership_state", "ownership_state") + ", " +
           word<EligibilityState>("e.eligibility_state", "eligibility_state") + ", " +
           word<BlockingReason>("e.blocking_reason", "blocking_reason") + ", " +
           word<TerminalOutcome>("e.terminal_outcome", "terminal_outcome") + ", " +
           word<AttemptState>("e.attempt_state", "attempt_state") + ", " +
           extra("blocking_detail", d) +
           ", e.current_attempt_index, e.total_attempt_count, e.retry_count, " +
           extra("replay_count", d) + ", " + extra("lease_reclaim_count", d) +
           ", e.lease_epoch, e.worker_id, e.worker_instance_id, e.lease_expires_at,"
           " e.delay_until, e.execution_deadline_at, e.attempt_deadline_at, " +
           extra("progress_percent", d) + ", " + extra("progress_message", d) + ", " +
           extra("failure_reason", d) + ", " + extra("failure_category", d) + ", " +
           extra("cancellation_reason", d) + ", " + extra("cancelled_by", d) +
           ", e.created_at, e.started_at, e.completed_at, e.last_transition_at,"
           " e.last_mutation_at, i.tags,"
           " i.policy, " +
           unless_null("e.flow_id", uuid("e.flow_id", d), "flow_id") +
           ", i.flow_node, e.eid FROM ff_exec_core e JOIN ff_route r ON r.route = e.route"
           " JOIN ff_exec_input i ON i.eid = e.eid";
}

std::string attempts(Dialect d) {
    return "SELECT " + execution_id("e.id", d) + " AS execution_id, a.attempt_index, " +
           uuid("a.attempt_id", d) + " AS attempt_id, " +
           word<AttemptType>("a.attempt_type", "attempt_type") + ", " +
           word<AttemptLifecycle>("a.attempt_state", "attempt_state") +
           ", a.lease_epoch, a.worker_id, a.worker_instance_id, a.started_at, a.ended_at,"
           " a.failure_reason, a.failure_category FROM ff_attempt a"
           " JOIN ff_exec_core e ON e.eid = a.eid";
}

std::string flows_view(Dialect d) {
    return "SELECT " + uuid("flow_id", d) + " AS flow_id, partition, flow_kind, namespace, " +
           word<FlowState>("flow_state", "public_flow_state") +
           ", sealed, paused, graph_revision, node_count, edge_count, live_members, bad_members,"
           " trimmed_members, slots, deadline_at, " +
           word<OnMemberFailure>("on_member_failure", "on_member_failure") +
           ", max_active_members, created_at, last_mutation_at, cancelled_at, cancel_reason, " +
           word<CancellationPolicy>("cancellation_policy", "cancellation_policy") +
           ", finished_at, tags, held FROM ff_flow";
}

std::string edges(Dialect d) {
    return "SELECT " + uuid("flow_id", d) + " AS flow_id, " + uuid("edge_id", d) + " AS edge_id, " +
           execution_id("upstream_id", d) + " AS upstream_execution_id, " +
           execution_id("downstream_id", d) + " AS downstream_execution_id, " +
           word<DependencyKind>("dependency_kind", "dependency_kind") + ", " +
           word<EdgeState>("edge_state", "edge_state") + ", " +
           word<DependencyState>("dependency_state", "dependency_state") + ", " +
           word<TerminalOutcome>("outcome", "resolved_outcome") +
           ", data_passing_ref, condition, created_at, applied_at, resolved_at FROM ff_edge_now";
}

/// Groups that have no row, made from their only edges (store/implied.h). In numbers: dependency 1
/// is satisfied, 2 impossible, 3 not taken; outcome 5 skipped; a group 1 satisfied, 2 impossible.
constexpr std::string_view implied_groups =
    " UNION ALL SELECT e.flow_id, e.downstream_id, 0, 1, 0,"
    " CASE e.dependency_state WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 2 ELSE 0 END, 1, "
    "e.edge_state,"
    " CASE WHEN e.dependency_state = 1 THEN 1 ELSE 0 END,"
    " CASE WHEN e.dependency_state = 2 AND e.outcome <> 5 THEN 1 ELSE 0 END,"
    " CASE WHEN e.dependency_state = 2 AND e.outcome = 5 THEN 1 ELSE 0 END,"
    " CASE WHEN e.dependency_state = 3 THEN 1 ELSE 0 END,"
    " CASE WHEN e.dependency_state = 1 THEN e.resolved_at END, 0, NULL, e.created_at"
    " FROM ff_edge_now e WHERE NOT EXISTS (SELECT 1 FROM ff_edge_group x"
    " WHERE x.flow_id = e.flow_id AND x.downstream_id = e.downstream_id)";

std::string edge_groups(Dialect d) {
    return "SELECT " + uuid("flow_id", d) + " AS flow_id, " + execution_id("downstream_id", d) +
           " AS downstream_execution_id, " + word<GroupPolicyKind>("policy", "policy") + ", k, " +
           word<OnSatisfied>("on_satisfied", "on_satisfied") + ", " +
           word<GroupState>("group_state", "group_state") +
           ", staged, applied, succeeded, failed, skipped, not_taken, satisfied_at,"
           " siblings_pending, siblings_reason, created_at FROM (SELECT flow_id, downstream_id,"
           " policy, k, on_satisfied, group_state, staged, applied, succeeded, failed, skipped,"
           " not_taken, satisfied_at, siblings_pending, siblings_reason, created_at"
           " FROM ff_edge_group" +
           std::string(implied_groups) + ") g";
}

std::string suspensions(Dialect d) {
    return "SELECT " + execution_id("execution_id", d) + " AS execution_id, episode, " +
           uuid("suspension_id", d) +
           " AS suspension_id, lane_id, attempt_index, waitpoints, reason_code, " +
           word<SuspensionRequester>("requested_by", "requested_by") +
           ", created_at, timeout_at, " +
           word<TimeoutBehavior>("timeout_behavior", "timeout_behavior") +
           ", condition, resume_policy, satisfied_counts, entered, last_signal_at, satisfied_at,"
           " closed_at, close_reason, " +
           word<ResumeTrigger>("resume_trigger", "resume_trigger") + ", resumed_by, " +
           unless_null("closer_signal_id", uuid("closer_signal_id", d), "closer_signal_id") +
           ", escalated_at, eid FROM ff_suspension";
}

// Without tokens: who may look at a store may not signal.
std::string waitpoints(Dialect d) {
    return "SELECT " + uuid("waitpoint_id", d) + " AS waitpoint_id, " +
           execution_id("execution_id", d) +
           " AS execution_id, attempt_index, episode, waitpoint_key, token_kid, " +
           word<WaitpointState>("waitpoint_state", "waitpoint_state") +
           ", required_signal_names, created_at, activated_at, satisfied_at, expires_at,"
           " closed_at, close_reason, signal_count, matched_signal_count, last_signal_at, eid"
           " FROM ff_waitpoint";
}

std::string signals(Dialect d) {
    return "SELECT s.eid, s.seq, " + uuid("s.signal_id", d) + " AS signal_id, " +
           uuid("s.waitpoint_id", d) + " AS waitpoint_id, " + execution_id("e.id", d) +
           " AS execution_id, " + word<SignalScope>("s.target_scope", "target_scope") +
           ", s.signal_name, s.signal_category, s.source_type, s.source_identity,"
           " s.correlation_id, s.created_at, s.accepted_at, s.payload, s.payload_encoding, " +
           word<SignalEffect>("s.observed_effect", "observed_effect") +
           ", s.matched FROM ff_signal s JOIN ff_exec_core e ON e.eid = s.eid";
}

std::string streams_view(Dialect d) {
    return "SELECT " + execution_id("e.id", d) +
           " AS execution_id, m.attempt_index, m.frame_count, m.total_bytes,"
           " m.last_ms || '-' || m.last_seq AS last_frame_id, m.last_frame_at,"
           " m.retained_durable, m.retained_summary, m.retained_best_effort,"
           " m.last_client_seq, m.created_at, m.expires_at, m.retention_ttl_ms,"
           " s.document AS summary, s.version AS summary_version, m.eid"
           " FROM ff_stream_meta m JOIN ff_exec_core e ON e.eid = m.eid"
           " LEFT JOIN ff_stream_summary s"
           " ON s.eid = m.eid AND s.attempt_index = m.attempt_index";
}

std::string stream_frames(Dialect d) {
    return "SELECT " + execution_id("e.id", d) +
           " AS execution_id, f.attempt_index, f.ms || '-' || f.seq AS frame_id, " +
           word<FrameMode>("f.mode", "mode") +
           ", f.frame_type, f.ts, f.payload, f.correlation_id, f.summary_version, f.ttl_ms,"
           " f.ms, f.seq, f.eid FROM ff_stream_frame f JOIN ff_exec_core e ON e.eid = f.eid";
}

std::string waitpoint_hmac() {
    return "SELECT kid, installed_at, is_current, expires_at, sealed FROM ff_hmac_key";
}

std::string lease_events(Dialect d) {
    return "SELECT v.event_id, v.occurred_at, " + execution_id("v.execution_id", d) +
           " AS execution_id, r.namespace, r.lane_id, " +
           word<core::LeaseEventType>("v.lease_event", "event") +
           ", v.lease_epoch, v.attempt_index, v.worker_id, v.worker_instance_id, v.reason,"
           " v.revoked_by FROM ff_exec_event v JOIN ff_route r ON r.route = v.route"
           " WHERE v.lease_event <> 0";
}

std::string completion_events(Dialect d) {
    return "SELECT v.event_id, v.occurred_at, " + execution_id("v.execution_id", d) +
           " AS execution_id, r.namespace, r.lane_id, r.execution_kind, " +
           word<TerminalOutcome>("v.outcome", "outcome") +
           ", v.attempt_index FROM ff_exec_event v JOIN ff_route r ON r.route = v.route"
           " WHERE v.outcome IS NOT NULL";
}

std::string log_events(core::LogFamily family, Dialect d) {
    const std::string flow = family == core::LogFamily::flows
                                 ? unless_null("flow_id", uuid("flow_id", d), "flow_id") + ", "
                                 : "";
    return "SELECT event_id, occurred_at, type, " + flow +
           unless_null("execution_id", execution_id("execution_id", d), "execution_id") +
           ", namespace, tags, payload FROM ff_log_event WHERE family = " +
           std::to_string(static_cast<int>(family));
}

}  // namespace

std::string view_statements(Dialect d) {
    return create("ff_executions", executions(d)) + create("ff_attempts", attempts(d)) +
           create("ff_flows", flows_view(d)) + create("ff_flow_core", flows_view(d)) +
           create("ff_edges", edges(d)) + create("ff_edge_groups", edge_groups(d)) +
           create("ff_suspensions", suspensions(d)) + create("ff_waitpoints", waitpoints(d)) +
           create("ff_signals", signals(d)) + create("ff_streams", streams_view(d)) +
           create("ff_stream_frames", stream_frames(d)) +
           create("ff_waitpoint_hmac", waitpoint_hmac()) +
           create("ff_lease_event", lease_events(d)) +
           create("ff_completion_event", completion_events(d)) +
           create("ff_signal_event", log_events(core::LogFamily::signal_delivery, d)) +
           create("ff_operator_event", log_events(core::LogFamily::operator_, d)) +
           create("ff_worker_registry_event", log_events(core::LogFamily::workers, d)) +
           create("ff_flow_event", log_events(core::LogFamily::flows, d));
}

}  // namespace ff::store
