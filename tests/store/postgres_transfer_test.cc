// Stores moved to PostgreSQL and away from it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <thread>

#include "store/placed_file.h"
#include "store/postgres_db.h"
#include "store/postgres_store.h"
#include "store/transfer_support.h"
#include "support/postgres.h"

namespace ff::store::test {
namespace {

using core::Bucket;
using core::LeaseEventType;

class PostgresTransfer : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
        }
    }

    /// A database that no other test uses. Nothing is in it yet.
    std::string database(const std::string& name = "store") {
        return support::postgres_store(folder_.path() + name);
    }
    std::string file(const std::string& name) { return folder_.file(name); }

    static std::unique_ptr<Store> open(const std::string& store) {
        auto opened = PostgresStore::open(location_of(store), {.flow_partitions = 1});
        EXPECT_TRUE(opened) << opened.error().message();
        return opened ? std::move(*opened) : nullptr;
    }
    static std::string ask(const std::string& store, const std::string& text) {
        auto connection = PgConnection::open(store);
        EXPECT_TRUE(connection) << connection.error().message();
        auto value = (*connection)->scalar(text);
        EXPECT_TRUE(value) << value.error().message();
        return value.value_or("");
    }
    /// Expects that the text is refused with this message, and that nothing is left of it.
    void expect_refused(const std::string& text, const std::string& message) {
        const std::string store = database();
        const auto done = import_text(store, text, Soundness::as_it_is);
        ASSERT_FALSE(done) << "imported, though: " << message;
        EXPECT_NE(done.error().detail.find(message), std::string::npos)
            << "said: " << done.error().detail << "\nnot: " << message;
        EXPECT_EQ(ask(store, "SELECT to_regclass('ff_exec_core')"), "") << message;
        EXPECT_EQ(ask(store, "SELECT to_regclass('ff_schema_migration')"), "") << message;
    }
    std::string small() { return joined(small_export(file("small.db"))); }

    TempDir folder_;
};

void run_on(const std::string& store, const std::string& text) {
    auto connection = PgConnection::open(store);
    ASSERT_TRUE(connection);
    auto done = (*connection)->execute(text);
    ASSERT_TRUE(done) << done.error().message();
}

/// Text that does not get shorter when it is packed.
std::string random_text(std::size_t size) {
    std::string out;
    std::uint64_t n = 88'172'645'463'325'252;
    while (out.size() < size) {
        n ^= n << 13U;
        n ^= n >> 7U;
        n ^= n << 17U;
        out += static_cast<char>('0' + n % 64 % 75);
    }
    std::ranges::replace(out, '\\', 'x');
    return out;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
}

TEST_F(PostgresTransfer, there_and_back_every_row_of_every_table_is_the_same) {
    {
        auto opened = open_sqlite(file("from.db"));
        ASSERT_TRUE(opened);
        fill_store(**opened);
    }
    const std::string text = export_text(file("from.db"));
    const std::string store = database();
    const auto done = import_text(store, text, Soundness::as_it_is);
    ASSERT_TRUE(done) << done.error().message();
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        EXPECT_GT(done->rows[table], 0U) << table_name(empty_batch(table));
    }
    EXPECT_EQ(export_text(store), text);
    ASSERT_TRUE(import_text(file("back.db"), export_text(store), Soundness::as_it_is));
    EXPECT_EQ(export_text(file("back.db")), text);
    const std::string other = database("other");
    ASSERT_TRUE(import_text(other, export_text(store), Soundness::as_it_is));
    EXPECT_EQ(export_text(other), text);
}

