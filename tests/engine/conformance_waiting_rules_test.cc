// What holds around a wait: its timeouts, what is told of it, wrong tokens, keys (spec 04).
#include <ff/json.h>
#include <ff/webhooks.h>

#include "engine/conformance_suspend.h"

namespace ff::engine::test {

class WaitingRules : public SuspendConformance {
  protected:
    /// Suspends for a second.
    SuspendResult wait_a_second(const ClaimedTask& task, TimeoutBehavior behavior,
                                ResumeCondition condition = ResumeCondition::single("k", "go")) {
        Suspend op = suspending(task, std::move(condition));
        op.timeout_at = now() + 1'000;
        op.timeout_behavior = behavior;
        return ok(op);
    }
    std::vector<Event> told(EventFamily family) {
        ReadEvents op;
        op.family = family;
        op.cursor = EventCursor::earliest();
        op.limit = 1'000;
        return ok(op).events;
    }
    static std::string member(const Event& event, std::string_view name) {
        const auto payload = js::parse(event.payload);
        const js::Value* found = payload ? payload->find(name) : nullptr;
        return found != nullptr && found->if_string() != nullptr ? *found->if_string() : "";
    }
    /// What each delivery did, in the order in which they came.
    std::vector<std::string> effects_told() {
        std::vector<std::string> out;
        for (const Event& event : told(EventFamily::signal_delivery)) {
            out.push_back(member(event, "effect"));
        }
        return out;
    }
    static DeliverSignal forged(DeliverSignal op) {
        char& last = op.waitpoint_token.back();
        last = last == '0' ? '1' : '0';
        return op;
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
    static std::string hex(char digit) { return std::string(64, digit); }
};

FF_ON_EVERY_ENGINE(WaitingRules);

// -------------------------------------------------------------------------------------- timeouts

TEST_P(WaitingRules, ATimeoutFailsThoughRetriesAreLeft) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start(job_with_policy(
        R"({"retry_policy":{"max_retries":5,"backoff":{"type":"fixed","delay_ms":10}}})"));
    wait_a_second(task, TimeoutBehavior::fail);
    after(1'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::failed);
    after(60'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::failed);
    EXPECT_EQ(attempts(task.execution_id()).size(), 1U);
}

TEST_P(WaitingRules, ATimeoutSignalIsToldToo) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    wait_a_second(task, TimeoutBehavior::auto_resume_with_timeout_signal);
    after(1'000);
    const auto events = told(EventFamily::signal_delivery);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].execution_id, task.execution_id());
    EXPECT_EQ(member(events[0], "effect"), "satisfied");
    EXPECT_EQ(member(events[0], "source_identity"), "suspension_timeout");
}

TEST_P(WaitingRules, TimeDoesNotUseUpSignals) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start(job_with_policy(R"({"max_signals_per_execution":1})"));
    wait_a_second(task, TimeoutBehavior::auto_resume_with_timeout_signal);
    after(1'000);
    const ClaimedTask again = claim();
    const WaitpointTicket at = suspend(again, any_signal("never")).details.waitpoint;
    EXPECT_EQ(refused(signal(task.execution_id(), at)), "ok") << "the one that may be sent";
    EXPECT_EQ(refused(signal(task.execution_id(), at)), "signal_limit_exceeded");
}

TEST_P(WaitingRules, ATimeoutResumesWithoutTheDelay) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Suspend op = suspending(task);
    op.timeout_at = now() + 1'000;
    op.timeout_behavior = TimeoutBehavior::auto_resume;
    op.resume_policy.resume_delay_ms = 60'000;
    ok(op);
    after(1'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
    EXPECT_TRUE(claim().resumed());
}

TEST_P(WaitingRules, TimeoutOnlyWaitsForTimeAlone) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const SuspendResult waits = wait_a_second(
        task, TimeoutBehavior::auto_resume_with_timeout_signal, ResumeCondition::timeout_only());
    const ExecutionId id = task.execution_id();
    EXPECT_EQ(effect(signal(id, waits.details.waitpoint)), "no_op");
    EXPECT_EQ(effect(signal(id, waits.details.waitpoint, "timeout")), "no_op");
    EXPECT_EQ(open_waitpoints(id).at(0).required_signal_names,
              (std::vector<std::string>{"__timeout_only__"}));
    after(999);
    EXPECT_EQ(public_of(id), PublicState::suspended);
    after(1);
    EXPECT_EQ(public_of(id), PublicState::waiting);
    EXPECT_EQ(observed(id), (std::vector<std::string>{"timeout"}));
}

