// Layers: what they see, what they let through, and that nothing goes around them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ff/client.h>
#include <ff/layer.h>
#include <ff/testing.h>

#include "support/eventually.h"
#include "support/faulty_engine.h"

namespace ff::client::test {

using ff::support::always;
using ff::support::eventually;
using ff::support::FaultyEngine;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

using Names = std::vector<std::string>;

class LayerTest : public ::testing::Test {
  protected:
    static Error unreachable() { return {ErrorCode::store_io, "unreachable", {}}; }
    static std::string code(const auto& result) {
        return result ? "ok" : std::string(to_string(result.error().code));
    }
    std::string read(Engine& through) { return code(through.run(ListLanes{})); }

    std::shared_ptr<ff::testing::Engine> base = std::make_shared<ff::testing::Engine>();
    std::shared_ptr<FaultyEngine> faulty = std::make_shared<FaultyEngine>(base);
};

/// Writes down what it sees.
class Diary final : public Layer {
  public:
    Diary(std::string name, std::vector<std::string>& pages)
        : name_(std::move(name)), pages_(pages) {}
    expected<void> before(LayerCall& call, const Request&) override {
        call.note = ++numbers_;
        pages_.push_back(name_ + " before " + std::string(call.op));
        return refuse ? expected<void>(ff::fail(ErrorCode::invalid_input, "not today"))
                      : expected<void>();
    }
    void after(const LayerCall& call, nanoseconds elapsed, const Error* error) override {
        EXPECT_GT(call.note, 0U);
        pages_.push_back(name_ + " after " + std::string(call.op) +
                         (error == nullptr ? " ok" : " " + std::string(to_string(error->code))) +
                         (elapsed == nanoseconds::zero() ? " at once" : ""));
    }
    bool refuse = false;

  private:
    std::string name_;
    std::vector<std::string>& pages_;
    std::uint64_t numbers_ = 0;
};

TEST_F(LayerTest, TheLastOneIsTheOutermost) {
    Names pages;
    const std::shared_ptr<Engine> engine = std::shared_ptr<Engine>(base) |
                                           std::make_shared<Diary>("inner", pages) |
                                           std::make_shared<Diary>("outer", pages);
    EXPECT_EQ(read(*engine), "ok");
    EXPECT_EQ(pages, (Names{"outer before list_lanes", "inner before list_lanes",
                            "inner after list_lanes ok", "outer after list_lanes ok"}));
}

TEST_F(LayerTest, ARefusedCallReachesAfterButNotTheEngine) {
    Names pages;
    const auto outer = std::make_shared<Diary>("outer", pages);
    outer->refuse = true;
    const std::shared_ptr<Engine> engine =
        std::shared_ptr<Engine>(faulty) | std::make_shared<Diary>("inner", pages) | outer;
    EXPECT_EQ(read(*engine), "invalid_input");
    EXPECT_EQ(pages,
              (Names{"outer before list_lanes", "outer after list_lanes invalid_input at once"}));
    EXPECT_EQ(faulty->count("list_lanes"), 0U);
}

TEST_F(LayerTest, NoWayInGoesAround) {
    Names pages;
    const std::shared_ptr<Engine> engine =
        std::shared_ptr<Engine>(base) | std::make_shared<Diary>("x", pages);
    const auto seen = [&](std::string_view op) {
        return std::ranges::count(pages, "x before " + std::string(op)) == 1 &&
               std::ranges::count_if(pages, [&](const std::string& page) {
                   return page.starts_with("x after " + std::string(op));
               }) == 1;
    };
    (void)engine->run(ListLanes{});
    EXPECT_TRUE(seen("list_lanes"));
    (void)engine->run_any(ListWorkers{});
    EXPECT_TRUE(seen("list_workers"));
    std::promise<void> answered;
    engine->async(ListScanners{}, [&](const auto&) { answered.set_value(); });
    answered.get_future().wait();
    EXPECT_TRUE(seen("list_scanners"));
    (void)engine->run_many({ReadCapabilities{}, ReadStoreReport{}});
    EXPECT_TRUE(seen("capabilities"));
    EXPECT_TRUE(seen("read_store_report"));
    (void)engine->run_all(std::vector<SearchExecutions>{SearchExecutions{}});
    EXPECT_TRUE(seen("search_executions"));
    EXPECT_EQ(engine->stats().waiting_claims, 0U);
}

TEST_F(LayerTest, OfManyOperationsEachIsJudgedByItself) {
    const auto engine =
        std::shared_ptr<Engine>(faulty) |
        layer::hooks({.before = [](const LayerCall& call, const Request&) -> expected<void> {
            if (call.op == "list_workers") {
                return ff::fail(ErrorCode::unauthorized, "not you");
            }
            return {};
        }});
    const auto answers = engine->run_many({ListLanes{}, ListWorkers{}, ReadCapabilities{}});
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_TRUE(answers[0] && ff::holds_alternative<LanePage>(*answers[0]));
    EXPECT_EQ(code(answers[1]), "unauthorized");
    EXPECT_TRUE(answers[2] && ff::holds_alternative<Capabilities>(*answers[2]));
    EXPECT_EQ(faulty->calls().back(), (Names{"list_lanes", "capabilities"})) << "still one call";
    EXPECT_EQ(engine->run_many({ListWorkers{}}).size(), 1U);
    EXPECT_TRUE(engine->run_many({}).empty());
}

TEST_F(LayerTest, AWholeClientWorksThroughLayers) {
    std::atomic<int> calls{0};
    const auto engine =
        std::shared_ptr<Engine>(base) | layer::metrics() |
        layer::tracing(Severity::debug, [](Severity, std::string_view) {}) |
        layer::rate_limit(layer::single_bucket(1e6)) | layer::circuit_breaker({.threshold = 5}) |
        layer::hooks({.after = [&](const LayerCall&, nanoseconds, const Error*) { ++calls; }});
    Client client(engine);
    const auto id = client.submit(Submit("k")).id();
    EXPECT_EQ(client.cancel(id, "x").public_state, PublicState::cancelled);
    EXPECT_EQ(calls, 3) << "capabilities, create, cancel";
}

// ------------------------------------------------------------------------- tracing and metrics

TEST_F(LayerTest, TracingWritesOneLineForEachOperation) {
    std::vector<std::pair<Severity, std::string>> lines;
    const auto engine = std::shared_ptr<Engine>(faulty) |
                        layer::tracing(Severity::warn, [&](Severity severity, std::string_view l) {
                            lines.emplace_back(severity, l);
                        });
    read(*engine);
    faulty->refuse(always<ListLanes>(unreachable()));
    read(*engine);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].first, Severity::warn);
    EXPECT_TRUE(lines[0].second.starts_with("ff.engine op=list_lanes elapsed_us="));
    EXPECT_TRUE(lines[0].second.ends_with(" ok=true"));
    EXPECT_TRUE(lines[1].second.ends_with(" ok=false error=store_io"));
}

