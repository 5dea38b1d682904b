// `ff flow` as people use it: runs of files, what is shown of them, how they are changed.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/rig.h"
#include "cli/screen.h"

namespace ff::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

class FlowRun : public ::testing::Test {
  protected:
    /// Writes a file and gives its path.
    std::string file(const std::string& name, const std::string& text) {
        std::ofstream(folder_.file(name)) << text;
        return folder_.file(name);
    }
    std::string store(const std::string& name) const { return folder_.file(".ff/" + name + ".db"); }
    /// What a node printed, found by way of `ff flow show`.
    std::string result(const std::string& flow, const std::string& node) {
        const js::Value shown =
            run_ff({"flow", "show", flow, "--db", store(flow), "-o", "json"}).json();
        for (const js::Value& one : *shown.find("nodes")->if_array()) {
            if (member(one, "node") == node) {
                return run_ff({"result", member(one, "execution_id"), "--connect", store(flow)})
                    .out;
            }
        }
        return "no such node";
    }
    std::map<std::string, std::string> states(const std::string& flow) {
        std::map<std::string, std::string> out;
        const js::Value shown =
            run_ff({"flow", "show", flow, "--db", store(flow), "-o", "json"}).json();
        for (const js::Value& one : *shown.find("nodes")->if_array()) {
            out[member(one, "node")] = member(one, "public_state");
        }
        return out;
    }

    Folder folder_;
};

