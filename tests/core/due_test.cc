// What time does: promotion, timeouts, deadlines, expiry, retention, and the timers behind them.
// Spec 02 sections 5.10, 9.2.1 and 9.7.1; core/derive.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Records;
using testing::Scenario;
using Lines = std::vector<std::string>;

// ---------------------------------------------------------------------------------- promotion

TEST(Promotion, makes_a_delayed_execution_eligible_at_its_millisecond) {
    Scenario s;
    s.play(R"(
        create a delay=100 |
        after 99           |   | a: delayed
        after 1            |   | a: waiting eligible_now waiting_for_worker pending_first_attempt
                           |   | delay=none timer=none
    )");
    EXPECT_FALSE(s.row("a").blocking_detail);
    EXPECT_EQ(s.row("a").last_transition_at, s.now);
}

TEST(Promotion, preserves_the_attempt_state_which_routes_the_next_claim) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{}})";
    s.play(R"(
        create a policy=retry |
        claim w1              | a fresh initial #0 e1
        fail a transient      | retry +1000 #1
        after 1000            |                     | a: waiting pending_retry_attempt
        claim w1              | a fresh retry #1 e2
        delay a 1000          | delayed
        after 1000            |                     | a: waiting attempt_interrupted
        claim w1              | a resumed retry #1 e3
    )");
}

TEST(Promotion, puts_it_back_where_its_creation_says) {
    Scenario s;
    s.play(R"(
        create a delay=100 |
        create b           |
        after 100          |
        claim w1           | a fresh initial #0 e1
    )");
}

TEST(Promotion, leaves_the_deadline_of_the_execution_alone) {
    Scenario s;
    s.play(R"(
        create a delay=100 deadline=500 |
        after 100                       |  | a: waiting deadline=+400 timer=+400
    )");
}

TEST(Promotion, happens_when_promotion_and_deadline_are_due_together_only_if_the_deadline_is_not) {
    Scenario s;
    s.play(R"(
        create a delay=100 deadline=100 |
        after 100                       |  | a: expired reason=execution_deadline delay=none
    )");
}

// ---------------------------------------------------------------------------- attempt timeout

const std::string timeout_only = R"({"timeout_policy":{"attempt_timeout_ms":1000}})";
const std::string timeout_and_retry = R"({"timeout_policy":{"attempt_timeout_ms":1000},
    "retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":50}}})";

TEST(AttemptTimeoutDue, without_a_retry_left_expires_the_execution) {
    Scenario s;
    s.policies["p"] = timeout_only;
    s.play(R"(
        create a policy=p |
        claim w1          | a fresh initial #0 e1
        after 999         |  | a: active
        after 1           |  | a: expired terminal unowned attempt_terminal reason=attempt_timeout
    )");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "attempt_timeout");
    EXPECT_EQ(s.attempt_row("a", 0).failure_category, "timeout");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:expired:attempt_timeout=expired"}));
    EXPECT_EQ(s.records.events.back().revoked_by, "reconciler");
}

TEST(AttemptTimeoutDue, is_a_failure_of_category_timeout_and_retried_first) {
    Scenario s;
    s.policies["p"] = timeout_and_retry;
    s.play(R"(
        create a policy=p |
        claim w1          | a fresh initial #0 e1
        after 1000        |  | a: delayed waiting_for_retry_backoff pending_retry_attempt
                          |  | retries=1 delay=+50 reason=attempt_timeout attempt_deadline=none
        after 50          |
        claim w1          | a fresh retry #1 e2 | attempt_deadline=+1000
        after 1000        |  | a: expired reason=attempt_timeout
    )");
    EXPECT_EQ(s.attempt_row("a", 0).failure_category, "timeout");
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "attempt_timeout");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:expired:attempt_timeout", "acquired",
                                     "released:expired:attempt_timeout=expired"}));
}

TEST(AttemptTimeoutDue, honours_the_list_of_retryable_categories) {
    Scenario s;
    s.policies["p"] = R"({"timeout_policy":{"attempt_timeout_ms":1000},
        "retry_policy":{"retryable_categories":["transient"]}})";
    s.play("create a policy=p \n claim w1 \n after 1000 | | a: expired retries=0");
}

