#include "cli/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/exec_words.h"

namespace ff::cli {

namespace fs = std::filesystem;

namespace {

/// Starts the program with both outputs on the pipe; 0 or an errno.
int spawn(std::vector<std::string>& words, int output, pid_t& child) {
    std::vector<char*> argv = exec_words(words);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    const int fault = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

std::string read_to_end(int input) {
    std::string text;
    std::array<char, 4'096> block{};
    while (true) {
        const ssize_t count = read(input, block.data(), block.size());
        if (count > 0) {
            text.append(block.data(), static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            return text;
        }
    }
}

bool is_program(const fs::path& path) {
    std::error_code failed;
    return fs::is_regular_file(path, failed) && access(path.c_str(), X_OK) == 0;
}

/// `15` of `/usr/lib/postgresql/15`; 0 for any other name.
int version_of(const fs::path& folder) {
    const std::string name = folder.filename().string();
    int version = 0;
    std::from_chars(name.data(), name.data() + name.size(), version);
    return version;
}

}  // namespace

std::string_view telling_line(std::string_view printed) {
    std::string_view last;
    while (!printed.empty()) {
        const std::size_t end = std::min(printed.find('\n'), printed.size());
        const std::string_view line = printed.substr(0, end);
        if (line.find("error") != std::string_view::npos) {
            return line;
        }
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
            last = line;
        }
        printed.remove_prefix(std::min(end + 1, printed.size()));
    }
    return last;
}

expected<std::string> run_child(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return ff::fail(ErrorCode::store_io, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    pid_t child = 0;
    const int fault = spawn(words, ends[1], child);
    close(ends[1]);
    std::string printed = fault == 0 ? read_to_end(ends[0]) : "";
    close(ends[0]);
    if (fault != 0) {
        return ff::fail(ErrorCode::store_io,
                        fmt::format("cannot run {}: {}", words[0], std::strerror(fault)));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return printed;
    }
    const std::string_view why = telling_line(printed);
    if (why.empty()) {
        return ff::fail(ErrorCode::store_io, fmt::format("{} ended badly", words[0]));
    }
    return ff::fail(ErrorCode::store_io, std::string(why));
}

expected<std::string> find_postgres_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        if (const fs::path file = fs::path(rest.substr(0, end)) / name; is_program(file)) {
            return file.string();
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    fs::path newest;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", failed)) {
        const fs::path file = entry.path() / "bin" / name;
        if (is_program(file) && version_of(entry.path()) > version_of(newest)) {
            newest = entry.path();
        }
    }
    if (newest.empty()) {
        return ff::fail(ErrorCode::store_io,
                        name + " of PostgreSQL is needed and not there; see scripts/bootstrap.sh");
    }
    return (newest / "bin" / name).string();
}

}  // namespace ff::cli
