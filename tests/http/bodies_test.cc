// Bodies: their sizes, types and syntax, and how values are spelled (spec 07 sections 1.1, 1.5 and
// 1.6).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

constexpr std::size_t control_max = 65'536;
constexpr std::size_t large_max = 1'048'576;

/// A create that is exactly so long: JSON may have spaces in it.
std::string create_of_size(std::size_t bytes) {
    std::string body = create_body();
    body.insert(1, bytes - body.size(), ' ');
    return body;
}

std::string in_chunks(std::string_view target, std::string_view body, std::size_t chunk) {
    std::string out = request_text(
        "POST", target, {}, {"Content-Type: application/json", "Transfer-Encoding: chunked"});
    while (!body.empty()) {
        const std::string_view part = body.substr(0, chunk);
        std::array<char, 20> size{};
        const auto [end, fault] = std::to_chars(size.data(), size.data() + 20, part.size(), 16);
        out += std::string(size.data(), end) + "\r\n" + std::string(part) + "\r\n";
        body.remove_prefix(part.size());
    }
    return out + "0\r\n\r\n";
}

void expect_too_large(const RawAnswer& answer, std::size_t limit, std::string_view route) {
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.body, R"({"error":"payload_too_large","limit_bytes":)" +
                               std::to_string(limit) + R"(,"route":")" + std::string(route) +
                               "\"}");
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
}

TEST(BodySize, ExactlyTheLimitPassesAndOneMoreDoesNot) {
    const TestServer server;
    EXPECT_EQ(server.post("/v1/executions", create_of_size(large_max)).status, 201);
    expect_too_large(server.post("/v1/executions", create_of_size(large_max + 1)), large_max,
                     "/v1/executions");
    const std::string text(control_max, 'x');
    const RawAnswer echo = server.ask(request_text("POST", "/v1/echo", text));
    EXPECT_EQ(echo.status, 200);
    EXPECT_EQ(echo.body, text);
    expect_too_large(server.ask(request_text("POST", "/v1/echo", text + "x")), control_max,
                     "/v1/echo");
    const std::string id = server.create();
    expect_too_large(server.post("/v1/executions/" + id + "/cancel", text + "x"), control_max,
                     "/v1/executions/{id}/cancel");
    expect_too_large(server.post("/v1/executions/" + id + "/replay", text + "x"), control_max,
                     "/v1/executions/{id}/replay");
}

TEST(BodySize, IsTheSameInChunks) {
    const TestServer server;
    for (const std::size_t chunk : {std::size_t{1'000}, std::size_t{65'535}, large_max + 1}) {
        EXPECT_EQ(server.ask(in_chunks("/v1/executions", create_of_size(large_max), chunk)).status,
                  201)
            << chunk;
        expect_too_large(
            server.ask(in_chunks("/v1/executions", create_of_size(large_max + 1), chunk)),
            large_max, "/v1/executions");
    }
    const std::string text(control_max, 'x');
    EXPECT_EQ(server.ask(in_chunks("/v1/echo", text, 100)).body, text);
    expect_too_large(server.ask(in_chunks("/v1/echo", text + "x", 100)), control_max, "/v1/echo");
    EXPECT_EQ(server.ask(in_chunks("/v1/echo", "", 1)).status, 200);
}

TEST(BodySize, ATooLargeBodyIsAnsweredBeforeItHasCome) {
    const TestServer server;
    RawClient client = server.connect();
    const RawAnswer answer =
        client.ask(request_text("POST", "/v1/executions", {},
                                {"Content-Type: application/json", "Content-Length: 1048577"}));
    expect_too_large(answer, large_max, "/v1/executions");
    EXPECT_EQ(answer.header("Connection"), "close");
}

TEST(BodySize, ChunksMayHaveExtensionsAndTrailers) {
    const TestServer server;
    const std::string head = request_text("POST", "/v1/echo", {}, {"Transfer-Encoding: chunked"});
    RawClient client = server.connect();
    EXPECT_EQ(client.ask(head + "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n").body, "abcde");
    EXPECT_EQ(client.ask(head + "0\r\n\r\n").status, 200) << "the connection goes on";
    for (const std::string_view bad : {"x\r\nabc\r\n", "3\r\nabcde\r\n", "-1\r\n",
                                       "FFFFFFFFFFFFFFFFF\r\n", "3 \r\nabc\r\n0\n\n"}) {
        const RawAnswer answer = server.ask(head + std::string(bad) + "0\r\n\r\n");
        EXPECT_EQ(answer.status, 400) << bad;
    }
}

