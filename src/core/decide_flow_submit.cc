// Graphs that come whole: submitted as a new flow, or spawned by a running member.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "core/decide.h"
#include "core/fence.h"
#include "core/flow_checks.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/new_execution.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::size_t node_name_bytes_max = 256;

std::unexpected<Error> at_node(const std::string& name, Error error) {
    error.detail = "node " + name + ": " + error.detail;
    return std::unexpected(std::move(error));
}

std::unexpected<Error> bad_edge(const FlowEdge& edge, std::string_view what) {
    return ff::fail(ErrorCode::invalid_input,
                    "edge " + edge.from + " -> " + edge.to + ": " + std::string(what));
}

/// Puts upstreams first, or names a cycle.
expected<std::vector<std::size_t>> graph_order(const PreparedGraph& graph) {
    // The caller of a spawn is one node more, at the end.
    const std::size_t n = graph.nodes.size();
    const auto place = [n](std::size_t node) { return node == PreparedGraph::caller ? n : node; };
    std::vector<std::size_t> waiting(n + 1, 0);
    std::vector<std::vector<std::size_t>> next(n + 1);
    for (const auto& link : graph.links) {
        waiting[place(link.to)] += 1;
        next[place(link.from)].push_back(place(link.to));
    }
    std::deque<std::size_t> open;
    for (std::size_t i = 0; i <= n; ++i) {
        if (waiting[i] == 0) {
            open.push_back(i);
        }
    }
    std::vector<std::size_t> order;
    while (!open.empty()) {
        const std::size_t node = open.front();
        open.pop_front();
        order.push_back(node);
        for (const std::size_t child : next[node]) {
            if (--waiting[child] == 0) {
                open.push_back(child);
            }
        }
    }
    if (order.size() == n + 1) {
        std::erase(order, n);
        return order;
    }
    // Walk back along nodes that still wait: the walk must come round.
    std::vector<std::size_t> previous(n + 1, n + 1);
    for (std::size_t i = 0; i <= n; ++i) {
        for (const std::size_t child : next[i]) {
            if (waiting[i] > 0 && waiting[child] > 0) {
                previous[child] = i;
            }
        }
    }
    std::size_t at = static_cast<std::size_t>(
        std::ranges::find_if(waiting, [](std::size_t count) { return count > 0; }) -
        waiting.begin());
    std::set<std::size_t> seen;
    while (seen.insert(at).second) {
        at = previous[at];
    }
    std::string names;
    const std::size_t start = at;
    const auto name = [&](std::size_t node) {
        return node == n ? std::string("the caller") : graph.nodes[node].name;
    };
    do {
        names = " -> " + name(at) + names;
        at = previous[at];
    } while (at != start);
    return ff::fail(ErrorCode::cycle_detected, name(start) + names);
}

struct GraphTerms {
    std::string ns;  ///< of every node; empty: what the node says
    bool may_name_caller = false;
};

