// The conformance suite through a client and a server: both real, in one process so that the clock
// can be moved.
#include <chrono>
#include <thread>

#include "client/remote_engine.h"
#include "engine/conformance.h"
#include "http/server.h"
#include "support/emptied_postgres.h"

namespace ff::engine::test {

namespace {

/// What a remote engine stands on; it goes from the bottom of this list to the top.
struct Stack {
    std::shared_ptr<Engine> embedded;
    std::unique_ptr<http::Server> server;
    std::shared_ptr<Engine> remote;
};

/// Waits until the server has handed on whatever the client has sent.
void wait_for_arrival(const Stack& stack) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (stack.server->service().taken() < stack.remote->stats().commands) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "a request did not arrive";
        std::this_thread::yield();
    }
}

Backend over_http(std::string name, bool durable,
                  std::function<std::string(const std::string& folder)> location) {
    return {std::move(name), durable, true,
            [location = std::move(location)](const std::string& folder, EngineOptions options,
                                             std::shared_ptr<ManualClock> clock) -> expected<Rig> {
                auto stack = std::make_shared<Stack>();
                options.clock = clock;
                if (!options.flow_partitions) {
                    options.flow_partitions = 1;  // on every store: ids of tests are of the first
                }
                FF_TRY(stack->embedded, Engine::open(location(folder), options));
                http::ServerOptions how;
                how.port = 0;
                http::ServiceOptions service;
                service.gate.allow_insecure = true;
                service.clock = clock;
                FF_TRY(stack->server, http::Server::start(stack->embedded, how, service));
                client::RemoteOptions client;
                client.tries = 1;
                FF_TRY(stack->remote,
                       client::RemoteEngine::connect(
                           "http://127.0.0.1:" + std::to_string(stack->server->port()), client));
                return Rig{std::shared_ptr<Engine>(stack, stack->remote.get()), std::move(clock),
                           [stack = std::weak_ptr<Stack>(stack)] {
                               if (const auto held = stack.lock()) {
                                   wait_for_arrival(*held);
                               }
                           }};
            }};
}

}  // namespace

const std::vector<Backend>& engine_backends() {
    static const std::vector<Backend> backends = [] {
        std::vector<Backend> all{
            over_http("http_sqlite", true,
                      [](const std::string& folder) { return "sqlite:" + folder + "/store.db"; }),
        };
        if (!support::postgres_address().empty()) {
            all.push_back(over_http("http_postgres", true, support::emptied_postgres_store));
        }
        return all;
    }();
    return backends;
}

}  // namespace ff::engine::test
