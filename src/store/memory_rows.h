// The tables of MemoryStore, and the reads over them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"

namespace ff::store {

template <class T>
inline constexpr T lowest = std::numeric_limits<T>::min();

struct MemoryRows {
    // Rows by their keys.
    std::map<Eid, core::Execution> executions;
    std::map<Eid, core::ExecutionInput> inputs;
    std::map<std::pair<Eid, std::uint32_t>, core::Attempt> attempts;
    std::map<Eid, core::GrantRow> grants;
    std::map<RouteId, core::Route> routes;
    std::map<std::string, core::Lane> lanes;
    std::map<core::IdempotencyKey, core::IdempotencyEntry> idempotency;
    std::map<core::WorkerKey, core::WorkerRow> workers;
    std::map<std::int64_t, core::ExecutionEvent> events;
    std::map<std::int64_t, core::LogEvent> log_events;

    // What follows from an execution's row (core/derive.h).
    std::set<core::ReadyKey> ready;
    std::set<core::TimerKey> timers;
    std::set<std::pair<core::Bucket, Eid>> listed;

    // Other ways to find rows.
    std::map<ExecutionId, Eid> eid_of;
    std::map<core::RouteKey, RouteId> route_of;
    std::set<std::pair<RouteId, Eid>> by_route;
    std::set<std::tuple<std::string, std::string, Eid>> tags;
    std::set<std::pair<Eid, std::int64_t>> log_by_execution;

    [[nodiscard]] std::optional<core::Execution> execution(const ExecutionId& id) const;
    [[nodiscard]] std::vector<core::Attempt> attempts_of(Eid eid) const;
    [[nodiscard]] std::set<core::TimerKey>::const_iterator first_timer(core::TimerKind kind) const;
    /// Executions under a lease: those whose timer is a lease's. Ascending.
    [[nodiscard]] std::set<Eid> leased() const;
};

class MemoryReader final : public Reader {
  public:
    explicit MemoryReader(const MemoryRows& rows) : rows_(rows) {}

    expected<std::optional<core::Execution>> execution(const ExecutionId& id) override;
    expected<std::optional<core::ExecutionInput>> input(Eid eid) override;
    expected<std::vector<core::Attempt>> attempts(Eid eid) override;
    expected<std::optional<core::Attempt>> attempt(Eid eid, std::uint32_t index) override;
    expected<core::Route> route(RouteId id) override;
    expected<std::vector<core::Route>> routes() override;
    expected<std::vector<ExecutionId>> ids_of_partition(std::uint16_t partition,
                                                        std::optional<ExecutionId> after,
                                                        std::size_t limit) override;
    expected<Executions> executions(const Window& window) override;
    expected<Executions> of_route(RouteId route, const Window& window) override;
    expected<Executions> with_tag(const std::string& key, const std::string& value,
                                  const Window& window) override;
    expected<Executions> in_bucket(core::Bucket bucket, const Window& window) override;
    expected<Executions> leased(const Window& window) override;
    expected<std::vector<Eid>> tagged_too(const Tag& tag, const Tag& other,
                                          const Window& window) override;
    expected<std::vector<core::Execution>> leased_due(TimestampMs as_of) override;
    expected<std::vector<core::Lane>> lanes(const std::string& after, std::size_t limit) override;
    expected<std::optional<core::Lane>> lane(const std::string& name) override;
    expected<std::vector<core::WorkerRow>> workers(const std::optional<std::string>& ns,
                                                   const core::WorkerKey& after,
                                                   std::size_t limit) override;
    expected<std::uint64_t> ready_before(std::span<const RouteId> routes, const core::ReadyKey& key,
                                         std::uint64_t limit) override;
    expected<std::vector<core::ExecutionEvent>> history(const core::Execution& execution,
                                                        std::size_t limit) override;
    expected<std::vector<core::LogEvent>> log_events_of(Eid eid, std::size_t limit) override;
    expected<std::vector<core::ExecutionEvent>> events_after(std::int64_t event_id,
                                                             std::size_t limit) override;
    expected<std::vector<core::LogEvent>> log_events_after(std::int64_t event_id,
                                                           std::size_t limit) override;
    expected<std::vector<core::ReadyKey>> ready_after(const core::ReadyKey& key,
                                                      std::size_t limit) override;
    expected<std::vector<core::TimerKey>> timers_after(const core::TimerKey& key,
                                                       std::size_t limit) override;
    expected<std::vector<std::pair<core::Bucket, Eid>>> listed_after(core::Bucket bucket, Eid eid,
                                                                     std::size_t limit) override;

  private:
    const MemoryRows& rows_;
};

}  // namespace ff::store
