// While an attempt runs, and how it ends or pauses: spec 02 sections 4 and 5.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;
using Lines = std::vector<std::string>;

/// `a` without a policy, `r` with two retries a second apart, both running under w1.
Scenario running() {
    Scenario s;
    s.policies["retry"] =
        R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":1000}}})";
    s.play(R"(
        create a              |
        claim w1              | a fresh initial #0 e1
        create r policy=retry |
        claim w1              | r fresh initial #0 e1
        pass 100              |
    )");
    return s;
}

Scenario with_policy(const std::string& policy) {
    Scenario s;
    s.policies["p"] = policy;
    s.play("create a policy=p \n claim w1 | a fresh initial #0 e1");
    return s;
}

// A damaged row is the reconciler's to mend. Who ends it must not take the process down.
TEST(Complete, ends_an_execution_whose_count_of_attempts_is_lost) {
    Scenario s = running();
    Snapshot view = s.empty_view();
    ReadSet set;
    const Complete op{s.handle("a"), "done", {}};
    reads(op, set);
    s.load(set, view);
    Changes damage;
    damage.put_executions.push_back(s.row("a"));
    damage.put_executions.back().total_attempt_count = 0;
    view.apply(std::move(damage));
    const auto decision = decide(view, op, s.context());
    ASSERT_TRUE(decision.answer) << decision.answer.error().message();
    ASSERT_EQ(decision.changes.put_executions.size(), 1U);
    EXPECT_EQ(decision.changes.put_executions[0].state.attempt_state,
              AttemptState::attempt_terminal);
}

// ---------------------------------------------------------------------------- renew, progress

TEST(Renew, extends_the_lease_from_now_and_changes_neither_state_nor_epoch) {
    Scenario s = running();
    s.play("renew a ttl=5000 | +5000 e1 | active leased epoch=1 expires=+5000");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.lease_id, s.handle("a").lease_id);
    EXPECT_EQ(e.lease_renewed_at, s.now);
    EXPECT_EQ(e.lease_acquired_at, s.now - 100);
    EXPECT_EQ(e.last_transition_at, s.now - 100) << "not a change of the vector";
    EXPECT_EQ(e.last_mutation_at, s.now);
    ASSERT_EQ(s.history("a"), (Lines{"acquired", "renewed"}));
    EXPECT_EQ(s.records.events.back().expires_at, s.now + 5000);
    EXPECT_EQ(s.records.events.back().worker_instance_id, "w1-1");
}

TEST(Renew, may_shorten_the_lease_too) {
    Scenario s = running();
    s.play("renew a ttl=100 | +100 e1 | expires=+100 timer=+100");
}

TEST(Progress, sets_only_what_is_given_and_tells_nobody) {
    Scenario s = running();
    const std::size_t events = s.records.events.size();
    ASSERT_TRUE(s.run(Progress{s.handle("a"), 40, "half"}));
    ASSERT_TRUE(s.run(Progress{s.handle("a"), 60, std::nullopt}));
    EXPECT_EQ(s.row("a").progress_percent, 60);
    EXPECT_EQ(s.row("a").progress_message, "half");
    ASSERT_TRUE(s.run(Progress{s.handle("a"), std::nullopt, ""}));
    EXPECT_EQ(s.row("a").progress_percent, 60);
    EXPECT_FALSE(s.row("a").progress_message) << "empty and absent are the same";
    EXPECT_EQ(s.row("a").progress_updated_at, s.now);
    EXPECT_EQ(s.row("a").last_mutation_at, s.now);
    EXPECT_EQ(s.row("a").last_transition_at, s.now - 100);
    EXPECT_EQ(s.records.events.size(), events);
}

TEST(Progress, a_long_message_is_cut_at_a_character) {
    Scenario s = running();
    ASSERT_TRUE(s.run(Progress{s.handle("a"), std::nullopt, std::string(1023, 'x') + "é"}));
    EXPECT_EQ(s.row("a").progress_message, std::string(1023, 'x'));
    ASSERT_TRUE(s.run(Progress{s.handle("a"), std::nullopt, std::string(1024, 'x')}));
    EXPECT_EQ(s.row("a").progress_message->size(), 1024U);
}

