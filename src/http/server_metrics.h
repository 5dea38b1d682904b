// The metrics of a server: what requests cost, and what its engine says of itself at each scrape.
//
// The server owns one. Handlers keep the handles they get from it; adding is lock-free.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <ff/engine.h>

#include "http/metrics.h"

namespace ff::http {

/// The requests of one method and route template. Finds the cells of a status once.
class RouteMetrics {
  public:
    RouteMetrics(Family<Counter>& requests, Family<AtomicHistogram>& durations,
                 std::string_view method, std::string_view path);

    /// A request was answered. Statuses outside 100 to 599 count as 500.
    void answered(int status, std::chrono::nanoseconds took);

  private:
    struct Cells {
        Counter* requests = nullptr;
        AtomicHistogram* durations = nullptr;
    };
    Cells& cells_of(int status);

    static constexpr int status_min = 100;
    static constexpr int status_max = 599;

    Family<Counter>& requests_;
    Family<AtomicHistogram>& durations_;
    std::string method_;
    std::string path_;
    std::mutex mutex_;
    std::deque<Cells> made_;  // guarded by mutex_
    /// Null until a status has been seen.
    std::array<std::atomic<Cells*>, status_max - status_min + 1> by_status_{};
};

class ServerMetrics {
  public:
    /// `version` of the product, `store` the family of what keeps its executions.
    ServerMetrics(std::string_view version, std::string_view store);
    ServerMetrics(const ServerMetrics&) = delete;
    ServerMetrics& operator=(const ServerMetrics&) = delete;

    /// For requests of this method (unknown ones are `OTHER`) and route template (empty: requests
    /// that no route took). Lives as long as this; the same one for the same words.
    RouteMetrics& route(std::string_view method, std::string_view path);
    /// Turning a grant into a lease, by lane.
    AtomicHistogram& claim_from_grant(std::string_view lane);
    /// A step of the shutdown took longer than its grace.
    Counter& shutdown_timeouts() { return *shutdown_timeouts_; }

    /// From now on scrapes tell of this engine, which must outlive them. Once.
    void watch(const Engine& engine);
    /// The same through a function, for engines that come and go.
    void watch(std::function<EngineStats()> stats);

    /// For families of others.
    MetricRegistry& registry() { return registry_; }
    /// The body of `/metrics`, which is `text/plain; version=0.0.4; charset=utf-8`.
    [[nodiscard]] std::string scrape() const { return registry_.scrape(); }

  private:
    MetricRegistry registry_;
    Family<Counter>& requests_;
    Family<AtomicHistogram>& durations_;
    Family<AtomicHistogram>& claims_from_grant_;
    Counter* shutdown_timeouts_;

    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<RouteMetrics>> routes_;
};

}  // namespace ff::http
