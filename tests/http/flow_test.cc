// Flows over HTTP where a conversation written down does not reach: what waits, what is large, and
// what is not JSON.
#include <gtest/gtest.h>

#include <future>

#include "http/scripted_engine.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view flow_path = "/v1/flows/018f0000-0000-7000-9000-000000000001";

std::string at_flow(std::string_view rest) { return std::string(flow_path) + std::string(rest); }

/// A server whose engine says what the test tells it to.
class FlowWaits : public ::testing::Test {
  protected:
    explicit FlowWaits() {
        TestOptions options;
        options.engine = engine;
        options.service.polls_max = 2;
        server = std::make_unique<TestServer>(std::move(options));
    }

    static Reply flow_in(FlowState state) {
        FlowSnapshot flow;
        flow.public_flow_state = state;
        return std::optional(flow);
    }
    static Reply members_of(std::uint64_t waiting, std::uint64_t active) {
        FlowSummary summary;
        summary.members = {{PublicState::waiting, waiting},
                           {PublicState::active, active},
                           {PublicState::cancelled, 7}};
        return summary;
    }
    /// Answers the next question about the flow.
    void tell(FlowState state) {
        auto call = engine->next();
        ASSERT_TRUE(ff::holds_alternative<DescribeFlow>(call.request));
        call.done(flow_in(state));
    }
    void tell(std::uint64_t waiting, std::uint64_t active) {
        auto call = engine->next();
        ASSERT_TRUE(ff::holds_alternative<ReadFlowSummary>(call.request));
        call.done(members_of(waiting, active));
    }
    /// Answers the cancel itself.
    void tell_cancelled(CancellationPolicy policy, bool scheduled) {
        auto call = engine->next();
        ASSERT_TRUE(ff::holds_alternative<CancelFlow>(call.request));
        CancelFlowResult result;
        result.cancellation_policy = policy;
        result.scheduled = scheduled;
        result.member_count = 5'000;
        call.done(Reply(result));
    }
    RawClient waiting(std::string_view query) {
        RawClient client = server->connect();
        EXPECT_TRUE(client.send(request_text("GET", at_flow(query))));
        return client;
    }
    RawClient cancelling(std::string_view query) {
        RawClient client = server->connect();
        EXPECT_TRUE(
            client.send(json_request("POST", at_flow("/cancel") + std::string(query),
                                     R"({"reason":"enough","cancellation_policy":"cancel_all"})")));
        return client;
    }
    std::size_t waiters() { return server->server().service().polls().taken(); }

    std::shared_ptr<ScriptedEngine> engine = std::make_shared<ScriptedEngine>();
    std::unique_ptr<TestServer> server;
};

// -------------------------------------------------------------------------------- of its end

TEST_F(FlowWaits, AnsweredWhenTheFlowHasEnded) {
    RawClient client = waiting("?wait=true");
    tell(FlowState::open);
    tell(FlowState::open);
    EXPECT_EQ(waiters(), 1U);
    tell(FlowState::completed);
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.member("public_flow_state"), "completed");
    EXPECT_TRUE(eventually("nobody waits", [&] { return waiters() == 0; }));
    EXPECT_EQ(engine->waiting(), 0U);
}

TEST_F(FlowWaits, AskedForAboutTenTimesASecond) {
    const auto began = std::chrono::steady_clock::now();
    RawClient client = waiting("?wait=1&wait_timeout_ms=30000");
    for (int i = 0; i < 5; ++i) {
        tell(FlowState::open);
    }
    tell(FlowState::failed);
    EXPECT_EQ(client.read_answer().member("public_flow_state"), "failed");
    EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(500));
}

TEST_F(FlowWaits, AnsweredAsItStandsWhenTheTimeIsOver) {
    RawClient client = waiting("?wait=true&wait_timeout_ms=150");
    engine->answer_all(flow_in(FlowState::open));  // as often as it asks in that time
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.member("public_flow_state"), "open");
}

