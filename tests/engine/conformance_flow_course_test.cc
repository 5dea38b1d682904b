// What whole flows can be told to do, what can be read of them, and what time does (spec 03).
#include "engine/conformance_flow.h"

namespace ff::engine::test {

// ------------------------------------------------------------------------------------ seal, finish

TEST_P(FlowConformance, ASealedFlowEndsWithItsMembers) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    succeed(m[0]);
    EXPECT_EQ(ok(SealFlow{flow}).state, FlowState::open);
    EXPECT_EQ(
        refused(AddExecutionToFlow{flow, create(with(job(),
                                                     [&](auto& op) {
                                                         op.execution_id = ExecutionId::for_flow(
                                                             flow, partitions(), new_uuid());
                                                     }))}),
        "flow_already_terminal");
    EXPECT_EQ(refused(edge(flow, m[0], m[1])), "flow_already_terminal");
    succeed(m[1]);
    const FlowSnapshot done = flow_of(flow);
    EXPECT_EQ(done.public_flow_state, FlowState::completed);
    EXPECT_TRUE(done.finished_at);
    EXPECT_EQ(done.live_members, 0U);
}

TEST_P(FlowConformance, SealingEndsAFlowWhoseMembersHaveEnded) {
    const FlowId flow = make_flow();
    fail(member(flow));
    EXPECT_EQ(ok(SealFlow{flow}).state, FlowState::failed);
    EXPECT_EQ(ok(SealFlow{flow}).state, FlowState::failed);
    EXPECT_EQ(refused(SealFlow{FlowId{new_uuid()}}), "flow_not_found");
}

TEST_P(FlowConformance, SealingMakesAnUnreachableQuorumImpossible) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    ok(SetEdgeGroupPolicy{flow, m[1], GroupPolicy::quorum(2)});
    link(flow, m[0], m[1]);
    succeed(m[0]);
    EXPECT_EQ(shown(m[1]), "waiting_children");
    EXPECT_EQ(snapshot(m[1]).info.blocking_detail, "quorum unreachable: k=2 of 1 edge(s)");
    ok(SealFlow{flow});
    EXPECT_EQ(shown(m[1]), "skipped");
}

TEST_P(FlowConformance, TheSummaryCountsMembers) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "b"}}));
    auto summary = ok(ReadFlowSummary{flow.flow_id});
    EXPECT_EQ(summary.total_members, 3U);
    EXPECT_EQ(summary.public_flow_state, "blocked");
    const ClaimedTask task = take(flow.nodes.at("c"));
    EXPECT_EQ(ok(ReadFlowSummary{flow.flow_id}).public_flow_state, "running");
    ok(Complete{task.handle, {}, {}, holder});
    succeed(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    summary = ok(ReadFlowSummary{flow.flow_id});
    EXPECT_EQ(summary.public_flow_state, "failed");
    EXPECT_EQ(summary.members.at(PublicState::completed), 2U);
    EXPECT_EQ(summary.members.at(PublicState::failed), 1U);
    EXPECT_EQ(refused(ReadFlowSummary{FlowId{new_uuid()}}), "flow_not_found");
}

// ----------------------------------------------------------------------------------------- cancel

TEST_P(FlowConformance, CancellingAFlowCancelsItsMembers) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "b"}}));
    const ClaimedTask running = take(flow.nodes.at("c"));
    const auto answer = ok(CancelFlow{flow.flow_id, "changed my mind"});
    EXPECT_FALSE(answer.already_terminal);
    EXPECT_FALSE(answer.scheduled);
    EXPECT_EQ(answer.member_execution_ids.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(answer.member_execution_ids));
    for (const auto& [name, id] : flow.nodes) {
        EXPECT_EQ(shown(id), "cancelled") << name;
        EXPECT_EQ(snapshot(id).cancellation_reason, "changed my mind");
        EXPECT_EQ(snapshot(id).cancelled_by, "operator_override");
    }
    EXPECT_EQ(refused(Complete{running.handle, {}, {}, holder}), "execution_not_active");
    const FlowSnapshot done = flow_of(flow.flow_id);
    EXPECT_EQ(done.public_flow_state, FlowState::cancelled);
    EXPECT_EQ(done.cancel_reason, "changed my mind");
    EXPECT_EQ(group(flow.flow_id, flow.nodes.at("b")).group_state, GroupState::cancelled);
    EXPECT_EQ(ok(ReadFlowSummary{flow.flow_id}).public_flow_state, "cancelled");
    const auto again = ok(CancelFlow{flow.flow_id, "twice", CancellationPolicy::flow_only});
    EXPECT_TRUE(again.already_terminal);
    EXPECT_EQ(again.cancellation_policy, CancellationPolicy::cancel_all);
    EXPECT_EQ(refused(CancelFlow{FlowId{new_uuid()}, "x"}), "flow_not_found");
}

