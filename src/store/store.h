// The seam between the engine and whatever keeps the rows.
//
// A Store has two sides. The writing side belongs to one thread (the writer): begin, load what the
// commands need, commit what they decided. The reading side may be used from any thread and sees
// only what is durable. Implementations: SqliteStore, PostgresStore, MemoryStore.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ff/clock.h>
#include <ff/contracts.h>

#include "core/context.h"
#include "core/derive.h"
#include "core/snapshot.h"

namespace ff::store {

using core::Eid;
using core::RouteId;

/// What a store says of itself.
struct StoreInfo {
    BackendTag backend = BackendTag::sqlite;
    std::string family;      ///< `sqlite`, `postgres`
    std::string version;     ///< of the database library or server
    std::string durability;  ///< what an acknowledged write has survived
    std::string location;    ///< for people
    std::string migration;   ///< what opening changed in the schema, empty for nothing
    std::string wake_ups;    ///< how other processes are heard of, empty when there are none
    PartitionCounts partitions;
};

/// How much room a store takes.
struct StoreSize {
    std::uint64_t bytes = 0;
    std::uint64_t log_bytes = 0;  ///< of a write-ahead log of its own
};

/// A question for the best ready executions of some routes.
struct ReadyAsk {
    bool operator==(const ReadyAsk&) const = default;
    std::vector<RouteId> routes;
    std::optional<core::ReadyKey> after;  ///< by rank and number; from the heads when absent
    std::size_t limit = 0;
};
/// Its answer.
struct ReadyPage {
    std::vector<core::ReadyKey> keys;         ///< of those that nobody else is at
    std::optional<core::ReadyKey> looked_to;  ///< by rank and number; absent: to the end
    bool skipped = false;                     ///< others are at some
};

/// Who has the turns of some queues.
struct TurnPage {
    std::vector<core::TurnKey> holders;
    std::vector<RouteId> busy;  ///< queues that another process is at: nothing is known of them
};

enum class Order : std::uint8_t { newest_first, oldest_first };
/// Of signals: they may be large, and few readers want them.
enum class Payloads : bool { left_out, read };

/// A stretch of a list of executions. All lists are in the order of creation.
struct Window {
    Eid above = 0;                                ///< exclusive
    Eid below = std::numeric_limits<Eid>::max();  ///< exclusive
    Order order = Order::newest_first;
    std::size_t limit = 0;
};

/// An execution with what create wrote.
struct ExecutionRow {
    core::Execution execution;
    core::ExecutionInput input;
};

/// Reads within one consistent view. Used inside Store::read only.
class Reader {
  public:
    virtual ~Reader() = default;

    virtual expected<std::optional<core::Execution>> execution(const ExecutionId& id) = 0;
    virtual expected<std::optional<core::ExecutionInput>> input(Eid eid) = 0;
    virtual expected<std::vector<core::Attempt>> attempts(Eid eid) = 0;
    virtual expected<std::optional<core::Attempt>> attempt(Eid eid, std::uint32_t index) = 0;
    virtual expected<core::Route> route(RouteId id) = 0;
    virtual expected<std::vector<core::Route>> routes() = 0;

    /// Ids of one partition above `after`, ascending.
    virtual expected<std::vector<ExecutionId>> ids_of_partition(std::uint16_t partition,
                                                                std::optional<ExecutionId> after,
                                                                std::size_t limit) = 0;
    // Executions within a window: all of them, and those of the lists there are.
    using Executions = std::vector<core::Execution>;
    virtual expected<Executions> executions(const Window& window) = 0;
    virtual expected<Executions> of_route(RouteId route, const Window& window) = 0;
    virtual expected<Executions> with_tag(const std::string& key, const std::string& value,
                                          const Window& window) = 0;
    virtual expected<Executions> in_bucket(core::Bucket bucket, const Window& window) = 0;
    /// Those under a lease now; costs in proportion to the number of leases.
    virtual expected<Executions> leased(const Window& window) = 0;
    using Tag = std::pair<std::string, std::string>;
    /// Of the executions that with_tag() gives for `tag`, the numbers of those with `other` too, in
    /// any order.
    virtual expected<std::vector<Eid>> tagged_too(const Tag& tag, const Tag& other,
                                                  const Window& window) = 0;

