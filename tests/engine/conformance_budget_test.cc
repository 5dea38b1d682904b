// Budgets: spec 06, sections 1 to 6.
#include "engine/conformance_limits.h"

namespace ff::engine::test {

class BudgetConformance : public LimitConformance {};
FF_ON_EVERY_ENGINE(BudgetConformance);

// ------------------------------------------------------------------------------------- define

TEST_P(BudgetConformance, ADefinitionStandsOnceItIsThere) {
    const CreateBudgetResult made = ok(budget({{"tokens", {100, 80}}}));
    EXPECT_TRUE(made.created);
    CreateBudget other = budget({{"tokens", {5, 5}}});
    const CreateBudgetResult again = ok(other);
    EXPECT_FALSE(again.created);
    EXPECT_FALSE(again.definition_matches);
    EXPECT_TRUE(ok(budget({{"tokens", {100, 80}}})).definition_matches);
    const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
    EXPECT_EQ(status.hard_limits, (Amounts{{"tokens", 100}}));
    EXPECT_EQ(status.soft_limits, (Amounts{{"tokens", 80}}));
    EXPECT_EQ(status.usage, Amounts{}) << "until something was reported";
    EXPECT_EQ(status.scope_type, "tenant");
    EXPECT_EQ(status.scope_id, "acme");
    EXPECT_EQ(status.enforcement_mode, EnforcementMode::strict);
    EXPECT_FALSE(status.next_reset_at);
}

TEST_P(BudgetConformance, ADefinitionMustHaveAShape) {
    CreateBudget op = budget({{"a", {1, 1}}});
    op.hard_limits.push_back(3);
    EXPECT_EQ(refused(op), "invalid_input");
    op = budget({{std::string(129, 'x'), {1, 1}}});
    EXPECT_EQ(refused(op), "invalid_input");
    op = budget({});
    op.dimensions = {"a", "a"};
    op.hard_limits = op.soft_limits = {1, 1};
    EXPECT_EQ(refused(op), "invalid_input");
    EXPECT_EQ(refused(GetBudgetStatus{budget_id()}), "budget_not_found");
    ok(budget({}));
    EXPECT_EQ(report({{"anything", 5}}).outcome, UsageOutcome::ok) << "counts, limits nothing";
}

TEST_P(BudgetConformance, ListsAreByIdAndByScope) {
    for (std::uint8_t n = 1; n <= 5; ++n) {
        CreateBudget op = budget({{"x", {n, 0}}}, budget_id(n));
        op.scope_id = n % 2 == 0 ? "even" : "odd";
        ok(op);
    }
    ListBudgets list;
    list.limit = 2;
    BudgetPage page = ok(list);
    ASSERT_EQ(page.budgets.size(), 2U);
    EXPECT_EQ(page.budgets[0].budget_id, budget_id(1));
    list.cursor = page.next_cursor;
    ASSERT_TRUE(list.cursor);
    page = ok(list);
    EXPECT_EQ(page.budgets[0].budget_id, budget_id(3));
    ListBudgets even;
    even.scope_id = "even";
    page = ok(even);
    ASSERT_EQ(page.budgets.size(), 2U);
    EXPECT_EQ(page.budgets[1].budget_id, budget_id(4));
    EXPECT_FALSE(page.next_cursor);
    if (!GetParam().remote) {  // there, a page that is too large is made smaller
        even.limit = 1'001;
        EXPECT_EQ(refused(even), "invalid_input");
    }
}

// ------------------------------------------------------------------------------------- report

TEST_P(BudgetConformance, AReportCountsWhollyOrNotAtAll) {
    ok(budget({{"cents", {50, 0}}, {"tokens", {100, 80}}}));
    EXPECT_EQ(report({{"tokens", 80}}), UsageResult{});
    EXPECT_EQ(report({{"tokens", 5}}),
              (UsageResult{UsageOutcome::soft_breach, "tokens", 85, 80, {}}));
    EXPECT_EQ(report({{"cents", 10}, {"tokens", 16}}),
              (UsageResult{UsageOutcome::hard_breach, "tokens", 85, 100, {}}));
    EXPECT_EQ(usage(), (Amounts{{"tokens", 85}}));
    EXPECT_EQ(report({{"cents", 10}, {"tokens", 15}}).outcome, UsageOutcome::soft_breach)
        << "to the limit exactly";
    const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
    EXPECT_EQ(status.breach_count, 1U);
    EXPECT_EQ(status.soft_breach_count, 2U);
    EXPECT_EQ(status.last_breach_dim, "tokens");
    EXPECT_TRUE(status.last_breach_at);
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(9), {{"x", 1}}, ""}), "budget_not_found");
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(), {{"", 1}}, ""}), "invalid_input");
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(), {{"x", amount_max + 1}}, ""}), "invalid_input");
}

