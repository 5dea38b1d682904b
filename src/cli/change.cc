#include "cli/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/id_report.h"
#include "cli/inspect_json.h"
#include "cli/show.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

Said said(const ExecutionId& id, const std::string& outcome, js::Object more,
          const std::string& text) {
    js::Object members{{"execution_id", id.to_string()}, {"outcome", outcome}};
    std::ranges::move(more, std::back_inserter(members));
    return {fmt::format("{} {}\n", id.to_string(), text), js::Value(std::move(members)),
            ExitCode::ok, ""};
}

Said said(const std::string& outcome, const StateResult& result) {
    const std::string_view state = to_string(result.public_state);
    return said(result.execution_id, outcome, {{"public_state", state}},
                outcome == state ? outcome : fmt::format("{}: it is {}", outcome, state));
}

}  // namespace

// ------------------------------------------------------------------------------------- executions

ExitCode cancel_executions(const CommonOptions& options, const std::vector<std::string>& ids,
                           const std::string& reason) {
    return for_each_id(options, Access::change, ids,
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           CancelExecution op;
                           op.lease = LeaseRef(id);
                           op.reason = reason;
                           FF_TRY(const StateResult result, session.ask(std::move(op)));
                           return said("cancelled", result);
                       });
}

ExitCode replay_executions(const CommonOptions& options, const std::vector<std::string>& ids) {
    return for_each_id(options, Access::change, ids,
                       [](const Session& session, const ExecutionId& id) -> expected<Said> {
                           FF_TRY(const StateResult result, session.ask(ReplayExecution{id}));
                           return said("replayed", {id, result.public_state});
                       });
}

ExitCode revoke_leases(const CommonOptions& options, const std::vector<std::string>& ids,
                       const std::string& reason) {
    return for_each_id(
        options, Access::change, ids,
        [&](const Session& session, const ExecutionId& id) -> expected<Said> {
            RevokeLease op;
            op.execution_id = id;
            op.reason = reason;
            FF_TRY(const RevokeResult result, session.ask(std::move(op)));
            if (!result.revoked) {
                return said(id, "already_satisfied", {{"reason", result.reason}},
                            fmt::format("had nothing to revoke: {}", result.reason));
            }
            return said(
                id, "revoked",
                {{"lease_id", result.lease_id.to_string()}, {"lease_epoch", result.lease_epoch}},
                fmt::format("revoked: lease {}, epoch {}", result.lease_id.to_string(),
                            result.lease_epoch));
        });
}

ExitCode change_priority(const CommonOptions& options, const std::string& word,
                         std::int32_t priority) {
    return for_each_id(options, Access::change, {word},
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           FF_TRY_VOID(session.ask(ChangePriority{id, priority}));
                           return said(id, "changed", {{"priority", priority}},
                                       fmt::format("has priority {}", priority));
                       });
}

// ------------------------------------------------------------------------------------------- tags

ExitCode set_tags(const CommonOptions& options, const std::string& word,
                  const std::vector<std::string>& words) {
    const auto tags = parse_tags(words);
    if (!tags) {
        return complain(tags.error());
    }
    return for_each_id(options, Access::change, {word},
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           FF_TRY(const CountResult done, session.ask(SetExecutionTags{id, *tags}));
                           return said(id, "set", {{"count", done.count}},
                                       fmt::format("has {} new or changed tag{}", done.count,
                                                   done.count == 1 ? "" : "s"));
                       });
}

