// The rows of executions that come into being, one by one or as a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/decide.h"

namespace ff::core {

/// As create makes it: eligible, or delayed. The route is the caller's to set.
Execution new_execution(const PreparedCreate& command, const Policy& policy, const Context& ctx);
/// The limits of its policy, and those that named it before it was there.
void need_limits_of_new(const PreparedCreate& command, ReadSet& set);
void attach_limits(const Snapshot& view, const PreparedCreate& command, Execution& e,
                   Changes& changes);
ExecutionInput new_input(const PreparedCreate& command, Eid eid);
void append_tag_events(const CreateExecution& args, const Execution& e, Changes& changes,
                       TimestampMs now);
expected<void> check_lane_accepts(const Snapshot& view, const std::string& name);

/// Routes and lanes that several new executions share are made once.
class NewRows {
  public:
    explicit NewRows(const Snapshot& view) : view_(view) {}
    RouteId route(const RouteKey& key, const Policy& policy, Changes& changes, const Context& ctx);
    /// The lane must have been loaded.
    void lane(const std::string& name, Changes& changes, const Context& ctx);

  private:
    const Snapshot& view_;
    std::map<RouteKey, RouteId> routes_;
    std::set<std::string> lanes_;
};

}  // namespace ff::core