expected<PreparedGraph> prepare_graph(std::vector<FlowNode> nodes,
                                      const std::vector<FlowEdge>& edges, const GraphTerms& terms,
                                      const FlowId* flow, const Settings& settings, IdSource& ids,
                                      TimestampMs now) {
    if (nodes.size() > settings.flows.members || edges.size() > settings.flows.edges) {
        return ff::fail(ErrorCode::flow_limit_exceeded,
                        "a flow has at most " + std::to_string(settings.flows.members) +
                            " members and " + std::to_string(settings.flows.edges) +
                            " edges (got " + std::to_string(nodes.size()) + " and " +
                            std::to_string(edges.size()) + ")");
    }
    PreparedGraph graph;
    std::map<std::string, std::size_t> places;
    std::set<ExecutionId> ids_used;
    for (FlowNode& node : nodes) {
        FF_TRY_VOID(check_label("node name", node.name, 1, node_name_bytes_max));
        if (!places.emplace(node.name, graph.nodes.size()).second) {
            return ff::fail(ErrorCode::invalid_input,
                            "node " + node.name + ": the name is used twice");
        }
        if (auto ok = check_group_policy(node.policy); !ok) {
            return at_node(node.name, ok.error());
        }
        CreateExecution& args = node.execution;
        if (args.ns.empty()) {
            args.ns = terms.ns;
        }
        if (!terms.ns.empty() && args.ns != terms.ns) {
            return at_node(node.name,
                           {ErrorCode::namespace_mismatch,
                            "it is of namespace " + args.ns + ", the flow of " + terms.ns,
                            {}});
        }
        if (args.idempotency_key && !args.idempotency_key->empty()) {
            return at_node(
                node.name,
                {ErrorCode::invalid_input, "idempotency_key: the flow's id is its key", {}});
        }
        if (!args.execution_id && flow != nullptr) {
            args.execution_id = ExecutionId::for_flow(*flow, settings.partitions, ids.uuid(now));
        }
        auto create = prepare(std::move(args), settings, ids, now);
        if (!create) {
            return at_node(node.name, std::move(create).error());
        }
        if (!create->policy) {
            return at_node(node.name, create->policy.error());
        }
        if (!ids_used.insert(create->id).second) {
            return at_node(node.name,
                           {ErrorCode::invalid_input,
                            "execution_id " + create->id.to_string() + " is that of another node",
                            {}});
        }
        graph.nodes.push_back({std::move(node.name), std::move(*create), node.policy, 0});
    }
    const auto find = [&](const FlowEdge& edge, const std::string& name) -> expected<std::size_t> {
        if (name.empty() && terms.may_name_caller) {
            return PreparedGraph::caller;
        }
        const auto it = places.find(name);
        if (it == places.end()) {
            return bad_edge(edge, "there is no node `" + name + "`");
        }
        return it->second;
    };
    std::uint64_t into_caller = 0;
    for (const FlowEdge& edge : edges) {
        PreparedGraph::Link link;
        FF_TRY(link.from, find(edge, edge.from));
        FF_TRY(link.to, find(edge, edge.to));
        if (link.from == link.to) {
            return ff::fail(ErrorCode::self_referencing_edge, edge.from);
        }
        if (auto ok = check_edge_texts(edge.data_passing_ref, edge.when, edge.dependency_kind);
            !ok) {
            return bad_edge(edge, ok.error().detail);
        }
        std::uint64_t& inbound =
            link.to == PreparedGraph::caller ? into_caller : graph.nodes[link.to].inbound;
        if (++inbound > settings.flows.inbound_edges) {
            return ff::fail(ErrorCode::flow_limit_exceeded,
                            "node " + edge.to + ": at most " +
                                std::to_string(settings.flows.inbound_edges) +
                                " edges may lead to one");
        }
        link.id = EdgeId{ids.uuid(now)};
        link.kind = edge.dependency_kind;
        link.data_passing_ref = non_empty(edge.data_passing_ref);
        link.when = non_empty(edge.when);
        graph.links.push_back(std::move(link));
    }
    for (const auto& node : graph.nodes) {
        if (node.policy.kind == GroupPolicyKind::quorum && node.inbound > 0 &&
            node.policy.k > node.inbound) {
            return at_node(node.name,
                           {ErrorCode::invalid_input,
                            "a quorum of " + std::to_string(node.policy.k) + " is more than its " +
                                std::to_string(node.inbound) + " edges",
                            {}});
        }
    }
    FF_TRY_VOID(graph_order(graph));
    return graph;
}

void read_graph(const PreparedGraph& graph, ReadSet& set, bool given_ids) {
    std::set<std::string> lanes;
    for (const auto& node : graph.nodes) {
        set.need(node.create.id).fresh = !given_ids;
        need_limits_of_new(node.create, set);
        lanes.insert(node.create.args.lane_id);
    }
    set.lanes.insert(set.lanes.end(), lanes.begin(), lanes.end());
}