TEST_F(FlowRun, CommandsRunInOrderAndPassTheirResultsOn) {
    const std::string path = file("sum.toml", R"(
[node.a]
command = "cat; echo 4"
payload = "[3,"
[node.b]
command = ["sh", "-c", "printf '{\"n\": 5}'"]
[node.sum]
needs = ["a", { node = "b", as = "five", path = "$.n" }]
command = "printf '%s %s ' \"$FF_INPUT_A\" \"$FF_INPUT_FIVE\"; cat; pwd; echo $FF_NODE $X"
env = { X = "x" }
)");
    const Ran ran = run_ff({"flow", "run", path, "--jobs", "2"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_TRUE(contains(ran.out, "sum completed: 3 of 3 completed")) << ran.out;
    EXPECT_TRUE(contains(ran.out, "a: completed in ")) << ran.out;
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(result("sum", "sum"),
              "[3,4 5 {\"a\":\"[3,4\\n\",\"five\":5}" + folder_.path() + "\nsum x\n");
    EXPECT_TRUE(fs::exists(store("sum"))) << "kept beside the file";
    EXPECT_EQ(text_of(folder_.file(".ff/.gitignore")), "*\n");
}

TEST_F(FlowRun, AFaultOfTheFileIsALineAndNothingIsSubmitted) {
    const std::string path = file("bad.toml", "[node.a]\ncomand = \"x\"\n");
    const Ran ran = run_ff({"flow", "run", path});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, path + ":2:1: node a has no setting \"comand\"; did you mean command?\n");
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(fs::exists(folder_.file(".ff")));
    EXPECT_EQ(run_ff({"flow", "run", folder_.file("none.toml")}).code, 3);
    const Ran idle = run_ff({"flow", "run", file("idle.toml", "[node.a]\nkind = \"k\"\n")});
    EXPECT_EQ(idle.code, 2);
    EXPECT_TRUE(contains(idle.err, ":1:7: node a has no command, and no worker can reach"))
        << idle.err;
    EXPECT_EQ(run_ff({"flow", "run", path, "--var", "x"}).code, 2);
}

TEST_F(FlowRun, AFailureIsExitCodeOneAndCanBeResumedAfterARepair) {
    const std::string path = file("fix.toml", R"(
[node.first]
command = "echo once >> first.txt"
[node.second]
needs = ["first"]
command = "echo told you so >&2; test -e repaired"
[node.third]
needs = ["second"]
command = "echo done"
)");
    const Ran failed = run_ff({"flow", "run", path});
    EXPECT_EQ(failed.code, 1);
    EXPECT_TRUE(contains(failed.out, "fix failed: 1 of 3 completed, 1 skipped, 1 failed"))
        << failed.out;
    EXPECT_TRUE(contains(failed.out, "  second failed: exit code 1: told you so\n")) << failed.out;
    EXPECT_TRUE(contains(failed.err, "ff flow run " + path + " --resume ")) << failed.err;
    file("repaired", "");
    const Ran again = run_ff({"flow", "run", "--resume", path});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_TRUE(contains(again.out, "fix completed: 3 of 3 completed")) << again.out;
    EXPECT_EQ(text_of(folder_.file("first.txt")), "once\n") << "what was done is not done again";
    const Ran none = run_ff({"flow", "run", path, "--resume"});
    EXPECT_EQ(none.code, 3) << none.err;
    EXPECT_TRUE(contains(none.err, "no run of fix in ")) << none.err;
}

TEST_F(FlowRun, RetriesAndPermanentExitCodes) {
    const std::string path = file("retry.toml", R"(
[node.flaky]
command = "echo x >> tries; test $(wc -l < tries) -ge 3"
retries = 5
backoff = "1ms"
[node.hopeless]
command = "echo x >> hopeless; exit 100"
retries = 5
backoff = "1ms"
)");
    EXPECT_EQ(run_ff({"flow", "run", path}).code, 1);
    EXPECT_EQ(text_of(folder_.file("tries")), "x\nx\nx\n");
    EXPECT_EQ(text_of(folder_.file("hopeless")), "x\n");
    EXPECT_EQ(states("retry").at("flaky"), "completed");
}

TEST_F(FlowRun, AnInterruptedRunGivesItsCommandsBackAndGoesOnLater) {
    const std::string path = file("long.toml", R"(
[vars]
word = "later"
[node.quick]
command = "echo x >> quick"
[node.slow]
needs = ["quick"]
command = "echo begun >> slow; if test -e go; then echo ${word}; else exec sleep 600; fi"
)");
    {
        FakeScreen screen({"flow", "run", path, "--var", "word=kept"}, 80, 24);
        ASSERT_TRUE(screen.wait_for("▶")) << screen.drawn();
        ASSERT_TRUE(screen.wait_for("1/2 done")) << screen.drawn();
        while (text_of(folder_.file("slow")).empty()) {
            ASSERT_TRUE(screen.wait_for("done")) << screen.drawn();
            screen.forget();
        }
        screen.signal(SIGINT);
        EXPECT_TRUE(screen.wait_for("Go on with: ff flow run")) << screen.drawn();
        EXPECT_EQ(screen.finish(), 1);
    }
    EXPECT_EQ(states("long").at("quick"), "completed");
    file("go", "");
    const Ran again = run_ff({"flow", "run", path, "--resume"});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_EQ(text_of(folder_.file("quick")), "x\n");
    EXPECT_EQ(result("long", "slow"), "kept\n") << "variables are kept with the run";
}

TEST_F(FlowRun, ARunThatWasKilledGoesOnAtOnce) {
    const std::string path = file("killed.toml", R"(
[node.slow]
command = "echo begun >> slow; if test -e go; then echo ok; else exec sleep 30; fi"
)");
    {
        FakeScreen screen({"flow", "run", path}, 80, 24);
        while (text_of(folder_.file("slow")).empty()) {
            ASSERT_TRUE(screen.wait_for("done")) << screen.drawn();
            screen.forget();
        }
        screen.signal(SIGKILL);
        screen.finish();
    }
    file("go", "");
    const Ran again = run_ff({"flow", "run", path, "--resume"});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_EQ(result("killed", "slow"), "ok\n");
}

TEST_F(FlowRun, ARunIsResumedWithTheGraphItHas) {
    const std::string path = file("g.toml", "[node.a]\ncommand = \"false\"\n");
    EXPECT_EQ(run_ff({"flow", "run", path}).code, 1);
    file("g.toml", "[node.a]\ncommand = \"true\"\n[node.b]\ncommand = \"true\"\n");
    const Ran more = run_ff({"flow", "run", path, "--resume"});
    EXPECT_EQ(more.code, 2);
    EXPECT_TRUE(contains(more.err, ":3:7: node b is not part of the run")) << more.err;
    file("g.toml", "[node.b]\ncommand = \"true\"\n");
    const Ran less = run_ff({"flow", "run", path, "--resume"});
    EXPECT_EQ(less.code, 2);
    EXPECT_TRUE(contains(less.err, "the run has a node a that the file has no more")) << less.err;
    file("g.toml", "[node.a]\ncommand = \"true\"\n");
    EXPECT_EQ(run_ff({"flow", "run", path, "--resume"}).code, 0);
}

TEST_F(FlowRun, ProgramsGetObjects) {
    const std::string path = file("p.toml", "[node.a]\ncommand = \"true\"\n");
    const js::Value whole = run_ff({"flow", "run", path, "-o", "json"}).json();
    EXPECT_EQ(member(*whole.find("flow"), "public_flow_state"), "completed");
    const Ran lines = run_ff({"flow", "run", path, "-o", "jsonl"});
    ASSERT_GE(lines.json_lines().size(), 2U);
    EXPECT_EQ(member(lines.json_lines().front(), "node"), "a");
    EXPECT_EQ(member(lines.json_lines().back(), "public_flow_state"), "completed");
    const Ran listed = run_ff({"flow", "ls", "--db", store("p"), "-o", "json"});
    EXPECT_EQ(listed.json().find("items")->if_array()->size(), 2U);
}

TEST_F(FlowRun, WithoutAWaitItIsLeftForLater) {
    const std::string path = file("n.toml", "[node.a]\ncommand = \"echo ok\"\n");
    const Ran left = run_ff({"flow", "run", path, "--no-wait"});
    EXPECT_EQ(left.code, 0) << left.err;
    EXPECT_TRUE(FlowId::parse(left.out.substr(0, left.out.size() - 1)).has_value()) << left.out;
    EXPECT_TRUE(contains(left.err, "--resume")) << left.err;
    EXPECT_EQ(states("n").at("a"), "waiting");
    const Ran fresh = run_ff({"flow", "run", path});
    EXPECT_EQ(fresh.code, 0);
    EXPECT_TRUE(contains(fresh.err, "an earlier run, ")) << fresh.err;
    EXPECT_EQ(run_ff({"flow", "run", path, "--resume", left.out.substr(24, 12)}).code, 0);
}

TEST_F(FlowRun, ATreeIsDrawnOnATerminal) {
    const std::string path = file("tree.toml", R"(
[node.fetch]
command = "true"
[node.compile]
needs = ["fetch"]
command = "true"
)");
    FakeScreen screen({"flow", "run", path}, 80, 24);
    EXPECT_TRUE(screen.wait_for("tree")) << screen.drawn();
    EXPECT_TRUE(screen.wait_for("2/2 done")) << screen.drawn();
    EXPECT_TRUE(screen.wait_for("2 of 2 completed")) << screen.drawn();
    EXPECT_EQ(screen.finish(), 0);
    EXPECT_TRUE(contains(screen.drawn(), "✔\x1b[0m fetch")) << screen.drawn();
    EXPECT_TRUE(contains(screen.drawn(), "    \x1b[32m✔\x1b[0m compile")) << screen.drawn();
}

// ------------------------------------------------------------------------------- on every engine

class Flows : public OnEveryWay {
  protected:
    /// Submits a flow of two nodes that nobody works on; gives its id.
    std::string submit() {
        FlowId id{new_uuid()};
        rig_.with_engine([&](Engine& engine) {
            SubmitFlow op;
            op.flow_id = id;
            op.flow_kind = "pair";
            op.ns = "default";
            for (const char* name : {"first", "second"}) {
                FlowNode node;
                node.name = name;
                node.execution.lane_id = "l";
                node.execution.execution_kind = "k";
                op.nodes.push_back(node);
            }
            FlowEdge edge;
            edge.from = "first";
            edge.to = "second";
            op.edges.push_back(edge);
            const auto made = engine.run(op);
            EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message());
        });
        return id.to_string();
    }
};

