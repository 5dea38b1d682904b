// What waits for answers, and answering, on a file and through a server.
#include <gtest/gtest.h>

#include <ff/suspension.h>

#include "cli/rig.h"

namespace ff::test {
namespace {

class Waitpoints : public OnEveryWay {
  protected:
    /// An execution of that lane that waits; the text of its id.
    std::string waiting(const std::string& lane, ResumeCondition condition,
                        std::vector<WaitpointBinding> bindings = {WaitpointBinding{}}) {
        const ExecutionId id = rig_.create(lane, "deploy");
        rig_.with_engine([&](Engine& engine) {
            Claim claim;
            claim.lanes = {lane};
            claim.worker_id = "w";
            claim.worker_instance_id = "w-1";
            const auto claimed = engine.run(claim);
            ASSERT_TRUE(claimed && claimed->tasks.size() == 1);
            Suspend op;
            op.lease = claimed->tasks[0].handle;
            op.resume_condition = std::move(condition);
            op.waitpoints = std::move(bindings);
            op.reason_code = SuspensionReason::waiting_for_approval;
            const auto result = engine.run(op);
            ASSERT_TRUE(result) << result.error().message();
            token_ = result->details.waitpoint.waitpoint_token;
        });
        return id.to_string();
    }
    std::string state(const std::string& id) {
        return member(rig_.json({"get", id}), "public_state");
    }

