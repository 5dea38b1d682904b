// Lists in pages (spec 07 section 7), and what the audit log is told of operators.
#include <gtest/gtest.h>

#include <mutex>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// The value of a member of each item.
std::vector<std::string> column(const RawAnswer& answer, std::string_view name) {
    std::vector<std::string> out;
    const json whole = answer.document();
    const json* items = whole.find("items");
    if (items == nullptr || items->if_array() == nullptr) {
        ADD_FAILURE() << answer.body;
        return out;
    }
    for (const json& item : *items->if_array()) {
        out.push_back(text_of(item, name));
    }
    return out;
}

TEST(Lists, AttemptsComeInPages) {
    TestServer server;
    const RawAnswer created = server.post(
        "/v1/executions",
        R"({"namespace":"n","lane_id":"default","execution_kind":"k","input_payload":[],)"
        R"("policy":{"retry_policy":{"max_retries":5,"backoff":{"type":"fixed","delay_ms":0}}}})");
    ASSERT_EQ(created.status, 201) << created.body;
    const json made = created.document();
    const std::string path =
        "/v1/executions/" + encoded(text_of(*made.find("Created"), "execution_id")) + "/attempts";
    for (int i = 0; i < 3; ++i) {
        const json task = server.claim();
        ASSERT_EQ(server
                      .post(path + "/" + std::to_string(i) + "/fail",
                            R"({"failure_reason":"r","failure_category":"transient","fence":)" +
                                fence_of(task) + "}")
                      .status,
                  200);
        server.clock().advance(1'000);
    }
    const RawAnswer all = server.get(path);
    EXPECT_EQ(column(all, "attempt_index"), (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(all.member("next_cursor"), "null");
    const RawAnswer first = server.get(path + "?limit=2");
    EXPECT_EQ(column(first, "attempt_index"), (std::vector<std::string>{"0", "1"}));
    const RawAnswer second = server.get(path + "?limit=2&cursor=" + first.member("next_cursor"));
    EXPECT_EQ(column(second, "attempt_index"), std::vector<std::string>{"2"});
    EXPECT_EQ(second.member("next_cursor"), "null");
    EXPECT_EQ(server.get(path + "?limit=x").status, 400);
    EXPECT_EQ(server.get(path + "?cursor=x").status, 400);
}

TEST(Lists, EdgesComeAHundredAtATimeUnlessAskedOtherwise) {
    TestServer server;
    std::string nodes = R"({"name":"z","execution_kind":"k","lane_id":"default"})";
    std::string edges;
    for (int i = 0; i < 120; ++i) {
        const std::string name = "n" + std::to_string(i);
        nodes += R"(,{"name":")" + name + R"(","execution_kind":"k","lane_id":"default"})";
        edges += std::string(i > 0 ? "," : "") + R"({"from":")" + name + R"(","to":"z"})";
    }
    const RawAnswer made =
        server.post("/v1/flows/submit", R"({"flow_kind":"dag","namespace":"n","nodes":[)" + nodes +
                                            R"(],"edges":[)" + edges + "]}");
    ASSERT_LT(made.status, 300) << made.body;
    const json whole = made.document();
    ASSERT_NE(whole.find("Created"), nullptr) << made.body;
    const std::string path = "/v1/flows/" + text_of(*whole.find("Created"), "flow_id") + "/edges";
    const RawAnswer first = server.get(path);
    EXPECT_EQ(column(first, "edge_id").size(), 100U) << first.body;
    const RawAnswer rest = server.get(path + "?cursor=" + first.member("next_cursor"));
    EXPECT_EQ(column(rest, "edge_id").size(), 20U);
    EXPECT_EQ(rest.member("next_cursor"), "null");
    EXPECT_EQ(column(server.get(path + "?limit=1000"), "edge_id").size(), 120U);
}

TEST(Lists, ASearchTakesAFlow) {
    TestServer server;
    (void)server.create();
    const std::string flow = "f0000000-0000-0000-0000-000000000001";
    const RawAnswer none = server.get("/v1/search/executions?flow=" + flow);
    EXPECT_EQ(none.status, 200) << none.body;
    EXPECT_TRUE(column(none, "execution_id").empty());
    EXPECT_EQ(column(server.get("/v1/executions?flow=" + flow), "execution_id").size(), 0U);
    EXPECT_EQ(server.get("/v1/search/executions?flow=abc").status, 400);
}

TEST(Audit, CancelRevokeReplayPriorityAndDeadAreTold) {
    std::mutex mutex;
    std::vector<std::string> lines;  // guarded by mutex
    TestOptions options;
    options.service.audit = [&](std::string_view what, std::string_view about) {
        const std::lock_guard lock(mutex);
        lines.push_back(std::string(what) + " " + std::string(about));
    };
    TestServer server(std::move(options));
    const std::string id = server.create();
    const std::string path = "/v1/executions/" + encoded(id);
    const auto did = [&](int status, const RawAnswer& answer) {
        EXPECT_EQ(answer.status, status) << answer.body;
        const std::lock_guard lock(mutex);
        std::vector<std::string> told;
        std::swap(told, lines);
        return told;
    };
    using Lines = std::vector<std::string>;
    const std::string about = "execution_id=" + id;
    EXPECT_EQ(
        did(200, server.ask(json_request("PUT", path + "/priority", R"({"new_priority":7})"))),
        Lines{"change_priority " + about + " priority=7"});
    const json task = server.claim();
    EXPECT_EQ(did(200, server.post(path + "/revoke-lease", "{}")), Lines{"revoke_lease " + about});
    EXPECT_EQ(did(200, server.post(path + "/cancel", R"({"reason":"r"})")),
              Lines{"cancel_execution " + about + " source=operator_override"});
    EXPECT_EQ(did(200, server.post(path + "/replay", "{}")), Lines{"replay_execution " + about});
    EXPECT_EQ(did(409, server.post(path + "/replay", "{}")), Lines{"replay_execution " + about});
    EXPECT_EQ(did(200, server.post("/v1/workers/w/register",
                                   R"({"worker_instance_id":"w-1","namespace":"n","lanes":["l"],)"
                                   R"("capabilities":[],"liveness_ttl_ms":1000})")),
              Lines{});
    const Lines dead =
        did(200, server.post("/v1/workers/w/dead", R"({"worker_instance_id":"w-1","namespace":"n",)"
                                                   R"("reason":"gone"})"));
    EXPECT_EQ(dead, Lines{"mark_worker_dead worker_instance_id=w-1"});
}

}  // namespace
}  // namespace ff::http::test
