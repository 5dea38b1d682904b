// Reads that wait: every one is answered, also when the engine stops around them; and none does
// what another has done.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/conformance.h"
#include "engine/tail_desk.h"
#include "store/sqlite_store.h"

namespace ff::engine::test {
namespace {

/// Many who wait and many who write while the engine stops.
void stop_among_readers(int round) {
    EngineOptions options;
    options.pool_size = 2 + round % 3;
    auto opened = Engine::open("memory:", options);
    ASSERT_TRUE(opened) << opened.error().message();
    const std::shared_ptr<Engine> engine = *opened;
    ASSERT_TRUE(engine->run(job()));
    const auto claimed = engine->run(claim_by("w1"));
    ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
    const Handle handle = claimed->tasks[0].handle;

    std::atomic<int> asked = 0;
    std::atomic<int> answered = 0;
    std::atomic<bool> over = false;
    std::stop_source leaving;
    const auto ask = [&](int i) {
        asked += 2;
        TailStream tail;
        tail.execution_id = handle.execution_id;
        tail.attempt_index = handle.attempt_index;
        tail.block_ms = 30'000;
        tail.after = FrameId{std::numeric_limits<TimestampMs>::max() / 2, 0};
        ReadEvents events;
        events.family = static_cast<EventFamily>(i % static_cast<int>(enum_count<EventFamily>));
        events.block_ms = 30'000;
        if (i % 3 == 0) {
            events.abandoned = tail.abandoned = leaving.get_token();
        }
        engine->async(tail, [&](const expected<StreamPage>&) { answered += 1; });
        engine->async(events, [&](const expected<EventPage>&) { answered += 1; });
    };
    for (int i = 0; i < 50; ++i) {
        ask(i);
    }
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        AppendFrames append;
        append.lease = handle;
        append.frames.resize(1);
        while (!over) {
            engine->async(append, [](const expected<AppendResult>&) {});
            engine->async(job(), [](const expected<CreateResult>&) {});
            std::this_thread::yield();
        }
    });
    threads.emplace_back([&] {
        for (int i = 0; !over; ++i) {
            ask(i);
            std::this_thread::yield();
        }
    });
    threads.emplace_back([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + round % 7));
        leaving.request_stop();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + round % 5));
    engine->stop();
    over = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(answered, asked);
}

TEST(WaitingReads, AllAreAnsweredWhenTheEngineStops) {
    for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
        stop_among_readers(round);
    }
}

StreamPage page_of(std::initializer_list<const char*> types) {
    StreamPage page;
    TimestampMs at = 1;
    for (const char* type : types) {
        StreamFrame frame;
        frame.id = {at++, 0};
        frame.frame_type = type;
        page.frames.push_back(std::move(frame));
    }
    return page;
}

TEST(WaitingReads, ATailIsMovedOnBehindFramesItDoesNotWant) {
    TailStream op;
    op.after = FrameId{};
    op.frame_types = {"wanted"};
    op.limit = 10;
    EXPECT_TRUE(TailKind::share(op, page_of({"a", "b"})).frames.empty());
    EXPECT_EQ(op.after.id, (FrameId{2, 0}));
    EXPECT_EQ(TailKind::share(op, page_of({"a", "b", "wanted", "c"})).frames.size(), 1U);
    op.after = FrameId{9, 0};
    EXPECT_TRUE(TailKind::share(op, page_of({"a"})).frames.empty());
    EXPECT_EQ(op.after.id, (FrameId{9, 0})) << "and never back";
}

TEST(WaitingReads, ATailThatFindsNothingLooksAtNothingTwice) {
    const TempDir folder;
    auto engine = Engine::open(folder.file("store.db"));
    ASSERT_TRUE(engine) << engine.error().message();
    ASSERT_TRUE((*engine)->run(job()));
    const auto claimed = (*engine)->run(claim_by("w1"));
    ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
    AppendFrames append;
    append.lease = claimed->tasks[0].handle;
    append.frames.resize(200);
    ASSERT_TRUE((*engine)->run(append));
    ASSERT_TRUE((*engine)->run(append));
    engine->reset();
    const auto location = store::parse_location(folder.file("store.db"));
    ASSERT_TRUE(location) << location.error().message();
    auto store = store::SqliteStore::open(*location, {});
    ASSERT_TRUE(store) << store.error().message();
    TailStream op;
    op.execution_id = claimed->tasks[0].execution_id();
    op.after = FrameId{};
    op.frame_types = {"wanted"};
    op.limit = 10;
    const auto page = TailKind::read(op, ReadContext{**store, 1, nullptr});
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_TRUE(page->frames.empty());
    EXPECT_GT(op.after.id.ms, 0) << "behind all of them";
}

}  // namespace
}  // namespace ff::engine::test
