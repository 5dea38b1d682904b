// The figures an engine keeps of itself: how attempts end by lane, renewals, transactions.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>

#include <ff/engine.h>

#include "engine/conformance.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace ff::engine::test {
namespace {

class EngineStatsTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        clock_ = std::make_shared<ManualClock>(t0);
        EngineOptions options;
        options.clock = clock_;
        const std::string place =
            GetParam() == "memory" ? "memory:" : "sqlite:" + folder_.file("store.db");
        auto opened = Engine::open(place, options);
        ASSERT_TRUE(opened) << opened.error().message();
        engine_ = std::move(*opened);
    }

    template <class Op>
    typename Op::Result ok(Op op) {
        auto result = engine_->run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << (result ? "" : result.error().message());
        return result ? std::move(*result) : typename Op::Result{};
    }
    ExecutionId create(CreateExecution op) { return ok(std::move(op)).execution_id; }
    ClaimedTask claim(const std::string& lane = "default") {
        auto tasks = ok(claim_by("w1", lane)).tasks;
        EXPECT_EQ(tasks.size(), 1U);
        return tasks.empty() ? ClaimedTask{} : std::move(tasks[0]);
    }
    ClaimedTask start(CreateExecution op = job()) {
        const std::string lane = op.lane_id;
        create(std::move(op));
        return claim(lane);
    }
    /// Lets time pass and what it makes due happen.
    void after(DurationMs ms) {
        clock_->advance(ms);
        ok(RunScanner{"lease_expiry"});
    }
    LaneStats lane(const std::string& name = "default") {
        for (const LaneStats& stats : engine_->stats().lanes) {
            if (stats.lane == name) {
                return stats;
            }
        }
        return {};
    }
    static LaneStats expected_stats(const std::function<void(LaneStats&)>& fill) {
        LaneStats stats;
        stats.lane = "default";
        fill(stats);
        return stats;
    }

    support::TempDir folder_;
    std::shared_ptr<ManualClock> clock_;
    std::shared_ptr<Engine> engine_;
};
INSTANTIATE_TEST_SUITE_P(Stores, EngineStatsTest, testing::Values("memory", "sqlite"),
                         [](const auto& test) { return test.param; });

constexpr auto retried_once =
    R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":10}}})";

TEST_P(EngineStatsTest, FramesAreCountedByMode) {
    const ClaimedTask task = start();
    AppendFrames op;
    op.lease = task.handle;
    op.frames.resize(3);
    op.frames[2].mode = FrameMode::best_effort;
    ok(op);
    const auto frames = engine_->stats().frames;
    EXPECT_EQ(frames[static_cast<std::size_t>(FrameMode::durable)], 2U);
    EXPECT_EQ(frames[static_cast<std::size_t>(FrameMode::summary)], 0U);
    EXPECT_EQ(frames[static_cast<std::size_t>(FrameMode::best_effort)], 1U);
}

TEST_P(EngineStatsTest, WhoWaitsForEventsIsCountedByFamily) {
    constexpr auto workers = static_cast<std::size_t>(EventFamily::workers);
    std::stop_source leaving;
    ReadEvents op;
    op.family = EventFamily::workers;
    op.block_ms = 30'000;
    op.abandoned = leaving.get_token();
    std::promise<void> answered;
    engine_->async(op, [&](const expected<EventPage>&) { answered.set_value(); });
    EXPECT_TRUE(support::eventually([&] { return engine_->stats().event_readers[workers] == 1; }));
    EXPECT_EQ(engine_->stats().event_readers[static_cast<std::size_t>(EventFamily::completion)],
              0U);
    leaving.request_stop();
    answered.get_future().wait();
    EXPECT_EQ(engine_->stats().event_readers[workers], 0U);
}

TEST_P(EngineStatsTest, TheLagIsThatOfTheWebhookFurthestBehind) {
    constexpr auto tags = static_cast<std::size_t>(EventFamily::instance_tags);
    CreateWebhook hook;
    hook.url = "https://example.com/hook";
    hook.family = EventFamily::instance_tags;
    ok(hook);
    for (int i = 0; i < 3; ++i) {
        create(with(job(), [](auto& op) { op.tags["team.name"] = "blue"; }));
        ok(hook);  // nearer
    }
    EXPECT_TRUE(support::eventually([&] { return engine_->stats().event_lag[tags] == 3; }));
    EXPECT_EQ(engine_->stats().event_lag[static_cast<std::size_t>(EventFamily::completion)], 0U);
}

