// Requests of flows: what clients send, what servers make of it, and what they say to the rest.
#include "wire/flow_support.h"
#include "wire/request_schema.h"

namespace ff::wire::test {

namespace {

constexpr std::string_view flow_path = "/v1/flows/00000000-0000-0000-0000-000000000001";
constexpr std::string_view execution_text = "{fp:7}:00000000-0000-0000-0000-000000000002";

std::string at_flow(std::string_view rest) { return std::string(flow_path) + std::string(rest); }
std::string at_execution(std::string_view rest) {
    return "/v1/executions/%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002" + std::string(rest);
}

StageDependencyEdge staged() {
    StageDependencyEdge op;
    op.flow_id = flow();
    op.edge_id = edge_id(9);
    op.upstream_execution_id = execution(2);
    op.downstream_execution_id = execution(3);
    op.expected_graph_revision = 2;
    return op;
}

FlowNode plain_node(std::string name) {
    FlowNode node;
    node.name = std::move(name);
    node.execution.lane_id = "l";
    node.execution.execution_kind = "k";
    return node;
}

constexpr std::string_view ends =
    R"("upstream_execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002",)"
    R"("downstream_execution_id":"{fp:7}:00000000-0000-0000-0000-000000000003")";

}  // namespace

// ------------------------------------------------------------------------- there and back again

TEST(FlowRequests, OfBuildingAGraph) {
    CreateFlow create;
    create.flow_id = flow();
    create.flow_kind = "dag";
    create.ns = "acme";
    expect_request(create, R"(POST /v1/flows {"flow_id":"00000000-0000-0000-0000-000000000001",)"
                           R"("flow_kind":"dag","namespace":"acme","on_member_failure":"continue",)"
                           R"("max_active_members":0})");
    create.flow_id.reset();
    create.settings = {99, OnMemberFailure::cancel_rest, 3};
    expect_request(create, R"(POST /v1/flows {"flow_kind":"dag","namespace":"acme",)"
                           R"("deadline_at":99,"on_member_failure":"cancel_rest",)"
                           R"("max_active_members":3})");
    expect_request(AddExecutionToFlow{flow(), execution(2)},
                   "POST " + at_flow("/members") + R"( {"execution_id":")" +
                       std::string(execution_text) + "\"}");
    expect_request(staged(), "POST " + at_flow("/edges") + R"( {"edge_id":")" +
                                 std::string(edge_text) + "\"," + std::string(ends) +
                                 R"(,"expected_graph_revision":2})");
    auto conditional = staged();
    conditional.edge_id.reset();
    conditional.dependency_kind = DependencyKind::on_failure;
    conditional.data_passing_ref = R"({"as":"x"})";
    conditional.when = "$.a > 1";
    expect_request(conditional, "POST " + at_flow("/edges") + " {" + std::string(ends) +
                                    R"(,"dependency_kind":"on_failure",)"
                                    R"("data_passing_ref":"{\"as\":\"x\"}","when":"$.a > 1",)"
                                    R"("expected_graph_revision":2})");
    expect_request(ApplyDependency{flow(), edge_id(9), execution(2), execution(3)},
                   "POST " + at_flow("/edges/apply") + R"( {"edge_id":")" + std::string(edge_text) +
                       "\"," + std::string(ends) + "}");
    expect_request(ApplyAllDependencies{flow()}, "POST " + at_flow("/edges/apply-all") + " {}");
    expect_request(SetEdgeGroupPolicy{flow(), execution(2), GroupPolicy::quorum(2)},
                   "PUT " +
                       at_flow("/edge-groups/"
                               "%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002") +
                       R"( {"policy":{"kind":"quorum","k":2,"on_satisfied":"let_run"}})");
}

