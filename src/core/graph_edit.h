// The rows of one flow's graph while a decision changes several of them. What is asked for comes
// from the view until it is changed here; take() gives everything that was changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/json.h>

#include "core/changes.h"
#include "core/context.h"
#include "core/snapshot.h"

namespace ff::core {

class GraphEdit {
  public:
    GraphEdit(const Snapshot& view, const Context& ctx) : view_(view), ctx_(ctx) {}

    /// Null when it does not exist.
    [[nodiscard]] const Flow* flow(const FlowId& id) const;
    [[nodiscard]] const Execution* execution(const ExecutionId& id) const;
    [[nodiscard]] const EdgeGroup* group(const ExecutionId& downstream) const;
    [[nodiscard]] const Edge* edge(const EdgeKey& key) const;

    Flow& change_flow(const FlowId& id);
    Execution& change_execution(const ExecutionId& id);
    /// Made, as all_of, when there is none.
    EdgeGroup& change_group(const FlowId& flow, const ExecutionId& downstream);
    Edge& change_edge(const EdgeKey& key);
    /// A row that is new.
    void add(Edge edge);

    /// Resolves an applied edge by how its upstream ended, and does to the downstream what its
    /// group then says: it is released, skipped, or waits on. Nothing happens to an edge that is
    /// resolved already, or by an end from before the downstream's replay.
    expected<ResolveResult> resolve(const EdgeKey& key, TerminalOutcome outcome);
    /// The same of an edge as it is now.
    expected<ResolveResult> resolve(const Edge& found, TerminalOutcome outcome);
    /// The group has just been judged: acts on it if it left `pending`.
    expected<void> settle(const ExecutionId& downstream);

    /// Makes a downstream whose group allows it eligible, or delayed as it was.
    void release(const ExecutionId& downstream);
    /// Blocks a runnable execution until its group allows it.
    void block(const ExecutionId& downstream, std::string detail);
    /// Counts an end, or takes it back (a replay).
    void count_end(const FlowId& flow, std::string_view ending);
    void uncount_end(const FlowId& flow, const Execution& member);
    /// Ends a sealed flow whose members have all ended.
    void finish_if_done(Flow& flow);

    Changes& changes() { return changes_; }
    Changes take();

  private:
    expected<bool> pass_data(const Edge& edge);
    void skip(const ExecutionId& downstream);
    void flag_siblings(EdgeGroup& group, std::string_view reason);
    /// With the result of an execution that has ended; null while it has not.
    const Attempt* last_attempt(const Execution& execution) const;
    /// That result as JSON; null when it has none, or not of that kind. Kept, because all edges of
    /// an upstream are resolved one after another and each may look at it.
    const js::Value* last_result(const Execution& execution);

    const Snapshot& view_;
    const Context& ctx_;
    Changes changes_;
    std::map<FlowId, Flow> flows_;
    std::map<ExecutionId, Execution> executions_;
    std::map<ExecutionId, EdgeGroup> groups_;
    std::map<EdgeKey, Edge> edges_;
    std::map<ExecutionId, ExecutionInput> inputs_;
    std::optional<ExecutionId> parsed_of_;
    std::optional<js::Value> parsed_;
};

/// What resolve() must see of an edge, asked for as far as it is not known yet. `edges` is how many
/// edges to the same downstream are about to be resolved.
void need_resolution(const Snapshot& view, const Edge& edge, TerminalOutcome outcome,
                     std::size_t edges, ReadSet& set);
/// An execution with what ending it needs.
void need_member(const Snapshot& view, const ExecutionId& id, InputNeed input, ReadSet& set);

/// A log event of the family `flows`.
LogEvent flow_event(const Flow& flow, LogFamily family, std::string type, std::string payload,
                    TimestampMs now);
/// An event for each tag that a flow begins with.
void tell_tags(const Flow& flow, Changes& changes, TimestampMs now);

}  // namespace ff::core
