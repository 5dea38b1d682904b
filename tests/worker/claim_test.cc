// The claim loop: when a worker asks for work, how much, and what it makes of errors. And grants
// that are handed in.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "worker/rig.h"

namespace ff::worker::test {

class Claims : public WorkerTest {
  protected:
    /// A claim grant for worker `w`.
    Grant grant(const std::string& lane = "default") {
        ClaimForWorker op;
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lane_id = lane;
        op.grant_ttl_ms = 60'000;
        const auto given = client->claim_for_worker(op);
        EXPECT_TRUE(given);
        return given.value_or(Grant{});
    }
    void fail_claims(ErrorCode code) { engine->refuse(always<Claim>({code, "as told", {}})); }

    Gate gate;
};

TEST_F(Claims, NoMoreTasksRunThanAllowedAndNoneWaitsClaimed) {
    WorkerOptions given = options();
    given.max_concurrent_tasks = 3;
    Worker worker(engine, given);
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    worker.on("k", [&] {
        const int now = ++running;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        gate.pass();
        --running;
    });
    start(worker);
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 10; ++i) {
        ids.push_back(submit(Submit("k")));
    }
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 3; }));
    const std::size_t claims = engine->count("claim");
    clock->advance(5'000);
    EXPECT_EQ(worker.stats().claimed, 3U);
    EXPECT_EQ(engine->count("claim"), claims) << "nothing is claimed without a free slot";
    EXPECT_EQ(client->executions({.states = {PublicState::active}}).all().size(), 3U);
    gate.open();
    for (const ExecutionId& id : ids) {
        EXPECT_TRUE(wait(id).completed());
    }
    EXPECT_EQ(most, 3);
    EXPECT_EQ(worker.stats().claimed, 10U);
}

