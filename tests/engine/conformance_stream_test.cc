// Attempt streams: spec 05, part A.
#include <future>
#include <map>
#include <thread>

#include "engine/conformance_stream.h"

namespace ff::engine::test {

FF_ON_EVERY_ENGINE(StreamConformance);

// ------------------------------------------------------------------------------------- append

TEST_P(StreamConformance, FramesComeBackAsTheyWereWritten) {
    const ClaimedTask task = start();
    Frame frame = durable(all_bytes(), "blob");
    frame.correlation_id = "c-7";
    const AppendedFrame first = put(task, frame);
    EXPECT_EQ(first.frame_count, 1U);
    EXPECT_FALSE(first.summary_version);
    EXPECT_FALSE(first.duplicate);
    put(task, durable("zwei", "agent_step"));
    const StreamPage page = ok(reading(task));
    ASSERT_EQ(page.frames.size(), 2U);
    EXPECT_EQ(page.frames[0].id, first.id);
    EXPECT_EQ(page.frames[0].payload, all_bytes());
    EXPECT_EQ(page.frames[0].frame_type, "blob");
    EXPECT_EQ(page.frames[0].correlation_id, "c-7");
    EXPECT_EQ(page.frames[0].mode, FrameMode::durable);
    EXPECT_EQ(page.frames[0].source, "worker");
    EXPECT_EQ(page.frames[0].ts, page.frames[0].id.ms);
    EXPECT_EQ(page.frames[1].payload, "zwei");
    EXPECT_GT(page.frames[1].id, page.frames[0].id);
    EXPECT_FALSE(page.closed_at);
}

TEST_P(StreamConformance, AnEmptyTypeIsTheWordOfTheKind) {
    const ClaimedTask task = start();
    Frame out = durable("x", "");
    out.kind = FrameKind::stdout_;
    ok(append(task, {durable("e", ""), out}));
    const StreamPage page = ok(reading(task));
    ASSERT_EQ(page.frames.size(), 2U);
    EXPECT_EQ(page.frames[0].frame_type, "event");
    EXPECT_EQ(page.frames[1].frame_type, "stdout");
}

TEST_P(StreamConformance, AppendingChangesNothingOfTheExecution) {
    const ClaimedTask task = start();
    const std::string before = dump();
    put(task, durable("x"));
    EXPECT_EQ(dump(), before) << "neither the lease nor its times";
}

TEST_P(StreamConformance, IdsOnlyGrowWhateverTheClockDoes) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const FrameId first = put(task, durable("a")).id;
    EXPECT_EQ(first, (FrameId{now(), 0}));
    EXPECT_EQ(put(task, durable("b")).id, (FrameId{first.ms, 1})) << "the same millisecond";
    after(5);
    EXPECT_EQ(put(task, durable("c")).id, (FrameId{first.ms + 5, 0}));
}

TEST_P(StreamConformance, FramesOfACallAreAppendedTogetherOrNotAtAll) {
    const ClaimedTask task = start();
    EXPECT_EQ(refused(append(task, {durable("a"), patch("[]")})), "invalid_input");
    EXPECT_EQ(stream(task), Texts{});
    EXPECT_FALSE(summary(task));
    const auto result = ok(append(task, {durable("a"), durable("b"), durable("c")}));
    EXPECT_EQ(result.appended.back().frame_count, 3U);
    EXPECT_EQ(stream(task), (Texts{"a", "b", "c"}));
}

TEST_P(StreamConformance, LimitsOfAFrame) {
    const ClaimedTask task = start();
    put(task, durable(std::string(frame_bytes_max, 'x')));
    EXPECT_EQ(refused(append(task, {durable(std::string(frame_bytes_max + 1, 'x'))})),
              "retention_limit_exceeded");
    EXPECT_EQ(refused(append(task, {durable("x", std::string(129, 't'))})), "invalid_frame_type");
    EXPECT_EQ(refused(append(task, {durable("x", "a\nb")})), "invalid_frame_type");
    put(task, durable("x", std::string(128, 't')));
    Frame correlated = durable("x");
    correlated.correlation_id = std::string(257, 'c');
    EXPECT_EQ(refused(append(task, {correlated})), "invalid_input");
    EXPECT_EQ(ok(reading(task)).frames.size(), 2U);
}

