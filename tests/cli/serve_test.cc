// `ff serve` and `ff worker exec` as processes: they start, do their work, and end as they are
// told.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "cli/server_process.h"
#include "client/remote_engine.h"
#include "support/eventually.h"

namespace ff::test {
namespace {

class Serve : public ::testing::Test {
  protected:
    void SetUp() override {
        auto started = cli::ServerProcess::start(folder_.file("s.db"), {}, FF_BINARY);
        ASSERT_TRUE(started) << started.error().message();
        server_ = std::move(*started);
    }

    Ran ff(const std::vector<std::string>& words, const std::string& input = "") {
        Around around;
        around.variables["FF_CONNECT"] = server_->url();
        around.input = input;
        return run_ff(words, around);
    }
    /// Runs `ff worker exec` for so many tasks.
    Ran work(const std::string& tasks, std::vector<std::string> command,
             std::vector<std::string> options = {}) {
        std::vector<std::string> words{"worker", "exec", "--lane", "default", "--tasks", tasks};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return ff(words);
    }
    std::string submit(std::vector<std::string> words, const std::string& input = "") {
        words.insert(words.begin(), "submit");
        const Ran ran = ff(words, input);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.out.substr(0, ran.out.find('\n'));
    }
    std::string state(const std::string& id) {
        return member(ff({"get", id, "-o", "json"}).json(), "public_state");
    }

