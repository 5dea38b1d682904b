// Writing the answers of suspension. Those of older routes have exactly the members of spec 04 and
// 07 unless the caller asks for the whole.
#include "core/resume_condition.h"
#include "wire/answer_out.h"
#include "wire/suspension_records.h"

namespace ff::wire {

void write(std::string& out, const ResumeCondition& condition) { out += condition.to_json(); }
void write(std::string& out, const ResumePolicy& policy) { out += core::to_json(policy); }

Fault read(const json& value, ResumeCondition& out) {
    auto parsed = core::condition_of(value, "");
    if (!parsed) {
        return ": " + parsed.error().detail;
    }
    out = std::move(*parsed);
    return {};
}

Fault read(const json& value, ResumePolicy& out) {
    auto parsed = core::resume_policy_of(value, "");
    if (!parsed) {
        return ": " + parsed.error().detail;
    }
    out = *parsed;
    return {};
}

namespace {

/// A credential is kept by nobody on the way.
Answer unkept(Answer answer) {
    answer.headers.emplace_back("Cache-Control", "no-store");
    return answer;
}

}  // namespace

// ---------------------------------------------------------------------------------- under a lease

template <>
Answer write_answer<CreateWaitpoint>(const WaitpointTicket& ticket) {
    return tagged("Created", ticket, 201);
}

template <>
Answer write_answer<CloseWaitpoint>(const Done&) {
    return ok("\"Closed\"");
}

template <>
Answer write_answer<Suspend>(const SuspendResult& result) {
    std::string out;
    ObjectOut object(out);
    object.key(result.suspended ? "Suspended" : "AlreadySatisfied");
    ObjectOut inner(out);
    describe(inner, const_cast<SuspensionDetails&>(result.details));  // NOLINT: a writer
    if (result.handle) {
        inner.field("handle", result.handle->to_text());
    }
    inner.close();
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<ObserveSignals>(const std::vector<SignalInfo>& signals) {
    std::string out = "{\"signals\":";
    write_objects(out, signals);
    return ok(out + "}");
}

// ---------------------------------------------------------------------------------------- signals

Answer write_signal(const SignalResult& result, Form form) {
    std::string out;
    ObjectOut object(out);
    object.key(result.duplicate ? "Duplicate" : "Accepted");
    ObjectOut inner(out);
    inner.field(result.duplicate ? "existing_signal_id" : "signal_id", result.signal_id);
    if (!result.duplicate || form == Form::whole) {
        inner.field("effect", result.effect);
    }
    inner.close();
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<DeliverSignal>(const SignalResult& result) {
    return write_signal(result, Form::compatible);
}

template <>
Answer write_answer<DeliverApprovalSignal>(const SignalResult& result) {
    return write_signal(result, Form::compatible);
}

template <>
Answer write_answer<ResumeExecution>(const StateResult& result) {
    return tagged_field("Resumed", "public_state", result.public_state);
}

template <>
Answer write_answer<ExpireSuspension>(const ExpireSuspensionResult& result) {
    return result.behavior_applied
               ? tagged_field("Expired", "behavior_applied", *result.behavior_applied)
               : tagged_field("AlreadySatisfied", "reason", result.reason);
}

// ------------------------------------------------------------------------------------------- keys

template <>
Answer write_answer<SeedWaitpointKey>(const SeedKeyResult& result) {
    if (result.seeded) {
        return tagged_field("Seeded", "kid", result.kid);
    }
    std::string out = "{\"AlreadySeeded\":";
    ObjectOut inner(out);
    inner.field("kid", result.kid);
    inner.field("same_secret", result.same_secret);
    inner.close();
    return ok(out + "}");
}

/// `rotated` counts the places that have the key now, `failed` those that have not: there is one.
Answer write_rotated(const RotateKeyResult& result, Form form) {
    std::string out;
    ObjectOut object(out);
    object.field("rotated", std::uint64_t{1});
    object.field("failed", std::vector<std::string>());
    object.field("new_kid", result.new_kid);
    if (form == Form::whole) {
        object.field("outcome", std::string_view(result.rotated ? "rotated" : "noop"));
        object.field("previous_kid", result.previous_kid);
        object.field("gc_count", result.gc_count);
        object.field("waitpoints_outliving_grace", result.waitpoints_outliving_grace);
    }
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<RotateWaitpointKey>(const RotateKeyResult& result) {
    return write_rotated(result, Form::compatible);
}

template <>
Answer write_answer<ListWaitpointKeys>(const KeyList& keys) {
    return plain(keys);
}

// ------------------------------------------------------------------------------------------ reads
// What is absent is answered by its route.

Answer write_waitpoints(const WaitpointPage& page, Form form) {
    std::string out;
    if (form == Form::whole) {
        write_objects(out, page.waitpoints);
    } else {
        out.push_back('[');
        for (std::size_t i = 0; i < page.waitpoints.size(); ++i) {
            out += i > 0 ? "," : "";
            ObjectOut object(out);
            WaitpointInfo copy = page.waitpoints[i];
            describe_waitpoint(object, copy);
            object.close();
        }
        out.push_back(']');
    }
    Answer answer = ok(std::move(out));
    if (page.next_cursor) {
        answer.headers.emplace_back("FF-Next-Cursor", page.next_cursor->to_string());
    }
    return answer;
}

template <>
Answer write_answer<ListPendingWaitpoints>(const WaitpointPage& page) {
    return write_waitpoints(page, Form::compatible);
}

template <>
Answer write_answer<FindWaitpoint>(const std::optional<WaitpointInfo>& found) {
    return plain(*found);
}

template <>
Answer write_answer<ReadWaitpointToken>(const std::optional<std::string>& token) {
    if (!token) {
        std::string out;
        ObjectOut object(out);
        object.field("error", std::string_view("waitpoint token not found (consumed, expired, or "
                                               "unknown id)"));
        object.close();
        return unkept({404, std::move(out), "application/json", {}});
    }
    std::string out;
    ObjectOut object(out);
    object.field("token", *token);
    object.close();
    return unkept(ok(std::move(out)));
}

template <>
Answer write_answer<ListSuspensions>(const std::vector<SuspensionInfo>& suspensions) {
    return page(suspensions, std::nullopt);
}

template <>
Answer write_answer<ListSuspended>(const SuspendedPage& found) {
    return page(found.entries, found.next_cursor);
}

template <>
Answer write_answer<ListSignals>(const SignalPage& found) {
    std::vector<LedgerRow> rows;
    for (const SignalInfo& signal : found.signals) {
        rows.push_back({signal});
    }
    return page(rows, found.next_after_seq ? std::optional(std::to_string(*found.next_after_seq))
                                           : std::nullopt);
}

}  // namespace ff::wire
