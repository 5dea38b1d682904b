#include <ff/clock.h>

#include <algorithm>
#include <chrono>

namespace ff {
namespace {

/// No sleep is longer than this, so a stepped wall clock is noticed within a minute.
constexpr DurationMs sleep_hint_ms_max = 60'000;
/// A wall clock behind by less than this was not set back.
constexpr DurationMs set_back_ms_min = 50;

}  // namespace

TimestampMs SystemClock::now() {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    const TimestampMs wall =
        duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::int64_t steady =
        duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return time_.follow(wall, steady);
}

TimestampMs OnwardTime::follow(TimestampMs wall, std::int64_t steady_ms) {
    TimestampMs last = last_.load(std::memory_order_relaxed);
    while (last < wall) {
        if (last_.compare_exchange_weak(last, wall, std::memory_order_relaxed)) {
            set_back_.store(false, std::memory_order_relaxed);
            return wall;
        }
    }
    if (last - wall < set_back_ms_min) {
        return last;  // another thread was a moment faster
    }
    // Time must go on, or nothing would ever fall due; at half its speed, so that the wall clock
    // catches up.
    const std::lock_guard lock(mutex_);
    if (!set_back_.exchange(true, std::memory_order_relaxed)) {
        held_at_ = last;
        held_since_ = steady_ms;
    }
    const TimestampMs slow = held_at_ + (steady_ms - held_since_) / 2;
    while (last < slow && !last_.compare_exchange_weak(last, slow, std::memory_order_relaxed)) {
    }
    return std::max(last, slow);
}

DurationMs SystemClock::sleep_hint(TimestampMs due) {
    const TimestampMs current = now();
    return due <= current ? 0 : std::min(due - current, sleep_hint_ms_max);
}

DurationMs ManualClock::sleep_hint(TimestampMs due) { return due <= now() ? 0 : sleep_hint_ms_max; }

std::uint64_t ManualClock::subscribe(std::function<void()> listener) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = next_token_++;
    listeners_.emplace_back(token, std::move(listener));
    return token;
}

void ManualClock::unsubscribe(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [token](const auto& entry) { return entry.first == token; });
}

void ManualClock::advance(DurationMs by) {
    if (by <= 0) {
        return;
    }
    now_.fetch_add(by);
    // Called outside the mutex: a listener may take its own locks, subscribe or unsubscribe.
    std::vector<std::pair<std::uint64_t, std::function<void()>>> listeners;
    {
        const std::lock_guard lock(mutex_);
        listeners = listeners_;
    }
    for (const auto& [token, listener] : listeners) {
        listener();
    }
}

}  // namespace ff