TEST_P(StreamConformance, ACallMayLowerTheLimitOfAPayloadAndNotRaiseIt) {
    FF_NEEDS_EMBEDDED();
    const ClaimedTask task = start();
    AppendFrames op = append(task, {durable("12345")});
    op.max_payload_bytes = 4;
    EXPECT_EQ(refused(op), "retention_limit_exceeded");
    op.frames = {durable(std::string(frame_bytes_max + 1, 'x'))};
    op.max_payload_bytes = 1'000'000;
    EXPECT_EQ(refused(op), "retention_limit_exceeded");
}

TEST_P(StreamConformance, ACallHoldsOneTo256Frames) {
    const ClaimedTask task = start();
    EXPECT_EQ(refused(append(task, {})), "invalid_input");
    EXPECT_EQ(refused(append(task, std::vector<Frame>(257, durable("x")))), "invalid_input");
    EXPECT_EQ(ok(append(task, std::vector<Frame>(256, durable("x")))).appended.size(), 256U);
}

TEST_P(StreamConformance, OnlyTheHolderOfTheLeaseAppends) {
    const ClaimedTask task = start();
    EXPECT_EQ(refused(append(ClaimedTask{}, {durable("x")})), "execution_not_found");
    AppendFrames unfenced = append(task, {durable("x")});
    unfenced.lease = LeaseRef(task.execution_id());
    EXPECT_EQ(refused(unfenced), "fence_required");
    AppendFrames other = append(task, {durable("x")});
    other.lease.lease_epoch = *other.lease.lease_epoch + 1;
    EXPECT_EQ(refused(other), "stale_owner_cannot_append");
    ok(RevokeLease{task.execution_id()});
    EXPECT_EQ(refused(append(task, {durable("x")})), "stale_owner_cannot_append");
    EXPECT_EQ(stream(task), Texts{});
}

TEST_P(StreamConformance, ALeaseThatIsOverAppendsNothing) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    after(task.lease_expires_at - now());
    EXPECT_EQ(refused(append(task, {durable("x")})), "stale_owner_cannot_append");
}

TEST_P(StreamConformance, AnEndedAttemptTakesNoFrames) {
    const ClaimedTask task = start();
    put(task, durable("x"));
    ok(Complete{task.handle, "done", {}});
    EXPECT_EQ(refused(append(task, {durable("y")})), "stream_closed");
    EXPECT_EQ(stream(task), Texts{"x"});
}

TEST_P(StreamConformance, AFrameThatIsSentAgainIsNotWrittenAgain) {
    const ClaimedTask task = start();
    Frame frame = durable("a");
    frame.client_seq = 5;
    const AppendedFrame first = put(task, frame);
    const AppendedFrame again = put(task, frame);
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.id, first.id);
    EXPECT_EQ(again.frame_count, 1U);
    frame.client_seq = 4;
    EXPECT_TRUE(put(task, frame).duplicate) << "below the highest";
    frame.client_seq = 6;
    EXPECT_FALSE(put(task, frame).duplicate);
    put(task, durable("without a number"));
    EXPECT_EQ(stream(task), (Texts{"a", "a", "without a number"}));
}

// ---------------------------------------------------------------------------------- retention

TEST_P(StreamConformance, TheNewestDurableFramesOfThePolicyAreKept) {
    const ClaimedTask task = start(job_with_policy(R"({"stream_policy":{"retention_maxlen":3}})"));
    for (const char* text : {"1", "2", "3", "4", "5"}) {
        put(task, durable(text));
    }
    EXPECT_EQ(stream(task), (Texts{"3", "4", "5"}));
    Frame narrower = durable("6");
    narrower.retention_maxlen = 2;
    EXPECT_EQ(put(task, narrower).frame_count, 6U) << "counts what was ever appended";
    EXPECT_EQ(stream(task), (Texts{"5", "6"}));
    ok(append(task, {durable("7"), durable("8"), durable("9"), durable("10")}));
    EXPECT_EQ(stream(task), (Texts{"8", "9", "10"})) << "also those of one call";
}

