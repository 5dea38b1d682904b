#include "core/admission.h"

#include <algorithm>
#include <map>
#include <set>

#include <ff/json.h>
#include "core/decide.h"
#include "core/transitions.h"

namespace ff::core {

namespace {

TargetKey flow_target(const FlowId& id) { return {LimitTarget::flow, id.to_string()}; }

/// The flow, when it is known to carry limits.
const Flow* limited_flow(const Snapshot& view, const Execution& e) {
    if (!e.flow_id || !view.knows_flow(*e.flow_id)) {
        return nullptr;
    }
    const Flow* flow = view.flow(*e.flow_id);
    return flow != nullptr && flow->limited ? flow : nullptr;
}

void block(const Execution& candidate, EligibilityState eligibility, BlockingReason reason,
           std::string gate, std::string detail, std::optional<TimestampMs> until, Verdict& out,
           const Context& ctx) {
    Execution e = candidate;
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned, eligibility, reason,
               TerminalOutcome::none, e.state.attempt_state},
              ctx.now);
    e.gate = std::move(gate);
    e.blocked_at = ctx.now;
    e.blocked_until = until;
    e.blocking_detail = std::move(detail);
    out.changes.put_executions.push_back(std::move(e));
}

/// Is it refused by a budget? Then it waits there.
bool refuse_by_budget(const Snapshot& view, const Execution& e, const Applicable& limits,
                      Verdict& out, const Context& ctx) {
    for (const BudgetId& id : limits.budgets) {
        const Budget* budget = view.limits.budget(id);
        const auto breach = budget != nullptr ? blocking(*budget) : std::nullopt;
        if (!breach) {
            continue;
        }
        std::string detail = refusal_text(id, *breach);
        out.refusal = Error{ErrorCode::budget_exceeded, detail, {}};
        block(e, EligibilityState::blocked_by_budget, BlockingReason::waiting_for_budget,
              gate_of(id), std::move(detail), budget->next_reset_at, out, ctx);
        if (!budget->waiting) {
            Budget waiting = *budget;
            waiting.waiting = true;
            out.changes.put_budgets.push_back(std::move(waiting));
        }
        return true;
    }
    return false;
}

void refuse_by_quota(const Execution& e, QuotaPolicy& policy, const AdmissionResult& answer,
                     Verdict& out, const Context& ctx) {
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
    block(e, EligibilityState::blocked_by_quota, BlockingReason::waiting_for_quota,
          gate_of(policy.id), std::move(detail), until, out, ctx);
}

}  // namespace

