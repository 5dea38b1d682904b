// The store on one SQLite file (or in memory).
//
// One connection writes and checkpoints; it belongs to the writer thread. Readers have read-only
// connections of their own. Durability: with `full`, COMMIT writes the log and make_durable()
// syncs it, from a second thread, while the writer already works on the next batch; nobody is told
// of a commit, and no reader is shown one, before that sync is done. The log's checksums cut a torn
// tail exactly as under SQLite's own synchronous=FULL, and SQLite itself still syncs log and
// database around checkpoints (synchronous=NORMAL).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "store/file_lock.h"
#include "store/location.h"
#include "store/sqlite_db.h"
#include "store/sqlite_rows.h"
#include "store/store.h"
#include "store/warm_rows.h"

namespace ff::store {

/// Brings a database to the newest schema; answers what was done. `schema_too_new`,
/// `store_corrupt` (a migration was altered).
expected<std::string> migrate_sqlite(SqliteDb& db);

class SqliteStore final : public Store {
  public:
    static expected<std::unique_ptr<SqliteStore>> open(const Location& location,
                                                       const EngineOptions& options);
    ~SqliteStore() override;

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
    expected<void> make_durable() override;
    void maintain() override;
    expected<void> read(const std::function<expected<void>(Reader&)>& body) override;
    expected<StoreSize> size() override;
    [[nodiscard]] std::uint64_t rows_written() const override { return rows_written_; }

  private:
    struct Hot;    // the writer's prepared statements
    struct Sides;  // the narrow tables
    struct ReadConnection;

    SqliteStore() = default;
    expected<void> open_file(const Location& location, const EngineOptions& options);
    expected<void> open_memory(const EngineOptions& options);
    expected<void> start(const EngineOptions& options);
    expected<void> load_counters();
    expected<void> open_log();

    /// Brings what a predecessor left in the log into the database.
    expected<void> copy_old_log();
    /// An execution by a bound statement; corruption when its route is lost.
    expected<std::optional<core::Execution>> select_execution(Statement& bound);
    expected<void> load_rest(core::ExecutionCell& cell, core::InputNeed input, bool grant,
                             bool attempt);
    expected<void> load_cell(core::ExecutionCell& cell, core::InputNeed input, bool grant,
                             bool attempt);
    // Flows (sqlite_flows.cc).
    expected<void> load_members(const FlowId& flow, const core::ReadSet::ExecutionNeed& need,
                                core::Snapshot& snapshot);
    expected<void> load_flows(const core::ReadSet& set, core::Snapshot& snapshot);
    expected<void> load_edges(const core::ReadSet& set, core::Snapshot& snapshot);
    /// The edges that a bound statement gives.
    expected<std::vector<core::EdgeKey>> take_edges(Statement& s, core::Snapshot& snapshot);
    expected<void> load_groups(const core::ReadSet& set, core::Snapshot& snapshot);
    expected<void> load_group_from_file(const FlowId& flow, const ExecutionId& downstream,
                                        const std::optional<core::EdgeKey>& through,
                                        core::Snapshot& snapshot);
    expected<void> write_edges(const core::Snapshot& snapshot);
    expected<void> write_group(const core::ExecutionCell& cell);
    expected<void> write_flows(core::Snapshot& snapshot, DurationMs retention_default_ms);
    expected<void> erase_flow(const FlowId& id);
    // Waits (sqlite_waits.cc).
    /// Call for every cell whose execution was asked for: it becomes known by its number, and what
    /// it waits for is loaded.
    expected<void> found_cell(core::ExecutionCell& cell, core::Snapshot& snapshot);
    expected<void> load_waits(const core::WaitReads& reads, core::WaitTable& waits);
    expected<void> load_signals(const core::WaitReads& reads, core::WaitTable& waits);
    expected<void> write_waits(const core::WaitTable& waits);
    expected<void> erase_waits(Eid eid);
    // Streams (sqlite_streams.cc).
    expected<void> load_streams(const core::StreamReads& reads, core::Snapshot& snapshot);
    expected<void> write_streams(const core::StreamTable& streams);
    expected<void> erase_streams(Eid eid);
    // Limits (sqlite_limits.cc).
    expected<void> load_limits(const core::LimitReads& reads, core::Snapshot& snapshot);
    expected<void> load_policies(const core::LimitReads& reads, core::Snapshot& snapshot);
    expected<void> load_attachments(const core::LimitReads& reads, core::Snapshot& snapshot);
    expected<void> write_limits(const core::LimitTable& limits);
    expected<void> erase_attachments(LimitTarget type, const std::string& id);
    /// Attachments by place as committed: only this process changes them. Empty: to be read.
    std::optional<std::vector<core::Attachment>> places_;

