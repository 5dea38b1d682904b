// What a task consumes, and what a broken budget does to it.
#include <gtest/gtest.h>

#include "worker/rig.h"

namespace ff::worker::test {

class Usage : public WorkerTest {
  protected:
    static constexpr BudgetId id{Uuid{{9}}};

    void define(const std::string& on_hard_limit) {
        CreateBudget op;
        op.budget_id = id;
        op.on_hard_limit = on_hard_limit;
        op.dimensions = {"tokens"};
        op.hard_limits = {100};
        op.soft_limits = {0};
        ASSERT_TRUE(engine->run(op));
    }
    Amounts used() { return engine->run(GetBudgetStatus{id})->usage; }
};

TEST_F(Usage, AReportCounts) {
    define("fail");
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        task.report_usage(id, {{"tokens", 60}}, "a");
        task.report_usage(id, {{"tokens", 60}}, "a");
        return 1;
    });
    start(worker);
    EXPECT_EQ(wait(submit(Submit("k"))).as<int>(), 1);
    EXPECT_EQ(used(), (Amounts{{"tokens", 60}}));
}

TEST_F(Usage, WhatATaskSpendsItCanTakeBack) {
    define("fail");
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        task.record_spend(id, {{"tokens", 60}}, "a");
        task.record_spend(id, {{"tokens", 60}}, "a");
        const UsageResult past = task.record_spend(id, {{"tokens", 60}}, "b");
        EXPECT_EQ(past.outcome, UsageOutcome::hard_breach) << "told, and the task goes on";
        return 1;
    });
    worker.on("undo", [](Task& task) {
        task.record_spend(id, {{"tokens", 30}}, "c");
        return std::vector<bool>{task.release_budget(id), task.release_budget(id)};
    });
    start(worker);
    EXPECT_EQ(wait(submit(Submit("k"))).as<int>(), 1);
    EXPECT_EQ(used(), (Amounts{{"tokens", 60}}));
    EXPECT_EQ(wait(submit(Submit("undo"))).as<std::vector<bool>>(),
              (std::vector<bool>{true, false}));
    EXPECT_EQ(used(), (Amounts{{"tokens", 60}})) << "its own spending, no more";
}

TEST_F(Usage, ABudgetThatSaysSoFailsTheTaskForGood) {
    define("fail");
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        task.report_usage(id, {{"tokens", 60}});
        task.report_usage(id, {{"tokens", 60}});
        return 1;
    });
    start(worker);
    const ExecutionId failed = submit(Submit("k").retries(5));
    const Finished end = wait(failed);
    EXPECT_EQ(end.state, PublicState::failed);
    EXPECT_EQ(end.reason, "budget " + id.to_string() + ": tokens 60/100");
    EXPECT_EQ(engine->run(DescribeExecution{failed})->value().failure_category, "budget_exceeded");
    EXPECT_EQ(used(), (Amounts{{"tokens", 60}}));
}

TEST_F(Usage, ABudgetThatOnlyRefusesLeavesItToTheTask) {
    define("reject");
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        const UsageResult told = task.report_usage(id, {{"tokens", 101}});
        return std::string(to_string(told.outcome));
    });
    start(worker);
    EXPECT_EQ(wait(submit(Submit("k"))).as<std::string>(), "hard_breach");
}

TEST_F(Usage, PastASoftLimitATaskIsHandedBackUntilItIsApproved) {
    CreateBudget op;
    op.budget_id = id;
    op.on_soft_limit = "approve";
    op.dimensions = {"tokens"};
    op.hard_limits = {100};
    op.soft_limits = {50};
    ASSERT_TRUE(engine->run(op));
    std::atomic<int> runs{0};
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) {
        runs += 1;
        task.report_usage(id, {{"tokens", 30}});
        task.report_usage(id, {{"tokens", 30}}, "the one that passes it");
        return runs.load();
    });
    start(worker);
    const ExecutionId paused = submit(Submit("k").policy(R"({"budget_ids":[")" + id.to_string() +
                                                         R"("],"budget_reserve":{"tokens":60}})"));
    const auto is_blocked = [&] {
        const auto seen = engine->run(DescribeExecution{paused});
        return seen && seen->value().info.state.eligibility == EligibilityState::blocked_by_budget;
    };
    ASSERT_TRUE(eventually(is_blocked));
    EXPECT_EQ(runs, 1);
    ASSERT_TRUE(engine->run(ApproveBudget{id, "mia"}));
    // Forty are left, and it wants sixty.
    UpdateBudgetLimits more;
    more.budget_id = id;
    more.limits = {{"tokens", {200, 50}}};
    ASSERT_TRUE(engine->run(more));
    EXPECT_EQ(wait(paused).as<int>(), 2);
    EXPECT_EQ(used(), (Amounts{{"tokens", 90}}));
    EXPECT_EQ(engine->run(GetBudgetStatus{id})->reserved, Amounts{});
}

}  // namespace ff::worker::test
