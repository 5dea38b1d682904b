// `ff export`, `ff import` and `ff backup` as their users run them, on stores that engines made.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "cli/program.h"
#include "support/postgres.h"

namespace ff::test {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The file without its first line, which holds the time of the export.
std::string rows_of(const std::string& path) {
    const std::string text = read_all(path);
    return text.substr(text.find('\n') + 1);
}

const std::string odd_bytes("\0\x01\xff odd \0", 9);

EngineOptions quiet_options() {
    EngineOptions options;
    options.background = false;
    return options;
}

CreateExecution job(const std::string& kind) {
    CreateExecution op;
    op.ns = "shop";
    op.lane_id = "email";
    op.execution_kind = kind;
    op.creator_identity = "test";
    op.input_payload = odd_bytes;
    return op;
}

Claim claim_of(std::uint32_t tasks) {
    Claim claim;
    claim.lanes = {"email"};
    claim.worker_id = "w";
    claim.worker_instance_id = "w-1";
    claim.max_tasks = tasks;
    claim.lease_ttl_ms = 3'600'000;
    return claim;
}

template <class Op>
typename Op::Result must(Engine& engine, Op op) {
    auto done = engine.run(std::move(op));
    EXPECT_TRUE(done) << Op::name << ": " << done.error().message();
    return done ? std::move(*done) : typename Op::Result{};
}

class TransferCommands : public ::testing::Test {
  protected:
    /// A store with executions in every state an engine alone can bring about, closed.
    void SetUp() override {
        auto opened = Engine::open(path_, quiet_options());
        ASSERT_TRUE(opened) << opened.error().message();
        Engine& engine = **opened;
        for (int i = 0; i < 8; ++i) {
            CreateExecution op = job("email.receipt");
            op.tags = {{"order.id", std::to_string(i)}, {"city", "東京"}};
            op.policy = R"({"retry_policy":{"max_retries":3,"backoff":{"type":"fixed",)"
                        R"("delay_ms":60000}}})";
            must(engine, op);
        }
        const auto tasks = must(engine, claim_of(5)).tasks;
        ASSERT_EQ(tasks.size(), 5U);
        held_ = {tasks[0].handle, tasks[1].handle};
        Complete complete;
        complete.lease = tasks[2].handle;
        complete.result_payload = odd_bytes;
        must(engine, complete);
        finished_ = tasks[2].execution_id();
        Fail fail;
        fail.lease = tasks[3].handle;
        fail.failure_reason = "no such address";
        fail.failure_category = "permanent";
        must(engine, fail);
        fail.lease = tasks[4].handle;
        fail.failure_category = "transient";
        must(engine, fail);
        CreateExecution later = job("email.reminder");
        later.delay_until = 4'000'000'000'000;
        must(engine, later);
        CreateExecution keyed = job("email.once");
        keyed.idempotency_key = "order-17";
        keyed_ = must(engine, keyed).execution_id;
        granted_ = must(engine, job("email.granted")).execution_id;
        IssueClaimGrant grant;
        grant.execution_id = granted_;
        grant.lane_id = "email";
        grant.worker_id = "g";
        grant.worker_instance_id = "g-1";
        grant.grant_ttl_ms = 60'000;
        must(engine, grant);
        RegisterWorker worker;
        worker.ns = "shop";
        worker.worker_id = "w";
        worker.worker_instance_id = "w-1";
        worker.lanes = {"email"};
        must(engine, worker);
        SearchExecutions search;
        search.limit = 4;
        const auto page = must(engine, search);
        ASSERT_TRUE(page.next_cursor);
        cursor_ = *page.next_cursor;
        search.cursor = cursor_;
        for (const auto& item : must(engine, search).items) {
            next_page_.push_back(item.execution_id);
        }
        const auto history = must(engine, ReadLeaseHistory{finished_});
        ASSERT_FALSE(history.empty());
        engine.stop();
    }

    /// Exports the store and imports it into another one.
    void move_to(const std::string& target) {
        const Ran exported = run_ff({"export", "--db", path_, "--out", lines_});
        ASSERT_EQ(exported.code, 0) << exported.err;
        const Ran imported = run_ff({"import", "--db", target, lines_});
        ASSERT_EQ(imported.code, 0) << imported.err;
    }

