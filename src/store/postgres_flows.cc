// Flows of a PostgreSQL store: loading, scanning and writing what belongs to them.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "store/implied.h"
#include "store/postgres_internal.h"
#include "store/prepare.h"
#include "store/sql_scans.h"

namespace ff::store {

using core::EdgeKey;
using core::FlowWorkKey;
using core::Snapshot;

// ------------------------------------------------------------------------------------ members

namespace {

/// Takes the answer to members_of_flows.
expected<void> take_members(PgRows& rows, std::map<FlowId, std::vector<ExecutionId>>& out) {
    while (rows.next()) {
        FlowId flow;
        take_value(rows, "flow_id", flow);
        take_value(rows, "id", out[flow].emplace_back());
        FF_TRY_VOID(rows.check());
    }
    return {};
}

}  // namespace

expected<void> PostgresStore::find_members(const core::ReadSet& set, const Snapshot& snapshot,
                                           Members& members) {
    for (const auto& [flow, need] : set.members) {
        if (!snapshot.knows_members(flow)) {
            members.seen[flow];
        }
    }
    if (members.seen.empty()) {
        return {};
    }
    Questions questions(*this);
    questions.ask(members_of_flows, arrays_of(members.seen, &Members::Ids::value_type::first),
                  [&](PgRows& rows) { return take_members(rows, members.seen); });
    return questions.settle();
}

expected<void> PostgresStore::settle_members(const core::ReadSet& set, Snapshot& snapshot,
                                             Members& members) {
    for (auto& [flow, ids] : members.seen) {
        const auto locked = members.locked.find(flow);
        snapshot.load_members(flow, locked == members.locked.end() ? ids : locked->second);
    }
    // Whoever joined while we waited for the flow, and those that joined in this batch.
    core::ReadSet late;
    for (const auto& [flow, need] : set.members) {
        if (!members.seen.contains(flow)) {
            continue;
        }
        const std::vector<ExecutionId>& seen = members.seen.at(flow);
        for (const ExecutionId& id : snapshot.members(flow)) {
            if (!std::ranges::binary_search(seen, id)) {
                late.executions.push_back(need);
                late.executions.back().id = id;
                late.executions.back().fresh = false;
            }
        }
    }
    return late.empty() ? expected<void>() : load(late, snapshot);
}

// ------------------------------------------------------------------------------------ loading

void PostgresStore::ask_flows(Questions& questions, const core::ReadSet& set, Snapshot& snapshot,
                              Members& members) {
    const auto flows =
        not_known(set.flows, [&](const FlowId& id) { return snapshot.knows_flow(id); });
    questions.ask_rows<core::Flow>(
        lock_flows, flows, [](const core::Flow& row) { return row.id; },
        [&snapshot](const FlowId& id, std::optional<core::Flow> row) {
            snapshot.load_flow(id, std::move(row));
        },
        std::identity());
    for (const FlowId& flow : flows) {
        if (members.seen.contains(flow)) {
            members.locked[flow];
        }
    }
    if (!members.locked.empty()) {
        questions.ask(members_of_flows, arrays_of(members.locked, &Members::Ids::value_type::first),
                      [&](PgRows& rows) { return take_members(rows, members.locked); });
    }
    ask_edges(questions, set, snapshot);
    ask_groups(questions, set, snapshot);
    questions.ask_rows<core::FlowWork>(
        work_by_keys,
        not_known(set.work, [&](const auto& key) { return snapshot.flow_work[key].loaded; }),
        [](const core::FlowWork& row) { return row.key; },
        [&snapshot](const FlowWorkKey& key, std::optional<core::FlowWork> row) {
            snapshot.load_work(key, std::move(row));
        },
        &FlowWorkKey::flow, &FlowWorkKey::kind, &FlowWorkKey::execution);
}

void PostgresStore::ask_groups(Questions& questions, const core::ReadSet& set, Snapshot& snapshot) {
    using GroupKey = std::pair<FlowId, ExecutionId>;
    std::vector<GroupKey> keys;
    std::vector<ExecutionId> unseen;  // nobody has seen an edge to them
    auto inbound = std::make_shared<std::map<ExecutionId, std::set<EdgeKey>>>();
    for (const auto& [flow, downstream, through] : set.groups) {
        if (snapshot.knows_group(downstream)) {
            continue;
        }
        keys.emplace_back(flow, downstream);
        if (through) {
            (*inbound)[downstream].insert(*through);
        } else if (!is_new_flow(snapshot, flow)) {
            unseen.push_back(downstream);
        }
    }
    if (!unseen.empty()) {
        questions.ask(edges_by_downstream, arrays_of(unseen, std::identity()),
                      [&snapshot, inbound](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::Edge>(rows));
                              const EdgeKey key = row.key;
                              (*inbound)[row.downstream].insert(key);
                              snapshot.load_edge(key, std::move(row));
                          }
                          return {};
                      });
    }
    questions.ask_rows<core::EdgeGroup>(
        groups_by_key, not_known(std::move(keys), [](const GroupKey&) { return false; }),
        [](const core::EdgeGroup& row) { return GroupKey(row.flow, row.downstream); },
        [&snapshot, inbound](const GroupKey& key, std::optional<core::EdgeGroup> row) {
            const auto& edges = (*inbound)[key.second];
            load_group(key.second, std::move(row), {edges.begin(), edges.end()}, snapshot);
        },
        &GroupKey::first, &GroupKey::second);
}

