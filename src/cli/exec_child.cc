#include "cli/exec_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

namespace ff::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// A descriptor that is closed with the object.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        close();
        fd_ = std::exchange(other.fd_, -1);
        return *this;
    }
    ~Fd() { close(); }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }
    void close() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

  private:
    int fd_ = -1;
};

struct Pipe {
    Fd ours;
    Fd theirs;
};

expected<Pipe> make_pipe(bool we_write) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return ff::fail(ErrorCode::store_io, std::string("no pipe: ") + std::strerror(errno));
    }
    Pipe pipe{Fd(ends[we_write ? 1 : 0]), Fd(ends[we_write ? 0 : 1])};
    fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
    return pipe;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

/// One run. The poll loop moves bytes until the program has closed its outputs and ended.
class Run {
  public:
    Run(std::string_view input, const ExecLimits& limits) : input_(input), limits_(limits) {}

    expected<void> start(std::vector<std::string> words, std::vector<std::string> environment) {
        FF_TRY(Pipe in, make_pipe(true));
        FF_TRY(Pipe out, make_pipe(false));
        FF_TRY(Pipe err, make_pipe(false));
        wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in.theirs.get(), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out.theirs.get(), STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, err.theirs.get(), STDERR_FILENO);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigemptyset(&none);
        sigset_t usual;
        sigemptyset(&usual);
        sigaddset(&usual, SIGPIPE);
        sigaddset(&usual, SIGINT);
        sigaddset(&usual, SIGTERM);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &usual);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        const int fault = posix_spawnp(&child_, words[0].c_str(), &actions, &attributes,
                                       pointers(words).data(), pointers(environment).data());
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        if (fault != 0) {
            child_ = 0;
            return ff::fail(ErrorCode::store_io,
                            "cannot run " + words[0] + ": " + std::strerror(fault));
        }
        in_ = std::move(in.ours);
        out_ = std::move(out.ours);
        err_ = std::move(err.ours);
        return {};
    }

    ExecOutcome finish(const std::stop_token& stop) {
        const std::stop_callback<std::function<void()>> on_stop(stop, [this] {
            const std::uint64_t one = 1;
            [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
        });
        while (out_.open() || err_.open()) {
            step();
        }
        in_.close();
        wait();
        return std::move(outcome_);
    }

  private:
    void step() {
        std::array<pollfd, 4> waiting{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0},
                                      pollfd{wake_.get(), POLLIN, 0},
                                      pollfd{in_.get(), POLLOUT, 0}};
        if (poll(waiting.data(), waiting.size(), pause_ms()) < 0 && errno != EINTR) {
            return;
        }
        if (waiting[2].revents != 0) {
            std::uint64_t count = 0;
            [[maybe_unused]] const auto heard = ::read(wake_.get(), &count, sizeof count);
            ask_to_stop();
        }
        if (kill_at_ && Clock::now() >= *kill_at_) {
            kill(-child_, SIGKILL);
            kill_at_.reset();
        }
        if (waiting[3].revents != 0) {
            feed();
        }
        if (waiting[0].revents != 0) {
            take(out_, [this](std::string_view block) { keep_output(block); });
        }
        if (waiting[1].revents != 0) {
            take(err_, [this](std::string_view block) { keep_error(block); });
        }
    }

    [[nodiscard]] int pause_ms() const {
        if (!kill_at_) {
            return -1;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - Clock::now());
        return static_cast<int>(std::max<std::int64_t>(0, left.count() + 1));
    }

    void ask_to_stop() {
        kill(-child_, SIGTERM);
        kill_at_ = Clock::now() + limits_.kill_after;
    }

    void feed() {
        const ssize_t sent = ::write(in_.get(), input_.data(), input_.size());
        if (sent > 0) {
            input_.remove_prefix(static_cast<std::size_t>(sent));
        }
        // A program need not read its input: then the pipe breaks, and that is no fault.
        if (input_.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR)) {
            in_.close();
        }
    }

    template <class Keep>
    void take(Fd& from, Keep keep) {
        std::array<char, 16'384> block{};
        const ssize_t size = ::read(from.get(), block.data(), block.size());
        if (size > 0) {
            keep(std::string_view(block.data(), static_cast<std::size_t>(size)));
        } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
            from.close();
        }
    }

    void keep_output(std::string_view block) {
        if (outcome_.output.size() + block.size() > limits_.output_bytes_max) {
            outcome_.output_too_large = true;
            return;
        }
        outcome_.output += block;
    }

    void keep_error(std::string_view block) {
        [[maybe_unused]] const auto passed = ::write(STDERR_FILENO, block.data(), block.size());
        outcome_.error_tail += block;
        if (outcome_.error_tail.size() > limits_.error_bytes_kept) {
            outcome_.error_tail.erase(0, outcome_.error_tail.size() - limits_.error_bytes_kept);
        }
    }

    void wait() {
        int status = 0;
        while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
        }
        outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }

    std::string_view input_;
    const ExecLimits& limits_;
    Fd in_;
    Fd out_;
    Fd err_;
    Fd wake_;
    pid_t child_ = 0;
    std::optional<Clock::time_point> kill_at_;
    ExecOutcome outcome_;
};

}  // namespace

expected<ExecOutcome> run_program(const std::vector<std::string>& words,
                                  const std::vector<std::string>& environment,
                                  std::string_view input, const std::stop_token& stop,
                                  const ExecLimits& limits) {
    Run run(input, limits);
    FF_TRY_VOID(run.start(words, environment));
    return run.finish(stop);
}

}  // namespace ff::cli
