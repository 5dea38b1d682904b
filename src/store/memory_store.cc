#include "store/memory_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "store/implied.h"
#include "store/memory_internal.h"
#include "store/prepare.h"
#include "store/value_codec.h"

namespace ff::store {

using core::Execution;
using core::ExecutionCell;
using core::Snapshot;
using core::TimerKind;

namespace {

/// Marks the rows that expired up to `until`, the earliest first.
template <class Map, class Swept>
std::uint64_t sweep(const Map& map, TimestampMs until, std::size_t limit, Swept& swept) {
    std::set<std::pair<TimestampMs, typename Map::key_type>> expired;
    for (const auto& [key, row] : map) {
        if (row.expires_at <= until && !swept.contains(key)) {
            expired.emplace(row.expires_at, key);
        }
    }
    std::uint64_t count = 0;
    for (const auto& [at, key] : expired) {
        if (count == limit) {
            break;
        }
        swept.insert(key);
        ++count;
    }
    return count;
}

}  // namespace

// ------------------------------------------------------------------------------ start and end

std::unique_ptr<MemoryStore> MemoryStore::make(const EngineOptions& options) {
    return std::unique_ptr<MemoryStore>(new MemoryStore(options));
}

MemoryStore::MemoryStore(const EngineOptions& options) : rows_(std::make_unique<MemoryRows>()) {
    info_.backend = BackendTag::sqlite;
    info_.family = "memory";
    info_.version = "1.0.0";
    info_.durability = "none (in memory)";
    info_.location = "memory";
    info_.partitions.flow = options.flow_partitions.value_or(1);
}

MemoryStore::~MemoryStore() = default;

void MemoryStore::fail_next_commit(Error error) {
    std::lock_guard lock(mutex_);
    fail_next_ = std::move(error);
}

std::int64_t MemoryStore::next_eid(TimestampMs) { return next_eid_++; }

std::int64_t MemoryStore::next_route_id() { return next_route_++; }

expected<void> MemoryStore::begin() {
    FF_CHECK(!swept_, "a transaction is open already");
    swept_ = std::make_unique<Swept>();
    eid_at_begin_ = next_eid_;
    route_at_begin_ = next_route_;
    event_at_begin_ = next_event_;
    return {};
}

void MemoryStore::rollback() {
    if (swept_) {
        swept_.reset();
        next_eid_ = eid_at_begin_;
        next_route_ = route_at_begin_;
        next_event_ = event_at_begin_;
    }
}

// ------------------------------------------------------------------------------------ loading

void MemoryStore::load_rest(ExecutionCell& cell, core::InputNeed input, bool grant,
                            bool attempt) const {
    const auto& current = cell.execution.current();
    if (!current) {
        if (grant) {
            cell.grant.load(std::nullopt);  // should the batch create it, there is none
        }
        return;
    }
    if (!cell.input.loaded && needs_input(input, *current)) {
        cell.input.load(find_row(rows_->inputs, current->eid));
    }
    if (grant && !cell.grant.loaded) {
        cell.grant.load(find_row(rows_->grants, current->eid, swept_->grants));
    }
    if (attempt && needs_attempt(*current)) {
        const std::uint32_t index = *current->current_attempt_index;
        cell.attempts[index].load(find_row(rows_->attempts, {current->eid, index}));
    }
}

void MemoryStore::load_cell(ExecutionCell& cell, core::InputNeed input, bool grant,
                            bool attempt) const {
    if (!cell.execution.loaded) {
        cell.execution.load(rows_->execution(cell.id));
    }
    load_rest(cell, input, grant, attempt);
}

expected<void> MemoryStore::load(const core::ReadSet& set, Snapshot& snapshot) {
    FF_CHECK(swept_, "no transaction is open");
    for (const auto& need : set.executions) {
        ExecutionCell& cell = snapshot.cell(need.id);
        if (need.fresh) {
            cell.execution.load(std::nullopt);
            continue;
        }
        load_cell(cell, need.input, need.grant, need.attempt);
        found_cell(cell, snapshot);
    }
    for (const auto& name : set.lanes) {
        snapshot.load_lane(name, find_row(rows_->lanes, name));
    }
    for (const auto& key : set.idempotency) {
        snapshot.load_idempotency(key, find_row(rows_->idempotency, key, swept_->idempotency));
    }
    for (const WebhookId& id : set.webhooks) {
        snapshot.webhooks[id].load(find_row(rows_->webhooks, id));
    }
    for (const auto& key : set.workers) {
        snapshot.load_worker(key, find_row(rows_->workers, key));
    }
    for (const auto& [flow, need] : set.members) {
        load_members(flow, need, snapshot);
    }
    load_flows(set, snapshot);
    for (const auto& key : set.leased_by) {
        std::map<Eid, ExecutionId> leased;
        for (Eid eid : rows_->leased()) {
            const Execution& e = rows_->executions.at(eid);
            if (e.worker_instance_id == key.worker_instance_id &&
                rows_->routes.at(e.route).key.ns == key.ns) {
                leased.emplace(eid, e.id);
            }
        }
        std::vector<ExecutionId> ids;
        for (const auto& [eid, id] : leased) {
            ExecutionCell& cell = snapshot.cell(id);
            load_cell(cell, core::InputNeed::if_tagged, false, false);
            found_cell(cell, snapshot);
            ids.push_back(id);
        }
        snapshot.load_leased_by(key, std::move(ids));
    }
    load_waits(set.waits, snapshot.waits);
    load_streams(set.streams, snapshot);
    load_limits(set.limits, snapshot);
    return {};
}

expected<void> MemoryStore::load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                                 Snapshot& snapshot) {
    FF_CHECK(swept_, "no transaction is open");
    for (Eid eid : eids) {
        ExecutionCell* cell = snapshot.find_cell(eid);
        if (cell == nullptr) {
            auto row = find_row(rows_->executions, eid);
            if (!row) {
                continue;  // the caller finds no cell
            }
            cell = &snapshot.cell(row->id);
            cell->execution.load(std::move(row));
            found_cell(*cell, snapshot);
        }
        load_rest(*cell, input, false, attempt);
    }
    return {};
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<core::ReadyKey>> MemoryStore::scan_ready(
    RouteId route, const std::optional<core::ReadyKey>& after, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<core::ReadyKey> out;
    const core::ReadyKey cursor{route, after ? after->rank : lowest<std::int32_t>,
                                after ? after->place : lowest<Eid>,
                                std::numeric_limits<Eid>::max()};
    for (auto it = rows_->ready.upper_bound(cursor);
         it != rows_->ready.end() && it->route == route && out.size() < limit; ++it) {
        out.push_back(*it);
    }
    return out;
}

expected<TurnPage> MemoryStore::lock_turns(std::span<const RouteId> queues) {
    FF_CHECK(swept_, "no transaction is open");
    TurnPage out;
    for (const RouteId queue : queues) {
        for (auto it = rows_->turns.lower_bound({queue, lowest<Eid>});
             it != rows_->turns.end() && it->queue == queue; ++it) {
            out.holders.push_back(*it);
        }
    }
    return out;
}

expected<std::vector<core::TimerKey>> MemoryStore::scan_due(TimestampMs now, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<core::TimerKey> out;
    for (auto kind : {TimerKind::lease, TimerKind::wake, TimerKind::retention}) {
        for (auto it = rows_->first_timer(kind); it != rows_->timers.end() && it->kind == kind &&
                                                 it->due_at <= now && out.size() < limit;
             ++it) {
            out.push_back(*it);
        }
    }
    return out;
}

expected<std::optional<TimestampMs>> MemoryStore::next_due(TimestampMs after) {
    FF_CHECK(swept_, "no transaction is open");
    std::optional<TimestampMs> earliest;
    for (auto kind : {TimerKind::lease, TimerKind::wake, TimerKind::retention}) {
        auto it = rows_->timers.upper_bound({kind, after, std::numeric_limits<Eid>::max()});
        if (it != rows_->timers.end() && it->kind == kind) {
            earliest = earliest ? std::min(*earliest, it->due_at) : it->due_at;
        }
    }
    const auto take_first_after = [&]<class Key>(const std::set<std::pair<TimestampMs, Key>>& times,
                                                 const Key& lowest_key) {
        const bool last = after == std::numeric_limits<TimestampMs>::max();
        const auto it = last ? times.end() : times.lower_bound({after + 1, lowest_key});
        if (it != times.end()) {
            earliest = earliest ? std::min(*earliest, it->first) : it->first;
        }
    };
    take_first_after(rows_->flow_timers, FlowId{});
    take_first_after(rows_->work_due, core::FlowWorkKey{{}, core::FlowWorkKind::counted, {}});
    take_first_after(rows_->limit_timers, core::LimitKey{});
    return earliest;
}

expected<std::vector<Eid>> MemoryStore::scan_bucket(core::Bucket bucket, Eid after,
                                                    std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<Eid> out;
    for (auto it = rows_->listed.upper_bound({bucket, after});
         it != rows_->listed.end() && it->first == bucket && out.size() < limit; ++it) {
        out.push_back(it->second);
    }
    return out;
}

expected<std::vector<Eid>> MemoryStore::scan_all(Eid after, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<Eid> out;
    for (auto it = rows_->executions.upper_bound(after);
         it != rows_->executions.end() && out.size() < limit; ++it) {
        out.push_back(it->first);
    }
    return out;
}

expected<std::vector<core::WorkerKey>> MemoryStore::scan_dead_workers(TimestampMs now,
                                                                      std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<core::WorkerKey> out;
    for (const auto& [key, row] : rows_->workers) {
        if (!row.live(now) && out.size() < limit) {
            out.push_back(key);
        }
    }
    return out;
}

expected<std::vector<core::WorkerRow>> MemoryStore::live_workers(TimestampMs now) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<core::WorkerRow> out;
    for (const auto& [key, row] : rows_->workers) {
        if (row.live(now)) {
            out.push_back(row);
        }
    }
    return out;
}

