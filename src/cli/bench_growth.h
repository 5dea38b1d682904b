// `ff bench growth`: what an operation costs in a small store and in a large one.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_growth(const BenchOptions& options, const std::string& folder,
                            Figures& figures);

}  // namespace ff::cli