// ----------------------------------------------------------------------------------- complete

TEST(Complete, ends_the_attempt_and_the_execution_with_success) {
    Scenario s = running();
    s.play(R"(
        complete a result=42 | completed | terminal unowned not_applicable none success
                             |           | attempt_terminal completed expires=none epoch=1
    )");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.completed_at, s.now);
    EXPECT_EQ(e.last_transition_at, s.now);
    EXPECT_EQ(e.current_attempt_id, s.handle("a").attempt_id) << "kept on terminal";
    const Attempt attempt = s.attempt_row("a", 0);
    EXPECT_EQ(attempt.state, AttemptLifecycle::ended_success);
    EXPECT_EQ(attempt.ended_at, s.now);
    EXPECT_EQ(attempt.started_at, s.now - 100);
    EXPECT_EQ(attempt.lease_id, s.handle("a").lease_id);
    EXPECT_EQ(attempt.lease_epoch, 1U);
    EXPECT_EQ(attempt.worker_id, "w1");
    EXPECT_EQ(attempt.result, "42");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:completed=success"}));
    EXPECT_EQ(s.records.events.back().lease_id, s.handle("a").lease_id);
    EXPECT_EQ(s.records.events.back().revoked_by, "backend");
}

TEST(Complete, no_payload_is_no_result_and_an_empty_one_is_an_empty_result) {
    Scenario s = running();
    ASSERT_TRUE(s.run(Complete{s.handle("a")}));
    EXPECT_FALSE(s.attempt_row("a", 0).result);
    ASSERT_TRUE(s.run(Complete{s.handle("r"), ""}));
    EXPECT_EQ(s.attempt_row("r", 0).result, "");
}

TEST(Complete, the_result_is_byte_exact_and_an_empty_encoding_is_none) {
    Scenario s = running();
    const std::string bytes("\0\xff\x80 end", 7);
    ASSERT_TRUE(s.run(Complete{s.handle("a"), bytes, "raw"}));
    EXPECT_EQ(s.attempt_row("a", 0).result, bytes);
    EXPECT_EQ(s.attempt_row("a", 0).result_encoding, "raw");
    ASSERT_TRUE(s.run(Complete{s.handle("r"), bytes, ""}));
    EXPECT_FALSE(s.attempt_row("r", 0).result_encoding);
}

TEST(Complete, by_an_operator_without_a_fence_binds_the_present_lease) {
    Scenario s = running();
    s.play("complete a as=nobody | completed | success");
    EXPECT_EQ(s.records.events.back().lease_id, s.handle("a").lease_id);
}

TEST(Complete, events_carry_the_tags_of_the_execution) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.tags = {{"team", "x"}};
    ASSERT_TRUE(s.run(args));
    const auto claimed = s.run(Scenario::claim_args("w1"));
    ASSERT_TRUE(s.run(Complete{claimed->tasks.at(0).handle}));
    EXPECT_EQ(s.records.events.back().tags, R"({"team":"x"})");
}

// --------------------------------------------------------------------------------------- fail

TEST(Fail, without_a_retry_policy_is_never_retried) {
    Scenario s = running();
    s.play(R"(
        fail a transient reason=boom | failed | failed terminal unowned attempt_terminal reason=boom
    )");
    EXPECT_EQ(s.row("a").failure_category, "transient");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "boom");
    EXPECT_EQ(s.attempt_row("a", 0).failure_category, "transient");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:failed_terminal=failed"}));
    Scenario policy_without_retries = with_policy(R"({"max_replay_count":1})");
    policy_without_retries.play("fail a transient | failed | failed");
}

