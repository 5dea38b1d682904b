// Suspension: waitpoints made ahead, suspending in all its forms, and what a reader sees of it
// (spec 04 sections 5 to 7, 11, 12, 14, 15).
#include "engine/conformance_suspend.h"

namespace ff::engine::test {

FF_ON_EVERY_ENGINE(SuspendConformance);

// -------------------------------------------------------------------------------------- suspend

TEST_P(SuspendConformance, SuspendingGivesTheLeaseBackAndKeepsTheAttempt) {
    const ClaimedTask task = start();
    const SuspendResult result = suspend(task);
    EXPECT_TRUE(result.suspended);
    ASSERT_TRUE(result.handle);
    EXPECT_EQ(result.handle->kind, HandleKind::suspended);
    EXPECT_EQ(result.handle->execution_id, task.execution_id());
    EXPECT_EQ(result.details.waitpoint.waitpoint_key, "k");
    EXPECT_EQ(result.details.waitpoint.waitpoint_token.size(), 2U + 1 + 64);
    EXPECT_TRUE(result.details.additional.empty());

    const ExecutionSnapshot shown = snapshot(task.execution_id());
    EXPECT_EQ(words(shown.info.state),
              "suspended unowned not_applicable waiting_for_signal none attempt_interrupted");
    EXPECT_EQ(shown.info.public_state, PublicState::suspended);
    EXPECT_EQ(shown.current_waitpoint, result.details.waitpoint.waitpoint_id);
    EXPECT_EQ(shown.lease_epoch, task.handle.lease_epoch);
    EXPECT_FALSE(shown.current_lease);
    const AttemptInfo attempt = this->attempt(task.execution_id(), 0);
    EXPECT_EQ(attempt.state, AttemptLifecycle::suspended);
    EXPECT_EQ(attempt.suspension_id, result.details.suspension_id.to_string());
    EXPECT_EQ(history(task.execution_id()).back(), "released:suspend");
    EXPECT_FALSE(has_work());
}

TEST_P(SuspendConformance, TheReasonDecidesWhatPeopleSee) {
    using R = SuspensionReason;
    const std::vector<std::pair<R, std::string>> rows{
        {R::waiting_for_signal, "waiting_for_signal"},
        {R::step_boundary, "waiting_for_signal"},
        {R::waiting_for_approval, "waiting_for_approval"},
        {R::waiting_for_callback, "waiting_for_callback"},
        {R::waiting_for_tool_result, "waiting_for_tool_result"},
        {R::waiting_for_operator_review, "paused_by_operator"},
        {R::manual_pause, "paused_by_operator"},
        {R::paused_by_policy, "paused_by_policy"},
        {R::paused_by_budget, "waiting_for_budget"},
    };
    for (const auto& [reason, seen] : rows) {
        const ClaimedTask task = start();
        Suspend op = suspending(task);
        op.reason_code = reason;
        const SuspendResult result = ok(op);
        EXPECT_EQ(to_string(snapshot(task.execution_id()).info.state.blocking_reason), seen);
        EXPECT_EQ(snapshot(task.execution_id()).info.blocking_detail,
                  "suspended: waitpoint " + result.details.waitpoint.waitpoint_id.to_string() +
                      " awaiting " + std::string(to_string(reason)));
    }
}

TEST_P(SuspendConformance, AFreshWaitpointWithoutKeyTakesTheConditionsOrItsOwnId) {
    EXPECT_EQ(suspend(start(), ResumeCondition::single("named")).details.waitpoint.waitpoint_key,
              "named");
    const WaitpointTicket own = suspend(start(), any_signal("x")).details.waitpoint;
    EXPECT_EQ(own.waitpoint_key, "wpk:" + own.waitpoint_id.to_string());
}

TEST_P(SuspendConformance, AMalformedSuspensionIsRefusedAndChangesNothing) {
    const ClaimedTask task = start();
    const std::string before = dump();
    const auto detail_of = [&](Suspend op) {
        const Error refusal = error(std::move(op));
        EXPECT_EQ(refusal.code, ErrorCode::invalid_input) << refusal.message();
        return refusal.detail;
    };
    Suspend op = suspending(task);
    op.waitpoints.clear();
    EXPECT_EQ(detail_of(op), "waitpoints_empty");
    op = suspending(task);
    op.waitpoints = {WaitpointBinding::fresh("other")};
    EXPECT_EQ(detail_of(op), "waitpoint_key_mismatch");
    op = suspending_on_two(task, ResumeCondition::single("a"));
    EXPECT_EQ(detail_of(op), "extra_binding_not_referenced_by_condition: b");
    op.waitpoints[1].waitpoint_key.clear();
    EXPECT_EQ(detail_of(op), "additional_waitpoint_binding_empty_key at waitpoints[1]");
    op.waitpoints[1] = WaitpointBinding::pending(WaitpointId{new_uuid()});
    EXPECT_EQ(detail_of(op), "additional_waitpoint_binding_must_be_fresh at waitpoints[1]");
    op = suspending(task, ResumeCondition::all_of(
                              {ResumeCondition::single("k"), ResumeCondition::single("z")}));
    EXPECT_EQ(detail_of(op), "referenced_waitpoint_key_missing_binding: z");
    EXPECT_EQ(detail_of(suspending(task, ResumeCondition::timeout_only())),
              "timeout_only_without_deadline");
    EXPECT_EQ(detail_of(suspending(task, ResumeCondition::single("k", ""))),
              "resume_condition: empty signal name (use Wildcard instead)");
    EXPECT_EQ(detail_of(suspending(task, ResumeCondition::all_of({}))),
              "allof_empty_members at path <root>");
    EXPECT_EQ(dump(), before);
    ok(Renew{task.handle, 30'000});
}

TEST_P(SuspendConformance, ADeadlineMayBeALittleLate) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.timeout_at = now() - 600'001;
    EXPECT_EQ(error(op).detail, "timeout_at_in_past");
    op.timeout_at = now() - 600'000;
    EXPECT_TRUE(ok(op).suspended);
}

TEST_P(SuspendConformance, OnlyTheHolderOfTheLeaseMaySuspend) {
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.lease = LeaseRef(task.execution_id());
    EXPECT_EQ(refused(op), "fence_required");
    op.lease.lease_id = task.handle.lease_id;
    EXPECT_EQ(refused(op), "partial_fence_triple");
    op = suspending(task);
    op.lease.lease_epoch = task.handle.lease_epoch + 1;
    EXPECT_EQ(refused(op), "stale_lease");
    op = suspending(task);
    op.lease.attempt_index = 7;
    EXPECT_EQ(refused(op), "invalid_lease_for_suspend");
    op = suspending(task);
    op.lease.execution_id.uuid = new_uuid();
    EXPECT_EQ(refused(op), "execution_not_found");
    op = suspending(task);
    op.lease.attempt_index.reset();  // by triple: the current attempt is meant
    EXPECT_TRUE(ok(op).suspended);
}

TEST_P(SuspendConformance, ASecondSuspendIsRefused) {
    const ClaimedTask task = start();
    const SuspendResult first = suspend(task);
    const Error refusal = error(suspending(task));
    EXPECT_EQ(refusal.code, ErrorCode::execution_not_active);
    EXPECT_EQ(refusal.field("lifecycle_phase"), "suspended");
    Suspend op = suspending(task);
    op.lease = *first.handle;
    EXPECT_EQ(refused(op), "already_suspended");
}

TEST_P(SuspendConformance, ALeasePastDueIsMarkedAndNotSuspended) {
    FF_NEEDS_CLOCK();
    open_with(with(EngineOptions{}, [](auto& o) { o.background = false; }));
    const ClaimedTask task = start();
    clock().advance(30'001);
    EXPECT_EQ(refused(suspending(task)), "lease_expired");
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership,
              OwnershipState::lease_expired_reclaimable);
}

TEST_P(SuspendConformance, ARevokedLeaseCannotSuspend) {
    const ClaimedTask task = start();
    ok(RevokeLease{task.execution_id(), {}, {}, "why"});
    EXPECT_EQ(refused(suspending(task)), "lease_revoked");
}

TEST_P(SuspendConformance, TheHandleOfASuspensionIsNoLease) {
    const SuspendResult result = suspend(start());
    EXPECT_EQ(refused(Renew{*result.handle, 30'000}), "execution_not_active");
    EXPECT_EQ(refused(Complete{*result.handle, "x", {}, Source::lease_holder}),
              "execution_not_active");
    EXPECT_EQ(refused(Fail{*result.handle, "x", "transient"}), "execution_not_active");
    EXPECT_EQ(refused(Progress{*result.handle, 50, {}}), "execution_not_active");
    EXPECT_EQ(refused(Delay{*result.handle, now() + 1'000, Source::lease_holder}),
              "execution_not_active");
}

TEST_P(SuspendConformance, ThePolicyGivesTheDeadlineTheCallerDidNot) {
    FF_NEEDS_CLOCK();
    const std::string policy =
        R"({"suspension_policy":{"default_timeout_ms":5000,"timeout_behavior":"expire"}})";
    const ClaimedTask task = start(job_with_policy(policy));
    suspend(task);
    EXPECT_EQ(last_episode(task.execution_id()).timeout_at, now() + 5'000);
    after(4'999);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::suspended);
    after(1);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::expired);
}

// --------------------------------------------------------------------------------- idempotency

TEST_P(SuspendConformance, ARepeatedSuspendGetsTheSameTokens) {
    const ClaimedTask task = start();
    Suspend op = suspending_on_two(task, ResumeCondition::all_of({ResumeCondition::single("a"),
                                                                  ResumeCondition::single("b")}));
    op.idempotency_key = "once";
    const SuspendResult first = ok(op);
    op.suspension_id = SuspensionId{new_uuid()};
    const SuspendResult again = ok(op);
    EXPECT_EQ(again.details, first.details);
    EXPECT_TRUE(again.suspended);
    EXPECT_EQ(episodes(task.execution_id()).size(), 1U);
    // Whatever has happened since.
    effect(signal(task.execution_id(), first.details.waitpoint));
    effect(signal(task.execution_id(), first.details.additional[0]));
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
    EXPECT_EQ(ok(op).details, first.details);
}

TEST_P(SuspendConformance, AnotherLeaseGetsNothingForAGuessedKey) {
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.idempotency_key = "once";
    ok(op);
    op.lease.lease_id = LeaseId{new_uuid()};
    EXPECT_EQ(refused(op), "execution_not_active");
    const ClaimedTask other = start(job(), "w2");
    Suspend same_key = suspending(other);
    same_key.idempotency_key = "once";
    EXPECT_NE(ok(same_key).details.suspension_id, SuspensionId{});
    EXPECT_EQ(public_of(other.execution_id()), PublicState::suspended);
}

TEST_P(SuspendConformance, TheKeyOfASuspensionIsForgottenAMinuteAfterItsDeadline) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.idempotency_key = "once";
    op.timeout_at = now() + 10'000;
    op.timeout_behavior = TimeoutBehavior::escalate;
    const SuspendResult first = ok(op);
    after(69'999);
    EXPECT_EQ(ok(op).details, first.details);
    after(1);
    EXPECT_EQ(refused(op), "execution_not_active");
}

// ------------------------------------------------------------------------- pending waitpoints

TEST_P(SuspendConformance, AWaitpointIsMadeAheadAndTheLeaseStays) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "early", 60'000});
    EXPECT_EQ(ticket.waitpoint_key, "early");
    EXPECT_EQ(waitpoint_state(ticket.waitpoint_id), "pending");
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active);
    ok(Renew{task.handle, 30'000});
    EXPECT_NE(ok(CreateWaitpoint{task.handle, "early", 60'000}).waitpoint_id, ticket.waitpoint_id);
    EXPECT_EQ(open_waitpoints(task.execution_id()).size(), 2U);
}

TEST_P(SuspendConformance, AWaitpointThatIsMadeOrClosedIsAMutationOfItsExecution) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    clock().advance(1'000);
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "early", 60'000});
    EXPECT_EQ(ok(DescribeExecution{task.execution_id()})->last_mutation_at, now());
    clock().advance(1'000);
    ok(CloseWaitpoint{task.handle, ticket.waitpoint_id, ""});
    EXPECT_EQ(ok(DescribeExecution{task.execution_id()})->last_mutation_at, now());
}

TEST_P(SuspendConformance, MakingAWaitpointIsFenced) {
    const ClaimedTask task = start();
    EXPECT_EQ(refused(CreateWaitpoint{task.handle, "", 1}), "invalid_waitpoint_key");
    EXPECT_EQ(refused(CreateWaitpoint{task.handle, std::string(257, 'k'), 1}),
              "invalid_waitpoint_key");
    EXPECT_EQ(refused(CreateWaitpoint{task.handle, "k", 0}), "invalid_input");
    EXPECT_EQ(refused(CreateWaitpoint{LeaseRef(task.execution_id()), "k", 1}), "fence_required");
    LeaseRef other = task.handle;
    other.lease_epoch = 99;
    EXPECT_EQ(refused(CreateWaitpoint{other, "k", 1}), "stale_lease");
    ok(Complete{task.handle, {}, {}, Source::lease_holder});
    EXPECT_EQ(refused(CreateWaitpoint{task.handle, "k", 1}), "execution_not_active");
}

TEST_P(SuspendConformance, AtMostSixtyFourWaitpointsWait) {
    const ClaimedTask task = start();
    for (int i = 0; i < 64; ++i) {
        ok(CreateWaitpoint{task.handle, "k", 60'000});
    }
    EXPECT_EQ(error(CreateWaitpoint{task.handle, "k", 60'000}).detail, "too_many_waitpoints");
}

TEST_P(SuspendConformance, AWaitpointNobodyUsesIsClosedWhenItsTimeIsOver) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "early", 10'000});
    after(9'999);
    EXPECT_EQ(waitpoint_state(ticket.waitpoint_id), "pending");
    after(1);
    EXPECT_EQ(waitpoint_state(ticket.waitpoint_id), "closed");
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active) << "nothing else happens";
    EXPECT_TRUE(open_waitpoints(task.execution_id()).empty());
}

TEST_P(SuspendConformance, WaitpointsGoWithTheAttemptThatMadeThem) {
    const ClaimedTask task = start();
    const WaitpointTicket one = ok(CreateWaitpoint{task.handle, "k", 60'000});
    ok(Complete{task.handle, {}, {}, Source::lease_holder});
    EXPECT_EQ(waitpoint_state(one.waitpoint_id), "closed");
    EXPECT_EQ(refused(signal(task.execution_id(), one)), "target_not_signalable");

    const ClaimedTask failing = start(job_with_policy(
        R"({"retry_policy":{"max_retries":3,"backoff":{"type":"fixed","delay_ms":1}}})"));
    const WaitpointTicket two = ok(CreateWaitpoint{failing.handle, "k", 60'000});
    EXPECT_TRUE(ok(Fail{failing.handle, "no", "transient"}).retry_scheduled);
    EXPECT_EQ(waitpoint_state(two.waitpoint_id), "closed");
}

TEST_P(SuspendConformance, AWaitpointMadeAheadCanBeClosed) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "k", 60'000});
    ok(CloseWaitpoint{task.handle, ticket.waitpoint_id, ""});
    EXPECT_EQ(waitpoint_state(ticket.waitpoint_id), "closed");
    ok(CloseWaitpoint{task.handle, ticket.waitpoint_id, ""});  // again
    EXPECT_EQ(refused(CloseWaitpoint{task.handle, WaitpointId{new_uuid()}, ""}),
              "waitpoint_not_found");
    const ClaimedTask other = start(job(), "w2");
    const WaitpointTicket its = ok(CreateWaitpoint{other.handle, "k", 60'000});
    EXPECT_EQ(refused(CloseWaitpoint{task.handle, its.waitpoint_id, ""}), "waitpoint_not_found");
    const SuspendResult result = suspend(task);
    EXPECT_EQ(refused(CloseWaitpoint{task.handle, result.details.waitpoint.waitpoint_id, ""}),
              "waitpoint_active");
}

TEST_P(SuspendConformance, ASuspensionTakesOverAPendingWaitpointAsItIs) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "k", 60'000});
    Suspend op = suspending(task);
    op.waitpoints = {WaitpointBinding::pending(ticket.waitpoint_id)};
    const SuspendResult result = ok(op);
    EXPECT_TRUE(result.suspended);
    EXPECT_EQ(result.details.waitpoint, ticket) << "the token is outside already";
    EXPECT_EQ(effect(signal(task.execution_id(), ticket)), "resume_condition_satisfied");
}

TEST_P(SuspendConformance, APendingWaitpointMustBeOnesOwnAndOpen) {
    const ClaimedTask task = start();
    const ClaimedTask other = start(job(), "w2");
    const WaitpointTicket its = ok(CreateWaitpoint{other.handle, "k", 60'000});
    Suspend op = suspending(task);
    op.waitpoints = {WaitpointBinding::pending(its.waitpoint_id)};
    EXPECT_EQ(refused(op), "invalid_waitpoint_for_execution");
    op.waitpoints = {WaitpointBinding::pending(WaitpointId{new_uuid()})};
    EXPECT_EQ(refused(op), "waitpoint_not_found");
    const WaitpointTicket closed = ok(CreateWaitpoint{task.handle, "k", 60'000});
    ok(CloseWaitpoint{task.handle, closed.waitpoint_id, ""});
    op.waitpoints = {WaitpointBinding::pending(closed.waitpoint_id)};
    EXPECT_EQ(refused(op), "waitpoint_not_pending");
    const WaitpointTicket named = ok(CreateWaitpoint{task.handle, "else", 60'000});
    op.waitpoints = {WaitpointBinding::pending(named.waitpoint_id)};
    EXPECT_EQ(refused(op), "invalid_input") << "the condition names another key";
    op.waitpoints = {WaitpointBinding::fresh("k")};
    op.waitpoints[0].waitpoint_id = named.waitpoint_id;
    EXPECT_EQ(refused(op), "waitpoint_already_exists");
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active);
}

TEST_P(SuspendConformance, APendingWaitpointPastItsTimeIsRefused) {
    FF_NEEDS_CLOCK();
    open_with(with(EngineOptions{}, [](auto& o) { o.background = false; }));
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "k", 1'000});
    clock().advance(1'000);
    Suspend op = suspending(task);
    op.waitpoints = {WaitpointBinding::pending(ticket.waitpoint_id)};
    EXPECT_EQ(refused(op), "pending_waitpoint_expired");
    EXPECT_EQ(refused(signal(task.execution_id(), ticket)), "pending_waitpoint_expired");
}

TEST_P(SuspendConformance, SignalsThatCameEarlySufficeAndTheLeaseIsKept) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "k", 60'000});
    EXPECT_EQ(effect(signal(task.execution_id(), ticket, "noise")),
              "buffered_for_pending_waitpoint");
    EXPECT_EQ(effect(signal(task.execution_id(), ticket, "go")), "buffered_for_pending_waitpoint");
    Suspend op = suspending(task, ResumeCondition::single("k", "go"));
    op.waitpoints = {WaitpointBinding::pending(ticket.waitpoint_id)};
    const SuspendResult result = ok(op);
    EXPECT_FALSE(result.suspended);
    EXPECT_FALSE(result.handle);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active);
    EXPECT_EQ(observed(task.execution_id()), (std::vector<std::string>{"go"}));
    EXPECT_EQ(waitpoint_state(ticket.waitpoint_id), "closed");
    const auto signals = ledger(task.execution_id());
    ASSERT_EQ(signals.size(), 2U);
    EXPECT_EQ(signals[0].observed_effect, SignalEffect::no_op);
    EXPECT_EQ(signals[1].observed_effect, SignalEffect::resume_condition_satisfied);
    EXPECT_TRUE(signals[1].matched);
    ok(Complete{task.handle, "done", {}, Source::lease_holder});
}

TEST_P(SuspendConformance, EarlySignalsCountTowardsAComposite) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = ok(CreateWaitpoint{task.handle, "k", 60'000});
    effect(signal_from(task.execution_id(), ticket, "ann"));
    effect(signal_from(task.execution_id(), ticket, "ann"));
    Suspend op = suspending(task, ResumeCondition::count(2, CountKind::distinct_sources, {"k"}));
    op.waitpoints = {WaitpointBinding::pending(ticket.waitpoint_id)};
    EXPECT_TRUE(ok(op).suspended);
    EXPECT_EQ(effect(signal_from(task.execution_id(), ticket, "ann")),
              "appended_to_waitpoint_duplicate");
    EXPECT_EQ(effect(signal_from(task.execution_id(), ticket, "bob")),
              "resume_condition_satisfied");
}

// ------------------------------------------------------------------------------------ resuming

TEST_P(SuspendConformance, AResumedExecutionGoesOnWithTheSameAttempt) {
    const ClaimedTask task = start();
    const SuspendResult result = suspend(task);
    effect(signal(task.execution_id(), result.details.waitpoint));
    EXPECT_EQ(state(task.execution_id()),
              "runnable unowned eligible_now waiting_for_worker none attempt_interrupted");
    EXPECT_FALSE(snapshot(task.execution_id()).current_waitpoint);
    const ClaimedTask again = claim("w2");
    EXPECT_EQ(again.execution_id(), task.execution_id());
    EXPECT_TRUE(again.resumed());
    EXPECT_EQ(again.handle.attempt_index, task.handle.attempt_index);
    EXPECT_EQ(again.handle.attempt_id, task.handle.attempt_id);
    EXPECT_EQ(again.handle.lease_epoch, task.handle.lease_epoch + 1);
    EXPECT_EQ(history(task.execution_id()).back(), "acquired:claim_resumed");
    EXPECT_EQ(observed(task.execution_id()), (std::vector<std::string>{"go"}));
    ok(Complete{again.handle, "done", {}, Source::lease_holder});
    EXPECT_EQ(attempts(task.execution_id()).size(), 1U);
}

TEST_P(SuspendConformance, AnIdleWorkerPicksTheResumedExecutionUpAtOnce) {
    const ClaimedTask task = start();
    const SuspendResult result = suspend(task);
    SentClaim waiting(engine(), with(claim_by("w2"), [](auto& c) { c.max_wait_ms = 60'000; }));
    settle();
    EXPECT_FALSE(waiting.answered());
    effect(signal(task.execution_id(), result.details.waitpoint));
    const auto tasks = waiting.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_TRUE(tasks[0].resumed());
}

TEST_P(SuspendConformance, AnAttemptMaySuspendAgain) {
    const ClaimedTask task = start();
    SuspendResult result = suspend(task);
    effect(signal(task.execution_id(), result.details.waitpoint, "first"));
    const ClaimedTask second = claim();
    result = suspend(second);
    EXPECT_TRUE(observed(task.execution_id()).empty()) << "of the latest suspension";
    effect(signal(task.execution_id(), result.details.waitpoint, "second"));
    EXPECT_EQ(observed(task.execution_id()), (std::vector<std::string>{"second"}));
    const auto all = episodes(task.execution_id());
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].close_reason, "resumed");
    EXPECT_EQ(all[1].all_satisfier_signals.size(), 1U);
}

TEST_P(SuspendConformance, AnEarlierAttemptsSignalsAreNotSeen) {
    const ClaimedTask task = start(job_with_policy(
        R"({"retry_policy":{"max_retries":3,"backoff":{"type":"fixed","delay_ms":1}}})"));
    const SuspendResult result = suspend(task);
    effect(signal(task.execution_id(), result.details.waitpoint));
    const ClaimedTask second = claim();
    EXPECT_TRUE(ok(Fail{second.handle, "no", "transient"}).retry_scheduled);
    EXPECT_EQ(ok(ObserveSignals{task.execution_id(), 0}).size(), 1U);
    EXPECT_TRUE(ok(ObserveSignals{task.execution_id(), 1}).empty());
}

TEST_P(SuspendConformance, AResumeMayBeDelayed) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.resume_policy.resume_delay_ms = 5'000;
    const SuspendResult result = ok(op);
    effect(signal(task.execution_id(), result.details.waitpoint));
    EXPECT_EQ(state(task.execution_id()),
              "runnable unowned not_eligible_until_time waiting_for_resume_delay none "
              "attempt_interrupted");
    EXPECT_EQ(public_of(task.execution_id()), PublicState::delayed);
    EXPECT_EQ(snapshot(task.execution_id()).info.blocking_detail,
              "resume delay 5000ms after signal go");
    after(4'999);
    EXPECT_FALSE(has_work());
    after(1);
    EXPECT_TRUE(claim().resumed());
}

TEST_P(SuspendConformance, TheSignalsOwnDelayWins) {
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.resume_policy.resume_delay_ms = 5'000;
    const SuspendResult result = ok(op);
    DeliverSignal go = signal(task.execution_id(), result.details.waitpoint);
    go.resume_delay_ms = 0;
    effect(go);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
}

TEST_P(SuspendConformance, AnOperatorMayResume) {
    const ClaimedTask task = start();
    const SuspendResult result = suspend(task, ResumeCondition::operator_only());
    EXPECT_EQ(effect(signal(task.execution_id(), result.details.waitpoint)), "no_op");
    ResumeExecution op;
    op.execution_id = task.execution_id();
    op.trigger_type = ResumeTrigger::operator_;
    op.actor = "ann";
    EXPECT_EQ(ok(op).public_state, PublicState::waiting);
    EXPECT_EQ(refused(op), "execution_not_suspended");
    const SuspensionInfo episode = last_episode(task.execution_id());
    EXPECT_EQ(episode.resume_trigger, ResumeTrigger::operator_);
    EXPECT_EQ(episode.resumed_by, "ann");
    EXPECT_FALSE(episode.closer_signal_id);
    EXPECT_EQ(waitpoint_state(result.details.waitpoint.waitpoint_id), "closed");
    EXPECT_TRUE(observed(task.execution_id()).empty());
    EXPECT_TRUE(claim().resumed());
    op.execution_id.uuid = new_uuid();
    EXPECT_EQ(refused(op), "execution_not_found");
}

TEST_P(SuspendConformance, AnOperatorsResumeMayBeDelayed) {
    const ClaimedTask task = start();
    suspend(task);
    ResumeExecution op;
    op.execution_id = task.execution_id();
    op.resume_delay_ms = 1'000;
    EXPECT_EQ(ok(op).public_state, PublicState::delayed);
    EXPECT_EQ(snapshot(task.execution_id()).info.blocking_detail, "resume delay 1000ms");
}

// ----------------------------------------------------------------- interaction with the others

TEST_P(SuspendConformance, CancellingEndsTheSuspension) {
    const ClaimedTask task = start();
    const SuspendResult result = suspend(task);
    ok(CancelExecution{LeaseRef(task.execution_id()), "enough"});
    EXPECT_EQ(public_of(task.execution_id()), PublicState::cancelled);
    EXPECT_EQ(last_episode(task.execution_id()).close_reason, "cancelled");
    EXPECT_EQ(waitpoint_state(result.details.waitpoint.waitpoint_id), "closed");
    EXPECT_EQ(attempt(task.execution_id(), 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(refused(signal(task.execution_id(), result.details.waitpoint)),
              "target_not_signalable");
}

TEST_P(SuspendConformance, TheDeadlineOfTheExecutionRunsOn) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(with(job(), [&](auto& o) { o.execution_deadline_at = now() + 5'000; }));
    const SuspendResult result = suspend(task);
    after(5'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::expired);
    EXPECT_EQ(last_episode(task.execution_id()).close_reason, "expired:execution_deadline");
    EXPECT_EQ(waitpoint_state(result.details.waitpoint.waitpoint_id), "closed");
    EXPECT_EQ(attempt(task.execution_id(), 0).state, AttemptLifecycle::ended_failure);
}

TEST_P(SuspendConformance, TheTimeOfTheAttemptStandsStill) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":10000}})"));
    after(4'000);
    const SuspendResult result = suspend(task);
    EXPECT_EQ(last_episode(task.execution_id()).remaining_attempt_timeout_ms, 6'000);
    after(60'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::suspended);
    effect(signal(task.execution_id(), result.details.waitpoint));
    EXPECT_EQ(claim().attempt_deadline_at, now() + 6'000);
}

TEST_P(SuspendConformance, AMemberOfAFlowMaySuspend) {
    SubmitFlow flow;
    flow.flow_kind = "dag";
    flow.ns = "acme";
    flow.nodes = {{"a", job(), {}}, {"b", job(), {}}};
    flow.edges = {{"a", "b"}};
    ok(flow);
    const ClaimedTask a = claim();
    const SuspendResult result = suspend(a);
    EXPECT_FALSE(has_work());
    effect(signal(a.execution_id(), result.details.waitpoint));
    ok(Complete{claim().handle, "x", {}, Source::lease_holder});
    EXPECT_NE(claim().execution_id(), a.execution_id());
}

// --------------------------------------------------------------------------------------- reads

TEST_P(SuspendConformance, OpenWaitpointsAreListedWithoutTheirTokens) {
    const ClaimedTask task = start();
    Suspend op = suspending_on_two(
        task,
        ResumeCondition::all_of({ResumeCondition::single("a", "x"), ResumeCondition::single("b"),
                                 ResumeCondition::single("a", "y")}));
    const SuspendResult result = ok(op);
    const auto open = open_waitpoints(task.execution_id());
    ASSERT_EQ(open.size(), 2U);
    EXPECT_LT(open[0].waitpoint_id, open[1].waitpoint_id);
    for (const WaitpointInfo& info : open) {
        EXPECT_EQ(info.state, WaitpointState::active);
        EXPECT_EQ(info.execution_id, task.execution_id());
        EXPECT_EQ(info.token_kid, "k1");
        EXPECT_EQ(info.token_fingerprint.size(), 16U);
        const bool is_a = info.waitpoint_key == "a";
        EXPECT_EQ(info.required_signal_names,
                  is_a ? (std::vector<std::string>{"x", "y"}) : std::vector<std::string>{});
        const std::string& token = is_a ? result.details.waitpoint.waitpoint_token
                                        : result.details.additional[0].waitpoint_token;
        EXPECT_EQ(token.substr(3, 16), info.token_fingerprint);
    }
    ListPendingWaitpoints page;
    page.execution_id = task.execution_id();
    page.limit = 1;
    const WaitpointPage first = ok(page);
    ASSERT_EQ(first.waitpoints.size(), 1U);
    ASSERT_TRUE(first.next_cursor);
    page.after = first.next_cursor;
    EXPECT_EQ(ok(page).waitpoints.at(0), open[1]);
    EXPECT_FALSE(ok(page).next_cursor);
    page.execution_id.uuid = new_uuid();
    EXPECT_EQ(refused(page), "execution_not_found");
}

TEST_P(SuspendConformance, TheTokenOfAnOpenWaitpointCanBeRead) {
    const ClaimedTask task = start();
    const WaitpointTicket ticket = suspend(task).details.waitpoint;
    EXPECT_EQ(ok(ReadWaitpointToken{task.execution_id(), ticket.waitpoint_id}),
              ticket.waitpoint_token);
    EXPECT_FALSE(ok(ReadWaitpointToken{task.execution_id(), WaitpointId{new_uuid()}}));
    const ClaimedTask other = start(job(), "w2");
    EXPECT_FALSE(ok(ReadWaitpointToken{other.execution_id(), ticket.waitpoint_id}));
    effect(signal(task.execution_id(), ticket));
    EXPECT_FALSE(ok(ReadWaitpointToken{task.execution_id(), ticket.waitpoint_id}));
}

TEST_P(SuspendConformance, SuspendedExecutionsAreListedByTheirDeadline) {
    std::vector<ExecutionId> by_deadline;
    const TimestampMs base = has_clock() ? now() : SystemClock().now();
    for (const int minutes : {30, 10, 0, 20}) {
        const ClaimedTask task = start();
        Suspend op = suspending(task);
        if (minutes > 0) {
            op.timeout_at = base + minutes * 60'000;
        }
        op.reason_code = SuspensionReason::waiting_for_approval;
        ok(op);
        by_deadline.push_back(task.execution_id());
    }
    by_deadline = {by_deadline[1], by_deadline[3], by_deadline[0], by_deadline[2]};
    ListSuspended op;
    op.lane_id = "default";
    const SuspendedPage all = ok(op);
    ASSERT_EQ(all.entries.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(all.entries[i].execution_id, by_deadline[i]);
        EXPECT_EQ(all.entries[i].reason, "waiting_for_approval");
    }
    EXPECT_EQ(all.entries[0].suspended_at_ms, base + 600'000);
    EXPECT_EQ(all.entries[3].suspended_at_ms, 9'999'999'999'999);
    EXPECT_FALSE(all.next_cursor);
    // Page by page, by either kind of cursor, in all lanes or one.
    op.lane_id.reset();
    op.limit = 3;
    const SuspendedPage first = ok(op);
    EXPECT_EQ(first.entries.size(), 3U);
    ASSERT_TRUE(first.next_cursor);
    op.cursor = first.next_cursor;
    ASSERT_EQ(ok(op).entries.size(), 1U);
    EXPECT_EQ(ok(op).entries[0].execution_id, by_deadline[3]);
    op.cursor = by_deadline[2].to_string();
    ASSERT_EQ(ok(op).entries.size(), 1U);
    op.cursor = "rubbish";
    EXPECT_EQ(refused(op), "invalid_input");
    op.cursor.reset();
    op.limit = 0;
    EXPECT_TRUE(ok(op).entries.empty());
    op.limit = 10;
    op.lane_id = "other";
    EXPECT_TRUE(ok(op).entries.empty());
    op.lane_id.reset();
    op.ns = "nobody";
    EXPECT_TRUE(ok(op).entries.empty());
}

TEST_P(SuspendConformance, ASuspensionIsThereAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << "nothing is kept";
    }
    const ClaimedTask task = start();
    const SuspendResult result =
        suspend(task, ResumeCondition::count(2, CountKind::distinct_sources, {"k"}));
    effect(signal_from(task.execution_id(), result.details.waitpoint, "ann"));
    reopen();
    EXPECT_EQ(effect(signal_from(task.execution_id(), result.details.waitpoint, "ann")),
              "appended_to_waitpoint_duplicate");
    EXPECT_EQ(effect(signal_from(task.execution_id(), result.details.waitpoint, "bob")),
              "resume_condition_satisfied");
    EXPECT_EQ(ok(ObserveSignals{task.execution_id(), {}}).size(), 2U);
}

}  // namespace ff::engine::test
