// Claiming directly: spec 02 sections 3.1, 3.2 and the effects of 3.4 and 3.5.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Scenario;

TEST(Claim, of_a_new_execution_gives_attempt_0_under_epoch_1) {
    Scenario s;
    s.play(R"(
        create a           |
        pass 7             |
        claim w1 ttl=30000 | a fresh initial #0 e1 | active leased not_applicable none
                           |                       | running_attempt epoch=1 attempts=1 worker=w1
                           |                       | expires=+30000 timer=+30000 started=+0
        claim w1           | nothing
    )");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.lease_acquired_at, s.now);
    EXPECT_EQ(e.lease_renewed_at, s.now);
    EXPECT_EQ(e.worker_instance_id, "w1-1");
    EXPECT_EQ(e.current_attempt_index, 0U);
    EXPECT_EQ(e.last_transition_at, s.now);
    EXPECT_TRUE(s.records.attempts.empty()) << "the running attempt lives in the execution row";
}

TEST(Claim, the_task_holds_all_a_worker_needs) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.tags = {{"t", "1"}};
    args.payload_encoding = "json";
    args.priority = 4;
    args.execution_deadline_at = s.now + 9'000;
    args.policy = R"({"timeout_policy":{"attempt_timeout_ms":500}})";
    const ExecutionId id = s.run(args)->execution_id;
    const auto answer = s.run(Scenario::claim_args("w1"));
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->tasks.size(), 1U);
    const ClaimedTask& task = answer->tasks[0];
    EXPECT_EQ(task.execution_id(), id);
    EXPECT_EQ(task.ns, "tenant");
    EXPECT_EQ(task.execution_kind, "job");
    EXPECT_EQ(task.input_payload, "input");
    EXPECT_EQ(task.payload_encoding, "json");
    EXPECT_EQ(task.tags, args.tags);
    EXPECT_EQ(task.priority, 4);
    EXPECT_EQ(task.attempt_deadline_at, s.now + 500);
    EXPECT_EQ(task.execution_deadline_at, s.now + 9'000);
    EXPECT_EQ(task.lease_expires_at, s.now + 30'000);
    EXPECT_EQ(task.policy_snapshot, R"({"timeout_policy":{"attempt_timeout_ms":500}})");
    const Execution& e = *s.find(id);
    EXPECT_EQ(task.handle.attempt_id, e.current_attempt_id);
    EXPECT_EQ(task.handle.lease_id, e.lease_id);
    EXPECT_EQ(task.handle.lease_ttl_ms, 30'000);
    EXPECT_EQ(task.handle.lane_id, "main");
    EXPECT_EQ(task.handle.worker_instance_id, "w1-1");
    EXPECT_EQ(task.handle.backend, BackendTag::sqlite);
}

TEST(Claim, is_told_as_acquired_with_lease_and_owner) {
    Scenario s;
    s.play("create a \n claim w1");
    ASSERT_EQ(s.history("a"), (std::vector<std::string>{"acquired"}));
    const ExecutionEvent& event = s.records.events[0];
    EXPECT_EQ(event.lease_id, s.handle("a").lease_id);
    EXPECT_EQ(event.lease_epoch, 1U);
    EXPECT_EQ(event.attempt_id, s.handle("a").attempt_id);
    EXPECT_EQ(event.attempt_index, 0U);
    EXPECT_EQ(event.worker_id, "w1");
    EXPECT_EQ(event.worker_instance_id, "w1-1");
    EXPECT_EQ(event.expires_at, s.now + 30'000);
    EXPECT_EQ(event.at, s.now);
}

// --------------------------------------------------------------------------------- selection

TEST(Claim, takes_the_highest_priority_first_and_the_oldest_of_equals) {
    Scenario s;
    s.play(R"(
        create low             |
        create early priority=5 |
        create top priority=9   |
        create late priority=5  |
        claim w1 | top fresh initial #0 e1
        claim w1 | early fresh initial #0 e1
        claim w1 | late fresh initial #0 e1
        claim w1 | low fresh initial #0 e1
        claim w1 | nothing
    )");
}

TEST(Claim, order_is_over_the_whole_lane_not_within_a_route) {
    Scenario s;
    s.play(R"(
        create a kind=x |
        create b kind=y |
        create c kind=x |
        create d kind=y priority=1 |
        claim w1 | d fresh initial #0 e1
        claim w1 | a fresh initial #0 e1
        claim w1 | b fresh initial #0 e1
        claim w1 | c fresh initial #0 e1
    )");
}

TEST(Claim, sees_only_its_lanes_its_namespace_and_its_kinds) {
    Scenario s;
    s.play(R"(
        create a lane=one ns=x kind=k |
        claim w1 lane=two             | nothing
        claim w1 lane=one ns=y        | nothing
        claim w1 lane=one kinds=j,l   | nothing
        claim w1 lane=two,one ns=x kinds=j,k | a fresh initial #0 e1
    )");
}

TEST(Claim, a_row_the_worker_cannot_run_hides_nothing_and_is_left_as_it_is) {
    Scenario s;
    s.policies["gpu"] = R"({"routing_requirements":{"required_capabilities":["gpu"]}})";
    s.play(R"(
        create head policy=gpu priority=9 |
        create tail                       |
        claim w1          | tail fresh initial #0 e1 | head: waiting eligible_now
        claim w1          | nothing
        claim w1 can=GPU  | nothing
        claim w1 can=gpu,more | head fresh initial #0 e1
    )");
    EXPECT_FALSE(s.row("head").last_capability_mismatch_at) << "a mismatch rewrites no row";
}

TEST(Claim, paused_and_disabled_lanes_give_no_work_and_draining_ones_do) {
    Scenario s;
    s.play(R"(
        create a           |
        lane main paused   | ok
        claim w1           | nothing | a: waiting eligible_now
        claim_for_worker w1 | nothing | a: waiting
        lane main disabled | ok
        claim w1           | nothing | a: waiting eligible_now
        lane main draining | ok
        claim w1           | a fresh initial #0 e1
    )");
}

TEST(Claim, takes_as_many_as_asked_for_and_no_more) {
    Scenario s;
    s.play("create a \n create b \n create c");
    Claim args = Scenario::claim_args("w1");
    args.max_tasks = 2;
    EXPECT_EQ(s.run(args)->tasks.size(), 2U);
    EXPECT_EQ(s.run(args)->tasks.size(), 1U);
    EXPECT_EQ(s.run(args)->tasks.size(), 0U);
}

TEST(Claim, does_not_see_delayed_blocked_active_or_finished_executions) {
    Scenario s;
    s.play(R"(
        create delayed delay=10           |
        create budget                     |
        block budget waiting_for_budget   | blocked
        create quota                      |
        block quota waiting_for_quota     | blocked
        create operator                   |
        block operator paused_by_operator | blocked
        create lane                       |
        block lane paused_by_policy       | blocked
        create cancelled                  |
        cancel cancelled                  | cancelled
        create active                     |
        claim w1                          | active fresh initial #0 e1
        claim w1                          | nothing
    )");
}

TEST(Claim, takes_a_row_blocked_by_route_when_it_satisfies_it) {
    Scenario s;
    s.policies["gpu"] = R"({"routing_requirements":{"required_capabilities":["gpu"]}})";
    s.play(R"(
        create a policy=gpu                | created
        block a waiting_for_capable_worker | blocked | waiting blocked_by_route
        claim w1                           | nothing | a: blocked_by_route
        claim w1 can=gpu                   | a fresh initial #0 e1 | active
    )");
    EXPECT_FALSE(s.row("a").blocked_at);
}

TEST(Claim, a_live_grant_hides_the_row_until_it_expires) {
    Scenario s;
    s.play(R"(
        create a                       |
        issue_claim_grant a w1 ttl=100 | claim #0
        claim w2                       | nothing | a: waiting eligible_now
        after 99                       |
        claim w2                       | nothing
        after 1                        |
        claim w2                       | a fresh initial #0 e1
    )");
}

// ------------------------------------------------------------------------- kinds of attempts

TEST(Claim, after_a_failure_makes_a_retry_that_knows_where_it_comes_from) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":100}}})";
    s.play(R"(
        create a policy=retry         |
        claim w1                      | a fresh initial #0 e1
        pass 50                       |
        fail a transient reason=flaky | retry +100 #1
        after 100                     |
        claim w2                      | a fresh retry #1 e2 | type=retry attempts=2 epoch=2
                                      |                     | retries=1 started=-150
        complete a                    | completed
    )");
    const Attempt retry = s.attempt_row("a", 1);
    EXPECT_EQ(retry.type, AttemptType::retry);
    EXPECT_EQ(retry.reason, "flaky");
    EXPECT_EQ(retry.previous_attempt_index, 0U);
    EXPECT_FALSE(retry.requested_by);
    const Attempt first = s.attempt_row("a", 0);
    EXPECT_EQ(first.type, AttemptType::initial);
    EXPECT_FALSE(first.reason);
    EXPECT_FALSE(first.previous_attempt_index);
}

TEST(Claim, a_retry_that_reaches_a_new_tier_is_a_fallback) {
    Scenario s;
    s.policies["tiers"] = R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":0}},
        "timeout_policy":{"attempt_timeout_ms":900},
        "fallback_policy":{"tiers":[{"provider":"p","model":"m"},
                                    {"provider":"p","model":"n","timeout_ms":200}]}})";
    s.play(R"(
        create a policy=tiers |
        claim w1              | a fresh initial #0 e1 | attempt_deadline=+900
        fail a transient      | retry +0 #1
        tick                  | 1
        claim w1              | a fresh fallback #1 e2 | attempt_deadline=+200
        fail a transient      | retry +0 #2
        tick                  | 1
    )");
    const auto answer = s.run(Scenario::claim_args("w1"));
    ASSERT_EQ(answer->tasks.size(), 1U);
    EXPECT_EQ(answer->tasks[0].attempt_type, AttemptType::retry) << "the last tier stays";
    EXPECT_EQ(answer->tasks[0].attempt_deadline_at, s.now + 200);
    EXPECT_TRUE(answer->tasks[0].policy_snapshot->ends_with(R"("fallback_index":1})"))
        << *answer->tasks[0].policy_snapshot;
}

