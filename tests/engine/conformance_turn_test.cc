// Turns between keys: executions that carry a limit_key.
#include <deque>
#include <future>
#include <map>
#include <random>
#include <set>

#include "engine/conformance_limits.h"

namespace ff::engine::test {

class TurnConformance : public LimitConformance {
  protected:
    /// Jobs know their key by it.
    static CreateExecution keyed(const std::string& key, std::int32_t priority = 0) {
        CreateExecution op = job_with_policy(R"({"limit_key":")" + key + R"("})");
        op.input_payload = key;
        op.priority = priority;
        return op;
    }
    std::vector<ExecutionId> create_keyed(const std::string& key, int count) {
        std::vector<ExecutionId> out;
        for (int i = 0; i < count; ++i) {
            out.push_back(create(keyed(key)));
        }
        return out;
    }
    /// The keys of what is claimed, each alone or all at once.
    std::string keys_claimed(int count) {
        std::string keys;
        for (int i = 0; i < count; ++i) {
            keys += claim().input_payload;
        }
        return keys;
    }
    std::string keys_claimed_at_once(std::uint32_t count) {
        std::string keys;
        for (const ClaimedTask& task :
             claim_some(with(claim_by("w1"), [&](Claim& op) { op.max_tasks = count; }))) {
            keys += task.input_payload;
        }
        return keys;
    }
};
FF_ON_EVERY_ENGINE(TurnConformance);

TEST_P(TurnConformance, KeysTakeTurns) {
    create_keyed("a", 4);
    create_keyed("b", 4);
    create_keyed("c", 2);
    EXPECT_EQ(keys_claimed(10), "abcabcabab");
    EXPECT_FALSE(has_work());
}

TEST_P(TurnConformance, AClaimOfManyTakesTurnsToo) {
    create_keyed("a", 4);
    create_keyed("b", 3);
    EXPECT_EQ(keys_claimed_at_once(10), "abababa");
}

TEST_P(TurnConformance, OneKeyAloneGetsAllOfIt) {
    const auto ids = create_keyed("a", 20);
    const auto tasks = claim_some(with(claim_by("w1"), [](Claim& op) { op.max_tasks = 100; }));
    ASSERT_EQ(tasks.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(tasks[i].execution_id(), ids[i]) << "in the order they were created";
    }
}

TEST_P(TurnConformance, AKeyThatComesLateHasItsTurnInTheNextRound) {
    create_keyed("a", 10);
    create_keyed("b", 10);
    EXPECT_EQ(keys_claimed(6), "ababab");
    create_keyed("c", 2);
    EXPECT_EQ(keys_claimed(6), "abcabc");
}

TEST_P(TurnConformance, WhoCarriesNoKeyStandsInLineAsItCame) {
    create_keyed("a", 3);
    CreateExecution plain = job();
    plain.input_payload = "-";
    create(plain);
    create(plain);
    EXPECT_EQ(keys_claimed(5), "a--aa");
}

TEST_P(TurnConformance, APriorityComesFirstWhateverTheKey) {
    create(keyed("a"));
    create(keyed("b", 5));
    create(keyed("a", 5));
    create(keyed("a", 5));
    create(keyed("b"));
    EXPECT_EQ(keys_claimed(5), "baaab") << "each priority is a line of its own";
}

TEST_P(TurnConformance, WhoWaitsForItsTurnIsEligibleAndKnowsIt) {
    const auto ids = create_keyed("acme", 3);
    EXPECT_EQ(eligibility(ids[2]), "eligible_now");
    EXPECT_EQ(public_of(ids[2]), PublicState::waiting);
    EXPECT_EQ(why(ids[2]), "ready, waiting for its turn: 2 with the limit key acme ahead of it");
}

TEST_P(TurnConformance, EveryWayOutOfTheLineCallsTheNext) {
    const auto next_is = [&](const ExecutionId& id, const char* what) {
        const ClaimedTask task = claim();
        EXPECT_EQ(task.execution_id(), id) << what;
        ok(Complete{task.handle, "", {}});
    };
    auto ids = create_keyed("a", 2);
    ok(CancelExecution{LeaseRef(ids[0]), "no", "operator_override"});
    next_is(ids[1], "cancelled");
    ids = create_keyed("a", 2);
    ok(ChangePriority{ids[0], 5});
    next_is(ids[0], "it had the turn, and has another priority");
    next_is(ids[1], "it has the turn in its line");
    ids = create_keyed("a", 2);
    ok(ChangePriority{ids[1], 5});
    next_is(ids[1], "it waits for nobody in its new line");
    next_is(ids[0], "it still has its turn");
    ids = create_keyed("a", 2);
    const ClaimedTask task = claim();
    ok(Fail{task.handle, "no", "permanent"});
    next_is(ids[1], "failed");
}

TEST_P(TurnConformance, ARetryStandsBehindTheOthers) {
    FF_NEEDS_CLOCK();
    CreateExecution flaky =
        job_with_policy(R"({"limit_key":"a","retry_policy":{"max_retries":3}})");
    flaky.input_payload = "A";
    create(flaky);
    create_keyed("a", 1);
    create_keyed("b", 2);
    const ClaimedTask task = claim();
    ASSERT_EQ(task.input_payload, "A");
    ok(Fail{task.handle, "again", "transient"});
    after(60'000);
    EXPECT_EQ(keys_claimed(4), "babA");
}

TEST_P(TurnConformance, WhatIsDueAtOnceTakesTurns) {
    FF_NEEDS_CLOCK();
    for (const char* key : {"a", "a", "a", "b", "b"}) {
        CreateExecution op = keyed(key);
        op.delay_until = now() + 5'000;
        create(op);
    }
    after(5'000);
    EXPECT_EQ(keys_claimed(5), "ababa");
}

TEST_P(TurnConformance, WhoItsOwnBudgetHoldsBackLetsTheOthersOfItsKeyPass) {
    ok(budget({{"tokens", {10, 0}}}));
    report({{"tokens", 10}});
    const ExecutionId held = create(job_with_policy(R"({"limit_key":"a","budget_ids":[")" +
                                                    budget_id().to_string() + R"("]})"));
    const auto ids = create_keyed("a", 2);
    EXPECT_EQ(claim().execution_id(), ids[0]);
    EXPECT_EQ(eligibility(held), "blocked_by_budget");
    EXPECT_EQ(claim().execution_id(), ids[1]);
    ok(ResetBudget{budget_id()});
    settle();
    EXPECT_EQ(claim().execution_id(), held);
}

TEST_P(TurnConformance, UnderACapOfTheLaneKeysStillTakeTurns) {
    create_keyed("a", 6);
    create_keyed("b", 6);
    ok(quota(0, 2));
    ok(AttachQuota{quota_id(), LimitTarget::lane, "default"});
    std::deque<ClaimedTask> running;
    std::string keys;
    for (int i = 0; i < 12; ++i) {
        if (running.size() == 2) {
            EXPECT_FALSE(has_work());
            ok(Complete{running.front().handle, "", {}});
            running.pop_front();
            settle();
        }
        running.push_back(claim());
        keys += running.back().input_payload;
    }
    EXPECT_EQ(keys, "abababababab");
}

TEST_P(TurnConformance, PlacesAreKeptWhenAnEngineIsOpenedAgain) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    create_keyed("a", 3);
    create_keyed("b", 3);
    EXPECT_EQ(keys_claimed(2), "ab");
    reopen();
    create_keyed("c", 2);
    EXPECT_EQ(keys_claimed(6), "abcabc");
}

