// What a budget does with reports, releases and resets.
#include <gtest/gtest.h>

#include <random>

#include "core/budget_rules.h"

namespace ff::core {
namespace {

CreateBudget definition(BudgetLimits limits) {
    CreateBudget args;
    args.budget_id = BudgetId{Uuid{{1}}};
    for (const auto& [dimension, limit] : limits) {
        args.dimensions.push_back(dimension);
        args.hard_limits.push_back(limit.hard);
        args.soft_limits.push_back(limit.soft);
    }
    return args;
}

Budget budget_with(BudgetLimits limits) { return new_budget(definition(std::move(limits)), 1'000); }

TEST(BudgetRules, ReachingTheLimitExactlyIsAllowedAndBlocks) {
    Budget budget = budget_with({{"tokens", {100, 0}}});
    EXPECT_EQ(add_usage(budget, {{"tokens", 100}}, 2'000), UsageResult{});
    EXPECT_EQ(blocking(budget), (Breach{"tokens", 100, 100}));
    EXPECT_EQ(refusal_text(budget, *blocking(budget)),
              "budget 01000000-0000-0000-0000-000000000000: tokens 100/100");
}

TEST(BudgetRules, ARefusedReportChangesNoUsageOnAnyDimension) {
    Budget budget = budget_with({{"cents", {50, 0}}, {"tokens", {100, 0}}});
    add_usage(budget, {{"tokens", 85}}, 2'000);
    const UsageResult result = add_usage(budget, {{"cents", 1}, {"tokens", 16}}, 3'000);
    EXPECT_EQ(result, (UsageResult{UsageOutcome::hard_breach, "tokens", 85, 100, {}}));
    EXPECT_EQ(budget.usage, (Amounts{{"tokens", 85}}));
    EXPECT_EQ(budget.breach_count, 1U);
    EXPECT_EQ(budget.last_breach_at, 3'000);
    EXPECT_EQ(budget.last_breach_dim, "tokens");
    EXPECT_FALSE(blocking(budget)) << "a large report was refused, and smaller ones still fit";
}

TEST(BudgetRules, TheFirstDimensionInTheOrderOfBytesIsNamed) {
    Budget budget = budget_with({{"b", {1, 0}}, {"a", {1, 0}}});
    EXPECT_EQ(add_usage(budget, {{"b", 2}, {"a", 2}}, 2'000).dimension, "a");
}

TEST(BudgetRules, ASoftLimitIsToldOnceAReportAndTheUsageStands) {
    Budget budget = budget_with({{"a", {0, 5}}, {"b", {0, 5}}});
    const UsageResult result = add_usage(budget, {{"a", 6}, {"b", 7}}, 2'000);
    EXPECT_EQ(result, (UsageResult{UsageOutcome::soft_breach, "a", 6, 5, {}}));
    EXPECT_EQ(budget.usage, (Amounts{{"a", 6}, {"b", 7}}));
    EXPECT_EQ(budget.soft_breach_count, 1U);
    EXPECT_EQ(add_usage(budget, {{"a", 0}}, 2'000).outcome, UsageOutcome::soft_breach)
        << "nothing is still checked";
}

TEST(BudgetRules, AnAdvisoryBudgetRefusesNothing) {
    CreateBudget args = definition({{"tokens", {100, 80}}});
    args.enforcement_mode = "soft";
    Budget budget = new_budget(args, 1'000);
    EXPECT_EQ(add_usage(budget, {{"tokens", 150}}, 2'000),
              (UsageResult{UsageOutcome::soft_breach, "tokens", 150, 100, {}}));
    EXPECT_FALSE(blocking(budget));
    EXPECT_EQ(budget.breach_count, 0U);
    EXPECT_EQ(budget.soft_breach_count, 1U);
}

TEST(BudgetRules, SumsStopAtTheHighestAmount) {
    Budget budget = budget_with({});
    add_usage(budget, {{"x", amount_max}}, 2'000);
    add_usage(budget, {{"x", amount_max}}, 2'000);
    EXPECT_EQ(budget.usage.at("x"), amount_max);
    Budget limited = budget_with({{"x", {amount_max, 0}}});
    add_usage(limited, {{"x", amount_max - 1}}, 2'000);
    EXPECT_EQ(add_usage(limited, {{"x", 5}}, 2'000).outcome, UsageOutcome::ok);
    EXPECT_EQ(limited.usage.at("x"), amount_max);
}

TEST(BudgetRules, ReleaseTakesBackOnlyWhatThePresentPeriodSpent) {
    Budget budget = budget_with({});
    add_usage(budget, {{"x", 10}}, 2'000);
    LedgerRow ledger{{budget.id, {}}, 0, {{"x", 4}}, {}, 2'000};
    release_spend(budget, ledger, 3'000);
    EXPECT_EQ(budget.usage.at("x"), 6U);
    ledger.spent["x"] = 100;
    release_spend(budget, ledger, 3'000);
    EXPECT_EQ(budget.usage.at("x"), 0U) << "and not below nothing";
    reset(budget, ResetBy::hand, 4'000);
    add_usage(budget, {{"x", 3}}, 4'000);
    release_spend(budget, ledger, 5'000);
    EXPECT_EQ(budget.usage.at("x"), 3U) << "of an earlier period";
}

TEST(BudgetRules, AResetByScheduleDoesNotDrift) {
    CreateBudget args = definition({{"x", {5, 0}}});
    args.reset_interval_ms = 100;
    Budget budget = new_budget(args, 1'000);
    EXPECT_EQ(budget.next_reset_at, 1'100);
    reset(budget, ResetBy::schedule, 1'107);
    EXPECT_EQ(budget.next_reset_at, 1'200);
    reset(budget, ResetBy::schedule, 1'555);
    EXPECT_EQ(budget.next_reset_at, 1'600);
    reset(budget, ResetBy::schedule, 1'600);
    EXPECT_EQ(budget.next_reset_at, 1'700) << "it lies after now";
    reset(budget, ResetBy::hand, 1'650);
    EXPECT_EQ(budget.next_reset_at, 1'750) << "an interval from now";
    EXPECT_EQ(budget.reset_count, 4U);
}

TEST(BudgetRules, AResetKeepsTheTotalsOfALifetime) {
    Budget budget = budget_with({{"x", {5, 2}}});
    add_usage(budget, {{"x", 3}}, 2'000);
    add_usage(budget, {{"x", 3}}, 2'000);
    reset(budget, ResetBy::hand, 3'000);
    EXPECT_EQ(budget.usage, (Amounts{{"x", 0}}));
    EXPECT_EQ(budget.breach_count, 1U);
    EXPECT_EQ(budget.soft_breach_count, 1U);
    EXPECT_FALSE(budget.last_breach_at);
    EXPECT_FALSE(budget.last_breach_dim);
    EXPECT_FALSE(budget.next_reset_at);
}

TEST(BudgetRules, WordsOfADefinition) {
    CreateBudget args = definition({});
    args.enforcement_mode = "whatever";
    args.on_hard_limit = "block";
    args.on_soft_limit = "";
    EXPECT_EQ(new_budget(args, 0).mode, EnforcementMode::strict);
    EXPECT_EQ(new_budget(args, 0).on_hard_limit, OnHardLimit::reject);
    EXPECT_EQ(new_budget(args, 0).on_soft_limit, OnSoftLimit::warn);
    args.on_hard_limit = "cancel";
    args.on_soft_limit = "none";
    EXPECT_EQ(new_budget(args, 0).on_hard_limit, OnHardLimit::cancel);
    EXPECT_EQ(new_budget(args, 0).on_soft_limit, OnSoftLimit::none);
}

TEST(BudgetRules, ShapeOfADefinition) {
    CreateBudget args = definition({{"a", {1, 2}}});
    EXPECT_TRUE(check_budget(args)) << "a soft limit above the hard one is legal";
    args.hard_limits.push_back(1);
    EXPECT_EQ(check_budget(args).error().detail,
              "create_budget: dimensions / hard_limits / soft_limits length mismatch");
    args = definition({{std::string(129, 'x'), {1, 1}}});
    EXPECT_EQ(check_budget(args).error().code, ErrorCode::invalid_input);
    args = definition({{"", {1, 1}}});
    EXPECT_EQ(check_budget(args).error().code, ErrorCode::invalid_input);
    args = definition({{"a", {amount_max + 1, 1}}});
    EXPECT_EQ(check_budget(args).error().code, ErrorCode::invalid_input);
    args = definition({});
    args.dimensions = {"a", "a"};
    args.hard_limits = args.soft_limits = {1, 1};
    EXPECT_EQ(check_budget(args).error().code, ErrorCode::invalid_input);
    BudgetLimits many;
    for (int i = 0; i < 65; ++i) {
        many[std::to_string(i)] = {1, 1};
    }
    EXPECT_EQ(check_budget(definition(many)).error().code, ErrorCode::invalid_input);
}

TEST(BudgetRules, ParallelArraysAreSummed) {
    EXPECT_EQ(*amounts_of({"a", "b", "a"}, {1, 2, 3}), (Amounts{{"a", 4}, {"b", 2}}));
    EXPECT_EQ(amounts_of({"a"}, {}).error().detail,
              "report_usage_admin: dimensions and deltas length mismatch");
}

/// Whatever is reported, released and reset in whatever order, usage of a strict budget never
/// passes a hard limit and never falls below what was written down and not taken back.
TEST(BudgetRules, UsageNeverPassesAHardLimit) {
    std::mt19937_64 random(7);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 300; ++round) {
        Budget budget = budget_with({{"a", {1 + below(50), below(40)}}, {"b", {below(30), 0}}});
        std::map<int, LedgerRow> ledgers;
        for (TimestampMs now = 2'000; now < 2'100; ++now) {
            const int who = static_cast<int>(below(4));
            if (below(10) == 0) {
                reset(budget, ResetBy::hand, now);
            } else if (below(4) == 0) {
                if (const auto it = ledgers.find(who); it != ledgers.end()) {
                    release_spend(budget, it->second, now);
                    ledgers.erase(it);
                }
            } else {
                Amounts deltas{{"a", below(20)}, {"b", below(20)}, {"c", below(20)}};
                const Amounts before = budget.usage;
                const UsageResult result = add_usage(budget, deltas, now);
                if (result.outcome == UsageOutcome::hard_breach) {
                    ASSERT_EQ(budget.usage, before);
                    continue;
                }
                LedgerRow& row = ledgers[who];
                if (row.reset_epoch != budget.reset_count) {
                    row = {};
                    row.reset_epoch = budget.reset_count;
                }
                for (const auto& [dimension, delta] : deltas) {
                    row.spent[dimension] += delta;
                }
            }
            Amounts spent;
            for (const auto& [id, row] : ledgers) {
                for (const auto& [dimension, amount] : row.spent) {
                    spent[dimension] += row.reset_epoch == budget.reset_count ? amount : 0;
                }
            }
            for (const auto& [dimension, amount] : spent) {
                ASSERT_EQ(budget.usage[dimension], amount);
            }
            for (const auto& [dimension, limit] : budget.limits) {
                ASSERT_TRUE(limit.hard == 0 || budget.usage[dimension] <= limit.hard);
            }
        }
    }
}

}  // namespace
}  // namespace ff::core
