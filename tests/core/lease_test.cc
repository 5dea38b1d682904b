// Losing and regaining a lease: spec 02 section 6.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;
using Lines = std::vector<std::string>;

/// `a` under a lease of w1 that lasts 1000 ms.
Scenario leased(Settings settings = {}, const std::string& policy = "") {
    Scenario s(settings);
    s.policies["p"] = policy;
    s.play(std::string("create a") + (policy.empty() ? "" : " policy=p") +
           "\n claim w1 ttl=1000 | a fresh initial #0 e1");
    return s;
}

template <class Args>
Args for_worker(const Scenario& s, const std::string& worker) {
    Args args;
    args.execution_id = s.id("a");
    args.worker_id = worker;
    args.worker_instance_id = worker + "-1";
    args.lane_id = "main";
    return args;
}

// ------------------------------------------------------------------------------------- expiry

TEST(LeaseExpiry, marks_the_row_which_stays_active_and_keeps_the_old_owner) {
    Scenario s = leased();
    const Execution before = s.row("a");
    s.play(R"(
        after 999  | | a: active leased
        after 1    | | a: active lease_expired_reclaimable not_applicable waiting_for_worker none
                   | | attempt_interrupted epoch=1 attempts=1 worker=w1 expires=+0
    )");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.lease_expired_at, s.now);
    EXPECT_EQ(e.blocking_detail, "lease expired, awaiting reclaim");
    EXPECT_EQ(e.lease_id, before.lease_id);
    EXPECT_EQ(e.worker_instance_id, before.worker_instance_id);
    EXPECT_EQ(e.last_transition_at, s.now);
    EXPECT_TRUE(s.records.attempts.empty()) << "the attempt has not ended";
    ASSERT_EQ(s.history("a"), (Lines{"acquired", "expired"}));
    const ExecutionEvent& event = s.records.events.back();
    EXPECT_EQ(event.lease_id, before.lease_id);
    EXPECT_EQ(event.lease_epoch, 1U);
    EXPECT_EQ(event.attempt_index, 0U);
    EXPECT_EQ(event.attempt_id, before.current_attempt_id);
    EXPECT_EQ(event.worker_id, "w1");
    EXPECT_EQ(event.worker_instance_id, "w1-1");
}

TEST(MarkLeaseExpired, says_why_it_did_nothing) {
    Scenario s = leased();
    s.ids["ghost"] = {};
    s.play(R"(
        mark_lease_expired ghost | execution_not_found
        pass 999                 |
        mark_lease_expired a     | not_yet_expired | active leased
        pass 1                   |
        mark_lease_expired a     | marked          | lease_expired_reclaimable
        mark_lease_expired a     | already_expired
        claim w2                 | a reclaimed reclaim #1 e2
        revoke_lease a           | revoked e2
        mark_lease_expired a     | already_revoked
        cancel a as=nobody       | cancelled
        mark_lease_expired a     | not_active
        create b                 |
        mark_lease_expired b     | not_active
    )");
    s.play("create c \n claim w1 | b fresh initial #0 e1");
    s.records.executions.at(s.id("b")).state.ownership = OwnershipState::unowned;
    s.play("mark_lease_expired b | unowned");
}

TEST(LeaseExpiry, a_renewed_lease_is_not_marked) {
    Scenario s = leased();
    s.play(R"(
        pass 999             |
        renew a ttl=1000     | +1000 e1
        pass 1               |
        mark_lease_expired a | not_yet_expired
    )");
}

// ------------------------------------------------------------------------------------- revoke

