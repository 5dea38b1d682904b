// Building a flow step by step: create, add members, stage and apply edges, policies. The checks of
// each run in the order of spec 03.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <ff/json.h>

#include "core/decide.h"
#include "core/flow_checks.h"
#include "core/flow_rules.h"
#include "core/graph_edit.h"
#include "core/json_path.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

Error already_terminal(const Flow& flow) {
    return Error{ErrorCode::flow_already_terminal,
                 "flow " + flow.id.to_string() + " is " + std::string(to_string(flow.state)),
                 {}};
}

expected<const Flow*> open_flow(const Snapshot& view, const FlowId& id) {
    const Flow* flow = view.flow(id);
    if (flow == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    if (flow->state != FlowState::open) {
        return std::unexpected(already_terminal(*flow));
    }
    return flow;
}

namespace {

constexpr std::size_t flow_kind_bytes_max = 256;
constexpr std::size_t data_passing_ref_bytes_max = 1'024;
constexpr std::size_t condition_bytes_max = 1'024;
constexpr std::uint32_t quorum_k_max = 2'147'483'647;

void need_flow(const Snapshot& view, const FlowId& id, ReadSet& set) {
    if (!view.knows_flow(id)) {
        set.flows.push_back(id);
    }
}

/// open_flow() for what a seal forbids.
expected<const Flow*> unsealed_flow(const Snapshot& view, const FlowId& id) {
    FF_TRY(const Flow* flow, open_flow(view, id));
    if (flow->sealed) {
        return ff::fail(ErrorCode::flow_already_terminal,
                        "flow " + id.to_string() + " is sealed: it takes no more members or edges");
    }
    return flow;
}

bool is_member(const Snapshot& view, const FlowId& flow, const ExecutionId& id) {
    const Execution* e = view.execution(id);
    return e != nullptr && e->flow_id == flow;
}

}  // namespace

expected<void> check_edge_texts(std::string_view data_passing_ref, std::string_view when,
                                DependencyKind kind) {
    FF_TRY_VOID(check_reason("data_passing_ref", data_passing_ref, data_passing_ref_bytes_max));
    FF_TRY_VOID(DataPassing::parse(data_passing_ref));
    FF_TRY_VOID(check_reason("when", when, condition_bytes_max));
    if (!when.empty()) {
        FF_TRY_VOID(Condition::parse("when", when));
        if (kind != DependencyKind::success_only) {
            return ff::fail(ErrorCode::invalid_input,
                            "when: looks at a result, so it goes with success_only");
        }
    }
    return {};
}

expected<void> check_group_policy(const GroupPolicy& policy) {
    if (policy.kind == GroupPolicyKind::quorum && policy.k < 1) {
        return ff::fail(ErrorCode::invalid_input, "quorum k must be >= 1");
    }
    if (policy.kind == GroupPolicyKind::quorum && policy.k > quorum_k_max) {
        return ff::fail(ErrorCode::invalid_input, "quorum k exceeds supported maximum");
    }
    return {};
}

expected<void> check_flow_labels(std::string_view flow_kind, std::string_view ns,
                                 const FlowSettings& settings) {
    FF_TRY_VOID(check_label("flow_kind", flow_kind, 1, flow_kind_bytes_max));
    FF_TRY_VOID(check_namespace("namespace", ns));
    if (settings.deadline_at && *settings.deadline_at < 0) {
        return ff::fail(ErrorCode::invalid_input, "deadline_at: must not be negative");
    }
    return {};
}

Flow new_flow(const FlowId& id, std::string kind, std::string ns, const FlowSettings& settings,
              const Context& ctx) {
    Flow flow;
    flow.id = id;
    flow.partition = partition_of(id.uuid, ctx.settings.partitions.flow);
    flow.kind = std::move(kind);
    flow.ns = std::move(ns);
    flow.deadline_at = settings.deadline_at;
    flow.on_member_failure = settings.on_member_failure;
    flow.max_active_members = settings.max_active_members;
    flow.created_at = ctx.now;
    flow.last_mutation_at = ctx.now;
    return flow;
}

// -------------------------------------------------------------------------------------- create

expected<void> validate(CreateFlow& args) {
    if (!args.flow_id) {
        return ff::fail(ErrorCode::internal, "create_flow without an id");  // minted by the engine
    }
    return check_flow_labels(args.flow_kind, args.ns, args.settings);
}

void need_limits_of_flow(const FlowId& id, ReadSet& set) {
    set.limits.targets.push_back({LimitTarget::flow, id.to_string()});
}

bool is_limited(const Snapshot& view, const FlowId& id) {
    return !view.limits.attached_to({LimitTarget::flow, id.to_string()}).empty();
}

void reads(const CreateFlow& args, ReadSet& set) {
    set.flows.push_back(*args.flow_id);
    need_limits_of_flow(*args.flow_id, set);
}

Decision<CreateFlowResult> decide(const Snapshot& view, const CreateFlow& args,
                                  const Context& ctx) {
    if (const Flow* found = view.flow(*args.flow_id)) {
        if (found->ns != args.ns || found->kind != args.flow_kind) {
            return ff::fail(ErrorCode::flow_already_exists, "flow " + found->id.to_string() +
                                                                " is of kind " + found->kind +
                                                                " in namespace " + found->ns);
        }
        return CreateFlowResult{false, found->id};
    }
    Changes changes;
    Flow flow = new_flow(*args.flow_id, args.flow_kind, args.ns, args.settings, ctx);
    flow.limited = is_limited(view, flow.id);
    changes.put_flows.push_back(std::move(flow));
    return {CreateFlowResult{true, *args.flow_id}, std::move(changes)};
}

// ----------------------------------------------------------------------------------------- add

void reads(const AddExecutionToFlow& args, ReadSet& set) {
    set.need(args.execution_id);
    set.flows.push_back(args.flow_id);
}

void reads_more(const Snapshot&, const AddExecutionToFlow&, ReadSet&) {}

Decision<AddMemberResult> decide(const Snapshot& view, const AddExecutionToFlow& args,
                                 const Context& ctx) {
    const Flow* found = view.flow(args.flow_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::flow_not_found);
    }
    const std::uint16_t partition = partition_of(args.flow_id.uuid, ctx.settings.partitions.flow);
    if (args.execution_id.partition != partition) {
        return ff::fail(ErrorCode::invalid_input,
                        "partition mismatch: the flow has index " + std::to_string(partition) +
                            ", the execution " + std::to_string(args.execution_id.partition));
    }
    if (found->state != FlowState::open) {
        return already_terminal(*found);
    }
    const Execution* member = view.execution(args.execution_id);
    if (member == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (member->flow_id == args.flow_id) {
        return AddMemberResult{false, member->id, found->node_count};
    }
    if (member->flow_id) {
        return ff::fail(ErrorCode::execution_already_in_flow,
                        "already_member_of_different_flow:" + member->flow_id->to_string());
    }
    if (auto open = unsealed_flow(view, args.flow_id); !open) {
        return std::move(open).error();
    }
    if (const std::string& ns = view.route(member->route).key.ns; ns != found->ns) {
        return ff::fail(ErrorCode::namespace_mismatch,
                        "the execution is of namespace " + ns + ", the flow of " + found->ns);
    }
    if (found->node_count >= ctx.settings.flows.members) {
        return ff::fail(
            ErrorCode::flow_limit_exceeded,
            "a flow has at most " + std::to_string(ctx.settings.flows.members) + " members");
    }
    GraphEdit edit(view, ctx);
    Flow& flow = edit.change_flow(args.flow_id);
    flow.node_count += 1;
    flow.graph_revision += 1;
    flow.last_mutation_at = ctx.now;
    Execution& e = edit.change_execution(args.execution_id);
    e.flow_id = args.flow_id;
    e.last_mutation_at = ctx.now;
    if (!is_terminal(e.state)) {
        flow.live += 1;
    } else if (is_bad_end(e)) {
        flow.bad += 1;
    }
    const std::uint64_t nodes = flow.node_count;
    return {AddMemberResult{true, args.execution_id, nodes}, edit.take()};
}

// --------------------------------------------------------------------------------------- stage

expected<void> validate(StageDependencyEdge& args) {
    if (args.upstream_execution_id == args.downstream_execution_id) {
        return ff::fail(ErrorCode::self_referencing_edge, args.upstream_execution_id.to_string());
    }
    return check_edge_texts(args.data_passing_ref, args.when, args.dependency_kind);
}

void reads(const StageDependencyEdge& args, ReadSet& set) {
    set.need(args.upstream_execution_id);
    set.need(args.downstream_execution_id);
    set.flows.push_back(args.flow_id);
    set.edges.push_back({args.flow_id, *args.edge_id});
    set.groups.emplace_back(args.flow_id, args.downstream_execution_id);
}

namespace {

/// The edge as it is stored goes with the refusal: whoever repeats a call sees that it was done.
Error already_staged(const Edge& edge) {
    const auto time = [](const std::optional<TimestampMs>& at) {
        return at ? std::to_string(*at) : std::string();
    };
    return {ErrorCode::dependency_already_exists,
            "edge " + edge.key.id.to_string() + " is staged already",
            {{"edge_id", edge.key.id.to_string()},
             {"flow_id", edge.key.flow.to_string()},
             {"upstream_execution_id", edge.upstream.to_string()},
             {"downstream_execution_id", edge.downstream.to_string()},
             {"dependency_kind", std::string(to_string(edge.kind))},
             {"satisfaction_condition", "all_required"},
             {"data_passing_ref", edge.data_passing_ref.value_or("")},
             {"edge_state", std::string(to_string(edge.state))},
             {"created_at", std::to_string(edge.created_at)},
             {"created_by", "engine"},
             {"dependency_state",
              edge.dependency ? std::string(to_string(*edge.dependency)) : std::string()},
             {"resolved_at", time(edge.resolved_at)}}};
}

/// Walks from the downstream along the edges that are known.
struct CycleSearch {
    bool found = false;
    std::size_t visited = 0;
    std::size_t layers = 0;            ///< how many edges away the last one visited is
    std::vector<ExecutionId> unknown;  ///< nodes whose edges must be read to go on
};

/// Each search begins anew, with one layer more: past this many all edges are read at once.
constexpr std::size_t layers_one_by_one = 4;

CycleSearch search_cycle(const Snapshot& view, const StageDependencyEdge& args,
                         std::size_t visited_max) {
    const bool knows_all = view.knows_edges_of(args.flow_id);
    std::map<ExecutionId, std::vector<ExecutionId>> next;
    if (knows_all) {
        for (const Edge* edge : view.edges_of(args.flow_id)) {
            next[edge->upstream].push_back(edge->downstream);
        }
    }
    CycleSearch search;
    std::set<ExecutionId> seen{args.downstream_execution_id};
    std::deque<std::pair<ExecutionId, std::size_t>> open{{args.downstream_execution_id, 1}};
    while (!open.empty() && search.visited <= visited_max) {
        const auto [node, layer] = open.front();
        open.pop_front();
        search.visited += 1;
        search.layers = layer;
        if (node == args.upstream_execution_id) {
            search.found = true;
            return search;
        }
        if (!knows_all && !view.knows_outbound(node)) {
            search.unknown.push_back(node);
            continue;
        }
        if (!knows_all) {
            for (const Edge* edge : view.outbound(node)) {
                next[node].push_back(edge->downstream);
            }
        }
        for (const ExecutionId& child : next[node]) {
            if (seen.insert(child).second) {
                open.emplace_back(child, layer + 1);
            }
        }
    }
    return search;
}

/// What is refused before anybody looks for a cycle.
expected<const Flow*> check_stage(const Snapshot& view, const StageDependencyEdge& args) {
    FF_TRY(const Flow* flow, open_flow(view, args.flow_id));
    if (const Edge* stored = view.edge({args.flow_id, *args.edge_id})) {
        return std::unexpected(already_staged(*stored));
    }
    FF_TRY_VOID(unsealed_flow(view, args.flow_id));
    if (flow->graph_revision != args.expected_graph_revision) {
        return ff::fail(ErrorCode::stale_graph_revision,
                        "StaleGraphRevision: expected " +
                            std::to_string(args.expected_graph_revision) + ", it is " +
                            std::to_string(flow->graph_revision));
    }
    for (const ExecutionId* end : {&args.upstream_execution_id, &args.downstream_execution_id}) {
        if (!is_member(view, args.flow_id, *end)) {
            return ff::fail(ErrorCode::execution_not_in_flow, end->to_string());
        }
    }
    return flow;
}

}  // namespace

void reads_more(const Snapshot& view, const StageDependencyEdge& args, ReadSet& set) {
    if (!check_stage(view, args)) {
        return;
    }
    auto search = search_cycle(view, args, std::numeric_limits<std::size_t>::max());
    if (search.found || search.unknown.empty()) {
        return;
    }
    if (search.layers > layers_one_by_one) {
        set.edges_of_flows.push_back(args.flow_id);
    } else {
        set.outbound = std::move(search.unknown);
    }
}

Decision<StageEdgeResult> decide(const Snapshot& view, const StageDependencyEdge& args,
                                 const Context& ctx) {
    const FlowLimits& limits = ctx.settings.flows;
    const auto flow = check_stage(view, args);
    if (!flow) {
        return flow.error();
    }
    const EdgeKey key{args.flow_id, *args.edge_id};
    const CycleSearch search = search_cycle(view, args, limits.visited_nodes);
    if (search.found) {
        return ff::fail(ErrorCode::cycle_detected,
                        args.downstream_execution_id.to_string() + " leads to " +
                            args.upstream_execution_id.to_string() + " already");
    }
    if (search.visited > limits.visited_nodes) {
        return ff::fail(ErrorCode::graph_too_large, "more than " +
                                                        std::to_string(limits.visited_nodes) +
                                                        " nodes lie behind the downstream");
    }
    if (is_terminal(view.execution(args.downstream_execution_id)->state)) {
        return ff::fail(ErrorCode::downstream_already_terminal,
                        args.downstream_execution_id.to_string());
    }
    const EdgeGroup* group = view.group(args.downstream_execution_id);
    if ((*flow)->edge_count >= limits.edges ||
        (group != nullptr && group->staged >= limits.inbound_edges)) {
        return ff::fail(ErrorCode::flow_limit_exceeded,
                        "at most " + std::to_string(limits.edges) + " edges in a flow and " +
                            std::to_string(limits.inbound_edges) + " into one execution");
    }
    GraphEdit edit(view, ctx);
    Edge edge;
    edge.key = key;
    edge.upstream = args.upstream_execution_id;
    edge.downstream = args.downstream_execution_id;
    edge.kind = args.dependency_kind;
    edge.data_passing_ref = non_empty(args.data_passing_ref);
    edge.when = non_empty(args.when);
    edge.created_at = ctx.now;
    edit.add(std::move(edge));
    edit.change_group(args.flow_id, args.downstream_execution_id).staged += 1;
    Flow& changed = edit.change_flow(args.flow_id);
    changed.edge_count += 1;
    changed.graph_revision += 1;
    changed.last_mutation_at = ctx.now;
    const std::uint64_t revision = changed.graph_revision;
    return {StageEdgeResult{key.id, revision}, edit.take()};
}

// -------------------------------------------------------------------------------------- policy

expected<void> validate(SetEdgeGroupPolicy& args) { return check_group_policy(args.policy); }

void reads(const SetEdgeGroupPolicy& args, ReadSet& set) {
    set.need(args.downstream_execution_id);
    set.flows.push_back(args.flow_id);
    set.groups.emplace_back(args.flow_id, args.downstream_execution_id);
}

void reads_more(const Snapshot&, const SetEdgeGroupPolicy&, ReadSet&) {}

void set_policy(EdgeGroup& group, const GroupPolicy& policy) {
    group.policy = policy.kind;
    group.k = policy.kind == GroupPolicyKind::quorum ? policy.k : 1;
    group.on_satisfied =
        policy.kind == GroupPolicyKind::all_of ? OnSatisfied::let_run : policy.on_satisfied;
    group.force_cancel_shared = policy.force_cancel_shared;
}

namespace {

LogEvent policy_event(const Flow& flow, const EdgeGroup& group, TimestampMs now) {
    return flow_event(
        flow, LogFamily::operator_, "edge_group_policy_set",
        js::dump(js::Object{{"downstream_execution_id", group.downstream.to_string()},
                            {"policy", std::string(to_string(group.policy))},
                            {"k", static_cast<std::uint64_t>(group.k)},
                            {"on_satisfied", std::string(to_string(group.on_satisfied))}}),
        now);
}

}  // namespace

Decision<SetPolicyResult> decide(const Snapshot& view, const SetEdgeGroupPolicy& args,
                                 const Context& ctx) {
    const auto flow = open_flow(view, args.flow_id);
    if (!flow) {
        return flow.error();
    }
    if (!is_member(view, args.flow_id, args.downstream_execution_id)) {
        return ff::fail(ErrorCode::execution_not_in_flow, args.downstream_execution_id.to_string());
    }
    const EdgeGroup* stored = view.group(args.downstream_execution_id);
    if (stored != nullptr && stored->staged > 0) {
        return ff::fail(ErrorCode::edge_group_policy_already_fixed, "dependencies already staged");
    }
    EdgeGroup wanted;
    set_policy(wanted, args.policy);
    if (stored != nullptr && policy_of(*stored) == policy_of(wanted)) {
        return SetPolicyResult{false};
    }
    GraphEdit edit(view, ctx);
    EdgeGroup& group = edit.change_group(args.flow_id, args.downstream_execution_id);
    set_policy(group, args.policy);
    edit.changes().flow_tally.set(group.policy);
    edit.changes().log_events.push_back(policy_event(**flow, group, ctx.now));
    return {SetPolicyResult{true}, edit.take()};
}

// --------------------------------------------------------------------------------------- apply

namespace {

/// Marks one staged edge applied. A child that runs waits for it like for those it spawned, though
/// all that it waited for before it began have succeeded.
void apply_edge(GraphEdit& edit, const Edge& staged, const Context& ctx) {
    Edge& edge = edit.change_edge(staged.key);
    edge.state = EdgeState::applied;
    edge.applied_at = ctx.now;
    edge.dependency = DependencyState::unsatisfied;
    EdgeGroup& group = edit.change_group(staged.key.flow, staged.downstream);
    group.applied += 1;
    const Execution* child = edit.execution(staged.downstream);
    const bool has_begun = child != nullptr && (child->state.phase == LifecyclePhase::active ||
                                                child->state.phase == LifecyclePhase::suspended);
    if (has_begun && group.policy == GroupPolicyKind::all_of &&
        group.state == GroupState::satisfied) {
        group.state = GroupState::pending;
        group.satisfied_at.reset();
    }
}

std::uint64_t unresolved(const EdgeGroup& group) { return group.applied - group.resolved(); }

/// After edges to a child were applied: it waits, and what is known already is resolved.
expected<void> bite(GraphEdit& edit, const std::vector<const Edge*>& edges) {
    for (const Edge* edge : edges) {
        const EdgeGroup* group = edit.group(edge->downstream);
        if (group->state == GroupState::pending) {
            edit.block(edge->downstream, std::to_string(unresolved(*group)) +
                                             " dep(s) unresolved incl " + edge->key.id.to_string());
        }
        const Execution* upstream = edit.execution(edge->upstream);
        if (upstream != nullptr && is_terminal(upstream->state)) {
            FF_TRY_VOID(edit.resolve(edge->key, upstream->state.outcome));
        }
    }
    return {};
}

/// What applying an edge must see; it may be resolved at once.
void need_application(const Snapshot& view, const Edge& edge, ReadSet& set) {
    need_member(view, edge.upstream, InputNeed::none, set);
    need_member(view, edge.downstream,
                edge.data_passing_ref ? InputNeed::always : InputNeed::if_tagged, set);
    if (!view.knows_group(edge.downstream)) {
        set.groups.emplace_back(edge.key.flow, edge.downstream);
    }
}

}  // namespace

void reads(const ApplyDependency& args, ReadSet& set) {
    set.need(args.upstream_execution_id).attempt = true;
    set.need(args.downstream_execution_id, InputNeed::always).attempt = true;
    set.flows.push_back(args.flow_id);
    set.edges.push_back({args.flow_id, args.edge_id});
    set.groups.emplace_back(args.flow_id, args.downstream_execution_id);
}

void reads_more(const Snapshot& view, const ApplyDependency& args, ReadSet& set) {
    const Edge* edge = view.edge({args.flow_id, args.edge_id});
    if (edge != nullptr) {
        need_application(view, *edge, set);
    }
}

Decision<ApplyResult> decide(const Snapshot& view, const ApplyDependency& args,
                             const Context& ctx) {
    const Flow* flow = view.flow(args.flow_id);
    const Edge* edge = flow != nullptr ? view.edge({args.flow_id, args.edge_id}) : nullptr;
    if (edge == nullptr) {
        return ff::fail(ErrorCode::edge_not_found);
    }
    if (edge->upstream != args.upstream_execution_id ||
        edge->downstream != args.downstream_execution_id) {
        return ff::fail(ErrorCode::edge_endpoint_mismatch, "the edge leads from " +
                                                               edge->upstream.to_string() + " to " +
                                                               edge->downstream.to_string());
    }
    const Execution* child = view.execution(edge->downstream);
    if (child == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (child->flow_id && child->flow_id != args.flow_id) {
        return ff::fail(ErrorCode::execution_already_in_flow,
                        "already_member_of_different_flow:" + child->flow_id->to_string());
    }
    if (flow->state != FlowState::open) {
        return already_terminal(*flow);
    }
    if (edge->state == EdgeState::applied) {
        const EdgeGroup* group = view.group(edge->downstream);
        return ApplyResult{false, group != nullptr ? unresolved(*group) : 0};
    }
    GraphEdit edit(view, ctx);
    apply_edge(edit, *edge, ctx);
    const std::uint64_t count = unresolved(*edit.group(edge->downstream));
    if (auto ok = bite(edit, {edge}); !ok) {
        return std::move(ok).error();
    }
    return {ApplyResult{true, count}, edit.take()};
}

void reads(const ApplyAllDependencies& args, ReadSet& set) {
    set.flows.push_back(args.flow_id);
    set.edges_of_flows.push_back(args.flow_id);
}

void reads_more(const Snapshot& view, const ApplyAllDependencies& args, ReadSet& set) {
    for (const Edge* edge : view.edges_of(args.flow_id)) {
        if (edge->state == EdgeState::pending) {
            need_application(view, *edge, set);
        }
    }
}

Decision<ApplyAllResult> decide(const Snapshot& view, const ApplyAllDependencies& args,
                                const Context& ctx) {
    if (auto flow = open_flow(view, args.flow_id); !flow) {
        return std::move(flow).error();
    }
    std::vector<const Edge*> staged;
    std::set<ExecutionId> groups;
    GraphEdit edit(view, ctx);
    for (const Edge* edge : view.edges_of(args.flow_id)) {
        if (edge->state == EdgeState::pending) {
            staged.push_back(edge);
            groups.insert(edge->downstream);
            apply_edge(edit, *edge, ctx);
        }
    }
    if (auto ok = bite(edit, staged); !ok) {
        return std::move(ok).error();
    }
    return {ApplyAllResult{staged.size(), groups.size()}, edit.take()};
}

// ------------------------------------------------------------------------------ resolve, promote

expected<void> validate(ResolveDependency& args) {
    const auto outcome = parse_enum<TerminalOutcome>(args.upstream_outcome);
    if (!outcome || *outcome == TerminalOutcome::none) {
        return ff::fail(ErrorCode::invalid_dependency,
                        "upstream_outcome is success, failed, cancelled, expired or skipped: `" +
                            args.upstream_outcome + "`");
    }
    return {};
}

void reads(const ResolveDependency& args, ReadSet& set) {
    set.flows.push_back(args.flow_id);
    set.edges.push_back({args.flow_id, args.edge_id});
}

void reads_more(const Snapshot& view, const ResolveDependency& args, ReadSet& set) {
    if (const Edge* edge = view.edge({args.flow_id, args.edge_id})) {
        need_resolution(view, *edge, *parse_enum<TerminalOutcome>(args.upstream_outcome), 1, set);
    }
}

Decision<ResolveResult> decide(const Snapshot& view, const ResolveDependency& args,
                               const Context& ctx) {
    if (view.flow(args.flow_id) == nullptr || view.edge({args.flow_id, args.edge_id}) == nullptr) {
        return ff::fail(ErrorCode::invalid_dependency, "there is no such edge");
    }
    GraphEdit edit(view, ctx);
    auto resolved = edit.resolve({args.flow_id, args.edge_id},
                                 *parse_enum<TerminalOutcome>(args.upstream_outcome));
    if (!resolved) {
        return std::move(resolved).error();
    }
    return {*resolved, edit.take()};
}

void reads(const PromoteExecution& args, ReadSet& set) { set.need(args.execution_id); }

void reads_more(const Snapshot& view, const PromoteExecution& args, ReadSet& set) {
    const Execution* e = view.execution(args.execution_id);
    if (e != nullptr && e->flow_id) {
        need_flow(view, *e->flow_id, set);
        if (!view.knows_group(e->id)) {
            set.groups.emplace_back(*e->flow_id, e->id);
        }
    }
}

Decision<Done> decide(const Snapshot& view, const PromoteExecution& args, const Context& ctx) {
    const Execution* found = view.execution(args.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (is_terminal(found->state)) {
        return ff::fail(ErrorCode::terminal, std::string(to_string(found->public_state)));
    }
    if (found->state.phase != LifecyclePhase::runnable) {
        return ff::fail(ErrorCode::not_runnable, std::string(to_string(found->state.phase)));
    }
    if (found->state.eligibility != EligibilityState::blocked_by_dependencies) {
        return ff::fail(ErrorCode::not_blocked_by_deps,
                        std::string(to_string(found->state.eligibility)));
    }
    const EdgeGroup* group = found->flow_id ? view.group(found->id) : nullptr;
    if (group != nullptr && group->state == GroupState::pending && group->staged > 0 &&
        group->resolved() < group->staged) {
        const std::string open = std::to_string(group->staged - group->resolved());
        return Error{ErrorCode::deps_not_satisfied,
                     open + " of " + std::to_string(group->staged) + " edge(s) are unresolved",
                     {{"unsatisfied", open}, {"total", std::to_string(group->staged)}}};
    }
    GraphEdit edit(view, ctx);
    edit.release(found->id);
    return {Done{}, edit.take()};
}

}  // namespace ff::core
