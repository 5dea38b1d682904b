// A task that a program does: what the program is told beside its input, and what its end means.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/task.h>

#include "cli/exec_child.h"

namespace ff::cli {

/// `NAME=value` for each variable: those of this process without its credentials, and the facts
/// about the task.
std::vector<std::string> task_environment(const TaskInfo& task);

struct ExitRules {
    int permanent = 100;                  ///< the exit code that is not tried again
    std::optional<std::string> encoding;  ///< of results
};

/// From SIGTERM to SIGKILL. In our own shutdown the program must have ended before the worker gives
/// its work away.
std::chrono::milliseconds kill_patience(const Task& task, DurationMs usual_ms);

/// What a program prints, line by line into the stream of its task. Lines that are longer than a
/// frame are cut. A stream that takes nothing more is no reason to stop the program.
class LineFrames {
  public:
    LineFrames(Task& task, FrameKind kind) : task_(task), kind_(kind) {}

    void add(std::string_view block);
    /// The rest, which has no line break.
    void finish();

  private:
    void write(std::string_view line);

    Task& task_;
    const FrameKind kind_;
    std::string rest_;
    bool closed_ = false;
};

/// Exit code 0 completes with what was printed; anything else fails with the last words of it. What
/// the worker stopped itself is given back.
Result end_task(Task& task, expected<ExecOutcome> run, const ExitRules& rules);

}  // namespace ff::cli