    // The same below a number, newest first.
    expected<Executions> newest(Eid before, std::size_t limit) {
        return executions({.below = before, .limit = limit});
    }
    expected<Executions> newest_of_route(RouteId route, Eid before, std::size_t limit) {
        return of_route(route, {.below = before, .limit = limit});
    }
    expected<Executions> newest_with_tag(const std::string& key, const std::string& value,
                                         Eid before, std::size_t limit) {
        return with_tag(key, value, {.below = before, .limit = limit});
    }
    expected<Executions> newest_in_bucket(core::Bucket bucket, Eid before, std::size_t limit) {
        return in_bucket(bucket, {.below = before, .limit = limit});
    }
    expected<Executions> newest_leased(Eid before, std::size_t limit) {
        return leased({.below = before, .limit = limit});
    }
    /// A place among the timers of leases: when one is due, and whose it is.
    using LeaseKey = std::pair<TimestampMs, Eid>;
    /// Leased executions behind a place whose lease timer is due at `as_of`, in the order of their
    /// timers (a renewed lease may be among them: a timer is never later than its lease ends).
    virtual expected<std::vector<core::Execution>> leased_due(const LeaseKey& after,
                                                              TimestampMs as_of,
                                                              std::size_t limit) = 0;

    virtual expected<std::vector<core::Lane>> lanes(const std::string& after,
                                                    std::size_t limit) = 0;
    virtual expected<std::optional<core::Lane>> lane(const std::string& name) = 0;
    /// Registered workers above the key, live or not, in key order.
    virtual expected<std::vector<core::WorkerRow>> workers(const std::optional<std::string>& ns,
                                                           const core::WorkerKey& after,
                                                           std::size_t limit) = 0;
    // ---- flows
    virtual expected<std::optional<core::Flow>> flow(const FlowId& id) = 0;
    /// By id; of one partition when given.
    virtual expected<std::vector<core::Flow>> flows(std::optional<std::uint16_t> partition,
                                                    const std::optional<FlowId>& after,
                                                    std::size_t limit) = 0;
    /// Ids alone, for those who go through all and read each for itself.
    virtual expected<std::vector<FlowId>> flow_ids(const std::optional<FlowId>& after,
                                                   std::size_t limit) = 0;
    /// Members by execution id.
    virtual expected<Executions> members(const FlowId& flow,
                                         const std::optional<ExecutionId>& after,
                                         std::size_t limit) = 0;
    /// Edges by their id.
    virtual expected<std::vector<core::Edge>> edges_of_flow(const FlowId& flow) = 0;
    virtual expected<std::vector<core::Edge>> outbound(const ExecutionId& upstream) = 0;
    virtual expected<std::vector<core::Edge>> inbound(const ExecutionId& downstream) = 0;
    virtual expected<std::optional<core::Edge>> edge(const core::EdgeKey& key) = 0;
    virtual expected<std::optional<core::EdgeGroup>> group(const FlowId& flow,
                                                           const ExecutionId& downstream) = 0;
    /// Groups by their downstream.
    virtual expected<std::vector<core::EdgeGroup>> groups_of_flow(const FlowId& flow) = 0;
    /// Work that waits, of one flow or of all, by key.
    virtual expected<std::vector<core::FlowWork>> flow_work(const std::optional<FlowId>& flow,
                                                            std::size_t limit) = 0;

    // ---- waits
    virtual expected<std::optional<core::Waitpoint>> waitpoint(const WaitpointId& id) = 0;
    /// Pending and active ones by id.
    virtual expected<std::vector<core::Waitpoint>> open_waitpoints(
        Eid eid, const std::optional<WaitpointId>& after, std::size_t limit) = 0;
    /// How many waitpoints of all executions are open whose token was minted under a key and that
    /// do not expire by a time. Looks at every open one.
    virtual expected<std::uint64_t> waitpoints_outliving(const std::string& kid,
                                                         TimestampMs until) = 0;
    /// Oldest first.
    virtual expected<std::vector<core::Suspension>> suspensions(Eid eid) = 0;
    virtual expected<std::optional<core::Suspension>> suspension(
        const core::SuspensionKey& key) = 0;
    /// A place in the list of those that wait: when its time runs out, and whose it is.
    using SuspendedKey = std::pair<TimestampMs, ExecutionId>;
    /// The open suspensions of a lane in the order of their places.
    virtual expected<std::vector<core::Suspension>> suspended(
        const std::string& lane, const std::optional<SuspendedKey>& after, std::size_t limit) = 0;
    /// An execution's ledger.
    virtual expected<std::vector<core::Signal>> signals(Eid eid, std::uint64_t after,
                                                        std::size_t limit, Payloads payloads) = 0;
    /// Some of it, in the order asked for; what is not there is left out.
    virtual expected<std::vector<core::Signal>> signals(Eid eid,
                                                        std::span<const std::uint64_t> seqs,
                                                        Payloads payloads) = 0;
    /// One of it, with its payload.
    virtual expected<std::optional<core::Signal>> signal(Eid eid, const SignalId& id) = 0;
    /// What satisfied the condition of a suspension, by node and token.
    virtual expected<std::vector<core::Satisfier>> satisfiers(const core::SuspensionKey& key) = 0;
    /// By kid.
    virtual expected<std::vector<core::HmacKey>> hmac_keys() = 0;

