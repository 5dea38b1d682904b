// What claims reserve of budgets, and soft limits that wait for an approval.
#include <random>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class ReserveConformance : public LimitConformance {
  protected:
    static CreateExecution job_reserving(std::uint64_t tokens, const std::string& more = "") {
        return job_with_policy(R"({"budget_ids":[")" + budget_id().to_string() +
                               R"("],"budget_reserve":{"tokens":)" + std::to_string(tokens) + "}" +
                               more + "}");
    }
    Amounts reserved() { return ok(GetBudgetStatus{budget_id()}).reserved; }
    UsageResult use(const ClaimedTask& task, std::uint64_t tokens, bool settle = false) {
        ReportUsage op;
        op.lease = task.handle;
        op.budget_id = budget_id();
        op.dimensions = {{"tokens", tokens}};
        op.settle = settle;
        return ok(op);
    }
    void approvable(std::uint64_t hard, std::uint64_t soft) {
        CreateBudget define = budget({{"tokens", {hard, soft}}});
        define.on_soft_limit = "approve";
        ok(define);
    }
};
FF_ON_EVERY_ENGINE(ReserveConformance);

TEST_P(ReserveConformance, AClaimReservesAndTheEndReturnsWhatIsLeft) {
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(60));
    const ClaimedTask task = claim();
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 60}}));
    EXPECT_EQ(usage(), Amounts{});
    EXPECT_EQ(ok(RunScanner{"budget_reconciler"}).findings, std::vector<std::string>{});
    EXPECT_EQ(use(task, 25).outcome, UsageOutcome::ok);
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 35}})) << "it draws on what is reserved";
    EXPECT_EQ(usage(), (Amounts{{"tokens", 25}}));
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(reserved(), Amounts{});
    EXPECT_EQ(usage(), (Amounts{{"tokens", 25}}));
    EXPECT_EQ(ok(RunScanner{"budget_reconciler"}).findings, std::vector<std::string>{});
}

TEST_P(ReserveConformance, WhatIsReservedNobodyElseCanHave) {
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(60));
    const ClaimedTask task = claim();
    EXPECT_EQ(report({{"tokens", 41}}).outcome, UsageOutcome::hard_breach);
    EXPECT_EQ(report({{"tokens", 40}}).outcome, UsageOutcome::ok);
    EXPECT_EQ(use(task, 60).outcome, UsageOutcome::ok) << "as much as it reserved always fits";
    EXPECT_EQ(use(task, 1).outcome, UsageOutcome::hard_breach);
    EXPECT_EQ(usage(), (Amounts{{"tokens", 100}}));
    EXPECT_EQ(reserved(), Amounts{});
}

TEST_P(ReserveConformance, WhoDoesNotFitWaitsAndGoesOnWhenItDoes) {
    ok(budget({{"tokens", {100, 0}}}));
    const ExecutionId first = create(job_reserving(60));
    const ExecutionId large = create(job_reserving(50));
    const ExecutionId small = create(job_reserving(40));
    const ClaimedTask task = claim();
    EXPECT_EQ(task.execution_id(), first);
    EXPECT_EQ(claim().execution_id(), small) << "the large one is passed by";
    EXPECT_EQ(eligibility(large), "blocked_by_budget");
    EXPECT_EQ(detail(large),
              "budget " + budget_id().to_string() + ": tokens 0/100, 60 reserved, 50 wanted");
    use(task, 10);
    EXPECT_EQ(why(large).find("waiting_for_budget: budget " + budget_id().to_string() +
                              ": tokens 10/100, 90 reserved;"),
              0U)
        << "as it is now: " << why(large);
    use(task, 0, true);
    settle();
    EXPECT_EQ(claim().execution_id(), large) << "settling returned what was left";
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 90}}));
    EXPECT_EQ(usage(), (Amounts{{"tokens", 10}}));
}

TEST_P(ReserveConformance, ALostWorkersReservationIsKeptForWhoTakesOverAndReturnedOnce) {
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(60));
    const ClaimedTask task = claim();
    ok(RevokeLease{task.execution_id()});
    settle();
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 60}}));
    const ClaimedTask over = claim("w2");
    EXPECT_EQ(over.execution_id(), task.execution_id());
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 60}}));
    ok(Fail{over.handle, "no", "permanent"});
    EXPECT_EQ(reserved(), Amounts{});
}

TEST_P(ReserveConformance, AGrantThatNobodyUsesReturnsIt) {
    FF_NEEDS_CLOCK();
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(60));
    const Grant given = grant();
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 60}}));
    after(given.expires_at_ms - now());
    EXPECT_EQ(reserved(), Amounts{});
}

TEST_P(ReserveConformance, AResetKeepsWhatIsReserved) {
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(60));
    const ClaimedTask task = claim();
    use(task, 20);
    ok(ResetBudget{budget_id()});
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 40}}));
    EXPECT_EQ(usage(), (Amounts{{"tokens", 0}}));
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(reserved(), Amounts{});
}

TEST_P(ReserveConformance, AQuotaThatRefusesReservesNothing) {
    ok(budget({{"tokens", {100, 0}}}));
    ok(quota(0, 1));
    const std::string own = R"(,"quota_policy_id":")" + quota_id().to_string() + "\"";
    create(job_reserving(10, own));
    create(job_reserving(10, own));
    claim();
    EXPECT_FALSE(has_work());
    EXPECT_EQ(reserved(), (Amounts{{"tokens", 10}}));
}

