// Worker registry: who is there, who stays there by heartbeats, and who is declared dead.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

void show(ff::Client& client, const char* when) {
    std::printf("%s:", when);
    for (const ff::WorkerInfo& worker : client.workers()) {
        std::printf(" %s", worker.worker_instance_id.c_str());
    }
    std::printf("\n");
}

void run() {
    const auto engine = std::make_shared<ff::testing::Engine>();
    ff::Client client(engine, {.ns = "examples"});
    for (const std::string name : {"anna", "bert", "carl"}) {
        ff::RegisterWorker op;
        op.ns = "examples";
        op.worker_id = name;
        op.worker_instance_id = name + "-1";
        op.lanes = {"default"};
        op.liveness_ttl_ms = 60'000;
        ff::value_or_throw(engine->run(op));
    }
    show(client, "registered");

    engine->advance(std::chrono::seconds(40));
    for (const std::string name : {"anna-1", "carl-1"}) {
        const auto beat = ff::value_or_throw(engine->run(ff::HeartbeatWorker{"examples", name}));
        std::printf("%s is good for another %lld s\n", name.c_str(),
                    static_cast<long long>((beat.next_expiry_ms - engine->now()) / 1'000));
    }
    engine->advance(std::chrono::seconds(40));
    show(client, "after 80 s");

    const auto late = ff::value_or_throw(engine->run(ff::HeartbeatWorker{"examples", "bert-1"}));
    std::printf("bert-1 is %s\n", late.registered ? "known" : "to register again");

    ff::MarkWorkerDead dead;
    dead.ns = "examples";
    dead.worker_instance_id = "carl-1";
    dead.reason = "its machine burnt down";
    ff::value_or_throw(engine->run(dead));
    show(client, "without carl");
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "worker_registry: %s\n", error.what());
        return 1;
    }
}
