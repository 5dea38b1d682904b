// What operators change: priority, replay, blocks, tags, lanes. Spec 02 sections 3.7 and 7.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;
using Lines = std::vector<std::string>;

// ----------------------------------------------------------------------------------- priority

TEST(ChangePriority, moves_an_eligible_execution_and_keeps_its_age) {
    Scenario s;
    s.play(R"(
        create a             |
        create b             |
        pass 5               |
        change_priority b 7  | ok | waiting priority=7
        claim w1             | b fresh initial #0 e1
    )");
    EXPECT_EQ(s.row("b").created_at, s.now - 5);
}

TEST(ChangePriority, among_equals_the_older_still_goes_first) {
    Scenario s;
    s.play(R"(
        create a            |
        create b priority=5 |
        change_priority a 5 | ok
        claim w1            | a fresh initial #0 e1
    )");
}

TEST(ChangePriority, is_clamped) {
    Scenario s;
    s.play(R"(
        create a                |
        change_priority a 99999 | ok | priority=9000
        change_priority a -1    | ok | priority=0
    )");
}

TEST(ChangePriority, is_refused_outside_of_runnable_and_eligible_now) {
    Scenario s;
    s.ids["ghost"] = {};
    s.play(R"(
        change_priority ghost 1  | execution_not_found
        create d delay=10        |
        change_priority d 1      | execution_not_eligible
        create b                 |
        block b waiting_for_quota | blocked
        change_priority b 1      | execution_not_eligible
        create a                 |
        claim w1                 | a fresh initial #0 e1
        change_priority a 1      | execution_not_eligible
        complete a               | completed
        change_priority a 1      | execution_not_eligible | priority=0
    )");
}

TEST(ChangePriority, is_told_even_when_the_value_is_the_same) {
    Scenario s;
    s.play("create a priority=4 \n pass 2 \n change_priority a 4 | ok \n change_priority a 6 | ok");
    ASSERT_EQ(s.records.log_events.size(), 2U);
    EXPECT_EQ(s.records.log_events[0].family, LogFamily::operator_);
    EXPECT_EQ(s.records.log_events[0].type, "priority_changed");
    EXPECT_EQ(s.records.log_events[0].payload, R"({"old_priority":4,"new_priority":4})");
    EXPECT_EQ(s.records.log_events[1].payload, R"({"old_priority":4,"new_priority":6})");
    EXPECT_EQ(s.row("a").last_mutation_at, s.now);
    EXPECT_EQ(s.row("a").last_transition_at, s.now - 2) << "not a change of the vector";
}

// ------------------------------------------------------------------------------------- replay

TEST(Replay, of_any_end_goes_back_to_waiting_and_claims_a_replay_attempt) {
    const std::vector<std::pair<std::string, std::string>> ends = {
        {"complete a | completed", "success"},
        {"fail a permanent | failed", "failed"},
        {"cancel a source=lease_holder | cancelled", "cancelled"},
        {"after 60000", "expired"},
    };
    for (const auto& [end, outcome] : ends) {
        Scenario s;
        s.play("create a deadline=60000 \n claim w1 ttl=100000 | a fresh initial #0 e1");
        s.play(end + "\n pass 1 \n tick | | a: terminal " + outcome);
        s.play(R"(
            replay a | waiting | waiting runnable unowned eligible_now waiting_for_worker none
                     |         | pending_replay_attempt replays=1 epoch=1 attempts=1 reason=none
            claim w1 | a fresh replay #1 e2 | active attempts=2 epoch=2
        )");
        EXPECT_FALSE(s.row("a").completed_at) << outcome;
        EXPECT_FALSE(s.row("a").failure_category);
        EXPECT_FALSE(s.row("a").cancellation_reason);
        EXPECT_FALSE(s.row("a").cancelled_by);
    }
}

TEST(Replay, gives_a_full_set_of_retries_and_reclaims) {
    Scenario s;
    s.policies["p"] = R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":10}},
        "max_reclaim_count":1})";
    s.play(R"(
        create a policy=p |
        claim w1          | a fresh initial #0 e1
        revoke_lease a    | revoked e1
        claim w1          | a reclaimed reclaim #1 e2
        fail a transient  | retry +10 #2
        after 10          |
        claim w1          | a fresh retry #2 e3
        fail a transient  | failed      | retries=1 reclaims=1
        replay a          | waiting     | retries=0 reclaims=0 replays=1
        claim w1          | a fresh replay #3 e4
        fail a transient  | retry +10 #4
    )");
}

