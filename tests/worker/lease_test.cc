// Leases in a worker's hands: renewals, heartbeats, and how a handler learns that it should stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>
#include <string>
#include <vector>

#include "worker/rig.h"

namespace ff::worker::test {

using Names = std::vector<std::string>;

/// A worker whose handler waits at a gate, and what it saw there.
class Leases : public WorkerTest {
  protected:
    struct Seen {
        CancelCause cause = CancelCause::none;
        bool healthy = false;
    };

    /// Waits at the gate until it opens or the task is to stop. A second attempt ends at once.
    void add_waiting_handler(Worker& worker) {
        worker.on("k", [this](Task& task) {
            if (task.attempt_index() > 0) {
                return;
            }
            const std::stop_callback stop(task.stop_token(), [this] { gate.open(); });
            gate.pass();
            const std::lock_guard lock(mutex);
            seen.push_back({task.cancel_cause(), task.lease_healthy()});
        });
    }
    /// Submits one and waits until its handler runs.
    ExecutionId begin(const Submit& request = Submit("k")) {
        const int before = gate.waiting();
        const ExecutionId id = submit(request);
        EXPECT_TRUE(eventually([&] { return gate.waiting() == before + 1; })) << lines->all();
        return id;
    }
    /// What the first handler saw when it went on.
    Seen first_seen() {
        EXPECT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return !seen.empty();
        })) << lines->all();
        const std::lock_guard lock(mutex);
        return seen.empty() ? Seen{} : seen[0];
    }
    LeaseInfo lease(const ExecutionId& id) { return *client->inspect(id)->current_lease; }
    bool called(const Names& names) {
        const auto calls = engine->calls();
        return std::ranges::find(calls, names) != calls.end();
    }

    Gate gate;
    std::mutex mutex;
    std::vector<Seen> seen;  // guarded by mutex
};

