// Rows of a flow that are not written, because other rows say the same.
//
// Two writes for every edge and two for every group are most of what a graph costs beyond its
// members. The usual ones say nothing new:
//  - An edge that waits for the success of its upstream is resolved in the transaction in which the
//    upstream ends, by that end. The upstream's row then says that its edges were told
//    (`edges_told`), and the edge stays as it was applied. Whoever reads edges reads the view
//    ff_edge_now, which puts both together. Before an end goes away (a replay, retention) the edges
//    are spelled out.
//  - A group of one edge that nobody gave a policy counts that edge. It has no row: who finds none
//    makes it from the edge.
// Anything that does not follow exactly is written, so nothing here decides anything.
#pragma once

#include <optional>
#include <vector>

#include "core/snapshot.h"

namespace ff::store {

/// The edge as the end of its upstream resolves it, when nothing else has a say: it is applied and
/// open, waits for success without a condition, and was not fenced by a replay.
std::optional<core::Edge> resolved_by_end(const core::Edge& edge, const core::Execution& upstream);

/// The group of an execution with one inbound edge.
core::EdgeGroup implied_group(const core::Edge& only);

/// The group of an execution that was looked for: its row, or what its only edge implies.
std::optional<core::EdgeGroup> or_implied(std::optional<core::EdgeGroup> row, const FlowId& flow,
                                          const std::vector<core::Edge>& inbound);

/// Before any row is written: marks the edges and groups that are not to be, and has the executions
/// say it for them. Answers with the executions whose end goes: their edges must be spelled out
/// before anything else is written.
std::vector<ExecutionId> leave_out_implied(core::Snapshot& snapshot);

/// The edge as the store may have it, so that an update writes all that the end of an upstream
/// might imply.
core::Edge not_implied(core::Edge before, const core::Edge& after);

/// A group that was looked for. Without a row it is the one that its only edge implies, if there is
/// exactly one; `inbound` are the edges that the store has, or the one that led here.
void load_group(const ExecutionId& downstream, std::optional<core::EdgeGroup> row,
                const std::vector<core::EdgeKey>& inbound, core::Snapshot& snapshot);

/// The groups of a flow of which all edges and rows are loaded.
void load_implied_groups(const FlowId& flow, core::Snapshot& snapshot);

/// The groups of a flow, in the order of their executions: those with rows, and those that its
/// edges imply.
std::vector<core::EdgeGroup> with_implied(std::vector<core::EdgeGroup> rows,
                                          const std::vector<core::Edge>& edges);

}  // namespace ff::store
