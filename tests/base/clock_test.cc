#include <ff/clock.h>

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/lease_clock.h"
#include "support/eventually.h"

namespace ff {
namespace {

TEST(Later, stops_at_the_last_time_there_is) {
    using std::chrono::milliseconds;
    EXPECT_EQ(later(5, milliseconds(7)), 12);
    EXPECT_EQ(later(5, milliseconds(-7)), -2);
    EXPECT_EQ(later(5, milliseconds::max()), std::numeric_limits<TimestampMs>::max());
}

TEST(SystemClock, gives_wall_time_in_milliseconds) {
    SystemClock clock;
    EXPECT_GT(clock.now(), 1'600'000'000'000);
    EXPECT_LT(clock.now(), 10'000'000'000'000);
}

TEST(SystemClock, never_goes_back_in_any_thread) {
    SystemClock clock;
    std::atomic<TimestampMs> highest{0};
    std::atomic<int> went_back{0};
    const auto watch = [&] {
        for (int i = 0; i < 20'000; ++i) {
            const TimestampMs before = highest.load();
            const TimestampMs now = clock.now();
            went_back += now < before ? 1 : 0;
            TimestampMs seen = before;
            while (seen < now && !highest.compare_exchange_weak(seen, now)) {
            }
        }
    };
    std::jthread first(watch);
    std::jthread second(watch);
    first.join();
    second.join();
    EXPECT_EQ(went_back.load(), 0);
}

TEST(OnwardTime, time_goes_on_when_the_wall_clock_is_set_back) {
    OnwardTime time;
    EXPECT_EQ(time.follow(1'000'000, 100), 1'000'000);
    EXPECT_EQ(time.follow(4'600'000, 200), 4'600'000) << "an hour forward: it is believed";
    // And back again: half as fast as the steady clock, until the wall clock has caught up.
    EXPECT_EQ(time.follow(1'000'100, 300), 4'600'000);
    EXPECT_EQ(time.follow(1'000'300, 500), 4'600'100);
    EXPECT_EQ(time.follow(1'010'100, 10'300), 4'605'000);
    EXPECT_EQ(time.follow(4'700'000, 10'400), 4'700'000);
    // The next time it begins anew.
    EXPECT_EQ(time.follow(4'000'000, 10'500), 4'700'000);
    EXPECT_EQ(time.follow(4'000'100, 10'700), 4'700'100);
}

TEST(OnwardTime, a_reading_that_is_a_moment_old_is_no_step) {
    OnwardTime time;
    EXPECT_EQ(time.follow(1'000'000, 100), 1'000'000);
    EXPECT_EQ(time.follow(999'990, 90), 1'000'000);
    EXPECT_EQ(time.follow(999'990, 5'000), 1'000'000);
}

TEST(SystemClock, sleep_hint_is_the_time_left_between_nothing_and_a_minute) {
    SystemClock clock;
    EXPECT_EQ(clock.sleep_hint(0), 0);
    EXPECT_EQ(clock.sleep_hint(std::numeric_limits<TimestampMs>::min()), 0);
    EXPECT_EQ(clock.sleep_hint(clock.now() + 3'600'000), 60'000);
    EXPECT_EQ(clock.sleep_hint(std::numeric_limits<TimestampMs>::max()), 60'000);
    const DurationMs hint = clock.sleep_hint(clock.now() + 30'000);
    EXPECT_GT(hint, 0);
    EXPECT_LE(hint, 30'000);
}

TEST(LeaseClock, starts_as_the_wall_clock_and_never_goes_back) {
    LeaseClock clock;
    EXPECT_NEAR(static_cast<double>(clock.now()), static_cast<double>(SystemClock().now()), 5'000);
    TimestampMs last = clock.now();
    const TimestampMs begun = last;
    EXPECT_TRUE(support::eventually([&] {
        const TimestampMs now = clock.now();
        EXPECT_GE(now, last);
        last = now;
        return now >= begun + 20;
    }));
    EXPECT_EQ(clock.sleep_hint(0), 0);
    EXPECT_GT(clock.sleep_hint(clock.now() + 3'600'000), 0);
    EXPECT_LE(clock.sleep_hint(clock.now() + 3'600'000), 5'000)
        << "a machine that slept is noticed soon";
}

TEST(ManualClock, stands_still_until_told) {
    ManualClock clock(1000);
    EXPECT_EQ(clock.now(), 1000);
    EXPECT_EQ(clock.now(), 1000);
    clock.advance(5);
    EXPECT_EQ(clock.now(), 1005);
}

TEST(ManualClock, moving_back_or_nowhere_is_ignored) {
    ManualClock clock(1000);
    int calls = 0;
    clock.subscribe([&] { ++calls; });
    clock.advance(-5);
    clock.advance(0);
    EXPECT_EQ(clock.now(), 1000);
    EXPECT_EQ(calls, 0);
}

TEST(ManualClock, sleep_hint_says_until_told_or_not_at_all) {
    ManualClock clock(1000);
    EXPECT_EQ(clock.sleep_hint(1001), 60'000);
    EXPECT_EQ(clock.sleep_hint(1000), 0);
    EXPECT_EQ(clock.sleep_hint(999), 0);
}

TEST(ManualClock, listeners_are_told_after_time_moved_until_they_unsubscribe) {
    ManualClock clock(1000);
    TimestampMs seen = 0;
    int others = 0;
    const auto token = clock.subscribe([&] { seen = clock.now(); });
    clock.subscribe([&] { ++others; });
    clock.advance(7);
    EXPECT_EQ(seen, 1007);
    clock.unsubscribe(token);
    clock.advance(1);
    EXPECT_EQ(seen, 1007);
    EXPECT_EQ(others, 2);
    clock.unsubscribe(12345);
}

TEST(ManualClock, a_listener_may_subscribe_and_unsubscribe) {
    ManualClock clock(1000);
    int calls = 0;
    std::uint64_t token = 0;
    token = clock.subscribe([&] {
        ++calls;
        clock.unsubscribe(token);
        clock.subscribe([&] { calls += 10; });
    });
    clock.advance(1);
    EXPECT_EQ(calls, 1);
    clock.advance(1);
    EXPECT_EQ(calls, 11);
}

}  // namespace
}  // namespace ff
