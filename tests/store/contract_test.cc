// The conformance suite, first part: rows come back as they were put, and a transaction is one.
#include "store/contract.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "store/memory_store.h"
#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::Execution;
using core::LeaseEventType;

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

// -------------------------------------------------------------------------------- every row type

TEST_P(StoreContract, an_empty_store_answers_with_nothing) {
    EXPECT_FALSE(look(store(), [](Reader& r) { return r.execution(id_of(1)); }));
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.routes(); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.events_after(0, 10); }).empty());
    EXPECT_TRUE(store().routes().all().empty());
    EXPECT_FALSE(scan(store(), [](Store& s) { return s.next_due(0); }));
    EXPECT_EQ(store().info().partitions.flow, 1);
}

TEST_P(StoreContract, a_full_execution_comes_back_as_it_was_put) {
    const Execution row = full_execution(next_eid(), route());
    // Every column is set, but for those that are the store's own.
    Execution marked = row;
    marked.last_event_id = 1;
    marked.edges_told = true;
    ASSERT_EQ(difference(marked, Execution{}), all_columns<Execution>());
    ASSERT_EQ(difference<core::ExecutionExtra>(row, {}), all_columns<core::ExecutionExtra>());
    put(store(), changes(row));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.execution(row.id); }), row);
}

TEST_P(StoreContract, an_execution_with_nothing_optional_comes_back_as_it_was_put) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.execution(row.id); }), row);
}

TEST_P(StoreContract, nil_identifiers_are_identifiers) {
    Execution row = waiting(next_eid(), route());
    row.id = ExecutionId{};
    core::Attempt attempt = attempt_of(row.eid, 0);
    attempt.attempt_id = {};
    core::GrantRow grant = grant_of(row.eid, t0 + 1);
    grant.grant_id = {};
    const auto entry = idempotency_of("acme", "key", ExecutionId{}, t0 + 1);
    put(store(), changes(row, attempt, grant, entry, event_of(row, LeaseEventType::released)));
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.execution(ExecutionId{}); }));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempt(row.eid, 0); }), attempt);
    EXPECT_EQ(find_grant(store(), row.id), grant);
    EXPECT_EQ(find_idempotency(store(), entry.key), entry);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 10); }).size(), 1U);
}

TEST_P(StoreContract, inputs_come_back_as_they_were_put) {
    const RouteId where = route();
    Execution with = waiting(next_eid(), where);
    with.has_tags = with.has_policy = with.has_idempotency_key = true;
    const Execution without = waiting(next_eid(), where);
    const auto full = full_input(with.eid);
    ASSERT_EQ(difference(full, core::ExecutionInput{}), all_columns<core::ExecutionInput>());
    const auto empty = input_of(without.eid);
    put(store(), changes(with, full, without, empty));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.input(with.eid); }), full);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.input(without.eid); }), empty);
}

TEST_P(StoreContract, attempts_come_back_as_they_were_put) {
    const Execution row = waiting(next_eid(), route());
    const auto full = full_attempt(row.eid, 1);
    ASSERT_EQ(difference(full, core::Attempt{}), all_columns<core::Attempt>());
    const auto empty = attempt_of(row.eid, 0);
    put(store(), changes(row, full, empty));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempts(row.eid); }),
              (std::vector{empty, full}));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempt(row.eid, 1); }), full);
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.attempt(row.eid, 2); }));
}

TEST_P(StoreContract, a_put_of_an_attempt_replaces_all_of_it) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, full_attempt(row.eid, 0)));
    put(store(), changes(attempt_of(row.eid, 0)));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempt(row.eid, 0); }),
              attempt_of(row.eid, 0));
}

TEST_P(StoreContract, grants_come_back_as_they_were_put_and_are_replaced_and_deleted) {
    const Execution row = waiting(next_eid(), route());
    const auto full = full_grant(row.eid);
    ASSERT_EQ(difference(full, core::GrantRow{}), all_columns<core::GrantRow>());
    put(store(), changes(row, full));
    EXPECT_EQ(find_grant(store(), row.id), full);
    put(store(), changes(grant_of(row.eid, t0 + 9)));
    EXPECT_EQ(find_grant(store(), row.id), grant_of(row.eid, t0 + 9));
    core::Changes gone;
    gone.delete_grants.push_back(row.eid);
    put(store(), gone);
    EXPECT_FALSE(find_grant(store(), row.id));
}

