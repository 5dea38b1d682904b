#include "core/admission.h"

#include <algorithm>
#include <map>
#include <set>

#include <ff/json.h>
#include "core/decide.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

/// A limit that was only looked at may be clear by now: who holds it will see, so soon.
void look_again(std::optional<TimestampMs>& wake_at, TimestampMs now) {
    constexpr DurationMs looked_again_ms = 50;
    wake_at = std::min(wake_at.value_or(now + looked_again_ms), now + looked_again_ms);
}

TargetKey flow_target(const FlowId& id) { return {LimitTarget::flow, id.to_string()}; }

/// The flow, when it is known to carry limits.
const Flow* limited_flow(const Snapshot& view, const Execution& e) {
    if (!e.flow_id || !view.knows_flow(*e.flow_id)) {
        return nullptr;
    }
    const Flow* flow = view.flow(*e.flow_id);
    return flow != nullptr && flow->limited ? flow : nullptr;
}

LimitKey quota_key(const QuotaPolicyId& id) { return {LimitKind::quota, LimitId{id.uuid}}; }

/// Does the limit cover everything in the execution's line?
bool is_of_line(const Snapshot& view, const Execution& e, const LimitKey& limit) {
    const RouteKey& route = view.route(e.route).key;
    return view.limits.any_places() &&
           (view.limits.placed_at({LimitTarget::lane, route.lane}).contains(limit) ||
            view.limits.placed_at({LimitTarget::namespace_, route.ns}).contains(limit));
}

/// How one that may not start waits.
struct Waiting {
    EligibilityState eligibility = EligibilityState::blocked_by_quota;
    BlockingReason reason = BlockingReason::waiting_for_quota;
    std::string gate;
    std::string detail;
    std::optional<TimestampMs> until;
    bool keeps_turn = false;  ///< what holds it back holds back all others of its line
};

void block(const Execution& candidate, Waiting how, Verdict& out, const Context& ctx) {
    Execution e = candidate;
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned, how.eligibility, how.reason,
               TerminalOutcome::none, e.state.attempt_state},
              ctx.now);
    e.gate = std::move(how.gate);
    e.has_turn = e.has_turn && how.keeps_turn;
    e.blocked_at = ctx.now;
    e.blocked_until = how.until;
    e.blocking_detail = std::move(how.detail);
    out.changes.put_executions.push_back(std::move(e));
}

/// Reserves, or says why not.
std::optional<Breach> reserve_at(const Snapshot& view, const Budget& found, const Execution& e,
                                 Verdict& out, Changes& taken, TimestampMs now) {
    Budget budget = found;
    const LedgerKey key{budget.id, e.id};
    const LedgerRow* held = view.limits.ledger(key);
    LedgerRow row = held != nullptr ? *held : LedgerRow{key, budget.reset_count, {}, {}, now};
    unreserve(budget, row);  // should anything be left of an earlier claim
    Reserved reserved = reserve(budget, e.reserve);
    if (reserved.no_room || reserved.taken.empty()) {
        return reserved.no_room;
    }
    row.reserved = std::move(reserved.taken);
    row.updated_at = now;
    out.reserved_in.push_back(budget.id);
    taken.put_budgets.push_back(std::move(budget));
    taken.put_ledgers.push_back(std::move(row));
    return std::nullopt;
}

