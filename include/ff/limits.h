// Limits on work: budgets count what is consumed, quota policies count what is started.
//
// Both stand between an execution that could run and a worker. A claim asks them; who is refused is
// blocked, with the reason, and comes back when the cause clears. Limits apply to executions by the
// ids in their policy, and by attachments to the execution, its flow, its lane or its namespace.
// All amounts are at most 2^63 - 1; sums stop there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/executions.h>

namespace ff {

/// Amounts by dimension: `{"tokens": 30, "cents": 2}`.
using Amounts = std::map<std::string, std::uint64_t>;

inline constexpr std::uint64_t amount_max = 9'223'372'036'854'775'807U;
inline constexpr std::size_t dimension_bytes_max = 128;
inline constexpr std::size_t dimensions_max = 64;
inline constexpr std::size_t limits_per_target_max = 16;
inline constexpr DurationMs usage_dedup_ms = 86'400'000;
inline constexpr DurationMs reset_interval_ms_max = 315'360'000'000;  // ten years

FF_WORD_ENUM(EnforcementMode, strict, advisory)
/// What happens beside the refusal: nothing; workers fail their task; the engine cancels.
FF_WORD_ENUM(OnHardLimit, reject, fail, cancel)
/// What happens past a soft limit: a warning; nothing; or nothing new starts, and workers hand
/// their task back, until somebody approves that it goes on to the hard limit.
FF_WORD_ENUM(OnSoftLimit, warn, none, approve)
/// What a limit may be attached to.
FF_WORD_ENUM(LimitTarget, execution, flow, lane, namespace_)

/// 0: no limit of that kind.
struct BudgetLimit {
    std::uint64_t hard = 0;
    std::uint64_t soft = 0;

    bool operator==(const BudgetLimit&) const = default;
};
using BudgetLimits = std::map<std::string, BudgetLimit>;

// ----------------------------------------------------------------------------------- budgets

struct CreateBudgetResult {
    BudgetId budget_id;
    bool created = false;
    bool definition_matches = true;  ///< of one that was there: is it the same?

    bool operator==(const CreateBudgetResult&) const = default;
};

/// Defines a budget. One that is there stays as it is.
struct CreateBudget {
    using Result = CreateBudgetResult;
    static constexpr std::string_view name = "create_budget";

    BudgetId budget_id;
    /// `execution`, `flow`, `lane` and `namespace` make it apply to what `scope_id` names; any
    /// other type only describes it.
    std::string scope_type;
    std::string scope_id;
    std::string enforcement_mode = "strict";  ///< `advisory`, `soft`: it refuses nothing
    std::string on_hard_limit = "reject";     ///< `fail`, `cancel`
    std::string on_soft_limit = "warn";       ///< `none`, `approve`
    DurationMs reset_interval_ms = 0;         ///< 0: never resets by itself
    // Parallel.
    std::vector<std::string> dimensions;
    std::vector<std::uint64_t> hard_limits;
    std::vector<std::uint64_t> soft_limits;
};

/// Replaces the limits of the named dimensions; others and all usage stay.
struct UpdateBudgetLimits {
    using Result = Done;
    static constexpr std::string_view name = "update_budget_limits";

    BudgetId budget_id;
    BudgetLimits limits;
};

FF_WORD_ENUM(UsageOutcome, ok, already_applied, soft_breach, hard_breach)

struct UsageResult {
    UsageOutcome outcome = UsageOutcome::ok;
    // Of a breach: `current_usage` is before a refused report, and after one that counted.
    std::string dimension;
    std::uint64_t current_usage = 0;
    std::uint64_t limit = 0;
    OnHardLimit on_hard_limit = OnHardLimit::reject;  ///< of a hard breach
    bool needs_approval = false;                      ///< of a soft breach: see OnSoftLimit

    bool operator==(const UsageResult&) const = default;
};

/// Reports what an attempt has consumed. Needs no live lease: what was consumed is consumed. What
/// its claim reserved is drawn on first, and always suffices for as much.
struct ReportUsage {
    using Result = UsageResult;
    static constexpr std::string_view name = "report_usage";

    LeaseRef lease;
    BudgetId budget_id;
    Amounts dimensions;
    // Dimensions of their own when they are not 0.
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;
    std::uint64_t wall_ms = 0;
    std::string dedup_key;  ///< a report with a key that was taken within a day counts once
    bool settle = false;    ///< no more will come: what is left of the reservation goes back now
};

/// The same for operators, of nobody in particular.
struct ReportUsageAdmin {
    using Result = UsageResult;
    static constexpr std::string_view name = "report_usage_admin";

