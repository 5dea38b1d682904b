// What the holder of a lease does with it: renew, report progress, end or pause the attempt.
#include <utility>

#include "core/decide.h"
#include "core/fence.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::size_t failure_reason_bytes_max = 4096;
constexpr std::size_t progress_message_bytes_max = 1024;
constexpr std::size_t result_bytes_max = 1U << 20;
constexpr DurationMs lease_ttl_default_ms = 30'000;

}  // namespace

// -------------------------------------------------------------------------------------- renew

expected<void> validate(Renew& args) {
    if (!args.lease_ttl_ms) {
        args.lease_ttl_ms = args.lease.lease_ttl_ms.value_or(lease_ttl_default_ms);
    }
    return check_lease_ttl(*args.lease_ttl_ms);
}

void reads(const Renew& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged);
}

Decision<RenewResult> decide(const Snapshot& view, const Renew& args, const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::required, Source::lease_holder, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    if (auto ok = check_fence(*found, args.lease, ctx.now); !ok) {
        return refuse<RenewResult>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    e.lease_renewed_at = ctx.now;
    e.lease_expires_at = ctx.now + args.lease_ttl_ms.value_or(lease_ttl_default_ms);
    e.last_mutation_at = ctx.now;
    Changes changes;
    ExecutionEvent event = lease_event(view, e, LeaseEventType::renewed, ctx.now);
    event.worker_id = e.worker_id;
    event.worker_instance_id = e.worker_instance_id;
    event.expires_at = e.lease_expires_at;
    changes.events.push_back(std::move(event));
    RenewResult reply{*e.lease_expires_at, e.lease_epoch};
    changes.put_executions.push_back(std::move(e));
    return {reply, std::move(changes)};
}

// ----------------------------------------------------------------------------------- progress

expected<void> validate(Progress& args) {
    if (args.percent && (*args.percent < 0 || *args.percent > 100)) {
        return ff::fail(ErrorCode::invalid_input, "progress_pct must be in 0..=100 (got " +
                                                      std::to_string(*args.percent) + ")");
    }
    if (args.message) {
        FF_TRY_VOID(check_text("progress_message", *args.message));
        args.message = truncate_utf8(std::move(*args.message), progress_message_bytes_max);
    }
    return {};
}

void reads(const Progress& args, ReadSet& set) { set.need(args.lease.execution_id); }

Decision<Done> decide(const Snapshot& view, const Progress& args, const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::required, Source::lease_holder, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    // Progress never marks an expired lease: it answers without writing.
    if (auto ok = check_fence(*found, args.lease, ctx.now); !ok) {
        return std::move(ok).error();
    }
    Execution e = *found;
    if (args.percent) {
        e.progress_percent = args.percent;
    }
    if (args.message) {
        e.progress_message = non_empty(args.message);
    }
    e.progress_updated_at = ctx.now;
    e.last_mutation_at = ctx.now;
    Changes changes;
    changes.put_executions.push_back(std::move(e));
    return {Done{}, std::move(changes)};
}

// ----------------------------------------------------------------------------------- complete

expected<void> validate(Complete& args) {
    if (args.result_payload && args.result_payload->size() > result_bytes_max) {
        return ff::fail(ErrorCode::payload_too_large,
                        "result_payload: exceeds " + std::to_string(result_bytes_max) +
                            " bytes (got " + std::to_string(args.result_payload->size()) + ")");
    }
    if (args.result_encoding) {
        FF_TRY_VOID(check_label("result_encoding", *args.result_encoding, 0, 256));
    }
    return {};
}

void reads(const Complete& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged);
}

Decision<StateResult> decide(const Snapshot& view, const Complete& args, const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::operator_may_omit, args.source, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    if (found->state.outcome == TerminalOutcome::success && names_last_lease(*found, args.lease)) {
        return StateResult{found->id, PublicState::completed};
    }
    if (auto ok = check_fence(*found, args.lease, ctx.now); !ok) {
        return refuse<StateResult>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    Changes changes;
    Ending ending;
    ending.outcome = TerminalOutcome::success;
    ending.attempt_end = AttemptLifecycle::ended_success;
    ending.release_reason = "completed";
    ending.result = args.result_payload;
    ending.result_encoding = non_empty(args.result_encoding);
    finish(view, e, std::move(ending), changes, ctx.now);
    changes.put_executions.push_back(std::move(e));
    return {StateResult{found->id, PublicState::completed}, std::move(changes)};
}

// --------------------------------------------------------------------------------------- fail

expected<void> validate(Fail& args) {
    FF_TRY_VOID(check_label("failure_category", args.failure_category, 0, 256));
    args.failure_reason = readable_text(std::move(args.failure_reason), failure_reason_bytes_max);
    return {};
}

void reads(const Fail& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged_or_policy).attempt = true;
}

