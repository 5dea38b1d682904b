// Shift: what the threads of one worker share while it runs. Slots for tasks, and the wish to stop.
//
// A slot is taken before a task is handed to a handler and freed when it has ended, so no more than
// max_concurrent_tasks are ever in hand. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include <ff/clock.h>
#include <ff/error.h>

#include "base/clock_wait.h"

namespace ff::worker {

class Shift {
  public:
    Shift(std::shared_ptr<Clock> clock, std::size_t slots)
        : slots_(slots), wait_(std::move(clock)) {}

    void request_stop() {
        {
            const std::lock_guard lock(wait_.mutex());
            stopping_ = true;
        }
        wait_.notify();
    }
    /// Stops because of an error; the first stays.
    void fail(const Error& error) {
        {
            const std::lock_guard lock(wait_.mutex());
            stopping_ = true;
            if (!fatal_) {
                fatal_ = error;
            }
        }
        wait_.notify();
    }
    [[nodiscard]] bool stopping() const {
        const std::lock_guard lock(wait_.mutex());
        return stopping_;
    }
    [[nodiscard]] std::optional<Error> fatal() const {
        const std::lock_guard lock(wait_.mutex());
        return fatal_;
    }
    void wait_for_stop() const {
        std::unique_lock lock(wait_.mutex());
        wait_.until(lock, ClockWait::never, [this] { return stopping_; });
    }
    /// A pause that ends early when the worker is to stop; says whether it goes on.
    bool pause(DurationMs ms) const {
        std::unique_lock lock(wait_.mutex());
        return !wait_.until(lock, wait_.now() + ms, [this] { return stopping_; });
    }

    [[nodiscard]] std::size_t busy() const {
        const std::lock_guard lock(wait_.mutex());
        return busy_;
    }
    /// Waits for a free slot and tells how many there are; 0: the worker is to stop.
    [[nodiscard]] std::size_t wait_for_slot() const {
        std::unique_lock lock(wait_.mutex());
        wait_.until(lock, ClockWait::never, [this] { return stopping_ || busy_ < slots_; });
        return stopping_ ? 0 : slots_ - busy_;
    }
    /// Takes a slot if one is free and the worker goes on.
    bool take_slot() {
        const std::lock_guard lock(wait_.mutex());
        if (stopping_ || busy_ >= slots_) {
            return false;
        }
        ++busy_;
        return true;
    }
    void free_slot() {
        {
            const std::lock_guard lock(wait_.mutex());
            --busy_;
        }
        wait_.notify();
    }
    /// Waits until no task is in hand; false when some are at `due`.
    bool wait_idle(TimestampMs due) const {
        std::unique_lock lock(wait_.mutex());
        return wait_.until(lock, due, [this] { return busy_ == 0; });
    }

  private:
    const std::size_t slots_;
    const ClockWait wait_;
    // Guarded by wait_.mutex().
    std::size_t busy_ = 0;
    bool stopping_ = false;
    std::optional<Error> fatal_;
};

}  // namespace ff::worker
