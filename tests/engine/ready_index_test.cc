// The index of ready work against a model of plain sets, over random lives of keys, batches,
// commits and failures.
#include "engine/ready_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <ff/policy.h>

namespace ff::engine::test {

namespace {

using core::ReadyKey;
using core::Route;
using core::RouteId;

/// A store that has nothing but routes and ready queues.
class QueueStore final : public store::Store {
  public:
    std::set<ReadyKey> ready;
    core::RouteTable route_table;
    std::size_t rows_read = 0;

    [[nodiscard]] const store::StoreInfo& info() const override { return info_; }
    [[nodiscard]] const core::RouteTable& routes() const override { return route_table; }
    expected<std::vector<ReadyKey>> scan_ready(RouteId route, const std::optional<ReadyKey>& after,
                                               std::size_t limit) override {
        std::vector<ReadyKey> out;
        const ReadyKey start =
            after.value_or(ReadyKey{route, std::numeric_limits<std::int32_t>::min(), 0});
        for (auto it = ready.upper_bound(start);
             it != ready.end() && it->route == route && out.size() < limit; ++it) {
            out.push_back(*it);
        }
        rows_read += out.size();
        return out;
    }

    // The index asks for nothing else.
    std::int64_t next_eid(TimestampMs) override { return 0; }
    std::int64_t next_route_id() override { return 0; }
    expected<void> begin() override { return none(); }
    expected<void> load(const core::ReadSet&, core::Snapshot&) override { return none(); }
    expected<void> load(std::span<const core::Eid>, core::InputNeed, bool,
                        core::Snapshot&) override {
        return none();
    }
    expected<std::vector<core::TimerKey>> scan_due(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::optional<TimestampMs>> next_due(TimestampMs) override { return none(); }
    expected<store::TurnPage> lock_turns(std::span<const core::RouteId>) override { return none(); }
    expected<std::vector<core::Eid>> scan_bucket(core::Bucket, core::Eid, std::size_t) override {
        return none();
    }
    expected<std::vector<core::Eid>> scan_all(core::Eid, std::size_t) override { return none(); }
    expected<std::vector<FlowId>> scan_due_flows(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::vector<core::FlowWorkKey>> scan_work(TimestampMs, std::size_t,
                                                       core::Snapshot&) override {
        return none();
    }
    expected<std::vector<FlowId>> held_flows() override { return none(); }
    expected<std::vector<core::EdgeKey>> scan_staged(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::vector<core::LimitKey>> scan_due_limits(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::vector<core::LimitKey>> scan_waiting_limits(const core::LimitKey&,
                                                              std::size_t) override {
        return none();
    }
    expected<std::uint64_t> sweep_usage_dedup(TimestampMs, std::size_t) override { return none(); }
    expected<std::vector<core::StreamKey>> scan_streams(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::vector<core::WorkerKey>> scan_dead_workers(TimestampMs, std::size_t) override {
        return none();
    }
    expected<std::vector<core::WorkerRow>> live_workers(TimestampMs) override { return none(); }
    expected<std::uint64_t> sweep_grants(TimestampMs, std::size_t) override { return none(); }
    expected<std::uint64_t> sweep_idempotency(TimestampMs, std::size_t) override { return none(); }
    expected<std::uint64_t> trim_events(EventFamily, std::int64_t) override { return none(); }
    expected<void> commit(core::Snapshot&, TimestampMs, DurationMs) override { return none(); }
    void rollback() override {}
    expected<void> commit_upkeep() override { return none(); }
    expected<void> make_durable() override { return none(); }
    void maintain() override {}
    expected<void> read(const std::function<expected<void>(store::Reader&)>&) override {
        return none();
    }
    [[nodiscard]] std::uint64_t rows_written() const override { return 0; }

  private:
    static std::unexpected<Error> none() { return ff::fail(ErrorCode::internal, "not here"); }
    store::StoreInfo info_;
};

Route route_of(RouteId id, std::string lane, std::string ns = "acme", std::string kind = "job",
               std::vector<std::string> required = {}) {
    std::ranges::sort(required);
    std::string joined;
    for (const std::string& token : required) {
        joined += (joined.empty() ? "" : ",") + token;
    }
    return {id,
            {std::move(lane), std::move(ns), std::move(kind), std::move(joined)},
            std::move(required)};
}

Demand demand_of(std::vector<std::string> lanes, std::vector<std::string> capabilities = {}) {
    return {std::move(lanes), std::move(capabilities), std::nullopt, {}};
}

/// An index with its store and a model of what it should say.
class World {
  public:
    QueueStore store;
    ReadyIndex index{store};
    core::Snapshot snapshot{store.route_table};
    std::vector<std::shared_ptr<ReadyIndex::Group>> groups;
    std::set<ReadyKey> model;  ///< as the running batch sees it

    void insert(const ReadyKey& key) {
        index.insert(key);
        model.insert(key);
        for (const auto& group : groups) {
            if (may_take(*group, routes_.at(key.route))) {
                touched_.insert(group.get());
            }
        }
    }
    void erase(const ReadyKey& key) {
        index.erase(key);
        model.erase(key);
    }
    void commit() {
        for (const Route& route : fresh_routes_) {
            store.route_table.add(route);
        }
        fresh_routes_.clear();
        store.ready = model;
        index.committed();
    }
    /// The batch failed: nothing of it happened, its routes neither.
    void fail() {
        for (const Route& route : fresh_routes_) {
            routes_.erase(route.id);
        }
        fresh_routes_.clear();
        model = store.ready;
        index.forget_all();
        index.take_touched();
        touched_.clear();
    }
    /// A route the running batch makes.
    void make_route(Route route) {
        routes_.emplace(route.id, route);
        fresh_routes_.push_back(std::move(route));
    }
    /// As the desk does before it serves.
    void announce_routes() {
        for (const Route& route : fresh_routes_) {
            index.add_route(route);
        }
    }
    ReadyIndex::Group& ask(Demand demand) {
        groups.push_back(index.group(std::move(demand)));
        return *groups.back();
    }
    [[nodiscard]] const std::map<RouteId, Route>& routes() const { return routes_; }

    [[nodiscard]] std::optional<ReadyKey> best(const ReadyIndex::Group& group,
                                               std::size_t lane) const {
        std::optional<ReadyKey> found;
        for (const ReadyKey& key : model) {
            const Route& route = routes_.at(key.route);
            if (route.key.lane == group.demand.lanes[lane] && group.demand.matches(route) &&
                (!found || std::pair(key.rank, key.eid) < std::pair(found->rank, found->eid))) {
                found = key;
            }
        }
        return found;
    }
    /// What the index says, after it was compared with the model.
    std::optional<ReadyKey> front(ReadyIndex::Group& group, std::size_t lane,
                                  std::size_t expected = 1) {
        const auto said = index.front(group, lane, expected, snapshot);
        EXPECT_TRUE(said);
        EXPECT_EQ(said->has_value(), best(group, lane).has_value());
        EXPECT_EQ(*said, best(group, lane));
        return said ? *said : std::nullopt;
    }
    /// Every group for which something came is named, once; others may be.
    void check_touched() {
        const auto told = index.take_touched();
        const std::set<ReadyIndex::Group*> named(told.begin(), told.end());
        EXPECT_EQ(named.size(), told.size());
        for (ReadyIndex::Group* group : touched_) {
            EXPECT_TRUE(named.contains(group)) << "a group was not told of new work";
        }
        touched_.clear();
    }

  private:
    static bool may_take(const ReadyIndex::Group& group, const Route& route) {
        return std::ranges::find(group.demand.lanes, route.key.lane) != group.demand.lanes.end() &&
               group.demand.matches(route);
    }
    std::map<RouteId, Route> routes_;
    std::vector<Route> fresh_routes_;
    std::set<ReadyIndex::Group*> touched_;
};

}  // namespace

TEST(ReadyIndex, DifferentDemandsHaveDifferentSignatures) {
    const std::vector<Demand> demands{
        {{"a", "b"}, {}, std::nullopt, {}},   {{"ab"}, {}, std::nullopt, {}},
        {{"a"}, {"b"}, std::nullopt, {}},     {{"a"}, {}, "b", {}},
        {{"a"}, {}, std::nullopt, {"b"}},     {{"a"}, {}, std::nullopt, {}},
        {{"a", "1:b"}, {}, std::nullopt, {}}, {{"a"}, {"b", "c"}, std::nullopt, {}},
        {{"a"}, {"b"}, std::nullopt, {"c"}},  {{"a|"}, {}, std::nullopt, {}},
    };
    std::set<std::string> signatures;
    for (const Demand& demand : demands) {
        signatures.insert(demand.signature());
    }
    EXPECT_EQ(signatures.size(), demands.size());
}

TEST(ReadyIndex, EqualDemandsShareAGroup) {
    World world;
    const auto first = world.index.group(demand_of({"a"}, {"x"}));
    EXPECT_EQ(world.index.group(demand_of({"a"}, {"x"})), first);
    EXPECT_NE(world.index.group(demand_of({"a"})), first);
}

TEST(ReadyIndex, AKeyThatComesBackAtTheEndOfWhatWasReadIsNotLost) {
    // All that was read ahead is taken, then the last of it is given back.
    World world;
    world.make_route(route_of(1, "a"));
    for (core::Eid eid = 1; eid <= 40; ++eid) {
        world.insert({1, 0, eid});
    }
    world.commit();
    ReadyIndex::Group& group = world.ask(demand_of({"a"}));
    std::optional<ReadyKey> last;
    for (int i = 0; i < 16; ++i) {
        last = world.front(group, 0);
        ASSERT_TRUE(last);
        world.erase(*last);
    }
    world.commit();
    world.insert(*last);
    EXPECT_EQ(world.front(group, 0), last);
    world.commit();
    EXPECT_EQ(world.front(group, 0), last);
}

TEST(ReadyIndex, TheRouteOfAFailedBatchIsForgotten) {
    World world;
    ReadyIndex::Group& first = world.ask(demand_of({"first"}));
    ReadyIndex::Group& second = world.ask(demand_of({"second"}));
    world.make_route(route_of(1, "first"));
    world.insert({1, 0, 1});
    world.announce_routes();
    EXPECT_TRUE(world.front(first, 0));
    world.fail();
    // The number is given to another route.
    world.make_route(route_of(1, "second"));
    world.insert({1, 0, 1});
    world.announce_routes();
    EXPECT_FALSE(world.front(first, 0));
    EXPECT_TRUE(world.front(second, 0));
    world.commit();
    EXPECT_FALSE(world.front(first, 0));
    EXPECT_TRUE(world.front(second, 0));
}

TEST(ReadyIndex, AGroupIsToldOfWorkOnARouteThatIsNew) {
    World world;
    ReadyIndex::Group& group = world.ask(demand_of({"a"}));
    world.front(group, 0);
    world.index.take_touched();
    world.make_route(route_of(1, "a"));
    world.insert({1, 0, 1});
    world.announce_routes();
    EXPECT_EQ(world.index.take_touched(), std::vector<ReadyIndex::Group*>{&group});
}

TEST(ReadyIndex, AnIdleGroupDoesNotGrow) {
    // Two groups share a route; only one asks. What the other must remember stays the same.
    World world;
    world.make_route(route_of(1, "a"));
    world.commit();
    ReadyIndex::Group& busy = world.ask(demand_of({"a"}));
    ReadyIndex::Group& idle = world.ask(demand_of({"a"}, {"x"}));
    core::Eid next = 1;
    for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 40; ++i) {
            world.insert({1, 0, next++});
        }
        world.commit();
        for (int i = 0; i < 40; ++i) {
            const auto key = world.front(busy, 0);
            ASSERT_TRUE(key);
            world.erase(*key);
        }
        world.commit();
    }
    EXPECT_LE(idle.lanes[0].unread.size(), 1U);
    EXPECT_FALSE(world.front(idle, 0));
}

TEST(ReadyIndex, TakingWorkReadsEachRowAboutOnce) {
    World world;
    world.make_route(route_of(1, "a"));
    constexpr int rows = 10'000;
    for (core::Eid eid = 1; eid <= rows; ++eid) {
        world.model.insert({1, 0, eid});
    }
    world.store.ready = world.model;
    world.commit();
    auto group = world.index.group(demand_of({"a"}));
    for (int i = 0; i < rows; ++i) {
        const auto key = world.index.front(*group, 0, 1, world.snapshot);
        ASSERT_TRUE(key && *key);
        EXPECT_EQ((*key)->eid, i + 1);
        world.index.erase(**key);
        if (i % 10 == 0) {
            // Taken by batches of ten.
            while (!world.store.ready.empty() && world.store.ready.begin()->eid <= i + 1) {
                world.store.ready.erase(world.store.ready.begin());
            }
            world.index.committed();
        }
    }
    EXPECT_LE(world.store.rows_read, 2U * rows);
}

// ----------------------------------------------------------------------------------- at random

namespace {

class RandomLife {
  public:
    explicit RandomLife(std::uint64_t seed) : random_(seed) {}

    void run(int steps) {
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            step();
        }
        world_.commit();
        check_all();
    }

  private:
    std::size_t below(std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
    }
    bool one_in(std::size_t n) { return below(n) == 0; }

    std::vector<std::string> some_of(const std::vector<std::string>& words) {
        std::vector<std::string> out;
        for (const std::string& word : words) {
            if (one_in(2)) {
                out.push_back(word);
            }
        }
        return out;
    }

    void step() {
        const std::size_t what = below(100);
        if (what < 4) {
            make_route();
        } else if (what < 8) {
            make_group();
        } else if (what < 40) {
            insert();
        } else if (what < 50) {
            erase();
        } else if (what < 53) {
            flood();
        } else if (what < 85) {
            take();
        } else if (what < 97) {
            serve_and_commit();
        } else {
            world_.fail();
            taken_.clear();
        }
    }

    void make_route() {
        if (world_.routes().size() >= 24) {
            return;
        }
        // The lowest free number: one that a failed batch had is used again.
        RouteId id = 1;
        while (world_.routes().contains(id)) {
            ++id;
        }
        const Route route = route_of(id, lanes_[below(3)], "ns" + std::to_string(below(2)),
                                     "kind" + std::to_string(below(2)), some_of({"x", "y"}));
        const bool known = std::ranges::any_of(
            world_.routes(), [&](const auto& entry) { return entry.second.key == route.key; });
        if (!known) {
            world_.make_route(route);
        }
    }

    void make_group() {
        std::vector<std::string> lanes = some_of(lanes_);
        if (lanes.empty()) {
            lanes = {lanes_[0]};
        }
        std::ranges::shuffle(lanes, random_);
        Demand demand{std::move(lanes), some_of({"x", "y", "z"}), std::nullopt, {}};
        if (one_in(3)) {
            demand.ns = "ns" + std::to_string(below(2));
        }
        if (one_in(3)) {
            demand.kinds = some_of({"kind0", "kind1"});
        }
        world_.announce_routes();
        world_.ask(std::move(demand));
        if (world_.groups.size() > 30) {
            world_.groups.erase(world_.groups.begin());
        }
    }

    std::optional<RouteId> some_route() {
        if (world_.routes().empty()) {
            return std::nullopt;
        }
        return std::next(world_.routes().begin(),
                         static_cast<std::ptrdiff_t>(below(world_.routes().size())))
            ->first;
    }

    void insert() {
        // Often one that was taken not long ago: given back.
        if (!taken_.empty() && one_in(2)) {
            const std::size_t which = below(taken_.size());
            const ReadyKey key = taken_[which];
            taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(which));
            if (world_.routes().contains(key.route) && !world_.model.contains(key)) {
                world_.insert(key);
            }
            return;
        }
        if (const auto route = some_route()) {
            world_.insert({*route, -static_cast<std::int32_t>(below(4)), next_eid_++});
        }
    }

    void flood() {
        if (const auto route = some_route()) {
            for (std::size_t n = below(400); n > 0; --n) {
                world_.insert({*route, -static_cast<std::int32_t>(below(3)), next_eid_++});
            }
        }
    }

    void erase() {
        if (world_.model.empty()) {
            return;
        }
        const ReadyKey key = *std::next(world_.model.begin(),
                                        static_cast<std::ptrdiff_t>(below(world_.model.size())));
        world_.erase(key);
        taken_.push_back(key);
    }

    void take() {
        if (world_.groups.empty()) {
            return;
        }
        world_.announce_routes();
        ReadyIndex::Group& group = *world_.groups[below(world_.groups.size())];
        const std::size_t lane = below(group.demand.lanes.size());
        for (std::size_t n = 1 + below(one_in(5) ? 200 : 10); n > 0; --n) {
            const auto key = world_.front(group, lane, n);
            if (!key || testing::Test::HasFailure()) {
                return;
            }
            world_.erase(*key);
            taken_.push_back(*key);
        }
    }

    void serve_and_commit() {
        world_.announce_routes();
        world_.check_touched();
        if (one_in(3)) {
            check_all();
        }
        world_.commit();
        if (taken_.size() > 50) {
            taken_.erase(taken_.begin(), taken_.end() - 50);
        }
        if (one_in(3)) {
            check_all();
        }
    }

    void check_all() {
        for (const auto& group : world_.groups) {
            for (std::size_t lane = 0; lane < group->demand.lanes.size(); ++lane) {
                world_.front(*group, lane, 1 + below(3));
            }
        }
    }

    std::mt19937_64 random_;
    World world_;
    core::Eid next_eid_ = 1;
    std::vector<ReadyKey> taken_;
    const std::vector<std::string> lanes_{"a", "b", "c"};
};

}  // namespace

class ReadyIndexRandom : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ReadyIndexRandom, SaysWhatTheModelSays) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    RandomLife(GetParam()).run(1'500);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReadyIndexRandom, testing::Range<std::uint64_t>(1, 41));

}  // namespace ff::engine::test
