#include "core/budget_rules.h"

#include <algorithm>
#include <set>

namespace ff::core {

namespace {

/// Dimensions that a report may make beside those with limits.
constexpr std::size_t usage_dimensions_max = 1'024;
constexpr std::size_t scope_bytes_max = 256;

expected<void> check_dimension(std::string_view field, std::string_view name) {
    if (name.empty() || name.size() > dimension_bytes_max) {
        return ff::fail(ErrorCode::invalid_input, std::string(field) +
                                                      ": a dimension has 1 to 128 bytes (got " +
                                                      std::to_string(name.size()) + ")");
    }
    if (!is_valid_utf8(name) || name.find('\0') != std::string_view::npos) {
        return ff::fail(ErrorCode::invalid_input,
                        std::string(field) + ": a dimension is UTF-8 text without NUL");
    }
    return {};
}

expected<void> check_amount(std::string_view field, std::uint64_t amount) {
    if (amount > amount_max) {
        return ff::fail(ErrorCode::invalid_input, std::string(field) +
                                                      ": at most 9223372036854775807 (got " +
                                                      std::to_string(amount) + ")");
    }
    return {};
}

EnforcementMode mode_of(std::string_view word) {
    return word == "advisory" || word == "soft" ? EnforcementMode::advisory
                                                : EnforcementMode::strict;
}

OnHardLimit hard_of(std::string_view word) {
    return word == "fail"     ? OnHardLimit::fail
           : word == "cancel" ? OnHardLimit::cancel
                              : OnHardLimit::reject;
}

OnSoftLimit soft_of(std::string_view word) {
    return word == "none"      ? OnSoftLimit::none
           : word == "approve" ? OnSoftLimit::approve
                               : OnSoftLimit::warn;
}

BudgetLimits limits_of(const CreateBudget& args) {
    BudgetLimits out;
    for (std::size_t i = 0; i < args.dimensions.size(); ++i) {
        out[args.dimensions[i]] = {args.hard_limits[i], args.soft_limits[i]};
    }
    return out;
}

std::uint64_t amount_of(const Amounts& amounts, const std::string& dimension) {
    const auto it = amounts.find(dimension);
    return it == amounts.end() ? 0 : it->second;
}

std::uint64_t used(const Budget& budget, const std::string& dimension) {
    return amount_of(budget.usage, dimension);
}
/// What nobody else can have.
std::uint64_t committed(const Budget& budget, const std::string& dimension) {
    return add_amounts(used(budget, dimension), amount_of(budget.reserved, dimension));
}

}  // namespace

expected<void> check_amounts(std::string_view field, const Amounts& amounts) {
    if (amounts.size() > dimensions_max) {
        return ff::fail(ErrorCode::invalid_input, std::string(field) + ": at most 64 dimensions");
    }
    for (const auto& [name, amount] : amounts) {
        FF_TRY_VOID(check_dimension(field, name));
        FF_TRY_VOID(check_amount(field, amount));
    }
    return {};
}

expected<void> check_limits(const BudgetLimits& limits) {
    if (limits.size() > dimensions_max) {
        return ff::fail(ErrorCode::invalid_input, "limits: at most 64 dimensions");
    }
    for (const auto& [name, limit] : limits) {
        FF_TRY_VOID(check_dimension("limits", name));
        FF_TRY_VOID(check_amount("limits", limit.hard));
        FF_TRY_VOID(check_amount("limits", limit.soft));
    }
    return {};
}

expected<void> check_budget(const CreateBudget& args) {
    if (args.dimensions.size() != args.hard_limits.size() ||
        args.dimensions.size() != args.soft_limits.size()) {
        return ff::fail(ErrorCode::invalid_input,
                        "create_budget: dimensions / hard_limits / soft_limits length mismatch");
    }
    FF_TRY_VOID(check_label("scope_type", args.scope_type, 0, scope_bytes_max));
    FF_TRY_VOID(check_label("scope_id", args.scope_id, 0, scope_bytes_max));
    if (args.reset_interval_ms < 0) {
        return ff::fail(ErrorCode::invalid_input, "reset_interval_ms: must not be negative");
    }
    if (args.reset_interval_ms > reset_interval_ms_max) {
        return ff::fail(ErrorCode::invalid_input, "reset_interval_ms: at most " +
                                                      std::to_string(reset_interval_ms_max) +
                                                      ", ten years; 0 is never (got " +
                                                      std::to_string(args.reset_interval_ms) + ")");
    }
    const std::set<std::string> distinct(args.dimensions.begin(), args.dimensions.end());
    if (distinct.size() != args.dimensions.size()) {
        return ff::fail(ErrorCode::invalid_input, "dimensions: one is named twice");
    }
    return check_limits(limits_of(args));
}

Budget new_budget(const CreateBudget& args, TimestampMs now) {
    Budget budget;
    budget.id = args.budget_id;
    budget.scope_type = args.scope_type;
    budget.scope_id = args.scope_id;
    budget.mode = mode_of(args.enforcement_mode);
    budget.on_hard_limit = hard_of(args.on_hard_limit);
    budget.on_soft_limit = soft_of(args.on_soft_limit);
    budget.reset_interval_ms = args.reset_interval_ms;
    if (args.reset_interval_ms > 0) {
        budget.next_reset_at = now + args.reset_interval_ms;
    }
    budget.limits = limits_of(args);
    budget.created_at = now;
    budget.updated_at = now;
    arm(budget);
    return budget;
}

bool is_same_definition(const Budget& budget, const CreateBudget& args) {
    const Budget other = new_budget(args, budget.created_at);
    return budget.scope_type == other.scope_type && budget.scope_id == other.scope_id &&
           budget.mode == other.mode && budget.on_hard_limit == other.on_hard_limit &&
           budget.on_soft_limit == other.on_soft_limit &&
           budget.reset_interval_ms == other.reset_interval_ms && budget.limits == other.limits;
}

std::optional<Breach> unapproved(const Budget& budget) {
    if (budget.mode != EnforcementMode::strict || budget.on_soft_limit != OnSoftLimit::approve ||
        budget.approved_period == budget.reset_count) {
        return std::nullopt;
    }
    for (const auto& [dimension, limit] : budget.limits) {
        if (limit.soft > 0 && used(budget, dimension) > limit.soft) {
            return Breach{dimension, used(budget, dimension), limit.soft, 0};
        }
    }
    return std::nullopt;
}

std::optional<Breach> blocking(const Budget& budget) {
    if (budget.mode != EnforcementMode::strict) {
        return std::nullopt;
    }
    for (const auto& [dimension, limit] : budget.limits) {
        if (limit.hard > 0 && committed(budget, dimension) >= limit.hard) {
            return Breach{dimension, used(budget, dimension), limit.hard, 0};
        }
    }
    return unapproved(budget);
}

Reserved reserve(Budget& budget, const Amounts& wanted) {
    Reserved out;
    if (budget.mode != EnforcementMode::strict) {
        return out;
    }
    for (const auto& [dimension, amount] : wanted) {
        const auto limit = budget.limits.find(dimension);
        if (limit == budget.limits.end() || limit->second.hard == 0) {
            continue;
        }
        if (add_amounts(committed(budget, dimension), amount) > limit->second.hard) {
            out.no_room = Breach{dimension, used(budget, dimension), limit->second.hard, amount};
            return out;
        }
        out.taken[dimension] = amount;
    }
    for (const auto& [dimension, amount] : out.taken) {
        std::uint64_t& sum = budget.reserved[dimension];
        sum = add_amounts(sum, amount);
    }
    return out;
}

bool lets_go(Budget& offered, const Amounts& wanted) {
    return !blocking(offered) && !reserve(offered, wanted).no_room;
}

namespace {

void take_from(Amounts& amounts, const std::string& dimension, std::uint64_t amount) {
    const auto it = amounts.find(dimension);
    if (it == amounts.end()) {
        return;
    }
    it->second -= std::min(it->second, amount);
    if (it->second == 0) {
        amounts.erase(it);
    }
}

}  // namespace

void draw(Budget& budget, LedgerRow& ledger, const Amounts& amounts) {
    for (const auto& [dimension, amount] : amounts) {
        const std::uint64_t drawn = std::min(amount, amount_of(ledger.reserved, dimension));
        take_from(ledger.reserved, dimension, drawn);
        take_from(budget.reserved, dimension, drawn);
    }
}

void unreserve(Budget& budget, LedgerRow& ledger) {
    const Amounts all = ledger.reserved;
    draw(budget, ledger, all);
}

std::uint64_t add_amounts(std::uint64_t a, std::uint64_t b) {
    return a >= amount_max - std::min(b, amount_max) ? amount_max : a + b;
}

expected<void> check_room(const Budget& budget, const Amounts& deltas) {
    std::size_t fresh = 0;
    for (const auto& [dimension, delta] : deltas) {
        fresh += budget.usage.contains(dimension) ? 0 : 1;
    }
    if (budget.usage.size() + fresh > usage_dimensions_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "dimensions: a budget counts at most 1024 of them");
    }
    return {};
}