TEST(AttemptTimeoutDue, also_strikes_an_attempt_whose_lease_was_lost) {
    for (const std::string lost : {"after 500 \n revoke_lease a | revoked e1", "after 600"}) {
        Scenario s;
        s.policies["p"] = timeout_and_retry;
        s.play("create a policy=p \n claim w1 ttl=600 | a fresh initial #0 e1");
        s.play(lost + "\n after 0 | | a: active attempt_interrupted");
        s.now = Scenario::start + 999;
        s.play(R"(
            tick    | 0 | a: active
            after 1 |   | a: delayed pending_retry_attempt retries=1 reclaims=0
        )");
    }
}

TEST(AttemptTimeoutDue, takes_a_reclaim_grant_with_it) {
    Scenario s;
    s.policies["p"] = timeout_and_retry;
    s.play(R"(
        create a policy=p        |
        claim w1 ttl=600         | a fresh initial #0 e1
        after 600                |
        issue_reclaim_grant a w2 | granted
        after 400                |  | a: delayed pending_retry_attempt
        reclaim_execution a w2   | grant_not_found
    )");
    EXPECT_TRUE(s.records.grants.empty());
}

TEST(AttemptTimeoutDue, does_not_strike_an_attempt_that_paused) {
    Scenario s;
    s.policies["p"] = timeout_only;
    s.play(R"(
        create a policy=p |
        claim w1          | a fresh initial #0 e1
        after 500         |
        release a         | waiting | timer=none
        after 60000       |         | a: waiting
    )");
}

TEST(AttemptTimeoutDue, comes_before_the_expiry_of_a_lease_due_at_the_same_time) {
    Scenario s;
    s.policies["p"] = timeout_only;
    s.play(R"(
        create a policy=p |
        claim w1 ttl=1000 | a fresh initial #0 e1
        after 1000        |  | a: expired
    )");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:expired:attempt_timeout=expired"}));
}

// -------------------------------------------------------------------------- execution deadline

TEST(ExecutionDeadline, expires_any_phase_and_is_never_retried) {
    const std::vector<std::pair<std::string, std::string>> phases = {
        {"", "pending_first_attempt attempts=0"},
        {"claim w1 ttl=60000", "attempt_terminal attempts=1"},
        {"claim w1 \n revoke_lease a", "attempt_terminal attempts=1"},
        {"claim w1 \n release a", "attempt_terminal attempts=1"},
        {"claim w1 \n delay a 60000", "attempt_terminal attempts=1"},
        {"claim w1 \n fail a transient", "attempt_terminal attempts=1 retries=1"},
        {"block a paused_by_operator", "pending_first_attempt attempts=0"},
        {"issue_claim_grant a w1 ttl=60000", "pending_first_attempt attempts=0"},
    };
    for (const auto& [arrange, state] : phases) {
        Scenario s;
        s.policies["p"] = R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":60000}}})";
        s.play("create a policy=p deadline=1000 \n" + arrange + "\n after 999 | | a: none");
        s.play("after 1 | | a: expired terminal unowned reason=execution_deadline " + state);
        EXPECT_TRUE(s.history("a").back().ends_with("=expired")) << arrange;
        EXPECT_TRUE(s.records.grants.empty());
        EXPECT_FALSE(s.row("a").grant_expires_at);
    }
}

TEST(ExecutionDeadline, ends_the_live_attempt_and_says_why) {
    Scenario s;
    s.play("create a deadline=1000 \n claim w1 | a fresh initial #0 e1 \n after 1000");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "execution_deadline");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:expired:execution_deadline=expired"}));
    EXPECT_EQ(s.records.events.back().revoked_by, "reconciler");
}

TEST(ExecutionDeadline, comes_before_everything_else_that_is_due) {
    Scenario s;
    s.policies["p"] = timeout_and_retry;
    s.play(R"(
        create a policy=p deadline=1000 |
        claim w1 ttl=1000               | a fresh initial #0 e1
        pass 5000                       |
        tick                            | 1 | a: expired reason=execution_deadline retries=0
    )");
}

TEST(ExecutionDeadline, means_nothing_once_the_execution_has_ended) {
    Scenario s;
    s.play(R"(
        create a deadline=1000 |
        claim w1               | a fresh initial #0 e1
        complete a             | completed
        after 1000             |            | a: completed
    )");
    // Nor if its timer is looked at all the same.
    EXPECT_EQ(s.run(HandleDue{s.id("a")}), false);
    s.play("tick | 0 | a: completed");
}

