// Losing a lease and getting work back: expiry, revocation, reclaim, and everything time does.
#include "core/derive.h"
#include "core/leasing.h"
#include "core/stream_rules.h"
#include "core/validate.h"
#include "core/waiting.h"

namespace ff::core {

// ------------------------------------------------------------------------------------- expiry

void reads(const MarkLeaseExpiredIfDue& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);
}

Decision<MarkLeaseExpiredResult> decide(const Snapshot& view, const MarkLeaseExpiredIfDue& args,
                                        const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return MarkLeaseExpiredResult{"execution_not_found"};
    }
    if (found->state.phase != LifecyclePhase::active) {
        return MarkLeaseExpiredResult{"not_active"};
    }
    switch (found->state.ownership) {
        case OwnershipState::lease_expired_reclaimable:
            return MarkLeaseExpiredResult{"already_expired"};
        case OwnershipState::lease_revoked: return MarkLeaseExpiredResult{"already_revoked"};
        case OwnershipState::unowned: return MarkLeaseExpiredResult{"unowned"};
        case OwnershipState::leased: break;
    }
    if (found->lease_expires_at.value_or(0) > ctx.now) {
        return MarkLeaseExpiredResult{"not_yet_expired"};
    }
    Execution e = *found;
    Changes changes;
    mark_lease_expired(view, e, changes, ctx);
    changes.put_executions.push_back(std::move(e));
    return {MarkLeaseExpiredResult{"marked"}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- revoke

expected<void> validate(RevokeLease& args) {
    FF_TRY_VOID(check_reason("reason", args.reason, 1024));
    if (args.reason.empty()) {
        args.reason = "operator_revoke";
    }
    return {};
}

void reads(const RevokeLease& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged);
}

Decision<RevokeResult> decide(const Snapshot& view, const RevokeLease& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    const auto already = [](std::string_view reason) { return RevokeResult{false, {}, 0, reason}; };
    if (found->state.phase != LifecyclePhase::active ||
        found->state.ownership == OwnershipState::unowned) {
        return already("no_active_lease");
    }
    if (found->state.ownership == OwnershipState::lease_revoked) {
        return already("already_revoked");
    }
    if (found->state.ownership == OwnershipState::lease_expired_reclaimable) {
        return already("already_expired");
    }
    if (is_lease_past(*found, ctx.now)) {
        Execution e = *found;
        Changes changes;
        mark_lease_expired(view, e, changes, ctx);
        changes.put_executions.push_back(std::move(e));
        return {already("already_expired"), std::move(changes)};
    }
    if (args.worker_instance_id && !args.worker_instance_id->empty() &&
        found->worker_instance_id != args.worker_instance_id) {
        return already("different_worker_instance_id");
    }
    if (!found->lease_id) {
        return ff::fail(ErrorCode::corruption, "lease_id: missing");
    }
    if (args.expected_lease_id && found->lease_id != args.expected_lease_id) {
        return ff::fail(ErrorCode::stale_lease, "the current lease is another one");
    }
    Execution e = *found;
    Changes changes;
    revoke(view, e, args.reason, "operator", changes, ctx);
    changes.log_events.push_back(
        operator_event(view, e, "lease_revoked", reason_details(args.reason), ctx.now));
    RevokeResult reply{true, *e.lease_id, e.lease_epoch, {}};
    changes.put_executions.push_back(std::move(e));
    return {reply, std::move(changes)};
}

// ------------------------------------------------------------------------------------ reclaim

expected<void> validate(IssueReclaimGrant& args) {
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    FF_TRY_VOID(check_grant_ttl(args.grant_ttl_ms));
    FF_TRY_VOID(check_audit("capability_hash", args.capability_hash));
    FF_TRY_VOID(check_audit("route_snapshot_json", args.route_snapshot_json));
    FF_TRY_VOID(check_audit("admission_summary", args.admission_summary));
    FF_TRY(args.worker_capabilities,
           normalise_capabilities(std::move(args.worker_capabilities), CapabilitySide::worker));
    return {};
}

