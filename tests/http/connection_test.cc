// Connections: what keeps them, what ends them, and requests that come in pieces or in crowds.
#include <gtest/gtest.h>

#include <thread>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

const std::string health = request_text("GET", "/healthz");

TEST(KeepAlive, AConnectionServesManyRequests) {
    TestServer server;
    RawClient client = server.connect();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(client.ask(health).status, 200);
        EXPECT_EQ(client.ask(request_text("GET", "/v1/nothing")).status, 404);
    }
    EXPECT_EQ(server.server().connections(), 1U);
}

TEST(KeepAlive, EndsWhenTheClientSaysSo) {
    const TestServer server;
    RawClient client = server.connect();
    const RawAnswer answer =
        client.ask(request_text("GET", "/healthz", {}, {"Connection: close"}) + health);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.is_closed_by_server()) << "what follows is not answered";
}

TEST(KeepAlive, IsNotTheHabitOfHttp10) {
    const TestServer server;
    RawClient client = server.connect();
    const RawAnswer answer = client.ask("GET /healthz HTTP/1.0\r\n\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.is_closed_by_server());
}

TEST(KeepAlive, IsToldToHttp10WhenItAsks) {
    const TestServer server;
    RawClient client = server.connect();
    const std::string request = "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    const RawAnswer answer = client.ask(request);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Connection"), "keep-alive");
    EXPECT_EQ(client.ask(request).status, 200);
}

TEST(KeepAlive, SurvivesRefusalsOfWholeRequests) {
    const TestServer server;
    RawClient client = server.connect();
    EXPECT_EQ(client.ask(json_request("POST", "/v1/executions", "{")).status, 400);
    EXPECT_EQ(client.ask(json_request("POST", "/v1/executions", "{}")).status, 422);
    EXPECT_EQ(client.ask(request_text("POST", "/v1/executions", "{}")).status, 415);
    EXPECT_EQ(client.ask(request_text("GET", "/v1/executions/abc")).status, 400);
    EXPECT_EQ(client.ask(request_text("DELETE", "/healthz")).status, 405);
    EXPECT_EQ(client.ask(health).status, 200);
}

// ----------------------------------------------------------------------------------------- crowds

TEST(Pipelining, FiftyRequestsAreAnsweredInTheirOrder) {
    const TestServer server;
    RawClient client = server.connect();
    std::string crowd;
    for (int i = 0; i < 50; ++i) {
        crowd += request_text("POST", "/v1/echo", "number " + std::to_string(i));
    }
    ASSERT_TRUE(client.send(crowd));
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client.read_answer().body, "number " + std::to_string(i));
    }
}

TEST(Pipelining, RequestsThatTakeLongerDoNotLoseTheirPlace) {
    const TestServer server;
    RawClient client = server.connect();
    std::string crowd;
    for (int i = 0; i < 20; ++i) {
        crowd += json_request("POST", "/v1/executions", create_body()) +
                 request_text("GET", "/v1/nothing") + request_text("POST", "/v1/echo", "x") +
                 json_request("POST", "/v1/executions", "{");
    }
    ASSERT_TRUE(client.send(crowd));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(client.read_answer().status, 201);
        EXPECT_EQ(client.read_answer().status, 404);
        EXPECT_EQ(client.read_answer().body, "x");
        EXPECT_EQ(client.read_answer().status, 400);
    }
}

TEST(Pipelining, WhatWasSentIsAnsweredThoughTheClientSendsNoMore) {
    const TestServer server;
    RawClient client = server.connect();
    std::string crowd;
    for (int i = 0; i < 10; ++i) {
        crowd += request_text("POST", "/v1/echo", std::to_string(i));
        crowd += json_request("POST", "/v1/executions", create_body());
    }
    ASSERT_TRUE(client.send(crowd));
    client.finish_sending();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(client.read_answer().body, std::to_string(i));
        EXPECT_EQ(client.read_answer().status, 201);
    }
    EXPECT_TRUE(client.is_closed_by_server());
}

