// What a handler writes into the stream of its attempt: gathered, sent in batches, never lost
// without a word and never written twice.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "worker/frame_buffer.h"
#include "worker/rig.h"

namespace ff::worker::test {

class Streams : public WorkerTest {
  protected:
    using Texts = std::vector<std::string>;

    static Error unreachable() { return {ErrorCode::store_io, "unreachable", {}}; }

    StreamPage page(const ExecutionId& id, std::uint32_t attempt = 0) {
        ReadStream op;
        op.execution_id = id;
        op.attempt_index = attempt;
        op.limit = frames_per_read_max;
        auto found = engine->run(op);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *found : StreamPage{};
    }
    Texts payloads(const ExecutionId& id, std::uint32_t attempt = 0) {
        Texts out;
        for (const StreamFrame& frame : page(id, attempt).frames) {
            out.push_back(frame.payload);
        }
        return out;
    }
    static Texts numbers(int count) {
        Texts out;
        for (int i = 0; i < count; ++i) {
            out.push_back(std::to_string(i));
        }
        return out;
    }
    /// Remembers how many frames and bytes each batch has.
    void watch_batches() {
        engine->refuse([this](const Request& request) -> std::optional<Error> {
            if (const auto* append = ff::get_if<AppendFrames>(&request)) {
                std::size_t bytes = 0;
                for (const Frame& frame : append->frames) {
                    bytes += frame.payload.size();
                }
                const std::lock_guard lock(mutex);
                sizes.push_back(append->frames.size());
                bytes_most = std::max(bytes_most, bytes);
            }
            return std::nullopt;
        });
    }
    std::vector<std::size_t> batch_sizes() {
        const std::lock_guard lock(mutex);
        return sizes;
    }

