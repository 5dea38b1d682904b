#include "cli/guarded_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "cli/exec_words.h"

namespace ff::cli {

namespace {

/// What goes through the status pipe, once: the program did not start, or it has ended.
struct Message {
    int exec_fault = 0;
    int wait_status = 0;
};

/// Where guard and program keep the status pipe; all above is closed.
constexpr int status_fd = 3;

/// All that the new processes need. They are made of a process with threads, whose locks may be
/// held by nobody any more: up to exec they may call the kernel and nothing else.
struct Plan {
    const char* path;
    char* const* words;
    char* const* environment;
    const char* dir;         ///< empty: where we are
    std::array<int, 4> fds;  ///< standard input, output, error, and the status pipe
    pid_t worker;
    int worker_died;  ///< a signal that nobody else sends
};

/// _exit() by way of the kernel alone: the thread sanitizer hooks the function, and there reports
/// the worker's threads, which this process never had, as not waited for.
[[noreturn]] void leave(int code) {
    for (;;) {
        ::syscall(SYS_exit_group, code);
    }
}

void tell(Message message) {
    [[maybe_unused]] const auto told = ::write(status_fd, &message, sizeof message);
}

/// Puts the descriptors in their places. None of the old numbers is below 4: see start().
void place_descriptors(const Plan& plan) {
    for (int i = 0; i < 4; ++i) {
        ::dup2(plan.fds[static_cast<std::size_t>(i)], i);
    }
    ::fcntl(status_fd, F_SETFD, FD_CLOEXEC);
    ::close_range(status_fd + 1, ~0U, 0);
}

[[noreturn]] void become_program(const Plan& plan, pid_t guard) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != guard) {
        leave(127);
    }
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD}) {
        ::signal(signal, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.dir[0] == '\0' || ::chdir(plan.dir) == 0) {
        ::execve(plan.path, plan.words, plan.environment);
    }
    tell({errno, 0});
    leave(127);
}

/// Has every signal blocked: it takes those it wants, and the group's are none of its business.
[[noreturn]] void guard(const Plan& plan) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, plan.worker_died);
    if (::getppid() != plan.worker) {
        leave(127);  // it died before we asked to be told
    }
    ::signal(SIGCHLD, SIG_DFL);
    place_descriptors(plan);
    const pid_t self = ::getpid();
    const pid_t program = ::_Fork();
    if (program == 0) {
        become_program(plan, self);
    }
    if (program < 0) {
        tell({errno, 0});
        leave(127);
    }
    for (int fd = 0; fd < status_fd; ++fd) {
        ::close(fd);  // who waits for their end waits for the program's
    }
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, plan.worker_died);
    for (;;) {
        int signal = 0;
        if (::sigwait(&heard, &signal) != 0) {
            continue;
        }
        if (signal == plan.worker_died) {
            ::kill(0, SIGKILL);  // the group, and ourselves with it
        }
        Message end;
        if (::waitpid(program, &end.wait_status, WNOHANG) == program) {
            tell(end);
            leave(0);
        }
    }
}

/// A copy of a descriptor above those that the program gets.
Fd lifted(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, status_fd + 1)); }

bool may_run(const std::string& path) {
    struct stat about{};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

void Fd::close() {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

expected<Pipe> Pipe::make(bool we_write) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return ff::fail(ErrorCode::store_io, std::string("no pipe: ") + std::strerror(errno));
    }
    Pipe pipe{Fd(ends[we_write ? 1 : 0]), Fd(ends[we_write ? 0 : 1])};
    fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
    return pipe;
}

expected<GuardedChild> GuardedChild::start(ChildSetup setup) {
    FF_TRY(Pipe status, Pipe::make(false));
    const std::array copies{lifted(setup.in), lifted(setup.out), lifted(setup.err),
                            lifted(status.theirs.get())};
    const std::vector<char*> words = exec_words(setup.words);
    const std::vector<char*> environment = exec_words(setup.environment);
    Plan plan{setup.path.c_str(), words.data(), environment.data(), setup.dir.c_str(), {},
              ::getpid(),         SIGRTMAX};
    for (std::size_t i = 0; i < copies.size(); ++i) {
        plan.fds[i] = copies[i].get();
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t child = ::_Fork();
    if (child == 0) {
        guard(plan);
    }
    const int fault = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (child < 0) {
        return ff::fail(ErrorCode::store_io,
                        "cannot run " + setup.words[0] + ": " + std::strerror(fault));
    }
    ::setpgid(child, child);  // whoever of the two is first: signals find the group from here on
    return GuardedChild(child, std::move(status.ours));
}

void GuardedChild::send(int signal) const { ::kill(-guard_, signal); }

GuardedChild::End GuardedChild::wait() {
    int guard_status = 0;
    while (waitpid(guard_, &guard_status, 0) < 0 && errno == EINTR) {
    }
    Message message;
    if (::read(status_.get(), &message, sizeof message) == sizeof message) {
        return {message.exec_fault, message.wait_status};
    }
    return {0, guard_status};  // killed with its group
}

expected<std::string> find_program(const std::string& name) {
    const auto refuse = [&name](const std::string& why) {
        return ff::fail(ErrorCode::invalid_config, "cannot run " + name + ": " + why);
    };
    if (name.find('/') != std::string::npos) {
        if (!may_run(name)) {
            return refuse(::access(name.c_str(), F_OK) == 0 ? "it is not a program"
                                                            : "there is no such file");
        }
        return name;
    }
    const char* given = std::getenv("PATH");
    std::string_view folders = given != nullptr ? given : "/usr/local/bin:/usr/bin:/bin";
    while (!name.empty()) {
        const std::size_t end = folders.find(':');
        const std::string folder(folders.substr(0, end));
        std::string path = (folder.empty() ? "." : folder) + "/" + name;
        if (may_run(path)) {
            return path;
        }
        if (end == std::string_view::npos) {
            break;
        }
        folders.remove_prefix(end + 1);
    }
    return refuse("it is not in PATH");
}

}  // namespace ff::cli
