// The client against servers that answer in pieces, or leave when they should not.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "client/http_client.h"
#include "http/loopback_listener.h"
#include "http/raw_client.h"

namespace ff::http::test {
namespace {

/// Answers every request with the same bytes.
class Peer {
  public:
    struct Manners {
        std::string answer;
        bool byte_by_byte = false;
        int answers_a_connection = 1'000;  ///< then it leaves, without having said so
    };

    explicit Peer(Manners manners) : manners_(std::move(manners)) {
        thread_ = std::thread([this] { run(); });
    }
    ~Peer() {
        stop_ = true;
        thread_.join();
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] int requests() const { return requests_; }

  private:
    bool readable(int fd) const {
        while (!stop_) {
            pollfd one{fd, POLLIN, 0};
            if (poll(&one, 1, 20) > 0) {
                return true;
            }
        }
        return false;
    }
    void run() {
        while (readable(listener_.fd())) {
            const int client = accept(listener_.fd(), nullptr, nullptr);
            const int yes = 1;
            setsockopt(client, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof(yes));
            for (int i = 0; i < manners_.answers_a_connection && serve(client); ++i) {
            }
            close(client);
        }
    }
    /// The requests of these tests have no body.
    bool serve(int client) {
        std::string input;
        while (!input.ends_with("\r\n\r\n")) {
            std::array<char, 4'096> buffer{};
            if (!readable(client)) {
                return false;
            }
            const ssize_t size = recv(client, buffer.data(), buffer.size(), 0);
            if (size <= 0) {
                return false;
            }
            input.append(buffer.data(), static_cast<std::size_t>(size));
        }
        requests_ += 1;
        const std::size_t step = manners_.byte_by_byte ? 1 : manners_.answer.size();
        for (std::size_t at = 0; at < manners_.answer.size(); at += step) {
            [[maybe_unused]] const auto sent =
                ::send(client, manners_.answer.data() + at, step, MSG_NOSIGNAL);
            if (step == 1) {
                std::this_thread::yield();
            }
        }
        return true;
    }

    const Manners manners_;
    const LoopbackListener listener_;
    std::atomic<bool> stop_ = false;
    std::atomic<int> requests_ = 0;
    std::thread thread_;
};

class ClientOfAPeer : public ::testing::Test {
  protected:
    void meet(Peer::Manners manners, bool repeats = false,
              std::uint64_t answer_bytes_max = 1U << 20) {
        peer_ = std::make_unique<Peer>(std::move(manners));
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

    expected<wire::Received> ask(wire::Method method = wire::Method::get) {
        std::promise<expected<wire::Received>> answer;
        auto coming = answer.get_future();
        http_->send({method, "/x", ""}, client::Answers::promptly, patience, {},
                    [&answer](expected<wire::Received> received) {
                        answer.set_value(std::move(received));
                    });
        return coming.get();
    }

    std::unique_ptr<Peer> peer_;
    std::unique_ptr<client::HttpClient> http_;
};

TEST_F(ClientOfAPeer, AnAnswerMayComeByteByByte) {
    const std::string body = "{\"a\":\"a text of some length\"}";
    meet({.answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body,
          .byte_by_byte = true});
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

const Peer::Manners leaves_without_a_word{.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                                          .answers_a_connection = 1};

TEST_F(ClientOfAPeer, AServerThatLeavesWithoutAWordIsAskedOnANewConnection) {
    meet(leaves_without_a_word, true);
    for (int i = 1; i <= 5; ++i) {
        const auto received = ask(wire::Method::post);
        ASSERT_TRUE(received) << received.error().message();
        EXPECT_EQ(peer_->requests(), i);
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
    EXPECT_EQ(peer_->requests(), 1);
}

TEST_F(ClientOfAPeer, AServerThatNeverAnswersIsNotAskedForEver) {
    meet({.answer = "", .answers_a_connection = 1}, true);
    EXPECT_FALSE(ask(wire::Method::post));
    EXPECT_EQ(peer_->requests(), 1) << "a new connection is no reason to try again";
}

}  // namespace
}  // namespace ff::http::test
