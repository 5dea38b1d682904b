// The schema of a SQLite store: older versions brought up to date, damage refused, names kept.
#include "store/schema.h"

#include <filesystem>
#include <map>

#include "base/hex.h"
#include "store/sqlite_fixture.h"

namespace ff::store::test {
namespace {

namespace fs = std::filesystem;
using core::Execution;

TEST_F(SqliteFile, an_empty_file_becomes_a_store) {
    write_bytes(path(), "");
    auto store = open();
    EXPECT_EQ(store->info().migration,
              "foundations, many_processes, flows, suspension, streams, events, limits, "
              "reservations, limit_keys, open_waitpoints, implied_edges");
    put_one(*store);
    store.reset();
    EXPECT_EQ(open()->info().migration, "");
}

TEST_F(SqliteFile, a_start_that_was_interrupted_before_the_first_migration_is_taken_up) {
    sql(path(),
        "CREATE TABLE ff_schema_migration (version INTEGER PRIMARY KEY,"
        " name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT");
    auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->info().migration,
              "foundations, many_processes, flows, suspension, streams, events, limits, "
              "reservations, limit_keys, open_waitpoints, implied_edges");
}

TEST_F(SqliteFile, a_store_from_before_there_were_waits_is_brought_up_to_date) {
    sql(path(), older_schema(Dialect::sqlite, 3) +
                    "INSERT INTO ff_route (route, lane_id, namespace, execution_kind)"
                    " VALUES (1, 'default', 'acme', 'job');"
                    "INSERT INTO ff_exec_core (eid, id, route) VALUES"
                    " (1, X'000000000000000000000000000000000001', 1);"
                    "INSERT INTO ff_exec_input (eid) VALUES (1);");
    auto store = open();
    EXPECT_EQ(store->info().migration,
              "suspension, streams, events, limits, reservations, limit_keys, open_waitpoints, "
              "implied_edges");
    ASSERT_TRUE(find_execution(*store, 1));
    EXPECT_FALSE(find_execution(*store, 1)->has_waits);
    put(*store, changes(waiting(1, 1), full_suspension(1, 1), full_waitpoint(1, 7)));
    EXPECT_TRUE(find_execution(*store, 1)->has_waits);
    store.reset();
    store = open();
    EXPECT_EQ(store->info().migration, "");
    EXPECT_EQ(look(*store, [](Reader& r) { return r.suspension({1, 1}); }), full_suspension(1, 1));
}

TEST_F(SqliteFile, every_older_version_with_rows_is_brought_up_to_date) {
    const auto number = [](auto word) { return std::to_string(static_cast<int>(word)); };
    const Execution model = waiting(1, 1);
    for (const Migration& migration : migrations()) {
        SCOPED_TRACE("from version " + std::to_string(migration.version));
        const std::string file = folder() + "/" + std::to_string(migration.version) + ".db";
        sql(file, older_schema(Dialect::sqlite, migration.version) +
                      "INSERT INTO ff_route (route, lane_id, namespace, execution_kind)"
                      " VALUES (1, 'default', 'acme', 'job');"
                      "INSERT INTO ff_exec_core (eid, id, route, lifecycle_phase, ownership_state,"
                      " eligibility_state, blocking_reason, terminal_outcome, attempt_state,"
                      " public_state) VALUES (1, X'" +
                      to_hex(model.id.raw()) + "', 1, " + number(model.state.phase) + ", " +
                      number(model.state.ownership) + ", " + number(model.state.eligibility) +
                      ", " + number(model.state.blocking_reason) + ", " +
                      number(model.state.outcome) + ", " + number(model.state.attempt_state) +
                      ", " + number(model.public_state) +
                      ");"
                      "INSERT INTO ff_exec_input (eid) VALUES (1);"
                      "INSERT INTO ff_ready (route, rank, " +
                      (migration.version < 9 ? "eid" : "place") + ") VALUES (1, 0, 1)");
        auto store = open_sqlite("sqlite:" + file, {});
        ASSERT_TRUE(store) << store.error().message();
        EXPECT_TRUE((*store)->info().migration.ends_with("implied_edges") ||
                    migration.version == migrations().back().version);
        ASSERT_TRUE((*store)->begin());
        const auto ready = (*store)->scan_ready(1, std::nullopt, 9);
        ASSERT_TRUE(ready) << ready.error().message();
        ASSERT_EQ(ready->size(), 1U);
        EXPECT_EQ((*ready)[0].eid, 1);
        (*store)->rollback();
        put(**store, changes(ended(1, 1, TerminalOutcome::success, t0)));
        EXPECT_EQ(find_execution(**store, 1)->public_state, PublicState::completed);
        EXPECT_EQ(ask(file, "SELECT COUNT(*) FROM ff_ready"), "0");
    }
}

TEST_F(SqliteFile, a_refused_partition_count_leaves_an_older_schema_alone) {
    sql(path(), older_schema(Dialect::sqlite, 3) +
                    "INSERT INTO ff_partition_config (family, count) VALUES ('flow', 4)");
    EngineOptions options;
    options.flow_partitions = 5;
    expect_refused(ErrorCode::partition_mismatch, {"stored=4 configured=5"}, options);
    EXPECT_EQ(ask(path(), "SELECT MAX(version) FROM ff_schema_migration"), "3");
}

TEST_F(SqliteFile, settings_that_cannot_be_are_refused) {
    open().reset();
    for (const char* count : {"0", "-1", "65536", "70000", "99999999999"}) {
        sql(path(), std::string("UPDATE ff_partition_config SET count = ") + count);
        expect_refused(ErrorCode::store_corrupt, {"partition count", count, "1 to 65535"});
    }
    sql(path(),
        "UPDATE ff_partition_config SET count = 1;"
        "INSERT OR REPLACE INTO ff_meta (name, value) VALUES ('eid_high', 9223372036854775807)");
    expect_refused(ErrorCode::store_corrupt, {"row number", "9223372036854775807"});
    sql(path(),
        "DELETE FROM ff_meta WHERE name = 'eid_high';"
        "INSERT INTO ff_schema_migration (version, name, checksum)"
        " VALUES (99999999999, 'x', 'y')");
    expect_refused(ErrorCode::store_corrupt, {"schema version", "99999999999"});
}

TEST_F(SqliteFile, a_store_that_lacks_a_table_or_an_index_is_refused) {
    for (const char* part : {"TABLE ff_lane_registry", "INDEX ff_suspension_by_key"}) {
        fs::remove(path());
        open().reset();
        sql(path(), std::string("DROP ") + part);
        expect_refused(ErrorCode::store_corrupt, {path(), "damaged schema", "ff doctor"});
    }
}

TEST_F(SqliteFile, tables_and_views_have_the_names_the_project_is_known_by) {
    open().reset();
    for (const char* name : {"ff_exec_core",
                             "ff_attempt",
                             "ff_claim_grant",
                             "ff_flow_core",
                             "ff_edge",
                             "ff_edge_group",
                             "ff_suspension",
                             "ff_waitpoint",
                             "ff_signal",
                             "ff_stream_frame",
                             "ff_stream_meta",
                             "ff_stream_summary",
                             "ff_budget",
                             "ff_quota_policy",
                             "ff_worker_registry",
                             "ff_worker_registry_event",
                             "ff_completion_event",
                             "ff_lease_event",
                             "ff_signal_event",
                             "ff_operator_event",
                             "ff_lane_registry",
                             "ff_partition_config",
                             "ff_waitpoint_hmac"}) {
        EXPECT_FALSE(ask(path(), "SELECT COUNT(*) FROM " + std::string(name)).empty()) << name;
    }
}

TEST_F(SqliteFile, views_are_made_anew_when_they_differ) {
    open().reset();
    sql(path(),
        "DROP VIEW ff_executions; CREATE VIEW ff_executions AS SELECT 1 AS one;"
        "UPDATE ff_schema_migration SET checksum = 'old' WHERE version = 0");
    open().reset();
    EXPECT_EQ(ask(path(), "SELECT COUNT(execution_id) FROM ff_executions"), "0");
}

TEST_F(SqliteFile, an_execution_that_is_deleted_leaves_no_row_in_any_table) {
    auto store = open();
    const Execution keep = put_one(*store);
    store.reset();
    const auto counts = [&] {
        auto db = SqliteDb::open(path(), OpenMode::read_only, 1'000);
        std::map<std::string, std::string> out;
        auto names = (*db)->prepare("SELECT name FROM sqlite_master WHERE type = 'table'");
        while (names->step().value_or(false)) {
            const std::string name(names->bytes());
            out[name] = (*db)->scalar("SELECT COUNT(*) FROM " + name).value_or("?");
        }
        return out;
    };
    auto before = counts();
    EXPECT_GE(before.size(), 15U);

    store = open();
    Execution row = ended(store->next_eid(t0), keep.route, TerminalOutcome::failed, t0);
    row.has_tags = row.has_policy = row.has_idempotency_key = true;
    put(*store, changes(row, full_input(row.eid), full_attempt(row.eid, 0), full_grant(row.eid),
                        idempotency_of("acme", "key", row.id, t0)));
    row.has_waits = true;
    row.has_streams = true;
    put(*store, changes(row, full_suspension(row.eid, 1), full_waitpoint(row.eid, 7),
                        full_signal(row.eid, 1, 7), core::Satisfier{{{row.eid, 1}, 0, "x"}, 1},
                        full_stream({row.eid, 0}), full_frame({row.eid, 0}, 1),
                        full_summary({row.eid, 0})));
    store.reset();
    EXPECT_NE(counts(), before);
    store = open();
    core::Changes gone;
    gone.delete_executions.push_back(row.eid);
    put(*store, gone);
    store.reset();
    // But the note of the highest number that was ever used.
    EXPECT_EQ(before["ff_meta"], "0");
    before["ff_meta"] = "1";
    EXPECT_EQ(counts(), before);
}

}  // namespace
}  // namespace ff::store::test
