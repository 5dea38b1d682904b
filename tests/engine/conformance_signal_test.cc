// Signals, approvals, timeouts and keys (spec 04 sections 4, 8, 9, 13, 16).
#include <atomic>
#include <thread>

#include "engine/conformance_suspend.h"

namespace ff::engine::test {

class SignalConformance : public SuspendConformance {
  protected:
    static constexpr TimeoutBehavior timeout_fail = TimeoutBehavior::fail;

    /// A suspension that times out after ten seconds.
    ClaimedTask timed(TimeoutBehavior behavior, SuspendResult* result = nullptr) {
        const ClaimedTask task = start();
        Suspend op = suspending(task, ResumeCondition::single("k", "go"));
        op.timeout_at = now() + 10'000;
        op.timeout_behavior = behavior;
        const SuspendResult made = ok(op);
        if (result != nullptr) {
            *result = made;
        }
        return task;
    }
    DeliverApprovalSignal approval(const ExecutionId& id, const WaitpointId& at,
                                   std::string name = "approved", std::string suffix = "1") {
        DeliverApprovalSignal op;
        op.execution_id = id;
        op.lane_id = "default";
        op.waitpoint_id = at;
        op.signal_name = std::move(name);
        op.idempotency_suffix = std::move(suffix);
        return op;
    }
    static std::string secret(char digit) { return std::string(64, digit); }
};

FF_ON_EVERY_ENGINE(SignalConformance);

// -------------------------------------------------------------------------------------- effects

TEST_P(SignalConformance, TheFirstSignalThatMatchesResumes) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, ResumeCondition::single("k", "go")).details.waitpoint;
    EXPECT_EQ(effect(signal(task.execution_id(), at, "Go")), "no_op") << "bytes are compared";
    EXPECT_EQ(public_of(task.execution_id()), PublicState::suspended);
    const SignalResult last = ok(signal(task.execution_id(), at, "go"));
    EXPECT_EQ(last.effect, SignalEffect::resume_condition_satisfied);
    const SuspensionInfo episode = last_episode(task.execution_id());
    EXPECT_EQ(episode.close_reason, "resumed");
    EXPECT_EQ(episode.resume_trigger, ResumeTrigger::signal);
    EXPECT_EQ(episode.closer_signal_id, last.signal_id);
    EXPECT_EQ(episode.all_satisfier_signals, (std::vector<SignalId>{last.signal_id}));
    EXPECT_EQ(refused(signal(task.execution_id(), at)), "waitpoint_closed");
    const auto found = ok(FindWaitpoint{at.waitpoint_id});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->signal_count, 2U);
    EXPECT_EQ(found->matched_signal_count, 1U);
}

TEST_P(SignalConformance, ACompositeTellsWhatASignalDid) {
    const ClaimedTask task = start();
    Suspend op = suspending_on_two(
        task, ResumeCondition::all_of(
                  {ResumeCondition::single("a", "x"),
                   ResumeCondition::count(2, CountKind::distinct_signals, {"b"}, "y")}));
    const SuspendResult result = ok(op);
    const ExecutionId id = task.execution_id();
    const WaitpointTicket a = result.details.waitpoint;
    const WaitpointTicket b = result.details.additional.at(0);
    EXPECT_EQ(effect(signal(id, a, "other")), "signal_ignored_matcher_failed");
    EXPECT_EQ(effect(signal(id, a, "x")), "appended_to_waitpoint");
    EXPECT_EQ(effect(signal(id, a, "x")), "appended_to_waitpoint_duplicate");
    EXPECT_EQ(effect(signal(id, b, "y")), "appended_to_waitpoint");
    EXPECT_EQ(effect(signal(id, b, "y")), "resume_condition_satisfied");
    EXPECT_EQ(observed(id), (std::vector<std::string>{"x", "y", "y"}));
    EXPECT_EQ(waitpoint_state(a.waitpoint_id), "closed");
    EXPECT_EQ(waitpoint_state(b.waitpoint_id), "closed");
}

