// Signals: proved, recorded, and weighed against the condition of the suspension they come to; and
// the other ways a suspension ends.
#include <algorithm>

#include <ff/json.h>

#include "core/condition_rules.h"
#include "core/decide.h"
#include "core/resume_condition.h"
#include "core/transitions.h"
#include "core/validate.h"
#include "core/waiting.h"
#include "core/waitpoint_tokens.h"

namespace ff::core {

namespace {

constexpr std::size_t signal_payload_bytes_max = 65'536;
constexpr std::size_t text_bytes_max = 1'024;
constexpr std::uint32_t signals_max_default = 10'000;
/// How often a wrong token is written down: strangers must not make the store write at will.
constexpr DurationMs failure_stamp_ms = 60'000;
/// Keys of operators' answers begin with it, and no others.
constexpr std::string_view approval_key_prefix = "approval:";

/// What the last seven effects are called by those who follow signals.
std::string_view event_word(SignalEffect effect) {
    switch (effect) {
        case SignalEffect::resume_condition_satisfied: return "satisfied";
        case SignalEffect::appended_to_waitpoint:
        case SignalEffect::appended_to_waitpoint_duplicate: return "appended";
        case SignalEffect::signal_ignored_matcher_failed:
        case SignalEffect::signal_ignored_not_in_condition: return "ignored";
        case SignalEffect::no_op: return "no_op";
        case SignalEffect::buffered_for_pending_waitpoint: return "buffered";
    }
    return "no_op";
}

expected<void> check_signal_text(std::string_view field, std::string_view text) {
    return check_reason(field, text, text_bytes_max);
}

SignalFacts facts_of(const DeliverSignal& args, const Waitpoint& waitpoint) {
    return {waitpoint.key, args.signal_name, *args.signal_id, args.source_type,
            args.source_identity};
}

const Suspension* open_suspension(const Snapshot& view, const Execution& e) {
    return e.current_suspension_id ? view.waits.suspension({e.eid, e.suspension_count}) : nullptr;
}

/// The waitpoint, if it is this execution's.
const Waitpoint* own_waitpoint(const Snapshot& view, const Execution& e, const WaitpointId& id) {
    const Waitpoint* row = view.waits.waitpoint(id);
    return row != nullptr && row->eid == e.eid ? row : nullptr;
}

void reads_signal(const DeliverSignal& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged_or_policy).attempt = true;
    set.waits.waitpoints.push_back(args.waitpoint_id);
    set.waits.keys = true;
}

void reads_more_signal(const Snapshot& view, const DeliverSignal& args, ReadSet& set) {
    const Execution* e = view.execution(args.execution_id);
    const Waitpoint* at = e == nullptr ? nullptr : own_waitpoint(view, *e, args.waitpoint_id);
    if (at == nullptr) {
        return;
    }
    if (!view.waits.knows_signal(e->eid, *args.signal_id)) {
        set.waits.signals.emplace_back(e->eid, *args.signal_id);
    }
    if (!args.idempotency_key.empty() &&
        !view.waits.knows_signal_key(at->id, args.idempotency_key)) {
        set.waits.signal_keys.emplace_back(at->id, args.idempotency_key);
    }
    const Suspension* suspension = open_suspension(view, *e);
    if (suspension == nullptr || at->state != WaitpointState::active ||
        is_untouched(suspension->satisfied_counts)) {
        return;
    }
    const auto condition = ResumeCondition::parse(suspension->condition);
    if (!condition) {
        return;  // the decision says so
    }
    for (const Candidate& candidate : candidates(*condition, facts_of(args, *at))) {
        for (const std::string& token : candidate.tokens) {
            SatisfierKey key{suspension->key, candidate.node, token};
            if (!view.waits.knows_satisfier(key)) {
                set.waits.satisfiers.push_back(std::move(key));
            }
        }
    }
}

/// How many signals an execution may be sent: what the policy says, or less if the caller wants.
/// 0: any number.
expected<std::uint64_t> signals_max(const Snapshot& view, const Execution& e,
                                    std::optional<std::uint32_t> wanted, const Context& ctx) {
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    const std::uint64_t allowed =
        policy != nullptr ? policy->max_signals_per_execution.value_or(signals_max_default)
                          : signals_max_default;
    const std::uint64_t asked = wanted.value_or(0);
    if (asked == 0 || (allowed != 0 && allowed < asked)) {
        return allowed;
    }
    return asked;
}

Signal ledger_row(const Execution& e, const DeliverSignal& args, const Context& ctx) {
    Signal row;
    row.key = {e.eid, e.signal_count + 1};
    row.id = *args.signal_id;
    row.waitpoint_id = args.waitpoint_id;
    row.scope = args.target_scope;
    row.name = args.signal_name;
    row.category = args.signal_category;
    row.source_type = args.source_type;
    row.source_identity = args.source_identity;
    row.correlation_id = args.correlation_id;
    if (!args.idempotency_key.empty() && args.dedup_ttl_ms > 0) {
        row.idempotency_key = args.idempotency_key;
        row.dedup_expires_at = ctx.now + args.dedup_ttl_ms;
    }
    row.created_at = args.created_at.value_or(ctx.now);
    row.accepted_at = ctx.now;
    row.payload = args.payload;
    row.payload_encoding = args.payload_encoding;
    return row;
}

/// The signal that made this one a repetition, or null.
expected<const Signal*> earlier_signal(const Snapshot& view, const Execution& e,
                                       const DeliverSignal& args, const Context& ctx) {
    if (!args.idempotency_key.empty() && args.dedup_ttl_ms > 0) {
        const Signal* same = view.waits.signal_with_key(args.waitpoint_id, args.idempotency_key);
        if (same != nullptr && same->dedup_expires_at.value_or(0) > ctx.now) {
            return same;
        }
    }
    const Signal* same = view.waits.signal(e.eid, *args.signal_id);
    if (same != nullptr && same->waitpoint_id != args.waitpoint_id) {
        return ff::fail(ErrorCode::invalid_input,
                        "signal_id: it was used for another waitpoint of this execution");
    }
    return same;
}

/// May this waitpoint take a signal now?
expected<void> check_open(const Execution& e, const Waitpoint& at, const Context& ctx) {
    if (is_terminal(e.state)) {
        return ff::fail(ErrorCode::target_not_signalable);
    }
    if (at.state == WaitpointState::pending) {
        if (at.expires_at.value_or(0) <= ctx.now) {
            return ff::fail(ErrorCode::pending_waitpoint_expired);
        }
        return {};
    }
    if (at.state != WaitpointState::active || e.state.phase != LifecyclePhase::suspended ||
        !e.current_suspension_id) {
        return ff::fail(ErrorCode::waitpoint_closed);
    }
    return {};
}

/// Weighs an accepted signal and does what follows.
expected<SignalEffect> weigh(const Snapshot& view, Execution& e, Waits& waits,
                             const DeliverSignal& args, Signal& row, Changes& changes,
                             const Context& ctx) {
    const auto found = waits.waitpoints.find(args.waitpoint_id);
    if (found == waits.waitpoints.end()) {
        return ff::fail(ErrorCode::waitpoint_closed);
    }
    Waitpoint& at = found->second;
    at.signal_count += 1;
    at.last_signal_at = ctx.now;
    if (at.state == WaitpointState::pending) {
        row.effect = SignalEffect::buffered_for_pending_waitpoint;
        return row.effect;
    }
    if (!waits.suspension) {
        return std::unexpected(no_suspension(e));
    }
    Suspension& suspension = *waits.suspension;
    const auto condition = ResumeCondition::parse(suspension.condition);
    const auto policy = parse_resume_policy(suspension.resume_policy);
    if (!condition || !policy) {
        return std::unexpected(no_suspension(e));
    }
    NodeCounts counts = counts_of(*condition, suspension.satisfied_counts);
    const bool first = is_untouched(suspension.satisfied_counts);
    const Evaluation evaluation = evaluate(
        *condition, counts, facts_of(args, at), [&](std::uint32_t node, const std::string& token) {
            return !first && view.waits.is_satisfied({suspension.key, node, token});
        });
    row.effect = evaluation.effect;
    row.matched = evaluation.matched;
    at.matched_signal_count += evaluation.matched ? 1 : 0;
    suspension.last_signal_at = ctx.now;
    suspension.satisfied_counts = counts_text(counts);
    // One signal that is enough alone needs no notes: the suspension names it as its closer.
    if (!first || !evaluation.satisfied) {
        for (const Gain& gain : evaluation.gains) {
            changes.put_satisfiers.push_back(
                {{suspension.key, gain.node, gain.token}, row.key.seq});
        }
    }
    if (evaluation.satisfied) {
        Resume how;
        how.closer = row.id;
        how.delay_ms = args.resume_delay_ms.value_or(policy->resume_delay_ms.value_or(0));
        how.delay_detail = " after signal " + row.name;
        resume(e, waits, std::move(how), ctx.now);
    }
    return row.effect;
}

/// A delivery whose right to be one has been established.
Decision<SignalResult> accept(const Snapshot& view, const Execution& found, const Waitpoint& at,
                              const DeliverSignal& args, const Context& ctx) {
    auto earlier = earlier_signal(view, found, args, ctx);
    if (!earlier) {
        return std::move(earlier).error();
    }
    Changes changes;
    if (*earlier != nullptr) {
        changes.log_events.push_back(signal_event(view, found, **earlier, "deduped", ctx.now));
        return {SignalResult{true, (*earlier)->id, (*earlier)->effect}, std::move(changes)};
    }
    if (auto ok = check_open(found, at, ctx); !ok) {
        return std::move(ok).error();
    }
    auto limit = signals_max(view, found, args.max_signals_per_execution, ctx);
    if (!limit) {
        return std::move(limit).error();
    }
    if (*limit != 0 && found.signal_count - found.timeout_signals >= *limit) {
        return ff::fail(ErrorCode::signal_limit_exceeded,
                        "the execution has had " + std::to_string(*limit) + " signals");
    }
    Execution e = found;
    Waits waits(view, e);
    Signal row = ledger_row(e, args, ctx);
    e.signal_count += 1;
    auto effect = weigh(view, e, waits, args, row, changes, ctx);
    if (!effect) {
        return std::move(effect).error();
    }
    e.last_mutation_at = ctx.now;
    waits.put(e, changes);
    changes.log_events.push_back(signal_event(view, e, row, event_word(*effect), ctx.now));
    changes.put_signals.push_back(std::move(row));
    changes.put_executions.push_back(std::move(e));
    return {SignalResult{false, *args.signal_id, *effect}, std::move(changes)};
}

}  // namespace

