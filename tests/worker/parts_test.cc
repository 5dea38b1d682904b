// Small parts of the worker: its pauses.
#include <gtest/gtest.h>

#include <chrono>

#include "worker/pauses.h"

namespace ff::worker::test {

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
