// How an execution gets under a lease. Shared by direct claims, grants and operators.
#pragma once

#include "core/decide.h"
#include "core/transitions.h"

namespace ff::core {

/// A new attempt of a runnable execution (first, retry, fallback or replay).
expected<ClaimedTask> lease_new_attempt(const Snapshot& view, Execution& e, const Lessee& lessee,
                                        std::optional<std::string> event_reason, Changes& changes,
                                        const Context& ctx);

/// The interrupted attempt of a runnable execution goes on under a new lease.
expected<ClaimedTask> lease_resumed_attempt(const Snapshot& view, Execution& e,
                                            const Lessee& lessee, std::string event_reason,
                                            Changes& changes, const Context& ctx);

/// A new attempt in place of one whose lease was lost. The caller has checked the cap.
expected<ClaimedTask> lease_reclaimed_attempt(const Snapshot& view, Execution& e,
                                              const Lessee& lessee, Changes& changes,
                                              const Context& ctx);

/// Loads the lane of an execution.
void read_lane_of(const Snapshot& view, const ExecutionId& id, ReadSet& set);
/// Why its lane hands out no work, if it does not.
std::optional<std::string> closed_lane(const Snapshot& view, const Execution& e);

/// How often this execution may be reclaimed.
expected<std::uint32_t> reclaim_cap(const Snapshot& view, const Execution& e,
                                    std::optional<std::uint32_t> argument, const Context& ctx);
/// Ends an execution whose reclaims are used up.
void finish_reclaims_exceeded(const Snapshot& view, Execution& e, Changes& changes,
                              TimestampMs now);

/// The task of the present lease.
expected<ClaimedTask> task_of(const Snapshot& view, const Execution& e, HandleKind kind,
                              DurationMs ttl_ms, const Context& ctx);

/// A live grant's key text, and the row it came from.
std::string grant_key(const GrantRow& grant, const ExecutionId& id);
bool has_live_grant(const Execution& e, TimestampMs now);
/// Writes the grant row and hides the execution from claims until it expires.
struct GrantTerms {
    GrantKind kind = GrantKind::claim;
    std::string worker_id;
    std::string worker_instance_id;
    std::vector<std::string> capabilities;
    DurationMs ttl_ms = 0;
    std::optional<std::string> capability_hash;
    std::optional<std::string> route_snapshot_json;
    std::optional<std::string> admission_summary;
};
Grant put_grant(const Snapshot& view, Execution& e, GrantTerms terms, Changes& changes,
                const Context& ctx);

}  // namespace ff::core
