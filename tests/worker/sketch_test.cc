// The sketch of the interface in the specification, with the parts that exist, compiled and run.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <ff/flowfabric.hpp>

#include "support/temp_dir.h"

namespace {

using std::chrono_literals::operator""s;

// clang-format off
struct Job { std::string url; };              FF_JSON(Job, url)
struct Out { int status; std::string body; }; FF_JSON(Out, status, body)
// clang-format on

struct Http {
    std::vector<std::string> get(const std::string& url, const std::stop_token&) {
        body_ = "body of " + url;
        return {"a", "b"};
    }
    std::string body() const { return body_; }

  private:
    std::string body_;
};

TEST(Sketch, CompilesAndRuns) {
    const ff::support::TempDir folder;
    // clang-format off
  auto engine = ff::Engine::connect("sqlite:" + folder.file("app.db"))
              | ff::layer::tracing(ff::Severity::debug)
              | ff::layer::circuit_breaker({.threshold = 5});

  ff::Client client(engine, {.ns = "acme"});
  auto id = client.submit(ff::Submit("fetch", Job{"https://x"}).lane("web").tag("tenant", "acme")
                            .idempotency_key("k1").retries(3)).id();

  ff::Worker w(engine, {.worker_id = "web-1", .ns = "acme", .lanes = {"web"},
                        .capabilities = {"net"}, .max_concurrent_tasks = 8});
  w.provide(std::make_shared<Http>());

  // typed handler: decoded payload, context, injected state; the returned value is the result
  w.on<Job>("fetch", [](ff::Task& t, const Job& j, Http& http) -> Out {
    for (auto& part : http.get(j.url, t.stop_token())) {
      t.progress(50, part);
      if (t.stop_requested()) throw ff::TaskFailure("cancelled", "stopped by operator");
    }
    return Out{200, http.body()};
  });

  // raw handler: called again after the delay with t.resumed() == true
  w.on("deploy", [](ff::Task& t) -> ff::Result {
    if (!t.resumed())
      return t.delay(std::chrono::milliseconds(1));
    return t.complete(ff::json{{"ok", true}});
  });

  std::thread running([&] { EXPECT_TRUE(w.run()); });         // until SIGTERM, then drains

  auto done = client.wait(id, 30s);                           // {state, result}
    // clang-format on
    EXPECT_EQ(done.state, ff::PublicState::completed);
    EXPECT_EQ(done.as<Out>().body, "body of https://x");
    const auto deploy = client.submit(ff::Submit("deploy").lane("web")).id();
    EXPECT_EQ(client.wait(deploy, 30s).bytes(), R"({"ok":true})");
    w.request_stop();
    running.join();
}

}  // namespace
