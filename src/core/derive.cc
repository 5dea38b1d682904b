#include "core/derive.h"

#include <algorithm>

#include "core/flow_rules.h"

namespace ff::core {

bool is_claimable(const Execution& e) {
    if (e.grant_expires_at) {
        return false;
    }
    const bool eligible = e.state.phase == LifecyclePhase::runnable &&
                          (e.state.eligibility == EligibilityState::eligible_now ||
                           e.state.eligibility == EligibilityState::blocked_by_route);
    const bool takeover = is_reclaimable(e.state) && !e.reclaim_not_before;
    return eligible || takeover;
}

std::optional<ReadyKey> ready_key(const Execution& e) {
    if (!e.gate && !is_claimable(e)) {
        return std::nullopt;
    }
    return ReadyKey{e.gate ? gate_route(*e.gate) : e.route, -e.priority, e.place.value_or(e.eid),
                    e.eid};
}

namespace {

TimerKind timer_kind(const Execution& e) {
    if (is_terminal(e.state)) {
        return TimerKind::retention;
    }
    return e.state.ownership == OwnershipState::leased ? TimerKind::lease : TimerKind::wake;
}

void take_earlier(std::optional<TimestampMs>& due, const std::optional<TimestampMs>& candidate) {
    if (candidate && (!due || *candidate < *due)) {
        due = candidate;
    }
}

}  // namespace

RouteId gate_route(const std::string& gate) {
    return -1 - static_cast<RouteId>(fnv1a64(gate) >> 1U);
}

std::optional<TimerKey> timer_key(const Execution& e) {
    if (!e.timer_at) {
        return std::nullopt;
    }
    return TimerKey{timer_kind(e), *e.timer_at, e.eid};
}

std::optional<TimestampMs> next_due(const Execution& e, DurationMs retention_default_ms) {
    if (is_terminal(e.state)) {
        const TimestampMs end = e.completed_at.value_or(e.last_transition_at) +
                                e.retention_ms.value_or(retention_default_ms);
        return std::max(end, e.retain_until.value_or(end));
    }
    std::optional<TimestampMs> due;
    if (e.state.ownership == OwnershipState::leased) {
        take_earlier(due, e.lease_expires_at);
    }
    if (e.state.eligibility == EligibilityState::not_eligible_until_time) {
        take_earlier(due, e.delay_until);  // one that waits for others has its delay before it
    }
    take_earlier(due, e.execution_deadline_at);
    take_earlier(due, e.attempt_deadline_at);
    take_earlier(due, e.grant_expires_at);
    take_earlier(due, e.reclaim_not_before);
    take_earlier(due, e.suspension_timeout_at);
    take_earlier(due, e.waitpoint_due_at);
    return due;
}

void arm_timer(const std::optional<Execution>& stored, Execution& current, TimestampMs now,
               DurationMs retention_default_ms) {
    const auto want = next_due(current, retention_default_ms);
    const bool same_lease = stored && stored->timer_at && want &&
                            stored->state.ownership == OwnershipState::leased &&
                            current.state.ownership == OwnershipState::leased &&
                            stored->lease_epoch == current.lease_epoch;
    if (same_lease && *stored->timer_at > now && *stored->timer_at <= *want) {
        current.timer_at = stored->timer_at;
        return;
    }
    current.timer_at = want;
}

bool is_being_cancelled(const Flow& flow) {
    return flow.state == FlowState::cancelled && flow.live > 0 &&
           flow.cancellation_policy != CancellationPolicy::flow_only;
}

bool is_held(const Flow& flow) {
    return flow.live > 0 &&
           (flow.paused || flow.max_active_members > 0 || flow.limited || is_being_cancelled(flow));
}

TimestampMs empty_flow_goes_at(const Flow& flow, DurationMs retention_default_ms) {
    constexpr DurationMs least_ms = 60'000;
    return flow.created_at + std::max(retention_default_ms, least_ms);
}

void arm_flow(Flow& flow, DurationMs retention_default_ms) {
    flow.timer_at.reset();
    if (flow.state == FlowState::open) {
        take_earlier(flow.timer_at, flow.deadline_at);
    }
    if (flow.node_count == 0) {
        take_earlier(flow.timer_at, empty_flow_goes_at(flow, retention_default_ms));
    }
    flow.held = is_held(flow);
}

namespace {

/// Work that counts a good end of the flow, if there is some among the last: members of a flow
/// often end together.
FlowWork* good_end_of(const FlowId& flow, std::vector<FlowWork>& out) {
    constexpr std::size_t looked_at = 64;
    const std::size_t from = out.size() - std::min(out.size(), looked_at);
    const auto found = std::ranges::find_if(out.begin() + static_cast<std::ptrdiff_t>(from),
                                            out.end(), [&](const FlowWork& work) {
                                                return work.key.kind == FlowWorkKind::counted &&
                                                       work.key.flow == flow && work.reason == "";
                                            });
    return found == out.end() ? nullptr : &*found;
}

}  // namespace

void add_follow_ups(const Execution* before, const Execution& after, TimestampMs now,
                    std::vector<FlowWork>& out) {
    if (!after.flow_id) {
        return;
    }
    const auto add = [&](FlowWorkKind kind, std::optional<std::string> reason = {}) {
        out.push_back({{*after.flow_id, kind, after.id}, std::move(reason), now});
    };
    if (before != nullptr && before->flow_id && !is_terminal(before->state) &&
        is_terminal(after.state)) {
        const bool bad = is_bad_end(after);
        FlowWork* alike = bad ? nullptr : good_end_of(*after.flow_id, out);
        if (alike != nullptr) {
            alike->times += 1;
        } else {
            add(FlowWorkKind::counted, bad ? std::string(to_string(after.state.outcome)) : "");
        }
        add(FlowWorkKind::ended);
    }
    if (before != nullptr && before->holds_flow_slot && !after.holds_flow_slot) {
        add(FlowWorkKind::slot_freed);
    }
}

void add_follow_ups_of_removal(const Execution& gone, TimestampMs now, std::vector<FlowWork>& out) {
    if (gone.flow_id) {
        out.push_back({{*gone.flow_id, FlowWorkKind::trimmed, gone.id}, std::nullopt, now});
    }
}

Bucket bucket(const Execution& e) {
    switch (e.state.phase) {
        case LifecyclePhase::submitted: return Bucket::none;
        case LifecyclePhase::suspended: return Bucket::suspended;
        case LifecyclePhase::active:
            return is_reclaimable(e.state) ? Bucket::reclaimable : Bucket::none;
        case LifecyclePhase::terminal:
            switch (e.state.outcome) {
                case TerminalOutcome::failed: return Bucket::failed;
                case TerminalOutcome::cancelled: return Bucket::cancelled;
                case TerminalOutcome::expired: return Bucket::expired;
                case TerminalOutcome::skipped: return Bucket::skipped;
                default: return Bucket::none;
            }
        case LifecyclePhase::runnable:
            switch (e.state.eligibility) {
                case EligibilityState::not_eligible_until_time: return Bucket::delayed;
                case EligibilityState::blocked_by_dependencies: return Bucket::waiting_children;
                case EligibilityState::blocked_by_budget: return Bucket::blocked_by_budget;
                case EligibilityState::blocked_by_quota: return Bucket::blocked_by_quota;
                case EligibilityState::blocked_by_route: return Bucket::blocked_by_route;
                case EligibilityState::blocked_by_lane_state: return Bucket::blocked_by_lane_state;
                case EligibilityState::blocked_by_operator: return Bucket::blocked_by_operator;
                default: return Bucket::none;
            }
    }
    return Bucket::none;
}

}  // namespace ff::core
