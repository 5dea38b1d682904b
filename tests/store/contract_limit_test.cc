// The rows of limits on every store.
#include "store/contract.h"
#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::Admission;
using core::Attachment;
using core::LimitKey;
using core::LimitKind;

class LimitContract : public StoreContract {
  protected:
    static QuotaPolicyId policy_id(std::uint8_t n) { return {Uuid{{n}}}; }
    static LimitKey budget_key(std::uint8_t n) { return {LimitKind::budget, {Uuid{{n}}}}; }
    static LimitKey quota_key(std::uint8_t n) { return {LimitKind::quota, {Uuid{{n}}}}; }
    static Attachment attached(LimitKey limit, LimitTarget type, std::string id, bool by_place) {
        return {{limit.kind, limit.id, {type, std::move(id)}}, by_place};
    }
    /// What a transaction at a time sees.
    template <class Look>
    void inside(const core::ReadSet& set, TimestampMs now, Look look) {
        core::Snapshot snapshot(store().routes());
        snapshot.limits.now = now;
        ASSERT_TRUE(store().begin());
        ASSERT_TRUE(store().load(set, snapshot));
        look(snapshot.limits);
        store().rollback();
    }
    template <class Scan>
    auto scan(Scan scan) {
        EXPECT_TRUE(store().begin());
        auto found = scan(store());
        store().rollback();
        EXPECT_TRUE(found);
        return found ? *found : typename decltype(found)::value_type{};
    }
};
INSTANTIATE_TEST_SUITE_P(Stores, LimitContract, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

TEST_P(LimitContract, rows_come_back_as_they_were_put) {
    EXPECT_EQ(difference(full_budget(1), core::Budget{}), all_columns<core::Budget>());
    EXPECT_EQ(difference(full_policy(1), core::QuotaPolicy{}), all_columns<core::QuotaPolicy>());
    const core::UsageDedup dedup{{BudgetId{Uuid{{1}}}, "k"}, t0, t0 + 9};
    const Admission admission{{id_of(4), policy_id(2)}, t0 + 1, t0 + 2};
    put(store(), changes(full_budget(1), full_ledger(1, 3), dedup, full_policy(2), admission));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.budget(BudgetId{Uuid{{1}}}); }),
              full_budget(1));
    EXPECT_FALSE(look(store(), [](Reader& r) { return r.budget(BudgetId{Uuid{{2}}}); }));
    EXPECT_EQ(look(store(), [](Reader& r) { return r.policy(policy_id(2)); }), full_policy(2));
    EXPECT_EQ(
        look(store(), [](Reader& r) { return r.ledgers(BudgetId{Uuid{{1}}}, std::nullopt, 10); }),
        std::vector{full_ledger(1, 3)});
    core::ReadSet set;
    set.limits.dedups = {dedup.key, {BudgetId{Uuid{{1}}}, "other"}};
    set.limits.admissions = {admission.key, {id_of(5), policy_id(2)}};
    set.limits.admissions_of = {id_of(4)};
    inside(set, t0, [&](const core::LimitTable& limits) {
        ASSERT_NE(limits.dedup(dedup.key), nullptr);
        EXPECT_EQ(*limits.dedup(dedup.key), dedup);
        EXPECT_EQ(limits.dedup({BudgetId{Uuid{{1}}}, "other"}), nullptr);
        ASSERT_NE(limits.admission(admission.key), nullptr);
        EXPECT_EQ(*limits.admission(admission.key), admission);
        EXPECT_EQ(limits.admission({id_of(5), policy_id(2)}), nullptr);
        EXPECT_EQ(limits.admissions_of(id_of(4)), std::vector{admission});
    });
}

TEST_P(LimitContract, pages_are_in_the_order_of_ids) {
    put(store(), changes(full_budget(3), full_budget(1), full_budget(2), full_ledger(1, 9),
                         full_ledger(1, 2), full_ledger(2, 1)));
    const auto budgets =
        look(store(), [](Reader& r) { return r.budgets(BudgetId{Uuid{{1}}}, 10); });
    ASSERT_EQ(budgets.size(), 2U);
    EXPECT_EQ(budgets[0].id, BudgetId{Uuid{{2}}});
    EXPECT_EQ(look(store(), [](Reader& r) { return r.budgets(std::nullopt, 2); }).size(), 2U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.budget_ids(BudgetId{Uuid{{1}}}, 1); }),
              std::vector{budgets[0].id});
    EXPECT_EQ(look(store(), [](Reader& r) { return r.ledgers(BudgetId{Uuid{{1}}}, id_of(2), 10); }),
              std::vector{full_ledger(1, 9)});
}

