// Token stream: a model answers word by word, and whoever asked reads along. The first attempt dies
// in the middle of a sentence; the reader hears the second one begin anew. Beside the words the
// attempt keeps a small document of how far it has come.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

struct Question {
    std::string text;
};
FF_JSON(Question, text)

/// Where a model would be called.
std::vector<std::string> answer(const Question& question) {
    return {"You ", "asked: ", question.text, " ", "The ", "answer ", "is ", "42."};
}

void add_handlers(ff::Worker& worker) {
    worker.on<Question>("ask", [](ff::Task& task, const Question& question) -> std::string {
        ff::FrameWriter out = task.frames();
        std::string whole;
        int tokens = 0;
        for (const std::string& token : answer(question)) {
            // Only who reads along needs them: they are kept for some seconds, not for ever.
            out.write_live("delta", token, std::chrono::seconds(10));
            whole += token;
            tokens += 1;
            if (tokens == 3 && task.attempt_index() == 0) {
                throw ff::TaskFailure("transient", "the model hung up");
            }
        }
        out.write_summary({{"tokens", tokens}, {"finish_reason", "stop"}});
        return whole;
    });
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Worker worker(engine, {.worker_id = "model",
                               .ns = "examples",
                               .lanes = {"models"},
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker);
    ff::value_or_throw(worker.start());
    ff::Client client(engine, {.ns = "examples"});
    ff::Backoff at_once;
    at_once.type = ff::Backoff::Type::fixed;
    at_once.delay_ms = 0;
    const auto id = client
                        .submit(ff::Submit("ask", Question{"what is six by seven?"})
                                    .lane("models")
                                    .retries(1)
                                    .backoff(at_once))
                        .id();

    ff::FollowOptions words;
    words.frame_types = {"delta"};
    std::uint32_t attempt = 0;
    for (const ff::FollowedFrame& frame : client.follow(id, words)) {
        if (frame.attempt_index != attempt) {
            attempt = frame.attempt_index;
            std::printf("\nonce more:\n");
        }
        std::printf("%s", frame.text().c_str());
        std::fflush(stdout);
    }
    std::printf("\nsummary: %s\n", client.summary(id)->document.c_str());
    std::printf("result: %s\n", client.wait(id, std::chrono::seconds(30)).bytes().c_str());
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "token_stream: %s\n", error.what());
        return 1;
    }
}