TEST_P(TurnConformance, MembersOfFlowsTakeTurns) {
    const FlowId flow = ok(CreateFlow{{}, "dag", "acme", {}}).flow_id;
    for (const char* key : {"a", "a", "b"}) {
        CreateExecution member = keyed(key);
        member.execution_id =
            ExecutionId::for_flow(flow, ok(ReadCapabilities{}).partitions, new_uuid());
        ok(AddExecutionToFlow{flow, create(member)});
    }
    EXPECT_EQ(keys_claimed(3), "aba");
}

TEST_P(TurnConformance, APriorityComesFirstInAClaimOfManyToo) {
    for (int i = 0; i < 3; ++i) {
        create(keyed("a", 5));
    }
    for (int i = 0; i < 3; ++i) {
        create(with(job(), [](CreateExecution& op) { op.input_payload = "-"; }));
    }
    EXPECT_EQ(keys_claimed_at_once(4), "aaa-");
}

TEST_P(TurnConformance, LanesTakeTurnsWhateverTheirKeys) {
    for (int i = 0; i < 3; ++i) {
        create(keyed("a"));
        create(with(job("other"), [](CreateExecution& op) { op.input_payload = "-"; }));
    }
    std::string keys;
    for (const ClaimedTask& task : claim_some(with(claim_by("w1"), [](Claim& op) {
             op.lanes = {"default", "other"};
             op.max_tasks = 6;
         }))) {
        keys += task.input_payload;
    }
    EXPECT_TRUE(keys == "a-a-a-" || keys == "-a-a-a") << keys;
}

