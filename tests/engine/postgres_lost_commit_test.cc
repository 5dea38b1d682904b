// A COMMIT whose answer is lost: the connection is cut at it, before the server sees it or after it
// has done it. Whoever asked is told what happened, and it has happened once.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "engine/conformance.h"
#include "store/location.h"
#include "store/postgres_store.h"
#include "support/postgres.h"
#include "support/postgres_proxy.h"
#include "support/private_postgres.h"

namespace ff::engine::test {

namespace {

using support::PostgresProxy;
using support::PrivatePostgres;
using Cut = PostgresProxy::Cut;

/// The value of a parameter of an address.
std::string parameter(const std::string& address, const std::string& name) {
    const std::size_t at = address.find(name + "=");
    const std::size_t begin = at + name.size() + 1;
    return at == std::string::npos ? "" : address.substr(begin, address.find('&', begin) - begin);
}

/// An engine that does nothing by itself: every COMMIT is a caller's.
std::shared_ptr<Engine> open_quiet(const std::string& address) {
    EngineOptions options;
    options.background = false;
    auto engine = Engine::open(address, options);
    EXPECT_TRUE(engine) << engine.error().message();
    return engine ? *engine : nullptr;
}

/// Everything that has happened to an execution, as the events tell it.
std::string story_of(Engine& engine, const ExecutionId& id) {
    const auto entries = engine.run(ReadLeaseHistory{id, 100});
    std::string story;
    for (const HistoryEntry& entry : entries ? *entries : std::vector<HistoryEntry>()) {
        story += entry.event + std::to_string(entry.lease_epoch) + ' ';
    }
    return entries ? story : code_of(entries);
}

std::size_t executions_at(const std::string& address) {
    std::size_t count = 0;
    auto store = store::PostgresStore::open(*store::parse_location(address), {});
    EXPECT_TRUE(store && (*store)->read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto all, reader.newest(std::numeric_limits<core::Eid>::max(), 100'000));
        count = all.size();
        return {};
    }));
    return count;
}

class LostCommit : public testing::Test {
  protected:
    void SetUp() override {
        const std::string server = support::postgres_address();
        if (server.empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        direct_ =
            support::postgres_store(testing::UnitTest::GetInstance()->current_test_info()->name());
        proxy_ = std::make_unique<PostgresProxy>(parameter(server, "host") + "/.s.PGSQL." +
                                                 parameter(server, "port"));
        engine_ = open_quiet(PrivatePostgres::address_at(proxy_->folder()) +
                             "&dbname=ff_test&options=" + parameter(direct_, "options"));
        ASSERT_TRUE(engine_);
    }

    /// Runs an operation whose COMMIT is cut; it must succeed all the same.
    template <class Op>
    typename Op::Result cut(Cut how, Op op) {
        const int cuts = proxy_->cuts();
        proxy_->cut_next(how);
        auto result = engine_->run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << (result ? "" : result.error().message());
        EXPECT_EQ(proxy_->cuts(), cuts + 1) << Op::name << " did not commit";
        return result ? std::move(*result) : typename Op::Result{};
    }
    std::size_t executions() { return executions_at(direct_); }

    std::string direct_;  ///< the store, past the proxy
    std::unique_ptr<PostgresProxy> proxy_;
    std::shared_ptr<Engine> engine_;
};

TEST_F(LostCommit, EverythingHasHappenedOnce) {
    std::size_t made = 0;
    for (const Cut how : {Cut::before, Cut::after, Cut::at_once, Cut::before, Cut::after}) {
        SCOPED_TRACE("cut " + std::to_string(static_cast<int>(how)));
        const auto created = cut(
            how, with(job(), [&](auto& op) { op.idempotency_key = "key" + std::to_string(made); }));
        EXPECT_TRUE(created.created);
        EXPECT_EQ(executions(), ++made);
        const auto claimed = cut(how, claim_by("w1"));
        ASSERT_EQ(claimed.tasks.size(), 1U);
        const Handle& handle = claimed.tasks[0].handle;
        EXPECT_EQ(handle.execution_id, created.execution_id);
        EXPECT_EQ(handle.lease_epoch, 1U);
        cut(how, Complete{handle, "result", {}, Source::lease_holder});
        EXPECT_EQ(story_of(*engine_, created.execution_id), "acquired1 released1 ");
    }
}

TEST_F(LostCommit, ManyTimesAtRandomWithManyOperationsInOneTransaction) {
    constexpr int rounds = 25;
    std::mt19937 random(11);
    std::set<ExecutionId> ids;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        const auto how = static_cast<Cut>(1 + random() % 4);
        SCOPED_TRACE("round " + std::to_string(round) + ", cut " +
                     std::to_string(static_cast<int>(how)));
        proxy_->cut_next(how);
        for (const auto& result : engine_->run_all(std::vector<CreateExecution>(3, job()))) {
            ASSERT_TRUE(result) << result.error().message();
            EXPECT_TRUE(ids.insert(result->execution_id).second);
        }
        const auto tasks = cut(how, with(claim_by("w1"), [](auto& op) { op.max_tasks = 3; })).tasks;
        std::vector<Complete> ends;
        for (const ClaimedTask& task : tasks) {
            ends.push_back({task.handle, "result", {}, Source::lease_holder});
        }
        proxy_->cut_next(how);
        for (const auto& result : engine_->run_all(ends)) {
            ASSERT_TRUE(result) << result.error().message();
        }
    }
    EXPECT_EQ(executions(), ids.size());
    EXPECT_EQ(ids.size(), 3U * rounds);
    for (const ExecutionId& id : ids) {
        EXPECT_EQ(story_of(*engine_, id), "acquired1 released1 ");
    }
}

/// Others may have changed every row that a commit wrote before anybody asks what became of it.
TEST_F(LostCommit, IsNotInDoubtWhenOthersHaveChangedTheRowSince) {
    std::atomic<bool> stop = false;
    std::thread others([&] {
        auto connection = store::PgConnection::open(direct_);
        ASSERT_TRUE(connection) << connection.error().message();
        while (!stop) {
            const auto done = (*connection)->execute("UPDATE ff_exec_core SET priority = priority");
            ASSERT_TRUE(done) << done.error().message();
        }
    });
    for (int i = 0; i < 5; ++i) {
        const auto created = cut(Cut::after, job());
        EXPECT_EQ(code_of(engine_->run(ReadExecutionInfo{created.execution_id})), "ok");
    }
    stop = true;
    others.join();
    EXPECT_EQ(executions(), 5U);
}

TEST_F(LostCommit, WhatWasReadIsNotReadTwice) {
    for (const std::string lane : {"default", "other", "third"}) {
        ASSERT_TRUE(engine_->run(job(lane)));
    }
    const int cuts = proxy_->cuts();
    proxy_->cut_next(Cut::before);
    const auto lanes = engine_->run(ListLanes{});
    ASSERT_TRUE(lanes) << code_of(lanes);
    EXPECT_EQ(lanes->lanes.size(), 3U);
    EXPECT_EQ(proxy_->cuts(), cuts + 1);
    EXPECT_EQ(code_of(engine_->run(ListLanes{})), "ok") << "the next has a connection again";
}

// A server that crashed may give the number of a transaction that it had not written down to
// another, and that one's fate is not ours.
TEST(LostCommitWithServer, ANumberThatACrashedServerGaveAgainProvesNothing) {
    if (support::postgres_address().empty()) {
        GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
    }
    PrivatePostgres server;
    PostgresProxy proxy(server.socket());
    const auto ours = open_quiet(PrivatePostgres::address_at(proxy.folder()));
    const auto others = open_quiet(server.address());
    ASSERT_TRUE(ours && others);
    ASSERT_TRUE(ours->run(job()));
    std::size_t made_by_others = 0;
    std::size_t made_by_us = 1;
    for (const Cut how : {Cut::unheard, Cut::after}) {
        SCOPED_TRACE(how == Cut::after ? "committed" : "not committed");
        const int cuts = proxy.cuts();
        proxy.cut_next(how);
        std::promise<expected<CreateResult>> promise;
        auto answer = promise.get_future();
        ours->async(job(), [&](auto result) { promise.set_value(std::move(result)); });
        proxy.hold(true);
        while (proxy.cuts() == cuts) {
            std::this_thread::yield();
        }
        server.crash();
        server.start();
        for (int i = 0; i < 20; ++i) {
            const auto made = others->run(job());
            ASSERT_TRUE(made) << made.error().message();
            made_by_others += 1;
        }
        proxy.hold(false);
        const auto created = answer.get();
        ASSERT_TRUE(created) << created.error().message();
        EXPECT_EQ(code_of(others->run(ReadExecutionInfo{created->execution_id})), "ok")
            << "acknowledged and not there";
        EXPECT_EQ(executions_at(server.address()), made_by_others + ++made_by_us);
    }
}

}  // namespace

}  // namespace ff::engine::test
