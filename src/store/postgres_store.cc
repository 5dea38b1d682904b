#include "store/postgres_store.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/check.h"
#include "store/implied.h"
#include "store/postgres_internal.h"
#include "store/prepare.h"
#include "store/row_text.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::Execution;
using core::ExecutionCell;
using core::Snapshot;

namespace {

// An eid is a time, the process's slot and a counter: they grow with time over all processes, so
// that who came first is first in a queue.
constexpr int slot_bits = 10;
constexpr int counter_bits = 12;
constexpr TimestampMs eid_epoch = 1'577'836'800'000;  // 2020

/// How long to wait for word of a commit whose answer was lost.
constexpr auto resolve_for = std::chrono::seconds(30);
constexpr auto resolve_pause = std::chrono::milliseconds(100);
/// What the server says to a transaction number that it has not given out yet.
constexpr std::string_view in_the_future = "22023";

}  // namespace

std::int64_t PostgresStore::next_eid(TimestampMs now) {
    // Time and counter as one number: when the counter overflows, the next millisecond begins.
    const std::int64_t earliest = std::max<std::int64_t>(now - eid_epoch, 1) << counter_bits;
    last_number_ = std::max(last_number_ + 1, earliest);
    const std::int64_t time = last_number_ >> counter_bits;
    const std::int64_t counter = last_number_ & ((std::int64_t{1} << counter_bits) - 1);
    return ((time << slot_bits | slot_) << counter_bits) | counter;
}

void PostgresStore::note_eid(Eid highest) {
    const std::int64_t time = highest >> (slot_bits + counter_bits);
    last_number_ = std::max(last_number_, ((time + 1) << counter_bits) - 1);
}

std::int64_t PostgresStore::next_route_id() {
    db_->queue("SELECT nextval('ff_route_number')");
    auto answers = run();
    if (!answers || !answers->back().next()) {
        failed_ = answers ? Error{ErrorCode::internal, "no number for a route", {}}
                          : std::move(answers).error();
        return 0;  // nothing comes of it: commit() fails
    }
    return answers->back().integer();
}

// ---------------------------------------------------------------------------------- transactions

expected<void> PostgresStore::begin() {
    FF_CHECK(!in_transaction_, "a transaction is open already");
    FF_TRY_VOID(stay_connected());
    if (std::exchange(asked_stale_, false) || !new_routes_.empty()) {
        routes_stale_ = true;  // the answer was lost, or nothing came of it
    }
    failed_.reset();
    transaction_.reset();
    new_routes_.clear();
    expected_asks_.clear();
    expected_lanes_.clear();
    ready_pages_.clear();
    locked_flows_ = false;
    locked_limits_ = false;
    locked_keys_ = false;
    impatient_ = false;
    held_flows_.reset();
    due_.reset();
    waiting_.clear();
    proof_.reset();
    begun_ = false;
    in_transaction_ = true;
    db_->queue("BEGIN ISOLATION LEVEL READ COMMITTED");  // goes with the first question
    return {};
}

expected<std::vector<PgRows>> PostgresStore::run() {
    begun_ = true;
    return db_->run_queued();
}

void PostgresStore::rollback() {
    if (!in_transaction_) {
        return;
    }
    in_transaction_ = false;
    db_->forget_queued();
    if (begun_ && db_->alive()) {
        db_->queue("ROLLBACK");
        if (auto undone = db_->run_queued(); !undone) {
            warn_("rolling back: " + undone.error().message());
            texts_.reset();
            db_.reset();  // in what state it is nobody knows: connect anew
        }
    }
}

// --------------------------------------------------------------------------------------- writing

