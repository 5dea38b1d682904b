// Every reachable state of a small model, found breadth first.
//
// The model: one or two executions (one with a single retry, an attempt timeout, one reclaim and
// one replay; one without a policy; one with a deadline and a reclaim grace), two workers, an
// operator, and time that moves in steps with or without its timers firing. All moves of
// support/moves.h are tried in every state. Each edge is checked by World: invariants, legal step,
// timers, grants, completions; a refused move must leave the records as they were.
//
// Two worlds count as one state when no later answer can tell them apart: ids are dropped, times
// become steps from now (past ones become "due"), counters that nothing limits are dropped, and of
// the attempts only the current one is looked at (ended ones never change; World checks that).
//
// Bounds: a single execution is searched until nothing new is found, and so is a pair under the
// common moves (claims, ends, release, revoke, priority, replay, time). A pair under all moves has
// millions of states; it is searched to depth 8. Figures are printed; all of it takes about ten
// seconds in a debug build.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <set>
#include <unordered_set>

#include "support/moves.h"

namespace ff::core {
namespace {

using testing::Move;
using testing::Records;
using testing::step_ms;
using testing::Subject;
using testing::World;

/// One retry, one reclaim, one replay, and a timeout of three steps.
constexpr DurationMs timeout_steps = 3;
const std::string limited =
    R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":100}},
        "timeout_policy":{"attempt_timeout_ms":300},"max_reclaim_count":1,"max_replay_count":1})";

struct Model {
    std::vector<Subject> subjects;
    Settings settings = testing::small_settings();
    std::set<std::string_view> left_out;  ///< operations this model does without
    std::optional<std::size_t> depth_max;
    std::size_t states_min = 0;  ///< fewer means that the search no longer searches
};

class Key {
  public:
    explicit Key(const World& world) : world_(world) {}

    std::string of(const std::vector<Subject>& subjects) {
        std::vector<Eid> eids;
        for (const Subject& subject : subjects) {
            const Execution* e = world_.find(subject.id);
            if (e == nullptr) {
                text_ += "-;";
                continue;
            }
            eids.push_back(e->eid);
            add(*e, subject.policy.has_value());
        }
        add(std::ranges::is_sorted(eids));  // who is older decides who is claimed first
        return std::move(text_);
    }

  private:
    template <class T>
        requires std::is_integral_v<T> || std::is_enum_v<T>
    void add(T value) {
        text_ += static_cast<char>('0' + static_cast<int>(value));
    }
    /// Steps from now until `at` is due.
    void add(const std::optional<TimestampMs>& at) {
        if (!at) {
            text_ += '-';
            return;
        }
        add(std::max<TimestampMs>(0, (*at - world_.now + step_ms - 1) / step_ms));
    }

    void add(const Execution& e, bool has_policy) {
        const bool leased = e.state.ownership == OwnershipState::leased;
        add(e.state.phase), add(e.state.ownership), add(e.state.eligibility);
        add(e.state.blocking_reason), add(e.state.outcome), add(e.state.attempt_state);
        add(e.priority), add(e.total_attempt_count > 0), add(e.current_attempt_id.has_value());
        if (has_policy) {
            add(e.retry_count), add(e.replay_count), add(e.lease_reclaim_count);
            // What a live attempt has used of its timeout; all of it is as good as more.
            const bool live = leased || e.state.attempt_state == AttemptState::attempt_interrupted;
            const DurationMs held = leased ? world_.now - *e.lease_acquired_at : 0;
            add(live ? std::min(timeout_steps, (e.attempt_leased_ms + held) / step_ms) : 0);
        }
        add(leased ? e.lease_expires_at : std::nullopt);
        add(e.attempt_deadline_at), add(e.delay_until), add(e.execution_deadline_at);
        add(e.reclaim_not_before), add(e.timer_at);
        if (e.grant_expires_at) {
            add(e.grant_expires_at);
            const GrantRow& grant = *world_.grant(e.id);
            add(grant.kind), add(grant.worker_id == "w1");
        }
        if (const Attempt* row = e.current_attempt_index
                                     ? world_.attempt(e.id, *e.current_attempt_index)
                                     : nullptr) {
            add(row->state), add(row->retry_at.has_value());
        }
        text_ += ';';
    }

