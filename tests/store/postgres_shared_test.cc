// Several stores on one PostgreSQL database, and connections that go.
#include "store/postgres_fixture.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "store/catalogue.h"
#include "store/postgres_internal.h"

namespace ff::store::test {
namespace {

using core::Execution;
using core::LeaseEventType;

TEST_F(Postgres, numbers_of_two_stores_never_meet) {
    const auto one = open();
    const auto two = open();
    std::set<Eid> seen;
    Eid last = 0;
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_TRUE(seen.insert(one->next_eid(t0)).second);
        EXPECT_TRUE(seen.insert(two->next_eid(t0)).second);
        const Eid next = one->next_eid(t0 - i);  // a clock that goes back
        EXPECT_GT(next, last);
        last = next;
        seen.insert(next);
    }
    // Who came later has the higher number, whichever store it was.
    EXPECT_LT(one->next_eid(t0 + 60'000), two->next_eid(t0 + 60'001));
    EXPECT_NE(one->next_route_id(), two->next_route_id());
}

TEST_F(Postgres, a_claim_passes_over_what_another_store_holds) {
    const auto one = open();
    const auto two = open();
    const RouteId where = make_route(*one);
    put(*one, changes(waiting(1, where), waiting(2, where), waiting(3, where)));
    const ReadyAsk ask{{where}, std::nullopt, 1};
    Transaction first(*one);
    Transaction second(*two);
    auto mine = one->lock_ready({&ask, 1}, {"default"}, first.snapshot);
    ASSERT_TRUE(mine) << mine.error().message();
    EXPECT_EQ(eids(mine->at(0).keys), (std::vector<Eid>{1}));
    auto theirs = two->lock_ready({&ask, 1}, {"default"}, second.snapshot);
    ASSERT_TRUE(theirs);
    EXPECT_TRUE(theirs->at(0).keys.empty());
    // It says how far it looked, and goes on from there.
    ASSERT_TRUE(theirs->at(0).looked_to);
    const ReadyAsk further{{where}, theirs->at(0).looked_to, 9};
    theirs = two->lock_ready({&further, 1}, {}, second.snapshot);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(theirs->at(0).keys.size(), 2U);
    EXPECT_FALSE(theirs->at(0).looked_to);
}

TEST_F(Postgres, two_groups_may_ask_for_the_same_routes) {
    const auto store = open();
    const RouteId where = make_route(*store);
    put(*store, changes(waiting(1, where), waiting(2, where)));
    Transaction transaction(*store);
    const ReadyAsk ask{{where}, std::nullopt, 9};
    store->expect_ready({ask}, {"default"});
    core::ReadSet set;
    set.need(id_of(99));
    ASSERT_TRUE(store->load(set, transaction.snapshot));
    // Answered ahead, once; asked for by two.
    const std::vector<ReadyAsk> both{ask, ask};
    const auto pages = store->lock_ready(both, {"default"}, transaction.snapshot);
    ASSERT_TRUE(pages);
    ASSERT_EQ(pages->size(), 2U);
    EXPECT_EQ(pages->at(0).keys.size(), 2U);
    EXPECT_EQ(pages->at(1).keys.size(), 2U);
}

TEST_F(Postgres, a_sweep_leaves_a_key_that_was_just_renewed) {
    const auto one = open();
    const auto two = open();
    const auto old = idempotency_of("acme", "key", id_of(1), t0);
    put(*one, changes(old));
    const auto renewed = idempotency_of("acme", "key", id_of(2), t0 + 99'000);
    auto first = std::make_unique<Transaction>(*one);
    first->apply(changes(renewed));  // holds the row
    auto sweep = std::async(std::launch::async, [&] {
        EXPECT_TRUE(two->begin());
        const auto gone = two->sweep_idempotency(t0 + 1, 9);
        EXPECT_TRUE(gone) << gone.error().message();
        EXPECT_TRUE(two->commit_upkeep());
        return gone.value_or(99);
    });
    // It has found the old row and waits for it.
    EXPECT_EQ(sweep.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
    ASSERT_TRUE(first->commit());
    EXPECT_EQ(sweep.get(), 0U);
    EXPECT_EQ(find_idempotency(*two, renewed.key), renewed);
}

TEST_F(Postgres, who_asks_by_number_does_not_wait_for_another_store) {
    const auto one = open();
    const auto two = open();
    put(*one, changes(waiting(1, make_route(*one))));
    Transaction first(*one);
    core::ReadSet set;
    set.need(id_of(1));
    ASSERT_TRUE(one->load(set, first.snapshot));
    Transaction second(*two);
    const std::vector<Eid> eid{1};
    ASSERT_TRUE(two->load(eid, core::InputNeed::none, false, second.snapshot));
    EXPECT_EQ(second.snapshot.find_cell(Eid{1}), nullptr);
}

TEST_F(Postgres, who_asks_by_id_waits_and_then_sees_what_became_of_it) {
    const auto one = open();
    const auto two = open();
    Execution row = waiting(1, make_route(*one));
    put(*one, changes(row));
    auto first = std::make_unique<Transaction>(*one);
    row.priority = 7;
    first->apply(changes(row));
    auto other = std::async(std::launch::async, [&] {
        Transaction second(*two);
        core::ReadSet set;
        set.need(id_of(1));
        EXPECT_TRUE(two->load(set, second.snapshot));
        return second.snapshot.execution(id_of(1))->priority;
    });
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    ASSERT_TRUE(first->commit());
    EXPECT_EQ(other.get(), 7);
}

// --------------------------------------------------------------------------------------- waits

// Both have seen the same current key; only one of them can have replaced it.
TEST_F(Postgres, of_two_processes_that_rotate_at_once_one_begins_anew) {
    using core::HmacKey;
    const auto a = open();
    const auto b = open();
    put(*a, changes(HmacKey{"k1", "x", false, t0, true, {}}));
    const auto rotate = [](Transaction& transaction, const char* kid) {
        transaction.apply(changes(HmacKey{"k1", "x", false, t0, false, t0 + 9},
                                  HmacKey{kid, "y", false, t0, true, {}}));
    };
    Transaction first(*a);
    Transaction second(*b);
    rotate(first, "k2");
    rotate(second, "k3");
    ASSERT_TRUE(first.commit());
    const auto done = second.commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::store_busy) << done.error().message();
    EXPECT_EQ(look(*b, [](Reader& r) { return r.hmac_keys(); }).size(), 2U);
}

// The row of the execution is the lock of its waits: what is asked for behind it is what the other
// transaction left.
TEST_F(Postgres, open_waits_are_those_of_the_moment_the_execution_was_locked) {
    const auto a = open();
    const auto b = open();
    const RouteId where = make_route(*a);
    Execution row = waiting(1, where);
    row.open_waitpoints = 1;
    put(*a, changes(row, input_of(1), waitpoint_of(1, 7)));
    Transaction first(*a);
    row.open_waitpoints = 2;
    first.apply(changes(row, waitpoint_of(1, 8)));
    auto waiting_for_it = std::async(std::launch::async, [&] {
        Transaction second(*b);
        core::ReadSet set;
        set.need(id_of(1));
        set.waits.waitpoints = {WaitpointId{uuid_of(8)}};
        EXPECT_TRUE(b->load(set, second.snapshot));
        EXPECT_NE(second.snapshot.waits.waitpoint({uuid_of(8)}), nullptr);
        return second.snapshot.waits.open_waitpoints(1).size();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(first.commit());
    EXPECT_EQ(waiting_for_it.get(), 2U);
}

// --------------------------------------------------------------------------------------- flows

TEST_F(Postgres, who_asks_for_a_flow_waits_and_sees_what_the_other_did_to_its_graph) {
    const auto one = open();
    const auto two = open();
    put(*one, changes(flow_of(1), edge_of(1, 1, 1, 2)));
    Transaction first(*one);
    core::Flow flow = flow_of(1);
    flow.edge_count = 2;
    first.apply(changes(flow, edge_of(1, 2, 1, 3), group_of(1, 3)));
    auto second = std::async(std::launch::async, [&] {
        Transaction transaction(*two);
        core::ReadSet set;
        set.flows.push_back(flow_id_of(1));
        set.edges_of_flows.push_back(flow_id_of(1));
        set.outbound.push_back(id_of(1));
        set.groups.emplace_back(flow_id_of(1), id_of(3));
        auto loaded = two->load(set, transaction.snapshot);
        EXPECT_TRUE(loaded) << loaded.error().message();
        EXPECT_EQ(transaction.snapshot.edges_of(flow_id_of(1)).size(), 2U);
        EXPECT_EQ(transaction.snapshot.outbound(id_of(1)).size(), 2U);
        EXPECT_NE(transaction.snapshot.group(id_of(3)), nullptr);
        return transaction.snapshot.flow(flow_id_of(1))->edge_count;
    });
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    ASSERT_TRUE(first.commit());
    EXPECT_EQ(second.get(), 2U);
}

TEST_F(Postgres, a_member_that_joins_while_its_flow_is_waited_for_is_a_member) {
    const auto one = open();
    const auto two = open();
    const RouteId route = make_route(*one);
    const Execution old = member_of(one->next_eid(t0), route, 1);
    const Execution late = member_of(one->next_eid(t0), route, 1);
    put(*one, changes(flow_of(1), old, input_of(old.eid)));
    Transaction first(*one);
    first.apply(changes(flow_of(1), late, input_of(late.eid)));
    auto second = std::async(std::launch::async, [&] {
        Transaction transaction(*two);
        core::ReadSet set;
        set.flows.push_back(flow_id_of(1));
        set.members.emplace_back(flow_id_of(1),
                                 core::ReadSet::ExecutionNeed{{}, core::InputNeed::always, true});
        auto loaded = two->load(set, transaction.snapshot);
        EXPECT_TRUE(loaded) << loaded.error().message();
        const core::Execution* member = transaction.snapshot.execution(late.id);
        EXPECT_NE(transaction.snapshot.input(*member), nullptr);
        EXPECT_EQ(transaction.snapshot.grant(*member), nullptr);
        return transaction.snapshot.members(flow_id_of(1));
    });
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    ASSERT_TRUE(first.commit());
    EXPECT_EQ(second.get(), (std::vector{old.id, late.id}));
}

TEST_F(Postgres, work_that_another_store_is_at_is_passed_over) {
    const auto one = open();
    const auto two = open();
    const auto first_work = work_of(1, core::FlowWorkKind::ended, 1, t0);
    const auto second_work = work_of(1, core::FlowWorkKind::ended, 2, t0);
    put(*one, changes(first_work, second_work));
    Transaction first(*one);
    const auto taken = one->scan_work(t0, 1, first.snapshot);
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(*taken, std::vector{first_work.key});
    Transaction second(*two);
    const auto rest = two->scan_work(t0, 9, second.snapshot);
    ASSERT_TRUE(rest) << rest.error().message();
    EXPECT_EQ(*rest, std::vector{second_work.key});
}

TEST_F(Postgres, what_is_due_and_another_store_is_at_is_passed_over) {
    const auto one = open();
    const auto two = open();
    const RouteId where = make_route(*one);
    core::Flow flow = flow_of(1);
    flow.deadline_at = t0;
    put(*one, changes(flow, delayed(1, where, t0), delayed(2, where, t0 + 5)));
    const std::vector<Eid> eids{1, 2};
    {
        Transaction first(*one);
        core::ReadSet set;
        set.flows.push_back(flow.id);
        set.need(id_of(1));
        ASSERT_TRUE(one->load(set, first.snapshot));
        Transaction second(*two);
        ASSERT_TRUE(two->scan_due_flows(t0 + 9, 9));
        core::ReadSet due;
        due.flows.push_back(flow.id);
        ASSERT_TRUE(two->load(due, second.snapshot));
        EXPECT_FALSE(second.snapshot.knows_flow(flow.id)) << "nobody waits for one that is due";
        EXPECT_EQ(two->scan_due(t0 + 9, 9)->size(), 2U);
        ASSERT_TRUE(two->load(eids, core::InputNeed::none, false, second.snapshot));
        EXPECT_EQ(second.snapshot.find_cell(1), nullptr);
        EXPECT_NE(second.snapshot.find_cell(2), nullptr);
    }
    Transaction again(*two);
    EXPECT_EQ(*two->scan_due_flows(t0 + 9, 9), std::vector{flow.id});
    EXPECT_EQ(*two->next_due(t0 + 9), std::nullopt);
    EXPECT_EQ(two->scan_due(t0 + 9, 9)->size(), 2U);
    ASSERT_TRUE(two->load(eids, core::InputNeed::none, false, again.snapshot));
    EXPECT_NE(again.snapshot.find_cell(1), nullptr);
    core::ReadSet flows;
    flows.flows.push_back(flow.id);
    ASSERT_TRUE(two->load(flows, again.snapshot));
    ASSERT_NE(again.snapshot.flow(flow.id), nullptr);
    EXPECT_EQ(again.snapshot.flow(flow.id)->deadline_at, t0);
}

TEST_F(Postgres, a_scan_of_streams_is_ended_like_any_other) {
    const auto store = open();
    {
        const Transaction transaction(*store);
        ASSERT_TRUE(store->scan_streams(t0, 9));
    }
    EXPECT_EQ(ask("SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()"
                  " AND relation = 'ff_stream_meta'::regclass"),
              "0");
}

TEST_F(Postgres, a_claim_that_sees_a_member_sees_that_its_flow_is_held) {
    const auto one = open();
    const auto two = open();
    const RouteId route = make_route(*one);
    Transaction claims(*one);
    const auto nobody = one->held_flows();
    ASSERT_TRUE(nobody) << nobody.error().message();
    EXPECT_TRUE(nobody->empty());
    // Meanwhile, in another process:
    core::Flow paused = flow_of(1);
    paused.paused = true;
    const Execution member = member_of(two->next_eid(t0), route, 1);
    put(*two, changes(paused, member, input_of(member.eid)));
    const ReadyAsk ask{{route}, {}, 10};
    const auto pages = one->lock_ready({&ask, 1}, {"default"}, claims.snapshot);
    ASSERT_TRUE(pages) << pages.error().message();
    ASSERT_EQ(pages->at(0).keys.size(), 1U);
    const auto held = one->held_flows();
    ASSERT_TRUE(held);
    EXPECT_EQ(*held, std::vector{paused.id});
}

TEST_F(Postgres, who_makes_the_same_flow_second_is_told_to_try_again) {
    const auto one = open();
    const auto two = open();
    Transaction first(*one);
    first.apply(changes(flow_of(1)));
    Transaction second(*two);
    second.apply(changes(flow_of(1)));
    ASSERT_TRUE(first.commit());
    const auto done = second.commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::store_busy);
}

TEST_F(Postgres, every_question_about_flows_and_histories_goes_by_an_index) {
    open();
    auto connection = PgConnection::open(url_);
    ASSERT_TRUE(connection);
    auto& db = **connection;
    ASSERT_TRUE(
        db.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                   "SET enable_hashjoin = off; SET enable_mergejoin = off"));
    const std::vector<std::pair<std::string, std::string>> questions{
        {lock_flows, "(NULL)"},
        {members_of_flows, "(NULL)"},
        {edges_of_flows, "(NULL)"},
        {groups_of_flows, "(NULL)"},
        {edges_by_upstream, "(NULL)"},
        {edges_by_downstream, "(NULL)"},
        {lock_work_due, "(NULL, NULL)"},
        {sql::flows_held, ""},
        {lock_flows_due, "(NULL, NULL)"},
        {sql::next_due, "(NULL)"},
        {sql::edges_staged, "(NULL, NULL)"},
        {sql::flows_due, "(NULL, NULL)"},
        {sql::exec_events_trim, "(NULL, NULL)"},
        {sql::history_cut, "(NULL, NULL)"},
        {delete_histories, "(NULL)"}};
    int number = 0;
    for (const auto& [text, parameters] : questions) {
        const std::string name = "q" + std::to_string(++number);
        ASSERT_TRUE(db.execute("PREPARE " + name + " AS " + text)) << text;
        const auto plan =
            db.scalar("EXPLAIN (COSTS OFF, FORMAT JSON) EXECUTE " + name + parameters);
        ASSERT_TRUE(plan) << plan.error().message();
        EXPECT_EQ(plan->find("Seq Scan"), std::string::npos) << text << "\n" << *plan;
        // Sets that are asked for by their keys are put in order; whole tables never are.
        if (!text.contains("ANY($1)")) {
            EXPECT_EQ(plan->find("\"Sort\""), std::string::npos) << text << "\n" << *plan;
        }
    }
}

TEST_F(Postgres, the_second_to_take_a_key_is_told_to_try_again) {
    const auto one = open();
    const auto two = open();
    const auto entry = idempotency_of("acme", "key", id_of(1), t0 + 9);
    Transaction first(*one);
    Transaction second(*two);
    first.apply(changes(entry));
    second.apply(changes(idempotency_of("acme", "key", id_of(2), t0 + 9)));
    ASSERT_TRUE(first.commit());
    const auto late = second.commit();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::store_busy);
    EXPECT_EQ(find_idempotency(*two, entry.key), entry);
}

TEST_F(Postgres, a_route_that_another_store_made_is_learned_of) {
    const auto one = open();
    const auto two = open();
    Transaction late(*two);
    core::Route row;
    row.id = two->next_route_id();
    row.key = {"default", "acme", "job", ""};
    late.apply(changes(row));
    const RouteId where = make_route(*one);
    const auto refused = late.commit();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::store_busy);
    // The next transaction that looks at the lane has it.
    Transaction again(*two);
    core::ReadSet set;
    set.lanes.push_back("default");
    ASSERT_TRUE(two->load(set, again.snapshot));
    const core::Route* known = two->routes().find(row.key);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->id, where);
}

