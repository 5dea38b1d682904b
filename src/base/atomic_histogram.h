// A histogram that any thread may add to and any thread may read; no locks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include <ff/histogram.h>

namespace ff {

class AtomicHistogram {
  public:
    void observe(std::chrono::nanoseconds took) {
        // Rounded up, so that what is longer than a bound never counts as within it.
        const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
        const std::uint64_t us = (ns + 999) / 1'000;
        const auto& bounds = DurationHistogram::bounds_us;
        const auto place =
            static_cast<std::size_t>(std::ranges::lower_bound(bounds, us) - bounds.begin());
        counts_[place].fetch_add(1, std::memory_order_relaxed);
        sum_ns_.fetch_add(ns, std::memory_order_relaxed);
    }

    /// Each number is one that was there; they need not all be of the same moment.
    [[nodiscard]] DurationHistogram read() const {
        DurationHistogram out;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            out.counts[i] = counts_[i].load(std::memory_order_relaxed);
        }
        out.sum_us = sum_ns_.load(std::memory_order_relaxed) / 1'000;
        return out;
    }

  private:
    std::array<std::atomic<std::uint64_t>, DurationHistogram::bounds_us.size() + 1> counts_{};
    std::atomic<std::uint64_t> sum_ns_{0};  // enough for centuries
};

}  // namespace ff