std::vector<BudgetId> own_budgets(const Execution& e) {
    std::vector<BudgetId> out;
    std::string_view rest = e.budgets ? std::string_view(*e.budgets) : std::string_view();
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (const auto id = BudgetId::parse(rest.substr(0, comma))) {
            out.push_back(*id);
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return out;
}

void set_own_budgets(Execution& e, const std::vector<BudgetId>& ids) {
    std::string text;
    for (const BudgetId& id : ids) {
        text += (text.empty() ? "" : ",") + id.to_string();
    }
    e.budgets = non_empty(std::move(text));
}

bool waits_at_limit(const Execution& e) {
    return e.gate && (e.gate->starts_with("budget:") || e.gate->starts_with("quota:"));
}

void need_applicable(const Snapshot& view, const Execution& e, ReadSet& set) {
    if (!view.limits.knows_places()) {
        set.limits.places = true;
    }
    if (const Flow* flow = limited_flow(view, e)) {
        if (const TargetKey target = flow_target(flow->id); !view.limits.knows_target(target)) {
            set.limits.targets.push_back(target);
        }
    }
}

Applicable applicable(const Snapshot& view, const Execution& e) {
    Applicable out;
    out.budgets = own_budgets(e);
    if (e.quota) {
        out.quotas.push_back(*e.quota);
    }
    const auto add = [&](const AttachmentKey& key) {
        if (key.kind == LimitKind::budget) {
            out.budgets.push_back(BudgetId{key.limit.uuid});
        } else {
            out.quotas.push_back(QuotaPolicyId{key.limit.uuid});
        }
    };
    if (view.limits.any_places()) {
        const RouteKey& route = view.route(e.route).key;
        for (const AttachmentKey& key : view.limits.places()) {
            const bool applies =
                (key.target.type == LimitTarget::lane && key.target.id == route.lane) ||
                (key.target.type == LimitTarget::namespace_ && key.target.id == route.ns);
            if (applies) {
                add(key);
            }
        }
    }
    if (const Flow* flow = limited_flow(view, e)) {
        for (const Attachment& row : view.limits.attached_to(flow_target(flow->id))) {
            add(row.key);
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

void need_limits(const Snapshot& view, const Execution& e, const Applicable& limits, ReadSet& set) {
    for (const BudgetId& id : limits.budgets) {
        if (!view.limits.knows_budget(id)) {
            set.limits.budgets_looked.push_back(id);
        }
    }
    for (const QuotaPolicyId& id : limits.quotas) {
        if (!view.limits.knows_policy(id)) {
            set.limits.policies.push_back(id);
        }
        if (e.has_admissions && !view.limits.knows_admission({e.id, id})) {
            set.limits.admissions.push_back({e.id, id});
        }
    }
}

Verdict decide_limits(const Snapshot& view, const Execution& e, const Applicable& limits,
                      const Context& ctx) {
    Verdict out;
    if (refuse_by_budget(view, e, limits, out, ctx)) {
        return out;
    }
    const Start start =
        e.state.attempt_state == AttemptState::attempt_interrupted ? Start::resumed : Start::fresh;
    const Jitter jitter = [&ctx](std::uint64_t bound) { return ctx.ids.uniform(bound); };
    Changes taken;
    for (const QuotaPolicyId& id : limits.quotas) {
        const QuotaPolicy* found = view.limits.policy(id);
        if (found == nullptr || found->deleted || found->unnamed || is_unlimited(found->limits)) {
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
            drop_aged(view, policy = *found, out.changes);
            refuse_by_quota(e, policy, answer, out, ctx);
            out.changes.put_policies.push_back(std::move(policy));
            return out;
        }
        Admission given = admit(policy, window, {e.id, id}, held, start, ctx.now);
        out.took = true;
        out.took_slot = out.took_slot || given.slot_at.has_value();
        taken.put_admissions.push_back(given);
        taken.put_windows.emplace_back(id, window);
        taken.put_policies.push_back(std::move(policy));
    }
    out.changes = std::move(taken);
    out.admitted = true;
    return out;
}

void note_admission(const Verdict& verdict, Execution& e) {
    e.has_admissions = e.has_admissions || verdict.took;
    e.holds_slots = e.holds_slots || verdict.took_slot;
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

void add_limit_work(const Execution* before, Execution& after, std::vector<LimitWork>& out) {
    if (!after.has_admissions || after.state.phase == LifecyclePhase::active ||
        after.grant_expires_at) {
        return;
    }
    const bool never_began = before != nullptr && before->grant_expires_at &&
                             after.state.phase == LifecyclePhase::runnable;
    if (after.holds_slots || never_began) {
        out.push_back({after.id, never_began});
        after.holds_slots = false;
    }
}

void reads_more(const Snapshot& view, const LimitWork& work, ReadSet& set) {
    if (!view.limits.knows_admissions_of(work.execution)) {
        set.limits.admissions_of.push_back(work.execution);
        return;
    }
    for (const Admission& row : view.limits.admissions_of(work.execution)) {
        if (!view.limits.knows_policy(row.key.policy)) {
            set.limits.policies.push_back(row.key.policy);
        }
    }
}

Decision<Done> decide(const Snapshot& view, const LimitWork& work, const Context& ctx) {
    Changes changes;
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
            if (policy.waiting) {
                policy.wake_at = ctx.now;
            }
            changes.put_policies.push_back(std::move(policy));
        }
    }
    return {Done{}, std::move(changes)};
}

LogEvent budget_event(const Budget& budget, std::string type, const Breach& breach,
                      const std::optional<ExecutionId>& execution, TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::budgets;
    event.type = std::move(type);
    event.at = now;
    event.execution_id = execution;
    js::Object payload{{"budget_id", budget.id.to_string()}};
    if (!breach.dimension.empty()) {
        payload.emplace_back("dimension", breach.dimension);
        payload.emplace_back("usage", breach.used);
        payload.emplace_back("limit", breach.limit);
    }
    if (execution) {
        payload.emplace_back("execution_id", execution->to_string());
    }
    event.payload = js::dump(js::Value(std::move(payload)));
    return event;
}

}  // namespace ff::core