TEST_P(FlowConformance, ACancelledFlowTakesNothingMore) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    const EdgeId staged = stage(flow, m[0], m[1]);
    ok(CancelFlow{flow, "", CancellationPolicy::flow_only});
    EXPECT_EQ(shown(m[0]), "waiting") << "its members go on";
    EXPECT_EQ(refused(edge(flow, m[0], m[1])), "flow_already_terminal");
    EXPECT_EQ(refused(ApplyDependency{flow, staged, m[0], m[1]}), "flow_already_terminal");
    EXPECT_EQ(refused(SetEdgeGroupPolicy{flow, m[1], {}}), "flow_already_terminal");
    EXPECT_EQ(refused(AddExecutionToFlow{flow, m[0]}), "flow_already_terminal");
    succeed(m[0]);
    EXPECT_EQ(refused(ReplayExecution{m[0]}), "flow_already_terminal");
}

TEST_P(FlowConformance, PendingMembersMayBeCancelledAlone) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "b"}}));
    const ClaimedTask running = take(flow.nodes.at("a"));
    ok(CancelFlow{flow.flow_id, "later", CancellationPolicy::cancel_pending});
    EXPECT_EQ(shown(flow.nodes.at("a")), "active");
    EXPECT_EQ(shown(flow.nodes.at("b")), "cancelled");
    EXPECT_EQ(shown(flow.nodes.at("c")), "cancelled");
    ok(Complete{running.handle, {}, {}, holder});
    EXPECT_EQ(shown(flow.nodes.at("a")), "completed");
    ok(CancelFlow{flow.flow_id, "all", CancellationPolicy::cancel_all, true});
    EXPECT_EQ(flow_of(flow.flow_id).cancellation_policy, CancellationPolicy::cancel_all);
}

