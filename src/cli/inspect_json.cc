#include "cli/inspect_json.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "wire/answers.h"
#include "wire/errors.h"
#include "wire/event_answers.h"
#include "wire/flow_records.h"
#include "wire/records.h"

namespace ff::cli {

namespace {

/// The replacement character for every byte that is not UTF-8: JSON has no other way to say it.
std::string made_valid(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode_utf8(text, at);
        out += c.bytes == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, c.bytes);
        at += c.bytes == 0 ? 1 : c.bytes;
    }
    return out;
}

js::Value parsed(const std::string& text) {
    auto value = js::parse(is_valid_utf8(text) ? text : made_valid(text));
    FF_CHECK(value.has_value(), "the wire writes JSON");
    return std::move(*value);
}

template <class T>
js::Value record(const T& value) {
    std::string out;
    wire::write_object(out, value);
    return parsed(out);
}

js::Value maybe(const std::optional<std::string>& text) {
    return text ? js::Value(*text) : js::Value();
}

}  // namespace

js::Value as_json(const ExecutionInfo& info) { return record(info); }
js::Value as_json(const ExecutionContext& context) { return record(context); }
js::Value as_json(const AttemptInfo& attempt) { return record(attempt); }
js::Value as_json(const HistoryEntry& entry) { return record(entry); }
js::Value as_json(const LaneInfo& lane) { return record(lane); }
js::Value as_json(const WorkerInfo& worker) { return record(worker); }
js::Value as_json(const WebhookInfo& webhook) { return record(webhook); }
js::Value as_json(const ExpiredLease& lease) { return record(lease); }
js::Value as_json(const ScannerInfo& scanner) { return record(scanner); }
js::Value as_json(const ScannerResult& result) { return record(result); }
js::Value as_json(const StoreReport& report) { return record(report); }
js::Value as_json(const FlowSnapshot& flow) { return record(flow); }
js::Value as_json(const FlowListItem& flow) { return record(flow); }
js::Value as_json(const GraphNode& node) { return record(node); }
js::Value as_json(const FlowGraph& graph) { return record(graph); }

js::Value as_json(const ExecutionSnapshot& snapshot) {
    // The wire copies a policy as it is stored; one that is damaged must not damage the rest.
    if (!snapshot.policy || js::parse(*snapshot.policy)) {
        return record(snapshot);
    }
    ExecutionSnapshot without = snapshot;
    without.policy.reset();
    js::Value out = record(without);
    out.set("policy", *snapshot.policy);
    return out;
}

js::Value as_json(const Explanation& why, const ExecutionSnapshot& snapshot) {
    js::Value out = js::Object{{"execution_id", snapshot.info.execution_id.to_string()}};
    const js::Value answer = record(why);
    for (const auto& [name, value] : *answer.if_object()) {
        out.set(name, value);
    }
    out.set("failure_reason", maybe(snapshot.failure_reason));
    out.set("failure_category", maybe(snapshot.failure_category));
    return out;
}

js::Value as_json(const Capabilities& capabilities) {
    return parsed(wire::write_answer<ReadCapabilities>(capabilities).body);
}

js::Value as_json(const Error& error) { return parsed(wire::write_error(error).body); }

js::Value bytes_json(std::string_view bytes) {
    std::string out;
    wire::write_bytes(out, bytes);
    return parsed(out);
}

}  // namespace ff::cli
