// The store without a database: the same seam on plain maps, for tests and simulation.
//
// Nothing survives the object. As for every store, the writing side belongs to one thread and reads
// may come from any; a reader waits only while a commit is being applied. Stricter than a database:
// a call of the writing side outside a transaction aborts.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include <ff/engine.h>

#include "store/store.h"

namespace ff::store {

struct MemoryRows;  // the tables

class MemoryStore final : public Store {
  public:
    static std::unique_ptr<MemoryStore> make(const EngineOptions& options);
    ~MemoryStore() override;

    /// The next commit fails with `error` once all its changes are made, and undoes them.
    void fail_next_commit(Error error);

    [[nodiscard]] const StoreInfo& info() const override { return info_; }
    [[nodiscard]] const core::RouteTable& routes() const override { return routes_; }
    std::int64_t next_eid(TimestampMs now) override;
    std::int64_t next_route_id() override;

    expected<void> begin() override;
    expected<void> load(const core::ReadSet& set, core::Snapshot& snapshot) override;
    expected<void> load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                        core::Snapshot& snapshot) override;
    expected<std::vector<core::ReadyKey>> scan_ready(RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit) override;
    expected<TurnPage> lock_turns(std::span<const RouteId> queues) override;
    expected<std::vector<core::TimerKey>> scan_due(TimestampMs now, std::size_t limit) override;
    expected<std::optional<TimestampMs>> next_due(TimestampMs after) override;
    expected<std::vector<FlowId>> scan_due_flows(TimestampMs now, std::size_t limit) override;
    expected<std::vector<core::FlowWorkKey>> scan_work(TimestampMs now, std::size_t limit,
                                                       core::Snapshot& snapshot) override;
    expected<std::vector<FlowId>> held_flows() override;
    expected<std::vector<core::EdgeKey>> scan_staged(TimestampMs before,
                                                     std::size_t limit) override;
    expected<std::vector<Eid>> scan_bucket(core::Bucket bucket, Eid after,
                                           std::size_t limit) override;
    expected<std::vector<Eid>> scan_all(Eid after, std::size_t limit) override;
    expected<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs now,
                                                             std::size_t limit) override;
    expected<std::vector<core::WorkerRow>> live_workers(TimestampMs now) override;
    expected<std::vector<core::StreamKey>> scan_streams(TimestampMs now,
                                                        std::size_t limit) override;
    expected<std::vector<core::LimitKey>> scan_due_limits(TimestampMs now,
                                                          std::size_t limit) override;
    expected<std::vector<core::LimitKey>> scan_waiting_limits(const core::LimitKey& after,
                                                              std::size_t limit) override;
    expected<std::uint64_t> sweep_usage_dedup(TimestampMs now, std::size_t limit) override;
    expected<std::uint64_t> sweep_grants(TimestampMs before, std::size_t limit) override;
    expected<std::uint64_t> sweep_idempotency(TimestampMs now, std::size_t limit) override;
    expected<std::uint64_t> trim_events(EventFamily family, std::int64_t through) override;
    expected<void> commit(core::Snapshot& snapshot, TimestampMs now,
                          DurationMs retention_default_ms) override;
    void rollback() override;
    expected<void> commit_upkeep() override;
    expected<void> make_durable() override { return {}; }
    void maintain() override {}
    expected<void> read(const std::function<expected<void>(Reader&)>& body) override;
    [[nodiscard]] std::uint64_t rows_written() const override { return rows_written_; }

  private:
    class Journal;  // changes rows and can take it back
    struct Swept;   // what upkeep of the open transaction deletes

    explicit MemoryStore(const EngineOptions& options);
    void load_rest(core::ExecutionCell& cell, core::InputNeed input, bool grant,
                   bool attempt) const;
    void load_cell(core::ExecutionCell& cell, core::InputNeed input, bool grant,
                   bool attempt) const;
    // Flows (memory_flows.cc).
    void load_members(const FlowId& flow, const core::ReadSet::ExecutionNeed& need,
                      core::Snapshot& snapshot) const;
    void load_flows(const core::ReadSet& set, core::Snapshot& snapshot) const;
    void load_edges(const core::ReadSet& set, core::Snapshot& snapshot) const;
    expected<void> write_flows(Journal& journal, core::Snapshot& snapshot,
                               DurationMs retention_default_ms);
    void spell_out_edges(Journal& journal, const ExecutionId& upstream);
    void erase_flow(Journal& journal, const FlowId& id);
    /// Puts or erases a row, with its places in the sets it is found by.
    template <class Map>
    void replace(Journal& journal, Map& map, const typename Map::key_type& key,
                 const std::optional<typename Map::mapped_type>& row);
    // Waits (memory_waits.cc).
    /// Call for every cell whose execution was asked for: it becomes known by its number, and what
    /// it waits for is loaded.
    void found_cell(core::ExecutionCell& cell, core::Snapshot& snapshot) const;
    void load_waits(const core::WaitReads& reads, core::WaitTable& waits) const;
    expected<void> write_waits(Journal& journal, const core::WaitTable& waits);
    void erase_waits(Journal& journal, Eid eid);
    // Streams (memory_streams.cc).
    void load_streams(const core::StreamReads& reads, core::Snapshot& snapshot) const;
    expected<void> write_streams(Journal& journal, const core::StreamTable& streams);
    void erase_streams(Journal& journal, Eid eid);
    // Limits (memory_limits.cc).
    void load_limits(const core::LimitReads& reads, core::Snapshot& snapshot) const;
    void write_limits(Journal& journal, const core::LimitTable& limits);
    void erase_attachments(Journal& journal, const core::TargetKey& target);

    expected<void> finish(const std::function<expected<void>(Journal&)>& write);
    void write_swept(Journal& journal);
    expected<void> write_all(Journal& journal, core::Snapshot& snapshot, TimestampMs now,
                             DurationMs retention_default_ms);
    expected<void> write_cell(Journal& journal, core::ExecutionCell& cell, TimestampMs now,
                              DurationMs retention_default_ms);
    expected<void> write_input(Journal& journal, const core::ExecutionCell& cell);
    void write_side_sets(Journal& journal, const std::optional<core::Execution>& before,
                         const std::optional<core::Execution>& after);
    void erase_execution(Journal& journal, const core::Execution& gone);
    /// See core::cuts_history().
    void cut_history(Journal& journal, const core::ExecutionEvent& head);
    void erase_history(Journal& journal, const core::Execution& gone);

    // Fixed after make.
    StoreInfo info_;

    // Writer thread only.
    core::RouteTable routes_;
    std::unique_ptr<Swept> swept_;  // set while a transaction is open
    std::int64_t next_eid_ = 1;
    std::int64_t next_route_ = 1;
    std::int64_t next_event_ = 1;
    std::int64_t eid_at_begin_ = 1;
    std::int64_t route_at_begin_ = 1;
    std::int64_t event_at_begin_ = 1;
    std::atomic<std::uint64_t> rows_written_{0};

    // Changed by the writer under mutex_; read by it without, by others with.
    std::mutex mutex_;
    std::unique_ptr<MemoryRows> rows_;
    std::optional<Error> fail_next_;
};

}  // namespace ff::store