    BudgetId budget_id;
    Amounts dimensions;
    std::string dedup_key;
};
/// From parallel arrays; what is named twice is summed. `invalid_input` when they differ in length.
expected<Amounts> amounts_of(const std::vector<std::string>& dimensions,
                             const std::vector<std::uint64_t>& deltas);

/// A report that is also written down for the execution, so that it can be released.
struct RecordSpend {
    using Result = UsageResult;
    static constexpr std::string_view name = "record_spend";

    BudgetId budget_id;
    ExecutionId execution_id;
    Amounts deltas;
    std::string idempotency_key;
};

struct ReleaseBudgetResult {
    bool released = false;  ///< was anything written down for it?
    bool operator==(const ReleaseBudgetResult&) const = default;
};

/// Takes back what record_spend() wrote down for the execution, no more.
struct ReleaseBudget {
    using Result = ReleaseBudgetResult;
    static constexpr std::string_view name = "release_budget";

    BudgetId budget_id;
    ExecutionId execution_id;
};

struct ResetBudgetResult {
    TimestampMs next_reset_at = 0;  ///< 0: none is scheduled
    bool operator==(const ResetBudgetResult&) const = default;
};

/// All usage becomes 0; a new period begins.
struct ResetBudget {
    using Result = ResetBudgetResult;
    static constexpr std::string_view name = "reset_budget";

    BudgetId budget_id;
};

struct ApproveBudgetResult {
    bool changed = false;  ///< false: it was approved already
    bool operator==(const ApproveBudgetResult&) const = default;
};

/// Lets what a budget covers go on past its soft limits, to the hard ones, until the next reset.
/// May come before the limit is reached.
struct ApproveBudget {
    using Result = ApproveBudgetResult;
    static constexpr std::string_view name = "approve_budget";

    BudgetId budget_id;
    std::string actor;  ///< who approves; stands in the event
};

struct BudgetStatus {
    BudgetId budget_id;
    std::string scope_type;
    std::string scope_id;
    EnforcementMode enforcement_mode = EnforcementMode::strict;
    Amounts usage;
    Amounts reserved;  ///< by those who run
    Amounts hard_limits;
    Amounts soft_limits;
    OnSoftLimit on_soft_limit = OnSoftLimit::warn;
    bool approved = false;  ///< in this period
    std::uint64_t breach_count = 0;
    std::uint64_t soft_breach_count = 0;
    std::optional<TimestampMs> last_breach_at;
    std::optional<std::string> last_breach_dim;
    std::optional<TimestampMs> next_reset_at;
    TimestampMs created_at = 0;

    bool operator==(const BudgetStatus&) const = default;
};

/// `budget_not_found` when there is none.
struct GetBudgetStatus {
    using Result = BudgetStatus;
    static constexpr std::string_view name = "get_budget_status";

    BudgetId budget_id;
};

struct BudgetPage {
    std::vector<BudgetStatus> budgets;
    std::optional<BudgetId> next_cursor;

    bool operator==(const BudgetPage&) const = default;
};

/// Budgets by id. A page of a filtered list may be short and still have a cursor.
struct ListBudgets {
    using Result = BudgetPage;
    static constexpr std::string_view name = "list_budgets";

    std::optional<std::string> scope_type;
    std::optional<std::string> scope_id;
    std::optional<BudgetId> cursor;
    std::uint32_t limit = 100;  ///< 1..1,000
};

struct SpendEntry {
    ExecutionId execution_id;
    std::uint64_t reset_epoch = 0;  ///< the period it was spent in; older ones count no more
    Amounts spent;
    TimestampMs updated_at = 0;

    bool operator==(const SpendEntry&) const = default;
};
struct SpendPage {
    std::uint64_t reset_epoch = 0;  ///< the present period
    std::vector<SpendEntry> entries;
    std::optional<ExecutionId> next_cursor;

    bool operator==(const SpendPage&) const = default;
};

/// What record_spend() has written down, by execution.
struct ListSpend {
    using Result = SpendPage;
    static constexpr std::string_view name = "list_spend";

    BudgetId budget_id;
    std::optional<ExecutionId> cursor;
    std::uint32_t limit = 100;  ///< 1..1,000
};

struct AttachmentResult {
    bool changed = false;  ///< false: it was so already
    bool operator==(const AttachmentResult&) const = default;
};

/// `target_id` is an execution id, a flow id, a lane or a namespace.
struct AttachBudget {
    using Result = AttachmentResult;
    static constexpr std::string_view name = "attach_budget";

    BudgetId budget_id;
    LimitTarget target_type = LimitTarget::execution;
    std::string target_id;
};
struct DetachBudget {
    using Result = AttachmentResult;
    static constexpr std::string_view name = "detach_budget";

