// Dispatch: one claimed task through its handler to the operation that ends it.
#pragma once

#include "worker/held_task.h"

namespace ff::worker {

/// Runs the handler on the calling thread and finishes the task, unless the handler did. No
/// exception leaves. Whatever the handler does, at most one finishing operation succeeds.
void dispatch(HeldTask& held);

}  // namespace ff::worker
