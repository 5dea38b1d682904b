// The conformance suite, fourth part: flows with their members, edges, groups and work.
#include "store/contract.h"

#include <algorithm>
#include <limits>

#include "store/implied.h"
#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::Edge;
using core::EdgeGroup;
using core::EdgeKey;
using core::Execution;
using core::Flow;
using core::FlowWork;
using core::FlowWorkKey;
using core::FlowWorkKind;
using core::InputNeed;
using core::ReadSet;

core::Changes deletion_of(const FlowId& flow) {
    core::Changes gone;
    gone.delete_flows.push_back(flow);
    return gone;
}

core::Changes deletion_of(const FlowWorkKey& work) {
    core::Changes gone;
    gone.delete_work.push_back(work);
    return gone;
}

template <class Row>
std::vector<EdgeKey> keys(const std::vector<Row>& edges) {
    std::vector<EdgeKey> out;
    for (const auto& edge : edges) {
        if constexpr (std::is_pointer_v<Row>) {
            out.push_back(edge->key);
        } else {
            out.push_back(edge.key);
        }
    }
    return out;
}

std::optional<Flow> find_flow(Store& store, std::uint64_t n) {
    return look(store, [&](Reader& r) { return r.flow(flow_id_of(n)); });
}

std::vector<FlowWork> all_work(Store& store) {
    return look(store, [](Reader& r) { return r.flow_work({}, 100); });
}

// -------------------------------------------------------------------------------- every row type

TEST_P(StoreContract, an_empty_store_has_no_flows) {
    const FlowId none = flow_id_of(1);
    EXPECT_FALSE(find_flow(store(), 1));
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.flows({}, {}, 9); }).empty());
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.members(none, {}, 9); }).empty());
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.edges_of_flow(none); }).empty());
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.outbound(id_of(1)); }).empty());
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.inbound(id_of(1)); }).empty());
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.edge({none, {}}); }));
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.group(none, id_of(1)); }));
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.groups_of_flow(none); }).empty());
    EXPECT_TRUE(all_work(store()).empty());
    EXPECT_TRUE(scan(store(), [](Store& s) { return s.held_flows(); }).empty());
    EXPECT_TRUE(scan(store(), [](Store& s) { return s.scan_due_flows(t0, 9); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.flow_ids({}, 9); }).empty());
    EXPECT_TRUE(scan(store(), [](Store& s) { return s.scan_staged(t0, 9); }).empty());
}

TEST_P(StoreContract, flows_come_back_as_they_were_put) {
    const Flow full = full_flow(1);
    Flow marked = full;
    marked.timer_at = 1;  // one that is cancelled has none
    ASSERT_EQ(difference(marked, Flow{}), all_columns<Flow>());
    const Flow plain = flow_of(2);
    put(store(), changes(full, plain));
    EXPECT_EQ(find_flow(store(), 1), full);
    EXPECT_EQ(find_flow(store(), 2), plain);
}

TEST_P(StoreContract, edges_groups_and_work_come_back_as_they_were_put) {
    const Edge edge = full_edge(1, 1, 1, 2);
    const EdgeGroup group = full_group(1, 2);
    const FlowWork work = full_work(1, 2);
    ASSERT_EQ(difference(edge, Edge{}), all_columns<Edge>());
    ASSERT_EQ(difference(group, EdgeGroup{}), all_columns<EdgeGroup>());
    ASSERT_EQ(difference(work, FlowWork{}), all_columns<FlowWork>());
    const Edge plain_edge = edge_of(1, 2, 1, 3);
    const EdgeGroup plain_group = group_of(1, 3);
    const FlowWork plain_work{{flow_id_of(1), FlowWorkKind::counted, {}}, {}, 0};
    put(store(), changes(flow_of(1), edge, group, work, plain_edge, plain_group, plain_work));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.edge(edge.key); }), edge);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.edge(plain_edge.key); }), plain_edge);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.group(group.flow, group.downstream); }),
              group);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.groups_of_flow(group.flow); }),
              (std::vector{group, plain_group}));
    EXPECT_EQ(all_work(store()), (std::vector{plain_work, work}));
}

TEST_P(StoreContract, every_column_of_a_flow_can_change_alone) {
    Flow row = flow_of(1);
    const Flow plain = row;
    const Flow full = full_flow(1);
    put(store(), changes(row));
    const auto change_row = [&](const ColumnInfo& column, auto& member, const auto& one,
                                const auto& two) {
        const std::string name = column.name;
        if (name == "timer_at" || name == "held") {
            return;
        }
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(row));
            auto read = find_flow(store(), 1);
            ASSERT_TRUE(read) << name;
            read->timer_at = row.timer_at;  // these follow from the rest
            read->held = row.held;
            EXPECT_EQ(*read, row) << name;
        }
    };
    for_each_column<Flow>(change_row, row, full, plain);
}

