// Who waits at limits and who leaves them: the order in which a claim asks, slots that are given
// back and taken again, and queues longer than one look (spec 06, sections 6 and 7).
#include <algorithm>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class GateConformance : public LimitConformance {
  protected:
    static CreateExecution job_reserving(std::uint64_t tokens) {
        return job_with_policy(R"({"budget_ids":[")" + budget_id().to_string() +
                               R"("],"budget_reserve":{"tokens":)" + std::to_string(tokens) + "}}");
    }
    std::vector<ExecutionId> create_many(std::size_t count, const CreateExecution& op) {
        std::vector<ExecutionId> out;
        for (const auto& made : engine().run_all(std::vector<CreateExecution>(count, op))) {
            EXPECT_TRUE(made) << code_of(made);
            out.push_back(made ? made->execution_id : ExecutionId{});
        }
        return out;
    }
    std::vector<ClaimedTask> claim_up_to(std::uint32_t count) {
        return claim_some(with(claim_by("w1"), [&](Claim& op) { op.max_tasks = count; }));
    }
    std::size_t blocked(const std::vector<ExecutionId>& ids, const std::string& how) {
        return static_cast<std::size_t>(std::ranges::count_if(
            ids, [&](const ExecutionId& id) { return eligibility(id) == how; }));
    }
    SuspendResult suspend(const ClaimedTask& task) {
        Suspend op;
        op.lease = task.handle;
        op.resume_condition = any_signal("go");
        return ok(op);
    }
    void resume(const ClaimedTask& task, const SuspendResult& at) {
        DeliverSignal op;
        op.execution_id = task.execution_id();
        op.waitpoint_id = at.details.waitpoint.waitpoint_id;
        op.waitpoint_token = at.details.waitpoint.waitpoint_token;
        op.signal_name = "go";
        ok(op);
    }
    AdmissionResult check(const ExecutionId& id, QuotaPolicyId policy = quota_id()) {
        return ok(CheckAdmission{policy, id, {}});
    }
};
FF_ON_EVERY_ENGINE(GateConformance);

// ------------------------------------------------------------------------- what applies to whom

TEST_P(GateConformance, IdsOfLimitsInAPolicyMustBeIds) {
    EXPECT_EQ(refused(job_with_policy(R"({"budget_ids":["nonsense"]})")), "invalid_policy_json");
    EXPECT_EQ(refused(job_with_policy(R"({"quota_policy_id":"nonsense"})")), "invalid_policy_json");
    std::string many;
    for (std::uint8_t n = 1; n <= limits_per_target_max + 1; ++n) {
        many += (many.empty() ? "\"" : ",\"") + budget_id(n).to_string() + "\"";
    }
    EXPECT_EQ(refused(job_with_policy(R"({"budget_ids":[)" + many + "]}")), "invalid_policy_json");
    // Well formed and of nobody: they limit nothing until they are defined.
    const ExecutionId id =
        create(job_with_policy(R"({"budget_ids":[")" + budget_id().to_string() +
                               R"("],"quota_policy_id":")" + quota_id().to_string() + R"("})"));
    EXPECT_EQ(claim().execution_id(), id);
}

TEST_P(GateConformance, AQuotaOfAFlowLaneOrNamespaceApplies) {
    const auto flow = ok(CreateFlow{.flow_kind = "f", .ns = "acme"}).flow_id;
    const auto member = [&](std::uint8_t n) {
        const ExecutionId id =
            ExecutionId::for_flow(flow, ok(ReadCapabilities{}).partitions, uuid(n));
        create(with(job("lane-f"), [&](CreateExecution& op) { op.execution_id = id; }));
        ok(AddExecutionToFlow{flow, id});
    };
    create(job("lane-a"));
    for (std::uint8_t n = 1; n <= 3; ++n) {
        ok(quota(0, 1, 60, quota_id(n)));
    }
    ok(AttachQuota{quota_id(1), LimitTarget::flow, flow.to_string()});
    ok(AttachQuota{quota_id(2), LimitTarget::lane, "lane-a"});
    ok(AttachQuota{quota_id(3), LimitTarget::namespace_, "other"});
    member(91);
    member(92);
    create(job("lane-a"));
    const auto in_namespace = [](CreateExecution& op) { op.ns = "other"; };
    create(with(job("lane-n"), in_namespace));
    create(with(job("lane-n"), in_namespace));
    for (const auto& [lane, policy] :
         {std::pair{"lane-f", quota_id(1)}, {"lane-a", quota_id(2)}, {"lane-n", quota_id(3)}}) {
        const ClaimedTask first = claim("w1", lane);
        EXPECT_FALSE(has_work("w1", lane)) << lane;
        EXPECT_EQ(quota_state(policy).running, 1U) << lane;
        EXPECT_TRUE(quota_state(policy).blocks) << lane;
        ok(Complete{first.handle, "", {}});
        settle();
        claim("w1", lane);
    }
}

