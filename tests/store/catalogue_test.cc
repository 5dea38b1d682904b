// Every statement of the product prepares, and those of the hot paths use the index they are for.
#include "store/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "store/sqlite_internal.h"
#include "store/sqlite_store.h"

namespace ff::store::test {
namespace {

std::unique_ptr<SqliteDb> fresh_database() {
    auto db = SqliteDb::open(":memory:", OpenMode::write, 0);
    EXPECT_TRUE(db);
    EXPECT_TRUE(migrate_sqlite(**db));
    return std::move(*db);
}

/// The lines of EXPLAIN QUERY PLAN, joined.
std::string plan(SqliteDb& db, const std::string& text) {
    auto statement = db.prepare("EXPLAIN QUERY PLAN " + text);
    EXPECT_TRUE(statement) << text << ": " << statement.error().message();
    std::string out;
    while (statement && statement->step().value_or(false)) {
        statement->skip();
        statement->skip();
        statement->skip();
        out += std::string(statement->bytes()) + "; ";
    }
    return out;
}

TEST(Catalogue, every_text_prepares) {
    auto db = fresh_database();
    for (const std::string& text : sql::all_texts()) {
        const auto statement = db->prepare(text);
        EXPECT_TRUE(statement) << text << ": " << statement.error().message();
    }
}

TEST(Catalogue, no_text_is_listed_twice_or_uses_what_one_database_lacks) {
    std::set<std::string> seen;
    for (const std::string& text : sql::all_texts()) {
        EXPECT_TRUE(seen.insert(text).second) << text;
        EXPECT_EQ(text.find('?'), std::string::npos) << text;
        EXPECT_EQ(text.find("::"), std::string::npos) << text;
        EXPECT_EQ(text.find(" LIKE "), std::string::npos) << text;
        EXPECT_EQ(text.find("now("), std::string::npos) << text;
    }
}

TEST(Catalogue, statements_find_their_rows_through_an_index_in_order) {
    struct Case {
        const char* name;
        const std::string& text;
        const char* uses;
    };
    const std::vector<Case> cases{
        {"claim head", sql::ready_head,
         "SEARCH ff_ready USING PRIMARY KEY (route=? AND (rank,place)>(?,?))"},
        {"due scan", sql::timers_due, "SEARCH ff_timer USING PRIMARY KEY (kind=? AND due_at<?)"},
        {"next due", sql::next_due, "SEARCH ff_timer USING PRIMARY KEY (kind=? AND due_at>?)"},
        {"next due flow", sql::next_due,
         "SEARCH ff_flow USING COVERING INDEX ff_flow_by_timer (timer_at>?)"},
        {"next due work", sql::next_due,
         "SEARCH ff_flow_work USING COVERING INDEX ff_flow_work_by_due (due_at>?)"},
        {"flow", sql::flow_by_id, "SEARCH ff_flow USING PRIMARY KEY (flow_id=?)"},
        {"flows", sql::flows_after, "SEARCH ff_flow USING PRIMARY KEY (flow_id>?)"},
        {"flows of a partition", sql::flows_of_partition_after,
         "SEARCH ff_flow USING INDEX ff_flow_by_partition (partition=? AND flow_id>?)"},
        {"flow ids", sql::flow_ids_after, "SEARCH ff_flow USING PRIMARY KEY (flow_id>?)"},
        {"due flows", sql::flows_due,
         "SEARCH ff_flow USING COVERING INDEX ff_flow_by_timer (timer_at<?)"},
        {"member ids", sql::member_ids,
         "SEARCH ff_exec_core USING COVERING INDEX ff_exec_core_by_flow (flow_id=?)"},
        {"members", sql::members_after,
         "SEARCH ff_exec_core USING INDEX ff_exec_core_by_flow (flow_id=? AND id>?)"},
        {"edge", sql::edge_by_key,
         "SEARCH e USING INDEX ff_edge_by_flow (flow_id=? AND edge_id=?); "
         "SEARCH u USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?) LEFT-JOIN"},
        {"edges of a flow", sql::edges_of_flow,
         "SEARCH e USING INDEX ff_edge_by_flow (flow_id=?); "
         "SEARCH u USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?) LEFT-JOIN"},
        {"edges out", sql::edges_out,
         "SEARCH e USING PRIMARY KEY (upstream_id=?); "
         "SEARCH u USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?) LEFT-JOIN"},
        {"edges in", sql::edges_in,
         "SEARCH e USING INDEX ff_edge_by_downstream (downstream_id=?); "
         "SEARCH u USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?) LEFT-JOIN"},
        {"staged edges", sql::edges_staged,
         "SEARCH ff_edge USING INDEX ff_edge_staged (created_at<?); CORRELATED SCALAR SUBQUERY 1; "
         "SEARCH f USING PRIMARY KEY (flow_id=?)"},
        {"group", sql::group_by_key,
         "SEARCH ff_edge_group USING PRIMARY KEY (flow_id=? AND downstream_id=?)"},
        {"groups of a flow", sql::groups_of_flow,
         "SEARCH ff_edge_group USING PRIMARY KEY (flow_id=?)"},
        {"work", sql::work_by_key,
         "SEARCH ff_flow_work USING PRIMARY KEY (flow_id=? AND kind=? AND execution_id=?)"},
        {"due work", sql::work_due,
         "SEARCH ff_flow_work USING INDEX ff_flow_work_by_due (due_at<?)"},
        {"work of a flow", sql::work_of_flow, "SEARCH ff_flow_work USING PRIMARY KEY (flow_id=?)"},
        {"edges that are spelled out", sql::edges_spell_out,
         "SEARCH u USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?); "
         "SEARCH ff_edge USING PRIMARY KEY (upstream_id=?)"},
        {"edges of a deleted flow", sql::edges_delete,
         "SEARCH ff_edge USING COVERING INDEX ff_edge_by_flow (flow_id=?)"},
        {"groups of a deleted flow", sql::groups_delete,
         "SEARCH ff_edge_group USING PRIMARY KEY (flow_id=?)"},
        {"work of a deleted flow", sql::work_delete,
         "SEARCH ff_flow_work USING PRIMARY KEY (flow_id=?)"},
        {"waitpoint", sql::waitpoint_by_id,
         "SEARCH ff_waitpoint USING INDEX ff_waitpoint_by_id (waitpoint_id=?)"},
        {"open waitpoints", newest_open_waitpoints,
         "SEARCH ff_waitpoint USING PRIMARY KEY (eid=?)"},
        {"open waitpoints, paged", sql::open_waitpoints_after,
         "SEARCH ff_waitpoint USING PRIMARY KEY (eid=? AND waitpoint_id>?)"},
        {"suspension", sql::suspension_by_key,
         "SEARCH ff_suspension USING PRIMARY KEY (eid=? AND episode=?)"},
        {"suspensions", sql::suspensions_of, "SEARCH ff_suspension USING PRIMARY KEY (eid=?)"},
        {"repeated suspend", suspension_by_idempotency_index,
         "SEARCH ff_suspension USING INDEX ff_suspension_by_key (eid=? AND idempotency_key=?)"},
        {"suspended", sql::suspended_after,
         "SEARCH ff_suspension USING INDEX ff_suspension_open"
         " (lane_id=? AND (waits_until,execution_id)>(?,?))"},
        {"signal", sql::signal_by_id,
         "SEARCH ff_signal USING INDEX ff_signal_by_id (eid=? AND signal_id=?)"},
        {"repeated signal", sql::signal_by_idempotency_key,
         "SEARCH ff_signal USING INDEX ff_signal_by_key (waitpoint_id=? AND idempotency_key=?)"},
        {"buffered signals", sql::signals_buffered,
         "SEARCH ff_signal USING INDEX ff_signal_buffered (waitpoint_id=?)"},
        {"signal by number", sql::signal_by_key,
         "SEARCH ff_signal USING PRIMARY KEY (eid=? AND seq=?)"},
        {"ledger", sql::signals_after, "SEARCH ff_signal USING PRIMARY KEY (eid=? AND seq>?)"},
        {"bare signal by number", sql::bare_signal_by_key,
         "SEARCH ff_signal USING PRIMARY KEY (eid=? AND seq=?)"},
        {"bare ledger", sql::bare_signals_after,
         "SEARCH ff_signal USING PRIMARY KEY (eid=? AND seq>?)"},
        {"satisfier", sql::satisfier_by_key,
         "SEARCH ff_satisfier USING PRIMARY KEY (eid=? AND episode=? AND node=? AND token=?)"},
        {"satisfiers", sql::satisfiers_of,
         "SEARCH ff_satisfier USING PRIMARY KEY (eid=? AND episode=?)"},
        {"suspensions of a deleted execution", sql::suspensions_delete,
         "SEARCH ff_suspension USING PRIMARY KEY (eid=?)"},
        {"waitpoints of a deleted execution", sql::waitpoints_delete,
         "SEARCH ff_waitpoint USING PRIMARY KEY (eid=?)"},
        {"signals of a deleted execution", sql::signals_delete,
         "SEARCH ff_signal USING COVERING INDEX ff_signal_by_id (eid=?)"},
        {"satisfiers of a deleted execution", sql::satisfiers_delete,
         "SEARCH ff_satisfier USING PRIMARY KEY (eid=?)"},
        {"id lookup", sql::execution_by_id,
         "SEARCH ff_exec_core USING INDEX sqlite_autoindex_ff_exec_core_1 (id=?)"},
        {"number lookup", sql::execution_by_eid,
         "SEARCH ff_exec_core USING INTEGER PRIMARY KEY (rowid=?)"},
        {"input", sql::input_by_eid, "SEARCH ff_exec_input USING INTEGER PRIMARY KEY (rowid=?)"},
        {"attempt", sql::attempt_by_key,
         "SEARCH ff_attempt USING PRIMARY KEY (eid=? AND attempt_index=?)"},
        {"attempts", sql::attempts_of, "SEARCH ff_attempt USING PRIMARY KEY (eid=?)"},
        {"grant", sql::grant_by_eid, "SEARCH ff_claim_grant USING INTEGER PRIMARY KEY (rowid=?)"},
        {"idempotency", sql::idempotency_by_key,
         "SEARCH ff_idempotency USING PRIMARY KEY (namespace=? AND idempotency_key=?)"},
        {"worker", sql::worker_by_key,
         "SEARCH ff_worker_registry USING PRIMARY KEY (namespace=? AND worker_instance_id=?)"},
        {"route list", sql::executions_of_route.newest_first,
         "SEARCH ff_exec_core USING INDEX ff_exec_core_by_route (route=? AND eid>? AND eid<?)"},
        {"route list, oldest first", sql::executions_of_route.oldest_first,
         "SEARCH ff_exec_core USING INDEX ff_exec_core_by_route (route=? AND eid>? AND eid<?)"},
        {"tag list", sql::executions_with_tag.newest_first,
         "SEARCH s USING PRIMARY KEY (tag_key=? AND tag_value=? AND eid>? AND eid<?); "
         "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"tag list, oldest first", sql::executions_with_tag.oldest_first,
         "SEARCH s USING PRIMARY KEY (tag_key=? AND tag_value=? AND eid>? AND eid<?); "
         "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"second tag", sql::tagged_too.newest_first,
         "SEARCH ff_exec_tag USING PRIMARY KEY (tag_key=? AND tag_value=? AND eid>? AND eid<?); "
         "SCAN s; SEARCH t USING PRIMARY KEY (tag_key=? AND tag_value=? AND eid=?)"},
        {"bucket list", sql::executions_in_bucket.newest_first,
         "SEARCH s USING PRIMARY KEY (bucket=? AND eid>? AND eid<?); "
         "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"bucket list, oldest first", sql::executions_in_bucket.oldest_first,
         "SEARCH s USING PRIMARY KEY (bucket=? AND eid>? AND eid<?); "
         "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"bucket scan", sql::bucket_after,
         "SEARCH ff_listed USING PRIMARY KEY (bucket=? AND eid>?)"},
        {"partition list", sql::ids_of_partition,
         "SEARCH ff_exec_core USING COVERING INDEX sqlite_autoindex_ff_exec_core_1"
         " (id>? AND id<?)"},
        {"newest", sql::executions_in_window.newest_first,
         "SEARCH ff_exec_core USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
        {"oldest", sql::executions_in_window.oldest_first,
         "SEARCH ff_exec_core USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
        {"all executions", sql::executions_after,
         "SEARCH ff_exec_core USING INTEGER PRIMARY KEY (rowid>?)"},
        {"leases due", sql::leased_due,
         "SEARCH s USING PRIMARY KEY (kind=? AND (due_at,eid)>(?,?) AND due_at<?); "
         "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"lanes", sql::lanes_after, "SEARCH ff_lane_registry USING PRIMARY KEY (lane_id>?)"},
        {"workers", sql::workers_after, "SEARCH ff_worker_registry USING PRIMARY KEY"},
        {"workers of a namespace", sql::workers_of_namespace_after,
         "SEARCH ff_worker_registry USING PRIMARY KEY (namespace=? AND worker_instance_id>?)"},
        {"queue position", sql::ready_before,
         "SEARCH ff_ready USING PRIMARY KEY (route=? AND (rank,place)<(?,?))"},
        {"event", sql::event_by_id, "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid=?)"},
        {"events", sql::events_after, "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid>?)"},
        {"trim of events", sql::exec_events_trim,
         "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); "
         "CORRELATED SCALAR SUBQUERY 1; SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
        {"mark of leases", sql::lease_mark,
         "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
        {"end of a history", sql::history_delete, "SEARCH v USING INTEGER PRIMARY KEY (rowid=?)"},
        {"cut of histories", sql::history_cut,
         "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
        {"log events", sql::log_events_after,
         "SEARCH ff_log_event USING INTEGER PRIMARY KEY (rowid>?)"},
        {"log events of a family", sql::family_events_after,
         "SEARCH ff_log_event USING INDEX ff_log_event_by_family (family=? AND event_id>?)"},
        {"nth event", sql::exec_event_texts.nth_after,
         "SEARCH ff_exec_event USING INTEGER PRIMARY KEY (rowid>?)"},
        {"nth log event", sql::log_event_texts.nth_after,
         "SEARCH ff_log_event USING COVERING INDEX ff_log_event_by_family (family=? AND "
         "event_id>?)"},
        {"count of log events", sql::log_event_texts.count_between,
         "SEARCH ff_log_event USING COVERING INDEX ff_log_event_by_family (family=? AND "
         "event_id>? AND event_id<?)"},
        {"log of an execution", sql::log_events_of,
         "SEARCH ff_log_event USING INDEX ff_log_event_by_execution (eid=? AND rowid>?)"},
        {"grant sweep", sql::grants_sweep, "USING COVERING INDEX ff_claim_grant_by_expiry"},
        {"key sweep", sql::idempotency_sweep, "USING COVERING INDEX ff_idempotency_by_expiry"},
        {"ready delete", sql::ready_delete,
         "SEARCH ff_ready USING PRIMARY KEY (route=? AND rank=? AND place=?)"},
        {"timer delete", sql::timer_delete,
         "SEARCH ff_timer USING PRIMARY KEY (kind=? AND due_at=? AND eid=?)"},
        {"tag delete", sql::tag_delete,
         "SEARCH ff_exec_tag USING PRIMARY KEY (tag_key=? AND tag_value=? AND eid=?)"},
    };
    auto db = fresh_database();
    for (const Case& c : cases) {
        const std::string steps = plan(*db, c.text);
        EXPECT_NE(steps.find(c.uses), std::string::npos) << c.name << ": " << steps;
        EXPECT_EQ(steps.find("TEMP B-TREE"), std::string::npos) << c.name << ": " << steps;
        EXPECT_EQ(steps.find("SCAN ff_"), std::string::npos) << c.name << ": " << steps;
    }
}

TEST(Catalogue, a_sort_is_made_only_where_the_rows_are_as_few_as_leases) {
    auto db = fresh_database();
    for (const std::string& text : sql::all_texts()) {
        const bool sorts = plan(*db, text).find("TEMP B-TREE") != std::string::npos;
        const bool may = text == sql::executions_leased.newest_first ||
                         text == sql::executions_leased.oldest_first ||
                         text == sql::leased_by_instance || text == sql::slots_of_policy;
        EXPECT_TRUE(!sorts || may) << text << ": " << plan(*db, text);
    }
}

TEST(Catalogue, updates_and_deletes_by_key_use_the_key) {
    auto db = fresh_database();
    const TableInfo& executions = table_info<core::Execution>;
    EXPECT_EQ(plan(*db, update_text(executions, executions.all_columns() & ~executions.key_mask())),
              "SEARCH ff_exec_core USING INTEGER PRIMARY KEY (rowid=?); ");
    EXPECT_EQ(plan(*db, delete_text(table_info<core::WorkerRow>)),
              "SEARCH ff_worker_registry USING PRIMARY KEY (namespace=? AND"
              " worker_instance_id=?); ");
}

}  // namespace
}  // namespace ff::store::test
