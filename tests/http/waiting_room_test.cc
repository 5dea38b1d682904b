// Requests that wait hold connections; some must be left for those that do not wait, and a server
// takes no more connections than it may have descriptors.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

TEST(ManyClients, ParkedRequestsOfAllKindsLeaveRoomForCompletions) {
    TestOptions options;
    options.server.connections_max = 8;
    TestServer server(std::move(options));
    const std::string id = server.create();
    const json task = server.claim();
    const std::string other = server.create();  // nothing happens to it
    const std::string attempt = "/v1/executions/" + encoded(id) + "/attempts/0";
    const std::vector<std::string> kinds{
        json_request("POST", "/v1/workers/w/poll", poll_body(30'000, "none")),
        request_text("GET", "/v1/events/operator?block_ms=30000"),
        request_text("GET", "/v1/events/workers", {}, {"Accept: text/event-stream"}),
        request_text(
            "GET", "/v1/executions/" + encoded(other) + "/attempts/0/stream/tail?block_ms=30000")};
    const auto parked = [&] {
        Service& service = server.server().service();
        return service.polls().taken() + service.event_streams().taken() +
               service.stream_ops().taken();
    };
    std::vector<RawClient> waiting;
    for (std::size_t i = 0; i < 6; ++i) {
        waiting.push_back(server.connect());
        ASSERT_TRUE(waiting.back().send(kinds[i % kinds.size()]));
        ASSERT_TRUE(eventually("it waits", [&] { return parked() == i + 1; }));
    }
    RawClient worker = server.connect();
    for (const std::string& kind : kinds) {
        const RawAnswer refused = worker.ask(kind);
        EXPECT_EQ(refused.status, 429) << kind;
        EXPECT_EQ(refused.member("code"), "too_many_waiters");
    }
    EXPECT_EQ(parked(), 6U) << "who was refused holds nothing";
    EXPECT_EQ(
        worker
            .ask(json_request("POST", attempt + "/complete", R"({"fence":)" + fence_of(task) + "}"))
            .status,
        200);
    waiting.pop_back();
    ASSERT_TRUE(eventually("a place is free", [&] { return parked() == 5; }));
    ASSERT_TRUE(worker.send(kinds[0]));
    EXPECT_TRUE(eventually("another has it", [&] { return parked() == 6; }));
}

TEST(Descriptors, LimitTheConnectionsAndSomeAreKeptForTheStore) {
    EXPECT_EQ(connections_within(1'024, 1'000'000, 20), 1'024U);
    EXPECT_EQ(connections_within(1'024, 1'024, 20), 940U);
    EXPECT_EQ(connections_within(10, 1'024, 20), 10U);
    EXPECT_EQ(connections_within(1'024, 80, 20), 1U) << "one at least";
    EXPECT_EQ(connections_within(1'024, 256, 192), 1U);
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The limit of this process, put back at the end.
class LowLimit {
  public:
    LowLimit() { getrlimit(RLIMIT_NOFILE, &was_); }
    ~LowLimit() { setrlimit(RLIMIT_NOFILE, &was_); }
    LowLimit(const LowLimit&) = delete;
    LowLimit& operator=(const LowLimit&) = delete;

    void set(rlim_t soft) const {
        rlimit low = was_;
        low.rlim_cur = soft;
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    }
    [[nodiscard]] rlim_t hard() const { return was_.rlim_max; }
    static rlim_t soft() {
        rlimit now{};
        getrlimit(RLIMIT_NOFILE, &now);
        return now.rlim_cur;
    }

  private:
    rlimit was_{};
};

TEST(Descriptors, AServerTakesAllThatItMayHave) {
    const LowLimit limit;
    limit.set(open_descriptors() + 100);
    const TestServer server;
    EXPECT_EQ(LowLimit::soft(), limit.hard());
}

TEST(Descriptors, RunningOutOfThemIsToldOnce) {
    std::atomic<int> told{0};
    TestOptions options;
    options.server.warn = [&told](std::string_view text) {
        told += text.starts_with("cannot accept connections: ") ? 1 : 0;
    };
    TestServer server(std::move(options));
    // What opens files for a moment when it begins has done so: the store, and those who read it.
    const std::string id = server.create();
    EXPECT_EQ(server.get("/v1/executions/" + encoded(id)).status, 200);
    EXPECT_EQ(server.get("/healthz").status, 200);
    const LowLimit limit;
    // One is left for the client, and none for the server's end of it.
    limit.set(open_descriptors() + 64);
    std::vector<int> taken;
    for (int fd = dup(0); fd >= 0; fd = dup(0)) {
        taken.push_back(fd);
    }
    ASSERT_FALSE(taken.empty());
    close(taken.back());
    taken.pop_back();
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(request_text("GET", "/healthz")));
    ASSERT_TRUE(eventually("it is told", [&] { return told == 1; }));
    // A few tries later, unless somebody else in this process has let go of one meanwhile.
    static_cast<void>(client.hears_within(std::chrono::milliseconds(250)));
    EXPECT_EQ(told, 1);
    for (const int fd : taken) {
        close(fd);
    }
    EXPECT_EQ(client.read_answer().status, 200);
}

}  // namespace
}  // namespace ff::http::test