// ----------------------------------------------------------------------------------- by a token

namespace {

expected<void> check_signal(DeliverSignal& args) {
    if (args.signal_name.empty()) {
        return ff::fail(ErrorCode::invalid_input, "signal_name: must not be empty");
    }
    if (is_reserved_signal(args.signal_name)) {
        return ff::fail(ErrorCode::invalid_input, "signal_name: this name is reserved");
    }
    FF_TRY_VOID(check_signal_text("signal_name", args.signal_name));
    FF_TRY_VOID(check_signal_text("signal_category", args.signal_category));
    FF_TRY_VOID(check_signal_text("source_type", args.source_type));
    FF_TRY_VOID(check_signal_text("source_identity", args.source_identity));
    FF_TRY_VOID(check_signal_text("waitpoint_token", args.waitpoint_token));
    FF_TRY_VOID(check_signal_text("payload_encoding", args.payload_encoding));
    FF_TRY_VOID(check_signal_text("correlation_id", args.correlation_id));
    FF_TRY_VOID(check_signal_text("idempotency_key", args.idempotency_key));
    if (args.payload && args.payload->size() > signal_payload_bytes_max) {
        return ff::fail(
            ErrorCode::payload_too_large,
            "payload: " + std::to_string(args.payload->size()) + " bytes, at most 65536 are taken");
    }
    FF_TRY_VOID(check_resume_delay(args.resume_delay_ms.value_or(0)));
    if (args.dedup_ttl_ms < 0) {
        return ff::fail(ErrorCode::invalid_input, "dedup_ttl_ms: must not be negative");
    }
    args.dedup_ttl_ms = std::min<DurationMs>(args.dedup_ttl_ms, 1'000'000'000'000);
    return {};
}

/// The execution as it is after a token that proves nothing; nothing when it stays as it is.
std::optional<Execution> after_wrong_token(const Execution& found, ErrorCode refusal,
                                           TimestampMs now) {
    const auto& last = found.last_hmac_validation_failed_at;
    if (refusal == ErrorCode::missing_token || (last && now < *last + failure_stamp_ms)) {
        return std::nullopt;
    }
    Execution e = found;
    e.last_hmac_validation_failed_at = now;
    return e;
}

}  // namespace

