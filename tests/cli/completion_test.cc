// Completion: what a shell offers, asked of the shell itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/program.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

/// What bash offers after these words, the last of which is being typed.
std::set<std::string> offered(const std::vector<std::string>& words) {
    // As bash does: an equals sign is a word of its own.
    const Ran ran = run_shell(
        "exec bash -c 'source <(\"$0\" completion bash); COMP_WORDS=(ff \"$@\"); "
        "COMP_CWORD=$#; _ff; printf \"%s\\n\" \"${COMPREPLY[@]}\"' \"$0\" \"$@\"",
        words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::set<std::string> out;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) {
            out.insert(line);
        }
    }
    return out;
}

using Words = std::set<std::string>;

TEST(Completion, BashOffersCommands) {
    const Words all = offered({""});
    for (const char* command :
         {"submit",   "get",    "ls",      "why",   "result",   "wait",       "cancel", "replay",
          "priority", "revoke", "workers", "lanes", "top",      "doctor",     "bench",  "backup",
          "export",   "import", "inspect", "tag",   "profiles", "completion", "demo"}) {
        EXPECT_TRUE(all.contains(command)) << command;
    }
    EXPECT_EQ(offered({"su"}), Words{"submit"});
    EXPECT_EQ(offered({"rep"}), Words{"replay"});
    EXPECT_EQ(offered({"lanes", "p"}), Words{"pause"});
    EXPECT_EQ(offered({"tag", ""}), (Words{"get", "rm", "set"}));
    EXPECT_TRUE(offered({"nonsense", "x"}).empty());
}

TEST(Completion, BashOffersOptionsOfTheCommand) {
    EXPECT_EQ(offered({"ls", "--st"}), Words{"--state"});
    EXPECT_EQ(offered({"submit", "--ca"}), Words{"--capability"});
    EXPECT_EQ(offered({"lanes", "pause", "--n"}), Words{"--new"});
    EXPECT_EQ(offered({"inspect", "--db", "x", "leases", "--a"}), Words{"--all"});
    EXPECT_EQ(offered({"--co"}), Words{"--connect"});
    EXPECT_TRUE(offered({"top", "--state"}).empty()) << "another command's";
}

TEST(Completion, BashOffersTheWordsAnOptionTakes) {
    EXPECT_EQ(offered({"ls", "-o", ""}), (Words{"json", "jsonl", "text"}));
    EXPECT_EQ(offered({"ls", "--state", "fa"}), Words{"failed"});
    EXPECT_EQ(offered({"ls", "--state", "=", "exp"}), Words{"expired"});
    EXPECT_EQ(offered({"ls", "--output", "="}), (Words{"json", "jsonl", "text"}));
    EXPECT_EQ(offered({"completion", ""}), (Words{"bash", "fish", "zsh"}));
    EXPECT_EQ(offered({"bench", "lif"}), Words{"lifecycle"});
    EXPECT_EQ(offered({"--connect", "ls", "l"}), (Words{"lanes", "ls"}))
        << "the value of an option is not a command";
}

TEST(Completion, BashOffersFiles) {
    const Folder folder;
    for (const char* name : {"app.db", "other.db"}) {
        run_shell("touch \"$1\"", {folder.file(name)});
    }
    EXPECT_EQ(offered({"doctor", "--db", folder.file("a")}), Words{folder.file("app.db")});
    EXPECT_EQ(offered({"submit", "k", "--file", folder.file("o")}), Words{folder.file("other.db")});
}

/// Is there such a shell here, and does it take the script?
void check_syntax(const std::string& shell, const std::string& how) {
    const Ran script = run_ff({"completion", shell});
    EXPECT_EQ(script.code, 0) << script.err;
    for (const char* part : {"submit", "state", "rate_limited", "lanes"}) {
        EXPECT_TRUE(contains(script.out, part)) << part;
    }
    if (run_shell("command -v " + shell + " > /dev/null").code != 0) {
        GTEST_SKIP() << "there is no " << shell << " here";
    }
    const Ran checked = run_shell("\"$0\" completion " + shell + " | " + how);
    EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST(Completion, BashTakesTheScript) { check_syntax("bash", "bash -n"); }
TEST(Completion, ZshTakesTheScript) { check_syntax("zsh", "zsh -n /dev/stdin"); }
TEST(Completion, FishTakesTheScript) { check_syntax("fish", "fish --no-execute /dev/stdin"); }

TEST(Completion, OtherShellsAreRefused) {
    const Ran ran = run_ff({"completion", "tcsh"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(ran.out.empty());
}

}  // namespace
}  // namespace ff::test