// ------------------------------------------------------------------------------------- upkeep

expected<std::uint64_t> MemoryStore::sweep_grants(TimestampMs before, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    return sweep(rows_->grants, before, limit, swept_->grants);
}

expected<std::uint64_t> MemoryStore::sweep_idempotency(TimestampMs now, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    return sweep(rows_->idempotency, now, limit, swept_->idempotency);
}

expected<std::uint64_t> MemoryStore::sweep_usage_dedup(TimestampMs now, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    return sweep(rows_->dedups, now, limit, swept_->dedups);
}

expected<std::uint64_t> MemoryStore::trim_events(EventFamily family, std::int64_t through) {
    FF_CHECK(swept_, "no transaction is open");
    std::uint64_t count = 0;
    if (core::is_history(family)) {
        for (auto it = rows_->events.upper_bound(rows_->event_floor(family));
             it != rows_->events.end() && it->first <= through; ++it) {
            count += swept_->events.insert(it->first).second ? 1 : 0;
        }
    } else {
        for (const auto& [id, event] : rows_->log_events) {
            count += id <= through && event.family == core::log_family(family) &&
                             swept_->log_events.insert(id).second
                         ? 1
                         : 0;
        }
    }
    return count;
}

void MemoryStore::write_swept(Journal& journal) {
    for (Eid eid : swept_->grants) {
        journal.erase(rows_->grants, eid);
    }
    for (const auto& key : swept_->idempotency) {
        journal.erase(rows_->idempotency, key);
    }
    for (const auto& key : swept_->dedups) {
        journal.erase(rows_->dedups, key);
    }
    const auto mark = [&](EventFamily family, std::int64_t id) {
        journal.put(rows_->event_trims, family, core::EventTrim{family, id});
    };
    for (std::int64_t id : swept_->events) {
        const core::ExecutionEvent& event = rows_->events.at(id);
        if (event.outcome) {
            mark(EventFamily::completion, id);
        }
        if (event.type != core::LeaseEventType::none) {
            mark(EventFamily::lease_history, id);
        }
        const bool kept =
            event.type != core::LeaseEventType::renewed && rows_->executions.contains(event.eid);
        if (!kept) {
            journal.erase(rows_->events, id);
        } else if (core::cuts_history(event)) {
            cut_history(journal, event);
        }
    }
    for (std::int64_t id : swept_->log_events) {
        mark(core::event_family(rows_->log_events.at(id).family), id);
        if (const auto eid = rows_->log_events.at(id).eid) {
            journal.remove(rows_->log_by_execution, {*eid, id});
        }
        journal.erase(rows_->log_events, id);
    }
}

