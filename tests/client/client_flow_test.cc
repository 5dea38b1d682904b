// Client: what it does with flows.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <ff/client.h>
#include <ff/testing.h>

#include "support/faulty_engine.h"

namespace ff::client::test {

using ff::support::FaultyEngine;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ClientFlowTest : public ::testing::Test {
  protected:
    /// Runs whatever can be run, until nothing is left. The result is the name of the kind.
    std::vector<std::string> run_all() {
        std::vector<std::string> kinds;
        for (;;) {
            Claim op;
            op.lanes = {"default"};
            op.worker_id = "w";
            op.worker_instance_id = "w-1";
            const auto tasks = value_or_throw(base->run(op)).tasks;
            if (tasks.empty()) {
                return kinds;
            }
            const ClaimedTask& task = tasks[0];
            kinds.push_back(task.execution_kind);
            const bool fails = task.execution_kind == "fails";
            if (fails) {
                Fail fail{task.handle, "because", "permanent", Source::lease_holder};
                (void)value_or_throw(base->run(fail));
            } else {
                (void)value_or_throw(
                    base->run(Complete{task.handle, "\"" + task.execution_kind + "\"", "json"}));
            }
        }
    }
    static FlowBuilder chain() {
        FlowBuilder flow("chain");
        flow.node("a", Submit("first"));
        flow.node("b", Submit("second")).needs("a").input("from_a", "a");
        return flow;
    }

    std::shared_ptr<ff::testing::Engine> base = std::make_shared<ff::testing::Engine>();
    std::shared_ptr<FaultyEngine> engine = std::make_shared<FaultyEngine>(base);
    Client client{engine, {.ns = "acme", .creator = "tests", .clock = base->clock()}};
};

TEST_F(ClientFlowTest, AGraphIsSubmittedRunAndWaitedFor) {
    const SubmittedFlow made = client.submit(chain());
    EXPECT_TRUE(made.created());
    EXPECT_EQ(made.nodes().size(), 2U);
    EXPECT_EQ(client.inspect(made.node("b"))->info.public_state, PublicState::waiting_children);
    EXPECT_EQ(client.inspect(made.node("b"))->creator_identity, "tests");
    EXPECT_EQ(run_all(), (std::vector<std::string>{"first", "second"}));
    const FlowSnapshot ended = client.wait_flow(made.id(), seconds(10));
    EXPECT_EQ(ended.public_flow_state, FlowState::completed);
    EXPECT_EQ(ended.live_members, 0U);
    EXPECT_EQ(client.inputs(made.node("b")).as<std::string>("from_a"), "\"first\"");
    EXPECT_EQ(client.flow_summary(made.id()).members.at(PublicState::completed), 2U);
    EXPECT_EQ(client.flow_graph(made.id()).nodes.size(), 2U);
    EXPECT_EQ(client.flow_edges({made.id()}).size(), 1U);
    EXPECT_THROW((void)made.node("c"), Exception);
}

TEST_F(ClientFlowTest, TheSameIdIsTheSameFlow) {
    FlowBuilder graph = chain();
    graph.id(FlowId{new_uuid()});
    const SubmittedFlow first = client.submit(graph);
    const SubmittedFlow second = client.submit(graph);
    EXPECT_TRUE(first.created());
    EXPECT_FALSE(second.created());
    EXPECT_EQ(first.nodes(), second.nodes());
}

TEST_F(ClientFlowTest, WhatIsWrongWithAGraphIsSaidBeforeTheEngineIsAsked) {
    FlowBuilder graph;
    graph.node("a", Submit("k")).needs("b");
    const auto refused = client.try_submit(graph);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(engine->count("submit_flow"), 0U);
}

TEST_F(ClientFlowTest, AFlowIsBuiltOneByOne) {
    const FlowId flow = client.create_flow("dag");
    const ExecutionId a = client.submit_to(flow, Submit("first")).id();
    const ExecutionId b = client.submit_to(flow, Submit("second")).id();
    const EdgeId edge = client.add_edge(flow, a, b);
    EXPECT_EQ(client.flow_edges({flow})[0].edge_id, edge);
    EXPECT_EQ(client.flow_edges({flow})[0].edge_state, EdgeState::applied);
    EXPECT_EQ(client.inspect_flow(flow)->graph_revision, 3U);
    client.set_flow_tags(flow, {{"cairn.team", "x"}});
    EXPECT_EQ(client.inspect_flow(flow)->tags, (Tags{{"cairn.team", "x"}}));
    EXPECT_EQ(client.flow_members(flow).all().size(), 2U);
    EXPECT_EQ(client.flow_members(flow, PublicState::waiting).all().size(), 1U);
    EXPECT_EQ(client.flows().all().size(), 1U);
    EXPECT_EQ(client.flows({.ns = "other"}).all().size(), 0U);
    EXPECT_TRUE(client.seal_flow(flow).sealed);
    EXPECT_EQ(run_all(), (std::vector<std::string>{"first", "second"}));
    EXPECT_EQ(client.wait_flow(flow, seconds(10)).public_flow_state, FlowState::completed);
    EXPECT_FALSE(client.inspect_flow(FlowId{new_uuid()}));
}

TEST_F(ClientFlowTest, WhoeverChangesTheGraphMeanwhileIsWaitedOut) {
    const FlowId flow = client.create_flow("dag");
    const ExecutionId a = client.submit_to(flow, Submit("k")).id();
    const ExecutionId b = client.submit_to(flow, Submit("k")).id();
    int stale = 4;
    engine->refuse([&](const Request& request) -> std::optional<Error> {
        if (ff::holds_alternative<StageDependencyEdge>(request) && stale-- > 0) {
            return Error{ErrorCode::stale_graph_revision, {}, {}};
        }
        return std::nullopt;
    });
    (void)client.add_edge(flow, a, b);
    EXPECT_EQ(engine->count("stage_dependency_edge"), 5U);
    stale = 5;
    const auto refused = client.try_add_edge(flow, a, b);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::stale_graph_revision);
}

