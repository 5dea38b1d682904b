#include "http/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>

#include "http/test_server.h"

extern char** environ;

namespace ff::http::test {

namespace {

std::vector<std::string> environment(const Variables& variables) {
    std::vector<std::string> out;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view entry = *at;
        const std::string name(entry.substr(0, entry.find('=')));
        if (!name.starts_with("FF_") && !variables.contains(name)) {
            out.emplace_back(entry);
        }
    }
    for (const auto& [name, value] : variables) {
        out.push_back(name + "=" + value);
    }
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words) {
        out.push_back(word.data());
    }
    out.push_back(nullptr);
    return out;
}

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Process::Process(std::vector<std::string> words, const Variables& variables) {
    std::vector<std::string> around = environment(variables);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder_.file("out").c_str(), flags,
                                     0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, folder_.file("err").c_str(), flags,
                                     0600);
    const int fault = posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(around).data());
    posix_spawn_file_actions_destroy(&actions);
    if (fault != 0) {
        pid_ = -1;
        ADD_FAILURE() << "cannot start " << words[0];
    }
}

Process::~Process() {
    if (pid_ > 0) {
        send_signal(SIGKILL);
        reap(true);
    }
}

void Process::send_signal(int signal) const {
    if (pid_ > 0) {
        kill(pid_, signal);
    }
}

/// Has it ended?
bool Process::reap(bool block) {
    if (pid_ <= 0) {
        return true;
    }
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, block ? 0 : WNOHANG);
    if (ended == pid_) {
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        pid_ = -1;
    }
    return pid_ <= 0;
}

bool Process::runs() { return !reap(false); }

int Process::wait() {
    if (!eventually("the program ends", [this] { return reap(false); })) {
        ADD_FAILURE() << "it said: " << out() << err();
    }
    return code_;
}

std::string Process::out() const { return read_all(folder_.file("out")); }
std::string Process::err() const { return read_all(folder_.file("err")); }

std::string Process::wait_for_text(const std::string& text) {
    std::string found;
    const bool came = eventually(text, [&] {
        const std::string said = err();
        const std::size_t at = said.find(text);
        const std::size_t end = said.find_first_of(" \n", at + text.size());
        if (at == std::string::npos || end == std::string::npos) {
            return reap(false);  // nothing more will come
        }
        found = said.substr(at + text.size(), end - at - text.size());
        return true;
    });
    EXPECT_TRUE(came && !found.empty()) << "it said: " << out() << err();
    return found;
}

Ran run(std::vector<std::string> words, const Variables& variables) {
    Process process(std::move(words), variables);
    Ran ran;
    ran.code = process.wait();
    ran.out = process.out();
    ran.err = process.err();
    return ran;
}

// -------------------------------------------------------------------------------------- ff serve

namespace {

std::vector<std::string> serve_words(const std::string& db, const std::vector<std::string>& more) {
    std::vector<std::string> words{FF_BINARY, "serve", "--db", db, "--listen", "127.0.0.1:0"};
    if (std::ranges::find(more, "--log") == more.end()) {
        words.insert(words.end(), {"--log", "info"});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

ServeProcess::ServeProcess(const std::string& db, const std::vector<std::string>& more,
                           Variables variables)
    : process_(serve_words(db, more), variables), url_(process_.wait_for_text("addr=")) {}

std::uint16_t ServeProcess::port() const {
    const std::size_t colon = url_.rfind(':');
    return colon == std::string::npos
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(std::stoul(url_.substr(colon + 1)));
}

int ServeProcess::stop() {
    process_.send_signal(SIGTERM);
    return process_.wait();
}

}  // namespace ff::http::test