TEST(FlowRequests, OfAWholeGraph) {
    SubmitFlow op;
    op.flow_id = flow();
    op.flow_kind = "dag";
    op.ns = "acme";
    op.tags = {{"cairn.team", "x"}};
    op.nodes = {plain_node("a"), plain_node("b")};
    CreateExecution& b = op.nodes[1].execution;
    b.execution_id = execution(3);
    b.input_payload = "hi";
    b.payload_encoding = "text";
    b.priority = 5;
    b.creator_identity = "me";
    b.idempotency_key = "once";
    b.tags = {{"t", "v"}};
    b.policy = R"({"max_replay_count":1})";
    b.delay_until = 10;
    b.execution_deadline_at = 20;
    op.nodes[1].policy = GroupPolicy::any_of(OnSatisfied::cancel_remaining);
    op.nodes[1].policy.force_cancel_shared = true;
    op.edges = {{"a", "b", DependencyKind::always, "result", "$.x == 1"}};
    op.seal = false;
    expect_request(op,
                   R"(POST /v1/flows/submit {"flow_id":"00000000-0000-0000-0000-000000000001",)"
                   R"("flow_kind":"dag","namespace":"acme","on_member_failure":"continue",)"
                   R"("max_active_members":0,"tags":{"cairn.team":"x"},"nodes":[)"
                   R"({"name":"a","lane_id":"l","execution_kind":"k"},)"
                   R"({"name":"b","execution_id":"{fp:7}:00000000-0000-0000-0000-000000000003",)"
                   R"("lane_id":"l","execution_kind":"k","input_payload":{"base64":"aGk="},)"
                   R"("payload_encoding":"text","priority":5,"creator_identity":"me",)"
                   R"("idempotency_key":"once","tags":{"t":"v"},"policy":{"max_replay_count":1},)"
                   R"("delay_until":10,"execution_deadline_at":20,)"
                   R"("group_policy":{"kind":"any_of","on_satisfied":"cancel_remaining",)"
                   R"("force_cancel_shared":true}}],)"
                   R"("edges":[{"from":"a","to":"b","dependency_kind":"always",)"
                   R"("data_passing_ref":"result","when":"$.x == 1"}],"seal":false})");
    EXPECT_EQ(body_bytes_max(binding<SubmitFlow>.body), 4U << 20);
}

TEST(FlowRequests, OfChildrenOfARunningExecution) {
    SpawnChildren op;
    op.lease = lease();
    op.nodes = {plain_node("a")};
    op.edges = {{"a", "", DependencyKind::success_only, "", ""}};
    expect_request(op,
                   "POST " + at_execution("/attempts/0/spawn") +
                       R"( {"fence":{"lease_id":"00000000-0000-0000-0000-000000000004",)"
                       R"("lease_epoch":1,"attempt_id":"00000000-0000-0000-0000-000000000005"},)"
                       R"("nodes":[{"name":"a","lane_id":"l","execution_kind":"k"}],)"
                       R"("edges":[{"from":"a"}]})");
}

TEST(FlowRequests, OfChangingItsCourse) {
    expect_request(SealFlow{flow()}, "POST " + at_flow("/seal") + " {}");
    expect_request(PauseFlow{flow()}, "POST " + at_flow("/pause") + " {}");
    expect_request(ResumeFlow{flow()}, "POST " + at_flow("/resume") + " {}");
    expect_request(RetryFlow{flow(), execution(2), false},
                   "POST " + at_flow("/retry") + R"( {"from":")" + std::string(execution_text) +
                       R"(","include_skipped":false})");
    expect_request(RetryFlow{flow(), std::nullopt, true},
                   "POST " + at_flow("/retry") + R"( {"include_skipped":true})");
    expect_request(CancelFlow{flow(), "why", CancellationPolicy::cancel_pending, false},
                   "POST " + at_flow("/cancel?detail=true") +
                       R"( {"reason":"why","cancellation_policy":"cancel_pending"})");
    expect_request(CancelFlow{flow(), "why", CancellationPolicy::flow_only, true},
                   "POST " + at_flow("/cancel?escalate=true&detail=true") +
                       R"( {"reason":"why","cancellation_policy":"flow_only"})");
    expect_request(CancelFlowHeader{flow(), "why", CancellationPolicy::cancel_all, 5},
                   "POST /v1/admin/flows/00000000-0000-0000-0000-000000000001/cancel-header"
                   R"( {"reason":"why","cancellation_policy":"cancel_all","grace_ms":5})");
    expect_request(AckCancelMember{flow(), execution(2)},
                   "POST /v1/admin/flows/00000000-0000-0000-0000-000000000001/cancel-members/"
                   "%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002/ack {}");
    expect_request(ResolveDependency{flow(), edge_id(9), "success"},
                   "POST /v1/admin/flows/00000000-0000-0000-0000-000000000001/edges/" +
                       std::string(edge_text) + R"(/resolve {"upstream_outcome":"success"})");
    expect_request(PromoteExecution{execution(2)}, "POST " + at_execution("/promote") + " {}");
    expect_request(SetFlowTags{flow(), {{"a.b", "c"}}},
                   "PUT " + at_flow("/tags") + R"( {"tags":{"a.b":"c"}})");
}

