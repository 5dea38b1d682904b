// Quota policies: definition, and asking one directly.
#include "core/admission.h"
#include "core/decide.h"

namespace ff::core {

namespace {

/// The policy somebody has defined.
const QuotaPolicy* defined(const Snapshot& view, const QuotaPolicyId& id) {
    const QuotaPolicy* found = view.limits.policy(id);
    return found != nullptr && !found->deleted && !found->unnamed ? found : nullptr;
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
        // What it gave counts on: nobody has defined it yet, or its end is under way.
        policy.running = found->running;
        policy.in_window = found->in_window;
        policy.waiting = found->waiting;
        wake(policy, ctx.now);
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
    QuotaPolicy policy = *found;
    Changes changes;
    set_limits(policy, args.limits, ctx.now);
    wake(policy, ctx.now);
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
    policy.updated_at = ctx.now;
    policy.wake_at = ctx.now;  // whoever waits goes on, then the row goes
    Changes changes;
    changes.put_policies.push_back(std::move(policy));
    return {Done{}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- asking

expected<void> validate(CheckAdmission& args) {
    return args.given ? check_limits(*args.given) : expected<void>();
}

void reads(const CheckAdmission& args, ReadSet& set) {
    set.need(args.execution_id);
    set.limits.policies.push_back(args.quota_policy_id);
    set.limits.admissions.push_back({args.execution_id, args.quota_policy_id});
}

Decision<AdmissionResult> decide(const Snapshot& view, const CheckAdmission& args,
                                 const Context& ctx) {
    const QuotaPolicyId& id = args.quota_policy_id;
    const QuotaPolicy* found = view.limits.policy(id);
    if (defined(view, id) == nullptr && !args.given) {
        return ff::fail(ErrorCode::quota_policy_not_found);
    }
    QuotaPolicy policy = found != nullptr ? *found : new_policy(id, *args.given, ctx.now);
    if (defined(view, id) == nullptr) {
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
        if (e != nullptr && !e->has_admissions) {
            changes.put_executions.push_back(*e);
            changes.put_executions.back().has_admissions = true;
        }
    }
    changes.put_policies.push_back(std::move(policy));
    return {answer, std::move(changes)};
}

expected<void> validate(ReleaseAdmission&) { return {}; }

void reads(const ReleaseAdmission& args, ReadSet& set) {
    set.limits.policies.push_back(args.quota_policy_id);
    set.limits.admissions.push_back({args.execution_id, args.quota_policy_id});
}

Decision<Done> decide(const Snapshot& view, const ReleaseAdmission& args, const Context& ctx) {
    const Admission* held = view.limits.admission({args.execution_id, args.quota_policy_id});
    const QuotaPolicy* found = view.limits.policy(args.quota_policy_id);
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
    changes.put_policies.push_back(std::move(policy));
    return {Done{}, std::move(changes)};
}

}  // namespace ff::core
