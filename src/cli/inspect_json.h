// Answers of the engine as JSON values, in the words of the HTTP interface: what wire/records.h
// describes is the one place that names their members.
#pragma once

#include <string_view>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

namespace ff::cli {

js::Value as_json(const ExecutionInfo& info);
js::Value as_json(const ExecutionSnapshot& snapshot);
js::Value as_json(const ExecutionContext& context);
js::Value as_json(const AttemptInfo& attempt);
js::Value as_json(const HistoryEntry& entry);
/// With the failure of the execution, if it has one.
js::Value as_json(const Explanation& why, const ExecutionSnapshot& snapshot);
js::Value as_json(const LaneInfo& lane);
js::Value as_json(const WorkerInfo& worker);
js::Value as_json(const WebhookInfo& webhook);
js::Value as_json(const ExpiredLease& lease);
js::Value as_json(const ScannerInfo& scanner);
js::Value as_json(const ScannerResult& result);
js::Value as_json(const StoreReport& report);
js::Value as_json(const Capabilities& capabilities);
js::Value as_json(const FlowSnapshot& flow);
js::Value as_json(const FlowListItem& flow);
js::Value as_json(const GraphNode& node);
js::Value as_json(const FlowGraph& graph);
/// The body of an error, as the HTTP interface has it.
js::Value as_json(const Error& error);
/// `{"base64":"…"}`.
js::Value bytes_json(std::string_view bytes);

template <class T>
js::Array all_as_json(const std::vector<T>& items) {
    js::Array list;
    for (const T& item : items) {
        list.push_back(as_json(item));
    }
    return list;
}

}  // namespace ff::cli
