// Budgets and quotas.
#include "http/operation_route.h"
#include "http/routes.h"

namespace ff::http {

void add_limit_routes(Router& router, Service& service) {
    add_operation<CreateBudget>(router, service);
    add_operation<ListBudgets>(router, service);
    add_operation<GetBudgetStatus>(router, service);
    add_operation<UpdateBudgetLimits>(router, service);
    add_operation<ReportUsageAdmin>(router, service);
    add_operation<ReportUsage>(router, service);
    add_operation<RecordSpend>(router, service);
    add_operation<ListSpend>(router, service);
    add_operation<ReleaseBudget>(router, service);
    add_operation<ResetBudget>(router, service);
    add_operation<ApproveBudget>(router, service);
    add_operation<AttachBudget>(router, service);
    add_operation<DetachBudget>(router, service);
    add_operation<CreateQuotaPolicy>(router, service);
    add_operation<ListQuotaPolicies>(router, service);
    add_operation<ListQuotaKeys>(router, service);
    add_operation<ReadQuotaPolicy>(router, service);
    add_operation<UpdateQuotaPolicy>(router, service);
    add_operation<DeleteQuotaPolicy>(router, service);
    add_operation<CheckAdmission>(router, service);
    add_operation<ReleaseAdmission>(router, service);
    add_operation<AttachQuota>(router, service);
    add_operation<DetachQuota>(router, service);
}

}  // namespace ff::http