TEST_P(StoreContract, lanes_are_put_and_changed) {
    for (std::size_t i = 0; i < enum_count<LaneState>; ++i) {
        const core::Lane lane{"lane " + std::to_string(i), static_cast<LaneState>(i),
                              t0 + static_cast<TimestampMs>(i)};
        put(store(), changes(lane));
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.lane(lane.name); }), lane);
    }
    const core::Lane closed{"lane 0", LaneState::disabled, t0};
    put(store(), changes(closed));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.lane("lane 0"); }), closed);
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.lane("lane"); }));
}

TEST_P(StoreContract, routes_are_known_after_the_commit_with_their_tokens_split) {
    const RouteId plain = route();
    const RouteId picky = route("default", "acme", "job", "cuda,gpu");
    const core::Route* known = store().routes().find(picky);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->required, (std::vector<std::string>{"cuda", "gpu"}));
    EXPECT_EQ(store().routes().of_lane("default").size(), 2U);
    const core::Route read = look(store(), [&](Reader& r) { return r.route(picky); });
    EXPECT_EQ(read, *known);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.routes(); }),
              (std::vector{*store().routes().find(plain), *known}));
    auto missing = store().read([](Reader& r) -> expected<void> {
        FF_TRY_VOID(r.route(99));
        return {};
    });
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::corruption);
}

TEST_P(StoreContract, routes_are_not_known_after_a_rollback) {
    RouteId id = 0;
    {
        Transaction transaction(store());
        core::Route row;
        id = row.id = store().next_route_id();
        row.key = {"default", "acme", "job", ""};
        transaction.apply(changes(row));
    }
    EXPECT_EQ(store().routes().find(id), nullptr);
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.routes(); }).empty());
    if (!store().shared()) {
        EXPECT_EQ(route(), id);
    }
}

TEST_P(StoreContract, idempotency_entries_are_put_replaced_and_deleted) {
    const auto first = idempotency_of("acme", "key", id_of(1, 7), t0 + 1);
    put(store(), changes(first));
    EXPECT_EQ(find_idempotency(store(), first.key), first);
    EXPECT_FALSE(find_idempotency(store(), {"other", "key"}));
    const auto second = idempotency_of("acme", "key", id_of(2), t0 + 2);
    put(store(), changes(second));
    EXPECT_EQ(find_idempotency(store(), first.key), second);
    core::Changes gone;
    gone.delete_idempotency.push_back(first.key);
    put(store(), gone);
    EXPECT_FALSE(find_idempotency(store(), first.key));
}

TEST_P(StoreContract, workers_are_put_replaced_and_deleted) {
    const auto full = full_worker();
    ASSERT_EQ(difference(full, core::WorkerRow{}), all_columns<core::WorkerRow>());
    put(store(), changes(full));
    EXPECT_EQ(find_worker(store(), full.key), full);
    const auto plain = worker_of("acme", "one", {});
    put(store(), changes(plain));
    EXPECT_EQ(find_worker(store(), full.key), plain);
    core::Changes gone;
    gone.delete_workers.push_back(full.key);
    put(store(), gone);
    EXPECT_FALSE(find_worker(store(), full.key));
}

TEST_P(StoreContract, events_come_back_as_they_were_put_with_their_numbers) {
    const Execution row = waiting(next_eid(), route());
    auto full = full_event(row.eid, row.route);
    auto empty = event_of(row, LeaseEventType::none);
    put(store(), changes(row, full, empty));
    full.event_id = 1;
    empty.event_id = 2;
    empty.previous_event_id = 1;
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 10); }),
              (std::vector{full, empty}));
    full.previous_event_id = 1;
    ASSERT_EQ(difference(full, core::ExecutionEvent{}), all_columns<core::ExecutionEvent>());
}