TEST_P(LimitContract, a_policy_comes_with_what_has_aged_and_the_oldest_other) {
    core::QuotaPolicy policy = full_policy(2);
    policy.window_ms = 1'000;
    policy.in_window = 4;
    const Admission aged{{id_of(1), policy_id(2)}, t0, std::nullopt};
    const Admission edge{{id_of(2), policy_id(2)}, t0 + 500, t0};
    put(store(), changes(policy, aged, edge, Admission{{id_of(3), policy_id(2)}, t0 + 501, {}},
                         Admission{{id_of(4), policy_id(2)}, {}, t0},
                         Admission{{id_of(5), policy_id(3)}, t0, {}}));
    core::ReadSet set;
    set.limits.policies = {policy_id(2), policy_id(9)};
    inside(set, t0 + 1'500, [&](const core::LimitTable& limits) {
        EXPECT_EQ(limits.aged(policy_id(2)), (std::vector{aged, edge}));
        EXPECT_EQ(limits.window(policy_id(2)).oldest, t0 + 501);
        EXPECT_EQ(limits.policy(policy_id(9)), nullptr);
    });
    EXPECT_EQ(look(store(), [](Reader& r) { return r.starts(policy_id(2), t0 + 500); }), 2U);
    EXPECT_EQ(look(store(), [](Reader& r) { return r.starts(policy_id(2), t0 + 9'000); }), 3U);
    const auto slots =
        look(store(), [](Reader& r) { return r.slots(policy_id(2), std::nullopt, 10); });
    ASSERT_EQ(slots.size(), 2U);
    EXPECT_EQ(slots[0].key.execution, id_of(2));
}

TEST_P(LimitContract, attachments_are_found_by_target_by_limit_and_by_place) {
    const auto lane = attached(budget_key(1), LimitTarget::lane, "gpu", true);
    const auto one = attached(budget_key(1), LimitTarget::execution, id_of(1).to_string(), false);
    const auto two = attached(budget_key(1), LimitTarget::execution, id_of(2).to_string(), false);
    const auto quota = attached(quota_key(5), LimitTarget::lane, "gpu", true);
    put(store(), changes(lane, one, two, quota));
    core::ReadSet set;
    set.limits.places = true;
    set.limits.targets = {lane.key.target, {LimitTarget::flow, "gpu"}};
    const core::LimitReads::PageOf all{budget_key(1), std::nullopt, 10};
    const core::LimitReads::PageOf rest{budget_key(1), id_of(1).to_string(), 10};
    set.limits.attached = {all, rest};
    inside(set, t0, [&](const core::LimitTable& limits) {
        EXPECT_TRUE(limits.any_places());
        EXPECT_EQ(limits.placed_at(lane.key.target), (std::set{budget_key(1), quota_key(5)}));
        EXPECT_EQ(limits.attached_to(lane.key.target), (std::vector{lane, quota}));
        EXPECT_TRUE(limits.attached_to({LimitTarget::flow, "gpu"}).empty());
        EXPECT_EQ(limits.attached(all), (std::vector{id_of(1).to_string(), id_of(2).to_string()}));
        EXPECT_EQ(limits.attached(rest), std::vector{id_of(2).to_string()});
    });
    core::Changes gone;
    gone.delete_attachments = {lane.key, {LimitKind::quota, {}, {LimitTarget::lane, "none"}}};
    put(store(), std::move(gone));
    core::ReadSet again;
    again.limits.places = true;
    inside(again, t0, [&](const core::LimitTable& limits) {
        EXPECT_EQ(limits.placed_at(lane.key.target), std::set{quota_key(5)});
    });
}

TEST_P(LimitContract, limits_are_found_by_their_time_and_by_who_waits) {
    core::Budget budget = full_budget(1);
    budget.timer_at = t0 + 10;
    core::Budget idle = full_budget(2);
    idle.timer_at.reset();
    idle.waiting = false;
    core::QuotaPolicy policy = full_policy(3);
    policy.wake_at = t0 + 5;
    put(store(), changes(budget, idle, policy));
    const auto due = [&](TimestampMs now) {
        return scan([&](Store& s) { return s.scan_due_limits(now, 10); });
    };
    EXPECT_EQ(due(t0 + 4), std::vector<LimitKey>{});
    EXPECT_EQ(due(t0 + 5), std::vector{quota_key(3)});
    EXPECT_EQ(due(t0 + 10), (std::vector{budget_key(1), quota_key(3)}));
    EXPECT_EQ(scan([&](Store& s) { return s.next_due(t0); }), t0 + 5);
    EXPECT_EQ(scan([&](Store& s) { return s.next_due(t0 + 5); }), t0 + 10);
    EXPECT_EQ(scan([&](Store& s) { return s.scan_waiting_limits({}, 10); }),
              (std::vector{budget_key(1), quota_key(3)}));
    EXPECT_EQ(scan([&](Store& s) { return s.scan_waiting_limits(budget_key(1), 10); }),
              std::vector{quota_key(3)});
}

TEST_P(LimitContract, keys_of_reports_go_when_their_time_is_over) {
    const BudgetId id{Uuid{{1}}};
    put(store(), changes(core::UsageDedup{{id, "old"}, t0, t0 + 10},
                         core::UsageDedup{{id, "new"}, t0, t0 + 11}));
    ASSERT_TRUE(store().begin());
    EXPECT_EQ(store().sweep_usage_dedup(t0 + 10, 100), 1U);
    ASSERT_TRUE(store().commit_upkeep());
    core::ReadSet set;
    set.limits.dedups = {{id, "old"}, {id, "new"}};
    inside(set, t0, [&](const core::LimitTable& limits) {
        EXPECT_EQ(limits.dedup({id, "old"}), nullptr);
        EXPECT_NE(limits.dedup({id, "new"}), nullptr);
    });
}

}  // namespace
}  // namespace ff::store::test
