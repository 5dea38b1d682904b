// Flows: building a graph, and how ends travel through it (spec 03).
#include "engine/conformance_flow.h"

namespace ff::engine::test {

FF_ON_EVERY_ENGINE(FlowConformance);

// --------------------------------------------------------------------------------------- create

TEST_P(FlowConformance, AFlowIsCreatedOnceAndStartsEmpty) {
    const FlowId id{new_uuid()};
    EXPECT_EQ(ok(CreateFlow{id, "dag", "acme", {}}), (CreateFlowResult{true, id}));
    EXPECT_EQ(ok(CreateFlow{id, "dag", "acme", {}}), (CreateFlowResult{false, id}));
    const FlowSnapshot flow = flow_of(id);
    EXPECT_EQ(flow.public_flow_state, FlowState::open);
    EXPECT_EQ(flow.graph_revision, 0U);
    EXPECT_EQ(flow.node_count, 0U);
    EXPECT_EQ(flow.flow_kind, "dag");
    EXPECT_FALSE(ok(DescribeFlow{FlowId{new_uuid()}}));
}

TEST_P(FlowConformance, AnotherFlowOfTheSameIdIsRefused) {
    const FlowId id = make_flow();
    EXPECT_EQ(refused(CreateFlow{id, "pipeline", "acme", {}}), "flow_already_exists");
    EXPECT_EQ(refused(CreateFlow{id, "dag", "other", {}}), "flow_already_exists");
    EXPECT_EQ(refused(CreateFlow{{}, "", "acme", {}}), "invalid_input");
    EXPECT_EQ(refused(CreateFlow{{}, "dag", "", {}}), "invalid_input");
}

TEST_P(FlowConformance, MembersAreAddedOnceAndCounted) {
    const FlowId flow = make_flow();
    CreateExecution op = job();
    op.execution_id = ExecutionId::for_flow(flow, partitions(), new_uuid());
    const ExecutionId id = create(op);
    EXPECT_EQ(ok(AddExecutionToFlow{flow, id}), (AddMemberResult{true, id, 1}));
    EXPECT_EQ(ok(AddExecutionToFlow{flow, id}), (AddMemberResult{false, id, 1}));
    EXPECT_EQ(flow_of(flow).node_count, 1U);
    EXPECT_EQ(revision(flow), 1U);
    EXPECT_EQ(snapshot(id).info.flow_id, flow);
    EXPECT_EQ(shown(id), "waiting");
    EXPECT_EQ(refused(AddExecutionToFlow{FlowId{new_uuid()}, id}), "flow_not_found");
}

TEST_P(FlowConformance, AnExecutionBelongsToOneFlowForLife) {
    const FlowId one = make_flow();
    FlowId two = make_flow();
    for (int i = 0; i < 2000; ++i) {  // one of the same partition
        if (ExecutionId::for_flow(two, partitions(), Uuid{}).partition ==
            ExecutionId::for_flow(one, partitions(), Uuid{}).partition) {
            break;
        }
        two = FlowId{new_uuid()};
    }
    ok(CreateFlow{two, "dag", "acme", {}});
    const ExecutionId id = member(one);
    const Error refusal = error(AddExecutionToFlow{two, id});
    EXPECT_EQ(to_string(refusal.code), "execution_already_in_flow");
    EXPECT_NE(refusal.message().find("already_member_of_different_flow:" + one.to_string()),
              std::string::npos);
    const ExecutionId absent = ExecutionId::for_flow(one, partitions(), new_uuid());
    EXPECT_EQ(refused(AddExecutionToFlow{one, absent}), "execution_not_found");
}

TEST_P(FlowConformance, AMemberOfAnotherNamespaceIsRefused) {
    const FlowId flow = make_flow();
    CreateExecution op = with(job(), [](auto& o) { o.ns = "other"; });
    op.execution_id = ExecutionId::for_flow(flow, partitions(), new_uuid());
    const ExecutionId id = create(op);
    EXPECT_EQ(refused(AddExecutionToFlow{flow, id}), "namespace_mismatch");
    EXPECT_EQ(flow_of(flow).node_count, 0U);
}

// ---------------------------------------------------------------------------------------- edges

TEST_P(FlowConformance, StagingAnEdgeGrowsTheRevisionAndTouchesNobody) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    EXPECT_EQ(revision(flow), 3U);
    EXPECT_EQ(ok(edge(flow, m[0], m[1])).new_graph_revision, 4U);
    EXPECT_EQ(ok(edge(flow, m[1], m[2])).new_graph_revision, 5U);
    EXPECT_EQ(refused(edge(flow, m[2], m[0])), "cycle_detected");
    EXPECT_EQ(revision(flow), 5U);
    EXPECT_EQ(flow_of(flow).edge_count, 2U);
    EXPECT_EQ(shown(m[1]), "waiting");
    EXPECT_EQ(group(flow, m[1]).total_deps, 1U);
}

