// The conformance suite, fifth part: suspensions, waitpoints, signals and keys.
#include "store/contract.h"

#include <algorithm>

#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::Execution;
using core::HmacKey;
using core::InputNeed;
using core::ReadSet;
using core::Satisfier;
using core::SatisfierKey;
using core::Signal;
using core::Suspension;
using core::SuspensionKey;
using core::Waitpoint;

WaitpointId waitpoint_id(std::uint64_t n) { return {uuid_of(n)}; }
SignalId signal_id(std::uint64_t n) { return {uuid_of(n)}; }

/// Suspended, in its first episode, with this many open waitpoints.
Execution suspended(Eid eid, RouteId route, std::uint32_t waitpoints) {
    Execution e = waiting(eid, route);
    e.state = {.phase = LifecyclePhase::suspended,
               .blocking_reason = BlockingReason::waiting_for_signal,
               .attempt_state = AttemptState::attempt_interrupted};
    e.public_state = PublicState::suspended;
    e.suspension_count = 1;
    e.current_suspension_id = suspension_of(eid, 1).id;
    e.open_waitpoints = waitpoints;
    e.has_waits = true;
    return e;
}

Waitpoint closed(Waitpoint row) {
    row.state = WaitpointState::closed;
    row.closed_at = t0 + 1;
    return row;
}

std::optional<Waitpoint> find_waitpoint(Store& store, std::uint64_t n) {
    return look(store, [&](Reader& r) { return r.waitpoint(waitpoint_id(n)); });
}

std::optional<Suspension> find_suspension(Store& store, const SuspensionKey& key) {
    return look(store, [&](Reader& r) { return r.suspension(key); });
}

std::vector<Signal> ledger(Store& store, Eid eid, std::uint64_t after = 0,
                           std::size_t limit = 100) {
    return look(store, [&](Reader& r) { return r.signals(eid, after, limit, Payloads::read); });
}

std::vector<Satisfier> all_satisfiers(Store& store, const SuspensionKey& key) {
    return look(store, [&](Reader& r) { return r.satisfiers(key); });
}

std::vector<HmacKey> all_keys(Store& store) {
    return look(store, [](Reader& r) { return r.hmac_keys(); });
}

std::vector<std::uint64_t> numbers(const std::vector<const Waitpoint*>& rows) {
    std::vector<std::uint64_t> out;
    for (const Waitpoint* row : rows) {
        out.push_back(row->id.uuid.bytes[15]);
    }
    return out;
}

// -------------------------------------------------------------------------------- every row type

TEST_P(StoreContract, an_empty_store_waits_for_nothing) {
    EXPECT_FALSE(find_waitpoint(store(), 1));
    EXPECT_FALSE(find_suspension(store(), {1, 1}));
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.open_waitpoints(1, {}, 9); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.suspensions(1); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.suspended("default", {}, 9); }).empty());
    EXPECT_TRUE(ledger(store(), 1).empty());
    EXPECT_TRUE(all_satisfiers(store(), {1, 1}).empty());
    EXPECT_TRUE(all_keys(store()).empty());
    EXPECT_EQ(look(store(), [](Reader& r) { return r.waitpoints_outliving("k1", 0); }), 0U);
}

TEST_P(StoreContract, rows_of_waits_come_back_as_they_were_put) {
    const Suspension suspension = full_suspension(1, 2);
    const Waitpoint waitpoint = full_waitpoint(1, 7);
    const Signal signal = full_signal(1, 3, 7);
    const Satisfier satisfier{{{1, 2}, 3, "東京"}, 4};
    const HmacKey key = full_key("k1");
    ASSERT_EQ(difference(suspension, Suspension{}), all_columns<Suspension>());
    ASSERT_EQ(difference(waitpoint, Waitpoint{}), all_columns<Waitpoint>());
    ASSERT_EQ(difference(signal, Signal{}), all_columns<Signal>());
    ASSERT_EQ(difference(satisfier, Satisfier{}), all_columns<Satisfier>());
    ASSERT_EQ(difference(key, HmacKey{}), all_columns<HmacKey>());
    const Satisfier plain_satisfier{{{1, 2}, 0, ""}, 0};
    const HmacKey plain_key{"k0", "x", false, 0, false, {}};
    put(store(), changes(suspension, waitpoint, signal, satisfier, key, suspension_of(1, 3),
                         waitpoint_of(1, 8), signal_of(1, 4, 8), plain_satisfier, plain_key));
    EXPECT_EQ(find_suspension(store(), {1, 2}), suspension);
    EXPECT_EQ(find_suspension(store(), {1, 3}), suspension_of(1, 3));
    EXPECT_EQ(find_waitpoint(store(), 7), waitpoint);
    EXPECT_EQ(find_waitpoint(store(), 8), waitpoint_of(1, 8));
    EXPECT_EQ(ledger(store(), 1), (std::vector{signal, signal_of(1, 4, 8)}));
    EXPECT_EQ(all_satisfiers(store(), {1, 2}), (std::vector{plain_satisfier, satisfier}));
    EXPECT_EQ(all_keys(store()), (std::vector{plain_key, key}));
}