INSTANTIATE_TEST_SUITE_P(Ways, Flows, every_way(), way_name);

TEST_P(Flows, AreListedAndShown) {
    EXPECT_EQ(rig_.ff({"flow", "ls"}).out, "no flow found\n");
    const std::string id = submit();
    const js::Array items = rig_.items({"flow", "ls", "--name", "pair", "--status", "active"});
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(member(items[0], "flow_id"), id);
    EXPECT_TRUE(rig_.items({"flow", "ls", "--status", "failed"}).empty());
    EXPECT_TRUE(contains(rig_.ff({"flow", "ls"}).out, id));
    for (const std::string& word : {id, id.substr(24), std::string("pair")}) {
        const Ran shown = rig_.ff({"flow", "show", word});
        EXPECT_EQ(shown.code, 0) << shown.err;
        EXPECT_TRUE(contains(shown.out, id)) << shown.out;
        EXPECT_TRUE(contains(shown.out, "\n  second  waiting_children")) << shown.out;
    }
    EXPECT_EQ(rig_.json({"flow", "show", id}).find("nodes")->if_array()->size(), 2U);
    const Ran none = rig_.ff({"flow", "show", "nothing"});
    EXPECT_EQ(none.code, 3);
    EXPECT_EQ(none.err, "ff: there is no flow nothing\n");
    EXPECT_EQ(rig_.ff({"flow", "show", new_uuid().to_string()}).code, 3);
}

TEST_P(Flows, AreDrawn) {
    const std::string id = submit();
    EXPECT_TRUE(rig_.ff({"flow", "graph", id}).out.starts_with("digraph \"pair\" {"));
    EXPECT_TRUE(
        rig_.ff({"flow", "graph", id, "--format", "mermaid"}).out.starts_with("flowchart LR"));
    EXPECT_NE(rig_.json({"flow", "graph", id}).find("edges"), nullptr);
}