TEST_P(GateConformance, ABudgetOfAFlowIsAttachedToItsMembersOnly) {
    const auto flow = ok(CreateFlow{.flow_kind = "f", .ns = "acme"}).flow_id;
    const ExecutionId member =
        ExecutionId::for_flow(flow, ok(ReadCapabilities{}).partitions, uuid(91));
    create(with(job(), [&](CreateExecution& op) { op.execution_id = member; }));
    ok(AddExecutionToFlow{flow, member});
    const ExecutionId other = create();
    ok(with(budget({{"x", {1, 0}}}), [&](CreateBudget& op) {
        op.scope_type = "flow";
        op.scope_id = flow.to_string();
    }));
    EXPECT_TRUE(ok(AttachBudget{budget_id(), LimitTarget::execution, member.to_string()}).changed);
    EXPECT_FALSE(ok(AttachBudget{budget_id(), LimitTarget::flow, flow.to_string()}).changed)
        << "its scope says so already";
    const Error conflict =
        error(AttachBudget{budget_id(), LimitTarget::execution, other.to_string()});
    EXPECT_EQ(to_string(conflict.code), "budget_attach_conflict");
    EXPECT_EQ(refused(AttachBudget{budget_id(), LimitTarget::namespace_, "acme"}),
              "budget_attach_conflict");
}

TEST_P(GateConformance, AttachingToAnExecutionIsAMutationOfIt) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create();
    ok(budget({{"x", {1, 0}}}));
    ok(quota(1, 1));
    const auto mutated_by = [&](auto op) {
        clock().advance(1000);
        ok(op);
        return ok(DescribeExecution{id})->last_mutation_at == now();
    };
    const std::string target = id.to_string();
    EXPECT_TRUE(mutated_by(AttachBudget{budget_id(), LimitTarget::execution, target}));
    EXPECT_TRUE(mutated_by(AttachQuota{quota_id(), LimitTarget::execution, target}));
    EXPECT_TRUE(mutated_by(DetachBudget{budget_id(), LimitTarget::execution, target}));
    EXPECT_TRUE(mutated_by(DetachQuota{quota_id(), LimitTarget::execution, target}));
}

// --------------------------------------------------------------------------- in which order

TEST_P(GateConformance, WhoCannotRunItTakesNothing) {
    ok(quota(1, 1));
    ok(budget({{"tokens", {10, 0}}}));
    const ExecutionId id = create(job_with_policy(
        R"({"routing_requirements":{"required_capabilities":["gpu"]},"budget_ids":[")" +
        budget_id().to_string() + R"("],"budget_reserve":{"tokens":5},"quota_policy_id":")" +
        quota_id().to_string() + R"("})"));
    EXPECT_FALSE(has_work());
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(quota_state().in_window, 0U);
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, Amounts{});
    const ClaimedTask task =
        claim(with(claim_by("w1"), [](Claim& op) { op.capabilities = {"gpu"}; }));
    EXPECT_EQ(task.execution_id(), id);
    EXPECT_EQ(quota_state().running, 1U);
}

TEST_P(GateConformance, BudgetsAreAskedBeforeQuotas) {
    ok(quota(0, 1));
    ok(budget({{"tokens", {10, 0}}}));
    const std::string both = R"({"budget_ids":[")" + budget_id().to_string() +
                             R"("],"quota_policy_id":")" + quota_id().to_string() + R"("})";
    create(job_with_quota());
    claim();
    report({{"tokens", 10}});
    const ExecutionId id = create(job_with_policy(both));
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(id), "blocked_by_budget");
    ok(ResetBudget{budget_id()});
    settle();
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(id), "blocked_by_quota") << "the next thing in its way";
    EXPECT_EQ(quota_state().running, 1U);
}

TEST_P(GateConformance, WhoGoesOnIsAskedAgainAndWhoTakesOverIsNot) {
    ok(budget({{"tokens", {10, 0}}}));
    const ClaimedTask task = start(job_with_budget());
    const ClaimedTask lost = start(job_with_budget());
    const SuspendResult at = suspend(task);
    report({{"tokens", 10}});
    resume(task, at);
    EXPECT_FALSE(has_work());
    EXPECT_EQ(eligibility(task.execution_id()), "blocked_by_budget");
    ok(RevokeLease{lost.execution_id()});
    settle();
    EXPECT_EQ(claim("w2").execution_id(), lost.execution_id());
    ok(ResetBudget{budget_id()});
    settle();
    const ClaimedTask again = claim();
    EXPECT_EQ(again.execution_id(), task.execution_id());
    EXPECT_TRUE(again.resumed());
    EXPECT_EQ(again.handle.attempt_index, task.handle.attempt_index);
}

