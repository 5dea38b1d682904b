// Grants and what they turn into: spec 02 sections 3.2 to 3.6, spec 01 section 5.4.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;

const std::string needs_gpu =
    R"({"routing_requirements":{"required_capabilities":["gpu","cuda","ssd"]}})";

template <class Args>
Args for_worker(const Scenario& s, const std::string& name, const std::string& worker) {
    Args args;
    args.execution_id = s.id(name);
    args.worker_id = worker;
    args.worker_instance_id = worker + "-1";
    args.lane_id = "main";
    return args;
}

// -------------------------------------------------------------------------- issue_claim_grant

TEST(IssueClaimGrant, changes_no_state_and_only_hides_the_row) {
    Scenario s;
    s.play(R"(
        create a                        |
        pass 5                          |
        issue_claim_grant a w1 ttl=1000 | claim #0 | waiting runnable unowned eligible_now
                                        |          | pending_first_attempt epoch=0 timer=+1000
    )");
    EXPECT_EQ(s.row("a").last_transition_at, s.now - 5);
    EXPECT_EQ(s.row("a").last_mutation_at, s.now);
    EXPECT_TRUE(s.records.events.empty());
}

TEST(IssueClaimGrant, the_grant_names_the_execution_the_addressee_and_its_end) {
    Scenario s;
    s.play("create a");
    auto args = for_worker<IssueClaimGrant>(s, "a", "w1");
    args.capabilities = {"b", "a"};
    args.capability_hash = "hash";
    args.route_snapshot_json = "{}";
    args.admission_summary = "fine";
    args.grant_ttl_ms = 250;
    const auto grant = s.run(args);
    ASSERT_TRUE(grant);
    const GrantRow& row = *s.grant(s.id("a"));
    EXPECT_EQ(grant->grant_key, "claim:" + s.id("a").to_string() + ":" + row.grant_id.to_string());
    EXPECT_EQ(grant->expires_at_ms, s.now + 250);
    EXPECT_EQ(grant->lane_id, "main");
    EXPECT_EQ(row.worker_id, "w1");
    EXPECT_EQ(row.worker_instance_id, "w1-1");
    EXPECT_EQ(row.lane, "main");
    EXPECT_EQ(row.worker_capabilities, "a,b");
    EXPECT_EQ(row.capability_hash, "hash");
    EXPECT_EQ(row.route_snapshot_json, "{}");
    EXPECT_EQ(row.admission_summary, "fine");
    EXPECT_EQ(row.issued_at, s.now);
    EXPECT_EQ(row.expires_at, s.now + 250);
}

TEST(IssueClaimGrant, empty_audit_texts_are_stored_as_absent) {
    Scenario s;
    s.play("create a");
    auto args = for_worker<IssueClaimGrant>(s, "a", "w1");
    args.capability_hash = "";
    args.route_snapshot_json = "";
    args.admission_summary = "";
    ASSERT_TRUE(s.run(args));
    EXPECT_FALSE(s.grant(s.id("a"))->capability_hash);
    EXPECT_FALSE(s.grant(s.id("a"))->route_snapshot_json);
    EXPECT_FALSE(s.grant(s.id("a"))->admission_summary);
}

TEST(IssueClaimGrant, its_kind_follows_the_state_of_the_attempt) {
    Scenario s;
    s.play(R"(
        create a               |
        claim w1               | a fresh initial #0 e1
        release a              | waiting
        issue_claim_grant a w1 | resume #0
        create b               |
        issue_claim_grant b w1 | claim #0
    )");
}

