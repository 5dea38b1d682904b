// `ff bench limits`: what a budget and a quota cost the claims they apply to, and what those who
// are blocked cost the others.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

expected<void> bench_limits(const BenchOptions& options, const std::string& folder,
                            Figures& figures);

}  // namespace ff::cli
