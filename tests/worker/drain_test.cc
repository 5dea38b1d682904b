// How a worker stops: it lets handlers finish, then asks them to, then gives their work back.
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "worker/rig.h"

namespace ff::worker::test {

class Draining : public WorkerTest {
  protected:
    /// Waits at the gate, whatever its stop token says.
    void add_stubborn_handler(Worker& worker) {
        worker.on("k", [this](Task& task) {
            gate.pass();
            cause = task.cancel_cause();
            return std::string("done");
        });
    }
    ExecutionId begin() {
        const ExecutionId id = submit(Submit("k"));
        EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; })) << lines->all();
        return id;
    }

    Gate gate;
    std::atomic<CancelCause> cause{CancelCause::none};
};

/// Stops a worker on a thread of its own.
class Stopping {
  public:
    explicit Stopping(Worker& worker)
        : thread_([this, &worker] {
              result_ = worker.stop();
              done_ = true;
          }) {}
    [[nodiscard]] bool done() const { return done_; }
    expected<void> join() {
        thread_.join();
        return result_;
    }

  private:
    std::atomic<bool> done_{false};
    expected<void> result_;
    std::thread thread_;
};

TEST_F(Draining, HandlersFinishWithTheirLeasesRenewed) {
    Worker worker(engine, options());
    add_stubborn_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    Stopping stopping(worker);
    clock->advance(10'000);
    ASSERT_TRUE(eventually([&] { return worker.stats().renewals == 1; }));
    clock->advance(10'000);
    ASSERT_TRUE(eventually([&] { return worker.stats().renewals == 2; }));
    EXPECT_FALSE(stopping.done());
    gate.open();
    EXPECT_TRUE(stopping.join());
    EXPECT_EQ(state(id), PublicState::completed);
    EXPECT_EQ(cause, CancelCause::none);
}

TEST_F(Draining, NothingIsClaimedAnyMoreAndTheWorkerSignsOff) {
    Worker worker(engine, options());
    add_stubborn_handler(worker);
    start(worker);
    begin();
    worker.request_stop();
    Stopping stopping(worker);
    const ExecutionId later = submit(Submit("k"));
    gate.open();
    EXPECT_TRUE(stopping.join());
    EXPECT_EQ(state(later), PublicState::waiting);
    EXPECT_EQ(engine->last<MarkWorkerDead>()->reason, "shutdown");
    EXPECT_EQ(registered(), 0U);
}

TEST_F(Draining, AWaitingClaimIsGivenUpAtOnce) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    ASSERT_TRUE(eventually([&] { return engine->stats().waiting_claims == 1; }));
    EXPECT_TRUE(worker.stop()) << "time stands still: only giving up the claim can end this";
}

TEST_F(Draining, PastTheTimeoutHandlersAreAskedToStop) {
    Worker worker(engine, options());
    std::atomic<TimestampMs> asked_at{0};
    worker.on("k", [&](Task& task) {
        const std::stop_callback stop(task.stop_token(), [&] {
            asked_at = clock->now();
            gate.open();
        });
        gate.pass();
        cause = task.cancel_cause();
        throw TaskFailure("transient", "interrupted");
    });
    start(worker);
    const ExecutionId id = begin();
    const TimestampMs begun_at = clock->now();
    Stopping stopping(worker);
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return stopping.done();
    })) << lines->all();
    EXPECT_TRUE(stopping.join());
    EXPECT_GE(asked_at, begun_at + 30'000);
    EXPECT_EQ(cause, CancelCause::drain);
    EXPECT_EQ(wait(id).reason, "interrupted");
    EXPECT_EQ(worker.stats().released, 0U);
}

TEST_F(Draining, WorkOfAHandlerThatDoesNotHeedIsGivenBack) {
    WorkerOptions given = options();
    given.drain_timeout = 1s;
    Worker worker(engine, given);
    add_stubborn_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    Stopping stopping(worker);
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return worker.stats().released == 1;
    }));
    ASSERT_TRUE(eventually([&] { return registered() == 0; }));
    EXPECT_FALSE(stopping.done()) << "a handler is never killed";

    // Somebody else goes on with the same attempt, while the first one is still at it.
    WorkerOptions second = options();
    second.worker_instance_id = "w-2";
    Worker other(engine, second);
    other.on("k", [](Task& task) {
        return std::string(task.resumed() ? "resumed" : "anew") + " " +
               std::to_string(task.attempt_index());
    });
    start(other);
    EXPECT_EQ(wait(id).bytes(), "resumed 0");
    gate.open();
    EXPECT_TRUE(stopping.join());
    EXPECT_EQ(wait(id).bytes(), "resumed 0") << "the late completion changed nothing";
    EXPECT_EQ(lines->count("complete was refused: execution_not_active"), 1U) << lines->all();
    EXPECT_EQ(client->inspect(id)->retry_count + client->inspect(id)->lease_reclaim_count, 0U);
}