TEST_P(StoreContract, every_column_of_an_edge_and_of_a_group_can_change_alone) {
    Edge edge = edge_of(1, 1, 1, 2);
    EdgeGroup group = group_of(1, 2);
    const Edge plain_edge = edge;
    const EdgeGroup plain_group = group;
    const Edge full = full_edge(1, 1, 1, 2);
    const EdgeGroup other = full_group(1, 2);
    put(store(), changes(flow_of(1), edge, group));
    const auto change_edge = [&](const ColumnInfo& column, auto& member, const auto& one,
                                 const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(edge));
            EXPECT_EQ(look(store(), [&](Reader& r) { return r.edge(edge.key); }), edge)
                << column.name;
        }
    };
    for_each_column<Edge>(change_edge, edge, full, plain_edge);
    const auto change_group = [&](const ColumnInfo& column, auto& member, const auto& one,
                                  const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(group));
            EXPECT_EQ(look(store(), [&](Reader& r) { return r.groups_of_flow(group.flow); }),
                      std::vector{group})
                << column.name;
        }
    };
    for_each_column<EdgeGroup>(change_group, group, other, plain_group);
}

// The batch is made to believe in another row than the store has: what it did not change stays.
TEST_P(StoreContract, only_the_columns_of_a_flow_that_changed_are_written) {
    if (store().info().family == "memory") {
        GTEST_SKIP() << "it keeps rows whole";
    }
    Edge edge = edge_of(1, 1, 1, 2);
    EdgeGroup group = group_of(1, 2);
    Flow flow = flow_of(1);
    edge.data_passing_ref = flow.cancel_reason = group.siblings_reason = "kept";
    put(store(), changes(flow, edge, group));
    {
        Transaction transaction(store());
        transaction.snapshot.load_flow(flow.id, flow_of(1));
        transaction.snapshot.load_edge(edge.key, edge_of(1, 1, 1, 2));
        transaction.snapshot.load_group(group.downstream, group_of(1, 2));
        Flow new_flow = flow_of(1);
        Edge new_edge = edge_of(1, 1, 1, 2);
        EdgeGroup new_group = group_of(1, 2);
        new_flow.edge_count = new_group.applied = 7;
        new_edge.applied_at = t0 + 7;
        transaction.apply_blind(changes(new_flow, new_edge, new_group));
        ASSERT_TRUE(transaction.commit());
        ASSERT_TRUE(store().make_durable());
    }
    flow.edge_count = group.applied = 7;
    edge.applied_at = t0 + 7;
    EXPECT_EQ(find_flow(store(), 1), flow);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.edge(edge.key); }), edge);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.groups_of_flow(flow.id); }),
              std::vector{group});
}

TEST_P(StoreContract, a_flow_that_is_there_cannot_be_made_again) {
    put(store(), changes(flow_of(1)));
    Transaction transaction(store());
    transaction.apply_blind(changes(full_flow(1)));
    EXPECT_FALSE(transaction.commit());
    EXPECT_EQ(find_flow(store(), 1), flow_of(1));
}

TEST_P(StoreContract, one_edge_too_many_among_many_new_ones_refuses_them_all) {
    put(store(), changes(flow_of(1), edge_of(1, 9, 1, 2)));
    {
        Transaction transaction(store());
        core::Changes many = changes(flow_of(2));
        for (std::uint64_t n = 1; n <= 40; ++n) {
            many.put_edges.push_back(edge_of(1, n, 1, 3));
        }
        transaction.apply_blind(std::move(many));
        EXPECT_FALSE(transaction.commit()) << "the ninth is there already";
    }
    EXPECT_FALSE(find_flow(store(), 2));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              std::vector{edge_of(1, 9, 1, 2)});
    core::Changes others = changes(flow_of(2));
    for (std::uint64_t n = 1; n <= 40; ++n) {
        others.put_edges.push_back(edge_of(2, n, 5, 6));
    }
    put(store(), std::move(others));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(2)); }).size(), 40U)
        << "the store goes on";
}

TEST_P(StoreContract, flows_of_a_transaction_that_is_given_up_are_not_there) {
    put(store(), changes(flow_of(1), edge_of(1, 1, 1, 2), work_of(1, FlowWorkKind::ended, 1)));
    {
        Transaction transaction(store());
        Flow changed = flow_of(1);
        changed.paused = true;
        transaction.apply(changes(changed, flow_of(2), edge_of(1, 2, 1, 3), group_of(1, 3)));
        transaction.apply(deletion_of(work_of(1, FlowWorkKind::ended, 1).key));
    }
    EXPECT_EQ(find_flow(store(), 1), flow_of(1));
    EXPECT_FALSE(find_flow(store(), 2));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }).size(), 1U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.groups_of_flow(flow_id_of(1)); }),
              std::vector{implied_group(edge_of(1, 1, 1, 2))});
    EXPECT_EQ(all_work(store()).size(), 1U);
}

