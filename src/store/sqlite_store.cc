#include "store/sqlite_store.h"

#include <sqlite3.h>

#include "base/check.h"
#include "store/implied.h"
#include "store/prepare.h"
#include "store/ready_row.h"
#include "store/sql_scans.h"
#include "store/sqlite_internal.h"

namespace ff::store {

using core::Execution;
using core::ExecutionCell;
using core::Snapshot;

std::int64_t SqliteStore::next_eid(TimestampMs) { return next_eid_++; }

std::int64_t SqliteStore::next_route_id() { return next_route_++; }

expected<void> SqliteStore::begin() {
    FF_CHECK(!in_transaction_, "a transaction is open already");
    {
        std::lock_guard lock(durable_mutex_);
        if (broken_) {
            return std::unexpected(*broken_);
        }
    }
    if (path_.empty()) {
        memory_mutex_.lock();
    }
    eid_at_begin_ = next_eid_;
    route_at_begin_ = next_route_;
    event_at_begin_ = next_event_;
    deleted_executions_ = false;
    auto begun = hot_->begin.run();
    in_transaction_ = begun.has_value();
    if (!begun && path_.empty()) {
        memory_mutex_.unlock();
    }
    return begun;
}

void SqliteStore::rollback() {
    if (!in_transaction_) {
        return;
    }
    in_transaction_ = false;
    next_eid_ = eid_at_begin_;
    next_route_ = route_at_begin_;
    next_event_ = event_at_begin_;
    if (sqlite3_get_autocommit(db_->handle()) == 0) {
        if (auto undone = db_->execute("ROLLBACK"); !undone) {
            warn_("rolling back: " + undone.error().message());
        }
    }
    if (path_.empty()) {
        memory_mutex_.unlock();
    }
}

// ------------------------------------------------------------------------------------ loading

expected<void> SqliteStore::load_rest(ExecutionCell& cell, core::InputNeed input, bool grant,
                                      bool attempt) {
    const auto& current = cell.execution.current();
    if (grant && !current) {
        cell.grant.load(std::nullopt);  // should the batch create it, there is none
    }
    if (!cell.input.loaded && current && needs_input(input, *current)) {
        hot_->input_by_eid.integer(current->eid);
        FF_TRY(auto row, select_one<core::ExecutionInput>(hot_->input_by_eid));
        cell.input.load(std::move(row));
    }
    if (grant && !cell.grant.loaded && current) {
        Statement& s = hot_->texts.get(sql::grant_by_eid);
        s.integer(current->eid);
        FF_TRY(auto row, select_one<core::GrantRow>(s));
        cell.grant.load(std::move(row));
    }
    if (attempt && current && needs_attempt(*current) &&
        !cell.attempts[*current->current_attempt_index].loaded) {
        Statement& s = hot_->texts.get(sql::attempt_by_key);
        s.integer(current->eid);
        s.integer(*current->current_attempt_index);
        FF_TRY(auto row, select_one<core::Attempt>(s));
        cell.attempts[*current->current_attempt_index].load(std::move(row));
    }
    return {};
}

expected<std::optional<Execution>> SqliteStore::select_execution(Statement& bound) {
    FF_TRY(auto row, select_one<Execution>(bound));
    if (row && routes_.find(row->route) == nullptr) {
        return ff::fail(ErrorCode::corruption,
                        "route " + std::to_string(row->route) + " is missing");
    }
    return row;
}

expected<void> SqliteStore::load_cell(ExecutionCell& cell, core::InputNeed input, bool grant,
                                      bool attempt) {
    if (!cell.execution.loaded) {
        if (auto known = warm_.take(cell.id)) {
            cell.execution.load(std::move(known));
            return load_rest(cell, input, grant, attempt);
        }
        hot_->execution_by_id.bytes_copy(cell.id.raw());
        FF_TRY(auto row, select_execution(hot_->execution_by_id));
        cell.execution.load(std::move(row));
    }
    return load_rest(cell, input, grant, attempt);
}

expected<void> SqliteStore::load(const core::ReadSet& set, Snapshot& snapshot) {
    for (const auto& need : set.executions) {
        ExecutionCell& cell = snapshot.cell(need.id);
        if (need.fresh) {
            cell.execution.load(std::nullopt);
            continue;
        }
        FF_TRY_VOID(load_cell(cell, need.input, need.grant, need.attempt));
        FF_TRY_VOID(found_cell(cell, snapshot));
    }
    for (const auto& name : set.lanes) {
        if (!snapshot.lanes[name].loaded) {
            Statement& s = hot_->texts.get(sql::lane_by_name);
            s.text(name);
            FF_TRY(auto row, select_one<core::Lane>(s));
            snapshot.load_lane(name, std::move(row));
        }
    }
    for (const auto& key : set.idempotency) {
        if (!snapshot.idempotency_entries[key].loaded) {
            Statement& s = hot_->texts.get(sql::idempotency_by_key);
            s.text(key.ns);
            s.text(key.key);
            FF_TRY(auto row, select_one<core::IdempotencyEntry>(s));
            snapshot.load_idempotency(key, std::move(row));
        }
    }
    for (const WebhookId& id : set.webhooks) {
        if (!snapshot.webhooks[id].loaded) {
            Statement& s = hot_->texts.get(sql::webhook_by_id);
            put_value(s, Kind::bytes, id);
            FF_TRY(auto row, select_one<core::Webhook>(s));
            snapshot.webhooks[id].load(std::move(row));
        }
    }
    for (const auto& key : set.workers) {
        if (!snapshot.workers[key].loaded) {
            Statement& s = hot_->texts.get(sql::worker_by_key);
            s.text(key.ns);
            s.text(key.worker_instance_id);
            FF_TRY(auto row, select_one<core::WorkerRow>(s));
            snapshot.load_worker(key, std::move(row));
        }
    }
    for (const auto& key : set.leased_by) {
        Statement& s = hot_->texts.get(sql::leased_by_instance);
        s.text(key.worker_instance_id);
        s.text(key.ns);
        FF_TRY(auto ids, collect_ids<ExecutionId>(s, "id"));
        FF_TRY(ids, load_readable(ids, [&](const ExecutionId& id) -> expected<void> {
                   ExecutionCell& cell = snapshot.cell(id);
                   FF_TRY_VOID(load_cell(cell, core::InputNeed::if_tagged, false, false));
                   return found_cell(cell, snapshot);
               }));
        snapshot.load_leased_by(key, std::move(ids));
    }
    FF_TRY_VOID(load_flows(set, snapshot));
    FF_TRY_VOID(load_waits(set.waits, snapshot.waits));
    FF_TRY_VOID(load_streams(set.streams, snapshot));
    return set.limits.empty() ? expected<void>() : load_limits(set.limits, snapshot);
}

expected<void> SqliteStore::load(std::span<const Eid> eids, core::InputNeed input, bool attempt,
                                 Snapshot& snapshot) {
    for (Eid eid : eids) {
        ExecutionCell* cell = snapshot.find_cell(eid);
        if (cell == nullptr) {
            std::optional<Execution> row = warm_.take(eid);
            if (!row) {
                hot_->execution_by_eid.integer(eid);
                FF_TRY(row, select_execution(hot_->execution_by_eid));
            }
            if (!row) {
                continue;  // a side table named it, and it is gone: the caller finds no cell
            }
            cell = &snapshot.cell(row->id);
            cell->execution.load(std::move(row));
            FF_TRY_VOID(found_cell(*cell, snapshot));
        }
        FF_TRY_VOID(load_rest(*cell, input, false, attempt));
    }
    return {};
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<core::ReadyKey>> SqliteStore::scan_ready(
    RouteId route, const std::optional<core::ReadyKey>& after, std::size_t limit) {
    return ready_of_route(hot_->ready_head, route, after, limit);
}

expected<std::vector<core::TimerKey>> SqliteStore::scan_due(TimestampMs now, std::size_t limit) {
    return due_timers(hot_->texts, now, limit);
}

expected<std::optional<TimestampMs>> SqliteStore::next_due(TimestampMs after) {
    return earliest_due(hot_->texts, after);
}

expected<TurnPage> SqliteStore::lock_turns(std::span<const RouteId> queues) {
    TurnPage out;
    for (const RouteId queue : queues) {
        Statement& s = hot_->texts.get(sql::turns_of_queue);
        s.integer(queue);
        for (;;) {
            FF_TRY(const bool found, s.step());
            if (!found) {
                break;
            }
            out.holders.push_back({queue, s.integer()});
        }
        s.reset();
    }
    return out;
}

expected<std::vector<Eid>> SqliteStore::scan_bucket(core::Bucket bucket, Eid after,
                                                    std::size_t limit) {
    return eids_in_bucket(hot_->texts, bucket, after, limit);
}

expected<std::vector<Eid>> SqliteStore::scan_all(Eid after, std::size_t limit) {
    return eids_after(hot_->texts, after, limit);
}

expected<std::vector<core::WorkerKey>> SqliteStore::scan_dead_workers(TimestampMs now,
                                                                      std::size_t limit) {
    return dead_workers(hot_->texts, now, limit);
}

expected<std::vector<core::WorkerRow>> SqliteStore::live_workers(TimestampMs now) {
    return live_workers_in(hot_->texts, now);
}

// ------------------------------------------------------------------------------------- upkeep

expected<std::uint64_t> SqliteStore::sweep_grants(TimestampMs before, std::size_t limit) {
    FF_CHECK(in_transaction_, "no transaction is open");
    Statement& s = hot_->texts.get(sql::grants_sweep);
    s.integer(before);
    s.integer(static_cast<std::int64_t>(limit));
    FF_TRY_VOID(s.run());
    return static_cast<std::uint64_t>(db_->changes());
}

expected<std::uint64_t> SqliteStore::sweep_idempotency(TimestampMs now, std::size_t limit) {
    FF_CHECK(in_transaction_, "no transaction is open");
    Statement& s = hot_->texts.get(sql::idempotency_sweep);
    s.integer(now);
    s.integer(static_cast<std::int64_t>(limit));
    FF_TRY_VOID(s.run());
    return static_cast<std::uint64_t>(db_->changes());
}

expected<std::uint64_t> SqliteStore::sweep_usage_dedup(TimestampMs now, std::size_t limit) {
    FF_CHECK(in_transaction_, "no transaction is open");
    Statement& s = hot_->texts.get(sql::dedup_sweep);
    s.integer(now);
    s.integer(static_cast<std::int64_t>(limit));
    FF_TRY_VOID(s.run());
    return static_cast<std::uint64_t>(db_->changes());
}

expected<std::uint64_t> SqliteStore::trim_events(EventFamily family, std::int64_t through) {
    FF_CHECK(in_transaction_, "no transaction is open");
    FF_TRY(const std::uint64_t gone, trim_through(hot_->texts, family, through));
    if (gone > 0) {
        Statement& s = hot_->texts.get(sql::meta_put);
        s.text("event_high");
        s.integer(next_event_ - 1);
        FF_TRY_VOID(s.run());
    }
    return gone;
}

// ------------------------------------------------------------------------------------ writing

/// The side tables, a statement a key.
struct SqliteStore::Sides {
    Hot& hot;

    static expected<void> run(Statement& s, const core::ReadyKey& key) {
        s.integer(key.route);
        s.integer(key.rank);
        s.integer(key.place);
        s.integer(stored_eid(key));
        return s.run();
    }
    static expected<void> run(Statement& s, const core::TimerKey& key) {
        s.integer(static_cast<std::int64_t>(key.kind));
        s.integer(key.due_at);
        s.integer(key.eid);
        return s.run();
    }
    static expected<void> run(Statement& s, const core::TurnKey& key) {
        s.integer(key.queue);
        s.integer(key.eid);
        return s.run();
    }
    static expected<void> run(Statement& s, const ListedKey& key) {
        s.integer(static_cast<std::int64_t>(key.first));
        s.integer(key.second);
        return s.run();
    }
    static expected<void> run(Statement& s, const TagRow& tag) {
        s.text(tag.key);
        s.text(tag.value);
        s.integer(tag.eid);
        return s.run();
    }

    expected<void> add(const core::ReadyKey& key) const { return run(hot.ready_insert, key); }
    expected<void> add(const core::TimerKey& key) const { return run(hot.timer_insert, key); }
    expected<void> add(const core::TurnKey& key) const {
        return run(hot.texts.get(sql::turn_insert), key);
    }
    expected<void> add(const ListedKey& key) const { return run(hot.listed_insert, key); }
    expected<void> add(const TagRow& tag) const { return run(hot.texts.get(sql::tag_insert), tag); }
    expected<void> erase(const core::ReadyKey& key) const { return run(hot.ready_delete, key); }
    expected<void> erase(const core::TimerKey& key) const { return run(hot.timer_delete, key); }
    expected<void> erase(const core::TurnKey& key) const {
        return run(hot.texts.get(sql::turn_delete), key);
    }
    expected<void> erase(const ListedKey& key) const { return run(hot.listed_delete, key); }
    expected<void> erase(const TagRow& tag) const {
        return run(hot.texts.get(sql::tag_delete), tag);
    }
};

expected<void> SqliteStore::write_input(ExecutionCell& cell) {
    const auto& before = cell.input.stored;
    const auto& after = cell.input.current();
    if (!before && !after) {
        return {};
    }
    if (after) {
        FF_TRY_VOID(before ? hot_->inputs.update(*before, *after) : hot_->inputs.insert(*after));
        rows_written_ += 1;
    }
    return change_tags(after ? after->eid : before->eid, before ? before->tags : Tags(),
                       after ? after->tags : Tags(), Sides{*hot_});
}

expected<void> SqliteStore::erase_cell(ExecutionCell& cell) {
    if (!cell.execution.stored) {
        return {};
    }
    const Execution& gone = *cell.execution.stored;
    FF_TRY_VOID(change_side_tables(cell.execution.stored, std::nullopt, Sides{*hot_}));
    if (gone.has_tags || gone.has_idempotency_key) {
        // Read anew: the cell may not hold the row, or hold that of a successor.
        hot_->input_by_eid.integer(gone.eid);
        FF_TRY(const auto input, select_one<core::ExecutionInput>(hot_->input_by_eid));
        if (input) {
            FF_TRY_VOID(change_tags(gone.eid, input->tags, {}, Sides{*hot_}));
        }
        const core::Route* route = routes_.find(gone.route);
        if (input && input->idempotency_key && route != nullptr) {
            Statement& s = hot_->texts.get(sql::idempotency_delete_own);
            s.text(route->key.ns);
            s.text(*input->idempotency_key);
            s.bytes_copy(gone.id.raw());
            FF_TRY_VOID(s.run());
        }
    }
    for (const std::string* text : {&sql::input_delete, &sql::attempts_delete}) {
        Statement& s = hot_->texts.get(*text);
        s.integer(gone.eid);
        FF_TRY_VOID(s.run());
    }
    if (gone.last_event_id) {
        Statement& s = hot_->texts.get(sql::history_delete);
        s.integer(*gone.last_event_id);
        FF_TRY_VOID(s.run());
    }
    core::GrantRow grant;
    grant.eid = gone.eid;
    FF_TRY_VOID(hot_->grants.erase(grant));
    if (had_waits(gone)) {
        FF_TRY_VOID(erase_waits(gone.eid));
    }
    if (gone.has_streams) {
        FF_TRY_VOID(erase_streams(gone.eid));
    }
    if (gone.budgets || gone.quota) {
        FF_TRY_VOID(erase_attachments(LimitTarget::execution, gone.id.to_string()));
    }
    deleted_executions_ = true;
    return hot_->executions.erase(gone);
}

expected<void> SqliteStore::write_cell(ExecutionCell& cell, TimestampMs now,
                                       DurationMs retention_default_ms) {
    if (cell.deleted) {
        FF_TRY_VOID(erase_cell(cell));
        forget_deleted(cell);
    }
    if (cell.execution.dirty && cell.execution.current()) {
        Execution& after = cell.execution.edit();
        const auto& before = cell.execution.stored;
        core::arm_timer(before, after, now, retention_default_ms);
        FF_TRY_VOID(before ? hot_->executions.update(*before, after)
                           : hot_->executions.insert(after));
        FF_TRY_VOID(change_side_tables(before, cell.execution.current(), Sides{*hot_}));
        rows_written_ += 1;
    }
    if (cell.input.dirty) {
        FF_TRY_VOID(write_input(cell));
    }
    for (auto& [index, attempt] : cell.attempts) {
        if (attempt.dirty && attempt.current()) {
            FF_TRY_VOID(hot_->attempts.put(*attempt.current()));
            rows_written_ += 1;
        }
    }
    if (cell.grant.dirty) {
        if (cell.grant.current()) {
            FF_TRY_VOID(hot_->grants.put(*cell.grant.current()));
        } else if (cell.execution.current()) {
            core::GrantRow gone;
            gone.eid = cell.execution.current()->eid;
            FF_TRY_VOID(hot_->grants.erase(gone));
        }
    }
    return write_group(cell);
}

expected<void> SqliteStore::write_all(Snapshot& snapshot, TimestampMs now,
                                      DurationMs retention_default_ms) {
    number_events(snapshot, next_event_);
    settle_waits(snapshot);
    for (const ExecutionId& id : leave_out_implied(snapshot)) {
        Statement& s = hot_->texts.get(sql::edges_spell_out);
        put_value(s, Kind::bytes, id);
        FF_TRY_VOID(s.run());
    }
    for (const auto& route : snapshot.new_routes) {
        FF_TRY_VOID(hot_->route_rows.insert(route));
    }
    for (const auto& [name, lane] : snapshot.lanes) {
        if (lane.dirty && lane.current()) {
            FF_TRY_VOID(hot_->lanes.put(*lane.current()));
        }
    }
    for (auto& cell : snapshot.cells) {
        FF_TRY_VOID(write_cell(cell, now, retention_default_ms));
    }
    for (const auto& [key, entry] : snapshot.idempotency_entries) {
        if (entry.dirty) {
            FF_TRY_VOID(entry.current() ? hot_->idempotency.put(*entry.current())
                                        : hot_->idempotency.erase({key, {}, 0}));
        }
    }
    for (const auto& [key, worker] : snapshot.workers) {
        if (worker.dirty) {
            core::WorkerRow gone;
            gone.key = key;
            FF_TRY_VOID(worker.current() ? hot_->workers.put(*worker.current())
                                         : hot_->workers.erase(gone));
        }
    }
    for (const auto& [id, webhook] : snapshot.webhooks) {
        if (webhook.dirty) {
            core::Webhook gone;
            gone.id = id;
            FF_TRY_VOID(webhook.current() ? hot_->webhooks.put(*webhook.current())
                                          : hot_->webhooks.erase(gone));
        }
    }
    FF_TRY_VOID(write_flows(snapshot, retention_default_ms));
    FF_TRY_VOID(write_waits(snapshot.waits));
    FF_TRY_VOID(write_streams(snapshot.streams));
    FF_TRY_VOID(write_limits(snapshot.limits));
    for (const auto& event : snapshot.events) {
        FF_TRY_VOID(hot_->events.insert(event));
    }
    for (const auto& event : snapshot.log_events) {
        FF_TRY_VOID(hot_->log_events.insert(event));
    }
    rows_written_ += snapshot.events.size() + snapshot.log_events.size();
    if (deleted_executions_) {
        Statement& s = hot_->texts.get(sql::meta_put);
        s.text("eid_high");
        s.integer(next_eid_ - 1);
        FF_TRY_VOID(s.run());
    }
    return {};
}

expected<void> SqliteStore::finish_commit() {
    FF_CHECK(in_transaction_, "no transaction is open");
    // Numbered before it becomes visible: a reader that sees this commit waits for this number.
    const std::uint64_t number = commits_.fetch_add(1) + 1;
    auto done = hot_->commit.run();
    if (!done) {
        rollback();
        {
            std::lock_guard lock(durable_mutex_);
            failed_after_ = committed_;
            failed_to_ = number;
        }
        durable_changed_.notify_all();
        return done;
    }
    in_transaction_ = false;
    committed_ = number;
    if (path_.empty()) {
        memory_mutex_.unlock();
    }
    return {};
}

expected<void> SqliteStore::commit(Snapshot& snapshot, TimestampMs now,
                                   DurationMs retention_default_ms) {
    FF_CHECK(in_transaction_, "no transaction is open");
    if (auto written = write_all(snapshot, now, retention_default_ms); !written) {
        rollback();
        return written;
    }
    FF_TRY_VOID(finish_commit());
    for (core::Route route : snapshot.new_routes) {
        split_capabilities(route);
        routes_.add(std::move(route));
    }
    warm_.committed(snapshot);
    return {};
}

expected<void> SqliteStore::commit_upkeep() { return finish_commit(); }

}  // namespace ff::store
