// The invariants of suspension (spec 04 section 1) as code, like core/invariants.h: between an
// execution and the rows of its suspensions and waitpoints. Pure; finds faults and mends nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/records.h"
#include "core/suspension_records.h"

namespace ff::core {

/// What is wrong; empty when nothing is. All rows of the execution are given, in any order. Each
/// sentence starts with `W` and the number of the invariant.
std::vector<std::string> check_waits(const Execution& e, std::span<const Suspension> suspensions,
                                     std::span<const Waitpoint> waitpoints);

}  // namespace ff::core