void PostgresStore::ask_edges(Questions& questions, const core::ReadSet& set, Snapshot& snapshot) {
    auto whole = not_known(set.edges_of_flows,
                           [&](const FlowId& id) { return snapshot.knows_edges_of(id); });
    if (!whole.empty()) {
        questions.ask(edges_of_flows, arrays_of(whole, std::identity()),
                      [&snapshot](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::Edge>(rows));
                              const EdgeKey key = row.key;
                              snapshot.load_edge(key, std::move(row));
                          }
                          return {};
                      });
        PgParams params = arrays_of(whole, std::identity());
        questions.ask(groups_of_flows, std::move(params),
                      [&snapshot, whole = std::move(whole)](PgRows& rows) -> expected<void> {
                          while (rows.next()) {
                              FF_TRY(auto row, take<core::EdgeGroup>(rows));
                              const ExecutionId downstream = row.downstream;
                              snapshot.load_group(downstream, std::move(row));
                          }
                          for (const FlowId& flow : whole) {
                              load_implied_groups(flow, snapshot);
                              snapshot.load_edges_of(flow);
                          }
                          return {};
                      });
    }
    questions.ask_rows<core::Edge>(
        edges_by_key,
        not_known(set.edges, [&](const auto& key) { return snapshot.edges[key].loaded; }),
        [](const core::Edge& row) { return row.key; },
        [&snapshot](const EdgeKey& key, std::optional<core::Edge> row) {
            snapshot.load_edge(key, std::move(row));
        },
        &EdgeKey::flow, &EdgeKey::id);

    // The edges at one end of each of some executions.
    const auto ask_ends =
        [&](const std::string& text, std::vector<ExecutionId> ends, ExecutionId core::Edge::* end,
            void (Snapshot::*load_keys)(const ExecutionId&, std::vector<EdgeKey>)) {
            if (ends.empty()) {
                return;
            }
            PgParams params = arrays_of(ends, std::identity());
            questions.ask(text, std::move(params),
                          [&snapshot, end, load_keys,
                           ends = std::move(ends)](PgRows& rows) -> expected<void> {
                              std::map<ExecutionId, std::set<EdgeKey>> found;
                              while (rows.next()) {
                                  FF_TRY(auto row, take<core::Edge>(rows));
                                  const EdgeKey key = row.key;
                                  found[row.*end].insert(key);
                                  snapshot.load_edge(key, std::move(row));
                              }
                              for (const ExecutionId& id : ends) {
                                  const auto& keys = found[id];
                                  (snapshot.*load_keys)(id, {keys.begin(), keys.end()});
                              }
                              return {};
                          });
        };
    ask_ends(edges_by_upstream,
             not_known(set.outbound, [&](const auto& id) { return snapshot.knows_outbound(id); }),
             &core::Edge::upstream, &Snapshot::load_outbound);
    ask_ends(edges_by_downstream,
             not_known(set.inbound, [&](const auto& id) { return snapshot.knows_inbound(id); }),
             &core::Edge::downstream, &Snapshot::load_inbound);
}

// ------------------------------------------------------------------------------------- claims

void PostgresStore::ask_held(Questions& questions) {
    questions.ask(sql::flows_held, {}, [this](PgRows& rows) -> expected<void> {
        held_flows_.emplace();
        while (rows.next()) {
            take_value(rows, "flow_id", held_flows_->emplace_back());
            FF_TRY_VOID(rows.check());
        }
        return {};
    });
}

expected<std::vector<FlowId>> PostgresStore::held_flows() {
    if (!held_flows_) {
        Questions questions(*this);
        ask_held(questions);
        FF_TRY_VOID(questions.settle());
    }
    return *held_flows_;
}

// -------------------------------------------------------------------------------------- scans

expected<std::vector<core::EdgeKey>> PostgresStore::scan_staged(TimestampMs before,
                                                                std::size_t limit) {
    begun_ = true;
    return staged_edges(*texts_, before, limit);
}

// ------------------------------------------------------------------------------------ writing

void PostgresStore::collect_flows(Snapshot& snapshot, DurationMs retention_default_ms,
                                  Writes& writes) {
    for (auto& [id, cell] : snapshot.flows) {
        if (cell.flow.dirty && cell.flow.current()) {
            core::arm_flow(cell.flow.edit(), retention_default_ms);
            writes.flows.change(cell.flow.stored, *cell.flow.current());
        }
        if (cell.deleted) {
            // Behind what the batch did to it before it went.
            const std::string raw = id.uuid.raw();
            const auto put_id = [&](auto& to) { to[0].bytes(raw); };
            writes.all_edges.erase(put_id);
            writes.all_groups.erase(put_id);
            writes.all_work.erase(put_id);
            erase_attachments(writes, LimitTarget::flow, id.to_string());
            core::Flow gone;
            gone.id = id;
            writes.erased_flows.erase(gone);
        }
    }
    for (const auto& [key, edge] : snapshot.edges) {
        if (edge.dirty && edge.current() && !edge.implied) {
            const core::Edge& now = *edge.current();
            writes.edges.change(
                edge.stored ? std::optional(not_implied(*edge.stored, now)) : std::nullopt, now);
        }
    }
    for (const auto& [key, work] : snapshot.flow_work) {
        if (work.dirty && work.current()) {
            writes.work.put(*work.current());  // it may be there, unseen
        } else if (work.dirty) {
            writes.work.erase({key, std::nullopt, 0});
        }
    }
}

}  // namespace ff::store
