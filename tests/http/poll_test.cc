// Long polls: who waits, who is handed work, and what becomes of work for somebody who has gone.
// The clock of the store stands still, so nothing here comes about because time has passed.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "http/connection.h"
#include "http/scripted_engine.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

std::string poll_request(std::string_view worker = "w1", std::int64_t block_ms = 30'000) {
    return json_request("POST", "/v1/workers/" + std::string(worker) + "/poll",
                        poll_body(block_ms));
}

/// Waits until so many polls are parked in the engine.
bool parked(TestServer& server, std::uint64_t polls) {
    return eventually("polls are parked",
                      [&] { return server.engine().stats().waiting_claims == polls; });
}

/// The one task of an answer.
json task_of(const RawAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json whole = answer.document();
    const json* tasks = whole.find("tasks");
    return tasks != nullptr && tasks->if_array()->size() == 1 ? tasks->if_array()->at(0) : json();
}

TEST(Poll, IsAnsweredByTheCreateItWaitsFor) {
    for (const std::size_t threads : {1U, 2U}) {
        TestOptions options;
        options.server.threads = threads;
        TestServer server(std::move(options));
        RawClient first = server.connect();
        RawClient second = server.connect();
        ASSERT_TRUE(first.send(poll_request("w1")) && second.send(poll_request("w2")));
        ASSERT_TRUE(parked(server, 2));
        const std::string a = server.create();
        const std::string b = server.create();
        const std::string x = text_of(task_of(first.read_answer()), "execution_id");
        const std::string y = text_of(task_of(second.read_answer()), "execution_id");
        EXPECT_EQ((std::set{x, y}), (std::set{a, b}));
        EXPECT_EQ(server.server().service().polls().taken(), 0U);
    }
}