// ------------------------------------------------------------------------------------ writing

void MemoryStore::write_side_sets(Journal& journal, const std::optional<Execution>& before,
                                  const std::optional<Execution>& after) {
    if (before) {
        journal.remove(rows_->by_route, {before->route, before->eid});
        if (const auto key = core::ready_key(*before)) {
            journal.remove(rows_->ready, *key);
        }
        if (const auto key = core::timer_key(*before)) {
            journal.remove(rows_->timers, *key);
        }
        if (const auto key = core::turn_key(*before)) {
            journal.remove(rows_->turns, *key);
        }
        if (const auto bucket = core::bucket(*before); bucket != core::Bucket::none) {
            journal.remove(rows_->listed, {bucket, before->eid});
        }
        if (before->flow_id) {
            journal.remove(rows_->members, {*before->flow_id, before->id});
        }
    }
    if (after) {
        journal.add(rows_->by_route, {after->route, after->eid});
        if (const auto key = core::ready_key(*after)) {
            journal.add(rows_->ready, *key);
        }
        if (const auto key = core::timer_key(*after)) {
            journal.add(rows_->timers, *key);
        }
        if (const auto key = core::turn_key(*after)) {
            journal.add(rows_->turns, *key);
        }
        if (const auto bucket = core::bucket(*after); bucket != core::Bucket::none) {
            journal.add(rows_->listed, {bucket, after->eid});
        }
        if (after->flow_id) {
            journal.add(rows_->members, {*after->flow_id, after->id});
        }
    }
}

