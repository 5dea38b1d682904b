// Cases of the suite that belong to no single operation.
#include "engine/conformance.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>

namespace ff::engine::test {

// --------------------------------------------------------------------------- the engine as such

class EngineConformance : public Conformance {
  protected:
    /// One execution in each state that needs no flow: what a rejected operation must not touch.
    void fill();
    std::vector<ExecutionId> ids_;
    ClaimedTask running_;
};

FF_ON_EVERY_ENGINE(EngineConformance);

constexpr const char* retry_once =
    R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":5000}}})";

void EngineConformance::fill() {
    const auto keep = [this](const ExecutionId& id) { ids_.push_back(id); };
    ok(registration("pool-1", {"gpu"}));
    ClaimedTask task = start(with(job("done"), [](auto& op) {
        op.tags = {{"team", "red"}};
        op.idempotency_key = "k1";
    }));
    ok(Complete{task.handle, "result", "text", Source::lease_holder});
    keep(task.execution_id());
    task = start(job("failed"));
    ok(Fail{task.handle, "broke", "permanent", Source::lease_holder});
    keep(task.execution_id());
    task = start(job_with_policy(retry_once, "retry"));
    ok(Fail{task.handle, "broke", "transient", Source::lease_holder});
    keep(task.execution_id());
    task = start(job("revoked"));
    ok(RevokeLease{task.execution_id(), {}, {}, "enough"});
    keep(task.execution_id());
    task = start(job("released"));
    ok(Release{task.handle});
    keep(task.execution_id());
    keep(create(job("granted")));
    grant("w1", "granted");
    keep(create(job("blocked")));
    ok(BlockExecution{ids_.back(), "paused_by_operator", "hold"});
    keep(create(job_requiring({"gpu"}, "routed")));
    keep(create(job("cancelled")));
    ok(CancelExecution{LeaseRef(ids_.back()), "not wanted", "operator_override"});
    running_ = start(job("running"));
    keep(running_.execution_id());
}

TEST_P(EngineConformance, ItSaysWhatItIs) {
    const Capabilities capabilities = ok(ReadCapabilities{});
    EXPECT_FALSE(capabilities.family.empty());
    EXPECT_FALSE(capabilities.durability.empty());
    EXPECT_GE(capabilities.partitions.flow, 1);
    ASSERT_EQ(capabilities.supports.size(), 34U);
    EXPECT_EQ(capabilities.supports.front().first, "cancel_execution");
    EXPECT_EQ(capabilities.supports.back().first, "read_budget_usage_and_limits");
    for (const char* flag :
         {"cancel_execution", "change_priority", "replay_execution", "revoke_lease",
          "read_execution_state", "read_execution_info", "get_execution_result", "claim_for_worker",
          "issue_reclaim_grant", "register_worker", "heartbeat_worker", "mark_worker_dead",
          "list_expired_leases", "list_workers"}) {
        EXPECT_TRUE(
            std::ranges::find(capabilities.supports, std::pair<std::string, bool>(flag, true)) !=
            capabilities.supports.end())
            << flag;
    }
}

TEST_P(EngineConformance, TwoCommandsOnOneExecutionInOneCallSeeEachOther) {
    const ClaimedTask task = start();
    const ExecutionId id = task.execution_id();
    std::vector<Request> requests;
    requests.emplace_back(Complete{task.handle, "done", {}, Source::lease_holder});
    requests.emplace_back(Fail{task.handle, "late", "transient", Source::lease_holder});
    requests.emplace_back(ReplayExecution{id});
    requests.emplace_back(CancelExecution{LeaseRef(id), "enough", "operator_override"});
    requests.emplace_back(CancelExecution{LeaseRef(id), "again", "operator_override"});
    const auto responses = engine().run_many(std::move(requests));
    ASSERT_EQ(responses.size(), 5U);
    EXPECT_EQ(code_of(responses[0]), "ok");
    EXPECT_EQ(code_of(responses[1]), "execution_not_active");
    EXPECT_EQ(code_of(responses[2]), "ok");
    EXPECT_EQ(code_of(responses[3]), "ok");
    EXPECT_EQ(code_of(responses[4]), "ok");
    EXPECT_EQ(public_of(id), PublicState::cancelled);
    EXPECT_EQ(snapshot(id).cancellation_reason, "enough");
}

TEST_P(EngineConformance, ACreateAndEverythingAfterItMayComeInOneCall) {
    // Each of these looks at rows of an execution that was not there when the call began.
    const ExecutionId id{0, new_uuid()};
    const auto created = with(job(), [&](auto& op) { op.execution_id = id; });
    ClaimExecution claim;
    claim.execution_id = id;
    claim.worker_id = "w1";
    claim.worker_instance_id = "w1-a";
    claim.lane_id = "default";
    ReclaimExecution reclaim;
    reclaim.execution_id = id;
    reclaim.worker_id = "w1";
    reclaim.worker_instance_id = "w1-a";
    reclaim.lane_id = "default";
    IssueClaimGrant grant;
    grant.execution_id = id;
    grant.lane_id = "default";
    grant.worker_id = "w1";
    grant.worker_instance_id = "w1-a";
    LeaseRef fence(id);
    fence.lease_id = LeaseId{new_uuid()};
    fence.lease_epoch = 1;
    fence.attempt_id = AttemptId{new_uuid()};
    std::vector<Request> requests{
        created,
        claim,
        reclaim,
        Fail{fence, "r", "transient", Source::lease_holder},
        SetExecutionTags{id, {{"a.b", "c"}}},
        grant,
        claim,
        Fail{LeaseRef(id), "r", "transient", Source::operator_override},
        ReplayExecution{id},
        created,
    };
    const auto responses = engine().run_many(std::move(requests));
    std::vector<std::string> codes;
    for (const Response& response : responses) {
        codes.push_back(code_of(response));
    }
    EXPECT_EQ(codes,
              (std::vector<std::string>{"ok", "invalid_claim_grant", "ok", "execution_not_active",
                                        "ok", "ok", "ok", "ok", "ok", "ok"}));
    EXPECT_EQ(ff::get<ReclaimResult>(*responses[2]).status, ReclaimResult::Status::grant_not_found);
    EXPECT_FALSE(ff::get<CreateResult>(*responses[9]).created);
    EXPECT_EQ(public_of(id), PublicState::waiting);
    EXPECT_EQ(snapshot(id).replay_count, 1U);
}

TEST_P(EngineConformance, AnswersOfManyComeInTheOrderOfTheQuestions) {
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 50; ++i) {
        ops.push_back(with(job(), [&](auto& op) { op.input_payload = std::to_string(i); }));
    }
    ops[7].ns = "";
    const auto results = engine().run_all(ops);
    ASSERT_EQ(results.size(), 50U);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (i == 7) {
            EXPECT_EQ(code_of(results[i]), "invalid_input");
        } else {
            ASSERT_TRUE(results[i]);
            EXPECT_EQ(ok(ReadExecutionContext{results[i]->execution_id}).input_payload,
                      std::to_string(i));
        }
    }
    EXPECT_TRUE(engine().run_many({}).empty());
}

