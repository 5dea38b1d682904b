// The conformance suite, second part: what follows from the rows (queues, timers, lists), and what
// goes away.
#include "store/contract.h"

#include <algorithm>
#include <limits>

#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::Bucket;
using core::Execution;
using core::LeaseEventType;
using core::TimerKey;
using core::TimerKind;

constexpr TimestampMs end_of_time = std::numeric_limits<TimestampMs>::max();

std::vector<core::ReadyKey> ready(Store& store, RouteId route, std::size_t limit = 100) {
    return scan(store, [&](Store& s) { return s.scan_ready(route, std::nullopt, limit); });
}

std::vector<TimerKey> due(Store& store, TimestampMs now, std::size_t limit = 100) {
    return scan(store, [&](Store& s) { return s.scan_due(now, limit); });
}

std::vector<TimerKey> timers(Store& store) {
    const TimerKey first{TimerKind::lease, std::numeric_limits<TimestampMs>::min(), 0};
    return look(store, [&](Reader& r) { return r.timers_after(first, 100); });
}

// ------------------------------------------------------------------------------------ ready

TEST_P(StoreContract, the_ready_queue_is_by_priority_then_by_creation) {
    const RouteId where = route();
    const RouteId other = route("other");
    for (std::int32_t priority : {0, 5, 9'000, 5}) {
        put(store(), changes(waiting(next_eid(), where, priority)));
    }
    put(store(), changes(waiting(next_eid(), other, 7)));
    EXPECT_EQ(eids(ready(store(), where)), (std::vector<Eid>{3, 2, 4, 1}));
    EXPECT_EQ(ready(store(), where)[0], (core::ReadyKey{where, -9'000, 3}));
    EXPECT_EQ(eids(ready(store(), where, 2)), (std::vector<Eid>{3, 2}));
    EXPECT_TRUE(ready(store(), where, 0).empty());
    EXPECT_EQ(eids(ready(store(), other)), (std::vector<Eid>{5}));
    EXPECT_TRUE(ready(store(), 99).empty());
}

TEST_P(StoreContract, the_ready_queue_is_read_on_behind_a_key) {
    const RouteId where = route();
    const RouteId other = route("other");
    for (std::int32_t priority : {0, 5, 9, 5}) {
        put(store(), changes(waiting(next_eid(), where, priority)));
    }
    put(store(), changes(waiting(next_eid(), other)));
    const auto behind = [&](std::int32_t rank, Eid eid) {
        const core::ReadyKey after{where, rank, eid};
        return eids(scan(store(), [&](Store& s) { return s.scan_ready(where, after, 10); }));
    };
    EXPECT_EQ(behind(-9, 3), (std::vector<Eid>{2, 4, 1}));
    EXPECT_EQ(behind(-5, 2), (std::vector<Eid>{4, 1}));
    EXPECT_EQ(behind(-5, 3), (std::vector<Eid>{4, 1}));
    EXPECT_TRUE(behind(0, 1).empty());
}

TEST_P(StoreContract, the_ready_queue_follows_the_execution) {
    const RouteId where = route();
    Execution row = waiting(next_eid(), where, 1);
    put(store(), changes(row));
    row.priority = 2;
    put(store(), changes(row));
    EXPECT_EQ(ready(store(), where), (std::vector{core::ReadyKey{where, -2, row.eid}}));
    const Execution taken = leased(row.eid, where, "one", t0 + 1'000);
    put(store(), changes(taken));
    EXPECT_TRUE(ready(store(), where).empty());
    put(store(), changes(in_bucket(row.eid, where, Bucket::reclaimable)));
    EXPECT_EQ(ready(store(), where).size(), 1U);
    put(store(), changes(ended(row.eid, where, TerminalOutcome::success, t0)));
    EXPECT_TRUE(ready(store(), where).empty());
}

TEST_P(StoreContract, a_grant_hides_the_execution_from_the_queue) {
    const RouteId where = route();
    Execution row = waiting(next_eid(), where);
    put(store(), changes(row));
    row.grant_expires_at = t0 + 500;
    put(store(), changes(row, grant_of(row.eid, t0 + 500)));
    EXPECT_TRUE(ready(store(), where).empty());
    EXPECT_EQ(timers(store()), (std::vector{TimerKey{TimerKind::wake, t0 + 500, row.eid}}));
    row.grant_expires_at.reset();
    put(store(), changes(row));
    EXPECT_EQ(eids(ready(store(), where)), (std::vector<Eid>{row.eid}));
    EXPECT_TRUE(timers(store()).empty());
}

// ----------------------------------------------------------------------------------- timers

TEST_P(StoreContract, timers_are_due_in_order_within_their_kinds) {
    const RouteId where = route();
    put(store(), changes(delayed(next_eid(), where, t0 + 20)));  // 1
    put(store(), changes(ended(next_eid(), where, TerminalOutcome::failed,
                               t0 - retention + 5)));                  // 2
    put(store(), changes(leased(next_eid(), where, "one", t0 + 30)));  // 3
    put(store(), changes(leased(next_eid(), where, "one", t0 + 10)));  // 4
    put(store(), changes(delayed(next_eid(), where, t0 + 10)));        // 5
    put(store(), changes(delayed(next_eid(), where, t0 + 10)));        // 6
    put(store(), changes(waiting(next_eid(), where)));                 // 7

    const std::vector<TimerKey> all{
        {TimerKind::lease, t0 + 10, 4}, {TimerKind::lease, t0 + 30, 3},
        {TimerKind::wake, t0 + 10, 5},  {TimerKind::wake, t0 + 10, 6},
        {TimerKind::wake, t0 + 20, 1},  {TimerKind::retention, t0 + 5, 2},
    };
    EXPECT_EQ(due(store(), t0 + 30), all);
    EXPECT_EQ(timers(store()), all);
    EXPECT_EQ(eids(due(store(), t0 + 10)), (std::vector<Eid>{4, 5, 6, 2}));
    EXPECT_EQ(eids(due(store(), t0 + 9)), (std::vector<Eid>{2}));
    EXPECT_TRUE(due(store(), t0 + 4).empty());
    EXPECT_EQ(eids(due(store(), end_of_time, 3)), (std::vector<Eid>{4, 3, 5}));
    EXPECT_TRUE(due(store(), end_of_time, 0).empty());

    const auto next = [&](TimestampMs after) {
        return scan(store(), [&](Store& s) { return s.next_due(after); });
    };
    EXPECT_EQ(next(std::numeric_limits<TimestampMs>::min()), t0 + 5);
    EXPECT_EQ(next(t0 + 5), t0 + 10);
    EXPECT_EQ(next(t0 + 10), t0 + 20);
    EXPECT_EQ(next(t0 + 30), std::nullopt);
}

TEST_P(StoreContract, retention_is_the_execution_s_own_when_it_has_one) {
    Execution row = ended(next_eid(), route(), TerminalOutcome::success, t0);
    row.retention_ms = 77;
    put(store(), changes(row));
    EXPECT_EQ(timers(store()), (std::vector{TimerKey{TimerKind::retention, t0 + 77, row.eid}}));
}

TEST_P(StoreContract, a_renewed_lease_keeps_its_earlier_timer_until_that_has_fired) {
    Execution row = leased(next_eid(), route(), "one", t0 + 100);
    put(store(), changes(row), t0);
    const auto at = [&] { return timers(store()).at(0).due_at; };
    row.lease_expires_at = t0 + 200;
    put(store(), changes(row), t0 + 50);
    EXPECT_EQ(at(), t0 + 100);
    EXPECT_EQ(find_execution(store(), row.eid)->timer_at, t0 + 100);
    // It fires, finds nothing due, and is armed for what is.
    row.lease_renewed_at = t0 + 50;
    put(store(), changes(row), t0 + 100);
    EXPECT_EQ(at(), t0 + 200);
}

TEST_P(StoreContract, a_lease_timer_moves_when_something_is_due_earlier) {
    Execution row = leased(next_eid(), route(), "one", t0 + 100);
    put(store(), changes(row), t0);
    row.attempt_deadline_at = t0 + 60;
    put(store(), changes(row), t0 + 10);
    EXPECT_EQ(timers(store()), (std::vector{TimerKey{TimerKind::lease, t0 + 60, row.eid}}));
}

TEST_P(StoreContract, a_new_lease_arms_a_new_timer) {
    Execution row = leased(next_eid(), route(), "one", t0 + 100);
    put(store(), changes(row), t0);
    row.lease_epoch = 2;
    row.lease_expires_at = t0 + 300;
    put(store(), changes(row), t0 + 50);
    EXPECT_EQ(timers(store()), (std::vector{TimerKey{TimerKind::lease, t0 + 300, row.eid}}));
    put(store(), changes(waiting(row.eid, row.route)), t0 + 60);
    EXPECT_TRUE(timers(store()).empty());
}

// ----------------------------------------------------------------------------------- buckets

TEST_P(StoreContract, every_bucket_lists_what_stands_in_it) {
    const RouteId where = route();
    std::vector<std::pair<Bucket, Eid>> expected;
    for (std::size_t round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < enum_count<Bucket>; ++i) {
            const auto bucket = static_cast<Bucket>(i);
            const Eid eid = next_eid();
            put(store(), changes(in_bucket(eid, where, bucket)));
            if (bucket != Bucket::none) {
                expected.emplace_back(bucket, eid);
            }
        }
    }
    std::ranges::sort(expected);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.listed_after(Bucket::none, 0, 100); }),
              expected);
    for (std::size_t i = 1; i < enum_count<Bucket>; ++i) {
        const auto bucket = static_cast<Bucket>(i);
        const auto listed = [&](Eid after, std::size_t limit) {
            return scan(store(), [&](Store& s) { return s.scan_bucket(bucket, after, limit); });
        };
        const auto first = static_cast<Eid>(i + 1);
        const auto second = static_cast<Eid>(i + 1 + enum_count<Bucket>);
        EXPECT_EQ(listed(0, 10), (std::vector{first, second})) << to_string(bucket);
        EXPECT_EQ(listed(0, 1), (std::vector{first}));
        EXPECT_EQ(listed(first, 10), (std::vector{second}));
        EXPECT_TRUE(listed(second, 10).empty());
    }
}

TEST_P(StoreContract, an_execution_moves_from_bucket_to_bucket) {
    const RouteId where = route();
    const Eid eid = next_eid();
    for (const Bucket bucket : {Bucket::delayed, Bucket::suspended, Bucket::none, Bucket::failed}) {
        put(store(), changes(in_bucket(eid, where, bucket)));
        std::vector<std::pair<Bucket, Eid>> expected;
        if (bucket != Bucket::none) {
            expected.emplace_back(bucket, eid);
        }
        EXPECT_EQ(look(store(), [](Reader& r) { return r.listed_after(Bucket::none, 0, 9); }),
                  expected);
    }
}

TEST_P(StoreContract, all_executions_are_scanned_in_pages) {
    const RouteId where = route();
    for (int i = 0; i < 5; ++i) {
        put(store(), changes(waiting(next_eid(), where)));
    }
    const auto page = [&](Eid after, std::size_t limit) {
        return scan(store(), [&](Store& s) { return s.scan_all(after, limit); });
    };
    EXPECT_EQ(page(0, 3), (std::vector<Eid>{1, 2, 3}));
    EXPECT_EQ(page(3, 3), (std::vector<Eid>{4, 5}));
    EXPECT_TRUE(page(5, 3).empty());
    EXPECT_TRUE(page(0, 0).empty());
}

// ----------------------------------------------------------------------------------- workers

TEST_P(StoreContract, dead_workers_are_those_whose_time_is_over) {
    auto quick = worker_of("acme", "quick");
    quick.liveness_ttl_ms = 10;
    put(store(), changes(worker_of("zeta", "slow"), quick, worker_of("acme", "slow")));
    const auto dead = [&](TimestampMs now, std::size_t limit) {
        return scan(store(), [&](Store& s) { return s.scan_dead_workers(now, limit); });
    };
    EXPECT_TRUE(dead(t0 + 9, 10).empty());
    EXPECT_EQ(dead(t0 + 10, 10), (std::vector<core::WorkerKey>{{"acme", "quick"}}));
    EXPECT_EQ(dead(t0 + 1'000, 10), (std::vector<core::WorkerKey>{
                                        {"acme", "quick"}, {"acme", "slow"}, {"zeta", "slow"}}));
    EXPECT_EQ(dead(t0 + 1'000, 2).size(), 2U);
}

TEST_P(StoreContract, the_live_workers_are_listed_by_key) {
    auto dead = worker_of("acme", "dead", {"default"});
    dead.last_heartbeat = t0 - 1'000;
    const auto good = worker_of("acme", "good", {"default", "gpu"});
    const auto elsewhere = worker_of("acme", "elsewhere", {"gpu"});
    const auto other = worker_of("other", "good", {"default"});
    put(store(), changes(dead, good, elsewhere, other));
    const auto live = scan(store(), [&](Store& s) { return s.live_workers(t0); });
    EXPECT_EQ(live, (std::vector{elsewhere, good, other}));
    EXPECT_TRUE(scan(store(), [&](Store& s) { return s.live_workers(t0 + 100'000'000); }).empty());
}

// ------------------------------------------------------------------------------------ upkeep

TEST_P(StoreContract, grants_past_their_time_are_swept_the_oldest_first) {
    const RouteId where = route();
    std::vector<Execution> rows;
    for (TimestampMs expires : {t0 + 3, t0 + 1, t0 + 2, t0 + 4}) {
        rows.push_back(waiting(next_eid(), where));
        put(store(), changes(rows.back(), grant_of(rows.back().eid, expires)));
    }
    const auto sweep = [&](TimestampMs before, std::size_t limit) {
        return upkeep(store(), [&](Store& s) { return s.sweep_grants(before, limit); });
    };
    EXPECT_EQ(sweep(t0, 10), 0U);
    EXPECT_EQ(sweep(t0 + 3, 2), 2U);
    EXPECT_TRUE(find_grant(store(), rows[0].id));
    EXPECT_FALSE(find_grant(store(), rows[1].id));
    EXPECT_FALSE(find_grant(store(), rows[2].id));
    EXPECT_EQ(sweep(t0 + 3, 2), 1U);
    EXPECT_TRUE(find_grant(store(), rows[3].id));
}

TEST_P(StoreContract, idempotency_entries_past_their_time_are_swept_the_oldest_first) {
    for (int i = 1; i <= 4; ++i) {
        put(store(), changes(idempotency_of("acme", std::to_string(i), id_of(1), t0 + 10 - i)));
    }
    const auto sweep = [&](TimestampMs now, std::size_t limit) {
        return upkeep(store(), [&](Store& s) { return s.sweep_idempotency(now, limit); });
    };
    EXPECT_EQ(sweep(t0 + 8, 1), 1U);
    EXPECT_FALSE(find_idempotency(store(), {"acme", "4"}));
    EXPECT_TRUE(find_idempotency(store(), {"acme", "3"}));
    EXPECT_EQ(sweep(t0 + 8, 10), 2U);
    EXPECT_TRUE(find_idempotency(store(), {"acme", "1"}));
}

TEST_P(StoreContract, upkeep_that_is_rolled_back_deleted_nothing) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row, grant_of(row.eid, t0), event_of(row, LeaseEventType::acquired),
                         idempotency_of("acme", "key", row.id, t0)));
    {
        Transaction transaction(store());
        EXPECT_EQ(store().sweep_grants(t0, 10), 1U);
        EXPECT_EQ(store().sweep_grants(t0, 10), 0U);
        EXPECT_EQ(store().sweep_idempotency(t0, 10), 1U);
        EXPECT_EQ(store().trim_events(EventFamily::completion, 1), 1U);
        EXPECT_EQ(store().trim_events(EventFamily::lease_history, 1), 0U);
        core::ReadSet set;
        set.need(row.id).grant = true;
        set.idempotency = {{"acme", "key"}};
        ASSERT_TRUE(store().load(set, transaction.snapshot));
        EXPECT_EQ(transaction.snapshot.grant(*transaction.snapshot.execution(row.id)), nullptr);
        EXPECT_EQ(transaction.snapshot.idempotency({"acme", "key"}), nullptr);
    }
    EXPECT_TRUE(find_grant(store(), row.id));
    EXPECT_TRUE(find_idempotency(store(), {"acme", "key"}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 9); }).size(), 1U);
}