namespace {

/// The answer to a failure that was already recorded, if that is what this is.
std::optional<FailResult> recorded_failure(const Snapshot& view, const Execution& e,
                                           const LeaseRef& lease) {
    if (e.state.outcome == TerminalOutcome::failed && names_last_lease(e, lease)) {
        return FailResult{};
    }
    if (e.state.phase != LifecyclePhase::runnable || lease.lease_epoch != e.lease_epoch ||
        !e.current_attempt_index) {
        return std::nullopt;
    }
    const Attempt* attempt = view.attempt(e, *e.current_attempt_index);
    if (attempt == nullptr || lease.attempt_id != attempt->attempt_id ||
        attempt->state != AttemptLifecycle::ended_failure || !attempt->retry_at) {
        return std::nullopt;
    }
    return FailResult{true, *attempt->retry_at, e.total_attempt_count};
}

}  // namespace

Decision<FailResult> decide(const Snapshot& view, const Fail& args, const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::operator_may_omit, args.source, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    if (auto recorded = recorded_failure(view, *found, args.lease)) {
        return *recorded;
    }
    if (auto ok = check_fence(*found, args.lease, ctx.now); !ok) {
        return refuse<FailResult>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    Changes changes;
    auto retry = try_schedule_retry(
        view, e, {args.failure_reason, args.failure_category, "failed_retry_scheduled"}, changes,
        ctx);
    if (!retry) {
        return std::move(retry).error();
    }
    if (*retry) {
        FailResult reply{true, **retry, e.total_attempt_count};
        changes.put_executions.push_back(std::move(e));
        return {reply, std::move(changes)};
    }
    e.failure_reason = non_empty(args.failure_reason);
    e.failure_category = non_empty(args.failure_category);
    Ending ending;
    ending.outcome = TerminalOutcome::failed;
    ending.attempt_end = AttemptLifecycle::ended_failure;
    ending.release_reason = "failed_terminal";
    ending.attempt_failure_reason = e.failure_reason;
    ending.attempt_failure_category = e.failure_category;
    finish(view, e, std::move(ending), changes, ctx.now);
    changes.put_executions.push_back(std::move(e));
    return {FailResult{}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- cancel

expected<void> validate(CancelExecution& args) {
    FF_TRY_VOID(check_reason("reason", args.reason, 1024));
    return check_label("source", args.source, 1, 256);
}

void reads(const CancelExecution& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged).attempt = true;
}

namespace {

expected<void> check_cancel_fence(const Execution& e, const CancelExecution& args,
                                  const Context& ctx) {
    if (e.state.phase != LifecyclePhase::active || args.source == "operator_override") {
        return {};
    }
    if (e.state.ownership == OwnershipState::lease_revoked) {
        return ff::fail(ErrorCode::lease_revoked, e.lease_revoke_reason.value_or(""));
    }
    if (!args.lease.lease_epoch && !args.lease.lease_id && !args.lease.attempt_id) {
        return ff::fail(ErrorCode::invalid_input,
                        "lease_epoch required when source != operator_override and execution is "
                        "active");
    }
    FF_TRY_VOID(
        check_fence_shape(args.lease, FenceRule::required, Source::lease_holder, ctx.settings));
    return check_fence(e, args.lease, ctx.now);
}

}  // namespace

Decision<StateResult> decide(const Snapshot& view, const CancelExecution& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (is_terminal(found->state)) {
        if (found->state.outcome == TerminalOutcome::cancelled) {
            return StateResult{found->id, PublicState::cancelled};
        }
        return not_active(*found);
    }
    if (auto ok = check_cancel_fence(*found, args, ctx); !ok) {
        return refuse<StateResult>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    Changes changes;
    cancel(view, e, args.reason, args.source, changes, ctx);
    changes.put_executions.push_back(std::move(e));
    return {StateResult{found->id, PublicState::cancelled}, std::move(changes)};
}

// ------------------------------------------------------------------------- delay, wait, release

expected<void> validate(Delay& args) {
    if (args.delay_until < 0) {
        return ff::fail(ErrorCode::invalid_input, "delay_until: must not be negative");
    }
    return {};
}

void reads(const Delay& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged).attempt = true;
}

expected<void> validate(WaitChildren&) { return {}; }

void reads(const WaitChildren& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged).attempt = true;
}

void reads_more(const Snapshot& view, const WaitChildren& args, ReadSet& set) {
    const Execution* e = view.execution(args.lease.execution_id);
    if (e != nullptr && e->flow_id && !view.knows_flow(*e->flow_id)) {
        set.flows.push_back(*e->flow_id);
    }
    if (e != nullptr && e->flow_id && !view.knows_group(e->id)) {
        set.groups.emplace_back(*e->flow_id, e->id);
    }
}

expected<void> validate(Release&) { return {}; }

void reads(const Release& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged).attempt = true;
}

