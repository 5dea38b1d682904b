// The hand-written SQL of the product: reads and scans. Writes are made from tables.h.
//
// Rules for texts that both databases run: parameters $1..$n first mentioned in order, no `?`, no
// `::`, no functions of time; conditions on partial indexes in literals.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"
#include "store/tables.h"

namespace ff::store::sql {

/// `SELECT all columns FROM t WHERE rest`.
std::string select_where(const TableInfo& table, const std::string& rest);
template <class Row>
std::string select_where(const std::string& rest) {
    return select_where(table_info<Row>, rest);
}

/// Writes the resolutions that the ends of executions imply into their edges: `ids` is `= $1`, or
/// the same of an array.
std::string spell_out_edges(const std::string& ids);

/// Executions found through a side table `s` whose rows carry an eid.
std::string executions_through(const std::string& side_table, const std::string& rest);

/// A text that lists executions in either order.
struct ByOrder {
    std::string newest_first;
    std::string oldest_first;

    [[nodiscard]] const std::string& text(Order order) const {
        return order == Order::newest_first ? newest_first : oldest_first;
    }
};

extern const std::string execution_by_id;
extern const std::string execution_by_eid;
extern const std::string input_by_eid;
extern const std::string attempt_by_key;
extern const std::string attempts_of;
extern const std::string grant_by_eid;
extern const std::string lane_by_name;
extern const std::string idempotency_by_key;
extern const std::string worker_by_key;
extern const std::string route_by_id;
extern const std::string all_routes;

extern const std::string flow_by_id;
extern const std::string edge_by_key;
extern const std::string edges_of_flow;
extern const std::string edges_out;
extern const std::string edges_in;
extern const std::string group_by_key;
extern const std::string groups_of_flow;
extern const std::string work_by_key;
extern const std::string member_ids;

extern const std::string waitpoint_by_id;
extern const std::string suspension_by_key;
extern const std::string signal_by_id;
extern const std::string signal_by_idempotency_key;
extern const std::string signals_buffered;
extern const std::string satisfier_by_key;
extern const std::string all_hmac_keys;

extern const std::string ready_head;
extern const std::string timers_due;
/// The earliest due time later than $1 of every kind of timer, null where there is none.
extern const std::string next_due;
extern const std::string bucket_after;
extern const std::string executions_after;
extern const std::string leased_by_instance;
extern const std::string workers_all;
extern const std::string flows_due;
extern const std::string flows_held;
extern const std::string flow_ids_after;
extern const std::string edges_staged;
extern const std::string work_due;

extern const std::string ready_insert;
extern const std::string ready_delete;
extern const std::string timer_insert;
extern const std::string timer_delete;
extern const std::string turn_insert;
extern const std::string turn_delete;
extern const std::string turns_of_queue;
extern const std::string turns_after;
extern const std::string listed_insert;
extern const std::string listed_delete;
extern const std::string tag_insert;
extern const std::string tag_delete;
extern const std::string input_delete;
extern const std::string attempts_delete;
extern const std::string idempotency_delete_own;
extern const std::string edges_spell_out;
extern const std::string edges_delete;
extern const std::string groups_delete;
extern const std::string work_delete;

extern const std::string suspensions_delete;
extern const std::string waitpoints_delete;
extern const std::string signals_delete;
extern const std::string satisfiers_delete;
extern const std::string stream_metas_delete;
extern const std::string frames_delete;
extern const std::string summaries_delete;
/// Deletes the oldest frames of a stream and a mode, to the one at OFFSET $3.
const std::string& frames_trim(FrameMode mode);

extern const std::string grants_sweep;
extern const std::string idempotency_sweep;
// The floor is up to where the table of histories was trimmed. Nobody is shown what stands there;
// what is left of it are histories of executions that are still there.
extern const std::string history_floor;
/// Behind the floor $2, through $1; leaves what belongs to the history of an execution.
extern const std::string exec_events_trim;
/// Deletes what stands at or below the floor of histories that are walked from their newest event
/// on: `head` is what its id must be.
std::string history_delete_text(const std::string& head);
extern const std::string history_delete;  ///< whose newest event is $1
/// Behind the floor $2, through $1: cuts off the far ends of histories that have grown too long.
extern const std::string history_cut;
extern const std::string log_events_trim;  ///< through $1, of family $2
// Before the trim: how far it goes.
extern const std::string completion_mark;
extern const std::string lease_mark;
extern const std::string log_mark;
extern const std::string meta_get;
extern const std::string meta_put;
/// The highest numbers in use, noted, or standing in a log.
extern const std::string highest_eid;
extern const std::string highest_event;

extern const std::string ids_of_partition;
extern const ByOrder executions_in_window;
extern const ByOrder executions_of_route;
extern const ByOrder executions_with_tag;
extern const ByOrder executions_in_bucket;
extern const ByOrder executions_leased;
extern const ByOrder tagged_too;
extern const std::string leased_due;
extern const std::string lanes_after;
extern const std::string workers_after;
extern const std::string workers_of_namespace_after;
extern const std::string flows_after;
extern const std::string flows_of_partition_after;
extern const std::string members_after;
extern const std::string work_first;
extern const std::string work_of_flow;
extern const std::string open_waitpoints_after;
extern const std::string waitpoints_outliving;
extern const std::string suspensions_of;
extern const std::string suspended_after;
extern const std::string signal_by_key;
extern const std::string signals_after;
extern const std::string bare_signal_by_key;  ///< without payloads
extern const std::string bare_signals_after;
extern const std::string satisfiers_of;
extern const std::string stream_meta_by_key;
extern const std::string stream_metas_of;
extern const std::string summary_by_key;
/// Between two ids, both included.
extern const ByOrder frames_between;
extern const std::string streams_to_sweep;
extern const std::string budget_by_id;
extern const std::string budgets_after;
extern const std::string budget_ids_after;
extern const std::string ledger_by_key;
extern const std::string ledgers_after;
extern const std::string dedup_by_key;
extern const std::string policy_by_id;
extern const std::string policies_of_keys;
extern const std::string policies_listed;
extern const std::string policy_ids_after;
extern const std::string admission_by_key;
extern const std::string admissions_of_execution;
extern const std::string admissions_aged;
extern const std::string oldest_start;
extern const std::string slots_of_policy;
extern const std::string starts_of_policy;
extern const std::string slot_count_of_policy;
extern const std::string attachments_of_target;
extern const std::string attachments_by_place;
extern const std::string attached_executions;
extern const std::string attached_targets;
extern const std::string attachments_delete;
extern const std::string budgets_due;
extern const std::string policies_due;
extern const std::string budgets_waiting;
extern const std::string policies_waiting;
extern const std::string dedup_sweep;
extern const std::string ready_before;
extern const std::string event_by_id;
extern const std::string events_after;
extern const std::string log_events_of;
extern const std::string log_events_after;
extern const std::string family_events_after;
extern const std::string event_trim_of;
/// Questions about the ids of a table of events; those of the log begin with a family.
struct EventTexts {
    std::string oldest_before;  ///< behind an id, the highest of the first so many, before a time
    std::string nth_after;      ///< behind an id, passing over so many
    std::string count_between;  ///< behind an id, up to another
};
extern const EventTexts exec_event_texts;
extern const EventTexts log_event_texts;
extern const std::string webhook_by_id;
extern const std::string webhooks_after;
extern const std::string ready_after;
extern const std::string timers_after;
extern const std::string listed_after;

/// Every text above, so that a test can prepare them all.
const std::vector<std::string>& all_texts();

}  // namespace ff::store::sql
