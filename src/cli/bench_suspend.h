// `ff bench suspend`: what waiting for a signal costs, and what a million that wait cost the rest.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_suspend(const BenchOptions& options, const std::string& folder,
                             Figures& figures);

}  // namespace ff::cli
