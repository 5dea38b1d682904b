// What a client does with those that wait: signals, answers, keys.
#include <utility>

#include <ff/client.h>

#include "core/keystore.h"

namespace ff {

// ---------------------------------------------------------------------------------------- signals

expected<SignalResult> Client::try_signal(const DeliverSignal& op) { return engine_->run(op); }

expected<SignalResult> Client::try_answer(const ExecutionId& id, const WaitpointId& waitpoint,
                                          const std::string& signal_name,
                                          const Approval& approval) {
    FF_TRY(const ExecutionInfo found, engine_->run(ReadExecutionInfo{id}));
    DeliverApprovalSignal op;
    op.execution_id = id;
    op.lane_id = found.lane_id;
    op.waitpoint_id = waitpoint;
    op.signal_name = signal_name;
    op.actor = approval.actor;
    op.note = approval.note;
    op.idempotency_suffix = approval.idempotency_suffix;
    if (op.idempotency_suffix.empty()) {
        op.idempotency_suffix = op.actor.empty() ? new_uuid().to_string() : op.actor;
    }
    return engine_->run(std::move(op));
}

std::expected<SignalResult, BridgeError> Client::verify_and_deliver(const DeliverSignal& op) {
    using Kind = BridgeError::Kind;
    const auto refuse = [](Kind kind, Error cause) {
        return std::unexpected(BridgeError{kind, std::move(cause)});
    };
    const auto stored = engine_->run(ReadWaitpointToken{op.execution_id, op.waitpoint_id});
    if (!stored) {
        return refuse(Kind::backend, stored.error());
    }
    if (!*stored) {
        return refuse(Kind::unknown_waitpoint, {ErrorCode::waitpoint_not_found, {}, {}});
    }
    if (!core::same_secret(**stored, op.waitpoint_token)) {
        return refuse(Kind::token_mismatch, {ErrorCode::invalid_token, {}, {}});
    }
    auto delivered = engine_->run(op);
    if (!delivered) {
        return refuse(Kind::backend, std::move(delivered).error());
    }
    return *delivered;
}

expected<StateResult> Client::try_resume(const ExecutionId& id, const std::string& actor,
                                         DurationMs delay) {
    return engine_->run(ResumeExecution{id, ResumeTrigger::operator_, delay, actor});
}

// ------------------------------------------------------------------------------------------ reads

expected<std::optional<WaitpointInfo>> Client::try_find_waitpoint(const WaitpointId& id) {
    return engine_->run(FindWaitpoint{id});
}

expected<std::vector<SuspensionInfo>> Client::try_suspensions(const ExecutionId& id) {
    return engine_->run(ListSuspensions{id});
}

Listing<WaitpointInfo> Client::pending_waitpoints(const ExecutionId& id) {
    ListPendingWaitpoints first;
    first.execution_id = id;
    using Page = Listing<WaitpointInfo>::Page;
    return Listing<WaitpointInfo>([engine = engine_, next = first]() mutable -> expected<Page> {
        FF_TRY(auto page, engine->run(next));
        next.after = page.next_cursor;
        return Page{std::move(page.waitpoints), next.after.has_value()};
    });
}

Listing<SuspendedEntry> Client::suspended(ListSuspended filter) {
    if (!filter.ns) {
        filter.ns = options_.ns;
    }
    using Page = Listing<SuspendedEntry>::Page;
    return Listing<SuspendedEntry>(
        [engine = engine_, next = std::move(filter)]() mutable -> expected<Page> {
            FF_TRY(auto page, engine->run(next));
            next.cursor = page.next_cursor;
            return Page{std::move(page.entries), next.cursor.has_value()};
        });
}

Listing<SignalInfo> Client::signals(const ExecutionId& id, WithPayload payload) {
    ListSignals first;
    first.execution_id = id;
    first.with_payload = payload == WithPayload::yes;
    using Page = Listing<SignalInfo>::Page;
    return Listing<SignalInfo>([engine = engine_, next = first]() mutable -> expected<Page> {
        FF_TRY(auto page, engine->run(next));
        next.after_seq = page.next_after_seq.value_or(0);
        return Page{std::move(page.signals), page.next_after_seq.has_value()};
    });
}

// ------------------------------------------------------------------------------------------- keys

expected<std::optional<std::string>> Client::try_waitpoint_token(const ExecutionId& id,
                                                                 const WaitpointId& waitpoint) {
    return engine_->run(ReadWaitpointToken{id, waitpoint});
}

expected<SeedKeyResult> Client::try_seed_waitpoint_key(const SeedWaitpointKey& op) {
    return engine_->run(op);
}

expected<RotateKeyResult> Client::try_rotate_waitpoint_key(const RotateWaitpointKey& op) {
    return engine_->run(op);
}

expected<KeyList> Client::try_waitpoint_keys() { return engine_->run(ListWaitpointKeys{}); }

}  // namespace ff