    std::string token_;
};

INSTANTIATE_TEST_SUITE_P(Ways, Waitpoints, every_way(), way_name);

TEST_P(Waitpoints, TheInboxSaysWhatWaitsForWhom) {
    EXPECT_EQ(rig_.ff({"waitpoints"}).out, "nothing waits for a signal\n");
    const std::string id = waiting("a", any_signal("approved").on("review"));
    const Ran ran = rig_.ff({"waitpoints"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const std::string& part : {id, std::string("deploy"), std::string("waiting_for_approval"),
                                    std::string("review"), std::string("approved")}) {
        EXPECT_TRUE(contains(ran.out, part)) << part << "\n" << ran.out;
    }
    EXPECT_FALSE(contains(ran.out, token_)) << "tokens are not shown";
    const js::Array items = rig_.items({"waitpoints"});
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(member(items[0], "execution_id"), id);
    EXPECT_EQ(member(items[0], "waitpoint_key"), "review");
    EXPECT_EQ(rig_.ff({"waitpoints", "--lane", "b"}).out, "nothing waits for a signal\n");
    const Ran one = rig_.ff({"waitpoints", id});
    EXPECT_TRUE(contains(one.out, "review")) << one.out;
    EXPECT_TRUE(contains(rig_.ff({"why", id}).out, "waiting_for_approval"));
}

TEST_P(Waitpoints, TwoPeopleApprove) {
    const std::string id = waiting("a", any_signal("approved").from_distinct_sources(2));
    EXPECT_EQ(rig_.ff({"approve", id, "--as", "ann"}).out,
              id + " approved: noted, it waits for more\n");
    EXPECT_EQ(rig_.ff({"approve", id, "--as", "ann"}).out, id + " had this approved already\n");
    EXPECT_EQ(state(id), "suspended");
    EXPECT_EQ(rig_.ff({"approve", id, "--as", "bob", "--note", "fine"}).out,
              id + " approved: it goes on\n");
    EXPECT_EQ(state(id), "waiting");
    const Ran signals = rig_.ff({"signals", id});
    EXPECT_TRUE(contains(signals.out, "operator:ann")) << signals.out;
    EXPECT_TRUE(contains(signals.out, "fine")) << signals.out;
    const Ran late = rig_.ff({"approve", id, "--as", "carl"});
    EXPECT_EQ(late.code, 4);
    EXPECT_TRUE(contains(late.err, "waits for no signal")) << late.err;
}

TEST_P(Waitpoints, ASignalCarriesItsPayload) {
    const std::string id = waiting("a", any_signal("paid"));
    const Ran noise = rig_.ff({"signal", id, "noise", "--token", token_});
    EXPECT_EQ(noise.code, 4) << "it changed nothing";
    EXPECT_EQ(noise.out.find(id + " noise: no_op, it waits on"), 0U) << noise.out;
    EXPECT_EQ(rig_.ff({"approve", id, "--as", "ann"}).code, 4);
    EXPECT_EQ(rig_.ff({"approve", id, "--as", "ann"}).code, 4) << "nor did the same once more";
    const Ran wrong = rig_.ff({"signal", id, "paid", "--token", "k1:00"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "invalid_token")) << wrong.err;
    const Ran asked = rig_.ff({"signal", id, "noise"});
    if (GetParam() == Way::server) {
        EXPECT_EQ(asked.code, 2) << "a server that asks for no token gives none out";
        EXPECT_TRUE(contains(asked.err, "credentials are not given out")) << asked.err;
    } else {
        EXPECT_EQ(asked.code, 4) << asked.err;
    }
    EXPECT_EQ(rig_.ff({"signal", id, "paid", "--token", token_, "--payload", R"({"amount":12})",
                       "--key", "1"})
                  .out,
              id + " paid: it goes on\n");
    EXPECT_TRUE(contains(rig_.ff({"signals", id}).out, R"({"amount":12})"));
}

TEST_P(Waitpoints, ASignalWithAKeyMayBeRepeatedWhenTheWaitIsOver) {
    const std::string id = waiting("a", any_signal("paid"));
    const auto send = [&](const std::string& name, const std::string& key) {
        return rig_.ff({"signal", id, name, "--token", token_, "--key", key});
    };
    EXPECT_EQ(send("paid", "inv-1").out, id + " paid: it goes on\n");
    const Ran again = send("paid", "inv-1");
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, id + " had this paid already\n");
    EXPECT_EQ(send("paid", "inv-2").code, 4) << "another signal comes too late";
    EXPECT_EQ(send("refunded", "inv-1").code, 4) << "and so does one of another name";
}

TEST_P(Waitpoints, OneOfSeveralIsChosen) {
    const std::string id = waiting(
        "a", ResumeCondition::all_of({any_signal().on("legal"), any_signal().on("finance")}),
        {WaitpointBinding::fresh("legal"), WaitpointBinding::fresh("finance")});
    const Ran unclear = rig_.ff({"approve", id});
    EXPECT_EQ(unclear.code, 2);
    EXPECT_TRUE(contains(unclear.err, "--waitpoint")) << unclear.err;
    EXPECT_TRUE(contains(unclear.err, "finance")) << unclear.err;
    EXPECT_EQ(rig_.ff({"approve", id, "--waitpoint", "nobody"}).code, 2);
    EXPECT_EQ(rig_.ff({"approve", id, "--waitpoint", "legal"}).code, 0);
    EXPECT_EQ(rig_.ff({"reject", id, "--waitpoint", "finance"}).out,
              id + " rejected: it goes on\n");
}

TEST_P(Waitpoints, AnOperatorResumes) {
    const std::string id = waiting("a", ResumeCondition::operator_only());
    EXPECT_EQ(rig_.ff({"resume", id}).out, id + " resumed: it is waiting\n");
    EXPECT_EQ(rig_.ff({"resume", id}).code, 4);
}

TEST_P(Waitpoints, KeysAreRotated) {
    waiting("a", any_signal());
    EXPECT_TRUE(contains(rig_.ff({"admin", "keys"}).out, "k1"));
    const Ran ran = rig_.ff({"admin", "rotate-secret", "--grace", "1h"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(contains(ran.out, "k2 signs now; k1 verifies for")) << ran.out;
    EXPECT_TRUE(contains(ran.out, "1 open waitpoint")) << ran.out;
    const js::Value keys = rig_.json({"admin", "keys"});
    EXPECT_EQ(member(keys, "current_kid"), "k2");
    EXPECT_EQ(rig_.ff({"admin", "rotate-secret", "--kid", "a:b"}).code, 2);
    const Ran used = rig_.ff({"admin", "rotate-secret", "--kid", "k1"});
    EXPECT_EQ(used.code, 4);
    EXPECT_TRUE(contains(used.err, "k1 is the name of a key with another secret")) << used.err;
}

}  // namespace
}  // namespace ff::test
