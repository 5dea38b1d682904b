// Rows of flows that are not written because others say the same (store/implied.h): whoever reads
// finds them all the same, also when what implied them goes.
#include "store/contract.h"
#include "store/implied.h"

namespace ff::store::test {
namespace {

using core::Edge;
using core::EdgeGroup;
using core::Execution;

constexpr TimestampMs ended_at = t0 + 500;

Edge applied(Edge edge) {
    edge.state = EdgeState::applied;
    edge.dependency = DependencyState::unsatisfied;
    edge.applied_at = t0;
    return edge;
}

Execution ended(Execution e, TerminalOutcome outcome = TerminalOutcome::success,
                TimestampMs at = ended_at) {
    e.state = {LifecyclePhase::terminal,
               OwnershipState::unowned,
               EligibilityState::not_applicable,
               BlockingReason::none,
               outcome,
               AttemptState::attempt_terminal};
    e.completed_at = at;
    return e;
}

/// A member that others wait for, and the edge of one that does.
class ImpliedRows : public StoreContract {
  protected:
    void SetUp() override {
        StoreContract::SetUp();
        const core::RouteId where = route();
        upstream_ = member_of(next_eid(), where, 1);
        downstream_ = member_of(next_eid(), where, 1);
        edge_ = applied(edge_of(1, 1, upstream_.eid, downstream_.eid));
        put(store(), changes(flow_of(1), upstream_, input_of(upstream_.eid), downstream_,
                             input_of(downstream_.eid), edge_, implied_group(edge_)));
    }
    /// The upstream ends and resolves its edges, as one transaction does.
    void end(TerminalOutcome outcome = TerminalOutcome::success) {
        upstream_ = ended(upstream_, outcome);
        edge_ = *resolved_by_end(edge_, upstream_);
        put_knowing_edges(changes(flow_of(1), upstream_, edge_, implied_group(edge_)));
    }
    /// A transaction that has looked at all edges of the upstream.
    void put_knowing_edges(core::Changes changes) {
        Transaction transaction(store());
        core::ReadSet set;
        set.flows = {flow_id_of(1)};
        set.outbound = {upstream_.id};
        load(store(), transaction, set);
        transaction.apply(std::move(changes));
        ASSERT_TRUE(transaction.commit());
        ASSERT_TRUE(store().make_durable());
    }
    bool told() { return find_execution(store(), upstream_.eid)->edges_told; }
    Edge read_edge() {
        const auto all = look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); });
        EXPECT_FALSE(all.empty());
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.edge(edge_.key); }), all.front());
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.outbound(edge_.upstream); }).front(),
                  all.front());
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.inbound(edge_.downstream); }).front(),
                  all.front());
        return all.front();
    }
    std::optional<EdgeGroup> read_group() {
        auto group =
            look(store(), [&](Reader& r) { return r.group(flow_id_of(1), downstream_.id); });
        const auto all = look(store(), [](Reader& r) { return r.groups_of_flow(flow_id_of(1)); });
        EXPECT_EQ(all, group ? std::vector{*group} : std::vector<EdgeGroup>{});
        return group;
    }
    /// What a transaction sees: by the execution alone, by the edge, and with the whole flow.
    void expect_loaded(const Edge& edge, const std::optional<EdgeGroup>& group) {
        for (const int way : {0, 1, 2}) {
            Transaction transaction(store());
            core::ReadSet set;
            set.flows = {flow_id_of(1)};
            set.outbound = {edge.upstream};
            load(store(), transaction, set);
            core::ReadSet more;
            if (way == 2) {
                more.edges_of_flows = {flow_id_of(1)};
            } else {
                more.groups.emplace_back(flow_id_of(1), edge.downstream,
                                         way == 1 ? std::optional(edge.key) : std::nullopt);
            }
            load(store(), transaction, more);
            EXPECT_EQ(*transaction.snapshot.outbound(edge.upstream).at(0), edge) << way;
            const EdgeGroup* found = transaction.snapshot.group(edge.downstream);
            ASSERT_EQ(found != nullptr, group.has_value()) << way;
            EXPECT_TRUE(found == nullptr || *found == *group) << way;
        }
    }

    void expect_impossible_after(TerminalOutcome outcome) {
        end(outcome);
        EXPECT_EQ(edge_.dependency, DependencyState::impossible);
        EXPECT_EQ(read_edge(), edge_);
        EXPECT_EQ(read_group(), implied_group(edge_));
        EXPECT_EQ(read_group()->skipped, outcome == TerminalOutcome::skipped ? 1U : 0U);
        EXPECT_TRUE(told());
    }

    Execution upstream_;
    Execution downstream_;
    Edge edge_;
};
INSTANTIATE_TEST_SUITE_P(Stores, ImpliedRows, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

TEST_P(ImpliedRows, an_edge_is_resolved_by_the_end_of_its_upstream) {
    EXPECT_EQ(read_edge(), edge_);
    EXPECT_FALSE(told());
    end();
    EXPECT_EQ(edge_.dependency, DependencyState::satisfied);
    EXPECT_EQ(read_edge(), edge_);
    EXPECT_EQ(read_group(), implied_group(edge_));
    EXPECT_TRUE(told());
    expect_loaded(edge_, implied_group(edge_));
}

TEST_P(ImpliedRows, a_failure_makes_its_edges_impossible) {
    expect_impossible_after(TerminalOutcome::failed);
}
TEST_P(ImpliedRows, a_skip_makes_its_edges_impossible) {
    expect_impossible_after(TerminalOutcome::skipped);
}
TEST_P(ImpliedRows, a_cancellation_makes_its_edges_impossible) {
    expect_impossible_after(TerminalOutcome::cancelled);
}

TEST_P(ImpliedRows, what_the_end_does_not_say_is_written) {
    upstream_ = ended(upstream_);
    edge_ = *resolved_by_end(edge_, upstream_);
    edge_.resolved_at = ended_at + 1;  // later, in a transaction of its own
    put_knowing_edges(changes(flow_of(1), upstream_, edge_));
    EXPECT_FALSE(told());
    EXPECT_EQ(read_edge(), edge_);
}

TEST_P(ImpliedRows, one_edge_that_is_resolved_by_hand_says_nothing_of_the_others) {
    const Edge other = applied(edge_of(1, 2, upstream_.eid, 9));
    put(store(), changes(flow_of(1), other, implied_group(other)));
    upstream_ = ended(upstream_);
    edge_ = *resolved_by_end(edge_, upstream_);
    put_knowing_edges(changes(flow_of(1), upstream_, edge_, implied_group(edge_)));
    EXPECT_FALSE(told());
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              (std::vector{edge_, other}));
    // Its turn comes in another transaction.
    Edge late = *resolved_by_end(other, upstream_);
    late.resolved_at = ended_at + 1;
    put_knowing_edges(changes(flow_of(1), late, implied_group(late)));
    EXPECT_FALSE(told());
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              (std::vector{edge_, late}));
}

