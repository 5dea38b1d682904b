// The rows of budgets and quotas as plain values.
//
// A budget row is the lock of its budget and holds all that a claim must see of it: limits, usage,
// and whether somebody waits. A policy row is the lock of its policy; starts that count and slots
// that are taken are rows of their own, one for each execution (`Admission`), and the policy keeps
// how many there are. Who is refused waits in the ready queue of a gate (core/derive.h); that
// somebody does is a flag here, which may say so a moment too long and never too short.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/ids.h>
#include <ff/limits.h>

namespace ff::core {

struct Budget {
    BudgetId id;
    std::string scope_type;
    std::string scope_id;
    EnforcementMode mode = EnforcementMode::strict;
    OnHardLimit on_hard_limit = OnHardLimit::reject;
    OnSoftLimit on_soft_limit = OnSoftLimit::warn;
    DurationMs reset_interval_ms = 0;
    std::optional<TimestampMs> next_reset_at;
    std::optional<TimestampMs> last_reset_at;
    std::uint64_t reset_count = 0;  ///< numbers the periods
    std::uint64_t breach_count = 0;
    std::uint64_t soft_breach_count = 0;
    std::optional<TimestampMs> last_breach_at;
    std::optional<std::string> last_breach_dim;
    TimestampMs created_at = 0;
    TimestampMs updated_at = 0;
    BudgetLimits limits;
    Amounts usage;
    Amounts reserved;                              ///< by those who run; ledger rows say who
    std::optional<std::uint64_t> approved_period;  ///< may go past its soft limits
    bool waiting = false;                          ///< somebody may stand at its gate
    std::optional<TimestampMs> wake_at;            ///< when to look who may leave the gate
    std::optional<std::string> cancel_dim;   ///< what it covers is being cancelled because of this
    std::optional<ExecutionId> cancel_from;  ///< and so far it has come
    std::optional<TimestampMs> timer_at;     ///< when time must look at it; kept by arm()

    bool operator==(const Budget&) const = default;
};

struct LedgerKey {
    BudgetId budget;
    ExecutionId execution;

    auto operator<=>(const LedgerKey&) const = default;
};

/// What an execution has spent in one period. A later period takes its place: what was spent before
/// a reset counts no more.
struct LedgerRow {
    LedgerKey key;
    std::uint64_t reset_epoch = 0;
    Amounts spent;
    Amounts reserved;  ///< whatever the period
    TimestampMs updated_at = 0;

    bool operator==(const LedgerRow&) const = default;
};

struct DedupKey {
    BudgetId budget;
    std::string key;

    auto operator<=>(const DedupKey&) const = default;
};

struct UsageDedup {
    DedupKey key;
    TimestampMs applied_at = 0;
    TimestampMs expires_at = 0;

    bool operator==(const UsageDedup&) const = default;
};

/// What is to be done with the keys of a policy that counts by key, a page at a time.
FF_WORD_ENUM(KeysTask, none, wake, release, end)

/// A policy that counts by key gives nothing itself: each key has a row of its own, from the first
/// that asks until nothing is taken and nobody waits. Its limits are those of its parent, taken
/// over whenever it is looked at.
struct QuotaPolicy {
    QuotaPolicyId id;
    QuotaLimits limits;
    DurationMs window_ms = 0;  ///< of `limits`, as it counts
    TimestampMs created_at = 0;
    TimestampMs updated_at = 0;
    std::uint64_t running = 0;           ///< admissions with a slot
    std::uint64_t in_window = 0;         ///< admissions with a start, aged ones until they are seen
    std::uint64_t offered = 0;           ///< let through the gate and not yet started
    bool waiting = false;                ///< somebody may stand at its gate
    std::optional<TimestampMs> wake_at;  ///< when to look who may leave the gate
    bool unnamed = false;                ///< nobody defined it: the numbers came with a check
    bool deleted = false;                ///< goes when nobody waits any more
    std::optional<QuotaPolicyId> parent;   ///< of one key: the policy that counts by key
    std::optional<std::string> limit_key;  ///< of one key
    KeysTask keys_task = KeysTask::none;   ///< of one key: only `release`, for who waits
    std::optional<std::string> keys_from;  ///< so far it has come

    bool operator==(const QuotaPolicy&) const = default;
};

struct AdmissionKey {
    ExecutionId execution;
    QuotaPolicyId policy;

    auto operator<=>(const AdmissionKey&) const = default;
};

/// What a policy has given to an execution: a start that counts in the window, a slot, or both.
struct Admission {
    AdmissionKey key;
    std::optional<TimestampMs> admitted_at;
    std::optional<TimestampMs> slot_at;

    bool operator==(const Admission&) const = default;
};

FF_WORD_ENUM(LimitKind, budget, quota)
/// Of a budget or a policy.
using LimitId = UuidId<struct LimitIdTag>;

struct TargetKey {
    LimitTarget type = LimitTarget::execution;
    std::string id;

    auto operator<=>(const TargetKey&) const = default;
};

struct AttachmentKey {
    LimitKind kind = LimitKind::budget;
    LimitId limit;
    TargetKey target;

    auto operator<=>(const AttachmentKey&) const = default;
};

struct Attachment {
    AttachmentKey key;
    /// Claims and creates look at all of these: those of lanes and namespaces, and those of an
    /// execution or flow that was named before it was there. The others know of it themselves.
    bool by_place = false;
    bool by_key = false;  ///< of a policy that counts by key

    bool operator==(const Attachment&) const = default;
};

/// A limit that time must look at.
struct LimitKey {
    LimitKind kind = LimitKind::budget;
    LimitId id;

    auto operator<=>(const LimitKey&) const = default;
};

/// What an execution gives back because of something that happened to it; done in the transaction
/// that caused it.
struct LimitWork {
    ExecutionId execution;
    bool forget_start = false;  ///< it never began: its start does not count either
    std::vector<BudgetId> reserved_in;

    bool operator==(const LimitWork&) const = default;
};

}  // namespace ff::core
