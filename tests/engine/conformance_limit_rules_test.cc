// Rules of budgets one by one: bounds of definitions and reports, what a breach sets in motion, and
// the events they write (spec 06, sections 1 to 5).
#include <ff/json.h>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class BudgetRuleConformance : public LimitConformance {
  protected:
    static CreateBudget scoped(std::string type, std::string id, BudgetId budget = budget_id()) {
        return with(LimitConformance::budget({{"x", {10, 0}}}, budget), [&](CreateBudget& op) {
            op.scope_type = std::move(type);
            op.scope_id = std::move(id);
        });
    }
    static std::string dimension(std::size_t n) { return "d" + std::to_string(1'000 + n); }
    static Amounts dimensions(std::size_t from, std::size_t count) {
        Amounts out;
        for (std::size_t n = 0; n < count; ++n) {
            out[dimension(from + n)] = 1;
        }
        return out;
    }
    static BudgetLimits limits(std::size_t from, std::size_t count) {
        BudgetLimits out;
        for (std::size_t n = 0; n < count; ++n) {
            out[dimension(from + n)] = {1'000, 0};
        }
        return out;
    }
    /// `type dimension usage/limit` of every event of budgets; what an event does not say is left
    /// out. The budget is checked.
    std::vector<std::string> budget_events() {
        ReadEvents op;
        op.family = EventFamily::budgets;
        op.cursor = EventCursor::earliest();
        op.limit = 1'000;
        std::vector<std::string> out;
        for (const Event& event : ok(op).events) {
            const auto payload = js::parse(event.payload);
            EXPECT_TRUE(payload) << event.payload;
            const auto member = [&](std::string_view name) -> std::string {
                const js::Value* found = payload ? payload->find(name) : nullptr;
                if (found == nullptr) {
                    return "";
                }
                return found->if_string() != nullptr ? *found->if_string() : js::dump(*found);
            };
            EXPECT_EQ(member("budget_id"), budget_id().to_string());
            if (event.execution_id) {
                told_of_ = *event.execution_id;
            }
            out.push_back(event.type);
            if (!member("dimension").empty()) {
                out.back() +=
                    " " + member("dimension") + " " + member("usage") + "/" + member("limit");
            }
        }
        return out;
    }
    ReportUsage usage_of(const ClaimedTask& task, Amounts amounts) {
        ReportUsage op;
        op.lease = task.handle;
        op.budget_id = budget_id();
        op.dimensions = std::move(amounts);
        return op;
    }

    using Texts = std::vector<std::string>;
    std::optional<ExecutionId> told_of_;  ///< the last execution that an event named
};
FF_ON_EVERY_ENGINE(BudgetRuleConformance);

// ------------------------------------------------------------------------------------- define

TEST_P(BudgetRuleConformance, AScopeOfAnExecutionOrFlowNamesOne) {
    for (const char* id : {"", "nonsense", "01a1e89e-14bc-7596-ad1c-bb4af1b513dc",
                           "{fp:0}:nonsense", "{fp:70000}:01a1e89e-14bc-7596-ad1c-bb4af1b513dc"}) {
        EXPECT_EQ(refused(scoped("execution", id)), "invalid_budget_scope") << id;
    }
    for (const char* id : {"", "nonsense", "{fp:0}:01a1e89e-14bc-7596-ad1c-bb4af1b513dc"}) {
        EXPECT_EQ(refused(scoped("flow", id)), "invalid_budget_scope") << id;
    }
    EXPECT_EQ(refused(GetBudgetStatus{budget_id()}), "budget_not_found") << "nothing was defined";
    EXPECT_NE(error(scoped("flow", "nonsense")).detail.find("nonsense"), std::string::npos);

    // Names that nobody has taken yet, and types that only describe.
    EXPECT_TRUE(ok(scoped("execution", ExecutionId{0, uuid(5)}.to_string())).created);
    EXPECT_TRUE(ok(scoped("flow", FlowId{uuid(5)}.to_string(), budget_id(2))).created);
    EXPECT_TRUE(ok(scoped("tenant", "nonsense", budget_id(3))).created);
    EXPECT_TRUE(ok(scoped("", "", budget_id(4))).created);
    EXPECT_EQ(refused(scoped("tenant", std::string(257, 'x'), budget_id(5))), "invalid_input");
}

TEST_P(BudgetRuleConformance, ADefinitionHasAtMostSixtyFourDimensions) {
    EXPECT_EQ(refused(budget(limits(0, dimensions_max + 1))), "invalid_input");
    EXPECT_TRUE(ok(budget(limits(0, dimensions_max))).created);
    ok(UpdateBudgetLimits{budget_id(), limits(dimensions_max - 1, 1)});
    EXPECT_EQ(refused(UpdateBudgetLimits{budget_id(), limits(dimensions_max, 1)}), "invalid_input")
        << "one more than there may be";
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).hard_limits.size(), dimensions_max);
    EXPECT_EQ(refused(budget({{"", {1, 0}}}, budget_id(2))), "invalid_input");
    EXPECT_EQ(refused(UpdateBudgetLimits{budget_id(), {{"", {1, 0}}}}), "invalid_input");
    EXPECT_TRUE(
        ok(budget({{std::string(dimension_bytes_max, 'x'), {1, 0}}}, budget_id(3))).created);
}