TEST_P(EngineStatsTest, AFreshEngineHasDoneNothing) {
    const EngineStats stats = engine_->stats();
    EXPECT_TRUE(stats.lanes.empty());
    EXPECT_EQ(stats.renewals_ok + stats.renewals_refused, 0U);
    EXPECT_EQ(stats.retries_busy + stats.retries_io, 0U);
    EXPECT_FALSE(stats.scanners.empty());
}

TEST_P(EngineStatsTest, EachEndOfAnAttemptIsCountedForWhatItIs) {
    ok(Complete{start().handle});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 1, s.ok = 1; }));
    ok(Fail{start().handle, "broken", "permanent"});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 2, s.ok = 1, s.error = 1; }));
    ok(CancelExecution{start().handle, "no more"});
    EXPECT_EQ(lane(), expected_stats(
                          [](auto& s) { s.claims = 3, s.ok = 1, s.error = 1, s.cancelled = 1; }));
    ok(Fail{start().handle, "slow", "timeout"});
    EXPECT_EQ(lane().timeout, 1U);
}

TEST_P(EngineStatsTest, AFailureWithARetryToComeIsARetryAndTheLastIsAnError) {
    ok(Fail{start(job_with_policy(retried_once)).handle, "r", "transient"});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 1, s.retry = 1; }));
    after(10);
    ok(Fail{claim().handle, "r", "transient"});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 2, s.retry = 1, s.error = 1; }));
}

TEST_P(EngineStatsTest, TimeThatIsOverIsATimeout) {
    start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":1000}})"));
    after(1'000);
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 1, s.timeout = 1; }));
    start(with(job(), [](auto& op) { op.execution_deadline_at = t0 + 2'000; }));
    after(1'000);
    EXPECT_EQ(lane().timeout, 2U);
    // An execution that nobody had begun has no attempt that could end.
    create(with(job(), [](auto& op) { op.execution_deadline_at = t0 + 3'000; }));
    after(1'000);
    EXPECT_EQ(lane().timeout, 2U);
}

TEST_P(EngineStatsTest, WhatWasNeverBegunEndsNoAttempt) {
    const ExecutionId id = create(job());
    ok(CancelExecution{LeaseRef(id), "x"});
    EXPECT_EQ(lane(), LaneStats{});
}

TEST_P(EngineStatsTest, APausedAttemptEndsOnceHoweverOftenItIsTakenUp) {
    ClaimedTask task = start();
    for (int i = 0; i < 3; ++i) {
        ok(Release{task.handle});
        task = claim();
        EXPECT_TRUE(task.resumed());
    }
    ok(Release{task.handle});
    ok(CancelExecution{LeaseRef(task.execution_id()), "x"});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 4, s.cancelled = 1; }));
}

TEST_P(EngineStatsTest, ALostLeaseIsNoEndUntilNobodyMayTakeItOver) {
    start(job_with_policy(R"({"max_reclaim_count":1})"));
    after(30'000);
    ClaimedTask second = claim();
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 2; }));
    after(30'000);
    EXPECT_TRUE(ok(claim_by("w1")).tasks.empty());
    EXPECT_EQ(ok(ReadExecutionState{second.execution_id()}), PublicState::failed);
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 2, s.error = 1; }));
}

TEST_P(EngineStatsTest, ARepeatedCallCountsOnce) {
    const ClaimedTask task = start();
    ok(Complete{task.handle});
    ok(Complete{task.handle});
    ok(ReplayExecution{task.execution_id()});
    EXPECT_EQ(lane().ok, 1U);
    ok(Complete{claim().handle});
    EXPECT_EQ(lane(), expected_stats([](auto& s) { s.claims = 2, s.ok = 2; }));
}

TEST_P(EngineStatsTest, LanesAreToldApartUpToALimit) {
    for (int i = 0; i < 70; ++i) {
        ok(Complete{start(job("lane" + std::to_string(i))).handle});
    }
    ok(Complete{start(job("lane0")).handle});
    ok(Complete{start(job("lane69")).handle});
    const EngineStats stats = engine_->stats();
    ASSERT_EQ(stats.lanes.size(), 65U);
    EXPECT_EQ(stats.lanes.back().lane, "other");
    EXPECT_EQ(stats.lanes.back().ok, 7U);
    EXPECT_EQ(lane("lane0").ok, 2U);
    std::uint64_t all = 0;
    for (const LaneStats& each : stats.lanes) {
        EXPECT_EQ(each.claims, each.ok);
        all += each.ok;
    }
    EXPECT_EQ(all, 72U);
}

