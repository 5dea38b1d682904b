// Giving a lease back until signals come: waitpoints made ahead, and suspensions.
#include <algorithm>
#include <set>

#include "core/condition_rules.h"
#include "core/decide.h"
#include "core/fence.h"
#include "core/resume_condition.h"
#include "core/transitions.h"
#include "core/validate.h"
#include "core/waiting.h"
#include "core/waitpoint_tokens.h"

namespace ff::core {

namespace {

constexpr DurationMs clock_skew_ms = 600'000;
constexpr DurationMs dedup_grace_ms = 60'000;
constexpr DurationMs dedup_ttl_max_ms = 604'800'000;
constexpr std::size_t continuation_bytes_max = 4'096;
constexpr std::size_t idempotency_key_bytes_max = 1'024;

Waitpoint new_waitpoint(const Execution& e, const WaitpointId& id, std::string key,
                        TimestampMs now) {
    Waitpoint row;
    row.id = id;
    row.eid = e.eid;
    row.execution_id = e.id;
    row.attempt_index = e.current_attempt_index.value_or(0);
    row.key = std::move(key);
    row.created_at = now;
    return row;
}

/// Signs new waitpoints. The first token of a store that was given no key brings one along.
class Signer {
  public:
    Signer(const Snapshot& view, const Context& ctx) : ctx_(ctx), keys_(view.waits.keys()) {}

    /// The token, and the name of the key it is signed with.
    expected<void> sign(Waitpoint& row) {
        if (current_key(keys_) == nullptr && keys_.empty() && ctx_.settings.make_waitpoint_key) {
            FF_TRY_VOID(make_key());
        }
        FF_TRY(row.token, mint_token(keys_, row.execution_id, row.id, ctx_.keystore));
        row.token_kid = current_key(keys_)->kid;
        return {};
    }
    void put(Changes& changes) {
        if (made_) {
            changes.put_hmac_keys.push_back(std::move(*made_));
        }
    }

  private:
    expected<void> make_key() {
        std::string secret;
        for (int i = 0; i < 32; ++i) {
            secret += static_cast<char>(ctx_.ids.uniform(255));
        }
        FF_TRY(made_, ctx_.keystore.seal("k1", secret, ctx_.ids));
        made_->installed_at = ctx_.now;
        made_->is_current = true;
        keys_.push_back(&*made_);
        return {};
    }

    const Context& ctx_;
    Keys keys_;
    std::optional<HmacKey> made_;
};

WaitpointTicket ticket_of(const Waitpoint& row) { return {row.id, row.key, row.token}; }

}  // namespace

// ----------------------------------------------------------------------------- made ahead of time

expected<void> validate(CreateWaitpoint& args) {
    FF_TRY_VOID(check_waitpoint_key("waitpoint_key", args.waitpoint_key));
    if (args.expires_in_ms <= 0) {
        return ff::fail(ErrorCode::invalid_input, "expires_in_ms: must be greater than 0");
    }
    return {};
}

void reads(const CreateWaitpoint& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged);
    set.waits.keys = true;
}

Decision<WaitpointTicket> decide(const Snapshot& view, const CreateWaitpoint& args,
                                 const Context& ctx) {
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
        return refuse<WaitpointTicket>(view, *found, std::move(ok).error(), ctx);
    }
    Execution e = *found;
    Changes changes;
    Waits waits(view, e);
    if (waits.waitpoints.size() >= waitpoints_max) {
        return ff::fail(ErrorCode::invalid_input, "too_many_waitpoints");
    }
    Waitpoint row =
        new_waitpoint(e, WaitpointId{ctx.ids.uuid(ctx.now)}, args.waitpoint_key, ctx.now);
    row.expires_at = later(ctx.now, args.expires_in_ms);
    Signer signer(view, ctx);
    if (auto ok = signer.sign(row); !ok) {
        return std::move(ok).error();
    }
    signer.put(changes);
    WaitpointTicket ticket = ticket_of(row);
    waits.waitpoints.emplace(row.id, std::move(row));
    waits.put(e, changes);
    e.last_mutation_at = ctx.now;
    changes.put_executions.push_back(std::move(e));
    return {std::move(ticket), std::move(changes)};
}

