// The writer: many commands in one transaction, and what happens when one goes wrong, when too many
// come, when the engine stops, and when sixteen threads pull at once.
#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/group_commit.h"

namespace ff::engine::test {

namespace {

CreateExecution poison(const std::string& lane = "poisoned") {
    return with(job(lane), [](auto& op) { op.input_payload = "poison"; });
}

/// Fails every commit that would write a poisoned input.
bool holds_poison(const core::Snapshot& snapshot) {
    return std::ranges::any_of(snapshot.cells, [](const core::ExecutionCell& cell) {
        return cell.input.dirty && cell.input.current() &&
               cell.input.current()->payload == "poison";
    });
}

}  // namespace

// ---------------------------------------------------------------------------------- one bad apple

TEST_F(GroupCommit, OneBadCommandAmongGoodFailsAlone) {
    const ExecutionId kept{0, new_uuid()};
    ok(with(job("kept"), [&](auto& op) { op.execution_id = kept; }));
    const ClaimedTask task = claim_some("w1", "kept").at(0);
    store_->fail_commits_if(holds_poison);
    std::vector<Request> requests;
    for (int i = 0; i < 20; ++i) {
        requests.emplace_back(i == 9 ? poison() : job("good"));
    }
    requests.emplace_back(Complete{task.handle, "done", {}, Source::lease_holder});
    requests.emplace_back(claim_by("w2", "good"));
    const auto responses = engine_->run_many(std::move(requests));
    for (std::size_t i = 0; i < responses.size(); ++i) {
        EXPECT_EQ(code_of(responses[i]), i == 9 ? "store_full" : "ok") << i;
    }
    EXPECT_EQ(ff::get<ClaimResult>(*responses[21]).tasks.size(), 1U);
    EXPECT_EQ(ok(GetExecutionResult{kept})->payload, "done");
    EXPECT_EQ(ok(ListExecutions{0, {}, 100}).executions.size(), 20U);
    EXPECT_TRUE(claim_some("w3", "poisoned").empty());
}

TEST_F(GroupCommit, ATransactionThatFailsOnceIsNotNoticed) {
    std::atomic<int> left{1};
    store_->fail_commits_if([&](const core::Snapshot&) { return left-- > 0; });
    const auto results = engine_->run_all(std::vector<CreateExecution>(10, job()));
    for (const auto& result : results) {
        EXPECT_EQ(code_of(result), "ok");
    }
    EXPECT_EQ(ok(with(claim_by("w1"), [](auto& op) { op.max_tasks = 100; })).tasks.size(), 10U);
    EXPECT_EQ(store_->failed_commits(), 1U);
}

TEST_F(GroupCommit, ADuplicateNobodyForesawFailsAlone) {
    // The store finds out that the number of a new row is taken: as if a counter had been set back.
    auto plain = store::MemoryStore::make({});
    store::MemoryStore* memory = plain.get();
    EngineOptions options;
    options.clock = clock_;
    auto engine = EmbeddedEngine::start(std::move(plain), options);
    ASSERT_TRUE(engine);
    memory->fail_next_commit(Error{ErrorCode::internal, "the execution id is taken", {}});
    std::vector<Request> requests{job("a"), job("b"), job("c")};
    const auto responses = (*engine)->run_many(std::move(requests));
    for (const Response& response : responses) {
        EXPECT_EQ(code_of(response), "ok");
    }
    memory->fail_next_commit(Error{ErrorCode::internal, "the execution id is taken", {}});
    EXPECT_EQ(code_of((*engine)->run(job("d"))), "internal") << "alone, it is its own fault";
    EXPECT_EQ((*engine)->run(ListExecutions{0, {}, 10})->executions.size(), 3U);
}

TEST_F(GroupCommit, AFailedClaimLeavesTheWorkThere) {
    ok(job());
    store_->fail_commits(true);
    EXPECT_EQ(refused(claim_by("w1")), "store_full");
    store_->fail_commits(false);
    const auto tasks = claim_some("w2", "default");
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].handle.lease_epoch, 1U);
    EXPECT_EQ(ok(ReadLeaseHistory{tasks[0].execution_id()}).size(), 1U);
}

