// Reading what only requests of suspension have: payloads, waitpoints, conditions.
#include "core/resume_condition.h"
#include "wire/base64.h"
#include "wire/request_in.h"

namespace ff::wire {

void RequestIn::payload(std::optional<std::string>& value) {
    optional_bytes("payload", value);
    std::optional<std::string> text;
    optional("payload_base64", text);
    if (!text) {
        return;
    }
    if (value) {
        keep("payload_base64", ": there is a payload as well");
        return;
    }
    value = base64_decode(*text);
    if (!value) {
        keep("payload_base64", ": expected base64 with padding");
    }
}

void RequestIn::either_word(std::string_view name, WordInBody value) {
    const json* member = member_of(name);
    if (member == nullptr || member->is_null()) {
        return;
    }
    const std::string* text = member->if_string();
    if (text == nullptr) {
        keep(name, ": expected a string");
        return;
    }
    for (const std::string_view word : words_of(value.words())) {
        if ((word == *text || core::camel_case(word) == *text) && value.parse(word).empty()) {
            return;
        }
    }
    refuse(name, ErrorCode::invalid_input,
           std::string(name) + unknown_word(*member, value.words()));
}

namespace {

/// `{"Fresh":{"waitpoint_id"?,"waitpoint_key"?}}` or `{"UsePending":{"waitpoint_id"}}`.
Fault read_binding(const json& value, WaitpointBinding& out) {
    const json* fresh = value.find("Fresh");
    const json* pending = value.find("UsePending");
    if ((fresh == nullptr) == (pending == nullptr)) {
        return ": expected {\"Fresh\":…} or {\"UsePending\":…}";
    }
    const std::string tag = fresh != nullptr ? ".Fresh" : ".UsePending";
    const json& inner = fresh != nullptr ? *fresh : *pending;
    if (inner.if_object() == nullptr) {
        return tag + ": expected an object";
    }
    out = WaitpointBinding{};
    out.use_pending = pending != nullptr;
    const json* id = inner.find("waitpoint_id");
    if (id != nullptr) {
        if (Fault fault = read(*id, out.waitpoint_id); !fault.empty()) {
            return tag + ".waitpoint_id" + fault;
        }
    }
    if (out.use_pending && !out.waitpoint_id) {
        return tag + ".waitpoint_id: missing";
    }
    const json* key = inner.find("waitpoint_key");
    if (key != nullptr && !key->is_null()) {
        if (Fault fault = read(*key, out.waitpoint_key); !fault.empty()) {
            return tag + ".waitpoint_key" + fault;
        }
    }
    return {};
}

}  // namespace

void RequestIn::waitpoints(std::string_view name, std::vector<WaitpointBinding>& bindings) {
    const json* member = member_of(name);
    if (member == nullptr || member->is_null()) {
        return;
    }
    const js::Array* list = member->if_array();
    if (list == nullptr) {
        keep(name, ": expected an array");
        return;
    }
    bindings.clear();
    for (std::size_t i = 0; i < list->size() && body_fault_.empty(); ++i) {
        const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
        keep(place, read_binding((*list)[i], bindings.emplace_back()));
    }
}

void RequestIn::condition(std::string_view name, ResumeCondition& condition) {
    const json* member = wanted(name);
    if (member == nullptr) {
        return;
    }
    auto parsed = core::condition_of(*member, std::string(name));
    if (parsed) {
        condition = std::move(*parsed);
    } else {
        refuse(name, ErrorCode::invalid_input, parsed.error().detail);
    }
}

void RequestIn::resume_policy(std::string_view name, ResumePolicy& policy) {
    const json* member = member_of(name);
    if (member == nullptr || member->is_null()) {
        return;
    }
    auto parsed = core::resume_policy_of(*member, std::string(name));
    if (parsed) {
        policy = *parsed;
    } else {
        refuse(name, ErrorCode::invalid_input, parsed.error().detail);
    }
}

}  // namespace ff::wire