// ---------------------------------------------------------------------------------- retention

TEST(Retention, deletes_everything_of_a_finished_execution_after_its_time) {
    Settings settings;
    settings.retention_ms = 5000;
    Scenario s(settings);
    CreateExecution args = Scenario::create_args();
    args.idempotency_key = "k";
    args.tags = {{"t", "1"}};
    s.ids["a"] = s.run(args)->execution_id;
    s.play(R"(
        claim w1    | a fresh initial #0 e1
        complete a  | completed | timer=+5000
        after 4999  |           | a: completed
        after 1     |           | a: gone
        complete a  | execution_not_found
        create b key=k | created
    )");
    EXPECT_TRUE(s.records.attempts.empty());
    EXPECT_EQ(s.records.inputs.size(), 1U);
    EXPECT_EQ(s.records.executions.size(), 1U);
}

TEST(Retention, defaults_to_a_day_and_the_stream_policy_replaces_it) {
    Scenario s;
    s.policies["short"] = R"({"stream_policy":{"retention_ttl_ms":1000}})";
    s.play(R"(
        create a              |
        cancel a              | cancelled | timer=+86400000
        create b policy=short |
        cancel b              | cancelled | timer=+1000
        after 1000            |           | b: gone
    )");
}

TEST(Retention, of_nothing_deletes_at_once_and_still_tells_the_end) {
    Scenario s;
    s.policies["none"] = R"({"stream_policy":{"retention_ttl_ms":0}})";
    s.play(R"(
        create a policy=none deadline=10 |
        claim w1                         | a fresh initial #0 e1
        after 10                         | | a: gone
    )");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "released:expired:execution_deadline=expired"}));
}

TEST(Retention, starts_anew_after_a_replay) {
    Scenario s;
    s.policies["short"] = R"({"stream_policy":{"retention_ttl_ms":1000}})";
    s.play(R"(
        create a policy=short |
        cancel a              | cancelled
        after 900             |
        replay a              | waiting   | timer=none
        after 5000            |           | a: waiting
        cancel a              | cancelled | timer=+1000
    )");
}

TEST(Retention, of_an_execution_with_many_frames_drops_those_first) {
    Settings settings;
    settings.retention_ms = 5000;
    Scenario s(settings);
    s.play(R"(
        create a    |
        claim w1    | a fresh initial #0 e1
        complete a  | completed
        pass 5000   |
    )");
    s.records.executions.at(s.id("a")).has_streams = true;
    const auto due_with = [&](std::uint64_t frames_max) {
        const HandleDue command{s.id("a"), frames_max};
        ReadSet set;
        reads(command, set);
        Snapshot view = s.empty_view();
        s.load(set, view);
        StreamMeta meta;
        meta.key = {view.execution(s.id("a"))->eid, 0};
        meta.retained_durable = 20;
        meta.retained_best_effort = 5;
        view.streams.load_meta(meta.key, meta);
        auto decision = decide(view, command, s.context());
        EXPECT_EQ(*decision.answer, true);
        return std::move(decision.changes);
    };
    const Changes some = due_with(22);
    EXPECT_TRUE(some.delete_executions.empty());
    ASSERT_EQ(some.trim_frames.size(), 2U);
    EXPECT_EQ(some.trim_frames[0].count, 20U);
    EXPECT_EQ(some.trim_frames[1].count, 2U);
    ASSERT_EQ(some.put_streams.size(), 1U);
    EXPECT_EQ(some.put_streams[0].retained(), 3U);
    const Changes all = due_with(25);
    EXPECT_EQ(all.delete_executions.size(), 1U);
    EXPECT_TRUE(all.trim_frames.empty()) << "they go with it";
}

// ------------------------------------------------------------------------------------- timers

TEST(Timer, a_renewal_keeps_the_earlier_timer_which_finds_nothing_and_is_armed_again) {
    Scenario s;
    s.play(R"(
        create a          |
        claim w1 ttl=1000 | a fresh initial #0 e1 | timer=+1000
        pass 900          |
        renew a ttl=1000  | +1000 e1              | timer=+100 expires=+1000
        pass 100          |
        tick              | 0                     | a: leased timer=+900 expires=+900
        pass 899          |
        tick              | 0                     | a: leased
        pass 1            |
        tick              | 1                     | a: lease_expired_reclaimable
    )");
}