TEST_P(StoreContract, log_events_come_back_as_they_were_put_with_their_numbers) {
    auto full = full_log_event(next_eid());
    core::LogEvent empty;
    put(store(), changes(full, empty));
    full.event_id = 1;
    empty.event_id = 2;
    EXPECT_EQ(look(store(), [](Reader& r) { return r.log_events_after(0, 10); }),
              (std::vector{full, empty}));
    ASSERT_EQ(difference(full, core::LogEvent{}), all_columns<core::LogEvent>());
}

TEST_P(StoreContract, both_kinds_of_events_share_one_numbering) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, event_of(row, LeaseEventType::acquired),
                         log_event_of(row, core::LogFamily::operator_)));
    put(store(), changes(log_event_of(row, core::LogFamily::workers)));
    const auto events = look(store(), [](Reader& r) { return r.events_after(0, 10); });
    const auto logged = look(store(), [](Reader& r) { return r.log_events_after(0, 10); });
    ASSERT_EQ(events.size(), 1U);
    ASSERT_EQ(logged.size(), 2U);
    EXPECT_EQ(events[0].event_id, 1);
    EXPECT_EQ(logged[0].event_id, 2);
    EXPECT_EQ(logged[1].event_id, 3);
}

// -------------------------------------------------------------------------------------- bytes

TEST_P(StoreContract, payloads_and_results_are_bytes) {
    const RouteId where = route();
    for (const std::string& bytes :
         {std::string(), std::string("\0", 1), std::string("a\0b", 3), std::string("\xff\xfe\x80"),
          all_bytes(), std::string(1 << 20, '\xee')}) {
        const Execution row = waiting(next_eid(), where);
        auto input = input_of(row.eid);
        input.payload = bytes;
        auto attempt = attempt_of(row.eid, 0);
        attempt.result = bytes;
        put(store(), changes(row, input, attempt));
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.input(row.eid); })->payload, bytes);
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempt(row.eid, 0); })->result, bytes);
    }
}

TEST_P(StoreContract, an_empty_result_is_not_an_absent_one) {
    const Execution row = waiting(next_eid(), route());
    auto empty = attempt_of(row.eid, 0);
    empty.result = "";
    put(store(), changes(row, empty, attempt_of(row.eid, 1)));
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.attempt(row.eid, 0); })->result);
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.attempt(row.eid, 1); })->result);
}

// ------------------------------------------------------------------------------------- updates

// Sets one column after the other to a value that is not the default, and back.
TEST_P(StoreContract, every_column_of_an_execution_can_change_alone) {
    const RouteId where = route();
    Execution row = waiting(next_eid(), where);
    put(store(), changes(row));
    const Execution full = full_execution(row.eid, route("other"));
    const Execution plain = row;
    const auto change = [&](const ColumnInfo& column, auto& member, const auto& one,
                            const auto& two) {
        const std::string name = column.name;
        if (name == "eid" || name == "id" || name == "timer_at" || name == "last_event_id") {
            return;
        }
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(row));
            auto read = find_execution(store(), row.eid);
            ASSERT_TRUE(read) << name;
            read->timer_at = row.timer_at;  // follows from the rest
            EXPECT_EQ(*read, row) << name;
        }
    };
    for_each_column<Execution>(change, row, full, plain);
    for_each_column<core::ExecutionExtra>(change, row, full, plain);
}

TEST_P(StoreContract, every_column_of_an_input_can_change_alone) {
    const Execution row = waiting(next_eid(), route());
    auto input = input_of(row.eid);
    put(store(), changes(row, input));
    const auto full = full_input(row.eid);
    const auto plain = input;
    const auto change_input = [&](const ColumnInfo& column, auto& member, const auto& one,
                                  const auto& two) {
        for (const auto* from : {&one, &two}) {
            member = *from;
            put(store(), changes(input));
            EXPECT_EQ(look(store(), [&](Reader& r) { return r.input(row.eid); }), input)
                << column.name;
        }
    };
    for_each_column<core::ExecutionInput>(change_input, input, full, plain);
}

