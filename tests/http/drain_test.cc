// How a server stops (spec 07 section 8.3): what waits is answered, what runs may end, nothing that
// was acknowledged is lost.
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "http/scripted_engine.h"
#include "http/test_server.h"
#include "support/temp_dir.h"

namespace ff::http::test {
namespace {

using std::chrono::milliseconds;

std::future<bool> drain(TestServer& server, milliseconds grace = patience) {
    auto done =
        std::async(std::launch::async, [&server, grace] { return server.server().drain(grace); });
    EXPECT_TRUE(eventually("it drains", [&] { return server.server().service().draining(); }));
    return done;
}

/// A request whose head has come and whose body has not: the server has said that it waits for it.
RawClient half_sent(const TestServer& server, std::string_view method, std::string_view target,
                    std::size_t body_bytes) {
    RawClient client = server.connect();
    EXPECT_EQ(client
                  .ask(request_text(method, target, {},
                                    {"Content-Type: application/json", "Expect: 100-continue",
                                     "Content-Length: " + std::to_string(body_bytes)}))
                  .status,
              100);
    return client;
}

TEST(Drain, WaitingPollsAreAnsweredWithNothing) {
    TestServer server;
    std::vector<RawClient> clients;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(server.connect());
        ASSERT_TRUE(
            clients.back().send(json_request("POST", "/v1/workers/w/poll", poll_body(30'000))));
    }
    ASSERT_TRUE(
        eventually("they wait", [&] { return server.engine().stats().waiting_claims == 10; }));
    auto drained = drain(server);
    for (RawClient& client : clients) {
        const RawAnswer answer = client.read_answer();
        EXPECT_EQ(answer.status, 204);
        EXPECT_EQ(answer.header("Connection"), "close");
        EXPECT_TRUE(client.is_closed_by_server());
    }
    EXPECT_TRUE(drained.get());
    EXPECT_EQ(server.server().connections(), 0U);
}

TEST(Drain, NewPollsAreRefusedAndReadinessIsGone) {
    TestServer server;
    const std::string body = poll_body(0);
    RawClient poll = half_sent(server, "POST", "/v1/workers/w/poll", body.size());
    RawClient ready = half_sent(server, "GET", "/readyz", 2);
    RawClient create = half_sent(server, "POST", "/v1/executions", create_body().size());
    auto drained = drain(server);
    const RawAnswer refused = poll.ask(body);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.body,
              R"({"error":"backend op unavailable: claim","kind":"unavailable","retryable":false,)"
              R"("code":"shutting_down","detail":{"message":"the server is stopping"}})");
    const RawAnswer not_ready = ready.ask("{}");
    EXPECT_EQ(not_ready.status, 503);
    EXPECT_EQ(not_ready.body, R"({"status":"draining"})");
    EXPECT_EQ(not_ready.header("Retry-After"), "1");
    const RawAnswer created = create.ask(create_body());
    EXPECT_EQ(created.status, 201) << "what was under way is done";
    EXPECT_EQ(created.header("Connection"), "close");
    EXPECT_TRUE(drained.get());
}

/// The path of the stream of a task that a worker has.
std::string started_stream(const TestServer& server) {
    const std::string id = server.create();
    EXPECT_EQ(text_of(server.claim(), "execution_id"), id);
    return "/v1/executions/" + encoded(id) + "/attempts/0/stream";
}

TEST(Drain, NewStreamReadsAndTailsAreRefused) {
    TestServer server;
    const std::string path = started_stream(server);
    std::vector<RawClient> clients;
    for (const char* rest : {"", "/tail?after=0-0", "/tail?after=0-0&block_ms=30000", "/sse"}) {
        clients.push_back(half_sent(server, "GET", path + rest, 2));
    }
    auto drained = drain(server);
    for (RawClient& client : clients) {
        const RawAnswer refused = client.ask("{}");
        EXPECT_EQ(refused.status, 503);
        EXPECT_EQ(refused.member("code"), "shutting_down");
        EXPECT_EQ(refused.header("Retry-After"), "1");
    }
    EXPECT_TRUE(drained.get());
}

TEST(Drain, ParkedTailsAreAnsweredWithAnOpenPage) {
    TestServer server;
    const std::string path = started_stream(server);
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(request_text("GET", path + "/tail?after=0-0&block_ms=30000")));
    ASSERT_TRUE(eventually("it waits",
                           [&] { return server.server().service().stream_ops().taken() == 1; }));
    auto drained = drain(server);
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.document().find("frames")->if_array()->empty());
    EXPECT_EQ(answer.member("closed_at"), "");
    EXPECT_TRUE(drained.get());
}

TEST(Drain, IdleConnectionsAreClosedAndNewOnesNotTaken) {
    TestServer server;
    RawClient idle = server.connect();
    EXPECT_EQ(idle.ask(request_text("GET", "/healthz")).status, 200);
    RawClient held = half_sent(server, "POST", "/v1/echo", 2);
    auto drained = drain(server);
    EXPECT_TRUE(idle.is_closed_by_server());
    EXPECT_EQ(held.ask("ab").body, "ab");
    EXPECT_TRUE(drained.get());
    EXPECT_FALSE(RawClient::can_connect(server.port()));
}

TEST(Drain, RunningRequestsAreWaitedFor) {
    auto engine = std::make_shared<ScriptedEngine>();
    TestOptions options;
    options.engine = engine;
    TestServer server(std::move(options));
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(request_text("GET", "/v1/executions?partition=0")));
    ScriptedEngine::Call call = engine->next();
    auto drained = drain(server);
    EXPECT_EQ(drained.wait_for(milliseconds(100)), std::future_status::timeout);
    call.done(Reply(ExecutionPage{}));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(drained.get());
}

TEST(Drain, ThoseThatTakeTooLongAreNotWaitedForForEver) {
    auto engine = std::make_shared<ScriptedEngine>();
    TestOptions options;
    options.engine = engine;
    TestServer server(std::move(options));
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(request_text("GET", "/v1/executions?partition=0")));
    ScriptedEngine::Call call = engine->next();
    EXPECT_FALSE(drain(server, milliseconds(50)).get());
    EXPECT_EQ(server.server().connections(), 1U);
    // The server cannot go before the engine has answered: the answer has somewhere to come.
    auto destroyed = std::async(std::launch::async, [&] { server.destroy(); });
    EXPECT_EQ(destroyed.wait_for(milliseconds(100)), std::future_status::timeout);
    call.done(Reply(ExecutionPage{}));
    destroyed.get();
    EXPECT_TRUE(client.is_closed_by_server());
}