TEST_P(TurnConformance, WhoeverComesBackStandsBehindTheOthersOfItsKey) {
    FF_NEEDS_CLOCK();
    create(with(job_with_policy(R"({"limit_key":"a","retry_policy":{"max_retries":3}})"),
                [](CreateExecution& op) { op.input_payload = "A"; }));
    create_keyed("a", 2);
    ok(Fail{claim().handle, "again", "transient"});
    after(60'000);
    EXPECT_EQ(keys_claimed(3), "aaA");
}

TEST_P(TurnConformance, AGrantOfOneThatWaitsDoesNotCostItsKeyTheTurn) {
    const auto ids = create_keyed("a", 3);
    const Grant grant = ok(with(IssueClaimGrant{}, [&](IssueClaimGrant& op) {
        op.execution_id = ids[1];
        op.worker_id = "w2";
        op.worker_instance_id = "w2-a";
        op.lane_id = "default";
        op.grant_ttl_ms = 60'000;
    }));
    EXPECT_EQ(grant.execution_id, ids[1]);
    EXPECT_EQ(claim().execution_id(), ids[0]);
    EXPECT_EQ(claim().execution_id(), ids[2]);
    EXPECT_FALSE(has_work());
}

TEST_P(TurnConformance, OneThatIsBlockedWhileItWaitsDoesNotCostItsKeyTheTurn) {
    const auto ids = create_keyed("a", 3);
    ok(BlockExecution{ids[1], "paused_by_operator", {}});
    EXPECT_EQ(claim().execution_id(), ids[0]);
    EXPECT_EQ(claim().execution_id(), ids[2]);
    EXPECT_FALSE(has_work());
    ok(UnblockExecution{ids[1], "paused_by_operator"});
    EXPECT_EQ(claim().execution_id(), ids[1]);
}

TEST_P(TurnConformance, WhoGoesOnWithAnAttemptWaitsForNobodyOfItsKey) {
    create_keyed("a", 3);
    const ClaimedTask task = claim();
    ok(quota(1, 0));
    ok(AttachQuota{quota_id(), LimitTarget::lane, "default"});
    claim();
    EXPECT_FALSE(has_work()) << "no more may start";
    ok(Release{task.handle});
    EXPECT_EQ(claim().execution_id(), task.execution_id()) << "that is no start";
}

TEST_P(TurnConformance, OneTooLargeForABudgetOfTheLaneLetsSmallerOnesOfItsKeyPass) {
    create_keyed("a", 1);
    ok(budget({{"tokens", {100, 0}}}));
    ok(AttachBudget{budget_id(), LimitTarget::lane, "default"});
    const auto reserving = [&](int tokens) {
        return create(job_with_policy(R"({"limit_key":"b","budget_reserve":{"tokens":)" +
                                      std::to_string(tokens) + "}}"));
    };
    reserving(60);
    const ExecutionId large = reserving(50);
    const ExecutionId small = reserving(40);
    claim();
    claim();
    EXPECT_EQ(claim().execution_id(), small);
    EXPECT_EQ(eligibility(large), "blocked_by_budget");
}

TEST_P(TurnConformance, WhoWaitsForASlotComesBeforeWhoHasNotBeenAsked) {
    FF_NEEDS_EMBEDDED();
    create_keyed("a", 3);
    create_keyed("b", 3);
    ok(quota(0, 2));
    ok(AttachQuota{quota_id(), LimitTarget::lane, "default"});
    const ClaimedTask a1 = claim();
    const ClaimedTask b1 = claim();
    EXPECT_FALSE(has_work());
    ok(Complete{a1.handle, "", {}});
    EXPECT_EQ(claim().input_payload, "a");
    // In one transaction a slot is given back and somebody asks for work.
    auto claimed = std::async(std::launch::async, [&] {
        return ok(with(claim_by("w2"), [](Claim& op) { op.max_wait_ms = 20'000; }));
    });
    settle();
    ok(Complete{b1.handle, "", {}});
    settle();
    ASSERT_EQ(claimed.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(claimed.get().tasks.at(0).input_payload, "b");
}

TEST_P(TurnConformance, AForgottenTurnIsFound) {
    create_keyed("a", 3);
    EXPECT_EQ(ok(RunScanner{"unblock"}).processed, 0U) << "in a healthy store there is none";
    EXPECT_EQ(ok(RunScanner{"index_reconciler"}).findings, std::vector<std::string>{});
}

// The bound that is promised: between two starts of one key, every other key that has had work in
// the line all the while has started one.
TEST_P(TurnConformance, NoKeyStartsTwiceWhileAnotherWaits) {
    std::mt19937 random(7);
    constexpr int steps = 200;
    std::map<std::string, std::deque<ExecutionId>> waiting;
    std::map<std::string, std::set<std::string>> since;  ///< keys that started since a key's last
    std::map<ExecutionId, std::string> key_of;
    for (int i = 0; i < steps; ++i) {
        if (random() % 3 != 0) {
            const std::string key(1, static_cast<char>('a' + random() % 5));
            const ExecutionId id = create(keyed(key));
            if (waiting[key].empty()) {
                since.erase(key);
                for (auto& [other, started] : since) {
                    started.insert(key);  // it was not there all the while
                }
            }
            waiting[key].push_back(id);
            key_of[id] = key;
            continue;
        }
        const auto max = static_cast<std::uint32_t>(1 + random() % 4);
        for (const ClaimedTask& task :
             claim_some(with(claim_by("w1"), [&](Claim& op) { op.max_tasks = max; }))) {
            const std::string key = key_of.at(task.execution_id());
            ASSERT_EQ(waiting[key].front(), task.execution_id()) << "the oldest of its key";
            for (const auto& [other, ids] : waiting) {
                if (other != key && !ids.empty() && since.contains(key)) {
                    EXPECT_TRUE(since[key].contains(other))
                        << key << " started twice while " << other << " waited, step " << i;
                }
            }
            waiting[key].pop_front();
            since[key].clear();
            for (auto& [other, started] : since) {
                if (other != key) {
                    started.insert(key);
                }
            }
            if (random() % 2 == 0) {
                ok(Complete{task.handle, "", {}});
            }
        }
    }
}

}  // namespace ff::engine::test
