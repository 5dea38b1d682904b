// The invariant checks themselves: silent on sound records, and each fault is found and numbered.
#include "core/invariants.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::Scenario;

struct Led {
    Execution e;
    std::vector<Attempt> attempts;
};

/// An execution that was led to a state by a table, with its attempts.
Led led_by(const std::string& table) {
    Scenario s;
    s.policies["retry"] = R"({"retry_policy":{}})";
    s.play("create a policy=retry \n" + table);
    Led records{s.row("a"), {}};
    for (const auto& [index, attempt] : s.records.attempts[records.e.eid]) {
        records.attempts.push_back(attempt);
    }
    return records;
}

const std::string under_lease = "claim w1";
const std::string expired = "claim w1 ttl=1000 \n after 1000";
const std::string revoked = "claim w1 \n revoke_lease a";
const std::string paused = "claim w1 \n release a";
const std::string resumed = "claim w1 \n release a \n claim w2";
const std::string retrying = "claim w1 \n fail a transient";
const std::string completed = "claim w1 \n complete a result=x";
const std::string replayed = "claim w1 \n complete a result=x \n replay a";

/// Numbers of what is found after one fault was made.
std::set<std::string> found(const std::string& table,
                            const std::function<void(Execution&, std::vector<Attempt>&)>& spoil) {
    Led records = led_by(table);
    spoil(records.e, records.attempts);
    std::set<std::string> numbers;
    for (const std::string& sentence : check_invariants(records.e, records.attempts)) {
        numbers.insert(sentence.substr(0, sentence.find(':')));
    }
    return numbers;
}

#define EXPECT_FOUND(number, table, fault)                                                         \
    EXPECT_TRUE(found(table, []([[maybe_unused]] Execution& e,                                     \
                                [[maybe_unused]] std::vector<Attempt>& attempts) { fault; })       \
                    .contains(number))                                                             \
        << #fault << " was not found"

TEST(Invariants, hold_in_every_state_a_table_leads_to) {
    for (const std::string& table : {std::string(), under_lease, expired, revoked, paused, resumed,
                                     retrying, completed, replayed}) {
        const Led records = led_by(table);
        EXPECT_EQ(check_invariants(records.e, records.attempts), std::vector<std::string>{})
            << table;
    }
}

TEST(Invariants, an_illegal_vector_and_a_wrong_label_are_found) {
    EXPECT_FOUND("vector", "", e.state.phase = LifecyclePhase::submitted);
    EXPECT_FOUND("vector", under_lease, e.state.attempt_state = AttemptState::none);
    EXPECT_FOUND("public_state", "", e.public_state = PublicState::resumable);
}

TEST(Invariants, I1_leased_means_lease_owner_and_expiry) {
    EXPECT_FOUND("I1", under_lease, e.lease_id.reset());
    EXPECT_FOUND("I1", under_lease, e.worker_id.reset());
    EXPECT_FOUND("I1", under_lease, e.worker_instance_id.reset());
    EXPECT_FOUND("I1", under_lease, e.lease_expires_at.reset());
    EXPECT_FOUND("I1", paused, e.lease_id = LeaseId{});
    EXPECT_FOUND("I1", completed, e.attempt_deadline_at = 1);
}

TEST(Invariants, I2_a_lost_lease_is_remembered) {
    EXPECT_FOUND("I2", expired, e.lease_id.reset());
    EXPECT_FOUND("I2", revoked, e.lease_expires_at.reset());
    EXPECT_FOUND("I2", expired, e.lease_expired_at.reset());
    EXPECT_FOUND("I2", under_lease, e.lease_revoked_at = 1);
    EXPECT_FOUND("I2", under_lease, e.reclaim_not_before = 1);
}

TEST(Invariants, I3_at_most_one_attempt_runs_and_only_under_a_lease) {
    EXPECT_FOUND("I3", paused, attempts[0].state = AttemptLifecycle::started);
    EXPECT_FOUND("I3", completed, attempts[0].ended_at.reset());
    EXPECT_FOUND("I3", under_lease, e.current_attempt_id.reset());
    EXPECT_FOUND("I3", resumed, attempts[0].state = AttemptLifecycle::ended_failure);
    EXPECT_FOUND("I3", "claim w1 \n fail a transient \n after 1000 \n claim w1",
                 attempts[0].state = AttemptLifecycle::suspended);
}

TEST(Invariants, I4_attempts_are_counted_and_the_pointer_is_the_last) {
    EXPECT_FOUND("I4", under_lease, e.total_attempt_count = 2);
    EXPECT_FOUND("I4", completed, attempts.clear());
    EXPECT_FOUND("I4", completed, attempts.push_back(attempts[0]));
    EXPECT_FOUND("I4", completed, attempts[0].eid += 1);
    EXPECT_FOUND("I4", completed, e.current_attempt_index = 5);
    EXPECT_FOUND("I4", completed, e.current_attempt_index.reset());
    EXPECT_FOUND("I4", completed, attempts[0].attempt_id = AttemptId{});
    EXPECT_FOUND("I4", retrying, attempts[0].attempt_index = 1);
}

TEST(Invariants, I5_the_epoch_is_the_highest_of_any_attempt) {
    EXPECT_FOUND("I5", completed, e.lease_epoch += 1);
    EXPECT_FOUND("I5", resumed, e.lease_epoch = 1);
    EXPECT_FOUND("I5", completed, attempts[0].lease_epoch = 0);
}