TEST_F(Claims, AClaimAsksForWhatTheWorkerCanDo) {
    WorkerOptions given = options();
    given.lanes = {"a", "b"};
    given.capabilities = {"z", "y"};
    given.max_concurrent_tasks = 20;
    given.lease_ttl = 7s;
    given.poll_block = 3s;
    Worker worker(engine, given);
    worker.on("two", [] {}).on("one", [] {});
    start(worker);
    ASSERT_TRUE(eventually([&] { return engine->count("claim") == 1; }));
    const Claim op = *engine->last<Claim>();
    EXPECT_EQ(op.lanes, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(op.capabilities, (std::vector<std::string>{"y", "z"}));
    EXPECT_EQ(op.kinds, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(op.worker_id, "w");
    EXPECT_EQ(op.worker_instance_id, "w-1");
    EXPECT_EQ(op.ns, "acme");
    EXPECT_EQ(op.lease_ttl_ms, 7'000);
    EXPECT_EQ(op.max_wait_ms, 3'000);
    EXPECT_EQ(op.max_tasks, 16U) << "as many as there are slots, but no more than 16";
}

TEST_F(Claims, WorkOfAnotherKindNamespaceOrLaneIsLeftAlone) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    const ExecutionId kind = submit(Submit("other"));
    const ExecutionId lane = submit(Submit("k").lane("elsewhere"));
    const ExecutionId tenant = Client(engine, {"globex", "", clock}).submit(Submit("k")).id();
    EXPECT_TRUE(wait(submit(Submit("k"))).completed());
    EXPECT_EQ(state(kind), PublicState::waiting);
    EXPECT_EQ(state(lane), PublicState::waiting);
    EXPECT_EQ(state(tenant), PublicState::waiting);
}

TEST_F(Claims, EveryLaneIsServed) {
    WorkerOptions given = options();
    given.lanes = {"a", "b", "c"};
    Worker worker(engine, given);
    worker.on("k", [](Task& task) { return task.lane(); });
    start(worker);
    for (const char* lane : {"c", "a", "b"}) {
        EXPECT_EQ(wait(submit(Submit("k").lane(lane))).bytes(), lane);
    }
}

TEST_F(Claims, AClaimThatWaitedItsTimeIsRepeatedAtOnce) {
    WorkerOptions given = options();
    given.poll_block = 1s;
    Worker worker(engine, given);
    worker.on("k", [] {});
    start(worker);
    for (std::size_t claims = 1; claims <= 5; ++claims) {
        ASSERT_TRUE(eventually([&] { return engine->count("claim") == claims; }));
        ASSERT_TRUE(eventually([&] { return engine->stats().waiting_claims == 1; }));
        clock->advance(1'000);
    }
}

TEST_F(Claims, WithoutWaitingInTheEngineTheWorkerPausesLongerAndLonger) {
    const auto watched = std::make_shared<WatchedClock>(clock);
    WorkerOptions given = options();
    given.poll_block = 0s;
    given.clock = watched;
    Worker worker(engine, given);
    worker.on("k", [] {});
    start(worker);
    std::size_t claims = 1;
    const auto rests = [&](DurationMs pause) {
        return eventually([&] { return watched->asked(clock->now() + pause); });
    };
    for (const DurationMs pause : {50, 100, 200, 400, 800, 1'000, 1'000}) {
        ASSERT_TRUE(rests(pause)) << pause;
        EXPECT_EQ(engine->count("claim"), claims++);
        clock->advance(pause);
    }
    ASSERT_TRUE(rests(1'000));
    const ExecutionId id = submit(Submit("k"));
    clock->advance(1'000);
    EXPECT_TRUE(wait(id).completed());
    EXPECT_TRUE(rests(50)) << "a claim makes the pauses short again";
}

TEST_F(Claims, ErrorsMakeThePausesLongerAndASuccessMakesThemShortAgain) {
    WorkerOptions given = options();
    given.error_backoff = {200ms, 1'000ms};
    Worker worker(engine, given);
    worker.on("k", [] {});
    fail_claims(ErrorCode::store_io);
    start(worker);
    // Each pause is a fifth shorter or longer than these.
    for (const DurationMs pause : {200, 400, 800, 1'000, 1'000}) {
        const std::uint64_t errors = worker.stats().claim_errors;
        const TimestampMs from = clock->now();
        ASSERT_TRUE(eventually([&] {
            if (lines->count("claiming") == worker.stats().claim_errors) {
                clock->advance(1);
            }
            return worker.stats().claim_errors > std::max<std::uint64_t>(1, errors);
        }));
        EXPECT_GE(clock->now(), from + pause * 4 / 5) << pause;
    }
}

TEST_F(Claims, AnErrorThatMayPassDoesNotEndTheLoop) {
    for (const ErrorCode code :
         {ErrorCode::store_io, ErrorCode::overloaded, ErrorCode::timeout, ErrorCode::shutting_down,
          ErrorCode::internal, ErrorCode::corruption, ErrorCode::rate_limit_exceeded}) {
        fail_claims(code);
        Worker worker(engine, options());
        worker.on("k", [] {});
        start(worker);
        for (std::uint64_t errors = 1; errors <= 3; ++errors) {
            ASSERT_TRUE(eventually([&] {
                clock->advance(100);
                return worker.stats().claim_errors >= errors;
            })) << to_string(code);
        }
        engine->refuse({});
        const ExecutionId id = submit(Submit("k"));
        EXPECT_TRUE(eventually([&] {
            clock->advance(100);
            return state(id) == PublicState::completed;
        })) << to_string(code);
        EXPECT_TRUE(worker.stop());
    }
}

TEST_F(Claims, RefusedCredentialsOrSettingsEndTheWorker) {
    for (const ErrorCode code :
         {ErrorCode::unauthorized, ErrorCode::invalid_config, ErrorCode::invalid_input}) {
        Worker worker(engine, options());
        worker.on("k", [] {});
        fail_claims(code);
        const auto ended = worker.run();
        ASSERT_FALSE(ended) << to_string(code);
        EXPECT_EQ(ended.error().code, code);
        EXPECT_TRUE(lines->contain("error: claiming was refused, the worker stops: " +
                                   ended.error().message()));
        EXPECT_EQ(registered(), 0U) << "it still signs off";
        engine->refuse({});
    }
}

// Waiting does not mend it, and the line would be the same for ever.
TEST_F(Claims, ADamagedStoreEndsTheWorkerAtOnce) {
    fail_claims(ErrorCode::store_corrupt);
    Worker worker(engine, options());
    worker.on("k", [] {});
    const auto ended = worker.run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::store_corrupt);
    EXPECT_EQ(engine->count("claim"), 1U);
    EXPECT_EQ(lines->count("store_corrupt"), 1U) << lines->all();

    engine->refuse(always<RegisterWorker>({ErrorCode::store_corrupt, "a page is lost", {}}));
    const std::size_t before = engine->count("register_worker");
    Worker second(engine, options());
    second.on("k", [] {});
    const auto started = second.start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::store_corrupt);
    EXPECT_EQ(engine->count("register_worker"), before + 1);
}

TEST_F(Claims, RegistrationIsTriedAgainUntilTheEngineIsThere) {
    engine->refuse(always<RegisterWorker>({ErrorCode::store_io, "not yet", {}}));
    Worker worker(engine, options());
    worker.on("k", [] {});
    std::atomic<bool> started{false};
    std::thread starter([&] {
        EXPECT_TRUE(worker.start());
        started = true;
    });
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return engine->count("register_worker") >= 3;
    }));
    EXPECT_FALSE(started);
    EXPECT_EQ(engine->count("claim"), 0U);
    engine->refuse({});
    EXPECT_TRUE(eventually([&] {
        clock->advance(100);
        return started.load();
    }));
    starter.join();
}

TEST_F(Claims, AStopEndsAStartThatWaits) {
    engine->refuse(always<RegisterWorker>({ErrorCode::store_io, "not yet", {}}));
    Worker worker(engine, options());
    worker.on("k", [] {});
    std::thread starter([&] {
        const auto started = worker.start();
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().code, ErrorCode::shutting_down);
    });
    ASSERT_TRUE(eventually([&] { return engine->count("register_worker") == 1; }));
    worker.request_stop();
    starter.join();
}

TEST_F(Claims, WhatIsClaimedWhileTheWorkerStopsIsGivenBack) {
    Worker worker(engine, options());
    bool called = false;
    worker.on("k", [&] { called = true; });
    engine->hold("claim");
    engine->keep_claims(true);
    start(worker);
    ASSERT_TRUE(eventually([&] { return engine->holding() == 1; }));
    const ExecutionId id = submit(Submit("k"));
    worker.request_stop();
    engine->let_go();
    EXPECT_TRUE(worker.stop());
    EXPECT_FALSE(called);
    EXPECT_EQ(worker.stats().released, 1U);
    EXPECT_EQ(state(id), PublicState::waiting);
    const auto found = *client->inspect(id);
    EXPECT_EQ(found.retry_count + found.lease_reclaim_count, 0U);
}

// ------------------------------------------------------------------------------------------ grants

TEST_F(Claims, AGrantIsTurnedIntoATask) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) { return task.lane(); });
    const ExecutionId id = submit(Submit("k").lane("special"));
    start(worker);
    ASSERT_TRUE(worker.take(grant("special")));
    EXPECT_EQ(wait(id).bytes(), "special") << "a lane it does not claim from";
}