expected<void> validate(CloseWaitpoint& args) {
    if (args.reason.empty()) {
        args.reason = "proactive_close";
    }
    return check_reason("reason", args.reason, 256);
}

void reads(const CloseWaitpoint& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged);
    set.waits.waitpoints.push_back(args.waitpoint_id);
}

Decision<Done> decide(const Snapshot& view, const CloseWaitpoint& args, const Context& ctx) {
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::required, Source::lease_holder, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    const Waitpoint* row = view.waits.waitpoint(args.waitpoint_id);
    const bool own = row != nullptr && row->eid == found->eid;
    if (own && row->state == WaitpointState::active) {
        return ff::fail(ErrorCode::waitpoint_active, "end the suspension instead");
    }
    if (own && !row->open()) {
        return Done{};
    }
    if (auto ok = check_fence(*found, args.lease, ctx.now); !ok) {
        return refuse<Done>(view, *found, std::move(ok).error(), ctx);
    }
    if (!own) {
        return ff::fail(ErrorCode::waitpoint_not_found);
    }
    Execution e = *found;
    Changes changes;
    Waits waits(view, e);
    const auto pending = waits.waitpoints.find(args.waitpoint_id);
    if (pending == waits.waitpoints.end()) {
        return ff::fail(ErrorCode::waitpoint_not_found);
    }
    Waitpoint& waitpoint = pending->second;
    waitpoint.state = WaitpointState::closed;
    waitpoint.closed_at = ctx.now;
    waitpoint.close_reason = args.reason;
    waits.put(e, changes);
    e.last_mutation_at = ctx.now;
    changes.put_executions.push_back(std::move(e));
    return {Done{}, std::move(changes)};
}

// --------------------------------------------------------------------------------------- suspend

expected<void> validate(Suspend& args) {
    if (args.lease.suspended) {
        return ff::fail(ErrorCode::already_suspended);
    }
    FF_TRY_VOID(check_condition(args));
    FF_TRY_VOID(check_reason("idempotency_key", args.idempotency_key, idempotency_key_bytes_max));
    FF_TRY_VOID(check_reason("continuation_metadata_pointer",
                             args.continuation_metadata_pointer.value_or(""),
                             continuation_bytes_max));
    return check_resume_delay(args.resume_policy.resume_delay_ms.value_or(0));
}

void reads(const Suspend& args, ReadSet& set) {
    set.need(args.lease.execution_id, InputNeed::if_tagged_or_policy);
    set.waits.keys = true;
    for (const WaitpointBinding& binding : args.waitpoints) {
        set.waits.waitpoints.push_back(*binding.waitpoint_id);
    }
}

void reads_more(const Snapshot& view, const Suspend& args, ReadSet& set) {
    const Execution* e = view.execution(args.lease.execution_id);
    if (e == nullptr) {
        return;
    }
    if (!args.idempotency_key.empty()) {
        if (!view.waits.knows_suspend_key(e->eid, args.idempotency_key)) {
            set.waits.suspend_keys.emplace_back(e->eid, args.idempotency_key);
            return;
        }
        if (const Suspension* row = view.waits.suspension_with_key(e->eid, args.idempotency_key)) {
            if (const auto bound = decode_waitpoints(row->waitpoints)) {
                for (const auto& [id, key] : *bound) {
                    if (!view.waits.knows_waitpoint(id)) {
                        set.waits.waitpoints.push_back(id);
                    }
                }
            }
        }
    }
    const WaitpointBinding& first = args.waitpoints.front();
    if (first.use_pending && !view.waits.knows_signals_at(*first.waitpoint_id)) {
        set.waits.signals_at.push_back(*first.waitpoint_id);
    }
}

