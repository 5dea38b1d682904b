#include "base/server_clock.h"

#include <algorithm>

#include "base/lease_clock.h"

namespace ff {

namespace {

/// Any clock asks to look again before that.
constexpr DurationMs far_ms = 86'400'000;

}  // namespace

ServerClock::ServerClock() : ServerClock(std::make_shared<LeaseClock>()) {}

TimestampMs ServerClock::now() {
    const TimestampMs local = local_->now();
    return time_.follow(local + ahead_, local);
}

DurationMs ServerClock::sleep_hint(TimestampMs due) {
    const TimestampMs current = now();
    if (due <= current) {
        return 0;
    }
    // After a step back time goes by more slowly than there: who wakes early asks again.
    return local_->sleep_hint(local_->now() + std::min(due - current, far_ms));
}

std::uint64_t ServerClock::subscribe(std::function<void()> listener) {
    return local_->subscribe(std::move(listener));
}

void ServerClock::learn(const ClockSample& sample) {
    if (!sample.allows(ahead_)) {
        ahead_ = sample.ahead();
    }
}

}  // namespace ff
