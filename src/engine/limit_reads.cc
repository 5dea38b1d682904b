// Reading budgets and quotas.
#include <algorithm>

#include "core/budget_rules.h"
#include "engine/reads.h"

namespace ff::engine {

namespace {

constexpr std::uint32_t limits_per_page_max = 1'000;
/// Of a filtered list, so many rows are looked at for one page.
constexpr std::size_t budgets_looked_at = 10'000;

expected<void> check_page(std::uint32_t limit) {
    if (limit < 1 || limit > limits_per_page_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "limit must be in 1..=1000 (got " + std::to_string(limit) + ")");
    }
    return {};
}

BudgetStatus status_of(const core::Budget& row) {
    BudgetStatus out;
    out.budget_id = row.id;
    out.scope_type = row.scope_type;
    out.scope_id = row.scope_id;
    out.enforcement_mode = row.mode;
    out.usage = row.usage;
    out.reserved = row.reserved;
    out.on_soft_limit = row.on_soft_limit;
    out.approved = row.approved_period == row.reset_count;
    for (const auto& [dimension, limit] : row.limits) {
        out.hard_limits[dimension] = limit.hard;
        out.soft_limits[dimension] = limit.soft;
    }
    out.breach_count = row.breach_count;
    out.soft_breach_count = row.soft_breach_count;
    out.last_breach_at = row.last_breach_at;
    out.last_breach_dim = row.last_breach_dim;
    out.next_reset_at = row.next_reset_at;
    out.created_at = row.created_at;
    return out;
}

bool is_defined(const core::QuotaPolicy& row) {
    return !row.deleted && !row.unnamed && !row.parent;
}

/// Starts that have aged count no more, though their rows stay until somebody looks at the policy.
expected<std::uint64_t> starts_that_count(store::Reader& reader, const core::QuotaPolicy& row,
                                          TimestampMs now) {
    FF_TRY(const std::uint64_t aged, reader.starts(row.id, now - row.window_ms));
    return row.in_window - std::min(aged, row.in_window);
}

expected<QuotaPolicyInfo> info_of(store::Reader& reader, const core::QuotaPolicy& row,
                                  TimestampMs now) {
    FF_TRY(const std::uint64_t starts, starts_that_count(reader, row, now));
    return QuotaPolicyInfo{row.id,      row.limits,     row.running,   starts,
                           row.waiting, row.created_at, row.updated_at};
}

}  // namespace

expected<BudgetStatus> answer(const GetBudgetStatus& op, const ReadContext& c) {
    std::optional<core::Budget> row;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(row, reader.budget(op.budget_id));
        return {};
    }));
    if (!row) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    return status_of(*row);
}

expected<BudgetPage> answer(const ListBudgets& op, const ReadContext& c) {
    FF_TRY_VOID(check_page(op.limit));
    BudgetPage out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        std::optional<BudgetId> after = op.cursor;
        for (std::size_t looked_at = 0; looked_at < budgets_looked_at;) {
            FF_TRY(const auto rows, reader.budgets(after, op.limit));
            for (const core::Budget& row : rows) {
                after = row.id;
                if ((!op.scope_type || row.scope_type == *op.scope_type) &&
                    (!op.scope_id || row.scope_id == *op.scope_id)) {
                    out.budgets.push_back(status_of(row));
                    if (out.budgets.size() == op.limit) {
                        out.next_cursor = after;
                        return {};
                    }
                }
            }
            if (rows.size() < op.limit) {
                return {};
            }
            looked_at += rows.size();
        }
        out.next_cursor = after;
        return {};
    }));
    return out;
}

expected<SpendPage> answer(const ListSpend& op, const ReadContext& c) {
    FF_TRY_VOID(check_page(op.limit));
    SpendPage out;
    bool found = false;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto budget, reader.budget(op.budget_id));
        if (!budget) {
            return {};
        }
        found = true;
        out.reset_epoch = budget->reset_count;
        FF_TRY(const auto rows, reader.ledgers(op.budget_id, op.cursor, op.limit));
        for (const core::LedgerRow& row : rows) {
            out.entries.push_back({row.key.execution, row.reset_epoch, row.spent, row.updated_at});
        }
        if (rows.size() == op.limit) {
            out.next_cursor = rows.back().key.execution;
        }
        return {};
    }));
    if (!found) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    return out;
}

expected<std::optional<QuotaPolicyInfo>> answer(const ReadQuotaPolicy& op, const ReadContext& c) {
    std::optional<QuotaPolicyInfo> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto row, reader.policy(op.quota_policy_id));
        if (row && is_defined(*row)) {
            FF_TRY(out, info_of(reader, *row, c.now));
        }
        return {};
    }));
    return out;
}

expected<QuotaKeyPage> answer(const ListQuotaKeys& op, const ReadContext& c) {
    FF_TRY_VOID(check_page(op.limit));
    QuotaKeyPage out;
    bool found = false;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto policy, reader.policy(op.quota_policy_id));
        found = policy && is_defined(*policy);
        if (!found) {
            return {};
        }
        FF_TRY(const auto rows,
               reader.policies_of_keys(op.quota_policy_id, op.cursor.value_or(""), op.limit));
        for (const core::QuotaPolicy& row : rows) {
            FF_TRY(const std::uint64_t starts, starts_that_count(reader, row, c.now));
            out.keys.push_back({row.limit_key.value_or(""), row.running, starts, row.waiting});
        }
        if (rows.size() == op.limit) {
            out.next_cursor = out.keys.back().limit_key;
        }
        return {};
    }));
    if (!found) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    return out;
}

expected<QuotaPage> answer(const ListQuotaPolicies& op, const ReadContext& c) {
    FF_TRY_VOID(check_page(op.limit));
    QuotaPage out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto rows, reader.policies_listed(op.cursor, op.limit));
        for (const core::QuotaPolicy& row : rows) {
            if (is_defined(row)) {
                FF_TRY(out.policies.emplace_back(), info_of(reader, row, c.now));
            }
        }
        if (rows.size() == op.limit) {
            out.next_cursor = rows.back().id;
        }
        return {};
    }));
    return out;
}

}  // namespace ff::engine