    expected<void> write_all(core::Snapshot& snapshot, TimestampMs now,
                             DurationMs retention_default_ms);
    expected<void> write_cell(core::ExecutionCell& cell, TimestampMs now,
                              DurationMs retention_default_ms);
    expected<void> write_input(core::ExecutionCell& cell);
    expected<void> erase_cell(core::ExecutionCell& cell);
    expected<void> finish_commit();
    static int note_log_pages(void* self, sqlite3*, const char*, int pages);
    expected<void> wait_durable(std::uint64_t commit_number);
    /// A reader for as long as this lives.
    class Borrowed;
    std::unique_ptr<ReadConnection> take_reader();
    void give_reader(std::unique_ptr<ReadConnection> reader);
    /// One view on one connection; `newest` is the last commit it may show.
    expected<void> read_on(ReadConnection& connection,
                           const std::function<expected<void>(Reader&)>& body,
                           std::uint64_t& newest);
    /// Lets no new read start and waits, for a moment, until those under way have ended. Have they?
    bool hold_readers();
    void release_readers();
    bool is_broken();

    // Fixed after open.
    StoreInfo info_;
    std::string path_;  // empty in memory
    bool sync_log_ = false;
    int busy_timeout_ms_ = 5'000;
    std::unique_ptr<FileLock> lock_;
    std::function<void(std::string_view)> warn_;

    // Writer thread only.
    std::unique_ptr<SqliteDb> db_;
    std::unique_ptr<Hot> hot_;
    core::RouteTable routes_;
    bool in_transaction_ = false;
    std::int64_t next_eid_ = 1;
    std::int64_t next_route_ = 1;
    std::int64_t next_event_ = 1;
    std::int64_t eid_at_begin_ = 1;
    std::int64_t route_at_begin_ = 1;
    std::int64_t event_at_begin_ = 1;
    bool deleted_executions_ = false;
    int log_pages_ = 0;            // in the log after the last commit
    int pages_at_checkpoint_ = 0;  // left in the log by the last checkpoint
    int warned_pages_ = 0;
    WarmRows warm_;
    std::atomic<std::uint64_t> rows_written_{0};

    // Durability.
    int log_fd_ = -1;                          // of the -wal file; fixed after open
    std::atomic<std::uint64_t> commits_{0};    // numbered before COMMIT runs
    std::atomic<std::uint64_t> committed_{0};  // the newest that did commit
    std::mutex durable_mutex_;
    std::condition_variable durable_changed_;
    std::uint64_t durable_ = 0;    // guarded by durable_mutex_
    std::optional<Error> broken_;  // guarded by durable_mutex_
    // The newest run of commits that failed: numbers after the first up to the second stand for
    // the first. Guarded by durable_mutex_.
    std::uint64_t failed_after_ = 0;
    std::uint64_t failed_to_ = 0;

    // Readers. In memory there is one connection for all, guarded by memory_mutex_.
    std::mutex readers_mutex_;
    std::condition_variable reader_free_;
    std::vector<std::unique_ptr<ReadConnection>> readers_;  // guarded by readers_mutex_
    std::size_t readers_made_ = 0;
    bool readers_held_ = false;  // guarded by readers_mutex_
    std::recursive_mutex memory_mutex_;
    std::unique_ptr<ReadConnection> memory_reader_;
};

}  // namespace ff::store