TEST_F(LayerTest, MetricsGetNameTimeAndCategory) {
    struct Sink final : layer::MetricsSink {
        void record(std::string_view op, nanoseconds elapsed,
                    std::optional<ErrorKind> failure) override {
            records.push_back(std::string(op) + " " +
                              (failure ? std::string(to_string(*failure)) : "ok"));
            positive = positive && elapsed > nanoseconds::zero();
        }
        std::vector<std::string> records;
        bool positive = true;
    };
    const auto sink = std::make_shared<Sink>();
    const auto engine = std::shared_ptr<Engine>(faulty) | layer::metrics(sink);
    read(*engine);
    faulty->refuse(always<ListLanes>(unreachable()));
    read(*engine);
    EXPECT_EQ(sink->records, (Names{"list_lanes ok", "list_lanes transport"}));
    EXPECT_TRUE(sink->positive);
}

// --------------------------------------------------------------------------------- rate_limit

TEST_F(LayerTest, ABucketHoldsAsMuchAsItGetsInASecond) {
    layer::RateLimit limit = layer::single_bucket(4);
    limit.clock = base->clock();
    const auto engine = std::shared_ptr<Engine>(base) | layer::rate_limit(limit);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(read(*engine), "ok");
    }
    const auto refused = engine->run(ListLanes{});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
    EXPECT_TRUE(Exception(refused.error()).retryable());
    EXPECT_EQ(Exception(refused.error()).category(), "resource_exhausted");
    EXPECT_EQ(refused.error().detail,
              "the rate limit for all calls is reached; try again in 250 ms");
    base->clock()->advance(249);
    EXPECT_EQ(read(*engine), "resource_exhausted");
    base->clock()->advance(1);
    EXPECT_EQ(read(*engine), "ok");
    EXPECT_EQ(read(*engine), "resource_exhausted");
    base->clock()->advance(60'000);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(read(*engine), "ok");
    }
    EXPECT_EQ(read(*engine), "resource_exhausted") << "it does not hold more than that";
}

