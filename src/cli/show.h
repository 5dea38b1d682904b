// The commands that look: each answers with the text to print, for people or for programs.
//
// They work on any engine; `ff inspect` uses them on a store that is only looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/id_report.h"
#include "cli/session.h"

namespace ff::cli {

struct ListFilter {
    std::optional<std::string> ns;
    std::optional<std::string> lane;
    std::optional<std::string> kind;
    std::vector<PublicState> states;   ///< any of these
    std::vector<std::string> tags;     ///< key=value, all of these
    std::optional<std::string> since;  ///< as parse_moment() reads it
    std::optional<std::string> until;
    bool oldest_first = false;
    std::optional<std::string> cursor;
    std::uint32_t limit = 50;
};

/// The filter as an operation, or `invalid_input` that says what is wrong with it.
expected<SearchExecutions> search_of(const ListFilter& filter, TimestampMs now);
/// `key=value`.
expected<Tags> parse_tags(const std::vector<std::string>& words);

expected<std::string> show_executions(const Session& session, const SearchExecutions& search);
/// Every page, printed as it comes.
ExitCode print_all_executions(const Session& session, SearchExecutions search);

/// What else is read for a person who looks at an execution.
enum class Input : bool { left_out, measured };
expected<Said> say_execution(const Session& session, const ExecutionId& id, Input input);
expected<Said> say_why(const Session& session, const ExecutionId& id);

expected<std::string> show_attempts(const Session& session, const std::string& word);
expected<std::string> show_history(const Session& session, const std::string& word);
/// The bytes as they are; for programs an object.
expected<std::string> show_input(const Session& session, const std::string& word);
expected<std::string> show_tags(const Session& session, const std::string& word,
                                const std::optional<std::string>& key);

expected<std::vector<LaneInfo>> read_lanes(const Session& session);
expected<std::string> show_lanes(const Session& session);
expected<std::string> show_workers(const Session& session, const std::optional<std::string>& ns);
expected<std::string> show_expired_leases(const Session& session);
expected<std::string> show_scanners(const Session& session);
expected<std::string> show_store(const Session& session);
expected<std::string> show_capabilities(const Session& session);

/// The result of an execution that has one; `execution_not_found` says why there is none.
expected<ExecutionResult> read_result(const Session& session, const ExecutionId& id);
/// With the members of an answer to `complete`.
js::Value result_json(const ExecutionId& id, const ExecutionResult& result);

}  // namespace ff::cli
