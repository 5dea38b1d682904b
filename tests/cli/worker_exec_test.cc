// `ff worker exec` as a process that stays: on a store of its own, when it is stopped, when it is
// killed, and what the programs that it runs find around them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/exec_child.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

class WorkerExec : public ::testing::Test {
  protected:
    /// Shell functions for lines that run a worker beside them; what takes too long fails.
    static constexpr const char* prelude = R"(
        until_file() { i=0; until test -s "$1"; do
            i=$((i + 1)); test $i -lt 600 || exit 99; sleep 0.05; done; }
        until_gone() { i=0; while kill -0 "$1" 2>/dev/null; do
            i=$((i + 1)); test $i -lt 600 || exit 98; sleep 0.05; done; }
        worker() { timeout -k 1 60 "$ff" worker exec --lane default "$@"; }
        ff="$0"; store="$1"; dir="$2"; export FF_CONNECT="$store"
    )";

    Ran shell(const Rig& rig, const std::string& line, Around around = {}) {
        return run_shell(prelude + line, {rig.address(), rig.folder().path()}, around);
    }
    static std::string submit(const Rig& rig, std::vector<std::string> words) {
        words.insert(words.begin(), "submit");
        const Ran ran = rig.ff(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.out.substr(0, ran.out.find('\n'));
    }
    /// A worker on a file. One that stays is killed, and its code is 124.
    static Ran work_on(const std::string& path) {
        return run_shell(
            R"(timeout -k 1 60 "$0" worker exec --lane default --connect "sqlite:$1" -- cat)",
            {path});
    }
    static std::string state(const Rig& rig, const std::string& id) {
        return member(rig.json({"get", id}), "public_state");
    }
};

TEST(RunProgram, WhatCannotStartSaysWhetherTheProgramOrItsFolderIsMissing) {
    cli::ExecOptions there;
    there.dir = "/nowhere/at/all";
    const auto no_folder = cli::run_program({"true"}, {}, "", {}, there);
    ASSERT_FALSE(no_folder);
    EXPECT_EQ(no_folder.error().detail, "cannot run true: there is no folder /nowhere/at/all");
    there.dir = "/etc/passwd";
    const auto file = cli::run_program({"true"}, {}, "", {}, there);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().detail, "cannot run true: /etc/passwd is no folder");
    there.dir = "/etc/passwd/inside";
    const auto below = cli::run_program({"true"}, {}, "", {}, there);
    ASSERT_FALSE(below);
    EXPECT_TRUE(contains(below.error().detail, "/etc/passwd/inside")) << below.error().detail;
    there.dir = "/" + std::string(300, 'x');
    const auto unknown = cli::run_program({"true"}, {}, "", {}, there);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().detail,
              "cannot run true: cannot look at the folder " + there.dir + ": File name too long");
    there.dir = "/";
    const auto no_program = cli::run_program({"./no-such-program"}, {}, "", {}, there);
    ASSERT_FALSE(no_program);
    EXPECT_EQ(no_program.error().detail,
              "cannot run ./no-such-program in /: No such file or directory");
}

TEST_F(WorkerExec, OnAStoreRetriesComeBackThroughTheWorkerItself) {
    const Rig rig(Way::file);
    const std::string id = submit(rig, {"flaky", "--retries", "1", "--backoff", "1ms"});
    const Ran ran = shell(rig, R"(
        worker --tasks 2 -- sh -c 'test -e "$0/mark" || { touch "$0/mark"; exit 7; }' "$dir")");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(state(rig, id), "completed");
}

TEST_F(WorkerExec, WhatItStopsItselfIsGivenBackAndNotFailed) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"slow"});
    const Ran ran = shell(rig, R"(
        "$ff" worker exec --lane default --drain 1ms -- \
            sh -c 'echo 1 > "$0/begun"; exec sleep 600' "$dir" & pid=$!
        until_file "$dir/begun"; kill -TERM $pid; wait $pid)");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(state(rig, id), "waiting") << ran.err;
    EXPECT_TRUE(contains(ran.err, "given back unfinished: the worker stops")) << ran.err;
}

