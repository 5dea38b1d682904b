#include "core/admission.h"
#include "core/cascade.h"
#include "core/leasing.h"
#include "core/validate.h"

namespace ff::core {

namespace {

expected<void> normalise(std::vector<std::string>& capabilities) {
    FF_TRY(capabilities, normalise_capabilities(std::move(capabilities), CapabilitySide::worker));
    return {};
}

/// The rows behind a call that consumes a grant.
template <class Args>
void reads_for_grant_use(const Args& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::always).grant = true;
}

/// Is the presented grant the live one of this worker?
template <class Args>
expected<void> check_grant(const Snapshot& view, const Execution& e, const Args& args,
                           TimestampMs now) {
    const GrantRow* grant = view.grant(e);
    if (grant == nullptr || grant->worker_id != args.worker_id ||
        grant->kind == GrantKind::reclaim ||
        (args.grant_key && *args.grant_key != grant_key(*grant, e.id))) {
        return ff::fail(ErrorCode::invalid_claim_grant,
                        "no grant of this execution for worker " + args.worker_id);
    }
    if (grant->expires_at <= now) {
        return ff::fail(ErrorCode::claim_grant_expired,
                        "grant expired at " + std::to_string(grant->expires_at));
    }
    return {};
}

/// Did this very lease come from an earlier sending of this call? One whose time is over, marked
/// or not, is nobody's.
template <class Args>
bool is_own_lease(const Execution& e, const Args& args, TimestampMs now) {
    return args.lease_id && e.state.ownership == OwnershipState::leased &&
           e.lease_id == args.lease_id && e.worker_instance_id == args.worker_instance_id &&
           e.lease_expires_at.value_or(0) > now;
}

DurationMs granted_ttl(const Execution& e) {
    return e.lease_expires_at.value_or(0) - e.lease_renewed_at.value_or(0);
}

constexpr DurationMs max_wait_ms_max = 86'400'000;
constexpr std::size_t kinds_max = 256;

Error not_leaseable(const Execution& e) {
    return Error{ErrorCode::execution_not_leaseable,
                 "phase " + std::string(to_string(e.state.phase)) + ", " +
                     std::string(to_string(e.state.eligibility)),
                 {}};
}

}  // namespace

expected<void> validate(Claim& args) {
    if (args.lanes.empty() || args.lanes.size() > 64) {
        return ff::fail(ErrorCode::invalid_input, "lanes: between 1 and 64 are required");
    }
    for (const auto& lane : args.lanes) {
        FF_TRY_VOID(check_lane("lane_id", lane));
    }
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lease_ttl(args.lease_ttl_ms));
    if (args.max_tasks < 1 || args.max_tasks > 1000) {
        return ff::fail(ErrorCode::invalid_input, "max_tasks must be in 1..=1000 (got " +
                                                      std::to_string(args.max_tasks) + ")");
    }
    if (args.max_wait_ms < 0 || args.max_wait_ms > max_wait_ms_max) {
        return ff::fail(ErrorCode::invalid_input, "max_wait_ms must be in 0..=86400000 (got " +
                                                      std::to_string(args.max_wait_ms) + ")");
    }
    if (args.kinds.size() > kinds_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "kinds: at most 256 (got " + std::to_string(args.kinds.size()) + ")");
    }
    if (args.ns) {
        FF_TRY_VOID(check_namespace("namespace", *args.ns));
    }
    for (const auto& kind : args.kinds) {
        FF_TRY_VOID(check_label("kinds", kind, 1, 256));
    }
    return normalise(args.capabilities);
}

