// Budgets: definition, reports, release, reset.
#include <algorithm>

#include <ff/json.h>
#include "core/admission.h"
#include "core/decide.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::size_t dedup_key_bytes_max = 512;
constexpr std::size_t actor_bytes_max = 256;

/// What a budget applies to by its scope; nothing when the scope only describes it.
std::optional<TargetKey> scope_target(const CreateBudget& args) {
    for (const LimitTarget type :
         {LimitTarget::execution, LimitTarget::flow, LimitTarget::lane, LimitTarget::namespace_}) {
        if (args.scope_type == to_string(type)) {
            return TargetKey{type, args.scope_id};
        }
    }
    return std::nullopt;
}

void need_budget(const BudgetId& id, ReadSet& set) { set.limits.budgets.push_back(id); }

expected<void> check_report(std::string_view field, const Amounts& amounts,
                            const std::string& dedup_key) {
    FF_TRY_VOID(check_amounts(field, amounts));
    return check_label("dedup_key", dedup_key, 0, dedup_key_bytes_max);
}

void read_report(const BudgetId& budget, const std::string& dedup_key, ReadSet& set) {
    need_budget(budget, set);
    if (!dedup_key.empty()) {
        set.limits.dedups.push_back({budget, dedup_key});
    }
}

struct Report {
    const BudgetId& budget_id;
    const Amounts& deltas;
    const std::string& dedup_key;
    std::optional<ExecutionId> execution;
    bool ledger = false;
    bool settle = false;
};

/// Does somebody hold a part of it? Then who reports may.
void read_reserved(const Snapshot& view, const BudgetId& id, const ExecutionId& execution,
                   ReadSet& set) {
    const Budget* budget = view.limits.budget(id);
    if (budget != nullptr && !budget->reserved.empty() &&
        !view.limits.knows_ledger({id, execution})) {
        set.limits.ledgers.push_back({id, execution});
    }
}

void add_to_ledger(const Budget& budget, const Report& report, LedgerRow& row, TimestampMs now) {
    row.updated_at = now;
    if (row.reset_epoch != budget.reset_count) {
        row.reset_epoch = budget.reset_count;
        row.spent.clear();
    }
    for (const auto& [dimension, delta] : report.deltas) {
        std::uint64_t& sum = row.spent[dimension];
        sum = add_amounts(sum, delta);
    }
}

Decision<UsageResult> decide_report(const Snapshot& view, const Report& report,
                                    const Context& ctx) {
    const Budget* found = view.limits.budget(report.budget_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    if (!report.dedup_key.empty()) {
        const UsageDedup* dedup = view.limits.dedup({report.budget_id, report.dedup_key});
        if (dedup != nullptr && dedup->expires_at > ctx.now) {
            return UsageResult{UsageOutcome::already_applied, {}, 0, 0, {}};
        }
    }
    if (auto ok = check_room(*found, report.deltas); !ok) {
        return std::move(ok).error();
    }
    Budget budget = *found;
    Changes changes;
    // What it has in the ledger, and whether that changes.
    const LedgerKey key{report.budget_id, report.execution.value_or(ExecutionId{})};
    const LedgerRow* held =
        report.execution && view.limits.knows_ledger(key) ? view.limits.ledger(key) : nullptr;
    LedgerRow row = held != nullptr ? *held : LedgerRow{key, budget.reset_count, {}, {}, ctx.now};
    draw(budget, row, report.deltas);
    UsageResult result = add_usage(budget, report.deltas, ctx.now);
    const Breach breach{result.dimension, result.current_usage, result.limit, 0};
    if (result.outcome == UsageOutcome::hard_breach) {
        budget.reserved = found->reserved;  // nothing of it counts, nothing was drawn
        changes.log_events.push_back(
            budget_event(view, budget, "budget_hard_breach", breach, report.execution, ctx.now));
        if (budget.on_hard_limit == OnHardLimit::cancel && !budget.cancel_dim) {
            budget.cancel_dim = result.dimension;
            budget.cancel_from.reset();
            budget.wake_at = ctx.now;
            arm(budget);
        }
        changes.put_budgets.push_back(std::move(budget));
        return {std::move(result), std::move(changes)};
    }
    if (report.ledger) {
        add_to_ledger(budget, report, row, ctx.now);
    }
    if (report.settle) {
        unreserve(budget, row);
        wake_if_clear(budget, ctx.now);
        arm(budget);
    }
    if (held != nullptr || report.ledger) {
        changes.put_ledgers.push_back(std::move(row));
    }
    if (!report.dedup_key.empty()) {
        changes.put_dedups.push_back(
            {{report.budget_id, report.dedup_key}, ctx.now, ctx.now + usage_dedup_ms});
    }
    result.needs_approval =
        result.outcome == UsageOutcome::soft_breach && unapproved(budget).has_value();
    if (result.outcome == UsageOutcome::soft_breach && budget.on_soft_limit != OnSoftLimit::none) {
        changes.log_events.push_back(
            budget_event(view, budget, "budget_soft_breach", breach, report.execution, ctx.now));
    }
    changes.put_budgets.push_back(std::move(budget));
    return {std::move(result), std::move(changes)};
}

}  // namespace