namespace {

/// What a handle of a suspended attempt carries: who it was, enough to look at its signals.
Handle suspended_handle(const Snapshot& view, const Execution& e, const LeaseRef& lease,
                        std::uint32_t attempt_index, const Context& ctx) {
    Handle handle;
    handle.kind = HandleKind::suspended;
    handle.backend = ctx.settings.backend;
    handle.execution_id = e.id;
    handle.attempt_index = attempt_index;
    handle.attempt_id = lease.attempt_id.value_or(AttemptId{});
    handle.lease_id = lease.lease_id.value_or(LeaseId{});
    handle.lease_epoch = lease.lease_epoch.value_or(0);
    handle.lane_id = view.route(e.route).key.lane;
    return handle;
}

/// The answer this very call was given before, if it was: by the same lease, not too long ago.
std::optional<SuspendResult> earlier_answer(const Snapshot& view, const Execution& e,
                                            const Suspend& args, const Context& ctx) {
    if (args.idempotency_key.empty()) {
        return std::nullopt;
    }
    const Suspension* row = view.waits.suspension_with_key(e.eid, args.idempotency_key);
    if (row == nullptr || row->dedup_expires_at.value_or(0) <= ctx.now ||
        row->lease_id != args.lease.lease_id) {
        return std::nullopt;
    }
    const auto bound = decode_waitpoints(row->waitpoints);
    if (!bound || bound->empty()) {
        return std::nullopt;
    }
    SuspendResult result;
    result.suspended = row->entered;
    result.details.suspension_id = row->id;
    for (const auto& [id, key] : *bound) {
        const Waitpoint* waitpoint = view.waits.waitpoint(id);
        if (waitpoint == nullptr) {
            return std::nullopt;
        }
        if (id == bound->front().first) {
            result.details.waitpoint = ticket_of(*waitpoint);
        } else {
            result.details.additional.push_back(ticket_of(*waitpoint));
        }
    }
    if (row->entered) {
        result.handle = suspended_handle(view, e, args.lease, row->attempt_index, ctx);
    }
    return result;
}

expected<void> check_owner(const Execution& e, const LeaseRef& lease, const Context& ctx) {
    FF_TRY_VOID(check_fence_shape(lease, FenceRule::required, Source::lease_holder, ctx.settings));
    LeaseRef triple = lease;
    triple.attempt_index.reset();
    FF_TRY_VOID(check_fence(e, triple, ctx.now));
    if (lease.attempt_index && lease.attempt_index != e.current_attempt_index) {
        return ff::fail(ErrorCode::invalid_lease_for_suspend);
    }
    if (e.current_suspension_id) {
        return ff::fail(ErrorCode::already_suspended);
    }
    return {};
}

/// A waitpoint that was made ahead may be taken over as it is.
expected<void> check_pending(const Execution& e, const Waitpoint* row, TimestampMs now) {
    if (row == nullptr) {
        return ff::fail(ErrorCode::waitpoint_not_found);
    }
    if (row->state != WaitpointState::pending) {
        return ff::fail(ErrorCode::waitpoint_not_pending);
    }
    if (row->eid != e.eid || row->attempt_index != e.current_attempt_index) {
        return ff::fail(ErrorCode::invalid_waitpoint_for_execution);
    }
    if (row->expires_at.value_or(0) <= now) {
        return ff::fail(ErrorCode::pending_waitpoint_expired);
    }
    if (row->token.empty()) {
        return ff::fail(ErrorCode::waitpoint_not_token_bound);
    }
    return {};
}

struct Deadline {
    std::optional<TimestampMs> at;
    TimeoutBehavior behavior = TimeoutBehavior::fail;
};

/// The deadline the caller gave, or the policy's.
expected<Deadline> deadline_of(const Snapshot& view, const Execution& e, const Suspend& args,
                               const Context& ctx) {
    Deadline deadline{args.timeout_at, args.timeout_behavior};
    FF_TRY(const Policy* policy, policy_of(view, e, ctx));
    if (!deadline.at && policy != nullptr && policy->suspension_policy &&
        policy->suspension_policy->default_timeout_ms) {
        deadline.at = later(ctx.now, *policy->suspension_policy->default_timeout_ms);
        deadline.behavior = parse_enum<TimeoutBehavior>(policy->suspension_policy->timeout_behavior)
                                .value_or(TimeoutBehavior::fail);
    }
    if (!deadline.at && args.resume_condition.kind == ResumeCondition::Kind::timeout_only) {
        return ff::fail(ErrorCode::invalid_input, "timeout_only_without_deadline");
    }
    return deadline;
}

/// The waitpoints of the suspension: new rows, or the pending one taken over, whose key the
/// condition may have left out.
expected<std::vector<Waitpoint>> bind(const Snapshot& view, const Execution& e, const Suspend& args,
                                      const Deadline& deadline, ResumeCondition& condition,
                                      Signer& signer, const Context& ctx) {
    std::vector<Waitpoint> rows;
    std::vector<std::string> keys;
    for (const WaitpointBinding& binding : args.waitpoints) {
        const Waitpoint* known = view.waits.waitpoint(*binding.waitpoint_id);
        if (binding.use_pending) {
            FF_TRY_VOID(check_pending(e, known, ctx.now));
            rows.push_back(*known);
            name_only_waitpoint(condition, known->key);
        } else {
            if (known != nullptr) {
                return ff::fail(ErrorCode::waitpoint_already_exists);
            }
            rows.push_back(new_waitpoint(e, *binding.waitpoint_id, binding.waitpoint_key, ctx.now));
        }
        keys.push_back(rows.back().key);
    }
    FF_TRY_VOID(check_references(condition, keys));
    for (Waitpoint& row : rows) {
        if (row.token.empty()) {
            FF_TRY_VOID(signer.sign(row));
        }
        row.state = WaitpointState::active;
        row.activated_at = ctx.now;
        row.episode = e.suspension_count + 1;
        row.expires_at = deadline.at;
        row.required_signal_names = required_names(condition, row.key);
    }
    return rows;
}

Suspension new_suspension(const Snapshot& view, const Execution& e, const Suspend& args,
                          const ResumeCondition& condition, const Deadline& deadline,
                          const std::vector<Waitpoint>& waitpoints, const Context& ctx) {
    Suspension row;
    row.key = {e.eid, e.suspension_count + 1};
    row.id = *args.suspension_id;
    row.execution_id = e.id;
    row.lane = view.route(e.route).key.lane;
    row.attempt_index = e.current_attempt_index.value_or(0);
    std::vector<std::pair<WaitpointId, std::string>> bound;
    for (const Waitpoint& waitpoint : waitpoints) {
        bound.emplace_back(waitpoint.id, waitpoint.key);
    }
    row.waitpoints = encode_waitpoints(bound);
    row.reason_code = std::string(to_string(args.reason_code));
    row.requested_by = args.requested_by;
    row.created_at = ctx.now;
    row.timeout_at = deadline.at;
    row.timeout_behavior = deadline.behavior;
    row.condition = condition.to_json();
    row.resume_policy = to_json(args.resume_policy);
    row.continuation = non_empty(args.continuation_metadata_pointer);
    if (!args.idempotency_key.empty()) {
        row.idempotency_key = args.idempotency_key;
        const DurationMs left = deadline.at ? std::max<DurationMs>(*deadline.at - ctx.now, 0) : 0;
        row.dedup_expires_at =
            ctx.now + (deadline.at ? std::min(later(dedup_grace_ms, left), dedup_ttl_max_ms)
                                   : dedup_ttl_max_ms);
    }
    row.lease_id = args.lease.lease_id;
    row.waits_until = deadline.at.value_or(no_deadline);
    if (e.attempt_deadline_at) {
        row.remaining_attempt_timeout_ms =
            std::max<DurationMs>(0, *e.attempt_deadline_at - ctx.now);
    }
    return row;
}

/// Plays the signals that came early through the condition, in the order they came. Says whether
/// they suffice.
bool replay_early(const Snapshot& view, const ResumeCondition& condition, Suspension& suspension,
                  Waitpoint& waitpoint, NodeCounts& counts, Changes& changes, TimestampMs now) {
    std::set<std::pair<std::uint32_t, std::string>> taken;
    for (const Signal* early : view.waits.signals_at(waitpoint.id)) {
        const SignalFacts facts{waitpoint.key, early->name, early->id, early->source_type,
                                early->source_identity};
        const Evaluation evaluation =
            evaluate(condition, counts, facts, [&](std::uint32_t node, const std::string& token) {
                return taken.contains({node, token});
            });
        Signal signal = *early;
        signal.effect = evaluation.effect;
        signal.matched = evaluation.matched;
        changes.put_signals.push_back(std::move(signal));
        waitpoint.matched_signal_count += evaluation.matched ? 1 : 0;
        suspension.last_signal_at = early->accepted_at;
        for (const Gain& gain : evaluation.gains) {
            taken.emplace(gain.node, gain.token);
            changes.put_satisfiers.push_back(
                {{suspension.key, gain.node, gain.token}, early->key.seq});
        }
        if (evaluation.satisfied) {
            suspension.closer_signal_id = early->id;
            suspension.resume_trigger = ResumeTrigger::signal;
            suspension.satisfied_at = now;
            return true;
        }
    }
    return false;
}

void park(const Snapshot& view, Execution& e, const Suspension& suspension,
          const WaitpointId& primary, Changes& changes, TimestampMs now) {
    pause_attempt(view, e, suspension.id.to_string(), "suspend", changes, now);
    e.blocking_detail =
        "suspended: waitpoint " + primary.to_string() + " awaiting " + suspension.reason_code;
    set_state(e,
              {LifecyclePhase::suspended, OwnershipState::unowned, EligibilityState::not_applicable,
               blocking_reason_of(suspension.reason_code), TerminalOutcome::none,
               AttemptState::attempt_interrupted},
              now);
}

}  // namespace

