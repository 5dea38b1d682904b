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
    /// Who waits is told that it was stopped.
    ~Timer();

    /// Calls `done` then, or with an error when it is stopped or started again before.
    void start(Clock::time_point at,
               std::move_only_function<void(const boost::system::error_code&)> done);
    void cancel();
    [[nodiscard]] Clock::time_point expiry() const;

  private:
    struct Wait;
    std::unique_ptr<Wait> wait_;
};

}  // namespace ff::net