TEST(Replay, the_new_attempt_knows_where_it_comes_from) {
    Scenario s;
    s.play(R"(
        create a   |
        claim w1   | a fresh initial #0 e1
        complete a result=old | completed
        replay a   | waiting
        claim w1   | a fresh replay #1 e2
        fail a permanent | failed
    )");
    const Attempt replayed = s.attempt_row("a", 1);
    EXPECT_EQ(replayed.type, AttemptType::replay);
    EXPECT_EQ(replayed.requested_by, "operator");
    EXPECT_TRUE(replayed.reason);
    EXPECT_EQ(replayed.previous_attempt_index, 0U);
    EXPECT_EQ(s.attempt_row("a", 0).result, "old") << "the old result stays stored";
    EXPECT_FALSE(replayed.result);
}

TEST(Replay, of_one_that_never_ran_begins_at_index_0) {
    Scenario s;
    s.play(R"(
        create a |
        cancel a | cancelled | pending_first_attempt
        replay a | waiting   | pending_replay_attempt attempts=0 epoch=0
        cancel a | cancelled | pending_replay_attempt
        replay a | waiting
        claim w1 | a fresh replay #0 e1
        complete a | completed
    )");
    EXPECT_FALSE(s.attempt_row("a", 0).previous_attempt_index);
}

TEST(Replay, keeps_created_at_started_at_priority_and_drops_only_a_past_deadline) {
    Scenario s;
    s.play(R"(
        create a priority=3 deadline=100 |
        create b deadline=100            |
        claim w1                         | a fresh initial #0 e1
        complete a                       | completed
        cancel b                         | cancelled
        pass 99                          |
        replay b                         | waiting | deadline=+1
        pass 1                           |
        replay a                         | waiting | deadline=none priority=3 started=-100
    )");
    EXPECT_EQ(s.row("a").created_at, s.now - 100);
}

TEST(Replay, checks_existence_then_the_end_then_the_cap) {
    Scenario s;
    s.ids["ghost"] = {};
    s.policies["once"] = R"({"max_replay_count":1})";
    s.policies["never"] = R"({"max_replay_count":0})";
    s.play(R"(
        replay ghost          | execution_not_found
        create a policy=never |
        replay a              | execution_not_terminal
        claim w1              | a fresh initial #0 e1
        replay a              | execution_not_terminal
        revoke_lease a        | revoked e1
        replay a              | execution_not_terminal
        cancel a as=nobody    | cancelled
        replay a              | max_replays_exhausted | cancelled
        create b policy=once  |
        cancel b              | cancelled
        replay b              | waiting
        cancel b              | cancelled
        replay b              | max_replays_exhausted | cancelled replays=1
    )");
}

TEST(Replay, is_allowed_ten_times_without_a_policy) {
    Scenario s;
    s.play("create a \n cancel a | cancelled");
    for (int i = 0; i < 10; ++i) {
        s.play("replay a | waiting \n cancel a | cancelled");
    }
    s.play("replay a | max_replays_exhausted | replays=10");
}

TEST(Replay, is_told_in_history_and_to_operators) {
    Scenario s;
    s.play("create a \n claim w1 \n complete a | completed \n replay a | waiting");
    EXPECT_EQ(s.history("a").back(), "replay_initiated:normal");
    ASSERT_EQ(s.records.log_events.size(), 1U);
    EXPECT_EQ(s.records.log_events[0].type, "replayed");
    EXPECT_EQ(s.records.log_events[0].payload, R"({"branch":"normal"})");
}

TEST(Replay, each_end_is_told_again) {
    Scenario s;
    s.play(R"(
        create a   |
        claim w1   | a fresh initial #0 e1
        complete a | completed
        replay a   | waiting
        claim w1   | a fresh replay #1 e2
        complete a | completed
    )");
    EXPECT_EQ(s.history("a"),
              (Lines{"acquired", "released:completed=success", "replay_initiated:normal",
                     "acquired", "released:completed=success"}));
}

