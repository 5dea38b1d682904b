// What time does to limits: scheduled resets, letting those who wait go on, cancelling what a
// broken budget covers.
#include <algorithm>
#include <set>

#include "core/admission.h"
#include "core/decide.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

/// Of those who wait, so many go on in one transaction.
constexpr std::size_t waiting_page = 1'000;
constexpr std::size_t cancel_page = 100;
/// Those that another process is at are looked at again after so long.
constexpr DurationMs others_pause_ms = 50;
/// Attachments of a policy that goes, in one transaction.
constexpr std::size_t attached_page = 1'000;

/// Lets up to `most` of a gate's queue go. Answers whether more may stand there.
bool let_go(const Snapshot& view, const std::string& gate, std::size_t most, std::size_t& gone,
            Changes& changes, TimestampMs now) {
    for (const ExecutionId& id : view.parked(gate)) {
        const Execution* waiting = view.execution(id);
        if (waiting == nullptr || waiting->gate != gate) {
            continue;
        }
        if (gone >= most) {
            return true;
        }
        Execution e = *waiting;
        make_eligible(e, now);
        changes.put_executions.push_back(std::move(e));
        gone += 1;
    }
    return view.parked(gate).size() >= waiting_page || view.parked_partly(gate);
}

LimitReads::Attached cancelled_next(const Budget& budget) {
    return {{LimitKind::budget, LimitId{budget.id.uuid}},
            budget.cancel_from ? std::optional(budget.cancel_from->to_string()) : std::nullopt,
            cancel_page};
}

bool cancels_members(const Budget& budget) {
    return budget.cancel_dim && budget.scope_type != to_string(LimitTarget::flow);
}

std::string cancel_reason(const Budget& budget) {
    return "budget_exceeded:" + budget.id.to_string() + ":" + *budget.cancel_dim;
}

LimitReads::Attached attached_to_policy(const QuotaPolicyId& id) {
    return {{LimitKind::quota, LimitId{id.uuid}}, std::nullopt, attached_page};
}

}  // namespace

// ------------------------------------------------------------------------------------ budgets

void reads(const HandleBudgetDue& args, ReadSet& set) {
    set.limits.budgets.push_back(args.budget_id);
}

void reads_more(const Snapshot& view, const HandleBudgetDue& args, ReadSet& set) {
    const Budget* budget = view.limits.budget(args.budget_id);
    if (budget == nullptr) {
        return;
    }
    const std::string gate = gate_of(budget->id);
    if (budget->waiting && !view.knows_parked(gate)) {
        set.parked.emplace_back(gate, waiting_page);
    }
    if (!cancels_members(*budget)) {
        return;
    }
    const LimitReads::Attached ask = cancelled_next(*budget);
    if (!view.limits.knows_attached(ask)) {
        set.limits.attached.push_back(ask);
        return;
    }
    for (const std::string& text : view.limits.attached(ask)) {
        const auto id = ExecutionId::parse(text);
        if (id && !view.knows_execution(*id)) {
            set.need(*id, InputNeed::if_tagged).attempt = true;
        }
    }
}