// ----------------------------------------------------------------------------------- content types

TEST(ContentType, IsJsonInAnyOfItsForms) {
    const TestServer server;
    const auto status_of = [&](const std::vector<std::string>& fields) {
        return server.ask(request_text("POST", "/v1/executions", create_body(), fields)).status;
    };
    for (const std::string_view type :
         {"application/json", "application/json; charset=utf-8", "Application/JSON",
          "application/problem+json", "application/vnd.acme.v1+json;x=y",
          "application/json ;a=b"}) {
        EXPECT_EQ(status_of({"Content-Type: " + std::string(type)}), 201) << type;
    }
    for (const std::string_view type :
         {"text/plain", "application/jsonx", "text/json", "json", "",
          "application/x-www-form-urlencoded", "+json", "text/html;application/json"}) {
        EXPECT_EQ(status_of({"Content-Type: " + std::string(type)}), 415) << type;
    }
    EXPECT_EQ(status_of({}), 415);
}

TEST(ContentType, DoesNotMatterWhereTheBodyIsNotLookedAt) {
    const TestServer server;
    const std::string id = server.create();
    const std::string target = "/v1/executions/" + id + "/revoke-lease";
    EXPECT_EQ(server.ask(request_text("POST", target, "x", {"Content-Type: text/plain"})).status,
              200);
    EXPECT_EQ(server.ask(request_text("POST", target)).status, 200);
}

// ------------------------------------------------------------------------------------------ syntax

TEST(JsonSyntax, WhatIsNotJsonIsA400ThatSaysWhere) {
    const TestServer server;
    const std::vector<std::string> texts{"{",
                                         "}",
                                         "nul",
                                         "{\"a\":}",
                                         "{\"a\":1,}",
                                         "{'a':1}",
                                         "{\"a\":01}",
                                         "{\"a\":NaN}",
                                         "{\"a\":\"\x01\"}",
                                         "{\"a\":\"\xFF\"}",
                                         "{\"a\":\"\xC0\x80\"}",
                                         "{\"a\":\"\\ud800\"}",
                                         "{} {}",
                                         "{\"a\":1e}",
                                         "\xEF\xBB\xBF{}",
                                         std::string("{\"a\":\"x\0y\"}", 11),
                                         std::string("{}\0", 3),
                                         "{\"a\":\"\xED\xA0\x80\"}"};
    for (const std::string& text : texts) {
        const RawAnswer answer = server.post("/v1/executions", text);
        EXPECT_EQ(answer.status, 400) << text;
        EXPECT_TRUE(answer.member("error").starts_with("invalid JSON: Bad Request: ")) << text;
        EXPECT_NE(answer.member("error").find("at line 1 column "), std::string::npos)
            << answer.body;
    }
    for (const std::string_view text : {"[]", "1", "\"x\"", "null", "true"}) {
        const RawAnswer answer = server.post("/v1/executions", text);
        EXPECT_EQ(answer.status, 422) << text;
        EXPECT_EQ(answer.member("error"), "invalid JSON: Unprocessable Entity: expected an object");
    }
}

