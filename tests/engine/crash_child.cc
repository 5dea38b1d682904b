#include "engine/crash_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

namespace ff::engine::test {

namespace {

class ChildEnvironment : public testing::Environment {
  public:
    ChildEnvironment(std::string name, ChildBody body)
        : name_(std::move(name)), body_(std::move(body)) {}

    void SetUp() override {
        const char* wanted = std::getenv("FF_CRASH_CHILD");
        if (wanted == nullptr || wanted != name_) {
            return;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const Ledger ledger(std::atoi(std::getenv("FF_CRASH_FD")));
        body_(std::getenv("FF_CRASH_STORE"), ledger,
              std::strtoull(std::getenv("FF_CRASH_SEED"), nullptr, 10));
        _exit(3);
    }

  private:
    const std::string name_;
    const ChildBody body_;
};

/// Starts this program again with these variables, and with this file open; -1 when that fails.
pid_t start(std::vector<std::string> variables, int fd) {
    // Everything the child needs is made before the fork: after it little may be called.
    std::vector<char*> environment;
    for (std::string& variable : variables) {
        environment.push_back(variable.data());
    }
    for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe";
    std::string brief = "--gtest_brief=1";
    std::array<char*, 3> arguments{program.data(), brief.data(), nullptr};
    const pid_t child = fork();
    if (child == 0) {
        fcntl(fd, F_SETFD, 0);
        execve(program.c_str(), arguments.data(), environment.data());
        _exit(127);
    }
    return child;
}

}  // namespace

bool add_crash_child(const std::string& name, ChildBody body) {
    testing::AddGlobalTestEnvironment(new ChildEnvironment(name, std::move(body)));
    return true;
}

CrashChild::CrashChild(const std::string& child, const std::string& store, std::uint64_t seed) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ =
        start({"FF_CRASH_CHILD=" + child, "FF_CRASH_STORE=" + store,
               "FF_CRASH_FD=" + std::to_string(ends[1]), "FF_CRASH_SEED=" + std::to_string(seed)},
              ends[1]);
    EXPECT_GE(pid_, 0);
    close(ends[1]);
    fd_ = ends[0];
}

CrashChild::~CrashChild() {
    if (pid_ > 0) {
        end([](const std::string&) {});
    }
}

bool CrashChild::hear(const Listener& listener) {
    pollfd ready{fd_, POLLIN, 0};
    // A long cascade says nothing until it is over: on a slow machine, under a sanitizer, that
    // takes minutes. Only a child that hangs is silent for so long.
    const int found = poll(&ready, 1, 600'000);
    EXPECT_GT(found, 0) << "the child says nothing";
    std::array<char, 65'536> bytes{};
    const ssize_t size = found > 0 ? read(fd_, bytes.data(), bytes.size()) : 0;
    if (size <= 0) {
        return false;
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = buffer_.find('\n'); end != std::string::npos;
         begin = end + 1, end = buffer_.find('\n', begin)) {
        listener(buffer_.substr(begin, end - begin));
    }
    buffer_.erase(0, begin);
    return true;
}

void CrashChild::kill() { ::kill(pid_, SIGKILL); }

void CrashChild::end(const Listener& listener) {
    kill();
    while (hear(listener)) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    EXPECT_TRUE(buffer_.empty()) << "half a line";
    close(fd_);
    pid_ = -1;
}

void run_and_kill(const std::string& child, const std::string& store, std::uint64_t seed,
                  const std::function<bool(const std::string& line)>& is_time_to_kill) {
    CrashChild running(child, store, seed);
    bool killed = false;
    const Listener listener = [&](const std::string& line) {
        if (is_time_to_kill(line) && !killed) {
            running.kill();
            killed = true;  // and read on: what was told before the end counts
        }
    };
    while (running.hear(listener)) {
    }
    EXPECT_TRUE(killed) << "the child ended by itself";
    running.end(listener);
}

}  // namespace ff::engine::test
