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
/// Where reservations come and go, so many are looked at.
constexpr std::size_t reserving_page = 64;
/// And so many more than there is room for: some may have left by now.
constexpr std::size_t looked_beyond = 8;
constexpr std::size_t cancel_page = 100;
/// Those that another process is at are looked at again after so long.
constexpr DurationMs others_pause_ms = 50;
/// Attachments of a policy that goes, in one transaction.
constexpr std::size_t attached_page = 1'000;
/// Keys of a policy, in one transaction.
constexpr std::size_t keys_page = 100;

/// Lets those of the first `page` of a gate's queue go who may. Do more stand there, perhaps?
template <class May>
bool let_go(const Snapshot& view, const std::string& gate, std::size_t page, const May& may,
            std::size_t& gone, Changes& changes, TimestampMs now) {
    bool more = view.parked(gate).size() >= page || view.parked_partly(gate);
    for (const ExecutionId& id : view.parked(gate)) {
        const Execution* waiting = view.execution(id);
        if (waiting == nullptr || waiting->gate != gate) {
            continue;
        }
        if (!may(*waiting)) {
            more = true;
            continue;
        }
        Execution e = *waiting;
        make_eligible(e, now);
        changes.put_executions.push_back(std::move(e));
        gone += 1;
    }
    return more;
}

/// How many of those who wait are worth a look: a slot that is given back must not cost a look at
/// everybody.
std::size_t page_of(const Budget& budget) {
    return budget.reserved.empty() ? waiting_page : reserving_page;
}
/// Of a policy that goes, or of a key whose policy was detached: they try again.
bool lets_all_go(const QuotaPolicy& policy) {
    return policy.deleted || (policy.parent && policy.keys_task == KeysTask::release);
}
std::size_t page_of(const Snapshot& view, const QuotaPolicy& policy, bool offers_lapse) {
    if (lets_all_go(policy)) {
        return waiting_page;
    }
    QuotaPolicy aged = policy;
    aged.offered = offers_lapse ? 0 : aged.offered;
    aged.in_window -= std::min<std::uint64_t>(aged.in_window, view.limits.aged(policy.id).size());
    // With a cap there may be those who need a slot and no start.
    const std::size_t may = aged.limits.max_concurrent > 0 ? slots_left(aged) : room(aged);
    if (offers_lapse && may > room(aged)) {
        return waiting_page;  // and they may stand far behind: now and then that is worth a look
    }
    return may == 0 ? 0 : std::min(waiting_page, std::min(may, waiting_page) + looked_beyond);
}

/// That of a key follows its parent.
QuotaPolicy as_now(const Snapshot& view, QuotaPolicy policy) {
    if (policy.parent) {
        follow_parent(policy, view.limits.policy(*policy.parent));
    }
    return policy;
}

/// Who goes on with an attempt, or begins one while its last start still counts, needs no start.
bool needs_start(const Snapshot& view, const Execution& e, const QuotaPolicy& policy,
                 TimestampMs now) {
    if (e.state.attempt_state == AttemptState::attempt_interrupted) {
        return false;
    }
    const Admission* held = e.has_admissions ? view.limits.admission({e.id, policy.id}) : nullptr;
    return held == nullptr || !held->admitted_at || is_aged(policy, *held, now);
}

