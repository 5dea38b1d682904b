// Running a member again: alone, or as part of what a failed flow is retried with.
#pragma once

#include "core/graph_edit.h"

namespace ff::core {

/// May it be replayed (it has ended, and has replays left)?
expected<void> check_replay(const Snapshot& view, const Execution& e, const Context& ctx);
/// What the replay of an execution needs, as far as it is not known yet.
void need_replay(const Snapshot& view, const ExecutionId& id, ReadSet& set);
/// Makes it runnable again. A member whose group is not satisfied, as when it was skipped, waits
/// for its upstreams anew: those that have succeeded count at once, those that ended otherwise
/// count when they end again.
expected<void> replay(GraphEdit& edit, const Snapshot& view, const ExecutionId& id,
                      const Context& ctx);

}  // namespace ff::core
