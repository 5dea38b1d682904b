// Answers of the engine as text for people: tables and lists of facts. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>

#include "cli/table.h"
#include "cli/terminal.h"

namespace ff::cli {

/// Where and when a text will be read.
struct View {
    Terminal terminal;
    TimestampMs now = 0;
};

bool has_ended(PublicState state);
/// The state in its colour.
Cell state_cell(PublicState state);
/// `2026-03-01 12:00:00.000Z (3.2 s ago)`.
std::string when(TimestampMs at, TimestampMs now);
/// `transient: no route to host`; empty without a failure.
std::string failure_text(const ExecutionSnapshot& snapshot);

/// Everything about an execution. Without its context the size of the input is left out.
std::string execution_text(const ExecutionSnapshot& snapshot,
                           const std::optional<ExecutionContext>& context, const View& view);
std::string why_text(const Explanation& why, const ExecutionSnapshot& snapshot, const View& view);
std::string attempts_text(const std::vector<AttemptInfo>& attempts, const View& view);
std::string history_text(const std::vector<HistoryEntry>& history, const View& view);

/// Whether a table begins with its titles, or goes on with an earlier one.
enum class Titles : bool { none, shown };
std::string executions_text(const std::vector<ExecutionInfo>& items, const View& view,
                            Titles titles = Titles::shown);
std::string lanes_text(const std::vector<LaneInfo>& lanes, const View& view);
std::string workers_text(const std::vector<WorkerInfo>& workers, const View& view);
/// `empty` is the sentence for no lease at all.
std::string leases_text(const std::vector<ExpiredLease>& leases, const std::string& empty,
                        const View& view);
std::string scanners_text(const std::vector<ScannerInfo>& scanners, const View& view);
std::string store_text(const StoreReport& report, const View& view);
std::string capabilities_text(const Capabilities& capabilities, const View& view);

}  // namespace ff::cli
