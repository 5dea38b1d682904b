#include "http/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <pthread.h>

#include <ctime>

namespace ff::http {

namespace {

constexpr auto sweep_every = std::chrono::milliseconds(250);

}  // namespace

Loop::Loop(const Timeouts& timeouts)
    : work_(boost::asio::make_work_guard(context_)),
      timer_(context_),
      deadlines_({timeouts.idle, timeouts.head, timeouts.body, timeouts.send}) {}

Loop::~Loop() { stop(); }

void Loop::start() {
    tick();
    thread_ = std::thread([this] {
        pthread_setname_np(pthread_self(), "ff-http");
        context_.run();
    });
}

void Loop::stop() {
    if (!thread_.joinable()) {
        return;
    }
    post([this] {
        timer_.cancel();
        for (Session* session : sessions()) {
            session->abort();
        }
        work_.reset();
    });
    thread_.join();
}

void Loop::post(std::move_only_function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        box_.push_back(std::move(work));
        if (std::exchange(called_, true)) {
            return;
        }
    }
    boost::asio::post(context_, [this] { deliver(); });
}

void Loop::deliver() {
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

void Loop::leave(Session& session) { sessions_.erase(&session); }

void Loop::tick() {
    timer_.expires_after(sweep_every);
    timer_.async_wait([this](const boost::system::error_code& error) {
        if (error) {
            return;
        }
        deadlines_.sweep(std::chrono::steady_clock::now(),
                         [](Session& session) { session.late(); });
        tick();
    });
}

const std::string& Loop::date() {
    const std::int64_t now = std::time(nullptr);
    if (now != date_second_) {
        date_second_ = now;
        std::tm parts{};
        const std::time_t seconds = now;
        gmtime_r(&seconds, &parts);
        std::array<char, 40> text{};
        const std::size_t size =
            std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        date_.assign(text.data(), size);
    }
    return date_;
}

}  // namespace ff::http
