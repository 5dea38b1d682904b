#include "store/memory_rows.h"

#include <algorithm>
#include <cstddef>
#include <ranges>

namespace ff::store {

using core::Execution;
using core::TimerKind;

namespace {

/// Up to `limit` members of a set or rows of a map that come after `cursor`.
template <class Container>
auto page(const Container& container, const typename Container::key_type& cursor,
          std::size_t limit) {
    auto it = container.upper_bound(cursor);
    const auto at = [&]() -> const auto& {
        if constexpr (requires { typename Container::mapped_type; }) {
            return it->second;
        } else {
            return *it;
        }
    };
    std::vector<std::remove_cvref_t<decltype(at())>> out;
    for (; it != container.end() && out.size() < limit; ++it) {
        out.push_back(at());
    }
    return out;
}

}  // namespace

// --------------------------------------------------------------------------------------- rows

std::optional<Execution> MemoryRows::execution(const ExecutionId& id) const {
    auto it = eid_of.find(id);
    return it == eid_of.end() ? std::nullopt : std::optional(executions.at(it->second));
}

std::vector<core::Attempt> MemoryRows::attempts_of(Eid eid) const {
    std::vector<core::Attempt> out;
    for (auto it = attempts.lower_bound({eid, 0}); it != attempts.end() && it->first.first == eid;
         ++it) {
        out.push_back(it->second);
    }
    return out;
}

std::set<core::TimerKey>::const_iterator MemoryRows::first_timer(TimerKind kind) const {
    return timers.lower_bound({kind, lowest<TimestampMs>, lowest<Eid>});
}

std::int64_t MemoryRows::trimmed_through(EventFamily family) const {
    const auto trim = find_row(event_trims, family);
    return trim ? trim->through : 0;
}

std::int64_t MemoryRows::event_floor(EventFamily family) const {
    return core::is_history(family) ? std::max(trimmed_through(EventFamily::completion),
                                               trimmed_through(EventFamily::lease_history))
                                    : trimmed_through(family);
}

std::set<Eid> MemoryRows::leased() const {
    std::set<Eid> out;
    for (auto it = first_timer(TimerKind::lease);
         it != timers.end() && it->kind == TimerKind::lease; ++it) {
        out.insert(it->eid);
    }
    return out;
}

// ------------------------------------------------------------------------------ one row by key

expected<std::optional<Execution>> MemoryReader::execution(const ExecutionId& id) {
    return rows_.execution(id);
}

expected<std::optional<core::ExecutionInput>> MemoryReader::input(Eid eid) {
    return find_row(rows_.inputs, eid);
}

expected<std::vector<core::Attempt>> MemoryReader::attempts(Eid eid) {
    return rows_.attempts_of(eid);
}

expected<std::optional<core::Attempt>> MemoryReader::attempt(Eid eid, std::uint32_t index) {
    return find_row(rows_.attempts, {eid, index});
}

expected<core::Route> MemoryReader::route(RouteId id) {
    auto row = find_row(rows_.routes, id);
    if (!row) {
        return ff::fail(ErrorCode::corruption, "route " + std::to_string(id) + " is missing");
    }
    return std::move(*row);
}

expected<std::vector<core::Route>> MemoryReader::routes() {
    return page(rows_.routes, lowest<RouteId>, rows_.routes.size());
}

expected<std::optional<core::Lane>> MemoryReader::lane(const std::string& name) {
    return find_row(rows_.lanes, name);
}

// -------------------------------------------------------------------------------------- lists

expected<std::vector<ExecutionId>> MemoryReader::ids_of_partition(std::uint16_t partition,
                                                                  std::optional<ExecutionId> after,
                                                                  std::size_t limit) {
    std::vector<ExecutionId> out;
    auto it = rows_.eid_of.lower_bound({partition, {}});
    if (after && *after >= ExecutionId{partition, {}}) {
        it = rows_.eid_of.upper_bound(*after);
    }
    for (; it != rows_.eid_of.end() && it->first.partition == partition && out.size() < limit;
         ++it) {
        out.push_back(it->first);
    }
    return out;
}

namespace {

/// The members of a sorted range in the order of a window, and no more than it wants.
template <class Range, class Take>
void take_in_order(const Range& range, const Window& window, Take take) {
    const auto wanted = std::views::take(static_cast<std::ptrdiff_t>(
        std::min<std::size_t>(window.limit, std::numeric_limits<std::ptrdiff_t>::max())));
    if (window.order == Order::newest_first) {
        for (const auto& member : range | std::views::reverse | wanted) {
            take(member);
        }
    } else {
        for (const auto& member : range | wanted) {
            take(member);
        }
    }
}

/// The executions that the members of a sorted range name.
template <class Range, class EidOf>
std::vector<Execution> named(const MemoryRows& rows, const Range& range, const Window& window,
                             EidOf eid_of) {
    std::vector<Execution> out;
    take_in_order(range, window,
                  [&](const auto& member) { out.push_back(rows.executions.at(eid_of(member))); });
    return out;
}

/// The members of a set above `low` and below `high`.
template <class Set>
auto between(const Set& set, const typename Set::key_type& low,
             const typename Set::key_type& high) {
    auto begin = set.upper_bound(low);
    return low < high && begin != set.end() ? std::ranges::subrange(begin, set.lower_bound(high))
                                            : std::ranges::subrange(begin, begin);
}

}  // namespace

auto MemoryReader::executions(const Window& window) -> expected<Executions> {
    return named(rows_, between(rows_.executions, window.above, window.below), window,
                 [](const auto& member) { return member.first; });
}

auto MemoryReader::of_route(RouteId route, const Window& window) -> expected<Executions> {
    return named(rows_, between(rows_.by_route, {route, window.above}, {route, window.below}),
                 window, [](const auto& member) { return member.second; });
}

auto MemoryReader::with_tag(const std::string& key, const std::string& value, const Window& window)
    -> expected<Executions> {
    return named(rows_, between(rows_.tags, {key, value, window.above}, {key, value, window.below}),
                 window, [](const auto& member) { return std::get<Eid>(member); });
}

auto MemoryReader::in_bucket(core::Bucket bucket, const Window& window) -> expected<Executions> {
    return named(rows_, between(rows_.listed, {bucket, window.above}, {bucket, window.below}),
                 window, [](const auto& member) { return member.second; });
}

auto MemoryReader::leased(const Window& window) -> expected<Executions> {
    const std::set<Eid> leased = rows_.leased();
    return named(rows_, between(leased, window.above, window.below), window,
                 [](Eid eid) { return eid; });
}

expected<std::vector<Eid>> MemoryReader::tagged_too(const Tag& tag, const Tag& other,
                                                    const Window& window) {
    std::vector<Eid> out;
    take_in_order(between(rows_.tags, {tag.first, tag.second, window.above},
                          {tag.first, tag.second, window.below}),
                  window, [&](const auto& member) {
                      const Eid eid = std::get<Eid>(member);
                      if (rows_.tags.contains({other.first, other.second, eid})) {
                          out.push_back(eid);
                      }
                  });
    return out;
}

expected<std::vector<Execution>> MemoryReader::leased_due(const LeaseKey& after, TimestampMs as_of,
                                                          std::size_t limit) {
    std::vector<Execution> out;
    for (auto it = rows_.timers.upper_bound({TimerKind::lease, after.first, after.second});
         it != rows_.timers.end() && it->kind == TimerKind::lease && it->due_at <= as_of &&
         out.size() < limit;
         ++it) {
        out.push_back(rows_.executions.at(it->eid));
    }
    return out;
}

expected<std::vector<core::Lane>> MemoryReader::lanes(const std::string& after, std::size_t limit) {
    return page(rows_.lanes, after, limit);
}

expected<std::vector<core::WorkerRow>> MemoryReader::workers(const std::optional<std::string>& ns,
                                                             const core::WorkerKey& after,
                                                             std::size_t limit) {
    std::vector<core::WorkerRow> out;
    for (auto it = rows_.workers.upper_bound(after);
         it != rows_.workers.end() && out.size() < limit; ++it) {
        if (!ns || it->first.ns == *ns) {
            out.push_back(it->second);
        }
    }
    return out;
}

expected<std::uint64_t> MemoryReader::ready_before(std::span<const RouteId> routes,
                                                   const core::ReadyKey& key, std::uint64_t limit) {
    std::uint64_t count = 0;
    for (RouteId route : routes) {
        for (auto it = rows_.ready.lower_bound({route, lowest<std::int32_t>, lowest<Eid>});
             it != rows_.ready.end() && *it < core::ReadyKey{route, key.rank, key.place, key.eid} &&
             count < limit;
             ++it) {
            ++count;
        }
    }
    return count;
}

// ------------------------------------------------------------------------------------- events

expected<std::vector<core::ExecutionEvent>> MemoryReader::history(const Execution& execution,
                                                                  std::size_t limit,
                                                                  std::int64_t after) {
    std::vector<core::ExecutionEvent> out;
    auto next = execution.last_event_id;
    while (next && *next > after && out.size() < limit) {
        auto it = rows_.events.find(*next);
        if (it == rows_.events.end()) {
            break;
        }
        out.push_back(it->second);
        next = it->second.previous_event_id;
    }
    return out;
}

expected<std::vector<core::LogEvent>> MemoryReader::log_events_of(Eid eid, std::size_t limit,
                                                                  std::int64_t after) {
    std::vector<core::LogEvent> out;
    for (auto it = rows_.log_by_execution.upper_bound({eid, after});
         it != rows_.log_by_execution.end() && it->first == eid && out.size() < limit; ++it) {
        out.push_back(rows_.log_events.at(it->second));
    }
    return out;
}

expected<std::vector<core::ExecutionEvent>> MemoryReader::events_after(std::int64_t event_id,
                                                                       std::size_t limit) {
    return page(rows_.events, event_id, limit);
}

expected<std::vector<core::LogEvent>> MemoryReader::log_events_after(std::int64_t event_id,
                                                                     std::size_t limit) {
    return page(rows_.log_events, event_id, limit);
}

expected<std::vector<core::LogEvent>> MemoryReader::family_events_after(core::LogFamily family,
                                                                        std::int64_t event_id,
                                                                        std::size_t limit) {
    std::vector<core::LogEvent> out;
    for (auto it = rows_.log_events.upper_bound(event_id);
         it != rows_.log_events.end() && out.size() < limit; ++it) {
        if (it->second.family == family) {
            out.push_back(it->second);
        }
    }
    return out;
}

expected<std::int64_t> MemoryReader::highest_event() {
    std::int64_t highest = 0;
    const auto look_at = [&](const auto& events) {
        highest = events.empty() ? highest : std::max(highest, events.rbegin()->first);
    };
    look_at(rows_.events);
    look_at(rows_.log_events);
    for (const auto& [family, trim] : rows_.event_trims) {
        highest = std::max(highest, trim.through);
    }
    return highest;
}

expected<std::int64_t> MemoryReader::trimmed_through(EventFamily family) {
    return rows_.trimmed_through(family);
}

expected<std::int64_t> MemoryReader::event_floor(EventFamily family) {
    return rows_.event_floor(family);
}

std::vector<std::pair<std::int64_t, TimestampMs>> MemoryReader::events_of(
    EventFamily family, std::int64_t after) const {
    std::vector<std::pair<std::int64_t, TimestampMs>> out;
    after = std::max(after, rows_.event_floor(family));
    if (core::is_history(family)) {
        for (auto it = rows_.events.upper_bound(after); it != rows_.events.end(); ++it) {
            out.emplace_back(it->first, it->second.at);
        }
        return out;
    }
    for (auto it = rows_.log_events.upper_bound(after); it != rows_.log_events.end(); ++it) {
        if (it->second.family == core::log_family(family)) {
            out.emplace_back(it->first, it->second.at);
        }
    }
    return out;
}

expected<std::optional<std::int64_t>> MemoryReader::oldest_events(EventFamily family,
                                                                  TimestampMs before,
                                                                  std::size_t limit) {
    std::optional<std::int64_t> out;
    const auto events = events_of(family, 0);
    for (std::size_t i = 0; i < std::min(limit, events.size()); ++i) {
        out = events[i].second < before ? std::optional(events[i].first) : out;
    }
    return out;
}

expected<std::optional<std::int64_t>> MemoryReader::nth_event(EventFamily family,
                                                              std::int64_t after,
                                                              std::uint64_t passing) {
    const auto events = events_of(family, after);
    return passing < events.size() ? std::optional(events[passing].first) : std::nullopt;
}

expected<std::uint64_t> MemoryReader::count_events(EventFamily family, std::int64_t after,
                                                   std::int64_t through) {
    const auto events = events_of(family, after);
    return static_cast<std::uint64_t>(
        std::ranges::count_if(events, [&](const auto& event) { return event.first <= through; }));
}

expected<std::optional<core::Webhook>> MemoryReader::webhook(const WebhookId& id) {
    return find_row(rows_.webhooks, id);
}

expected<std::vector<core::Webhook>> MemoryReader::webhooks(const std::optional<WebhookId>& after,
                                                            std::size_t limit) {
    return page(rows_.webhooks, after.value_or(WebhookId{}), limit);
}

expected<std::vector<core::ReadyKey>> MemoryReader::ready_after(const core::ReadyKey& key,
                                                                std::size_t limit) {
    return page(rows_.ready, key, limit);
}

expected<std::vector<core::TimerKey>> MemoryReader::timers_after(const core::TimerKey& key,
                                                                 std::size_t limit) {
    return page(rows_.timers, key, limit);
}

expected<std::vector<core::TurnKey>> MemoryReader::turns_after(const core::TurnKey& key,
                                                               std::size_t limit) {
    return page(rows_.turns, key, limit);
}

expected<std::vector<std::pair<core::Bucket, Eid>>> MemoryReader::listed_after(core::Bucket bucket,
                                                                               Eid eid,
                                                                               std::size_t limit) {
    return page(rows_.listed, {bucket, eid}, limit);
}

}  // namespace ff::store