Decision<std::optional<ClaimedTask>> decide_take(const Snapshot& view, const Execution& candidate,
                                                 const Lessee& lessee, const Context& ctx) {
    Execution e = candidate;
    Changes changes;
    expected<ClaimedTask> task = [&]() -> expected<ClaimedTask> {
        if (is_reclaimable(e.state)) {
            FF_TRY(const std::uint32_t cap, reclaim_cap(view, e, std::nullopt, ctx));
            if (e.lease_reclaim_count >= cap) {
                finish_reclaims_exceeded(view, e, changes, ctx.now);
                return ff::fail(ErrorCode::execution_not_reclaimable, "max_reclaims_exceeded");
            }
            return lease_reclaimed_attempt(view, e, lessee, changes, ctx);
        }
        if (e.state.attempt_state == AttemptState::attempt_interrupted) {
            return lease_resumed_attempt(view, e, lessee, "claim_resumed", changes, ctx);
        }
        return lease_new_attempt(view, e, lessee, std::nullopt, changes, ctx);
    }();
    if (!task && task.error().code != ErrorCode::execution_not_reclaimable) {
        return std::move(task).error();
    }
    if (task) {
        take_slot(view, e, changes);
    }
    changes.put_executions.push_back(std::move(e));
    if (!task) {
        return {std::optional<ClaimedTask>(), std::move(changes)};
    }
    return {std::optional<ClaimedTask>(std::move(*task)), std::move(changes)};
}

// ------------------------------------------------------------------------------------- grants

expected<void> validate(ClaimForWorker& args) {
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    FF_TRY_VOID(check_grant_ttl(args.grant_ttl_ms));
    if (args.ns) {
        FF_TRY_VOID(check_namespace("namespace", *args.ns));
    }
    return normalise(args.capabilities);
}

Decision<std::optional<Grant>> decide_grant(const Snapshot& view, const Execution& candidate,
                                            const ClaimForWorker& args, const Context& ctx) {
    Execution e = candidate;
    Changes changes;
    GrantTerms terms;
    terms.worker_id = args.worker_id;
    terms.worker_instance_id = args.worker_instance_id;
    terms.capabilities = args.capabilities;
    terms.ttl_ms = args.grant_ttl_ms;
    if (is_reclaimable(e.state)) {
        auto cap = reclaim_cap(view, e, std::nullopt, ctx);
        if (!cap) {
            return std::move(cap).error();
        }
        if (e.lease_reclaim_count >= *cap) {
            finish_reclaims_exceeded(view, e, changes, ctx.now);
            changes.put_executions.push_back(std::move(e));
            return {std::optional<Grant>(), std::move(changes)};
        }
        terms.kind = GrantKind::reclaim;
    } else {
        if (e.state.eligibility == EligibilityState::blocked_by_route) {
            make_eligible(e, ctx.now);
        }
        terms.kind = e.state.attempt_state == AttemptState::attempt_interrupted ? GrantKind::resume
                                                                                : GrantKind::claim;
    }
    Grant grant = put_grant(view, e, std::move(terms), changes, ctx);
    changes.put_executions.push_back(std::move(e));
    return {std::optional<Grant>(std::move(grant)), std::move(changes)};
}

expected<void> validate(IssueClaimGrant& args) {
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_grant_ttl(args.grant_ttl_ms));
    FF_TRY_VOID(check_audit("capability_hash", args.capability_hash));
    FF_TRY_VOID(check_audit("route_snapshot_json", args.route_snapshot_json));
    FF_TRY_VOID(check_audit("admission_summary", args.admission_summary));
    return normalise(args.capabilities);
}

void reads(const IssueClaimGrant& args, ReadSet& set) {
    set.need(args.execution_id).grant = true;
    set.lanes.push_back(args.lane_id);  // it must be the execution's own
}

void reads_more(const Snapshot& view, const IssueClaimGrant& args, ReadSet& set) {
    read_flow_of(view, args.execution_id, set);
    need_admission(view, args.execution_id, set);
}

