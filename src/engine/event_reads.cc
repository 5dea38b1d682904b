#include "engine/event_reads.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include <ff/json.h>

#include "base/utf8.h"
#include "core/webhook_records.h"

namespace ff::engine {

namespace {

/// As many rows are looked at for one page, however few of them are wanted.
constexpr std::size_t event_rows_per_page = 10'000;
/// And as many at a time.
constexpr std::size_t rows_per_chunk = 1'000;
constexpr std::size_t history_chunk_min = 256;
/// The longest history a timeline walks.
constexpr std::size_t timeline_rows_max = 10'000;

EventCursor cursor_of(const ReadContext& c, std::int64_t event_id) {
    return EventCursor::at(c.store.info().backend, event_id);
}

// ---------------------------------------------------------------------------- rows into events

/// A JSON object, written member by member.
class Payload {
  public:
    explicit Payload(std::string& out) : out_(out) { out_ = "{"; }
    void text(std::string_view name, std::string_view value) {
        key(name);
        js::append_quoted(out_, value);
    }
    template <class Id>
    void id(std::string_view name, const std::optional<Id>& value) {
        key(name);
        if (value) {
            out_ += '"';
            out_ += value->to_string();
            out_ += '"';
        } else {
            out_ += "null";
        }
    }
    void text(std::string_view name, const std::optional<std::string>& value) {
        if (value) {
            text(name, std::string_view(*value));
        } else {
            key(name);
            out_ += "null";
        }
    }
    template <class Number>
    void number(std::string_view name, const std::optional<Number>& value) {
        key(name);
        out_ += value ? std::to_string(*value) : "null";
    }
    void number(std::string_view name, std::uint64_t value) {
        key(name);
        out_ += std::to_string(value);
    }
    void close() { out_ += '}'; }

  private:
    void key(std::string_view name) {
        out_ += out_.size() > 1 ? ",\"" : "\"";
        out_ += name;
        out_ += "\":";
    }
    std::string& out_;
};

void write_completion(const core::ExecutionEvent& row, const core::RouteKey& route, Event& out) {
    out.type = "completed";
    Payload payload(out.payload);
    payload.text("outcome", to_string(*row.outcome));
    payload.number("attempt_index", row.attempt_index);
    payload.text("execution_kind", std::string_view(route.kind));
    payload.text("lane_id", std::string_view(route.lane));
    payload.close();
}

void write_lease(const core::ExecutionEvent& row, Event& out) {
    using core::LeaseEventType;
    Payload payload(out.payload);
    switch (row.type) {
        case LeaseEventType::reclaimed:
            out.type = "reclaimed";
            payload.id("new_lease_id", row.lease_id);
            payload.text("new_owner", row.worker_instance_id);
            payload.id("old_lease_id", row.old_lease_id);
            payload.number("attempt_index", row.attempt_index);
            break;
        case LeaseEventType::expired:
            out.type = "expired";
            payload.id("lease_id", row.lease_id);
            payload.number("lease_epoch", row.lease_epoch);
            payload.number("attempt_index", row.attempt_index);
            payload.text("prev_owner", row.worker_instance_id);
            break;
        case LeaseEventType::revoked:
        case LeaseEventType::released:  // the holder's own doing, told as a revocation
            out.type = "revoked";
            payload.id("lease_id", row.lease_id);
            payload.number("lease_epoch", row.lease_epoch);
            payload.number("attempt_index", row.attempt_index);
            payload.text("revoked_by", row.revoked_by);
            payload.text("reason", row.reason);
            break;
        default:
            out.type = to_string(row.type);
            payload.id("lease_id", row.lease_id);
            payload.number("lease_epoch", row.lease_epoch);
            payload.number("attempt_index", row.attempt_index);
            payload.text("worker_id", row.worker_id);
            payload.text("worker_instance_id", row.worker_instance_id);
            payload.number("expires_at", row.expires_at);
            break;
    }
    payload.close();
}

/// Is it told in the family? A row of the history may be told in both, in one, and the beginning of
/// a replay in none: that has its own event for operators.
bool is_told(const core::ExecutionEvent& row, EventFamily family) {
    if (family == EventFamily::completion) {
        return row.outcome.has_value();
    }
    return row.type != core::LeaseEventType::none &&
           row.type != core::LeaseEventType::replay_initiated;
}

bool has_tag(const std::optional<std::string>& tags,
             const std::pair<std::string, std::string>& wanted) {
    const auto parsed = tags ? js::parse(*tags) : expected<js::Value>(js::Value());
    const js::Value* found = parsed ? parsed->find(wanted.first) : nullptr;
    return found != nullptr && found->if_string() != nullptr &&
           *found->if_string() == wanted.second;
}

/// What a page is read with: routes are looked up once each.
class EventReader {
  public:
    EventReader(store::Reader& reader, const ReadContext& c) : reader_(reader), c_(c) {}

