#include "cli/exec_child.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "cli/guarded_child.h"

namespace ff::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds usual_kill_after{10'000};
/// How long the end of its outputs may come after the end of the program.
constexpr std::chrono::milliseconds last_output{1'000};

/// One run. The poll loop moves bytes until the program has ended and closed its outputs.
class ChildRun {
  public:
    ChildRun(std::string_view input, const ExecOptions& options)
        : input_(input), options_(options) {}

    expected<void> start(ChildSetup setup) {
        FF_TRY(Pipe in, Pipe::make(true));
        FF_TRY(Pipe out, Pipe::make(false));
        FF_TRY(Pipe err, Pipe::make(false));
        wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        program_ = setup.words[0];
        setup.dir = options_.dir;
        setup.in = in.theirs.get();
        setup.out = out.theirs.get();
        setup.err = err.theirs.get();
        FF_TRY(GuardedChild child, GuardedChild::start(std::move(setup)));
        child_.emplace(std::move(child));
        in_ = std::move(in.ours);
        out_ = std::move(out.ours);
        err_ = std::move(err.ours);
        return {};
    }

    expected<ExecOutcome> finish(const std::stop_token& stop) {
        const std::stop_callback<std::function<void()>> on_stop(stop, [this] {
            const std::uint64_t one = 1;
            [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
        });
        // It has ended when it has, not when its outputs are closed: it may have left somebody
        // behind who holds them.
        while (!ended_ || ((out_.open() || err_.open()) && Clock::now() < *ended_ + last_output)) {
            step();
        }
        in_.close();
        const GuardedChild::End end = child_->wait();
        if (end.exec_fault != 0) {
            return ff::fail(ErrorCode::store_io, "cannot run " + program_ + in_its_folder() + ": " +
                                                     std::strerror(end.exec_fault));
        }
        outcome_.exit_code = WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : -1;
        outcome_.signal = WIFSIGNALED(end.wait_status) ? WTERMSIG(end.wait_status) : 0;
        return std::move(outcome_);
    }

  private:
    [[nodiscard]] std::string in_its_folder() const {
        return options_.dir.empty() ? "" : " in " + options_.dir;
    }

    void step() {
        // A number below zero is left out by poll.
        std::array<pollfd, 5> waiting{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0},
                                      pollfd{wake_.get(), POLLIN, 0}, pollfd{in_.get(), POLLOUT, 0},
                                      pollfd{ended_ ? -1 : child_->ended_fd(), POLLIN, 0}};
        if (poll(waiting.data(), waiting.size(), pause_ms()) < 0 && errno != EINTR) {
            return;
        }
        if (waiting[2].revents != 0) {
            std::uint64_t count = 0;
            [[maybe_unused]] const auto heard = ::read(wake_.get(), &count, sizeof count);
            ask_to_stop();
        }
        if (kill_at_ && Clock::now() >= *kill_at_) {
            child_->send(SIGKILL);
            kill_at_.reset();
        }
        if (waiting[4].revents != 0) {
            ended_ = Clock::now();
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
        std::optional<Clock::time_point> until = kill_at_;
        if (ended_ && (!until || *ended_ + last_output < *until)) {
            until = *ended_ + last_output;
        }
        if (!until) {
            return -1;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(*until - Clock::now());
        return static_cast<int>(std::max<std::int64_t>(0, left.count() + 1));
    }

    void ask_to_stop() {
        child_->send(SIGTERM);
        kill_at_ = Clock::now() + (options_.kill_after ? options_.kill_after() : usual_kill_after);
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
        if (options_.on_output) {
            options_.on_output(block);
        }
        if (outcome_.output.size() + block.size() > options_.output_bytes_max) {
            outcome_.output_too_large = true;
            return;
        }
        outcome_.output += block;
    }

    void keep_error(std::string_view block) {
        if (options_.on_error) {
            options_.on_error(block);
        }
        if (options_.errors == ExecErrors::passed_on) {
            [[maybe_unused]] const auto passed = ::write(STDERR_FILENO, block.data(), block.size());
        }
        outcome_.error_tail += block;
        if (outcome_.error_tail.size() > options_.error_bytes_kept) {
            outcome_.error_tail.erase(0, outcome_.error_tail.size() - options_.error_bytes_kept);
        }
    }

    std::string_view input_;
    const ExecOptions& options_;
    Fd in_;
    Fd out_;
    Fd err_;
    Fd wake_;
    std::string program_;
    std::optional<GuardedChild> child_;
    std::optional<Clock::time_point> ended_;  ///< when the program itself ended
    std::optional<Clock::time_point> kill_at_;
    ExecOutcome outcome_;
};

/// The folder in which a program is to run; empty for this one.
expected<void> check_dir(const std::string& program, const std::string& dir) {
    std::error_code fault;
    const auto found = std::filesystem::status(dir, fault);
    if (dir.empty() || std::filesystem::is_directory(found)) {
        return {};
    }
    std::string why = "there is no folder " + dir;
    if (std::filesystem::exists(found)) {
        why = dir + " is no folder";
    } else if (found.type() == std::filesystem::file_type::none) {
        why = "cannot look at the folder " + dir + ": " + fault.message();
    }
    return ff::fail(ErrorCode::invalid_config, "cannot run " + program + ": " + why);
}

}  // namespace

expected<ExecOutcome> run_program(const std::vector<std::string>& words,
                                  const std::vector<std::string>& environment,
                                  std::string_view input, const std::stop_token& stop,
                                  const ExecOptions& options) {
    FF_TRY_VOID(check_dir(words[0], options.dir));
    // A name with a slash is looked for where the program runs, which is not here.
    const bool elsewhere = !options.dir.empty() && words[0].contains('/');
    std::string path = words[0];
    if (!elsewhere) {
        FF_TRY(path, find_program(words[0]));
    }
    ChildRun run(input, options);
    FF_TRY_VOID(run.start({std::move(path), words, environment}));
    return run.finish(stop);
}

}  // namespace ff::cli
