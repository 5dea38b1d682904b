// What the operations that build flows share: checks of their arguments, and new rows.
#pragma once

#include <string>
#include <string_view>

#include <ff/flows.h>

#include "core/context.h"
#include "core/records.h"
#include "core/snapshot.h"

namespace ff::core {

expected<void> check_flow_labels(std::string_view flow_kind, std::string_view ns,
                                 const FlowSettings& settings);
expected<void> check_flow_tags(const Tags& tags);
expected<void> check_group_policy(const GroupPolicy& policy);
/// What an edge passes on, and its condition.
expected<void> check_edge_texts(std::string_view data_passing_ref, std::string_view when,
                                DependencyKind kind);

Error already_terminal(const Flow& flow);
/// The flow if it may still be changed. `flow_not_found`, `flow_already_terminal`.
expected<const Flow*> open_flow(const Snapshot& view, const FlowId& id);

/// Limits that were attached to a flow, perhaps before it was there.
void need_limits_of_flow(const FlowId& id, ReadSet& set);
bool is_limited(const Snapshot& view, const FlowId& id);
Flow new_flow(const FlowId& id, std::string kind, std::string ns, const FlowSettings& settings,
              const Context& ctx);
/// What does not matter for the kind of policy is left at its default.
void set_policy(EdgeGroup& group, const GroupPolicy& policy);

}  // namespace ff::core
