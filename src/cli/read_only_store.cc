#include "cli/read_only_store.h"

#include <fmt/core.h>

#include "base/check.h"
#include "cli/postgres_look.h"
#include "cli/sqlite_look.h"
#include "store/location.h"

namespace ff::cli {

namespace {

std::unexpected<Error> refuse() {
    return ff::fail(ErrorCode::internal, "this store was opened to read only");
}

}  // namespace

expected<std::unique_ptr<ReadOnlyStore>> ReadOnlyStore::open(const std::string& text) {
    FF_TRY(const store::Location location, store::parse_location(text));
    std::unique_ptr<ReadOnlyStore> opened;
    if (location.form == store::Location::Form::postgres) {
        FF_TRY(opened, PostgresLook::open(location.target));
    } else {
        FF_TRY(store::StoreFile file, store::open_store_file(text));
        FF_TRY(opened, SqliteLook::open(std::move(file)));
    }
    return opened;
}

const std::string count_states_text =
    "SELECT r.lane_id, e.public_state, COUNT(*) FROM ff_exec_core e"
    " JOIN ff_route r ON r.route = e.route"
    " GROUP BY r.lane_id, e.public_state ORDER BY r.lane_id, e.public_state";

expected<StateCount> state_count(std::string lane, std::int64_t state, std::int64_t count) {
    if (state < 0 || state >= static_cast<std::int64_t>(enum_count<PublicState>)) {
        return ff::fail(ErrorCode::corruption,
                        fmt::format("lane {} holds an execution of unknown state {}; see "
                                    "ff doctor",
                                    lane, state));
    }
    return StateCount{std::move(lane), static_cast<PublicState>(state),
                      static_cast<std::uint64_t>(count)};
}

std::string orphans_text(const std::string& table) {
    return fmt::format(
        "SELECT DISTINCT t.eid FROM {} t WHERE NOT EXISTS (SELECT 1 FROM ff_exec_core e WHERE"
        " e.eid = t.eid) LIMIT 1000",
        table);
}

std::string flow_orphans_text(const std::string& table) {
    return fmt::format(
        "SELECT DISTINCT t.flow_id FROM {} t WHERE t.flow_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM ff_flow f WHERE f.flow_id = t.flow_id) LIMIT 1000",
        table);
}

// --------------------------------------------------------------------------- the writing side

std::int64_t ReadOnlyStore::next_eid(TimestampMs) {
    FF_CHECK(false, "a read-only store numbers no rows");
}
std::int64_t ReadOnlyStore::next_route_id() {
    FF_CHECK(false, "a read-only store numbers no rows");
}
expected<void> ReadOnlyStore::begin() { return refuse(); }
expected<void> ReadOnlyStore::load(const core::ReadSet&, core::Snapshot&) { return refuse(); }
expected<void> ReadOnlyStore::load(std::span<const core::Eid>, core::InputNeed, bool,
                                   core::Snapshot&) {
    return refuse();
}
expected<std::vector<core::ReadyKey>> ReadOnlyStore::scan_ready(
    core::RouteId, const std::optional<core::ReadyKey>&, std::size_t) {
    return refuse();
}
expected<std::vector<core::TimerKey>> ReadOnlyStore::scan_due(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::optional<TimestampMs>> ReadOnlyStore::next_due(TimestampMs) { return refuse(); }
expected<std::vector<FlowId>> ReadOnlyStore::scan_due_flows(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::vector<core::FlowWorkKey>> ReadOnlyStore::scan_work(TimestampMs, std::size_t,
                                                                  core::Snapshot&) {
    return refuse();
}
expected<std::vector<FlowId>> ReadOnlyStore::held_flows() { return refuse(); }
expected<std::vector<core::EdgeKey>> ReadOnlyStore::scan_staged(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::vector<core::LimitKey>> ReadOnlyStore::scan_due_limits(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::vector<core::LimitKey>> ReadOnlyStore::scan_waiting_limits(const core::LimitKey&,
                                                                         std::size_t) {
    return refuse();
}
expected<std::uint64_t> ReadOnlyStore::sweep_usage_dedup(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::vector<core::StreamKey>> ReadOnlyStore::scan_streams(TimestampMs, std::size_t) {
    return refuse();
}
expected<store::TurnPage> ReadOnlyStore::lock_turns(std::span<const core::RouteId>) {
    return refuse();
}
expected<std::vector<core::Eid>> ReadOnlyStore::scan_bucket(core::Bucket, core::Eid, std::size_t) {
    return refuse();
}
expected<std::vector<core::Eid>> ReadOnlyStore::scan_all(core::Eid, std::size_t) {
    return refuse();
}
expected<std::vector<core::WorkerKey>> ReadOnlyStore::scan_dead_workers(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::vector<core::WorkerRow>> ReadOnlyStore::live_workers(TimestampMs) { return refuse(); }
expected<std::uint64_t> ReadOnlyStore::sweep_grants(TimestampMs, std::size_t) { return refuse(); }
expected<std::uint64_t> ReadOnlyStore::sweep_idempotency(TimestampMs, std::size_t) {
    return refuse();
}
expected<std::uint64_t> ReadOnlyStore::trim_events(EventFamily, std::int64_t) { return refuse(); }
expected<void> ReadOnlyStore::commit(core::Snapshot&, TimestampMs, DurationMs) { return refuse(); }
expected<void> ReadOnlyStore::commit_upkeep() { return refuse(); }
expected<void> ReadOnlyStore::make_durable() { return refuse(); }

}  // namespace ff::cli