expected<void> validate(DeliverSignal& args) {
    // Who has a token must not answer in the place of an operator.
    if (args.idempotency_key.starts_with(approval_key_prefix)) {
        return ff::fail(ErrorCode::invalid_input,
                        "idempotency_key: keys that begin with approval: are those of approvals");
    }
    return check_signal(args);
}

void reads(const DeliverSignal& args, ReadSet& set) { reads_signal(args, set); }

void reads_more(const Snapshot& view, const DeliverSignal& args, ReadSet& set) {
    // What cannot be proved is worth no further reads.
    const Waitpoint* at = view.waits.waitpoint(args.waitpoint_id);
    if (at != nullptr && same_secret(args.waitpoint_token, at->token)) {
        reads_more_signal(view, args, set);
    }
}

Decision<SignalResult> decide(const Snapshot& view, const DeliverSignal& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        // As much work as a wrong token is: a callback does not tell the two apart.
        ctx.keystore.dummy_mac(args.waitpoint_token);
        return ff::fail(ErrorCode::execution_not_found);
    }
    const Waitpoint* at = own_waitpoint(view, *found, args.waitpoint_id);
    auto proved = verify_token(view.waits.keys(), args.waitpoint_token, args.execution_id,
                               args.waitpoint_id, at, ctx.now, Grace::enforced, ctx.keystore);
    if (!proved) {
        Changes changes;
        if (auto e = after_wrong_token(*found, proved.error().code, ctx.now)) {
            changes.put_executions.push_back(std::move(*e));
        }
        return {std::unexpected(std::move(proved).error()), std::move(changes)};
    }
    return accept(view, *found, *at, args, ctx);
}

