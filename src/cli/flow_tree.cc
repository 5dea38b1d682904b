#include "cli/flow_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/table.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t member_bar_columns = 24;
constexpr std::size_t short_id_digits = 8;

struct Mark {
    std::string_view sign;
    Style style;
    int weight;  ///< of a line when not all have room; the heaviest stay
};

Mark mark_of(PublicState state) {
    switch (state) {
        case PublicState::completed: return {"✔", Style::green, 1};
        case PublicState::failed:
        case PublicState::expired: return {"✘", Style::red, 6};
        case PublicState::active: return {"▶", Style::cyan, 7};
        case PublicState::delayed:
        case PublicState::rate_limited:
        case PublicState::suspended: return {"◔", Style::yellow, 5};
        case PublicState::waiting:
        case PublicState::resumable: return {"○", Style::plain, 4};
        case PublicState::waiting_children: return {"·", Style::dim, 3};
        case PublicState::cancelled: return {"⊘", Style::dim, 2};
        case PublicState::skipped: return {"−", Style::dim, 2};
    }
    return {"?", Style::plain, 0};
}

/// What is not clear from the mark, or better said.
std::string state_words(const GraphNode& node) {
    switch (node.public_state) {
        case PublicState::completed:
        case PublicState::active:
        case PublicState::waiting_children:
        case PublicState::waiting: return "";
        default: return std::string(to_string(node.public_state));
    }
}

std::string attempts_words(const GraphNode& node) {
    return node.total_attempt_count > 1 ? fmt::format("attempt {}", node.total_attempt_count) : "";
}

/// What is said of a node behind its name.
std::string remarks_of(const GraphNode& node, TimestampMs now) {
    std::vector<std::string> parts;
    for (std::string part : {node_took(node, now), state_words(node), attempts_words(node)}) {
        if (!part.empty()) {
            parts.push_back(std::move(part));
        }
    }
    std::string out = joined(parts);
    const bool bad = mark_of(node.public_state).style == Style::red;
    if (node.failure_reason && (bad || !has_ended(node.public_state))) {
        out += (out.empty() ? "" : ": ") + *node.failure_reason;
    }
    return printable(out);
}

std::map<PublicState, std::size_t> count_states(const FlowGraph& graph) {
    std::map<PublicState, std::size_t> out;
    for (const GraphNode& node : graph.nodes) {
        out[node.public_state] += 1;
    }
    return out;
}

/// `2 running, 1 failed`, worst last.
std::string counts_words(const FlowGraph& graph) {
    std::map<PublicState, std::size_t> counts = count_states(graph);
    std::vector<std::string> parts;
    const auto add = [&](PublicState state, std::string_view word) {
        if (counts[state] > 0) {
            parts.push_back(fmt::format("{} {}", counts[state], word));
        }
    };
    add(PublicState::active, "running");
    add(PublicState::delayed, "delayed");
    add(PublicState::skipped, "skipped");
    add(PublicState::cancelled, "cancelled");
    add(PublicState::expired, "expired");
    add(PublicState::failed, "failed");
    return joined(parts);
}

DurationMs took_in_all(const FlowGraph& graph, TimestampMs now) {
    return graph.flow.finished_at.value_or(now) - graph.flow.created_at;
}

/// The rows that have room, in the order of the tree.
std::vector<TreeRow> rows_with_room(const FlowGraph& graph, std::vector<TreeRow> rows,
                                    std::size_t rows_max) {
    if (rows_max == 0 || rows.size() <= rows_max) {
        return rows;
    }
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return mark_of(graph.nodes[rows[a].node].public_state).weight >
               mark_of(graph.nodes[rows[b].node].public_state).weight;
    });
    order.resize(rows_max - 1);  // the last line tells of the others
    std::ranges::sort(order);
    std::vector<TreeRow> out;
    for (const std::size_t place : order) {
        out.push_back(rows[place]);
    }
    return out;
}

std::string tree_line(const GraphNode& node, std::size_t depth, std::size_t name_columns,
                      const View& view) {
    const Mark mark = mark_of(node.public_state);
    const std::size_t room = view.terminal.columns > 0 ? view.terminal.columns - 1 : 0;
    const auto fit = [&](const std::string& text, std::size_t used) {
        return room == 0 ? text : cut_to(text, room > used ? room - used : 0);
    };
    const std::size_t before = 2 * depth + 4;
    const std::string name = fit(printable(node_label(node)), before);
    std::string remarks = remarks_of(node, view.now);
    const std::size_t used = before + columns_of(name);
    const std::size_t gap = name_columns + 2 > used ? name_columns + 2 - used : 2;
    remarks = remarks.empty() ? "" : fit(remarks, used + gap);
    const bool bad = mark.style == Style::red;
    std::string out(2 * depth + 2, ' ');
    out += view.terminal.paint(mark.sign, mark.style) + " ";
    out += mark.style == Style::dim ? view.terminal.paint(name, Style::dim) : name;
    if (!remarks.empty()) {
        out += std::string(gap, ' ') + view.terminal.paint(remarks, bad ? Style::red : Style::dim);
    }
    return out + "\n";
}

}  // namespace