namespace {

/// Has this very lease put its attempt aside this way already? Then the answer was lost, and the
/// call is repeated.
bool is_aside(const Snapshot& view, const Execution& e, const LeaseRef& lease,
              std::string_view literal) {
    if (e.state.phase != LifecyclePhase::runnable || !names_last_lease(e, lease) ||
        !e.current_attempt_index) {
        return false;
    }
    const Attempt* attempt = view.attempt(e, *e.current_attempt_index);
    return attempt != nullptr && attempt->state == AttemptLifecycle::suspended &&
           attempt->suspension_id == literal;
}

/// Shared by the three ways to put a running attempt aside: fence, pause, then `move` to where it
/// waits.
template <class Move>
Decision<StateResult> put_aside(const Snapshot& view, const LeaseRef& lease, FenceRule rule,
                                Source source, std::string_view literal, const Context& ctx,
                                Move move) {
    const Execution* found = view.execution(lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok = check_fence_shape(lease, rule, source, ctx.settings); !ok) {
        return std::move(ok).error();
    }
    if (is_aside(view, *found, lease, literal)) {
        return StateResult{found->id, found->public_state};
    }
    if (auto ok = check_fence(*found, lease, ctx.now); !ok) {
        return refuse<StateResult>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    Changes changes;
    pause_attempt(view, e, std::string(literal), std::string(literal), changes, ctx.now);
    e.state.attempt_state = AttemptState::attempt_interrupted;
    move(e);
    StateResult reply{e.id, e.public_state};
    changes.put_executions.push_back(std::move(e));
    return {reply, std::move(changes)};
}

}  // namespace

Decision<StateResult> decide(const Snapshot& view, const Delay& args, const Context& ctx) {
    return put_aside(
        view, args.lease, FenceRule::operator_may_omit, args.source, "worker_delay", ctx,
        [&](Execution& e) {
            e.delay_until = args.delay_until;
            e.blocking_detail = "delayed until " + std::to_string(args.delay_until);
            set_state(e,
                      {LifecyclePhase::runnable, OwnershipState::unowned,
                       EligibilityState::not_eligible_until_time, BlockingReason::waiting_for_delay,
                       TerminalOutcome::none, AttemptState::attempt_interrupted},
                      ctx.now);
        });
}

Decision<StateResult> decide(const Snapshot& view, const WaitChildren& args, const Context& ctx) {
    return put_aside(
        view, args.lease, FenceRule::operator_may_omit, args.source, "waiting_children", ctx,
        [&](Execution& e) {
            // Without an edge that could still be resolved nothing would ever wake it.
            const EdgeGroup* group = e.flow_id ? view.group(e.id) : nullptr;
            if (group == nullptr || group->staged == 0 || group->state != GroupState::pending) {
                make_eligible(e, ctx.now);
                return;
            }
            e.blocking_detail = "waiting for child executions to complete";
            set_state(
                e,
                {LifecyclePhase::runnable, OwnershipState::unowned,
                 EligibilityState::blocked_by_dependencies, BlockingReason::waiting_for_children,
                 TerminalOutcome::none, AttemptState::attempt_interrupted},
                ctx.now);
        });
}

Decision<StateResult> decide(const Snapshot& view, const Release& args, const Context& ctx) {
    return put_aside(view, args.lease, FenceRule::required, Source::lease_holder, "worker_release",
                     ctx, [&](Execution& e) { make_eligible(e, ctx.now); });
}

}  // namespace ff::core