// ---------------------------------------------------------------------------------- loading

TEST_P(StoreContract, load_gives_flows_edges_groups_and_work_or_their_absence) {
    const Edge edge = full_edge(1, 1, 1, 2);
    const EdgeGroup group = full_group(1, 2);
    const FlowWork work = full_work(1, 2);
    put(store(), changes(full_flow(1), edge, group, work));
    Transaction transaction(store());
    const EdgeKey no_edge{flow_id_of(1), EdgeId{uuid_of(9)}};
    const FlowWorkKey no_work{flow_id_of(1), FlowWorkKind::ended, id_of(2)};
    ReadSet set;
    set.flows = {flow_id_of(2), flow_id_of(1), flow_id_of(1)};
    set.edges = {no_edge, edge.key, edge.key};
    set.groups = {{flow_id_of(1), id_of(3)}, {flow_id_of(1), id_of(2)}};
    set.work = {no_work, work.key, work.key};
    for (int again = 0; again < 2; ++again) {
        load(store(), transaction, set);
        ASSERT_NE(transaction.snapshot.flow(flow_id_of(1)), nullptr);
        EXPECT_EQ(*transaction.snapshot.flow(flow_id_of(1)), full_flow(1));
        EXPECT_EQ(transaction.snapshot.flow(flow_id_of(2)), nullptr);
        EXPECT_EQ(*transaction.snapshot.edge(edge.key), edge);
        EXPECT_EQ(transaction.snapshot.edge(no_edge), nullptr);
        EXPECT_EQ(*transaction.snapshot.group(id_of(2)), group);
        EXPECT_EQ(transaction.snapshot.group(id_of(3)), nullptr);
        EXPECT_EQ(*transaction.snapshot.work(work.key), work);
        EXPECT_EQ(transaction.snapshot.work(no_work), nullptr);
    }
    EXPECT_FALSE(transaction.snapshot.knows_execution(id_of(2)));
    EXPECT_FALSE(transaction.snapshot.knows_edges_of(flow_id_of(1)));
}

TEST_P(StoreContract, a_second_load_leaves_what_the_batch_made_of_a_flow) {
    put(store(), changes(flow_of(1), edge_of(1, 1, 1, 2), group_of(1, 2),
                         work_of(1, FlowWorkKind::ended, 1)));
    Transaction transaction(store());
    Flow flow = flow_of(1);
    flow.paused = true;
    EdgeGroup group = group_of(1, 2);
    group.staged = 7;
    Edge edge = edge_of(1, 1, 1, 2);
    edge.applied_at = t0;
    const FlowWorkKey done = work_of(1, FlowWorkKind::ended, 1).key;
    transaction.apply(changes(flow, group, edge));
    transaction.apply(deletion_of(done));
    ReadSet set;
    set.flows = {flow.id};
    set.edges = {edge.key};
    set.edges_of_flows = {flow.id};
    set.outbound = {id_of(1)};
    set.groups = {{flow.id, id_of(2)}};
    set.work = {done};
    load(store(), transaction, set);
    EXPECT_TRUE(transaction.snapshot.flow(flow.id)->paused);
    EXPECT_EQ(transaction.snapshot.group(id_of(2))->staged, 7U);
    EXPECT_EQ(*transaction.snapshot.edge(edge.key), edge);
    EXPECT_EQ(*transaction.snapshot.outbound(id_of(1)).at(0), edge);
    EXPECT_EQ(transaction.snapshot.work(done), nullptr);
}

TEST_P(StoreContract, members_come_in_the_order_of_ids_with_what_was_asked_for) {
    const RouteId where = route();
    Execution first = member_of(next_eid(), where, 1);
    Execution second = member_of(next_eid(), where, 1);
    const Execution stranger = member_of(next_eid(), where, 2);
    std::swap(first.id, second.id);  // made in another order than their ids
    second.has_tags = true;
    put(store(), changes(flow_of(1), first, input_of(first.eid), second,
                         input_of(second.eid, {{"a", "b"}}), stranger, input_of(stranger.eid)));
    Transaction transaction(store());
    ReadSet set;
    set.flows = {flow_id_of(1)};
    set.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{{}, InputNeed::if_tagged});
    load(store(), transaction, set);
    auto& snapshot = transaction.snapshot;
    EXPECT_EQ(snapshot.members(flow_id_of(1)), (std::vector{second.id, first.id}));
    EXPECT_EQ(snapshot.execution(first.id)->eid, first.eid);
    EXPECT_TRUE(snapshot.knows_input(second.id));
    EXPECT_FALSE(snapshot.knows_input(first.id));
    EXPECT_FALSE(snapshot.knows_execution(stranger.id));
    // More of the same members.
    ReadSet more;
    more.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{{}, InputNeed::always, true});
    load(store(), transaction, more);
    EXPECT_TRUE(snapshot.knows_input(first.id));
    EXPECT_EQ(snapshot.grant(*snapshot.execution(first.id)), nullptr);
    EXPECT_NE(snapshot.find_cell(first.eid), nullptr);
}

