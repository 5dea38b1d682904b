// What a quota policy answers, and when those who wait may go on. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

#include "core/limit_records.h"

namespace ff::core {

expected<void> check_limits(const QuotaLimits& limits);
QuotaPolicy new_policy(const QuotaPolicyId& id, const QuotaLimits& limits, TimestampMs now);
/// Other numbers for the same policy; what it has given stays given.
void set_limits(QuotaPolicy& policy, const QuotaLimits& limits, TimestampMs now);
bool is_unlimited(const QuotaLimits& limits);

/// The policy that counts one key of another.
QuotaPolicyId policy_of_key(const QuotaPolicyId& policy, std::string_view limit_key);
QuotaPolicy new_policy_of_key(const QuotaPolicy& parent, const std::string& limit_key,
                              TimestampMs now);
/// Takes over what the policy that counts by key says now; null: it is gone.
void follow_parent(QuotaPolicy& policy, const QuotaPolicy* parent);
/// Is it of a key, and could as well not be there?
bool is_idle_key(const QuotaPolicy& policy);
/// Has something done with the keys of one that counts by key; an end is not taken back.
void tell_keys(QuotaPolicy& policy, KeysTask task, TimestampMs now);
/// Has one of a key looked at again when the starts it counts now have aged: it may go then.
void arm_key(QuotaPolicy& policy, TimestampMs now);

/// What a policy knows of its window beside the counts.
struct QuotaWindow {
    std::optional<TimestampMs> oldest;  ///< of the starts that count
};

/// Who asks.
enum class Start : std::uint8_t {
    fresh,    ///< begins an attempt
    resumed,  ///< goes on with one: no new start
};

/// Uniform in 0..bound.
using Jitter = std::function<std::uint64_t(std::uint64_t bound)>;

/// The answer to one who asks; `held` is what it has of the policy already. Aged starts must have
/// been dropped.
AdmissionResult decide_admission(const QuotaPolicy& policy, const QuotaWindow& window,
                                 const Admission* held, Start start, TimestampMs now,
                                 const Jitter& jitter);
/// Gives what was decided.
Admission admit(QuotaPolicy& policy, QuotaWindow& window, const AdmissionKey& key,
                const Admission* held, Start start, TimestampMs now);

/// Does the start count no more? One that is exactly a window old does not.
bool is_aged(const QuotaPolicy& policy, const Admission& admission, TimestampMs now);
/// Drops an aged start; nothing is left of an admission without a slot.
std::optional<Admission> without_start(QuotaPolicy& policy, Admission admission);
std::optional<Admission> without_slot(QuotaPolicy& policy, Admission admission);

/// How many of those who wait may try now.
std::size_t room(const QuotaPolicy& policy);
/// How many who need no new start may.
std::size_t slots_left(const QuotaPolicy& policy);
/// Sets `wake_at` to when the next start ages, if somebody waits for that.
void arm(QuotaPolicy& policy, const QuotaWindow& window);

std::string gate_of(const QuotaPolicyId& id);
/// `quota <id>: rate limit <n> per <s>s window`, `quota <id>: concurrency cap <n>`.
std::string refusal_text(const QuotaPolicy& policy, AdmissionOutcome outcome);

}  // namespace ff::core
