// The operations on executions: what goes in, what comes out.
//
// An operation is a plain struct with a `Result` type and a `name`. The same structs serve the
// embedded engine, the decisions in core/ and (over the wire) a remote engine. Fields that a
// caller may leave out are optional or have defaults. Times given by callers are data, never
// clocks: the store's clock decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ff/error.h>
#include <ff/handle.h>
#include <ff/ids.h>
#include <ff/states.h>

namespace ff {

using Tags = std::map<std::string, std::string>;

/// Answer of an operation that has nothing to say beyond "done".
struct Done {
    bool operator==(const Done&) const = default;
};

// ------------------------------------------------------------------------------------- create

struct CreateResult {
    bool created = false;  ///< false: a duplicate; `execution_id` is the stored one
    ExecutionId execution_id;
    PublicState public_state = PublicState::waiting;  ///< meaningful when created
    bool operator==(const CreateResult&) const = default;
};

struct CreateExecution {
    using Result = CreateResult;
    static constexpr std::string_view name = "create_execution";

    std::optional<ExecutionId> execution_id;  ///< minted when absent
    std::string ns;
    std::string lane_id;
    std::string execution_kind;
    std::string input_payload;  ///< any bytes
    std::optional<std::string> payload_encoding;
    std::int32_t priority = 0;  ///< clamped to 0..9000; 0 takes the policy's
    std::string creator_identity;
    std::optional<std::string> idempotency_key;
    Tags tags;
    std::optional<std::string> policy;  ///< JSON; see Policy::to_json
    std::optional<TimestampMs> delay_until;
    std::optional<TimestampMs> execution_deadline_at;
    std::optional<std::uint16_t> partition_id;  ///< when given, must equal the id's index
};

// ---------------------------------------------------------------------------- leases and tasks

/// Names a lease: the fence triple, or as much of it as the caller has. Built from a Handle or a
/// ClaimedTask; operators leave the triple out.
struct LeaseRef {
    ExecutionId execution_id;
    std::optional<std::uint32_t> attempt_index;
    std::optional<LeaseId> lease_id;
    std::optional<std::uint64_t> lease_epoch;
    std::optional<AttemptId> attempt_id;
    std::optional<BackendTag> backend;       ///< of the handle it came from; checked when present
    bool suspended = false;                  ///< from a handle that suspend gave
    std::optional<DurationMs> lease_ttl_ms;  ///< of the handle: what renew extends by

    LeaseRef() = default;
    /// Without a fence; enough for operator overrides.
    explicit LeaseRef(ExecutionId id) : execution_id(id) {}
    LeaseRef(const Handle& h)  // NOLINT(google-explicit-constructor): a handle is a lease reference
        : execution_id(h.execution_id),
          attempt_index(h.attempt_index),
          lease_id(h.lease_id),
          lease_epoch(h.lease_epoch),
          attempt_id(h.attempt_id),
          backend(h.backend),
          suspended(h.kind == HandleKind::suspended),
          lease_ttl_ms(h.lease_ttl_ms > 0 ? std::optional(h.lease_ttl_ms) : std::nullopt) {}
};

/// One claimed execution: everything a worker needs to run it.
struct ClaimedTask {
    Handle handle;
    AttemptType attempt_type = AttemptType::initial;
    TimestampMs lease_expires_at = 0;
    std::string ns;
    std::string execution_kind;
    std::string input_payload;
    std::optional<std::string> payload_encoding;
    Tags tags;
    std::int32_t priority = 0;
    std::optional<FlowId> flow_id;
    std::optional<TimestampMs> attempt_deadline_at;
    std::optional<TimestampMs> execution_deadline_at;
    /// The frozen policy, normalised, with `fallback_index` when it has tiers; absent without one.
    std::optional<std::string> policy_snapshot;

    [[nodiscard]] const ExecutionId& execution_id() const { return handle.execution_id; }
    [[nodiscard]] bool resumed() const { return handle.kind == HandleKind::resumed; }
};

struct ClaimResult {
    std::vector<ClaimedTask> tasks;  ///< empty: nothing to do right now
};

/// Takes up to `max_tasks` executions at once, fewer when their payloads reach 8 MiB; with
/// `max_wait_ms` waits for the first.
struct Claim {
    using Result = ClaimResult;
    static constexpr std::string_view name = "claim";

