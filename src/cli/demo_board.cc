#include "cli/demo_board.h"

#include <fmt/core.h>

namespace ff::cli {

std::int64_t DemoBoard::done() const {
    std::int64_t sum = 0;
    for (const DemoLane& lane : lanes) {
        sum += lane.done;
    }
    return sum;
}

std::int64_t DemoBoard::active() const {
    std::int64_t sum = 0;
    for (const DemoLane& lane : lanes) {
        sum += lane.active;
    }
    return sum;
}

std::int64_t DemoBoard::waiting() const {
    std::int64_t sum = 0;
    for (const DemoLane& lane : lanes) {
        sum += lane.waiting();
    }
    return sum;
}

double DemoBoard::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

void DemoBoard::tell(std::string text, Style style, DemoEvent::Weight weight) {
    std::lock_guard lock(mutex_);
    events_.push_back({seconds(), std::move(text), style, weight});
}

std::vector<DemoEvent> DemoBoard::events(std::size_t from) const {
    std::lock_guard lock(mutex_);
    if (from >= events_.size()) {
        return {};
    }
    return {events_.begin() + static_cast<std::ptrdiff_t>(from), events_.end()};
}

std::size_t DemoBoard::event_count() const {
    std::lock_guard lock(mutex_);
    return events_.size();
}

std::size_t DemoBoard::add_worker(std::string name, bool gpu) {
    std::lock_guard lock(mutex_);
    workers_.push_back({std::move(name), gpu, DemoWorkerView::State::idle, ""});
    return workers_.size() - 1;
}

void DemoBoard::set_worker(std::size_t worker, DemoWorkerView::State state, std::string doing) {
    std::lock_guard lock(mutex_);
    workers_[worker].state = state;
    workers_[worker].doing = std::move(doing);
}

std::vector<DemoWorkerView> DemoBoard::workers() const {
    std::lock_guard lock(mutex_);
    return workers_;
}

void DemoBoard::fail(const Error& error, std::string_view doing) {
    {
        std::lock_guard lock(mutex_);
        if (!failure_) {
            failure_ = fmt::format("{} failed: {}", doing, error.message());
        }
    }
    stop();
}

std::optional<std::string> DemoBoard::failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
}

}  // namespace ff::cli
