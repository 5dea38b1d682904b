// Every single thing that can be done to a small world, as a list: for searches, random or
// exhaustive, that look for a way to break it.
//
// Times come in steps: leases, delays, backoffs, grants and retention last a small whole number of
// them, so that the states reachable from an empty world are few.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/world.h"

namespace ff::testing {

/// One execution a search may create, and what it is made of.
struct Subject {
    ExecutionId id;
    std::optional<std::string> policy;
    std::optional<DurationMs> deadline_after;  ///< from its creation
};

/// The n-th subject.
Subject subject(std::uint8_t n, std::optional<std::string> policy = std::nullopt);

struct Move {
    std::string operation;  ///< `complete`, or `time`
    std::string name;       ///< `complete a (stale)`
    /// Comes from a lease holder whose lease is not the present one.
    bool stale = false;
    /// What is asked for, given how the world stands; empty for the passing of time.
    std::function<Request(const World&)> request;
    DurationMs passes = 0;
    bool fires = false;  ///< timers fire when time has passed

    /// Plays it; the error if it was refused.
    std::optional<Error> play(World& world) const;
};

inline constexpr DurationMs step_ms = 100;
inline constexpr DurationMs lease_steps = 2;

/// All moves of two workers, an operator and time on these subjects.
std::vector<Move> all_moves(const std::vector<Subject>& subjects);

/// What is wrong with how a move left the world, given that it was refused (or not): a refusal
/// changes nothing but the lazy mark of an expired lease, and a stale lease holder changes nothing
/// at all, except that a cancel outside of the active phase needs no fence. Empty when all is well.
std::string misbehaviour(const Move& move, const World& before, const World& after,
                         const std::optional<Error>& error);

/// Settings under which the state space closes: finished executions go after two steps.
core::Settings small_settings();

}  // namespace ff::testing
