// The rows a batch of decisions may see, and what they have become: loaded by a store, read by
// decisions, folded forward by apply(), written back by the store from the cells marked dirty.
//
// Used by one thread. A row that was asked for and does not exist is loaded as "absent"; asking for
// a row nobody loaded is a programming error and aborts, so a decision cannot decide on ignorance.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/changes.h"
#include "core/limit_table.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/stream_table.h"
#include "core/tracked.h"
#include "core/wait_table.h"

namespace ff::core {

/// One execution with all that hangs on it.
struct ExecutionCell {
    ExecutionId id;
    Tracked<Execution> execution;
    Tracked<ExecutionInput> input;
    Tracked<GrantRow> grant;
    std::map<std::uint32_t, Tracked<Attempt>> attempts;
    Tracked<EdgeGroup> group;  ///< of its inbound edges
    /// The one inbound edge that `group` was made from, when the store has no row of it.
    std::optional<EdgeKey> only_edge;
    /// Its edges, once they are known; those the batch has made are among them.
    std::optional<std::vector<EdgeKey>> outbound;
    std::optional<std::vector<EdgeKey>> inbound;
    bool deleted = false;  ///< retention: the store removes every row of it
};

/// One flow with what is known of it.
struct FlowCell {
    Tracked<Flow> flow;
    std::optional<std::vector<ExecutionId>> members;  ///< in the order of ids
    bool edges_known = false;                         ///< all of them, and all groups
    bool deleted = false;
};

/// When a command needs the input row beside the execution.
enum class InputNeed : std::uint8_t {
    none,
    if_tagged,            ///< an event will carry the tags
    if_tagged_or_policy,  ///< and the policy decides something
    always,               ///< the payload goes to a worker
};

/// Does this execution's input row have to be loaded?
constexpr bool needs_input(InputNeed need, const Execution& execution) {
    switch (need) {
        case InputNeed::none: return false;
        case InputNeed::if_tagged: return execution.has_tags;
        case InputNeed::if_tagged_or_policy: return execution.has_tags || execution.has_policy;
        case InputNeed::always: return true;
    }
    return true;
}

/// Does the current attempt have a row of its own that a decision may build on? While it runs, the
/// execution row is all there is.
constexpr bool needs_attempt(const Execution& execution) {
    return execution.current_attempt_index && execution.state.phase != LifecyclePhase::active;
}

/// What a command must see before it can be decided.
struct ReadSet {
    struct ExecutionNeed {
        ExecutionId id;
        InputNeed input = InputNeed::none;
        bool grant = false;
        bool attempt = false;  ///< the row of the current attempt, when needs_attempt()
        bool fresh = false;    ///< just minted: known to be absent, nothing is read
    };
    std::vector<ExecutionNeed> executions;
    std::vector<std::string> lanes;
    std::vector<IdempotencyKey> idempotency;
    std::vector<WorkerKey> workers;
    /// Executions a worker instance holds leases on (to revoke them all).
    std::vector<WorkerKey> leased_by;
    std::vector<FlowId> flows;
    /// The members of a flow, each with what ExecutionNeed may name; their ids are kept in order.
    std::vector<std::pair<FlowId, ExecutionNeed>> members;
    std::vector<FlowId> edges_of_flows;  ///< all edges and groups of a flow
    std::vector<EdgeKey> edges;
    std::vector<ExecutionId> outbound;  ///< the edges that leave an execution
    std::vector<ExecutionId> inbound;   ///< the edges that lead to it
    /// The group of an execution, and the edge that led there: without a row, one implies it.
    struct GroupNeed {
        FlowId flow;
        ExecutionId downstream;
        std::optional<EdgeKey> through = {};
    };
    std::vector<GroupNeed> groups;
    std::vector<FlowWorkKey> work;
    /// The first executions of a gate's queue, and how many.
    std::vector<std::pair<std::string, std::size_t>> parked;
    WaitReads waits;
    StreamReads streams;
    LimitReads limits;
    std::vector<WebhookId> webhooks;

