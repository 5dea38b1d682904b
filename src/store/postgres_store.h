// The store on a PostgreSQL database that any number of engine processes share.
//
// One connection writes. A transaction is a few round trips however many commands it holds: the
// rows they need, the best ready executions, then all changes with COMMIT. Executions are locked
// when they are loaded, and that is the only lock there is on them and everything that hangs on
// them: by id in the order of ids and waiting, by number and for claims without waiting (who is
// locked is another's). What cannot be locked because it is not there yet (an idempotency key, a
// worker, a lane, a route) is inserted, and if another process was first the transaction fails with
// `store_busy` and is run again.
//
// A COMMIT whose answer is lost is looked up by its transaction number, never guessed: where the
// number proves nothing, after a crash of the server, the answer is `commit_in_doubt`.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "base/server_clock.h"
#include "store/location.h"
#include "store/postgres_db.h"
#include "store/postgres_keeper.h"
#include "store/postgres_upkeep.h"
#include "store/store.h"

namespace ff::store {

class PostgresStore final : public Store {
  public:
    /// Makes a clock that follows the server, unless the options have one; tests hand one in whose
    /// local clock is wrong.
    static expected<std::unique_ptr<PostgresStore>> open(const Location& location,
                                                         const EngineOptions& options,
                                                         std::shared_ptr<ServerClock> clock = {});
    ~PostgresStore() override;

    [[nodiscard]] const StoreInfo& info() const override { return info_; }
    [[nodiscard]] const core::RouteTable& routes() const override { return routes_; }
    [[nodiscard]] bool shared() const override { return true; }
    [[nodiscard]] std::shared_ptr<Clock> clock() const override { return clock_; }
    void routes_were_made() override { routes_stale_ = true; }
    void watch(std::function<void(Heard)> heard) override;
    std::int64_t next_eid(TimestampMs now) override;
    std::int64_t next_route_id() override;

    expected<void> begin() override;
    expected<void> load(const core::ReadSet& set, core::Snapshot& snapshot) override;
    expected<void> load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                        core::Snapshot& snapshot) override;
    expected<std::vector<core::ReadyKey>> scan_ready(RouteId route,
                                                     const std::optional<core::ReadyKey>& after,
                                                     std::size_t limit) override;
    void expect_ready(std::vector<ReadyAsk> asks, std::vector<std::string> lanes) override;
    expected<std::vector<ReadyPage>> lock_ready(std::span<const ReadyAsk> asks,
                                                const std::vector<std::string>& lanes,
                                                core::Snapshot& snapshot) override;
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
    [[nodiscard]] bool commits_are_durable() const override { return true; }
    void maintain() override {}
    expected<void> read(const std::function<expected<void>(Reader&)>& body) override;
    expected<StoreSize> size() override;
    [[nodiscard]] std::uint64_t rows_written() const override { return rows_written_; }

  private:
    struct Writes;   // what a commit does to each table
    struct Loading;  // what a load still lacks
    struct Members;  // of flows, while they are loaded
    struct OpenWaits;
    struct Due;  // what is due
    class Questions;
    /// A row as a commit writes it: what comes behind FROM to find it.
    using Proof = std::string;
    struct ReadConnection;

    PostgresStore();

    // Opening and connecting (postgres_open.cc).
    expected<void> start(const Location& location, const EngineOptions& options);
    expected<std::unique_ptr<PgConnection>> connect(bool read_only);
    expected<void> check_server(PgConnection& connection) const;
    /// Sets the clock for the first time; from then on the keeper does.
    expected<void> set_clock(PgConnection& connection);
    expected<void> use(std::unique_ptr<PgConnection> connection);
    /// Connects anew when the connection is lost, trying for a while.
    expected<void> stay_connected();
    expected<void> draw_slot();
    expected<void> begin_above_old_numbers();
    /// The next eid is above this one.
    void note_eid(Eid highest);
    /// Reads the routes that are not known yet.
    expected<void> refresh_routes();

