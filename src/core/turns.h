// Turns between keys. Of the executions that carry the same `limit_key` and are to begin an attempt
// one at a time stands in a line (a route at one priority); the others wait at the gate of their
// key. When the one in line leaves it, because it was claimed or for any other reason, the first of
// those who wait stands at the end of the line. So between two starts of one key every other key
// that has work in the line has its turn, however much work each of them has. Who carries no key,
// or goes on with an attempt, is not concerned.
//
// Who has its turn keeps it while a limit holds it back that would hold back the others of its key
// as well: one of the whole lane or namespace that lets nobody start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/derive.h"
#include "core/records.h"

namespace ff::core {

/// Where those of the execution's key wait for their turn in its line. It must carry a key.
std::string turn_gate(const Execution& e);
bool waits_for_turn(const Execution& e);

/// What changes of rows ask to be done, in the transaction that makes them.
struct TurnWork {
    /// In line, without the turn.
    struct Stand {
        ExecutionId execution;
        RouteId queue = 0;
        bool created = false;  ///< it is new: its own number is the end of the line
    };
    /// Somebody who had the turn of a queue has left the line.
    struct Left {
        RouteId queue = 0;
        RouteId route = 0;
        std::int32_t rank = 0;
    };
    std::vector<Stand> standing;
    std::vector<Left> left;

    [[nodiscard]] bool empty() const { return standing.empty() && left.empty(); }
};

/// Adds it; sets the row right: who may not keep the turn, or may not wait for it, does not.
void add_turn_work(const Execution* before, Execution& after, TurnWork& out);

/// Is it still in its line without the turn?
bool still_stands(const Execution& e, const TurnWork::Stand& work);
/// It has the turn: in its own place when it is new, else at the end of the line.
void take_turn(Execution& e, bool created, const Context& ctx);
/// Another of its key has it; it waits behind those who wait already. It stays eligible: only its
/// place in line is not yet known.
void wait_for_turn(Execution& e, bool created, const Context& ctx);

/// What is wrong with the row, as far as turns are concerned; empty when nothing is.
std::string turn_fault(const Execution& e);

}  // namespace ff::core
