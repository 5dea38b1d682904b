// What a quota policy answers, and when those who wait may go on. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ff/error.h>

#include "core/limit_records.h"

namespace ff::core {

expected<void> check_limits(const QuotaLimits& limits);
QuotaPolicy new_policy(const QuotaPolicyId& id, const QuotaLimits& limits, TimestampMs now);
/// Other numbers for the same policy; what it has given stays given.
void set_limits(QuotaPolicy& policy, const QuotaLimits& limits, TimestampMs now);
bool is_unlimited(const QuotaLimits& limits);

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
/// Sets `wake_at` to when the next start ages, if somebody waits for that.
void arm(QuotaPolicy& policy, const QuotaWindow& window);

std::string gate_of(const QuotaPolicyId& id);
/// `quota <id>: rate limit <n> per <s>s window`, `quota <id>: concurrency cap <n>`.
std::string refusal_text(const QuotaPolicy& policy, AdmissionOutcome outcome);

}  // namespace ff::core
