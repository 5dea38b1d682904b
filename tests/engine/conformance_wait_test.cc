// Claims that wait for work (spec 02 section 3.1, design section 4).
#include "engine/conformance.h"

#include <functional>
#include <set>
#include <stop_token>
#include <thread>

namespace ff::engine::test {

class WaitConformance : public Conformance {
  protected:
    static Claim waiting(const std::string& worker = "w1", const std::string& lane = "default") {
        return with(claim_by(worker, lane), [](auto& op) { op.max_wait_ms = 30'000; });
    }
    /// Sends a claim and comes back when it waits.
    SentClaim park(Claim op) {
        SentClaim sent(engine(), std::move(op));
        settle();
        EXPECT_FALSE(sent.answered());
        return sent;
    }
    /// A parked claim is answered by `cause`, in the transaction that does it.
    void expect_answered_by(SentClaim& sent, const std::function<void()>& cause,
                            const ExecutionId* expected = nullptr) {
        const std::uint64_t batches = engine().stats().batches;
        cause();
        const auto tasks = sent.tasks();
        ASSERT_EQ(tasks.size(), 1U);
        if (expected != nullptr) {
            EXPECT_EQ(tasks[0].execution_id(), *expected);
        }
        if (has_clock() && !GetParam().remote) {  // which has no statistics of the engine
            EXPECT_EQ(engine().stats().batches, batches + 1);
        }
    }
};
FF_ON_EVERY_ENGINE(WaitConformance);

TEST_P(WaitConformance, ACreateAnswersAWaitingClaimInItsOwnTransaction) {
    // Nothing of this lane has ever been seen.
    SentClaim first = park(waiting());
    expect_answered_by(first, [&] { create(); });
    // The lane and the route are known now.
    SentClaim second = park(waiting());
    expect_answered_by(second, [&] { create(); });
    // The lane is known, the route is new.
    SentClaim third = park(waiting());
    expect_answered_by(third, [&] { create(with(job(), [](auto& op) { op.ns = "new"; })); });
    SentClaim fourth = park(with(waiting(), [](auto& op) { op.capabilities = {"gpu"}; }));
    expect_answered_by(fourth, [&] { create(job_requiring({"gpu"})); });
}

TEST_P(WaitConformance, AClaimThatMayWaitTakesWhatIsThereAtOnce) {
    const ExecutionId id = create();
    EXPECT_EQ(claim(waiting()).execution_id(), id);
    EXPECT_EQ(engine().stats().waiting_claims, 0U);
}

TEST_P(WaitConformance, WhoeverWaitsLongestIsServedFirst) {
    std::vector<SentClaim> claims;
    for (int i = 0; i < 5; ++i) {
        claims.push_back(park(waiting("w" + std::to_string(i))));
    }
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const ExecutionId id = create();
        const auto tasks = claims[i].tasks();
        ASSERT_EQ(tasks.size(), 1U);
        EXPECT_EQ(tasks[0].execution_id(), id);
        EXPECT_EQ(tasks[0].handle.worker_instance_id, "w" + std::to_string(i) + "-a");
        settle();
        for (std::size_t k = i + 1; k < claims.size(); ++k) {
            EXPECT_FALSE(claims[k].answered());
        }
    }
}

TEST_P(WaitConformance, ManyCreatesAtOnceServeAsManyClaims) {
    std::vector<SentClaim> claims;
    for (int i = 0; i < 6; ++i) {
        claims.push_back(park(waiting("w" + std::to_string(i))));
    }
    engine().run_all(std::vector<CreateExecution>(4, job()));
    settle();
    std::set<ExecutionId> seen;
    for (std::size_t i = 0; i < 4; ++i) {
        for (const ClaimedTask& task : claims[i].tasks()) {
            seen.insert(task.execution_id());
        }
    }
    EXPECT_EQ(seen.size(), 4U);
    EXPECT_FALSE(claims[4].answered());
    EXPECT_FALSE(claims[5].answered());
}

TEST_P(WaitConformance, AWaitingClaimTakesSeveralWhenSeveralCome) {
    SentClaim sent = park(with(waiting(), [](auto& op) { op.max_tasks = 3; }));
    engine().run_all(std::vector<CreateExecution>(5, job()));
    EXPECT_EQ(sent.tasks().size(), 3U);
    EXPECT_EQ(drain(claim_by("w2")).size(), 2U);
    SentClaim one = park(with(waiting(), [](auto& op) { op.max_tasks = 3; }));
    create();
    EXPECT_EQ(one.tasks().size(), 1U) << "it waits for the first, not for all";
}

TEST_P(WaitConformance, WorkAWaitingClaimCannotDoDoesNotAnswerIt) {
    SentClaim sent = park(with(waiting(), [](auto& op) {
        op.capabilities = {"gpu"};
        op.kinds = {"render"};
        op.ns = "acme";
    }));
    create(job("elsewhere"));
    create(job_requiring({"cuda", "gpu"}));
    create(with(job(), [](auto& op) { op.execution_kind = "other"; }));
    create(with(job(), [](auto& op) { op.ns = "other"; }));
    create(with(job(), [](auto& op) { op.delay_until = t0 * 2; }));
    settle();
    EXPECT_FALSE(sent.answered());
    const ExecutionId id = create(job_requiring({"gpu"}));
    const auto tasks = sent.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), id);
}

