// The rows of the product as plain values. What a store keeps, what a decision sees and changes.
//
// An execution is kept in two rows: `Execution` holds all that changes after create and is
// rewritten by every transition, so it is small; `ExecutionInput` holds what create wrote once.
// The attempt that is running lives in the execution row; an `Attempt` row is written when the
// attempt pauses or ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>
#include <ff/events.h>
#include <ff/ids.h>
#include <ff/states.h>
#include <ff/streams.h>

#include "core/flow_records.h"

namespace ff::core {

/// The store's own number of an execution, in creation order. Never shown to callers.
using Eid = std::int64_t;
/// The store's own number of a route.
using RouteId = std::int64_t;

/// What decides who may claim an execution. Interned: a lane has few distinct routes, so a claim
/// looks only at the queues of routes it can serve.
struct RouteKey {
    std::string lane;
    std::string ns;
    std::string kind;
    std::string capabilities;  ///< the required tokens, sorted, comma-joined

    auto operator<=>(const RouteKey&) const = default;
};

struct Route {
    RouteId id = 0;
    RouteKey key;
    std::vector<std::string> required;  ///< key.capabilities, split

    bool operator==(const Route&) const = default;
};

/// The part of an execution that most never have. Kept as one text in the row, so that the many
/// transitions of ordinary executions do not pay for its columns.
struct ExecutionExtra {
    std::optional<std::string> blocking_detail;
    std::optional<TimestampMs> blocked_at;
    std::optional<TimestampMs> attempt_resumed_at;
    DurationMs attempt_leased_ms = 0;  ///< time this attempt held leases before the current one
    /// Where the current or the next attempt comes from: retry, reclaim or replay reason, who
    /// asked, and the attempt before it.
    std::optional<std::string> lineage_reason;
    std::optional<std::string> lineage_requested_by;
    std::optional<std::uint32_t> lineage_previous_index;
    std::uint32_t replay_count = 0;
    std::uint32_t lease_reclaim_count = 0;
    std::optional<TimestampMs> lease_expired_at;
    std::optional<TimestampMs> lease_revoked_at;
    std::optional<std::string> lease_revoke_reason;
    std::optional<TimestampMs> reclaim_not_before;  ///< set only with a reclaim grace
    std::optional<DurationMs> retention_ms;  ///< from the policy; the store's default when unset
    std::optional<std::int32_t> progress_percent;
    std::optional<std::string> progress_message;
    std::optional<TimestampMs> progress_updated_at;
    std::optional<std::string> failure_reason;
    std::optional<std::string> failure_category;
    std::optional<std::string> cancellation_reason;
    std::optional<std::string> cancelled_by;
    std::optional<TimestampMs> last_capability_mismatch_at;
    bool holds_flow_slot = false;             ///< counts in its flow's max_active_members
    std::optional<std::string> gate;          ///< the queue it waits in until a limit lets it pass
    std::optional<TimestampMs> retain_until;  ///< past its time, but its flow still runs
    // Waiting for signals. The rows themselves are in core/suspension_records.h.
    std::optional<SuspensionId> current_suspension_id;
    std::optional<WaitpointId> current_waitpoint_id;   ///< the primary one
    std::optional<TimestampMs> suspension_timeout_at;  ///< of the open suspension
    std::optional<TimestampMs> waitpoint_due_at;       ///< the earliest pending one expires
    std::uint32_t suspension_count = 0;                ///< episodes so far
    std::uint32_t open_waitpoints = 0;                 ///< pending or active
    std::uint64_t signal_count = 0;                    ///< in its ledger
    std::uint64_t timeout_signals = 0;                 ///< of these, that time itself has sent
    std::optional<TimestampMs> last_hmac_validation_failed_at;
    bool has_waits = false;    ///< a waitpoint was made for it, once; kept by the store
    bool has_streams = false;  ///< a frame was appended, once
    // Limits. The rows themselves are in core/limit_records.h.
    std::optional<std::string> budgets;        ///< those of its own, by id, comma-joined
    std::optional<QuotaPolicyId> quota;        ///< its own policy
    std::optional<TimestampMs> blocked_until;  ///< when its gate is expected to open
    bool has_admissions = false;               ///< a policy has given it something, once
    bool holds_slots = false;                  ///< and slots among it, which it must give back
    Amounts reserve;                           ///< what a claim of it reserves
    std::optional<std::string> limit_key;      ///< counts and takes turns with others that have it
    bool has_turn = false;                     ///< stands in line for its key
    std::optional<Eid> place;                  ///< in line, when not its own number
    std::optional<std::string> reserved_in;    ///< budgets that hold it, by id, comma-joined

