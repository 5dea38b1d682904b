// `ff tail`: what an execution says, for people and for programs, live and afterwards.
#include <gtest/gtest.h>

#include <regex>

#include "cli/rig.h"
#include "cli/screen.h"

namespace ff::test {
namespace {

class Tailed : public OnEveryWay {
  protected:
    [[nodiscard]] Around around() const { return {{{"FF_CONNECT", rig_.address()}}, ""}; }

    /// Takes the next execution of lane `talk`.
    Handle claim() {
        Handle handle;
        rig_.with_engine([&](Engine& engine) {
            Claim op;
            op.lanes = {"talk"};
            op.worker_id = "w";
            op.worker_instance_id = "w-1";
            op.lease_ttl_ms = 600'000;
            const auto claimed = engine.run(op);
            ASSERT_TRUE(claimed.has_value() && claimed->tasks.size() == 1);
            handle = claimed->tasks[0].handle;
        });
        return handle;
    }
    void say(const Handle& handle, std::vector<Frame> frames) {
        rig_.with_engine([&](Engine& engine) {
            AppendFrames op;
            op.lease = handle;
            op.frames = std::move(frames);
            const auto said = engine.run(op);
            EXPECT_TRUE(said.has_value()) << said.error().message();
        });
    }
    void complete(const Handle& handle) {
        rig_.with_engine([&](Engine& engine) {
            EXPECT_TRUE(engine.run(Complete{handle, std::nullopt, std::nullopt}).has_value());
        });
    }
    void fail(const Handle& handle) {
        rig_.with_engine([&](Engine& engine) {
            EXPECT_TRUE(engine.run(Fail{handle, "boom", "transient"}).has_value());
            // The engines of these tests leave alone what time demands.
            EXPECT_TRUE(engine.run(RunScanner{"delayed_promoter"}).has_value());
        });
    }
    std::string submit(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{"submit", "talk", "--lane", "talk"};
        words.insert(words.end(), more.begin(), more.end());
        const Ran ran = rig_.ff(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.out.substr(0, ran.out.find('\n'));
    }
    static Frame frame(const std::string& type, const std::string& payload,
                       FrameMode mode = FrameMode::durable) {
        Frame out;
        out.frame_type = type;
        out.payload = payload;
        out.mode = mode;
        return out;
    }
    static Frame line(const std::string& text, FrameKind kind = FrameKind::stdout_) {
        Frame out;
        out.payload = text;
        out.kind = kind;
        return out;
    }
    /// Two attempts of one that has ended.
    std::string two_attempts() {
        const std::string id = submit({"--retries", "1", "--backoff", "0s"});
        const Handle first = claim();
        say(first, {frame("log", "one"), frame("log", "two"), frame("delta", "three")});
        fail(first);
        const Handle second = claim();
        say(second, {frame("log", "four"), frame("delta", "five", FrameMode::best_effort)});
        complete(second);
        return id;
    }
    /// The payloads that `ff tail -o json` prints.
    std::string payloads(const std::string& id, const std::vector<std::string>& more) {
        std::vector<std::string> words{"tail", id, "-o", "json"};
        words.insert(words.end(), more.begin(), more.end());
        const Ran ran = rig_.ff(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        std::string out;
        for (const js::Value& found : ran.json_lines()) {
            out += (out.empty() ? "" : " ") + member(*found.find("fields"), "payload");
        }
        return out;
    }
};

INSTANTIATE_TEST_SUITE_P(Ways, Tailed, every_way(), way_name);

TEST_P(Tailed, LinesStandAsTheyAreAndEventsAreReadable) {
    const std::string id = submit();
    const Handle handle = claim();
    say(handle, {line("compiling\tmain.cc"), line("first\nsecond\n"),
                 line("warning: \x1b[31mred", FrameKind::stderr_),
                 frame("step", R"({"name":"think","text":"two words","n":3,"in":[1]})"),
                 frame("log", "plain words"), frame("blob", std::string("\x00\xff", 2)),
                 frame("summary", R"({"done":true})", FrameMode::summary)});
    complete(handle);
    const Ran ran = rig_.ff({"tail", id});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string timeless =
        std::regex_replace(ran.out, std::regex(R"((^|\n)\d\d:\d\d:\d\d\.\d\d\d )"), "$1TIME ");
    EXPECT_EQ(timeless,
              "compiling\tmain.cc\n"
              "first\nsecond\n"
              "warning: \\x1b[31mred\n"
              "TIME step  name=think text=\"two words\" n=3 in=[1]\n"
              "TIME log  plain words\n"
              "TIME blob  (2 B that are no text)\n"
              "TIME summary v1  done=true\n");
}

TEST_P(Tailed, ForProgramsEachFrameIsALine) {
    const std::string id = two_attempts();
    const Ran ran = rig_.ff({"tail", id, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto lines = ran.json_lines();
    ASSERT_EQ(lines.size(), 5U) << ran.out;
    EXPECT_EQ(member(lines[0], "attempt_index"), "0");
    EXPECT_EQ(member(*lines[0].find("fields"), "frame_type"), "log");
    EXPECT_EQ(member(*lines[0].find("fields"), "payload"), "one");
    EXPECT_EQ(member(*lines[4].find("fields"), "mode"), "best_effort");
    EXPECT_EQ(member(lines[4], "attempt_index"), "1");
    EXPECT_EQ(member(lines[1], "cursor"), "0:" + member(lines[1], "id"));
    EXPECT_EQ(payloads(id, {"--from", member(lines[1], "cursor")}), "three four five");
    EXPECT_EQ(payloads(id, {"--from", member(lines[4], "cursor")}), "");
}

TEST_P(Tailed, OnlyWhatIsAskedFor) {
    const std::string id = two_attempts();
    EXPECT_EQ(payloads(id, {"--attempt", "0"}), "one two three");
    EXPECT_EQ(payloads(id, {"--type", "delta"}), "three five");
    EXPECT_EQ(payloads(id, {"--type", "delta", "--type", "log", "--no-live"}),
              "one two three four");
    EXPECT_EQ(payloads(id, {"-n", "1"}), "five");
    EXPECT_EQ(payloads(id, {"-n", "2", "--attempt", "0"}), "two three");
    EXPECT_EQ(payloads(id, {"-n", "9"}), "four five");
    EXPECT_EQ(payloads(id, {"--since", "1h"}), "one two three four five");
    EXPECT_EQ(payloads(id, {"--since", "2100-01-01"}), "");
    EXPECT_EQ(rig_.ff({"tail", id, "--type", "delta", "--raw"}).out, "threefive");
}

TEST_P(Tailed, WhatIsSaidAppearsOnTheScreenAndTheEndEndsIt) {
    const std::string id = submit({"--retries", "1", "--backoff", "0s"});
    FakeScreen screen({"tail", id}, 100, 30, around());
    const Handle first = claim();
    say(first, {line("from the first")});
    ASSERT_TRUE(screen.wait_for("from the first")) << screen.drawn();
    say(first, {line("oh no", FrameKind::stderr_)});
    ASSERT_TRUE(screen.wait_for("\x1b[31moh no\x1b[0m")) << screen.drawn();
    fail(first);
    const Handle second = claim();
    say(second, {frame("step", R"({"n":1})")});
    ASSERT_TRUE(screen.wait_for("attempt 1")) << screen.drawn();
    ASSERT_TRUE(screen.wait_for("\x1b[36mstep\x1b[0m")) << screen.drawn();
    complete(second);
    EXPECT_EQ(screen.finish(), 0) << screen.drawn();
}

TEST_P(Tailed, CtrlCEndsItAndColoursMayBeUnwanted) {
    const std::string id = submit();
    const Handle handle = claim();
    say(handle, {line("oh no", FrameKind::stderr_)});
    Around plain = around();
    plain.variables["NO_COLOR"] = "1";
    FakeScreen screen({"tail", id}, 100, 30, plain);
    ASSERT_TRUE(screen.wait_for("oh no")) << screen.drawn();
    EXPECT_FALSE(contains(screen.drawn(), "\x1b")) << screen.drawn();
    screen.press("\x03");
    EXPECT_EQ(screen.finish(), 0);
}

TEST_P(Tailed, AReaderWhoHasEnoughEndsIt) {
    const std::string id = submit();
    say(claim(), {line("first"), line("second")});
    // It still runs: nobody will say anything more.
    const Ran ran = run_shell("timeout 60 \"$0\" tail \"$1\" | head -n 1", {id}, around());
    EXPECT_EQ(ran.out, "first\n");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(rig_.ff({"tail", id, "--no-follow"}).out, "first\nsecond\n");
}

TEST_P(Tailed, TheLastOfManyLargeFramesAreFound) {
    const std::string id = submit();
    const Handle handle = claim();
    for (int i = 0; i < 10; ++i) {
        say(handle, std::vector<Frame>(14, line(std::string(65'536, 'x'))));
    }
    complete(handle);
    // 140 frames; a page holds 128 of these.
    const Ran ran = rig_.ff({"tail", id, "-n", "135", "--no-follow"});
    EXPECT_EQ(std::ranges::count(ran.out, '\n'), 135) << ran.err;
}

TEST_P(Tailed, TheSummaryIsADocument) {
    const std::string id = submit();
    const Ran none = rig_.ff({"tail", id, "--summary"});
    EXPECT_EQ(none.code, 3) << none.err;
    EXPECT_TRUE(contains(none.err, "has no summary")) << none.err;
    say(claim(), {frame("summary", R"({"tokens":12})", FrameMode::summary),
                  frame("summary", R"({"done":false})", FrameMode::summary)});
    EXPECT_EQ(rig_.ff({"tail", id, "--summary"}).out,
              "{\n  \"tokens\": 12,\n  \"done\": false\n}\n");
    const js::Value document = rig_.json({"tail", id, "--summary"});
    EXPECT_EQ(member(document, "version"), "2");
    EXPECT_EQ(member(document, "document"), R"({"tokens":12,"done":false})");
}

TEST_P(Tailed, WhatIsWrongIsSaid) {
    const std::string id = submit();
    EXPECT_EQ(rig_.ff({"tail", "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071"}).code, 3);
    EXPECT_EQ(rig_.ff({"tail", "zzz"}).code, 2);
    EXPECT_EQ(rig_.ff({"tail", id, "--from", "yesterday"}).code, 2);
    EXPECT_EQ(rig_.ff({"tail", id, "--from", "0:1-0", "--since", "1h"}).code, 2);
    EXPECT_EQ(rig_.ff({"tail", id, "--since", "soon"}).code, 2);
    const Ran help = rig_.ff({"tail", "--help"});
    EXPECT_TRUE(contains(help.out, "ff tail 5f6071 --type delta --raw")) << help.out;
}

}  // namespace
}  // namespace ff::test
