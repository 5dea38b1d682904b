// A flow drawn for Graphviz and for Mermaid: nodes coloured by their state, the critical path in
// bold, edges that were not taken dashed.
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ff/flows.h>

namespace ff {

namespace {

/// A fill and a border for each state; both read well on white and on dark.
struct Look {
    PublicState state;
    std::string_view fill;
    std::string_view border;
};
constexpr std::array looks{
    Look{PublicState::waiting, "#e7ecf3", "#5b6b82"},
    Look{PublicState::delayed, "#e7ecf3", "#5b6b82"},
    Look{PublicState::rate_limited, "#e7ecf3", "#5b6b82"},
    Look{PublicState::waiting_children, "#f4f4f4", "#8c8c8c"},
    Look{PublicState::active, "#cfe4ff", "#1763c6"},
    Look{PublicState::suspended, "#fff1c7", "#a97400"},
    Look{PublicState::resumable, "#fff1c7", "#a97400"},
    Look{PublicState::completed, "#d5f2dc", "#1c7c3c"},
    Look{PublicState::failed, "#ffd9d6", "#b3261e"},
    Look{PublicState::cancelled, "#eadcf5", "#6f3aa0"},
    Look{PublicState::expired, "#ffe2c9", "#b45309"},
    Look{PublicState::skipped, "#fafafa", "#b5b5b5"},
};

const Look& look_of(PublicState state) {
    for (const Look& look : looks) {
        if (look.state == state) {
            return look;
        }
    }
    return looks.front();
}

/// Its name, or the end of its id: ids that were made together begin alike.
std::string label_of(const GraphNode& node) {
    constexpr std::size_t short_id = 8;
    if (!node.node.empty()) {
        return node.node;
    }
    const std::string id = node.execution_id.uuid.to_string();
    return id.substr(id.size() - short_id);
}

/// The graph with its edges as places of nodes, and which of them the critical path takes.
class Drawing {
  public:
    explicit Drawing(const FlowGraph& graph) : graph_(graph) {
        std::optional<std::size_t> before;
        for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
            places_.emplace(graph.nodes[i].execution_id, i);
            if (graph.nodes[i].critical) {
                if (before) {
                    next_critical_.emplace(*before, i);
                }
                before = i;
            }
        }
    }

    /// Calls `draw(from, to, edge)` for each edge whose ends are among the nodes: a member that
    /// retention has removed is not drawn, nor what leads to it.
    template <class Draw>
    void each_edge(Draw draw) const {
        for (const EdgeSnapshot& edge : graph_.edges) {
            const auto from = places_.find(edge.upstream_execution_id);
            const auto to = places_.find(edge.downstream_execution_id);
            if (from != places_.end() && to != places_.end()) {
                draw(from->second, to->second, edge);
            }
        }
    }
    /// Nodes come before those that depend on them, so the path visits critical ones in order.
    [[nodiscard]] bool is_critical(std::size_t from, std::size_t to) const {
        const auto next = next_critical_.find(from);
        return next != next_critical_.end() && next->second == to;
    }

  private:
    const FlowGraph& graph_;
    std::unordered_map<ExecutionId, std::size_t> places_;
    std::unordered_map<std::size_t, std::size_t> next_critical_;
};

bool is_not_taken(const EdgeSnapshot& edge) {
    return edge.dependency_state == DependencyState::not_taken;
}

/// What an edge asks for beyond success.
std::string condition_of(const EdgeSnapshot& edge) {
    std::string text;
    if (edge.dependency_kind != DependencyKind::success_only) {
        text = to_string(edge.dependency_kind);
    }
    if (edge.when) {
        text += (text.empty() ? "" : ": ") + *edge.when;
    }
    return text;
}

/// Inside quotes of DOT; a backslash would begin one of its own escapes.
std::string dot_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out.push_back('\\');
            out.push_back(c);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out.push_back(' ');
        } else {
            out.push_back(c);
        }
    }
    return out;
}

/// Inside quotes of Mermaid, which knows entities and nothing else.
std::string mermaid_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '"': out += "#quot;"; break;
            case '#': out += "#35;"; break;
            case '&': out += "#amp;"; break;
            case '<': out += "#lt;"; break;
            case '>': out += "#gt;"; break;
            case '`': out += "#96;"; break;
            default: out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
        }
    }
    return out;
}

std::string place_name(std::size_t place) { return "n" + std::to_string(place); }

std::string dot_edge(const EdgeSnapshot& edge, bool critical) {
    std::vector<std::string> marks;
    if (const std::string text = condition_of(edge); !text.empty()) {
        marks.push_back("label=\"" + dot_text(text) + "\"");
    }
    if (is_not_taken(edge)) {
        marks.emplace_back("style=dashed");
    } else if (critical) {
        marks.emplace_back("style=bold");
    }
    if (edge.dependency_state == DependencyState::impossible) {
        marks.emplace_back("color=\"#b3261e\"");
    } else if (!edge.dependency_state) {
        marks.emplace_back("color=\"#b5b5b5\"");  // staged only
    }
    std::string out;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        out += (i > 0 ? ", " : "") + marks[i];
    }
    return out.empty() ? "" : " [" + out + "]";
}

}  // namespace

std::string FlowGraph::to_dot() const {
    const Drawing drawing(*this);
    std::string out = "digraph \"" + dot_text(flow.flow_kind) + "\" {\n";
    out += "  rankdir=LR;\n";
    out += "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n";
    out += "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const GraphNode& node = nodes[i];
        const Look& look = look_of(node.public_state);
        out += "  " + place_name(i) + " [label=\"" + dot_text(label_of(node)) + "\", tooltip=\"" +
               dot_text(node.execution_id.to_string()) + " " +
               std::string(to_string(node.public_state)) + "\", fillcolor=\"" +
               std::string(look.fill) + "\", color=\"" + std::string(look.border) + "\"" +
               (node.critical ? ", penwidth=3" : "") + "];\n";
    }
    drawing.each_edge([&](std::size_t from, std::size_t to, const EdgeSnapshot& edge) {
        out += "  " + place_name(from) + " -> " + place_name(to) +
               dot_edge(edge, drawing.is_critical(from, to)) + ";\n";
    });
    return out + "}\n";
}

std::string FlowGraph::to_mermaid() const {
    const Drawing drawing(*this);
    std::string out = "flowchart LR\n";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        out += "  " + place_name(i) + "[\"" + mermaid_text(label_of(nodes[i])) +
               "\"]:::" + std::string(to_string(nodes[i].public_state)) + "\n";
    }
    drawing.each_edge([&](std::size_t from, std::size_t to, const EdgeSnapshot& edge) {
        std::string_view arrow = "-->";
        if (is_not_taken(edge)) {
            arrow = "-.->";
        } else if (drawing.is_critical(from, to)) {
            arrow = "==>";
        }
        const std::string text = condition_of(edge);
        out += "  " + place_name(from) + " " + std::string(arrow) +
               (text.empty() ? "" : "|\"" + mermaid_text(text) + "\"|") + " " + place_name(to) +
               "\n";
    });
    std::vector<std::string> bold;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].critical) {
            bold.push_back(place_name(i));
        }
    }
    for (const Look& look : looks) {
        out += "  classDef " + std::string(to_string(look.state)) +
               " fill:" + std::string(look.fill) + ",stroke:" + std::string(look.border) +
               ",color:#1f1f1f\n";
    }
    for (const std::string& name : bold) {
        out += "  style " + name + " stroke-width:3px\n";
    }
    return out;
}

}  // namespace ff
