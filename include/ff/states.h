// The state of an execution: six dimensions that are stored, one label that is derived from them.
//
// Arrows (what moves an execution from phase to phase; every other move is refused):
//
//   create ----------------------------> runnable
//   runnable  --claim------------------> active        (new attempt, or the paused one resumed)
//   active    --complete, fail, cancel, expire, skip, reclaim cap--> terminal
//   active    --fail with a retry left, delay, release, wait_children--> runnable
//   active    --lease expired or revoked--> active     (reclaimable: nobody owns it)
//   active    --reclaim----------------> active        (new attempt under a new lease)
//   active    --suspend----------------> suspended
//   suspended --signal, resume, timeout--> runnable    (or terminal)
//   runnable, suspended --cancel, expire, skip--> terminal
//   terminal  --replay-----------------> runnable
//
// Enumerators are the words on the wire and in the views; nothing else is ever stored or emitted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ff {

/// Declares an enum whose enumerators can be printed and parsed (found by their namespace, so it
/// may be used in any). An enumerator that had to dodge a keyword ends in `_`, its word does not.
#define FF_WORD_ENUM(Type, ...)                                                                    \
    enum class Type : std::uint8_t { __VA_ARGS__ };                                                \
    constexpr std::string_view enum_text(Type) { return #__VA_ARGS__; }

FF_WORD_ENUM(LifecyclePhase, submitted, runnable, active, suspended, terminal)
FF_WORD_ENUM(OwnershipState, unowned, leased, lease_expired_reclaimable, lease_revoked)
FF_WORD_ENUM(EligibilityState, eligible_now, not_eligible_until_time, blocked_by_dependencies,
             blocked_by_budget, blocked_by_quota, blocked_by_route, blocked_by_lane_state,
             blocked_by_operator, not_applicable)
FF_WORD_ENUM(BlockingReason, none, waiting_for_worker, waiting_for_retry_backoff,
             waiting_for_resume_delay, waiting_for_delay, waiting_for_signal, waiting_for_approval,
             waiting_for_callback, waiting_for_tool_result, waiting_for_children,
             waiting_for_budget, waiting_for_quota, waiting_for_capable_worker,
             waiting_for_locality_match, paused_by_operator, paused_by_policy,
             paused_by_flow_cancel)
FF_WORD_ENUM(TerminalOutcome, none, success, failed, cancelled, expired, skipped)
FF_WORD_ENUM(AttemptState, none, pending_first_attempt, running_attempt, attempt_interrupted,
             pending_retry_attempt, pending_replay_attempt, attempt_terminal)
FF_WORD_ENUM(PublicState, waiting, delayed, rate_limited, waiting_children, active, suspended,
             resumable, completed, failed, cancelled, expired, skipped)

/// The life of one attempt row.
FF_WORD_ENUM(AttemptLifecycle, created, started, suspended, ended_success, ended_failure,
             ended_cancelled, interrupted_reclaimed)
FF_WORD_ENUM(AttemptType, initial, retry, reclaim, replay, fallback)
FF_WORD_ENUM(LaneState, active, paused, draining, disabled)
FF_WORD_ENUM(GrantKind, claim, resume, reclaim)
FF_WORD_ENUM(HandleKind, fresh, resumed, suspended, reclaimed)

namespace detail {

constexpr std::size_t count_names(std::string_view text) {
    std::size_t n = 1;
    for (char c : text) {
        n += c == ',' ? 1 : 0;
    }
    return n;
}

template <std::size_t N>
constexpr std::array<std::string_view, N> split_names(std::string_view text) {
    std::array<std::string_view, N> out{};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < N; ++i) {
        while (text[begin] == ' ') {
            ++begin;
        }
        std::size_t end = text.find(',', begin);
        out[i] = text.substr(begin, end == std::string_view::npos ? end : end - begin);
        if (out[i].ends_with('_')) {
            out[i].remove_suffix(1);
        }
        begin = end + 1;
    }
    return out;
}

}  // namespace detail

template <class E>
inline constexpr std::size_t enum_count = detail::count_names(enum_text(E{}));
template <class E>
inline constexpr auto enum_names = detail::split_names<enum_count<E>>(enum_text(E{}));

template <class E>
    requires requires { enum_text(E{}); }
constexpr std::string_view to_string(E value) {
    return enum_names<E>[static_cast<std::size_t>(value)];
}

template <class E>
constexpr std::optional<E> parse_enum(std::string_view word) {
    for (std::size_t i = 0; i < enum_count<E>; ++i) {
        if (enum_names<E>[i] == word) {
            return static_cast<E>(i);
        }
    }
    return std::nullopt;
}

/// The six stored dimensions. Every transition writes all of them.
struct StateVector {
    LifecyclePhase phase = LifecyclePhase::submitted;
    OwnershipState ownership = OwnershipState::unowned;
    EligibilityState eligibility = EligibilityState::not_applicable;
    BlockingReason blocking_reason = BlockingReason::none;
    TerminalOutcome outcome = TerminalOutcome::none;
    AttemptState attempt_state = AttemptState::none;

    bool operator==(const StateVector&) const = default;
};

/// The label people see. Total: an illegal vector gets the nearest label (see is_legal).
PublicState public_state(const StateVector& vector);

/// Is this combination one of the legal rows of the table in spec 01 section 3.3?
bool is_legal(const StateVector& vector);

constexpr bool is_terminal(const StateVector& v) { return v.phase == LifecyclePhase::terminal; }
/// The lease is gone but the attempt has not ended: the next claim makes a new attempt.
constexpr bool is_reclaimable(const StateVector& v) {
    return v.phase == LifecyclePhase::active &&
           (v.ownership == OwnershipState::lease_expired_reclaimable ||
            v.ownership == OwnershipState::lease_revoked);
}

}  // namespace ff
