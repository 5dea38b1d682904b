#include "cli/read_only_store.h"

#include <fmt/core.h>

#include "base/check.h"
#include "store/transfer_sql.h"

namespace ff::cli {

namespace {

std::unexpected<Error> refuse() {
    return ff::fail(ErrorCode::internal, "this store was opened to read only");
}

}  // namespace

ReadOnlyStore::ReadOnlyStore(StoreFile file) : file_(std::move(file)), reader_(*file_.db) {
    info_.family = "sqlite";
    info_.version = store::sqlite_version();
    info_.durability = "read only";
    info_.location = file_.path;
}

Result<std::unique_ptr<ReadOnlyStore>> ReadOnlyStore::open(StoreFile file) {
    FF_TRY_VOID(store::check_known_schema(file));
    std::unique_ptr<ReadOnlyStore> opened(new ReadOnlyStore(std::move(file)));
    FF_TRY(opened->info_.partitions, store::stored_partitions(opened->db()));
    return opened;
}

Result<std::unique_ptr<ReadOnlyStore>> ReadOnlyStore::open(const std::string& text) {
    FF_TRY(StoreFile file, open_store_file(text));
    return open(std::move(file));
}

Result<std::vector<StateCount>> ReadOnlyStore::counts() {
    FF_TRY(store::Statement statement,
           db().prepare("SELECT r.lane_id, e.public_state, COUNT(*) FROM ff_exec_core e"
                        " JOIN ff_route r ON r.route = e.route"
                        " GROUP BY r.lane_id, e.public_state ORDER BY r.lane_id, e.public_state"));
    std::vector<StateCount> out;
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            return out;
        }
        StateCount row;
        row.lane_id = std::string(statement.bytes());
        const auto state = statement.integer();
        if (state < 0 || state >= static_cast<std::int64_t>(enum_count<PublicState>)) {
            return ff::fail(ErrorCode::corruption,
                            fmt::format("lane {} holds an execution of unknown state {}; see "
                                        "ff doctor",
                                        row.lane_id, state));
        }
        row.state = static_cast<PublicState>(state);
        row.count = static_cast<std::uint64_t>(statement.integer());
        out.push_back(std::move(row));
    }
}

Result<void> ReadOnlyStore::read(const std::function<Result<void>(store::Reader&)>& body) {
    FF_TRY_VOID(db().execute("BEGIN"));
    Result<void> outcome = body(reader_);
    // Nothing was written: how the view ends makes no difference.
    if (auto ended = db().execute("ROLLBACK"); !ended && outcome) {
        outcome = std::move(ended);
    }
    return outcome;
}

// --------------------------------------------------------------------------- the writing side

std::int64_t ReadOnlyStore::next_eid(TimestampMs) {
    FF_CHECK(false, "a read-only store numbers no rows");
}
std::int64_t ReadOnlyStore::next_route_id() {
    FF_CHECK(false, "a read-only store numbers no rows");
}
Result<void> ReadOnlyStore::begin() { return refuse(); }
Result<void> ReadOnlyStore::load(const core::ReadSet&, core::Snapshot&) { return refuse(); }
Result<void> ReadOnlyStore::load(std::span<const core::Eid>, core::InputNeed, bool,
                                 core::Snapshot&) {
    return refuse();
}
Result<std::vector<core::ReadyKey>> ReadOnlyStore::scan_ready(core::RouteId,
                                                              const std::optional<core::ReadyKey>&,
                                                              std::size_t) {
    return refuse();
}
Result<std::vector<core::TimerKey>> ReadOnlyStore::scan_due(TimestampMs, std::size_t) {
    return refuse();
}
Result<std::optional<TimestampMs>> ReadOnlyStore::next_due(TimestampMs) { return refuse(); }
Result<std::vector<core::Eid>> ReadOnlyStore::scan_bucket(core::Bucket, core::Eid, std::size_t) {
    return refuse();
}
Result<std::vector<core::Eid>> ReadOnlyStore::scan_all(core::Eid, std::size_t) { return refuse(); }
Result<std::vector<core::WorkerKey>> ReadOnlyStore::scan_dead_workers(TimestampMs, std::size_t) {
    return refuse();
}
Result<std::vector<core::WorkerRow>> ReadOnlyStore::workers_of(const std::string&,
                                                               const std::string&, TimestampMs) {
    return refuse();
}
Result<std::uint64_t> ReadOnlyStore::sweep_grants(TimestampMs, std::size_t) { return refuse(); }
Result<std::uint64_t> ReadOnlyStore::sweep_idempotency(TimestampMs, std::size_t) {
    return refuse();
}
Result<std::uint64_t> ReadOnlyStore::trim_events(TimestampMs, std::size_t) { return refuse(); }
Result<void> ReadOnlyStore::commit(core::Snapshot&, TimestampMs, DurationMs) { return refuse(); }
Result<void> ReadOnlyStore::commit_upkeep() { return refuse(); }
Result<void> ReadOnlyStore::make_durable() { return refuse(); }

}  // namespace ff::cli