TEST_F(LayerTest, LessThanOneASecondIsOne) {
    layer::RateLimit limit = layer::single_bucket(0.01);
    limit.clock = base->clock();
    const auto engine = std::shared_ptr<Engine>(base) | layer::rate_limit(limit);
    EXPECT_EQ(read(*engine), "ok");
    EXPECT_EQ(read(*engine), "resource_exhausted");
    base->clock()->advance(1'000);
    EXPECT_EQ(read(*engine), "ok");
}

TEST_F(LayerTest, EachKeyHasItsBucketAndOthersPass) {
    layer::RateLimit limit;
    limit.clock = base->clock();
    limit.buckets = {{"list_lanes", 1}};
    const auto engine = std::shared_ptr<Engine>(base) | layer::rate_limit(limit);
    EXPECT_EQ(read(*engine), "ok");
    EXPECT_EQ(read(*engine), "resource_exhausted");
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(engine->run(ListWorkers{}));
    }
}

TEST_F(LayerTest, ADefaultBucketIsSharedByTheRest) {
    layer::RateLimit limit;
    limit.clock = base->clock();
    limit.key = [](const Request& request) -> std::string {
        const auto* create = ff::get_if<CreateExecution>(&request);
        return create != nullptr ? create->lane_id : "other";
    };
    limit.buckets = {{"vip", 100}};
    limit.default_bucket = 1;
    const auto engine = std::shared_ptr<Engine>(base) | layer::rate_limit(limit);
    const auto create = [&](const std::string& lane) {
        CreateExecution op;
        op.ns = "acme";
        op.lane_id = lane;
        op.execution_kind = "k";
        return code(engine->run(op));
    };
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(create("vip"), "ok");
    }
    EXPECT_EQ(create("a"), "ok");
    EXPECT_EQ(create("b"), "resource_exhausted");
    EXPECT_EQ(read(*engine), "resource_exhausted");
}

TEST_F(LayerTest, ALimitMayMakeCallersWait) {
    layer::RateLimit limit = layer::single_bucket(2);
    limit.clock = base->clock();
    limit.wait = true;
    const auto engine = std::shared_ptr<Engine>(base) | layer::rate_limit(limit);
    std::atomic<int> answered{0};
    std::thread caller([&] {
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(read(*engine), "ok");
            ++answered;
        }
    });
    ASSERT_TRUE(eventually([&] { return answered == 2; }));
    base->clock()->advance(499);
    EXPECT_EQ(answered, 2);
    base->clock()->advance(1);
    ASSERT_TRUE(eventually([&] { return answered == 3; }));
    base->clock()->advance(500);
    caller.join();
    EXPECT_EQ(answered, 4);
}

// ---------------------------------------------------------------------------- circuit_breaker

class BreakerTest : public LayerTest {
  protected:
    void SetUp() override {
        engine = std::shared_ptr<Engine>(faulty) |
                 layer::circuit_breaker({.threshold = 3, .clock = base->clock()});
    }
    void fail_reads() { faulty->refuse(always<ListLanes>(unreachable())); }
    void open() {
        fail_reads();
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(read(*engine), "store_io");
        }
        EXPECT_EQ(read(*engine), "circuit_open");
    }

    std::shared_ptr<Engine> engine;
};

TEST_F(BreakerTest, OpensAfterTransportErrorsInARow) {
    open();
    const std::size_t asked = faulty->count("list_lanes");
    const auto refused = engine->run(ListLanes{});
    EXPECT_EQ(refused.error().code, ErrorCode::circuit_open);
    EXPECT_TRUE(refused.error().detail.starts_with("circuit open"));
    EXPECT_EQ(Exception(refused.error()).category(), "transport");
    EXPECT_EQ(faulty->count("list_lanes"), asked);
}

TEST_F(BreakerTest, ASuccessStartsTheCountAnew) {
    fail_reads();
    read(*engine);
    read(*engine);
    EXPECT_TRUE(engine->run(ListWorkers{}));
    read(*engine);
    EXPECT_EQ(read(*engine), "store_io");
    EXPECT_EQ(read(*engine), "store_io") << "three in a row only now";
    EXPECT_EQ(read(*engine), "circuit_open");
}