TEST_P(StoreContract, every_column_of_a_wait_can_change_alone) {
    Suspension suspension = suspension_of(1, 1);
    Waitpoint waitpoint = waitpoint_of(1, 7);
    Signal signal = signal_of(1, 1, 7);
    const Suspension plain_suspension = suspension;
    const Waitpoint plain_waitpoint = waitpoint;
    const Signal plain_signal = signal;
    const Suspension other_suspension = full_suspension(1, 1);
    const Waitpoint other_waitpoint = full_waitpoint(1, 7);
    const Signal other_signal = full_signal(1, 1, 7);
    put(store(), changes(suspension, waitpoint, signal));
    const auto change_suspension = [&](const ColumnInfo& column, auto& member, const auto& one,
                                       const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(suspension));
            EXPECT_EQ(find_suspension(store(), suspension.key), suspension) << column.name;
        }
    };
    for_each_column<Suspension>(change_suspension, suspension, other_suspension, plain_suspension);
    const auto change_waitpoint = [&](const ColumnInfo& column, auto& member, const auto& one,
                                      const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(waitpoint));
            EXPECT_EQ(find_waitpoint(store(), 7), waitpoint) << column.name;
        }
    };
    for_each_column<Waitpoint>(change_waitpoint, waitpoint, other_waitpoint, plain_waitpoint);
    const auto change_signal = [&](const ColumnInfo& column, auto& member, const auto& one,
                                   const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(signal));
            EXPECT_EQ(ledger(store(), 1), std::vector{signal}) << column.name;
        }
    };
    for_each_column<Signal>(change_signal, signal, other_signal, plain_signal);
}

// The batch is made to believe in another row than the store has: what it did not change stays.
TEST_P(StoreContract, only_the_columns_of_a_wait_that_changed_are_written) {
    if (store().info().family == "memory") {
        GTEST_SKIP() << "it keeps rows whole";
    }
    Suspension suspension = suspension_of(1, 1);
    Waitpoint waitpoint = waitpoint_of(1, 7);
    Signal signal = signal_of(1, 1, 7);
    suspension.continuation = waitpoint.close_reason = signal.payload = "kept";
    put(store(), changes(suspension, waitpoint, signal));
    {
        Transaction transaction(store());
        auto& waits = transaction.snapshot.waits;
        waits.suspensions[suspension.key].load(suspension_of(1, 1));
        waits.load_waitpoint(waitpoint.id, waitpoint_of(1, 7));
        waits.load_signal(1, signal.id, signal_of(1, 1, 7));
        Suspension new_suspension = suspension_of(1, 1);
        Waitpoint new_waitpoint = waitpoint_of(1, 7);
        Signal new_signal = signal_of(1, 1, 7);
        new_suspension.satisfied_counts = "1";
        new_waitpoint.signal_count = 1;
        new_signal.matched = true;
        transaction.apply_blind(changes(new_suspension, new_waitpoint, new_signal));
        ASSERT_TRUE(transaction.commit());
        ASSERT_TRUE(store().make_durable());
    }
    suspension.satisfied_counts = "1";
    waitpoint.signal_count = 1;
    signal.matched = true;
    EXPECT_EQ(find_suspension(store(), suspension.key), suspension);
    EXPECT_EQ(find_waitpoint(store(), 7), waitpoint);
    EXPECT_EQ(ledger(store(), 1), std::vector{signal});
}

