// The client against servers that answer in pieces, or leave when they should not.
#include <gtest/gtest.h>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "client/http_client.h"
#include "client/remote_engine.h"
#include "http/loopback_listener.h"
#include "http/raw_client.h"
#include "wire/answers.h"

namespace ff::http::test {
namespace {

/// The server's end of one connection. Whatever waits gives up when the test is over.
class Talk {
  public:
    Talk(int fd, const std::atomic<bool>& over) : fd_(fd), over_(over) {
        const int yes = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    }
    ~Talk() { close(fd_); }
    Talk(const Talk&) = delete;
    Talk& operator=(const Talk&) = delete;

    /// Reads the head of a request, and no more than a little of what follows; false when the
    /// client has gone.
    bool hear_head() {
        std::string input;
        while (!input.contains("\r\n\r\n")) {
            if (!hear_more(input)) {
                return false;
            }
        }
        return true;
    }
    /// Reads until the client sends no more.
    void hear_the_end() {
        for (std::string input; hear_more(input); input.clear()) {
        }
    }
    /// Sends no more.
    void finish() const { shutdown(fd_, SHUT_WR); }
    void say(std::string_view bytes) const {
        [[maybe_unused]] const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }

    static bool is_readable(int fd, const std::atomic<bool>& over) {
        while (!over) {
            pollfd one{fd, POLLIN, 0};
            if (poll(&one, 1, 20) > 0) {
                return true;
            }
        }
        return false;
    }

  private:
    bool hear_more(std::string& input) {
        std::array<char, 4'096> buffer{};
        const ssize_t size =
            is_readable(fd_, over_) ? recv(fd_, buffer.data(), buffer.size(), 0) : 0;
        input.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)));
        return size > 0;
    }

    const int fd_;
    const std::atomic<bool>& over_;
};

/// A server that does with each connection, one after another, what a test says: with those after
/// the last the same as with the last.
class Peer {
  public:
    using Act = std::function<void(Talk&)>;

    explicit Peer(std::vector<Act> acts) : acts_(std::move(acts)) {
        thread_ = std::thread([this] { run(); });
    }
    ~Peer() {
        over_ = true;
        thread_.join();
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] int connections() const { return connections_; }

  private:
    void run() {
        while (Talk::is_readable(listener_.fd(), over_)) {
            Talk talk(accept(listener_.fd(), nullptr, nullptr), over_);
            const auto which = static_cast<std::size_t>(connections_++);
            acts_[std::min(which, acts_.size() - 1)](talk);
        }
    }

    const std::vector<Act> acts_;
    const LoopbackListener listener_;
    std::atomic<bool> over_ = false;
    std::atomic<int> connections_ = 0;
    std::thread thread_;
};

constexpr std::string_view nothing_to_say = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

