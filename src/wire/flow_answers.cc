// Writing the answers of flows. Those of older routes have exactly the members of spec 03 and 07.
#include <utility>

#include "wire/answer_out.h"
#include "wire/flow_records.h"

namespace ff::wire {

// ----------------------------------------------------------------------------- building a graph

template <>
Answer write_answer<CreateFlow>(const CreateFlowResult& result) {
    return result.created ? tagged_field("Created", "flow_id", result.flow_id, 201)
                          : tagged_field("AlreadySatisfied", "flow_id", result.flow_id);
}

template <>
Answer write_answer<SubmitFlow>(const SubmitFlowResult& result) {
    return result.created ? tagged("Created", result, 201) : tagged("AlreadySatisfied", result);
}

template <>
Answer write_answer<AddExecutionToFlow>(const AddMemberResult& result) {
    std::string out;
    ObjectOut object(out);
    object.key(result.added ? "Added" : "AlreadyMember");
    ObjectOut inner(out);
    inner.field("execution_id", result.execution_id);
    inner.field(result.added ? "new_node_count" : "node_count", result.node_count);
    inner.close();
    object.close();
    Answer answer = ok(std::move(out));
    answer.status = result.added ? 201 : 200;
    return answer;
}

template <>
Answer write_answer<StageDependencyEdge>(const StageEdgeResult& result) {
    return tagged("Staged", result, 201);
}

template <>
Answer write_answer<SetEdgeGroupPolicy>(const SetPolicyResult& result) {
    return ok(result.set ? "\"Set\"" : "\"AlreadySet\"");
}

template <>
Answer write_answer<ApplyDependency>(const ApplyResult& result) {
    return result.applied ? tagged_field("Applied", "unsatisfied_count", result.unsatisfied_count)
                          : ok("\"AlreadyApplied\"");
}

template <>
Answer write_answer<ApplyAllDependencies>(const ApplyAllResult& result) {
    return tagged("AppliedAll", result);
}

template <>
Answer write_answer<SpawnChildren>(const SpawnResult& result) {
    return tagged("Spawned", result, 201);
}

// --------------------------------------------------------------------------- changing its course

template <>
Answer write_answer<SealFlow>(const FlowStateResult& result) {
    return tagged("Sealed", result);
}

template <>
Answer write_answer<PauseFlow>(const FlowStateResult& result) {
    return tagged("Paused", result);
}

template <>
Answer write_answer<ResumeFlow>(const FlowStateResult& result) {
    return tagged("Resumed", result);
}

Answer write_cancelled(const CancelFlowResult& result, CancelForm form) {
    std::string out;
    ObjectOut object(out);
    object.key(result.scheduled ? "CancellationScheduled" : "Cancelled");
    ObjectOut inner(out);
    inner.field("cancellation_policy", result.cancellation_policy);
    if (result.scheduled || form == CancelForm::whole) {
        inner.field("member_count", result.member_count);
    }
    inner.field("member_execution_ids", result.member_execution_ids);
    if (form == CancelForm::whole) {
        inner.field("already_terminal", result.already_terminal);
    }
    inner.close();
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<CancelFlow>(const CancelFlowResult& result) {
    return write_cancelled(result, CancelForm::compatible);
}

template <>
Answer write_answer<CancelFlowHeader>(const CancelFlowHeaderResult& result) {
    std::string out;
    ObjectOut object(out);
    object.key(result.already_terminal ? "AlreadyTerminal" : "Cancelled");
    ObjectOut inner(out);
    const std::string_view stored = result.already_terminal ? "stored_" : "";
    inner.field(std::string(stored) + "cancellation_policy", result.cancellation_policy);
    inner.field(std::string(stored) + "cancel_reason", result.cancel_reason);
    inner.field("member_execution_ids", result.member_execution_ids);
    inner.close();
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<AckCancelMember>(const Done&) {
    return ok("\"Acknowledged\"");
}

template <>
Answer write_answer<RetryFlow>(const RetryFlowResult& result) {
    return tagged("Retried", result);
}

template <>
Answer write_answer<ResolveDependency>(const ResolveResult& result) {
    switch (result.outcome) {
        case ResolveOutcome::satisfied: return tagged("Satisfied", result);
        case ResolveOutcome::impossible: return tagged("Impossible", result);
        case ResolveOutcome::already_resolved: break;
    }
    return tagged("AlreadyResolved", result);
}

template <>
Answer write_answer<PromoteExecution>(const Done&) {
    return ok("\"Promoted\"");
}

template <>
Answer write_answer<SetFlowTags>(const CountResult& result) {
    return tagged_field("Ok", "count", result.count);
}

template <>
Answer write_answer<RemoveFlowTag>(const CountResult& result) {
    return tagged_field("Ok", "count", result.count);
}

// ----------------------------------------------------------------------------------------- reads
// What is absent is answered by its route.

template <>
Answer write_answer<DescribeFlow>(const std::optional<FlowSnapshot>& flow) {
    return plain(*flow);
}

template <>
Answer write_answer<DescribeEdge>(const std::optional<EdgeSnapshot>& edge) {
    return plain(*edge);
}

template <>
Answer write_answer<GetFlowTag>(const std::optional<std::string>& value) {
    return one_field("value", *value);
}

template <>
Answer write_answer<ListFlows>(const FlowPage& found) {
    return page(found.flows,
                found.next_cursor ? std::optional(found.next_cursor->to_string()) : std::nullopt);
}

template <>
Answer write_answer<ListFlowMembers>(const MemberPage& found) {
    return page(found.members,
                found.next_cursor ? std::optional(found.next_cursor->to_string()) : std::nullopt);
}

void write_edges(std::string& out, const std::vector<EdgeSnapshot>& edges) {
    write_objects(out, edges);
}

template <>
Answer write_answer<ListEdges>(const std::vector<EdgeSnapshot>& edges) {
    return page(edges, std::nullopt);
}

template <>
Answer write_answer<ReadFlowSummary>(const FlowSummary& summary) {
    return plain(summary);
}

template <>
Answer write_answer<EvaluateEligibility>(const EligibilityResult& result) {
    return tagged("Status", result);
}

Answer write_inputs(const InputsResult& found, InputsForm form) {
    if (form == InputsForm::rows) {
        return page(found.inputs, std::nullopt);
    }
    std::string out;
    ObjectOut object(out);
    object.key("inputs");
    out.push_back('{');
    bool first = true;
    for (std::size_t i = 0; i < found.inputs.size(); ++i) {
        // Several edges may pass on under one name, which stands once in an object: the last wins.
        if (i + 1 < found.inputs.size() && found.inputs[i].name == found.inputs[i + 1].name) {
            continue;
        }
        out += std::exchange(first, false) ? "" : ",";
        write(out, found.inputs[i].name);
        out.push_back(':');
        write_input_value(out, found.inputs[i]);
    }
    out.push_back('}');
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<ReadInputs>(const InputsResult& found) {
    return write_inputs(found, InputsForm::values);
}

template <>
Answer write_answer<ReadFlowGraph>(const FlowGraph& graph) {
    return plain(graph);
}

}  // namespace ff::wire