Decision<LimitDue> decide(const Snapshot& view, const HandleBudgetDue& args, const Context& ctx) {
    const Budget* found = view.limits.budget(args.budget_id);
    if (found == nullptr) {
        return LimitDue{};
    }
    Budget budget = *found;
    Changes changes;
    LimitDue out;
    if (budget.next_reset_at && *budget.next_reset_at <= ctx.now) {
        reset(budget, ResetBy::schedule, ctx.now);
        changes.log_events.push_back(
            budget_event(budget, "budget_reset", {}, std::nullopt, ctx.now));
        out.handled += 1;
    }
    budget.wake_at.reset();
    if (budget.waiting && !blocking(budget)) {
        std::size_t gone = 0;
        budget.waiting = let_go(view, gate_of(budget.id), waiting_page, gone, changes, ctx.now);
        if (budget.waiting) {
            budget.wake_at = ctx.now + (gone > 0 ? 0 : others_pause_ms);
        }
        out.handled += gone;
    }
    if (cancels_members(budget)) {
        const auto& ids = view.limits.attached(cancelled_next(budget));
        for (const std::string& text : ids) {
            const auto id = ExecutionId::parse(text);
            const Execution* member = id ? view.execution(*id) : nullptr;
            if (member != nullptr && !is_terminal(member->state)) {
                const auto mine = std::ranges::find(changes.put_executions, *id, &Execution::id);
                Execution e = mine != changes.put_executions.end() ? *mine : *member;
                cancel(view, e, cancel_reason(budget), "engine", changes, ctx);
                changes.put_executions.push_back(std::move(e));
                out.handled += 1;
            }
        }
        if (ids.size() < cancel_page) {
            budget.cancel_dim.reset();
            budget.cancel_from.reset();
        } else {
            budget.cancel_from = *ExecutionId::parse(ids.back());
            budget.wake_at = ctx.now;
        }
    } else if (budget.cancel_dim) {
        out.cancel_flow = FlowId::parse(budget.scope_id);
        out.cancel_reason = cancel_reason(budget);
        out.handled += 1;
        budget.cancel_dim.reset();
    }
    arm(budget);
    changes.put_budgets.push_back(std::move(budget));
    return {std::move(out), std::move(changes)};
}

// ------------------------------------------------------------------------------------- quotas

void reads(const HandleQuotaDue& args, ReadSet& set) {
    set.limits.policies.push_back(args.quota_policy_id);
}

void reads_more(const Snapshot& view, const HandleQuotaDue& args, ReadSet& set) {
    const QuotaPolicy* policy = view.limits.policy(args.quota_policy_id);
    if (policy == nullptr) {
        return;
    }
    const std::string gate = gate_of(policy->id);
    if (policy->waiting && !view.knows_parked(gate)) {
        set.parked.emplace_back(gate, waiting_page);
    }
    if (policy->deleted && !view.limits.knows_attached(attached_to_policy(policy->id))) {
        set.limits.attached.push_back(attached_to_policy(policy->id));
    }
}

Decision<LimitDue> decide(const Snapshot& view, const HandleQuotaDue& args, const Context& ctx) {
    const QuotaPolicy* found = view.limits.policy(args.quota_policy_id);
    if (found == nullptr) {
        return LimitDue{};
    }
    QuotaPolicy policy = *found;
    Changes changes;
    LimitDue out;
    drop_aged(view, policy, changes);
    policy.wake_at.reset();
    if (args.offers_lapse) {
        policy.offered = 0;  // who was let go and never came has had the time to
    }
    if (policy.waiting) {
        std::size_t gone = 0;
        const std::size_t most = std::min(room(policy), waiting_page);
        policy.waiting = let_go(view, gate_of(policy.id), most, gone, changes, ctx.now);
        policy.offered += policy.deleted ? 0 : gone;
        out.handled += gone;
        if (policy.waiting && most > 0 && room(policy) > 0) {
            // There is room for more than a page, or another process is at some.
            policy.wake_at = ctx.now + (gone > 0 ? 0 : others_pause_ms);
        } else {
            arm(policy, view.limits.window(policy.id));
        }
    }
    if (!policy.deleted) {
        changes.put_policies.push_back(std::move(policy));
        return {std::move(out), std::move(changes)};
    }
    const auto& targets = view.limits.attached(attached_to_policy(policy.id));
    for (const std::string& id : targets) {
        for (const LimitTarget type : {LimitTarget::execution, LimitTarget::flow, LimitTarget::lane,
                                       LimitTarget::namespace_}) {
            changes.delete_attachments.push_back(
                {LimitKind::quota, LimitId{policy.id.uuid}, {type, id}});
        }
    }
    if (policy.waiting || targets.size() >= attached_page) {
        policy.wake_at = ctx.now;
        changes.put_policies.push_back(std::move(policy));
    } else {
        changes.delete_policies.push_back(policy.id);
    }
    return {std::move(out), std::move(changes)};
}

}  // namespace ff::core