TEST_F(FlowWaits, WithoutWaitItIsAskedOnce) {
    RawClient client = waiting("");
    tell(FlowState::open);
    EXPECT_EQ(client.read_answer().member("public_flow_state"), "open");
}

TEST_F(FlowWaits, FaultsAndAbsenceAreAnsweredAtOnce) {
    RawClient client = waiting("?wait=true");
    engine->next().done(Reply(std::optional<FlowSnapshot>()));
    EXPECT_EQ(client.read_answer().status, 404);
    RawClient other = waiting("?wait=true");
    engine->next().done(ff::fail(ErrorCode::store_io, "gone"));
    EXPECT_EQ(other.read_answer().status, 500);
}

TEST_F(FlowWaits, OnlySoManyMayWait) {
    RawClient first = waiting("?wait=true");
    RawClient second = waiting("?wait=true");
    ASSERT_TRUE(eventually("both wait", [&] { return waiters() == 2; }));
    RawClient third = waiting("?wait=true");
    EXPECT_EQ(third.read_answer().status, 429);
    tell(FlowState::completed);
    tell(FlowState::completed);
    engine->answer_all(Reply(std::optional(FlowSnapshot{})));
    EXPECT_EQ(server->get(flow_path).status, 200) << "who does not wait is no waiter";
}

TEST_F(FlowWaits, WhoLeavesWaitsNoLonger) {
    {
        RawClient client = waiting("?wait=true");
        tell(FlowState::open);
    }
    engine->answer_all(flow_in(FlowState::open));
    EXPECT_TRUE(eventually("nobody waits", [&] { return waiters() == 0; }));
}

TEST_F(FlowWaits, AServerThatStopsSaysWhatThereIs) {
    RawClient client = waiting("?wait=true");
    tell(FlowState::open);
    auto drained =
        std::async(std::launch::async, [this] { return server->server().drain(patience); });
    ASSERT_TRUE(eventually("it drains", [&] { return server->server().service().draining(); }));
    engine->answer_all(flow_in(FlowState::open));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.member("public_flow_state"), "open");
    EXPECT_TRUE(drained.get());
}

// ------------------------------------------------------------------------- of a cancellation

TEST_F(FlowWaits, ACancelWithLittleToDoIsAnsweredAtOnce) {
    RawClient client = cancelling("?wait=true");
    tell_cancelled(CancellationPolicy::cancel_all, false);
    EXPECT_EQ(client.read_answer().body,
              R"({"Cancelled":{"cancellation_policy":"cancel_all","member_execution_ids":[]}})");
}

TEST_F(FlowWaits, ACancelWithMuchToDoIsScheduled) {
    RawClient client = cancelling("");
    tell_cancelled(CancellationPolicy::cancel_all, true);
    EXPECT_EQ(client.read_answer().body,
              R"({"CancellationScheduled":{"cancellation_policy":"cancel_all",)"
              R"("member_count":5000,"member_execution_ids":[]}})");
}

TEST_F(FlowWaits, ACancelIsWaitedForUntilNothingIsLeft) {
    RawClient client = cancelling("?wait=1");
    tell_cancelled(CancellationPolicy::cancel_all, true);
    tell(1, 1);
    tell(0, 1);
    tell(0, 0);
    EXPECT_EQ(client.read_answer().body,
              R"({"Cancelled":{"cancellation_policy":"cancel_all","member_execution_ids":[]}})");
}

TEST_F(FlowWaits, WhatThePolicyLeavesAloneIsNotWaitedFor) {
    RawClient client = cancelling("?wait=1");
    tell_cancelled(CancellationPolicy::cancel_pending, true);
    tell(1, 1);
    tell(0, 1);
    EXPECT_EQ(
        client.read_answer().body,
        R"({"Cancelled":{"cancellation_policy":"cancel_pending","member_execution_ids":[]}})");
}

TEST_F(FlowWaits, AFlowThatIsGoneIsDone) {
    RawClient client = cancelling("?wait=1");
    tell_cancelled(CancellationPolicy::cancel_all, true);
    engine->next().done(ff::fail(ErrorCode::flow_not_found));
    EXPECT_TRUE(client.read_answer().body.starts_with(R"({"Cancelled")"));
}

