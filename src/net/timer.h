// A point in time that a loop waits for. Loop thread only, like everything that is told of it.
#pragma once

#include <boost/system/error_code.hpp>

#include <chrono>
#include <functional>
#include <memory>

#include "net/event_loop.h"

namespace ff::net {

class Timer {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Timer(EventLoop& loop);
    /// Who waits is told that it was stopped: later, on the loop, when the timer is gone.
    ~Timer();

    /// Calls `done` then, or with an error when it is stopped or started again before; always on
    /// the loop and never in the call itself. A wait that is over, and only has its turn to come,
    /// is told as over all the same: whoever may have stopped it or started it again has to look at
    /// its own state, or whether the time of expiry() has come.
    void start(Clock::time_point at,
               std::move_only_function<void(const boost::system::error_code&)> done);
    void cancel();
    /// What it was last started for.
    [[nodiscard]] Clock::time_point expiry() const;

  private:
    struct Wait;
    std::unique_ptr<Wait> wait_;
};

}  // namespace ff::net
