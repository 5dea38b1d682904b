// Budgets and quotas on a file and through a server.
#include <gtest/gtest.h>

#include "cli/rig.h"

namespace ff::test {
namespace {

class Limits : public OnEveryWay {
  protected:
    /// What a command prints, without the line break; it must succeed.
    std::string line(const std::vector<std::string>& words) {
        const Ran ran = rig_.ff(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return ran.out.empty() ? "" : ran.out.substr(0, ran.out.size() - 1);
    }
};

INSTANTIATE_TEST_SUITE_P(Ways, Limits, every_way(), way_name);

TEST_P(Limits, ABudgetIsDefinedCountedAndReset) {
    const std::string id = line({"budget", "create", "--limit", "tokens=100,80"});
    EXPECT_EQ(line({"budget", "report", id, "tokens=80", "--key", "a"}), "counted");
    EXPECT_EQ(line({"budget", "report", id, "tokens=80", "--key", "a"}),
              "counted before, under this key");
    EXPECT_EQ(line({"budget", "report", id, "tokens=5"}),
              "counted; past the soft limit: tokens 85/80");
    const Ran refused = rig_.ff({"budget", "report", id, "tokens=16"});
    EXPECT_EQ(refused.out, "refused, nothing counts: tokens 85/100\n");
    EXPECT_EQ(refused.code, 4);
    const js::Array all = rig_.items({"budget", "list"});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(member(all[0], "budget_id"), id);
    EXPECT_TRUE(contains(rig_.ff({"budget", "list"}).out, "tokens 85/100"));
    EXPECT_EQ(line({"budget", "limit", id, "tokens=200"}), "set");
    EXPECT_EQ(line({"budget", "report", id, "tokens=16"}),
              "counted; past the soft limit: tokens 101/80")
        << "the soft limit stays";
    EXPECT_EQ(line({"budget", "reset", id}), "reset");
    const js::Value status = rig_.json({"budget", "show", id});
    EXPECT_EQ(status.find("usage")->find("tokens")->as_int64(), 0);
    EXPECT_EQ(rig_.ff({"budget", "report", id, "tokens"}).code, 2) << "no number";
    const Ran nowhere = rig_.ff({"budget", "show", new_uuid().to_string()});
    EXPECT_EQ(nowhere.code, 3);
    EXPECT_EQ(nowhere.err, "ff: there is no such budget\n");
}

TEST_P(Limits, WhatIsDefinedOtherwiseAlreadyIsAConflict) {
    const std::string budget = line({"budget", "create", "--limit", "tokens=100"});
    EXPECT_EQ(line({"budget", "create", "--id", budget, "--limit", "tokens=100"}),
              budget + " is there already");
    const Ran other = rig_.ff({"budget", "create", "--id", budget, "--limit", "tokens=5"});
    EXPECT_EQ(other.code, 4) << other.err;
    EXPECT_EQ(other.out, budget + " is there already, defined otherwise; nothing was changed\n");
    EXPECT_TRUE(contains(rig_.ff({"budget", "show", budget}).out, "100"));
    const std::string quota = line({"quota", "create", "--concurrent", "2"});
    const Ran other_quota = rig_.ff({"quota", "create", "--id", quota, "--concurrent", "3"});
    EXPECT_EQ(other_quota.code, 4) << other_quota.err;
    EXPECT_TRUE(contains(other_quota.out, "defined otherwise")) << other_quota.out;
}

TEST_P(Limits, ADimensionHasOneLimit) {
    const Ran twice = rig_.ff({"budget", "create", "--limit", "tokens=5", "--limit", "tokens=9,7"});
    EXPECT_EQ(twice.code, 2);
    EXPECT_TRUE(contains(twice.err, "tokens is given two limits")) << twice.err;
    EXPECT_TRUE(rig_.items({"budget", "list"}).empty());
}

TEST_P(Limits, WhatAnExecutionSpendsIsWrittenDownAndReleased) {
    const std::string execution = rig_.create("a").to_string();
    const std::string id = line({"budget", "create", "--limit", "cents=50"});
    EXPECT_EQ(line({"budget", "spend", id, execution, "cents=20"}), "counted");
    const js::Array ledger = rig_.items({"budget", "ledger", id});
    ASSERT_EQ(ledger.size(), 1U);
    EXPECT_EQ(member(ledger[0], "execution_id"), execution);
    EXPECT_EQ(line({"budget", "release", id, execution}), "released");
    EXPECT_EQ(line({"budget", "release", id, execution}), "nothing was written down for it");
}

TEST_P(Limits, WhySaysWhichBudgetKeepsIt) {
    const std::string execution = rig_.create("a").to_string();
    const std::string id = line({"budget", "create", "--limit", "tokens=1", "--every", "1d"});
    EXPECT_EQ(line({"budget", "attach", id, "lane:a"}), "applies to lane:a");
    EXPECT_EQ(line({"budget", "attach", id, "lane:a"}), "applies already to lane:a");
    EXPECT_EQ(line({"budget", "report", id, "tokens=1"}), "counted");
    rig_.find_nothing("a");
    const std::string why = rig_.ff({"why", execution}).out;
    EXPECT_TRUE(contains(why, "budget " + id + ": tokens 1/1")) << why;
    EXPECT_TRUE(contains(why, "it resets at")) << why;
    EXPECT_EQ(line({"budget", "detach", id, "lane:a"}), "applies no more to lane:a");
    EXPECT_TRUE(contains(rig_.ff({"why", execution}).out, "ready"));
}

TEST_P(Limits, AQuotaIsDefinedChangedAndDeleted) {
    const std::string id =
        line({"quota", "create", "--rate", "10", "--window", "1m", "--concurrent", "2"});
    EXPECT_TRUE(contains(rig_.ff({"quota", "list"}).out, "10 in 1 min 0 s"));
    EXPECT_EQ(line({"quota", "set", id, "--concurrent", "3"}),
              "starts: 10 in 1 min 0 s; at once: 3");
    const js::Value policy = rig_.json({"quota", "show", id});
    EXPECT_EQ(policy.find("active_concurrency_cap")->as_int64(), 3);
    EXPECT_EQ(line({"quota", "attach", id, "namespace:acme"}), "applies to namespace:acme");
    EXPECT_EQ(line({"quota", "detach", id, "namespace:acme"}), "applies no more to namespace:acme");
    EXPECT_EQ(line({"quota", "delete", id}), "deleted");
    EXPECT_EQ(rig_.ff({"quota", "show", id}).code, 3);
    EXPECT_EQ(rig_.ff({"quota", "attach", id, "nonsense"}).code, 2);
}

TEST_P(Limits, KeysTakeTurnsAndHaveLimitsOfTheirOwn) {
    const std::string id = line({"quota", "create", "--concurrent", "1", "--per-key"});
    EXPECT_TRUE(contains(rig_.ff({"quota", "show", id}).out, "at once: 1; for each limit key"));
    EXPECT_TRUE(contains(rig_.ff({"quota", "list"}).out, "a key"));
    line({"quota", "attach", id, "namespace:default"});
    line({"submit", "job", "--limit-key", "acme"});
    const std::string second = line({"submit", "job", "--limit-key", "acme"});
    EXPECT_TRUE(contains(rig_.ff({"why", second}).out,
                         "ready, waiting for its turn: 1 with the limit key acme ahead of it"));
    EXPECT_EQ(line({"quota", "keys", id}), "no key uses anything of it");
    EXPECT_TRUE(rig_.items({"quota", "keys", id}).empty());
    EXPECT_EQ(rig_.ff({"quota", "keys", "00000000-0000-0000-0000-000000000001"}).code, 3);
    const Ran wrong = rig_.ff({"submit", "job", "--limit-key", ""});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "limit_key")) << wrong.err;
}

}  // namespace
}  // namespace ff::test
