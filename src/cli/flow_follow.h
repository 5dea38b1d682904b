// Watching a flow until it has ended: a live tree on a terminal, a line for each change elsewhere,
// objects for programs.
#pragma once

#include <chrono>

#include <ff/flows.h>

#include "cli/session.h"

namespace ff::cli {

/// Gives the flow as it was seen last: ended, or as it was when Ctrl-C was pressed; needs an
/// InterruptGuard around it. It is looked at so often, a large one less. Faults that pass by
/// themselves are waited out for a while.
expected<FlowGraph> follow_flow(const Session& session, const FlowId& id,
                                std::chrono::milliseconds every);

}  // namespace ff::cli