TEST_F(Postgres, event_numbers_of_two_stores_are_in_the_order_of_commits) {
    const auto one = open();
    const auto two = open();
    const RouteId where = make_route(*one);
    const Execution a = waiting(1, where);
    const Execution b = waiting(2, where);
    Transaction first(*one);
    first.apply(changes(a, event_of(a, LeaseEventType::acquired)));
    put(*two, changes(b, event_of(b, LeaseEventType::acquired)));  // began later, commits earlier
    ASSERT_TRUE(first.commit());
    const auto events = look(*one, [](Reader& r) { return r.events_after(0, 9); });
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].eid, 2);
    EXPECT_EQ(events[1].eid, 1);
    EXPECT_EQ(find_execution(*one, 1)->last_event_id, events[1].event_id);
}

TEST_F(Postgres, a_history_that_is_trimmed_while_its_execution_is_deleted_is_not_left_behind) {
    const auto one = open();
    const auto two = open();
    const Execution row = waiting(1, make_route(*one));
    put(*one, changes(row, event_of(row, LeaseEventType::acquired)));
    ASSERT_TRUE(one->begin() && one->trim_events(EventFamily::lease_history, 9) == 1U);
    core::Changes gone;
    gone.delete_executions.push_back(row.eid);
    std::thread retention([&] { put(*two, std::move(gone)); });
    while (ask("SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND classid = 70205847"
               " AND objid = CAST('ff_exec_core' AS regclass)") == "0") {
    }
    EXPECT_TRUE(one->commit_upkeep());
    retention.join();
    EXPECT_EQ(ask("SELECT COUNT(*) FROM ff_exec_event"), "0");
}