TEST(Pipelining, MoreThanAServerKeepsWaitsInTheNetwork) {
    const TestServer server;
    RawClient client = server.connect();
    const std::string body(50'000, 'x');
    std::string crowd;
    for (int i = 0; i < 40; ++i) {
        crowd += request_text("POST", "/v1/echo", body);
    }
    std::thread sender([&] { EXPECT_TRUE(client.send(crowd)); });
    std::size_t whole = 0;
    for (int i = 0; i < 40; ++i) {
        whole += client.read_answer().body == body ? 1 : 0;
    }
    sender.join();
    EXPECT_EQ(whole, 40U);
}

// ----------------------------------------------------------------------------------------- pieces

TEST(Pieces, ARequestMayComeByteByByte) {
    const TestServer server;
    RawClient client = server.connect();
    const std::string whole = json_request("POST", "/v1/executions", create_body());
    for (const char byte : whole) {
        ASSERT_TRUE(client.send(std::string_view(&byte, 1)));
    }
    EXPECT_EQ(client.read_answer().status, 201);
    EXPECT_EQ(client.ask(health).status, 200);
}

TEST(Pieces, ChunksMayComeByteByByte) {
    const TestServer server;
    RawClient client = server.connect();
    const std::string whole = request_text("POST", "/v1/echo", {}, {"Transfer-Encoding: chunked"}) +
                              "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n";
    for (const char byte : whole) {
        ASSERT_TRUE(client.send(std::string_view(&byte, 1)));
    }
    EXPECT_EQ(client.read_answer().body, "hello world");
}

TEST(Pieces, AnEmptyLineBetweenRequestsIsForgiven) {
    const TestServer server;
    RawClient client = server.connect();
    EXPECT_EQ(client.ask("\r\n" + health).status, 200);
    EXPECT_EQ(client.ask("\r\n" + health).status, 200);
}

// --------------------------------------------------------------------------------- 100 Continue

TEST(Expect, TheBodyIsAskedForWhenItIsWanted) {
    const TestServer server;
    RawClient client = server.connect();
    const RawAnswer go_on = client.ask(
        request_text("POST", "/v1/echo", {}, {"Content-Length: 3", "Expect: 100-continue"}));
    EXPECT_EQ(go_on.status, 100);
    EXPECT_EQ(client.ask("abc").body, "abc");
    EXPECT_EQ(client.ask(health).status, 200);
}

TEST(Expect, ABodyThatHasComeAlreadyIsNotAskedFor) {
    const TestServer server;
    RawClient client = server.connect();
    const RawAnswer answer =
        client.ask(request_text("POST", "/v1/echo", "abc", {"Expect: 100-continue"}));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "abc");
}

TEST(Expect, ABodyThatWouldBeRefusedIsNotAskedFor) {
    TestOptions options;
    options.service.gate.api_token = "secret";
    const TestServer server(std::move(options));
    const auto status_of = [&](std::string_view target, const std::string& field) {
        return server
            .ask(request_text("POST", target, {},
                              {"Content-Length: 70000", "Expect: 100-continue", field}))
            .status;
    };
    EXPECT_EQ(status_of("/v1/echo", "X: y"), 401);
    EXPECT_EQ(status_of("/v1/echo", "Authorization: Bearer secret"), 413);
    EXPECT_EQ(status_of("/v1/nothing", "Authorization: Bearer secret"), 404);
}

TEST(Expect, Http10KnowsNothingOfIt) {
    const TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(
        client.send("POST /v1/echo HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
    EXPECT_FALSE(client.hears_within(std::chrono::milliseconds(200)));
    EXPECT_EQ(client.ask("abc").body, "abc");
}

// ------------------------------------------------------------------------------- rules of HTTP/1.1

TEST(Http11, ARequestNamesItsHostOnce) {
    const TestServer server;
    EXPECT_EQ(server.ask("GET /healthz HTTP/1.1\r\n\r\n").status, 400);
    EXPECT_EQ(server.ask("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
    EXPECT_EQ(server.ask("GET /healthz HTTP/1.1\r\nhost:\r\n\r\n").status, 200);
}

TEST(Http11, ATargetMayBeAWholeAddress) {
    const TestServer server;
    EXPECT_EQ(server.ask(request_text("GET", "http://test/healthz")).status, 200);
    EXPECT_EQ(server.ask(request_text("GET", "http://test:9090/v1/executions?partition=0")).status,
              200);
    EXPECT_EQ(server.ask(request_text("GET", "https://test")).status, 404);
}

TEST(Http11, TheLengthOfABodyIsSaidInOneWay) {
    const TestServer server;
    for (const std::vector<std::string>& fields :
         std::vector<std::vector<std::string>>{{"Content-Length: 3", "Content-Length: 4"},
                                               {"Content-Length: 3", "Content-Length: 3"},
                                               {"Content-Length: 3", "Transfer-Encoding: chunked"},
                                               {"Transfer-Encoding: chunked", "Content-Length: 3"},
                                               {"Content-Length: -3"},
                                               {"Content-Length: 3x"},
                                               {"Content-Length: 0x3"},
                                               {"Content-Length: 99999999999999999999999"},
                                               {"Content-Length : 3"},
                                               {"Content-Length: 3,3"}}) {
        RawClient client = server.connect();
        const RawAnswer answer = client.ask(request_text("POST", "/v1/echo", {}, fields) + "abc");
        EXPECT_EQ(answer.status, 400) << fields[0];
        EXPECT_TRUE(client.is_closed_by_server()) << "what follows could be read in two ways";
    }
}

TEST(Http11, ABodyThatIsCodedOtherwiseIsRefused) {
    const TestServer server;
    for (const std::string_view coding : {"gzip", "chunked, gzip", "xchunked", "identity"}) {
        RawClient client = server.connect();
        const RawAnswer answer = client.ask(
            request_text("POST", "/v1/echo", {}, {"Transfer-Encoding: " + std::string(coding)}) +
            "3\r\nabc\r\n0\r\n\r\n");
        EXPECT_GE(answer.status, 400) << coding;
        EXPECT_LT(answer.status, 502) << coding;
        EXPECT_TRUE(client.is_closed_by_server()) << coding;
    }
}

TEST(Http11, OtherVersionsAreToldSo) {
    const TestServer server;
    EXPECT_EQ(server.ask("GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n").status, 505);
    EXPECT_EQ(server.ask("GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n").status, 505);
}

}  // namespace
}  // namespace ff::http::test
