// Reads of flows: from the store's reading side, each on one view.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <ff/json.h>

#include "core/flow_rules.h"
#include "core/json_path.h"
#include "engine/reads.h"

namespace ff::engine {

namespace {

constexpr std::size_t flows_per_page_max = 1'000;
constexpr std::size_t flows_walked_max = 10'000;  ///< flows looked at for one page

std::unexpected<Error> no_flow(const FlowId& id) {
    return ff::fail(ErrorCode::flow_not_found, "flow not found: " + id.to_string());
}

std::size_t flow_page_of(std::uint32_t limit) {
    return std::min<std::size_t>(limit, flows_per_page_max);
}

EdgeGroupSnapshot snapshot_of(const core::EdgeGroup& group) {
    EdgeGroupSnapshot out;
    out.downstream_execution_id = group.downstream;
    out.policy = core::policy_of(group);
    out.total_deps = group.applied > 0 ? group.applied : group.staged;
    out.satisfied_count = group.succeeded;
    out.failed_count = group.failed;
    out.skipped_count = group.skipped;
    out.not_taken_count = group.not_taken;
    out.running_count = out.total_deps - group.resolved();
    out.group_state = group.state;
    out.satisfied_at = group.satisfied_at;
    out.cancel_siblings_pending = group.siblings_pending;
    return out;
}

FlowSnapshot snapshot_of(const core::Flow& flow) {
    FlowSnapshot out;
    out.flow_id = flow.id;
    out.flow_kind = flow.kind;
    out.ns = flow.ns;
    out.public_flow_state = flow.state;
    out.graph_revision = flow.graph_revision;
    out.node_count = flow.node_count;
    out.edge_count = flow.edge_count;
    out.created_at = flow.created_at;
    out.last_mutation_at = flow.last_mutation_at;
    out.cancelled_at = flow.cancelled_at;
    out.cancel_reason = flow.cancel_reason;
    out.cancellation_policy = flow.cancellation_policy;
    out.finished_at = flow.finished_at;
    out.sealed = flow.sealed;
    out.paused = flow.paused;
    out.settings = {flow.deadline_at, flow.on_member_failure, flow.max_active_members};
    out.live_members = flow.live;
    out.tags = flow.tags;
    return out;
}

EdgeSnapshot snapshot_of(const core::Edge& edge) {
    EdgeSnapshot out;
    out.edge_id = edge.key.id;
    out.flow_id = edge.key.flow;
    out.upstream_execution_id = edge.upstream;
    out.downstream_execution_id = edge.downstream;
    out.dependency_kind = edge.kind;
    out.data_passing_ref = edge.data_passing_ref;
    out.when = edge.when;
    out.edge_state = edge.state;
    out.created_at = edge.created_at;
    out.dependency_state = edge.dependency;
    out.resolved_at = edge.resolved_at;
    return out;
}

/// A flow that is open but whose members have all ended shows how they did.
std::string status_of(const core::Flow& flow) {
    if (flow.state != FlowState::open) {
        return std::string(to_string(flow.state));
    }
    if (flow.node_count > 0 && flow.live == 0) {
        return flow.bad > 0 ? "failed" : "completed";
    }
    return "active";
}

expected<FlowSnapshot> describe(store::Reader& reader, const core::Flow& flow) {
    FlowSnapshot out = snapshot_of(flow);
    FF_TRY(const auto groups, reader.groups_of_flow(flow.id));
    for (const core::EdgeGroup& group : groups) {
        out.edge_groups.push_back(snapshot_of(group));
    }
    return out;
}

/// Runs `body` with every member, in the order of ids.
template <class Body>
expected<void> for_each_member(store::Reader& reader, const FlowId& flow, Body body) {
    std::optional<ExecutionId> after;
    for (;;) {
        FF_TRY(const auto page, reader.members(flow, after, flows_per_page_max));
        for (const core::Execution& member : page) {
            FF_TRY_VOID(body(member));
        }
        if (page.size() < flows_per_page_max) {
            return {};
        }
        after = page.back().id;
    }
}

std::string node_name(const std::optional<core::ExecutionInput>& input) {
    return input ? input->flow_node.value_or("") : "";
}

}  // namespace

// --------------------------------------------------------------------------------------- flows

expected<std::optional<FlowSnapshot>> answer(const DescribeFlow& op, const ReadContext& c) {
    std::optional<FlowSnapshot> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flow, reader.flow(op.flow_id));
        if (flow) {
            FF_TRY(out, describe(reader, *flow));
        }
        return {};
    }));
    return out;
}