TEST_P(WaitingRules, TheStreamOfAWaitThatEndsIsClosed) {
    FF_NEEDS_CLOCK();
    const auto write = [&](const ClaimedTask& task) {
        AppendFrames op;
        op.lease = task.handle;
        op.frames.resize(1);
        ok(op);
    };
    const auto closed_as = [&](const ClaimedTask& task) {
        ReadStream op;
        op.execution_id = task.execution_id();
        const StreamPage page = ok(op);
        return page.closed_reason ? std::string(to_string(*page.closed_reason)) : "open";
    };
    const ClaimedTask late = start();
    write(late);
    wait_a_second(late, TimeoutBehavior::fail);
    EXPECT_EQ(closed_as(late), "open") << "the attempt goes on";
    const ClaimedTask cancelled = start();
    write(cancelled);
    suspend(cancelled);
    CancelExecution cancel;
    cancel.lease.execution_id = cancelled.execution_id();
    cancel.reason = "unwanted";
    ok(cancel);
    const ClaimedTask due =
        start(with(job(), [&](auto& op) { op.execution_deadline_at = now() + 1'000; }));
    write(due);
    suspend(due);
    after(1'000);
    EXPECT_EQ(closed_as(late), "suspension_timeout");
    EXPECT_EQ(closed_as(cancelled), "attempt_cancelled");
    EXPECT_EQ(closed_as(due), "expired");
}

// ------------------------------------------------------------------------------------------ told

TEST_P(WaitingRules, EveryEffectIsToldInItsWord) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    const WaitpointTicket early = ok(CreateWaitpoint{task.handle, "k", 60'000});
    DeliverSignal op = signal(id, early, "early");
    op.idempotency_key = "once";
    const SignalId first = ok(op).signal_id;
    EXPECT_TRUE(ok(op).duplicate);
    Suspend on_early = suspending(task, any_signal("one").times(2));
    on_early.waitpoints = {WaitpointBinding::pending(early.waitpoint_id)};
    ok(on_early);
    effect(signal(id, early, "one"));
    effect(signal(id, early, "other"));
    effect(signal(id, early, "one"));
    const ClaimedTask again = claim();
    const WaitpointTicket at = suspend(again, any_signal("go")).details.waitpoint;
    effect(signal(id, at, "other"));
    EXPECT_EQ(refused(forged(signal(id, at, "go"))), "invalid_token") << "tells nothing";
    EXPECT_EQ(effects_told(), (std::vector<std::string>{"buffered", "deduped", "appended",
                                                        "ignored", "satisfied", "no_op"}));
    const auto events = told(EventFamily::signal_delivery);
    EXPECT_EQ(member(events.at(1), "signal_id"), first.to_string()) << "the one that came first";
    EXPECT_EQ(member(events.at(3), "raw_effect"), "signal_ignored_matcher_failed");
}

TEST_P(WaitingRules, AResumeByAnOperatorIsTold) {
    const ClaimedTask task = start();
    suspend(task);
    ResumeExecution op;
    op.execution_id = task.execution_id();
    op.trigger_type = ResumeTrigger::operator_;
    op.actor = "ann";
    op.reason = "it was settled by telephone";
    ok(op);
    const auto events = told(EventFamily::operator_);
    const auto resumed = std::ranges::find(events, "execution_resumed", &Event::type);
    ASSERT_NE(resumed, events.end());
    EXPECT_EQ(resumed->execution_id, task.execution_id());
    EXPECT_EQ(member(*resumed, "actor"), "ann");
    EXPECT_EQ(member(*resumed, "reason"), "it was settled by telephone");
}

// ---------------------------------------------------------------------------------------- tokens

TEST_P(WaitingRules, AWrongTokenIsWrittenDownOnceAMinute) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    const auto failed_at = [&] { return snapshot(id).last_hmac_validation_failed_at; };
    EXPECT_EQ(refused(with(signal(id, at), [](auto& op) { op.waitpoint_token.clear(); })),
              "missing_token");
    EXPECT_EQ(failed_at(), std::nullopt) << "none is not a wrong one";
    after(5);
    EXPECT_EQ(refused(forged(signal(id, at))), "invalid_token");
    EXPECT_EQ(failed_at(), t0 + 5);
    after(59'999);
    EXPECT_EQ(refused(forged(signal(id, at))), "invalid_token");
    EXPECT_EQ(failed_at(), t0 + 5) << "strangers do not make the store write at will";
    after(1);
    EXPECT_EQ(refused(with(signal(id, at), [](auto& op) { op.waitpoint_token = "k1"; })),
              "invalid_token");
    EXPECT_EQ(failed_at(), t0 + 60'005);
    EXPECT_NE(ok(ExplainExecution{id}).summary.find("a wrong token came at"), std::string::npos);
    EXPECT_TRUE(ledger(id).empty());
    EXPECT_EQ(effect(signal(id, at)), "resume_condition_satisfied");
}

TEST_P(WaitingRules, ATokenDoesNotAnswerForAnOperator) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    const WaitpointTicket at = suspend(task, any_signal("rejected")).details.waitpoint;
    DeliverSignal op = signal(id, at, "noise");
    op.idempotency_key = "approval:rejected:ann";
    EXPECT_EQ(refused(op), "invalid_input");
    const SignalResult answered = ok(approval(id, at.waitpoint_id, "rejected", "ann"));
    EXPECT_FALSE(answered.duplicate);
    EXPECT_EQ(answered.effect, SignalEffect::resume_condition_satisfied);
}

TEST_P(WaitingRules, AConditionThatNoSignalCanMeetIsRefused) {
    const ClaimedTask task = start();
    for (const std::string& name : {std::string(1'025, 'x'), std::string("__operator_only__"),
                                    std::string("__timeout_only__")}) {
        EXPECT_EQ(refused(suspending(task, any_signal(name))), "invalid_input") << name;
        EXPECT_EQ(refused(suspending(task, ResumeCondition::signal_set("k", {"a", name}))),
                  "invalid_input")
            << name;
    }
    EXPECT_EQ(refused(suspending(task, any_signal(std::string(1'024, 'x')))), "ok");
}

TEST_P(WaitingRules, AClosedWaitpointsIdIsNeverUsedAgain) {
    const ClaimedTask task = start();
    const SuspendResult first = suspend(task);
    effect(signal(task.execution_id(), first.details.waitpoint));
    const ClaimedTask again = claim();
    Suspend op = suspending(again);
    op.waitpoints = {WaitpointBinding::fresh("k")};
    op.waitpoints[0].waitpoint_id = first.details.waitpoint.waitpoint_id;
    EXPECT_EQ(refused(op), "waitpoint_already_exists");
    ok(Complete{again.handle, {}, {}, Source::lease_holder});
    const ClaimedTask other = start();
    op.lease = other.handle;
    EXPECT_EQ(refused(op), "waitpoint_already_exists") << "nor by another execution";
}

// ------------------------------------------------------------------------------------------ keys

TEST_P(WaitingRules, AKeyOfASuspensionLivesAWeekAtMost) {
    FF_NEEDS_CLOCK();
    constexpr DurationMs week = 7 * 86'400'000LL;
    for (const bool has_deadline : {false, true}) {
        const ClaimedTask task = start();
        Suspend op = suspending(task);
        op.idempotency_key = "once";
        if (has_deadline) {
            op.timeout_at = now() + 2 * week;
        }
        const SuspendResult first = ok(op);
        after(week - 1);
        EXPECT_EQ(ok(op).details, first.details);
        after(1);
        EXPECT_EQ(refused(op), "execution_not_active") << "the key is forgotten";
    }
}

TEST_P(WaitingRules, AnOperatorApprovesAfterTheKeyIsGone) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    ok(RotateWaitpointKey{"k2", hex('b'), 0});
    after(1);
    EXPECT_EQ(ok(RotateWaitpointKey{"k3", hex('c'), 0}).gc_count, 1U) << "k1 is swept";
    EXPECT_EQ(refused(RotateWaitpointKey{"k1", hex('d'), 0}), "rotation_conflict")
        << "and its name is not given to another";
    EXPECT_EQ(refused(signal(task.execution_id(), at)), "invalid_token");
    EXPECT_EQ(ok(approval(task.execution_id(), at.waitpoint_id)).effect,
              SignalEffect::resume_condition_satisfied);
}

TEST_P(WaitingRules, TheStoresKeyWinsOverTheEnvironment) {
    FF_NEEDS_EMBEDDED();
    if (!GetParam().durable) {
        GTEST_SKIP() << "nothing is kept";
    }
    open_with(with(EngineOptions{}, [](auto& o) { o.waitpoint_secret = hex('a'); }));
    ok(RotateWaitpointKey{"k2", hex('b'), 0});
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task).details.waitpoint;
    reopen();
    EXPECT_EQ(ok(ListWaitpointKeys{}).current_kid, "k2");
    EXPECT_EQ(effect(signal(task.execution_id(), at)), "resume_condition_satisfied");
    EXPECT_TRUE(std::ranges::any_of(warnings(), [](const std::string& text) {
        return text.contains("not the configured secret");
    }));
}

TEST_P(WaitingRules, SecretsAreSealedOnceThereIsAKeyForThat) {
    FF_NEEDS_EMBEDDED();
    if (!GetParam().durable) {
        GTEST_SKIP() << "nothing is kept";
    }
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal().times(9)).details.waitpoint;
    ok(RotateWaitpointKey{"k2", hex('b'), 86'400'000});
    CreateWebhook hook;
    hook.url = "https://example.com/hook";
    hook.secret_hex = hex('e');
    const WebhookId webhook = ok(hook).webhook_id;
    const auto claimed = [&] { return ClaimWebhook{webhook, "here", 1}; };
    const std::string secret = ok(claimed())->secret;
    const auto signalled = [&] { return refused(signal(task.execution_id(), at)); };

    reopen_with([](EngineOptions& o) { o.keystore_key = hex('c'); });
    EXPECT_EQ(signalled(), "ok") << "a retired key is sealed and works";
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", hex('b'), 0}), "ok") << "so is the current one";
    if (has_clock()) {
        after(1);
        EXPECT_EQ(ok(claimed())->secret, secret);
    }

    reopen_with([](EngineOptions& o) { o.keystore_key.clear(); });
    EXPECT_EQ(signalled(), "invalid_secret") << "nothing is left of it in the open";
    EXPECT_EQ(refused(RotateWaitpointKey{"k2", hex('b'), 0}), "invalid_secret");
}

// ----------------------------------------------------------------------------------------- reads

TEST_P(WaitingRules, ASignalIsFoundByItsId) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal().times(9)).details.waitpoint;
    effect(signal(task.execution_id(), at, "a"));
    DeliverSignal op = signal(task.execution_id(), at, "b");
    op.payload = "p";
    const SignalId id = ok(op).signal_id;
    ListSignals list;
    list.execution_id = task.execution_id();
    list.signal_id = id;
    const SignalPage page = ok(list);
    ASSERT_EQ(page.signals.size(), 1U);
    EXPECT_EQ(page.signals[0].signal_name, "b");
    EXPECT_FALSE(page.signals[0].payload);
    EXPECT_FALSE(page.next_after_seq);
    list.signal_id = SignalId{new_uuid()};
    EXPECT_TRUE(ok(list).signals.empty());
}

TEST_P(WaitingRules, APageOfPayloadsHasABound) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, any_signal("never")).details.waitpoint;
    constexpr std::size_t bytes = 65'536;
    constexpr std::size_t fit = (8U << 20) / bytes;
    for (std::size_t i = 0; i < fit + 2; ++i) {
        DeliverSignal op = signal(task.execution_id(), at);
        op.payload = std::string(bytes, 'x');
        effect(op);
    }
    ListSignals list;
    list.execution_id = task.execution_id();
    list.limit = 1'000;
    EXPECT_EQ(ok(list).signals.size(), fit + 2) << "without payloads";
    list.with_payload = true;
    const SignalPage first = ok(list);
    EXPECT_EQ(first.signals.size(), fit);
    ASSERT_EQ(first.next_after_seq, fit);
    list.after_seq = *first.next_after_seq;
    const SignalPage second = ok(list);
    EXPECT_EQ(second.signals.size(), 2U);
    EXPECT_FALSE(second.next_after_seq);
}

TEST_P(WaitingRules, TheLatestSuspensionsAreRead) {
    ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    std::vector<SuspensionId> made;
    for (int i = 0; i < 3; ++i) {
        const SuspendResult waits = suspend(task);
        made.push_back(waits.details.suspension_id);
        effect(signal(id, waits.details.waitpoint));
        task = claim();
    }
    const auto ids = [&](std::optional<std::uint32_t> latest) {
        std::vector<SuspensionId> out;
        for (const SuspensionInfo& info : ok(ListSuspensions{id, latest})) {
            out.push_back(info.suspension_id);
        }
        return out;
    };
    EXPECT_EQ(ids({}), made);
    EXPECT_EQ(ids(9), made);
    EXPECT_EQ(ids(2), (std::vector{made[1], made[2]}));
    EXPECT_EQ(ids(1), (std::vector{made[2]}));
    EXPECT_TRUE(ids(0).empty());
}

}  // namespace ff::engine::test
