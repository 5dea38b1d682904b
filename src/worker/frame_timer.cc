#include "worker/frame_timer.h"

#include <utility>

#include "worker/frame_buffer.h"

namespace ff::worker {

void FrameTimer::set(std::weak_ptr<FrameBuffer> buffer, TimestampMs due) {
    {
        const std::lock_guard lock(wait_.mutex());
        if (stopping_) {
            return;
        }
        const auto added = due_.emplace(due, std::move(buffer));
        sooner_ = sooner_ || added == due_.begin();
        if (!thread_.joinable()) {
            thread_ = std::thread([this] { run(); });
        }
    }
    wait_.notify();
}

void FrameTimer::stop() {
    std::thread ended;
    {
        const std::lock_guard lock(wait_.mutex());
        stopping_ = true;
        ended = std::move(thread_);
    }
    wait_.notify();
    if (ended.joinable()) {
        ended.join();
    }
}

void FrameTimer::run() {
    std::unique_lock lock(wait_.mutex());
    while (!stopping_) {
        const TimestampMs next = due_.empty() ? ClockWait::never : due_.begin()->first;
        sooner_ = false;
        if (next > wait_.now()) {
            wait_.until(lock, next, [this] { return stopping_ || sooner_; });
            continue;
        }
        const std::weak_ptr<FrameBuffer> due = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        lock.unlock();
        if (const auto buffer = due.lock()) {
            buffer->on_time();
        }
        lock.lock();
    }
}

}  // namespace ff::worker
