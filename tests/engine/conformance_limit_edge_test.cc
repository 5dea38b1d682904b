// Limits at their edges: ids in capitals, definitions that come and go, slots that were given apart
// from a claim, and who needs no new start.
#include <algorithm>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class LimitEdges : public LimitConformance {
  protected:
    /// An id whose hexadecimal digits are capitals.
    static std::string capitals(std::string text) {
        const auto digits = text.begin() + static_cast<std::ptrdiff_t>(text.rfind(':') + 1);
        std::transform(digits, text.end(), digits, [](unsigned char c) {
            return static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
        });
        return text;
    }
    ClaimedTask start_with_quota(const std::string& more = "") {
        create(job_with_policy(R"({"quota_policy_id":")" + quota_id().to_string() + "\"" + more +
                               "}"));
        return claim();
    }
};
FF_ON_EVERY_ENGINE(LimitEdges);

TEST_P(LimitEdges, AnIntervalOfResetsHasABound) {
    CreateBudget define = budget({{"tokens", {10, 0}}});
    define.reset_interval_ms = std::numeric_limits<DurationMs>::max();
    EXPECT_EQ(refused(define), "invalid_input");
    define.reset_interval_ms = reset_interval_ms_max + 1;
    EXPECT_EQ(refused(define), "invalid_input");
    define.reset_interval_ms = reset_interval_ms_max;
    EXPECT_TRUE(ok(define).created);
    report({{"tokens", 10}});
    settle();
    EXPECT_EQ(usage(), (Amounts{{"tokens", 10}}));
}

TEST_P(LimitEdges, IdsMayBeWrittenInCapitals) {
    const auto flow = ok(CreateFlow{.flow_kind = "f", .ns = "acme"}).flow_id;
    ok(quota(0, 1));
    ok(AttachQuota{quota_id(), LimitTarget::flow, capitals(flow.to_string())});
    EXPECT_FALSE(ok(AttachQuota{quota_id(), LimitTarget::flow, flow.to_string()}).changed);
    EXPECT_TRUE(ok(DetachQuota{quota_id(), LimitTarget::flow, flow.to_string()}).changed);

    CreateExecution op = job();
    op.execution_id = ExecutionId::solo("default", {}, uuid(77));
    CreateBudget define = budget({{"tokens", {1, 0}}});
    define.scope_type = "execution";
    define.scope_id = capitals(op.execution_id->to_string());
    ok(define);
    report({{"tokens", 1}});
    create(op);
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(*op.execution_id), "blocked_by_budget");
}

TEST_P(LimitEdges, NodesOfAGraphKnowBudgetsThatNamedThemBefore) {
    SubmitFlow submit;
    submit.flow_id = FlowId{uuid(9)};
    submit.flow_kind = "f";
    submit.ns = "acme";
    FlowNode node;
    node.name = "only";
    node.execution = job();
    const ExecutionId id = ExecutionId::for_flow(*submit.flow_id, {}, uuid(78));
    node.execution.execution_id = id;
    submit.nodes.push_back(node);
    CreateBudget define = budget({{"tokens", {1, 0}}});
    define.scope_type = "execution";
    define.scope_id = id.to_string();
    ok(define);
    report({{"tokens", 1}});
    ok(submit);
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(id), "blocked_by_budget");
}