expected<FlowPage> answer(const ListFlows& op, const ReadContext& c) {
    FlowPage page;
    const std::size_t limit = flow_page_of(op.limit);
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        std::optional<FlowId> after = op.cursor;
        std::size_t walked = 0;
        for (;;) {
            FF_TRY(const auto flows, reader.flows(op.partition, after, flows_per_page_max));
            for (const core::Flow& flow : flows) {
                after = flow.id;
                if ((op.ns && flow.ns != *op.ns) || (op.status && status_of(flow) != *op.status)) {
                    continue;
                }
                if (page.flows.size() == limit) {
                    page.next_cursor = page.flows.back().flow_id;
                    return {};
                }
                page.flows.push_back({flow.id, flow.kind, flow.ns, status_of(flow), flow.node_count,
                                      flow.created_at});
            }
            walked += flows.size();
            if (flows.size() < flows_per_page_max) {
                return {};
            }
            if (walked >= flows_walked_max) {
                page.next_cursor = after;  // a short page: the search goes on from here
                return {};
            }
        }
    }));
    return page;
}

expected<MemberPage> answer(const ListFlowMembers& op, const ReadContext& c) {
    MemberPage page;
    const std::size_t limit = flow_page_of(op.limit);
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flow, reader.flow(op.flow_id));
        if (!flow) {
            return no_flow(op.flow_id);
        }
        std::optional<ExecutionId> after = op.cursor;
        for (;;) {
            FF_TRY(const auto members, reader.members(op.flow_id, after, flows_per_page_max));
            for (const core::Execution& member : members) {
                after = member.id;
                if (op.state && member.public_state != *op.state) {
                    continue;
                }
                if (page.members.size() == limit) {
                    page.next_cursor = page.members.back().execution_id;
                    return {};
                }
                FF_TRY(const core::Route route, reader.route(member.route));
                FF_TRY(const auto input, reader.input(member.eid));
                page.members.push_back({member.id, node_name(input), route.key.kind, route.key.lane,
                                        member.public_state});
            }
            if (members.size() < flows_per_page_max) {
                return {};
            }
        }
    }));
    return page;
}

expected<FlowSummary> answer(const ReadFlowSummary& op, const ReadContext& c) {
    FlowSummary out;
    out.flow_id = op.flow_id;
    out.last_summary_update_at = c.now;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flow, reader.flow(op.flow_id));
        if (!flow) {
            return no_flow(op.flow_id);
        }
        std::uint64_t excused = 0;
        FF_TRY_VOID(for_each_member(
            reader, op.flow_id, [&](const core::Execution& member) -> expected<void> {
                out.members[member.public_state] += 1;
                out.total_members += 1;
                excused +=
                    member.state.outcome == TerminalOutcome::cancelled && !core::is_bad_end(member)
                        ? 1
                        : 0;
                return {};
            }));
        out.public_flow_state = core::summary_state(flow->state, out.members, excused);
        return {};
    }));
    return out;
}

expected<std::optional<std::string>> answer(const GetFlowTag& op, const ReadContext& c) {
    if (!is_namespaced_tag_key(op.key)) {
        return ff::fail(ErrorCode::invalid_tag_key, op.key);
    }
    std::optional<std::string> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flow, reader.flow(op.flow_id));
        if (flow) {
            if (const auto it = flow->tags.find(op.key); it != flow->tags.end()) {
                out = it->second;
            }
        }
        return {};
    }));
    return out;
}

// --------------------------------------------------------------------------------------- edges

expected<std::vector<EdgeSnapshot>> answer(const ListEdges& op, const ReadContext& c) {
    if (op.direction.has_value() != op.execution_id.has_value()) {
        return ff::fail(ErrorCode::invalid_input,
                        "direction and execution_id go together: both, or none for all edges");
    }
    std::vector<EdgeSnapshot> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        auto edges = !op.direction                              ? reader.edges_of_flow(op.flow_id)
                     : *op.direction == EdgeDirection::outgoing ? reader.outbound(*op.execution_id)
                                                                : reader.inbound(*op.execution_id);
        FF_TRY_VOID(edges);
        for (const core::Edge& edge : *edges) {
            if (edge.key.flow == op.flow_id) {
                out.push_back(snapshot_of(edge));
            }
        }
        return {};
    }));
    std::ranges::sort(out, {}, &EdgeSnapshot::edge_id);
    return out;
}

