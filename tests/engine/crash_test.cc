// Kill: a child process works on a real store with several threads and tells what was acknowledged;
// it is killed without warning, and what it was told is compared with what is there (spec 11,
// N1 to N3 and N7). The next child goes on with the same file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/derive.h"
#include "core/invariants.h"
#include "core/wait_invariants.h"
#include "engine/conformance.h"
#include "engine/crash_child.h"
#include "store/location.h"
#include "store/sqlite_db.h"
#include "store/sqlite_store.h"

namespace ff::engine::test {

namespace {

constexpr int rounds = 6;
constexpr int child_threads = 6;
constexpr const char* retry_policy =
    R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":5}}})";

/// What the holder of a lease gives as result; tells whose it was.
std::string result_of(const ExecutionId& id, std::uint64_t epoch) {
    return id.to_string() + '\0' + std::to_string(epoch) + all_bytes();
}

std::string reason_of(std::uint64_t epoch) { return "failed under " + std::to_string(epoch); }

// ------------------------------------------------------------------------------------- the child

class ChildWorker {
  public:
    ChildWorker(Engine& engine, const Ledger& ledger, const std::string& name, std::uint64_t seed)
        : engine_(engine), ledger_(ledger), name_(name), random_(seed) {}

    [[noreturn]] void run() {
        for (;;) {
            create();
            const auto claimed = engine_.run(with(claim_by(name_), [&](auto& op) {
                op.max_tasks = 1 + static_cast<std::uint32_t>(random_() % 3);
                op.lease_ttl_ms = 400;
            }));
            if (!ledger_.accepts(claimed)) {
                continue;
            }
            for (const ClaimedTask& task : claimed->tasks) {
                ledger_.write("lease", task.execution_id().to_string(), task.handle.lease_epoch,
                              task.handle.lease_id.to_string());
            }
            for (const ClaimedTask& task : claimed->tasks) {
                act(task);
            }
        }
    }

  private:
    void create() {
        std::vector<CreateExecution> ops;
        for (std::uint64_t n = 1 + random_() % 3; n > 0; --n) {
            ops.push_back(random_() % 2 == 0 ? job() : job_with_policy(retry_policy));
            if (random_() % 2 == 0) {
                const std::string key(1, static_cast<char>('a' + random_() % 4));
                ops.back() = job_with_policy(R"({"limit_key":")" + key + R"("})");
            }
            ops.back().tags = {{"worker", name_}};
            ops.back().idempotency_key = name_ + "-" + std::to_string(random_());
            if (random_() % 5 == 0) {
                ops.back().execution_deadline_at = std::numeric_limits<TimestampMs>::max() / 2;
            }
        }
        for (const auto& result : engine_.run_all(ops)) {
            if (ledger_.accepts(result)) {
                ledger_.write("create", result->execution_id.to_string());
            }
        }
    }