TEST_P(BudgetRuleConformance, AmountsHaveABoundAndSumsStopThere) {
    EXPECT_EQ(refused(budget({{"x", {amount_max + 1, 0}}})), "invalid_input");
    EXPECT_EQ(refused(budget({{"x", {0, amount_max + 1}}})), "invalid_input");
    ok(budget({{"x", {amount_max, amount_max}}}));
    EXPECT_EQ(refused(UpdateBudgetLimits{budget_id(), {{"x", {amount_max + 1, 0}}}}),
              "invalid_input");
    EXPECT_EQ(
        refused(RecordSpend{budget_id(), ExecutionId{0, uuid(5)}, {{"x", amount_max + 1}}, {}}),
        "invalid_input");
    EXPECT_EQ(report({{"x", amount_max}, {"free", amount_max}}).outcome, UsageOutcome::ok);
    EXPECT_EQ(report({{"free", amount_max}}).outcome, UsageOutcome::ok);
    EXPECT_EQ(usage(), (Amounts{{"free", amount_max}, {"x", amount_max}}));
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).hard_limits, (Amounts{{"x", amount_max}}));
}

TEST_P(BudgetRuleConformance, ASoftLimitAboveTheHardOneIsLegal) {
    ok(budget({{"x", {10, 20}}}));
    EXPECT_EQ(report({{"x", 10}}), UsageResult{});
    EXPECT_EQ(report({{"x", 1}}).outcome, UsageOutcome::hard_breach);
}

// ------------------------------------------------------------------------------------- report

TEST_P(BudgetRuleConformance, ABudgetCountsAtMostAThousandAndTwentyFourDimensions) {
    ok(budget({}));
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(), dimensions(0, dimensions_max + 1), ""}),
              "invalid_input");
    for (std::size_t from = 0; from < 1'024; from += dimensions_max) {
        EXPECT_EQ(report(dimensions(from, dimensions_max)).outcome, UsageOutcome::ok);
    }
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(), {{"another", 1}}, "k"}), "invalid_input");
    EXPECT_EQ(refused(ReportUsageAdmin{budget_id(), {{dimension(0), 1}, {"another", 1}}, ""}),
              "invalid_input");
    EXPECT_EQ(usage().size(), 1'024U);
    EXPECT_EQ(usage()[dimension(0)], 1U) << "a report counts wholly or not at all";
    EXPECT_EQ(report({{dimension(0), 1}}, "k").outcome, UsageOutcome::ok)
        << "a refusal takes no key";
}

TEST_P(BudgetRuleConformance, AReportOfNothingIsStillChecked) {
    ok(budget({{"x", {10, 5}}}));
    report({{"x", 8}});
    EXPECT_EQ(report({{"x", 0}}), (UsageResult{UsageOutcome::soft_breach, "x", 8, 5, {}}));
    ok(UpdateBudgetLimits{budget_id(), {{"x", {7, 5}}}});
    EXPECT_EQ(usage(), (Amounts{{"x", 8}})) << "a lower limit takes nothing back";
    EXPECT_EQ(report({{"x", 0}}), (UsageResult{UsageOutcome::hard_breach, "x", 8, 7, {}}));
    EXPECT_EQ(report({{"y", 0}}).outcome, UsageOutcome::ok) << "of another dimension";
}

