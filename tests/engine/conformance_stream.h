// What the tests of attempt streams share: frames, reads, and tails that wait.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/conformance_suspend.h"

namespace ff::engine::test {

class StreamConformance : public SuspendConformance {
  protected:
    static Frame durable(std::string payload, std::string type = "log") {
        Frame frame;
        frame.frame_type = std::move(type);
        frame.payload = std::move(payload);
        return frame;
    }
    static Frame patch(std::string payload) {
        Frame frame = durable(std::move(payload), "summary_token");
        frame.mode = FrameMode::summary;
        return frame;
    }
    static Frame live(std::string payload, std::uint32_t ttl_ms = 10'000) {
        Frame frame = durable(std::move(payload), "delta");
        frame.mode = FrameMode::best_effort;
        frame.best_effort.ttl_ms = ttl_ms;
        return frame;
    }
    static AppendFrames append(const ClaimedTask& task, std::vector<Frame> frames) {
        AppendFrames op;
        op.lease = task.handle;
        op.frames = std::move(frames);
        return op;
    }
    AppendedFrame put(const ClaimedTask& task, Frame frame) {
        const auto result = ok(append(task, {std::move(frame)}));
        EXPECT_EQ(result.appended.size(), 1U);
        return result.appended.empty() ? AppendedFrame{} : result.appended.front();
    }
    static ReadStream reading(const ClaimedTask& task, std::uint64_t limit = 1'000) {
        ReadStream op;
        op.execution_id = task.execution_id();
        op.attempt_index = task.handle.attempt_index;
        op.limit = limit;
        return op;
    }
    static TailStream tailing(const ClaimedTask& task, FrameId after = {},
                              DurationMs block_ms = 0) {
        TailStream op;
        op.execution_id = task.execution_id();
        op.attempt_index = task.handle.attempt_index;
        op.after = after;
        op.block_ms = block_ms;
        return op;
    }
    static std::vector<std::string> payloads(const StreamPage& page) {
        std::vector<std::string> out;
        for (const StreamFrame& frame : page.frames) {
            out.push_back(frame.payload);
        }
        return out;
    }
    std::vector<std::string> stream(const ClaimedTask& task) { return payloads(ok(reading(task))); }
    std::string closed(const ClaimedTask& task) {
        const StreamPage page = ok(reading(task));
        EXPECT_EQ(page.closed_at.has_value(), page.closed_reason.has_value());
        return page.closed_reason ? std::string(to_string(*page.closed_reason)) : "open";
    }
    std::optional<StreamSummary> summary(const ClaimedTask& task) {
        return ok(ReadStreamSummary{task.execution_id(), task.handle.attempt_index});
    }
    std::future<expected<StreamPage>> send(TailStream op) {
        auto promise = std::make_shared<std::promise<expected<StreamPage>>>();
        auto future = promise->get_future();
        engine().async(std::move(op), [promise](expected<StreamPage> page) {
            promise->set_value(std::move(page));
        });
        settle();
        return future;
    }
    /// The answer, which must come.
    static StreamPage got(std::future<expected<StreamPage>>& sent) {
        EXPECT_EQ(sent.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        auto page = sent.get();
        EXPECT_TRUE(page) << page.error().message();
        return page ? *page : StreamPage{};
    }
    static bool answered(const std::future<expected<StreamPage>>& sent) {
        return sent.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    using Texts = std::vector<std::string>;
};

}  // namespace ff::engine::test
