// The conformance suite: histories of executions, and what a trim of events leaves of them.
#include "store/contract.h"

#include <limits>

namespace ff::store::test {
namespace {

using core::Execution;
using core::LeaseEventType;

TEST_P(StoreContract, history_is_a_chain_from_the_newest_without_renewals) {
    Execution row = waiting(next_eid(), route());
    Execution other = waiting(next_eid(), row.route);
    put(store(), changes(row, other));
    const auto note = [&](const Execution& e, LeaseEventType type) {
        put(store(), changes(*find_execution(store(), e.eid), event_of(e, type)));
    };
    note(row, LeaseEventType::acquired);
    note(other, LeaseEventType::acquired);
    note(row, LeaseEventType::renewed);
    note(row, LeaseEventType::expired);
    {
        // Two events of one batch.
        put(store(),
            changes(*find_execution(store(), row.eid), event_of(row, LeaseEventType::reclaimed),
                    event_of(row, LeaseEventType::released)));
    }
    const auto types = [&](const Execution& e, std::size_t limit) {
        std::vector<LeaseEventType> out;
        const auto current = find_execution(store(), e.eid);
        for (const auto& event :
             look(store(), [&](Reader& r) { return r.history(*current, limit); })) {
            EXPECT_EQ(event.eid, e.eid);
            out.push_back(event.type);
        }
        return out;
    };
    EXPECT_EQ(types(row, 10), (std::vector{LeaseEventType::released, LeaseEventType::reclaimed,
                                           LeaseEventType::expired, LeaseEventType::acquired}));
    EXPECT_EQ(types(row, 2), (std::vector{LeaseEventType::released, LeaseEventType::reclaimed}));
    EXPECT_TRUE(types(row, 0).empty());
    EXPECT_EQ(types(other, 10), (std::vector{LeaseEventType::acquired}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 99); }).size(), 6U);
}

TEST_P(StoreContract, an_event_joins_the_history_though_its_execution_did_not_change) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, event_of(row, LeaseEventType::acquired)));
    Transaction transaction(store());
    ASSERT_TRUE(
        store().load(std::vector{row.eid}, core::InputNeed::none, false, transaction.snapshot));
    transaction.apply_blind(changes(event_of(row, LeaseEventType::released)));
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    const auto current = find_execution(store(), row.eid);
    EXPECT_EQ(current->last_event_id, 2);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.history(*current, 9); }).size(), 2U);
}

/// An execution with the events 1 acquired, 2 renewed, 3 expired and 4 reclaimed.
Execution put_four_events(Store& store, const Execution& row) {
    put(store, changes(row));
    for (const LeaseEventType type : {LeaseEventType::acquired, LeaseEventType::renewed,
                                      LeaseEventType::expired, LeaseEventType::reclaimed}) {
        put(store, changes(*find_execution(store, row.eid), event_of(row, type)));
    }
    return *find_execution(store, row.eid);
}

std::uint64_t trim_history(Store& store, std::int64_t through) {
    return upkeep(store,
                  [&](Store& s) { return s.trim_events(EventFamily::lease_history, through); });
}

std::vector<std::int64_t> rows_of_events(Store& store) {
    std::vector<std::int64_t> out;
    for (const auto& event : look(store, [](Reader& r) { return r.events_after(0, 99); })) {
        out.push_back(event.event_id);
    }
    return out;
}
using Ids = std::vector<std::int64_t>;

TEST_P(StoreContract, a_history_outlives_the_trim_of_its_events) {
    const Execution row = put_four_events(store(), waiting(next_eid(), route()));
    EXPECT_EQ(trim_history(store(), 3), 3U) << "nobody is shown them any more";
    EXPECT_EQ(trim_history(store(), 3), 0U);
    EXPECT_EQ(rows_of_events(store()), (Ids{1, 3, 4})) << "no history has renewals";
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.history(row, 9); }).size(), 3U);
    EXPECT_EQ(
        look(store(), [](Reader& r) { return r.count_events(EventFamily::lease_history, 0, 99); }),
        1U);
}

TEST_P(StoreContract, what_the_trim_left_goes_with_the_execution) {
    const Execution row = put_four_events(store(), waiting(next_eid(), route()));
    const Execution other = waiting(next_eid(), row.route);
    put(store(), changes(other, event_of(other, LeaseEventType::acquired)));
    trim_history(store(), 3);
    put(store(), deletion(row.eid));
    EXPECT_EQ(rows_of_events(store()), (Ids{4, 5})) << "the fourth can still be read";
    EXPECT_EQ(trim_history(store(), 5), 2U);
    EXPECT_EQ(rows_of_events(store()), (Ids{5})) << "its execution is there";
    put(store(), deletion(other.eid));
    EXPECT_EQ(rows_of_events(store()), Ids());
}

