// The clock that leases are measured by: starts as the wall clock and then goes on by itself, also
// while the machine sleeps. Nobody can set it, so a lease never looks longer than it is.
#pragma once

#include <cstdint>

#include <ff/clock.h>

namespace ff {

class LeaseClock final : public Clock {
  public:
    LeaseClock();
    TimestampMs now() override;
    DurationMs sleep_hint(TimestampMs due) override;
    std::uint64_t subscribe(std::function<void()>) override { return 0; }
    void unsubscribe(std::uint64_t) override {}

  private:
    // Fixed after construction. Finer than milliseconds, so that processes of one machine agree.
    std::int64_t started_ns_;  ///< when, by the wall clock, the machine was started
};

}  // namespace ff