/// What deletes the executions that retention ends, with everything that hangs on them. Their tags
/// and idempotency keys are read first: the cell may not hold them, or those of a successor.
expected<void> PostgresStore::collect_erased(Snapshot& snapshot, Writes& writes) {
    PgArray with_input(PgArray::Type::integers);
    bool any_input = false;
    std::vector<const Execution*> gone;
    for (ExecutionCell& cell : snapshot.cells) {
        if (!cell.deleted || !cell.execution.stored) {
            continue;
        }
        const Execution& e = *cell.execution.stored;
        gone.push_back(&e);
        if (e.has_tags || e.has_idempotency_key) {
            with_input.integer(e.eid);
            any_input = true;
        }
    }
    if (any_input) {
        PgParams params;
        params.array(with_input);
        db_->queue(inputs_by_eid, std::move(params));
        FF_TRY(auto answers, run());
        while (answers.back().next()) {
            core::ExecutionInput input;
            take_columns(answers.back(), input);
            FF_TRY_VOID(answers.back().check());
            FF_TRY_VOID(change_tags(input.eid, input.tags, {}, writes.sides));
            const Execution& e = **std::ranges::find(gone, input.eid, &Execution::eid);
            if (const core::Route* route = routes_.find(e.route);
                input.idempotency_key && route != nullptr) {
                writes.own_keys.erase([&](auto& to) {
                    to[0].text(route->key.ns);
                    to[1].text(*input.idempotency_key);
                    to[2].bytes(e.id.raw());
                });
            }
        }
    }
    for (const Execution* e : gone) {
        FF_TRY_VOID(change_side_tables(*e, std::nullopt, writes.sides));
        const auto put_eid = [&](auto& to) { to[0].integer(e->eid); };
        writes.all_attempts.erase(put_eid);
        if (e->last_event_id) {
            writes.histories.push_back(*e->last_event_id);
        }
        if (had_waits(*e)) {
            writes.all_suspensions.erase(put_eid);
            writes.all_waitpoints.erase(put_eid);
            writes.all_signals.erase(put_eid);
            writes.all_satisfiers.erase(put_eid);
        }
        if (e->has_streams) {
            writes.all_frames.erase(put_eid);
            writes.all_summaries.erase(put_eid);
            writes.all_metas.erase(put_eid);
        }
        if (e->budgets || e->quota) {
            erase_attachments(writes, LimitTarget::execution, e->id.to_string());
        }
        core::ExecutionInput input;
        input.eid = e->eid;
        writes.inputs.erase(input);
        core::GrantRow grant;
        grant.eid = e->eid;
        writes.grants.erase(grant);
        writes.erased.erase(*e);
    }
    return {};
}

/// Whoever holds the lock of the floor waits for nothing but the counter of events.
void PostgresStore::queue_histories(const Writes& writes) {
    if (writes.histories.empty()) {
        return;
    }
    db_->queue(floor_lock("pg_advisory_xact_lock_shared"));
    db_->queue(delete_histories, arrays_of(writes.histories, std::identity()));
}

expected<void> PostgresStore::collect_input(ExecutionCell& cell, Writes& writes) {
    const auto& before = cell.input.stored;
    const auto& after = cell.input.current();
    if (!before && !after) {
        return {};
    }
    if (after) {
        writes.inputs.change(before, *after);
    }
    return change_tags(after ? after->eid : before->eid, before ? before->tags : Tags(),
                       after ? after->tags : Tags(), writes.sides);
}

expected<void> PostgresStore::collect_cell(ExecutionCell& cell, TimestampMs now,
                                           DurationMs retention_default_ms, Writes& writes) {
    if (cell.deleted) {
        forget_deleted(cell);
    }
    if (cell.execution.dirty && cell.execution.current()) {
        core::arm_timer(cell.execution.stored, cell.execution.edit(), now, retention_default_ms);
        writes.executions.change(cell.execution.stored, *cell.execution.current());
        FF_TRY_VOID(
            change_side_tables(cell.execution.stored, cell.execution.current(), writes.sides));
    }
    if (cell.input.dirty) {
        FF_TRY_VOID(collect_input(cell, writes));
    }
    for (auto& [index, attempt] : cell.attempts) {
        if (attempt.dirty && attempt.current()) {
            writes.attempts.put(*attempt.current());
        }
    }
    if (cell.grant.dirty) {
        if (cell.grant.current()) {
            writes.grants.put(*cell.grant.current());
        } else if (cell.execution.current()) {
            core::GrantRow gone;
            gone.eid = cell.execution.current()->eid;
            writes.grants.erase(gone);
        }
    }
    if (cell.group.dirty && cell.group.current() && !cell.group.implied) {
        if (cell.only_edge) {
            writes.groups.insert(*cell.group.current());
        } else {
            writes.groups.change(cell.group.stored, *cell.group.current());
        }
    }
    return {};
}