Decision<SuspendResult> decide(const Snapshot& view, const Suspend& args, const Context& ctx) {
    if (args.timeout_at && *args.timeout_at < ctx.now - clock_skew_ms) {
        return ff::fail(ErrorCode::invalid_input, "timeout_at_in_past");
    }
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto earlier = earlier_answer(view, *found, args, ctx)) {
        return std::move(*earlier);
    }
    if (auto ok = check_owner(*found, args.lease, ctx); !ok) {
        return refuse<SuspendResult>(view, *found, std::move(ok).error(), ctx);
    }
    auto deadline = deadline_of(view, *found, args, ctx);
    if (!deadline) {
        return std::move(deadline).error();
    }
    Signer signer(view, ctx);
    ResumeCondition condition = args.resume_condition;
    auto bound = bind(view, *found, args, *deadline, condition, signer, ctx);
    if (!bound) {
        return std::move(bound).error();
    }

    Execution e = *found;
    Changes changes;
    signer.put(changes);
    Waits waits(view, e);
    Suspension suspension = new_suspension(view, e, args, condition, *deadline, *bound, ctx);
    SuspendResult result;
    result.details.suspension_id = suspension.id;
    result.details.waitpoint = ticket_of(bound->front());
    for (auto it = bound->begin() + 1; it != bound->end(); ++it) {
        result.details.additional.push_back(ticket_of(*it));
    }
    NodeCounts counts = counts_of(condition, "");
    const bool early =
        args.waitpoints.front().use_pending &&
        replay_early(view, condition, suspension, bound->front(), counts, changes, ctx.now);
    suspension.satisfied_counts = counts_text(counts);
    suspension.entered = !early;
    const WaitpointId primary = bound->front().id;
    for (Waitpoint& row : *bound) {
        waits.waitpoints.insert_or_assign(row.id, std::move(row));
    }
    waits.suspension = std::move(suspension);
    if (early) {
        waits.close_resumed("resumed", ctx.now);
    } else {
        result.suspended = true;
        result.handle =
            suspended_handle(view, e, args.lease, e.current_attempt_index.value_or(0), ctx);
        park(view, e, *waits.suspension, primary, changes, ctx.now);
    }
    waits.put(e, changes);
    changes.put_executions.push_back(std::move(e));
    return {std::move(result), std::move(changes)};
}

}  // namespace ff::core