TEST_P(FlowConformance, AHeaderLeavesTheMembersToItsCaller) {
    FF_NEEDS_CLOCK();
    const auto flow = ok(graph({"a", "b"}, {}));
    const auto header =
        ok(CancelFlowHeader{flow.flow_id, "slowly", CancellationPolicy::cancel_all, 5'000});
    EXPECT_EQ(header.member_execution_ids.size(), 2U);
    EXPECT_FALSE(header.already_terminal);
    EXPECT_EQ(shown(flow.nodes.at("a")), "waiting");
    ok(AckCancelMember{flow.flow_id, flow.nodes.at("a")});
    ok(AckCancelMember{flow.flow_id, flow.nodes.at("a")});
    after(5'000);
    EXPECT_EQ(shown(flow.nodes.at("b")), "cancelled") << "the engine does what is left";
    EXPECT_EQ(shown(flow.nodes.at("a")), "waiting") << "its caller said it was done";
    const auto again = ok(CancelFlowHeader{flow.flow_id, "x", {}, 0});
    EXPECT_TRUE(again.already_terminal);
    EXPECT_EQ(again.cancel_reason, "slowly");
    EXPECT_EQ(refused(CancelFlowHeader{flow.flow_id, "x", {}, -1}), "invalid_grace_ms");
}

// ----------------------------------------------------------------------------------------- replay

TEST_P(FlowConformance, ASkippedMemberIsReplayedBehindItsParent) {
    for (const bool parent_first : {true, false}) {
        const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
        const ExecutionId a = flow.nodes.at("a");
        const ExecutionId b = flow.nodes.at("b");
        fail(a);
        EXPECT_EQ(shown(b), "skipped");
        if (parent_first) {
            ok(ReplayExecution{a});
        }
        EXPECT_EQ(ok(ReplayExecution{b}).public_state, PublicState::waiting_children);
        EXPECT_EQ(snapshot(b).info.blocking_detail, "1 dep(s) unsatisfied after replay");
        if (!parent_first) {
            ok(ReplayExecution{a});
        }
        EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::open);
        succeed(a);
        EXPECT_EQ(shown(b), "waiting") << "only the new outcome counts";
        succeed(b);
        EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
    }
}

TEST_P(FlowConformance, AReplayedParentLeavesResolvedEdgesAlone) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    succeed(flow.nodes.at("a"));
    ok(ReplayExecution{flow.nodes.at("a")});
    fail(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
}

TEST_P(FlowConformance, AFlowIsRetriedFromWhatFailed) {
    const auto flow = ok(graph({"a", "b", "c", "d"}, {{"a", "b"}, {"b", "c"}, {"a", "d"}}));
    succeed(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    succeed(flow.nodes.at("d"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
    const auto retried = ok(RetryFlow{flow.flow_id});
    EXPECT_EQ(retried.replayed, (Ids{flow.nodes.at("b"), flow.nodes.at("c")}));
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
    EXPECT_EQ(shown(flow.nodes.at("c")), "waiting_children");
    succeed(flow.nodes.at("b"));
    succeed(flow.nodes.at("c"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed);
    EXPECT_TRUE(ok(RetryFlow{flow.flow_id}).replayed.empty());
    EXPECT_EQ(refused(RetryFlow{FlowId{new_uuid()}}), "flow_not_found");
    EXPECT_EQ(refused(RetryFlow{flow.flow_id, missing_}), "execution_not_in_flow");
}

TEST_P(FlowConformance, ARetryFromANodeRunsWhatHangsOnIt) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "b"}, {"b", "c"}}));
    succeed(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    EXPECT_EQ(refused(RetryFlow{flow.flow_id, flow.nodes.at("c")}), "invalid_input")
        << "it would wait for ever behind what stays failed";
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
    EXPECT_EQ(ok(RetryFlow{flow.flow_id, flow.nodes.at("a")}).replayed,
              (Ids{flow.nodes.at("b"), flow.nodes.at("c")}));
}

TEST_P(FlowConformance, ARetryDoesNotRunWhatStillCannotStart) {
    const auto flow = ok(graph({"a", "b", "c", "d"}, {{"a", "c"}, {"b", "d"}, {"a", "d"}}));
    fail(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    EXPECT_EQ(ok(RetryFlow{flow.flow_id, flow.nodes.at("a")}).replayed,
              (Ids{flow.nodes.at("a"), flow.nodes.at("c")}))
        << "d needs b, which stays failed";
    succeed(flow.nodes.at("a"));
    succeed(flow.nodes.at("c"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed) << "and not open";
}

TEST_P(FlowConformance, ARetryRunsAJoinAgainWhoseOtherSiblingsWereCancelled) {
    auto op = graph({"a", "b", "c", "j"}, {{"a", "j"}, {"b", "j"}, {"c", "j"}});
    node(op, "j").policy = GroupPolicy::quorum(2, OnSatisfied::cancel_remaining);
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    fail(flow.nodes.at("b"));
    settle();
    ASSERT_EQ(shown(flow.nodes.at("j")), "skipped");
    ASSERT_EQ(shown(flow.nodes.at("c")), "cancelled") << "two of three could not be had any more";
    auto replayed = ok(RetryFlow{flow.flow_id}).replayed;
    std::ranges::sort(replayed);
    Ids expected{flow.nodes.at("a"), flow.nodes.at("b"), flow.nodes.at("c"), flow.nodes.at("j")};
    std::ranges::sort(expected);
    EXPECT_EQ(replayed, expected);
    succeed(flow.nodes.at("a"));
    succeed(flow.nodes.at("b"));
    EXPECT_EQ(shown(flow.nodes.at("j")), "waiting");
    succeed(flow.nodes.at("j"));
    settle();
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::completed)
        << "c was cancelled again, because two were enough";
}

TEST_P(FlowConformance, AFlowThatHasEndedDoesNotGoOn) {
    const auto flow = ok(graph({"a"}, {}));
    EXPECT_FALSE(ok(ResumeFlow{flow.flow_id}).paused) << "it is not paused";
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(refused(ResumeFlow{flow.flow_id}), "flow_already_terminal");
}

// ---------------------------------------------------------------------------- pause, limits, time

TEST_P(FlowConformance, APausedFlowHandsOutNothing) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "c"}}));
    const ClaimedTask running = take(flow.nodes.at("a"));
    EXPECT_TRUE(ok(PauseFlow{flow.flow_id}).paused);
    EXPECT_FALSE(has_work());
    EXPECT_EQ(state(flow.nodes.at("b")),
              "runnable unowned blocked_by_operator paused_by_operator none "
              "pending_first_attempt");
    ok(Complete{running.handle, {}, {}, holder});
    EXPECT_FALSE(has_work());
    EXPECT_FALSE(ok(ResumeFlow{flow.flow_id}).paused);
    EXPECT_EQ(drain(claim_by("w1")).size(), 2U);
    EXPECT_EQ(refused(PauseFlow{FlowId{new_uuid()}}), "flow_not_found");
}

