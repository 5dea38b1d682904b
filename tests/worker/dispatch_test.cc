// One task through its handler: what a handler may take and return, and how each way ends.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ff/codec.h>

#include "worker/rig.h"

namespace jobs {

struct Fetch {
    std::string url;
    int tries = 0;
};
FF_JSON(Fetch, url, tries)

struct Page {
    int status = 0;
    std::string body;
};
FF_JSON(Page, status, body)

struct Measure {
    double value = 0;
};
FF_JSON(Measure, value)

}  // namespace jobs

namespace ff::worker::test {

using jobs::Fetch;
using jobs::Measure;
using jobs::Page;

struct Http {
    std::string body = "hello";
};
struct Counter {
    std::atomic<int> value{0};
};

class Dispatch : public WorkerTest {
  protected:
    /// Runs one execution of kind `k` through a worker with this handler.
    template <class Payload = void, class F>
    Finished run(F handler, const Submit& request = Submit("k")) {
        Worker worker(engine, options());
        worker.on<Payload>("k", std::move(handler));
        start(worker);
        return wait(submit(request));
    }
};

TEST_F(Dispatch, ATypedHandlerGetsItsPayloadAndItsValueIsTheResult) {
    Worker worker(engine, options());
    worker.provide(std::make_shared<Http>());
    worker.on<Fetch>("fetch", [](Task& task, const Fetch& job, Http& http) -> Page {
        return {200, job.url + " " + http.body + " " + task.kind()};
    });
    start(worker);
    const Finished done = wait(submit(Submit("fetch", Fetch{"https://x", 3})));
    const Page page = done.as<Page>();
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "https://x hello fetch");
    EXPECT_EQ(done.result->encoding, "json");
    EXPECT_TRUE(eventually([&] { return worker.stats().completed == 1; }));
}

TEST_F(Dispatch, ParametersComeInAnyOrderUpToSix) {
    Worker worker(engine, options());
    worker.provide(std::make_shared<Http>()).provide(std::make_shared<Counter>());
    worker.on<Fetch>(
        "k",
        [](const Http& http, const TaskInfo& info, Fetch job, std::shared_ptr<Counter> counter,
           Task& task, const std::shared_ptr<Http>& again) -> std::string {
            counter->value += 1;
            const bool same = &http == again.get() && info.execution_id == task.execution_id();
            return job.url + (same ? " same" : " other") + " " + info.worker_instance_id;
        });
    start(worker);
    EXPECT_EQ(wait(submit(Submit("k", Fetch{"u", 1}))).bytes(), "u same w-1");
}

TEST_F(Dispatch, BytesAreReturnedAsTheyStand) {
    const std::string bytes("\0\xFF raw", 6);
    const Finished done = run([&]() -> std::string { return bytes; });
    EXPECT_EQ(done.bytes(), bytes);
    EXPECT_FALSE(done.result->encoding);
}

TEST_F(Dispatch, AHandlerThatReturnsNothingCompletesWithoutAResult) {
    const Finished done = run([] {});
    EXPECT_TRUE(done.completed());
    EXPECT_FALSE(done.result);
}

TEST_F(Dispatch, RawPayloadsAreTakenAsBytes) {
    const std::string bytes("\x01\0\xFE", 3);
    const Finished done = run<std::string>([](const std::string& in) { return in; },
                                           Submit("k", std::string_view(bytes)));
    EXPECT_EQ(done.bytes(), bytes);
}

TEST_F(Dispatch, FunctionsAndFunctionObjectsAreHandlersToo) {
    struct Doubler {
        int operator()(const int& n) const noexcept { return 2 * n; }
    };
    EXPECT_EQ(run<int>(Doubler{}, Submit("k", 21)).as<int>(), 42);
    EXPECT_EQ(run<int>(+[](int n) { return n + 1; }, Submit("k", 1)).as<int>(), 2);
}

TEST_F(Dispatch, ABadPayloadFailsNamingTheMember) {
    bool called = false;
    const Finished done = run<Fetch>([&](const Fetch&) { called = true; },
                                     Submit("k", R"({"url":"u","tries":"many"})"));
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "extractor_payload_decode");
    EXPECT_EQ(done.reason,
              "tries: must be a whole number from -2147483648 to 2147483647, not "
              "\"many\"");
    EXPECT_FALSE(called);
}

TEST_F(Dispatch, APayloadThatIsNoJsonFailsToDecode) {
    const Finished done = run<Fetch>([](const Fetch&) {}, Submit("k", "not json"));
    EXPECT_EQ(done.category, "extractor_payload_decode");
}