// ------------------------------------------------------------------------------- giving back

TEST_P(GateConformance, ASuspendedOneGivesItsSlotBackAndTakesOneToGoOn) {
    ok(quota(1, 1, 600));
    const ClaimedTask task = start(job_with_quota());
    const SuspendResult at = suspend(task);
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(quota_state().in_window, 1U) << "it has begun";
    ok(UpdateQuotaPolicy{quota_id(), {600, 2, 1, 0}});
    const ClaimedTask other = start(job_with_quota());
    resume(task, at);
    EXPECT_FALSE(has_work()) << "the slot is another's";
    EXPECT_EQ(eligibility(task.execution_id()), "blocked_by_quota");
    ok(Complete{other.handle, "", {}});
    settle();
    const ClaimedTask again = claim();
    EXPECT_EQ(again.execution_id(), task.execution_id());
    EXPECT_EQ(quota_state().running, 1U);
    EXPECT_EQ(quota_state().in_window, 2U) << "to go on is no new start";
    ok(Complete{again.handle, "", {}});
    EXPECT_EQ(quota_state().running, 0U);
}

TEST_P(GateConformance, OneThatWaitsForItsChildrenGivesItsSlotBack) {
    ok(quota(0, 1));
    const auto flow = ok(CreateFlow{.flow_kind = "f", .ns = "acme"}).flow_id;
    const auto partitions = ok(ReadCapabilities{}).partitions;
    const auto member = [&](std::uint8_t n, CreateExecution op) {
        op.execution_id = ExecutionId::for_flow(flow, partitions, uuid(n));
        create(op);
        ok(AddExecutionToFlow{flow, *op.execution_id});
        return *op.execution_id;
    };
    const ExecutionId parent = member(91, job_with_quota());
    const ClaimedTask task = claim();
    ASSERT_EQ(task.execution_id(), parent);
    const ExecutionId child = member(92, job_with_quota());
    StageDependencyEdge edge;
    edge.flow_id = flow;
    edge.upstream_execution_id = child;
    edge.downstream_execution_id = parent;
    edge.expected_graph_revision = ok(DescribeFlow{flow})->graph_revision;
    const EdgeId id = ok(edge).edge_id;
    ok(ApplyDependency{flow, id, child, parent});
    EXPECT_FALSE(has_work()) << "the parent holds the slot";
    ok(WaitChildren{task.handle});
    settle();
    EXPECT_EQ(quota_state().running, 0U);
    const ClaimedTask work = claim();
    EXPECT_EQ(work.execution_id(), child) << "a cap of one does not lock them";
    ok(Complete{work.handle, "", {}, Source::lease_holder});
    settle();
    EXPECT_EQ(claim().execution_id(), parent);
    EXPECT_EQ(quota_state().running, 1U);
}

TEST_P(GateConformance, ADeadlineGivesTheSlotBackAndALostLeaseDoesNot) {
    FF_NEEDS_CLOCK();
    ok(quota(0, 1));
    ok(budget({{"tokens", {10, 0}}}));
    CreateExecution op = job_with_policy(R"({"budget_ids":[")" + budget_id().to_string() +
                                         R"("],"budget_reserve":{"tokens":5},"quota_policy_id":")" +
                                         quota_id().to_string() + R"("})");
    op.execution_deadline_at = now() + 100'000;
    const ClaimedTask task = start(op);
    after(task.lease_expires_at - now());
    EXPECT_EQ(quota_state().running, 1U) << "kept for who takes over";
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, (Amounts{{"tokens", 5}}));
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).processed, 0U);
    EXPECT_EQ(quota_state().running, 1U) << "the repair leaves it alone";
    after(*op.execution_deadline_at - now());
    EXPECT_EQ(public_of(task.execution_id()), PublicState::expired);
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(ok(GetBudgetStatus{budget_id()}).reserved, Amounts{});
}