    bool operator==(const ExecutionExtra&) const = default;
};

struct Execution : ExecutionExtra {
    Eid eid = 0;
    ExecutionId id;
    RouteId route = 0;
    std::optional<FlowId> flow_id;
    std::int32_t priority = 0;
    StateVector state;
    PublicState public_state = PublicState::waiting;

    // The attempt: of the latest claim, running or not.
    std::optional<std::uint32_t> current_attempt_index;
    std::optional<AttemptId> current_attempt_id;  ///< cleared when a retry is scheduled
    AttemptType attempt_type = AttemptType::initial;
    std::optional<TimestampMs> attempt_started_at;
    std::uint32_t total_attempt_count = 0;
    std::uint32_t retry_count = 0;

    // The lease. Epoch is never cleared and never falls.
    std::optional<LeaseId> lease_id;
    std::uint64_t lease_epoch = 0;
    std::optional<std::string> worker_id;
    std::optional<std::string> worker_instance_id;
    std::optional<TimestampMs> lease_acquired_at;
    std::optional<TimestampMs> lease_expires_at;
    std::optional<TimestampMs> lease_renewed_at;
    std::optional<TimestampMs> grant_expires_at;  ///< a live grant hides the row from claims

    // Times that make something happen.
    std::optional<TimestampMs> delay_until;
    std::optional<TimestampMs> execution_deadline_at;
    std::optional<TimestampMs> attempt_deadline_at;

    bool has_tags = false;    ///< whether events must read the tags of the input row
    bool has_policy = false;  ///< whether a decision must read the policy of the input row
    bool has_idempotency_key = false;

    TimestampMs created_at = 0;
    std::optional<TimestampMs> started_at;
    std::optional<TimestampMs> completed_at;
    TimestampMs last_transition_at = 0;
    TimestampMs last_mutation_at = 0;

    std::optional<TimestampMs> timer_at;        ///< when the armed timer fires; kept by core/derive
    std::optional<std::int64_t> last_event_id;  ///< newest history event; kept by the store
    bool edges_told = false;  ///< its end is what resolved its edges; kept by store/implied.h

    bool operator==(const Execution&) const = default;
};

struct ExecutionInput {
    Eid eid = 0;
    std::string creator_identity;
    std::string payload;
    std::optional<std::string> payload_encoding;
    std::optional<std::string> policy;  ///< normalised JSON
    Tags tags;
    std::optional<std::string> idempotency_key;
    std::optional<std::string> flow_node;  ///< its name in a submitted graph
    /// What create gave, when an upstream's result has taken its place.
    std::optional<std::string> original_payload;
    std::optional<std::string> original_encoding;

    bool operator==(const ExecutionInput&) const = default;
};

/// An attempt that paused or ended. While the attempt runs, the execution row is newer.
struct Attempt {
    Eid eid = 0;
    std::uint32_t attempt_index = 0;
    AttemptId attempt_id;
    AttemptType type = AttemptType::initial;
    AttemptLifecycle state = AttemptLifecycle::started;
    TimestampMs started_at = 0;
    std::optional<TimestampMs> resumed_at;
    std::optional<TimestampMs> suspended_at;
    std::optional<TimestampMs> ended_at;
    std::optional<std::string> suspension_id;
    std::optional<LeaseId> lease_id;
    std::uint64_t lease_epoch = 0;
    std::optional<std::string> worker_id;
    std::optional<std::string> worker_instance_id;
    std::optional<std::string> failure_reason;
    std::optional<std::string> failure_category;
    std::optional<std::string> reason;
    std::optional<std::string> requested_by;
    std::optional<std::uint32_t> previous_attempt_index;
    std::optional<TimestampMs> retry_at;  ///< when its failure scheduled a retry
    std::optional<std::string> result;
    std::optional<std::string> result_encoding;
    /// Why its stream is closed, where that does not follow from its state.
    std::optional<StreamClosedReason> closed_as;

    bool operator==(const Attempt&) const = default;
};

/// The newest grant of an execution; live while `expires_at > now`, kept a minute longer so that
/// its holder hears that it expired.
struct GrantRow {
    Eid eid = 0;
    GrantId grant_id;
    GrantKind kind = GrantKind::claim;
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane;
    std::string worker_capabilities;  ///< comma-joined
    std::optional<std::string> capability_hash;
    std::optional<std::string> route_snapshot_json;
    std::optional<std::string> admission_summary;
    DurationMs grant_ttl_ms = 0;
    TimestampMs issued_at = 0;
    TimestampMs expires_at = 0;

    bool operator==(const GrantRow&) const = default;
};

struct Lane {
    std::string name;
    LaneState state = LaneState::active;
    TimestampMs registered_at = 0;

