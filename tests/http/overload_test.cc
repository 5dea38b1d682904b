// More than a server can take (spec 11, "Overload"): the excess is refused at once and may come
// again, what was accepted is done, nobody who is stuck is in the way of others, and nothing grows.
#include <gtest/gtest.h>

#include <set>

#include "http/memory.h"
#include "http/test_server.h"
#include "support/temp_dir.h"

namespace ff::http::test {
namespace {

const std::string health = request_text("GET", "/healthz");

std::string create_request() { return json_request("POST", "/v1/executions", create_body()); }

/// Ids of all executions there are.
std::set<std::string> stored_ids(Engine& engine) {
    std::set<std::string> out;
    ListExecutions list{.partition = 0, .cursor = {}, .limit = 1'000};
    do {
        auto page = engine.run(list);
        EXPECT_TRUE(page) << page.error().message();
        if (!page) {
            break;
        }
        for (const ExecutionId& id : page->executions) {
            out.insert(id.to_string());
        }
        list.cursor = page->next_cursor;
    } while (list.cursor);
    return out;
}

class Overload : public testing::Test {
  protected:
    /// A server on a file, whose engine lets only a few commands wait.
    static TestOptions narrow(const std::string& path) {
        EngineOptions how;
        how.queue_commands_max = 4;
        auto engine = Engine::open("sqlite:" + path, how);
        EXPECT_TRUE(engine) << engine.error().message();
        TestOptions options;
        options.engine = engine ? *engine : nullptr;
        options.server.threads = 2;
        return options;
    }

    support::TempDir folder_;
    TestServer server_{narrow(folder_.file("store.db"))};
};

TEST_F(Overload, TheExcessIsRefusedAndWhatWasAcceptedIsDone) {
    constexpr int clients = 60;
    constexpr int requests = 20;
    std::string crowd;
    for (int i = 0; i < requests; ++i) {
        crowd += create_request();
    }
    std::vector<RawClient> all;
    for (int i = 0; i < clients; ++i) {
        all.push_back(server_.connect());
    }
    for (RawClient& client : all) {
        ASSERT_TRUE(client.send(crowd));
    }
    std::set<std::string> accepted;
    std::size_t refused = 0;
    for (RawClient& client : all) {
        for (int i = 0; i < requests; ++i) {
            const RawAnswer answer = client.read_answer();
            if (answer.status == 201) {
                const json whole = answer.document();
                accepted.insert(text_of(*whole.find("Created"), "execution_id"));
                continue;
            }
            ++refused;
            ASSERT_EQ(answer.status, 503) << answer.body;
            EXPECT_EQ(answer.member("code"), "overloaded");
            EXPECT_EQ(answer.member("kind"), "unavailable");
            EXPECT_EQ(answer.member("retryable"), "true");
            EXPECT_EQ(answer.header("Retry-After"), "1");
            EXPECT_FALSE(answer.header("Connection")) << "the client may stay";
        }
    }
    EXPECT_GT(refused, 0U) << "it was no overload";
    EXPECT_GT(accepted.size(), 0U);
    EXPECT_EQ(stored_ids(server_.engine()), accepted) << "no more and no less than was said";
    // When it is over, it is over.
    for (RawClient& client : all) {
        EXPECT_EQ(client.ask(create_request()).status, 201);
    }
}

TEST_F(Overload, ReadsAndHealthAreAnsweredMeanwhile) {
    std::string crowd;
    for (int i = 0; i < 40; ++i) {
        crowd += create_request();
    }
    std::vector<RawClient> all;
    for (int i = 0; i < 40; ++i) {
        all.push_back(server_.connect());
        ASSERT_TRUE(all.back().send(crowd));
    }
    RawClient watcher = server_.connect();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(watcher.ask(health).status, 200);
        EXPECT_EQ(watcher.ask(request_text("GET", "/v1/executions?partition=0")).status, 200);
    }
    for (RawClient& client : all) {
        EXPECT_NE(client.read_answer().status, 0);
    }
}

TEST(StuckClients, AreInNobodysWay) {
    TestOptions options;
    options.server.threads = 1;
    TestServer server(std::move(options));
    std::vector<RawClient> stuck;
    const std::string large = request_text("POST", "/v1/echo", std::string(60'000, 'x'));
    for (int i = 0; i < 40; ++i) {
        stuck.push_back(server.connect());
        stuck.back().send("GET /healthz HT");
        stuck.push_back(server.connect());
        stuck.back().send(request_text("POST", "/v1/echo", {}, {"Content-Length: 60000"}) + "abc");
        stuck.push_back(server.connect());
        stuck.back().send(json_request("POST", "/v1/workers/w/poll", poll_body(30'000, "none")));
        stuck.push_back(RawClient::with_small_buffer(server.port()));
        for (int k = 0; k < 4; ++k) {
            stuck.back().send(large);  // and reads none of the answers
        }
    }
    RawClient client = server.connect();
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(client.ask(health).status, 200);
    }
    EXPECT_EQ(client.ask(create_request()).status, 201);
}

/// A body in chunks that is longer than any may be.
std::string endless_chunks(std::size_t bytes) {
    std::string out =
        request_text("POST", "/v1/executions", {},
                     {"Content-Type: application/json", "Transfer-Encoding: chunked"});
    const std::string chunk = "8000\r\n" + std::string(0x8000, ' ') + "\r\n";
    while (out.size() < bytes) {
        out += chunk;
    }
    return out;
}

TEST(Memory, DoesNotGrowWithBodiesThatAreRefused) {
    TestServer server;
    const std::string chunks = endless_chunks(1'500'000);
    const std::string not_json(1'048'576, '[');
    const auto round = [&] {
        EXPECT_EQ(server.ask(chunks).status, 413);
        EXPECT_EQ(server.post("/v1/executions", not_json).status, 400);
        RawClient half_open = server.connect();
        half_open.send(json_request("POST", "/v1/executions", not_json).substr(0, 900'000));
        half_open.reset();
    };
    for (int i = 0; i < 20; ++i) {
        round();
    }
    const std::size_t before = resident_kib();
    for (int i = 0; i < 80; ++i) {
        round();
    }
    EXPECT_TRUE(
        eventually("all connections are gone", [&] { return server.server().connections() == 0; }));
    if (memory_is_measurable) {
        EXPECT_LT(resident_kib(), before + 16'384) << "KiB before: " << before;
    }
    EXPECT_EQ(server.get("/v1/executions?partition=0").body,
              R"({"executions":[],"next_cursor":null})");
}

TEST(Memory, OfOneConnectionIsBoundedWhateverItSendsAhead) {
    TestServer server;
    RawClient poll = server.connect();
    ASSERT_TRUE(poll.send(json_request("POST", "/v1/workers/w/poll", poll_body(30'000, "none"))));
    ASSERT_TRUE(
        eventually("it waits", [&] { return server.engine().stats().waiting_claims == 1; }));
    const std::size_t before = resident_kib();
    // Behind a poll that waits nothing is taken but what fits; the rest stays in the network.
    const std::string crowd = request_text("POST", "/v1/echo", std::string(60'000, 'x'));
    std::size_t sent = 0;
    while (sent < 64'000'000 && poll.sends_within(crowd, std::chrono::milliseconds(200))) {
        sent += crowd.size();
    }
    EXPECT_LT(sent, 64'000'000U) << "the server went on reading";
    if (memory_is_measurable) {
        EXPECT_LT(resident_kib(), before + 16'384) << "KiB before: " << before;
    }
    EXPECT_EQ(server.ask(health).status, 200);
}

}  // namespace
}  // namespace ff::http::test
