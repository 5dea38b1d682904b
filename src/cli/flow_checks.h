// Visits every flow of a store and looks whether its rows agree.
#pragma once

#include "cli/read_only_store.h"
#include "cli/store_checks.h"

namespace ff::cli {

/// The check `flows`: rows readable, invariants, nothing of a flow that is gone.
Check check_flows(ReadOnlyStore& store, const CheckProgress& progress);

}  // namespace ff::cli
