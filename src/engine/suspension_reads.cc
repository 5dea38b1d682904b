// Reads of suspensions, waitpoints and signals: from the store's reading side, each on one view.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/decide.h"
#include "core/resume_condition.h"
#include "core/validate.h"
#include "core/waiting.h"
#include "core/waitpoint_tokens.h"
#include "engine/reads.h"
#include "engine/stream_reads.h"

namespace ff::engine {

namespace {

using store::Payloads;

constexpr std::uint32_t page_max = 1'000;
constexpr std::size_t walked_max = 2'048;  ///< rows looked at for one page of a filtered list

/// As many signals as fill a page when each is as large as may be.
constexpr std::size_t signals_a_chunk = page_bytes_max / 65'536;

std::size_t page_of(std::uint32_t limit) { return std::clamp<std::uint32_t>(limit, 1, page_max); }

WaitpointInfo info_of(const core::Waitpoint& row) {
    WaitpointInfo out;
    out.waitpoint_id = row.id;
    out.waitpoint_key = row.key;
    out.state = row.state;
    out.required_signal_names = row.required_signal_names;
    out.created_at = row.created_at;
    out.activated_at = row.activated_at;
    out.expires_at = row.expires_at;
    out.execution_id = row.execution_id;
    out.token_fingerprint = core::token_fingerprint(row.token);
    if (!out.token_fingerprint.empty()) {
        out.token_kid = row.token_kid;
    }
    out.signal_count = row.signal_count;
    out.matched_signal_count = row.matched_signal_count;
    return out;
}

SignalInfo info_of(const core::Signal& row, const ExecutionId& execution, bool with_payload) {
    SignalInfo out;
    out.execution_id = execution;
    out.seq = row.key.seq;
    out.signal_id = row.id;
    out.waitpoint_id = row.waitpoint_id;
    out.target_scope = row.scope;
    out.signal_name = row.name;
    out.signal_category = row.category;
    out.source_type = row.source_type;
    out.source_identity = row.source_identity;
    out.correlation_id = row.correlation_id;
    out.idempotency_key = row.idempotency_key.value_or("");
    out.created_at = row.created_at;
    out.accepted_at = row.accepted_at;
    if (with_payload) {
        out.payload = row.payload;
    }
    out.payload_encoding = row.payload_encoding;
    out.observed_effect = row.effect;
    out.matched = row.matched;
    return out;
}

/// So many are read at a time.
std::size_t chunk_of(Payloads payloads) {
    return payloads == Payloads::read ? signals_a_chunk : page_max;
}

/// Some signals of a ledger, in the order asked for: one by one, or when there are many, by reading
/// the stretch they are in.
expected<std::vector<core::Signal>> read_signals(store::Reader& reader, core::Eid eid,
                                                 const std::vector<std::uint64_t>& seqs,
                                                 Payloads payloads) {
    constexpr std::size_t few = 16;
    if (seqs.size() <= few) {
        return reader.signals(eid, seqs, payloads);
    }
    const auto [first, last] = std::ranges::minmax(seqs);
    std::map<std::uint64_t, core::Signal> wanted;
    for (const std::uint64_t seq : seqs) {
        wanted.emplace(seq, core::Signal{});
    }
    for (std::uint64_t after = first - 1; after < last;) {
        FF_TRY(auto rows, reader.signals(eid, after, chunk_of(payloads), payloads));
        if (rows.empty()) {
            break;
        }
        after = rows.back().key.seq;
        for (core::Signal& row : rows) {
            if (const auto it = wanted.find(row.key.seq); it != wanted.end()) {
                it->second = std::move(row);
            }
        }
    }
    std::vector<core::Signal> out;
    for (const std::uint64_t seq : seqs) {
        if (const core::Signal& row = wanted.at(seq); row.key.seq == seq) {
            out.push_back(row);
        }
    }
    return out;
}

/// The latest suspension of an attempt. Episodes follow attempts: it is among the last.
expected<std::optional<core::Suspension>> latest_suspension(
    store::Reader& reader, const core::Execution& e, const std::optional<std::uint32_t>& index) {
    for (std::uint32_t episode = e.suspension_count; index && episode > 0; --episode) {
        FF_TRY(auto row, reader.suspension({e.eid, episode}));
        if (row && row->attempt_index == *index) {
            return row;
        }
        if (row && row->attempt_index < *index) {
            break;
        }
    }
    return std::nullopt;
}

/// The signals that satisfied something, none twice: a set of named signals in the order of the
/// names, anything else in the order they came.
expected<std::vector<core::Signal>> satisfiers_of(store::Reader& reader,
                                                  const core::Suspension& suspension,
                                                  const ResumeCondition& condition,
                                                  Payloads payloads) {
    FF_TRY(const auto facts, reader.satisfiers(suspension.key));
    if (facts.empty() && suspension.closer_signal_id) {  // one that was enough alone
        std::optional<core::Signal> closer;
        if (payloads == Payloads::read) {
            FF_TRY(closer, reader.signal(suspension.key.eid, *suspension.closer_signal_id));
        } else {
            closer.emplace().id = *suspension.closer_signal_id;
        }
        return closer ? std::vector{*std::move(closer)} : std::vector<core::Signal>();
    }
    std::vector<std::uint64_t> order;
    if (condition.kind == ResumeCondition::Kind::signal_set) {
        std::map<std::size_t, std::uint64_t> by_place;
        for (const core::Satisfier& fact : facts) {
            // Tokens are places in the list; what time itself has sent comes last.
            std::size_t place = std::numeric_limits<std::size_t>::max();
            const std::string& token = fact.key.token;
            std::from_chars(token.data(), token.data() + token.size(), place);
            by_place.emplace(place, fact.seq);
        }
        for (const auto& [place, seq] : by_place) {
            order.push_back(seq);
        }
    } else {
        std::set<std::uint64_t> seqs;
        for (const core::Satisfier& fact : facts) {
            seqs.insert(fact.seq);
        }
        order.assign(seqs.begin(), seqs.end());
    }
    return read_signals(reader, suspension.key.eid, order, payloads);
}

/// Oldest first; of many only the latest are read.
expected<std::vector<core::Suspension>> suspensions_of(store::Reader& reader,
                                                       const core::Execution& e,
                                                       std::optional<std::uint32_t> latest) {
    if (!latest || *latest >= e.suspension_count) {
        return reader.suspensions(e.eid);
    }
    std::vector<core::Suspension> rows;
    for (std::uint32_t episode = e.suspension_count - *latest + 1; episode <= e.suspension_count;
         ++episode) {
        FF_TRY(auto row, reader.suspension({e.eid, episode}));
        if (row) {
            rows.push_back(std::move(*row));
        }
    }
    return rows;
}

expected<SuspensionInfo> info_of(store::Reader& reader, const core::Suspension& row) {
    SuspensionInfo out;
    out.suspension_id = row.id;
    out.execution_id = row.execution_id;
    out.attempt_index = row.attempt_index;
    FF_TRY(auto bound, core::decode_waitpoints(row.waitpoints));
    if (!bound.empty()) {
        out.waitpoint_id = bound.front().first;
        out.waitpoint_key = bound.front().second;
        out.additional_waitpoints.assign(bound.begin() + 1, bound.end());
    }
    out.reason_code = row.reason_code;
    out.requested_by = row.requested_by;
    out.created_at = row.created_at;
    out.timeout_at = row.timeout_at;
    out.timeout_behavior = row.timeout_behavior;
    FF_TRY(out.resume_condition, ResumeCondition::parse(row.condition));
    FF_TRY(out.resume_policy, core::parse_resume_policy(row.resume_policy));
    out.continuation_metadata_pointer = row.continuation;
    out.last_signal_at = row.last_signal_at;
    out.satisfied_at = row.satisfied_at;
    out.closed_at = row.closed_at;
    out.close_reason = row.close_reason;
    out.resume_trigger = row.resume_trigger;
    out.resumed_by = row.resumed_by;
    out.closer_signal_id = row.closer_signal_id;
    out.escalated_at = row.escalated_at;
    out.remaining_attempt_timeout_ms = row.remaining_attempt_timeout_ms;
    FF_TRY(const auto signals,
           satisfiers_of(reader, row, out.resume_condition, Payloads::left_out));
    for (const core::Signal& signal : signals) {
        out.all_satisfier_signals.push_back(signal.id);
    }
    return out;
}

// ---------------------------------------------------------------------------- a list with a place

struct Place {
    TimestampMs waits_until = 0;
    ExecutionId execution;

