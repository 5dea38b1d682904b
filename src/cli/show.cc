#include "cli/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/inspect_json.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"

namespace ff::cli {

namespace {

std::unexpected<Error> bad_input(std::string what) {
    return ff::fail(ErrorCode::invalid_input, std::move(what));
}

template <class T>
std::string list_or(const Session& session, const std::vector<T>& items,
                    const std::function<std::string()>& text) {
    return for_programs(session.output)
               ? list_document(session.output, all_as_json(items), std::nullopt)
               : text();
}

template <class T>
std::string document_or(const Session& session, const T& record,
                        const std::function<std::string()>& text) {
    return for_programs(session.output) ? document(session.output, as_json(record)) : text();
}

expected<ExecutionSnapshot> read_snapshot(const Session& session, const ExecutionId& id) {
    FF_TRY(auto snapshot, session.ask(DescribeExecution{id}));
    if (!snapshot) {
        return std::unexpected(no_such_execution(id.to_string()));
    }
    return std::move(*snapshot);
}

/// A page of the engine may be short and yet not the last; a person wants a full one.
expected<SearchPage> full_page(const Session& session, SearchExecutions op) {
    FF_TRY(SearchPage page, session.ask(op));
    const std::size_t wanted = op.limit;
    while (page.next_cursor && page.items.size() < wanted) {
        op.cursor = page.next_cursor;
        op.limit = static_cast<std::uint32_t>(wanted - page.items.size());
        FF_TRY(SearchPage more, session.ask(op));
        std::ranges::move(more.items, std::back_inserter(page.items));
        page.next_cursor = std::move(more.next_cursor);
    }
    return page;
}

}  // namespace

// ------------------------------------------------------------------------------------ executions

expected<Tags> parse_tags(const std::vector<std::string>& words) {
    Tags tags;
    for (const std::string& word : words) {
        const std::size_t split = word.find('=');
        if (split == std::string::npos || split == 0) {
            return bad_input("a tag is given as key=value, not as " + word);
        }
        if (!tags.emplace(word.substr(0, split), word.substr(split + 1)).second) {
            return bad_input("the tag " + word.substr(0, split) + " is given twice");
        }
    }
    return tags;
}

expected<SearchExecutions> search_of(const ListFilter& filter, TimestampMs now) {
    SearchExecutions op;
    op.ns = filter.ns;
    op.lane_id = filter.lane;
    op.kind = filter.kind;
    op.states = filter.states;
    op.cursor = filter.cursor;
    op.limit = filter.limit;
    op.oldest_first = filter.oldest_first;
    FF_TRY(op.tags, parse_tags(filter.tags));
    FF_TRY(op.created_after, moment_of("--since", filter.since, now, Towards::past));
    FF_TRY(op.created_before, moment_of("--until", filter.until, now, Towards::past));
    return op;
}

expected<std::string> show_executions(const Session& session, const SearchExecutions& search) {
    FF_TRY(const SearchPage page, full_page(session, search));
    if (session.output == Output::json) {
        return list_document(session.output, all_as_json(page.items), page.next_cursor);
    }
    const std::string more =
        page.next_cursor ? fmt::format("more with --cursor {}", printable(*page.next_cursor)) : "";
    if (session.output == Output::jsonl) {
        if (!more.empty()) {
            complain(more);
        }
        return list_document(session.output, all_as_json(page.items), std::nullopt);
    }
    if (page.items.empty()) {
        return "nothing found\n";
    }
    return executions_text(page.items, session.view) +
           (more.empty() ? "" : session.view.terminal.paint(more, Style::dim) + "\n");
}

ExitCode print_all_executions(const Session& session, SearchExecutions search) {
    search.limit = 1'000;
    ListWriter list(session.output);
    bool any = false;
    do {
        auto page = session.ask(search);
        if (!page) {
            return complain(page.error());
        }
        if (for_programs(session.output)) {
            for (const ExecutionInfo& info : page->items) {
                print_out(list.add(as_json(info)));
            }
        } else if (!page->items.empty()) {
            print_out(
                executions_text(page->items, session.view, any ? Titles::none : Titles::shown));
        }
        any = any || !page->items.empty();
        search.cursor = std::move(page->next_cursor);
    } while (search.cursor && output_fault() == 0);
    print_out(for_programs(session.output) ? list.finish(std::nullopt)
              : any                        ? ""
                                           : "nothing found\n");
    return ExitCode::ok;
}

// ----------------------------------------------------------------------------------- one execution

expected<Said> say_execution(const Session& session, const ExecutionId& id, Input input) {
    FF_TRY(const ExecutionSnapshot snapshot, read_snapshot(session, id));
    Said said;
    if (for_programs(session.output)) {
        said.json = as_json(snapshot);
        return said;
    }
    std::optional<ExecutionContext> context;
    if (input == Input::measured) {
        FF_TRY(context, session.ask(ReadExecutionContext{id}));
    }
    said.text = execution_text(snapshot, context, session.view);
    return said;
}

expected<Said> say_why(const Session& session, const ExecutionId& id) {
    FF_TRY(const Explanation why, session.ask(ExplainExecution{id}));
    FF_TRY(const ExecutionSnapshot snapshot, read_snapshot(session, id));
    Said said;
    if (for_programs(session.output)) {
        said.json = as_json(why, snapshot);
    } else {
        said.text = why_text(why, snapshot, session.view);
    }
    return said;
}

expected<std::string> show_attempts(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    FF_TRY(const auto attempts, session.ask(ListAttempts{id}));
    return list_or(session, attempts, [&] { return attempts_text(attempts, session.view); });
}

expected<std::string> show_history(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    FF_TRY(const auto history, session.ask(ReadLeaseHistory{id}));
    return list_or(session, history, [&] { return history_text(history, session.view); });
}

expected<std::string> show_input(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    // The context of an execution that does not exist is bad input; here it is not found.
    FF_TRY_VOID(session.ask(ReadExecutionState{id}));
    FF_TRY(const ExecutionContext context, session.ask(ReadExecutionContext{id}));
    return document_or(session, context, [&] { return context.input_payload; });
}

expected<std::string> show_tags(const Session& session, const std::string& word,
                                const std::optional<std::string>& key) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    FF_TRY(const ExecutionSnapshot snapshot, read_snapshot(session, id));
    if (key && !snapshot.tags.contains(*key)) {
        return ff::fail(ErrorCode::execution_not_found,
                        fmt::format("{} has no tag {}", id.to_string(), *key));
    }
    if (for_programs(session.output)) {
        js::Object tags;
        for (const auto& [name, value] : snapshot.tags) {
            if (!key || name == *key) {
                tags.emplace_back(name, value);
            }
        }
        return document(session.output, js::Object{{"execution_id", id.to_string()},
                                                   {"tags", js::Value(std::move(tags))}});
    }
    if (key) {
        return printable(snapshot.tags.at(*key)) + "\n";
    }
    std::string out;
    for (const auto& [name, value] : snapshot.tags) {
        out += printable(name) + "=" + printable(value) + "\n";
    }
    return out;
}

