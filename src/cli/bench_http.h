// `ff bench http`: what a server in another process does, beside its own echo rate.
#pragma once

#include <string>

#include "cli/bench_figures.h"

namespace ff::cli {

/// Starts `ff serve` on a store in the folder, or drives the server that the options name.
expected<void> bench_http(const BenchOptions& options, const std::string& folder, Figures& figures);

}  // namespace ff::cli