    Gate gate;
    std::mutex mutex;
    std::vector<std::size_t> sizes;  // guarded by mutex
    std::size_t bytes_most = 0;      // guarded by mutex
};

struct Step {
    std::string name;
    int number = 0;
};
FF_JSON(Step, name, number)

TEST_F(Streams, FramesStandInTheOrderTheyWereWrittenInWhoeverWroteThem) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        FrameWriter out = task.frames();
        out.write("delta", "a");
        const AppendedFrame second = task.append("log", "b", {"request-7", FrameKind::event, 0});
        EXPECT_EQ(second.frame_count, 2U);
        EXPECT_FALSE(second.duplicate);
        out.write("step", Step{"think", 3});
        task.frames().line("c");
        out.error_line("d");
        task.append_live("delta", "e", 5s);
        out.write_live("delta", "f");
        EXPECT_EQ(task.append_summary({{"done", true}}), 1U);
        out.write_summary({{"done", nullptr}, {"n", 2}});
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    EXPECT_TRUE(wait(id).completed());
    const StreamPage all = page(id);
    ASSERT_EQ(all.frames.size(), 9U);
    const Texts expected_types{"delta", "log",   "step",    "stdout", "stderr",
                               "delta", "delta", "summary", "summary"};
    const Texts expected_texts{"a",
                               "b",
                               R"({"name":"think","number":3})",
                               "c",
                               "d",
                               "e",
                               "f",
                               R"({"done":true})",
                               R"({"done":null,"n":2})"};
    for (std::size_t i = 0; i < all.frames.size(); ++i) {
        EXPECT_EQ(all.frames[i].frame_type, expected_types[i]) << i;
        EXPECT_EQ(all.frames[i].payload, expected_texts[i]) << i;
    }
    EXPECT_EQ(all.frames[1].correlation_id, "request-7");
    EXPECT_EQ(all.frames[5].mode, FrameMode::best_effort);
    EXPECT_EQ(all.frames[5].ttl_ms, 5'000U);
    EXPECT_EQ(all.frames[6].ttl_ms, 10'000U);
    EXPECT_EQ(all.frames[8].summary_version, 2U);
    EXPECT_EQ(all.closed_reason, StreamClosedReason::attempt_success);
    const auto summary = engine->run(ReadStreamSummary{id, 0});
    ASSERT_TRUE(summary && *summary);
    EXPECT_EQ((*summary)->document, R"({"n":2})");
}

TEST_F(Streams, WhatWasWrittenIsSentTogetherFiftyMillisecondsAfterTheFirst) {
    const auto watched = std::make_shared<WatchedClock>(clock);
    WorkerOptions given = options();
    given.clock = watched;
    Worker worker(engine, given);
    worker.on("k", [this](Task& task) {
        FrameWriter out = task.frames();
        for (const std::string& text : numbers(3)) {
            out.write("n", text);
        }
        gate.pass();
    });
    watch_batches();
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    const TimestampMs due = clock->now() + flush_after_ms;
    ASSERT_TRUE(eventually([&] { return watched->asked(due); }));
    clock->advance(flush_after_ms - 1);
    EXPECT_EQ(payloads(id), Texts{});
    clock->advance(1);
    EXPECT_TRUE(eventually([&] { return payloads(id) == numbers(3); }));
    EXPECT_EQ(batch_sizes(), std::vector<std::size_t>{3});
    gate.open();
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(batch_sizes().size(), 1U) << "there was nothing left to send";
}

TEST_F(Streams, SixtyFourFramesOrSixtyFourKibibytesAreNotWaitedFor) {
    Worker worker(engine, options());
    worker.on("many", [this](Task& task) {
        for (const std::string& text : numbers(static_cast<int>(flush_frames))) {
            task.frames().write("n", text);
        }
        gate.pass();
    });
    worker.on("large", [this](Task& task) {
        task.frames().write("n", std::string(40'000, 'x'));
        task.frames().write("n", std::string(40'000, 'y'));
        gate.pass();
    });
    watch_batches();
    start(worker);
    const ExecutionId many = submit(Submit("many"));
    EXPECT_TRUE(eventually([&] { return payloads(many).size() == flush_frames; }));
    gate.open();
    const ExecutionId large = submit(Submit("large"));
    EXPECT_TRUE(eventually([&] { return payloads(large).size() == 2; }));
    EXPECT_EQ(batch_sizes(), (std::vector<std::size_t>{flush_frames, 2}));
}

TEST_F(Streams, BatchesStayWithinTheirLimits) {
    Worker worker(engine, options());
    worker.on("small", [](Task& task) {
        FrameWriter out = task.frames();
        for (const std::string& text : numbers(1'000)) {
            out.write("n", text);
        }
    });
    worker.on("large", [](Task& task) {
        for (int i = 0; i < 10; ++i) {
            task.frames().write("n", std::string(frame_bytes_max, static_cast<char>('a' + i)));
        }
    });
    watch_batches();
    engine->hold("append_frames");
    start(worker);
    const ExecutionId id = submit(Submit("small"));
    ASSERT_TRUE(eventually([&] { return engine->holding() == 1; }));
    engine->let_go();
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(payloads(id), numbers(1'000));
    for (const std::size_t size : batch_sizes()) {
        EXPECT_LE(size, frames_per_append_max);
    }
    const ExecutionId large = submit(Submit("large"));
    EXPECT_TRUE(wait(large).completed());
    EXPECT_EQ(payloads(large).size(), 10U);
    const std::lock_guard lock(mutex);
    EXPECT_LE(bytes_most, batch_bytes_max);
}

TEST_F(Streams, ALostAnswerWritesNothingTwice) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) {
        task.frames().write("n", "0");
        task.frames().write("n", "1");
        EXPECT_EQ(task.append_summary({{"a", 1}}), 1U);
        EXPECT_EQ(task.append_summary({{"b", 2}}), 2U);
    });
    std::atomic<int> lost{0};
    engine->lose_answers([&](const Request& request) -> std::optional<Error> {
        const bool odd = ff::holds_alternative<AppendFrames>(request) && lost++ % 2 == 0;
        return odd ? std::optional<Error>(unreachable()) : std::nullopt;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] {
        clock->advance(50);
        return worker.stats().completed == 1;
    })) << lines->all();
    EXPECT_EQ(payloads(id), (Texts{"0", "1", R"({"a":1})", R"({"b":2})"}));
    EXPECT_EQ((*engine->run(ReadStreamSummary{id, 0}))->version, 2U);
    // At least two batches, more if the clock comes between two frames; each is sent twice.
    EXPECT_GE(lost, 4);
    EXPECT_EQ(lines->count("frames of its stream did not get through") * 2,
              static_cast<std::size_t>(lost))
        << lines->all();
}

TEST_F(Streams, WhateverEndsTheTaskTheRestIsSentFirst) {
    Worker worker(engine, options());
    const auto write = [](Task& task) { task.frames().write("n", "last words"); };
    worker.on("return", [&](Task& task) { write(task); });
    worker.on("throw", [&](Task& task) {
        write(task);
        throw std::runtime_error("boom");
    });
    worker.on("cancel", [&](Task& task) {
        write(task);
        return task.cancel("no need");
    });
    worker.on("delay", [&](Task& task) {
        write(task);
        return task.delay(1h);
    });
    worker.on("suspend", [&](Task& task) {
        write(task);
        return task.suspend(any_signal("go"));
    });
    start(worker);
    for (const char* kind : {"return", "throw", "cancel", "delay", "suspend"}) {
        const ExecutionId id = submit(Submit(kind));
        ASSERT_TRUE(eventually([&] {
            const PublicState now = state(id);
            return now != PublicState::waiting && now != PublicState::active;
        })) << kind;
        EXPECT_EQ(payloads(id), Texts{"last words"}) << kind;
    }
}

TEST_F(Streams, AnAttemptThatGoesOnGoesOnWithItsStream) {
    Worker worker(engine, options());
    worker.on("k", [](Task& task) -> Result {
        task.frames().write("n", task.resumed() ? "after" : "before");
        return task.resumed() ? task.complete() : task.delay(1ms);
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] {
        clock->advance(5);
        return worker.stats().completed == 1;
    }));
    EXPECT_EQ(payloads(id), (Texts{"before", "after"}))
        << "the numbers of the second lease are above those of the first";
}

TEST_F(Streams, ARefusedFrameIsToldByTheNextCallAndLeavesTheOthersAlone) {
    json deep = 1;
    for (int i = 0; i < 20; ++i) {
        deep = json{{"a", deep}};
    }
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) {
        FrameWriter out = task.frames();
        out.write("n", "0");
        out.write_summary(deep);
        out.write("n", "1");
        const auto flushed = out.try_flush();
        ASSERT_FALSE(flushed);
        EXPECT_EQ(flushed.error().code, ErrorCode::invalid_input);
        EXPECT_TRUE(flushed.error().detail.contains("patch_depth_exceeded"));
        EXPECT_TRUE(out.try_flush()) << "it is told once";
        out.write("n", "2");
        EXPECT_EQ(task.try_append_summary(deep).error().code, ErrorCode::invalid_input);
        EXPECT_TRUE(out.try_flush()) << "who asked has been told already";
        // What can be seen here is refused here.
        EXPECT_EQ(out.try_write("n", std::string(frame_bytes_max + 1, 'x')).error().code,
                  ErrorCode::retention_limit_exceeded);
        EXPECT_EQ(out.try_write("bad\ntype", "").error().code, ErrorCode::invalid_frame_type);
        EXPECT_EQ(out.try_write_summary(json("text")).error().code, ErrorCode::invalid_input);
        out.write_summary(deep);  // nobody is left to be told
        asked = true;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    EXPECT_TRUE(wait(id).completed());
    EXPECT_TRUE(asked);
    EXPECT_EQ(payloads(id), (Texts{"0", "1", "2"}));
    EXPECT_TRUE(lines->contain("1 frame(s) of its stream were refused: ")) << lines->all();
}

TEST_F(Streams, NothingCanBeWrittenToAnAttemptThatWasEndedFromOutside) {
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) {
        FrameWriter out = task.frames();
        out.write("n", "0");
        out.flush();
        client->cancel(task.execution_id(), "enough");
        EXPECT_TRUE(out.try_write("n", "1")) << "it does not know yet";
        EXPECT_EQ(out.try_flush().error().code, ErrorCode::stream_closed);
        EXPECT_EQ(out.try_write("n", "2").error().code, ErrorCode::stream_closed);
        EXPECT_EQ(task.try_append("n", "3").error().code, ErrorCode::stream_closed);
        EXPECT_EQ(task.read_stream().frames.size(), 1U) << "reading needs no lease";
        asked = true;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    EXPECT_EQ(wait(id).state, PublicState::cancelled);
    EXPECT_TRUE(eventually([&] { return asked.load(); }));
    EXPECT_EQ(payloads(id), Texts{"0"});
    EXPECT_EQ(page(id).closed_reason, StreamClosedReason::attempt_cancelled);
}

TEST_F(Streams, AWriterWaitsWhenTooMuchHasNotBeenTaken) {
    Worker worker(engine, options());
    constexpr int total = 3'000;
    std::atomic<int> written{0};
    worker.on("k", [&](Task& task) {
        FrameWriter out = task.frames();
        for (const std::string& text : numbers(total)) {
            out.write("n", text);
            written += 1;
        }
    });
    engine->hold("append_frames");
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    // One batch is under way, and what may wait behind it.
    const int most = static_cast<int>(flush_frames + waiting_frames_max);
    ASSERT_TRUE(eventually([&] { return written == most; })) << written;
    clock->advance(1'000);
    EXPECT_EQ(written, most);
    EXPECT_EQ(engine->holding(), 1U) << "one batch at a time";
    engine->let_go();
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(payloads(id), numbers(total));
}

TEST_F(Streams, TheBytesThatWaitAreBoundedToo) {
    Worker worker(engine, options());
    std::atomic<int> written{0};
    worker.on("k", [&](Task& task) {
        for (int i = 0; i < 100; ++i) {
            task.frames().write("n", std::string(60'000, 'x'));
            written += 1;
        }
    });
    engine->hold("append_frames");
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return written >= 17; }));
    clock->advance(1'000);
    EXPECT_LE(written, 20) << "about 1 MiB";
    engine->let_go();
    EXPECT_TRUE(wait(id).completed());
    EXPECT_EQ(payloads(id).size(), 100U);
}

TEST_F(Streams, AnEngineThatIsAwayIsWaitedForAsLongAsTheLeaseLasts) {
    Worker worker(engine, options());
    std::atomic<bool> told{false};
    worker.on("k", [&](Task& task) {
        if (task.attempt_index() > 0) {
            return;
        }
        task.frames().write("n", "0");
        const auto flushed = task.frames().try_flush();
        EXPECT_EQ(flushed.error().code, ErrorCode::stale_owner_cannot_append);
        told = true;
    });
    engine->refuse([](const Request& request) -> std::optional<Error> {
        const bool touches =
            ff::holds_alternative<AppendFrames>(request) || ff::holds_alternative<Renew>(request);
        return touches ? std::optional<Error>(unreachable()) : std::nullopt;
    });
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] { return engine->count("append_frames") >= 1; }));
    const TimestampMs began = clock->now();
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return told.load();
    })) << lines->all();
    EXPECT_GE(clock->now(), began + 29'000);
    EXPECT_GE(engine->count("append_frames"), 3U);
    engine->refuse({});
    ASSERT_TRUE(eventually([&] {
        clock->advance(100);
        return state(id) == PublicState::completed;
    }));
}

