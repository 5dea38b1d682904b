#include "base/server_clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace ff {
namespace {

constexpr DurationMs hour = 3'600'000;

/// A clock of a machine that goes as told, and one that follows a server with it.
class ServerClockTest : public testing::Test {
  protected:
    /// Asks a server whose clock is ahead by so much; the question and the answer travel so long.
    void ask(DurationMs ahead, DurationMs there = 0, DurationMs back = 0) {
        ClockSample sample;
        sample.sent = local_->now();
        local_->advance(there);
        sample.server = local_->now() + ahead;
        local_->advance(back);
        sample.received = local_->now();
        clock_.learn(sample);
    }

    std::shared_ptr<ManualClock> local_ = std::make_shared<ManualClock>(10 * hour);
    ServerClock clock_{local_};
};

TEST_F(ServerClockTest, goes_as_the_local_clock_does_from_where_the_server_is) {
    ask(5 * hour);
    EXPECT_EQ(clock_.now(), 15 * hour);
    local_->advance(7);
    EXPECT_EQ(clock_.now(), 15 * hour + 7);
    EXPECT_EQ(clock_.ahead(), 5 * hour);
}

TEST_F(ServerClockTest, two_machines_agree_whatever_their_clocks_say) {
    ServerClock other(std::make_shared<ManualClock>(3 * hour));
    ask(-2 * hour, 4, 4);
    const TimestampMs server = local_->now() - 2 * hour;
    other.learn({3 * hour, server, 3 * hour});
    EXPECT_EQ(clock_.now(), server);
    EXPECT_EQ(other.now(), server);
}

TEST_F(ServerClockTest, is_wrong_by_half_of_a_round_trip_at_most) {
    ask(hour, 0, 20);
    EXPECT_EQ(clock_.ahead(), hour - 10);
    ServerClock other(local_);
    const TimestampMs sent = local_->now();
    local_->advance(20);
    other.learn({sent, local_->now() + hour, local_->now()});
    EXPECT_EQ(other.ahead(), hour + 10);
}

TEST_F(ServerClockTest, a_slow_answer_does_not_move_it) {
    ask(hour);
    ask(hour, 0, 500);
    EXPECT_EQ(clock_.ahead(), hour);
    ask(hour, 500, 0);
    EXPECT_EQ(clock_.ahead(), hour);
    ask(hour + 1);
    EXPECT_EQ(clock_.ahead(), hour) << "milliseconds are cut off";
    ask(hour + 40, 30, 30);
    EXPECT_EQ(clock_.ahead(), hour + 40) << "it cannot have been an hour";
}

TEST_F(ServerClockTest, a_clock_that_agrees_is_left_alone) {
    ask(0, 3, 8);
    EXPECT_EQ(clock_.ahead(), 0);
    EXPECT_EQ(clock_.now(), local_->now());
}

TEST_F(ServerClockTest, follows_a_server_that_is_set_forward_at_once) {
    ask(0);
    EXPECT_EQ(clock_.now(), 10 * hour);
    ask(hour);
    EXPECT_EQ(clock_.now(), 11 * hour);
}

TEST_F(ServerClockTest, goes_at_half_speed_when_the_server_is_set_back) {
    ask(hour);
    EXPECT_EQ(clock_.now(), 11 * hour);
    ask(0);
    EXPECT_EQ(clock_.now(), 11 * hour);
    local_->advance(1'000);
    EXPECT_EQ(clock_.now(), 11 * hour + 500);
    local_->advance(3 * hour);
    EXPECT_EQ(clock_.now(), 13 * hour + 1'000) << "the server has caught up";
}

TEST_F(ServerClockTest, a_local_clock_that_was_stopped_is_made_up_for) {
    ask(0);
    EXPECT_EQ(clock_.now(), 10 * hour);
    ask(300);  // the machine stood still, and its clock with it
    EXPECT_EQ(clock_.now(), 10 * hour + 300);
}

TEST_F(ServerClockTest, sleeps_by_the_local_clock) {
    ask(5 * hour);
    EXPECT_EQ(clock_.sleep_hint(clock_.now()), 0);
    EXPECT_EQ(clock_.sleep_hint(std::numeric_limits<TimestampMs>::min()), 0);
    EXPECT_EQ(clock_.sleep_hint(clock_.now() + 1), 60'000) << "until told";
    EXPECT_EQ(clock_.sleep_hint(std::numeric_limits<TimestampMs>::max()), 60'000);
    int told = 0;
    const auto token = clock_.subscribe([&] { ++told; });
    local_->advance(1);
    EXPECT_EQ(told, 1);
    clock_.unsubscribe(token);
    local_->advance(1);
    EXPECT_EQ(told, 1);
}

TEST_F(ServerClockTest, by_itself_it_starts_with_the_clock_of_this_machine) {
    ServerClock clock;
    EXPECT_NEAR(static_cast<double>(clock.now()), static_cast<double>(SystemClock().now()), 5'000);
    const DurationMs hint = clock.sleep_hint(clock.now() + hour);
    EXPECT_GT(hint, 0);
    EXPECT_LE(hint, 60'000);
}

}  // namespace
}  // namespace ff
