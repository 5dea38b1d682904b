// The conformance suite, third part: reads in pages. Cursors are exclusive, limits are limits.
#include "store/contract.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace ff::store::test {
namespace {

using core::Bucket;
using core::Execution;
using core::LeaseEventType;
using core::ReadyKey;
using core::TimerKey;
using core::TimerKind;

constexpr Eid newest_of_all = 1'000;

TEST_P(StoreContract, ids_of_a_partition_are_paged_in_order) {
    const RouteId where = route();
    const auto add_id = [&](const ExecutionId& id) {
        Execution row = waiting(next_eid(), where);
        row.id = id;
        put(store(), changes(row));
    };
    ExecutionId last{7, {}};
    last.uuid.bytes.fill(0xff);
    const std::vector<ExecutionId> ids{{7, {}}, id_of(1, 7), id_of(2, 7), id_of(300, 7), last};
    for (std::size_t i : {3U, 0U, 4U, 2U, 1U}) {
        add_id(ids[i]);
    }
    add_id(id_of(5, 6));
    add_id(id_of(5, 8));
    add_id(id_of(5, 0x0700));
    const auto page = [&](std::optional<ExecutionId> after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.ids_of_partition(7, after, limit); });
    };
    EXPECT_EQ(page(std::nullopt, 100), ids);
    EXPECT_EQ(page(std::nullopt, 2), (std::vector{ids[0], ids[1]}));
    EXPECT_EQ(page(ids[1], 2), (std::vector{ids[2], ids[3]}));
    EXPECT_EQ(page(ids[3], 2), (std::vector{ids[4]}));
    EXPECT_TRUE(page(ids[4], 2).empty());
    EXPECT_TRUE(page(std::nullopt, 0).empty());
    // A cursor that names no id, and cursors of other partitions.
    EXPECT_EQ(page(id_of(200, 7), 1), (std::vector{ids[3]}));
    EXPECT_EQ(page(id_of(1, 6), 100), ids);
    EXPECT_TRUE(page(id_of(1, 8), 100).empty());
    EXPECT_EQ(look(store(), [](Reader& r) { return r.ids_of_partition(0xffff, {}, 9); }).size(),
              0U);
}

TEST_P(StoreContract, the_newest_executions_are_paged_backwards) {
    const RouteId one = route();
    const RouteId two = route("other");
    for (RouteId where : {one, two, one, one, two}) {
        put(store(), changes(waiting(next_eid(), where)));
    }
    const auto page = [&](Eid before, std::size_t limit) {
        return eids(look(store(), [&](Reader& r) { return r.newest(before, limit); }));
    };
    EXPECT_EQ(page(newest_of_all, 2), (std::vector<Eid>{5, 4}));
    EXPECT_EQ(page(4, 2), (std::vector<Eid>{3, 2}));
    EXPECT_EQ(page(2, 2), (std::vector<Eid>{1}));
    EXPECT_TRUE(page(1, 2).empty());
    EXPECT_TRUE(page(newest_of_all, 0).empty());
    const auto of_route = [&](RouteId where, Eid before, std::size_t limit) {
        return eids(
            look(store(), [&](Reader& r) { return r.newest_of_route(where, before, limit); }));
    };
    EXPECT_EQ(of_route(one, newest_of_all, 2), (std::vector<Eid>{4, 3}));
    EXPECT_EQ(of_route(one, 3, 2), (std::vector<Eid>{1}));
    EXPECT_EQ(of_route(two, newest_of_all, 9), (std::vector<Eid>{5, 2}));
    EXPECT_TRUE(of_route(two, 2, 9).empty());
    EXPECT_TRUE(of_route(99, newest_of_all, 9).empty());
}

