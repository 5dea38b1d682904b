// Readers of events that come late, see nothing they want, or ask for little: spec 05 sections 7
// to 9.
#include <variant>

#include "engine/conformance_event.h"

namespace ff::engine::test {

TEST_P(EventConformance, ASubscriptionThatComesTooLateIsToldFirst) {
    FF_NEEDS_CLOCK();
    open_with({.event_retention_ms = 60'000});
    const EventCursor beginning = now_in(EventFamily::completion);
    finish();
    after(120'000);
    const ExecutionId young = finish();
    ok(RunScanner{"event_trimmer"});
    const auto subscription = engine().subscribe(EventFamily::completion, beginning);
    ASSERT_TRUE(subscription) << subscription.error().message();
    const auto first = (*subscription)->next(std::chrono::seconds(20));
    ASSERT_TRUE(std::holds_alternative<EventGap>(first));
    EXPECT_EQ(std::get<EventGap>(first).missed_from, beginning);
    EXPECT_GT(std::get<EventGap>(first).oldest, beginning);
    const auto second = (*subscription)->next(std::chrono::seconds(20));
    ASSERT_TRUE(std::holds_alternative<Event>(second));
    EXPECT_EQ(std::get<Event>(second).execution_id, young);
}

TEST_P(EventConformance, IdleMovesTheCursorPastWhatIsNotWanted) {
    FF_NEEDS_CLOCK();
    const EventCursor beginning = now_in(EventFamily::completion);
    for (int i = 0; i < 3; ++i) {
        finish();
    }
    const EventCursor end = now_in(EventFamily::completion);
    ASSERT_GT(end, beginning);
    const auto subscription =
        engine().subscribe(EventFamily::completion, beginning, {.ns = "nobody"});
    ASSERT_TRUE(subscription) << subscription.error().message();
    EventCursor at = beginning;
    for (int i = 0; i < 1'000 && at < end; ++i) {
        const auto item = (*subscription)->next(std::chrono::milliseconds(20));
        ASSERT_TRUE(std::holds_alternative<SubscriptionIdle>(item));
        at = std::get<SubscriptionIdle>(item).cursor;
        settle();
        clock().advance(20'000);  // as long as a read waits
    }
    EXPECT_GE(at, end);
    // Who begins there misses nothing.
    const ExecutionId next = finish();
    const auto later = engine().subscribe(EventFamily::completion, at);
    ASSERT_TRUE(later);
    const auto item = (*later)->next(std::chrono::seconds(20));
    ASSERT_TRUE(std::holds_alternative<Event>(item));
    EXPECT_EQ(std::get<Event>(item).execution_id, next);
}

TEST_P(EventConformance, ExpiredAndSkippedAreCompletionsToo) {
    SubmitFlow op;
    op.flow_kind = "dag";
    op.ns = "acme";
    op.nodes.resize(2);
    op.nodes[0].name = "up";
    op.nodes[0].execution = job();
    op.nodes[1].name = "down";
    op.nodes[1].execution = job();
    op.edges.resize(1);
    op.edges[0].from = "up";
    op.edges[0].to = "down";
    const auto flow = ok(op);
    ok(Fail{claim().handle, "broken", "permanent"});
    const auto skipped = events(EventFamily::completion, {.execution_id = flow.nodes.at("down")});
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_EQ(member(skipped[0], "outcome"), "skipped");
    EXPECT_EQ(member(skipped[0], "attempt_index"), "null");
    EXPECT_EQ(skipped[0].flow_id, flow.flow_id);
    if (!has_clock()) {
        return;
    }
    const ExecutionId late =
        create(job_with_policy(R"({"timeout_policy":{"execution_deadline_ms":1000}})"));
    after(1'000);
    const auto expired = events(EventFamily::completion, {.execution_id = late});
    ASSERT_EQ(expired.size(), 1U);
    EXPECT_EQ(member(expired[0], "outcome"), "expired");
}

TEST_P(EventConformance, HeartbeatsAreNotTold) {
    ok(registration("w1-a"));
    for (int i = 0; i < 3; ++i) {
        ok(HeartbeatWorker{"acme", "w1-a"});
    }
    EXPECT_EQ(types(EventFamily::workers), Texts{"registered"});
}

TEST_P(EventConformance, AnEndBehindManyRenewalsIsOnTheFirstPageOfOne) {
    const ClaimedTask task = start();
    for (int i = 0; i < 600; ++i) {
        ok(Renew{task.handle, 30'000});
    }
    ok(Complete{task.handle, {}, {}});
    const EventPage page =
        ok(with(reading(EventFamily::completion), [](auto& op) { op.limit = 1; }));
    ASSERT_EQ(page.events.size(), 1U);
    EXPECT_EQ(page.events[0].execution_id, task.execution_id());
    EXPECT_EQ(page.next_cursor, page.events[0].cursor);
    const EventPage rest =
        ok(with(reading(EventFamily::lease_history), [](auto& op) { op.limit = 3; }));
    EXPECT_EQ(types(rest.events), (Texts{"acquired", "renewed", "renewed"}));
    EXPECT_FALSE(rest.at_end);
    EXPECT_EQ(rest.next_cursor, rest.events.back().cursor);
}

TEST_P(EventConformance, ATimelineSaysWhatIsMissing) {
    FF_NEEDS_CLOCK();
    open_with({.event_retention_ms = 60'000});
    const ClaimedTask task = start();
    EXPECT_FALSE(ok(ReadTimeline{task.execution_id()}).gap);
    after(20'000);
    ok(Renew{task.handle, 3'600'000});
    after(50'000);
    ok(Complete{task.handle, {}, {}});
    ok(RunScanner{"event_trimmer"});
    const EventPage page = ok(ReadTimeline{task.execution_id()});
    EXPECT_EQ(types(page.events), (Texts{"revoked", "completed"}));
    ASSERT_TRUE(page.gap) << "it was acquired too long ago";
    EXPECT_EQ(page.gap->oldest, page.events.front().cursor);
}

}  // namespace ff::engine::test