    // ---- streams
    virtual expected<std::optional<core::StreamMeta>> stream_meta(const core::StreamKey& key) = 0;
    /// Those of all attempts of an execution that have one, by attempt.
    virtual expected<std::vector<core::StreamMeta>> streams_of(Eid eid) = 0;
    virtual expected<std::optional<core::SummaryRow>> summary(const core::StreamKey& key) = 0;
    /// Frames between two ids, both included.
    virtual expected<std::vector<core::FrameRow>> frames(const core::StreamKey& key,
                                                         const FrameId& from, const FrameId& to,
                                                         Order order, std::size_t limit) = 0;

    // ---- limits
    virtual expected<std::optional<core::Budget>> budget(const BudgetId& id) = 0;
    /// By id.
    virtual expected<std::vector<core::Budget>> budgets(const std::optional<BudgetId>& after,
                                                        std::size_t limit) = 0;
    /// Ids alone, for those who go through all and read each for itself.
    virtual expected<std::vector<BudgetId>> budget_ids(const std::optional<BudgetId>& after,
                                                       std::size_t limit) = 0;
    /// By execution.
    virtual expected<std::vector<core::LedgerRow>> ledgers(const BudgetId& budget,
                                                           const std::optional<ExecutionId>& after,
                                                           std::size_t limit) = 0;
    virtual expected<std::optional<core::QuotaPolicy>> policy(const QuotaPolicyId& id) = 0;
    /// By id, without those of single keys.
    virtual expected<std::vector<core::QuotaPolicy>> policies_listed(
        const std::optional<QuotaPolicyId>& after, std::size_t limit) = 0;
    /// Those of the keys of a policy, in the order of keys.
    virtual expected<std::vector<core::QuotaPolicy>> policies_of_keys(const QuotaPolicyId& parent,
                                                                      const std::string& after,
                                                                      std::size_t limit) = 0;
    /// All of them, ids alone.
    virtual expected<std::vector<QuotaPolicyId>> policy_ids(
        const std::optional<QuotaPolicyId>& after, std::size_t limit) = 0;
    /// Admissions with a slot, by execution.
    virtual expected<std::vector<core::Admission>> slots(const QuotaPolicyId& policy,
                                                         const std::optional<ExecutionId>& after,
                                                         std::size_t limit) = 0;
    /// How many admissions have a start of that moment or before, aged or not.
    virtual expected<std::uint64_t> starts(const QuotaPolicyId& policy, TimestampMs until) = 0;
    virtual expected<std::uint64_t> slot_count(const QuotaPolicyId& policy) = 0;

    /// How many ready executions of these routes stand before the key; counts to `limit`.
    virtual expected<std::uint64_t> ready_before(std::span<const RouteId> routes,
                                                 const core::ReadyKey& key,
                                                 std::uint64_t limit) = 0;
    /// The newest history events of an execution behind an id, newest first.
    virtual expected<std::vector<core::ExecutionEvent>> history(const core::Execution& execution,
                                                                std::size_t limit,
                                                                std::int64_t after = 0) = 0;
    /// Events of an execution in the other families behind an id, oldest first.
    virtual expected<std::vector<core::LogEvent>> log_events_of(Eid eid, std::size_t limit,
                                                                std::int64_t after = 0) = 0;
    // ---- families of events. Ids grow in the order in which events became visible.
    /// Events of a log family behind an id.
    virtual expected<std::vector<core::LogEvent>> family_events_after(core::LogFamily family,
                                                                      std::int64_t event_id,
                                                                      std::size_t limit) = 0;
    /// The highest id ever given to an event of any family; none that is lower will appear.
    virtual expected<std::int64_t> highest_event() = 0;
    /// Up to where events of a family were deleted; 0: none ever was.
    virtual expected<std::int64_t> trimmed_through(EventFamily family) = 0;
    /// Up to where the table that a family is kept in was trimmed. What still stands there belongs
    /// to the histories of executions that are still there, and is no event to anybody.
    virtual expected<std::int64_t> event_floor(EventFamily family) = 0;
    // Of the table that a family is kept in, which for the two of is_history() is one: both count.
    // What stands at or below its floor does not.
    /// The highest id among the `limit` oldest events that happened before a time.
    virtual expected<std::optional<std::int64_t>> oldest_events(EventFamily family,
                                                                TimestampMs before,
                                                                std::size_t limit) = 0;
    /// The id of an event behind another, after passing over so many.
    virtual expected<std::optional<std::int64_t>> nth_event(EventFamily family, std::int64_t after,
                                                            std::uint64_t passing) = 0;
    virtual expected<std::uint64_t> count_events(EventFamily family, std::int64_t after,
                                                 std::int64_t through) = 0;

