// Random lives: any sequence of commands by two workers and an operator, at any times, on a few
// executions. World checks invariants and steps after every command; the rest is checked here.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "support/moves.h"

namespace ff::core {
namespace {

using testing::Move;
using testing::Records;
using testing::step_ms;
using testing::Subject;
using testing::World;

const std::vector<Subject>& subjects() {
    static const std::vector<Subject> all = [] {
        std::vector<Subject> made = {
            testing::subject(1),
            testing::subject(2, R"({"retry_policy":{"max_retries":2,"backoff":{"type":"exponential",
                "initial_delay_ms":70,"max_delay_ms":400,"jitter":true}},
                "timeout_policy":{"attempt_timeout_ms":350},
                "max_reclaim_count":2,"max_replay_count":2})"),
            testing::subject(3, R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":0}},
                "fallback_policy":{"tiers":[{"provider":"p","model":"m"},
                                            {"provider":"p","model":"n","timeout_ms":90}]}})"),
        };
        made[2].deadline_after = 3'000;
        return made;
    }();
    return all;
}

template <class Op>
Move plain(std::string name, Op op) {
    return {std::string(Op::name), std::move(name), false,
            [op](const World&) { return Request(op); }};
}

Move passing(DurationMs ms, bool fires) {
    return {"time", std::to_string(ms) + " ms pass", false, {}, ms, fires};
}