TEST_P(BudgetConformance, AKeyCountsOnceForADayAndARefusalDoesNotTakeIt) {
    ok(budget({{"x", {10, 0}}}));
    EXPECT_EQ(report({{"x", 8}}, "k1").outcome, UsageOutcome::ok);
    EXPECT_EQ(report({{"x", 8}}, "k1").outcome, UsageOutcome::already_applied);
    EXPECT_EQ(report({{"x", 8}}, "k2").outcome, UsageOutcome::hard_breach);
    ok(ResetBudget{budget_id()});
    EXPECT_EQ(report({{"x", 8}}, "k2").outcome, UsageOutcome::ok);
    EXPECT_EQ(report({{"x", 8}}, "k1").outcome, UsageOutcome::already_applied)
        << "a reset keeps keys";
    ok(budget({}, budget_id(2)));
    EXPECT_EQ(report({{"x", 8}}, "k1", budget_id(2)).outcome, UsageOutcome::ok) << "per budget";
    EXPECT_EQ(report({}, "empty").outcome, UsageOutcome::ok);
    EXPECT_EQ(report({}, "empty").outcome, UsageOutcome::already_applied);
    EXPECT_EQ(usage(), (Amounts{{"x", 8}}));
}

TEST_P(BudgetConformance, AnExpiredKeyIsUsedAgainAndPurged) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.scanner_periods_ms["budget_reconciler"] = 0;  // only when asked for
    open_with(options);
    ok(budget({}));
    report({{"x", 1}}, "k");
    after(usage_dedup_ms);
    EXPECT_EQ(report({{"x", 1}}, "k").outcome, UsageOutcome::ok);
    report({{"x", 1}}, "other");
    after(usage_dedup_ms);
    EXPECT_EQ(ok(RunScanner{"budget_reconciler"}).processed, 2U);
    EXPECT_EQ(ok(RunScanner{"budget_reconciler"}).processed, 0U);
}

TEST_P(BudgetConformance, AWorkersReportNeedsNoLiveLease) {
    ok(budget({}));
    const ClaimedTask task = start();
    ReportUsage op;
    op.lease = task.handle;
    op.budget_id = budget_id();
    op.dimensions = {{"calls", 1}, {"input_tokens", 10}};
    op.input_tokens = 5;
    op.wall_ms = 7;
    EXPECT_EQ(ok(op).outcome, UsageOutcome::ok);
    ok(Complete{task.handle, "", {}});
    op.dedup_key = "after its end";
    EXPECT_EQ(ok(op).outcome, UsageOutcome::ok);
    EXPECT_EQ(ok(op).outcome, UsageOutcome::already_applied);
    EXPECT_EQ(usage(), (Amounts{{"calls", 2}, {"input_tokens", 30}, {"wall_ms", 14}}));
}

// ----------------------------------------------------------------------- spend, release, reset

