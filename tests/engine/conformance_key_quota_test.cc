// Quotas that count by key: executions that carry a limit_key, policies with per_key.
#include "core/quota_rules.h"
#include "engine/conformance_limits.h"

namespace ff::engine::test {

class KeyQuotaConformance : public LimitConformance {
  protected:
    static CreateQuotaPolicy quota_per_key(std::uint64_t rate, std::uint64_t cap,
                                           std::uint64_t window_s = 60) {
        return with(quota(rate, cap, window_s),
                    [](CreateQuotaPolicy& op) { op.limits.per_key = true; });
    }
    /// Defined, and of the lane.
    void limit_lane(std::uint64_t rate, std::uint64_t cap, std::uint64_t window_s = 60) {
        create(job("elsewhere"));
        ok(quota_per_key(rate, cap, window_s));
        create_lane();
        ok(AttachQuota{quota_id(), LimitTarget::lane, "default"});
    }
    void create_lane() {
        const ClaimedTask task = start();
        ok(Complete{task.handle, "", {}});
    }
    static CreateExecution keyed(const std::string& key) {
        return job_with_policy(R"({"limit_key":")" + key + R"("})");
    }
    std::vector<ClaimedTask> claim_all() {
        return claim_some(with(claim_by("w1"), [](Claim& op) { op.max_tasks = 1'000; }));
    }
    /// `key running starts`, and `!` when somebody waits.
    std::vector<std::string> keys() {
        std::vector<std::string> out;
        for (const QuotaKeyInfo& key : ok(ListQuotaKeys{quota_id(), {}, 1'000}).keys) {
            out.push_back(key.limit_key + " " + std::to_string(key.running) + " " +
                          std::to_string(key.in_window) + (key.blocks ? " !" : ""));
        }
        return out;
    }
    using Keys = std::vector<std::string>;
};
FF_ON_EVERY_ENGINE(KeyQuotaConformance);

TEST_P(KeyQuotaConformance, EachKeyHasTheLimitsForItself) {
    limit_lane(0, 1);
    const ExecutionId a1 = create(keyed("a"));
    const ExecutionId a2 = create(keyed("a"));
    const ExecutionId a3 = create(keyed("a"));
    const ExecutionId b1 = create(keyed("b"));
    const auto running = claim_all();
    ASSERT_EQ(running.size(), 2U);
    EXPECT_EQ(running[0].execution_id(), a1);
    EXPECT_EQ(running[1].execution_id(), b1);
    EXPECT_EQ(detail(a2), "quota " + quota_id().to_string() + ", key a: concurrency cap 1");
    EXPECT_NE(why(a3).find("waiting for its turn"), std::string::npos) << "it has not been asked";
    EXPECT_EQ(keys(), (Keys{"a 1 0 !", "b 1 0"})) << "starts are counted where they are limited";
    ok(Complete{running[0].handle, "", {}});
    settle();
    EXPECT_EQ(claim().execution_id(), a2);
    EXPECT_FALSE(has_work());
    ok(Complete{running[1].handle, "", {}});
    EXPECT_FALSE(has_work()) << "what another key gives back is not theirs";
}

TEST_P(KeyQuotaConformance, WhoCarriesNoKeyIsNotLimited) {
    limit_lane(0, 1);
    for (int i = 0; i < 3; ++i) {
        create();
    }
    EXPECT_EQ(claim_all().size(), 3U);
    EXPECT_EQ(keys(), Keys{});
    EXPECT_EQ(quota_state().running, 0U);
}

TEST_P(KeyQuotaConformance, RatesCountByKeyToo) {
    FF_NEEDS_CLOCK();
    limit_lane(2, 0, 10);
    for (const char* key : {"a", "a", "a", "b"}) {
        create(keyed(key));
    }
    EXPECT_EQ(claim_all().size(), 3U);
    EXPECT_EQ(keys(), (Keys{"a 0 2 !", "b 0 1"}));
    after(9'999);
    EXPECT_FALSE(has_work());
    after(1);
    EXPECT_EQ(claim_all().size(), 1U);
}

TEST_P(KeyQuotaConformance, AKeyThatUsesNothingIsForgotten) {
    limit_lane(0, 1);
    const ClaimedTask a = start(keyed("a"));
    const ClaimedTask b = start(keyed("b"));
    ok(Complete{a.handle, "", {}});
    EXPECT_EQ(keys(), (Keys{"b 1 0"}));
    ok(Fail{b.handle, "no", "permanent"});
    EXPECT_EQ(keys(), Keys{});
    EXPECT_EQ(ok(ListQuotaPolicies{{}, 10}).policies.size(), 1U);
    EXPECT_EQ(refused(ListQuotaKeys{quota_id(2), {}, 10}), "quota_policy_not_found");
}

TEST_P(KeyQuotaConformance, AKeyIsKeptWhileItsStartsCount) {
    FF_NEEDS_CLOCK();
    limit_lane(5, 0, 10);
    const ClaimedTask task = start(keyed("a"));
    ok(Complete{task.handle, "", {}});
    EXPECT_EQ(keys(), (Keys{"a 0 1"}));
    after(10'000);
    EXPECT_EQ(keys(), Keys{});
}

TEST_P(KeyQuotaConformance, OneThatIsLetGoAndNeverStartsLeavesNothingBehind) {
    limit_lane(0, 1);
    const ClaimedTask first = start(keyed("a"));
    const ExecutionId second = create(keyed("a"));
    EXPECT_FALSE(has_work());
    ok(Complete{first.handle, "", {}});
    settle();
    EXPECT_EQ(eligibility(second), "eligible_now");
    ok(CancelExecution{LeaseRef(second), "no", "operator_override"});
    settle();
    EXPECT_EQ(keys(), Keys{});
}

TEST_P(KeyQuotaConformance, DetachedFromOneLaneItStillCountsInAnother) {
    limit_lane(1, 0, 3'600);
    ok(AttachQuota{quota_id(), LimitTarget::lane, "elsewhere"});
    claim("w1", "elsewhere");
    create(with(keyed("a"), [](CreateExecution& op) { op.lane_id = "elsewhere"; }));
    claim("w1", "elsewhere");
    ok(DetachQuota{quota_id(), LimitTarget::lane, "default"});
    settle();
    create(with(keyed("a"), [](CreateExecution& op) { op.lane_id = "elsewhere"; }));
    EXPECT_FALSE(has_work("w1", "elsewhere"));
    EXPECT_EQ(keys(), (Keys{"a 0 1 !"}));
}

TEST_P(KeyQuotaConformance, ThePoliciesOfKeysAreNobodysToChange) {
    limit_lane(0, 1);
    start(keyed("a"));
    const QuotaPolicyId own = core::policy_of_key(quota_id(), "a");
    EXPECT_FALSE(ok(ReadQuotaPolicy{own}));
    EXPECT_EQ(refused(UpdateQuotaPolicy{own, {60, 0, 5, 0}}), "quota_policy_not_found");
    EXPECT_EQ(refused(DeleteQuotaPolicy{own}), "quota_policy_not_found");
    EXPECT_EQ(refused(AttachQuota{own, LimitTarget::namespace_, "acme"}), "quota_policy_not_found");
}

TEST_P(KeyQuotaConformance, KeysAreListedInTheirOrderByPages) {
    limit_lane(0, 1);
    for (const char* key : {"b", "c", "a"}) {
        start(keyed(key));
    }
    const QuotaKeyPage first = ok(ListQuotaKeys{quota_id(), {}, 2});
    ASSERT_EQ(first.keys.size(), 2U);
    EXPECT_EQ(first.keys[1].limit_key, "b");
    const QuotaKeyPage rest = ok(ListQuotaKeys{quota_id(), first.next_cursor, 2});
    ASSERT_EQ(rest.keys.size(), 1U);
    EXPECT_EQ(rest.keys[0].limit_key, "c");
    EXPECT_FALSE(rest.next_cursor);
    EXPECT_EQ(ok(ListQuotaPolicies{{}, 10}).policies.size(), 1U) << "keys are no policies";
}

TEST_P(KeyQuotaConformance, HigherLimitsLetAllKeysGoOn) {
    limit_lane(0, 1);
    constexpr int more_than_a_page = 120;
    for (int i = 0; i < more_than_a_page; ++i) {
        const std::string key = "k" + std::to_string(i);
        create(keyed(key));
        create(keyed(key));
    }
    EXPECT_EQ(claim_all().size(), std::size_t{more_than_a_page});
    ok(UpdateQuotaPolicy{quota_id(), {60, 0, 2, 0}});
    EXPECT_TRUE(quota_state().limits.per_key) << "an update leaves that as it is";
    settle();
    EXPECT_EQ(claim_all().size(), std::size_t{more_than_a_page});
    EXPECT_FALSE(has_work());
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).findings, Keys{});
}

TEST_P(KeyQuotaConformance, ADeletedPolicyLetsAllKeysGoOn) {
    limit_lane(0, 1);
    for (const char* key : {"a", "a", "b", "b"}) {
        create(keyed(key));
    }
    const auto running = claim_all();
    EXPECT_EQ(running.size(), 2U);
    ok(DeleteQuotaPolicy{quota_id()});
    settle();
    EXPECT_EQ(claim_all().size(), 2U);
    for (const ClaimedTask& task : running) {
        ok(Complete{task.handle, "", {}});
    }
    settle();
    ok(quota_per_key(0, 5));
    EXPECT_EQ(keys(), Keys{}) << "nothing is left of them";
}

TEST_P(KeyQuotaConformance, ADetachedPolicyLetsAllKeysGoOnAndMayBeAttachedAgain) {
    limit_lane(0, 1);
    for (const char* key : {"a", "a", "b", "b", "a"}) {
        create(keyed(key));
    }
    auto running = claim_all();
    ok(DetachQuota{quota_id(), LimitTarget::lane, "default"});
    settle();
    running.push_back(claim());
    running.push_back(claim());
    ok(AttachQuota{quota_id(), LimitTarget::lane, "default"});
    EXPECT_FALSE(has_work()) << "the slots of those that began under it are still taken";
    for (const ClaimedTask& task : running) {
        ok(Complete{task.handle, "", {}});
    }
    settle();
    EXPECT_TRUE(has_work());
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).findings, Keys{});
}

TEST_P(KeyQuotaConformance, AnExecutionMayNameThePolicyItself) {
    ok(quota_per_key(0, 1));
    const CreateExecution op = job_with_policy(R"({"limit_key":"a","quota_policy_id":")" +
                                               quota_id().to_string() + R"("})");
    create(op);
    const ExecutionId second = create(op);
    const auto running = claim_all();
    EXPECT_EQ(running.size(), 1U);
    EXPECT_EQ(keys(), (Keys{"a 1 0 !"}));
    ok(DetachQuota{quota_id(), LimitTarget::execution, second.to_string()});
    EXPECT_EQ(claim().execution_id(), second);
}

TEST_P(KeyQuotaConformance, AskingCountsByTheKeyOfTheExecution) {
    ok(quota_per_key(0, 1));
    const ExecutionId a1 = create(keyed("a"));
    const ExecutionId a2 = create(keyed("a"));
    const ExecutionId b1 = create(keyed("b"));
    const ExecutionId none = create();
    const auto check = [&](const ExecutionId& id) {
        return ok(CheckAdmission{quota_id(), id, {}}).outcome;
    };
    EXPECT_EQ(check(a1), AdmissionOutcome::admitted);
    EXPECT_EQ(check(a1), AdmissionOutcome::already_admitted);
    EXPECT_EQ(check(a2), AdmissionOutcome::concurrency_exceeded);
    EXPECT_EQ(check(b1), AdmissionOutcome::admitted);
    EXPECT_EQ(check(none), AdmissionOutcome::admitted);
    EXPECT_EQ(check(none), AdmissionOutcome::admitted) << "nothing is counted for it";
    ok(ReleaseAdmission{quota_id(), a1});
    ok(ReleaseAdmission{quota_id(), none});
    EXPECT_EQ(check(a2), AdmissionOutcome::admitted);
    EXPECT_EQ(refused(CheckAdmission{quota_id(2), a1, QuotaLimits{60, 0, 1, 0, true}}),
              "invalid_quota_spec");
}

TEST_P(KeyQuotaConformance, WhetherItCountsByKeyStands) {
    ok(quota(0, 1));
    EXPECT_EQ(refused(UpdateQuotaPolicy{quota_id(), {60, 0, 1, 0, true}}), "invalid_quota_spec");
    EXPECT_FALSE(ok(quota_per_key(0, 1)).definition_matches);
}

TEST_P(KeyQuotaConformance, AKeyOfAnotherKindIsRefused) {
    const auto with_key = [](const std::string& json) {
        return job_with_policy(R"({"limit_key":)" + json + "}");
    };
    for (const char* wrong : {"\"\"", "7", "\"a\\u0007\""}) {
        EXPECT_EQ(refused(with_key(wrong)), "invalid_policy_json") << wrong;
    }
    EXPECT_EQ(refused(with_key("\"" + std::string(257, 'k') + "\"")), "invalid_policy_json");
    create(with_key("\"" + std::string(256, 'k') + "\""));
}

}  // namespace ff::engine::test