TEST(Fail, with_a_retry_left_schedules_it) {
    Scenario s = running();
    s.play(R"(
        fail r infra_crash reason=oom | retry +1000 #1 | delayed runnable unowned
                                      |                | not_eligible_until_time
                                      |                | waiting_for_retry_backoff
                                      |                | pending_retry_attempt
                                      |                | retries=1 attempts=1 epoch=1
                                      |                | delay=+1000 timer=+1000 reason=oom
    )");
    const Execution& e = s.row("r");
    EXPECT_EQ(e.blocking_detail,
              "retry backoff until " + std::to_string(s.now + 1000) + " (attempt 0 failed: oom)");
    EXPECT_EQ(e.current_attempt_index, 0U);
    EXPECT_FALSE(e.current_attempt_id);
    EXPECT_EQ(e.failure_category, "infra_crash");
    EXPECT_FALSE(e.completed_at);
    EXPECT_EQ(s.attempt_row("r", 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(s.history("r"), (Lines{"acquired", "released:failed_retry_scheduled"}))
        << "no completion";
}

TEST(Fail, retries_end_when_they_are_used_up) {
    Scenario s = running();
    s.play(R"(
        fail r transient | retry +1000 #1 | retries=1
        after 1000       |
        claim w1         | r fresh retry #1 e2
        fail r transient | retry +1000 #2 | retries=2
        after 1000       |
        claim w1         | r fresh retry #2 e3
        fail r transient | failed         | failed retries=2 attempts=3
    )");
}

TEST(Fail, a_policy_of_no_retries_is_never_retried) {
    Scenario s = with_policy(R"({"retry_policy":{"max_retries":0}})");
    s.play("fail a transient | failed");
}

TEST(Fail, permanent_and_cancelled_categories_are_not_retried_and_any_other_is) {
    for (const auto& [category, retried] :
         std::vector<std::pair<std::string, bool>>{{"transient", true},
                                                   {"infra_crash", true},
                                                   {"timeout", true},
                                                   {"made_up", true},
                                                   {"permanent", false},
                                                   {"cancelled", false}}) {
        Scenario s = running();
        s.play("fail r " + category + (retried ? " | retry +1000 #1" : " | failed | failed"));
    }
}

TEST(Fail, a_list_of_retryable_categories_lets_only_these_retry) {
    const std::string only = R"({"retry_policy":{"retryable_categories":["flaky","permanent"]}})";
    for (const auto& [category, retried] : std::vector<std::pair<std::string, bool>>{
             {"flaky", true}, {"transient", false}, {"permanent", false}}) {
        Scenario s = with_policy(only);
        s.play("fail a " + category + (retried ? " | retry +1000 #1" : " | failed"));
    }
}

TEST(Fail, empty_reason_and_category_are_stored_as_absent) {
    Scenario s = running();
    for (const std::string name : {"a", "r"}) {
        ASSERT_TRUE(s.run(Fail{s.handle(name), "", ""}));
        EXPECT_FALSE(s.row(name).failure_reason);
        EXPECT_FALSE(s.row(name).failure_category);
        EXPECT_FALSE(s.attempt_row(name, 0).failure_reason);
        EXPECT_FALSE(s.attempt_row(name, 0).failure_category);
    }
    s.play("after 1000 \n claim w1 | r fresh retry #1 e2 \n complete r | completed");
    EXPECT_FALSE(s.attempt_row("r", 1).reason);
    EXPECT_EQ(s.attempt_row("r", 1).previous_attempt_index, 0U);
}

TEST(Fail, a_reason_of_any_length_is_cut_at_4096_bytes_and_never_refused) {
    Scenario s = running();
    ASSERT_TRUE(s.run(Fail{s.handle("a"), std::string(4095, 'x') + "é and more", "transient"}));
    EXPECT_EQ(s.row("a").failure_reason, std::string(4095, 'x'));
}

TEST(Fail, a_retry_keeps_the_deadline_of_the_execution) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{}})";
    s.play(R"(
        create a policy=retry deadline=9000 |
        claim w1                            | a fresh initial #0 e1
        fail a transient                    | retry +1000 #1 | deadline=+9000
    )");
}

