// What a worker does with its lease: renew, report, end, pause (spec 02 sections 4 and 5).
#include "engine/conformance.h"

namespace ff::engine::test {

class AttemptConformance : public Conformance {
  protected:
    static LeaseRef wrong(const Handle& handle) {
        return with(LeaseRef(handle), [](auto& lease) { lease.lease_id = LeaseId{new_uuid()}; });
    }
    static constexpr Source holder = Source::lease_holder;
    const ExecutionId missing_{0, new_uuid()};
};
FF_ON_EVERY_ENGINE(AttemptConformance);

constexpr const char* retry_twice =
    R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":1000}}})";

// -------------------------------------------------------------------------------------- fences

TEST_P(AttemptConformance, EveryComponentOfTheFenceCounts) {
    const ClaimedTask task = start();
    const LeaseRef good(task.handle);
    const LeaseRef fences[] = {
        with(good, [](auto& lease) { lease.lease_id = LeaseId{new_uuid()}; }),
        with(good, [](auto& lease) { lease.lease_epoch = 2; }),
        with(good, [](auto& lease) { lease.attempt_id = AttemptId{new_uuid()}; }),
        with(good, [](auto& lease) { lease.attempt_index = 1; }),
    };
    for (const LeaseRef& lease : fences) {
        EXPECT_EQ(refused(Renew{lease, 1'000}), "stale_lease");
        EXPECT_EQ(refused(Progress{lease, 1, {}}), "stale_lease");
        EXPECT_EQ(refused(Complete{lease, {}, {}, holder}), "stale_lease");
        EXPECT_EQ(refused(Fail{lease, "r", "c", holder}), "stale_lease");
        EXPECT_EQ(refused(Delay{lease, t0, holder}), "stale_lease");
        EXPECT_EQ(refused(WaitChildren{lease, holder}), "stale_lease");
        EXPECT_EQ(refused(Release{lease}), "stale_lease");
        EXPECT_EQ(refused(CancelExecution{lease, "r", "lease_holder"}), "stale_lease");
    }
    EXPECT_EQ(refused(Renew{good, 1'000}), "ok");
}

TEST_P(AttemptConformance, AFenceIsWholeOrAbsent) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    LeaseRef partial(id);
    partial.lease_epoch = 1;
    const LeaseRef none(id);
    EXPECT_EQ(refused(Renew{none, 1'000}), "fence_required");
    EXPECT_EQ(refused(Progress{none, 1, {}}), "fence_required");
    EXPECT_EQ(refused(Release{none}), "fence_required");
    EXPECT_EQ(refused(Complete{none, {}, {}, holder}), "fence_required");
    EXPECT_EQ(refused(Fail{none, "r", "c", holder}), "fence_required");
    EXPECT_EQ(refused(Delay{none, t0, holder}), "fence_required");
    EXPECT_EQ(refused(WaitChildren{none, holder}), "fence_required");
    EXPECT_EQ(refused(Renew{partial, 1'000}), "partial_fence_triple");
    EXPECT_EQ(refused(Complete{partial, {}, {}, Source::operator_override}),
              "partial_fence_triple");
    EXPECT_EQ(refused(CancelExecution{none, "r", "lease_holder"}), "invalid_input");
}

TEST_P(AttemptConformance, AnOperatorBindsTheCurrentLease) {
    const auto started = [&] { return LeaseRef(start().execution_id()); };
    EXPECT_EQ(refused(Complete{started(), "r", {}, Source::operator_override}), "ok");
    EXPECT_EQ(refused(Fail{started(), "r", "c", Source::operator_override}), "ok");
    EXPECT_EQ(refused(Delay{started(), t0 * 2, Source::operator_override}), "ok");
    const LeaseRef children = started();
    EXPECT_EQ(refused(WaitChildren{children, Source::operator_override}), "ok");
    // The checks that are left still apply.
    const ExecutionId waiting = create(job("w"));
    EXPECT_EQ(refused(Complete{LeaseRef(waiting), {}, {}, Source::operator_override}),
              "execution_not_active");
}

TEST_P(AttemptConformance, AHandleOfAnotherBackendIsRefused) {
    const ClaimedTask task = start();
    Handle foreign = task.handle;
    foreign.backend = BackendTag::reserved;
    EXPECT_EQ(refused(Renew{foreign, 1'000}), "handle_from_other_backend");
    EXPECT_EQ(refused(Complete{foreign, {}, {}, holder}), "handle_from_other_backend");
}

TEST_P(AttemptConformance, WhatDoesNotExistIsNotFound) {
    LeaseRef lease(missing_);
    lease.lease_id = LeaseId{new_uuid()};
    lease.lease_epoch = 1;
    lease.attempt_id = AttemptId{new_uuid()};
    EXPECT_EQ(refused(Renew{lease, 1'000}), "execution_not_found");
    EXPECT_EQ(refused(Progress{lease, 1, {}}), "execution_not_found");
    EXPECT_EQ(refused(Complete{lease, {}, {}, holder}), "execution_not_found");
    EXPECT_EQ(refused(Fail{lease, "r", "c", holder}), "execution_not_found");
    EXPECT_EQ(refused(CancelExecution{lease, "r", "lease_holder"}), "execution_not_found");
    EXPECT_EQ(refused(Delay{lease, t0, holder}), "execution_not_found");
    EXPECT_EQ(refused(WaitChildren{lease, holder}), "execution_not_found");
    EXPECT_EQ(refused(Release{lease}), "execution_not_found");
    // An index beyond the partitions is as good as missing.
    lease.execution_id.partition = 60'000;
    EXPECT_EQ(refused(Renew{lease, 1'000}), "execution_not_found");
}

// ------------------------------------------------------------------------------ renew, progress

TEST_P(AttemptConformance, RenewingExtendsTheLeaseAndNothingElse) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":90000}})"));
    const ExecutionId id = task.execution_id();
    const auto before = snapshot(id);
    after(20'000);
    const RenewResult renewed = ok(Renew{task.handle, 60'000});
    EXPECT_EQ(renewed.expires_at_ms, now() + 60'000);
    EXPECT_EQ(renewed.lease_epoch, 1U);
    const auto s = snapshot(id);
    EXPECT_EQ(s.current_lease->lease_id, task.handle.lease_id);
    EXPECT_EQ(s.current_lease->expires_at, now() + 60'000);
    EXPECT_EQ(s.current_lease->renewal_deadline, now() + 40'000);
    ok(Renew{task.handle, 10'001});
    EXPECT_EQ(snapshot(id).current_lease->renewal_deadline, now() + 6'667) << "rounded down";
    ok(Renew{task.handle, 60'000});
    EXPECT_EQ(s.current_lease->last_heartbeat_at, now());
    EXPECT_EQ(s.attempt_deadline_at, before.attempt_deadline_at);
    EXPECT_EQ(s.last_transition_at, before.last_transition_at);
    EXPECT_EQ(s.last_mutation_at, now());
    EXPECT_EQ(history(id), std::vector<std::string>{"acquired"});
    after(59'999);
    EXPECT_EQ(refused(Renew{task.handle, 60'000}), "ok");
    EXPECT_EQ(refused(Renew{task.handle, 99}), "invalid_input");
}

TEST_P(AttemptConformance, ARenewalExtendsByTheTimeOfTheHandle) {
    FF_NEEDS_CLOCK();
    create();
    const ClaimedTask task = claim(with(claim_by("w1"), [](auto& op) { op.lease_ttl_ms = 7'000; }));
    after(1'000);
    EXPECT_EQ(ok(Renew{task.handle}).expires_at_ms, now() + 7'000);
    // The same beside a heartbeat, which may carry it.
    ok(registration(instance_of("w1")));
    after(1'000);
    const auto both =
        engine().run_many({HeartbeatWorker{"acme", instance_of("w1")}, Renew{task.handle}});
    ASSERT_EQ(code_of(both[1]), "ok");
    EXPECT_EQ(ff::get<RenewResult>(*both[1]).expires_at_ms, now() + 7'000);
    // Without a handle there is no such time.
    LeaseRef bare(task.handle);
    bare.lease_ttl_ms.reset();
    EXPECT_EQ(ok(Renew{bare}).expires_at_ms, now() + 30'000);
}

TEST_P(AttemptConformance, AShorterRenewalShortensTheLease) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    EXPECT_EQ(ok(Renew{task.handle, 1'000}).expires_at_ms, now() + 1'000);
    after(1'000);
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership,
              OwnershipState::lease_expired_reclaimable);
}

TEST_P(AttemptConformance, ProgressKeepsWhatIsNotGiven) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    ok(Progress{task.handle, 10, "first"});
    after(5);
    ok(Progress{task.handle, 20, {}});
    EXPECT_EQ(snapshot(id).progress_percent, 20);
    EXPECT_EQ(snapshot(id).progress_message, "first");
    EXPECT_EQ(snapshot(id).progress_updated_at, now());
    ok(Progress{task.handle, {}, "second"});
    EXPECT_EQ(snapshot(id).progress_percent, 20);
    EXPECT_EQ(snapshot(id).progress_message, "second");
    ok(Progress{task.handle, {}, std::string(1'023, 'x') + "é"});
    EXPECT_EQ(snapshot(id).progress_message, std::string(1'023, 'x'));
    EXPECT_EQ(refused(Progress{task.handle, 101, {}}), "invalid_input");
    EXPECT_EQ(refused(Progress{task.handle, -1, {}}), "invalid_input");
    ok(Progress{task.handle, 100, {}});
    ok(Progress{task.handle, 0, {}});
    EXPECT_EQ(history(id), std::vector<std::string>{"acquired"});
}

TEST_P(AttemptConformance, ALateCallMarksTheLeaseExpiredButProgressDoesNot) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;  // nobody but the call itself looks at the time
    open_with(options);
    const ClaimedTask task = start();
    clock().advance(30'000);
    EXPECT_EQ(refused(Progress{task.handle, 1, {}}), "lease_expired");
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership, OwnershipState::leased);
    EXPECT_EQ(refused(Renew{task.handle, 1'000}), "lease_expired");
    EXPECT_EQ(state(task.execution_id()),
              "active lease_expired_reclaimable not_applicable waiting_for_worker none "
              "attempt_interrupted");
    EXPECT_EQ(history(task.execution_id()), (std::vector<std::string>{"acquired", "expired"}));
    EXPECT_EQ(refused(Complete{task.handle, "late", {}, holder}), "lease_expired");
    EXPECT_EQ(refused(Release{task.handle}), "lease_expired");
}

// ------------------------------------------------------------------------------------- complete

TEST_P(AttemptConformance, CompletingEndsItWithItsResult) {
    const ClaimedTask task = start(with(job(), [](auto& op) { op.tags = {{"a", "b"}}; }));
    const ExecutionId id = task.execution_id();
    const StateResult result = ok(Complete{task.handle, all_bytes(), "raw", holder});
    EXPECT_EQ(result.execution_id, id);
    EXPECT_EQ(result.public_state, PublicState::completed);
    EXPECT_EQ(state(id), "terminal unowned not_applicable none success attempt_terminal");
    const auto stored = ok(GetExecutionResult{id});
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->payload, all_bytes());
    EXPECT_EQ(stored->encoding, "raw");
    const auto s = snapshot(id);
    EXPECT_FALSE(s.current_lease);
    EXPECT_EQ(s.lease_epoch, 1U);
    EXPECT_EQ(s.current_attempt_id, task.handle.attempt_id);
    EXPECT_TRUE(s.info.completed_at);
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::ended_success);
    EXPECT_EQ(attempt(id, 0).ended_at, s.info.completed_at);
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "released:completed=success"}));
    EXPECT_FALSE(has_work());
}

TEST_P(AttemptConformance, AnEmptyResultIsNotNoResult) {
    const ClaimedTask with_empty = start();
    ok(Complete{with_empty.handle, "", {}, holder});
    const auto empty = ok(GetExecutionResult{with_empty.execution_id()});
    ASSERT_TRUE(empty);
    EXPECT_EQ(empty->payload, "");
    EXPECT_FALSE(empty->encoding);
    const ClaimedTask without = start();
    EXPECT_FALSE(ok(GetExecutionResult{without.execution_id()})) << "unfinished";
    ok(Complete{without.handle, {}, {}, holder});
    EXPECT_FALSE(ok(GetExecutionResult{without.execution_id()}));
    EXPECT_FALSE(ok(GetExecutionResult{missing_}));
    const ClaimedTask large = start();
    // Over HTTP a megabyte is what the body may have, not the payload in it.
    const std::string most(GetParam().remote ? 700'000 : 1U << 20, '\xff');
    ok(Complete{large.handle, most, {}, holder});
    EXPECT_EQ(ok(GetExecutionResult{large.execution_id()})->payload, most);
}

TEST_P(AttemptConformance, ARepeatedCompleteSucceedsAndKeepsTheFirstResult) {
    const ClaimedTask task = start();
    ok(Complete{task.handle, "first", {}, holder});
    const std::string before = dump();
    EXPECT_EQ(ok(Complete{task.handle, "second", {}, holder}).public_state, PublicState::completed);
    EXPECT_EQ(dump(), before);
    const Error late = error(Fail{task.handle, "r", "c", holder});
    EXPECT_EQ(late.code, ErrorCode::execution_not_active);
    EXPECT_EQ(late.field("terminal_outcome"), "success");
    EXPECT_EQ(late.field("lease_epoch"), "1");
    EXPECT_EQ(late.field("lifecycle_phase"), "terminal");
    EXPECT_EQ(late.field("attempt_id"), task.handle.attempt_id.to_string());
    LeaseRef other(task.handle);
    other.attempt_id = AttemptId{new_uuid()};
    EXPECT_EQ(refused(Complete{other, "x", {}, holder}), "execution_not_active");
    EXPECT_EQ(refused(Complete{LeaseRef(task.execution_id()), "x", {}, Source::operator_override}),
              "execution_not_active");
}

// ----------------------------------------------------------------------------------------- fail

TEST_P(AttemptConformance, WithoutARetryPolicyAFailureIsFinal) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    EXPECT_FALSE(ok(Fail{task.handle, "broke", "transient", holder}).retry_scheduled);
    EXPECT_EQ(state(id), "terminal unowned not_applicable none failed attempt_terminal");
    EXPECT_EQ(snapshot(id).failure_reason, "broke");
    EXPECT_EQ(snapshot(id).failure_category, "transient");
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(attempt(id, 0).failure_reason, "broke");
    EXPECT_EQ(history(id),
              (std::vector<std::string>{"acquired", "released:failed_terminal=failed"}));
    // Repeated: the same answer; another attempt's failure: no.
    EXPECT_FALSE(ok(Fail{task.handle, "other", "transient", holder}).retry_scheduled);
    EXPECT_EQ(snapshot(id).failure_reason, "broke");
    EXPECT_EQ(refused(Complete{task.handle, {}, {}, holder}), "execution_not_active");
}

TEST_P(AttemptConformance, ARetryWaitsForItsBackoffAndIsANewAttempt) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start(job_with_policy(retry_twice));
    const ExecutionId id = task.execution_id();
    const FailResult failed = ok(Fail{task.handle, "broke", "transient", holder});
    EXPECT_TRUE(failed.retry_scheduled);
    EXPECT_EQ(failed.delay_until, now() + 1'000);
    EXPECT_EQ(failed.next_attempt_index, 1U);
    EXPECT_EQ(state(id),
              "runnable unowned not_eligible_until_time waiting_for_retry_backoff none "
              "pending_retry_attempt");
    EXPECT_EQ(public_of(id), PublicState::delayed);
    const auto s = snapshot(id);
    EXPECT_EQ(s.info.blocking_detail, "retry backoff until " + std::to_string(now() + 1'000) +
                                          " (attempt 0 failed: broke)");
    EXPECT_EQ(s.retry_count, 1U);
    EXPECT_FALSE(s.current_attempt_id);
    EXPECT_EQ(s.info.current_attempt_index, 0U);
    const AttemptCounters counters = ok(ReadAttemptCounters{id});
    EXPECT_EQ(counters.current_attempt_index, 0U);
    EXPECT_EQ(counters.total_attempt_count, 1U);
    // The lost reply: the same answer again, with the real time, also later.
    after(10);
    EXPECT_EQ(ok(Fail{task.handle, "broke", "transient", holder}), failed);
    EXPECT_FALSE(has_work());
    after(990);
    EXPECT_EQ(state(id),
              "runnable unowned eligible_now waiting_for_worker none pending_retry_attempt");
    EXPECT_EQ(ok(Fail{task.handle, "broke", "transient", holder}), failed);
    const ClaimedTask retry = claim("w2");
    EXPECT_EQ(retry.attempt_type, AttemptType::retry);
    EXPECT_EQ(retry.handle.attempt_index, 1U);
    EXPECT_EQ(retry.handle.lease_epoch, 2U);
    EXPECT_NE(retry.handle.attempt_id, task.handle.attempt_id);
    EXPECT_EQ(attempt(id, 1).previous_attempt_index, 0U);
    EXPECT_EQ(attempt(id, 1).reason, "broke");
    EXPECT_EQ(refused(Fail{task.handle, "broke", "transient", holder}), "stale_lease");
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "released:failed_retry_scheduled",
                                                     "acquired"}));
}

TEST_P(AttemptConformance, RetriesEndWithTheirNumber) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create(job_with_policy(retry_twice));
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(ok(Fail{claim().handle, "broke", "x", holder}).retry_scheduled);
        after(1'000);
    }
    EXPECT_FALSE(ok(Fail{claim().handle, "broke", "x", holder}).retry_scheduled);
    EXPECT_EQ(public_of(id), PublicState::failed);
    EXPECT_EQ(snapshot(id).total_attempt_count, 3U);
    EXPECT_EQ(snapshot(id).retry_count, 2U);
    EXPECT_EQ(attempts(id).size(), 3U);
}

TEST_P(AttemptConformance, CategoriesDecideWhetherARetryIsWorthIt) {
    const auto retried = [&](const std::string& policy, const std::string& category) {
        const ClaimedTask task = start(job_with_policy(policy));
        return ok(Fail{task.handle, "r", category, holder}).retry_scheduled;
    };
    EXPECT_FALSE(retried(retry_twice, "permanent"));
    EXPECT_FALSE(retried(retry_twice, "cancelled"));
    for (const char* category : {"transient", "infra_crash", "timeout", "made up", ""}) {
        EXPECT_TRUE(retried(retry_twice, category)) << category;
    }
    const std::string only = R"({"retry_policy":{"retryable_categories":["infra_crash"]}})";
    EXPECT_TRUE(retried(only, "infra_crash"));
    EXPECT_FALSE(retried(only, "transient"));
    EXPECT_FALSE(retried(R"({"retry_policy":{"max_retries":0}})", "transient"));
}

TEST_P(AttemptConformance, ExponentialBackoffDoublesUpToItsBound) {
    FF_NEEDS_CLOCK();
    create(job_with_policy(R"({"retry_policy":{"max_retries":9,"backoff":{"type":"exponential",)"
                           R"("initial_delay_ms":1000,"max_delay_ms":5000,"multiplier":2}}})"));
    std::vector<DurationMs> delays;
    for (int i = 0; i < 5; ++i) {
        const FailResult failed = ok(Fail{claim().handle, "r", "x", holder});
        delays.push_back(failed.delay_until - now());
        after(delays.back());
    }
    EXPECT_EQ(delays, (std::vector<DurationMs>{1'000, 2'000, 4'000, 5'000, 5'000}));
}

TEST_P(AttemptConformance, JitterStaysWithinHalfOfTheDelay) {
    const std::string policy =
        R"({"retry_policy":{"backoff":{"type":"exponential","initial_delay_ms":8000,)"
        R"("max_delay_ms":8000,"jitter":true}}})";
    FF_NEEDS_CLOCK();
    for (int i = 0; i < 20; ++i) {
        const ClaimedTask task = start(job_with_policy(policy));
        const DurationMs delay = ok(Fail{task.handle, "r", "x", holder}).delay_until - now();
        EXPECT_GE(delay, 4'000);
        EXPECT_LE(delay, 8'000);
    }
}

TEST_P(AttemptConformance, ABackoffOfNothingIsRetriedAtTheNextOpportunity) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":0}}})"));
    EXPECT_EQ(ok(Fail{task.handle, "r", "x", holder}).delay_until, now());
    settle();
    EXPECT_EQ(claim("w2").attempt_type, AttemptType::retry);
}

TEST_P(AttemptConformance, AFailureReasonIsCutToSizeNotRefused) {
    const ClaimedTask task = start();
    ok(Fail{task.handle, std::string(4'095, 'x') + "é", "c", holder});
    EXPECT_EQ(snapshot(task.execution_id()).failure_reason, std::string(4'095, 'x'));
}

TEST_P(AttemptConformance, AFallbackTierIsAnAttemptOfItsOwnKind) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create(job_with_policy(
        R"({"retry_policy":{"max_retries":3,"backoff":{"type":"fixed","delay_ms":10}},)"
        R"("timeout_policy":{"attempt_timeout_ms":9000},)"
        R"("fallback_policy":{"tiers":[{"provider":"a","model":"m"},)"
        R"({"provider":"b","model":"n","timeout_ms":2000}]}})"));
    ClaimedTask task = claim();
    EXPECT_EQ(task.attempt_type, AttemptType::initial);
    EXPECT_EQ(task.attempt_deadline_at, now() + 9'000);
    EXPECT_NE(task.policy_snapshot->find("\"fallback_index\":0"), std::string::npos);
    ok(Fail{task.handle, "r", "x", holder});
    after(10);
    task = claim();
    EXPECT_EQ(task.attempt_type, AttemptType::fallback);
    EXPECT_EQ(task.attempt_deadline_at, now() + 2'000);
    EXPECT_NE(task.policy_snapshot->find("\"fallback_index\":1"), std::string::npos);
    ok(Fail{task.handle, "r", "x", holder});
    after(10);
    EXPECT_EQ(claim().attempt_type, AttemptType::retry) << "there is no further tier";
    EXPECT_EQ(attempt(id, 1).type, AttemptType::fallback);
}

// --------------------------------------------------------------------------------------- cancel

TEST_P(AttemptConformance, AnOperatorCancelsInAnyPhase) {
    const ExecutionId waiting = create();
    EXPECT_EQ(ok(CancelExecution{LeaseRef(waiting), "no need", "operator_override"}).public_state,
              PublicState::cancelled);
    EXPECT_EQ(state(waiting),
              "terminal unowned not_applicable none cancelled pending_first_attempt");
    EXPECT_EQ(snapshot(waiting).cancellation_reason, "no need");
    EXPECT_EQ(snapshot(waiting).cancelled_by, "operator_override");
    EXPECT_EQ(history(waiting), std::vector<std::string>{});
    const ClaimedTask active = start();
    ok(CancelExecution{LeaseRef(active.execution_id()), "stop", "operator_override"});
    EXPECT_EQ(state(active.execution_id()),
              "terminal unowned not_applicable none cancelled attempt_terminal");
    EXPECT_EQ(attempt(active.execution_id(), 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(attempt(active.execution_id(), 0).failure_reason, "cancelled: stop");
    EXPECT_EQ(history(active.execution_id()),
              (std::vector<std::string>{"acquired", "released:cancelled=cancelled"}));
    EXPECT_EQ(refused(Renew{active.handle, 1'000}), "execution_not_active");
    const ClaimedTask paused = start();
    ok(Release{paused.handle});
    ok(CancelExecution{LeaseRef(paused.execution_id()), "stop", "operator_override"});
    EXPECT_EQ(attempt(paused.execution_id(), 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(attempt(paused.execution_id(), 0).worker_instance_id, "w1-a");
    EXPECT_FALSE(has_work());
}

TEST_P(AttemptConformance, CancellingAgainKeepsTheFirstReason) {
    const ExecutionId id = create();
    ok(CancelExecution{LeaseRef(id), "first", "operator_override"});
    const std::string before = dump();
    ok(CancelExecution{LeaseRef(id), "second", "someone"});
    EXPECT_EQ(dump(), before);
    const ClaimedTask done = start();
    ok(Complete{done.handle, {}, {}, holder});
    EXPECT_EQ(refused(CancelExecution{LeaseRef(done.execution_id()), "x", "operator_override"}),
              "execution_not_active");
    EXPECT_EQ(refused(CancelExecution{LeaseRef(missing_), "x", "operator_override"}),
              "execution_not_found");
    EXPECT_EQ(refused(CancelExecution{LeaseRef(id), std::string(1'025, 'x'), "a"}),
              "invalid_input");
}

TEST_P(AttemptConformance, OthersNeedTheFenceOfAnActiveExecution) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(refused(CancelExecution{LeaseRef(id), "r", "flow_cascade"}), "invalid_input");
    EXPECT_EQ(refused(CancelExecution{wrong(task.handle), "r", "someone"}), "stale_lease");
    ok(CancelExecution{task.handle, "gave up", "lease_holder"});
    EXPECT_EQ(snapshot(id).cancelled_by, "lease_holder");
    EXPECT_EQ(ok(CancelExecution{task.handle, "again", "lease_holder"}).public_state,
              PublicState::cancelled);
    // Nobody holds a waiting one: no fence is needed.
    const ExecutionId waiting = create();
    ok(CancelExecution{LeaseRef(waiting), "r", "someone else"});
    EXPECT_EQ(snapshot(waiting).cancelled_by, "someone else");
}

// ------------------------------------------------------------------------- delay, wait, release

TEST_P(AttemptConformance, ADelayedAttemptIsResumedLater) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(ok(Delay{task.handle, now() + 2'000, holder}).public_state, PublicState::delayed);
    EXPECT_EQ(state(id),
              "runnable unowned not_eligible_until_time waiting_for_delay none "
              "attempt_interrupted");
    EXPECT_EQ(snapshot(id).info.blocking_detail, "delayed until " + std::to_string(now() + 2'000));
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::suspended);
    EXPECT_EQ(attempt(id, 0).suspension_id, "worker_delay");
    EXPECT_EQ(refused(Renew{task.handle, 1'000}), "execution_not_active");
    EXPECT_EQ(refused(Fail{task.handle, "r", "c", holder}), "execution_not_active")
        << "a repeated fail is not mistaken for a scheduled retry";
    after(1'999);
    EXPECT_FALSE(has_work());
    after(1);
    const ClaimedTask resumed = claim("w2");
    EXPECT_EQ(resumed.handle.kind, HandleKind::resumed);
    EXPECT_EQ(resumed.handle.attempt_id, task.handle.attempt_id);
    EXPECT_EQ(resumed.handle.attempt_index, 0U);
    EXPECT_EQ(resumed.handle.lease_epoch, 2U);
    EXPECT_EQ(snapshot(id).retry_count, 0U);
    ok(Complete{resumed.handle, "r", {}, holder});
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::ended_success);
    EXPECT_EQ(history(id),
              (std::vector<std::string>{"acquired", "released:worker_delay",
                                        "acquired:claim_resumed", "released:completed=success"}));
}

TEST_P(AttemptConformance, ADelayIntoThePastIsPromotedAtOnce) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    EXPECT_EQ(ok(Delay{task.handle, now() - 5, holder}).public_state, PublicState::delayed);
    settle();
    EXPECT_EQ(claim("w2").handle.kind, HandleKind::resumed);
    EXPECT_EQ(refused(Delay{task.handle, -1, holder}), "invalid_input");
}

TEST_P(AttemptConformance, WithoutChildrenWaitingForThemEndsAtOnce) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(ok(WaitChildren{task.handle, holder}).public_state, PublicState::waiting);
    EXPECT_EQ(state(id),
              "runnable unowned eligible_now waiting_for_worker none attempt_interrupted");
    EXPECT_EQ(attempt(id, 0).suspension_id, "waiting_children");
    EXPECT_EQ(claim("w2").handle.kind, HandleKind::resumed);
}

TEST_P(AttemptConformance, AReleasedAttemptGoesToTheNextWorker) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(ok(Release{task.handle}).public_state, PublicState::waiting);
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::suspended);
    EXPECT_EQ(attempt(id, 0).suspension_id, "worker_release");
    const std::string before = dump();
    EXPECT_EQ(refused(Release{task.handle}), "ok") << "the answer may have been lost";
    EXPECT_EQ(dump(), before);
    EXPECT_EQ(refused(WaitChildren{task.handle, holder}), "execution_not_active");
    const ClaimedTask resumed = claim("w2");
    EXPECT_EQ(resumed.handle.kind, HandleKind::resumed);
    EXPECT_EQ(resumed.handle.lease_epoch, 2U);
    const auto s = snapshot(id);
    EXPECT_EQ(s.total_attempt_count, 1U);
    EXPECT_EQ(s.lease_reclaim_count, 0U);
    EXPECT_EQ(s.retry_count, 0U);
    EXPECT_EQ(refused(Release{task.handle}), "stale_lease");
    EXPECT_EQ(refused(Complete{task.handle, {}, {}, holder}), "stale_lease");
    EXPECT_EQ(refused(Complete{resumed.handle, {}, {}, holder}), "ok");
}

TEST_P(AttemptConformance, AnEndByTimeForgetsTheCategoryOfAnEarlierFailure) {
    FF_NEEDS_CLOCK();
    const auto retried = [&](const std::string& lane) {
        CreateExecution op = job_with_policy(
            R"({"max_reclaim_count":0,"retry_policy":{"backoff":{"type":"fixed","delay_ms":10}}})",
            lane);
        op.execution_deadline_at = now() + 100'000;
        const ClaimedTask task = start(op);
        ok(Fail{task.handle, "disk on fire", "disk", holder});
        after(10);
        return task.execution_id();
    };
    const ExecutionId late = retried("late");
    const ExecutionId lost = retried("lost");
    EXPECT_EQ(snapshot(lost).failure_category, "disk");
    claim("w1", "lost");
    after(30'000);
    EXPECT_FALSE(has_work("w2", "lost"));
    EXPECT_EQ(snapshot(lost).failure_reason, "max_reclaims_exceeded");
    EXPECT_FALSE(snapshot(lost).failure_category);
    after(100'000);
    EXPECT_EQ(snapshot(late).failure_reason, "execution_deadline");
    EXPECT_FALSE(snapshot(late).failure_category);
}

}  // namespace ff::engine::test
