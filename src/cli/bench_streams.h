// `ff bench streams`: what frames, tails and events cost.
#pragma once

#include <string>

#include "cli/bench.h"
#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_streams(const BenchOptions& options, const std::string& folder,
                             Figures& figures);

}  // namespace ff::cli