/// Everything of the small model, times of any size, and what stands around executions.
const std::vector<Move>& moves() {
    static const std::vector<Move> all = [] {
        std::vector<Move> made = testing::all_moves(subjects());
        for (const DurationMs ms : {1, 37, 99, 250, 1'000}) {
            made.push_back(passing(ms, true));
            made.push_back(passing(ms, false));
        }
        RegisterWorker registration;
        registration.ns = "tenant";
        registration.worker_id = "w1";
        registration.worker_instance_id = "w1-1";
        registration.lanes = {"main"};
        registration.liveness_ttl_ms = 1'000;
        made.push_back(plain("register w1", registration));
        made.push_back(plain("heartbeat w1", HeartbeatWorker{"tenant", "w1-1"}));
        made.push_back(plain("w1 is dead", MarkWorkerDead{"tenant", "w1-1", "gone", true}));
        made.push_back(plain("pause lane", SetLaneState{"main", LaneState::paused}));
        made.push_back(plain("open lane", SetLaneState{"main", LaneState::active}));
        for (const Subject& subject : subjects()) {
            made.push_back(plain("tag", SetExecutionTags{subject.id, {{"app.t", "1"}}}));
            made.push_back(plain("untag", RemoveExecutionTag{subject.id, "app.t"}));
        }
        return made;
    }();
    return all;
}

Settings settings() {
    Settings made = testing::small_settings();
    made.retention_ms = 2'000;
    made.reclaim_grace_ms = 20;
    return made;
}

/// How often a move is tried, so that lives are long and full: work is mostly claimed and done, and
/// only now and then cut short.
std::size_t weight(const Move& move) {
    if (move.stale || move.name.ends_with("(no fence)") || move.name == "1000 ms pass") {
        return 1;
    }
    static const std::map<std::string_view, std::size_t> weights = {
        {Claim::name, 25},
        {"create", 12},
        {ReplayExecution::name, 8},
        {"time", 5},
        {Renew::name, 6},
        {Progress::name, 3},
        {Complete::name, 4},
        {Fail::name, 6},
        {Delay::name, 4},
        {WaitChildren::name, 4},
        {Release::name, 4},
        {RevokeLease::name, 3},
        {ClaimExecution::name, 10},
        {ClaimResumedExecution::name, 10},
        {ReclaimExecution::name, 8},
        {IssueReclaimGrant::name, 4},
        {IssueClaimGrant::name, 5},
        {UnblockExecution::name, 6},
    };
    auto it = weights.find(move.operation);
    return move.name == "open lane" ? 10 : it == weights.end() ? 1 : it->second;
}

/// Indexes into moves(), several hundred of them.
using Life = std::vector<std::size_t>;

Life any_life() {
    static const std::vector<std::size_t> urn = [] {
        std::vector<std::size_t> made;
        for (std::size_t i = 0; i < moves().size(); ++i) {
            made.insert(made.end(), weight(moves()[i]), i);
        }
        return made;
    }();
    return *rc::gen::scale(8.0, rc::gen::container<Life>(rc::gen::elementOf(urn))).as("life");
}

std::optional<Error> play(World& world, const Move& move) {
    const std::optional<Error> error = move.play(world);
    if (!world.violations.empty()) {
        RC_FAIL(world.violations[0] + " after " + move.name);
    }
    return error;
}

World live(const Life& life) {
    World world(settings());
    for (const std::size_t index : life) {
        play(world, moves()[index]);
    }
    return world;
}

TEST(Property, invariants_hold_after_every_command_of_any_life) {
    EXPECT_TRUE(rc::check([] { live(any_life()); }));
}

TEST(Property, a_refusal_or_a_stale_holder_changes_nothing_but_the_mark_of_an_expired_lease) {
    EXPECT_TRUE(rc::check([] {
        World world(settings());
        for (const std::size_t index : any_life()) {
            const Move& move = moves()[index];
            const World before = world;
            const std::optional<Error> error = play(world, move);
            const std::string fault = testing::misbehaviour(move, before, world, error);
            if (!fault.empty()) {
                RC_FAIL(fault + " after " + move.name);
            }
        }
    }));
}

/// Any lease that ever was, as its holder would name it.
std::vector<LeaseRef> all_leases(const Records& records) {
    std::vector<LeaseRef> leases;
    for (const ExecutionEvent& event : records.events) {
        if (event.type == LeaseEventType::acquired || event.type == LeaseEventType::reclaimed) {
            LeaseRef& lease = leases.emplace_back(event.execution_id);
            lease.lease_id = event.lease_id;
            lease.lease_epoch = event.lease_epoch;
            lease.attempt_id = event.attempt_id;
            lease.attempt_index = event.attempt_index;
        }
    }
    return leases;
}

TEST(Property, whoever_held_a_lease_before_can_change_nothing_in_the_life_of_the_next) {
    EXPECT_TRUE(rc::check([] {
        const World world = live(any_life());
        for (const LeaseRef& lease : all_leases(world.records)) {
            const Execution* e = world.find(lease.execution_id);
            if (e == nullptr || e->lease_epoch == lease.lease_epoch) {
                continue;
            }
            World next = world;
            RC_ASSERT_FALSE(next.run(Renew{lease}).has_value());
            RC_ASSERT_FALSE(next.run(Progress{lease, 1}).has_value());
            RC_ASSERT_FALSE(next.run(Complete{lease, "mine"}).has_value());
            RC_ASSERT_FALSE(next.run(Fail{lease, "mine", "transient"}).has_value());
            RC_ASSERT_FALSE(next.run(Delay{lease, next.now}).has_value());
            RC_ASSERT_FALSE(next.run(WaitChildren{lease}).has_value());
            RC_ASSERT_FALSE(next.run(Release{lease}).has_value());
            World marked = world;
            static_cast<void>(marked.run(MarkLeaseExpiredIfDue{lease.execution_id}));
            RC_ASSERT(next.records == world.records || next.records == marked.records);
        }
    }));
}

TEST(Property, history_has_one_live_lease_at_a_time_and_epochs_that_grow) {
    EXPECT_TRUE(rc::check([] {
        const World world = live(any_life());
        struct Holding {
            std::optional<LeaseId> lease;  ///< held, or lost and not yet taken over
            std::uint64_t epoch = 0;
        };
        std::map<Eid, Holding> holdings;
        for (const ExecutionEvent& event : world.records.events) {
            Holding& holding = holdings[event.eid];
            switch (event.type) {
                case LeaseEventType::acquired:
                    RC_ASSERT(!holding.lease);
                    RC_ASSERT(event.lease_epoch == holding.epoch + 1);
                    holding = {event.lease_id, event.lease_epoch};
                    break;
                case LeaseEventType::reclaimed:
                    RC_ASSERT(holding.lease.has_value() && holding.lease == event.old_lease_id);
                    RC_ASSERT(event.lease_epoch == holding.epoch + 1);
                    holding = {event.lease_id, event.lease_epoch};
                    break;
                case LeaseEventType::renewed:
                case LeaseEventType::expired:
                case LeaseEventType::revoked:
                    RC_ASSERT(holding.lease.has_value() && holding.lease == event.lease_id);
                    break;
                case LeaseEventType::released:
                    RC_ASSERT(holding.lease.has_value() && holding.lease == event.lease_id);
                    holding.lease.reset();
                    break;
                case LeaseEventType::none:
                case LeaseEventType::replay_initiated: RC_ASSERT(!holding.lease); break;
            }
        }
        for (const auto& [id, e] : world.records.executions) {
            RC_ASSERT(holdings[e.eid].lease == e.lease_id);
        }
    }));
}

TEST(Property, an_execution_ends_once_for_each_replay_and_succeeds_at_most_once) {
    EXPECT_TRUE(rc::check([] {
        const World world = live(any_life());
        std::map<Eid, int> ends_without_replay;
        for (const ExecutionEvent& event : world.records.events) {
            int& ends = ends_without_replay[event.eid];
            ends += event.outcome ? 1 : 0;
            ends -= event.type == LeaseEventType::replay_initiated ? 1 : 0;
            RC_ASSERT(ends == 0 || ends == 1);
        }
        for (const auto& [id, e] : world.records.executions) {
            RC_ASSERT((ends_without_replay[e.eid] == 1) == is_terminal(e.state));
        }
    }));
}

TEST(Property, the_same_life_leaves_the_same_records) {
    EXPECT_TRUE(rc::check([] {
        const Life life = any_life();
        RC_ASSERT(live(life).records == live(life).records);
    }));
}

/// Whatever happened, work goes on: holds are lifted, a worker takes what there is and ends it.
TEST(Property, from_any_state_every_execution_can_be_brought_to_an_end) {
    EXPECT_TRUE(rc::check([] {
        World world = live(any_life());
        static_cast<void>(world.run(SetLaneState{"main", LaneState::active}));
        for (int round = 0; round < 10; ++round) {
            world.advance(1'000);  // leases, grants, graces, delays and backoffs are all shorter
            for (const Subject& subject : subjects()) {
                static_cast<void>(world.run(UnblockExecution{subject.id, std::nullopt}));
            }
            Claim claim;
            claim.lanes = {"main"};
            claim.worker_id = "w1";
            claim.worker_instance_id = "w1-1";
            claim.max_tasks = 10;
            const auto claimed = world.run(claim);
            RC_ASSERT(claimed.has_value());
            for (const ClaimedTask& task : claimed->tasks) {
                RC_ASSERT(world.run(Complete{task.handle}).has_value());
            }
        }
        RC_ASSERT(world.violations.empty());
        for (const auto& [id, e] : world.records.executions) {
            RC_ASSERT(is_terminal(e.state));
        }
    }));
}

}  // namespace
}  // namespace ff::core
