// What a refusal by a limit looks like on the wire: status, words, and when to come back (spec 06
// sections 7.2 and 8).
#include <gtest/gtest.h>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

constexpr std::string_view limited_budget = "b0000000-0000-0000-0000-000000000001";
constexpr std::string_view limited_quota = "c0000000-0000-0000-0000-000000000001";

class LimitRefusals : public ::testing::Test {
  protected:
    static TestOptions options() {
        TestOptions made;
        made.service.gate.allow_insecure = true;
        return made;
    }
    void define_quota(int rate, int cap) const {
        const RawAnswer answer =
            server.post("/v1/quotas", R"({"quota_policy_id":")" + std::string(limited_quota) +
                                          R"(","window_seconds":60,"max_requests_per_window":)" +
                                          std::to_string(rate) + R"(,"max_concurrent":)" +
                                          std::to_string(cap) + "}");
        EXPECT_EQ(answer.status, 201) << answer.body;
    }
    void define_budget() const {
        const RawAnswer answer = server.post(
            "/v1/budgets",
            R"({"budget_id":")" + std::string(limited_budget) +
                R"(","scope_type":"","scope_id":"","enforcement_mode":"","on_hard_limit":"",)"
                R"("on_soft_limit":"","reset_interval_ms":0,"dimensions":["x"],)"
                R"("hard_limits":[10],"soft_limits":[0]})");
        EXPECT_EQ(answer.status, 201) << answer.body;
    }
    [[nodiscard]] std::string create(const std::string& policy) const {
        const RawAnswer answer =
            server.post("/v1/executions",
                        R"({"namespace":"acme","lane_id":"default","execution_kind":"render",)"
                        R"("input_payload":[],"policy":)" +
                            policy + "}");
        EXPECT_EQ(answer.status, 201) << answer.body;
        const json body = answer.document();
        const json* made = body.find("Created");
        return made != nullptr ? text_of(*made, "execution_id") : "";
    }
    [[nodiscard]] std::string create_with_quota() const {
        return create(R"({"quota_policy_id":")" + std::string(limited_quota) + R"("})");
    }
    [[nodiscard]] RawAnswer grant(const std::string& id) const {
        return server.post("/v1/executions/" + encoded(id) + "/grant",
                           R"({"worker_id":"w1","worker_instance_id":"w1-a","lane_id":"default",)"
                           R"("grant_ttl_ms":5000})");
    }

    TestServer server{options()};
};

TEST_F(LimitRefusals, ARateSaysWhenToComeBack) {
    define_quota(1, 0);
    EXPECT_EQ(grant(create_with_quota()).status, 200);
    server.clock().advance(1'500);
    const RawAnswer refused = grant(create_with_quota());
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_EQ(refused.header("Retry-After"), "59") << "58.5 seconds, rounded up";
    EXPECT_EQ(refused.member("kind"), "rate_limit_exceeded");
    EXPECT_EQ(refused.member("code"), "rate_limit_exceeded");
    EXPECT_EQ(refused.member("retryable"), "true");
    EXPECT_TRUE(refused.body.contains("rate limit 1 per 60s window")) << refused.body;
}

TEST_F(LimitRefusals, ACapIsRefusedTheSameWay) {
    define_quota(0, 1);
    EXPECT_EQ(grant(create_with_quota()).status, 200);
    const RawAnswer refused = grant(create_with_quota());
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_EQ(refused.member("kind"), "concurrency_limit_exceeded");
    EXPECT_EQ(refused.member("retryable"), "true");
    EXPECT_TRUE(refused.header("Retry-After"));
}

TEST_F(LimitRefusals, ABudgetIsAConflictThatRepeatingDoesNotHelp) {
    define_budget();
    const std::string usage = "/v1/budgets/" + std::string(limited_budget) + "/usage";
    EXPECT_EQ(server.post(usage, R"({"dimensions":{"x":10}})").body, R"("Ok")");
    const RawAnswer refused =
        grant(create(R"({"budget_ids":[")" + std::string(limited_budget) + R"("]})"));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(refused.member("kind"), "budget_exceeded");
    EXPECT_EQ(refused.member("retryable"), "false");
    EXPECT_FALSE(refused.header("Retry-After"));
}

TEST_F(LimitRefusals, WhatDoesNotFitTogetherIsAConflict) {
    define_quota(0, 1);
    const std::string id = create(R"({"quota_policy_id":"c0000000-0000-0000-0000-000000000002"})");
    const RawAnswer other =
        server.post("/v1/quotas", R"({"quota_policy_id":"c0000000-0000-0000-0000-000000000002",)"
                                  R"("window_seconds":0,"max_requests_per_window":0,)"
                                  R"("max_concurrent":1})");
    ASSERT_EQ(other.status, 201) << other.body;
    const RawAnswer refused =
        server.ask(json_request("PUT", "/v1/quotas/" + std::string(limited_quota) + "/attachments",
                                R"({"target_type":"execution","target_id":")" + id + R"("})"));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(refused.member("kind"), "quota_attach_conflict");
    EXPECT_EQ(refused.member("retryable"), "false");
}

TEST_F(LimitRefusals, AScopeThatNamesNothingIsABadRequest) {
    const RawAnswer refused = server.post(
        "/v1/budgets",
        R"({"budget_id":")" + std::string(limited_budget) +
            R"(","scope_type":"flow","scope_id":"nonsense","enforcement_mode":"",)"
            R"("on_hard_limit":"","on_soft_limit":"","reset_interval_ms":0,"dimensions":[],)"
            R"("hard_limits":[],"soft_limits":[]})");
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(refused.member("code"), "invalid_budget_scope");
}