TEST(Invariants, I6_waiting_for_the_first_attempt_means_there_was_none) {
    EXPECT_FOUND("I6", paused, e.state.attempt_state = AttemptState::pending_first_attempt);
}

TEST(Invariants, I7_interrupted_means_suspended) {
    EXPECT_FOUND("I7", paused, attempts[0].state = AttemptLifecycle::ended_failure);
    EXPECT_FOUND("I7", paused, e.state.attempt_state = AttemptState::pending_retry_attempt);
}

TEST(Invariants, I8_times_say_what_the_state_says) {
    EXPECT_FOUND("I8", completed, e.completed_at.reset());
    EXPECT_FOUND("I8", under_lease, e.completed_at = 1);
    EXPECT_FOUND("I8", retrying, e.delay_until.reset());
    EXPECT_FOUND("I8", "", e.delay_until = 1);
}

TEST(Invariants, I10_a_result_means_success_or_a_replay_of_one) {
    EXPECT_FOUND("I10", retrying, attempts[0].result = "x");
    EXPECT_FOUND("I10", completed, e.state.outcome = TerminalOutcome::failed);
    EXPECT_FOUND("I10", replayed, e.replay_count = 0);
    EXPECT_FOUND("I10", completed, attempts[0].state = AttemptLifecycle::ended_failure);
}

TEST(Invariants, a_grant_ends_with_the_state_it_was_issued_in) {
    EXPECT_FOUND("grant", under_lease, e.grant_expires_at = 1);
    EXPECT_FOUND("grant", completed, e.grant_expires_at = 1);
}

// -------------------------------------------------------------------------------------- steps

std::vector<std::string> step(const std::string& table,
                              const std::function<void(Execution&)>& change) {
    const Execution before = led_by(table).e;
    Execution after = before;
    change(after);
    return check_step(before, after);
}

using Sentences = std::vector<std::string>;

TEST(Step, that_changes_nothing_is_legal) {
    EXPECT_EQ(step(under_lease, [](Execution&) {}), Sentences{});
}

TEST(Step, identity_is_for_life) {
    const Sentences expected = {"step: identity, route or creation time changed"};
    EXPECT_EQ(step("", [](Execution& e) { e.eid += 1; }), expected);
    EXPECT_EQ(step("", [](Execution& e) { e.id.partition += 1; }), expected);
    EXPECT_EQ(step("", [](Execution& e) { e.route += 1; }), expected);
    EXPECT_EQ(step("", [](Execution& e) { e.created_at += 1; }), expected);
}

TEST(Step, counters_only_grow_and_one_at_a_time) {
    EXPECT_EQ(step(under_lease, [](Execution& e) { e.lease_epoch -= 1; }),
              Sentences{"I5: the epoch fell"});
    EXPECT_EQ(step(under_lease, [](Execution& e) { e.lease_epoch += 2; }),
              Sentences{"I5: more than one lease in one step"});
    EXPECT_EQ(
        step(under_lease, [](Execution& e) { e.total_attempt_count -= 1; }),
        (Sentences{"step: the number of attempts fell", "step: an attempt began without a lease"}));
    EXPECT_EQ(step(under_lease,
                   [](Execution& e) {
                       e.lease_epoch += 1;
                       e.total_attempt_count += 2;
                   }),
              Sentences{"step: more than one attempt in one step"});
    EXPECT_EQ(step(under_lease, [](Execution& e) { e.total_attempt_count += 1; }),
              Sentences{"step: an attempt began without a lease"});
    EXPECT_EQ(step(replayed, [](Execution& e) { e.replay_count -= 1; }),
              Sentences{"step: the number of replays fell"});
}

TEST(Step, I9_terminal_is_left_only_by_replay) {
    const auto revive = [](Execution& e) {
        e.state.phase = LifecyclePhase::runnable;
        e.last_transition_at = e.last_mutation_at;
    };
    EXPECT_EQ(step(completed, revive), Sentences{"I9: terminal was left other than by replay"});
    EXPECT_EQ(step(completed, [&](Execution& e) { revive(e), e.replay_count += 1; }), Sentences{});
    EXPECT_EQ(step(completed, [](Execution& e) { e.state.outcome = TerminalOutcome::failed; }),
              Sentences{"I9: one end became another"});
}

TEST(Step, started_at_is_set_once) {
    EXPECT_EQ(step("", [](Execution& e) { e.started_at = 1; }), Sentences{});
    EXPECT_EQ(step(under_lease, [](Execution& e) { *e.started_at += 1; }),
              Sentences{"step: started_at changed"});
    EXPECT_EQ(step(under_lease, [](Execution& e) { e.started_at.reset(); }),
              Sentences{"step: started_at changed"});
}

TEST(Step, times_of_change_move_forward_and_with_the_state) {
    EXPECT_EQ(step("", [](Execution& e) { e.last_mutation_at -= 1; }),
              Sentences{"step: the times of change went back"});
    EXPECT_EQ(step("",
                   [](Execution& e) {
                       e.state.eligibility = EligibilityState::blocked_by_quota;
                       e.last_mutation_at += 1;
                   }),
              Sentences{"step: the state changed and the time of change was not stamped"});
}

}  // namespace
}  // namespace ff::core
