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

template <class V>
void describe_request(V& v, CreateBudget& op) {
    v.required_id("budget_id", op.budget_id);
    v.required("scope_type", op.scope_type);
    v.required("scope_id", op.scope_id);
    v.required("enforcement_mode", op.enforcement_mode);
    v.required("on_hard_limit", op.on_hard_limit);
    v.required("on_soft_limit", op.on_soft_limit);
    v.required_ranged("reset_interval_ms", op.reset_interval_ms, std::int64_t{0},
                      std::numeric_limits<std::int64_t>::max());
    v.required("dimensions", op.dimensions);
    v.required("hard_limits", op.hard_limits);
    v.required("soft_limits", op.soft_limits);
    v.ignored("now");
}

template <class V>
void describe_request(V& v, ListBudgets& op) {
    v.query_optional("scope_type", op.scope_type);
    v.query_optional("scope_id", op.scope_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V, class Op>
    requires(std::is_same_v<Op, GetBudgetStatus> || std::is_same_v<Op, ResetBudget>)
void describe_request(V& v, Op& op) {
    v.budget_id(op.budget_id);
}

template <class V>
void describe_request(V& v, UpdateBudgetLimits& op) {
    v.budget_id(op.budget_id);
    v.required("limits", op.limits);
}

template <class V>
void describe_request(V& v, ReportUsageAdmin& op) {
    v.budget_id(op.budget_id);
    v.required("dimensions", op.dimensions);
    v.sparse("dedup_key", op.dedup_key);
    v.ignored("now");
}

template <class V>
void describe_request(V& v, ReportUsage& op) {
    v.lease(op.lease);
    v.required_id("budget_id", op.budget_id);
    v.defaulted("dimensions", op.dimensions);
    v.sparse("input_tokens", op.input_tokens);
    v.sparse("output_tokens", op.output_tokens);
    v.sparse("wall_ms", op.wall_ms);
    v.sparse("dedup_key", op.dedup_key);
    v.sparse("settle", op.settle);
}

template <class V>
void describe_request(V& v, ApproveBudget& op) {
    v.budget_id(op.budget_id);
    v.sparse("actor", op.actor);
}

template <class V>
void describe_request(V& v, RecordSpend& op) {
    v.budget_id(op.budget_id);
    v.required("execution_id", op.execution_id);
    v.required("deltas", op.deltas);
    v.sparse("idempotency_key", op.idempotency_key);
}

template <class V>
void describe_request(V& v, ListSpend& op) {
    v.budget_id(op.budget_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V>
void describe_request(V& v, ReleaseBudget& op) {
    v.budget_id(op.budget_id);
    v.required("execution_id", op.execution_id);
}

template <class V>
void describe_request(V& v, AttachBudget& op) {
    v.budget_id(op.budget_id);
    v.required("target_type", op.target_type);
    v.required("target_id", op.target_id);
}

// Not everything that sends a DELETE can give it a body.
template <class V>
void describe_request(V& v, DetachBudget& op) {
    v.budget_id(op.budget_id);
    v.body_or_query("target_type", op.target_type);
    v.body_or_query("target_id", op.target_id);
}

template <class V>
void describe_request(V& v, AttachQuota& op) {
    v.quota_id(op.quota_policy_id);
    v.required("target_type", op.target_type);
    v.required("target_id", op.target_id);
}

template <class V>
void describe_request(V& v, DetachQuota& op) {
    v.quota_id(op.quota_policy_id);
    v.body_or_query("target_type", op.target_type);
    v.body_or_query("target_id", op.target_id);
}

template <class V>
void describe_limits(V& v, QuotaLimits& limits) {
    v.required("window_seconds", limits.window_seconds);
    v.required("max_requests_per_window", limits.max_requests_per_window);
    v.required("max_concurrent", limits.max_concurrent);
    v.sparse("jitter_ms", limits.jitter_ms);
    v.sparse("per_key", limits.per_key);
}

template <class V>
void describe_request(V& v, CreateQuotaPolicy& op) {
    v.required_id("quota_policy_id", op.quota_policy_id);
    describe_limits(v, op.limits);
    v.ignored("now");
}

template <class V>
void describe_request(V& v, UpdateQuotaPolicy& op) {
    v.quota_id(op.quota_policy_id);
    describe_limits(v, op.limits);
}

template <class V>
void describe_request(V& v, ListQuotaPolicies& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V>
void describe_request(V& v, ListQuotaKeys& op) {
    v.quota_id(op.quota_policy_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100);
}

template <class V, class Op>
    requires(std::is_same_v<Op, ReadQuotaPolicy> || std::is_same_v<Op, DeleteQuotaPolicy>)
void describe_request(V& v, Op& op) {
    v.quota_id(op.quota_policy_id);
}

template <class V>
void describe_request(V& v, CheckAdmission& op) {
    v.quota_id(op.quota_policy_id);
    v.required("execution_id", op.execution_id);
    v.given_limits(op.given);
}

template <class V>
void describe_request(V& v, ReleaseAdmission& op) {
    v.quota_id(op.quota_policy_id);
    v.required("execution_id", op.execution_id);
}

}  // namespace ff::wire