TEST_P(StoreContract, events_outlive_an_execution_that_goes_before_the_trim) {
    const Execution row = put_four_events(store(), waiting(next_eid(), route()));
    put(store(), deletion(row.eid));
    EXPECT_EQ(rows_of_events(store()), (Ids{1, 2, 3, 4}));
    EXPECT_EQ(trim_history(store(), 3), 3U);
    EXPECT_EQ(rows_of_events(store()), (Ids{4}));
    EXPECT_EQ(trim_history(store(), 4), 1U);
    EXPECT_EQ(rows_of_events(store()), Ids());
}

/// A history of two events an epoch, up to an epoch; the first event of each is `begin`.
void put_epochs(Store& store, const Execution& row, std::uint64_t epochs, LeaseEventType begin) {
    for (std::uint64_t epoch = 0; epoch < epochs;) {
        core::Changes batch = changes(*find_execution(store, row.eid));
        for (int i = 0; i < 64; ++i) {
            epoch += 1;
            for (const auto type : {begin, LeaseEventType::released}) {
                batch.events.push_back(event_of(row, type));
                batch.events.back().lease_epoch = epoch;
            }
        }
        put(store, batch);
    }
}

std::vector<core::ExecutionEvent> whole_history(Store& store, const Execution& row) {
    const auto current = find_execution(store, row.eid);
    return look(store, [&](Reader& r) { return r.history(*current, 9'999); });
}

constexpr std::uint64_t long_epochs = 3 * core::history_epochs;

TEST_P(StoreContract, a_history_is_trimmed_to_about_its_newest_thousand) {
    // One that is leased and given back over and over.
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row));
    put_epochs(store(), row, long_epochs, LeaseEventType::acquired);
    const auto oldest_epoch = [&] {
        const auto found = whole_history(store(), row);
        EXPECT_GE(found.size(), 1'000U);
        EXPECT_EQ(found.front().lease_epoch, long_epochs);
        return found.back().lease_epoch;
    };
    const auto newest = static_cast<std::int64_t>(2 * long_epochs);
    trim_history(store(), newest / 2);
    EXPECT_EQ(oldest_epoch(), 1U) << "none of those that went begins an epoch that cuts";
    trim_history(store(), newest);
    EXPECT_EQ(oldest_epoch(), 2 * core::history_epochs + 1);
    const auto rows = look(store(), [](Reader& r) { return r.events_after(0, 9'999); });
    EXPECT_EQ(rows.size(), 2 * core::history_epochs) << "and no others are left behind";
}

TEST_P(StoreContract, long_histories_are_cut_each_by_itself_and_go_with_their_executions) {
    const Execution taken_over = waiting(next_eid(), route());
    const Execution other = waiting(next_eid(), taken_over.route);
    const Execution brief = waiting(next_eid(), taken_over.route);
    put(store(), changes(taken_over, other, brief, event_of(brief, LeaseEventType::acquired)));
    put_epochs(store(), taken_over, long_epochs, LeaseEventType::reclaimed);
    put_epochs(store(), other, long_epochs, LeaseEventType::acquired);
    trim_history(store(), std::numeric_limits<std::int64_t>::max());
    for (const Execution& row : {taken_over, other}) {
        const auto found = whole_history(store(), row);
        ASSERT_FALSE(found.empty());
        EXPECT_EQ(found.back().lease_epoch, 2 * core::history_epochs + 1);
        put(store(), deletion(row.eid));
    }
    EXPECT_EQ(rows_of_events(store()), (Ids{1})) << "the brief one's";
}

TEST_P(StoreContract, a_history_that_is_left_does_not_move_the_mark_back) {
    const Execution kept = waiting(next_eid(), route());
    const Execution gone = waiting(next_eid(), kept.route);
    for (const Execution& row : {kept, gone}) {
        core::ExecutionEvent end = event_of(row, LeaseEventType::none);
        end.outcome = TerminalOutcome::success;
        put(store(), changes(row, end));
    }
    put(store(), deletion(gone.eid));
    trim_history(store(), 2);
    put(store(), changes(*find_execution(store(), kept.eid),
                         event_of(kept, LeaseEventType::replay_initiated)));
    EXPECT_EQ(trim_history(store(), 3), 1U);
    look(store(), [](Reader& r) -> expected<int> {
        EXPECT_EQ(r.trimmed_through(EventFamily::completion), 2);
        EXPECT_EQ(r.trimmed_through(EventFamily::lease_history), 3);
        return 0;
    });
    EXPECT_EQ(rows_of_events(store()), (Ids{1, 3}));
}

}  // namespace
}  // namespace ff::store::test
