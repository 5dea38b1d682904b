// What `ff inspect` shows of a store beyond the commands of show.h: questions that only a store can
// be asked, not an engine.
#pragma once

#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

struct InspectOptions {
    std::string db;
    Output output = Output::text;
};

/// Every lease there is, live or past its time.
ExitCode inspect_all_leases(const InspectOptions& options);
/// How many executions of each lane are in each state. Visits all of them.
ExitCode inspect_stats(const InspectOptions& options);

}  // namespace ff::cli
