// Client: hands work over and looks after it, on any Engine.
//
//   ff::Client client(engine, {.ns = "acme"});
//   const auto id = client.submit(ff::Submit("fetch", Job{"https://x"}).lane("web")).id();
//   const Out out = client.wait(id, 30s).as<Out>();
//
// A cheap handle: an engine and a namespace. Copies share the engine; all calls may come from any
// thread, but not from inside an engine's callback, as they wait for their answer. Every call that
// throws ff::Exception has a twin `try_…` that gives expected<T>.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/codec.h>
#include <ff/engine.h>
#include <ff/exception.h>
#include <ff/listing.h>
#include <ff/submit.h>

namespace ff {

struct ClientOptions {
    std::string ns = "default";
    std::string creator;           ///< of what is submitted without its own
    std::shared_ptr<Clock> clock;  ///< for Submit::delay and grants; the system's when absent
};

/// What became of a submit: made now, or a duplicate of one made before.
class Submitted {
  public:
    explicit Submitted(CreateResult result) : result_(std::move(result)) {}
    [[nodiscard]] const ExecutionId& id() const { return result_.execution_id; }
    [[nodiscard]] bool created() const { return result_.created; }
    /// `waiting` or `delayed`; meaningful when created.
    [[nodiscard]] PublicState state() const { return result_.public_state; }

  private:
    CreateResult result_;
};

/// How an execution ended.
struct Finished {
    ExecutionId id;
    PublicState state = PublicState::completed;
    std::optional<ExecutionResult> result;  ///< of a completed one that had any
    std::string reason;                     ///< why it failed, expired or was cancelled
    std::string category;                   ///< of a failure

    [[nodiscard]] bool completed() const { return state == PublicState::completed; }
    /// The result's bytes; empty when there is none.
    [[nodiscard]] std::string bytes() const { return result ? result->payload : std::string(); }
    /// The result decoded from JSON, or as it stands for std::string. `terminal` when there is
    /// none because the execution did not complete.
    template <class T>
    [[nodiscard]] expected<T> try_as() const {
        FF_TRY(const ExecutionResult* found, decodable(std::same_as<T, std::string>));
        if constexpr (std::same_as<T, std::string>) {
            return found->payload;
        } else {
            return decode_json<T>(found->payload);
        }
    }
    template <class T>
    [[nodiscard]] T as() const {
        return value_or_throw(try_as<T>());
    }

  private:
    [[nodiscard]] expected<const ExecutionResult*> decodable(bool any_encoding) const;
};

class Client {
  public:
    explicit Client(std::shared_ptr<Engine> engine, ClientOptions options = {});

    [[nodiscard]] Engine& engine() const { return *engine_; }
    [[nodiscard]] const std::string& ns() const { return options_.ns; }

    // -------------------------------------------------------------------------- executions

    Submitted submit(const Submit& request) { return value_or_throw(try_submit(request)); }
    expected<Submitted> try_submit(const Submit& request);
    /// Many at once, answered in their order; they share transactions.
    std::vector<expected<Submitted>> try_submit_all(const std::vector<Submit>& requests);

    /// Everything about it; nothing when there is no such execution.
    std::optional<ExecutionSnapshot> inspect(const ExecutionId& id) {
        return value_or_throw(try_inspect(id));
    }
    expected<std::optional<ExecutionSnapshot>> try_inspect(const ExecutionId& id);
    /// The result's bytes; nothing while there is none.
    std::optional<std::string> result(const ExecutionId& id) {
        return value_or_throw(try_result(id));
    }
    expected<std::optional<std::string>> try_result(const ExecutionId& id);
    /// What it was submitted with; nothing when there is no such execution.
    std::optional<ExecutionContext> read_context(const ExecutionId& id) {
        return value_or_throw(try_read_context(id));
    }
    expected<std::optional<ExecutionContext>> try_read_context(const ExecutionId& id);

    /// Waits until it has ended, in whatever way. `timeout` when it has not by then. Faults that
    /// may pass (see Exception::retryable) are waited out.
    Finished wait(const ExecutionId& id, std::chrono::milliseconds timeout) {
        return value_or_throw(try_wait(id, timeout));
    }
    expected<Finished> try_wait(const ExecutionId& id, std::chrono::milliseconds timeout);

    StateResult cancel(const ExecutionId& id, const std::string& reason) {
        return value_or_throw(try_cancel(id, reason));
    }
    expected<StateResult> try_cancel(const ExecutionId& id, const std::string& reason);
    /// Runs a finished one again.
    StateResult replay(const ExecutionId& id) { return value_or_throw(try_replay(id)); }
    expected<StateResult> try_replay(const ExecutionId& id);
    StateResult change_priority(const ExecutionId& id, std::int32_t priority) {
        return value_or_throw(try_change_priority(id, priority));
    }
    expected<StateResult> try_change_priority(const ExecutionId& id, std::int32_t priority);
    /// Takes a lease away; the execution can be claimed again.
    RevokeResult revoke_lease(const ExecutionId& id,
                              const std::string& reason = "operator_revoke") {
        return value_or_throw(try_revoke_lease(id, reason));
    }
    expected<RevokeResult> try_revoke_lease(const ExecutionId& id,
                                            const std::string& reason = "operator_revoke");

    // ------------------------------------------------------------------------------- lists
    // Of the client's namespace, unless the filter names another.

    Listing<ExecutionInfo> executions(SearchExecutions filter = {});
    Listing<LaneInfo> lanes();
    /// The live ones.
    Listing<WorkerInfo> workers();
    /// Leases past their time at `as_of`; now when absent.
    Listing<ExpiredLease> expired_leases(std::optional<TimestampMs> as_of = {});

    // ------------------------------------------------------------------------------- admin

    /// A grant for one worker, which turns it into a lease: Worker::take.
    std::optional<Grant> claim_for_worker(ClaimForWorker op) {
        return value_or_throw(try_claim_for_worker(std::move(op)));
    }
    expected<std::optional<Grant>> try_claim_for_worker(ClaimForWorker op);
    /// The same for an execution whose worker has lost its lease.
    IssueReclaimGrantResult issue_reclaim_grant(const IssueReclaimGrant& op) {
        return value_or_throw(try_issue_reclaim_grant(op));
    }
    expected<IssueReclaimGrantResult> try_issue_reclaim_grant(const IssueReclaimGrant& op);
    /// Uses a reclaim grant. Refused here, before the grant is touched: a grant of another kind,
    /// execution or lane than `op` names (`invalid_input`), or past its time
    /// (`claim_grant_expired`).
    ReclaimResult claim_reclaimed(const Grant& grant, const ReclaimExecution& op) {
        return value_or_throw(try_claim_reclaimed(grant, op));
    }
    expected<ReclaimResult> try_claim_reclaimed(const Grant& grant, const ReclaimExecution& op);

  private:
    struct Partitions;

    expected<PartitionCounts> partitions();
    expected<CreateExecution> prepare(const Submit& request);
    static expected<Submitted> submitted(const Submit& request, const ExecutionId& minted,
                                         expected<CreateResult> answer);

    // Fixed after construction.
    std::shared_ptr<Engine> engine_;
    ClientOptions options_;
    std::shared_ptr<Partitions> partitions_;  ///< asked for once, shared by copies
};

}  // namespace ff
