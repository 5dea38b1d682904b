#include "cli/screen.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace ff::test {

namespace {

int count_of(std::string_view text, std::string_view part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

}  // namespace

FakeScreen::FakeScreen(const std::vector<std::string>& arguments, unsigned short columns,
                       unsigned short rows, const Around& around) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    Around inside = around;
    inside.variables.emplace("TERM", "xterm");
    std::vector<std::string> variables = environment(inside);
    std::vector<std::string> words{FF_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    std::vector<char*> envp;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    for (std::string& variable : variables) {
        envp.push_back(variable.data());
    }
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    if (openpty(&terminal_, &window_, nullptr, nullptr, &size) != 0) {
        ADD_FAILURE() << "no terminal can be made";
        return;
    }
    child_ = fork();
    if (child_ == 0) {
        setsid();
        ioctl(window_, TIOCSCTTY, 0);
        dup2(window_, STDIN_FILENO);
        dup2(window_, STDOUT_FILENO);
        dup2(window_, STDERR_FILENO);
        close(terminal_);
        execve(FF_BINARY, argv.data(), envp.data());
        _exit(127);
    }
}

FakeScreen::~FakeScreen() {
    if (child_ > 0) {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    close(terminal_);
    close(window_);
}

bool FakeScreen::read_some() {
    pollfd ready{terminal_, POLLIN, 0};
    std::array<char, 4096> part{};
    if (poll(&ready, 1, 100) <= 0) {
        return true;
    }
    const ssize_t size = read(terminal_, part.data(), part.size());
    if (size <= 0) {
        return false;
    }
    drawn_.append(part.data(), static_cast<std::size_t>(size));
    return true;
}

bool FakeScreen::wait_for(std::string_view text, int times) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (count_of(drawn_, text) < times) {
        if (std::chrono::steady_clock::now() > until || !read_some()) {
            return false;
        }
    }
    return true;
}

void FakeScreen::press(std::string_view keys) {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void FakeScreen::signal(int number) const { kill(child_, number); }

int FakeScreen::finish() {
    int status = 0;
    while (waitpid(child_, &status, WNOHANG) == 0) {
        read_some();  // so that it never waits for room to write
    }
    child_ = -1;
    for (pollfd ready{terminal_, POLLIN, 0}; poll(&ready, 1, 0) > 0 && read_some();) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool FakeScreen::echoes() const {
    termios now{};
    return tcgetattr(window_, &now) == 0 && (now.c_lflag & ECHO) != 0 &&
           (now.c_lflag & ICANON) != 0;
}

}  // namespace ff::test
