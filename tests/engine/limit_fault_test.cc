// A limit that cannot be read keeps back those it applies to, and nobody else.
#include <gtest/gtest.h>

#include "engine/conformance.h"
#include "store/sqlite_db.h"

namespace ff::engine::test {

TEST(LimitFaults, AnUnreadableBudgetStopsNobodyElse) {
    const TempDir folder;
    const std::string path = folder.file("store.db");
    const BudgetId id{Uuid{{1}}};
    auto clock = std::make_shared<ManualClock>(t0);
    auto warnings = std::make_shared<Warnings>();
    const auto open = [&] {
        EngineOptions options;
        options.clock = clock;
        options.warn = [warnings](std::string_view text) { warnings->add(text); };
        auto engine = Engine::open(path, options);
        EXPECT_TRUE(engine) << engine.error().message();
        return *engine;
    };
    ExecutionId covered;
    {
        const auto engine = open();
        CreateBudget define;
        define.budget_id = id;
        define.dimensions = {"tokens"};
        define.hard_limits = {10};
        define.soft_limits = {0};
        define.reset_interval_ms = 1'000;
        ASSERT_TRUE(engine->run(define));
        const auto made =
            engine->run(job_with_policy(R"({"budget_ids":[")" + id.to_string() + R"("]})"));
        ASSERT_TRUE(made);
        covered = made->execution_id;
        engine->stop();
    }
    {
        auto db = store::SqliteDb::open(path, store::OpenMode::write, 1'000);
        ASSERT_TRUE(db) << db.error().message();
        ASSERT_TRUE((*db)->execute("UPDATE ff_budget SET limits = 'nonsense'"));
    }
    const auto engine = open();
    CreateExecution later = job();
    later.delay_until = clock->now() + 5'000;
    ASSERT_TRUE(engine->run(job()));
    ASSERT_TRUE(engine->run(later));
    const auto got = engine->run(claim_by("w1"));
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_EQ(got->tasks.size(), 1U) << "what is behind the covered one in the lane";
    EXPECT_NE(got->tasks[0].execution_id(), covered);
    const auto none = engine->run(claim_by("w1"));
    ASSERT_TRUE(none) << none.error().message();
    EXPECT_TRUE(none->tasks.empty());
    // Time goes on, though the schedule of the budget is due and cannot be kept.
    clock->advance(10'000);
    const auto due = engine->run(with(claim_by("w1"), [](Claim& op) { op.max_wait_ms = 30'000; }));
    ASSERT_TRUE(due) << due.error().message();
    EXPECT_EQ(due->tasks.size(), 1U) << "the delay is over";
    const auto warned = warnings->all();
    EXPECT_TRUE(std::ranges::any_of(warned, [&](const std::string& text) {
        return text.find(id.to_string()) != std::string::npos;
    })) << "it is told";
}

TEST(LimitFaults, WhoWaitsAtAnUnreadableBudgetStaysAndStopsNoPass) {
    const TempDir folder;
    const std::string path = folder.file("store.db");
    EngineOptions options;
    options.clock = std::make_shared<ManualClock>(t0);
    options.warn = [](std::string_view) {};
    std::vector<ExecutionId> waiting;
    {
        auto engine = Engine::open(path, options);
        ASSERT_TRUE(engine) << engine.error().message();
        for (std::uint8_t n = 1; n <= 2; ++n) {
            const BudgetId id{Uuid{{n}}};
            CreateBudget define;
            define.budget_id = id;
            define.dimensions = {"tokens"};
            define.hard_limits = {10};
            define.soft_limits = {0};
            ASSERT_TRUE((*engine)->run(define));
            ASSERT_TRUE((*engine)->run(ReportUsageAdmin{id, {{"tokens", 10}}, ""}));
            const auto made =
                (*engine)->run(job_with_policy(R"({"budget_ids":[")" + id.to_string() + R"("]})"));
            ASSERT_TRUE(made);
            waiting.push_back(made->execution_id);
        }
        ASSERT_TRUE((*engine)->run(claim_by("w1"))->tasks.empty());
        (*engine)->stop();
    }
    {
        // One cannot be read any more; the other is clear, and nobody was told.
        auto db = store::SqliteDb::open(path, store::OpenMode::write, 1'000);
        ASSERT_TRUE(db) << db.error().message();
        ASSERT_TRUE(
            (*db)->execute("UPDATE ff_budget SET limits = 'nonsense'"
                           " WHERE hex(budget_id) LIKE '01%'"));
        ASSERT_TRUE(
            (*db)->execute("UPDATE ff_budget SET usage = '{}'"
                           " WHERE hex(budget_id) LIKE '02%'"));
    }
    auto engine = Engine::open(path, options);
    ASSERT_TRUE(engine) << engine.error().message();
    const auto pass = (*engine)->run(RunScanner{"unblock"});
    ASSERT_TRUE(pass) << pass.error().message();
    const auto claimed = (*engine)->run(with(claim_by("w1"), [](Claim& op) { op.max_tasks = 10; }));
    ASSERT_TRUE(claimed) << claimed.error().message();
    ASSERT_EQ(claimed->tasks.size(), 1U);
    EXPECT_EQ(claimed->tasks[0].execution_id(), waiting[1]);
}

}  // namespace ff::engine::test