TEST_F(FlowWaits, ACancelThatTakesTooLongStands) {
    RawClient client = cancelling("?wait=true&wait_timeout_ms=50");
    tell_cancelled(CancellationPolicy::cancel_all, true);
    engine->answer_all(members_of(1, 0));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 504);
    EXPECT_EQ(answer.body,
              R"({"error":"timeout: cancel_flow has not ended after 50 ms; the flow is cancelled )"
              R"(and the rest goes on","kind":"timeout","retryable":true,"code":"timeout",)"
              R"("detail":{"message":"cancel_flow has not ended after 50 ms; the flow is )"
              R"(cancelled and the rest goes on","op":"cancel_flow","elapsed_ms":"50"}})");
}

// ------------------------------------------------------------------------------ on a real engine

constexpr std::string_view graph =
    R"({"flow_id":"018f0000-0000-7000-9000-000000000001","flow_kind":"dag","namespace":"acme",)"
    R"("nodes":[{"name":"a","lane_id":"default","execution_kind":"k"},)"
    R"({"name":"b","lane_id":"default","execution_kind":"k"}],)"
    R"("edges":[{"from":"a","to":"b"}]})";

TEST(FlowRoutes, DrawGraphs) {
    TestServer server;
    ASSERT_EQ(server.post("/v1/flows/submit", graph).status, 201);
    const RawAnswer dot = server.get(at_flow("/graph?format=dot"));
    EXPECT_EQ(dot.status, 200);
    EXPECT_EQ(dot.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_TRUE(dot.body.starts_with("digraph \"dag\" {\n")) << dot.body;
    EXPECT_TRUE(dot.body.contains("label=\"a\"")) << dot.body;
    const RawAnswer mermaid = server.get(at_flow("/graph?format=mermaid"));
    EXPECT_EQ(mermaid.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_TRUE(mermaid.body.starts_with("flowchart LR\n")) << mermaid.body;
    EXPECT_EQ(server.get(at_flow("/graph?format=json")).header("Content-Type"), "application/json");
}

TEST(FlowRoutes, TakeBodiesOfTheirSizes) {
    TestServer server;
    const auto padded = [](std::size_t bytes) {
        std::string body(graph);
        return body + std::string(bytes - body.size(), ' ');
    };
    EXPECT_EQ(server.post("/v1/flows/submit", padded(4U << 20)).status, 201);
    const RawAnswer large = server.post("/v1/flows/submit", padded((4U << 20) + 1));
    EXPECT_EQ(large.status, 413);
    EXPECT_EQ(large.body, R"({"error":"payload_too_large","limit_bytes":4194304,)"
                          R"("route":"/v1/flows/submit"})");
    EXPECT_EQ(server.post("/v1/flows", padded(65'536)).status, 200);
    EXPECT_EQ(server.post("/v1/flows", padded(65'537)).body,
              R"({"error":"payload_too_large","limit_bytes":65536,"route":"/v1/flows"})");
    EXPECT_EQ(server.post(at_flow("/members"), padded(65'537)).body,
              R"({"error":"payload_too_large","limit_bytes":65536,)"
              R"("route":"/v1/flows/{id}/members"})");
}

TEST(FlowRoutes, RepairsNeedTheAdminToken) {
    TestOptions options;
    options.service.gate.api_token = "user";
    options.service.gate.admin_token = "boss";
    TestServer server(std::move(options));
    const auto status = [&](std::string_view token) {
        return server
            .ask(json_request("POST",
                              "/v1/admin/flows/018f0000-0000-7000-9000-000000000001/cancel-header",
                              R"({"reason":"r","cancellation_policy":"cancel_all"})",
                              {"Authorization: Bearer " + std::string(token)}))
            .status;
    };
    EXPECT_EQ(status("user"), 403);
    EXPECT_EQ(status("boss"), 404) << "there is no such flow";
}

}  // namespace
}  // namespace ff::http::test
