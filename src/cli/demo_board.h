// What the demo's threads tell, and what its screen shows. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ff/error.h>

#include "cli/demo_story.h"
#include "cli/terminal.h"

namespace ff::cli {

struct DemoEvent {
    /// `minor` ones are shown only where they scroll away by themselves.
    enum class Weight : std::uint8_t { minor, notable };
    double at_seconds = 0;
    std::string text;
    Style style = Style::plain;
    Weight weight = Weight::notable;
};

struct DemoLane {
    std::atomic<std::int64_t> submitted = 0;
    std::atomic<std::int64_t> active = 0;
    std::atomic<std::int64_t> done = 0;

    [[nodiscard]] std::int64_t waiting() const { return submitted - active - done; }
};

struct DemoWorkerView {
    enum class State : std::uint8_t { idle, busy, killed };
    std::string name;
    bool gpu = false;
    State state = State::idle;
    std::string doing;
};

class DemoBoard {
  public:
    explicit DemoBoard(std::size_t job_count) : jobs(static_cast<std::int64_t>(job_count)) {}

    const std::int64_t jobs;
    std::array<DemoLane, demo_lanes.size()> lanes;
    std::atomic<std::int64_t> retries = 0;
    std::atomic<std::int64_t> takeovers = 0;
    std::atomic<std::int64_t> renewals = 0;
    std::atomic<std::int64_t> gpu_jobs = 0;

    [[nodiscard]] std::int64_t done() const;
    [[nodiscard]] std::int64_t active() const;
    [[nodiscard]] std::int64_t waiting() const;
    [[nodiscard]] double seconds() const;

    void tell(std::string text, Style style = Style::plain,
              DemoEvent::Weight weight = DemoEvent::Weight::notable);
    /// Events from number `from` on.
    [[nodiscard]] std::vector<DemoEvent> events(std::size_t from) const;
    [[nodiscard]] std::size_t event_count() const;

    std::size_t add_worker(std::string name, bool gpu);
    void set_worker(std::size_t worker, DemoWorkerView::State state, std::string doing);
    [[nodiscard]] std::vector<DemoWorkerView> workers() const;

    /// An operation failed that must not: the demo is over. The first one counts.
    void fail(const Error& error, std::string_view doing);
    [[nodiscard]] std::optional<std::string> failure() const;

    void stop() { stopped_ = true; }
    [[nodiscard]] bool stopped() const { return stopped_; }

  private:
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_ = false;
    mutable std::mutex mutex_;
    std::vector<DemoEvent> events_;        // guarded by mutex_
    std::vector<DemoWorkerView> workers_;  // guarded by mutex_
    std::optional<std::string> failure_;   // guarded by mutex_
};

}  // namespace ff::cli