TEST_P(WaitConformance, AClaimForSeveralLanesIsAnsweredByAny) {
    for (const char* lane : {"a", "b", "c"}) {
        SentClaim sent = park(with(waiting(), [](auto& op) { op.lanes = {"a", "b", "c"}; }));
        expect_answered_by(sent, [&] { create(job(lane)); });
    }
}

TEST_P(WaitConformance, TimeOverGivesNothing) {
    FF_NEEDS_CLOCK();
    SentClaim longer = park(waiting());
    SentClaim shorter = park(with(waiting("w2"), [](auto& op) { op.max_wait_ms = 1'000; }));
    if (!GetParam().remote) {
        EXPECT_EQ(engine().stats().waiting_claims, 2U);
    }
    clock().advance(999);
    settle();
    EXPECT_FALSE(shorter.answered());
    clock().advance(1);
    EXPECT_TRUE(shorter.tasks().empty());
    settle();
    EXPECT_FALSE(longer.answered());
    clock().advance(29'000);
    EXPECT_TRUE(longer.tasks().empty());
    settle();
    EXPECT_EQ(engine().stats().waiting_claims, 0U);
    // Nobody waits any more: what comes now stays.
    const ExecutionId id = create();
    EXPECT_EQ(public_of(id), PublicState::waiting);
}

TEST_P(WaitConformance, StoppingReleasesWaitingClaimsEmpty) {
    SentClaim sent = park(waiting());
    engine().stop();
    EXPECT_TRUE(sent.tasks().empty());
    EXPECT_EQ(refused(claim_by("w1")), "shutting_down");
}

TEST_P(WaitConformance, EverythingThatMakesWorkReadyAnswersAWaitingClaim) {
    FF_NEEDS_CLOCK();
    const auto own = [](const ClaimedTask& task) { return task.handle; };
    {
        const ExecutionId id = create();
        const ClaimedTask task = claim("w0");
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(Release{own(task)}); }, &id);
    }
    {
        const ClaimedTask task = start(job(), "w0");
        const ExecutionId id = task.execution_id();
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(RevokeLease{id, {}, {}, "x"}); }, &id);
    }
    {
        const ClaimedTask task = start(job(), "w0");
        const ExecutionId id = task.execution_id();
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(WaitChildren{own(task), Source::lease_holder}); }, &id);
    }
    {
        const ClaimedTask task = start(job(), "w0");
        const ExecutionId id = task.execution_id();
        ok(Complete{own(task), {}, {}, Source::lease_holder});
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(ReplayExecution{id}); }, &id);
    }
    {
        const ExecutionId id = create();
        ok(BlockExecution{id, "paused_by_operator", {}});
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(UnblockExecution{id, {}}); }, &id);
    }
    {
        ok(SetLaneState{"default", LaneState::paused});
        const ExecutionId id = create();
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { ok(SetLaneState{"default", LaneState::active}); }, &id);
    }
}