    BudgetId budget_id;
    LimitTarget target_type = LimitTarget::execution;
    std::string target_id;
};

// ------------------------------------------------------------------------------------ quotas

/// What a policy limits; 0 is no limit of that kind.
struct QuotaLimits {
    std::uint64_t window_seconds = 0;  ///< 0: 60, when starts are limited
    std::uint64_t max_requests_per_window = 0;
    std::uint64_t max_concurrent = 0;
    std::uint64_t jitter_ms = 0;  ///< spreads those who come back over so long
    /// Each `limit_key` has these limits for itself; who carries no key is not limited. An update
    /// does not change it.
    bool per_key = false;

    bool operator==(const QuotaLimits&) const = default;
};

struct CreateQuotaResult {
    QuotaPolicyId quota_policy_id;
    bool created = false;
    bool definition_matches = true;

    bool operator==(const CreateQuotaResult&) const = default;
};

/// Defines a policy. One that is there stays as it is.
struct CreateQuotaPolicy {
    using Result = CreateQuotaResult;
    static constexpr std::string_view name = "create_quota_policy";

    QuotaPolicyId quota_policy_id;
    QuotaLimits limits;
};

struct UpdateQuotaPolicy {
    using Result = Done;
    static constexpr std::string_view name = "update_quota_policy";

    QuotaPolicyId quota_policy_id;
    QuotaLimits limits;
};

/// Who waited for it goes on.
struct DeleteQuotaPolicy {
    using Result = Done;
    static constexpr std::string_view name = "delete_quota_policy";

    QuotaPolicyId quota_policy_id;
};

struct QuotaPolicyInfo {
    QuotaPolicyId quota_policy_id;
    QuotaLimits limits;
    std::uint64_t running = 0;    ///< slots taken
    std::uint64_t in_window = 0;  ///< starts that count now
    bool blocks = false;          ///< somebody waits for it
    TimestampMs created_at = 0;
    TimestampMs updated_at = 0;

    bool operator==(const QuotaPolicyInfo&) const = default;
};

/// Nothing when there is none.
struct ReadQuotaPolicy {
    using Result = std::optional<QuotaPolicyInfo>;
    static constexpr std::string_view name = "read_quota_policy";

    QuotaPolicyId quota_policy_id;
};

struct QuotaPage {
    std::vector<QuotaPolicyInfo> policies;
    std::optional<QuotaPolicyId> next_cursor;

    bool operator==(const QuotaPage&) const = default;
};

/// Policies by id.
struct ListQuotaPolicies {
    using Result = QuotaPage;
    static constexpr std::string_view name = "list_quota_policies";

    std::optional<QuotaPolicyId> cursor;
    std::uint32_t limit = 100;  ///< 1..1,000
};

/// What a policy that counts by key has given to one of them.
struct QuotaKeyInfo {
    std::string limit_key;
    std::uint64_t running = 0;    ///< slots taken
    std::uint64_t in_window = 0;  ///< starts that count now
    bool blocks = false;          ///< somebody waits for it

    bool operator==(const QuotaKeyInfo&) const = default;
};

struct QuotaKeyPage {
    std::vector<QuotaKeyInfo> keys;
    std::optional<std::string> next_cursor;

    bool operator==(const QuotaKeyPage&) const = default;
};

/// The keys that a policy counts now, in their order; a key that uses nothing is not there. Errors:
/// quota_policy_not_found.
struct ListQuotaKeys {
    using Result = QuotaKeyPage;
    static constexpr std::string_view name = "list_quota_keys";

    QuotaPolicyId quota_policy_id;
    std::optional<std::string> cursor;
    std::uint32_t limit = 100;  ///< 1..1,000
};

struct AttachQuota {
    using Result = AttachmentResult;
    static constexpr std::string_view name = "attach_quota";

    QuotaPolicyId quota_policy_id;
    LimitTarget target_type = LimitTarget::execution;
    std::string target_id;
};
struct DetachQuota {
    using Result = AttachmentResult;
    static constexpr std::string_view name = "detach_quota";

    QuotaPolicyId quota_policy_id;
    LimitTarget target_type = LimitTarget::execution;
    std::string target_id;
};

FF_WORD_ENUM(AdmissionOutcome, admitted, already_admitted, rate_exceeded, concurrency_exceeded)

struct AdmissionResult {
    AdmissionOutcome outcome = AdmissionOutcome::admitted;
    DurationMs retry_after_ms = 0;  ///< of rate_exceeded

    bool operator==(const AdmissionResult&) const = default;
};

/// Asks a policy as a claim does, and takes what it gives. `given` counts when no policy is stored.
struct CheckAdmission {
    using Result = AdmissionResult;
    static constexpr std::string_view name = "check_admission";

    QuotaPolicyId quota_policy_id;
    ExecutionId execution_id;
    std::optional<QuotaLimits> given;
};

/// Gives slot and start of an execution back. Repeating it changes nothing.
struct ReleaseAdmission {
    using Result = Done;
    static constexpr std::string_view name = "release_admission";

    QuotaPolicyId quota_policy_id;
    ExecutionId execution_id;
};

}  // namespace ff
