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
#include <string>
#include <unordered_map>
#include <vector>

#include "core/changes.h"
#include "core/records.h"

namespace ff::core {

/// A row as the store has it and as the batch wants it.
template <class T>
struct Tracked {
    bool loaded = false;
    bool dirty = false;
    std::optional<T> stored;
    std::optional<T> current;

    void load(std::optional<T> row) {
        if (loaded) {
            return;  // the batch's own view is newer than a second load
        }
        loaded = true;
        current = row;
        stored = std::move(row);
    }
    void put(T row) {
        loaded = true;
        dirty = true;
        current = std::move(row);
    }
    void erase() {
        loaded = true;
        dirty = true;
        current.reset();
    }
    [[nodiscard]] const T* get() const { return current ? &*current : nullptr; }
};

/// One execution with all that hangs on it.
struct ExecutionCell {
    ExecutionId id;
    Tracked<Execution> execution;
    Tracked<ExecutionInput> input;
    Tracked<GrantRow> grant;
    std::map<std::uint32_t, Tracked<Attempt>> attempts;
    bool deleted = false;  ///< retention: the store removes every row of it
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

    ExecutionNeed& need(const ExecutionId& id, InputNeed input = InputNeed::none) {
        return executions.emplace_back(ExecutionNeed{id, input, false, false, false});
    }
    [[nodiscard]] bool empty() const {
        return executions.empty() && lanes.empty() && idempotency.empty() && workers.empty() &&
               leased_by.empty();
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
    [[nodiscard]] const Route* route(const RouteKey& key) const;
    [[nodiscard]] const Route& route(RouteId id) const;
    [[nodiscard]] const IdempotencyEntry* idempotency(const IdempotencyKey& key) const;
    [[nodiscard]] const WorkerRow* worker(const WorkerKey& key) const;
    /// What the worker holds, with what it took earlier in this very batch.
    [[nodiscard]] std::vector<ExecutionId> leased_by(const WorkerKey& key) const;

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

    // ---- for the batch.
    void apply(Changes changes);
    void clear();

    // ---- for the store: what to write. Cells in the order they were first touched.
    std::deque<ExecutionCell> cells;
    std::map<std::string, Tracked<Lane>> lanes;
    std::vector<Route> new_routes;
    std::map<IdempotencyKey, Tracked<IdempotencyEntry>> idempotency_entries;
    std::map<WorkerKey, Tracked<WorkerRow>> workers;
    std::vector<ExecutionEvent> events;
    std::vector<LogEvent> log_events;

  private:
    const ExecutionCell& loaded_cell(const ExecutionId& id) const;

    std::unordered_map<ExecutionId, ExecutionCell*> by_id_;
    std::unordered_map<Eid, ExecutionCell*> by_eid_;
    const RouteTable& known_routes_;
    std::map<WorkerKey, std::vector<ExecutionId>> leased_by_;
};

}  // namespace ff::core
