#include "store/catalogue.h"

namespace ff::store::sql {

using core::Attempt;
using core::Edge;
using core::EdgeGroup;
using core::Execution;
using core::ExecutionEvent;
using core::ExecutionInput;
using core::Flow;
using core::FlowWork;
using core::GrantRow;
using core::HmacKey;
using core::IdempotencyEntry;
using core::Lane;
using core::LogEvent;
using core::Route;
using core::Satisfier;
using core::Signal;
using core::Suspension;
using core::Waitpoint;
using core::WorkerRow;

// Numbers that stand in the texts below and in the conditions of indexes.
static_assert(static_cast<int>(EventFamily::completion) == 0);
static_assert(static_cast<int>(EventFamily::lease_history) == 1);
static_assert(static_cast<int>(core::LeaseEventType::acquired) == 1);
static_assert(static_cast<int>(core::LeaseEventType::renewed) == 2);
static_assert(static_cast<int>(core::LeaseEventType::reclaimed) == 4);
static_assert(static_cast<int>(WaitpointState::pending) == 0);
static_assert(static_cast<int>(WaitpointState::active) == 1);
static_assert(static_cast<int>(SignalEffect::buffered_for_pending_waitpoint) == 6);

std::string select_where(const TableInfo& table, const std::string& rest) {
    return "SELECT " + column_list(table) + " FROM " + table.source + " WHERE " + rest;
}

std::string executions_through(const std::string& side_table, const std::string& rest) {
    return "SELECT " + column_list<Execution>("e.") + " FROM " + side_table +
           " s JOIN ff_exec_core e ON e.eid = s.eid WHERE " + rest;
}

namespace {

// A literal: texts of other files are made of it, maybe before those of this one.
constexpr const char* floor_text = "SELECT MAX(through) FROM ff_event_trim WHERE family <= 1";

/// Remembers how far events are about to be deleted; `select` gives a family and its highest id.
std::string trim_mark(const std::string& select) {
    return "INSERT INTO ff_event_trim (family, through) " + select +
           " HAVING MAX(event_id) IS NOT NULL"
           " ON CONFLICT (family) DO UPDATE SET through = excluded.through";
}

/// `first` is the number of the first parameter that `from` leaves.
EventTexts event_texts(const std::string& from, int first) {
    const std::string after = "event_id > $" + std::to_string(first);
    const std::string second = "$" + std::to_string(first + 1);
    const std::string third = "$" + std::to_string(first + 2);
    return {"SELECT MAX(event_id) FROM (SELECT event_id, occurred_at FROM " + from + after +
                " ORDER BY event_id LIMIT " + second + ") t WHERE t.occurred_at < " + third,
            "SELECT event_id FROM " + from + after + " ORDER BY event_id LIMIT 1 OFFSET " + second,
            "SELECT COUNT(*) FROM " + from + after + " AND event_id <= " + second};
}

}  // namespace

// ------------------------------------------------------------------ one row, by what names it

const std::string execution_by_id = select_where<Execution>("id = $1");
const std::string execution_by_eid = select_where<Execution>("eid = $1");
const std::string input_by_eid = select_where<ExecutionInput>("eid = $1");
const std::string attempt_by_key = select_where<Attempt>("eid = $1 AND attempt_index = $2");
const std::string attempts_of = select_where<Attempt>("eid = $1 ORDER BY attempt_index");
const std::string grant_by_eid = select_where<GrantRow>("eid = $1");
const std::string lane_by_name = select_where<Lane>("lane_id = $1");
const std::string idempotency_by_key =
    select_where<IdempotencyEntry>("namespace = $1 AND idempotency_key = $2");
const std::string worker_by_key =
    select_where<WorkerRow>("namespace = $1 AND worker_instance_id = $2");
const std::string route_by_id = select_where<Route>("route = $1");
const std::string all_routes = select_where<Route>("route >= 0 ORDER BY route");

const std::string flow_by_id = select_where<Flow>("flow_id = $1");
const std::string edge_by_key = select_where<Edge>("flow_id = $1 AND edge_id = $2");
const std::string edges_of_flow = select_where<Edge>("flow_id = $1 ORDER BY edge_id");
const std::string edges_out = select_where<Edge>("upstream_id = $1 ORDER BY edge_id");
const std::string edges_in = select_where<Edge>("downstream_id = $1 ORDER BY edge_id");
const std::string group_by_key = select_where<EdgeGroup>("flow_id = $1 AND downstream_id = $2");
const std::string groups_of_flow = select_where<EdgeGroup>("flow_id = $1 ORDER BY downstream_id");
const std::string work_by_key =
    select_where<FlowWork>("flow_id = $1 AND kind = $2 AND execution_id = $3");
const std::string member_ids = "SELECT id FROM ff_exec_core WHERE flow_id = $1 ORDER BY id";

const std::string waitpoint_by_id = select_where<Waitpoint>("waitpoint_id = $1");
const std::string suspension_by_key = select_where<Suspension>("eid = $1 AND episode = $2");
const std::string signal_by_id = select_where<Signal>("eid = $1 AND signal_id = $2");
// The newest: a key may be used again once its time is over.
const std::string signal_by_idempotency_key =
    select_where<Signal>("waitpoint_id = $1 AND idempotency_key = $2 ORDER BY seq DESC LIMIT 1");
// observed_effect 6 is buffered_for_pending_waitpoint.
const std::string signals_buffered =
    select_where<Signal>("waitpoint_id = $1 AND observed_effect = 6 ORDER BY seq");
const std::string satisfier_by_key =
    select_where<Satisfier>("eid = $1 AND episode = $2 AND node = $3 AND token = $4");
const std::string all_hmac_keys = select_where<HmacKey>("kid >= '' ORDER BY kid");

// -------------------------------------------------------------------------- scans of the writer

const std::string ready_head =
    "SELECT rank, place, eid FROM ff_ready WHERE route = $1 AND (rank, place) > ($2, $3)"
    " ORDER BY rank, place LIMIT $4";
const std::string timers_due =
    "SELECT due_at, eid FROM ff_timer WHERE kind = $1 AND due_at <= $2 ORDER BY due_at, eid"
    " LIMIT $3";
// One statement, since it may be a round trip. Each part is a look into an index.
const std::string next_due =
    "SELECT MIN(due_at) FROM ff_timer WHERE kind = 0 AND due_at > $1"
    " UNION ALL SELECT MIN(due_at) FROM ff_timer WHERE kind = 1 AND due_at > $1"
    " UNION ALL SELECT MIN(due_at) FROM ff_timer WHERE kind = 2 AND due_at > $1"
    " UNION ALL SELECT MIN(timer_at) FROM ff_flow WHERE timer_at > $1"
    " UNION ALL SELECT MIN(due_at) FROM ff_flow_work WHERE due_at > $1"
    " UNION ALL SELECT MIN(timer_at) FROM ff_budget WHERE timer_at > $1"
    " UNION ALL SELECT MIN(wake_at) FROM ff_quota_policy WHERE wake_at > $1";
const std::string bucket_after =
    "SELECT eid FROM ff_listed WHERE bucket = $1 AND eid > $2 ORDER BY eid LIMIT $3";
const std::string executions_after =
    "SELECT eid FROM ff_exec_core WHERE eid > $1 ORDER BY eid LIMIT $2";
// Every leased execution has a timer of kind 0 (lease): the scan is as long as there are leases.
const std::string leased_by_instance =
    "SELECT e.id FROM ff_timer s JOIN ff_exec_core e ON e.eid = s.eid"
    " JOIN ff_route r ON r.route = e.route"
    " WHERE s.kind = 0 AND e.worker_instance_id = $1 AND r.namespace = $2 ORDER BY e.eid";
const std::string workers_all =
    select_where<WorkerRow>("namespace >= '' ORDER BY namespace, worker_instance_id");

const std::string flows_due =
    "SELECT flow_id FROM ff_flow WHERE timer_at <= $1 ORDER BY timer_at, flow_id LIMIT $2";
const std::string flows_held = "SELECT flow_id FROM ff_flow WHERE held = 1";
const std::string flow_ids_after =
    "SELECT flow_id FROM ff_flow WHERE flow_id > $1 ORDER BY flow_id LIMIT $2";
// edge_state 0 is pending, flow_state 0 is open.
const std::string edges_staged =
    "SELECT flow_id, edge_id FROM ff_edge WHERE edge_state = 0 AND created_at < $1 AND EXISTS"
    " (SELECT 1 FROM ff_flow f WHERE f.flow_id = ff_edge.flow_id AND f.flow_state = 0)"
    " ORDER BY created_at, flow_id, edge_id LIMIT $2";
const std::string work_due =
    select_where<FlowWork>("due_at <= $1 ORDER BY due_at, flow_id, kind, execution_id LIMIT $2");

// ------------------------------------------------------------------------------ side tables

const std::string ready_insert =
    "INSERT INTO ff_ready (route, rank, place, eid) VALUES ($1, $2, $3, $4)";
const std::string ready_delete =
    "DELETE FROM ff_ready WHERE route = $1 AND rank = $2 AND place = $3 AND eid = $4";
const std::string timer_insert = "INSERT INTO ff_timer (kind, due_at, eid) VALUES ($1, $2, $3)";
const std::string timer_delete =
    "DELETE FROM ff_timer WHERE kind = $1 AND due_at = $2 AND eid = $3";
const std::string turn_insert = "INSERT INTO ff_turn (queue, eid) VALUES ($1, $2)";
const std::string turn_delete = "DELETE FROM ff_turn WHERE queue = $1 AND eid = $2";
const std::string turns_of_queue = "SELECT eid FROM ff_turn WHERE queue = $1";
const std::string turns_after =
    "SELECT queue, eid FROM ff_turn WHERE (queue, eid) > ($1, $2) ORDER BY queue, eid LIMIT $3";
const std::string listed_insert = "INSERT INTO ff_listed (bucket, eid) VALUES ($1, $2)";
const std::string listed_delete = "DELETE FROM ff_listed WHERE bucket = $1 AND eid = $2";
const std::string tag_insert =
    "INSERT INTO ff_exec_tag (tag_key, tag_value, eid) VALUES ($1, $2, $3)";
const std::string tag_delete =
    "DELETE FROM ff_exec_tag WHERE tag_key = $1 AND tag_value = $2 AND eid = $3";
const std::string input_delete = "DELETE FROM ff_exec_input WHERE eid = $1";
const std::string attempts_delete = "DELETE FROM ff_attempt WHERE eid = $1";
// A key may have expired and been taken by a newer execution: only the own entry goes.
const std::string idempotency_delete_own =
    "DELETE FROM ff_idempotency WHERE namespace = $1 AND idempotency_key = $2"
    " AND execution_id = $3";
// What is looked for is what the view ff_edge_now completes. In numbers: phase 4 is terminal,
// outcome 1 success, dependency 1 satisfied and 2 impossible.
std::string spell_out_edges(const std::string& ids) {
    return "UPDATE ff_edge SET"
           " dependency_state = CASE u.terminal_outcome WHEN 1 THEN 1 ELSE 2 END,"
           " outcome = u.terminal_outcome, resolved_at = u.completed_at FROM ff_exec_core u"
           " WHERE u.id " +
           ids +
           " AND u.edges_told = 1 AND u.lifecycle_phase = 4 AND ff_edge.upstream_id = u.id AND "
           "ff_edge.edge_state = 1"
           " AND ff_edge.dependency_state = 0 AND ff_edge.dependency_kind = 0"
           " AND ff_edge.condition IS NULL AND ff_edge.fence_replays IS NULL";
}
const std::string edges_spell_out = spell_out_edges("= $1");
const std::string edges_delete = "DELETE FROM ff_edge WHERE flow_id = $1";
const std::string groups_delete = "DELETE FROM ff_edge_group WHERE flow_id = $1";
const std::string work_delete = "DELETE FROM ff_flow_work WHERE flow_id = $1";

const std::string suspensions_delete = "DELETE FROM ff_suspension WHERE eid = $1";
const std::string waitpoints_delete = "DELETE FROM ff_waitpoint WHERE eid = $1";
const std::string signals_delete = "DELETE FROM ff_signal WHERE eid = $1";
const std::string satisfiers_delete = "DELETE FROM ff_satisfier WHERE eid = $1";
const std::string stream_metas_delete = "DELETE FROM ff_stream_meta WHERE eid = $1";
const std::string frames_delete = "DELETE FROM ff_stream_frame WHERE eid = $1";
const std::string summaries_delete = "DELETE FROM ff_stream_summary WHERE eid = $1";

namespace {

/// The mode is a literal, and what the index of the rarer ones demands is said beside it.
std::string trim_text(FrameMode mode) {
    const std::string of_mode =
        mode == FrameMode::durable
            ? "mode = 0"
            : "mode = " + std::to_string(static_cast<int>(mode)) + " AND mode <> 0";
    const std::string of_stream = " WHERE eid = $1 AND attempt_index = $2 AND " + of_mode;
    return "DELETE FROM ff_stream_frame" + of_stream +
           " AND (ms, seq) <= (SELECT ms, seq FROM ff_stream_frame" + of_stream +
           " ORDER BY ms, seq LIMIT 1 OFFSET $3)";
}

}  // namespace

const std::string& frames_trim(FrameMode mode) {
    static const std::string durable = trim_text(FrameMode::durable);
    static const std::string summary = trim_text(FrameMode::summary);
    static const std::string best_effort = trim_text(FrameMode::best_effort);
    return mode == FrameMode::durable   ? durable
           : mode == FrameMode::summary ? summary
                                        : best_effort;
}

// ----------------------------------------------------------------------------------- upkeep

// The time is asked twice: where others write too, a row that was found may have been renewed when
// it is deleted.
const std::string grants_sweep =
    "DELETE FROM ff_claim_grant WHERE expires_at <= $1 AND eid IN (SELECT eid FROM ff_claim_grant"
    " WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";
const std::string idempotency_sweep =
    "DELETE FROM ff_idempotency WHERE expires_at <= $1 AND (namespace, idempotency_key) IN"
    " (SELECT namespace, idempotency_key FROM ff_idempotency WHERE expires_at <= $1"
    " ORDER BY expires_at LIMIT $2)";
// Who reads from before the mark has missed events. One text a family that shares the table.
const std::string completion_mark = trim_mark(
    "SELECT 0, MAX(event_id) FROM ff_exec_event WHERE event_id <= $1 AND event_id > $2"
    " AND outcome IS NOT NULL");
const std::string lease_mark = trim_mark(
    "SELECT 1, MAX(event_id) FROM ff_exec_event WHERE event_id <= $1 AND event_id > $2"
    " AND lease_event <> 0");
const std::string log_mark = trim_mark(
    "SELECT family + 2, MAX(event_id) FROM ff_log_event WHERE event_id <= $1 AND family = $2"
    " GROUP BY family");
const std::string history_floor = floor_text;
// lease_event 2 is renewed, which no history has. The subquery is one of a value: PostgreSQL would
// make a join of EXISTS, and might then read all executions.
const std::string exec_events_trim =
    "DELETE FROM ff_exec_event WHERE event_id <= $1 AND event_id > $2 AND (lease_event = 2 OR"
    " (SELECT e.eid FROM ff_exec_core e WHERE e.eid = ff_exec_event.eid) IS NULL)";
std::string history_delete_text(const std::string& head) {
    return "WITH RECURSIVE history(id, previous) AS (SELECT event_id, previous_event_id"
           " FROM ff_exec_event WHERE event_id " +
           head +
           " UNION ALL SELECT v.event_id, v.previous_event_id FROM history h"
           " JOIN ff_exec_event v ON v.event_id = h.previous)"
           " DELETE FROM ff_exec_event WHERE event_id IN (SELECT id FROM history WHERE id <= (" +
           floor_text + "))";
}
const std::string history_delete = history_delete_text("= $1");
// The heads are few, see core::cuts_history(): lease_event 1 is acquired, 4 is reclaimed.
const std::string history_cut = [] {
    const std::string epochs = std::to_string(core::history_epochs);
    return "WITH RECURSIVE history(id, previous, epoch, cut) AS (SELECT event_id,"
           " previous_event_id, lease_epoch, lease_epoch - " +
           epochs +
           " FROM ff_exec_event WHERE event_id <= $1 AND event_id > $2 AND lease_event IN (1, 4)"
           " AND lease_epoch > " +
           epochs + " AND lease_epoch % " + epochs +
           " = 0 UNION ALL SELECT v.event_id, v.previous_event_id, v.lease_epoch, h.cut"
           " FROM history h JOIN ff_exec_event v ON v.event_id = h.previous)"
           " DELETE FROM ff_exec_event WHERE event_id IN"
           " (SELECT id FROM history WHERE epoch <= cut)";
}();
const std::string log_events_trim = "DELETE FROM ff_log_event WHERE event_id <= $1 AND family = $2";
const std::string meta_get = "SELECT value FROM ff_meta WHERE name = $1";
const std::string meta_put =
    "INSERT INTO ff_meta (name, value) VALUES ($1, $2)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value";

const std::string highest_eid =
    "SELECT COALESCE(MAX(n), 0) FROM (SELECT MAX(eid) AS n FROM ff_exec_core"
    " UNION ALL SELECT MAX(eid) FROM ff_log_event WHERE eid IS NOT NULL"
    " UNION ALL SELECT MAX(place) FROM ff_ready WHERE eid <> 0"
    " UNION ALL SELECT value FROM ff_meta WHERE name = 'eid_high') numbers";
const std::string highest_event =
    "SELECT COALESCE(MAX(n), 0) FROM (SELECT MAX(event_id) AS n FROM ff_exec_event"
    " UNION ALL SELECT MAX(event_id) FROM ff_log_event"
    " UNION ALL SELECT value FROM ff_meta WHERE name = 'event_high') numbers";

// ------------------------------------------------------------------------------------ reads

const std::string ids_of_partition =
    "SELECT id FROM ff_exec_core WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3";

// Lists in both orders. A list ends with the window: its limits are the three parameters from
// `$first` on.

namespace {

std::string windowed(const std::string& column, int first, const char* direction) {
    const auto parameter = [&](int n) { return "$" + std::to_string(first + n); };
    return column + " > " + parameter(0) + " AND " + column + " < " + parameter(1) + " ORDER BY " +
           column + direction + " LIMIT " + parameter(2);
}

/// `make` gives the whole text around the window.
template <class Make>
ByOrder in_both_orders(const std::string& column, int first, Make make) {
    return {make(windowed(column, first, " DESC")), make(windowed(column, first, ""))};
}

ByOrder listed_through(const std::string& side_table, const std::string& condition, int first) {
    return in_both_orders("s.eid", first, [&](const std::string& window) {
        return executions_through(side_table, condition + " AND " + window);
    });
}

}  // namespace

const ByOrder executions_in_window = in_both_orders(
    "eid", 1, [](const std::string& window) { return select_where<Execution>(window); });
const ByOrder executions_of_route = in_both_orders("eid", 2, [](const std::string& window) {
    return select_where<Execution>("route = $1 AND " + window);
});
const ByOrder executions_with_tag =
    listed_through("ff_exec_tag", "s.tag_key = $1 AND s.tag_value = $2", 3);
const ByOrder executions_in_bucket = listed_through("ff_listed", "s.bucket = $1", 2);
const ByOrder executions_leased = listed_through("ff_timer", "s.kind = 0", 1);
// CROSS: both databases then go through the window, which is short, and look up each of it.
const ByOrder tagged_too = in_both_orders("eid", 3, [](const std::string& window) {
    return "SELECT t.eid FROM (SELECT eid FROM ff_exec_tag WHERE tag_key = $1 AND tag_value = $2"
           " AND " +
           window +
           ") s CROSS JOIN ff_exec_tag t"
           " WHERE t.tag_key = $6 AND t.tag_value = $7 AND t.eid = s.eid";
});
const std::string leased_due =
    executions_through("ff_timer",
                       "s.kind = 0 AND s.due_at <= $1 AND (s.due_at, s.eid) > ($2, $3)"
                       " ORDER BY s.due_at, s.eid LIMIT $4");
const std::string lanes_after = select_where<Lane>("lane_id > $1 ORDER BY lane_id LIMIT $2");
const std::string workers_after = select_where<WorkerRow>(
    "(namespace, worker_instance_id) > ($1, $2)"
    " ORDER BY namespace, worker_instance_id LIMIT $3");
const std::string workers_of_namespace_after = select_where<WorkerRow>(
    "namespace = $1 AND worker_instance_id > $2 ORDER BY worker_instance_id LIMIT $3");
const std::string flows_after = select_where<Flow>("flow_id > $1 ORDER BY flow_id LIMIT $2");
const std::string flows_of_partition_after =
    select_where<Flow>("partition = $1 AND flow_id > $2 ORDER BY flow_id LIMIT $3");
const std::string members_after =
    select_where<Execution>("flow_id = $1 AND id > $2 ORDER BY id LIMIT $3");
const std::string work_first = first_page_text(table_info<FlowWork>);
const std::string work_of_flow =
    select_where<FlowWork>("flow_id = $1 ORDER BY kind, execution_id LIMIT $2");
// Below 2: pending or active.
const std::string open_waitpoints_after = select_where<Waitpoint>(
    "eid = $1 AND waitpoint_state < 2 AND waitpoint_id > $2 ORDER BY waitpoint_id LIMIT $3");
const std::string waitpoints_outliving =
    "SELECT COUNT(*) FROM ff_waitpoint WHERE waitpoint_state < 2 AND token_kid = $1"
    " AND (expires_at IS NULL OR expires_at > $2)";
const std::string suspensions_of = select_where<Suspension>("eid = $1 ORDER BY episode");
const std::string suspended_after = select_where<Suspension>(
    "lane_id = $1 AND waits_until IS NOT NULL AND (waits_until, execution_id) > ($2, $3)"
    " ORDER BY waits_until, execution_id LIMIT $4");
const std::string signal_by_key = select_where<Signal>("eid = $1 AND seq = $2");
const std::string signals_after =
    select_where<Signal>("eid = $1 AND seq > $2 ORDER BY seq LIMIT $3");
namespace {
/// The same rows, of whose payloads not a byte is read.
std::string bare(std::string text) {
    constexpr std::string_view payload = ", payload,";
    return text.replace(text.find(payload), payload.size(), ", NULL,");
}
}  // namespace
const std::string bare_signal_by_key = bare(signal_by_key);
const std::string bare_signals_after = bare(signals_after);
const std::string stream_meta_by_key =
    select_where<core::StreamMeta>("eid = $1 AND attempt_index = $2");
const std::string stream_metas_of =
    select_where<core::StreamMeta>("eid = $1 ORDER BY attempt_index");
const std::string summary_by_key =
    select_where<core::SummaryRow>("eid = $1 AND attempt_index = $2");
namespace {
const std::string frames_in_range = select_where<core::FrameRow>(
    "eid = $1 AND attempt_index = $2 AND (ms, seq) >= ($3, $4) AND (ms, seq) <= ($5, $6)");
}  // namespace
const ByOrder frames_between{frames_in_range + " ORDER BY ms DESC, seq DESC LIMIT $7",
                             frames_in_range + " ORDER BY ms, seq LIMIT $7"};
const std::string streams_to_sweep =
    "SELECT eid, attempt_index FROM ff_stream_meta WHERE sweep_at <= $1"
    " ORDER BY sweep_at, eid, attempt_index LIMIT $2";
const std::string satisfiers_of =
    select_where<Satisfier>("eid = $1 AND episode = $2 ORDER BY node, token");
const std::string ready_before =
    "SELECT COUNT(*) FROM (SELECT 1 FROM ff_ready WHERE route = $1 AND (rank, place) < ($2, $3)"
    " LIMIT $4) t";
const std::string event_by_id = select_where<ExecutionEvent>("event_id = $1");
const std::string events_after =
    select_where<ExecutionEvent>("event_id > $1 ORDER BY event_id LIMIT $2");
const std::string log_events_of =
    select_where<LogEvent>("eid = $1 AND event_id > $2 ORDER BY event_id LIMIT $3");
const std::string log_events_after =
    select_where<LogEvent>("event_id > $1 ORDER BY event_id LIMIT $2");
const std::string family_events_after =
    select_where<LogEvent>("family = $1 AND event_id > $2 ORDER BY event_id LIMIT $3");
const std::string event_trim_of = select_where<core::EventTrim>("family = $1");
// Event ids grow with time, so the oldest events are the lowest ids.
const EventTexts exec_event_texts = event_texts("ff_exec_event WHERE ", 1);
const EventTexts log_event_texts = event_texts("ff_log_event WHERE family = $1 AND ", 2);
const std::string webhook_by_id = select_where<core::Webhook>("webhook_id = $1");
const std::string webhooks_after =
    select_where<core::Webhook>("webhook_id > $1 ORDER BY webhook_id LIMIT $2");
const std::string ready_after =
    "SELECT route, rank, place, eid FROM ff_ready WHERE (route, rank, place) > ($1, $2, $3)"
    " ORDER BY route, rank, place LIMIT $4";
const std::string timers_after =
    "SELECT kind, due_at, eid FROM ff_timer WHERE (kind, due_at, eid) > ($1, $2, $3)"
    " ORDER BY kind, due_at, eid LIMIT $4";
const std::string listed_after =
    "SELECT bucket, eid FROM ff_listed WHERE (bucket, eid) > ($1, $2)"
    " ORDER BY bucket, eid LIMIT $3";

// ------------------------------------------------------------------------------------- limits

const std::string budget_by_id = select_where<core::Budget>("budget_id = $1");
const std::string budgets_after =
    select_where<core::Budget>("budget_id > $1 ORDER BY budget_id LIMIT $2");
const std::string budget_ids_after =
    "SELECT budget_id FROM ff_budget WHERE budget_id > $1 ORDER BY budget_id LIMIT $2";
const std::string ledger_by_key =
    select_where<core::LedgerRow>("budget_id = $1 AND execution_id = $2");
const std::string ledgers_after = select_where<core::LedgerRow>(
    "budget_id = $1 AND execution_id > $2 ORDER BY execution_id LIMIT $3");
const std::string dedup_by_key =
    select_where<core::UsageDedup>("budget_id = $1 AND dedup_key = $2");
const std::string policy_by_id = select_where<core::QuotaPolicy>("quota_policy_id = $1");
const std::string policies_of_keys =
    select_where<core::QuotaPolicy>("parent = $1 AND limit_key > $2 ORDER BY limit_key LIMIT $3");
const std::string policies_listed = select_where<core::QuotaPolicy>(
    "parent IS NULL AND quota_policy_id > $1 ORDER BY quota_policy_id LIMIT $2");
const std::string policy_ids_after =
    "SELECT quota_policy_id FROM ff_quota_policy WHERE quota_policy_id > $1"
    " ORDER BY quota_policy_id LIMIT $2";
const std::string admission_by_key =
    select_where<core::Admission>("execution_id = $1 AND quota_policy_id = $2");
const std::string admissions_of_execution =
    select_where<core::Admission>("execution_id = $1 ORDER BY quota_policy_id");
const std::string admissions_aged = select_where<core::Admission>(
    "quota_policy_id = $1 AND admitted_at <= $2 ORDER BY admitted_at, execution_id LIMIT $3");
const std::string oldest_start =
    "SELECT MIN(admitted_at) FROM ff_quota_admission WHERE quota_policy_id = $1"
    " AND admitted_at > $2";
const std::string slots_of_policy = select_where<core::Admission>(
    "quota_policy_id = $1 AND slot_at IS NOT NULL AND execution_id > $2"
    " ORDER BY execution_id LIMIT $3");
const std::string starts_of_policy =
    "SELECT COUNT(*) FROM ff_quota_admission WHERE quota_policy_id = $1"
    " AND admitted_at <= $2";
const std::string slot_count_of_policy =
    "SELECT COUNT(*) FROM ff_quota_admission WHERE quota_policy_id = $1 AND slot_at IS NOT NULL";
const std::string attachments_of_target = select_where<core::Attachment>(
    "target_type = $1 AND target_id = $2 ORDER BY limit_kind, limit_id");
const std::string attachments_by_place = select_where<core::Attachment>("by_place = 1");
const std::string attached_executions =
    "SELECT target_id FROM ff_limit_attachment WHERE limit_kind = $1 AND limit_id = $2"
    " AND target_type = 0 AND target_id > $3 ORDER BY target_id LIMIT $4";
const std::string attached_targets =
    "SELECT target_id FROM ff_limit_attachment WHERE limit_kind = $1 AND limit_id = $2"
    " AND target_id > $3 LIMIT $4";
const std::string attachments_delete =
    "DELETE FROM ff_limit_attachment WHERE target_type = $1 AND target_id = $2";
const std::string budgets_due =
    "SELECT budget_id FROM ff_budget WHERE timer_at <= $1 ORDER BY timer_at, budget_id LIMIT $2";
const std::string policies_due =
    "SELECT quota_policy_id FROM ff_quota_policy WHERE wake_at <= $1"
    " ORDER BY wake_at, quota_policy_id LIMIT $2";
const std::string budgets_waiting =
    "SELECT budget_id FROM ff_budget WHERE waiting = 1 AND budget_id > $1"
    " ORDER BY budget_id LIMIT $2";
const std::string policies_waiting =
    "SELECT quota_policy_id FROM ff_quota_policy WHERE waiting = 1 AND quota_policy_id > $1"
    " ORDER BY quota_policy_id LIMIT $2";
const std::string dedup_sweep =
    "DELETE FROM ff_usage_dedup WHERE (budget_id, dedup_key) IN (SELECT budget_id, dedup_key"
    " FROM ff_usage_dedup WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

namespace {

std::vector<std::string> gather_texts() {
    std::vector<std::string> texts{
        execution_by_id,
        execution_by_eid,
        input_by_eid,
        attempt_by_key,
        attempts_of,
        grant_by_eid,
        lane_by_name,
        idempotency_by_key,
        worker_by_key,
        route_by_id,
        all_routes,
        flow_by_id,
        edge_by_key,
        edges_of_flow,
        edges_out,
        edges_in,
        group_by_key,
        groups_of_flow,
        work_by_key,
        stream_meta_by_key,
        stream_metas_of,
        summary_by_key,
        streams_to_sweep,
        stream_metas_delete,
        frames_delete,
        summaries_delete,
        frames_trim(FrameMode::durable),
        frames_trim(FrameMode::summary),
        frames_trim(FrameMode::best_effort),
        frames_between.newest_first,
        frames_between.oldest_first,
        member_ids,
        ready_head,
        timers_due,
        next_due,
        bucket_after,
        executions_after,
        leased_by_instance,
        workers_all,
        flows_due,
        flows_held,
        flow_ids_after,
        edges_staged,
        work_due,
        ready_insert,
        ready_delete,
        timer_insert,
        timer_delete,
        turn_insert,
        turn_delete,
        turns_of_queue,
        turns_after,
        listed_insert,
        listed_delete,
        tag_insert,
        tag_delete,
        input_delete,
        attempts_delete,
        idempotency_delete_own,
        edges_spell_out,
        edges_delete,
        groups_delete,
        work_delete,
        grants_sweep,
        idempotency_sweep,
        history_floor,
        exec_events_trim,
        history_delete,
        history_cut,
        log_events_trim,
        completion_mark,
        lease_mark,
        log_mark,
        meta_get,
        meta_put,
        ids_of_partition,
        leased_due,
        lanes_after,
        workers_after,
        workers_of_namespace_after,
        flows_after,
        flows_of_partition_after,
        members_after,
        work_first,
        work_of_flow,
        ready_before,
        event_by_id,
        events_after,
        log_events_of,
        log_events_after,
        family_events_after,
        event_trim_of,
        webhook_by_id,
        webhooks_after,
        ready_after,
        timers_after,
        listed_after,
        highest_eid,
        highest_event,
        waitpoint_by_id,
        suspension_by_key,
        signal_by_id,
        signals_buffered,
        signal_by_idempotency_key,
        satisfier_by_key,
        all_hmac_keys,
        suspensions_delete,
        waitpoints_delete,
        signals_delete,
        satisfiers_delete,
        suspensions_of,
        open_waitpoints_after,
        suspended_after,
        waitpoints_outliving,
        signal_by_key,
        signals_after,
        bare_signal_by_key,
        bare_signals_after,
        satisfiers_of,
        budget_by_id,
        budgets_after,
        budget_ids_after,
        ledger_by_key,
        ledgers_after,
        dedup_by_key,
        policy_by_id,
        policies_of_keys,
        policies_listed,
        policy_ids_after,
        admission_by_key,
        admissions_of_execution,
        admissions_aged,
        oldest_start,
        slots_of_policy,
        starts_of_policy,
        slot_count_of_policy,
        attachments_of_target,
        attachments_by_place,
        attached_executions,
        attached_targets,
        attachments_delete,
        budgets_due,
        policies_due,
        budgets_waiting,
        policies_waiting,
        dedup_sweep,
    };
    for (const EventTexts* of : {&exec_event_texts, &log_event_texts}) {
        texts.insert(texts.end(), {of->oldest_before, of->nth_after, of->count_between});
    }
    for (const ByOrder* list : {&executions_in_window, &executions_of_route, &executions_with_tag,
                                &executions_in_bucket, &executions_leased, &tagged_too}) {
        texts.push_back(list->newest_first);
        texts.push_back(list->oldest_first);
    }
    return texts;
}

}  // namespace

const std::vector<std::string>& all_texts() {
    static const std::vector<std::string> texts = gather_texts();
    return texts;
}

}  // namespace ff::store::sql