    expected<Event> event_of(const core::ExecutionEvent& row, EventFamily family) {
        FF_TRY(const core::Route* route, route_of(row.route));
        Event out = begun(row, family);
        out.ns = route->key.ns;
        if (family == EventFamily::completion) {
            write_completion(row, route->key, out);
        } else {
            write_lease(row, out);
        }
        return out;
    }
    expected<Event> event_of(core::LogEvent& row) const {
        Event out = begun(row, core::event_family(row.family));
        out.ns = std::move(row.ns);
        out.type = std::move(row.type);
        out.payload = std::move(row.payload);
        return out;
    }
    expected<bool> is_wanted(const core::ExecutionEvent& row, EventFamily family,
                             const EventFilter& filter) {
        if (!is_told(row, family) || !fits(row, filter)) {
            return false;
        }
        if (filter.ns) {
            FF_TRY(const core::Route* route, route_of(row.route));
            return route->key.ns == *filter.ns;
        }
        return true;
    }
    static bool is_wanted(const core::LogEvent& row, const EventFilter& filter) {
        return fits(row, filter) && (!filter.ns || row.ns == filter.ns);
    }

  private:
    template <class Row>
    Event begun(const Row& row, EventFamily family) const {
        Event out;
        out.cursor = cursor_of(c_, row.event_id);
        out.family = family;
        out.execution_id = row.execution_id;
        out.flow_id = row.flow_id;
        out.at = row.at;
        return out;
    }
    template <class Row>
    static bool fits(const Row& row, const EventFilter& filter) {
        return (!filter.execution_id || filter.execution_id == row.execution_id) &&
               (!filter.flow_id || filter.flow_id == row.flow_id) &&
               (!filter.tag || has_tag(row.tags, *filter.tag));
    }
    expected<const core::Route*> route_of(core::RouteId id) {
        auto it = routes_.find(id);
        if (it == routes_.end()) {
            FF_TRY(core::Route route, reader_.route(id));
            it = routes_.emplace(id, std::move(route)).first;
        }
        return &it->second;
    }

    store::Reader& reader_;
    const ReadContext& c_;
    std::unordered_map<core::RouteId, core::Route> routes_;
};

// ---------------------------------------------------------------------------------- pages

/// Fills a page from rows behind `place`; says how far it has looked.
class PageFiller {
  public:
    PageFiller(store::Reader& reader, const ReadEvents& op, const ReadContext& c, EventPage& page)
        : reader_(reader), events_(reader, c), op_(op), c_(c), page_(page) {}

