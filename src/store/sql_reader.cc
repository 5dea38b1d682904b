// SqlReader about executions, queues and events. The others: sql_reader_flows.cc,
// sql_reader_limits.cc.
#include "store/sql_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/catalogue.h"
#include "store/ready_row.h"
#include "store/sql_rows.h"
#include "store/sql_scans.h"

namespace ff::store {

expected<std::optional<core::Execution>> SqlReader::execution(const ExecutionId& id) {
    SqlStatement& s = statements_->get(sql::execution_by_id);
    s.bytes_copy(id.raw());
    return select_one<core::Execution>(s);
}

expected<std::optional<core::ExecutionInput>> SqlReader::input(Eid eid) {
    SqlStatement& s = statements_->get(sql::input_by_eid);
    s.integer(eid);
    return select_one<core::ExecutionInput>(s);
}

expected<std::vector<core::Attempt>> SqlReader::attempts(Eid eid) {
    SqlStatement& s = statements_->get(sql::attempts_of);
    s.integer(eid);
    return select_all<core::Attempt>(s);
}

expected<std::optional<core::Attempt>> SqlReader::attempt(Eid eid, std::uint32_t index) {
    SqlStatement& s = statements_->get(sql::attempt_by_key);
    s.integer(eid);
    s.integer(index);
    return select_one<core::Attempt>(s);
}

expected<core::Route> SqlReader::route(RouteId id) {
    SqlStatement& s = statements_->get(sql::route_by_id);
    s.integer(id);
    FF_TRY(auto row, select_one<core::Route>(s));
    if (!row) {
        return ff::fail(ErrorCode::corruption, "route " + std::to_string(id) + " is missing");
    }
    split_capabilities(*row);
    return std::move(*row);
}

expected<std::vector<core::Route>> SqlReader::routes() {
    FF_TRY(auto rows, select_all<core::Route>(statements_->get(sql::all_routes)));
    for (auto& row : rows) {
        split_capabilities(row);
    }
    return rows;
}

expected<std::vector<ExecutionId>> SqlReader::ids_of_partition(std::uint16_t partition,
                                                               std::optional<ExecutionId> after,
                                                               std::size_t limit) {
    // Ids sort by their bytes: partition first. From just below the partition, or the cursor, to
    // just above the last id it can hold.
    const ExecutionId first{partition, {}};
    ExecutionId last{partition, {}};
    last.uuid.bytes.fill(0xff);
    std::string low = first.raw();
    low.pop_back();  // a shorter prefix sorts before every id of the partition
    if (after) {
        low = std::max(low, after->raw());
    }
    SqlStatement& s = statements_->get(sql::ids_of_partition);
    s.bytes_copy(low);
    s.bytes_copy(last.raw() + '\0');
    s.integer(as_limit(limit));
    return collect_ids<ExecutionId>(s, "id");
}

static void bind_window(SqlStatement& s, const Window& window) {
    s.integer(window.above);
    s.integer(window.below);
    s.integer(as_limit(window.limit));
}

auto SqlReader::executions(const Window& window) -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::executions_in_window.text(window.order));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

auto SqlReader::of_route(RouteId route, const Window& window) -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::executions_of_route.text(window.order));
    s.integer(route);
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

auto SqlReader::with_tag(const std::string& key, const std::string& value, const Window& window)
    -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::executions_with_tag.text(window.order));
    s.text(key);
    s.text(value);
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

auto SqlReader::in_bucket(core::Bucket bucket, const Window& window) -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::executions_in_bucket.text(window.order));
    s.integer(static_cast<std::int64_t>(bucket));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

auto SqlReader::leased(const Window& window) -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::executions_leased.text(window.order));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

expected<std::vector<Eid>> SqlReader::tagged_too(const Tag& tag, const Tag& other,
                                                 const Window& window) {
    SqlStatement& s = statements_->get(sql::tagged_too.text(window.order));
    s.text(tag.first);
    s.text(tag.second);
    bind_window(s, window);
    s.text(other.first);
    s.text(other.second);
    return collect_eids(s);
}

expected<std::vector<core::Execution>> SqlReader::leased_due(const LeaseKey& after,
                                                             TimestampMs as_of, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::leased_due);
    s.integer(as_of);
    s.integer(after.first);
    s.integer(after.second);
    s.integer(as_limit(limit));
    return select_all<core::Execution>(s);
}

