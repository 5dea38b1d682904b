// Limits that several engines on one PostgreSQL database share: no interleaving lets usage pass a
// hard limit or more run than may, and nobody who could run is forgotten.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include "engine/conformance.h"
#include "support/postgres.h"

namespace ff::engine::test {

namespace {

class SharedLimits : public testing::Test {
  protected:
    static constexpr int engines = 3;
    static constexpr BudgetId budget{Uuid{{1}}};
    static constexpr QuotaPolicyId quota{Uuid{{2}}};

    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        const std::string store =
            support::postgres_store(testing::UnitTest::GetInstance()->current_test_info()->name());
        for (int i = 0; i < engines; ++i) {
            auto engine = Engine::open(store + "&application_name=e" + std::to_string(i));
            ASSERT_TRUE(engine) << engine.error().message();
            engines_.push_back(*engine);
        }
    }
    /// One thread an engine; all start together.
    template <class Body>
    void at_once(Body body) {
        std::barrier start(engines);
        std::vector<std::thread> threads;
        for (int i = 0; i < engines; ++i) {
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                body(*engines_[static_cast<std::size_t>(i)], i);
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    Engine& first() { return *engines_.front(); }

    std::vector<std::shared_ptr<Engine>> engines_;
};

TEST_F(SharedLimits, UsageNeverPassesAHardLimit) {
    CreateBudget define;
    define.budget_id = budget;
    define.dimensions = {"a", "b"};
    define.hard_limits = {100, 70};
    define.soft_limits = {0, 0};
    ASSERT_TRUE(first().run(define));
    std::atomic<std::uint64_t> counted{0};
    at_once([&](Engine& engine, int who) {
        for (int i = 0; i < 60; ++i) {
            const std::string key = std::to_string(who) + "/" + std::to_string(i / 2);
            const auto told = engine.run(ReportUsageAdmin{budget, {{"b", 1}, {"a", 1}}, key});
            ASSERT_TRUE(told) << told.error().message();
            counted += told->outcome == UsageOutcome::ok ? 1 : 0;
        }
    });
    const auto status = first().run(GetBudgetStatus{budget});
    ASSERT_TRUE(status);
    EXPECT_EQ(counted, 70U) << "ninety different keys, and seventy fit";
    EXPECT_EQ(status->usage, (Amounts{{"a", 70}, {"b", 70}}));
}

TEST_F(SharedLimits, NoMoreRunThanTheCapAndAllOfThemInTheEnd) {
    constexpr int jobs = 60;
    constexpr int cap = 3;
    ASSERT_TRUE(first().run(CreateQuotaPolicy{quota, {60, 0, cap, 0}}));
    for (int i = 0; i < jobs; ++i) {
        const auto made =
            first().run(job_with_policy(R"({"quota_policy_id":")" + quota.to_string() + R"("})"));
        ASSERT_TRUE(made) << made.error().message();
    }
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    at_once([&](Engine& engine, int who) {
        while (done < jobs) {
            const auto claimed = engine.run(
                with(claim_by("w" + std::to_string(who)), [](Claim& op) { op.max_wait_ms = 200; }));
            ASSERT_TRUE(claimed) << claimed.error().message();
            for (const ClaimedTask& task : claimed->tasks) {
                const int now_running = ++running;
                for (int seen = most;
                     seen < now_running && !most.compare_exchange_weak(seen, now_running);) {
                }
                // A call that takes its time while this one runs.
                ASSERT_TRUE(engine.run(ReadExecutionState{task.execution_id()}));
                --running;
                const auto ended = engine.run(Complete{task.handle, "", {}});
                ASSERT_TRUE(ended) << ended.error().message();
                ++done;
            }
        }
    });
    EXPECT_EQ(done, jobs);
    EXPECT_LE(most, cap);
    const auto policy = first().run(ReadQuotaPolicy{quota});
    ASSERT_TRUE(policy && *policy);
    EXPECT_EQ((*policy)->running, 0U);
    const auto found = first().run(RunScanner{"quota_reconciler"});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->processed, 0U);
    EXPECT_TRUE(found->findings.empty()) << found->findings.front();
}

TEST_F(SharedLimits, ASlotIsGivenBackOnceThoughTwoGiveItBack) {
    ASSERT_TRUE(first().run(CreateQuotaPolicy{quota, {60, 1'000, 5, 0}}));
    const auto begin = [this]() -> std::optional<ClaimedTask> {
        const auto made =
            first().run(job_with_policy(R"({"quota_policy_id":")" + quota.to_string() + R"("})"));
        auto claimed = first().run(claim_by("w1"));
        return made && claimed && claimed->tasks.size() == 1 ? std::optional(claimed->tasks[0])
                                                             : std::nullopt;
    };
    // One that goes on running: a slot too many given back would be its.
    ASSERT_TRUE(begin());
    for (int round = 0; round < 40; ++round) {
        const auto begun = begin();
        ASSERT_TRUE(begun) << round;
        const ClaimedTask& task = *begun;
        at_once([&](Engine& engine, int who) {
            if (who == 0) {
                const auto ended = engine.run(Complete{task.handle, "", {}});
                ASSERT_TRUE(ended) << ended.error().message();
            } else {
                const auto gone = engine.run(ReleaseAdmission{quota, task.execution_id()});
                ASSERT_TRUE(gone) << gone.error().message();
            }
        });
        const auto policy = first().run(ReadQuotaPolicy{quota});
        ASSERT_TRUE(policy && *policy);
        ASSERT_EQ((*policy)->running, 1U) << round;
        ASSERT_EQ((*policy)->in_window, 1U) << round;
    }
    const auto found = first().run(RunScanner{"quota_reconciler"});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->findings.empty()) << found->findings.front();
}

TEST_F(SharedLimits, ABudgetThatIsUsedUpUnderLoadKeepsEverybodyAndAResetFreesThem) {
    constexpr int jobs = 45;
    CreateBudget define;
    define.budget_id = budget;
    define.dimensions = {"a"};
    define.hard_limits = {10};
    define.soft_limits = {0};
    ASSERT_TRUE(first().run(define));
    ASSERT_TRUE(first().run(CreateQuotaPolicy{quota, {60, 0, 4, 0}}));
    for (int i = 0; i < jobs; ++i) {
        ASSERT_TRUE(first().run(job_with_policy(R"({"budget_ids":[")" + budget.to_string() +
                                                R"("],"quota_policy_id":")" + quota.to_string() +
                                                R"("})")));
    }
    std::atomic<int> done{0};
    at_once([&](Engine& engine, int who) {
        while (done < jobs) {
            const auto claimed = engine.run(
                with(claim_by("w" + std::to_string(who)), [](Claim& op) { op.max_wait_ms = 100; }));
            ASSERT_TRUE(claimed) << claimed.error().message();
            for (const ClaimedTask& task : claimed->tasks) {
                // Report and end together: both limits are wanted by several at once.
                const auto told = engine.run(ReportUsageAdmin{budget, {{"a", 1}}, {}});
                ASSERT_TRUE(told) << told.error().message();
                const auto ended = engine.run(Complete{task.handle, "", {}});
                ASSERT_TRUE(ended) << ended.error().message();
                ++done;
            }
            if (claimed->tasks.empty()) {
                const auto reset = engine.run(ResetBudget{budget});
                ASSERT_TRUE(reset) << reset.error().message();
            }
        }
    });
    EXPECT_EQ(done, jobs);
}

TEST_F(SharedLimits, UsageAndReservationsOfAllNeverPassTheLimit) {
    constexpr int jobs = 45;
    constexpr std::uint64_t hard = 20;
    CreateBudget define;
    define.budget_id = budget;
    define.dimensions = {"a"};
    define.hard_limits = {hard};
    define.soft_limits = {0};
    ASSERT_TRUE(first().run(define));
    for (int i = 0; i < jobs; ++i) {
        ASSERT_TRUE(first().run(job_with_policy(R"({"budget_ids":[")" + budget.to_string() +
                                                R"("],"budget_reserve":{"a":)" +
                                                std::to_string(1 + i % 9) + "}}")));
    }
    std::atomic<int> done{0};
    at_once([&](Engine& engine, int who) {
        const auto all = [](const Amounts& amounts) {
            return amounts.contains("a") ? amounts.at("a") : 0;
        };
        while (done < jobs) {
            const auto claimed = engine.run(
                with(claim_by("w" + std::to_string(who)), [](Claim& op) { op.max_wait_ms = 100; }));
            ASSERT_TRUE(claimed) << claimed.error().message();
            for (const ClaimedTask& task : claimed->tasks) {
                ReportUsage report;
                report.lease = task.handle;
                report.budget_id = budget;
                report.dimensions = {{"a", 1}};
                const auto told = engine.run(report);
                ASSERT_TRUE(told) << told.error().message();
                EXPECT_EQ(told->outcome, UsageOutcome::ok) << "it has reserved as much";
                const auto status = engine.run(GetBudgetStatus{budget});
                ASSERT_TRUE(status) << status.error().message();
                EXPECT_LE(all(status->usage) + all(status->reserved), hard);
                const auto ended = engine.run(Complete{task.handle, "", {}});
                ASSERT_TRUE(ended) << ended.error().message();
                ++done;
            }
            if (claimed->tasks.empty()) {
                const auto reset = engine.run(ResetBudget{budget});
                ASSERT_TRUE(reset) << reset.error().message();
            }
        }
    });
    EXPECT_EQ(done, jobs);
    const auto status = first().run(GetBudgetStatus{budget});
    ASSERT_TRUE(status);
    EXPECT_EQ(status->reserved, Amounts{});
    const auto found = first().run(RunScanner{"budget_reconciler"});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->findings.empty()) << found->findings.front();
}

TEST_F(SharedLimits, WhateverEndsItFirstTheSlotIsGivenBackOnce) {
    ASSERT_TRUE(first().run(CreateQuotaPolicy{quota, {60, 0, 5, 0}}));
    const std::string own = R"({"quota_policy_id":")" + quota.to_string() + R"("})";
    const auto running = [this] {
        const auto policy = first().run(ReadQuotaPolicy{quota});
        return policy && *policy ? (*policy)->running : 99;
    };
    // One that goes on running: a slot too many given back would be its.
    ASSERT_TRUE(first().run(job_with_policy(own)));
    ASSERT_EQ(first().run(claim_by("w1"))->tasks.size(), 1U);
    for (int round = 0; round < 30; ++round) {
        ASSERT_TRUE(first().run(job_with_policy(own)));
        const auto claimed = first().run(claim_by("w1"));
        ASSERT_TRUE(claimed && claimed->tasks.size() == 1) << round;
        const ClaimedTask& task = claimed->tasks[0];
        std::atomic<int> won{0};
        at_once([&](Engine& engine, int who) {
            // The three exclude each other: whoever comes second is refused.
            if (who == 0) {
                won += engine.run(Complete{task.handle, "", {}, Source::lease_holder}) ? 1 : 0;
            } else if (who == 1) {
                const auto failed =
                    engine.run(Fail{task.handle, "no", "permanent", Source::lease_holder});
                won += failed ? 1 : 0;
            } else {
                won += engine.run(Release{task.handle}) ? 1 : 0;
            }
        });
        EXPECT_EQ(won, 1) << round;
        ASSERT_EQ(running(), 1U) << round;
        // What was only given back is taken again, and ends.
        const auto again = first().run(claim_by("w1"));
        ASSERT_TRUE(again) << again.error().message();
        for (const ClaimedTask& left : again->tasks) {
            ASSERT_EQ(running(), 2U) << round;
            ASSERT_TRUE(first().run(Complete{left.handle, "", {}}));
        }
        ASSERT_EQ(running(), 1U) << round;
    }
    const auto found = first().run(RunScanner{"quota_reconciler"});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->processed, 0U);
    EXPECT_TRUE(found->findings.empty()) << found->findings.front();
}

}  // namespace

}  // namespace ff::engine::test