UsageResult add_usage(Budget& budget, const Amounts& deltas, TimestampMs now) {
    // The map is in the order of bytes, so which dimension is named depends on nothing else.
    std::optional<UsageResult> over;  // a hard limit that an advisory budget lets pass
    for (const auto& [dimension, delta] : deltas) {
        const auto limit = budget.limits.find(dimension);
        if (limit == budget.limits.end() || limit->second.hard == 0) {
            continue;
        }
        const std::uint64_t before = used(budget, dimension);
        const std::uint64_t after = add_amounts(before, delta);
        if (add_amounts(committed(budget, dimension), delta) <= limit->second.hard) {
            continue;
        }
        if (budget.mode == EnforcementMode::strict) {
            budget.breach_count += 1;
            budget.last_breach_at = now;
            budget.last_breach_dim = dimension;
            budget.updated_at = now;
            return {UsageOutcome::hard_breach, dimension, before, limit->second.hard,
                    budget.on_hard_limit};
        }
        if (!over) {
            over = UsageResult{UsageOutcome::soft_breach, dimension, after, limit->second.hard, {}};
        }
    }
    for (const auto& [dimension, delta] : deltas) {
        std::uint64_t& value = budget.usage[dimension];
        value = add_amounts(value, delta);
    }
    budget.updated_at = now;
    if (!over) {
        for (const auto& [dimension, delta] : deltas) {
            const auto limit = budget.limits.find(dimension);
            if (limit != budget.limits.end() && limit->second.soft > 0 &&
                used(budget, dimension) > limit->second.soft) {
                over = UsageResult{UsageOutcome::soft_breach,
                                   dimension,
                                   used(budget, dimension),
                                   limit->second.soft,
                                   {}};
                break;
            }
        }
    }
    if (!over) {
        return {};
    }
    budget.soft_breach_count += 1;
    return *over;
}