    Folder folder_;
    std::string path_ = folder_.file("store.db");
    std::string lines_ = folder_.file("store.jsonl");
    std::string copy_ = folder_.file("copy.db");
    std::vector<Handle> held_;
    ExecutionId finished_;
    ExecutionId keyed_;
    ExecutionId granted_;
    std::string cursor_;
    std::vector<ExecutionId> next_page_;
};

// --------------------------------------------------------------------- from one store to another

/// What is moved, and where to.
struct Move {
    std::string name;
    bool from_postgres = false;
    bool to_postgres = false;

    friend void PrintTo(const Move& move, std::ostream* out) { *out << move.name; }
};

class MovedStores : public TransferCommands, public ::testing::WithParamInterface<Move> {
  protected:
    void SetUp() override {
        const auto [name, from_postgres, to_postgres] = GetParam();
        if ((from_postgres || to_postgres) && support::postgres_address().empty()) {
            GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
        }
        if (from_postgres) {
            path_ = support::postgres_store(folder_.path() + "from");
        }
        if (to_postgres) {
            copy_ = support::postgres_store(folder_.path() + "to");
            other_ = support::postgres_store(folder_.path() + "other");
        }
        TransferCommands::SetUp();
    }
    std::string other_ = folder_.file("other.db");
};

INSTANTIATE_TEST_SUITE_P(Stores, MovedStores,
                         ::testing::Values(Move{"file_to_file", false, false},
                                           Move{"file_to_postgres", false, true},
                                           Move{"postgres_to_file", true, false},
                                           Move{"postgres_to_postgres", true, true}),
                         [](const auto& param) { return param.param.name; });

TEST_P(MovedStores, AMovedStoreIsSoundAndExportsTheSameRows) {
    move_to(copy_);
    const Ran doctor = run_ff({"doctor", "--db", copy_});
    EXPECT_EQ(doctor.code, 0) << doctor.out;
    const std::string again = folder_.file("again.jsonl");
    EXPECT_EQ(run_ff({"export", "--db", copy_, "--out", again}).code, 0);
    EXPECT_EQ(rows_of(again), rows_of(lines_));
    EXPECT_FALSE(rows_of(lines_).empty());
    // The same through a pipe.
    const Ran piped = run_shell(
        R"("$0" export --db "$1" | "$0" import --db "$2" - && "$0" export --db "$2" --out "$3")",
        {path_, other_, folder_.file("piped.jsonl")});
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(rows_of(folder_.file("piped.jsonl")), rows_of(lines_));
}

TEST_P(MovedStores, WorkGoesOnInAMovedStore) {
    std::uint64_t newest_event = 0;
    move_to(copy_);
    auto opened = Engine::open(copy_, quiet_options());
    ASSERT_TRUE(opened) << opened.error().message();
    Engine& engine = **opened;
    for (const ExecutionId& id : {finished_, held_[0].execution_id, held_[1].execution_id}) {
        for (const auto& entry : must(engine, ReadLeaseHistory{id})) {
            newest_event = std::max(newest_event, entry.event_id);
        }
    }
    // A handle names the kind of its store, so that of another kind is refused; the lease is good.
    if (GetParam().from_postgres != GetParam().to_postgres) {
        Complete foreign;
        foreign.lease = held_[0];
        const auto refused = engine.run(foreign);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::handle_from_other_backend);
        for (Handle& handle : held_) {
            handle.backend = GetParam().to_postgres ? BackendTag::postgres : BackendTag::sqlite;
        }
    }
    // Leases are still good, and only the right ones.
    Complete complete;
    complete.lease = held_[0];
    complete.result_payload = "done elsewhere";
    must(engine, complete);
    EXPECT_GT(must(engine, ReadLeaseHistory{held_[0].execution_id}).back().event_id, newest_event);
    complete.lease = held_[1];
    complete.lease.lease_epoch = 99;
    EXPECT_FALSE(engine.run(complete));
    Renew renew;
    renew.lease = held_[1];
    renew.lease_ttl_ms = 60'000;
    must(engine, renew);
    // What had ended reads as before; so do cursors and keys.
    const auto result = must(engine, GetExecutionResult{finished_});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->payload, odd_bytes);
    SearchExecutions search;
    search.limit = 4;
    search.cursor = cursor_;
    std::vector<ExecutionId> items;
    for (const auto& item : must(engine, search).items) {
        items.push_back(item.execution_id);
    }
    EXPECT_EQ(items, next_page_);
    CreateExecution keyed = job("email.once");
    keyed.idempotency_key = "order-17";
    const auto repeated = must(engine, keyed);
    EXPECT_FALSE(repeated.created);
    EXPECT_EQ(repeated.execution_id, keyed_);
    // A grant is good for its holder only; the rest is there to claim.
    EXPECT_EQ(must(engine, claim_of(100)).tasks.size(), 4U);
    ClaimExecution take;
    take.execution_id = granted_;
    take.worker_id = "g";
    take.worker_instance_id = "g-1";
    take.lane_id = "email";
    EXPECT_EQ(must(engine, take).input_payload, odd_bytes);
    EXPECT_TRUE(must(engine, job("email.new")).created);
    engine.stop();
    EXPECT_EQ(run_ff({"doctor", "--db", copy_}).code, 0);
}

