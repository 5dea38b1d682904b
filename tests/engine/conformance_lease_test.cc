// Losing a lease and getting it back; deadlines and timeouts (spec 02 sections 5.10 and 6).
#include "engine/conformance.h"

namespace ff::engine::test {

class LeaseConformance : public Conformance {
  protected:
    static IssueReclaimGrant ask(const ExecutionId& id, const std::string& worker = "w2") {
        IssueReclaimGrant op;
        op.execution_id = id;
        op.worker_id = worker;
        op.worker_instance_id = instance_of(worker);
        op.lane_id = "default";
        return op;
    }
    static ReclaimExecution reclaim(const ExecutionId& id, const std::string& worker = "w2") {
        ReclaimExecution op;
        op.execution_id = id;
        op.worker_id = worker;
        op.worker_instance_id = instance_of(worker);
        op.lane_id = "default";
        return op;
    }
    using Asked = IssueReclaimGrantResult::Status;
    using Reclaimed = ReclaimResult::Status;
    static constexpr Source holder = Source::lease_holder;
    static constexpr const char* lost =
        "active lease_expired_reclaimable not_applicable waiting_for_worker none "
        "attempt_interrupted";
    const ExecutionId missing_{0, new_uuid()};
};
FF_ON_EVERY_ENGINE(LeaseConformance);

// --------------------------------------------------------------------------------------- expiry

TEST_P(LeaseConformance, ALeaseExpiresAtItsVeryMillisecond) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    after(29'999);
    EXPECT_EQ(snapshot(id).info.state.ownership, OwnershipState::leased);
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{id}).outcome, "not_yet_expired");
    after(1);
    EXPECT_EQ(state(id), lost);
    EXPECT_EQ(public_of(id), PublicState::active) << "it is not waiting: an attempt is open";
    EXPECT_EQ(snapshot(id).info.blocking_detail, "lease expired, awaiting reclaim");
    EXPECT_FALSE(snapshot(id).current_lease);
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::started);
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "expired"}));
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{id}).outcome, "already_expired");
    for (const std::string& code :
         {refused(Renew{task.handle, 1'000}), refused(Progress{task.handle, 1, {}}),
          refused(Complete{task.handle, {}, {}, holder}),
          refused(Fail{task.handle, "r", "c", holder}), refused(Release{task.handle}),
          refused(Delay{task.handle, 1, holder}),
          refused(CancelExecution{task.handle, "r", "lease_holder"})}) {
        EXPECT_EQ(code, "lease_expired");
    }
}

TEST_P(LeaseConformance, MarkingSaysWhyItDidNot) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{missing_}).outcome, "execution_not_found");
    const ExecutionId id = create();
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{id}).outcome, "not_active");
    const ClaimedTask task = claim();
    clock().advance(30'000);
    EXPECT_EQ(snapshot(id).info.state.ownership, OwnershipState::leased);
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{id}).outcome, "marked");
    EXPECT_EQ(state(id), lost);
    const ClaimedTask other = start(job("other"));
    ok(RevokeLease{other.execution_id(), {}, {}, "r"});
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{other.execution_id()}).outcome, "already_revoked");
}

