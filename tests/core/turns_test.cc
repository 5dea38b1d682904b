// Who stands in line for its key: what follows from the rows (core/turns.h). What is done about it
// is tried on engines in tests/engine/conformance_turn_test.cc.
#include "core/turns.h"

#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Scenario;

class Turns : public ::testing::Test {
  protected:
    Turns() { s_.play("create a priority=3"); }
    Execution waiting() {
        Execution e = s_.row("a");
        e.limit_key = "acme";
        return e;
    }
    Execution standing() {
        Execution e = waiting();
        e.has_turn = true;
        e.place = 77;
        return e;
    }
    Execution in_queue() {
        Execution e = waiting();
        e.gate = turn_gate(e);
        return e;
    }
    static TurnWork work_of(const Execution* before, Execution& after) {
        TurnWork out;
        add_turn_work(before, after, out);
        return out;
    }
    /// Left a queue, and stands nowhere.
    static bool only_left(const TurnWork& work, RouteId queue) {
        return work.left.size() == 1 && work.left[0].queue == queue && work.standing.empty();
    }
    static RouteId queue_of(const Execution& e) { return gate_route(turn_gate(e)); }

    Scenario s_;
};

TEST_F(Turns, who_carries_no_key_is_not_concerned) {
    Execution e = s_.row("a");
    EXPECT_TRUE(work_of(nullptr, e).empty());
    EXPECT_EQ(e, s_.row("a"));
}

TEST_F(Turns, who_comes_into_the_line_asks_for_the_turn) {
    Execution e = waiting();
    const TurnWork work = work_of(nullptr, e);
    ASSERT_EQ(work.standing.size(), 1U);
    EXPECT_TRUE(work.left.empty());
    EXPECT_TRUE(work.standing[0].created);
    EXPECT_EQ(work.standing[0].queue, queue_of(e));
    EXPECT_TRUE(still_stands(e, work.standing[0]));
    Execution delayed = e;
    delayed.state.eligibility = EligibilityState::not_eligible_until_time;
    const TurnWork again = work_of(&delayed, e);
    ASSERT_EQ(again.standing.size(), 1U);
    EXPECT_FALSE(again.standing[0].created) << "it has been there";
}

TEST_F(Turns, who_has_the_turn_and_stays_in_line_keeps_it) {
    const Execution before = standing();
    Execution after = before;
    EXPECT_TRUE(work_of(&before, after).empty());
    EXPECT_EQ(after, before);
    EXPECT_EQ(ready_key(after), (ReadyKey{after.route, -3, 77, after.eid}));
    EXPECT_EQ(turn_key(after), (TurnKey{queue_of(after), after.eid}));
}

TEST_F(Turns, whoever_leaves_the_line_leaves_the_turn) {
    const Execution before = standing();
    Execution after = before;
    after.state.phase = LifecyclePhase::active;
    const TurnWork work = work_of(&before, after);
    EXPECT_TRUE(only_left(work, queue_of(before)));
    EXPECT_EQ(work.left[0].rank, -3);
    EXPECT_FALSE(after.has_turn);
    EXPECT_FALSE(after.place);
    EXPECT_FALSE(turn_key(after));
}

TEST_F(Turns, who_waits_for_a_limit_may_keep_the_turn) {
    const Execution before = standing();
    Execution kept = before;
    kept.gate = "quota:x";
    EXPECT_TRUE(work_of(&before, kept).empty());
    EXPECT_TRUE(kept.has_turn);
    EXPECT_EQ(ready_key(kept), (ReadyKey{gate_route("quota:x"), -3, 77, kept.eid}))
        << "in the order of turns there, too";
    Execution given_up = kept;
    given_up.has_turn = false;
    EXPECT_TRUE(only_left(work_of(&before, given_up), queue_of(before)));
    EXPECT_FALSE(given_up.place);
    Execution other = before;
    other.gate = "flow:x";
    EXPECT_TRUE(only_left(work_of(&before, other), queue_of(before)))
        << "that is no limit of the line";
}

TEST_F(Turns, another_priority_is_another_line) {
    const Execution before = standing();
    Execution after = before;
    after.priority = 4;
    const TurnWork work = work_of(&before, after);
    ASSERT_EQ(work.left.size(), 1U);
    EXPECT_EQ(work.left[0].queue, queue_of(before));
    ASSERT_EQ(work.standing.size(), 1U);
    EXPECT_EQ(work.standing[0].queue, queue_of(after));
    EXPECT_NE(queue_of(before), queue_of(after));

    const Execution queued = in_queue();
    Execution moved = queued;
    moved.priority = 4;
    EXPECT_EQ(work_of(&queued, moved).standing.size(), 1U);
    EXPECT_FALSE(moved.gate);
}

TEST_F(Turns, who_has_something_else_to_wait_for_waits_for_no_turn) {
    const Execution queued = in_queue();
    Execution granted = queued;
    granted.grant_expires_at = s_.now + 5;
    EXPECT_TRUE(work_of(&queued, granted).empty());
    EXPECT_FALSE(granted.gate) << "behind a grant";
    Execution blocked = queued;
    blocked.state.eligibility = EligibilityState::blocked_by_operator;
    EXPECT_TRUE(work_of(&queued, blocked).empty());
    EXPECT_FALSE(blocked.gate) << "paused";
    EXPECT_EQ(turn_fault(blocked), "");
}

TEST_F(Turns, who_goes_on_with_an_attempt_takes_no_turns) {
    Execution e = waiting();
    e.state.attempt_state = AttemptState::attempt_interrupted;
    EXPECT_TRUE(work_of(nullptr, e).empty());
    EXPECT_EQ(turn_fault(e), "");
    s_.play("claim w1 \n revoke_lease a");
    Execution lost = waiting();
    ASSERT_TRUE(ready_key(lost));
    EXPECT_TRUE(work_of(nullptr, lost).empty()) << "to be taken over";
}

TEST_F(Turns, who_waits_for_its_turn_is_in_no_line) {
    Execution e = in_queue();
    const Execution before = e;
    EXPECT_TRUE(work_of(&before, e).empty());
    EXPECT_EQ(e.state, waiting().state);
    EXPECT_EQ(ready_key(e)->route, queue_of(e));
}

TEST_F(Turns, faults_are_named) {
    EXPECT_EQ(turn_fault(standing()), "");
    EXPECT_EQ(turn_fault(in_queue()), "");
    EXPECT_EQ(turn_fault(s_.row("a")), "");
    EXPECT_EQ(turn_fault(waiting()), "in line, and has not the turn of its key");
    Execution e = standing();
    e.limit_key.reset();
    EXPECT_EQ(turn_fault(e), "a turn without a limit key");
    e = standing();
    e.state.phase = LifecyclePhase::active;
    EXPECT_EQ(turn_fault(e), "has the turn of its key, and is not in line");
    e = in_queue();
    e.priority += 1;
    EXPECT_EQ(turn_fault(e), "waits for a turn that it cannot have");
    e = waiting();
    e.state.eligibility = EligibilityState::not_eligible_until_time;
    e.place = 7;
    EXPECT_EQ(turn_fault(e), "a place, and no turn");
}

}  // namespace
}  // namespace ff::core
