// What must hold of a flow and everything in it (spec 03 section 20). Used by tests, by the repair
// pass and by `ff doctor`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/records.h"

namespace ff::core {

/// A flow with all its rows.
struct FlowRows {
    Flow flow;
    std::vector<Execution> members;
    std::vector<Edge> edges;
    std::vector<EdgeGroup> groups;
    bool work_waits = false;  ///< some of what follows from an end is still to be done
};

/// A sentence for each thing that is wrong, with the ids it is about.
std::vector<std::string> check_flow(const FlowRows& rows);

/// Edges that their upstream's end should have resolved, and did not.
std::vector<EdgeKey> overdue_edges(const FlowRows& rows);

}  // namespace ff::core