TEST(Claim, of_an_interrupted_attempt_resumes_it_under_a_new_lease) {
    Scenario s;
    s.play(R"(
        create a      |
        claim w1      | a fresh initial #0 e1
        release a     | waiting
        pass 500      |
        claim w2      | a resumed initial #0 e2 | active leased running_attempt worker=w2
                      |                         | attempts=1 epoch=2 started=-500
    )");
    EXPECT_EQ(s.handle("a", "w1").attempt_id, s.handle("a", "w2").attempt_id);
    EXPECT_NE(s.handle("a", "w1").lease_id, s.handle("a", "w2").lease_id);
    EXPECT_EQ(s.row("a").attempt_resumed_at, s.now);
    EXPECT_EQ(s.history("a"), (std::vector<std::string>{"acquired", "released:worker_release",
                                                        "acquired:claim_resumed"}));
    s.play("complete a | completed");
    const Attempt row = s.attempt_row("a", 0);
    EXPECT_EQ(row.lease_epoch, 2U);
    EXPECT_EQ(row.worker_id, "w2");
    EXPECT_EQ(row.resumed_at, s.now);
    EXPECT_FALSE(row.suspended_at);
    EXPECT_FALSE(row.suspension_id);
}

// ----------------------------------------------------------------------------- attempt timeout

