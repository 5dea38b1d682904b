// The trimmer of events: so many at a time, and on until it is done.
#include <gtest/gtest.h>

#include "engine/conformance.h"

namespace ff::engine::test {
namespace {

constexpr std::size_t events_made = 12'000;

class EventTrimmer : public testing::Test {
  protected:
    /// An engine with many events that are too old; `period_ms` is that of the trimmer, 0: never.
    void open(DurationMs period_ms) {
        EngineOptions options;
        options.clock = clock_;
        options.event_retention_ms = 60'000;
        options.scanner_periods_ms["event_trimmer"] = period_ms;
        auto opened = Engine::open("memory:", options);
        ASSERT_TRUE(opened) << opened.error().message();
        engine_ = *opened;
        const auto made = engine_->run(job());
        ASSERT_TRUE(made);
        std::vector<SetExecutionTags> ops;
        for (std::size_t i = 0; i < events_made; ++i) {
            ops.push_back({made->execution_id, {{"turn.n", std::to_string(i)}}});
        }
        for (const auto& result : engine_->run_all(std::move(ops))) {
            ASSERT_TRUE(result);
        }
        clock_->advance(61'000);
    }
    std::size_t left() {
        ReadEvents op;
        op.family = EventFamily::instance_tags;
        op.cursor = EventCursor::earliest();
        op.limit = 1'000;
        std::size_t count = 0;
        for (;;) {
            const auto page = engine_->run(op);
            EXPECT_TRUE(page) << code_of(page);
            count += page ? page->events.size() : 0;
            if (!page || page->at_end) {
                return count;
            }
            op.cursor = page->next_cursor;
        }
    }

    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(t0);
    std::shared_ptr<Engine> engine_;
};

TEST_F(EventTrimmer, TakesTenThousandAtATimeAndGoesOn) {
    open(0);
    EXPECT_EQ(left(), events_made);
    ASSERT_TRUE(engine_->run(RunScanner{"event_trimmer"}));
    EXPECT_EQ(left(), events_made - 10'000);
    ASSERT_TRUE(engine_->run(RunScanner{"event_trimmer"}));
    EXPECT_EQ(left(), 0U);

    open(60'000);  // by itself it does not wait for the next time
    for (int i = 0; i < 1'000 && left() > 0; ++i) {
        ASSERT_TRUE(engine_->run(RunScanner{"grant_sweep"}));
    }
    EXPECT_EQ(left(), 0U);
}

}  // namespace
}  // namespace ff::engine::test