    expected<void> fill(std::int64_t place, std::int64_t highest) {
        std::size_t left = event_rows_per_page;
        page_.at_end = false;
        while (left > 0 && page_.events.size() < op_.limit) {
            const std::size_t most = std::min({left, rows_per_chunk, rows_wanted()});
            const auto looked_at =
                core::is_history(op_.family)
                    ? take(reader_.events_after(place, most), place)
                    : take(reader_.family_events_after(core::log_family(op_.family), place, most),
                           place);
            if (!looked_at) {
                return add_fault(looked_at.error(), place);
            }
            left -= std::min(left, *looked_at);
            if (*looked_at < most && !full_) {
                // None that is lower will appear: the next read need not look at those again.
                page_.at_end = true;
                place = std::max(place, highest);
                break;
            }
        }
        page_.next_cursor = cursor_of(c_, place);
        return {};
    }

  private:
    /// Without a filter every row may be wanted: no more are read than fit. Two families share the
    /// table of histories, though: many rows of the other may stand before the next of this one.
    [[nodiscard]] std::size_t rows_wanted() const {
        const std::size_t room = op_.limit - page_.events.size();
        if (!op_.filter.empty()) {
            return rows_per_chunk;
        }
        return core::is_history(op_.family) ? std::max(room, history_chunk_min) : room;
    }
    /// How many rows there were. Stops behind the row that fills the page.
    template <class Row>
    expected<std::size_t> take(expected<std::vector<Row>> rows, std::int64_t& place) {
        if (!rows) {
            return std::unexpected(std::move(rows).error());
        }
        for (Row& row : *rows) {
            FF_TRY(const bool wanted, is_wanted(row));
            if (wanted) {
                FF_TRY(Event event, event_of(row));
                page_.events.push_back(std::move(event));
            }
            place = row.event_id;
            if (page_.events.size() == op_.limit) {
                full_ = true;
                break;
            }
        }
        return rows->size();
    }
    expected<bool> is_wanted(const core::ExecutionEvent& row) {
        return events_.is_wanted(row, op_.family, op_.filter);
    }
    expected<bool> is_wanted(const core::LogEvent& row) {
        return EventReader::is_wanted(row, op_.filter);
    }
    expected<Event> event_of(const core::ExecutionEvent& row) {
        return events_.event_of(row, op_.family);
    }
    expected<Event> event_of(core::LogEvent& row) { return events_.event_of(row); }

    /// A row that cannot be read is told of and passed over; those before it come first.
    expected<void> add_fault(const Error& error, std::int64_t place) {
        if (error.code != ErrorCode::store_corrupt && error.code != ErrorCode::corruption) {
            return std::unexpected(error);
        }
        for (;;) {
            FF_TRY(const auto next, reader_.nth_event(op_.family, place, 0));
            if (!next) {
                return std::unexpected(error);  // it was something else
            }
            if (auto one = read_one(place); !one) {
                page_.fault = EventFault{cursor_of(c_, *next), one.error().message()};
                page_.next_cursor = page_.fault->cursor;
                return {};
            }
            if (page_.events.size() == op_.limit) {
                page_.next_cursor = cursor_of(c_, place);
                return {};
            }
        }
    }
    expected<std::size_t> read_one(std::int64_t& place) {
        return core::is_history(op_.family)
                   ? take(reader_.events_after(place, 1), place)
                   : take(reader_.family_events_after(core::log_family(op_.family), place, 1),
                          place);
    }

