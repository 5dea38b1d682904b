// The worker registry (spec 02 section 10).
#include "engine/conformance.h"

namespace ff::engine::test {

class WorkerConformance : public Conformance {
  protected:
    std::vector<std::string> live(std::optional<std::string> ns = {}) {
        ListWorkers op;
        op.ns = std::move(ns);
        std::vector<std::string> out;
        for (const WorkerInfo& worker : ok(op).workers) {
            out.push_back(worker.ns + "/" + worker.worker_instance_id);
        }
        return out;
    }
};
FF_ON_EVERY_ENGINE(WorkerConformance);

TEST_P(WorkerConformance, RegisteringAgainRefreshes) {
    FF_NEEDS_CLOCK();
    EXPECT_FALSE(ok(registration("i1", {"b", "a", "b"})).refreshed);
    const TimestampMs first = now();
    after(1'000);
    const auto again = with(registration("i1", {"c"}), [](auto& op) {
        op.lanes = {"z", "y", "z"};
        op.liveness_ttl_ms = 5'000;
    });
    EXPECT_TRUE(ok(again).refreshed);
    const auto workers = ok(ListWorkers{}).workers;
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].worker_id, "pool");
    EXPECT_EQ(workers[0].lanes, (std::vector<std::string>{"y", "z"}));
    EXPECT_EQ(workers[0].capabilities, std::vector<std::string>{"c"});
    EXPECT_EQ(workers[0].liveness_ttl_ms, 5'000);
    EXPECT_EQ(workers[0].registered_at_ms, first);
    EXPECT_EQ(workers[0].last_heartbeat_ms, now());
}

TEST_P(WorkerConformance, AnInstanceBelongsToOneWorkerWhileItLives) {
    FF_NEEDS_CLOCK();
    ok(registration("i1"));
    const auto stolen = with(registration("i1"), [](auto& op) { op.worker_id = "thief"; });
    const Error refusal = error(stolen);
    EXPECT_EQ(refusal.code, ErrorCode::invalid_input);
    EXPECT_EQ(refusal.detail, "instance_id reassigned");
    EXPECT_EQ(refused(with(stolen, [](auto& op) { op.ns = "other"; })), "ok");
    after(60'000);
    EXPECT_FALSE(ok(stolen).refreshed) << "the first one is dead: this is a new worker";
}

TEST_P(WorkerConformance, AHeartbeatKeepsAWorkerAlive) {
    FF_NEEDS_CLOCK();
    ok(registration("i1"));
    after(59'999);
    const HeartbeatResult beat = ok(HeartbeatWorker{"acme", "i1"});
    EXPECT_TRUE(beat.registered);
    EXPECT_EQ(beat.next_expiry_ms, now() + 60'000);
    after(59'999);
    EXPECT_EQ(live(), std::vector<std::string>{"acme/i1"});
    after(1);
    EXPECT_TRUE(live().empty()) << "not live at its very millisecond, swept or not";
    EXPECT_FALSE(ok(HeartbeatWorker{"acme", "i1"}).registered);
    EXPECT_FALSE(ok(HeartbeatWorker{"acme", "nobody"}).registered);
    EXPECT_FALSE(ok(HeartbeatWorker{"other", "i1"}).registered);
    EXPECT_FALSE(ok(registration("i1")).refreshed);
}

TEST_P(WorkerConformance, DeadRowsAreSwept) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    ok(registration("i1"));
    ok(with(registration("i2"), [](auto& op) { op.liveness_ttl_ms = 3'600'000; }));
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 0U);
    clock().advance(60'000);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 1U);
    EXPECT_EQ(ok(RunScanner{"worker_ttl_sweep"}).processed, 0U);
    EXPECT_EQ(live(), std::vector<std::string>{"acme/i2"});
}

TEST_P(WorkerConformance, MarkingDeadRemovesTheRowAndLeavesTheLeases) {
    ok(registration("w1-a"));
    const ClaimedTask task = start();
    const MarkWorkerDeadResult marked = ok(MarkWorkerDead{"acme", "w1-a", "gone", false});
    EXPECT_TRUE(marked.marked);
    EXPECT_EQ(marked.leases_revoked, 0U);
    EXPECT_TRUE(live().empty());
    EXPECT_EQ(refused(Renew{task.handle, 30'000}), "ok");
    EXPECT_FALSE(ok(MarkWorkerDead{"acme", "w1-a", "gone", false}).marked) << "idempotent";
    EXPECT_FALSE(ok(MarkWorkerDead{"acme", "nobody", "gone", true}).marked);
}

TEST_P(WorkerConformance, MarkingDeadMayRevokeTheLeases) {
    ok(registration("w1-a"));
    std::vector<ClaimedTask> tasks;
    for (int i = 0; i < 3; ++i) {
        tasks.push_back(start(with(job(), [](auto& op) { op.tags = {{"a", "b"}}; })));
    }
    const ClaimedTask foreign = start(with(job(), [](auto& op) { op.ns = "other"; }));
    const ClaimedTask others = start(job(), "w2");
    const ClaimedTask done = start();
    ok(Complete{done.handle, {}, {}, Source::lease_holder});
    const MarkWorkerDeadResult marked = ok(MarkWorkerDead{"acme", "w1-a", "gone", true});
    EXPECT_TRUE(marked.marked);
    EXPECT_EQ(marked.leases_revoked, 3U);
    for (const ClaimedTask& task : tasks) {
        EXPECT_EQ(refused(Renew{task.handle, 30'000}), "lease_revoked");
        EXPECT_EQ(ok(ReadLeaseHistory{task.execution_id()}).back().revoked_by, "operator");
    }
    EXPECT_EQ(refused(Renew{foreign.handle, 30'000}), "ok") << "of another namespace";
    EXPECT_EQ(refused(Renew{others.handle, 30'000}), "ok") << "of another worker";
    EXPECT_EQ(drain(claim_by("w3")).size(), 3U);
}

TEST_P(WorkerConformance, MarkingDeadRevokesNoLeaseThatIsPastItsTime) {
    if (!has_clock()) {
        GTEST_SKIP() << "time cannot be moved";
    }
    ok(registration("w1-a"));
    const ClaimedTask task = start();
    after(30'000);
    EXPECT_EQ(ok(MarkWorkerDead{"acme", "w1-a", "gone", true}).leases_revoked, 0U);
    EXPECT_EQ(history(task.execution_id()), (std::vector<std::string>{"acquired", "expired"}));
    EXPECT_EQ(refused(Renew{task.handle, 30'000}), "lease_expired");
}

TEST_P(WorkerConformance, MarkingDeadAnswersWaitingClaims) {
    ok(registration("w1-a"));
    const ClaimedTask task = start();
    SentClaim sent(engine(), with(claim_by("w2"), [](auto& op) { op.max_wait_ms = 30'000; }));
    settle();
    EXPECT_FALSE(sent.answered());
    ok(MarkWorkerDead{"acme", "w1-a", "gone", true});
    const auto tasks = sent.tasks();
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].execution_id(), task.execution_id());
    EXPECT_EQ(tasks[0].handle.kind, HandleKind::reclaimed);
}

TEST_P(WorkerConformance, InputIsChecked) {
    const auto code = [&](auto change) { return refused(with(registration("i"), change)); };
    EXPECT_EQ(code([](auto& op) { op.ns = ""; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.worker_id = "a b"; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.worker_instance_id = std::string(257, 'x'); }),
              "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lanes.clear(); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.lanes.assign(65, "l"); }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.liveness_ttl_ms = 999; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.liveness_ttl_ms = 3'600'001; }), "invalid_input");
    EXPECT_EQ(code([](auto& op) { op.capabilities = {"a,b"}; }), "invalid_capabilities");
    const Error reason = error(MarkWorkerDead{"acme", "i", std::string(257, 'x'), false});
    EXPECT_EQ(reason.code, ErrorCode::invalid_input);
    EXPECT_TRUE(reason.detail.starts_with("reason:")) << reason.detail;
    EXPECT_EQ(refused(MarkWorkerDead{"acme", "i", "a\nb", false}), "invalid_input");
    EXPECT_EQ(refused(HeartbeatWorker{"", "i"}), "invalid_input");
}

TEST_P(WorkerConformance, WorkersAreListedAcrossNamespacesInPages) {
    std::vector<std::string> expected;
    for (const char* ns : {"a", "b", "c"}) {
        for (const char* instance : {"1", "2", "3"}) {
            ok(registration(instance, {}, "default", ns));
            expected.push_back(std::string(ns) + "/" + instance);
        }
    }
    EXPECT_EQ(live(), expected);
    EXPECT_EQ(live("b"), (std::vector<std::string>{"b/1", "b/2", "b/3"}));
    EXPECT_TRUE(live("z").empty());
    for (std::uint32_t limit = 1; limit <= 10; ++limit) {
        std::vector<std::string> seen;
        ListWorkers op;
        op.limit = limit;
        for (;;) {
            const WorkerPage page = ok(op);
            for (const WorkerInfo& worker : page.workers) {
                seen.push_back(worker.ns + "/" + worker.worker_instance_id);
            }
            EXPECT_EQ(page.next_cursor.has_value(), page.workers.size() == limit);
            if (!page.next_cursor) {
                break;
            }
            op.after = page.next_cursor;
        }
        EXPECT_EQ(seen, expected) << "pages of " << limit;
    }
    ListWorkers of_b;
    of_b.ns = "b";
    of_b.limit = 2;
    of_b.after = ok(of_b).next_cursor;
    const auto rest = ok(of_b).workers;
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].worker_instance_id, "3");
    ListWorkers none;
    none.limit = 0;
    EXPECT_TRUE(ok(none).workers.empty());
}

TEST_P(WorkerConformance, DeadRowsDoNotShortenAPage) {
    FF_NEEDS_CLOCK();
    EngineOptions options;
    options.background = false;
    open_with(options);
    for (int i = 0; i < 20; ++i) {
        const std::string instance = "i" + std::to_string(10 + i);
        ok(with(registration(instance),
                [&](auto& op) { op.liveness_ttl_ms = i % 2 == 0 ? 1'000 : 100'000; }));
    }
    clock().advance(1'000);
    ListWorkers op;
    op.limit = 4;
    std::size_t seen = 0;
    do {
        const WorkerPage page = ok(op);
        EXPECT_TRUE(page.workers.size() == 4 || seen == 8U);
        seen += page.workers.size();
        op.after = page.next_cursor;
    } while (op.after);
    EXPECT_EQ(seen, 10U);
}

}  // namespace ff::engine::test
