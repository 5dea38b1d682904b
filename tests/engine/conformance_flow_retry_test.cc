// A flow is run again from what failed: what is replayed with it, and that it ends (spec 03).
#include "engine/conformance_flow.h"

namespace ff::engine::test {

namespace {

std::vector<ExecutionId> sorted(std::vector<ExecutionId> ids) {
    std::ranges::sort(ids);
    return ids;
}

}  // namespace

TEST_P(FlowConformance, ARetryLeavesABranchThatWasNotTaken) {
    auto op = graph({"a", "b", "c", "d"}, {{"a", "b"}, {"a", "c"}, {"b", "d"}});
    op.edges[0].when = "$.ok";
    op.edges[1].when = "!$.ok";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"), R"({"ok":true})");
    ASSERT_EQ(shown(flow.nodes.at("c")), "skipped");
    succeed(flow.nodes.at("b"));
    fail(flow.nodes.at("d"));
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("d")}));
    EXPECT_EQ(shown(flow.nodes.at("c")), "skipped") << "a will not end again";
    succeed(flow.nodes.at("d"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
    EXPECT_TRUE(ok(RetryFlow{flow.flow_id}).replayed.empty());
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, ARetriedJoinGoesOnWithoutTheBranchThatWasNotTaken) {
    auto op = graph({"p", "a", "j"}, {{"p", "j"}, {"a", "j"}});
    op.edges[0].when = "$.ok";
    const auto flow = ok(op);
    succeed(flow.nodes.at("p"), R"({"ok":false})");
    fail(flow.nodes.at("a"));
    ASSERT_EQ(shown(flow.nodes.at("j")), "skipped");
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("a"), flow.nodes.at("j")}));
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting") << "p's edge is as little taken as before";
    succeed(flow.nodes.at("j"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, AReplayedMemberDoesNotWaitForABranchThatWasNotTaken) {
    auto op = graph({"p", "a", "j"}, {{"p", "j"}, {"a", "j"}});
    op.edges[0].when = "$.ok";
    const auto flow = ok(op);
    succeed(flow.nodes.at("p"), R"({"ok":false})");
    fail(flow.nodes.at("a"));
    ok(ReplayExecution{flow.nodes.at("j")});
    ok(ReplayExecution{flow.nodes.at("a")});
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting");
}

TEST_P(FlowConformance, AReplayThatIsSkippedAtOnceLeavesTheFlowEnded) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.edges[0].when = "$.ok";
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    ok(ReplayExecution{flow.nodes.at("a")});
    succeed(flow.nodes.at("a"), R"({"ok":false})");
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
    EXPECT_EQ(ok(ReplayExecution{flow.nodes.at("b")}).public_state, PublicState::skipped)
        << "what it waits for has ended, and did not take this branch";
    EXPECT_EQ(flow_of(flow.flow_id).live_members, 0U);
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, ARetryRunsTheSiblingsAgainThatItsJoinNeeds) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::quorum(3, OnSatisfied::cancel_remaining);
    for (const bool from_a : {false, true}) {
        const auto flow = ok(op);
        fail(flow.nodes.at("a"));
        settle();
        ASSERT_EQ(shown(flow.nodes.at("c")), "cancelled");
        RetryFlow retry{flow.flow_id};
        if (from_a) {
            retry.from = flow.nodes.at("a");
        }
        Ids all;
        for (const auto& [name, id] : flow.nodes) {
            all.push_back(id);
        }
        EXPECT_EQ(sorted(ok(retry).replayed), sorted(all));
        for (const char* name : {"a", "b", "c", "j"}) {
            succeed(flow.nodes.at(name));
        }
        EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
    }
}

TEST_P(FlowConformance, ARetryLeavesSiblingsAloneWhoseJoinCannotStart) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::quorum(2, OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    settle();
    ASSERT_EQ(shown(flow.nodes.at("c")), "cancelled");
    EXPECT_EQ(sorted(ok(RetryFlow{flow.flow_id, flow.nodes.at("a")}).replayed),
              sorted({flow.nodes.at("a"), flow.nodes.at("c"), flow.nodes.at("j")}))
        << "two of three can be had without b";
    succeed(flow.nodes.at("a"));
    fail(flow.nodes.at("c"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "skipped") << "b goes on to count as failed";
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
}

TEST_P(FlowConformance, ARetryRunsAJoinThatOneUpstreamIsEnoughFor) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    node(op, "j").policy = GroupPolicy::any_of();
    for (const bool succeeds : {true, false}) {
        const auto flow = ok(op);
        fail(flow.nodes.at("a"));
        fail(flow.nodes.at("b"));
        ASSERT_EQ(shown(flow.nodes.at("j")), "skipped");
        EXPECT_EQ(ok(RetryFlow{flow.flow_id, flow.nodes.at("a")}).replayed,
                  (Ids{flow.nodes.at("a"), flow.nodes.at("j")}));
        if (succeeds) {
            succeed(flow.nodes.at("a"));
            succeed(flow.nodes.at("j"));
        } else {
            fail(flow.nodes.at("a"));
            EXPECT_EQ(shown(flow.nodes.at("j")), "skipped") << "b stays failed";
        }
        EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed) << "because of b";
    }
}

TEST_P(FlowConformance, ARetryDoesNotRunACancelledMemberThatCannotStart) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    ok(CancelExecution{LeaseRef(flow.nodes.at("b")), "no", "operator_override"});
    fail(flow.nodes.at("a"));
    EXPECT_EQ(refused(RetryFlow{flow.flow_id, flow.nodes.at("b")}), "invalid_input");
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("a"), flow.nodes.at("b")}));
    succeed(flow.nodes.at("a"));
    succeed(flow.nodes.at("b"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, ARetryGoesRoundMembersThatAreGone) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    auto op = graph({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}});
    node(op, "a").execution.policy = R"({"stream_policy":{"retention_ttl_ms":1000}})";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    after(5'000);
    ASSERT_FALSE(ok(DescribeExecution{flow.nodes.at("a")}));
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("b"), flow.nodes.at("c")}));
    succeed(flow.nodes.at("b"));
    succeed(flow.nodes.at("c"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, AMemberThatIsGoneGoesOnToCountAsItEnded) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    node(op, "a").execution.policy = R"({"stream_policy":{"retention_ttl_ms":1000}})";
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    after(5'000);
    ASSERT_FALSE(ok(DescribeExecution{flow.nodes.at("a")}));
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("b")}))
        << "j needs a, which cannot run again";
    succeed(flow.nodes.at("b"));
    EXPECT_EQ(flow_of(flow.flow_id).live_members, 0U);
}

TEST_P(FlowConformance, ARetryDoesNotLookForWhatIsGoneBehindIt) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    auto op = graph({"a", "b"}, {{"a", "b"}});
    node(op, "b").execution.policy = R"({"stream_policy":{"retention_ttl_ms":1000}})";
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    after(5'000);
    ASSERT_FALSE(ok(DescribeExecution{flow.nodes.at("b")}));
    EXPECT_EQ(ok(RetryFlow{flow.flow_id}).replayed, (Ids{flow.nodes.at("a")}));
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, ADeadlineThatHasPassedDoesNotEndARetry) {
    FF_NEEDS_CLOCK();
    auto op = graph({"a"}, {});
    op.settings.deadline_at = now() + 10'000;
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    after(60'000);
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
    ok(RetryFlow{flow.flow_id});
    after(1'000);
    EXPECT_EQ(shown(flow.nodes.at("a")), "waiting");
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

}  // namespace ff::engine::test
