// `ff submit`: words of the command line as an execution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/json.h>

#include "cli/session.h"

namespace ff::cli {

struct SubmitOptions {
    std::string kind;
    std::optional<std::string> payload;  ///< `-` is standard input
    std::optional<std::string> file;
    bool json = false;  ///< the payload must be JSON, and is marked as such
    std::string ns = "default";
    std::string lane = "default";
    std::optional<std::int32_t> priority;
    std::vector<std::string> tags;  ///< key=value
    std::optional<std::string> key;
    std::optional<std::string> id;
    std::string creator = "cli";
    std::optional<std::string> delay;     ///< as parse_moment() reads it
    std::optional<std::string> deadline;  ///< the same
    std::optional<std::uint32_t> retries;
    std::optional<std::uint32_t> reclaims;
    std::optional<std::string> backoff;  ///< as parse_backoff() reads it
    std::optional<DurationMs> attempt_timeout_ms;
    std::vector<std::string> capabilities;
    std::optional<std::string> limit_key;
    std::optional<std::string> policy;  ///< JSON, or `@FILE`
    bool wait = false;
    std::optional<DurationMs> wait_timeout_ms;
};

/// `5s` (always the same), `1s..1m` (doubled up to the second), `1s..1m,x3,jitter`.
expected<js::Value> parse_backoff(const std::string& text);

/// The policy that the options make, on top of the one that is given; nothing when they ask for
/// none. It is checked as the engine will check it.
expected<std::optional<std::string>> policy_of(const SubmitOptions& options);

/// Everything but the payload, which may come from elsewhere.
expected<CreateExecution> execution_of(const SubmitOptions& options, TimestampMs now);

/// Prints the id, or with `wait` the result. Nothing is submitted when an option is wrong.
ExitCode run_submit(const CommonOptions& common, const SubmitOptions& options);

}  // namespace ff::cli
