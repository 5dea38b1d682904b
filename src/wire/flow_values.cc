#include "wire/flow_values.h"

#include "wire/object.h"

namespace ff::wire {

namespace {

constexpr std::uint64_t quorum_k_max = 2'147'483'647;

/// The number of a quorum. A number below one is refused by its text, whatever its size.
PolicyFault read_k(const json& policy, std::uint32_t& out) {
    const json* member = policy.find("k");
    if (member == nullptr) {
        return {".k: missing", {}};
    }
    const js::Number* number = member->if_number();
    if (number == nullptr) {
        return {".k: expected an integer", {}};
    }
    const auto small = member->as_int64();
    const auto large = member->as_uint64();
    if (!small && !large) {
        const bool whole = number->text.find_first_of(".eE") == std::string::npos;
        if (!whole) {
            return {".k: expected an integer", {}};
        }
        return {{},
                number->text.starts_with('-') ? "quorum k must be >= 1"
                                              : "quorum k exceeds supported maximum"};
    }
    if (!large || *large < 1) {
        return {{}, "quorum k must be >= 1"};
    }
    if (*large > quorum_k_max) {
        return {{}, "quorum k exceeds supported maximum"};
    }
    out = static_cast<std::uint32_t>(*large);
    return {};
}

PolicyFault read_on_satisfied(const json& policy, OnSatisfied& out) {
    const json* member = policy.find("on_satisfied");
    if (member == nullptr || !read(*member, out).empty()) {
        return {{}, "on_satisfied required for any_of/quorum: cancel_remaining | let_run"};
    }
    return {};
}

bool is_sound(const PolicyFault& fault) { return fault.shape.empty() && fault.refusal.empty(); }

}  // namespace

void write(std::string& out, const GroupPolicy& policy) {
    ObjectOut object(out);
    object.field("kind", policy.kind);
    if (policy.kind == GroupPolicyKind::quorum) {
        object.field("k", policy.k);
    }
    if (policy.kind != GroupPolicyKind::all_of) {
        object.field("on_satisfied", policy.on_satisfied);
    }
    if (policy.force_cancel_shared) {
        object.field("force_cancel_shared", true);
    }
    object.close();
}

PolicyFault read_policy(const json& value, GroupPolicy& out) {
    if (value.if_object() == nullptr) {
        return {": expected an object", {}};
    }
    const json* kind = value.find("kind");
    const std::string* word = kind != nullptr ? kind->if_string() : nullptr;
    if (word == nullptr) {
        return {kind == nullptr ? ".kind: missing" : ".kind: expected a string", {}};
    }
    GroupPolicy policy;
    const auto known = parse_enum<GroupPolicyKind>(*word);
    if (!known) {
        return {{}, "unsupported_policy_variant: " + truncate_utf8(*word, 64)};
    }
    policy.kind = *known;
    PolicyFault fault;
    if (policy.kind == GroupPolicyKind::quorum) {
        fault = read_k(value, policy.k);
    }
    if (is_sound(fault) && policy.kind != GroupPolicyKind::all_of) {
        fault = read_on_satisfied(value, policy.on_satisfied);
    }
    const json* force = value.find("force_cancel_shared");
    if (is_sound(fault) && force != nullptr && !force->is_null()) {
        Fault shape = read(*force, policy.force_cancel_shared);
        fault.shape = shape.empty() ? Fault() : ".force_cancel_shared" + shape;
    }
    if (is_sound(fault)) {
        out = policy;
    }
    return fault;
}

Fault read(const json& value, GroupPolicy& out) {
    PolicyFault fault = read_policy(value, out);
    return fault.refusal.empty() ? std::move(fault.shape) : ": " + fault.refusal;
}

void write_input_value(std::string& out, const FlowInput& input) {
    const bool may_be_json =
        !input.encoding || input.encoding->empty() || *input.encoding == "json";
    if (may_be_json) {
        if (const auto value = js::parse(input.value)) {
            write(out, *value);
            return;
        }
    }
    if (is_valid_utf8(input.value)) {
        write(out, input.value);
    } else {
        write_bytes(out, input.value);
    }
}

}  // namespace ff::wire
