// Who has guessed too often is not heard until the minute is over; nobody else is kept out.
#include "http/failed_attempts.h"

#include <gtest/gtest.h>

namespace ff::http::test {
namespace {

using std::chrono::seconds;

const FailedAttempts::TimePoint start{seconds(1'000)};

TEST(FailedAttempts, AreCountedForEachAddress) {
    FailedAttempts failures(2);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start), 0);
    failures.add("10.0.0.1", "w", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start), 0);
    failures.add("10.0.0.1", "w", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start), 60);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.2", "w", start), 0);
}

TEST(FailedAttempts, AreForgottenAfterAMinute) {
    FailedAttempts failures(1);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start), 0);  // the minute begins
    failures.add("10.0.0.1", "w", start + seconds(20));
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start + seconds(21)), 39);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start + seconds(60)), 0);
}

TEST(FailedAttempts, OfANetworkOfIpv6CountTogether) {
    FailedAttempts failures(2);
    failures.add("2001:db8:0:1::1", "w", start);
    failures.add("2001:db8:0:1:ffff::2", "w", start);
    EXPECT_GT(failures.seconds_to_wait("2001:db8:0:1::3", "w", start), 0);
    EXPECT_EQ(failures.seconds_to_wait("2001:db8:0:2::3", "w", start), 0);
    failures.add("::ffff:10.0.0.1", "w", start);
    failures.add("::ffff:10.0.0.2", "w", start);
    EXPECT_EQ(failures.seconds_to_wait("::ffff:10.0.0.1", "w", start), 0)
        << "IPv4 in other clothes";
}

TEST(FailedAttempts, AtManyTargetsCountTogether) {
    FailedAttempts failures(2);
    const std::size_t most = 2 * FailedAttempts::targets_factor;
    for (std::size_t i = 0; i < most; ++i) {
        EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "", start), 0) << i;
        failures.add("10.0.0.1", std::to_string(i), start);
    }
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "", start), 60) << "whatever it tries at";
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "another", start), 0) << "not there";
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.2", "", start), 0);
}

TEST(FailedAttempts, OfManyAddressesTakeBoundedRoomAndCountOn) {
    FailedAttempts failures(1);
    const auto address = [](std::size_t i) {
        return "10." + std::to_string(i >> 16U) + "." + std::to_string((i >> 8U) & 255U) + "." +
               std::to_string(i & 255U);
    };
    const std::size_t many = 2 * FailedAttempts::counted_max;
    for (std::size_t i = 0; i < many; ++i) {
        failures.add(address(i), "w", start);
        ASSERT_EQ(failures.seconds_to_wait(address(i), "w", start), 60) << i;
    }
    std::size_t known = 0;
    for (std::size_t i = 0; i < many; ++i) {
        known += failures.seconds_to_wait(address(i), "w", start) > 0 ? 1 : 0;
    }
    EXPECT_EQ(known, FailedAttempts::counted_max);
    EXPECT_EQ(failures.seconds_to_wait("192.0.2.1", "w", start), 0) << "nobody else is kept out";
}

TEST(FailedAttempts, ThoseWhoFailOftenAreForgottenLast) {
    FailedAttempts failures(100);
    for (int i = 0; i < 100; ++i) {
        failures.add("192.0.2.1", "w", start);
    }
    for (std::size_t i = 0; i < 3 * FailedAttempts::counted_max; ++i) {
        failures.add(std::to_string(i), "w", start);
    }
    EXPECT_EQ(failures.seconds_to_wait("192.0.2.1", "w", start), 60);
}

TEST(FailedAttempts, HaveNoLimitWhenItIsZero) {
    FailedAttempts failures(0);
    failures.add("10.0.0.1", "w", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", "w", start), 0);
}

}  // namespace
}  // namespace ff::http::test
