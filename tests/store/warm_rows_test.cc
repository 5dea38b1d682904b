// Rows that are kept between transactions are those that were committed, or none.
#include "store/warm_rows.h"

#include <gtest/gtest.h>

namespace ff::store {
namespace {

TEST(Recent, ARowIsTakenOnce) {
    Recent<int, int> rows(2);
    rows.keep(1, 10);
    EXPECT_EQ(rows.take(1), 10);
    EXPECT_EQ(rows.take(1), std::nullopt);
}

TEST(Recent, RowsThatNobodyAsksForAreDroppedInTheEnd) {
    Recent<int, int> rows(2);
    for (int i = 0; i < 7; ++i) {
        rows.keep(i, i);
    }
    EXPECT_EQ(rows.take(0), std::nullopt);
    EXPECT_EQ(rows.take(6), 6);
}

TEST(Recent, ARowThatIsKeptAgainIsTheNewOneWhereverTheOldOneWas) {
    Recent<int, int> rows(1);
    rows.keep(1, 10);
    rows.keep(2, 20);  // both are old now
    rows.keep(1, 11);
    EXPECT_EQ(rows.take(1), 11);
    EXPECT_EQ(rows.take(1), std::nullopt);
}

class Warm : public testing::Test {
  protected:
    static core::Flow flow() {
        core::Flow row;
        row.id = FlowId::parse("01a1e4c8-238c-7141-9783-031ce63e79cb").value();
        row.live = 2;
        return row;
    }
    static ExecutionId id_of(int n) { return ExecutionId::for_flow(flow().id, {}, new_uuid_of(n)); }
    static core::Execution member(int n, EligibilityState eligibility) {
        core::Execution row;
        row.id = id_of(n);
        row.eid = n;
        row.flow_id = flow().id;
        row.state.phase = LifecyclePhase::runnable;
        row.state.eligibility = eligibility;
        return row;
    }
    static core::Edge edge(int from, int to, int n) {
        core::Edge row;
        row.upstream = id_of(from);
        row.downstream = id_of(to);
        row.key = {flow().id, EdgeId{new_uuid_of(n)}};
        return row;
    }
    static Uuid new_uuid_of(int n) {
        Uuid out{};
        out.bytes[15] = static_cast<std::uint8_t>(n);
        return out;
    }
    /// A transaction that makes all this anew.
    void commit(core::Changes changes) {
        core::Snapshot snapshot(routes_);
        for (const core::Execution& row : changes.put_executions) {
            snapshot.cell(row.id).execution.load(std::nullopt);
        }
        snapshot.apply(std::move(changes));
        warm_.committed(snapshot);
    }
    void commit_two_with_an_edge() {
        core::Changes changes;
        changes.put_flows.push_back(flow());
        changes.put_executions.push_back(member(1, EligibilityState::eligible_now));
        changes.put_executions.push_back(member(2, EligibilityState::blocked_by_dependencies));
        changes.put_edges.push_back(edge(1, 2, 9));
        commit(std::move(changes));
    }

