// Reading what only requests of flows have: ids of flows, policies, whole graphs.
#include "wire/flow_values.h"
#include "wire/request_in.h"

namespace ff::wire {

void RequestIn::flow_id(FlowId& id) {
    if (const Fault fault = parse_text(routed_.parameter("id"), id); !fault.empty()) {
        keep_id("flow_id", fault.substr(2));
    }
    const json* member = member_of("flow_id");
    if (member == nullptr) {
        return;
    }
    FlowId named;
    Fault fault = read(*member, named);
    if (fault.empty() && id_fault_.empty() && named != id) {
        mismatch_ = "path flow_id does not match body flow_id";
    }
    keep("flow_id", std::move(fault));
}

void RequestIn::word(std::string_view name, WordInBody value, ErrorCode unknown) {
    const json* member = member_of(name);
    if (member == nullptr) {
        return;
    }
    Fault fault = value.read(*member);
    if (!fault.empty() && member->if_string() != nullptr) {
        refuse(name, unknown, fault.substr(2));
    } else {
        keep(name, std::move(fault));
    }
}

void RequestIn::cancellation_policy(std::string_view name, CancellationPolicy& value) {
    const json* member = wanted(name);
    const std::string* text = member != nullptr ? member->if_string() : nullptr;
    if (text != nullptr && *text == "cancel_flow_only") {
        value = CancellationPolicy::flow_only;  // what older clients call it
    } else if (member != nullptr) {
        word(name, value, ErrorCode::invalid_cancellation_policy);
    }
}

void RequestIn::grace(std::string_view name, DurationMs& value) {
    const json* member = member_of(name);
    if (member == nullptr || member->is_null()) {
        return;
    }
    std::int64_t number = 0;
    if (Fault fault = read_signed(*member, 0, grace_ms_max, number); !fault.empty()) {
        refuse(name, ErrorCode::invalid_grace_ms, fault.substr(2));
    } else {
        value = number;
    }
}

void RequestIn::unused_grace(std::string_view name, DurationMs& value) { grace(name, value); }

void RequestIn::reference_text(std::string_view name, std::string& value) {
    const json* member = member_of(name);
    if (member == nullptr || member->is_null()) {
        return;
    }
    if (member->if_object() != nullptr) {
        value = js::dump(*member);
    } else if (!read(*member, value).empty()) {
        keep(name, ": expected a string or an object");
    }
}

void RequestIn::keep_policy(std::string_view name, const json& member, GroupPolicy& policy) {
    PolicyFault fault = read_policy(member, policy);
    if (!fault.refusal.empty()) {
        refuse(name, ErrorCode::invalid_input, std::move(fault.refusal));
    } else {
        keep(name, std::move(fault.shape));
    }
}

void RequestIn::required_policy(std::string_view name, GroupPolicy& policy) {
    if (const json* member = wanted(name)) {
        keep_policy(name, *member, policy);
    }
}

void RequestIn::sparse_policy(std::string_view name, GroupPolicy& policy) {
    const json* member = member_of(name);
    if (member != nullptr && !member->is_null()) {
        keep_policy(name, *member, policy);
    }
}

/// Each item is read like a body of its own; its faults get its place in front.
template <class T, class Describe>
void RequestIn::items(std::string_view name, std::vector<T>& out, Describe describe) {
    const json* member = member_of(name);
    const js::Array* list = member != nullptr ? member->if_array() : nullptr;
    if (list == nullptr) {
        if (member != nullptr) {
            keep(name, ": expected an array");
        }
        return;
    }
    // One by one: most of a long list may be missing when its first item is at fault.
    for (std::size_t i = 0; i < list->size() && body_fault_.empty(); ++i) {
        const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
        if ((*list)[i].if_object() == nullptr) {
            keep(place, ": expected an object");
            return;
        }
        const Routed item{{}, {}, (*list)[i]};
        RequestIn in(item);
        describe(in, out.emplace_back());
        if (!in.body_fault_.empty()) {
            keep(place, "." + in.body_fault_);
        } else if (in.refusal_ && !refusal_) {
            refuse(place + "." + in.refusal_->member, in.refusal_->code, in.refusal_->about);
        }
    }
}

void RequestIn::nodes(std::string_view name, std::vector<FlowNode>& nodes) {
    if (wanted(name) != nullptr) {
        items(name, nodes, [](RequestIn& in, FlowNode& node) { describe_node(in, node); });
    }
}

void RequestIn::edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends) {
    items(name, edges, [ends](RequestIn& in, FlowEdge& edge) { describe_edge(in, edge, ends); });
}

}  // namespace ff::wire
