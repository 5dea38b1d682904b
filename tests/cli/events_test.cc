// Events, timelines and webhooks on the command line.
#include <gtest/gtest.h>

#include <thread>

#include "cli/rig.h"

namespace ff::test {
namespace {

class Events : public OnEveryWay {
  protected:
    /// An execution that has come to its end; the text of its id.
    std::string finished() {
        const ExecutionId id = rig_.create("a", "greet");
        rig_.complete("a", "hello");
        return id.to_string();
    }
};

INSTANTIATE_TEST_SUITE_P(Ways, Events, every_way(), way_name);

TEST_P(Events, AFamilyIsShownFromItsBeginning) {
    EXPECT_EQ(rig_.ff({"events", "completion"}).out, "no events\n");
    const std::string id = finished();
    const Ran ran = rig_.ff({"events", "completion"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const std::string& part :
         {std::string("completed"), id, std::string("outcome=success"), std::string("lane_id=a")}) {
        EXPECT_TRUE(contains(ran.out, part)) << part << "\n" << ran.out;
    }
    const js::Array items = rig_.items({"events", "lease-history"});
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(member(items[0], "type"), "acquired");
    EXPECT_EQ(member(items[1], "type"), "revoked");
}

TEST_P(Events, ACursorGoesOnBehindItsEvent) {
    finished();
    const std::string id = finished();
    const js::Array all = rig_.items({"events", "completion"});
    ASSERT_EQ(all.size(), 2U);
    const js::Array rest = rig_.items({"events", "completion", "--from", member(all[0], "cursor")});
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(member(rest[0], "execution_id"), id);
    EXPECT_TRUE(rig_.items({"events", "completion", "--from", "now"}).empty());
    EXPECT_EQ(rig_.items({"events", "completion", "--limit", "1"}).size(), 1U);
    EXPECT_EQ(rig_.items({"events", "completion", "--execution", id}).size(), 1U);
    EXPECT_TRUE(rig_.items({"events", "completion", "--ns", "nobody"}).empty());
}

TEST_P(Events, WhatIsWrongIsSaid) {
    const Ran family = rig_.ff({"events", "lease"});
    EXPECT_EQ(family.code, 2);
    EXPECT_TRUE(contains(family.err, "there are completion, lease-history")) << family.err;
    const Ran cursor = rig_.ff({"events", "completion", "--from", "xyz"});
    EXPECT_EQ(cursor.code, 2);
    EXPECT_TRUE(contains(cursor.err, "invalid event cursor")) << cursor.err;
    EXPECT_EQ(rig_.ff({"events", "completion", "--tag", "blue"}).code, 2);
    EXPECT_EQ(rig_.ff({"events", "completion", "--follow", "-o", "json"}).code, 2);
}

TEST_P(Events, AReaderWhoHasEnoughEndsAFollowing) {
    ASSERT_EQ(rig_.ff({"submit", "talk", "--lane", "talk", "--tag", "team.name=blue"}).code, 0);
    const Ran ran = run_shell(
        "{ timeout 60 \"$0\" events instance-tags -f -o jsonl; echo \"code $?\" >&2; } | head -n 1",
        {}, {{{"FF_CONNECT", rig_.address()}}, ""});
    EXPECT_TRUE(contains(ran.out, "\"type\":\"attached\"")) << ran.out;
    EXPECT_FALSE(contains(ran.err, "code 124")) << "it went on: " << ran.err;
}

TEST_P(Events, WhatOthersWriteLaterIsFollowed) {
    ASSERT_EQ(rig_.ff({"submit", "talk", "--lane", "talk"}).code, 0);
    // The pause lets the following begin first; without it the test sees less, and holds as well.
    const Ran ran = run_shell(
        "{ timeout 60 \"$0\" events instance-tags -f -o jsonl; echo \"code $?\" >&2; } | head -n 1 "
        "&"
        " sleep 0.5; \"$0\" submit talk --lane talk --tag team.name=blue > /dev/null; wait",
        {}, {{{"FF_CONNECT", rig_.address()}}, ""});
    EXPECT_TRUE(contains(ran.out, "\"type\":\"attached\"")) << ran.out << ran.err;
    EXPECT_FALSE(contains(ran.err, "code 124")) << ran.err;
}

TEST_P(Events, ATimelineHasAllOfIt) {
    const std::string id = finished();
    const js::Array items = rig_.items({"timeline", id});
    std::vector<std::string> types;
    for (const js::Value& item : items) {
        types.push_back(member(item, "type"));
    }
    EXPECT_EQ(types, (std::vector<std::string>{"acquired", "revoked", "completed"}));
    EXPECT_TRUE(contains(rig_.ff({"timeline", id}).out, "lease_history"));
    EXPECT_EQ(rig_.ff({"timeline", "0123456789ab"}).code, 3);
}

TEST_P(Events, AWebhookFromItsBeginningToItsEnd) {
    EXPECT_EQ(rig_.ff({"webhook", "ls"}).out, "no webhooks\n");
    const js::Value made =
        rig_.json({"webhook", "create", "https://example.com/hook", "completion", "--ns", "shop"});
    const std::string id = member(made, "webhook_id");
    EXPECT_EQ(member(made, "secret_hex").size(), 64U);
    const Ran list = rig_.ff({"webhook", "ls"});
    for (const std::string& part : {id, std::string("active"), std::string("namespace=shop"),
                                    std::string("https://example.com/hook")}) {
        EXPECT_TRUE(contains(list.out, part)) << part << "\n" << list.out;
    }
    EXPECT_FALSE(contains(list.out, member(made, "secret_hex")));
    EXPECT_EQ(rig_.ff({"webhook", "pause", id.substr(id.size() - 8)}).out, id + " paused\n");
    EXPECT_TRUE(contains(rig_.ff({"webhook", "show", id}).out, "paused"));
    EXPECT_EQ(rig_.ff({"webhook", "resume", id}).out, id + " goes on\n");
    const Ran mixed = rig_.ff({"webhook", "rm", id, "x"});
    EXPECT_EQ(mixed.code, 2);
    EXPECT_TRUE(contains(mixed.err, "x names no webhook")) << mixed.err;
    EXPECT_TRUE(mixed.err.ends_with("; nothing was changed\n")) << mixed.err;
    EXPECT_EQ(rig_.ff({"webhook", "rm", id}).out, id + " deleted\n");
    const Ran gone = rig_.ff({"webhook", "rm", id});
    EXPECT_EQ(gone.code, 3);
    EXPECT_TRUE(contains(gone.err, "there is no webhook " + id)) << gone.err;
    const Ran bad = rig_.ff({"webhook", "create", "ftp://example.com", "completion"});
    EXPECT_EQ(bad.code, 2);
    EXPECT_TRUE(contains(bad.err, "expected http:// or https://")) << bad.err;
}

TEST_P(Events, AWebhookOnAStoreSaysWhoDeliversIt) {
    const Ran made = rig_.ff({"webhook", "create", "https://example.com/hook", "completion"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(contains(made.out, "while a server runs on this store"), GetParam() != Way::server)
        << made.out;
}

}  // namespace
}  // namespace ff::test