TEST_F(ClientFlowTest, APolicyIsSetBeforeTheFirstEdge) {
    const FlowId flow = client.create_flow("dag");
    const ExecutionId a = client.submit_to(flow, Submit("k")).id();
    const ExecutionId b = client.submit_to(flow, Submit("k")).id();
    EXPECT_TRUE(client.set_edge_group_policy(flow, b, GroupPolicy::any_of()).set);
    EXPECT_FALSE(client.set_edge_group_policy(flow, b, GroupPolicy::any_of()).set);
    (void)client.add_edge(flow, a, b);
    EXPECT_EQ(client.inspect_flow(flow)->edge_groups[0].policy, GroupPolicy::any_of());
}

TEST_F(ClientFlowTest, ACancelledFlowHasEnded) {
    const SubmittedFlow made = client.submit(chain());
    const auto cancelled = client.cancel_flow(made.id(), "enough");
    EXPECT_FALSE(cancelled.already_terminal);
    EXPECT_EQ(cancelled.member_execution_ids.size(), 2U);
    EXPECT_EQ(client.wait_flow(made.id(), seconds(1)).public_flow_state, FlowState::cancelled);
    CancelFlow again{made.id(), "again"};
    EXPECT_TRUE(client.cancel_flow(again, seconds(1)).already_terminal);
}

TEST_F(ClientFlowTest, ACancelThatHasMuchToDoIsWaitedFor) {
    const SubmittedFlow made = client.submit(chain());
    int left = 3;
    engine->refuse([&](const Request& request) -> std::optional<Error> {
        // It cannot be asked at first, which passes.
        if (ff::holds_alternative<ReadFlowSummary>(request) && left-- > 0) {
            return Error{ErrorCode::store_busy, {}, {}};
        }
        return std::nullopt;
    });
    (void)client.cancel_flow(made.id(), "enough");
    CancelFlow again{made.id(), "again"};
    EXPECT_TRUE(client.cancel_flow(again, seconds(10)).already_terminal);
    EXPECT_EQ(engine->count("read_flow_summary"), 4U);
}

TEST_F(ClientFlowTest, AFlowThatIsNotSealedDoesNotEnd) {
    const FlowId flow = client.create_flow("dag");
    const auto waited = client.try_wait_flow(flow, milliseconds(20));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::timeout);
    EXPECT_TRUE(waited.error().detail.contains("open and not sealed with 0 live member(s)"))
        << waited.error().detail;
    const auto unknown = client.try_wait_flow(FlowId{new_uuid()}, milliseconds(20));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::flow_not_found);
}

TEST_F(ClientFlowTest, PausedFlowsHandOutNothing) {
    const SubmittedFlow made = client.submit(chain());
    EXPECT_TRUE(client.pause_flow(made.id()).paused);
    EXPECT_EQ(run_all(), std::vector<std::string>{});
    EXPECT_FALSE(client.resume_flow(made.id()).paused);
    EXPECT_EQ(run_all(), (std::vector<std::string>{"first", "second"}));
}

TEST_F(ClientFlowTest, FailedMembersAreRunAgainWithWhatWasSkipped) {
    FlowBuilder graph("chain");
    graph.node("a", Submit("fails"));
    graph.node("b", Submit("second")).needs("a");
    graph.keep_open();
    const SubmittedFlow made = client.submit(graph);
    EXPECT_EQ(run_all(), (std::vector<std::string>{"fails"}));
    EXPECT_EQ(client.inspect(made.node("b"))->info.public_state, PublicState::skipped);
    EXPECT_EQ(client.retry_flow(made.id()).replayed,
              (std::vector<ExecutionId>{made.node("a"), made.node("b")}));
    EXPECT_EQ(client.inspect(made.node("b"))->info.public_state, PublicState::waiting_children);
}

}  // namespace ff::client::test
