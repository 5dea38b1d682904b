// The requests of budgets and quotas, described once like those of requests.h.
#pragma once

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

FF_BIND(CreateBudget, post, "/v1/budgets", control, "Define a budget")
FF_BIND(ListBudgets, get, "/v1/budgets", control, "Budgets by id, of one scope or all")
FF_BIND(GetBudgetStatus, get, "/v1/budgets/{id}", control, "Limits and usage of a budget")
FF_BIND(UpdateBudgetLimits, put, "/v1/budgets/{id}/limits", control, "Replace limits")
FF_BIND(ReportUsageAdmin, post, "/v1/budgets/{id}/usage", control, "Report what was consumed")
FF_BIND(ReportUsage, post, "/v1/executions/{id}/attempts/{idx}/usage", control,
        "Report what an attempt has consumed")
FF_BIND(RecordSpend, post, "/v1/budgets/{id}/spend", control,
        "Report what an execution has consumed, and write it down")
FF_BIND(ListSpend, get, "/v1/budgets/{id}/spend", control, "What was written down, by execution")
FF_BIND(ReleaseBudget, post, "/v1/budgets/{id}/release", control,
        "Take back what an execution has spent")
FF_BIND(ResetBudget, post, "/v1/budgets/{id}/reset", control, "Begin a new period")
FF_BIND(ApproveBudget, post, "/v1/budgets/{id}/approve", control,
        "Let it go past its soft limits until the next reset")
FF_BIND(AttachBudget, post, "/v1/budgets/{id}/attachments", control,
        "Apply a budget to an execution, a flow, a lane or a namespace")
FF_BIND(DetachBudget, delete_, "/v1/budgets/{id}/attachments", control, "Apply it no more")
FF_BIND(CreateQuotaPolicy, post, "/v1/quotas", control, "Define a quota policy")
FF_BIND(ListQuotaPolicies, get, "/v1/quotas", control, "Quota policies by id")
FF_BIND(ListQuotaKeys, get, "/v1/quotas/{id}/keys", control,
        "What a policy that counts by key gave to each")
FF_BIND(ReadQuotaPolicy, get, "/v1/quotas/{id}", control, "Limits of a policy and what it gave")
FF_BIND(UpdateQuotaPolicy, put, "/v1/quotas/{id}", control, "Replace its limits")
FF_BIND(DeleteQuotaPolicy, delete_, "/v1/quotas/{id}", control, "Delete a policy")
FF_BIND(CheckAdmission, post, "/v1/quotas/{id}/check", control,
        "Ask a policy as a claim does, and take what it gives")
FF_BIND(ReleaseAdmission, post, "/v1/quotas/{id}/release", control, "Give back slot and start")
FF_BIND(AttachQuota, put, "/v1/quotas/{id}/attachments", control,
        "Apply a policy to an execution, a flow, a lane or a namespace")
FF_BIND(DetachQuota, delete_, "/v1/quotas/{id}/attachments", control, "Apply it no more")

}  // namespace ff::wire
