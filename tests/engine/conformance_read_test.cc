// Reads of one execution: info, state, result, snapshot, attempts, history, and why it does not run
// (spec 02 section 8).
#include "engine/conformance.h"

namespace ff::engine::test {

class ReadConformance : public Conformance {
  protected:
    static constexpr Source holder = Source::lease_holder;
    Explanation why(const ExecutionId& id) { return ok(ExplainExecution{id}); }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
    const ExecutionId missing_{0, new_uuid()};
};
FF_ON_EVERY_ENGINE(ReadConformance);

TEST_P(ReadConformance, WhatIsMissingIsToldAsEachReadDefines) {
    for (const ExecutionId& id : {missing_, ExecutionId{60'000, new_uuid()}}) {
        const Error info = error(ReadExecutionInfo{id});
        EXPECT_EQ(info.code, ErrorCode::execution_not_found);
        EXPECT_EQ(info.detail, "execution not found: " + id.to_string());
        EXPECT_EQ(refused(ReadExecutionState{id}), "execution_not_found");
        EXPECT_EQ(refused(ListAttempts{id}), "execution_not_found");
        EXPECT_EQ(refused(ReadLeaseHistory{id}), "execution_not_found");
        EXPECT_EQ(refused(ExplainExecution{id}), "execution_not_found");
        EXPECT_EQ(refused(ReadExecutionContext{id}), "invalid_input");
        EXPECT_EQ(refused(ReadAttemptCounters{id}), "invalid_input");
        EXPECT_FALSE(ok(DescribeExecution{id}));
        EXPECT_FALSE(ok(GetExecutionResult{id}));
    }
}

TEST_P(ReadConformance, InfoStateAndSnapshotAgreeInEveryState) {
    const auto agree = [&](const ExecutionId& id, PublicState expected) {
        const ExecutionInfo info = ok(ReadExecutionInfo{id});
        const ExecutionSnapshot s = snapshot(id);
        EXPECT_EQ(info.public_state, expected);
        EXPECT_EQ(public_of(id), expected);
        EXPECT_EQ(s.info.public_state, expected);
        EXPECT_EQ(info.state, s.info.state);
        EXPECT_EQ(public_state(info.state), expected);
        EXPECT_TRUE(is_legal(info.state)) << words(info.state);
        EXPECT_EQ(info.blocking_detail, s.info.blocking_detail);
        EXPECT_EQ(info.created_at, s.info.created_at);
        EXPECT_EQ(info.started_at, s.info.started_at);
        EXPECT_EQ(info.completed_at, s.info.completed_at);
        EXPECT_EQ(info.completed_at.has_value(), is_terminal(info.state));
        EXPECT_EQ(s.current_lease.has_value(), info.state.ownership == OwnershipState::leased);
    };
    const ExecutionId id = create();
    agree(id, PublicState::waiting);
    ClaimedTask task = claim();
    agree(id, PublicState::active);
    ok(Release{task.handle});
    agree(id, PublicState::waiting);
    task = claim();
    ok(Delay{task.handle, t0 * 2, holder});
    agree(id, PublicState::delayed);
    ok(CancelExecution{LeaseRef(id), "x", "operator_override"});
    agree(id, PublicState::cancelled);
    ok(ReplayExecution{id});
    agree(id, PublicState::waiting);
    ok(BlockExecution{id, "waiting_for_quota", {}});
    agree(id, PublicState::rate_limited);
    ok(UnblockExecution{id, {}});
    task = claim();
    ok(RevokeLease{id, {}, {}, "x"});
    agree(id, PublicState::active);
    task = claim();
    ok(Fail{task.handle, "r", "permanent", holder});
    agree(id, PublicState::failed);
    ok(ReplayExecution{id});
    task = claim();
    ok(Complete{task.handle, "r", {}, holder});
    agree(id, PublicState::completed);
}

TEST_P(ReadConformance, TheFirstStartIsKept) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const TimestampMs started = now();
    after(1'000);
    ok(Complete{task.handle, {}, {}, holder});
    ok(ReplayExecution{task.execution_id()});
    after(1'000);
    claim();
    EXPECT_EQ(ok(ReadExecutionInfo{task.execution_id()}).started_at, started);
}

TEST_P(ReadConformance, CountersTellTheCurrentAndTheNextAttempt) {
    const auto counters = [&](const ExecutionId& id) {
        const AttemptCounters c = ok(ReadAttemptCounters{id});
        return std::pair(c.current_attempt_index, c.total_attempt_count);
    };
    const ExecutionId id = create();
    EXPECT_EQ(counters(id), std::pair(0U, 0U));
    claim();
    EXPECT_EQ(counters(id), std::pair(0U, 1U));
    ok(RevokeLease{id, {}, {}, "x"});
    EXPECT_EQ(counters(id), std::pair(0U, 1U));
    const ClaimedTask taken = claim();
    EXPECT_EQ(counters(id), std::pair(1U, 2U));
    ok(Release{taken.handle});
    claim();
    EXPECT_EQ(counters(id), std::pair(1U, 2U)) << "a resumed attempt is the same attempt";
}

TEST_P(ReadConformance, AttemptsAreListedInOrderWithTheRunningOneLast) {
    FF_NEEDS_CLOCK();
    const ExecutionId id = create(job_with_policy(
        R"({"retry_policy":{"max_retries":5,"backoff":{"type":"fixed","delay_ms":100}}})"));
    const TimestampMs began = now();
    ok(Fail{claim("w1").handle, "broke", "x", holder});
    after(100);
    const ClaimedTask second = claim("w2");
    after(50);
    ok(Release{second.handle});
    after(50);
    const ClaimedTask third = claim("w3");
    const auto rows = attempts(id);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].attempt_index, 0U);
    EXPECT_EQ(rows[0].state, AttemptLifecycle::ended_failure);
    EXPECT_EQ(rows[0].started_at, began);
    EXPECT_EQ(rows[0].ended_at, began);
    EXPECT_EQ(rows[0].worker_id, "w1");
    EXPECT_EQ(rows[0].lease_epoch, 1U);
    EXPECT_EQ(rows[1].attempt_index, 1U);
    EXPECT_EQ(rows[1].type, AttemptType::retry);
    EXPECT_EQ(rows[1].state, AttemptLifecycle::started);
    EXPECT_EQ(rows[1].worker_id, "w3");
    EXPECT_EQ(rows[1].lease_id, third.handle.lease_id);
    EXPECT_EQ(rows[1].lease_epoch, 3U);
    EXPECT_EQ(rows[1].started_at, began + 100);
    EXPECT_EQ(rows[1].resumed_at, now());
    EXPECT_FALSE(rows[1].ended_at);
}

TEST_P(ReadConformance, HistoryTellsTheLifeOfEveryLease) {
    FF_NEEDS_CLOCK();
    const ClaimedTask first = start();
    const ExecutionId id = first.execution_id();
    ok(Renew{first.handle, 20'000});
    after(20'000);
    const ClaimedTask second = claim("w2");
    ok(RevokeLease{id, {}, {}, "enough"});
    const ClaimedTask third = claim("w3");
    ok(Release{third.handle});
    const ClaimedTask fourth = claim("w4");
    ok(Fail{fourth.handle, "r", "permanent", holder});
    ok(ReplayExecution{id});
    EXPECT_EQ(history(id),
              (std::vector<std::string>{
                  "acquired", "expired", "reclaimed:lease_expired_reclaimable", "revoked:enough",
                  "reclaimed:lease_revoked", "released:worker_release", "acquired:claim_resumed",
                  "released:failed_terminal=failed", "replay_initiated:normal"}))
        << "renewals are not kept here";
    const auto entries = ok(ReadLeaseHistory{id});
    EXPECT_EQ(entries[0].lease_id, first.handle.lease_id);
    EXPECT_EQ(entries[0].lease_epoch, 1U);
    EXPECT_EQ(entries[0].attempt_index, 0U);
    EXPECT_EQ(entries[0].attempt_id, first.handle.attempt_id);
    EXPECT_EQ(entries[0].worker_id, "w1");
    EXPECT_EQ(entries[0].worker_instance_id, "w1-a");
    EXPECT_EQ(entries[1].lease_id, first.handle.lease_id);
    EXPECT_EQ(entries[1].worker_instance_id, "w1-a");
    EXPECT_EQ(entries[2].lease_id, second.handle.lease_id);
    EXPECT_EQ(entries[2].lease_epoch, 2U);
    EXPECT_EQ(entries[2].worker_id, "w2");
    EXPECT_EQ(entries[2].old_lease_id, first.handle.lease_id);
    EXPECT_EQ(entries[2].old_lease_epoch, 1U);
    EXPECT_FALSE(entries[0].old_lease_epoch);
    EXPECT_EQ(entries.back().replay_type, "normal");
    EXPECT_FALSE(entries[0].replay_type);
    EXPECT_EQ(entries[3].revoked_by, "operator");
    for (std::size_t i = 0; i < entries.size(); ++i) {
        EXPECT_TRUE(i == 0 || entries[i - 1].event_id < entries[i].event_id);
        EXPECT_TRUE(i == 0 || entries[i - 1].at <= entries[i].at);
        EXPECT_TRUE(entries[i].lease_id || entries[i].event == "replay_initiated") << i;
    }
    const auto newest = ok(ReadLeaseHistory{id, 2});
    ASSERT_EQ(newest.size(), 2U);
    EXPECT_EQ(newest[0].event, "released") << "the newest ones, oldest first";
    EXPECT_EQ(newest[1].event, "replay_initiated");
    EXPECT_TRUE(ok(ReadLeaseHistory{id, 0}).empty());
}

TEST_P(ReadConformance, ARereadAfterTheAnswerSeesTheWrite) {
    // What was acknowledged is visible to the very next read, from any thread.
    for (int i = 0; i < 30; ++i) {
        const ExecutionId id = create();
        EXPECT_EQ(public_of(id), PublicState::waiting);
        const ClaimedTask task = claim();
        EXPECT_EQ(public_of(id), PublicState::active);
        ok(Complete{task.handle, std::to_string(i), {}, holder});
        EXPECT_EQ(ok(GetExecutionResult{id})->payload, std::to_string(i));
    }
}

// ------------------------------------------------------------------------------------------ why

// A store that nobody has open marks no lease: what is past must not be called running.
TEST_P(ReadConformance, WhyWorkWhoseLeaseIsPastDoesNotRun) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    const ExecutionId id = create();
    claim(with(claim_by("w1"), [](auto& op) { op.lease_ttl_ms = 1'000; }));
    clock().advance(999);
    EXPECT_TRUE(has(why(id).summary, "it is running on")) << why(id).summary;
    clock().advance(1);
    EXPECT_TRUE(has(why(id).summary, "ran out at")) << why(id).summary;
}

TEST_P(ReadConformance, WhyWhatIsDueWaitsForAnEngine) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    const ExecutionId delayed =
        create(with(job(), [&](auto& op) { op.delay_until = now() + 500; }));
    const ExecutionId late =
        create(with(job(), [&](auto& op) { op.execution_deadline_at = now() + 500; }));
    const ClaimedTask failing = start(
        job_with_policy(R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":500}}})", "f"));
    ok(Fail{failing.handle, "disk on fire", "x", holder});
    const ExecutionId again = failing.execution_id();
    EXPECT_FALSE(has(why(again).summary, "is over")) << why(again).summary;
    EXPECT_TRUE(has(why(delayed).summary, "delayed until")) << why(delayed).summary;
    EXPECT_FALSE(has(why(late).summary, "deadline")) << why(late).summary;
    clock().advance(500);
    EXPECT_TRUE(has(why(again).summary, "its pause is over")) << why(again).summary;
    EXPECT_TRUE(has(why(delayed).summary, "its delay ended at")) << why(delayed).summary;
    EXPECT_TRUE(has(why(late).summary, "its deadline passed at")) << why(late).summary;
    EXPECT_TRUE(has(why(late).summary, "as soon as an engine runs")) << why(late).summary;
}

TEST_P(ReadConformance, WhyReadyWorkWaits) {
    const ExecutionId first = create();
    const ExecutionId second = create();
    const Explanation nobody = why(second);
    EXPECT_EQ(nobody.public_state, PublicState::waiting);
    EXPECT_EQ(nobody.blocking_reason, BlockingReason::waiting_for_worker);
    EXPECT_EQ(nobody.ahead, 1U);
    EXPECT_EQ(nobody.capable_workers, 0U);
    EXPECT_TRUE(has(nobody.summary, "no live worker")) << nobody.summary;
    EXPECT_EQ(why(first).ahead, 0U);
    ok(registration("i1"));
    ok(registration("i2"));
    ok(registration("i3", {}, "other"));
    ok(registration("i4", {}, "default", "other"));
    const Explanation busy = why(second);
    EXPECT_EQ(busy.capable_workers, 2U);
    EXPECT_TRUE(busy.missing_capabilities.empty());
    EXPECT_TRUE(has(busy.summary, "1 ahead")) << busy.summary;
    const ExecutionId elsewhere = create(with(job(), [](auto& op) { op.ns = "other"; }));
    EXPECT_EQ(why(elsewhere).ahead, 0U) << "those of another namespace have workers of their own";
    ok(ChangePriority{second, 10});
    EXPECT_EQ(why(second).ahead, 0U);
    EXPECT_EQ(why(first).ahead, 1U);
}

TEST_P(ReadConformance, WhyNobodyCanRunIt) {
    const ExecutionId id = create(job_requiring({"cuda", "gpu", "tpu"}));
    EXPECT_EQ(why(id).required_capabilities, (std::vector<std::string>{"cuda", "gpu", "tpu"}));
    EXPECT_EQ(why(id).missing_capabilities, (std::vector<std::string>{"cuda", "gpu", "tpu"}));
    ok(registration("one", {"gpu"}));
    ok(registration("two", {"cuda", "gpu"}));
    ok(registration("stranger", {"cuda", "gpu", "tpu"}, "default", "other"));
    const Explanation closest = why(id);
    EXPECT_EQ(closest.missing_capabilities, std::vector<std::string>{"tpu"}) << "of the best match";
    EXPECT_EQ(closest.capable_workers, 0U);
    EXPECT_TRUE(has(closest.summary, "tpu")) << closest.summary;
    EXPECT_EQ(closest.blocking_reason, BlockingReason::waiting_for_worker)
        << "the row itself is not rewritten";
    ok(registration("three", {"cuda", "gpu", "tpu"}));
    EXPECT_EQ(why(id).capable_workers, 1U);
    EXPECT_TRUE(why(id).missing_capabilities.empty());
}

TEST_P(ReadConformance, WhyALaneHandsNothingOut) {
    const ExecutionId id = create();
    ok(SetLaneState{"default", LaneState::paused});
    EXPECT_EQ(why(id).lane_state, LaneState::paused);
    EXPECT_TRUE(has(why(id).summary, "paused")) << why(id).summary;
    ok(SetLaneState{"default", LaneState::disabled});
    EXPECT_TRUE(has(why(id).summary, "disabled"));
}

TEST_P(ReadConformance, WhyItIsDelayedBlockedGrantedOrOver) {
    FF_NEEDS_CLOCK();
    const ExecutionId delayed =
        create(with(job("d"), [&](auto& op) { op.delay_until = now() + 500; }));
    EXPECT_EQ(why(delayed).blocking_reason, BlockingReason::waiting_for_delay);
    EXPECT_EQ(why(delayed).until, now() + 500);
    EXPECT_FALSE(why(delayed).ahead);
    const ClaimedTask failing = start(
        job_with_policy(R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":900}}})", "f"));
    ok(Fail{failing.handle, "disk on fire", "x", holder});
    EXPECT_EQ(why(failing.execution_id()).blocking_reason,
              BlockingReason::waiting_for_retry_backoff);
    EXPECT_EQ(why(failing.execution_id()).until, now() + 900);
    EXPECT_TRUE(has(why(failing.execution_id()).summary, "disk on fire"));
    const ExecutionId blocked = create(job("b"));
    ok(BlockExecution{blocked, "paused_by_operator", "until monday"});
    EXPECT_EQ(why(blocked).blocking_reason, BlockingReason::paused_by_operator);
    EXPECT_TRUE(has(why(blocked).summary, "until monday"));
    const ExecutionId granted = create(job("g"));
    grant("w1", "g");
    EXPECT_EQ(why(granted).until, now() + 5'000);
    EXPECT_TRUE(has(why(granted).summary, "grant"));
    const ClaimedTask running = start(job("r"));
    EXPECT_TRUE(has(why(running.execution_id()).summary, "w1-a"));
    EXPECT_EQ(why(running.execution_id()).public_state, PublicState::active);
    ok(RevokeLease{running.execution_id(), {}, {}, "slow"});
    EXPECT_TRUE(has(why(running.execution_id()).summary, "slow"));
    EXPECT_EQ(why(running.execution_id()).ahead, 0U) << "it is ready to be taken over";
    ok(CancelExecution{LeaseRef(running.execution_id()), "x", "operator_override"});
    EXPECT_TRUE(has(why(running.execution_id()).summary, "cancelled"));
    EXPECT_FALSE(why(running.execution_id()).ahead);
}

TEST_P(ReadConformance, AnEndWithoutALeaseIsNoneOfItsHistory) {
    const ExecutionId id = create();
    ok(CancelExecution{LeaseRef(id), "x", "operator_override"});
    EXPECT_TRUE(ok(ReadLeaseHistory{id}).empty());
    ok(ReplayExecution{id});
    ok(CancelExecution{LeaseRef(id), "x", "operator_override"});
    ok(ReplayExecution{id});
    ok(CancelExecution{LeaseRef(id), "x", "operator_override"});
    EXPECT_EQ(history(id),
              (std::vector<std::string>{"replay_initiated:normal", "replay_initiated:normal"}));
    const auto entries = ok(ReadLeaseHistory{id});
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].replay_count, 1U);
    EXPECT_EQ(entries[1].replay_count, 2U);
    const auto newest = ok(ReadLeaseHistory{id, 1});
    ASSERT_EQ(newest.size(), 1U) << "what is left out does not count";
    EXPECT_EQ(newest[0].replay_count, 2U);
}

TEST_P(ReadConformance, WhatNobodyCanRunSaysWhatNoWorkerHas) {
    const ExecutionId id = create(job_requiring({"cuda", "gpu"}));
    const auto detail = [&](const ExecutionId& one) {
        const std::string text = ok(ReadExecutionInfo{one}).blocking_detail;
        EXPECT_EQ(snapshot(one).info.blocking_detail, text);
        return text;
    };
    EXPECT_EQ(detail(id), "no live worker has cuda, gpu");
    ok(registration("one", {"gpu"}));
    EXPECT_EQ(detail(id), "no live worker has cuda");
    EXPECT_EQ(state(id),
              "runnable unowned eligible_now waiting_for_worker none pending_first_attempt")
        << "the row is not touched";
    ok(registration("two", {"cuda", "gpu"}));
    EXPECT_EQ(detail(id), "");
    EXPECT_EQ(detail(create(job("anybody"))), "") << "it asks for nothing";
    const ExecutionId held = create(job_requiring({"tpu"}));
    ok(BlockExecution{held, "paused_by_operator", "until monday"});
    EXPECT_EQ(detail(held), "until monday");
}

}  // namespace ff::engine::test
