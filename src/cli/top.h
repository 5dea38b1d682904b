// `ff top`: what an operator looks at first, on one screen.
//
// Everything is read at bounded cost, whatever the store holds: pages of at most a thousand
// executions, which is why counts end at `1,000+`, and rates are of the newest thousand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

struct TopOptions {
    std::optional<DurationMs> every_ms;
};

/// A number that may be larger than what was counted.
struct TopCount {
    std::uint64_t count = 0;
    bool or_more = false;
};

struct TopLane {
    std::string lane;
    LaneState state = LaneState::active;
    std::map<PublicState, TopCount> counts;
};

struct TopFailure {
    ExecutionInfo info;
    std::string reason;
};

/// One moment.
struct TopPicture {
    std::vector<TopLane> lanes;
    std::vector<TopFailure> failures;  ///< newest first
    std::vector<WorkerInfo> workers;   ///< the first few
    TopCount workers_in_all;
    double window_s = 0;  ///< over which the rates were measured
    double created_per_s = 0;
    double completed_per_s = 0;
    double failed_per_s = 0;
};

expected<TopPicture> read_top(const Session& session);
std::string top_text(const TopPicture& picture, const View& view);
js::Value top_json(const TopPicture& picture);

/// Renews itself on a terminal until q; elsewhere it is one picture.
ExitCode run_top(const CommonOptions& common, const TopOptions& options);

}  // namespace ff::cli
