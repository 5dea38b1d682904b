// A store's file, opened to look at and never to change: beside its owner, or when it has none.
//
// One connection, one thread. What is seen is committed; unlike the owner's own readers it may be
// a few milliseconds ahead of the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/sqlite_db.h"
#include "store/sqlite_reader.h"
#include "store/store.h"
#include "store/store_file.h"

namespace ff::cli {

using store::Damage;
using store::damage_of;
using store::fault_text;
using store::FileStamp;
using store::open_store_file;
using store::StoreFile;

/// How many executions of a lane are in a state.
struct StateCount {
    std::string lane_id;
    PublicState state = PublicState::waiting;
    std::uint64_t count = 0;
};

/// The reading side of store::Store over such a file. The writing side refuses.
class ReadOnlyStore final : public store::Store {
  public:
    /// Refuses a schema this program does not know exactly: `schema_too_new`, or
    /// `store_open_failed` for an older one.
    static Result<std::unique_ptr<ReadOnlyStore>> open(StoreFile file);
    static Result<std::unique_ptr<ReadOnlyStore>> open(const std::string& text);

    [[nodiscard]] const StoreFile& file() const { return file_; }
    [[nodiscard]] store::SqliteDb& db() const { return *file_.db; }
    /// Visits every execution.
    Result<std::vector<StateCount>> counts();

    [[nodiscard]] const store::StoreInfo& info() const override { return info_; }
    [[nodiscard]] const core::RouteTable& routes() const override { return routes_; }
    Result<void> read(const std::function<Result<void>(store::Reader&)>& body) override;
    [[nodiscard]] std::uint64_t rows_written() const override { return 0; }

    std::int64_t next_eid(TimestampMs now) override;
    std::int64_t next_route_id() override;
    Result<void> begin() override;
    Result<void> load(const core::ReadSet& set, core::Snapshot& snapshot) override;
    Result<void> load(std::span<const core::Eid> eids, core::InputNeed input, bool attempt,
                      core::Snapshot& snapshot) override;
    Result<std::vector<core::ReadyKey>> scan_ready(core::RouteId route,
                                                   const std::optional<core::ReadyKey>& after,
                                                   std::size_t limit) override;
    Result<std::vector<core::TimerKey>> scan_due(TimestampMs now, std::size_t limit) override;
    Result<std::optional<TimestampMs>> next_due(TimestampMs after) override;
    Result<std::vector<core::Eid>> scan_bucket(core::Bucket bucket, core::Eid after,
                                               std::size_t limit) override;
    Result<std::vector<core::Eid>> scan_all(core::Eid after, std::size_t limit) override;
    Result<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs now,
                                                           std::size_t limit) override;
    Result<std::vector<core::WorkerRow>> workers_of(const std::string& ns, const std::string& lane,
                                                    TimestampMs now) override;
    Result<std::uint64_t> sweep_grants(TimestampMs before, std::size_t limit) override;
    Result<std::uint64_t> sweep_idempotency(TimestampMs now, std::size_t limit) override;
    Result<std::uint64_t> trim_events(TimestampMs before, std::size_t limit) override;
    Result<void> commit(core::Snapshot& snapshot, TimestampMs now,
                        DurationMs retention_default_ms) override;
    void rollback() override {}
    Result<void> commit_upkeep() override;
    Result<void> make_durable() override;
    void maintain() override {}

  private:
    explicit ReadOnlyStore(StoreFile file);

    StoreFile file_;
    store::SqliteReader reader_;
    store::StoreInfo info_;
    core::RouteTable routes_;
};

}  // namespace ff::cli