TEST_P(FlowConformance, AResumedFlowWakesAWaitingClaim) {
    const auto flow = ok(graph({"a"}, {}));
    ok(PauseFlow{flow.flow_id});
    SentClaim waiting(engine(), with(claim_by("w2"), [](auto& op) { op.max_wait_ms = 10'000; }));
    settle();
    EXPECT_FALSE(waiting.answered());
    ok(ResumeFlow{flow.flow_id});
    EXPECT_EQ(waiting.tasks().size(), 1U);
}

TEST_P(FlowConformance, AFlowRunsAtMostSoManyMembers) {
    auto op = graph({"a", "b", "c", "d"}, {});
    op.settings.max_active_members = 2;
    const auto flow = ok(op);
    const auto tasks = claim_some(with(claim_by("w1"), [](auto& c) { c.max_tasks = 10; }));
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_FALSE(has_work());
    EXPECT_EQ(ok(ReadFlowSummary{flow.flow_id}).members.at(PublicState::rate_limited), 2U);
    ok(Complete{tasks[0].handle, {}, {}, holder});
    const ClaimedTask third = claim("w2");
    EXPECT_FALSE(has_work());
    ok(Fail{third.handle, "x", "permanent", holder});
    ok(Complete{tasks[1].handle, {}, {}, holder});
    ok(Complete{claim("w2").handle, {}, {}, holder});
    EXPECT_FALSE(has_work());
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
}

TEST_P(FlowConformance, AMemberThatIsCancelledWhileItCouldRunFreesTheNext) {
    auto op = graph({"a", "b", "c"}, {});
    op.settings.max_active_members = 1;
    const auto flow = ok(op);
    const ClaimedTask first = claim();
    EXPECT_FALSE(has_work());
    ok(Complete{first.handle, {}, {}, holder});
    for (const auto& [name, id] : flow.nodes) {
        if (shown(id) == "waiting") {
            ok(CancelExecution{LeaseRef(id), "no", "operator_override"});
            break;
        }
    }
    EXPECT_EQ(drain(claim_by("w1")).size(), 1U);
}

TEST_P(FlowConformance, ADeadlineCancelsTheFlow) {
    FF_NEEDS_CLOCK();
    auto op = graph({"a", "b"}, {{"a", "b"}});
    op.settings.deadline_at = now() + 10'000;
    const auto flow = ok(op);
    after(10'000);
    EXPECT_EQ(shown(flow.nodes.at("a")), "cancelled");
    EXPECT_EQ(snapshot(flow.nodes.at("a")).cancellation_reason, "flow_deadline");
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::cancelled);
    EXPECT_EQ(flow_of(flow.flow_id).cancel_reason, "flow_deadline");
}

TEST_P(FlowConformance, FailFastCancelsTheRestButNotTheCleanup) {
    auto op = graph({"a", "b", "cleanup"}, {{"a", "cleanup"}});
    op.edges[0].dependency_kind = DependencyKind::always;
    op.settings.on_member_failure = OnMemberFailure::cancel_rest;
    const auto flow = ok(op);
    fail(flow.nodes.at("a"));
    EXPECT_EQ(shown(flow.nodes.at("b")), "cancelled");
    EXPECT_EQ(shown(flow.nodes.at("cleanup")), "waiting");
    succeed(flow.nodes.at("cleanup"));
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
}

// ------------------------------------------------------------------------------- repair and reads

TEST_P(FlowConformance, PromoteIsForBlockedMembersWhoseGroupHasFired) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    EXPECT_EQ(refused(PromoteExecution{missing_}), "execution_not_found");
    EXPECT_EQ(refused(PromoteExecution{flow.nodes.at("a")}), "not_blocked_by_deps");
    EXPECT_EQ(refused(PromoteExecution{flow.nodes.at("b")}), "deps_not_satisfied");
    const ClaimedTask task = take(flow.nodes.at("a"));
    EXPECT_EQ(refused(PromoteExecution{flow.nodes.at("a")}), "not_runnable");
    ok(Complete{task.handle, {}, {}, holder});
    EXPECT_EQ(refused(PromoteExecution{flow.nodes.at("a")}), "terminal");
}

TEST_P(FlowConformance, AnEdgeIsResolvedOnce) {
    const FlowId flow = make_flow();
    const Ids m = members(flow, 2);
    const EdgeId id = link(flow, m[0], m[1]);
    EXPECT_EQ(refused(ResolveDependency{flow, id, "none"}), "invalid_dependency");
    EXPECT_EQ(refused(ResolveDependency{flow, EdgeId{new_uuid()}, "success"}),
              "invalid_dependency");
    EXPECT_EQ(ok(ResolveDependency{flow, id, "success"}).outcome, ResolveOutcome::satisfied);
    EXPECT_EQ(ok(ResolveDependency{flow, id, "failed"}).outcome, ResolveOutcome::already_resolved);
    EXPECT_EQ(shown(m[1]), "waiting");
}

TEST_P(FlowConformance, EligibilityIsExplained) {
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    EXPECT_EQ(eligibility(missing_), "not_found");
    EXPECT_EQ(eligibility(flow.nodes.at("a")), "eligible");
    EXPECT_EQ(eligibility(flow.nodes.at("b")), "blocked_by_dependencies");
    EXPECT_EQ(eligibility(create()), "eligible");
    const ClaimedTask task = take(flow.nodes.at("a"));
    EXPECT_EQ(eligibility(flow.nodes.at("a")), "not_runnable");
    ok(Complete{task.handle, {}, {}, holder});
    EXPECT_EQ(eligibility(flow.nodes.at("a")), "terminal");
}

TEST_P(FlowConformance, WhySaysWhomItWaitsFor) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "c"}, {"b", "c"}}));
    succeed(flow.nodes.at("a"));
    EXPECT_EQ(ok(ExplainExecution{flow.nodes.at("c")}).summary,
              "waits for 1 of 2 upstream executions (all_of): b is waiting");
    ok(PauseFlow{flow.flow_id});
    EXPECT_FALSE(has_work());
    EXPECT_EQ(ok(ExplainExecution{flow.nodes.at("b")}).summary,
              "paused_by_operator: flow " + flow.flow_id.to_string() + " is paused");
}

