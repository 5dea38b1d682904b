// Retry: an execution that fails is tried again as its policy says, until there are no tries left.
// On a test engine, so that the pauses between tries take no time.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

/// Lets time pass until the execution has ended.
ff::Finished wait_through_pauses(ff::testing::Engine& engine, ff::Client& client,
                                 const ff::ExecutionId& id) {
    for (;;) {
        if (const auto done = client.try_wait(id, std::chrono::milliseconds(10))) {
            return *done;
        }
        engine.advance(std::chrono::milliseconds(500));
    }
}

void run() {
    const auto engine = std::make_shared<ff::testing::Engine>();
    ff::Client client(engine, {.ns = "examples"});
    ff::Worker worker(engine, {.worker_id = "stubborn",
                               .ns = "examples",
                               .lanes = {"default"},
                               .log = [](ff::Severity, std::string_view) {},
                               .clock = engine->clock()});
    worker.on("flaky", [](ff::Task& task) -> std::string {
        std::printf("flaky: try %u\n", task.attempt_index() + 1);
        if (task.attempt_index() < 2) {
            throw std::runtime_error("the weather");
        }
        return "worked in the end";
    });
    worker.on("hopeless", [](ff::Task& task) {
        std::printf("hopeless: try %u\n", task.attempt_index() + 1);
        throw std::runtime_error("out of luck");
    });
    ff::value_or_throw(worker.start());

    const auto flaky = client.submit(ff::Submit("flaky").retries(5)).id();
    std::printf("flaky: %s\n", wait_through_pauses(*engine, client, flaky).bytes().c_str());

    const auto hopeless = client.submit(ff::Submit("hopeless").retries(2)).id();
    const auto ended = wait_through_pauses(*engine, client, hopeless);
    std::printf("hopeless: %s after %u tries: %s\n",
                std::string(ff::to_string(ended.state)).c_str(),
                client.inspect(hopeless)->total_attempt_count, ended.reason.c_str());
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "retry_and_cancel: %s\n", error.what());
        return 1;
    }
}
