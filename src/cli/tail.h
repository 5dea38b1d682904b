// `ff tail`: what an execution says, as it says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/session.h"

namespace ff::cli {

struct TailArgs {
    std::string id;
    std::optional<std::uint32_t> attempt;  ///< only this one
    bool no_follow = false;
    std::optional<std::string> since;   ///< as parse_moment() reads it
    std::optional<std::string> from;    ///< a FollowCursor
    std::optional<std::uint32_t> last;  ///< so many frames of the latest attempt, then what comes
    std::vector<std::string> types;
    bool no_live = false;
    bool raw = false;
    bool summary = false;
};

/// Until the execution has ended, Ctrl-C, or nobody reads any more; all three are exit code 0.
ExitCode run_tail(const CommonOptions& options, const TailArgs& args);

}  // namespace ff::cli