TEST_P(StreamConformance, EachModePushesOutOnlyItsOwn) {
    const ClaimedTask task = start(job_with_policy(R"({"stream_policy":{"retention_maxlen":2}})"));
    put(task, durable("d1"));
    for (int i = 0; i < 70; ++i) {
        put(task, patch("{}"));
        put(task, live("l"));
    }
    put(task, durable("d2"));
    const StreamPage page = ok(reading(task));
    std::map<FrameMode, int> counts;
    for (const StreamFrame& frame : page.frames) {
        counts[frame.mode] += 1;
    }
    EXPECT_EQ(counts[FrameMode::durable], 2);
    EXPECT_EQ(counts[FrameMode::summary], 64);
    EXPECT_EQ(page.frames.front().payload, "d1");
    put(task, durable("d3"));
    EXPECT_EQ(ok(with(reading(task), [](auto& op) { op.frame_types = {"log"}; })).frames.size(),
              2U);
}

TEST_P(StreamConformance, BestEffortFramesAreKeptByTheirRate) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    Frame frame = live("x", 1'000);
    frame.best_effort.maxlen_floor = 4;
    frame.best_effort.maxlen_ceiling = 8;
    for (int i = 0; i < 3; ++i) {
        put(task, frame);
        after(500);
    }
    EXPECT_EQ(stream(task).size(), 3U);
    for (int i = 0; i < 10; ++i) {
        put(task, frame);
        after(500);
    }
    EXPECT_EQ(stream(task).size(), 4U) << "two a second for two seconds";
    for (int i = 0; i < 40; ++i) {
        put(task, frame);
        after(1);
    }
    EXPECT_EQ(stream(task).size(), 8U) << "the ceiling";
}

