// Who has guessed too often is not heard until the minute is over; nobody else is kept out.
#include "http/failed_attempts.h"

#include <gtest/gtest.h>

namespace ff::http::test {
namespace {

using std::chrono::seconds;

const FailedAttempts::TimePoint start{seconds(1'000)};

TEST(FailedAttempts, AreCountedForEachAddress) {
    FailedAttempts failures(2);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start), 0);
    failures.add("10.0.0.1", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start), 0);
    failures.add("10.0.0.1", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start), 60);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.2", start), 0);
}

TEST(FailedAttempts, AreForgottenAfterAMinute) {
    FailedAttempts failures(1);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start), 0);  // the minute begins
    failures.add("10.0.0.1", start + seconds(20));
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start + seconds(21)), 39);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start + seconds(60)), 0);
}

TEST(FailedAttempts, OfANetworkOfIpv6CountTogether) {
    FailedAttempts failures(2);
    failures.add("2001:db8:0:1::1", start);
    failures.add("2001:db8:0:1:ffff::2", start);
    EXPECT_GT(failures.seconds_to_wait("2001:db8:0:1::3", start), 0);
    EXPECT_EQ(failures.seconds_to_wait("2001:db8:0:2::3", start), 0);
    failures.add("::ffff:10.0.0.1", start);
    failures.add("::ffff:10.0.0.2", start);
    EXPECT_EQ(failures.seconds_to_wait("::ffff:10.0.0.1", start), 0) << "IPv4 in other clothes";
}

TEST(FailedAttempts, OfManyAddressesTakeBoundedRoomAndKeepNobodyElseOut) {
    FailedAttempts failures(1);
    const auto address = [](std::size_t i) {
        return "10." + std::to_string(i >> 16U) + "." + std::to_string((i >> 8U) & 255U) + "." +
               std::to_string(i & 255U);
    };
    for (std::size_t i = 0; i < FailedAttempts::addresses_max + 10; ++i) {
        failures.add(address(i), start);
    }
    EXPECT_GT(failures.seconds_to_wait(address(0), start), 0);
    EXPECT_EQ(failures.seconds_to_wait(address(FailedAttempts::addresses_max + 5), start), 0);
    EXPECT_EQ(failures.seconds_to_wait("192.0.2.1", start), 0);
}

TEST(FailedAttempts, HaveNoLimitWhenItIsZero) {
    FailedAttempts failures(0);
    failures.add("10.0.0.1", start);
    EXPECT_EQ(failures.seconds_to_wait("10.0.0.1", start), 0);
}

}  // namespace
}  // namespace ff::http::test
