// Following what an execution says: over its attempts, to its end, from any place.
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <ff/client.h>
#include <ff/testing.h>

#include "support/eventually.h"
#include "support/faulty_engine.h"

namespace ff::client::test {

using ff::support::eventually;

class Follow : public ::testing::Test {
  protected:
    using Texts = std::vector<std::string>;

    ExecutionId submit(std::uint32_t retries = 0, DurationMs backoff_ms = 0) {
        Backoff backoff;
        backoff.type = Backoff::Type::fixed;
        backoff.delay_ms = backoff_ms;
        return client.submit(Submit("k").retries(retries).backoff(backoff)).id();
    }
    Handle claim() {
        Claim op;
        op.lanes = {"default"};
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lease_ttl_ms = 600'000;
        const auto tasks = value_or_throw(base->run(op)).tasks;
        EXPECT_EQ(tasks.size(), 1U);
        return tasks.empty() ? Handle{} : tasks[0].handle;
    }
    void say(const Handle& handle, const std::string& text, const std::string& type = "log",
             FrameMode mode = FrameMode::durable) {
        AppendFrames op;
        op.lease = handle;
        op.frames.resize(1);
        op.frames[0].frame_type = type;
        op.frames[0].payload = text;
        op.frames[0].mode = mode;
        (void)value_or_throw(base->run(op));
    }
    void fail(const Handle& handle) {
        (void)value_or_throw(base->run(Fail{handle, "boom", "transient"}));
    }
    void complete(const Handle& handle) {
        (void)value_or_throw(base->run(Complete{handle, std::nullopt, std::nullopt}));
    }
    /// One that has failed once and then completed; each attempt said two things.
    ExecutionId two_attempts() {
        const ExecutionId id = submit(1);
        const Handle first = claim();
        say(first, "a");
        say(first, "b");
        fail(first);
        const Handle second = claim();
        say(second, "c");
        say(second, "d");
        complete(second);
        return id;
    }
    static Texts texts(Following following) {
        Texts out;
        for (const FollowedFrame& frame : following) {
            out.push_back(std::to_string(frame.attempt_index) + frame.text());
        }
        return out;
    }

    std::shared_ptr<ff::testing::Engine> base = std::make_shared<ff::testing::Engine>();
    std::shared_ptr<support::FaultyEngine> engine = std::make_shared<support::FaultyEngine>(base);
    Client client{engine, {.ns = "acme", .clock = base->clock()}};
};

/// Follows on a thread of its own; what it heard may be asked for meanwhile.
class Listener {
  public:
    explicit Listener(Following following)
        : thread_([this, following = std::move(following)]() mutable {
              while (const auto frame = following.next()) {
                  const std::lock_guard lock(mutex_);
                  heard_ += std::to_string(frame->attempt_index) + frame->text() + " ";
              }
              ended_ = following.ended();
              over_ = true;
          }) {}

    [[nodiscard]] std::string heard() const {
        const std::lock_guard lock(mutex_);
        return heard_;
    }
    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] bool ended() const { return ended_; }

  private:
    mutable std::mutex mutex_;
    std::string heard_;  // guarded by mutex_
    std::atomic<bool> ended_{false};
    std::atomic<bool> over_{false};
    std::jthread thread_;
};

TEST_F(Follow, GoesThroughAllAttemptsOfOneThatHasEnded) {
    const ExecutionId id = two_attempts();
    EXPECT_EQ(texts(client.follow(id)), (Texts{"0a", "0b", "1c", "1d"}));
    EXPECT_EQ(texts(client.follow(id, 0)), (Texts{"0a", "0b"}));
    EXPECT_EQ(texts(client.follow(id, 1)), (Texts{"1c", "1d"}));
    EXPECT_EQ(texts(client.follow(id, 2)), Texts{}) << "there will be no such attempt";
    Following all = client.follow(id);
    while (all.next()) {
    }
    EXPECT_TRUE(all.ended());
    EXPECT_EQ(all.closed_reason(), StreamClosedReason::attempt_success);
    EXPECT_FALSE(all.next()) << "and stays there";
}

TEST_F(Follow, HearsEachFrameAsItIsSaidAndGoesOnWithTheNextAttempt) {
    const ExecutionId id = submit(1);
    Listener listener(client.follow(id));
    ASSERT_TRUE(eventually([&] { return engine->count("tail_stream") >= 1; }));
    const Handle first = claim();
    say(first, "a");
    EXPECT_TRUE(eventually([&] { return listener.heard() == "0a "; }));
    say(first, "b");
    EXPECT_TRUE(eventually([&] { return listener.heard() == "0a 0b "; }));
    fail(first);
    const Handle second = claim();
    say(second, "c");
    EXPECT_TRUE(eventually([&] { return listener.heard() == "0a 0b 1c "; }));
    EXPECT_FALSE(listener.over());
    complete(second);
    EXPECT_TRUE(eventually([&] { return listener.over(); }));
    EXPECT_TRUE(listener.ended());
}

TEST_F(Follow, EndsWhenTheAttemptItWaitsForWillNeverCome) {
    const ExecutionId id = submit(1, 3'600'000);
    Listener listener(client.follow(id));
    const Handle first = claim();
    say(first, "a");
    fail(first);
    EXPECT_TRUE(eventually([&] {
        const auto last = engine->last<TailStream>();
        return last && last->attempt_index == 1;
    }));
    EXPECT_FALSE(listener.over()) << "it may come in an hour";
    client.cancel(id, "enough");
    EXPECT_TRUE(eventually([&] {
        base->advance(std::chrono::milliseconds(500));
        return listener.over();
    }));
    EXPECT_TRUE(listener.ended());
    EXPECT_EQ(listener.heard(), "0a ");
}

