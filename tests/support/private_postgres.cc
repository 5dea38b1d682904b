#include "support/private_postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace ff::support {

namespace {

constexpr auto start_within = std::chrono::seconds(60);
constexpr auto look_again = std::chrono::milliseconds(20);

/// The server refuses to run as root.
const passwd* account() {
    if (getuid() != 0) {
        return nullptr;
    }
    const passwd* found = getpwnam("postgres");
    return found != nullptr ? found : getpwnam("nobody");
}

}  // namespace

PrivatePostgres::PrivatePostgres() {
    if (const passwd* user = account()) {
        EXPECT_EQ(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid), 0);
    }
    const pid_t made = spawn("initdb", {"--pgdata=data", "--username=ff", "--auth=trust",
                                        "--encoding=UTF8", "--locale=C", "--no-sync"});
    int status = 0;
    waitpid(made, &status, 0);
    EXPECT_EQ(status, 0) << "no database could be made";
    start();
}

PrivatePostgres::~PrivatePostgres() { end(SIGQUIT); }

pid_t PrivatePostgres::spawn(const std::string& program,
                             const std::vector<std::string>& arguments) {
    // Everything the child needs is made before the fork.
    const char* programs = std::getenv("FF_TEST_POSTGRES_BIN");
    std::string path = (programs != nullptr ? std::string(programs) : "") + "/" + program;
    std::vector<std::string> words{path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    const std::string log = folder_.file("log");
    const passwd* user = account();
    const uid_t uid = user != nullptr ? user->pw_uid : 0;
    const gid_t gid = user != nullptr ? user->pw_gid : 0;
    const pid_t child = fork();
    if (child == 0) {
        if (uid != 0 && (setgroups(0, nullptr) != 0 || setgid(gid) != 0 || setuid(uid) != 0)) {
            _exit(126);
        }
        prctl(PR_SET_PDEATHSIG, SIGQUIT);  // behind setuid, which forgets it
        const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (chdir(folder_.path().c_str()) != 0 || out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
            _exit(126);
        }
        execv(path.c_str(), pointers.data());
        _exit(127);
    }
    return child;
}

bool PrivatePostgres::ready() const {
    std::ifstream file(folder_.file("data/postmaster.pid"));
    std::string line;
    std::getline(file, line);
    if (line != std::to_string(server_)) {
        return false;  // it is the last one's
    }
    while (std::getline(file, line)) {
        if (line.starts_with("ready")) {
            return true;
        }
    }
    return false;
}

void PrivatePostgres::start() {
    const auto deadline = std::chrono::steady_clock::now() + start_within;
    server_ = -1;
    while (std::chrono::steady_clock::now() < deadline) {
        if (server_ < 0) {
            server_ = spawn("postgres", {"-D", "data", "-c", "listen_addresses=", "-c",
                                         "unix_socket_directories=" + folder_.path(), "-c",
                                         "max_connections=100"});
        }
        if (ready()) {
            return;
        }
        if (waitpid(server_, nullptr, WNOHANG) == server_) {
            server_ = -1;  // processes of the last one are still there: try again
        }
        std::this_thread::sleep_for(look_again);
    }
    ADD_FAILURE() << "the server does not start";
}

void PrivatePostgres::end(int signal) {
    if (server_ > 0) {
        ::kill(server_, signal);
        waitpid(server_, nullptr, 0);
        server_ = -1;
    }
}

void PrivatePostgres::kill() { end(SIGKILL); }

void PrivatePostgres::crash() { end(SIGQUIT); }

}  // namespace ff::support
