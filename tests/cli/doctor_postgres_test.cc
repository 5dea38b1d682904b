// `ff doctor` on PostgreSQL finds what was broken on purpose; and what all commands say of
// databases that they cannot use.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program.h"
#include "store/postgres_db.h"
#include "support/postgres.h"

namespace ff::test {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// A store with 5 finished, 3 leased, 7 waiting and 5 delayed executions, in the order of their
/// numbers.
class DoctorPostgres : public ::testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
        }
        store_ = support::postgres_store(folder_.path());
        EngineOptions options;
        options.background = false;
        auto opened = Engine::open(store_, options);
        ASSERT_TRUE(opened) << opened.error().message();
        Engine& engine = **opened;
        for (int i = 0; i < 20; ++i) {
            CreateExecution op;
            op.ns = "shop";
            op.lane_id = "email";
            op.execution_kind = "email.receipt";
            op.input_payload = "hello";
            op.creator_identity = "test";
            op.tags = {{"order.id", std::to_string(i)}};
            if (i >= 15) {
                op.delay_until = 4'000'000'000'000;
            }
            ASSERT_TRUE(engine.run(op));
        }
        Claim claim;
        claim.lanes = {"email"};
        claim.worker_id = "w";
        claim.worker_instance_id = "w-1";
        claim.max_tasks = 8;
        auto claimed = engine.run(claim);
        ASSERT_TRUE(claimed && claimed->tasks.size() == 8);
        for (std::size_t i = 0; i < 5; ++i) {
            Complete complete;
            complete.lease = claimed->tasks[i].handle;
            ASSERT_TRUE(engine.run(complete));
        }
        engine.stop();
    }

    /// Runs statements on the store behind everybody's back; `@5` is the number of execution 5.
    void run(std::string text) {
        for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) {
            const std::size_t end = text.find_first_not_of("0123456789", at + 1);
            const std::string place = text.substr(at + 1, end - at - 1);
            text.replace(at, place.size() + 1,
                         "(SELECT eid FROM ff_exec_input WHERE tags LIKE '%\"" + place + "\"%')");
        }
        auto connection = store::PgConnection::open(store_);
        ASSERT_TRUE(connection) << connection.error().message();
        auto done = (*connection)->execute(text);
        ASSERT_TRUE(done) << text << ": " << done.error().message();
    }

    [[nodiscard]] js::Value report(int code) const {
        const Ran ran = run_ff({"doctor", "--db", store_, "-o", "json"});
        EXPECT_EQ(ran.code, code) << ran.out << ran.err;
        return ran.json();
    }
    static js::Value check_of(const js::Value& report, const std::string& name) {
        for (const js::Value& entry : *report.find("checks")->if_array()) {
            if (member(entry, "name") == name) {
                return entry;
            }
        }
        ADD_FAILURE() << "no check " << name;
        return {};
    }
    static void expect_fault(const js::Value& report, const std::string& name,
                             std::string_view words) {
        const js::Value check = check_of(report, name);
        EXPECT_EQ(member(check, "status"), "fail") << name;
        EXPECT_TRUE(contains(member(check, "findings"), words))
            << name << ": " << member(check, "findings") << "\nnot: " << words;
    }
    static void expect_warning(const js::Value& report, const std::string& name,
                               std::string_view words) {
        const js::Value check = check_of(report, name);
        EXPECT_EQ(member(check, "status"), "warn") << name;
        EXPECT_TRUE(contains(member(check, "detail"), words))
            << name << ": " << member(check, "detail") << "\nnot: " << words;
    }

    Folder folder_;
    std::string store_;
};