TEST_P(WaitConformance, WhatTimeMakesReadyAnswersAWaitingClaim) {
    FF_NEEDS_CLOCK();
    {
        const ExecutionId id = create(with(job(), [&](auto& op) { op.delay_until = now() + 100; }));
        SentClaim sent = park(waiting());
        expect_answered_by(sent, [&] { clock().advance(100); }, &id);
    }
    {
        const ExecutionId id = create(job("leased"));
        claim(with(claim_by("w0", "leased"), [](auto& op) { op.lease_ttl_ms = 1'000; }));
        SentClaim sent = park(waiting("w1", "leased"));
        expect_answered_by(sent, [&] { clock().advance(1'000); }, &id);
    }
    {
        const ExecutionId id = create(job("granted"));
        ok(with(grant_for("w0", "granted"), [](auto& op) { op.grant_ttl_ms = 100; }));
        SentClaim sent = park(waiting("w1", "granted"));
        expect_answered_by(sent, [&] { clock().advance(100); }, &id);
    }
}

TEST_P(WaitConformance, WhatAPassMakesReadyAnswersAWaitingClaim) {
    FF_NEEDS_CLOCK();
    // More is due than one batch takes: the rest is found by whatever runs next.
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 600; ++i) {
        ops.push_back(with(job("crowd"), [](auto& op) { op.delay_until = t0 + 10; }));
    }
    ops.push_back(with(job("last"), [](auto& op) { op.delay_until = t0 + 11; }));
    engine().run_all(ops);
    SentClaim sent = park(waiting("w1", "last"));
    SentClaim timed_out = park(with(waiting("w2", "never"), [](auto& op) { op.max_wait_ms = 11; }));
    clock().advance(2'000);
    ok(RunScanner{"delayed_promoter"});
    EXPECT_EQ(sent.tasks().size(), 1U);
    EXPECT_TRUE(timed_out.tasks().empty());
}

TEST_P(WaitConformance, AnUnblockingPassAnswersAWaitingClaim) {
    const ExecutionId id = create();
    ok(BlockExecution{id, "waiting_for_budget", {}});
    SentClaim sent = park(waiting());
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 1U);
    const auto tasks = sent.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), id);
}

TEST_P(WaitConformance, APausedLaneKeepsClaimsWaiting) {
    ok(SetLaneState{"default", LaneState::paused});
    SentClaim sent = park(waiting());
    create();
    settle();
    EXPECT_FALSE(sent.answered());
    ok(SetLaneState{"default", LaneState::disabled});
    settle();
    EXPECT_FALSE(sent.answered());
    ok(SetLaneState{"default", LaneState::draining});
    EXPECT_EQ(sent.tasks().size(), 1U);
}

TEST_P(WaitConformance, OnlySoManyClaimsMayWait) {
    EngineOptions options;
    options.waiting_claims_max = 2;
    open_with(options);
    SentClaim first = park(waiting("w1"));
    SentClaim second = park(waiting("w2"));
    EXPECT_EQ(refused(waiting("w3")), "too_many_waiters");
    EXPECT_EQ(refused(claim_by("w3")), "ok") << "who does not wait takes no place";
    // Nor is work withheld from a claim because others wait for something else.
    const ExecutionId id = create(job("other"));
    EXPECT_EQ(claim(waiting("w3", "other")).execution_id(), id);
    create();
    EXPECT_EQ(first.tasks().size(), 1U);
    SentClaim third = park(waiting("w3"));
    create();
    EXPECT_EQ(second.tasks().size(), 1U);
    create();
    EXPECT_EQ(third.tasks().size(), 1U);
}

// ----------------------------------------------------------------------------------- abandoning

TEST_P(WaitConformance, AnAbandonedClaimIsAnsweredEmptyAtOnceAndWorkGoesToTheNext) {
    FF_NEEDS_EMBEDDED();  // a server hears a moment later that its caller has gone
    std::stop_source gone;
    SentClaim first = park(with(waiting("w1"), [&](auto& op) { op.abandoned = gone.get_token(); }));
    SentClaim second = park(waiting("w2"));
    gone.request_stop();
    EXPECT_TRUE(first.tasks().empty());
    settle();
    EXPECT_FALSE(second.answered());
    EXPECT_EQ(engine().stats().waiting_claims, 1U);
    const ExecutionId id = create();
    const auto tasks = second.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), id);
}

TEST_P(WaitConformance, AClaimAbandonedBeforeItWasMadeDoesNotWait) {
    std::stop_source gone;
    gone.request_stop();
    for (int i = 0; i < 50; ++i) {
        SentClaim sent(engine(),
                       with(waiting(), [&](auto& op) { op.abandoned = gone.get_token(); }));
        EXPECT_TRUE(sent.tasks().empty());
    }
    settle();
    EXPECT_EQ(engine().stats().waiting_claims, 0U);
    // Nobody is left who would take this.
    const ExecutionId id = create();
    EXPECT_EQ(public_of(id), PublicState::waiting);
    EXPECT_EQ(claim("w2").execution_id(), id);
}

TEST_P(WaitConformance, AbandoningAClaimThatHasItsAnswerChangesNothing) {
    std::stop_source gone;
    SentClaim sent = park(with(waiting(), [&](auto& op) { op.abandoned = gone.get_token(); }));
    const ExecutionId id = create();
    const auto tasks = sent.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    gone.request_stop();
    settle();
    EXPECT_EQ(public_of(id), PublicState::active);
    ok(Renew{tasks[0].handle, 60'000});
    ok(Complete{tasks[0].handle, {}, {}, Source::lease_holder});
    EXPECT_EQ(public_of(id), PublicState::completed);
}

TEST_P(WaitConformance, OneOfManyIsAbandonedAndTheOthersWaitOnInTheirOrder) {
    FF_NEEDS_EMBEDDED();  // a server hears a moment later that its caller has gone
    std::vector<std::stop_source> gone(5);
    std::vector<SentClaim> claims;
    for (std::size_t i = 0; i < gone.size(); ++i) {
        claims.push_back(park(with(waiting("w" + std::to_string(i)),
                                   [&](auto& op) { op.abandoned = gone[i].get_token(); })));
    }
    gone[2].request_stop();
    EXPECT_TRUE(claims[2].tasks().empty());
    settle();
    for (const std::size_t i : {0U, 1U, 3U, 4U}) {
        EXPECT_FALSE(claims[i].answered());
        const ExecutionId id = create();
        const auto tasks = claims[i].tasks();
        ASSERT_EQ(tasks.size(), 1U);
        EXPECT_EQ(tasks[0].execution_id(), id);
        EXPECT_EQ(tasks[0].handle.worker_instance_id, "w" + std::to_string(i) + "-a");
    }
}

TEST_P(WaitConformance, WhoeverIsFasterNoWorkIsLostToAnAbandonedClaim) {
    FF_NEEDS_EMBEDDED();  // over a network an answer may be under way to nobody
    for (int round = 0; round < 50; ++round) {
        std::stop_source gone;
        SentClaim sent =
            park(with(waiting("w1"), [&](auto& op) { op.abandoned = gone.get_token(); }));
        std::thread leaver([&] { gone.request_stop(); });
        const ExecutionId id = create();
        leaver.join();
        auto tasks = sent.tasks();
        if (tasks.empty()) {
            tasks.push_back(claim("w2"));
        }
        ASSERT_EQ(tasks.size(), 1U);
        EXPECT_EQ(tasks[0].execution_id(), id);
    }
    EXPECT_FALSE(has_work());
}

}  // namespace ff::engine::test