void release_spend(Budget& budget, const LedgerRow& ledger, TimestampMs now) {
    if (ledger.reset_epoch == budget.reset_count) {
        for (const auto& [dimension, spent] : ledger.spent) {
            if (auto it = budget.usage.find(dimension); it != budget.usage.end()) {
                it->second -= std::min(it->second, spent);
            }
        }
    }
    budget.updated_at = now;
}

void reset(Budget& budget, ResetBy by, TimestampMs now) {
    for (auto& [dimension, value] : budget.usage) {
        value = 0;
    }
    budget.last_reset_at = now;
    budget.reset_count += 1;
    budget.last_breach_at.reset();
    budget.last_breach_dim.reset();
    budget.updated_at = now;
    const DurationMs interval = budget.reset_interval_ms;
    if (interval <= 0) {
        budget.next_reset_at.reset();
    } else if (by == ResetBy::schedule && budget.next_reset_at) {
        const TimestampMs due = *budget.next_reset_at;
        const TimestampMs missed = due <= now ? (now - due) / interval + 1 : 0;
        budget.next_reset_at = due + missed * interval;
    } else {
        budget.next_reset_at = now + interval;
    }
}

void wake_if_clear(Budget& budget, TimestampMs now) {
    if (budget.waiting && !blocking(budget)) {
        budget.wake_at = now;
    }
}

void arm(Budget& budget) {
    budget.timer_at = budget.next_reset_at;
    if (budget.wake_at && (!budget.timer_at || *budget.wake_at < *budget.timer_at)) {
        budget.timer_at = budget.wake_at;
    }
}

std::string gate_of(const BudgetId& id) { return "budget:" + id.to_string(); }

std::string refusal_text(const Budget& budget, const Breach& breach) {
    std::string text = "budget " + budget.id.to_string() + ": " + breach.dimension + " " +
                       std::to_string(breach.used) + "/" + std::to_string(breach.limit);
    if (const std::uint64_t others = amount_of(budget.reserved, breach.dimension); others > 0) {
        text += ", " + std::to_string(others) + " reserved";
    }
    if (breach.wanted > 0) {
        text += ", " + std::to_string(breach.wanted) + " wanted";
    }
    const auto limit = budget.limits.find(breach.dimension);
    const bool soft = limit != budget.limits.end() && breach.limit == limit->second.soft &&
                      unapproved(budget).has_value();
    return soft ? text + "; waits for an approval: ff budget approve " + budget.id.to_string()
                : text;
}

}  // namespace ff::core

namespace ff {

expected<Amounts> amounts_of(const std::vector<std::string>& dimensions,
                             const std::vector<std::uint64_t>& deltas) {
    if (dimensions.size() != deltas.size()) {
        return ff::fail(ErrorCode::invalid_input,
                        "report_usage_admin: dimensions and deltas length mismatch");
    }
    Amounts out;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        if (deltas[i] > amount_max) {
            return ff::fail(ErrorCode::invalid_input, "deltas: at most 9223372036854775807");
        }
        std::uint64_t& sum = out[dimensions[i]];
        sum = core::add_amounts(sum, deltas[i]);
    }
    return out;
}

}  // namespace ff
