#include "wire/flow_answers_in.h"

#include "wire/answer_in.h"
#include "wire/flow_records.h"
#include "wire/request_in.h"

namespace ff::wire {

namespace {

/// The cursor of a list whose cursors are ids.
template <class Id>
expected<std::optional<Id>> id_cursor_of(const json& body) {
    std::optional<Id> cursor;
    const auto text = next_cursor_of(body);
    if (text && !parse_text(*text, cursor.emplace()).empty()) {
        return std::unexpected(strange(": next_cursor"));
    }
    return cursor;
}

}  // namespace

expected<CreateFlowResult> result_of(const CreateFlow&, const json& body) {
    const json* created = body.find("Created");
    const json* inner = created != nullptr ? created : body.find("AlreadySatisfied");
    FF_TRY(const auto id, field_of<FlowId>(inner, "flow_id"));
    return CreateFlowResult{created != nullptr, id};
}

expected<SubmitFlowResult> result_of(const SubmitFlow&, const json& body) {
    const bool created = body.find("Created") != nullptr;
    FF_TRY(auto result,
           tagged_of<SubmitFlowResult>(body, created ? "Created" : "AlreadySatisfied"));
    result.created = created;
    return result;
}

expected<AddMemberResult> result_of(const AddExecutionToFlow&, const json& body) {
    const json* added = body.find("Added");
    const json* inner = added != nullptr ? added : body.find("AlreadyMember");
    AddMemberResult out;
    out.added = added != nullptr;
    FF_TRY(out.execution_id, field_of<ExecutionId>(inner, "execution_id"));
    FF_TRY(out.node_count,
           field_of<std::uint64_t>(inner, out.added ? "new_node_count" : "node_count"));
    return out;
}

expected<StageEdgeResult> result_of(const StageDependencyEdge&, const json& body) {
    return tagged_of<StageEdgeResult>(body, "Staged");
}

expected<SetPolicyResult> result_of(const SetEdgeGroupPolicy&, const json& body) {
    if (!is_word(body, "Set") && !is_word(body, "AlreadySet")) {
        return std::unexpected(strange(": expected Set or AlreadySet"));
    }
    return SetPolicyResult{is_word(body, "Set")};
}

expected<ApplyResult> result_of(const ApplyDependency&, const json& body) {
    if (is_word(body, "AlreadyApplied")) {
        return ApplyResult{};
    }
    FF_TRY(const auto count, field_of<std::uint64_t>(body.find("Applied"), "unsatisfied_count"));
    return ApplyResult{true, count};
}

expected<ApplyAllResult> result_of(const ApplyAllDependencies&, const json& body) {
    return tagged_of<ApplyAllResult>(body, "AppliedAll");
}
expected<SpawnResult> result_of(const SpawnChildren&, const json& body) {
    return tagged_of<SpawnResult>(body, "Spawned");
}
expected<FlowStateResult> result_of(const SealFlow&, const json& body) {
    return tagged_of<FlowStateResult>(body, "Sealed");
}
expected<FlowStateResult> result_of(const PauseFlow&, const json& body) {
    return tagged_of<FlowStateResult>(body, "Paused");
}
expected<FlowStateResult> result_of(const ResumeFlow&, const json& body) {
    return tagged_of<FlowStateResult>(body, "Resumed");
}

expected<CancelFlowResult> result_of(const CancelFlow&, const json& body) {
    const json* scheduled = body.find("CancellationScheduled");
    const json* inner = scheduled != nullptr ? scheduled : body.find("Cancelled");
    CancelFlowResult out;
    out.scheduled = scheduled != nullptr;
    FF_TRY(out.cancellation_policy, field_of<CancellationPolicy>(inner, "cancellation_policy"));
    FF_TRY(out.member_count, field_of<std::uint64_t>(inner, "member_count"));
    FF_TRY(out.member_execution_ids,
           field_of<std::vector<ExecutionId>>(inner, "member_execution_ids"));
    FF_TRY(out.already_terminal, field_of<bool>(inner, "already_terminal"));
    return out;
}

expected<CancelFlowHeaderResult> result_of(const CancelFlowHeader&, const json& body) {
    const json* terminal = body.find("AlreadyTerminal");
    const json* inner = terminal != nullptr ? terminal : body.find("Cancelled");
    const std::string stored = terminal != nullptr ? "stored_" : "";
    CancelFlowHeaderResult out;
    out.already_terminal = terminal != nullptr;
    FF_TRY(out.cancellation_policy,
           field_of<std::optional<CancellationPolicy>>(inner, stored + "cancellation_policy"));
    FF_TRY(out.cancel_reason,
           field_of<std::optional<std::string>>(inner, stored + "cancel_reason"));
    FF_TRY(out.member_execution_ids,
           field_of<std::vector<ExecutionId>>(inner, "member_execution_ids"));
    return out;
}

expected<RetryFlowResult> result_of(const RetryFlow&, const json& body) {
    return tagged_of<RetryFlowResult>(body, "Retried");
}

expected<ResolveResult> result_of(const ResolveDependency&, const json& body) {
    constexpr std::pair<std::string_view, ResolveOutcome> tags[] = {
        {"Satisfied", ResolveOutcome::satisfied},
        {"Impossible", ResolveOutcome::impossible},
        {"AlreadyResolved", ResolveOutcome::already_resolved}};
    for (const auto& [tag, outcome] : tags) {
        if (body.find(tag) != nullptr) {
            FF_TRY(auto result, tagged_of<ResolveResult>(body, tag));
            result.outcome = outcome;
            return result;
        }
    }
    return std::unexpected(strange(": no outcome"));
}

expected<std::optional<FlowSnapshot>> result_of(const DescribeFlow&, const json& body) {
    return object_of<FlowSnapshot>(body);
}
expected<std::optional<EdgeSnapshot>> result_of(const DescribeEdge&, const json& body) {
    return object_of<EdgeSnapshot>(body);
}
expected<std::optional<std::string>> result_of(const GetFlowTag&, const json& body) {
    return field_of<std::string>(&body, "value");
}

expected<FlowPage> result_of(const ListFlows&, const json& body) {
    FF_TRY(auto flows, items_of<FlowListItem>(body));
    FF_TRY(const auto cursor, id_cursor_of<FlowId>(body));
    return FlowPage{std::move(flows), cursor};
}

expected<MemberPage> result_of(const ListFlowMembers&, const json& body) {
    FF_TRY(auto members, items_of<FlowMember>(body));
    FF_TRY(const auto cursor, id_cursor_of<ExecutionId>(body));
    return MemberPage{std::move(members), cursor};
}

expected<std::vector<EdgeSnapshot>> result_of(const ListEdges&, const json& body) {
    return items_of<EdgeSnapshot>(body);
}

expected<EligibilityResult> result_of(const EvaluateEligibility&, const json& body) {
    return tagged_of<EligibilityResult>(body, "Status");
}

expected<InputsResult> result_of(const ReadInputs&, const json& body) {
    FF_TRY(auto inputs, items_of<FlowInput>(body));
    return InputsResult{std::move(inputs)};
}

expected<FlowSummary> result_of(const ReadFlowSummary&, const json& body) {
    return object_of<FlowSummary>(body);
}
expected<FlowGraph> result_of(const ReadFlowGraph&, const json& body) {
    return object_of<FlowGraph>(body);
}

}  // namespace ff::wire
