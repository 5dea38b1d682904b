// Reading answers on the client: the results of write_answer, and errors.
#include <array>
#include <type_traits>

#include "base/version.h"
#include "wire/answer_in.h"
#include "wire/answers.h"
#include "wire/cursors.h"
#include "wire/errors.h"
#include "wire/event_answers.h"
#include "wire/flow_answers_in.h"
#include "wire/limit_answers.h"
#include "wire/records.h"
#include "wire/request_in.h"
#include "wire/stream_answers.h"
#include "wire/suspension_answers_in.h"

namespace ff::wire {

namespace {

/// The words that results carry as views; only these come from our servers.
constexpr std::array<std::string_view, 9> static_words{"marked",
                                                       "execution_not_found",
                                                       "not_active",
                                                       "already_expired",
                                                       "unowned",
                                                       "already_revoked",
                                                       "not_yet_expired",
                                                       "no_active_lease",
                                                       "different_worker_instance_id"};

std::string_view static_word(const json* value) {
    const std::string* text = value != nullptr ? value->if_string() : nullptr;
    for (const std::string_view word : static_words) {
        if (text != nullptr && *text == word) {
            return word;
        }
    }
    return "unknown";
}

template <class Cursor>
expected<std::optional<Cursor>> cursor_of(const json& body) {
    const auto text = next_cursor_of(body);
    std::optional<Cursor> cursor;
    if (text && !parse_cursor(*text, cursor.emplace())) {
        return std::unexpected(strange(": cursor"));
    }
    return cursor;
}

// ------------------------------------------------------------------------- one overload a result

expected<CreateResult> result_of(const CreateExecution&, const json& body) {
    if (const json* duplicate = body.find("Duplicate")) {
        FF_TRY(const auto id, field_of<ExecutionId>(duplicate, "execution_id"));
        return CreateResult{false, id, PublicState::waiting};
    }
    FF_TRY(const auto made, tagged_of<StateResult>(body, "Created"));
    return CreateResult{true, made.execution_id, made.public_state};
}

expected<ClaimResult> result_of(const Claim&, const json& body) {
    FF_TRY(auto tasks, items_of<ClaimedTask>(body, "tasks"));
    return ClaimResult{std::move(tasks)};
}

expected<ClaimForWorkerResult> result_of(const ClaimForWorker&, const json& body) {
    FF_TRY(auto grant, object_of<Grant>(body));
    return ClaimForWorkerResult{std::move(grant)};
}

expected<IssueReclaimGrantResult> result_of(const IssueReclaimGrant&, const json& body) {
    using Status = IssueReclaimGrantResult::Status;
    IssueReclaimGrantResult out;
    FF_TRY(const auto status, field_of<std::string>(&body, "status"));
    FF_TRY(out.execution_id, field_of<ExecutionId>(&body, "execution_id"));
    if (status == "granted") {
        out.status = Status::granted;
        Grant grant;
        grant.kind = GrantKind::reclaim;
        grant.execution_id = out.execution_id;
        FF_TRY(grant.grant_key, field_of<std::string>(&body, "grant_key"));
        FF_TRY(grant.expires_at_ms, field_of<TimestampMs>(&body, "expires_at_ms"));
        FF_TRY(grant.lane_id, field_of<std::string>(&body, "lane_id"));
        out.grant = std::move(grant);
    } else if (status == "reclaim_cap_exceeded") {
        out.status = Status::reclaim_cap_exceeded;
        FF_TRY(out.reclaim_count, field_of<std::uint32_t>(&body, "reclaim_count"));
    } else {
        FF_TRY(out.detail, field_of<std::string>(&body, "detail"));
    }
    return out;
}

expected<ReclaimResult> result_of(const ReclaimExecution&, const json& body) {
    using Status = ReclaimResult::Status;
    ReclaimResult out;
    FF_TRY(const auto status, field_of<std::string>(&body, "status"));
    FF_TRY(out.execution_id, field_of<ExecutionId>(&body, "execution_id"));
    if (status == "claimed") {
        out.status = Status::claimed;
        FF_TRY(out.task, tagged_of<ClaimedTask>(body, "task"));
    } else if (status == "not_reclaimable") {
        out.status = Status::not_reclaimable;
        FF_TRY(out.detail, field_of<std::string>(&body, "detail"));
    } else if (status == "reclaim_cap_exceeded") {
        out.status = Status::reclaim_cap_exceeded;
        FF_TRY(out.reclaim_count, field_of<std::uint32_t>(&body, "reclaim_count"));
    }
    return out;
}

expected<RenewResult> result_of(const Renew&, const json& body) {
    const json* renewed = body.find("Renewed");
    RenewResult out;
    FF_TRY(out.expires_at_ms, field_of<TimestampMs>(renewed, "expires_at"));
    FF_TRY(out.lease_epoch, field_of<std::uint64_t>(renewed, "lease_epoch"));
    return out;
}

expected<FailResult> result_of(const Fail&, const json& body) {
    if (is_word(body, "TerminalFailed")) {
        return FailResult{};
    }
    const json* retry = body.find("RetryScheduled");
    FailResult out{true, 0, 0};
    FF_TRY(out.delay_until, field_of<TimestampMs>(retry, "delay_until"));
    FF_TRY(out.next_attempt_index, field_of<std::uint32_t>(retry, "next_attempt_index"));
    return out;
}

expected<StateResult> result_of(const Complete&, const json& body) {
    return tagged_of<StateResult>(body, "Completed");
}
expected<StateResult> result_of(const CancelExecution&, const json& body) {
    return tagged_of<StateResult>(body, "Cancelled");
}
expected<StateResult> result_of(const Delay&, const json& body) {
    return tagged_of<StateResult>(body, "Delayed");
}
expected<StateResult> result_of(const WaitChildren&, const json& body) {
    return tagged_of<StateResult>(body, "Moved");
}
expected<StateResult> result_of(const Release&, const json& body) {
    return tagged_of<StateResult>(body, "Released");
}
expected<StateResult> result_of(const ChangePriority&, const json& body) {
    FF_TRY(const auto id, field_of<ExecutionId>(body.find("Changed"), "execution_id"));
    return StateResult{id, PublicState::waiting};  // only what waits can be changed
}
expected<StateResult> result_of(const ReplayExecution& op, const json& body) {
    FF_TRY(const auto state, field_of<PublicState>(body.find("Replayed"), "public_state"));
    return StateResult{op.execution_id, state};
}

expected<MarkLeaseExpiredResult> result_of(const MarkLeaseExpiredIfDue&, const json& body) {
    return MarkLeaseExpiredResult{static_word(body.find("outcome"))};
}

expected<RevokeResult> result_of(const RevokeLease&, const json& body) {
    if (const json* already = body.find("AlreadySatisfied")) {
        return RevokeResult{false, {}, 0, static_word(already->find("reason"))};
    }
    const json* revoked = body.find("Revoked");
    RevokeResult out{true, {}, 0, {}};
    FF_TRY(out.lease_id, field_of<LeaseId>(revoked, "lease_id"));
    FF_TRY(const auto epoch, field_of<std::string>(revoked, "lease_epoch"));
    if (const Fault fault = parse_text(epoch, out.lease_epoch); !fault.empty()) {
        return std::unexpected(strange(": lease_epoch" + fault));
    }
    return out;
}

template <class Op>
    requires std::is_same_v<typename Op::Result, Done>
expected<Done> result_of(const Op&, const json&) {
    return Done{};
}

template <class Op>
    requires std::is_same_v<typename Op::Result, CountResult>
expected<CountResult> result_of(const Op&, const json& body) {
    return tagged_of<CountResult>(body, "Ok");
}

expected<RegisterWorkerResult> result_of(const RegisterWorker&, const json& body) {
    FF_TRY(const auto outcome, field_of<std::string>(&body, "outcome"));
    return RegisterWorkerResult{outcome == "refreshed"};
}

expected<HeartbeatResult> result_of(const HeartbeatWorker&, const json& body) {
    FF_TRY(const auto outcome, field_of<std::string>(&body, "outcome"));
    if (outcome == "not_registered") {
        return HeartbeatResult{};
    }
    FF_TRY(const auto next, field_of<TimestampMs>(&body, "next_expiry_ms"));
    return HeartbeatResult{true, next};
}

expected<MarkWorkerDeadResult> result_of(const MarkWorkerDead&, const json& body) {
    FF_TRY(const auto outcome, field_of<std::string>(&body, "outcome"));
    if (outcome == "not_registered") {
        return MarkWorkerDeadResult{};
    }
    FF_TRY(const auto revoked, field_of<std::uint32_t>(&body, "leases_revoked"));
    return MarkWorkerDeadResult{true, revoked};
}

expected<std::optional<ExecutionSnapshot>> result_of(const DescribeExecution&, const json& body) {
    return object_of<ExecutionSnapshot>(body);
}

expected<ExecutionInfo> result_of(const ReadExecutionInfo&, const json& body) {
    FF_TRY(auto snapshot, object_of<ExecutionSnapshot>(body));  // see write_call()
    return std::move(snapshot.info);
}

expected<std::optional<std::string>> result_of(const GetExecutionTag&, const json& body) {
    return field_of<std::string>(&body, "value");
}
expected<std::optional<std::string>> result_of(const GetExecutionNamespace&, const json& body) {
    return field_of<std::string>(&body, "namespace");
}

expected<PublicState> result_of(const ReadExecutionState&, const json& body) {
    PublicState state{};
    if (const Fault fault = read(body, state); !fault.empty()) {
        return std::unexpected(strange(fault));
    }
    return state;
}

expected<std::vector<AttemptInfo>> result_of(const ListAttempts&, const json& body) {
    return items_of<AttemptInfo>(body);
}
expected<std::vector<HistoryEntry>> result_of(const ReadLeaseHistory&, const json& body) {
    return items_of<HistoryEntry>(body);
}
expected<std::vector<ScannerInfo>> result_of(const ListScanners&, const json& body) {
    return items_of<ScannerInfo>(body);
}

expected<ExecutionPage> result_of(const ListExecutions&, const json& body) {
    ExecutionPage page;
    FF_TRY(page.executions, field_of<std::vector<ExecutionId>>(&body, "executions"));
    FF_TRY(page.next_cursor, field_of<std::optional<ExecutionId>>(&body, "next_cursor"));
    return page;
}

expected<SearchPage> result_of(const SearchExecutions&, const json& body) {
    FF_TRY(auto items, items_of<ExecutionInfo>(body));
    return SearchPage{std::move(items), next_cursor_of(body)};
}

expected<LanePage> result_of(const ListLanes&, const json& body) {
    FF_TRY(auto lanes, items_of<LaneInfo>(body));
    return LanePage{std::move(lanes), next_cursor_of(body)};
}

expected<WorkerPage> result_of(const ListWorkers&, const json& body) {
    FF_TRY(auto workers, items_of<WorkerInfo>(body, "workers"));
    FF_TRY(auto cursor, cursor_of<WorkerCursor>(body));
    return WorkerPage{std::move(workers), std::move(cursor)};
}

expected<ExpiredLeasePage> result_of(const ListExpiredLeases&, const json& body) {
    FF_TRY(auto leases, items_of<ExpiredLease>(body, "leases"));
    FF_TRY(auto cursor, cursor_of<ExpiredLeaseCursor>(body));
    return ExpiredLeasePage{std::move(leases), std::move(cursor)};
}

expected<Capabilities> result_of(const ReadCapabilities&, const json& body) {
    Capabilities out;
    FF_TRY(out.family, field_of<std::string>(&body, "store"));
    FF_TRY(out.durability, field_of<std::string>(&body, "durability"));
    FF_TRY(const auto text, field_of<std::string>(&body, "store_version"));
    const Version version = parse_version(text);
    if (version.given != 3) {
        return std::unexpected(strange(": store_version"));
    }
    out.major = version.major;
    out.minor = version.minor;
    out.patch = version.patch;
    FF_TRY(out.partitions, tagged_of<PartitionCounts>(body, "partitions"));
    if (out.partitions.flow == 0) {
        return std::unexpected(strange(": partitions"));
    }
    const json* supports = body.find("supports");
    if (supports != nullptr && supports->if_object() != nullptr) {
        for (const auto& [name, flag] : *supports->if_object()) {
            out.supports.emplace_back(name, flag.if_bool() != nullptr && *flag.if_bool());
        }
    }
    return out;
}

expected<std::optional<ExecutionResult>> result_of(const GetExecutionResult&, const json&) {
    return std::unexpected(strange(""));  // its answer is no JSON: see result_of_status()
}

/// Everything whose answer is the record itself.
template <class Op>
expected<typename Op::Result> result_of(const Op&, const json& body) {
    return object_of<typename Op::Result>(body);
}

/// What an operation that found nothing answers, when that is no error.
template <class Op>
std::optional<typename Op::Result> result_of_status(const Op&, const Received& received) {
    if constexpr (std::is_same_v<Op, Claim> || std::is_same_v<Op, ClaimForWorker>) {
        if (received.status == 204) {
            return typename Op::Result{};
        }
    }
    if constexpr (std::is_same_v<Op, DescribeExecution> || std::is_same_v<Op, GetExecutionResult> ||
                  std::is_same_v<Op, GetExecutionTag> ||
                  std::is_same_v<Op, GetExecutionNamespace> || std::is_same_v<Op, DescribeFlow> ||
                  std::is_same_v<Op, DescribeEdge> || std::is_same_v<Op, GetFlowTag> ||
                  std::is_same_v<Op, FindWaitpoint> || std::is_same_v<Op, ReadWaitpointToken> ||
                  std::is_same_v<Op, ReadStreamSummary> || std::is_same_v<Op, ReadQuotaPolicy> ||
                  std::is_same_v<Op, DescribeWebhook>) {
        if (received.status == 404 && !received.body.empty()) {
            return typename Op::Result{};
        }
    }
    if constexpr (std::is_same_v<Op, GetExecutionResult>) {
        if (received.status == 200) {
            return ExecutionResult{received.body, received.result_encoding};
        }
    }
    return std::nullopt;
}

/// Operations whose refusal ends work: a worker that hears `not found` lets its lease go.
template <class Op>
constexpr bool ends_work =
    requires(Op& op) { op.lease; } || std::is_same_v<Op, HeartbeatWorker> ||
    std::is_same_v<Op, RegisterWorker> || std::is_same_v<Op, Claim> ||
    std::is_same_v<Op, ClaimForWorker> || std::is_same_v<Op, ClaimExecution> ||
    std::is_same_v<Op, ClaimResumedExecution> || std::is_same_v<Op, ReclaimExecution>;

}  // namespace

Response read_answer(const Request& request, const Received& received) {
    return ff::visit(
        [&]<class Op>(const Op& op) -> Response {
            using Out = typename Op::Result;
            if (auto empty = result_of_status(op, received)) {
                return Reply(std::in_place_type<Out>, std::move(*empty));
            }
            if (received.status < 200 || received.status > 299) {
                return std::unexpected(
                    read_error(received.status, received.body,
                               ends_work<Op> ? Believed::only_codes : Believed::any_error));
            }
            const auto body = js::parse(received.body);
            if (!body) {
                return std::unexpected(strange(": " + body.error().detail));
            }
            FF_TRY(Out result, result_of(op, *body));
            if constexpr (std::is_same_v<Op, ListPendingWaitpoints>) {
                if (received.next_cursor &&
                    !parse_text(*received.next_cursor, result.next_cursor.emplace()).empty()) {
                    return std::unexpected(strange(": FF-Next-Cursor"));
                }
            }
            return Reply(std::in_place_type<Out>, std::move(result));
        },
        request);
}

}  // namespace ff::wire
