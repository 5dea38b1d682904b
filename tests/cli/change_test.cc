// What operators change, on a file and through a server.
#include <gtest/gtest.h>

#include "cli/rig.h"

namespace ff::test {
namespace {

constexpr const char* missing = "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071";

class Change : public OnEveryWay {
  protected:
    std::string state(const std::string& id) {
        return member(rig_.json({"get", id}), "public_state");
    }
};

INSTANTIATE_TEST_SUITE_P(Ways, Change, every_way(), way_name);

TEST_P(Change, CancelEndsWhatIsNotDone) {
    const std::string waiting = rig_.create("a").to_string();
    const std::string held = rig_.create("b").to_string();
    rig_.hold("b");
    const Ran ran = rig_.ff({"cancel", waiting, held, "--reason", "wrong customer"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, waiting + " cancelled\n" + held + " cancelled\n");
    EXPECT_EQ(member(rig_.json({"get", held}), "cancellation_reason"), "wrong customer");
    EXPECT_EQ(rig_.ff({"cancel", held}).code, 0) << "it is so already";
    const js::Value value = rig_.json({"cancel", waiting});
    EXPECT_EQ(member(value, "outcome"), "cancelled");
    EXPECT_EQ(member(value, "public_state"), "cancelled");
}

TEST_P(Change, TheWorstOfSeveralIsTheExitCode) {
    const std::string good = rig_.create("a").to_string();
    const std::string done = rig_.create("b").to_string();
    rig_.complete("b", "fine");
    const Ran not_found = rig_.ff({"cancel", missing, good});
    EXPECT_EQ(not_found.code, 3);
    EXPECT_EQ(not_found.out, good + " cancelled\n") << "the others are done all the same";
    const Ran conflict = rig_.ff({"cancel", done, missing, good});
    EXPECT_EQ(conflict.code, 4) << "a conflict is worse than something missing";
    EXPECT_TRUE(contains(conflict.err, done + ": ")) << conflict.err;
    EXPECT_TRUE(contains(conflict.err, missing)) << conflict.err;
    const Ran lines = rig_.ff({"cancel", done, missing, good, "-o", "jsonl"});
    ASSERT_EQ(lines.json_lines().size(), 3U);
    EXPECT_EQ(member(lines.json_lines()[0], "code"), "execution_not_active");
    EXPECT_EQ(member(lines.json_lines()[1], "code"), "execution_not_found");
    EXPECT_EQ(member(lines.json_lines()[2], "outcome"), "cancelled");
}

TEST_P(Change, ABadIdAmongGoodOnesChangesNothing) {
    const std::string good = rig_.create("a").to_string();
    const Ran ran = rig_.ff({"cancel", good, "seventeen"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("ff: \"seventeen\" is not an execution id")) << ran.err;
    EXPECT_TRUE(ran.err.ends_with("; nothing was changed\n")) << ran.err;
    EXPECT_EQ(state(good), "waiting");
    for (const char* command : {"replay", "revoke", "resume"}) {
        const Ran other = rig_.ff({command, "seventeen", good, "eighteen"});
        EXPECT_EQ(other.code, 2) << command;
        EXPECT_TRUE(other.err.starts_with("ff: seventeen, eighteen are not execution ids"))
            << other.err;
        EXPECT_TRUE(other.err.ends_with("; nothing was changed\n")) << other.err;
    }
    EXPECT_FALSE(contains(rig_.ff({"cancel", "seventeen"}).err, "nothing")) << "there was no other";
    const Ran look = rig_.ff({"get", good, "seventeen"});
    EXPECT_EQ(look.code, 2);
    EXPECT_TRUE(look.err.ends_with("; nothing was looked up\n")) << look.err;
    const Ran lanes = rig_.ff({"lanes", "pause", "a", "\x01"});
    EXPECT_EQ(lanes.code, 2);
    EXPECT_TRUE(lanes.err.ends_with("; nothing was changed\n")) << lanes.err;
    EXPECT_FALSE(contains(rig_.ff({"lanes", "ls"}).out, "paused"));
}

TEST_P(Change, ReplayRunsItAgain) {
    const std::string id = rig_.create("a").to_string();
    const Ran early = rig_.ff({"replay", id});
    EXPECT_EQ(early.code, 4);
    EXPECT_TRUE(contains(early.err, "it has not ended")) << early.err;
    rig_.fail("a", "no space");
    EXPECT_EQ(state(id), "failed");
    EXPECT_EQ(rig_.ff({"replay", id}).out, id + " replayed: it is waiting\n");
    EXPECT_EQ(state(id), "waiting");
    EXPECT_EQ(rig_.ff({"replay", missing}).code, 3);
}

TEST_P(Change, PriorityOfOneThatWaits) {
    const std::string id = rig_.create("a").to_string();
    EXPECT_EQ(rig_.ff({"priority", id, "42"}).out, id + " has priority 42\n");
    EXPECT_EQ(member(rig_.json({"get", id}), "priority"), "42");
    EXPECT_EQ(rig_.ff({"priority", id, "9001"}).code, 2);
    EXPECT_EQ(rig_.ff({"priority", missing, "1"}).code, 3);
    rig_.hold("a");
    const Ran late = rig_.ff({"priority", id, "1"});
    EXPECT_EQ(late.code, 4);
    EXPECT_TRUE(contains(late.err, "not waiting for a worker")) << late.err;
}

TEST_P(Change, RevokeTakesItFromItsWorker) {
    const std::string id = rig_.create("a").to_string();
    const Ran idle = rig_.ff({"revoke", id});
    EXPECT_EQ(idle.code, 0) << idle.err;
    EXPECT_TRUE(contains(idle.out, "had nothing to revoke: no_active_lease")) << idle.out;
    rig_.hold("a");
    const js::Value revoked = rig_.json({"revoke", id});
    EXPECT_EQ(member(revoked, "outcome"), "revoked");
    EXPECT_EQ(member(revoked, "lease_epoch"), "1");
    const auto history = rig_.items({"history", id});
    EXPECT_EQ(member(history.back(), "event"), "revoked");
    EXPECT_EQ(rig_.ff({"revoke", missing}).code, 3);
}

TEST_P(Change, TagsAreSetReadAndRemoved) {
    const std::string id = rig_.create("a").to_string();
    EXPECT_EQ(rig_.ff({"tag", "get", id}).out, "");
    EXPECT_EQ(rig_.ff({"tag", "set", id, "order.id=17", "order.note=a=b c"}).code, 0);
    EXPECT_EQ(rig_.ff({"tag", "get", id}).out, "order.id=17\norder.note=a=b c\n");
    EXPECT_EQ(rig_.ff({"tag", "get", id, "order.id"}).out, "17\n");
    EXPECT_EQ(member(rig_.json({"tag", "get", id, "order.id"}), "tags"), R"({"order.id":"17"})");
    const Ran none = rig_.ff({"tag", "get", id, "order.colour"});
    EXPECT_EQ(none.code, 3);
    EXPECT_TRUE(contains(none.err, "has no tag order.colour")) << none.err;
    const Ran removed = rig_.ff({"tag", "rm", id, "order.id", "order.colour"});
    EXPECT_EQ(removed.code, 3);
    EXPECT_TRUE(contains(removed.err, "has no tag order.colour")) << removed.err;
    EXPECT_EQ(rig_.ff({"tag", "get", id}).out, "order.note=a=b c\n");
    EXPECT_EQ(rig_.ff({"tag", "set", id, "nonsense"}).code, 2);
    EXPECT_EQ(rig_.ff({"tag", "set", id, "Not Namespaced=1"}).code, 2);
    EXPECT_EQ(rig_.ff({"tag", "set", missing, "a.b=1"}).code, 3);
}

// ---------------------------------------------------------------------------------- lanes, upkeep

TEST_P(Change, LanesArePausedResumedAndDrained) {
    rig_.create("email");
    const auto state_of_lane = [&] { return member(rig_.items({"lanes"})[0], "lane_state"); };
    EXPECT_EQ(state_of_lane(), "active");
    EXPECT_EQ(rig_.ff({"lanes", "pause", "email"}).code, 0);
    EXPECT_EQ(state_of_lane(), "paused");
    EXPECT_TRUE(contains(rig_.ff({"lanes"}).out, "paused"));
    EXPECT_EQ(rig_.ff({"lanes", "drain", "email"}).code, 0);
    const Ran refused = rig_.ff({"submit", "k", "--lane", "email"});
    EXPECT_EQ(refused.code, 4) << refused.err;
    const auto changed = rig_.items({"lanes", "resume", "email"});
    ASSERT_EQ(changed.size(), 1U);
    EXPECT_EQ(member(changed[0], "lane_state"), "active");
    EXPECT_EQ(rig_.items({"lanes", "ls"}).size(), 1U);
}

TEST_P(Change, AMisspeltLaneIsNotMade) {
    rig_.create("email");
    const Ran ran = rig_.ff({"lanes", "pause", "emial"});
    EXPECT_EQ(ran.code, 3);
    EXPECT_EQ(ran.err, "ff: there is no lane emial (did you mean email?); --new makes it\n");
    EXPECT_EQ(rig_.items({"lanes"}).size(), 1U);
    const Ran two = rig_.ff({"lanes", "pause", "emial", "email"});
    EXPECT_EQ(two.code, 3);
    EXPECT_EQ(member(rig_.items({"lanes"})[0], "lane_state"), "paused") << "the other is";
    EXPECT_EQ(rig_.ff({"lanes", "drain", "later", "--new"}).code, 0);
    EXPECT_EQ(rig_.items({"lanes"}).size(), 2U);
}

TEST_P(Change, WorkersAreListed) {
    EXPECT_EQ(rig_.ff({"workers"}).out, "no live worker is registered\n");
    rig_.register_worker("email");
    const auto workers = rig_.items({"workers"});
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(member(workers[0], "worker_instance_id"), "w-1");
    EXPECT_TRUE(contains(rig_.ff({"workers"}).out, "gpu"));
    EXPECT_EQ(rig_.items({"workers", "--ns", "shop"}).size(), 1U);
    EXPECT_EQ(rig_.items({"workers", "--ns", "other"}).size(), 0U);
}

TEST_P(Change, ScannersAreListedAndRun) {
    const auto scanners = rig_.items({"scanners"});
    ASSERT_GT(scanners.size(), 5U);
    EXPECT_FALSE(member(scanners[0], "scanner").empty());
    EXPECT_TRUE(contains(rig_.ff({"scanners", "ls"}).out, "lease_expiry"));
    rig_.create("a");
    const Ran run = rig_.ff({"scanners", "run", "index_reconciler"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(run.out.starts_with("index_reconciler: ")) << run.out;
    EXPECT_EQ(member(rig_.json({"scanners", "run", "index_reconciler"}), "errors"), "0");
    const Ran unknown = rig_.ff({"scanners", "run", "sweeper"});
    EXPECT_EQ(unknown.code, 3);
    EXPECT_TRUE(contains(unknown.err, "there are lease_expiry")) << unknown.err;
}

TEST_P(Change, TheStoreAndTheEngineTellOfThemselves) {
    EXPECT_EQ(member(rig_.json({"store"}), "store"), rig_.family());
    EXPECT_TRUE(contains(rig_.ff({"store"}).out, rig_.family()));
    const js::Value able = rig_.json({"capabilities"});
    EXPECT_EQ(member(able, "product"), "FlowFabric");
    EXPECT_EQ(member(*able.find("supports"), "cancel_execution"), "true");
    EXPECT_TRUE(contains(rig_.ff({"capabilities"}).out, "replay_execution"));
}

TEST_P(Change, TopCountsWhatLimitsKeep) {
    for (int i = 0; i < 3; ++i) {
        rig_.create("email");
    }
    const Ran made = rig_.ff({"quota", "create", "--concurrent", "1"});
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string quota = made.out.substr(0, made.out.size() - 1);
    ASSERT_EQ(rig_.ff({"quota", "attach", quota, "lane:email"}).code, 0);
    rig_.hold("email");
    rig_.find_nothing("email");
    const js::Value lane = (*rig_.json({"top"}).find("lanes")->if_array())[0];
    const js::Value* states = lane.find("states");
    EXPECT_EQ(member(*states, "rate_limited"), R"({"count":2,"or_more":false})");
    EXPECT_EQ(member(*states, "active"), R"({"count":1,"or_more":false})");
    const std::string text = rig_.ff({"top"}).out;
    const std::string heading = text.substr(text.find("lane "));
    const std::string row = text.substr(text.find("email "));
    EXPECT_EQ(row[heading.find("blocked") + std::string_view("blocked").size() - 1], '2') << text;
}

TEST_P(Change, TopShowsOnePictureWithoutATerminal) {
    rig_.create("email");
    rig_.create("email");
    rig_.create("reports", "report.nightly");
    rig_.fail("reports", "no space");
    rig_.register_worker("email");
    const Ran text = rig_.ff({"top"});
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part :
         {"/s created", "email", "reports", "report.nightly", "permanent: no space", "w-1"}) {
        EXPECT_TRUE(contains(text.out, part)) << part << "\n" << text.out;
    }
    EXPECT_FALSE(contains(text.out, "\x1b")) << text.out;
    const js::Value value = rig_.json({"top"});
    const js::Array* lanes = value.find("lanes")->if_array();
    ASSERT_EQ(lanes->size(), 2U);
    const js::Value* states = (*lanes)[0].find("states");
    EXPECT_EQ(member(*states, "waiting"), R"({"count":2,"or_more":false})");
    ASSERT_EQ(value.find("failures")->if_array()->size(), 1U);
    EXPECT_EQ(member(*value.find("workers_in_all"), "count"), "1");
    EXPECT_EQ(rig_.ff({"top", "-o", "jsonl"}).json_lines().size(), 1U);
}

}  // namespace
}  // namespace ff::test