TEST_P(StoreContract, tagged_executions_are_paged_backwards_by_exact_tag) {
    const RouteId where = route();
    for (const Tags& tags : std::vector<Tags>{{{"k", "v"}},
                                              {{"k", "w"}},
                                              {{"k", "v"}, {"l", "v"}},
                                              {},
                                              {{"k", "v"}},
                                              {{"K", "v"}}}) {
        Execution row = waiting(next_eid(), where);
        row.has_tags = !tags.empty();
        put(store(), changes(row, input_of(row.eid, tags)));
    }
    const auto page = [&](const std::string& key, const std::string& value, Eid before,
                          std::size_t limit) {
        return eids(
            look(store(), [&](Reader& r) { return r.newest_with_tag(key, value, before, limit); }));
    };
    EXPECT_EQ(page("k", "v", newest_of_all, 9), (std::vector<Eid>{5, 3, 1}));
    EXPECT_EQ(page("k", "v", newest_of_all, 1), (std::vector<Eid>{5}));
    EXPECT_EQ(page("k", "v", 5, 1), (std::vector<Eid>{3}));
    EXPECT_EQ(page("k", "v", 3, 9), (std::vector<Eid>{1}));
    EXPECT_EQ(page("l", "v", newest_of_all, 9), (std::vector<Eid>{3}));
    EXPECT_EQ(page("K", "v", newest_of_all, 9), (std::vector<Eid>{6}));
    EXPECT_TRUE(page("k", "", newest_of_all, 9).empty());
    EXPECT_TRUE(page("", "v", newest_of_all, 9).empty());
}

TEST_P(StoreContract, a_bucket_is_paged_backwards) {
    const RouteId where = route();
    for (Bucket bucket :
         {Bucket::failed, Bucket::delayed, Bucket::failed, Bucket::none, Bucket::failed}) {
        put(store(), changes(in_bucket(next_eid(), where, bucket)));
    }
    const auto page = [&](Bucket bucket, Eid before, std::size_t limit) {
        return eids(
            look(store(), [&](Reader& r) { return r.newest_in_bucket(bucket, before, limit); }));
    };
    EXPECT_EQ(page(Bucket::failed, newest_of_all, 2), (std::vector<Eid>{5, 3}));
    EXPECT_EQ(page(Bucket::failed, 3, 2), (std::vector<Eid>{1}));
    EXPECT_EQ(page(Bucket::delayed, newest_of_all, 2), (std::vector<Eid>{2}));
    EXPECT_TRUE(page(Bucket::skipped, newest_of_all, 2).empty());
}

TEST_P(StoreContract, leased_executions_are_listed_and_found_when_due) {
    const RouteId where = route();
    put(store(), changes(leased(next_eid(), where, "a", t0 + 30)));
    put(store(), changes(delayed(next_eid(), where, t0 + 1)));
    put(store(), changes(leased(next_eid(), where, "b", t0 + 10)));
    put(store(), changes(leased(next_eid(), where, "c", t0 + 10)));
    put(store(), changes(in_bucket(next_eid(), where, Bucket::reclaimable)));
    const auto page = [&](Eid before, std::size_t limit) {
        return eids(look(store(), [&](Reader& r) { return r.newest_leased(before, limit); }));
    };
    EXPECT_EQ(page(newest_of_all, 2), (std::vector<Eid>{4, 3}));
    EXPECT_EQ(page(3, 2), (std::vector<Eid>{1}));
    EXPECT_TRUE(page(1, 2).empty());
    const auto due = [&](TimestampMs as_of, Reader::LeaseKey after = {}, std::size_t limit = 10) {
        return eids(look(store(), [&](Reader& r) { return r.leased_due(after, as_of, limit); }));
    };
    EXPECT_TRUE(due(t0 + 9).empty());
    EXPECT_EQ(due(t0 + 10), (std::vector<Eid>{3, 4}));
    EXPECT_EQ(due(t0 + 30), (std::vector<Eid>{3, 4, 1}));
    EXPECT_EQ(due(t0 + 30, {}, 2), (std::vector<Eid>{3, 4}));
    EXPECT_EQ(due(t0 + 30, {t0 + 10, 3}), (std::vector<Eid>{4, 1}));
    EXPECT_EQ(due(t0 + 30, {t0 + 10, 4}), (std::vector<Eid>{1}));
    EXPECT_EQ(due(t0 + 10, {t0 + 9, 99}), (std::vector<Eid>{3, 4}));
}