TEST_F(DoctorPostgres, FindsNothingWrongWithASoundStore) {
    const js::Value sound = report(0);
    EXPECT_EQ(member(sound, "ok"), "true");
    const js::Array& checks = *sound.find("checks")->if_array();
    EXPECT_EQ(checks.size(), 22U);
    for (const js::Value& check : checks) {
        if (member(check, "name") != "upkeep") {  // other tests may have old transactions
            EXPECT_EQ(member(check, "status"), "ok") << js::dump(check);
        }
        EXPECT_FALSE(member(check, "detail").empty()) << member(check, "name");
    }
    const Ran text = run_ff({"doctor", "--db", store_});
    EXPECT_EQ(text.code, 0) << text.out;
    EXPECT_TRUE(contains(text.out, "is sound")) << text.out;
    // It leaves nothing behind, and a second look sees the same.
    EXPECT_EQ(member(check_of(report(0), "schema"), "status"), "ok");
}

TEST_F(DoctorPostgres, FindsRowsThatDoNotAgree) {
    run("UPDATE ff_exec_core SET public_state = 7 WHERE eid = @8;"
        "UPDATE ff_exec_core SET lifecycle_phase = 77 WHERE eid = @9;"
        "DELETE FROM ff_ready WHERE place = @10;"
        "INSERT INTO ff_ready (route, rank, place) VALUES (1, 0, @3);"
        "INSERT INTO ff_ready (route, rank, place) VALUES (1, 0, 4711);"
        "DELETE FROM ff_timer WHERE eid = @15;"
        "UPDATE ff_exec_core SET timer_at = NULL WHERE eid = @16;"
        "DELETE FROM ff_listed WHERE eid = @17;"
        "INSERT INTO ff_listed (bucket, eid) VALUES (1, @13);"
        "DELETE FROM ff_exec_tag WHERE eid = @11;"
        "UPDATE ff_exec_core SET route = 99 WHERE eid = @14;"
        "INSERT INTO ff_attempt (eid, attempt_index, attempt_id) VALUES (4712, 0, '\\x00');"
        "UPDATE ff_attempt SET attempt_state = 99 WHERE eid = @0;"
        "DELETE FROM ff_exec_input WHERE eid = @12");
    const js::Value found = report(1);
    EXPECT_EQ(member(found, "ok"), "false");
    expect_fault(found, "invariants", "public_state");
    expect_fault(found, "readable", "its row: lifecycle_phase: 77");
    expect_fault(found, "readable", "its attempts: attempt_state: 99");
    expect_fault(found, "ready", "it can be claimed, and no ready row says so");
    expect_fault(found, "ready", "a ready row that it should not have");
    expect_fault(found, "ready", "a ready row of execution number 4711, which does not exist");
    expect_fault(found, "timers", "timer at 2096-10-02 07:06:40.000Z is missing");
    expect_fault(found, "timers", "no timer is armed");
    expect_fault(found, "listed", "not in the list of delayed");
    expect_fault(found, "listed", "that it should not have");
    expect_fault(found, "tags", "order.id=11");
    expect_fault(found, "references", "its input is missing");
    expect_fault(found, "references", "its route 99 is missing");
    expect_fault(found, "orphans", "ff_attempt has rows of execution number 4712");
    const Ran text = run_ff({"doctor", "--db", store_});
    EXPECT_EQ(text.code, 1);
    EXPECT_TRUE(contains(text.out, "NOT sound")) << text.out;
}

TEST_F(DoctorPostgres, FindsNumbersThatWereGivenOutBefore) {
    run("UPDATE ff_meta SET value = 2 WHERE name = 'event_high';"
        "INSERT INTO ff_route VALUES (70, 'email', 'shop', 'other', '')");
    js::Value found = report(1);
    expect_fault(found, "numbers", "the counter of events is at 2, and there is event ");
    expect_fault(found, "numbers", "ff_route_number is at 1, and there is route 70");
    run("DELETE FROM ff_meta");
    expect_fault(report(1), "numbers", "the counter of events is missing");
}