TEST_P(BudgetConformance, ReleaseTakesBackWhatTheExecutionSpent) {
    ok(budget({{"x", {100, 0}}}));
    const ExecutionId a = create();
    const ExecutionId b = create();
    ok(RecordSpend{budget_id(), a, {{"x", 30}}, "1"});
    ok(RecordSpend{budget_id(), a, {{"x", 10}}, "2"});
    EXPECT_EQ(ok(RecordSpend{budget_id(), a, {{"x", 10}}, "2"}).outcome,
              UsageOutcome::already_applied);
    ok(RecordSpend{budget_id(), b, {{"x", 5}}, "3"});
    report({{"x", 1}});
    SpendPage spent = ok(ListSpend{budget_id(), {}, 100});
    ASSERT_EQ(spent.entries.size(), 2U);
    std::map<ExecutionId, Amounts> of;
    for (const SpendEntry& entry : spent.entries) {
        of[entry.execution_id] = entry.spent;
    }
    EXPECT_EQ(of[a], (Amounts{{"x", 40}}));
    EXPECT_EQ(of[b], (Amounts{{"x", 5}}));
    EXPECT_TRUE(ok(ReleaseBudget{budget_id(), a}).released);
    EXPECT_EQ(usage(), (Amounts{{"x", 6}}));
    EXPECT_FALSE(ok(ReleaseBudget{budget_id(), a}).released);
    EXPECT_FALSE(ok(ReleaseBudget{budget_id(9), a}).released) << "an unknown budget";
    EXPECT_EQ(usage(), (Amounts{{"x", 6}}));
    EXPECT_EQ(ok(ListSpend{budget_id(), {}, 100}).entries.size(), 1U);
    EXPECT_EQ(refused(ListSpend{budget_id(9), {}, 100}), "budget_not_found");
}

TEST_P(BudgetConformance, WhatWasSpentBeforeAResetIsNotTakenBack) {
    ok(budget({}));
    const ExecutionId a = create();
    ok(RecordSpend{budget_id(), a, {{"x", 30}}, "1"});
    ok(ResetBudget{budget_id()});
    report({{"x", 10}});
    EXPECT_TRUE(ok(ReleaseBudget{budget_id(), a}).released);
    EXPECT_EQ(usage(), (Amounts{{"x", 10}}));
    ok(RecordSpend{budget_id(), a, {{"x", 4}}, "2"});
    EXPECT_TRUE(ok(ReleaseBudget{budget_id(), a}).released);
    EXPECT_EQ(usage(), (Amounts{{"x", 10}}));
}

TEST_P(BudgetConformance, AResetBeginsANewPeriod) {
    ok(budget({{"x", {10, 0}}}));
    report({{"x", 9}});
    report({{"x", 9}});
    EXPECT_EQ(ok(ResetBudget{budget_id()}).next_reset_at, 0);
    const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
    EXPECT_EQ(status.usage, (Amounts{{"x", 0}}));
    EXPECT_EQ(status.breach_count, 1U) << "a lifetime's";
    EXPECT_FALSE(status.last_breach_at);
    EXPECT_FALSE(status.last_breach_dim);
    EXPECT_EQ(refused(ResetBudget{budget_id(9)}), "budget_not_found");
}

TEST_P(BudgetConformance, AScheduleResetsAtItsMomentAndDoesNotDrift) {
    FF_NEEDS_CLOCK();
    CreateBudget op = budget({{"x", {10, 0}}});
    op.reset_interval_ms = 1'000;
    const TimestampMs begin = now();
    ok(op);
    report({{"x", 10}});
    after(999);
    EXPECT_EQ(usage(), (Amounts{{"x", 10}}));
    after(1);
    EXPECT_EQ(usage(), (Amounts{{"x", 0}}));
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).next_reset_at, begin + 2'000);
    after(300);
    EXPECT_EQ(ok(ResetBudget{budget_id()}).next_reset_at, begin + 2'300) << "by hand: from now";
    after(5'500);
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).next_reset_at, begin + 7'300);
}

// ---------------------------------------------------------------------------------- admission

TEST_P(BudgetConformance, ABudgetThatIsUsedUpBlocksNewStartsOnly) {
    ok(budget({{"tokens", {100, 0}}}));
    const ClaimedTask running = start(job_with_budget());
    report({{"tokens", 100}});
    const ExecutionId waiting = create(job_with_budget());
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(waiting), "blocked_by_budget");
    EXPECT_EQ(public_of(waiting), PublicState::rate_limited);
    EXPECT_EQ(detail(waiting), "budget " + budget_id().to_string() + ": tokens 100/100");
    EXPECT_NE(why(waiting).find("budget " + budget_id().to_string()), std::string::npos);
    ok(Complete{running.handle, "done", {}});
    const ExecutionId free = create();
    EXPECT_EQ(claim().execution_id(), free) << "who has no budget is not in its way";
    EXPECT_EQ(eligibility(waiting), "blocked_by_budget");
}