void reads(const IssueReclaimGrant& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged_or_policy).grant = true;
}

void reads_more(const Snapshot& view, const IssueReclaimGrant& args, ReadSet& set) {
    read_lane_of(view, args.execution_id, set);
}

namespace {

std::string observed(const Execution& e) {
    if (e.state.phase != LifecyclePhase::active) {
        return "lifecycle_phase is " + std::string(to_string(e.state.phase)) + ", expected active";
    }
    return "ownership_state is " + std::string(to_string(e.state.ownership)) +
           ", expected lease_expired_reclaimable or lease_revoked";
}

void mark_if_due(const Snapshot& view, Execution& e, Changes& changes, const Context& ctx) {
    if (is_lease_past(e, ctx.now)) {
        mark_lease_expired(view, e, changes, ctx);
    }
}

}  // namespace

Decision<IssueReclaimGrantResult> decide(const Snapshot& view, const IssueReclaimGrant& args,
                                         const Context& ctx) {
    using Status = IssueReclaimGrantResult::Status;
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    Changes changes;
    mark_if_due(view, e, changes, ctx);
    IssueReclaimGrantResult reply{Status::not_reclaimable, e.id, std::nullopt, "", 0};
    if (!is_reclaimable(e.state)) {
        reply.detail = observed(e);
        return reply;
    }
    auto cap = reclaim_cap(view, e, std::nullopt, ctx);
    if (!cap) {
        return std::move(cap).error();
    }
    if (e.lease_reclaim_count >= *cap) {
        finish_reclaims_exceeded(view, e, changes, ctx.now);
        reply.status = Status::reclaim_cap_exceeded;
        reply.reclaim_count = e.lease_reclaim_count;
        changes.put_executions.push_back(std::move(e));
        return {std::move(reply), std::move(changes)};
    }
    if (has_live_grant(e, ctx.now)) {
        return ff::fail(ErrorCode::grant_already_exists,
                        "until " + std::to_string(*e.grant_expires_at));
    }
    if (auto closed = closed_lane(view, e)) {
        reply.detail = std::move(*closed);
        if (e.state != found->state) {
            changes.put_executions.push_back(std::move(e));  // the lease has run out all the same
        }
        return {std::move(reply), std::move(changes)};
    }
    const Route& route = view.route(e.route);
    if (!satisfies(args.worker_capabilities, route.required)) {
        e.last_capability_mismatch_at = ctx.now;
        e.last_mutation_at = ctx.now;
        reply.detail = "capability_mismatch: " +
                       missing_capabilities(args.worker_capabilities, route.required);
    } else {
        GrantTerms terms;
        terms.kind = GrantKind::reclaim;
        terms.worker_id = args.worker_id;
        terms.worker_instance_id = args.worker_instance_id;
        terms.capabilities = args.worker_capabilities;
        terms.ttl_ms = args.grant_ttl_ms;
        terms.capability_hash = args.capability_hash;
        terms.route_snapshot_json = args.route_snapshot_json;
        terms.admission_summary = args.admission_summary;
        reply.status = Status::granted;
        reply.grant = put_grant(view, e, std::move(terms), changes, ctx);
    }
    changes.put_executions.push_back(std::move(e));
    return {std::move(reply), std::move(changes)};
}

expected<void> validate(ReclaimExecution& args) {
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    return check_lease_ttl(args.lease_ttl_ms);
}

void reads(const ReclaimExecution& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::always).grant = true;
}

