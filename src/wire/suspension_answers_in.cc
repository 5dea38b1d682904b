#include "wire/suspension_answers_in.h"

#include "wire/answer_in.h"
#include "wire/request_in.h"
#include "wire/suspension_records.h"

namespace ff::wire {

namespace {

expected<SignalResult> signal_of(const json& body) {
    SignalResult out;
    if (const json* duplicate = body.find("Duplicate")) {
        out.duplicate = true;
        FF_TRY(out.signal_id, field_of<SignalId>(duplicate, "existing_signal_id"));
        if (duplicate->find("effect") != nullptr) {
            FF_TRY(out.effect, field_of<SignalEffect>(duplicate, "effect"));
        }
        return out;
    }
    const json* accepted = body.find("Accepted");
    FF_TRY(out.signal_id, field_of<SignalId>(accepted, "signal_id"));
    FF_TRY(out.effect, field_of<SignalEffect>(accepted, "effect"));
    return out;
}

}  // namespace

// ---------------------------------------------------------------------------------- under a lease

expected<WaitpointTicket> result_of(const CreateWaitpoint&, const json& body) {
    return tagged_of<WaitpointTicket>(body, "Created");
}

expected<SuspendResult> result_of(const Suspend&, const json& body) {
    const json* suspended = body.find("Suspended");
    SuspendResult out;
    out.suspended = suspended != nullptr;
    FF_TRY(out.details,
           tagged_of<SuspensionDetails>(body, out.suspended ? "Suspended" : "AlreadySatisfied"));
    if (out.suspended && suspended->find("handle") != nullptr) {
        FF_TRY(const auto text, field_of<std::string>(suspended, "handle"));
        FF_TRY(out.handle, Handle::parse_text(text));
    }
    return out;
}

expected<std::vector<SignalInfo>> result_of(const ObserveSignals&, const json& body) {
    return items_of<SignalInfo>(body, "signals");
}

// ---------------------------------------------------------------------------------------- signals

expected<SignalResult> result_of(const DeliverSignal&, const json& body) { return signal_of(body); }
expected<SignalResult> result_of(const DeliverApprovalSignal&, const json& body) {
    return signal_of(body);
}

expected<StateResult> result_of(const ResumeExecution& op, const json& body) {
    FF_TRY(const auto state, field_of<PublicState>(body.find("Resumed"), "public_state"));
    return StateResult{op.execution_id, state};
}

expected<ExpireSuspensionResult> result_of(const ExpireSuspension&, const json& body) {
    ExpireSuspensionResult out;
    if (const json* applied = body.find("Expired")) {
        FF_TRY(out.behavior_applied, field_of<TimeoutBehavior>(applied, "behavior_applied"));
    } else {
        FF_TRY(out.reason, field_of<std::string>(body.find("AlreadySatisfied"), "reason"));
    }
    return out;
}

// ------------------------------------------------------------------------------------------- keys

expected<SeedKeyResult> result_of(const SeedWaitpointKey&, const json& body) {
    const json* seeded = body.find("Seeded");
    const json* inner = seeded != nullptr ? seeded : body.find("AlreadySeeded");
    SeedKeyResult out;
    out.seeded = seeded != nullptr;
    FF_TRY(out.kid, field_of<std::string>(inner, "kid"));
    if (!out.seeded) {
        FF_TRY(out.same_secret, field_of<bool>(inner, "same_secret"));
    }
    return out;
}

expected<RotateKeyResult> result_of(const RotateWaitpointKey&, const json& body) {
    RotateKeyResult out;
    FF_TRY(const auto outcome, field_of<std::string>(&body, "outcome"));
    out.rotated = outcome == "rotated";
    FF_TRY(out.new_kid, field_of<std::string>(&body, "new_kid"));
    FF_TRY(out.previous_kid, field_of<std::optional<std::string>>(&body, "previous_kid"));
    FF_TRY(out.gc_count, field_of<std::uint64_t>(&body, "gc_count"));
    FF_TRY(out.waitpoints_outliving_grace,
           field_of<std::uint64_t>(&body, "waitpoints_outliving_grace"));
    return out;
}

expected<KeyList> result_of(const ListWaitpointKeys&, const json& body) {
    return object_of<KeyList>(body);
}

// ------------------------------------------------------------------------------------------ reads

expected<WaitpointPage> result_of(const ListPendingWaitpoints&, const json& body) {
    WaitpointPage page;
    if (const Fault fault = read_objects(body, page.waitpoints); !fault.empty()) {
        return std::unexpected(strange(fault));
    }
    return page;
}

expected<std::optional<WaitpointInfo>> result_of(const FindWaitpoint&, const json& body) {
    return object_of<WaitpointInfo>(body);
}

expected<std::optional<std::string>> result_of(const ReadWaitpointToken&, const json& body) {
    return field_of<std::string>(&body, "token");
}

expected<std::vector<SuspensionInfo>> result_of(const ListSuspensions&, const json& body) {
    return items_of<SuspensionInfo>(body);
}

expected<SuspendedPage> result_of(const ListSuspended&, const json& body) {
    FF_TRY(auto entries, items_of<SuspendedEntry>(body));
    return SuspendedPage{std::move(entries), next_cursor_of(body)};
}

expected<SignalPage> result_of(const ListSignals&, const json& body) {
    SignalPage page;
    FF_TRY(auto rows, items_of<LedgerRow>(body));
    for (LedgerRow& row : rows) {
        page.signals.push_back(std::move(row.signal));
    }
    const auto text = next_cursor_of(body);
    if (text && !parse_text(*text, page.next_after_seq.emplace()).empty()) {
        return std::unexpected(strange(": next_cursor"));
    }
    return page;
}

}  // namespace ff::wire