TEST_P(FlowConformance, EdgesAreCheckedInOrder) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    auto self = edge(flow, m[0], m[0]);
    self.flow_id = FlowId{new_uuid()};
    EXPECT_EQ(refused(self), "self_referencing_edge");
    auto nowhere = edge(flow, m[0], m[1]);
    nowhere.flow_id = FlowId{new_uuid()};
    EXPECT_EQ(refused(nowhere), "flow_not_found");
    auto stale = edge(flow, m[0], m[1]);
    stale.expected_graph_revision = 1;
    EXPECT_EQ(refused(stale), "stale_graph_revision");
    const ExecutionId stranger = ExecutionId::for_flow(flow, partitions(), new_uuid());
    EXPECT_EQ(refused(edge(flow, m[0], stranger)), "execution_not_in_flow");
    EXPECT_EQ(refused(edge(flow, stranger, m[0])), "execution_not_in_flow");
    // A repeat after a lost answer hears of the edge, not of a revision.
    auto first = edge(flow, m[0], m[1]);
    first.edge_id = EdgeId{new_uuid()};
    ok(first);
    EXPECT_EQ(refused(first), "dependency_already_exists");
    succeed(m[1]);
    EXPECT_EQ(refused(edge(flow, m[0], m[1])), "downstream_already_terminal");
}

TEST_P(FlowConformance, TwoEdgesBetweenThePairCountTwice) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    link(flow, m[0], m[1]);
    const EdgeId second = stage(flow, m[0], m[1]);
    EXPECT_EQ(ok(ApplyDependency{flow, second, m[0], m[1]}), (ApplyResult{true, 2}));
    succeed(m[0]);
    EXPECT_EQ(shown(m[1]), "waiting");
    EXPECT_EQ(group(flow, m[1]).satisfied_count, 2U);
}

TEST_P(FlowConformance, ApplyingBlocksTheChild) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    const EdgeId one = stage(flow, m[0], m[2]);
    const EdgeId two = stage(flow, m[1], m[2]);
    EXPECT_EQ(ok(ApplyDependency{flow, one, m[0], m[2]}), (ApplyResult{true, 1}));
    EXPECT_EQ(ok(ApplyDependency{flow, two, m[1], m[2]}), (ApplyResult{true, 2}));
    EXPECT_FALSE(ok(ApplyDependency{flow, two, m[1], m[2]}).applied);
    EXPECT_EQ(shown(m[2]), "waiting_children");
    EXPECT_EQ(state(m[2]),
              "runnable unowned blocked_by_dependencies waiting_for_children none "
              "pending_first_attempt");
    EXPECT_EQ(snapshot(m[2]).info.blocking_detail, "2 dep(s) unresolved incl " + two.to_string());
    EXPECT_EQ(eligibility(m[2]), "blocked_by_dependencies");
    EXPECT_EQ(drain(claim_by("w1")).size(), 2U) << "the child is in no queue";
}