    bool operator==(const Lane&) const = default;
};

struct IdempotencyKey {
    std::string ns;
    std::string key;

    auto operator<=>(const IdempotencyKey&) const = default;
};

struct IdempotencyEntry {
    IdempotencyKey key;
    ExecutionId execution_id;
    TimestampMs expires_at = 0;

    bool operator==(const IdempotencyEntry&) const = default;
};

struct WorkerKey {
    std::string ns;
    std::string worker_instance_id;

    auto operator<=>(const WorkerKey&) const = default;
};

struct WorkerRow {
    WorkerKey key;
    std::string worker_id;
    std::vector<std::string> lanes;         ///< sorted
    std::vector<std::string> capabilities;  ///< sorted
    DurationMs liveness_ttl_ms = 0;
    TimestampMs registered_at = 0;
    TimestampMs last_heartbeat = 0;

    bool operator==(const WorkerRow&) const = default;
    [[nodiscard]] TimestampMs expires_at() const { return last_heartbeat + liveness_ttl_ms; }
    [[nodiscard]] bool live(TimestampMs now) const { return expires_at() > now; }
};

// ------------------------------------------------------------------------------------- events

/// `none` marks a completion that ended no lease.
FF_WORD_ENUM(LeaseEventType, none, acquired, renewed, expired, reclaimed, revoked, released,
             replay_initiated)

/// One row serves two families: lease history, and (when `outcome` is set) completion. The end of
/// an execution releases its lease in the same row.
struct ExecutionEvent {
    std::int64_t event_id = 0;                      ///< given by the store at commit
    std::optional<std::int64_t> previous_event_id;  ///< the execution's history as a chain
    Eid eid = 0;
    ExecutionId execution_id;
    RouteId route = 0;
    std::optional<FlowId> flow_id;
    TimestampMs at = 0;
    LeaseEventType type = LeaseEventType::none;
    std::optional<TerminalOutcome> outcome;
    std::optional<LeaseId> lease_id;
    std::uint64_t lease_epoch = 0;
    std::optional<std::uint32_t> attempt_index;
    std::optional<AttemptId> attempt_id;
    std::optional<std::string> worker_id;
    std::optional<std::string> worker_instance_id;
    std::optional<TimestampMs> expires_at;
    std::optional<LeaseId> old_lease_id;  ///< reclaimed: the lease that was lost
    std::optional<std::string> reason;
    std::optional<std::string> revoked_by;
    std::optional<std::string> tags;  ///< JSON snapshot; absent when there are none

    bool operator==(const ExecutionEvent&) const = default;
};

FF_WORD_ENUM(LogFamily, signal_delivery, instance_tags, operator_, workers, flows, budgets)

/// Events of the families that are rare enough to carry their payload as JSON.
struct LogEvent {
    std::int64_t event_id = 0;  ///< given by the store at commit
    LogFamily family = LogFamily::operator_;
    std::string type;
    TimestampMs at = 0;
    std::optional<Eid> eid;
    std::optional<ExecutionId> execution_id;
    std::optional<FlowId> flow_id;
    std::optional<std::string> ns;
    std::optional<std::string> tags;  ///< JSON snapshot
    std::string payload;              ///< JSON object

    bool operator==(const LogEvent&) const = default;
};

/// The history of an execution that goes on for ever (it delays itself, it is taken over and over)
/// is cut when its events are trimmed: whoever begins an epoch that is a multiple of this cuts off
/// what is as many epochs behind it. Each epoch has a beginning and an end in the history, so a
/// thousand entries stay.
inline constexpr std::uint64_t history_epochs = 512;
constexpr bool cuts_history(const ExecutionEvent& event) {
    return (event.type == LeaseEventType::acquired || event.type == LeaseEventType::reclaimed) &&
           event.lease_epoch > history_epochs && event.lease_epoch % history_epochs == 0;
}

/// The two families that share a table; the others are log families.
constexpr bool is_history(EventFamily family) {
    return family == EventFamily::completion || family == EventFamily::lease_history;
}
constexpr LogFamily log_family(EventFamily family) {
    return static_cast<LogFamily>(static_cast<int>(family) - 2);
}
constexpr EventFamily event_family(LogFamily family) {
    return static_cast<EventFamily>(static_cast<int>(family) + 2);
}
static_assert(event_family(LogFamily::budgets) == EventFamily::budgets &&
              event_family(LogFamily::signal_delivery) == EventFamily::signal_delivery);

/// Up to where the events of a family have been deleted.
struct EventTrim {
    EventFamily family = EventFamily::completion;
    std::int64_t through = 0;

    bool operator==(const EventTrim&) const = default;
};

}  // namespace ff::core
