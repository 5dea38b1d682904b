// The conformance suite of the Store seam: what every store must do, whichever it is.
//
// A test is written once with TEST_P(StoreContract, ...) and runs on every backend of
// contract_backends(); another database joins by one entry there. This header also holds what the
// other store tests share: temporary folders, sample rows, transactions as the engine makes them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/engine.h>

#include "store/schema.h"
#include "store/store.h"
#include "support/temp_dir.h"

namespace ff::store::test {

using ff::support::TempDir;

// ------------------------------------------------------------------------------------ backends

struct Backend {
    std::string name;
    bool survives_close = false;  ///< opening again finds the rows
    /// Opens a store; anything it keeps goes into the folder.
    std::function<expected<std::unique_ptr<Store>>(const std::string& folder)> open;
};

const std::vector<Backend>& contract_backends();

expected<std::unique_ptr<Store>> open_sqlite(const std::string& location,
                                             const EngineOptions& options = {});

/// A store of its own for each name.
expected<std::unique_ptr<Store>> open_postgres(const std::string& name);

// -------------------------------------------------------------------------------------- samples

inline constexpr TimestampMs t0 = 1'700'000'000'000;
inline constexpr DurationMs retention = 3'600'000;

/// Distinct for distinct numbers; sorts by them.
Uuid uuid_of(std::uint64_t n);
ExecutionId id_of(std::uint64_t n, std::uint16_t partition = 0);
FlowId flow_id_of(std::uint64_t n);
/// Every byte there is, NUL among them; not UTF-8.
std::string all_bytes();

// Executions as the engine leaves them, without anything optional beyond their state.
core::Execution waiting(Eid eid, RouteId route, std::int32_t priority = 0);
core::Execution leased(Eid eid, RouteId route, const std::string& instance, TimestampMs expires_at);
core::Execution delayed(Eid eid, RouteId route, TimestampMs until);
core::Execution ended(Eid eid, RouteId route, TerminalOutcome outcome, TimestampMs completed_at);
core::Execution in_bucket(Eid eid, RouteId route, core::Bucket bucket);

core::ExecutionInput input_of(Eid eid, Tags tags = {});
core::ExecutionEvent event_of(const core::Execution& execution, core::LeaseEventType type,
                              TimestampMs at = t0);
core::LogEvent log_event_of(const core::Execution& execution, core::LogFamily family,
                            TimestampMs at = t0);
core::GrantRow grant_of(Eid eid, TimestampMs expires_at);
core::Attempt attempt_of(Eid eid, std::uint32_t index);
core::WorkerRow worker_of(const std::string& ns, const std::string& instance,
                          std::vector<std::string> lanes = {"default"});
core::IdempotencyEntry idempotency_of(const std::string& ns, const std::string& key,
                                      const ExecutionId& id, TimestampMs expires_at);

/// A flow of one member that has not ended.
core::Flow flow_of(std::uint64_t n);
/// An execution of a flow; `flow` is the flow's number.
core::Execution member_of(Eid eid, RouteId route, std::uint64_t flow);
/// Edge `n` of a flow, between executions named by their numbers.
core::Edge edge_of(std::uint64_t flow, std::uint64_t n, Eid upstream, Eid downstream);
core::EdgeGroup group_of(std::uint64_t flow, Eid downstream);
core::FlowWork work_of(std::uint64_t flow, core::FlowWorkKind kind, Eid execution,
                       TimestampMs due_at = t0);

// Every member set to a value of its own, none of them the default.
core::Execution full_execution(Eid eid, RouteId route);
core::ExecutionInput full_input(Eid eid);
core::Attempt full_attempt(Eid eid, std::uint32_t index);
core::GrantRow full_grant(Eid eid);
core::WorkerRow full_worker();
core::ExecutionEvent full_event(Eid eid, RouteId route);
core::LogEvent full_log_event(Eid eid);
core::Flow full_flow(std::uint64_t n);  ///< all but its timer, which follows from the rest
core::Edge full_edge(std::uint64_t flow, std::uint64_t n, Eid upstream, Eid downstream);
core::EdgeGroup full_group(std::uint64_t flow, Eid downstream);
core::FlowWork full_work(std::uint64_t flow, Eid execution);
/// An open one, with nothing in it that may go without saying.
core::Suspension suspension_of(Eid eid, std::uint32_t episode);
/// One that pends.
core::Waitpoint waitpoint_of(Eid eid, std::uint64_t n);
core::Signal signal_of(Eid eid, std::uint64_t seq, std::uint64_t waitpoint);
core::Suspension full_suspension(Eid eid, std::uint32_t episode);
core::Waitpoint full_waitpoint(Eid eid, std::uint64_t n);
core::Signal full_signal(Eid eid, std::uint64_t seq, std::uint64_t waitpoint);
core::HmacKey full_key(const std::string& kid);

core::Changes deletion(Eid eid);
/// One change, or several in the order given.
template <class... Rows>
core::Changes changes(Rows... rows);

// --------------------------------------------------------------------------------- transactions

/// A transaction as the engine makes it: begin, load, apply, commit. One that is not committed is
/// rolled back.
class Transaction {
  public:
    explicit Transaction(Store& store);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// Loads every row the changes touch, as a decision would have demanded, then applies them.
    void apply(core::Changes changes);
    /// Applies without looking first.
    void apply_blind(core::Changes changes) { snapshot.apply(std::move(changes)); }
    expected<void> commit(TimestampMs now = t0);

