#include "worker/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"

namespace ff::worker {

namespace {

constexpr std::array watched{SIGINT, SIGTERM};
constexpr unsigned char end_of_watch = 0;
/// One wish to stop may come twice: a supervisor signals the group, and its child once more.
constexpr std::int64_t same_signal_ms = 1'000;

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

/// When the first signal of a kind came, in milliseconds; 0: none has.
std::atomic<std::int64_t> first_int{0};
std::atomic<std::int64_t> first_term{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000 + 1;
}

void on_signal(int number) {
    const int error = errno;
    auto& first = number == SIGINT ? first_int : first_term;
    const std::int64_t now = now_ms();
    std::int64_t before = 0;
    if (first.compare_exchange_strong(before, now)) {
        post().put(static_cast<unsigned char>(number));
    } else if (now - before >= same_signal_ms) {
        // The second one of a person who has lost patience ends the process, once we return.
        struct sigaction usual{};
        usual.sa_handler = SIG_DFL;
        sigaction(number, &usual, nullptr);
        raise(number);
    }
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
        first_int = 0;
        first_term = 0;
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
