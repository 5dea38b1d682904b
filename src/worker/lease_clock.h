// The clock a worker measures leases by: starts as the wall clock and then goes on by itself, also
// while the machine sleeps. Nobody can set it, so a lease never looks longer than it is.
#pragma once

#include <ff/clock.h>

namespace ff::worker {

class LeaseClock final : public Clock {
  public:
    LeaseClock();
    TimestampMs now() override;
    DurationMs sleep_hint(TimestampMs due) override;
    std::uint64_t subscribe(std::function<void()>) override { return 0; }
    void unsubscribe(std::uint64_t) override {}

  private:
    // Fixed after construction.
    TimestampMs wall_at_start_;
    std::int64_t started_;
};

}  // namespace ff::worker
