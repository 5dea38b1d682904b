// The pages on the command line and on streams: their examples run as they stand, and no command is
// left out.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/program.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

/// A line that was typed and what must follow it. In a line `…` stands for any text, alone for any
/// lines.
struct Example {
    std::string command;
    std::vector<std::string> expected;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        out.push_back(line);
    }
    return out;
}

std::string page(const std::string& name) {
    std::ifstream in(std::string(FF_SOURCE_DIR) + "/docs/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Example> examples(const std::string& name) {
    std::vector<Example> out;
    bool inside = false;
    for (const std::string& line : lines_of(page(name))) {
        if (line.starts_with("```")) {
            inside = line == "```console";
        } else if (inside && line.starts_with("$ ")) {
            out.push_back({line.substr(2), {}});
        } else if (inside) {
            out.back().expected.push_back(line);
        }
    }
    return out;
}

constexpr std::string_view anything = "…";

bool matches(std::string_view pattern, std::string_view text) {
    const std::size_t at = pattern.find(anything);
    if (at == std::string_view::npos) {
        return pattern == text;
    }
    if (!text.starts_with(pattern.substr(0, at))) {
        return false;
    }
    pattern.remove_prefix(at + anything.size());
    text.remove_prefix(at);
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
        if (matches(pattern, text.substr(skipped))) {
            return true;
        }
    }
    return false;
}

bool all_match(const std::vector<std::string>& patterns, const std::vector<std::string>& lines) {
    std::size_t at = 0;
    for (const std::string& pattern : patterns) {
        if (pattern == anything) {
            return true;  // the rest may be anything
        }
        if (at == lines.size() || !matches(pattern, lines[at])) {
            return false;
        }
        ++at;
    }
    return at == lines.size();
}

TEST(DocsExample, PatternsMatchWhatTheyShould) {
    EXPECT_TRUE(matches("a…c", "abbc"));
    EXPECT_TRUE(matches("…", ""));
    EXPECT_FALSE(matches("a…c", "abd"));
    EXPECT_FALSE(matches("ab", "abc"));
    EXPECT_TRUE(all_match({"a", "…"}, {"a", "b", "c"}));
    EXPECT_FALSE(all_match({"a"}, {"a", "b"}));
    EXPECT_FALSE(all_match({"a", "b"}, {"a"}));
}

void run_examples(const std::string& name) {
    const auto all = examples(name);
    ASSERT_GT(all.size(), 5U);
    // One shell for all of them, as a reader has; a mark after each shows where its output ends.
    const std::string mark = "--- end of example";
    std::string script = "cd \"$1\"; ff() { \"$program\" \"$@\"; }; program=$0; exec 2>&1\n";
    for (const Example& example : all) {
        script += example.command + "\necho '" + mark + "'\n";
    }
    const Folder folder;
    const Ran ran = run_shell("exec bash -c \"$2\" \"$0\" \"$1\"", {folder.path(), script});
    std::vector<std::string> lines;
    std::size_t at = 0;
    for (const std::string& line : lines_of(ran.out)) {
        if (line != mark) {
            lines.push_back(line);
            continue;
        }
        std::string shown;
        for (const std::string& printed : lines) {
            shown += printed + "\n";
        }
        EXPECT_TRUE(all_match(all[at].expected, lines)) << "$ " << all[at].command << "\n" << shown;
        lines.clear();
        ++at;
    }
    EXPECT_EQ(at, all.size()) << ran.err;
}

TEST(Docs, TheExamplesRunAsTheyStand) { run_examples("cli.md"); }
TEST(Docs, TheExamplesOnStreamsRunAsTheyStand) { run_examples("streams.md"); }
TEST(Docs, TheExamplesOnEventsRunAsTheyStand) { run_examples("events.md"); }

TEST(Docs, EveryCommandIsOnThePage) {
    const std::string text = page("cli.md");
    for (const std::string& line : lines_of(run_ff({"--help"}).out)) {
        const std::size_t end = line.find(' ', 2);
        const bool command = line.starts_with("  ") && line[2] >= 'a' && line[2] <= 'z' &&
                             line.substr(2, 3) != "ff ";
        if (command) {
            EXPECT_TRUE(contains(text, "`ff " + line.substr(2, end - 2))) << line;
        }
    }
}

}  // namespace
}  // namespace ff::test
