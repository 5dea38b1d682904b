// The tables of budgets and quotas; part of tables.h.
#pragma once

#include <cstddef>

#include "core/limit_records.h"
#include "store/columns.h"

namespace ff::store {

template <>
struct Table<core::Budget> {
    static constexpr const char* name = "ff_budget";
    static constexpr std::size_t key_columns = 1;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 1;
    FF_COLUMNS(core::Budget) {
        FF_COLUMN("budget_id", bytes, id);
        FF_COLUMN("scope_type", text, scope_type);
        FF_COLUMN("scope_id", text, scope_id);
        FF_COLUMN("enforcement_mode", integer, mode);
        FF_COLUMN("on_hard_limit", integer, on_hard_limit);
        FF_COLUMN("on_soft_limit", integer, on_soft_limit);
        FF_COLUMN("reset_interval_ms", integer, reset_interval_ms);
        FF_COLUMN("next_reset_at", integer, next_reset_at);
        FF_COLUMN("last_reset_at", integer, last_reset_at);
        FF_COLUMN("reset_count", integer, reset_count);
        FF_COLUMN("breach_count", integer, breach_count);
        FF_COLUMN("soft_breach_count", integer, soft_breach_count);
        FF_COLUMN("last_breach_at", integer, last_breach_at);
        FF_COLUMN("last_breach_dim", text, last_breach_dim);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("updated_at", integer, updated_at);
        FF_COLUMN("limits", text, limits);
        FF_COLUMN("usage", text, usage);
        FF_COLUMN("waiting", integer, waiting);
        FF_COLUMN("wake_at", integer, wake_at);
        FF_COLUMN("cancel_dim", text, cancel_dim);
        FF_COLUMN("cancel_from", bytes, cancel_from);
        FF_COLUMN("timer_at", integer, timer_at);
        FF_COLUMN("reserved", text, reserved);
        FF_COLUMN("approved_period", integer, approved_period);
    }
};

template <>
struct Table<core::LedgerRow> {
    static constexpr const char* name = "ff_budget_ledger";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::LedgerRow) {
        FF_COLUMN("budget_id", bytes, key.budget);
        FF_COLUMN("execution_id", bytes, key.execution);
        FF_COLUMN("reset_epoch", integer, reset_epoch);
        FF_COLUMN("spent", text, spent);
        FF_COLUMN("updated_at", integer, updated_at);
        FF_COLUMN("reserved", text, reserved);
    }
};

template <>
struct Table<core::UsageDedup> {
    static constexpr const char* name = "ff_usage_dedup";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::UsageDedup) {
        FF_COLUMN("budget_id", bytes, key.budget);
        FF_COLUMN("dedup_key", text, key.key);
        FF_COLUMN("applied_at", integer, applied_at);
        FF_COLUMN("expires_at", integer, expires_at);
    }
};

template <>
struct Table<core::QuotaPolicy> {
    static constexpr const char* name = "ff_quota_policy";
    static constexpr std::size_t key_columns = 1;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 1;
    FF_COLUMNS(core::QuotaPolicy) {
        FF_COLUMN("quota_policy_id", bytes, id);
        FF_COLUMN("requests_per_window_seconds", integer, limits.window_seconds);
        FF_COLUMN("max_requests_per_window", integer, limits.max_requests_per_window);
        FF_COLUMN("active_concurrency_cap", integer, limits.max_concurrent);
        FF_COLUMN("jitter_ms", integer, limits.jitter_ms);
        FF_COLUMN("window_ms", integer, window_ms);
        FF_COLUMN("created_at", integer, created_at);
        FF_COLUMN("updated_at", integer, updated_at);
        FF_COLUMN("running", integer, running);
        FF_COLUMN("in_window", integer, in_window);
        FF_COLUMN("offered", integer, offered);
        FF_COLUMN("waiting", integer, waiting);
        FF_COLUMN("wake_at", integer, wake_at);
        FF_COLUMN("unnamed", integer, unnamed);
        FF_COLUMN("deleted", integer, deleted);
        FF_COLUMN("per_key", integer, limits.per_key);
        FF_COLUMN("parent", bytes, parent);
        FF_COLUMN("limit_key", text, limit_key);
        FF_COLUMN("keys_task", integer, keys_task);
        FF_COLUMN("keys_from", text, keys_from);
    }
};

template <>
struct Table<core::Admission> {
    static constexpr const char* name = "ff_quota_admission";
    static constexpr std::size_t key_columns = 2;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 2;
    FF_COLUMNS(core::Admission) {
        FF_COLUMN("execution_id", bytes, key.execution);
        FF_COLUMN("quota_policy_id", bytes, key.policy);
        FF_COLUMN("admitted_at", integer, admitted_at);
        FF_COLUMN("slot_at", integer, slot_at);
    }
};

template <>
struct Table<core::Attachment> {
    static constexpr const char* name = "ff_limit_attachment";
    static constexpr std::size_t key_columns = 4;
    static constexpr int since = 7;
    static constexpr std::size_t named_columns = 4;
    FF_COLUMNS(core::Attachment) {
        FF_COLUMN("limit_kind", integer, key.kind);
        FF_COLUMN("limit_id", bytes, key.limit);
        FF_COLUMN("target_type", integer, key.target.type);
        FF_COLUMN("target_id", text, key.target.id);
        FF_COLUMN("by_place", integer, by_place);
        FF_COLUMN("by_key", integer, by_key);
    }
};

}  // namespace ff::store