TEST_F(WorkerExec, AProgramFindsItsThreeDescriptorsAndNoMore) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"look"});
    const Ran ran = shell(rig, R"(worker --tasks 1 -- sh -c 'ls /proc/$$/fd')");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(rig.ff({"result", id}).out, "0\n1\n2\n");
}

TEST_F(WorkerExec, AWorkerThatIsKilledTakesItsProgramsWithIt) {
    const Rig rig(Way::server);
    submit(rig, {"slow"});
    // The program has a child of its own, which is the one that does the work.
    const Ran ran = shell(rig, R"sh(
        "$ff" worker exec --lane default -- \
            sh -c 'sleep 600 & echo $! > "$0/child"; wait' "$dir" & pid=$!
        until_file "$dir/child"; kill -KILL $pid
        until_gone "$(cat "$dir/child")")sh");
    EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(WorkerExec, AProgramHasEndedAlsoWhenItLeftSomebodyBehind) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"daemon"});
    const Ran ran = shell(rig, R"sh(
        worker --tasks 1 -- sh -c 'echo started; sleep 600 & echo $! > "$0/child"' "$dir"
        code=$?; kill "$(cat "$dir/child")"; exit $code)sh");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(rig.ff({"result", id}).out, "started\n");
}

TEST_F(WorkerExec, AProgramSeesNothingOfTheWorkersSettingsAndSecrets) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"look"});
    Around around;
    around.variables = {{"FF_API_TOKEN", "s1"},
                        {"FF_SURPRISE", "s2"},
                        {"PGPASSWORD", "s3"},
                        {"FF_KIND", "s4"},
                        {"HOME_OF_ITS_OWN", "kept"}};
    const Ran ran = shell(rig, "worker --tasks 1 -- env", around);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string seen = rig.ff({"result", id}).out;
    for (const char* secret : {"s1", "s2", "s3", "s4", "FF_CONNECT"}) {
        EXPECT_FALSE(contains(seen, std::string("=") + secret)) << seen;
        EXPECT_FALSE(contains(seen, std::string(secret) + "=")) << seen;
    }
    EXPECT_TRUE(contains(seen, "FF_KIND=look\n")) << seen;
    EXPECT_TRUE(contains(seen, "HOME_OF_ITS_OWN=kept\n")) << seen;
    // What the page lists is what there is.
    std::ifstream file(std::string(FF_SOURCE_DIR) + "/docs/cli.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    std::istringstream lines(seen);
    for (std::string line; std::getline(lines, line);) {
        const std::string name = line.substr(0, line.find('='));
        EXPECT_TRUE(!name.starts_with("FF_") || contains(page, "`" + name + "`")) << name;
    }
}

TEST_F(WorkerExec, WhatAProgramPrintsCanBeReadAlong) {
    for (const Way way : {Way::file, Way::server}) {
        const Rig rig(way);
        const std::string id = submit(rig, {"talk"});
        const Ran ran = shell(rig, R"sh(
            worker --tasks 1 --stream -- sh -c 'printf "one\n\ntwo"; echo oh no >&2')sh");
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(rig.ff({"result", id}).out, "one\n\ntwo") << "the result is what it was";
        EXPECT_EQ(rig.ff({"tail", id, "--type", "stdout"}).out, "one\n\ntwo\n");
        EXPECT_EQ(rig.ff({"tail", id, "--type", "stderr"}).out, "oh no\n");
    }
}

TEST_F(WorkerExec, ALineThatIsLongerThanAFrameIsCut) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"talk"});
    // 200,000 bytes; a character of two bytes lies across each place where a frame is full.
    const Ran ran = shell(rig, R"sh(
        worker --tasks 1 --stream -- \
            sh -c 'printf x; yes ä | head -n 99999 | tr -d "\n"; echo')sh");
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto frames = rig.ff({"tail", id, "-o", "jsonl"}).json_lines();
    ASSERT_EQ(frames.size(), 4U);
    std::size_t bytes = 0;
    for (const js::Value& frame : frames) {
        EXPECT_EQ(member(*frame.find("fields"), "encoding"), "utf8");
        bytes += member(*frame.find("fields"), "payload").size();
    }
    EXPECT_EQ(bytes, 199'999U);
}