    ExecutionNeed& need(const ExecutionId& id, InputNeed input = InputNeed::none) {
        return executions.emplace_back(ExecutionNeed{id, input, false, false, false});
    }
    [[nodiscard]] bool empty() const {
        return executions.empty() && lanes.empty() && idempotency.empty() && workers.empty() &&
               leased_by.empty() && flows.empty() && members.empty() && edges_of_flows.empty() &&
               edges.empty() && outbound.empty() && inbound.empty() && groups.empty() &&
               work.empty() && parked.empty() && waits.empty() && streams.empty() &&
               limits.empty() && webhooks.empty();
    }
};

/// All routes a store knows. Grows, never shrinks: routes are few and are never renamed.
class RouteTable {
  public:
    void add(Route route);
    [[nodiscard]] const Route* find(const RouteKey& key) const;
    [[nodiscard]] const Route* find(RouteId id) const;
    /// The routes of a lane, in the order they became known.
    [[nodiscard]] const std::vector<const Route*>& of_lane(const std::string& lane) const;
    [[nodiscard]] const std::deque<Route>& all() const { return routes_; }

  private:
    std::deque<Route> routes_;  // stable addresses
    std::unordered_map<RouteId, const Route*> by_id_;
    std::map<RouteKey, const Route*> by_key_;
    std::unordered_map<std::string, std::vector<const Route*>> by_lane_;
};

class Snapshot {
  public:
    /// `known_routes` must outlive the snapshot; routes made by the batch are kept apart until
    /// they are committed.
    explicit Snapshot(const RouteTable& known_routes) : known_routes_(known_routes) {}

    // ---- for decisions: const looks. Null means absent.
    [[nodiscard]] const Execution* execution(const ExecutionId& id) const;
    [[nodiscard]] const ExecutionInput* input(const Execution& execution) const;
    [[nodiscard]] const GrantRow* grant(const Execution& execution) const;
    [[nodiscard]] const Attempt* attempt(const Execution& execution, std::uint32_t index) const;
    [[nodiscard]] const Lane* lane(const std::string& name) const;
    [[nodiscard]] bool knows_lane(const std::string& name) const;
    [[nodiscard]] const Route* route(const RouteKey& key) const;
    [[nodiscard]] const Route& route(RouteId id) const;
    [[nodiscard]] const IdempotencyEntry* idempotency(const IdempotencyKey& key) const;
    [[nodiscard]] const WorkerRow* worker(const WorkerKey& key) const;
    [[nodiscard]] const Webhook* webhook(const WebhookId& id) const;
    /// What the worker holds, with what it took earlier in this very batch.
    [[nodiscard]] std::vector<ExecutionId> leased_by(const WorkerKey& key) const;
    [[nodiscard]] const Flow* flow(const FlowId& id) const;
    /// The flow of an execution; null when it has none.
    [[nodiscard]] const Flow* flow_of(const Execution& execution) const;
    [[nodiscard]] const Edge* edge(const EdgeKey& key) const;
    [[nodiscard]] const EdgeGroup* group(const ExecutionId& downstream) const;
    /// In the order of edge ids.
    [[nodiscard]] std::vector<const Edge*> outbound(const ExecutionId& upstream) const;
    [[nodiscard]] std::vector<const Edge*> inbound(const ExecutionId& downstream) const;
    [[nodiscard]] std::vector<const Edge*> edges_of(const FlowId& flow) const;
    [[nodiscard]] const std::vector<ExecutionId>& members(const FlowId& flow) const;
    [[nodiscard]] const FlowWork* work(const FlowWorkKey& key) const;
    /// Those at the head of a gate's queue as the store has it; some may have left it meanwhile.
    [[nodiscard]] const std::vector<ExecutionId>& parked(const std::string& gate) const;
    /// Does another process have some of them, so that they are not among these?
    [[nodiscard]] bool parked_partly(const std::string& gate) const {
        return parked_partly_.contains(gate);
    }

    // ---- for reads that depend on what was read: is it known yet?
    [[nodiscard]] bool knows_execution(const ExecutionId& id) const;
    [[nodiscard]] bool knows_input(const ExecutionId& id) const;
    [[nodiscard]] bool knows_attempt(const Execution& execution) const;
    [[nodiscard]] bool knows_attempt(const Execution& execution, std::uint32_t index) const;
    [[nodiscard]] bool knows_flow(const FlowId& id) const;
    [[nodiscard]] bool knows_members(const FlowId& id) const;
    [[nodiscard]] bool knows_edges_of(const FlowId& id) const;
    [[nodiscard]] bool knows_outbound(const ExecutionId& id) const;
    [[nodiscard]] bool knows_inbound(const ExecutionId& id) const;
    [[nodiscard]] bool knows_group(const ExecutionId& downstream) const;
    [[nodiscard]] bool knows_parked(const std::string& gate) const;
    [[nodiscard]] bool knows_work(const FlowWorkKey& key) const;