// --------------------------------------------------------------------------- block and unblock

TEST(Block, each_reason_has_its_eligibility_and_its_label) {
    Scenario s;
    s.play(R"(
        create a                           |
        block a waiting_for_budget         | blocked | rate_limited blocked_by_budget
        unblock a waiting_for_budget       | ok      | waiting eligible_now waiting_for_worker
        block a waiting_for_quota          | blocked | rate_limited blocked_by_quota
        unblock a waiting_for_quota        | ok
        block a waiting_for_capable_worker | blocked | waiting blocked_by_route
        unblock a                          | ok
        block a paused_by_operator         | blocked | waiting blocked_by_operator
        unblock a paused_by_operator       | ok
        block a paused_by_policy           | blocked | waiting blocked_by_lane_state
        unblock a                          | ok      | waiting eligible_now
    )");
}

TEST(Block, keeps_the_detail_and_the_attempt_state_and_stamps_the_time) {
    Scenario s;
    s.play("create a \n claim w1 \n release a | waiting \n pass 3");
    const auto answer =
        s.run(BlockExecution{s.id("a"), "waiting_for_quota", "quota q: concurrency cap 2"});
    ASSERT_TRUE(answer && answer->blocked);
    EXPECT_EQ(s.row("a").blocking_detail, "quota q: concurrency cap 2");
    EXPECT_EQ(s.row("a").blocked_at, s.now);
    EXPECT_EQ(s.row("a").last_transition_at, s.now);
    s.play("unblock a | ok | attempt_interrupted waiting");
    EXPECT_FALSE(s.row("a").blocking_detail);
    EXPECT_FALSE(s.row("a").blocked_at);
    EXPECT_EQ(s.row("a").created_at, s.now - 3);
}

TEST(Block, checks_existence_then_phase_then_reason_then_eligibility) {
    Scenario s;
    s.ids["ghost"] = {};
    s.play(R"(
        block ghost nonsense       | execution_not_found
        create a                   |
        block a nonsense           | invalid_blocking_reason
        block a waiting_for_worker | invalid_blocking_reason
        block a paused_by_flow_cancel | invalid_blocking_reason
        block a waiting_for_budget | blocked
        block a nonsense           | invalid_blocking_reason
        # only what is eligible may be blocked; the rest is left and reported
        block a waiting_for_quota  | rejected | blocked_by_budget
        unblock a                  | ok
        claim w1                   | a fresh initial #0 e1
        block a nonsense           | execution_not_eligible
        complete a                 | completed
        block a nonsense           | execution_not_active
        create d delay=5           |
        block d waiting_for_quota  | rejected | delayed
    )");
    const auto answer = s.run(BlockExecution{s.id("a"), "waiting_for_quota"});
    EXPECT_EQ(answer.error().field("terminal_outcome"), "success");
    EXPECT_EQ(s.run(BlockExecution{s.id("d"), "waiting_for_quota"})->message,
              "it is not_eligible_until_time");
}

TEST(Unblock, needs_a_block_of_the_expected_reason) {
    Scenario s;
    s.ids["ghost"] = {};
    s.play(R"(
        unblock ghost                | execution_not_found
        create a                     |
        unblock a                    | execution_not_eligible
        block a waiting_for_budget   | blocked
        unblock a waiting_for_quota  | execution_not_eligible | blocked_by_budget
        unblock a waiting_for_budget | ok | waiting
        create d delay=5             |
        unblock d                    | execution_not_eligible | delayed
        claim w1                     | a fresh initial #0 e1
        unblock a                    | execution_not_eligible | active
    )");
}

TEST(Unblock, never_lifts_the_hold_of_a_flow_cancel) {
    Scenario s;
    s.play("create a \n block a paused_by_operator | blocked");
    s.records.executions.at(s.id("a")).state.blocking_reason =
        BlockingReason::paused_by_flow_cancel;
    s.play(
        "unblock a | execution_not_eligible \n"
        "unblock a paused_by_flow_cancel | execution_not_eligible | blocked_by_operator");
}

// --------------------------------------------------------------------------------------- tags

