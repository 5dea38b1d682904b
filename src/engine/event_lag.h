// How far behind webhooks are, for metrics.
//
// Counted now and then on a thread that may read; any thread may ask for the last count.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <ff/engine.h>

#include "store/store.h"

namespace ff::engine {

class EventLag {
  public:
    using Counts = std::array<std::uint64_t, enum_count<EventFamily>>;

    /// Is it time to count again? Then who asked must call count().
    bool begin();
    /// Of each family, how many events stand behind the place of the webhook furthest behind, among
    /// those that are not paused.
    void count(store::Store& store);
    [[nodiscard]] Counts read() const {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

  private:
    mutable std::mutex mutex_;
    Counts counts_{};                                     // guarded by mutex_
    bool counting_ = false;                               // guarded by mutex_
    std::chrono::steady_clock::time_point counted_at_{};  // guarded by mutex_
};

}  // namespace ff::engine