    // ---- for the store: filling.
    ExecutionCell& cell(const ExecutionId& id);
    [[nodiscard]] ExecutionCell* find_cell(const ExecutionId& id);
    [[nodiscard]] ExecutionCell* find_cell(Eid eid);
    /// Must be called once an execution row became known, so that it is found by eid too.
    void index_by_eid(ExecutionCell& cell);
    void load_lane(const std::string& name, std::optional<Lane> row);
    void load_idempotency(const IdempotencyKey& key, std::optional<IdempotencyEntry> row);
    void load_worker(const WorkerKey& key, std::optional<WorkerRow> row);
    void load_leased_by(const WorkerKey& key, std::vector<ExecutionId> ids);
    FlowCell& flow_cell(const FlowId& id) { return flows[id]; }
    void load_flow(const FlowId& id, std::optional<Flow> row);
    /// Those the batch has added meanwhile are joined to them.
    void load_members(const FlowId& id, std::vector<ExecutionId> ids);
    void load_edge(const EdgeKey& key, std::optional<Edge> row);
    /// Call after load_edge() for every edge that the store has.
    void load_outbound(const ExecutionId& upstream, std::vector<EdgeKey> keys);
    void load_inbound(const ExecutionId& downstream, std::vector<EdgeKey> keys);
    void load_edges_of(const FlowId& flow);
    void load_group(const ExecutionId& downstream, std::optional<EdgeGroup> row,
                    std::optional<EdgeKey> only_edge = {});
    void load_work(const FlowWorkKey& key, std::optional<FlowWork> row);
    void load_parked(const std::string& gate, std::vector<ExecutionId> ids);
    void load_parked_partly(const std::string& gate) { parked_partly_.insert(gate); }

    // ---- for the batch.
    void apply(Changes&& changes);
    void clear();

    /// The edges to an execution that the batch has made.
    [[nodiscard]] const std::vector<EdgeKey>& made_inbound(const ExecutionId& downstream) const;

    // ---- for the store: what to write. Cells in the order they were first touched.
    Pool<ExecutionCell> cells;
    std::map<std::string, Tracked<Lane>> lanes;
    std::vector<Route> new_routes;
    std::map<IdempotencyKey, Tracked<IdempotencyEntry>> idempotency_entries;
    std::map<WorkerKey, Tracked<WorkerRow>> workers;
    std::map<FlowId, FlowCell> flows;
    std::map<EdgeKey, Tracked<Edge>> edges;
    std::map<FlowWorkKey, Tracked<FlowWork>> flow_work;
    WaitTable waits;
    StreamTable streams;
    LimitTable limits;
    std::map<WebhookId, Tracked<Webhook>> webhooks;
    std::vector<ExecutionEvent> events;
    std::vector<LogEvent> log_events;
    /// Not written: what metrics count.
    FlowTally flow_tally;

  private:
    const ExecutionCell& loaded_cell(const ExecutionId& id) const;
    [[nodiscard]] const ExecutionCell* find(const ExecutionId& id) const;
    const FlowCell* find_flow(const FlowId& id) const;
    void join_member(const FlowId& flow, const ExecutionId& member);
    void apply_flows(Changes& changes);
    std::vector<const Edge*> edges_at(const std::vector<EdgeKey>& keys) const;

    std::unordered_map<ExecutionId, ExecutionCell*> by_id_;
    std::unordered_map<Eid, ExecutionCell*> by_eid_;
    // Edges the batch has made, by their ends.
    std::unordered_map<ExecutionId, std::vector<EdgeKey>> own_outbound_;
    std::unordered_map<ExecutionId, std::vector<EdgeKey>> own_inbound_;
    const RouteTable& known_routes_;
    std::map<WorkerKey, std::vector<ExecutionId>> leased_by_;
    std::map<std::string, std::vector<ExecutionId>> parked_;
    std::set<std::string> parked_partly_;
};

}  // namespace ff::core
