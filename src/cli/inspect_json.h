// Answers of the engine as JSON, with the names of the HTTP interface (spec 07).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ff/contracts.h>

#include "base/json.h"

namespace ff::cli {

json::Value as_json(const ExecutionInfo& info);
json::Value as_json(const ExecutionSnapshot& snapshot);
json::Value as_json(const AttemptInfo& attempt);
json::Value as_json(const HistoryEntry& entry);
/// With the failure of the execution, if it has one.
json::Value as_json(const Explanation& why, const ExecutionSnapshot& snapshot);
json::Value as_json(const LaneInfo& lane);
json::Value as_json(const WorkerInfo& worker);
json::Value as_json(const ExpiredLease& lease);

/// `{"items":[…],"next_cursor":…}`.
template <class T>
json::Value page_as_json(const std::vector<T>& items, const std::optional<std::string>& cursor) {
    json::Array list;
    for (const T& item : items) {
        list.push_back(as_json(item));
    }
    return json::Object{{"items", std::move(list)},
                        {"next_cursor", cursor ? json::Value(*cursor) : json::Value()}};
}

}  // namespace ff::cli