/// Creates executions until it is refused; gives the ids of those that were acknowledged.
std::set<std::string> create_until_refused(std::uint16_t port, int thread) {
    std::set<std::string> acknowledged;
    RawClient client(port);
    for (int i = 0;; ++i) {
        std::string id = std::to_string(100'000'000 + thread * 1'000'000 + i);
        id = "{fp:0}:018f0000-0000-7000-8000-000" + id;
        std::string body = create_body();
        body.insert(1, "\"execution_id\":\"" + id + "\",");
        const RawAnswer answer = client.ask(json_request("POST", "/v1/executions", body));
        if (answer.status != 201) {
            return acknowledged;
        }
        acknowledged.insert(id);
        if (answer.header("Connection")) {
            return acknowledged;
        }
    }
}

/// All ids of the only partition.
std::set<std::string> stored_ids(Engine& engine) {
    std::set<std::string> out;
    ListExecutions list{.partition = 0, .cursor = {}, .limit = 1'000};
    do {
        auto page = engine.run(list);
        EXPECT_TRUE(page) << page.error().message();
        for (const ExecutionId& id : page->executions) {
            out.insert(id.to_string());
        }
        list.cursor = page->next_cursor;
    } while (list.cursor);
    return out;
}

TEST(Drain, UnderLoadLosesNothingThatWasAcknowledged) {
    for (const bool politely : {true, false}) {
        const support::TempDir folder;
        std::set<std::string> acknowledged;
        {
            TestOptions options;
            options.store = "sqlite:" + folder.file("store.db");
            options.server.threads = 2;
            options.real_time = true;
            TestServer server(std::move(options));
            std::vector<std::future<std::set<std::string>>> clients;
            for (int t = 0; t < 6; ++t) {
                clients.push_back(
                    std::async(std::launch::async, create_until_refused, server.port(), t));
            }
            ASSERT_TRUE(eventually("there is load",
                                   [&] { return server.engine().stats().commands > 300; }));
            if (politely) {
                EXPECT_TRUE(server.server().drain(patience));
            }
            server.destroy();
            for (auto& client : clients) {
                acknowledged.merge(client.get());
            }
            server.engine().stop();
        }
        auto again = Engine::open("sqlite:" + folder.file("store.db"));
        ASSERT_TRUE(again) << again.error().message();
        const std::set<std::string> stored = stored_ids(**again);
        EXPECT_GT(acknowledged.size(), 200U);
        for (const std::string& id : acknowledged) {
            EXPECT_TRUE(stored.contains(id)) << id << " was acknowledged";
        }
    }
}

}  // namespace
}  // namespace ff::http::test
