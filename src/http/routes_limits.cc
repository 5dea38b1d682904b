// Budgets and quotas.
#include "http/operation_route.h"
#include "http/routes.h"

namespace ff::http {

namespace {

/// A DELETE that names its target in a body or in the query.
template <class Op>
void add_detach(Router& router, Service& service) {
    Route route = route_of<Op>();
    route.body = Body::json;
    // What the query lacks may stand in the body that could not be read.
    route.early_fault = nullptr;
    route.handler = handler_of(route_operation<Op>, service);
    router.add(std::move(route));
}

}  // namespace

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
    add_detach<DetachBudget>(router, service);
    add_operation<CreateQuotaPolicy>(router, service);
    add_operation<ListQuotaPolicies>(router, service);
    add_operation<ListQuotaKeys>(router, service);
    add_operation<ReadQuotaPolicy>(router, service);
    add_operation<UpdateQuotaPolicy>(router, service);
    add_operation<DeleteQuotaPolicy>(router, service);
    add_operation<CheckAdmission>(router, service);
    add_operation<ReleaseAdmission>(router, service);
    add_operation<AttachQuota>(router, service);
    add_detach<DetachQuota>(router, service);
}

}  // namespace ff::http