TEST_P(StoreContract, members_that_the_batch_has_added_are_among_the_members) {
    const RouteId where = route();
    const Execution old = member_of(next_eid(), where, 1);
    Execution joining = waiting(next_eid(), where);
    put(store(), changes(flow_of(1), old, input_of(old.eid), joining, input_of(joining.eid)));
    Transaction transaction(store());
    const Execution fresh = member_of(next_eid(), where, 1);
    joining.flow_id = flow_id_of(1);
    transaction.apply(changes(fresh, input_of(fresh.eid), joining));
    ReadSet set;
    set.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{{}, InputNeed::always});
    load(store(), transaction, set);
    EXPECT_EQ(transaction.snapshot.members(flow_id_of(1)),
              (std::vector{old.id, joining.id, fresh.id}));
    const Execution late = member_of(next_eid(), where, 1);
    transaction.apply(changes(late, input_of(late.eid)));
    EXPECT_EQ(transaction.snapshot.members(flow_id_of(1)).size(), 4U);
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(eids(look(store(), [](Reader& r) { return r.members(flow_id_of(1), {}, 9); })),
              (std::vector<Eid>{1, 2, 3, 4}));
}

TEST_P(StoreContract, a_flow_without_members_and_one_that_is_not_there_have_none) {
    put(store(), changes(flow_of(1)));
    Transaction transaction(store());
    ReadSet set;
    set.flows = {flow_id_of(1), flow_id_of(2)};
    set.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{});
    set.members.emplace_back(flow_id_of(2), ReadSet::ExecutionNeed{});
    set.edges_of_flows = {flow_id_of(1), flow_id_of(2)};
    load(store(), transaction, set);
    EXPECT_TRUE(transaction.snapshot.members(flow_id_of(1)).empty());
    EXPECT_TRUE(transaction.snapshot.members(flow_id_of(2)).empty());
    EXPECT_TRUE(transaction.snapshot.edges_of(flow_id_of(1)).empty());
    EXPECT_TRUE(transaction.snapshot.edges_of(flow_id_of(2)).empty());
}

TEST_P(StoreContract, edges_are_loaded_by_flow_and_by_either_end_in_the_order_of_their_ids) {
    const Edge ab = edge_of(1, 3, 1, 2);
    const Edge ac = edge_of(1, 1, 1, 3);
    const Edge bc = edge_of(1, 2, 2, 3);
    const Edge other = edge_of(2, 4, 5, 6);
    put(store(), changes(flow_of(1), flow_of(2), ab, ac, bc, other, group_of(1, 2), group_of(1, 3),
                         group_of(2, 6)));
    {
        Transaction transaction(store());
        ReadSet set;
        set.edges_of_flows = {flow_id_of(1)};
        load(store(), transaction, set);
        auto& snapshot = transaction.snapshot;
        EXPECT_EQ(keys(snapshot.edges_of(flow_id_of(1))), (std::vector{ac.key, bc.key, ab.key}));
        EXPECT_TRUE(snapshot.knows_group(id_of(2)));
        EXPECT_TRUE(snapshot.knows_group(id_of(3)));
        EXPECT_FALSE(snapshot.knows_group(id_of(6)));
        EXPECT_FALSE(snapshot.knows_edges_of(flow_id_of(2)));
        EXPECT_FALSE(snapshot.knows_execution(id_of(1)));
    }
    Transaction transaction(store());
    ReadSet set;
    set.outbound = {id_of(2), id_of(1), id_of(3), id_of(1)};
    set.inbound = {id_of(3), id_of(1)};
    load(store(), transaction, set);
    auto& snapshot = transaction.snapshot;
    EXPECT_EQ(keys(snapshot.outbound(id_of(1))), (std::vector{ac.key, ab.key}));
    EXPECT_EQ(keys(snapshot.outbound(id_of(2))), (std::vector{bc.key}));
    EXPECT_TRUE(snapshot.outbound(id_of(3)).empty());
    EXPECT_EQ(keys(snapshot.inbound(id_of(3))), (std::vector{ac.key, bc.key}));
    EXPECT_TRUE(snapshot.inbound(id_of(1)).empty());
    EXPECT_FALSE(snapshot.knows_inbound(id_of(2)));
}

