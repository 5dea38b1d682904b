// A program run on some input: what it is given, what it prints, how it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

struct ExecLimits {
    std::size_t output_bytes_max = 700'000;        ///< of standard output, all of it kept
    std::size_t error_bytes_kept = 1'000;          ///< of standard error, the end is kept
    std::chrono::milliseconds kill_after{10'000};  ///< after being asked to stop
};

struct ExecOutcome {
    int exit_code = 0;
    int signal = 0;  ///< that ended it; 0: it ended by itself
    bool output_too_large = false;
    std::string output;
    std::string error_tail;
};

/// Runs a program, found in PATH unless it is a path, in a process group of its own. `input` goes
/// to its standard input. When `stop` is asked for, the group gets SIGTERM, later SIGKILL. What it
/// prints as an error is passed on to ours. `store_io` when it cannot be started.
expected<ExecOutcome> run_program(const std::vector<std::string>& words,
                                  const std::vector<std::string>& environment,
                                  std::string_view input, const std::stop_token& stop,
                                  const ExecLimits& limits);

}  // namespace ff::cli
