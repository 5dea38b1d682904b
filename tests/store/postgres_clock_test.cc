// The clock of a PostgreSQL store is the server's, however wrong the machine's own is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/contract.h"
#include "store/location.h"
#include "store/postgres_clock.h"
#include "store/postgres_store.h"
#include "support/eventually.h"
#include "support/postgres.h"

namespace ff::store::test {
namespace {

class PostgresClock : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "there is no PostgreSQL server; see scripts/postgres.sh";
        }
        url_ = support::postgres_store(folder_.file("store"));
    }
    /// Without a clock the store makes one.
    std::unique_ptr<PostgresStore> open(std::shared_ptr<ServerClock> clock,
                                        EngineOptions options = {}) {
        options.warn = [this](std::string_view text) {
            const std::lock_guard lock(mutex_);
            warnings_.emplace_back(text);
        };
        auto store = PostgresStore::open(*parse_location(url_), options, std::move(clock));
        EXPECT_TRUE(store) << store.error().message();
        return store ? std::move(*store) : nullptr;
    }
    TimestampMs server_time() const {
        auto connection = PgConnection::open(url_);
        EXPECT_TRUE(connection) << connection.error().message();
        SystemClock clock;
        const auto sample = ask_time(**connection, clock);
        EXPECT_TRUE(sample) << sample.error().message();
        return sample ? sample->server : 0;
    }
    std::vector<std::string> warnings() {
        const std::lock_guard lock(mutex_);
        return warnings_;
    }

    TempDir folder_;
    std::string url_;
    /// A clock that stands still goes forward only as the server is asked.
    std::shared_ptr<ManualClock> stopped_ = std::make_shared<ManualClock>(t0);

  private:
    std::mutex mutex_;
    std::vector<std::string> warnings_;  // guarded by mutex_
};

TEST_F(PostgresClock, is_the_servers_when_the_store_is_open) {
    const TimestampMs before = server_time();
    const auto store = open(std::make_shared<ServerClock>(stopped_));
    ASSERT_NE(store, nullptr);
    const TimestampMs now = store->clock()->now();
    EXPECT_GE(now, before);
    EXPECT_LE(now, server_time());
    const auto warned = warnings();
    ASSERT_EQ(warned.size(), 1U);
    EXPECT_TRUE(warned[0].starts_with("the clock of this machine is ")) << warned[0];
    EXPECT_TRUE(warned[0].ends_with("; the server's decides")) << warned[0];
    EXPECT_NE(warned[0].find(" ms behind the PostgreSQL server's (2023-11-14T22:13:20.000Z here, "),
              std::string::npos)
        << warned[0];
}

TEST_F(PostgresClock, is_asked_for_again_with_and_without_notifications) {
    for (const auto notify : {EngineOptions::Notify::automatic, EngineOptions::Notify::off}) {
        EngineOptions options;
        options.notify = notify;
        const auto store = open(std::make_shared<ServerClock>(stopped_), options);
        ASSERT_NE(store, nullptr);
        const std::size_t warned = warnings().size();
        const TimestampMs opened = store->clock()->now();
        EXPECT_TRUE(support::eventually([&] { return store->clock()->now() > opened; }));
        EXPECT_LE(store->clock()->now(), server_time());
        EXPECT_EQ(warnings().size(), warned) << "once is enough";
    }
}

TEST_F(PostgresClock, goes_on_when_the_connection_is_lost_and_follows_again_afterwards) {
    url_ += "&application_name=ff_clock_" + std::to_string(getpid());
    const auto store = open(std::make_shared<ServerClock>(stopped_));
    ASSERT_NE(store, nullptr);
    const TimestampMs opened = store->clock()->now();
    support::run_on_postgres(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'ff_clock_" +
        std::to_string(getpid()) + "'");
    EXPECT_GE(store->clock()->now(), opened);
    stopped_->advance(1);
    EXPECT_GT(store->clock()->now(), opened);
    const TimestampMs before = server_time();
    EXPECT_TRUE(support::eventually([&] { return store->clock()->now() >= before; }));
}

TEST_F(PostgresClock, is_left_alone_where_the_machine_agrees) {
    const auto store = open(nullptr);
    ASSERT_NE(store, nullptr);
    ASSERT_NE(store->clock(), nullptr);
    // The server of the tests is on this machine.
    EXPECT_NEAR(static_cast<double>(store->clock()->now()),
                static_cast<double>(SystemClock().now()), 1'000);
    EXPECT_TRUE(warnings().empty());
}

TEST_F(PostgresClock, is_not_asked_for_when_the_embedder_has_one) {
    EngineOptions options;
    options.clock = stopped_;
    const auto store = open(nullptr, options);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->clock(), nullptr);
    EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace ff::store::test
