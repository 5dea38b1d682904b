// FlowBuilder: what a graph comes to, and what is said when it is none.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <ff/flow_builder.h>

namespace ff::client::test {

namespace {

using std::chrono::seconds;

class FlowBuilderTest : public ::testing::Test {
  protected:
    SubmitFlow built() {
        auto op = flow.build(clock, "acme");
        EXPECT_TRUE(op) << op.error().message();
        return op ? std::move(*op) : SubmitFlow{};
    }
    /// `code: detail` of what was wrong.
    std::string fault() {
        const auto op = flow.build(clock, "acme");
        return op ? "none" : op.error().message();
    }
    static std::string text(const FlowEdge& edge) {
        return edge.from + ">" + edge.to + " " + std::string(to_string(edge.dependency_kind)) +
               (edge.data_passing_ref.empty() ? "" : " " + edge.data_passing_ref) +
               (edge.when.empty() ? "" : " when " + edge.when);
    }
    std::vector<std::string> edges() {
        std::vector<std::string> out;
        for (const FlowEdge& edge : built().edges) {
            out.push_back(text(edge));
        }
        return out;
    }

    ManualClock clock{1'000};
    FlowBuilder flow{"report"};
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_F(FlowBuilderTest, NodesAreSubmitsUnderNames) {
    flow.node("fetch", Submit("http_get", "payload").lane("web").priority(7).delay(seconds(5)));
    flow.node("parse", Submit("parse")).needs("fetch");
    const SubmitFlow op = built();
    EXPECT_EQ(op.flow_kind, "report");
    EXPECT_EQ(op.ns, "acme");
    EXPECT_FALSE(op.flow_id);
    EXPECT_TRUE(op.seal);
    EXPECT_EQ(op.settings, FlowSettings{});
    ASSERT_EQ(op.nodes.size(), 2U);
    EXPECT_EQ(op.nodes[0].name, "fetch");
    EXPECT_EQ(op.nodes[0].execution.execution_kind, "http_get");
    EXPECT_EQ(op.nodes[0].execution.input_payload, "payload");
    EXPECT_EQ(op.nodes[0].execution.lane_id, "web");
    EXPECT_EQ(op.nodes[0].execution.priority, 7);
    EXPECT_EQ(op.nodes[0].execution.delay_until, 6'000);
    EXPECT_EQ(op.nodes[0].execution.ns, "acme");
    EXPECT_EQ(op.nodes[1].execution.lane_id, "default");
    EXPECT_EQ(edges(), (Texts{"fetch>parse success_only"}));
}

TEST_F(FlowBuilderTest, WhatMayBeSaidOfTheWholeFlow) {
    const FlowId id{new_uuid()};
    flow.id(id).tag("cairn.team", "x").deadline(seconds(3)).fail_fast().max_active(4).keep_open();
    flow.node("a", Submit("k"));
    const SubmitFlow op = built();
    EXPECT_EQ(op.flow_id, id);
    EXPECT_EQ(op.tags, (Tags{{"cairn.team", "x"}}));
    EXPECT_EQ(op.settings, (FlowSettings{4'000, OnMemberFailure::cancel_rest, 4}));
    EXPECT_FALSE(op.seal);
    flow.deadline_at(99);
    EXPECT_EQ(built().settings.deadline_at, 99);
}

TEST_F(FlowBuilderTest, EdgesHaveKindsConditionsAndInputs) {
    flow.node("a", Submit("k"));
    flow.node("b", Submit("k"));
    flow.node("c", Submit("k"));
    flow.node("d", Submit("k"))
        .needs({"a", "b"})
        .needs_if("c", "$.score >= 0.8")
        .input("text", "a", "$.text")
        .input("size", "a", "$.size")
        .payload_from("b");
    EXPECT_EQ(edges(), (Texts{R"(a>d success_only {"as":"text","path":"$.text"})",
                              "b>d success_only result", "c>d success_only when $.score >= 0.8",
                              R"(a>d success_only {"as":"size","path":"$.size"})"}));
}

TEST_F(FlowBuilderTest, EdgesForEveryEnd) {
    flow.node("a", Submit("k"));
    flow.node("failed", Submit("k")).on_failure_of("a");
    flow.node("skipped", Submit("k")).on_skip_of("a");
    flow.node("finally", Submit("k")).after("a").input("all", "a");
    EXPECT_EQ(edges(), (Texts{"a>failed on_failure", "a>skipped on_skip",
                              R"(a>finally always {"as":"all"})"}));
}

TEST_F(FlowBuilderTest, PoliciesOfGroups) {
    flow.node("a", Submit("k"));
    flow.node("b", Submit("k"));
    flow.node("first", Submit("k")).needs({"a", "b"}).any_of(OnSatisfied::cancel_remaining);
    flow.node("both", Submit("k")).needs({"a", "b"}).quorum(2);
    const SubmitFlow op = built();
    EXPECT_EQ(op.nodes[0].policy, GroupPolicy::all_of());
    EXPECT_EQ(op.nodes[2].policy, GroupPolicy::any_of(OnSatisfied::cancel_remaining));
    EXPECT_EQ(op.nodes[3].policy, GroupPolicy::quorum(2));
}

TEST_F(FlowBuilderTest, ReferencesToNodesStayGood) {
    FlowBuilder::Node& first = flow.node("n0", Submit("k"));
    for (int i = 1; i < 1'000; ++i) {
        flow.node("n" + std::to_string(i), Submit("k"));
    }
    first.needs("n999");
    EXPECT_EQ(first.name(), "n0");
    EXPECT_EQ(edges(), (Texts{"n999>n0 success_only"}));
}

// ------------------------------------------------------------------------------------- refusals

TEST_F(FlowBuilderTest, NamesAreThereOnce) {
    EXPECT_EQ(fault(), "invalid_input: nodes: at least one is required");
    flow.node("a", Submit("k"));
    flow.node("a", Submit("k"));
    EXPECT_EQ(fault(), "invalid_input: node `a`: the name is used twice");
    flow = FlowBuilder();
    flow.node("", Submit("k"));
    EXPECT_EQ(fault(), "invalid_input: a node has no name");
}

TEST_F(FlowBuilderTest, UpstreamsAreThere) {
    flow.node("a", Submit("k")).needs("b");
    EXPECT_EQ(fault(), "invalid_input: node `a`: it needs `b`, and there is no such node");
}

TEST_F(FlowBuilderTest, ACycleIsNamedInTheOrderOfItsEdges) {
    flow.node("start", Submit("k"));
    flow.node("a", Submit("k")).needs({"start", "c"});
    flow.node("b", Submit("k")).needs("a");
    flow.node("c", Submit("k")).needs("b");
    flow.node("end", Submit("k")).needs("c");
    EXPECT_EQ(fault(), "cycle_detected: a -> b -> c -> a");
    flow = FlowBuilder();
    flow.node("x", Submit("k")).needs("x");
    EXPECT_EQ(fault(), "self_referencing_edge: node `x`: it needs itself");
}

TEST_F(FlowBuilderTest, LongChainsAreNoCycles) {
    flow.node("n0", Submit("k"));
    for (int i = 1; i < 10'000; ++i) {
        flow.node("n" + std::to_string(i), Submit("k")).needs("n" + std::to_string(i - 1));
    }
    EXPECT_EQ(fault(), "none");
    flow.node("more", Submit("k"));
    EXPECT_EQ(fault(),
              "flow_limit_exceeded: a flow has at most 10000 members and 50000 edges "
              "(got 10001 and 9999)");
}

TEST_F(FlowBuilderTest, GroupsHaveTheEdgesTheyWant) {
    flow.node("a", Submit("k"));
    flow.node("b", Submit("k")).needs("a").quorum(2);
    EXPECT_EQ(fault(), "invalid_input: node `b`: quorum wants 2 edge(s), it has 1");
    flow = FlowBuilder();
    flow.node("a", Submit("k")).any_of();
    EXPECT_EQ(fault(), "invalid_input: node `a`: any_of wants 1 edge(s), it has 0");
    flow = FlowBuilder();
    flow.node("a", Submit("k")).quorum(0);
    EXPECT_EQ(fault(), "invalid_input: node `a`: quorum k must be >= 1");
}

TEST_F(FlowBuilderTest, FaultsOfSubmitsNameTheirNode) {
    flow.node("a", Submit("k").policy("{"));
    EXPECT_TRUE(fault().starts_with("invalid_policy_json: node `a`: policy: ")) << fault();
    flow = FlowBuilder();
    flow.node("a", Submit("k").deterministic(new_uuid()));
    EXPECT_TRUE(fault().starts_with("invalid_input: node `a`: deterministic: ")) << fault();
}

TEST_F(FlowBuilderTest, OnlyWhatIsSpawnedJoins) {
    flow.node("a", Submit("k"));
    flow.node("b", Submit("k")).needs("a").joins();
    EXPECT_EQ(fault(),
              "invalid_input: node `b`: joins: only what a task spawns has a task to join");
    const auto op = flow.children(clock, "acme");
    ASSERT_TRUE(op) << op.error().message();
    EXPECT_EQ(op->nodes.size(), 2U);
    ASSERT_EQ(op->edges.size(), 2U);
    EXPECT_EQ(text(op->edges[0]), "a>b success_only");
    EXPECT_EQ(text(op->edges[1]), "b> success_only");
}

}  // namespace ff::client::test