TEST_P(StreamConformance, AStreamOfBestEffortFramesExpires) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const FrameId first = put(task, live("a", 1'000)).id;
    after(1'999);
    EXPECT_EQ(stream(task), Texts{"a"});
    after(1);
    EXPECT_EQ(stream(task), Texts{});
    EXPECT_EQ(closed(task), "open");
    const AppendedFrame second = put(task, live("b", 1'000));
    EXPECT_EQ(second.frame_count, 2U);
    EXPECT_GT(second.id, first);
    EXPECT_EQ(stream(task), Texts{"b"});
    after(2'000);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 1U);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 0U);
    put(task, durable("c"));
    put(task, live("d", 1'000));
    after(5'000);
    EXPECT_EQ(stream(task), (Texts{"c", "d"})) << "one durable frame, and it does not expire";
}

TEST_P(StreamConformance, AFrameSentAgainAfterTheStreamExpiredChangesNothing) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    const auto numbered = [](Frame frame, std::uint64_t number) {
        frame.client_seq = number;
        return frame;
    };
    put(task, numbered(live("a", 1'000), 1));
    put(task, numbered(live("b", 1'000), 2));
    after(2'000);
    EXPECT_TRUE(put(task, numbered(live("b", 1'000), 2)).duplicate);
    put(task, numbered(live("c", 1'000), 3));
    EXPECT_EQ(stream(task), Texts{"c"});
    after(500);
    put(task, numbered(live("d", 1'000), 4));
    EXPECT_EQ(stream(task), (Texts{"c", "d"}));
    // The counts are right: as many are swept as there are, and nothing is left.
    after(2'000);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 1U);
    put(task, durable("e"));
    EXPECT_EQ(stream(task), Texts{"e"});
}

TEST_P(StreamConformance, AnExpiredStreamBeginsAnew) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    put(task, live("a", 1'000));
    after(2'000);
    put(task, live("b", 0));
    put(task, live("c", 0));
    EXPECT_EQ(stream(task), (Texts{"b", "c"})) << "these do not expire";
}

TEST_P(StreamConformance, NoNumberOfFramesIsTooLargeToKeep) {
    const ClaimedTask task = start();
    Frame frame = live("a");
    frame.best_effort.maxlen_floor = std::numeric_limits<std::int64_t>::max();
    frame.best_effort.maxlen_ceiling = std::numeric_limits<std::int64_t>::max();
    put(task, frame);
    put(task, frame);
    EXPECT_EQ(stream(task), (Texts{"a", "a"}));
}

TEST_P(StreamConformance, AStreamGoesSoLongAfterItsClosureAsThePolicySays) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start(job_with_policy(
        R"({"stream_policy":{"retention_ttl_ms":5000},"retry_policy":{"max_retries":1}})"));
    ok(append(task, {durable("a"), patch(R"({"n":1})"), live("l")}));
    after(6'000);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 0U) << "it is open";
    ok(Fail{task.handle, "again", "transient"});
    after(4'999);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 0U);
    EXPECT_EQ(stream(task).size(), 3U);
    after(1);
    EXPECT_EQ(ok(RunScanner{"stream_trimmer"}).processed, 1U);
    EXPECT_EQ(stream(task), Texts{});
    EXPECT_FALSE(summary(task));
    EXPECT_EQ(closed(task), "attempt_failure");
    const ClaimedTask second = claim("w2");
    put(second, durable("b"));
    EXPECT_EQ(stream(second), Texts{"b"}) << "the next attempt has its own";
}

TEST_P(StreamConformance, StreamsGoWithTheirExecution) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    ok(append(task, {durable("a"), patch(R"({"n":1})")}));
    ok(Complete{task.handle, "", {}});
    after(86'400'000);
    EXPECT_EQ(stream(task), Texts{});
    EXPECT_FALSE(summary(task));
    EXPECT_EQ(closed(task), "open") << "nothing is known of it";
}

// ------------------------------------------------------------------------------------ summary

TEST_P(StreamConformance, PatchesMakeADocument) {
    const ClaimedTask task = start();
    EXPECT_FALSE(summary(task));
    EXPECT_EQ(put(task, patch(R"({"a":{"b":1,"c":2},"n":1.50})")).summary_version, 1U);
    EXPECT_EQ(put(task, patch(R"({"a":{"b":null,"d":[]},"e":{}})")).summary_version, 2U);
    EXPECT_EQ(put(task, patch("{}")).summary_version, 3U);
    const auto found = summary(task);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->document, R"({"a":{"c":2,"d":[]},"n":1.50,"e":{}})");
    EXPECT_EQ(found->version, 3U);
    EXPECT_EQ(found->patch_kind, "json-merge-patch");
    const StreamPage page = ok(reading(task));
    ASSERT_EQ(page.frames.size(), 3U);
    EXPECT_EQ(page.frames[1].summary_version, 2U);
    EXPECT_EQ(page.frames[1].payload, R"({"a":{"b":null,"d":[]},"e":{}})") << "the raw patch";
}

TEST_P(StreamConformance, TheSentinelIsANullThatStays) {
    const ClaimedTask task = start();
    put(task,
        patch(R"({"a":"__ff_null__","b":["__ff_null__",{"__ff_null__":1}],"c":"__ff_null"})"));
    EXPECT_EQ(summary(task)->document,
              R"({"a":null,"b":[null,{"__ff_null__":1}],"c":"__ff_null"})");
}

TEST_P(StreamConformance, APatchThatIsNoneIsRefusedAndLeavesNothing) {
    const ClaimedTask task = start();
    for (const char* bad : {"[]", "1", "null", "\"x\"", "{", ""}) {
        EXPECT_EQ(refused(append(task, {patch(bad)})), "invalid_input") << bad;
    }
    std::string deep = "1";
    for (int i = 0; i < 16; ++i) {
        deep = R"({"x":)" + deep + "}";
    }
    put(task, patch(deep));
    EXPECT_EQ(error(append(task, {patch(R"({"x":)" + deep + "}")})).detail, "patch_depth_exceeded");
    Frame other = patch("{}");
    other.patch_kind = "json-patch";
    EXPECT_EQ(error(append(task, {other})).detail, "unsupported patch_kind");
    EXPECT_EQ(summary(task)->version, 1U);
    EXPECT_EQ(stream(task).size(), 1U);
}

// ------------------------------------------------------------------------------------ reading

TEST_P(StreamConformance, PagesAreCutOutOfTheStream) {
    const ClaimedTask task = start();
    const auto ids = ok(append(task, {durable("a"), durable("b"), durable("c"), durable("d")}));
    const auto id = [&](std::size_t i) { return ids.appended[i].id; };
    const auto read = [&](FrameCursor from, FrameCursor to, std::uint64_t limit = 100,
                          StreamOrder order = StreamOrder::asc) {
        ReadStream op = reading(task, limit);
        op.from = from;
        op.to = to;
        op.order = order;
        return payloads(ok(op));
    };
    const FrameCursor start = FrameCursor::start();
    const FrameCursor end = FrameCursor::end();
    EXPECT_EQ(read(start, end, 2), (Texts{"a", "b"}));
    EXPECT_EQ(read(id(1), end, 2), (Texts{"b", "c"})) << "both ends belong to it";
    EXPECT_EQ(read(start, id(1)), (Texts{"a", "b"}));
    EXPECT_EQ(read(id(2), id(1)), Texts{});
    EXPECT_EQ(read(end, end), Texts{});
    EXPECT_EQ(read(start, start), Texts{});
    EXPECT_EQ(read(start, end, 3, StreamOrder::desc), (Texts{"d", "c", "b"}));
    const FrameCursor millisecond = *FrameCursor::parse(std::to_string(id(3).ms));
    EXPECT_EQ(read(start, millisecond).back(), "d") << "a bare time reaches to its last frame";
}

TEST_P(StreamConformance, ReadsAreBounded) {
    const ClaimedTask task = start();
    EXPECT_EQ(refused(reading(task, 0)), "invalid_input");
    EXPECT_EQ(refused(reading(task, 10'001)), "invalid_input");
    EXPECT_EQ(refused(with(tailing(task), [](auto& op) { op.limit = 0; })), "invalid_input");
    EXPECT_EQ(refused(with(tailing(task), [](auto& op) { op.block_ms = 30'001; })),
              "invalid_input");
    EXPECT_EQ(refused(with(tailing(task), [](auto& op) { op.after = FrameCursor::start(); })),
              "invalid_input");
    EXPECT_EQ(refused(with(tailing(task), [](auto& op) { op.after = FrameCursor::end(); })),
              "invalid_input");
}

TEST_P(StreamConformance, FiltersApplyBeforeTheLimit) {
    const ClaimedTask task = start();
    ok(append(task, {live("l"), durable("a"), live("l"), durable("b", "x"), durable("c")}));
    ReadStream op = reading(task, 2);
    op.visibility = StreamVisibility::exclude_best_effort;
    EXPECT_EQ(payloads(ok(op)), (Texts{"a", "b"}));
    op.frame_types = {"log"};
    EXPECT_EQ(payloads(ok(op)), (Texts{"a", "c"}));
    TailStream tail = tailing(task);
    tail.frame_types = {"delta", "x"};
    EXPECT_EQ(payloads(ok(tail)), (Texts{"l", "l", "b"}));
}

TEST_P(StreamConformance, NobodysStreamIsEmptyAndOpen) {
    const ClaimedTask task = start();
    EXPECT_EQ(ok(reading(task)), StreamPage{});
    ReadStream unknown = reading(task);
    unknown.execution_id.uuid.bytes[3] ^= 1U;
    EXPECT_EQ(ok(unknown), StreamPage{});
    ReadStream later = reading(task);
    later.attempt_index = 7;
    EXPECT_EQ(ok(later), StreamPage{});
}

// -------------------------------------------------------------------------------------- tails

TEST_P(StreamConformance, ATailGivesWhatIsBehindItsPlace) {
    const ClaimedTask task = start();
    const auto ids = ok(append(task, {durable("a"), durable("b"), durable("c")}));
    EXPECT_EQ(payloads(ok(tailing(task))), (Texts{"a", "b", "c"}));
    EXPECT_EQ(payloads(ok(tailing(task, ids.appended[1].id))), Texts{"c"});
    EXPECT_EQ(payloads(ok(tailing(task, ids.appended[2].id))), Texts{});
}

TEST_P(StreamConformance, AFrameWakesThoseWhoWait) {
    const ClaimedTask task = start();
    const ClaimedTask other = start(job(), "w2");
    auto first = send(tailing(task, {}, 30'000));
    auto second = send(tailing(task, {}, 30'000));
    auto elsewhere = send(tailing(other, {}, 30'000));
    const FrameId id = put(task, durable("a")).id;
    EXPECT_EQ(payloads(got(first)), Texts{"a"});
    EXPECT_EQ(payloads(got(second)), Texts{"a"});
    EXPECT_FALSE(answered(elsewhere));
    auto third = send(tailing(task, id, 30'000));
    ok(append(task, {durable("b"), durable("c")}));
    EXPECT_EQ(payloads(got(third)), (Texts{"b", "c"}));
    put(other, durable("o"));
    EXPECT_EQ(payloads(got(elsewhere)), Texts{"o"});
}

TEST_P(StreamConformance, TheEndWakesThoseWhoWait) {
    const ClaimedTask task = start();
    auto waiting = send(tailing(task, {}, 30'000));
    ok(Complete{task.handle, "done", {}});
    const StreamPage page = got(waiting);
    EXPECT_TRUE(page.frames.empty());
    EXPECT_EQ(page.closed_reason, StreamClosedReason::attempt_success);
    EXPECT_EQ(ok(tailing(task, {}, 30'000)), page) << "and nobody waits from then on";
}

TEST_P(StreamConformance, AFilteredTailSleepsThroughWhatItDoesNotWant) {
    const ClaimedTask task = start();
    TailStream op = tailing(task, {}, 30'000);
    op.frame_types = {"wanted"};
    auto filtered = send(op);
    auto all = send(tailing(task, {}, 30'000));
    put(task, durable("noise"));
    EXPECT_EQ(payloads(got(all)), Texts{"noise"});
    put(task, durable("signal", "wanted"));
    EXPECT_EQ(payloads(got(filtered)), Texts{"signal"});
}

TEST_P(StreamConformance, ATailThatWaitedInVainIsEmptyAndOpen) {
    FF_NEEDS_CLOCK();
    const ClaimedTask task = start();
    auto waiting = send(tailing(task, {}, 1'000));
    after(999);
    EXPECT_FALSE(answered(waiting));
    after(1);
    EXPECT_EQ(got(waiting), StreamPage{});
}

TEST_P(StreamConformance, ATailThatNobodyWantsAnyMoreIsAnsweredAtOnce) {
    const ClaimedTask task = start();
    std::stop_source gone;
    TailStream op = tailing(task, {}, 30'000);
    op.abandoned = gone.get_token();
    auto waiting = send(op);
    gone.request_stop();
    EXPECT_EQ(got(waiting), StreamPage{});
}

TEST_P(StreamConformance, ManyTailsOfOneStreamAreServedTogether) {
    const ClaimedTask task = start();
    const FrameId first = put(task, durable("a")).id;
    std::vector<std::future<expected<StreamPage>>> tails;
    for (int i = 0; i < 20; ++i) {
        tails.push_back(send(tailing(task, first, 30'000)));
    }
    put(task, durable("b"));
    for (auto& tail : tails) {
        EXPECT_EQ(payloads(got(tail)), Texts{"b"});
    }
}

// A common read for several readers is cut at 8 MiB; one of them was told that the stream had ended
// when what it wanted stood behind that.
TEST_P(StreamConformance, AFilteredTailHearsTheLastFrameOfALargeStreamThatCloses) {
    FF_NEEDS_EMBEDDED();  // over HTTP they would not be one transaction
    const ClaimedTask task = start();
    TailStream op = tailing(task, {}, 30'000);
    op.frame_types = {"wanted"};
    auto filtered = send(op);
    op.frame_types = {"log"};
    op.limit = 1;
    auto all = send(op);
    std::vector<Request> requests;
    const std::vector<Frame> large(15, durable(std::string(frame_bytes_max, 'x')));
    for (int i = 0; i < 9; ++i) {
        requests.emplace_back(append(task, large));
    }
    requests.emplace_back(append(task, {durable("last", "wanted")}));
    requests.emplace_back(Complete{task.handle, "done", {}});
    for (const Response& response : engine().run_many(std::move(requests))) {
        EXPECT_TRUE(response) << response.error().message();
    }
    EXPECT_EQ(got(all).frames.size(), 1U);
    EXPECT_EQ(payloads(got(filtered)), Texts{"last"});
}

// ------------------------------------------------------------------------------------ closure

TEST_P(StreamConformance, ClosedByWhatEndsTheAttempt) {
    const ClaimedTask done = start();
    EXPECT_EQ(closed(done), "open");
    ok(Complete{done.handle, "", {}});
    EXPECT_EQ(closed(done), "attempt_success");
    const ClaimedTask failed = start();
    ok(Fail{failed.handle, "no", "permanent"});
    EXPECT_EQ(closed(failed), "attempt_failure");
    const ClaimedTask cancelled = start();
    ok(with(CancelExecution{}, [&](auto& op) {
        op.lease = LeaseRef(cancelled.execution_id());
        op.reason = "enough";
        op.source = "operator_override";
    }));
    EXPECT_EQ(closed(cancelled), "attempt_cancelled");
    const ClaimedTask revoked = start();
    ok(RevokeLease{revoked.execution_id()});
    EXPECT_EQ(closed(revoked), "lease_expired");
    const ClaimedTask second = claim("w2");
    EXPECT_EQ(closed(revoked), "reclaimed");
    EXPECT_EQ(closed(second), "open");
}

TEST_P(StreamConformance, ClosedByTime) {
    FF_NEEDS_CLOCK();
    const ClaimedTask slow =
        start(job_with_policy(R"({"timeout_policy":{"attempt_timeout_ms":1000}})"));
    const ClaimedTask retried = start(job_with_policy(
        R"({"timeout_policy":{"attempt_timeout_ms":1000},"retry_policy":{"max_retries":1}})"));
    after(1'000);
    EXPECT_EQ(closed(slow), "expired");
    EXPECT_EQ(closed(retried), "expired");
    const ClaimedTask lost = start(job("other"), "w3");
    after(60'000);
    EXPECT_EQ(closed(lost), "lease_expired");
}

TEST_P(StreamConformance, APauseDoesNotClose) {
    const ClaimedTask task = start();
    put(task, durable("before"));
    ok(Release{task.handle});
    EXPECT_EQ(closed(task), "open");
    const ClaimedTask again = claim("w2");
    EXPECT_EQ(again.handle.attempt_index, task.handle.attempt_index);
    put(again, durable("after"));
    EXPECT_EQ(stream(again), (Texts{"before", "after"}));
}

TEST_P(StreamConformance, EveryAttemptHasItsOwnStream) {
    FF_NEEDS_CLOCK();
    const ClaimedTask first = start(job_with_policy(
        R"({"retry_policy":{"max_retries":1,"backoff":{"type":"fixed","delay_ms":10}}})"));
    put(first, durable("one"));
    ok(Fail{first.handle, "again", "transient"});
    after(10);
    const ClaimedTask second = claim();
    put(second, durable("two"));
    EXPECT_EQ(stream(first), Texts{"one"});
    EXPECT_EQ(stream(second), Texts{"two"});
    EXPECT_EQ(closed(first), "attempt_failure");
    ok(append(second, {durable("three"), durable("four")}));
    EXPECT_EQ(attempt(first.execution_id(), 0).frame_count, 1U);
    EXPECT_EQ(attempt(first.execution_id(), 1).frame_count, 3U);
}

TEST_P(StreamConformance, StreamsAreThereAfterReopening) {
    if (!GetParam().durable) {
        GTEST_SKIP() << GetParam().name << " forgets everything when it is closed";
    }
    const ClaimedTask task = start();
    const auto ids = ok(append(task, {durable("a"), patch(R"({"n":1})")}));
    reopen();
    EXPECT_EQ(stream(task).size(), 2U);
    EXPECT_EQ(summary(task)->document, R"({"n":1})");
    EXPECT_GT(put(task, durable("b")).id, ids.appended.back().id);
}

}  // namespace ff::engine::test
