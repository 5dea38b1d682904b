// Grants: given by a scheduler, by name, to an operator; used, expired, abused (02 3.2-3.6).
#include "engine/conformance.h"

namespace ff::engine::test {

class GrantConformance : public Conformance {
  protected:
    static IssueClaimGrant issue(const ExecutionId& id, const std::string& worker = "w1") {
        IssueClaimGrant op;
        op.execution_id = id;
        op.lane_id = "default";
        op.worker_id = worker;
        op.worker_instance_id = instance_of(worker);
        return op;
    }
    static ClaimExecution use(const ExecutionId& id, const std::string& worker = "w1") {
        ClaimExecution op;
        op.execution_id = id;
        op.worker_id = worker;
        op.worker_instance_id = instance_of(worker);
        op.lane_id = "default";
        return op;
    }
    static ClaimResumedExecution use_resume(const ExecutionId& id,
                                            const std::string& worker = "w1") {
        ClaimResumedExecution op;
        op.execution_id = id;
        op.worker_id = worker;
        op.worker_instance_id = instance_of(worker);
        op.lane_id = "default";
        return op;
    }
    const ExecutionId missing_{0, new_uuid()};
};
FF_ON_EVERY_ENGINE(GrantConformance);

TEST_P(GrantConformance, AGrantNamesTheExecutionAndHidesIt) {
    const ExecutionId id = create();
    const Grant granted = grant();
    EXPECT_EQ(granted.execution_id, id);
    EXPECT_EQ(granted.kind, GrantKind::claim);
    EXPECT_EQ(granted.lane_id, "default");
    EXPECT_EQ(granted.attempt_index, 0U);
    EXPECT_TRUE(granted.grant_key.starts_with("claim:" + id.to_string() + ":"));
    EXPECT_EQ(granted.partition_key(), "{fp:" + std::to_string(id.partition) + "}");
    if (has_clock()) {
        EXPECT_EQ(granted.expires_at_ms, now() + 5'000);
    }
    EXPECT_EQ(state(id),
              "runnable unowned eligible_now waiting_for_worker none pending_first_attempt")
        << "a grant does not change the vector";
    EXPECT_FALSE(ok(grant_for("w2")).grant);
    EXPECT_FALSE(has_work());
}

TEST_P(GrantConformance, GrantsFollowTheClaimOrderAndPassOverGrantedOnes) {
    const ExecutionId low = create(job_with_priority(1));
    const ExecutionId high = create(job_with_priority(2));
    EXPECT_EQ(grant("w1").execution_id, high);
    EXPECT_EQ(grant("w2").execution_id, low);
    EXPECT_FALSE(ok(grant_for("w3")).grant);
}

TEST_P(GrantConformance, GrantsRespectCapabilitiesAndNamespaces) {
    create(job_requiring({"gpu"}));
    EXPECT_FALSE(ok(grant_for("w1")).grant);
    const auto able = [](const std::string& ns) {
        return with(grant_for("w1"), [&](auto& op) {
            op.capabilities = {"gpu"};
            op.ns = ns;
        });
    };
    EXPECT_FALSE(ok(able("other")).grant);
    EXPECT_TRUE(ok(able("acme")).grant);
}

TEST_P(GrantConformance, AGrantBecomesALeaseOnce) {
    const ExecutionId id = create();
    const Grant granted = grant();
    const ClaimedTask task = ok(with(use(id), [&](auto& op) {
        op.grant_key = granted.grant_key;
        op.lease_ttl_ms = 20'000;
        op.attempt_id = AttemptId{new_uuid()};
    }));
    EXPECT_EQ(task.execution_id(), id);
    EXPECT_EQ(task.handle.kind, HandleKind::fresh);
    EXPECT_EQ(task.handle.lease_epoch, 1U);
    EXPECT_EQ(task.handle.lease_ttl_ms, 20'000);
    EXPECT_EQ(task.input_payload, "input");
    EXPECT_EQ(state(id), "active leased not_applicable none none running_attempt");
    EXPECT_EQ(refused(use(id)), "execution_not_leaseable");
    ok(Release{task.handle});
    EXPECT_EQ(refused(use_resume(id)), "invalid_claim_grant") << "the grant was used up";
}

TEST_P(GrantConformance, ASecondUseIsNeverASecondLease) {
    const ExecutionId id = create();
    grant();
    std::vector<Request> requests{use(id), use(id), use(id, "w2")};
    const auto responses = engine().run_many(std::move(requests));
    EXPECT_EQ(code_of(responses[0]), "ok");
    EXPECT_EQ(code_of(responses[1]), "execution_not_leaseable");
    EXPECT_EQ(code_of(responses[2]), "execution_not_leaseable");
    EXPECT_EQ(snapshot(id).lease_epoch, 1U);
}

TEST_P(GrantConformance, AForeignUnknownOrMissingGrantIsInvalid) {
    const ExecutionId id = create();
    EXPECT_EQ(refused(use(missing_)), "execution_not_found");
    EXPECT_EQ(refused(use(id)), "invalid_claim_grant") << "there is none";
    const Grant granted = grant("w1");
    EXPECT_EQ(refused(use(id, "w2")), "invalid_claim_grant") << "of another worker";
    EXPECT_EQ(refused(with(use(id), [](auto& op) { op.grant_key = "claim:x:y"; })),
              "invalid_claim_grant");
    // The instance is informational: another one of the same worker may use it.
    EXPECT_EQ(refused(with(use(id), [](auto& op) { op.worker_instance_id = "w1-b"; })), "ok");
    EXPECT_EQ(snapshot(id).current_lease->worker_instance_id, "w1-b");
}

TEST_P(GrantConformance, AnExpiredGrantIsKnownAsExpiredAndTheRowIsFree) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create();
    grant("w1");
    after(4'999);
    EXPECT_FALSE(has_work());
    after(1);
    EXPECT_EQ(refused(use(id)), "claim_grant_expired");
    EXPECT_EQ(refused(use(id, "w2")), "invalid_claim_grant");
    after(55'000);
    EXPECT_EQ(refused(use(id)), "claim_grant_expired") << "known for a minute";
    EXPECT_TRUE(ok(grant_for("w2")).grant) << "found again by the next scan";
    EXPECT_EQ(refused(use(id)), "invalid_claim_grant") << "the newer grant is another's";
    EXPECT_EQ(refused(use(id, "w2")), "ok");
}

TEST_P(GrantConformance, AnExpiredGrantIsForgottenInTheEnd) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create();
    grant("w1");
    after(70'000);
    ok(RunScanner{"grant_sweep"});
    EXPECT_EQ(refused(use(id)), "invalid_claim_grant");
}

TEST_P(GrantConformance, ARepeatedCallWithItsOwnLeaseIdGetsTheSameLease) {
    const ExecutionId id = create();
    grant();
    const auto op = with(use(id), [](auto& args) { args.lease_id = LeaseId{new_uuid()}; });
    const ClaimedTask first = ok(op);
    EXPECT_EQ(first.handle.lease_id, *op.lease_id);
    const ClaimedTask again = ok(op);
    EXPECT_EQ(again.handle, first.handle);
    EXPECT_EQ(again.lease_expires_at, first.lease_expires_at);
    EXPECT_EQ(snapshot(id).lease_epoch, 1U);
    EXPECT_EQ(refused(with(op, [](auto& args) { args.worker_instance_id = "w1-b"; })),
              "execution_not_leaseable");
}

TEST_P(GrantConformance, AnInterruptedAttemptNeedsTheOtherCall) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    ok(Release{task.handle});
    const Grant granted = grant("w2");
    EXPECT_EQ(granted.kind, GrantKind::resume);
    EXPECT_EQ(granted.attempt_index, 0U);
    EXPECT_EQ(refused(use(id, "w2")), "use_claim_resumed_execution");
    const ClaimedTask resumed = ok(use_resume(id, "w2"));
    EXPECT_EQ(resumed.handle.kind, HandleKind::resumed);
    EXPECT_EQ(resumed.handle.lease_epoch, 2U);
    EXPECT_EQ(resumed.handle.attempt_index, 0U);
    EXPECT_EQ(resumed.handle.attempt_id, task.handle.attempt_id);
    EXPECT_EQ(snapshot(id).total_attempt_count, 1U);
    EXPECT_EQ(refused(use_resume(id, "w2")), "execution_not_leaseable");
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].state, AttemptLifecycle::started);
    EXPECT_EQ(rows[0].worker_instance_id, "w2-a");
    EXPECT_EQ(rows[0].lease_epoch, 2U);
    EXPECT_FALSE(rows[0].suspended_at);
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "released:worker_release",
                                                     "acquired:claim_resumed"}));
}