// ------------------------------------------------------------------------------------- define

expected<void> validate(CreateBudget& args) {
    FF_TRY_VOID(check_budget(args));
    const auto target = scope_target(args);
    if (target && target->type == LimitTarget::execution &&
        !rewrite_id<ExecutionId>(args.scope_id)) {
        return ff::fail(ErrorCode::invalid_budget_scope,
                        "scope_id: not an execution id: " + args.scope_id);
    }
    if (target && target->type == LimitTarget::flow && !rewrite_id<FlowId>(args.scope_id)) {
        return ff::fail(ErrorCode::invalid_budget_scope,
                        "scope_id: not a flow id: " + args.scope_id);
    }
    return {};
}

void reads(const CreateBudget& args, ReadSet& set) {
    if (const auto target = scope_target(args)) {
        if (target->type == LimitTarget::execution) {
            set.need(*ExecutionId::parse(target->id));
        } else if (target->type == LimitTarget::flow) {
            set.flows.push_back(*FlowId::parse(target->id));
        }
    }
    need_budget(args.budget_id, set);
}

Decision<CreateBudgetResult> decide(const Snapshot& view, const CreateBudget& args,
                                    const Context& ctx) {
    if (const Budget* found = view.limits.budget(args.budget_id)) {
        return CreateBudgetResult{args.budget_id, false, is_same_definition(*found, args)};
    }
    Changes changes;
    changes.put_budgets.push_back(new_budget(args, ctx.now));
    const auto target = scope_target(args);
    if (target) {
        Attachment attachment{{LimitKind::budget, LimitId{args.budget_id.uuid}, *target}, true};
        if (target->type == LimitTarget::execution) {
            if (const Execution* found = view.execution(*ExecutionId::parse(target->id))) {
                Execution e = *found;
                auto ids = own_budgets(e);
                if (std::ranges::find(ids, args.budget_id) == ids.end()) {
                    ids.push_back(args.budget_id);
                }
                set_own_budgets(e, ids);
                changes.put_executions.push_back(std::move(e));
                attachment.by_place = false;
            }
        } else if (target->type == LimitTarget::flow) {
            attachment.by_place = false;
            if (const Flow* found = view.flow(*FlowId::parse(target->id))) {
                Flow flow = *found;
                flow.limited = true;
                changes.put_flows.push_back(std::move(flow));
            }
        }
        changes.put_attachments.push_back(std::move(attachment));
    }
    return {CreateBudgetResult{args.budget_id, true, true}, std::move(changes)};
}

expected<void> validate(UpdateBudgetLimits& args) { return check_limits(args.limits); }

void reads(const UpdateBudgetLimits& args, ReadSet& set) { need_budget(args.budget_id, set); }

Decision<Done> decide(const Snapshot& view, const UpdateBudgetLimits& args, const Context& ctx) {
    const Budget* found = view.limits.budget(args.budget_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    Budget budget = *found;
    for (const auto& [dimension, limit] : args.limits) {
        budget.limits[dimension] = limit;
    }
    if (budget.limits.size() > dimensions_max) {
        return ff::fail(ErrorCode::invalid_input, "limits: at most 64 dimensions");
    }
    budget.updated_at = ctx.now;
    wake_if_clear(budget, ctx.now);
    arm(budget);
    Changes changes;
    changes.put_budgets.push_back(std::move(budget));
    return {Done{}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- report

expected<void> validate(ReportUsage& args) {
    // Built-in fields are dimensions like any other.
    for (const auto& [name, amount] : {std::pair{"input_tokens", &args.input_tokens},
                                       {"output_tokens", &args.output_tokens},
                                       {"wall_ms", &args.wall_ms}}) {
        if (*amount > amount_max) {
            return ff::fail(ErrorCode::invalid_input,
                            std::string(name) + ": at most 9223372036854775807");
        }
        if (*amount > 0) {
            std::uint64_t& sum = args.dimensions[name];
            sum = sum > amount_max ? sum : add_amounts(sum, *amount);
            *amount = 0;
        }
    }
    return check_report("dimensions", args.dimensions, args.dedup_key);
}

void reads(const ReportUsage& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged);  // for an event
    read_report(args.budget_id, args.dedup_key, set);
}

void reads_more(const Snapshot& view, const ReportUsage& args, ReadSet& set) {
    read_reserved(view, args.budget_id, args.lease.execution_id, set);
}

Decision<UsageResult> decide(const Snapshot& view, const ReportUsage& args, const Context& ctx) {
    return decide_report(view,
                         {args.budget_id, args.dimensions, args.dedup_key, args.lease.execution_id,
                          false, args.settle},
                         ctx);
}

expected<void> validate(ReportUsageAdmin& args) {
    return check_report("dimensions", args.dimensions, args.dedup_key);
}

void reads(const ReportUsageAdmin& args, ReadSet& set) {
    read_report(args.budget_id, args.dedup_key, set);
}

Decision<UsageResult> decide(const Snapshot& view, const ReportUsageAdmin& args,
                             const Context& ctx) {
    return decide_report(
        view, {args.budget_id, args.dimensions, args.dedup_key, std::nullopt, false}, ctx);
}

expected<void> validate(RecordSpend& args) {
    return check_report("deltas", args.deltas, args.idempotency_key);
}

void reads(const RecordSpend& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);  // for an event
    read_report(args.budget_id, args.idempotency_key, set);
    set.limits.ledgers.push_back({args.budget_id, args.execution_id});
}

Decision<UsageResult> decide(const Snapshot& view, const RecordSpend& args, const Context& ctx) {
    return decide_report(
        view, {args.budget_id, args.deltas, args.idempotency_key, args.execution_id, true}, ctx);
}

// -------------------------------------------------------------------------- release and reset

expected<void> validate(ReleaseBudget&) { return {}; }

void reads(const ReleaseBudget& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);  // for its event
    need_budget(args.budget_id, set);
    set.limits.ledgers.push_back({args.budget_id, args.execution_id});
}

