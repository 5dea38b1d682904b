// The execution policy: what a submitter may ask for beyond the defaults. Parsed and checked once
// at create, stored in normalised form, frozen afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>
#include <ff/ids.h>

namespace ff {

struct Backoff {
    enum class Type : std::uint8_t { fixed, exponential, unknown };
    Type type = Type::exponential;
    DurationMs delay_ms = 1000;          ///< fixed
    DurationMs initial_delay_ms = 1000;  ///< exponential
    DurationMs max_delay_ms = 60'000;
    double multiplier = 2.0;
    bool jitter = false;

    bool operator==(const Backoff&) const = default;
};

struct RetryPolicy {
    std::uint32_t max_retries = 3;
    Backoff backoff;
    std::vector<std::string> retryable_categories;  ///< empty: every category retryable by class

    bool operator==(const RetryPolicy&) const = default;
};

struct TimeoutPolicy {
    std::optional<DurationMs> attempt_timeout_ms;  ///< absent or 0: unlimited
    /// Below 10^12 a duration from creation, otherwise an absolute timestamp.
    std::optional<std::int64_t> execution_deadline_ms;
    std::optional<std::uint32_t> max_reclaim_count;  ///< used when the top level has none

    bool operator==(const TimeoutPolicy&) const = default;
};

struct SuspensionPolicy {
    std::optional<DurationMs> default_timeout_ms;
    std::string timeout_behavior = "fail";

    bool operator==(const SuspensionPolicy&) const = default;
};

struct RoutingRequirements {
    std::vector<std::string> required_capabilities;  ///< sorted, no duplicates
    std::optional<std::string> preferred_locality;
    std::optional<std::string> isolation_level;

    bool operator==(const RoutingRequirements&) const = default;
};

/// Of a policy's text. Stores and servers drop what they do not know: it may be of a newer version.
/// Where a person writes a policy it is a slip: `<member>:unknown`.
enum class UnknownMembers : std::uint8_t { dropped, refused };

struct FallbackTier {
    std::string provider;
    std::string model;
    std::optional<DurationMs> timeout_ms;

    bool operator==(const FallbackTier&) const = default;
};

struct StreamPolicy {
    std::string durability_mode = "buffered";
    std::uint64_t retention_maxlen = 10'000;
    std::optional<DurationMs> retention_ttl_ms;

    bool operator==(const StreamPolicy&) const = default;
};

inline constexpr std::int32_t priority_max = 9'000;

struct Policy {
    std::int32_t priority = 0;
    std::optional<TimestampMs> delay_until;
    std::optional<RetryPolicy> retry_policy;
    std::optional<TimeoutPolicy> timeout_policy;
    std::optional<std::uint32_t> max_reclaim_count;
    std::optional<SuspensionPolicy> suspension_policy;
    std::vector<FallbackTier> fallback_tiers;
    std::optional<std::uint32_t> max_replay_count;
    std::vector<BudgetId> budget_ids;
    /// What a claim reserves of every budget that covers the execution and limits the dimension.
    std::map<std::string, std::uint64_t> budget_reserve;
    std::optional<QuotaPolicyId> quota_policy_id;
    /// Whom it belongs to, a customer for example: takes turns with others, and quotas may count by
    /// it. 1 to 256 bytes.
    std::optional<std::string> limit_key;
    std::optional<RoutingRequirements> routing_requirements;
    std::optional<DurationMs> dedup_window_ms;
    std::optional<StreamPolicy> stream_policy;
    std::optional<std::uint32_t> max_signals_per_execution;

    bool operator==(const Policy&) const = default;

    /// Reads and checks a policy. Errors: `invalid_policy_json` (`malformed`, `<member>:<reason>`)
    /// or `invalid_capabilities`. Null equals absent. An unknown type of backoff waits a second;
    /// where unknown members are refused, so is it (`retry_policy.backoff.type:invalid_value`).
    static expected<Policy> parse(std::string_view text,
                                  UnknownMembers unknown = UnknownMembers::dropped);
    /// Normalised JSON; absent members are omitted. parse(to_json()) gives the same policy.
    [[nodiscard]] std::string to_json() const;

    /// Reclaims allowed when an execution has a policy: top level, then timeout_policy, then 100.
    [[nodiscard]] std::uint32_t reclaim_cap() const;
    [[nodiscard]] std::uint32_t replay_cap() const { return max_replay_count.value_or(10); }
};

/// Which side a capability list comes from; prefixes the detail of its errors.
enum class CapabilitySide : std::uint8_t { required, worker };

/// Sorted and de-duplicated, or `invalid_capabilities` with the first fault in the spec's order.
expected<std::vector<std::string>> normalise_capabilities(std::vector<std::string> tokens,
                                                          CapabilitySide side);

/// Is every token of `required` in `offered`? Both sorted.
bool satisfies(const std::vector<std::string>& offered, const std::vector<std::string>& required);
/// The tokens of `required` that `offered` lacks, comma-joined. Both sorted.
std::string missing_capabilities(const std::vector<std::string>& offered,
                                 const std::vector<std::string>& required);

/// Delay before retry number `n` (0 for the first), before jitter.
DurationMs backoff_delay(const Backoff& backoff, std::uint32_t n);

}  // namespace ff
