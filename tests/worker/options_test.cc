// What a worker refuses to start with, and what it fills in by itself.
#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "worker/rig.h"

namespace ff::worker::test {

class Options : public WorkerTest {
  protected:
    /// The message of a start with these options.
    std::string refusal(const std::function<void(WorkerOptions&)>& change) {
        WorkerOptions given = options();
        change(given);
        Worker worker(engine, given);
        worker.on("k", [] {});
        const auto started = worker.start();
        return started ? "started" : started.error().message();
    }
};

TEST_F(Options, NamesAreChecked) {
    EXPECT_EQ(refusal([](auto& o) { o.worker_id = ""; }),
              "invalid_config: worker_id: must not be empty");
    EXPECT_EQ(refusal([](auto& o) { o.worker_id = std::string(257, 'x'); }),
              "invalid_config: worker_id: exceeds 256 bytes (got 257)");
    EXPECT_EQ(refusal([](auto& o) { o.worker_id = "a b"; }),
              "invalid_config: worker_id: must not contain whitespace or control characters");
    EXPECT_EQ(refusal([](auto& o) { o.worker_instance_id = "a\nb"; }),
              "invalid_config: worker_instance_id: must not contain whitespace or control "
              "characters");
    EXPECT_EQ(refusal([](auto& o) { o.ns = ""; }), "invalid_config: namespace: must not be empty");
}

TEST_F(Options, LanesAreRequiredAndChecked) {
    EXPECT_EQ(refusal([](auto& o) { o.lanes = {}; }),
              "invalid_config: at least one lane is required");
    EXPECT_EQ(refusal([](auto& o) { o.lanes = std::vector<std::string>(65, "l"); }),
              "invalid_config: at most 64 lanes are allowed (got 65)");
    EXPECT_TRUE(refusal([](auto& o) { o.lanes = {""}; }).starts_with("invalid_config: lane:"));
}

TEST_F(Options, CapabilitiesAreChecked) {
    EXPECT_EQ(refusal([](auto& o) { o.capabilities = {"a,b"}; }),
              "invalid_config: capabilities: worker:comma_in_token");
    EXPECT_EQ(refusal([](auto& o) { o.capabilities = {""}; }),
              "invalid_config: capabilities: worker:empty_token");
    EXPECT_EQ(refusal([](auto& o) { o.capabilities = {"a b"}; }),
              "invalid_config: capabilities: worker:control_or_whitespace");
}

TEST_F(Options, NumbersHaveRanges) {
    EXPECT_EQ(refusal([](auto& o) { o.lease_ttl = 999ms; }),
              "invalid_config: lease_ttl must be between 1000 and 3600000 ms (got 999)");
    EXPECT_EQ(refusal([](auto& o) { o.max_concurrent_tasks = 0; }),
              "invalid_config: max_concurrent_tasks must be at least 1");
    EXPECT_EQ(refusal([](auto& o) { o.claim_poll_interval = 0ms; }),
              "invalid_config: claim_poll_interval must be between 1 and 3600000 ms (got 0)");
    EXPECT_EQ(refusal([](auto& o) { o.poll_block = 31s; }),
              "invalid_config: poll_block must be between 0 and 30000 ms (got 31000)");
    EXPECT_EQ(refusal([](auto& o) { o.idle_backoff.most = 10ms; }),
              "invalid_config: idle_backoff.most must be between 50 and 3600000 ms (got 10)");
    EXPECT_EQ(refusal([](auto& o) { o.error_backoff.first = 0ms; }),
              "invalid_config: error_backoff.first must be between 1 and 3600000 ms (got 0)");
    EXPECT_EQ(refusal([](auto& o) { o.liveness_ttl = 1ms; }),
              "invalid_config: liveness_ttl must be between 1000 and 3600000 ms (got 1)");
    EXPECT_EQ(refusal([](auto& o) { o.drain_timeout = -1ms; }),
              "invalid_config: drain_timeout must be between 0 and 86400000 ms (got -1)");
    EXPECT_EQ(refusal([](auto& o) {
                  o.max_concurrent_tasks = 4;
                  o.threads = 2;
              }),
              "invalid_config: threads must be at least max_concurrent_tasks: a task never waits "
              "claimed");
}

TEST_F(Options, ABadWorkerIsNotRegistered) {
    refusal([](auto& o) { o.lease_ttl = 0ms; });
    EXPECT_EQ(engine->count("register_worker"), 0U);
}

TEST_F(Options, HandlersAreRequiredAndUnique) {
    Worker none(engine, options());
    EXPECT_EQ(none.start().error().message(),
              "invalid_config: no handler: call on(kind, handler) before start()");
    Worker twice(engine, options());
    twice.on("k", [] {}).on("k", [] {});
    EXPECT_EQ(twice.start().error().message(), "invalid_config: kind k has two handlers");
    Worker nameless(engine, options());
    nameless.on("", [] {});
    EXPECT_EQ(nameless.start().error().message(), "invalid_config: kind: must not be empty");
}

TEST_F(Options, SetupEndsWithTheStart) {
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    EXPECT_THROW(worker.on("l", [] {}), Exception);
    EXPECT_THROW(worker.provide(std::make_shared<int>(1)), Exception);
    EXPECT_EQ(worker.start().error().message(), "invalid_config: a worker is started once");
}

TEST_F(Options, AnInstanceIdIsMadeOfWorkerHostAndProcess) {
    WorkerOptions given = options();
    given.worker_instance_id.clear();
    const Worker one(engine, given);
    const Worker two(engine, given);
    EXPECT_TRUE(one.worker_instance_id().starts_with("w-")) << one.worker_instance_id();
    EXPECT_TRUE(one.worker_instance_id().contains("-" + std::to_string(getpid()) + "-"));
    EXPECT_NE(one.worker_instance_id(), two.worker_instance_id());
    given.worker_id = std::string(256, 'x');
    EXPECT_LE(Worker(engine, given).worker_instance_id().size(), 256U);
}

TEST_F(Options, TheStartIsLoggedWithAllCapabilitiesAndLaterLinesWithADigest) {
    WorkerOptions given = options();
    given.capabilities = {"gpu", "cuda"};
    Worker worker(engine, given);
    worker.on("k", [] {});
    engine->refuse(always<Claim>({ErrorCode::store_io, "disk", {}}));
    start(worker);
    EXPECT_TRUE(lines->contain("capabilities cuda,gpu (" + log_digest("cuda,gpu") + ")"));
    ASSERT_TRUE(eventually([&] { return lines->contain("claiming (capabilities "); }));
    EXPECT_TRUE(lines->contain("claiming (capabilities " + log_digest("cuda,gpu") + ") failed"));
}

}  // namespace ff::worker::test