TEST(JsonSyntax, NestingHasALimitAndNothingOverflows) {
    const TestServer server;
    const auto nested = [](std::size_t depth) {
        return "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    EXPECT_EQ(server.post("/v1/executions", nested(60)).status, 422);
    EXPECT_EQ(server.post("/v1/executions", nested(500'000)).status, 400);
    EXPECT_EQ(server.post("/v1/executions", std::string(1'000'000, '[')).status, 400);
    std::string objects;
    for (int i = 0; i < 100'000; ++i) {
        objects += "{\"a\":";
    }
    EXPECT_EQ(server.post("/v1/executions", objects).status, 400);
}

TEST(JsonMembers, TheLastOfTheSameNameCounts) {
    const TestServer server;
    const RawAnswer answer = server.post(
        "/v1/executions", R"({"namespace":5,"namespace":"acme","lane_id":"l","execution_kind":"a",)"
                          R"("input_payload":[],)"
                          R"("execution_kind":"b"})");
    ASSERT_EQ(answer.status, 201) << answer.body;
    EXPECT_NE(server.get("/v1/search/executions?kind=b&namespace=acme").body.find("{fp:"),
              std::string::npos);
    EXPECT_EQ(server.get("/v1/search/executions?kind=a").body,
              R"({"items":[],"next_cursor":null})");
}

TEST(JsonMembers, NullIsNotGivenForWhatIsOptionalAndWrongForWhatHasADefault) {
    const TestServer server;
    const std::string required =
        R"({"namespace":"acme","lane_id":"l","execution_kind":"k","input_payload":[],)";
    for (const std::string_view name :
         {"execution_id", "payload_encoding", "idempotency_key", "policy", "delay_until",
          "execution_deadline_at", "partition_id"}) {
        EXPECT_EQ(
            server.post("/v1/executions", required + "\"" + std::string(name) + "\":null}").status,
            201)
            << name;
    }
    for (const std::string_view name : {"priority", "creator_identity", "tags"}) {
        const RawAnswer answer =
            server.post("/v1/executions", required + "\"" + std::string(name) + "\":null}");
        EXPECT_EQ(answer.status, 422) << name;
        EXPECT_NE(answer.member("error").find(name), std::string::npos) << answer.body;
    }
    for (const std::string_view name :
         {"capabilities", "max_tasks", "lease_ttl_ms", "block_ms", "kinds"}) {
        EXPECT_EQ(server
                      .post("/v1/workers/w/poll", R"({"worker_instance_id":"i","lanes":["l"],")" +
                                                      std::string(name) + "\":null}")
                      .status,
                  422)
            << name;
    }
    EXPECT_EQ(server
                  .post("/v1/workers/w/poll",
                        R"({"worker_instance_id":"i","lanes":["other"],"namespace":null})")
                  .status,
              204);
}

TEST(JsonMembers, WhatIsNotKnownIsNotLookedAt) {
    const TestServer server;
    std::string body = create_body();
    body.insert(1, R"("colour":{"deep":[1,2,{"x":null}]},"now":"yesterday",)");
    EXPECT_EQ(server.post("/v1/executions", body).status, 201);
}

TEST(JsonMembers, EachThatIsRequiredIsMissed) {
    const TestServer server;
    const std::vector<std::pair<std::string, std::string>> members{{"namespace", "\"n\""},
                                                                   {"lane_id", "\"l\""},
                                                                   {"execution_kind", "\"k\""},
                                                                   {"input_payload", "[]"}};
    for (const auto& [missing, value] : members) {
        std::string body;
        for (const auto& [name, text] : members) {
            body += name == missing ? "" : (body.empty() ? "" : ",") + ("\"" + name + "\":") + text;
        }
        const RawAnswer answer = server.post("/v1/executions", "{" + body + "}");
        EXPECT_EQ(answer.status, 422);
        EXPECT_EQ(answer.member("error"),
                  "invalid JSON: Unprocessable Entity: " + missing + ": missing");
    }
    EXPECT_EQ(server.ask(request_text("POST", "/v1/executions")).status, 422)
        << "no body at all is an empty one";
}

// ------------------------------------------------------------------------------------------- bytes

/// What comes back of a result that was spelled so.
std::string round_trip(const TestServer& server, const std::string& spelled) {
    const std::string id = server.create();
    const json task = server.claim();
    EXPECT_EQ(text_of(task, "execution_id"), id);
    const std::string body =
        R"({"fence":)" + fence_of(task) + R"(,"result_payload":)" + spelled + "}";
    EXPECT_EQ(server.post("/v1/executions/" + id + "/attempts/0/complete", body).status, 200);
    const RawAnswer answer = server.get("/v1/executions/" + id + "/result");
    EXPECT_EQ(answer.header("Content-Type"), "application/octet-stream");
    return answer.body;
}

TEST(Bytes, AreSpelledInFourWaysAndComeBackAsTheyWere) {
    const TestServer server;
    std::string all;
    std::string array = "[";
    for (int byte = 0; byte < 256; ++byte) {
        all.push_back(static_cast<char>(byte));
        array += (byte > 0 ? "," : "") + std::to_string(byte);
    }
    EXPECT_EQ(round_trip(server, array + "]"), all);
    EXPECT_EQ(round_trip(server, R"({"base64":"AP8Q"})"), std::string("\0\xFF\x10", 3));
    EXPECT_EQ(round_trip(server, R"({"base64":""})"), "");
    EXPECT_EQ(round_trip(server, R"({"text":"grün \u0000 \"x\""})"),
              std::string("grün \0 \"x\"", 11));
    EXPECT_EQ(round_trip(server, R"({"json":{"b":[1.50,null,1e3],"a":"x"}})"),
              R"({"b":[1.50,null,1e3],"a":"x"})");
    EXPECT_EQ(round_trip(server, R"({"json":null})"), "null");
    EXPECT_EQ(round_trip(server, "[]"), "");
}

TEST(Bytes, SpelledOtherwiseAreRefused) {
    const TestServer server;
    for (const std::string_view spelled : {"[256]",
                                           "[-1]",
                                           "[1.5]",
                                           "[1.0]",
                                           "[\"a\"]",
                                           "[null]",
                                           "\"abc\"",
                                           "5",
                                           "true",
                                           "{}",
                                           R"({"hex":"00"})",
                                           R"({"text":"a","json":1})",
                                           R"({"base64":"","text":"a"})",
                                           R"({"base64":"A"})",
                                           R"({"base64":5})",
                                           R"({"base64":"AP8Q\n"})",
                                           R"({"base64":"AP-_"})",
                                           R"({"base64":"AB=="})",
                                           R"({"base64":"=AAA"})",
                                           R"({"text":5})",
                                           R"({"text":null})",
                                           "null"}) {
        const RawAnswer answer =
            server.post("/v1/executions",
                        R"({"namespace":"n","lane_id":"l","execution_kind":"k","input_payload":)" +
                            std::string(spelled) + "}");
        EXPECT_EQ(answer.status, 422) << spelled << answer.body;
        EXPECT_NE(answer.member("error").find("input_payload"), std::string::npos) << spelled;
    }
}

// --------------------------------------------------------------------------------- ids and numbers

TEST(Uuids, AreReadInEverySpellingAndWrittenInOne) {
    const TestServer server;
    const std::string id = server.create();
    const std::string lease = text_of(server.claim(), "lease_id");
    std::string bare = lease;
    std::erase(bare, '-');
    std::string upper = lease;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    const auto revoke = [&](const std::string& spelled) {
        return server.post("/v1/leases/revoke", R"({"execution_id":")" + id +
                                                    R"(","expected_lease_id":")" + spelled + "\"}");
    };
    for (const std::string& bad : {std::string(""), lease.substr(1), lease + "0", "{" + lease,
                                   "(" + lease + ")", bare.substr(1), "urn:uid:" + lease,
                                   "urn:uuid:" + bare, std::string(36, '0'), "{" + bare + "}"}) {
        EXPECT_EQ(revoke(bad).status, 422) << bad;
    }
    for (const std::string& good :
         {upper, bare, "{" + lease + "}", "urn:uuid:" + lease, "URN:UUID:" + upper}) {
        EXPECT_EQ(revoke(good).status, 200) << good;
    }
    // The first of them was the right lease, however it was spelled.
    EXPECT_EQ(revoke(lease).body, R"({"AlreadySatisfied":{"reason":"already_revoked"}})");
}

TEST(Numbers, AreTakenToTheirLimitsAndNotBeyond) {
    const TestServer server;
    const std::string id = server.create();
    const json task = server.claim();
    const std::string attempt = "/v1/executions/" + id + "/attempts/0/";
    const auto renew = [&](const std::string& epoch) {
        return server.post(attempt + "renew",
                           R"({"fence":{"lease_id":")" + text_of(task, "lease_id") +
                               R"(","attempt_id":")" + text_of(task, "attempt_id") +
                               R"(","lease_epoch":)" + epoch + "}}");
    };
    EXPECT_EQ(renew("1").status, 200);
    EXPECT_EQ(renew("18446744073709551615").member("code"), "stale_lease");
    EXPECT_EQ(renew("9223372036854775808").member("code"), "stale_lease");
    for (const std::string_view bad :
         {"18446744073709551616", "-1", "1.0", "1e0", "\"1\"", "true", "[]", "1e400"}) {
        EXPECT_EQ(renew(std::string(bad)).status, 422) << bad;
    }
    const auto priority = [&](const std::string& number) {
        return server
            .ask(json_request("PUT", "/v1/executions/" + server.create() + "/priority",
                              R"({"new_priority":)" + number + "}"))
            .status;
    };
    EXPECT_EQ(priority("2147483647"), 200);
    EXPECT_EQ(priority("-2147483648"), 200);
    EXPECT_EQ(priority("2147483648"), 422);
    EXPECT_EQ(priority("-2147483649"), 422);
    EXPECT_EQ(server.get("/v1/executions?partition=65535").status, 200);
    EXPECT_EQ(server.get("/v1/executions?partition=65536").status, 400);
    EXPECT_EQ(server.get("/v1/executions?partition=0&limit=18446744073709551615").status, 200);
    EXPECT_EQ(server.get("/v1/executions?partition=0&limit=18446744073709551616").status, 400);
    EXPECT_EQ(server.get("/v1/leases/expired?as_of=9223372036854775807").status, 200);
    EXPECT_EQ(server.get("/v1/leases/expired?as_of=9223372036854775808").status, 400);
    EXPECT_EQ(server.get("/v1/leases/expired?as_of=-9223372036854775808").status, 200);
}

