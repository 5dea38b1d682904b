// Webhooks as their receiver sees them: what is posted, how it is signed, what a failure does.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <thread>

#include <ff/clock.h>
#include <ff/engine.h>

#include "client/webhook_sender.h"
#include "http/loopback_listener.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// Takes requests, one a connection, and answers with the status it was told.
class Receiver {
  public:
    struct Delivery {
        std::string head;
        std::string body;

        [[nodiscard]] std::string field(const std::string& name) const {
            const std::size_t at = head.find("\r\n" + name + ": ");
            if (at == std::string::npos) {
                return {};
            }
            const std::size_t begin = at + name.size() + 4;
            return head.substr(begin, head.find("\r\n", begin) - begin);
        }
        [[nodiscard]] std::vector<json> events() const {
            const auto parsed = js::parse(body);
            EXPECT_TRUE(parsed) << body;
            const json* list = parsed ? parsed->find("events") : nullptr;
            return list != nullptr ? *list->if_array() : js::Array();
        }
    };

    Receiver() {
        thread_ = std::thread([this] { run(); });
    }
    ~Receiver() {
        stop_ = true;
        thread_.join();
    }
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    [[nodiscard]] std::string url(const std::string& path = "/hook") const {
        return "http://127.0.0.1:" + std::to_string(listener_.port()) + path;
    }
    void answer_with(int status) { status_ = status; }
    /// Leaves after each answer without having said that it would.
    void leave_silently() { says_goodbye_ = false; }
    /// The next delivery, which must come.
    Delivery next() {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(arrived_.wait_for(lock, patience, [this] { return !deliveries_.empty(); }));
        if (deliveries_.empty()) {
            return {};
        }
        Delivery out = std::move(deliveries_.front());
        deliveries_.pop_front();
        return out;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    void run() {
        while (!stop_) {
            pollfd one{listener_.fd(), POLLIN, 0};
            if (poll(&one, 1, 20) > 0) {
                const int client = accept(listener_.fd(), nullptr, nullptr);
                serve(client);
                close(client);
            }
        }
    }
    void serve(int client) {
        std::string input;
        std::array<char, 4'096> buffer{};
        std::size_t head_end = std::string::npos;
        std::size_t wanted = 0;
        while (head_end == std::string::npos || input.size() < wanted) {
            const ssize_t size = recv(client, buffer.data(), buffer.size(), 0);
            if (size <= 0) {
                return;
            }
            input.append(buffer.data(), static_cast<std::size_t>(size));
            if (head_end == std::string::npos &&
                (head_end = input.find("\r\n\r\n")) != std::string::npos) {
                const Delivery head{input.substr(0, head_end + 2), {}};
                wanted = head_end + 4 + std::stoul("0" + head.field("Content-Length"));
            }
        }
        {
            std::lock_guard lock(mutex_);
            deliveries_.push_back({input.substr(0, head_end + 2), input.substr(head_end + 4)});
            count_ += 1;
        }
        arrived_.notify_all();
        const std::string answer = "HTTP/1.1 " + std::to_string(status_) +
                                   " X\r\nContent-Length: 0\r\n" +
                                   (says_goodbye_ ? "Connection: close\r\n\r\n" : "\r\n");
        [[maybe_unused]] const auto sent =
            ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }

    const LoopbackListener listener_;
    std::atomic<bool> stop_ = false;
    std::atomic<int> status_ = 200;
    std::atomic<bool> says_goodbye_ = true;
    std::atomic<std::size_t> count_ = 0;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Delivery> deliveries_;  // guarded by mutex_
    std::thread thread_;
};

class Webhooks : public testing::Test {
  protected:
    void SetUp() override { open({}); }
    void open(EngineOptions options) {
        options.clock = clock_;
        auto engine = Engine::open("memory:", options);
        ASSERT_TRUE(engine) << engine.error().message();
        engine_ = *engine;
    }
    void TearDown() override { sender_.reset(); }

    void start_sending(const std::string& allow = "127.0.0.1",
                       std::chrono::milliseconds client_idle = std::chrono::seconds(5)) {
        client::WebhookSenderOptions options;
        options.addresses = *net::AddressRules::parse(allow);
        options.holder = "test";
        options.look_every = std::chrono::milliseconds(5);
        options.client_idle = client_idle;
        options.wait_ms = 1'000;
        sender_ = std::make_unique<client::WebhookSender>(engine_, options);
    }
    WebhookId create(const std::string& url, EventFilter filter = {}) {
        CreateWebhook op;
        op.url = url;
        op.family = EventFamily::instance_tags;
        op.filter = std::move(filter);
        op.secret_hex = std::string(64, 'a');
        const auto made = engine_->run(op);
        EXPECT_TRUE(made) << made.error().message();
        return made ? made->webhook_id : WebhookId{};
    }
    WebhookInfo look(const WebhookId& id) { return **engine_->run(DescribeWebhook{id}); }

