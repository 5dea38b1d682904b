// Answers of the engine as JSON, with the names of the HTTP interface (spec 07).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>

#include <ff/json.h>

namespace ff::cli {

js::Value as_json(const ExecutionInfo& info);
js::Value as_json(const ExecutionSnapshot& snapshot);
js::Value as_json(const AttemptInfo& attempt);
js::Value as_json(const HistoryEntry& entry);
/// With the failure of the execution, if it has one.
js::Value as_json(const Explanation& why, const ExecutionSnapshot& snapshot);
js::Value as_json(const LaneInfo& lane);
js::Value as_json(const WorkerInfo& worker);
js::Value as_json(const ExpiredLease& lease);

/// `{"items":[…],"next_cursor":…}`.
template <class T>
js::Value page_as_json(const std::vector<T>& items, const std::optional<std::string>& cursor) {
    js::Array list;
    for (const T& item : items) {
        list.push_back(as_json(item));
    }
    return js::Object{{"items", std::move(list)},
                      {"next_cursor", cursor ? js::Value(*cursor) : js::Value()}};
}

}  // namespace ff::cli