// Each call has one fault less than the call before; the first check that fails is the answer.
TEST(IssueClaimGrant, checks_existence_then_eligibility_then_grants_then_lane_then_capabilities) {
    Scenario s;
    s.policies["gpu"] = needs_gpu;
    s.play("create a policy=gpu \n issue_claim_grant a w2 can=cuda,gpu,ssd | claim #0");
    auto args = for_worker<IssueClaimGrant>(s, "a", "w1");
    args.lane_id = "other";
    args.capabilities = {"gpu"};
    args.execution_id.uuid.bytes[0] ^= 1;
    EXPECT_EQ(answer_of(s.run(args)), "not found: execution");
    args.execution_id = s.id("a");
    s.play("block a paused_by_operator | blocked");
    EXPECT_EQ(answer_of(s.run(args)),
              "execution_not_eligible: phase runnable, blocked_by_operator");
    s.play("unblock a | ok");
    EXPECT_EQ(answer_of(s.run(args)),
              "grant_already_exists: until " + std::to_string(s.now + 5000));
    s.now += 5000;
    EXPECT_EQ(answer_of(s.run(args)), "execution_not_in_eligible_set: it belongs to lane main");
    args.lane_id = "main";
    EXPECT_EQ(answer_of(s.run(args)), "capability_mismatch: cuda,ssd");
    args.capabilities = {"ssd", "gpu", "cuda", "more"};
    EXPECT_TRUE(s.run(args));
}

TEST(IssueClaimGrant, a_mismatch_stamps_the_time_and_leaves_the_state) {
    Scenario s;
    s.policies["gpu"] = needs_gpu;
    s.play(R"(
        create a policy=gpu            |
        pass 3                         |
        issue_claim_grant a w1 can=gpu | capability_mismatch | waiting eligible_now timer=none
    )");
    EXPECT_EQ(s.row("a").last_capability_mismatch_at, s.now);
    EXPECT_EQ(s.row("a").last_mutation_at, s.now);
    EXPECT_EQ(s.row("a").last_transition_at, s.now - 3);
    EXPECT_EQ(s.grant(s.id("a")), nullptr);
}

TEST(IssueClaimGrant, refuses_every_state_but_eligible_now) {
    Scenario s;
    s.play(R"(
        create a delay=10        |
        issue_claim_grant a w1   | execution_not_eligible
        create b                 |
        claim w1                 | b fresh initial #0 e1
        issue_claim_grant b w1   | execution_not_eligible
        revoke_lease b           | revoked e1
        issue_claim_grant b w1   | execution_not_eligible
        cancel b                 | cancelled
        issue_claim_grant b w1   | execution_not_eligible
    )");
}

// ---------------------------------------------------------------------------- claim_execution

TEST(ClaimExecution, turns_the_grant_into_a_lease_and_consumes_it) {
    Scenario s;
    s.play(R"(
        create a                   |
        issue_claim_grant a w1     | claim #0
        claim_execution a w1       | fresh initial #0 e1 | active leased worker=w1 expires=+30000
        claim_execution a w1       | execution_not_leaseable
        release a                  | waiting
        claim_resumed_execution a w1 | invalid_claim_grant
    )");
    EXPECT_EQ(s.grant(s.id("a")), nullptr);
    EXPECT_FALSE(s.row("a").grant_expires_at);
}

TEST(ClaimExecution, of_an_unknown_execution_is_not_found) {
    Scenario s;
    s.ids["ghost"] = {};
    s.play(R"(
        claim_execution ghost w1         | execution_not_found
        claim_resumed_execution ghost w1 | execution_not_found
        issue_claim_grant ghost w1       | execution_not_found
        issue_grant_and_claim ghost      | execution_not_found
    )");
}

TEST(ClaimExecution, needs_an_execution_that_is_runnable_and_eligible) {
    Scenario s;
    s.play(R"(
        create a                   |
        issue_claim_grant a w1     | claim #0
        block a waiting_for_budget | blocked
        claim_execution a w1       | execution_not_leaseable
        unblock a                  | ok
        claim_execution a w1       | fresh initial #0 e1
        create b delay=10          |
        claim_execution b w1       | execution_not_leaseable
        cancel b                   | cancelled
        claim_execution b w1       | execution_not_leaseable
    )");
}