TEST(Poll, EndsWithNothingWhenItsTimeIsOver) {
    TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(poll_request("w1", 30'000)));
    ASSERT_TRUE(parked(server, 1));
    server.clock().advance(29'999);
    EXPECT_FALSE(client.hears_within(std::chrono::milliseconds(100)));
    server.clock().advance(1);
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(client.ask(poll_request("w1", 0)).status, 204) << "the connection goes on";
}

TEST(Poll, AClientThatGoesFreesItsPlaceAndGetsNothing) {
    for (const bool politely : {true, false}) {
        TestServer server;
        RawClient gone = server.connect();
        ASSERT_TRUE(gone.send(poll_request("gone")));
        ASSERT_TRUE(parked(server, 1));
        politely ? gone.close() : gone.reset();
        ASSERT_TRUE(parked(server, 0));
        EXPECT_TRUE(eventually("its permit is free",
                               [&] { return server.server().service().polls().taken() == 0; }));
        const std::string id = server.create();
        RawClient next = server.connect();
        ASSERT_TRUE(next.send(poll_request("next")));
        const json task = task_of(next.read_answer());
        EXPECT_EQ(text_of(task, "execution_id"), id);
        EXPECT_EQ(text_of(task, "lease_epoch"), "1") << "nobody had it before";
        EXPECT_EQ(text_of(task, "attempt_index"), "0");
    }
}

TEST(Poll, AClientThatSendsNoMoreHasGoneToo) {
    TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(poll_request()));
    ASSERT_TRUE(parked(server, 1));
    client.finish_sending();
    ASSERT_TRUE(parked(server, 0));
    EXPECT_TRUE(client.is_closed_by_server());
}

TEST(Poll, WorkForSomebodyWhoHasGoneIsGivenBack) {
    auto engine = std::make_shared<ScriptedEngine>();
    TestOptions options;
    options.engine = engine;
    TestServer server(std::move(options));
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(poll_request()));
    ScriptedEngine::Call claim = engine->next();
    const std::stop_token abandoned = ff::get<Claim>(claim.request).abandoned;
    EXPECT_FALSE(abandoned.stop_requested());
    client.reset();
    ASSERT_TRUE(eventually("the engine is told", [&] { return abandoned.stop_requested(); }));
    // Too late: the lease had been made when the word came.
    ClaimedTask task;
    task.handle.lane_id = "default";
    task.handle.lease_epoch = 7;
    claim.done(Reply(ClaimResult{{task}}));
    ScriptedEngine::Call release = engine->next();
    const auto* released = ff::get_if<Release>(&release.request);
    ASSERT_NE(released, nullptr);
    EXPECT_EQ(released->lease.lease_epoch, 7U);
    // The server goes only when the engine has answered that too.
    std::atomic<bool> destroyed = false;
    std::thread ending([&] {
        server.destroy();
        destroyed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(destroyed);
    release.done(ff::fail(ErrorCode::store_io, "disk"));
    ending.join();
}

TEST(Poll, WorkWhoseAnswerCouldNotBeSentIsGivenBack) {
    auto engine = std::make_shared<ScriptedEngine>();
    TestOptions options;
    options.engine = engine;
    const TestServer server(std::move(options));
    RawClient client = RawClient::with_small_buffer(server.port());
    ASSERT_TRUE(client.send(poll_request()));
    ScriptedEngine::Call claim = engine->next();
    ClaimedTask task;
    task.handle.lane_id = "default";
    task.handle.lease_epoch = 7;
    task.input_payload = std::string(20'000'000, 'x');  // more than all buffers on the way take
    claim.done(Reply(ClaimResult{{task}}));
    ASSERT_TRUE(client.hears_within(patience)) << "the answer is under way";
    client.reset();
    ScriptedEngine::Call release = engine->next();
    const auto* released = ff::get_if<Release>(&release.request);
    ASSERT_NE(released, nullptr);
    EXPECT_EQ(released->lease.lease_epoch, 7U);
    release.done(Reply(std::in_place_type<StateResult>));
}

TEST(Poll, WorkThatTheNetworkHasTakenIsKeptWhenTheServerStopsBeforeItHearsOfThat) {
    auto engine = std::make_shared<ScriptedEngine>();
    ServiceOptions options;
    options.gate.allow_insecure = true;
    Service service(engine, options);
    Loop loop({});
    net::Listener listener(loop.events());
    ASSERT_TRUE(listener.listen("127.0.0.1", 0));
    std::promise<void> ended;
    listener.accept(loop.events(), nullptr, [&](const auto&, std::unique_ptr<net::Stream> stream) {
        serve_connection(std::move(stream), service, loop, [&] { ended.set_value(); });
    });
    loop.start();
    RawClient client(listener.port());
    ASSERT_TRUE(client.send(poll_request()));
    ScriptedEngine::Call claim = engine->next();
    // While the loop is busy with something else, its next two things come: the answer, which is
    // small and sent at once, and the end, before the loop is told that it was sent.
    std::promise<void> busy;
    loop.post([&] { busy.get_future().wait(); });
    ClaimedTask task;
    task.handle.lane_id = "default";
    task.handle.lease_epoch = 7;
    claim.done(Reply(ClaimResult{{task}}));
    loop.post([&] {
        for (Session* session : loop.sessions()) {
            session->abort();
        }
    });
    busy.set_value();
    EXPECT_EQ(client.read_answer().status, 200);
    ended.get_future().wait();
    EXPECT_EQ(engine->waiting(), 0U) << "nothing is given back";
    engine->answer_all(
        ff::fail(ErrorCode::store_io, "disk"));  // else the service would wait for it
}

TEST(Poll, WorkThatWasHandedOverIsKept) {
    TestServer server;
    const std::string id = server.create();
    {
        RawClient client = server.connect();
        EXPECT_EQ(text_of(task_of(client.ask(poll_request("w1", 0))), "execution_id"), id);
        client.close();
    }
    ASSERT_TRUE(eventually("it has gone", [&] { return server.server().connections() == 0; }));
    EXPECT_TRUE(server.claim("w2").is_null()) << "it is the first one's";
}

TEST(Poll, SomeConnectionsAreKeptForWhatIsNoPoll) {
    TestOptions options;
    options.server.connections_max = 4;
    TestServer server(std::move(options));
    std::vector<RawClient> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(server.connect());
        ASSERT_TRUE(clients.back().send(poll_request("w" + std::to_string(i))));
    }
    ASSERT_TRUE(parked(server, 3));
    RawClient last = server.connect();
    EXPECT_EQ(last.ask(poll_request("w3")).status, 429);
    EXPECT_EQ(last.ask(request_text("GET", "/healthz")).status, 200);
}

TEST(Poll, TheNextWorkerGoesOnWithWhatWasGivenBack) {
    TestServer server;
    // What the server does for a client that has gone, seen from the store.
    const std::string id = server.create();
    const json task = server.claim("gone");
    const RawAnswer released = server.post("/v1/executions/" + id + "/attempts/0/release",
                                           R"({"handle":")" + text_of(task, "handle") + "\"}");
    EXPECT_EQ(released.status, 200);
    const json again = server.claim("next");
    EXPECT_EQ(text_of(again, "execution_id"), id);
    EXPECT_EQ(text_of(again, "resumed"), "true");
    EXPECT_EQ(text_of(again, "attempt_index"), "0");
}

TEST(Poll, MoreThanThereIsRoomForAreTurnedAwayAtOnce) {
    TestOptions options;
    options.service.polls_max = 2;
    TestServer server(std::move(options));
    RawClient first = server.connect();
    RawClient second = server.connect();
    ASSERT_TRUE(first.send(poll_request("w1")) && second.send(poll_request("w2")));
    ASSERT_TRUE(parked(server, 2));
    RawClient third = server.connect();
    const RawAnswer refused = third.ask(poll_request("w3"));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.member("error"),
              "too many concurrent poll calls (server max: 2); retry with backoff");
    EXPECT_EQ(refused.member("kind"), "resource_exhausted");
    EXPECT_EQ(refused.member("retryable"), "true");
    first.close();
    ASSERT_TRUE(parked(server, 1));
    ASSERT_TRUE(third.send(poll_request("w3")));
    EXPECT_TRUE(parked(server, 2)) << "the place of one who went is free";
    (void)server.create();
    (void)server.create();
    EXPECT_EQ(second.read_answer().status, 200);
    EXPECT_EQ(third.read_answer().status, 200);
}

