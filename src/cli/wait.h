// Waiting until executions have ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

/// How an execution ended, or that it had not when the time was over.
struct Ending {
    ExecutionId execution_id;
    expected<ExecutionSnapshot> snapshot;
    bool over_time = false;
};

/// Asks until all have ended or the time is over, and calls `tell` for each as it ends, then for
/// those that have not. Faults that pass by themselves are waited out for a while. A store in a
/// file is opened anew for each question, so that its own engine can come and go.
expected<void> wait_for(const CommonOptions& options, std::vector<ExecutionId> ids,
                        std::optional<DurationMs> timeout_ms,
                        const std::function<void(const Ending&)>& tell);

/// `ok` when all are completed.
ExitCode wait_for_executions(const CommonOptions& options, const std::vector<std::string>& words,
                             std::optional<DurationMs> timeout_ms);

/// `ok` for completed, otherwise `failed`.
ExitCode exit_code_of(PublicState state);
/// `failed: transient: no route to host`.
std::string ending_text(const ExecutionSnapshot& snapshot);

}  // namespace ff::cli
