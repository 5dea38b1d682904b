// The command line itself: version, help, and what happens when it is used wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli/program.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

TEST(Program, SaysItsVersion) {
    const Ran ran = run_ff({"--version"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(contains(ran.out, FF_VERSION)) << ran.out;
    EXPECT_TRUE(contains(ran.out, "SQLite")) << ran.out;
}

TEST(Program, HelpNamesEveryCommandWithExamples) {
    const Ran ran = run_ff({"--help"});
    EXPECT_EQ(ran.code, 0);
    for (const char* part : {"demo", "doctor", "inspect", "bench", "Examples:", "Exit codes"}) {
        EXPECT_TRUE(contains(ran.out, part)) << part << "\n" << ran.out;
    }
    EXPECT_TRUE(ran.err.empty()) << ran.err;
}

/// Every command and subcommand, as the completion of bash knows them.
std::vector<std::vector<std::string>> all_commands() {
    std::vector<std::vector<std::string>> out;
    const Ran ran = run_shell(
        "\"$0\" completion bash | sed -n \"/_ff_describe/,/^}/s/^    '\\(ff [a-z "
        "]*\\)')\\$/\\1/p\"");
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        out.emplace_back(std::next(std::istream_iterator<std::string>(words)),
                         std::istream_iterator<std::string>());
    }
    return out;
}

TEST(Program, EveryCommandHasHelpWithExamples) {
    const auto commands = all_commands();
    EXPECT_GT(commands.size(), 40U);
    for (std::vector<std::string> command : commands) {
        command.emplace_back("--help");
        const Ran ran = run_ff(command);
        EXPECT_EQ(ran.code, 0) << command[0];
        EXPECT_TRUE(contains(ran.out, "Examples:")) << ran.out << ran.err;
        EXPECT_TRUE(contains(ran.out, "  ff " + command[0])) << ran.out;
    }
}

TEST(Program, BadUsageIsExitCodeTwoAndALineOnStderr) {
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"frobnicate"},
        {"doctor"},
        {"doctor", "--db"},
        {"doctor", "--db", "a", "--fast"},
        {"inspect", "--db", "a"},
        {"inspect", "--db", "a", "ls", "--state", "sleepy"},
        {"inspect", "--db", "a", "ls", "--limit", "0"},
        {"inspect", "--db", "a", "get"},
        {"inspect", "--db", "a", "lanes", "-o", "xml"},
        {"demo", "--jobs", "many"},
        {"demo", "--workers", "0"},
        {"bench", "everything"},
        {"bench", "--store", "tape"},
        {"bench", "--workers", "0"},
    };
    for (const auto& arguments : wrong) {
        const Ran ran = run_ff(arguments);
        EXPECT_EQ(ran.code, 2) << (arguments.empty() ? "nothing" : arguments.back());
        EXPECT_TRUE(ran.err.starts_with("ff: ")) << ran.err;
        EXPECT_TRUE(ran.out.empty()) << ran.out;
    }
}

TEST(Program, WhatItDoesNotKnowIsNamedWithThePlaceThatHelps) {
    struct Case {
        std::vector<std::string> arguments;
        std::string expected;
    };
    const std::vector<Case> cases{
        {{"nonsense"}, "unknown command \"nonsense\"; see ff --help"},
        {{"--bogus"}, "unknown option --bogus; see ff --help"},
        {{"doctor", "--bogus"}, "unknown option --bogus; see ff doctor --help"},
        {{"doctor", "--bogus=1"}, "unknown option --bogus; see ff doctor --help"},
        {{"doctor", "-x"}, "unknown option -x; see ff doctor --help"},
        {{"doctor", "--db", "a", "b"}, "unexpected argument \"b\"; see ff doctor --help"},
        {{"inspect", "lst"}, "unknown command \"lst\"; did you mean ls? See ff inspect --help"},
        {{"list"}, "unknown command \"list\"; did you mean ls? See ff --help"},
        {{"flow", "list"}, "unknown command \"list\"; did you mean ls? See ff flow --help"},
        {{"sumbit", "k"}, "unknown command \"sumbit\"; did you mean submit? See ff --help"},
        {{"lanes", "puase", "x"},
         "unknown command \"puase\"; did you mean pause? See ff lanes --help"},
        {{"ls", "--lmit", "3"}, "unknown option --lmit; did you mean --limit? See ff ls --help"},
        {{"inspect", "ls"}, "--db is required; see ff inspect --help"},
        {{"inspect", "ls", "--bogus"}, "unknown option --bogus; see ff inspect ls --help"},
        {{"help", "nonsense"}, "unknown command \"nonsense\"; see ff --help"},
        {{}, "name a command; see ff --help"},
        {{"doctor"}, "--db is required; see ff doctor --help"},
    };
    for (const Case& c : cases) {
        const Ran ran = run_ff(c.arguments);
        EXPECT_EQ(ran.code, 2) << c.expected;
        EXPECT_EQ(ran.err, "ff: " + c.expected + "\n");
    }
}