expected<void> PostgresStore::collect(Snapshot& snapshot, TimestampMs now,
                                      DurationMs retention_default_ms, Writes& writes) {
    for (const auto& route : snapshot.new_routes) {
        writes.routes.insert(route);
    }
    for (const auto& [name, lane] : snapshot.lanes) {
        if (lane.dirty && lane.current()) {
            writes.lanes.change(lane.stored, *lane.current());
        }
    }
    for (ExecutionCell& cell : snapshot.cells) {
        FF_TRY_VOID(collect_cell(cell, now, retention_default_ms, writes));
    }
    for (const auto& [key, entry] : snapshot.idempotency_entries) {
        if (entry.dirty && entry.stored && entry.current() && writes.own_keys.erased() > 0) {
            writes.idempotency.put(*entry.current());  // it may be among those that just went
        } else if (entry.dirty && entry.current()) {
            writes.idempotency.change(entry.stored, *entry.current());
        } else if (entry.dirty) {
            writes.idempotency.erase({key, {}, 0});
        }
    }
    for (const auto& [key, worker] : snapshot.workers) {
        if (worker.dirty && worker.current()) {
            writes.workers.change(worker.stored, *worker.current());
        } else if (worker.dirty) {
            core::WorkerRow gone;
            gone.key = key;
            writes.workers.erase(gone);
        }
    }
    for (const auto& [id, webhook] : snapshot.webhooks) {
        if (webhook.dirty && webhook.current()) {
            writes.webhooks.change(webhook.stored, *webhook.current());
        } else if (webhook.dirty) {
            core::Webhook gone;
            gone.id = id;
            writes.webhooks.erase(gone);
        }
    }
    collect_flows(snapshot, retention_default_ms, writes);
    collect_waits(snapshot.waits, writes);
    collect_streams(snapshot.streams, writes);
    collect_limits(snapshot.limits, writes);
    for (const auto& event : snapshot.events) {
        writes.events.insert(event);
    }
    for (const auto& event : snapshot.log_events) {
        writes.log_events.insert(event);
    }
    return {};
}

/// A row that the commit writes, to find it by.
auto PostgresStore::proof_of(const Snapshot& snapshot) -> std::optional<Proof> {
    for (const ExecutionCell& cell : snapshot.cells) {
        if (const auto& row = cell.execution.current(); cell.execution.dirty && row) {
            return "ff_exec_core WHERE eid = " + std::to_string(row->eid) +
                   " AND last_mutation_at = " + std::to_string(row->last_mutation_at);
        }
    }
    for (const auto& [id, cell] : snapshot.flows) {
        if (cell.flow.dirty && cell.flow.current()) {
            return "ff_flow WHERE flow_id = '\\x" + encode_hex(id.uuid.raw()) +
                   "' AND last_mutation_at = " +
                   std::to_string(cell.flow.current()->last_mutation_at);
        }
    }
    for (const auto& [id, budget] : snapshot.limits.budgets) {
        if (budget.dirty && budget.current() && !snapshot.limits.only_looked_at(id)) {
            return "ff_budget WHERE budget_id = '\\x" + encode_hex(id.uuid.raw()) +
                   "' AND updated_at = " + std::to_string(budget.current()->updated_at);
        }
    }
    for (const auto& [key, meta] : snapshot.streams.metas) {
        if (meta.dirty && meta.current()) {
            return "ff_stream_meta WHERE eid = " + std::to_string(key.eid) +
                   " AND attempt_index = " + std::to_string(key.attempt_index) +
                   " AND frame_count = " + std::to_string(meta.current()->frame_count);
        }
    }
    return std::nullopt;
}