TEST_P(StoreContract, a_row_of_a_wait_that_is_there_cannot_be_made_again) {
    const Satisfier satisfier{{{1, 1}, 0, "x"}, 1};
    const HmacKey key{"k1", "x", false, t0, true, {}};
    put(store(),
        changes(suspension_of(1, 1), waitpoint_of(1, 7), signal_of(1, 1, 7), satisfier, key));
    const auto refuses = [&](core::Changes again) {
        Transaction transaction(store());
        transaction.apply_blind(std::move(again));
        return !transaction.commit();
    };
    EXPECT_TRUE(refuses(changes(full_suspension(1, 1))));
    EXPECT_TRUE(refuses(changes(full_waitpoint(1, 7))));
    EXPECT_TRUE(refuses(changes(full_waitpoint(2, 7)))) << "ids are of the whole store";
    EXPECT_TRUE(refuses(changes(full_signal(1, 1, 7))));
    EXPECT_TRUE(refuses(changes(satisfier)));
    EXPECT_TRUE(refuses(changes(key)));
    EXPECT_EQ(find_suspension(store(), {1, 1}), suspension_of(1, 1));
    EXPECT_EQ(find_waitpoint(store(), 7), waitpoint_of(1, 7));
    EXPECT_EQ(ledger(store(), 1), std::vector{signal_of(1, 1, 7)});
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.open_waitpoints(2, {}, 9); }).empty());
}

TEST_P(StoreContract, waits_of_a_transaction_that_is_given_up_are_not_there) {
    put(store(), changes(waitpoint_of(1, 7), HmacKey{"k1", "x", false, t0, true, {}}));
    {
        Transaction transaction(store());
        core::Changes all =
            changes(closed(waitpoint_of(1, 7)), waitpoint_of(1, 8), suspension_of(1, 1),
                    signal_of(1, 1, 7), Satisfier{{{1, 1}, 0, "x"}, 1});
        all.delete_hmac_keys.push_back("k1");
        transaction.apply(std::move(all));
    }
    EXPECT_EQ(find_waitpoint(store(), 7), waitpoint_of(1, 7));
    EXPECT_FALSE(find_waitpoint(store(), 8));
    EXPECT_FALSE(find_suspension(store(), {1, 1}));
    EXPECT_TRUE(ledger(store(), 1).empty());
    EXPECT_TRUE(all_satisfiers(store(), {1, 1}).empty());
    EXPECT_EQ(all_keys(store()).size(), 1U);
}

// ---------------------------------------------------------------------------------- loading

TEST_P(StoreContract, load_gives_waitpoints_signals_and_satisfiers_or_their_absence) {
    Signal first = full_signal(1, 1, 7);
    Signal second = full_signal(1, 2, 7);
    second.id = signal_id(22);
    Suspension old = full_suspension(1, 1);
    Suspension fresh = full_suspension(1, 2);
    const Satisfier satisfier{{{1, 2}, 3, "x"}, 2};
    put(store(), changes(closed(full_waitpoint(1, 7)), first, second, old, fresh, satisfier));
    Transaction transaction(store());
    ReadSet set;
    set.waits.waitpoints = {waitpoint_id(9), waitpoint_id(7), waitpoint_id(7)};
    set.waits.signals = {{1, signal_id(1)}, {1, signal_id(9)}, {2, signal_id(1)}};
    set.waits.signal_keys = {
        {waitpoint_id(7), "key"}, {waitpoint_id(7), "none"}, {waitpoint_id(8), "key"}};
    set.waits.suspend_keys = {{1, "key"}, {1, "none"}, {2, "key"}, {1, "key"}};
    const SatisfierKey no_node{{1, 2}, 2, "x"};
    const SatisfierKey no_token{{1, 2}, 3, "y"};
    const SatisfierKey no_episode{{1, 1}, 3, "x"};
    set.waits.satisfiers = {no_node, satisfier.key, no_token, no_episode};
    for (int again = 0; again < 2; ++again) {
        load(store(), transaction, set);
        const auto& waits = transaction.snapshot.waits;
        ASSERT_NE(waits.waitpoint(waitpoint_id(7)), nullptr);
        EXPECT_EQ(*waits.waitpoint(waitpoint_id(7)), closed(full_waitpoint(1, 7)));
        EXPECT_EQ(waits.waitpoint(waitpoint_id(9)), nullptr);
        ASSERT_NE(waits.signal(1, signal_id(1)), nullptr);
        EXPECT_EQ(*waits.signal(1, signal_id(1)), first);
        EXPECT_EQ(waits.signal(1, signal_id(9)), nullptr);
        EXPECT_EQ(waits.signal(2, signal_id(1)), nullptr);
        ASSERT_NE(waits.signal_with_key(waitpoint_id(7), "key"), nullptr);
        EXPECT_EQ(*waits.signal_with_key(waitpoint_id(7), "key"), second) << "the newest";
        EXPECT_EQ(waits.signal_with_key(waitpoint_id(7), "none"), nullptr);
        EXPECT_EQ(waits.signal_with_key(waitpoint_id(8), "key"), nullptr);
        ASSERT_NE(waits.suspension_with_key(1, "key"), nullptr);
        EXPECT_EQ(*waits.suspension_with_key(1, "key"), fresh) << "the newest";
        EXPECT_EQ(waits.suspension_with_key(1, "none"), nullptr);
        EXPECT_EQ(waits.suspension_with_key(2, "key"), nullptr);
        EXPECT_TRUE(waits.is_satisfied(satisfier.key));
        EXPECT_FALSE(waits.is_satisfied(no_node));
        EXPECT_FALSE(waits.is_satisfied(no_token));
        EXPECT_FALSE(waits.is_satisfied(no_episode));
    }
    EXPECT_FALSE(transaction.snapshot.waits.knows_keys());
    EXPECT_FALSE(transaction.snapshot.waits.knows_open(1));
}

