// The client's connections: how many there are, who waits for one, and who does not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>

#include "client/http_client.h"
#include "client/remote_engine.h"
#include "client/remote_ids.h"
#include "http/scripted_engine.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

using client::Answers;
using client::HttpClient;

std::unique_ptr<TestServer> serve(const std::shared_ptr<ScriptedEngine>& scripted) {
    TestOptions options;
    options.engine = scripted;
    return std::make_unique<TestServer>(std::move(options));
}

/// Answers what a client asks first.
auto connect_to(const TestServer& server, ScriptedEngine& scripted) {
    auto connecting = std::async(std::launch::async, [&server] {
        return client::RemoteEngine::connect("http://127.0.0.1:" + std::to_string(server.port()),
                                             client::RemoteOptions{});
    });
    scripted.next().done(Reply(Capabilities{}));
    return connecting.get();
}

class ClientPool : public ::testing::Test {
  protected:
    ClientPool() {
        TestOptions options;
        options.engine = engine_;
        server_ = std::make_unique<TestServer>(std::move(options));
        client::HttpClientOptions how;
        how.host = "127.0.0.1";
        how.port = server_->port();
        how.connections_max = 2;
        auto made = HttpClient::make(how);
        EXPECT_TRUE(made.has_value());
        http_ = std::move(*made);
    }
    ~ClientPool() override {
        // A server that stops waits for what its engine still owes.
        engine_->answer_all(ff::fail(ErrorCode::store_io, "over"));
        http_->stop();
    }

    void ask(Answers answers = Answers::promptly,
             std::chrono::milliseconds timeout = std::chrono::minutes(5)) {
        http_->send({wire::Method::get, "/v1/lanes", ""}, answers, timeout, {},
                    [this](expected<wire::Received> received) {
                        answered_ += received ? 1 : 0;
                        late_ += !received && received.error().code == ErrorCode::timeout ? 1 : 0;
                    });
    }

    std::shared_ptr<ScriptedEngine> engine_ = std::make_shared<ScriptedEngine>();
    std::unique_ptr<TestServer> server_;
    std::unique_ptr<HttpClient> http_;
    std::atomic<int> answered_{0};
    std::atomic<int> late_{0};
};

TEST_F(ClientPool, MoreRequestsThanConnectionsWaitForTheirTurn) {
    for (int i = 0; i < 7; ++i) {
        ask();
    }
    for (int i = 0; i < 7; ++i) {
        auto call = engine_->next();
        EXPECT_LE(server_->server().connections(), 2U);
        call.done(ff::fail(ErrorCode::store_io, "an answer like any other"));
    }
    EXPECT_TRUE(eventually("all are answered", [&] { return answered_ == 7; }));
}

/// The sockets of this process with a port at either end.
std::vector<int> sockets_of(std::uint16_t port) {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename());
        for (const auto name : {&getsockname, &getpeername}) {
            sockaddr_in address{};
            socklen_t size = sizeof(address);
            if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
                found.push_back(fd);
            }
        }
    }
    return found;
}

TEST_F(ClientPool, ProgramsThatAreStartedInheritNoSocket) {
    ask();
    ASSERT_TRUE(eventually("it is asked", [&] { return engine_->waiting() == 1; }));
    const std::vector<int> sockets = sockets_of(server_->port());
    EXPECT_EQ(sockets.size(), 3U) << "that which listens, and both ends of a connection";
    for (const int fd : sockets) {
        EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << fd;
    }
}

TEST_F(ClientPool, APollTakesNobodysPlace) {
    for (int i = 0; i < 3; ++i) {
        ask(Answers::when_it_likes);
    }
    ASSERT_TRUE(eventually("the polls are there", [&] { return engine_->waiting() == 3; }));
    ask();
    ask();
    EXPECT_TRUE(eventually("so are the others", [&] { return engine_->waiting() == 5; }));
}

TEST_F(ClientPool, WhatWaitsForItsTurnHasItsTimeLimit) {
    ask();
    ask();
    ASSERT_TRUE(eventually("all places are taken", [&] { return engine_->waiting() == 2; }));
    ask(Answers::promptly, std::chrono::milliseconds(10));
    EXPECT_TRUE(eventually("it hears that", [&] { return late_ == 1; }));
    EXPECT_EQ(engine_->waiting(), 2U) << "it was never sent";
}

