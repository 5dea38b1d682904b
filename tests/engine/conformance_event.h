// What the tests of events share: reads of a family, members of payloads, readers that wait.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/json.h>

#include "engine/conformance.h"

namespace ff::engine::test {

class EventConformance : public Conformance {
  protected:
    static ReadEvents reading(EventFamily family, EventCursor cursor = EventCursor::earliest()) {
        ReadEvents op;
        op.family = family;
        op.cursor = cursor;
        op.limit = 1'000;
        return op;
    }
    std::vector<Event> events(EventFamily family, EventFilter filter = {}) {
        return ok(with(reading(family), [&](auto& op) { op.filter = std::move(filter); })).events;
    }
    static std::vector<std::string> types(const std::vector<Event>& events) {
        std::vector<std::string> out;
        for (const Event& event : events) {
            out.push_back(event.type);
        }
        return out;
    }
    std::vector<std::string> types(EventFamily family, EventFilter filter = {}) {
        return types(events(family, std::move(filter)));
    }
    /// A member of an event's payload as text; `null`, or nothing when it is not there.
    static std::string member(const Event& event, std::string_view name) {
        const auto payload = js::parse(event.payload);
        EXPECT_TRUE(payload) << event.payload;
        const js::Value* found = payload ? payload->find(name) : nullptr;
        if (found == nullptr) {
            return {};
        }
        return found->if_string() != nullptr ? *found->if_string() : js::dump(*found);
    }
    /// The place behind everything there is.
    EventCursor now_in(EventFamily family) { return ok(reading(family, {})).next_cursor; }

    std::future<expected<EventPage>> send(ReadEvents op) {
        auto promise = std::make_shared<std::promise<expected<EventPage>>>();
        auto future = promise->get_future();
        engine().async(std::move(op), [promise](expected<EventPage> page) {
            promise->set_value(std::move(page));
        });
        settle();
        return future;
    }
    static EventPage got(std::future<expected<EventPage>>& sent) {
        EXPECT_EQ(sent.wait_for(std::chrono::seconds(20)), std::future_status::ready);
        auto page = sent.get();
        EXPECT_TRUE(page) << page.error().message();
        return page ? *page : EventPage{};
    }
    static bool answered(const std::future<expected<EventPage>>& sent) {
        return sent.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    ExecutionId finish(CreateExecution op = job()) {
        const ClaimedTask task = start(std::move(op));
        ok(Complete{task.handle, {}, {}});
        return task.execution_id();
    }
    static CancelExecution cancel_of(const ExecutionId& id) {
        CancelExecution op;
        op.lease.execution_id = id;
        op.reason = "unwanted";
        return op;
    }
    static CreateExecution tagged(std::string key, std::string value) {
        return with(job(), [&](auto& op) { op.tags[std::move(key)] = std::move(value); });
    }
    using Texts = std::vector<std::string>;
};

}  // namespace ff::engine::test