    auto operator<=>(const Place&) const = default;
};

std::string text_of(const Place& place) {
    return std::to_string(place.waits_until) + "|" + place.execution.to_string();
}

/// A place from the text of one, or from an execution that is suspended now.
expected<Place> place_of(store::Reader& reader, const std::string& cursor) {
    const std::size_t bar = cursor.find('|');
    if (bar == std::string::npos) {
        FF_TRY(const ExecutionId id, ExecutionId::parse(cursor));
        FF_TRY(const auto e, reader.execution(id));
        if (!e || !e->current_suspension_id) {
            return ff::fail(ErrorCode::invalid_input,
                            "cursor: that execution is not suspended any more; begin again");
        }
        return Place{e->suspension_timeout_at.value_or(core::no_deadline), id};
    }
    Place place;
    const char* end = cursor.data() + bar;
    const auto [stopped, fault] = std::from_chars(cursor.data(), end, place.waits_until);
    if (stopped != end || fault != std::errc{} || place.waits_until < 0) {
        return ff::fail(ErrorCode::invalid_input, "cursor: not one that a page gave");
    }
    FF_TRY(place.execution, ExecutionId::parse(std::string_view(cursor).substr(bar + 1)));
    return place;
}

}  // namespace

// ------------------------------------------------------------------------------------------- keys

expected<KeyList> answer(const ListWaitpointKeys&, const ReadContext& c) {
    KeyList out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto rows, reader.hmac_keys());
        core::Keys keys;
        for (const core::HmacKey& row : rows) {
            keys.push_back(&row);
        }
        out = core::list_keys(keys, c.now);
        return {};
    }));
    return out;
}

