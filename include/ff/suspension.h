// The operations of suspension: an execution waits for the outside world without a worker.
//
// A worker gives its lease back and the execution parks as `suspended` until signals satisfy its
// *resume condition*, an operator resumes it, or its time runs out. Signals arrive at a *waitpoint*
// and are proved by its token, a credential for whoever holds it. Spec 04 has every rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/executions.h>

namespace ff {

FF_WORD_ENUM(WaitpointState, pending, active, closed, expired)
/// What a suspension waits for; decides the blocking reason that people see.
FF_WORD_ENUM(SuspensionReason, waiting_for_signal, waiting_for_approval, waiting_for_callback,
             waiting_for_tool_result, waiting_for_operator_review, paused_by_policy,
             paused_by_budget, step_boundary, manual_pause)
FF_WORD_ENUM(SuspensionRequester, worker, operator_, policy, system_timeout_policy)
/// What happens when the time of a suspension runs out. `auto_resume` leaves no signal behind.
FF_WORD_ENUM(TimeoutBehavior, fail, cancel, expire, auto_resume_with_timeout_signal, escalate,
             auto_resume)
FF_WORD_ENUM(CountKind, distinct_waitpoints, distinct_signals, distinct_sources)
FF_WORD_ENUM(SignalMatchMode, any, all, count)
FF_WORD_ENUM(ResumeTrigger, signal, operator_, auto_resume)
/// What a signal did.
FF_WORD_ENUM(SignalEffect, resume_condition_satisfied, appended_to_waitpoint,
             appended_to_waitpoint_duplicate, signal_ignored_matcher_failed,
             signal_ignored_not_in_condition, no_op, buffered_for_pending_waitpoint)
FF_WORD_ENUM(SignalScope, waitpoint, execution)

// ------------------------------------------------------------------------------------- conditions

/// When the signals suffice. Made by the functions below; `to_json` and `parse` give the form of
/// spec 04 section 5.1.
struct ResumeCondition {
    enum class Kind : std::uint8_t {
        single,         ///< the first signal on a waitpoint that the matcher accepts
        operator_only,  ///< nothing but an operator (or the timeout)
        timeout_only,   ///< nothing but the timeout
        all_of,         ///< every member
        count,          ///< `n` distinct satisfiers among some waitpoints
        signal_set,     ///< named signals on one waitpoint
    };

    Kind kind = Kind::single;
    std::string waitpoint_key;  ///< single, signal_set; empty: that of the only waitpoint
    std::optional<std::string> signal_name;  ///< single, count; absent: any
    std::vector<ResumeCondition> members;    ///< all_of
    std::uint32_t n = 1;                     ///< count
    CountKind count_kind = CountKind::distinct_signals;
    std::vector<std::string> waitpoints;             ///< count; an empty key: the only waitpoint
    std::vector<std::string> required_signal_names;  ///< signal_set; empty: any signal
    SignalMatchMode signal_match_mode = SignalMatchMode::any;
    std::uint32_t minimum_signal_count = 1;

    bool operator==(const ResumeCondition&) const = default;

    static ResumeCondition single(std::string key, std::optional<std::string> signal_name = {});
    static ResumeCondition operator_only();
    static ResumeCondition timeout_only();
    static ResumeCondition all_of(std::vector<ResumeCondition> members);
    static ResumeCondition count(std::uint32_t n, CountKind kind, std::vector<std::string> keys,
                                 std::optional<std::string> signal_name = {});
    static ResumeCondition signal_set(std::string key, std::vector<std::string> names,
                                      SignalMatchMode mode = SignalMatchMode::any,
                                      std::uint32_t minimum = 1);

    // `any_signal("approved").from_distinct_sources(2)`: how many of them, told apart by what. Of
    // a single or a count; `times` of a signal set, too. Others stay as they are.
    [[nodiscard]] ResumeCondition from_distinct_sources(std::uint32_t n) const;
    [[nodiscard]] ResumeCondition times(std::uint32_t n) const;
    /// On this waitpoint rather than the only one; so are all members.
    [[nodiscard]] ResumeCondition on(std::string key) const;
    /// The keys it names, in the order of the tree, none twice. Empty: the only waitpoint.
    [[nodiscard]] std::vector<std::string> waitpoint_keys() const;