TEST_F(Streams, ManyWritersAndABadConnectionLoseNothingAndRepeatNothing) {
    constexpr unsigned seed = 7;
    constexpr int writers = 4;
    constexpr int each = 300;
    Worker worker(engine, options());
    worker.on("k", [&](Task& task) {
        std::vector<std::jthread> threads;
        for (int writer = 0; writer < writers; ++writer) {
            threads.emplace_back([&task, writer] {
                std::minstd_rand random(seed + static_cast<unsigned>(writer));
                FrameWriter out = task.frames();
                for (int i = 0; i < each; ++i) {
                    const std::string text = std::to_string(i);
                    const std::string type = "writer " + std::to_string(writer);
                    switch (random() % 16) {
                        case 0: (void)task.append(type, text); break;
                        case 1: out.flush(); [[fallthrough]];
                        default: out.write(type, text); break;
                    }
                }
            });
        }
    });
    std::minstd_rand faults(seed);  // used under the engine's own lock
    const auto now_and_then = [&](const Request& request) -> std::optional<Error> {
        const bool fault = ff::holds_alternative<AppendFrames>(request) && faults() % 4 == 0;
        return fault ? std::optional<Error>(unreachable()) : std::nullopt;
    };
    engine->refuse(now_and_then);
    engine->lose_answers(now_and_then);
    start(worker);
    const ExecutionId id = submit(Submit("k"));
    ASSERT_TRUE(eventually([&] {
        clock->advance(20);
        return worker.stats().completed == 1;
    })) << lines->all();
    std::map<std::string, Texts> heard;
    for (const StreamFrame& frame : page(id).frames) {
        heard[frame.frame_type].push_back(frame.payload);
    }
    ASSERT_EQ(heard.size(), static_cast<std::size_t>(writers));
    for (const auto& [writer, texts] : heard) {
        EXPECT_EQ(texts, numbers(each)) << writer << ", seed " << seed;
    }
}

