// Finding a moment of creation among numbered executions, whose times rise only nearly.
#include "engine/creation_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace ff::engine::test {
namespace {

using core::Eid;

/// Rows as a store has them, and how often it was asked.
class Rows {
  public:
    explicit Rows(std::vector<Created> rows) : rows_(std::move(rows)) {}

    CreationTimes times() {
        using Answer = expected<std::optional<Created>>;
        return {[this](Eid above) -> Answer {
                    asked += 1;
                    const auto it = std::ranges::upper_bound(rows_, above, {}, &Created::eid);
                    return it == rows_.end() ? std::nullopt : std::optional(*it);
                },
                [this]() -> Answer {
                    asked += 1;
                    return rows_.empty() ? std::nullopt : std::optional(rows_.back());
                }};
    }

    /// Both edges of a moment leave out only what they may, and not much less.
    void expect_edges(TimestampMs at) {
        const auto low = last_before(times(), at);
        const auto high = first_from(times(), at);
        ASSERT_TRUE(low && high);
        for (const Created& row : rows_) {
            EXPECT_TRUE(row.eid > *low || row.at < at) << "left out: " << row.at << " at " << at;
            EXPECT_TRUE(row.eid < *high || row.at >= at) << "left out: " << row.at << " at " << at;
            // What remains to be walked through lies within the slack of clocks and a second.
            if (row.eid > *low) {
                EXPECT_GE(row.at, at - 2 * clock_slack_ms - 1'000);
            }
            if (row.eid < *high) {
                EXPECT_LT(row.at, at + 2 * clock_slack_ms + 1'001);
            }
        }
    }

    int asked = 0;

  private:
    std::vector<Created> rows_;
};

/// Times that rise by up to `step_ms`, each off by up to `noise_ms`.
std::vector<Created> rows_of(std::mt19937& random, std::size_t count, DurationMs step_ms,
                             DurationMs noise_ms, bool numbers_are_times) {
    std::vector<Created> rows;
    Eid eid = 0;
    TimestampMs time = 1'700'000'000'000;
    for (std::size_t i = 0; i < count; ++i) {
        time += static_cast<DurationMs>(random() % static_cast<std::uint64_t>(step_ms + 1));
        eid = numbers_are_times ? std::max(eid + 1, (time - 1'577'836'800'000) << 22U)
                                : eid + 1 + static_cast<Eid>(random() % 3);
        const auto noise =
            static_cast<DurationMs>(random() % static_cast<std::uint64_t>(noise_ms + 1));
        rows.push_back({eid, time - noise});
    }
    return rows;
}

TEST(CreationTime, EdgesLeaveOutOnlyWhatTheyMay) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const bool numbers_are_times = round % 2 == 0;
        const DurationMs step = std::vector<DurationMs>{0, 5, 1'000, 3'600'000}[random() % 4];
        const DurationMs noise = round % 3 == 0 ? clock_slack_ms : 0;
        const auto made = rows_of(random, 1 + random() % 300, step, noise, numbers_are_times);
        Rows rows(made);
        for (int i = 0; i < 20; ++i) {
            const TimestampMs near = made[random() % made.size()].at;
            rows.expect_edges(near + static_cast<DurationMs>(random() % 40'001) - 20'000);
        }
        rows.expect_edges(0);
        rows.expect_edges(std::int64_t{1} << 53U);
        if (HasFailure()) {
            return;
        }
    }
}

TEST(CreationTime, NothingIsLeftOutOfAnEmptyStore) {
    Rows rows({});
    EXPECT_EQ(last_before(rows.times(), 5), 0);
    EXPECT_EQ(first_from(rows.times(), 5), std::numeric_limits<Eid>::max());
}

TEST(CreationTime, AFewRowsAreAskedForHoweverManyThereAre) {
    std::mt19937 random(11);
    // A hundred thousand in a row, and as many whose numbers are made of the time.
    for (const bool numbers_are_times : {false, true}) {
        const auto made = rows_of(random, 100'000, 2'000, 0, numbers_are_times);
        Rows rows(made);
        int most = 0;
        for (int i = 0; i < 200; ++i) {
            rows.asked = 0;
            ASSERT_TRUE(last_before(rows.times(), made[random() % made.size()].at));
            most = std::max(most, rows.asked);
        }
        EXPECT_LE(most, 40);
    }
    // The worst there can be: a gap of sixty bits, and times that say nothing of it.
    std::vector<Created> odd;
    for (Eid i = 1; i <= 1'000; ++i) {
        odd.push_back({i, i * 10'000});
    }
    odd.push_back({Eid{1} << 62U, 10'010'000});
    Rows rows(odd);
    rows.expect_edges(5'000'000);
    EXPECT_LE(rows.asked, 2 * (2 + 2 * 63));
}

TEST(CreationTime, AFaultOfTheStoreIsPassedOn) {
    const CreationTimes broken{
        [](Eid) -> expected<std::optional<Created>> { return ff::fail(ErrorCode::store_io, "x"); },
        []() -> expected<std::optional<Created>> { return std::nullopt; }};
    EXPECT_EQ(last_before(broken, 5).error().code, ErrorCode::store_io);
    EXPECT_EQ(first_from(broken, 5).error().code, ErrorCode::store_io);
}

}  // namespace
}  // namespace ff::engine::test