/// A member that has a range, and who has it.
struct Ranged {
    std::string target;
    std::string body;  ///< with `@` where the number stands
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

TEST(Numbers, OutsideTheirRangeAreA422) {
    const TestServer server;
    const std::string poll = R"({"worker_instance_id":"i","lanes":["none"],)";
    const std::vector<Ranged> all{
        {"/v1/workers/w/poll", poll + "\"max_tasks\":@}", {"1", "64"}, {"0", "65", "-1"}},
        {"/v1/workers/w/poll",
         poll + "\"lease_ttl_ms\":@}",
         {"1000", "3600000"},
         {"999", "3600001", "9223372036854775808"}},
        {"/v1/workers/w/poll", poll + "\"block_ms\":@}", {"0"}, {"-1", "30001"}},
        {"/v1/workers/w/register",
         R"({"worker_instance_id":"i","namespace":"n","lanes":["l"],"liveness_ttl_ms":@})",
         {"1000", "3600000"},
         {"999", "3600001", "-1"}},
        {"/v1/executions",
         R"({"namespace":"n","lane_id":"l","execution_kind":"k","input_payload":[],)"
         R"("delay_until":@})",
         {"0", "1700000000000"},
         {"9223372036854775808", "0.5"}},
        {"/v1/executions",
         R"({"namespace":"n","lane_id":"l","execution_kind":"k","input_payload":[],)"
         R"("partition_id":@})",
         {"0"},
         {"65536", "-1"}},
    };
    for (const Ranged& ranged : all) {
        const auto status_of = [&](const std::string& number) {
            std::string body = ranged.body;
            body.replace(body.find('@'), 1, number);
            return server.post(ranged.target, body).status;
        };
        for (const std::string& good : ranged.good) {
            EXPECT_LT(status_of(good), 300) << ranged.target << ranged.body << good;
        }
        for (const std::string& bad : ranged.bad) {
            EXPECT_EQ(status_of(bad), 422) << ranged.target << ranged.body << bad;
        }
    }
}

TEST(Numbers, ProgressHasItsLimitsToo) {
    const TestServer server;
    const std::string id = server.create();
    const std::string fence = R"({"fence":)" + fence_of(server.claim());
    const auto progress = [&](const std::string& rest) {
        return server.post("/v1/executions/" + id + "/attempts/0/progress", fence + rest + "}")
            .status;
    };
    EXPECT_EQ(progress(",\"percent\":0"), 200);
    EXPECT_EQ(progress(",\"percent\":100"), 200);
    EXPECT_EQ(progress(",\"percent\":101"), 422);
    EXPECT_EQ(progress(",\"percent\":-1"), 422);
    EXPECT_EQ(progress(",\"message\":\"" + std::string(4'096, 'x') + "\""), 200);
    EXPECT_EQ(progress(",\"message\":\"" + std::string(4'097, 'x') + "\""), 422);
    EXPECT_EQ(progress(""), 200);
}

}  // namespace
}  // namespace ff::http::test
