// Counts what the engine does, for metrics: claims and ends of attempts by lane, renewals,
// transactions and what had to be run again.
//
// A writer counts when a transaction has been committed, so what was rolled back or run again is
// counted once. All writers of an engine count here. Any thread may ask. One lock a transaction,
// whatever it holds.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <ff/engine.h>

#include "base/atomic_histogram.h"
#include "core/snapshot.h"
#include "engine/command.h"

namespace ff::engine {

class Tally {
  public:
    /// So many lanes are told apart; the rest is one.
    static constexpr std::size_t lanes_max = 64;
    static constexpr std::size_t dimensions_counted_max = 64;

    /// A transaction that wrote this is committed.
    void committed(const core::Snapshot& snapshot, std::chrono::nanoseconds took);
    /// A transaction is run again because of this.
    void run_again(ErrorCode reason);
    /// These are about to be answered.
    void answered(const std::vector<Outcome>& outcomes);
    /// So many cancels of siblings were put off and have been gone on with.
    void resumed_joins(std::uint64_t count);
    /// So many flows have members that are still to be cancelled.
    void cancel_backlog(std::uint64_t flows);
    /// The log was synced.
    void synced(std::chrono::nanoseconds took) { syncs_.observe(took); }

    void fill(EngineStats& stats) const;

  private:
    /// Of refusals of tokens.
    static constexpr std::array token_codes{
        ErrorCode::missing_token, ErrorCode::invalid_token, ErrorCode::token_expired,
        ErrorCode::hmac_secret_not_initialized, ErrorCode::invalid_secret};

    /// The numbers of the route's lane.
    LaneStats& lane_of(const core::Snapshot& snapshot, core::RouteId route);
    void count_attempts(const core::Snapshot& snapshot, const core::ExecutionCell& cell);
    /// One that a limit has just refused.
    void count_refusal(const core::ExecutionCell& cell);
    /// One that ends because a join does not need it any more.
    void count_sibling(const core::ExecutionCell& cell);
    void count_joins(const core::FlowTally& tally);

    AtomicHistogram transactions_;
    AtomicHistogram syncs_;
    std::atomic<std::uint64_t> retries_busy_{0};
    std::atomic<std::uint64_t> retries_io_{0};
    std::atomic<std::uint64_t> renewals_ok_{0};
    std::atomic<std::uint64_t> renewals_refused_{0};
    std::array<std::atomic<std::uint64_t>, token_codes.size()> token_refusals_{};

    mutable std::mutex mutex_;
    std::map<std::string, LaneStats> lanes_;                     // guarded by mutex_
    LaneStats other_{.lane = "other"};                           // guarded by mutex_
    std::map<std::string, std::uint64_t> budget_hits_;           // guarded by mutex_
    std::uint64_t rate_hits_ = 0;                                // guarded by mutex_
    std::uint64_t concurrency_hits_ = 0;                         // guarded by mutex_
    std::uint64_t soft_breaches_ = 0;                            // guarded by mutex_
    std::uint64_t hard_breaches_ = 0;                            // guarded by mutex_
    std::array<std::uint64_t, enum_count<FrameMode>> frames_{};  // guarded by mutex_
    FlowStats flows_;                                            // guarded by mutex_
    std::unordered_map<core::RouteId, LaneStats*> of_route_;     // guarded by mutex_
};

}  // namespace ff::engine
