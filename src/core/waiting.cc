#include "core/waiting.h"

#include <algorithm>
#include <limits>

#include <ff/json.h>
#include "core/transitions.h"

namespace ff::core {

TimestampMs later(TimestampMs now, DurationMs span) {
    constexpr TimestampMs last = std::numeric_limits<TimestampMs>::max();
    return span > last - now ? last : now + span;
}

Error no_suspension(const Execution& e) {
    return {ErrorCode::corruption,
            "the suspension of " + e.id.to_string() + " is missing or cannot be read",
            {}};
}

bool has_open_waits(const Execution& e) {
    return e.open_waitpoints > 0 || e.current_suspension_id.has_value();
}

Waits::Waits(const Snapshot& view, const Execution& e) : view_(view) {
    if (!has_open_waits(e)) {
        return;
    }
    for (const Waitpoint* row : view.waits.open_waitpoints(e.eid)) {
        waitpoints.emplace(row->id, *row);
    }
    if (e.current_suspension_id) {
        if (const Suspension* row = view.waits.suspension({e.eid, e.suspension_count})) {
            suspension = *row;
        }
    }
}

void Waits::close_all(std::string_view reason, TimestampMs now) {
    for (auto& [id, waitpoint] : waitpoints) {
        const bool pending = waitpoint.state == WaitpointState::pending;
        waitpoint.state = WaitpointState::closed;
        waitpoint.closed_at = now;
        waitpoint.close_reason = pending ? "never_committed" : std::string(reason);
    }
    if (suspension) {
        suspension->closed_at = now;
        suspension->close_reason = std::string(reason);
        suspension->waits_until.reset();
    }
}

void Waits::close_resumed(const std::string& reason, TimestampMs now) {
    for (auto& [id, waitpoint] : waitpoints) {
        if (suspension && waitpoint.episode == suspension->key.episode) {
            waitpoint.state = WaitpointState::closed;
            waitpoint.satisfied_at = now;
            waitpoint.closed_at = now;
            waitpoint.close_reason = reason;
        }
    }
    suspension->satisfied_at = now;
    suspension->closed_at = now;
    suspension->close_reason = reason;
    suspension->waits_until.reset();
}

void Waits::close_expired_pending(TimestampMs now) {
    for (auto& [id, waitpoint] : waitpoints) {
        if (waitpoint.state == WaitpointState::pending &&
            waitpoint.expires_at.value_or(now + 1) <= now) {
            waitpoint.state = WaitpointState::closed;
            waitpoint.closed_at = now;
            waitpoint.close_reason = "never_committed";
        }
    }
}

void Waits::put(Execution& e, Changes& changes) const {
    e.open_waitpoints = 0;
    e.waitpoint_due_at.reset();
    for (const auto& [id, waitpoint] : waitpoints) {
        if (waitpoint.open()) {
            e.open_waitpoints += 1;
        }
        if (waitpoint.state == WaitpointState::pending && waitpoint.expires_at) {
            e.waitpoint_due_at =
                std::min(e.waitpoint_due_at.value_or(*waitpoint.expires_at), *waitpoint.expires_at);
        }
        const bool known = view_.waits.knows_waitpoint(id);
        const Waitpoint* before = known ? view_.waits.waitpoint(id) : nullptr;
        if (before == nullptr || *before != waitpoint) {
            changes.put_waitpoints.push_back(waitpoint);
        }
    }
    e.current_suspension_id.reset();
    e.current_waitpoint_id.reset();
    e.suspension_timeout_at.reset();
    if (suspension && !suspension->closed_at) {
        e.current_suspension_id = suspension->id;
        e.suspension_timeout_at = suspension->timeout_at;
        const auto bound = decode_waitpoints(suspension->waitpoints);
        if (bound && !bound->empty()) {
            e.current_waitpoint_id = bound->front().first;
        }
    }
    if (suspension) {
        e.suspension_count = std::max(e.suspension_count, suspension->key.episode);
        changes.put_suspensions.push_back(*suspension);
    }
}

void close_waits(const Snapshot& view, Execution& e, std::string_view reason, Changes& changes,
                 TimestampMs now) {
    if (!has_open_waits(e)) {
        return;
    }
    Waits waits(view, e);
    waits.close_all(reason, now);
    waits.put(e, changes);
}

void resume(Execution& e, Waits& waits, Resume how, TimestampMs now) {
    waits.close_resumed(how.close_reason, now);
    Suspension& suspension = *waits.suspension;
    suspension.resume_trigger = how.trigger;
    suspension.closer_signal_id = how.closer;
    suspension.resumed_by = std::move(how.resumed_by);
    e.state.attempt_state = AttemptState::attempt_interrupted;
    if (how.delay_ms <= 0) {
        make_eligible(e, now);
        return;
    }
    e.delay_until = later(now, how.delay_ms);
    e.blocking_detail = "resume delay " + std::to_string(how.delay_ms) + "ms" + how.delay_detail;
    set_state(e,
              {LifecyclePhase::runnable, OwnershipState::unowned,
               EligibilityState::not_eligible_until_time, BlockingReason::waiting_for_resume_delay,
               TerminalOutcome::none, AttemptState::attempt_interrupted},
              now);
}

BlockingReason blocking_reason_of(std::string_view reason_code) {
    switch (
        parse_enum<SuspensionReason>(reason_code).value_or(SuspensionReason::waiting_for_signal)) {
        case SuspensionReason::waiting_for_signal:
        case SuspensionReason::step_boundary: return BlockingReason::waiting_for_signal;
        case SuspensionReason::waiting_for_approval: return BlockingReason::waiting_for_approval;
        case SuspensionReason::waiting_for_callback: return BlockingReason::waiting_for_callback;
        case SuspensionReason::waiting_for_tool_result:
            return BlockingReason::waiting_for_tool_result;
        case SuspensionReason::waiting_for_operator_review:
        case SuspensionReason::manual_pause: return BlockingReason::paused_by_operator;
        case SuspensionReason::paused_by_policy: return BlockingReason::paused_by_policy;
        case SuspensionReason::paused_by_budget: return BlockingReason::waiting_for_budget;
    }
    return BlockingReason::waiting_for_signal;
}

std::string encode_waitpoints(const std::vector<std::pair<WaitpointId, std::string>>& waitpoints) {
    std::string out;
    for (const auto& [id, key] : waitpoints) {
        out += out.empty() ? "[[" : ",[";
        js::append_quoted(out, id.to_string());
        out += ',';
        js::append_quoted(out, key);
        out += ']';
    }
    return out.empty() ? "[]" : out + ']';
}

expected<std::vector<std::pair<WaitpointId, std::string>>> decode_waitpoints(
    std::string_view text) {
    const auto bad = [] { return ff::fail(ErrorCode::corruption, "waitpoints of a suspension"); };
    const auto value = js::parse(text);
    if (!value || value->if_array() == nullptr) {
        return bad();
    }
    std::vector<std::pair<WaitpointId, std::string>> out;
    for (const js::Value& item : *value->if_array()) {
        const js::Array* pair = item.if_array();
        if (pair == nullptr || pair->size() != 2 || (*pair)[0].if_string() == nullptr ||
            (*pair)[1].if_string() == nullptr) {
            return bad();
        }
        const auto id = WaitpointId::parse(*(*pair)[0].if_string());
        if (!id) {
            return bad();
        }
        out.emplace_back(*id, *(*pair)[1].if_string());
    }
    return out;
}

LogEvent signal_event(const Snapshot& view, const Execution& e, const Signal& signal,
                      std::string_view effect, TimestampMs now) {
    std::string payload;  // every signal has one: written without making values
    const auto add = [&](std::string_view name, std::string_view text) {
        payload += payload.empty() ? '{' : ',';
        js::append_quoted(payload, name);
        payload += ':';
        js::append_quoted(payload, text);
    };
    add("signal_id", signal.id.to_string());
    add("signal_name", signal.name);
    add("waitpoint_id", signal.waitpoint_id.to_string());
    add("source_type", signal.source_type);
    add("source_identity", signal.source_identity);
    add("effect", effect);
    add("raw_effect", to_string(signal.effect));
    payload += '}';
    LogEvent event = operator_event(view, e, "delivered", std::move(payload), now);
    event.family = LogFamily::signal_delivery;
    return event;
}

// ------------------------------------------------------------------------------------- timeouts

namespace {

/// What tells the worker why it woke.
void put_timeout_signal(const Snapshot& view, Execution& e, Suspension& suspension,
                        Changes& changes, const Context& ctx) {
    Signal signal;
    signal.key = {e.eid, e.signal_count + 1};
    signal.id = SignalId{ctx.ids.uuid(ctx.now)};
    signal.waitpoint_id = e.current_waitpoint_id.value_or(WaitpointId{});
    signal.scope = SignalScope::waitpoint;
    signal.name = "timeout";
    signal.category = "timeout";
    signal.source_type = "system";
    signal.source_identity = "suspension_timeout";
    signal.created_at = ctx.now;
    signal.accepted_at = ctx.now;
    signal.payload_encoding = "json";
    signal.effect = SignalEffect::resume_condition_satisfied;
    signal.matched = true;
    e.signal_count += 1;
    e.timeout_signals += 1;
    suspension.closer_signal_id = signal.id;
    suspension.last_signal_at = ctx.now;
    changes.log_events.push_back(signal_event(view, e, signal, "satisfied", ctx.now));
    changes.put_satisfiers.push_back({{suspension.key, timeout_node, ""}, signal.key.seq});
    changes.put_signals.push_back(std::move(signal));
}

void end_suspended(const Snapshot& view, Execution& e, TerminalOutcome outcome,
                   AttemptLifecycle attempt_end, TimeoutBehavior behavior, Changes& changes,
                   TimestampMs now) {
    const std::string word(to_string(behavior));
    Ending ending;
    ending.outcome = outcome;
    ending.attempt_end = attempt_end;
    ending.attempt_failure_reason = "suspension_timeout:" + word;
    ending.closed_as = StreamClosedReason::suspension_timeout;
    ending.waits_closed = "timed_out_" + word;
    e.failure_reason = ending.attempt_failure_reason;
    e.failure_category.reset();  // of an earlier failure
    finish(view, e, std::move(ending), changes, now);
}

}  // namespace

expected<void> apply_suspension_timeout(const Snapshot& view, Execution& e, Changes& changes,
                                        const Context& ctx) {
    Waits waits(view, e);
    if (!waits.suspension) {
        return std::unexpected(no_suspension(e));
    }
    const TimestampMs at = waits.suspension->timeout_at.value_or(ctx.now);
    const TimeoutBehavior behavior =
        waits.suspension->timeout_behavior.value_or(TimeoutBehavior::fail);
    switch (behavior) {
        case TimeoutBehavior::fail:
            end_suspended(view, e, TerminalOutcome::failed, AttemptLifecycle::ended_failure,
                          behavior, changes, ctx.now);
            return {};
        case TimeoutBehavior::cancel:
            end_suspended(view, e, TerminalOutcome::cancelled, AttemptLifecycle::ended_cancelled,
                          behavior, changes, ctx.now);
            return {};
        case TimeoutBehavior::expire:
            end_suspended(view, e, TerminalOutcome::expired, AttemptLifecycle::ended_failure,
                          behavior, changes, ctx.now);
            return {};
        case TimeoutBehavior::auto_resume_with_timeout_signal:
        case TimeoutBehavior::auto_resume: {
            Resume how;
            how.trigger = ResumeTrigger::auto_resume;
            how.close_reason = "timed_out_auto_resume";
            if (behavior == TimeoutBehavior::auto_resume_with_timeout_signal) {
                put_timeout_signal(view, e, *waits.suspension, changes, ctx);
                how.closer = waits.suspension->closer_signal_id;
            }
            resume(e, waits, std::move(how), ctx.now);
            break;
        }
        case TimeoutBehavior::escalate: {
            Suspension& suspension = *waits.suspension;
            suspension.reason_code = "waiting_for_operator_review";
            suspension.escalated_at = ctx.now;
            suspension.timeout_at.reset();
            suspension.timeout_behavior.reset();
            suspension.waits_until = no_deadline;
            for (auto& [id, waitpoint] : waits.waitpoints) {
                if (waitpoint.episode == suspension.key.episode) {
                    waitpoint.expires_at.reset();
                }
            }
            e.blocking_detail = "suspension escalated: timeout at " + std::to_string(at);
            StateVector state = e.state;
            state.blocking_reason = BlockingReason::paused_by_operator;
            set_state(e, state, ctx.now);
            break;
        }
    }
    waits.close_expired_pending(ctx.now);
    waits.put(e, changes);
    return {};
}

}  // namespace ff::core
