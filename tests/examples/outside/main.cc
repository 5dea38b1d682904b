#include <ff/flowfabric.hpp>

#include <cstdio>

int main() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Client client(engine);
    ff::Worker worker(engine, {.worker_id = "w", .lanes = {"default"}});
    worker.on<int>("double", [](int n) { return 2 * n; });
    ff::value_or_throw(worker.start());
    const auto id = client.submit(ff::Submit("double", 21)).id();
    std::printf("%d\n", client.wait(id, std::chrono::seconds(30)).as<int>());
}