TEST(Fail, a_backoff_of_nothing_still_passes_through_delayed) {
    Scenario s = with_policy(R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":0}}})");
    s.play(R"(
        fail a transient | retry +0 #1 | delayed delay=+0
        tick             | 1           | waiting pending_retry_attempt
    )");
}

// ------------------------------------------------------------------------------------ backoff

TEST(Backoff, grows_with_each_retry_up_to_the_maximum) {
    Scenario s = with_policy(R"({"retry_policy":{"max_retries":9,"backoff":
        {"type":"exponential","initial_delay_ms":100,"max_delay_ms":350,"multiplier":2}}})");
    s.play(R"(
        fail a transient | retry +100 #1
        after 100        |
        claim w1         | a fresh retry #1 e2
        fail a transient | retry +200 #2
        after 200        |
        claim w1         | a fresh retry #2 e3
        fail a transient | retry +350 #3
    )");
}

TEST(Backoff, jitter_stays_between_half_and_the_whole_and_takes_both_ends) {
    std::set<DurationMs> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Scenario s({}, seed);
        s.policies["p"] = R"({"retry_policy":{"backoff":
            {"type":"exponential","initial_delay_ms":7,"max_delay_ms":7,"jitter":true}}})";
        s.play("create a policy=p \n claim w1 | a fresh initial #0 e1");
        const auto answer = s.run(Fail{s.handle("a"), "boom", "transient"});
        ASSERT_TRUE(answer);
        seen.insert(answer->delay_until - s.now);
    }
    EXPECT_EQ(seen, (std::set<DurationMs>{3, 4, 5, 6, 7}));
}

// ------------------------------------------------------------------------------------- cancel

TEST(Cancel, by_an_operator_needs_no_fence_in_any_phase) {
    Scenario s = running();
    s.play(R"(
        create w                |
        cancel w                | cancelled | cancelled terminal pending_first_attempt attempts=0
        cancel a as=nobody      | cancelled | cancelled terminal unowned attempt_terminal
        revoke_lease r          | revoked e1
        cancel r as=nobody      | cancelled | cancelled attempt_terminal expires=none
    )");
    EXPECT_EQ(s.row("a").cancellation_reason, "enough");
    EXPECT_EQ(s.row("a").cancelled_by, "operator_override");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "cancelled: enough");
    EXPECT_EQ(s.attempt_row("r", 0).state, AttemptLifecycle::ended_cancelled);
    EXPECT_EQ(s.history("w"), (Lines{"none=cancelled"}));
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:cancelled=cancelled"}));
    EXPECT_EQ(s.history("r"),
              (Lines{"acquired", "revoked:operator_revoke", "released:cancelled=cancelled"}));
}

TEST(Cancel, by_an_operator_is_told_to_operators) {
    Scenario s = running();
    s.play("cancel a reason=enough as=nobody | cancelled");
    ASSERT_EQ(s.records.log_events.size(), 1U);
    EXPECT_EQ(s.records.log_events[0].type, "execution_cancelled");
    EXPECT_EQ(s.records.log_events[0].payload,
              R"({"reason":"enough","source":"operator_override"})");
    EXPECT_EQ(s.records.events.back().revoked_by, "operator");
    s.play("cancel r source=lease_holder | cancelled");
    EXPECT_EQ(s.records.log_events.size(), 1U) << "a worker's own cancel is not an operator's";
    EXPECT_EQ(s.records.events.back().revoked_by, "backend");
}

TEST(Cancel, by_the_worker_needs_the_fence_while_active) {
    Scenario s = running();
    s.play(R"(
        cancel a as=nobody source=lease_holder | invalid_input | active
        cancel a as=nobody source=anything     | invalid_input | active
        cancel a source=lease_holder           | cancelled     | cancelled
    )");
    EXPECT_EQ(s.row("a").cancelled_by, "lease_holder") << "the source, word for word";
    const auto answer = s.run(CancelExecution{LeaseRef(s.id("r")), "x", "lease_holder"});
    EXPECT_EQ(answer_of(answer),
              "invalid_input: lease_epoch required when source != operator_override and execution "
              "is active");
}

