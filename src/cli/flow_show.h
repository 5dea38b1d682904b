// The commands that look at flows and change their course.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/flows.h>

#include "cli/session.h"

namespace ff::cli {

struct FlowFilter {
    std::optional<std::string> ns;
    std::optional<std::string> status;  ///< active, completed, failed, cancelled
    std::optional<std::string> name;
    std::uint32_t limit = 50;
};

/// How a graph is drawn.
FF_WORD_ENUM(GraphForm, dot, mermaid, json)

/// Newest first, as many as the filter says.
expected<std::vector<FlowListItem>> find_flows(const Session& session, const FlowFilter& filter);

/// A flow by its id, by the last digits of it (see suffix_digits_min), or by its name: then the
/// newest. Errors: `flow_not_found`; for digits of several flows one with ambiguous_field.
expected<FlowId> find_flow(const Session& session, const std::string& word);
Error no_such_flow(const std::string& word);

expected<std::string> show_flows(const Session& session, const FlowFilter& filter);
expected<std::string> show_flow(const Session& session, const std::string& word);
expected<std::string> show_flow_graph(const Session& session, const std::string& word,
                                      GraphForm form);

struct FlowCancelOptions {
    std::string reason;
    CancellationPolicy policy = CancellationPolicy::cancel_all;
};
ExitCode cancel_flows(const CommonOptions& options, const std::vector<std::string>& words,
                      const FlowCancelOptions& how);
/// `from` is the name of a node or the id of an execution.
ExitCode retry_flow(const CommonOptions& options, const std::string& word,
                    const std::optional<std::string>& from);
enum class Hold : bool { released, held };
ExitCode hold_flows(const CommonOptions& options, const std::vector<std::string>& words, Hold hold);

}  // namespace ff::cli