    core::Snapshot snapshot;

  private:
    Store& store_;
};

// Streams: with what is required, and with every column filled.
core::StreamMeta stream_of(const core::StreamKey& key);
core::StreamMeta full_stream(const core::StreamKey& key);
core::FrameRow frame_of(const core::StreamKey& key, std::int64_t seq,
                        FrameMode mode = FrameMode::durable);
core::FrameRow full_frame(const core::StreamKey& key, std::int64_t seq);
core::SummaryRow full_summary(const core::StreamKey& key);

/// Loads into the transaction; everything must go well.
void load(Store& store, Transaction& transaction, const core::ReadSet& set);

/// The statements that made a store when this was the newest version of the schema.
std::string older_schema(Dialect dialect, int version);

/// Applies, commits and makes durable; everything must go well.
void put(Store& store, core::Changes changes, TimestampMs now = t0);

/// The value of a read that must go well.
template <class Fn>
auto look(Store& store, Fn fn) {
    using Value = typename decltype(fn(std::declval<Reader&>()))::value_type;
    std::optional<Value> out;
    auto done = store.read([&](Reader& reader) -> expected<void> {
        FF_TRY(out, fn(reader));
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    return out ? std::move(*out) : Value{};
}

/// The value of a scan that must go well, in a transaction of its own that is rolled back.
template <class Fn>
auto scan(Store& store, Fn fn) {
    Transaction transaction(store);
    auto value = fn(store);
    EXPECT_TRUE(value) << value.error().message();
    return value ? std::move(*value) : typename decltype(value)::value_type{};
}

/// The same for work that deletes: commits, and answers how many rows went.
std::uint64_t upkeep(Store& store, const std::function<expected<std::uint64_t>(Store&)>& work);

std::optional<core::Execution> find_execution(Store& store, Eid eid);
std::optional<core::GrantRow> find_grant(Store& store, const ExecutionId& id);
std::optional<core::IdempotencyEntry> find_idempotency(Store& store,
                                                       const core::IdempotencyKey& key);
std::optional<core::WorkerRow> find_worker(Store& store, const core::WorkerKey& key);

std::vector<Eid> eids(const std::vector<core::Execution>& executions);
std::vector<Eid> eids(const std::vector<core::ReadyKey>& keys);
std::vector<Eid> eids(const std::vector<core::TimerKey>& keys);

// ------------------------------------------------------------------------------------ the suite

class StoreContract : public testing::TestWithParam<Backend> {
  protected:
    void SetUp() override;
    Store& store() { return *store_; }
    /// 1, 2, 3 and so on. A store that several processes write to has its own, which are large.
    Eid next_eid() { return store().shared() ? ++eid_ : store().next_eid(t0); }
    /// Closes the store and opens it again; only where that keeps the rows.
    void reopen();
    /// A committed route.
    RouteId route(const std::string& lane = "default", const std::string& ns = "acme",
                  const std::string& kind = "job", const std::string& capabilities = "");

  private:
    TempDir folder_;
    std::unique_ptr<Store> store_;
    Eid eid_ = 0;
};

// -------------------------------------------------------------------------------------- details

inline void add(core::Changes& to, core::Execution row) {
    to.put_executions.push_back(std::move(row));
}
inline void add(core::Changes& to, core::ExecutionInput row) {
    to.put_inputs.push_back(std::move(row));
}
inline void add(core::Changes& to, core::Attempt row) { to.put_attempts.push_back(std::move(row)); }
inline void add(core::Changes& to, core::GrantRow row) { to.put_grants.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Route row) { to.put_routes.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Lane row) { to.put_lanes.push_back(std::move(row)); }
inline void add(core::Changes& to, core::IdempotencyEntry row) {
    to.put_idempotency.push_back(std::move(row));
}
inline void add(core::Changes& to, core::WorkerRow row) {
    to.put_workers.push_back(std::move(row));
}
inline void add(core::Changes& to, core::Flow row) { to.put_flows.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Edge row) { to.put_edges.push_back(std::move(row)); }
inline void add(core::Changes& to, core::EdgeGroup row) { to.put_groups.push_back(std::move(row)); }
inline void add(core::Changes& to, core::FlowWork row) { to.put_work.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Suspension row) {
    to.put_suspensions.push_back(std::move(row));
}
inline void add(core::Changes& to, core::Waitpoint row) {
    to.put_waitpoints.push_back(std::move(row));
}
inline void add(core::Changes& to, core::Signal row) { to.put_signals.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Satisfier row) {
    to.put_satisfiers.push_back(std::move(row));
}
inline void add(core::Changes& to, core::StreamMeta row) {
    to.put_streams.push_back(std::move(row));
}
inline void add(core::Changes& to, core::FrameRow row) { to.put_frames.push_back(std::move(row)); }
inline void add(core::Changes& to, core::SummaryRow row) {
    to.put_summaries.push_back(std::move(row));
}
inline void add(core::Changes& to, core::FrameTrim trim) { to.trim_frames.push_back(trim); }

// Limits, with every column filled.
core::Budget full_budget(std::uint8_t n);
/// What an execution knows of limits.
void fill_limits(core::Execution& e);
core::LedgerRow full_ledger(std::uint8_t budget, std::uint8_t execution);
core::QuotaPolicy full_policy(std::uint8_t n);

inline void add(core::Changes& to, core::Budget row) { to.put_budgets.push_back(std::move(row)); }
inline void add(core::Changes& to, core::LedgerRow row) {
    to.put_ledgers.push_back(std::move(row));
}
inline void add(core::Changes& to, core::UsageDedup row) {
    to.put_dedups.push_back(std::move(row));
}
inline void add(core::Changes& to, core::QuotaPolicy row) { to.put_policies.push_back(row); }
inline void add(core::Changes& to, core::Admission row) { to.put_admissions.push_back(row); }
inline void add(core::Changes& to, core::Attachment row) {
    to.put_attachments.push_back(std::move(row));
}
inline void add(core::Changes& to, core::HmacKey row) {
    to.put_hmac_keys.push_back(std::move(row));
}
inline void add(core::Changes& to, core::ExecutionEvent row) {
    to.events.push_back(std::move(row));
}
inline void add(core::Changes& to, core::LogEvent row) { to.log_events.push_back(std::move(row)); }
inline void add(core::Changes& to, core::Webhook row) { to.put_webhooks.push_back(std::move(row)); }

template <class... Rows>
core::Changes changes(Rows... rows) {
    core::Changes out;
    (add(out, std::move(rows)), ...);
    return out;
}

}  // namespace ff::store::test