    virtual expected<std::optional<core::Webhook>> webhook(const WebhookId& id) = 0;
    /// By id.
    virtual expected<std::vector<core::Webhook>> webhooks(const std::optional<WebhookId>& after,
                                                          std::size_t limit) = 0;

    // Whole tables in key order, for checks and comparisons of stores.
    virtual expected<std::vector<core::ExecutionEvent>> events_after(std::int64_t event_id,
                                                                     std::size_t limit) = 0;
    virtual expected<std::vector<core::LogEvent>> log_events_after(std::int64_t event_id,
                                                                   std::size_t limit) = 0;
    virtual expected<std::vector<core::ReadyKey>> ready_after(const core::ReadyKey& key,
                                                              std::size_t limit) = 0;
    virtual expected<std::vector<core::TimerKey>> timers_after(const core::TimerKey& key,
                                                               std::size_t limit) = 0;
    virtual expected<std::vector<core::TurnKey>> turns_after(const core::TurnKey& key,
                                                             std::size_t limit) = 0;
    virtual expected<std::vector<std::pair<core::Bucket, Eid>>> listed_after(core::Bucket bucket,
                                                                             Eid eid,
                                                                             std::size_t limit) = 0;
};

class Store : public core::RowNumbers {
  public:
    ~Store() override = default;

    [[nodiscard]] virtual const StoreInfo& info() const = 0;
    /// May other processes write to it? Then what was read in one transaction does not count in the
    /// next, an execution that is asked for by number may be missing because another process is at
    /// it, and a transaction that failed with `store_busy` or `store_io` may be run again.
    [[nodiscard]] virtual bool shared() const { return false; }
    /// The clock of the server that keeps it, which decides instead of this machine's: then all
    /// processes on it agree on the time. Absent: there is none, or the options gave another.
    [[nodiscard]] virtual std::shared_ptr<Clock> clock() const { return nullptr; }
    /// Another writer of this process has made routes. Any thread.
    virtual void routes_were_made() {}
    /// What another process may have done.
    enum class Heard : std::uint8_t {
        work,  ///< made work ready
        rows,  ///< written something that readers may wait for
    };
    /// Calls `heard`, from any thread, when other processes have written. An empty function ends
    /// it; when that returns none is running.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps it
    virtual void watch(std::function<void(Heard)> /*heard*/) {}
    /// Every route there is; grows at commit. Writer thread only.
    [[nodiscard]] virtual const core::RouteTable& routes() const = 0;

    // ------------------------------------------------------------- writing side: one thread only

