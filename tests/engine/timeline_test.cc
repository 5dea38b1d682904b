// Timelines that are longer than what is walked at once: nothing is left out without a word.
#include <gtest/gtest.h>

#include <future>

#include "engine/conformance.h"

namespace ff::engine::test {
namespace {

constexpr int many = 10'050;

class LongTimeline : public testing::Test {
  protected:
    void SetUp() override { open({.event_rows_max = 0}); }
    void open(const EngineOptions& options) {
        auto opened = Engine::open("memory:", options);
        ASSERT_TRUE(opened) << opened.error().message();
        engine_ = *opened;
        ASSERT_TRUE(engine_->run(job()));
        claim();
    }
    void claim() {
        const auto claimed = engine_->run(claim_by("w1"));
        ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
        task_ = claimed->tasks[0];
    }
    /// All of them, in transactions of many.
    void run(const std::vector<Request>& requests) {
        std::promise<std::vector<Response>> answered;
        engine_->call_many(requests, [&](std::vector<Response> responses) {
            answered.set_value(std::move(responses));
        });
        for (const Response& response : answered.get_future().get()) {
            ASSERT_TRUE(response) << response.error().message();
        }
    }
    struct Told {
        std::vector<Event> events;
        std::optional<EventGap> gap;
    };
    Told timeline() {
        Told out;
        ReadTimeline op{task_.execution_id()};
        op.limit = 1'000;
        for (;;) {
            const auto page = engine_->run(op);
            EXPECT_TRUE(page) << page.error().message();
            if (!page) {
                return out;
            }
            out.gap = page->gap ? page->gap : out.gap;
            out.events.insert(out.events.end(), page->events.begin(), page->events.end());
            if (page->at_end) {
                return out;
            }
            op.cursor = page->next_cursor;
        }
    }

    std::shared_ptr<Engine> engine_;
    ClaimedTask task_;
};

TEST_F(LongTimeline, TheNewestOfManyTagsAreThere) {
    std::vector<Request> requests;
    for (int i = 0; i < many; ++i) {
        SetExecutionTags op;
        op.execution_id = task_.execution_id();
        op.tags["turn.n"] = std::to_string(i);
        requests.emplace_back(std::move(op));
    }
    run(requests);
    const Told told = timeline();
    EXPECT_FALSE(told.gap);
    ASSERT_EQ(told.events.size(), static_cast<std::size_t>(many) + 1);
    EXPECT_NE(told.events.back().payload.find("\"" + std::to_string(many - 1) + "\""),
              std::string::npos)
        << told.events.back().payload;
}

TEST_F(LongTimeline, OneWhoseTagsAreGoneSaysSo) {
    open({.event_rows_max = 4});
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(
            engine_->run(SetExecutionTags{task_.execution_id(), {{"turn.n", std::to_string(i)}}}));
    }
    EXPECT_FALSE(timeline().gap);
    ASSERT_TRUE(engine_->run(RunScanner{"event_trimmer"}));
    const Told told = timeline();
    ASSERT_EQ(told.events.size(), 5U) << "acquired, and four of the tags";
    EXPECT_EQ(told.events.front().type, "acquired");
    ASSERT_TRUE(told.gap) << "the oldest tags are left out";
    EXPECT_GT(told.gap->oldest, told.events[0].cursor);
    EXPECT_LT(told.gap->oldest, told.events[1].cursor);
    ReadTimeline rest{task_.execution_id()};
    rest.cursor = told.gap->oldest;
    const auto page = engine_->run(rest);
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_FALSE(page->gap) << "nothing is missing from here on";
    EXPECT_EQ(page->events.size(), 4U);
}

}  // namespace
}  // namespace ff::engine::test
