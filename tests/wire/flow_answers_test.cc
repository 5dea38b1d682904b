// Answers of flows: the forms of the specification, and that a client reads what a server writes.
#include "wire/flow_support.h"

namespace ff::wire::test {

namespace {

FlowSnapshot snapshot() {
    FlowSnapshot out;
    out.flow_id = flow();
    out.flow_kind = "dag";
    out.ns = "acme";
    out.graph_revision = 5;
    out.node_count = 3;
    out.edge_count = 2;
    out.created_at = 10;
    out.last_mutation_at = 20;
    out.live_members = 1;
    out.tags = {{"a.b", "c"}};
    EdgeGroupSnapshot group;
    group.downstream_execution_id = execution(3);
    group.policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    group.total_deps = 2;
    group.satisfied_count = 1;
    group.running_count = 1;
    group.group_state = GroupState::satisfied;
    group.satisfied_at = 15;
    out.edge_groups = {group};
    return out;
}

FlowSnapshot cancelled() {
    FlowSnapshot out = snapshot();
    out.public_flow_state = FlowState::cancelled;
    out.cancelled_at = 30;
    out.cancel_reason = "why";
    out.cancellation_policy = CancellationPolicy::cancel_pending;
    out.finished_at = 30;
    out.sealed = true;
    out.paused = true;
    out.settings = {99, OnMemberFailure::cancel_rest, 4};
    out.edge_groups.clear();
    return out;
}

EdgeSnapshot edge() {
    EdgeSnapshot out;
    out.edge_id = edge_id(9);
    out.flow_id = flow();
    out.upstream_execution_id = execution(2);
    out.downstream_execution_id = execution(3);
    out.created_at = 7;
    return out;
}

constexpr std::string_view open_text =
    R"({"flow_id":"00000000-0000-0000-0000-000000000001","flow_kind":"dag","namespace":"acme",)"
    R"("public_flow_state":"open","graph_revision":5,"node_count":3,"edge_count":2,)"
    R"("created_at":10,"last_mutation_at":20,"cancelled_at":null,"cancel_reason":null,)"
    R"("cancellation_policy":null,"finished_at":null,"sealed":false,"paused":false,)"
    R"("deadline_at":null,"on_member_failure":"continue","max_active_members":0,)"
    R"("live_members":1,"tags":{"a.b":"c"},"edge_groups":[{"downstream_execution_id":)"
    R"("{fp:7}:00000000-0000-0000-0000-000000000003","policy":{"kind":"any_of",)"
    R"("on_satisfied":"cancel_remaining"},"total_deps":2,"satisfied_count":1,"failed_count":0,)"
    R"("skipped_count":0,"not_taken_count":0,"running_count":1,"group_state":"satisfied",)"
    R"("satisfied_at":15,"cancel_siblings_pending":false}]})";

constexpr std::string_view edge_json =
    R"({"edge_id":"00000000-0000-0000-0000-000000000009",)"
    R"("flow_id":"00000000-0000-0000-0000-000000000001",)"
    R"("upstream_execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
    R"("downstream_execution_id":"{fp:7}:00000000-0000-0000-0000-000000000003",)"
    R"("dependency_kind":"success_only","satisfaction_condition":"all_required",)"
    R"("data_passing_ref":null,"when":null,"edge_state":"pending","created_at":7,)"
    R"("created_by":"engine","dependency_state":null,"resolved_at":null})";

constexpr std::string_view member_two = R"("{fp:7}:00000000-0000-0000-0000-000000000002")";

}  // namespace

TEST(FlowAnswers, OfBuildingAGraph) {
    expect_answer<CreateFlow>(
        {true, flow()}, R"(201 {"Created":{"flow_id":"00000000-0000-0000-0000-000000000001"}})");
    expect_answer<CreateFlow>(
        {false, flow()},
        R"(200 {"AlreadySatisfied":{"flow_id":"00000000-0000-0000-0000-000000000001"}})");
    expect_answer<AddExecutionToFlow>(
        {true, execution(2), 3},
        R"(201 {"Added":{"execution_id":)" + std::string(member_two) + R"(,"new_node_count":3}})");
    expect_answer<AddExecutionToFlow>({false, execution(2), 3},
                                      R"(200 {"AlreadyMember":{"execution_id":)" +
                                          std::string(member_two) + R"(,"node_count":3}})");
    expect_answer<StageDependencyEdge>(
        {edge_id(9), 4}, R"(201 {"Staged":{"edge_id":"00000000-0000-0000-0000-000000000009",)"
                         R"("new_graph_revision":4}})");
    expect_answer<SetEdgeGroupPolicy>({true}, R"(200 "Set")");
    expect_answer<SetEdgeGroupPolicy>({false}, R"(200 "AlreadySet")");
    expect_answer<ApplyDependency>({true, 2}, R"(200 {"Applied":{"unsatisfied_count":2}})");
    expect_answer<ApplyDependency>({false, 0}, R"(200 "AlreadyApplied")");
    expect_answer<ApplyAllDependencies>({3, 2}, R"(200 {"AppliedAll":{"applied":3,"groups":2}})");
    expect_answer<SubmitFlow>(
        {true, flow(), {{"a", execution(2)}}},
        R"(201 {"Created":{"flow_id":"00000000-0000-0000-0000-000000000001","nodes":{"a":)" +
            std::string(member_two) + "}}}");
    expect_answer<SubmitFlow>(
        {false, flow(), {}},
        R"(200 {"AlreadySatisfied":{"flow_id":"00000000-0000-0000-0000-000000000001",)"
        R"("nodes":{}}})");
    expect_answer<SpawnChildren>({{{"a", execution(2)}}, 9}, R"(201 {"Spawned":{"nodes":{"a":)" +
                                                                 std::string(member_two) +
                                                                 R"(},"new_graph_revision":9}})");
}

TEST(FlowAnswers, OfChangingItsCourse) {
    constexpr std::string_view state =
        R"({"flow_id":"00000000-0000-0000-0000-000000000001","public_flow_state":"completed",)"
        R"("sealed":true,"paused":true}})";
    const FlowStateResult result{flow(), FlowState::completed, true, true};
    expect_answer<SealFlow>(result, R"(200 {"Sealed":)" + std::string(state));
    expect_answer<PauseFlow>(result, R"(200 {"Paused":)" + std::string(state));
    expect_answer<ResumeFlow>(result, R"(200 {"Resumed":)" + std::string(state));
    expect_answer<RetryFlow>({{execution(2)}},
                             R"(200 {"Retried":{"replayed":[)" + std::string(member_two) + "]}}");
    expect_answer<ResolveDependency>(
        {ResolveOutcome::satisfied, true, false},
        R"(200 {"Satisfied":{"data_injected":true,"child_skipped":false}})");
    expect_answer<ResolveDependency>(
        {ResolveOutcome::impossible, false, true},
        R"(200 {"Impossible":{"data_injected":false,"child_skipped":true}})");
    expect_answer<ResolveDependency>(
        {}, R"(200 {"AlreadyResolved":{"data_injected":false,"child_skipped":false}})");
    expect_answer<PromoteExecution>({}, R"(200 "Promoted")");
    expect_answer<AckCancelMember>({}, R"(200 "Acknowledged")");
    EXPECT_EQ(text_of(write_answer<SetFlowTags>({2})), R"(200 {"Ok":{"count":2}})");
    EXPECT_EQ(taken<SetFlowTags>(write_answer<SetFlowTags>({2})).count, 2U);
}

TEST(FlowAnswers, ACancelSaysWhatOlderClientsKnow) {
    CancelFlowResult result;
    result.cancellation_policy = CancellationPolicy::flow_only;
    result.member_count = 1;
    result.member_execution_ids = {execution(2)};
    EXPECT_EQ(text_of(write_answer<CancelFlow>(result)),
              R"(200 {"Cancelled":{"cancellation_policy":"flow_only","member_execution_ids":[)" +
                  std::string(member_two) + "]}}");
    result.scheduled = true;
    EXPECT_EQ(text_of(write_answer<CancelFlow>(result)),
              R"(200 {"CancellationScheduled":{"cancellation_policy":"flow_only",)"
              R"("member_count":1,"member_execution_ids":[)" +
                  std::string(member_two) + "]}}");
}

TEST(FlowAnswers, ACancelTellsOursEverything) {
    for (const bool already_terminal : {false, true}) {
        for (const bool scheduled : {false, true}) {
            CancelFlowResult result;
            result.already_terminal = already_terminal;
            result.scheduled = scheduled;
            result.cancellation_policy = CancellationPolicy::cancel_pending;
            result.member_count = 5;
            result.member_execution_ids = {execution(2), execution(3)};
            const auto read = received<CancelFlow>(write_cancelled(result, CancelForm::whole));
            ASSERT_TRUE(read) << read.error().message();
            EXPECT_EQ(*read, result);
        }
    }
}

TEST(FlowAnswers, OfACancelInTwoSteps) {
    expect_answer<CancelFlowHeader>(
        {false, CancellationPolicy::cancel_all, "why", {execution(2)}},
        R"(200 {"Cancelled":{"cancellation_policy":"cancel_all","cancel_reason":"why",)"
        R"("member_execution_ids":[)" +
            std::string(member_two) + "]}}");
    expect_answer<CancelFlowHeader>({true, std::nullopt, std::nullopt, {}},
                                    R"(200 {"AlreadyTerminal":{"stored_cancellation_policy":null,)"
                                    R"("stored_cancel_reason":null,"member_execution_ids":[]}})");
}

TEST(FlowAnswers, OfAFlow) {
    expect_answer<DescribeFlow>(snapshot(), "200 " + std::string(open_text));
    EXPECT_TRUE(taken<DescribeFlow>(write_answer<DescribeFlow>(cancelled())) == cancelled());
}

TEST(FlowAnswers, WhatIsAbsentIsNoError) {
    const Answer gone = write_error({ErrorCode::flow_not_found, {}, {}});
    EXPECT_EQ(text_of(gone), R"(404 {"error":"not found: flow","code":"flow_not_found"})");
    EXPECT_FALSE(taken<DescribeFlow>(gone).has_value());
    EXPECT_FALSE(taken<DescribeEdge>(write_error({ErrorCode::edge_not_found, {}, {}})).has_value());
    EXPECT_FALSE(taken<GetFlowTag>(plain_error(404, "tag not found: a.b")).has_value());
    EXPECT_FALSE(received<ReadFlowSummary>(gone));
    EXPECT_EQ(received<ReadFlowSummary>(gone).error().code, ErrorCode::flow_not_found);
}

TEST(FlowAnswers, OfEdgesAndTags) {
    expect_answer<DescribeEdge>(edge(), "200 " + std::string(edge_json));
    expect_answer<ListEdges>(
        {edge()}, R"(200 {"items":[)" + std::string(edge_json) + R"(],"next_cursor":null})");
    EdgeSnapshot full = edge();
    full.dependency_kind = DependencyKind::on_skip;
    full.data_passing_ref = R"({"as":"x"})";
    full.when = "$.a";
    full.edge_state = EdgeState::applied;
    full.dependency_state = DependencyState::not_taken;
    full.resolved_at = 12;
    EXPECT_TRUE(taken<DescribeEdge>(write_answer<DescribeEdge>(full)) == full);
    expect_answer<GetFlowTag>("c", R"(200 {"value":"c"})");
}

TEST(FlowAnswers, OfLists) {
    FlowPage flows;
    flows.flows = {{flow(), "dag", "acme", "active", 3, 10}};
    flows.next_cursor = flow();
    const Answer answer = write_answer<ListFlows>(flows);
    EXPECT_EQ(text_of(answer),
              R"(200 {"items":[{"flow_id":"00000000-0000-0000-0000-000000000001",)"
              R"("flow_kind":"dag","namespace":"acme","status":"active","node_count":3,)"
              R"("created_at":10}],"next_cursor":"00000000-0000-0000-0000-000000000001"})");
    const auto read = received<ListFlows>(answer);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->flows, flows.flows);
    EXPECT_EQ(read->next_cursor, flows.next_cursor);