TEST_P(ReserveConformance, UsageAndReservationsNeverPassTheLimit) {
    ok(budget({{"tokens", {100, 0}}}));
    std::mt19937 random(11);
    const auto pick = [&](std::uint64_t most) { return random() % (most + 1); };
    std::vector<ClaimedTask> running;
    std::size_t ended = 0;
    for (int i = 0; i < 30; ++i) {
        create(job_reserving(1 + pick(40)));
    }
    for (int step = 0; step < 2'000 && ended < 30; ++step) {
        const auto choice = pick(3);
        if (choice == 0 || running.empty()) {
            for (ClaimedTask& task : claim_some(claim_by("w1"))) {
                running.push_back(std::move(task));
            }
        } else {
            const std::size_t at = pick(running.size() - 1);
            if (choice == 1) {
                use(running[at], pick(8), pick(4) == 0);
            } else {
                ok(Complete{running[at].handle, "", {}});
                running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
                ended += 1;
            }
        }
        const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
        const auto all = [](const Amounts& amounts) {
            const auto it = amounts.find("tokens");
            return it == amounts.end() ? 0 : it->second;
        };
        ASSERT_LE(all(status.usage) + all(status.reserved), 100U) << step;
        if (all(status.usage) > 60) {
            ok(ResetBudget{budget_id()});
        }
    }
    EXPECT_EQ(ended, 30U) << "nobody who could run was left waiting";
    EXPECT_EQ(reserved(), Amounts{});
}

// ------------------------------------------------------------------------------------ approval

TEST_P(ReserveConformance, PastASoftLimitNothingStartsUntilItIsApproved) {
    approvable(100, 50);
    const ClaimedTask task = start(job_with_budget());
    EXPECT_FALSE(use(task, 50).needs_approval) << "reaching it is not passing it";
    const UsageResult past = use(task, 1);
    EXPECT_EQ(past.outcome, UsageOutcome::soft_breach);
    EXPECT_TRUE(past.needs_approval);
    const ExecutionId id = create(job_with_budget());
    EXPECT_FALSE(has_work());
    EXPECT_NE(why(id).find("ff budget approve " + budget_id().to_string()), std::string::npos)
        << why(id);
    EXPECT_TRUE(ok(ApproveBudget{budget_id(), "mia"}).changed);
    EXPECT_FALSE(ok(ApproveBudget{budget_id(), "mia"}).changed);
    settle();
    EXPECT_EQ(claim().execution_id(), id);
    EXPECT_FALSE(use(task, 1).needs_approval);
    EXPECT_EQ(use(task, 100).outcome, UsageOutcome::hard_breach) << "the hard limit stands";
}

TEST_P(ReserveConformance, AnApprovalEndsWithThePeriod) {
    approvable(100, 50);
    ok(ApproveBudget{budget_id(), ""});
    report({{"tokens", 60}});
    create(job_with_budget());
    claim();
    ok(ResetBudget{budget_id()});
    EXPECT_FALSE(ok(GetBudgetStatus{budget_id()}).approved);
    report({{"tokens", 60}});
    create(job_with_budget());
    EXPECT_FALSE(has_work());
}

TEST_P(ReserveConformance, AnAdvisoryBudgetNeedsNoApproval) {
    CreateBudget define = budget({{"tokens", {100, 50}}});
    define.on_soft_limit = "approve";
    define.enforcement_mode = "advisory";
    ok(define);
    const ClaimedTask task = start(job_with_budget());
    const UsageResult past = use(task, 60);
    EXPECT_EQ(past.outcome, UsageOutcome::soft_breach);
    EXPECT_FALSE(past.needs_approval) << "nobody would be kept, so nobody is sent to wait";
    start(job_with_budget());
}

TEST_P(ReserveConformance, OnlyTheReportThatPassesASoftLimitSaysSo) {
    approvable(100, 50);
    const ClaimedTask task = start(job_with_budget());
    EXPECT_TRUE(use(task, 60).needs_approval);
    const UsageResult other = report({{"cents", 1}});
    EXPECT_EQ(other.outcome, UsageOutcome::ok);
    EXPECT_FALSE(other.needs_approval);
}

TEST_P(ReserveConformance, StartsThatABudgetRefusesAreCountedByDimension) {
    FF_NEEDS_EMBEDDED();
    ok(budget({{"a, b 1", {100, 0}}}));
    ok(AttachBudget{budget_id(), LimitTarget::namespace_, "acme"});
    create(job_with_policy(R"({"budget_reserve":{"a, b 1":60}})"));
    create(job_with_policy(R"({"budget_reserve":{"a, b 1":50}})"));
    claim();
    EXPECT_FALSE(has_work());
    using Hits = decltype(engine().stats().budget_hits);
    EXPECT_EQ(engine().stats().budget_hits, (Hits{{"a, b 1", 1}}));
}

TEST_P(ReserveConformance, OnlyABudgetThatAsksCanBeApproved) {
    ok(budget({{"tokens", {100, 50}}}));
    EXPECT_EQ(refused(ApproveBudget{budget_id(), ""}), "invalid_input");
    EXPECT_EQ(refused(ApproveBudget{budget_id(9), ""}), "budget_not_found");
}

}  // namespace ff::engine::test