// -------------------------------------------------------------------------------------- the rest

TEST_F(TransferCommands, ExportsBesideALiveEngine) {
    auto opened = Engine::open(path_, quiet_options());
    ASSERT_TRUE(opened) << opened.error().message();
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        while (!stop) {
            must(**opened, job("email.busy"));
        }
    });
    for (int i = 0; i < 5; ++i) {
        const Ran exported = run_ff({"export", "--db", path_, "--out", lines_, "--force"});
        EXPECT_EQ(exported.code, 0) << exported.err;
        const std::string copy = folder_.file("copy" + std::to_string(i) + ".db");
        EXPECT_EQ(run_ff({"import", "--db", copy, lines_}).code, 0);
        EXPECT_EQ(run_ff({"doctor", "--db", copy}).code, 0);
    }
    const Ran refused = run_ff({"import", "--db", path_, lines_});
    EXPECT_EQ(refused.code, 4);
    EXPECT_TRUE(contains(refused.err, "in use by process")) << refused.err;
    stop = true;
    writer.join();
}

TEST_F(TransferCommands, SummariesAreForProgramsToo) {
    const Ran exported = run_ff({"export", "--db", path_, "--out", lines_, "-o", "json"});
    EXPECT_EQ(exported.code, 0) << exported.err;
    const js::Value said = exported.json();
    EXPECT_EQ(member(said, "executions"), "11");
    const js::Value& rows = *said.find("rows");
    EXPECT_EQ(member(rows, "ff_idempotency"), "1");
    EXPECT_EQ(exported.err, "");
    const Ran imported = run_ff({"import", "--db", copy_, lines_, "-o", "json"});
    EXPECT_EQ(imported.code, 0) << imported.err;
    EXPECT_EQ(member(imported.json(), "rows"), member(said, "rows"));
    // Standard output is the export itself then.
    const Ran streamed = run_ff({"export", "--db", path_, "-o", "json"});
    std::size_t lines = 2;
    for (const auto& [table, count] : *rows.if_object()) {
        lines += count.as_uint64().value_or(0);
    }
    EXPECT_EQ(streamed.json_lines().size(), lines);
    const auto summary = js::parse(streamed.err);
    ASSERT_TRUE(summary) << streamed.err;
    EXPECT_EQ(member(*summary, "executions"), "11");
    EXPECT_EQ(run_ff({"export", "--db", path_}).err, "");
}

TEST_F(TransferCommands, NothingIsReplacedUnlessAsked) {
    std::ofstream(lines_) << "precious";
    const Ran kept = run_ff({"export", "--db", path_, "--out", lines_});
    EXPECT_EQ(kept.code, 4);
    EXPECT_TRUE(contains(kept.err, "exists already")) << kept.err;
    EXPECT_EQ(read_all(lines_), "precious");
    EXPECT_EQ(run_ff({"export", "--db", path_, "--out", lines_, "--force"}).code, 0);
    const Ran into_self = run_ff({"import", "--db", path_, lines_});
    EXPECT_EQ(into_self.code, 4);
    EXPECT_TRUE(contains(into_self.err, "is not empty")) << into_self.err;
    // A failed export leaves neither a file nor a part of one.
    tamper(path_, "UPDATE ff_exec_core SET lifecycle_phase = 77 WHERE eid = 1");
    const std::string broken = folder_.file("broken.jsonl");
    const Ran failed = run_ff({"export", "--db", path_, "--out", broken});
    EXPECT_EQ(failed.code, 1);
    EXPECT_TRUE(contains(failed.err, "ff_exec_core: a row does not read")) << failed.err;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
        EXPECT_FALSE(contains(entry.path().filename().string(), "broken.jsonl")) << entry.path();
    }
}

