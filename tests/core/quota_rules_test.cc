// What a quota policy answers, and when those who wait may go on.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/quota_rules.h"

namespace ff::core {
namespace {

const Jitter no_jitter = [](std::uint64_t) -> std::uint64_t { return 0; };

QuotaPolicy policy_of(std::uint64_t rate, std::uint64_t cap, std::uint64_t window_s = 10) {
    return new_policy({}, {window_s, rate, cap, 0}, 0);
}

AdmissionOutcome ask(const QuotaPolicy& policy, const QuotaWindow& window = {},
                     const Admission* held = nullptr, Start start = Start::fresh,
                     TimestampMs now = 1'000) {
    return decide_admission(policy, window, held, start, now, no_jitter).outcome;
}

TEST(QuotaRules, TheRateIsCheckedBeforeTheCap) {
    QuotaPolicy policy = policy_of(2, 2);
    policy.in_window = 2;
    policy.running = 2;
    EXPECT_EQ(ask(policy), AdmissionOutcome::rate_exceeded);
    policy.in_window = 1;
    EXPECT_EQ(ask(policy), AdmissionOutcome::concurrency_exceeded);
    policy.running = 1;
    EXPECT_EQ(ask(policy), AdmissionOutcome::admitted);
}

TEST(QuotaRules, ItSaysWhenTheOldestStartAges) {
    QuotaPolicy policy = policy_of(1, 0);
    policy.in_window = 1;
    EXPECT_EQ(decide_admission(policy, {4'000}, nullptr, Start::fresh, 5'000, no_jitter),
              (AdmissionResult{AdmissionOutcome::rate_exceeded, 9'000}));
    policy.limits.jitter_ms = 100;
    const Jitter all = [](std::uint64_t bound) { return bound; };
    EXPECT_EQ(decide_admission(policy, {4'000}, nullptr, Start::fresh, 5'000, all).retry_after_ms,
              9'100);
    EXPECT_EQ(
        decide_admission(policy, {4'000}, nullptr, Start::fresh, 20'000, no_jitter).retry_after_ms,
        0)
        << "not in the past";
}

TEST(QuotaRules, AStartThatIsExactlyAWindowOldCountsNoMore) {
    const QuotaPolicy policy = policy_of(1, 0);
    EXPECT_FALSE(is_aged(policy, {{}, 5'000, {}}, 14'999));
    EXPECT_TRUE(is_aged(policy, {{}, 5'000, {}}, 15'000));
    EXPECT_EQ(policy_of(1, 0, 0).window_ms, 60'000) << "the default";
}

TEST(QuotaRules, WhoHasAStartIsNotChargedAgainButMustTakeASlotAgain) {
    QuotaPolicy policy = policy_of(1, 1);
    QuotaWindow window;
    const Admission first = admit(policy, window, {}, nullptr, Start::fresh, 1'000);
    EXPECT_EQ(policy.running, 1U);
    EXPECT_EQ(policy.in_window, 1U);
    EXPECT_EQ(ask(policy, window, &first), AdmissionOutcome::already_admitted);
    auto paused = without_slot(policy, first);
    ASSERT_TRUE(paused) << "its start counts on";
    EXPECT_EQ(policy.running, 0U);
    EXPECT_EQ(ask(policy, window, &*paused), AdmissionOutcome::already_admitted);
    policy.running = 1;  // another took it
    EXPECT_EQ(ask(policy, window, &*paused), AdmissionOutcome::concurrency_exceeded);
    policy.running = 0;
    const Admission again = admit(policy, window, {}, &*paused, Start::fresh, 2'000);
    EXPECT_EQ(again.admitted_at, 1'000);
    EXPECT_EQ(again.slot_at, 2'000);
    EXPECT_EQ(policy.in_window, 1U);
}

TEST(QuotaRules, AResumedAttemptIsNoNewStart) {
    QuotaPolicy policy = policy_of(1, 2);
    policy.in_window = 1;
    QuotaWindow window{500};
    EXPECT_EQ(ask(policy, window), AdmissionOutcome::rate_exceeded);
    EXPECT_EQ(ask(policy, window, nullptr, Start::resumed), AdmissionOutcome::admitted);
    const Admission given = admit(policy, window, {}, nullptr, Start::resumed, 1'000);
    EXPECT_FALSE(given.admitted_at);
    EXPECT_EQ(given.slot_at, 1'000);
    EXPECT_EQ(policy.in_window, 1U);
}

TEST(QuotaRules, RoomIsWhatBothLimitsLeaveWithoutWhatIsOffered) {
    QuotaPolicy policy = policy_of(10, 4);
    policy.in_window = 3;
    policy.running = 2;
    EXPECT_EQ(room(policy), 2U);
    policy.in_window = 9;
    EXPECT_EQ(room(policy), 1U);
    policy.offered = 1;
    EXPECT_EQ(room(policy), 0U);
    policy.in_window = 20;
    EXPECT_EQ(room(policy), 0U) << "a limit may have been lowered";
}

TEST(QuotaRules, ShapeOfADefinition) {
    EXPECT_TRUE(check_limits(QuotaLimits{31'536'000, 1, 1, 0}));
    EXPECT_EQ(check_limits(QuotaLimits{31'536'001, 1, 1, 0}).error().code,
              ErrorCode::invalid_quota_spec);
    EXPECT_TRUE(is_unlimited(QuotaLimits{60, 0, 0, 10}));
}

/// Against a plain model: never more starts in any window than allowed, never more slots, and the
/// counts are those of the rows.
TEST(QuotaRules, CountsAreThoseOfTheRows) {
    std::mt19937_64 random(11);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 100; ++round) {
        QuotaPolicy policy = policy_of(below(6), below(4), 1);
        std::map<std::uint16_t, Admission> rows;
        TimestampMs now = 10'000;
        for (int step = 0; step < 200; ++step) {
            now += static_cast<TimestampMs>(below(200));
            for (auto it = rows.begin(); it != rows.end();) {
                if (is_aged(policy, it->second, now)) {
                    if (auto left = without_start(policy, it->second)) {
                        it->second = *left;
                        ++it;
                    } else {
                        it = rows.erase(it);
                    }
                } else {
                    ++it;
                }
            }
            const auto who = static_cast<std::uint16_t>(below(12));
            const auto it = rows.find(who);
            if (below(3) == 0 && it != rows.end()) {
                if (auto left = without_slot(policy, it->second)) {
                    it->second = *left;
                } else {
                    rows.erase(it);
                }
            } else {
                const Admission* held = it != rows.end() ? &it->second : nullptr;
                const Start start = below(5) == 0 ? Start::resumed : Start::fresh;
                QuotaWindow window;
                const auto answer = ask(policy, window, held, start, now);
                if (answer == AdmissionOutcome::admitted ||
                    answer == AdmissionOutcome::already_admitted) {
                    const Admission given =
                        admit(policy, window, {{who, {}}, {}}, held, start, now);
                    if (given.admitted_at || given.slot_at) {
                        rows[who] = given;
                    }
                }
            }
            std::uint64_t slots = 0;
            std::uint64_t starts = 0;
            for (const auto& [id, row] : rows) {
                slots += row.slot_at ? 1 : 0;
                starts += row.admitted_at ? 1 : 0;
            }
            ASSERT_EQ(policy.running, slots);
            ASSERT_EQ(policy.in_window, starts);
            ASSERT_TRUE(policy.limits.max_concurrent == 0 || slots <= policy.limits.max_concurrent);
            ASSERT_TRUE(policy.limits.max_requests_per_window == 0 ||
                        starts <= policy.limits.max_requests_per_window);
        }
    }
}

}  // namespace
}  // namespace ff::core