// Every list within every window of six, in both orders and with every limit.
TEST_P(StoreContract, a_window_is_read_from_either_end) {
    const RouteId where = route();
    const RouteId elsewhere = route("other");
    std::map<std::string, std::vector<Eid>> lists;
    for (int i = 0; i < 6; ++i) {
        const Eid eid = next_eid();
        const RouteId own = i % 3 == 2 ? elsewhere : where;
        Execution row = i % 2 == 0 ? in_bucket(eid, own, Bucket::failed)
                                   : leased(eid, own, "w" + std::to_string(i), t0 + 10);
        row.has_tags = i < 4;
        put(store(), changes(row, input_of(eid, i < 4 ? Tags{{"k", "v"}} : Tags{})));
        lists["all"].push_back(eid);
        if (own == where) {
            lists["route"].push_back(eid);
        }
        lists[i % 2 == 0 ? "bucket" : "leased"].push_back(eid);
        if (i < 4) {
            lists["tag"].push_back(eid);
        }
    }
    const auto read = [&](const std::string& list, const Window& window) {
        return eids(look(store(), [&](Reader& r) {
            return list == "all"      ? r.executions(window)
                   : list == "route"  ? r.of_route(where, window)
                   : list == "tag"    ? r.with_tag("k", "v", window)
                   : list == "bucket" ? r.in_bucket(Bucket::failed, window)
                                      : r.leased(window);
        }));
    };
    for (const auto& [list, members] : lists) {
        for (Eid above = 0; above <= 7; ++above) {
            for (Eid below = 0; below <= 8; ++below) {
                std::vector<Eid> within;
                std::ranges::copy_if(members, std::back_inserter(within),
                                     [&](Eid eid) { return eid > above && eid < below; });
                for (std::size_t limit : {0U, 1U, 2U, 9U}) {
                    std::vector<Eid> oldest = within;
                    oldest.resize(std::min(limit, within.size()));
                    std::vector<Eid> newest(within.rbegin(), within.rend());
                    newest.resize(std::min(limit, within.size()));
                    EXPECT_EQ(read(list, {above, below, Order::oldest_first, limit}), oldest)
                        << list << " above " << above << " below " << below;
                    EXPECT_EQ(read(list, {above, below, Order::newest_first, limit}), newest)
                        << list << " above " << above << " below " << below;
                }
            }
        }
    }
}

TEST_P(StoreContract, of_a_window_of_one_tag_those_with_another_are_told) {
    const RouteId where = route();
    for (const Tags& tags : std::vector<Tags>{{{"a", "1"}, {"b", "1"}},
                                              {{"a", "1"}},
                                              {{"b", "1"}},
                                              {{"a", "1"}, {"b", "2"}},
                                              {{"a", "1"}, {"b", "1"}},
                                              {{"a", "2"}, {"b", "1"}},
                                              {{"a", "1"}, {"b", "1"}}}) {
        Execution row = waiting(next_eid(), where);
        row.has_tags = true;
        put(store(), changes(row, input_of(row.eid, tags)));
    }
    const auto both = [&](const Window& window) {
        auto found =
            look(store(), [&](Reader& r) { return r.tagged_too({"a", "1"}, {"b", "1"}, window); });
        std::ranges::sort(found);
        return found;
    };
    EXPECT_EQ(both({.limit = 99}), (std::vector<Eid>{1, 5, 7}));
    EXPECT_EQ(both({.above = 1, .below = 7, .limit = 99}), (std::vector<Eid>{5}));
    // The limit is that of the first tag's list, whatever the second says.
    EXPECT_EQ(both({.limit = 3}), (std::vector<Eid>{5, 7}));
    EXPECT_EQ(both({.order = Order::oldest_first, .limit = 3}), (std::vector<Eid>{1}));
    EXPECT_TRUE(both({.limit = 0}).empty());
}

TEST_P(StoreContract, lanes_are_paged_in_the_order_of_their_bytes) {
    for (const std::string name : {"b", "a", "Z", "a b", "~"}) {
        put(store(), changes(core::Lane{name, LaneState::active, t0}));
    }
    const auto page = [&](const std::string& after, std::size_t limit) {
        std::vector<std::string> names;
        for (const auto& lane : look(store(), [&](Reader& r) { return r.lanes(after, limit); })) {
            names.push_back(lane.name);
        }
        return names;
    };
    EXPECT_EQ(page("", 99), (std::vector<std::string>{"Z", "a", "a b", "b", "~"}));
    EXPECT_EQ(page("a", 2), (std::vector<std::string>{"a b", "b"}));
    EXPECT_TRUE(page("~", 2).empty());
    EXPECT_TRUE(page("", 0).empty());
}