TEST_P(StoreContract, signals_that_were_buffered_for_a_waitpoint_come_in_their_order) {
    const auto buffered = [](std::uint64_t seq, std::uint64_t waitpoint) {
        Signal row = signal_of(1, seq, waitpoint);
        row.effect = SignalEffect::buffered_for_pending_waitpoint;
        return row;
    };
    put(store(), changes(buffered(3, 7), buffered(1, 7), buffered(2, 8), buffered(10, 7),
                         signal_of(1, 4, 7)));
    Transaction transaction(store());
    ReadSet set;
    set.waits.signals_at = {waitpoint_id(7), waitpoint_id(9), waitpoint_id(7)};
    load(store(), transaction, set);
    const auto& waits = transaction.snapshot.waits;
    std::vector<std::uint64_t> seqs;
    for (const Signal* row : waits.signals_at(waitpoint_id(7))) {
        seqs.push_back(row->key.seq);
    }
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{1, 3, 10}));
    EXPECT_TRUE(waits.signals_at(waitpoint_id(9)).empty());
    EXPECT_FALSE(waits.knows_signals_at(waitpoint_id(8)));
}

TEST_P(StoreContract, keys_come_all_or_none) {
    const HmacKey current{"k2", "secret", false, t0, true, {}};
    const HmacKey retired{"k1", all_bytes(), true, t0, false, t0 + 5};
    put(store(), changes(current, retired));
    Transaction transaction(store());
    ReadSet set;
    set.waits.keys = true;
    load(store(), transaction, set);
    load(store(), transaction, set);
    const auto keys = transaction.snapshot.waits.keys();
    ASSERT_EQ(keys.size(), 2U);
    EXPECT_EQ(*keys[0], retired);
    EXPECT_EQ(*keys[1], current);
}

TEST_P(StoreContract, a_key_takes_the_place_of_the_current_one_whatever_their_order) {
    HmacKey a{"a", "1", false, t0, true, {}};
    HmacKey b{"b", "2", false, t0 + 1, true, {}};
    put(store(), changes(b));
    b.is_current = false;
    b.expires_at = t0 + 9;
    put(store(), changes(a, b));
    EXPECT_EQ(all_keys(store()), (std::vector{a, b}));
    HmacKey c{"c", "3", false, t0 + 2, true, {}};
    a.is_current = false;
    core::Changes rotation = changes(c, a);
    rotation.delete_hmac_keys.push_back("b");
    put(store(), std::move(rotation));
    EXPECT_EQ(all_keys(store()), (std::vector{a, c}));
    // There are never two.
    Transaction transaction(store());
    transaction.apply(changes(HmacKey{"d", "4", false, t0, true, {}}));
    EXPECT_FALSE(transaction.commit());
    EXPECT_EQ(all_keys(store()), (std::vector{a, c}));
}

TEST_P(StoreContract, a_second_load_leaves_what_the_batch_made_of_a_wait) {
    const RouteId where = route();
    const Eid eid = next_eid();
    put(store(), changes(suspended(eid, where, 1), input_of(eid), suspension_of(eid, 1),
                         waitpoint_of(eid, 7)));
    Transaction transaction(store());
    Suspension suspension = suspension_of(eid, 1);
    suspension.satisfied_counts = "1";
    Execution resumed = waiting(eid, where);
    resumed.suspension_count = 1;
    transaction.apply(changes(resumed, suspension, closed(waitpoint_of(eid, 7)),
                              waitpoint_of(eid, 8), signal_of(eid, 1, 7)));
    ReadSet set;
    set.need(id_of(1));
    set.waits.waitpoints = {waitpoint_id(7), waitpoint_id(8)};
    set.waits.signals = {{eid, signal_id(1)}};
    load(store(), transaction, set);
    const auto& waits = transaction.snapshot.waits;
    EXPECT_EQ(waits.waitpoint(waitpoint_id(7))->state, WaitpointState::closed);
    EXPECT_EQ(numbers(waits.open_waitpoints(eid)), (std::vector<std::uint64_t>{8}));
    EXPECT_EQ(waits.suspension({eid, 1})->satisfied_counts, "1");
    EXPECT_NE(waits.signal(eid, signal_id(1)), nullptr);
}

