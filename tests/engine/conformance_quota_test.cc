// Quotas and what they do to claims: spec 06, sections 6 and 7.
#include <random>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class QuotaConformance : public LimitConformance {
  protected:
    AdmissionResult check(const ExecutionId& id, QuotaPolicyId policy = quota_id()) {
        return ok(CheckAdmission{policy, id, {}});
    }
    std::vector<ExecutionId> create_many(int count, const CreateExecution& op) {
        std::vector<ExecutionId> out;
        for (int i = 0; i < count; ++i) {
            out.push_back(create(op));
        }
        return out;
    }
    /// Claims until nothing is given.
    std::vector<ClaimedTask> claim_all(const std::string& lane = "default") {
        return claim_some(with(claim_by("w1", lane), [](Claim& op) { op.max_tasks = 100; }));
    }
};
FF_ON_EVERY_ENGINE(QuotaConformance);

TEST_P(QuotaConformance, ADefinitionStandsOnceItIsThere) {
    EXPECT_TRUE(ok(quota(3, 2)).created);
    const CreateQuotaResult again = ok(quota(4, 2));
    EXPECT_FALSE(again.created);
    EXPECT_FALSE(again.definition_matches);
    EXPECT_EQ(quota_state().limits, (QuotaLimits{60, 3, 2, 0}));
    EXPECT_EQ(refused(quota(1, 1, 31'536'001, quota_id(2))), "invalid_quota_spec");
    EXPECT_FALSE(ok(ReadQuotaPolicy{quota_id(2)}));
    ok(UpdateQuotaPolicy{quota_id(), {30, 7, 0, 5}});
    EXPECT_EQ(quota_state().limits, (QuotaLimits{30, 7, 0, 5}));
    EXPECT_EQ(refused(UpdateQuotaPolicy{quota_id(2), {}}), "quota_policy_not_found");
    ok(quota(1, 1, 60, quota_id(2)));
    QuotaPage page = ok(ListQuotaPolicies{{}, 1});
    ASSERT_EQ(page.policies.size(), 1U);
    EXPECT_EQ(page.policies[0].quota_policy_id, quota_id(1));
    page = ok(ListQuotaPolicies{page.next_cursor, 10});
    ASSERT_EQ(page.policies.size(), 1U);
    EXPECT_EQ(page.policies[0].quota_policy_id, quota_id(2));
    ok(DeleteQuotaPolicy{quota_id()});
    EXPECT_FALSE(ok(ReadQuotaPolicy{quota_id()}));
    EXPECT_EQ(refused(DeleteQuotaPolicy{quota_id()}), "quota_policy_not_found");
}

// ------------------------------------------------------------------------------------- asking

