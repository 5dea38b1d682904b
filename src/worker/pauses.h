// Pauses between tries: each twice as long as the one before, up to a most, and a little irregular
// so that many workers do not try in step. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ff/worker.h>

namespace ff::worker {

class Pauses {
  public:
    enum class Jitter : std::uint8_t { none, fifth };

    Pauses(WorkerBackoff range, Jitter jitter)
        : first_(range.first.count()),
          most_(std::max(first_, range.most.count())),
          next_(first_),
          jitter_(jitter) {}

    DurationMs next() {
        const DurationMs pause = next_;
        next_ = std::min(next_ * 2, most_);
        if (jitter_ == Jitter::none) {
            return pause;
        }
        const DurationMs fifth = pause / 5;
        return pause - fifth +
               static_cast<DurationMs>(random_.uniform(static_cast<std::uint64_t>(2 * fifth)));
    }
    void reset() { next_ = first_; }

  private:
    DurationMs first_;
    DurationMs most_;
    DurationMs next_;
    Jitter jitter_;
    SystemIdSource random_;
};

}  // namespace ff::worker