TEST_P(GateConformance, OneThatIsSkippedGivesBackWhatItWasGiven) {
    ok(quota(0, 1));
    SubmitFlow submit;
    submit.flow_id = FlowId{uuid(9)};
    submit.flow_kind = "f";
    submit.ns = "acme";
    const auto partitions = ok(ReadCapabilities{}).partitions;
    for (std::uint8_t n = 1; n <= 2; ++n) {
        FlowNode node;
        node.name = n == 1 ? "first" : "second";
        node.execution = job();
        node.execution.execution_id = ExecutionId::for_flow(*submit.flow_id, partitions, uuid(n));
        submit.nodes.push_back(node);
    }
    FlowEdge edge;
    edge.from = "first";
    edge.to = "second";
    submit.edges.push_back(edge);
    ok(submit);
    const ExecutionId second = *submit.nodes[1].execution.execution_id;
    EXPECT_EQ(check(second).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(quota_state().running, 1U);
    ok(Fail{claim().handle, "broken", "permanent", Source::lease_holder});
    settle();
    EXPECT_EQ(public_of(second), PublicState::skipped);
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).processed, 0U);
}

TEST_P(GateConformance, StartsThatHaveAgedCountNoMoreThoughNobodyLooked) {
    FF_NEEDS_CLOCK();
    ok(quota(5, 0, 10));
    for (int i = 0; i < 3; ++i) {
        start(job_with_quota());
    }
    EXPECT_EQ(quota_state().in_window, 3U);
    clock().advance(9'999);
    EXPECT_EQ(quota_state().in_window, 3U);
    clock().advance(1);
    EXPECT_EQ(quota_state().in_window, 0U);
    EXPECT_EQ(ok(ListQuotaPolicies{{}, 10}).policies.at(0).in_window, 0U);
    EXPECT_EQ(ok(RunScanner{"quota_reconciler"}).findings, std::vector<std::string>{});
    EXPECT_EQ(quota_state().in_window, 0U) << "and not again when they are dropped";
}

// ------------------------------------------------------------------------------------ windows

TEST_P(GateConformance, AWindowOfNothingIsAMinute) {
    FF_NEEDS_CLOCK();
    ok(quota(1, 0, 0));
    const ExecutionId first = create();
    const ExecutionId second = create();
    check(first);
    EXPECT_EQ(check(second), (AdmissionResult{AdmissionOutcome::rate_exceeded, 60'000}));
    after(59'999);
    EXPECT_EQ(check(second).outcome, AdmissionOutcome::rate_exceeded);
    after(1);
    EXPECT_EQ(check(second).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(quota_state().limits.window_seconds, 0U) << "as it was defined";
}

TEST_P(GateConformance, APolicyWithoutLimitsWritesNothingDown) {
    ok(quota(0, 0));
    const ClaimedTask task = start(job_with_quota());
    EXPECT_EQ(check(task.execution_id()).outcome, AdmissionOutcome::admitted);
    EXPECT_EQ(quota_state().running, 0U);
    EXPECT_EQ(quota_state().in_window, 0U);
    ok(UpdateQuotaPolicy{quota_id(), {60, 0, 1, 0}});
    start(job_with_quota());
    create(job_with_quota());
    EXPECT_FALSE(has_work()) << "who ran before holds no slot, and one more may run";
}

TEST_P(GateConformance, JitterStaysWithinItsBounds) {
    FF_NEEDS_CLOCK();
    EXPECT_EQ(refused(CreateQuotaPolicy{quota_id(), {10, 1, 0, 86'400'001}}), "invalid_quota_spec");
    ok(CreateQuotaPolicy{quota_id(), {10, 1, 0, 1'000}});
    check(create());
    after(4'000);
    const ExecutionId id = create();
    std::set<DurationMs> seen;
    for (int i = 0; i < 200; ++i) {
        const AdmissionResult answer = check(id);
        EXPECT_EQ(answer.outcome, AdmissionOutcome::rate_exceeded);
        EXPECT_GE(answer.retry_after_ms, 6'000);
        EXPECT_LE(answer.retry_after_ms, 7'000) << "0 to the jitter, both included";
        seen.insert(answer.retry_after_ms);
    }
    EXPECT_GT(seen.size(), 20U) << "spread over it";
    EXPECT_EQ(quota_state().in_window, 1U) << "refusals write nothing down";

    const ExecutionId blocked_one = create(job_with_quota());
    claim_up_to(10);
    ASSERT_EQ(eligibility(blocked_one), "blocked_by_quota");
    const auto until = ok(ExplainExecution{blocked_one}).until;
    ASSERT_TRUE(until);
    EXPECT_GE(*until, now() + 6'000);
    EXPECT_LE(*until, now() + 7'000);
    after(7'000);
    EXPECT_EQ(claim().execution_id(), blocked_one) << "not later than that";
}

TEST_P(GateConformance, RefusedStartsAreCountedByTheirReason) {
    FF_NEEDS_EMBEDDED();
    ok(quota(1, 0, 60, quota_id(1)));
    ok(quota(0, 1, 60, quota_id(2)));
    for (std::uint8_t n = 1; n <= 2; ++n) {
        create_many(3, job_with_quota(quota_id(n)));
        EXPECT_EQ(claim_up_to(10).size(), 1U);
    }
    EXPECT_EQ(engine().stats().rate_hits, 2U);
    EXPECT_EQ(engine().stats().concurrency_hits, 2U);
}

// -------------------------------------------------------------------------------- long queues

TEST_P(GateConformance, MoreThanAThousandWhoWaitForABudgetAllGoOn) {
    constexpr std::size_t waiting = 1'150;
    ok(budget({{"tokens", {10, 0}}}));
    report({{"tokens", 10}});
    const auto ids = create_many(waiting, job_with_budget());
    EXPECT_TRUE(claim_up_to(1'000).empty());
    while (blocked({ids.back()}, "blocked_by_budget") == 0) {
        ASSERT_TRUE(claim_up_to(1'000).empty());
    }
    ok(ResetBudget{budget_id()});
    settle();
    std::size_t got = 0;
    for (std::size_t more = 1; more > 0; got += more) {
        more = claim_up_to(500).size();
    }
    EXPECT_EQ(got, waiting);
}

TEST_P(GateConformance, OfAThousandWhoWaitForASlotAsManyGoOnAsThereIsRoom) {
    constexpr std::size_t waiting = 1'100;
    ok(quota(0, 2));
    const auto ids = create_many(waiting, job_with_quota());
    auto running = claim_up_to(1'000);
    ASSERT_EQ(running.size(), 2U);
    while (blocked({ids.back()}, "blocked_by_quota") == 0) {
        ASSERT_TRUE(claim_up_to(1'000).empty());
    }
    ok(Complete{running[0].handle, "", {}});
    settle();
    EXPECT_EQ(eligibility(ids[2]), "eligible_now");
    EXPECT_EQ(eligibility(ids[3]), "blocked_by_quota") << "one for each that ends";
    ok(UpdateQuotaPolicy{quota_id(), {60, 0, 0, 0}});
    settle();
    std::size_t got = 0;
    for (std::size_t more = 1; more > 0; got += more) {
        more = claim_up_to(500).size();
    }
    EXPECT_EQ(got, waiting - 2);
}

TEST_P(GateConformance, WhoNeverFitsKeepsNobodyBehindIt) {
    // More than one look holds ask for more than there ever is; behind them stands one that fits.
    ok(budget({{"tokens", {100, 0}}}));
    create(job_reserving(10));
    const ClaimedTask stays = claim();
    create(job_reserving(90));
    const ClaimedTask leaves = claim();
    const auto large = create_many(150, job_reserving(101));
    const ExecutionId small = create(job_reserving(5));
    EXPECT_TRUE(claim_up_to(1'000).empty());
    ASSERT_EQ(eligibility(small), "blocked_by_budget");
    ok(Complete{leaves.handle, "", {}});
    settle();
    // The periodic pass looks at a page of them, and at the next one the next time.
    for (int passes = 0; passes < 4 && eligibility(small) != "eligible_now"; ++passes) {
        ok(RunScanner{"unblock"});
    }
    EXPECT_EQ(eligibility(small), "eligible_now");
    EXPECT_EQ(claim().execution_id(), small);
    EXPECT_EQ(blocked(large, "blocked_by_budget"), large.size());
}

TEST_P(GateConformance, WhoNeedsNoStartDoesNotWaitBehindThoseWhoDo) {
    FF_NEEDS_CLOCK();
    ok(quota(2, 1, 86'400));
    const ClaimedTask first = start(job_with_quota());
    const SuspendResult at = suspend(first);
    const ClaimedTask second = start(job_with_quota());
    // The window is full, and many who need a start stand in front.
    auto urgent = job_with_quota();
    urgent.priority = 9;
    create_many(150, urgent);
    resume(first, at);
    EXPECT_TRUE(claim_up_to(1'000).empty());
    ASSERT_EQ(eligibility(first.execution_id()), "blocked_by_quota");
    ok(Complete{second.handle, "", {}});
    settle();
    for (int passes = 0; passes < 4 && eligibility(first.execution_id()) != "eligible_now";
         ++passes) {
        ok(RunScanner{"unblock"});
    }
    EXPECT_EQ(claim().execution_id(), first.execution_id());
}

}  // namespace ff::engine::test
