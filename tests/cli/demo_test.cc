// The demo where nobody watches: it plays its story, checks itself and leaves a sound store.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/demo_screen.h"
#include "cli/program.h"
#include "cli/text.h"

namespace ff::test {
namespace {

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(Demo, PlaysItsStoryAndLeavesASoundStore) {
    const Folder folder;
    const std::string path = folder.file("demo.db");
    const Ran demo = run_ff({"demo", "--db", path, "--jobs", "300", "--seconds", "1"});
    ASSERT_EQ(demo.code, 0) << demo.out << demo.err;
    for (const char* part :
         {"300 jobs", "summary", "completed", "298", "failed", "cancelled", "retries", "takeovers",
          "was killed while running report.export", "expired, taken over by worker-",
          "was cancelled", "failed for good", "durability", "full", "ok: every execution ended"}) {
        EXPECT_TRUE(contains(demo.out, part)) << part << "\n" << demo.out;
    }
    EXPECT_FALSE(contains(demo.out, "\x1b")) << "no escape codes without a terminal";

    const Ran doctor = run_ff({"doctor", "--db", path});
    EXPECT_EQ(doctor.code, 0) << doctor.out << doctor.err;
    EXPECT_TRUE(contains(doctor.out, "is sound")) << doctor.out;

    const Ran stats = run_ff({"inspect", "--db", path, "stats", "-o", "json"});
    ASSERT_EQ(stats.code, 0) << stats.err;
    const js::Value totals = stats.json();
    EXPECT_EQ(member(totals, "total"), "300");
    const js::Value* states = totals.find("states");
    ASSERT_NE(states, nullptr);
    EXPECT_EQ(member(*states, "completed"), "298");
    EXPECT_EQ(member(*states, "failed"), "1");
    EXPECT_EQ(member(*states, "cancelled"), "1");

    const Ran again = run_ff({"demo", "--db", path});
    EXPECT_EQ(again.code, 4) << "an existing file is not overwritten";
    EXPECT_TRUE(contains(again.err, "exists already")) << again.err;
}

TEST(Demo, LeavesNothingBehindUnlessAsked) {
    const Ran demo = run_ff({"demo", "--jobs", "50", "--seconds", "0.5", "--workers", "1"});
    ASSERT_EQ(demo.code, 0) << demo.out << demo.err;
    const std::size_t begin = demo.out.find("store ") + 6;
    const std::string path = demo.out.substr(begin, demo.out.find('\n') - begin);
    ASSERT_TRUE(path.ends_with("demo.db")) << path;
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST(Demo, EndsQuietlyAndTidiesUpWhenItsReaderHasHadEnough) {
    const Folder folder;
    const Ran ran =
        run_shell("{ TMPDIR=\"$1\" \"$0\" demo --seconds 30; echo $? >\"$2\"; } | head -n 1",
                  {folder.path(), folder.file("code")});
    EXPECT_TRUE(contains(ran.out, "1,000 jobs")) << ran.out;
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(run_shell("cat \"$1\"", {folder.file("code")}).out, "1\n") << "no signal";
    EXPECT_EQ(run_shell("ls \"$1\"", {folder.path()}).out, "code\n") << "its store is gone";
}

TEST(Demo, ThePictureFitsANarrowWindow) {
    cli::DemoBoard board(1'000'000);
    for (cli::DemoLane& lane : board.lanes) {
        lane.submitted = 300'000;
        lane.done = 123'456;
    }
    board.set_worker(board.add_worker("worker-a", true), cli::DemoWorkerView::State::busy,
                     "report.export …3f2a, for the third time because it failed twice");
    for (int i = 0; i < 20; ++i) {
        board.add_worker("worker-" + std::to_string(i), false);
    }
    board.tell("an event with many words, more than there is room for in a narrow window");
    for (const std::size_t columns : {1U, 10U, 20U, 40U, 60U, 80U, 200U}) {
        cli::Terminal terminal;
        terminal.columns = columns;
        const std::string text = cli::demo_picture(board, "FlowFabric demo", 1'234.5, terminal);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LT(cli::columns_of(line), columns) << line;
        }
        EXPECT_EQ(contains(text, "█"), columns >= 60) << "a bar where there is room\n" << text;
    }
}

}  // namespace
}  // namespace ff::test