TEST_F(Claims, AtCapacityAGrantIsNotTouched) {
    Worker worker(engine, options());
    worker.on("k", [&] { gate.pass(); });
    start(worker);
    const ExecutionId first = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    const ExecutionId second = submit(Submit("k"));
    const Grant given = grant();
    const auto refused = worker.take(given);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::at_capacity);
    EXPECT_EQ(Exception(refused.error()).category(), "at_capacity");
    EXPECT_TRUE(Exception(refused.error()).retryable());
    EXPECT_EQ(worker.stats().at_capacity, 1U);
    EXPECT_EQ(engine->count("claim_execution"), 0U);
    gate.open();
    EXPECT_TRUE(wait(first).completed());
    ASSERT_TRUE(eventually([&] { return worker.take(given).has_value(); }))
        << "the grant is good as before";
    EXPECT_TRUE(wait(second).completed());
}

TEST_F(Claims, AGrantForAResumedTaskIsUnderstood) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) -> Result {
        return task.resumed() ? task.complete("resumed") : task.delay_until(0);
    });
    const ExecutionId id = submit(Submit("k").lane("special"));
    start(worker);
    ASSERT_TRUE(worker.take(grant("special")));
    ASSERT_TRUE(eventually([&] {
        return client->inspect(id)->info.state.attempt_state == AttemptState::attempt_interrupted &&
               state(id) == PublicState::waiting;
    }));
    const Grant again = grant("special");
    EXPECT_EQ(again.kind, GrantKind::resume);
    ASSERT_TRUE(worker.take(again));
    EXPECT_EQ(wait(id).bytes(), "resumed");
}