    MemberPage members;
    members.members = {{execution(2), "a", "k", "l", PublicState::skipped}};
    members.next_cursor = execution(2);
    const Answer page = write_answer<ListFlowMembers>(members);
    EXPECT_EQ(text_of(page), R"(200 {"items":[{"execution_id":)" + std::string(member_two) +
                                 R"(,"node":"a","execution_kind":"k","lane_id":"l",)"
                                 R"("public_state":"skipped"}],"next_cursor":)" +
                                 std::string(member_two) + "}");
    const auto found = received<ListFlowMembers>(page);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->members, members.members);
    EXPECT_EQ(found->next_cursor, members.next_cursor);
    const auto last = received<ListFlows>(write_answer<ListFlows>({}));
    ASSERT_TRUE(last);
    EXPECT_FALSE(last->next_cursor);
}

TEST(FlowAnswers, OfTheSummary) {
    FlowSummary summary;
    summary.flow_id = flow();
    summary.total_members = 3;
    summary.members = {{PublicState::completed, 2}, {PublicState::waiting_children, 1}};
    summary.public_flow_state = "blocked";
    summary.last_summary_update_at = 8;
    expect_answer<ReadFlowSummary>(
        summary,
        R"(200 {"flow_id":"00000000-0000-0000-0000-000000000001","total_members":3,)"
        R"("sampled_members":3,"members_completed":2,"members_failed":0,"members_cancelled":0,)"
        R"("members_expired":0,"members_skipped":0,"members_active":0,"members_suspended":0,)"
        R"("members_waiting":0,"members_delayed":0,"members_rate_limited":0,)"
        R"("members_waiting_children":1,"members_resumable":0,"public_flow_state":"blocked",)"
        R"("last_summary_update_at":8})");
}

