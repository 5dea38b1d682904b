// SIGINT and SIGTERM as a function call, for as long as the object lives.
//
// Several may live at once; each is told. The first signal of a kind is taken; a second one more
// than a second later ends the process as it would have without us. The one piece of state that
// the whole process shares.
#pragma once

#include <cstdint>
#include <functional>

namespace ff::worker {

class SignalWatch {
  public:
    /// `on_signal` is called on a thread of its own; it must be quick.
    explicit SignalWatch(std::function<void()> on_signal);
    /// Afterwards it is not called any more.
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

  private:
    std::uint64_t number_;
};

}  // namespace ff::worker
