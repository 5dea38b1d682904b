// A condition to wait on for as long as a Clock says, so that waiting can be tested by moving time.
//
// Its mutex guards the owner's state; whoever changes that calls notify(). Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include <ff/clock.h>

namespace ff {

class ClockWait {
  public:
    static constexpr TimestampMs never = std::numeric_limits<TimestampMs>::max();

    explicit ClockWait(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {
        // The listener owns what it touches: a clock may still be calling it when we are gone.
        token_ = clock_->subscribe([shared = shared_] {
            const std::lock_guard lock(shared->mutex);
            shared->changed.notify_all();
        });
    }
    ~ClockWait() { clock_->unsubscribe(token_); }
    ClockWait(const ClockWait&) = delete;
    ClockWait& operator=(const ClockWait&) = delete;

    [[nodiscard]] std::mutex& mutex() const { return shared_->mutex; }
    [[nodiscard]] TimestampMs now() const { return clock_->now(); }
    void notify() const { shared_->changed.notify_all(); }

    /// Waits until `holds()` or the clock has reached `due`; says whether it holds. `lock` is on
    /// mutex().
    template <class Predicate>
    bool until(std::unique_lock<std::mutex>& lock, TimestampMs due, Predicate holds) const {
        while (!holds()) {
            if (due == never) {
                shared_->changed.wait(lock);
                continue;
            }
            const DurationMs hint = clock_->sleep_hint(due);
            if (hint <= 0) {
                return holds();
            }
            shared_->changed.wait_for(lock, std::chrono::milliseconds(hint));
        }
        return true;
    }

  private:
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
    };

    std::shared_ptr<Clock> clock_;
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
    std::uint64_t token_ = 0;
};

}  // namespace ff