    /// Something that is told.
    void tell(const std::string& value) {
        CreateExecution op;
        op.ns = "acme";
        op.lane_id = "default";
        op.execution_kind = "x";
        op.tags["turn.n"] = value;
        EXPECT_TRUE(engine_->run(op));
    }

    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(1'700'000'000'000);
    Receiver receiver_;
    std::shared_ptr<Engine> engine_;
    std::unique_ptr<client::WebhookSender> sender_;
};

TEST_F(Webhooks, EventsArriveSignedAndInOrder) {
    const WebhookId id = create(receiver_.url("/hook?x=1"));
    start_sending();
    std::vector<std::string> seen;
    for (int i = 0; i < 5; ++i) {
        tell(std::to_string(i));
    }
    while (seen.size() < 5) {
        const Receiver::Delivery delivery = receiver_.next();
        ASSERT_FALSE(delivery.head.empty());
        EXPECT_TRUE(delivery.head.starts_with("POST /hook?x=1 HTTP/1.1")) << delivery.head;
        EXPECT_EQ(delivery.field("FF-Webhook-Id"), id.to_string());
        const std::string timestamp = delivery.field("FF-Webhook-Timestamp");
        EXPECT_EQ(delivery.field("FF-Webhook-Signature"),
                  client::webhook_signature(std::string(32, '\xaa'), std::stoll(timestamp),
                                            delivery.body));
        for (const json& event : delivery.events()) {
            seen.push_back(text_of(event, "value"));
        }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    EXPECT_TRUE(eventually("it is written down", [&] { return look(id).delivered == 5; }));
    EXPECT_EQ(look(id).failures, 0U);
}

TEST_F(Webhooks, TheSignatureIsHmacSha256OfTimeAndBody) {
    // Computed with another program: printf '1700000000.{}' | openssl dgst -sha256 -hmac key
    EXPECT_EQ(client::webhook_signature("key", 1'700'000'000, "{}"),
              "v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae");
}

TEST_F(Webhooks, AFailureIsTriedAgainFromTheSamePlace) {
    receiver_.answer_with(500);
    const WebhookId id = create(receiver_.url());
    start_sending();
    tell("0");
    EXPECT_EQ(receiver_.next().events().size(), 1U);
    ASSERT_TRUE(eventually("the failure is written down", [&] { return look(id).failures == 1; }));
    EXPECT_EQ(look(id).last_error, "HTTP 500");
    EXPECT_EQ(receiver_.count(), 1U);
    receiver_.answer_with(204);
    tell("1");
    clock_->advance(*look(id).next_try_at - clock_->now() + 1);
    std::vector<std::string> seen;
    while (seen.size() < 2) {
        for (const json& event : receiver_.next().events()) {
            seen.push_back(text_of(event, "value"));
        }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"0", "1"}));
    EXPECT_TRUE(eventually("it has recovered",
                           [&] { return look(id).failures == 0 && look(id).delivered == 2; }));
}

TEST_F(Webhooks, OnlyAllowedAddressesAreConnectedTo) {
    const WebhookId id = create(receiver_.url());
    start_sending("10.0.0.0/8");
    tell("0");
    ASSERT_TRUE(eventually("it was refused", [&] { return look(id).failures == 1; }));
    EXPECT_TRUE(look(id).last_error->starts_with("no address of")) << *look(id).last_error;
    EXPECT_EQ(receiver_.count(), 0U);
}

TEST_F(Webhooks, AFilterPassesTheRestOver) {
    const WebhookId id = create(receiver_.url(), {.tag = std::pair("turn.n", "7")});
    start_sending();
    for (int i = 0; i < 10; ++i) {
        tell(std::to_string(i));
    }
    const auto events = receiver_.next().events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(text_of(events[0], "value"), "7");
    EXPECT_TRUE(eventually("it is written down", [&] { return look(id).delivered == 1; }));
}

TEST_F(Webhooks, APausedOneWaitsAndMissesNothing) {
    const WebhookId id = create(receiver_.url());
    ASSERT_TRUE(engine_->run(PauseWebhook{id, true}));
    start_sending();
    tell("0");
    ASSERT_TRUE(engine_->run(PauseWebhook{id, false}));
    EXPECT_EQ(receiver_.next().events().size(), 1U);
}

TEST_F(Webhooks, AReceiverThatKeepsNoConnectionIsNoFailure) {
    receiver_.leave_silently();
    const WebhookId id = create(receiver_.url());
    start_sending();
    for (std::uint64_t i = 1; i <= 5; ++i) {
        tell(std::to_string(i));
        EXPECT_EQ(receiver_.next().events().size(), 1U);
        ASSERT_TRUE(eventually("it is written down", [&] { return look(id).delivered == i; }));
        EXPECT_FALSE(look(id).last_failure_at);
    }
}

TEST_F(Webhooks, WhatIsPausedOrDeletedIsNotDeliveredAnyMore) {
    const WebhookId paused = create(receiver_.url("/paused"));
    const WebhookId deleted = create(receiver_.url("/deleted"));
    start_sending();
    tell("0");
    receiver_.next();
    receiver_.next();
    ASSERT_TRUE(eventually("both wait for more", [&] {
        return look(paused).delivered == 1 && look(deleted).delivered == 1;
    }));
    ASSERT_TRUE(engine_->run(PauseWebhook{paused, true}));
    ASSERT_TRUE(engine_->run(DeleteWebhook{deleted}));
    const WebhookId other = create(receiver_.url("/other"));
    tell("1");
    EXPECT_TRUE(receiver_.next().head.starts_with("POST /other "));
    ASSERT_TRUE(eventually("it is written down", [&] { return look(other).delivered == 1; }));
    tell("2");
    EXPECT_TRUE(receiver_.next().head.starts_with("POST /other "));
}

TEST_F(Webhooks, AGapIsTold) {
    open({.event_rows_max = 2});
    const WebhookId id = create(receiver_.url());
    const EventCursor beginning = look(id).cursor;
    for (int i = 0; i < 5; ++i) {
        tell(std::to_string(i));
    }
    ASSERT_TRUE(engine_->run(RunScanner{"event_trimmer"}));
    start_sending();
    const Receiver::Delivery delivery = receiver_.next();
    const auto body = js::parse(delivery.body);
    ASSERT_TRUE(body && body->find("gap") != nullptr) << delivery.body;
    EXPECT_EQ(text_of(*body->find("gap"), "missed_from"), beginning.hex());
    const auto events = delivery.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(text_of(events[0], "value"), "3");
    EXPECT_EQ(text_of(*body->find("gap"), "oldest"), text_of(events[0], "cursor"));
    ASSERT_TRUE(eventually("it is written down", [&] { return look(id).delivered == 2; }));
    tell("5");
    EXPECT_EQ(receiver_.next().body.find("\"gap\""), std::string::npos) << "once";
}

/// Threads of this process.
std::size_t threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// There was a thread for each receiving host for as long as it took what it got.
TEST_F(Webhooks, AHostThatNothingIsSentToKeepsNoThread) {
    const WebhookId id = create(receiver_.url());
    start_sending("127.0.0.1", std::chrono::milliseconds(0));
    const std::size_t before = threads();
    for (std::uint64_t i = 1; i <= 2; ++i) {
        tell(std::to_string(i));
        EXPECT_EQ(receiver_.next().events().size(), 1U);
        ASSERT_TRUE(eventually("it is written down", [&] { return look(id).delivered == i; }));
        EXPECT_TRUE(eventually("its thread goes", [&] { return threads() <= before; }));
    }
}

TEST_F(Webhooks, ASenderThatStopsGivesItsPlaceBack) {
    const WebhookId id = create(receiver_.url());
    start_sending();
    tell("0");
    receiver_.next();
    ASSERT_TRUE(eventually("it is written down", [&] { return look(id).delivered == 1; }));
    sender_.reset();
    EXPECT_TRUE(*engine_->run(ClaimWebhook{id, "another", 1'000}));
}

TEST(AddressRules, OnlyPublicOnesUnlessToldOtherwise) {
    const net::AddressRules rules;
    for (const char* open :
         {"8.8.8.8", "93.184.216.34", "2606:2800:220:1::1", "2a00:1450::1", "172.32.0.1"}) {
        EXPECT_TRUE(rules.allows(open)) << open;
    }
    for (const char* closed : {"127.0.0.1",
                               "127.9.9.9",
                               "10.1.2.3",
                               "172.16.0.1",
                               "172.31.255.255",
                               "192.168.1.1",
                               "169.254.169.254",
                               "100.64.0.1",
                               "0.0.0.0",
                               "224.0.0.1",
                               "255.255.255.255",
                               "::1",
                               "::",
                               "fe80::1",
                               "fd00::1",
                               "ff02::1",
                               "::127.0.0.1",
                               "2002:7f00:1::",
                               "2001:0:1::1",
                               "64:ff9b::7f00:1",
                               "fec0::1",
                               "5f00::1",
                               "3fff::1",
                               "4000::1",
                               "::ffff:127.0.0.1",
                               "::ffff:10.0.0.1",
                               "localhost",
                               "",
                               "300.1.1.1"}) {
        EXPECT_FALSE(rules.allows(closed)) << closed;
    }
}

TEST(AddressRules, NetworksAreAdded) {
    const auto rules = net::AddressRules::parse("10.0.0.0/8, 127.0.0.1,fd00::/8");
    ASSERT_TRUE(rules) << rules.error().message();
    EXPECT_TRUE(rules->allows("10.200.0.1"));
    EXPECT_TRUE(rules->allows("127.0.0.1"));
    EXPECT_FALSE(rules->allows("127.0.0.2"));
    EXPECT_TRUE(rules->allows("fd12::9"));
    EXPECT_FALSE(rules->allows("192.168.1.1"));
    EXPECT_TRUE(rules->allows("8.8.8.8"));
    EXPECT_EQ(rules->to_string(), "10.0.0.0/8,127.0.0.1,fd00::/8");
    EXPECT_TRUE(net::AddressRules::parse("any")->allows("127.0.0.1"));
    for (const char* bad : {"10.0.0.0/33", "10.0.0/8", "x", "10.0.0.0/", "10.0.0.0/-1", ","}) {
        EXPECT_FALSE(net::AddressRules::parse(bad)) << bad;
    }
}

}  // namespace
}  // namespace ff::http::test