expected<std::vector<core::Lane>> SqlReader::lanes(const std::string& after, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::lanes_after);
    s.text(after);
    s.integer(as_limit(limit));
    return select_all<core::Lane>(s);
}

expected<std::optional<core::Lane>> SqlReader::lane(const std::string& name) {
    SqlStatement& s = statements_->get(sql::lane_by_name);
    s.text(name);
    return select_one<core::Lane>(s);
}

expected<std::vector<core::WorkerRow>> SqlReader::workers(const std::optional<std::string>& ns,
                                                          const core::WorkerKey& after,
                                                          std::size_t limit) {
    if (ns && after.ns > *ns) {
        return std::vector<core::WorkerRow>();
    }
    SqlStatement& s = statements_->get(ns ? sql::workers_of_namespace_after : sql::workers_after);
    s.text(ns ? *ns : after.ns);
    s.text(ns && after.ns < *ns ? std::string_view() : std::string_view(after.worker_instance_id));
    s.integer(as_limit(limit));
    return select_all<core::WorkerRow>(s);
}

// -------------------------------------------------------------------------- queues and events

expected<std::uint64_t> SqlReader::ready_before(std::span<const RouteId> routes,
                                                const core::ReadyKey& key, std::uint64_t limit) {
    std::uint64_t count = 0;
    for (RouteId route : routes) {
        if (count >= limit) {
            break;
        }
        SqlStatement& s = statements_->get(sql::ready_before);
        s.integer(route);
        s.integer(key.rank);
        s.integer(key.place);
        s.integer(static_cast<std::int64_t>(limit - count));
        FF_TRY(const bool found, s.step());
        count += found ? static_cast<std::uint64_t>(s.integer()) : 0;
        s.reset();
    }
    return count;
}

expected<std::vector<core::ExecutionEvent>> SqlReader::history(const core::Execution& execution,
                                                               std::size_t limit,
                                                               std::int64_t after) {
    // Each event names the one before it: a walk of point reads instead of an index on every
    // event (measured: the index was the dearest of all).
    std::vector<core::ExecutionEvent> out;
    auto next = execution.last_event_id;
    while (next && *next > after && out.size() < limit) {
        SqlStatement& s = statements_->get(sql::event_by_id);
        s.integer(*next);
        FF_TRY(auto event, select_one<core::ExecutionEvent>(s));
        if (!event) {
            break;  // the rest was cut, or an older program has trimmed it
        }
        next = event->previous_event_id;
        out.push_back(std::move(*event));
    }
    return out;
}

expected<std::vector<core::LogEvent>> SqlReader::log_events_of(Eid eid, std::size_t limit,
                                                               std::int64_t after) {
    SqlStatement& s = statements_->get(sql::log_events_of);
    s.integer(eid);
    s.integer(after);
    s.integer(as_limit(limit));
    return select_all<core::LogEvent>(s);
}

expected<std::vector<core::ExecutionEvent>> SqlReader::events_after(std::int64_t event_id,
                                                                    std::size_t limit) {
    SqlStatement& s = statements_->get(sql::events_after);
    s.integer(event_id);
    s.integer(as_limit(limit));
    return select_all<core::ExecutionEvent>(s);
}

expected<std::vector<core::LogEvent>> SqlReader::log_events_after(std::int64_t event_id,
                                                                  std::size_t limit) {
    SqlStatement& s = statements_->get(sql::log_events_after);
    s.integer(event_id);
    s.integer(as_limit(limit));
    return select_all<core::LogEvent>(s);
}

expected<std::vector<core::LogEvent>> SqlReader::family_events_after(core::LogFamily family,
                                                                     std::int64_t event_id,
                                                                     std::size_t limit) {
    SqlStatement& s = statements_->get(sql::family_events_after);
    s.integer(static_cast<std::int64_t>(family));
    s.integer(event_id);
    s.integer(as_limit(limit));
    return select_all<core::LogEvent>(s);
}

expected<std::int64_t> SqlReader::highest_event() {
    FF_TRY(const auto highest, number_of(statements_->get(sql::highest_event)));
    return highest.value_or(0);
}

