// Deploy approval: three tests run side by side, then the deployment waits until two different
// people have said yes. The same person twice is one person.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

namespace {

void add_handlers(ff::Worker& worker) {
    worker.on("test", [](ff::Task& task) { return task.input() + " passed"; });

    worker.on("deploy", [](ff::Task& task) -> ff::Result {
        if (!task.resumed()) {
            return task.suspend(ff::any_signal("approved").from_distinct_sources(2),
                                {.timeout = std::chrono::hours(1),
                                 .reason = ff::SuspensionReason::waiting_for_approval});
        }
        std::string people;
        for (const ff::SignalInfo& signal : task.resume_signals()) {
            people += (people.empty() ? "" : " and ") + signal.source_identity;
        }
        return task.complete("deployed, approved by " + people);
    });
}

/// Waits until the execution asks for approval; gives the place to answer at.
ff::WaitpointId wait_for_question(ff::Engine& engine, const ff::ExecutionId& id) {
    for (;;) {
        const auto asked = ff::value_or_throw(engine.run(ff::ListPendingWaitpoints{id}));
        if (!asked.waitpoints.empty()) {
            return asked.waitpoints.front().waitpoint_id;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void approve(ff::Engine& engine, const ff::ExecutionId& id, const ff::WaitpointId& at,
             const std::string& who, const std::string& click) {
    ff::DeliverApprovalSignal answer;
    answer.execution_id = id;
    answer.lane_id = "deploy";
    answer.waitpoint_id = at;
    answer.signal_name = "approved";
    answer.actor = who;
    answer.idempotency_suffix = who + click;  // the same click twice is one
    const auto told = ff::value_or_throw(engine.run(answer));
    std::printf("%s: %s\n", who.c_str(), std::string(ff::to_string(told.effect)).c_str());
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Worker worker(engine, {.worker_id = "ci",
                               .ns = "examples",
                               .lanes = {"deploy"},
                               .max_concurrent_tasks = 4,
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker);
    ff::value_or_throw(worker.start());

    ff::FlowBuilder flow("release");
    for (const char* name : {"unit", "load", "security"}) {
        flow.node(name, ff::Submit("test", name).lane("deploy"));
    }
    flow.node("deploy", ff::Submit("deploy").lane("deploy")).needs({"unit", "load", "security"});
    ff::Client client(engine, {.ns = "examples"});
    const auto made = client.submit(flow.fail_fast());

    const ff::ExecutionId deploy = made.node("deploy");
    const ff::WaitpointId at = wait_for_question(*engine, deploy);
    std::printf("tests: %s\n", client.result(made.node("unit"))->c_str());
    approve(*engine, deploy, at, "ann", "1");
    approve(*engine, deploy, at, "ann", "2");
    approve(*engine, deploy, at, "bob", "1");
    std::printf("%s\n", client.wait(deploy, std::chrono::seconds(30)).bytes().c_str());
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "deploy_approval: %s\n", error.what());
        return 1;
    }
}
