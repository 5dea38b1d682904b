// `ff serve` and `ff dev`: the server as a program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cli/exit_code.h"

namespace ff::cli {

struct ServeOptions {
    std::optional<std::string> config;  ///< a TOML file
    bool print_config = false;
    std::map<std::string, std::string> flags;  ///< settings by their names
};

/// Runs until SIGINT or SIGTERM. Ends with 1 for a setting or a start that failed, 2 for a store
/// that may not be opened.
ExitCode run_serve(const ServeOptions& options);

struct DevOptions {
    std::string db = ":memory:";
    std::uint16_t port = 9090;  ///< 0: any that is free
};

/// A server for trying things out: on this machine only, nobody is asked who they are.
ExitCode run_dev(const DevOptions& options);

}  // namespace ff::cli
