// Writing answers. The forms are those of spec 07: results with variants are tagged by their name.
#include "wire/answers.h"

#include "wire/answer_out.h"
#include "wire/cursors.h"
#include "wire/records.h"

namespace ff::wire {

namespace {

template <class T>
Answer outcome_field(std::string_view outcome, std::string_view name, const T& value) {
    std::string out;
    ObjectOut object(out);
    object.field("outcome", outcome);
    object.field(name, value);
    object.close();
    return ok(std::move(out));
}

Answer outcome_only(std::string_view outcome) {
    std::string out;
    ObjectOut object(out);
    object.field("outcome", outcome);
    object.close();
    return ok(std::move(out));
}

}  // namespace

std::string items_page(std::string_view items, const std::optional<std::string>& next_cursor,
                       std::string_view name) {
    std::string out = "{\"";
    out += name;
    out += "\":";
    out += items;
    out += ",\"next_cursor\":";
    write(out, next_cursor);
    out.push_back('}');
    return out;
}

// --------------------------------------------------------------------------- create, claim, grant

template <>
Answer write_answer<CreateExecution>(const CreateResult& result) {
    if (result.created) {
        return tagged("Created", StateResult{result.execution_id, result.public_state}, 201);
    }
    return tagged_field("Duplicate", "execution_id", result.execution_id);
}

template <>
Answer write_answer<Claim>(const ClaimResult& result) {
    if (result.tasks.empty()) {
        return {204, "", "", {}};
    }
    std::string out = "{\"tasks\":";
    write_objects(out, result.tasks);
    out.push_back('}');
    return ok(std::move(out));
}

template <>
Answer write_answer<ClaimForWorker>(const ClaimForWorkerResult& result) {
    return result.grant ? plain(*result.grant) : Answer{204, "", "", {}};
}

template <>
Answer write_answer<IssueClaimGrant>(const Grant& grant) {
    return plain(grant);
}

template <>
Answer write_answer<ClaimExecution>(const ClaimedTask& task) {
    return plain(task);
}

template <>
Answer write_answer<ClaimResumedExecution>(const ClaimedTask& task) {
    return plain(task);
}

template <>
Answer write_answer<IssueGrantAndClaim>(const OperatorLease& lease) {
    return plain(lease);
}

template <>
Answer write_answer<IssueReclaimGrant>(const IssueReclaimGrantResult& result) {
    using Status = IssueReclaimGrantResult::Status;
    std::string out;
    ObjectOut object(out);
    if (result.status == Status::granted && result.grant) {
        object.field("status", std::string_view("granted"));
        object.field("execution_id", result.grant->execution_id);
        object.field("partition_key", result.grant->partition_key());
        object.field("grant_key", result.grant->grant_key);
        object.field("expires_at_ms", result.grant->expires_at_ms);
        object.field("lane_id", result.grant->lane_id);
    } else if (result.status == Status::reclaim_cap_exceeded) {
        object.field("status", std::string_view("reclaim_cap_exceeded"));
        object.field("execution_id", result.execution_id);
        object.field("reclaim_count", result.reclaim_count);
    } else {
        object.field("status", std::string_view("not_reclaimable"));
        object.field("execution_id", result.execution_id);
        object.field("detail", result.detail);
    }
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<ReclaimExecution>(const ReclaimResult& result) {
    using Status = ReclaimResult::Status;
    std::string out;
    ObjectOut object(out);
    switch (result.status) {
        case Status::claimed:
            object.field("status", std::string_view("claimed"));
            object.object("task", result.task);
            break;
        case Status::not_reclaimable:
            object.field("status", std::string_view("not_reclaimable"));
            object.field("detail", result.detail);
            break;
        case Status::reclaim_cap_exceeded:
            object.field("status", std::string_view("reclaim_cap_exceeded"));
            object.field("reclaim_count", result.reclaim_count);
            break;
        case Status::grant_not_found:
            object.field("status", std::string_view("grant_not_found"));
            break;
    }
    object.field("execution_id", result.execution_id);
    object.close();
    return ok(std::move(out));
}

// ----------------------------------------------------------------------------- while it is running

template <>
Answer write_answer<Renew>(const RenewResult& result) {
    std::string out;
    ObjectOut object(out);
    object.key("Renewed");
    ObjectOut renewed(out);
    renewed.field("expires_at", result.expires_at_ms);
    renewed.field("lease_epoch", result.lease_epoch);
    renewed.close();
    object.field("cancel_requested", false);
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<Progress>(const Done&) {
    return ok("\"Updated\"");
}

template <>
Answer write_answer<Complete>(const StateResult& result) {
    return tagged("Completed", result);
}

template <>
Answer write_answer<Fail>(const FailResult& result) {
    if (!result.retry_scheduled) {
        return ok("\"TerminalFailed\"");
    }
    std::string out = "{\"RetryScheduled\":";
    ObjectOut retry(out);
    retry.field("delay_until", result.delay_until);
    retry.field("next_attempt_index", result.next_attempt_index);
    retry.close();
    return ok(out + "}");
}

template <>
Answer write_answer<CancelExecution>(const StateResult& result) {
    return tagged("Cancelled", result);
}

template <>
Answer write_answer<Delay>(const StateResult& result) {
    return tagged("Delayed", result);
}

template <>
Answer write_answer<WaitChildren>(const StateResult& result) {
    return tagged("Moved", result);
}

template <>
Answer write_answer<Release>(const StateResult& result) {
    return tagged("Released", result);
}

template <>
Answer write_answer<MarkLeaseExpiredIfDue>(const MarkLeaseExpiredResult& result) {
    return outcome_only(result.outcome);
}

template <>
Answer write_answer<RevokeLease>(const RevokeResult& result) {
    if (!result.revoked) {
        return tagged_field("AlreadySatisfied", "reason", result.reason);
    }
    std::string out = "{\"Revoked\":";
    ObjectOut revoked(out);
    revoked.field("lease_id", result.lease_id);
    revoked.field("lease_epoch", std::to_string(result.lease_epoch));
    revoked.close();
    return ok(out + "}");
}

// ----------------------------------------------------------------------------------------
// operators

template <>
Answer write_answer<ChangePriority>(const StateResult& result) {
    return tagged_field("Changed", "execution_id", result.execution_id);
}

template <>
Answer write_answer<ReplayExecution>(const StateResult& result) {
    return tagged_field("Replayed", "public_state", result.public_state);
}

template <>
Answer write_answer<BlockExecution>(const BlockResult& result) {
    return plain(result);
}

template <>
Answer write_answer<UnblockExecution>(const Done&) {
    return ok("\"Unblocked\"");
}

template <>
Answer write_answer<SetExecutionTags>(const CountResult& result) {
    return tagged("Ok", result);
}

template <>
Answer write_answer<RemoveExecutionTag>(const CountResult& result) {
    return tagged("Ok", result);
}

template <>
Answer write_answer<SetLaneState>(const Done&) {
    return ok("\"Set\"");
}

// ------------------------------------------------------------------------------------------
// workers

template <>
Answer write_answer<RegisterWorker>(const RegisterWorkerResult& result) {
    return outcome_only(result.refreshed ? "refreshed" : "registered");
}

template <>
Answer write_answer<HeartbeatWorker>(const HeartbeatResult& result) {
    return result.registered ? outcome_field("refreshed", "next_expiry_ms", result.next_expiry_ms)
                             : outcome_only("not_registered");
}

template <>
Answer write_answer<MarkWorkerDead>(const MarkWorkerDeadResult& result) {
    return result.marked ? outcome_field("marked", "leases_revoked", result.leases_revoked)
                         : outcome_only("not_registered");
}

template <>
Answer write_answer<RunScanner>(const ScannerResult& result) {
    return plain(result);
}

// --------------------------------------------------------------------------------------------
// reads

Answer write_execution(const ExecutionInfo& info) {
    std::string out;
    ObjectOut object(out);
    object.field("execution_id", info.execution_id);
    object.field("namespace", info.ns);
    object.field("lane_id", info.lane_id);
    object.field("priority", info.priority);
    object.field("execution_kind", info.execution_kind);
    object.key("state_vector");
    ObjectOut vector(out);
    describe(vector, const_cast<StateVector&>(info.state));  // NOLINT: a writer changes nothing
    vector.field("public_state", info.public_state);
    vector.close();
    object.field("public_state", info.public_state);
    object.field("created_at", std::to_string(info.created_at));
    if (info.started_at) {
        object.field("started_at", std::to_string(*info.started_at));
    }
    if (info.completed_at) {
        object.field("completed_at", std::to_string(*info.completed_at));
    }
    object.field("current_attempt_index", info.current_attempt_index);
    object.field("flow_id", info.flow_id);
    object.field("blocking_detail", info.blocking_detail);
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<ReadExecutionInfo>(const ExecutionInfo& info) {
    return write_execution(info);
}

template <>
Answer write_answer<ReadExecutionState>(const PublicState& state) {
    std::string out;
    write(out, state);
    return ok(std::move(out));
}

template <>
Answer write_answer<DescribeExecution>(const std::optional<ExecutionSnapshot>& snapshot) {
    return plain(*snapshot);  // an absent one is answered by its route
}

template <>
Answer write_answer<GetExecutionTag>(const std::optional<std::string>& value) {
    return one_field("value", *value);
}

template <>
Answer write_answer<GetExecutionNamespace>(const std::optional<std::string>& ns) {
    return one_field("namespace", *ns);
}

template <>
Answer write_answer<GetExecutionResult>(const std::optional<ExecutionResult>& result) {
    Answer answer{200, result->payload, "application/octet-stream", {}};
    if (result->encoding) {
        answer.headers.emplace_back("FF-Result-Encoding", *result->encoding);
    }
    return answer;
}

template <>
Answer write_answer<ReadExecutionContext>(const ExecutionContext& context) {
    return plain(context);
}

template <>
Answer write_answer<ReadAttemptCounters>(const AttemptCounters& counters) {
    return plain(counters);
}

Answer write_attempts(const std::vector<AttemptInfo>& attempts,
                      const std::optional<std::string>& next_cursor) {
    return page(attempts, next_cursor);
}

template <>
Answer write_answer<ListAttempts>(const std::vector<AttemptInfo>& attempts) {
    return write_attempts(attempts, std::nullopt);
}

template <>
Answer write_answer<ExplainExecution>(const Explanation& why) {
    return plain(why);
}

template <>
Answer write_answer<ReadLeaseHistory>(const std::vector<HistoryEntry>& entries) {
    return page(entries, std::nullopt);
}

template <>
Answer write_answer<ListExecutions>(const ExecutionPage& found) {
    std::string out;
    ObjectOut object(out);
    object.field("executions", found.executions);
    object.field("next_cursor", found.next_cursor);
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<SearchExecutions>(const SearchPage& found) {
    return page(found.items, found.next_cursor);
}

template <>
Answer write_answer<ListLanes>(const LanePage& found) {
    return page(found.lanes, found.next_cursor);
}

namespace {

template <class Cursor>
std::optional<std::string> cursor_of(const std::optional<Cursor>& cursor) {
    return cursor ? std::optional(cursor_text(*cursor)) : std::nullopt;
}

}  // namespace

template <>
Answer write_answer<ListWorkers>(const WorkerPage& found) {
    return page(found.workers, cursor_of(found.next_cursor), "workers");
}

template <>
Answer write_answer<ListExpiredLeases>(const ExpiredLeasePage& found) {
    return page(found.leases, cursor_of(found.next_cursor), "leases");
}

template <>
Answer write_answer<ListScanners>(const std::vector<ScannerInfo>& scanners) {
    return page(scanners, std::nullopt);
}

template <>
Answer write_answer<ReadStoreReport>(const StoreReport& report) {
    return plain(report);
}

template <>
Answer write_answer<ReadCapabilities>(const Capabilities& capabilities) {
    std::string out;
    ObjectOut object(out);
    object.field("product", std::string_view("FlowFabric"));
    object.field("version", std::string_view(FF_VERSION));
    object.field("store", capabilities.family);
    object.key("store_version");
    write(out, std::to_string(capabilities.major) + "." + std::to_string(capabilities.minor) + "." +
                   std::to_string(capabilities.patch));
    object.field("durability", capabilities.durability);
    object.object("partitions", capabilities.partitions);
    object.key("supports");
    ObjectOut supports(out);
    for (const auto& [name, supported] : capabilities.supports) {
        supports.field(name, supported);
    }
    supports.close();
    object.close();
    return ok(std::move(out));
}

}  // namespace ff::wire