TEST(AttemptTimeout, counts_from_the_claim_and_absent_or_zero_is_unlimited) {
    Scenario s;
    s.policies["limited"] = R"({"timeout_policy":{"attempt_timeout_ms":700}})";
    s.policies["zero"] = R"({"timeout_policy":{"attempt_timeout_ms":0}})";
    s.policies["absent"] = R"({"timeout_policy":{}})";
    s.play(R"(
        create a policy=limited |
        claim w1                | a fresh initial #0 e1 | attempt_deadline=+700 timer=+700
        create b policy=zero    |
        claim w1                | b fresh initial #0 e1 | attempt_deadline=none
        create c policy=absent  |
        claim w1                | c fresh initial #0 e1 | attempt_deadline=none
        create d                |
        claim w1                | d fresh initial #0 e1 | attempt_deadline=none
    )");
}

TEST(AttemptTimeout, a_pause_neither_loses_nor_refreshes_what_is_left) {
    Scenario s;
    s.policies["limited"] = R"({"timeout_policy":{"attempt_timeout_ms":1000}})";
    s.play(R"(
        create a policy=limited |
        claim w1                | a fresh initial #0 e1   | attempt_deadline=+1000
        after 300               |
        delay a 5000            | delayed                 | attempt_deadline=none
        after 5000              |                         | waiting
        after 5000              |                         | waiting
        claim w2                | a resumed initial #0 e2 | attempt_deadline=+700
        after 650               |
        release a               | waiting                 | attempt_deadline=none
        claim w1                | a resumed initial #0 e3 | attempt_deadline=+50
        after 49                |                         | active
        after 1                 |                         | expired reason=attempt_timeout
    )");
}

