#include "core/quota_rules.h"

#include <algorithm>
#include <limits>

#include "core/keystore.h"

namespace ff::core {

namespace {

constexpr std::uint64_t window_seconds_max = 31'536'000;
constexpr std::uint64_t window_seconds_default = 60;
constexpr std::uint64_t jitter_ms_max = 86'400'000;

DurationMs window_of(const QuotaLimits& limits) {
    const std::uint64_t seconds =
        limits.window_seconds > 0 ? limits.window_seconds : window_seconds_default;
    return static_cast<DurationMs>(seconds) * 1'000;
}

}  // namespace

expected<void> check_limits(const QuotaLimits& limits) {
    if (limits.window_seconds > window_seconds_max) {
        return ff::fail(
            ErrorCode::invalid_quota_spec,
            "window_seconds: at most 31536000 (got " + std::to_string(limits.window_seconds) + ")");
    }
    if (limits.jitter_ms > jitter_ms_max) {
        return ff::fail(ErrorCode::invalid_quota_spec, "jitter_ms: at most 86400000 (got " +
                                                           std::to_string(limits.jitter_ms) + ")");
    }
    if (limits.max_requests_per_window > amount_max || limits.max_concurrent > amount_max) {
        return ff::fail(ErrorCode::invalid_quota_spec, "limits: at most 9223372036854775807");
    }
    return {};
}

QuotaPolicy new_policy(const QuotaPolicyId& id, const QuotaLimits& limits, TimestampMs now) {
    QuotaPolicy policy;
    policy.id = id;
    policy.limits = limits;
    policy.window_ms = window_of(limits);
    policy.created_at = now;
    policy.updated_at = now;
    return policy;
}

void set_limits(QuotaPolicy& policy, const QuotaLimits& limits, TimestampMs now) {
    policy.limits = limits;
    policy.window_ms = window_of(limits);
    policy.updated_at = now;
}

bool is_unlimited(const QuotaLimits& limits) {
    return limits.max_requests_per_window == 0 && limits.max_concurrent == 0;
}

QuotaPolicyId policy_of_key(const QuotaPolicyId& policy, std::string_view limit_key) {
    constexpr std::size_t uuid_bytes = 16;
    std::string named = policy.uuid.raw();
    named += limit_key;
    return {*Uuid::from_raw(sha256(named).substr(0, uuid_bytes))};
}

QuotaPolicy new_policy_of_key(const QuotaPolicy& parent, const std::string& limit_key,
                              TimestampMs now) {
    QuotaPolicy policy = new_policy(policy_of_key(parent.id, limit_key), parent.limits, now);
    policy.parent = parent.id;
    policy.limit_key = limit_key;
    return policy;
}

void follow_parent(QuotaPolicy& policy, const QuotaPolicy* parent) {
    policy.deleted = policy.deleted || parent == nullptr || parent->deleted;
    if (policy.deleted) {
        policy.window_ms = 0;
    } else {
        policy.limits = parent->limits;
        policy.window_ms = parent->window_ms;
    }
}

bool is_idle_key(const QuotaPolicy& policy) {
    return policy.parent && policy.running == 0 && policy.in_window == 0 && !policy.waiting;
}

void tell_keys(QuotaPolicy& policy, KeysTask task, TimestampMs now) {
    policy.keys_task = std::max(policy.keys_task, task);
    policy.keys_from.reset();
    policy.wake_at = now;
}

void arm_key(QuotaPolicy& policy, TimestampMs now) {
    if (policy.parent && !policy.wake_at && policy.in_window > 0) {
        policy.wake_at = now + policy.window_ms;
    }
}

bool is_aged(const QuotaPolicy& policy, const Admission& admission, TimestampMs now) {
    return admission.admitted_at && *admission.admitted_at <= now - policy.window_ms;
}

AdmissionResult decide_admission(const QuotaPolicy& policy, const QuotaWindow& window,
                                 const Admission* held, Start start, TimestampMs now,
                                 const Jitter& jitter) {
    const QuotaLimits& limits = policy.limits;
    const bool full = limits.max_concurrent > 0 && policy.running >= limits.max_concurrent;
    const bool has_slot = held != nullptr && held->slot_at.has_value();
    const bool has_start = held != nullptr && held->admitted_at && !is_aged(policy, *held, now);
    if (has_slot || has_start) {
        return {limits.max_concurrent > 0 && !has_slot && full
                    ? AdmissionOutcome::concurrency_exceeded
                    : AdmissionOutcome::already_admitted,
                0};
    }
    if (start == Start::fresh && limits.max_requests_per_window > 0 &&
        policy.in_window >= limits.max_requests_per_window) {
        const TimestampMs ages = window.oldest.value_or(now) + policy.window_ms;
        const DurationMs wait = std::max<DurationMs>(0, ages - now);
        return {
            AdmissionOutcome::rate_exceeded,
            wait + static_cast<DurationMs>(limits.jitter_ms > 0 ? jitter(limits.jitter_ms) : 0)};
    }
    if (full) {
        return {AdmissionOutcome::concurrency_exceeded, 0};
    }
    return {AdmissionOutcome::admitted, 0};
}

Admission admit(QuotaPolicy& policy, QuotaWindow& window, const AdmissionKey& key,
                const Admission* held, Start start, TimestampMs now) {
    Admission out = held != nullptr ? *held : Admission{key, std::nullopt, std::nullopt};
    // A key that nothing is left of is forgotten: it counts only what its limits need.
    const bool counts_starts = !policy.parent || policy.limits.max_requests_per_window > 0;
    if (!out.admitted_at && !out.slot_at && start == Start::fresh && counts_starts) {
        out.admitted_at = now;
        policy.in_window += 1;
        window.oldest = std::min(window.oldest.value_or(now), now);
    }
    if (policy.limits.max_concurrent > 0 && !out.slot_at) {
        out.slot_at = now;
        policy.running += 1;
    }
    policy.offered -= policy.offered > 0 ? 1 : 0;
    arm(policy, window);
    return out;
}

std::optional<Admission> without_start(QuotaPolicy& policy, Admission admission) {
    if (admission.admitted_at) {
        policy.in_window -= policy.in_window > 0 ? 1 : 0;
        admission.admitted_at.reset();
    }
    return admission.slot_at ? std::optional(admission) : std::nullopt;
}

std::optional<Admission> without_slot(QuotaPolicy& policy, Admission admission) {
    if (admission.slot_at) {
        policy.running -= policy.running > 0 ? 1 : 0;
        admission.slot_at.reset();
    }
    return admission.admitted_at ? std::optional(admission) : std::nullopt;
}

namespace {

/// What a limit leaves to those who wait, without those on their way.
std::size_t left_of(std::uint64_t limit, std::uint64_t taken, std::uint64_t offered) {
    return limit == 0 ? std::numeric_limits<std::size_t>::max()
                      : limit - std::min(limit, taken + offered);
}

}  // namespace

std::size_t slots_left(const QuotaPolicy& policy) {
    return left_of(policy.limits.max_concurrent, policy.running, policy.offered);
}

std::size_t room(const QuotaPolicy& policy) {
    return std::min(slots_left(policy), left_of(policy.limits.max_requests_per_window,
                                                policy.in_window, policy.offered));
}

void arm(QuotaPolicy& policy, const QuotaWindow& window) {
    if (!policy.waiting || policy.limits.max_requests_per_window == 0 || !window.oldest) {
        return;
    }
    const TimestampMs ages = *window.oldest + policy.window_ms;
    policy.wake_at = std::min(policy.wake_at.value_or(ages), ages);
}

std::string gate_of(const QuotaPolicyId& id) { return "quota:" + id.to_string(); }

std::string refusal_text(const QuotaPolicy& policy, AdmissionOutcome outcome) {
    const std::string name = "quota " + policy.parent.value_or(policy.id).to_string() +
                             (policy.limit_key ? ", key " + *policy.limit_key : "") + ": ";
    if (outcome == AdmissionOutcome::rate_exceeded) {
        return name + "rate limit " + std::to_string(policy.limits.max_requests_per_window) +
               " per " + std::to_string(policy.window_ms / 1'000) + "s window";
    }
    return name + "concurrency cap " + std::to_string(policy.limits.max_concurrent);
}

}  // namespace ff::core
