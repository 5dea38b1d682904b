// Group policies and graphs as they are spelled in JSON.
#pragma once

#include <string>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/values.h"

namespace ff::wire {

/// A policy has faults of shape, like everything in JSON, and some that the specification gives a
/// text of their own (spec 03 section 3.6): those stand in `refusal`.
struct PolicyFault {
    Fault shape;
    std::string refusal;
};
PolicyFault read_policy(const json& value, GroupPolicy& out);

/// An input as people want to see it: JSON as it is, text as a string, other bytes as base64.
void write_input_value(std::string& out, const FlowInput& input);

}  // namespace ff::wire