TEST_P(FlowConformance, ApplyingChecksTheEdge) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    const EdgeId id = stage(flow, m[0], m[1]);
    EXPECT_EQ(refused(ApplyDependency{flow, EdgeId{new_uuid()}, m[0], m[1]}), "edge_not_found");
    EXPECT_EQ(refused(ApplyDependency{flow, id, m[0], m[2]}), "edge_endpoint_mismatch");
    EXPECT_EQ(refused(ApplyDependency{flow, id, m[2], m[1]}), "edge_endpoint_mismatch");
}

TEST_P(FlowConformance, AllStagedEdgesMayBeAppliedAtOnce) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 4);
    stage(flow, m[0], m[2]);
    stage(flow, m[1], m[2]);
    stage(flow, m[2], m[3]);
    succeed(m[0]);
    EXPECT_EQ(ok(ApplyAllDependencies{flow}), (ApplyAllResult{3, 2}));
    EXPECT_EQ(ok(ApplyAllDependencies{flow}), (ApplyAllResult{0, 0}));
    EXPECT_EQ(shown(m[2]), "waiting_children");
    EXPECT_EQ(group(flow, m[2]).satisfied_count, 1U);
    succeed(m[1]);
    EXPECT_EQ(shown(m[2]), "waiting");
    EXPECT_EQ(shown(m[3]), "waiting_children");
}

TEST_P(FlowConformance, AnUpstreamThatHasEndedResolvesAtOnce) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    succeed(m[0]);
    fail(m[1]);
    const EdgeId good = link(flow, m[0], m[2]);
    EXPECT_EQ(shown(m[2]), "waiting");
    EXPECT_EQ(read_edge(flow, good).dependency_state, DependencyState::satisfied);
}

TEST_P(FlowConformance, EdgesAreListedByTheirId) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    const EdgeId a = link(flow, m[0], m[1]);
    const EdgeId b = stage(flow, m[0], m[2]);
    const auto all = ok(ListEdges{flow, {}, {}});
    ASSERT_EQ(all.size(), 2U);
    EXPECT_LT(all[0].edge_id, all[1].edge_id);
    EXPECT_EQ(ok(ListEdges{flow, EdgeDirection::outgoing, m[0]}).size(), 2U);
    const auto inward = ok(ListEdges{flow, EdgeDirection::incoming, m[1]});
    ASSERT_EQ(inward.size(), 1U);
    EXPECT_EQ(inward[0].edge_id, a);
    EXPECT_EQ(read_edge(flow, b).edge_state, EdgeState::pending);
    EXPECT_FALSE(read_edge(flow, b).dependency_state);
    EXPECT_FALSE(ok(DescribeEdge{FlowId{new_uuid()}, a}));
    EXPECT_TRUE(ok(ListEdges{FlowId{new_uuid()}, {}, {}}).empty());
}

// --------------------------------------------------------------------------------------- policy

