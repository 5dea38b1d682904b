#include "net/event_loop.h"

#include <pthread.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/check.h"

namespace ff::net {

struct EventLoop::Context {
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work =
        boost::asio::make_work_guard(io);
};

EventLoop::EventLoop() : context_(std::make_unique<Context>()) {}

boost::asio::io_context& EventLoop::context() { return context_->io; }

EventLoop::~EventLoop() { FF_CHECK(!thread_.joinable(), "a loop is stopped before it goes"); }

void EventLoop::start(std::string thread_name) {
    thread_ = std::thread([this, name = std::move(thread_name)] {
        pthread_setname_np(pthread_self(), name.c_str());
        context_->io.run();
    });
}

void EventLoop::stop(std::move_only_function<void()> last) {
    if (!thread_.joinable()) {
        return;
    }
    post([this, last = std::move(last)]() mutable {
        last();
        std::vector<std::move_only_function<void()>> rest;
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
            std::swap(rest, box_);
        }
        for (auto& late : rest) {
            late();
        }
        context_->work.reset();
    });
    thread_.join();
}

bool EventLoop::post(std::move_only_function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        if (over_) {
            return false;
        }
        box_.push_back(std::move(work));
        if (std::exchange(called_, true)) {
            return true;
        }
    }
    boost::asio::post(context_->io, [this] { deliver(); });
    return true;
}

void EventLoop::deliver() {
    std::vector<std::move_only_function<void()>> taken;
    {
        const std::lock_guard lock(mutex_);
        std::swap(taken, box_);
        called_ = false;
    }
    for (auto& work : taken) {
        work();
    }
}

}  // namespace ff::net