TEST_F(Streams, ATaskReadsWhatItAndItsEarlierAttemptsWrote) {
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) {
        task.frames().write("n", "attempt " + std::to_string(task.attempt_index()));
        task.frames().write_summary({{"attempt", task.attempt_index()}});
        if (task.attempt_index() == 0) {
            throw std::runtime_error("again");
        }
        const StreamPage own = task.tail_stream();
        ASSERT_EQ(own.frames.size(), 2U);
        EXPECT_EQ(own.frames[0].payload, "attempt 1");
        EXPECT_FALSE(own.closed_at);
        EXPECT_EQ(task.tail_stream(own.frames[0].id).frames.size(), 1U);
        EXPECT_EQ(task.read_summary()->document, R"({"attempt":1})");
        const StreamPage first = task.read_stream({}, FrameCursor::end(), 1, 0);
        ASSERT_EQ(first.frames.size(), 1U);
        EXPECT_EQ(first.frames[0].payload, "attempt 0");
        EXPECT_EQ(first.closed_reason, StreamClosedReason::attempt_failure);
        EXPECT_EQ(task.read_summary(0)->document, R"({"attempt":0})");
        EXPECT_FALSE(task.read_summary(7));
        asked = true;
    });
    start(worker);
    Backoff at_once;
    at_once.type = Backoff::Type::fixed;
    at_once.delay_ms = 0;
    const ExecutionId id = submit(Submit("k").retries(1).backoff(at_once));
    EXPECT_TRUE(wait(id).completed());
    EXPECT_TRUE(asked);
}

TEST_F(Streams, AFinishedTaskTakesNoFrames) {
    Worker worker(engine, options());
    std::atomic<bool> asked{false};
    worker.on("k", [&](Task& task) -> Result {
        Result done = task.complete();
        EXPECT_TRUE(task.frames().try_write("n", "late").error().detail.contains("task finished"));
        EXPECT_TRUE(task.try_append("n", "late").error().detail.contains("task finished"));
        asked = true;
        return done;
    });
    start(worker);
    EXPECT_TRUE(wait(submit(Submit("k"))).completed());
    EXPECT_TRUE(eventually([&] { return asked.load(); }));
    EXPECT_EQ(engine->count("append_frames"), 0U);
}

}  // namespace ff::worker::test