TEST_P(ImpliedRows, who_does_not_know_all_edges_of_an_execution_has_it_tell_none) {
    upstream_ = ended(upstream_);
    edge_ = *resolved_by_end(edge_, upstream_);
    put(store(), changes(flow_of(1), upstream_, edge_, implied_group(edge_)));
    EXPECT_FALSE(told());
    EXPECT_EQ(read_edge(), edge_);
}

TEST_P(ImpliedRows, the_same_end_after_a_replay_is_another) {
    end();
    Execution again = upstream_;
    again.replay_count += 1;
    Edge open = applied(edge_of(1, 1, upstream_.eid, downstream_.eid));
    put(store(), changes(flow_of(1), again, open, implied_group(open)));
    EXPECT_FALSE(told());
    EXPECT_EQ(read_edge(), open);
}

TEST_P(ImpliedRows, conditions_and_other_kinds_are_written) {
    Edge conditional = applied(edge_of(1, 2, upstream_.eid, downstream_.eid));
    conditional.when = "$.ok == true";
    Edge always = applied(edge_of(1, 3, upstream_.eid, downstream_.eid));
    always.kind = DependencyKind::always;
    Edge fenced = applied(edge_of(1, 4, upstream_.eid, downstream_.eid));
    fenced.fence_replays = 0;
    put(store(), changes(flow_of(1), conditional, always, fenced));
    // The first edge has the upstream say that it was told; that is not for these.
    end();
    EXPECT_TRUE(told());
    EXPECT_FALSE(resolved_by_end(conditional, upstream_));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              (std::vector{edge_, conditional, always, fenced}));
}

