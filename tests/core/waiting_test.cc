// What a wait leaves behind in its rows (spec 04 sections 3, 4.2 and 12 to 14).
#include <gtest/gtest.h>

#include <set>

#include "support/world.h"

namespace ff::core {
namespace {

using testing::World;

class Waiting : public ::testing::Test {
  protected:
    ClaimedTask start() {
        CreateExecution create;
        create.ns = "tenant";
        create.lane_id = "main";
        create.execution_kind = "job";
        EXPECT_TRUE(world.run(create));
        return claim();
    }
    ClaimedTask claim() {
        Claim op;
        op.lanes = {"main"};
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lease_ttl_ms = 60'000;
        return world.run(op).value().tasks.at(0);
    }
    WaitpointTicket suspend(const ClaimedTask& task, TimeoutBehavior behavior) {
        Suspend op;
        op.lease = task.handle;
        op.resume_condition = any_signal();
        op.timeout_at = world.now + 1'000;
        op.timeout_behavior = behavior;
        return world.run(op).value().details.waitpoint;
    }
    static DeliverSignal signal(const ClaimedTask& task, const WaitpointTicket& at) {
        DeliverSignal op;
        op.execution_id = task.execution_id();
        op.waitpoint_id = at.waitpoint_id;
        op.waitpoint_token = at.waitpoint_token;
        op.signal_name = "go";
        return op;
    }
    std::string closed_because(const WaitpointTicket& at) {
        return world.records.waitpoints.at(at.waitpoint_id).close_reason.value_or("open");
    }

    World world;
};

TEST_F(Waiting, AForgedTokenLeavesOnlyItsTime) {
    const ClaimedTask task = start();
    const WaitpointTicket at = suspend(task, TimeoutBehavior::fail);
    world.now += 7;
    testing::Records before = world.records;
    DeliverSignal op = signal(task, at);
    op.waitpoint_token.back() = op.waitpoint_token.back() == '0' ? '1' : '0';
    op.idempotency_key = "once";
    const auto refused = world.run(op);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_token);
    for (auto& [key, row] : before.executions) {
        row.last_hmac_validation_failed_at = world.now;
    }
    EXPECT_EQ(world.records, before);
    world.now += 59'999;
    EXPECT_FALSE(world.run(op));
    EXPECT_EQ(world.records, before) << "within a minute not even that";
}

TEST_F(Waiting, WhyAWaitpointClosedIsKept) {
    const ClaimedTask task = start();
    const WaitpointTicket unused = world.run(CreateWaitpoint{task.handle, "a", 60'000}).value();
    const WaitpointTicket unwanted = world.run(CreateWaitpoint{task.handle, "b", 60'000}).value();
    const WaitpointTicket brief = world.run(CreateWaitpoint{task.handle, "c", 10}).value();
    ASSERT_TRUE(world.run(CloseWaitpoint{task.handle, unwanted.waitpoint_id}));
    world.advance(10);
    EXPECT_EQ(closed_because(unwanted), "proactive_close");
    EXPECT_EQ(closed_because(brief), "never_committed");
    EXPECT_EQ(closed_because(unused), "open");
    const WaitpointTicket answered = suspend(task, TimeoutBehavior::fail);
    ASSERT_TRUE(world.run(signal(task, answered)));
    EXPECT_EQ(closed_because(answered), "resumed");
    const ClaimedTask again = claim();
    const WaitpointTicket late = suspend(again, TimeoutBehavior::auto_resume);
    world.advance(1'000);
    EXPECT_EQ(closed_because(late), "timed_out_auto_resume");
    const WaitpointTicket last = suspend(claim(), TimeoutBehavior::fail);
    ASSERT_TRUE(world.run(CancelExecution{LeaseRef(task.execution_id()), "enough"}));
    EXPECT_EQ(closed_because(last), "cancelled");
    EXPECT_EQ(closed_because(unused), "never_committed") << "with the end of its attempt";
    EXPECT_TRUE(world.violations.empty()) << world.violations.front();
}

}  // namespace
}  // namespace ff::core
