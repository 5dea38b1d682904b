// What every store does to a batch's snapshot on the way to writing it.
#pragma once

#include <cstdint>

#include "core/snapshot.h"

namespace ff::store {

/// Numbers the events of the batch, and links each into the history of its execution: the event
/// names the one before it, the execution names its newest. Renewals stay out: they would drown it.
/// With `step` -1 the numbers go down from `next_event`: places for numbers that come later.
void number_events(core::Snapshot& snapshot, std::int64_t& next_event, std::int64_t step = 1);

/// For a cell whose execution was deleted, once its rows are gone: what the batch created under the
/// same id afterwards is all that is left in it, and is new.
void forget_deleted(core::ExecutionCell& cell);

}  // namespace ff::store
