// Reading the answers of suspension: one overload for each result that is not its record alone.
#pragma once

#include <ff/contracts.h>
#include <ff/json.h>

namespace ff::wire {

expected<WaitpointTicket> result_of(const CreateWaitpoint& op, const json& body);
expected<SuspendResult> result_of(const Suspend& op, const json& body);
expected<std::vector<SignalInfo>> result_of(const ObserveSignals& op, const json& body);
expected<SignalResult> result_of(const DeliverSignal& op, const json& body);
expected<SignalResult> result_of(const DeliverApprovalSignal& op, const json& body);
expected<StateResult> result_of(const ResumeExecution& op, const json& body);
expected<ExpireSuspensionResult> result_of(const ExpireSuspension& op, const json& body);
expected<SeedKeyResult> result_of(const SeedWaitpointKey& op, const json& body);
expected<RotateKeyResult> result_of(const RotateWaitpointKey& op, const json& body);
expected<KeyList> result_of(const ListWaitpointKeys& op, const json& body);
/// Without its cursor, which travels in the head of the answer.
expected<WaitpointPage> result_of(const ListPendingWaitpoints& op, const json& body);
expected<std::optional<WaitpointInfo>> result_of(const FindWaitpoint& op, const json& body);
expected<std::optional<std::string>> result_of(const ReadWaitpointToken& op, const json& body);
expected<std::vector<SuspensionInfo>> result_of(const ListSuspensions& op, const json& body);
expected<SuspendedPage> result_of(const ListSuspended& op, const json& body);
expected<SignalPage> result_of(const ListSignals& op, const json& body);

}  // namespace ff::wire