TEST(AttemptTimeout, is_whole_again_for_the_next_attempt) {
    Scenario s;
    s.policies["p"] = R"({"timeout_policy":{"attempt_timeout_ms":1000},
        "retry_policy":{"backoff":{"type":"fixed","delay_ms":0}}})";
    s.play(R"(
        create a policy=p |
        claim w1          | a fresh initial #0 e1
        after 600         |
        release a         | waiting
        claim w1          | a resumed initial #0 e2 | attempt_deadline=+400
        fail a transient  | retry +0 #1
        tick              | 1
        claim w1          | a fresh retry #1 e3     | attempt_deadline=+1000
        after 100         |
        release a         | waiting
        claim w1          | a resumed retry #1 e4   | attempt_deadline=+900
    )");
}

TEST(AttemptTimeout, at_least_a_millisecond_is_left_after_a_resume) {
    Scenario s;
    s.policies["limited"] = R"({"timeout_policy":{"attempt_timeout_ms":1000}})";
    s.play(R"(
        create a policy=limited |
        claim w1                | a fresh initial #0 e1
        # the timer has not fired yet, and the lease is longer than the timeout
        pass 1000               |
        release a               | waiting
        claim w1                | a resumed initial #0 e2 | attempt_deadline=+1
    )");
}

TEST(AttemptTimeout, renewing_does_not_move_it) {
    Scenario s;
    s.policies["limited"] = R"({"timeout_policy":{"attempt_timeout_ms":1000}})";
    s.play(R"(
        create a policy=limited deadline=8000 |
        claim w1   | a fresh initial #0 e1
        pass 400   |
        renew a    | +30000 e1 | attempt_deadline=+600 deadline=+7600
    )");
}

TEST(Claim, started_at_is_the_first_claim_for_ever) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":10}}})";
    s.play(R"(
        create a policy=retry |
        claim w1              | a fresh initial #0 e1 | started=+0
        fail a transient      | retry +10 #1
        after 10              |
        claim w1              | a fresh retry #1 e2 | started=-10
        revoke_lease a        | revoked e2
        claim w1              | a reclaimed reclaim #2 e3 | started=-10
        complete a            | completed
        replay a              | waiting
        pass 5                |
        claim w1              | a fresh replay #3 e4 | started=-15
    )");
}

}  // namespace
}  // namespace ff::core