TEST(RevokeLease, takes_the_lease_away_at_once) {
    Scenario s = leased();
    RevokeLease args{.execution_id = s.id("a"), .reason = "bad host"};
    const auto answer = s.run(args);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->revoked);
    EXPECT_EQ(answer->lease_id, s.handle("a").lease_id);
    EXPECT_EQ(answer->lease_epoch, 1U);
    s.play(R"(
        tick     | 0 | a: active lease_revoked not_applicable waiting_for_worker none
                 |   | attempt_interrupted epoch=1 worker=w1 expires=+1000
        renew a  | lease_revoked
    )");
    const Execution& e = s.row("a");
    EXPECT_EQ(e.lease_revoked_at, s.now);
    EXPECT_EQ(e.lease_revoke_reason, "bad host");
    EXPECT_EQ(e.blocking_detail, "lease revoked: bad host");
    ASSERT_EQ(s.history("a"), (Lines{"acquired", "revoked:bad host"}));
    EXPECT_EQ(s.records.events.back().revoked_by, "operator");
    EXPECT_EQ(s.records.events.back().worker_id, "w1");
    ASSERT_EQ(s.records.log_events.size(), 1U);
    EXPECT_EQ(s.records.log_events[0].type, "lease_revoked");
    EXPECT_EQ(s.records.log_events[0].payload, R"({"reason":"bad host"})");
}

TEST(RevokeLease, without_a_lease_to_take_says_that_it_is_already_so) {
    Scenario s = leased();
    s.ids["ghost"] = {};
    s.play(R"(
        revoke_lease ghost         | execution_not_found
        revoke_lease a instance=w2 | different_worker_instance_id | leased
        revoke_lease a             | revoked e1
        revoke_lease a             | already_revoked
        claim w2 ttl=1000          | a reclaimed reclaim #1 e2
        after 1000                 |
        revoke_lease a             | already_expired
        cancel a as=nobody         | cancelled
        revoke_lease a             | no_active_lease
        create b                   |
        revoke_lease b             | no_active_lease
    )");
}

TEST(RevokeLease, a_lease_past_its_time_is_expired_before_anybody_has_marked_it) {
    Scenario s = leased();
    s.play(R"(
        pass 1000                  |
        revoke_lease a instance=w2 | already_expired | a: active lease_expired_reclaimable
                                   |   | not_applicable waiting_for_worker none attempt_interrupted
        revoke_lease a             | already_expired
    )");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "expired"}));
    EXPECT_FALSE(s.row("a").lease_revoked_at);
}

TEST(RevokeLease, checks_the_instance_before_the_lease_id_and_an_empty_instance_is_none) {
    Scenario s = leased();
    RevokeLease args{.execution_id = s.id("a"), .expected_lease_id = LeaseId{}};
    args.worker_instance_id = "w2-1";
    EXPECT_EQ(s.run(args)->reason, "different_worker_instance_id");
    args.worker_instance_id = "w1-1";
    EXPECT_EQ(answer_of(s.run(args)), "stale_lease: the current lease is another one");
    args.worker_instance_id = "";
    EXPECT_EQ(answer_of(s.run(args)), "stale_lease: the current lease is another one");
    args.expected_lease_id = s.handle("a").lease_id;
    EXPECT_TRUE(s.run(args)->revoked);
}

TEST(RevokeLease, an_empty_reason_becomes_operator_revoke) {
    Scenario s = leased();
    ASSERT_TRUE(s.run(RevokeLease{.execution_id = s.id("a"), .reason = ""}));
    EXPECT_EQ(s.row("a").lease_revoke_reason, "operator_revoke");
}

// ------------------------------------------------------------------------ issue_reclaim_grant

TEST(IssueReclaimGrant, is_given_for_an_expired_and_for_a_revoked_lease) {
    Scenario s = leased();
    s.play(R"(
        issue_reclaim_grant a w2 | not_reclaimable | active leased
        after 1000               |
        issue_reclaim_grant a w2 | granted         | active lease_expired_reclaimable
        reclaim_execution a w2   | reclaimed reclaim #1 e2
        revoke_lease a           | revoked e2
        issue_reclaim_grant a w1 | granted         | active lease_revoked
    )");
}