/// Four events of the history, ids 1, 3, 5, 7, and four of operators between them.
void put_eight_events(Store& store, const Execution& row) {
    for (TimestampMs at = t0; at < t0 + 4; ++at) {
        put(store, changes(event_of(row, LeaseEventType::acquired, at),
                           log_event_of(row, core::LogFamily::operator_, at)));
    }
}

TEST_P(StoreContract, events_are_trimmed_by_family) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row));
    put_eight_events(store(), row);
    const auto trim = [&](EventFamily family, std::int64_t through) {
        return upkeep(store(), [&](Store& s) { return s.trim_events(family, through); });
    };
    const auto trimmed = [&](EventFamily family) {
        return look(store(), [&](Reader& r) { return r.trimmed_through(family); });
    };
    EXPECT_EQ(trimmed(EventFamily::lease_history), 0);
    EXPECT_EQ(trim(EventFamily::lease_history, 0), 0U);
    EXPECT_EQ(trim(EventFamily::lease_history, 4), 2U);
    EXPECT_EQ(trim(EventFamily::operator_, 6), 3U);
    EXPECT_EQ(trim(EventFamily::workers, 8), 0U);
    look(store(), [](Reader& r) -> expected<int> {
        using Number = std::optional<std::int64_t>;
        EXPECT_EQ(r.event_floor(EventFamily::completion), 3) << "they share a table";
        EXPECT_EQ(r.event_floor(EventFamily::operator_), 6);
        EXPECT_EQ(r.count_events(EventFamily::lease_history, 0, 9), 2U);
        EXPECT_EQ(r.nth_event(EventFamily::completion, 0, 0).value(), Number(5));
        EXPECT_EQ(r.nth_event(EventFamily::lease_history, 1, 1).value(), Number(7));
        EXPECT_EQ(r.oldest_events(EventFamily::lease_history, t0 + 9, 1).value(), Number(5));
        return 0;
    });
    const auto logged = look(store(), [&](Reader& r) { return r.log_events_of(row.eid, 9); });
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_EQ(logged[0].event_id, 8);
    // Up to the last event of the family that went, not to the id that was asked for.
    EXPECT_EQ(trimmed(EventFamily::lease_history), 3);
    EXPECT_EQ(trimmed(EventFamily::completion), 0);
    EXPECT_EQ(trimmed(EventFamily::operator_), 6);
    EXPECT_EQ(trimmed(EventFamily::workers), 0);
    EXPECT_EQ(trim(EventFamily::operator_, 100), 1U);
    EXPECT_EQ(trimmed(EventFamily::operator_), 8);
    if (GetParam().survives_close) {
        reopen();
        EXPECT_EQ(trimmed(EventFamily::operator_), 8);
        EXPECT_EQ(trimmed(EventFamily::lease_history), 3);
    }
}

