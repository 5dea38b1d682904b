// Claiming through an engine: order, routing, lanes, how many (spec 02 section 3.1, 3.2).
#include "engine/conformance.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace ff::engine::test {

class ClaimConformance : public Conformance {};
FF_ON_EVERY_ENGINE(ClaimConformance);

TEST_P(ClaimConformance, AFirstClaimGivesEpochOneAndAttemptZero) {
    const ExecutionId id = create(with(job(), [](auto& op) {
        op.input_payload = all_bytes();
        op.payload_encoding = "raw";
        op.tags = {{"team", "red"}};
        op.priority = 12;
        op.policy = R"({"timeout_policy":{"attempt_timeout_ms":7000}})";
    }));
    const ClaimedTask task = claim(with(claim_by("w1"), [](auto& op) { op.lease_ttl_ms = 9'000; }));
    EXPECT_EQ(task.execution_id(), id);
    EXPECT_EQ(task.handle.kind, HandleKind::fresh);
    EXPECT_EQ(task.handle.lease_epoch, 1U);
    EXPECT_EQ(task.handle.attempt_index, 0U);
    EXPECT_EQ(task.handle.lease_ttl_ms, 9'000);
    EXPECT_EQ(task.handle.lane_id, "default");
    EXPECT_EQ(task.handle.worker_instance_id, "w1-a");
    EXPECT_EQ(task.attempt_type, AttemptType::initial);
    EXPECT_EQ(task.input_payload, all_bytes());
    EXPECT_EQ(task.payload_encoding, "raw");
    EXPECT_EQ(task.tags, (Tags{{"team", "red"}}));
    EXPECT_EQ(task.priority, 12);
    EXPECT_EQ(task.ns, "acme");
    EXPECT_EQ(task.execution_kind, "render");
    ASSERT_TRUE(task.policy_snapshot);
    EXPECT_EQ(state(id), "active leased not_applicable none none running_attempt");
    const ExecutionSnapshot s = snapshot(id);
    ASSERT_TRUE(s.current_lease);
    EXPECT_EQ(s.current_lease->lease_id, task.handle.lease_id);
    EXPECT_EQ(s.current_lease->lease_epoch, 1U);
    EXPECT_EQ(s.current_lease->worker_id, "w1");
    EXPECT_EQ(s.current_lease->worker_instance_id, "w1-a");
    EXPECT_EQ(s.current_lease->expires_at, task.lease_expires_at);
    EXPECT_EQ(s.current_attempt_id, task.handle.attempt_id);
    if (has_clock()) {
        EXPECT_EQ(task.lease_expires_at, now() + 9'000);
        EXPECT_EQ(s.current_lease->renewal_deadline, now() + 6'000);
        EXPECT_EQ(s.current_lease->last_heartbeat_at, now());
        EXPECT_EQ(task.attempt_deadline_at, now() + 7'000);
        EXPECT_EQ(s.info.started_at, now());
    }
    EXPECT_EQ(history(id), std::vector<std::string>{"acquired"});
    EXPECT_EQ(Handle::decode(task.handle.encode(), HandleKind::fresh), task.handle);
}

TEST_P(ClaimConformance, NothingToDoIsNotAnError) {
    EXPECT_TRUE(claim_some(claim_by("w1")).empty());
    EXPECT_TRUE(claim_some(claim_by("w1", "never heard of")).empty());
    EXPECT_TRUE(ok(ListLanes{}).lanes.empty()) << "a claim must not register a lane";
}

TEST_P(ClaimConformance, PriorityGoesFirstThenTheOrderOfCreation) {
    const ExecutionId low_1 = create(job_with_priority(1));
    const ExecutionId high_1 = create(job_with_priority(9'000));
    const ExecutionId mid = create(job_with_priority(50));
    const ExecutionId low_2 = create(job_with_priority(1));
    const ExecutionId high_2 = create(job_with_priority(9'000));
    EXPECT_EQ(drain(claim_by("w1")), (std::vector<ExecutionId>{high_1, high_2, mid, low_1, low_2}));
}

TEST_P(ClaimConformance, TheOrderHoldsOverKindsNamespacesAndRequirements) {
    // Each of these has its own route; the lane still has one order.
    std::vector<std::pair<std::int32_t, ExecutionId>> expected;
    for (int i = 0; i < 30; ++i) {
        const std::int32_t priority = 1 + (i * 7) % 5;
        auto op = i % 3 == 0 ? job_requiring({"cap" + std::to_string(i % 4)}) : job();
        op.priority = priority;
        op.execution_kind = "kind" + std::to_string(i % 2);
        op.ns = "ns" + std::to_string(i % 5);
        expected.emplace_back(priority, create(std::move(op)));
    }
    std::ranges::stable_sort(expected, std::greater<>(),
                             &std::pair<std::int32_t, ExecutionId>::first);
    const auto all =
        with(claim_by("w1"), [](auto& op) { op.capabilities = {"cap3", "cap0", "cap1", "cap2"}; });
    std::vector<ExecutionId> ids;
    for (const auto& [priority, id] : expected) {
        ids.push_back(id);
    }
    EXPECT_EQ(drain(all), ids);
}

TEST_P(ClaimConformance, LongQueuesKeepTheirOrder) {
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 1'000; ++i) {
        ops.push_back(job_with_priority(1 + i % 3));
    }
    std::map<std::int32_t, std::vector<ExecutionId>, std::greater<>> by_priority;
    const auto results = engine().run_all(ops);
    for (std::size_t i = 0; i < results.size(); ++i) {
        ASSERT_TRUE(results[i]);
        by_priority[ops[i].priority].push_back(results[i]->execution_id);
    }
    std::vector<ExecutionId> expected;
    for (const auto& [priority, ids] : by_priority) {
        expected.insert(expected.end(), ids.begin(), ids.end());
    }
    auto claim_7 = with(claim_by("w1"), [](auto& op) { op.max_tasks = 7; });
    EXPECT_EQ(drain(claim_7), expected);
}

TEST_P(ClaimConformance, ANewHigherPriorityOvertakesALongQueue) {
    std::vector<CreateExecution> ops(400, job_with_priority(5));
    engine().run_all(ops);
    for (int i = 0; i < 20; ++i) {
        claim();
    }
    const ExecutionId urgent = create(job_with_priority(6));
    const ExecutionId humble = create(job_with_priority(4));
    EXPECT_EQ(claim().execution_id(), urgent);
    const auto rest = drain(with(claim_by("w1"), [](auto& op) { op.max_tasks = 100; }));
    ASSERT_EQ(rest.size(), 381U);
    EXPECT_EQ(rest.back(), humble);
}

TEST_P(ClaimConformance, WorkGivenBackGoesToItsOldPlace) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 40; ++i) {
        ids.push_back(create());
    }
    // As many as are read ahead, and one more: wherever the reading stops, nothing is lost.
    for (std::size_t taken = 1; taken <= 20; ++taken) {
        std::vector<ClaimedTask> tasks;
        for (std::size_t i = 0; i < taken; ++i) {
            tasks.push_back(claim());
            EXPECT_EQ(tasks.back().execution_id(), ids[i]);
        }
        for (const ClaimedTask& task : tasks) {
            ok(Release{task.handle});
        }
    }
    EXPECT_EQ(drain(claim_by("w1")), ids);
}

TEST_P(ClaimConformance, AWorkerGetsOnlyWhatItCanRun) {
    const ExecutionId plain = create();
    const ExecutionId gpu = create(job_requiring({"gpu"}));
    const ExecutionId both = create(job_requiring({"cuda", "gpu"}));
    const ExecutionId exotic = create(job_requiring({"東京-gpu"}));
    const auto able = [](const std::string& worker, std::vector<std::string> tokens) {
        return with(claim_by(worker), [&](auto& op) { op.capabilities = std::move(tokens); });
    };
    EXPECT_EQ(claim_some(with(able("none", {}), [](auto& op) { op.max_tasks = 9; })).size(), 1U);
    EXPECT_EQ(snapshot(plain).info.public_state, PublicState::active);
    EXPECT_TRUE(claim_some(able("other", {"cuda"})).empty());
    EXPECT_TRUE(claim_some(able("case", {"GPU"})).empty()) << "tokens are case-sensitive";
    EXPECT_EQ(claim(able("g", {"gpu"})).execution_id(), gpu);
    EXPECT_EQ(claim(able("b", {"gpu", "tpu", "cuda"})).execution_id(), both);
    EXPECT_EQ(claim(able("t", {"東京-gpu"})).execution_id(), exotic);
}

TEST_P(ClaimConformance, WorkForOtherMachinesDoesNotStandInTheWay) {
    // Far more than any scan would look at, all ahead of what this worker can do.
    std::vector<CreateExecution> ops;
    for (int i = 0; i < 2'000; ++i) {
        ops.push_back(with(job_requiring({"gpu"}), [](auto& op) { op.priority = 100; }));
    }
    engine().run_all(ops);
    const ExecutionId mine = create(job_with_priority(1));
    EXPECT_EQ(claim("w1").execution_id(), mine);
    EXPECT_TRUE(claim_some(claim_by("w1")).empty());
    // Those that were passed over are as they were (decision 2): eligible, not blocked.
    SearchExecutions search;
    search.limit = 1;
    search.states = {PublicState::waiting};
    const SearchPage page = ok(search);
    ASSERT_EQ(page.items.size(), 1U);
    EXPECT_EQ(page.items[0].state.eligibility, EligibilityState::eligible_now);
}

TEST_P(ClaimConformance, KindsAndNamespacesRestrict) {
    const ExecutionId a = create(with(job(), [](auto& op) { op.execution_kind = "a"; }));
    const ExecutionId b = create(with(job(), [](auto& op) { op.execution_kind = "b"; }));
    const ExecutionId c = create(with(job(), [](auto& op) {
        op.execution_kind = "a";
        op.ns = "other";
    }));
    const auto of = [](std::vector<std::string> kinds, std::optional<std::string> ns) {
        return with(claim_by("w1"), [&](auto& op) {
            op.kinds = std::move(kinds);
            op.ns = std::move(ns);
        });
    };
    EXPECT_TRUE(claim_some(of({"z"}, {})).empty());
    EXPECT_TRUE(claim_some(of({}, "nobody")).empty());
    EXPECT_EQ(claim(of({"a", "z"}, "other")).execution_id(), c);
    EXPECT_EQ(claim(of({"b"}, {})).execution_id(), b);
    EXPECT_EQ(claim(of({}, {})).execution_id(), a);
}

TEST_P(ClaimConformance, SeveralLanesAreAllServed) {
    std::set<ExecutionId> ids;
    for (int i = 0; i < 10; ++i) {
        ids.insert(create(job("a")));
        ids.insert(create(job("b")));
    }
    ids.insert(create(job("c")));
    const auto claim_lanes = with(claim_by("w1"), [](auto& op) { op.lanes = {"a", "b", "c"}; });
    std::map<std::string, int> first_six;
    std::set<ExecutionId> seen;
    for (int i = 0; i < 21; ++i) {
        const ClaimedTask task = claim(claim_lanes);
        seen.insert(task.execution_id());
        if (i < 6) {
            first_six[task.handle.lane_id] += 1;
        }
    }
    EXPECT_EQ(seen, ids);
    EXPECT_GE(first_six["a"], 2) << "a lane named first must not keep the others waiting";
    EXPECT_GE(first_six["b"], 2);
    EXPECT_TRUE(claim_some(claim_lanes).empty());
}

TEST_P(ClaimConformance, OnlyActiveAndDrainingLanesGiveWork) {
    const ExecutionId id = create();
    for (const LaneState lane : {LaneState::paused, LaneState::disabled}) {
        ok(SetLaneState{"default", lane});
        EXPECT_TRUE(claim_some(claim_by("w1")).empty());
        EXPECT_FALSE(ok(grant_for("w1")).grant);
        EXPECT_EQ(snapshot(id).info.state.eligibility, EligibilityState::eligible_now);
    }
    ok(SetLaneState{"default", LaneState::draining});
    EXPECT_EQ(claim().execution_id(), id);
}

TEST_P(ClaimConformance, APausedLaneDoesNotHideTheOthers) {
    create(job("a"));
    const ExecutionId b = create(job("b"));
    ok(SetLaneState{"a", LaneState::paused});
    const auto claim_lanes = with(claim_by("w1"), [](auto& op) {
        op.lanes = {"a", "b"};
        op.max_tasks = 10;
    });
    const auto tasks = claim_some(claim_lanes);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), b);
}

TEST_P(ClaimConformance, AClaimTakesUpToAsManyAsItAsksFor) {
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 5; ++i) {
        ids.push_back(create());
    }
    const auto claim_3 = with(claim_by("w1"), [](auto& op) { op.max_tasks = 3; });
    const auto first = claim_some(claim_3);
    ASSERT_EQ(first.size(), 3U);
    std::set<LeaseId> leases;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(first[i].execution_id(), ids[i]);
        leases.insert(first[i].handle.lease_id);
    }
    EXPECT_EQ(leases.size(), 3U) << "each execution has a lease of its own";
    EXPECT_EQ(claim_some(claim_3).size(), 2U);
    EXPECT_TRUE(claim_some(claim_3).empty());
}

TEST_P(ClaimConformance, WrongInputIsRefused) {
    const auto code = [&](auto change) { return refused(with(claim_by("w1"), change)); };
    EXPECT_EQ(code([](auto& op) { op.lanes.clear(); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lanes.assign(65, "x"); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lanes = {""}; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.worker_id = "a b"; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.worker_instance_id = ""; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lease_ttl_ms = 99; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lease_ttl_ms = 3'600'001; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.max_tasks = 1'001; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.max_wait_ms = -1; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.ns = ""; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.capabilities = {"a b"}; }), "invalid_capabilities");
    EXPECT_EQ(code([](auto& op) { op.capabilities = {""}; }), "invalid_capabilities");
    const Error prefix = error(with(claim_by("w1"), [](auto& op) { op.capabilities = {"a,b"}; }));
    EXPECT_TRUE(prefix.detail.starts_with("worker:")) << prefix.detail;
}

TEST_P(ClaimConformance, ManyWorkersNeverGetTheSameLease) {
    constexpr std::size_t jobs = 300;
    engine().run_all(std::vector<CreateExecution>(jobs, job()));
    std::mutex mutex;
    std::vector<std::pair<ExecutionId, std::uint64_t>> taken;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            const auto op = with(claim_by("w" + std::to_string(i)),
                                 [&](auto& claim) { claim.max_tasks = 1 + i % 3; });
            for (;;) {
                const auto result = engine().run(op);
                ASSERT_TRUE(result) << code_of(result);
                if (result->tasks.empty()) {
                    return;
                }
                const std::lock_guard lock(mutex);
                for (const ClaimedTask& task : result->tasks) {
                    taken.emplace_back(task.execution_id(), task.handle.lease_epoch);
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(taken.size(), jobs);
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), jobs);
}

}  // namespace ff::engine::test