TEST_P(EngineStatsTest, RenewalsAreCountedByTheirAnswer) {
    const ClaimedTask task = start();
    ok(Renew{task.handle, 60'000});
    ok(Renew{task.handle, 60'000});
    ok(Complete{task.handle});
    EXPECT_FALSE(engine_->run(Renew{task.handle, 60'000}));
    const EngineStats stats = engine_->stats();
    EXPECT_EQ(stats.renewals_ok, 2U);
    EXPECT_EQ(stats.renewals_refused, 1U);
}

TEST_P(EngineStatsTest, TokensThatProveNothingAreCountedByWhy) {
    const ClaimedTask task = start();
    Suspend wait;
    wait.lease = task.handle;
    wait.resume_condition = any_signal();
    const WaitpointTicket at = ok(wait).details.waitpoint;
    const auto send = [&](const std::string& token) {
        DeliverSignal op;
        op.execution_id = task.execution_id();
        op.waitpoint_id = at.waitpoint_id;
        op.signal_name = "go";
        op.waitpoint_token = token;
        return engine_->run(op).has_value();
    };
    EXPECT_FALSE(send(""));
    EXPECT_FALSE(send("k1:" + std::string(64, '0')));
    EXPECT_FALSE(send("k1"));
    EXPECT_TRUE(send(at.waitpoint_token));
    EXPECT_FALSE(send(at.waitpoint_token)) << "too late, but proved";
    std::map<std::string, std::uint64_t> counted;
    for (const auto& [code, count] : engine_->stats().token_refusals) {
        counted[code] = count;
    }
    EXPECT_EQ(counted, (std::map<std::string, std::uint64_t>{{"hmac_secret_not_initialized", 0},
                                                             {"invalid_secret", 0},
                                                             {"invalid_token", 2},
                                                             {"missing_token", 1},
                                                             {"token_expired", 0}}));
}

TEST_P(EngineStatsTest, TransactionsAndSyncsAreTimed) {
    const std::uint64_t before = engine_->stats().transactions.count();
    for (int i = 0; i < 10; ++i) {
        create(job());
    }
    EXPECT_TRUE(ok(claim_by("w1", "empty")).tasks.empty());
    const EngineStats stats = engine_->stats();
    EXPECT_EQ(stats.transactions.count(), before + 10) << "those that write";
    EXPECT_GE(stats.syncs.count(), 10U);
    EXPECT_GT(stats.transactions.sum_us, 0U);
}

TEST_P(EngineStatsTest, JoinsAndWhatTheyCancelAreCounted) {
    SubmitFlow op;
    op.flow_kind = "race";
    op.ns = "acme";
    op.nodes = {{"a", job(), {}},
                {"b", job("slow"), {}},
                {"c", job("slow"), {}},
                {"first", job("later"), GroupPolicy::any_of(OnSatisfied::cancel_remaining)},
                {"all", job("later"), {}}};
    op.edges = {{"a", "first", {}, {}, {}},
                {"b", "first", {}, {}, {}},
                {"c", "first", {}, {}, {}},
                {"c", "all", {}, {}, {}}};
    const auto flow = ok(op);
    ok(Complete{claim().handle});
    const FlowStats stats = engine_->stats().flows;
    EXPECT_EQ(stats.policies_set[static_cast<std::size_t>(GroupPolicyKind::any_of)], 1U);
    EXPECT_EQ(stats.joins_satisfied, 1U);
    EXPECT_EQ(stats.joins_impossible, 0U);
    EXPECT_EQ(stats.siblings_cancelled, 1U);
    EXPECT_EQ(stats.siblings_spared, 1U) << "`all` waits for c";
    ok(CancelFlowHeader{flow.flow_id, "x", CancellationPolicy::cancel_all, 60'000});
    ok(RunScanner{"flow_projector"});
    EXPECT_EQ(engine_->stats().flows.cancel_backlog, 1U);
    after(60'000);
    ok(RunScanner{"flow_projector"});
    EXPECT_EQ(engine_->stats().flows.cancel_backlog, 0U);
}

TEST_P(EngineStatsTest, PassesAreTimed) {
    ok(RunScanner{"grant_sweep"});
    ok(RunScanner{"grant_sweep"});
    for (const ScannerStats& scanner : engine_->stats().scanners) {
        if (scanner.scanner == "grant_sweep") {
            EXPECT_GE(scanner.cycles.count(), 2U);
            return;
        }
    }
    FAIL() << "no figures of grant_sweep";
}

}  // namespace
}  // namespace ff::engine::test