TEST_F(Follow, GoesOnFromWhereItStopped) {
    const ExecutionId id = two_attempts();
    Following first = client.follow(id);
    EXPECT_EQ(first.cursor(), FollowCursor{});
    (void)first.next();
    const FollowCursor place = first.cursor();
    FollowOptions options;
    options.from = *FollowCursor::parse(place.to_string());
    EXPECT_EQ(texts(client.follow(id, options)), (Texts{"0b", "1c", "1d"}));
    while (first.next()) {
    }
    options.from = first.cursor();
    EXPECT_EQ(options.from.attempt_index, 1U);
    EXPECT_EQ(texts(client.follow(id, options)), Texts{});
}

TEST_F(Follow, ShowsOnlyWhatIsWanted) {
    const ExecutionId id = submit();
    const Handle handle = claim();
    say(handle, "a", "log");
    say(handle, "b", "delta", FrameMode::best_effort);
    say(handle, "c", "step");
    complete(handle);
    FollowOptions types;
    types.frame_types = {"delta", "step"};
    EXPECT_EQ(texts(client.follow(id, types)), (Texts{"0b", "0c"}));
    FollowOptions lasting;
    lasting.visibility = StreamVisibility::exclude_best_effort;
    EXPECT_EQ(texts(client.follow(id, lasting)), (Texts{"0a", "0c"}));
}

TEST_F(Follow, NeedNotWait) {
    const ExecutionId id = submit(1);
    FollowOptions now;
    now.wait = false;
    EXPECT_EQ(texts(client.follow(id, now)), Texts{}) << "it has not begun";
    const Handle handle = claim();
    say(handle, "a");
    Following open = client.follow(id, now);
    EXPECT_TRUE(open.next());
    EXPECT_FALSE(open.next());
    EXPECT_FALSE(open.ended());
    fail(handle);
    EXPECT_EQ(texts(client.follow(id, now)), Texts{"0a"}) << "the next attempt has not begun";
}

TEST_F(Follow, EndsWhenItIsToldTo) {
    const ExecutionId id = submit();
    const Handle handle = claim();
    std::stop_source stop;
    FollowOptions options;
    options.stop = stop.get_token();
    Listener listener(client.follow(id, options));
    say(handle, "a");
    EXPECT_TRUE(eventually([&] { return listener.heard() == "0a "; }));
    EXPECT_FALSE(listener.over());
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return listener.over(); }));
    EXPECT_FALSE(listener.ended());
}

TEST_F(Follow, AnEngineThatIsAwayIsWaitedFor) {
    const ExecutionId id = two_attempts();
    std::atomic<int> asked{0};
    engine->refuse([&](const Request&) -> std::optional<Error> {
        return asked++ == 1 ? std::optional<Error>({ErrorCode::store_io, "away", {}})
                            : std::nullopt;
    });
    EXPECT_EQ(texts(client.follow(id)).size(), 4U);
    engine->refuse(support::always<TailStream>({ErrorCode::store_io, "away", {}}));
    FollowOptions hasty;
    hasty.patience = std::chrono::milliseconds(0);
    Following following = client.follow(id, hasty);
    EXPECT_EQ(following.try_next().error().code, ErrorCode::store_io);
    engine->refuse({});
    EXPECT_TRUE(following.next()) << "after an error it may be asked again";
}

TEST_F(Follow, OfNothingIsAnError) {
    ExecutionId id = submit();
    id.uuid.bytes[0] ^= 1U;
    EXPECT_EQ(client.follow(id).try_next().error().code, ErrorCode::execution_not_found);
}

TEST_F(Follow, TheSummaryIsThatOfTheLatestAttempt) {
    const ExecutionId id = submit(1);
    EXPECT_FALSE(client.summary(id));
    const Handle first = claim();
    say(first, R"({"n":1})", "summary", FrameMode::summary);
    fail(first);
    const Handle second = claim();
    EXPECT_FALSE(client.summary(id)) << "the second attempt has none yet";
    say(second, R"({"n":2})", "summary", FrameMode::summary);
    EXPECT_EQ(client.summary(id)->document, R"({"n":2})");
    EXPECT_EQ(client.summary(id, 0)->document, R"({"n":1})");
}

TEST(FollowCursors, AreWrittenAndRead) {
    const FollowCursor place{2, {1'700'000'000'000, 7}};
    EXPECT_EQ(place.to_string(), "2:1700000000000-7");
    EXPECT_EQ(*FollowCursor::parse("2:1700000000000-7"), place);
    EXPECT_EQ(*FollowCursor::parse("1:0-0"), (FollowCursor{1, {}}));
    EXPECT_EQ(*FollowCursor::parse("1:start"), (FollowCursor{1, {}}));
    for (const char* wrong :
         {"", "1", ":1-0", "x:1-0", "1:", "1:end", "-1:1-0", "1:1-0 ", "1 :1"}) {
        EXPECT_FALSE(FollowCursor::parse(wrong)) << wrong;
    }
}

}  // namespace ff::client::test