TEST(ClaimExecution, of_an_interrupted_attempt_points_to_the_resume_claim_and_keeps_the_grant) {
    Scenario s;
    s.play(R"(
        create a                     |
        claim w1                     | a fresh initial #0 e1
        release a                    | waiting
        issue_claim_grant a w2       | resume #0
        claim_execution a w2         | use_claim_resumed_execution
        claim_resumed_execution a w2 | resumed initial #0 e2 | active attempts=1
    )");
}

TEST(ClaimExecution, needs_a_grant_of_this_worker_that_has_not_expired) {
    Scenario s;
    s.play(R"(
        create a                       |
        claim_execution a w1           | invalid_claim_grant
        issue_claim_grant a w1 ttl=100 | claim #0
        claim_execution a w2           | invalid_claim_grant
        pass 100                       |
        # expiry at the very millisecond; a stranger still hears that the grant is not his
        claim_execution a w2           | invalid_claim_grant
        claim_execution a w1           | claim_grant_expired | waiting
        # known for a while after the timer has freed the row
        tick                           | 1
        claim_execution a w1           | claim_grant_expired | waiting eligible_now
        issue_claim_grant a w1 ttl=100 | claim #0
        pass 99                        |
        claim_execution a w1           | fresh initial #0 e1
    )");
}

TEST(ClaimExecution, a_key_that_is_given_must_be_the_live_grants) {
    Scenario s;
    s.play("create a");
    const auto first = s.run(for_worker<IssueClaimGrant>(s, "a", "w1"));
    s.advance(5000);
    const auto second = s.run(for_worker<IssueClaimGrant>(s, "a", "w1"));
    ASSERT_TRUE(first && second);
    auto args = for_worker<ClaimExecution>(s, "a", "w1");
    args.grant_key = first->grant_key;
    EXPECT_EQ(answer_of(s.run(args)),
              "invalid_claim_grant: no grant of this execution for worker w1");
    args.grant_key = second->grant_key;
    EXPECT_TRUE(s.run(args));
}

TEST(ClaimExecution, uses_the_ids_the_caller_supplies) {
    Scenario s;
    s.play("create a \n issue_claim_grant a w1");
    auto args = for_worker<ClaimExecution>(s, "a", "w1");
    args.lease_id = LeaseId{new_uuid()};
    args.attempt_id = AttemptId{new_uuid()};
    const auto task = s.run(args);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->handle.lease_id, args.lease_id);
    EXPECT_EQ(task->handle.attempt_id, args.attempt_id);
    EXPECT_EQ(s.row("a").lease_id, args.lease_id);
}

TEST(ClaimExecution, repeated_with_its_own_lease_id_gives_the_same_task_and_writes_nothing) {
    Scenario s;
    s.play("create a \n issue_claim_grant a w1");
    auto args = for_worker<ClaimExecution>(s, "a", "w1");
    args.lease_id = LeaseId{new_uuid()};
    const auto first = s.run(args);
    const Records before = s.records;
    s.now += 29'999;
    const auto again = s.run(args);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(first->handle, again->handle);
    EXPECT_TRUE(s.records == before);

    auto stranger = args;
    stranger.worker_instance_id = "w1-2";
    EXPECT_EQ(s.run(stranger).error().code, ErrorCode::execution_not_leaseable);
    auto without = args;
    without.lease_id.reset();
    EXPECT_EQ(s.run(without).error().code, ErrorCode::execution_not_leaseable);
}

TEST(ClaimExecution, repeated_after_its_lease_ran_out_is_refused_marked_or_not) {
    Scenario s;
    s.play("create a \n issue_claim_grant a w1");
    auto args = for_worker<ClaimExecution>(s, "a", "w1");
    args.lease_id = LeaseId{new_uuid()};
    ASSERT_TRUE(s.run(args));
    s.now += 30'000;
    EXPECT_EQ(answer_of(s.run(args)), "execution_not_leaseable: phase active, not_applicable");
    s.play("mark_lease_expired a | marked");
    EXPECT_EQ(answer_of(s.run(args)), "execution_not_leaseable: phase active, not_applicable");
}