TEST_P(StoreContract, a_completion_is_trimmed_with_the_history) {
    const Execution row = waiting(next_eid(), route());
    core::ExecutionEvent end = event_of(row, LeaseEventType::none);
    end.outcome = TerminalOutcome::success;
    put(store(), changes(row, end));
    EXPECT_EQ(upkeep(store(), [](Store& s) { return s.trim_events(EventFamily::completion, 1); }),
              1U);
    look(store(), [](Reader& r) -> expected<int> {
        EXPECT_EQ(r.trimmed_through(EventFamily::completion), 1);
        EXPECT_EQ(r.trimmed_through(EventFamily::lease_history), 0);
        return 0;
    });
}

TEST_P(StoreContract, events_are_found_by_family_age_and_number) {
    const Execution row = waiting(next_eid(), route());
    put(store(), changes(row));
    put_eight_events(store(), row);
    put(store(), changes(log_event_of(row, core::LogFamily::workers, t0 + 9)));
    using Number = std::optional<std::int64_t>;
    look(store(), [&](Reader& r) -> expected<int> {
        EXPECT_EQ(r.highest_event(), 9);
        const auto operators = r.family_events_after(core::LogFamily::operator_, 2, 2);
        EXPECT_TRUE(operators && operators->size() == 2 && (*operators)[0].event_id == 4);
        EXPECT_EQ(r.family_events_after(core::LogFamily::workers, 0, 9)->size(), 1U);
        EXPECT_EQ(r.family_events_after(core::LogFamily::flows, 0, 9)->size(), 0U);
        for (const auto& [family, first] :
             {std::pair(EventFamily::lease_history, 1), std::pair(EventFamily::operator_, 2)}) {
            EXPECT_EQ(r.oldest_events(family, t0, 9).value(), Number());
            EXPECT_EQ(r.oldest_events(family, t0 + 2, 9).value(), Number(first + 2));
            EXPECT_EQ(r.oldest_events(family, t0 + 9, 3).value(), Number(first + 4));
            EXPECT_EQ(r.nth_event(family, 0, 0).value(), Number(first));
            EXPECT_EQ(r.nth_event(family, first, 1).value(), Number(first + 4));
            EXPECT_EQ(r.nth_event(family, 0, 4).value(), Number());
            EXPECT_EQ(r.count_events(family, 0, 9), 4U);
            EXPECT_EQ(r.count_events(family, first, first + 4), 2U);
        }
        return 0;
    });
}

