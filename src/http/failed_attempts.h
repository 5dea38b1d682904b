// How often an address has tried what it has no right to: a window of a minute, in bounded memory.
//
// For routes whose path is the credential. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ff::http {

class FailedAttempts {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// So many are heard at one target, and `targets_factor` times as many at all of them together:
    /// an address may be that of a proxy, with many behind it. 0: nobody is ever refused.
    explicit FailedAttempts(std::size_t attempts_max) : attempts_max_(attempts_max) {}

    /// Seconds until this address may try again; 0: now. With a target what it has tried there
    /// counts, without one all it has tried.
    [[nodiscard]] std::int64_t seconds_to_wait(std::string_view peer, std::string_view target,
                                               TimePoint now = std::chrono::steady_clock::now());
    void add(std::string_view peer, std::string_view target,
             TimePoint now = std::chrono::steady_clock::now());

    static constexpr std::size_t targets_factor = 10;
    /// Of addresses, and of what they try at. When more fail within a minute, those with few
    /// failures are forgotten first.
    static constexpr std::size_t counted_max = 8'192;

  private:
    using Counts = std::unordered_map<std::string, std::size_t>;

    void turn(TimePoint now);
    static void count(Counts& counts, const std::string& key);

    const std::size_t attempts_max_;
    std::mutex mutex_;
    TimePoint window_began_{};  // guarded by mutex_
    Counts by_address_;         // guarded by mutex_
    Counts by_target_;          // guarded by mutex_
};

}  // namespace ff::http
