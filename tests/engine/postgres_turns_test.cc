// Turns between keys where several processes share a PostgreSQL database: nobody waits for another
// process, and nobody who waits for a turn is forgotten.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/conformance.h"
#include "store/postgres_db.h"
#include "support/postgres.h"

namespace ff::engine::test {

namespace {

class SharedTurns : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        url_ =
            support::postgres_store(testing::UnitTest::GetInstance()->current_test_info()->name());
        engine_ = open();
        auto other = store::PgConnection::open(url_);
        ASSERT_TRUE(other) << other.error().message();
        other_ = std::move(*other);
    }
    std::shared_ptr<Engine> open() {
        auto engine = Engine::open(url_);
        EXPECT_TRUE(engine) << engine.error().message();
        return engine ? *engine : nullptr;
    }
    static CreateExecution keyed(const std::string& key) {
        return job_with_policy(R"({"limit_key":")" + key + R"("})");
    }
    ExecutionId create(const std::string& key = "a") {
        const auto made = engine_->run(keyed(key));
        EXPECT_TRUE(made) << made.error().message();
        return made ? made->execution_id : ExecutionId{};
    }
    /// What one claim gets that waits so long.
    std::vector<ExecutionId> claim(DurationMs wait_ms) {
        const auto given =
            engine_->run(with(claim_by("w1"), [&](Claim& op) { op.max_wait_ms = wait_ms; }));
        EXPECT_TRUE(given) << given.error().message();
        std::vector<ExecutionId> ids;
        for (const ClaimedTask& task : given ? given->tasks : std::vector<ClaimedTask>{}) {
            ids.push_back(task.execution_id());
        }
        return ids;
    }
    void other(const std::string& text) {
        const auto done = other_->execute(text);
        ASSERT_TRUE(done) << done.error().message();
    }
    using Ids = std::vector<ExecutionId>;
    static constexpr DurationMs patience_ms = 20'000;

    std::string url_;
    std::shared_ptr<Engine> engine_;
    std::unique_ptr<store::PgConnection> other_;  ///< of another process
};

TEST_F(SharedTurns, OneThatAnotherProcessIsAtIsCalledWhenItIsFree) {
    const Ids ids{create(), create(), create()};
    other(
        "BEGIN; SELECT eid FROM ff_exec_core WHERE eid NOT IN (SELECT eid FROM ff_turn)"
        " FOR UPDATE");
    EXPECT_EQ(claim(0), Ids{ids[0]});
    EXPECT_EQ(claim(100), Ids{}) << "those who wait cannot be had";
    other("ROLLBACK");
    EXPECT_EQ(claim(patience_ms), Ids{ids[1]});
    EXPECT_EQ(claim(patience_ms), Ids{ids[2]});
}

TEST_F(SharedTurns, AQueueThatAnotherProcessIsAtIsNotWaitedFor) {
    const Ids first{create(), create()};
    other(
        "BEGIN; SELECT pg_advisory_xact_lock("
        "'ff_turn'::regclass::oid::int, (queue & 1023)::int) FROM ff_turn");
    const ExecutionId third = create();
    EXPECT_EQ(claim(0), Ids{first[0]});
    EXPECT_EQ(claim(100), Ids{}) << "who is next is not known";
    const auto plain = engine_->run(job());
    ASSERT_TRUE(plain);
    EXPECT_EQ(claim(0), Ids{plain->execution_id}) << "everything else goes on";
    other("ROLLBACK");
    EXPECT_EQ(claim(patience_ms), Ids{first[1]});
    EXPECT_EQ(claim(patience_ms), Ids{third});
}

TEST_F(SharedTurns, AQueueThatStaysBusyIsLookedAtAgainAndAgain) {
    const Ids ids{create(), create()};
    other(
        "BEGIN; SELECT pg_advisory_xact_lock("
        "'ff_turn'::regclass::oid::int, (queue & 1023)::int) FROM ff_turn");
    EXPECT_EQ(claim(0), Ids{ids[0]});
    const std::uint64_t before = engine_->stats().batches;
    EXPECT_EQ(claim(500), Ids{});
    EXPECT_GT(engine_->stats().batches, before + 15) << "the second look wrote nothing";
    other("ROLLBACK");
    EXPECT_EQ(claim(patience_ms), Ids{ids[1]});
}

TEST_F(SharedTurns, AForgottenTurnIsFoundByThePass) {
    const Ids ids{create(), create()};
    // As a process would that died between two writes of a store without transactions.
    other("DELETE FROM ff_turn");
    other("DELETE FROM ff_ready WHERE route > 0");
    EXPECT_EQ(claim(0), Ids{});
    const auto found = engine_->run(RunScanner{"unblock"});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->processed, 1U);
    EXPECT_EQ(claim(0), Ids{ids[1]});
}

TEST_F(SharedTurns, SeveralEnginesStartEverythingOnce) {
    constexpr int engines = 3;
    constexpr int jobs_of_each = 60;
    std::mutex mutex;
    std::map<ExecutionId, int> started;  // guarded by mutex
    std::atomic<int> left = engines * jobs_of_each;
    std::vector<std::thread> threads;
    for (int who = 0; who < engines; ++who) {
        threads.emplace_back([&, who, engine = open()] {
            for (int i = 0; i < jobs_of_each; ++i) {
                const auto made = engine->run(keyed("k" + std::to_string((who + i) % 4)));
                ASSERT_TRUE(made) << made.error().message();
            }
            while (left > 0) {
                const auto given =
                    engine->run(with(claim_by("w" + std::to_string(who)), [](Claim& op) {
                        op.max_tasks = 3;
                        op.max_wait_ms = 50;
                        op.lease_ttl_ms = 60'000;
                    }));
                ASSERT_TRUE(given) << given.error().message();
                for (const ClaimedTask& task : given->tasks) {
                    {
                        const std::lock_guard lock(mutex);
                        started[task.execution_id()] += 1;
                    }
                    ASSERT_TRUE(engine->run(Complete{task.handle, "", {}}));
                    left -= 1;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(started.size(), std::size_t{engines * jobs_of_each});
    for (const auto& [id, times] : started) {
        EXPECT_EQ(times, 1) << id.to_string();
    }
    auto turns = other_->scalar("SELECT count(*) FROM ff_turn");
    ASSERT_TRUE(turns);
    EXPECT_EQ(*turns, "0");
}

}  // namespace

}  // namespace ff::engine::test