TEST_P(FlowConformance, MoreEdgesThanAPageHoldsAreAllListed) {
    SubmitFlow op = graph({"z"}, {});
    for (int i = 0; i < 1'005; ++i) {
        FlowNode node = op.nodes[0];
        node.name = "n" + std::to_string(i);
        op.nodes.push_back(node);
        op.edges.push_back({.from = node.name, .to = "z"});
    }
    const FlowId flow = ok(op).flow_id;
    const auto edges = ok(ListEdges{flow});
    EXPECT_EQ(edges.size(), 1'005U);
    EXPECT_TRUE(std::ranges::is_sorted(edges, {}, &EdgeSnapshot::edge_id));
}

TEST_P(FlowConformance, ASearchFindsTheMembersOfAFlow) {
    const FlowId flow = make_flow();
    const FlowId other = make_flow();
    Ids made;
    for (int i = 0; i < 7; ++i) {
        CreateExecution op = job();
        op.execution_kind = i % 2 == 0 ? "even" : "odd";
        op.tags = {{"n", std::to_string(i % 3)}};
        made.push_back(member(flow, op));
        member(other);
        create(job());
    }
    succeed(made[1]);
    const auto found = [&](SearchExecutions op) {
        op.flow_id = flow;
        op.limit = 2;
        Ids ids;
        for (int pages = 0; pages < 20; ++pages) {
            const SearchPage page = ok(op);
            for (const ExecutionInfo& item : page.items) {
                EXPECT_EQ(item.flow_id, flow);
                ids.push_back(item.execution_id);
            }
            if (!page.next_cursor) {
                break;
            }
            op.cursor = page.next_cursor;
        }
        return ids;
    };
    EXPECT_EQ(found({.oldest_first = true}), made);
    EXPECT_EQ(found({}), Ids(made.rbegin(), made.rend()));
    EXPECT_EQ(found({.kind = "odd", .oldest_first = true}), (Ids{made[1], made[3], made[5]}));
    EXPECT_EQ(found({.states = {PublicState::completed}}), Ids{made[1]});
    EXPECT_EQ(found({.tags = {{"n", "2"}}, .oldest_first = true}), (Ids{made[2], made[5]}));
    SearchExecutions nobody;
    nobody.flow_id = FlowId{new_uuid()};
    EXPECT_TRUE(ok(nobody).items.empty());
}

TEST_P(FlowConformance, APolicyIsFixedByTheFirstEdge) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    const auto any = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    EXPECT_TRUE(ok(SetEdgeGroupPolicy{flow, m[1], any}).set);
    EXPECT_FALSE(ok(SetEdgeGroupPolicy{flow, m[1], any}).set);
    EXPECT_TRUE(ok(SetEdgeGroupPolicy{flow, m[1], GroupPolicy::quorum(2)}).set);
    EXPECT_TRUE(ok(SetEdgeGroupPolicy{flow, m[1], GroupPolicy::quorum(3)}).set) << "k counts";
    EXPECT_EQ(group(flow, m[1]).policy, GroupPolicy::quorum(3));
    EXPECT_EQ(refused(SetEdgeGroupPolicy{flow, m[1], GroupPolicy::quorum(0)}), "invalid_input");
    EXPECT_EQ(refused(SetEdgeGroupPolicy{flow, missing_, any}), "execution_not_in_flow");
    EXPECT_EQ(refused(SetEdgeGroupPolicy{FlowId{new_uuid()}, m[1], any}), "flow_not_found");
    stage(flow, m[0], m[1]);
    EXPECT_EQ(refused(SetEdgeGroupPolicy{flow, m[1], any}), "edge_group_policy_already_fixed");
}

// -------------------------------------------------------------------------------------- cascade

TEST_P(FlowConformance, AllOfWaitsForEverySuccess) {
    const auto made = ok(graph({"a", "b", "c"}, {{"a", "c"}, {"b", "c"}})).nodes;
    EXPECT_EQ(shown(made.at("c")), "waiting_children");
    succeed(made.at("a"));
    EXPECT_EQ(shown(made.at("c")), "waiting_children");
    succeed(made.at("b"));
    EXPECT_EQ(shown(made.at("c")), "waiting");
    succeed(made.at("c"));
}

TEST_P(FlowConformance, AFailureSkipsTheWholeSubtree) {
    const auto flow = ok(graph({"a", "b", "c", "d"}, {{"a", "b"}, {"b", "c"}, {"c", "d"}}));
    fail(flow.nodes.at("a"));
    for (const char* name : {"b", "c", "d"}) {
        EXPECT_EQ(shown(flow.nodes.at(name)), "skipped") << name;
        EXPECT_EQ(state(flow.nodes.at(name)), "terminal unowned not_applicable none skipped none");
    }
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
    EXPECT_EQ(history(flow.nodes.at("b")), std::vector<std::string>{});
}