TEST_F(LimitRefusals, ALimitThatNamesNoBoundIsAFaultOfItsBody) {
    define_budget();
    const std::string path = "/v1/budgets/" + std::string(limited_budget) + "/limits";
    for (const std::string_view limit : {"{}", R"({"haard":1})"}) {
        const RawAnswer refused =
            server.ask(json_request("PUT", path, R"({"limits":{"x":)" + std::string(limit) + "}}"));
        EXPECT_EQ(refused.status, 422) << refused.body;
        EXPECT_TRUE(refused.body.contains("x: expected hard, soft or both")) << refused.body;
    }
    EXPECT_EQ(server.ask(json_request("PUT", path, R"({"limits":{"x":{"soft":1}}})")).status, 200);
}

TEST_F(LimitRefusals, DetachingTakesTheBodyOfAttachingOrAQuery) {
    (void)server.create();  // a lane comes with its first execution
    define_quota(1, 0);
    define_budget();
    const std::string target = R"({"target_type":"lane","target_id":"default"})";
    const std::string query = "?target_type=lane&target_id=default";
    for (const std::string& path :
         {"/v1/quotas/" + std::string(limited_quota) + "/attachments",
          "/v1/budgets/" + std::string(limited_budget) + "/attachments"}) {
        const std::string attach = path.contains("quotas") ? "PUT" : "POST";
        const auto detach = [&](const std::string& request) {
            EXPECT_EQ(server.ask(json_request(attach, path, target)).body, "\"Attached\"");
            return server.ask(request);
        };
        EXPECT_EQ(detach(json_request("DELETE", path, target)).status, 200) << path;
        EXPECT_EQ(server.ask(json_request("DELETE", path, target)).body.find("Detached"),
                  std::string::npos)
            << "it is gone";
        EXPECT_EQ(detach(request_text("DELETE", path + query)).status, 200) << path;
        EXPECT_EQ(server.ask(request_text("DELETE", path)).status, 400);
        EXPECT_EQ(server.ask(json_request("DELETE", path, R"({"target_type":7})")).status, 422);
        EXPECT_EQ(server.ask(json_request("DELETE", path, "{")).status, 400);
        EXPECT_EQ(server.ask(request_text("DELETE", path, target)).status, 415);
    }
}

TEST_F(LimitRefusals, BodiesAreSmall) {
    define_budget();
    define_quota(1, 1);
    const std::string large =
        R"({"dimensions":{"x":1},"dedup_key":")" + std::string(65'536, 'k') + R"("})";
    const std::string budget = "/v1/budgets/" + std::string(limited_budget);
    const std::string quota = "/v1/quotas/" + std::string(limited_quota);
    for (const std::string& path :
         {std::string("/v1/budgets"), budget + "/usage", budget + "/spend", budget + "/release",
          budget + "/attachments", std::string("/v1/quotas"), quota + "/check",
          quota + "/release"}) {
        EXPECT_EQ(server.post(path, large).status, 413) << path;
    }
    EXPECT_EQ(server.get(budget).member("usage"), "{}");
}

}  // namespace
}  // namespace ff::http::test