// ------------------------------------------------------------------------------- by an operator

namespace {

/// The signal an approval stands for. `signal_id` is the approval's own.
DeliverSignal signal_of(const DeliverApprovalSignal& args) {
    DeliverSignal signal;
    signal.execution_id = args.execution_id;
    signal.waitpoint_id = args.waitpoint_id;
    signal.signal_id = args.signal_id;
    signal.signal_name = args.signal_name;
    signal.signal_category = "approval";
    signal.source_type = "operator";
    signal.source_identity = args.actor;
    signal.target_scope = SignalScope::execution;
    signal.payload = args.note;
    signal.payload_encoding = args.note ? "text" : "json";
    signal.idempotency_key =
        std::string(approval_key_prefix) + args.signal_name + ":" + args.idempotency_suffix;
    signal.dedup_ttl_ms = args.signal_dedup_ttl_ms;
    signal.max_signals_per_execution = args.max_signals_per_execution;
    return signal;
}

}  // namespace

expected<void> validate(DeliverApprovalSignal& args) {
    DeliverSignal signal = signal_of(args);
    FF_TRY_VOID(check_signal(signal));
    return check_signal_text("idempotency_suffix", args.idempotency_suffix);
}

void reads(const DeliverApprovalSignal& args, ReadSet& set) { reads_signal(signal_of(args), set); }