/// Makes the executions, edges and groups. `caller` is the execution that spawns, if any.
expected<std::map<std::string, ExecutionId>> make_graph(GraphEdit& edit, const Snapshot& view,
                                                        const PreparedGraph& graph, Flow& flow,
                                                        const ExecutionId* caller,
                                                        const Context& ctx) {
    Changes& changes = edit.changes();
    NewRows made(view);
    changes.put_executions.reserve(graph.nodes.size());
    changes.put_inputs.reserve(graph.nodes.size());
    changes.put_groups.reserve(graph.nodes.size());
    changes.put_edges.reserve(graph.links.size());
    std::map<std::string, ExecutionId> names;
    const auto id_of = [&](std::size_t node) -> const ExecutionId& {
        return node == PreparedGraph::caller ? *caller : graph.nodes[node].create.id;
    };
    for (const auto& node : graph.nodes) {
        const PreparedCreate& create = node.create;
        if (create.id.partition != flow.partition) {
            return ff::fail(ErrorCode::invalid_input,
                            "node " + node.name + ": partition mismatch: the flow has index " +
                                std::to_string(flow.partition) + ", the execution " +
                                std::to_string(create.id.partition));
        }
        if (view.execution(create.id) != nullptr) {
            return ff::fail(
                ErrorCode::execution_already_in_flow,
                "node " + node.name + ": execution " + create.id.to_string() + " exists already");
        }
        if (auto ok = check_lane_accepts(view, create.args.lane_id); !ok) {
            return at_node(node.name, std::move(ok).error());
        }
        Execution e = new_execution(create, *create.policy, ctx);
        e.flow_id = flow.id;
        e.route = made.route(create.route, *create.policy, changes, ctx);
        made.lane(create.args.lane_id, changes, ctx);
        if (node.inbound > 0) {
            e.blocking_detail = std::to_string(node.inbound) + " dep(s) unresolved";
            set_state(
                e,
                {LifecyclePhase::runnable, OwnershipState::unowned,
                 EligibilityState::blocked_by_dependencies, BlockingReason::waiting_for_children,
                 TerminalOutcome::none, e.state.attempt_state},
                ctx.now);
        }
        append_tag_events(create.args, e, changes, ctx.now);
        attach_limits(view, create, e, changes);
        ExecutionInput input = new_input(create, e.eid);
        input.flow_node = node.name;
        if (node.inbound > 0 || node.policy != GroupPolicy{}) {
            EdgeGroup group;
            group.flow = flow.id;
            group.downstream = create.id;
            group.created_at = ctx.now;
            group.staged = node.inbound;
            group.applied = node.inbound;
            set_policy(group, node.policy);
            if (node.policy != GroupPolicy{}) {
                changes.flow_tally.set(group.policy);
            }
            changes.put_groups.push_back(std::move(group));
        }
        names.emplace(node.name, create.id);
        changes.put_executions.push_back(std::move(e));
        changes.put_inputs.push_back(std::move(input));
    }
    for (const auto& link : graph.links) {
        Edge edge;
        edge.key = {flow.id, link.id};
        edge.upstream = id_of(link.from);
        edge.downstream = id_of(link.to);
        edge.kind = link.kind;
        edge.state = EdgeState::applied;
        edge.dependency = DependencyState::unsatisfied;
        edge.data_passing_ref = link.data_passing_ref;
        edge.when = link.when;
        edge.created_at = ctx.now;
        edge.applied_at = ctx.now;
        changes.put_edges.push_back(std::move(edge));
        if (link.to == PreparedGraph::caller) {
            EdgeGroup& group = edit.change_group(flow.id, *caller);
            group.staged += 1;
            group.applied += 1;
            if (group.state == GroupState::satisfied) {
                group.state = GroupState::pending;  // it waits for these too
                group.satisfied_at.reset();
            }
        }
    }
    flow.node_count += graph.nodes.size();
    flow.live += graph.nodes.size();
    flow.edge_count += graph.links.size();
    flow.graph_revision += graph.nodes.size() + graph.links.size();
    flow.last_mutation_at = ctx.now;
    return names;
}

}  // namespace

