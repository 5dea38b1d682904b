// `ff demo`: a small believable workload on a fresh store, shown while it runs and checked after.
#pragma once

#include <optional>
#include <string>

#include "cli/exit_code.h"

namespace ff::cli {

struct DemoOptions {
    static constexpr int jobs_min = 50;
    static constexpr int workers_max = 64;

    std::optional<std::string> db;  ///< a file that does not exist yet; a temporary one when absent
    int jobs = 1'000;
    int workers = 4;
    double seconds = 5;  ///< how long submitters take to hand in their work
    bool keep = false;   ///< leave the temporary store behind
};

/// `ok` when every execution ended as the story wants and the store is sound.
ExitCode run_demo(const DemoOptions& options);

}  // namespace ff::cli