TEST_F(Postgres, work_made_ready_by_another_store_is_heard_of) {
    for (const auto notify : {EngineOptions::Notify::automatic, EngineOptions::Notify::off}) {
        EngineOptions options;
        options.notify = notify;
        const auto one = open(options);
        const auto two = open(options);
        const RouteId where = make_route(*one, notify == EngineOptions::Notify::off ? "a" : "b");
        std::promise<void> heard;
        std::once_flag once;
        one->watch([&](Store::Heard what) {
            if (what == Store::Heard::work) {
                std::call_once(once, [&] { heard.set_value(); });
            }
        });
        put(*two, changes(waiting(notify == EngineOptions::Notify::off ? 1 : 2, where)));
        EXPECT_EQ(heard.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
        one->watch({});
    }
}

/// Counts what a store hears of other processes, for as long as this lives.
class Ears {
  public:
    explicit Ears(Store& store) : store_(store) {
        store_.watch([this](Store::Heard what) {
            const std::lock_guard lock(mutex_);
            (what == Store::Heard::work ? looks_ : rows_) += 1;
            changed_.notify_all();
        });
    }
    ~Ears() { store_.watch({}); }
    Ears(const Ears&) = delete;
    Ears& operator=(const Ears&) = delete;

    int rows() {
        const std::lock_guard lock(mutex_);
        return rows_;
    }
    bool wait_for_more_rows_than(int rows) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return rows_ > rows; });
    }
    /// Looks are a second apart when nobody says anything, so with the second from now everything
    /// has been heard that was said before.
    bool wait_for_two_looks() {
        std::unique_lock lock(mutex_);
        const int seen = looks_;
        return changed_.wait_for(lock, patience, [&] { return looks_ >= seen + 2; });
    }

  private:
    static constexpr std::chrono::seconds patience{20};
    Store& store_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int looks_ = 0;  // guarded by mutex_, as is the next
    int rows_ = 0;
};