TEST_P(LimitEdges, AnExpiredGrantOfARetryForgetsNoStart) {
    FF_NEEDS_CLOCK();
    ok(quota(1, 0, 600));
    const ClaimedTask task = start_with_quota(
        R"(,"retry_policy":{"max_retries":5,"backoff":{"type":"fixed","delay_ms":1000}})");
    ok(Fail{task.handle, "again", "transient"});
    after(1'000);
    const Grant given = grant();
    after(given.expires_at_ms - now());
    EXPECT_EQ(quota_state().in_window, 1U) << "it began before";
    create(job_with_quota());
    EXPECT_EQ(claim().execution_id(), task.execution_id()) << "only the retry may start";
    EXPECT_FALSE(has_work());
}

TEST_P(LimitEdges, WhoGoesOnWaitsForASlotAndNotForTheWindow) {
    FF_NEEDS_CLOCK();
    ok(quota(2, 1, 86'400));
    const ClaimedTask first = start_with_quota();
    Delay pause;
    pause.lease = first.handle;
    pause.delay_until = now() + 1'000;
    ok(pause);
    const ClaimedTask second = start_with_quota();
    after(1'000);
    EXPECT_FALSE(has_work()) << "the slot is taken";
    EXPECT_EQ(eligibility(first.execution_id()), "blocked_by_quota");
    create(job_with_quota());
    EXPECT_FALSE(has_work()) << "the window is full";
    ok(Complete{second.handle, "", {}});
    settle();
    EXPECT_EQ(claim().execution_id(), first.execution_id()) << "it needs no new start";
    EXPECT_FALSE(has_work());
}

TEST_P(LimitEdges, ADeletedPolicyIsForgottenWithAllItGave) {
    ok(quota(5, 1));
    const ClaimedTask old = start_with_quota();
    ok(DeleteQuotaPolicy{quota_id()});
    settle();
    EXPECT_FALSE(ok(ReadQuotaPolicy{quota_id()}));
    ok(quota(5, 1));
    settle();
    EXPECT_EQ(quota_state().running, 1U) << "who runs still holds its slot";
    ok(Complete{old.handle, "", {}});
    EXPECT_EQ(quota_state().running, 0U);
    start_with_quota();
    create(job_with_quota());
    EXPECT_FALSE(has_work()) << "one at once, as before";
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).findings, std::vector<std::string>{});
}

TEST_P(LimitEdges, APolicyThatIsGoneMakesRoomForAnother) {
    ok(quota(0, 1));
    ok(quota(0, 2, 60, quota_id(2)));
    const ExecutionId id = create(job_with_quota());
    EXPECT_EQ(refused(AttachQuota{quota_id(2), LimitTarget::execution, id.to_string()}),
              "quota_attach_conflict");
    ok(DeleteQuotaPolicy{quota_id()});
    settle();
    EXPECT_TRUE(ok(AttachQuota{quota_id(2), LimitTarget::execution, id.to_string()}).changed);
    const ClaimedTask task = claim();
    EXPECT_EQ(quota_state(quota_id(2)).running, 1U);
    ok(Complete{task.handle, "", {}});

    const ExecutionId other = create(job_with_quota(quota_id(7)));
    EXPECT_TRUE(ok(DetachQuota{quota_id(7), LimitTarget::execution, other.to_string()}).changed)
        << "one that was never defined";
}

TEST_P(LimitEdges, ASlotThatWasAskedForIsGivenBackAtTheEnd) {
    ok(quota(0, 3));
    const ClaimedTask runs = start();
    EXPECT_EQ(ok(CheckAdmission{quota_id(), runs.execution_id(), {}}).outcome,
              AdmissionOutcome::admitted);
    const ExecutionId waits = create();
    EXPECT_EQ(ok(CheckAdmission{quota_id(), waits, {}}).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(quota_state().running, 2U);
    ok(Complete{runs.handle, "", {}});
    EXPECT_EQ(quota_state().running, 1U);
    ok(CancelExecution{LeaseRef(waits), "stop", "operator_override"});
    EXPECT_EQ(quota_state().running, 0U);
}

TEST_P(LimitEdges, WhoIsCoveredNoMoreGoesOn) {
    // The periodic pass finds those whom a detach could not reach.
    ok(budget({{"tokens", {1, 0}}}));
    ok(AttachBudget{budget_id(), LimitTarget::namespace_, "acme"});
    report({{"tokens", 1}});
    const ExecutionId id = create();
    EXPECT_FALSE(has_work());
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 0U) << "it is covered";
    EXPECT_EQ(eligibility(id), "blocked_by_budget");
    ok(DetachBudget{budget_id(), LimitTarget::namespace_, "acme"});
    settle();
    EXPECT_EQ(claim().execution_id(), id);
}

TEST_P(LimitEdges, ABlockByNameIsLiftedWhenTheLimitWouldAdmit) {
    ok(budget({{"tokens", {1, 0}}}));
    ok(quota(0, 1));
    const ExecutionId spends = create(job_with_budget());
    const ExecutionId counts =
        create(with(job_with_quota(), [](auto& op) { op.lane_id = "counted"; }));
    const ClaimedTask runs = start(with(job_with_quota(), [](auto& op) { op.lane_id = "runs"; }));
    report({{"tokens", 1}});
    ok(BlockExecution{spends, "waiting_for_budget", {}});
    ok(BlockExecution{counts, "waiting_for_quota", {}});
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 0U);
    EXPECT_EQ(eligibility(spends), "blocked_by_budget");
    EXPECT_EQ(eligibility(counts), "blocked_by_quota");
    EXPECT_EQ(quota_state().running, 1U) << "looking takes nothing";
    ok(ResetBudget{budget_id()});
    ok(Complete{runs.handle, "", {}});
    ok(RunScanner{"unblock"});
    EXPECT_EQ(eligibility(spends), "eligible_now");
    EXPECT_EQ(eligibility(counts), "eligible_now");
    EXPECT_EQ(quota_state().running, 0U);
}

}  // namespace ff::engine::test
