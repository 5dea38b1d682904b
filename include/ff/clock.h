// Time. Nothing in the product reads the system clock except through a Clock handed to it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

#include <ff/ids.h>

namespace ff {

/// So long after a time; the last time there is when that is further than numbers go.
constexpr TimestampMs later(TimestampMs at, std::chrono::milliseconds by) {
    TimestampMs sum = 0;
    return __builtin_add_overflow(at, by.count(), &sum) ? std::numeric_limits<TimestampMs>::max()
                                                        : sum;
}

/// Gives the time; thread-safe; never gives less than it gave before.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual TimestampMs now() = 0;
    /// Real milliseconds a thread may sleep before asking again what is due at `due`. A manual
    /// clock answers "until told": it calls the listeners when it moves.
    virtual DurationMs sleep_hint(TimestampMs due) = 0;
    /// Calls `listener` whenever time moves other than by itself. Returns a token for unsubscribe.
    virtual std::uint64_t subscribe(std::function<void()> listener) = 0;
    virtual void unsubscribe(std::uint64_t token) = 0;
};

/// Makes a time that may be set back one that never goes back: when it is set back, time goes on at
/// half its speed until the other has caught up. Thread-safe.
class OnwardTime {
  public:
    /// The time, when the clock that is followed says `wall` and one that nobody sets `steady_ms`.
    TimestampMs follow(TimestampMs wall, std::int64_t steady_ms);

  private:
    std::atomic<TimestampMs> last_{0};
    std::atomic<bool> set_back_{false};
    std::mutex mutex_;
    TimestampMs held_at_ = 0;      // guarded by mutex_: when the wall clock was set back
    std::int64_t held_since_ = 0;  // guarded by mutex_: the same moment by the steady clock
};

/// The wall clock, forced non-decreasing within the process.
class SystemClock final : public Clock {
  public:
    TimestampMs now() override;
    DurationMs sleep_hint(TimestampMs due) override;
    std::uint64_t subscribe(std::function<void()>) override { return 0; }
    void unsubscribe(std::uint64_t) override {}

  private:
    OnwardTime time_;
};

/// Stands still until told; for tests and simulation.
class ManualClock final : public Clock {
  public:
    explicit ManualClock(TimestampMs start = 1'700'000'000'000) : now_(start) {}
    TimestampMs now() override { return now_.load(); }
    DurationMs sleep_hint(TimestampMs due) override;
    std::uint64_t subscribe(std::function<void()> listener) override;
    void unsubscribe(std::uint64_t token) override;
    /// Moves time forward and tells the listeners. Moving back is ignored, as for every Clock.
    void advance(DurationMs by);

  private:
    std::atomic<TimestampMs> now_;
    std::mutex mutex_;
    std::uint64_t next_token_ = 1;
    std::vector<std::pair<std::uint64_t, std::function<void()>>> listeners_;  // guarded by mutex_
};

}  // namespace ff
