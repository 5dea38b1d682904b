// `ff worker exec`: any program is a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/ids.h>

#include "cli/exit_code.h"
#include "cli/session.h"

namespace ff::cli {

struct WorkerExecOptions {
    std::vector<std::string> command;
    std::vector<std::string> lanes;
    std::vector<std::string> kinds;  ///< empty: all
    std::vector<std::string> capabilities;
    std::string ns = "default";
    std::string worker_id;  ///< empty: the name of the program
    std::uint32_t concurrency = 1;
    DurationMs lease_ttl_ms = 30'000;
    DurationMs drain_ms = 30'000;
    DurationMs kill_after_ms = 10'000;
    int permanent_exit = 100;
    std::optional<std::string> encoding;  ///< of results
    std::optional<std::uint64_t> tasks;   ///< end after so many
    bool stream = false;                  ///< what it prints can be read along
};

/// Runs until SIGINT or SIGTERM, then lets what is running finish.
ExitCode run_worker_exec(const CommonOptions& common, const WorkerExecOptions& options);

}  // namespace ff::cli
