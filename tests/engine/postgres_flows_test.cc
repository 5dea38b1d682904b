// Two engines on one PostgreSQL database work on the same flows. Who ends a member has it locked
// and wants the flow; who has the flow wants other members, to cancel or to release them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "engine/conformance.h"
#include "support/postgres.h"

namespace ff::engine::test {

namespace {

class FlowEngines : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        // A database of its own: the server counts deadlocks by database.
        database_ = "ff_" + std::to_string(std::random_device()());
        support::run_on_postgres("CREATE DATABASE " + database_);
        store_ = support::postgres_address();
        store_.replace(store_.find("/ff_test"), 8, "/" + database_);
        for (const char* name : {"a", "b"}) {
            // Another address, or it would be the same engine.
            auto engine = Engine::open(store_ + "&application_name=" + name);
            ASSERT_TRUE(engine) << engine.error().message();
            engines_.push_back(*engine);
        }
    }

    /// One that waits for so many others.
    static SubmitFlow fan_in(std::size_t width, GroupPolicy policy) {
        SubmitFlow op;
        op.flow_kind = "wide";
        op.ns = "acme";
        for (std::size_t i = 0; i < width; ++i) {
            op.nodes.push_back({"n" + std::to_string(i), job(), {}});
            op.edges.push_back({op.nodes.back().name, "join", {}, {}, {}});
        }
        op.nodes.push_back({"join", job(), policy});
        return op;
    }
    FlowId submit(SubmitFlow op) {
        auto made = engines_[0]->run(std::move(op));
        EXPECT_TRUE(made) << code_of(made);
        return made ? made->flow_id : FlowId{};
    }
    bool is_finished(const FlowId& flow) {
        const auto seen = engines_[0]->run(DescribeFlow{flow});
        return seen && *seen && (*seen)->finished_at;
    }

    /// Workers of both engines complete what they get until the flows have ended.
    void work_until_finished(const std::vector<FlowId>& flows) {
        std::atomic<bool> finished = false;
        std::vector<std::thread> workers;
        for (std::size_t i = 0; i < 6; ++i) {
            workers.emplace_back([&, i] {
                Engine& engine = *engines_[i % engines_.size()];
                while (!finished) {
                    complete_some(engine, "w" + std::to_string(i));
                }
            });
        }
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!std::ranges::all_of(flows, [&](const FlowId& id) { return is_finished(id); }) &&
               std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        finished = true;
        for (std::thread& worker : workers) {
            worker.join();
        }
        for (const FlowId& id : flows) {
            EXPECT_TRUE(is_finished(id));
        }
    }
    static void complete_some(Engine& engine, const std::string& worker) {
        const auto claimed = engine.run(with(claim_by(worker), [](auto& op) {
            op.max_tasks = 4;
            op.max_wait_ms = 50;
        }));
        ASSERT_TRUE(claimed) << code_of(claimed);
        std::vector<Complete> ends;
        for (const ClaimedTask& task : claimed->tasks) {
            ends.push_back({task.handle, "done", {}, Source::lease_holder});
        }
        for (const auto& done : engine.run_all(ends)) {
            // It may have been cancelled, because others were enough.
            EXPECT_TRUE(done || done.error().code == ErrorCode::execution_not_active)
                << code_of(done);
        }
    }

    /// That the server has found and broken so far.
    std::uint64_t deadlocks() const {
        auto connection = store::PgConnection::open(store_);
        EXPECT_TRUE(connection) << connection.error().message();
        const auto count =
            (*connection)
                ->scalar(
                    "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
        EXPECT_TRUE(count) << count.error().message();
        return std::stoull(count.value_or("0"));
    }

    std::string database_;
    std::string store_;
    std::vector<std::shared_ptr<Engine>> engines_;
};

TEST_F(FlowEngines, MembersOfOneWideFlowEndOnBothAtOnce) {
    work_until_finished({submit(fan_in(400, GroupPolicy::all_of()))});
}

TEST_F(FlowEngines, WhoCancelsSiblingsDoesNotStandStillWithWhoEndsThem) {
    std::vector<FlowId> flows;
    for (int i = 0; i < 40; ++i) {
        flows.push_back(submit(fan_in(30, GroupPolicy::quorum(5, OnSatisfied::cancel_remaining))));
    }
    const std::uint64_t before = deadlocks();
    work_until_finished(flows);
    std::uint64_t gave_way = 0;
    for (auto& engine : engines_) {
        gave_way += engine->stats().retries_busy;
        engine->stop();
        engine.reset();  // the server counts at the latest when a connection ends
    }
    std::printf("[ gave way ] %llu times\n", static_cast<unsigned long long>(gave_way));
    EXPECT_LE(deadlocks() - before, 1U) << "each costs the second after which the server looks";
}

}  // namespace

}  // namespace ff::engine::test
