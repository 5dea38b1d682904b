// Reads over one connection of a database that speaks SQL. `Statements` gives statements by
// their text; the texts are those of the catalogue, the same for every database.
#pragma once

#include "store/store.h"

namespace ff::store {

template <class Statements>
class SqlReader final : public Reader {
  public:
    explicit SqlReader(typename Statements::Connection& connection) : statements_(connection) {}

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
    Statements statements_;
};

}  // namespace ff::store
