#include <ff/client.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "client/wait.h"

namespace ff {

namespace {

/// The time by which an engine decides. Nobody waits by it.
class EngineClock final : public Clock {
  public:
    explicit EngineClock(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
    TimestampMs now() override { return engine_->now(); }
    DurationMs sleep_hint(TimestampMs due) override {
        return std::max<DurationMs>(0, due - engine_->now());
    }
    std::uint64_t subscribe(std::function<void()>) override { return 0; }
    void unsubscribe(std::uint64_t) override {}

  private:
    std::shared_ptr<Engine> engine_;
};

}  // namespace

/// How many partitions the store has. Never changes, so it is asked for once.
struct Client::Partitions {
    std::mutex mutex;
    std::optional<PartitionCounts> counts;  // guarded by mutex
};

Client::Client(std::shared_ptr<Engine> engine, ClientOptions options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      partitions_(std::make_shared<Partitions>()) {
    if (!options_.clock) {
        options_.clock = std::make_shared<EngineClock>(engine_);
    }
}

// -------------------------------------------------------------------------------------- submit

expected<PartitionCounts> Client::partitions() {
    {
        const std::lock_guard lock(partitions_->mutex);
        if (partitions_->counts) {
            return *partitions_->counts;
        }
    }
    FF_TRY(const Capabilities found, engine_->run(ReadCapabilities{}));
    const std::lock_guard lock(partitions_->mutex);
    partitions_->counts = found.partitions;
    return found.partitions;
}

expected<CreateExecution> Client::prepare(const Submit& request) {
    FF_TRY(CreateExecution op, request.build(*options_.clock));
    op.ns = options_.ns;
    if (op.creator_identity.empty()) {
        op.creator_identity = options_.creator;
    }
    // The id is made here, not by the engine: with it the call may be repeated after a lost answer.
    FF_TRY(const PartitionCounts counts, partitions());
    op.execution_id = ExecutionId::solo(op.lane_id, counts, request.uuid().value_or(new_uuid()));
    return op;
}

expected<Submitted> Client::submitted(const Submit& request, const ExecutionId& minted,
                                      expected<CreateResult> answer) {
    FF_TRY(CreateResult result, std::move(answer));
    // Nobody else has this id: a duplicate is an earlier try of this very call.
    if (!result.created && !request.uuid() && result.execution_id == minted) {
        result.created = true;
    }
    return Submitted(std::move(result));
}

expected<Submitted> Client::try_submit(const Submit& request) {
    FF_TRY(CreateExecution op, prepare(request));
    const ExecutionId minted = *op.execution_id;
    return submitted(request, minted, engine_->run(std::move(op)));
}

std::vector<expected<Submitted>> Client::try_submit_all(const std::vector<Submit>& requests) {
    std::vector<expected<CreateExecution>> prepared;
    std::vector<CreateExecution> ops;
    for (const Submit& request : requests) {
        prepared.push_back(prepare(request));
        if (prepared.back()) {
            ops.push_back(*prepared.back());
        }
    }
    auto answers = engine_->run_all(std::move(ops));
    std::vector<expected<Submitted>> out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!prepared[i]) {
            out.emplace_back(std::unexpected(prepared[i].error()));
        } else {
            out.push_back(
                submitted(requests[i], *prepared[i]->execution_id, std::move(answers[next++])));
        }
    }
    return out;
}

// --------------------------------------------------------------------------------------- reads

expected<std::optional<ExecutionSnapshot>> Client::try_inspect(const ExecutionId& id) {
    return engine_->run(DescribeExecution{id});
}

expected<std::optional<std::string>> Client::try_result(const ExecutionId& id) {
    FF_TRY(auto found, engine_->run(GetExecutionResult{id}));
    return found ? std::optional<std::string>(std::move(found->payload)) : std::nullopt;
}

expected<std::optional<ExecutionContext>> Client::try_read_context(const ExecutionId& id) {
    auto found = engine_->run(ReadExecutionContext{id});
    if (found) {
        return std::optional<ExecutionContext>(std::move(*found));
    }
    const Error& error = found.error();
    const bool unknown =
        error.code == ErrorCode::execution_not_found ||
        (error.code == ErrorCode::invalid_input && error.detail.starts_with("execution not found"));
    if (unknown) {
        return std::optional<ExecutionContext>();
    }
    return std::unexpected(std::move(found).error());
}

expected<Finished> Client::try_wait(const ExecutionId& id, std::chrono::milliseconds timeout) {
    Finished done;
    done.id = id;
    FF_TRY(done.state, client::await_end(*engine_, id, timeout));
    if (done.completed()) {
        FF_TRY(done.result, engine_->run(GetExecutionResult{id}));
        return done;
    }
    FF_TRY(const auto found, engine_->run(DescribeExecution{id}));
    if (found) {
        done.reason = found->failure_reason.value_or(found->cancellation_reason.value_or(""));
        done.category = found->failure_category.value_or("");
    }
    return done;
}

expected<const ExecutionResult*> Finished::decodable(bool any_encoding) const {
    if (!completed()) {
        std::string text = "the execution ended as " + std::string(to_string(state));
        if (!reason.empty()) {
            text += " (" + (category.empty() ? "" : category + ": ") + reason + ")";
        }
        return ff::fail(ErrorCode::terminal, text + " and has no result");
    }
    if (!result) {
        return ff::fail(ErrorCode::invalid_input, "the execution completed without a result");
    }
    if (!any_encoding && result->encoding && *result->encoding != json_encoding) {
        return ff::fail(ErrorCode::invalid_input, "the result is encoded as " + *result->encoding +
                                                      ", not as json; use bytes()");
    }
    return &*result;
}

// ----------------------------------------------------------------------------------- operators

expected<StateResult> Client::try_cancel(const ExecutionId& id, const std::string& reason) {
    CancelExecution op;
    op.lease = LeaseRef(id);
    op.reason = reason;
    return engine_->run(std::move(op));
}

expected<StateResult> Client::try_replay(const ExecutionId& id) {
    return engine_->run(ReplayExecution{id});
}

expected<StateResult> Client::try_change_priority(const ExecutionId& id, std::int32_t priority) {
    return engine_->run(ChangePriority{id, priority});
}

expected<RevokeResult> Client::try_revoke_lease(const ExecutionId& id, const std::string& reason) {
    RevokeLease op;
    op.execution_id = id;
    op.reason = reason;
    return engine_->run(std::move(op));
}

// --------------------------------------------------------------------------------------- lists

Listing<ExecutionInfo> Client::executions(SearchExecutions filter) {
    if (!filter.ns) {
        filter.ns = options_.ns;
    }
    using Page = Listing<ExecutionInfo>::Page;
    return Listing<ExecutionInfo>(
        [engine = engine_, next = std::move(filter)]() mutable -> expected<Page> {
            FF_TRY(auto page, engine->run(next));
            next.cursor = std::move(page.next_cursor);
            return Page{std::move(page.items), next.cursor.has_value()};
        });
}

Listing<LaneInfo> Client::lanes() {
    using Page = Listing<LaneInfo>::Page;
    return Listing<LaneInfo>([engine = engine_, next = ListLanes{}]() mutable -> expected<Page> {
        FF_TRY(auto page, engine->run(next));
        next.cursor = std::move(page.next_cursor);
        return Page{std::move(page.lanes), next.cursor.has_value()};
    });
}

Listing<WorkerInfo> Client::workers() {
    ListWorkers first;
    first.ns = options_.ns;
    using Page = Listing<WorkerInfo>::Page;
    return Listing<WorkerInfo>(
        [engine = engine_, next = std::move(first)]() mutable -> expected<Page> {
            FF_TRY(auto page, engine->run(next));
            next.after = std::move(page.next_cursor);
            return Page{std::move(page.workers), next.after.has_value()};
        });
}

Listing<ExpiredLease> Client::expired_leases(std::optional<TimestampMs> as_of) {
    ListExpiredLeases first;
    first.as_of = as_of.value_or(options_.clock->now());
    first.ns = options_.ns;
    using Page = Listing<ExpiredLease>::Page;
    return Listing<ExpiredLease>(
        [engine = engine_, next = std::move(first)]() mutable -> expected<Page> {
            FF_TRY(auto page, engine->run(next));
            next.after = page.next_cursor;
            return Page{std::move(page.leases), next.after.has_value()};
        });
}

// --------------------------------------------------------------------------------------- admin

expected<std::optional<Grant>> Client::try_claim_for_worker(ClaimForWorker op) {
    if (!op.ns) {
        op.ns = options_.ns;
    }
    FF_TRY(ClaimForWorkerResult found, engine_->run(std::move(op)));
    return std::move(found.grant);
}

expected<IssueReclaimGrantResult> Client::try_issue_reclaim_grant(const IssueReclaimGrant& op) {
    return engine_->run(op);
}

expected<ReclaimResult> Client::try_claim_reclaimed(const Grant& grant,
                                                    const ReclaimExecution& op) {
    if (grant.kind != GrantKind::reclaim) {
        return ff::fail(ErrorCode::invalid_input, "claim_reclaimed: the grant is of kind " +
                                                      std::string(to_string(grant.kind)) +
                                                      ", not reclaim");
    }
    if (grant.execution_id != op.execution_id) {
        return ff::fail(ErrorCode::invalid_input, "claim_reclaimed: the grant is for " +
                                                      grant.execution_id.to_string() +
                                                      ", not for " + op.execution_id.to_string());
    }
    if (grant.lane_id != op.lane_id) {
        return ff::fail(ErrorCode::invalid_input, "claim_reclaimed: the grant is for lane " +
                                                      grant.lane_id + ", not for " + op.lane_id);
    }
    if (grant.expires_at_ms <= options_.clock->now()) {
        return ff::fail(ErrorCode::claim_grant_expired,
                        "claim_reclaimed: the grant's time is over; ask for another");
    }
    ReclaimExecution granted = op;
    granted.grant_key = grant.grant_key;
    return engine_->run(std::move(granted));
}

}  // namespace ff
