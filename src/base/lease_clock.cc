#include "base/lease_clock.h"

#include <ctime>

#include <algorithm>
#include <chrono>

namespace ff {

namespace {

/// Threads sleep by a clock that stands still while the machine does: look again this often.
constexpr DurationMs lease_sleep_hint_ms_max = 5'000;

std::int64_t boot_ns() {
    timespec at{};
    clock_gettime(CLOCK_BOOTTIME, &at);
    return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

LeaseClock::LeaseClock()
    : started_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count() -
                  boot_ns()) {}

TimestampMs LeaseClock::now() { return (started_ns_ + boot_ns()) / 1'000'000; }

DurationMs LeaseClock::sleep_hint(TimestampMs due) {
    const TimestampMs current = now();
    return due <= current ? 0 : std::min(due - current, lease_sleep_hint_ms_max);
}

}  // namespace ff