TEST_F(PostgresTransfer, reads_of_the_copy_are_those_of_the_original) {
    const std::string store = database();
    auto a = open_sqlite(file("from.db"));
    ASSERT_TRUE(a);
    fill_store(**a);
    ASSERT_TRUE(import_text(store, export_text(file("from.db")), Soundness::as_it_is));
    const auto b = open(store);
    const auto same = [&](auto read) { EXPECT_EQ(look(**a, read), look(*b, read)); };
    same([](Reader& r) { return r.newest(1'000, 100); });
    same([](Reader& r) { return r.routes(); });
    same([](Reader& r) { return r.lanes("", 10); });
    same([](Reader& r) { return r.workers(std::nullopt, {}, 10); });
    same([](Reader& r) { return r.attempts(1); });
    same([](Reader& r) { return r.input(1); });
    same([](Reader& r) { return r.events_after(0, 100); });
    same([](Reader& r) { return r.log_events_after(0, 100); });
    same([](Reader& r) { return r.ready_after({}, 100); });
    same([](Reader& r) { return r.timers_after({}, 100); });
    same([](Reader& r) { return r.listed_after(Bucket::none, 0, 100); });
    same([](Reader& r) { return r.newest_with_tag("city", "東京", 1'000, 10); });
    same([](Reader& r) { return r.newest_with_tag("d", "", 1'000, 10); });
    same([](Reader& r) { return r.suspensions(2); });
    same([](Reader& r) { return r.suspended("default", {}, 100); });
    same([](Reader& r) { return r.open_waitpoints(2, {}, 100); });
    same([](Reader& r) { return r.signals(2, 0, 100, Payloads::read); });
    same([](Reader& r) { return r.satisfiers({2, 1}); });
    same([](Reader& r) { return r.hmac_keys(); });
    EXPECT_EQ(ask(store, "SELECT COUNT(*) FROM ff_exec_tag"), "5");
    EXPECT_EQ(find_grant(**a, id_of(1, 513)), find_grant(*b, id_of(1, 513)));
}

TEST_F(PostgresTransfer, tables_longer_than_a_page_come_back_whole) {
    {
        auto opened = open_sqlite(file("from.db"));
        ASSERT_TRUE(opened);
        put(**opened, changes(route_of(1, "default")));
        core::Changes rows;
        for (Eid eid = 1; eid <= 2'500; ++eid) {
            rows.put_executions.push_back(waiting(eid, 1, static_cast<std::int32_t>(eid % 7)));
            rows.put_inputs.push_back(input_of(eid));
        }
        put(**opened, std::move(rows));
    }
    const std::string text = export_text(file("from.db"));
    const std::string store = database();
    const auto done = import_text(store, text);  // with invariants
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total(), 2 * 2'500U + 1);
    EXPECT_EQ(export_text(store), text);
}

TEST_F(PostgresTransfer, numbers_go_on_above_the_highest_ever_given_out) {
    std::string text = small();
    replace(text, "\"event_high\":3", "\"event_high\":40");
    replace(text, "\"eid_high\":2", "\"eid_high\":70");
    const std::string store = database();
    ASSERT_TRUE(import_text(store, text));
    EXPECT_EQ(export_text(store), text);
    const auto opened = open(store);
    EXPECT_EQ(opened->next_route_id(), 2);
    const Eid eid = opened->next_eid(t0);
    EXPECT_GT(eid, 70);
    const core::Execution next = waiting(eid, 1);
    put(*opened, changes(next, event_of(next, LeaseEventType::acquired)));
    const auto events = look(*opened, [](Reader& r) { return r.events_after(3, 10); });
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].event_id, 41);
}

TEST_F(PostgresTransfer, a_source_whose_clock_was_ahead_is_followed_by_higher_numbers) {
    const std::string store = database();
    constexpr TimestampMs ahead = t0 + 400'000'000'000;
    Eid high = 0;
    {
        const auto opened = open(store);
        put(*opened, changes(route_of(opened->next_route_id(), "default")));
        high = opened->next_eid(ahead);
        put(*opened, changes(waiting(high, 1), input_of(high)));
    }
    EXPECT_GT(open(store)->next_eid(t0), high);
    const std::string other = database("other");
    ASSERT_TRUE(import_text(other, export_text(store)));
    run_on(other, "DELETE FROM ff_exec_core; DELETE FROM ff_exec_input; DELETE FROM ff_ready");
    EXPECT_GT(open(other)->next_eid(t0), high);  // by its note alone
    ASSERT_TRUE(import_text(file("back.db"), export_text(store)));
    auto sqlite = open_sqlite(file("back.db"));
    ASSERT_TRUE(sqlite);
    EXPECT_EQ((*sqlite)->next_eid(t0), high + 1);
}

TEST_F(PostgresTransfer, an_export_is_of_one_moment) {
    const std::string store = database();
    const auto opened = open(store);
    put(*opened, changes(route_of(opened->next_route_id(), "default")));
    put(*opened, changes(waiting(1, 1), input_of(1)));
    auto source = open_export_source(location_of(store));
    ASSERT_TRUE(source) << source.error().message();
    put(*opened, changes(waiting(2, 1), input_of(2)));
    RowBatch rows = std::vector<core::Execution>();
    ASSERT_TRUE((*source)->next_page(rows, 10));
    EXPECT_EQ(row_count(rows), 1U);
    EXPECT_EQ((*source)->facts().eid_high, 1);
    EXPECT_TRUE((*source)->finish());
}

TEST_F(PostgresTransfer, a_row_that_the_server_refuses_is_named_with_its_line) {
    const std::vector<std::string> good = small_export(file("small.db"));
    ASSERT_EQ(good.size(), 11U);
    const auto with = [&](std::size_t line, const std::string& from, const std::string& to) {
        std::vector<std::string> lines = good;
        replace(lines[line - 1], from, to);
        return joined(lines);
    };
    expect_refused(with(5, "0002\"", "0001\""),
                   "line 5: ff_exec_core: PostgreSQL: duplicate key value violates unique"
                   " constraint \"ff_exec_core_id_key\"");
    expect_refused(with(3, "\"default\"", "{\"hex\":\"ff\"}"),
                   "line 3: ff_lane_registry: lane_id: holds a NUL byte or is not UTF-8");
    expect_refused(with(10, "\"type\":\"", "\"type\":\"\\u0000"),
                   "line 10: ff_log_event: type: holds a NUL byte or is not UTF-8");
    // A tag that only its index has no room for.
    expect_refused(with(7, "\\\"b\\\"", "\\\"" + random_text(9'000) + "\\\""),
                   "line 7: ff_exec_input: PostgreSQL: index row requires");
}

TEST_F(PostgresTransfer, a_text_that_is_not_right_leaves_nothing) {
    std::vector<std::string> lines = small_export(file("small.db"));
    std::string broken = joined(lines);
    replace(broken, "\"eid_high\":2", "\"eid_high\":9223372036854775806");
    expect_refused(broken, "line 1: the header: eid_high: leaves no room");
    lines.pop_back();
    expect_refused(joined(lines), "line 11: the export is cut short");
    expect_refused("", "line 1: this is not an export of ff");
}

TEST_F(PostgresTransfer, a_store_that_holds_anything_is_refused) {
    const std::string text = small();
    const std::string store = database();
    ASSERT_TRUE(import_text(store, text));
    const auto twice = import_text(store, text);
    ASSERT_FALSE(twice);
    EXPECT_TRUE(is_in_the_way(twice.error()));
    EXPECT_NE(twice.error().detail.find("is not empty: there are rows in ff_route"),
              std::string::npos);
    EXPECT_EQ(export_text(store), text);
}

TEST_F(PostgresTransfer, a_fresh_store_takes_an_import_and_loses_its_own_lanes) {
    const std::string store = database();
    const std::string text = small();
    const auto opened = open(store);  // stays open
    put(*opened, changes(core::Lane{"default", LaneState::paused, 1},
                         core::Lane{"own", LaneState::active, 1}));
    const std::string before = export_text(store);
    EXPECT_FALSE(import_text(store, text.substr(0, text.size() - 10)));
    EXPECT_EQ(export_text(store), before);
    const auto done = import_text(store, text);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(export_text(store), text);
    put(*opened, changes(waiting(opened->next_eid(t0), 1)));
}

TEST_F(PostgresTransfer, an_empty_store_of_an_older_schema_takes_an_import) {
    const std::string store = database();
    {
        auto connection = PgConnection::open(store);
        ASSERT_TRUE(connection) << connection.error().message();
        ASSERT_TRUE((*connection)->execute(older_schema(Dialect::postgres, 2)));
    }
    const std::string text = joined(small_export(file("small.db")));
    const auto done = import_text(store, text);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(export_text(store), text);
}

TEST_F(PostgresTransfer, an_engine_that_writes_meanwhile_waits) {
    const std::string store = database();
    const auto opened = open(store);
    auto target = open_import_target(location_of(store));
    ASSERT_TRUE(target);
    ASSERT_TRUE((*target)->begin({}));
    std::thread engine([&] { put(*opened, changes(core::Lane{"own", LaneState::active, 1})); });
    EXPECT_TRUE((*target)->write(std::vector<core::Route>{route_of(1, "default")}));
    while (ask(store,
               "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation ="
               " to_regclass('ff_lane_registry')") == "0") {
    }
    EXPECT_TRUE((*target)->commit({}));
    engine.join();
    EXPECT_EQ(ask(store, "SELECT COUNT(*) FROM ff_lane_registry"), "1");
    EXPECT_EQ(ask(store, "SELECT COUNT(*) FROM ff_route"), "1");
}

TEST_F(PostgresTransfer, other_partition_counts_are_refused) {
    const std::string store = database();
    EngineOptions options;
    options.flow_partitions = 7;
    ASSERT_TRUE(PostgresStore::open(location_of(store), options));
    const auto mismatch = import_text(store, small());
    ASSERT_FALSE(mismatch);
    EXPECT_EQ(mismatch.error().code, ErrorCode::partition_mismatch);
}

TEST_F(PostgresTransfer, a_killed_import_leaves_nothing) {
    const std::string text = small();
    const std::string store = database();
    for (int kill_at = 1; kill_at <= 7; ++kill_at) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto target = open_import_target(location_of(store));
            std::istringstream in(text);
            ImportOptions options;
            int calls = 0;
            options.progress = [&](std::string_view, std::uint64_t) {
                return ++calls < kill_at || raise(SIGKILL) != 0;
            };
            _exit(target && import_store(**target, in, options) ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << kill_at;
        EXPECT_EQ(ask(store, "SELECT to_regclass('ff_exec_core')"), "") << kill_at;
    }
    ASSERT_TRUE(import_text(store, text));
    EXPECT_EQ(export_text(store), text);
}

TEST_F(PostgresTransfer, what_is_no_store_of_this_version_cannot_be_exported) {
    const std::string store = database();
    const auto nothing = try_export(store);
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, ErrorCode::store_open_failed);
    EXPECT_NE(nothing.error().detail.find("is not a FlowFabric store"), std::string::npos);
    ASSERT_NE(open(store), nullptr);
    run_on(store, "INSERT INTO ff_schema_migration VALUES (99, 'later', '')");
    const auto newer = try_export(store);
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().code, ErrorCode::schema_too_new);
    const auto into = import_text(store, small());
    ASSERT_FALSE(into);
    EXPECT_EQ(into.error().code, ErrorCode::schema_too_new);
}

TEST_F(PostgresTransfer, a_pooler_in_between_changes_nothing) {
    // In a database of its own: through a pooler there is no search_path of our own.
    const std::string name = "ff_pooled_" + std::to_string(getpid());
    support::run_on_postgres("CREATE DATABASE " + name);
    std::string pooled = support::postgres_address("FF_TEST_PGBOUNCER");
    replace(pooled, "/ff_test", "/" + name);
    const std::string text = small();
    const auto done = import_text(pooled, text);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(export_text(pooled), text);
}

TEST(PostgresServer, is_refused_when_no_store_can_be_there) {
    const PgServer good{150'004, "15.4", "UTF8", false};
    EXPECT_TRUE(check_server(good, "here", PgUse::write));
    PgServer old = good;
    old.version = 120'017;
    old.version_text = "12.17";
    const auto refused = check_server(old, "here", PgUse::read);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().detail, "here is PostgreSQL 12.17; version 13 or later is needed");
    PgServer latin = good;
    latin.encoding = "LATIN1";
    EXPECT_FALSE(check_server(latin, "here", PgUse::read));
    PgServer standby = good;
    standby.standby = true;
    EXPECT_FALSE(check_server(standby, "here", PgUse::write));
    EXPECT_TRUE(check_server(standby, "here", PgUse::read));
}

}  // namespace
}  // namespace ff::store::test
