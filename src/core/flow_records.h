// The rows of flows as plain values.
//
// A flow row is the lock of its graph: whoever changes an edge, a group or the end of a member has
// it loaded. An edge is kept with its upstream, because that is where a cascade looks for it; the
// group of an execution's inbound edges counts how they were resolved, so that none is counted
// twice or read again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ff/flows.h>
#include <ff/ids.h>
#include <ff/states.h>

namespace ff::core {

struct Flow {
    FlowId id;
    std::uint16_t partition = 0;
    std::string kind;
    std::string ns;
    FlowState state = FlowState::open;
    bool sealed = false;
    bool paused = false;
    std::uint64_t graph_revision = 0;  ///< always node_count + edge_count
    std::uint64_t node_count = 0;      ///< members ever added
    std::uint64_t edge_count = 0;
    std::uint64_t live = 0;     ///< members that have not ended
    std::uint64_t bad = 0;      ///< members whose end makes the flow fail
    std::uint64_t trimmed = 0;  ///< members that retention has removed
    std::uint64_t slots = 0;    ///< members that run, when max_active_members limits them
    std::optional<TimestampMs> deadline_at;
    OnMemberFailure on_member_failure = OnMemberFailure::continue_;
    std::uint32_t max_active_members = 0;
    TimestampMs created_at = 0;
    TimestampMs last_mutation_at = 0;
    std::optional<TimestampMs> cancelled_at;
    std::optional<std::string> cancel_reason;
    std::optional<CancellationPolicy> cancellation_policy;
    std::optional<TimestampMs> finished_at;
    Tags tags;
    std::optional<TimestampMs> timer_at;  ///< when time must look at it; kept by core/derive
    bool held = false;                    ///< a claim must look at it; kept by core/derive
    bool limited = false;                 ///< a budget or quota was attached to it, once

    bool operator==(const Flow&) const = default;
};

struct EdgeKey {
    FlowId flow;
    EdgeId id;

    auto operator<=>(const EdgeKey&) const = default;
};

struct Edge {
    ExecutionId upstream;
    EdgeKey key;
    ExecutionId downstream;
    DependencyKind kind = DependencyKind::success_only;
    EdgeState state = EdgeState::pending;
    std::optional<DependencyState> dependency;  ///< set when applied
    std::optional<TerminalOutcome> outcome;     ///< of the upstream, when resolved
    std::optional<std::string> data_passing_ref;
    std::optional<std::string> when;
    TimestampMs created_at = 0;
    std::optional<TimestampMs> applied_at;
    std::optional<TimestampMs> resolved_at;
    /// Ends of the upstream with no more replays than this are from before the downstream's own
    /// replay and do not count.
    std::optional<std::uint32_t> fence_replays;

    bool operator==(const Edge&) const = default;
};

struct EdgeGroup {
    FlowId flow;
    ExecutionId downstream;
    GroupPolicyKind policy = GroupPolicyKind::all_of;
    std::uint32_t k = 1;
    OnSatisfied on_satisfied = OnSatisfied::let_run;
    bool force_cancel_shared = false;
    std::uint64_t staged = 0;   ///< inbound edges, applied or not
    std::uint64_t applied = 0;  ///< of these
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t not_taken = 0;
    GroupState state = GroupState::pending;
    std::optional<TimestampMs> satisfied_at;
    bool siblings_pending = false;
    std::optional<std::string> siblings_reason;
    TimestampMs created_at = 0;

    [[nodiscard]] std::uint64_t resolved() const {
        return succeeded + failed + skipped + not_taken;
    }
    bool operator==(const EdgeGroup&) const = default;
};

/// What still has to be done because of something that was done. Runs in the transaction that
/// caused it; past a bound the rest is kept as rows and the next transaction goes on with them.
/// `counted`, `slot_freed` and `trimmed` concern the flow row only and never wait.
FF_WORD_ENUM(FlowWorkKind, counted, ended, cancel_member, cancel_siblings, cancel_rest, slot_freed,
             trimmed, unpark)

struct FlowWorkKey {
    FlowId flow;
    FlowWorkKind kind = FlowWorkKind::ended;
    ExecutionId execution;  ///< of the member; none for the flow as a whole

    auto operator<=>(const FlowWorkKey&) const = default;
};

struct FlowWork {
    FlowWorkKey key;
    std::optional<std::string> reason;
    TimestampMs due_at = 0;
    std::uint32_t times = 1;  ///< of `counted`: so many ended alike; it is not written

    bool operator==(const FlowWork&) const = default;
};

/// What a transaction did to joins, for metrics; it is not written.
struct FlowTally {
    std::array<std::uint64_t, enum_count<GroupPolicyKind>> policies_set{};
    std::uint64_t joins_satisfied = 0;  ///< whose siblings were cancelled, by why
    std::uint64_t joins_impossible = 0;
    std::uint64_t siblings_ended = 0;
    std::uint64_t siblings_missing = 0;
    std::uint64_t siblings_spared = 0;

    void set(GroupPolicyKind policy) { policies_set[static_cast<std::size_t>(policy)] += 1; }
    void add(const FlowTally& other) {
        for (std::size_t i = 0; i < policies_set.size(); ++i) {
            policies_set[i] += other.policies_set[i];
        }
        joins_satisfied += other.joins_satisfied;
        joins_impossible += other.joins_impossible;
        siblings_ended += other.siblings_ended;
        siblings_missing += other.siblings_missing;
        siblings_spared += other.siblings_spared;
    }
};

}  // namespace ff::core
