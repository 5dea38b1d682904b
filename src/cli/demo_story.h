// What happens in the demo: a day at a small shop in a few seconds. Decided beforehand, so that the
// end can be compared with it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include <ff/contracts.h>

namespace ff::cli {

inline constexpr std::array<std::string_view, 3> demo_lanes{"email", "thumbnails", "reports"};
inline constexpr std::string_view demo_namespace = "shop";
inline constexpr std::string_view demo_capability = "gpu";
/// A worker that is killed is missed this long.
inline constexpr DurationMs demo_lease_ttl_ms = 1'000;

/// One execution and what becomes of it.
struct DemoJob {
    ExecutionId id;
    std::size_t lane = 0;  ///< index into demo_lanes
    std::string kind;
    std::string payload;
    std::int32_t priority = 0;
    DurationMs delay_ms = 0;
    DurationMs work_ms = 0;
    int failures = 0;     ///< transient, before it succeeds
    std::string failure;  ///< what the handler says when it fails
    bool fails_for_good = false;
    bool needs_gpu = false;
    bool kills_worker = false;   ///< whoever runs it first is killed
    bool is_called_off = false;  ///< an operator cancels it
    PublicState ending = PublicState::completed;

    // While it runs.
    std::atomic<int> failed_times = 0;
    std::atomic<bool> killed = false;

    [[nodiscard]] CreateExecution create(TimestampMs now) const;
    /// `report.export …3f2a`, for people.
    [[nodiscard]] std::string title() const;
};

/// Jobs in the order they come in.
class DemoStory {
  public:
    explicit DemoStory(std::size_t jobs);

    [[nodiscard]] std::deque<DemoJob>& jobs() { return jobs_; }
    [[nodiscard]] DemoJob* find(const ExecutionId& id);
    /// The one that is cancelled, once half of the others are in.
    [[nodiscard]] DemoJob& called_off() { return *called_off_; }

  private:
    void add(std::size_t number);

    std::deque<DemoJob> jobs_;
    std::unordered_map<ExecutionId, DemoJob*> by_id_;
    DemoJob* called_off_ = nullptr;
};

}  // namespace ff::cli
