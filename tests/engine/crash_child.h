// What the crash tests share: a child process that works on a store and tells what was
// acknowledged, until it is killed without warning.
//
// The child is this very program, started again with FF_CRASH_CHILD set.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>

#include <ff/error.h>

namespace ff::engine::test {

/// Where the child tells what was acknowledged: whole lines, in one write each.
class Ledger {
  public:
    explicit Ledger(int fd) : fd_(fd) {}

    template <class... Words>
    void write(const Words&... words) const {
        std::ostringstream line;
        ((line << words << ' '), ...);
        const std::string text = line.str() + "\n";
        if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            _exit(4);
        }
    }
    /// Refusals that a worker under this load must expect; anything else ends the child.
    template <class T>
    bool accepts(const expected<T>& result) const {
        if (result) {
            return true;
        }
        switch (result.error().code) {
            case ErrorCode::lease_expired:
            case ErrorCode::lease_revoked:
            case ErrorCode::stale_lease:
            case ErrorCode::waitpoint_closed:
            case ErrorCode::target_not_signalable:
            case ErrorCode::execution_not_active: return false;
            default: write("error", result.error().message()); _exit(3);
        }
    }

  private:
    int fd_;
};

/// What a child does on the store until it is killed; it must not return.
using ChildBody = std::function<void(const std::string& store, const Ledger&, std::uint64_t seed)>;

/// The program becomes the child of this name, before any test runs, if it was started for that.
/// To be called before main.
bool add_crash_child(const std::string& name, ChildBody body);

/// Where the lines go that a child tells.
using Listener = std::function<void(const std::string& line)>;

/// A child that runs. One thread, which must outlive it: the child dies with who started it.
class CrashChild {
  public:
    CrashChild(const std::string& child, const std::string& store, std::uint64_t seed);
    ~CrashChild();
    CrashChild(const CrashChild&) = delete;
    CrashChild& operator=(const CrashChild&) = delete;

    /// Readable when it has told something.
    [[nodiscard]] int fd() const { return fd_; }
    /// Waits for what comes and hands on every whole line; false when nothing will come any more.
    bool hear(const Listener& listener);
    /// Without warning. Lines that are on their way can still be heard.
    void kill();
    /// Kills it, hears the rest, and returns when it is gone; fails the test if it went by itself.
    void end(const Listener& listener);

  private:
    pid_t pid_ = -1;
    int fd_ = -1;
    std::string buffer_;
};

/// Runs that child, hands on every line it tells, and kills it once `is_time_to_kill` has said so
/// of one. Lines that were on their way still come.
void run_and_kill(const std::string& child, const std::string& store, std::uint64_t seed,
                  const std::function<bool(const std::string& line)>& is_time_to_kill);

}  // namespace ff::engine::test
