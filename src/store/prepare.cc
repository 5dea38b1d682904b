#include "store/prepare.h"

#include "store/catalogue.h"

namespace ff::store {

using core::Eid;
using core::ExecutionCell;

void number_events(core::Snapshot& snapshot, std::int64_t& next_event, std::int64_t step) {
    for (auto& event : snapshot.events) {
        event.event_id = next_event;
        next_event += step;
        ExecutionCell* cell = snapshot.find_cell(event.eid);
        if (cell == nullptr || event.type == core::LeaseEventType::renewed) {
            continue;
        }
        auto& execution = cell->execution;
        if (!execution.current() || execution.current()->eid != event.eid) {
            continue;  // it was deleted in this batch
        }
        event.previous_event_id = execution.current()->last_event_id;
        execution.edit().last_event_id = event.event_id;
    }
    for (auto& event : snapshot.log_events) {
        event.event_id = next_event;
        next_event += step;
    }
}

namespace {

/// Keeps a row of the execution that is there now, as a new one; drops any other.
template <class Row>
void keep_if_of(core::Tracked<Row>& row, Eid eid) {
    if (row.current() && row.current()->eid == eid) {
        row.stored.reset();
    } else {
        row = {};
    }
}

}  // namespace

void forget_deleted(ExecutionCell& cell) {
    cell.execution.stored.reset();
    const Eid eid = cell.execution.current() ? cell.execution.current()->eid : 0;
    keep_if_of(cell.input, eid);
    keep_if_of(cell.grant, eid);
    for (auto& [index, attempt] : cell.attempts) {
        keep_if_of(attempt, eid);
    }
}

std::vector<core::FlowWorkKey> load_due_work(std::vector<core::FlowWork> rows,
                                             core::Snapshot& snapshot) {
    std::vector<core::FlowWorkKey> out;
    for (core::FlowWork& row : rows) {
        const core::FlowWorkKey key = row.key;
        snapshot.load_work(key, std::move(row));
        if (snapshot.work(key) != nullptr) {
            out.push_back(key);
        }
    }
    return out;
}

bool is_new_flow(const core::Snapshot& snapshot, const FlowId& id) {
    const auto it = snapshot.flows.find(id);
    return it != snapshot.flows.end() && it->second.flow.loaded && !it->second.flow.stored;
}

bool lacks_open_waits(const ExecutionCell& cell, const core::WaitTable& waits) {
    const auto& stored = cell.execution.stored;
    return stored && (stored->open_waitpoints > 0 || stored->current_suspension_id) &&
           !waits.knows_open(stored->eid);
}

std::optional<core::SuspensionKey> open_suspension(const core::Execution& stored) {
    return stored.current_suspension_id
               ? std::optional(core::SuspensionKey{stored.eid, stored.suspension_count})
               : std::nullopt;
}

void load_open_waits(const core::Execution& stored, std::optional<core::Suspension> suspension,
                     std::vector<core::Waitpoint> waitpoints, core::WaitTable& waits) {
    if (const auto key = open_suspension(stored); key && !suspension) {
        waits.suspensions[*key].load(std::nullopt);
    }
    waits.load_open(stored.eid, std::move(suspension), std::move(waitpoints));
}

void settle_waits(core::Snapshot& snapshot) {
    core::WaitTable& waits = snapshot.waits;
    const auto drop_deleted = [&](auto& rows, auto eid_of) {
        for (auto& [key, row] : rows) {
            if (row.dirty && row.current()) {
                const ExecutionCell* cell = snapshot.find_cell(eid_of(*row.current()));
                row.dirty = cell == nullptr || !cell->deleted ||
                            (cell->execution.current() &&
                             cell->execution.current()->eid == eid_of(*row.current()));
            }
        }
    };
    drop_deleted(waits.suspensions, [](const auto& row) { return row.key.eid; });
    drop_deleted(waits.waitpoints, [](const auto& row) { return row.eid; });
    drop_deleted(waits.signals, [](const auto& row) { return row.key.eid; });
    drop_deleted(waits.satisfiers, [](const auto& row) { return row.key.suspension.eid; });
    for (const auto& [id, waitpoint] : waits.waitpoints) {
        if (!waitpoint.dirty || waitpoint.stored || !waitpoint.current()) {
            continue;
        }
        ExecutionCell* cell = snapshot.find_cell(waitpoint.current()->eid);
        if (cell != nullptr && cell->execution.current() && !cell->execution.current()->has_waits) {
            cell->execution.edit().has_waits = true;
        }
    }
}

bool had_waits(const core::Execution& execution) {
    return execution.has_waits || execution.suspension_count > 0 || execution.signal_count > 0 ||
           execution.open_waitpoints > 0;
}

std::vector<TrimStep> trim_steps(EventFamily family, std::int64_t floor) {
    if (core::is_history(family)) {
        return {{&sql::completion_mark, floor},
                {&sql::lease_mark, floor},
                {&sql::exec_events_trim, floor},
                {&sql::history_cut, floor}};
    }
    const auto number = static_cast<std::int64_t>(core::log_family(family));
    return {{&sql::log_mark, number}, {&sql::log_events_trim, number}};
}

std::vector<const core::Tracked<core::HmacKey>*> key_changes(const core::WaitTable& waits) {
    std::vector<const core::Tracked<core::HmacKey>*> changes;
    for (const bool current : {false, true}) {
        for (const auto& [kid, key] : waits.hmac_keys) {
            if (key.dirty && (key.current() && key.current()->is_current) == current) {
                changes.push_back(&key);
            }
        }
    }
    return changes;
}

}  // namespace ff::store
