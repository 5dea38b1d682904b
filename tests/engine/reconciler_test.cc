// The repair passes on a store that somebody has tampered with: they look past what they cannot
// read, mend what follows from the rest, and tell of what they cannot mend.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/conformance.h"
#include "store/sqlite_db.h"

namespace ff::engine::test {

namespace {

class Reconciler : public testing::Test {
  protected:
    void open() {
        EngineOptions options;
        options.clock = clock_;
        options.scanner_periods_ms["index_reconciler"] = 0;  // only when asked for
        auto engine = Engine::open(path_, options);
        ASSERT_TRUE(engine) << engine.error().message();
        engine_ = std::move(*engine);
    }
    /// Closes the store, changes it behind the engine's back and opens it again.
    void tamper(const std::string& sql) {
        engine_->stop();
        engine_.reset();
        {
            auto db = store::SqliteDb::open(path_, store::OpenMode::write, 1'000);
            ASSERT_TRUE(db) << db.error().message();
            const auto done = (*db)->execute(sql);
            ASSERT_TRUE(done) << done.error().message();
        }
        open();
    }
    template <class Op>
    typename Op::Result ok(Op op) {
        auto result = engine_->run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << code_of(result);
        return result ? std::move(*result) : typename Op::Result{};
    }
    ScannerResult reconcile() { return ok(RunScanner{"index_reconciler"}); }
    std::uint64_t inconsistent() { return engine_->stats().inconsistent_executions; }
    static bool tells(const ScannerResult& result, const std::string& text) {
        return std::ranges::any_of(result.findings, [&](const std::string& finding) {
            return finding.find(text) != std::string::npos;
        });
    }

    TempDir folder_;
    std::string path_ = folder_.file("store.db");
    std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(t0);
    std::shared_ptr<Engine> engine_;
};

TEST_F(Reconciler, ARowThatCannotBeReadDoesNotHideTheOthers) {
    open();
    const auto ids = [&] {
        std::vector<ExecutionId> made;
        for (int i = 0; i < 5; ++i) {
            made.push_back(ok(job()).execution_id);
        }
        return made;
    }();
    tamper(
        "UPDATE ff_exec_core SET lifecycle_phase = 77"
        " WHERE eid = (SELECT MIN(eid) FROM ff_exec_core);"
        "UPDATE ff_exec_core SET public_state = 7"
        " WHERE eid = (SELECT MAX(eid) FROM ff_exec_core)");
    const ScannerResult result = reconcile();
    EXPECT_EQ(result.processed, 1U) << "the label behind it is put right";
    EXPECT_EQ(ok(ReadExecutionState{ids.back()}), PublicState::waiting);
    EXPECT_TRUE(tells(result, "77"));
    EXPECT_EQ(inconsistent(), 1U) << "what was mended does not count";
    EXPECT_EQ(reconcile().processed, 0U);
    EXPECT_EQ(inconsistent(), 1U);
    tamper(
        "UPDATE ff_exec_core SET lifecycle_phase = (SELECT lifecycle_phase FROM ff_exec_core"
        " ORDER BY eid DESC LIMIT 1)");
    EXPECT_TRUE(reconcile().findings.empty());
    EXPECT_EQ(inconsistent(), 0U);
}

TEST_F(Reconciler, ALaneThatIsNotRegisteredIsRegisteredAgain) {
    open();
    ok(job("lost"));
    ok(job("kept"));
    tamper("DELETE FROM ff_lane_registry WHERE lane_id = 'lost'");
    ASSERT_EQ(ok(ListLanes{}).lanes.size(), 1U);
    const ScannerResult result = reconcile();
    EXPECT_TRUE(tells(result, "lost"));
    EXPECT_EQ(result.processed, 1U);
    EXPECT_EQ(ok(ListLanes{}).lanes.size(), 2U);
    EXPECT_TRUE(reconcile().findings.empty());
}

TEST_F(Reconciler, ACountOfAttemptsFollowsTheRows) {
    open();
    const ExecutionId id = ok(job()).execution_id;
    const ClaimedTask task = ok(claim_by("w1")).tasks.at(0);
    ok(Release{task.handle});
    tamper("UPDATE ff_exec_core SET total_attempt_count = 0, current_attempt_index = NULL");
    EXPECT_EQ(reconcile().processed, 1U);
    const AttemptCounters counters = ok(ReadAttemptCounters{id});
    EXPECT_EQ(counters.current_attempt_index, 0U);
    EXPECT_EQ(counters.total_attempt_count, 1U);
    EXPECT_TRUE(reconcile().findings.empty());
    EXPECT_EQ(ok(claim_by("w2")).tasks.at(0).handle.attempt_index, 0U)
        << "the same attempt goes on";
}

TEST_F(Reconciler, ALeaseOfWhichPartsAreLostIsTakenOverByTheNext) {
    open();
    const ExecutionId id = ok(job()).execution_id;
    ok(claim_by("w1"));
    tamper("UPDATE ff_exec_core SET lease_id = NULL, worker_id = NULL");
    EXPECT_EQ(reconcile().processed, 1U);
    EXPECT_EQ(words(ok(ReadExecutionInfo{id}).state),
              "active lease_expired_reclaimable not_applicable waiting_for_worker none "
              "attempt_interrupted");
    EXPECT_TRUE(reconcile().findings.empty());
    const auto tasks = ok(claim_by("w2")).tasks;
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].handle.kind, HandleKind::reclaimed);
    for (const HistoryEntry& entry : ok(ReadLeaseHistory{id})) {
        EXPECT_TRUE(entry.lease_id) << entry.event;
    }
}

TEST_F(Reconciler, WhatDoesNotFollowFromTheRestIsOnlyTold) {
    open();
    ok(job());
    tamper("UPDATE ff_exec_core SET completed_at = 5");
    const ScannerResult result = reconcile();
    EXPECT_EQ(result.processed, 0U);
    EXPECT_EQ(result.errors, 1U);
    EXPECT_TRUE(tells(result, "I8"));
    EXPECT_EQ(inconsistent(), 1U);
}

// Spec 02 section 9: one that fails is skipped, the pass goes on behind it.

TEST_F(Reconciler, AWorkerThatCannotBeReadKeepsNoDeadOneInTheRegistry) {
    open();
    for (const char* instance : {"w-1", "w-2", "w-3"}) {
        ok(RegisterWorker{"acme", "w", instance, {"a"}, {}, 10'000});
    }
    tamper("UPDATE ff_worker_registry SET lanes = '[' WHERE worker_instance_id = 'w-1'");
    ok(HeartbeatWorker{"acme", "w-3"});
    clock_->advance(9'000);
    ok(HeartbeatWorker{"acme", "w-3"});
    clock_->advance(2'000);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 1U);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 0U);
}

TEST_F(Reconciler, AFlowThatCannotBeReadDoesNotHideTheOthers) {
    open();
    for (int i = 0; i < 2; ++i) {
        const FlowId flow = ok(CreateFlow{.flow_kind = "f", .ns = "acme"}).flow_id;
        const ExecutionId id = ok(job()).execution_id;
        ok(AddExecutionToFlow{flow, id});
    }
    tamper(
        "UPDATE ff_flow SET flow_state = 77 WHERE flow_id = (SELECT MIN(flow_id) FROM ff_flow);"
        "UPDATE ff_flow SET live_members = 9 WHERE flow_id = (SELECT MAX(flow_id) FROM ff_flow)");
    for (int round = 0; round < 2; ++round) {
        const ScannerResult result = ok(RunScanner{"flow_projector"});
        EXPECT_TRUE(tells(result, "77"));
        EXPECT_TRUE(tells(result, "live")) << "of the flow behind it";
        EXPECT_EQ(result.errors, result.findings.size());
        EXPECT_TRUE(tells(ok(RunScanner{"dependency_reconciler"}), "77"));
    }
}

TEST_F(Reconciler, ABudgetThatCannotBeReadDoesNotHideTheOthers) {
    open();
    for (const std::uint8_t n : {std::uint8_t{1}, std::uint8_t{2}}) {
        CreateBudget budget;
        budget.budget_id = BudgetId{Uuid{{n}}};
        budget.scope_type = "team";
        budget.scope_id = "a";
        budget.dimensions = {"tokens"};
        budget.hard_limits = {10};
        budget.soft_limits = {0};
        ok(budget);
    }
    tamper(
        "UPDATE ff_budget SET limits = '{' WHERE budget_id = (SELECT MIN(budget_id) FROM "
        "ff_budget);"
        "UPDATE ff_budget SET reserved = '{\"tokens\":5}'"
        " WHERE budget_id = (SELECT MAX(budget_id) FROM ff_budget)");
    for (int round = 0; round < 2; ++round) {
        const ScannerResult result = ok(RunScanner{"budget_reconciler"});
        EXPECT_TRUE(tells(result, "limits"));
        EXPECT_TRUE(tells(result, "what is reserved is not what executions hold"));
        EXPECT_EQ(result.errors, result.findings.size());
    }
}

TEST_F(Reconciler, AQuotaThatCannotBeReadDoesNotHideTheOthers) {
    open();
    for (const std::uint8_t n : {std::uint8_t{1}, std::uint8_t{2}}) {
        QuotaLimits limits;
        limits.max_concurrent = 3;
        ok(CreateQuotaPolicy{QuotaPolicyId{Uuid{{n}}}, limits});
    }
    tamper(
        "UPDATE ff_quota_policy SET parent = x'01'"
        " WHERE quota_policy_id = (SELECT MIN(quota_policy_id) FROM ff_quota_policy);"
        "UPDATE ff_quota_policy SET running = 2"
        " WHERE quota_policy_id = (SELECT MAX(quota_policy_id) FROM ff_quota_policy)");
    const ScannerResult result = ok(RunScanner{"quota_reconciler"});
    EXPECT_TRUE(tells(result, "parent"));
    EXPECT_TRUE(tells(result, "counts 2 slots"));
    const ScannerResult again = ok(RunScanner{"quota_reconciler"});
    EXPECT_FALSE(tells(again, "counts 2 slots")) << "it was put right";
}

TEST_F(Reconciler, AnExecutionWhoseCountIsLostCanEndBeforeItIsMended) {
    open();
    const ExecutionId id = ok(job()).execution_id;
    const ClaimedTask task = ok(claim_by("w1")).tasks.at(0);
    tamper("UPDATE ff_exec_core SET total_attempt_count = 0");
    ok(Complete{task.handle, "done", {}});
    EXPECT_EQ(ok(ReadExecutionState{id}), PublicState::completed);
}

TEST_F(Reconciler, AnExecutionWhoseInputIsLostStopsNobody) {
    open();
    const auto tagged = [&] {
        return ok(with(job(), [](auto& args) { args.tags["app.team"] = "red"; })).execution_id;
    };
    const ExecutionId running = tagged();
    const ClaimedTask task = ok(claim_by("w1")).tasks.at(0);
    const ExecutionId waiting = tagged();
    const ExecutionId healthy = ok(job()).execution_id;
    tamper(
        "DELETE FROM ff_exec_input WHERE eid IN"
        " (SELECT eid FROM ff_exec_core WHERE has_tags = 1)");
    EXPECT_EQ(ok(claim_by("w2")).tasks.at(0).handle.execution_id, healthy)
        << "the one before it cannot be handed out";
    EXPECT_EQ(code_of(engine_->run(SetExecutionTags{waiting, {{"app.team", "blue"}}})),
              "corruption");
    EXPECT_EQ(code_of(engine_->run(RemoveExecutionTag{waiting, "app.team"})), "corruption");
    ok(Renew{task.handle});
    clock_->advance(task.handle.lease_ttl_ms + 1);
    ok(RunScanner{"lease_expiry"});
    EXPECT_EQ(ok(ReadExecutionInfo{running}).state.ownership,
              OwnershipState::lease_expired_reclaimable);
    ok(CancelExecution{LeaseRef(running), "lost", "operator_override"});
    EXPECT_EQ(ok(ReadExecutionState{running}), PublicState::cancelled);
}

TEST_F(Reconciler, AnIllegalVectorIsCountedAndMendedByTheNextTransition) {
    open();
    const ExecutionId delayed =
        ok(with(job(), [](auto& args) { args.delay_until = t0 + 1'000; })).execution_id;
    const ExecutionId cancelled = ok(job()).execution_id;
    const ExecutionId claimed = ok(job()).execution_id;
    tamper("UPDATE ff_exec_core SET attempt_state = 0");
    EXPECT_TRUE(tells(reconcile(), "combination of the six dimensions"));
    EXPECT_EQ(inconsistent(), 3U);
    EXPECT_EQ(ok(ReadExecutionInfo{delayed}).state.attempt_state, AttemptState::none)
        << "reads show it";
    ok(CancelExecution{LeaseRef(cancelled), "why", "operator_override"});
    EXPECT_EQ(ok(ReadExecutionState{cancelled}), PublicState::cancelled);
    const ClaimedTask task = ok(claim_by("w1")).tasks.at(0);
    EXPECT_EQ(task.handle.execution_id, claimed);
    ok(Complete{task.handle, "done", {}});
    clock_->advance(2'000);
    EXPECT_EQ(ok(claim_by("w1")).tasks.at(0).handle.execution_id, delayed);
    EXPECT_TRUE(reconcile().findings.empty());
    EXPECT_EQ(inconsistent(), 0U);
}

TEST_F(Reconciler, ARouteThatIsLostStopsNobody) {
    open();
    const ExecutionId lost = ok(job("lost")).execution_id;
    const ExecutionId kept = ok(job("kept")).execution_id;
    tamper("UPDATE ff_exec_core SET route = 99 WHERE eid = 1");
    EXPECT_EQ(code_of(engine_->run(CancelExecution{LeaseRef(lost), "why", "operator_override"})),
              "corruption");
    EXPECT_EQ(ok(claim_by("w1", "kept")).tasks.at(0).handle.execution_id, kept);
    EXPECT_EQ(inconsistent(), 0U);
    reconcile();
    EXPECT_EQ(inconsistent(), 1U);
}

TEST_F(Reconciler, RevokingALeaseWhoseIdIsLostIsRefused) {
    open();
    const ExecutionId id = ok(job()).execution_id;
    ok(claim_by("w1"));
    tamper("UPDATE ff_exec_core SET lease_id = NULL");
    RevokeLease revoke;
    revoke.execution_id = id;
    revoke.reason = "why";
    EXPECT_EQ(code_of(engine_->run(revoke)), "corruption");
    reconcile();
    EXPECT_EQ(ok(ReadExecutionInfo{id}).state.ownership, OwnershipState::lease_expired_reclaimable);
}

TEST_F(Reconciler, ARowThatCannotBeReadDoesNotKeepADeadWorkersOtherLeases) {
    open();
    ok(registration("w1-a"));
    const ExecutionId broken = ok(job()).execution_id;
    const ExecutionId healthy = ok(job()).execution_id;
    ok(claim_by("w1"));
    ok(claim_by("w1"));
    tamper("UPDATE ff_exec_core SET attempt_state = 77 WHERE eid = 1");
    MarkWorkerDead dead;
    dead.worker_instance_id = "w1-a";
    dead.ns = "acme";
    dead.reason = "gone";
    dead.revoke_leases = true;
    ok(dead);
    EXPECT_EQ(ok(ReadExecutionInfo{healthy}).state.ownership, OwnershipState::lease_revoked);
    EXPECT_EQ(code_of(engine_->run(ReadExecutionInfo{broken})), "corruption");
}

TEST_F(Reconciler, AnAttemptIndexThatCannotBeDoesNotStopRetention) {
    open();
    const ExecutionId id =
        ok(job_with_policy(R"({"stream_policy":{"retention_ttl_ms":1000}})")).execution_id;
    const ClaimedTask task = ok(claim_by("w1")).tasks.at(0);
    AppendFrames frames;
    frames.lease = task.handle;
    frames.frames.resize(1);
    frames.frames[0].frame_type = "log";
    ok(frames);
    ok(Complete{task.handle, "done", {}});
    tamper("UPDATE ff_exec_core SET current_attempt_index = 4294967295");
    clock_->advance(1'000);
    ok(RunScanner{"retention_trimmer"});
    EXPECT_FALSE(ok(DescribeExecution{id}));
}

}  // namespace

}  // namespace ff::engine::test
