// What is due in a PostgreSQL store: one round trip asks for all of it. What another process is at
// is passed over; nobody waits for it.
#include <iterator>
#include <utility>

#include "store/postgres_internal.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::Execution;
using core::Snapshot;

/// Takes what is due: a key and, unless another process has it, what it names.
expected<void> PostgresStore::take_due_flows(PgRows& rows, Due& due) {
    while (rows.next()) {
        FlowId& id = due.order.emplace_back();
        take_value(rows, "flow_id", id);
        FF_TRY_VOID(rows.check());
        if (rows.is_null()) {
            due.flows.emplace(id, std::nullopt);
            continue;
        }
        locked_flows_ = true;
        if (auto row = take<core::Flow>(rows)) {
            due.flows.emplace(id, std::move(*row));
        }  // one that cannot be read is asked for again by whoever wants it
    }
    return {};
}

expected<void> PostgresStore::take_due_timers(PgRows& rows, Due& due) {
    std::vector<core::TimerKey>& keys = due.timers.emplace();
    while (rows.next()) {
        core::TimerKey& key = keys.emplace_back();
        key.kind = static_cast<core::TimerKind>(rows.integer());
        key.due_at = rows.integer();
        key.eid = rows.integer();
        note_transaction(rows);
        if (rows.is_null()) {
            due.executions.emplace(key.eid, std::nullopt);
        } else if (auto row = take<Execution>(rows)) {
            due.executions.emplace(key.eid, std::move(*row));
        }  // one that cannot be read is asked for again by whoever wants it
    }
    return {};
}

expected<void> PostgresStore::look_for_due(TimestampMs now, std::size_t limit) {
    due_ = std::make_unique<Due>();
    due_->now = now;
    due_->limit = limit;
    const auto params = [&] {
        PgParams out;
        out.integer(now);
        out.integer(static_cast<std::int64_t>(limit));
        return out;
    };
    const auto limits_of = [this](core::LimitKind kind) {
        return [this, kind](PgRows& rows) -> expected<void> {
            while (rows.next()) {
                core::LimitKey& key = due_->limits[static_cast<std::size_t>(kind)].emplace_back();
                key.kind = kind;
                take_value(rows, "id", key.id);
                FF_TRY_VOID(rows.check());
                locked_limits_ = true;
            }
            return {};
        };
    };
    Questions questions(*this);
    questions.ask(lock_flows_due, params(),
                  [this](PgRows& rows) { return take_due_flows(rows, *due_); });
    questions.ask(lock_work_due, params(), [this](PgRows& rows) -> expected<void> {
        due_->work.emplace();
        while (rows.next()) {
            FF_TRY(auto row, take<core::FlowWork>(rows));
            due_->work->push_back(std::move(row));
        }
        return {};
    });
    const std::string skipping = " FOR UPDATE SKIP LOCKED";
    questions.ask(sql::budgets_due + skipping, params(), limits_of(core::LimitKind::budget));
    questions.ask(sql::policies_due + skipping, params(), limits_of(core::LimitKind::quota));
    questions.ask(lock_timers_due, params(),
                  [this](PgRows& rows) { return take_due_timers(rows, *due_); });
    PgParams after;
    after.integer(now);
    questions.ask(sql::next_due, std::move(after), [this](PgRows& rows) -> expected<void> {
        std::optional<TimestampMs>& next = due_->next.emplace();
        while (rows.next()) {
            if (!rows.is_null()) {
                const TimestampMs at = rows.integer();
                next = std::min(next.value_or(at), at);
            }
        }
        return {};
    });
    if (auto seen = questions.settle(); !seen) {
        due_.reset();
        return seen;
    }
    due_->limits_open = true;
    return {};
}

/// Does what was seen answer a question with another limit? It does when that was all there is.
bool PostgresStore::Due::answers(TimestampMs at, std::size_t count, std::size_t asked) const {
    return at == now && (asked == limit || (asked > limit && count < limit));
}

expected<std::vector<FlowId>> PostgresStore::scan_due_flows(TimestampMs now, std::size_t limit) {
    FF_TRY_VOID(look_for_due(now, limit));
    return due_->order;
}

expected<std::vector<core::FlowWorkKey>> PostgresStore::scan_work(TimestampMs now,
                                                                  std::size_t limit,
                                                                  Snapshot& snapshot) {
    if (due_) {
        // From here on who asks for a flow needs it.
        std::erase_if(due_->flows, [](const auto& entry) { return !entry.second; });
    }
    if (due_ && due_->work && due_->answers(now, due_->work->size(), limit)) {
        return load_due_work(*std::exchange(due_->work, std::nullopt), snapshot);
    }
    begun_ = true;
    return due_work(texts_->get(lock_work_due), now, limit, snapshot);
}

expected<std::vector<core::LimitKey>> PostgresStore::scan_due_limits(TimestampMs now,
                                                                     std::size_t limit) {
    if (due_ && due_->limits_open && due_->answers(now, due_->limits[0].size(), limit) &&
        due_->answers(now, due_->limits[1].size(), limit)) {
        due_->limits_open = false;
        std::vector<core::LimitKey> out = std::move(due_->limits[0]);
        std::ranges::move(due_->limits[1], std::back_inserter(out));
        return out;
    }
    begun_ = true;
    locked_limits_ = true;
    // Whoever comes second leaves them to the first.
    return due_limits(*texts_, now, limit, " FOR UPDATE SKIP LOCKED");
}

expected<std::vector<core::TimerKey>> PostgresStore::scan_due(TimestampMs now, std::size_t limit) {
    if (due_ && due_->timers && due_->answers(now, due_->timers->size(), limit)) {
        return *std::exchange(due_->timers, std::nullopt);
    }
    begun_ = true;
    return due_timers(*texts_, now, limit);
}

expected<std::optional<TimestampMs>> PostgresStore::next_due(TimestampMs after) {
    if (due_ && due_->next && due_->now == after) {
        return *std::exchange(due_->next, std::nullopt);
    }
    begun_ = true;
    return earliest_due(*texts_, after);
}

/// Flows that were locked when they were found due are not asked for again. Those that another
/// process was at then are left out while due flows are looked at, which waits for nobody.
core::ReadSet PostgresStore::load_due_flows(core::ReadSet set, Snapshot& snapshot) {
    std::erase_if(set.flows, [&](const FlowId& id) {
        const auto it = due_->flows.find(id);
        if (it == due_->flows.end() || snapshot.knows_flow(id)) {
            return false;
        }
        if (it->second) {
            snapshot.load_flow(id, std::move(it->second));
            due_->flows.erase(it);
        }
        return true;
    });
    return set;
}

/// The same of an execution; true when nothing more can be said of it.
expected<bool> PostgresStore::load_due_execution(Eid eid, Snapshot& snapshot) {
    if (!due_) {
        return false;
    }
    const auto it = due_->executions.find(eid);
    if (it == due_->executions.end()) {
        return false;
    }
    if (it->second) {
        FF_TRY_VOID(know_routes({it->second->route}));
        core::ExecutionCell& cell = snapshot.cell(it->second->id);
        cell.execution.load(it->second);
        found_cell(cell, snapshot);
    }
    return true;
}

}  // namespace ff::store