Decision<Grant> decide(const Snapshot& view, const IssueClaimGrant& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (e.state.phase != LifecyclePhase::runnable ||
        e.state.eligibility != EligibilityState::eligible_now) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "phase " + std::string(to_string(e.state.phase)) + ", " +
                            std::string(to_string(e.state.eligibility)));
    }
    if (has_live_grant(e, ctx.now)) {
        return ff::fail(ErrorCode::grant_already_exists,
                        "until " + std::to_string(*e.grant_expires_at));
    }
    const Route& route = view.route(e.route);
    if (route.key.lane != args.lane_id) {
        return ff::fail(ErrorCode::execution_not_in_eligible_set,
                        "it belongs to lane " + route.key.lane);
    }
    if (auto closed = closed_lane(view, e)) {
        return ff::fail(ErrorCode::execution_not_eligible, std::move(*closed));
    }
    if (auto ok = check_admitted(view, e); !ok) {
        return std::move(ok).error();
    }
    Changes changes;
    if (!satisfies(args.capabilities, route.required)) {
        e.last_capability_mismatch_at = ctx.now;
        e.last_mutation_at = ctx.now;
        changes.put_executions.push_back(std::move(e));
        return {ff::fail(ErrorCode::capability_mismatch,
                         missing_capabilities(args.capabilities, route.required)),
                std::move(changes)};
    }
    Verdict verdict = decide_limits(view, e, applicable(view, e), ctx);
    changes = std::move(verdict.changes);
    if (!verdict.admitted) {
        return {std::unexpected(std::move(verdict.refusal)), std::move(changes)};
    }
    note_admission(verdict, e);
    GrantTerms terms;
    terms.kind = e.state.attempt_state == AttemptState::attempt_interrupted ? GrantKind::resume
                                                                            : GrantKind::claim;
    terms.worker_id = args.worker_id;
    terms.worker_instance_id = args.worker_instance_id;
    terms.capabilities = args.capabilities;
    terms.ttl_ms = args.grant_ttl_ms;
    terms.capability_hash = args.capability_hash;
    terms.route_snapshot_json = args.route_snapshot_json;
    terms.admission_summary = args.admission_summary;
    Grant grant = put_grant(view, e, std::move(terms), changes, ctx);
    changes.put_executions.push_back(std::move(e));
    return {std::move(grant), std::move(changes)};
}

expected<void> validate(ClaimExecution& args) {
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    return check_lease_ttl(args.lease_ttl_ms);
}

void reads(const ClaimExecution& args, ReadSet& set) { reads_for_grant_use(args, set); }

void reads_more(const Snapshot& view, const ClaimExecution& args, ReadSet& set) {
    read_flow_of(view, args.execution_id, set);
}

Decision<ClaimedTask> decide(const Snapshot& view, const ClaimExecution& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (is_own_lease(e, args, ctx.now)) {
        return {task_of(view, e, HandleKind::fresh, granted_ttl(e), ctx), {}};
    }
    if (e.state.phase != LifecyclePhase::runnable) {
        return not_leaseable(e);
    }
    if (e.state.ownership != OwnershipState::unowned) {
        return ff::fail(ErrorCode::lease_conflict);
    }
    if (e.state.eligibility != EligibilityState::eligible_now ||
        e.state.outcome != TerminalOutcome::none) {
        return not_leaseable(e);
    }
    if (e.state.attempt_state == AttemptState::running_attempt) {
        return ff::fail(ErrorCode::active_attempt_exists);
    }
    if (e.state.attempt_state == AttemptState::attempt_interrupted) {
        return ff::fail(ErrorCode::use_claim_resumed_execution,
                        "the attempt is interrupted; the same grant works for the resume claim");
    }
    if (auto ok = check_grant(view, e, args, ctx.now); !ok) {
        return std::move(ok).error();
    }
    if (auto ok = check_admitted(view, e); !ok) {
        return std::move(ok).error();
    }
    Changes changes;
    const Lessee lessee{args.worker_id,    args.worker_instance_id, args.lane_id,
                        args.lease_ttl_ms, args.lease_id,           args.attempt_id};
    auto task = lease_new_attempt(view, e, lessee, std::nullopt, changes, ctx);
    if (!task) {
        return std::move(task).error();
    }
    take_slot(view, e, changes);
    changes.put_executions.push_back(std::move(e));
    return {std::move(*task), std::move(changes)};
}

