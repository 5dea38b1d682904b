// The arithmetic of flows: what an end means for an edge, what edges mean for a group, what members
// mean for a flow. Pure functions of rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ff/json.h>

#include "core/records.h"

namespace ff::core {

/// How an edge resolves when its upstream ends like this; `result` is of a success.
DependencyState resolve_edge(const Edge& edge, TerminalOutcome outcome,
                             const std::optional<std::string>& result);
/// The same of a result that was parsed already; null: there is none, or it is no JSON.
DependencyState resolve_edge(const Edge& edge, TerminalOutcome outcome, const js::Value* result);
/// Counts the resolved edge in its bucket.
void count(EdgeGroup& group, DependencyState state, TerminalOutcome outcome);
/// Takes the count back.
void uncount(EdgeGroup& group, DependencyState state, TerminalOutcome outcome);

/// What the counts say: `pending`, `satisfied` or `impossible`. In a sealed flow no edge can join,
/// so a quorum that is out of reach is impossible. Satisfied is tested first.
GroupState evaluate_group(const EdgeGroup& group, bool sealed);
GroupPolicy policy_of(const EdgeGroup& group);

/// Does this end of a member make its flow fail?
bool is_bad_end(const Execution& member);
/// Cancels of these reasons are the engine's own.
bool is_engines_reason(std::string_view reason);
inline constexpr std::string_view sibling_satisfied = "sibling_quorum_satisfied";
inline constexpr std::string_view sibling_impossible = "sibling_quorum_impossible";
inline constexpr std::string_view flow_deadline = "flow_deadline";
inline constexpr std::string_view member_failed = "flow_member_failed";

/// The queue that members of a held flow wait in.
std::string gate_of(const FlowId& flow);

/// The state a flow shows of its members' states.
std::string summary_state(FlowState state, const std::map<PublicState, std::uint64_t>& members,
                          std::uint64_t excused);

}  // namespace ff::core
