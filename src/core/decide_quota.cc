// Quota policies: definition, and asking one directly.
#include "core/admission.h"
#include "core/decide.h"

namespace ff::core {

namespace {

/// The policy somebody has defined.
const QuotaPolicy* defined(const Snapshot& view, const QuotaPolicyId& id) {
    const QuotaPolicy* found = view.limits.policy(id);
    return found != nullptr && !found->deleted && !found->unnamed && !found->parent ? found
                                                                                    : nullptr;
}

void wake(QuotaPolicy& policy, TimestampMs now) {
    if (policy.waiting) {
        policy.wake_at = now;
    }
}

}  // namespace

expected<void> validate(CreateQuotaPolicy& args) { return check_limits(args.limits); }

void reads(const CreateQuotaPolicy& args, ReadSet& set) {
    set.limits.policies.push_back(args.quota_policy_id);
}

Decision<CreateQuotaResult> decide(const Snapshot& view, const CreateQuotaPolicy& args,
                                   const Context& ctx) {
    const QuotaPolicyId& id = args.quota_policy_id;
    if (const QuotaPolicy* found = defined(view, id)) {
        return CreateQuotaResult{id, false, found->limits == args.limits};
    }
    Changes changes;
    QuotaPolicy policy = new_policy(id, args.limits, ctx.now);
    if (const QuotaPolicy* found = view.limits.policy(id)) {
        if (found->deleted && found->limits.per_key != args.limits.per_key) {
            return ff::fail(ErrorCode::invalid_quota_spec,
                            "per_key: one that counted otherwise is being deleted; try again");
        }
        // What it gave counts on: nobody has defined it yet, or its end is under way.
        policy.running = found->running;
        policy.in_window = found->in_window;
        policy.offered = found->offered;
        policy.waiting = found->waiting;
        wake(policy, ctx.now);
        if (found->keys_task != KeysTask::none) {
            tell_keys(policy, found->keys_task, ctx.now);
        }
    }
    changes.put_policies.push_back(std::move(policy));
    return {CreateQuotaResult{id, true, true}, std::move(changes)};
}

expected<void> validate(UpdateQuotaPolicy& args) { return check_limits(args.limits); }

void reads(const UpdateQuotaPolicy& args, ReadSet& set) {
    set.limits.policies.push_back(args.quota_policy_id);
}

Decision<Done> decide(const Snapshot& view, const UpdateQuotaPolicy& args, const Context& ctx) {
    const QuotaPolicy* found = defined(view, args.quota_policy_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    const bool by_key = found->limits.per_key;
    if (args.limits.per_key && !by_key) {
        return ff::fail(ErrorCode::invalid_quota_spec,
                        "per_key: cannot be changed; define another policy");
    }
    QuotaPolicy policy = *found;
    Changes changes;
    set_limits(policy, args.limits, ctx.now);
    policy.limits.per_key = by_key;
    wake(policy, ctx.now);
    if (by_key) {
        tell_keys(policy, KeysTask::wake, ctx.now);
    }
    changes.put_policies.push_back(std::move(policy));
    return {Done{}, std::move(changes)};
}

expected<void> validate(DeleteQuotaPolicy&) { return {}; }

void reads(const DeleteQuotaPolicy& args, ReadSet& set) {
    set.limits.policies.push_back(args.quota_policy_id);
}

Decision<Done> decide(const Snapshot& view, const DeleteQuotaPolicy& args, const Context& ctx) {
    const QuotaPolicy* found = defined(view, args.quota_policy_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    QuotaPolicy policy = *found;
    policy.deleted = true;
    policy.window_ms = 0;  // no start counts any more: all have aged
    policy.updated_at = ctx.now;
    policy.wake_at = ctx.now;  // whoever waits goes on, then the row goes
    if (policy.limits.per_key) {
        tell_keys(policy, KeysTask::end, ctx.now);
    }
    Changes changes;
    changes.put_policies.push_back(std::move(policy));
    return {Done{}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- asking

namespace {

/// The policy that answers: where it counts by key, that of the execution's key. None: it does not
/// limit the execution.
std::optional<QuotaPolicyId> asked_policy(const Snapshot& view, const QuotaPolicyId& id,
                                          const ExecutionId& execution) {
    const QuotaPolicy* policy = defined(view, id);
    if (policy == nullptr || !policy->limits.per_key) {
        return id;
    }
    const Execution* e = view.execution(execution);
    return e != nullptr && e->limit_key ? std::optional(policy_of_key(id, *e->limit_key))
                                        : std::nullopt;
}

template <class Args>
void read_asked(const Snapshot& view, const Args& args, ReadSet& set) {
    const auto id = asked_policy(view, args.quota_policy_id, args.execution_id);
    if (id && !view.limits.holds_policy(*id)) {
        set.limits.policies.push_back(*id);
    }
    if (id && !view.limits.knows_admission({args.execution_id, *id})) {
        set.limits.admissions.push_back({args.execution_id, *id});
    }
}

}  // namespace

expected<void> validate(CheckAdmission& args) {
    if (args.given && args.given->per_key) {
        return ff::fail(ErrorCode::invalid_quota_spec, "per_key: only of a policy that is defined");
    }
    return args.given ? check_limits(*args.given) : expected<void>();
}

void reads(const CheckAdmission& args, ReadSet& set) {
    set.need(args.execution_id);
    set.limits.policies.push_back(args.quota_policy_id);
}

void reads_more(const Snapshot& view, const CheckAdmission& args, ReadSet& set) {
    read_asked(view, args, set);
}

Decision<AdmissionResult> decide(const Snapshot& view, const CheckAdmission& args,
                                 const Context& ctx) {
    const QuotaPolicy* parent = defined(view, args.quota_policy_id);
    if (parent == nullptr && !args.given) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    const auto asked = asked_policy(view, args.quota_policy_id, args.execution_id);
    if (!asked) {
        return AdmissionResult{};
    }
    const QuotaPolicyId& id = *asked;
    const QuotaPolicy* found = view.limits.policy(id);
    QuotaPolicy policy = found != nullptr ? *found : QuotaPolicy{};
    if (id != args.quota_policy_id) {
        if (found == nullptr) {
            policy =
                new_policy_of_key(*parent, *view.execution(args.execution_id)->limit_key, ctx.now);
        }
        policy.deleted = false;  // an end that was under way is not that of this policy
        follow_parent(policy, parent);
    } else if (parent == nullptr) {
        policy = found != nullptr ? *found : new_policy(id, *args.given, ctx.now);
        set_limits(policy, *args.given, ctx.now);
        policy.unnamed = true;
    }
    if (is_unlimited(policy.limits)) {
        return AdmissionResult{};
    }
    Changes changes;
    drop_aged(view, policy, changes);
    const AdmissionKey key{args.execution_id, id};
    const auto own = still_held(view, view.limits.admission(key), policy, ctx.now);
    const Admission* held = own ? &*own : nullptr;
    const Execution* e = view.execution(args.execution_id);
    const Start start = e != nullptr && e->state.attempt_state == AttemptState::attempt_interrupted
                            ? Start::resumed
                            : Start::fresh;
    QuotaWindow window = view.limits.window(id);
    const AdmissionResult answer =
        decide_admission(policy, window, held, start, ctx.now,
                         [&](std::uint64_t bound) { return ctx.ids.uniform(bound); });
    if (answer.outcome == AdmissionOutcome::admitted ||
        answer.outcome == AdmissionOutcome::already_admitted) {
        changes.put_admissions.push_back(admit(policy, window, key, held, start, ctx.now));
        changes.put_windows.emplace_back(id, window);
        if (e != nullptr) {
            Execution& row = changes.put_executions.emplace_back(*e);
            row.has_admissions = true;
            row.holds_slots = row.holds_slots || (e->state.phase == LifecyclePhase::active &&
                                                  changes.put_admissions.back().slot_at);
        }
    }
    arm_key(policy, ctx.now);
    put_or_drop(std::move(policy), changes);
    return {answer, std::move(changes)};
}

expected<void> validate(ReleaseAdmission&) { return {}; }

void reads(const ReleaseAdmission& args, ReadSet& set) {
    set.need(args.execution_id);
    set.limits.policies.push_back(args.quota_policy_id);
}

void reads_more(const Snapshot& view, const ReleaseAdmission& args, ReadSet& set) {
    read_asked(view, args, set);
}

Decision<Done> decide(const Snapshot& view, const ReleaseAdmission& args, const Context& ctx) {
    const auto asked = asked_policy(view, args.quota_policy_id, args.execution_id);
    const Admission* held = asked ? view.limits.admission({args.execution_id, *asked}) : nullptr;
    const QuotaPolicy* found = asked ? view.limits.policy(*asked) : nullptr;
    if (held == nullptr || found == nullptr) {
        return Done{};
    }
    QuotaPolicy policy = *found;
    Changes changes;
    Admission rest = *held;
    without_slot(policy, rest);
    without_start(policy, rest);
    changes.delete_admissions.push_back(held->key);
    wake(policy, ctx.now);
    put_or_drop(std::move(policy), changes);
    return {Done{}, std::move(changes)};
}

}  // namespace ff::core