TEST_P(StoreContract, edges_that_the_batch_has_made_are_among_those_of_their_ends) {
    put(store(), changes(flow_of(1), edge_of(1, 2, 1, 2)));
    Transaction transaction(store());
    transaction.apply(changes(edge_of(1, 1, 1, 2), edge_of(1, 3, 1, 3)));
    ReadSet set;
    set.outbound = {id_of(1)};
    set.inbound = {id_of(2), id_of(3)};
    set.edges_of_flows = {flow_id_of(1)};
    load(store(), transaction, set);
    const auto ids = [](const std::vector<const Edge*>& edges) {
        std::vector<Uuid> out;
        for (const Edge* edge : edges) {
            out.push_back(edge->key.id.uuid);
        }
        return out;
    };
    auto& snapshot = transaction.snapshot;
    EXPECT_EQ(ids(snapshot.outbound(id_of(1))), (std::vector{uuid_of(1), uuid_of(2), uuid_of(3)}));
    EXPECT_EQ(ids(snapshot.inbound(id_of(2))), (std::vector{uuid_of(1), uuid_of(2)}));
    EXPECT_EQ(ids(snapshot.inbound(id_of(3))), (std::vector{uuid_of(3)}));
    EXPECT_EQ(snapshot.edges_of(flow_id_of(1)).size(), 3U);
}

TEST_P(StoreContract, a_flow_and_its_graph_are_made_in_one_batch) {
    const RouteId where = route();
    const Execution a = member_of(next_eid(), where, 1);
    const Execution b = member_of(next_eid(), where, 1);
    Transaction transaction(store());
    ReadSet set;
    set.flows = {flow_id_of(1)};
    set.need(a.id).fresh = true;
    set.need(b.id).fresh = true;
    load(store(), transaction, set);
    ReadSet graph;
    graph.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{});
    graph.edges_of_flows = {flow_id_of(1)};
    graph.outbound = {a.id};
    graph.inbound = {b.id};
    graph.groups = {{flow_id_of(1), b.id}};
    graph.edges = {edge_of(1, 1, a.eid, b.eid).key};
    load(store(), transaction, graph);
    transaction.apply_blind(changes(flow_of(1), a, input_of(a.eid), b, input_of(b.eid),
                                    edge_of(1, 1, a.eid, b.eid), group_of(1, b.eid)));
    EXPECT_EQ(transaction.snapshot.members(flow_id_of(1)), (std::vector{a.id, b.id}));
    EXPECT_EQ(transaction.snapshot.edges_of(flow_id_of(1)).size(), 1U);
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(find_flow(store(), 1), flow_of(1));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.inbound(b.id); }),
              std::vector{edge_of(1, 1, a.eid, b.eid)});
}

// ----------------------------------------------------------------------------------- deletion

TEST_P(StoreContract, a_deleted_flow_takes_its_edges_groups_and_work_with_it) {
    const RouteId where = route();
    const Execution member = member_of(next_eid(), where, 1);
    put(store(), changes(member, input_of(member.eid)));
    for (std::uint64_t n : {1, 2}) {
        const auto e = static_cast<Eid>(10 * n);
        put(store(), changes(flow_of(n), edge_of(n, n, e, e + 1), edge_of(n, n + 10, e, e + 2),
                             group_of(n, e + 1), full_work(n, e)));
    }
    put(store(), deletion_of(flow_id_of(1)));
    EXPECT_FALSE(find_flow(store(), 1));
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.outbound(id_of(10)); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.inbound(id_of(11)); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.groups_of_flow(flow_id_of(1)); }).empty());
    EXPECT_EQ(all_work(store()), std::vector{full_work(2, 20)});
    EXPECT_EQ(find_flow(store(), 2), flow_of(2));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(2)); }).size(), 2U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.groups_of_flow(flow_id_of(2)); }).size(), 2U)
        << "with that of the edge that is alone";
    EXPECT_TRUE(find_execution(store(), member.eid)) << "executions go by themselves";
}

TEST_P(StoreContract, what_the_batch_did_to_a_flow_before_it_went_goes_with_it) {
    put(store(), changes(flow_of(1), edge_of(1, 1, 1, 2)));
    Transaction transaction(store());
    Edge changed = edge_of(1, 1, 1, 2);
    changed.applied_at = t0;
    transaction.apply(changes(flow_of(1), changed, edge_of(1, 2, 1, 3), group_of(1, 3),
                              work_of(1, FlowWorkKind::ended, 1)));
    transaction.apply(changes(flow_of(2), edge_of(2, 3, 4, 5)));
    transaction.apply(deletion_of(flow_id_of(1)));
    transaction.apply(deletion_of(flow_id_of(2)));
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    for (std::uint64_t n : {1, 2}) {
        const FlowId id = flow_id_of(n);
        EXPECT_FALSE(find_flow(store(), n));
        EXPECT_TRUE(look(store(), [&](Reader& r) { return r.edges_of_flow(id); }).empty());
        EXPECT_TRUE(look(store(), [&](Reader& r) { return r.groups_of_flow(id); }).empty());
    }
    EXPECT_TRUE(all_work(store()).empty());
}

