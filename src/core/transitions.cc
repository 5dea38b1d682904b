#include "core/transitions.h"

#include <algorithm>

#include <ff/json.h>
#include "base/check.h"
#include "core/waiting.h"

namespace ff::core {

expected<const Policy*> PolicyCache::get(const std::string& json) {
    if (auto it = parsed_.find(json); it != parsed_.end()) {
        return &it->second;
    }
    auto policy = Policy::parse(json);
    if (!policy) {
        return ff::fail(ErrorCode::corruption, "policy: " + policy.error().message());
    }
    if (parsed_.size() >= entries_max) {
        parsed_.clear();
    }
    return &parsed_.emplace(json, std::move(*policy)).first->second;
}

std::optional<std::string> non_empty(std::optional<std::string> text) {
    return text && !text->empty() ? std::move(text) : std::nullopt;
}

namespace {

/// What the state of its attempt must be, by the rest of the vector.
AttemptState attempt_state_in(const StateVector& state, bool attempted) {
    switch (state.phase) {
        case LifecyclePhase::runnable:
            return attempted ? AttemptState::attempt_interrupted
                             : AttemptState::pending_first_attempt;
        case LifecyclePhase::active:
            return state.ownership == OwnershipState::leased ? AttemptState::running_attempt
                                                             : AttemptState::attempt_interrupted;
        case LifecyclePhase::suspended: return AttemptState::attempt_interrupted;
        default: break;
    }
    const bool without_attempt =
        state.outcome != TerminalOutcome::success && state.outcome != TerminalOutcome::failed;
    return attempted || !without_attempt               ? AttemptState::attempt_terminal
           : state.outcome == TerminalOutcome::skipped ? AttemptState::none
                                                       : AttemptState::pending_first_attempt;
}

}  // namespace

void set_state(Execution& e, StateVector state, TimestampMs now) {
    if (!is_legal(state) && !is_legal(e.state)) {
        // What was damaged in the store is mended by the next transition.
        state.attempt_state = attempt_state_in(state, e.total_attempt_count > 0);
    }
    FF_CHECK(is_legal(state), "illegal state vector");
    e.state = state;
    e.holds_flow_slot = e.holds_flow_slot && state.phase == LifecyclePhase::active;
    if (state.eligibility != EligibilityState::blocked_by_quota &&
        state.eligibility != EligibilityState::blocked_by_budget &&
        state.eligibility != EligibilityState::blocked_by_operator) {
        e.gate.reset();
        e.blocked_until.reset();
    }
    e.public_state = public_state(state);
    e.last_transition_at = now;
    e.last_mutation_at = now;
}

Error not_active(const Execution& e) {
    return Error{ErrorCode::execution_not_active,
                 "phase " + std::string(to_string(e.state.phase)) + ", outcome " +
                     std::string(to_string(e.state.outcome)),
                 {{"terminal_outcome", std::string(to_string(e.state.outcome))},
                  {"lease_epoch", std::to_string(e.lease_epoch)},
                  {"lifecycle_phase", std::string(to_string(e.state.phase))},
                  {"attempt_id", e.current_attempt_id ? e.current_attempt_id->to_string() : ""}}};
}

std::string tags_json(const Tags& tags) {
    std::string out = "{";
    for (const auto& [key, value] : tags) {
        if (out.size() > 1) {
            out += ',';
        }
        js::append_quoted(out, key);
        out += ':';
        js::append_quoted(out, value);
    }
    return out + "}";
}

std::optional<std::string> tags_json(const Snapshot& view, const Execution& e) {
    if (!e.has_tags) {
        return std::nullopt;
    }
    const ExecutionInput* input = view.input(e);
    return input != nullptr ? std::optional(tags_json(input->tags)) : std::nullopt;
}

ExecutionEvent lease_event(const Snapshot& view, const Execution& e, LeaseEventType type,
                           TimestampMs now) {
    ExecutionEvent event;
    event.eid = e.eid;
    event.execution_id = e.id;
    event.route = e.route;
    event.flow_id = e.flow_id;
    event.at = now;
    event.type = type;
    event.lease_id = e.lease_id;
    event.lease_epoch = e.lease_epoch;
    event.attempt_index = e.current_attempt_index;
    event.attempt_id = e.current_attempt_id;
    event.tags = tags_json(view, e);
    return event;
}

LogEvent operator_event(const Snapshot& view, const Execution& e, std::string type,
                        std::string payload, TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::operator_;
    event.type = std::move(type);
    event.at = now;
    event.eid = e.eid;
    event.execution_id = e.id;
    event.flow_id = e.flow_id;
    event.ns = view.route(e.route).key.ns;
    event.tags = tags_json(view, e);
    event.payload = std::move(payload);
    return event;
}

Attempt attempt_row(const Execution& e, AttemptLifecycle state) {
    Attempt row;
    row.eid = e.eid;
    row.attempt_index = e.current_attempt_index.value_or(0);
    row.attempt_id = e.current_attempt_id.value_or(AttemptId{});
    row.type = e.attempt_type;
    row.state = state;
    row.started_at = e.attempt_started_at.value_or(e.created_at);
    row.resumed_at = e.attempt_resumed_at;
    row.lease_id = e.lease_id;
    row.lease_epoch = e.lease_epoch;
    row.worker_id = e.worker_id;
    row.worker_instance_id = e.worker_instance_id;
    row.reason = e.lineage_reason;
    row.requested_by = e.lineage_requested_by;
    row.previous_attempt_index = e.lineage_previous_index;
    return row;
}

bool has_live_attempt(const Execution& e) {
    return e.state.attempt_state == AttemptState::running_attempt ||
           e.state.attempt_state == AttemptState::attempt_interrupted;
}

namespace {

void clear_lease(Execution& e) {
    e.lease_id.reset();
    e.worker_id.reset();
    e.worker_instance_id.reset();
    e.lease_acquired_at.reset();
    e.lease_expires_at.reset();
    e.lease_renewed_at.reset();
    e.lease_expired_at.reset();
    e.lease_revoked_at.reset();
    e.lease_revoke_reason.reset();
    e.reclaim_not_before.reset();
    e.attempt_deadline_at.reset();
}

void drop_grant(Execution& e, Changes& changes) {
    if (e.grant_expires_at) {
        changes.delete_grants.push_back(e.eid);
        e.grant_expires_at.reset();
    }
}

/// The attempt that is about to end. One that was put aside has a row, which remembers its last
/// lease; the execution row has forgotten it.
Attempt live_attempt(const Snapshot& view, const Execution& e) {
    if (!e.lease_id && needs_attempt(e)) {
        if (const Attempt* paused = view.attempt(e, *e.current_attempt_index)) {
            return *paused;
        }
    }
    return attempt_row(e, AttemptLifecycle::started);
}

ExecutionEvent released(const Snapshot& view, const Execution& e, std::string reason,
                        std::string_view revoked_by, TimestampMs now) {
    ExecutionEvent event = lease_event(view, e, LeaseEventType::released, now);
    event.reason = std::move(reason);
    event.revoked_by = std::string(revoked_by);
    return event;
}

}  // namespace

void finish(const Snapshot& view, Execution& e, Ending ending, Changes& changes, TimestampMs now) {
    const std::string waits_closed = !ending.waits_closed.empty() ? std::move(ending.waits_closed)
                                     : ending.outcome == TerminalOutcome::expired
                                         ? ending.release_reason
                                         : std::string(to_string(ending.outcome));
    ExecutionEvent event;
    if (e.lease_id) {
        event = released(view, e, std::move(ending.release_reason), ending.revoked_by, now);
        if (ending.revoked) {
            event.type = LeaseEventType::revoked;
        }
    } else {
        event = lease_event(view, e, LeaseEventType::none, now);
    }
    event.outcome = ending.outcome;
    changes.events.push_back(std::move(event));

    if (has_live_attempt(e)) {
        Attempt row = live_attempt(view, e);
        row.state = ending.attempt_end;
        row.ended_at = now;
        row.failure_reason = std::move(ending.attempt_failure_reason);
        row.failure_category = std::move(ending.attempt_failure_category);
        row.result = std::move(ending.result);
        row.result_encoding = std::move(ending.result_encoding);
        row.closed_as = ending.closed_as;
        changes.put_attempts.push_back(std::move(row));
    }
    clear_lease(e);
    drop_grant(e, changes);
    close_waits(view, e, waits_closed, changes, now);
    e.delay_until.reset();
    e.blocked_at.reset();
    e.blocking_detail.reset();
    e.completed_at = now;
    // A damaged count is the reconciler's to mend; what runs can end all the same.
    const bool attempted = e.total_attempt_count > 0 || has_live_attempt(e);
    const bool skipped = ending.outcome == TerminalOutcome::skipped;
    const AttemptState attempt_state = attempted ? AttemptState::attempt_terminal
                                       : skipped ? AttemptState::none
                                                 : e.state.attempt_state;
    set_state(e,
              {LifecyclePhase::terminal, OwnershipState::unowned, EligibilityState::not_applicable,
               BlockingReason::none, ending.outcome, attempt_state},
              now);
}

void cancel(const Snapshot& view, Execution& e, const std::string& reason,
            const std::string& source, Changes& changes, const Context& ctx, CancelledAs as) {
    const bool by_operator = source == "operator_override";
    const bool by_reconciler = source == "engine" || as == CancelledAs::member_of_flow;
    Ending ending;
    ending.outcome = TerminalOutcome::cancelled;
    ending.attempt_end = AttemptLifecycle::ended_cancelled;
    ending.release_reason = "cancelled";
    ending.revoked_by = by_reconciler ? "reconciler" : by_operator ? "operator" : "backend";
    ending.attempt_failure_reason = "cancelled: " + reason;
    e.cancellation_reason = non_empty(reason);
    e.cancelled_by = source;
    finish(view, e, std::move(ending), changes, ctx.now);
    if (by_operator) {
        changes.log_events.push_back(operator_event(view, e, "execution_cancelled",
                                                    cancel_details(reason, source), ctx.now));
    }
}

void pause_attempt(const Snapshot& view, Execution& e, std::string suspension_id,
                   std::string release_reason, Changes& changes, TimestampMs now) {
    Attempt row = attempt_row(e, AttemptLifecycle::suspended);
    row.suspended_at = now;
    row.suspension_id = std::move(suspension_id);
    changes.put_attempts.push_back(std::move(row));
    changes.events.push_back(released(view, e, std::move(release_reason), "backend", now));
    e.attempt_leased_ms += std::max<DurationMs>(0, now - e.lease_acquired_at.value_or(now));
    clear_lease(e);
}

void end_attempt(const Snapshot& view, Execution& e, Attempt ended, std::string release_reason,
                 std::string_view revoked_by, Changes& changes, TimestampMs now) {
    ended.ended_at = now;
    changes.put_attempts.push_back(std::move(ended));
    changes.events.push_back(released(view, e, std::move(release_reason), revoked_by, now));
    clear_lease(e);
    drop_grant(e, changes);
    close_waits(view, e, "attempt_ended", changes, now);
}

Changes mark_if_expired(const Snapshot& view, const Execution& found, const Error& error,
                        const Context& ctx) {
    Changes changes;
    if (error.code == ErrorCode::lease_expired && found.state.ownership == OwnershipState::leased) {
        Execution e = found;
        mark_lease_expired(view, e, changes, ctx);
        changes.put_executions.push_back(std::move(e));
    }
    return changes;
}

void mark_lease_expired(const Snapshot& view, Execution& e, Changes& changes, const Context& ctx) {
    ExecutionEvent event = lease_event(view, e, LeaseEventType::expired, ctx.now);
    event.worker_id = e.worker_id;
    event.worker_instance_id = e.worker_instance_id;
    changes.events.push_back(std::move(event));
    e.lease_expired_at = ctx.now;
    e.blocking_detail = "lease expired, awaiting reclaim";
    if (ctx.settings.reclaim_grace_ms > 0) {
        e.reclaim_not_before = ctx.now + ctx.settings.reclaim_grace_ms;
    }
    set_state(e,
              {LifecyclePhase::active, OwnershipState::lease_expired_reclaimable,
               EligibilityState::not_applicable, BlockingReason::waiting_for_worker,
               TerminalOutcome::none, AttemptState::attempt_interrupted},
              ctx.now);
}

void revoke(const Snapshot& view, Execution& e, const std::string& reason,
            std::string_view revoked_by, Changes& changes, const Context& ctx) {
    ExecutionEvent event = lease_event(view, e, LeaseEventType::revoked, ctx.now);
    event.worker_id = e.worker_id;
    event.worker_instance_id = e.worker_instance_id;
    event.reason = reason;
    event.revoked_by = std::string(revoked_by);
    changes.events.push_back(std::move(event));
    e.lease_revoked_at = ctx.now;
    e.lease_revoke_reason = reason;
    e.blocking_detail = "lease revoked: " + reason;
    if (ctx.settings.reclaim_grace_ms > 0) {
        e.reclaim_not_before = ctx.now + ctx.settings.reclaim_grace_ms;
    }
    set_state(e,
              {LifecyclePhase::active, OwnershipState::lease_revoked,
               EligibilityState::not_applicable, BlockingReason::waiting_for_worker,
               TerminalOutcome::none, AttemptState::attempt_interrupted},
              ctx.now);
}

std::string reason_details(const std::string& reason) {
    return js::dump(js::Object{{"reason", reason}});
}

std::string cancel_details(const std::string& reason, const std::string& source) {
    return js::dump(js::Object{{"reason", reason}, {"source", source}});
}

expected<const Policy*> policy_of(const Snapshot& view, const Execution& e, const Context& ctx) {
    if (!e.has_policy) {
        return nullptr;
    }
    const ExecutionInput* input = view.input(e);
    if (input == nullptr || !input->policy) {
        return ff::fail(ErrorCode::corruption, "policy: missing");
    }
    return ctx.policies.get(*input->policy);
}

expected<std::optional<TimestampMs>> try_schedule_retry(const Snapshot& view, Execution& e,
                                                        const Failure& failure, Changes& changes,
                                                        const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    if (policy == nullptr || !policy->retry_policy) {
        return std::nullopt;
    }
    const RetryPolicy& retry = *policy->retry_policy;
    const auto& only = retry.retryable_categories;
    if (e.retry_count >= retry.max_retries || failure.category == "permanent" ||
        failure.category == "cancelled" || failure.category == "budget_exceeded" ||
        (!only.empty() && std::ranges::find(only, failure.category) == only.end())) {
        return std::nullopt;
    }
    DurationMs delay = backoff_delay(retry.backoff, e.retry_count);
    if (retry.backoff.jitter && retry.backoff.type == Backoff::Type::exponential) {
        const DurationMs half = delay / 2;
        delay = half +
                static_cast<DurationMs>(ctx.ids.uniform(static_cast<std::uint64_t>(delay - half)));
    }
    const TimestampMs at = ctx.now + delay;
    const std::uint32_t failed_index = e.current_attempt_index.value_or(0);

    Attempt ended = attempt_row(e, AttemptLifecycle::ended_failure);
    ended.failure_reason = non_empty(failure.reason);
    ended.failure_category = non_empty(failure.category);
    ended.retry_at = at;
    ended.closed_as = failure.closed_as;
    end_attempt(view, e, std::move(ended), failure.release_reason, failure.revoked_by, changes,
                ctx.now);
    e.delay_until = at;
    e.retry_count += 1;
    e.lineage_reason = non_empty(failure.reason);
    e.lineage_requested_by.reset();
    e.lineage_previous_index = failed_index;
    e.failure_reason = non_empty(failure.reason);
    e.failure_category = non_empty(failure.category);
    e.current_attempt_id.reset();
    e.blocking_detail = "retry backoff until " + std::to_string(at) + " (attempt " +
                        std::to_string(failed_index) + " failed: " + failure.reason + ")";
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned,
               EligibilityState::not_eligible_until_time, BlockingReason::waiting_for_retry_backoff,
               TerminalOutcome::none, AttemptState::pending_retry_attempt},
              ctx.now);
    return at;
}

void make_eligible(Execution& e, TimestampMs now) {
    e.delay_until.reset();
    e.blocking_detail.reset();
    e.blocked_at.reset();
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned, EligibilityState::eligible_now,
               BlockingReason::waiting_for_worker, TerminalOutcome::none, e.state.attempt_state},
              now);
}

}  // namespace ff::core