TEST_F(DoctorPostgres, FindsASchemaThatIsNotOurs) {
    run("CREATE TABLE ff_other (a int); CREATE INDEX by_worker ON ff_exec_core (worker_id)");
    expect_warning(report(0), "schema", "by_worker is not ours");
    run("DROP TABLE ff_other; DROP INDEX by_worker; DROP VIEW ff_executions CASCADE");
    expect_warning(report(0), "schema", "view ff_executions is missing");
    run("DROP INDEX ff_exec_core_by_route; ALTER TABLE ff_attempt ALTER started_at DROP NOT NULL,"
        " DROP COLUMN result_encoding; DROP SEQUENCE ff_process_slot; UPDATE pg_index SET"
        " indisvalid = false WHERE indexrelid = to_regclass('ff_idempotency_by_expiry');"
        "UPDATE ff_schema_migration SET checksum = 'x' WHERE version = 2");
    const js::Value found = report(1);
    expect_fault(found, "schema", "index ff_exec_core_by_route is missing");
    expect_fault(found, "schema", "table ff_attempt is not as it should be");
    expect_fault(found, "schema", "sequence ff_process_slot is missing");
    expect_fault(found, "schema", "index ff_idempotency_by_expiry is not valid");
    expect_fault(found, "schema", "schema migration 2 was applied in another form");
}

