// A flow as people see it: a bar, and its nodes as a tree with marks for their states. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ff/flows.h>

#include "cli/views.h"

namespace ff::cli {

/// A node and how far to the right it stands. Nodes that nothing leads to stand at the left; any
/// other stands below the deepest of those it waits for, one step to the right of it.
struct TreeRow {
    std::size_t node = 0;  ///< its place in the graph
    std::size_t depth = 0;
};
std::vector<TreeRow> tree_rows(const FlowGraph& graph);

/// Its name, or the end of its id when it has none.
std::string node_label(const GraphNode& node);
/// How long it ran, or runs; empty when it has not begun.
std::string node_took(const GraphNode& node, TimestampMs now);

/// `build ━━━━━━━━────  5/9 done, 2 running, 1 failed, 12.4 s`.
std::string flow_bar(const FlowGraph& graph, const View& view);
/// One line a node. With more nodes than `rows_max` those are left out that there is least to say
/// of, and the last line says how many; 0: no limit.
std::string flow_tree(const FlowGraph& graph, const View& view, std::size_t rows_max);

/// How it ended, in a line, and a line for each node that did not end well.
std::string flow_summary(const FlowGraph& graph, const View& view);

/// What is new about a node for those who read one line after the other; empty: nothing.
std::string node_news(const GraphNode& node, const GraphNode* before, TimestampMs now);

/// Everything about a flow: facts, then the tree with the ids of its executions.
std::string flow_text(const FlowGraph& graph, const View& view);
std::string flows_text(const std::vector<FlowListItem>& flows, const View& view);

}  // namespace ff::cli