TEST_P(QuotaConformance, AskingTakesWhatIsGiven) {
    ok(quota(2, 0));
    const auto ids = create_many(3, job());
    EXPECT_EQ(check(ids[0]).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(check(ids[0]).outcome, AdmissionOutcome::already_admitted);
    EXPECT_EQ(check(ids[1]).outcome, AdmissionOutcome::admitted);
    const AdmissionResult full = check(ids[2]);
    EXPECT_EQ(full.outcome, AdmissionOutcome::rate_exceeded);
    EXPECT_GT(full.retry_after_ms, 0);
    EXPECT_LE(full.retry_after_ms, 60'000);
    EXPECT_EQ(quota_state().in_window, 2U);
    ok(ReleaseAdmission{quota_id(), ids[0]});
    ok(ReleaseAdmission{quota_id(), ids[0]});
    EXPECT_EQ(quota_state().in_window, 1U) << "once";
    EXPECT_EQ(check(ids[2]).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(refused(CheckAdmission{quota_id(9), ids[0], {}}), "quota_policy_not_found");
}

TEST_P(QuotaConformance, NumbersThatAreGivenCountWhenNoPolicyIsStored) {
    const auto ids = create_many(3, job());
    const QuotaLimits one{60, 0, 1, 0};
    EXPECT_EQ(ok(CheckAdmission{quota_id(), ids[0], one}).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(ok(CheckAdmission{quota_id(), ids[1], one}).outcome,
              AdmissionOutcome::concurrency_exceeded);
    EXPECT_EQ(ok(CheckAdmission{quota_id(), ids[1], QuotaLimits{60, 0, 2, 0}}).outcome,
              AdmissionOutcome::admitted);
    EXPECT_FALSE(ok(ReadQuotaPolicy{quota_id()})) << "nobody defined it";
    ok(quota(0, 2));
    EXPECT_EQ(ok(CheckAdmission{quota_id(), ids[2], QuotaLimits{60, 0, 9, 0}}).outcome,
              AdmissionOutcome::concurrency_exceeded)
        << "the stored policy wins";
}

TEST_P(QuotaConformance, AStartAgesExactlyAfterTheWindow) {
    FF_NEEDS_CLOCK();
    ok(quota(1, 0, 10));
    const auto ids = create_many(2, job());
    check(ids[0]);
    after(4'000);
    EXPECT_EQ(check(ids[1]), (AdmissionResult{AdmissionOutcome::rate_exceeded, 6'000}));
    after(5'999);
    EXPECT_EQ(check(ids[1]), (AdmissionResult{AdmissionOutcome::rate_exceeded, 1}));
    after(1);
    EXPECT_EQ(check(ids[1]).outcome, AdmissionOutcome::admitted);
}

// ------------------------------------------------------------------------------------- claims

TEST_P(QuotaConformance, NoMoreRunThanTheCap) {
    ok(quota(0, 2));
    const auto ids = create_many(5, job_with_quota());
    const auto running = claim_all();
    ASSERT_EQ(running.size(), 2U);
    EXPECT_EQ(eligibility(ids[2]), "blocked_by_quota");
    EXPECT_EQ(detail(ids[2]), "quota " + quota_id().to_string() + ": concurrency cap 2");
    EXPECT_EQ(public_of(ids[2]), PublicState::rate_limited);
    EXPECT_NE(why(ids[2]).find("concurrency cap 2"), std::string::npos);
    EXPECT_EQ(quota_state().running, 2U);
    const ExecutionId free = create();
    EXPECT_EQ(claim().execution_id(), free) << "who has no quota is not in its way";
    ok(Complete{running[0].handle, "", {}});
    settle();
    EXPECT_EQ(eligibility(ids[2]), "eligible_now");
    EXPECT_EQ(eligibility(ids[3]), "blocked_by_quota") << "one goes on for each that ends";
    const auto next = claim_all();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].execution_id(), ids[2]);
    EXPECT_EQ(quota_state().running, 2U);
}

TEST_P(QuotaConformance, EveryWayToLeaveGivesTheSlotBack) {
    ok(quota(0, 1));
    const auto slot_is_free = [&](const char* what) {
        settle();
        EXPECT_EQ(quota_state().running, 0U) << what;
    };
    const auto begin = [&](const char* more = "") {
        const ExecutionId id = create(job_with_policy(R"({"quota_policy_id":")" +
                                                      quota_id().to_string() + "\"" + more + "}"));
        const ClaimedTask task = claim();
        EXPECT_EQ(task.execution_id(), id);
        EXPECT_EQ(quota_state().running, 1U);
        return task;
    };
    ok(Complete{begin().handle, "", {}});
    slot_is_free("complete");
    ok(Fail{begin().handle, "no", "permanent"});
    slot_is_free("fail");
    ok(Fail{begin(R"(,"retry_policy":{"max_retries":3})").handle, "again", "transient"});
    slot_is_free("retry");
    ok(CancelExecution{begin().handle, "stop"});
    slot_is_free("cancel");
    Delay delay;
    const ClaimedTask delayed = begin();
    delay.lease = delayed.handle;
    delay.delay_until = delayed.lease_expires_at + 100'000;
    ok(delay);
    slot_is_free("delay");
    ok(Release{begin().handle});
    slot_is_free("release");
    const ClaimedTask again = claim();
    EXPECT_EQ(quota_state().running, 1U) << "taken again";
    ok(RevokeLease{again.execution_id()});
    settle();
    EXPECT_EQ(quota_state().running, 1U) << "kept until somebody takes over";
    const ClaimedTask taken_over = claim("w2");
    EXPECT_EQ(taken_over.execution_id(), again.execution_id());
    EXPECT_EQ(quota_state().running, 1U);
    ok(Complete{taken_over.handle, "", {}});
    slot_is_free("the last");
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).processed, 0U);
}

TEST_P(QuotaConformance, AGrantHoldsWhatItWasGivenAndAnExpiredOneGivesItBack) {
    FF_NEEDS_CLOCK();
    ok(quota(1, 1));
    const ExecutionId id = create(job_with_quota());
    const Grant given = grant();
    EXPECT_EQ(quota_state().running, 1U);
    EXPECT_EQ(quota_state().in_window, 1U);
    after(given.expires_at_ms - now());
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(quota_state().in_window, 0U) << "it never began";
    grant();
    ClaimExecution use;
    use.execution_id = id;
    use.worker_id = "w1";
    use.worker_instance_id = "w1-a";
    use.lane_id = "default";
    const ClaimedTask task = ok(use);
    EXPECT_EQ(quota_state().running, 1U);
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(quota_state().in_window, 1U) << "it has begun";
}

TEST_P(QuotaConformance, StartsAreSpreadOverTheWindow) {
    FF_NEEDS_CLOCK();
    ok(quota(2, 0, 10));
    const auto ids = create_many(5, job_with_quota());
    EXPECT_EQ(claim_all().size(), 2U);
    EXPECT_EQ(detail(ids[2]), "quota " + quota_id().to_string() + ": rate limit 2 per 10s window");
    EXPECT_EQ(ok(ExplainExecution{ids[2]}).until, now() + 10'000);
    after(9'999);
    EXPECT_EQ(claim_all().size(), 0U);
    SentClaim waiting(engine(),
                      with(claim_by("w1"), [](Claim& claim) { claim.max_wait_ms = 20'000; }));
    settle();
    EXPECT_FALSE(waiting.answered());
    after(1);
    const auto came = waiting.tasks();
    ASSERT_EQ(came.size(), 1U) << "at the moment the window has passed";
    EXPECT_EQ(came[0].execution_id(), ids[2]);
    EXPECT_EQ(claim_all().size(), 1U);
    EXPECT_EQ(claim_all().size(), 0U);
    after(10'000);
    EXPECT_EQ(claim_all().size(), 1U);
}

TEST_P(QuotaConformance, ARetryInsideTheWindowIsNoNewStart) {
    FF_NEEDS_CLOCK();
    ok(quota(1, 0, 60));
    create(job_with_policy(
        R"({"retry_policy":{"max_retries":5,"backoff":{"type":"fixed","delay_ms":1000}},)"
        R"("quota_policy_id":")" +
        quota_id().to_string() + R"("})"));
    ClaimedTask task = claim();
    ok(Fail{task.handle, "again", "transient"});
    after(1'000);
    task = claim();
    EXPECT_EQ(quota_state().in_window, 1U);
    ok(Fail{task.handle, "again", "transient"});
    after(60'000);
    claim();
    EXPECT_EQ(quota_state().in_window, 1U) << "a new one, and the old one has aged";
}

TEST_P(QuotaConformance, TheStrictestOfSeveralWins) {
    ok(quota(0, 3, 60, quota_id(1)));
    ok(quota(0, 1, 60, quota_id(2)));
    const auto ids = create_many(3, job_with_quota(quota_id(1)));
    ok(AttachQuota{quota_id(2), LimitTarget::lane, "default"});
    const auto running = claim_all();
    ASSERT_EQ(running.size(), 1U);
    EXPECT_EQ(quota_state(quota_id(1)).running, 1U) << "nothing is taken unless all admit";
    EXPECT_EQ(quota_state(quota_id(2)).running, 1U);
    EXPECT_NE(detail(ids[1]).find(quota_id(2).to_string()), std::string::npos);
    ok(DetachQuota{quota_id(2), LimitTarget::lane, "default"});
    settle();
    EXPECT_EQ(claim_all().size(), 2U);
    EXPECT_EQ(quota_state(quota_id(1)).running, 3U);
    EXPECT_EQ(quota_state(quota_id(2)).running, 1U) << "what was given stays given";
    ok(Complete{running[0].handle, "", {}});
    EXPECT_EQ(quota_state(quota_id(2)).running, 0U);
}

TEST_P(QuotaConformance, ChangingOrDeletingAPolicyLetsThemGo) {
    ok(quota(0, 1));
    create_many(4, job_with_quota());
    EXPECT_EQ(claim_all().size(), 1U);
    ok(UpdateQuotaPolicy{quota_id(), {60, 0, 2, 0}});
    settle();
    EXPECT_EQ(claim_all().size(), 1U);
    ok(DeleteQuotaPolicy{quota_id()});
    settle();
    EXPECT_EQ(claim_all().size(), 2U);
}

TEST_P(QuotaConformance, AnExecutionHasOnePolicyOfItsOwn) {
    ok(quota(0, 1, 60, quota_id(1)));
    ok(quota(0, 1, 60, quota_id(2)));
    const ExecutionId id = create(job_with_quota(quota_id(1)));
    EXPECT_EQ(refused(AttachQuota{quota_id(2), LimitTarget::execution, id.to_string()}),
              "quota_attach_conflict");
    EXPECT_FALSE(ok(AttachQuota{quota_id(1), LimitTarget::execution, id.to_string()}).changed);
    EXPECT_TRUE(ok(DetachQuota{quota_id(1), LimitTarget::execution, id.to_string()}).changed);
    EXPECT_TRUE(ok(AttachQuota{quota_id(2), LimitTarget::execution, id.to_string()}).changed);
    EXPECT_EQ(refused(AttachQuota{quota_id(9), LimitTarget::execution, id.to_string()}),
              "quota_policy_not_found");
}

TEST_P(QuotaConformance, WhoWasLetGoAndLeftMakesRoomForTheNext) {
    ok(quota(0, 1));
    const auto ids = create_many(3, job_with_quota());
    const auto running = claim_all();
    ok(Complete{running[0].handle, "", {}});
    settle();
    EXPECT_EQ(eligibility(ids[1]), "eligible_now");
    ok(CancelExecution{LeaseRef(ids[1]), "never mind"});
    settle();
    ok(RunScanner{"unblock"});
    EXPECT_EQ(eligibility(ids[2]), "eligible_now");
}

/// Whatever happens in whatever order: no more run than the cap, slots are those that run, and when
/// all is over nobody waits who could run.
TEST_P(QuotaConformance, SlotsAreThoseThatRunAndNobodyIsForgotten) {
    constexpr std::uint64_t cap = 3;
    ok(quota(0, cap));
    std::mt19937 random(5);
    std::vector<ClaimedTask> running;
    int created = 0;
    int ended = 0;
    for (int step = 0; step < 250; ++step) {
        switch (random() % 6) {
            case 0:
            case 1:
                create(job_with_quota());
                ++created;
                break;
            case 2:
            case 3:
                for (ClaimedTask& task : claim_some(claim_by("w1"))) {
                    running.push_back(std::move(task));
                }
                break;
            default:
                if (running.empty()) {
                    break;
                }
                std::swap(running[random() % running.size()], running.back());
                if (random() % 3 == 0) {
                    ok(Release{running.back().handle});
                } else {
                    ok(Complete{running.back().handle, "", {}});
                    ++ended;
                }
                running.pop_back();
        }
        ASSERT_LE(running.size(), cap);
        if (step % 25 == 0) {
            settle();
            ASSERT_EQ(quota_state().running, running.size());
        }
    }
    for (int idle = 0; ended < created && idle < 5;) {
        settle();
        for (ClaimedTask& task : claim_some(claim_by("w1"))) {
            running.push_back(std::move(task));
            idle = 0;
        }
        if (running.empty()) {
            ++idle;
            continue;
        }
        ok(Complete{running.back().handle, "", {}});
        running.pop_back();
        ++ended;
    }
    EXPECT_EQ(ended, created);
    settle();
    EXPECT_EQ(quota_state().running, 0U);
    const ScannerResult found = ok(RunScanner{"quota_reconciler"});
    EXPECT_EQ(found.processed, 0U);
    EXPECT_TRUE(found.findings.empty()) << found.findings.front();
}

}  // namespace ff::engine::test