TEST_P(StoreContract, webhooks_are_put_found_and_deleted) {
    const auto id_of = [](std::uint8_t n) {
        WebhookId id;
        id.uuid.bytes[15] = n;
        return id;
    };
    core::Webhook full{id_of(2),
                       "https://example.com",
                       EventFamily::workers,
                       "{}",
                       all_bytes(),
                       true,
                       true,
                       3,
                       4,
                       5,
                       6,
                       t0,
                       t0 + 1,
                       t0 + 2,
                       "no",
                       t0 + 3,
                       "me",
                       t0 + 4};
    core::Webhook plain;
    plain.id = id_of(1);
    plain.url = "http://x";
    ASSERT_EQ(difference(full, core::Webhook{}), all_columns<core::Webhook>());
    put(store(), changes(full, plain));
    if (GetParam().survives_close) {
        reopen();
    }
    const auto all = [&](std::optional<WebhookId> after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.webhooks(after, limit); });
    };
    EXPECT_EQ(all({}, 9), (std::vector{plain, full}));
    EXPECT_EQ(all({}, 1), (std::vector{plain}));
    EXPECT_EQ(all(plain.id, 9), (std::vector{full}));
    full.delivered += 1;
    full.holder.reset();
    core::Changes change = changes(full);
    change.delete_webhooks.push_back(plain.id);
    put(store(), std::move(change));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.webhook(full.id); }), full);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.webhook(plain.id); }), std::nullopt);
}

