// `ff bench lifecycle`: what an engine does a second with plain executions.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_lifecycle(const BenchOptions& options, const std::string& folder,
                               Figures& figures);

}  // namespace ff::cli
