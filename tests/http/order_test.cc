// The order in which a request is looked at (spec 07 section 1.2): a request with several faults is
// told the outermost one. And what every answer has in common.
#include <gtest/gtest.h>

#include <regex>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

constexpr std::string_view no_id = "{fp:0}:00000000-0000-0000-0000-000000000000";

/// A head that announces a body which does not follow.
std::string announcing(std::string_view method, std::string_view target, std::size_t bytes,
                       const std::vector<std::string>& fields = {}) {
    std::vector<std::string> all = fields;
    all.push_back("Content-Length: " + std::to_string(bytes));
    return request_text(method, target, {}, all);
}

std::string error_of(const RawAnswer& answer) {
    return answer.body.empty() ? "" : answer.member("error");
}

struct Case {
    std::string why;
    std::string request;
    int status;
    std::string error;  ///< the beginning of it; empty: no body
};

void expect_all(const TestServer& server, const std::vector<Case>& cases) {
    for (const Case& c : cases) {
        SCOPED_TRACE(c.why);
        const RawAnswer answer = server.ask(c.request);
        EXPECT_EQ(answer.status, c.status) << answer.body;
        if (c.error.empty()) {
            EXPECT_EQ(answer.body, "");
        } else {
            EXPECT_TRUE(error_of(answer).starts_with(c.error)) << answer.body;
        }
    }
}

TEST(OrderOfChecks, WhoIsNotKnownLearnsNothingOfPathsMethodsSizesOrBodies) {
    TestOptions options;
    options.service.gate.api_token = "secret";
    const TestServer server(std::move(options));
    const std::string refusal = "missing or invalid Authorization header";
    expect_all(server,
               {{"no such path", request_text("GET", "/v1/nothing"), 401, refusal},
                {"no such method", request_text("DELETE", "/v1/executions"), 401, refusal},
                {"too large", announcing("POST", "/v1/executions", 2'000'000), 401, refusal},
                {"not JSON", request_text("POST", "/v1/executions", "x"), 401, refusal},
                {"a broken path", request_text("GET", "/v1/executions/%zz"), 401, refusal}});
}