TEST(Timer, is_kept_for_the_same_lease_only_and_only_while_it_is_early_enough) {
    Scenario s;
    s.play("create a \n claim w1 ttl=1000 | a fresh initial #0 e1");
    const Execution stored = s.row("a");
    const auto armed = [&](const std::function<void(Execution&)>& change) {
        Execution current = stored;
        change(current);
        arm_timer(stored, current, s.now, s.settings().retention_ms);
        return *current.timer_at - s.now;
    };
    EXPECT_EQ(armed([&](Execution& e) { e.lease_expires_at = s.now + 5000; }), 1000);
    EXPECT_EQ(armed([&](Execution& e) { e.lease_expires_at = s.now + 500; }), 500);
    EXPECT_EQ(armed([&](Execution& e) { e.lease_expires_at = s.now + 5000, e.lease_epoch += 1; }),
              5000);
}

TEST(Timer, that_fired_early_changes_nothing_but_itself) {
    Scenario s;
    s.play("create a \n claim w1 ttl=1000 \n pass 900 \n renew a ttl=1000 \n pass 100");
    Execution before = s.row("a");
    const std::size_t events = s.records.events.size();
    s.play("tick | 0");
    before.timer_at = s.now + 900;
    EXPECT_EQ(s.row("a"), before);
    EXPECT_EQ(s.records.events.size(), events);
}

TEST(Timer, is_the_earliest_of_what_may_happen) {
    Scenario s;
    s.policies["p"] = R"({"timeout_policy":{"attempt_timeout_ms":700}})";
    s.play(R"(
        create a policy=p deadline=900 | | timer=+900
        issue_claim_grant a w1 ttl=300 | claim #0 | timer=+300
        claim_execution a w1 ttl=800   | fresh initial #0 e1 | timer=+700
        renew a ttl=500                | +500 e1  | timer=+500
        release a                      | waiting  | timer=+900
    )");
}

TEST(Timer, handles_several_due_things_in_one_go) {
    Scenario s;
    s.policies["p"] = R"({"timeout_policy":{"attempt_timeout_ms":100},
        "retry_policy":{"backoff":{"type":"fixed","delay_ms":0}}})";
    s.play(R"(
        create a policy=p |
        claim w1 ttl=100  | a fresh initial #0 e1
        pass 5000         |
        tick              | 1 | a: waiting pending_retry_attempt retries=1
    )");
}

TEST(Timer, of_an_execution_that_is_gone_does_nothing) {
    Scenario s;
    const auto answer = s.run(HandleDue{ExecutionId{}});
    ASSERT_TRUE(answer);
    EXPECT_FALSE(*answer);
}

TEST(Timer, of_a_grant_frees_the_row_and_keeps_the_grant_known) {
    Scenario s;
    s.play(R"(
        create a                       |
        issue_claim_grant a w1 ttl=100 | claim #0 | timer=+100
        after 100                      |          | a: waiting timer=none
    )");
    EXPECT_FALSE(s.row("a").grant_expires_at);
    EXPECT_NE(s.grant(s.id("a")), nullptr);
}

// ------------------------------------------------------------------------------ derived tables

TEST(ReadyKey, is_there_exactly_for_what_may_be_handed_out) {
    Scenario s;
    const auto ready = [&s](const std::string& name) { return ready_key(s.row(name)).has_value(); };
    s.play("create a priority=3");
    EXPECT_EQ(ready_key(s.row("a")), (ReadyKey{s.row("a").route, -3, s.row("a").eid}));
    s.play("issue_claim_grant a w1 ttl=100");
    EXPECT_FALSE(ready("a")) << "behind a grant";
    s.play("after 100");
    EXPECT_TRUE(ready("a"));
    s.play("block a waiting_for_quota");
    EXPECT_FALSE(ready("a")) << "blocked";
    s.play("unblock a \n block a waiting_for_capable_worker");
    EXPECT_TRUE(ready("a")) << "a worker of its route may come";
    s.play("claim w1");
    EXPECT_FALSE(ready("a")) << "leased";
    s.play("revoke_lease a");
    EXPECT_TRUE(ready("a")) << "to be taken over";
    s.play("cancel a as=nobody");
    EXPECT_FALSE(ready("a")) << "finished";
    s.play("create b delay=5");
    EXPECT_FALSE(ready("b")) << "delayed";
}