expected<std::int64_t> SqlReader::trimmed_through(EventFamily family) {
    SqlStatement& s = statements_->get(sql::event_trim_of);
    s.integer(static_cast<std::int64_t>(family));
    FF_TRY(const auto row, select_one<core::EventTrim>(s));
    return row ? row->through : 0;
}

expected<std::int64_t> SqlReader::event_floor(EventFamily family) {
    return floor_of_events(*statements_, family);
}

expected<std::optional<std::int64_t>> SqlReader::oldest_events(EventFamily family,
                                                               TimestampMs before,
                                                               std::size_t limit) {
    FF_TRY(const std::int64_t floor, event_floor(family));
    return ask_of_events(*statements_, family, &sql::EventTexts::oldest_before,
                         {floor, as_limit(limit), before});
}

expected<std::optional<std::int64_t>> SqlReader::nth_event(EventFamily family, std::int64_t after,
                                                           std::uint64_t passing) {
    FF_TRY(const std::int64_t floor, event_floor(family));
    return ask_of_events(*statements_, family, &sql::EventTexts::nth_after,
                         {std::max(after, floor), as_limit(passing)});
}

expected<std::uint64_t> SqlReader::count_events(EventFamily family, std::int64_t after,
                                                std::int64_t through) {
    FF_TRY(const std::int64_t floor, event_floor(family));
    FF_TRY(const auto count, ask_of_events(*statements_, family, &sql::EventTexts::count_between,
                                           {std::max(after, floor), through}));
    return static_cast<std::uint64_t>(count.value_or(0));
}

expected<std::optional<core::Webhook>> SqlReader::webhook(const WebhookId& id) {
    SqlStatement& s = statements_->get(sql::webhook_by_id);
    put_value(s, Kind::bytes, id);
    return select_one<core::Webhook>(s);
}

expected<std::vector<core::Webhook>> SqlReader::webhooks(const std::optional<WebhookId>& after,
                                                         std::size_t limit) {
    SqlStatement& s = statements_->get(sql::webhooks_after);
    const WebhookId first = after.value_or(WebhookId{});
    put_value(s, Kind::bytes, first);
    s.integer(as_limit(limit));
    return select_all<core::Webhook>(s);
}

expected<std::vector<core::ReadyKey>> SqlReader::ready_after(const core::ReadyKey& key,
                                                             std::size_t limit) {
    SqlStatement& s = statements_->get(sql::ready_after);
    s.integer(key.route);
    s.integer(key.rank);
    s.integer(key.place);
    s.integer(as_limit(limit));
    std::vector<core::ReadyKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        const core::RouteId route = s.integer();
        out.push_back(take_ready_key(s, route));
    }
    s.reset();
    return out;
}

expected<std::vector<core::TimerKey>> SqlReader::timers_after(const core::TimerKey& key,
                                                              std::size_t limit) {
    SqlStatement& s = statements_->get(sql::timers_after);
    s.integer(static_cast<std::int64_t>(key.kind));
    s.integer(key.due_at);
    s.integer(key.eid);
    s.integer(as_limit(limit));
    std::vector<core::TimerKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        core::TimerKey& row = out.emplace_back();
        FF_TRY_VOID(take_checked(s, "kind", row.kind));
        row.due_at = s.integer();
        row.eid = s.integer();
    }
    s.reset();
    return out;
}

expected<std::vector<core::TurnKey>> SqlReader::turns_after(const core::TurnKey& key,
                                                            std::size_t limit) {
    SqlStatement& s = statements_->get(sql::turns_after);
    s.integer(key.queue);
    s.integer(key.eid);
    s.integer(as_limit(limit));
    std::vector<core::TurnKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        core::TurnKey& row = out.emplace_back();
        row.queue = s.integer();
        row.eid = s.integer();
    }
    s.reset();
    return out;
}

expected<std::vector<std::pair<core::Bucket, Eid>>> SqlReader::listed_after(core::Bucket bucket,
                                                                            Eid eid,
                                                                            std::size_t limit) {
    SqlStatement& s = statements_->get(sql::listed_after);
    s.integer(static_cast<std::int64_t>(bucket));
    s.integer(eid);
    s.integer(as_limit(limit));
    std::vector<std::pair<core::Bucket, Eid>> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        auto& row = out.emplace_back();
        FF_TRY_VOID(take_checked(s, "bucket", row.first));
        row.second = s.integer();
    }
    s.reset();
    return out;
}

}  // namespace ff::store
