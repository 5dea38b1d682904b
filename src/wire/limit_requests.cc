// The requests of budgets and quotas: what their members are called.
#include "wire/limit_requests.h"

#include <limits>

#include "wire/request_visitor.h"
#include "wire/requests.h"

namespace ff::wire {

void describe_request(RequestVisitor& v, CreateBudget& op) {
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

void describe_request(RequestVisitor& v, ListBudgets& op) {
    v.query_optional("scope_type", op.scope_type);
    v.query_optional("scope_id", op.scope_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, GetBudgetStatus& op) { v.budget_id(op.budget_id); }
void describe_request(RequestVisitor& v, ResetBudget& op) { v.budget_id(op.budget_id); }

void describe_request(RequestVisitor& v, UpdateBudgetLimits& op) {
    v.budget_id(op.budget_id);
    v.required("limits", op.limits);
}

void describe_request(RequestVisitor& v, ReportUsageAdmin& op) {
    v.budget_id(op.budget_id);
    v.required("dimensions", op.dimensions);
    v.sparse("dedup_key", op.dedup_key);
    v.ignored("now");
}

void describe_request(RequestVisitor& v, ReportUsage& op) {
    v.lease(op.lease);
    v.required_id("budget_id", op.budget_id);
    v.defaulted("dimensions", op.dimensions);
    v.sparse("input_tokens", op.input_tokens);
    v.sparse("output_tokens", op.output_tokens);
    v.sparse("wall_ms", op.wall_ms);
    v.sparse("dedup_key", op.dedup_key);
    v.sparse("settle", op.settle);
}

void describe_request(RequestVisitor& v, ApproveBudget& op) {
    v.budget_id(op.budget_id);
    v.sparse("actor", op.actor);
}

void describe_request(RequestVisitor& v, RecordSpend& op) {
    v.budget_id(op.budget_id);
    v.required("execution_id", op.execution_id);
    v.required("deltas", op.deltas);
    v.sparse("idempotency_key", op.idempotency_key);
}

void describe_request(RequestVisitor& v, ListSpend& op) {
    v.budget_id(op.budget_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ReleaseBudget& op) {
    v.budget_id(op.budget_id);
    v.required("execution_id", op.execution_id);
}

void describe_request(RequestVisitor& v, AttachBudget& op) {
    v.budget_id(op.budget_id);
    v.required("target_type", op.target_type);
    v.required("target_id", op.target_id);
}

// Not everything that sends a DELETE can give it a body.
void describe_request(RequestVisitor& v, DetachBudget& op) {
    v.budget_id(op.budget_id);
    v.body_or_query("target_type", op.target_type);
    v.body_or_query("target_id", op.target_id);
}

void describe_request(RequestVisitor& v, AttachQuota& op) {
    v.quota_id(op.quota_policy_id);
    v.required("target_type", op.target_type);
    v.required("target_id", op.target_id);
}

void describe_request(RequestVisitor& v, DetachQuota& op) {
    v.quota_id(op.quota_policy_id);
    v.body_or_query("target_type", op.target_type);
    v.body_or_query("target_id", op.target_id);
}

namespace {

void describe_limits(RequestVisitor& v, QuotaLimits& limits) {
    v.required("window_seconds", limits.window_seconds);
    v.required("max_requests_per_window", limits.max_requests_per_window);
    v.required("max_concurrent", limits.max_concurrent);
    v.sparse("jitter_ms", limits.jitter_ms);
    v.sparse("per_key", limits.per_key);
}

}  // namespace

void describe_request(RequestVisitor& v, CreateQuotaPolicy& op) {
    v.required_id("quota_policy_id", op.quota_policy_id);
    describe_limits(v, op.limits);
    v.ignored("now");
}

void describe_request(RequestVisitor& v, UpdateQuotaPolicy& op) {
    v.quota_id(op.quota_policy_id);
    describe_limits(v, op.limits);
}

void describe_request(RequestVisitor& v, ListQuotaPolicies& op) {
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ListQuotaKeys& op) {
    v.quota_id(op.quota_policy_id);
    v.query_optional("cursor", op.cursor);
    v.query_limit(op.limit, 100, page_items_max);
}

void describe_request(RequestVisitor& v, ReadQuotaPolicy& op) { v.quota_id(op.quota_policy_id); }
void describe_request(RequestVisitor& v, DeleteQuotaPolicy& op) { v.quota_id(op.quota_policy_id); }

void describe_request(RequestVisitor& v, CheckAdmission& op) {
    v.quota_id(op.quota_policy_id);
    v.required("execution_id", op.execution_id);
    v.given_limits(op.given);
}

void describe_request(RequestVisitor& v, ReleaseAdmission& op) {
    v.quota_id(op.quota_policy_id);
    v.required("execution_id", op.execution_id);
}

}  // namespace ff::wire