TEST_P(FlowConformance, AnyOfGoesOnWithTheFirstSuccess) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::any_of();
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting_children");
    succeed(flow.nodes.at("b"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting");
    const auto at = group(flow.flow_id, flow.nodes.at("j")).satisfied_at;
    EXPECT_EQ(eligibility(flow.nodes.at("j")), "eligible");
    // Let run: the last one goes on, and is counted without moving anything.
    succeed(flow.nodes.at("c"));
    const auto g = group(flow.flow_id, flow.nodes.at("j"));
    EXPECT_EQ(g.satisfied_count, 2U);
    EXPECT_EQ(g.failed_count, 1U);
    EXPECT_EQ(g.satisfied_at, at);
}

TEST_P(FlowConformance, AnyOfIsImpossibleOnlyAtTheLast) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    node(op, "j").policy = GroupPolicy::any_of();
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting_children");
    fail(flow.nodes.at("b"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "skipped");
}

TEST_P(FlowConformance, AQuorumOfThreeOfFive) {
    auto op = graph({"a", "b", "c", "d", "e", "j"},
                    {{"a", "j"}, {"b", "j"}, {"c", "j"}, {"d", "j"}, {"e", "j"}});
    node(op, "j").policy = GroupPolicy::quorum(3);
    const auto one = ok(op).nodes;
    succeed(one.at("a"));
    fail(one.at("b"));
    succeed(one.at("c"));
    EXPECT_EQ(shown(one.at("j")), "waiting_children");
    succeed(one.at("d"));
    EXPECT_EQ(shown(one.at("j")), "waiting");
    drain(claim_by("w1"));
    const auto two = ok(op).nodes;
    fail(two.at("a"));
    fail(two.at("b"));
    EXPECT_EQ(shown(two.at("j")), "waiting_children");
    fail(two.at("c"));
    EXPECT_EQ(shown(two.at("j")), "skipped");
}

TEST_P(FlowConformance, TheWinnerOfARaceCancelsTheRest) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    const ClaimedTask running = take(flow.nodes.at("c"));
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting");
    for (const char* name : {"b", "c"}) {
        EXPECT_EQ(shown(flow.nodes.at(name)), "cancelled");
        EXPECT_EQ(snapshot(flow.nodes.at(name)).cancellation_reason, "sibling_quorum_satisfied");
        EXPECT_EQ(snapshot(flow.nodes.at(name)).cancelled_by, "engine");
    }
    EXPECT_EQ(refused(Complete{running.handle, {}, {}, holder}), "execution_not_active");
    EXPECT_FALSE(group(flow.flow_id, flow.nodes.at("j")).cancel_siblings_pending);
    succeed(flow.nodes.at("j"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed)
        << "a race that was won is no failure";
}

TEST_P(FlowConformance, ASiblingThatAnotherGroupWaitsForIsSpared) {
    auto op = graph({"a", "b", "j", "k"}, {{"a", "j"}, {"b", "j"}, {"b", "k"}});
    node(op, "j").policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
    op.flow_id.reset();
    node(op, "j").policy.force_cancel_shared = true;
    const auto forced = ok(op);
    succeed(forced.nodes.at("a"));
    EXPECT_EQ(shown(forced.nodes.at("b")), "cancelled");
    EXPECT_EQ(shown(forced.nodes.at("k")), "skipped");
}

TEST_P(FlowConformance, AQuorumOutOfReachCancelsTheRestToo) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::quorum(2, OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "skipped");
    EXPECT_EQ(snapshot(flow.nodes.at("c")).cancellation_reason, "sibling_quorum_impossible");
}

TEST_P(FlowConformance, ACancelAndAnExpiryCountAsFailures) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    ok(CancelExecution{LeaseRef(flow.nodes.at("a")), "no", "operator_override"});
    EXPECT_EQ(shown(flow.nodes.at("b")), "skipped");
    EXPECT_EQ(group(flow.flow_id, flow.nodes.at("b")).failed_count, 1U);
}

TEST_P(FlowConformance, ARetryIsNotAnEnd) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    node(op, "a").execution.policy =
        R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":0}}})";
    const auto flow = ok(op);
    ok(Fail{take(flow.nodes.at("a")).handle, "again", "transient", holder});
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting_children");
}