expected<void> MemoryStore::write_input(Journal& journal, const ExecutionCell& cell) {
    const auto& before = cell.input.stored;
    const auto& after = cell.input.current();
    if (before) {
        for (const auto& [key, value] : before->tags) {
            journal.remove(rows_->tags, {key, value, before->eid});
        }
    }
    if (!after) {
        return {};
    }
    if (before) {
        journal.put(rows_->inputs, after->eid, *after);
    } else {
        FF_TRY_VOID(journal.insert(rows_->inputs, after->eid, *after, "the input"));
    }
    for (const auto& [key, value] : after->tags) {
        journal.add(rows_->tags, {key, value, after->eid});
    }
    rows_written_ += 1;
    return {};
}

void MemoryStore::erase_execution(Journal& journal, const Execution& gone) {
    write_side_sets(journal, gone, std::nullopt);
    if (const auto input = find_row(rows_->inputs, gone.eid)) {
        for (const auto& [key, value] : input->tags) {
            journal.remove(rows_->tags, {key, value, gone.eid});
        }
        if (input->idempotency_key) {
            // The key may have expired and been taken by a newer execution: only the own one goes.
            const core::IdempotencyKey key{rows_->routes.at(gone.route).key.ns,
                                           *input->idempotency_key};
            const auto entry = find_row(rows_->idempotency, key);
            if (entry && entry->execution_id == gone.id) {
                journal.erase(rows_->idempotency, key);
            }
        }
        journal.erase(rows_->inputs, gone.eid);
    }
    for (const core::Attempt& attempt : rows_->attempts_of(gone.eid)) {
        journal.erase(rows_->attempts, {gone.eid, attempt.attempt_index});
    }
    journal.erase(rows_->grants, gone.eid);
    erase_history(journal, gone);
    if (had_waits(gone)) {
        erase_waits(journal, gone.eid);
    }
    if (gone.has_streams) {
        erase_streams(journal, gone.eid);
    }
    if (gone.budgets || gone.quota) {
        erase_attachments(journal, {LimitTarget::execution, gone.id.to_string()});
    }
    journal.erase(rows_->eid_of, gone.id);
    journal.erase(rows_->executions, gone.eid);
}

void MemoryStore::cut_history(Journal& journal, const core::ExecutionEvent& head) {
    const std::uint64_t cut = head.lease_epoch - core::history_epochs;
    auto next = head.previous_event_id;
    while (next) {
        const auto event = find_row(rows_->events, *next);
        if (event && event->lease_epoch <= cut) {
            journal.erase(rows_->events, *next);
        }
        next = event ? event->previous_event_id : std::nullopt;
    }
}

/// What the trimmer has left of it; it will find the rest.
void MemoryStore::erase_history(Journal& journal, const Execution& gone) {
    const std::int64_t floor = rows_->event_floor(EventFamily::lease_history);
    auto next = gone.last_event_id;
    while (next) {
        const auto event = find_row(rows_->events, *next);
        if (event && *next <= floor) {
            journal.erase(rows_->events, *next);
        }
        next = event ? event->previous_event_id : std::nullopt;
    }
}

