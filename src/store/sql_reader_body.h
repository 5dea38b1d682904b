// The definitions of SqlReader, for the files that instantiate it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "store/catalogue.h"
#include "store/sql_reader.h"
#include "store/sql_rows.h"
#include "store/sql_scans.h"

namespace ff::store {

inline std::int64_t as_limit(std::size_t limit) { return static_cast<std::int64_t>(limit); }

template <class Statements>
expected<std::optional<core::Execution>> SqlReader<Statements>::execution(const ExecutionId& id) {
    auto& s = statements_.get(sql::execution_by_id);
    s.bytes_copy(id.raw());
    return select_one<core::Execution>(s);
}

template <class Statements>
expected<std::optional<core::ExecutionInput>> SqlReader<Statements>::input(Eid eid) {
    auto& s = statements_.get(sql::input_by_eid);
    s.integer(eid);
    return select_one<core::ExecutionInput>(s);
}

template <class Statements>
expected<std::vector<core::Attempt>> SqlReader<Statements>::attempts(Eid eid) {
    auto& s = statements_.get(sql::attempts_of);
    s.integer(eid);
    return select_all<core::Attempt>(s);
}

template <class Statements>
expected<std::optional<core::Attempt>> SqlReader<Statements>::attempt(Eid eid,
                                                                      std::uint32_t index) {
    auto& s = statements_.get(sql::attempt_by_key);
    s.integer(eid);
    s.integer(index);
    return select_one<core::Attempt>(s);
}

template <class Statements>
expected<core::Route> SqlReader<Statements>::route(RouteId id) {
    auto& s = statements_.get(sql::select_where<core::Route>("route = $1"));
    s.integer(id);
    FF_TRY(auto row, select_one<core::Route>(s));
    if (!row) {
        return ff::fail(ErrorCode::corruption, "route " + std::to_string(id) + " is missing");
    }
    split_capabilities(*row);
    return std::move(*row);
}

template <class Statements>
expected<std::vector<core::Route>> SqlReader<Statements>::routes() {
    FF_TRY(auto rows, select_all<core::Route>(statements_.get(sql::all_routes)));
    for (auto& row : rows) {
        split_capabilities(row);
    }
    return rows;
}

template <class Statements>
expected<std::vector<ExecutionId>> SqlReader<Statements>::ids_of_partition(
    std::uint16_t partition, std::optional<ExecutionId> after, std::size_t limit) {
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
    auto& s = statements_.get(sql::ids_of_partition);
    s.bytes_copy(low);
    s.bytes_copy(last.raw() + '\0');
    s.integer(as_limit(limit));
    std::vector<ExecutionId> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        FF_TRY_VOID(take_checked(s, "id", out.emplace_back()));
    }
    s.reset();
    return out;
}

template <class Statement>
void bind_window(Statement& s, const Window& window) {
    s.integer(window.above);
    s.integer(window.below);
    s.integer(as_limit(window.limit));
}