TEST_P(EngineConformance, ACallbackIsCalledOnceForReadsAndWrites) {
    const ExecutionId id = create();
    std::promise<expected<PublicState>> read;
    engine().async(ReadExecutionState{id},
                   [&](expected<PublicState> result) { read.set_value(std::move(result)); });
    const auto state = read.get_future().get();
    ASSERT_TRUE(state);
    EXPECT_EQ(*state, PublicState::waiting);
    std::promise<expected<StateResult>> write;
    engine().async(ChangePriority{id, 7},
                   [&](expected<StateResult> result) { write.set_value(std::move(result)); });
    EXPECT_TRUE(write.get_future().get());
    std::promise<expected<StateResult>> wrong;
    engine().async(ChangePriority{ExecutionId{0, new_uuid()}, 7},
                   [&](expected<StateResult> result) { wrong.set_value(std::move(result)); });
    EXPECT_EQ(code_of(wrong.get_future().get()), "execution_not_found");
}

TEST_P(EngineConformance, ARejectedOperationChangesNothing) {
    fill();
    const std::string before = dump();
    const LeaseRef nobody =
        with(LeaseRef(running_.handle), [](auto& lease) { lease.lease_id = LeaseId{new_uuid()}; });
    const LeaseRef partial =
        with(LeaseRef(running_.handle), [](auto& lease) { lease.attempt_id.reset(); });
    for (const ExecutionId& id : ids_) {
        const LeaseRef stale = with(nobody, [&](auto& lease) { lease.execution_id = id; });
        const LeaseRef some = with(partial, [&](auto& lease) { lease.execution_id = id; });
        for (const LeaseRef& lease : {stale, some}) {
            EXPECT_NE(refused(Renew{lease, 1000}), "ok");
            EXPECT_NE(refused(Progress{lease, 50, "half"}), "ok");
            EXPECT_NE(refused(Complete{lease, "x", {}, Source::lease_holder}), "ok");
            EXPECT_NE(refused(Fail{lease, "x", "transient", Source::lease_holder}), "ok");
            EXPECT_NE(refused(Delay{lease, now() + 10, Source::lease_holder}), "ok");
            EXPECT_NE(refused(WaitChildren{lease, Source::lease_holder}), "ok");
            EXPECT_NE(refused(Release{lease}), "ok");
        }
        EXPECT_NE(refused(BlockExecution{id, "because", {}}), "ok");
        EXPECT_NE(refused(UnblockExecution{id, "waiting_for_budget"}), "ok");
        EXPECT_NE(refused(SetExecutionTags{id, {{"Bad Key", "x"}}}), "ok");
        EXPECT_NE(refused(SetExecutionTags{id, {}}), "ok");
        EXPECT_NE(refused(RemoveExecutionTag{id, "bad"}), "ok");
    }
    EXPECT_NE(refused(RevokeLease{running_.execution_id(), LeaseId{new_uuid()}, {}, "x"}), "ok");
    EXPECT_NE(refused(ReplayExecution{running_.execution_id()}), "ok");
    EXPECT_NE(refused(ChangePriority{running_.execution_id(), 3}), "ok");
    EXPECT_NE(refused(CancelExecution{nobody, "x", "lease_holder"}), "ok");
    EXPECT_NE(refused(IssueGrantAndClaim{running_.execution_id(), "running", 1000}), "ok");
    EXPECT_NE(refused(with(job(), [](auto& op) { op.policy = "[]"; })), "ok");
    EXPECT_NE(refused(with(job(), [](auto& op) { op.lane_id = ""; })), "ok");
    EXPECT_NE(
        refused(with(job(), [](auto& op) { op.execution_id = ExecutionId{65535, new_uuid()}; })),
        "ok");
    EXPECT_NE(refused(with(registration("pool-1"), [](auto& op) { op.worker_id = "other"; })),
              "ok");
    EXPECT_NE(refused(with(registration("x"), [](auto& op) { op.liveness_ttl_ms = 1; })), "ok");
    EXPECT_NE(refused(SetLaneState{"", LaneState::paused}), "ok");
    EXPECT_NE(refused(with(claim_by("w"), [](auto& op) { op.max_tasks = 0; })), "ok");
    EXPECT_NE(refused(RunScanner{"no_such_pass"}), "ok");
    EXPECT_EQ(dump(), before);
}