TEST_P(BudgetConformance, ABlockedOneNeverStopsTheOthers) {
    ok(budget({{"tokens", {1, 0}}}));
    report({{"tokens", 1}});
    for (int i = 0; i < 5; ++i) {
        create(job_with_budget());
    }
    const ExecutionId free = create();
    EXPECT_EQ(claim().execution_id(), free);
}

TEST_P(BudgetConformance, WhoWaitsComesBackInItsTurn) {
    ok(budget({{"tokens", {10, 0}}}));
    report({{"tokens", 10}});
    const ExecutionId first = create(job_with_budget());
    const ExecutionId second = create(job_with_budget());
    EXPECT_FALSE(has_work());
    const ExecutionId later = create();
    ok(ResetBudget{budget_id()});
    settle();
    EXPECT_EQ(eligibility(first), "eligible_now");
    EXPECT_EQ(drain(claim_by("w1")), (std::vector<ExecutionId>{first, second, later}));
}

TEST_P(BudgetConformance, EverythingThatClearsTheCauseLetsThemGo) {
    ok(budget({{"x", {10, 0}}}));
    const ExecutionId spender = create(job("elsewhere"));
    const auto block = [&] {
        ok(ResetBudget{budget_id()});
        ok(RecordSpend{budget_id(), spender, {{"x", 10}}, ""});
        const ExecutionId id = create(job_with_budget());
        EXPECT_FALSE(has_work());
        EXPECT_EQ(eligibility(id), "blocked_by_budget");
        return id;
    };
    const auto goes_on = [&](const ExecutionId& id) {
        settle();
        EXPECT_EQ(eligibility(id), "eligible_now");
        const ClaimedTask task = claim();
        EXPECT_EQ(task.execution_id(), id);
        ok(Complete{task.handle, "", {}});
    };
    ExecutionId id = block();
    ok(UpdateBudgetLimits{budget_id(), {{"x", {11, 0}}}});
    goes_on(id);
    ok(UpdateBudgetLimits{budget_id(), {{"x", {10, 0}}}});
    id = block();
    ok(ReleaseBudget{budget_id(), spender});
    goes_on(id);
    id = block();
    ok(UpdateBudgetLimits{budget_id(), {{"x", {0, 0}}}});
    goes_on(id);
    ok(UpdateBudgetLimits{budget_id(), {{"x", {10, 0}}}});
    id = block();
    ok(DetachBudget{budget_id(), LimitTarget::execution, id.to_string()});
    goes_on(id);
    EXPECT_EQ(refused(UpdateBudgetLimits{budget_id(9), {{"x", {1, 0}}}}), "budget_not_found");
}

