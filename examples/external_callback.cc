// External callback: a payment provider is given a token before the execution waits, so that its
// answer is not lost however fast it comes. A token that was tampered with opens nothing.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

/// Somebody else's service: it takes a token and calls back later, or at once.
struct Provider {
    std::shared_ptr<ff::Engine> engine;
    ff::ExecutionId execution;

    void pay(const ff::WaitpointTicket& back) const {
        ff::DeliverSignal answer;
        answer.execution_id = execution;
        answer.waitpoint_id = back.waitpoint_id;
        answer.signal_name = "paid";
        answer.payload = R"({"amount":12})";
        answer.source_type = "webhook";
        answer.source_identity = "provider";

        answer.waitpoint_token = back.waitpoint_token;
        answer.waitpoint_token.back() = answer.waitpoint_token.back() == '0' ? '1' : '0';
        const auto forged = engine->run(answer);
        std::printf("tampered token: %s\n", forged.error().message().c_str());

        answer.waitpoint_token = back.waitpoint_token;
        answer.idempotency_key = "payment-1";
        const auto first = ff::value_or_throw(engine->run(answer));
        std::printf("called back: %s\n", std::string(ff::to_string(first.effect)).c_str());
        const auto again = ff::value_or_throw(engine->run(answer));
        std::printf("called back again: %s\n", again.duplicate ? "a duplicate" : "new");
    }
};

void add_handlers(ff::Worker& worker, const std::shared_ptr<ff::Engine>& engine) {
    worker.on("order", [engine](ff::Task& task) -> ff::Result {
        if (!task.resumed()) {
            const auto ticket = task.create_waitpoint("payment", std::chrono::hours(1));
            Provider{engine, task.execution_id()}.pay(ticket);
            const auto outcome = ff::value_or_throw(
                task.try_suspend_on(ticket, ff::any_signal("paid"),
                                    {.timeout = std::chrono::hours(24),
                                     .reason = ff::SuspensionReason::waiting_for_callback}));
            if (outcome.suspended()) {
                return *outcome.result;
            }
            std::printf("the answer was faster\n");
        }
        return task.complete(task.resume_signals().at(0).payload.value_or(""));
    });
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Worker worker(engine, {.worker_id = "shop",
                               .ns = "examples",
                               .lanes = {"orders"},
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker, engine);
    ff::value_or_throw(worker.start());
    ff::Client client(engine, {.ns = "examples"});
    const auto id = client.submit(ff::Submit("order").lane("orders")).id();
    std::printf("paid: %s\n", client.wait(id, std::chrono::seconds(30)).bytes().c_str());
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "external_callback: %s\n", error.what());
        return 1;
    }
}
