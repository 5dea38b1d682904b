#include "cli/flow_show.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "cli/execution_ids.h"
#include "cli/flow_tree.h"
#include "cli/id_report.h"
#include "cli/inspect_json.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t candidate_flows_shown = 5;

/// The digits of a UUID or of its end, in lower case; empty when it is neither.
std::string digits_of(const std::string& text) {
    std::string digits;
    for (const char c : text) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isxdigit(letter) != 0) {
            digits.push_back(static_cast<char>(std::tolower(letter)));
        } else if (c != '-') {
            return "";
        }
    }
    return digits.size() < suffix_digits_min ? "" : digits;
}

Error ambiguous(const std::string& word, const std::vector<FlowId>& found) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(found.size(), candidate_flows_shown); ++i) {
        names.push_back(found[i].to_string());
    }
    return {ErrorCode::invalid_input,
            fmt::format("{} is the end of {} ids of flows: {}; give more digits", word,
                        found.size(), joined(names)),
            {{std::string(ambiguous_field), word}}};
}

expected<FlowGraph> read_graph(const Session& session, const FlowId& id) {
    auto graph = session.ask(ReadFlowGraph{id});
    if (!graph && graph.error().code == ErrorCode::flow_not_found) {
        return std::unexpected(no_such_flow(id.to_string()));
    }
    return graph;
}

/// Does something with each flow, and sums it up in an exit code.
ExitCode for_each_flow(const CommonOptions& options, const std::vector<std::string>& words,
                       const std::function<expected<Said>(const Session&, const FlowId&)>& act) {
    return with_session(options, Access::change, [&](const Session& session) {
        IdReport report(options.output, words.size(), "flow_id");
        for (const std::string& word : words) {
            const auto id = find_flow(session, word);
            if (!id) {
                report.add(word, std::unexpected(id.error()));
                continue;
            }
            auto said = act(session, *id);
            if (!said && said.error().code == ErrorCode::flow_not_found) {
                said = std::unexpected(no_such_flow(word));
            }
            report.add(id->to_string(), said);
        }
        return report.finish();
    });
}

Said said(const FlowId& id, js::Object more, const std::string& text) {
    js::Object members{{"flow_id", id.to_string()}};
    std::ranges::move(more, std::back_inserter(members));
    return {fmt::format("{} {}\n", id.to_string(), text), js::Value(std::move(members)),
            ExitCode::ok, ""};
}

}  // namespace

// ---------------------------------------------------------------------------------------- finding

Error no_such_flow(const std::string& word) {
    return {ErrorCode::flow_not_found, fmt::format("there is no flow {}", word), {}};
}

expected<std::vector<FlowListItem>> find_flows(const Session& session, const FlowFilter& filter) {
    std::vector<FlowListItem> out;
    ListFlows op;
    op.ns = filter.ns;
    op.status = filter.status;
    op.limit = 1'000;
    do {
        FF_TRY(FlowPage page, session.ask(op));
        for (FlowListItem& flow : page.flows) {
            if (!filter.name || flow.flow_kind == *filter.name) {
                out.push_back(std::move(flow));
            }
        }
        op.cursor = page.next_cursor;
    } while (op.cursor);
    std::ranges::stable_sort(out, [](const FlowListItem& a, const FlowListItem& b) {
        return std::pair(a.created_at, a.flow_id) > std::pair(b.created_at, b.flow_id);
    });
    if (out.size() > filter.limit) {
        out.resize(filter.limit);
    }
    return out;
}

expected<FlowId> find_flow(const Session& session, const std::string& word) {
    if (const auto id = FlowId::parse(word)) {
        return *id;
    }
    FlowFilter all;
    all.limit = std::numeric_limits<std::uint32_t>::max();
    FF_TRY(const auto flows, find_flows(session, all));
    const std::string digits = digits_of(word);
    std::vector<FlowId> found;
    for (const FlowListItem& flow : flows) {
        if (!digits.empty() && digits_of(flow.flow_id.to_string()).ends_with(digits)) {
            found.push_back(flow.flow_id);
        }
    }
    if (found.size() > 1) {
        return std::unexpected(ambiguous(word, found));
    }
    if (found.size() == 1) {
        return found.front();
    }
    const auto named = std::ranges::find(flows, word, &FlowListItem::flow_kind);
    if (named == flows.end()) {
        return std::unexpected(no_such_flow(word));
    }
    return named->flow_id;
}

