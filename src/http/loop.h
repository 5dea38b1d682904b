// One thread of the server: an event loop, the connections that live on it, and their deadlines.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "http/deadlines.h"
#include "net/event_loop.h"
#include "net/timer.h"

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
    /// Closes every connection, runs what is left and joins the thread.
    void stop();

    /// Runs `work` on the loop's thread. Any thread.
    void post(std::move_only_function<void()> work) { events_.post(std::move(work)); }
    /// The same after a pause.
    void later(std::chrono::milliseconds pause, std::move_only_function<void()> work);
    [[nodiscard]] net::EventLoop& events() { return events_; }

    // Loop thread only.
    void enter(Session& session) { sessions_.insert(&session); }
    void leave(Session& session) { sessions_.erase(&session); }
    [[nodiscard]] Deadlines<Session>& deadlines() { return deadlines_; }
    [[nodiscard]] std::vector<Session*> sessions() const {
        return {sessions_.begin(), sessions_.end()};
    }
    /// Text of a Date field, renewed once a second.
    [[nodiscard]] const std::string& date();

  private:
    void tick();

    net::EventLoop events_;
    net::Timer timer_;
    Deadlines<Session> deadlines_;
    std::unordered_set<Session*> sessions_;
    std::string date_;
    std::int64_t date_second_ = -1;
    bool over_ = false;  ///< loop thread only: no more ticks
};

}  // namespace ff::http
