// What a client does with flows.
#include <utility>

#include <ff/client.h>

#include "client/wait.h"

namespace ff {

namespace {

/// Somebody else has changed the graph each time: then it is time to say so.
constexpr int revision_tries = 5;

}  // namespace

const ExecutionId& SubmittedFlow::node(const std::string& name) const {
    const auto found = result_.nodes.find(name);
    if (found == result_.nodes.end()) {
        throw Exception({ErrorCode::invalid_input, "the flow has no node " + name, {}});
    }
    return found->second;
}

// ---------------------------------------------------------------------------------------- making

expected<SubmittedFlow> Client::try_submit(const FlowBuilder& graph) {
    FF_TRY(SubmitFlow op, graph.build(*options_.clock, options_.ns));
    for (FlowNode& node : op.nodes) {
        if (node.execution.creator_identity.empty()) {
            node.execution.creator_identity = options_.creator;
        }
    }
    // The id is made here, not by the engine: with it the call may be repeated after a lost answer.
    const bool minted = !op.flow_id.has_value();
    if (minted) {
        op.flow_id = FlowId{new_uuid()};
    }
    FF_TRY(SubmitFlowResult result, engine_->run(std::move(op)));
    result.created = result.created || minted;  // nobody else has this id
    return SubmittedFlow(std::move(result));
}

expected<FlowId> Client::try_create_flow(const std::string& kind, const FlowSettings& settings) {
    FF_TRY(const CreateFlowResult made,
           engine_->run(CreateFlow{FlowId{new_uuid()}, kind, options_.ns, settings}));
    return made.flow_id;
}

expected<Submitted> Client::try_submit_to(const FlowId& flow, const Submit& request) {
    FF_TRY(CreateExecution op, prepare(request));
    FF_TRY(const PartitionCounts counts, partitions());
    op.execution_id = ExecutionId::for_flow(flow, counts, op.execution_id->uuid);
    const ExecutionId minted = *op.execution_id;
    FF_TRY(Submitted made, submitted(request, minted, engine_->run(std::move(op))));
    FF_TRY_VOID(engine_->run(AddExecutionToFlow{flow, made.id()}));
    return made;
}

expected<EdgeId> Client::try_add_edge(const FlowId& flow, const ExecutionId& upstream,
                                      const ExecutionId& downstream, const EdgeOptions& options) {
    StageDependencyEdge op;
    op.flow_id = flow;
    op.edge_id = EdgeId{new_uuid()};
    op.upstream_execution_id = upstream;
    op.downstream_execution_id = downstream;
    op.dependency_kind = options.dependency_kind;
    op.data_passing_ref = options.data_passing_ref;
    op.when = options.when;
    for (int tried = 1;; ++tried) {
        FF_TRY(const auto found, engine_->run(DescribeFlow{flow}));
        if (!found) {
            return ff::fail(ErrorCode::flow_not_found, "flow not found: " + flow.to_string());
        }
        op.expected_graph_revision = found->graph_revision;
        const auto staged = engine_->run(op);
        // Nobody else has this id: an edge that exists is an earlier try of this very call.
        if (staged || staged.error().code == ErrorCode::dependency_already_exists) {
            break;
        }
        if (staged.error().code != ErrorCode::stale_graph_revision || tried == revision_tries) {
            return std::unexpected(staged.error());
        }
    }
    FF_TRY_VOID(engine_->run(ApplyDependency{flow, *op.edge_id, upstream, downstream}));
    return *op.edge_id;
}

expected<SetPolicyResult> Client::try_set_edge_group_policy(const FlowId& flow,
                                                            const ExecutionId& downstream,
                                                            const GroupPolicy& policy) {
    return engine_->run(SetEdgeGroupPolicy{flow, downstream, policy});
}

// ---------------------------------------------------------------------------------------- course

expected<FlowStateResult> Client::try_seal_flow(const FlowId& id) {
    return engine_->run(SealFlow{id});
}

expected<FlowStateResult> Client::try_pause_flow(const FlowId& id) {
    return engine_->run(PauseFlow{id});
}

expected<FlowStateResult> Client::try_resume_flow(const FlowId& id) {
    return engine_->run(ResumeFlow{id});
}

expected<CancelFlowResult> Client::try_cancel_flow(const CancelFlow& op,
                                                   std::chrono::milliseconds wait) {
    FF_TRY(CancelFlowResult result, engine_->run(op));
    if (wait.count() > 0 && (result.scheduled || result.already_terminal)) {
        FF_TRY_VOID(client::await_cancel(*engine_, op.flow_id, result.cancellation_policy, wait));
        result.scheduled = false;
    }
    return result;
}

expected<RetryFlowResult> Client::try_retry_flow(const RetryFlow& op) { return engine_->run(op); }

// ----------------------------------------------------------------------------------------- reads

expected<std::optional<FlowSnapshot>> Client::try_inspect_flow(const FlowId& id) {
    return engine_->run(DescribeFlow{id});
}

expected<FlowSnapshot> Client::try_wait_flow(const FlowId& id, std::chrono::milliseconds timeout) {
    return client::await_flow_end(*engine_, id, timeout);
}

expected<FlowSummary> Client::try_flow_summary(const FlowId& id) {
    return engine_->run(ReadFlowSummary{id});
}

expected<FlowGraph> Client::try_flow_graph(const FlowId& id) {
    return engine_->run(ReadFlowGraph{id});
}

expected<std::vector<EdgeSnapshot>> Client::try_flow_edges(const ListEdges& op) {
    return engine_->run(op);
}

expected<CountResult> Client::try_set_flow_tags(const FlowId& id, const Tags& tags) {
    return engine_->run(SetFlowTags{id, tags});
}

expected<Inputs> Client::try_inputs(const ExecutionId& id) {
    FF_TRY(InputsResult found, engine_->run(ReadInputs{id}));
    return Inputs(std::move(found.inputs));
}

Listing<FlowListItem> Client::flows(ListFlows filter) {
    if (!filter.ns) {
        filter.ns = options_.ns;
    }
    using Page = Listing<FlowListItem>::Page;
    return Listing<FlowListItem>(
        [engine = engine_, next = std::move(filter)]() mutable -> expected<Page> {
            FF_TRY(auto page, engine->run(next));
            next.cursor = page.next_cursor;
            return Page{std::move(page.flows), next.cursor.has_value()};
        });
}

Listing<FlowMember> Client::flow_members(const FlowId& flow, std::optional<PublicState> state) {
    ListFlowMembers first;
    first.flow_id = flow;
    first.state = state;
    using Page = Listing<FlowMember>::Page;
    return Listing<FlowMember>([engine = engine_, next = first]() mutable -> expected<Page> {
        FF_TRY(auto page, engine->run(next));
        next.cursor = page.next_cursor;
        return Page{std::move(page.members), next.cursor.has_value()};
    });
}

}  // namespace ff
