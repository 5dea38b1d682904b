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

namespace ff::cli {

/// What changes when somebody writes to a store.
struct FileStamp {
    std::uint64_t bytes = 0;
    std::int64_t written_at = 0;
    bool has_log = false;

    static FileStamp of(const std::string& path);
    bool operator==(const FileStamp&) const = default;
};

/// A SQLite database opened read-only, of whatever program and schema.
struct StoreFile {
    std::string path;  ///< canonical
    std::unique_ptr<store::SqliteDb> db;
    /// Nobody had it open, so it was opened as a file that does not change: nothing is locked and
    /// nothing is left beside it. What is seen counts only while `stamp` is still right.
    bool immutable = false;
    FileStamp stamp;

    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::uint64_t log_bytes() const;
};

/// `text` as for Engine::open; only files. Errors say what to do; see missing_file(). A file that
/// is no database is `store_open_failed`, a broken one `store_corrupt`; see damage_of().
Result<StoreFile> open_store_file(const std::string& text);

/// What is wrong with the file itself, and what SQLite says about it.
struct Damage {
    std::string path;
    std::string what;  ///< `the file is damaged or cut short: …`
    std::string sqlite;
};
/// Set when open_store_file() refused the file because of what is in it.
std::optional<Damage> damage_of(const Error& error);

/// The error in SQLite's words and without the statement, which says nothing to people. To be
/// called before `db` is used again.
std::string fault_text(const Error& error, const store::SqliteDb& db);

/// The schema version of a FlowFabric store, or `store_open_failed` when it is something else.
Result<int> schema_version(store::SqliteDb& db);

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