TEST(IssueReclaimGrant, marks_a_lease_found_past_due_first) {
    Scenario s = leased();
    s.play(R"(
        pass 1000                |
        issue_reclaim_grant a w2 | granted | lease_expired_reclaimable
    )");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "expired"}));
}

TEST(IssueReclaimGrant, names_what_it_saw_and_what_it_expected) {
    Scenario s = leased();
    EXPECT_EQ(s.run(for_worker<IssueReclaimGrant>(s, "w2"))->detail,
              "ownership_state is leased, expected lease_expired_reclaimable or lease_revoked");
    s.play("release a");
    EXPECT_EQ(s.run(for_worker<IssueReclaimGrant>(s, "w2"))->detail,
              "lifecycle_phase is runnable, expected active");
    IssueReclaimGrant unknown = for_worker<IssueReclaimGrant>(s, "w2");
    unknown.execution_id.uuid.bytes[0] ^= 1;
    EXPECT_EQ(s.run(unknown).error().code, ErrorCode::execution_not_found);
}

TEST(IssueReclaimGrant, the_grant_is_of_kind_reclaim_for_the_next_attempt) {
    Scenario s = leased();
    s.play("after 1000");
    auto args = for_worker<IssueReclaimGrant>(s, "w2");
    args.grant_ttl_ms = 700;
    const auto answer = s.run(args);
    ASSERT_TRUE(answer && answer->grant);
    EXPECT_EQ(answer->grant->kind, GrantKind::reclaim);
    EXPECT_EQ(answer->grant->attempt_index, 1U);
    EXPECT_EQ(answer->grant->lane_id, "main");
    EXPECT_EQ(answer->grant->expires_at_ms, s.now + 700);
    EXPECT_TRUE(answer->grant->grant_key.starts_with("reclaim:" + s.id("a").to_string() + ":"));
    s.play("issue_reclaim_grant a w3 | grant_already_exists \n claim w3 | nothing");
}

TEST(IssueReclaimGrant, a_capability_miss_is_not_reclaimable_and_stamps_the_time) {
    Scenario s;
    s.policies["gpu"] = R"({"routing_requirements":{"required_capabilities":["gpu"]}})";
    s.play(R"(
        create a policy=gpu            |
        claim w1 can=gpu ttl=1000      | a fresh initial #0 e1
        after 1000                     |
        issue_reclaim_grant a w2       | not_reclaimable | active lease_expired_reclaimable
        # a claim that cannot run it passes it by: it stays active, never blocked_by_route
        claim w2                       | nothing         | a: active lease_expired_reclaimable
        issue_reclaim_grant a w2 can=gpu | granted
    )");
    EXPECT_EQ(s.row("a").last_capability_mismatch_at, s.now);
    s.advance(5000);
    EXPECT_EQ(s.run(for_worker<IssueReclaimGrant>(s, "w2"))->detail, "capability_mismatch: gpu");
}

TEST(IssueReclaimGrant, at_the_cap_ends_the_execution_before_it_looks_at_grants_or_capabilities) {
    Scenario s = leased({}, R"({"max_reclaim_count":0,
        "routing_requirements":{"required_capabilities":[]}})");
    s.play(R"(
        after 1000               |
        issue_reclaim_grant a w2 | reclaim_cap_exceeded | failed terminal attempt_terminal
                                 |                      | reason=max_reclaims_exceeded reclaims=0
    )");
    EXPECT_EQ(s.history("a"),
              (Lines{"acquired", "expired", "released:max_reclaims_exceeded=failed"}));
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::interrupted_reclaimed);
}

// -------------------------------------------------------------------------- reclaim_execution