TEST(FlowAnswers, OfEligibility) {
    expect_answer<EvaluateEligibility>({"blocked_by_dependencies"},
                                       R"(200 {"Status":{"status":"blocked_by_dependencies"}})");
}

TEST(FlowAnswers, InputsAreSpelledForPeople) {
    InputsResult found;
    found.inputs = {{"bytes", execution(2), std::string("\xff\x00", 2), std::nullopt},
                    {"doc", execution(2), R"({"a": [1.50]})", "json"},
                    {"free", execution(2), "17", std::nullopt},
                    {"odd", execution(2), "{", "json"},
                    {"text", execution(2), "17", "text"}};
    EXPECT_EQ(text_of(write_inputs(found, InputsForm::values)),
              R"(200 {"inputs":{"bytes":{"base64":"/wA="},"doc":{"a":[1.50]},"free":17,)"
              R"("odd":"{","text":"17"}})");
    const Answer rows = write_inputs(found, InputsForm::rows);
    EXPECT_TRUE(rows.body.starts_with(R"({"items":[{"name":"bytes","execution_id":)")) << rows.body;
    EXPECT_TRUE(taken<ReadInputs>(rows) == found);
    EXPECT_EQ(text_of(write_answer<ReadInputs>({})), R"(200 {"inputs":{}})");
    found.inputs = {{"x", execution(2), "1", "json"}, {"x", execution(3), "2", "json"}};
    EXPECT_EQ(text_of(write_inputs(found, InputsForm::values)), R"(200 {"inputs":{"x":2}})")
        << "a name stands once";
}

TEST(FlowAnswers, OfTheGraph) {
    FlowGraph graph;
    graph.flow = cancelled();
    GraphNode node;
    node.execution_id = execution(2);
    node.node = "a";
    node.execution_kind = "k";
    node.lane_id = "l";
    node.public_state = PublicState::failed;
    node.created_at = 1;
    node.started_at = 2;
    node.completed_at = 3;
    node.total_attempt_count = 4;
    node.failure_reason = "why";
    node.critical = true;
    graph.nodes = {node, GraphNode{}};
    graph.edges = {edge()};
    graph.critical_path_ms = 77;
    const Answer answer = write_answer<ReadFlowGraph>(graph);
    EXPECT_TRUE(answer.body.contains(
        R"("nodes":[{"execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002","node":"a",)"
        R"("execution_kind":"k","lane_id":"l","public_state":"failed","created_at":1,)"
        R"("started_at":2,"completed_at":3,"total_attempt_count":4,"failure_reason":"why",)"
        R"("critical":true},)"))
        << answer.body;
    const auto read = received<ReadFlowGraph>(answer);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->flow, graph.flow);
    EXPECT_EQ(read->nodes, graph.nodes);
    EXPECT_EQ(read->edges, graph.edges);
    EXPECT_EQ(read->critical_path_ms, 77);
}

TEST(FlowAnswers, StrangeOnesAreNotTakenForResults) {
    const auto strange = [](auto result) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::store_io);
    };
    strange(received<CreateFlow>({200, "{}", "", {}}));
    strange(received<SetEdgeGroupPolicy>({200, R"("Sat")", "", {}}));
    strange(received<ApplyDependency>({200, R"({"Applied":7})", "", {}}));
    strange(received<ResolveDependency>({200, R"({"Done":{}})", "", {}}));
    strange(received<ListFlows>({200, R"({"items":[],"next_cursor":"x"})", "", {}}));
    strange(received<ReadFlowGraph>({200, R"([])", "", {}}));
    strange(received<SubmitFlow>({201,
                                  R"({"Created":{"flow_id":"00000000-0000-0000-0000-000000000001",)"
                                  R"("nodes":{"a":"x"}}})",
                                  "",
                                  {}}));
}

}  // namespace ff::wire::test