// Rows that cannot come about, but are refused by name should one ever be found.
TEST(ClaimExecution, refuses_rows_whose_dimensions_contradict_each_other) {
    Scenario s;
    s.play("create a \n issue_claim_grant a w1");
    Execution& e = s.records.executions.at(s.id("a"));
    const StateVector sound = e.state;
    e.state.ownership = OwnershipState::leased;
    s.play("claim_execution a w1 | lease_conflict \n issue_grant_and_claim a | lease_conflict");
    e.state = sound;
    e.state.attempt_state = AttemptState::running_attempt;
    s.play("claim_execution a w1 | active_attempt_exists");
    e.state = sound;
    e.state.outcome = TerminalOutcome::failed;
    s.play("claim_execution a w1 | execution_not_leaseable");
}

// -------------------------------------------------------------------- claim_resumed_execution

TEST(ClaimResumedExecution, checks_eligibility_then_interruption_then_the_grant) {
    Scenario s;
    s.play(R"(
        create a                     |
        claim_resumed_execution a w1 | not_a_resumed_execution
        claim w1                     | a fresh initial #0 e1
        claim_resumed_execution a w1 | execution_not_leaseable
        delay a 100                  | delayed
        # a delayed execution cannot be resumed early
        claim_resumed_execution a w1 | execution_not_leaseable
        after 100                    |
        claim_resumed_execution a w1 | invalid_claim_grant
        issue_claim_grant a w1       | resume #0
        claim_resumed_execution a w2 | invalid_claim_grant
        claim_resumed_execution a w1 | resumed initial #0 e2 | active leased attempts=1 epoch=2
    )");
    EXPECT_EQ(s.history("a").back(), "acquired:claim_resumed");
}

TEST(ClaimResumedExecution, a_grant_that_expired_says_so) {
    Scenario s;
    s.play(R"(
        create a                       |
        claim w1                       | a fresh initial #0 e1
        release a                      | waiting
        issue_claim_grant a w1 ttl=100 | resume #0
        pass 100                       |
        claim_resumed_execution a w1   | claim_grant_expired | waiting
    )");
}

TEST(ClaimResumedExecution, repeated_with_its_own_lease_id_gives_the_same_task) {
    Scenario s;
    s.play(R"(
        create a               |
        claim w1               | a fresh initial #0 e1
        release a              | waiting
        issue_claim_grant a w1 | resume #0
    )");
    auto args = for_worker<ClaimResumedExecution>(s, "a", "w1");
    args.lease_id = LeaseId{new_uuid()};
    const auto first = s.run(args);
    const auto again = s.run(args);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(first->handle, again->handle);
    EXPECT_EQ(first->handle.kind, HandleKind::resumed);
    s.now += 30'000;
    EXPECT_EQ(s.run(args).error().code, ErrorCode::execution_not_leaseable);
}

// ---------------------------------------------------------------------- issue_grant_and_claim

TEST(IssueGrantAndClaim, takes_a_named_execution_for_the_operator_whatever_it_requires) {
    Scenario s;
    s.policies["gpu"] = needs_gpu;
    s.play(R"(
        create a policy=gpu     |
        issue_grant_and_claim a | #0 e1 | active leased worker=operator attempts=1
        release a               | waiting
        issue_grant_and_claim a | #0 e2 | active leased attempts=1
    )");
    EXPECT_EQ(s.row("a").worker_instance_id, "operator");
    EXPECT_EQ(s.history("a"),
              (std::vector<std::string>{"acquired:issue_grant_and_claim", "released:worker_release",
                                        "acquired:issue_grant_and_claim_resumed"}));
    EXPECT_TRUE(s.records.grants.empty());
}