std::vector<TreeRow> tree_rows(const FlowGraph& graph) {
    const std::size_t n = graph.nodes.size();
    std::map<ExecutionId, std::size_t> places;
    for (std::size_t i = 0; i < n; ++i) {
        places.emplace(graph.nodes[i].execution_id, i);
    }
    std::vector<std::vector<std::size_t>> upstreams(n);
    for (const EdgeSnapshot& edge : graph.edges) {
        const auto from = places.find(edge.upstream_execution_id);
        const auto to = places.find(edge.downstream_execution_id);
        if (from != places.end() && to != places.end()) {
            upstreams[to->second].push_back(from->second);
        }
    }
    // Nodes come after those they wait for, so one pass is enough.
    std::vector<std::size_t> depth(n, 0);
    std::vector<std::vector<std::size_t>> below(n);
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < n; ++i) {
        std::optional<std::size_t> parent;
        for (const std::size_t up : upstreams[i]) {
            if (!parent || depth[up] > depth[*parent] ||
                (depth[up] == depth[*parent] && up > *parent)) {
                parent = up;
            }
        }
        depth[i] = parent ? depth[*parent] + 1 : 0;
        (parent ? below[*parent] : roots).push_back(i);
    }
    std::vector<TreeRow> rows;
    std::vector<std::size_t> open(roots.rbegin(), roots.rend());
    while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        rows.push_back({at, depth[at]});
        open.insert(open.end(), below[at].rbegin(), below[at].rend());
    }
    return rows;
}

std::string node_label(const GraphNode& node) {
    if (!node.node.empty()) {
        return node.node;
    }
    const std::string id = node.execution_id.uuid.to_string();
    return id.substr(id.size() - short_id_digits);
}

std::string node_took(const GraphNode& node, TimestampMs now) {
    if (!node.started_at || node.public_state == PublicState::skipped) {
        return "";
    }
    const TimestampMs end = has_ended(node.public_state) ? node.completed_at.value_or(now) : now;
    return span_text(std::max<DurationMs>(0, end - *node.started_at));
}

std::string flow_bar(const FlowGraph& graph, const View& view) {
    const std::size_t total = graph.nodes.size();
    const auto ended = static_cast<std::size_t>(std::ranges::count_if(
        graph.nodes, [](const GraphNode& node) { return has_ended(node.public_state); }));
    const std::size_t filled = total == 0 ? member_bar_columns : member_bar_columns * ended / total;
    const bool failed = std::ranges::any_of(graph.nodes, [](const GraphNode& node) {
        return mark_of(node.public_state).style == Style::red;
    });
    std::string full;
    std::string rest;
    for (std::size_t i = 0; i < member_bar_columns; ++i) {
        (i < filled ? full : rest) += "━";
    }
    if (!view.terminal.colour) {
        rest.clear();
        for (std::size_t i = filled; i < member_bar_columns; ++i) {
            rest += "·";
        }
    }
    const std::string counts = counts_words(graph);
    std::string words =
        fmt::format("  {}/{} done{}, {}{}", ended, total, counts.empty() ? "" : ", " + counts,
                    span_text(took_in_all(graph, view.now)), graph.flow.paused ? ", paused" : "");
    std::string name = printable(graph.flow.flow_kind);
    if (view.terminal.columns > 0) {
        const std::size_t room = view.terminal.columns - 1;
        name = cut_to(name, room > member_bar_columns + 1 ? room - member_bar_columns - 1 : 1);
        const std::size_t used = columns_of(name) + 1 + member_bar_columns;
        words = cut_to(words, room > used ? room - used : 0);
    }
    return view.terminal.paint(name, Style::bold) + " " +
           view.terminal.paint(full, failed ? Style::red : Style::green) +
           view.terminal.paint(rest, Style::dim) + words + "\n";
}

std::string flow_tree(const FlowGraph& graph, const View& view, std::size_t rows_max) {
    const std::vector<TreeRow> all = tree_rows(graph);
    const std::vector<TreeRow> rows = rows_with_room(graph, all, rows_max);
    std::size_t name_columns = 0;
    for (const TreeRow& row : rows) {
        const std::size_t columns =
            2 * row.depth + 4 + columns_of(printable(node_label(graph.nodes[row.node])));
        name_columns = std::max(name_columns, columns);
    }
    if (view.terminal.columns > 0) {
        name_columns = std::min(name_columns, view.terminal.columns / 2);
    }
    std::string out;
    for (const TreeRow& row : rows) {
        out += tree_line(graph.nodes[row.node], row.depth, name_columns, view);
    }
    if (rows.size() < all.size()) {
        out +=
            view.terminal.paint(fmt::format("  … {} more", all.size() - rows.size()), Style::dim) +
            "\n";
    }
    return out;
}