    [[nodiscard]] std::string to_json() const;
    /// `invalid_input` naming the place.
    static expected<ResumeCondition> parse(std::string_view text);
};

/// Any signal of that name, on the suspension's only waitpoint.
ResumeCondition any_signal(std::string name);
/// Any signal at all.
ResumeCondition any_signal();

/// Kept and returned as it is. Today `resume_delay_ms` has an effect; waitpoints always close and
/// the ledger always keeps its signals.
struct ResumePolicy {
    bool consume_matched_signals = true;
    bool retain_signal_buffer_until_closed = false;
    std::optional<DurationMs> resume_delay_ms;
    bool close_waitpoint_on_resume = true;
    bool operator==(const ResumePolicy&) const = default;
};

// ---------------------------------------------------------------------------- under a lease: wait

/// A waitpoint as its maker gets it. The token is a credential: whoever has it may signal.
struct WaitpointTicket {
    WaitpointId waitpoint_id;
    std::string waitpoint_key;
    std::string waitpoint_token;
    bool operator==(const WaitpointTicket&) const = default;
};

/// Makes a waitpoint ahead of the suspension, so that an answer which comes early is not lost.
struct CreateWaitpoint {
    using Result = WaitpointTicket;
    static constexpr std::string_view name = "create_waitpoint";

    LeaseRef lease;
    std::string waitpoint_key;
    DurationMs expires_in_ms = 0;
};

/// A waitpoint of a suspension: a new one, or one made before by create_waitpoint.
struct WaitpointBinding {
    std::optional<WaitpointId> waitpoint_id;  ///< minted for a new one when absent
    std::string waitpoint_key;  ///< of a new one; the first takes the condition's when empty
    bool use_pending = false;

    bool operator==(const WaitpointBinding&) const = default;
    static WaitpointBinding fresh(std::string key = {}) {
        return {std::nullopt, std::move(key), false};
    }
    static WaitpointBinding pending(WaitpointId id) { return {id, {}, true}; }
};

struct SuspensionDetails {
    SuspensionId suspension_id;
    WaitpointTicket waitpoint;  ///< the first
    std::vector<WaitpointTicket> additional;
    bool operator==(const SuspensionDetails&) const = default;
};

struct SuspendResult {
    /// false: signals that came early satisfy the condition. The lease stays.
    bool suspended = false;
    SuspensionDetails details;
    std::optional<Handle> handle;  ///< good for observe_signals; present when suspended
    bool operator==(const SuspendResult&) const = default;
};

/// Gives the lease back until the condition is met. Without an attempt index in `lease` the current
/// one is meant.
struct Suspend {
    using Result = SuspendResult;
    static constexpr std::string_view name = "suspend";

    LeaseRef lease;
    std::optional<SuspensionId> suspension_id;  ///< minted when absent
    std::vector<WaitpointBinding> waitpoints{WaitpointBinding{}};
    ResumeCondition resume_condition;
    ResumePolicy resume_policy;
    SuspensionReason reason_code = SuspensionReason::waiting_for_signal;
    SuspensionRequester requested_by = SuspensionRequester::worker;
    std::optional<TimestampMs> timeout_at;  ///< the policy's default when absent
    TimeoutBehavior timeout_behavior = TimeoutBehavior::fail;
    std::optional<std::string> continuation_metadata_pointer;
    std::string idempotency_key;  ///< empty: none
};

/// Closes a pending waitpoint nobody needs any more.
struct CloseWaitpoint {
    using Result = Done;
    static constexpr std::string_view name = "close_waitpoint";

    LeaseRef lease;
    WaitpointId waitpoint_id;
    std::string reason = "proactive_close";
};

// ---------------------------------------------------------------------------------------- signals

struct SignalResult {
    bool duplicate = false;
    SignalId signal_id;  ///< of the one that was accepted first, when a duplicate
    SignalEffect effect = SignalEffect::no_op;
    bool operator==(const SignalResult&) const = default;
};

struct DeliverSignal {
    using Result = SignalResult;
    static constexpr std::string_view name = "deliver_signal";

    ExecutionId execution_id;
    WaitpointId waitpoint_id;
    std::optional<SignalId> signal_id;  ///< minted when absent
    std::string signal_name;
    std::string signal_category = "default";
    std::string source_type = "external";
    std::string source_identity;
    SignalScope target_scope = SignalScope::execution;
    std::string waitpoint_token;
    std::optional<std::string> payload;  ///< any bytes, at most 65,536
    std::string payload_encoding = "json";
    std::string correlation_id;
    std::string idempotency_key;
    std::optional<TimestampMs> created_at;  ///< the sender's; recorded, nothing more
    DurationMs dedup_ttl_ms = 86'400'000;
    std::optional<DurationMs> resume_delay_ms;
    std::uint32_t signal_maxlen = 1'000;
    std::optional<std::uint32_t> max_signals_per_execution;  ///< may only lower the policy's
};

/// An operator's answer; no token is needed.
struct DeliverApprovalSignal {
    using Result = SignalResult;
    static constexpr std::string_view name = "deliver_approval_signal";