// -------------------------------------------------------------------------------------- submit

expected<PreparedSubmit> prepare(SubmitFlow args, const Settings& settings, IdSource& ids,
                                 TimestampMs now) {
    FF_TRY_VOID(check_flow_labels(args.flow_kind, args.ns, args.settings));
    FF_TRY_VOID(check_flow_tags(args.tags));
    if (args.nodes.empty()) {
        return ff::fail(ErrorCode::invalid_input, "nodes: at least one is required");
    }
    PreparedSubmit command;
    command.flow_id = args.flow_id ? *args.flow_id : FlowId{ids.uuid(now)};
    const GraphTerms terms{args.ns, false};
    FF_TRY(command.graph,
           prepare_graph(std::exchange(args.nodes, {}), std::exchange(args.edges, {}), terms,
                         &command.flow_id, settings, ids, now));
    command.args = std::move(args);
    return command;
}

void reads(const PreparedSubmit& command, ReadSet& set) {
    set.flows.push_back(command.flow_id);
    need_limits_of_flow(command.flow_id, set);
    read_graph(command.graph, set, true);
}

void reads_more(const Snapshot& view, const PreparedSubmit& command, ReadSet& set) {
    if (view.flow(command.flow_id) != nullptr && !view.knows_members(command.flow_id)) {
        ReadSet::ExecutionNeed need;
        need.input = InputNeed::always;
        set.members.emplace_back(command.flow_id, need);
    }
}

Decision<SubmitFlowResult> decide(const Snapshot& view, const PreparedSubmit& command,
                                  const Context& ctx) {
    const SubmitFlow& args = command.args;
    if (const Flow* found = view.flow(command.flow_id)) {
        if (found->ns != args.ns || found->kind != args.flow_kind) {
            return ff::fail(ErrorCode::flow_already_exists, "flow " + found->id.to_string() +
                                                                " is of kind " + found->kind +
                                                                " in namespace " + found->ns);
        }
        SubmitFlowResult reply{false, found->id, {}};
        for (const ExecutionId& id : view.members(found->id)) {
            const ExecutionInput* input = view.input(*view.execution(id));
            if (input != nullptr && input->flow_node) {
                reply.nodes.emplace(*input->flow_node, id);
            }
        }
        return reply;
    }
    GraphEdit edit(view, ctx);
    Flow flow = new_flow(command.flow_id, args.flow_kind, args.ns, args.settings, ctx);
    flow.tags = args.tags;
    flow.limited = is_limited(view, flow.id);
    flow.sealed = args.seal;
    auto names = make_graph(edit, view, command.graph, flow, nullptr, ctx);
    if (!names) {
        return std::move(names).error();
    }
    tell_tags(flow, edit.changes(), ctx.now);
    edit.changes().put_flows.push_back(std::move(flow));
    return {SubmitFlowResult{true, command.flow_id, std::move(*names)}, edit.take()};
}

// --------------------------------------------------------------------------------------- spawn

expected<PreparedSpawn> prepare(SpawnChildren args, const Settings& settings, IdSource& ids,
                                TimestampMs now) {
    if (args.nodes.empty()) {
        return ff::fail(ErrorCode::invalid_input, "nodes: at least one is required");
    }
    for (FlowNode& node : args.nodes) {
        if (!node.execution.execution_id) {
            // In the partition of the caller, which is its flow's.
            node.execution.execution_id =
                ExecutionId{args.lease.execution_id.partition, ids.uuid(now)};
        }
    }
    PreparedSpawn command;
    command.lease = args.lease;
    FF_TRY(command.graph, prepare_graph(std::move(args.nodes), args.edges, GraphTerms{"", true},
                                        nullptr, settings, ids, now));
    return command;
}