TEST_F(Claims, AReclaimGrantTakesOverFromAWorkerThatDied) {
    const ExecutionId id = submit(Submit("k").lane("special"));
    Claim by_other;
    by_other.lanes = {"special"};
    by_other.worker_id = "dead";
    by_other.worker_instance_id = "dead-1";
    by_other.lease_ttl_ms = 1'000;
    ASSERT_EQ(engine->run(by_other)->tasks.size(), 1U);
    clock->advance(1'000);

    Worker worker(engine, options());
    worker.on("k", [](Task& task) { return std::string(to_string(task.attempt_type())); });
    start(worker);
    IssueReclaimGrant op;
    op.execution_id = id;
    op.worker_id = "w";
    op.worker_instance_id = "w-1";
    op.lane_id = "special";
    const auto issued = client->issue_reclaim_grant(op);
    ASSERT_EQ(issued.status, IssueReclaimGrantResult::Status::granted) << issued.detail;
    ASSERT_TRUE(worker.take(*issued.grant));
    EXPECT_EQ(wait(id).bytes(), "reclaim");
    ASSERT_TRUE(eventually([&] { return worker.stats().running == 0; }));
    const auto used = worker.take(*issued.grant);
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code, ErrorCode::invalid_claim_grant);
}

TEST_F(Claims, AGrantThatIsNoGoodLeavesTheSlotFree) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    const ExecutionId id = submit(Submit("k"));
    Grant forged;
    forged.execution_id = id;
    forged.lane_id = "default";
    forged.grant_key = "claim:nonsense";
    EXPECT_EQ(worker.take(forged).error().code, ErrorCode::shutting_down) << "not started";
    engine->hold("claim");
    start(worker);
    EXPECT_EQ(worker.take(forged).error().code, ErrorCode::invalid_claim_grant);
    EXPECT_EQ(worker.stats().running, 0U);
    engine->let_go();
    EXPECT_TRUE(wait(id).completed());
}

TEST_F(Claims, ATaskTooManyIsGivenBack) {
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) {
        if (task.lane() == "special") {
            gate.pass();
        }
    });
    const ExecutionId special = submit(Submit("k").lane("special"));
    engine->hold("claim");
    start(worker);
    ASSERT_TRUE(eventually([&] { return engine->holding() == 1; }));
    const ExecutionId usual = submit(Submit("k"));
    // The one slot is taken by a grant while the claim that counted on it is on its way.
    ASSERT_TRUE(worker.take(grant("special")));
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    engine->keep_claims(true);
    engine->let_go();
    EXPECT_TRUE(eventually([&] { return worker.stats().released == 1; }));
    engine->keep_claims(false);
    EXPECT_EQ(worker.stats().running, 1U);
    EXPECT_EQ(state(usual), PublicState::waiting);
    gate.open();
    EXPECT_TRUE(wait(special).completed());
    EXPECT_TRUE(wait(usual).completed());
}

}  // namespace ff::worker::test
