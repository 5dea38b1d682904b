// What the suites of budgets and quotas share.
#pragma once

#include "engine/conformance.h"

namespace ff::engine::test {

class LimitConformance : public Conformance {
  protected:
    static Uuid uuid(std::uint8_t n) { return Uuid{{n, 1, 2, 3}}; }
    static BudgetId budget_id(std::uint8_t n = 1) { return {uuid(n)}; }
    static QuotaPolicyId quota_id(std::uint8_t n = 1) { return {uuid(n)}; }

    static CreateBudget budget(BudgetLimits limits, BudgetId id = budget_id()) {
        CreateBudget op;
        op.budget_id = id;
        op.scope_type = "tenant";
        op.scope_id = "acme";
        for (const auto& [dimension, limit] : limits) {
            op.dimensions.push_back(dimension);
            op.hard_limits.push_back(limit.hard);
            op.soft_limits.push_back(limit.soft);
        }
        return op;
    }
    UsageResult report(Amounts amounts, std::string key = "", BudgetId id = budget_id()) {
        return ok(ReportUsageAdmin{id, std::move(amounts), std::move(key)});
    }
    Amounts usage(BudgetId id = budget_id()) { return ok(GetBudgetStatus{id}).usage; }
    static CreateQuotaPolicy quota(std::uint64_t rate, std::uint64_t cap,
                                   std::uint64_t window_s = 60, QuotaPolicyId id = quota_id()) {
        return {id, {window_s, rate, cap, 0}};
    }
    QuotaPolicyInfo quota_state(QuotaPolicyId id = quota_id()) {
        return ok(ReadQuotaPolicy{id}).value_or(QuotaPolicyInfo{});
    }
    static CreateExecution job_with_budget(BudgetId id = budget_id()) {
        return job_with_policy(R"({"budget_ids":[")" + id.to_string() + R"("]})");
    }
    static CreateExecution job_with_quota(QuotaPolicyId id = quota_id()) {
        return job_with_policy(R"({"quota_policy_id":")" + id.to_string() + R"("})");
    }
    std::string eligibility(const ExecutionId& id) {
        return std::string(to_string(snapshot(id).info.state.eligibility));
    }
    std::string why(const ExecutionId& id) { return ok(ExplainExecution{id}).summary; }
    std::string detail(const ExecutionId& id) { return snapshot(id).info.blocking_detail; }
};

}  // namespace ff::engine::test
