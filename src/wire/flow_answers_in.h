// Reading the answers of flows: one overload for each result that is not its record alone.
#pragma once

#include <ff/contracts.h>
#include <ff/json.h>

namespace ff::wire {

expected<CreateFlowResult> result_of(const CreateFlow& op, const json& body);
expected<SubmitFlowResult> result_of(const SubmitFlow& op, const json& body);
expected<AddMemberResult> result_of(const AddExecutionToFlow& op, const json& body);
expected<StageEdgeResult> result_of(const StageDependencyEdge& op, const json& body);
expected<SetPolicyResult> result_of(const SetEdgeGroupPolicy& op, const json& body);
expected<ApplyResult> result_of(const ApplyDependency& op, const json& body);
expected<ApplyAllResult> result_of(const ApplyAllDependencies& op, const json& body);
expected<SpawnResult> result_of(const SpawnChildren& op, const json& body);
expected<FlowStateResult> result_of(const SealFlow& op, const json& body);
expected<FlowStateResult> result_of(const PauseFlow& op, const json& body);
expected<FlowStateResult> result_of(const ResumeFlow& op, const json& body);
expected<CancelFlowResult> result_of(const CancelFlow& op, const json& body);
expected<CancelFlowHeaderResult> result_of(const CancelFlowHeader& op, const json& body);
expected<RetryFlowResult> result_of(const RetryFlow& op, const json& body);
expected<ResolveResult> result_of(const ResolveDependency& op, const json& body);
expected<std::optional<FlowSnapshot>> result_of(const DescribeFlow& op, const json& body);
expected<std::optional<EdgeSnapshot>> result_of(const DescribeEdge& op, const json& body);
expected<std::optional<std::string>> result_of(const GetFlowTag& op, const json& body);
expected<FlowPage> result_of(const ListFlows& op, const json& body);
expected<MemberPage> result_of(const ListFlowMembers& op, const json& body);
expected<std::vector<EdgeSnapshot>> result_of(const ListEdges& op, const json& body);
expected<EligibilityResult> result_of(const EvaluateEligibility& op, const json& body);
expected<InputsResult> result_of(const ReadInputs& op, const json& body);
expected<FlowSummary> result_of(const ReadFlowSummary& op, const json& body);
expected<FlowGraph> result_of(const ReadFlowGraph& op, const json& body);

}  // namespace ff::wire