    void act(const ClaimedTask& task) {
        const std::string id = task.execution_id().to_string();
        const std::uint64_t epoch = task.handle.lease_epoch;
        const Source source = Source::lease_holder;
        switch (random_() % 20) {
            case 0: return;  // forgets it: the lease runs out and another takes over
            case 1:
                if (ledger_.accepts(engine_.run(Release{task.handle}))) {
                    ledger_.write("pause", id, epoch);
                }
                return;
            case 2: {
                const TimestampMs until = task.lease_expires_at - 380;
                if (ledger_.accepts(engine_.run(Delay{task.handle, until, source}))) {
                    ledger_.write("pause", id, epoch);
                }
                return;
            }
            case 3:
                if (ledger_.accepts(engine_.run(CancelExecution{
                        LeaseRef(task.execution_id()), "not wanted", "operator_override"}))) {
                    ledger_.write("cancel", id);
                }
                return;
            case 4:
            case 5: {
                const auto failed =
                    engine_.run(Fail{task.handle, reason_of(epoch), "permanent", source});
                if (ledger_.accepts(failed)) {
                    ledger_.write("fail", id, epoch);
                }
                return;
            }
            case 6:
            case 7: {
                const auto failed =
                    engine_.run(Fail{task.handle, reason_of(epoch), "transient", source});
                if (ledger_.accepts(failed)) {
                    ledger_.write(failed->retry_scheduled ? "retry" : "fail", id, epoch);
                }
                return;
            }
            case 8:
            case 9:
            case 10: {
                const auto renewed = engine_.run(Renew{task.handle, 5'000});
                if (ledger_.accepts(renewed)) {
                    ledger_.write("renew", id, epoch, renewed->expires_at_ms);
                }
                break;
            }
            case 11:
            case 12: return wait_for_signals(task);
            default: break;
        }
        if (ledger_.accepts(engine_.run(
                Complete{task.handle, result_of(task.execution_id(), epoch), {}, source}))) {
            ledger_.write("complete", id, epoch);
        }
    }

    /// Suspends until two people have answered; sometimes only one does, and time goes on with it.
    void wait_for_signals(const ClaimedTask& task) {
        const std::string id = task.execution_id().to_string();
        const std::uint64_t epoch = task.handle.lease_epoch;
        Suspend op;
        op.lease = task.handle;
        op.resume_condition = any_signal("go").from_distinct_sources(2);
        op.timeout_at = task.lease_expires_at;
        op.timeout_behavior = TimeoutBehavior::auto_resume_with_timeout_signal;
        const auto suspended = engine_.run(op);
        if (!ledger_.accepts(suspended)) {
            return;
        }
        ledger_.write("pause", id, epoch);
        ledger_.write("suspend", id, epoch, suspended->details.suspension_id.to_string());
        for (const char* who : {"ann", "bob"}) {
            DeliverSignal signal;
            signal.execution_id = task.execution_id();
            signal.waitpoint_id = suspended->details.waitpoint.waitpoint_id;
            signal.waitpoint_token = suspended->details.waitpoint.waitpoint_token;
            signal.signal_name = "go";
            signal.source_identity = who;
            const auto sent = engine_.run(signal);
            if (ledger_.accepts(sent)) {
                ledger_.write("signal", id, epoch, sent->signal_id.to_string());
            }
            if (random_() % 4 == 0) {
                return;
            }
        }
    }

    Engine& engine_;
    const Ledger& ledger_;
    const std::string name_;
    std::mt19937_64 random_;
};

[[noreturn]] void run_child(const std::string& store, const Ledger& ledger, std::uint64_t seed) {
    auto engine = Engine::open(store);
    if (!engine) {
        ledger.write("error", engine.error().message());
        _exit(3);
    }
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < child_threads; ++t) {
        threads.emplace_back([&, t] {
            ChildWorker(**engine, ledger, "w" + std::to_string(seed) + "." + std::to_string(t),
                        seed + t)
                .run();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    _exit(3);
}

[[maybe_unused]] const bool child_added = add_crash_child("executions", run_child);

// ------------------------------------------------------------------------------------ the parent

/// What was acknowledged for one execution, over all rounds.
struct Told {
    bool created = false;
    bool cancelled = false;
    std::optional<std::uint64_t> completed;        ///< under this epoch
    std::optional<std::uint64_t> failed;           ///< for good, under this epoch
    std::map<std::uint64_t, std::string> leases;   ///< lease id by epoch
    std::map<std::uint64_t, TimestampMs> renewed;  ///< until when, by epoch
    std::set<std::uint64_t> paused;                ///< epochs given back
    std::set<std::uint64_t> retried;               ///< epochs whose failure is retried
    std::set<std::string> suspensions;
    std::set<std::string> signals;
};

class Crash : public testing::Test {
  protected:
    Crash() : seed_(std::random_device{}()), random_(seed_) {
        RecordProperty("seed", std::to_string(seed_));
        std::printf("[   seed   ] %llu\n", static_cast<unsigned long long>(seed_));
    }

    void note(const std::string& line);
    /// Compares what is in the store with what was told.
    void verify();
    void verify_execution(store::Reader& reader, const core::Execution& e);
    void verify_told(store::Reader& reader, const core::Execution& e, const Told& told);
    static void verify_waits(store::Reader& reader, const core::Execution& e, const Told& told);
    void verify_side_tables(store::Reader& reader, const std::vector<core::Execution>& all);

    const std::uint64_t seed_;
    std::mt19937_64 random_;
    TempDir folder_;
    const std::string store_ = folder_.file("store.db");
    std::map<ExecutionId, Told> told_;
    std::size_t lines_ = 0;
};

void Crash::note(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    std::string text;
    in >> what >> text;
    ++lines_;
    const auto id = ExecutionId::parse(text);
    if (what == "error" || !id) {
        ADD_FAILURE() << "the child: " << line;
        return;
    }
    Told& told = told_[*id];
    std::uint64_t epoch = 0;
    in >> epoch;
    if (what == "create") {
        EXPECT_FALSE(told.created) << line;
        told.created = true;
    } else if (what == "lease") {
        std::string lease;
        in >> lease;
        EXPECT_TRUE(told.leases.emplace(epoch, lease).second)
            << "an epoch was handed out twice: " << line;
        EXPECT_FALSE(told.completed || told.failed || told.cancelled)
            << "a finished execution was handed out: " << line;
    } else if (what == "renew") {
        in >> told.renewed[epoch];
    } else if (what == "complete") {
        EXPECT_FALSE(told.completed) << "it succeeded twice: " << line;
        told.completed = epoch;
    } else if (what == "fail") {
        told.failed = epoch;
    } else if (what == "retry") {
        told.retried.insert(epoch);
    } else if (what == "pause") {
        told.paused.insert(epoch);
    } else if (what == "cancel") {
        told.cancelled = true;
    } else if (what == "suspend" || what == "signal") {
        std::string word;
        in >> word;
        (what == "suspend" ? told.suspensions : told.signals).insert(word);
    } else {
        ADD_FAILURE() << "the child: " << line;
    }
}

void Crash::verify_told(store::Reader& reader, const core::Execution& e, const Told& told) {
    const auto attempts = *reader.attempts(e.eid);
    const auto attempt_under = [&](std::uint64_t epoch) {
        const auto it = std::ranges::find(attempts, epoch, &core::Attempt::lease_epoch);
        return it == attempts.end() ? std::optional<core::Attempt>() : *it;
    };
    if (!told.leases.empty()) {
        EXPECT_GE(e.lease_epoch, told.leases.rbegin()->first) << "a lease was lost";
    }
    if (e.state.ownership == OwnershipState::leased) {
        if (const auto lease = told.leases.find(e.lease_epoch); lease != told.leases.end()) {
            EXPECT_EQ(e.lease_id->to_string(), lease->second);
        }
        if (const auto until = told.renewed.find(e.lease_epoch); until != told.renewed.end()) {
            EXPECT_GE(*e.lease_expires_at, until->second) << "a renewal was lost";
        }
        EXPECT_FALSE(told.paused.contains(e.lease_epoch)) << "what was given back is leased";
    }
    if (told.completed) {
        EXPECT_EQ(e.public_state, PublicState::completed);
        EXPECT_EQ(e.lease_epoch, *told.completed);
        const auto attempt = attempt_under(*told.completed);
        ASSERT_TRUE(attempt);
        EXPECT_EQ(attempt->result, result_of(e.id, *told.completed));
    }
    if (told.failed) {
        EXPECT_EQ(e.public_state, PublicState::failed);
        EXPECT_EQ(e.failure_reason, reason_of(*told.failed));
    }
    if (told.cancelled) {
        EXPECT_EQ(e.public_state, PublicState::cancelled);
    }
    for (const std::uint64_t epoch : told.retried) {
        const auto attempt = attempt_under(epoch);
        ASSERT_TRUE(attempt) << "a failure was lost";
        EXPECT_EQ(attempt->state, AttemptLifecycle::ended_failure);
        EXPECT_EQ(attempt->failure_reason, reason_of(epoch));
    }
}

void Crash::verify_waits(store::Reader& reader, const core::Execution& e, const Told& told) {
    std::set<std::string> suspensions;
    const auto episodes = *reader.suspensions(e.eid);
    for (const core::Suspension& row : episodes) {
        suspensions.insert(row.id.to_string());
    }
    EXPECT_TRUE(std::ranges::includes(suspensions, told.suspensions)) << "a suspension was lost";
    std::set<std::string> signals;
    std::uint64_t last = 0;
    const auto ledger = *reader.signals(e.eid, 0, 10'000, store::Payloads::read);
    for (const core::Signal& row : ledger) {
        EXPECT_EQ(row.key.seq, ++last) << "the ledger has a hole";
        signals.insert(row.id.to_string());
    }
    EXPECT_EQ(e.signal_count, last);
    EXPECT_TRUE(std::ranges::includes(signals, told.signals)) << "a signal was lost";
}

void Crash::verify_execution(store::Reader& reader, const core::Execution& e) {
    const auto attempts = reader.attempts(e.eid);
    ASSERT_TRUE(attempts);
    for (const std::string& violation : core::check_invariants(e, *attempts)) {
        ADD_FAILURE() << e.id.to_string() << ": " << violation;
    }
    const auto suspensions = *reader.suspensions(e.eid);
    const auto open = *reader.open_waitpoints(e.eid, std::nullopt, 1'000);
    for (const std::string& violation : core::check_waits(e, suspensions, open)) {
        ADD_FAILURE() << e.id.to_string() << ": " << violation;
    }
    EXPECT_TRUE(*reader.input(e.eid)) << "an execution without its input";
    const auto history = reader.history(e, 1'000);
    ASSERT_TRUE(history);
    std::set<std::uint64_t> epochs;
    std::size_t ends = 0;
    for (const core::ExecutionEvent& event : *history) {
        if (event.type == core::LeaseEventType::acquired ||
            event.type == core::LeaseEventType::reclaimed) {
            EXPECT_TRUE(epochs.insert(event.lease_epoch).second) << "an epoch began twice";
        }
        ends += event.outcome ? 1 : 0;
    }
    EXPECT_EQ(epochs.size(), e.lease_epoch);
    EXPECT_EQ(ends, is_terminal(e.state) ? 1U : 0U);
}

void Crash::verify_side_tables(store::Reader& reader, const std::vector<core::Execution>& all) {
    std::set<core::ReadyKey> ready;
    std::set<core::TimerKey> timers;
    std::set<core::TurnKey> turns;
    std::set<std::pair<core::Bucket, core::Eid>> listed;
    for (const core::Execution& e : all) {
        if (const auto key = core::ready_key(e)) {
            ready.insert(*key);
        }
        if (const auto key = core::timer_key(e)) {
            timers.insert(*key);
        }
        if (const auto key = core::turn_key(e)) {
            turns.insert(*key);
        }
        if (core::bucket(e) != core::Bucket::none) {
            listed.emplace(core::bucket(e), e.eid);
        }
    }
    constexpr std::size_t everything = 10'000'000;
    const core::ReadyKey first_ready{std::numeric_limits<core::RouteId>::min(), 0, 0};
    const auto stored_ready = *reader.ready_after(first_ready, everything);
    EXPECT_EQ(std::set(stored_ready.begin(), stored_ready.end()), ready);
    const auto stored_timers = *reader.timers_after({core::TimerKind::lease, 0, 0}, everything);
    EXPECT_EQ(std::set(stored_timers.begin(), stored_timers.end()), timers);
    const core::TurnKey first_turn{std::numeric_limits<core::RouteId>::min(), 0};
    const auto stored_turns = *reader.turns_after(first_turn, everything);
    EXPECT_EQ(std::set(stored_turns.begin(), stored_turns.end()), turns);
    const auto stored_listed = *reader.listed_after(core::Bucket::none, 0, everything);
    EXPECT_EQ(std::set(stored_listed.begin(), stored_listed.end()), listed);
}

void Crash::verify() {
    auto store = store::SqliteStore::open(*store::parse_location(store_), {});
    ASSERT_TRUE(store) << store.error().message();
    auto db = store::SqliteDb::open(store_, store::OpenMode::read_only, 5'000);
    ASSERT_TRUE(db);
    EXPECT_EQ((*db)->scalar("PRAGMA integrity_check").value_or(""), "ok");
    std::set<ExecutionId> there;
    const auto read = (*store)->read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto all, reader.newest(std::numeric_limits<core::Eid>::max(), 10'000'000));
        for (const core::Execution& e : all) {
            there.insert(e.id);
            verify_execution(reader, e);
            if (const auto told = told_.find(e.id); told != told_.end()) {
                SCOPED_TRACE(e.id.to_string());
                verify_told(reader, e, told->second);
                verify_waits(reader, e, told->second);
            }
        }
        verify_side_tables(reader, all);
        return {};
    });
    EXPECT_TRUE(read) << read.error().message();
    for (const auto& [id, told] : told_) {
        EXPECT_TRUE(there.contains(id)) << id.to_string() << " was acknowledged and is lost";
    }
}

TEST_F(Crash, NothingAcknowledgedIsLostWhenTheProcessIsKilled) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round));
        const std::size_t until = lines_ + 50 + random_() % 800;
        run_and_kill("executions", store_, random_(), [&](const std::string& line) {
            note(line);
            return lines_ >= until;
        });
        verify();
    }
    // Everything that was not finished can be: nothing is stuck.
    EngineOptions options;
    options.clock = std::make_shared<ManualClock>(SystemClock().now() + 3'600'000);
    auto engine = Engine::open(store_, options);
    ASSERT_TRUE(engine) << engine.error().message();
    ASSERT_TRUE((*engine)->run(RunScanner{"lease_expiry"}));
    for (;;) {
        const auto claimed =
            (*engine)->run(with(claim_by("last"), [](auto& op) { op.max_tasks = 500; }));
        ASSERT_TRUE(claimed) << code_of(claimed);
        if (claimed->tasks.empty()) {
            break;
        }
        std::vector<Complete> ends;
        for (const ClaimedTask& task : claimed->tasks) {
            Told& told = told_[task.execution_id()];
            told.created = true;
            EXPECT_TRUE(
                told.leases.emplace(task.handle.lease_epoch, task.handle.lease_id.to_string())
                    .second);
            told.completed = task.handle.lease_epoch;
            ends.push_back({task.handle,
                            result_of(task.execution_id(), task.handle.lease_epoch),
                            {},
                            Source::lease_holder});
        }
        for (const auto& result : (*engine)->run_all(ends)) {
            EXPECT_TRUE(result) << code_of(result);
        }
    }
    for (const auto& [id, told] : told_) {
        const auto info = (*engine)->run(ReadExecutionInfo{id});
        ASSERT_TRUE(info) << id.to_string();
        EXPECT_TRUE(is_terminal(info->state)) << id.to_string() << ": " << words(info->state);
    }
    engine->reset();
    verify();
    std::printf("[ acks told] %zu in %d rounds, %zu executions\n", lines_, rounds, told_.size());
}

}  // namespace

}  // namespace ff::engine::test
