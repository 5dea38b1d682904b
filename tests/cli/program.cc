#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

extern char** environ;

namespace ff::test {

namespace fs = std::filesystem;

namespace {

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

js::Value Ran::json() const {
    auto value = js::parse(out);
    EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().detail) << "\n" << out << err;
    return value ? *value : js::Value();
}

std::vector<js::Value> Ran::json_lines() const {
    std::vector<js::Value> values;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
        auto value = js::parse(line);
        EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().detail) << "\n" << line;
        values.push_back(value ? *value : js::Value());
    }
    return values;
}

std::vector<std::string> environment(const Around& around) {
    static const std::set<std::string, std::less<>> ours{"FF_CONNECT", "FF_PROFILE", "FF_CONFIG",
                                                         "FF_API_TOKEN", "XDG_CONFIG_HOME"};
    auto variables = around.variables;
    variables.emplace("XDG_CONFIG_HOME", "/nonexistent");
    std::vector<std::string> out;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view entry = *at;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (!ours.contains(name) && !variables.contains(std::string(name))) {
            out.emplace_back(entry);
        }
    }
    for (const auto& [name, value] : variables) {
        out.push_back(name + "=" + value);
    }
    return out;
}

namespace {

Ran run_program(std::vector<std::string> words, const Around& around) {
    const Folder folder;
    const std::string in = folder.file("in");
    const std::string out = folder.file("out");
    const std::string err = folder.file("err");
    std::ofstream(in, std::ios::binary) << around.input;
    std::vector<std::string> variables = environment(around);
    std::vector<char*> envp;
    for (std::string& variable : variables) {
        envp.push_back(variable.data());
    }
    envp.push_back(nullptr);
    const std::string program = words.front();
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
    pid_t child = 0;
    const int fault =
        posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    Ran ran;
    if (fault != 0) {
        ADD_FAILURE() << "cannot start " << program;
        return ran;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.out = read_all(out);
    ran.err = read_all(err);
    return ran;
}

}  // namespace

Ran run_ff(const std::vector<std::string>& arguments, const Around& around) {
    std::vector<std::string> words{FF_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_program(std::move(words), around);
}

Ran run_shell(const std::string& line, const std::vector<std::string>& arguments,
              const Around& around) {
    std::vector<std::string> words{"/bin/sh", "-c", line, FF_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_program(std::move(words), around);
}

Folder::Folder() {
    std::string pattern = (fs::temp_directory_path() / "ff-cli-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
}

Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void tamper(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    char* message = nullptr;
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(code, SQLITE_OK) << (message != nullptr ? message : "");
    EXPECT_GT(sqlite3_total_changes(db), 0) << "nothing was changed by: " << sql;
    sqlite3_free(message);
    sqlite3_close(db);
}

std::string member(const js::Value& object, std::string_view name) {
    const js::Value* value = object.find(name);
    if (value == nullptr) {
        return "";
    }
    const std::string* text = value->if_string();
    return text != nullptr ? *text : js::dump(*value);
}

}  // namespace ff::test
