#include "core/snapshot.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace ff::core {

void RouteTable::add(Route route) {
    if (by_id_.contains(route.id)) {
        return;
    }
    const Route& kept = routes_.emplace_back(std::move(route));
    by_id_.emplace(kept.id, &kept);
    by_key_.emplace(kept.key, &kept);
    by_lane_[kept.key.lane].push_back(&kept);
}

const Route* RouteTable::find(const RouteKey& key) const {
    auto it = by_key_.find(key);
    return it == by_key_.end() ? nullptr : it->second;
}

const Route* RouteTable::find(RouteId id) const {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
}

const std::vector<const Route*>& RouteTable::of_lane(const std::string& lane) const {
    static const std::vector<const Route*> none;
    auto it = by_lane_.find(lane);
    return it == by_lane_.end() ? none : it->second;
}

const ExecutionCell& Snapshot::loaded_cell(const ExecutionId& id) const {
    auto it = by_id_.find(id);
    FF_CHECK(it != by_id_.end() && it->second->execution.loaded, "execution was not loaded");
    return *it->second;
}

const Execution* Snapshot::execution(const ExecutionId& id) const {
    return loaded_cell(id).execution.get();
}

const ExecutionInput* Snapshot::input(const Execution& execution) const {
    const auto& row = loaded_cell(execution.id).input;
    FF_CHECK(row.loaded, "input was not loaded");
    return row.get();
}

const GrantRow* Snapshot::grant(const Execution& execution) const {
    const auto& row = loaded_cell(execution.id).grant;
    FF_CHECK(row.loaded, "grant was not loaded");
    return row.get();
}

const Attempt* Snapshot::attempt(const Execution& execution, std::uint32_t index) const {
    const auto& attempts = loaded_cell(execution.id).attempts;
    auto it = attempts.find(index);
    FF_CHECK(it != attempts.end() && it->second.loaded, "attempt was not loaded");
    return it->second.get();
}

const Lane* Snapshot::lane(const std::string& name) const {
    auto it = lanes.find(name);
    FF_CHECK(it != lanes.end() && it->second.loaded, "lane was not loaded");
    return it->second.get();
}

const Route* Snapshot::route(const RouteKey& key) const {
    if (const Route* known = known_routes_.find(key)) {
        return known;
    }
    for (const Route& route : new_routes) {
        if (route.key == key) {
            return &route;
        }
    }
    return nullptr;
}

const Route& Snapshot::route(RouteId id) const {
    if (const Route* known = known_routes_.find(id)) {
        return *known;
    }
    auto it = std::ranges::find(new_routes, id, &Route::id);
    FF_CHECK(it != new_routes.end(), "route is not known");
    return *it;
}

const IdempotencyEntry* Snapshot::idempotency(const IdempotencyKey& key) const {
    auto it = idempotency_entries.find(key);
    FF_CHECK(it != idempotency_entries.end(), "idempotency key was not loaded");
    return it->second.get();
}

const WorkerRow* Snapshot::worker(const WorkerKey& key) const {
    auto it = workers.find(key);
    FF_CHECK(it != workers.end(), "worker was not loaded");
    return it->second.get();
}

std::vector<ExecutionId> Snapshot::leased_by(const WorkerKey& key) const {
    auto it = leased_by_.find(key);
    FF_CHECK(it != leased_by_.end(), "leases of the worker were not loaded");
    std::vector<ExecutionId> ids = it->second;
    for (const ExecutionCell& cell : cells) {
        const auto& now = cell.execution.current;
        if (now && now->state.ownership == OwnershipState::leased &&
            now->worker_instance_id == key.worker_instance_id &&
            route(now->route).key.ns == key.ns && std::ranges::find(ids, cell.id) == ids.end()) {
            ids.push_back(cell.id);
        }
    }
    return ids;
}

ExecutionCell& Snapshot::cell(const ExecutionId& id) {
    auto [it, fresh] = by_id_.try_emplace(id, nullptr);
    if (fresh) {
        cells.emplace_back().id = id;
        it->second = &cells.back();
    }
    return *it->second;
}

ExecutionCell* Snapshot::find_cell(const ExecutionId& id) {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
}

ExecutionCell* Snapshot::find_cell(Eid eid) {
    auto it = by_eid_.find(eid);
    return it == by_eid_.end() ? nullptr : it->second;
}

void Snapshot::index_by_eid(ExecutionCell& cell) {
    if (cell.execution.current) {
        by_eid_[cell.execution.current->eid] = &cell;
    }
}

void Snapshot::load_lane(const std::string& name, std::optional<Lane> row) {
    lanes[name].load(std::move(row));
}

void Snapshot::load_idempotency(const IdempotencyKey& key, std::optional<IdempotencyEntry> row) {
    idempotency_entries[key].load(std::move(row));
}

void Snapshot::load_worker(const WorkerKey& key, std::optional<WorkerRow> row) {
    workers[key].load(std::move(row));
}

void Snapshot::load_leased_by(const WorkerKey& key, std::vector<ExecutionId> ids) {
    leased_by_.insert_or_assign(key, std::move(ids));
}

void Snapshot::apply(Changes changes) {
    std::ranges::move(changes.put_routes, std::back_inserter(new_routes));
    for (auto& lane : changes.put_lanes) {
        auto name = lane.name;
        lanes[name].put(std::move(lane));
    }
    for (auto& row : changes.put_executions) {
        ExecutionCell& target = cell(row.id);
        if (!target.execution.current) {
            // New, perhaps in place of one this batch deletes: no grant and no attempt is its own.
            target.grant = {};
            target.grant.load(std::nullopt);
            target.attempts.clear();
        }
        target.execution.put(std::move(row));
        index_by_eid(target);
    }
    for (auto& row : changes.put_inputs) {
        find_cell(row.eid)->input.put(std::move(row));
    }
    for (auto& row : changes.put_attempts) {
        find_cell(row.eid)->attempts[row.attempt_index].put(std::move(row));
    }
    for (Eid eid : changes.delete_grants) {
        find_cell(eid)->grant.erase();
    }
    for (auto& row : changes.put_grants) {
        find_cell(row.eid)->grant.put(std::move(row));
    }
    for (Eid eid : changes.delete_executions) {
        ExecutionCell* target = find_cell(eid);
        target->execution.erase();
        target->deleted = true;
    }
    for (const auto& key : changes.delete_idempotency) {
        idempotency_entries[key].erase();
    }
    for (auto& row : changes.put_idempotency) {
        auto key = row.key;
        idempotency_entries[key].put(std::move(row));
    }
    for (const auto& key : changes.delete_workers) {
        workers[key].erase();
    }
    for (auto& row : changes.put_workers) {
        auto key = row.key;
        workers[key].put(std::move(row));
    }
    std::ranges::move(changes.events, std::back_inserter(events));
    std::ranges::move(changes.log_events, std::back_inserter(log_events));
}

namespace {

/// Emptying a hash table costs its buckets, not its entries: one that a big batch has blown up is
/// given back rather than swept after every small one.
template <class Map>
void empty(Map& map) {
    if (map.bucket_count() > 8 * (map.size() + 16)) {
        map = Map();
    } else {
        map.clear();
    }
}

}  // namespace

void Snapshot::clear() {
    cells.clear();
    lanes.clear();
    new_routes.clear();
    idempotency_entries.clear();
    workers.clear();
    events.clear();
    log_events.clear();
    empty(by_id_);
    empty(by_eid_);
    leased_by_.clear();
}

}  // namespace ff::core
