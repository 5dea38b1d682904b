// Reads: answered from the store's reading side, beside the writer. Any thread.
#pragma once

#include <ff/contracts.h>

#include "core/context.h"
#include "store/store.h"

namespace ff::engine {

struct ReadContext {
    store::Store& store;
    TimestampMs now = 0;
};

Result<std::optional<ExecutionSnapshot>> answer(const DescribeExecution& op, const ReadContext& c);
Result<ExecutionInfo> answer(const ReadExecutionInfo& op, const ReadContext& c);
Result<PublicState> answer(const ReadExecutionState& op, const ReadContext& c);
Result<std::optional<ExecutionResult>> answer(const GetExecutionResult& op, const ReadContext& c);
Result<ExecutionContext> answer(const ReadExecutionContext& op, const ReadContext& c);
Result<AttemptCounters> answer(const ReadAttemptCounters& op, const ReadContext& c);
Result<std::vector<AttemptInfo>> answer(const ListAttempts& op, const ReadContext& c);
Result<ExecutionPage> answer(const ListExecutions& op, const ReadContext& c);
Result<SearchPage> answer(const SearchExecutions& op, const ReadContext& c);
Result<LanePage> answer(const ListLanes& op, const ReadContext& c);
Result<WorkerPage> answer(const ListWorkers& op, const ReadContext& c);
Result<ExpiredLeasePage> answer(const ListExpiredLeases& op, const ReadContext& c);
Result<Explanation> answer(const ExplainExecution& op, const ReadContext& c);
Result<std::vector<HistoryEntry>> answer(const ReadLeaseHistory& op, const ReadContext& c);
Result<Capabilities> answer(const ReadCapabilities& op, const ReadContext& c);

/// What callers see of an execution, from its row and its route.
ExecutionInfo info_of(const core::Execution& e, const core::Route& route);

}  // namespace ff::engine
