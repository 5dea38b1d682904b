// The command line itself: version, help, and what happens when it is used wrongly.
#include <gtest/gtest.h>

#include "cli/program.h"

namespace ff::test {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

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

TEST(Program, EveryCommandHasHelpWithExamples) {
    const std::vector<std::vector<std::string>> commands{
        {"demo"},
        {"doctor"},
        {"bench"},
        {"inspect"},
        {"inspect", "ls"},
        {"inspect", "get"},
        {"inspect", "why"},
        {"inspect", "attempts"},
        {"inspect", "history"},
        {"inspect", "input"},
        {"inspect", "result"},
        {"inspect", "lanes"},
        {"inspect", "workers"},
        {"inspect", "leases"},
        {"inspect", "stats"},
    };
    for (std::vector<std::string> command : commands) {
        command.emplace_back("--help");
        const Ran ran = run_ff(command);
        EXPECT_EQ(ran.code, 0) << command[0];
        EXPECT_TRUE(contains(ran.out, "Examples:")) << ran.out << ran.err;
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