TEST(ReclaimExecution, ends_the_lost_attempt_and_begins_a_new_one) {
    Scenario s = leased({}, R"({"timeout_policy":{"attempt_timeout_ms":5000}})");
    const Handle old = s.handle("a");
    s.play(R"(
        after 1000               |
        issue_reclaim_grant a w2 | granted
        pass 10                  |
        reclaim_execution a w2 ttl=2000 | reclaimed reclaim #1 e2 | active leased running_attempt
                                 | | epoch=2 attempts=2 reclaims=1 retries=0 worker=w2
                                 | | expires=+2000 started=-1010
        # a full new timeout, not what was left of the old one
                                 | | attempt_deadline=+5000
    )");
    const Execution& e = s.row("a");
    EXPECT_FALSE(e.lease_expired_at);
    EXPECT_FALSE(e.blocking_detail);
    const Attempt lost = s.attempt_row("a", 0);
    EXPECT_EQ(lost.state, AttemptLifecycle::interrupted_reclaimed);
    EXPECT_EQ(lost.ended_at, s.now);
    EXPECT_EQ(lost.failure_reason, "lease_expired_reclaimable");
    EXPECT_EQ(lost.lease_epoch, 1U);
    EXPECT_EQ(lost.worker_id, "w1");
    ASSERT_EQ(s.history("a"),
              (Lines{"acquired", "expired", "reclaimed:lease_expired_reclaimable"}));
    const ExecutionEvent& event = s.records.events.back();
    EXPECT_EQ(event.old_lease_id, old.lease_id);
    EXPECT_EQ(event.lease_id, s.handle("a").lease_id);
    EXPECT_EQ(event.lease_epoch, 2U);
    EXPECT_EQ(event.attempt_index, 1U);
    EXPECT_EQ(event.worker_id, "w2");
    s.play("complete a | completed");
    const Attempt taken_over = s.attempt_row("a", 1);
    EXPECT_EQ(taken_over.type, AttemptType::reclaim);
    EXPECT_EQ(taken_over.reason, "lease_expired_reclaimable");
    EXPECT_EQ(taken_over.previous_attempt_index, 0U);
}

TEST(ReclaimExecution, of_a_revoked_lease_says_that_it_was_revoked) {
    Scenario s = leased();
    s.play(R"(
        revoke_lease a           | revoked e1
        issue_reclaim_grant a w2 | granted
        reclaim_execution a w2   | reclaimed reclaim #1 e2
        complete a               | completed
    )");
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "lease_revoked");
    EXPECT_EQ(s.attempt_row("a", 1).reason, "lease_revoked");
    EXPECT_FALSE(s.row("a").lease_revoked_at);
    EXPECT_FALSE(s.row("a").lease_revoke_reason);
}

TEST(ReclaimExecution, needs_a_live_grant_of_its_own_kind) {
    Scenario s = leased();
    s.ids["ghost"] = {};
    s.play(R"(
        reclaim_execution ghost w2          | grant_not_found
        after 1000                          |
        reclaim_execution a w2              | grant_not_found
        issue_reclaim_grant a w2 ttl=100    | granted
        pass 100                            |
        reclaim_execution a w2              | grant_not_found | lease_expired_reclaimable
        tick                                | 1
        reclaim_execution a w2              | grant_not_found
        issue_reclaim_grant a w2 ttl=100    | granted
        reclaim_execution a w2              | reclaimed reclaim #1 e2
        reclaim_execution a w2              | grant_not_found | active leased epoch=2
        release a                           | waiting
        issue_claim_grant a w2              | resume #1
        reclaim_execution a w2              | grant_not_found | waiting
    )");
}