    store::Reader& reader_;
    EventReader events_;
    const ReadEvents& op_;
    const ReadContext& c_;
    EventPage& page_;
    bool full_ = false;
};

expected<void> check_cursor(const EventCursor& cursor, const ReadContext& c) {
    if (!cursor.empty() && !cursor.is_earliest() && cursor.store() != c.store.info().backend) {
        return ff::fail(ErrorCode::invalid_input,
                        "invalid event cursor: it is of another kind of store");
    }
    return {};
}

/// A place that this store has never come to: of another store, or of one that was restored from an
/// older copy. Waiting there would pass over everything up to it.
expected<void> check_known(const EventCursor& cursor, std::int64_t highest) {
    if (!cursor.empty() && !cursor.is_earliest() && cursor.event_id() > highest) {
        return ff::fail(ErrorCode::invalid_input,
                        "invalid event cursor: it stands behind the newest event of this store; is "
                        "it of another one?");
    }
    return {};
}

expected<void> check_events_limit(std::uint64_t limit) {
    if (limit < 1 || limit > events_per_read_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "limit must be in 1..=" + std::to_string(events_per_read_max));
    }
    return {};
}

/// The oldest event that is kept, or the highest that is not.
expected<std::int64_t> oldest_kept(store::Reader& reader, EventFamily family,
                                   std::int64_t trimmed) {
    FF_TRY(const auto first, reader.nth_event(family, trimmed, 0));
    return first.value_or(trimmed);
}

expected<EventPage> page_of(store::Reader& reader, const ReadEvents& op, const ReadContext& c) {
    EventPage page;
    FF_TRY(const std::int64_t highest, reader.highest_event());
    if (op.cursor.empty()) {
        page.next_cursor = cursor_of(c, highest);
        return page;
    }
    FF_TRY_VOID(check_known(op.cursor, highest));
    FF_TRY(const std::int64_t trimmed, reader.trimmed_through(op.family));
    std::int64_t place = op.cursor.is_earliest() ? trimmed : op.cursor.event_id();
    if (place < trimmed) {
        FF_TRY(const std::int64_t oldest, oldest_kept(reader, op.family, trimmed));
        page.gap = EventGap{op.cursor, cursor_of(c, oldest)};
        place = trimmed;
    }
    if (core::is_history(op.family) && place < highest) {
        // Up to the floor there are only rows that other things than readers need.
        FF_TRY(const std::int64_t floor, reader.event_floor(op.family));
        place = std::max(place, floor);
    }
    FF_TRY_VOID(PageFiller(reader, op, c, page).fill(place, highest));
    return page;
}

}  // namespace

expected<void> check(const ReadEvents& op) {
    FF_TRY_VOID(check_events_limit(op.limit));
    if (op.block_ms < 0 || op.block_ms > event_block_ms_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "block_ms must be in 0..=" + std::to_string(event_block_ms_max) + " (got " +
                            std::to_string(op.block_ms) + ")");
    }
    return {};
}

expected<EventPage> read_events(ReadEvents& op, const ReadContext& c) {
    FF_TRY_VOID(check_cursor(op.cursor, c));
    EventPage page;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(page, page_of(reader, op, c));
        return {};
    }));
    op.cursor = page.next_cursor;
    return page;
}

expected<EventPage> answer(const ReadEvents& op, const ReadContext& c) {
    FF_TRY_VOID(check(op));
    ReadEvents read = op;
    return read_events(read, c);
}

expected<EventCursor> resolve(const EventCursor& cursor, EventFamily family, const ReadContext& c) {
    FF_TRY_VOID(check_cursor(cursor, c));
    EventCursor out = cursor;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        if (cursor.empty()) {
            FF_TRY(const std::int64_t highest, reader.highest_event());
            out = cursor_of(c, highest);
        } else if (cursor.is_earliest()) {
            FF_TRY(const std::int64_t trimmed, reader.trimmed_through(family));
            out = cursor_of(c, trimmed);
        } else {
            FF_TRY(const std::int64_t highest, reader.highest_event());
            FF_TRY_VOID(check_known(cursor, highest));
        }
        return {};
    }));
    return out;
}

// ------------------------------------------------------------------------------------- timeline

