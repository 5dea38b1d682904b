// `ff inspect`: a read-only look at a store's file, beside its owner or without one.
//
// Each function is one subcommand. They print to standard output; faults are one line on standard
// error. A bad id is `usage`, an execution that does not exist is `not_found`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

struct InspectOptions {
    std::string db;
    Output output = Output::text;
    std::string id;  ///< of the subcommands that look at one execution
};

struct ListOptions {
    std::optional<std::string> lane;
    std::optional<std::string> state;
    std::optional<std::string> ns;
    std::optional<std::string> kind;
    std::optional<std::string> tag;  ///< key=value
    std::optional<std::string> cursor;
    std::uint32_t limit = 50;
};

ExitCode inspect_list(const InspectOptions& options, const ListOptions& filter);
ExitCode inspect_get(const InspectOptions& options);
ExitCode inspect_why(const InspectOptions& options);
ExitCode inspect_attempts(const InspectOptions& options);
ExitCode inspect_history(const InspectOptions& options);
/// The bytes as they are.
ExitCode inspect_input(const InspectOptions& options);
ExitCode inspect_result(const InspectOptions& options);
ExitCode inspect_lanes(const InspectOptions& options);
ExitCode inspect_workers(const InspectOptions& options);
enum class LeaseFilter : bool { expired, all };
ExitCode inspect_leases(const InspectOptions& options, LeaseFilter which);
ExitCode inspect_stats(const InspectOptions& options);

}  // namespace ff::cli