    std::vector<std::string> lanes;  ///< 1..64, tried from a rotating start
    std::vector<std::string> capabilities;
    std::string worker_id;
    std::string worker_instance_id;
    DurationMs lease_ttl_ms = 30'000;
    DurationMs max_wait_ms = 0;      ///< 0..86,400,000
    std::uint32_t max_tasks = 1;     ///< 1..1000
    std::optional<std::string> ns;   ///< only this tenant
    std::vector<std::string> kinds;  ///< only these kinds, at most 256; empty: all
    /// Whoever waits has gone: a claim that still waits is answered at once, empty.
    std::stop_token abandoned;
};

// ------------------------------------------------------------------------------------- grants

/// Permission for one worker to turn one execution into a lease.
struct Grant {
    ExecutionId execution_id;
    GrantKind kind = GrantKind::claim;
    std::string grant_key;
    TimestampMs expires_at_ms = 0;
    std::string lane_id;
    std::uint32_t attempt_index = 0;  ///< the index the lease will have

    bool operator==(const Grant&) const = default;
    [[nodiscard]] std::string partition_key() const;
};

struct ClaimForWorkerResult {
    std::optional<Grant> grant;  ///< absent: nothing is admissible
};

struct ClaimForWorker {
    using Result = ClaimForWorkerResult;
    static constexpr std::string_view name = "claim_for_worker";

    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    std::vector<std::string> capabilities;
    DurationMs grant_ttl_ms = 5'000;  ///< 1..60000
    std::optional<std::string> ns;
};

struct IssueClaimGrant {
    using Result = Grant;
    static constexpr std::string_view name = "issue_claim_grant";

    ExecutionId execution_id;
    std::string lane_id;
    std::string worker_id;
    std::string worker_instance_id;
    std::vector<std::string> capabilities;
    DurationMs grant_ttl_ms = 5'000;
    std::optional<std::string> capability_hash;
    std::optional<std::string> route_snapshot_json;
    std::optional<std::string> admission_summary;
};

/// Turns a claim grant into a lease and a new attempt.
struct ClaimExecution {
    using Result = ClaimedTask;
    static constexpr std::string_view name = "claim_execution";

    ExecutionId execution_id;
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    DurationMs lease_ttl_ms = 30'000;
    std::optional<std::string> grant_key;  ///< when given, must be the live grant's
    std::optional<LeaseId> lease_id;       ///< minted when absent; makes the call repeatable
    std::optional<AttemptId> attempt_id;
};

/// Turns a resume grant into a lease on the interrupted attempt.
struct ClaimResumedExecution {
    using Result = ClaimedTask;
    static constexpr std::string_view name = "claim_resumed_execution";

    ExecutionId execution_id;
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    DurationMs lease_ttl_ms = 30'000;
    std::optional<std::string> grant_key;
    std::optional<LeaseId> lease_id;
};

struct OperatorLease {
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    std::uint32_t attempt_index = 0;
    Handle handle;
    bool operator==(const OperatorLease&) const = default;
};

/// An operator takes one named execution; capability and admission checks are skipped.
struct IssueGrantAndClaim {
    using Result = OperatorLease;
    static constexpr std::string_view name = "issue_grant_and_claim";

    ExecutionId execution_id;
    std::string lane_id;
    DurationMs lease_duration_ms = 30'000;
};

struct IssueReclaimGrantResult {
    enum class Status : std::uint8_t { granted, not_reclaimable, reclaim_cap_exceeded };
    Status status = Status::not_reclaimable;
    ExecutionId execution_id;
    std::optional<Grant> grant;
    std::string detail;
    std::uint32_t reclaim_count = 0;
};

struct IssueReclaimGrant {
    using Result = IssueReclaimGrantResult;
    static constexpr std::string_view name = "issue_reclaim_grant";

