// A thread that waits for sockets and timers, with a box for work that other threads hand in.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace ff::net {

class EventLoop {
  public:
    EventLoop();
    /// It has been stopped, or was never started.
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    void start(std::string thread_name);
    /// Runs `last` on the loop, then what is left, and joins the thread. Once.
    void stop(std::move_only_function<void()> last);

    /// Runs `work` on the loop's thread. Any thread. A burst of work wakes the loop once. False,
    /// and nothing is run, once the loop has stopped.
    bool post(std::move_only_function<void()> work);
    [[nodiscard]] bool on_loop() const { return std::this_thread::get_id() == thread_.get_id(); }
    /// For this room.
    [[nodiscard]] boost::asio::io_context& context();

  private:
    struct Context;
    void deliver();

    const std::unique_ptr<Context> context_;
    std::mutex mutex_;
    std::vector<std::move_only_function<void()>> box_;  // guarded by mutex_
    bool called_ = false;                               // guarded by mutex_: deliver() will come
    bool over_ = false;                                 // guarded by mutex_: nothing more is run
    std::thread thread_;
};

}  // namespace ff::net
