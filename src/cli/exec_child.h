// A program run on some input: what it is given, what it prints, how it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

/// Where a program's standard error goes, beside the end of it that is kept.
enum class ExecErrors : std::uint8_t { passed_on, kept_only };

struct ExecOptions {
    std::string dir;  ///< it runs there; empty: here
    ExecErrors errors = ExecErrors::passed_on;
    std::size_t output_bytes_max = 700'000;  ///< of standard output, all of it kept
    std::size_t error_bytes_kept = 1'000;    ///< of standard error, the end is kept
    /// From SIGTERM to SIGKILL; asked for when `stop` has come. Absent: 10 seconds.
    std::function<std::chrono::milliseconds()> kill_after;
    /// Hear what it prints, block by block; may take their time, the program waits then.
    std::function<void(std::string_view)> on_output;
    std::function<void(std::string_view)> on_error;
};

struct ExecOutcome {
    int exit_code = 0;
    int signal = 0;  ///< that ended it; 0: it ended by itself
    bool output_too_large = false;
    std::string output;
    std::string error_tail;
};

/// Runs a program, found in PATH unless it is a path, in a process group of its own. `input` goes
/// to its standard input. When `stop` is asked for, the group gets SIGTERM, later SIGKILL.
/// `store_io` when it cannot be started.
expected<ExecOutcome> run_program(const std::vector<std::string>& words,
                                  const std::vector<std::string>& environment,
                                  std::string_view input, const std::stop_token& stop,
                                  const ExecOptions& options);

}  // namespace ff::cli