TEST_F(DoctorPostgres, WarnsOfSettingsThatHarm) {
    run("ALTER TABLE ff_ready SET (autovacuum_enabled = false)");
    std::string careless = store_;
    careless += "%20-csynchronous_commit%3Doff";
    const Ran ran = run_ff({"doctor", "--db", careless, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    expect_warning(ran.json(), "upkeep", "autovacuum is off for ff_ready");
    expect_warning(ran.json(), "durability", "engines set synchronous_commit to on");
}

/// A role that may only read sees that the store is sound, and leaves it alone.
TEST_F(DoctorPostgres, NeedsNoMoreThanReading) {
    run("DO $$ BEGIN CREATE ROLE ff_looker LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END"
        " $$; DO $$ BEGIN EXECUTE 'GRANT USAGE ON SCHEMA ' || current_schema() ||"
        " ' TO ff_looker'; EXECUTE 'GRANT SELECT ON ALL TABLES IN SCHEMA ' || current_schema() ||"
        " ' TO ff_looker'; END $$");
    store_ = replaced(store_, "user=ff", "user=ff_looker");
    expect_warning(report(0), "numbers", "permission denied for sequence ff_route_number");
    EXPECT_EQ(run_ff({"inspect", "--db", store_, "stats"}).code, 0);
    EXPECT_EQ(run_ff({"export", "--db", store_, "--out", folder_.file("lines")}).code, 0);
    const Ran import = run_ff({"import", "--db", store_, folder_.file("lines")});
    EXPECT_EQ(import.code, 1);
    EXPECT_TRUE(contains(import.err, "permission denied")) << import.err;
}

TEST_F(DoctorPostgres, SeesEnginesAndPoolers) {
    EngineOptions options;
    options.background = false;
    auto opened = Engine::open(store_, options);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_FALSE(contains(member(check_of(report(0), "connections"), "detail"), ", 0 by other"));
    const Ran pooled =
        run_ff({"doctor", "--db", support::postgres_address("FF_TEST_PGBOUNCER"), "-o", "json"});
    EXPECT_EQ(pooled.code, 1) << "there is no store in the public schema";
    expect_warning(pooled.json(), "notify", "no notification arrived through the pooler");
}

// ----------------------------------------------------------------------------- what cannot be used

/// Runs each command that takes a store; `expect` gets what it left behind.
template <class Expect>
void on_every_command(const std::string& store, Expect expect) {
    const Folder folder;
    const std::string lines = folder.file("export.jsonl");
    run_shell(
        "echo '{\"flowfabric_export\":1,\"schema\":1,\"partitions\":{\"flow\":1,"
        "\"budget\":1,\"quota\":1},\"exported_at_ms\":0,\"eid_high\":0,\"event_high\":0}'"
        " > \"$1\"",
        {lines});
    expect(run_ff({"doctor", "--db", store}), "doctor");
    expect(run_ff({"inspect", "--db", store, "ls"}), "inspect");
    expect(run_ff({"export", "--db", store}), "export");
    expect(run_ff({"import", "--db", store, lines}), "import");
}

/// Expects one line on standard error with `words`, this exit code and no password.
void expect_refused(const std::string& store, int code, const std::string& words) {
    on_every_command(store, [&](const Ran& ran, const std::string& command) {
        EXPECT_EQ(ran.code, code) << command << ": " << ran.err;
        EXPECT_EQ(ran.out, "") << command;
        EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << command << ": " << ran.err;
        EXPECT_TRUE(contains(ran.err, words)) << command << ": " << ran.err << "not: " << words;
        EXPECT_FALSE(contains(ran.err, "sesame")) << command << ": " << ran.err;
    });
}

TEST(BadPostgres, AddressesAreRefusedInOneLine) {
    expect_refused("postgresql://ff:sesame@127.0.0.1:1/x", 1,
                   "Connection refused; is the server running, and are host and port right?");
    expect_refused("postgres://ff:sesame@[1::/x", 2, "cannot be read; write postgresql://USER");
    expect_refused("postgres://ff:sesame@host/x?nonsense=1", 2, "cannot be read; write");
    expect_refused("postgres:ff:sesame@host", 2, "there is no store \"postgres:\"");
}

TEST(BadPostgres, DatabasesAndPasswordsAreRefusedInOneLine) {
    if (support::postgres_address().empty()) {
        GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
    }
    const std::string tcp = support::postgres_address("FF_TEST_POSTGRES_TCP");
    expect_refused(replaced(tcp, "secret", "sesame"), 1,
                   "password authentication failed for user \"ff\"; check user and password");
    expect_refused(replaced(support::postgres_address(), "/ff_test", "/no_such"), 3,
                   "database \"no_such\" does not exist; create it first");
}

TEST_F(DoctorPostgres, OtherSchemasAreRefused) {
    const std::string empty = support::postgres_store(folder_.path() + "empty");
    on_every_command(empty, [&](const Ran& ran, const std::string& command) {
        EXPECT_EQ(ran.code, 1) << command << ran.err;
        if (command != "import") {  // which finds the export cut short, and nothing wrong with this
            EXPECT_TRUE(contains(ran.out + ran.err, "not a FlowFabric store")) << command;
        }
    });
    run("INSERT INTO ff_schema_migration VALUES (99, 'x', 'y')");
    on_every_command(store_, [&](const Ran& ran, const std::string& command) {
        EXPECT_EQ(ran.code, 1) << command << ran.err;
        const bool said = contains(ran.err, "schema version 99, this program knows up to ");
        EXPECT_EQ(said, command != "doctor") << ran.err;
    });
    expect_fault(report(1), "schema", "this program knows version ");
    run("DELETE FROM ff_schema_migration WHERE version > 1");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"inspect", "--db", store_, "stats"},
          std::vector<std::string>{"export", "--db", store_}}) {
        const Ran ran = run_ff(command);
        EXPECT_EQ(ran.code, 1);
        EXPECT_TRUE(contains(ran.err, "let an engine of this version open it once")) << ran.err;
    }
}

TEST(BadPostgres, SummariesDoNotShowThePassword) {
    if (support::postgres_address().empty()) {
        GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
    }
    const Folder folder;
    const std::string schema = support::postgres_store(folder.path());
    const std::string store = support::postgres_address("FF_TEST_POSTGRES_TCP") + "?" +
                              schema.substr(schema.find("options="));
    auto opened = Engine::open(store, {});
    ASSERT_TRUE(opened) << opened.error().message();
    (*opened)->stop();
    const std::string lines = folder.file("lines");
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"export", "--db", store, "--out", lines, "-o", "json"},
          std::vector<std::string>{"import", "--db", store, lines},
          std::vector<std::string>{"import", "--db", store, lines, "-o", "json"},
          std::vector<std::string>{"doctor", "--db", store},
          std::vector<std::string>{"backup", "--db", store, "--to", lines}}) {
        const Ran ran = run_ff(command);
        EXPECT_EQ(ran.code, command[0] == "backup" ? 2 : 0) << ran.err;
        EXPECT_FALSE(contains(ran.out + ran.err, "secret")) << ran.out << ran.err;
    }
}

}  // namespace
}  // namespace ff::test