expected<void> validate(ClaimResumedExecution& args) {
    FF_TRY_VOID(check_worker(args.worker_id, args.worker_instance_id));
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    return check_lease_ttl(args.lease_ttl_ms);
}

void reads(const ClaimResumedExecution& args, ReadSet& set) { reads_for_grant_use(args, set); }

void reads_more(const Snapshot& view, const ClaimResumedExecution& args, ReadSet& set) {
    read_flow_of(view, args.execution_id, set);
}

Decision<ClaimedTask> decide(const Snapshot& view, const ClaimResumedExecution& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (is_own_lease(e, args, ctx.now)) {
        return {task_of(view, e, HandleKind::resumed, granted_ttl(e), ctx), {}};
    }
    if (e.state.phase != LifecyclePhase::runnable ||
        e.state.eligibility != EligibilityState::eligible_now) {
        return not_leaseable(e);
    }
    if (e.state.attempt_state != AttemptState::attempt_interrupted) {
        return ff::fail(ErrorCode::not_a_resumed_execution, "use the ordinary claim");
    }
    if (auto ok = check_grant(view, e, args, ctx.now); !ok) {
        return std::move(ok).error();
    }
    if (const std::string& lane = view.route(e.route).key.lane; lane != args.lane_id) {
        return ff::fail(ErrorCode::invalid_claim_grant, "it belongs to lane " + lane);
    }
    if (auto ok = check_admitted(view, e); !ok) {
        return std::move(ok).error();
    }
    Changes changes;
    const Lessee lessee{args.worker_id,    args.worker_instance_id, args.lane_id,
                        args.lease_ttl_ms, args.lease_id,           std::nullopt};
    auto task = lease_resumed_attempt(view, e, lessee, "claim_resumed", changes, ctx);
    if (!task) {
        return std::move(task).error();
    }
    take_slot(view, e, changes);
    changes.put_executions.push_back(std::move(e));
    return {std::move(*task), std::move(changes)};
}

expected<void> validate(IssueGrantAndClaim& args) {
    FF_TRY_VOID(check_lane("lane_id", args.lane_id));
    return check_lease_ttl(args.lease_duration_ms);
}

void reads(const IssueGrantAndClaim& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::always);
}

void reads_more(const Snapshot& view, const IssueGrantAndClaim& args, ReadSet& set) {
    read_flow_of(view, args.execution_id, set);
}

Decision<OperatorLease> decide(const Snapshot& view, const IssueGrantAndClaim& args,
                               const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    Execution e = *found;
    if (e.state.phase != LifecyclePhase::runnable) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        "phase " + std::string(to_string(e.state.phase)));
    }
    if (e.state.ownership != OwnershipState::unowned) {
        return ff::fail(ErrorCode::lease_conflict);
    }
    if (has_live_grant(e, ctx.now)) {
        return ff::fail(ErrorCode::grant_already_exists,
                        "until " + std::to_string(*e.grant_expires_at));
    }
    if (e.state.eligibility != EligibilityState::eligible_now) {
        return ff::fail(ErrorCode::execution_not_eligible,
                        std::string(to_string(e.state.eligibility)));
    }
    if (auto ok = check_admitted(view, e); !ok) {
        return std::move(ok).error();
    }
    Changes changes;
    const Lessee lessee{"operator",   "operator",  args.lane_id, args.lease_duration_ms,
                        std::nullopt, std::nullopt};
    const bool resumed = e.state.attempt_state == AttemptState::attempt_interrupted;
    auto task = resumed ? lease_resumed_attempt(view, e, lessee, "issue_grant_and_claim_resumed",
                                                changes, ctx)
                        : lease_new_attempt(view, e, lessee, "issue_grant_and_claim", changes, ctx);
    if (!task) {
        return std::move(task).error();
    }
    const Handle& handle = task->handle;
    OperatorLease lease{handle.lease_id, handle.lease_epoch, handle.attempt_index, handle};
    take_slot(view, e, changes);
    changes.put_executions.push_back(std::move(e));
    return {std::move(lease), std::move(changes)};
}

}  // namespace ff::core