TEST_P(StoreContract, a_row_put_twice_in_a_batch_is_the_later_one) {
    Execution row = waiting(next_eid(), route());
    Transaction transaction(store());
    transaction.apply(changes(row));
    row.priority = 5;
    row.failure_reason = "later";
    transaction.apply(changes(row));
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(find_execution(store(), row.eid), row);
    EXPECT_EQ(eids(look(store(), [](Reader& r) { return r.ready_after({}, 10); })),
              (std::vector<Eid>{row.eid}));
}

TEST_P(StoreContract, the_tag_index_follows_the_tags) {
    Execution row = waiting(next_eid(), route());
    row.has_tags = true;
    const auto with = [&](const std::string& key, const std::string& value) {
        return eids(look(store(), [&](Reader& r) { return r.newest_with_tag(key, value, 99, 9); }));
    };
    const std::vector<Eid> found{row.eid};
    const std::vector<Eid> none;
    put(store(), changes(row, input_of(row.eid, {{"a", "1"}, {"b", "2"}, {"c", "3"}})));
    EXPECT_EQ(with("a", "1"), found);
    EXPECT_EQ(with("c", "3"), found);
    put(store(), changes(input_of(row.eid, {{"a", "1"}, {"b", "9"}, {"d", ""}})));
    EXPECT_EQ(with("a", "1"), found);
    EXPECT_EQ(with("b", "2"), none);
    EXPECT_EQ(with("b", "9"), found);
    EXPECT_EQ(with("c", "3"), none);
    EXPECT_EQ(with("d", ""), found);
    row.has_tags = false;
    put(store(), changes(row, input_of(row.eid)));
    EXPECT_EQ(with("a", "1"), none);
    EXPECT_EQ(with("d", ""), none);
}

// --------------------------------------------------------------------------------- transactions

TEST_P(StoreContract, a_transaction_that_is_rolled_back_leaves_nothing) {
    const RouteId where = route();
    {
        Transaction transaction(store());
        const Execution row = waiting(next_eid(), where);
        transaction.apply(changes(row, input_of(row.eid), core::Lane{"x", LaneState::active, t0},
                                  worker_of("acme", "one"),
                                  event_of(row, LeaseEventType::acquired)));
    }
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.newest(99, 9); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.lanes("", 9); }).empty());
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.events_after(0, 9); }).empty());
    EXPECT_FALSE(find_worker(store(), {"acme", "one"}));
}

TEST_P(StoreContract, a_rollback_gives_the_numbers_back) {
    if (store().shared()) {
        GTEST_SKIP() << "numbers that several processes draw are lost when they are not used";
    }
    const RouteId where = route();
    Eid eid = 0;
    RouteId next_route = 0;
    {
        Transaction transaction(store());
        eid = next_eid();
        EXPECT_EQ(next_eid(), eid + 1);
        next_route = store().next_route_id();
        EXPECT_EQ(next_route, where + 1);
    }
    EXPECT_EQ(next_eid(), eid);
    EXPECT_EQ(store().next_route_id(), next_route);
}

TEST_P(StoreContract, a_rollback_without_a_transaction_does_nothing) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row));
    store().rollback();
    store().rollback();
    EXPECT_EQ(next_eid(), row.eid + 1);
    put(store(), changes(waiting(row.eid + 1, row.route)));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.newest(99, 9); }).size(), 2U);
}