void reads(const PreparedSpawn& command, ReadSet& set) {
    set.need(command.lease.execution_id, InputNeed::if_tagged);
    read_graph(command.graph, set, true);
}

void reads_more(const Snapshot& view, const PreparedSpawn& command, ReadSet& set) {
    const Execution* e = view.execution(command.lease.execution_id);
    if (e == nullptr || !e->flow_id) {
        return;
    }
    if (!view.knows_flow(*e->flow_id)) {
        set.flows.push_back(*e->flow_id);
    }
    if (!view.knows_group(e->id)) {
        set.groups.emplace_back(*e->flow_id, e->id);
    }
}

Decision<SpawnResult> decide(const Snapshot& view, const PreparedSpawn& command,
                             const Context& ctx) {
    const Execution* caller = view.execution(command.lease.execution_id);
    if (caller == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok = check_fence_shape(command.lease, FenceRule::required, Source::lease_holder,
                                    ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    if (auto ok = check_fence(*caller, command.lease, ctx.now); !ok) {
        return std::move(ok).error();
    }
    const Flow* found = view.flow_of(*caller);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_in_flow,
                        "only a member of a flow can spawn children");
    }
    if (found->state != FlowState::open) {
        return ff::fail(ErrorCode::flow_already_terminal, "flow " + found->id.to_string() + " is " +
                                                              std::string(to_string(found->state)));
    }
    const auto& nodes = command.graph.nodes;
    const bool repeated = std::ranges::all_of(nodes, [&](const PreparedGraph::Node& node) {
        const Execution* e = view.execution(node.create.id);
        return e != nullptr && e->flow_id == found->id;
    });
    if (repeated) {
        SpawnResult reply{{}, found->graph_revision};
        for (const auto& node : nodes) {
            reply.nodes.emplace(node.name, node.create.id);
        }
        return reply;
    }
    const EdgeGroup* group = view.group(caller->id);
    const auto into_caller = static_cast<std::uint64_t>(std::ranges::count_if(
        command.graph.links, [](const auto& link) { return link.to == PreparedGraph::caller; }));
    if (into_caller > 0 && group != nullptr && group->policy != GroupPolicyKind::all_of) {
        return ff::fail(ErrorCode::invalid_dependency,
                        "the caller joins its upstreams by " +
                            std::string(to_string(group->policy)) +
                            ", so it would not wait for these; let a node of its own join them");
    }
    const std::string& ns = view.route(caller->route).key.ns;
    for (const auto& node : nodes) {
        if (node.create.args.ns != ns) {
            return ff::fail(ErrorCode::namespace_mismatch,
                            "node " + node.name + ": it is of namespace " + node.create.args.ns +
                                ", the flow of " + ns);
        }
    }
    const FlowLimits& limits = ctx.settings.flows;
    if (found->node_count + nodes.size() > limits.members ||
        found->edge_count + command.graph.links.size() > limits.edges) {
        return ff::fail(ErrorCode::flow_limit_exceeded,
                        "the flow would have more than " + std::to_string(limits.members) +
                            " members or " + std::to_string(limits.edges) + " edges");
    }
    if (into_caller + (group != nullptr ? group->staged : 0) > limits.inbound_edges) {
        return ff::fail(
            ErrorCode::flow_limit_exceeded,
            "at most " + std::to_string(limits.inbound_edges) + " edges may lead to the caller");
    }
    GraphEdit edit(view, ctx);
    Flow& flow = edit.change_flow(found->id);
    auto names = make_graph(edit, view, command.graph, flow, &caller->id, ctx);
    if (!names) {
        return std::move(names).error();
    }
    const std::uint64_t revision = flow.graph_revision;
    return {SpawnResult{std::move(*names), revision}, edit.take()};
}

}  // namespace ff::core