TEST_P(SignalConformance, TwoDistinctPeopleAreNeeded) {
    const ClaimedTask task = start();
    const WaitpointTicket at =
        suspend(task, any_signal("approved").from_distinct_sources(2)).details.waitpoint;
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(effect(signal_from(id, at, "ann", "approved")), "appended_to_waitpoint");
    EXPECT_EQ(effect(signal_from(id, at, "ann", "approved")), "appended_to_waitpoint_duplicate");
    // A pair is a pair: these would be the same text when joined.
    DeliverSignal joined = signal_from(id, at, "", "approved");
    joined.source_type = "externalann";
    EXPECT_EQ(effect(joined), "resume_condition_satisfied");
}

TEST_P(SignalConformance, ASetOfNamedSignalsIsSeenInTheOrderOfItsNames) {
    const ClaimedTask task = start();
    const WaitpointTicket at =
        suspend(task, ResumeCondition::signal_set("k", {"one", "two"}, SignalMatchMode::all))
            .details.waitpoint;
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(effect(signal(id, at, "two")), "appended_to_waitpoint");
    EXPECT_EQ(effect(signal(id, at, "two")), "no_op") << "that name is satisfied";
    EXPECT_EQ(effect(signal(id, at, "one")), "resume_condition_satisfied");
    EXPECT_EQ(observed(id), (std::vector<std::string>{"one", "two"}));
}

TEST_P(SignalConformance, SignalsCarryAnyBytes) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    DeliverSignal op = signal(task.execution_id(), at);
    op.payload = all_bytes();
    op.correlation_id = "c-1";
    op.signal_category = "webhook";
    effect(op);
    const auto seen = ok(ObserveSignals{task.execution_id(), {}});
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].payload, all_bytes());
    EXPECT_EQ(seen[0].correlation_id, "c-1");
    EXPECT_EQ(seen[0].signal_category, "webhook");
    EXPECT_EQ(seen[0].source_type, "external");
}

