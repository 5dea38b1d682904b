// What follows from an execution's row alone: whether it can be claimed, when it must be looked at
// next, and in which list of rare conditions it stands. The stores keep these as narrow side
// tables beside the row; they are never decided on their own, so they cannot drift.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"

namespace ff::core {

/// Place in the claim order: by route, then priority (high first), then creation. Who takes its
/// turn (core/turns.h) stands where one would that was created then.
struct ReadyKey {
    RouteId route = 0;
    std::int32_t rank = 0;  ///< minus priority
    Eid place = 0;          ///< no two of a store have the same
    Eid eid = 0;

    ReadyKey() = default;
    ReadyKey(RouteId in, std::int32_t at, Eid number)
        : route(in), rank(at), place(number), eid(number) {}
    ReadyKey(RouteId in, std::int32_t at, Eid where, Eid number)
        : route(in), rank(at), place(where), eid(number) {}

    auto operator<=>(const ReadyKey&) const = default;
};

/// Could it be handed to a worker now, if no gate held it back?
bool is_claimable(const Execution& execution);
/// Present iff the execution may be handed to a worker now, or waits at a gate for that.
std::optional<ReadyKey> ready_key(const Execution& execution);

/// Who has the turn of its key (core/turns.h).
struct TurnKey {
    RouteId queue = 0;  ///< where the others of its key wait
    Eid eid = 0;

    auto operator<=>(const TurnKey&) const = default;
};
std::optional<TurnKey> turn_key(const Execution& execution);

/// Which index of due times an execution's timer stands in.
FF_WORD_ENUM(TimerKind, lease, wake, retention)

struct TimerKey {
    TimerKind kind = TimerKind::wake;
    TimestampMs due_at = 0;
    Eid eid = 0;

    auto operator<=>(const TimerKey&) const = default;
};

/// The timer as armed: from `timer_at` and the state. Absent when none is armed.
std::optional<TimerKey> timer_key(const Execution& execution);

/// The earliest moment at which time alone changes this execution.
std::optional<TimestampMs> next_due(const Execution& execution, DurationMs retention_default_ms);

/// Executions that a limit holds back wait in the order of claims, too: in a queue of their own,
/// which no claim looks at. Its number is negative, as no route's is.
RouteId gate_route(const std::string& gate);

/// Sets `current.timer_at`. A renewed lease keeps its earlier timer: when that fires it finds
/// nothing due and is armed again, so a renewal costs no index write.
void arm_timer(const std::optional<Execution>& stored, Execution& current, TimestampMs now,
               DurationMs retention_default_ms);

/// Is every member that has not ended about to be cancelled?
bool is_being_cancelled(const Flow& flow);
/// Must a claim look at the flow before it takes a member?
bool is_held(const Flow& flow);
/// When a flow without members goes: not before whoever made it has had the time to add the first.
TimestampMs empty_flow_goes_at(const Flow& flow, DurationMs retention_default_ms);
/// Sets `timer_at` and `held` of a flow.
void arm_flow(Flow& flow, DurationMs retention_default_ms);

/// What a change of an execution asks to be done to its flow. `before` is null for a new one.
void add_follow_ups(const Execution* before, const Execution& after, TimestampMs now,
                    std::vector<FlowWork>& out);
/// The same for one that retention removes.
void add_follow_ups_of_removal(const Execution& gone, TimestampMs now, std::vector<FlowWork>& out);

/// Lists of executions in conditions that are rare on the hot path (create, claim, complete passes
/// through none of them). `none` means: not listed.
FF_WORD_ENUM(Bucket, none, delayed, waiting_children, blocked_by_budget, blocked_by_quota,
             blocked_by_route, blocked_by_lane_state, blocked_by_operator, reclaimable, suspended,
             failed, cancelled, expired, skipped)

Bucket bucket(const Execution& execution);

}  // namespace ff::core
