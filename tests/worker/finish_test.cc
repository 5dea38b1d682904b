// The operation that ends a task when the engine is hard to reach: it is repeated with the same
// lease until it got through or the lease is over.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "worker/rig.h"

namespace ff::worker::test {

class Finishing : public WorkerTest {
  protected:
    static Error unreachable() { return {ErrorCode::store_io, "unreachable", {}}; }
};

TEST_F(Finishing, AFaultOnTheWayIsTriedAgain) {
    Worker worker(engine, options());
    worker.on("k", [] { return 42; });
    engine->refuse(always<Complete>(unreachable()));
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    for (std::size_t tries = 1; tries <= 4; ++tries) {
        ASSERT_TRUE(eventually([&] {
            clock->advance(50);
            return engine->count("complete") >= tries;
        }));
    }
    EXPECT_EQ(state(id), PublicState::active);
    engine->refuse({});
    ASSERT_TRUE(eventually([&] {
        clock->advance(50);
        return state(id) == PublicState::completed;
    }));
    EXPECT_EQ(wait(id).as<int>(), 42);
    EXPECT_EQ(lines->count("complete did not get through and is tried again"), 1U);
    EXPECT_TRUE(eventually([&] { return worker.stats().completed == 1; }));
}

TEST_F(Finishing, ALostAnswerIsFoundOutByRepeating) {
    for (const bool fails : {false, true}) {
        Worker worker(engine, options());
        worker.on("k", [fails] {
            if (fails) {
                throw std::runtime_error("boom");
            }
            return 7;
        });
        std::atomic<int> lost{0};
        engine->lose_answers([&](const Request& request) -> std::optional<Error> {
            const bool finishing =
                ff::holds_alternative<Complete>(request) || ff::holds_alternative<Fail>(request);
            if (finishing && lost++ == 0) {
                return unreachable();
            }
            return std::nullopt;
        });
        start(worker);
        const ExecutionId id = submit(Submit("k"));
        ASSERT_TRUE(eventually([&] {
            clock->advance(50);
            return worker.stats().completed + worker.stats().failed == 1;
        }));
        EXPECT_EQ(state(id), fails ? PublicState::failed : PublicState::completed);
        EXPECT_EQ(worker.stats().lost, 0U);
        engine->lose_answers({});
    }
    EXPECT_EQ(engine->count("complete"), 2U);
    EXPECT_EQ(engine->count("fail"), 2U);
}

TEST_F(Finishing, RenewalsGoOnMeanwhile) {
    Worker worker(engine, options());
    worker.on("k", [] { return 1; });
    engine->refuse(always<Complete>(unreachable()));
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    // Twice the lease's time, in steps small enough for the renewals between them.
    for (std::uint64_t tick = 1; tick <= 6; ++tick) {
        ASSERT_TRUE(eventually([&] {
            clock->advance(100);
            return worker.stats().renewals >= tick;
        }));
    }
    EXPECT_EQ(client->inspect(id)->total_attempt_count, 1U);
    engine->refuse({});
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return state(id) == PublicState::completed;
    }));
}

TEST_F(Finishing, TheLeaseIsTheLimit) {
    Worker worker(engine, options());
    std::atomic<int> calls{0};
    worker.on("k", [&] { calls += 1; });
    engine->refuse([](const Request& request) -> std::optional<Error> {
        const bool touches =
            ff::holds_alternative<Complete>(request) || ff::holds_alternative<Renew>(request);
        return touches ? std::optional<Error>(unreachable()) : std::nullopt;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    const TimestampMs claimed_at = clock->now();
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return worker.stats().lost == 1;
    }));
    EXPECT_GE(clock->now(), claimed_at + 30'000);
    EXPECT_TRUE(eventually([&] {
        return lines->contain("did not get through before the lease ended");
    })) << lines->all();
    // Then it is taken over like the work of a worker that died.
    engine->refuse({});
    EXPECT_TRUE(eventually([&] {
        clock->advance(100);
        return state(id) == PublicState::completed;
    }));
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(client->inspect(id)->lease_reclaim_count, 1U);
}

TEST_F(Finishing, ARenewalThatFindsTheTaskEndedDoesNotStopItsHandler) {
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) -> Result {
        const std::stop_callback stop(task.stop_token(), [&] { asked = true; });
        return task.complete("done");
    });
    // It was carried out, but nobody hears of it until the second renewal has been answered.
    std::atomic<bool> deaf{true};
    engine->lose_answers([&](const Request& request) -> std::optional<Error> {
        return deaf && ff::holds_alternative<Complete>(request)
                   ? std::optional<Error>(unreachable())
                   : std::nullopt;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return engine->count("renew") >= 1;
    }));
    deaf = false;
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return worker.stats().completed == 1;
    }));
    EXPECT_FALSE(asked);
    EXPECT_EQ(worker.stats().lost, 0U);
    EXPECT_EQ(state(id), PublicState::completed);
}

TEST_F(Finishing, ATypedRefusalIsNotTriedAgain) {
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) {
        client->cancel(task.execution_id(), "while it ran");
        return 1;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    EXPECT_EQ(wait(id).state, PublicState::cancelled);
    ASSERT_TRUE(eventually([&] { return worker.stats().lost == 1; }));
    EXPECT_EQ(engine->count("complete"), 1U);
    EXPECT_EQ(engine->count("fail"), 0U);
    EXPECT_TRUE(eventually(
        [&] { return lines->count("complete was refused: execution_not_active") == 1; }));
}

}  // namespace ff::worker::test