TEST_P(StoreContract, numbers_are_never_used_again) {
    const RouteId where = route();
    Execution row = waiting(next_eid(), where);
    put(store(), changes(row, event_of(row, LeaseEventType::acquired),
                         log_event_of(row, core::LogFamily::operator_)));
    put(store(), deletion(row.eid));
    EXPECT_EQ(upkeep(store(), [](Store& s) { return s.trim_events(EventFamily::operator_, 9); }),
              1U);
    EXPECT_EQ(upkeep(store(), [](Store& s) { return s.trim_events(EventFamily::completion, 9); }),
              1U);
    if (GetParam().survives_close) {
        reopen();
        EXPECT_EQ(store().routes().all().size(), 1U);
    }
    EXPECT_EQ(next_eid(), 2);
    EXPECT_EQ(store().next_route_id(), where + 1);
    row = waiting(2, where);
    put(store(), changes(row, event_of(row, LeaseEventType::acquired)));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.events_after(0, 9); })[0].event_id, 3);
}

// --------------------------------------------------------------------------------- retention

struct Traces {
    std::optional<core::ExecutionInput> input;
    std::vector<core::Attempt> attempts;
    std::vector<Execution> listed;
    std::vector<core::TimerKey> timers;
    std::vector<core::ReadyKey> ready;

