// The repair passes of flows. What ends, cancels and limits cause happens in their own transaction;
// these find nothing in a healthy store, except edges that a client staged and forgot to apply.
#include <algorithm>
#include <iterator>
#include <set>

#include "core/cascade.h"
#include "core/decide.h"
#include "core/flow_invariants.h"
#include "core/flow_rules.h"
#include "engine/scanners.h"

namespace ff::engine {

namespace {

constexpr std::size_t flows_per_pass = 50;
/// A pass that has seen as many rows ends: the next goes on.
constexpr std::size_t rows_per_pass = 10'000;
constexpr std::size_t staged_per_pass = 1'000;
/// A client that has not applied its edge by then has forgotten it.
constexpr DurationMs staged_patience_ms = 30'000;
constexpr std::size_t members_page = 1'000;

expected<core::FlowRows> rows_of(store::Reader& reader, const core::Flow& flow) {
    core::FlowRows rows;
    rows.flow = flow;
    std::optional<ExecutionId> after;
    for (;;) {
        FF_TRY(auto page, reader.members(flow.id, after, members_page));
        const bool last = page.size() < members_page;
        if (!page.empty()) {
            after = page.back().id;
        }
        std::ranges::move(page, std::back_inserter(rows.members));
        if (last) {
            break;
        }
    }
    FF_TRY(rows.edges, reader.edges_of_flow(flow.id));
    FF_TRY(rows.groups, reader.groups_of_flow(flow.id));
    FF_TRY(const auto work, reader.flow_work(flow.id, 1));
    rows.work_waits = !work.empty();
    return rows;
}

/// Nothing for a flow that is over, and was checked when it ended, or gone.
expected<std::optional<core::FlowRows>> open_rows_of(store::Reader& reader, const FlowId& id) {
    FF_TRY(const auto flow, reader.flow(id));
    if (!flow || (flow->live == 0 && flow->finished_at)) {
        return std::nullopt;
    }
    return rows_of(reader, *flow);
}

}  // namespace

expected<void> Scanners::visit_flows(std::optional<FlowId>& at, ScannerResult& result,
                                     const FlowVisit& visit) {
    store::Store& store = batch_.store();
    FF_TRY_VOID(batch_.make_readable());
    return store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto ids, reader.flow_ids(at, flows_per_pass));
        std::size_t seen = 0;
        for (const FlowId& id : ids) {
            if (seen >= rows_per_pass) {
                return {};
            }
            at = id;
            const auto rows = open_rows_of(reader, id);
            if (!rows) {
                FF_TRY_VOID(tell_of(rows.error(), "flow " + id.to_string(), result));
            } else if (*rows) {
                seen += (*rows)->members.size() + (*rows)->edges.size();
                visit(**rows);
            }
        }
        if (ids.size() < flows_per_pass) {
            at = std::nullopt;
        }
        return {};
    });
}

expected<void> Scanners::count_cancels(ScannerResult& result) {
    std::set<FlowId> flows;
    FF_TRY_VOID(batch_.store().read([&](store::Reader& reader) -> expected<void> {
        const auto work = reader.flow_work(std::nullopt, rows_per_pass);
        if (!work) {
            return tell_of(work.error(), "work of flows", result);
        }
        for (const core::FlowWork& each : *work) {
            if (each.key.kind == core::FlowWorkKind::cancel_member) {
                flows.insert(each.key.flow);
            }
        }
        return {};
    }));
    batch_.tally().cancel_backlog(flows.size());
    return {};
}

expected<ScannerResult> Scanners::flow_projector(TimestampMs /*now*/) {
    ScannerResult result;
    FF_TRY_VOID(visit_flows(projector_at_, result, [&](const core::FlowRows& rows) {
        for (const std::string& finding : core::check_flow(rows)) {
            result.findings.push_back("flow " + rows.flow.id.to_string() + ": " + finding);
        }
    }));
    FF_TRY_VOID(count_cancels(result));
    result.errors = result.findings.size();
    return result;
}

expected<void> Scanners::apply_staged(TimestampMs now, ScannerResult& result) {
    store::Store& store = batch_.store();
    FF_TRY(const auto staged, store.scan_staged(now - staged_patience_ms, staged_per_pass));
    for (const core::EdgeKey& key : staged) {
        core::ReadSet set;
        set.edges.push_back(key);
        set.flows.push_back(key.flow);  // its lock: nobody else applies them meanwhile
        const auto apply = [&]() -> expected<bool> {
            FF_TRY_VOID(store.load(set, batch_.snapshot()));
            const core::Edge* edge = batch_.snapshot().edge(key);
            if (edge == nullptr) {
                return false;
            }
            const ApplyDependency op{key.flow, key.id, edge->upstream, edge->downstream};
            FF_TRY(const auto decision, batch_.decide_one(op));
            return decision.answer.has_value();
        };
        const auto applied = apply();
        if (!applied) {
            FF_TRY_VOID(tell_of(applied.error(), "edge " + key.id.to_string(), result));
        }
        result.processed += applied && *applied ? 1 : 0;
    }
    return {};
}

expected<ScannerResult> Scanners::dependency_reconciler(TimestampMs now) {
    ScannerResult result;
    std::vector<core::FlowWork> overdue;
    FF_TRY_VOID(visit_flows(dependencies_at_, result, [&](const core::FlowRows& rows) {
        const FlowId& flow = rows.flow.id;
        if (!rows.work_waits) {
            for (const core::EdgeKey& key : core::overdue_edges(rows)) {
                const auto edge = std::ranges::find(rows.edges, key, &core::Edge::key);
                overdue.push_back({{flow, core::FlowWorkKind::ended, edge->upstream}, {}, now});
            }
        }
        const bool waits = std::ranges::any_of(rows.members, [&](const core::Execution& member) {
            return member.gate == core::gate_of(flow);
        });
        const bool room =
            rows.flow.max_active_members == 0 || rows.flow.slots < rows.flow.max_active_members;
        if (waits && !rows.flow.paused && room) {
            overdue.push_back({{flow, core::FlowWorkKind::unpark, ExecutionId{}}, {}, now});
        }
    }));
    FF_TRY_VOID(batch_.run_internal(now, [&]() -> expected<void> {
        FF_TRY_VOID(apply_staged(now, result));
        core::Changes repairs;
        repairs.follow_ups = overdue;
        batch_.keep(std::move(repairs));
        return {};
    }));
    result.processed += overdue.size();
    return result;
}

}  // namespace ff::engine
