// The commands that change what is there: executions, their tags, lanes, and upkeep on demand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

ExitCode cancel_executions(const CommonOptions& options, const std::vector<std::string>& ids,
                           const std::string& reason);
ExitCode replay_executions(const CommonOptions& options, const std::vector<std::string>& ids);
ExitCode revoke_leases(const CommonOptions& options, const std::vector<std::string>& ids,
                       const std::string& reason);
ExitCode change_priority(const CommonOptions& options, const std::string& word,
                         std::int32_t priority);

/// `words` are `key=value`.
ExitCode set_tags(const CommonOptions& options, const std::string& word,
                  const std::vector<std::string>& words);
/// `not_found` when the execution has none of these; the others are removed all the same.
ExitCode remove_tags(const CommonOptions& options, const std::string& word,
                     const std::vector<std::string>& keys);

/// Whether a lane that nobody has used yet may be given a state.
enum class NewLane : bool { refused, made };
ExitCode set_lane_states(const CommonOptions& options, const std::vector<std::string>& lanes,
                         LaneState state, NewLane unknown);

/// What the background jobs of the engine have done. Of a store in a file it is the engine of this
/// very command that answers.
ExitCode list_scanners(const CommonOptions& options);
/// `failed` when the pass met an error or found what it could not mend.
ExitCode run_scanner(const CommonOptions& options, const std::string& scanner);

}  // namespace ff::cli