// ---------------------------------------------------------------------------------------- looking

expected<std::string> show_flows(const Session& session, const FlowFilter& filter) {
    FF_TRY(const auto flows, find_flows(session, filter));
    return for_programs(session.output)
               ? list_document(session.output, all_as_json(flows), std::nullopt)
               : flows_text(flows, session.view);
}

expected<std::string> show_flow(const Session& session, const std::string& word) {
    FF_TRY(const FlowId id, find_flow(session, word));
    FF_TRY(const FlowGraph graph, read_graph(session, id));
    return for_programs(session.output) ? document(session.output, as_json(graph))
                                        : flow_text(graph, session.view);
}

expected<std::string> show_flow_graph(const Session& session, const std::string& word,
                                      GraphForm form) {
    FF_TRY(const FlowId id, find_flow(session, word));
    FF_TRY(const FlowGraph graph, read_graph(session, id));
    if (for_programs(session.output)) {
        return document(session.output, as_json(graph));
    }
    switch (form) {
        case GraphForm::dot: return graph.to_dot();
        case GraphForm::mermaid: return graph.to_mermaid();
        case GraphForm::json: break;
    }
    return document(Output::json, as_json(graph));
}

// --------------------------------------------------------------------------------------- changing

ExitCode cancel_flows(const CommonOptions& options, const std::vector<std::string>& words,
                      const FlowCancelOptions& how) {
    return for_each_flow(
        options, words, [&](const Session& session, const FlowId& id) -> expected<Said> {
            CancelFlow op;
            op.flow_id = id;
            op.reason = how.reason;
            op.cancellation_policy = how.policy;
            FF_TRY(const CancelFlowResult result, session.ask(std::move(op)));
            if (result.already_terminal) {
                return ff::fail(ErrorCode::flow_already_terminal,
                                fmt::format("flow {} has ended already", id.to_string()));
            }
            return said(id,
                        {{"outcome", "cancelled"},
                         {"cancellation_policy", to_string(result.cancellation_policy)},
                         {"member_count", result.member_count},
                         {"scheduled", result.scheduled}},
                        fmt::format("cancelled, {} execution{} with it", result.member_count,
                                    result.member_count == 1 ? "" : "s"));
        });
}

namespace {

expected<ExecutionId> find_member(const Session& session, const FlowId& flow,
                                  const std::string& word) {
    FF_TRY(const FlowGraph graph, read_graph(session, flow));
    for (const GraphNode& node : graph.nodes) {
        if (node.node == word || node.execution_id.to_string() == word) {
            return node.execution_id;
        }
    }
    return ff::fail(ErrorCode::execution_not_found,
                    fmt::format("flow {} has no node {}", flow.to_string(), word));
}

}  // namespace

ExitCode retry_flow(const CommonOptions& options, const std::string& word,
                    const std::optional<std::string>& from) {
    return for_each_flow(
        options, {word}, [&](const Session& session, const FlowId& id) -> expected<Said> {
            RetryFlow op;
            op.flow_id = id;
            if (from) {
                FF_TRY(op.from, find_member(session, id, *from));
            }
            FF_TRY(const RetryFlowResult result, session.ask(std::move(op)));
            js::Array again;
            for (const ExecutionId& member : result.replayed) {
                again.emplace_back(member.to_string());
            }
            const std::size_t count = again.size();
            return said(id, {{"outcome", "retried"}, {"replayed", js::Value(std::move(again))}},
                        count == 0 ? "has nothing to run again"
                                   : fmt::format("runs {} execution{} again", count,
                                                 count == 1 ? "" : "s"));
        });
}

ExitCode hold_flows(const CommonOptions& options, const std::vector<std::string>& words,
                    Hold hold) {
    return for_each_flow(
        options, words, [&](const Session& session, const FlowId& id) -> expected<Said> {
            const auto done =
                hold == Hold::held ? session.ask(PauseFlow{id}) : session.ask(ResumeFlow{id});
            FF_TRY(const FlowStateResult result, done);
            return said(
                id,
                {{"outcome", hold == Hold::held ? "paused" : "resumed"},
                 {"public_flow_state", to_string(result.state)},
                 {"paused", result.paused}},
                result.paused ? "is paused: what runs goes on, nothing is begun" : "goes on");
        });
}

}  // namespace ff::cli