TEST(SetTags, upserts_and_tells_what_changed) {
    Scenario s;
    CreateExecution args = Scenario::create_args();
    args.tags = {{"app.a", "1"}, {"app.b", "1"}};
    s.ids["a"] = s.run(args)->execution_id;
    s.records.log_events.clear();
    s.now += 4;
    const auto answer =
        s.run(SetExecutionTags{s.id("a"), {{"app.a", "1"}, {"app.b", "2"}, {"app.c", "3"}}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->count, 3U);
    EXPECT_EQ(s.records.inputs.at(s.row("a").eid).tags,
              (Tags{{"app.a", "1"}, {"app.b", "2"}, {"app.c", "3"}}));
    ASSERT_EQ(s.records.log_events.size(), 2U) << "the same value again tells nothing";
    EXPECT_EQ(s.records.log_events[0].payload, R"({"tag":"app.b","value":"2","previous":"1"})");
    EXPECT_EQ(s.records.log_events[1].payload, R"({"tag":"app.c","value":"3","previous":null})");
    EXPECT_EQ(s.records.log_events[1].tags, R"({"app.a":"1","app.b":"2","app.c":"3"})");
    EXPECT_EQ(s.row("a").last_mutation_at, s.now);
    EXPECT_EQ(s.row("a").last_transition_at, s.now - 4);
}

TEST(SetTags, on_an_execution_that_had_none_is_seen_by_later_events) {
    Scenario s;
    s.play("create a");
    ASSERT_TRUE(s.run(SetExecutionTags{s.id("a"), {{"app.x", "1"}}}));
    s.play("claim w1 \n complete a | completed");
    EXPECT_EQ(s.records.events.back().tags, R"({"app.x":"1"})");
}

TEST(SetTags, of_an_unknown_execution_is_not_found_and_the_sum_is_bounded) {
    Scenario s;
    EXPECT_EQ(s.run(SetExecutionTags{{}, {{"a.b", ""}}}).error().code,
              ErrorCode::execution_not_found);
    CreateExecution args = Scenario::create_args();
    for (int i = 0; i < 64; ++i) {
        args.tags["k" + std::to_string(i)] = "v";
    }
    s.ids["a"] = s.run(args)->execution_id;
    const Records before = s.records;
    EXPECT_EQ(answer_of(s.run(SetExecutionTags{s.id("a"), {{"a.b", ""}}})),
              "invalid_input: tags: at most 64 on one execution");
    EXPECT_TRUE(s.records == before);
}

TEST(RemoveTag, clears_one_and_says_whether_it_was_there) {
    Scenario s;
    s.play("create a");
    ASSERT_TRUE(s.run(SetExecutionTags{s.id("a"), {{"app.x", "1"}}}));
    s.records.log_events.clear();
    EXPECT_EQ(s.run(RemoveExecutionTag{s.id("a"), "app.y"})->count, 0U);
    EXPECT_TRUE(s.records.log_events.empty());
    EXPECT_EQ(s.run(RemoveExecutionTag{s.id("a"), "app.x"})->count, 1U);
    EXPECT_FALSE(s.row("a").has_tags);
    ASSERT_EQ(s.records.log_events.size(), 1U);
    EXPECT_EQ(s.records.log_events[0].type, "cleared");
    EXPECT_EQ(s.records.log_events[0].payload, R"({"tag":"app.x","previous":"1"})");
    EXPECT_EQ(s.run(RemoveExecutionTag{{}, "app.x"}).error().code, ErrorCode::execution_not_found);
}

// -------------------------------------------------------------------------------------- lanes

TEST(SetLaneState, registers_a_new_lane_and_keeps_the_age_of_a_known_one) {
    Scenario s;
    s.play("lane fresh paused | ok");
    EXPECT_EQ(s.records.lanes.at("fresh"), (Lane{"fresh", LaneState::paused, s.now}));
    s.play("pass 9 \n lane fresh active | ok");
    EXPECT_EQ(s.records.lanes.at("fresh"), (Lane{"fresh", LaneState::active, s.now - 9}));
}

TEST(SetLaneState, to_the_state_it_has_writes_nothing) {
    Scenario s;
    s.play("lane main draining");
    const Records before = s.records;
    s.play("pass 1 \n lane main draining | ok");
    EXPECT_TRUE(s.records == before);
}

}  // namespace
}  // namespace ff::core
