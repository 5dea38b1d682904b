// Flows of a store in memory: loading, scanning, writing and reading what belongs to them.
#include "base/check.h"
#include "store/implied.h"
#include "store/memory_internal.h"
#include "store/prepare.h"

namespace ff::store {

using core::EdgeKey;
using core::ExecutionCell;
using core::FlowWorkKey;
using core::FlowWorkKind;
using core::Snapshot;

// --------------------------------------------------------------------------------------- rows

namespace {

/// What stands second in the pairs of a set, in their order, up to a time.
template <class Second>
std::vector<Second> seconds_until(const std::set<std::pair<TimestampMs, Second>>& set,
                                  TimestampMs until, std::size_t limit) {
    std::vector<Second> out;
    for (auto it = set.begin(); it != set.end() && it->first <= until && out.size() < limit; ++it) {
        out.push_back(it->second);
    }
    return out;
}

std::vector<core::Edge> edges_at(const MemoryRows& rows,
                                 const std::set<std::pair<ExecutionId, EdgeKey>>& ends,
                                 const ExecutionId& end) {
    std::vector<core::Edge> out;
    for (const EdgeKey& key : seconds_of(ends, end)) {
        out.push_back(*rows.edge(key));
    }
    return out;
}

}  // namespace

std::optional<core::Edge> MemoryRows::edge(const EdgeKey& key) const {
    auto row = find_row(edges, key);
    const auto upstream = row ? execution(row->upstream) : std::nullopt;
    if (upstream && upstream->edges_told) {
        if (auto resolved = resolved_by_end(*row, *upstream)) {
            return resolved;
        }
    }
    return row;
}

std::vector<core::Edge> MemoryRows::edges_of(const FlowId& flow) const {
    std::vector<core::Edge> out;
    for (auto it = edges.lower_bound({flow, EdgeId{}}); it != edges.end() && it->first.flow == flow;
         ++it) {
        out.push_back(*edge(it->first));
    }
    return out;
}

std::vector<core::Edge> MemoryRows::edges_out(const ExecutionId& upstream) const {
    return edges_at(*this, outbound, upstream);
}

std::vector<core::Edge> MemoryRows::edges_in(const ExecutionId& downstream) const {
    return edges_at(*this, inbound, downstream);
}

std::vector<core::EdgeGroup> MemoryRows::groups_of(const FlowId& flow) const {
    return rows_from(groups, {flow, ExecutionId{}},
                     [&](const auto& key) { return key.first == flow; });
}

std::optional<core::EdgeGroup> MemoryRows::group(const FlowId& flow,
                                                 const ExecutionId& downstream) const {
    return or_implied(find_row(groups, {flow, downstream}), flow, edges_in(downstream));
}

std::vector<core::FlowWork> MemoryRows::work_of(const FlowId& flow) const {
    return rows_from(work, {flow, FlowWorkKind{}, ExecutionId{}},
                     [&](const auto& key) { return key.flow == flow; });
}

std::vector<ExecutionId> MemoryRows::members_of(const FlowId& flow) const {
    return seconds_of(members, flow);
}

// ------------------------------------------------------------------------------------ loading

void MemoryStore::load_members(const FlowId& flow, const core::ReadSet::ExecutionNeed& need,
                               Snapshot& snapshot) const {
    if (!snapshot.knows_members(flow)) {
        snapshot.load_members(flow, rows_->members_of(flow));
    }
    for (const ExecutionId& id : snapshot.members(flow)) {
        ExecutionCell& cell = snapshot.cell(id);
        load_cell(cell, need.input, need.grant, need.attempt);
        found_cell(cell, snapshot);
    }
}

void MemoryStore::load_flows(const core::ReadSet& set, Snapshot& snapshot) const {
    for (const FlowId& id : set.flows) {
        snapshot.load_flow(id, find_row(rows_->flows, id));
    }
    load_edges(set, snapshot);
    for (const auto& need : set.groups) {
        std::vector<EdgeKey> inbound;
        for (const core::Edge& edge : rows_->edges_in(need.downstream)) {
            snapshot.load_edge(edge.key, edge);
            inbound.push_back(edge.key);
        }
        load_group(need.downstream, find_row(rows_->groups, {need.flow, need.downstream}), inbound,
                   snapshot);
    }
    for (const FlowWorkKey& key : set.work) {
        snapshot.load_work(key, find_row(rows_->work, key));
    }
}

void MemoryStore::load_edges(const core::ReadSet& set, Snapshot& snapshot) const {
    const auto take = [&](const std::vector<core::Edge>& rows) {
        std::vector<EdgeKey> keys;
        for (const core::Edge& row : rows) {
            snapshot.load_edge(row.key, row);
            keys.push_back(row.key);
        }
        return keys;
    };
    for (const FlowId& flow : set.edges_of_flows) {
        if (snapshot.knows_edges_of(flow)) {
            continue;
        }
        take(rows_->edges_of(flow));
        for (const core::EdgeGroup& row : rows_->groups_of(flow)) {
            snapshot.load_group(row.downstream, row);
        }
        load_implied_groups(flow, snapshot);
        snapshot.load_edges_of(flow);
    }
    for (const EdgeKey& key : set.edges) {
        snapshot.load_edge(key, rows_->edge(key));
    }
    for (const ExecutionId& upstream : set.outbound) {
        if (!snapshot.knows_outbound(upstream)) {
            snapshot.load_outbound(upstream, take(rows_->edges_out(upstream)));
        }
    }
    for (const ExecutionId& downstream : set.inbound) {
        if (!snapshot.knows_inbound(downstream)) {
            snapshot.load_inbound(downstream, take(rows_->edges_in(downstream)));
        }
    }
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<FlowId>> MemoryStore::scan_due_flows(TimestampMs now, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    return seconds_until(rows_->flow_timers, now, limit);
}

expected<std::vector<FlowWorkKey>> MemoryStore::scan_work(TimestampMs now, std::size_t limit,
                                                          Snapshot& snapshot) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<core::FlowWork> rows;
    for (const FlowWorkKey& key : seconds_until(rows_->work_due, now, limit)) {
        rows.push_back(rows_->work.at(key));
    }
    return load_due_work(std::move(rows), snapshot);
}

expected<std::vector<FlowId>> MemoryStore::held_flows() {
    FF_CHECK(swept_, "no transaction is open");
    return std::vector<FlowId>(rows_->held_flows.begin(), rows_->held_flows.end());
}

expected<std::vector<EdgeKey>> MemoryStore::scan_staged(TimestampMs before, std::size_t limit) {
    FF_CHECK(swept_, "no transaction is open");
    std::vector<EdgeKey> out;
    for (const auto& [at, key] : rows_->staged) {
        if (at >= before || out.size() >= limit) {
            break;
        }
        const auto flow = rows_->flows.find(key.flow);
        if (flow != rows_->flows.end() && flow->second.state == FlowState::open) {
            out.push_back(key);
        }
    }
    return out;
}

// ------------------------------------------------------------------------------------ writing

expected<void> MemoryStore::write_flows(Journal& journal, Snapshot& snapshot,
                                        DurationMs retention_default_ms) {
    const auto write = [&](auto& map, const auto& key, const auto& row,
                           const char* what) -> expected<void> {
        if (!row.stored && map.contains(key)) {
            return ff::fail(ErrorCode::internal, std::string(what) + " is there already");
        }
        replace(journal, map, key, row.current());
        rows_written_ += 1;
        return {};
    };
    for (const ExecutionCell& cell : snapshot.cells) {
        const auto& row = cell.group.current();
        if (cell.group.dirty && row && !cell.group.implied) {
            FF_TRY_VOID(write(rows_->groups, std::pair(row->flow, row->downstream), cell.group,
                              "the edge group"));
        }
    }
    for (auto& [id, cell] : snapshot.flows) {
        if (cell.flow.dirty && cell.flow.current()) {
            core::arm_flow(cell.flow.edit(), retention_default_ms);
            FF_TRY_VOID(write(rows_->flows, id, cell.flow, "the flow"));
        }
    }
    for (const auto& [key, edge] : snapshot.edges) {
        if (edge.dirty && edge.current() && !edge.implied) {
            FF_TRY_VOID(write(rows_->edges, key, edge, "the edge"));
        }
    }
    for (const auto& [key, work] : snapshot.flow_work) {
        if (work.dirty) {
            // It may have been put without a look whether it is there.
            replace(journal, rows_->work, key, work.current());
            rows_written_ += 1;
        }
    }
    // Last: what the batch did to a flow before it went goes with it.
    for (const auto& [id, cell] : snapshot.flows) {
        if (cell.deleted) {
            erase_flow(journal, id);
        }
    }
    return {};
}

void MemoryStore::spell_out_edges(Journal& journal, const ExecutionId& upstream) {
    for (const core::Edge& edge : rows_->edges_out(upstream)) {
        replace(journal, rows_->edges, edge.key, std::optional(edge));
    }
}

void MemoryStore::erase_flow(Journal& journal, const FlowId& id) {
    for (const core::Edge& edge : rows_->edges_of(id)) {
        replace(journal, rows_->edges, edge.key, std::nullopt);
    }
    for (const core::EdgeGroup& group : rows_->groups_of(id)) {
        replace(journal, rows_->groups, {group.flow, group.downstream}, std::nullopt);
    }
    for (const core::FlowWork& work : rows_->work_of(id)) {
        replace(journal, rows_->work, work.key, std::nullopt);
    }
    erase_attachments(journal, {LimitTarget::flow, id.to_string()});
    replace(journal, rows_->flows, id, std::nullopt);
}

// ------------------------------------------------------------------------------------ reading

expected<std::optional<core::Flow>> MemoryReader::flow(const FlowId& id) {
    return find_row(rows_.flows, id);
}

expected<std::vector<core::Flow>> MemoryReader::flows(std::optional<std::uint16_t> partition,
                                                      const std::optional<FlowId>& after,
                                                      std::size_t limit) {
    std::vector<core::Flow> out;
    for (auto it = after ? rows_.flows.upper_bound(*after) : rows_.flows.begin();
         it != rows_.flows.end() && out.size() < limit; ++it) {
        if (!partition || it->second.partition == *partition) {
            out.push_back(it->second);
        }
    }
    return out;
}

expected<std::vector<FlowId>> MemoryReader::flow_ids(const std::optional<FlowId>& after,
                                                     std::size_t limit) {
    return keys_after(rows_.flows, after, limit);
}

auto MemoryReader::members(const FlowId& flow, const std::optional<ExecutionId>& after,
                           std::size_t limit) -> expected<Executions> {
    Executions out;
    for (auto it = after ? rows_.members.upper_bound({flow, *after})
                         : rows_.members.lower_bound({flow, ExecutionId{}});
         it != rows_.members.end() && it->first == flow && out.size() < limit; ++it) {
        out.push_back(*rows_.execution(it->second));
    }
    return out;
}

expected<std::vector<core::Edge>> MemoryReader::edges_of_flow(const FlowId& flow) {
    return rows_.edges_of(flow);
}

expected<std::vector<core::Edge>> MemoryReader::outbound(const ExecutionId& upstream) {
    return rows_.edges_out(upstream);
}

expected<std::vector<core::Edge>> MemoryReader::inbound(const ExecutionId& downstream) {
    return rows_.edges_in(downstream);
}

expected<std::optional<core::Edge>> MemoryReader::edge(const EdgeKey& key) {
    return rows_.edge(key);
}

expected<std::optional<core::EdgeGroup>> MemoryReader::group(const FlowId& flow,
                                                             const ExecutionId& downstream) {
    return rows_.group(flow, downstream);
}

expected<std::vector<core::EdgeGroup>> MemoryReader::groups_of_flow(const FlowId& flow) {
    return with_implied(rows_.groups_of(flow), rows_.edges_of(flow));
}

expected<std::vector<core::FlowWork>> MemoryReader::flow_work(const std::optional<FlowId>& flow,
                                                              std::size_t limit) {
    auto it =
        flow ? rows_.work.lower_bound({*flow, FlowWorkKind{}, ExecutionId{}}) : rows_.work.begin();
    std::vector<core::FlowWork> out;
    for (; it != rows_.work.end() && (!flow || it->first.flow == *flow) && out.size() < limit;
         ++it) {
        out.push_back(it->second);
    }
    return out;
}

}  // namespace ff::store
