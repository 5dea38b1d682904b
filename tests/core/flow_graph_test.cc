// A flow drawn for Graphviz and for Mermaid.
#include <gtest/gtest.h>

#include <string>

#include <ff/flows.h>

namespace ff::core::test {

namespace {

ExecutionId execution(std::uint8_t number) {
    ExecutionId id;
    id.uuid.bytes[15] = number;
    return id;
}

GraphNode node(std::uint8_t number, std::string name, PublicState state, bool critical = false) {
    GraphNode out;
    out.execution_id = execution(number);
    out.node = std::move(name);
    out.public_state = state;
    out.critical = critical;
    return out;
}

EdgeSnapshot edge(std::uint8_t from, std::uint8_t to, std::optional<DependencyState> state) {
    EdgeSnapshot out;
    out.upstream_execution_id = execution(from);
    out.downstream_execution_id = execution(to);
    out.dependency_state = state;
    return out;
}

/// a, then b or c, then d; b was taken, c was not. The path a, b, d took longest.
FlowGraph diamond() {
    FlowGraph graph;
    graph.flow.flow_kind = "report";
    graph.nodes = {node(1, "a", PublicState::completed, true),
                   node(2, "b", PublicState::completed, true), node(3, "c", PublicState::skipped),
                   node(4, "", PublicState::active, true)};
    graph.edges = {edge(1, 2, DependencyState::satisfied), edge(1, 3, DependencyState::not_taken),
                   edge(2, 4, DependencyState::satisfied), edge(3, 4, DependencyState::unsatisfied),
                   edge(1, 4, DependencyState::satisfied)};
    graph.edges[1].dependency_kind = DependencyKind::on_failure;
    graph.edges[3].when = "$.score >= 0.8";
    return graph;
}

}  // namespace

TEST(FlowGraph, DotDrawsStatesConditionsAndTheCriticalPath) {
    EXPECT_EQ(diamond().to_dot(), R"(digraph "report" {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  n0 [label="a", tooltip="{fp:0}:00000000-0000-0000-0000-000000000001 completed", )"
                                  R"(fillcolor="#d5f2dc", color="#1c7c3c", penwidth=3];
  n1 [label="b", tooltip="{fp:0}:00000000-0000-0000-0000-000000000002 completed", )"
                                  R"(fillcolor="#d5f2dc", color="#1c7c3c", penwidth=3];
  n2 [label="c", tooltip="{fp:0}:00000000-0000-0000-0000-000000000003 skipped", )"
                                  R"(fillcolor="#fafafa", color="#b5b5b5"];
  n3 [label="00000004", tooltip="{fp:0}:00000000-0000-0000-0000-000000000004 active", )"
                                  R"(fillcolor="#cfe4ff", color="#1763c6", penwidth=3];
  n0 -> n1 [style=bold];
  n0 -> n2 [label="on_failure", style=dashed];
  n1 -> n3 [style=bold];
  n2 -> n3 [label="$.score >= 0.8"];
  n0 -> n3;
}
)");
}

TEST(FlowGraph, MermaidDrawsTheSame) {
    const std::string text = diamond().to_mermaid();
    EXPECT_TRUE(text.starts_with(R"(flowchart LR
  n0["a"]:::completed
  n1["b"]:::completed
  n2["c"]:::skipped
  n3["00000004"]:::active
  n0 ==> n1
  n0 -.->|"on_failure"| n2
  n1 ==> n3
  n2 -->|"$.score #gt;= 0.8"| n3
  n0 --> n3
)")) << text;
    EXPECT_TRUE(text.contains("  classDef completed fill:#d5f2dc,stroke:#1c7c3c")) << text;
    EXPECT_TRUE(text.contains("  style n3 stroke-width:3px\n")) << text;
    EXPECT_FALSE(text.contains("  style n2 ")) << text;
}

TEST(FlowGraph, EveryStateHasALookOfItsOwnName) {
    FlowGraph graph;
    std::uint8_t number = 0;
    for (const PublicState state :
         {PublicState::waiting, PublicState::delayed, PublicState::rate_limited,
          PublicState::waiting_children, PublicState::active, PublicState::suspended,
          PublicState::resumable, PublicState::completed, PublicState::failed,
          PublicState::cancelled, PublicState::expired, PublicState::skipped}) {
        graph.nodes.push_back(node(++number, "", state));
        const std::string word(to_string(state));
        EXPECT_TRUE(graph.to_mermaid().contains("]:::" + word + "\n")) << word;
        EXPECT_TRUE(graph.to_mermaid().contains("classDef " + word + " ")) << word;
    }
}

TEST(FlowGraph, TextCannotLeaveItsQuotes) {
    FlowGraph graph;
    graph.flow.flow_kind = "a\"b\\";
    graph.nodes = {node(1, "say \"x\" <b> \\N #1;\n`&", PublicState::failed)};
    const std::string dot = graph.to_dot();
    EXPECT_TRUE(dot.starts_with("digraph \"a\\\"b\\\\\" {")) << dot;
    EXPECT_TRUE(dot.contains(R"(label="say \"x\" <b> \\N #1; `&")")) << dot;
    EXPECT_TRUE(graph.to_mermaid().contains(
        "n0[\"say #quot;x#quot; #lt;b#gt; \\N #35;1; #96;#amp;\"]:::failed"))
        << graph.to_mermaid();
}

TEST(FlowGraph, EdgesOfWhatIsGoneAreNotDrawn) {
    FlowGraph graph = diamond();
    graph.nodes.erase(graph.nodes.begin() + 2);
    const std::string dot = graph.to_dot();
    EXPECT_FALSE(dot.contains("on_failure")) << dot;
    EXPECT_FALSE(dot.contains("score")) << dot;
    EXPECT_TRUE(dot.contains("n1 -> n2 [style=bold]")) << dot;
}

TEST(FlowGraph, StagedAndImpossibleEdgesStandOut) {
    FlowGraph graph = diamond();
    graph.edges = {edge(1, 2, std::nullopt), edge(2, 3, DependencyState::impossible)};
    EXPECT_TRUE(graph.to_dot().contains("n0 -> n1 [style=bold, color=\"#b5b5b5\"];"))
        << graph.to_dot();
    EXPECT_TRUE(graph.to_dot().contains("n1 -> n2 [color=\"#b3261e\"];")) << graph.to_dot();
}

TEST(FlowGraph, AnEmptyFlowIsADrawingToo) {
    EXPECT_TRUE(FlowGraph{}.to_dot().ends_with("fontsize=10];\n}\n"));
    EXPECT_TRUE(FlowGraph{}.to_mermaid().starts_with("flowchart LR\n  classDef "));
}

}  // namespace ff::core::test