TEST_F(TransferCommands, BadInputIsOneLineAndNoStore) {
    ASSERT_EQ(run_ff({"export", "--db", path_, "--out", lines_}).code, 0);
    const Ran cut = run_shell(R"(head -n 7 "$1" | "$0" import --db "$2" -)", {lines_, copy_});
    EXPECT_EQ(cut.code, 1);
    EXPECT_EQ(cut.err,
              "ff: line 8: the export is cut short: its last line, which counts the rows, is "
              "missing\n");
    EXPECT_FALSE(fs::exists(copy_));
    EXPECT_EQ(run_ff({"import", "--db", copy_, path_}).code, 1);
    EXPECT_EQ(run_ff({"import", "--db", copy_, folder_.path()}).code, 1);
    EXPECT_EQ(run_ff({"import", "--db", copy_, folder_.file("missing")}).code, 3);
    EXPECT_EQ(run_ff({"import", "--db", folder_.file("no/folder.db"), lines_}).code, 1);
    EXPECT_EQ(run_ff({"import", "--db", ":memory:", lines_}).code, 2);
    EXPECT_EQ(run_ff({"import", "--db", copy_}).code, 2);
    EXPECT_EQ(run_ff({"export", "--db", folder_.file("missing")}).code, 3);
    EXPECT_EQ(run_ff({"export", "--db", path_, "--out", folder_.path()}).code, 1);
    EXPECT_FALSE(fs::exists(copy_));
    const Ran full = run_shell(R"("$0" export --db "$1" > /dev/full)", {path_});
    EXPECT_EQ(full.code, 1);
    EXPECT_TRUE(contains(full.err, "cannot write the export: No space left")) << full.err;
}

// -------------------------------------------------------------------------------------- backup

TEST_F(TransferCommands, ABackupIsAStore) {
    const Ran ran = run_ff({"backup", "--db", path_, "--to", copy_, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(member(ran.json(), "executions"), "11");
    EXPECT_EQ(member(ran.json(), "check"), "full");
    EXPECT_EQ(run_ff({"doctor", "--db", copy_}).code, 0);
    {
        auto opened = Engine::open(copy_, quiet_options());
        ASSERT_TRUE(opened) << opened.error().message();
        Complete complete;
        complete.lease = held_[0];
        must(**opened, complete);
    }
    const Ran quick = run_ff({"backup", "--db", path_, "--to", copy_, "--force", "--quick"});
    EXPECT_EQ(quick.code, 0) << quick.err;
    EXPECT_TRUE(contains(quick.out, "holds 11 executions")) << quick.out;
}

TEST_F(TransferCommands, BacksUpWhileAnEngineWrites) {
    auto opened = Engine::open(path_, quiet_options());
    ASSERT_TRUE(opened) << opened.error().message();
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> created = 11;
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&] {
            while (!stop) {
                CreateExecution op = job("email.busy");
                op.input_payload = std::string(20'000, 'x');
                must(**opened, op);
                created += 1;
            }
        });
    }
    for (int i = 0; i < 5; ++i) {
        const std::uint64_t before = created;
        const Ran ran = run_ff({"backup", "--db", path_, "--to", copy_, "--force", "-o", "json"});
        ASSERT_EQ(ran.code, 0) << ran.err;
        const std::uint64_t copied = *ran.json().find("executions")->as_uint64();
        EXPECT_GE(copied, before) << "what was answered is in a later backup";
        const Ran doctor = run_ff({"doctor", "--db", copy_});
        EXPECT_EQ(doctor.code, 0) << doctor.out;
    }
    stop = true;
    for (std::thread& writer : writers) {
        writer.join();
    }
}