// The second execution has the id of the first: the commit fails after other rows were written.
TEST_P(StoreContract, a_commit_that_fails_in_the_middle_leaves_nothing_and_the_store_works_on) {
    const Execution first = waiting(next_eid(), route());
    put(store(), changes(first, event_of(first, LeaseEventType::acquired)));
    const Eid next = next_eid();
    {
        Transaction transaction(store());
        core::Route new_route;
        new_route.id = store().next_route_id();
        new_route.key = {"new", "acme", "job", ""};
        Execution innocent = waiting(next_eid(), new_route.id);
        Execution second = waiting(next_eid(), new_route.id);
        second.id = first.id;
        transaction.apply(changes(new_route, innocent, input_of(innocent.eid, {{"a", "b"}}),
                                  core::Lane{"new", LaneState::paused, t0}));
        transaction.apply_blind(changes(second, event_of(second, LeaseEventType::released),
                                        worker_of("acme", "one"), grant_of(second.eid, t0)));
        const auto done = transaction.commit();
        ASSERT_FALSE(done);
        // Where others write too, they may have had the id first: then it is worth another try.
        EXPECT_EQ(done.error().code,
                  store().shared() ? ErrorCode::store_busy : ErrorCode::internal);
    }
    EXPECT_EQ(eids(look(store(), [](Reader& r) { return r.newest(99, 9); })),
              (std::vector<Eid>{first.eid}));
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.lanes("", 9); }).empty());
    EXPECT_TRUE(
        look(store(), [](Reader& r) { return r.newest_with_tag("a", "b", 99, 9); }).empty());
    EXPECT_EQ(look(store(), [](Reader& r) { return r.routes(); }).size(), 1U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 9); }).size(), 1U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.ready_after({}, 9); }).size(), 1U);
    EXPECT_EQ(store().routes().all().size(), 1U);
    if (!store().shared()) {
        EXPECT_EQ(next_eid(), next + 1);
    }

    const Execution third = waiting(next, first.route);
    put(store(), changes(third, event_of(third, LeaseEventType::acquired)));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(1, 9); })[0].event_id, 2);
}

TEST_P(StoreContract, nothing_of_an_open_transaction_can_be_read) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, event_of(row, LeaseEventType::acquired)));
    std::size_t seen = 0;
    std::thread reader;
    {
        Transaction transaction(store());
        EXPECT_EQ(store().trim_events(EventFamily::lease_history, 1), 1U);
        // In memory the reader may have to wait for the end of the transaction.
        reader = std::thread(
            [&] { seen = look(store(), [](Reader& r) { return r.events_after(0, 9); }).size(); });
    }
    reader.join();
    EXPECT_EQ(seen, 1U);
}

TEST_P(StoreContract, a_reader_sees_all_of_a_commit_or_nothing) {
    const RouteId where = route();
    std::atomic<bool> done = false;
    std::size_t most = 0;
    std::thread reader([&] {
        for (bool last = false; !last;) {
            last = done;
            const auto rows = look(store(), [](Reader& r) { return r.newest(1'000, 1'000); });
            EXPECT_EQ(rows.size() % 2, 0U);
            EXPECT_GE(rows.size(), most);
            most = rows.size();
        }
    });
    for (int i = 0; i < 50; ++i) {
        const Eid eid = next_eid();
        put(store(), changes(waiting(eid, where), waiting(next_eid(), where)));
    }
    done = true;
    reader.join();
    EXPECT_EQ(most, 100U);
}

// ------------------------------------------------------------------------------------- loading

TEST_P(StoreContract, load_gives_what_was_asked_for_and_absence_where_there_is_none) {
    Execution row = waiting(next_eid(), route());
    row.has_policy = true;
    row.current_attempt_index = 1;
    put(store(), changes(row, input_of(row.eid), attempt_of(row.eid, 1), grant_of(row.eid, t0)));
    Transaction transaction(store());
    core::ReadSet set;
    set.need(row.id, core::InputNeed::if_tagged);
    set.need(id_of(999), core::InputNeed::always).grant = true;
    set.lanes = {"nowhere"};
    set.workers = {{"acme", "one"}};
    set.idempotency = {{"acme", "key"}};
    ASSERT_TRUE(store().load(set, transaction.snapshot));
    auto& cell = transaction.snapshot.cell(row.id);
    EXPECT_EQ(cell.execution.current()->eid, row.eid);
    EXPECT_FALSE(cell.input.loaded);
    EXPECT_FALSE(cell.grant.loaded);
    EXPECT_TRUE(cell.attempts.empty());
    EXPECT_EQ(transaction.snapshot.execution(id_of(999)), nullptr);
    EXPECT_EQ(transaction.snapshot.lane("nowhere"), nullptr);
    EXPECT_EQ(transaction.snapshot.worker({"acme", "one"}), nullptr);
    EXPECT_EQ(transaction.snapshot.idempotency({"acme", "key"}), nullptr);

    core::ReadSet more;
    auto& need = more.need(row.id, core::InputNeed::if_tagged_or_policy);
    need.grant = need.attempt = true;
    ASSERT_TRUE(store().load(more, transaction.snapshot));
    EXPECT_EQ(cell.input.current(), input_of(row.eid));
    EXPECT_EQ(cell.grant.current(), grant_of(row.eid, t0));
    EXPECT_EQ(cell.attempts.at(1).current(), attempt_of(row.eid, 1));
}