TEST_P(StoreContract, edges_and_group_of_a_deleted_execution_stay_while_the_flow_lives) {
    const RouteId where = route();
    const Execution a = member_of(next_eid(), where, 1);
    const Execution b = member_of(next_eid(), where, 1);
    put(store(), changes(flow_of(1), a, input_of(a.eid), b, input_of(b.eid),
                         edge_of(1, 1, a.eid, b.eid), group_of(1, b.eid)));
    core::Changes gone;
    gone.delete_executions = {a.eid, b.eid};
    EdgeGroup group = group_of(1, b.eid);
    group.succeeded = 1;
    gone.put_groups.push_back(group);
    put(store(), gone);
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.members(flow_id_of(1), {}, 9); }).empty());
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.inbound(b.id); }).size(), 1U);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.group(flow_id_of(1), b.id); }), group);
}

// --------------------------------------------------------------------------- timers and work

TEST_P(StoreContract, flows_are_due_by_their_timers_the_earliest_first) {
    Flow late = flow_of(1);
    late.deadline_at = t0 + 200;
    Flow early = flow_of(2);
    early.deadline_at = t0 + 100;
    Flow ended = flow_of(3);
    ended.deadline_at = t0 + 50;
    ended.state = FlowState::completed;
    Flow empty = flow_of(4);
    empty.node_count = empty.graph_revision = empty.live = 0;
    put(store(), changes(late, early, ended, empty, flow_of(5)));
    const auto due = [&](TimestampMs now, std::size_t limit = 9) {
        return scan(store(), [&](Store& s) { return s.scan_due_flows(now, limit); });
    };
    const auto next = [&](TimestampMs after) {
        return scan(store(), [&](Store& s) { return s.next_due(after); });
    };
    EXPECT_EQ(find_flow(store(), 1)->timer_at, t0 + 200);
    EXPECT_EQ(find_flow(store(), 3)->timer_at, std::nullopt);
    EXPECT_EQ(find_flow(store(), 4)->timer_at, t0 + retention);
    EXPECT_TRUE(due(t0 + 99).empty());
    EXPECT_EQ(due(t0 + 100), (std::vector{early.id}));
    EXPECT_EQ(due(t0 + 200), (std::vector{early.id, late.id}));
    EXPECT_EQ(due(t0 + 200, 1), (std::vector{early.id}));
    EXPECT_EQ(due(t0 + retention), (std::vector{early.id, late.id, empty.id}));
    EXPECT_EQ(next(t0), t0 + 100);
    EXPECT_EQ(next(t0 + 100), t0 + 200);
    EXPECT_EQ(next(t0 + 200), t0 + retention);
    EXPECT_EQ(next(t0 + retention), std::nullopt);
    EXPECT_EQ(next(std::numeric_limits<TimestampMs>::max()), std::nullopt);
    // A timer goes with its cause.
    early.deadline_at.reset();
    put(store(), changes(early));
    EXPECT_EQ(next(t0), t0 + 200);
    put(store(), deletion_of(late.id));
    EXPECT_EQ(next(t0), t0 + retention);
}

TEST_P(StoreContract, the_next_due_time_is_the_earliest_of_executions_flows_and_work) {
    const RouteId where = route();
    Flow flow = flow_of(1);
    flow.deadline_at = t0 + 200;
    put(store(), changes(delayed(next_eid(), where, t0 + 300), flow,
                         work_of(1, FlowWorkKind::ended, 1, t0 + 100),
                         leased(next_eid(), where, "one", t0 + 250)));
    std::vector<TimestampMs> seen;
    for (TimestampMs after = t0; after < t0 + 300;) {
        const auto next = scan(store(), [&](Store& s) { return s.next_due(after); });
        ASSERT_TRUE(next);
        seen.push_back(*next - t0);
        after = *next;
    }
    EXPECT_EQ(seen, (std::vector<TimestampMs>{100, 200, 250, 300}));
}

TEST_P(StoreContract, work_is_found_when_it_is_due_and_loaded) {
    const FlowWork first = work_of(2, FlowWorkKind::cancel_member, 1, t0 + 10);
    FlowWork second = work_of(1, FlowWorkKind::ended, 2, t0 + 20);
    second.reason = "why";
    const FlowWork third = work_of(1, FlowWorkKind::ended, 1, t0 + 20);
    const FlowWork later = work_of(1, FlowWorkKind::unpark, 3, t0 + 30);
    put(store(), changes(later, second, first, third));
    const auto due = [&](TimestampMs now, std::size_t limit) {
        Transaction transaction(store());
        auto found = store().scan_work(now, limit, transaction.snapshot);
        EXPECT_TRUE(found) << found.error().message();
        std::vector<FlowWork> rows;
        for (const FlowWorkKey& key : found.value_or(std::vector<FlowWorkKey>())) {
            rows.push_back(*transaction.snapshot.work(key));
        }
        return rows;
    };
    EXPECT_TRUE(due(t0, 9).empty());
    EXPECT_EQ(due(t0 + 10, 9), (std::vector{first}));
    EXPECT_EQ(due(t0 + 20, 9), (std::vector{first, third, second}));
    EXPECT_EQ(due(t0 + 20, 2), (std::vector{first, third}));
    EXPECT_EQ(due(t0 + 99, 9), (std::vector{first, third, second, later}));
}

