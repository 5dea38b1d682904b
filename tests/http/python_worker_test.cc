// examples/python_worker/worker.py against a server: results, retries, and a stop that loses
// nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "http/process.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// Handlers of our own, as the example says they can be added.
constexpr std::string_view program = R"(
import json, sys, time
import worker

def flaky(task):
    if task.attempt == 0:
        raise ValueError("not today")
    return {"attempt": task.attempt}

def slow(task):
    print("began " + task.id, file=sys.stderr, flush=True)
    time.sleep(float(task.input))
    return "done"

worker.HANDLERS.update({"flaky": flaky, "slow": slow})
worker.main()
)";

class PythonWorker : public testing::Test {
  protected:
    PythonWorker() : server_(real_time()) { std::ofstream(folder_.file("mine.py")) << program; }
    static TestOptions real_time() {
        TestOptions options;
        options.real_time = true;
        return options;
    }

    /// Starts the worker with the handlers above.
    [[nodiscard]] std::unique_ptr<Process> start(std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"python3", "-B", folder_.file("mine.py"), "--url",
                                       "http://127.0.0.1:" + std::to_string(server_.port())};
        words.insert(words.end(), more.begin(), more.end());
        return std::make_unique<Process>(
            std::move(words),
            Variables{{"PYTHONPATH", std::string(FF_SOURCE_DIR) + "/examples/python_worker"}});
    }
    [[nodiscard]] std::string submit(const std::string& kind, const std::string& input) const {
        const RawAnswer answer = server_.post(
            "/v1/executions", R"({"namespace":"n","lane_id":"default","execution_kind":")" + kind +
                                  R"(","input_payload":{"text":)" + js::dump(json(input)) +
                                  R"(},"policy":{"retry_policy":{"max_retries":2,)"
                                  R"("backoff":{"type":"fixed","delay_ms":10}}}})");
        EXPECT_EQ(answer.status, 201) << answer.body;
        const json whole = answer.document();
        return text_of(*whole.find("Created"), "execution_id");
    }
    [[nodiscard]] std::string state_of(const std::string& id) const {
        return server_.get("/v1/executions/" + encoded(id) + "/state").body;
    }
    [[nodiscard]] bool completes(const std::string& id) const {
        return eventually("it is completed", [&] { return state_of(id) == "\"completed\""; });
    }
    [[nodiscard]] std::string result_of(const std::string& id) const {
        return server_.get("/v1/executions/" + encoded(id) + "/result").body;
    }
    [[nodiscard]] json describe(const std::string& id) const {
        return server_.get("/v1/executions/" + encoded(id) + "/describe").document();
    }

    support::TempDir folder_;
    TestServer server_;
};

TEST_F(PythonWorker, DoesWorkAndGivesItsResult) {
    const std::string early = submit("greet", R"({"name":"Ada"})");
    auto worker = start();
    ASSERT_TRUE(completes(early)) << worker->out() << worker->err();
    EXPECT_EQ(result_of(early), R"("Hello, Ada!")");
    const std::string late = submit("greet", R"({"name":"Grün"})");
    ASSERT_TRUE(completes(late)) << worker->out() << worker->err();
    EXPECT_EQ(json(js::parse(result_of(late)).value()), json("Hello, Grün!"));
    worker->send_signal(SIGTERM);
    EXPECT_EQ(worker->wait(), 0) << worker->out() << worker->err();
}

TEST_F(PythonWorker, WhatRaisesIsTriedAgainAndSaysWhy) {
    const std::string flaky = submit("flaky", "");
    const std::string hopeless = submit("greet", "no JSON at all");
    auto worker = start();
    ASSERT_TRUE(completes(flaky)) << worker->out() << worker->err();
    EXPECT_EQ(result_of(flaky), R"({"attempt":1})");
    const RawAnswer attempts = server_.get("/v1/executions/" + encoded(flaky) + "/attempts");
    EXPECT_NE(attempts.body.find(R"x("failure_reason":"ValueError('not today')")x"),
              std::string::npos)
        << attempts.body;
    EXPECT_TRUE(eventually("it gives up", [&] { return state_of(hopeless) == "\"failed\""; }));
    EXPECT_EQ(text_of(describe(hopeless), "total_attempt_count"), "3");
    worker->send_signal(SIGINT);
    EXPECT_EQ(worker->wait(), 0);
}

TEST_F(PythonWorker, KeepsItsLeaseWhileItWorks) {
    const std::string id = submit("slow", "2.5");
    auto worker = start({"--lease-ms", "1000"});
    ASSERT_TRUE(completes(id)) << worker->out() << worker->err();
    EXPECT_EQ(text_of(describe(id), "total_attempt_count"), "1") << "nobody took it over";
}

TEST_F(PythonWorker, ToldToStopItFinishesWhatItHas) {
    const std::string id = submit("slow", "1.5");
    auto worker = start();
    worker->wait_for_text("began ");
    worker->send_signal(SIGTERM);
    EXPECT_EQ(worker->wait(), 0) << worker->out() << worker->err();
    EXPECT_EQ(state_of(id), "\"completed\"");
    EXPECT_EQ(text_of(describe(id), "total_attempt_count"), "1");
}

TEST_F(PythonWorker, WhatItCannotFinishGoesOnElsewhereAtOnce) {
    const std::string id = submit("slow", "600");
    auto first = start({"--grace", "0.2", "--lease-ms", "3600000"});
    first->wait_for_text("began ");
    first->send_signal(SIGTERM);
    EXPECT_EQ(first->wait(), 0) << first->out() << first->err();
    EXPECT_EQ(state_of(id), "\"waiting\"") << "given back, although its lease was for an hour";
    auto second = start();
    EXPECT_EQ(second->wait_for_text("began "), id);
    const json about = describe(id);
    EXPECT_EQ(text_of(about, "total_attempt_count"), "1") << "the same attempt goes on";
}

TEST_F(PythonWorker, AParkedPollIsLeftAtOnceAndHoldsNothing) {
    auto worker = start({"--slots", "2"});
    ASSERT_TRUE(
        eventually("both wait", [&] { return server_.engine().stats().waiting_claims == 2; }));
    const auto registered = [&] { return server_.engine().run(ListWorkers{})->workers.size(); };
    EXPECT_EQ(registered(), 2U);
    const auto begin = std::chrono::steady_clock::now();
    worker->send_signal(SIGTERM);
    EXPECT_EQ(worker->wait(), 0) << worker->out() << worker->err();
    EXPECT_EQ(worker->out() + worker->err(), "") << "nothing went wrong";
    EXPECT_EQ(registered(), 0U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9))
        << "neither the poll nor the grace was waited for";
    EXPECT_TRUE(
        eventually("nobody waits", [&] { return server_.engine().stats().waiting_claims == 0; }));
    EXPECT_EQ(state_of(submit("greet", "{}")), "\"waiting\"");
}

}  // namespace
}  // namespace ff::http::test