TEST(IssueGrantAndClaim, checks_phase_then_grants_then_eligibility_and_leaves_no_grant) {
    Scenario s;
    s.play(R"(
        create a                          |
        claim w1                          | a fresh initial #0 e1
        issue_grant_and_claim a           | execution_not_eligible
        release a                         | waiting
        issue_claim_grant a w1            | resume #0
        block a paused_by_operator        | blocked
        issue_grant_and_claim a           | grant_already_exists
        after 5000                        |
        issue_grant_and_claim a           | execution_not_eligible
        unblock a                         | ok
        issue_grant_and_claim a           | #0 e2
        cancel a                          | cancelled
        issue_grant_and_claim a           | execution_not_eligible
    )");
}

// ---------------------------------------------------------------------------- claim_for_worker

TEST(ClaimForWorker, gives_each_kind_of_grant_and_each_is_consumed_by_its_own_call) {
    Scenario s;
    s.play(R"(
        create a                     |
        claim_for_worker w1          | a claim #0   | waiting
        claim_execution a w1         | fresh initial #0 e1
        release a                    | waiting
        claim_for_worker w1          | a resume #0  | waiting
        claim_resumed_execution a w1 | resumed initial #0 e2
        revoke_lease a               | revoked e2
        claim_for_worker w1          | a reclaim #1 | active lease_revoked
        claim_for_worker w1          | nothing
        claim_execution a w1         | execution_not_leaseable
        claim_resumed_execution a w1 | execution_not_leaseable
        reclaim_execution a w1       | reclaimed reclaim #1 e3
    )");
}

TEST(ClaimForWorker, follows_the_order_and_the_filters_of_a_claim) {
    Scenario s;
    s.policies["gpu"] = needs_gpu;
    s.play(R"(
        create a                           |
        create b priority=1 ns=other       |
        create c priority=9 policy=gpu     |
        claim_for_worker w1 lane=elsewhere | nothing
        claim_for_worker w1 ns=tenant      | a claim #0
        claim_for_worker w1                | b claim #0
        claim_for_worker w1                | nothing
        claim_for_worker w1 can=cuda,gpu,ssd | c claim #0
    )");
}

TEST(ClaimForWorker, a_row_blocked_by_route_becomes_eligible_with_its_grant) {
    Scenario s;
    s.play(R"(
        create a                           |
        block a waiting_for_capable_worker | blocked
        claim_for_worker w1                | a claim #0 | waiting eligible_now waiting_for_worker
        claim_execution a w1               | fresh initial #0 e1
    )");
}

TEST(Grant, that_dies_unused_leaves_the_execution_to_the_next_scan) {
    Scenario s;
    s.play(R"(
        create a                    |
        claim_for_worker w1 ttl=100 | a claim #0
        after 100                   |            | a: waiting eligible_now
        claim_for_worker w2         | a claim #0
        claim_execution a w1        | invalid_claim_grant
        claim_execution a w2        | fresh initial #0 e1
    )");
}

TEST(Grant, of_a_reclaim_is_no_claim_grant_even_when_the_execution_is_runnable_again) {
    Scenario s;
    s.policies["p"] = R"({"timeout_policy":{"attempt_timeout_ms":1000},
        "retry_policy":{"backoff":{"type":"fixed","delay_ms":0}}})";
    s.play(R"(
        create a policy=p                |
        claim w1 ttl=500                 | a fresh initial #0 e1
        after 500                        |
        issue_reclaim_grant a w2 ttl=100 | granted
        after 500                        |                     | a: waiting pending_retry_attempt
        claim_execution a w2             | invalid_claim_grant | waiting
    )");
}

TEST(Grant, is_deleted_when_the_execution_ends) {
    Scenario s;
    s.play(R"(
        create a               |
        issue_claim_grant a w1 | claim #0
        cancel a               | cancelled
    )");
    EXPECT_TRUE(s.records.grants.empty());
    s.play(R"(
        replay a               | waiting
        claim_execution a w1   | invalid_claim_grant
    )");
}

}  // namespace
}  // namespace ff::core