namespace {

/// What a timeline behind `after` lacks; `history` is what was found of it. The newest of the
/// history are kept as long as its execution; of other families nobody knows whether the execution
/// was in what went, so all that were there then are told.
expected<std::optional<EventGap>> gap_of(store::Reader& reader, const core::Execution& execution,
                                         const std::vector<core::ExecutionEvent>& history,
                                         std::int64_t after, const ReadContext& c) {
    const auto before =
        history.empty() ? execution.last_event_id : history.back().previous_event_id;
    if (before.value_or(0) > after) {
        // Too long ago to walk there, or it was cut.
        return EventGap{cursor_of(c, after),
                        cursor_of(c, history.empty() ? *before : history.back().event_id)};
    }
    std::int64_t lost = 0;
    for (const EventFamily family : {EventFamily::signal_delivery, EventFamily::instance_tags,
                                     EventFamily::operator_, EventFamily::budgets}) {
        FF_TRY(const std::int64_t trimmed, reader.trimmed_through(family));
        lost = std::max(lost, trimmed);
    }
    const auto first =
        history.empty() ? execution.last_event_id : std::optional(history.back().event_id);
    if (first && *first < lost && after < lost) {
        return EventGap{cursor_of(c, after), cursor_of(c, lost)};
    }
    return std::optional<EventGap>();
}

}  // namespace

expected<EventPage> answer(const ReadTimeline& op, const ReadContext& c) {
    FF_TRY_VOID(check_events_limit(op.limit));
    FF_TRY_VOID(check_cursor(op.cursor, c));
    const std::int64_t after =
        op.cursor.empty() || op.cursor.is_earliest() ? 0 : op.cursor.event_id();
    EventPage page;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        page = {};
        FF_TRY(const auto execution, reader.execution(op.execution_id));
        if (!execution) {
            return ff::fail(ErrorCode::execution_not_found);
        }
        EventReader events(reader, c);
        std::multimap<std::int64_t, Event> found;
        FF_TRY(const auto history, reader.history(*execution, timeline_rows_max, after));
        FF_TRY(page.gap, gap_of(reader, *execution, history, after, c));
        for (const core::ExecutionEvent& row : history) {
            for (const EventFamily family : {EventFamily::lease_history, EventFamily::completion}) {
                if (is_told(row, family)) {
                    FF_TRY(Event event, events.event_of(row, family));
                    found.emplace(row.event_id, std::move(event));
                }
            }
        }
        // No more are wanted than fit, and one that says whether there are more.
        FF_TRY(auto others, reader.log_events_of(execution->eid, op.limit + 1, after));
        const std::int64_t known_through = others.size() > op.limit
                                               ? others.back().event_id
                                               : std::numeric_limits<std::int64_t>::max();
        for (core::LogEvent& row : others) {
            const std::int64_t id = row.event_id;
            FF_TRY(Event event, events.event_of(row));
            found.emplace(id, std::move(event));
        }
        found.erase(found.upper_bound(known_through), found.end());
        page.next_cursor = cursor_of(c, after);
        for (auto& [id, event] : found) {
            // The two families of one row are never on two pages.
            if (page.events.size() >= op.limit && event.cursor != page.next_cursor) {
                page.at_end = false;
                break;
            }
            page.next_cursor = event.cursor;
            page.events.push_back(std::move(event));
        }
        return {};
    }));
    return page;
}

// ------------------------------------------------------------------------------------- webhooks

expected<WebhookPage> answer(const ListWebhooks& op, const ReadContext& c) {
    if (op.limit < 1 || op.limit > webhooks_per_page_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "limit must be in 1..=" + std::to_string(webhooks_per_page_max));
    }
    WebhookPage page;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        page = {};
        FF_TRY(auto rows, reader.webhooks(op.after, op.limit + 1));
        if (rows.size() > op.limit) {
            rows.pop_back();
            page.next = rows.back().id;
        }
        for (const core::Webhook& row : rows) {
            FF_TRY(WebhookInfo info, core::info_of(row, c.store.info().backend));
            page.webhooks.push_back(std::move(info));
        }
        return {};
    }));
    return page;
}

expected<std::optional<WebhookInfo>> answer(const DescribeWebhook& op, const ReadContext& c) {
    std::optional<WebhookInfo> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        out.reset();
        FF_TRY(const auto row, reader.webhook(op.webhook_id));
        if (row) {
            FF_TRY(out, core::info_of(*row, c.store.info().backend));
        }
        return {};
    }));
    return out;
}

}  // namespace ff::engine
