// The moves several operations share. Each works on a copy of the execution row and records what
// must be written in `Changes`; the caller puts the row itself at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/contracts.h>

#include "core/changes.h"
#include "core/context.h"
#include "core/snapshot.h"

namespace ff::core {

/// Empty and absent are the same thing in stored optional texts; absent is what is stored.
std::optional<std::string> non_empty(std::optional<std::string> text);

/// A transition: all six dimensions at once, the label derived, both times stamped.
void set_state(Execution& e, StateVector state, TimestampMs now);

/// `execution_not_active` with its four details.
Error not_active(const Execution& e);

/// The tags as JSON for an event, or nothing when there are none, or the row that has them is lost.
std::optional<std::string> tags_json(const Snapshot& view, const Execution& e);
std::string tags_json(const Tags& tags);

/// An event about the execution's present lease.
ExecutionEvent lease_event(const Snapshot& view, const Execution& e, LeaseEventType type,
                           TimestampMs now);
LogEvent operator_event(const Snapshot& view, const Execution& e, std::string type,
                        std::string payload, TimestampMs now);

/// The row of the current attempt as it stands.
Attempt attempt_row(const Execution& e, AttemptLifecycle state);
/// Is there an attempt that has not ended (running, or interrupted)?
bool has_live_attempt(const Execution& e);

/// How an execution ends.
struct Ending {
    TerminalOutcome outcome = TerminalOutcome::none;
    AttemptLifecycle attempt_end = AttemptLifecycle::ended_failure;
    std::string release_reason;
    std::string_view revoked_by = "backend";
    bool revoked = false;  ///< a lease that is held was taken away, rather than given back
    std::optional<std::string> attempt_failure_reason;
    std::optional<std::string> attempt_failure_category;
    std::optional<std::string> result;
    std::optional<std::string> result_encoding;
    std::optional<StreamClosedReason> closed_as;  ///< see Attempt
    std::string waits_closed;  ///< why its suspension ends with it; from the outcome when empty
};

/// The only way an execution becomes terminal: ends the live attempt, releases the lease, drops
/// the grant, clears what time would do, stamps completion and writes the one completion event.
void finish(const Snapshot& view, Execution& e, Ending ending, Changes& changes, TimestampMs now);

/// Ends an execution as cancelled; `source` is who did it (`operator_override`: with an event for
/// operators). The lease is revoked by the reconciler when that was on the way of something else.
enum class CancelledAs : std::uint8_t { itself, member_of_flow };
void cancel(const Snapshot& view, Execution& e, const std::string& reason,
            const std::string& source, Changes& changes, const Context& ctx,
            CancelledAs as = CancelledAs::itself);

/// Takes the lease off a live attempt without ending it (delay, release, children, suspension).
void pause_attempt(const Snapshot& view, Execution& e, std::string suspension_id,
                   std::string release_reason, Changes& changes, TimestampMs now);

/// Ends the live attempt and releases its lease; the execution goes on (a retry).
void end_attempt(const Snapshot& view, Execution& e, Attempt ended, std::string release_reason,
                 std::string_view revoked_by, Changes& changes, TimestampMs now);

/// The rejection of a fenced call. A lease found past due is marked, and that mark is committed
/// although the call fails.
Changes mark_if_expired(const Snapshot& view, const Execution& found, const Error& error,
                        const Context& ctx);
template <class R>
Decision<R> refuse(const Snapshot& view, const Execution& found, Error error, const Context& ctx) {
    Changes changes = mark_if_expired(view, found, error, ctx);
    return {std::unexpected(std::move(error)), std::move(changes)};
}

/// A lease whose time is over counts as lost, marked or not.
inline bool is_lease_past(const Execution& e, TimestampMs now) {
    return e.state.phase == LifecyclePhase::active && e.state.ownership == OwnershipState::leased &&
           e.lease_expires_at.value_or(0) <= now;
}
/// Marks a lease past due: the execution stays active and may be taken over.
void mark_lease_expired(const Snapshot& view, Execution& e, Changes& changes, const Context& ctx);

/// Takes the lease away from its holder: the execution stays active and may be taken over.
void revoke(const Snapshot& view, Execution& e, const std::string& reason,
            std::string_view revoked_by, Changes& changes, const Context& ctx);

/// Payloads of operator events.
std::string reason_details(const std::string& reason);
std::string cancel_details(const std::string& reason, const std::string& source);

/// Schedules the retry after a failed attempt, or says that there is none left.
struct Failure {
    std::string reason;
    std::string category;
    std::string release_reason;
    std::string_view revoked_by = "backend";
    std::optional<StreamClosedReason> closed_as = {};  ///< see Attempt
};
/// Nothing when the policy gives no (further) retry; else the time of the retry, with the row
/// already moved to backoff.
expected<std::optional<TimestampMs>> try_schedule_retry(const Snapshot& view, Execution& e,
                                                        const Failure& failure, Changes& changes,
                                                        const Context& ctx);

/// The policy of an execution, or null when it has none.
expected<const Policy*> policy_of(const Snapshot& view, const Execution& e, const Context& ctx);

/// Makes it claimable by anyone who satisfies its route.
void make_eligible(Execution& e, TimestampMs now);

}  // namespace ff::core