    const World& world_;
    std::string text_;
};

/// From, by which operation, to: phases, and for active ones what became of the lease.
using Arrow = std::array<std::string, 3>;

std::string place_of(const Execution* e) {
    if (e == nullptr) {
        return "absent";
    }
    if (e->state.phase == LifecyclePhase::active) {
        return e->state.ownership == OwnershipState::leased ? "leased" : "lost";
    }
    return std::string(to_string(e->state.phase));
}

struct Figures {
    std::size_t states = 0;
    std::size_t edges = 0;
    std::size_t refused = 0;
    std::size_t depth = 0;
    bool closed = true;
    std::set<Arrow> arrows;
};

class Search {
  public:
    explicit Search(const Model& model)
        : model_(model), moves_(testing::all_moves(model.subjects)) {
        std::erase_if(moves_, [&](const Move& m) { return model.left_out.contains(m.operation); });
    }

    /// Explores; stops at the first fault, which is reported with the way to it.
    Figures run() {
        visit(World(model_.settings), {});
        while (!frontier_.empty() && faultless_) {
            const Node node = std::move(frontier_.front());
            frontier_.pop_front();
            figures_.depth = node.way.size();
            if (model_.depth_max && figures_.depth >= *model_.depth_max) {
                figures_.closed = false;
                break;
            }
            for (const Move& move : moves_) {
                take(node, move);
            }
        }
        return std::move(figures_);
    }

  private:
    struct Node {
        World world;
        std::vector<const Move*> way;
    };

    void take(const Node& node, const Move& move) {
        World next = node.world;
        const std::optional<Error> error = move.play(next);
        figures_.edges += 1;
        figures_.refused += error ? 1 : 0;
        const std::string fault = !next.violations.empty()
                                      ? next.violations[0]
                                      : testing::misbehaviour(move, node.world, next, error);
        if (!fault.empty()) {
            report(fault, node, move);
        }
        for (const Subject& subject : model_.subjects) {
            const std::string from = place_of(node.world.find(subject.id));
            const std::string to = place_of(next.find(subject.id));
            if (from != to) {
                figures_.arrows.insert({from, move.operation, to});
            }
        }
        auto way = node.way;
        way.push_back(&move);
        visit(std::move(next), std::move(way));
    }

    void visit(World world, std::vector<const Move*> way) {
        if (seen_.insert(Key(world).of(model_.subjects)).second) {
            figures_.states += 1;
            world.records.events.clear();
            world.records.log_events.clear();
            frontier_.push_back({std::move(world), std::move(way)});
        }
    }

    void report(const std::string& fault, const Node& node, const Move& move) {
        faultless_ = false;
        std::string way;
        for (const Move* step : node.way) {
            way += "\n  " + step->name;
        }
        ADD_FAILURE() << fault << "\nafter:" << way << "\n  " << move.name;
    }

    const Model& model_;
    std::vector<Move> moves_;
    std::deque<Node> frontier_;
    std::unordered_set<std::string> seen_;
    Figures figures_;
    bool faultless_ = true;
};

Figures check(const std::string& name, const Model& model) {
    Figures figures = Search(model).run();
    std::cout << name << ": " << figures.states << " states, " << figures.edges << " edges ("
              << figures.refused << " refused), depth " << figures.depth
              << (figures.closed ? ", closed" : ", bounded") << "\n";
    EXPECT_GE(figures.states, model.states_min);
    EXPECT_EQ(figures.closed, !model.depth_max);
    return figures;
}

