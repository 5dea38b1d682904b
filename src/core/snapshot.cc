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

bool Snapshot::knows_lane(const std::string& name) const {
    auto it = lanes.find(name);
    return it != lanes.end() && it->second.loaded;
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

const Webhook* Snapshot::webhook(const WebhookId& id) const {
    auto it = webhooks.find(id);
    FF_CHECK(it != webhooks.end(), "webhook was not loaded");
    return it->second.get();
}

std::vector<ExecutionId> Snapshot::leased_by(const WorkerKey& key) const {
    auto it = leased_by_.find(key);
    FF_CHECK(it != leased_by_.end(), "leases of the worker were not loaded");
    std::vector<ExecutionId> ids = it->second;
    for (const ExecutionCell& cell : cells) {
        const auto& now = cell.execution.current();
        if (now && now->state.ownership == OwnershipState::leased &&
            now->worker_instance_id == key.worker_instance_id &&
            route(now->route).key.ns == key.ns && std::ranges::find(ids, cell.id) == ids.end()) {
            ids.push_back(cell.id);
        }
    }
    return ids;
}

// -------------------------------------------------------------------------------------- flows

const ExecutionCell* Snapshot::find(const ExecutionId& id) const {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
}

const FlowCell* Snapshot::find_flow(const FlowId& id) const {
    auto it = flows.find(id);
    return it == flows.end() ? nullptr : &it->second;
}

const Flow* Snapshot::flow(const FlowId& id) const {
    const FlowCell* cell = find_flow(id);
    FF_CHECK(cell != nullptr && cell->flow.loaded, "flow was not loaded");
    return cell->flow.get();
}

const Flow* Snapshot::flow_of(const Execution& execution) const {
    return execution.flow_id ? flow(*execution.flow_id) : nullptr;
}

const Edge* Snapshot::edge(const EdgeKey& key) const {
    auto it = edges.find(key);
    FF_CHECK(it != edges.end() && it->second.loaded, "edge was not loaded");
    return it->second.get();
}

const EdgeGroup* Snapshot::group(const ExecutionId& downstream) const {
    const ExecutionCell* cell = find(downstream);
    FF_CHECK(cell != nullptr && cell->group.loaded, "edge group was not loaded");
    return cell->group.get();
}

std::vector<const Edge*> Snapshot::edges_at(const std::vector<EdgeKey>& keys) const {
    std::vector<const Edge*> out;
    out.reserve(keys.size());
    for (const EdgeKey& key : keys) {
        out.push_back(edge(key));
    }
    return out;
}

std::vector<const Edge*> Snapshot::outbound(const ExecutionId& upstream) const {
    FF_CHECK(knows_outbound(upstream), "outbound edges were not loaded");
    return edges_at(*find(upstream)->outbound);
}

std::vector<const Edge*> Snapshot::inbound(const ExecutionId& downstream) const {
    FF_CHECK(knows_inbound(downstream), "inbound edges were not loaded");
    return edges_at(*find(downstream)->inbound);
}

std::vector<const Edge*> Snapshot::edges_of(const FlowId& flow) const {
    FF_CHECK(knows_edges_of(flow), "edges of the flow were not loaded");
    std::vector<const Edge*> out;
    for (auto it = edges.lower_bound({flow, EdgeId{}}); it != edges.end() && it->first.flow == flow;
         ++it) {
        if (const Edge* row = it->second.get()) {
            out.push_back(row);
        }
    }
    return out;
}

const std::vector<ExecutionId>& Snapshot::members(const FlowId& flow) const {
    FF_CHECK(knows_members(flow), "members of the flow were not loaded");
    return *find_flow(flow)->members;
}

const FlowWork* Snapshot::work(const FlowWorkKey& key) const {
    auto it = flow_work.find(key);
    FF_CHECK(it != flow_work.end() && it->second.loaded, "work was not loaded");
    return it->second.get();
}

bool Snapshot::knows_work(const FlowWorkKey& key) const {
    const auto it = flow_work.find(key);
    return it != flow_work.end() && it->second.loaded;
}

const std::vector<ExecutionId>& Snapshot::parked(const std::string& gate) const {
    FF_CHECK(knows_parked(gate), "the queue of a gate was not loaded");
    return parked_.at(gate);
}

bool Snapshot::knows_parked(const std::string& gate) const { return parked_.contains(gate); }

void Snapshot::load_parked(const std::string& gate, std::vector<ExecutionId> ids) {
    parked_.insert_or_assign(gate, std::move(ids));
}

bool Snapshot::knows_execution(const ExecutionId& id) const {
    const ExecutionCell* cell = find(id);
    return cell != nullptr && cell->execution.loaded;
}

bool Snapshot::knows_input(const ExecutionId& id) const {
    const ExecutionCell* cell = find(id);
    return cell != nullptr && cell->input.loaded;
}

bool Snapshot::knows_attempt(const Execution& execution, std::uint32_t index) const {
    const auto& attempts = loaded_cell(execution.id).attempts;
    const auto it = attempts.find(index);
    return it != attempts.end() && it->second.loaded;
}

bool Snapshot::knows_attempt(const Execution& execution) const {
    const ExecutionCell* cell = find(execution.id);
    if (cell == nullptr || !execution.current_attempt_index) {
        return cell != nullptr;
    }
    auto it = cell->attempts.find(*execution.current_attempt_index);
    return it != cell->attempts.end() && it->second.loaded;
}

bool Snapshot::knows_flow(const FlowId& id) const {
    const FlowCell* cell = find_flow(id);
    return cell != nullptr && cell->flow.loaded;
}

bool Snapshot::knows_members(const FlowId& id) const {
    const FlowCell* cell = find_flow(id);
    return cell != nullptr && cell->members.has_value();
}

bool Snapshot::knows_edges_of(const FlowId& id) const {
    const FlowCell* cell = find_flow(id);
    return cell != nullptr && cell->edges_known;
}

bool Snapshot::knows_outbound(const ExecutionId& id) const {
    const ExecutionCell* cell = find(id);
    return cell != nullptr && cell->outbound.has_value();
}

bool Snapshot::knows_inbound(const ExecutionId& id) const {
    const ExecutionCell* cell = find(id);
    return cell != nullptr && cell->inbound.has_value();
}

bool Snapshot::knows_group(const ExecutionId& downstream) const {
    const ExecutionCell* cell = find(downstream);
    return cell != nullptr && cell->group.loaded;
}

void Snapshot::load_flow(const FlowId& id, std::optional<Flow> row) {
    flows[id].flow.load(std::move(row));
}

void Snapshot::load_members(const FlowId& id, std::vector<ExecutionId> ids) {
    FlowCell& cell = flows[id];
    if (cell.members) {
        return;
    }
    for (const ExecutionCell& member : cells) {
        if (member.execution.dirty && member.execution.current() &&
            member.execution.current()->flow_id == id) {
            ids.push_back(member.id);
        }
    }
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    cell.members = std::move(ids);
}

void Snapshot::load_edge(const EdgeKey& key, std::optional<Edge> row) {
    edges[key].load(std::move(row));
}

namespace {

/// Adds the keys of edges that only the batch knows.
void join_own(std::vector<EdgeKey>& keys,
              const std::unordered_map<ExecutionId, std::vector<EdgeKey>>& own,
              const ExecutionId& execution) {
    if (auto it = own.find(execution); it != own.end()) {
        keys.insert(keys.end(), it->second.begin(), it->second.end());
        std::ranges::sort(keys);
        keys.erase(std::ranges::unique(keys).begin(), keys.end());
    }
}

}  // namespace

void Snapshot::load_outbound(const ExecutionId& upstream, std::vector<EdgeKey> keys) {
    ExecutionCell& target = cell(upstream);
    if (!target.outbound) {
        join_own(keys, own_outbound_, upstream);
        target.outbound = std::move(keys);
    }
}

void Snapshot::load_inbound(const ExecutionId& downstream, std::vector<EdgeKey> keys) {
    ExecutionCell& target = cell(downstream);
    if (!target.inbound) {
        join_own(keys, own_inbound_, downstream);
        target.inbound = std::move(keys);
    }
}

void Snapshot::load_edges_of(const FlowId& flow) {
    FlowCell& target = flows[flow];
    if (target.edges_known) {
        return;
    }
    target.edges_known = true;
}

void Snapshot::load_group(const ExecutionId& downstream, std::optional<EdgeGroup> row,
                          std::optional<EdgeKey> only_edge) {
    ExecutionCell& target = cell(downstream);
    if (!target.group.loaded) {
        target.group.load(std::move(row));
        target.only_edge = only_edge;
    }
}

const std::vector<EdgeKey>& Snapshot::made_inbound(const ExecutionId& downstream) const {
    static const std::vector<EdgeKey> none;
    const auto it = own_inbound_.find(downstream);
    return it == own_inbound_.end() ? none : it->second;
}

void Snapshot::load_work(const FlowWorkKey& key, std::optional<FlowWork> row) {
    flow_work[key].load(std::move(row));
}

ExecutionCell& Snapshot::cell(const ExecutionId& id) {
    auto [it, fresh] = by_id_.try_emplace(id, nullptr);
    if (fresh) {
        ExecutionCell& made = cells.add();
        made.id = id;
        it->second = &made;
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
    if (cell.execution.current()) {
        by_eid_[cell.execution.current()->eid] = &cell;
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

void Snapshot::apply(Changes&& changes) {
    waits.apply(changes);
    streams.apply(changes);
    limits.apply(changes);
    flow_tally.add(changes.flow_tally);
    std::ranges::move(changes.put_routes, std::back_inserter(new_routes));
    for (auto& lane : changes.put_lanes) {
        auto name = lane.name;
        lanes[name].put(std::move(lane));
    }
    for (auto& row : changes.put_executions) {
        ExecutionCell& target = cell(row.id);
        if (!target.execution.current()) {
            // New, perhaps in place of one this batch deletes: no grant and no attempt is its own.
            target.grant = {};
            target.grant.load(std::nullopt);
            target.attempts.clear();
        }
        if (row.flow_id) {
            join_member(*row.flow_id, row.id);
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
    for (const WebhookId& id : changes.delete_webhooks) {
        webhooks[id].erase();
    }
    for (Webhook& row : changes.put_webhooks) {
        const WebhookId id = row.id;
        webhooks[id].put(std::move(row));
    }
    apply_flows(changes);
    std::ranges::move(changes.events, std::back_inserter(events));
    std::ranges::move(changes.log_events, std::back_inserter(log_events));
}

void Snapshot::join_member(const FlowId& flow, const ExecutionId& member) {
    auto it = flows.find(flow);
    if (it == flows.end() || !it->second.members) {
        return;
    }
    auto& ids = *it->second.members;
    const auto place = std::ranges::lower_bound(ids, member);
    if (place == ids.end() || *place != member) {
        ids.insert(place, member);
    }
}

void Snapshot::apply_flows(Changes& changes) {
    for (auto& row : changes.put_flows) {
        const FlowId id = row.id;
        FlowCell& target = flows[id];
        if (target.flow.loaded && !target.flow.current()) {
            // New: all there is of it is what the batch makes, and has made just now.
            load_members(id, {});
            target.edges_known = true;
        }
        target.flow.put(std::move(row));
    }
    for (const FlowId& id : changes.delete_flows) {
        flows[id].flow.erase();
        flows[id].deleted = true;
    }
    for (auto& row : changes.put_edges) {
        const EdgeKey key = row.key;
        const auto join = [&key](std::optional<std::vector<EdgeKey>>& keys) {
            if (keys) {
                const auto place = std::ranges::lower_bound(*keys, key);
                if (place == keys->end() || *place != key) {
                    keys->insert(place, key);
                }
            }
        };
        Tracked<Edge>& target = edges[key];
        if (!target.current()) {
            join(cell(row.upstream).outbound);
            join(cell(row.downstream).inbound);
            own_outbound_[row.upstream].push_back(key);
            own_inbound_[row.downstream].push_back(key);
        }
        target.put(std::move(row));
    }
    for (auto& row : changes.put_groups) {
        cell(row.downstream).group.put(std::move(row));
    }
    for (const auto& key : changes.delete_work) {
        flow_work[key].erase();
    }
    for (auto& row : changes.put_work) {
        const FlowWorkKey key = row.key;
        flow_work[key].put(std::move(row));
    }
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
    webhooks.clear();
    flows.clear();
    edges.clear();
    flow_work.clear();
    if (!waits.empty()) {
        waits.clear();
    }
    if (!streams.empty()) {
        streams.clear();
    }
    if (!limits.empty()) {
        limits.clear();
    }
    events.clear();
    log_events.clear();
    flow_tally = {};
    empty(by_id_);
    empty(by_eid_);
    empty(own_outbound_);
    empty(own_inbound_);
    leased_by_.clear();
    parked_.clear();
    parked_partly_.clear();
}

}  // namespace ff::core