TEST_P(BudgetRuleConformance, ARefusedSpendIsNotWrittenDown) {
    ok(budget({{"x", {10, 0}}}));
    const ExecutionId id = create();
    EXPECT_EQ(ok(RecordSpend{budget_id(), id, {{"x", 11}}, "k"}).outcome,
              UsageOutcome::hard_breach);
    EXPECT_TRUE(ok(ListSpend{budget_id(), {}, 100}).entries.empty());
    EXPECT_FALSE(ok(ReleaseBudget{budget_id(), id}).released);
    EXPECT_EQ(ok(RecordSpend{budget_id(), id, {{"x", 10}}, "k"}).outcome, UsageOutcome::ok);
    EXPECT_EQ(refused(RecordSpend{budget_id(9), id, {{"x", 1}}, ""}), "budget_not_found");
}

TEST_P(BudgetRuleConformance, TheLedgerIsReadInPages) {
    ok(budget({}));
    std::set<ExecutionId> spenders;
    for (int i = 0; i < 5; ++i) {
        const ExecutionId id = create();
        spenders.insert(id);
        ok(RecordSpend{budget_id(), id, {{"x", 2}}, ""});
    }
    ListSpend list{budget_id(), {}, 2};
    std::set<ExecutionId> seen;
    int pages = 0;
    do {
        const SpendPage page = ok(list);
        EXPECT_LE(page.entries.size(), 2U);
        for (const SpendEntry& entry : page.entries) {
            EXPECT_TRUE(seen.insert(entry.execution_id).second);
        }
        list.cursor = page.next_cursor;
    } while (list.cursor && ++pages < 10);
    EXPECT_EQ(seen, spenders);
}

TEST_P(BudgetRuleConformance, ReleasingASpendLeavesWhatIsReserved) {
    ok(budget({{"x", {100, 0}}}));
    create(job_with_policy(R"({"budget_ids":[")" + budget_id().to_string() +
                           R"("],"budget_reserve":{"x":60}})"));
    const ClaimedTask task = claim();
    ok(RecordSpend{budget_id(), task.execution_id(), {{"x", 10}}, ""});
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, (Amounts{{"x", 50}}));
    EXPECT_TRUE(ok(ReleaseBudget{budget_id(), task.execution_id()}).released);
    EXPECT_EQ(usage(), (Amounts{{"x", 0}}));
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, (Amounts{{"x", 50}}));
    EXPECT_EQ(ok(RunScanner{"budget_reconciler"}).findings, Texts{});
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, Amounts{});
}

// ----------------------------------------------------------------------------------- breaches

TEST_P(BudgetRuleConformance, ARefusalSaysWhatTheBudgetWants) {
    ok(with(budget({{"x", {10, 0}}}), [](CreateBudget& op) { op.on_hard_limit = "fail"; }));
    const ClaimedTask task = start(job_with_budget());
    EXPECT_EQ(ok(usage_of(task, {{"x", 11}})),
              (UsageResult{UsageOutcome::hard_breach, "x", 0, 10, OnHardLimit::fail}));
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active)
        << "the worker fails it, not the engine";
}

TEST_P(BudgetRuleConformance, ARefusedReportAloneKeepsNobody) {
    ok(budget({{"x", {10, 0}}}));
    report({{"x", 9}});
    EXPECT_EQ(report({{"x", 5}}).outcome, UsageOutcome::hard_breach);
    start(job_with_budget());
    report({{"x", 1}});
    create(job_with_budget());
    EXPECT_FALSE(has_work()) << "it is used up now";
}

TEST_P(BudgetRuleConformance, WhoABudgetCancelsKnowsWhy) {
    ok(with(budget({{"x", {10, 0}}}), [](CreateBudget& op) { op.on_hard_limit = "cancel"; }));
    const ExecutionId named = create(job_with_budget());
    const ExecutionId attached = create();
    ok(AttachBudget{budget_id(), LimitTarget::execution, attached.to_string()});
    ok(AttachBudget{budget_id(), LimitTarget::lane, "default"});
    const ExecutionId covered = create();
    report({{"x", 11}});
    settle();
    for (const ExecutionId& id : {named, attached}) {
        EXPECT_EQ(public_of(id), PublicState::cancelled);
        EXPECT_EQ(snapshot(id).cancellation_reason,
                  "budget_exceeded:" + budget_id().to_string() + ":x");
    }
    EXPECT_EQ(public_of(covered), PublicState::waiting) << "a lane is only refused";
}

// ------------------------------------------------------------------------------------- events