Model without_policy() { return {.subjects = {testing::subject(1)}, .states_min = 250}; }
Model with_policy() { return {.subjects = {testing::subject(1, limited)}, .states_min = 2'500}; }
Model with_deadline_and_grace() {
    Model model{.subjects = {testing::subject(1)}, .states_min = 1'500};
    model.subjects[0].deadline_after = 4 * step_ms;
    model.settings.reclaim_grace_ms = step_ms;
    return model;
}

// The arrows of ff/states.h, with active split into leased and lost (expired or revoked).
const std::set<Arrow> arrows = {
    {"absent", "create", "runnable"},
    {"runnable", "claim", "leased"},
    {"runnable", "claim_execution", "leased"},
    {"runnable", "claim_resumed_execution", "leased"},
    {"runnable", "issue_grant_and_claim", "leased"},
    {"runnable", "cancel_execution", "terminal"},
    {"runnable", "time", "terminal"},  // the deadline
    {"leased", "complete", "terminal"},
    {"leased", "fail", "terminal"},
    {"leased", "fail", "runnable"},  // a retry
    {"leased", "cancel_execution", "terminal"},
    {"leased", "delay", "runnable"},
    {"leased", "wait_children", "runnable"},
    {"leased", "release", "runnable"},
    {"leased", "time", "terminal"},  // deadline or attempt timeout
    {"leased", "time", "runnable"},  // an attempt timeout that is retried
    {"leased", "time", "lost"},
    {"leased", "mark_lease_expired_if_due", "lost"},
    {"leased", "revoke_lease", "lost"},
    {"leased", "issue_reclaim_grant", "lost"},      // marks what is past due
    {"leased", "issue_reclaim_grant", "terminal"},  // the same, at the reclaim cap
    // The lazy mark of every fenced call but progress.
    {"leased", "renew", "lost"},
    {"leased", "complete", "lost"},
    {"leased", "fail", "lost"},
    {"leased", "cancel_execution", "lost"},
    {"leased", "delay", "lost"},
    {"leased", "wait_children", "lost"},
    {"leased", "release", "lost"},
    {"lost", "claim", "leased"},
    {"lost", "reclaim_execution", "leased"},
    {"lost", "cancel_execution", "terminal"},
    {"lost", "time", "terminal"},
    {"lost", "time", "runnable"},
    {"lost", "claim", "terminal"},  // three ways to meet the reclaim cap
    {"lost", "claim_for_worker", "terminal"},
    {"lost", "issue_reclaim_grant", "terminal"},
    {"terminal", "replay_execution", "runnable"},
    {"terminal", "time", "absent"},  // retention
};

TEST(Exhaustive, one_execution_is_sound_and_takes_every_arrow_and_no_other) {
    std::set<Arrow> taken;
    taken.merge(check("one without policy", without_policy()).arrows);
    taken.merge(check("one with retry, timeout, reclaim, replay", with_policy()).arrows);
    taken.merge(check("one with deadline and grace", with_deadline_and_grace()).arrows);
    for (const auto& [from, operation, to] : arrows) {
        EXPECT_TRUE(taken.contains({from, operation, to}))
            << "not taken: " << from << " --" << operation << "--> " << to;
    }
    for (const auto& [from, operation, to] : taken) {
        EXPECT_TRUE(arrows.contains({from, operation, to}))
            << "not foreseen: " << from << " --" << operation << "--> " << to;
    }
}

TEST(Exhaustive, two_executions_under_all_moves_to_a_bounded_depth) {
    check("two under all moves", {.subjects = {testing::subject(1, limited), testing::subject(2)},
                                  .depth_max = 8,
                                  .states_min = 30'000});
}

TEST(Exhaustive, two_executions_under_the_common_moves) {
    Model model{.subjects = {testing::subject(1), testing::subject(2)}, .states_min = 1'000};
    model.left_out = {IssueClaimGrant::name,  ClaimExecution::name,     ClaimResumedExecution::name,
                      ClaimForWorker::name,   IssueGrantAndClaim::name, IssueReclaimGrant::name,
                      ReclaimExecution::name, Progress::name,           Delay::name,
                      WaitChildren::name,     BlockExecution::name,     UnblockExecution::name};
    check("two under the common moves", model);
}

}  // namespace
}  // namespace ff::core