    Folder folder_;
    std::unique_ptr<cli::ServerProcess> server_;
};

TEST_F(Serve, AProgramIsAWorker) {
    const std::string id = submit({"shout", "hello"});
    const Ran ran = work("1", {"tr", "a-z", "A-Z"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(state(id), "completed");
    EXPECT_EQ(ff({"result", id}).out, "HELLO");
}

TEST_F(Serve, AProgramFindsItsTaskInTheEnvironment) {
    const std::string id = submit({"look", "--tag", "team=red"});
    work("1", {"sh", "-c", "echo $FF_EXECUTION_ID $FF_ATTEMPT_INDEX $FF_KIND $FF_LANE $FF_TAGS"});
    EXPECT_EQ(ff({"result", id}).out, id + " 0 look default {\"team\":\"red\"}\n");
}

TEST_F(Serve, AnExitCodeIsAFailureThatIsTriedAgain) {
    const std::string id = submit({"flaky", "--retries", "1", "--backoff", "1ms"});
    const std::string mark = folder_.file("mark");
    work("2",
         {"sh", "-c", "test -e " + mark + " || { touch " + mark + "; echo first >&2; exit 7; }"});
    EXPECT_EQ(state(id), "completed");
    const auto attempts = ff({"attempts", id, "-o", "json"}).json();
    const js::Array& rows = *attempts.find("items")->if_array();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(member(rows[0], "failure_reason"), "exit code 7: first");
    EXPECT_EQ(member(rows[0], "failure_category"), "transient");
}

TEST_F(Serve, OneExitCodeIsAFailureForGood) {
    const std::string id = submit({"bad", "--retries", "5"});
    work("1", {"sh", "-c", "exit 42"}, {"--permanent-exit", "42"});
    EXPECT_EQ(state(id), "failed");
}

TEST_F(Serve, AProgramThatIsNotThereIsNoticedBeforeAnyWorkIsTaken) {
    const std::string id = submit({"lost"});
    for (const char* program : {"no-such-program-anywhere", "./no-such-file", "/", "/etc/passwd"}) {
        const Ran ran = work("1", {program});
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_NE(ran.err.find(program), std::string::npos) << ran.err;
    }
    EXPECT_EQ(state(id), "waiting");
}

TEST_F(Serve, AnInputOfAnySizeAndAProgramThatDoesNotReadItAreNoTrouble) {
    const std::string large(300'000, 'x');
    const std::string read = submit({"count", "-"}, large);
    const std::string ignored = submit({"count", "-"}, large);
    work("1", {"wc", "-c"});
    work("1", {"true"});
    EXPECT_EQ(ff({"result", read}).out, "300000\n");
    EXPECT_EQ(ff({"result", ignored}).out, "");
}

TEST_F(Serve, OnlyTheKindsAskedForAreTaken) {
    const std::string other = submit({"other"});
    const std::string mine = submit({"mine"});
    work("1", {"true"}, {"--kind", "mine"});
    EXPECT_EQ(state(mine), "completed");
    EXPECT_EQ(state(other), "waiting");
}

TEST_F(Serve, WhatWasAcknowledgedSurvivesAKill) {
    const std::string id = submit({"kept", "payload"});
    kill(server_->pid(), SIGKILL);
    server_.reset();
    SetUp();
    EXPECT_EQ(state(id), "waiting");
    work("1", {"cat"});
    EXPECT_EQ(ff({"result", id}).out, "payload");
}

TEST_F(Serve, AWaitForAServerThatHasGoneNamesWhatWasHandedIn) {
    Ran ran;
    std::thread waiting(
        [&] { ran = ff({"submit", "kept", "--wait", "--wait-timeout", "2s", "-o", "json"}); });
    ExecutionId id;
    {
        auto engine = Engine::connect(server_->url());
        EXPECT_TRUE(support::eventually([&] {
            const auto found = engine->run(SearchExecutions{});
            id = found && !found->items.empty() ? found->items[0].execution_id : id;
            return id != ExecutionId{};
        }));
    }
    kill(server_->pid(), SIGKILL);
    waiting.join();
    EXPECT_NE(ran.code, 0);
    EXPECT_EQ(ran.out, "");
    // Its answer may have been lost with the server, or only what became of it.
    EXPECT_TRUE(contains(ran.err, "handed in")) << ran.err;
    EXPECT_TRUE(contains(ran.err, ": ff wait " + id.to_string() + "\n")) << ran.err;
}

TEST_F(Serve, ASecondServerOnTheSameFileIsRefusedWithTwo) {
    const Ran ran = run_ff({"serve", "--db", folder_.file("s.db"), "--listen", "127.0.0.1:0"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("in use"), std::string::npos) << ran.err;
}

TEST_F(Serve, SigtermEndsItWithZero) {
    const pid_t pid = server_->pid();
    kill(pid, SIGTERM);
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ServeSettings, ABadOneIsOneLineAndOne) {
    Around around;
    around.variables["FF_LISTEN_ADDR"] = "nowhere";
    const Ran ran = run_ff({"serve"}, around);
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(ran.err.starts_with("ff: invalid value for FF_LISTEN_ADDR: ")) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1);
}

TEST(ServeSettings, AFileThatCannotBeReadIsNamedWithTheReason) {
    const Folder folder;
    const Ran directory = run_ff({"serve", "--config", folder.path()});
    EXPECT_EQ(directory.code, 1);
    EXPECT_EQ(directory.err, "ff: cannot read " + folder.path() + ": Is a directory\n");
    const Ran nowhere = run_ff({"serve", "--config", folder.file("none.toml")});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_TRUE(contains(nowhere.err, "none.toml")) << nowhere.err;
    EXPECT_TRUE(contains(nowhere.err, "there is no file")) << nowhere.err;
}

TEST(ServeSettings, AnAddressForOthersNeedsAToken) {
    Folder folder;
    const Ran ran =
        run_ff({"serve", "--db", folder.file("x.db"), "--listen", "0.0.0.0:0"}, Around{});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("FF_API_TOKEN"), std::string::npos) << ran.err;
}

TEST(ServeSettings, AStoreIsNotMadeWhenThePortIsTaken) {
    const Folder folder;
    auto first = cli::ServerProcess::start(folder.file("a.db"), {}, FF_BINARY);
    ASSERT_TRUE(first) << first.error().message();
    const std::string address = (*first)->url().substr(std::string("http://").size());
    const Ran ran = run_ff({"serve", "--db", folder.file("b.db"), "--listen", address});
    EXPECT_NE(ran.code, 0);
    EXPECT_NE(ran.err.find("cannot listen on " + address), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("b.db")));
}

TEST(ServeSettings, TheyArePrintedWithoutSecrets) {
    Around around;
    around.variables["FF_API_TOKEN"] = "very-secret-token";
    const Ran ran = run_ff({"serve", "--print-config"}, around);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out.find("very-secret-token"), std::string::npos);
    EXPECT_NE(ran.out.find("FF_API_TOKEN"), std::string::npos);
}

}  // namespace
}  // namespace ff::test