/// Is it refused by a budget? Then it waits there. Else `taken` has what it reserves.
bool refuse_by_budget(const Snapshot& view, const Execution& e, const Applicable& limits,
                      Verdict& out, Changes& taken, const Context& ctx) {
    for (const BudgetId& id : limits.budgets) {
        const Budget* budget = view.limits.budget(id);
        auto breach = budget != nullptr ? blocking(*budget) : std::nullopt;
        if (budget != nullptr && !breach && !e.reserve.empty()) {
            breach = reserve_at(view, *budget, e, out, taken, ctx.now);
        }
        if (!breach) {
            continue;
        }
        std::string detail = refusal_text(*budget, *breach);
        out.refusal = Error{ErrorCode::budget_exceeded, detail, {}};
        const bool of_all =
            blocking(*budget) && is_of_line(view, e, {LimitKind::budget, LimitId{id.uuid}});
        block(e,
              {EligibilityState::blocked_by_budget, BlockingReason::waiting_for_budget, gate_of(id),
               std::move(detail), budget->next_reset_at, of_all},
              out, ctx);
        const bool looked = view.limits.only_looked_at(id);
        if (!budget->waiting || looked) {
            Budget waiting = *budget;
            waiting.waiting = true;
            if (looked) {
                look_again(waiting.wake_at, ctx.now);
                arm(waiting);
            }
            out.changes.put_budgets.push_back(std::move(waiting));
        }
        return true;
    }
    return false;
}

void refuse_by_quota(const Execution& e, QuotaPolicy& policy, const AdmissionResult& answer,
                     bool of_line, Verdict& out, const Context& ctx) {
    const bool rate = answer.outcome == AdmissionOutcome::rate_exceeded;
    std::string detail = refusal_text(policy, answer.outcome);
    out.refusal = Error{
        rate ? ErrorCode::rate_limit_exceeded : ErrorCode::concurrency_limit_exceeded, detail, {}};
    std::optional<TimestampMs> until;
    policy.waiting = true;
    policy.offered -= policy.offered > 0 ? 1 : 0;
    if (rate) {
        until = ctx.now + answer.retry_after_ms;
        out.refusal.fields.emplace_back("retry_after_ms", std::to_string(answer.retry_after_ms));
        policy.wake_at = std::min(policy.wake_at.value_or(*until), *until);
    }
    block(e,
          {EligibilityState::blocked_by_quota, BlockingReason::waiting_for_quota,
           gate_of(policy.id), std::move(detail), until, of_line},
          out, ctx);
}

}  // namespace