std::string answer_of(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class ClientOfAPeer : public ::testing::Test {
  protected:
    /// Answers every request, all without a body, with the same bytes.
    struct Manners {
        std::string answer;
        bool byte_by_byte = false;
        int answers_a_connection = 1'000;  ///< then it takes one more request and leaves
    };

    const Manners leaves_without_a_word{.answer = std::string(nothing_to_say),
                                        .answers_a_connection = 1};

    void meet(const Manners& manners, bool repeats = false,
              std::uint64_t answer_bytes_max = 1U << 20) {
        meet({[this, manners](Talk& talk) {
                 for (int i = 0; i < manners.answers_a_connection && talk.hear_head(); ++i) {
                     requests_ += 1;
                     answer(talk, manners);
                 }
                 talk.hear_head();
             }},
             repeats, answer_bytes_max);
    }
    void meet(std::vector<Peer::Act> acts, bool repeats = false,
              std::uint64_t answer_bytes_max = 1U << 20) {
        peer_ = std::make_unique<Peer>(std::move(acts));
        client::HttpClientOptions how;
        how.host = "127.0.0.1";
        how.port = peer_->port();
        how.repeats = repeats;
        how.answer_bytes_max = answer_bytes_max;
        auto made = client::HttpClient::make(how);
        ASSERT_TRUE(made.has_value());
        http_ = std::move(*made);
    }
    void TearDown() override { http_->stop(); }

    std::future<expected<wire::Received>> asking(wire::Method method, std::string body = {},
                                                 std::stop_token given_up = {}) {
        auto answer = std::make_shared<std::promise<expected<wire::Received>>>();
        http_->send({method, "/x", std::move(body)}, client::Answers::promptly, patience,
                    std::move(given_up), [answer](expected<wire::Received> received) {
                        answer->set_value(std::move(received));
                    });
        return answer->get_future();
    }
    expected<wire::Received> ask(wire::Method method = wire::Method::get, std::string body = {}) {
        return asking(method, std::move(body)).get();
    }

    std::atomic<int> requests_ = 0;  ///< that were answered
    std::promise<void> reached_;     ///< the point that a test waits for, by its peer
    std::promise<void> answered_;    ///< what a peer waits for
    std::unique_ptr<Peer> peer_;
    std::unique_ptr<client::HttpClient> http_;

  private:
    static void answer(const Talk& talk, const Manners& manners) {
        const std::string_view text = manners.answer;
        const std::size_t step = manners.byte_by_byte ? 1 : text.size();
        for (std::size_t at = 0; at < text.size(); at += step) {
            talk.say(text.substr(at, step));
            if (step == 1) {
                std::this_thread::yield();
            }
        }
    }
};

TEST_F(ClientOfAPeer, AnAnswerMayComeByteByByte) {
    const std::string body = "{\"a\":\"a text of some length\"}";
    meet({.answer = answer_of(body), .byte_by_byte = true});
    for (int i = 0; i < 3; ++i) {
        const auto received = ask();
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(received->status, 200);
        EXPECT_EQ(received->body, body);
    }
}

TEST_F(ClientOfAPeer, AnAnswerInChunksMayComeByteByByte) {
    meet({.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5\r\nhello\r\n10;x=y\r\n, world of bytes\r\n0\r\nTrailer: yes\r\n\r\n",
          .byte_by_byte = true});
    for (int i = 0; i < 3; ++i) {
        const auto received = ask();
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(received->body, "hello, world of bytes");
    }
}

TEST_F(ClientOfAPeer, AHeadWithoutEndIsRefused) {
    meet({.answer = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')});
    const auto received = ask();
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::store_io);
}

TEST_F(ClientOfAPeer, ALineBetweenChunksWithoutEndIsRefused) {
    meet({.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
                    std::string(100'000, 'x')});
    const auto received = ask();
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::store_io);
}

TEST_F(ClientOfAPeer, AnAnswerHasItsLimit) {
    meet({.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + std::string(2'000, 'x')},
         false, 1'000);
    const auto received = ask();
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code, ErrorCode::store_io);
}

TEST_F(ClientOfAPeer, AServerThatLeavesWithoutAWordIsAskedOnANewConnection) {
    meet(leaves_without_a_word, true);
    for (int i = 1; i <= 5; ++i) {
        const auto received = ask(wire::Method::post);
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(requests_, i);
    }
}

TEST_F(ClientOfAPeer, WhatOnlyLooksMayAlwaysGoTwice) {
    meet(leaves_without_a_word);
    for (int i = 1; i <= 5; ++i) {
        ASSERT_TRUE(ask());
    }
}

TEST_F(ClientOfAPeer, WhatMayNotBeDoneTwiceIsNotSentTwice) {
    meet(leaves_without_a_word);
    ASSERT_TRUE(ask(wire::Method::post));
    const auto second = ask(wire::Method::post);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::store_io);
    EXPECT_EQ(requests_, 1);
}

TEST_F(ClientOfAPeer, AServerThatNeverAnswersIsNotAskedForEver) {
    meet({[](Talk& talk) { talk.hear_head(); }}, true);
    EXPECT_FALSE(ask(wire::Method::post));
    EXPECT_EQ(peer_->connections(), 1) << "a new connection is no reason to try again";
}

// ------------------------------------------------------------------- answers that come too early

/// More than the network takes while nobody reads.
std::string large_body() { return std::string(32U << 20, 'x'); }

TEST_F(ClientOfAPeer, AConnectionIsNotUsedAgainWhileARequestIsStillBeingWritten) {
    meet({[](Talk& talk) {
              talk.hear_head();
              talk.say(nothing_to_say);  // and is glad to hear more over this connection
              talk.hear_the_end();
          },
          [](Talk& talk) {
              talk.hear_head();
              talk.say(answer_of("the second"));
              talk.hear_the_end();
          }});
    const auto first = ask(wire::Method::post, large_body());
    ASSERT_TRUE(first) << first.error().message();
    const auto second = ask(wire::Method::post);  // which would not go twice
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->body, "the second");
    EXPECT_EQ(peer_->connections(), 2);
}

TEST_F(ClientOfAPeer, AServerThatGoesWithoutHavingReadAllHasAnsweredFirst) {
    meet({[](Talk& talk) {
        talk.hear_head();
        talk.say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }});
    for (int i = 0; i < 5; ++i) {
        const auto received = ask(wire::Method::post, large_body());
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(received->status, 413);
    }
}

TEST_F(ClientOfAPeer, WhoGivesUpWhileItStillWritesHearsTheAnswerAllTheSame) {
    meet({[this](Talk& talk) {
        talk.hear_head();
        reached_.set_value();
        talk.hear_the_end();
        talk.say(answer_of("as far as it was heard"));
    }});
    std::stop_source leave;
    auto answer = asking(wire::Method::post, large_body(), leave.get_token());
    ASSERT_EQ(reached_.get_future().wait_for(patience), std::future_status::ready);
    leave.request_stop();
    const auto received = answer.get();
    ASSERT_TRUE(received) << received.error().message();
    EXPECT_EQ(received->body, "as far as it was heard");
}

// ---------------------------------------------------------------------- what is not the answer

TEST_F(ClientOfAPeer, AnInterimAnswerIsNotTheAnswer) {
    const std::string interim =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    for (const bool byte_by_byte : {false, true}) {
        meet({.answer = interim + answer_of("hello"), .byte_by_byte = byte_by_byte});
        for (int i = 0; i < 2; ++i) {
            const auto received = ask();
            ASSERT_TRUE(received) << received.error().message();
            EXPECT_EQ(received->status, 200);
            EXPECT_EQ(received->body, "hello");
        }
        EXPECT_EQ(peer_->connections(), 1) << "and the connection is good for more";
        http_->stop();
    }
}

TEST_F(ClientOfAPeer, TheAnswerBehindAnInterimOneHasItsLimit) {
    meet({.answer = "HTTP/1.1 100 Continue\r\n\r\n" + answer_of(std::string(2'000, 'x'))}, false,
         1'000);
    EXPECT_FALSE(ask());
}

TEST_F(ClientOfAPeer, AServerThatChangesWhatItSpeaksIsNotListenedTo) {
    meet({.answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"});
    for (int i = 1; i <= 3; ++i) {
        const auto received = ask();
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(received->status, 101);
        EXPECT_EQ(peer_->connections(), i);
    }
}

TEST_F(ClientOfAPeer, WhatComesWhileNothingIsAskedIsNoAnswer) {
    meet({[this](Talk& talk) {
              talk.hear_head();
              talk.say(nothing_to_say);
              answered_.get_future().wait();
              talk.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
              talk.hear_the_end();
              reached_.set_value();
          },
          [](Talk& talk) {
              talk.hear_head();
              talk.say(nothing_to_say);
              talk.hear_the_end();
          }});
    const auto first = ask(wire::Method::post);
    answered_.set_value();
    ASSERT_TRUE(first) << first.error().message();
    ASSERT_EQ(reached_.get_future().wait_for(patience), std::future_status::ready);
    const auto second = ask(wire::Method::post);
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->status, 200);
}

TEST_F(ClientOfAPeer, AConnectionThatTheServerEndedIsLetGoAtOnce) {
    meet({[this](Talk& talk) {
        talk.hear_head();
        talk.say(nothing_to_say);
        talk.finish();
        talk.hear_the_end();
        reached_.set_value();
    }});
    ASSERT_TRUE(ask(wire::Method::post));
    EXPECT_EQ(reached_.get_future().wait_for(patience), std::future_status::ready);
}

TEST_F(ClientOfAPeer, AnAnswerThatEndsWithItsConnectionEndsIt) {
    meet({[](Talk& talk) {
        talk.hear_head();
        talk.say("HTTP/1.1 200 OK\r\n\r\nhello");
    }});
    for (int i = 0; i < 20; ++i) {
        const auto received = ask(wire::Method::post);
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(received->body, "hello");
    }
}

// ------------------------------------------------------------------------- a create that got lost

/// Takes one create after it has said what it can do, and is gone without an answer.
class VanishingServer {
  public:
    VanishingServer() : listener_(std::in_place), port_(listener_->port()) {
        thread_ = std::thread([this] {
            if (!Talk::is_readable(listener_->fd(), over_)) {
                return;
            }
            Talk talk(accept(listener_->fd(), nullptr, nullptr), over_);
            talk.hear_head();
            talk.say(answer_of(wire::write_answer<ReadCapabilities>(Capabilities{}).body));
            talk.hear_head();
            listener_.reset();
        });
    }
    ~VanishingServer() {
        over_ = true;
        thread_.join();
    }
    VanishingServer(const VanishingServer&) = delete;
    VanishingServer& operator=(const VanishingServer&) = delete;

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  private:
    std::optional<LoopbackListener> listener_;
    const std::uint16_t port_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

TEST(ClientOfAVanishingServer, KnowsWhatMayHaveBeenCreatedAlsoWhenLaterTriesDoNotArrive) {
    const VanishingServer server;
    client::RemoteOptions options;
    options.retry_base = std::chrono::milliseconds(1);
    const auto engine = client::RemoteEngine::connect(server.url(), options);
    ASSERT_TRUE(engine) << engine.error().message();
    CreateExecution op;
    op.ns = "default";
    op.lane_id = "default";
    op.execution_kind = "k";
    const auto created = (*engine)->run(std::move(op));
    ASSERT_FALSE(created);
    EXPECT_TRUE(created.error().detail.contains("cannot connect")) << created.error().message();
    EXPECT_EQ(created.error().field("sent"), "maybe");
    EXPECT_TRUE(ExecutionId::parse(std::string(created.error().field("execution_id"))));
}

}  // namespace
}  // namespace ff::http::test