    // Transactions (postgres_store.cc).
    expected<std::vector<PgRows>> run();
    expected<void> know_transaction();
    /// Takes the next column of a row.
    void note_transaction(PgRows& row);
    expected<void> finish_commit();
    expected<void> resolve_commit(const Error& lost);
    static std::optional<Proof> proof_of(const core::Snapshot& snapshot);
    expected<std::string> fate_of(const std::string& number, bool restarted);
    /// Is there a session from before the COMMIT? A crash ends them all.
    bool has_witness();
    expected<void> collect(core::Snapshot& snapshot, TimestampMs now,
                           DurationMs retention_default_ms, Writes& writes);
    expected<void> collect_cell(core::ExecutionCell& cell, TimestampMs now,
                                DurationMs retention_default_ms, Writes& writes);
    expected<void> collect_input(core::ExecutionCell& cell, Writes& writes);
    expected<void> collect_erased(core::Snapshot& snapshot, Writes& writes);
    void queue_histories(const Writes& writes);
    /// Is no other process sweeping? None begins until the transaction ends.
    expected<bool> sweeps_alone();
    expected<std::uint64_t> sweep(const std::string& text, std::int64_t first, std::int64_t second);

    // Loading (postgres_load.cc).
    expected<void> take_executions(PgRows& rows, core::Snapshot& snapshot);
    void know_route(core::Route row);
    expected<void> know_routes(const std::vector<RouteId>& needed);
    expected<void> load_rest(const std::vector<Loading>& wanted, core::Snapshot& snapshot);
    void ask_transaction(Questions& questions);
    /// Asks to wait only shortly for what is locked from here on.
    void be_impatient();
    void ask_ready(Questions& questions, const std::vector<ReadyAsk>& asks,
                   core::Snapshot& snapshot);
    /// What to make of the surroundings.
    struct Look {
        bool for_claims = false;  ///< asked for behind ready executions: says who is held, and why
        bool number = false;      ///< the transaction will need one
    };
    void ask_surroundings(Questions& questions, const std::vector<std::string>& lanes, Look look,
                          core::Snapshot& snapshot);
    expected<void> take_surroundings(PgRows& rows, const std::vector<std::string>& lanes, Look look,
                                     core::Snapshot& snapshot);
    void note_routes(PgRows& rows);
    void note_held(PgRows& rows, Look look);
    void note_places(PgRows& rows, Look look, core::Snapshot& snapshot);
    expected<void> learn_routes();
    void ask_keys(Questions& questions, const core::ReadSet& set, core::Snapshot& snapshot);
    expected<ReadyPage> take_ready(PgRows& rows, const ReadyAsk& ask, core::Snapshot& snapshot);

    // Flows (postgres_flows.cc).
    /// Who the members are that a set asks for, without locking any.
    expected<void> find_members(const core::ReadSet& set, const core::Snapshot& snapshot,
                                Members& members);
    /// Loads those that came before their flow was locked, and tells the snapshot who they are.
    expected<void> settle_members(const core::ReadSet& set, core::Snapshot& snapshot,
                                  Members& members);
    /// Locks flows and then asks for what belongs to them.
    void ask_flows(Questions& questions, const core::ReadSet& set, core::Snapshot& snapshot,
                   Members& members);
    void ask_edges(Questions& questions, const core::ReadSet& set, core::Snapshot& snapshot);
    void ask_groups(Questions& questions, const core::ReadSet& set, core::Snapshot& snapshot);
    /// Behind the ready executions: who sees one of a flow sees whether that is held.
    void ask_held(Questions& questions);
    void collect_flows(core::Snapshot& snapshot, DurationMs retention_default_ms, Writes& writes);

    // What is due (postgres_due.cc).
    expected<void> look_for_due(TimestampMs now, std::size_t limit);
    expected<void> take_due_flows(PgRows& rows, Due& due);
    expected<void> take_due_timers(PgRows& rows, Due& due);
    core::ReadSet load_due_flows(core::ReadSet set, core::Snapshot& snapshot);
    expected<bool> load_due_execution(Eid eid, core::Snapshot& snapshot);

