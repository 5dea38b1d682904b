// Visits every row of a store and compares it with what the rules derive from the others.
#pragma once

#include <vector>

#include "cli/read_only_store.h"
#include "cli/store_checks.h"

namespace ff::cli {

/// The checks of the rows: readable, invariants, references, ready, timers, listed, tags, waits,
/// orphans, flows.
std::vector<Check> check_rows(ReadOnlyStore& store, const CheckProgress& progress);

}  // namespace ff::cli
