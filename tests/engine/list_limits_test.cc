// How much a list gives at most, however much is asked for.
#include <gtest/gtest.h>

#include "engine/conformance.h"

namespace ff::engine::test {

namespace {

class ListLimits : public testing::Test {
  protected:
    void SetUp() override {
        EngineOptions options;
        options.clock = std::make_shared<ManualClock>(t0);
        auto engine = Engine::open("memory:", options);
        ASSERT_TRUE(engine) << engine.error().message();
        engine_ = std::move(*engine);
    }
    template <class Op>
    typename Op::Result ok(Op op) {
        auto result = engine_->run(std::move(op));
        EXPECT_TRUE(result) << Op::name << ": " << code_of(result);
        return result ? std::move(*result) : typename Op::Result{};
    }

    std::shared_ptr<Engine> engine_;
};

TEST_F(ListLimits, TenThousandWorkersAreAPage) {
    for (int i = 0; i < 10'001;) {
        std::vector<RegisterWorker> some;
        for (; i < 10'001 && some.size() < 1'000; ++i) {
            some.push_back(registration("worker-" + std::to_string(i)));
        }
        for (const auto& done : engine_->run_all(std::move(some))) {
            ASSERT_EQ(code_of(done), "ok");
        }
    }
    ListWorkers op;
    op.limit = 20'000;
    const WorkerPage page = ok(op);
    EXPECT_EQ(page.workers.size(), 10'000U);
    op.after = page.next_cursor;
    ASSERT_TRUE(op.after);
    EXPECT_EQ(ok(op).workers.size(), 1U);
}

TEST_F(ListLimits, TenThousandLeasesAreAPage) {
    constexpr std::size_t all = 10'001;
    for (std::size_t made = 0; made < all; made += 137) {  // 73 times 137
        for (const auto& one : engine_->run_all(std::vector<CreateExecution>(137, job()))) {
            ASSERT_EQ(code_of(one), "ok");
        }
    }
    const auto take = with(claim_by("w1"), [](auto& op) { op.max_tasks = 1'000; });
    while (!ok(take).tasks.empty()) {
    }
    ListExpiredLeases op;
    op.as_of = t0 + 1'000'000;
    op.limit = 20'000;
    const ExpiredLeasePage page = ok(op);
    EXPECT_EQ(page.leases.size(), 10'000U);
    op.after = page.next_cursor;
    ASSERT_TRUE(op.after);
    EXPECT_EQ(ok(op).leases.size(), all - 10'000);
}

TEST_F(ListLimits, AThousandEntriesOfAHistoryAreShown) {
    const ExecutionId id = ok(job()).execution_id;
    for (int i = 0; i < 501; ++i) {
        const auto tasks = ok(claim_by("w1")).tasks;
        ASSERT_EQ(tasks.size(), 1U);
        ok(Release{tasks[0].handle});
    }
    const auto entries = ok(ReadLeaseHistory{id, 5'000});
    EXPECT_EQ(entries.size(), 1'000U);
    EXPECT_EQ(entries.back().lease_epoch, 501U) << "the newest";
}

}  // namespace

}  // namespace ff::engine::test
