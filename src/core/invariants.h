// The invariants of an execution as code: what must hold in every committed state, and between two
// states that follow each other. Used by tests, by the index reconciler and by whoever doubts.
//
// Pure functions; any thread. They find faults and mend nothing. Each violation is a sentence that
// starts with the number of the invariant (spec 01 section 3.3), or with the name of the rule that
// has no number: `vector`, `public_state`, `grant`, `step`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/records.h"

namespace ff::core {

/// What is wrong with one execution; empty when nothing is. `attempt_rows` are all attempt rows of
/// it, in any order. The attempt of an active execution lives in the execution row: a row at its
/// index is an older pause of the same attempt.
std::vector<std::string> check_invariants(const Execution& e,
                                          std::span<const Attempt> attempt_rows);

/// What no operation may do to an execution: the row before one operation and after it. (A batch
/// that ran several on the same row has several steps.)
std::vector<std::string> check_step(const Execution& before, const Execution& after);

}  // namespace ff::core