TEST_F(Leases, AreRenewedEveryThirdOfTheirTime) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    const TimestampMs claimed_at = clock->now();
    EXPECT_EQ(lease(id).expires_at, claimed_at + 30'000);
    clock->advance(9'999);
    clock->advance(1);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 1; }));
    EXPECT_EQ(lease(id).last_heartbeat_at, claimed_at + 10'000) << "first after one interval";
    EXPECT_EQ(lease(id).expires_at, claimed_at + 40'000);
    clock->advance(10'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 2; }));
    EXPECT_EQ(lease(id).expires_at, claimed_at + 50'000);
    gate.open();
    EXPECT_TRUE(wait(id).completed());
}

TEST_F(Leases, ATaskThatWorksForLongKeepsItsLease) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    for (std::uint64_t tick = 1; tick <= 20; ++tick) {
        clock->advance(10'000);
        EXPECT_TRUE(eventually([&] { return worker.stats().renewals >= tick; }));
    }
    gate.open();
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(client->inspect(id)->total_attempt_count, 1U);
    EXPECT_TRUE(first_seen().healthy);
}

TEST_F(Leases, ARenewalStopsWhenTheTaskIsFinished) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    gate.open();
    wait(id);
    EXPECT_TRUE(eventually([&] { return worker.stats().running == 0; }));
    clock->advance(20'000);
    EXPECT_TRUE(eventually([&] { return called({"heartbeat_worker"}); }));
    EXPECT_EQ(engine->count("renew"), 0U);
}

TEST_F(Leases, AHeartbeatRenewsAllOfThemInOneCall) {
    WorkerOptions given = options();
    given.max_concurrent_tasks = 3;
    given.lease_ttl = 90s;  // every 30 s by itself; heartbeats come every 20 s
    Worker worker(engine, given);
    add_waiting_handler(worker);
    start(worker);
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 3; ++i) {
        ids.push_back(begin());
    }
    clock->advance(20'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 3; }));
    EXPECT_TRUE(called({"heartbeat_worker", "renew", "renew", "renew"}));
    for (const ExecutionId& id : ids) {
        EXPECT_EQ(lease(id).expires_at, clock->now() + 90'000);
    }
    EXPECT_EQ(client->workers().all().at(0).last_heartbeat_ms, clock->now());
    gate.open();
}

TEST_F(Leases, AHeartbeatThatIsNearlyDueGoesAlongWithARenewal) {
    WorkerOptions given = options();
    given.lease_ttl = 57s;  // every 19 s
    Worker worker(engine, given);
    add_waiting_handler(worker);
    start(worker);
    begin();
    clock->advance(19'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 1; }));
    EXPECT_TRUE(called({"heartbeat_worker", "renew"}));
    clock->advance(1'000);  // when it would have been due by itself
    clock->advance(18'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 2; }));
    EXPECT_EQ(engine->count("heartbeat_worker"), 2U);
    gate.open();
}

TEST_F(Leases, ARenewalIsAlwaysCarriedByAHeartbeat) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    begin();
    clock->advance(10'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 1; }));
    EXPECT_TRUE(called({"heartbeat_worker", "renew"}));
    gate.open();
}

TEST_F(Leases, LeasesThatAreNearlyDueShareACall) {
    WorkerOptions given = options();
    given.max_concurrent_tasks = 2;
    Worker worker(engine, given);
    add_waiting_handler(worker);
    start(worker);
    begin();
    clock->advance(1'500);
    begin();
    clock->advance(8'500);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 2; }));
    EXPECT_TRUE(called({"heartbeat_worker", "renew", "renew"}));
    gate.open();
}

TEST_F(Leases, ARevokedLeaseStopsTheHandler) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    client->revoke_lease(id);
    clock->advance(10'000);
    const Seen at_end = first_seen();
    EXPECT_EQ(at_end.cause, CancelCause::lost_lease);
    EXPECT_FALSE(at_end.healthy);
    // Its late completion is refused and told once; then the worker itself takes the work over.
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(lines->count("complete was refused: lease_revoked"), 1U) << lines->all();
    EXPECT_EQ(worker.stats().lost, 1U);
    EXPECT_EQ(client->inspect(id)->total_attempt_count, 2U);
}

TEST_F(Leases, ALostLeaseMayBeIgnored) {
    WorkerOptions given = options();
    given.on_lost_lease = OnLostLease::ignore;
    Worker worker(engine, given);
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    client->revoke_lease(id);
    clock->advance(10'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().lost == 1; }));
    EXPECT_EQ(gate.waiting(), 1) << "nobody asked it to stop";
    gate.open();
    EXPECT_EQ(first_seen().cause, CancelCause::none);
    EXPECT_FALSE(first_seen().healthy);
}

TEST_F(Leases, ACancelledExecutionStopsItsHandlerWithinOneInterval) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    client->cancel(id, "changed my mind");
    clock->advance(10'000);
    EXPECT_EQ(first_seen().cause, CancelCause::cancelled);
    EXPECT_TRUE(eventually([&] {
        return lines->count("complete was refused: execution_not_active") == 1;
    })) << lines->all();
    EXPECT_EQ(wait(id).state, PublicState::cancelled);
}

TEST_F(Leases, ADeadlineStopsTheHandlerWhenItIsReached) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin(Submit("k").deadline(5s));
    clock->advance(5'000);
    EXPECT_EQ(first_seen().cause, CancelCause::deadline);
    EXPECT_EQ(wait(id).state, PublicState::expired);
}

TEST_F(Leases, AnAttemptTimeoutStopsTheHandlerWhenItIsReached) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin(Submit("k").attempt_timeout(7s));
    clock->advance(7'000);
    EXPECT_EQ(first_seen().cause, CancelCause::attempt_timeout);
    EXPECT_EQ(wait(id).state, PublicState::expired);
}

TEST_F(Leases, ALeaseThatCannotBeRenewedIsLostWhenItsTimeIsOver) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    begin();
    engine->refuse(always<Renew>({ErrorCode::store_io, "unreachable", {}}));
    for (std::uint64_t tick = 1; tick <= 2; ++tick) {
        clock->advance(10'000);
        EXPECT_TRUE(eventually([&] { return worker.stats().renewal_errors == tick; }));
        EXPECT_EQ(gate.waiting(), 1);
    }
    engine->hold("complete");  // so that the attempt is still there to be looked at
    clock->advance(10'000);
    EXPECT_EQ(first_seen().cause, CancelCause::lost_lease);
    EXPECT_FALSE(first_seen().healthy);
    engine->let_go();
}

TEST_F(Leases, ThreeFailuresInARowMakeALeaseUnhealthyAndASuccessMendsIt) {
    Worker worker(engine, options());
    std::atomic<bool> sick{false};
    worker.on("k", [&](Task& task) {
        for (std::uint32_t failures = 1; failures <= 3; ++failures) {
            EXPECT_TRUE(task.lease_healthy());
            EXPECT_EQ(task.try_renew().error().code, ErrorCode::store_io);
            EXPECT_EQ(task.renewal_failures(), failures);
        }
        EXPECT_FALSE(task.lease_healthy());
        EXPECT_FALSE(task.stop_requested()) << "it may still come right";
        sick = true;
        gate.pass();
        EXPECT_TRUE(task.lease_healthy());
        EXPECT_EQ(task.renewal_failures(), 0U);
    });
    engine->refuse(always<Renew>({ErrorCode::store_io, "unreachable", {}}));
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    EXPECT_TRUE(eventually([&] { return sick.load(); }));
    EXPECT_TRUE(lines->contain("three renewals of the lease have failed in a row"));
    engine->refuse({});
    clock->advance(10'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 1; }));
    gate.open();
    EXPECT_TRUE(wait(id).completed());
}

TEST_F(Leases, ARenewalThatHangsDoesNotHoldUpTheNext) {
    Worker worker(engine, options());
    add_waiting_handler(worker);
    start(worker);
    const ExecutionId id = begin();
    engine->hold("renew");
    clock->advance(10'000);
    EXPECT_TRUE(eventually([&] { return engine->holding() == 1; }));
    clock->advance(9'000);
    clock->advance(1'000);
    EXPECT_TRUE(eventually([&] { return engine->holding() == 2; }));
    EXPECT_EQ(worker.stats().renewal_errors, 1U) << "no answer in its time is a failure";
    engine->let_go();
    EXPECT_TRUE(eventually([&] { return worker.stats().renewals == 2; }));
    gate.open();
    EXPECT_TRUE(wait(id).completed());
}

TEST_F(Leases, AHandlerMayRenewByItself) {
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) {
        clock->advance(5'000);
        task.renew();
        EXPECT_EQ(task.lease_deadline(), clock->now() + 30'000);
    });
    start(worker);
    EXPECT_TRUE(wait(submit(Submit("k"))).completed());
}

// ------------------------------------------------------------------------------------ the registry

TEST_F(Leases, AWorkerRegistersAndStaysRegistered) {
    WorkerOptions given = options();
    given.capabilities = {"b", "a"};
    given.lanes = {"x", "y"};
    Worker worker(engine, given);
    worker.on("k", [] {});
    start(worker);
    const auto known = client->workers().all();
    ASSERT_EQ(known.size(), 1U);
    EXPECT_EQ(known[0].worker_instance_id, "w-1");
    EXPECT_EQ(known[0].capabilities, (Names{"a", "b"}));
    EXPECT_EQ(known[0].lanes, (Names{"x", "y"}));
    for (std::size_t beat = 1; beat <= 10; ++beat) {
        clock->advance(20'000);
        EXPECT_TRUE(eventually([&] {
            const auto now_known = client->workers().all();
            return now_known.size() == 1 && now_known[0].last_heartbeat_ms == clock->now();
        }));
    }
    EXPECT_EQ(engine->count("register_worker"), 1U);
}

TEST_F(Leases, AWorkerTheRegistryHasForgottenRegistersAgain) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    ASSERT_TRUE(engine->run(MarkWorkerDead{"acme", "w-1", "by hand", false}));
    EXPECT_EQ(registered(), 0U);
    clock->advance(20'000);
    EXPECT_TRUE(eventually([&] { return worker.stats().registrations == 2; }));
    EXPECT_EQ(registered(), 1U);
}

TEST_F(Leases, ARegistrationThatFailsIsTriedAgain) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    ASSERT_TRUE(engine->run(MarkWorkerDead{"acme", "w-1", "by hand", false}));
    engine->refuse(always<RegisterWorker>({ErrorCode::store_io, "disk", {}}));
    clock->advance(20'000);
    EXPECT_TRUE(eventually([&] { return lines->contain("registering again: store_io"); }));
    engine->refuse({});
    clock->advance(240);  // 200 ms and a fifth
    EXPECT_TRUE(eventually([&] { return registered() == 1; }));
}

TEST_F(Leases, AnInstanceOfAnotherWorkerIsFatalAtTheStart) {
    ASSERT_TRUE(engine->run(RegisterWorker{"acme", "other", "w-1", {"default"}, {}, 60'000}));
    Worker worker(engine, options());
    worker.on("k", [] {});
    const auto started = worker.start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().message(), "invalid_input: instance_id reassigned");
    EXPECT_EQ(engine->count("claim"), 0U);
}

TEST_F(Leases, AnInstanceOfAnotherWorkerIsFatalLaterToo) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    ASSERT_TRUE(engine->run(MarkWorkerDead{"acme", "w-1", "by hand", false}));
    ASSERT_TRUE(engine->run(RegisterWorker{"acme", "other", "w-1", {"default"}, {}, 60'000}));
    // Heartbeats name the instance only, so what the other one registered has to be gone first.
    ASSERT_TRUE(engine->run(MarkWorkerDead{"acme", "w-1", "by hand", false}));
    engine->refuse(
        always<RegisterWorker>({ErrorCode::invalid_input, "instance_id reassigned", {}}));
    clock->advance(20'000);
    worker.wait();
    const auto stopped = worker.stop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().message(), "invalid_input: instance_id reassigned");
}

TEST_F(Leases, ARestartWithTheSameInstanceIsWelcome) {
    for (int i = 0; i < 2; ++i) {
        Worker worker(engine, options());
        worker.on("k", [] {});
        start(worker);
        EXPECT_EQ(registered(), 1U);
    }
    // And one that could not sign off.
    ASSERT_TRUE(engine->run(RegisterWorker{"acme", "w", "w-1", {"default"}, {}, 60'000}));
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
}

}  // namespace ff::worker::test