TEST(ReclaimExecution, a_key_that_is_given_must_be_the_live_grants) {
    Scenario s = leased();
    s.play("after 1000");
    const auto first = s.run(for_worker<IssueReclaimGrant>(s, "w2"));
    s.advance(5'000);
    const auto second = s.run(for_worker<IssueReclaimGrant>(s, "w2"));
    ASSERT_TRUE(first && first->grant && second && second->grant);
    auto args = for_worker<ReclaimExecution>(s, "w2");
    args.grant_key = first->grant->grant_key;
    EXPECT_EQ(s.run(args)->status, ReclaimResult::Status::grant_not_found);
    args.grant_key = second->grant->grant_key;
    EXPECT_EQ(s.run(args)->status, ReclaimResult::Status::claimed);
}

TEST(ReclaimExecution, checks_the_worker_before_the_state) {
    Scenario s = leased();
    s.play("after 1000 \n issue_reclaim_grant a w2 | granted");
    EXPECT_EQ(answer_of(s.run(for_worker<ReclaimExecution>(s, "w3"))),
              "invalid_input: worker_id: the grant belongs to another worker");
    // A row that cannot come about: leased with a live reclaim grant.
    Execution& e = s.records.executions.at(s.id("a"));
    e.state.ownership = OwnershipState::leased;
    EXPECT_EQ(s.run(for_worker<ReclaimExecution>(s, "w3")).error().code, ErrorCode::invalid_input);
    EXPECT_EQ(s.run(for_worker<ReclaimExecution>(s, "w2"))->status,
              ReclaimResult::Status::not_reclaimable);
}

TEST(ReclaimExecution, never_revives_a_finished_execution) {
    Scenario s = leased();
    s.play(R"(
        after 1000               |
        issue_reclaim_grant a w2 | granted
        cancel a as=nobody       | cancelled
        reclaim_execution a w2   | grant_not_found | cancelled
        replay a                 | waiting
        reclaim_execution a w2   | grant_not_found | waiting
    )");
    EXPECT_TRUE(s.records.grants.empty());
}

TEST(ReclaimExecution, uses_the_ids_the_caller_supplies) {
    Scenario s = leased();
    s.play("after 1000 \n issue_reclaim_grant a w2 | granted");
    auto args = for_worker<ReclaimExecution>(s, "w2");
    args.lease_id = LeaseId{new_uuid()};
    args.attempt_id = AttemptId{new_uuid()};
    const auto answer = s.run(args);
    ASSERT_TRUE(answer && answer->task);
    EXPECT_EQ(answer->task->handle.lease_id, args.lease_id);
    EXPECT_EQ(answer->task->handle.attempt_id, args.attempt_id);
    EXPECT_EQ(answer->task->handle.kind, HandleKind::reclaimed);
}

// ---------------------------------------------------------------------------------------- cap

TEST(ReclaimCap, of_k_lets_exactly_k_reclaims_succeed) {
    Scenario s = leased({}, R"({"max_reclaim_count":2})");
    s.play(R"(
        after 1000               |
        issue_reclaim_grant a w2 | granted
        reclaim_execution a w2 ttl=1000 | reclaimed reclaim #1 e2 | reclaims=1
        after 1000               |
        issue_reclaim_grant a w2 | granted
        reclaim_execution a w2 ttl=1000 | reclaimed reclaim #2 e3 | reclaims=2
        after 1000               |
        issue_reclaim_grant a w2 | reclaim_cap_exceeded | failed reclaims=2 attempts=3
    )");
}

TEST(ReclaimCap, is_met_by_a_direct_claim_which_then_looks_on) {
    Scenario s = leased({}, R"({"max_reclaim_count":1})");
    s.play(R"(
        create b          |
        after 1000        |
        claim w2 ttl=1000 | a reclaimed reclaim #1 e2
        after 1000        |
        claim w2          | b fresh initial #0 e1 | a: failed reason=max_reclaims_exceeded
    )");
    EXPECT_EQ(s.history("a").back(), "released:max_reclaims_exceeded=failed");
    EXPECT_EQ(s.records.events[s.records.events.size() - 2].revoked_by, "reconciler");
}

TEST(ReclaimCap, is_met_by_claim_for_worker_which_then_looks_on) {
    Scenario s = leased({}, R"({"max_reclaim_count":0})");
    s.play(R"(
        create b            |
        after 1000          |
        claim_for_worker w2 | b claim #0 | a: failed reason=max_reclaims_exceeded
    )");
}

TEST(ReclaimCap, met_at_the_reclaim_itself_ends_the_execution_and_its_grant) {
    Scenario s = leased();
    s.play(R"(
        after 1000                    |
        issue_reclaim_grant a w2      | granted
        reclaim_execution a w2 cap=0  | reclaim_cap_exceeded | failed reason=max_reclaims_exceeded
    )");
    EXPECT_TRUE(s.records.grants.empty());
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::interrupted_reclaimed);
    EXPECT_EQ(s.attempt_row("a", 0).failure_reason, "lease_expired_reclaimable");
}

