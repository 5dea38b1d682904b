// A budget of tokens that several tasks share: each says what it used as it goes, and the one that
// would pass the limit is failed. What has not begun by then waits, until the next period begins.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>

namespace {

constexpr ff::BudgetId tokens{ff::Uuid{{0xb0, 0x0d}}};

void run() {
    ff::EngineOptions options;
    options.warn = [](std::string_view) {};  // it warns of soft limits
    const auto engine = std::make_shared<ff::testing::Engine>(options);
    ff::Client client(engine, {.ns = "examples"});
    ff::CreateBudget budget;
    budget.budget_id = tokens;
    budget.on_hard_limit = "fail";
    budget.reset_interval_ms = 86'400'000;
    budget.dimensions = {"tokens"};
    budget.hard_limits = {1'000};
    budget.soft_limits = {800};
    ff::value_or_throw(engine->run(budget));

    ff::Worker worker(engine, {.worker_id = "model",
                               .ns = "examples",
                               .lanes = {"default"},
                               .log = [](ff::Severity, std::string_view) {},
                               .clock = engine->clock()});
    worker.on("ask", [](ff::Task& task) -> std::string {
        const auto used = static_cast<std::uint64_t>(std::stoul(task.input()));
        const auto told =
            task.report_usage(tokens, {{"tokens", used}}, task.execution_id().to_string());
        return told.outcome == ff::UsageOutcome::soft_breach ? "answered, and it gets tight"
                                                             : "answered";
    });
    ff::value_or_throw(worker.start());

    ff::Policy policy;
    policy.budget_ids = {tokens};
    const auto ask = [&](const char* used) {
        return client.submit(ff::Submit("ask", std::string(used)).policy(policy)).id();
    };
    const auto say = [&](const char* who, const ff::ExecutionId& id) {
        const auto done = client.wait(id, std::chrono::seconds(20));
        std::printf(
            "%s: %s\n", who,
            done.state == ff::PublicState::completed ? done.bytes().c_str() : done.reason.c_str());
    };
    say("first", ask("500"));
    say("second", ask("400"));
    say("third", ask("200"));
    say("fourth", ask("100"));
    const auto fifth = ask("1");
    while (client.inspect(fifth)->info.public_state != ff::PublicState::rate_limited) {
        std::this_thread::yield();
    }
    std::printf("fifth: %s\n", client.inspect(fifth)->info.blocking_detail.c_str());
    engine->advance(std::chrono::hours(24));
    say("the next day", fifth);
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "token_budget: %s\n", error.what());
        return 1;
    }
}
