// What keeps flows going and within their bounds: edges that come late, cancels that take more than
// one transaction, places of limited flows, repairs, and what is told of an end (spec 03).
#include "engine/conformance_flow.h"

namespace ff::engine::test {

namespace {

SpawnChildren children(const ClaimedTask& parent, std::size_t count) {
    SpawnChildren op;
    op.lease = parent.handle;
    for (std::size_t i = 0; i < count; ++i) {
        FlowNode child;
        child.name = "c" + std::to_string(i);
        child.execution = job();
        op.nodes.push_back(std::move(child));
        FlowEdge back;
        back.from = "c" + std::to_string(i);
        op.edges.push_back(std::move(back));
    }
    return op;
}

std::vector<std::string> types_of(const std::vector<Event>& events, const FlowId& flow) {
    std::vector<std::string> out;
    for (const Event& event : events) {
        if (event.flow_id == flow) {
            out.emplace_back(event.type);
        }
    }
    return out;
}

}  // namespace

// -------------------------------------------------------------------------------------- edges

TEST_P(FlowConformance, AStagedEdgeHoldsTheGroupOpen) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 3);
    const EdgeId first = stage(flow, m[0], m[2]);
    const EdgeId second = stage(flow, m[1], m[2]);
    ok(ApplyDependency{flow, first, m[0], m[2]});
    succeed(m[0]);
    EXPECT_EQ(shown(m[2]), "waiting_children") << "another edge is staged";
    ok(ApplyDependency{flow, second, m[1], m[2]});
    EXPECT_EQ(shown(m[2]), "waiting_children");
    succeed(m[1]);
    EXPECT_EQ(shown(m[2]), "waiting");
}

TEST_P(FlowConformance, ApplyingAnEdgeRevokesTheGrant) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    IssueClaimGrant grant;
    grant.execution_id = m[1];
    grant.lane_id = "default";
    grant.worker_id = "w1";
    grant.worker_instance_id = instance_of("w1");
    ok(grant);
    link(flow, m[0], m[1]);
    ClaimExecution claim;
    claim.execution_id = m[1];
    claim.worker_id = "w1";
    claim.worker_instance_id = instance_of("w1");
    claim.lane_id = "default";
    claim.lease_ttl_ms = 30'000;
    EXPECT_NE(refused(claim), "ok");
    EXPECT_EQ(shown(m[1]), "waiting_children");
    succeed(m[0]);
    succeed(m[1]);
}

