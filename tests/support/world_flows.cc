// The part of a World that knows flows.
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/flow_invariants.h"
#include "support/world.h"

namespace ff::testing {

expected<SubmitFlowResult> World::run(SubmitFlow op) {
    FF_TRY(auto command, core::prepare(std::move(op), settings_, ids_, now));
    return decide_and_commit(command);
}

void World::apply(core::Snapshot& view, core::Changes changes) {
    for (const core::Execution& row : changes.put_executions) {
        const core::ExecutionCell* cell = view.find_cell(row.id);
        core::add_follow_ups(cell != nullptr ? cell->execution.get() : nullptr, row, now, work_);
    }
    for (const core::Eid eid : changes.delete_executions) {
        core::add_follow_ups_of_removal(*view.find_cell(eid)->execution.get(), now, work_);
    }
    std::ranges::move(changes.follow_ups, std::back_inserter(work_));
    view.apply(std::move(changes));
}

void World::follow_up(core::Snapshot& view) {
    while (!work_.empty()) {
        const std::vector<core::FlowWork> round = std::exchange(work_, {});
        for (const core::FlowWork& work : round) {
            load_more(work, view);
            auto decision = core::decide(view, work, context());
            if (!decision.answer) {
                violations.push_back("follow-up: " + decision.answer.error().message());
                continue;
            }
            apply(view, std::move(decision.changes));
        }
    }
}

void World::load_flows(const core::ReadSet& set, core::Snapshot& view) const {
    const auto find = [](const auto& rows, const auto& key) {
        const auto it = rows.find(key);
        using Row = typename std::remove_cvref_t<decltype(rows)>::mapped_type;
        return it == rows.end() ? std::optional<Row>() : std::optional<Row>(it->second);
    };
    for (const FlowId& id : set.flows) {
        view.load_flow(id, find(records.flows, id));
    }
    for (const auto& [flow, need] : set.members) {
        std::vector<ExecutionId> ids;
        for (const auto& [id, e] : records.executions) {
            if (e.flow_id == flow) {
                ids.push_back(id);
            }
        }
        view.load_members(flow, std::move(ids));
        for (const ExecutionId& id : view.members(flow)) {
            core::ReadSet::ExecutionNeed each = need;
            each.id = id;
            load(each, view);
        }
    }
    const auto load_edges = [&](auto belongs) {
        std::vector<core::EdgeKey> keys;
        for (const auto& [key, edge] : records.edges) {
            if (belongs(edge)) {
                view.load_edge(key, edge);
                keys.push_back(key);
            }
        }
        return keys;
    };
    for (const FlowId& flow : set.edges_of_flows) {
        load_edges([&](const core::Edge& edge) { return edge.key.flow == flow; });
        for (const auto& [id, group] : records.groups) {
            if (group.flow == flow) {
                view.load_group(id, group);
            }
        }
        view.load_edges_of(flow);
    }
    for (const core::EdgeKey& key : set.edges) {
        view.load_edge(key, find(records.edges, key));
    }
    for (const ExecutionId& id : set.outbound) {
        view.load_outbound(id, load_edges([&](const auto& edge) { return edge.upstream == id; }));
    }
    for (const ExecutionId& id : set.inbound) {
        view.load_inbound(id, load_edges([&](const auto& edge) { return edge.downstream == id; }));
    }
    for (const auto& need : set.groups) {
        view.load_group(need.downstream, find(records.groups, need.downstream));
    }
    for (const auto& key : set.work) {
        view.load_work(key, find(records.work, key));
    }
    for (const auto& [gate, limit] : set.parked) {
        std::map<std::pair<std::int32_t, core::Eid>, ExecutionId> queue;
        for (const auto& [id, e] : records.executions) {
            if (e.gate == gate) {
                queue.emplace(std::pair(-e.priority, e.eid), id);
                load({id, core::InputNeed::none, false, false}, view);
            }
        }
        std::vector<ExecutionId> ids;
        for (const auto& [place, id] : queue) {
            if (ids.size() < limit) {
                ids.push_back(id);
            }
        }
        view.load_parked(gate, std::move(ids));
    }
}

void World::keep_flows(core::Snapshot& view) {
    for (const auto& [key, edge] : view.edges) {
        if (edge.dirty) {
            records.edges.insert_or_assign(key, *edge.current());
        }
    }
    for (const auto& [key, work] : view.flow_work) {
        if (work.dirty && work.current()) {
            records.work.insert_or_assign(key, *work.current());
        } else if (work.dirty) {
            records.work.erase(key);
        }
    }
    for (auto& [id, cell] : view.flows) {
        if (cell.deleted) {
            records.flows.erase(id);
            const FlowId gone = id;
            std::erase_if(records.edges, [&](const auto& row) { return row.first.flow == gone; });
            std::erase_if(records.groups, [&](const auto& row) { return row.second.flow == gone; });
            std::erase_if(records.work, [&](const auto& row) { return row.first.flow == gone; });
        } else if (cell.flow.dirty) {
            core::arm_flow(cell.flow.edit(), settings_.retention_ms);
            records.flows.insert_or_assign(id, *cell.flow.current());
        }
    }
    for (const auto& [id, cell] : view.flows) {
        if (!cell.deleted && cell.flow.current()) {
            check_flow(id);
        }
    }
}

void World::check_flow(const FlowId& id) {
    core::FlowRows rows;
    rows.flow = records.flows.at(id);
    for (const auto& [member, e] : records.executions) {
        if (e.flow_id == id) {
            rows.members.push_back(e);
        }
    }
    for (const auto& [key, edge] : records.edges) {
        if (key.flow == id) {
            rows.edges.push_back(edge);
        }
    }
    for (const auto& [downstream, group] : records.groups) {
        if (group.flow == id) {
            rows.groups.push_back(group);
        }
    }
    rows.work_waits = !records.work.empty();
    for (std::string& finding : core::check_flow(rows)) {
        violations.push_back("flow: " + std::move(finding));
    }
}

}  // namespace ff::testing