TEST_P(FlowConformance, ADelayedChildWaitsForItsTimeToo) {
    FF_NEEDS_CLOCK();
    auto op = graph({"a", "b"}, {{"a", "b"}});
    node(op, "b").execution.delay_until = now() + 60'000;
    const auto flow = ok(op);
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting_children");
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("b")), "delayed");
    after(60'000);
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
}

TEST_P(FlowConformance, ADelayThatIsOverWhileBlockedIsNoReasonToRun) {
    FF_NEEDS_CLOCK();
    auto op = graph({"a", "b"}, {{"a", "b"}});
    node(op, "b").execution.delay_until = now() + 1'000;
    const auto flow = ok(op);
    after(5'000);
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting_children");
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
}

TEST_P(FlowConformance, AWaitingClaimGetsTheChildInTheSameTransaction) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    const ClaimedTask first = take(flow.nodes.at("a"));
    SentClaim waiting(engine(), with(claim_by("w2"), [](auto& op) { op.max_wait_ms = 10'000; }));
    settle();
    EXPECT_FALSE(waiting.answered());
    ok(Complete{first.handle, {}, {}, holder});
    const auto tasks = waiting.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), flow.nodes.at("b"));
    EXPECT_EQ(tasks[0].flow_id, flow.flow_id);
}

// ----------------------------------------------------------------------------------- conditions

TEST_P(FlowConformance, ConditionalEdgesBranch) {
    auto op = graph({"check", "good", "bad", "join"},
                    {{"check", "good"}, {"check", "bad"}, {"good", "join"}, {"bad", "join"}});
    op.edges[0].when = "$.score >= 0.8";
    op.edges[1].when = "$.score < 0.8";
    node(op, "join").policy = GroupPolicy::any_of();
    const auto flow = ok(op);
    succeed(flow.nodes.at("check"), R"({"score":0.9})");
    EXPECT_EQ(shown(flow.nodes.at("good")), "waiting");
    EXPECT_EQ(shown(flow.nodes.at("bad")), "skipped");
    EXPECT_EQ(group(flow.flow_id, flow.nodes.at("bad")).not_taken_count, 1U);
    succeed(flow.nodes.at("good"));
    EXPECT_EQ(shown(flow.nodes.at("join")), "waiting");
    succeed(flow.nodes.at("join"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, CleanupRunsHoweverItEnds) {
    auto op = graph({"work", "alarm", "cleanup"}, {{"work", "alarm"}, {"work", "cleanup"}});
    op.edges[0].dependency_kind = DependencyKind::on_failure;
    op.edges[1].dependency_kind = DependencyKind::always;
    const auto good = ok(op);
    succeed(good.nodes.at("work"));
    EXPECT_EQ(shown(good.nodes.at("alarm")), "skipped");
    EXPECT_EQ(shown(good.nodes.at("cleanup")), "waiting");
    drain(claim_by("w1"));
    const auto bad = ok(op);
    fail(bad.nodes.at("work"));
    EXPECT_EQ(shown(bad.nodes.at("alarm")), "waiting");
    EXPECT_EQ(shown(bad.nodes.at("cleanup")), "waiting");
}

TEST_P(FlowConformance, EdgesNotTakenAreIgnoredByAllOf) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    op.edges[1].dependency_kind = DependencyKind::on_failure;
    const auto flow = ok(op);
    succeed(flow.nodes.at("b"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting_children");
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting");
}

// ----------------------------------------------------------------------------------------- data

TEST_P(FlowConformance, AResultReplacesThePayload) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.edges[0].data_passing_ref = "result";
    node(op, "b").execution.input_payload = "own";
    const auto flow = ok(op);
    ok(Complete{take(flow.nodes.at("a")).handle, "handed on", "text/plain", holder});
    const ClaimedTask task = take(flow.nodes.at("b"));
    EXPECT_EQ(task.input_payload, "handed on");
    EXPECT_EQ(task.payload_encoding, "text/plain");
}

TEST_P(FlowConformance, WithoutAResultTheChildKeepsItsPayload) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.edges[0].data_passing_ref = "artifact://hash-abc";
    node(op, "b").execution.input_payload = "own";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"), std::nullopt);
    EXPECT_EQ(take(flow.nodes.at("b")).input_payload, "own");
}

TEST_P(FlowConformance, OnlyTheWinnerOfARacePassesData) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    op.edges[0].data_passing_ref = "result";
    op.edges[1].data_passing_ref = "result";
    node(op, "j").policy = GroupPolicy::any_of();
    const auto flow = ok(op);
    succeed(flow.nodes.at("b"), "first");
    succeed(flow.nodes.at("a"), "late");
    EXPECT_EQ(take(flow.nodes.at("j")).input_payload, "first");
}

TEST_P(FlowConformance, NamedInputsComeFromAllUpstreams) {
    auto op = graph({"a", "b", "j"}, {{"a", "j"}, {"b", "j"}});
    op.edges[0].data_passing_ref = R"({"as":"transcript","path":"$.text"})";
    node(op, "j").execution.input_payload = "own";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"), R"({"text":"hello","n":1})");
    succeed(flow.nodes.at("b"), "raw");
    EXPECT_EQ(take(flow.nodes.at("j")).input_payload, "own");
    const auto inputs = ok(ReadInputs{flow.nodes.at("j")}).inputs;
    ASSERT_EQ(inputs.size(), 2U);
    EXPECT_EQ(inputs[0].name, "b");
    EXPECT_EQ(inputs[0].value, "raw");
    EXPECT_EQ(inputs[1].name, "transcript");
    EXPECT_EQ(inputs[1].value, "\"hello\"");
    EXPECT_EQ(refused(ReadInputs{missing_}), "execution_not_found");
}

// ------------------------------------------------------------------------- children at run time

TEST_P(FlowConformance, ARunningParentWaitsForItsChildren) {
    const auto flow = ok(graph({"parent"}, {}));
    const ClaimedTask parent = take(flow.nodes.at("parent"));
    SpawnChildren op;
    op.lease = parent.handle;
    for (const char* name : {"one", "two"}) {
        FlowNode child;
        child.name = name;
        child.execution = job();
        op.nodes.push_back(child);
        FlowEdge back;
        back.from = name;
        op.edges.push_back(back);
    }
    const auto spawned = ok(op).nodes;
    EXPECT_EQ(flow_of(flow.flow_id).node_count, 3U);
    EXPECT_EQ(shown(flow.nodes.at("parent")), "active");
    succeed(spawned.at("one"));
    EXPECT_EQ(ok(WaitChildren{parent.handle, holder}).public_state, PublicState::waiting_children);
    succeed(spawned.at("two"));
    EXPECT_EQ(shown(flow.nodes.at("parent")), "waiting");
    const ClaimedTask resumed = take(flow.nodes.at("parent"));
    EXPECT_TRUE(resumed.resumed());
    EXPECT_EQ(resumed.handle.attempt_index, parent.handle.attempt_index);
    ok(Complete{resumed.handle, {}, {}, holder});
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
}

TEST_P(FlowConformance, AParentWhoseChildrenHaveEndedGoesOnAtOnce) {
    const auto flow = ok(graph({"parent"}, {}));
    const ClaimedTask parent = take(flow.nodes.at("parent"));
    SpawnChildren op;
    op.lease = parent.handle;
    op.nodes.resize(1);
    op.nodes[0].name = "child";
    op.nodes[0].execution = job();
    op.edges.resize(1);
    op.edges[0].from = "child";
    succeed(ok(op).nodes.at("child"));
    EXPECT_EQ(ok(WaitChildren{parent.handle, holder}).public_state, PublicState::waiting);
}

TEST_P(FlowConformance, AChildThatFailsSkipsItsParent) {
    const auto flow = ok(graph({"parent"}, {}));
    const ClaimedTask parent = take(flow.nodes.at("parent"));
    SpawnChildren op;
    op.lease = parent.handle;
    op.nodes.resize(1);
    op.nodes[0].name = "child";
    op.nodes[0].execution = job();
    op.edges.resize(1);
    op.edges[0].from = "child";
    fail(ok(op).nodes.at("child"));
    EXPECT_EQ(shown(flow.nodes.at("parent")), "skipped") << "though it was active";
    EXPECT_EQ(refused(Complete{parent.handle, {}, {}, holder}), "execution_not_active");
    EXPECT_EQ(attempt(flow.nodes.at("parent"), 0).failure_reason, "dependency_impossible");
    EXPECT_EQ(history(flow.nodes.at("parent")).back(), "revoked:dependency_impossible=skipped");
}

TEST_P(FlowConformance, SpawningNeedsTheLeaseAndAFlow) {
    const ClaimedTask alone = start();
    SpawnChildren op;
    op.lease = alone.handle;
    op.nodes.resize(1);
    op.nodes[0].name = "child";
    op.nodes[0].execution = job();
    EXPECT_EQ(refused(op), "execution_not_in_flow");
    op.lease.lease_epoch = *op.lease.lease_epoch + 1;
    EXPECT_EQ(refused(op), "stale_lease");
}

// ----------------------------------------------------------------------------------------- submit

TEST_P(FlowConformance, AGraphIsSubmittedOnce) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.flow_id = FlowId{new_uuid()};
    op.tags = {{"team.name", "video"}};
    const auto first = ok(op);
    EXPECT_TRUE(first.created);
    EXPECT_EQ(first.flow_id, *op.flow_id);
    const auto again = ok(op);
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.nodes, first.nodes);
    const FlowSnapshot flow = flow_of(*op.flow_id);
    EXPECT_EQ(flow.graph_revision, 3U);
    EXPECT_TRUE(flow.sealed);
    EXPECT_EQ(flow.tags, op.tags);
    const auto page = ok(ListFlowMembers{*op.flow_id, {}, 100, {}}).members;
    ASSERT_EQ(page.size(), 2U);
    op.ns = "other";
    for (auto& n : op.nodes) {
        n.execution.ns = "other";
    }
    EXPECT_EQ(refused(op), "flow_already_exists");
}

