// How attempt streams end, and how they go: spec 05 sections 1, 4.2 and 6.
#include <algorithm>
#include <functional>

#include "engine/conformance_stream.h"

namespace ff::engine::test {

class StreamCourse : public StreamConformance {
  protected:
    template <class Op>
    void run_all(std::vector<Op> ops) {
        for (const auto& result : engine().run_all(std::move(ops))) {
            ASSERT_TRUE(result) << code_of(result);
        }
    }
    void fill(const ClaimedTask& task, std::size_t frames) {
        std::vector<AppendFrames> ops;
        for (; frames > 0; frames -= std::min<std::size_t>(frames, 250)) {
            ops.push_back(
                append(task, std::vector<Frame>(std::min<std::size_t>(frames, 250), durable("x"))));
        }
        run_all(std::move(ops));
    }
    std::size_t length(const ClaimedTask& task) { return ok(reading(task, 10'000)).frames.size(); }
    /// Waits until the background has done what it does at once.
    bool comes_about(const std::function<bool()>& is_so) {
        for (int i = 0; i < 2'000 && !is_so(); ++i) {
            settle();
        }
        return is_so();
    }
    static Claim for_long(std::uint32_t tasks) {
        return with(claim_by("w1"), [&](auto& op) {
            op.lease_ttl_ms = 3'600'000;
            op.max_tasks = tasks;
        });
    }
    /// Its stream goes a while after an attempt; the execution has another.
    static CreateExecution job_of_short_streams(const std::string& ttl_ms) {
        return job_with_policy(R"({"stream_policy":{"retention_maxlen":20000,"retention_ttl_ms":)" +
                               ttl_ms + R"(},"retry_policy":{"max_retries":1}})");
    }
    void fail_attempt(const ClaimedTask& task) { ok(Fail{task.handle, "again", "transient"}); }
};
FF_ON_EVERY_ENGINE(StreamCourse);

// --------------------------------------------------------------------------------------- sweeps

TEST_P(StreamCourse, FramesOfAnExecutionKeptForNoTimeGoWhenItRunsOutOfTime) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    const ExecutionId id =
        create(with(job_with_policy(R"({"stream_policy":{"retention_ttl_ms":0}})"),
                    [&](auto& op) { op.execution_deadline_at = now() + 1'000; }));
    const ClaimedTask task = claim(for_long(1));
    put(task, durable("the last"));
    after(1'000);
    EXPECT_FALSE(ok(DescribeExecution{id}));
}

TEST_P(StreamCourse, ASweepTakesTenThousandFramesAndLeavesTheRestForTheNext) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    create(job_of_short_streams("5000"));
    const ClaimedTask task = claim(for_long(1));
    fill(task, 12'000);
    put(task, durable("the last"));
    fail_attempt(task);
    after(5'000);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 1U);
    EXPECT_EQ(length(task), 2'001U) << "the oldest go first";
    EXPECT_EQ(stream(task).size(), 1'000U);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 1U);
    EXPECT_EQ(length(task), 0U);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 0U);
}

TEST_P(StreamCourse, SweepsGoOnUntilAllIsGone) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    create(job_of_short_streams("5000"));
    const ClaimedTask task = claim(for_long(1));
    fill(task, 12'000);
    fail_attempt(task);
    after(30'000);  // the period of the pass
    EXPECT_TRUE(comes_about([&] { return length(task) == 0; }));
}

TEST_P(StreamCourse, ManyOpenStreamsDoNotHoldUpTheSweepOfOthers) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    constexpr std::uint32_t open = 1'000;  // as many as a pass looks at
    run_all(std::vector<CreateExecution>(open + 1, job_of_short_streams("1000")));
    const std::vector<ClaimedTask> tasks = claim_some(for_long(open));
    ASSERT_EQ(tasks.size(), open);
    std::vector<AppendFrames> ops;
    for (const ClaimedTask& task : tasks) {
        ops.push_back(append(task, {durable("x")}));
    }
    run_all(std::move(ops));
    after(10);
    const ClaimedTask last = claim(for_long(1));
    put(last, durable("x"));
    fail_attempt(last);
    after(30'000);
    EXPECT_TRUE(comes_about([&] { return length(last) == 0; }));
    EXPECT_EQ(length(tasks.front()), 1U);
}

TEST_P(StreamCourse, AnExecutionWithManyFramesGoesWithAllOfThem) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    open_with({.retention_ms = 60'000});
    std::vector<ClaimedTask> tasks;
    for (int i = 0; i < 3; ++i) {
        tasks.push_back(start(job_with_policy(R"({"stream_policy":{"retention_maxlen":20000}})")));
        fill(tasks.back(), 9'000);
        ok(Complete{tasks.back().handle, {}, {}});
    }
    after(60'000);
    for (const ClaimedTask& task : tasks) {
        EXPECT_TRUE(comes_about([&] { return length(task) == 0; }));
        EXPECT_EQ(refused(ReadExecutionState{task.execution_id()}), "execution_not_found");
    }
}

// ------------------------------------------------------------------------------------ summaries

TEST_P(StreamCourse, PatchesOfACallAreAppliedOneAfterAnother) {
    const ClaimedTask task = start();
    const auto result = ok(append(
        task, {patch(R"({"a":"__ff_null__","b":{"c":1}})"), durable("between"),
               patch(R"({"b":{"c":null,"d":"__ff_null__"}})"), patch(R"({"a":{"e":[1]}})")}));
    EXPECT_EQ(result.appended[0].summary_version, 1U);
    EXPECT_FALSE(result.appended[1].summary_version);
    EXPECT_EQ(result.appended[2].summary_version, 2U);
    EXPECT_EQ(result.appended[3].summary_version, 3U);
    EXPECT_EQ(summary(task)->document, R"({"a":{"e":[1]},"b":{"d":null}})");
    EXPECT_EQ(summary(task)->version, 3U);
    put(task, patch(R"({"b":{"f":2}})"));
    EXPECT_EQ(summary(task)->document, R"({"a":{"e":[1]},"b":{"d":null,"f":2}})");
}

TEST_P(StreamCourse, ADocumentIsMeasuredWhenAllPatchesOfACallAreIn) {
    FF_NEEDS_EMBEDDED();  // more than a request may hold
    const ClaimedTask task = start();
    std::vector<Frame> frames;
    std::string shrinks = "{";
    for (int i = 0; i < 20; ++i) {
        const std::string name = "k" + std::to_string(i);
        frames.push_back(patch(R"({")" + name + R"(":")" + std::string(60'000, 'x') + R"("})"));
        shrinks += (i == 0 ? "\"" : ",\"") + name + "\":null";
    }
    EXPECT_EQ(refused(append(task, frames)), "retention_limit_exceeded");
    EXPECT_FALSE(summary(task)) << "nothing of it";
    frames.push_back(patch(shrinks + "}"));
    ok(append(task, frames));
    EXPECT_EQ(summary(task)->document, "{}");
}

TEST_P(StreamCourse, WhatIsWrongWithAPatchIsToldAfterWhoMayAppend) {
    const ClaimedTask task = start();
    ok(Complete{task.handle, {}, {}});
    EXPECT_EQ(refused(append(task, {patch("no JSON")})), "stream_closed");
}

// -------------------------------------------------------------------------------------- closure

TEST_P(StreamConformance, ClosedByWhatEndsAnAttemptThatWaits) {
    FF_NEEDS_CLOCK();
    const ClaimedTask cancelled = start();
    suspend(cancelled);
    ok(with(CancelExecution{}, [&](auto& op) {
        op.lease = LeaseRef(cancelled.execution_id());
        op.reason = "enough";
        op.source = "operator_override";
    }));
    EXPECT_EQ(closed(cancelled), "attempt_cancelled");
    std::vector<ClaimedTask> late;
    for (const TimeoutBehavior behavior :
         {TimeoutBehavior::fail, TimeoutBehavior::cancel, TimeoutBehavior::expire}) {
        late.push_back(start());
        Suspend op = suspending(late.back());
        op.timeout_at = now() + 1'000;
        op.timeout_behavior = behavior;
        ok(op);
        EXPECT_EQ(closed(late.back()), "open");
    }
    const ClaimedTask deadline =
        start(job_with_policy(R"({"timeout_policy":{"execution_deadline_ms":1000}})"));
    suspend(deadline);
    after(1'000);
    for (const ClaimedTask& task : late) {
        EXPECT_EQ(closed(task), "suspension_timeout");
    }
    EXPECT_EQ(closed(deadline), "expired");
}

TEST_P(StreamConformance, NeitherSuspendingNorWaitingForChildrenCloses) {
    const ClaimedTask task = start();
    put(task, durable("before"));
    const SuspendResult waits = suspend(task);
    EXPECT_EQ(closed(task), "open");
    ok(signal(task.execution_id(), waits.details.waitpoint));
    const ClaimedTask resumed = claim("w2");
    EXPECT_EQ(resumed.handle.attempt_index, task.handle.attempt_index);
    put(resumed, durable("after"));
    EXPECT_EQ(stream(task), (Texts{"before", "after"}));
    ok(WaitChildren{resumed.handle, Source::lease_holder});
    EXPECT_EQ(closed(task), "open");
    const ClaimedTask delayed = start(job("other"));
    ok(Delay{delayed.handle, t0 + 86'400'000LL * 36'500, Source::lease_holder});
    EXPECT_EQ(closed(delayed), "open");
}

TEST_P(StreamConformance, EveryEndWakesThoseWhoWait) {
    using Reason = StreamClosedReason;
    const auto ends_as = [&](const ClaimedTask& task, Reason reason, const auto& end) {
        auto waiting = send(tailing(task, {}, 30'000));
        EXPECT_FALSE(answered(waiting));
        end();
        EXPECT_EQ(got(waiting).closed_reason, reason);
    };
    const ClaimedTask failed = start();
    ends_as(failed, Reason::attempt_failure, [&] { ok(Fail{failed.handle, "no", "permanent"}); });
    const ClaimedTask cancelled = start();
    suspend(cancelled);
    ends_as(cancelled, Reason::attempt_cancelled, [&] {
        ok(with(CancelExecution{}, [&](auto& op) {
            op.lease = LeaseRef(cancelled.execution_id());
            op.reason = "enough";
            op.source = "operator_override";
        }));
    });
    const ClaimedTask revoked = start();
    ends_as(revoked, Reason::lease_expired, [&] { ok(RevokeLease{revoked.execution_id()}); });
    if (!has_clock()) {
        return;
    }
    const ClaimedTask slow =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":1000}})", "slow"));
    ends_as(slow, Reason::expired, [&] { after(1'000); });
    const ClaimedTask late = start(job("late"));
    Suspend op = suspending(late);
    op.timeout_at = now() + 1'000;
    ok(op);
    ends_as(late, Reason::suspension_timeout, [&] { after(1'000); });
    create(job("lost"));
    const ClaimedTask lost =
        claim(with(claim_by("w1", "lost"), [](auto& claim) { claim.lease_ttl_ms = 5'000; }));
    ends_as(lost, Reason::lease_expired, [&] { after(5'000); });
}

}  // namespace ff::engine::test