expected<ExecutionResult> read_result(const Session& session, const ExecutionId& id) {
    FF_TRY(const PublicState state, session.ask(ReadExecutionState{id}));
    FF_TRY(auto result, session.ask(GetExecutionResult{id}));
    if (!result) {
        return ff::fail(
            ErrorCode::execution_not_found,
            fmt::format("execution {} has no result: it is {}", id.to_string(), to_string(state)));
    }
    return std::move(*result);
}

js::Value result_json(const ExecutionId& id, const ExecutionResult& result) {
    return js::Object{
        {"execution_id", id.to_string()},
        {"result_payload", bytes_json(result.payload)},
        {"result_encoding", result.encoding ? js::Value(*result.encoding) : js::Value()}};
}

// ------------------------------------------------------------------------------------------ lists

expected<std::vector<LaneInfo>> read_lanes(const Session& session) {
    std::vector<LaneInfo> lanes;
    ListLanes op;
    do {
        FF_TRY(LanePage page, session.ask(op));
        std::ranges::move(page.lanes, std::back_inserter(lanes));
        op.cursor = std::move(page.next_cursor);
    } while (op.cursor);
    return lanes;
}

expected<std::string> show_lanes(const Session& session) {
    FF_TRY(const auto lanes, read_lanes(session));
    return list_or(session, lanes, [&] { return lanes_text(lanes, session.view); });
}

expected<std::string> show_workers(const Session& session, const std::optional<std::string>& ns) {
    std::vector<WorkerInfo> workers;
    ListWorkers op;
    op.ns = ns;
    do {
        FF_TRY(WorkerPage page, session.ask(op));
        std::ranges::move(page.workers, std::back_inserter(workers));
        op.after = std::move(page.next_cursor);
    } while (op.after);
    return list_or(session, workers, [&] { return workers_text(workers, session.view); });
}

expected<std::string> show_expired_leases(const Session& session) {
    std::vector<ExpiredLease> leases;
    ListExpiredLeases op;
    op.as_of = session.view.now;
    do {
        FF_TRY(ExpiredLeasePage page, session.ask(op));
        std::ranges::move(page.leases, std::back_inserter(leases));
        op.after = std::move(page.next_cursor);
    } while (op.after);
    return list_or(session, leases,
                   [&] { return leases_text(leases, "no lease is past its time", session.view); });
}

expected<std::string> show_scanners(const Session& session) {
    FF_TRY(const auto scanners, session.ask(ListScanners{}));
    return list_or(session, scanners, [&] { return scanners_text(scanners, session.view); });
}

expected<std::string> show_store(const Session& session) {
    FF_TRY(const StoreReport report, session.ask(ReadStoreReport{}));
    return document_or(session, report, [&] { return store_text(report, session.view); });
}

expected<std::string> show_capabilities(const Session& session) {
    FF_TRY(const Capabilities capabilities, session.ask(ReadCapabilities{}));
    return document_or(session, capabilities,
                       [&] { return capabilities_text(capabilities, session.view); });
}

}  // namespace ff::cli
