#include "net/timer.h"

#include <boost/asio/steady_timer.hpp>

namespace ff::net {

struct Timer::Wait {
    boost::asio::steady_timer timer;
};

Timer::Timer(EventLoop& loop) : wait_(new Wait{boost::asio::steady_timer(loop.context())}) {}
Timer::~Timer() = default;

void Timer::start(Clock::time_point at,
                  std::move_only_function<void(const boost::system::error_code&)> done) {
    wait_->timer.expires_at(at);
    wait_->timer.async_wait(std::move(done));
}

void Timer::cancel() { wait_->timer.cancel(); }

Timer::Clock::time_point Timer::expiry() const { return wait_->timer.expiry(); }

}  // namespace ff::net
