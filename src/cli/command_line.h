// The command line of `ff`: what there is to say to it, and who does it.
#pragma once

#include "cli/exit_code.h"

namespace ff::cli {

/// Parses, runs the command, answers how it went. Bad usage is one line on stderr.
ExitCode run_command_line(int argc, const char* const* argv);

}  // namespace ff::cli