expected<std::optional<EdgeSnapshot>> answer(const DescribeEdge& op, const ReadContext& c) {
    std::optional<EdgeSnapshot> out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto edge, reader.edge({op.flow_id, op.edge_id}));
        if (edge) {
            out = snapshot_of(*edge);
        }
        return {};
    }));
    return out;
}

// --------------------------------------------------------------------------------- eligibility

namespace {

/// The group as it would be if every upstream that has ended had been counted.
expected<core::EdgeGroup> live_group(store::Reader& reader, const core::EdgeGroup& stored) {
    core::EdgeGroup group = stored;
    FF_TRY(const auto edges, reader.inbound(stored.downstream));
    for (const core::Edge& edge : edges) {
        if (edge.dependency && *edge.dependency != DependencyState::unsatisfied) {
            continue;  // counted
        }
        FF_TRY(const auto upstream, reader.execution(edge.upstream));
        if (!upstream || !is_terminal(upstream->state) ||
            (edge.fence_replays && upstream->replay_count <= *edge.fence_replays)) {
            continue;
        }
        std::optional<std::string> result;
        if (edge.when && upstream->current_attempt_index) {
            FF_TRY(const auto attempt,
                   reader.attempt(upstream->eid, *upstream->current_attempt_index));
            result = attempt ? attempt->result : std::nullopt;
        }
        const TerminalOutcome outcome = upstream->state.outcome;
        core::count(group, core::resolve_edge(edge, outcome, result), outcome);
    }
    return group;
}

expected<std::string> eligibility(store::Reader& reader, const ExecutionId& id) {
    FF_TRY(const auto e, reader.execution(id));
    if (!e) {
        return "not_found";
    }
    if (is_terminal(e->state)) {
        return "terminal";
    }
    if (e->state.phase != LifecyclePhase::runnable) {
        return "not_runnable";
    }
    if (e->state.ownership != OwnershipState::unowned) {
        return "owned";
    }
    if (!e->flow_id) {
        return "eligible";
    }
    FF_TRY(const auto stored, reader.group(*e->flow_id, id));
    if (!stored || stored->staged == 0) {
        return "eligible";
    }
    GroupState state = stored->state;
    if (state == GroupState::pending) {
        FF_TRY(const auto flow, reader.flow(*e->flow_id));
        FF_TRY(const core::EdgeGroup group, live_group(reader, *stored));
        state = core::evaluate_group(group, flow && flow->sealed);
    }
    switch (state) {
        case GroupState::satisfied: return "eligible";
        case GroupState::impossible: return "impossible";
        default: return "blocked_by_dependencies";
    }
}

}  // namespace

expected<EligibilityResult> answer(const EvaluateEligibility& op, const ReadContext& c) {
    EligibilityResult out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(out.status, eligibility(reader, op.execution_id));
        return {};
    }));
    return out;
}

// -------------------------------------------------------------------------------------- inputs

namespace {

/// What one satisfied edge hands over, if its upstream has a result.
expected<std::optional<FlowInput>> input_of(store::Reader& reader, const core::Edge& edge) {
    FF_TRY(const auto upstream, reader.execution(edge.upstream));
    if (!upstream || upstream->state.outcome != TerminalOutcome::success ||
        !upstream->current_attempt_index) {
        return std::nullopt;
    }
    FF_TRY(auto attempt, reader.attempt(upstream->eid, *upstream->current_attempt_index));
    if (!attempt || !attempt->result) {
        return std::nullopt;
    }
    FF_TRY(const auto passing, core::DataPassing::parse(edge.data_passing_ref.value_or("")));
    FlowInput out;
    out.execution_id = edge.upstream;
    out.value = std::move(*attempt->result);
    out.encoding = attempt->result_encoding;
    if (passing.as) {
        out.name = *passing.as;
    } else {
        FF_TRY(const auto input, reader.input(upstream->eid));
        out.name = node_name(input).empty() ? edge.upstream.to_string() : node_name(input);
    }
    if (passing.path) {
        const auto document = js::parse(out.value);
        const js::Value* found = document ? passing.path->find(*document) : nullptr;
        if (found == nullptr) {
            return std::nullopt;
        }
        out.value = js::dump(*found);
        out.encoding = "json";
    }
    return out;
}

}  // namespace

