// Hello: an engine in this process, one execution from hand-over to result, and an operator's
// calls.
//
//   hello [address]          sqlite::memory: when absent
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

void run(const std::string& address) {
    const auto engine = ff::Engine::connect(address);
    ff::Client client(engine, {.ns = "examples"});

    // Hand work over. It is on disk when this returns.
    const auto id = client.submit(ff::Submit("greet", "world").tag("mood", "good")).id();
    std::printf("submitted: %s\n",
                std::string(ff::to_string(client.inspect(id)->info.public_state)).c_str());

    // Do it by hand; ff::Worker does this for you (see worker_runtime).
    ff::Claim claim;
    claim.lanes = {"default"};
    claim.worker_id = "hello";
    claim.worker_instance_id = "hello-1";
    auto claimed = ff::value_or_throw(engine->run(claim));
    const ff::ClaimedTask& task = claimed.tasks.at(0);
    std::printf("claimed: attempt %u\n", task.handle.attempt_index);
    ff::value_or_throw(engine->run(ff::Complete{task.handle, "hello, " + task.input_payload}));

    std::printf("result: %s\n", client.wait(id, std::chrono::seconds(10)).bytes().c_str());

    // What an operator may do: run it again, look at it, call it off.
    client.replay(id);
    client.change_priority(id, 100);
    std::printf("replayed: priority %d\n", client.inspect(id)->info.priority);
    client.cancel(id, "once was enough");
    for (const ff::ExecutionInfo& found : client.executions({.kind = "greet"})) {
        std::printf("listed: %s\n", std::string(ff::to_string(found.public_state)).c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(argc > 1 ? argv[1] : "sqlite::memory:");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hello: %s\n", error.what());
        return 1;
    }
}
