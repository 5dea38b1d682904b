// Running a member again: alone, or as part of what a failed flow is retried with.
#pragma once

#include "core/graph_edit.h"

namespace ff::core {

/// May it be replayed (it has ended, and has replays left)?
expected<void> check_replay(const Snapshot& view, const Execution& e, const Context& ctx);
/// What the replay of an execution needs, as far as it is not known yet.
void need_replay(const Snapshot& view, const ExecutionId& id, ReadSet& set);
/// What is known of those upstreams that are not replayed with it.
enum class Upstreams : std::uint8_t {
    may_follow,  ///< each may be replayed next: how it ended does not count
    stay,        ///< how they ended goes on to count
};
/// Makes it runnable again. A member whose group is not satisfied, as when it was skipped, waits
/// for its upstreams anew: those that have succeeded count at once, those that ended otherwise
/// as `rest` says, or when they end again.
expected<void> replay(GraphEdit& edit, const Snapshot& view, const ExecutionId& id, Upstreams rest,
                      const Context& ctx);
/// Must it wait for its upstreams (again)? A member runs only when its group is satisfied: one that
/// was skipped has an impossible group, one that was cancelled early perhaps a pending one.
bool waits_for_upstreams(const EdgeGroup* group);

}  // namespace ff::core