    /// Starts a transaction. Nothing else on this side works outside of one.
    virtual expected<void> begin() = 0;
    /// Loads what is asked for and not loaded yet, with the routes of the executions found.
    virtual expected<void> load(const core::ReadSet& set, core::Snapshot& snapshot) = 0;
    /// The same for executions known by number (candidates, due ones).
    virtual expected<void> load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                                core::Snapshot& snapshot) = 0;
    /// A route's queue as of the last commit, in claim order, behind `after` (from the head when
    /// absent).
    virtual expected<std::vector<core::ReadyKey>> scan_ready(
        RouteId route, const std::optional<core::ReadyKey>& after, std::size_t limit) = 0;
    /// Says what lock_ready() will be asked for in this transaction: the next load() may bring the
    /// answers along. Only a hint.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps them
    virtual void expect_ready(std::vector<ReadyAsk> /*asks*/, std::vector<std::string> /*lanes*/) {}
    /// For stores that other processes write to: the best ready executions that nobody else is at,
    /// loaded with their inputs and kept from the others until the transaction ends. `lanes` are
    /// loaded too. One round trip, however many questions.
    virtual expected<std::vector<ReadyPage>> lock_ready(std::span<const ReadyAsk> asks,
                                                        const std::vector<std::string>& lanes,
                                                        core::Snapshot& snapshot);
    /// Who has the turn in these queues as of the last commit. On a shared store no other process
    /// gets an answer for the same queues until the transaction ends; nobody waits.
    virtual expected<TurnPage> lock_turns(std::span<const RouteId> queues) = 0;
    /// Timers due at `now`, earliest first within each kind.
    virtual expected<std::vector<core::TimerKey>> scan_due(TimestampMs now, std::size_t limit) = 0;
    /// The earliest due time later than `after`, of executions, flows and work that waits.
    virtual expected<std::optional<TimestampMs>> next_due(TimestampMs after) = 0;
    /// Flows whose timer is due, earliest first. This is the first look of a transaction for what
    /// is due: on a shared store it may see to the others, and until scan_work() a load() of one of
    /// these leaves it unknown if another process is at it.
    virtual expected<std::vector<FlowId>> scan_due_flows(TimestampMs now, std::size_t limit) = 0;
    /// Work that waits and is due, loaded; on a shared store what no other process is at.
    virtual expected<std::vector<core::FlowWorkKey>> scan_work(TimestampMs now, std::size_t limit,
                                                               core::Snapshot& snapshot) = 0;
    /// Flows that claims must look at before they take a member (Flow::held), in any order.
    virtual expected<std::vector<FlowId>> held_flows() = 0;
    /// For repair passes: edges that were staged before a time and not applied.
    virtual expected<std::vector<core::EdgeKey>> scan_staged(TimestampMs before,
                                                             std::size_t limit) = 0;
    virtual expected<std::vector<Eid>> scan_bucket(core::Bucket bucket, Eid after,
                                                   std::size_t limit) = 0;
    virtual expected<std::vector<Eid>> scan_all(Eid after, std::size_t limit) = 0;
    virtual expected<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs now,
                                                                     std::size_t limit) = 0;
    /// All workers that are live, by key.
    virtual expected<std::vector<core::WorkerRow>> live_workers(TimestampMs now) = 0;
    /// Streams that a sweep must look at, earliest first.
    virtual expected<std::vector<core::StreamKey>> scan_streams(TimestampMs now,
                                                                std::size_t limit) = 0;
    /// Budgets and policies whose time has come, earliest first within each kind.
    virtual expected<std::vector<core::LimitKey>> scan_due_limits(TimestampMs now,
                                                                  std::size_t limit) = 0;
    /// Those that somebody may wait for, by key.
    virtual expected<std::vector<core::LimitKey>> scan_waiting_limits(const core::LimitKey& after,
                                                                      std::size_t limit) = 0;
    // Upkeep: delete what is past its time; answer how many rows went.
    virtual expected<std::uint64_t> sweep_grants(TimestampMs before, std::size_t limit) = 0;
    virtual expected<std::uint64_t> sweep_idempotency(TimestampMs now, std::size_t limit) = 0;
    virtual expected<std::uint64_t> sweep_usage_dedup(TimestampMs now, std::size_t limit) = 0;
    /// All events of a family up to an id; those of the family it shares its table with go along.
    /// Rows that the history of an execution needs stay until the execution goes: answers how many
    /// events nobody is shown any more.
    virtual expected<std::uint64_t> trim_events(EventFamily family, std::int64_t through) = 0;

    /// Writes every dirty row of the snapshot, appends its events and commits. Numbers the events.
    /// On failure everything is rolled back and nothing happened.
    virtual expected<void> commit(core::Snapshot& snapshot, TimestampMs now,
                                  DurationMs retention_default_ms) = 0;
    virtual void rollback() = 0;
    /// Ends a transaction that wrote nothing but upkeep.
    virtual expected<void> commit_upkeep() = 0;

    // ------------------------------------------------------------------- durability, any thread

    /// Waits until every commit made before this call is on disk. Called before anybody is told.
    virtual expected<void> make_durable() = 0;
    /// Is that so already when commit() returns?
    [[nodiscard]] virtual bool commits_are_durable() const { return false; }
    /// Housekeeping between batches (checkpoints). Writer thread.
    virtual void maintain() = 0;

    // ------------------------------------------------------------------ reading side, any thread

    /// Runs `body` on one consistent view that holds only durable commits.
    virtual expected<void> read(const std::function<expected<void>(Reader&)>& body) = 0;

    /// How much room it takes; nothing when it is in memory.
    virtual expected<StoreSize> size() { return StoreSize{}; }

    /// Rows written since open, for figures.
    [[nodiscard]] virtual std::uint64_t rows_written() const = 0;
};

inline expected<std::vector<ReadyPage>> Store::lock_ready(std::span<const ReadyAsk> /*asks*/,
                                                          const std::vector<std::string>& /*lanes*/,
                                                          core::Snapshot& /*snapshot*/) {
    return ff::fail(ErrorCode::internal, "only this process writes to the store");
}

}  // namespace ff::store
