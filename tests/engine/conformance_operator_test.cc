// What operators change (priority, replay, tags, blocks, lanes) and what time clears away
// (spec 02 sections 3.7, 7 and 9).
#include "engine/conformance.h"

namespace ff::engine::test {

class OperatorConformance : public Conformance {
  protected:
    static constexpr Source holder = Source::lease_holder;
    ExecutionId completed(CreateExecution op = job(), const std::string& result = "result") {
        const ClaimedTask task = start(std::move(op));
        ok(Complete{task.handle, result, {}, holder});
        return task.execution_id();
    }
    const ExecutionId missing_{0, new_uuid()};
};
FF_ON_EVERY_ENGINE(OperatorConformance);

// ------------------------------------------------------------------------------------- priority

TEST_P(OperatorConformance, ChangingThePriorityChangesTheOrder) {
    const ExecutionId first = create(job_with_priority(5));
    const ExecutionId second = create(job_with_priority(5));
    const ExecutionId third = create(job_with_priority(5));
    EXPECT_EQ(ok(ChangePriority{third, 6}).execution_id, third);
    ok(ChangePriority{first, 4});
    ok(ChangePriority{second, 5});
    EXPECT_EQ(snapshot(third).info.priority, 6);
    EXPECT_EQ(drain(claim_by("w1")), (std::vector<ExecutionId>{third, second, first}));
}

TEST_P(OperatorConformance, EqualPrioritiesKeepTheOrderOfCreation) {
    const ExecutionId first = create(job_with_priority(1));
    const ExecutionId second = create(job_with_priority(9));
    ok(ChangePriority{first, 9});
    EXPECT_EQ(drain(claim_by("w1")), (std::vector<ExecutionId>{first, second}));
}

TEST_P(OperatorConformance, PriorityIsClampedAndOnlyForWhatWaits) {
    const ExecutionId id = create();
    ok(ChangePriority{id, 100'000});
    EXPECT_EQ(snapshot(id).info.priority, 9'000);
    ok(ChangePriority{id, -1});
    EXPECT_EQ(snapshot(id).info.priority, 0);
    EXPECT_EQ(refused(ChangePriority{missing_, 1}), "execution_not_found");
    ok(BlockExecution{id, "paused_by_operator", {}});
    EXPECT_EQ(refused(ChangePriority{id, 1}), "execution_not_eligible");
    ok(UnblockExecution{id, {}});
    const ClaimedTask task = claim();
    EXPECT_EQ(refused(ChangePriority{id, 1}), "execution_not_eligible");
    ok(Complete{task.handle, {}, {}, holder});
    EXPECT_EQ(refused(ChangePriority{id, 1}), "execution_not_eligible");
    const ExecutionId delayed = create(with(job(), [](auto& op) { op.delay_until = t0 * 2; }));
    EXPECT_EQ(refused(ChangePriority{delayed, 1}), "execution_not_eligible");
}

// --------------------------------------------------------------------------------------- replay

TEST_P(OperatorConformance, AReplayRunsAgainAsANewAttempt) {
    const ExecutionId id = completed();
    const auto before = snapshot(id);
    EXPECT_EQ(ok(ReplayExecution{id}).public_state, PublicState::waiting);
    EXPECT_EQ(state(id),
              "runnable unowned eligible_now waiting_for_worker none pending_replay_attempt");
    auto s = snapshot(id);
    EXPECT_EQ(s.replay_count, 1U);
    EXPECT_FALSE(s.info.completed_at);
    EXPECT_EQ(s.info.started_at, before.info.started_at);
    EXPECT_EQ(s.info.created_at, before.info.created_at);
    EXPECT_EQ(s.lease_epoch, 1U);
    EXPECT_FALSE(ok(GetExecutionResult{id})) << "the old result is not served meanwhile";
    const ClaimedTask again = claim("w2");
    EXPECT_EQ(again.attempt_type, AttemptType::replay);
    EXPECT_EQ(again.handle.attempt_index, 1U);
    EXPECT_EQ(again.handle.lease_epoch, 2U);
    EXPECT_EQ(attempt(id, 1).requested_by, "operator");
    EXPECT_EQ(attempt(id, 1).previous_attempt_index, 0U);
    ok(Complete{again.handle, "second", {}, holder});
    EXPECT_EQ(ok(GetExecutionResult{id})->payload, "second");
    EXPECT_EQ(history(id), (std::vector<std::string>{"acquired", "released:completed=success",
                                                     "replay_initiated:normal", "acquired",
                                                     "released:completed=success"}));
}

TEST_P(OperatorConformance, AReplayedSuccessWithoutAResultHasNone) {
    const ExecutionId id = completed();
    ok(ReplayExecution{id});
    ok(Complete{claim().handle, {}, {}, holder});
    EXPECT_FALSE(ok(GetExecutionResult{id}));
}

TEST_P(OperatorConformance, AnyOutcomeCanBeReplayedAndGetsAllItsRetries) {
    FF_NEEDS_CLOCK();
    const std::string policy =
        R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":10}},)"
        R"("timeout_policy":{"execution_deadline_ms":50000}})";
    const ExecutionId failed = create(job_with_policy(policy));
    ok(Fail{claim().handle, "r", "x", holder});
    after(10);
    ok(Fail{claim().handle, "r", "x", holder});
    EXPECT_EQ(public_of(failed), PublicState::failed);
    ok(ReplayExecution{failed});
    EXPECT_EQ(snapshot(failed).retry_count, 0U);
    EXPECT_FALSE(snapshot(failed).failure_reason);
    EXPECT_TRUE(ok(Fail{claim().handle, "r", "x", holder}).retry_scheduled);

    const ExecutionId cancelled = create(job("c"));
    ok(CancelExecution{LeaseRef(cancelled), "no", "operator_override"});
    ok(ReplayExecution{cancelled});
    EXPECT_FALSE(snapshot(cancelled).cancellation_reason);
    EXPECT_FALSE(snapshot(cancelled).cancelled_by);
    EXPECT_EQ(claim("w1", "c").attempt_type, AttemptType::replay);

    const ExecutionId expired = create(job_with_policy(policy, "e"));
    after(50'000);
    EXPECT_EQ(public_of(expired), PublicState::expired);
    ok(ReplayExecution{expired});
    EXPECT_FALSE(snapshot(expired).execution_deadline_at) << "a deadline in the past is dropped";
    after(1);
    EXPECT_EQ(public_of(expired), PublicState::waiting);
}

TEST_P(OperatorConformance, ReplaysAreCountedAndCapped) {
    const ExecutionId id = completed(job_with_policy(R"({"max_replay_count":1})"));
    ok(ReplayExecution{id});
    EXPECT_EQ(refused(ReplayExecution{id}), "execution_not_terminal");
    ok(Complete{claim().handle, {}, {}, holder});
    EXPECT_EQ(refused(ReplayExecution{id}), "max_replays_exhausted");
    EXPECT_EQ(refused(ReplayExecution{missing_}), "execution_not_found");
    const ExecutionId default_cap = create(job("d"));
    for (int i = 0; i < 10; ++i) {
        ok(CancelExecution{LeaseRef(default_cap), "x", "operator_override"});
        ok(ReplayExecution{default_cap});
    }
    ok(CancelExecution{LeaseRef(default_cap), "x", "operator_override"});
    EXPECT_EQ(refused(ReplayExecution{default_cap}), "max_replays_exhausted");
}

// ----------------------------------------------------------------------------------------- tags

TEST_P(OperatorConformance, TagsAreSetReplacedAndRemoved) {
    const ExecutionId id = create(with(job(), [](auto& op) { op.tags = {{"plain", "1"}}; }));
    EXPECT_EQ(ok(SetExecutionTags{id, {{"app.a", "x"}, {"app.b", "y"}}}).count, 2U);
    EXPECT_EQ(ok(SetExecutionTags{id, {{"app.a", "z"}}}).count, 1U);
    EXPECT_EQ(snapshot(id).tags, (Tags{{"app.a", "z"}, {"app.b", "y"}, {"plain", "1"}}));
    EXPECT_EQ(ok(RemoveExecutionTag{id, "app.b"}).count, 1U);
    EXPECT_EQ(ok(RemoveExecutionTag{id, "app.b"}).count, 0U);
    EXPECT_EQ(snapshot(id).tags, (Tags{{"app.a", "z"}, {"plain", "1"}}));
    // Tags may be written in any phase, and a claim hands out the newest.
    const ClaimedTask task = claim();
    EXPECT_EQ(task.tags.at("app.a"), "z");
    ok(Complete{task.handle, {}, {}, holder});
    EXPECT_EQ(ok(SetExecutionTags{id, {{"app.late", "1"}}}).count, 1U);
    EXPECT_EQ(ok(ReadExecutionContext{id}).tags.at("app.late"), "1");
}

TEST_P(OperatorConformance, AnIdOfAPartitionThatIsNotThereIsNotFound) {
    // Only create looks at the count: spec 01 section 1.2.
    const ExecutionId beyond{60'000, new_uuid()};
    constexpr const char* not_found = "execution_not_found";
    EXPECT_EQ(refused(with(job(), [&](auto& op) { op.execution_id = beyond; })), "invalid_input");
    EXPECT_EQ(refused(CancelExecution{LeaseRef(beyond), "x", "operator_override"}), not_found);
    EXPECT_EQ(refused(ChangePriority{beyond, 1}), not_found);
    EXPECT_EQ(refused(ReplayExecution{beyond}), not_found);
    EXPECT_EQ(refused(RevokeLease{beyond, {}, {}, "x"}), not_found);
    EXPECT_EQ(refused(BlockExecution{beyond, "paused_by_operator", {}}), not_found);
    EXPECT_EQ(refused(UnblockExecution{beyond}), not_found);
    EXPECT_EQ(refused(SetExecutionTags{beyond, {{"a.b", "v"}}}), not_found);
    EXPECT_EQ(refused(RemoveExecutionTag{beyond, "a.b"}), not_found);
    EXPECT_EQ(ok(MarkLeaseExpiredIfDue{beyond}).outcome, not_found);
}

TEST_P(OperatorConformance, OneTagAndTheNamespaceAreAValueOrNothing) {
    const ExecutionId id = create(with(job(), [](auto& op) {
        op.ns = "tenant";
        op.tags = {{"plain", "1"}, {"empty", ""}};
    }));
    ok(SetExecutionTags{id, {{"app.a", "x"}}});
    EXPECT_EQ(ok(GetExecutionTag{id, "app.a"}), "x");
    EXPECT_EQ(ok(GetExecutionTag{id, "plain"}), "1") << "of any form that create accepts";
    EXPECT_EQ(ok(GetExecutionTag{id, "empty"}), "");
    EXPECT_FALSE(ok(GetExecutionTag{id, "app.b"}));
    EXPECT_FALSE(ok(GetExecutionTag{missing_, "app.a"}));
    EXPECT_EQ(ok(GetExecutionNamespace{id}), "tenant");
    EXPECT_FALSE(ok(GetExecutionNamespace{missing_}));
}

TEST_P(OperatorConformance, TagKeysHaveAForm) {
    const ExecutionId id = create();
    for (const char* key : {"a.b", "a1_2.x", "app.sub.field", "cairn.session_id"}) {
        EXPECT_EQ(refused(SetExecutionTags{id, {{key, "v"}}}), "ok") << key;
    }
    for (const char* key : {"", "Cairn.x", "1c.x", "cairn", "cairn.", "cairn..x", ".cairn",
                            "ca-irn.x", "cairn.Foo", "cairn.foo-bar", "a b.c", "a.b\"", "a\\.b"}) {
        const Error refusal = error(SetExecutionTags{id, {{key, "v"}}});
        EXPECT_EQ(refusal.code, ErrorCode::invalid_tag_key) << key;
        EXPECT_EQ(refusal.detail, key);
    }
    EXPECT_EQ(refused(SetExecutionTags{id, {{"a.b", "v"}, {"bad", "v"}}}), "invalid_tag_key");
    EXPECT_EQ(refused(SetExecutionTags{id, {}}), "invalid_input");
    EXPECT_EQ(refused(SetExecutionTags{missing_, {{"a.b", "v"}}}), "execution_not_found");
    EXPECT_EQ(refused(RemoveExecutionTag{missing_, "a.b"}), "execution_not_found");
    EXPECT_EQ(snapshot(id).tags.size(), 4U);
}

// --------------------------------------------------------------------------- block and unblock

TEST_P(OperatorConformance, EachReasonBlocksInItsWay) {
    const struct {
        const char* reason;
        const char* eligibility;
        PublicState shown;
    } table[] = {
        {"waiting_for_budget", "blocked_by_budget", PublicState::rate_limited},
        {"waiting_for_quota", "blocked_by_quota", PublicState::rate_limited},
        {"waiting_for_capable_worker", "blocked_by_route", PublicState::waiting},
        {"paused_by_operator", "blocked_by_operator", PublicState::waiting},
        {"paused_by_policy", "blocked_by_lane_state", PublicState::waiting},
    };
    for (const auto& row : table) {
        const ExecutionId id = create(job_requiring({"gpu"}));
        EXPECT_TRUE(ok(BlockExecution{id, row.reason, "because"}).blocked);
        EXPECT_EQ(state(id), std::string("runnable unowned ") + row.eligibility + " " + row.reason +
                                 " none pending_first_attempt");
        EXPECT_EQ(public_of(id), row.shown);
        EXPECT_EQ(snapshot(id).info.blocking_detail, "because");
        EXPECT_EQ(refused(UnblockExecution{id, "waiting_for_children"}), "execution_not_eligible");
        ok(UnblockExecution{id, row.reason});
        EXPECT_EQ(state(id),
                  "runnable unowned eligible_now waiting_for_worker none pending_first_attempt");
        EXPECT_EQ(snapshot(id).info.blocking_detail, "no live worker has gpu")
            << "what it was told is gone, what is so is told";
    }
}

TEST_P(OperatorConformance, BlockedWorkIsNotHandedOutAndKeepsItsPlace) {
    const ExecutionId first = create();
    const ExecutionId second = create();
    ok(BlockExecution{first, "paused_by_operator", {}});
    EXPECT_EQ(claim("w1").execution_id(), second);
    EXPECT_FALSE(has_work());
    const ExecutionId third = create();
    ok(UnblockExecution{first, {}});
    EXPECT_EQ(drain(claim_by("w1")), (std::vector<ExecutionId>{first, third}));
}

TEST_P(OperatorConformance, BlockingIsRefusedWhereItMakesNoSense) {
    EXPECT_EQ(refused(BlockExecution{missing_, "paused_by_operator", {}}), "execution_not_found");
    EXPECT_EQ(refused(UnblockExecution{missing_, {}}), "execution_not_found");
    const ExecutionId id = create();
    EXPECT_EQ(refused(BlockExecution{id, "waiting_for_children", {}}), "invalid_blocking_reason");
    EXPECT_EQ(refused(BlockExecution{id, "nonsense", {}}), "invalid_blocking_reason");
    EXPECT_EQ(refused(UnblockExecution{id, {}}), "execution_not_eligible");
    ok(BlockExecution{id, "paused_by_operator", {}});
    const BlockResult again = ok(BlockExecution{id, "waiting_for_budget", {}});
    EXPECT_FALSE(again.blocked);
    EXPECT_FALSE(again.message.empty());
    ok(UnblockExecution{id, {}});
    const ClaimedTask task = claim();
    EXPECT_EQ(refused(BlockExecution{id, "paused_by_operator", {}}), "execution_not_eligible");
    ok(Complete{task.handle, {}, {}, holder});
    const Error ended = error(BlockExecution{id, "paused_by_operator", {}});
    EXPECT_EQ(ended.code, ErrorCode::execution_not_active);
    EXPECT_EQ(ended.field("terminal_outcome"), "success");
}

TEST_P(OperatorConformance, ABlockKeepsTheAttemptState) {
    const ClaimedTask task = start();
    ok(Release{task.handle});
    ok(BlockExecution{task.execution_id(), "waiting_for_quota", {}});
    EXPECT_EQ(state(task.execution_id()),
              "runnable unowned blocked_by_quota waiting_for_quota none attempt_interrupted");
    ok(UnblockExecution{task.execution_id(), {}});
    EXPECT_EQ(claim("w2").handle.kind, HandleKind::resumed);
}

TEST_P(OperatorConformance, TheUnblockPassLiftsWhatIsOver) {
    const ExecutionId budget = create(job("b"));
    const ExecutionId quota = create(job("q"));
    const ExecutionId route = create(job_requiring({"gpu", "cuda"}, "r"));
    const ExecutionId held = create(job("h"));
    ok(BlockExecution{budget, "waiting_for_budget", {}});
    ok(BlockExecution{quota, "waiting_for_quota", {}});
    ok(BlockExecution{route, "waiting_for_capable_worker", {}});
    ok(BlockExecution{held, "paused_by_operator", {}});
    // No single worker has both tokens: two that have one each do not count.
    ok(registration("one", {"gpu"}, "r"));
    ok(registration("two", {"cuda"}, "r"));
    ok(registration("elsewhere", {"cuda", "gpu"}, "other"));
    ok(registration("stranger", {"cuda", "gpu"}, "r", "other"));
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 2U);
    EXPECT_EQ(public_of(budget), PublicState::waiting);
    EXPECT_EQ(public_of(quota), PublicState::waiting);
    EXPECT_EQ(snapshot(route).info.state.eligibility, EligibilityState::blocked_by_route);
    EXPECT_EQ(snapshot(held).info.state.eligibility, EligibilityState::blocked_by_operator);
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 0U);
}

TEST_P(OperatorConformance, AWorkerThatRegistersLiftsTheRouteBlocksItCanServe) {
    const ExecutionId mine = create(job_requiring({"gpu"}));
    const ExecutionId other_lane = create(job_requiring({"gpu"}, "other"));
    const ExecutionId other_ns =
        create(with(job_requiring({"gpu"}), [](auto& op) { op.ns = "other"; }));
    const ExecutionId more = create(job_requiring({"gpu", "tpu"}));
    const std::vector<ExecutionId> ids{mine, other_lane, other_ns, more};
    for (const ExecutionId& id : ids) {
        ok(BlockExecution{id, "waiting_for_capable_worker", {}});
    }
    ok(registration("w1-a", {"gpu"}));
    EXPECT_EQ(snapshot(mine).info.state.eligibility, EligibilityState::eligible_now);
    for (const ExecutionId& id : {other_lane, other_ns, more}) {
        EXPECT_EQ(snapshot(id).info.state.eligibility, EligibilityState::blocked_by_route);
    }
}

// ---------------------------------------------------------------------------------------- lanes

TEST_P(OperatorConformance, LanesAreListedWithTheirState) {
    ok(SetLaneState{"b", LaneState::paused});
    ok(SetLaneState{"a", LaneState::draining});
    create(job("c"));
    ok(SetLaneState{"c", LaneState::disabled});
    ok(SetLaneState{"c", LaneState::disabled});
    EXPECT_EQ(ok(ListLanes{}).lanes, (std::vector<LaneInfo>{{"a", LaneState::draining},
                                                            {"b", LaneState::paused},
                                                            {"c", LaneState::disabled}}));
    EXPECT_EQ(refused(SetLaneState{std::string(65, 'x'), LaneState::active}), "invalid_input");
    EXPECT_EQ(refused(SetLaneState{"tab\t", LaneState::active}), "invalid_input");
}

// ------------------------------------------------------------------------------------ retention

TEST_P(OperatorConformance, AFinishedExecutionIsForgottenAfterItsTime) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = completed(with(job(), [](auto& op) {
        op.tags = {{"team", "red"}};
        op.idempotency_key = "k";
        op.policy = R"({"dedup_window_ms":999999999})";
    }));
    const ExecutionId waiting = create();
    after(86'399'999);
    EXPECT_EQ(public_of(id), PublicState::completed);
    after(1);
    EXPECT_EQ(refused(ReadExecutionInfo{id}), "execution_not_found");
    EXPECT_EQ(refused(ReadExecutionState{id}), "execution_not_found");
    EXPECT_EQ(refused(ListAttempts{id}), "execution_not_found");
    EXPECT_EQ(refused(ReadLeaseHistory{id}), "execution_not_found");
    EXPECT_EQ(refused(ExplainExecution{id}), "execution_not_found");
    EXPECT_EQ(refused(ReadExecutionContext{id}), "invalid_input");
    EXPECT_FALSE(ok(DescribeExecution{id}));
    EXPECT_FALSE(ok(GetExecutionResult{id}));
    EXPECT_EQ(refused(ReplayExecution{id}), "execution_not_found");
    SearchExecutions tagged;
    tagged.tags = {{"team", "red"}};
    EXPECT_TRUE(ok(tagged).items.empty());
    EXPECT_EQ(ok(ListExecutions{0, {}, 10}).executions, std::vector<ExecutionId>{waiting});
    EXPECT_EQ(public_of(waiting), PublicState::waiting) << "only what has ended goes";
    // Its key is free again, and so is its id.
    EXPECT_TRUE(ok(with(job(), [&](auto& op) {
                    op.idempotency_key = "k";
                    op.execution_id = id;
                })).created);
}

TEST_P(OperatorConformance, ThePolicySaysHowLongItIsKept) {
    FF_NEEDS_CLOCK();
    const ExecutionId brief =
        completed(job_with_policy(R"({"stream_policy":{"retention_ttl_ms":1000}})"));
    const ExecutionId replayed =
        completed(job_with_policy(R"({"stream_policy":{"retention_ttl_ms":1000}})"));
    after(999);
    ok(ReplayExecution{replayed});
    after(1);
    EXPECT_FALSE(ok(DescribeExecution{brief}));
    EXPECT_TRUE(ok(DescribeExecution{replayed})) << "it runs again";
    EngineOptions options;
    options.retention_ms = 50;
    open_with(options);
    const ExecutionId id = completed();
    after(50);
    EXPECT_FALSE(ok(DescribeExecution{id}));
}

TEST_P(OperatorConformance, ATakenIdOfAForgottenExecutionStartsAnew) {
    FF_NEEDS_CLOCK();
    const auto op = with(job(), [](auto& args) { args.execution_id = ExecutionId{0, new_uuid()}; });
    create(op);
    ok(Complete{claim().handle, "old", {}, holder});
    after(86'400'000);
    create(op);
    const ClaimedTask task = claim();
    EXPECT_EQ(task.handle.lease_epoch, 1U);
    EXPECT_EQ(task.attempt_type, AttemptType::initial);
    EXPECT_EQ(attempts(*op.execution_id).size(), 1U);
    EXPECT_EQ(history(*op.execution_id), std::vector<std::string>{"acquired"});
}

}  // namespace ff::engine::test
