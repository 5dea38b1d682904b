#include "cli/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/exec_words.h"

namespace ff::cli {

namespace {

constexpr int start_ms_max = 60'000;

/// `http://…` of the line that says where it listens.
std::string address_in(const std::string& text) {
    const std::size_t line = text.find("listening");
    const std::size_t at = line == std::string::npos ? line : text.find("http", line);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t end = text.find_first_of(" \"\n", at);
    return end == std::string::npos ? std::string() : text.substr(at, end - at);
}

}  // namespace

expected<std::unique_ptr<ServerProcess>> ServerProcess::start(
    const std::string& db, const std::map<std::string, std::string>& settings,
    std::string program) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return ff::fail(ErrorCode::store_io, std::string("no pipe: ") + std::strerror(errno));
    }
    std::vector<std::string> words{std::move(program), "serve",      "--db", db,
                                   "--listen",         "127.0.0.1:0"};
    std::vector<std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (!std::string_view(*entry).starts_with("FF_")) {  // ours would change what is measured
            variables.emplace_back(*entry);
        }
    }
    for (const auto& [name, value] : settings) {
        variables.push_back(name + "=" + value);
    }
    std::error_code ignored;
    if (words[0].empty()) {
        words[0] = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::unique_ptr<ServerProcess> process(new ServerProcess);
    const int fault = posix_spawn(&process->pid_, words[0].c_str(), &actions, nullptr,
                                  exec_words(words).data(), exec_words(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    process->log_ = ends[0];
    if (fault != 0) {
        process->pid_ = 0;
        return ff::fail(ErrorCode::store_io, std::string("cannot start: ") + std::strerror(fault));
    }
    std::string said;
    std::array<char, 4'096> block{};
    while (process->url_.empty()) {
        pollfd waiting{ends[0], POLLIN, 0};
        const int ready = poll(&waiting, 1, start_ms_max);
        const ssize_t size = ready > 0 ? read(ends[0], block.data(), block.size()) : 0;
        if (size <= 0) {
            return ff::fail(ErrorCode::store_io, "the server did not start: " + said);
        }
        said.append(block.data(), static_cast<std::size_t>(size));
        process->url_ = address_in(said);
    }
    return process;
}

ServerProcess::~ServerProcess() {
    if (log_ >= 0) {
        close(log_);
    }
    if (pid_ > 0) {
        kill(pid_, SIGTERM);
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
}

double ServerProcess::resident_mib() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
    double total = 0;
    double resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double ServerProcess::cpu_seconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) {
        rest >> skipped;
    }
    double user = 0;
    double system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace ff::cli
