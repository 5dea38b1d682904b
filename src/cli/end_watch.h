// For commands that have no end of their own: when to stop.
#pragma once

#include <stop_token>
#include <thread>

#include "cli/interrupt.h"

namespace ff::cli {

/// Asks to stop on Ctrl-C, and when nobody reads standard output any more: there may be no next
/// line whose writing would tell.
class EndWatch {
  public:
    EndWatch();

    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
    void request_stop() { stop_.request_stop(); }

  private:
    const InterruptGuard guard_;
    std::stop_source stop_;
    std::jthread thread_;
};

}  // namespace ff::cli
