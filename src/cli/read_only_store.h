// A store, opened to look at and never to change: beside its engines, or when it has none.
//
// One connection, one thread. What is seen is committed; unlike the readers of an engine it may be
// a few milliseconds ahead of the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/row_source.h"
#include "store/sql_statement.h"
#include "store/store.h"

namespace ff::cli {

/// How many executions of a lane are in a state.
struct StateCount {
    std::string lane_id;
    PublicState state = PublicState::waiting;
    std::uint64_t count = 0;
};

/// The reading side of store::Store, and more to look at. The writing side refuses.
class ReadOnlyStore : public store::Store {
  public:
    /// `text` as for Engine::open. Refuses a schema this program does not know exactly:
    /// `schema_too_new`, or `store_open_failed` for an older one.
    static expected<std::unique_ptr<ReadOnlyStore>> open(const std::string& text);

    /// Visits every execution.
    virtual expected<std::vector<StateCount>> counts() = 0;
    virtual RowSource& rows() = 0;
    /// What the database says of a fault that it just gave.
    virtual std::string words_of(const Error& error) = 0;

    [[nodiscard]] const store::StoreInfo& info() const override { return info_; }
    [[nodiscard]] const core::RouteTable& routes() const override { return routes_; }
    [[nodiscard]] std::uint64_t rows_written() const override { return 0; }

    std::int64_t next_eid(TimestampMs now) override;
    std::int64_t next_route_id() override;
    expected<void> begin() override;
    expected<void> load(const core::ReadSet& set, core::Snapshot& snapshot) override;
    expected<void> load(std::span<const core::Eid> eids, core::InputNeed input, bool attempt,
                        core::Snapshot& snapshot) override;
    expected<std::vector<core::ReadyKey>> scan_ready(core::RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit) override;
    expected<std::vector<core::TimerKey>> scan_due(TimestampMs now, std::size_t limit) override;
    expected<std::optional<TimestampMs>> next_due(TimestampMs after) override;
    expected<std::vector<FlowId>> scan_due_flows(TimestampMs now, std::size_t limit) override;
    expected<std::vector<core::FlowWorkKey>> scan_work(TimestampMs now, std::size_t limit,
                                                       core::Snapshot& snapshot) override;
    expected<std::vector<FlowId>> held_flows() override;
    expected<std::vector<core::EdgeKey>> scan_staged(TimestampMs before,
                                                     std::size_t limit) override;
    expected<std::vector<core::StreamKey>> scan_streams(TimestampMs now,
                                                        std::size_t limit) override;
    expected<store::TurnPage> lock_turns(std::span<const core::RouteId> queues) override;
    expected<std::vector<core::Eid>> scan_bucket(core::Bucket bucket, core::Eid after,
                                                 std::size_t limit) override;
    expected<std::vector<core::Eid>> scan_all(core::Eid after, std::size_t limit) override;
    expected<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs now,
                                                             std::size_t limit) override;
    expected<std::vector<core::WorkerRow>> live_workers(TimestampMs now) override;
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
    void rollback() override {}
    expected<void> commit_upkeep() override;
    expected<void> make_durable() override;
    void maintain() override {}

  protected:
    store::StoreInfo info_;

  private:
    core::RouteTable routes_;
};

/// The text of counts(), and the rows of its answer.
extern const std::string count_states_text;
expected<StateCount> state_count(std::string lane, std::int64_t state, std::int64_t count);

inline expected<std::vector<StateCount>> take_counts(store::SqlStatement& statement) {
    std::vector<StateCount> out;
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            statement.reset();
            return out;
        }
        std::string lane(statement.bytes());
        const std::int64_t state = statement.integer();
        FF_TRY(StateCount row, state_count(std::move(lane), state, statement.integer()));
        out.push_back(std::move(row));
    }
}

}  // namespace ff::cli