// ------------------------------------------------------------------------- open ones, unasked

/// Executions that wait, and one that has waited.
struct Waiting {
    Eid both;     ///< suspended with two waitpoints
    Eid pending;  ///< under a lease, one waitpoint pends
    Eid over;     ///< nothing of it is open
};

class OpenWaits : public StoreContract {
  protected:
    void make() {
        where = route();
        rows = {next_eid(), next_eid(), next_eid()};
        Execution pending = leased(rows.pending, where, "one", t0 + 1'000);
        pending.open_waitpoints = 1;
        pending.flow_id = flow_id_of(1);
        Execution over = waiting(rows.over, where);
        over.suspension_count = 1;
        Suspension closed_one = suspension_of(rows.over, 1);
        closed_one.waits_until.reset();
        Execution both = suspended(rows.both, where, 2);
        both.flow_id = flow_id_of(1);
        Waitpoint active = waitpoint_of(rows.both, 11);
        active.state = WaitpointState::active;
        Waitpoint expired = waitpoint_of(rows.both, 13);
        expired.state = WaitpointState::expired;
        put(store(), changes(both, input_of(both.eid), pending, input_of(pending.eid), over,
                             input_of(over.eid), flow_of(1)));
        put(store(), changes(suspension_of(rows.both, 1), closed_one, waitpoint_of(rows.both, 12),
                             active, expired, closed(waitpoint_of(rows.both, 10)),
                             waitpoint_of(rows.pending, 21), closed(waitpoint_of(rows.over, 31))));
    }
    void expect_both(const core::Snapshot& snapshot) {
        EXPECT_TRUE(snapshot.waits.knows_open(rows.both));
        EXPECT_EQ(numbers(snapshot.waits.open_waitpoints(rows.both)),
                  (std::vector<std::uint64_t>{11, 12}));
        ASSERT_NE(snapshot.waits.suspension({rows.both, 1}), nullptr);
        EXPECT_EQ(*snapshot.waits.suspension({rows.both, 1}), suspension_of(rows.both, 1));
    }
    void expect_pending(const core::Snapshot& snapshot) {
        EXPECT_TRUE(snapshot.waits.knows_open(rows.pending));
        EXPECT_EQ(numbers(snapshot.waits.open_waitpoints(rows.pending)),
                  (std::vector<std::uint64_t>{21}));
    }
    static ExecutionId id(Eid eid) { return id_of(static_cast<std::uint64_t>(eid)); }

    RouteId where = 0;
    Waiting rows{};
};

TEST_P(OpenWaits, come_with_an_execution_that_is_asked_for_by_id) {
    make();
    Transaction transaction(store());
    ReadSet set;
    set.need(id(rows.both));
    set.need(id(rows.pending), InputNeed::always);
    set.need(id(rows.over));
    set.need(id_of(99));
    load(store(), transaction, set);
    expect_both(transaction.snapshot);
    expect_pending(transaction.snapshot);
    EXPECT_FALSE(transaction.snapshot.waits.knows_open(rows.over));
    EXPECT_TRUE(transaction.snapshot.waits.open_waitpoints(rows.over).empty());
}

TEST_P(OpenWaits, come_with_an_execution_that_is_asked_for_by_number) {
    make();
    Transaction transaction(store());
    const std::vector<Eid> asked{rows.both, rows.pending, rows.over, 99};
    ASSERT_TRUE(store().load(asked, InputNeed::none, false, transaction.snapshot));
    expect_both(transaction.snapshot);
    expect_pending(transaction.snapshot);
    EXPECT_FALSE(transaction.snapshot.waits.knows_open(rows.over));
}

TEST_P(OpenWaits, come_with_the_members_of_a_flow) {
    make();
    Transaction transaction(store());
    ReadSet set;
    set.flows = {flow_id_of(1)};
    set.members.emplace_back(flow_id_of(1), ReadSet::ExecutionNeed{});
    load(store(), transaction, set);
    expect_both(transaction.snapshot);
    expect_pending(transaction.snapshot);
}

TEST_P(OpenWaits, come_with_what_a_worker_holds) {
    make();
    Transaction transaction(store());
    ReadSet set;
    set.leased_by = {{"acme", "one"}};
    load(store(), transaction, set);
    expect_pending(transaction.snapshot);
    EXPECT_FALSE(transaction.snapshot.waits.knows_open(rows.both));
}

// A leased row is remembered by some stores and not read again.
TEST_P(OpenWaits, come_with_a_row_that_was_written_a_moment_ago) {
    make();
    Execution again = leased(rows.pending, where, "one", t0 + 1'000);
    again.open_waitpoints = 2;
    put(store(), changes(again, waitpoint_of(rows.pending, 22)));
    Transaction transaction(store());
    ReadSet set;
    set.need(id(rows.pending));
    load(store(), transaction, set);
    EXPECT_EQ(numbers(transaction.snapshot.waits.open_waitpoints(rows.pending)),
              (std::vector<std::uint64_t>{21, 22}));
}

TEST_P(OpenWaits, come_with_an_execution_that_is_ready) {
    if (!store().shared()) {
        GTEST_SKIP() << "only this process writes to the store";
    }
    make();
    Execution ready = waiting(rows.pending, where);
    ready.open_waitpoints = 1;
    put(store(), changes(ready));
    const std::vector<ReadyAsk> asks{{{where}, {}, 9}};
    {
        Transaction transaction(store());
        const auto pages = store().lock_ready(asks, {}, transaction.snapshot);
        ASSERT_TRUE(pages) << pages.error().message();
        EXPECT_EQ(pages->at(0).keys.size(), 2U);
        expect_pending(transaction.snapshot);
    }
    Transaction transaction(store());
    store().expect_ready(asks, {});
    ReadSet set;
    set.need(id(rows.both));
    load(store(), transaction, set);
    expect_both(transaction.snapshot);
    expect_pending(transaction.snapshot);
}

TEST_P(OpenWaits, are_known_to_be_absent_when_their_rows_are_lost) {
    where = route();
    const Eid eid = next_eid();
    put(store(), changes(suspended(eid, where, 1), input_of(eid)));
    Transaction transaction(store());
    ReadSet set;
    set.need(id(eid));
    load(store(), transaction, set);
    EXPECT_TRUE(transaction.snapshot.waits.knows_open(eid));
    EXPECT_EQ(transaction.snapshot.waits.suspension({eid, 1}), nullptr);
    EXPECT_TRUE(transaction.snapshot.waits.open_waitpoints(eid).empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, OpenWaits, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

// --------------------------------------------------------------------------------- deletion

TEST_P(StoreContract, waits_go_with_their_execution) {
    const RouteId where = route();
    const Eid gone = next_eid();
    const Eid stays = next_eid();
    for (const Eid eid : {gone, stays}) {
        const auto n = static_cast<std::uint64_t>(eid);
        put(store(), changes(suspended(eid, where, 1), input_of(eid), suspension_of(eid, 1),
                             waitpoint_of(eid, n), closed(waitpoint_of(eid, n + 10)),
                             signal_of(eid, 1, n), Satisfier{{{eid, 1}, 0, "x"}, 1}));
    }
    core::Changes deletion;
    deletion.delete_executions.push_back(gone);
    put(store(), std::move(deletion));
    EXPECT_FALSE(find_execution(store(), gone));
    EXPECT_FALSE(find_suspension(store(), {gone, 1}));
    EXPECT_FALSE(find_waitpoint(store(), 1));
    EXPECT_FALSE(find_waitpoint(store(), 11));
    EXPECT_TRUE(ledger(store(), gone).empty());
    EXPECT_TRUE(all_satisfiers(store(), {gone, 1}).empty());
    EXPECT_TRUE(find_suspension(store(), {stays, 1}));
    EXPECT_TRUE(find_waitpoint(store(), 2));
    EXPECT_TRUE(find_waitpoint(store(), 12));
    EXPECT_EQ(ledger(store(), stays).size(), 1U);
    EXPECT_EQ(all_satisfiers(store(), {stays, 1}).size(), 1U);
}

TEST_P(StoreContract, a_waitpoint_that_was_never_used_goes_with_its_execution) {
    const RouteId where = route();
    const Eid eid = next_eid();
    put(store(), changes(waiting(eid, where), input_of(eid)));
    EXPECT_FALSE(find_execution(store(), eid)->has_waits);
    put(store(), changes(waiting(eid, where), waitpoint_of(eid, 7)));
    EXPECT_TRUE(find_execution(store(), eid)->has_waits) << "the store sees to it";
    Execution plain = waiting(eid, where);
    plain.has_waits = true;
    put(store(), changes(plain, closed(waitpoint_of(eid, 7))));
    core::Changes deletion;
    deletion.delete_executions.push_back(eid);
    put(store(), std::move(deletion));
    EXPECT_FALSE(find_waitpoint(store(), 7));
}

TEST_P(StoreContract, what_the_batch_did_to_the_waits_of_an_execution_goes_with_it) {
    const RouteId where = route();
    const Eid eid = next_eid();
    put(store(), changes(waiting(eid, where), input_of(eid)));
    {
        Transaction transaction(store());
        transaction.apply(changes(waiting(eid, where), waitpoint_of(eid, 7), suspension_of(eid, 1),
                                  signal_of(eid, 1, 7), Satisfier{{{eid, 1}, 0, "x"}, 1}));
        core::Changes deletion;
        deletion.delete_executions.push_back(eid);
        transaction.apply(std::move(deletion));
        ASSERT_TRUE(transaction.commit());
        ASSERT_TRUE(store().make_durable());
    }
    EXPECT_FALSE(find_execution(store(), eid));
    EXPECT_FALSE(find_waitpoint(store(), 7));
    EXPECT_FALSE(find_suspension(store(), {eid, 1}));
    EXPECT_TRUE(ledger(store(), eid).empty());
    EXPECT_TRUE(all_satisfiers(store(), {eid, 1}).empty());
}

// -------------------------------------------------------------------------------------- reads

TEST_P(StoreContract, open_waitpoints_are_paged_by_id) {
    Waitpoint active = waitpoint_of(1, 3);
    active.state = WaitpointState::active;
    put(store(), changes(waitpoint_of(1, 5), active, closed(waitpoint_of(1, 4)), waitpoint_of(1, 1),
                         waitpoint_of(2, 2)));
    const auto page = [&](std::optional<WaitpointId> after, std::size_t limit) {
        std::vector<std::uint64_t> out;
        for (const Waitpoint& row :
             look(store(), [&](Reader& r) { return r.open_waitpoints(1, after, limit); })) {
            out.push_back(row.id.uuid.bytes[15]);
        }
        return out;
    };
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(page({}, 9), (Numbers{1, 3, 5}));
    EXPECT_EQ(page({}, 2), (Numbers{1, 3}));
    EXPECT_EQ(page(waitpoint_id(3), 2), (Numbers{5}));
    EXPECT_EQ(page(waitpoint_id(2), 1), (Numbers{3}));
    EXPECT_TRUE(page(waitpoint_id(5), 2).empty());
    EXPECT_TRUE(page({}, 0).empty());
}

TEST_P(StoreContract, open_waitpoints_are_counted_that_outlive_a_key) {
    const auto with = [](std::uint64_t n, const char* kid, std::optional<TimestampMs> expires_at) {
        Waitpoint row = waitpoint_of(static_cast<Eid>(n), n);
        row.token_kid = kid;
        row.expires_at = expires_at;
        return row;
    };
    put(store(), changes(with(1, "k1", {}), with(2, "k1", t0), with(3, "k1", t0 + 1),
                         with(4, "k2", {}), closed(with(5, "k1", {}))));
    const auto count = [&](const char* kid, TimestampMs until) {
        return look(store(), [&](Reader& r) { return r.waitpoints_outliving(kid, until); });
    };
    EXPECT_EQ(count("k1", t0 - 1), 3U);
    EXPECT_EQ(count("k1", t0), 2U);
    EXPECT_EQ(count("k1", t0 + 1), 1U);
    EXPECT_EQ(count("k2", t0), 1U);
    EXPECT_EQ(count("k3", t0), 0U);
}

TEST_P(StoreContract, suspensions_come_oldest_first) {
    put(store(), changes(suspension_of(1, 10), suspension_of(1, 2), suspension_of(2, 1)));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.suspensions(1); }),
              (std::vector{suspension_of(1, 2), suspension_of(1, 10)}));
}

TEST_P(StoreContract, suspended_executions_are_listed_by_the_end_of_their_time) {
    const auto until = [](Eid eid, std::optional<TimestampMs> at) {
        Suspension row = suspension_of(eid, 1);
        row.waits_until = at;
        return row;
    };
    Suspension elsewhere = until(9, t0);
    elsewhere.lane = "other";
    put(store(), changes(until(4, core::no_deadline), until(3, core::no_deadline), until(1, t0 + 9),
                         until(2, t0 + 5), until(5, {}), elsewhere));
    using Place = Reader::SuspendedKey;
    const auto page = [&](const char* lane, std::optional<Place> after, std::size_t limit) {
        std::vector<Eid> out;
        for (const Suspension& row :
             look(store(), [&](Reader& r) { return r.suspended(lane, after, limit); })) {
            out.push_back(row.key.eid);
        }
        return out;
    };
    EXPECT_EQ(page("default", {}, 9), (std::vector<Eid>{2, 1, 3, 4}));
    EXPECT_EQ(page("default", {}, 2), (std::vector<Eid>{2, 1}));
    EXPECT_EQ(page("default", Place(t0 + 9, id_of(1)), 9), (std::vector<Eid>{3, 4}));
    EXPECT_EQ(page("default", Place(core::no_deadline, id_of(3)), 9), (std::vector<Eid>{4}));
    EXPECT_TRUE(page("default", Place(core::no_deadline, id_of(4)), 9).empty());
    EXPECT_EQ(page("other", {}, 9), (std::vector<Eid>{9}));
    EXPECT_TRUE(page("none", {}, 9).empty());
    EXPECT_TRUE(page("default", {}, 0).empty());
    // Whoever is resumed is not listed, whoever is escalated stands at the end.
    put(store(), changes(until(1, {}), until(2, core::no_deadline)));
    EXPECT_EQ(page("default", {}, 9), (std::vector<Eid>{2, 3, 4}));
}

TEST_P(StoreContract, the_ledger_is_read_in_pages_and_by_number) {
    put(store(),
        changes(signal_of(1, 10, 7), signal_of(1, 2, 7), signal_of(1, 1, 8), signal_of(2, 3, 9)));
    const auto seqs = [](const std::vector<Signal>& rows) {
        std::vector<std::uint64_t> out;
        for (const Signal& row : rows) {
            out.push_back(row.key.seq);
        }
        return out;
    };
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(seqs(ledger(store(), 1)), (Numbers{1, 2, 10}));
    EXPECT_EQ(seqs(ledger(store(), 1, 0, 2)), (Numbers{1, 2}));
    EXPECT_EQ(seqs(ledger(store(), 1, 2, 2)), (Numbers{10}));
    EXPECT_TRUE(ledger(store(), 1, 10, 2).empty());
    const Numbers asked{10, 3, 1};
    EXPECT_EQ(seqs(look(store(), [&](Reader& r) { return r.signals(1, asked, Payloads::read); })),
              (Numbers{10, 1}));
}

TEST_P(StoreContract, signals_are_read_without_their_payloads_and_by_id) {
    Signal first = signal_of(1, 1, 7);
    first.payload = std::string("p\0q", 3);
    Signal second = signal_of(1, 2, 7);
    second.payload.reset();
    put(store(), changes(first, second));
    Signal bare = first;
    bare.payload.reset();
    const std::vector<std::uint64_t> asked{2, 1};
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.signals(1, 0, 9, Payloads::left_out); }),
              (std::vector{bare, second}));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.signals(1, asked, Payloads::left_out); }),
              (std::vector{second, bare}));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.signals(1, asked, Payloads::read); }),
              (std::vector{second, first}));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.signal(1, first.id); }), first);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.signal(2, first.id); }), std::nullopt);
}

