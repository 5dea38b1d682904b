// Budgets and quotas.
#include <ff/client.h>

namespace ff {

expected<CreateBudgetResult> Client::try_create_budget(const CreateBudget& op) {
    return engine_->run(op);
}

expected<BudgetStatus> Client::try_budget(const BudgetId& id) {
    return engine_->run(GetBudgetStatus{id});
}

expected<UsageResult> Client::try_report_usage(const BudgetId& id, const Amounts& amounts,
                                               const std::string& dedup_key) {
    return engine_->run(ReportUsageAdmin{id, amounts, dedup_key});
}

expected<ResetBudgetResult> Client::try_reset_budget(const BudgetId& id) {
    return engine_->run(ResetBudget{id});
}

expected<ApproveBudgetResult> Client::try_approve_budget(const BudgetId& id,
                                                         const std::string& actor) {
    return engine_->run(ApproveBudget{id, actor});
}

expected<CreateQuotaResult> Client::try_create_quota(const CreateQuotaPolicy& op) {
    return engine_->run(op);
}

}  // namespace ff