TEST_P(BudgetRuleConformance, BreachesAreEvents) {
    ok(budget({{"x", {10, 5}}}));
    const ClaimedTask task = start(job_with_budget());
    report({{"x", 5}});
    EXPECT_EQ(budget_events(), Texts{}) << "neither a definition nor a report that fits";
    ok(usage_of(task, {{"x", 1}}));
    EXPECT_EQ(budget_events(), (Texts{"budget_soft_breach x 6/5"}));
    EXPECT_EQ(told_of_, task.execution_id());
    report({{"x", 5}}, "k");
    report({{"x", 5}}, "k");
    EXPECT_EQ(budget_events(), (Texts{"budget_soft_breach x 6/5", "budget_hard_breach x 6/10",
                                      "budget_hard_breach x 6/10"}));
    report({{"x", 1}}, "k2");
    report({{"x", 1}}, "k2");
    EXPECT_EQ(budget_events().size(), 4U) << "what was applied before is no breach";
    const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
    EXPECT_EQ(status.breach_count, 2U);
    EXPECT_EQ(status.soft_breach_count, 2U);
}

TEST_P(BudgetRuleConformance, ABudgetThatDoesNotWarnWritesNoSoftBreach) {
    ok(with(budget({{"x", {10, 5}}}), [](CreateBudget& op) { op.on_soft_limit = "none"; }));
    EXPECT_EQ(report({{"x", 6}}).outcome, UsageOutcome::soft_breach);
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).soft_breach_count, 1U) << "counted all the same";
    EXPECT_EQ(report({{"x", 6}}).outcome, UsageOutcome::hard_breach);
    EXPECT_EQ(budget_events(), (Texts{"budget_hard_breach x 6/10"}));
}

TEST_P(BudgetRuleConformance, AnAdvisoryBudgetTellsOfItsHardLimitSoftly) {
    ok(with(budget({{"x", {10, 5}}}), [](CreateBudget& op) { op.enforcement_mode = "soft"; }));
    EXPECT_EQ(report({{"x", 11}}), (UsageResult{UsageOutcome::soft_breach, "x", 11, 10, {}}));
    EXPECT_EQ(budget_events(), (Texts{"budget_soft_breach x 11/10"}));
    const BudgetStatus status = ok(GetBudgetStatus{budget_id()});
    EXPECT_EQ(status.breach_count, 0U);
    EXPECT_EQ(status.soft_breach_count, 1U);
    EXPECT_EQ(status.enforcement_mode, EnforcementMode::advisory);
}

TEST_P(BudgetRuleConformance, ResetsAndReleasesAreEvents) {
    FF_NEEDS_CLOCK();
    ok(with(budget({{"x", {10, 0}}}), [](CreateBudget& op) { op.reset_interval_ms = 1'000; }));
    const ExecutionId id = create();
    ok(RecordSpend{budget_id(), id, {{"x", 3}}, ""});
    ok(ReleaseBudget{budget_id(), id});
    ok(ReleaseBudget{budget_id(), id});
    EXPECT_EQ(budget_events(), (Texts{"budget_released"})) << "once";
    EXPECT_EQ(told_of_, id);
    ok(ResetBudget{budget_id()});
    EXPECT_EQ(budget_events(), (Texts{"budget_released", "budget_reset"}));
    after(1'000);
    EXPECT_EQ(budget_events(), (Texts{"budget_released", "budget_reset", "budget_reset"}));
    after(5'000);
    EXPECT_EQ(budget_events().size(), 4U) << "periods that nobody saw are one reset";
}

TEST_P(BudgetRuleConformance, AnApprovalIsAnEventOnce) {
    ok(with(budget({{"x", {10, 5}}}), [](CreateBudget& op) { op.on_soft_limit = "approve"; }));
    report({{"x", 6}});
    ok(ApproveBudget{budget_id(), "mia"});
    ok(ApproveBudget{budget_id(), "mia"});
    EXPECT_EQ(budget_events(), (Texts{"budget_soft_breach x 6/5", "budget_approved x 6/5"}));
}

TEST_P(BudgetRuleConformance, SomebodyWhoWaitsHearsOfABreachAtOnce) {
    ok(budget({{"x", {10, 0}}}));
    ReadEvents op;
    op.family = EventFamily::budgets;
    op.cursor = EventCursor::earliest();
    op.block_ms = 30'000;
    std::promise<expected<EventPage>> heard;
    auto future = heard.get_future();
    engine().async(op, [&heard](expected<EventPage> page) { heard.set_value(std::move(page)); });
    settle();
    EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    report({{"x", 11}});
    ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    const auto page = future.get();
    ASSERT_TRUE(page) << code_of(page);
    ASSERT_EQ(page->events.size(), 1U);
    EXPECT_EQ(page->events[0].type, "budget_hard_breach");
}

}  // namespace ff::engine::test
