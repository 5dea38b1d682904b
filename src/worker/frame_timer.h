// FrameTimer: one thread that wakes the frame buffers of all tasks of a worker at their time.
//
// The thread begins with the first call of set(): a worker that streams nothing has none. Any
// thread may call, except that stop() is not for the timer's own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock_wait.h"

namespace ff::worker {

class FrameBuffer;

class FrameTimer {
  public:
    explicit FrameTimer(std::shared_ptr<Clock> clock) : wait_(std::move(clock)) {}
    ~FrameTimer() { stop(); }
    FrameTimer(const FrameTimer&) = delete;
    FrameTimer& operator=(const FrameTimer&) = delete;

    /// Calls on_time() of the buffer when the clock has reached `due`, unless it is gone by then.
    void set(std::weak_ptr<FrameBuffer> buffer, TimestampMs due);
    /// Ends the thread; what is due later is never called.
    void stop();

  private:
    void run();

    const ClockWait wait_;
    // Guarded by wait_.mutex().
    std::multimap<TimestampMs, std::weak_ptr<FrameBuffer>> due_;
    bool sooner_ = false;  ///< something is due before what the thread waits for
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace ff::worker
