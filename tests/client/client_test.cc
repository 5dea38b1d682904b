// Client: submitting, looking, waiting, operating, listing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <ff/client.h>
#include <ff/testing.h>

#include "support/faulty_engine.h"

namespace ff::client::test {

using ff::support::always;
using ff::support::FaultyEngine;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Job {
    std::string url;
};
FF_JSON(Job, url)

class ClientTest : public ::testing::Test {
  protected:
    /// Claims the next execution on a lane.
    ClaimedTask claim(const std::string& lane = "default", DurationMs lease_ttl_ms = 30'000) {
        Claim op;
        op.lanes = {lane};
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lease_ttl_ms = lease_ttl_ms;
        auto tasks = value_or_throw(base->run(op)).tasks;
        EXPECT_EQ(tasks.size(), 1U);
        return tasks.empty() ? ClaimedTask{} : tasks[0];
    }
    void complete(const ClaimedTask& task, const std::string& result,
                  std::optional<std::string> encoding = "json") {
        (void)value_or_throw(base->run(Complete{task.handle, result, std::move(encoding)}));
    }
    ExecutionSnapshot snapshot(const ExecutionId& id) { return *client.inspect(id); }

    std::shared_ptr<ff::testing::Engine> base = std::make_shared<ff::testing::Engine>();
    std::shared_ptr<FaultyEngine> engine = std::make_shared<FaultyEngine>(base);
    Client client{engine, {.ns = "acme", .creator = "tests"}};
};

// -------------------------------------------------------------------------------------- submit

TEST_F(ClientTest, ASubmitSaysEverythingOnce) {
    Backoff backoff;
    backoff.type = Backoff::Type::fixed;
    const auto submitted = client.submit(Submit("fetch", Job{"https://x"})
                                             .lane("web")
                                             .tag("tenant", "acme")
                                             .idempotency_key("k1")
                                             .retries(3)
                                             .backoff(backoff)
                                             .priority(7)
                                             .delay(seconds(5))
                                             .deadline(seconds(60))
                                             .attempt_timeout(seconds(9))
                                             .reclaims(2)
                                             .capabilities({"net", "gpu"}));
    EXPECT_TRUE(submitted.created());
    EXPECT_EQ(submitted.state(), PublicState::delayed);
    const auto found = snapshot(submitted.id());
    EXPECT_EQ(found.info.ns, "acme");
    EXPECT_EQ(found.info.lane_id, "web");
    EXPECT_EQ(found.info.execution_kind, "fetch");
    EXPECT_EQ(found.info.priority, 7);
    EXPECT_EQ(found.tags, (Tags{{"tenant", "acme"}}));
    EXPECT_EQ(found.idempotency_key, "k1");
    EXPECT_EQ(found.delay_until, base->now() + 5'000);
    EXPECT_EQ(found.execution_deadline_at, base->now() + 60'000);
    EXPECT_EQ(found.creator_identity, "tests");
    EXPECT_EQ(found.required_capabilities, (std::vector<std::string>{"gpu", "net"}));
    const auto policy = Policy::parse(*found.policy);
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->retry_policy->max_retries, 3U);
    EXPECT_EQ(policy->retry_policy->backoff.type, Backoff::Type::fixed);
    EXPECT_EQ(policy->timeout_policy->attempt_timeout_ms, 9'000);
    EXPECT_EQ(policy->max_reclaim_count, 2U);
    const auto context = client.read_context(submitted.id());
    ASSERT_TRUE(context);
    EXPECT_EQ(context->input_payload, R"({"url":"https://x"})");
    EXPECT_EQ(context->payload_encoding, "json");
}

TEST_F(ClientTest, DefaultsAreModest) {
    const auto found = snapshot(client.submit(Submit("k")).id());
    EXPECT_EQ(found.info.lane_id, "default");
    EXPECT_EQ(found.info.priority, 0);
    EXPECT_FALSE(found.policy);
    EXPECT_EQ(client.read_context(found.info.execution_id)->input_payload, "");
    EXPECT_EQ(Client(base).ns(), "default");
}

TEST_F(ClientTest, BytesGoUntouched) {
    const std::string bytes("\0\xFF\x01", 3);
    const auto id = client.submit(Submit("k", bytes).encoding("raw").creator("me")).id();
    EXPECT_EQ(client.read_context(id)->input_payload, bytes);
    EXPECT_EQ(client.read_context(id)->payload_encoding, "raw");
    EXPECT_EQ(snapshot(id).creator_identity, "me");
}

TEST_F(ClientTest, TheSameKeyGivesTheSameExecution) {
    const auto first = client.submit(Submit("k").idempotency_key("once"));
    const auto second = client.submit(Submit("k").idempotency_key("once"));
    EXPECT_TRUE(first.created());
    EXPECT_FALSE(second.created());
    EXPECT_EQ(first.id(), second.id());
}

TEST_F(ClientTest, IdsAreMintedInTheLanesPartition) {
    EngineOptions options;
    options.flow_partitions = 256;
    const auto many = std::make_shared<ff::testing::Engine>(options);
    Client other(many);
    EXPECT_EQ(other.submit(Submit("k")).id().partition, 86) << "of lane default among 256";
    const Uuid uuid = new_uuid();
    const auto stable = other.submit(Submit("k").lane("gpu").deterministic(uuid));
    EXPECT_EQ(stable.id(), (ExecutionId{144, uuid}));
    EXPECT_FALSE(other.submit(Submit("k").lane("gpu").deterministic(uuid)).created());
}

TEST_F(ClientTest, PartitionsAreAskedForOnce) {
    const Client copy = client;
    client.submit(Submit("k"));
    Client(copy).submit(Submit("k"));
    EXPECT_EQ(engine->count("capabilities"), 1U);
}

TEST_F(ClientTest, ADuplicateOfOurOwnTryIsACreation) {
    // The answer to the first try was lost on the way, and the remote engine asked again.
    class Repeating final : public Engine {
      public:
        explicit Repeating(std::shared_ptr<Engine> inner) : inner_(std::move(inner)) {}
        void call(Request request, DoneFn done) override {
            if (ff::holds_alternative<CreateExecution>(request)) {
                (void)inner_->run_any(request);
            }
            inner_->call(std::move(request), std::move(done));
        }
        void call_many(std::vector<Request> requests,
                       std::move_only_function<void(std::vector<Response>)> done) override {
            inner_->call_many(std::move(requests), std::move(done));
        }
        [[nodiscard]] EngineStats stats() const override { return inner_->stats(); }
        void stop() override { inner_->stop(); }

      private:
        std::shared_ptr<Engine> inner_;
    };
    Client repeating(std::make_shared<Repeating>(base), {.ns = "acme"});
    EXPECT_TRUE(repeating.submit(Submit("k")).created());
    EXPECT_FALSE(repeating.submit(Submit("k").deterministic(new_uuid())).created())
        << "an id that somebody else may use too is not ours alone";
}

TEST_F(ClientTest, FaultsOfASubmitAreReportedWhenItIsMade) {
    EXPECT_EQ(client.try_submit(Submit("k", std::vector<double>{1, INFINITY})).error().detail,
              "payload: [1]: must be a finite number; JSON has no other");
    EXPECT_EQ(client.try_submit(Submit("k").policy("[]")).error().code,
              ErrorCode::invalid_policy_json);
    EXPECT_EQ(client.try_submit(Submit("k").policy(R"({"retry_polcy":{}})")).error().detail,
              "policy: retry_polcy:unknown");
    EXPECT_EQ(client.try_submit(Submit("k").priority(-1)).error().detail,
              "priority: -1 is not within 0 and 9000");
    EXPECT_EQ(client.try_submit(Submit("k").priority(9'001)).error().detail,
              "priority: 9001 is not within 0 and 9000");
    for (const Submit& bad :
         {Submit("k").lane(""), Submit("k").idempotency_key(""), Submit("k").delay(-seconds(1)),
          Submit("k").deadline(seconds(0)), Submit("k").attempt_timeout(seconds(0))}) {
        EXPECT_EQ(client.try_submit(bad).error().code, ErrorCode::invalid_input);
    }
    EXPECT_TRUE(client.try_submit(Submit("k").priority(9'000).delay(seconds(0))));
    EXPECT_EQ(client.try_submit(Submit("")).error().code, ErrorCode::invalid_input);
    EXPECT_THROW(client.submit(Submit("k").lane(std::string(65, 'x'))), Exception);
}

TEST_F(ClientTest, ManyAreSubmittedInOneCall) {
    const auto answers =
        client.try_submit_all({Submit("a"), Submit("b").policy("nonsense"), Submit("c")});
    ASSERT_EQ(answers.size(), 3U);
    ASSERT_TRUE(answers[0]);
    EXPECT_FALSE(answers[1]);
    ASSERT_TRUE(answers[2]);
    EXPECT_EQ(client.read_context(answers[2]->id())->execution_kind, "c");
    EXPECT_EQ(engine->calls().back().size(), 1U);
    const auto calls = engine->calls();
    EXPECT_TRUE(std::ranges::any_of(calls, [](const auto& names) {
        return names == std::vector<std::string>{"create_execution", "create_execution"};
    }));
}

// --------------------------------------------------------------------------------------- reads

TEST_F(ClientTest, WhatIsUnknownIsEmptyNotAnError) {
    const ExecutionId nobody{0, new_uuid()};
    EXPECT_FALSE(client.inspect(nobody));
    EXPECT_FALSE(client.result(nobody));
    EXPECT_FALSE(client.read_context(nobody));
}

TEST_F(ClientTest, ReadsThatFailAreErrors) {
    engine->refuse(always<ReadExecutionContext>({ErrorCode::store_io, "disk", {}}));
    EXPECT_EQ(client.try_read_context({0, new_uuid()}).error().code, ErrorCode::store_io);
}

TEST_F(ClientTest, AResultIsThereOnceItIsCompleted) {
    const auto id = client.submit(Submit("k")).id();
    EXPECT_FALSE(client.result(id));
    complete(claim(), "[1,2]");
    EXPECT_EQ(client.result(id), "[1,2]");
}

// ---------------------------------------------------------------------------------------- wait

TEST_F(ClientTest, WaitGivesTheStateAndTheResult) {
    const auto id = client.submit(Submit("k")).id();
    std::thread worker([&] { complete(claim(), R"({"url":"found"})"); });
    const Finished done = client.wait(id, seconds(30));
    worker.join();
    EXPECT_TRUE(done.completed());
    EXPECT_EQ(done.as<Job>().url, "found");
    EXPECT_EQ(done.as<std::string>(), R"({"url":"found"})");
    EXPECT_EQ(done.try_as<int>().error().detail.substr(0, 24), "must be a whole number f");
}

TEST_F(ClientTest, WaitTellsWhyItFailed) {
    const auto id = client.submit(Submit("k")).id();
    (void)value_or_throw(base->run(Fail{claim().handle, "no luck", "weather"}));
    const Finished done = client.wait(id, seconds(30));
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.reason, "no luck");
    EXPECT_EQ(done.category, "weather");
    const auto result = done.try_as<Job>();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::terminal);
    EXPECT_EQ(result.error().detail,
              "the execution ended as failed (weather: no luck) and has no result");
}

TEST_F(ClientTest, WaitTellsOfACancellation) {
    const auto id = client.submit(Submit("k")).id();
    client.cancel(id, "changed my mind");
    const Finished done = client.wait(id, seconds(30));
    EXPECT_EQ(done.state, PublicState::cancelled);
    EXPECT_EQ(done.reason, "changed my mind");
}

TEST_F(ClientTest, WaitHearsOfTheEndInsteadOfAskingAgainAndAgain) {
    const auto id = client.submit(Submit("k")).id();
    const ClaimedTask task = claim();
    std::thread worker([&] {
        // It waits for the event before it ends.
        while (base->stats().event_readers[static_cast<std::size_t>(EventFamily::completion)] ==
               0) {
            std::this_thread::yield();
        }
        complete(task, "7");
    });
    EXPECT_EQ(client.wait(id, seconds(600)).as<int>(), 7);
    worker.join();
    EXPECT_EQ(engine->count("read_execution_state"), 2U) << "before it waited, and when it heard";
    EXPECT_EQ(engine->count("read_events"), 2U) << "where to begin, and the wait itself";
}

TEST_F(ClientTest, AnEndBetweenTheLookAndTheWaitIsHeard) {
    const auto id = client.submit(Submit("k")).id();
    const ClaimedTask task = claim();
    std::atomic<int> looks{0};
    engine->refuse([&](const Request& request) -> std::optional<Error> {
        const auto* read = ff::get_if<ReadEvents>(&request);
        if (read != nullptr && read->block_ms > 0 && looks++ == 0) {
            complete(task, "8");  // after the look, and before the wait has begun
        }
        return std::nullopt;
    });
    EXPECT_EQ(client.wait(id, seconds(600)).as<int>(), 8);
    EXPECT_EQ(looks, 1);
}

TEST_F(ClientTest, WhereEventsAreRefusedWaitAsksAgainAndAgain) {
    const auto id = client.submit(Submit("k")).id();
    const ClaimedTask task = claim();
    engine->refuse([&](const Request& request) -> std::optional<Error> {
        const auto* read = ff::get_if<ReadEvents>(&request);
        if (read != nullptr && read->block_ms > 0) {
            complete(task, "9");
            return Error{ErrorCode::too_many_waiters, "", {}};
        }
        return std::nullopt;
    });
    EXPECT_EQ(client.wait(id, seconds(600)).as<int>(), 9);
    EXPECT_EQ(engine->count("read_events"), 2U) << "it was refused once, and that was enough";
}

TEST_F(ClientTest, WaitEndsWithATimeout) {
    const auto id = client.submit(Submit("k")).id();
    const auto waited = client.try_wait(id, milliseconds(20));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::timeout);
    EXPECT_EQ(waited.error().detail, id.to_string() + " is waiting after 20 ms");
    EXPECT_THROW(client.wait(id, milliseconds(0)), Exception);
}

TEST_F(ClientTest, WaitOutlastsFaultsThatPass) {
    const auto id = client.submit(Submit("k")).id();
    complete(claim(), "1");
    std::atomic<int> faults{0};
    engine->refuse([&](const Request& request) -> std::optional<Error> {
        if (ff::holds_alternative<ReadExecutionState>(request) && faults++ < 3) {
            return Error{ErrorCode::store_io, "disk", {}};
        }
        return std::nullopt;
    });
    EXPECT_EQ(client.wait(id, seconds(30)).as<int>(), 1);
    EXPECT_EQ(faults, 4);
    engine->refuse(always<ReadExecutionState>({ErrorCode::store_io, "disk", {}}));
    EXPECT_EQ(client.try_wait(id, milliseconds(10)).error().code, ErrorCode::store_io);
    engine->refuse(always<ReadExecutionState>({ErrorCode::unauthorized, "", {}}));
    EXPECT_EQ(client.try_wait(id, seconds(600)).error().code, ErrorCode::unauthorized);
}

TEST_F(ClientTest, WaitForNobodyIsAnError) {
    EXPECT_EQ(client.try_wait({0, new_uuid()}, seconds(600)).error().code,
              ErrorCode::execution_not_found);
}

TEST_F(ClientTest, ResultsOfOtherEncodingsAreNotTakenForJson) {
    const auto id = client.submit(Submit("k")).id();
    complete(claim(), "{}", "cbor");
    const Finished done = client.wait(id, seconds(30));
    EXPECT_TRUE(done.try_as<Job>().error().detail.contains("cbor"));
    EXPECT_EQ(done.bytes(), "{}");
    const auto plain = client.submit(Submit("k")).id();
    complete(claim(), "5", std::nullopt);
    EXPECT_EQ(client.wait(plain, seconds(30)).as<int>(), 5);
}

// ----------------------------------------------------------------------------------- operators

TEST_F(ClientTest, OperatorsChangeWhatRuns) {
    const auto id = client.submit(Submit("k")).id();
    client.change_priority(id, 42);
    EXPECT_EQ(snapshot(id).info.priority, 42);
    const ClaimedTask task = claim();
    const RevokeResult revoked = client.revoke_lease(id, "looks stuck");
    EXPECT_TRUE(revoked.revoked);
    EXPECT_EQ(revoked.lease_id, task.handle.lease_id);
    EXPECT_EQ(client.cancel(id, "enough").public_state, PublicState::cancelled);
    EXPECT_EQ(client.replay(id).public_state, PublicState::waiting);
    EXPECT_THROW(client.replay(id), Exception);
    EXPECT_EQ(client.try_replay(id).error().code, ErrorCode::execution_not_terminal);
}

// --------------------------------------------------------------------------------------- lists

TEST_F(ClientTest, ExecutionsAreListedPageByPage) {
    std::set<ExecutionId> made;
    for (int i = 0; i < 25; ++i) {
        made.insert(client.submit(Submit("k").lane("web")).id());
    }
    client.submit(Submit("k").lane("other"));
    Client(base, {.ns = "globex"}).submit(Submit("k").lane("web"));
    std::set<ExecutionId> found;
    for (const ExecutionInfo& one : client.executions({.lane_id = "web", .limit = 4})) {
        found.insert(one.execution_id);
    }
    EXPECT_EQ(found, made);
    EXPECT_GE(engine->count("search_executions"), 7U);
    EXPECT_EQ(client.executions({.ns = "globex"}).all().size(), 1U);
    EXPECT_TRUE(client.executions({.lane_id = "nobody"}).all().empty());
}

TEST_F(ClientTest, AListThatFailsThrowsOrTells) {
    client.submit(Submit("k"));
    engine->refuse(always<SearchExecutions>({ErrorCode::store_io, "disk", {}}));
    auto listing = client.executions();
    EXPECT_EQ(listing.try_next().error().code, ErrorCode::store_io);
    EXPECT_THROW(client.executions().begin(), Exception);
    engine->refuse({});
    EXPECT_TRUE(listing.try_next()->has_value()) << "it goes on where it was";
    EXPECT_FALSE(listing.try_next()->has_value());
}

TEST_F(ClientTest, LanesWorkersAndExpiredLeasesAreListed) {
    client.submit(Submit("k").lane("b"));
    client.submit(Submit("k").lane("a"));
    std::vector<std::string> lanes;
    for (const LaneInfo& lane : client.lanes()) {
        lanes.push_back(lane.lane_id);
    }
    EXPECT_EQ(lanes, (std::vector<std::string>{"a", "b"}));

    for (const char* ns : {"acme", "globex"}) {
        (void)value_or_throw(
            base->run(RegisterWorker{ns, "w", std::string(ns) + "-1", {"a"}, {}, 60'000}));
    }
    const auto workers = client.workers().all();
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].worker_instance_id, "acme-1");

    const ClaimedTask task = claim("a", 1'000);
    EXPECT_TRUE(client.expired_leases().all().empty());
    EXPECT_EQ(client.expired_leases(base->now() + 1'000).all().size(), 1U);
    base->advance(1'000);
    const auto expired = client.expired_leases().all();
    ASSERT_EQ(expired.size(), 1U);
    EXPECT_EQ(expired[0].lease_id, task.handle.lease_id);
}

// --------------------------------------------------------------------------------------- admin

TEST_F(ClientTest, AGrantIsOnlyForTheClientsNamespace) {
    Client(base, {.ns = "globex"}).submit(Submit("k"));
    ClaimForWorker op;
    op.worker_id = "w";
    op.worker_instance_id = "w-1";
    op.lane_id = "default";
    EXPECT_FALSE(client.claim_for_worker(op));
    const auto id = client.submit(Submit("k")).id();
    const auto grant = client.claim_for_worker(op);
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->execution_id, id);
    op.grant_ttl_ms = 0;
    EXPECT_EQ(client.try_claim_for_worker(op).error().detail, "grant_ttl_ms must be in 1..=60000");
}

class HandOff : public ClientTest {
  protected:
    void SetUp() override {
        id = client.submit(Submit("k").reclaims(1)).id();
        claim("default", 1'000);
        base->advance(1'000);
        IssueReclaimGrant op;
        op.execution_id = id;
        op.worker_id = "second";
        op.worker_instance_id = "second-1";
        op.lane_id = "default";
        const auto issued = client.issue_reclaim_grant(op);
        ASSERT_TRUE(issued.grant) << issued.detail;
        grant = *issued.grant;
        args.execution_id = id;
        args.worker_id = "second";
        args.worker_instance_id = "second-1";
        args.lane_id = "default";
    }
    std::string refusal(const Grant& given, const ReclaimExecution& op) {
        const auto result = client.try_claim_reclaimed(given, op);
        EXPECT_EQ(engine->count("reclaim_execution"), 0U) << "refused here, not by the engine";
        return result ? "ok" : result.error().message();
    }

    ExecutionId id;
    Grant grant;
    ReclaimExecution args;
};

TEST_F(HandOff, AReclaimGrantBecomesATask) {
    const ReclaimResult result = client.claim_reclaimed(grant, args);
    EXPECT_EQ(result.status, ReclaimResult::Status::claimed);
    ASSERT_TRUE(result.task);
    EXPECT_EQ(result.task->attempt_type, AttemptType::reclaim);
    EXPECT_EQ(client.claim_reclaimed(grant, args).status, ReclaimResult::Status::grant_not_found);
}

TEST_F(HandOff, WhatDoesNotFitTheGrantIsRefusedLocally) {
    ReclaimExecution other = args;
    other.execution_id = {0, new_uuid()};
    EXPECT_TRUE(refusal(grant, other).contains("the grant is for " + id.to_string()));
    ReclaimExecution elsewhere = args;
    elsewhere.lane_id = "elsewhere";
    EXPECT_EQ(refusal(grant, elsewhere),
              "invalid_input: claim_reclaimed: the grant is for lane default, not for elsewhere");
    Grant kind = grant;
    kind.kind = GrantKind::claim;
    EXPECT_EQ(refusal(kind, args),
              "invalid_input: claim_reclaimed: the grant is of kind claim, not reclaim");
    base->advance(5'000);
    EXPECT_TRUE(refusal(grant, args).starts_with("claim_grant_expired: "));
}

// ------------------------------------------------------------------------------ the test engine

TEST(TestEngine, TimeMovesOnlyWhenToldAndDueWorkIsDone) {
    const auto engine = std::make_shared<ff::testing::Engine>();
    Client client(engine);
    const auto id = client.submit(Submit("k").delay(seconds(60))).id();
    engine->advance(59'999);
    EXPECT_EQ(client.inspect(id)->info.public_state, PublicState::delayed);
    engine->advance(milliseconds(1));
    EXPECT_EQ(client.inspect(id)->info.public_state, PublicState::waiting);
    EXPECT_EQ(engine->now(), ManualClock().now() + 60'000);
}

TEST(TestEngine, PeriodicPassesRunWhenTheyAreDue) {
    const auto engine = std::make_shared<ff::testing::Engine>();
    Client client(engine);
    const auto id = client.submit(Submit("k")).id();
    client.cancel(id, "x");
    engine->advance(std::chrono::hours(23));
    EXPECT_TRUE(client.inspect(id));
    engine->advance(std::chrono::hours(2));
    EXPECT_FALSE(client.inspect(id)) << "finished executions are kept for a day";
}

TEST(TestEngine, NumbersThatCannotBeAreRefusedAndNothingFalls) {
    const auto engine = std::make_shared<ff::testing::Engine>();
    Client client(engine);
    Backoff endless;
    endless.type = Backoff::Type::exponential;
    endless.multiplier = HUGE_VAL;
    const auto refused = client.try_submit(Submit("k").retries(1).backoff(endless));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_policy_json);
    EXPECT_NE(refused.error().message().find("multiplier:not_finite"), std::string::npos);
    const auto never = client.try_submit(Submit("k").delay(std::chrono::milliseconds::max()));
    EXPECT_TRUE(never || never.error().code == ErrorCode::invalid_input) << never.error().message();
}

TEST(TestEngine, BadOptionsAreThrown) {
    EngineOptions options;
    options.pool_size = 0;
    EXPECT_THROW(ff::testing::Engine{options}, Exception);
}

}  // namespace ff::client::test
