#include "store/prepare.h"

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
        if (!execution.current || execution.current->eid != event.eid) {
            continue;  // it was deleted in this batch
        }
        event.previous_event_id = execution.current->last_event_id;
        execution.current->last_event_id = event.event_id;
        execution.dirty = true;
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
    if (row.current && row.current->eid == eid) {
        row.stored.reset();
    } else {
        row = {};
    }
}

}  // namespace

void forget_deleted(ExecutionCell& cell) {
    cell.execution.stored.reset();
    const Eid eid = cell.execution.current ? cell.execution.current->eid : 0;
    keep_if_of(cell.input, eid);
    keep_if_of(cell.grant, eid);
    for (auto& [index, attempt] : cell.attempts) {
        keep_if_of(attempt, eid);
    }
}

}  // namespace ff::store