TEST(FlowRequests, OfReads) {
    expect_request(DescribeFlow{flow()}, "GET " + at_flow(""));
    expect_request(ReadFlowSummary{flow()}, "GET " + at_flow("/summary"));
    expect_request(ReadFlowGraph{flow()}, "GET " + at_flow("/graph"));
    expect_request(DescribeEdge{flow(), edge_id(9)},
                   "GET " + at_flow("/edges/") + std::string(edge_text));
    expect_request(GetFlowTag{flow(), "a.b"}, "GET " + at_flow("/tags/a.b"));
    expect_request(ListEdges{flow(), std::nullopt, std::nullopt}, "GET " + at_flow("/edges"));
    expect_request(ListEdges{flow(), EdgeDirection::incoming, execution(2)},
                   "GET " + at_flow("/edges?direction=incoming&execution_id="
                                    "%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002"));
    ListFlows list;
    expect_request(list, "GET /v1/flows?limit=100");
    list = {flow(), 7, 3, "acme", "active"};
    expect_request(list,
                   "GET /v1/flows?cursor=00000000-0000-0000-0000-000000000001&limit=7"
                   "&partition=3&namespace=acme&status=active");
    expect_request(ListFlowMembers{flow(), execution(2), 5, PublicState::failed},
                   "GET " + at_flow("/members?cursor=%7Bfp%3A7%7D%3A00000000-0000-0000-0000-"
                                    "000000000002&limit=5&state=failed"));
    expect_request(EvaluateEligibility{execution(2)}, "GET " + at_execution("/eligibility"));
    expect_request(ReadInputs{execution(2)}, "GET " + at_execution("/inputs?form=rows"));
}

// ------------------------------------------------------------------------ what else may be sent

TEST(FlowRequests, OlderClientsSendMoreAndAreUnderstood) {
    const auto made = read_request<CreateFlow>(
        "/v1/flows",
        R"({"flow_id":"00000000000000000000000000000001","flow_kind":"dag","namespace":"n",)"
        R"("now":12})");
    ASSERT_FALSE(made.fault);
    EXPECT_EQ(made.op.flow_id, flow());
    const auto added = read_request<AddExecutionToFlow>(
        at_flow("/members"), R"({"flow_id":"{00000000-0000-0000-0000-000000000001}","now":1,)"
                             R"("execution_id":"{fp:7}:00000000-0000-0000-0000-000000000002"})");
    ASSERT_FALSE(added.fault) << added.fault->error;
    EXPECT_EQ(added.op.execution_id, execution(2));
    const auto applied = read_request<ApplyDependency>(
        at_flow("/edges/apply"),
        R"({"flow_id":"00000000-0000-0000-0000-000000000001","graph_revision":3,"now":1,)"
        R"("dependency_kind":"success_only","data_passing_ref":null,)"
        R"("edge_id":"00000000-0000-0000-0000-000000000009",)" +
            std::string(ends) + "}");
    ASSERT_FALSE(applied.fault) << applied.fault->error;
    EXPECT_EQ(applied.op.edge_id, edge_id(9));
    const auto cancelled = read_request<CancelFlow>(
        at_flow("/cancel?escalate=1"), R"({"reason":"","cancellation_policy":"cancel_flow_only",)"
                                       R"("now":1,"grace_ms":9007199254740991})");
    ASSERT_FALSE(cancelled.fault) << cancelled.fault->error;
    EXPECT_EQ(cancelled.op.cancellation_policy, CancellationPolicy::flow_only);
    EXPECT_TRUE(cancelled.op.escalate);
}