TEST_P(FlowConformance, FlowsAreListedByTheirId) {
    std::vector<FlowId> ids;
    for (int i = 0; i < 5; ++i) {
        ids.push_back(make_flow());
    }
    std::ranges::sort(ids);
    std::vector<FlowId> listed;
    ListFlows op;
    op.limit = 2;
    for (int pages = 0; pages < 5; ++pages) {
        const FlowPage page = ok(op);
        for (const auto& flow : page.flows) {
            EXPECT_EQ(flow.status, "active");
            listed.push_back(flow.flow_id);
        }
        if (!page.next_cursor) {
            break;
        }
        op.cursor = page.next_cursor;
    }
    EXPECT_EQ(listed, ids);
    op = {};
    op.limit = 0;
    EXPECT_TRUE(ok(op).flows.empty());
    op = {};
    op.ns = "other";
    EXPECT_TRUE(ok(op).flows.empty());
    ok(CancelFlow{ids[0], "x"});
    op = {};
    op.status = "cancelled";
    ASSERT_EQ(ok(op).flows.size(), 1U);
}

TEST_P(FlowConformance, MembersAreListedByTheirId) {
    const auto flow = ok(graph({"a", "b", "c"}, {{"a", "b"}}));
    ListFlowMembers op{flow.flow_id, {}, 2, {}};
    const MemberPage first = ok(op);
    ASSERT_EQ(first.members.size(), 2U);
    ASSERT_TRUE(first.next_cursor);
    op.cursor = first.next_cursor;
    const MemberPage second = ok(op);
    ASSERT_EQ(second.members.size(), 1U);
    EXPECT_FALSE(second.next_cursor);
    EXPECT_LT(first.members[1].execution_id, second.members[0].execution_id);
    op = {flow.flow_id, {}, 100, PublicState::waiting_children};
    const auto blocked = ok(op).members;
    ASSERT_EQ(blocked.size(), 1U);
    EXPECT_EQ(blocked[0].node, "b");
    EXPECT_EQ(blocked[0].execution_kind, "render");
}