TEST(Program, HelpAndVersionAreCommandsToo) {
    EXPECT_EQ(run_ff({"help"}).out, run_ff({"--help"}).out);
    EXPECT_EQ(run_ff({"help", "doctor"}).out, run_ff({"doctor", "--help"}).out);
    EXPECT_EQ(run_ff({"help", "inspect", "ls"}).out, run_ff({"inspect", "ls", "--help"}).out);
    EXPECT_TRUE(contains(run_ff({"help", "doctor"}).out, "--quick"));
    const Ran version = run_ff({"version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.out, run_ff({"--version"}).out);
}

TEST(Program, NumbersAreCheckedAndTheirLimitsAreInTheHelp) {
    const std::string see = "; see ff demo --help\n";
    EXPECT_EQ(run_ff({"demo", "--jobs", "abc"}).err, "ff: --jobs: abc is not a number" + see);
    EXPECT_EQ(run_ff({"demo", "--jobs", "99.5"}).err,
              "ff: --jobs: 99.5 is not a whole number" + see);
    EXPECT_EQ(run_ff({"demo", "--jobs", "5"}).err,
              "ff: --jobs: 5 is not in the range 50 to 1,000,000" + see);
    EXPECT_EQ(run_ff({"demo", "--jobs", "99999999999999999999"}).err,
              "ff: --jobs: 99999999999999999999 is not in the range 50 to 1,000,000" + see);
    EXPECT_EQ(run_ff({"demo", "--seconds", "0.1"}).err,
              "ff: --seconds: 0.1 is not in the range 0.5 to 3,600" + see);
    const Ran help = run_ff({"demo", "--help"});
    for (const char* limits : {"50 to 1,000,000", "1 to 64", "0.5 to 3,600", "until Ctrl-C"}) {
        EXPECT_TRUE(contains(help.out, limits)) << limits << "\n" << help.out;
    }
    EXPECT_TRUE(contains(run_ff({"bench", "--help"}).out, "one JSON object a line"));
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
    const Folder folder;
    const std::string path = folder.file("store.db");
    ASSERT_TRUE(Engine::open(path).has_value());
    const std::string full = "ff: cannot write output: No space left on device\n";
    for (const char* line : {"\"$0\" inspect --db \"$1\" stats >/dev/full",
                             "\"$0\" doctor --db \"$1\" >/dev/full", "\"$0\" --help >/dev/full",
                             "\"$0\" version >/dev/full", "\"$0\" demo --jobs 50 >/dev/full"}) {
        const Ran ran = run_shell(line, {path});
        EXPECT_EQ(ran.code, 1) << line;
        EXPECT_EQ(ran.err, full) << line;
    }
    const Ran bench = run_shell("\"$0\" bench ceiling --quick -o json >/dev/full");
    EXPECT_EQ(bench.code, 1);
    EXPECT_TRUE(bench.err.ends_with(full)) << bench.err;
    const Ran closed = run_shell("\"$0\" inspect --db \"$1\" stats >&-", {path});
    EXPECT_EQ(closed.code, 1);
    EXPECT_EQ(closed.err, "ff: cannot write output: Bad file descriptor\n");
}

TEST(Program, AMissingStoreIsExitCodeThree) {
    const Folder folder;
    const std::string path = folder.file("nothing.db");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"doctor", "--db", path},
          std::vector<std::string>{"inspect", "--db", path, "stats"}}) {
        const Ran ran = run_ff(arguments);
        EXPECT_EQ(ran.code, 3);
        EXPECT_TRUE(contains(ran.err, "there is no file")) << ran.err;
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "looking at a store must not make one";
}

}  // namespace
}  // namespace ff::test