LimitReads::PageOf cancelled_next(const Budget& budget) {
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

LimitReads::PageOf keys_next(const QuotaPolicy& policy) {
    return {{LimitKind::quota, LimitId{policy.id.uuid}}, policy.keys_from, keys_page};
}

/// Goes on with what is to be done with the keys of a policy.
void go_through_keys(const Snapshot& view, QuotaPolicy& policy, Changes& changes, TimestampMs now) {
    const auto& keys = view.limits.keys(keys_next(policy));
    for (const std::string& key : keys) {
        const QuotaPolicy* found = view.limits.policy(policy_of_key(policy.id, key));
        if (found != nullptr) {
            QuotaPolicy of_key = *found;
            of_key.deleted = of_key.deleted || policy.keys_task == KeysTask::end;
            if (policy.keys_task == KeysTask::release) {
                of_key.keys_task = KeysTask::release;
            }
            of_key.wake_at = now;
            changes.put_policies.push_back(std::move(of_key));
        }
    }
    if (keys.size() < keys_page) {
        policy.keys_task = KeysTask::none;
        policy.keys_from.reset();
    } else {
        policy.keys_from = keys.back();
    }
}

LimitReads::PageOf attached_to_policy(const QuotaPolicyId& id) {
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
    const bool resets = budget->next_reset_at && *budget->next_reset_at <= view.limits.now;
    if (budget->waiting && (resets || !blocking(*budget)) && !view.knows_parked(gate)) {
        set.parked.emplace_back(gate, page_of(*budget));
    }
    if (!cancels_members(*budget)) {
        return;
    }
    const LimitReads::PageOf ask = cancelled_next(*budget);
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
            budget_event(view, budget, "budget_reset", {}, std::nullopt, ctx.now));
        out.handled += 1;
    }
    budget.wake_at.reset();
    if (budget.waiting && !blocking(budget)) {
        std::size_t gone = 0;
        Budget offered = budget;  // as if those who leave had reserved already
        const auto may = [&](const Execution& e) {
            return e.reserve.empty() || lets_go(offered, e.reserve);
        };
        budget.waiting =
            let_go(view, gate_of(budget.id), page_of(*found), may, gone, changes, ctx.now);
        if (budget.waiting && gone > 0) {
            budget.wake_at = ctx.now;
        } else if (budget.waiting && view.parked_partly(gate_of(budget.id))) {
            budget.wake_at = ctx.now + others_pause_ms;
        }  // else those who are left do not fit: whoever makes room says so
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
    if (policy->parent && !view.limits.knows_policy(*policy->parent)) {
        set.limits.policies_looked.push_back(*policy->parent);
        return;
    }
    if (policy->keys_task != KeysTask::none && !policy->parent) {
        if (const auto ask = keys_next(*policy); !view.limits.knows_keys(ask)) {
            set.limits.keys.push_back(ask);
        } else {
            for (const std::string& key : view.limits.keys(ask)) {
                const QuotaPolicyId id = policy_of_key(policy->id, key);
                if (!view.limits.holds_policy(id)) {
                    set.limits.policies.push_back(id);
                }
            }
        }
    }
    const std::string gate = gate_of(policy->id);
    const QuotaPolicy now = as_now(view, *policy);
    const std::size_t page = page_of(view, now, args.offers_lapse);
    if (policy->waiting && page > 0 && !view.knows_parked(gate)) {
        set.parked.emplace_back(gate, page);
    } else if (policy->waiting && page > 0) {
        for (const ExecutionId& id : view.parked(gate)) {
            const Execution* e = view.execution(id);
            if (e != nullptr && e->has_admissions &&
                !view.limits.knows_admission({id, policy->id})) {
                set.limits.admissions.push_back({id, policy->id});
            }
        }
    }
    if (now.deleted && !view.limits.knows_attached(attached_to_policy(policy->id))) {
        set.limits.attached.push_back(attached_to_policy(policy->id));
    }
}

Decision<LimitDue> decide(const Snapshot& view, const HandleQuotaDue& args, const Context& ctx) {
    const QuotaPolicy* found = view.limits.policy(args.quota_policy_id);
    if (found == nullptr) {
        return LimitDue{};
    }
    QuotaPolicy policy = as_now(view, *found);
    Changes changes;
    LimitDue out;
    const std::size_t page = page_of(view, policy, args.offers_lapse);
    drop_aged(view, policy, changes);
    policy.wake_at.reset();
    if (policy.keys_task != KeysTask::none && !policy.parent) {
        go_through_keys(view, policy, changes, ctx.now);
        out.handled += 1;
    }
    if (args.offers_lapse) {
        policy.offered = 0;  // who was let go and never came has had the time to
    }
    if (policy.waiting && page == 0) {
        arm(policy, view.limits.window(policy.id));
    } else if (policy.waiting) {
        std::size_t gone = 0;
        const bool had_room = room(policy) > 0;
        const auto may = [&](const Execution& e) {
            if (lets_all_go(policy)) {
                return true;
            }
            const bool goes =
                (needs_start(view, e, policy, ctx.now) ? room(policy) : slots_left(policy)) > 0;
            policy.offered += goes ? 1 : 0;
            return goes;
        };
        policy.waiting = let_go(view, gate_of(policy.id), page, may, gone, changes, ctx.now);
        out.handled += gone;
        if (policy.waiting && had_room && room(policy) > 0) {
            // There is room for more than a page, or another process is at some.
            policy.wake_at = ctx.now + (gone > 0 ? 0 : others_pause_ms);
        } else {
            arm(policy, view.limits.window(policy.id));
        }
    }
    if (policy.parent && !policy.waiting) {
        policy.keys_task = KeysTask::none;  // all have gone
    }
    if (policy.keys_task != KeysTask::none || view.limits.aged(policy.id).size() >= aged_page) {
        policy.wake_at = ctx.now;  // there are more
    }
    if (!policy.deleted) {
        arm_key(policy, ctx.now);
        put_or_drop(std::move(policy), changes);
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
    if (policy.waiting || policy.in_window > 0 || targets.size() >= attached_page ||
        policy.keys_task != KeysTask::none) {
        policy.wake_at = ctx.now;
        changes.put_policies.push_back(std::move(policy));
    } else if (policy.running > 0) {
        changes.put_policies.push_back(std::move(policy));  // who gives a slot back looks again
    } else {
        changes.delete_policies.push_back(policy.id);
    }
    return {std::move(out), std::move(changes)};
}

}  // namespace ff::core