TEST_P(EngineConformance, EverythingIsThereAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    fill();
    const std::string before = dump();
    reopen();
    EXPECT_EQ(dump(), before);
    // And it goes on where it stopped: the lease is live, the idempotency key known.
    EXPECT_EQ(refused(Renew{running_.handle, 1000}), "ok");
    EXPECT_FALSE(ok(with(job("done"), [](auto& op) { op.idempotency_key = "k1"; })).created);
    EXPECT_FALSE(has_work("w2", "granted"));
    after(5'000);
    EXPECT_EQ(claim("w2", "retry").attempt_type, AttemptType::retry);
    EXPECT_EQ(claim("w2", "revoked").handle.lease_epoch, 2U);
    EXPECT_EQ(claim("w2", "released").handle.kind, HandleKind::resumed);
    EXPECT_EQ(claim("w2", "granted").handle.lease_epoch, 1U);
}

TEST_P(EngineConformance, WhatBecameDueWhileClosedHappensAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const ExecutionId delayed =
        create(with(job("later"), [&](auto& op) { op.delay_until = now() + 1'000; }));
    close();
    clock().advance(60'000);
    reopen();
    settle();
    EXPECT_EQ(public_of(delayed), PublicState::waiting);
    EXPECT_EQ(snapshot(task.execution_id()).info.state.ownership,
              OwnershipState::lease_expired_reclaimable);
}

TEST_P(EngineConformance, MoreDueThanOneBatchTakesIsDoneInOneGo) {
    FF_NEEDS_CLOCK();
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 700; ++i) {
        ops.push_back(with(job(), [&](auto& op) { op.delay_until = t0 + 1'000 + i % 3; }));
    }
    engine().run_all(ops);
    // Late enough for every periodic pass to come in the same moment.
    after(61'000);
    auto claim_many = with(claim_by("w1"), [](auto& op) { op.max_tasks = 1000; });
    EXPECT_EQ(claim_some(claim_many).size(), 700U);
    EXPECT_EQ(warnings(), std::vector<std::string>());
}

TEST_P(EngineConformance, APeriodicPassFindsNothingInAHealthyStore) {
    fill();
    for (const char* name :
         {"lease_expiry", "delayed_promoter", "attempt_timeout", "execution_deadline",
          "retention_trimmer", "index_reconciler", "worker_ttl_sweep", "grant_sweep",
          "idempotency_sweep", "event_trimmer", "stream_trimmer", "budget_reconciler",
          "quota_reconciler"}) {
        const ScannerResult result = ok(RunScanner{name});
        EXPECT_EQ(result.processed, 0U) << name;
        EXPECT_EQ(result.errors, 0U) << name;
        EXPECT_TRUE(result.findings.empty()) << name << ": " << result.findings.front();
    }
    EXPECT_EQ(refused(RunScanner{"nonsense"}), "invalid_input");
}

}  // namespace ff::engine::test
