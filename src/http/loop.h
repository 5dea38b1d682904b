// One thread of the server: an event loop, the connections that live on it, and a box for answers
// that other threads hand in.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "http/deadlines.h"

namespace ff::http {

struct Timeouts {
    std::chrono::milliseconds head{10'000};
    std::chrono::milliseconds body{30'000};
    std::chrono::milliseconds idle{75'000};
    std::chrono::milliseconds send{30'000};
};

/// What a loop can ask of any connection on it. Loop thread only.
class Session {
  public:
    virtual ~Session() = default;
    /// Its deadline has passed.
    virtual void late() = 0;
    /// The server stops: say so to whoever waits, and close after the answer.
    virtual void drain() = 0;
    /// Close now.
    virtual void abort() = 0;
};

class Loop {
  public:
    explicit Loop(const Timeouts& timeouts);
    ~Loop();

    void start();
    /// Runs what is left and joins the thread.
    void stop();

    /// Runs `work` on the loop's thread. Any thread. What comes while the loop is busy costs no
    /// system call: a burst of answers wakes it once.
    void post(std::move_only_function<void()> work);

    [[nodiscard]] boost::asio::io_context& context() { return context_; }

    // Loop thread only.
    void enter(Session& session) { sessions_.insert(&session); }
    void leave(Session& session);
    [[nodiscard]] Deadlines<Session>& deadlines() { return deadlines_; }
    [[nodiscard]] std::vector<Session*> sessions() const {
        return {sessions_.begin(), sessions_.end()};
    }
    /// Text of a Date field, renewed once a second.
    [[nodiscard]] const std::string& date();

    /// How many connections are on it. Any thread.
    [[nodiscard]] std::size_t connections() const { return connections_; }
    void count(std::ptrdiff_t change) {
        connections_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
    }

  private:
    void deliver();
    void tick();

    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    boost::asio::steady_timer timer_;
    Deadlines<Session> deadlines_;
    std::unordered_set<Session*> sessions_;
    std::string date_;
    std::int64_t date_second_ = -1;
    std::atomic<std::size_t> connections_{0};

    std::mutex mutex_;
    std::vector<std::move_only_function<void()>> box_;  // guarded by mutex_
    bool called_ = false;                               // guarded by mutex_: deliver() will come
    std::thread thread_;
};

}  // namespace ff::http