TEST_P(FlowConformance, AnAppliedEdgeKeepsTheDelay) {
    FF_NEEDS_CLOCK();
    const FlowId flow = make_flow();
    const ExecutionId first = member(flow);
    const ExecutionId late =
        member(flow, with(job(), [&](auto& op) { op.delay_until = now() + 60'000; }));
    link(flow, first, late);
    EXPECT_EQ(shown(late), "waiting_children");
    succeed(first);
    EXPECT_EQ(shown(late), "delayed");
    after(60'000);
    EXPECT_EQ(shown(late), "waiting");
}

TEST_P(FlowConformance, ARunningParentWaitsForAnEdgeThatIsAppliedLate) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    link(flow, m[0], m[1]);
    succeed(m[0]);
    const ClaimedTask parent = take(m[1]);
    const ExecutionId child = member(flow);
    link(flow, child, m[1]);
    EXPECT_EQ(shown(m[1]), "active");
    EXPECT_EQ(ok(WaitChildren{parent.handle, holder}).public_state, PublicState::waiting_children);
    succeed(child);
    EXPECT_EQ(shown(m[1]), "waiting");
    EXPECT_TRUE(take(m[1]).resumed());
}

TEST_P(FlowConformance, AnEdgeOfARunningUpstreamMayBeResolved) {
    for (const bool with_condition : {true, false}) {
        const FlowId flow = make_flow();
        const Ids m = members(flow, 2);
        auto op = edge(flow, m[0], m[1]);
        if (with_condition) {
            op.when = "!$.broken";
        } else {
            op.data_passing_ref = "result";
        }
        const EdgeId id = ok(op).edge_id;
        ok(ApplyDependency{flow, id, m[0], m[1]});
        const ClaimedTask running = take(m[0]);
        const ResolveResult resolved = ok(ResolveDependency{flow, id, "success"});
        EXPECT_EQ(resolved.outcome, ResolveOutcome::satisfied);
        EXPECT_FALSE(resolved.data_injected) << "there is no result yet";
        EXPECT_EQ(shown(m[1]), "waiting");
        ok(Complete{running.handle, "{}", {}, holder});
        EXPECT_EQ(shown(m[1]), "waiting");
    }
}

TEST_P(FlowConformance, NoPathIsTooLongToFindACycleIn) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 12);
    for (std::size_t i = m.size() - 1; i > 0; --i) {
        stage(flow, m[i - 1], m[i]);  // from the end: each looks along all that is behind it
    }
    EXPECT_EQ(refused(edge(flow, m[11], m[0])), "cycle_detected");
    EXPECT_EQ(refused(edge(flow, m[6], m[0])), "cycle_detected");
    stage(flow, m[0], m[11]);
    EXPECT_EQ(flow_of(flow).edge_count, 12U);
}

TEST_P(FlowConformance, ASkippedChildLeavesNoWaitpoint) {
    const auto flow = ok(graph({"parent"}, {}));
    const ClaimedTask parent = take(flow.nodes.at("parent"));
    const ExecutionId child = ok(children(parent, 1)).nodes.at("c0");
    Suspend suspend;
    suspend.lease = parent.handle;
    suspend.resume_condition = ResumeCondition::single("k");
    ok(suspend);
    ASSERT_EQ(shown(flow.nodes.at("parent")), "suspended");
    ListPendingWaitpoints open;
    open.execution_id = flow.nodes.at("parent");
    ASSERT_EQ(ok(open).waitpoints.size(), 1U);
    fail(child);
    EXPECT_EQ(shown(flow.nodes.at("parent")), "skipped");
    EXPECT_TRUE(ok(open).waitpoints.empty());
}

TEST_P(FlowConformance, ForgottenEdgesAreApplied) {
    FF_NEEDS_CLOCK();
    const FlowId over = make_flow();
    const Ids old = members(over, 2);
    stage(over, old[0], old[1]);
    ok(CancelFlow{over, "x", CancellationPolicy::flow_only});
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    const EdgeId id = stage(flow, m[0], m[1]);
    after(20'000);
    ok(RunScanner{"dependency_reconciler"});
    EXPECT_EQ(read_edge(flow, id).edge_state, EdgeState::pending) << "its client may be slow";
    after(20'000);
    ok(RunScanner{"dependency_reconciler"});
    EXPECT_EQ(read_edge(flow, id).edge_state, EdgeState::applied);
    EXPECT_EQ(shown(m[1]), "waiting_children");
}

// ------------------------------------------------------------------------------------- limits

TEST_P(FlowConformance, AnExecutionIsOneNodeOfAGraph) {
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.flow_id = FlowId{new_uuid()};
    const ExecutionId one = ExecutionId::for_flow(*op.flow_id, partitions(), new_uuid());
    node(op, "a").execution.execution_id = one;
    node(op, "b").execution.execution_id = one;
    EXPECT_EQ(refused(op), "invalid_input");
    EXPECT_FALSE(ok(DescribeFlow{*op.flow_id})) << "nothing was written";
    EXPECT_FALSE(ok(DescribeExecution{one}));
    const auto flow = ok(graph({"parent"}, {}));
    auto spawn = children(take(flow.nodes.at("parent")), 2);
    const ExecutionId child = ExecutionId::for_flow(flow.flow_id, partitions(), new_uuid());
    spawn.nodes[0].execution.execution_id = child;
    spawn.nodes[1].execution.execution_id = child;
    EXPECT_EQ(refused(spawn), "invalid_input");
    EXPECT_EQ(flow_of(flow.flow_id).node_count, 1U);
}

TEST_P(FlowConformance, AFlowHasSoManyMembersAndEdges) {
    FF_NEEDS_EMBEDDED();
    std::vector<std::string> names;
    for (int i = 0; i < 10'001; ++i) {
        names.push_back("n" + std::to_string(i));
    }
    EXPECT_EQ(refused(graph(names, {})), "flow_limit_exceeded");
    names.pop_back();
    EXPECT_EQ(refused(graph({"a", "b"}, {50'001, {"a", "b"}})), "flow_limit_exceeded");
    EXPECT_EQ(refused(graph({"a", "b"}, {1'025, {"a", "b"}})), "flow_limit_exceeded");
    const auto flow = ok(graph(names, {}));
    auto spawn = children(take(flow.nodes.at("n0")), 1);
    EXPECT_EQ(refused(spawn), "flow_limit_exceeded");
    EXPECT_EQ(refused(AddExecutionToFlow{
                  flow.flow_id, create(with(job(),
                                            [&](auto& op) {
                                                op.execution_id = ExecutionId::for_flow(
                                                    flow.flow_id, partitions(), new_uuid());
                                            }))}),
              "flow_already_terminal")
        << "a submitted flow is sealed";
}

TEST_P(FlowConformance, SoManyEdgesLeadToAParentHoweverManyCallsAddThem) {
    FF_NEEDS_EMBEDDED();
    const auto flow = ok(graph({"parent"}, {}));
    const ClaimedTask parent = take(flow.nodes.at("parent"));
    ok(children(parent, 1'000));
    auto more = children(parent, 25);
    EXPECT_EQ(refused(more), "flow_limit_exceeded");
    more.nodes.pop_back();
    more.edges.pop_back();
    ok(more);
    EXPECT_EQ(group(flow.flow_id, flow.nodes.at("parent")).total_deps, 1'024U);
}

// ------------------------------------------------------------------------------------- cancel

TEST_P(FlowConformance, ALargeCancelIsScheduledAndFinished) {
    FF_NEEDS_EMBEDDED();
    std::vector<std::string> names;
    std::vector<std::pair<std::string, std::string>> edges;
    for (int i = 0; i < 2'500; ++i) {
        names.push_back("n" + std::to_string(i));
        if (i > 0) {
            edges.emplace_back(names[names.size() - 2], names.back());
        }
    }
    const auto flow = ok(graph(names, edges));
    const auto answer = ok(CancelFlow{flow.flow_id, "too much"});
    EXPECT_TRUE(answer.scheduled) << "one transaction does not change as many rows";
    EXPECT_EQ(answer.member_count, 2'500U);
    for (int tries = 0; tries < 200 && flow_of(flow.flow_id).live_members > 0; ++tries) {
        settle();
    }
    EXPECT_EQ(flow_of(flow.flow_id).live_members, 0U);
    EXPECT_EQ(shown(flow.nodes.at(names.back())), "cancelled");
}

TEST_P(FlowConformance, AMemberThatIsStillToBeCancelledIsNotHandedOut) {
    FF_NEEDS_CLOCK();
    const auto flow = ok(graph({"a", "b", "c"}, {}));
    const ClaimedTask running = take(flow.nodes.at("a"));
    ok(CancelFlowHeader{flow.flow_id, "soon", CancellationPolicy::cancel_pending, 5'000});
    IssueClaimGrant grant;
    grant.execution_id = flow.nodes.at("c");
    grant.lane_id = "default";
    grant.worker_id = "w1";
    grant.worker_instance_id = instance_of("w1");
    EXPECT_EQ(refused(grant), "execution_not_eligible");
    EXPECT_FALSE(has_work()) << "what is left of it is cancelled";
    EXPECT_EQ(shown(flow.nodes.at("b")), "cancelled");
    ok(Release{running.handle});
    const ClaimedTask again = claim("w2");
    EXPECT_EQ(again.execution_id(), flow.nodes.at("a")) << "it ran, so it may go on";
    after(5'000);
    ok(Complete{again.handle, {}, {}, holder});
    EXPECT_EQ(shown(flow.nodes.at("a")), "completed");
}

// ------------------------------------------------------------------------------------- places

TEST_P(FlowConformance, ASuspendedMemberGivesItsPlaceBack) {
    auto op = graph({"a", "b"}, {});
    op.settings.max_active_members = 1;
    const auto flow = ok(op);
    const ClaimedTask first = claim();
    EXPECT_FALSE(has_work());
    Suspend suspend;
    suspend.lease = first.handle;
    suspend.resume_condition = ResumeCondition::single("k");
    const SuspendResult suspended = ok(suspend);
    const ClaimedTask second = claim("w2");
    EXPECT_NE(second.execution_id(), first.execution_id());
    DeliverSignal signal;
    signal.execution_id = first.execution_id();
    signal.waitpoint_id = suspended.details.waitpoint.waitpoint_id;
    signal.waitpoint_token = suspended.details.waitpoint.waitpoint_token;
    signal.signal_name = "go";
    ok(signal);
    EXPECT_FALSE(has_work()) << "the place is taken";
    ok(Complete{second.handle, {}, {}, holder});
    EXPECT_EQ(claim("w1").execution_id(), first.execution_id());
}

TEST_P(FlowConformance, AFreePlaceIsForWhoeverIsAskedFor) {
    auto op = graph({"a", "b", "c"}, {});
    op.settings.max_active_members = 1;
    node(op, "b").execution.lane_id = "nobody";
    node(op, "b").execution.priority = 9;
    const auto flow = ok(op);
    const ClaimedTask first = claim();
    EXPECT_FALSE(has_work());
    EXPECT_FALSE(has_work("probe", "nobody"));
    ok(Complete{first.handle, {}, {}, holder});
    EXPECT_TRUE(has_work()) << "nobody takes b, which is the best of them";
}

// ---------------------------------------------------------------------------------- what is told

TEST_P(FlowConformance, WhySaysForWhatItWasSkipped) {
    auto op = graph({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}});
    op.edges[0].when = "$.ok";
    const auto summary = [&](const std::string& result) {
        const auto flow = ok(op);
        succeed(flow.nodes.at("a"), result);
        EXPECT_EQ(ok(ExplainExecution{flow.nodes.at("c")}).summary,
                  "it has ended: skipped, because b ended skipped");
        return ok(ExplainExecution{flow.nodes.at("b")}).summary;
    };
    EXPECT_EQ(summary(R"({"ok":false})"),
              "it has ended: skipped, because the result of a does not meet $.ok");
    EXPECT_EQ(summary("fine"),
              "it has ended: skipped, because the result of a is no JSON, as $.ok needs");
}

TEST_P(FlowConformance, AListEndsWithTheLastFlowThatMatches) {
    std::vector<FlowId> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(make_flow());
    }
    std::ranges::sort(ids);
    ok(CancelFlow{ids[0], "x"});
    ok(CancelFlow{ids[1], "x"});
    ListFlows op;
    op.limit = 1;
    op.status = "cancelled";
    const FlowPage first = ok(op);
    ASSERT_TRUE(first.next_cursor);
    op.cursor = first.next_cursor;
    const FlowPage second = ok(op);
    ASSERT_EQ(second.flows.size(), 1U);
    EXPECT_EQ(second.flows[0].flow_id, ids[1]);
    EXPECT_FALSE(second.next_cursor) << "those behind it are not cancelled";
}

TEST_P(FlowConformance, TheEndOfAFlowIsTold) {
    FF_NEEDS_CLOCK();
    const auto good = ok(graph({"a"}, {}));
    const auto bad = ok(graph({"a"}, {}));
    auto op = graph({"a"}, {});
    op.settings.deadline_at = now() + 10'000;
    const auto late = ok(op);
    succeed(good.nodes.at("a"));
    fail(bad.nodes.at("a"));
    after(10'000);
    ReadEvents read;
    read.family = EventFamily::flows;
    read.cursor = EventCursor::earliest();
    const auto events = ok(read).events;
    EXPECT_EQ(types_of(events, good.flow_id), (std::vector<std::string>{"flow_completed"}));
    EXPECT_EQ(types_of(events, bad.flow_id), (std::vector<std::string>{"flow_failed"}));
    EXPECT_EQ(types_of(events, late.flow_id), (std::vector<std::string>{"flow_deadline"}));
}

}  // namespace ff::engine::test