expected<void> PostgresStore::commit(Snapshot& snapshot, TimestampMs now,
                                     DurationMs retention_default_ms) {
    FF_CHECK(in_transaction_, "no transaction is open");
    std::int64_t place = -1;  // of events whose numbers the database gives
    number_events(snapshot, place, -1);
    const std::int64_t events = -1 - place;
    settle_waits(snapshot);
    const std::vector<ExecutionId> spelled_out = leave_out_implied(snapshot);
    Writes writes;
    auto ready = failed_ ? expected<void>(std::unexpected(*failed_)) : expected<void>();
    if (ready) {
        ready = know_transaction();
    }
    if (ready) {
        ready = collect_erased(snapshot, writes);
    }
    if (ready) {
        ready = collect(snapshot, now, retention_default_ms, writes);
    }
    if (!ready) {
        rollback();
        return ready;
    }

    // What may wait for another process comes first, the counter of events last: nobody waits for
    // anything while holding it.
    if (!spelled_out.empty()) {
        db_->queue(spell_out_edges, arrays_of(spelled_out, std::identity()));
    }
    writes.erased.queue(*db_, events);
    writes.own_keys.queue(*db_);
    writes.all_attempts.queue(*db_);
    writes.routes.queue(*db_, events);
    writes.lanes.queue(*db_, events);
    writes.idempotency.queue(*db_, events);
    writes.workers.queue(*db_, events);
    writes.webhooks.queue(*db_, events);
    writes.flows.queue(*db_, events);
    writes.edges.queue(*db_, events);
    writes.groups.queue(*db_, events);
    writes.work.queue(*db_, events);
    writes.budgets.queue(*db_, events);
    queue_waited_for(writes);
    writes.policies.queue(*db_, events);
    writes.ledgers.queue(*db_, events);
    writes.dedups.queue(*db_, events);
    writes.admissions.queue(*db_, events);
    writes.all_attachments.queue(*db_);
    writes.attachments.queue(*db_, events);
    writes.erased_flows.queue(*db_, events);
    writes.all_edges.queue(*db_);
    writes.all_groups.queue(*db_);
    writes.all_work.queue(*db_);
    writes.all_suspensions.queue(*db_);
    writes.all_waitpoints.queue(*db_);
    writes.all_signals.queue(*db_);
    writes.all_satisfiers.queue(*db_);
    writes.retired_keys.queue(*db_, events);
    writes.current_keys.queue(*db_, events);
    writes.suspensions.queue(*db_, events);
    writes.waitpoints.queue(*db_, events);
    writes.signals.queue(*db_, events);
    writes.satisfiers.queue(*db_, events);
    writes.all_frames.queue(*db_);
    writes.all_summaries.queue(*db_);
    writes.all_metas.queue(*db_);
    writes.frames.queue(*db_, events);
    writes.stream_metas.queue(*db_, events);
    writes.summaries.queue(*db_, events);
    queue_trims(snapshot.streams);
    PgChain rows;
    writes.sides.chain(rows);
    writes.inputs.chain(rows);
    writes.attempts.chain(rows);
    writes.grants.chain(rows);
    rows.queue(*db_);
    queue_histories(writes);
    if (events > 0) {
        PgChain numbered;
        numbered.draw_events(events);
        writes.executions.chain(numbered);
        writes.events.chain(numbered);
        writes.log_events.chain(numbered);
        numbered.queue(*db_);
    } else {
        writes.executions.queue(*db_, 0);
    }
    const bool work = writes.sides.ready.inserted() > 0 || writes.lanes.size() > 0;
    if (work) {
        PgParams params;
        params.text(keeper_->channel());
        params.text(self_);
        db_->queue("SELECT pg_notify($1, $2)", std::move(params));
    }
    proof_ = proof_of(snapshot);
    FF_TRY_VOID(finish_commit());
    if (!work && (events > 0 || writes.frames.size() > 0)) {
        keeper_->note_rows();
    }
    for (const core::Route& route : snapshot.new_routes) {
        know_route(route);
    }
    rows_written_ += writes.executions.size() + writes.inputs.size() + writes.attempts.size() +
                     writes.flows.size() + writes.edges.size() + writes.groups.size() +
                     writes.work.size() + writes.suspensions.size() + writes.waitpoints.size() +
                     writes.signals.size() + writes.satisfiers.size() + writes.events.size() +
                     writes.log_events.size();
    upkeep_->note_commit(writes.sides.ready.erased() + writes.sides.timers.erased() +
                         writes.sides.turns.erased() + writes.work.erased());
    return {};
}

