#include "worker/pool.h"

#include "worker/dispatch.h"

namespace ff::worker {

void Pool::start(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { work(); });
    }
}

bool Pool::run(std::shared_ptr<HeldTask> task) {
    {
        const std::lock_guard lock(mutex_);
        if (closing_) {
            return false;
        }
        running_.insert(task);
        queue_.push_back(std::move(task));
    }
    arrived_.notify_one();
    return true;
}

std::vector<std::shared_ptr<HeldTask>> Pool::running() const {
    const std::lock_guard lock(mutex_);
    return {running_.begin(), running_.end()};
}

void Pool::join() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
    threads_.clear();
}

void Pool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        arrived_.wait(lock, [this] { return !queue_.empty() || closing_; });
        if (queue_.empty()) {
            return;
        }
        std::shared_ptr<HeldTask> task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        dispatch(*task);
        lock.lock();
        running_.erase(task);
        lock.unlock();
        task.reset();
        ended_();
        lock.lock();
    }
}

}  // namespace ff::worker
