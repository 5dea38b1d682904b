// `ff flow run`: a file's flow from its submission to its end, with its commands run right here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

/// What `--resume` means when it names no flow.
inline constexpr const char* newest_run = "newest";

struct FlowRunOptions {
    std::string file;
    std::optional<std::string> db;       ///< a store; see own_store() for the default
    std::uint32_t jobs = 0;              ///< commands at a time; 0: one for each processor
    bool wait = true;                    ///< until it has ended
    std::optional<std::string> resume;   ///< a flow as find_flow() takes it, or newest_run
    std::vector<std::string> variables;  ///< NAME=VALUE
};

/// Where runs of a file are kept when nobody says where: `.ff/NAME.db` beside the file.
std::string own_store(const std::string& file, const std::string& name);

/// `ok` when the flow completed. A file that is not right is a line `FILE:LINE:COLUMN: …` and
/// `usage`; nothing is submitted then.
ExitCode run_flow(const CommonOptions& common, const FlowRunOptions& options);

}  // namespace ff::cli
