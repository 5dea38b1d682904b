// Events, subscriptions and webhooks: spec 05, part B.
#include <future>
#include <set>
#include <thread>

#include <ff/json.h>

#include "engine/conformance_event.h"

namespace ff::engine::test {

FF_ON_EVERY_ENGINE(EventConformance);

// --------------------------------------------------------------------------------------- families

TEST_P(EventConformance, ClaimRenewCompleteYieldsAcquiredRenewedRevoked) {
    const ClaimedTask task = start();
    ok(Renew{task.handle, 30'000});
    ok(Complete{task.handle, {}, {}});
    const auto history = events(EventFamily::lease_history);
    ASSERT_EQ(types(history), (Texts{"acquired", "renewed", "revoked"}));
    for (const Event& event : history) {
        EXPECT_EQ(event.execution_id, task.execution_id());
        EXPECT_EQ(event.ns, "acme");
        EXPECT_EQ(event.family, EventFamily::lease_history);
        EXPECT_EQ(member(event, "lease_id"), task.handle.lease_id.to_string());
        EXPECT_EQ(member(event, "lease_epoch"), "1");
        EXPECT_EQ(member(event, "attempt_index"), "0");
    }
    EXPECT_EQ(member(history[0], "worker_id"), "w1");
    EXPECT_EQ(member(history[0], "worker_instance_id"), "w1-a");
    EXPECT_NE(member(history[1], "expires_at"), "");
    EXPECT_EQ(member(history[2], "revoked_by"), "backend");
    EXPECT_EQ(member(history[2], "reason"), "completed");
}

TEST_P(EventConformance, EveryEndIsACompletionOnce) {
    const ExecutionId done = finish();
    const ClaimedTask failing = start();
    ok(Fail{failing.handle, "broken", "bug"});
    const ExecutionId waiting = create();
    ok(cancel_of(waiting));
    const auto found = events(EventFamily::completion);
    ASSERT_EQ(types(found), (Texts{"completed", "completed", "completed"}));
    EXPECT_EQ(found[0].execution_id, done);
    EXPECT_EQ(member(found[0], "outcome"), "success");
    EXPECT_EQ(member(found[0], "attempt_index"), "0");
    EXPECT_EQ(member(found[0], "execution_kind"), "render");
    EXPECT_EQ(member(found[0], "lane_id"), "default");
    EXPECT_EQ(member(found[1], "outcome"), "failed");
    EXPECT_EQ(member(found[2], "outcome"), "cancelled");
    EXPECT_EQ(member(found[2], "attempt_index"), "null");
}

TEST_P(EventConformance, AReplayThatEndsIsAnotherCompletion) {
    const ExecutionId id = finish();
    ok(ReplayExecution{id});
    ok(Complete{claim().handle, {}, {}});
    EXPECT_EQ(events(EventFamily::completion, {.execution_id = id}).size(), 2U);
    EXPECT_EQ(types(EventFamily::operator_), (Texts{"replayed"}));
}

TEST_P(EventConformance, LostAndTakenOverLeasesAreTold) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    after(40'000);
    const ClaimedTask second = claim("w2");
    const auto history = events(EventFamily::lease_history);
    ASSERT_EQ(types(history), (Texts{"acquired", "expired", "reclaimed"}));
    EXPECT_EQ(member(history[1], "prev_owner"), "w1-a");
    EXPECT_EQ(member(history[1], "lease_id"), task.handle.lease_id.to_string());
    EXPECT_EQ(member(history[2], "new_owner"), "w2-a");
    EXPECT_EQ(member(history[2], "new_lease_id"), second.handle.lease_id.to_string());
    EXPECT_EQ(member(history[2], "old_lease_id"), task.handle.lease_id.to_string());
}

TEST_P(EventConformance, OperatorsRevocationIsTold) {
    const ClaimedTask task = start();
    ok(RevokeLease{task.execution_id()});
    const auto history = events(EventFamily::lease_history);
    ASSERT_EQ(types(history), (Texts{"acquired", "revoked"}));
    EXPECT_EQ(member(history[1], "revoked_by"), "operator");
    EXPECT_EQ(member(history[1], "lease_id"), task.handle.lease_id.to_string());
}

TEST_P(EventConformance, TagsThatChangeAreToldAndOthersAreNot) {
    const ExecutionId id = create(tagged("team.name", "blue"));
    ok(SetExecutionTags{id, {{"team.name", "blue"}}});
    ok(SetExecutionTags{id, {{"team.name", "red"}}});
    ok(RemoveExecutionTag{id, "team.name"});
    const auto found = events(EventFamily::instance_tags);
    ASSERT_EQ(types(found), (Texts{"attached", "attached", "cleared"}));
    EXPECT_EQ(member(found[0], "tag"), "team.name");
    EXPECT_EQ(member(found[0], "value"), "blue");
    EXPECT_EQ(member(found[1], "previous"), "blue");
    EXPECT_EQ(member(found[2], "previous"), "red");
}

TEST_P(EventConformance, OperatorsDeedsAreTold) {
    const ExecutionId id = create();
    ok(ChangePriority{id, 7});
    ok(cancel_of(id));
    const auto found = events(EventFamily::operator_);
    ASSERT_EQ(types(found), (Texts{"priority_changed", "execution_cancelled"}));
    EXPECT_EQ(member(found[0], "old_priority"), "0");
    EXPECT_EQ(member(found[0], "new_priority"), "7");
    EXPECT_EQ(member(found[1], "reason"), "unwanted");
}

TEST_P(EventConformance, SignalsThatWereTakenAreTold) {
    const ClaimedTask task = start();
    Suspend op;
    op.lease = task.handle;
    op.resume_condition = ResumeCondition::single("k");
    const WaitpointTicket at = ok(op).details.waitpoint;
    DeliverSignal signal;
    signal.execution_id = task.execution_id();
    signal.waitpoint_id = at.waitpoint_id;
    signal.waitpoint_token = at.waitpoint_token;
    signal.signal_name = "go";
    signal.source_identity = "shop";
    EXPECT_NE(refused(with(signal, [](auto& o) { o.waitpoint_token += "0"; })), "ok");
    ok(signal);
    const auto found = events(EventFamily::signal_delivery);
    ASSERT_EQ(types(found), (Texts{"delivered"})) << "what was refused is not told";
    EXPECT_EQ(found[0].execution_id, task.execution_id());
    EXPECT_EQ(member(found[0], "effect"), "satisfied");
    EXPECT_EQ(member(found[0], "raw_effect"), "resume_condition_satisfied");
    EXPECT_EQ(member(found[0], "signal_name"), "go");
    EXPECT_EQ(member(found[0], "waitpoint_id"), at.waitpoint_id.to_string());
    EXPECT_EQ(member(found[0], "source_identity"), "shop");
}

TEST_P(EventConformance, TagsOfAFlowAreToldOfTheFlow) {
    CreateFlow make;
    make.flow_kind = "order";
    make.ns = "acme";
    const FlowId flow = ok(make).flow_id;
    const FlowId other = ok(make).flow_id;
    ok(SetFlowTags{flow, {{"team.name", "blue"}}});
    ok(SetFlowTags{other, {{"team.name", "red"}}});
    const auto found = events(EventFamily::instance_tags, {.flow_id = flow});
    ASSERT_EQ(types(found), (Texts{"attached"}));
    EXPECT_EQ(found[0].flow_id, flow);
    EXPECT_FALSE(found[0].execution_id);
    EXPECT_EQ(found[0].ns, "acme");
}

TEST_P(EventConformance, WorkersComeAndGo) {
    ok(registration("w1-a"));
    ok(registration("w1-a"));
    ok(MarkWorkerDead{"acme", "w1-a", "kill -9"});
    const auto found = events(EventFamily::workers);
    ASSERT_EQ(types(found), (Texts{"registered", "registered", "marked_dead"}));
    EXPECT_EQ(member(found[0], "refreshed"), "false");
    EXPECT_EQ(member(found[1], "refreshed"), "true");
    EXPECT_EQ(member(found[2], "reason"), "kill -9");
}

TEST_P(EventConformance, ARefusedOperationTellsNothing) {
    const ExecutionId id = finish();
    const EventCursor before = now_in(EventFamily::operator_);
    EXPECT_NE(refused(ChangePriority{id, 7}), "ok");
    EXPECT_TRUE(ok(reading(EventFamily::operator_, before)).events.empty());
}

// ----------------------------------------------------------------------------------------- cursors

TEST_P(EventConformance, ACursorNamesTheLastEventSeen) {
    for (int i = 0; i < 5; ++i) {
        finish();
    }
    std::vector<ExecutionId> seen;
    EventCursor at = EventCursor::earliest();
    for (int page = 0; page < 20; ++page) {
        const EventPage found =
            ok(with(reading(EventFamily::completion, at), [](auto& op) { op.limit = 2; }));
        for (const Event& event : found.events) {
            seen.push_back(*event.execution_id);
        }
        EXPECT_LE(found.events.size(), 2U);
        at = found.next_cursor;
        if (found.at_end) {
            break;
        }
    }
    EXPECT_EQ(seen.size(), 5U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 5U);
    EXPECT_TRUE(ok(reading(EventFamily::completion, at)).events.empty());
    const ExecutionId last = finish();
    const auto rest = ok(reading(EventFamily::completion, at)).events;
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].execution_id, last);
}

TEST_P(EventConformance, CursorsGrowByteWise) {
    for (int i = 0; i < 20; ++i) {
        finish();
    }
    const auto found = events(EventFamily::lease_history);
    ASSERT_EQ(found.size(), 40U);
    for (std::size_t i = 1; i < found.size(); ++i) {
        EXPECT_LT(found[i - 1].cursor.hex(), found[i].cursor.hex());
        EXPECT_EQ(found[i].cursor.hex().size(), 18U);
        EXPECT_EQ(*EventCursor::from_hex(found[i].cursor.hex()), found[i].cursor);
    }
}

TEST_P(EventConformance, AnEmptyCursorIsFromNow) {
    finish();
    const EventPage first = ok(reading(EventFamily::completion, {}));
    EXPECT_TRUE(first.events.empty());
    EXPECT_TRUE(first.at_end);
    finish();
    EXPECT_EQ(ok(reading(EventFamily::completion, first.next_cursor)).events.size(), 1U);
}

TEST_P(EventConformance, ACursorOfTheOtherStoreIsRefused) {
    finish();
    const EventCursor own = now_in(EventFamily::completion);
    const BackendTag other =
        own.store() == BackendTag::sqlite ? BackendTag::postgres : BackendTag::sqlite;
    const Error refusal =
        error(reading(EventFamily::completion, EventCursor::at(other, own.event_id())));
    EXPECT_EQ(refusal.code, ErrorCode::invalid_input);
    EXPECT_NE(refusal.detail.find("invalid event cursor"), std::string::npos) << refusal.detail;
}

TEST_P(EventConformance, BadLimitsAndWaitsAreRefused) {
    const ReadEvents fine = reading(EventFamily::completion);
    EXPECT_EQ(refused(with(fine, [](auto& op) { op.limit = 0; })), "invalid_input");
    EXPECT_EQ(refused(with(fine, [](auto& op) { op.limit = 1'001; })), "invalid_input");
    EXPECT_EQ(refused(with(fine, [](auto& op) { op.block_ms = 30'001; })), "invalid_input");
    EXPECT_EQ(refused(with(fine, [](auto& op) { op.block_ms = -1; })), "invalid_input");
}

TEST_P(EventConformance, CursorsStayGoodWhenTheStoreIsOpenedAgain) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " keeps nothing";
    }
    finish();
    const EventCursor at = now_in(EventFamily::completion);
    reopen();
    EXPECT_TRUE(ok(reading(EventFamily::completion, at)).events.empty());
    finish();
    EXPECT_EQ(ok(reading(EventFamily::completion, at)).events.size(), 1U);
}

// ----------------------------------------------------------------------------------------- filters

TEST_P(EventConformance, FiltersByNamespace) {
    finish();
    const ExecutionId other = finish(with(job(), [](auto& op) { op.ns = "other"; }));
    const auto found = events(EventFamily::completion, {.ns = "other"});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].execution_id, other);
    EXPECT_TRUE(events(EventFamily::completion, {.ns = "othe"}).empty());
}

TEST_P(EventConformance, FiltersByTagWithItsKey) {
    finish();
    const ExecutionId blue = finish(tagged("team.name", "blue"));
    finish(tagged("mood.name", "blue"));
    finish(tagged("team.name", "red"));
    for (const EventFamily family : {EventFamily::completion, EventFamily::lease_history}) {
        for (const Event& event : events(family, {.tag = std::pair("team.name", "blue")})) {
            EXPECT_EQ(event.execution_id, blue);
        }
    }
    EXPECT_EQ(events(EventFamily::completion, {.tag = std::pair("team.name", "blue")}).size(), 1U);
    EXPECT_EQ(events(EventFamily::instance_tags, {.tag = std::pair("team.name", "blue")}).size(),
              1U);
}

TEST_P(EventConformance, FiltersByExecutionAndTogether) {
    const ExecutionId one = finish(tagged("team.name", "blue"));
    const ExecutionId two = finish();
    EXPECT_EQ(types(EventFamily::lease_history, {.execution_id = one}),
              (Texts{"acquired", "revoked"}));
    EXPECT_TRUE(events(EventFamily::completion,
                       {.tag = std::pair("team.name", "blue"), .execution_id = two})
                    .empty());
}

TEST_P(EventConformance, WhatIsNotWantedMovesTheCursorOn) {
    const EventCursor before = now_in(EventFamily::completion);
    finish();
    const EventPage page = ok(
        with(reading(EventFamily::completion, before), [](auto& op) { op.filter.ns = "nobody"; }));
    EXPECT_TRUE(page.events.empty());
    EXPECT_GT(page.next_cursor, before);
}

// ----------------------------------------------------------------------------------------- waiting

TEST_P(EventConformance, AReaderWaitsForTheFirstEvent) {
    auto sent = send(with(reading(EventFamily::completion, now_in(EventFamily::completion)),
                          [](auto& op) { op.block_ms = 20'000; }));
    EXPECT_FALSE(answered(sent));
    const ExecutionId id = finish();
    const EventPage page = got(sent);
    ASSERT_EQ(page.events.size(), 1U);
    EXPECT_EQ(page.events[0].execution_id, id);
}

TEST_P(EventConformance, AWaitingReaderWithAFilterSleepsThroughTheRest) {
    auto sent =
        send(with(reading(EventFamily::completion, now_in(EventFamily::completion)), [](auto& op) {
            op.block_ms = 20'000;
            op.filter.ns = "other";
        }));
    finish();
    settle();
    EXPECT_FALSE(answered(sent));
    const ExecutionId wanted = finish(with(job(), [](auto& op) { op.ns = "other"; }));
    const EventPage page = got(sent);
    ASSERT_EQ(page.events.size(), 1U);
    EXPECT_EQ(page.events[0].execution_id, wanted);
}

TEST_P(EventConformance, ManyWaitingReadersAreAllServed) {
    const EventCursor at = now_in(EventFamily::completion);
    std::vector<std::future<expected<EventPage>>> sent;
    for (int i = 0; i < 20; ++i) {
        sent.push_back(send(with(reading(EventFamily::completion, at), [&](auto& op) {
            op.block_ms = 20'000;
            op.limit = i % 2 == 0 ? 1 : 100;
        })));
    }
    const ExecutionId id = finish();
    for (auto& one : sent) {
        const EventPage page = got(one);
        ASSERT_EQ(page.events.size(), 1U);
        EXPECT_EQ(page.events[0].execution_id, id);
    }
}

TEST_P(EventConformance, WaitingEndsEmptyWhenTheTimeIsOver) {
    FF_NEEDS_CLOCK();
    auto sent = send(with(reading(EventFamily::completion, now_in(EventFamily::completion)),
                          [](auto& op) { op.block_ms = 5'000; }));
    after(5'001);
    const EventPage page = got(sent);
    EXPECT_TRUE(page.events.empty());
    EXPECT_FALSE(page.next_cursor.empty());
}

TEST_P(EventConformance, AnAbandonedReaderIsAnsweredAtOnce) {
    std::stop_source stop;
    auto sent =
        send(with(reading(EventFamily::completion, now_in(EventFamily::completion)), [&](auto& op) {
            op.block_ms = 20'000;
            op.abandoned = stop.get_token();
        }));
    EXPECT_FALSE(answered(sent));
    stop.request_stop();
    EXPECT_TRUE(got(sent).events.empty());
}

// --------------------------------------------------------------------------------------- retention

TEST_P(EventConformance, OldEventsGoAndTheGapIsTold) {
    FF_NEEDS_CLOCK();
    open_with({.event_retention_ms = 60'000});
    const EventCursor beginning = now_in(EventFamily::completion);
    finish();
    after(120'000);
    const ExecutionId young = finish();
    ok(RunScanner{"event_trimmer"});
    const EventPage page = ok(reading(EventFamily::completion, beginning));
    ASSERT_TRUE(page.gap);
    EXPECT_EQ(page.gap->missed_from, beginning);
    ASSERT_EQ(page.events.size(), 1U);
    EXPECT_EQ(page.events[0].execution_id, young);
    EXPECT_GT(page.gap->oldest, beginning);
    EXPECT_LE(page.gap->oldest, page.events[0].cursor);
    // Told once; and never to who asks for what there is.
    EXPECT_FALSE(ok(reading(EventFamily::completion, page.next_cursor)).gap);
    EXPECT_FALSE(ok(reading(EventFamily::completion)).gap);
    // Nothing of this family was lost.
    EXPECT_FALSE(ok(reading(EventFamily::operator_, beginning)).gap);
}

TEST_P(EventConformance, NoMoreEventsAreKeptThanMayBe) {
    FF_NEEDS_CLOCK();
    open_with({.event_rows_max = 10});
    for (int i = 0; i < 12; ++i) {
        finish();
    }
    ok(RunScanner{"event_trimmer"});
    EXPECT_EQ(events(EventFamily::lease_history).size(), 10U);
    EXPECT_EQ(events(EventFamily::completion).size(), 5U);
    for (int i = 0; i < 3; ++i) {
        finish();
    }
    ok(RunScanner{"event_trimmer"});
    ok(RunScanner{"event_trimmer"});
    EXPECT_EQ(events(EventFamily::lease_history).size(), 10U);
    EXPECT_EQ(events(EventFamily::completion).size(), 5U);
}

TEST_P(EventConformance, AFloodOfOneFamilyDoesNotPushOutAnother) {
    FF_NEEDS_CLOCK();
    open_with({.event_rows_max = 5});
    const ExecutionId id = create();
    ok(ChangePriority{id, 3});
    for (int i = 0; i < 20; ++i) {
        ok(SetExecutionTags{id, {{"turn.n", std::to_string(i)}}});
    }
    ok(RunScanner{"event_trimmer"});
    EXPECT_EQ(events(EventFamily::instance_tags).size(), 5U);
    EXPECT_EQ(types(EventFamily::operator_), (Texts{"priority_changed"}));
}

// ---------------------------------------------------------------------------------- subscriptions

TEST_P(EventConformance, ASubscriptionGivesWhatHappensFromNowOn) {
    finish();
    const auto subscription = engine().subscribe(EventFamily::completion);
    ASSERT_TRUE(subscription) << subscription.error().message();
    std::vector<ExecutionId> made;
    for (int i = 0; i < 3; ++i) {
        made.push_back(finish());
    }
    for (const ExecutionId& id : made) {
        const auto item = (*subscription)->next(std::chrono::seconds(20));
        const Event* event = std::get_if<Event>(&item);
        ASSERT_NE(event, nullptr);
        EXPECT_EQ(event->execution_id, id);
    }
    const auto idle = (*subscription)->next(std::chrono::milliseconds(0));
    EXPECT_TRUE(std::holds_alternative<SubscriptionIdle>(idle));
}

TEST_P(EventConformance, ASubscriptionGoesOnFromACursorKept) {
    finish();
    EventCursor kept;
    {
        const auto first = engine().subscribe(EventFamily::completion, EventCursor::earliest());
        ASSERT_TRUE(first);
        const auto item = (*first)->next(std::chrono::seconds(20));
        ASSERT_TRUE(std::holds_alternative<Event>(item));
        kept = std::get<Event>(item).cursor;
    }
    const ExecutionId second = finish();
    const auto again = engine().subscribe(EventFamily::completion, kept);
    ASSERT_TRUE(again);
    const auto item = (*again)->next(std::chrono::seconds(20));
    ASSERT_TRUE(std::holds_alternative<Event>(item));
    EXPECT_EQ(std::get<Event>(item).execution_id, second);
}

TEST_P(EventConformance, ASlowSubscriberLosesNothing) {
    const auto subscription = engine().subscribe(EventFamily::instance_tags);
    ASSERT_TRUE(subscription);
    const ExecutionId id = create();
    std::vector<SetExecutionTags> changes;
    for (int i = 0; i < 3'000; ++i) {
        changes.push_back({id, {{"turn.n", std::to_string(i)}}});
    }
    for (const auto& result : engine().run_all(std::move(changes))) {
        ASSERT_TRUE(result);
    }
    for (int i = 0; i < 3'000; ++i) {
        const auto item = (*subscription)->next(std::chrono::seconds(20));
        const Event* event = std::get_if<Event>(&item);
        ASSERT_NE(event, nullptr) << i;
        ASSERT_EQ(member(*event, "value"), std::to_string(i));
    }
}

TEST_P(EventConformance, ASubscriptionReadsOnWhenItsReadWaitedInVain) {
    FF_NEEDS_CLOCK();
    const auto subscription = engine().subscribe(EventFamily::completion);
    ASSERT_TRUE(subscription);
    // Begins a read, which the clock then ends.
    ASSERT_TRUE(std::holds_alternative<SubscriptionIdle>((*subscription)->next({})));
    auto item = std::async(std::launch::async,
                           [&] { return (*subscription)->next(std::chrono::seconds(60)); });
    after(60'000);
    const ExecutionId id = finish();
    const SubscriptionItem got = item.get();
    ASSERT_TRUE(std::holds_alternative<Event>(got));
    EXPECT_EQ(std::get<Event>(got).execution_id, id);
}

TEST_P(EventConformance, ClosingASubscriptionEndsAWaitingNext) {
    const auto subscription = engine().subscribe(EventFamily::completion);
    ASSERT_TRUE(subscription);
    std::jthread closer([&] { (*subscription)->close(); });
    const auto item = (*subscription)->next(std::chrono::seconds(60));
    EXPECT_TRUE(std::holds_alternative<SubscriptionEnd>(item));
}

TEST_P(EventConformance, AnEngineThatStopsEndsItsSubscriptions) {
    FF_NEEDS_EMBEDDED();
    const auto subscription = engine().subscribe(EventFamily::completion);
    ASSERT_TRUE(subscription);
    std::jthread stopper([&] { engine().stop(); });
    const auto item = (*subscription)->next(std::chrono::seconds(60));
    EXPECT_TRUE(std::holds_alternative<SubscriptionEnd>(item));
}

TEST_P(EventConformance, ABadCursorIsRefusedWhenSubscribing) {
    const EventCursor own = now_in(EventFamily::completion);
    const BackendTag other =
        own.store() == BackendTag::sqlite ? BackendTag::postgres : BackendTag::sqlite;
    const auto refused = engine().subscribe(EventFamily::completion, EventCursor::at(other, 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_input);
}

// ---------------------------------------------------------------------------------------- timeline

TEST_P(EventConformance, ATimelineHasEveryFamilyInOrder) {
    const ClaimedTask task = start(tagged("team.name", "blue"));
    ok(ChangePriority{create(), 3});
    ok(Complete{task.handle, {}, {}});
    EXPECT_EQ(types(ok(ReadTimeline{task.execution_id()}).events),
              (Texts{"attached", "acquired", "revoked", "completed"}));
    EXPECT_EQ(refused(ReadTimeline{ExecutionId{}}), "execution_not_found");
}

TEST_P(EventConformance, ATimelineComesInPages) {
    const ExecutionId id = create();
    for (int i = 0; i < 7; ++i) {
        ok(SetExecutionTags{id, {{"turn.n", std::to_string(i)}}});
    }
    ReadTimeline op{id};
    op.limit = 3;
    std::size_t seen = 0;
    for (;;) {
        const EventPage page = ok(op);
        seen += page.events.size();
        EXPECT_LE(page.events.size(), 3U);
        if (page.at_end) {
            break;
        }
        op.cursor = page.next_cursor;
    }
    EXPECT_EQ(seen, 7U);
}

// ---------------------------------------------------------------------------------------- webhooks

TEST_P(EventConformance, AWebhookIsKeptAsItWasAskedFor) {
    CreateWebhook op;
    op.url = "https://example.com/hook?x=1";
    op.family = EventFamily::lease_history;
    op.filter.ns = "acme";
    op.filter.tag = {"team.name", "a=b"};
    const CreateWebhookResult made = ok(op);
    EXPECT_TRUE(made.created);
    EXPECT_EQ(made.secret_hex.size(), 64U);
    const auto found = ok(DescribeWebhook{made.webhook_id});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->url, op.url);
    EXPECT_EQ(found->family, op.family);
    EXPECT_EQ(found->filter, op.filter);
    EXPECT_FALSE(found->paused);
    EXPECT_EQ(ok(ListWebhooks{}).webhooks, (std::vector{*found}));
    ok(DeleteWebhook{made.webhook_id});
    EXPECT_FALSE(ok(DescribeWebhook{made.webhook_id}));
    EXPECT_EQ(refused(DeleteWebhook{made.webhook_id}), "webhook_not_found");
    const auto told = events(EventFamily::operator_);
    ASSERT_EQ(types(told), (Texts{"webhook_created", "webhook_deleted"}));
    EXPECT_EQ(member(told[0], "host"), "example.com");
    EXPECT_EQ(told[0].payload.find("/hook"), std::string::npos) << "a path may be a credential";
}

TEST_P(EventConformance, TheSameWebhookAgainIsNoNews) {
    CreateWebhook op;
    op.webhook_id = WebhookId{*Uuid::parse("00000000-0000-7000-8000-000000000001")};
    op.url = "https://example.com/hook";
    op.secret_hex = std::string(64, 'a');
    EXPECT_TRUE(ok(op).created);
    const CreateWebhookResult again = ok(op);
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.secret_hex, "");
    EXPECT_EQ(refused(with(op, [](auto& o) { o.url = "https://example.com/other"; })),
              "webhook_conflict");
}

TEST_P(EventConformance, BadWebhooksAreRefused) {
    const auto code = [&](std::string url, std::string secret = "") {
        CreateWebhook op;
        op.url = std::move(url);
        op.secret_hex = std::move(secret);
        return refused(op);
    };
    for (const char* url :
         {"", "ftp://example.com", "http://", "https:///x", "http://u:p@host/", "http://ho st/",
          "http://host/#part", "example.com", "http://host:0/", "http://host:65536/x",
          "http://host:/", "http://host:8x/", "http://[::1]:0/"}) {
        EXPECT_EQ(code(url), "invalid_input") << url;
    }
    EXPECT_EQ(code("http://host/" + std::string(3'000, 'x')), "invalid_input");
    EXPECT_EQ(code("http://host/", "abc"), "invalid_secret_hex");
    EXPECT_EQ(code("http://host/", std::string(64, 'g')), "invalid_secret_hex");
    EXPECT_TRUE(ok(ListWebhooks{}).webhooks.empty());
}

TEST_P(EventConformance, OneAtATimeDeliversAWebhook) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    CreateWebhook op;
    op.url = "https://example.com/hook";
    op.secret_hex = std::string(64, 'a');
    const WebhookId id = ok(op).webhook_id;
    const auto errand = ok(ClaimWebhook{id, "one", 30'000});
    ASSERT_TRUE(errand);
    EXPECT_EQ(errand->secret, std::string(32, '\xaa'));
    EXPECT_FALSE(ok(ClaimWebhook{id, "two", 30'000}));
    EXPECT_TRUE(ok(ClaimWebhook{id, "one", 30'000}));  // renewed
    finish();
    const EventPage page = ok(reading(EventFamily::completion, errand->webhook.cursor));
    ASSERT_EQ(page.events.size(), 1U);
    SettleWebhook done{id, "one", page.next_cursor, 1, false, {}, 30'000};
    EXPECT_EQ(ok(done).delivered, 1U);
    EXPECT_EQ(refused(with(done, [](auto& o) { o.holder = "two"; })), "webhook_not_held");
    EXPECT_EQ(refused(with(done, [&](auto& o) { o.cursor = errand->webhook.cursor; })),
              "invalid_input");  // never back
    after(31'000);
    EXPECT_EQ(refused(done), "webhook_not_held");
    EXPECT_TRUE(ok(ClaimWebhook{id, "two", 30'000}));
}

TEST_P(EventConformance, AFailedDeliveryIsTriedAgainLater) {
    FF_NEEDS_EMBEDDED();
    FF_NEEDS_CLOCK();
    CreateWebhook op;
    op.url = "https://example.com/hook";
    const WebhookId id = ok(op).webhook_id;
    DurationMs last = 0;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(ok(ClaimWebhook{id, "one", 30'000}));
        SettleWebhook failed{id, "one", {}, 0, false, "HTTP 500", 0};
        const WebhookInfo info = ok(failed);
        EXPECT_EQ(info.failures, i);
        EXPECT_EQ(info.last_error, "HTTP 500");
        const DurationMs pause = *info.next_try_at - now();
        EXPECT_GT(pause, last);
        last = pause;
        EXPECT_FALSE(ok(ClaimWebhook{id, "one", 30'000}));
        after(pause + 1);
    }
    ASSERT_TRUE(ok(ClaimWebhook{id, "one", 30'000}));
    ok(SettleWebhook{id, "one", {}, 0, false, "HTTP 500", 0});
    const WebhookInfo resumed = ok(PauseWebhook{id, false});
    EXPECT_FALSE(resumed.next_try_at);  // who resumes wants it tried now
    EXPECT_TRUE(ok(ClaimWebhook{id, "one", 30'000}));
}

TEST_P(EventConformance, APausedWebhookKeepsItsPlace) {
    FF_NEEDS_EMBEDDED();
    CreateWebhook op;
    op.url = "https://example.com/hook";
    const WebhookId id = ok(op).webhook_id;
    const EventCursor at = ok(DescribeWebhook{id})->cursor;
    EXPECT_TRUE(ok(PauseWebhook{id, true}).paused);
    EXPECT_FALSE(ok(ClaimWebhook{id, "one", 30'000}));
    finish();
    EXPECT_FALSE(ok(PauseWebhook{id, false}).paused);
    const auto errand = ok(ClaimWebhook{id, "one", 30'000});
    ASSERT_TRUE(errand);
    EXPECT_EQ(errand->webhook.cursor, at);
}

}  // namespace ff::engine::test
