// Tags of flows.
#include <ff/json.h>

#include "core/decide.h"
#include "core/flow_checks.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::size_t flow_tags_max = 64;
constexpr std::size_t tag_value_bytes_max = 4'096;

}  // namespace

expected<void> check_flow_tags(const Tags& tags) {
    if (tags.size() > flow_tags_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "tags: at most 64 (got " + std::to_string(tags.size()) + ")");
    }
    for (const auto& [key, value] : tags) {
        if (!is_namespaced_tag_key(key)) {
            return ff::fail(ErrorCode::invalid_tag_key, key);
        }
        FF_TRY_VOID(check_reason("tag " + key, value, tag_value_bytes_max));
    }
    return {};
}

void tell_tags(const Flow& flow, Changes& changes, TimestampMs now) {
    for (const auto& [key, value] : flow.tags) {
        changes.log_events.push_back(flow_event(
            flow, LogFamily::instance_tags, "attached",
            js::dump(js::Object{{"tag", key}, {"value", value}, {"previous", nullptr}}), now));
    }
}

expected<void> validate(SetFlowTags& args) {
    if (args.tags.empty()) {
        return ff::fail(ErrorCode::invalid_input, "tags: at least one is required");
    }
    return check_flow_tags(args.tags);
}

void reads(const SetFlowTags& args, ReadSet& set) { set.flows.push_back(args.flow_id); }

Decision<CountResult> decide(const Snapshot& view, const SetFlowTags& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    Flow flow = *found;
    std::vector<std::string> changed;
    for (const auto& [key, value] : args.tags) {
        const auto before = flow.tags.find(key);
        if (before != flow.tags.end() && before->second == value) {
            continue;  // nothing happens, and nobody hears of it
        }
        changed.push_back(js::dump(js::Object{
            {"tag", key},
            {"value", value},
            {"previous", before != flow.tags.end() ? js::Value(before->second) : js::Value()}}));
        flow.tags[key] = value;
    }
    if (flow.tags.size() > flow_tags_max) {
        return ff::fail(ErrorCode::invalid_input, "tags: at most 64 on one flow");
    }
    flow.last_mutation_at = ctx.now;
    Changes changes;
    for (std::string& payload : changed) {
        changes.log_events.push_back(
            flow_event(flow, LogFamily::instance_tags, "attached", std::move(payload), ctx.now));
    }
    changes.put_flows.push_back(std::move(flow));
    return {CountResult{static_cast<std::uint32_t>(args.tags.size())}, std::move(changes)};
}

expected<void> validate(RemoveFlowTag& args) {
    if (!is_namespaced_tag_key(args.key)) {
        return ff::fail(ErrorCode::invalid_tag_key, args.key);
    }
    return {};
}

void reads(const RemoveFlowTag& args, ReadSet& set) { set.flows.push_back(args.flow_id); }

Decision<CountResult> decide(const Snapshot& view, const RemoveFlowTag& args, const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    Flow flow = *found;
    const auto it = flow.tags.find(args.key);
    if (it == flow.tags.end()) {
        return CountResult{0};
    }
    std::string payload = js::dump(js::Object{{"tag", args.key}, {"previous", it->second}});
    flow.tags.erase(it);
    flow.last_mutation_at = ctx.now;
    Changes changes;
    changes.log_events.push_back(
        flow_event(flow, LogFamily::instance_tags, "cleared", std::move(payload), ctx.now));
    changes.put_flows.push_back(std::move(flow));
    return {CountResult{1}, std::move(changes)};
}

}  // namespace ff::core