    ExecutionId execution_id;
    std::string lane_id;
    WaitpointId waitpoint_id;
    std::string signal_name;  ///< `approved` or `rejected` by convention
    std::string idempotency_suffix;
    DurationMs signal_dedup_ttl_ms = 86'400'000;
    std::optional<std::uint32_t> maxlen;
    std::optional<std::uint32_t> max_signals_per_execution;
    std::optional<SignalId> signal_id;  ///< minted when absent
    std::string actor;                  ///< who answers; two of them count as two sources
    std::optional<std::string> note;    ///< the payload of the signal
};

/// An operator ends the wait.
struct ResumeExecution {
    using Result = StateResult;
    static constexpr std::string_view name = "resume_execution";

    ExecutionId execution_id;
    ResumeTrigger trigger_type = ResumeTrigger::signal;
    DurationMs resume_delay_ms = 0;
    std::string actor;
    std::string reason;  ///< for those who read it later
};

struct ExpireSuspensionResult {
    /// Absent: nothing was due, and `reason` says why.
    std::optional<TimeoutBehavior> behavior_applied;
    std::string reason;
    bool operator==(const ExpireSuspensionResult&) const = default;
};

/// Applies the timeout of a suspension that is past due. Time does it by itself.
struct ExpireSuspension {
    using Result = ExpireSuspensionResult;
    static constexpr std::string_view name = "expire_suspension";

    ExecutionId execution_id;
};

// ------------------------------------------------------------------------------------------- keys

struct SeedKeyResult {
    bool seeded = false;       ///< false: that key was there already
    bool same_secret = false;  ///< of the one that was there
    std::string kid;
    bool operator==(const SeedKeyResult&) const = default;
};

/// Installs the first signing key; never overwrites.
struct SeedWaitpointKey {
    using Result = SeedKeyResult;
    static constexpr std::string_view name = "seed_waitpoint_key";

    std::string kid;
    std::string secret_hex;  ///< 64 hex digits
};

struct RotateKeyResult {
    bool rotated = false;  ///< false: that key was current already
    std::optional<std::string> previous_kid;
    std::string new_kid;
    std::uint64_t gc_count = 0;                    ///< retired keys that were past their time
    std::uint64_t waitpoints_outliving_grace = 0;  ///< open ones whose token will stop working
    bool operator==(const RotateKeyResult&) const = default;
};

/// Makes a new key the signing one; the old one verifies for `grace_ms` more.
struct RotateWaitpointKey {
    using Result = RotateKeyResult;
    static constexpr std::string_view name = "rotate_waitpoint_key";

    std::string new_kid;
    std::string new_secret_hex;
    std::int64_t grace_ms = 86'400'000;
};

struct KeyList {
    struct Retired {
        std::string kid;
        TimestampMs expires_at_ms = 0;
        bool operator==(const Retired&) const = default;
    };
    std::optional<std::string> current_kid;
    std::vector<Retired> verifying;  ///< retired keys that still verify, by expiry
    bool operator==(const KeyList&) const = default;
};

struct ListWaitpointKeys {
    using Result = KeyList;
    static constexpr std::string_view name = "list_waitpoint_keys";
};

// ------------------------------------------------------------------------------------------ reads

/// A waitpoint as anybody may see it: the token stays hidden.
struct WaitpointInfo {
    WaitpointId waitpoint_id;
    std::string waitpoint_key;
    WaitpointState state = WaitpointState::pending;
    std::vector<std::string> required_signal_names;  ///< empty: any
    TimestampMs created_at = 0;
    std::optional<TimestampMs> activated_at;
    std::optional<TimestampMs> expires_at;
    ExecutionId execution_id;
    std::string token_kid;
    std::string token_fingerprint;  ///< the first 16 digits
    std::uint64_t signal_count = 0;
    std::uint64_t matched_signal_count = 0;
    bool operator==(const WaitpointInfo&) const = default;
};

struct WaitpointPage {
    std::vector<WaitpointInfo> waitpoints;
    std::optional<WaitpointId> next_cursor;
};

/// The open waitpoints of an execution, by id.
struct ListPendingWaitpoints {
    using Result = WaitpointPage;
    static constexpr std::string_view name = "list_pending_waitpoints";

    ExecutionId execution_id;
    std::optional<WaitpointId> after;
    std::uint32_t limit = 100;  ///< clamped to 1..1000
};

/// The waitpoint of that id, whatever its state, wherever it is.
struct FindWaitpoint {
    using Result = std::optional<WaitpointInfo>;
    static constexpr std::string_view name = "find_waitpoint";