TEST(TimerKey, kind_follows_from_the_state) {
    Scenario s;
    s.play("create a delay=5");
    EXPECT_EQ(timer_key(s.row("a")), (TimerKey{TimerKind::wake, s.now + 5, s.row("a").eid}));
    s.play("after 5");
    EXPECT_FALSE(timer_key(s.row("a")));
    s.play("claim w1 ttl=1000");
    EXPECT_EQ(timer_key(s.row("a"))->kind, TimerKind::lease);
    s.play("complete a");
    EXPECT_EQ(timer_key(s.row("a"))->kind, TimerKind::retention);
}

TEST(Bucket, lists_the_rare_conditions_and_none_of_the_common_ones) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{}})";
    const auto step = [&s](const std::string& table, Bucket expected) {
        s.play(table);
        EXPECT_EQ(bucket(s.row("a")), expected) << table;
    };
    step("create a policy=retry delay=5", Bucket::delayed);
    step("after 5", Bucket::none);
    step("block a waiting_for_budget", Bucket::blocked_by_budget);
    step("unblock a \n block a waiting_for_quota", Bucket::blocked_by_quota);
    step("unblock a \n block a waiting_for_capable_worker", Bucket::blocked_by_route);
    step("unblock a \n block a paused_by_policy", Bucket::blocked_by_lane_state);
    step("unblock a \n block a paused_by_operator", Bucket::blocked_by_operator);
    step("unblock a \n claim w1", Bucket::none);
    step("revoke_lease a", Bucket::reclaimable);
    step("claim w1 \n complete a", Bucket::none);
    step("replay a \n cancel a", Bucket::cancelled);
    step("replay a \n claim w1 \n fail a permanent", Bucket::failed);
    Execution e = s.row("a");
    e.state.outcome = TerminalOutcome::expired;
    EXPECT_EQ(bucket(e), Bucket::expired);
    e.state.outcome = TerminalOutcome::skipped;
    EXPECT_EQ(bucket(e), Bucket::skipped);
    e.state.phase = LifecyclePhase::suspended;
    EXPECT_EQ(bucket(e), Bucket::suspended);
    e.state.phase = LifecyclePhase::runnable;
    e.state.eligibility = EligibilityState::blocked_by_dependencies;
    EXPECT_EQ(bucket(e), Bucket::waiting_children);
}

// ---------------------------------------------------------------------------------- follow-ups

TEST(FollowUps, good_ends_of_a_flow_are_counted_together_and_bad_ones_each) {
    const auto member = [](std::uint8_t flow, TerminalOutcome outcome) {
        Execution e;
        e.flow_id = FlowId{};
        e.flow_id->uuid.bytes[0] = flow;
        if (outcome != TerminalOutcome::none) {
            e.state.phase = LifecyclePhase::terminal;
            e.state.outcome = outcome;
        }
        return e;
    };
    std::vector<FlowWork> work;
    const auto end = [&](std::uint8_t flow, TerminalOutcome outcome) {
        const Execution before = member(flow, TerminalOutcome::none);
        add_follow_ups(&before, member(flow, outcome), 5, work);
    };
    end(1, TerminalOutcome::success);
    end(2, TerminalOutcome::success);
    end(1, TerminalOutcome::failed);
    end(1, TerminalOutcome::skipped);
    end(1, TerminalOutcome::failed);
    end(1, TerminalOutcome::success);
    Lines counted;
    for (const FlowWork& piece : work) {
        if (piece.key.kind == FlowWorkKind::counted) {
            counted.push_back(std::to_string(piece.key.flow.uuid.bytes[0]) + *piece.reason + " x" +
                              std::to_string(piece.times));
        }
    }
    EXPECT_EQ(counted, (Lines{"1 x3", "2 x1", "1failed x1", "1failed x1"}));
    EXPECT_EQ(std::ranges::count(work, FlowWorkKind::ended,
                                 [](const FlowWork& piece) { return piece.key.kind; }),
              6)
        << "each is told to those who wait for it";
}

}  // namespace
}  // namespace ff::core