TEST_P(FlowConformance, BadGraphsAreRefusedWhole) {
    const auto before = dump();
    const auto twice = graph({"a", "a"}, {});
    EXPECT_EQ(refused(twice), "invalid_input");
    EXPECT_NE(error(twice).message().find("node a: the name is used twice"), std::string::npos);
    const auto unknown = graph({"a"}, {{"a", "b"}});
    EXPECT_NE(error(unknown).message().find("edge a -> b: there is no node `b`"),
              std::string::npos);
    const auto cycle = graph({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}, {"c", "b"}});
    EXPECT_EQ(refused(cycle), "cycle_detected");
    EXPECT_NE(error(cycle).message().find("b -> c -> b"), std::string::npos)
        << error(cycle).message();
    EXPECT_EQ(refused(graph({"a"}, {{"a", "a"}})), "self_referencing_edge");
    EXPECT_EQ(refused(graph({}, {})), "invalid_input");
    auto quorum = graph({"a", "b"}, {{"a", "b"}});
    node(quorum, "b").policy = GroupPolicy::quorum(2);
    EXPECT_EQ(refused(quorum), "invalid_input");
    auto condition = graph({"a", "b"}, {{"a", "b"}});
    condition.edges[0].when = "score > 1";
    EXPECT_EQ(refused(condition), "invalid_input");
    auto lane = graph({"a"}, {});
    lane.nodes[0].execution.lane_id = "";
    EXPECT_EQ(refused(lane), "invalid_input");
    EXPECT_EQ(dump(), before);
    EXPECT_TRUE(ok(ListFlows{}).flows.empty());
}

}  // namespace ff::engine::test
