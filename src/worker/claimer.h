// Claimer: asks the engine for work whenever there is a slot to run it in, on one thread.
//
// A claim waits in the engine for up to poll_block. It is given up when the worker stops, and when
// somebody else takes a slot it counted on. Owned by the Runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "worker/pauses.h"
#include "worker/setup.h"
#include "worker/shift.h"

namespace ff::worker {

class Claimer {
  public:
    /// Starts a task for which a slot has been taken.
    using StartFn = std::function<void(ClaimedTask, TimestampMs received_at)>;

    Claimer(std::shared_ptr<const Setup> setup, Shift& shift, StartFn start_task);
    ~Claimer() { join(); }
    Claimer(const Claimer&) = delete;
    Claimer& operator=(const Claimer&) = delete;

    void start();
    /// A claim that waits is answered at once; the thread goes on, unless the shift is stopping.
    void abandon();
    void join();

  private:
    void run();
    expected<ClaimResult> claim(std::size_t free);
    void receive(std::vector<ClaimedTask> tasks);
    /// Says whether to go on.
    bool rest_after_error(const Error& error);
    bool rest_after_nothing(DurationMs waited);

    // Fixed after construction.
    const std::shared_ptr<const Setup> setup_;
    Shift& shift_;
    const StartFn start_task_;
    const std::string digest_;  ///< of the capabilities, for log lines

    // Claimer thread only.
    Pauses idle_pauses_;
    Pauses error_pauses_;

    std::mutex mutex_;
    std::stop_source waiting_{std::nostopstate};  // guarded by mutex_: of the claim under way
    bool abandoned_ = false;                      // guarded by mutex_: since the claim was sent
    std::thread thread_;
};

}  // namespace ff::worker
