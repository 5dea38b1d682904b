#include <ff/states.h>

namespace ff {
namespace {

bool awaits_attempt(AttemptState state) {
    return state == AttemptState::pending_first_attempt ||
           state == AttemptState::pending_retry_attempt ||
           state == AttemptState::pending_replay_attempt;
}

/// Is `reason` a way to say why a runnable execution has this eligibility?
bool explains(BlockingReason reason, EligibilityState eligibility) {
    using enum BlockingReason;
    switch (eligibility) {
        case EligibilityState::eligible_now: return reason == waiting_for_worker;
        case EligibilityState::not_eligible_until_time:
            return reason == waiting_for_delay || reason == waiting_for_retry_backoff ||
                   reason == waiting_for_resume_delay;
        case EligibilityState::blocked_by_dependencies: return reason == waiting_for_children;
        case EligibilityState::blocked_by_budget: return reason == waiting_for_budget;
        case EligibilityState::blocked_by_quota: return reason == waiting_for_quota;
        case EligibilityState::blocked_by_route:
            return reason == waiting_for_capable_worker || reason == waiting_for_locality_match;
        case EligibilityState::blocked_by_lane_state: return reason == paused_by_policy;
        case EligibilityState::blocked_by_operator:
            return reason == paused_by_operator || reason == paused_by_flow_cancel;
        case EligibilityState::not_applicable: return false;
    }
    return false;
}

bool is_suspension_reason(BlockingReason reason) {
    using enum BlockingReason;
    switch (reason) {
        case waiting_for_signal:
        case waiting_for_approval:
        case waiting_for_callback:
        case waiting_for_tool_result:
        case waiting_for_budget:
        case paused_by_operator:
        case paused_by_policy: return true;
        default: return false;
    }
}

bool is_legal_runnable(const StateVector& v) {
    return v.ownership == OwnershipState::unowned && v.outcome == TerminalOutcome::none &&
           explains(v.blocking_reason, v.eligibility) &&
           (awaits_attempt(v.attempt_state) ||
            v.attempt_state == AttemptState::attempt_interrupted);
}

bool is_legal_active(const StateVector& v) {
    if (v.eligibility != EligibilityState::not_applicable || v.outcome != TerminalOutcome::none) {
        return false;
    }
    switch (v.ownership) {
        case OwnershipState::unowned: return false;
        case OwnershipState::leased:
            return v.blocking_reason == BlockingReason::none &&
                   v.attempt_state == AttemptState::running_attempt;
        case OwnershipState::lease_expired_reclaimable:
        case OwnershipState::lease_revoked:
            return v.blocking_reason == BlockingReason::waiting_for_worker &&
                   v.attempt_state == AttemptState::attempt_interrupted;
    }
    return false;
}

bool is_legal_suspended(const StateVector& v) {
    return v.ownership == OwnershipState::unowned &&
           v.eligibility == EligibilityState::not_applicable &&
           v.outcome == TerminalOutcome::none && is_suspension_reason(v.blocking_reason) &&
           v.attempt_state == AttemptState::attempt_interrupted;
}

bool is_legal_terminal(const StateVector& v) {
    if (v.ownership != OwnershipState::unowned ||
        v.eligibility != EligibilityState::not_applicable ||
        v.blocking_reason != BlockingReason::none) {
        return false;
    }
    const bool attempt_ended = v.attempt_state == AttemptState::attempt_terminal;
    switch (v.outcome) {
        case TerminalOutcome::none: return false;
        // Only an attempt can succeed or fail.
        case TerminalOutcome::success:
        case TerminalOutcome::failed: return attempt_ended;
        // Without an attempt the pending state stays, so that a reader sees it never ran.
        case TerminalOutcome::cancelled:
        case TerminalOutcome::expired: return attempt_ended || awaits_attempt(v.attempt_state);
        case TerminalOutcome::skipped:
            return attempt_ended || v.attempt_state == AttemptState::none;
    }
    return false;
}

PublicState state_of_outcome(TerminalOutcome outcome) {
    switch (outcome) {
        case TerminalOutcome::success: return PublicState::completed;
        case TerminalOutcome::none:  // illegal; shown as the outcome that asks for attention
        case TerminalOutcome::failed: return PublicState::failed;
        case TerminalOutcome::cancelled: return PublicState::cancelled;
        case TerminalOutcome::expired: return PublicState::expired;
        case TerminalOutcome::skipped: return PublicState::skipped;
    }
    return PublicState::failed;
}

PublicState state_of_eligibility(EligibilityState eligibility) {
    switch (eligibility) {
        case EligibilityState::not_eligible_until_time: return PublicState::delayed;
        case EligibilityState::blocked_by_dependencies: return PublicState::waiting_children;
        case EligibilityState::blocked_by_budget:
        case EligibilityState::blocked_by_quota: return PublicState::rate_limited;
        case EligibilityState::eligible_now:
        case EligibilityState::blocked_by_route:
        case EligibilityState::blocked_by_lane_state:
        case EligibilityState::blocked_by_operator:
        case EligibilityState::not_applicable: return PublicState::waiting;
    }
    return PublicState::waiting;
}

}  // namespace

PublicState public_state(const StateVector& vector) {
    switch (vector.phase) {
        case LifecyclePhase::submitted: return PublicState::waiting;
        case LifecyclePhase::runnable: return state_of_eligibility(vector.eligibility);
        case LifecyclePhase::active: return PublicState::active;
        case LifecyclePhase::suspended: return PublicState::suspended;
        case LifecyclePhase::terminal: return state_of_outcome(vector.outcome);
    }
    return PublicState::waiting;
}

bool is_legal(const StateVector& vector) {
    switch (vector.phase) {
        case LifecyclePhase::submitted: return false;  // transient, never stored
        case LifecyclePhase::runnable: return is_legal_runnable(vector);
        case LifecyclePhase::active: return is_legal_active(vector);
        case LifecyclePhase::suspended: return is_legal_suspended(vector);
        case LifecyclePhase::terminal: return is_legal_terminal(vector);
    }
    return false;
}

}  // namespace ff
