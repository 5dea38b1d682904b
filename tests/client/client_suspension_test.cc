// Client: signals, answers, and the keys that prove them.
#include <gtest/gtest.h>

#include <string>

#include <ff/client.h>
#include <ff/testing.h>

#include "support/faulty_engine.h"

namespace ff::client::test {

using ff::support::FaultyEngine;

class ClientSuspensionTest : public ::testing::Test {
  protected:
    struct Waiting {
        ExecutionId id;
        WaitpointTicket at;
    };
    Waiting suspend(ResumeCondition condition = any_signal()) {
        const ExecutionId id = client.submit(Submit("pay", std::string("in"))).id();
        Claim claim;
        claim.lanes = {"default"};
        claim.worker_id = "w";
        claim.worker_instance_id = "w-1";
        const auto tasks = value_or_throw(base->run(claim)).tasks;
        Suspend op;
        op.lease = tasks.at(0).handle;
        op.resume_condition = std::move(condition);
        return {id, value_or_throw(base->run(op)).details.waitpoint};
    }
    static DeliverSignal signal_to(const Waiting& waits, std::string name = "go") {
        DeliverSignal op;
        op.execution_id = waits.id;
        op.waitpoint_id = waits.at.waitpoint_id;
        op.waitpoint_token = waits.at.waitpoint_token;
        op.signal_name = std::move(name);
        return op;
    }
    PublicState state(const ExecutionId& id) { return client.inspect(id)->info.public_state; }

    std::shared_ptr<ff::testing::Engine> base = std::make_shared<ff::testing::Engine>();
    std::shared_ptr<FaultyEngine> engine = std::make_shared<FaultyEngine>(base);
    Client client{engine, {.ns = "acme", .creator = "tests", .clock = base->clock()}};
};

TEST_F(ClientSuspensionTest, ASignalWakesWhoWaits) {
    const Waiting waits = suspend();
    EXPECT_EQ(state(waits.id), PublicState::suspended);
    const SignalResult result = client.signal(signal_to(waits));
    EXPECT_EQ(result.effect, SignalEffect::resume_condition_satisfied);
    EXPECT_EQ(state(waits.id), PublicState::waiting);
    EXPECT_EQ(client.try_signal(signal_to(waits)).error().code, ErrorCode::waitpoint_closed);
}

TEST_F(ClientSuspensionTest, OperatorsAnswerWithoutAToken) {
    const Waiting waits = suspend(any_signal("approved").from_distinct_sources(2));
    const WaitpointId at = waits.at.waitpoint_id;
    EXPECT_EQ(client.approve(waits.id, at, {.actor = "ada", .note = "fine"}).effect,
              SignalEffect::appended_to_waitpoint);
    EXPECT_TRUE(client.approve(waits.id, at, {.actor = "ada"}).duplicate);
    EXPECT_EQ(client.reject(waits.id, at, {.actor = "eve"}).effect,
              SignalEffect::signal_ignored_matcher_failed);
    EXPECT_EQ(client.approve(waits.id, at, {.actor = "bob"}).effect,
              SignalEffect::resume_condition_satisfied);
    const auto ledger = client.signals(waits.id, WithPayload::yes).all();
    ASSERT_EQ(ledger.size(), 3U);
    EXPECT_EQ(ledger[0].source_identity, "ada");
    EXPECT_EQ(ledger[0].payload, "fine");
    EXPECT_EQ(ledger[1].signal_name, "rejected");
    EXPECT_FALSE(client.signals(waits.id).all()[0].payload);
    EXPECT_EQ(client.try_approve(ExecutionId{}, at).error().code, ErrorCode::execution_not_found);
}

TEST_F(ClientSuspensionTest, OperatorsEndAWait) {
    const Waiting waits = suspend();
    EXPECT_EQ(client.resume(waits.id, "ada", 1'000).public_state, PublicState::delayed);
    const auto episodes = client.suspensions(waits.id);
    ASSERT_EQ(episodes.size(), 1U);
    EXPECT_EQ(episodes[0].resume_trigger, ResumeTrigger::operator_);
    EXPECT_EQ(episodes[0].resumed_by, "ada");
    EXPECT_EQ(client.try_resume(waits.id).error().code, ErrorCode::execution_not_suspended);
}

TEST_F(ClientSuspensionTest, ListsGoOnPageByPage) {
    std::vector<Waiting> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(suspend());
    }
    ListSuspended filter;
    filter.limit = 2;
    EXPECT_EQ(client.suspended(filter).all().size(), 3U);
    filter.ns = "other";
    EXPECT_TRUE(client.suspended(filter).all().empty());
    const auto open = client.pending_waitpoints(all[0].id).all();
    ASSERT_EQ(open.size(), 1U);
    EXPECT_EQ(open[0].waitpoint_id, all[0].at.waitpoint_id);
    EXPECT_EQ(client.find_waitpoint(all[1].at.waitpoint_id)->execution_id, all[1].id);
    EXPECT_FALSE(client.find_waitpoint(WaitpointId{new_uuid()}));
}

TEST_F(ClientSuspensionTest, KeysAreReplaced) {
    const Waiting waits = suspend();
    EXPECT_EQ(client.waitpoint_token(waits.id, waits.at.waitpoint_id), waits.at.waitpoint_token);
    EXPECT_EQ(client.waitpoint_keys().current_kid, "k1");
    const RotateKeyResult rotated =
        client.rotate_waitpoint_key({"k2", std::string(64, 'a'), 60'000});
    EXPECT_TRUE(rotated.rotated);
    EXPECT_EQ(rotated.waitpoints_outliving_grace, 1U);
    EXPECT_EQ(client.waitpoint_keys().verifying.at(0).kid, "k1");
    EXPECT_FALSE(client.seed_waitpoint_key({"k2", std::string(64, 'a')}).seeded);
    EXPECT_EQ(client.signal(signal_to(waits)).effect, SignalEffect::resume_condition_satisfied);
}

// ------------------------------------------------------------------------------------ the bridge

TEST_F(ClientSuspensionTest, ABridgeDeliversWhatIsProved) {
    const Waiting waits = suspend();
    const auto delivered = client.verify_and_deliver(signal_to(waits));
    ASSERT_TRUE(delivered);
    EXPECT_EQ(delivered->effect, SignalEffect::resume_condition_satisfied);
}

TEST_F(ClientSuspensionTest, ABridgeTellsItsThreeErrorsApart) {
    using Kind = BridgeError::Kind;
    const Waiting waits = suspend();
    DeliverSignal wrong = signal_to(waits);
    wrong.waitpoint_token.back() = wrong.waitpoint_token.back() == '0' ? '1' : '0';
    EXPECT_EQ(client.verify_and_deliver(wrong).error().kind, Kind::token_mismatch);
    wrong.waitpoint_token.clear();
    EXPECT_EQ(client.verify_and_deliver(wrong).error().kind, Kind::token_mismatch);
    DeliverSignal unknown = signal_to(waits);
    unknown.waitpoint_id = {new_uuid()};
    EXPECT_EQ(client.verify_and_deliver(unknown).error().kind, Kind::unknown_waitpoint);
    DeliverSignal nameless = signal_to(waits, "");
    const auto refused = client.verify_and_deliver(nameless);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::backend);
    EXPECT_EQ(refused.error().cause.code, ErrorCode::invalid_input);
    EXPECT_EQ(state(waits.id), PublicState::suspended) << "none of them did anything";
}

}  // namespace ff::client::test
