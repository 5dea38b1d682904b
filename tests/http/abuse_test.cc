// What a server must bear: requests that never end, bytes that are none, clients that do not read,
// go away or come in thousands (spec 11, "Bad input"). It answers with a clear 4xx or closes, and
// goes on serving others.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "http/memory.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

using std::chrono::milliseconds;
using std::literals::operator""s;

const std::string health = request_text("GET", "/healthz");

/// Every wait is short; the one that is tested is shorter than the others.
TestOptions with_timeouts(milliseconds ServerOptions::* shorter) {
    TestOptions options;
    options.server.head_timeout = milliseconds(20'000);
    options.server.body_timeout = milliseconds(20'000);
    options.server.idle_timeout = milliseconds(20'000);
    options.server.send_timeout = milliseconds(20'000);
    options.server.*shorter = milliseconds(200);
    return options;
}

void expect_serves(const TestServer& server) { EXPECT_EQ(server.ask(health).status, 200); }

// --------------------------------------------------------------------------------- taking too long

TEST(SlowClients, AHeadThatDoesNotEndIsGivenUp) {
    const TestServer server(with_timeouts(&ServerOptions::head_timeout));
    RawClient client = server.connect();
    const RawAnswer answer = client.ask("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b");
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.member("error"), "the request was not sent in time");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.is_closed_by_server());
}

TEST(SlowClients, DrippingDoesNotBuyTime) {
    const TestServer server(with_timeouts(&ServerOptions::head_timeout));
    RawClient client = server.connect();
    ASSERT_TRUE(client.send("GET /healthz HTTP/1.1\r\n"));
    const auto begin = std::chrono::steady_clock::now();
    while (!client.hears_within(milliseconds(20)) &&
           std::chrono::steady_clock::now() - begin < patience) {
        client.send("X-A: b\r\n");
    }
    EXPECT_EQ(client.read_answer().status, 408);
    expect_serves(server);
}

TEST(SlowClients, ABodyThatDoesNotComeIsGivenUp) {
    const TestServer server(with_timeouts(&ServerOptions::body_timeout));
    RawClient client = server.connect();
    const RawAnswer answer =
        client.ask(request_text("POST", "/v1/echo", {}, {"Content-Length: 10"}) + "abc");
    EXPECT_EQ(answer.status, 408);
    EXPECT_TRUE(client.is_closed_by_server());
    RawClient chunks = server.connect();
    EXPECT_EQ(
        chunks.ask(request_text("POST", "/v1/echo", {}, {"Transfer-Encoding: chunked"}) + "5\r\nab")
            .status,
        408);
}

TEST(SlowClients, AConnectionThatSaysNothingIsClosedWithoutAWord) {
    const TestServer server(with_timeouts(&ServerOptions::idle_timeout));
    RawClient used = server.connect();
    EXPECT_EQ(used.ask(health).status, 200);
    EXPECT_TRUE(used.is_closed_by_server());
}

TEST(SlowClients, WhoConnectsAndAsksNothingWaitsNoLongerThanAHeadMay) {
    TestOptions options = with_timeouts(&ServerOptions::head_timeout);
    options.server.idle_timeout = std::chrono::hours(1);
    const TestServer server(std::move(options));
    RawClient fresh = server.connect();
    EXPECT_TRUE(fresh.is_closed_by_server());
}

TEST(SlowClients, AWaitingPollIsNotIdle) {
    TestServer server(with_timeouts(&ServerOptions::idle_timeout));
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(json_request("POST", "/v1/workers/w/poll", poll_body(30'000))));
    EXPECT_FALSE(client.hears_within(milliseconds(1'000))) << "it waits longer than idleness may";
    const std::string id = server.create();
    EXPECT_NE(client.read_answer().body.find(id), std::string::npos);
}

TEST(SlowClients, OneThatDoesNotReadItsAnswersIsCutOff) {
    TestServer server(with_timeouts(&ServerOptions::send_timeout));
    RawClient client = RawClient::with_small_buffer(server.port());
    const std::string request = request_text("POST", "/v1/echo", std::string(60'000, 'x'));
    bool sent = true;
    // More than any buffer between the two takes; the server stops reading when it cannot write.
    for (int i = 0; i < 400 && sent; ++i) {
        sent = client.send(request);
    }
    EXPECT_FALSE(sent) << "the server closes";
    EXPECT_TRUE(
        eventually("the connection is gone", [&] { return server.server().connections() == 0; }));
    expect_serves(server);
}

// ----------------------------------------------------------------------------------------- rubbish

TEST(Rubbish, IsAnsweredWith400AndTheConnectionEnds) {
    const TestServer server;
    const std::vector<std::string> texts{
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1 x\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "G@T / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / FTP/1.1\r\nHost: x\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n: no name\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n",
        "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"s,
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"s,
        "\0\0\0\0\0\0\0\0\r\n\r\n"s,
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a client of TLS\r\n\r\n"s,
        "\xFF\xFE\xFD\r\n\r\n",
    };
    for (const std::string& text : texts) {
        RawClient client = server.connect();
        const RawAnswer answer = client.ask(text);
        EXPECT_EQ(answer.status, 400) << text;
        EXPECT_TRUE(answer.member("error").starts_with("not an HTTP request")) << answer.body;
        EXPECT_EQ(answer.header("Connection"), "close") << text;
        EXPECT_TRUE(client.is_closed_by_server()) << text;
    }
    expect_serves(server);
}

TEST(Rubbish, RandomBytesAreNeverWorseThanThat) {
    const TestServer server;
    std::mt19937 random(20'260'101);  // NOLINT: the same bytes in every run
    for (int i = 0; i < 300; ++i) {
        std::string bytes(random() % 200 + 1, '\0');
        for (char& byte : bytes) {
            byte = static_cast<char>(random());
        }
        RawClient client = server.connect();
        client.send(bytes + "\r\n\r\n");
        client.finish_sending();
        const std::string said = client.read_to_end();
        EXPECT_TRUE(said.empty() || said.starts_with("HTTP/1.1 4") ||
                    said.starts_with("HTTP/1.1 505"))
            << said;
    }
    expect_serves(server);
}

TEST(Rubbish, AHeadThatIsTooLargeIsA431) {
    const TestServer server;
    const std::vector<std::string> heads{
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n",
        "GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /" + std::string(200'000, 'x'),
        std::string(200'000, 'x'),
        "GET /healthz HTTP/1.1\r\nHost: x\r\n" +
            [] {
                std::string fields;
                for (int i = 0; i < 10'000; ++i) {
                    fields += "X" + std::to_string(i) + ": y\r\n";
                }
                return fields;
            }() +
            "\r\n",
    };
    for (const std::string& head : heads) {
        RawClient client = server.connect();
        const RawAnswer answer = client.ask(head);
        EXPECT_EQ(answer.status, 431) << head.substr(0, 40);
        EXPECT_EQ(answer.member("error"), "the head of the request is too large");
        EXPECT_TRUE(client.is_closed_by_server());
    }
    EXPECT_EQ(
        server
            .ask("GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(30'000, 'x') + "\r\n\r\n")
            .status,
        200);
}

TEST(Rubbish, HeadsOfChunksAndTrailersAreBounded) {
    const TestServer server(with_timeouts(&ServerOptions::body_timeout));
    const std::string head = request_text("POST", "/v1/echo", {}, {"Transfer-Encoding: chunked"});
    for (const std::string_view opening : {"1;", "1\r\na\r\n1;", "0\r\nA: ", "1\r\na\r\n0\r\nB"}) {
        RawClient client = server.connect();
        client.send(head + std::string(opening) + std::string(1'000'000, 'x'));
        const RawAnswer answer = client.read_answer();
        EXPECT_EQ(answer.status, 400) << opening;
        EXPECT_EQ(answer.header("Connection"), "close") << opening;
        EXPECT_TRUE(client.is_closed_by_server()) << opening;
    }
    expect_serves(server);
}

// -------------------------------------------------------------------------------------- going away

TEST(ClientsThatGo, WithoutAFarewellAreForgotten) {
    TestServer server;
    for (int i = 0; i < 50; ++i) {
        RawClient nothing_said = server.connect();
        RawClient half_a_head = server.connect();
        half_a_head.send("GET /healthz HT");
        RawClient half_a_body = server.connect();
        half_a_body.send(request_text("POST", "/v1/echo", {}, {"Content-Length: 10"}) + "abc");
        RawClient no_answer_read = server.connect();
        no_answer_read.send(json_request("POST", "/v1/executions", create_body()));
        nothing_said.reset();
        half_a_head.reset();
        half_a_body.reset();
        no_answer_read.reset();
    }
    EXPECT_TRUE(
        eventually("all connections are gone", [&] { return server.server().connections() == 0; }));
    expect_serves(server);
}

TEST(ClientsThatGo, InTheMiddleOfARequestGetNoAnswerAndChangeNothing) {
    TestServer server;
    RawClient client = server.connect();
    const std::string whole = json_request("POST", "/v1/executions", create_body());
    client.send(whole.substr(0, whole.size() - 1));
    client.finish_sending();
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(server.get("/v1/executions?partition=0").body,
              R"({"executions":[],"next_cursor":null})");
}

// --------------------------------------------------------------------------------------- thousands

TEST(ManyClients, MoreThanTheLimitWaitUntilOneGoes) {
    for (const std::size_t threads : {1U, 2U}) {
        TestOptions options;
        options.server.connections_max = 3;
        options.server.threads = threads;
        TestServer server(std::move(options));
        std::vector<RawClient> first;
        for (int i = 0; i < 3; ++i) {
            first.push_back(server.connect());
            EXPECT_EQ(first.back().ask(health).status, 200);
        }
        RawClient late = server.connect();
        ASSERT_TRUE(late.send(health));
        EXPECT_FALSE(late.hears_within(milliseconds(300))) << "there is no room for a fourth";
        EXPECT_EQ(first[0].ask(health).status, 200) << "those who are in are served";
        first.pop_back();
        EXPECT_EQ(late.read_answer().status, 200) << "now there is";
    }
}

TEST(ManyClients, ComingAndGoingAtTheLimitNeverShutsTheDoor) {
    TestOptions options;
    options.server.connections_max = 1;
    options.server.threads = 3;
    const TestServer server(std::move(options));
    std::vector<std::thread> threads;
    std::atomic<int> answered{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 150; ++i) {
                RawClient client = server.connect();
                answered += client.ask(health).status == 200 ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(answered.load(), 600);
}

TEST(ManyClients, TwoThousandIdleOnesAreInNobodysWay) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max < 4'500) {
        GTEST_SKIP() << "only " << files.rlim_max << " files may be open";
    }
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    TestOptions options;
    options.server.connections_max = 2'100;
    options.server.head_timeout = patience;
    TestServer server(std::move(options));
    std::vector<RawClient> idle;
    for (int i = 0; i < 2'000; ++i) {
        idle.push_back(server.connect());
    }
    ASSERT_TRUE(eventually("all are in", [&] { return server.server().connections() == 2'000; }));
    for (int i = 0; i < 50; ++i) {
        expect_serves(server);
    }
    for (std::size_t i = 0; i < idle.size(); i += 100) {
        EXPECT_EQ(idle[i].ask(health).status, 200);
    }
    idle.clear();
    EXPECT_TRUE(eventually("all are gone", [&] { return server.server().connections() == 0; }));
}

/// Requests of every kind that changes nothing, and things that are none.
std::string rubbish(std::mt19937& random) {
    const auto noise = [&](std::size_t most) {
        std::string out(random() % most, '\0');
        for (char& byte : out) {
            byte = static_cast<char>(random());
        }
        return out;
    };
    switch (random() % 8) {
        case 0: return "x" + noise(300) + "\r\n\r\n";
        case 1: return json_request("POST", "/v1/executions", noise(2'000) + "x");
        case 2: return json_request("POST", "/v1/executions", std::string(20'000, '['));
        case 3: return request_text("GET", "/v1/executions/%" + std::to_string(random()));
        case 4: return request_text("GET", "/" + std::string(random() % 40'000, 'y'));
        case 5: return request_text("POST", "/v1/echo", std::string(60'000, 'z'));
        case 6: return request_text("POST", "/v1/echo", {}, {"Content-Length: 99999999"});
        default: return request_text("GET", "/v1/search/executions?tag.a=b&state=active");
    }
}

TEST(ManyClients, TenThousandRequestsOfRubbishLeaveNoTrace) {
    TestServer server;
    std::mt19937 random(20'260'102);  // NOLINT: the same bytes in every run
    std::size_t asked = 0;
    const auto ask_some = [&](std::size_t requests) {
        while (asked < requests) {
            RawClient client = server.connect();
            for (int i = 0; i < 20; ++i) {
                ++asked;
                if (client.ask(rubbish(random)).header("Connection")) {
                    break;  // the server closes
                }
            }
        }
    };
    ask_some(2'000);
    const std::size_t before = resident_kib();
    ask_some(10'000);
    const std::size_t after = resident_kib();
    if (memory_is_measurable) {
        EXPECT_LT(after, before + 16'384) << "KiB before " << before << ", after " << after;
    }
    EXPECT_EQ(server.get("/v1/executions?partition=0").body,
              R"({"executions":[],"next_cursor":null})");
}

TEST(ManyClients, AConnectionThatIsAlwaysHalfARequestAheadDoesNotGrow) {
    TestServer server;
    RawClient client = server.connect();
    // Each read of the server ends within a request, so that its input is never all used up.
    const std::string request = request_text("POST", "/v1/echo", std::string(1'000, 'x'));
    const std::size_t half = request.size() / 2;
    ASSERT_TRUE(client.send(request.substr(0, half)));
    std::size_t before = 0;
    for (int i = 0; i < 8'000; ++i) {
        ASSERT_TRUE(client.send(request.substr(half) + request.substr(0, half)));
        ASSERT_EQ(client.read_answer().status, 200);
        before = i == 1'000 ? resident_kib() : before;
    }
    if (memory_is_measurable) {
        EXPECT_LT(resident_kib(), before + 8'192) << "before " << before;
    }
}

}  // namespace
}  // namespace ff::http::test