expected<void> MemoryStore::write_cell(Journal& journal, ExecutionCell& cell, TimestampMs now,
                                       DurationMs retention_default_ms) {
    if (cell.deleted) {
        if (cell.execution.stored) {
            erase_execution(journal, *cell.execution.stored);
        }
        forget_deleted(cell);
    }
    if (cell.execution.dirty && cell.execution.current()) {
        Execution& after = cell.execution.edit();
        const auto& before = cell.execution.stored;
        core::arm_timer(before, after, now, retention_default_ms);
        if (before) {
            journal.put(rows_->executions, after.eid, after);
        } else {
            FF_TRY_VOID(journal.insert(rows_->executions, after.eid, after, "the execution"));
            FF_TRY_VOID(journal.insert(rows_->eid_of, after.id, after.eid, "the execution id"));
        }
        write_side_sets(journal, before, cell.execution.current());
        rows_written_ += 1;
    }
    if (cell.input.dirty) {
        FF_TRY_VOID(write_input(journal, cell));
    }
    for (const auto& [index, attempt] : cell.attempts) {
        if (attempt.dirty && attempt.current()) {
            journal.put(rows_->attempts, {attempt.current()->eid, index}, *attempt.current());
            rows_written_ += 1;
        }
    }
    if (cell.grant.dirty && cell.grant.current()) {
        journal.put(rows_->grants, cell.grant.current()->eid, *cell.grant.current());
    } else if (cell.grant.dirty && cell.execution.current()) {
        journal.erase(rows_->grants, cell.execution.current()->eid);
    }
    return {};
}

expected<void> MemoryStore::write_all(Journal& journal, Snapshot& snapshot, TimestampMs now,
                                      DurationMs retention_default_ms) {
    number_events(snapshot, next_event_);
    settle_waits(snapshot);
    for (const ExecutionId& id : leave_out_implied(snapshot)) {
        spell_out_edges(journal, id);
    }
    for (core::Route route : snapshot.new_routes) {
        split_capabilities(route);
        const core::RouteKey key = route.key;
        const core::RouteId id = route.id;
        FF_TRY_VOID(journal.insert(rows_->route_of, key, id, "the route"));
        FF_TRY_VOID(journal.insert(rows_->routes, id, std::move(route), "the route number"));
    }
    for (const auto& [name, lane] : snapshot.lanes) {
        if (lane.dirty && lane.current()) {
            journal.put(rows_->lanes, name, *lane.current());
        }
    }
    for (auto& cell : snapshot.cells) {
        FF_TRY_VOID(write_cell(journal, cell, now, retention_default_ms));
    }
    const auto write_tracked = [&](auto& map, const auto& tracked) {
        for (const auto& [key, row] : tracked) {
            if (row.dirty && row.current()) {
                journal.put(map, key, *row.current());
            } else if (row.dirty) {
                journal.erase(map, key);
            }
        }
    };
    write_tracked(rows_->idempotency, snapshot.idempotency_entries);
    write_tracked(rows_->workers, snapshot.workers);
    write_tracked(rows_->webhooks, snapshot.webhooks);
    FF_TRY_VOID(write_flows(journal, snapshot, retention_default_ms));
    FF_TRY_VOID(write_waits(journal, snapshot.waits));
    FF_TRY_VOID(write_streams(journal, snapshot.streams));
    write_limits(journal, snapshot.limits);
    for (const auto& event : snapshot.events) {
        FF_TRY_VOID(journal.insert(rows_->events, event.event_id, event, "the event"));
    }
    for (const auto& event : snapshot.log_events) {
        FF_TRY_VOID(journal.insert(rows_->log_events, event.event_id, event, "the event"));
        if (event.eid) {
            journal.add(rows_->log_by_execution, {*event.eid, event.event_id});
        }
    }
    rows_written_ += snapshot.events.size() + snapshot.log_events.size();
    return {};
}

expected<void> MemoryStore::finish(const std::function<expected<void>(Journal&)>& write) {
    FF_CHECK(swept_, "no transaction is open");
    expected<void> done;
    {
        std::lock_guard lock(mutex_);
        Journal journal;
        write_swept(journal);
        done = write(journal);
        if (done && fail_next_) {
            done = std::unexpected(*std::exchange(fail_next_, std::nullopt));
        }
        if (!done) {
            journal.undo_all();
        }
    }
    if (!done) {
        rollback();
        return done;
    }
    swept_.reset();
    return {};
}

expected<void> MemoryStore::commit(Snapshot& snapshot, TimestampMs now,
                                   DurationMs retention_default_ms) {
    FF_TRY_VOID(finish(
        [&](Journal& journal) { return write_all(journal, snapshot, now, retention_default_ms); }));
    for (const auto& route : snapshot.new_routes) {
        routes_.add(rows_->routes.at(route.id));
    }
    return {};
}

expected<void> MemoryStore::commit_upkeep() {
    return finish([](Journal&) { return expected<void>(); });
}

// ------------------------------------------------------------------------------------ reading

expected<void> MemoryStore::read(const std::function<expected<void>(Reader&)>& body) {
    std::lock_guard lock(mutex_);
    MemoryReader reader(*rows_);
    return body(reader);
}

}  // namespace ff::store
