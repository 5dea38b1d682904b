// Engines of several machines on one PostgreSQL database, whose clocks are hours apart: the
// server's decides, so none ends the lease of another early, or waits for it too long.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/conformance.h"
#include "engine/embedded_engine.h"
#include "store/location.h"
#include "store/postgres_clock.h"
#include "store/postgres_store.h"
#include "support/eventually.h"
#include "support/postgres.h"

namespace ff::engine::test {

namespace {

constexpr DurationMs an_hour = 3'600'000;
/// More than an answer of the server takes on a busy machine, and less than any lease here.
constexpr DurationMs answer_ms_max = 2'000;

/// The clock of a machine that was set wrongly.
class WrongClock final : public Clock {
  public:
    explicit WrongClock(DurationMs ahead) : ahead_(ahead) {}
    TimestampMs now() override { return right_.now() + ahead_; }
    DurationMs sleep_hint(TimestampMs due) override { return right_.sleep_hint(due - ahead_); }
    std::uint64_t subscribe(std::function<void()>) override { return 0; }
    void unsubscribe(std::uint64_t) override {}

  private:
    SystemClock right_;
    const DurationMs ahead_;
};

class Machines : public testing::Test {
  protected:
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        store_ =
            support::postgres_store(testing::UnitTest::GetInstance()->current_test_info()->name());
    }
    /// An engine on a machine whose clock is ahead of the right time.
    std::shared_ptr<EmbeddedEngine> open(DurationMs ahead, EngineOptions options = {}) {
        options.warn = [this](std::string_view text) { warnings_.add(text); };
        auto clock = std::make_shared<ServerClock>(std::make_shared<WrongClock>(ahead));
        auto store = store::PostgresStore::open(*store::parse_location(store_), options, clock);
        EXPECT_TRUE(store) << store.error().message();
        if (!store) {
            return nullptr;
        }
        auto engine = EmbeddedEngine::start(std::move(*store), options);
        EXPECT_TRUE(engine) << engine.error().message();
        return engine ? *engine : nullptr;
    }
    TimestampMs server_time() const {
        auto connection = store::PgConnection::open(store_);
        EXPECT_TRUE(connection) << connection.error().message();
        SystemClock clock;
        const auto sample = store::ask_time(**connection, clock);
        EXPECT_TRUE(sample) << sample.error().message();
        return sample ? sample->server : 0;
    }
    static Handle claimed(Engine& engine, DurationMs lease_ttl_ms) {
        EXPECT_TRUE(engine.run(job()));
        const auto got =
            engine.run(with(claim_by("w1"), [&](auto& op) { op.lease_ttl_ms = lease_ttl_ms; }));
        EXPECT_TRUE(got && got->tasks.size() == 1) << code_of(got);
        return got && got->tasks.size() == 1 ? got->tasks[0].handle : Handle{};
    }
    static OwnershipState owner(Engine& engine, const ExecutionId& id) {
        const auto info = engine.run(ReadExecutionInfo{id});
        EXPECT_TRUE(info) << code_of(info);
        return info ? info->state.ownership : OwnershipState::unowned;
    }

    std::string store_;
    Warnings warnings_;
};

TEST_F(Machines, AgreeOnTheTime) {
    const auto fast = open(5 * an_hour);
    const auto slow = open(-3 * an_hour);
    ASSERT_TRUE(fast && slow);
    EXPECT_EQ(warnings_.all().size(), 2U) << "one of each";
    for (Engine* engine : {static_cast<Engine*>(fast.get()), static_cast<Engine*>(slow.get())}) {
        const TimestampMs before = server_time();
        const auto made = engine->run(job());
        ASSERT_TRUE(made) << code_of(made);
        const TimestampMs after = server_time();
        const auto info = slow->run(ReadExecutionInfo{made->execution_id});
        ASSERT_TRUE(info) << code_of(info);
        EXPECT_GE(info->created_at, before - answer_ms_max);
        EXPECT_LE(info->created_at, after + answer_ms_max);
    }
}

TEST_F(Machines, DoNotEndEachOthersLeasesEarly) {
    const auto slow = open(-3 * an_hour);
    const auto fast = open(5 * an_hour);
    ASSERT_TRUE(fast && slow);
    for (const auto& [holder, other] : {std::pair(slow, fast), std::pair(fast, slow)}) {
        const Handle lease = claimed(*holder, an_hour);
        const auto marked = other->run(MarkLeaseExpiredIfDue{lease.execution_id});
        ASSERT_TRUE(marked) << code_of(marked);
        EXPECT_EQ(marked->outcome, "not_yet_expired");
        const auto renewed = other->run(Renew{lease, an_hour});
        EXPECT_TRUE(renewed) << code_of(renewed);
        EXPECT_EQ(owner(*other, lease.execution_id), OwnershipState::leased);
        const auto done = holder->run(Complete{lease, "x", {}, Source::lease_holder});
        EXPECT_TRUE(done) << code_of(done);
    }
}

TEST_F(Machines, EndALeaseInTime) {
    // Only the slow one looks after time: by its own clock it would wait for hours.
    const auto slow = open(-3 * an_hour);
    EngineOptions idle;
    idle.background = false;
    const auto fast = open(5 * an_hour, idle);
    ASSERT_TRUE(fast && slow);
    const Handle kept = claimed(*fast, an_hour);
    const Handle lost = claimed(*fast, 1'000);
    EXPECT_TRUE(support::eventually([&] {
        return owner(*slow, lost.execution_id) == OwnershipState::lease_expired_reclaimable;
    }));
    EXPECT_EQ(owner(*slow, kept.execution_id), OwnershipState::leased);
}

TEST_F(Machines, AClockOfTheEmbeddersIsUsedAsItIs) {
    const auto right = open(0);
    EngineOptions options;
    options.clock = std::make_shared<WrongClock>(5 * an_hour);
    options.background = false;
    const auto wrong = open(0, options);
    ASSERT_TRUE(right && wrong);
    const Handle lease = claimed(*right, an_hour);
    const auto not_yet = right->run(MarkLeaseExpiredIfDue{lease.execution_id});
    ASSERT_TRUE(not_yet) << code_of(not_yet);
    EXPECT_EQ(not_yet->outcome, "not_yet_expired");
    const auto marked = wrong->run(MarkLeaseExpiredIfDue{lease.execution_id});
    ASSERT_TRUE(marked) << code_of(marked);
    EXPECT_EQ(marked->outcome, "marked");
}

}  // namespace

}  // namespace ff::engine::test
