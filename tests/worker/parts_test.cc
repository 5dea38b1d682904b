// Small parts of the worker: its clock, its pauses.
#include <gtest/gtest.h>

#include <chrono>

#include <ff/clock.h>

#include "support/eventually.h"
#include "worker/lease_clock.h"
#include "worker/pauses.h"

namespace ff::worker::test {

TEST(LeaseClock, StartsAsTheWallClockAndNeverGoesBack) {
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

TEST(Pauses, DoubleUpToTheMost) {
    Pauses pauses({std::chrono::milliseconds(50), std::chrono::milliseconds(300)},
                  Pauses::Jitter::none);
    for (const DurationMs expected : {50, 100, 200, 300, 300}) {
        EXPECT_EQ(pauses.next(), expected);
    }
    pauses.reset();
    EXPECT_EQ(pauses.next(), 50);
}

TEST(Pauses, AFifthLongerOrShorter) {
    DurationMs least = 10'000;
    DurationMs most = 0;
    for (int i = 0; i < 2'000; ++i) {
        Pauses pauses({std::chrono::milliseconds(1'000), std::chrono::milliseconds(1'000)},
                      Pauses::Jitter::fifth);
        const DurationMs pause = pauses.next();
        least = std::min(least, pause);
        most = std::max(most, pause);
    }
    EXPECT_GE(least, 800);
    EXPECT_LT(least, 850);
    EXPECT_LE(most, 1'200);
    EXPECT_GT(most, 1'150);
}

}  // namespace ff::worker::test