ExitCode remove_tags(const CommonOptions& options, const std::string& word,
                     const std::vector<std::string>& keys) {
    return for_each_id(
        options, Access::change, {word},
        [&](const Session& session, const ExecutionId& id) -> expected<Said> {
            std::vector<RemoveExecutionTag> ops;
            for (const std::string& key : keys) {
                ops.push_back({id, key});
            }
            std::uint32_t removed = 0;
            std::vector<std::string> missing;
            const auto answers = session.engine->run_all(std::move(ops));
            for (std::size_t i = 0; i < answers.size(); ++i) {
                FF_TRY(const CountResult one, answers[i]);
                removed += one.count;
                if (one.count == 0) {
                    missing.push_back(keys[i]);
                }
            }
            Said out = said(id, "removed", {{"count", removed}},
                            fmt::format("lost {} tag{}", removed, removed == 1 ? "" : "s"));
            if (!missing.empty()) {
                out.code = ExitCode::not_found;
                out.complaint = fmt::format("{} has no tag {}", id.to_string(), joined(missing));
            }
            return out;
        });
}

// ------------------------------------------------------------------------------------------ lanes

namespace {

/// A misspelt lane must not become a new one.
expected<void> check_known(const std::vector<LaneInfo>& known, const std::string& lane) {
    std::vector<std::string> names;
    for (const LaneInfo& info : known) {
        if (info.lane_id == lane) {
            return {};
        }
        names.push_back(info.lane_id);
    }
    const std::string meant = nearest_word(lane, names);
    return ff::fail(ErrorCode::lane_not_found,
                    fmt::format("there is no lane {}{}; --new makes it", lane,
                                meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant)));
}

}  // namespace

ExitCode set_lane_states(const CommonOptions& options, const std::vector<std::string>& lanes,
                         LaneState state, NewLane unknown) {
    for (const std::string& lane : lanes) {
        if (const auto fine = check_lane("lane", lane); !fine) {
            Error error = fine.error();
            error.detail += lanes.size() > 1 ? fmt::format("; {}", not_changed) : "";
            return complain(error);
        }
    }
    return with_session(options, Access::change, [&](const Session& session) {
        const auto known = read_lanes(session);
        if (!known) {
            return complain(known.error());
        }
        ExitCode worst = ExitCode::ok;
        std::vector<LaneInfo> changed;
        for (const std::string& lane : lanes) {
            expected<void> fine =
                unknown == NewLane::made ? expected<void>() : check_known(*known, lane);
            if (fine) {
                const auto done = session.ask(SetLaneState{lane, state});
                fine = done ? expected<void>() : std::unexpected(done.error());
            }
            if (fine) {
                changed.push_back({lane, state});
            } else {
                worst = worse(worst, complain(fine.error()));
            }
        }
        if (for_programs(options.output)) {
            print_out(list_document(options.output, all_as_json(changed), std::nullopt));
        } else if (!changed.empty()) {
            print_out(lanes_text(changed, session.view));
        }
        return worst;
    });
}

// ------------------------------------------------------------------------------------------ upkeep

ExitCode list_scanners(const CommonOptions& options) {
    return with_session(options, Access::change, [](const Session& session) {
        const auto text = show_scanners(session);
        if (!text) {
            return complain(text.error());
        }
        print_out(*text);
        return ExitCode::ok;
    });
}

ExitCode run_scanner(const CommonOptions& options, const std::string& scanner) {
    return with_session(options, Access::change, [&](const Session& session) {
        const auto known = session.ask(ListScanners{});
        if (!known) {
            return complain(known.error());
        }
        std::vector<std::string> names;
        for (const ScannerInfo& info : *known) {
            names.push_back(info.scanner);
        }
        if (std::ranges::find(names, scanner) == names.end()) {
            complain(fmt::format("there is no scanner {}; there are {}", scanner, joined(names)));
            return ExitCode::not_found;
        }
        const auto result = session.ask(RunScanner{scanner});
        if (!result) {
            return complain(result.error());
        }
        if (for_programs(options.output)) {
            print_out(document(options.output, as_json(*result)));
        } else {
            print_out(fmt::format("{}: {} processed, {} errors\n", scanner,
                                  with_commas(result->processed), with_commas(result->errors)));
            for (const std::string& finding : result->findings) {
                print_out("  " + printable(finding) + "\n");
            }
        }
        return result->errors == 0 && result->findings.empty() ? ExitCode::ok : ExitCode::failed;
    });
}

}  // namespace ff::cli
