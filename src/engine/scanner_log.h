// What the periodic passes have done since the engine was opened. Any thread.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include <ff/engine.h>

#include "base/atomic_histogram.h"

namespace ff::engine {

class ScannerLog {
  public:
    /// Before anything is noted or read.
    void add(std::string_view scanner, DurationMs period_ms) {
        ScannerInfo info;
        info.scanner = scanner;
        info.period_ms = period_ms;
        scanners_.push_back(std::move(info));
        cycles_.emplace_back();
    }

    void note(std::size_t index, TimestampMs now, std::chrono::nanoseconds took,
              const expected<ScannerResult>& result) {
        const auto us = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(took).count());
        cycles_[index].observe(took);
        const std::lock_guard lock(mutex_);
        ScannerInfo& info = scanners_[index];
        info.cycles += 1;
        info.processed += result ? result->processed : 0;
        info.errors += result ? result->errors : 1;
        info.last_run_at = now;
        info.last_duration_us = us;
        info.total_duration_us += us;
    }

    [[nodiscard]] std::vector<ScannerInfo> all() const {
        const std::lock_guard lock(mutex_);
        return scanners_;
    }

    /// Executions that the index reconciler found wrong and could not mend.
    void note_inconsistent(std::uint64_t executions) {
        const std::lock_guard lock(mutex_);
        inconsistent_ = executions;
    }

    void fill(EngineStats& stats) const {
        const std::lock_guard lock(mutex_);
        stats.inconsistent_executions = inconsistent_;
        for (std::size_t i = 0; i < scanners_.size(); ++i) {
            stats.scanners.push_back({scanners_[i].scanner, cycles_[i].read()});
        }
    }

  private:
    std::deque<AtomicHistogram> cycles_;  ///< in the same order; fixed once the writer runs
    mutable std::mutex mutex_;
    std::vector<ScannerInfo> scanners_;  // guarded by mutex_ once the writer runs
    std::uint64_t inconsistent_ = 0;     // guarded by mutex_
};

}  // namespace ff::engine