TEST_P(FlowConformance, FlowsHaveTags) {
    const FlowId flow = make_flow();
    EXPECT_EQ(ok(SetFlowTags{flow, {{"a.x", "1"}, {"b.y", ""}}}).count, 2U);
    EXPECT_EQ(ok(GetFlowTag{flow, "a.x"}), "1");
    EXPECT_EQ(ok(GetFlowTag{flow, "b.y"}), "");
    EXPECT_FALSE(ok(GetFlowTag{flow, "a.z"}));
    EXPECT_FALSE(ok(GetFlowTag{FlowId{new_uuid()}, "a.x"}));
    for (const char* key : {"bogus", "Cairn.x", "cairn.", "cairn..x"}) {
        EXPECT_EQ(refused(SetFlowTags{flow, {{key, "1"}, {"ok.ok", "1"}}}), "invalid_tag_key");
        EXPECT_EQ(refused(GetFlowTag{flow, key}), "invalid_tag_key");
    }
    EXPECT_EQ(refused(SetFlowTags{flow, {}}), "invalid_input");
    EXPECT_EQ(refused(SetFlowTags{FlowId{new_uuid()}, {{"a.x", "1"}}}), "flow_not_found");
    EXPECT_EQ(flow_of(flow).tags, (Tags{{"a.x", "1"}, {"b.y", ""}}));
}

TEST_P(FlowConformance, AGraphShowsItsCriticalPath) {
    FF_NEEDS_CLOCK();
    const auto flow =
        ok(graph({"a", "b", "c", "d"}, {{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}}));
    const auto run_for = [&](const char* name, DurationMs ms) {
        const ClaimedTask task = take(flow.nodes.at(name));
        after(ms);
        ok(Complete{task.handle, {}, {}, holder});
    };
    run_for("a", 10);
    run_for("b", 500);
    run_for("c", 20);
    run_for("d", 5);
    const FlowGraph graph = ok(ReadFlowGraph{flow.flow_id});
    ASSERT_EQ(graph.nodes.size(), 4U);
    EXPECT_EQ(graph.nodes.front().node, "a");
    EXPECT_EQ(graph.nodes.back().node, "d");
    EXPECT_EQ(graph.critical_path_ms, 515);
    for (const GraphNode& n : graph.nodes) {
        EXPECT_EQ(n.critical, n.node != "c") << n.node;
    }
    EXPECT_EQ(graph.edges.size(), 4U);
    EXPECT_EQ(refused(ReadFlowGraph{FlowId{new_uuid()}}), "flow_not_found");
}

// ---------------------------------------------------------------------------- bounds, retention