TEST_P(GrantConformance, AFreshAttemptIsNotResumed) {
    const ExecutionId id = create();
    grant();
    EXPECT_EQ(refused(use_resume(missing_)), "execution_not_found");
    EXPECT_EQ(refused(use_resume(id)), "not_a_resumed_execution");
    EXPECT_EQ(refused(use(id)), "ok");
}

TEST_P(GrantConformance, ADelayedExecutionCannotBeResumedEarly) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    ok(Delay{task.handle, now() + 1'000, Source::lease_holder});
    EXPECT_EQ(refused(use_resume(task.execution_id())), "execution_not_leaseable");
    EXPECT_EQ(refused(issue(task.execution_id())), "execution_not_eligible");
    after(1'000);
    ok(issue(task.execution_id()));
    EXPECT_EQ(ok(use_resume(task.execution_id())).handle.attempt_index, 0U);
}

TEST_P(GrantConformance, AGrantByNameChecksInOrder) {
    EXPECT_EQ(refused(issue(missing_)), "execution_not_found");
    const ClaimedTask task = start();
    EXPECT_EQ(refused(issue(task.execution_id())), "execution_not_eligible");
    const ExecutionId id = create(job_requiring({"cuda", "gpu"}));
    EXPECT_EQ(refused(with(issue(id), [](auto& op) { op.lane_id = "other"; })),
              "execution_not_in_eligible_set");
    const Error mismatch = error(with(issue(id), [](auto& op) { op.capabilities = {"gpu"}; }));
    EXPECT_EQ(mismatch.code, ErrorCode::capability_mismatch);
    EXPECT_EQ(mismatch.detail, "cuda");
    EXPECT_EQ(snapshot(id).info.state.eligibility, EligibilityState::eligible_now);
    const auto able = with(issue(id), [](auto& op) {
        op.capabilities = {"gpu", "cuda"};
        op.capability_hash = "hash";
        op.route_snapshot_json = "{}";
        op.admission_summary = "all clear";
    });
    EXPECT_EQ(ok(able).execution_id, id);
    EXPECT_EQ(refused(able), "grant_already_exists");
    EXPECT_EQ(refused(with(able, [](auto& op) { op.worker_id = "w2"; })), "grant_already_exists");
}

TEST_P(GrantConformance, GrantInputIsChecked) {
    for (const DurationMs ttl : {DurationMs{0}, DurationMs{60'001}, DurationMs{-1}}) {
        EXPECT_EQ(refused(with(grant_for("w1"), [&](auto& op) { op.grant_ttl_ms = ttl; })),
                  "invalid_input");
        EXPECT_EQ(refused(with(issue(missing_), [&](auto& op) { op.grant_ttl_ms = ttl; })),
                  "invalid_input");
    }
    EXPECT_EQ(refused(with(grant_for("w1"), [](auto& op) { op.worker_id = "a b"; })),
              "invalid_input");
    EXPECT_EQ(refused(with(grant_for("w1"), [](auto& op) { op.lane_id = ""; })), "invalid_input");
    EXPECT_EQ(refused(with(grant_for("w1"), [](auto& op) { op.capabilities = {"a,b"}; })),
              "invalid_capabilities");
    EXPECT_EQ(refused(with(use(missing_), [](auto& op) { op.lease_ttl_ms = 50; })),
              "invalid_input");
}

TEST_P(GrantConformance, AGrantDiesWithItsExecution) {
    const ExecutionId id = create();
    grant();
    ok(CancelExecution{LeaseRef(id), "x", "operator_override"});
    EXPECT_EQ(refused(use(id)), "execution_not_leaseable");
    ok(ReplayExecution{id});
    EXPECT_EQ(refused(use(id)), "invalid_claim_grant");
    EXPECT_TRUE(has_work());
}

TEST_P(GrantConformance, ABlockedByRouteRowIsGrantedToAWorkerThatCanRunIt) {
    const ExecutionId id = create(job_requiring({"gpu"}));
    ok(BlockExecution{id, "waiting_for_capable_worker", "nobody has it"});
    EXPECT_FALSE(ok(grant_for("w1")).grant);
    const Grant granted =
        *ok(with(grant_for("w1"), [](auto& op) { op.capabilities = {"gpu"}; })).grant;
    EXPECT_EQ(granted.execution_id, id);
    EXPECT_EQ(refused(use(id)), "ok");
}

TEST_P(GrantConformance, AnOperatorTakesANamedExecution) {
    const ExecutionId id = create(job_requiring({"gpu"}));
    const OperatorLease lease = ok(IssueGrantAndClaim{id, "default", 15'000});
    EXPECT_EQ(lease.lease_epoch, 1U);
    EXPECT_EQ(lease.attempt_index, 0U);
    EXPECT_EQ(lease.handle.lease_id, lease.lease_id);
    const ExecutionSnapshot s = snapshot(id);
    ASSERT_TRUE(s.current_lease);
    EXPECT_EQ(s.current_lease->worker_id, "operator");
    EXPECT_EQ(s.current_lease->worker_instance_id, "operator");
    ok(Release{lease.handle});
    const OperatorLease resumed = ok(IssueGrantAndClaim{id, "default", 15'000});
    EXPECT_EQ(resumed.lease_epoch, 2U);
    EXPECT_EQ(resumed.attempt_index, 0U);
    EXPECT_EQ(history(id),
              (std::vector<std::string>{"acquired:issue_grant_and_claim", "released:worker_release",
                                        "acquired:issue_grant_and_claim_resumed"}));
    EXPECT_EQ(refused(Complete{resumed.handle, "r", {}, Source::lease_holder}), "ok");
}

TEST_P(GrantConformance, AnOperatorIsRefusedInOrder) {
    EXPECT_EQ(refused(IssueGrantAndClaim{missing_, "default", 1'000}), "execution_not_found");
    const ClaimedTask task = start();
    EXPECT_EQ(refused(IssueGrantAndClaim{task.execution_id(), "default", 1'000}),
              "execution_not_eligible");
    const ExecutionId id = create();
    ok(issue(id));
    EXPECT_EQ(refused(IssueGrantAndClaim{id, "default", 1'000}), "grant_already_exists");
    const ExecutionId blocked = create(job("b"));
    ok(BlockExecution{blocked, "paused_by_operator", {}});
    EXPECT_EQ(refused(IssueGrantAndClaim{blocked, "b", 1'000}), "execution_not_eligible");
    EXPECT_EQ(refused(IssueGrantAndClaim{id, "default", 99}), "invalid_input");
    // A failed taking leaves no grant behind.
    ok(UnblockExecution{blocked, {}});
    EXPECT_TRUE(has_work("w1", "b"));
}

TEST_P(GrantConformance, AClosedLaneIssuesNoGrants) {
    const ExecutionId id = create();
    const ClaimedTask lost = start(job("lost"));
    ok(RevokeLease{lost.execution_id(), {}, {}, "x"});
    IssueReclaimGrant reclaim;
    reclaim.execution_id = lost.execution_id();
    reclaim.worker_id = "w2";
    reclaim.worker_instance_id = instance_of("w2");
    reclaim.lane_id = "lost";
    for (const LaneState closed : {LaneState::paused, LaneState::disabled}) {
        ok(SetLaneState{"default", closed});
        ok(SetLaneState{"lost", closed});
        EXPECT_EQ(refused(issue(id)), "execution_not_eligible");
        const IssueReclaimGrantResult asked = ok(reclaim);
        EXPECT_EQ(asked.status, IssueReclaimGrantResult::Status::not_reclaimable);
        EXPECT_NE(asked.detail.find(to_string(closed)), std::string::npos) << asked.detail;
    }
    ok(SetLaneState{"default", LaneState::draining});
    ok(SetLaneState{"lost", LaneState::draining});
    EXPECT_EQ(refused(issue(id)), "ok") << "it serves what it has";
    EXPECT_EQ(ok(reclaim).status, IssueReclaimGrantResult::Status::granted);
}

TEST_P(GrantConformance, AResumeIsClaimedOnItsOwnLane) {
    const ClaimedTask task = start();
    ok(Release{task.handle});
    ok(issue(task.execution_id()));
    EXPECT_EQ(refused(with(use_resume(task.execution_id()), [](auto& op) { op.lane_id = "b"; })),
              "invalid_claim_grant");
    EXPECT_EQ(refused(use_resume(task.execution_id())), "ok") << "the grant was not used";
}

}  // namespace ff::engine::test