TEST_P(StoreContract, work_that_the_batch_has_done_is_not_found_again) {
    const FlowWork done = work_of(1, FlowWorkKind::ended, 1);
    const FlowWork open = work_of(1, FlowWorkKind::ended, 2);
    put(store(), changes(done, open));
    Transaction transaction(store());
    transaction.apply(deletion_of(done.key));
    const auto found = store().scan_work(t0, 9, transaction.snapshot);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, std::vector{open.key});
}

TEST_P(StoreContract, work_is_put_over_what_is_there_and_deleted_unseen) {
    const FlowWork old = work_of(1, FlowWorkKind::cancel_rest, 0, t0 + 5);
    FlowWork fresh = old;
    fresh.reason = "another";
    fresh.due_at = t0 + 50;
    put(store(), changes(old));
    put(store(), changes(fresh, work_of(1, FlowWorkKind::ended, 1)));
    EXPECT_EQ(all_work(store()), (std::vector{work_of(1, FlowWorkKind::ended, 1), fresh}));
    EXPECT_EQ(scan(store(), [](Store& s) { return s.next_due(t0); }), t0 + 50);
    put(store(), deletion_of(fresh.key));
    put(store(), deletion_of(work_of(1, FlowWorkKind::ended, 9).key));  // there is none
    EXPECT_EQ(all_work(store()), (std::vector{work_of(1, FlowWorkKind::ended, 1)}));
    EXPECT_EQ(scan(store(), [](Store& s) { return s.next_due(t0); }), std::nullopt);
}

TEST_P(StoreContract, held_flows_are_those_that_claims_must_look_at) {
    Flow paused = flow_of(1);
    paused.paused = true;
    Flow limited = flow_of(2);
    limited.max_active_members = 3;
    Flow over = limited;  // nobody is left to be held
    over.id = flow_id_of(3);
    over.live = 0;
    Flow cancelled = flow_of(4);
    cancelled.state = FlowState::cancelled;
    cancelled.cancellation_policy = CancellationPolicy::cancel_all;
    put(store(), changes(paused, limited, over, cancelled, flow_of(5)));
    const auto held = [&] {
        auto ids = scan(store(), [](Store& s) { return s.held_flows(); });
        std::ranges::sort(ids);
        return ids;
    };
    EXPECT_EQ(held(), (std::vector{paused.id, limited.id, cancelled.id}));
    paused.paused = false;
    put(store(), changes(paused));
    EXPECT_EQ(held(), (std::vector{limited.id, cancelled.id}));
    put(store(), deletion_of(limited.id));
    EXPECT_EQ(held(), (std::vector{cancelled.id}));
}

TEST_P(StoreContract, ids_of_flows_are_read_in_pages) {
    put(store(), changes(flow_of(3), flow_of(1), flow_of(2)));
    const auto page = [&](const std::optional<FlowId>& after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.flow_ids(after, limit); });
    };
    EXPECT_EQ(page({}, 2), (std::vector{flow_id_of(1), flow_id_of(2)}));
    EXPECT_EQ(page(flow_id_of(2), 2), (std::vector{flow_id_of(3)}));
    EXPECT_TRUE(page(flow_id_of(3), 2).empty());
}

TEST_P(StoreContract, staged_edges_are_those_that_were_not_applied_in_time) {
    Edge old = edge_of(2, 1, 1, 2);
    Edge older = edge_of(1, 2, 3, 4);
    older.created_at = t0 - 1;
    Edge applied = edge_of(1, 3, 3, 5);
    applied.state = EdgeState::applied;
    Edge young = edge_of(1, 4, 3, 6);
    young.created_at = t0 + 1;
    put(store(), changes(flow_of(1), flow_of(2), old, older, applied, young));
    const auto staged = [&](TimestampMs before, std::size_t limit) {
        return scan(store(), [&](Store& s) { return s.scan_staged(before, limit); });
    };
    EXPECT_TRUE(staged(t0 - 1, 9).empty());
    EXPECT_EQ(staged(t0 + 1, 9), (std::vector{older.key, old.key}));
    EXPECT_EQ(staged(t0 + 1, 1), (std::vector{older.key}));
    older.state = EdgeState::applied;
    put(store(), changes(older));
    EXPECT_EQ(staged(t0 + 2, 9), (std::vector{old.key, young.key}));
    Flow over = flow_of(2);
    over.state = FlowState::cancelled;
    put(store(), changes(over));
    EXPECT_EQ(staged(t0 + 2, 1), (std::vector{young.key})) << "a flow that is over takes none";
}

// -------------------------------------------------------------------------------------- reads

