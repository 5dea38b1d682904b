// Readers of events that come late, see nothing they want, or ask for little: spec 05 sections 7
// to 9.
#include <algorithm>
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
    const ExecutionId id = create();
    const ClaimedTask task = claim();
    ok(SetExecutionTags{id, {{"turn.n", "1"}}});
    EXPECT_FALSE(ok(ReadTimeline{id}).gap);
    after(120'000);
    ok(RunScanner{"event_trimmer"});
    const EventPage page = ok(ReadTimeline{id});
    EXPECT_EQ(page.events.front().type, "acquired");
    EXPECT_EQ(std::ranges::count(types(page.events), "attached"), 0);
    ASSERT_TRUE(page.gap) << "its tag was set too long ago";
    EXPECT_GT(page.gap->oldest, page.events.front().cursor);
}

// ------------------------------------------------------------------------- histories and the trim

TEST_P(EventConformance, AHistoryIsKeptAsLongAsItsExecution) {
    FF_NEEDS_CLOCK();
    open_with({.retention_ms = 600'000, .event_retention_ms = 60'000});
    const EventCursor beginning = now_in(EventFamily::lease_history);
    const ClaimedTask task = start();
    after(20'000);
    ok(Renew{task.handle, 3'600'000});
    after(50'000);
    ok(Complete{task.handle, {}, {}});
    const std::vector<std::string> whole = types(ok(ReadTimeline{task.execution_id()}).events);
    EXPECT_EQ(whole, (Texts{"acquired", "revoked", "completed"}));
    ok(RunScanner{"event_trimmer"});
    // Who reads events is not shown what was trimmed, and is told.
    const EventPage late = ok(reading(EventFamily::lease_history, beginning));
    EXPECT_TRUE(late.gap);
    EXPECT_EQ(types(late.events), (Texts{"renewed", "revoked"}));
    EXPECT_FALSE(ok(reading(EventFamily::completion, beginning)).gap) << "none was lost";
    after(120'000);
    ok(RunScanner{"event_trimmer"});
    EXPECT_TRUE(events(EventFamily::lease_history).empty());
    EXPECT_TRUE(events(EventFamily::completion).empty());
    EXPECT_TRUE(ok(reading(EventFamily::completion, beginning)).gap);

    const EventPage page = ok(ReadTimeline{task.execution_id()});
    EXPECT_EQ(types(page.events), whole);
    EXPECT_FALSE(page.gap);
    const auto history = ok(ReadLeaseHistory{task.execution_id()});
    ASSERT_EQ(history.size(), 2U);
    EXPECT_EQ(history[0].event, "acquired");
    EXPECT_EQ(history[1].event, "released");

    after(600'000);
    EXPECT_EQ(refused(ReadLeaseHistory{task.execution_id()}), "execution_not_found");
    EXPECT_TRUE(events(EventFamily::lease_history).empty());
}

TEST_P(EventConformance, HistoriesThatAreKeptDoNotCountAsEvents) {
    FF_NEEDS_CLOCK();
    open_with({.event_rows_max = 4});
    std::vector<ExecutionId> ids;
    for (int i = 0; i < 6; ++i) {
        ids.push_back(finish());
        ok(RunScanner{"event_trimmer"});
        EXPECT_EQ(events(EventFamily::lease_history).size(), std::min(4U, 2U * (i + 1U)));
    }
    EXPECT_EQ(events(EventFamily::completion).size(), 2U);
    for (const ExecutionId& id : ids) {
        EXPECT_EQ(ok(ReadLeaseHistory{id}).size(), 2U);
    }
}

TEST_P(EventConformance, EventsOutliveTheirExecution) {
    FF_NEEDS_CLOCK();
    open_with({.event_retention_ms = 60'000});
    const ExecutionId id =
        finish(job_with_policy(R"({"stream_policy":{"retention_ttl_ms":1000}})"));
    after(1'000);
    EXPECT_EQ(refused(ReadTimeline{id}), "execution_not_found");
    ok(RunScanner{"event_trimmer"});
    EXPECT_EQ(types(EventFamily::completion), Texts{"completed"});
    EXPECT_EQ(types(EventFamily::lease_history), (Texts{"acquired", "revoked"}));
    after(60'000);
    ok(RunScanner{"event_trimmer"});
    EXPECT_TRUE(events(EventFamily::completion).empty());
    EXPECT_TRUE(events(EventFamily::lease_history).empty());
}

}  // namespace ff::engine::test