TEST_P(StoreContract, an_execution_that_was_just_minted_is_absent_without_a_look) {
    const Execution row = waiting(next_eid(), route());
    Transaction transaction(store());
    core::ReadSet set;
    set.need(row.id, core::InputNeed::always).fresh = true;
    ASSERT_TRUE(store().load(set, transaction.snapshot));
    EXPECT_EQ(transaction.snapshot.execution(row.id), nullptr);
    transaction.apply_blind(changes(row, input_of(row.eid)));
    ASSERT_TRUE(transaction.commit());
    ASSERT_TRUE(store().make_durable());
    EXPECT_EQ(find_execution(store(), row.eid), row);
}

TEST_P(StoreContract, a_leased_execution_loads_as_the_last_commit_left_it) {
    Execution row = leased(next_eid(), route(), "one", t0 + 100);
    const auto loaded = [&] {
        Transaction transaction(store());
        core::ReadSet set;
        set.need(row.id);
        EXPECT_TRUE(store().load(set, transaction.snapshot));
        const Execution* found = transaction.snapshot.execution(row.id);
        return found != nullptr ? std::optional(*found) : std::nullopt;
    };
    put(store(), changes(row, event_of(row, LeaseEventType::acquired)));
    row.timer_at = t0 + 100;
    row.last_event_id = 1;
    EXPECT_EQ(loaded(), row);
    row.lease_expires_at = t0 + 200;
    put(store(), changes(row), t0 + 10);
    EXPECT_EQ(loaded(), row);
    {
        // Looked at, changed, and given up.
        Transaction transaction(store());
        Execution other = row;
        other.priority = 99;
        transaction.apply(changes(other));
    }
    EXPECT_EQ(loaded(), row);
    {
        // Changed in a batch that cannot be committed.
        Transaction transaction(store());
        Execution other = row;
        other.priority = 99;
        transaction.apply(changes(other));
        core::Route twin = *store().routes().find(row.route);
        twin.id = store().next_route_id();
        transaction.apply(changes(twin));
        EXPECT_FALSE(transaction.commit());
    }
    EXPECT_EQ(loaded(), row);
    EXPECT_EQ(find_execution(store(), row.eid), row);
    core::Changes gone;
    gone.delete_executions.push_back(row.eid);
    put(store(), gone);
    EXPECT_EQ(loaded(), std::nullopt);
}

TEST_P(StoreContract, a_running_attempt_has_no_row_to_load) {
    const Execution row = leased(next_eid(), route(), "one", t0 + 1'000);
    put(store(), changes(row, attempt_of(row.eid, 0)));
    Transaction transaction(store());
    ASSERT_TRUE(
        store().load(std::vector{row.eid}, core::InputNeed::none, true, transaction.snapshot));
    EXPECT_TRUE(transaction.snapshot.cell(row.id).attempts.empty());
}

TEST_P(StoreContract, load_by_number_skips_what_is_gone) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, input_of(row.eid)));
    Transaction transaction(store());
    ASSERT_TRUE(store().load(std::vector<Eid>{777, row.eid}, core::InputNeed::always, false,
                             transaction.snapshot));
    EXPECT_EQ(transaction.snapshot.find_cell(Eid{777}), nullptr);
    ASSERT_NE(transaction.snapshot.find_cell(row.eid), nullptr);
    EXPECT_TRUE(transaction.snapshot.find_cell(row.eid)->input.current());
}

TEST_P(StoreContract, load_does_not_undo_what_the_batch_has_decided) {
    Execution row = waiting(next_eid(), route());
    put(store(), changes(row, core::Lane{"x", LaneState::active, t0}));
    Transaction transaction(store());
    row.priority = 77;
    transaction.apply(changes(row, core::Lane{"x", LaneState::paused, t0}));
    core::ReadSet set;
    set.need(row.id);
    set.lanes = {"x"};
    ASSERT_TRUE(store().load(set, transaction.snapshot));
    ASSERT_TRUE(
        store().load(std::vector{row.eid}, core::InputNeed::none, false, transaction.snapshot));
    EXPECT_EQ(transaction.snapshot.execution(row.id)->priority, 77);
    EXPECT_EQ(transaction.snapshot.lane("x")->state, LaneState::paused);
}