TEST_P(StoreContract, flows_are_paged_by_id_and_by_partition) {
    for (std::uint64_t n = 1; n <= 5; ++n) {
        Flow flow = flow_of(n);
        flow.partition = static_cast<std::uint16_t>(n % 2);
        put(store(), changes(flow));
    }
    const auto page = [&](std::optional<std::uint16_t> partition, std::optional<FlowId> after,
                          std::size_t limit) {
        std::vector<FlowId> ids;
        for (const Flow& flow :
             look(store(), [&](Reader& r) { return r.flows(partition, after, limit); })) {
            ids.push_back(flow.id);
        }
        return ids;
    };
    EXPECT_EQ(page({}, {}, 2), (std::vector{flow_id_of(1), flow_id_of(2)}));
    EXPECT_EQ(page({}, flow_id_of(2), 9),
              (std::vector{flow_id_of(3), flow_id_of(4), flow_id_of(5)}));
    EXPECT_EQ(page(1, {}, 9), (std::vector{flow_id_of(1), flow_id_of(3), flow_id_of(5)}));
    EXPECT_EQ(page(1, flow_id_of(1), 1), (std::vector{flow_id_of(3)}));
    EXPECT_EQ(page(0, flow_id_of(3), 9), (std::vector{flow_id_of(4)}));
    EXPECT_TRUE(page(7, {}, 9).empty());
    EXPECT_TRUE(page({}, {}, 0).empty());
}

TEST_P(StoreContract, members_are_paged_by_id) {
    const RouteId where = route();
    for (int i = 0; i < 4; ++i) {
        const Eid eid = next_eid();
        put(store(), changes(member_of(eid, where, i == 1 ? 2 : 1), input_of(eid)));
    }
    const auto page = [&](std::optional<ExecutionId> after, std::size_t limit) {
        return eids(
            look(store(), [&](Reader& r) { return r.members(flow_id_of(1), after, limit); }));
    };
    EXPECT_EQ(page({}, 9), (std::vector<Eid>{1, 3, 4}));
    EXPECT_EQ(page({}, 2), (std::vector<Eid>{1, 3}));
    EXPECT_EQ(page(id_of(1), 2), (std::vector<Eid>{3, 4}));
    EXPECT_TRUE(page(id_of(4), 2).empty());
    // Whoever leaves the flow is none of its members.
    put(store(), changes(waiting(3, where)));
    EXPECT_EQ(page({}, 9), (std::vector<Eid>{1, 4}));
}

TEST_P(StoreContract, edges_are_read_by_flow_and_by_either_end_in_the_order_of_their_ids) {
    const Edge ab = edge_of(1, 3, 1, 2);
    const Edge ac = edge_of(1, 1, 1, 3);
    const Edge bc = edge_of(1, 2, 2, 3);
    put(store(), changes(flow_of(1), flow_of(2), ab, ac, bc, edge_of(2, 4, 5, 6)));
    const auto of = [&](auto read) { return keys(look(store(), read)); };
    EXPECT_EQ(of([](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              (std::vector{ac.key, bc.key, ab.key}));
    EXPECT_EQ(of([](Reader& r) { return r.outbound(id_of(1)); }), (std::vector{ac.key, ab.key}));
    EXPECT_EQ(of([](Reader& r) { return r.inbound(id_of(3)); }), (std::vector{ac.key, bc.key}));
    EXPECT_TRUE(of([](Reader& r) { return r.inbound(id_of(1)); }).empty());
    // An edge has its flow in its name.
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.edge({flow_id_of(2), ab.key.id}); }));
}

TEST_P(StoreContract, work_is_read_of_one_flow_or_of_all_in_key_order) {
    const FlowWork a = work_of(1, FlowWorkKind::ended, 2, t0 + 9);
    const FlowWork b = work_of(1, FlowWorkKind::cancel_member, 1, t0 + 1);
    const FlowWork c = work_of(2, FlowWorkKind::ended, 1, t0 + 1);
    put(store(), changes(c, b, a));
    EXPECT_EQ(all_work(store()), (std::vector{a, b, c}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.flow_work({}, 2); }), (std::vector{a, b}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.flow_work(flow_id_of(2), 9); }),
              (std::vector{c}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.flow_work(flow_id_of(1), 1); }),
              (std::vector{a}));
}

TEST_P(StoreContract, flows_survive_closing) {
    if (!GetParam().survives_close) {
        GTEST_SKIP() << "nothing does";
    }
    put(store(), changes(full_flow(1), full_edge(1, 1, 1, 2), full_group(1, 2), full_work(1, 2)));
    reopen();
    EXPECT_EQ(find_flow(store(), 1), full_flow(1));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.edges_of_flow(flow_id_of(1)); }),
              std::vector{full_edge(1, 1, 1, 2)});
    EXPECT_EQ(all_work(store()), std::vector{full_work(1, 2)});
}

}  // namespace
}  // namespace ff::store::test