TEST(Cancel, checks_revocation_then_the_presence_of_a_fence_then_the_fence) {
    Scenario s = running();
    LeaseRef stale = s.handle("a");
    *stale.lease_epoch += 1;
    const auto cancel_with = [&s](const LeaseRef& lease) {
        return s.run(CancelExecution{lease, "x", "lease_holder"}).error().code;
    };
    EXPECT_EQ(cancel_with(stale), ErrorCode::stale_lease);
    LeaseRef partial = s.handle("a");
    partial.attempt_id.reset();
    EXPECT_EQ(cancel_with(partial), ErrorCode::partial_fence_triple);
    s.play("revoke_lease a | revoked e1");
    EXPECT_EQ(cancel_with(LeaseRef(s.id("a"))), ErrorCode::lease_revoked);
    EXPECT_EQ(cancel_with(stale), ErrorCode::lease_revoked);
}

TEST(Cancel, outside_of_active_needs_no_fence_from_anybody) {
    Scenario s = running();
    s.play(R"(
        release a                              | waiting
        cancel a as=nobody source=lease_holder | cancelled | cancelled
    )");
}

TEST(Cancel, ends_an_attempt_that_was_put_aside_and_remembers_its_last_lease) {
    for (const std::string aside : {"delay a 500", "release a", "wait_children a"}) {
        Scenario s = running();
        s.play(aside + "\n pass 10 \n cancel a as=nobody | cancelled | attempt_terminal");
        const Attempt attempt = s.attempt_row("a", 0);
        EXPECT_EQ(attempt.state, AttemptLifecycle::ended_cancelled) << aside;
        EXPECT_EQ(attempt.ended_at, s.now);
        EXPECT_EQ(attempt.suspended_at, s.now - 10);
        EXPECT_EQ(attempt.lease_epoch, 1U);
        EXPECT_EQ(attempt.lease_id, s.handle("a").lease_id);
        EXPECT_EQ(attempt.worker_id, "w1");
        EXPECT_EQ(s.history("a").back(), "none=cancelled") << "no lease was held";
    }
}

TEST(Cancel, during_a_retry_backoff_leaves_the_failed_attempt_as_it_ended) {
    Scenario s = running();
    s.play("fail r transient | retry +1000 #1");
    const Attempt failed = s.attempt_row("r", 0);
    s.play("cancel r as=nobody | cancelled | cancelled attempt_terminal delay=none");
    EXPECT_EQ(s.attempt_row("r", 0), failed);
    EXPECT_EQ(s.row("r").failure_reason, "boom");
}

TEST(Cancel, again_succeeds_writes_nothing_and_keeps_the_first_reason) {
    Scenario s = running();
    s.play("cancel a reason=first as=nobody | cancelled");
    const Records before = s.records;
    s.now += 5;
    s.play(R"(
        cancel a reason=second as=nobody                     | cancelled | cancelled
        cancel a reason=third source=lease_holder            | cancelled
        cancel a reason=third source=lease_holder as=nobody  | cancelled
    )");
    EXPECT_TRUE(s.records == before);
    EXPECT_EQ(s.row("a").cancellation_reason, "first");
}

