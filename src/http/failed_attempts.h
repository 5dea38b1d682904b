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

    /// `attempts_max` 0: nobody is ever refused.
    explicit FailedAttempts(std::size_t attempts_max) : attempts_max_(attempts_max) {}

    /// Seconds until this address may try again; 0: now.
    [[nodiscard]] std::int64_t seconds_to_wait(std::string_view peer,
                                               TimePoint now = std::chrono::steady_clock::now());
    void add(std::string_view peer, TimePoint now = std::chrono::steady_clock::now());

    /// When so many addresses have failed within a minute, further ones are not counted: strangers
    /// must not keep anybody out who has done nothing.
    static constexpr std::size_t addresses_max = 8'192;

  private:
    void turn(TimePoint now);

    const std::size_t attempts_max_;
    std::mutex mutex_;
    TimePoint window_began_{};                             // guarded by mutex_
    std::unordered_map<std::string, std::size_t> failed_;  // guarded by mutex_
};

}  // namespace ff::http