TEST_F(BreakerTest, TypedErrorsNeitherCountNorReset) {
    const auto typed = [&] { return code(engine->run(ReadExecutionInfo{})); };
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(typed(), "execution_not_found");
    }
    fail_reads();
    EXPECT_EQ(read(*engine), "store_io");
    EXPECT_EQ(typed(), "execution_not_found");
    EXPECT_EQ(read(*engine), "store_io");
    EXPECT_EQ(typed(), "execution_not_found");
    EXPECT_EQ(read(*engine), "store_io");
    EXPECT_EQ(read(*engine), "circuit_open");
}

TEST_F(BreakerTest, AfterAWhileOneCallIsLetThroughOnTrial) {
    open();
    base->clock()->advance(29'999);
    EXPECT_EQ(read(*engine), "circuit_open");
    base->clock()->advance(1);
    EXPECT_EQ(read(*engine), "store_io") << "the trial, which fails";
    EXPECT_EQ(read(*engine), "circuit_open");
    base->clock()->advance(30'000);
    faulty->refuse({});
    EXPECT_EQ(read(*engine), "ok");
    EXPECT_EQ(read(*engine), "ok") << "closed";
    open();  // and it counts from nothing again
}

TEST_F(BreakerTest, ATypedErrorOnTrialClosesToo) {
    open();
    base->clock()->advance(30'000);
    faulty->refuse({});
    EXPECT_EQ(code(engine->run(ReadExecutionInfo{})), "execution_not_found");
    EXPECT_EQ(read(*engine), "ok");
}

TEST_F(BreakerTest, OthersAreRefusedWhileOneIsOnTrial) {
    open();
    base->clock()->advance(30'000);
    faulty->refuse({});
    faulty->hold("list_lanes");
    std::thread trial([&] { EXPECT_EQ(read(*engine), "ok"); });
    ASSERT_TRUE(eventually([&] { return faulty->holding() == 1; }));
    EXPECT_EQ(code(engine->run(ListWorkers{})), "circuit_open");
    faulty->let_go();
    trial.join();
    EXPECT_EQ(code(engine->run(ListWorkers{})), "ok");
}

CreateExecution breaker_job() {
    CreateExecution create;
    create.ns = "acme";
    create.lane_id = "l";
    create.execution_kind = "k";
    return create;
}

Handle claimed_job(Engine& engine) {
    (void)value_or_throw(engine.run(breaker_job()));
    Claim op;
    op.lanes = {"l"};
    op.worker_id = "w";
    op.worker_instance_id = "w-1";
    return value_or_throw(engine.run(op)).tasks.at(0).handle;
}

TEST_F(BreakerTest, SuspendAndFramesAlwaysPass) {
    const Handle handle = claimed_job(*base);
    open();
    AppendFrames frames;
    frames.lease = handle;
    frames.frames.resize(1);
    frames.frames[0].frame_type = "log";
    EXPECT_EQ(code(engine->run(frames)), "ok") << "finishing waits for them";
    Suspend suspend;
    suspend.lease = handle;
    suspend.resume_condition = any_signal("go");
    suspend.waitpoints = {WaitpointBinding::fresh()};
    EXPECT_EQ(code(engine->run(suspend)), "ok");
    EXPECT_EQ(read(*engine), "circuit_open") << "and neither closes it";
}

TEST_F(BreakerTest, WhatKeepsOrEndsALeaseAlwaysPasses) {
    const CreateExecution create = breaker_job();
    const auto claimed = [&] { return claimed_job(*base); };
    const std::vector<Handle> handles{claimed(), claimed(), claimed(),
                                      claimed(), claimed(), claimed()};
    open();
    EXPECT_EQ(code(engine->run(Renew{handles[0]})), "ok");
    EXPECT_EQ(code(engine->run(Complete{handles[0]})), "ok");
    EXPECT_EQ(code(engine->run(Fail{handles[1], "r", "c"})), "ok");
    EXPECT_EQ(code(engine->run(CancelExecution{handles[2], "r", "lease_holder"})), "ok");
    EXPECT_EQ(code(engine->run(Delay{handles[3], 0})), "ok");
    EXPECT_EQ(code(engine->run(WaitChildren{handles[4]})), "ok");
    EXPECT_EQ(code(engine->run(Release{handles[5]})), "ok");
    EXPECT_EQ(code(engine->run(HeartbeatWorker{"acme", "w-1"})), "ok");
    EXPECT_EQ(read(*engine), "circuit_open") << "and none of them closes it";
    EXPECT_EQ(code(engine->run(create)), "circuit_open");
}

}  // namespace ff::client::test