TEST(Cancel, of_another_end_says_which_it_was) {
    Scenario s = running();
    s.play("complete a | completed");
    const auto answer = s.run(CancelExecution{LeaseRef(s.id("a")), "x"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::execution_not_active);
    EXPECT_EQ(answer.error().field("terminal_outcome"), "success");
    EXPECT_EQ(answer.error().field("lifecycle_phase"), "terminal");
}

// ------------------------------------------------------------------------ delay, wait, release

TEST(Delay, puts_the_attempt_to_sleep_until_its_time) {
    Scenario s = running();
    s.play(R"(
        delay a 5000 | delayed | delayed runnable unowned not_eligible_until_time
                     |         | waiting_for_delay attempt_interrupted delay=+5000 timer=+5000
                     |         | expires=none attempt_deadline=none epoch=1 attempts=1
    )");
    EXPECT_EQ(s.row("a").blocking_detail, "delayed until " + std::to_string(s.now + 5000));
    const Attempt attempt = s.attempt_row("a", 0);
    EXPECT_EQ(attempt.state, AttemptLifecycle::suspended);
    EXPECT_EQ(attempt.suspension_id, "worker_delay");
    EXPECT_EQ(attempt.suspended_at, s.now);
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:worker_delay"}));
    s.play(R"(
        after 4999 |                         | a: delayed
        after 1    |                         | a: waiting attempt_interrupted delay=none
        claim w2   | a resumed initial #0 e2 | active
    )");
}

TEST(Delay, into_the_past_is_accepted_and_promoted_at_once) {
    Scenario s = running();
    s.play(R"(
        delay a -50 | delayed | delayed delay=-50
        tick        | 1       | waiting
    )");
}

TEST(Delay, does_not_stop_the_deadline_of_the_execution) {
    Scenario s;
    s.play(R"(
        create a deadline=1000 |
        claim w1               | a fresh initial #0 e1
        delay a 5000           | delayed | deadline=+1000 timer=+1000
        after 1000             |         | expired reason=execution_deadline
    )");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::ended_failure);
}

TEST(WaitChildren, with_no_unresolved_dependency_goes_straight_back_to_eligible) {
    Scenario s = running();
    s.play(R"(
        wait_children a | waiting | waiting eligible_now waiting_for_worker attempt_interrupted
        claim w1        | a resumed initial #0 e2
    )");
    EXPECT_EQ(s.history("a"),
              (Lines{"acquired", "released:waiting_children", "acquired:claim_resumed"}));
}

TEST(WaitChildren, suspends_the_attempt_under_its_own_name) {
    Scenario s = running();
    s.play("wait_children a | waiting");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::suspended);
    EXPECT_EQ(s.attempt_row("a", 0).suspension_id, "waiting_children");
}

TEST(Release, gives_the_work_back_and_counts_as_neither_retry_nor_reclaim) {
    Scenario s = running();
    s.play(R"(
        release a | waiting | waiting runnable unowned eligible_now waiting_for_worker
                  |         | attempt_interrupted retries=0 reclaims=0 attempts=1 timer=none
    )");
    EXPECT_EQ(s.attempt_row("a", 0).suspension_id, "worker_release");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:worker_release"}));
}

// ------------------------------------------------------------------------- repeated terminal calls

TEST(Repeated, complete_after_success_succeeds_again_and_keeps_the_stored_result) {
    Scenario s = running();
    s.play("complete a result=first | completed");
    const Records before = s.records;
    s.now += 60'000;
    s.play("complete a result=second | completed | success");
    EXPECT_TRUE(s.records == before);
}

TEST(Repeated, cancel_after_cancelled_succeeds_again) {
    Scenario s = running();
    s.play("cancel a source=lease_holder | cancelled");
    const Records before = s.records;
    s.play("cancel a source=lease_holder | cancelled");
    EXPECT_TRUE(s.records == before);
}

TEST(Repeated, fail_after_failed_is_terminal_again) {
    Scenario s = running();
    s.play("fail a permanent | failed");
    const Records before = s.records;
    s.play("fail a transient | failed");
    EXPECT_TRUE(s.records == before);
}

TEST(Repeated, fail_after_a_scheduled_retry_gives_the_time_that_was_stored) {
    Scenario s = running();
    s.play("fail r transient | retry +1000 #1");
    const Records before = s.records;
    s.play("pass 400 \n fail r transient | retry +600 #1 | delayed retries=1");
    EXPECT_TRUE(s.records == before);
    s.play(R"(
        # also once the retry has been promoted
        after 700        |               | r: waiting
        fail r transient | retry -100 #1 | waiting retries=1
        # and no longer once it runs
        claim w2         | r fresh retry #1 e2
        fail r transient as=w1 | stale_lease | active
    )");
}