TEST(Poll, HundredsOfWaitingWorkersShareWhatComes) {
    TestOptions options;
    options.server.threads = 2;
    TestServer server(std::move(options));
    constexpr std::size_t workers = 200;
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < workers; ++i) {
        clients.push_back(server.connect());
        ASSERT_TRUE(clients.back().send(poll_request("w" + std::to_string(i))));
    }
    ASSERT_TRUE(parked(server, workers));
    for (std::size_t i = 0; i < workers; i += 2) {
        clients[i].reset();
    }
    ASSERT_TRUE(parked(server, workers / 2));
    std::set<std::string> made;
    for (std::size_t i = 0; i < workers / 2; ++i) {
        made.insert(server.create());
    }
    std::set<std::string> taken;
    for (std::size_t i = 1; i < workers; i += 2) {
        taken.insert(text_of(task_of(clients[i].read_answer()), "execution_id"));
    }
    EXPECT_EQ(taken, made) << "each got one, and nobody who had gone got any";
}

TEST(Poll, ARequestBehindAPollWaitsForItsTurn) {
    TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(poll_request() + request_text("GET", "/healthz")));
    ASSERT_TRUE(parked(server, 1));
    EXPECT_FALSE(client.hears_within(std::chrono::milliseconds(50)));
    const std::string id = server.create();
    EXPECT_EQ(text_of(task_of(client.read_answer()), "execution_id"), id);
    EXPECT_EQ(client.read_answer().body, R"({"status":"ok"})");
}

}  // namespace
}  // namespace ff::http::test