TEST_P(StoreContract, leased_by_gives_the_leases_of_one_instance_in_one_namespace) {
    const RouteId ours = route("default", "acme");
    const RouteId theirs = route("default", "other");
    std::vector<Execution> rows;
    for (const auto& [where, instance] : std::vector<std::pair<RouteId, std::string>>{
             {ours, "one"}, {theirs, "one"}, {ours, "two"}, {ours, "one"}}) {
        // Leases that end in another order than the executions were made.
        const Eid eid = next_eid();
        rows.push_back(leased(eid, where, instance, t0 + 100'000 - eid));
        rows.back().has_tags = true;
        put(store(), changes(rows.back(), input_of(eid, {{"a", "b"}})));
    }
    Execution lost = in_bucket(next_eid(), ours, core::Bucket::reclaimable);
    lost.worker_instance_id = "one";
    put(store(), changes(lost));

    Transaction transaction(store());
    core::ReadSet set;
    set.leased_by = {{"acme", "one"}, {"nobody", "one"}};
    ASSERT_TRUE(store().load(set, transaction.snapshot));
    EXPECT_EQ(transaction.snapshot.leased_by({"acme", "one"}),
              (std::vector{rows[0].id, rows[3].id}));
    EXPECT_TRUE(transaction.snapshot.leased_by({"nobody", "one"}).empty());
    // The executions and their tags are there for the decision.
    const Execution* loaded = transaction.snapshot.execution(rows[3].id);
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(transaction.snapshot.input(*loaded)->tags.at("a"), "b");
}

// ------------------------------------------------------------------------- the memory store's own

TEST(MemoryStore, a_commit_fails_on_request_once_and_leaves_nothing) {
    auto store = MemoryStore::make({});
    EXPECT_EQ(store->info().family, "memory");
    EXPECT_EQ(store->info().backend, BackendTag::sqlite);
    EXPECT_EQ(store->info().durability, "none (in memory)");
    const Error disk{ErrorCode::store_full, "no room", {}};
    store->fail_next_commit(disk);
    {
        Transaction transaction(*store);
        const Execution row = full_execution(store->next_eid(t0), 1);
        core::Route where;
        where.id = store->next_route_id();
        where.key.lane = "default";
        transaction.apply(changes(where, row, full_input(row.eid), full_attempt(row.eid, 0),
                                  full_grant(row.eid), full_worker(), full_event(row.eid, 1),
                                  full_log_event(row.eid),
                                  core::Lane{"default", LaneState::active, t0}));
        const auto done = transaction.commit();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error(), disk);
    }
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.newest(99, 9); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.routes(); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.lanes("", 9); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.events_after(0, 9); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.log_events_after(0, 9); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.timers_after({}, 9); }).empty());
    EXPECT_TRUE(look(*store, [](Reader& r) { return r.newest_leased(99, 9); }).empty());
    EXPECT_FALSE(find_worker(*store, full_worker().key));
    EXPECT_EQ(store->next_eid(t0), 1);
    put(*store, changes(core::Lane{"default", LaneState::active, t0}));
    EXPECT_EQ(look(*store, [](Reader& r) { return r.lanes("", 9); }).size(), 1U);
}

TEST(MemoryStore, upkeep_fails_on_request_too) {
    auto store = MemoryStore::make({});
    put(*store, changes(idempotency_of("acme", "key", id_of(1), t0)));
    store->fail_next_commit({ErrorCode::store_io, "gone", {}});
    ASSERT_TRUE(store->begin());
    EXPECT_EQ(store->sweep_idempotency(t0, 10), 1U);
    EXPECT_FALSE(store->commit_upkeep());
    EXPECT_TRUE(find_idempotency(*store, {"acme", "key"}));
}

}  // namespace
}  // namespace ff::store::test