TEST(FlowRequests, DefaultsAreThoseOfTheOperations) {
    const auto cancelled = read_request<CancelFlowHeader>(
        "/v1/admin/flows/00000000-0000-0000-0000-000000000001/cancel-header",
        R"({"reason":"r","cancellation_policy":"cancel_all","grace_ms":null})");
    ASSERT_FALSE(cancelled.fault);
    EXPECT_EQ(cancelled.op.grace_ms, 30'000);
    const auto submitted = read_request<SubmitFlow>(
        "/v1/flows/submit", R"({"flow_kind":"k","namespace":"n","nodes":[],"settings":1})");
    ASSERT_FALSE(submitted.fault) << submitted.fault->error;
    EXPECT_TRUE(submitted.op.seal);
    EXPECT_TRUE(submitted.op.edges.empty());
    EXPECT_EQ(submitted.op.settings, FlowSettings{});
    const auto listed = read_request<ListFlows>("/v1/flows?limit=5000&cursor=");
    ASSERT_FALSE(listed.fault);
    EXPECT_EQ(listed.op.limit, 1000U);
    EXPECT_FALSE(listed.op.cursor);
    EXPECT_EQ(read_request<ListFlowMembers>(at_flow("/members?limit=0")).op.limit, 0U);
}

TEST(FlowRequests, AReferenceMayBeAnObject) {
    const auto read = read_request<StageDependencyEdge>(
        at_flow("/edges"), "{" + std::string(ends) +
                               R"(,"expected_graph_revision":1,)"
                               R"("data_passing_ref":{"as":"x", "path":"$.a"}})");
    ASSERT_FALSE(read.fault) << read.fault->error;
    EXPECT_EQ(read.op.data_passing_ref, R"({"as":"x","path":"$.a"})");
    EXPECT_EQ(fault_of<StageDependencyEdge>(
                  at_flow("/edges"), "{" + std::string(ends) +
                                         R"(,"expected_graph_revision":1,"data_passing_ref":5})"),
              "422 invalid JSON: Unprocessable Entity: data_passing_ref: expected a string or an "
              "object");
}

// --------------------------------------------------------------------------------------- refusals

TEST(FlowRequests, IdsInPathAndBodyMustAgree) {
    constexpr std::string_view other =
        R"({"flow_id":"00000000-0000-0000-0000-000000000002","reason":"r",)"
        R"("cancellation_policy":"cancel_all"})";
    EXPECT_EQ(fault_of<CancelFlow>(at_flow("/cancel"), other),
              "400 path flow_id does not match body flow_id");
    EXPECT_EQ(fault_of<SealFlow>(at_flow("/seal"), other),
              "400 path flow_id does not match body flow_id");
    EXPECT_EQ(fault_of<SealFlow>(at_flow("/seal"),
                                 R"({"flow_id":"00000000-0000-0000-0000-000000000001"})"),
              "none");
}

TEST(FlowRequests, BadIdsAreNamed) {
    EXPECT_EQ(fault_of<DescribeFlow>("/v1/flows/x"), "400 invalid flow_id: expected a UUID");
    EXPECT_EQ(fault_of<DescribeEdge>(at_flow("/edges/x")), "400 invalid edge_id: expected a UUID");
    EXPECT_EQ(fault_of<EvaluateEligibility>("/v1/executions/x/eligibility"),
              "400 invalid execution_id: missing tag");
    EXPECT_EQ(
        fault_of<SetEdgeGroupPolicy>(at_flow("/edge-groups/x"), R"({"policy":{"kind":"all_of"}})"),
        "400 invalid downstream_execution_id: missing tag");
    EXPECT_EQ(fault_of<ListFlows>("/v1/flows?cursor=x"), "400 invalid cursor: x");
    EXPECT_EQ(fault_of<ListFlowMembers>(at_flow("/members?cursor=x")), "400 invalid cursor: x");
    EXPECT_EQ(fault_of<ListEdges>(at_flow("/edges?execution_id=x")),
              "400 invalid query: execution_id: missing tag");
    EXPECT_EQ(fault_of<ListEdges>(at_flow("/edges?direction=up")),
              "400 invalid query: direction: unknown word \"up\", expected one of outgoing, "
              "incoming");
    EXPECT_EQ(
        fault_of<CreateFlow>("/v1/flows", R"({"flow_id":"x","flow_kind":"k","namespace":"n"})"),
        "422 invalid JSON: Unprocessable Entity: flow_id: expected a UUID");
    EXPECT_EQ(fault_of<SealFlow>(at_flow("/seal"), R"({"flow_id":7})"),
              "422 invalid JSON: Unprocessable Entity: flow_id: expected a UUID");
    EXPECT_EQ(fault_of<AddExecutionToFlow>(at_flow("/members"), R"({"execution_id":"x"})"),
              "422 invalid JSON: Unprocessable Entity: execution_id: invalid execution id: missing "
              "tag");
}

TEST(FlowRequests, WhatIsMissingIsNamed) {
    EXPECT_EQ(fault_of<CreateFlow>("/v1/flows", R"({"namespace":"n"})"),
              "422 invalid JSON: Unprocessable Entity: flow_kind: missing");
    EXPECT_EQ(fault_of<CreateFlow>("/v1/flows", R"({"flow_kind":"k"})"),
              "422 invalid JSON: Unprocessable Entity: namespace: missing");
    EXPECT_EQ(fault_of<StageDependencyEdge>(at_flow("/edges"), "{" + std::string(ends) + "}"),
              "422 invalid JSON: Unprocessable Entity: expected_graph_revision: missing");
    EXPECT_EQ(fault_of<CancelFlow>(at_flow("/cancel"), R"({"cancellation_policy":"cancel_all"})"),
              "422 invalid JSON: Unprocessable Entity: reason: missing");
    EXPECT_EQ(fault_of<CancelFlow>(at_flow("/cancel"), R"({"reason":"r"})"),
              "422 invalid JSON: Unprocessable Entity: cancellation_policy: missing");
    EXPECT_EQ(fault_of<SubmitFlow>("/v1/flows/submit", R"({"flow_kind":"k","namespace":"n"})"),
              "422 invalid JSON: Unprocessable Entity: nodes: missing");
    EXPECT_EQ(
        fault_of<SetEdgeGroupPolicy>(
            at_flow("/edge-groups/%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002"), "{}"),
        "422 invalid JSON: Unprocessable Entity: policy: missing");
}

TEST(FlowRequests, GraceIsAWholeNumberThatJsonCanHold) {
    const auto fault = [](std::string_view grace) {
        return fault_of<CancelFlow>(at_flow("/cancel"),
                                    R"({"reason":"r","cancellation_policy":"cancel_all",)"
                                    R"("grace_ms":)" +
                                        std::string(grace) + "}");
    };
    for (const std::string_view good : {"0", "30000", "9007199254740991", "null"}) {
        EXPECT_EQ(fault(good), "none") << good;
    }
    for (const std::string_view bad : {"-1", "1.5", "9007199254740992", "1e400", "\"5\"", "true",
                                       "[]", "99999999999999999999"}) {
        EXPECT_EQ(fault(bad),
                  "400 invalid_grace_ms: expected an integer between 0 and "
                  "9007199254740991")
            << bad;
    }
}

TEST(FlowRequests, WordsOfTheirOwnCodes) {
    EXPECT_EQ(
        fault_of<CancelFlow>(at_flow("/cancel"), R"({"reason":"r","cancellation_policy":"later"})"),
        "400 invalid_cancellation_policy: unknown word \"later\", expected one of "
        "cancel_all, cancel_pending, flow_only");
    EXPECT_EQ(fault_of<CancelFlow>(at_flow("/cancel"), R"({"reason":"r","cancellation_policy":7})"),
              "422 invalid JSON: Unprocessable Entity: cancellation_policy: expected one of "
              "cancel_all, cancel_pending, flow_only");
    const auto read = read_request<StageDependencyEdge>(
        at_flow("/edges"),
        "{" + std::string(ends) + R"(,"expected_graph_revision":1,"dependency_kind":"maybe"})");
    ASSERT_TRUE(read.fault);
    EXPECT_EQ(read.fault->status, 400);
    EXPECT_EQ(read.fault->code, ErrorCode::invalid_dependency_kind);
    EXPECT_EQ(read.fault->error,
              "invalid_dependency_kind: unknown word \"maybe\", expected one of success_only, "
              "on_failure, always, on_skip");
    const Answer answer = write_fault(*read.fault);
    const Error error = read_error(answer.status, answer.body);
    EXPECT_EQ(error.code, ErrorCode::invalid_dependency_kind);
    EXPECT_EQ(error.field("member"), "dependency_kind");
}

TEST(FlowRequests, PoliciesAreRefusedInTheWordsOfTheSpecification) {
    const auto fault = [](std::string_view policy) {
        return fault_of<SetEdgeGroupPolicy>(
            at_flow("/edge-groups/%7Bfp%3A7%7D%3A00000000-0000-0000-0000-000000000002"),
            R"({"policy":)" + std::string(policy) + "}");
    };
    constexpr std::string_view say =
        "400 invalid_input: on_satisfied required for any_of/quorum: cancel_remaining | let_run";
    EXPECT_EQ(fault(R"({"kind":"all_of"})"), "none");
    EXPECT_EQ(fault(R"({"kind":"all_of","on_satisfied":7})"), "none");
    EXPECT_EQ(fault(R"({"kind":"any_of","on_satisfied":"let_run"})"), "none");
    EXPECT_EQ(fault(R"({"kind":"quorum","k":2147483647,"on_satisfied":"cancel_remaining"})"),
              "none");
    EXPECT_EQ(fault(R"({"kind":"most_of"})"),
              "400 invalid_input: unsupported_policy_variant: most_of");
    EXPECT_EQ(fault(R"({"kind":"any_of"})"), say);
    EXPECT_EQ(fault(R"({"kind":"any_of","on_satisfied":"stop"})"), say);
    EXPECT_EQ(fault(R"({"kind":"quorum","k":1})"), say);
    for (const std::string_view k : {"0", "-1", "-9223372036854775809"}) {
        EXPECT_EQ(fault(R"({"kind":"quorum","k":)" + std::string(k) + "}"),
                  "400 invalid_input: quorum k must be >= 1")
            << k;
    }
    for (const std::string_view k : {"2147483648", "4294967296", "18446744073709551616"}) {
        EXPECT_EQ(fault(R"({"kind":"quorum","k":)" + std::string(k) + "}"),
                  "400 invalid_input: quorum k exceeds supported maximum")
            << k;
    }
    constexpr std::string_view shape = "422 invalid JSON: Unprocessable Entity: policy";
    EXPECT_EQ(fault("7"), std::string(shape) + ": expected an object");
    EXPECT_EQ(fault("{}"), std::string(shape) + ".kind: missing");
    EXPECT_EQ(fault(R"({"kind":7})"), std::string(shape) + ".kind: expected a string");
    EXPECT_EQ(fault(R"({"kind":"quorum"})"), std::string(shape) + ".k: missing");
    EXPECT_EQ(fault(R"({"kind":"quorum","k":1.5})"),
              std::string(shape) + ".k: expected an integer");
    EXPECT_EQ(fault(R"({"kind":"all_of","force_cancel_shared":1})"),
              std::string(shape) + ".force_cancel_shared: expected true or false");
}

TEST(FlowRequests, FaultsInAGraphSayWhereTheyAre) {
    const auto fault = [](std::string_view nodes, std::string_view edges = "[]") {
        return fault_of<SubmitFlow>(
            "/v1/flows/submit", R"({"flow_kind":"k","namespace":"n","nodes":)" +
                                    std::string(nodes) + R"(,"edges":)" + std::string(edges) + "}");
    };
    constexpr std::string_view shape = "422 invalid JSON: Unprocessable Entity: ";
    EXPECT_EQ(fault("7"), std::string(shape) + "nodes: expected an array");
    EXPECT_EQ(fault("[7]"), std::string(shape) + "nodes[0]: expected an object");
    EXPECT_EQ(fault(R"([{"name":"a","lane_id":"l","execution_kind":"k"},{"name":"b"}])"),
              std::string(shape) + "nodes[1].lane_id: missing");
    EXPECT_TRUE(fault(R"([{"name":"a","lane_id":"","execution_kind":"k"}])")
                    .starts_with(std::string(shape) + "nodes[0].lane_id"));
    EXPECT_EQ(fault(R"([{"name":"a","lane_id":"l","execution_kind":"k",)"
                    R"("group_policy":{"kind":"quorum","k":0}}])"),
              "400 invalid_input: quorum k must be >= 1");
    EXPECT_EQ(fault("[]", R"([{"from":"a"}])"), std::string(shape) + "edges[0].to: missing");
    EXPECT_EQ(fault("[]", R"([{"from":"a","to":"b","dependency_kind":"x"}])").substr(0, 27),
              "400 invalid_dependency_kind");
    EXPECT_EQ(fault("[]", "{}"), std::string(shape) + "edges: expected an array");
}

TEST(FlowRequests, FlagsAreTrueOrFalse) {
    constexpr std::string_view body = R"({"reason":"r","cancellation_policy":"cancel_all"})";
    EXPECT_TRUE(read_request<CancelFlow>(at_flow("/cancel?escalate=true"), body).op.escalate);
    EXPECT_FALSE(read_request<CancelFlow>(at_flow("/cancel?escalate=0"), body).op.escalate);
    EXPECT_EQ(fault_of<CancelFlow>(at_flow("/cancel?escalate=yes"), body),
              "400 invalid query: escalate: expected true or false");
}

// ----------------------------------------------------------------------------- the description

TEST(FlowRequests, EveryOneIsDescribed) {
    const json submit = request_schema<SubmitFlow>();
    const std::string text = js::dump(submit);
    EXPECT_TRUE(text.contains(R"("group_policy")")) << text;
    EXPECT_TRUE(text.contains(R"("enum":["success_only","on_failure","always","on_skip"])"));
    EXPECT_TRUE(text.contains(R"("enum":["continue","cancel_rest"])")) << text;
    const std::string cancel = js::dump(request_schema<CancelFlow>());
    EXPECT_TRUE(cancel.contains(R"("cancel_flow_only")")) << cancel;
    EXPECT_TRUE(cancel.contains(R"("name":"escalate","in":"query")")) << cancel;
    const std::string edge = js::dump(request_schema<DescribeEdge>());
    EXPECT_TRUE(edge.contains(R"("name":"id","in":"path")")) << edge;
    EXPECT_TRUE(edge.contains(R"("name":"edge_id","in":"path")")) << edge;
}

}  // namespace ff::wire::test