expected<InputsResult> answer(const ReadInputs& op, const ReadContext& c) {
    InputsResult out;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return ff::fail(ErrorCode::execution_not_found,
                            "execution not found: " + op.execution_id.to_string());
        }
        FF_TRY(const auto edges, reader.inbound(op.execution_id));
        for (const core::Edge& edge : edges) {
            if (edge.dependency != DependencyState::satisfied) {
                continue;
            }
            FF_TRY(auto input, input_of(reader, edge));
            if (input) {
                out.inputs.push_back(std::move(*input));
            }
        }
        return {};
    }));
    std::ranges::stable_sort(out.inputs, {}, &FlowInput::name);
    return out;
}

// --------------------------------------------------------------------------------------- graph

namespace {

DurationMs time_taken(const GraphNode& node, TimestampMs now) {
    return node.started_at
               ? std::max<DurationMs>(0, node.completed_at.value_or(now) - *node.started_at)
               : 0;
}

/// Puts upstreams first and marks the path that took longest.
void arrange(FlowGraph& graph, TimestampMs now) {
    const std::size_t n = graph.nodes.size();
    std::map<ExecutionId, std::size_t> places;
    for (std::size_t i = 0; i < n; ++i) {
        places.emplace(graph.nodes[i].execution_id, i);
    }
    std::vector<std::vector<std::size_t>> next(n);
    std::vector<std::size_t> waiting(n, 0);
    for (const EdgeSnapshot& edge : graph.edges) {
        const auto from = places.find(edge.upstream_execution_id);
        const auto to = places.find(edge.downstream_execution_id);
        if (from != places.end() && to != places.end()) {  // retention may have taken one
            next[from->second].push_back(to->second);
            waiting[to->second] += 1;
        }
    }
    std::deque<std::size_t> open;
    for (std::size_t i = 0; i < n; ++i) {
        if (waiting[i] == 0) {
            open.push_back(i);
        }
    }
    std::vector<std::size_t> order;
    std::vector<DurationMs> length(n, 0);
    std::vector<std::optional<std::size_t>> before(n);
    while (!open.empty()) {
        const std::size_t node = open.front();
        open.pop_front();
        order.push_back(node);
        length[node] += time_taken(graph.nodes[node], now);
        for (const std::size_t child : next[node]) {
            if (!before[child] || length[node] > length[child]) {
                length[child] = length[node];
                before[child] = node;
            }
            if (--waiting[child] == 0) {
                open.push_back(child);
            }
        }
    }
    if (!order.empty()) {
        const auto last =
            std::ranges::max_element(order, {}, [&](std::size_t i) { return length[i]; });
        graph.critical_path_ms = length[*last];
        for (std::optional<std::size_t> at = *last; at && graph.critical_path_ms > 0;
             at = before[*at]) {
            graph.nodes[*at].critical = true;
        }
    }
    std::vector<GraphNode> arranged;
    arranged.reserve(n);
    for (const std::size_t i : order) {
        arranged.push_back(std::move(graph.nodes[i]));
    }
    graph.nodes = std::move(arranged);
}

}  // namespace

expected<FlowGraph> answer(const ReadFlowGraph& op, const ReadContext& c) {
    FlowGraph graph;
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto flow, reader.flow(op.flow_id));
        if (!flow) {
            return no_flow(op.flow_id);
        }
        FF_TRY(graph.flow, describe(reader, *flow));
        FF_TRY_VOID(for_each_member(reader, op.flow_id,
                                    [&](const core::Execution& member) -> expected<void> {
                                        FF_TRY(const core::Route route, reader.route(member.route));
                                        FF_TRY(const auto input, reader.input(member.eid));
                                        GraphNode node;
                                        node.execution_id = member.id;
                                        node.node = node_name(input);
                                        node.execution_kind = route.key.kind;
                                        node.lane_id = route.key.lane;
                                        node.public_state = member.public_state;
                                        node.created_at = member.created_at;
                                        node.started_at = member.started_at;
                                        node.completed_at = member.completed_at;
                                        node.total_attempt_count = member.total_attempt_count;
                                        node.failure_reason = member.failure_reason;
                                        graph.nodes.push_back(std::move(node));
                                        return {};
                                    }));
        FF_TRY(const auto edges, reader.edges_of_flow(op.flow_id));
        for (const core::Edge& edge : edges) {
            graph.edges.push_back(snapshot_of(edge));
        }
        return {};
    }));
    arrange(graph, c.now);
    return graph;
}

}  // namespace ff::engine
