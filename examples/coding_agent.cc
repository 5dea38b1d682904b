// Coding agent: a loop of steps that a model would take, and a person who looks at the change
// before it is merged. What the person objects to is worked in, until they say yes.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

namespace {

/// Where a model would be called.
std::string write_patch(const std::string& task, const std::string& review) {
    return review.empty() ? "patch for " + task : "patch for " + task + " (" + review + ")";
}

void add_handlers(ff::Worker& worker) {
    worker.on("agent", [](ff::Task& task) -> ff::Result {
        std::string review;
        for (const ff::SignalInfo& signal : task.resume_signals()) {
            if (signal.signal_name == "approved") {
                return task.complete("merged");
            }
            review = signal.payload.value_or("");
        }
        for (const int done : {25, 50, 75}) {
            task.progress(done, "step " + std::to_string(done / 25));
        }
        const std::string patch = write_patch(task.input(), review);
        task.progress(100, patch);
        // Nobody needs to answer today: the worker is free meanwhile.
        return task.suspend(ff::ResumeCondition::signal_set("review", {"approved", "rejected"}),
                            {.timeout = std::chrono::hours(72),
                             .on_timeout = ff::TimeoutBehavior::escalate,
                             .reason = ff::SuspensionReason::waiting_for_operator_review});
    });
}

/// A person looks at what there is and answers.
void review(ff::Engine& engine, const ff::ExecutionId& id, const std::string& word,
            const std::string& note) {
    for (;;) {
        const auto asked = ff::value_or_throw(engine.run(ff::ListPendingWaitpoints{id}));
        if (asked.waitpoints.empty()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            continue;
        }
        const auto shown = ff::value_or_throw(engine.run(ff::DescribeExecution{id}));
        std::printf("%s: %s\n", shown->progress_message->c_str(), word.c_str());
        ff::DeliverApprovalSignal answer;
        answer.execution_id = id;
        answer.lane_id = "agents";
        answer.waitpoint_id = asked.waitpoints.front().waitpoint_id;
        answer.signal_name = word;
        answer.actor = "ann";
        answer.idempotency_suffix = "1";
        answer.note = note;
        ff::value_or_throw(engine.run(answer));
        return;
    }
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Worker worker(engine, {.worker_id = "agent",
                               .ns = "examples",
                               .lanes = {"agents"},
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker);
    ff::value_or_throw(worker.start());
    ff::Client client(engine, {.ns = "examples"});
    const auto id = client.submit(ff::Submit("agent", "issue 7").lane("agents")).id();
    review(*engine, id, "rejected", "add a test");
    review(*engine, id, "approved", "");
    std::printf("%s\n", client.wait(id, std::chrono::seconds(30)).bytes().c_str());
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "coding_agent: %s\n", error.what());
        return 1;
    }
}