    // Waits (postgres_waits.cc).
    /// Call for every cell whose execution was found: it becomes known by its number, and what it
    /// waits for is loaded with the rest.
    void found_cell(core::ExecutionCell& cell, core::Snapshot& snapshot);
    void ask_open_waits(Questions& questions, OpenWaits& found, core::Snapshot& snapshot);
    void ask_waits(Questions& questions, const core::WaitReads& reads, core::WaitTable& waits);
    void ask_signals(Questions& questions, const core::WaitReads& reads, core::WaitTable& waits);
    static void collect_waits(const core::WaitTable& waits, Writes& writes);
    // Streams (postgres_streams.cc).
    static void ask_streams(Questions& questions, const core::StreamReads& reads,
                            core::Snapshot& snapshot);
    static void collect_streams(const core::StreamTable& streams, Writes& writes);
    void queue_trims(const core::StreamTable& streams);
    // Limits (postgres_limits.cc).
    void ask_limits(Questions& questions, const core::LimitReads& reads, core::Snapshot& snapshot);
    void ask_policies(Questions& questions, const core::LimitReads& reads,
                      core::Snapshot& snapshot);
    void ask_attachments(Questions& questions, const core::LimitReads& reads,
                         core::Snapshot& snapshot);
    static void ask_places(Questions& questions, core::Snapshot& snapshot);
    static void collect_limits(const core::LimitTable& limits, Writes& writes);
    static void erase_attachments(Writes& writes, LimitTarget type, const std::string& id);
    void queue_waited_for(const Writes& writes);

    std::unique_ptr<ReadConnection> take_reader();
    void give_reader(std::unique_ptr<ReadConnection> reader);
    /// Lends a reading connection. One that turns out to be lost is replaced once.
    expected<void> with_reader(const std::function<expected<void>(ReadConnection&)>& body);
    expected<void> read_on(ReadConnection& reader,
                           const std::function<expected<void>(Reader&)>& body);

    // Fixed after open.
    StoreInfo info_;
    std::string url_;
    std::string self_;  ///< names this store among the processes
    std::string session_settings_;
    int readers_max_ = 1;
    std::function<void(std::string_view)> warn_;
    std::shared_ptr<ServerClock> clock_;  ///< absent: the embedder has one

    // Writing side.
    std::unique_ptr<PgConnection> db_;
    std::optional<PgStatements> texts_;
    core::RouteTable routes_;
    RouteId newest_route_ = 0;  ///< the highest number among them
    std::string timeline_;      ///< changes when a standby takes over
    std::string started_;       ///< when the server was started
    bool in_transaction_ = false;
    bool begun_ = false;                      ///< and the server knows
    std::optional<std::string> transaction_;  ///< its number, once known
    std::vector<RouteId> new_routes_;         ///< seen in it, and not known yet
    bool asked_stale_ = false;                ///< routes_stale_ is being seen to
    bool places_in_use_ = false;              ///< limits were attached to places when last seen
    std::vector<ReadyAsk> expected_asks_;     ///< of this transaction, not answered yet
    std::vector<std::string> expected_lanes_;
    std::vector<std::pair<ReadyAsk, ReadyPage>> ready_pages_;  ///< answered ahead
    bool locked_flows_ = false;                      ///< in this transaction, and has answered
    bool locked_limits_ = false;                     ///< the same for budgets and policies
    bool locked_keys_ = false;                       ///< the same for workers and other keys
    bool impatient_ = false;                         ///< it waits for locks only shortly
    std::optional<std::vector<FlowId>> held_flows_;  ///< as last seen in this transaction
    std::unique_ptr<Due> due_;                       ///< the same, once it was looked for
    std::vector<core::ExecutionCell*> waiting_;  ///< found, what they wait for not asked for yet
    std::optional<Proof> proof_;                 ///< what shows that it was committed
    std::chrono::steady_clock::time_point commit_sent_{};
    std::optional<Error> failed_;   ///< a call that cannot fail has failed
    std::int64_t slot_ = 0;         ///< our part of the numbers of a millisecond
    std::int64_t last_number_ = 0;  ///< time and counter of the newest eid
    std::atomic<bool> routes_stale_ = false;
    std::atomic<std::uint64_t> rows_written_ = 0;

    // Reading side.
    std::mutex readers_mutex_;
    std::condition_variable reader_free_;
    std::vector<std::unique_ptr<ReadConnection>> readers_;  // guarded by readers_mutex_
    int readers_made_ = 0;                                  // guarded by readers_mutex_

    std::unique_ptr<PgUpkeep> upkeep_;
    std::unique_ptr<PgKeeper> keeper_;  // last: its thread uses the rest
};

/// What the tables of the store at the other end take.
expected<StoreSize> size_of_tables(PgConnection& connection);

}  // namespace ff::store