/// Should the answer to COMMIT be lost, this is what it is found by.
expected<void> PostgresStore::know_transaction() {
    if (transaction_) {
        return {};
    }
    db_->queue(own_transaction);
    FF_TRY(auto answers, run());
    if (answers.back().next()) {
        note_transaction(answers.back());
    }
    return {};
}

void PostgresStore::note_transaction(PgRows& row) {
    if (row.is_null() || transaction_) {
        row.skip();
    } else {
        transaction_ = std::string(row.bytes());
    }
}

expected<void> PostgresStore::finish_commit() {
    FF_CHECK(in_transaction_, "no transaction is open");
    db_->queue("COMMIT");
    commit_sent_ = std::chrono::steady_clock::now();
    auto done = run();
    if (done) {
        in_transaction_ = false;
        return {};
    }
    Error error = std::move(done).error();
    if (!db_->alive()) {
        in_transaction_ = false;
        return resolve_commit(error);
    }
    if (impatient_ && error.code == ErrorCode::timeout) {
        error.code = ErrorCode::store_busy;  // as after a deadlock
    } else if (error.code == ErrorCode::store_busy) {
        routes_stale_ = true;  // perhaps a route that another process made first
    }
    rollback();
    return std::unexpected(std::move(error));
}

bool PostgresStore::has_witness() {
    std::vector<std::string> before;
    if (auto listener = keeper_->backend_at(commit_sent_)) {
        before.push_back(std::move(*listener));
    }
    {
        std::lock_guard lock(readers_mutex_);
        for (const auto& reader : readers_) {
            if (reader->made < commit_sent_ && !reader->db->pooled()) {
                before.push_back(reader->db->backend());
            }
        }
    }
    std::string list;
    for (const std::string& backend : before) {
        list += (list.empty() ? "'" : ", '") + backend + "'";
    }
    const auto there = list.empty() ? expected<std::string>()
                                    : db_->scalar(
                                          "SELECT 1 FROM pg_stat_activity WHERE pid || ' '"
                                          " || backend_start IN (" +
                                          list + ")");
    return there && !there->empty();
}

/// What became of a transaction: a word of pg_xact_status, or `unproven`. A server that crashed
/// knows nothing of transactions that it had not written down, and gives their numbers to others.
/// When one of its processes crashes it recovers without having been restarted, but not without
/// ending every session: with one from before there was no crash. Without, a number that is
/// committed is ours only if it stands in a row that we wrote.
expected<std::string> PostgresStore::fate_of(const std::string& number, bool restarted) {
    if (restarted) {
        FF_TRY(const std::string never_written_down,
               db_->scalar("SELECT 1 FROM pg_control_checkpoint() WHERE"
                           " CAST(split_part(next_xid, ':', 1) AS bigint) * 4294967296 +"
                           " CAST(split_part(next_xid, ':', 2) AS bigint) <= " +
                           number));
        if (!never_written_down.empty()) {
            return "aborted";
        }
    }
    auto status = db_->scalar("SELECT pg_xact_status('" + number + "')");
    if (!status && sqlstate_of(status.error()) == in_the_future) {
        return "aborted";  // the server gave us that number, and has forgotten it in a crash
    }
    if (!status || *status != "committed" || (!restarted && !proof_) || has_witness()) {
        return status;
    }
    if (!proof_) {
        return "unproven";
    }
    FF_TRY(const std::string proven,
           db_->scalar("SELECT 1 FROM " + *proof_ +
                       " AND CAST(CAST(xmin AS text) AS bigint) = " + number + " % 4294967296"));
    return proven.empty() ? "unproven" : "committed";
}