expected<std::uint64_t> waitpoints_outliving(const std::string& new_kid, DurationMs grace_ms,
                                             const ReadContext& c) {
    std::uint64_t count = 0;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto keys, reader.hmac_keys());
        for (const core::HmacKey& key : keys) {
            // The same key again, as at every start with a secret, leaves nobody behind; counting
            // looks at every waitpoint.
            if (key.is_current && key.kid != new_kid) {
                FF_TRY(count, reader.waitpoints_outliving(key.kid, c.now + grace_ms));
            }
        }
        return {};
    }));
    return count;
}

expected<std::optional<core::SealSecrets>> unsealed_secrets(const ReadContext& c) {
    core::SealSecrets found;
    bool any = false;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto keys, reader.hmac_keys());
        any = std::ranges::any_of(
            keys, [](const core::HmacKey& key) { return !key.sealed && !core::is_swept(key); });
        std::optional<WebhookId> after;
        do {
            FF_TRY(const auto rows, reader.webhooks(after, page_max));
            after = rows.size() < page_max ? std::nullopt : std::optional(rows.back().id);
            for (const core::Webhook& row : rows) {
                if (!row.sealed) {
                    found.webhooks.push_back(row.id);
                }
            }
        } while (after);
        return {};
    }));
    return any || !found.webhooks.empty() ? std::optional(std::move(found)) : std::nullopt;
}

// ------------------------------------------------------------------------------------- waitpoints

expected<WaitpointPage> answer(const ListPendingWaitpoints& op, const ReadContext& c) {
    WaitpointPage page;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return ff::fail(ErrorCode::execution_not_found);
        }
        const std::size_t limit = page_of(op.limit);
        FF_TRY(auto rows, reader.open_waitpoints(e->eid, op.after, limit + 1));
        for (std::size_t i = 0; i < std::min(rows.size(), limit); ++i) {
            page.waitpoints.push_back(info_of(rows[i]));
        }
        if (rows.size() > limit) {
            page.next_cursor = page.waitpoints.back().waitpoint_id;
        }
        return {};
    }));
    return page;
}