template <class Statements>
auto SqlReader<Statements>::executions(const Window& window) -> expected<Executions> {
    auto& s = statements_.get(sql::executions_in_window.text(window.order));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

template <class Statements>
auto SqlReader<Statements>::of_route(RouteId route, const Window& window) -> expected<Executions> {
    auto& s = statements_.get(sql::executions_of_route.text(window.order));
    s.integer(route);
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

template <class Statements>
auto SqlReader<Statements>::with_tag(const std::string& key, const std::string& value,
                                     const Window& window) -> expected<Executions> {
    auto& s = statements_.get(sql::executions_with_tag.text(window.order));
    s.text(key);
    s.text(value);
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

template <class Statements>
auto SqlReader<Statements>::in_bucket(core::Bucket bucket, const Window& window)
    -> expected<Executions> {
    auto& s = statements_.get(sql::executions_in_bucket.text(window.order));
    s.integer(static_cast<std::int64_t>(bucket));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

template <class Statements>
auto SqlReader<Statements>::leased(const Window& window) -> expected<Executions> {
    auto& s = statements_.get(sql::executions_leased.text(window.order));
    bind_window(s, window);
    return select_all<core::Execution>(s);
}

template <class Statements>
expected<std::vector<Eid>> SqlReader<Statements>::tagged_too(const Tag& tag, const Tag& other,
                                                             const Window& window) {
    auto& s = statements_.get(sql::tagged_too.text(window.order));
    s.text(tag.first);
    s.text(tag.second);
    bind_window(s, window);
    s.text(other.first);
    s.text(other.second);
    return collect_eids(s);
}

template <class Statements>
expected<std::vector<core::Execution>> SqlReader<Statements>::leased_due(TimestampMs as_of) {
    auto& s = statements_.get(sql::leased_due);
    s.integer(as_of);
    return select_all<core::Execution>(s);
}

template <class Statements>
expected<std::vector<core::Lane>> SqlReader<Statements>::lanes(const std::string& after,
                                                               std::size_t limit) {
    auto& s = statements_.get(sql::lanes_after);
    s.text(after);
    s.integer(as_limit(limit));
    return select_all<core::Lane>(s);
}

template <class Statements>
expected<std::optional<core::Lane>> SqlReader<Statements>::lane(const std::string& name) {
    auto& s = statements_.get(sql::lane_by_name);
    s.text(name);
    return select_one<core::Lane>(s);
}

template <class Statements>
expected<std::vector<core::WorkerRow>> SqlReader<Statements>::workers(
    const std::optional<std::string>& ns, const core::WorkerKey& after, std::size_t limit) {
    if (ns && after.ns > *ns) {
        return std::vector<core::WorkerRow>();
    }
    auto& s = statements_.get(ns ? sql::workers_of_namespace_after : sql::workers_after);
    s.text(ns ? *ns : after.ns);
    s.text(ns && after.ns < *ns ? std::string_view() : std::string_view(after.worker_instance_id));
    s.integer(as_limit(limit));
    return select_all<core::WorkerRow>(s);
}

template <class Statements>
expected<std::uint64_t> SqlReader<Statements>::ready_before(std::span<const RouteId> routes,
                                                            const core::ReadyKey& key,
                                                            std::uint64_t limit) {
    std::uint64_t count = 0;
    for (RouteId route : routes) {
        if (count >= limit) {
            break;
        }
        auto& s = statements_.get(sql::ready_before);
        s.integer(route);
        s.integer(key.rank);
        s.integer(key.eid);
        s.integer(static_cast<std::int64_t>(limit - count));
        FF_TRY(const bool found, s.step());
        count += found ? static_cast<std::uint64_t>(s.integer()) : 0;
        s.reset();
    }
    return count;
}

template <class Statements>
expected<std::vector<core::ExecutionEvent>> SqlReader<Statements>::history(
    const core::Execution& execution, std::size_t limit) {
    // Each event names the one before it: a walk of point reads instead of an index on every
    // event (measured: the index was the dearest of all).
    std::vector<core::ExecutionEvent> out;
    auto next = execution.last_event_id;
    while (next && out.size() < limit) {
        auto& s = statements_.get(sql::event_by_id);
        s.integer(*next);
        FF_TRY(auto event, select_one<core::ExecutionEvent>(s));
        if (!event) {
            break;  // older ones were trimmed
        }
        next = event->previous_event_id;
        out.push_back(std::move(*event));
    }
    return out;
}

template <class Statements>
expected<std::vector<core::LogEvent>> SqlReader<Statements>::log_events_of(Eid eid,
                                                                           std::size_t limit) {
    auto& s = statements_.get(sql::log_events_of);
    s.integer(eid);
    s.integer(as_limit(limit));
    return select_all<core::LogEvent>(s);
}

template <class Statements>
expected<std::vector<core::ExecutionEvent>> SqlReader<Statements>::events_after(
    std::int64_t event_id, std::size_t limit) {
    auto& s = statements_.get(sql::events_after);
    s.integer(event_id);
    s.integer(as_limit(limit));
    return select_all<core::ExecutionEvent>(s);
}

template <class Statements>
expected<std::vector<core::LogEvent>> SqlReader<Statements>::log_events_after(std::int64_t event_id,
                                                                              std::size_t limit) {
    auto& s = statements_.get(sql::log_events_after);
    s.integer(event_id);
    s.integer(as_limit(limit));
    return select_all<core::LogEvent>(s);
}

template <class Statements>
expected<std::vector<core::ReadyKey>> SqlReader<Statements>::ready_after(const core::ReadyKey& key,
                                                                         std::size_t limit) {
    auto& s = statements_.get(sql::ready_after);
    s.integer(key.route);
    s.integer(key.rank);
    s.integer(key.eid);
    s.integer(as_limit(limit));
    std::vector<core::ReadyKey> out;
    for (;;) {
        FF_TRY(const bool found, s.step());
        if (!found) {
            break;
        }
        core::ReadyKey& row = out.emplace_back();
        row.route = s.integer();
        row.rank = static_cast<std::int32_t>(s.integer());
        row.eid = s.integer();
    }
    s.reset();
    return out;
}

template <class Statements>
expected<std::vector<core::TimerKey>> SqlReader<Statements>::timers_after(const core::TimerKey& key,
                                                                          std::size_t limit) {
    auto& s = statements_.get(sql::timers_after);
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

template <class Statements>
expected<std::vector<std::pair<core::Bucket, Eid>>> SqlReader<Statements>::listed_after(
    core::Bucket bucket, Eid eid, std::size_t limit) {
    auto& s = statements_.get(sql::listed_after);
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