/// The connection went while COMMIT was under way: did it happen?
expected<void> PostgresStore::resolve_commit(const Error& lost) {
    using Clock = std::chrono::steady_clock;
    const std::string number = *transaction_;
    const std::string backend = db_->pooled() ? "" : db_->backend();  // else it is anybody's
    const std::string timeline = timeline_;
    const std::string started = started_;
    const auto deadline = Clock::now() + resolve_for;
    std::string why = lost.detail;
    while (Clock::now() < deadline) {
        if (auto connected = stay_connected(); !connected) {
            why = connected.error().detail;
            continue;
        }
        if (timeline != timeline_) {
            // A standby has taken over. Its transaction numbers are not those we knew.
            why = "another server has taken over meanwhile";
            break;
        }
        // The server may not have noticed yet. What it is still doing for us must end first.
        [[maybe_unused]] auto ended = db_->scalar(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid || ' ' ||"
            " backend_start = '" +
            backend + "'");
        auto status = fate_of(number, started != started_);
        if (status && *status == "committed") {
            return {};
        }
        if (status && *status == "aborted") {
            return ff::fail(ErrorCode::store_io, lost.detail);
        }
        if (status && *status == "unproven") {
            why = "transaction " + number + " was committed, but perhaps it is another's";
            break;
        }
        why = status
                  ? "transaction " + number + " is still " + (status->empty() ? "unknown" : *status)
                  : status.error().detail;
        std::this_thread::sleep_for(resolve_pause);
    }
    return ff::fail(ErrorCode::commit_in_doubt,
                    "the connection was lost while committing, and what became of it cannot be"
                    " found out (" +
                        why + "); read the execution before you repeat the call");
}

expected<void> PostgresStore::commit_upkeep() {
    if (auto known = know_transaction(); !known) {
        rollback();
        return known;
    }
    return finish_commit();
}

// ---------------------------------------------------------------------------------------- upkeep

expected<bool> PostgresStore::sweeps_alone() {
    FF_CHECK(in_transaction_, "no transaction is open");
    // One process at a time: the others find nothing to do. The lock is this store's, whatever else
    // the database holds.
    db_->queue(
        "SELECT pg_try_advisory_xact_lock(70205845,"
        " CAST(CAST(CAST('ff_exec_core' AS regclass) AS oid) AS integer))");
    FF_TRY(auto answers, run());
    return answers.back().next() && answers.back().bytes() == std::string_view("\1", 1);
}

expected<std::uint64_t> PostgresStore::sweep(const std::string& text, std::int64_t first,
                                             std::int64_t second) {
    FF_TRY(const bool alone, sweeps_alone());
    if (!alone) {
        return 0;
    }
    PgStatement& s = texts_->get(text);
    s.integer(first);
    s.integer(second);
    FF_TRY_VOID(s.run());
    return s.affected();
}

expected<std::uint64_t> PostgresStore::sweep_grants(TimestampMs before, std::size_t limit) {
    return sweep(sql::grants_sweep, before, static_cast<std::int64_t>(limit));
}

expected<std::uint64_t> PostgresStore::sweep_idempotency(TimestampMs now, std::size_t limit) {
    return sweep(sql::idempotency_sweep, now, static_cast<std::int64_t>(limit));
}

expected<std::uint64_t> PostgresStore::sweep_usage_dedup(TimestampMs now, std::size_t limit) {
    return sweep(sql::dedup_sweep, now, static_cast<std::int64_t>(limit));
}

expected<std::uint64_t> PostgresStore::trim_events(EventFamily family, std::int64_t through) {
    FF_TRY(const bool alone, sweeps_alone());
    if (!alone) {
        return 0;
    }
    if (core::is_history(family)) {
        db_->queue(floor_lock("pg_advisory_xact_lock"));
        FF_TRY_VOID(run());
    }
    return trim_through(*texts_, family, through);
}

}  // namespace ff::store