expected<std::optional<WaitpointInfo>> answer(const FindWaitpoint& op, const ReadContext& c) {
    std::optional<WaitpointInfo> found;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto row, reader.waitpoint(op.waitpoint_id));
        if (row) {
            found = info_of(*row);
        }
        return {};
    }));
    return found;
}

expected<std::optional<std::string>> answer(const ReadWaitpointToken& op, const ReadContext& c) {
    std::optional<std::string> token;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(auto row, reader.waitpoint(op.waitpoint_id));
        if (row && row->execution_id == op.execution_id && row->open()) {
            token = std::move(row->token);
        }
        return {};
    }));
    return token;
}

// ------------------------------------------------------------------------------------ suspensions

expected<std::vector<SuspensionInfo>> answer(const ListSuspensions& op, const ReadContext& c) {
    std::vector<SuspensionInfo> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return ff::fail(ErrorCode::execution_not_found);
        }
        FF_TRY(const auto rows, suspensions_of(reader, *e, op.latest));
        for (const core::Suspension& row : rows) {
            FF_TRY(auto info, info_of(reader, row));
            out.push_back(std::move(info));
        }
        return {};
    }));
    return out;
}

namespace {

/// Walks the suspended executions of all lanes at once, in the order of their places.
class SuspendedWalk {
  public:
    SuspendedWalk(store::Reader& reader, const ListSuspended& op) : reader_(reader), op_(op) {}

    expected<SuspendedPage> page(std::optional<Place> after, std::size_t limit) {
        FF_TRY(const auto routes, reader_.routes());
        std::set<std::string> lanes;
        for (const core::Route& route : routes) {
            routes_.emplace(route.id, route);
            if (!op_.lane_id || route.key.lane == *op_.lane_id) {
                lanes.insert(route.key.lane);
            }
        }
        // The index is by lane, and lanes are few: what each has is merged.
        for (const std::string& lane : lanes) {
            FF_TRY_VOID(walk(lane, after, limit + 1));
        }
        SuspendedPage page;
        std::optional<Place> last;
        for (auto& [place, entry] : found_) {
            if (cut_ && place > *cut_) {
                break;  // a lane that was not walked so far may have one before it
            }
            if (page.entries.size() == limit) {
                page.next_cursor = text_of(*last);
                return page;
            }
            last = place;
            page.entries.push_back(std::move(entry));
        }
        if (cut_) {
            page.next_cursor = text_of(*cut_);
        }
        return page;
    }

  private:
    expected<void> walk(const std::string& lane, std::optional<Place> after, std::size_t limit) {
        constexpr std::size_t at_once = 256;
        std::size_t found = 0;
        for (std::size_t walked = 0; found < limit; walked += at_once) {
            if (walked >= walked_max) {
                cut_ = cut_ ? std::min(*cut_, *after) : *after;
                return {};
            }
            std::optional<std::pair<TimestampMs, ExecutionId>> from;
            if (after) {
                from.emplace(after->waits_until, after->execution);
            }
            FF_TRY(const auto rows, reader_.suspended(lane, from, at_once));
            for (const core::Suspension& row : rows) {
                after = Place{row.waits_until.value_or(core::no_deadline), row.execution_id};
                FF_TRY(const bool taken, take(*after, row));
                found += taken ? 1 : 0;
                if (found >= limit) {
                    return {};
                }
            }
            if (rows.size() < at_once) {
                return {};
            }
        }
        return {};
    }

    /// Keeps it if it passes the filter.
    expected<bool> take(const Place& place, const core::Suspension& row) {
        if (op_.partition && row.execution_id.partition != *op_.partition) {
            return false;
        }
        FF_TRY(const auto e, reader_.execution(row.execution_id));
        const auto route = e ? routes_.find(e->route) : routes_.end();
        if (route == routes_.end() || (op_.ns && route->second.key.ns != *op_.ns)) {
            return false;
        }
        SuspendedEntry entry;
        entry.execution_id = row.execution_id;
        entry.suspended_at_ms = place.waits_until;
        entry.suspended_since_ms = row.created_at;
        entry.reason = row.reason_code;
        entry.lane_id = row.lane;
        entry.ns = route->second.key.ns;
        entry.execution_kind = route->second.key.kind;
        entry.waitpoint_id = e->current_waitpoint_id.value_or(WaitpointId{});
        found_.emplace(place, std::move(entry));
        return true;
    }

