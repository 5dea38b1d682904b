// A server of this process on a port of its own, over a store in memory whose time stands still.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ff/engine.h>

#include "http/raw_client.h"
#include "http/server.h"

namespace ff::http::test {

struct TestOptions {
    ServerOptions server;
    ServiceOptions service;
    std::string store = ":memory:";
    std::shared_ptr<Engine> engine;  ///< instead of a store
    bool real_time = false;          ///< the system's clock instead of one that stands still
};

class TestServer {
  public:
    explicit TestServer(TestOptions options = {});
    ~TestServer();
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return server_->port(); }
    [[nodiscard]] Server& server() { return *server_; }
    [[nodiscard]] Engine& engine() { return *engine_; }
    [[nodiscard]] ManualClock& clock() { return *clock_; }

    [[nodiscard]] RawClient connect() const { return RawClient(port()); }
    /// One request on a connection of its own.
    [[nodiscard]] RawAnswer ask(std::string_view bytes) const { return connect().ask(bytes); }
    [[nodiscard]] RawAnswer get(std::string_view target) const {
        return ask(request_text("GET", target));
    }
    [[nodiscard]] RawAnswer post(std::string_view target, std::string_view body) const {
        return ask(json_request("POST", target, body));
    }
    /// Creates an execution on lane `default` and gives its id.
    [[nodiscard]] std::string create(std::string_view kind = "render") const;
    /// Takes one execution from lane `default`; null when there is none.
    [[nodiscard]] json claim(std::string_view worker = "w1") const;

    /// Ends the server, as its owner would who does not wait for anybody.
    void destroy() { server_.reset(); }

  private:
    std::shared_ptr<ManualClock> clock_;
    std::shared_ptr<Engine> engine_;
    std::unique_ptr<Server> server_;
};

/// Waits until it is so; fails the test when it does not come about. Says what was waited for.
[[nodiscard]] bool eventually(std::string_view what, const std::function<bool()>& is_so);

/// A body for `POST /v1/executions`.
std::string create_body(std::string_view kind = "render", std::string_view lane = "default");
/// A body for a poll of lane `default`.
std::string poll_body(std::int64_t block_ms, std::string_view lane = "default");
/// The members of a fence, from a task.
std::string fence_of(const json& task);
/// The member of an object as text: strings as they are, others as JSON, none as "".
std::string text_of(const json& object, std::string_view name);
/// A path with a parameter spelled as a client would.
std::string encoded(std::string_view text);

}  // namespace ff::http::test