    ExecutionId execution_id;
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    DurationMs grant_ttl_ms = 5'000;
    std::vector<std::string> worker_capabilities;
    std::optional<std::string> capability_hash;
    std::optional<std::string> route_snapshot_json;
    std::optional<std::string> admission_summary;
};

struct ReclaimResult {
    enum class Status : std::uint8_t {
        claimed,
        not_reclaimable,
        reclaim_cap_exceeded,
        grant_not_found
    };
    Status status = Status::grant_not_found;
    ExecutionId execution_id;
    std::optional<ClaimedTask> task;
    std::string detail;
    std::uint32_t reclaim_count = 0;
};

struct ReclaimExecution {
    using Result = ReclaimResult;
    static constexpr std::string_view name = "reclaim_execution";

    ExecutionId execution_id;
    std::string worker_id;
    std::string worker_instance_id;
    std::string lane_id;
    DurationMs lease_ttl_ms = 30'000;
    std::optional<std::string> grant_key;  ///< when given, must be the live grant's
    std::optional<LeaseId> lease_id;
    std::optional<AttemptId> attempt_id;
    std::optional<std::uint32_t> max_reclaim_count;  ///< only for executions without a policy
};

// ------------------------------------------------------------------------------ while running

struct RenewResult {
    TimestampMs expires_at_ms = 0;
    std::uint64_t lease_epoch = 0;
    bool operator==(const RenewResult&) const = default;
};

struct Renew {
    using Result = RenewResult;
    static constexpr std::string_view name = "renew";

    LeaseRef lease;
    std::optional<DurationMs> lease_ttl_ms;  ///< absent: that of the handle, without one 30,000
};

struct Progress {
    using Result = Done;
    static constexpr std::string_view name = "progress";

    LeaseRef lease;
    std::optional<std::int32_t> percent;
    std::optional<std::string> message;
};

// ----------------------------------------------------------------- ending or pausing an attempt

/// Who asks, for calls that may come without a fence.
enum class Source : std::uint8_t { operator_override, lease_holder, internal };

struct StateResult {
    ExecutionId execution_id;
    PublicState public_state = PublicState::waiting;
    bool operator==(const StateResult&) const = default;
};

/// Ends the execution with success. Repeated, as after a lost answer, it answers the same: the
/// first result stays and that of the repetition is not looked at. A lease without its triple (see
/// LeaseRef) is an operator's call and ends whatever attempt is running; workers pass a Handle.
struct Complete {
    using Result = StateResult;
    static constexpr std::string_view name = "complete";

    LeaseRef lease;
    std::optional<std::string> result_payload;  ///< absent: no result; empty: an empty one
    std::optional<std::string> result_encoding;
    Source source = Source::operator_override;
};

struct FailResult {
    bool retry_scheduled = false;
    TimestampMs delay_until = 0;           ///< when a retry is scheduled
    std::uint32_t next_attempt_index = 0;  ///< when a retry is scheduled
    bool operator==(const FailResult&) const = default;
};

struct Fail {
    using Result = FailResult;
    static constexpr std::string_view name = "fail";

    LeaseRef lease;
    std::string failure_reason;
    std::string failure_category;  ///< transient, permanent, infra_crash, timeout, cancelled, …
    Source source = Source::operator_override;
};

struct CancelExecution {
    using Result = StateResult;
    static constexpr std::string_view name = "cancel_execution";

    LeaseRef lease;
    std::string reason;
    /// `operator_override`, `lease_holder`, or any other word; only the first needs no fence when
    /// the execution is active.
    std::string source = "operator_override";
};

struct Delay {
    using Result = StateResult;
    static constexpr std::string_view name = "delay";

    LeaseRef lease;
    TimestampMs delay_until = 0;
    Source source = Source::operator_override;
};

struct WaitChildren {
    using Result = StateResult;
    static constexpr std::string_view name = "wait_children";

    LeaseRef lease;
    Source source = Source::operator_override;
};

/// Gives the work back without ending the attempt.
struct Release {
    using Result = StateResult;
    static constexpr std::string_view name = "release";

