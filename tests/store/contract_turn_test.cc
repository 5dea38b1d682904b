// What every store keeps of turns and keys: places in line, who has a turn, policies of keys.
#include "store/contract.h"

namespace ff::store::test {

using core::TurnKey;

class TurnContract : public StoreContract {
  protected:
    static core::Execution standing(Eid eid, RouteId route, std::optional<Eid> place) {
        core::Execution e = waiting(eid, route);
        e.limit_key = "acme";
        e.has_turn = true;
        e.place = place;
        return e;
    }
    std::vector<core::ReadyKey> line(RouteId route,
                                     const std::optional<core::ReadyKey>& after = {}) {
        EXPECT_TRUE(store().begin());
        const auto keys = store().scan_ready(route, after, 9);
        store().rollback();
        EXPECT_TRUE(keys);
        return keys.value_or(std::vector<core::ReadyKey>{});
    }
    std::vector<TurnKey> turns(const std::vector<RouteId>& queues) {
        EXPECT_TRUE(store().begin());
        const auto found = store().lock_turns(queues);
        store().rollback();
        EXPECT_TRUE(found);
        EXPECT_TRUE(!found || found->busy.empty());
        return found ? found->holders : std::vector<TurnKey>{};
    }
    static core::QuotaPolicy of_key(std::uint8_t n, std::uint8_t parent, const std::string& key) {
        core::QuotaPolicy row;
        row.id = QuotaPolicyId{Uuid{{n}}};
        row.parent = QuotaPolicyId{Uuid{{parent}}};
        row.limit_key = key;
        return row;
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, TurnContract, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

TEST_P(TurnContract, a_place_of_its_own_decides_where_it_stands) {
    const RouteId where = route();
    put(store(), changes(standing(1, where, 50), input_of(1)));
    put(store(), changes(waiting(2, where), input_of(2)));
    put(store(), changes(standing(3, where, std::nullopt), input_of(3)));
    const core::ReadyKey first{where, 0, 2};
    const core::ReadyKey second{where, 0, 3};
    const core::ReadyKey last{where, 0, 50, 1};
    EXPECT_EQ(line(where), (std::vector{first, second, last}));
    EXPECT_EQ(line(where, first), (std::vector{second, last}));
    EXPECT_EQ(line(where, last), std::vector<core::ReadyKey>{});
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.ready_before({&where, 1}, last, 9); }), 2U);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.ready_after({where, -9, 0}, 9); }),
              (std::vector{first, second, last}));
    EXPECT_EQ(find_execution(store(), 1)->place, 50);
}

TEST_P(TurnContract, who_has_the_turn_follows_from_the_row) {
    const RouteId where = route();
    core::Execution one = standing(1, where, 50);
    const core::Execution two = standing(2, where, std::nullopt);
    put(store(), changes(one, input_of(1)));
    put(store(), changes(two, input_of(2)));
    const RouteId queue = core::turn_key(one)->queue;
    EXPECT_EQ(turns({queue}), (std::vector{TurnKey{queue, 1}, TurnKey{queue, 2}}));
    EXPECT_EQ(turns({queue - 1, queue + 1}), std::vector<TurnKey>{});
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.turns_after({queue, 1}, 9); }),
              (std::vector{TurnKey{queue, 2}}));
    one.has_turn = false;
    one.place.reset();
    put(store(), changes(one));
    EXPECT_EQ(turns({queue}), (std::vector{TurnKey{queue, 2}}));
    EXPECT_EQ(line(where), (std::vector{core::ReadyKey{where, 0, 1}, core::ReadyKey{where, 0, 2}}));
}

TEST_P(TurnContract, numbers_are_drawn_above_every_place) {
    if (!GetParam().survives_close) {
        GTEST_SKIP() << "nothing is left of it";
    }
    put(store(), changes(standing(1, route(), 5'000'000'000'000'000'000), input_of(1)));
    reopen();
    ASSERT_TRUE(store().begin());
    EXPECT_GT(store().next_eid(t0), 5'000'000'000'000'000'000);
    store().rollback();
}

TEST_P(TurnContract, policies_of_keys_are_listed_by_their_policy) {
    core::QuotaPolicy parent;
    parent.id = QuotaPolicyId{Uuid{{9}}};
    parent.limits.per_key = true;
    const auto b = of_key(1, 9, "b");
    const auto a = of_key(2, 9, "a");
    put(store(), changes(parent, b, a, of_key(3, 8, "a")));
    const auto keys = [&](const std::string& after, std::size_t limit) {
        return look(store(),
                    [&](Reader& r) { return r.policies_of_keys(parent.id, after, limit); });
    };
    EXPECT_EQ(keys("", 9), (std::vector{a, b}));
    EXPECT_EQ(keys("", 1), (std::vector{a}));
    EXPECT_EQ(keys("a", 9), (std::vector{b}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.policies_listed(std::nullopt, 9); }),
              (std::vector{parent}));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.policy_ids(std::nullopt, 9); }).size(), 4U);
    core::ReadSet set;
    const core::LimitReads::PageOf ask{{core::LimitKind::quota, {parent.id.uuid}}, "a", 9};
    set.limits.keys = {ask};
    set.limits.policies_looked = {parent.id, QuotaPolicyId{Uuid{{77}}}};
    core::Snapshot snapshot(store().routes());
    ASSERT_TRUE(store().begin());
    ASSERT_TRUE(store().load(set, snapshot));
    EXPECT_EQ(snapshot.limits.keys(ask), (std::vector<std::string>{"b"}));
    ASSERT_NE(snapshot.limits.policy(parent.id), nullptr);
    EXPECT_EQ(*snapshot.limits.policy(parent.id), parent);
    EXPECT_EQ(snapshot.limits.policy(QuotaPolicyId{Uuid{{77}}}), nullptr);
    core::ReadSet locked;
    locked.limits.policies = {parent.id};
    ASSERT_TRUE(store().load(locked, snapshot));
    EXPECT_TRUE(snapshot.limits.holds_policy(parent.id));
    store().rollback();
}

}  // namespace ff::store::test