    store::Reader& reader_;
    const ListSuspended& op_;
    std::map<core::RouteId, core::Route> routes_;
    std::map<Place, SuspendedEntry> found_;
    std::optional<Place> cut_;  ///< how far every lane was walked, when not to its end
};

}  // namespace

expected<SuspendedPage> answer(const ListSuspended& op, const ReadContext& c) {
    if (op.lane_id) {
        FF_TRY_VOID(check_lane("lane_id", *op.lane_id));
    }
    SuspendedPage page;
    if (op.limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        std::optional<Place> after;
        if (op.cursor && !op.cursor->empty()) {
            FF_TRY(after, place_of(reader, *op.cursor));
        }
        FF_TRY(page, SuspendedWalk(reader, op).page(after, page_of(op.limit)));
        return {};
    }));
    return page;
}

// ---------------------------------------------------------------------------------------- signals

namespace {

/// Up to the limit of the page in signals, and in bytes.
expected<void> fill_page(SignalPage& page, store::Reader& reader, core::Eid eid,
                         const ListSignals& op) {
    const Payloads payloads = op.with_payload ? Payloads::read : Payloads::left_out;
    const std::size_t limit = page_of(op.limit);
    std::size_t bytes = 0;
    for (std::uint64_t after = op.after_seq;;) {
        // One more than fits says whether there are more.
        const std::size_t most = std::min(chunk_of(payloads), limit + 1 - page.signals.size());
        FF_TRY(const auto rows, reader.signals(eid, after, most, payloads));
        for (const core::Signal& row : rows) {
            bytes += row.payload ? row.payload->size() : 0;
            if (page.signals.size() == limit || (bytes > page_bytes_max && !page.signals.empty())) {
                page.next_after_seq = page.signals.back().seq;
                return {};
            }
            page.signals.push_back(info_of(row, op.execution_id, op.with_payload));
        }
        if (rows.size() < most) {
            return {};
        }
        after = rows.back().key.seq;
    }
}

}  // namespace

expected<SignalPage> answer(const ListSignals& op, const ReadContext& c) {
    SignalPage page;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return ff::fail(ErrorCode::execution_not_found);
        }
        if (op.signal_id) {
            FF_TRY(const auto row, reader.signal(e->eid, *op.signal_id));
            if (row) {
                page.signals.push_back(info_of(*row, op.execution_id, op.with_payload));
            }
            return {};
        }
        return fill_page(page, reader, e->eid, op);
    }));
    return page;
}

expected<std::vector<SignalInfo>> answer(const ObserveSignals& op, const ReadContext& c) {
    std::vector<SignalInfo> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return ff::fail(ErrorCode::execution_not_found);
        }
        const auto index = op.attempt_index ? op.attempt_index : e->current_attempt_index;
        FF_TRY(const auto latest, latest_suspension(reader, *e, index));
        if (!latest) {
            return {};
        }
        const bool by_signals = latest->close_reason == "resumed" &&
                                latest->resume_trigger == ResumeTrigger::signal &&
                                latest->closer_signal_id.has_value();
        const bool by_timeout =
            latest->close_reason == "timed_out_auto_resume" && latest->closer_signal_id.has_value();
        if (!by_signals && !by_timeout) {
            return {};
        }
        FF_TRY(const ResumeCondition condition, ResumeCondition::parse(latest->condition));
        FF_TRY(const auto signals, satisfiers_of(reader, *latest, condition, Payloads::read));
        for (const core::Signal& signal : signals) {
            out.push_back(info_of(signal, op.execution_id, true));
        }
        return {};
    }));
    return out;
}

}  // namespace ff::engine