TEST_P(SignalConformance, MalformedSignalsAreRefusedAndChangeNothing) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(refused(signal(id, at, "")), "invalid_input");
    EXPECT_EQ(refused(signal(id, at, "__operator_only__")), "invalid_input");
    EXPECT_EQ(refused(signal(id, at, "__timeout_only__")), "invalid_input");
    EXPECT_EQ(refused(signal(id, at, std::string(1'025, 'x'))), "invalid_input");
    EXPECT_EQ(refused(signal_from(id, at, std::string(1'025, 'x'))), "invalid_input");
    EXPECT_EQ(refused(with(signal(id, at), [](auto& o) { o.payload = std::string(65'537, 'x'); })),
              "payload_too_large");
    EXPECT_EQ(refused(with(signal(id, at), [](auto& o) { o.dedup_ttl_ms = -1; })), "invalid_input");
    EXPECT_TRUE(ledger(id).empty());
    EXPECT_EQ(effect(with(signal(id, at), [](auto& o) { o.payload = std::string(65'536, 'x'); })),
              "resume_condition_satisfied");
}

// --------------------------------------------------------------------------------- repetitions

TEST_P(SignalConformance, ARepeatedSignalIsADuplicateWhateverHasHappenedSince) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    DeliverSignal op = signal(task.execution_id(), at);
    op.idempotency_key = "once";
    op.signal_id = SignalId{new_uuid()};
    const SignalResult first = ok(op);
    EXPECT_FALSE(first.duplicate);
    op.signal_id = SignalId{new_uuid()};
    const SignalResult again = ok(op);
    EXPECT_TRUE(again.duplicate) << "although the waitpoint is closed by now";
    EXPECT_EQ(again.signal_id, first.signal_id);
    EXPECT_EQ(ledger(task.execution_id()).size(), 1U);
    ok(Complete{claim().handle, {}, {}, Source::lease_holder});
    EXPECT_TRUE(ok(op).duplicate);
    op.idempotency_key = "other";
    EXPECT_EQ(refused(op), "target_not_signalable");
}

TEST_P(SignalConformance, TheSameIdIsADuplicateAndAnotherWaitpointsAFault) {
    const ClaimedTask task = start();
    const SuspendResult result = ok(suspending_on_two(
        task,
        ResumeCondition::all_of({ResumeCondition::single("a"), ResumeCondition::single("b")})));
    DeliverSignal op = signal(task.execution_id(), result.details.waitpoint);
    op.signal_id = SignalId{new_uuid()};
    EXPECT_FALSE(ok(op).duplicate);
    EXPECT_TRUE(ok(op).duplicate);
    DeliverSignal other = signal(task.execution_id(), result.details.additional.at(0));
    other.signal_id = op.signal_id;
    EXPECT_EQ(refused(other), "invalid_input");
}

TEST_P(SignalConformance, AKeyIsForgottenAfterItsTime) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal().times(5)).details.waitpoint;
    DeliverSignal op = signal(task.execution_id(), at);
    op.idempotency_key = "k";
    op.dedup_ttl_ms = 1'000;
    EXPECT_FALSE(ok(op).duplicate);
    after(999);
    EXPECT_TRUE(ok(op).duplicate);
    after(1);
    EXPECT_FALSE(ok(op).duplicate);
    EXPECT_TRUE(ok(op).duplicate);
    op.dedup_ttl_ms = 0;
    EXPECT_FALSE(ok(op).duplicate) << "no time, no key";
}

TEST_P(SignalConformance, KeysOfBufferedSignalsCountToo) {
    const ClaimedTask task = start();
    const WaitpointTicket at = ok(CreateWaitpoint{task.handle, "k", 60'000});
    DeliverSignal op = signal(task.execution_id(), at);
    op.idempotency_key = "k";
    EXPECT_FALSE(ok(op).duplicate);
    EXPECT_TRUE(ok(op).duplicate);
}

TEST_P(SignalConformance, AnExecutionTakesSoManySignals) {
    const ClaimedTask task = start(job_with_policy(R"({"max_signals_per_execution":2})"));
    const WaitpointTicket at = suspend(task, any_signal("never")).details.waitpoint;
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(refused(with(signal(id, at), [](auto& o) { o.max_signals_per_execution = 0; })),
              "ok");
    DeliverSignal lower = signal(id, at);
    lower.max_signals_per_execution = 1;
    EXPECT_EQ(refused(lower), "signal_limit_exceeded");
    DeliverSignal keyed = signal(id, at);
    keyed.max_signals_per_execution = 100;  // may not raise it
    keyed.idempotency_key = "k";
    EXPECT_EQ(refused(keyed), "ok");
    EXPECT_EQ(refused(signal(id, at)), "signal_limit_exceeded");
    EXPECT_TRUE(ok(keyed).duplicate) << "a repetition of the one that filled the limit";
}

TEST_P(SignalConformance, OfTwoLastSignalsExactlyOneSatisfies) {
    for (int round = 0; round < 10; ++round) {
        const ClaimedTask task = start();
        const WaitpointTicket at = suspend(task).details.waitpoint;
        std::atomic<int> satisfied = 0;
        std::atomic<int> closed = 0;
        std::vector<std::thread> senders;
        for (int i = 0; i < 4; ++i) {
            senders.emplace_back([&] {
                const auto answer = engine().run(signal(task.execution_id(), at));
                satisfied += answer && answer->effect == SignalEffect::resume_condition_satisfied;
                closed += !answer && answer.error().code == ErrorCode::waitpoint_closed;
            });
        }
        for (std::thread& sender : senders) {
            sender.join();
        }
        EXPECT_EQ(satisfied, 1);
        EXPECT_EQ(closed, 3);
        ok(Complete{claim().handle, {}, {}, Source::lease_holder});
    }
}

// ---------------------------------------------------------------------------------------- tokens

TEST_P(SignalConformance, ABadTokenIsRefusedBeforeAnythingIsTold) {
    const ClaimedTask task = start();
    const SuspendResult result = ok(suspending_on_two(
        task,
        ResumeCondition::all_of({ResumeCondition::single("a"), ResumeCondition::single("b")})));
    const ExecutionId id = task.execution_id();
    const WaitpointTicket a = result.details.waitpoint;
    const WaitpointTicket b = result.details.additional.at(0);
    const auto with_token = [&](std::string token) {
        DeliverSignal op = signal(id, a);
        op.waitpoint_token = std::move(token);
        return refused(op);
    };
    EXPECT_EQ(with_token(""), "missing_token");
    EXPECT_EQ(with_token("k1"), "invalid_token");
    EXPECT_EQ(with_token("k1:"), "invalid_token");
    EXPECT_EQ(with_token(":" + a.waitpoint_token.substr(3)), "invalid_token");
    EXPECT_EQ(with_token(a.waitpoint_token.substr(0, a.waitpoint_token.size() - 1)),
              "invalid_token");
    EXPECT_EQ(with_token(a.waitpoint_token + "0"), "invalid_token");
    EXPECT_EQ(with_token(b.waitpoint_token), "invalid_token") << "another waitpoint's";
    EXPECT_EQ(with_token("k9:" + a.waitpoint_token.substr(3)), "invalid_token");
    std::string upper = a.waitpoint_token;
    std::ranges::transform(upper.begin() + 3, upper.end(), upper.begin() + 3, ::toupper);
    EXPECT_EQ(with_token(upper), "invalid_token");
    std::string forged = a.waitpoint_token;
    forged.back() = forged.back() == '0' ? '1' : '0';
    EXPECT_EQ(with_token(forged), "invalid_token");
    // Whether or not there is such a waitpoint.
    DeliverSignal nowhere = signal(id, a);
    nowhere.waitpoint_id = WaitpointId{new_uuid()};
    EXPECT_EQ(refused(nowhere), "invalid_token");
    const ClaimedTask other = start(job(), "w2");
    EXPECT_EQ(refused(signal(other.execution_id(), a)), "invalid_token") << "another execution's";
    DeliverSignal absent = signal(id, a);
    absent.execution_id.uuid = new_uuid();
    EXPECT_EQ(refused(absent), "execution_not_found");
    EXPECT_TRUE(ledger(id).empty());
    EXPECT_EQ(effect(signal(id, a)), "appended_to_waitpoint");
}

TEST_P(SignalConformance, WithoutAKeyThereAreNoTokens) {
    FF_NEEDS_EMBEDDED();
    open_with(with(EngineOptions{}, [](auto& o) { o.make_waitpoint_key = false; }));
    const ClaimedTask task = start();
    EXPECT_EQ(refused(CreateWaitpoint{task.handle, "k", 1'000}), "hmac_secret_not_initialized");
    EXPECT_EQ(refused(suspending(task)), "hmac_secret_not_initialized");
    EXPECT_EQ(public_of(task.execution_id()), PublicState::active);
    EXPECT_FALSE(ok(ListWaitpointKeys{}).current_kid);
    EXPECT_TRUE(ok(SeedWaitpointKey{"k1", secret('a')}).seeded);
    EXPECT_TRUE(ok(suspending(task)).suspended);
}

TEST_P(SignalConformance, KeysAreSeededOnce) {
    FF_NEEDS_EMBEDDED();
    const SeedKeyResult first = ok(SeedWaitpointKey{"main", secret('a')});
    EXPECT_EQ(first, (SeedKeyResult{true, false, "main"}));
    EXPECT_EQ(ok(SeedWaitpointKey{"main", secret('a')}), (SeedKeyResult{false, true, "main"}));
    EXPECT_EQ(ok(SeedWaitpointKey{"main", secret('b')}), (SeedKeyResult{false, false, "main"}));
    EXPECT_EQ(refused(SeedWaitpointKey{"other", secret('b')}), "invalid_input");
    EXPECT_EQ(refused(SeedWaitpointKey{"", secret('b')}), "invalid_kid");
    EXPECT_EQ(refused(SeedWaitpointKey{"a:b", secret('b')}), "invalid_kid");
    EXPECT_EQ(refused(SeedWaitpointKey{"x", "abcd"}), "invalid_secret_hex");
}

TEST_P(SignalConformance, ARetiredKeyVerifiesUntilItsGraceIsOver) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal().times(9)).details.waitpoint;
    const RotateKeyResult rotated = ok(RotateWaitpointKey{"k2", secret('b'), 1'000});
    EXPECT_TRUE(rotated.rotated);
    EXPECT_EQ(rotated.previous_kid, "k1");
    EXPECT_EQ(rotated.waitpoints_outliving_grace, 1U);
    const KeyList keys = ok(ListWaitpointKeys{});
    EXPECT_EQ(keys.current_kid, "k2");
    ASSERT_EQ(keys.verifying.size(), 1U);
    EXPECT_EQ(keys.verifying[0].kid, "k1");
    EXPECT_EQ(keys.verifying[0].expires_at_ms, now() + 1'000);
    after(1'000);
    EXPECT_EQ(effect(signal(task.execution_id(), at)), "appended_to_waitpoint");
    after(1);
    EXPECT_EQ(refused(signal(task.execution_id(), at)), "token_expired");
    EXPECT_TRUE(ok(ListWaitpointKeys{}).verifying.empty());
    // An operator may still answer.
    EXPECT_EQ(ok(approval(task.execution_id(), at.waitpoint_id)).effect,
              SignalEffect::appended_to_waitpoint);
    EXPECT_EQ(refused(RotateWaitpointKey{"k1", secret('c'), 1'000}), "rotation_conflict");
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", secret('c'), 1'000}), "rotation_conflict");
    EXPECT_FALSE(ok(RotateWaitpointKey{"k2", secret('b'), 1'000}).rotated);
    EXPECT_EQ(ok(RotateWaitpointKey{"k3", secret('c'), 0}).gc_count, 1U);
}

TEST_P(SignalConformance, BadKeysAreRefused) {
    EXPECT_EQ(refused(RotateWaitpointKey{"", secret('b'), 0}), "invalid_kid");
    EXPECT_EQ(refused(RotateWaitpointKey{"a:b", secret('b'), 0}), "invalid_kid");
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", "abc", 0}), "invalid_secret_hex");
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", "zz", 0}), "invalid_secret_hex");
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", "", 0}), "invalid_secret_hex");
}

TEST_P(SignalConformance, SecretsMayRestEncrypted) {
    FF_NEEDS_EMBEDDED();
    open_with(with(EngineOptions{}, [](auto& o) { o.keystore_key = secret('c'); }));
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    EXPECT_EQ(effect(signal(task.execution_id(), at)), "resume_condition_satisfied");
}

// ------------------------------------------------------------------------------------- approvals

TEST_P(SignalConformance, AnOperatorAnswersWithoutAToken) {
    const ClaimedTask task = start();
    const WaitpointTicket at =
        suspend(task, any_signal("approved").from_distinct_sources(2)).details.waitpoint;
    const ExecutionId id = task.execution_id();
    DeliverApprovalSignal op = approval(id, at.waitpoint_id);
    op.actor = "ann";
    op.note = "looks good";
    EXPECT_EQ(ok(op).effect, SignalEffect::appended_to_waitpoint);
    EXPECT_TRUE(ok(op).duplicate) << "the same suffix";
    op.actor = "bob";
    op.idempotency_suffix = "2";
    EXPECT_EQ(ok(op).effect, SignalEffect::resume_condition_satisfied);
    const auto seen = ok(ObserveSignals{id, {}});
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].source_type, "operator");
    EXPECT_EQ(seen[0].source_identity, "ann");
    EXPECT_EQ(seen[0].signal_category, "approval");
    EXPECT_EQ(seen[0].payload, "looks good");
    EXPECT_EQ(ledger(id)[0].idempotency_key, "approval:approved:1");
}

TEST_P(SignalConformance, AnApprovalNamesItsLaneAndAWaitpointThatIsThere) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    DeliverApprovalSignal op = approval(task.execution_id(), at.waitpoint_id);
    op.lane_id = "other";
    EXPECT_EQ(error(op).detail, "lane_mismatch: args.lane_id=other exec_core.lane_id=default");
    op = approval(task.execution_id(), WaitpointId{new_uuid()});
    EXPECT_EQ(refused(op), "waitpoint_not_found");
    op = approval(task.execution_id(), at.waitpoint_id);
    op.execution_id.uuid = new_uuid();
    EXPECT_EQ(refused(op), "execution_not_found");
    const ClaimedTask other = start(job(), "w2");
    EXPECT_EQ(refused(approval(other.execution_id(), at.waitpoint_id)), "waitpoint_not_found");
}

// -------------------------------------------------------------------------------------- timeouts

TEST_P(SignalConformance, ATimeoutFailsWithoutARetry) {
    FF_NEEDS_CLOCK();
    SuspendResult result;
    const ClaimedTask task = timed(TimeoutBehavior::fail, &result);
    after(9'999);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::suspended);
    after(1);
    const ExecutionSnapshot shown = snapshot(task.execution_id());
    EXPECT_EQ(shown.info.public_state, PublicState::failed);
    EXPECT_EQ(shown.failure_reason, "suspension_timeout:fail");
    EXPECT_EQ(attempt(task.execution_id(), 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(attempt(task.execution_id(), 0).failure_reason, "suspension_timeout:fail");
    EXPECT_EQ(last_episode(task.execution_id()).close_reason, "timed_out_fail");
    EXPECT_EQ(waitpoint_state(result.details.waitpoint.waitpoint_id), "closed");
    EXPECT_TRUE(observed(task.execution_id()).empty());
}

TEST_P(SignalConformance, ATimeoutCancelsOrExpires) {
    FF_NEEDS_CLOCK();
    const ClaimedTask one = timed(TimeoutBehavior::cancel);
    const ClaimedTask two = timed(TimeoutBehavior::expire);
    after(10'000);
    EXPECT_EQ(public_of(one.execution_id()), PublicState::cancelled);
    EXPECT_EQ(attempt(one.execution_id(), 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(last_episode(one.execution_id()).close_reason, "timed_out_cancel");
    EXPECT_EQ(public_of(two.execution_id()), PublicState::expired);
    EXPECT_EQ(last_episode(two.execution_id()).close_reason, "timed_out_expire");
}

TEST_P(SignalConformance, ATimeoutMayResumeAndSayWhy) {
    FF_NEEDS_CLOCK();
    SuspendResult result;
    const ClaimedTask task = timed(TimeoutBehavior::auto_resume_with_timeout_signal, &result);
    after(10'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
    const SuspensionInfo episode = last_episode(task.execution_id());
    EXPECT_EQ(episode.close_reason, "timed_out_auto_resume");
    EXPECT_EQ(episode.resume_trigger, ResumeTrigger::auto_resume);
    const auto seen = ok(ObserveSignals{task.execution_id(), {}});
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].signal_name, "timeout");
    EXPECT_EQ(seen[0].source_type, "system");
    EXPECT_EQ(seen[0].source_identity, "suspension_timeout");
    EXPECT_TRUE(claim().resumed());
}

TEST_P(SignalConformance, ATimeoutSignalComesAfterWhatWasGathered) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Suspend op = suspending(task, any_signal("ok").from_distinct_sources(3));
    op.timeout_at = now() + 1'000;
    op.timeout_behavior = TimeoutBehavior::auto_resume_with_timeout_signal;
    const SuspendResult result = ok(op);
    effect(signal_from(task.execution_id(), result.details.waitpoint, "ann", "ok"));
    after(1'000);
    EXPECT_EQ(observed(task.execution_id()), (std::vector<std::string>{"ok", "timeout"}));
}

TEST_P(SignalConformance, ATimeoutMayResumeSilently) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = timed(TimeoutBehavior::auto_resume);
    after(10'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
    EXPECT_TRUE(ledger(task.execution_id()).empty());
    EXPECT_TRUE(observed(task.execution_id()).empty());
}

TEST_P(SignalConformance, ATimeoutMayAskAnOperatorAndSignalsStillWork) {
    FF_NEEDS_CLOCK();
    SuspendResult result;
    const ClaimedTask task = timed(TimeoutBehavior::escalate, &result);
    const TimestampMs deadline = now() + 10'000;
    after(10'000);
    const ExecutionSnapshot shown = snapshot(task.execution_id());
    EXPECT_EQ(words(shown.info.state),
              "suspended unowned not_applicable paused_by_operator none attempt_interrupted");
    EXPECT_EQ(shown.info.blocking_detail,
              "suspension escalated: timeout at " + std::to_string(deadline));
    const SuspensionInfo episode = last_episode(task.execution_id());
    EXPECT_EQ(episode.reason_code, "waiting_for_operator_review");
    EXPECT_EQ(episode.escalated_at, deadline);
    EXPECT_FALSE(episode.timeout_at);
    EXPECT_FALSE(episode.timeout_behavior);
    after(1'000'000);
    EXPECT_EQ(effect(signal(task.execution_id(), result.details.waitpoint, "go")),
              "resume_condition_satisfied");
}

TEST_P(SignalConformance, ExpiringByHandChecksAgain) {
    FF_NEEDS_CLOCK();
    open_with(with(EngineOptions{}, [](auto& o) { o.background = false; }));
    const ClaimedTask active = start();
    EXPECT_EQ(ok(ExpireSuspension{active.execution_id()}).reason, "not_suspended_cleaned");
    ExecutionId absent = active.execution_id();
    absent.uuid = new_uuid();
    EXPECT_EQ(ok(ExpireSuspension{absent}).reason, "not_found_cleaned");
    const ClaimedTask task = timed(TimeoutBehavior::auto_resume_with_timeout_signal);
    EXPECT_EQ(ok(ExpireSuspension{task.execution_id()}).reason, "not_yet_due");
    clock().advance(10'000);
    EXPECT_EQ(ok(ExpireSuspension{task.execution_id()}).behavior_applied,
              TimeoutBehavior::auto_resume);
}

TEST_P(SignalConformance, TheLedgerIsReadPageByPage) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal().times(9)).details.waitpoint;
    for (const char* name : {"a", "b", "c"}) {
        DeliverSignal op = signal(task.execution_id(), at, name);
        op.payload = "p";
        effect(op);
    }
    ListSignals op;
    op.execution_id = task.execution_id();
    op.limit = 2;
    const SignalPage first = ok(op);
    ASSERT_EQ(first.signals.size(), 2U);
    EXPECT_EQ(first.signals[0].seq, 1U);
    EXPECT_FALSE(first.signals[0].payload) << "only when asked for";
    EXPECT_EQ(first.next_after_seq, 2U);
    op.after_seq = 2;
    const SignalPage second = ok(op);
    ASSERT_EQ(second.signals.size(), 1U);
    EXPECT_EQ(second.signals[0].signal_name, "c");
    EXPECT_FALSE(second.next_after_seq);
}

}  // namespace ff::engine::test