TEST_P(StoreContract, workers_are_paged_in_the_order_of_their_keys) {
    for (const auto& [ns, instance] : std::vector<std::pair<std::string, std::string>>{
             {"b", "1"}, {"a", "2"}, {"a", "1"}, {"b", "0"}, {"c", "1"}}) {
        put(store(), changes(worker_of(ns, instance)));
    }
    using Keys = std::vector<core::WorkerKey>;
    const auto page = [&](std::optional<std::string> ns, const core::WorkerKey& after,
                          std::size_t limit) {
        Keys keys;
        for (const auto& row :
             look(store(), [&](Reader& r) { return r.workers(ns, after, limit); })) {
            keys.push_back(row.key);
        }
        return keys;
    };
    EXPECT_EQ(page({}, {}, 99), (Keys{{"a", "1"}, {"a", "2"}, {"b", "0"}, {"b", "1"}, {"c", "1"}}));
    EXPECT_EQ(page({}, {"a", "1"}, 2), (Keys{{"a", "2"}, {"b", "0"}}));
    EXPECT_EQ(page("b", {}, 99), (Keys{{"b", "0"}, {"b", "1"}}));
    EXPECT_EQ(page("b", {"b", "0"}, 99), (Keys{{"b", "1"}}));
    EXPECT_EQ(page("b", {}, 1), (Keys{{"b", "0"}}));
    EXPECT_TRUE(page("b", {"b", "1"}, 99).empty());
    // A cursor left over from another namespace.
    EXPECT_EQ(page("b", {"a", "2"}, 99), (Keys{{"b", "0"}, {"b", "1"}}));
    EXPECT_TRUE(page("b", {"c", "0"}, 99).empty());
    EXPECT_TRUE(page("nobody", {}, 99).empty());
}

TEST_P(StoreContract, ready_before_counts_over_routes_up_to_a_limit) {
    const RouteId one = route();
    const RouteId two = route("other");
    const RouteId three = route("third");
    put(store(), changes(waiting(next_eid(), one, 5)));    // 1
    put(store(), changes(waiting(next_eid(), two, 9)));    // 2
    put(store(), changes(waiting(next_eid(), one, 5)));    // 3
    put(store(), changes(waiting(next_eid(), two, 1)));    // 4
    put(store(), changes(waiting(next_eid(), three, 9)));  // 5
    const auto count = [&](std::vector<RouteId> routes, const ReadyKey& key, std::uint64_t limit) {
        return look(store(), [&](Reader& r) { return r.ready_before(routes, key, limit); });
    };
    EXPECT_EQ(count({one, two}, {one, -5, 3}, 99), 2U);  // 1 and 2
    EXPECT_EQ(count({one, two}, {two, -1, 4}, 99), 3U);
    EXPECT_EQ(count({one, two, three}, {two, -1, 4}, 99), 4U);
    EXPECT_EQ(count({one, two, three}, {two, -1, 4}, 2), 2U);
    EXPECT_EQ(count({one, two}, {two, -9, 2}, 99), 0U);
    EXPECT_EQ(count({}, {two, -1, 4}, 99), 0U);
    EXPECT_EQ(count({one}, {two, -1, 4}, 0), 0U);
}