void reads_more(const Snapshot& view, const DeliverApprovalSignal& args, ReadSet& set) {
    reads_more_signal(view, signal_of(args), set);
}

Decision<SignalResult> decide(const Snapshot& view, const DeliverApprovalSignal& args,
                              const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    const std::string& lane = view.route(found->route).key.lane;
    if (args.lane_id != lane) {
        return ff::fail(ErrorCode::invalid_input, "lane_mismatch: args.lane_id=" + args.lane_id +
                                                      " exec_core.lane_id=" + lane);
    }
    const Waitpoint* at = own_waitpoint(view, *found, args.waitpoint_id);
    if (at == nullptr || at->token.empty()) {
        return ff::fail(ErrorCode::waitpoint_not_found);
    }
    // The stored token is checked like any other, but its key may have aged out since.
    if (auto proved = verify_token(view.waits.keys(), at->token, args.execution_id, at->id, at,
                                   ctx.now, Grace::waived, ctx.keystore);
        !proved) {
        return std::move(proved).error();
    }
    return accept(view, *found, *at, signal_of(args), ctx);
}

expected<void> validate(ResumeExecution& args) {
    FF_TRY_VOID(check_resume_delay(args.resume_delay_ms));
    FF_TRY_VOID(check_signal_text("actor", args.actor));
    return check_signal_text("reason", args.reason);
}

void reads(const ResumeExecution& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged).attempt = true;
}

Decision<StateResult> decide(const Snapshot& view, const ResumeExecution& args,
                             const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (found->state.phase != LifecyclePhase::suspended || !found->current_suspension_id) {
        return ff::fail(ErrorCode::execution_not_suspended,
                        "phase " + std::string(to_string(found->state.phase)));
    }
    Execution e = *found;
    Changes changes;
    Waits waits(view, e);
    if (!waits.suspension) {
        return no_suspension(e);
    }
    Resume how;
    how.trigger = args.trigger_type;
    how.delay_ms = args.resume_delay_ms;
    how.resumed_by = non_empty(args.actor);
    resume(e, waits, std::move(how), ctx.now);
    waits.put(e, changes);
    changes.log_events.push_back(
        operator_event(view, e, "execution_resumed",
                       js::dump(js::Object{{"trigger", to_string(args.trigger_type)},
                                           {"actor", args.actor},
                                           {"reason", args.reason}}),
                       ctx.now));
    const StateResult reply{e.id, e.public_state};
    changes.put_executions.push_back(std::move(e));
    return {reply, std::move(changes)};
}

// ------------------------------------------------------------------------------------ by time

void reads(const ExpireSuspension& args, ReadSet& set) {
    set.need(args.execution_id, InputNeed::if_tagged).attempt = true;
}

Decision<ExpireSuspensionResult> decide(const Snapshot& view, const ExpireSuspension& args,
                                        const Context& ctx) {
    const auto nothing = [](std::string why) {
        return ExpireSuspensionResult{std::nullopt, std::move(why)};
    };
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return nothing("not_found_cleaned");
    }
    if (found->state.phase != LifecyclePhase::suspended) {
        return nothing("not_suspended_cleaned");
    }
    const Suspension* open = open_suspension(view, *found);
    if (open == nullptr) {
        return nothing("no_active_suspension_cleaned");
    }
    if (!open->timeout_at || *open->timeout_at > ctx.now) {
        return nothing("not_yet_due");
    }
    const TimeoutBehavior behavior = open->timeout_behavior.value_or(TimeoutBehavior::fail);
    Execution e = *found;
    Changes changes;
    if (auto ok = apply_suspension_timeout(view, e, changes, ctx); !ok) {
        return std::move(ok).error();
    }
    changes.put_executions.push_back(std::move(e));
    // Both forms of waking up are told as one.
    return {ExpireSuspensionResult{behavior == TimeoutBehavior::auto_resume_with_timeout_signal
                                       ? TimeoutBehavior::auto_resume
                                       : behavior,
                                   {}},
            std::move(changes)};
}

}  // namespace ff::core