TEST_F(Dispatch, PayloadsOfAnotherEncodingNeedACodec) {
    const auto request = Submit("k", "u;7").encoding("csv");
    const Finished refused = run<Fetch>([](const Fetch&) {}, request);
    EXPECT_EQ(refused.category, "extractor_payload_decode");
    EXPECT_TRUE(refused.reason.contains("csv")) << refused.reason;

    Worker worker(engine, options());
    worker.codec("csv", [](std::string_view bytes) -> expected<json> {
        const std::size_t cut = bytes.find(';');
        return json{{"url", json(bytes.substr(0, cut))},
                    {"tries", json(js::Number{std::string(bytes.substr(cut + 1))})}};
    });
    worker.on<Fetch>("k", [](const Fetch& job) { return job.tries; });
    start(worker);
    EXPECT_EQ(wait(submit(request)).as<int>(), 7);
}

TEST_F(Dispatch, MissingStateFailsAndIsToldAtStart) {
    const Finished done = run([](Http&) {});
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "extractor_missing_state");
    EXPECT_TRUE(done.reason.contains("Http")) << done.reason;
    EXPECT_TRUE(lines->contain("the handler of k will fail"));
}

TEST_F(Dispatch, StateAskedForInsideAHandlerFailsTheSameWay) {
    EXPECT_EQ(run([](Task& task) { task.state<Http>().body.clear(); }).category,
              "extractor_missing_state");
}

TEST_F(Dispatch, AKindWithoutAHandlerFails) {
    const ExecutionId id = submit(Submit("stranger"));
    Worker worker(engine, options());
    worker.on("k", [] {});
    start(worker);
    ClaimForWorker op;
    op.worker_id = "w";
    op.worker_instance_id = "w-1";
    op.lane_id = "default";
    const auto grant = client->claim_for_worker(op);
    ASSERT_TRUE(grant);
    ASSERT_TRUE(worker.take(*grant));
    const Finished done = wait(id);
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "runtime_no_handler");
    EXPECT_EQ(done.reason, "no handler for kind stranger");
}

TEST_F(Dispatch, AnExceptionFailsWithWhatItSaysAndItsCauses) {
    const Finished done = run([] {
        try {
            try {
                throw std::runtime_error("no route");
            } catch (...) {
                std::throw_with_nested(std::runtime_error("connect"));
            }
        } catch (...) {
            std::throw_with_nested(std::logic_error("fetch"));
        }
    });
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "handler_error");
    EXPECT_EQ(done.reason, "fetch: connect: no route");
}

TEST_F(Dispatch, ATaskFailureCarriesItsCategory) {
    const auto request = Submit("k").retries(5);
    const Finished done = run([] { throw TaskFailure("permanent", "the page is gone"); }, request);
    EXPECT_EQ(done.state, PublicState::failed) << "permanent failures are not tried again";
    EXPECT_EQ(done.category, "permanent");
    EXPECT_EQ(done.reason, "the page is gone");
}

TEST_F(Dispatch, ANestedTaskFailureKeepsItsCategory) {
    const Finished done = run([] {
        try {
            throw std::runtime_error("socket");
        } catch (...) {
            std::throw_with_nested(TaskFailure("infra_crash", "fetch"));
        }
    });
    EXPECT_EQ(done.category, "infra_crash");
    EXPECT_EQ(done.reason, "fetch: socket");
}

TEST_F(Dispatch, AnythingElseThrownIsAPanic) {
    const Finished done = run([] { throw 7; });
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "handler_panic");
}

