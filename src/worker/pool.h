// Pool: the threads that handlers run on. Owned by the Runtime.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "worker/held_task.h"

namespace ff::worker {

class Pool {
  public:
    /// `ended` is called on a pool thread when a task has gone through dispatch.
    explicit Pool(std::function<void()> ended) : ended_(std::move(ended)) {}
    ~Pool() { join(); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void start(std::size_t threads);
    /// There is a thread for it: slots are no more than threads. False: too late, it is closing.
    bool run(std::shared_ptr<HeldTask> task);
    /// Tasks that have not ended.
    [[nodiscard]] std::vector<std::shared_ptr<HeldTask>> running() const;
    /// Waits until every task has ended, then ends the threads.
    void join();

  private:
    void work();

    // Fixed after construction.
    const std::function<void()> ended_;

    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::shared_ptr<HeldTask>> queue_;  // guarded by mutex_
    std::set<std::shared_ptr<HeldTask>> running_;  // guarded by mutex_: the queue's included
    bool closing_ = false;                         // guarded by mutex_
    std::vector<std::thread> threads_;             // of who starts and joins
};

}  // namespace ff::worker