TEST_F(ClientPool, TheShortTimeLimitOfWhoCameLaterIsKept) {
    ask();
    ask();
    ASSERT_TRUE(eventually("all places are taken", [&] { return engine_->waiting() == 2; }));
    ask();
    ask(Answers::promptly, std::chrono::milliseconds(10));
    EXPECT_TRUE(eventually("it hears that", [&] { return late_ == 1; }));
    EXPECT_EQ(engine_->waiting(), 2U) << "and the other one still waits";
}

TEST(RemoteMany, ReleasesGoSideBySide) {
    auto scripted = std::make_shared<ScriptedEngine>();
    const auto server = serve(scripted);
    const auto engine = connect_to(*server, *scripted);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    std::vector<Request> releases;
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
        Handle handle;
        handle.lane_id = "default";
        handle.lease_epoch = epoch;
        releases.emplace_back(Release{handle});
    }
    std::promise<std::size_t> answered;
    (*engine)->call_many(std::move(releases), [&](std::vector<Response> responses) {
        answered.set_value(static_cast<std::size_t>(std::ranges::count_if(
            responses, [](const Response& response) { return response.has_value(); })));
    });
    ASSERT_TRUE(eventually("all have been sent", [&] { return scripted->waiting() == 3; }));
    for (int i = 0; i < 3; ++i) {
        scripted->next().done(Reply(std::in_place_type<StateResult>));
    }
    EXPECT_EQ(answered.get_future().get(), 3U);
}

TEST(Repeating, ARevocationIsOnlyRepeatedWhenItNamesTheLease) {
    RevokeLease revoke;
    EXPECT_FALSE(client::may_repeat(revoke)) << "the next worker's lease would go too";
    revoke.expected_lease_id = LeaseId{};
    EXPECT_TRUE(client::may_repeat(revoke));
}

TEST(Repeating, AResetIsNotRepeated) {
    EXPECT_FALSE(client::may_repeat(ResetBudget{})) << "what was used since would be forgotten";
}

TEST(Repeating, AnAnswerThatAsksForItIsRepeatedWhateverItsStatus) {
    auto scripted = std::make_shared<ScriptedEngine>();
    const auto server = serve(scripted);
    const auto engine = connect_to(*server, *scripted);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    auto lanes = std::async(std::launch::async, [&] { return (*engine)->run(ListLanes{}); });
    scripted->next().done(ff::fail(ErrorCode::store_io, "disk"));  // 500, retryable
    scripted->next().done(Reply(LanePage{}));
    EXPECT_TRUE(lanes.get().has_value());
    auto budget = std::async(std::launch::async, [&] { return (*engine)->run(ListLanes{}); });
    scripted->next().done(ff::fail(ErrorCode::internal, "oh"));  // 500 too, and not retryable
    EXPECT_FALSE(budget.get().has_value());
    auto reset = std::async(std::launch::async, [&] { return (*engine)->run(ResetBudget{}); });
    scripted->next().done(ff::fail(ErrorCode::store_io, "disk"));
    EXPECT_EQ(reset.get().error().code, ErrorCode::store_io);
    EXPECT_EQ(scripted->waiting(), 0U);
}

TEST(Repeating, ARotationHasMoreTimeThanOtherCalls) {
    auto scripted = std::make_shared<ScriptedEngine>();
    const auto server = serve(scripted);
    auto connecting = std::async(std::launch::async, [&server] {
        client::RemoteOptions options;
        options.request_timeout = std::chrono::milliseconds(300);
        options.tries = 1;
        return client::RemoteEngine::connect("http://127.0.0.1:" + std::to_string(server->port()),
                                             options);
    });
    scripted->next().done(Reply(Capabilities{}));
    const auto engine = connecting.get();
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    auto rotation = std::async(std::launch::async, [&] {
        return (*engine)->run(RotateWaitpointKey{"k2", std::string(64, 'a'), {}});
    });
    auto rotating = scripted->next();
    auto lanes = std::async(std::launch::async, [&] { return (*engine)->run(ListLanes{}); });
    auto listing = scripted->next();
    EXPECT_EQ(lanes.get().error().code, ErrorCode::timeout) << "the usual time is over";
    rotating.done(Reply(RotateKeyResult{}));
    EXPECT_TRUE(rotation.get().has_value());
    listing.done(Reply(LanePage{}));
}

TEST(Repeating, FramesAreOnlyRepeatedWhenTheyAreNumbered) {
    AppendFrames append;
    append.lease = Handle{};
    append.frames.resize(2);
    append.frames[0].client_seq = 1;
    EXPECT_FALSE(client::may_repeat(append)) << "the second would be written twice";
    append.frames[1].client_seq = 2;
    EXPECT_TRUE(client::may_repeat(append));
}