TEST_P(FlowConformance, ALongChainOfSkipsIsDoneWithoutOneHugeTransaction) {
    FF_NEEDS_EMBEDDED();
    std::vector<std::string> names;
    std::vector<std::pair<std::string, std::string>> edges;
    constexpr int length = 3'000;
    for (int i = 0; i < length; ++i) {
        names.push_back("n" + std::to_string(i));
        if (i > 0) {
            edges.emplace_back(names[names.size() - 2], names.back());
        }
    }
    const auto flow = ok(graph(names, edges));
    fail(flow.nodes.at("n0"));
    after(0);
    for (int tries = 0; tries < 200 && flow_of(flow.flow_id).live_members > 0; ++tries) {
        settle();
    }
    EXPECT_EQ(flow_of(flow.flow_id).public_flow_state, FlowState::failed);
    EXPECT_EQ(shown(flow.nodes.at(names.back())), "skipped");
}

TEST_P(FlowConformance, MembersStayUntilTheirFlowHasEndedAndGoWithIt) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    EngineOptions options;
    options.retention_ms = 1'000;
    open_with(options);
    const auto flow = ok(graph({"a", "b"}, {}));
    succeed(flow.nodes.at("a"));
    after(5'000);
    EXPECT_EQ(shown(flow.nodes.at("a")), "completed") << "the flow still runs";
    succeed(flow.nodes.at("b"));
    after(5'000);
    EXPECT_FALSE(ok(DescribeExecution{flow.nodes.at("a")}));
    EXPECT_FALSE(ok(DescribeFlow{flow.flow_id}));
    const FlowId empty = make_flow();
    after(59'000);
    EXPECT_TRUE(ok(DescribeFlow{empty})) << "its first member may be on the way";
    after(1'000);
    EXPECT_FALSE(ok(DescribeFlow{empty}));
}

TEST_P(FlowConformance, AnEmptyFlowOutlivesARetentionOfNothing) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    open_with({.retention_ms = 0});
    const FlowId flow = make_flow();
    after(1'000);
    EXPECT_TRUE(ok(DescribeFlow{flow}));
}

TEST_P(FlowConformance, AMemberKeptForNoTimeThatRunsOutOfTimeResolvesItsEdges) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    auto op = graph({"a", "b", "c"}, {{"a", "b"}});
    node(op, "a").execution.policy = R"({"stream_policy":{"retention_ttl_ms":0}})";
    node(op, "a").execution.execution_deadline_at = now() + 1'000;
    const auto flow = ok(op);
    after(1'000);
    EXPECT_EQ(shown(flow.nodes.at("b")), "skipped");
    EXPECT_EQ(shown(flow.nodes.at("a")), "expired") << "c still runs";
    succeed(flow.nodes.at("c"));
    after(60'000);
    EXPECT_FALSE(ok(DescribeExecution{flow.nodes.at("a")}));
}

TEST_P(FlowConformance, AMemberKeptForNoTimeDoesNotKeepTheWriterBusy) {
    FF_NEEDS_CLOCK();
    FF_NEEDS_EMBEDDED();
    auto op = graph({"a", "b"}, {});
    node(op, "a").execution.policy = R"({"stream_policy":{"retention_ttl_ms":0}})";
    const auto flow = ok(op);
    succeed(flow.nodes.at("a"));
    ok(RunScanner{"retention_trimmer"});
    EXPECT_EQ(ok(RunScanner{"retention_trimmer"}).processed, 0U);
    EXPECT_EQ(shown(flow.nodes.at("a")), "completed");
}

TEST_P(FlowConformance, FlowsSurviveARestart) {
    if (!GetParam().durable) {
        GTEST_SKIP() << "nothing is kept";
    }
    const auto flow = ok(graph({"a", "b"}, {{"a", "b"}}));
    reopen();
    succeed(flow.nodes.at("a"));
    reopen();
    EXPECT_EQ(shown(flow.nodes.at("b")), "waiting");
    EXPECT_EQ(group(flow.flow_id, flow.nodes.at("b")).group_state, GroupState::satisfied);
}

}  // namespace ff::engine::test