TEST_P(ImpliedRows, an_edge_keeps_its_resolution_when_its_upstream_runs_again) {
    end();
    Execution again = upstream_;
    again.state = member_of(upstream_.eid, upstream_.route, 1).state;
    again.completed_at.reset();
    put(store(), changes(again));
    EXPECT_FALSE(told());
    EXPECT_EQ(read_edge(), edge_);
    put(store(), changes(ended(again, TerminalOutcome::failed, ended_at + 9)));
    EXPECT_EQ(read_edge(), edge_) << "another end changes nothing";
    expect_loaded(edge_, implied_group(edge_));
}

TEST_P(ImpliedRows, an_edge_keeps_its_resolution_when_its_upstream_ends_otherwise_at_once) {
    end();
    put(store(), changes(ended(upstream_, TerminalOutcome::failed, ended_at + 9)));
    EXPECT_FALSE(told());
    EXPECT_EQ(read_edge(), edge_);
}

TEST_P(ImpliedRows, an_edge_keeps_its_resolution_when_its_upstream_goes) {
    end();
    core::Changes retention;
    retention.delete_executions.push_back(upstream_.eid);
    put(store(), std::move(retention));
    EXPECT_FALSE(find_execution(store(), upstream_.eid));
    EXPECT_EQ(read_edge(), edge_);
    EXPECT_EQ(read_group(), implied_group(edge_));
}

TEST_P(ImpliedRows, an_edge_that_is_opened_again_stays_open) {
    end();
    Edge open = applied(edge_of(1, 1, upstream_.eid, downstream_.eid));
    open.fence_replays = 0;
    put(store(), changes(flow_of(1), open));
    EXPECT_TRUE(told()) << "the end is the same";
    EXPECT_EQ(read_edge(), open);
    open.fence_replays.reset();
    open.dependency = DependencyState::satisfied;
    open.outcome = TerminalOutcome::success;
    open.resolved_at = ended_at + 7;
    put(store(), changes(flow_of(1), open));
    EXPECT_EQ(read_edge(), open);
}

TEST_P(ImpliedRows, a_group_gets_a_row_with_its_second_edge_and_keeps_it) {
    EXPECT_EQ(read_group(), implied_group(edge_));
    const Edge second = applied(edge_of(1, 2, upstream_.eid, downstream_.eid));
    EdgeGroup both = implied_group(edge_);
    both.staged = both.applied = 2;
    put(store(), changes(flow_of(1), second, both));
    EXPECT_EQ(read_group(), both);
    both.succeeded = 1;
    put(store(), changes(flow_of(1), both));
    EXPECT_EQ(read_group(), both);
    expect_loaded(edge_, both);
}

TEST_P(ImpliedRows, a_group_with_a_policy_has_a_row) {
    EdgeGroup group = implied_group(edge_);
    group.policy = GroupPolicyKind::any_of;
    put(store(), changes(flow_of(1), group));
    EXPECT_EQ(read_group(), group);
    group.policy = GroupPolicyKind::all_of;
    put(store(), changes(flow_of(1), group));
    EXPECT_EQ(read_group(), group);
    expect_loaded(edge_, group);
}

TEST_P(ImpliedRows, who_has_no_edges_has_no_group) {
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.group(flow_id_of(1), upstream_.id); }));
    Transaction transaction(store());
    core::ReadSet set;
    set.flows = {flow_id_of(1)};
    set.groups.emplace_back(flow_id_of(1), upstream_.id);
    load(store(), transaction, set);
    EXPECT_EQ(transaction.snapshot.group(upstream_.id), nullptr);
}

}  // namespace
}  // namespace ff::store::test
