// Rules of streams: ids, cursors, how many best-effort frames are kept, when a stream is closed.
#include "core/stream_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ff::core {
namespace {

TEST(FrameIds, NeverGoBack) {
    EXPECT_EQ(next_frame_id({}, 5), (FrameId{5, 0}));
    EXPECT_EQ(next_frame_id({5, 0}, 5), (FrameId{5, 1}));
    EXPECT_EQ(next_frame_id({5, 7}, 4), (FrameId{5, 8})) << "the clock was set back";
    EXPECT_EQ(next_frame_id({5, 7}, 6), (FrameId{6, 0}));
}

TEST(FrameCursors, AreReadAsTheyAreWritten) {
    for (const char* text : {"start", "end", "0", "17", "17-0", "17-5", "0-0",
                             "9223372036854775807-9223372036854775807"}) {
        const auto cursor = FrameCursor::parse(text);
        ASSERT_TRUE(cursor) << text;
        EXPECT_EQ(cursor->to_string(), text);
    }
    EXPECT_EQ(FrameCursor::parse("17")->lower(), (FrameId{17, 0}));
    EXPECT_EQ(FrameCursor::parse("17")->upper(),
              (FrameId{17, std::numeric_limits<std::int64_t>::max()}));
    EXPECT_FALSE(FrameCursor::end().lower());
    EXPECT_FALSE(FrameCursor::start().upper());
}

TEST(FrameCursors, EverythingElseIsRefusedWithWhatIsWrong) {
    const auto why = [](std::string_view text) { return FrameCursor::parse(text).error().detail; };
    EXPECT_NE(why("").find("empty"), std::string::npos);
    for (const char* marker : {"-", "+"}) {
        EXPECT_NE(why(marker).find("use 'start' or 'end'"), std::string::npos) << marker;
    }
    for (const char* text :
         {" 1", "1 ", "-1", "+1", "1-", "-1-2", "1-2-3", "1--2", "0x1", "1.5", "Start",
          "9223372036854775808", "1-9223372036854775808", "\xd9\xa1", "1-+2"}) {
        EXPECT_NE(why(text).find("malformed"), std::string::npos) << text;
    }
}

std::int64_t keep(StreamMeta& meta, TimestampMs at, BestEffort config = {}) {
    return best_effort_maxlen(config, meta, at);
}

TEST(BestEffortFrames, TheFirstKeepsTheFloor) {
    StreamMeta meta;
    EXPECT_EQ(keep(meta, 1'000), 64);
    EXPECT_EQ(meta.maxlen_applied_last, 64);
    EXPECT_EQ(meta.last_append_ts_ms, 1'000);
}

TEST(BestEffortFrames, AHighRateReachesTheCeilingAndAPauseLeavesIt) {
    StreamMeta meta;
    const BestEffort config{30'000, 64, 16'384, 0.2};
    std::int64_t last = 0;
    for (int i = 0; i < 200; ++i) {
        last = keep(meta, 1'000 + 2 * i, config);
    }
    EXPECT_EQ(last, 16'384) << "500 a second for a minute";
    EXPECT_LT(keep(meta, 1'000'000, config), 16'384 * 2);
    for (int i = 0; i < 60; ++i) {
        last = keep(meta, 2'000'000 + 60'000 * i, config);
    }
    EXPECT_EQ(last, 64);
}

TEST(BestEffortFrames, BadSettingsBecomeTheDefaults) {
    for (const double alpha :
         {0.0, -1.0, 1.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
        StreamMeta odd;
        StreamMeta plain;
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(keep(odd, 10 * i, {10'000, 0, -5, alpha}), keep(plain, 10 * i));
        }
        EXPECT_EQ(odd, plain);
    }
    StreamMeta meta;
    EXPECT_EQ(keep(meta, 0, {10'000, 100, 10, 0.2}), 100) << "a ceiling below the floor";
    StreamMeta none;
    EXPECT_EQ(keep(none, 0, {0, 64, 16'384, 0.2}), 64) << "no time to live";
}

TEST(Sweeps, LookWhenSomethingMayGo) {
    StreamMeta meta;
    EXPECT_FALSE(next_sweep(meta, std::nullopt, 100));
    meta.expires_at = 500;
    EXPECT_FALSE(next_sweep(meta, std::nullopt, 100)) << "nothing is left to expire";
    meta.retained_best_effort = 1;
    EXPECT_EQ(next_sweep(meta, std::nullopt, 100), 500);
    meta.retention_ttl_ms = 50;
    EXPECT_EQ(next_sweep(meta, std::nullopt, 100), 150) << "it may close at once";
    EXPECT_EQ(next_sweep(meta, StreamClosure{20, {}}, 100), 70);
}

TEST(DropFrames, NoMoreThanMayGoAtOnce) {
    StreamMeta meta;
    meta.retained_durable = 6;
    meta.retained_summary = 3;
    meta.retained_best_effort = 2;
    Changes changes;
    EXPECT_EQ(drop_frames(meta, 8, changes), 8U);
    EXPECT_EQ(changes.trim_frames,
              (std::vector<FrameTrim>{{{}, FrameMode::durable, 6}, {{}, FrameMode::summary, 2}}));
    EXPECT_EQ(meta.retained(), 3U);
    EXPECT_EQ(drop_frames(meta, FrameMode::best_effort, 8, changes), 2U);
    EXPECT_EQ(drop_frames(meta, 8, changes), 1U);
    EXPECT_EQ(drop_frames(meta, 8, changes), 0U);
    EXPECT_EQ(changes.trim_frames.size(), 4U) << "nothing is told of what was not there";
}

TEST(Closure, FollowsFromTheAttempt) {
    Execution e;
    e.current_attempt_index = 1;
    Attempt row;
    const auto reason = [&](AttemptLifecycle state) {
        row.state = state;
        row.ended_at = 9;
        return closure_of(e, 0, &row);
    };
    using Reason = StreamClosedReason;
    EXPECT_EQ(reason(AttemptLifecycle::ended_success), (StreamClosure{9, Reason::attempt_success}));
    EXPECT_EQ(reason(AttemptLifecycle::ended_failure), (StreamClosure{9, Reason::attempt_failure}));
    EXPECT_EQ(reason(AttemptLifecycle::ended_cancelled),
              (StreamClosure{9, Reason::attempt_cancelled}));
    EXPECT_EQ(reason(AttemptLifecycle::interrupted_reclaimed),
              (StreamClosure{9, Reason::reclaimed}));
    row.closed_as = Reason::suspension_timeout;
    EXPECT_EQ(reason(AttemptLifecycle::ended_failure),
              (StreamClosure{9, Reason::suspension_timeout}));
    EXPECT_FALSE(closure_of(e, 1, nullptr)) << "it runs";
    Attempt paused;
    paused.state = AttemptLifecycle::suspended;
    EXPECT_FALSE(closure_of(e, 1, &paused));
    e.lease_expired_at = 12;
    EXPECT_EQ(closure_of(e, 1, nullptr), (StreamClosure{12, Reason::lease_expired}));
    EXPECT_FALSE(closure_of(e, 2, nullptr)) << "no such attempt yet";
}

}  // namespace
}  // namespace ff::core