TEST(OrderOfChecks, PathThenMethodThenSize) {
    const TestServer server;
    expect_all(
        server,
        {{"no such path, too large", announcing("POST", "/v1/nothing", 2'000'000), 404, ""},
         {"no such method, too large", announcing("PUT", "/v1/executions", 2'000'000), 405, ""},
         {"too large, not JSON, a broken path",
          announcing("POST", "/v1/executions/%zz/cancel", 65'537), 413, "payload_too_large"},
         {"too large, and the body is not looked at",
          announcing("POST", "/v1/executions/abc/replay", 65'537), 413, "payload_too_large"},
         {"too large for a read", announcing("GET", "/healthz", 65'537), 413,
          "payload_too_large"}});
}

TEST(OrderOfChecks, PathAndQueryThenTypeThenSyntaxThenShapeThenIds) {
    const TestServer server;
    const std::string cancel = "/v1/executions/abc/cancel";
    const std::string renew = "/v1/executions/abc/attempts/x/renew";
    expect_all(
        server,
        {{"a broken path, not JSON",
          request_text("POST", "/v1/executions/%zz/cancel", "x", {"Content-Type: text/plain"}), 400,
          "invalid path: "},
         {"a broken query, not JSON",
          request_text("POST", "/v1/executions?%zz", "x", {"Content-Type: text/plain"}), 400,
          "invalid query: "},
         {"not JSON by its type, nor by its text",
          request_text("POST", cancel, "x", {"Content-Type: text/plain"}), 415,
          "invalid JSON: Unsupported Media Type"},
         {"no JSON, and the id is none", json_request("POST", cancel, "{"), 400,
          "invalid JSON: Bad Request: "},
         {"the index is none, the body is not JSON by its type",
          request_text("POST", renew, "x", {"Content-Type: text/plain"}), 400,
          "invalid path: attempt index"},
         {"the index is none, the body is no JSON", json_request("POST", renew, "{"), 400,
          "invalid path: attempt index"},
         {"a query that is none, the body is no JSON",
          json_request("POST", "/v1/flows/abc/cancel?escalate=perhaps", "{"), 400,
          "invalid query: "},
         {"the index is none, the body has the wrong shape", json_request("POST", renew, "{}"), 400,
          "invalid path: attempt index"},
         {"the wrong shape, and the id is none", json_request("POST", cancel, "{}"), 422,
          "invalid JSON: Unprocessable Entity: reason: missing"},
         {"the id is none", json_request("POST", cancel, R"({"reason":"r"})"), 400,
          "invalid execution_id: "},
         {"the id is none, and the body names another",
          json_request("POST", cancel,
                       R"({"reason":"r","execution_id":")" + std::string(no_id) + "\"}"),
          400, "invalid execution_id: "},
         {"the body names another, and neither is there",
          json_request(
              "POST", "/v1/executions/" + std::string(no_id) + "/cancel",
              R"({"reason":"r","execution_id":"{fp:1}:)" + std::string(no_id.substr(7)) + "\"}"),
          400, "path execution_id does not match body execution_id"},
         {"it is not there",
          json_request("POST", "/v1/executions/" + std::string(no_id) + "/cancel",
                       R"({"reason":"r"})"),
          404, "not found: execution"}});
}

TEST(OrderOfChecks, AMalformedIdIsA422InABodyAndA400InAPathOrQuery) {
    const TestServer server;
    const RawAnswer body =
        server.post("/v1/executions",
                    R"({"execution_id":"abc","namespace":"n","lane_id":"l","execution_kind":"k",)"
                    R"("input_payload":[]})");
    EXPECT_EQ(body.status, 422);
    EXPECT_EQ(body.member("code"), "invalid_input");
    const json whole = body.document();
    const json* detail = whole.find("detail");
    ASSERT_NE(detail, nullptr) << body.body;
    EXPECT_EQ(text_of(*detail, "member"), "execution_id");
    EXPECT_EQ(server.get("/v1/executions/abc").status, 400);
    EXPECT_EQ(server.get("/v1/executions?partition=0&cursor=abc").status, 400);
}

TEST(OrderOfChecks, ALaneIsA422InABodyAndA400InAPathOrQuery) {
    const TestServer server;
    const std::string lane(65, 'x');
    EXPECT_EQ(server.post("/v1/executions", create_body("k", lane)).status, 422);
    EXPECT_EQ(server.post("/v1/executions", create_body("k", "")).status, 422);
    EXPECT_EQ(server.post("/v1/executions", create_body("k", "a\nb")).status, 422);
    EXPECT_EQ(server.post("/v1/executions", create_body("k", "ä")).status, 422);
    EXPECT_EQ(server.post("/v1/workers/w/poll", poll_body(0, lane)).status, 422);
    EXPECT_EQ(server.ask(json_request("PUT", "/v1/lanes/" + lane, R"({"state":"active"})")).status,
              400);
    for (const std::string path : {"/v1/search/executions?lane=", "/v1/suspended?lane="}) {
        EXPECT_EQ(server.get(path + lane).status, 400) << path;
        EXPECT_EQ(server.get(path + "default").status, 200) << path;
    }
    EXPECT_EQ(server.post("/v1/executions", create_body("k", std::string(64, ' '))).status, 201);
}

// ------------------------------------------------------------------------------------ every answer

TEST(EveryAnswer, HasADateAndALength) {
    const TestServer server;
    const std::regex date(
        R"((Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)");
    for (const std::string_view target : {"/healthz", "/v1/nothing", "/v1/executions"}) {
        const RawAnswer answer = server.get(target);
        EXPECT_TRUE(std::regex_match(answer.header("Date").value_or(""), date)) << target;
        EXPECT_EQ(answer.header("Content-Length"), std::to_string(answer.body.size())) << target;
        EXPECT_FALSE(answer.header("Connection")) << target;
    }
    const RawAnswer none = server.post("/v1/workers/w/poll", poll_body(0));
    EXPECT_EQ(none.status, 204);
    EXPECT_FALSE(none.header("Content-Length")) << "a 204 has none";
    EXPECT_FALSE(none.header("Content-Type"));
}

/// The template of a route with parameters that stand for something.
std::string sample_of(std::string path, const std::string& id) {
    const auto put = [&path](std::string_view name, std::string_view value) {
        if (const std::size_t at = path.find(name); at != std::string::npos) {
            path.replace(at, name.size(), value);
        }
    };
    put("{id}", encoded(id));
    put("{key}", "app.x");
    return path;
}

TEST(EveryAnswer, ToHeadIsThatToGetWithoutItsBody) {
    TestOptions options;
    options.service.metrics_text = [] { return "ff_up 1\n"; };
    options.service.config = [] { return json{{"a", 1}}; };
    TestServer server(std::move(options));
    const std::string id = server.create();
    std::size_t routes = 0;
    for (const auto& route : server.server().service().router().routes()) {
        if (route->method != wire::Method::get) {
            continue;
        }
        ++routes;
        const std::string target = sample_of(route->path, id);
        SCOPED_TRACE(target);
        RawClient client = server.connect();
        const RawAnswer get = client.ask(request_text("GET", target));
        ASSERT_TRUE(client.send(request_text("HEAD", target) + request_text("GET", "/healthz")));
        const RawAnswer head = client.read_answer(true);
        EXPECT_EQ(head.status, get.status);
        EXPECT_EQ(head.header("Content-Type"), get.header("Content-Type"));
        EXPECT_TRUE(head.header("Content-Length"));
        // What stands next on the connection is the next answer: no body came.
        EXPECT_EQ(client.read_answer().body, R"({"status":"ok"})");
    }
    EXPECT_GT(routes, 15U);
}

TEST(EveryAnswer, ToAMethodThatAPathDoesNotHaveNamesThoseItHas) {
    TestServer server;
    const std::string id = server.create();
    for (const auto& route : server.server().service().router().routes()) {
        const std::string target = sample_of(route->path, id);
        const RawAnswer answer = server.ask(request_text("PATCH", target));
        EXPECT_EQ(answer.status, 405) << target;
        EXPECT_EQ(answer.body, "");
        const std::string allow = answer.header("Allow").value_or("");
        EXPECT_NE(allow.find(to_string(route->method)), std::string::npos) << target << allow;
        EXPECT_EQ(allow.find("GET") != std::string::npos, allow.find("HEAD") != std::string::npos);
    }
}

// -------------------------------------------------------------------------------- spellings of ids

TEST(Paths, AnIdMayBeSpelledRawOrPercentEncoded) {
    const TestServer server;
    const std::string id = server.create();
    const std::string uuid = id.substr(id.find(':', 4) + 1);
    for (const std::string& spelled :
         {id, encoded(id), "%7bfp:0%7d:" + uuid, "%7Bfp%3A0%7D%3A" + uuid, "{fp:0}%3a" + uuid}) {
        EXPECT_EQ(server.get("/v1/executions/" + spelled + "/state").status, 200) << spelled;
    }
    for (const std::string& spelled :
         {"%257Bfp:0%257D:" + uuid, "{fp:00}:" + uuid, "{fp:+0}:" + uuid, "{fp:0}:" + uuid + "%00",
          "{fp:0}:" + uuid + "%2F", "{fp:65536}:" + uuid, uuid}) {
        const RawAnswer answer = server.get("/v1/executions/" + spelled + "/state");
        EXPECT_EQ(answer.status, 400) << spelled;
        EXPECT_TRUE(error_of(answer).starts_with("invalid execution_id: ")) << answer.body;
    }
    for (const std::string_view spelled : {"%7", "%", "%zz", "%7Bfp:0%7"}) {
        EXPECT_EQ(server.get("/v1/executions/" + std::string(spelled) + "/state").status, 400)
            << spelled;
    }
}

TEST(Paths, AreMatchedSegmentBySegment) {
    const TestServer server;
    EXPECT_EQ(server.get("/%68ealthz").status, 200) << "a literal may be encoded too";
    for (const std::string_view path :
         {"/healthz/", "//healthz", "/v1//executions", "/healthz/..", "/v1/executions/./state",
          "/healthz%2F", "/HEALTHZ", "/", "/v1", "*"}) {
        const int status = server.get(path).status;
        EXPECT_TRUE(status == 404 || status == 400) << path << " " << status;
    }
}

TEST(Paths, WhatIsNotUtf8IsRefusedAndNotSaidAgain) {
    const TestServer server;
    const std::string id = server.create();
    for (const std::string& target :
         {"/v1/executions/" + encoded(id) + "/tags/%FF", std::string("/v1/executions/%C3/state"),
          std::string("/v1/executions?partition=0&cursor=%FF"),
          std::string("/v1/search/executions?namespace=%ED%A0%80"),
          std::string("/v1/search/executions?tag.%FF=1"),
          std::string("/v1/executions?partition=%FF")}) {
        const RawAnswer answer = server.get(target);
        EXPECT_EQ(answer.status, 400) << target;
        EXPECT_TRUE(is_valid_utf8(answer.body)) << target;
        EXPECT_NE(error_of(answer), "") << target;
    }
}

TEST(Queries, TheLastOfSeveralCountsAndUnknownOnesDoNot) {
    const TestServer server;
    const std::string id = server.create();
    EXPECT_EQ(server.get("/v1/executions?partition=x&partition=0&colour=red").status, 200);
    EXPECT_EQ(server.get("/v1/executions?partition=0&partition=x").status, 400);
    EXPECT_EQ(server.get("/v1/executions?&&partition=0&").status, 200);
    EXPECT_EQ(server.get("/v1/executions?p%61rtition=%30").status, 200);
    const RawAnswer found = server.get("/v1/search/executions?kind=render&lane=default");
    EXPECT_NE(found.body.find(id), std::string::npos) << found.body;
    EXPECT_EQ(server.get("/v1/search/executions?kind=ren+der").body,
              R"({"items":[],"next_cursor":null})");
}

}  // namespace
}  // namespace ff::http::test