TEST_F(GroupCommit, WhatAFailedCommandRoutedIsForgotten) {
    // The number of a route that was never stored is given to the next new route.
    store_->fail_commits_if(holds_poison);
    EXPECT_EQ(refused(poison("first")), "store_full");
    const CreateResult made = ok(job("second"));
    EXPECT_TRUE(claim_some("w1", "first").empty()) << "work of another lane";
    const auto tasks = claim_some("w1", "second");
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), made.execution_id);
    // The same when both come in one transaction.
    const auto results = engine_->run_all(std::vector<CreateExecution>{
        with(poison("third"), [](auto& op) { op.execution_kind = "x"; }), job("fourth")});
    EXPECT_EQ(code_of(results[0]), "store_full");
    EXPECT_EQ(code_of(results[1]), "ok");
    EXPECT_TRUE(claim_some("w1", "third").empty());
    EXPECT_EQ(claim_some("w1", "fourth").size(), 1U);
}

TEST_F(GroupCommit, AWaitingClaimOutlivesTheFailureOfOthers) {
    store_->fail_commits_if(holds_poison);
    const auto waiting = [](const std::string& worker) {
        return with(claim_by(worker, "work"), [](auto& op) { op.max_wait_ms = 60'000; });
    };
    SentClaim first(*engine_, waiting("w1"));
    SentClaim second(*engine_, waiting("w2"));
    ok(RunScanner{"grant_sweep"});
    EXPECT_EQ(refused(poison("work")), "store_full");
    ok(RunScanner{"grant_sweep"});
    EXPECT_FALSE(first.answered());
    EXPECT_FALSE(second.answered());
    // A batch of which one part fails still serves them with the rest, each once.
    const auto results =
        engine_->run_all(std::vector<CreateExecution>{job("work"), poison("work"), job("work")});
    EXPECT_EQ(code_of(results[1]), "store_full");
    std::set<ExecutionId> taken;
    for (SentClaim* sent : {&first, &second}) {
        const auto tasks = sent->tasks();
        ASSERT_EQ(tasks.size(), 1U);
        taken.insert(tasks[0].execution_id());
    }
    EXPECT_EQ(taken, (std::set<ExecutionId>{results[0]->execution_id, results[2]->execution_id}));
}

TEST_F(GroupCommit, AWaitingClaimIsNotToldOfATransactionThatFailedBesideIt) {
    // Time makes work ready and the claim gets it, but the commit fails: it waits on.
    ok(with(job(), [](auto& op) { op.delay_until = t0 + 10; }));
    SentClaim sent(*engine_, with(claim_by("w1"), [](auto& op) { op.max_wait_ms = 600'000; }));
    ok(RunScanner{"grant_sweep"});
    store_->fail_commits(true);
    clock_->advance(10);
    refused(RunScanner{"lease_expiry"});
    EXPECT_FALSE(sent.answered());
    store_->fail_commits(false);
    clock_->advance(2'000);
    EXPECT_EQ(sent.tasks().size(), 1U);
}

TEST_F(GroupCommit, ARowThatCannotBeReadIsPassedOver) {
    ok(job());
    const CreateResult readable = ok(job());
    store_->fail_loads_if([first = std::optional<core::Eid>()](core::Eid eid) mutable {
        first = first.value_or(eid);
        return eid == *first ? std::optional(ErrorCode::corruption) : std::nullopt;
    });
    const auto tasks = claim_some("w1", "default");
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), readable.execution_id);
    EXPECT_TRUE(claim_some("w1", "default").empty());
    ASSERT_EQ(warnings_->all().size(), 1U);
    EXPECT_NE(warnings_->all()[0].find("claim passes over"), std::string::npos);
}

TEST_F(GroupCommit, AClaimThatTheStoreFailsIsAnsweredAndHoldsUpNobody) {
    ok(job());
    store_->fail_loads_if([](core::Eid) { return std::optional(ErrorCode::store_io); });
    EXPECT_EQ(refused(claim_by("w1")), "store_io");
    SentClaim waiting(*engine_, with(claim_by("w2"), [](auto& op) { op.max_wait_ms = 600'000; }));
    EXPECT_EQ(code_of(waiting.get()), "store_io") << "rather than left to wait for ever";
    // In one batch with others: those are not touched.
    const auto responses = engine_->run_many({job("a"), claim_by("w1"), job("b")});
    EXPECT_EQ(code_of(responses[0]), "ok");
    EXPECT_EQ(code_of(responses[1]), "store_io");
    EXPECT_EQ(code_of(responses[2]), "ok");
    EXPECT_TRUE(warnings_->all().empty()) << "whoever asked was told";
    store_->fail_loads_if(nullptr);
    EXPECT_EQ(claim_some("w1", "default").size(), 1U);
}

TEST_F(GroupCommit, WhenNoTransactionBeginsEverybodyIsToldAtOnce) {
    SentClaim waiting(*engine_, with(claim_by("w1"), [](auto& op) { op.max_wait_ms = 600'000; }));
    ok(RunScanner{"grant_sweep"});
    store_->fail_begins(true);
    const auto results = engine_->run_all(std::vector<CreateExecution>(50, job()));
    for (const auto& result : results) {
        EXPECT_EQ(code_of(result), "retry_exhausted") << "the store was busy to the last";
    }
    EXPECT_EQ(code_of(waiting.get()), "retry_exhausted");
    store_->fail_begins(false);
    ok(job());
    EXPECT_EQ(claim_some("w1", "default").size(), 1U);
}

TEST_F(GroupCommit, ClaimsWithOtherDemandsAreServedInOrderOfArrival) {
    const auto waiting = [&](const std::string& worker, std::vector<std::string> capabilities) {
        return with(claim_by(worker), [&](auto& op) {
            op.capabilities = std::move(capabilities);
            op.max_wait_ms = 600'000;
        });
    };
    // Whoever was served goes to the end of the queue, whatever it can do.
    const std::vector<std::vector<std::string>> able{{"gpu"}, {"gpu", "cuda"}, {"gpu", "tpu"}};
    std::vector<std::unique_ptr<SentClaim>> queue;
    for (std::size_t i = 0; i < able.size(); ++i) {
        queue.push_back(std::make_unique<SentClaim>(*engine_, waiting("w", able[i])));
        ok(RunScanner{"grant_sweep"});
    }
    for (std::size_t i = 0; i < 9; ++i) {
        ok(job_requiring({"gpu"}));
        ok(RunScanner{"grant_sweep"});
        for (std::size_t k = 0; k < queue.size(); ++k) {
            EXPECT_EQ(queue[k]->answered(), k == i % 3) << "round " << i << ", claim " << k;
        }
        ASSERT_TRUE(queue[i % 3]->answered());
        queue[i % 3] = std::make_unique<SentClaim>(*engine_, waiting("w", able[i % 3]));
        ok(RunScanner{"grant_sweep"});
    }
}

TEST_F(GroupCommit, AClaimCarriesNoMoreThanAFewMegabytes) {
    for (int i = 0; i < 40; ++i) {
        ok(with(job(), [](auto& op) { op.input_payload.assign(1U << 20, 'x'); }));
    }
    const auto all = with(claim_by("w1"), [](auto& op) { op.max_tasks = 1'000; });
    EXPECT_EQ(ok(all).tasks.size(), 8U);
    // A batch is bounded as well; claims beyond the bound are served by the next, not sent away.
    const auto responses = engine_->run_many({all, all, all, all, all});
    std::size_t taken = 0;
    for (const Response& response : responses) {
        ASSERT_EQ(code_of(response), "ok");
        taken += ff::get<ClaimResult>(*response).tasks.size();
    }
    EXPECT_EQ(taken, 32U);
}

TEST_F(GroupCommit, AWorkerMarkedDeadLosesWhatItTookInTheSameBatch) {
    const ExecutionId id = ok(job()).execution_id;
    ok(registration(instance_of("w1")));
    const Grant grant = ok(with(IssueClaimGrant{}, [&](auto& op) {
        op.execution_id = id;
        op.lane_id = "default";
        op.worker_id = "w1";
        op.worker_instance_id = instance_of("w1");
    }));
    Answers answers(1);
    block_writer(answers, 0);
    ClaimExecution take;
    take.execution_id = id;
    take.lane_id = "default";
    take.worker_id = "w1";
    take.worker_instance_id = instance_of("w1");
    std::promise<std::vector<Response>> both;
    engine_->call_many({take, MarkWorkerDead{"acme", instance_of("w1"), "gone", true}},
                       [&](auto responses) { both.set_value(std::move(responses)); });
    store_->let_go();
    const auto responses = both.get_future().get();
    EXPECT_EQ(code_of(responses[0]), "ok");
    ASSERT_EQ(code_of(responses[1]), "ok");
    EXPECT_EQ(ff::get<MarkWorkerDeadResult>(*responses[1]).leases_revoked, 1U);
}

// --------------------------------------------------------------------------------- time and faults

TEST_F(GroupCommit, ACommandIsNotFailedByDueWorkThatCannotBeWritten) {
    const ExecutionId cursed =
        ok(with(job("cursed"), [](auto& op) { op.delay_until = t0 + 10; })).execution_id;
    const ExecutionId fine =
        ok(with(job("fine"), [](auto& op) { op.delay_until = t0 + 10; })).execution_id;
    store_->fail_commits_if([cursed](const core::Snapshot& snapshot) {
        return std::ranges::any_of(snapshot.cells, [&](const core::ExecutionCell& cell) {
            return cell.id == cursed && cell.execution.dirty;
        });
    });
    clock_->advance(10);
    EXPECT_EQ(refused(job("other")), "ok");
    // One row that cannot be written does not hold up the timers of the others.
    for (int i = 0; i < 20 && ok(ReadExecutionState{fine}) != PublicState::waiting; ++i) {
        clock_->advance(1'000);
        refused(RunScanner{"lease_expiry"});
    }
    EXPECT_EQ(ok(ReadExecutionState{fine}), PublicState::waiting);
    EXPECT_EQ(ok(ReadExecutionState{cursed}), PublicState::delayed);
    // And when it can be written again, it is.
    store_->fail_commits(false);
    for (int i = 0; i < 100 && ok(ReadExecutionState{cursed}) != PublicState::waiting; ++i) {
        clock_->advance(1'000);
        refused(RunScanner{"lease_expiry"});
    }
    EXPECT_EQ(ok(ReadExecutionState{cursed}), PublicState::waiting);
}

TEST_F(GroupCommit, AStoreThatKeepsFailingIsNotTriedWithoutPause) {
    ok(with(job(), [](auto& op) { op.delay_until = t0 + 10; }));
    store_->fail_commits(true);
    clock_->advance(10);
    // Commands that write nothing succeed; between them the writer must not try again and again.
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(refused(HeartbeatWorker{"acme", "nobody"}), "ok");
    }
    EXPECT_LE(store_->failed_commits(), 4U);
    EXPECT_LE(warnings_->all().size(), 8U);
}

TEST_F(GroupCommit, ATimerOfNothingDoesNotStopTheOthers) {
    store_->invent_timer({core::TimerKind::wake, t0 + 1, 987'654});
    for (int i = 0; i < 20; ++i) {
        const ExecutionId id =
            ok(with(job(), [&](auto& op) { op.delay_until = clock_->now() + 100; })).execution_id;
        // Commands and passes come in between, as they always do.
        clock_->advance(50);
        ok(job("other"));
        clock_->advance(750);
        ok(job("other"));
        clock_->advance(1'000);
        ok(RunScanner{"delayed_promoter"});
        EXPECT_EQ(ok(ReadExecutionState{id}), PublicState::waiting) << "round " << i;
    }
    EXPECT_FALSE(warnings_->all().empty());
    EXPECT_LE(warnings_->all().size(), 5U) << "told once in a while";
}

TEST_F(GroupCommit, AfterAFailedSyncNobodyIsToldThatAnythingIsDone) {
    ok(job());
    store_->fail_syncs();
    EXPECT_EQ(refused(job()), "store_io");
    EXPECT_EQ(refused(job()), "store_io");
    EXPECT_EQ(refused(claim_by("w1")), "store_io");
}

// ------------------------------------------------------------------------------- sharing and order

TEST_F(GroupCommit, WhatGathersDuringACommitSharesTheNext) {
    Answers answers(101);
    block_writer(answers, 0);
    const std::uint64_t batches = engine_->stats().batches;
    for (std::size_t i = 1; i <= 100; ++i) {
        engine_->call(job(), answers.at(i));
    }
    EXPECT_EQ(engine_->stats().queue_depth, 100U);
    store_->let_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(101, "ok"));
    EXPECT_EQ(engine_->stats().batches, batches + 1);
    EXPECT_EQ(engine_->stats().queue_depth, 0U);
}

TEST_F(GroupCommit, ACommandAloneIsAnsweredByTheWriterItself) {
    std::promise<std::string> thread;
    engine_->call(job(), [&](const Response&) {
        std::array<char, 16> name{};
        pthread_getname_np(pthread_self(), name.data(), name.size());
        thread.set_value(name.data());
    });
    EXPECT_EQ(thread.get_future().get(), "ff-writer") << "no change of threads on the way";
}

TEST_F(GroupCommit, WhatComesWhileALargerBatchIsSyncedSharesTheNext) {
    Answers answers(9);
    const std::uint64_t commits = leave_five_unsynced(answers);
    for (std::size_t i = 5; i <= 8; ++i) {
        engine_->call(job(), answers.at(i));
    }
    EXPECT_EQ(store_->commits(), commits) << "fewer than the disk is at work on";
    store_->let_syncs_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(9, "ok"));
    EXPECT_EQ(store_->commits(), commits + 1) << "the last four shared one";
}

TEST_F(GroupCommit, AsManyAsAreBeingSyncedDoNotWaitForThem) {
    Answers answers(3);
    block_writer(answers, 0);
    const std::uint64_t commits = store_->commits();
    engine_->call(job(), answers.at(1));
    store_->hold_syncs();
    store_->let_go();
    store_->wait_for_commits(commits + 2);  // one is synced, one is committed behind it
    engine_->call(job(), answers.at(2));
    EXPECT_EQ(answers.now(0), "");
    store_->let_syncs_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(3, "ok"));
}

TEST_F(GroupCommit, AnEngineThatStopsWhileItGathersFinishesWhatItTook) {
    Answers answers(6);
    const std::uint64_t commits = leave_five_unsynced(answers);
    engine_->call(job(), answers.at(5));
    std::thread stopping([this] { engine_->stop(); });
    store_->wait_for_commits(commits + 1);  // it waits for no more
    store_->let_syncs_go();
    stopping.join();
    EXPECT_EQ(answers.all(), std::vector<std::string>(6, "ok"));
}

TEST_F(GroupCommit, ABatchHoldsOnlySoMany) {
    EngineOptions options;
    options.batch_commands_max = 10;
    open(options);
    Answers answers(101);
    block_writer(answers, 0);
    const std::uint64_t batches = engine_->stats().batches;
    for (std::size_t i = 1; i <= 100; ++i) {
        engine_->call(job(), answers.at(i));
    }
    store_->let_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(101, "ok"));
    EXPECT_EQ(engine_->stats().batches, batches + 10);
}

TEST_F(GroupCommit, AGraphCountsAsItsNodesInABatch) {
    EngineOptions options;
    options.batch_commands_max = 10;
    open(options);
    SubmitFlow graph{.flow_kind = "dag", .ns = "acme"};
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
        graph.nodes.push_back({.name = name, .execution = job()});
    }
    Answers answers(8);
    block_writer(answers, 0);
    const std::uint64_t batches = engine_->stats().batches;
    for (std::size_t i = 1; i <= 3; ++i) {
        engine_->call(graph, answers.at(i));
    }
    for (std::size_t i = 4; i <= 7; ++i) {
        engine_->call(job(), answers.at(i));
    }
    store_->let_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(8, "ok"));
    EXPECT_EQ(engine_->stats().batches, batches + 3) << "the last has room for the four";
}

TEST_F(GroupCommit, CommandsOfOneCallerRunInTheirOrder) {
    Answers answers(6);
    block_writer(answers, 0);
    const ExecutionId id{0, new_uuid()};
    const auto made = with(job(), [&](auto& op) { op.execution_id = id; });
    engine_->call(CancelExecution{LeaseRef(id), "x", "operator_override"}, answers.at(1));
    engine_->call(made, answers.at(2));
    engine_->call(ReplayExecution{id}, answers.at(3));
    engine_->call(CancelExecution{LeaseRef(id), "x", "operator_override"}, answers.at(4));
    engine_->call(ReplayExecution{id}, answers.at(5));
    store_->let_go();
    EXPECT_EQ(answers.all(), (std::vector<std::string>{"ok", "execution_not_found", "ok",
                                                       "execution_not_terminal", "ok", "ok"}));
}

TEST_F(GroupCommit, NobodyIsToldBeforeTheCommit) {
    Answers answers(2);
    block_writer(answers, 0);
    engine_->call(job(), answers.at(1));
    EXPECT_EQ(answers.now(0), "");
    EXPECT_EQ(answers.now(1), "");
    EXPECT_TRUE(ok(ListExecutions{0, {}, 10}).executions.empty()) << "nor does a reader see it";
    store_->let_go();
    EXPECT_EQ(answers.all(), std::vector<std::string>(2, "ok"));
    EXPECT_EQ(ok(ListExecutions{0, {}, 10}).executions.size(), 2U);
}

// ------------------------------------------------------------------------------ overload and stop

TEST_F(GroupCommit, BeyondTheBoundCallersAreTurnedAwayAtOnce) {
    EngineOptions options;
    options.queue_commands_max = 4;
    open(options);
    Answers answers(8);
    block_writer(answers, 0);
    for (std::size_t i = 1; i <= 6; ++i) {
        engine_->call(job(), answers.at(i));
    }
    EXPECT_EQ(answers.now(5), "overloaded") << "while the writer is still blocked";
    EXPECT_EQ(answers.now(6), "overloaded");
    EXPECT_EQ(engine_->stats().queue_depth, 4U);
    store_->let_go();
    engine_->call(job(), answers.at(7));
    std::vector<std::string> expected(8, "ok");
    expected[5] = expected[6] = "overloaded";
    auto codes = answers.all();
    if (codes[7] == "overloaded") {
        codes[7] = refused(job());  // it came before the writer had made room
    }
    EXPECT_EQ(codes, expected);
}

TEST_F(GroupCommit, TheBoundCountsBytesToo) {
    EngineOptions options;
    options.queue_bytes_max = 100'000;
    open(options);
    Answers answers(4);
    block_writer(answers, 0);
    const auto large = with(job(), [](auto& op) { op.input_payload.assign(60'000, 'x'); });
    engine_->call(large, answers.at(1));
    engine_->call(large, answers.at(2));
    engine_->call(job(), answers.at(3));
    EXPECT_EQ(answers.now(2), "overloaded");
    store_->let_go();
    EXPECT_EQ(answers.all(), (std::vector<std::string>{"ok", "ok", "overloaded", "ok"}));
    EXPECT_EQ(refused(large), "ok") << "what has been taken no longer counts";
}

TEST_F(GroupCommit, TheBoundCountsEveryPartThatMayBeLong) {
    const ExecutionId id = ok(job()).execution_id;
    SetExecutionTags tags{id, {}};
    for (int i = 0; i < 20; ++i) {
        tags.tags["app.t" + std::to_string(i)] = std::string(4'000, 'x');
    }
    const auto grant = with(IssueClaimGrant{}, [&](auto& op) {
        op.execution_id = id;
        op.lane_id = "default";
        op.worker_id = "w1";
        op.worker_instance_id = instance_of("w1");
        op.route_snapshot_json.emplace(16'000, 'x');
        op.admission_summary.emplace(16'000, 'x');
    });
    const auto signal = with(DeliverSignal{}, [&](auto& op) {
        op.execution_id = id;
        op.signal_name = "go";
        op.payload.emplace(30'000, 'x');
    });
    const auto approval = with(DeliverApprovalSignal{}, [&](auto& op) {
        op.execution_id = id;
        op.signal_name = "approved";
        op.note.emplace(30'000, 'x');
    });
    const auto suspend = with(Suspend{}, [&](auto& op) {
        op.lease = LeaseRef(id);
        op.resume_condition =
            ResumeCondition::signal_set("k", std::vector<std::string>(30, std::string(1'000, 'x')));
    });
    for (const Request& large :
         {Request(tags), Request(grant), Request(signal), Request(approval), Request(suspend)}) {
        EngineOptions options;
        options.queue_bytes_max = 20'000;
        open(options);
        Answers answers(2);
        block_writer(answers, 0);
        engine_->call(large, answers.at(1));
        EXPECT_EQ(answers.now(1), "overloaded");
        store_->let_go();
        answers.all();
    }
}

TEST_F(GroupCommit, ManyAtOnceAreTakenWholeOrNotAtAll) {
    EngineOptions options;
    options.queue_commands_max = 4;
    open(options);
    const auto results = engine_->run_all(std::vector<CreateExecution>(5, job()));
    ASSERT_EQ(results.size(), 5U);
    for (const auto& result : results) {
        EXPECT_EQ(code_of(result), "overloaded");
    }
    EXPECT_TRUE(ok(ListExecutions{0, {}, 10}).executions.empty());
}

TEST_F(GroupCommit, StoppingFinishesWhatWasTaken) {
    Answers answers(11);
    block_writer(answers, 0);
    for (std::size_t i = 1; i <= 10; ++i) {
        engine_->call(job(), answers.at(i));
    }
    SentClaim waiting(*engine_,
                      with(claim_by("w1", "never"), [](auto& op) { op.max_wait_ms = 60'000; }));
    std::thread stopper([&] { engine_->stop(); });
    // Callers are turned away from the moment it begins, though the writer is still blocked.
    std::atomic<bool> turned_away{false};
    while (!turned_away) {
        engine_->call(HeartbeatWorker{"acme", "nobody"}, [&](Response response) {
            turned_away = turned_away || code_of(response) == "shutting_down";
        });
        std::this_thread::yield();
    }
    store_->let_go();
    stopper.join();
    EXPECT_EQ(answers.all(), std::vector<std::string>(11, "ok"));
    EXPECT_TRUE(waiting.tasks().empty());
}

TEST_F(GroupCommit, AStoppedEngineSaysSo) {
    const ExecutionId id = ok(job()).execution_id;
    engine_->stop();
    engine_->stop();
    EXPECT_EQ(refused(job()), "shutting_down");
    EXPECT_EQ(refused(claim_by("w1")), "shutting_down");
    EXPECT_EQ(refused(RunScanner{"lease_expiry"}), "shutting_down");
    EXPECT_EQ(refused(ReadExecutionState{id}), "shutting_down");
    Answers answers(2);
    engine_->call(ReadExecutionState{id}, answers.at(0));
    engine_->call(job(), answers.at(1));
    EXPECT_EQ(answers.all(), std::vector<std::string>(2, "shutting_down"));
    for (const auto& result : engine_->run_all(std::vector<CreateExecution>(3, job()))) {
        EXPECT_EQ(code_of(result), "shutting_down");
    }
}

TEST_F(GroupCommit, EveryCallbackIsCalledExactlyOnceWhateverHappens) {
    EngineOptions options;
    options.queue_commands_max = 64;
    open(options);
    std::atomic<int> countdown{0};
    store_->fail_commits_if([&](const core::Snapshot&) { return ++countdown % 5 == 0; });
    constexpr std::size_t threads = 8;
    constexpr std::size_t each = 200;
    Answers answers(threads * each);
    std::vector<std::thread> callers;
    std::atomic<std::size_t> sent{0};
    for (std::size_t t = 0; t < threads; ++t) {
        callers.emplace_back([&, t] {
            for (std::size_t i = 0; i < each; ++i) {
                const std::size_t n = t * each + i;
                switch (n % 6) {
                    case 0: engine_->call(job(), answers.at(n)); break;
                    case 1:
                        engine_->call(with(job(), [](auto& op) { op.ns = ""; }), answers.at(n));
                        break;
                    case 2: engine_->call(claim_by("w1"), answers.at(n)); break;
                    case 3:
                        engine_->call(
                            with(claim_by("w2", "none"), [](auto& op) { op.max_wait_ms = 60'000; }),
                            answers.at(n));
                        break;
                    case 4: engine_->call(ListLanes{}, answers.at(n)); break;
                    default: engine_->call(ReplayExecution{ExecutionId{}}, answers.at(n)); break;
                }
                ++sent;
            }
        });
    }
    while (sent < threads * each / 2) {
        std::this_thread::yield();
    }
    engine_->stop();
    for (std::thread& caller : callers) {
        caller.join();
    }
    answers.all();
    engine_.reset();
    EXPECT_EQ(answers.calls(), std::vector<int>(threads * each, 1));
}

// -------------------------------------------------------------------------------- sixteen threads

class Hammer : public testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Engines, Hammer, testing::ValuesIn(engine_backends()), backend_name);

TEST_P(Hammer, SixteenThreadsClaimAndCompleteEveryExecutionOnce) {
    constexpr int threads = 16;
    constexpr int jobs = 800;
    const TempDir folder;
    auto rig = GetParam().open(folder.path(), {}, std::make_shared<ManualClock>(t0));
    ASSERT_TRUE(rig) << rig.error().message();
    Engine& engine = *rig->engine;
    std::atomic<int> created{0};
    std::atomic<int> completed{0};
    std::mutex mutex;
    std::vector<std::pair<ExecutionId, std::uint64_t>> leases;  // guarded by mutex
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            const auto op = with(claim_by("w" + std::to_string(t)),
                                 [&](auto& claim) { claim.max_tasks = 1 + t % 4; });
            std::uint64_t turn = static_cast<std::uint64_t>(t);
            while (completed < jobs) {
                if (created.fetch_add(1) < jobs) {
                    ASSERT_TRUE(engine.run(job()));
                }
                const auto claimed = engine.run(op);
                ASSERT_TRUE(claimed) << code_of(claimed);
                for (const ClaimedTask& task : claimed->tasks) {
                    {
                        const std::lock_guard lock(mutex);
                        leases.emplace_back(task.execution_id(), task.handle.lease_epoch);
                    }
                    if (++turn % 7 == 0) {
                        ASSERT_TRUE(engine.run(Release{task.handle}));
                        continue;
                    }
                    const std::string result = task.execution_id().to_string();
                    ASSERT_TRUE(
                        engine.run(Complete{task.handle, result, {}, Source::lease_holder}));
                    ++completed;
                }
            }
        });
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    EXPECT_EQ(completed, jobs);
    const std::set distinct(leases.begin(), leases.end());
    EXPECT_EQ(distinct.size(), leases.size()) << "a lease was handed out twice";
    SearchExecutions search;
    search.states = {PublicState::completed};
    search.limit = 1'000;
    const auto found = engine.run(search);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->items.size(), static_cast<std::size_t>(jobs));
    for (const ExecutionInfo& item : found->items) {
        EXPECT_EQ((*engine.run(GetExecutionResult{item.execution_id}))->payload,
                  item.execution_id.to_string());
    }
    EXPECT_TRUE(engine.run(claim_by("late"))->tasks.empty());
}

TEST_P(Hammer, WaitingWorkersShareEverythingThatComes) {
    constexpr int threads = 16;
    constexpr int jobs = 400;
    const TempDir folder;
    auto rig = GetParam().open(folder.path(), {}, std::make_shared<ManualClock>(t0));
    ASSERT_TRUE(rig) << rig.error().message();
    Engine& engine = *rig->engine;
    std::mutex mutex;
    std::set<ExecutionId> seen;  // guarded by mutex
    std::atomic<int> count{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            const auto op = with(claim_by("w" + std::to_string(t)),
                                 [](auto& claim) { claim.max_wait_ms = 600'000; });
            for (;;) {
                const auto claimed = engine.run(op);
                if (!claimed || claimed->tasks.empty()) {
                    return;  // stopped
                }
                const std::lock_guard lock(mutex);
                seen.insert(claimed->tasks[0].execution_id());
                ++count;
            }
        });
    }
    for (int i = 0; i < jobs; i += 20) {
        for (const auto& result : engine.run_all(std::vector<CreateExecution>(20, job()))) {
            ASSERT_TRUE(result);
        }
    }
    while (count < jobs) {
        std::this_thread::yield();
    }
    engine.stop();
    for (std::thread& worker : workers) {
        worker.join();
    }
    EXPECT_EQ(count, jobs);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(jobs));
}

}  // namespace ff::engine::test