Decision<ReleaseBudgetResult> decide(const Snapshot& view, const ReleaseBudget& args,
                                     const Context& ctx) {
    const LedgerKey key{args.budget_id, args.execution_id};
    const Budget* found = view.limits.budget(args.budget_id);
    const LedgerRow* ledger = view.limits.ledger(key);
    if (found == nullptr || ledger == nullptr) {
        return ReleaseBudgetResult{false};
    }
    Budget budget = *found;
    Changes changes;
    release_spend(budget, *ledger, ctx.now);
    LedgerRow rest = *ledger;
    rest.spent.clear();
    wake_if_clear(budget, ctx.now);
    arm(budget);
    changes.log_events.push_back(
        budget_event(view, budget, "budget_released", {}, args.execution_id, ctx.now));
    if (rest.reserved.empty()) {
        changes.delete_ledgers.push_back(key);
    } else {
        changes.put_ledgers.push_back(std::move(rest));
    }
    changes.put_budgets.push_back(std::move(budget));
    return {ReleaseBudgetResult{true}, std::move(changes)};
}

expected<void> validate(ApproveBudget& args) {
    return check_label("actor", args.actor, 0, actor_bytes_max);
}

void reads(const ApproveBudget& args, ReadSet& set) { need_budget(args.budget_id, set); }

Decision<ApproveBudgetResult> decide(const Snapshot& view, const ApproveBudget& args,
                                     const Context& ctx) {
    const Budget* found = view.limits.budget(args.budget_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    if (found->on_soft_limit != OnSoftLimit::approve) {
        return ff::fail(ErrorCode::invalid_input,
                        "the budget asks for no approval: its on_soft_limit is " +
                            std::string(to_string(found->on_soft_limit)));
    }
    if (found->approved_period == found->reset_count) {
        return ApproveBudgetResult{false};
    }
    Budget budget = *found;
    Changes changes;
    LogEvent event = budget_event(view, budget, "budget_approved",
                                  unapproved(budget).value_or(Breach{}), std::nullopt, ctx.now);
    if (!args.actor.empty()) {
        js::Value payload = *js::parse(event.payload);
        payload.set("actor", args.actor);
        event.payload = js::dump(payload);
    }
    changes.log_events.push_back(std::move(event));
    budget.approved_period = budget.reset_count;
    budget.updated_at = ctx.now;
    wake_if_clear(budget, ctx.now);
    arm(budget);
    changes.put_budgets.push_back(std::move(budget));
    return {ApproveBudgetResult{true}, std::move(changes)};
}

expected<void> validate(ResetBudget&) { return {}; }

void reads(const ResetBudget& args, ReadSet& set) { need_budget(args.budget_id, set); }

Decision<ResetBudgetResult> decide(const Snapshot& view, const ResetBudget& args,
                                   const Context& ctx) {
    const Budget* found = view.limits.budget(args.budget_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::budget_not_found);
    }
    Budget budget = *found;
    Changes changes;
    reset(budget, ResetBy::hand, ctx.now);
    wake_if_clear(budget, ctx.now);
    arm(budget);
    changes.log_events.push_back(
        budget_event(view, budget, "budget_reset", {}, std::nullopt, ctx.now));
    const TimestampMs next = budget.next_reset_at.value_or(0);
    changes.put_budgets.push_back(std::move(budget));
    return {ResetBudgetResult{next}, std::move(changes)};
}

}  // namespace ff::core