    core::RouteTable routes_;
    WarmRows warm_;
};

TEST_F(Warm, WhatASubmissionMadeNeedNotBeRead) {
    commit_two_with_an_edge();
    EXPECT_EQ(warm_.take(flow().id), flow());
    EXPECT_EQ(warm_.take(id_of(2))->eid, 2);
    EXPECT_EQ(warm_.take(core::Eid{1})->id, id_of(1));
    EXPECT_EQ(warm_.take_outbound(id_of(1)), std::vector{edge(1, 2, 9)});
    EXPECT_EQ(warm_.take_outbound(id_of(2)), std::vector<core::Edge>());
}

TEST_F(Warm, AnEdgeThatJoinsLaterIsNotMissed) {
    commit_two_with_an_edge();
    core::Changes changes;
    changes.put_flows.push_back(flow());
    changes.put_edges.push_back(edge(2, 3, 10));
    commit(std::move(changes));
    EXPECT_EQ(warm_.take_outbound(id_of(2)), std::nullopt);
    EXPECT_TRUE(warm_.take_outbound(id_of(1)));
}

TEST_F(Warm, AMemberThatEndedIsNotKept) {
    commit_two_with_an_edge();
    core::Execution ended = member(2, EligibilityState::not_applicable);
    ended.state.phase = LifecyclePhase::terminal;
    core::Changes changes;
    changes.put_executions.push_back(ended);
    commit(std::move(changes));
    EXPECT_EQ(warm_.take(id_of(2)), std::nullopt);
}

TEST_F(Warm, WhatWentWithAFlowIsNotKept) {
    commit_two_with_an_edge();
    core::Changes changes;
    changes.delete_flows.push_back(flow().id);
    commit(std::move(changes));
    EXPECT_EQ(warm_.take(flow().id), std::nullopt);
    EXPECT_EQ(warm_.take_outbound(id_of(1)), std::nullopt);
}

class WarmWaits : public Warm {
  protected:
    static core::Execution waiting(std::uint32_t open) {
        core::Execution row;
        row.id = id_of(1);
        row.eid = 1;
        row.state.phase = open > 0 ? LifecyclePhase::suspended : LifecyclePhase::runnable;
        row.suspension_count = 1;
        row.open_waitpoints = open;
        if (open > 0) {
            row.current_suspension_id = suspension().id;
        }
        return row;
    }
    static core::Suspension suspension() {
        core::Suspension row;
        row.key = {1, 1};
        row.id = SuspensionId{new_uuid_of(5)};
        return row;
    }
    static core::Waitpoint waitpoint(WaitpointState state) {
        core::Waitpoint row;
        row.id = WaitpointId{new_uuid_of(6)};
        row.eid = 1;
        row.state = state;
        return row;
    }
    void suspend() {
        core::Changes changes;
        changes.put_executions.push_back(waiting(1));
        changes.put_suspensions.push_back(suspension());
        changes.put_waitpoints.push_back(waitpoint(WaitpointState::active));
        commit(std::move(changes));
    }
    /// A transaction that loads the execution with what it waits for, and changes it.
    void change(core::Changes changes) {
        core::Snapshot snapshot(routes_);
        snapshot.cell(id_of(1)).execution.load(waiting(1));
        snapshot.waits.load_open(1, suspension(), {waitpoint(WaitpointState::active)});
        snapshot.apply(std::move(changes));
        warm_.committed(snapshot);
    }
    static core::HmacKey key(const std::string& kid) {
        core::HmacKey row;
        row.kid = kid;
        return row;
    }
};

TEST_F(WarmWaits, WhatAnExecutionWaitsForNeedNotBeRead) {
    suspend();
    EXPECT_EQ(warm_.take(id_of(1))->open_waitpoints, 1U);
    const auto open = warm_.take_waits(1);
    ASSERT_TRUE(open);
    EXPECT_EQ(open->suspension, suspension());
    EXPECT_EQ(open->waitpoints, std::vector{waitpoint(WaitpointState::active)});
    EXPECT_FALSE(warm_.take_waits(1));
}

TEST_F(WarmWaits, WhoWaitsNoMoreHasNothingKept) {
    suspend();
    core::Changes changes;
    changes.put_executions.push_back(waiting(0));
    changes.put_waitpoints.push_back(waitpoint(WaitpointState::closed));
    change(std::move(changes));
    EXPECT_FALSE(warm_.take_waits(1));
}

TEST_F(WarmWaits, WhatChangedIsKeptAsItIsNow) {
    suspend();
    core::Waitpoint signalled = waitpoint(WaitpointState::active);
    signalled.signal_count = 1;
    core::Changes changes;
    changes.put_executions.push_back(waiting(1));
    changes.put_waitpoints.push_back(signalled);
    change(std::move(changes));
    const auto open = warm_.take_waits(1);
    ASSERT_TRUE(open);
    EXPECT_EQ(open->waitpoints, std::vector{signalled});
}

TEST_F(WarmWaits, WaitsThatWereNotAllLoadedAreNotKept) {
    suspend();
    core::Snapshot snapshot(routes_);
    snapshot.cell(id_of(1)).execution.load(waiting(1));
    core::Changes changes;
    changes.put_executions.push_back(waiting(1));
    snapshot.apply(std::move(changes));
    warm_.committed(snapshot);
    EXPECT_FALSE(warm_.take_waits(1));
}

TEST_F(WarmWaits, FewerThanTheExecutionCountsAreNotKept) {
    core::Changes changes;
    changes.put_executions.push_back(waiting(2));
    changes.put_suspensions.push_back(suspension());
    changes.put_waitpoints.push_back(waitpoint(WaitpointState::active));
    commit(std::move(changes));
    EXPECT_FALSE(warm_.take_waits(1));
}

TEST_F(WarmWaits, WhatIsLargeIsReadAgainRatherThanKept) {
    core::Suspension large = suspension();
    large.condition.assign(5'000, 'x');
    core::Changes changes;
    changes.put_executions.push_back(waiting(1));
    changes.put_suspensions.push_back(large);
    changes.put_waitpoints.push_back(waitpoint(WaitpointState::active));
    commit(std::move(changes));
    EXPECT_FALSE(warm_.take_waits(1));
}

TEST_F(WarmWaits, AnExecutionThatIsDeletedLeavesNothing) {
    suspend();
    core::Changes changes;
    changes.delete_executions.push_back(1);
    core::Snapshot snapshot(routes_);
    snapshot.cell(id_of(1)).execution.load(waiting(1));
    snapshot.index_by_eid(snapshot.cell(id_of(1)));
    snapshot.apply(std::move(changes));
    warm_.committed(snapshot);
    EXPECT_FALSE(warm_.take_waits(1));
    EXPECT_FALSE(warm_.take(id_of(1)));
}

TEST_F(WarmWaits, KeysAreKnownUntilOneChanges) {
    EXPECT_FALSE(warm_.hmac_keys());
    core::Snapshot looked(routes_);
    looked.waits.load_keys({key("k1")});
    warm_.committed(looked);
    EXPECT_EQ(warm_.hmac_keys(), std::vector{key("k1")});

    core::Snapshot rotated(routes_);
    core::Changes changes;
    changes.put_hmac_keys.push_back(key("k2"));
    rotated.apply(std::move(changes));
    warm_.committed(rotated);
    EXPECT_FALSE(warm_.hmac_keys());

    core::Snapshot both(routes_);
    both.waits.load_keys({key("k1")});
    core::Changes more;
    more.put_hmac_keys.push_back(key("k2"));
    both.apply(std::move(more));
    warm_.committed(both);
    EXPECT_EQ(warm_.hmac_keys(), (std::vector{key("k1"), key("k2")}));
}

}  // namespace
}  // namespace ff::store