    WaitpointId waitpoint_id;
};

/// The token of an open waitpoint. Privileged.
struct ReadWaitpointToken {
    using Result = std::optional<std::string>;
    static constexpr std::string_view name = "read_waitpoint_token";

    ExecutionId execution_id;
    WaitpointId waitpoint_id;
};

/// One episode of waiting.
struct SuspensionInfo {
    SuspensionId suspension_id;
    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    WaitpointId waitpoint_id;
    std::string waitpoint_key;
    std::vector<std::pair<WaitpointId, std::string>> additional_waitpoints;  ///< id and key
    std::string reason_code;
    SuspensionRequester requested_by = SuspensionRequester::worker;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> timeout_at;
    std::optional<TimeoutBehavior> timeout_behavior;
    ResumeCondition resume_condition;
    ResumePolicy resume_policy;
    std::optional<std::string> continuation_metadata_pointer;
    std::optional<TimestampMs> last_signal_at;
    std::optional<TimestampMs> satisfied_at;
    std::optional<TimestampMs> closed_at;
    std::optional<std::string> close_reason;
    std::optional<ResumeTrigger> resume_trigger;
    std::optional<std::string> resumed_by;
    std::optional<SignalId> closer_signal_id;
    std::vector<SignalId> all_satisfier_signals;
    std::optional<TimestampMs> escalated_at;
    std::optional<DurationMs> remaining_attempt_timeout_ms;
    bool operator==(const SuspensionInfo&) const = default;
};

/// The suspensions of an execution, oldest first.
struct ListSuspensions {
    using Result = std::vector<SuspensionInfo>;
    static constexpr std::string_view name = "list_suspensions";

    ExecutionId execution_id;
    std::optional<std::uint32_t> latest;  ///< only so many, the latest
};

struct SuspendedEntry {
    ExecutionId execution_id;
    /// What the list is sorted by: the deadline, or 9999999999999.
    TimestampMs suspended_at_ms = 0;
    TimestampMs suspended_since_ms = 0;
    std::string reason;
    std::string lane_id;
    std::string ns;
    std::string execution_kind;
    WaitpointId waitpoint_id;  ///< the first
    bool operator==(const SuspendedEntry&) const = default;
};

struct SuspendedPage {
    std::vector<SuspendedEntry> entries;
    std::optional<std::string> next_cursor;
};

/// Executions that are suspended, those whose time runs out first at the head.
struct ListSuspended {
    using Result = SuspendedPage;
    static constexpr std::string_view name = "list_suspended";

    std::optional<std::uint16_t> partition;
    std::optional<std::string> lane_id;
    std::optional<std::string> ns;
    /// The page's `next_cursor`; the id of an execution that is still suspended works, too.
    std::optional<std::string> cursor;
    std::uint32_t limit = 100;  ///< at most 1000
};

struct SignalInfo {
    std::uint64_t seq = 0;
    SignalId signal_id;
    ExecutionId execution_id;
    WaitpointId waitpoint_id;
    SignalScope target_scope = SignalScope::execution;
    std::string signal_name;
    std::string signal_category;
    std::string source_type;
    std::string source_identity;
    std::string correlation_id;
    std::string idempotency_key;
    TimestampMs created_at = 0;
    TimestampMs accepted_at = 0;
    std::optional<std::string> payload;
    std::string payload_encoding;
    SignalEffect observed_effect = SignalEffect::no_op;
    bool matched = false;
    bool operator==(const SignalInfo&) const = default;
};

struct SignalPage {
    std::vector<SignalInfo> signals;
    std::optional<std::uint64_t> next_after_seq;
};

/// The ledger of an execution: every signal it ever accepted.
struct ListSignals {
    using Result = SignalPage;
    static constexpr std::string_view name = "list_signals";

    ExecutionId execution_id;
    std::uint64_t after_seq = 0;
    std::uint32_t limit = 100;  ///< clamped to 1..1000
    /// Payloads are told, too. A page then ends before 8 MiB of them, but has one signal at least.
    bool with_payload = false;
    std::optional<SignalId> signal_id;  ///< only the one of that id
};

/// The signals that ended the latest suspension of an attempt; empty when signals did not.
struct ObserveSignals {
    using Result = std::vector<SignalInfo>;
    static constexpr std::string_view name = "observe_signals";

    ExecutionId execution_id;
    std::optional<std::uint32_t> attempt_index;  ///< the current one when absent
};

}  // namespace ff
