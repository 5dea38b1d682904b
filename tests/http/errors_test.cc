// Every row of the table of errors (spec 07 section 1.7) that an engine can cause, as it stands in
// an answer. What real requests cause is in golden/*.txt.
#include <gtest/gtest.h>

#include <regex>

#include "http/scripted_engine.h"
#include "http/test_server.h"
#include "wire/answers.h"
#include "wire/errors.h"

namespace ff::http::test {
namespace {

const std::string state_target =
    "/v1/executions/%7Bfp:0%7D:018f0000-0000-7000-8000-000000000001/state";

struct Row {
    Error error;
    int status;
    std::string body;
    bool retry_after = false;
};

RawAnswer answer_to(const Error& error, std::string_view path) {
    auto engine = std::make_shared<ScriptedEngine>();
    engine->answer_all(std::unexpected(error));
    TestOptions options;
    options.engine = engine;
    const TestServer server(std::move(options));
    return server.get(path);
}

void expect_rows(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        SCOPED_TRACE(to_string(row.error.code));
        const RawAnswer answer = answer_to(row.error, state_target);
        EXPECT_EQ(answer.status, row.status);
        EXPECT_EQ(answer.body, row.body);
        EXPECT_EQ(answer.header("Content-Type"), "application/json");
        EXPECT_EQ(answer.header("Retry-After"),
                  row.retry_after ? std::optional<std::string>("1") : std::nullopt);
    }
}

TEST(ErrorRows, NotFoundAndValidation) {
    expect_rows({
        {{ErrorCode::flow_not_found, "", {}},
         404,
         R"({"error":"not found: flow","code":"flow_not_found"})"},
        {{ErrorCode::execution_not_found, "execution not found: x", {}},
         404,
         R"({"error":"execution not found: x","code":"execution_not_found",)"
         R"("detail":{"message":"execution not found: x"}})"},
        {{ErrorCode::waitpoint_not_found, "", {}},
         404,
         R"({"error":"not found: waitpoint","code":"waitpoint_not_found"})"},
        {{ErrorCode::invalid_kid, "", {}}, 400, R"({"error":"invalid_kid","code":"invalid_kid"})"},
        {{ErrorCode::invalid_capabilities, "worker:comma_in_token", {}},
         400,
         R"({"error":"invalid_capabilities: worker:comma_in_token","code":"invalid_capabilities",)"
         R"("detail":{"message":"worker:comma_in_token"}})"},
        {{ErrorCode::token_expired, "", {}},
         400,
         R"({"error":"validation_error: token_expired","code":"token_expired"})"},
        {{ErrorCode::handle_from_other_backend, "", {}},
         400,
         R"({"error":"validation_error: handle_from_other_backend",)"
         R"("code":"handle_from_other_backend"})"},
        {{ErrorCode::fence_required, "", {}},
         400,
         R"({"error":"invalid_input: fence_required","code":"fence_required"})"},
        {{ErrorCode::partial_fence_triple, "", {}},
         400,
         R"({"error":"invalid_input: partial_fence_triple","code":"partial_fence_triple"})"},
    });
}

TEST(ErrorRows, ConflictContentionAndState) {
    expect_rows({
        {{ErrorCode::cycle_detected, "", {}},
         409,
         R"({"error":"cycle_detected: CycleDetected","kind":"cycle_detected","retryable":false,)"
         R"("code":"cycle_detected"})"},
        {{ErrorCode::lease_conflict, "", {}},
         409,
         R"({"error":"contention: LeaseConflict","kind":"contention","retryable":true,)"
         R"("code":"lease_conflict"})"},
        {{ErrorCode::stale_graph_revision, "", {}},
         409,
         R"({"error":"contention: StaleGraphRevision","kind":"contention","retryable":true,)"
         R"("code":"stale_graph_revision"})"},
        {{ErrorCode::execution_not_reclaimable, "", {}},
         409,
         R"({"error":"contention: ExecutionNotReclaimable","kind":"contention",)"
         R"("retryable":false,"code":"execution_not_reclaimable"})"},
        {{ErrorCode::no_active_lease, "", {}},
         409,
         R"({"error":"contention: NoActiveLease","kind":"contention","retryable":false,)"
         R"("code":"no_active_lease"})"},
        {{ErrorCode::execution_not_active, "", {{"terminal_outcome", "success"}}},
         409,
         R"({"error":"contention: ExecutionNotActive","kind":"contention","retryable":false,)"
         R"("code":"execution_not_active","detail":{"terminal_outcome":"success"}})"},
        {{ErrorCode::retry_exhausted, "", {}},
         500,
         R"({"error":"retry_exhausted: RetryExhausted","kind":"retry_exhausted",)"
         R"("retryable":false,"code":"retry_exhausted"})"},
        {{ErrorCode::lease_expired, "", {}},
         409,
         R"({"error":"already_satisfied: LeaseExpired","kind":"already_satisfied",)"
         R"("retryable":false,"code":"lease_expired"})"},
        {{ErrorCode::stale_lease, "", {}},
         409,
         R"({"error":"state_conflict: StaleLease","kind":"state_conflict","retryable":false,)"
         R"("code":"stale_lease"})"},
        {{ErrorCode::flow_already_terminal, "", {}},
         409,
         R"({"error":"flow_already_terminal: FlowAlreadyTerminal","kind":"flow_already_terminal",)"
         R"("retryable":false,"code":"flow_already_terminal"})"},
        {{ErrorCode::budget_exceeded, "", {}},
         409,
         R"({"error":"budget_exceeded: BudgetExceeded","kind":"budget_exceeded",)"
         R"("retryable":false,"code":"budget_exceeded"})"},
    });
}

TEST(ErrorRows, LimitsAndFaultsOfTheServer) {
    expect_rows({
        {{ErrorCode::rate_limit_exceeded, "3 in a minute", {}},
         429,
         R"({"error":"rate_limit_exceeded: 3 in a minute","kind":"rate_limit_exceeded",)"
         R"("retryable":true,"code":"rate_limit_exceeded","detail":{"message":"3 in a minute"}})",
         true},
        {{ErrorCode::concurrency_limit_exceeded, "", {}},
         429,
         R"({"error":"concurrency_limit_exceeded","kind":"concurrency_limit_exceeded",)"
         R"("retryable":true,"code":"concurrency_limit_exceeded"})",
         true},
        {{ErrorCode::overloaded, "the queue is full", {}},
         503,
         R"({"error":"overloaded: the queue is full","kind":"unavailable","retryable":true,)"
         R"("code":"overloaded","detail":{"message":"the queue is full"}})",
         true},
        {{ErrorCode::shutting_down, "", {}},
         503,
         R"({"error":"backend op unavailable: read_execution_state","kind":"unavailable",)"
         R"("retryable":false,"code":"shutting_down"})",
         true},
        {{ErrorCode::store_io, "disk", {}},
         500,
         R"({"error":"store_io: disk","kind":"transport","retryable":true,"code":"store_io",)"
         R"("detail":{"message":"disk"}})"},
        {{ErrorCode::commit_in_doubt, "", {}},
         500,
         R"({"error":"commit_in_doubt","kind":"transport","retryable":true,)"
         R"("code":"commit_in_doubt"})"},
        {{ErrorCode::timeout, "", {}},
         504,
         R"({"error":"timeout","kind":"timeout","retryable":true,"code":"timeout"})"},
        {{ErrorCode::internal, "oh", {}},
         500,
         R"({"error":"internal: oh","retryable":false,"code":"internal",)"
         R"("detail":{"message":"oh"}})"},
    });
}

TEST(ErrorsHeard, WhatIsNotOursEndsNothing) {
    // A proxy's page says nothing of an execution, an argument or our rights.
    for (const int status : {400, 403, 404, 405, 415, 422, 500}) {
        for (const std::string_view body :
             {"", "<html>no such site</html>", R"({"message":"no Route matched"})", "[]"}) {
            EXPECT_EQ(wire::read_error(status, body).code, ErrorCode::store_io)
                << status << " " << body;
        }
    }
    const auto heard = [](int status) { return wire::read_error(status, "<html>").code; };
    EXPECT_EQ(heard(401), ErrorCode::unauthorized);
    EXPECT_EQ(heard(413), ErrorCode::payload_too_large);
    EXPECT_EQ(heard(429), ErrorCode::too_many_waiters);
    EXPECT_EQ(heard(503), ErrorCode::overloaded);
    EXPECT_EQ(heard(502), ErrorCode::timeout);
    EXPECT_EQ(heard(504), ErrorCode::timeout);
    EXPECT_EQ(wire::read_error(404, R"({"error":"execution not found: x"})").code,
              ErrorCode::execution_not_found);
    EXPECT_EQ(wire::read_error(404, R"({"error":"x","code":"flow_not_found"})").code,
              ErrorCode::flow_not_found);
}

TEST(ErrorsHeard, WhatIsTooLargeSaysHowMuchMayBe) {
    const Error error = wire::read_error(
        413, R"({"error":"payload_too_large","limit_bytes":1048576,"route":"/v1/executions"})");
    EXPECT_EQ(error.code, ErrorCode::payload_too_large);
    EXPECT_NE(error.message().find("1048576 bytes"), std::string::npos) << error.message();
}

TEST(ErrorsHeard, AGatewaysWordsEndNoWork) {
    const wire::Received gateway{404, R"({"timestamp":1,"status":404,"error":"Not Found"})", {}};
    const wire::Received ours{404, R"({"error":"not found","code":"execution_not_found"})", {}};
    const auto heard = [](Request request, const wire::Received& received) {
        const Response response = wire::read_answer(request, received);
        return response ? ErrorCode::internal : response.error().code;
    };
    Handle handle;
    for (const Request& request :
         {Request(Renew{handle}), Request(Complete{handle}), Request(Progress{handle}),
          Request(HeartbeatWorker{}), Request(Claim{}), Request(ClaimExecution{})}) {
        EXPECT_EQ(heard(request, gateway), ErrorCode::store_io) << "a worker tries again";
        EXPECT_EQ(heard(request, ours), ErrorCode::execution_not_found);
    }
    EXPECT_TRUE(info(ErrorCode::store_io).retryable);
    const wire::Received no_token{
        401, R"({"error":"missing or invalid Authorization header"})", {}};
    EXPECT_EQ(heard(Renew{handle}, no_token), ErrorCode::unauthorized);
    EXPECT_EQ(heard(ReadExecutionState{}, {404, R"({"error":"execution not found: x"})", {}}),
              ErrorCode::execution_not_found)
        << "reads end nothing, and their plainest answers have no code";
}

TEST(ErrorRows, WhatIsSaidInADetailIsJsonWhateverItHolds) {
    const RawAnswer answer =
        answer_to({ErrorCode::internal, "a \"b\" \\ \n \x01 ü", {{"k", "\t"}}}, state_target);
    EXPECT_EQ(answer.member("error"), "internal: a \"b\" \\ \n \x01 ü");
}

/// The template of a route that reads, with parameters that stand for something.
std::string sample_of(std::string path) {
    const auto put = [&path](std::string_view name, std::string_view value) {
        if (const std::size_t at = path.find(name); at != std::string::npos) {
            path.replace(at, name.size(), value);
        }
    };
    constexpr std::string_view uuid = "018f0000-0000-7000-8000-000000000001";
    const bool plain = path.starts_with("/v1/flows/") || path.starts_with("/v1/budgets/") ||
                       path.starts_with("/v1/quotas/");
    put("{id}", plain ? std::string(uuid) : "%7Bfp:0%7D:" + std::string(uuid));
    put("{edge_id}", uuid);
    put("{waitpoint_id}", uuid);
    put("{webhook_id}", uuid);
    put("{family}", "completion");
    put("{idx}", "0");
    put("{key}", "app.x");
    return path.starts_with("/v1/search/") ? path : path + "?partition=0&as_of=0";
}

TEST(Stopping, EveryReadNamesWhatIsNotToBeHadAnyMore) {
    auto engine = std::make_shared<ScriptedEngine>();
    engine->answer_all(std::unexpected(Error{ErrorCode::shutting_down, "", {}}));
    TestOptions options;
    options.engine = engine;
    options.service.gate.allow_insecure = true;
    TestServer server(std::move(options));
    const std::regex text("backend op unavailable: [a-z_]+");
    std::size_t asked = 0;
    for (const auto& route : server.server().service().router().routes()) {
        if (route->method != wire::Method::get || route->path == "/healthz" ||
            route->path == "/v1/approve/{link}") {
            continue;  // health has its own words, and people get pages
        }
        const RawAnswer answer = server.get(sample_of(route->path));
        if (answer.status == 200) {
            EXPECT_TRUE(route->path == "/readyz" || route->path == "/v1/openapi.json")
                << route->path << " asks no engine";
            continue;
        }
        ++asked;
        EXPECT_EQ(answer.status, 503) << route->path << answer.body;
        EXPECT_EQ(answer.header("Retry-After"), "1") << route->path;
        EXPECT_TRUE(std::regex_match(answer.member("error"), text)) << route->path << answer.body;
    }
    EXPECT_GT(asked, 12U);
}

TEST(Health, OfAStoreThatCannotBeReadIs503ToTryAgain) {
    for (const ErrorCode code : {ErrorCode::store_io, ErrorCode::shutting_down, ErrorCode::internal,
                                 ErrorCode::overloaded}) {
        const RawAnswer answer = answer_to({code, "disk", {}}, "/healthz");
        EXPECT_EQ(answer.status, 503);
        EXPECT_EQ(answer.header("Retry-After"), "1");
        EXPECT_EQ(answer.member("retryable"), "true");
        EXPECT_EQ(answer.member("code"), to_string(code));
        EXPECT_NE(answer.member("error").find("disk"), std::string::npos);
    }
}

}  // namespace
}  // namespace ff::http::test
