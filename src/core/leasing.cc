#include "core/leasing.h"

#include <algorithm>

#include <ff/json.h>
#include "core/waiting.h"

namespace ff::core {

namespace {

constexpr std::uint32_t reclaim_cap_without_policy = 1'000;

/// Which fallback tier an attempt after `retries` retries uses.
std::size_t tier_index(const Policy& policy, std::uint32_t retries) {
    return std::min<std::size_t>(retries, policy.fallback_tiers.size() - 1);
}

std::optional<DurationMs> attempt_timeout(const Policy* policy, const Execution& e) {
    if (policy == nullptr) {
        return std::nullopt;
    }
    std::optional<DurationMs> timeout;
    if (policy->timeout_policy) {
        timeout = policy->timeout_policy->attempt_timeout_ms;
    }
    if (!policy->fallback_tiers.empty()) {
        const FallbackTier& tier = policy->fallback_tiers[tier_index(*policy, e.retry_count)];
        if (tier.timeout_ms) {
            timeout = tier.timeout_ms;
        }
    }
    return timeout && *timeout > 0 ? timeout : std::nullopt;
}

AttemptType next_attempt_type(const Policy* policy, const Execution& e) {
    switch (e.state.attempt_state) {
        case AttemptState::pending_replay_attempt: return AttemptType::replay;
        case AttemptState::pending_retry_attempt: {
            const bool new_tier =
                policy != nullptr && !policy->fallback_tiers.empty() && e.retry_count > 0 &&
                tier_index(*policy, e.retry_count) != tier_index(*policy, e.retry_count - 1);
            return new_tier ? AttemptType::fallback : AttemptType::retry;
        }
        default: return AttemptType::initial;
    }
}

/// The lease itself: a new epoch, its owner and its time; the execution becomes active.
void begin_lease(Execution& e, const Lessee& lessee, const Context& ctx) {
    e.lease_id = lessee.lease_id ? *lessee.lease_id : LeaseId{ctx.ids.uuid(ctx.now)};
    e.lease_epoch += 1;
    e.worker_id = lessee.worker_id;
    e.worker_instance_id = lessee.worker_instance_id;
    e.lease_acquired_at = ctx.now;
    e.lease_renewed_at = ctx.now;
    e.lease_expires_at = ctx.now + lessee.lease_ttl_ms;
    e.lease_expired_at.reset();
    e.lease_revoked_at.reset();
    e.lease_revoke_reason.reset();
    e.reclaim_not_before.reset();
    e.blocking_detail.reset();
    e.blocked_at.reset();
    set_state(e,
              {LifecyclePhase::active, OwnershipState::leased, EligibilityState::not_applicable,
               BlockingReason::none, TerminalOutcome::none, AttemptState::running_attempt},
              ctx.now);
    if (!e.started_at) {
        e.started_at = ctx.now;
    }
}

/// A fresh attempt row in the execution, at the next index.
void begin_attempt(Execution& e, AttemptType type, const Policy* policy, const Lessee& lessee,
                   const Context& ctx) {
    e.current_attempt_index = e.total_attempt_count;
    e.current_attempt_id =
        lessee.attempt_id ? *lessee.attempt_id : AttemptId{ctx.ids.uuid(ctx.now)};
    e.attempt_type = type;
    e.attempt_started_at = ctx.now;
    e.attempt_resumed_at.reset();
    e.attempt_leased_ms = 0;
    e.total_attempt_count += 1;
    e.attempt_deadline_at.reset();
    if (auto timeout = attempt_timeout(policy, e)) {
        e.attempt_deadline_at = ctx.now + *timeout;
    }
}

void consume_grant(Execution& e, Changes& changes) {
    if (e.grant_expires_at) {
        changes.delete_grants.push_back(e.eid);
        e.grant_expires_at.reset();
    }
}

ExecutionEvent acquired(const Snapshot& view, const Execution& e, std::optional<std::string> reason,
                        TimestampMs now) {
    ExecutionEvent event = lease_event(view, e, LeaseEventType::acquired, now);
    event.worker_id = e.worker_id;
    event.worker_instance_id = e.worker_instance_id;
    event.expires_at = e.lease_expires_at;
    event.reason = std::move(reason);
    return event;
}

}  // namespace

expected<ClaimedTask> task_of(const Snapshot& view, const Execution& e, HandleKind kind,
                              DurationMs ttl_ms, const Context& ctx) {
    const Route& route = view.route(e.route);
    const ExecutionInput* input = view.input(e);
    if (input == nullptr) {
        return ff::fail(ErrorCode::corruption, "input row of " + e.id.to_string() + " is missing");
    }
    ClaimedTask task;
    task.handle.kind = kind;
    task.handle.backend = ctx.settings.backend;
    task.handle.execution_id = e.id;
    task.handle.attempt_index = e.current_attempt_index.value_or(0);
    task.handle.attempt_id = e.current_attempt_id.value_or(AttemptId{});
    task.handle.lease_id = e.lease_id.value_or(LeaseId{});
    task.handle.lease_epoch = e.lease_epoch;
    task.handle.lease_ttl_ms = ttl_ms;
    task.handle.lane_id = route.key.lane;
    task.handle.worker_instance_id = e.worker_instance_id.value_or("");
    task.attempt_type = e.attempt_type;
    task.lease_expires_at = e.lease_expires_at.value_or(0);
    task.ns = route.key.ns;
    task.execution_kind = route.key.kind;
    task.input_payload = input->payload;
    task.payload_encoding = input->payload_encoding;
    task.tags = input->tags;
    task.priority = e.priority;
    task.flow_id = e.flow_id;
    task.attempt_deadline_at = e.attempt_deadline_at;
    task.execution_deadline_at = e.execution_deadline_at;
    task.policy_snapshot = input->policy;
    if (e.has_policy) {
        FF_TRY(const Policy* policy, ctx.policies.get(input->policy.value_or("")));
        if (!policy->fallback_tiers.empty()) {
            FF_TRY(js::Value snapshot, js::parse(*input->policy));
            snapshot.set("fallback_index",
                         static_cast<std::uint64_t>(tier_index(*policy, e.retry_count)));
            task.policy_snapshot = js::dump(snapshot);
        }
    }
    return task;
}

expected<ClaimedTask> lease_new_attempt(const Snapshot& view, Execution& e, const Lessee& lessee,
                                        std::optional<std::string> event_reason, Changes& changes,
                                        const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    consume_grant(e, changes);
    const AttemptType type = next_attempt_type(policy, e);
    begin_lease(e, lessee, ctx);
    begin_attempt(e, type, policy, lessee, ctx);
    changes.events.push_back(acquired(view, e, std::move(event_reason), ctx.now));
    return task_of(view, e, HandleKind::fresh, lessee.lease_ttl_ms, ctx);
}

expected<ClaimedTask> lease_resumed_attempt(const Snapshot& view, Execution& e,
                                            const Lessee& lessee, std::string event_reason,
                                            Changes& changes, const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    consume_grant(e, changes);
    begin_lease(e, lessee, ctx);
    e.attempt_resumed_at = ctx.now;
    e.attempt_deadline_at.reset();
    if (auto timeout = attempt_timeout(policy, e)) {
        e.attempt_deadline_at = ctx.now + std::max<DurationMs>(1, *timeout - e.attempt_leased_ms);
    }
    changes.events.push_back(acquired(view, e, std::move(event_reason), ctx.now));
    return task_of(view, e, HandleKind::resumed, lessee.lease_ttl_ms, ctx);
}

expected<ClaimedTask> lease_reclaimed_attempt(const Snapshot& view, Execution& e,
                                              const Lessee& lessee, Changes& changes,
                                              const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    const std::string lost(to_string(e.state.ownership));
    Attempt old = attempt_row(e, AttemptLifecycle::interrupted_reclaimed);
    old.ended_at = ctx.now;
    old.failure_reason = lost;
    const auto old_lease = e.lease_id;
    changes.put_attempts.push_back(std::move(old));
    consume_grant(e, changes);
    close_waits(view, e, "attempt_ended", changes, ctx.now);

    e.lineage_reason = lost;
    e.lineage_requested_by.reset();
    e.lineage_previous_index = e.current_attempt_index;
    e.lease_reclaim_count += 1;
    begin_lease(e, lessee, ctx);
    begin_attempt(e, AttemptType::reclaim, policy, lessee, ctx);

    ExecutionEvent event = lease_event(view, e, LeaseEventType::reclaimed, ctx.now);
    event.worker_id = e.worker_id;
    event.worker_instance_id = e.worker_instance_id;
    event.expires_at = e.lease_expires_at;
    event.old_lease_id = old_lease;
    event.reason = lost;
    changes.events.push_back(std::move(event));
    return task_of(view, e, HandleKind::reclaimed, lessee.lease_ttl_ms, ctx);
}

void read_lane_of(const Snapshot& view, const ExecutionId& id, ReadSet& set) {
    const Execution* e = view.knows_execution(id) ? view.execution(id) : nullptr;
    if (e != nullptr && !view.knows_lane(view.route(e->route).key.lane)) {
        set.lanes.push_back(view.route(e->route).key.lane);
    }
}

std::optional<std::string> closed_lane(const Snapshot& view, const Execution& e) {
    const Lane* lane = view.lane(view.route(e.route).key.lane);
    if (lane == nullptr ||
        (lane->state != LaneState::paused && lane->state != LaneState::disabled)) {
        return std::nullopt;
    }
    return "lane " + lane->name + " is " + std::string(to_string(lane->state));
}

expected<std::uint32_t> reclaim_cap(const Snapshot& view, const Execution& e,
                                    std::optional<std::uint32_t> argument, const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    if (policy != nullptr) {
        return policy->reclaim_cap();
    }
    return argument.value_or(reclaim_cap_without_policy);
}

void finish_reclaims_exceeded(const Snapshot& view, Execution& e, Changes& changes,
                              TimestampMs now) {
    Ending ending;
    ending.outcome = TerminalOutcome::failed;
    ending.attempt_end = AttemptLifecycle::interrupted_reclaimed;
    ending.release_reason = "max_reclaims_exceeded";
    ending.revoked_by = "reconciler";
    ending.attempt_failure_reason = std::string(to_string(e.state.ownership));
    ending.closed_as = StreamClosedReason::lease_expired;
    e.failure_reason = "max_reclaims_exceeded";
    e.failure_category.reset();  // of an earlier failure
    finish(view, e, std::move(ending), changes, now);
}

std::string grant_key(const GrantRow& grant, const ExecutionId& id) {
    return std::string(to_string(grant.kind)) + ":" + id.to_string() + ":" +
           grant.grant_id.to_string();
}

bool has_live_grant(const Execution& e, TimestampMs now) {
    return e.grant_expires_at && *e.grant_expires_at > now;
}

Grant put_grant(const Snapshot& view, Execution& e, GrantTerms terms, Changes& changes,
                const Context& ctx) {
    GrantRow row;
    row.eid = e.eid;
    row.grant_id = GrantId{ctx.ids.uuid(ctx.now)};
    row.kind = terms.kind;
    row.worker_id = std::move(terms.worker_id);
    row.worker_instance_id = std::move(terms.worker_instance_id);
    row.lane = view.route(e.route).key.lane;
    for (const auto& token : terms.capabilities) {
        row.worker_capabilities += (row.worker_capabilities.empty() ? "" : ",") + token;
    }
    row.capability_hash = non_empty(std::move(terms.capability_hash));
    row.route_snapshot_json = non_empty(std::move(terms.route_snapshot_json));
    row.admission_summary = non_empty(std::move(terms.admission_summary));
    row.grant_ttl_ms = terms.ttl_ms;
    row.issued_at = ctx.now;
    row.expires_at = ctx.now + terms.ttl_ms;
    e.grant_expires_at = row.expires_at;
    e.last_mutation_at = ctx.now;

    Grant grant;
    grant.execution_id = e.id;
    grant.kind = row.kind;
    grant.grant_key = grant_key(row, e.id);
    grant.expires_at_ms = row.expires_at;
    grant.lane_id = row.lane;
    grant.attempt_index =
        row.kind == GrantKind::resume ? e.current_attempt_index.value_or(0) : e.total_attempt_count;
    changes.put_grants.push_back(std::move(row));
    return grant;
}

}  // namespace ff::core
