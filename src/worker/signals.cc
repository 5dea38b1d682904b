#include "worker/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"

namespace ff::worker {

namespace {

constexpr std::array watched{SIGINT, SIGTERM};
constexpr unsigned char end_of_watch = 0;

/// A pipe from the signal handler to a thread. Made once and never closed: a handler may run at any
/// time, and a number that was closed could be somebody else's file by then.
class Post {
  public:
    Post() {
        std::array<int, 2> ends{-1, -1};
        FF_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe for signals: out of files");
        ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
        read_end_ = ends[0];
        write_end_ = ends[1];
    }
    void put(unsigned char byte) const { (void)!::write(write_end_, &byte, 1); }
    [[nodiscard]] unsigned char take() const {
        unsigned char byte = end_of_watch;
        while (::read(read_end_, &byte, 1) < 0 && errno == EINTR) {
        }
        return byte;
    }

  private:
    int read_end_ = -1;
    int write_end_ = -1;
};

const Post& post() {
    static const Post& instance = *new Post;
    return instance;
}

void on_signal(int number) {
    const int error = errno;
    post().put(static_cast<unsigned char>(number));
    // The second one of a person who has lost patience ends the process.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, nullptr);
    errno = error;
}

/// Who is to be told, and the thread that tells them.
class Desk {
  public:
    std::uint64_t add(std::function<void()> told) {
        const std::lock_guard serial(changing_);
        const bool first = [&] {
            const std::lock_guard lock(mutex_);
            watches_.emplace(++last_, std::move(told));
            return watches_.size() == 1;
        }();
        if (first) {
            open();
        }
        return last_;
    }
    void remove(std::uint64_t number) {
        const std::lock_guard serial(changing_);
        const bool last = [&] {
            const std::lock_guard lock(mutex_);
            watches_.erase(number);
            return watches_.empty();
        }();
        if (last) {
            close();
        }
    }

  private:
    void open() {
        post();  // before the first signal
        thread_ = std::thread([this] {
            while (post().take() != end_of_watch) {
                const std::lock_guard lock(mutex_);
                for (const auto& [number, told] : watches_) {
                    told();
                }
            }
        });
        for (std::size_t i = 0; i < watched.size(); ++i) {
            struct sigaction ours{};
            ours.sa_handler = on_signal;
            ours.sa_flags = SA_RESTART;
            sigaction(watched[i], &ours, &before_[i]);
        }
    }
    void close() {
        for (std::size_t i = 0; i < watched.size(); ++i) {
            sigaction(watched[i], &before_[i], nullptr);
        }
        post().put(end_of_watch);
        thread_.join();
    }

    std::mutex changing_;  ///< held by who adds or removes
    std::array<struct sigaction, watched.size()> before_{};
    std::thread thread_;
    std::uint64_t last_ = 0;

    std::mutex mutex_;
    std::map<std::uint64_t, std::function<void()>> watches_;  // guarded by mutex_
};

Desk& desk() {
    static Desk& instance = *new Desk;
    return instance;
}

}  // namespace

SignalWatch::SignalWatch(std::function<void()> on_signal)
    : number_(desk().add(std::move(on_signal))) {}

SignalWatch::~SignalWatch() { desk().remove(number_); }

}  // namespace ff::worker