TEST(RemoteIds, TheSecretOfAWebhookSurvivesALostAnswer) {
    Request request(CreateWebhook{});
    const client::MintedIds minted = client::mint_ids(request);
    const auto& sent = ff::get<CreateWebhook>(request);
    ASSERT_TRUE(sent.webhook_id);
    EXPECT_EQ(sent.secret_hex.size(), 64U);
    // The first answer was lost; the second says that it is there, and nothing of a secret.
    const Response answer =
        client::settle(minted, Reply(CreateWebhookResult{false, *sent.webhook_id, ""}));
    const auto& made = ff::get<CreateWebhookResult>(*answer);
    EXPECT_TRUE(made.created);
    EXPECT_EQ(made.secret_hex, sent.secret_hex);
}

TEST(RemoteIds, AWebhookThatSomebodyElseMadeKeepsItsSecret) {
    CreateWebhook op;
    op.webhook_id = WebhookId{new_uuid()};
    Request request(op);
    const client::MintedIds minted = client::mint_ids(request);
    const Response answer =
        client::settle(minted, Reply(CreateWebhookResult{false, *op.webhook_id, ""}));
    const auto& made = ff::get<CreateWebhookResult>(*answer);
    EXPECT_FALSE(made.created);
    EXPECT_EQ(made.secret_hex, "");
}

TEST(RemoteSubscription, GoesOnWhenAServerStops) {
    auto scripted = std::make_shared<ScriptedEngine>();
    const auto server = serve(scripted);
    const auto engine = connect_to(*server, *scripted);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    EventPage nothing;
    nothing.next_cursor = EventCursor::at(BackendTag::sqlite, 7);
    nothing.at_end = true;
    auto subscribing = std::async(std::launch::async,
                                  [&] { return (*engine)->subscribe(EventFamily::completion); });
    scripted->next().done(Reply(nothing));
    const auto subscription = subscribing.get();
    ASSERT_TRUE(subscription.has_value()) << subscription.error().message();
    const auto next = [&] {
        return std::async(std::launch::async,
                          [&] { return (*subscription)->next(std::chrono::milliseconds::max()); });
    };
    auto item = next();
    scripted->next().done(ff::fail(ErrorCode::shutting_down, "the server stops"));
    const auto told = item.get();
    ASSERT_TRUE(std::holds_alternative<SubscriptionDisconnected>(told));
    EXPECT_EQ(std::get<SubscriptionDisconnected>(told).cursor, nothing.next_cursor);
    item = next();
    EventPage page = nothing;
    page.events.emplace_back();
    page.events[0].cursor = page.next_cursor = EventCursor::at(BackendTag::sqlite, 8);
    scripted->next().done(Reply(page));
    EXPECT_TRUE(std::holds_alternative<Event>(item.get())) << "and it is there again";
    item = next();
    scripted->next().done(ff::fail(ErrorCode::invalid_input, "invalid event cursor"));
    const auto why = item.get();
    ASSERT_TRUE(std::holds_alternative<SubscriptionDisconnected>(why)) << "not without a word";
    EXPECT_EQ(std::get<SubscriptionDisconnected>(why).error.code, ErrorCode::invalid_input);
    EXPECT_TRUE(std::holds_alternative<SubscriptionEnd>(next().get()));
    (*subscription)->close();
}

TEST(RemoteTail, EndsWhenItsReaderHasGone) {
    auto scripted = std::make_shared<ScriptedEngine>();
    const auto server = serve(scripted);
    const auto engine = connect_to(*server, *scripted);
    ASSERT_TRUE(engine.has_value()) << engine.error().message();
    std::stop_source reader;
    TailStream tail;
    tail.block_ms = stream_block_ms_max;
    tail.abandoned = reader.get_token();
    auto waiting = std::async(std::launch::async, [&] { return (*engine)->run(tail); });
    auto asked = scripted->next();
    const auto& seen = ff::get<TailStream>(asked.request);
    EXPECT_EQ(seen.block_ms, stream_block_ms_max);
    std::promise<void> gone;
    const std::stop_callback told(seen.abandoned, [&] { gone.set_value(); });
    reader.request_stop();
    gone.get_future().wait();
    asked.done(Reply(StreamPage{}));
    const auto page = waiting.get();
    ASSERT_TRUE(page.has_value()) << page.error().message();
    EXPECT_TRUE(page->frames.empty());
}

}  // namespace
}  // namespace ff::http::test