TEST_F(TransferCommands, AnExportNeverReplacesAStoreThatIsInUseOrItself) {
    const Ran self = run_ff({"export", "--db", path_, "--out", path_, "--force"});
    EXPECT_EQ(self.code, 2);
    EXPECT_TRUE(contains(self.err, "is the store itself")) << self.err;
    auto opened = Engine::open(path_, quiet_options());
    ASSERT_TRUE(opened);
    const std::string other = folder_.file("other.db");
    auto other_opened = Engine::open(other, quiet_options());
    ASSERT_TRUE(other_opened);
    const Ran in_use = run_ff({"export", "--db", path_, "--out", other, "--force"});
    EXPECT_EQ(in_use.code, 4) << in_use.err;
    EXPECT_TRUE(contains(in_use.err, "is in use by")) << in_use.err;
    (*other_opened)->stop();
    (*opened)->stop();
}

TEST_F(TransferCommands, ABackupReplacesNothingThatMatters) {
    std::ofstream(copy_) << "precious";
    const Ran kept = run_ff({"backup", "--db", path_, "--to", copy_});
    EXPECT_EQ(kept.code, 4);
    EXPECT_EQ(read_all(copy_), "precious");
    const Ran self = run_ff({"backup", "--db", path_, "--to", path_, "--force"});
    EXPECT_EQ(self.code, 2);
    EXPECT_TRUE(contains(self.err, "is the store itself")) << self.err;
    // A store that is in use, and the log of one that was.
    const std::string other = folder_.file("other.db");
    {
        auto opened = Engine::open(other, quiet_options());
        ASSERT_TRUE(opened);
        const Ran in_use = run_ff({"backup", "--db", path_, "--to", other, "--force"});
        EXPECT_EQ(in_use.code, 4) << in_use.err;
        (*opened)->stop();
    }
    std::ofstream(other + "-wal") << "a log";
    const Ran log = run_ff({"backup", "--db", path_, "--to", other, "--force"});
    EXPECT_EQ(log.code, 4) << log.err;
    EXPECT_TRUE(contains(log.err, "-wal lies where the copy would be")) << log.err;
}

TEST_F(TransferCommands, ABackupSaysWhatItIsNotFor) {
    const Ran postgres = run_ff({"backup", "--db", "postgres://host/db", "--to", copy_});
    EXPECT_EQ(postgres.code, 2);
    EXPECT_TRUE(contains(postgres.err, "pg_dump")) << postgres.err;
    EXPECT_TRUE(contains(postgres.err, "ff export")) << postgres.err;
    EXPECT_EQ(run_ff({"backup", "--db", ":memory:", "--to", copy_}).code, 2);
    EXPECT_EQ(run_ff({"backup", "--db", folder_.file("missing"), "--to", copy_}).code, 3);
    EXPECT_EQ(run_ff({"backup", "--db", path_, "--to", folder_.file("no/copy.db")}).code, 1);
    EXPECT_EQ(run_ff({"backup", "--db", path_}).code, 2);
    const Ran unnamed = run_ff({"backup", "--db", path_, "--to", ""});
    EXPECT_EQ(unnamed.code, 2);
    EXPECT_EQ(unnamed.err, "ff: the name of the file to make is empty\n");
    std::ofstream(lines_) << "not a store, and long enough to be looked at: "
                          << std::string(500, 'x');
    EXPECT_EQ(run_ff({"backup", "--db", lines_, "--to", copy_}).code, 1);
    EXPECT_FALSE(fs::exists(copy_));
}

/// Before a newer program migrates a store is when people want a backup of it.
TEST_F(TransferCommands, AStoreOfAnotherVersionIsBackedUp) {
    tamper(path_,
           "INSERT INTO ff_schema_migration (version, name, checksum) VALUES (99, 'x', 'y')");
    EXPECT_EQ(run_ff({"backup", "--db", path_, "--to", copy_}).code, 0);
    const Ran exported = run_ff({"export", "--db", path_});
    EXPECT_EQ(exported.code, 1);
    EXPECT_TRUE(contains(exported.err, "use a newer ff")) << exported.err;
}

TEST_F(TransferCommands, ADamagedStoreMakesNoBackup) {
    {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(3 * 4'096);
        file << std::string(8 * 4'096, '\xee');
    }
    const Ran ran = run_ff({"backup", "--db", path_, "--to", copy_});
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_FALSE(fs::exists(copy_)) << ran.err;
}

}  // namespace
}  // namespace ff::test