TEST_P(StoreContract, log_events_of_an_execution_come_oldest_first) {
    const Execution one = waiting(next_eid(), route());
    const Execution two = waiting(next_eid(), one.route);
    core::LogEvent nobody;
    put(store(), changes(one, two, log_event_of(one, core::LogFamily::operator_),
                         log_event_of(two, core::LogFamily::operator_),
                         log_event_of(one, core::LogFamily::instance_tags), nobody));
    const auto page = [&](Eid eid, std::size_t limit) {
        std::vector<std::int64_t> ids;
        for (const auto& event :
             look(store(), [&](Reader& r) { return r.log_events_of(eid, limit); })) {
            ids.push_back(event.event_id);
        }
        return ids;
    };
    EXPECT_EQ(page(one.eid, 9), (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(page(one.eid, 1), (std::vector<std::int64_t>{1}));
    EXPECT_EQ(page(two.eid, 9), (std::vector<std::int64_t>{2}));
    EXPECT_TRUE(page(99, 9).empty());
}

TEST_P(StoreContract, whole_tables_are_paged_behind_a_key) {
    const RouteId one = route();
    const RouteId two = route("other");
    const Execution row = waiting(next_eid(), two, 1);
    put(store(),
        changes(row, event_of(row, LeaseEventType::acquired),
                event_of(row, LeaseEventType::renewed), log_event_of(row, core::LogFamily::workers),
                log_event_of(row, core::LogFamily::workers)));
    put(store(), changes(waiting(next_eid(), one, 0)));
    put(store(), changes(waiting(next_eid(), one, 3)));
    put(store(), changes(delayed(next_eid(), one, t0 + 5)));
    put(store(), changes(leased(next_eid(), one, "a", t0 + 9)));
    put(store(), changes(in_bucket(next_eid(), one, Bucket::failed)));

    const auto events = [&](std::int64_t after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.events_after(after, limit); }).size();
    };
    EXPECT_EQ(events(0, 9), 2U);
    EXPECT_EQ(events(0, 1), 1U);
    EXPECT_EQ(events(1, 9), 1U);
    EXPECT_EQ(events(2, 9), 0U);
    const auto logged = [&](std::int64_t after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.log_events_after(after, limit); }).size();
    };
    EXPECT_EQ(logged(0, 9), 2U);
    EXPECT_EQ(logged(2, 1), 1U);
    EXPECT_EQ(logged(3, 9), 1U);
    EXPECT_EQ(logged(4, 9), 0U);

    const auto ready = [&](const ReadyKey& after, std::size_t limit) {
        return eids(look(store(), [&](Reader& r) { return r.ready_after(after, limit); }));
    };
    EXPECT_EQ(ready({}, 9), (std::vector<Eid>{3, 2, 1}));
    EXPECT_EQ(ready({}, 1), (std::vector<Eid>{3}));
    EXPECT_EQ(ready({one, -3, 3}, 9), (std::vector<Eid>{2, 1}));
    EXPECT_EQ(ready({one, 0, 2}, 9), (std::vector<Eid>{1}));
    EXPECT_TRUE(ready({two, -1, 1}, 9).empty());

    const auto timers = [&](const TimerKey& after, std::size_t limit) {
        return eids(look(store(), [&](Reader& r) { return r.timers_after(after, limit); }));
    };
    EXPECT_EQ(timers({TimerKind::lease, 0, 0}, 9), (std::vector<Eid>{5, 4, 6}));
    EXPECT_EQ(timers({TimerKind::lease, t0 + 9, 5}, 1), (std::vector<Eid>{4}));
    EXPECT_EQ(timers({TimerKind::wake, t0 + 5, 4}, 9), (std::vector<Eid>{6}));

    const auto listed = [&](Bucket bucket, Eid after, std::size_t limit) {
        return look(store(), [&](Reader& r) { return r.listed_after(bucket, after, limit); });
    };
    using Listed = std::vector<std::pair<Bucket, Eid>>;
    EXPECT_EQ(listed(Bucket::none, 0, 9), (Listed{{Bucket::delayed, 4}, {Bucket::failed, 6}}));
    EXPECT_EQ(listed(Bucket::none, 0, 1), (Listed{{Bucket::delayed, 4}}));
    EXPECT_EQ(listed(Bucket::delayed, 4, 9), (Listed{{Bucket::failed, 6}}));
    EXPECT_TRUE(listed(Bucket::failed, 6, 9).empty());
}

TEST_P(StoreContract, an_error_of_the_body_is_the_error_of_the_read) {
    const auto outcome = store().read(
        [](Reader&) -> expected<void> { return ff::fail(ErrorCode::invalid_input, "no"); });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::invalid_input);
    EXPECT_TRUE(look(store(), [](Reader& r) { return r.routes(); }).empty());
}

}  // namespace
}  // namespace ff::store::test