    bool operator==(const Traces&) const = default;
};

Traces traces_of(Store& store, Eid eid, RouteId route) {
    Traces out;
    out.input = look(store, [&](Reader& r) { return r.input(eid); });
    out.attempts = look(store, [&](Reader& r) { return r.attempts(eid); });
    for (const auto& rows :
         {look(store, [&](Reader& r) { return r.newest(99, 9); }),
          look(store, [&](Reader& r) { return r.newest_of_route(route, 99, 9); }),
          look(store, [&](Reader& r) { return r.newest_in_bucket(Bucket::failed, 99, 9); }),
          look(store, [&](Reader& r) { return r.newest_with_tag("city", "東京", 99, 9); })}) {
        out.listed.insert(out.listed.end(), rows.begin(), rows.end());
    }
    out.timers = timers(store);
    out.ready = look(store, [](Reader& r) { return r.ready_after({}, 9); });
    return out;
}

TEST_P(StoreContract, a_deleted_execution_takes_everything_with_it) {
    const RouteId where = route();
    Execution row = ended(next_eid(), where, TerminalOutcome::failed, t0);
    row.has_tags = row.has_policy = row.has_idempotency_key = true;
    put(store(),
        changes(row, full_input(row.eid), full_attempt(row.eid, 0), full_attempt(row.eid, 1),
                full_grant(row.eid), idempotency_of("acme", "key", row.id, t0 + 9)));
    ASSERT_NE(traces_of(store(), row.eid, where), Traces{});
    put(store(), deletion(row.eid));
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.execution(row.id); }));
    EXPECT_EQ(traces_of(store(), row.eid, where), Traces{});
    EXPECT_FALSE(find_idempotency(store(), {"acme", "key"}));
    // A successor under the same id finds no grant of the old one.
    row.eid = next_eid();
    put(store(), changes(row, input_of(row.eid)));
    EXPECT_FALSE(find_grant(store(), row.id));
}