TEST_P(BudgetConformance, AScheduledResetLetsAWaitingClaimHaveIt) {
    FF_NEEDS_CLOCK();
    CreateBudget op = budget({{"x", {1, 0}}});
    op.reset_interval_ms = 5'000;
    ok(op);
    report({{"x", 1}});
    const ExecutionId id = create(job_with_budget());
    EXPECT_FALSE(has_work());
    EXPECT_EQ(ok(ExplainExecution{id}).until, now() + 5'000);
    SentClaim waiting(engine(),
                      with(claim_by("w1"), [](Claim& claim) { claim.max_wait_ms = 20'000; }));
    settle();
    after(4'999);
    EXPECT_FALSE(waiting.answered());
    after(1);
    ASSERT_EQ(waiting.tasks().size(), 1U);
}

TEST_P(BudgetConformance, AnAdvisoryBudgetBlocksNothing) {
    CreateBudget op = budget({{"x", {1, 0}}});
    op.enforcement_mode = "advisory";
    ok(op);
    EXPECT_EQ(report({{"x", 5}}), (UsageResult{UsageOutcome::soft_breach, "x", 5, 1, {}}));
    EXPECT_EQ(start(job_with_budget()).handle.attempt_index, 0U);
}

TEST_P(BudgetConformance, ABudgetThatIsNotThereYetLimitsNothing) {
    ok(Complete{start(job_with_budget()).handle, "", {}});
    ok(budget({{"x", {1, 0}}}));
    report({{"x", 1}});
    const ExecutionId id = create(job_with_budget());
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(id), "blocked_by_budget");
}

TEST_P(BudgetConformance, LimitsOfLaneNamespaceFlowAndScopeApply) {
    const auto used_up = [&](std::uint8_t n, std::string type, std::string id) {
        CreateBudget op = budget({{"x", {1, 0}}}, budget_id(n));
        op.scope_type = std::move(type);
        op.scope_id = std::move(id);
        ok(op);
        report({{"x", 1}}, "", budget_id(n));
    };
    const auto is_blocked_by = [&](const ExecutionId& id, std::uint8_t n) {
        EXPECT_FALSE(has_work("probe", snapshot(id).info.lane_id));
        return detail(id).find(budget_id(n).to_string()) != std::string::npos;
    };
    const ExecutionId in_lane = create(job("lane-a"));
    used_up(1, "lane", "lane-a");
    EXPECT_TRUE(is_blocked_by(in_lane, 1));

    const ExecutionId in_namespace =
        create(with(job("lane-b"), [](CreateExecution& op) { op.ns = "other"; }));
    used_up(2, "namespace", "other");
    EXPECT_TRUE(is_blocked_by(in_namespace, 2));

    const ExecutionId named = ExecutionId::solo("lane-c", {}, uuid(77));
    used_up(3, "execution", named.to_string());  // before it is there
    create(with(job("lane-c"), [&](CreateExecution& op) { op.execution_id = named; }));
    EXPECT_TRUE(is_blocked_by(named, 3));

    const ExecutionId known = create(job("lane-d"));
    used_up(4, "execution", known.to_string());
    EXPECT_TRUE(is_blocked_by(known, 4));

    CreateFlow flow;
    flow.flow_id = FlowId{uuid(88)};
    flow.flow_kind = "k";
    flow.ns = "acme";
    used_up(5, "flow", flow.flow_id->to_string());
    ok(flow);
    const ExecutionId member = ExecutionId::for_flow(*flow.flow_id, {}, uuid(89));
    create(with(job("lane-e"), [&](CreateExecution& op) { op.execution_id = member; }));
    ok(AddExecutionToFlow{*flow.flow_id, member});
    EXPECT_TRUE(is_blocked_by(member, 5));

    ok(DetachBudget{budget_id(1), LimitTarget::lane, "lane-a"});
    settle();
    EXPECT_EQ(claim("w1", "lane-a").execution_id(), in_lane);
    ok(DetachBudget{budget_id(5), LimitTarget::flow, flow.flow_id->to_string()});
    settle();
    EXPECT_EQ(claim("w1", "lane-e").execution_id(), member);
}

TEST_P(BudgetConformance, AttachmentsMustFit) {
    ok(budget({{"x", {1, 0}}}));
    const ExecutionId id = create();
    const AttachBudget attach{budget_id(), LimitTarget::execution, id.to_string()};
    EXPECT_TRUE(ok(attach).changed);
    EXPECT_FALSE(ok(attach).changed);
    EXPECT_EQ(refused(with(attach, [](auto& op) { op.budget_id = budget_id(9); })),
              "budget_not_found");
    EXPECT_EQ(refused(with(attach, [](auto& op) { op.target_id = "nonsense"; })), "invalid_input");
    EXPECT_EQ(refused(with(attach,
                           [](auto& op) { op.target_id = ExecutionId{0, uuid(66)}.to_string(); })),
              "execution_not_found");
    EXPECT_EQ(refused(AttachBudget{budget_id(), LimitTarget::flow, FlowId{uuid(66)}.to_string()}),
              "flow_not_found");
    EXPECT_EQ(refused(AttachBudget{budget_id(), LimitTarget::lane, "nowhere"}), "lane_not_found");
    CreateBudget scoped = budget({}, budget_id(2));
    scoped.scope_type = "execution";
    scoped.scope_id = id.to_string();
    ok(scoped);
    EXPECT_EQ(refused(AttachBudget{budget_id(2), LimitTarget::lane, "default"}),
              "budget_attach_conflict");
    for (std::uint8_t n = 3; n <= 16; ++n) {
        ok(budget({}, budget_id(n)));
        ok(AttachBudget{budget_id(n), LimitTarget::execution, id.to_string()});
    }
    ok(budget({}, budget_id(17)));
    EXPECT_EQ(refused(AttachBudget{budget_id(17), LimitTarget::execution, id.to_string()}),
              "invalid_input")
        << "sixteen at most";
    const ClaimedTask task = claim();
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(refused(AttachBudget{budget_id(17), LimitTarget::execution, id.to_string()}),
              "terminal");
    EXPECT_TRUE(ok(DetachBudget{budget_id(), LimitTarget::execution, id.to_string()}).changed);
    EXPECT_FALSE(ok(DetachBudget{budget_id(), LimitTarget::execution, id.to_string()}).changed);
}

TEST_P(BudgetConformance, AHardBreachMayCancelWhatIsAttached) {
    CreateBudget op = budget({{"x", {10, 0}}});
    op.on_hard_limit = "cancel";
    ok(op);
    const ClaimedTask running = start(job_with_budget());
    std::vector<ExecutionId> waiting;
    for (int i = 0; i < 120; ++i) {
        waiting.push_back(create(job_with_budget()));
    }
    const ExecutionId other = create(job("elsewhere"));
    EXPECT_EQ(report({{"x", 11}}).outcome, UsageOutcome::hard_breach);
    settle();
    settle();
    for (const ExecutionId& id : waiting) {
        EXPECT_EQ(public_of(id), PublicState::cancelled);
    }
    EXPECT_EQ(public_of(running.execution_id()), PublicState::cancelled);
    EXPECT_EQ(public_of(other), PublicState::waiting);
}

TEST_P(BudgetConformance, AHardBreachOfAFlowsBudgetCancelsTheFlow) {
    CreateFlow flow;
    flow.flow_id = FlowId{uuid(88)};
    flow.flow_kind = "k";
    flow.ns = "acme";
    ok(flow);
    const ExecutionId member = ExecutionId::for_flow(*flow.flow_id, {}, uuid(89));
    create(with(job(), [&](CreateExecution& op) { op.execution_id = member; }));
    ok(AddExecutionToFlow{*flow.flow_id, member});
    CreateBudget op = budget({{"x", {10, 0}}});
    op.scope_type = "flow";
    op.scope_id = flow.flow_id->to_string();
    op.on_hard_limit = "cancel";
    ok(op);
    EXPECT_EQ(report({{"x", 11}}).outcome, UsageOutcome::hard_breach);
    settle();
    EXPECT_EQ(public_of(member), PublicState::cancelled);
    EXPECT_EQ(ok(DescribeFlow{*flow.flow_id})->public_flow_state, FlowState::cancelled);
}

TEST_P(BudgetConformance, EveryWayToClaimAsks) {
    ok(budget({{"x", {1, 0}}}));
    report({{"x", 1}});
    const ExecutionId id = create(job_with_budget());
    IssueClaimGrant named;
    named.execution_id = id;
    named.lane_id = "default";
    named.worker_id = "w1";
    named.worker_instance_id = "w1-a";
    EXPECT_EQ(refused(named), "budget_exceeded");
    EXPECT_EQ(eligibility(id), "blocked_by_budget") << "it waits all the same";
    const ExecutionId second = create(job_with_budget());
    EXPECT_FALSE(ok(grant_for("w1")).grant);
    EXPECT_EQ(eligibility(second), "blocked_by_budget");
    const ExecutionId third = create(job_with_budget());
    IssueGrantAndClaim by_operator;
    by_operator.execution_id = third;
    by_operator.lane_id = "default";
    EXPECT_EQ(refused(by_operator), "ok") << "an operator may";
}

TEST_P(BudgetConformance, EverythingIsThereAfterAnotherOpening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << "not durable";
    }
    ok(budget({{"x", {10, 0}}}));
    report({{"x", 10}}, "k");
    const ExecutionId id = create(job_with_budget());
    EXPECT_FALSE(has_work());
    reopen();
    EXPECT_EQ(report({{"x", 1}}, "k").outcome, UsageOutcome::already_applied);
    EXPECT_EQ(usage(), (Amounts{{"x", 10}}));
    EXPECT_EQ(eligibility(id), "blocked_by_budget");
    ok(ResetBudget{budget_id()});
    settle();
    EXPECT_EQ(claim().execution_id(), id);
}

}  // namespace ff::engine::test