namespace {

std::vector<BudgetId> ids_of(const std::optional<std::string>& joined) {
    std::vector<BudgetId> out;
    std::string_view rest = joined ? std::string_view(*joined) : std::string_view();
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (const auto id = BudgetId::parse(rest.substr(0, comma))) {
            out.push_back(*id);
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return out;
}

std::optional<std::string> joined(const std::vector<BudgetId>& ids) {
    std::string text;
    for (const BudgetId& id : ids) {
        text += (text.empty() ? "" : ",") + id.to_string();
    }
    return non_empty(std::move(text));
}

}  // namespace

std::vector<BudgetId> own_budgets(const Execution& e) { return ids_of(e.budgets); }

void set_own_budgets(Execution& e, const std::vector<BudgetId>& ids) { e.budgets = joined(ids); }

bool waits_at_limit(const Execution& e) {
    return e.gate && (e.gate->starts_with("budget:") || e.gate->starts_with("quota:"));
}

bool holds_gate(const Applicable& limits, const std::string& gate) {
    const auto is_its = [&](const auto& id) { return gate_of(id) == gate; };
    return std::ranges::any_of(limits.budgets, is_its) ||
           std::ranges::any_of(limits.quotas, is_its);
}

namespace {

/// Whatever is attached to it, its flow or its place.
Applicable attached_limits(const Snapshot& view, const Execution& e) {
    Applicable out;
    out.budgets = own_budgets(e);
    if (e.quota) {
        out.quotas.push_back(*e.quota);
    }
    const auto add = [&](LimitKind kind, const LimitId& id) {
        if (kind == LimitKind::budget) {
            out.budgets.push_back(BudgetId{id.uuid});
        } else if (e.limit_key || !view.limits.counts_by_key(id)) {
            out.quotas.push_back(QuotaPolicyId{id.uuid});
        }
    };
    if (view.limits.any_places()) {
        const RouteKey& route = view.route(e.route).key;
        for (const TargetKey& place : {TargetKey{LimitTarget::lane, route.lane},
                                       TargetKey{LimitTarget::namespace_, route.ns}}) {
            for (const LimitKey& limit : view.limits.placed_at(place)) {
                add(limit.kind, limit.id);
            }
        }
    }
    if (const Flow* flow = limited_flow(view, e)) {
        for (const Attachment& row : view.limits.attached_to(flow_target(flow->id))) {
            add(row.key.kind, row.key.limit);
        }
    }
    const auto order = [](auto& ids) {
        std::ranges::sort(ids);
        ids.erase(std::ranges::unique(ids).begin(), ids.end());
    };
    order(out.budgets);
    order(out.quotas);
    return out;
}

}  // namespace

void need_applicable(const Snapshot& view, const Execution& e, ReadSet& set) {
    bool attachments_known = view.limits.knows_places();
    set.limits.places = set.limits.places || !attachments_known;
    if (const Flow* flow = limited_flow(view, e)) {
        if (const TargetKey target = flow_target(flow->id); !view.limits.knows_target(target)) {
            set.limits.targets.push_back(target);
            attachments_known = false;
        }
    }
    if (!e.limit_key || !attachments_known) {
        return;
    }
    for (const QuotaPolicyId& id : attached_limits(view, e).quotas) {
        if (!view.limits.knows_policy(id)) {
            set.limits.policies_looked.push_back(id);
        }
    }
}

Applicable applicable(const Snapshot& view, const Execution& e) {
    Applicable out = attached_limits(view, e);
    if (!e.limit_key) {
        return out;
    }
    for (QuotaPolicyId& id : out.quotas) {
        const QuotaPolicy* policy = view.limits.policy(id);
        if (policy != nullptr && policy->limits.per_key) {
            const QuotaPolicyId own = policy_of_key(id, *e.limit_key);
            out.parents.emplace(own, id);
            id = own;
        }
    }
    std::ranges::sort(out.quotas);
    return out;
}

void need_limits(const Snapshot& view, const Execution& e, const Applicable& limits, ReadSet& set) {
    for (const BudgetId& id : limits.budgets) {
        if (!e.reserve.empty() && !view.limits.holds_budget(id)) {
            set.limits.budgets.push_back(id);
        } else if (!view.limits.knows_budget(id)) {
            set.limits.budgets_looked.push_back(id);
        }
        if (!e.reserve.empty() && !view.limits.knows_ledger({id, e.id})) {
            set.limits.ledgers.push_back({id, e.id});
        }
    }
    for (const QuotaPolicyId& id : limits.quotas) {
        if (!view.limits.holds_policy(id)) {
            set.limits.policies.push_back(id);
        }
        if (e.has_admissions && !view.limits.knows_admission({e.id, id})) {
            set.limits.admissions.push_back({e.id, id});
        }
    }
}

namespace {

/// The policy as it limits the execution, if it does.
std::optional<QuotaPolicy> limiting(const Snapshot& view, const QuotaPolicyId& id,
                                    const Execution& e, const Applicable& limits, TimestampMs now) {
    const QuotaPolicy* found = view.limits.policy(id);
    const auto parent = limits.parents.find(id);
    const QuotaPolicy* defined =
        parent != limits.parents.end() ? view.limits.policy(parent->second) : found;
    if (defined == nullptr || defined->deleted || defined->unnamed ||
        is_unlimited(defined->limits)) {
        return std::nullopt;
    }
    if (parent == limits.parents.end()) {
        // Who carries no key is not limited by one that counts by key.
        return defined->limits.per_key ? std::nullopt : std::optional(*defined);
    }
    QuotaPolicy policy = found != nullptr ? *found : new_policy_of_key(*defined, *e.limit_key, now);
    policy.deleted = false;  // the policy was attached again
    follow_parent(policy, defined);
    return policy;
}

}  // namespace

Verdict decide_limits(const Snapshot& view, const Execution& e, const Applicable& limits,
                      const Context& ctx) {
    Verdict out;
    Changes taken;
    if (refuse_by_budget(view, e, limits, out, taken, ctx)) {
        out.reserved_in.clear();
        return out;
    }
    const Start start =
        e.state.attempt_state == AttemptState::attempt_interrupted ? Start::resumed : Start::fresh;
    const Jitter jitter = [&ctx](std::uint64_t bound) { return ctx.ids.uniform(bound); };
    for (const QuotaPolicyId& id : limits.quotas) {
        const auto found = limiting(view, id, e, limits, ctx.now);
        if (!found) {
            continue;
        }
        QuotaPolicy policy = *found;
        drop_aged(view, policy, taken);
        const auto own = still_held(
            view, e.has_admissions ? view.limits.admission({e.id, id}) : nullptr, policy, ctx.now);
        const Admission* held = own ? &*own : nullptr;
        QuotaWindow window = view.limits.window(id);
        const AdmissionResult answer =
            decide_admission(policy, window, held, start, ctx.now, jitter);
        if (answer.outcome != AdmissionOutcome::admitted &&
            answer.outcome != AdmissionOutcome::already_admitted) {
            out.changes = {};
            out.reserved_in.clear();
            drop_aged(view, policy = *found, out.changes);
            refuse_by_quota(e, policy, answer,
                            is_of_line(view, e, quota_key(found->parent.value_or(id))), out, ctx);
            if (found->parent && view.limits.only_looked_at(*found->parent)) {
                look_again(policy.wake_at, ctx.now);
            }
            out.changes.put_policies.push_back(std::move(policy));
            return out;
        }
        Admission given = admit(policy, window, {e.id, id}, held, start, ctx.now);
        out.took = true;
        out.took_slot = out.took_slot || given.slot_at.has_value();
        taken.put_admissions.push_back(given);
        taken.put_windows.emplace_back(id, window);
        arm_key(policy, ctx.now);
        taken.put_policies.push_back(std::move(policy));
    }
    out.changes = std::move(taken);
    out.admitted = true;
    return out;
}

void note_admission(const Verdict& verdict, Execution& e) {
    e.has_admissions = e.has_admissions || verdict.took;
    e.holds_slots = e.holds_slots || verdict.took_slot;
    if (!verdict.reserved_in.empty()) {
        e.reserved_in = joined(verdict.reserved_in);
    }
}

void need_admission(const Snapshot& view, const ExecutionId& id, ReadSet& set) {
    const Execution* e = view.knows_execution(id) ? view.execution(id) : nullptr;
    if (e == nullptr || (e->flow_id && !view.knows_flow(*e->flow_id))) {
        return;  // asked for already
    }
    need_applicable(view, *e, set);
    if (set.limits.empty()) {
        need_limits(view, *e, applicable(view, *e), set);
    }
}

std::optional<Admission> still_held(const Snapshot& view, const Admission* found,
                                    QuotaPolicy& policy, TimestampMs now) {
    if (found == nullptr || !is_aged(policy, *found, now)) {
        return found != nullptr ? std::optional(*found) : std::nullopt;
    }
    Admission held = *found;
    const auto dropped = view.limits.aged(policy.id);
    if (std::ranges::find(dropped, held.key, &Admission::key) == dropped.end()) {
        without_start(policy, held);  // it is behind the page that was dropped
    }
    held.admitted_at.reset();
    return held.slot_at ? std::optional(held) : std::nullopt;
}

void drop_aged(const Snapshot& view, QuotaPolicy& policy, Changes& changes) {
    for (const Admission& old : view.limits.aged(policy.id)) {
        if (auto left = without_start(policy, old)) {
            changes.put_admissions.push_back(*left);
        } else {
            changes.delete_admissions.push_back(old.key);
        }
    }
}

// ------------------------------------------------------------------------------ giving it back

void put_or_drop(QuotaPolicy policy, Changes& changes) {
    if (is_idle_key(policy)) {
        changes.delete_policies.push_back(policy.id);
        return;
    }
    changes.put_policies.push_back(std::move(policy));
}

void add_limit_work(const Execution* before, Execution& after, std::vector<LimitWork>& out) {
    if ((!after.has_admissions && !after.reserved_in) ||
        after.state.phase == LifecyclePhase::active || after.grant_expires_at) {
        return;
    }
    // A grant that nobody used made the start only if there was none before it.
    const bool never_began = before != nullptr && before->grant_expires_at && !after.started_at &&
                             after.state.phase == LifecyclePhase::runnable;
    // One may also hold what check_admission() gave it before it ran.
    const bool ended = before != nullptr && before->state.phase != LifecyclePhase::active &&
                       !is_terminal(before->state) && is_terminal(after.state);
    if (after.holds_slots || never_began || ended || after.reserved_in) {
        out.push_back({after.id, never_began, ids_of(after.reserved_in)});
        after.holds_slots = false;
        after.reserved_in.reset();
    }
}

void reads_more(const Snapshot& view, const LimitWork& work, ReadSet& set) {
    for (const BudgetId& id : work.reserved_in) {
        if (!view.limits.holds_budget(id)) {
            set.limits.budgets.push_back(id);
        }
        if (!view.limits.knows_ledger({id, work.execution})) {
            set.limits.ledgers.push_back({id, work.execution});
        }
    }
    if (!view.limits.knows_admissions_of(work.execution)) {
        set.limits.admissions_of.push_back(work.execution);
        return;
    }
    for (const Admission& row : view.limits.admissions_of(work.execution)) {
        if (!view.limits.holds_policy(row.key.policy)) {
            set.limits.policies.push_back(row.key.policy);
        }
    }
}

Decision<Done> decide(const Snapshot& view, const LimitWork& work, const Context& ctx) {
    Changes changes;
    for (const BudgetId& id : work.reserved_in) {
        const Budget* found = view.limits.budget(id);
        const LedgerRow* held = view.limits.ledger({id, work.execution});
        if (found != nullptr && held != nullptr) {
            return_reserved(*found, *held, changes, ctx.now);
        }
    }
    for (const Admission& held : view.limits.admissions_of(work.execution)) {
        const QuotaPolicy* found = view.limits.policy(held.key.policy);
        if (!held.slot_at && !work.forget_start) {
            continue;
        }
        QuotaPolicy policy = found != nullptr ? *found : QuotaPolicy{};
        std::optional<Admission> left = without_slot(policy, held);
        if (left && work.forget_start) {
            left = without_start(policy, *left);
        }
        if (left) {
            changes.put_admissions.push_back(*left);
        } else {
            changes.delete_admissions.push_back(held.key);
        }
        if (found != nullptr) {
            if (policy.waiting || policy.deleted) {
                policy.wake_at = ctx.now;
            }
            put_or_drop(std::move(policy), changes);
        }
    }
    return {Done{}, std::move(changes)};
}

void return_reserved(const Budget& found, const LedgerRow& held, Changes& changes,
                     TimestampMs now) {
    Budget budget = found;
    LedgerRow row = held;
    unreserve(budget, row);
    wake_if_clear(budget, now);
    arm(budget);
    changes.put_budgets.push_back(std::move(budget));
    if (row.spent.empty()) {
        changes.delete_ledgers.push_back(row.key);
    } else {
        changes.put_ledgers.push_back(std::move(row));
    }
}

LogEvent budget_event(const Snapshot& view, const Budget& budget, std::string type,
                      const Breach& breach, const std::optional<ExecutionId>& cause,
                      TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::budgets;
    event.type = std::move(type);
    event.at = now;
    event.execution_id = cause;
    if (const Execution* e =
            cause && view.knows_execution(*cause) ? view.execution(*cause) : nullptr) {
        event.eid = e->eid;
        event.flow_id = e->flow_id;
        event.ns = view.route(e->route).key.ns;
        event.tags = view.knows_input(e->id) ? tags_json(view, *e) : std::nullopt;
    }
    js::Object payload{{"budget_id", budget.id.to_string()}};
    if (!breach.dimension.empty()) {
        payload.emplace_back("dimension", breach.dimension);
        payload.emplace_back("usage", breach.used);
        payload.emplace_back("limit", breach.limit);
    }
    event.payload = js::dump(js::Value(std::move(payload)));
    return event;
}

}  // namespace ff::core
