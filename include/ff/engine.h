// The engine: takes operations, answers when they are durable.
//
// One abstract type for every way to reach a store: embedded in this process today, over HTTP to a
// server with the same calls. All calls may come from any thread. A mutating call that answered
// with success is on disk; one that answered with a rejection changed nothing.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ff/clock.h>
#include <ff/contracts.h>
#include <ff/histogram.h>

namespace ff {

/// How an embedded engine is opened. The defaults are those of a production store.
struct EngineOptions {
    enum class Synchronous : std::uint8_t { full, normal };
    enum class Notify : std::uint8_t { automatic, on, off };

    int pool_size = 4;  ///< connections: one writes, the rest read
    int writers = 2;    ///< PostgreSQL: 2 lets a further connection write under load; or 1
    Synchronous synchronous = Synchronous::full;  ///< normal may lose the newest commits
    int busy_timeout_ms = 5'000;
    int statement_timeout_ms = 30'000;  ///< PostgreSQL: longer ones are given up
    Notify notify =
        Notify::automatic;  ///< PostgreSQL: hear of other processes at once, or by asking
    int cache_mib = 8;      ///< the writer's page cache
    std::optional<std::uint16_t> flow_partitions;  ///< for a store that is created; compared later
    std::size_t queue_commands_max = 65'536;       ///< beyond it callers get `overloaded`
    std::size_t queue_bytes_max = 64U << 20;
    std::size_t waiting_claims_max = 65'536;
    std::size_t batch_commands_max = 1'024;  ///< in one transaction; large ones count as many
    DurationMs retention_ms = 86'400'000;    ///< how long finished executions stay readable
    DurationMs reclaim_grace_ms = 0;         ///< pause before a lost lease may be taken over
    DurationMs event_retention_ms = 7 * 86'400'000LL;
    /// Events kept of each family; those of executions, completion and lease history, share a table
    /// and a limit. 0: as many as are not too old.
    std::uint64_t event_rows_max = 1'000'000;
    /// How often a periodic pass runs, by its name; 0 turns it off, others are at least 100 ms.
    std::map<std::string, DurationMs> scanner_periods_ms;
    std::vector<std::string> lanes;  ///< registered at open
    /// The secret that signs waitpoint tokens, in hex: installed as `k1` in a store that has none.
    /// Empty: one is made when the first token is.
    std::string waitpoint_secret;
    bool make_waitpoint_key = true;              ///< false: without a secret there are no tokens
    std::string keystore_key;                    ///< 64 hex digits: secrets rest encrypted with it
    bool background = true;                      ///< timers and sweeps run in this process
    std::shared_ptr<Clock> clock;                ///< absent: PostgreSQL's, else the system's
    std::shared_ptr<IdSource> ids;               ///< the system's when absent (tests seed it)
    std::function<void(std::string_view)> warn;  ///< where warnings go; stderr when absent
};

/// How a remote engine repeats a call that is safe to repeat.
struct RetryOptions {
    std::chrono::milliseconds base{100};  ///< pause before the second try
    double factor = 2.0;                  ///< of each further pause
    int tries = 5;                        ///< 1: never repeat
    double jitter = 0.2;                  ///< a pause may be this part longer or shorter
};

/// How Engine::connect reaches an engine, whichever kind it is.
struct ConnectOptions {
    std::chrono::milliseconds request_timeout{30'000};  ///< remote; waiting claims get theirs added
    std::chrono::milliseconds connect_timeout{10'000};  ///< remote
    std::optional<std::string> bearer_token;            ///< remote; given, it must not be blank
    RetryOptions retry;                                 ///< remote
    std::string ca_file;  ///< remote, https: whom to trust; empty: whom the system trusts
    /// Embedded: timers and sweeps run in this process: retries, delays, deadlines, lost leases.
    /// Absent: yes. Of processes that share a store one is enough, and more do no harm.
    /// `scanners=on` or `scanners=off` in the address wins.
    std::optional<bool> scanners;
    std::optional<int> pool_size;  ///< embedded; absent: 4 on SQLite, 10 on PostgreSQL
    EngineOptions engine;          ///< embedded: everything else
};

/// What a subscription gives, one after another.
struct SubscriptionIdle {
    EventCursor cursor;  ///< worth keeping: what was passed over need not be looked at again
};
struct SubscriptionDisconnected {
    EventCursor cursor;  ///< of the last event that was given; it goes on by itself from there
    Error error;
};
struct SubscriptionEnd {};
using SubscriptionItem = std::variant<Event, EventGap, EventFault, SubscriptionIdle,
                                      SubscriptionDisconnected, SubscriptionEnd>;

/// Events of a family as they happen. Keep the cursor of what you have handled: who subscribes with
/// it again misses nothing and sees nothing twice. Reads ahead by a bounded number of events.
class Subscription {
  public:
    virtual ~Subscription() = default;
    /// The next item. Without one it waits, up to the timeout, and then gives `Idle`. One thread at
    /// a time.
    virtual SubscriptionItem next(std::chrono::milliseconds timeout) = 0;
    /// Ends a `next` that waits, and every later one, with `End`. Any thread.
    virtual void close() = 0;
};

/// What an engine has done for one lane. Attempts are counted when they end; one that was taken
/// over after its lease was lost does not end.
struct LaneStats {
    std::string lane;
    std::uint64_t claims = 0;     ///< leases given out, reclaims and resumptions among them
    std::uint64_t ok = 0;         ///< attempts that succeeded
    std::uint64_t error = 0;      ///< failed, and that was the end
    std::uint64_t retry = 0;      ///< failed or timed out, and another is to come
    std::uint64_t timeout = 0;    ///< over their time, and that was the end
    std::uint64_t cancelled = 0;  ///< ended by a cancel

    bool operator==(const LaneStats&) const = default;
};

/// How long the passes of a background job took.
struct ScannerStats {
    std::string scanner;
    DurationHistogram cycles;
};

/// What the joins of flows did, and how much cancelling is left to do.
struct FlowStats {
    std::array<std::uint64_t, enum_count<GroupPolicyKind>> policies_set{};
    // Joins that cancelled those who were no longer needed: enough had succeeded,
    std::uint64_t joins_satisfied = 0;
    std::uint64_t joins_impossible = 0;  ///< or no longer could.
    // What became of these.
    std::uint64_t siblings_cancelled = 0;
    std::uint64_t siblings_ended = 0;    ///< had ended by themselves
    std::uint64_t siblings_missing = 0;  ///< were gone
    std::uint64_t siblings_spared = 0;   ///< another join waits for them
    std::uint64_t joins_resumed = 0;     ///< had been put off, and were finished later
    /// Flows with members that are still to be cancelled; counted to 10,000, and now and then.
    std::uint64_t cancel_backlog = 0;
};

/// What goes on inside an engine, for metrics, tests and benchmarks. Counters since open, of what
/// this engine did: others on the same database have their own.
struct EngineStats {
    std::uint64_t writers = 1;  ///< now; on PostgreSQL there may be a second
    std::uint64_t commands = 0;
    std::uint64_t batches = 0;  ///< transactions that held them
    std::uint64_t rows_written = 0;
    std::uint64_t due_handled = 0;     ///< things done because their time had come
    std::uint64_t waiting_claims = 0;  ///< now
    std::uint64_t queue_depth = 0;     ///< now
    DurationHistogram transactions;    ///< that wrote something, from begin to commit
    DurationHistogram syncs;           ///< of the log, where the engine does them
    std::uint64_t retries_busy = 0;    ///< transactions run again: others were in the way,
    std::uint64_t retries_io = 0;      ///< or the connection was lost
    std::uint64_t renewals_ok = 0;
    std::uint64_t renewals_refused = 0;
    /// Signals whose token proved nothing, by the code of the refusal.
    std::vector<std::pair<std::string, std::uint64_t>> token_refusals;
    /// Executions that contradict themselves or cannot be read, as the index reconciler found them:
    /// in its last round, or in the present one if that has found more. What it mended not counted.
    std::uint64_t inconsistent_executions = 0;
    /// By name. Beyond the 64th lane all are counted under `other`, which stands last.
    std::vector<LaneStats> lanes;
    std::vector<ScannerStats> scanners;
    /// Starts that a budget refused, by dimension. Beyond the 64th all are counted under `other`.
    std::vector<std::pair<std::string, std::uint64_t>> budget_hits;
    std::uint64_t soft_breaches = 0;  ///< of reports
    std::uint64_t hard_breaches = 0;
    std::uint64_t rate_hits = 0;         ///< starts that a quota refused: too many in its window,
    std::uint64_t concurrency_hits = 0;  ///< or too many at once
    std::array<std::uint64_t, enum_count<FrameMode>> frames{};  ///< appended, by mode
    FlowStats flows;
    // By family.
    std::array<std::uint64_t, enum_count<EventFamily>> event_readers{};  ///< that wait now
    /// Events that the webhook furthest behind has still to be given; counted to 10,000, and now
    /// and then.
    std::array<std::uint64_t, enum_count<EventFamily>> event_lag{};
};

class Engine {
  public:
    using DoneFn = std::move_only_function<void(Response)>;

    virtual ~Engine() = default;

    /// Opens an embedded engine: `sqlite:PATH`, a path, `:memory:`, `memory:` (no SQL at all, for
    /// tests), ...; see spec 09. Opening the same store again in a process gives the same engine.
    static expected<std::shared_ptr<Engine>> open(const std::string& store,
                                                  const EngineOptions& options = {});

    /// An engine by its address: what open() takes, or a server's `http://host:port`, `https://…`.
    /// Without an address the environment's FF_CONNECT, and without that `sqlite:flowfabric.db`.
    static std::shared_ptr<Engine> connect(const std::string& address,
                                           const ConnectOptions& options = {});
    static std::shared_ptr<Engine> connect(const ConnectOptions& options = {});
    static expected<std::shared_ptr<Engine>> try_connect(const std::string& address,
                                                         const ConnectOptions& options = {});
    static expected<std::shared_ptr<Engine>> try_connect(const ConnectOptions& options = {});

    /// The one way in. `done` is called exactly once, mostly from an engine thread; it must neither
    /// block nor throw, as it holds up every other answer. It may make further calls. Calls that
    /// do not wait for each other's answers have no order; those of one call_many have.
    virtual void call(Request request, DoneFn done) = 0;
    /// Many operations at once, answered together in their order. They share transactions.
    virtual void call_many(std::vector<Request> requests,
                           std::move_only_function<void(std::vector<Response>)> done) = 0;
    [[nodiscard]] virtual EngineStats stats() const = 0;
    /// The time by which it decides; of an engine that is a server elsewhere, this machine's.
    [[nodiscard]] virtual TimestampMs now() const;
    /// Stops taking operations, finishes what it took, wakes waiting claims empty, closes.
    virtual void stop() = 0;

    /// Events of a family from a place on. An empty cursor is resolved before this returns: what is
    /// committed afterwards is given. The engine must outlive the subscription.
    expected<std::unique_ptr<Subscription>> subscribe(EventFamily family, EventCursor from = {},
                                                      EventFilter filter = {});

    // The alternatives are named with in_place_type: choosing among them by conversion costs the
    // compiler a quarter of a second for each operation used.

    /// Calls and waits. Must not be used from inside a `done`.
    template <class Op>
    expected<typename Op::Result> run(Op op) {
        Response response = run_any(Request(std::in_place_type<Op>, std::move(op)));
        if (!response) {
            return std::unexpected(std::move(response).error());
        }
        return ff::get<typename Op::Result>(std::move(*response));
    }
    /// Calls with a typed answer.
    template <class Op>
    void async(Op op, std::move_only_function<void(expected<typename Op::Result>)> done) {
        call(Request(std::in_place_type<Op>, std::move(op)),
             [done = std::move(done)](Response response) mutable {
                 if (!response) {
                     done(std::unexpected(std::move(response).error()));
                 } else {
                     done(ff::get<typename Op::Result>(std::move(*response)));
                 }
             });
    }
    virtual Response run_any(Request request);
    virtual std::vector<Response> run_many(std::vector<Request> requests);
    /// run_many for one kind of operation.
    template <class Op>
    std::vector<expected<typename Op::Result>> run_all(std::vector<Op> ops) {
        std::vector<Request> requests;
        requests.reserve(ops.size());
        for (auto& op : ops) {
            requests.emplace_back(std::in_place_type<Op>, std::move(op));
        }
        std::vector<expected<typename Op::Result>> out;
        out.reserve(requests.size());
        for (auto& response : run_many(std::move(requests))) {
            if (!response) {
                out.emplace_back(std::unexpected(std::move(response).error()));
            } else {
                out.emplace_back(ff::get<typename Op::Result>(std::move(*response)));
            }
        }
        return out;
    }
};

}  // namespace ff