TEST_F(WorkerExec, EachFailedAttemptIsOneLineOfTheLog) {
    const Rig rig(Way::server);
    submit(rig, {"bad"});
    const Ran ran = shell(rig, "worker --tasks 1 -- sh -c 'echo why >&2; exit 7'");
    EXPECT_TRUE(contains(ran.err, "attempt 0 failed (transient), for good: exit code 7: why"))
        << ran.err;
}

TEST_F(WorkerExec, ASignalThatComesTwiceAtOnceIsOneWish) {
    const Rig rig(Way::server);
    const std::string id = submit(rig, {"slow"});
    const Ran ran = shell(rig, R"(
        "$ff" worker exec --lane default -- \
            sh -c 'echo 1 > "$0/begun"; until test -e "$0/end"; do sleep 0.05; done' "$dir" & pid=$!
        until_file "$dir/begun"; kill -TERM $pid; kill -TERM $pid; touch "$dir/end"; wait $pid)");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(state(rig, id), "completed");
}

TEST_F(WorkerExec, AFileThatIsNoGoodStoreEndsItWithOneLine) {
    const Folder folder;
    const auto expect_refused = [&](const std::string& path, const std::string& why) {
        const Ran ran = work_on(path);
        EXPECT_EQ(ran.code, 1) << why << ran.err;
        EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
        EXPECT_TRUE(ran.err.starts_with("ff: ")) << ran.err;
        EXPECT_TRUE(contains(ran.err, why)) << ran.err;
    };
    const std::string junk = folder.file("junk.db");
    std::ofstream(junk) << std::string(10'000, 'x');
    expect_refused(junk, junk + " is not a FlowFabric store: the file is not a SQLite database");
    const std::string foreign = folder.file("foreign.db");
    std::ofstream(foreign).close();
    tamper(foreign, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    expect_refused(foreign, foreign + " is not a FlowFabric store: it holds tables of another");
    const std::string newer = folder.file("newer.db");
    ASSERT_EQ(run_ff({"submit", "k", "--connect", "sqlite:" + newer}).code, 0);
    tamper(newer, "INSERT INTO ff_schema_migration VALUES (99, 'future', 'x')");
    expect_refused(newer, newer + ": the store has schema version 99");
    expect_refused(folder.path() + "/none/a.db", folder.path() + "/none does not exist");
    for (const char* name : {"junk.db-lock", "foreign.db-lock"}) {
        EXPECT_FALSE(std::filesystem::exists(folder.file(name))) << name;
    }
}

// It opens, since nothing that opening reads is damaged.
TEST_F(WorkerExec, AStoreThatShowsItsDamageLaterEndsItToo) {
    for (const char* table : {"ff_ready", "ff_worker_registry"}) {
        const Folder folder;
        const std::string path = folder.file("store.db");
        ASSERT_EQ(run_ff({"submit", "k", "--connect", "sqlite:" + path}).code, 0);
        const std::string elsewhere =
            "(SELECT rootpage FROM sqlite_master WHERE name = 'ff_exec_core')";
        tamper(path, "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = " +
                         elsewhere + " WHERE name = '" + table + "'");
        const Ran ran = work_on(path);
        EXPECT_EQ(ran.code, 1) << table << ran.err;
        EXPECT_TRUE(contains(ran.err, "ff: " + path + " is damaged")) << table << ran.err;
        EXPECT_FALSE(contains(ran.err, "next try in")) << table << ran.err;
    }
}

TEST_F(WorkerExec, TheAddressMayStandBeforeOrBehindTheWordExec) {
    const Rig rig(Way::server);
    for (const char* line :
         {R"("$ff" worker --connect "$store" exec --lane default --tasks 1 -- cat)",
          R"("$ff" worker exec --connect "$store" --lane default --tasks 1 -- cat)",
          R"("$ff" --connect "$store" worker exec --lane default --tasks 1 -- cat)"}) {
        const std::string id = submit(rig, {"copy", "text"});
        const Ran ran = shell(rig, std::string("unset FF_CONNECT; ") + line);
        EXPECT_EQ(ran.code, 0) << line << ran.err;
        EXPECT_EQ(state(rig, id), "completed") << line;
    }
}

}  // namespace
}  // namespace ff::test