TEST_P(StoreContract, a_deleted_execution_leaves_a_key_that_another_has_taken) {
    Execution row = ended(next_eid(), route(), TerminalOutcome::success, t0);
    row.has_idempotency_key = true;
    auto input = input_of(row.eid);
    input.idempotency_key = "a key that is longer than a short string";
    const auto entry = idempotency_of("acme", *input.idempotency_key, id_of(777), t0 + 9);
    put(store(), changes(row, input, entry));
    put(store(), deletion(row.eid));
    EXPECT_EQ(find_idempotency(store(), entry.key), entry);
}

TEST_P(StoreContract, what_is_not_deleted_stays) {
    const RouteId where = route();
    std::vector<Execution> rows;
    for (int i = 0; i < 3; ++i) {
        Execution row = waiting(next_eid(), where);
        row.has_tags = true;
        rows.push_back(row);
        put(store(), changes(row, input_of(row.eid, {{"a", "b"}}), attempt_of(row.eid, 0),
                             grant_of(row.eid, t0)));
    }
    put(store(), deletion(rows[1].eid));
    EXPECT_EQ(eids(ready(store(), where)), (std::vector<Eid>{1, 3}));
    for (const Execution& row : {rows[0], rows[2]}) {
        EXPECT_EQ(find_execution(store(), row.eid), row);
        EXPECT_TRUE(look(store(), [&](Reader& r) { return r.input(row.eid); }));
        EXPECT_EQ(look(store(), [&](Reader& r) { return r.attempts(row.eid); }).size(), 1U);
        EXPECT_TRUE(find_grant(store(), row.id));
    }
    EXPECT_EQ(eids(look(store(), [](Reader& r) { return r.newest_with_tag("a", "b", 99, 9); })),
              (std::vector<Eid>{3, 1}));
}

// Retention and a create under the same id can meet in one batch.
TEST_P(StoreContract, an_execution_deleted_and_created_again_in_one_batch_is_the_new_one) {
    const RouteId where = route();
    Execution old = ended(next_eid(), where, TerminalOutcome::failed, t0);
    old.has_tags = old.has_idempotency_key = true;
    put(store(), changes(old, full_input(old.eid), full_attempt(old.eid, 0), full_grant(old.eid),
                         event_of(old, LeaseEventType::released),
                         idempotency_of("acme", "key", old.id, t0 + 9)));
    Execution fresh = waiting(next_eid(), where);
    fresh.id = old.id;
    fresh.has_tags = true;
    const auto entry = idempotency_of("acme", "key", fresh.id, t0 + 99);
    {
        Transaction transaction(store());
        transaction.apply(deletion(old.eid));
        transaction.apply(changes(fresh, input_of(fresh.eid, {{"new", "tag"}}), entry,
                                  event_of(fresh, LeaseEventType::acquired)));
        const auto done = transaction.commit();
        ASSERT_TRUE(done) << done.error().message();
        ASSERT_TRUE(store().make_durable());
    }
    fresh.last_event_id = 2;
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.execution(old.id); }), fresh);
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.input(old.eid); }));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.input(fresh.eid); }),
              input_of(fresh.eid, {{"new", "tag"}}));
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.attempts(old.eid); }).empty());
    EXPECT_TRUE(look(store(), [&](Reader& r) { return r.attempts(fresh.eid); }).empty());
    EXPECT_FALSE(find_grant(store(), fresh.id));
    EXPECT_EQ(find_idempotency(store(), entry.key), entry);
    EXPECT_EQ(eids(ready(store(), where)), (std::vector<Eid>{fresh.eid}));
    EXPECT_TRUE(timers(store()).empty());
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.history(fresh, 9); }).size(), 1U);
}

}  // namespace
}  // namespace ff::store::test
