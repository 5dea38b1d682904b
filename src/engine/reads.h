// Reads: answered from the store's reading side, beside the writer. Any thread.
#pragma once

#include <ff/contracts.h>

#include "core/context.h"
#include "store/store.h"

namespace ff::core {
struct SealSecrets;
}

namespace ff::engine {

class ScannerLog;

struct ReadContext {
    store::Store& store;
    TimestampMs now = 0;
    const ScannerLog* scanners = nullptr;  ///< absent when no engine runs
};

expected<std::optional<ExecutionSnapshot>> answer(const DescribeExecution& op,
                                                  const ReadContext& c);
expected<std::optional<std::string>> answer(const GetExecutionTag& op, const ReadContext& c);
expected<std::optional<std::string>> answer(const GetExecutionNamespace& op, const ReadContext& c);
expected<ExecutionInfo> answer(const ReadExecutionInfo& op, const ReadContext& c);
expected<PublicState> answer(const ReadExecutionState& op, const ReadContext& c);
expected<std::optional<ExecutionResult>> answer(const GetExecutionResult& op, const ReadContext& c);
expected<ExecutionContext> answer(const ReadExecutionContext& op, const ReadContext& c);
expected<AttemptCounters> answer(const ReadAttemptCounters& op, const ReadContext& c);
expected<std::vector<AttemptInfo>> answer(const ListAttempts& op, const ReadContext& c);
expected<ExecutionPage> answer(const ListExecutions& op, const ReadContext& c);
expected<SearchPage> answer(const SearchExecutions& op, const ReadContext& c);
expected<LanePage> answer(const ListLanes& op, const ReadContext& c);
expected<WorkerPage> answer(const ListWorkers& op, const ReadContext& c);
expected<ExpiredLeasePage> answer(const ListExpiredLeases& op, const ReadContext& c);
expected<Explanation> answer(const ExplainExecution& op, const ReadContext& c);
expected<std::vector<HistoryEntry>> answer(const ReadLeaseHistory& op, const ReadContext& c);
expected<Capabilities> answer(const ReadCapabilities& op, const ReadContext& c);
expected<std::vector<ScannerInfo>> answer(const ListScanners& op, const ReadContext& c);
expected<StoreReport> answer(const ReadStoreReport& op, const ReadContext& c);
expected<std::optional<FlowSnapshot>> answer(const DescribeFlow& op, const ReadContext& c);
expected<FlowPage> answer(const ListFlows& op, const ReadContext& c);
expected<MemberPage> answer(const ListFlowMembers& op, const ReadContext& c);
expected<std::vector<EdgeSnapshot>> answer(const ListEdges& op, const ReadContext& c);
expected<std::optional<EdgeSnapshot>> answer(const DescribeEdge& op, const ReadContext& c);
expected<FlowSummary> answer(const ReadFlowSummary& op, const ReadContext& c);
expected<std::optional<std::string>> answer(const GetFlowTag& op, const ReadContext& c);
expected<EligibilityResult> answer(const EvaluateEligibility& op, const ReadContext& c);
expected<InputsResult> answer(const ReadInputs& op, const ReadContext& c);
expected<FlowGraph> answer(const ReadFlowGraph& op, const ReadContext& c);

expected<KeyList> answer(const ListWaitpointKeys& op, const ReadContext& c);
expected<WaitpointPage> answer(const ListPendingWaitpoints& op, const ReadContext& c);
expected<std::optional<WaitpointInfo>> answer(const FindWaitpoint& op, const ReadContext& c);
expected<std::optional<std::string>> answer(const ReadWaitpointToken& op, const ReadContext& c);
expected<std::vector<SuspensionInfo>> answer(const ListSuspensions& op, const ReadContext& c);
expected<SuspendedPage> answer(const ListSuspended& op, const ReadContext& c);
expected<SignalPage> answer(const ListSignals& op, const ReadContext& c);
expected<std::vector<SignalInfo>> answer(const ObserveSignals& op, const ReadContext& c);
/// The shape of a tail, for those that wait and those that do not.
expected<void> check(const TailStream& op);
expected<StreamPage> answer(const ReadStream& op, const ReadContext& c);
expected<StreamPage> answer(const TailStream& op, const ReadContext& c);
expected<std::optional<StreamSummary>> answer(const ReadStreamSummary& op, const ReadContext& c);
expected<BudgetStatus> answer(const GetBudgetStatus& op, const ReadContext& c);
expected<BudgetPage> answer(const ListBudgets& op, const ReadContext& c);
expected<SpendPage> answer(const ListSpend& op, const ReadContext& c);
expected<std::optional<QuotaPolicyInfo>> answer(const ReadQuotaPolicy& op, const ReadContext& c);
expected<QuotaPage> answer(const ListQuotaPolicies& op, const ReadContext& c);
expected<QuotaKeyPage> answer(const ListQuotaKeys& op, const ReadContext& c);
expected<EventPage> answer(const ReadEvents& op, const ReadContext& c);
expected<EventPage> answer(const ReadTimeline& op, const ReadContext& c);
expected<WebhookPage> answer(const ListWebhooks& op, const ReadContext& c);
expected<std::optional<WebhookInfo>> answer(const DescribeWebhook& op, const ReadContext& c);

template <class Op>
constexpr bool is_read = requires(const Op& op, const ReadContext& c) { answer(op, c); };
bool is_read_request(const Request& request);
/// The answer to any of these; `internal` when the request is none of them.
Response answer_any(const Request& request, const ReadContext& c);

/// Open waitpoints whose token was signed with the current key and that are not sure to be gone
/// when that key, retired now, verifies no more.
/// The secrets that rest in the store as they are; nothing when there are none.
expected<std::optional<core::SealSecrets>> unsealed_secrets(const ReadContext& c);
expected<std::uint64_t> waitpoints_outliving(const std::string& new_kid, DurationMs grace_ms,
                                             const ReadContext& c);

/// What keeps an execution from running as far as workers are concerned: which of the tokens it
/// requires no live worker has. Nothing when one has all, or it waits for something else.
expected<std::optional<std::string>> unserved(store::Reader& reader, const core::Execution& e,
                                              const core::Route& route, TimestampMs now);

/// What callers see of an execution, from its row and its route.
ExecutionInfo info_of(const core::Execution& e, const core::Route& route);

}  // namespace ff::engine
