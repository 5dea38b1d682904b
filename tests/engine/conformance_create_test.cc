// Creating executions through an engine (spec 02 section 2).
#include "engine/conformance.h"

#include <atomic>
#include <set>
#include <thread>

namespace ff::engine::test {

class CreateConformance : public Conformance {};
FF_ON_EVERY_ENGINE(CreateConformance);

TEST_P(CreateConformance, ANewExecutionWaitsForAWorker) {
    const CreateResult result = ok(job());
    EXPECT_TRUE(result.created);
    EXPECT_EQ(result.public_state, PublicState::waiting);
    EXPECT_EQ(state(result.execution_id),
              "runnable unowned eligible_now waiting_for_worker none pending_first_attempt");
    EXPECT_TRUE(attempts(result.execution_id).empty());
    EXPECT_TRUE(history(result.execution_id).empty());
}

TEST_P(CreateConformance, EveryMemberIsKept) {
    const auto op = with(job("lane 7"), [&](auto& args) {
        args.execution_id = ExecutionId{0, new_uuid()};
        args.ns = "tenant/7";
        args.execution_kind = "encode video";
        args.input_payload = all_bytes();
        args.payload_encoding = "application/x-bytes";
        args.priority = 77;
        args.creator_identity = "someone";
        args.idempotency_key = "once";
        args.tags = {{"team", "red"}, {"app.part", ""}};
        args.policy = R"({"max_replay_count":2,"unknown":1})";
        args.execution_deadline_at = t0 + 1'000'000'000;
        args.partition_id = 0;
    });
    const ExecutionId id = create(op);
    EXPECT_EQ(id, *op.execution_id);
    const ExecutionSnapshot s = snapshot(id);
    EXPECT_EQ(s.info.execution_id, id);
    EXPECT_EQ(s.info.ns, "tenant/7");
    EXPECT_EQ(s.info.lane_id, "lane 7");
    EXPECT_EQ(s.info.execution_kind, "encode video");
    EXPECT_EQ(s.info.priority, 77);
    EXPECT_EQ(s.creator_identity, "someone");
    EXPECT_EQ(s.idempotency_key, "once");
    EXPECT_EQ(s.tags, op.tags);
    ASSERT_TRUE(s.policy);
    EXPECT_EQ(s.policy->find("unknown"), std::string::npos);
    EXPECT_NE(s.policy->find("max_replay_count"), std::string::npos);
    EXPECT_EQ(s.execution_deadline_at, t0 + 1'000'000'000);
    EXPECT_EQ(s.total_attempt_count, 0U);
    EXPECT_EQ(s.lease_epoch, 0U);
    EXPECT_FALSE(s.current_lease);
    const ExecutionContext context = ok(ReadExecutionContext{id});
    EXPECT_EQ(context.input_payload, all_bytes());
    EXPECT_EQ(context.payload_encoding, "application/x-bytes");
    EXPECT_EQ(context.tags, op.tags);
}

TEST_P(CreateConformance, PriorityIsClampedAndZeroTakesThePolicys) {
    const auto priority_of = [&](std::int32_t asked, const std::string& policy) {
        return snapshot(create(with(job(),
                                    [&](auto& op) {
                                        op.priority = asked;
                                        op.policy = policy;
                                    })))
            .info.priority;
    };
    EXPECT_EQ(priority_of(10'000, "{}"), 9'000);
    EXPECT_EQ(priority_of(-5, "{}"), 0);
    EXPECT_EQ(priority_of(0, R"({"priority":44})"), 44);
    EXPECT_EQ(priority_of(3, R"({"priority":44})"), 3);
    EXPECT_EQ(priority_of(0, R"({"priority":99999})"), 9'000);
}

TEST_P(CreateConformance, ADelayInTheFutureDelaysAndOneInThePastDoesNot) {
    FF_NEEDS_CLOCK();
    const auto delayed_to = [&](TimestampMs at) {
        return with(job(), [&](auto& op) { op.delay_until = at; });
    };
    const CreateResult later = ok(delayed_to(now() + 500));
    EXPECT_EQ(later.public_state, PublicState::delayed);
    EXPECT_EQ(state(later.execution_id),
              "runnable unowned not_eligible_until_time waiting_for_delay none "
              "pending_first_attempt");
    EXPECT_EQ(snapshot(later.execution_id).info.blocking_detail,
              "delayed until " + std::to_string(t0 + 500));
    EXPECT_FALSE(has_work());
    for (const TimestampMs at : {now(), now() - 1, TimestampMs{0}}) {
        const CreateResult at_once = ok(delayed_to(at));
        EXPECT_EQ(at_once.public_state, PublicState::waiting);
        EXPECT_FALSE(snapshot(at_once.execution_id).delay_until);
    }
    const CreateResult by_policy =
        ok(job_with_policy(R"({"delay_until":)" + std::to_string(now() + 900) + "}"));
    EXPECT_EQ(by_policy.public_state, PublicState::delayed);
    after(500);
    EXPECT_EQ(public_of(later.execution_id), PublicState::waiting);
    EXPECT_EQ(snapshot(later.execution_id).info.blocking_detail, "");
    EXPECT_EQ(public_of(by_policy.execution_id), PublicState::delayed);
}

TEST_P(CreateConformance, TheSameIdIsADuplicateAndTheFirstIsNotTouched) {
    const auto first = with(job(), [](auto& op) {
        op.execution_id = ExecutionId{0, new_uuid()};
        op.input_payload = "first";
    });
    create(first);
    const std::string before = dump();
    const CreateResult again = ok(with(first, [](auto& op) {
        op.input_payload = "second";
        op.lane_id = "elsewhere";
        op.policy = "not even JSON";
    }));
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.execution_id, *first.execution_id);
    EXPECT_EQ(dump(), before);
}

TEST_P(CreateConformance, TheSameKeyIsADuplicateWhateverElseDiffers) {
    const auto keyed = [](const std::string& ns, const std::string& lane) {
        return with(job(lane), [&](auto& op) {
            op.ns = ns;
            op.idempotency_key = "order-1";
        });
    };
    const ExecutionId id = create(keyed("acme", "a"));
    const CreateResult again = ok(
        with(keyed("acme", "b"), [](auto& op) { op.execution_id = ExecutionId{0, new_uuid()}; }));
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.execution_id, id);
    EXPECT_TRUE(ok(keyed("other", "a")).created) << "the key belongs to a namespace";
    EXPECT_TRUE(ok(with(keyed("acme", "a"), [](auto& op) { op.idempotency_key = ""; })).created);
    EXPECT_TRUE(ok(with(keyed("acme", "a"), [](auto& op) { op.idempotency_key = ""; })).created);
}

TEST_P(CreateConformance, AKeyIsForgottenAfterItsWindow) {
    FF_NEEDS_CLOCK();
    const auto keyed = [](const std::string& policy) {
        return with(job_with_policy(policy), [](auto& op) { op.idempotency_key = "k"; });
    };
    EXPECT_TRUE(ok(keyed(R"({"dedup_window_ms":0})")).created);
    const ExecutionId first = create(keyed(R"({"dedup_window_ms":1000})"));
    EXPECT_EQ(ok(keyed("{}")).execution_id, first);
    after(999);
    EXPECT_FALSE(ok(keyed("{}")).created);
    after(1);
    const ExecutionId second = create(keyed("{}"));
    EXPECT_NE(second, first);
    // The default window is a day.
    after(86'399'999);
    EXPECT_FALSE(ok(keyed("{}")).created);
    after(1);
    EXPECT_TRUE(ok(keyed("{}")).created);
}

TEST_P(CreateConformance, SixteenThreadsWithOneKeyMakeOneExecution) {
    for (int round = 0; round < 8; ++round) {
        std::atomic<int> created{0};
        std::vector<ExecutionId> ids(16);
        std::atomic<bool> go{false};
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            threads.emplace_back([&, i] {
                while (!go) {
                    std::this_thread::yield();
                }
                const auto result = engine().run(with(job(), [&](auto& op) {
                    op.idempotency_key = "round-" + std::to_string(round);
                }));
                ASSERT_TRUE(result) << code_of(result);
                created += result->created ? 1 : 0;
                ids[i] = result->execution_id;
            });
        }
        go = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(created, 1);
        EXPECT_EQ(std::set<ExecutionId>(ids.begin(), ids.end()).size(), 1U);
    }
    EXPECT_EQ(drain(claim_by("w1")).size(), 8U);
}

TEST_P(CreateConformance, SixteenThreadsWithOneIdMakeOneExecution) {
    const ExecutionId id{0, new_uuid()};
    std::atomic<int> created{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back([&] {
            const auto result = engine().run(with(job(), [&](auto& op) { op.execution_id = id; }));
            ASSERT_TRUE(result) << code_of(result);
            EXPECT_EQ(result->execution_id, id);
            created += result->created ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(created, 1);
    EXPECT_EQ(drain(claim_by("w1")), std::vector<ExecutionId>{id});
}

TEST_P(CreateConformance, WrongInputIsRefusedWithItsCode) {
    const auto code = [&](auto change) { return refused(with(job(), change)); };
    EXPECT_EQ(code([](auto& op) { op.ns = ""; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.ns = std::string(257, 'x'); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.ns = "a\nb"; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lane_id = std::string(65, 'x'); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lane_id = "ü"; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.execution_kind = ""; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.creator_identity = std::string(257, 'x'); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.idempotency_key = std::string(513, 'x'); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.tags[std::string(129, 'k')] = "v"; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.tags["k"] = std::string(4097, 'v'); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) {
                  for (int i = 0; i < 65; ++i) {
                      op.tags["k" + std::to_string(i)] = "v";
                  }
              }),
              "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.input_payload.resize((1U << 20) + 1); }), "payload_too_large");
    EXPECT_EQ(code([](auto& op) { op.policy = "[1]"; }), "invalid_policy_json");
    EXPECT_EQ(code([](auto& op) {
                  op.policy = R"({"routing_requirements":{"required_capabilities":["a,b"]}})";
              }),
              "invalid_capabilities");
    EXPECT_EQ(code([](auto& op) { op.partition_id = 9; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.delay_until = -1; }), "invalid_input");
    const Error range =
        error(with(job(), [](auto& op) { op.execution_id = ExecutionId{60'000, new_uuid()}; }));
    EXPECT_EQ(range.code, ErrorCode::invalid_input);
    EXPECT_NE(range.detail.find("partition index out of range"), std::string::npos);
    EXPECT_TRUE(ok(ListLanes{}).lanes.empty()) << "a refused create left a trace";
}

TEST_P(CreateConformance, LimitsThemselvesAreAllowed) {
    FF_NEEDS_EMBEDDED();  // a body of HTTP is smaller than a payload may be
    const ExecutionId id = create(with(job(std::string(64, '~')), [](auto& op) {
        op.ns = std::string(256, 'n');
        op.execution_kind = std::string(256, 'k');
        op.creator_identity = std::string(256, 'c');
        op.idempotency_key = std::string(512, 'i');
        op.input_payload = std::string(1U << 20, '\0');
        for (int i = 0; i < 64; ++i) {
            op.tags[std::string(120, 'k') + std::to_string(i)] = std::string(4096, 'v');
        }
    }));
    EXPECT_EQ(ok(ReadExecutionContext{id}).input_payload.size(), 1U << 20);
    EXPECT_EQ(snapshot(id).tags.size(), 64U);
}

TEST_P(CreateConformance, ALaneIsRegisteredWithItsFirstExecution) {
    create(job("zebra"));
    create(job("alpha"));
    create(job("alpha"));
    EXPECT_EQ(ok(ListLanes{}).lanes,
              (std::vector<LaneInfo>{{"alpha", LaneState::active}, {"zebra", LaneState::active}}));
}

TEST_P(CreateConformance, ALaneThatDrainsOrIsDisabledTakesNothingNew) {
    for (const LaneState lane : {LaneState::draining, LaneState::disabled}) {
        ok(SetLaneState{"default", lane});
        EXPECT_EQ(refused(job()), "lane_not_accepting");
    }
    for (const LaneState lane : {LaneState::paused, LaneState::active}) {
        ok(SetLaneState{"default", lane});
        EXPECT_EQ(refused(job()), "ok");
    }
    // The lane is looked at before the key.
    ok(with(job(), [](auto& op) { op.idempotency_key = "k"; }));
    ok(SetLaneState{"default", LaneState::disabled});
    EXPECT_EQ(refused(with(job(), [](auto& op) { op.idempotency_key = "k"; })),
              "lane_not_accepting");
}

TEST_P(CreateConformance, ADeadlineAlreadyPastIsAcceptedAndExpires) {
    FF_NEEDS_CLOCK();
    const ExecutionId id =
        create(with(job(), [&](auto& op) { op.execution_deadline_at = now() - 1; }));
    settle();
    after(1);
    EXPECT_EQ(public_of(id), PublicState::expired);
    EXPECT_EQ(snapshot(id).failure_reason, "execution_deadline");
}

TEST_P(CreateConformance, LanesOfTheOptionsAreThereFromTheStart) {
    EngineOptions options;
    options.lanes = {"gpu", "cpu"};
    open_with(options);
    EXPECT_EQ(ok(ListLanes{}).lanes,
              (std::vector<LaneInfo>{{"cpu", LaneState::active}, {"gpu", LaneState::active}}));
    if (GetParam().durable) {
        ok(SetLaneState{"gpu", LaneState::paused});
        reopen();
        EXPECT_EQ(ok(ListLanes{}).lanes,
                  (std::vector<LaneInfo>{{"cpu", LaneState::active}, {"gpu", LaneState::paused}}));
    }
}

}  // namespace ff::engine::test
