// The rows of suspension as plain values.
//
// All of them but the keys belong to one execution, whose row is their lock. A suspension is one
// episode of waiting and stays when it is over. The ledger keeps every signal; what a signal has
// satisfied is a row of its own, so that a signal costs the same however many came before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/ids.h>
#include <ff/suspension.h>

namespace ff::core {

/// The place of a suspension without a deadline in the list of those that wait.
inline constexpr TimestampMs no_deadline = 9'999'999'999'999;

struct SuspensionKey {
    std::int64_t eid = 0;
    std::uint32_t episode = 0;  ///< of the execution, from 1

    auto operator<=>(const SuspensionKey&) const = default;
};

struct Suspension {
    SuspensionKey key;
    SuspensionId id;
    ExecutionId execution_id;
    std::string lane;
    std::uint32_t attempt_index = 0;
    std::string waitpoints;   ///< JSON: pairs of id and key, the first is the primary one
    std::string reason_code;  ///< a word of SuspensionReason, or one that is foreign
    SuspensionRequester requested_by = SuspensionRequester::worker;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> timeout_at;
    std::optional<TimeoutBehavior> timeout_behavior;
    std::string condition;      ///< JSON
    std::string resume_policy;  ///< JSON
    /// How much of each node of the condition is satisfied: numbers in the order of the tree.
    std::string satisfied_counts;
    std::optional<std::string> continuation;
    std::optional<std::string> idempotency_key;
    std::optional<TimestampMs> dedup_expires_at;
    std::optional<LeaseId> lease_id;  ///< that suspended
    bool entered = true;              ///< false: early signals sufficed and the lease was kept
    std::optional<TimestampMs> last_signal_at;
    std::optional<TimestampMs> satisfied_at;
    std::optional<TimestampMs> closed_at;
    std::optional<std::string> close_reason;
    std::optional<ResumeTrigger> resume_trigger;
    std::optional<std::string> resumed_by;
    std::optional<SignalId> closer_signal_id;
    std::optional<TimestampMs> escalated_at;
    std::optional<DurationMs> remaining_attempt_timeout_ms;
    /// When its time runs out, or `no_deadline`; absent once it is closed.
    std::optional<TimestampMs> waits_until;

    bool operator==(const Suspension&) const = default;
};

struct Waitpoint {
    WaitpointId id;
    std::int64_t eid = 0;
    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    std::optional<std::uint32_t> episode;  ///< of its suspension
    std::string key;
    std::string token;  ///< a credential
    std::string token_kid;
    WaitpointState state = WaitpointState::pending;
    std::vector<std::string> required_signal_names;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> activated_at;
    std::optional<TimestampMs> satisfied_at;
    std::optional<TimestampMs> expires_at;
    std::optional<TimestampMs> closed_at;
    std::optional<std::string> close_reason;
    std::uint64_t signal_count = 0;
    std::uint64_t matched_signal_count = 0;
    std::optional<TimestampMs> last_signal_at;

    [[nodiscard]] bool open() const {
        return state == WaitpointState::pending || state == WaitpointState::active;
    }
    bool operator==(const Waitpoint&) const = default;
};

struct SignalKey {
    std::int64_t eid = 0;
    std::uint64_t seq = 0;  ///< of the execution, from 1

    auto operator<=>(const SignalKey&) const = default;
};

struct Signal {
    SignalKey key;
    SignalId id;
    WaitpointId waitpoint_id;
    SignalScope scope = SignalScope::execution;
    std::string name;
    std::string category;
    std::string source_type;
    std::string source_identity;
    std::string correlation_id;
    std::optional<std::string> idempotency_key;
    std::optional<TimestampMs> dedup_expires_at;  ///< until then the key stands for this signal
    TimestampMs created_at = 0;
    TimestampMs accepted_at = 0;
    std::optional<std::string> payload;
    std::string payload_encoding;
    SignalEffect effect = SignalEffect::no_op;
    bool matched = false;

    bool operator==(const Signal&) const = default;
};

/// The node of a signal that time itself has sent: none of the condition's.
inline constexpr std::uint32_t timeout_node = 0xffff'ffff;

/// A fact a condition asked for, told apart at a node. None when the first signal was enough.
struct SatisfierKey {
    SuspensionKey suspension;
    std::uint32_t node = 0;  ///< of the condition, in the order of the tree
    std::string token;

    auto operator<=>(const SatisfierKey&) const = default;
};

struct Satisfier {
    SatisfierKey key;
    std::uint64_t seq = 0;  ///< of the signal

    bool operator==(const Satisfier&) const = default;
};

/// A key that tokens are signed with.
struct HmacKey {
    std::string kid;
    std::string secret;   ///< bytes; sealed when `sealed`
    bool sealed = false;  ///< encrypted with the keystore's key
    TimestampMs installed_at = 0;
    bool is_current = false;
    std::optional<TimestampMs> expires_at;  ///< absent for the current one

    bool operator==(const HmacKey&) const = default;
};

}  // namespace ff::core