TEST_F(Draining, WhatCannotBeGivenBackIsLeftToExpire) {
    WorkerOptions given = options();
    given.drain_timeout = 0s;
    Worker worker(engine, given);
    add_stubborn_handler(worker);
    start(worker);
    begin();
    engine->refuse(always<Release>({ErrorCode::store_io, "unreachable", {}}));
    Stopping stopping(worker);
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return lines->contain("could not be given back, its lease will expire");
    }));
    gate.open();
    EXPECT_TRUE(stopping.join());
}

TEST_F(Draining, AnEngineThatDoesNotAnswerHoldsUpTheEndOnlySoLong) {
    WorkerOptions given = options();
    given.drain_timeout = 0s;
    Worker worker(engine, given);
    add_stubborn_handler(worker);
    start(worker);
    begin();
    engine->hold("release");
    Stopping stopping(worker);
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return lines->contain("could not be given back, its lease will expire: timeout");
    })) << lines->all();
    gate.open();
    EXPECT_TRUE(stopping.join());
    engine->let_go();
}

TEST_F(Draining, ACompletionUnderWayIsNotGivenToSomebodyElse) {
    WorkerOptions given = options();
    given.drain_timeout = 0s;
    Worker worker(engine, given);
    worker.on("k", [] { return 1; });
    engine->refuse(always<Complete>({ErrorCode::store_io, "unreachable", {}}));
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return engine->count("complete") >= 1; }));
    Stopping stopping(worker);
    ASSERT_TRUE(eventually([&] {
        clock->advance(10);
        return stopping.done();
    })) << lines->all();
    EXPECT_TRUE(stopping.join());
    EXPECT_EQ(worker.stats().released, 0U);
    EXPECT_EQ(state(id), PublicState::active);
}

TEST_F(Draining, StoppingTwiceIsStoppingOnce) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    EXPECT_TRUE(worker.stop());
    EXPECT_TRUE(worker.stop());
    EXPECT_EQ(engine->count("mark_worker_dead"), 1U);
    Worker unstarted(engine, options());
    EXPECT_TRUE(unstarted.stop());
}

TEST_F(Draining, TheDestructorStops) {
    {
        Worker worker(engine, options());
        worker.on("k", [] {});
        start(worker);
        EXPECT_EQ(registered(), 1U);
    }
    EXPECT_EQ(registered(), 0U);
}

TEST_F(Draining, AHandlerMayAskForTheStop) {
    Worker worker(engine, options());
    worker.on("k", [&] { worker.request_stop(); });
    const ExecutionId id = submit(Submit("k"));
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(state(id), PublicState::completed);
}

// ----------------------------------------------------------------------------------------- signals

TEST_F(Draining, RunEndsWithASignalAndPutsTheOldHandlersBack) {
    for (const int number : {SIGTERM, SIGINT}) {
        struct sigaction before{};
        sigaction(number, nullptr, &before);
        Worker worker(engine, options());
        worker.on("k", [] { return 1; });
        std::thread runner([&] { EXPECT_TRUE(worker.run()); });
        EXPECT_TRUE(wait(submit(Submit("k"))).completed());
        ::kill(::getpid(), number);
        runner.join();
        struct sigaction after{};
        sigaction(number, nullptr, &after);
        EXPECT_EQ(before.sa_handler, after.sa_handler);
        EXPECT_EQ(registered(), 0U);
    }
}

TEST_F(Draining, ASignalReachesEveryWorkerThatRuns) {
    WorkerOptions second = options();
    second.worker_instance_id = "w-2";
    Worker one(engine, options());
    Worker two(engine, second);
    one.on("k", [] {});
    two.on("k", [] {});
    std::thread first([&] { EXPECT_TRUE(one.run()); });
    std::thread other([&] { EXPECT_TRUE(two.run()); });
    ASSERT_TRUE(eventually([&] { return registered() == 2; }));
    ::kill(::getpid(), SIGTERM);
    first.join();
    other.join();
    EXPECT_EQ(registered(), 0U);
}

TEST_F(Draining, RunTellsWhyItCouldNotStart) {
    WorkerOptions given = options();
    given.lanes.clear();
    Worker worker(engine, given);
    worker.on("k", [] {});
    const auto ended = worker.run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().message(), "invalid_config: at least one lane is required");
}

}  // namespace ff::worker::test
