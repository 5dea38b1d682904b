// Flows of a SQLite store: loading, scanning and writing what belongs to them.
#include "store/implied.h"
#include "store/prepare.h"
#include "store/sql_scans.h"
#include "store/sqlite_internal.h"

namespace ff::store {

using core::EdgeKey;
using core::ExecutionCell;
using core::Snapshot;

// ------------------------------------------------------------------------------------ loading

expected<void> SqliteStore::load_members(const FlowId& flow,
                                         const core::ReadSet::ExecutionNeed& need,
                                         Snapshot& snapshot) {
    if (!snapshot.knows_members(flow)) {
        Statement& s = hot_->texts.get(sql::member_ids);
        put_value(s, Kind::bytes, flow);
        FF_TRY(auto ids, collect_ids<ExecutionId>(s, "id"));
        snapshot.load_members(flow, std::move(ids));
    }
    for (const ExecutionId& id : snapshot.members(flow)) {
        ExecutionCell& cell = snapshot.cell(id);
        FF_TRY_VOID(load_cell(cell, need.input, need.grant, need.attempt));
        FF_TRY_VOID(found_cell(cell, snapshot));
    }
    return {};
}

expected<void> SqliteStore::load_flows(const core::ReadSet& set, Snapshot& snapshot) {
    for (const FlowId& id : set.flows) {
        if (snapshot.knows_flow(id)) {
            continue;
        }
        std::optional<core::Flow> row = warm_.take(id);
        if (!row) {
            Statement& s = hot_->texts.get(sql::flow_by_id);
            put_value(s, Kind::bytes, id);
            FF_TRY(row, select_one<core::Flow>(s));
        }
        snapshot.load_flow(id, std::move(row));
    }
    for (const auto& [flow, need] : set.members) {
        FF_TRY_VOID(load_members(flow, need, snapshot));
    }
    FF_TRY_VOID(load_edges(set, snapshot));
    FF_TRY_VOID(load_groups(set, snapshot));
    for (const auto& key : set.work) {
        if (!snapshot.flow_work[key].loaded) {
            Statement& s = hot_->texts.get(sql::work_by_key);
            put_value(s, Kind::bytes, key.flow);
            put_value(s, Kind::integer, key.kind);
            put_value(s, Kind::bytes, key.execution);
            FF_TRY(auto row, select_one<core::FlowWork>(s));
            snapshot.load_work(key, std::move(row));
        }
    }
    return {};
}

namespace {

std::vector<EdgeKey> load_edge_rows(std::vector<core::Edge> rows, Snapshot& snapshot) {
    std::vector<EdgeKey> keys;
    keys.reserve(rows.size());
    for (core::Edge& row : rows) {
        const EdgeKey key = keys.emplace_back(row.key);
        snapshot.load_edge(key, std::move(row));
    }
    return keys;
}

}  // namespace

expected<std::vector<EdgeKey>> SqliteStore::take_edges(Statement& s, Snapshot& snapshot) {
    FF_TRY(auto rows, select_all<core::Edge>(s));
    return load_edge_rows(std::move(rows), snapshot);
}

expected<void> SqliteStore::load_edges(const core::ReadSet& set, Snapshot& snapshot) {
    for (const FlowId& flow : set.edges_of_flows) {
        if (snapshot.knows_edges_of(flow)) {
            continue;
        }
        Statement& edges = hot_->texts.get(sql::edges_of_flow);
        put_value(edges, Kind::bytes, flow);
        FF_TRY_VOID(take_edges(edges, snapshot));
        Statement& groups = hot_->texts.get(sql::groups_of_flow);
        put_value(groups, Kind::bytes, flow);
        FF_TRY(auto rows, select_all<core::EdgeGroup>(groups));
        for (core::EdgeGroup& row : rows) {
            const ExecutionId downstream = row.downstream;
            snapshot.load_group(downstream, std::move(row));
        }
        load_implied_groups(flow, snapshot);
        snapshot.load_edges_of(flow);
    }
    for (const EdgeKey& key : set.edges) {
        if (snapshot.edges[key].loaded) {
            continue;
        }
        std::optional<core::Edge> row;
        if (!is_new_flow(snapshot, key.flow)) {
            Statement& s = hot_->texts.get(sql::edge_by_key);
            put_value(s, Kind::bytes, key.flow);
            put_value(s, Kind::bytes, key.id);
            FF_TRY(row, select_one<core::Edge>(s));
        }
        snapshot.load_edge(key, std::move(row));
    }
    const auto edges_at = [&](const std::string& text,
                              const ExecutionId& end) -> expected<std::vector<EdgeKey>> {
        Statement& s = hot_->texts.get(text);
        put_value(s, Kind::bytes, end);
        return take_edges(s, snapshot);
    };
    for (const ExecutionId& upstream : set.outbound) {
        if (snapshot.knows_outbound(upstream)) {
            continue;
        }
        if (auto known = warm_.take_outbound(upstream)) {
            snapshot.load_outbound(upstream, load_edge_rows(std::move(*known), snapshot));
        } else {
            FF_TRY(auto keys, edges_at(sql::edges_out, upstream));
            snapshot.load_outbound(upstream, std::move(keys));
        }
    }
    for (const ExecutionId& downstream : set.inbound) {
        if (!snapshot.knows_inbound(downstream)) {
            FF_TRY(auto keys, edges_at(sql::edges_in, downstream));
            snapshot.load_inbound(downstream, std::move(keys));
        }
    }
    return {};
}

expected<void> SqliteStore::load_groups(const core::ReadSet& set, Snapshot& snapshot) {
    for (const auto& [flow, downstream, through] : set.groups) {
        if (snapshot.knows_group(downstream)) {
            continue;
        }
        if (auto warm = warm_.take_group(downstream)) {
            snapshot.load_group(downstream, std::move(warm->group), warm->only_edge);
        } else if (is_new_flow(snapshot, flow)) {
            snapshot.load_group(downstream, std::nullopt);
        } else {
            FF_TRY_VOID(load_group_from_file(flow, downstream, through, snapshot));
        }
    }
    return {};
}

expected<void> SqliteStore::load_group_from_file(const FlowId& flow, const ExecutionId& downstream,
                                                 const std::optional<EdgeKey>& through,
                                                 Snapshot& snapshot) {
    Statement& s = hot_->texts.get(sql::group_by_key);
    put_value(s, Kind::bytes, flow);
    put_value(s, Kind::bytes, downstream);
    FF_TRY(auto row, select_one<core::EdgeGroup>(s));
    std::vector<EdgeKey> inbound;
    if (!row && through) {
        inbound.push_back(*through);
    } else if (!row) {
        Statement& edges = hot_->texts.get(sql::edges_in);
        put_value(edges, Kind::bytes, downstream);
        FF_TRY(inbound, take_edges(edges, snapshot));
    }
    load_group(downstream, std::move(row), inbound, snapshot);
    return {};
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<FlowId>> SqliteStore::scan_due_flows(TimestampMs now, std::size_t limit) {
    return due_flows(hot_->texts, now, limit);
}

expected<std::vector<core::FlowWorkKey>> SqliteStore::scan_work(TimestampMs now, std::size_t limit,
                                                                Snapshot& snapshot) {
    return due_work(hot_->texts.get(sql::work_due), now, limit, snapshot);
}

expected<std::vector<FlowId>> SqliteStore::held_flows() { return flows_held(hot_->texts); }

expected<std::vector<EdgeKey>> SqliteStore::scan_staged(TimestampMs before, std::size_t limit) {
    return staged_edges(hot_->texts, before, limit);
}

// ------------------------------------------------------------------------------------ writing

expected<void> SqliteStore::write_flows(Snapshot& snapshot, DurationMs retention_default_ms) {
    for (auto& [id, cell] : snapshot.flows) {
        if (cell.flow.dirty && cell.flow.current()) {
            core::arm_flow(cell.flow.edit(), retention_default_ms);
            const auto& before = cell.flow.stored;
            FF_TRY_VOID(before ? hot_->flows.update(*before, *cell.flow.current())
                               : hot_->flows.insert(*cell.flow.current()));
            rows_written_ += 1;
        }
    }
    FF_TRY_VOID(write_edges(snapshot));
    for (const auto& [key, work] : snapshot.flow_work) {
        if (work.dirty) {
            // Put without having been looked at: it may be there.
            FF_TRY_VOID(work.current() ? hot_->work.put(*work.current())
                                       : hot_->work.erase({key, std::nullopt, 0}));
            rows_written_ += 1;
        }
    }
    // Last: what the batch did to a flow before it went goes with it.
    for (const auto& [id, cell] : snapshot.flows) {
        if (cell.deleted) {
            FF_TRY_VOID(erase_flow(id));
        }
    }
    return {};
}

expected<void> SqliteStore::write_edges(const Snapshot& snapshot) {
    std::vector<const core::Edge*> made;
    for (const auto& [key, edge] : snapshot.edges) {
        if (!edge.dirty || !edge.current() || edge.implied) {
            continue;
        }
        const core::Edge& now = *edge.current();
        rows_written_ += 1;
        if (edge.stored) {
            FF_TRY_VOID(hot_->edges.update(not_implied(*edge.stored, now), now));
        } else {
            made.push_back(&now);
        }
    }
    return hot_->edges.insert_all(made);
}

expected<void> SqliteStore::write_group(const ExecutionCell& cell) {
    if (!cell.group.dirty || !cell.group.current() || cell.group.implied) {
        return {};
    }
    const bool has_row = cell.group.stored && !cell.only_edge;
    rows_written_ += 1;
    return has_row ? hot_->groups.update(*cell.group.stored, *cell.group.current())
                   : hot_->groups.insert(*cell.group.current());
}

expected<void> SqliteStore::erase_flow(const FlowId& id) {
    for (const std::string* text : {&sql::edges_delete, &sql::groups_delete, &sql::work_delete}) {
        Statement& s = hot_->texts.get(*text);
        put_value(s, Kind::bytes, id);
        FF_TRY_VOID(s.run());
    }
    FF_TRY_VOID(erase_attachments(LimitTarget::flow, id.to_string()));
    core::Flow gone;
    gone.id = id;
    return hot_->flows.erase(gone);
}

}  // namespace ff::store
