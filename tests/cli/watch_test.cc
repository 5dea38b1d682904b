// Views that renew themselves: in a terminal, and where nobody looks.
#include <gtest/gtest.h>
#include <signal.h>

#include <regex>

#include "cli/rig.h"
#include "cli/screen.h"

namespace ff::test {
namespace {

/// The longest line that was drawn, control sequences left out.
std::size_t widest(const std::string& drawn) {
    const std::string plain = std::regex_replace(drawn, std::regex("\x1b\\[[0-9;?]*[A-Za-z]"), "");
    std::size_t widest = 0;
    std::size_t columns = 0;
    for (const char c : plain) {
        if (c == '\n' || c == '\r') {
            columns = 0;
        } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
            columns += 1;
        }
        widest = std::max(widest, columns);
    }
    return widest;
}

class Watched : public OnEveryWay {
  protected:
    [[nodiscard]] Around around() const { return {{{"FF_CONNECT", rig_.address()}}, ""}; }
};

INSTANTIATE_TEST_SUITE_P(Ways, Watched, every_way(), way_name);

TEST_P(Watched, AListIsDrawnAgainUntilQ) {
    const std::string id = rig_.create("email").to_string();
    FakeScreen screen({"ls", "--watch", "0.1"}, 120, 20, around());
    ASSERT_TRUE(screen.wait_for("waiting")) << screen.drawn();
    rig_.with_engine([](Engine&) {});  // another owner may come and go meanwhile
    EXPECT_EQ(rig_.ff({"cancel", id}).code, 0);
    ASSERT_TRUE(screen.wait_for("cancelled", 2)) << screen.drawn();
    screen.press("q");
    EXPECT_EQ(screen.finish(), 0);
    EXPECT_TRUE(contains(screen.drawn(), "\x1b[?1049h")) << "a screen of its own";
    EXPECT_TRUE(contains(screen.drawn(), "\x1b[?25h\x1b[?1049l")) << "and back";
    EXPECT_TRUE(screen.echoes()) << "the terminal is as it was";
}

TEST_P(Watched, CtrlCEndsItToo) {
    rig_.create("email");
    FakeScreen screen({"lanes", "--watch", "0.1"}, 80, 20, around());
    ASSERT_TRUE(screen.wait_for("email", 2)) << screen.drawn();
    screen.press("\x03");
    EXPECT_EQ(screen.finish(), 0);
    EXPECT_TRUE(screen.echoes());
}

TEST_P(Watched, TopFitsItsWindow) {
    for (int i = 0; i < 12; ++i) {
        rig_.create("a-lane-with-a-rather-long-name-" + std::to_string(i));
    }
    FakeScreen screen({"top", "--every", "100ms"}, 100, 12, around());
    ASSERT_TRUE(screen.wait_for("/s created", 3)) << screen.drawn();
    screen.press("q");
    EXPECT_EQ(screen.finish(), 0);
    EXPECT_LE(widest(screen.drawn()), 100U);
    EXPECT_FALSE(contains(screen.drawn(), "newest failures")) << "below the window";
}

TEST_P(Watched, OneExecutionAndItsWorkersCanBeWatched) {
    const std::string id = rig_.create("email").to_string();
    rig_.register_worker("email");
    FakeScreen get({"get", "--watch", id}, 100, 40, around());
    ASSERT_TRUE(get.wait_for("waiting")) << "an id after --watch is not its value: " << get.drawn();
    get.signal(SIGTERM);
    EXPECT_EQ(get.finish(), 0);
    FakeScreen workers({"workers", "--watch"}, 100, 40, around());
    ASSERT_TRUE(workers.wait_for("w-1", 2)) << workers.drawn();
    workers.press("q");
    EXPECT_EQ(workers.finish(), 0);
}

TEST_P(Watched, WithoutATerminalFramesFollowEachOther) {
    const std::string id = rig_.create("email").to_string();
    // `head` has enough after three lines; the next write tells the program so.
    const Ran lines = run_shell("\"$0\" ls --watch 0.1 -o jsonl | head -n 3", {}, around());
    ASSERT_EQ(lines.json_lines().size(), 3U) << lines.err;
    for (const js::Value& line : lines.json_lines()) {
        EXPECT_EQ(member(line, "execution_id"), id);
    }
    const Ran text = run_shell("\"$0\" ls --watch 0.1 | head -n 5", {}, around());
    EXPECT_FALSE(contains(text.out, "\x1b")) << text.out;
    EXPECT_TRUE(contains(text.out, "\n\nexecution ")) << "an empty line between: " << text.out;
}

TEST(WatchedFile, AFirstFaultEndsItAndALaterOneDoesNot) {
    const Folder folder;
    const std::string path = folder.file("store.db");
    const Ran none = run_ff({"ls", "--watch", "--connect", path});
    EXPECT_EQ(none.code, 3) << none.err;
    ASSERT_TRUE(Engine::open(path).has_value());
    ASSERT_EQ(run_ff({"submit", "k", "--connect", path}).code, 0);
    FakeScreen screen({"ls", "--watch", "0.1", "--connect", path}, 120, 20);
    ASSERT_TRUE(screen.wait_for("waiting")) << screen.drawn();
    std::filesystem::rename(path, path + ".away");
    ASSERT_TRUE(screen.wait_for("there is no file")) << screen.drawn();
    screen.forget();
    std::filesystem::rename(path + ".away", path);
    ASSERT_TRUE(screen.wait_for("waiting")) << screen.drawn();
    screen.press("q");
    EXPECT_EQ(screen.finish(), 0);
}

}  // namespace
}  // namespace ff::test