TEST_P(StoreContract, satisfiers_come_by_node_and_token) {
    const Satisfier a{{{1, 1}, 0, "b"}, 3};
    const Satisfier b{{{1, 1}, 2, "a"}, 1};
    const Satisfier c{{{1, 1}, 2, "c"}, 2};
    const Satisfier other{{{1, 2}, 0, "a"}, 4};
    put(store(), changes(c, other, b, a));
    EXPECT_EQ(all_satisfiers(store(), {1, 1}), (std::vector{a, b, c}));
    EXPECT_EQ(all_satisfiers(store(), {1, 2}), (std::vector{other}));
}

TEST_P(StoreContract, waits_survive_closing) {
    if (!GetParam().survives_close) {
        GTEST_SKIP() << "nothing does";
    }
    const RouteId where = route();
    put(store(),
        changes(suspended(1, where, 1), input_of(1), full_suspension(1, 1), full_waitpoint(1, 7),
                full_signal(1, 3, 7), Satisfier{{{1, 1}, 3, "x"}, 3}, full_key("k1")));
    reopen();
    EXPECT_EQ(find_suspension(store(), {1, 1}), full_suspension(1, 1));
    EXPECT_EQ(find_waitpoint(store(), 7), full_waitpoint(1, 7));
    EXPECT_EQ(ledger(store(), 1), std::vector{full_signal(1, 3, 7)});
    EXPECT_EQ(all_satisfiers(store(), {1, 1}).size(), 1U);
    EXPECT_EQ(all_keys(store()), std::vector{full_key("k1")});
    Transaction transaction(store());
    ReadSet set;
    set.need(id_of(1));
    load(store(), transaction, set);
    EXPECT_EQ(transaction.snapshot.waits.open_waitpoints(1).size(), 1U);
}

}  // namespace
}  // namespace ff::store::test
