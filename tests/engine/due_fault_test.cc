// Due work that cannot be read, or whose consequences fail, is left alone for a while; the timers
// of everybody else go on.
#include "engine/group_commit.h"

namespace ff::engine::test {

TEST_F(GroupCommit, ADueRowThatCannotBeReadHoldsUpNobody) {
    const auto delayed = with(job(), [](auto& op) { op.delay_until = t0 + 10; });
    const ExecutionId cursed = ok(delayed).execution_id;
    const ExecutionId fine = ok(delayed).execution_id;
    const ExecutionId later =
        ok(with(job(), [](auto& op) { op.delay_until = t0 + 5'000; })).execution_id;
    store_->fail_loads_if([first = std::optional<core::Eid>()](core::Eid eid) mutable {
        first = first.value_or(eid);  // the earliest due is the first of all
        return eid == *first ? std::optional(ErrorCode::corruption) : std::nullopt;
    });
    clock_->advance(10);
    refused(RunScanner{"lease_expiry"});
    EXPECT_EQ(ok(ReadExecutionState{fine}), PublicState::waiting);
    for (int i = 0; i < 5; ++i) {
        clock_->advance(1'000);
        refused(RunScanner{"lease_expiry"});
    }
    EXPECT_EQ(ok(ReadExecutionState{later}), PublicState::waiting);
    EXPECT_EQ(ok(ReadExecutionState{cursed}), PublicState::delayed);
    ASSERT_FALSE(warnings_->all().empty());
    EXPECT_NE(warnings_->all()[0].find("cannot be read"), std::string::npos);
    EXPECT_LE(warnings_->all().size(), 6U) << "told once in a while";
    // And when it can be read again, it goes on.
    store_->fail_loads_if(nullptr);
    clock_->advance(60'000);
    ok(RunScanner{"lease_expiry"});
    EXPECT_EQ(ok(ReadExecutionState{cursed}), PublicState::waiting);
}

TEST_F(GroupCommit, DueWorkThatLostARaceIsRunAgainAtOnce) {
    const ExecutionId id = ok(with(job(), [](auto& op) { op.delay_until = t0 + 10; })).execution_id;
    store_->pretend_shared();
    store_->fail_loads_if([races = 0](core::Eid) mutable {
        return ++races <= 3 ? std::optional(ErrorCode::store_busy) : std::nullopt;
    });
    clock_->advance(10);
    ok(RunScanner{"lease_expiry"});  // or the writer has been there by itself
    EXPECT_EQ(ok(ReadExecutionState{id}), PublicState::waiting);
}

TEST_F(GroupCommit, ADueFlowThatCannotBeReadHoldsUpNobody) {
    const auto due_flow = [&](TimestampMs deadline) {
        CreateFlow flow;
        flow.flow_kind = "pipeline";
        flow.ns = "acme";
        flow.settings.deadline_at = deadline;
        const FlowId id = ok(flow).flow_id;
        ok(AddExecutionToFlow{id, ok(job()).execution_id});
        return id;
    };
    const FlowId cursed = due_flow(t0 + 10);
    const FlowId fine = due_flow(t0 + 10);
    const FlowId later = due_flow(t0 + 3'000);
    const ExecutionId delayed =
        ok(with(job(), [](auto& op) { op.delay_until = t0 + 10; })).execution_id;
    const auto state = [&](const FlowId& id) { return ok(DescribeFlow{id})->public_flow_state; };
    store_->fail_flows_if([cursed](const FlowId& id) {
        return id == cursed ? std::optional(ErrorCode::corruption) : std::nullopt;
    });
    clock_->advance(10);
    refused(RunScanner{"lease_expiry"});
    EXPECT_EQ(state(fine), FlowState::cancelled);
    EXPECT_EQ(ok(ReadExecutionState{delayed}), PublicState::waiting);
    for (int i = 0; i < 5; ++i) {
        clock_->advance(1'000);
        refused(RunScanner{"lease_expiry"});
    }
    EXPECT_EQ(state(later), FlowState::cancelled);
    EXPECT_EQ(state(cursed), FlowState::open);
    store_->fail_flows_if(nullptr);
    clock_->advance(60'000);
    ok(RunScanner{"lease_expiry"});
    EXPECT_EQ(state(cursed), FlowState::cancelled);
}

TEST_F(GroupCommit, DueWorkWhoseConsequencesFailHoldsUpNobody) {
    // A member runs out of time, and its flow, which must hear of it, cannot be read.
    CreateFlow flow;
    flow.flow_kind = "pipeline";
    flow.ns = "acme";
    const FlowId id = ok(flow).flow_id;
    const ExecutionId member =
        ok(with(job(), [](auto& op) { op.execution_deadline_at = t0 + 10; })).execution_id;
    ok(AddExecutionToFlow{id, member});
    const ExecutionId fine =
        ok(with(job(), [](auto& op) { op.delay_until = t0 + 10; })).execution_id;
    store_->fail_flows_if([](const FlowId&) { return std::optional(ErrorCode::corruption); });
    clock_->advance(10);
    refused(RunScanner{"lease_expiry"});
    EXPECT_EQ(ok(ReadExecutionState{fine}), PublicState::waiting);
    EXPECT_EQ(ok(ReadExecutionState{member}), PublicState::waiting) << "all of it or nothing";
    store_->fail_flows_if(nullptr);
    clock_->advance(1'000);
    ok(RunScanner{"lease_expiry"});
    EXPECT_EQ(ok(ReadExecutionState{member}), PublicState::expired);
}

}  // namespace ff::engine::test