TEST_F(Dispatch, AFailureIsTriedAgainAsThePolicySays) {
    Worker worker(engine, options());
    std::atomic<int> calls{0};
    worker.on("k", [&](Task& task) -> int {
        if (++calls < 3) {
            throw std::runtime_error("not yet");
        }
        return static_cast<int>(task.attempt_index());
    });
    start(worker);
    Backoff backoff;
    backoff.type = Backoff::Type::fixed;
    backoff.delay_ms = 1'000;
    const ExecutionId id = submit(Submit("k").retries(5).backoff(backoff));
    for (std::uint64_t failed = 1; failed <= 2; ++failed) {
        ASSERT_TRUE(eventually([&] { return worker.stats().failed == failed; }));
        clock->advance(1'000);
    }
    EXPECT_EQ(wait(id).as<int>(), 2);
    EXPECT_EQ(calls, 3);
}

TEST_F(Dispatch, ReasonsOfAnyBytesAreTaken) {
    const Finished done = run([] { throw std::runtime_error(std::string("bad \xFF byte")); });
    EXPECT_EQ(done.reason, "bad ? byte");
    const Finished long_one = run([] { throw std::runtime_error(std::string(10'000, 'x')); });
    EXPECT_EQ(long_one.reason, std::string(4'096, 'x'));
}

TEST_F(Dispatch, ACategoryNobodyCanStoreBecomesAHandlerError) {
    const Finished done = run([] { throw TaskFailure("", "why"); });
    EXPECT_EQ(done.category, "handler_error");
    EXPECT_TRUE(done.reason.contains("why"));
}

TEST_F(Dispatch, AResultThatIsNoJsonFails) {
    const Finished done = run([] { return Measure{std::nan("")}; });
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "handler_error");
    EXPECT_TRUE(done.reason.contains("value: must be a finite number")) << done.reason;
}

TEST_F(Dispatch, AResultTheEngineRefusesFails) {
    engine->refuse(
        always<Complete>({ErrorCode::payload_too_large, "result_payload: too much", {}}));
    const Finished done = run([] { return 1; });
    EXPECT_EQ(done.state, PublicState::failed);
    EXPECT_EQ(done.category, "handler_error");
    EXPECT_TRUE(done.reason.contains("the result was refused: payload_too_large")) << done.reason;
}

// ----------------------------------------------------------------------------- explicit finishing

TEST_F(Dispatch, AHandlerMayCompleteTheTaskItself) {
    const Finished done =
        run([](Task& task) -> Result { return task.complete(json{{"ok", true}}); });
    EXPECT_EQ(done.bytes(), R"({"ok":true})");
    EXPECT_EQ(engine->count("complete"), 1U);
}

TEST_F(Dispatch, FailTellsWhetherThereIsARetry) {
    std::vector<Result::Kind> kinds;
    std::optional<TimestampMs> again;
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) -> Result {
        Result result = task.fail("no luck", "weather");
        kinds.push_back(result.kind());
        again = again ? again : result.delay_until();
        return result;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k").retries(1));
    ASSERT_TRUE(eventually([&] { return worker.stats().failed == 1; }));
    EXPECT_EQ(again, clock->now() + 1'000);
    clock->advance(1'000);
    const Finished done = wait(id);
    EXPECT_EQ(done.category, "weather");
    // Who waits for the end may hear of it before the handler does.
    ASSERT_TRUE(eventually([&] { return worker.stats().failed == 2; }));
    EXPECT_EQ(kinds, (std::vector{Result::Kind::retry_scheduled, Result::Kind::failed}));
}

TEST_F(Dispatch, AHandlerMayCancelItsOwnExecution) {
    const Finished done = run([](Task& task) -> Result { return task.cancel("not needed"); });
    EXPECT_EQ(done.state, PublicState::cancelled);
    EXPECT_EQ(done.reason, "not needed");
    const auto described = engine->run(DescribeExecution{done.id});
    ASSERT_TRUE(described && *described);
    EXPECT_EQ((*described)->cancelled_by, "worker");
}

TEST_F(Dispatch, ADelayedTaskIsResumedLater) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) -> Result {
        return task.resumed() ? task.complete(static_cast<int>(task.attempt_index()))
                              : task.delay(10s);
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return state(id) == PublicState::delayed; }));
    EXPECT_EQ(client->inspect(id)->delay_until, clock->now() + 10'000);
    clock->advance(10'000);
    EXPECT_EQ(wait(id).as<int>(), 0) << "the same attempt goes on";
}

TEST_F(Dispatch, ATaskMayWaitForItsChildren) {
    const Finished done = run([](Task& task) -> Result {
        return task.resumed() ? task.complete(1) : task.wait_children();
    });
    EXPECT_EQ(done.as<int>(), 1) << "without children it goes on at once";
}

TEST_F(Dispatch, AFinishedTaskRefusesFurtherCalls) {
    const Finished done = run([&](Task& task) {
        const std::string finished = "invalid_input: task finished";
        const Result result = task.complete("first");
        EXPECT_EQ(task.try_renew().error().message(), finished);
        EXPECT_EQ(task.try_progress(10).error().message(), finished);
        EXPECT_EQ(task.try_complete("second").error().message(), finished);
        EXPECT_EQ(task.try_fail("r", "c").error().message(), finished);
        EXPECT_EQ(task.try_delay(1s).error().message(), finished);
        EXPECT_EQ(task.try_wait_children().error().message(), finished);
        EXPECT_THROW(task.cancel("x"), Exception);
        return result;
    });
    EXPECT_EQ(done.bytes(), "first");
    EXPECT_EQ(engine->count("complete"), 1U);
}

TEST_F(Dispatch, WhatAHandlerDoesAfterFinishingIsOnlyLogged) {
    const Finished done = run([](Task& task) -> std::string {
        (void)task.complete("first");
        throw std::runtime_error("too late");
    });
    EXPECT_EQ(done.bytes(), "first");
    EXPECT_TRUE(eventually([&] { return lines->contain("too late"); }));
    EXPECT_EQ(engine->count("fail"), 0U);
}

TEST_F(Dispatch, AResultThatWasRefusedLeavesTheTaskOpen) {
    engine->refuse(always<Complete>({ErrorCode::payload_too_large, "too much", {}}));
    const Finished done = run([](Task& task) -> Result {
        const auto completed = task.try_complete("big");
        EXPECT_EQ(completed.error().code, ErrorCode::payload_too_large);
        return task.fail("my result is too big", "permanent");
    });
    EXPECT_EQ(done.reason, "my result is too big");
}

TEST_F(Dispatch, ATaskWhoseLastCallWasRefusedIsLetGo) {
    engine->refuse([](const Request& request) -> std::optional<Error> {
        const bool finishing =
            ff::holds_alternative<Complete>(request) || ff::holds_alternative<Fail>(request);
        return finishing ? std::optional(Error{ErrorCode::invalid_input, "no", {}}) : std::nullopt;
    });
    Worker worker(engine, options());
    worker.on("k", [] { return 1; });
    start(worker);
    (void)submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return worker.stats().lost == 1; })) << lines->all();
    EXPECT_TRUE(eventually([&] { return worker.stats().running == 0; }));
    EXPECT_TRUE(lines->contain("was not finished; its lease is left to expire")) << lines->all();
    clock->advance(20'000);
    ASSERT_TRUE(eventually([&] { return engine->count("heartbeat_worker") == 1; }));
    EXPECT_EQ(engine->count("renew"), 0U) << "somebody else may have it";
}

TEST_F(Dispatch, ATaskMayBeGivenBack) {
    const Finished done = run([](Task& task) -> Result {
        if (task.resumed()) {
            return task.complete(static_cast<int>(task.attempt_index()));
        }
        const Result given_back = task.release();
        EXPECT_EQ(given_back.kind(), Result::Kind::released);
        EXPECT_EQ(task.try_release().error().message(), "invalid_input: task finished");
        return given_back;
    });
    EXPECT_EQ(done.as<int>(), 0) << "the same attempt goes on";
}

TEST_F(Dispatch, TheResultOfAnotherTaskIsNoResult) {
    std::optional<Result> kept;
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) -> Result {
        if (!kept) {
            kept = task.complete("mine");
        }
        return *kept;
    });
    start(worker);
    EXPECT_EQ(wait(submit(Submit("k"))).bytes(), "mine");
    const Finished second = wait(submit(Submit("k")));
    EXPECT_EQ(second.category, "handler_error");
    EXPECT_TRUE(second.reason.contains("another task")) << second.reason;
}

TEST_F(Dispatch, TheContextKnowsTheFacts) {
    const auto request = Submit("k", "in").tag("tenant", "acme").priority(7).deadline(1h);
    const Finished done = run(
        [&](Task& task) {
            EXPECT_EQ(task.attempt_index(), 0U);
            EXPECT_EQ(task.attempt_type(), AttemptType::initial);
            EXPECT_EQ(task.lease_epoch(), 1U);
            EXPECT_EQ(task.lane(), "default");
            EXPECT_EQ(task.ns(), "acme");
            EXPECT_EQ(task.kind(), "k");
            EXPECT_EQ(task.tags(), (Tags{{"tenant", "acme"}}));
            EXPECT_EQ(task.priority(), 7);
            EXPECT_FALSE(task.resumed());
            EXPECT_FALSE(task.flow_id());
            EXPECT_EQ(task.input(), "in");
            EXPECT_EQ(task.info().execution_deadline_at, clock->now() + 3'600'000);
            EXPECT_TRUE(task.lease_healthy());
            EXPECT_FALSE(task.stop_requested());
            EXPECT_EQ(task.cancel_cause(), CancelCause::none);
            EXPECT_EQ(task.lease_deadline(), clock->now() + 30'000);
            task.log().info("hello from inside");
            task.progress(40, "almost");
        },
        request);
    EXPECT_TRUE(done.completed());
    EXPECT_TRUE(lines->contain("info: " + done.id.to_string() + ": hello from inside"));
    EXPECT_EQ(client->inspect(done.id)->progress_percent, 40);
    EXPECT_EQ(client->inspect(done.id)->progress_message, "almost");
}

}  // namespace ff::worker::test