    LeaseRef lease;
};

// ---------------------------------------------------------------------- losing and taking away

struct MarkLeaseExpiredResult {
    /// `marked`, or why not: `execution_not_found`, `not_active`, `already_expired`,
    /// `already_revoked`, `unowned`, `not_yet_expired`.
    std::string_view outcome;
};

struct MarkLeaseExpiredIfDue {
    using Result = MarkLeaseExpiredResult;
    static constexpr std::string_view name = "mark_lease_expired_if_due";

    ExecutionId execution_id;
};

struct RevokeResult {
    bool revoked = false;
    LeaseId lease_id;               ///< of the revoked lease
    std::uint64_t lease_epoch = 0;  ///< of the revoked lease
    std::string_view reason;        ///< when not revoked: why it was already so
};

struct RevokeLease {
    using Result = RevokeResult;
    static constexpr std::string_view name = "revoke_lease";

    ExecutionId execution_id;
    std::optional<LeaseId> expected_lease_id;
    std::optional<std::string> worker_instance_id;
    std::string reason = "operator_revoke";
};

// ------------------------------------------------------------------------------ operator changes

struct ChangePriority {
    using Result = StateResult;
    static constexpr std::string_view name = "change_priority";

    ExecutionId execution_id;
    std::int32_t new_priority = 0;
};

struct ReplayExecution {
    using Result = StateResult;
    static constexpr std::string_view name = "replay_execution";

    ExecutionId execution_id;
};

struct BlockResult {
    bool blocked = false;
    std::string message;  ///< why not
};

struct BlockExecution {
    using Result = BlockResult;
    static constexpr std::string_view name = "block_execution_for_admission";

    ExecutionId execution_id;
    std::string reason;  ///< a blocking_reason word
    std::optional<std::string> detail;
};

struct UnblockExecution {
    using Result = Done;
    static constexpr std::string_view name = "unblock_execution";

    ExecutionId execution_id;
    std::optional<std::string> expected_reason;
};

struct CountResult {
    std::uint32_t count = 0;
};

struct SetExecutionTags {
    using Result = CountResult;
    static constexpr std::string_view name = "set_execution_tags";

    ExecutionId execution_id;
    Tags tags;  ///< at least one; keys in the namespaced form
};

struct RemoveExecutionTag {
    using Result = CountResult;
    static constexpr std::string_view name = "remove_execution_tag";

