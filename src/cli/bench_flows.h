// `ff bench flows`: what a graph costs beside the same number of executions without one.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_flows(const BenchOptions& options, const std::string& folder,
                           Figures& figures);

}  // namespace ff::cli