std::string flow_summary(const FlowGraph& graph, const View& view) {
    const FlowState state = graph.flow.public_flow_state;
    const bool good = state == FlowState::completed;
    std::map<PublicState, std::size_t> counts = count_states(graph);
    const std::string others = counts_words(graph);
    std::string out =
        fmt::format("{} {}: {} of {} completed{}, {}", printable(graph.flow.flow_kind),
                    view.terminal.paint(to_string(state), good ? Style::green : Style::red),
                    counts[PublicState::completed], graph.nodes.size(),
                    others.empty() ? "" : ", " + others, span_text(took_in_all(graph, view.now)));
    if (graph.critical_path_ms > 0 && good) {
        out += fmt::format(" (longest path {})", span_text(graph.critical_path_ms));
    }
    out += "\n";
    for (const GraphNode& node : graph.nodes) {
        if (mark_of(node.public_state).style == Style::red) {
            out += fmt::format("  {} {}{}{}\n", printable(node_label(node)),
                               to_string(node.public_state),
                               node.total_attempt_count > 1
                                   ? fmt::format(" after {} attempts", node.total_attempt_count)
                                   : "",
                               node.failure_reason ? ": " + printable(*node.failure_reason) : "");
        }
    }
    if (graph.flow.cancel_reason) {
        out += fmt::format("  cancelled: {}\n", printable(*graph.flow.cancel_reason));
    }
    return out;
}

std::string node_news(const GraphNode& node, const GraphNode* before, TimestampMs now) {
    const bool same = before != nullptr && before->public_state == node.public_state &&
                      before->total_attempt_count == node.total_attempt_count;
    const bool waits = node.public_state == PublicState::waiting ||
                       node.public_state == PublicState::waiting_children;
    if (same || (waits && before == nullptr)) {
        return "";
    }
    std::string what(to_string(node.public_state));
    if (node.public_state == PublicState::active) {
        what = node.total_attempt_count > 1 ? fmt::format("attempt {}", node.total_attempt_count)
                                            : "started";
    } else if (node.public_state == PublicState::delayed && node.failure_reason) {
        what = "tried again later";
    } else if (waits) {
        what = "waits";
    }
    const std::string took = has_ended(node.public_state) ? node_took(node, now) : "";
    const bool bad = node.failure_reason && node.public_state != PublicState::completed &&
                     node.public_state != PublicState::active;
    return fmt::format("{}: {}{}{}\n", printable(node_label(node)), what,
                       took.empty() ? "" : " in " + took,
                       bad ? ": " + printable(*node.failure_reason) : "");
}

std::string flow_text(const FlowGraph& graph, const View& view) {
    const FlowSnapshot& flow = graph.flow;
    Table facts({{""}, {""}});
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            facts.add({{name, Style::bold}, value});
        }
    };
    add("flow", flow.flow_id.to_string());
    add("name", flow.flow_kind);
    add("namespace", flow.ns);
    std::string state(to_string(flow.public_flow_state));
    state += flow.paused ? ", paused" : "";
    state += flow.sealed ? "" : ", takes more members";
    add("state", state);
    add("created", when(flow.created_at, view.now));
    add("deadline", flow.settings.deadline_at ? when(*flow.settings.deadline_at, view.now) : "");
    add("finished", flow.finished_at ? when(*flow.finished_at, view.now) : "");
    add("cancelled", flow.cancel_reason.value_or(""));
    add("at once", flow.settings.max_active_members > 0
                       ? fmt::format("{} at most", flow.settings.max_active_members)
                       : "");
    add("longest path", graph.critical_path_ms > 0 ? span_text(graph.critical_path_ms) : "");
    for (const auto& [key, value] : flow.tags) {
        add("tag", key + "=" + value);
    }
    Terminal wide = view.terminal;
    wide.columns = 0;  // the last column may wrap, nothing is cut
    std::string out = facts.render(wide) + "\n" + flow_bar(graph, view);
    Table nodes({{"node"},
                 {"state"},
                 {"took", Align::right},
                 {"att", Align::right},
                 {"execution"},
                 {"failure", Align::left, Give::shrink}});
    for (const TreeRow& row : tree_rows(graph)) {
        const GraphNode& node = graph.nodes[row.node];
        nodes.add({{std::string(2 * row.depth, ' ') + node_label(node),
                    node.critical ? Style::bold : Style::plain},
                   state_cell(node.public_state),
                   node_took(node, view.now),
                   std::to_string(node.total_attempt_count),
                   node.execution_id.to_string(),
                   node.failure_reason.value_or("")});
    }
    return out + nodes.render(view.terminal);
}

std::string flows_text(const std::vector<FlowListItem>& flows, const View& view) {
    Table table({{"flow"},
                 {"state"},
                 {"name", Align::left, Give::shrink},
                 {"namespace", Align::left, Give::shrink},
                 {"nodes", Align::right},
                 {"age", Align::right}});
    for (const FlowListItem& flow : flows) {
        const Style style = flow.status == "completed"   ? Style::green
                            : flow.status == "failed"    ? Style::red
                            : flow.status == "cancelled" ? Style::dim
                                                         : Style::cyan;
        table.add({flow.flow_id.to_string(),
                   {flow.status, style},
                   flow.flow_kind,
                   flow.ns,
                   with_commas(flow.node_count),
                   span_text(view.now - flow.created_at)});
    }
    return table.empty() ? "no flow found\n" : table.render(view.terminal);
}

}  // namespace ff::cli
