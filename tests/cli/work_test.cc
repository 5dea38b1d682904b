// Handing in, looking and waiting, on a file and through a server.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "cli/rig.h"
#include "cli/text.h"

namespace ff::test {
namespace {

class Work : public OnEveryWay {
  protected:
    /// Submits and gives the id that was printed.
    std::string submit(std::vector<std::string> arguments, Around around = {}) {
        arguments.insert(arguments.begin(), "submit");
        const Ran ran = rig_.ff(arguments, std::move(around));
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_TRUE(ran.err.empty()) << ran.err;
        EXPECT_TRUE(ran.out.ends_with('\n')) << ran.out;
        return ran.out.substr(0, ran.out.size() - 1);
    }
    std::string input(const std::string& id) { return rig_.ff({"input", id}).out; }
};

INSTANTIATE_TEST_SUITE_P(Ways, Work, every_way(), way_name);

// ----------------------------------------------------------------------------------------- submit

TEST_P(Work, SubmitPrintsTheIdAndNothingElse) {
    const std::string id = submit({"email.receipt", "hello", "--lane", "email", "--ns", "shop"});
    EXPECT_TRUE(ExecutionId::parse(id).has_value()) << id;
    const js::Value got = rig_.json({"get", id});
    EXPECT_EQ(member(got, "execution_id"), id);
    EXPECT_EQ(member(got, "execution_kind"), "email.receipt");
    EXPECT_EQ(member(got, "lane_id"), "email");
    EXPECT_EQ(member(got, "namespace"), "shop");
    EXPECT_EQ(member(got, "public_state"), "waiting");
    EXPECT_EQ(input(id), "hello");
}

TEST_P(Work, ThePayloadComesFromAnArgumentAFileOrStandardInput) {
    EXPECT_EQ(input(submit({"k"})), "");
    const std::string bytes("a\0b\xff\n", 5);
    EXPECT_EQ(input(submit({"k", "-"}, {.input = bytes})), bytes);
    const std::string file = rig_.folder().file("payload");
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(input(submit({"k", "--file", file})), bytes);
    EXPECT_EQ(input(submit({"k", "--", "--odd"})), "--odd");
}

TEST_P(Work, JsonPayloadsAreCheckedAndMarked) {
    const std::string id = submit({"k", R"({"a": [1, 2.50]})", "--json"});
    EXPECT_EQ(input(id), R"({"a": [1, 2.50]})") << "the bytes as they were given";
    EXPECT_EQ(member(rig_.json({"input", id}), "payload_encoding"), "json");
    const Ran bad = rig_.ff({"submit", "k", "{a}", "--json"});
    EXPECT_EQ(bad.code, 2);
    EXPECT_TRUE(contains(bad.err, "the payload is not JSON")) << bad.err;
    EXPECT_EQ(rig_.items({"ls"}).size(), 1U) << "nothing was handed in";
}

TEST_P(Work, OptionsBecomeThePolicy) {
    const std::string id =
        submit({"k",
                "--retries",
                "4",
                "--reclaims",
                "5",
                "--backoff",
                "1s..1m,x3,jitter",
                "--timeout",
                "90s",
                "--capability",
                "gpu",
                "--capability",
                "cuda",
                "--priority",
                "7",
                "--tag",
                "order.id=17",
                "--tag",
                "order.note=a=b",
                "--deadline",
                "2h",
                "--policy",
                R"({"max_replay_count": 2, "retry_policy": {"max_retries": 1}})"});
    const js::Value got = rig_.json({"get", id});
    const js::Value* policy = got.find("policy");
    ASSERT_NE(policy, nullptr);
    const js::Value* retry = policy->find("retry_policy");
    ASSERT_NE(retry, nullptr) << js::dump(*policy);
    EXPECT_EQ(member(*retry, "max_retries"), "4") << "options go on top of the policy";
    const js::Value* backoff = retry->find("backoff");
    ASSERT_NE(backoff, nullptr);
    EXPECT_EQ(member(*backoff, "type"), "exponential");
    EXPECT_EQ(member(*backoff, "initial_delay_ms"), "1000");
    EXPECT_EQ(member(*backoff, "max_delay_ms"), "60000");
    EXPECT_EQ(member(*backoff, "jitter"), "true");
    EXPECT_EQ(member(*policy, "max_replay_count"), "2");
    EXPECT_EQ(member(*policy, "max_reclaim_count"), "5");
    EXPECT_EQ(member(*policy->find("timeout_policy"), "attempt_timeout_ms"), "90000");
    EXPECT_EQ(member(got, "required_capabilities"), R"(["cuda","gpu"])");
    EXPECT_EQ(member(got, "priority"), "7");
    EXPECT_EQ(member(got, "tags"), R"({"order.id":"17","order.note":"a=b"})");
    EXPECT_NE(member(got, "execution_deadline_at"), "null");
}

TEST_P(Work, APolicyMayComeFromAFile) {
    const std::string file = rig_.folder().file("policy.json");
    std::ofstream(file) << R"({"max_replay_count": 3})";
    const std::string id = submit({"k", "--policy", "@" + file});
    EXPECT_EQ(member(*rig_.json({"get", id}).find("policy"), "max_replay_count"), "3");
}

TEST_P(Work, APolicyMayComeThroughAPipeWhichIsReadOnce) {
    const Ran ran = run_shell(
        R"(echo '{"max_replay_count": 3}' | "$0" submit k --policy @/dev/stdin --delay 1h)", {},
        {{{"FF_CONNECT", rig_.address()}}, ""});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string id = ran.out.substr(0, ran.out.size() - 1);
    EXPECT_EQ(member(*rig_.json({"get", id}).find("policy"), "max_replay_count"), "3");
}

TEST_P(Work, ADelayedOneWaitsForItsTime) {
    const std::string id = submit({"k", "--delay", "1h"});
    EXPECT_EQ(member(rig_.json({"get", id}), "public_state"), "delayed");
    const Ran why = rig_.ff({"why", id});
    const js::Value got = rig_.json({"get", id});
    const std::string until = cli::time_text(std::stoll(member(got, "delay_until")));
    EXPECT_TRUE(contains(why.out, "delayed until " + until.substr(0, 16))) << why.out;
    const Ran text = rig_.ff({"get", id});
    EXPECT_TRUE(contains(text.out, "delayed until " + until)) << text.out;
    EXPECT_EQ(member(got, "blocking_detail"), "delayed until " + member(got, "delay_until"))
        << "for programs it is as it was";
}

TEST_P(Work, WhySaysOfWhichExecutionItSpeaks) {
    const std::string first = submit({"k"});
    const std::string second = submit({"k", "--delay", "1h"});
    const std::string text = rig_.ff({"why", first, second}).out;
    EXPECT_TRUE(text.starts_with("execution")) << text;
    const std::size_t between = text.find("\n\nexecution");
    ASSERT_NE(between, std::string::npos) << "a line of nothing stands between them: " << text;
    EXPECT_TRUE(contains(text.substr(0, between), first)) << text;
    EXPECT_TRUE(contains(text.substr(between), second)) << text;
    EXPECT_EQ(member(rig_.json({"why", second}), "execution_id"), second);
    const std::string lines = rig_.ff({"why", first, second, "-o", "jsonl"}).out;
    EXPECT_TRUE(lines.starts_with("{\"execution_id\":\"" + first)) << lines;
}

TEST_P(Work, ARetryThatWaitsTellsItsTime) {
    const std::string id = submit({"k", "--lane", "a", "--retries", "1", "--backoff", "1h"});
    const Ran ran = rig_.ff({"worker", "exec", "--lane", "a", "--tasks", "1", "--", "false"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const js::Value got = rig_.json({"get", id});
    const std::string number = member(got, "delay_until");
    const std::string until = cli::time_text(std::stoll(number));
    EXPECT_TRUE(contains(member(got, "blocking_detail"), "retry backoff until " + number));
    for (const char* command : {"why", "get"}) {
        const Ran text = rig_.ff({command, id});
        EXPECT_TRUE(contains(text.out, "retry backoff until " + until.substr(0, 16))) << text.out;
        EXPECT_TRUE(contains(text.out, "(attempt 0 failed: exit code 1)")) << text.out;
        EXPECT_FALSE(contains(text.out, number)) << text.out;
    }
}

TEST_P(Work, AKeyMakesASecondSubmitTheFirst) {
    const js::Value first = rig_.json({"submit", "k", "--key", "order-17"});
    EXPECT_EQ(member(first, "outcome"), "created");
    EXPECT_EQ(member(first, "public_state"), "waiting");
    const Ran told = rig_.ff({"submit", "k", "--key", "order-17"});
    EXPECT_EQ(told.out, member(first, "execution_id") + "\n");
    EXPECT_TRUE(contains(told.err, "duplicate: " + member(first, "execution_id"))) << told.err;
    EXPECT_EQ(rig_.ff({"submit", "k", "--key", ""}).code, 2) << "a key that is none";
    const Ran no_id = rig_.ff({"submit", "k", "--id", "17"});
    EXPECT_EQ(no_id.code, 2);
    EXPECT_TRUE(contains(no_id.err, "--id: \"17\" is not an execution id")) << no_id.err;
    const Ran again = rig_.ff({"submit", "k", "--key", "order-17", "-o", "jsonl"});
    EXPECT_EQ(again.code, 0);
    ASSERT_EQ(again.json_lines().size(), 1U);
    EXPECT_EQ(member(again.json_lines()[0], "outcome"), "duplicate");
    EXPECT_EQ(member(again.json_lines()[0], "execution_id"), member(first, "execution_id"));
}

TEST_P(Work, SubmitCanWaitForTheResult) {
    std::thread worker;
    if (GetParam() != Way::file) {  // a file belongs to one process at a time
        worker = std::thread([&] {
            rig_.with_engine([](Engine& engine) {
                Claim claim;
                claim.lanes = {"sums"};
                claim.worker_id = "w";
                claim.worker_instance_id = "w-1";
                claim.max_wait_ms = 60'000;
                const auto claimed = engine.run(claim);
                ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
                Complete done;
                done.lease = claimed->tasks[0].handle;
                done.result_payload = "3";
                ASSERT_TRUE(engine.run(done).has_value());
            });
        });
        const Ran ran = rig_.ff({"submit", "add", "[1,2]", "--lane", "sums", "--wait"});
        worker.join();
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.out, "3");
    }
    const Ran late =
        rig_.ff({"submit", "add", "--lane", "nobody", "--wait", "--wait-timeout", "50ms"});
    EXPECT_EQ(late.code, 1);
    EXPECT_EQ(late.out, "");
    EXPECT_TRUE(contains(late.err, "has not ended in time: it is waiting")) << late.err;
}

TEST_P(Work, AWaitingSubmitEndsAsItsExecutionDoes) {
    // The key names an execution that has ended: there is nothing left to wait for.
    const std::string good = submit({"k", "--lane", "a", "--key", "good"});
    rig_.complete("a", "fine");
    const std::string bad = submit({"k", "--lane", "b", "--key", "bad"});
    rig_.fail("b", "no space");
    const Ran completed = rig_.ff({"submit", "k", "--lane", "a", "--key", "good", "--wait"});
    EXPECT_EQ(completed.code, 0) << completed.err;
    EXPECT_EQ(completed.out, "fine");
    const Ran failed = rig_.ff({"submit", "k", "--lane", "b", "--key", "bad", "--wait"});
    EXPECT_EQ(failed.code, 1);
    EXPECT_EQ(failed.out, "");
    EXPECT_TRUE(contains(failed.err, bad + " failed: permanent: no space")) << failed.err;
    const js::Value value = rig_.json({"submit", "k", "--lane", "a", "--key", "good", "--wait"});
    EXPECT_EQ(member(value, "execution_id"), good);
    EXPECT_EQ(member(value, "result_payload"), R"({"base64":"ZmluZQ=="})");
}

// -------------------------------------------------------------------------------------------- ids

TEST_P(Work, TheLastDigitsOfAnIdAreEnough) {
    const ExecutionId id = rig_.create("a");
    rig_.create("a");
    const std::string text = id.to_string();
    for (const std::size_t digits : {6, 8, 12}) {
        EXPECT_EQ(member(rig_.json({"get", text.substr(text.size() - digits)}), "execution_id"),
                  text);
    }
    EXPECT_EQ(member(rig_.json({"get", text.substr(text.size() - 17)}), "execution_id"), text)
        << "with a hyphen in it";
    EXPECT_EQ(member(rig_.json({"get", id.uuid.to_string()}), "execution_id"), text);
    const Ran unknown = rig_.ff({"get", "0123456789ab"});
    EXPECT_EQ(unknown.code, 3);
    EXPECT_TRUE(contains(unknown.err, "none of the newest 1,000 executions")) << unknown.err;
    const Ran short_one = rig_.ff({"get", text.substr(text.size() - 5)});
    EXPECT_EQ(short_one.code, 2);
}

TEST_P(Work, DigitsOfSeveralIdsAreAConflictThatNamesThem) {
    std::vector<std::string> ids;
    rig_.with_engine([&](Engine& engine) {
        for (const char* start : {"0190b5a2", "0190b5a3"}) {
            CreateExecution op;
            op.ns = "shop";
            op.lane_id = "a";
            op.execution_kind = "k";
            op.execution_id =
                ExecutionId{0, *Uuid::parse(std::string(start) + "-7c3e-7d4f-8a1b-2c3d4e5f6071")};
            ids.push_back(op.execution_id->to_string());
            ASSERT_TRUE(engine.run(op).has_value());
        }
    });
    for (const char* command : {"get", "cancel", "why", "result", "wait"}) {
        const Ran ran = rig_.ff({command, "4e5f6071"});
        EXPECT_EQ(ran.code, 4) << command;
        EXPECT_TRUE(contains(ran.err, ids[0]) && contains(ran.err, ids[1])) << ran.err;
        EXPECT_TRUE(contains(ran.err, "give more digits")) << ran.err;
    }
    EXPECT_EQ(member(rig_.json({"get", ids[0]}), "public_state"), "waiting") << "not cancelled";
}

// -------------------------------------------------------------------------------------- get, list

TEST_P(Work, SeveralAreAListAndOneThatIsMissingDoesNotHideTheOthers) {
    const std::string first = rig_.create("a").to_string();
    const std::string second = rig_.create("a").to_string();
    const std::string missing = "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071";
    const Ran text = rig_.ff({"get", first, missing, second});
    EXPECT_EQ(text.code, 3);
    EXPECT_TRUE(contains(text.out, first) && contains(text.out, second)) << text.out;
    EXPECT_EQ(text.err, "ff: there is no execution " + missing + "\n");
    const Ran json = rig_.ff({"get", first, missing, second, "-o", "json"});
    EXPECT_EQ(json.code, 3);
    const js::Value value = json.json();
    const js::Array* list = value.find("items")->if_array();
    ASSERT_EQ(list->size(), 3U);
    EXPECT_EQ(member((*list)[0], "execution_id"), first);
    EXPECT_EQ(member((*list)[1], "execution_id"), missing);
    EXPECT_EQ(member((*list)[1], "code"), "execution_not_found");
    EXPECT_EQ(member((*list)[2], "public_state"), "waiting");
    const Ran lines = rig_.ff({"get", first, missing, second, "-o", "jsonl"});
    EXPECT_EQ(lines.json_lines().size(), 3U);
}

TEST_P(Work, ListsByEveryFilter) {
    const std::string receipt = submit({"email.receipt", "--lane", "email", "--ns", "shop", "--tag",
                                        "order.id=1", "--tag", "order.vip=yes"});
    const std::string report = submit({"report", "--lane", "reports", "--tag", "order.id=1"});
    submit({"report", "--lane", "reports", "--delay", "1h"});
    const auto ids = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "ls");
        std::vector<std::string> out;
        for (const js::Value& item : rig_.items(arguments)) {
            out.push_back(member(item, "execution_id"));
        }
        return out;
    };
    using Ids = std::vector<std::string>;
    EXPECT_EQ(ids({}).size(), 3U);
    EXPECT_EQ(ids({"--lane", "email"}), Ids{receipt});
    EXPECT_EQ(ids({"--ns", "shop"}), Ids{receipt});
    EXPECT_EQ(ids({"--kind", "report"}).size(), 2U);
    EXPECT_EQ(ids({"--tag", "order.id=1"}).size(), 2U);
    EXPECT_EQ(ids({"--tag", "order.id=1", "--tag", "order.vip=yes"}), Ids{receipt});
    EXPECT_EQ(ids({"--state", "delayed"}).size(), 1U);
    EXPECT_EQ(ids({"--state", "delayed", "--state", "waiting"}).size(), 3U);
    EXPECT_EQ(ids({"--state", "delayed,waiting"}).size(), 3U);
    EXPECT_EQ(ids({"--since", "1h"}).size(), 3U);
    EXPECT_EQ(ids({"--until", "1h"}).size(), 0U);
    EXPECT_EQ(ids({"--since", "2000-01-01", "--until", "2001-01-01T00:00:00Z"}).size(), 0U);
    EXPECT_EQ(ids({"--kind", "report", "--state", "waiting"}), Ids{report});
    EXPECT_EQ(ids({"--oldest"}).front(), receipt);
}

TEST_P(Work, ListsPageByPageAndAllAtOnce) {
    rig_.with_engine([](Engine& engine) {
        std::vector<CreateExecution> ops(1'005);
        for (CreateExecution& op : ops) {
            op.ns = "shop";
            op.lane_id = "many";
            op.execution_kind = "k";
        }
        for (const auto& created : engine.run_all(ops)) {
            ASSERT_TRUE(created.has_value());
        }
    });
    const Ran first = rig_.ff({"ls", "--limit", "1000", "-o", "json"});
    const std::string cursor = member(first.json(), "next_cursor");
    EXPECT_EQ(rig_.items({"ls", "--cursor", cursor}).size(), 5U);
    const Ran lines = rig_.ff({"ls", "--limit", "3", "-o", "jsonl"});
    EXPECT_EQ(lines.json_lines().size(), 3U);
    EXPECT_TRUE(contains(lines.err, "more with --cursor ")) << lines.err;
    EXPECT_EQ(rig_.ff({"ls", "--all", "-o", "jsonl"}).json_lines().size(), 1'005U);
    EXPECT_EQ(rig_.items({"ls", "--all"}).size(), 1'005U);
    const Ran text = rig_.ff({"ls", "--all"});
    EXPECT_EQ(std::ranges::count(text.out, '\n'), 1'006) << "one line of titles";
    EXPECT_EQ(rig_.items({"ls", "--all", "--lane", "none"}).size(), 0U);
    EXPECT_EQ(rig_.ff({"ls", "--all", "--lane", "none"}).out, "nothing found\n");
}

// --------------------------------------------------------------------- result, attempts, history

TEST_P(Work, GivesResultsAsTheyAre) {
    const std::string bytes("a\0b\xff\n", 5);
    const std::string id = rig_.create("a").to_string();
    const Ran none = rig_.ff({"result", id});
    EXPECT_EQ(none.code, 3);
    EXPECT_TRUE(contains(none.err, "has no result: it is waiting")) << none.err;
    rig_.complete("a", bytes);
    EXPECT_EQ(rig_.ff({"result", id}).out, bytes);
    EXPECT_EQ(member(rig_.json({"result", id}), "result_payload"), R"({"base64":"YQBi/wo="})");
    const std::string file = rig_.folder().file("result");
    EXPECT_EQ(rig_.ff({"result", id, "--out", file}).code, 0);
    std::ifstream in(file, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), bytes);
    const Ran there = rig_.ff({"result", id, "--out", file});
    EXPECT_EQ(there.code, 4) << there.err;
    EXPECT_EQ(rig_.ff({"result", id, "--out", file, "--force"}).code, 0);
}

TEST_P(Work, ShowsAttemptsAndHistory) {
    const std::string id = rig_.create("a").to_string();
    EXPECT_EQ(rig_.ff({"attempts", id}).out, "no attempt yet\n");
    rig_.fail("a", "no space");
    const auto attempts = rig_.items({"attempts", id});
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(member(attempts[0], "failure_reason"), "no space");
    EXPECT_TRUE(contains(rig_.ff({"attempts", id}).out, "permanent: no space"));
    const auto history = rig_.items({"history", id});
    ASSERT_EQ(history.size(), 2U);
    EXPECT_EQ(member(history[0], "event"), "acquired");
    EXPECT_TRUE(contains(rig_.ff({"history", id}).out, "acquired"));
    EXPECT_EQ(rig_.ff({"history", id, "-o", "jsonl"}).json_lines().size(), 2U);
}

TEST_P(Work, SaysWhyItDoesNotRun) {
    const std::string id = submit({"k", "--lane", "a", "--ns", "shop", "--capability", "tpu"});
    rig_.register_worker("a");
    const Ran text = rig_.ff({"why", id});
    EXPECT_TRUE(contains(text.out, "no live worker has tpu")) << text.out;
    EXPECT_EQ(member(rig_.json({"why", id}), "missing_capabilities"), R"(["tpu"])");
}

// ------------------------------------------------------------------------------------------- wait

TEST_P(Work, WaitSaysHowEachEnded) {
    const std::string good = rig_.create("a").to_string();
    const std::string bad = rig_.create("b").to_string();
    rig_.complete("a", "fine");
    rig_.fail("b", "no space");
    const Ran one = rig_.ff({"wait", good});
    EXPECT_EQ(one.code, 0);
    EXPECT_EQ(one.out, good + " completed\n");
    const Ran both = rig_.ff({"wait", good, bad});
    EXPECT_EQ(both.code, 1);
    EXPECT_TRUE(contains(both.out, bad + " failed: permanent: no space\n")) << both.out;
    const Ran lines = rig_.ff({"wait", good, bad, "-o", "jsonl"});
    ASSERT_EQ(lines.json_lines().size(), 2U);
    EXPECT_EQ(member(lines.json_lines()[1], "failure_reason"), "no space");
}

TEST_P(Work, WaitEndsWithItsTimeAndSaysWhatIsLeft) {
    const std::string good = rig_.create("a").to_string();
    const std::string slow = rig_.create("b").to_string();
    rig_.complete("a", "fine");
    const Ran ran = rig_.ff({"wait", good, slow, "--timeout", "100ms"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, good + " completed\n" + slow + " still waiting\n");
    EXPECT_EQ(ran.err, "ff: " + slow + " has not ended in time: it is waiting\n");
    const std::string missing = "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071";
    const Ran unknown = rig_.ff({"wait", missing});
    EXPECT_EQ(unknown.code, 3) << unknown.err;
}

TEST_P(Work, WaitHearsOfAnEndThatComesLater) {
    const std::string id = rig_.create("a").to_string();
    Ran ran;
    std::thread waiter([&] { ran = rig_.ff({"wait", id, "--timeout", "5m"}); });
    rig_.complete("a", "fine");  // while it waits, or just before: it must not matter
    waiter.join();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, id + " completed\n");
}

}  // namespace
}  // namespace ff::test
