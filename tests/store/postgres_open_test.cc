// A PostgreSQL database becomes a store: opening, what is refused and how it is said.
#include "store/postgres_fixture.h"

#include <future>

#include "store/catalogue.h"

namespace ff::store::test {
namespace {

Error error_of(const std::string& url) {
    auto location = parse_location(url);
    if (!location) {
        return location.error();
    }
    auto store = PostgresStore::open(*location, {});
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
}

TEST_F(Postgres, every_catalogue_text_can_be_prepared) {
    open();
    auto connection = PgConnection::open(url_);
    ASSERT_TRUE(connection);
    int number = 0;
    for (const std::string& text : sql::all_texts()) {
        auto done = (*connection)->execute("PREPARE p" + std::to_string(++number) + " AS " + text);
        EXPECT_TRUE(done) << text << ": " << done.error().message();
    }
}

// ------------------------------------------------------------------------------------- opening

TEST_F(Postgres, a_wrong_password_is_one_line_without_the_password) {
    std::string url = support::postgres_address("FF_TEST_POSTGRES_TCP");
    const std::size_t at = url.find(":secret@");
    ASSERT_NE(at, std::string::npos);
    url.replace(at, 8, ":hunter2@");
    const Error error = error_of(url);
    EXPECT_EQ(error.code, ErrorCode::store_open_failed);
    EXPECT_NE(error.detail.find("password authentication failed"), std::string::npos);
    EXPECT_NE(error.detail.find("check user and password"), std::string::npos) << error.detail;
    EXPECT_EQ(error.detail.find("hunter2"), std::string::npos) << error.detail;
    EXPECT_EQ(error.detail.find('\n'), std::string::npos) << error.detail;
}

TEST_F(Postgres, a_store_from_before_there_were_waits_is_brought_up_to_date) {
    tamper(older_schema(Dialect::postgres, 3) +
           "INSERT INTO ff_route (route, lane_id, namespace, execution_kind)"
           " VALUES (1, 'default', 'acme', 'job');"
           "INSERT INTO ff_exec_core (eid, id, route) VALUES"
           " (1, '\\x000000000000000000000000000000000001', 1);"
           "INSERT INTO ff_exec_input (eid) VALUES (1);");
    const auto store = open();
    EXPECT_EQ(store->info().migration,
              "suspension, streams, events, limits, reservations, limit_keys, open_waitpoints, "
              "implied_edges");
    ASSERT_TRUE(find_execution(*store, 1));
    put(*store, changes(waiting(1, 1), full_suspension(1, 1), full_waitpoint(1, 7)));
    EXPECT_TRUE(find_execution(*store, 1)->has_waits);
    EXPECT_EQ(look(*store, [](Reader& r) { return r.suspension({1, 1}); }), full_suspension(1, 1));
}

TEST_F(Postgres, a_missing_database_says_to_create_it) {
    std::string url = support::postgres_address("FF_TEST_POSTGRES_TCP");
    url.replace(url.find("/ff_test"), 8, "/nowhere");
    const Error error = error_of(url);
    EXPECT_EQ(error.code, ErrorCode::store_open_failed);
    EXPECT_NE(error.detail.find("createdb"), std::string::npos) << error.detail;
}

TEST_F(Postgres, a_server_that_is_not_there_is_named) {
    const Error error = error_of("postgresql://ff@127.0.0.1:1/ff_test");
    EXPECT_EQ(error.code, ErrorCode::store_open_failed);
    EXPECT_NE(error.detail.find("postgresql://ff@127.0.0.1:1/ff_test"), std::string::npos)
        << error.detail;
    EXPECT_NE(error.detail.find("is the server running"), std::string::npos) << error.detail;
}

TEST_F(Postgres, an_address_that_is_none_is_not_repeated) {
    const Error error = error_of("postgresql://ff:hunter2@[::1/ff?x=%");
    EXPECT_EQ(error.code, ErrorCode::invalid_config);
    EXPECT_EQ(error.detail.find("hunter2"), std::string::npos) << error.detail;
}

TEST_F(Postgres, a_newer_schema_is_refused) {
    open();
    tamper("INSERT INTO ff_schema_migration (version, name, checksum) VALUES (99, 'x', 'y')");
    const Error error = error_of(url_);
    EXPECT_EQ(error.code, ErrorCode::schema_too_new);
    EXPECT_NE(error.detail.find("version 99"), std::string::npos) << error.detail;
}

TEST_F(Postgres, a_migration_that_was_altered_is_refused) {
    open();
    tamper("UPDATE ff_schema_migration SET checksum = 'y' WHERE version = 1");
    EXPECT_EQ(error_of(url_).code, ErrorCode::store_corrupt);
}

TEST_F(Postgres, a_new_store_has_256_partitions) { EXPECT_EQ(open()->info().partitions.flow, 256); }

TEST_F(Postgres, partition_counts_are_stored_and_compared) {
    EngineOptions four;
    four.flow_partitions = 4;
    EXPECT_EQ(open(four)->info().partitions.flow, 4);
    EXPECT_EQ(open()->info().partitions.flow, 4);
    EngineOptions eight;
    eight.flow_partitions = 8;
    auto refused = open_at(url_, eight);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::partition_mismatch);
    EXPECT_EQ(refused.error().detail, "partition count mismatch: stored=4 configured=8");
}

TEST_F(Postgres, a_database_in_another_encoding_is_refused) {
    const std::string name = "ff_latin1";
    support::run_on_postgres("CREATE DATABASE " + name +
                             " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    std::string url = support::postgres_address();
    url.replace(url.find("/ff_test"), 8, "/" + name);
    const Error error = error_of(url);
    support::run_on_postgres("DROP DATABASE " + name);
    EXPECT_EQ(error.code, ErrorCode::store_open_failed);
    EXPECT_NE(error.detail.find("LATIN1"), std::string::npos) << error.detail;
}

TEST_F(Postgres, many_openers_at_once_migrate_once) {
    std::vector<std::future<expected<std::unique_ptr<PostgresStore>>>> openers;
    for (int i = 0; i < 4; ++i) {
        openers.push_back(std::async(std::launch::async, [this] { return open_at(url_); }));
    }
    int migrated = 0;
    for (auto& opener : openers) {
        auto store = opener.get();
        ASSERT_TRUE(store) << store.error().message();
        migrated += (*store)->info().migration.contains("foundations") ? 1 : 0;
    }
    EXPECT_EQ(migrated, 1);
    EXPECT_EQ(ask("SELECT count(*) FROM ff_schema_migration WHERE version > 0"),
              std::to_string(migrations().size()));
}

TEST_F(Postgres, it_says_what_it_is) {
    const auto store = open();
    EXPECT_EQ(store->info().backend, BackendTag::postgres);
    EXPECT_EQ(store->info().family, "postgres");
    EXPECT_EQ(store->info().durability, "full (synchronous_commit = on)");
    EXPECT_EQ(store->info().wake_ups, "notify");
    EngineOptions off;
    off.notify = EngineOptions::Notify::off;
    EXPECT_EQ(open(off)->info().wake_ups, "polling (notify is off)");
    EngineOptions normal;
    normal.synchronous = EngineOptions::Synchronous::normal;
    EXPECT_EQ(open(normal)->info().durability, "normal (synchronous_commit = off)");
}

TEST_F(Postgres, views_spell_out_the_states) {
    const auto store = open();
    put(*store, changes(waiting(1, make_route(*store)), input_of(1, {{"a", "b"}})));
    EXPECT_EQ(ask("SELECT public_state || ' ' || lane_id FROM ff_executions"), "waiting default");
}

TEST(PostgresDb, sqlstates_become_errors) {
    EXPECT_EQ(code_of_sqlstate("40P01"), ErrorCode::store_busy);
    EXPECT_EQ(code_of_sqlstate("40001"), ErrorCode::store_busy);
    EXPECT_EQ(code_of_sqlstate("23505"), ErrorCode::store_busy);
    EXPECT_EQ(code_of_sqlstate("55P03"), ErrorCode::timeout);
    EXPECT_EQ(code_of_sqlstate("57P01"), ErrorCode::store_io);
    EXPECT_EQ(code_of_sqlstate("08006"), ErrorCode::store_io);
    EXPECT_EQ(code_of_sqlstate("53100"), ErrorCode::store_full);
    EXPECT_EQ(code_of_sqlstate("XX001"), ErrorCode::store_corrupt);
    EXPECT_EQ(code_of_sqlstate("42601"), ErrorCode::internal);
}

TEST(PostgresDb, an_address_is_printed_without_its_password) {
    EXPECT_EQ(printable_url("postgresql://u:p@h:5433/db?sslmode=require"),
              "postgresql://u@h:5433/db");
    EXPECT_EQ(printable_url("postgresql:///db?host=/run&password=p"), "postgresql:///db?host=/run");
}

}  // namespace
}  // namespace ff::store::test
