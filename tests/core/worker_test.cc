// The worker registry: spec 02 section 10.
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace ff::core {
namespace {

using testing::answer_of;
using testing::Records;
using testing::Scenario;
using Lines = std::vector<std::string>;

const WorkerKey key{"tenant", "w1-1"};

RegisterWorker registration() {
    RegisterWorker args;
    args.ns = "tenant";
    args.worker_id = "w1";
    args.worker_instance_id = "w1-1";
    args.lanes = {"main", "batch", "main"};
    args.capabilities = {"gpu", "cuda"};
    args.liveness_ttl_ms = 1'000;
    return args;
}

Scenario registered() {
    Scenario s;
    EXPECT_TRUE(s.run(registration()));
    return s;
}

TEST(RegisterWorker, writes_a_row_with_sorted_lanes_and_capabilities) {
    Scenario s;
    EXPECT_FALSE(s.run(registration())->refreshed);
    const WorkerRow& row = s.records.workers.at(key);
    EXPECT_EQ(row.worker_id, "w1");
    EXPECT_EQ(row.lanes, (std::vector<std::string>{"batch", "main"}));
    EXPECT_EQ(row.capabilities, (std::vector<std::string>{"cuda", "gpu"}));
    EXPECT_EQ(row.registered_at, s.now);
    EXPECT_EQ(row.last_heartbeat, s.now);
    EXPECT_EQ(row.liveness_ttl_ms, 1'000);
    ASSERT_EQ(s.records.log_events.size(), 1U);
    EXPECT_EQ(s.records.log_events[0].family, LogFamily::workers);
    EXPECT_EQ(s.records.log_events[0].type, "registered");
    EXPECT_EQ(s.records.log_events[0].ns, "tenant");
    EXPECT_EQ(s.records.log_events[0].payload,
              R"({"worker_id":"w1","worker_instance_id":"w1-1","lanes":["batch","main"],)"
              R"("capabilities":["cuda","gpu"],"refreshed":false})");
}

TEST(RegisterWorker, again_while_live_refreshes_all_but_the_time_of_registration) {
    Scenario s = registered();
    s.now += 999;
    RegisterWorker args = registration();
    args.lanes = {"other"};
    args.capabilities = {};
    args.liveness_ttl_ms = 5'000;
    EXPECT_TRUE(s.run(args)->refreshed);
    const WorkerRow& row = s.records.workers.at(key);
    EXPECT_EQ(row.lanes, (std::vector<std::string>{"other"}));
    EXPECT_TRUE(row.capabilities.empty());
    EXPECT_EQ(row.liveness_ttl_ms, 5'000);
    EXPECT_EQ(row.last_heartbeat, s.now);
    EXPECT_EQ(row.registered_at, s.now - 999);
    EXPECT_TRUE(s.records.log_events.back().payload.ends_with(R"("refreshed":true})"));
}

TEST(RegisterWorker, a_row_that_is_not_live_is_treated_as_absent) {
    Scenario s = registered();
    s.now += 1'000;
    RegisterWorker args = registration();
    args.worker_id = "w2";
    EXPECT_FALSE(s.run(args)->refreshed) << "live ends at the very millisecond";
    EXPECT_EQ(s.records.workers.at(key).worker_id, "w2");
    EXPECT_EQ(s.records.workers.at(key).registered_at, s.now);
}

TEST(RegisterWorker, a_live_instance_under_another_worker_is_refused) {
    Scenario s = registered();
    s.now += 999;
    const Records before = s.records;
    RegisterWorker args = registration();
    args.worker_id = "w2";
    EXPECT_EQ(answer_of(s.run(args)), "invalid_input: instance_id reassigned");
    EXPECT_TRUE(s.records == before);
}

TEST(RegisterWorker, instances_are_apart_in_each_namespace) {
    Scenario s = registered();
    RegisterWorker args = registration();
    args.ns = "another";
    args.worker_id = "w2";
    EXPECT_FALSE(s.run(args)->refreshed);
    EXPECT_EQ(s.records.workers.size(), 2U);
}

TEST(HeartbeatWorker, moves_the_time_and_tells_the_next_expiry) {
    Scenario s = registered();
    s.now += 999;
    const std::size_t events = s.records.log_events.size();
    const auto answer = s.run(HeartbeatWorker{"tenant", "w1-1"});
    ASSERT_TRUE(answer && answer->registered);
    EXPECT_EQ(answer->next_expiry_ms, s.now + 1'000);
    EXPECT_EQ(s.records.workers.at(key).last_heartbeat, s.now);
    EXPECT_EQ(s.records.log_events.size(), events) << "heartbeats are not told";
}

TEST(HeartbeatWorker, of_an_absent_or_dead_worker_asks_to_register_again) {
    Scenario s = registered();
    EXPECT_FALSE(s.run(HeartbeatWorker{"tenant", "other"})->registered);
    EXPECT_FALSE(s.run(HeartbeatWorker{"other", "w1-1"})->registered);
    s.now += 1'000;
    const Records before = s.records;
    EXPECT_FALSE(s.run(HeartbeatWorker{"tenant", "w1-1"})->registered);
    EXPECT_TRUE(s.records == before);
}

TEST(MarkWorkerDead, deletes_the_row_once_and_tells_why) {
    Scenario s = registered();
    EXPECT_TRUE(s.run(MarkWorkerDead{"tenant", "w1-1", "gone"})->marked);
    EXPECT_TRUE(s.records.workers.empty());
    EXPECT_EQ(s.records.log_events.back().type, "marked_dead");
    EXPECT_EQ(s.records.log_events.back().payload,
              R"({"worker_id":"w1","worker_instance_id":"w1-1","reason":"gone"})");
    const Records before = s.records;
    EXPECT_FALSE(s.run(MarkWorkerDead{"tenant", "w1-1", "gone"})->marked);
    EXPECT_TRUE(s.records == before);
}

TEST(MarkWorkerDead, leaves_leases_to_expire_unless_asked_to_revoke_them) {
    Scenario s = registered();
    s.play(R"(
        create a   |
        create b   |
        create c   |
        create d ns=other |
        claim w1   | a fresh initial #0 e1
        claim w1   | b fresh initial #0 e1
        claim w2   | c fresh initial #0 e1
        claim w1   | d fresh initial #0 e1
        revoke_lease b | revoked e1
    )");
    Scenario patient = s;
    EXPECT_EQ(patient.run(MarkWorkerDead{"tenant", "w1-1", ""})->leases_revoked, 0U);
    patient.play("tick | 0 | a: active leased");

    const auto answer = s.run(MarkWorkerDead{"tenant", "w1-1", "", true});
    EXPECT_EQ(answer->leases_revoked, 1U);
    s.play("tick | 0 | a: active lease_revoked c: active leased d: active leased");
    EXPECT_EQ(s.history("a"), (Lines{"acquired", "revoked:worker_marked_dead"}));
    EXPECT_EQ(s.history("b"), (Lines{"acquired", "revoked:operator_revoke"}));
    const auto& events = s.records.events;
    EXPECT_EQ(events.back().revoked_by, "operator");
    EXPECT_EQ(events.back().worker_instance_id, "w1-1");
}

TEST(MarkWorkerDead, revokes_the_leases_of_tagged_executions_too) {
    Scenario s = registered();
    CreateExecution args = Scenario::create_args();
    args.tags = {{"t", "1"}};
    ASSERT_TRUE(s.run(args));
    ASSERT_EQ(s.run(Scenario::claim_args("w1"))->tasks.size(), 1U);
    EXPECT_EQ(s.run(MarkWorkerDead{"tenant", "w1-1", "", true})->leases_revoked, 1U);
    EXPECT_EQ(s.records.events.back().tags, R"({"t":"1"})");
}

// The list of leases is as of the load; commands before this one in the batch may have moved them.
TEST(MarkWorkerDead, spares_a_lease_that_changed_hands_after_the_list_was_made) {
    Scenario s = registered();
    s.play("create a \n claim w2 | a fresh initial #0 e1 \n create b");
    RouteTable routes;
    routes.add(s.route(s.row("a")));
    Snapshot view(routes);
    for (const std::string name : {"a", "b"}) {
        ExecutionCell& cell = view.cell(s.id(name));
        cell.execution.load(s.row(name));
        view.index_by_eid(cell);
    }
    view.load_worker(key, s.records.workers.at(key));
    view.load_leased_by(key, {s.id("a"), s.id("b")});
    SeededIdSource ids(1);
    PolicyCache policies;
    Keystore keystore;
    struct NoNumbers final : RowNumbers {
        std::int64_t next_eid(TimestampMs) override { return 0; }
        std::int64_t next_route_id() override { return 0; }
    } numbers;
    const auto decision = decide(view, MarkWorkerDead{"tenant", "w1-1", "", true},
                                 Context{s.now, ids, numbers, policies, s.settings(), keystore});
    ASSERT_TRUE(decision.answer && decision.answer->marked);
    EXPECT_EQ(decision.answer->leases_revoked, 0U);
    EXPECT_TRUE(decision.changes.put_executions.empty());
}

TEST(MarkWorkerDead, of_a_worker_that_is_not_registered_revokes_nothing) {
    Scenario s;
    s.play("create a \n claim w1 | a fresh initial #0 e1");
    const auto answer = s.run(MarkWorkerDead{"tenant", "w1-1", "", true});
    EXPECT_FALSE(answer->marked);
    EXPECT_EQ(answer->leases_revoked, 0U);
    s.play("tick | 0 | a: active leased");
}

TEST(SweepWorker, forgets_a_worker_whose_heartbeat_ran_out_and_tells) {
    Scenario s = registered();
    s.now += 999;
    EXPECT_EQ(s.run(SweepWorker{key}), false);
    s.now += 1;
    EXPECT_EQ(s.run(SweepWorker{key}), true);
    EXPECT_TRUE(s.records.workers.empty());
    EXPECT_EQ(s.records.log_events.back().type, "ttl_swept");
    EXPECT_EQ(s.records.log_events.back().payload,
              R"({"worker_id":"w1","worker_instance_id":"w1-1"})");
    EXPECT_EQ(s.run(SweepWorker{key}), false);
}

}  // namespace
}  // namespace ff::core