    ExecutionId execution_id;
    std::string key;
};

// -------------------------------------------------------------------------------------- reads

struct ExecutionInfo {
    ExecutionId execution_id;
    std::string ns;
    std::string lane_id;
    std::string execution_kind;
    std::int32_t priority = 0;
    StateVector state;
    PublicState public_state = PublicState::waiting;
    std::string blocking_detail;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> started_at;
    std::optional<TimestampMs> completed_at;
    std::uint32_t current_attempt_index = 0;
    std::uint32_t total_attempt_count = 0;
    std::optional<FlowId> flow_id;
};

struct LeaseInfo {
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    std::uint32_t attempt_index = 0;
    std::string worker_id;
    std::string worker_instance_id;
    TimestampMs expires_at = 0;
    TimestampMs renewal_deadline = 0;
    TimestampMs last_heartbeat_at = 0;
};

struct ExecutionSnapshot {
    ExecutionInfo info;
    std::optional<AttemptId> current_attempt_id;
    std::optional<LeaseInfo> current_lease;
    std::optional<WaitpointId> current_waitpoint;
    std::uint32_t total_attempt_count = 0;
    std::uint32_t retry_count = 0;
    std::uint32_t replay_count = 0;
    std::uint32_t lease_reclaim_count = 0;
    std::uint64_t lease_epoch = 0;
    std::optional<TimestampMs> delay_until;
    std::optional<TimestampMs> execution_deadline_at;
    std::optional<TimestampMs> attempt_deadline_at;
    std::optional<std::string> failure_reason;
    std::optional<std::string> failure_category;
    std::optional<std::string> cancellation_reason;
    std::optional<std::string> cancelled_by;
    /// When a signal came with a token that proves nothing; not moved within a minute.
    std::optional<TimestampMs> last_hmac_validation_failed_at;
    std::optional<std::int32_t> progress_percent;
    std::optional<std::string> progress_message;
    std::optional<TimestampMs> progress_updated_at;
    TimestampMs last_transition_at = 0;
    TimestampMs last_mutation_at = 0;
    std::string creator_identity;
    std::optional<std::string> idempotency_key;
    std::optional<std::string> policy;
    std::vector<std::string> required_capabilities;
    Tags tags;
};

struct DescribeExecution {
    using Result = std::optional<ExecutionSnapshot>;
    static constexpr std::string_view name = "describe_execution";
    ExecutionId execution_id;
};

/// One tag; nothing when the execution has none of that key, or there is no such execution.
struct GetExecutionTag {
    using Result = std::optional<std::string>;
    static constexpr std::string_view name = "get_execution_tag";
    ExecutionId execution_id;
    std::string key;
};

/// Whose it is; nothing when there is no such execution.
struct GetExecutionNamespace {
    using Result = std::optional<std::string>;
    static constexpr std::string_view name = "get_execution_namespace";
    ExecutionId execution_id;
};

struct ReadExecutionInfo {
    using Result = ExecutionInfo;
    static constexpr std::string_view name = "read_execution_info";
    ExecutionId execution_id;
};

struct ReadExecutionState {
    using Result = PublicState;
    static constexpr std::string_view name = "read_execution_state";
    ExecutionId execution_id;
};

struct ExecutionResult {
    std::string payload;
    std::optional<std::string> encoding;
};

struct GetExecutionResult {
    using Result = std::optional<ExecutionResult>;
    static constexpr std::string_view name = "get_execution_result";
    ExecutionId execution_id;
};

struct ExecutionContext {
    std::string input_payload;
    std::optional<std::string> payload_encoding;
    std::string execution_kind;
    std::string ns;
    Tags tags;
};

struct ReadExecutionContext {
    using Result = ExecutionContext;
    static constexpr std::string_view name = "read_execution_context";
    ExecutionId execution_id;
};

struct AttemptCounters {
    std::uint32_t current_attempt_index = 0;  ///< 0 before the first claim
    std::uint32_t total_attempt_count = 0;    ///< the index the next fresh claim gets
};

struct ReadAttemptCounters {
    using Result = AttemptCounters;
    static constexpr std::string_view name = "read_attempt_counters";
    ExecutionId execution_id;
};

struct AttemptInfo {
    std::uint32_t attempt_index = 0;
    AttemptId attempt_id;
    AttemptType type = AttemptType::initial;
    AttemptLifecycle state = AttemptLifecycle::started;
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    std::string worker_id;
    std::string worker_instance_id;
    TimestampMs started_at = 0;
    std::optional<TimestampMs> resumed_at;
    std::optional<TimestampMs> suspended_at;
    std::optional<TimestampMs> ended_at;
    std::optional<std::string> suspension_id;
    std::optional<std::string> failure_reason;
    std::optional<std::string> failure_category;
    std::optional<std::string> reason;  ///< retry, reclaim or replay reason, by type
    std::optional<std::string> requested_by;
    std::optional<std::uint32_t> previous_attempt_index;
    std::uint64_t frame_count = 0;  ///< ever appended to its stream
};

struct ListAttempts {
    using Result = std::vector<AttemptInfo>;
    static constexpr std::string_view name = "list_attempts";
    ExecutionId execution_id;
};

struct ExecutionPage {
    std::vector<ExecutionId> executions;
    std::optional<ExecutionId> next_cursor;
};

/// One partition's executions, ascending by id.
struct ListExecutions {
    using Result = ExecutionPage;
    static constexpr std::string_view name = "list_executions";
    std::uint16_t partition = 0;
    std::optional<ExecutionId> cursor;  ///< exclusive
    std::uint32_t limit = 50;           ///< capped at 1000; 0: an empty page
};

struct SearchPage {
    std::vector<ExecutionInfo> items;
    /// Present while there may be more. A page may hold fewer than `limit` items and still have a
    /// cursor: each page examines a bounded number of rows.
    std::optional<std::string> next_cursor;
};

/// Executions by filter, newest first unless asked otherwise. All given filters must match.
struct SearchExecutions {
    using Result = SearchPage;
    static constexpr std::string_view name = "search_executions";
    std::optional<std::string> ns;
    std::optional<std::string> lane_id;
    std::optional<std::string> kind;
    std::optional<FlowId> flow_id;              ///< members of this flow only
    std::vector<PublicState> states;            ///< any of these; empty: all
    Tags tags;                                  ///< all of these, at most 16
    std::optional<TimestampMs> created_after;   ///< inclusive
    std::optional<TimestampMs> created_before;  ///< exclusive
    bool oldest_first = false;
    std::optional<std::string> cursor;  ///< of a page with the same filters and order
    std::uint32_t limit = 50;           ///< capped at 1000; 0: an empty page
};

struct ExpiredLease {
    ExecutionId execution_id;
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    std::string worker_instance_id;
    TimestampMs expires_at_ms = 0;
    std::uint32_t attempt_index = 0;
};

struct ExpiredLeaseCursor {
    TimestampMs expires_at_ms = 0;
    ExecutionId execution_id;
};

struct ExpiredLeasePage {
    std::vector<ExpiredLease> leases;
    std::optional<ExpiredLeaseCursor> next_cursor;
};

/// Leases past their time at `as_of`, marked or not, ordered by expiry then id text.
struct ListExpiredLeases {
    using Result = ExpiredLeasePage;
    static constexpr std::string_view name = "list_expired_leases";
    TimestampMs as_of = 0;
    std::optional<ExpiredLeaseCursor> after;
    std::uint32_t limit = 1000;  ///< capped at 10000
    std::optional<std::string> ns;
};

/// Why an execution is not running, in words and in facts.
struct Explanation {
    PublicState public_state = PublicState::waiting;
    BlockingReason blocking_reason = BlockingReason::none;
    std::string summary;               ///< one sentence for people
    std::optional<TimestampMs> until;  ///< when time alone will change it
    LaneState lane_state = LaneState::active;
    std::vector<std::string> required_capabilities;
    /// Tokens no single live worker of the namespace and lane supplies (of the best match).
    std::vector<std::string> missing_capabilities;
    std::uint32_t capable_workers = 0;   ///< live registered workers that could take it
    std::optional<std::uint64_t> ahead;  ///< ready before it on its lane, in its namespace;
                                         ///< counted to 10000
};

struct ExplainExecution {
    using Result = Explanation;
    static constexpr std::string_view name = "explain_execution";
    ExecutionId execution_id;
};

struct HistoryEntry {
    std::uint64_t event_id = 0;
    TimestampMs at = 0;
    std::string event;  ///< acquired, expired, reclaimed, revoked, released, replay_initiated
    std::optional<LeaseId> lease_id;
    std::uint64_t lease_epoch = 0;
    std::optional<std::uint32_t> attempt_index;
    std::optional<AttemptId> attempt_id;
    std::optional<std::string> worker_id;
    std::optional<std::string> worker_instance_id;
    std::optional<std::string> reason;
    std::optional<std::string> revoked_by;
    std::optional<std::string> outcome;            ///< of the completion this entry also was
    std::optional<LeaseId> old_lease_id;           ///< reclaimed: the lease that was lost
    std::optional<std::uint64_t> old_lease_epoch;  ///< reclaimed: the epoch of that lease
    std::optional<std::uint32_t> replay_count;     ///< of a replay: which it was, from 1 on
    std::optional<std::string> replay_type;        ///< of a replay: normal, skipped_flow_member
};

/// The newest entries of one execution's lease history, oldest first.
struct ReadLeaseHistory {
    using Result = std::vector<HistoryEntry>;
    static constexpr std::string_view name = "read_lease_history";
    ExecutionId execution_id;
    std::uint32_t limit = 1000;
};

}  // namespace ff
