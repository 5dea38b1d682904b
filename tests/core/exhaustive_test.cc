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
// Bounds: single executions are searched until nothing new is found. Pairs are searched to a depth
// that keeps the run well under a minute in a debug build; the depth is printed with the figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <unordered_set>

#include "support/moves.h"

namespace ff::core {
namespace {

using testing::Move;
using testing::Records;
using testing::step_ms;
using testing::Subject;
using testing::World;

struct Model {
    std::vector<Subject> subjects;
    Settings settings = testing::small_settings();
    std::size_t depth_max = 1'000;
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
            // What is left of the attempt timeout at the next resume.
            const DurationMs held = leased ? world_.now - *e.lease_acquired_at : 0;
            add(std::min<DurationMs>(9, (e.attempt_leased_ms + held) / step_ms));
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

struct Figures {
    std::size_t states = 0;
    std::size_t edges = 0;
    std::size_t refused = 0;
    std::size_t depth = 0;
    bool closed = true;
};

/// Explores; stops at the first fault, which is reported with the way to it.
Figures explore(const Model& model) {
    struct Node {
        World world;
        std::shared_ptr<const std::vector<std::string>> way;
    };
    const std::vector<Move> moves = testing::all_moves(model.subjects);
    World empty(model.settings);
    std::unordered_set<std::string> seen = {Key(empty).of(model.subjects)};
    std::deque<Node> frontier = {{empty, std::make_shared<const std::vector<std::string>>()}};
    Figures figures{.states = 1};
    while (!frontier.empty()) {
        const Node node = std::move(frontier.front());
        frontier.pop_front();
        figures.depth = node.way->size();
        if (figures.depth >= model.depth_max) {
            figures.closed = false;
            continue;
        }
        for (const Move& move : moves) {
            World next = node.world;
            const std::optional<Error> error = move.play(next);
            figures.edges += 1;
            figures.refused += error ? 1 : 0;
            if (!next.violations.empty()) {
                ADD_FAILURE() << next.violations[0] << "\n  after "
                              << ::testing::PrintToString(*node.way) << " and " << move.name;
                return figures;
            }
            next.records.events.clear();
            next.records.log_events.clear();
            if (!seen.insert(Key(next).of(model.subjects)).second) {
                continue;
            }
            figures.states += 1;
            auto way = *node.way;
            way.push_back(move.name);
            frontier.push_back({std::move(next),
                                std::make_shared<const std::vector<std::string>>(std::move(way))});
        }
    }
    return figures;
}

void check(const std::string& name, const Model& model) {
    const Figures figures = explore(model);
    std::cout << name << ": " << figures.states << " states, " << figures.edges << " edges ("
              << figures.refused << " refused), depth " << figures.depth
              << (figures.closed ? ", closed" : ", bounded") << "\n";
    EXPECT_GE(figures.states, model.states_min);
    EXPECT_EQ(figures.closed, model.depth_max == Model{}.depth_max);
}

const std::string limited =
    R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":100}},
        "timeout_policy":{"attempt_timeout_ms":300},"max_reclaim_count":1,"max_replay_count":1})";

TEST(Exhaustive, one_execution_without_a_policy) {
    check("one without policy", {.subjects = {testing::subject(1)}, .states_min = 100});
}

TEST(Exhaustive, one_execution_with_retry_timeout_reclaim_and_replay) {
    check("one with policy", {.subjects = {testing::subject(1, limited)}, .states_min = 100});
}

TEST(Exhaustive, one_execution_with_a_deadline_and_a_reclaim_grace) {
    Model model{.subjects = {testing::subject(1)}, .states_min = 100};
    model.subjects[0].deadline_after = 4 * step_ms;
    model.settings.reclaim_grace_ms = step_ms;
    check("one with deadline and grace", model);
}

TEST(Exhaustive, two_executions) {
    check("two", {.subjects = {testing::subject(1, limited), testing::subject(2)},
                  .depth_max = 5,
                  .states_min = 100});
}

}  // namespace
}  // namespace ff::core