TEST(Repeated, any_other_combination_says_what_won) {
    const std::vector<std::pair<std::string, std::string>> won = {
        {"complete a | completed", "success"},
        {"fail a permanent | failed", "failed"},
        {"cancel a source=lease_holder | cancelled", "cancelled"},
    };
    for (const auto& [first, outcome] : won) {
        Scenario s = running();
        s.play(first);
        const Records before = s.records;
        const auto expect = [&](const auto& answer, std::string_view same) {
            if (outcome == same) {
                EXPECT_TRUE(answer) << first;
                return;
            }
            ASSERT_FALSE(answer) << first;
            EXPECT_EQ(answer.error().code, ErrorCode::execution_not_active);
            EXPECT_EQ(answer.error().field("terminal_outcome"), outcome);
            EXPECT_EQ(answer.error().field("lease_epoch"), "1");
            EXPECT_EQ(answer.error().field("attempt_id"), s.handle("a").attempt_id.to_string());
        };
        expect(s.run(Complete{s.handle("a")}), "success");
        expect(s.run(Fail{s.handle("a"), "x", "transient"}), "failed");
        expect(s.run(CancelExecution{s.handle("a"), "x", "lease_holder"}), "cancelled");
        expect(s.run(Delay{s.handle("a"), s.now}), "none of them");
        expect(s.run(WaitChildren{s.handle("a")}), "none of them");
        expect(s.run(Release{s.handle("a")}), "none of them");
        EXPECT_TRUE(s.records == before) << first;
    }
}

TEST(Repeated, with_another_epoch_or_attempt_is_not_a_repetition) {
    Scenario s = running();
    s.play("complete a | completed \n fail r transient | retry +1000 #1");
    for (const int fault : {0, 1, 2}) {
        LeaseRef done = s.handle("a");
        LeaseRef retried = s.handle("r");
        if (fault == 0) {
            *done.lease_epoch += 1;
            *retried.lease_epoch += 1;
        } else if (fault == 1) {
            done.attempt_id->uuid.bytes[15] ^= 1;
            retried.attempt_id->uuid.bytes[15] ^= 1;
        } else {
            done = LeaseRef(s.id("a"));
            retried = LeaseRef(s.id("r"));
        }
        EXPECT_EQ(s.run(Complete{done}).error().code, ErrorCode::execution_not_active) << fault;
        EXPECT_EQ(s.run(Fail{retried, "x", "transient"}).error().code,
                  ErrorCode::execution_not_active)
            << fault;
    }
}

TEST(Repeated, putting_the_attempt_aside_again_the_same_way_succeeds_and_writes_nothing) {
    const std::vector<std::string> ways{"delay r 500", "release r", "wait_children r"};
    for (const std::string& aside : ways) {
        Scenario s = running();
        const std::string answer = aside == ways[0] ? " | delayed" : " | waiting";
        s.play(aside + answer);
        const Records before = s.records;
        s.play(aside + answer);
        EXPECT_TRUE(s.records == before) << aside;
        for (const std::string& other : ways) {
            if (other != aside) {
                s.play(other + " | execution_not_active");
            }
        }
        // No longer once somebody has gone on with it.
        s.play("after 500 | \n claim w2 | r resumed initial #0 e2");
        s.play(aside + " as=w1 | stale_lease");
    }
}

TEST(Repeated, fail_after_the_attempt_was_put_aside_is_not_mistaken_for_a_scheduled_retry) {
    for (const std::string aside : {"delay r 500", "release r", "wait_children r"}) {
        Scenario s = running();
        s.play(aside + "\n fail r transient | execution_not_active | attempt_interrupted");
    }
}

TEST(Repeated, after_a_replay_nothing_of_the_old_life_is_repeated) {
    Scenario s = running();
    s.play(R"(
        complete a       | completed
        replay a         | waiting
        complete a       | execution_not_active | waiting
        fail r permanent | failed
        replay r         | waiting
        fail r permanent | execution_not_active | waiting pending_replay_attempt
    )");
}

}  // namespace
}  // namespace ff::core
