#include "worker/lease_clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>

namespace ff::worker {

namespace {

/// Threads sleep by a clock that stands still while the machine does: look again this often.
constexpr DurationMs sleep_hint_ms_max = 5'000;

std::int64_t boot_ms() {
    timespec at{};
    clock_gettime(CLOCK_BOOTTIME, &at);
    return static_cast<std::int64_t>(at.tv_sec) * 1'000 + at.tv_nsec / 1'000'000;
}

}  // namespace

LeaseClock::LeaseClock()
    : wall_at_start_(std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count()),
      started_(boot_ms()) {}

TimestampMs LeaseClock::now() { return wall_at_start_ + (boot_ms() - started_); }

DurationMs LeaseClock::sleep_hint(TimestampMs due) {
    const TimestampMs current = now();
    return due <= current ? 0 : std::min(due - current, sleep_hint_ms_max);
}

}  // namespace ff::worker