Decision<ReclaimResult> decide(const Snapshot& view, const ReclaimExecution& args,
                               const Context& ctx) {
    using Status = ReclaimResult::Status;
    ReclaimResult reply{Status::grant_not_found, args.execution_id, std::nullopt, "", 0};
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return reply;  // no execution, hence no grant
    }
    const GrantRow* grant = view.grant(*found);
    if (grant == nullptr || grant->kind != GrantKind::reclaim || grant->expires_at <= ctx.now) {
        return reply;
    }
    if (grant->worker_id != args.worker_id) {
        return ff::fail(ErrorCode::invalid_input, "worker_id: the grant belongs to another worker");
    }
    if (args.grant_key && *args.grant_key != grant_key(*grant, found->id)) {
        return reply;  // of an earlier one
    }
    if (!is_reclaimable(found->state)) {
        reply.status = Status::not_reclaimable;
        reply.detail = observed(*found);
        return reply;
    }
    Execution e = *found;
    Changes changes;
    auto cap = reclaim_cap(view, e, args.max_reclaim_count, ctx);
    if (!cap) {
        return std::move(cap).error();
    }
    if (e.lease_reclaim_count >= *cap) {
        reply.status = Status::reclaim_cap_exceeded;
        reply.reclaim_count = e.lease_reclaim_count;
        finish_reclaims_exceeded(view, e, changes, ctx.now);
    } else {
        const Lessee lessee{args.worker_id,    args.worker_instance_id, args.lane_id,
                            args.lease_ttl_ms, args.lease_id,           args.attempt_id};
        auto task = lease_reclaimed_attempt(view, e, lessee, changes, ctx);
        if (!task) {
            return std::move(task).error();
        }
        reply.status = Status::claimed;
        reply.reclaim_count = e.lease_reclaim_count;
        reply.task = std::move(*task);
    }
    changes.put_executions.push_back(std::move(e));
    return {std::move(reply), std::move(changes)};
}

// -------------------------------------------------------------------------------- what time does

namespace {

/// Of each attempt it has had.
std::vector<StreamKey> streams_of(const Execution& e) {
    std::vector<StreamKey> keys;
    // The smaller of two numbers that say the same: one may be damaged.
    const std::uint64_t by_index =
        e.current_attempt_index ? std::uint64_t{*e.current_attempt_index} + 1 : 0;
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(by_index, e.total_attempt_count));
    for (std::uint32_t i = 0; i < count; ++i) {
        keys.push_back({e.eid, i});
    }
    return keys;
}

/// Before an execution goes: has it more frames than may go with it? Then that many are dropped.
bool sheds_frames(const Snapshot& view, const Execution& e, std::uint64_t most, Changes& changes) {
    if (!e.has_streams) {
        return false;
    }
    std::vector<StreamMeta> metas;
    std::uint64_t kept = 0;
    for (const StreamKey& key : streams_of(e)) {
        if (const StreamMeta* meta = view.streams.meta(key)) {
            metas.push_back(*meta);
            kept += meta->retained();
        }
    }
    if (kept <= most) {
        return false;
    }
    for (StreamMeta& meta : metas) {
        if (const std::uint64_t gone = drop_frames(meta, most, changes); gone > 0) {
            most -= gone;
            changes.put_streams.push_back(std::move(meta));
        }
    }
    return true;
}

}  // namespace

void reads(const HandleDue& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged_or_policy).attempt = true;
}

void reads_more(const Snapshot& view, const HandleDue& args, ReadSet& set) {
    const Execution* e = view.execution(args.execution_id);
    if (e != nullptr && e->flow_id && is_terminal(e->state) && !view.knows_flow(*e->flow_id)) {
        set.flows.push_back(*e->flow_id);  // retention: what runs may still need it
    }
    if (e != nullptr && e->has_streams && is_terminal(e->state)) {
        for (const StreamKey& key : streams_of(*e)) {
            if (!view.streams.knows_meta(key)) {
                set.streams.metas.push_back(key);  // and how much goes with it
            }
        }
    }
}