TEST_P(Flows, ArePausedResumedCancelledAndRetried) {
    const std::string id = submit();
    EXPECT_TRUE(contains(rig_.ff({"flow", "pause", id}).out, id + " is paused"));
    EXPECT_EQ(member(*rig_.json({"flow", "show", id}).find("flow"), "paused"), "true");
    EXPECT_EQ(member(rig_.json({"flow", "resume", id}), "paused"), "false");
    rig_.fail("l", "boom");
    EXPECT_TRUE(contains(rig_.ff({"flow", "ls", "--status", "failed"}).out, id));
    const Ran unknown = rig_.ff({"flow", "retry", id, "--from", "third"});
    EXPECT_EQ(unknown.code, 3) << unknown.err;
    EXPECT_EQ(rig_.ff({"flow", "retry", id}).out, id + " runs 2 executions again\n");
    const Ran cancelled = rig_.ff({"flow", "cancel", id, "--reason", "enough"});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_EQ(cancelled.out, id + " cancelled, 2 executions with it\n");
    EXPECT_EQ(rig_.ff({"flow", "cancel", id}).code, 4);
    EXPECT_EQ(rig_.ff({"flow", "pause", id}).code, 4);
    EXPECT_TRUE(contains(rig_.ff({"flow", "show", id}).out, "enough"));
}

TEST_P(Flows, CommandsOfAFileRunThroughAnyEngine) {
    const std::string path = rig_.folder().file("any.toml");
    std::ofstream(path) << "[node.a]\ncommand = \"echo 1\"\n"
                           "[node.b]\nneeds = [\"a\"]\ncommand = \"echo $FF_INPUT_A\"\n";
    const Ran ran = rig_.ff({"flow", "run", path, "--connect", rig_.address()});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_TRUE(contains(ran.out, "any completed: 2 of 2 completed")) << ran.out;
    EXPECT_EQ(rig_.items({"flow", "ls", "--status", "completed"}).size(), 1U);
}

// ---------------------------------------------------------------------------------- the examples

class FlowExamples : public FlowRun {
  protected:
    Ran example(const std::string& name, const std::vector<std::string>& more = {}) {
        const std::string from = std::string(FF_SOURCE_DIR) + "/examples/flows/" + name + ".toml";
        std::vector<std::string> words{"flow", "run", file(name + ".toml", text_of(from))};
        words.insert(words.end(), more.begin(), more.end());
        return run_ff(words);
    }
};

TEST_F(FlowExamples, Media) {
    const Ran ran = example("media");
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(result("media", "package"),
              "video.mp4\nthumbnail-0.jpg\nthumbnail-4.jpg\nthumbnail-8.jpg\nsubtitles.vtt\n");
    EXPECT_TRUE(contains(ran.err, "transcoding holiday.mov\n")) << ran.err;
    EXPECT_EQ(example("media", {"--var", "audio=false"}).code, 0);
    EXPECT_EQ(states("media").at("subtitles"), "skipped");
    EXPECT_TRUE(contains(result("media", "package"), "no subtitles"));
}

TEST_F(FlowExamples, Race) {
    const Ran ran = example("race", {"--jobs", "4"});
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(states("race").at("mirror-far"), "cancelled");
    EXPECT_EQ(result("race", "unpack"), "unpacking from near\n");
}

TEST_F(FlowExamples, Deploy) {
    const Ran ran = example("deploy");
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(result("deploy", "rollout-us"), "us runs image:1.4.2\n");
    EXPECT_EQ(states("deploy").at("roll-back"), "skipped");
    EXPECT_EQ(example("deploy", {"--var", "broken=eu"}).code, 1);
    EXPECT_EQ(states("deploy").at("switch-traffic"), "completed");
    const Ran again = example("deploy", {"--resume"});
    EXPECT_EQ(again.code, 1) << "it ends, as broken as before: " << again.err;
    EXPECT_EQ(states("deploy").at("roll-back"), "skipped") << "the traffic was switched";
    EXPECT_EQ(example("deploy", {"--var", "broken=eu", "--var", "quorum=3"}).code, 1);
    EXPECT_EQ(states("deploy").at("roll-back"), "completed");
    EXPECT_EQ(states("deploy").at("remove-lock"), "completed");
}

TEST_F(FlowExamples, Make) {
    const Ran ran = example("make");
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    EXPECT_EQ(result("make", "check"), "ok\n");
}

}  // namespace
}  // namespace ff::test