TEST_F(Postgres, who_waits_to_read_is_left_alone_while_nobody_writes) {
    const auto one = open();
    const auto two = open();
    const RouteId where = make_route(*one);
    Ears ears(*one);
    ASSERT_TRUE(ears.wait_for_two_looks());
    const int before = ears.rows();
    ASSERT_TRUE(ears.wait_for_two_looks()) << "work is looked for all the same";
    EXPECT_EQ(ears.rows(), before);
    put(*two, changes(waiting(1, where)));
    EXPECT_TRUE(ears.wait_for_more_rows_than(before));
}

TEST_F(Postgres, nobody_hears_of_another_store_in_the_same_database) {
    const auto store = open();
    Ears ears(*store);
    auto other = open_at(support::postgres_store(folder_.file("other")));
    ASSERT_TRUE(other) << other.error().message();
    put(**other, changes(waiting(1, make_route(**other))));
    ASSERT_TRUE(ears.wait_for_two_looks());
    EXPECT_EQ(ears.rows(), 0);
}

TEST_F(Postgres, a_queue_is_busy_for_those_of_the_same_store_only) {
    const auto one = open();
    const auto two = open();
    auto elsewhere = open_at(support::postgres_store(folder_.file("other")));
    ASSERT_TRUE(elsewhere) << elsewhere.error().message();
    const auto busy = [](Store& store) {
        const std::vector<RouteId> queues{-7};
        const auto page = store.lock_turns(queues);
        EXPECT_TRUE(page) << page.error().message();
        return page ? page->busy : queues;
    };
    const Transaction first(*one);
    EXPECT_EQ(busy(*one), std::vector<RouteId>{});
    const Transaction second(*two);
    EXPECT_EQ(busy(*two), std::vector<RouteId>{-7});
    const Transaction third(**elsewhere);
    EXPECT_EQ(busy(**elsewhere), std::vector<RouteId>{});
}

// -------------------------------------------------------------------------- lost connections

TEST_F(Postgres, a_lost_connection_fails_one_transaction_and_is_made_anew) {
    const auto store = open();
    const RouteId where = make_route(*store);
    {
        Transaction transaction(*store);
        transaction.apply(changes(waiting(1, where), input_of(1)));
        // This transaction holds locks on the store's tables; that is how it is found.
        core::ReadSet set;
        set.need(id_of(5));
        ASSERT_TRUE(store->load(set, transaction.snapshot));
        cut_connections();
        const auto done = transaction.commit();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::store_io) << done.error().message();
    }
    EXPECT_FALSE(find_execution(*store, 1));
    put(*store, changes(waiting(1, where), input_of(1)));
    EXPECT_TRUE(find_execution(*store, 1));
}

}  // namespace
}  // namespace ff::store::test