namespace {

bool due(const std::optional<TimestampMs>& at, TimestampMs now) { return at && *at <= now; }

/// `category` is that of the failure; without one there is none, whatever failed earlier.
void expire(const Snapshot& view, Execution& e, const std::string& reason,
            std::optional<std::string> category, Changes& changes, TimestampMs now) {
    Ending ending;
    ending.outcome = TerminalOutcome::expired;
    ending.attempt_end = AttemptLifecycle::ended_failure;
    ending.release_reason = "expired:" + reason;
    ending.revoked_by = "reconciler";
    ending.attempt_failure_reason = reason;
    ending.attempt_failure_category = category;
    ending.closed_as = StreamClosedReason::expired;
    e.failure_reason = reason;
    e.failure_category = std::move(category);
    finish(view, e, std::move(ending), changes, now);
}

/// An attempt that ran too long failed with category `timeout`: retried if the policy allows,
/// expired otherwise.
expected<void> time_out_attempt(const Snapshot& view, Execution& e, Changes& changes,
                                const Context& ctx) {
    FF_TRY(const auto retry,
           try_schedule_retry(view, e,
                              {"attempt_timeout", "timeout", "expired:attempt_timeout",
                               "reconciler", StreamClosedReason::expired},
                              changes, ctx));
    if (!retry) {
        expire(view, e, "attempt_timeout", "timeout", changes, ctx.now);
    }
    return {};
}

/// How long a member that its flow still needs is kept before it is looked at again: the retention,
/// but the longer it has waited the less often it is looked at.
DurationMs next_look(const Execution& e, const Context& ctx) {
    constexpr DurationMs soonest_ms = 1'000;
    constexpr DurationMs latest_ms = 60'000;
    const DurationMs kept = ctx.now - e.completed_at.value_or(e.last_transition_at);
    return std::max(e.retention_ms.value_or(ctx.settings.retention_ms),
                    std::clamp(kept, soonest_ms, latest_ms));
}

}  // namespace

Decision<bool> decide(const Snapshot& view, const HandleDue& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return false;
    }
    Execution e = *found;
    Changes changes;
    bool acted = false;
    const auto act = [&](bool condition) {
        acted = acted || condition;
        return condition;
    };
    if (!is_terminal(e.state) && act(due(e.execution_deadline_at, ctx.now))) {
        expire(view, e, "execution_deadline", std::nullopt, changes, ctx.now);
    }
    if (e.state.phase == LifecyclePhase::active && act(due(e.attempt_deadline_at, ctx.now))) {
        if (auto ok = time_out_attempt(view, e, changes, ctx); !ok) {
            return std::move(ok).error();
        }
    }
    if (e.state.ownership == OwnershipState::leased && act(due(e.lease_expires_at, ctx.now))) {
        mark_lease_expired(view, e, changes, ctx);
    }
    if (act(due(e.reclaim_not_before, ctx.now))) {
        e.reclaim_not_before.reset();
    }
    if (act(due(e.grant_expires_at, ctx.now))) {
        e.grant_expires_at.reset();  // the row stays a while, so that its holder hears of it
    }
    if (e.state.eligibility == EligibilityState::not_eligible_until_time &&
        act(due(e.delay_until, ctx.now))) {
        make_eligible(e, ctx.now);
    }
    if (e.state.phase == LifecyclePhase::suspended && act(due(e.suspension_timeout_at, ctx.now))) {
        if (auto ok = apply_suspension_timeout(view, e, changes, ctx); !ok) {
            return std::move(ok).error();
        }
    }
    if (act(due(e.waitpoint_due_at, ctx.now))) {
        Waits waits(view, e);
        waits.close_expired_pending(ctx.now);
        waits.put(e, changes);
    }
    // What ends here goes in a later transaction, even when it is kept for no time: its end is
    // told, its edges are resolved and what it held is given back first.
    if (is_terminal(found->state) && act(due(next_due(e, ctx.settings.retention_ms), ctx.now))) {
        const Flow* flow = view.flow_of(e);
        if (flow == nullptr || flow->live == 0) {
            if (sheds_frames(view, e, args.frames_max, changes)) {
                changes.put_executions.push_back(std::move(e));  // its time stays due
                return {true, std::move(changes)};
            }
            changes.delete_executions.push_back(e.eid);
            return {true, std::move(changes)};
        }
        e.retain_until = ctx.now + next_look(e, ctx);
    }
    // Put even when nothing was due: that re-arms the timer that fired early.
    changes.put_executions.push_back(std::move(e));
    return {acted, std::move(changes)};
}

}  // namespace ff::core