TEST_P(LeaseConformance, ARenewedLeaseOutlivesItsFirstTimer) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    for (int i = 0; i < 10; ++i) {
        after(20'000);
        EXPECT_EQ(refused(Renew{task.handle, 30'000}), "ok");
    }
    after(29'999);
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership, OwnershipState::leased);
    after(1);
    EXPECT_EQ(state(task.execution_id()), lost);
}

// ------------------------------------------------------------------------------------ takeover

TEST_P(LeaseConformance, TheNextClaimTakesALostLeaseOver) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    after(30'000);
    const ClaimedTask taken = claim("w2");
    EXPECT_EQ(taken.execution_id(), id);
    EXPECT_EQ(taken.handle.kind, HandleKind::reclaimed);
    EXPECT_EQ(taken.attempt_type, AttemptType::reclaim);
    EXPECT_EQ(taken.handle.attempt_index, 1U);
    EXPECT_EQ(taken.handle.lease_epoch, 2U);
    EXPECT_EQ(snapshot(id).lease_reclaim_count, 1U);
    EXPECT_EQ(snapshot(id).retry_count, 0U);
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].state, AttemptLifecycle::interrupted_reclaimed);
    EXPECT_EQ(rows[0].failure_reason, "lease_expired_reclaimable");
    EXPECT_EQ(rows[0].ended_at, now());
    EXPECT_EQ(rows[1].reason, "lease_expired_reclaimable");
    EXPECT_EQ(rows[1].previous_attempt_index, 0U);
    EXPECT_EQ(refused(Complete{task.handle, "late", {}, holder}), "stale_lease");
    EXPECT_EQ(refused(Renew{task.handle, 1'000}), "stale_lease");
    EXPECT_EQ(refused(Complete{taken.handle, "r", {}, holder}), "ok");
}

TEST_P(LeaseConformance, TakingOverWaitsForTheGrace) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.reclaim_grace_ms = 2'000;
    open_with(options);
    const ClaimedTask task = start();
    const ClaimedTask revoked = start(job("r"));
    ok(RevokeLease{revoked.execution_id(), {}, {}, "x"});
    EXPECT_FALSE(has_work("w2", "r"));
    after(2'000);
    EXPECT_EQ(claim("w2", "r").execution_id(), revoked.execution_id());
    after(28'000);
    EXPECT_EQ(state(task.execution_id()), lost);
    after(1'999);
    EXPECT_FALSE(has_work());
    after(1);
    EXPECT_EQ(claim("w2").execution_id(), task.execution_id());
}

TEST_P(LeaseConformance, ALostLeaseKeepsItsPlaceAndItsRequirements) {
    FF_NEEDS_CLOCK();
    const auto able = with(claim_by("w1"), [](auto& op) { op.capabilities = {"gpu"}; });
    const ExecutionId id = create(job_requiring({"gpu"}));
    claim(able);
    after(30'000);
    const ExecutionId newer = create(job_requiring({"gpu"}));
    EXPECT_TRUE(claim_some(claim_by("w2")).empty());
    EXPECT_EQ(state(id), lost) << "a mismatch leaves it as it is";
    EXPECT_EQ(claim(able).execution_id(), id);
    EXPECT_EQ(claim(able).execution_id(), newer);
}

TEST_P(LeaseConformance, AGrantForALostLeaseIsOfItsOwnKind) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    after(30'000);
    const Grant granted = grant("w2");
    EXPECT_EQ(granted.kind, GrantKind::reclaim);
    EXPECT_EQ(granted.attempt_index, 1U);
    EXPECT_FALSE(has_work()) << "the grant hides it";
    const ReclaimResult result = ok(reclaim(id));
    EXPECT_EQ(result.status, Reclaimed::claimed);
    ASSERT_TRUE(result.task);
    EXPECT_EQ(result.task->handle.kind, HandleKind::reclaimed);
    EXPECT_EQ(result.task->handle.lease_epoch, 2U);
}

// --------------------------------------------------------------------------------------- revoke

TEST_P(LeaseConformance, RevokingTakesTheLeaseAtOnce) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    const RevokeResult result = ok(RevokeLease{id, task.handle.lease_id, "w1-a", "misbehaves"});
    EXPECT_TRUE(result.revoked);
    EXPECT_EQ(result.lease_id, task.handle.lease_id);
    EXPECT_EQ(result.lease_epoch, 1U);
    EXPECT_EQ(state(id),
              "active lease_revoked not_applicable waiting_for_worker none attempt_interrupted");
    EXPECT_EQ(snapshot(id).info.blocking_detail, "lease revoked: misbehaves");
    EXPECT_EQ(refused(Renew{task.handle, 1'000}), "lease_revoked");
    EXPECT_EQ(refused(Complete{task.handle, {}, {}, holder}), "lease_revoked");
    EXPECT_EQ(refused(CancelExecution{task.handle, "r", "lease_holder"}), "lease_revoked");
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "revoked:misbehaves"}));
    const RevokeResult again = ok(RevokeLease{id, {}, {}, "x"});
    EXPECT_FALSE(again.revoked);
    EXPECT_EQ(again.reason, "already_revoked");
    const ClaimedTask taken = claim("w2");
    EXPECT_EQ(taken.handle.lease_epoch, 2U);
    EXPECT_EQ(attempt(id, 0).failure_reason, "lease_revoked");
}

TEST_P(LeaseConformance, RevokingSaysWhyItDidNot) {
    EXPECT_EQ(refused(RevokeLease{missing_, {}, {}, "x"}), "execution_not_found");
    const ExecutionId id = create();
    EXPECT_EQ(ok(RevokeLease{id, {}, {}, "x"}).reason, "no_active_lease");
    const ClaimedTask task = claim();
    EXPECT_EQ(ok(RevokeLease{id, {}, "someone-else", "x"}).reason, "different_worker_instance_id");
    EXPECT_EQ(refused(RevokeLease{id, LeaseId{new_uuid()}, {}, "x"}), "stale_lease");
    EXPECT_EQ(refused(Renew{task.handle, 30'000}), "ok");
    EXPECT_TRUE(ok(RevokeLease{id, {}, "", ""}).revoked);
    EXPECT_EQ(snapshot(id).info.blocking_detail, "lease revoked: operator_revoke");
    if (has_clock()) {
        const ClaimedTask late = start(job("late"));
        after(30'000);
        EXPECT_EQ(ok(RevokeLease{late.execution_id(), {}, {}, "x"}).reason, "already_expired");
    }
}

// -------------------------------------------------------------------------------- reclaim by name

TEST_P(LeaseConformance, ANamedReclaimCarriesTheCallersIds) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    ok(RevokeLease{id, {}, {}, "x"});
    const auto granted = ok(with(ask(id), [](auto& op) { op.capability_hash = "h"; }));
    EXPECT_EQ(granted.status, Asked::granted);
    ASSERT_TRUE(granted.grant);
    EXPECT_EQ(granted.grant->kind, GrantKind::reclaim);
    if (!GetParam().remote) {  // the answer of the route has no index
        EXPECT_EQ(granted.grant->attempt_index, 1U);
    }
    EXPECT_EQ(refused(ask(id, "w3")), "grant_already_exists");
    EXPECT_EQ(refused(reclaim(id, "w3")), "invalid_input") << "the grant is another worker's";
    const auto op = with(reclaim(id), [](auto& args) {
        args.lease_id = LeaseId{new_uuid()};
        args.attempt_id = AttemptId{new_uuid()};
    });
    const ReclaimResult result = ok(op);
    EXPECT_EQ(result.status, Reclaimed::claimed);
    ASSERT_TRUE(result.task);
    EXPECT_EQ(result.task->handle.lease_id, *op.lease_id);
    EXPECT_EQ(result.task->handle.attempt_id, *op.attempt_id);
    EXPECT_EQ(result.task->input_payload, "input");
    EXPECT_EQ(snapshot(id).lease_reclaim_count, 1U);
    EXPECT_EQ(ok(reclaim(id)).status, Reclaimed::grant_not_found) << "a grant works once";
    EXPECT_EQ(history(id),
              (std::vector<std::string>{"acquired", "revoked:x", "reclaimed:lease_revoked"}));
}

TEST_P(LeaseConformance, OnlyALostLeaseIsReclaimable) {
    EXPECT_EQ(refused(ask(missing_)), "execution_not_found");
    EXPECT_EQ(ok(reclaim(missing_)).status, Reclaimed::grant_not_found);
    const ExecutionId id = create();
    const auto waiting = ok(ask(id));
    EXPECT_EQ(waiting.status, Asked::not_reclaimable);
    EXPECT_NE(waiting.detail.find("runnable"), std::string::npos) << waiting.detail;
    EXPECT_EQ(ok(reclaim(id)).status, Reclaimed::grant_not_found);
    const ClaimedTask task = claim();
    const auto leased = ok(ask(id));
    EXPECT_EQ(leased.status, Asked::not_reclaimable);
    EXPECT_NE(leased.detail.find("leased"), std::string::npos) << leased.detail;
    EXPECT_EQ(refused(Renew{task.handle, 30'000}), "ok");
}

TEST_P(LeaseConformance, AskingMarksALeaseWhoseTimeIsOver) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    const ClaimedTask task = start();
    clock().advance(30'000);
    EXPECT_EQ(ok(ask(task.execution_id())).status, Asked::granted);
    EXPECT_EQ(state(task.execution_id()), lost);
}

TEST_P(LeaseConformance, AReclaimNeedsTheCapabilities) {
    const ExecutionId id = create(job_requiring({"cuda", "gpu"}));
    claim(with(claim_by("w1"), [](auto& op) { op.capabilities = {"cuda", "gpu"}; }));
    ok(RevokeLease{id, {}, {}, "x"});
    const auto missing = ok(with(ask(id), [](auto& op) { op.worker_capabilities = {"gpu"}; }));
    EXPECT_EQ(missing.status, Asked::not_reclaimable);
    EXPECT_EQ(missing.detail, "capability_mismatch: cuda");
    EXPECT_EQ(ok(with(ask(id), [](auto& op) { op.worker_capabilities = {"gpu", "cuda"}; })).status,
              Asked::granted);
}

TEST_P(LeaseConformance, AnExpiredReclaimGrantIsAsGoodAsNone) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    ok(RevokeLease{task.execution_id(), {}, {}, "x"});
    ok(ask(task.execution_id()));
    after(5'000);
    EXPECT_EQ(ok(reclaim(task.execution_id())).status, Reclaimed::grant_not_found);
    EXPECT_TRUE(has_work()) << "and hides nothing";
}

TEST_P(LeaseConformance, AReclaimNeverRevivesWhatHasEnded) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    ok(RevokeLease{id, {}, {}, "x"});
    ok(ask(id));
    ok(CancelExecution{LeaseRef(id), "stop", "operator_override"});
    EXPECT_NE(ok(reclaim(id)).status, Reclaimed::claimed);
    EXPECT_EQ(public_of(id), PublicState::cancelled);
    EXPECT_EQ(ok(ask(id)).status, Asked::not_reclaimable);
}

TEST_P(LeaseConformance, WithACapOfTwoExactlyTwoReclaimsSucceed) {
    const ExecutionId id = create(job_with_policy(R"({"max_reclaim_count":2})"));
    claim();
    for (std::uint32_t i = 0; i < 2; ++i) {
        ok(RevokeLease{id, {}, {}, "x"});
        ok(ask(id));
        EXPECT_EQ(ok(reclaim(id)).status, Reclaimed::claimed);
    }
    ok(RevokeLease{id, {}, {}, "x"});
    const auto exceeded = ok(ask(id));
    EXPECT_EQ(exceeded.status, Asked::reclaim_cap_exceeded);
    EXPECT_EQ(exceeded.reclaim_count, 2U);
    EXPECT_EQ(public_of(id), PublicState::failed);
    EXPECT_EQ(snapshot(id).failure_reason, "max_reclaims_exceeded");
    EXPECT_EQ(attempt(id, 2).state, AttemptLifecycle::interrupted_reclaimed);
    EXPECT_EQ(history(id).back(), "released:max_reclaims_exceeded=failed");
}

TEST_P(LeaseConformance, TheCapHoldsForTakeoversToo) {
    for (const bool by_grant : {false, true}) {
        const ExecutionId id =
            create(job_with_policy(R"({"timeout_policy":{"max_reclaim_count":1}})"));
        claim();
        ok(RevokeLease{id, {}, {}, "x"});
        EXPECT_EQ(claim("w2").execution_id(), id);
        ok(RevokeLease{id, {}, {}, "x"});
        const ExecutionId next = create();
        if (by_grant) {
            EXPECT_EQ(grant("w3").execution_id, next) << "what is at its cap stands in no way";
            ok(CancelExecution{LeaseRef(next), "x", "operator_override"});
        } else {
            EXPECT_EQ(claim("w3").execution_id(), next);
        }
        EXPECT_EQ(snapshot(id).failure_reason, "max_reclaims_exceeded");
        EXPECT_EQ(public_of(id), PublicState::failed);
    }
}

TEST_P(LeaseConformance, WithoutAPolicyTheCallersCapCounts) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    ok(RevokeLease{id, {}, {}, "x"});
    ok(ask(id));
    const ReclaimResult result = ok(with(reclaim(id), [](auto& op) { op.max_reclaim_count = 0; }));
    EXPECT_EQ(result.status, Reclaimed::reclaim_cap_exceeded);
    EXPECT_EQ(result.reclaim_count, 0U);
    EXPECT_EQ(public_of(id), PublicState::failed);
}

// ------------------------------------------------------------------------- timeouts and deadlines

TEST_P(LeaseConformance, AnAttemptThatRunsTooLongExpires) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":5000}})"));
    const ExecutionId id = task.execution_id();
    after(4'999);
    EXPECT_EQ(refused(Renew{task.handle, 60'000}), "ok") << "renewing does not help";
    after(1);
    EXPECT_EQ(state(id), "terminal unowned not_applicable none expired attempt_terminal");
    EXPECT_EQ(snapshot(id).failure_reason, "attempt_timeout");
    EXPECT_EQ(attempt(id, 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(attempt(id, 0).failure_reason, "attempt_timeout");
    EXPECT_EQ(history(id).back(), "released:expired:attempt_timeout=expired");
    EXPECT_EQ(refused(Complete{task.handle, {}, {}, holder}), "execution_not_active");
}

TEST_P(LeaseConformance, ATimeoutIsRetriedWhileRetriesAreLeft) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create(job_with_policy(
        R"({"timeout_policy":{"attempt_timeout_ms":5000},)"
        R"("retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":100}}})"));
    claim();
    after(5'000);
    EXPECT_EQ(public_of(id), PublicState::delayed);
    EXPECT_EQ(snapshot(id).failure_category, "timeout");
    EXPECT_EQ(history(id).back(), "released:expired:attempt_timeout");
    after(100);
    EXPECT_EQ(claim().attempt_type, AttemptType::retry);
    after(5'000);
    EXPECT_EQ(public_of(id), PublicState::expired);
}

TEST_P(LeaseConformance, APauseNeitherLosesNorRefreshesTheTimeout) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":5000}})"));
    after(2'000);
    ok(Release{task.handle});
    after(60'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::waiting);
    const ClaimedTask resumed = claim("w2");
    EXPECT_EQ(resumed.attempt_deadline_at, now() + 3'000);
    after(3'000);
    EXPECT_EQ(public_of(task.execution_id()), PublicState::expired);
}

TEST_P(LeaseConformance, ATakeoverGetsAFullTimeout) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":5000}})"));
    after(4'000);
    ok(RevokeLease{task.execution_id(), {}, {}, "x"});
    EXPECT_EQ(claim("w2").attempt_deadline_at, now() + 5'000);
}

TEST_P(LeaseConformance, TheTimeoutAlsoEndsALostLease) {
    FF_NEEDS_CLOCK();
    const ExecutionId id =
        create(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":5000}})"));
    claim(with(claim_by("w1"), [](auto& op) { op.lease_ttl_ms = 1'000; }));
    after(1'000);
    EXPECT_EQ(state(id), lost);
    after(4'000);
    EXPECT_EQ(public_of(id), PublicState::expired);
}

TEST_P(LeaseConformance, TheDeadlineEndsEveryPhase) {
    FF_NEEDS_CLOCK();
    const auto due = [&](const std::string& lane) {
        return with(job_with_policy(
                        R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":60000}}})", lane),
                    [&](auto& op) { op.execution_deadline_at = t0 + 10'000; });
    };
    std::vector<ExecutionId> ids;
    ids.push_back(create(due("waiting")));
    ids.push_back(start(due("active")).execution_id());
    const ClaimedTask paused = start(due("paused"));
    ok(Release{paused.handle});
    ids.push_back(paused.execution_id());
    const ClaimedTask failed = start(due("failed"));
    ok(Fail{failed.handle, "r", "x", holder});
    ids.push_back(failed.execution_id());
    const ClaimedTask delayed = start(due("delayed"));
    ok(Delay{delayed.handle, t0 + 60'000, holder});
    ids.push_back(delayed.execution_id());
    ids.push_back(create(due("blocked")));
    ok(BlockExecution{ids.back(), "paused_by_operator", {}});
    const ClaimedTask lost_lease = start(due("lost"));
    ok(RevokeLease{lost_lease.execution_id(), {}, {}, "x"});
    ids.push_back(lost_lease.execution_id());
    ids.push_back(create(due("granted")));
    grant("w1", "granted");
    after(9'999);
    for (const ExecutionId& id : ids) {
        EXPECT_NE(public_of(id), PublicState::expired);
    }
    after(1);
    for (const ExecutionId& id : ids) {
        EXPECT_EQ(public_of(id), PublicState::expired);
        EXPECT_EQ(snapshot(id).failure_reason, "execution_deadline");
        EXPECT_EQ(snapshot(id).info.completed_at, now());
    }
    EXPECT_EQ(attempt(paused.execution_id(), 0).state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(history(ids[1]).back(), "released:expired:execution_deadline=expired");
    for (const char* lane : {"waiting", "active", "paused", "failed", "delayed", "blocked"}) {
        EXPECT_FALSE(has_work("w1", lane));
    }
}

TEST_P(LeaseConformance, ADeadlineInThePolicyIsADurationOrATime) {
    FF_NEEDS_CLOCK();
    const auto deadline_of = [&](const std::string& value) {
        return snapshot(create(job_with_policy(R"({"timeout_policy":{"execution_deadline_ms":)" +
                                               value + "}}")))
            .execution_deadline_at;
    };
    EXPECT_EQ(deadline_of("5000"), now() + 5'000);
    EXPECT_EQ(deadline_of("1900000000000"), 1'900'000'000'000);
}

}  // namespace ff::engine::test