TEST(ReclaimCap, of_the_argument_counts_only_without_a_policy) {
    Scenario s = leased({}, R"({"priority":1})");
    s.play(R"(
        after 1000                   |
        issue_reclaim_grant a w2     | granted
        reclaim_execution a w2 cap=0 | reclaimed reclaim #1 e2
    )");
}

TEST(ReclaimCap, defaults_to_100_with_a_policy_and_1000_without) {
    for (const auto& [policy, cap] : std::vector<std::pair<std::string, std::uint32_t>>{
             {"{}", 100},
             {R"({"timeout_policy":{"max_reclaim_count":7}})", 7},
             {R"({"max_reclaim_count":3,"timeout_policy":{"max_reclaim_count":7}})", 3},
             {"", 1000}}) {
        Scenario s = leased({}, policy);
        s.play("after 1000");
        Execution& e = s.records.executions.at(s.id("a"));
        e.lease_reclaim_count = cap - 1;
        s.play("claim w2 ttl=1000 | a reclaimed reclaim #1 e2 \n after 1000");
        s.play("claim w2 | nothing | a: failed reason=max_reclaims_exceeded");
        EXPECT_EQ(s.row("a").lease_reclaim_count, cap) << policy;
    }
}

// -------------------------------------------------------------------------- automatic reclaim

TEST(AutomaticReclaim, hands_a_lost_execution_to_the_next_worker) {
    Scenario s = leased();
    s.play(R"(
        after 1000 |
        claim w2   | a reclaimed reclaim #1 e2 | active leased
    )");
    EXPECT_EQ(s.history("a").back(), "reclaimed:lease_expired_reclaimable");
}

TEST(AutomaticReclaim, keeps_the_place_in_the_queue) {
    Scenario s = leased();
    s.play(R"(
        create b   |
        after 1000 |
        claim w2   | a reclaimed reclaim #1 e2
        claim w2   | b fresh initial #0 e1
    )");
}

TEST(AutomaticReclaim, waits_for_the_grace_when_there_is_one) {
    Settings settings;
    settings.reclaim_grace_ms = 500;
    Scenario s = leased(settings);
    s.play(R"(
        after 1000 |         | a: lease_expired_reclaimable timer=+500
        claim w2   | nothing
        after 499  |
        claim w2   | nothing
        after 1    |
        claim w2   | a reclaimed reclaim #1 e2
        revoke_lease a | revoked e2
        claim w3   | nothing
        # an operator need not wait
        issue_reclaim_grant a w3 | granted
        reclaim_execution a w3   | reclaimed reclaim #2 e3
    )");
    EXPECT_FALSE(s.row("a").reclaim_not_before);
}

TEST(AutomaticReclaim, of_an_attempt_that_had_paused_before_ends_that_attempt) {
    Scenario s = leased();
    s.play(R"(
        release a         | waiting
        claim w2 ttl=1000 | a resumed initial #0 e2
        after 1000        |
        claim w3          | a reclaimed reclaim #1 e3
    )");
    EXPECT_EQ(s.attempt_row("a", 0).state, AttemptLifecycle::interrupted_reclaimed);
    EXPECT_EQ(s.attempt_row("a", 0).lease_epoch, 2U);
}

}  // namespace
}  // namespace ff::core
