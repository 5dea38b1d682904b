// Events and streams over HTTP: server-sent events, waiting pages, permits, the end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// A reader of server-sent events.
class EventReader {
  public:
    EventReader(const TestServer& server, std::string_view target,
                std::vector<std::string> fields = {})
        : client_(server.connect()) {
        fields.emplace_back("Accept: text/event-stream");
        EXPECT_TRUE(client_.send(request_text("GET", target, {}, fields)));
        head_ = client_.read_until("\r\n\r\n");
    }

    [[nodiscard]] const std::string& head() const { return head_; }
    /// The next block of lines, without the empty one that ends it; chunks are taken apart.
    std::string next() {
        for (;;) {
            const std::size_t end = text_.find("\n\n");
            if (end != std::string::npos) {
                std::string block = text_.substr(0, end);
                text_.erase(0, end + 2);
                return block;
            }
            if (!read_chunk()) {
                return "(end)";
            }
        }
    }
    /// The next that is not a comment or the opening.
    std::string next_event() {
        std::string block = next();
        while (block.starts_with(':') || block.starts_with("retry:")) {
            block = next();
        }
        return block;
    }
    RawClient& client() { return client_; }

  private:
    bool read_chunk() {
        const std::string size = client_.read_until("\r\n");
        const std::size_t bytes = std::strtoul(size.c_str(), nullptr, 16);
        const std::string chunk = client_.read_bytes(bytes + 2);
        text_ += chunk.substr(0, bytes);
        return bytes > 0;
    }

    RawClient client_;
    std::string head_;
    std::string text_;
};

/// The line of a block that begins with a word.
std::string line_of(const std::string& block, std::string_view word) {
    const std::string start = std::string(word) + ": ";
    const std::size_t at = block.starts_with(start) ? 0 : block.find("\n" + start);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + start.size() + (at == 0 ? 0 : 1);
    return block.substr(begin, block.find('\n', begin) - begin);
}

json data_of(const std::string& block) {
    auto parsed = js::parse(line_of(block, "data"));
    EXPECT_TRUE(parsed) << block;
    return parsed.value_or(json());
}

void complete(const TestServer& server) {
    const std::string id = server.create();
    const json task = server.claim();
    const RawAnswer done = server.post("/v1/executions/" + encoded(id) + "/attempts/0/complete",
                                       R"({"fence":)" + fence_of(task) + "}");
    EXPECT_EQ(done.status, 200) << done.body;
}

/// A task that a worker has.
json started(const TestServer& server) {
    EXPECT_FALSE(server.create().empty());
    return server.claim();
}

/// The path of the stream of a task that a worker has.
std::string stream_path(const json& task) {
    return "/v1/executions/" + encoded(text_of(task, "execution_id")) + "/attempts/0/";
}

void append(const TestServer& server, const json& task, const std::string& text) {
    const RawAnswer done = server.post(stream_path(task) + "frames",
                                       R"({"fence":)" + fence_of(task) +
                                           R"(,"frames":[{"frame_type":"log","payload":{"text":")" +
                                           text + R"("}}]})");
    EXPECT_EQ(done.status, 200) << done.body;
}

// --------------------------------------------------------------------------------------- events

TEST(EventsOverHttp, AStreamGivesEventsAsTheyHappen) {
    TestServer server;
    EventReader reader(server, "/v1/events/completion");
    EXPECT_NE(reader.head().find("Content-Type: text/event-stream"), std::string::npos);
    EXPECT_NE(reader.head().find("Transfer-Encoding: chunked"), std::string::npos);
    EXPECT_EQ(reader.next(), "retry: 1000");
    complete(server);
    const std::string block = reader.next_event();
    EXPECT_EQ(line_of(block, "event"), "completed");
    const json data = data_of(block);
    EXPECT_EQ(text_of(data, "outcome"), "success");
    EXPECT_EQ(text_of(data, "family"), "completion");
    EXPECT_EQ(text_of(data, "cursor"), line_of(block, "id"));
}

TEST(EventsOverHttp, LastEventIdGoesOnBehindTheEventItNames) {
    TestServer server;
    for (int i = 0; i < 3; ++i) {
        complete(server);
    }
    EventReader first(server, "/v1/events/completion?cursor=earliest");
    const std::string id = line_of(first.next_event(), "id");
    const std::string second = line_of(first.next_event(), "id");
    // The header wins: a client that connects again sends the address it began with.
    EventReader again(server, "/v1/events/completion?cursor=earliest", {"Last-Event-ID: " + id});
    EXPECT_EQ(line_of(again.next_event(), "id"), second);
}

TEST(EventsOverHttp, FiltersAndFamiliesAreReadFromTheAddress) {
    TestServer server;
    complete(server);
    const RawAnswer all = server.get("/v1/events/lease-history?cursor=earliest");
    EXPECT_EQ(all.document().find("events")->if_array()->size(), 2U);
    const RawAnswer none = server.get("/v1/events/lease-history?cursor=earliest&namespace=nobody");
    EXPECT_TRUE(none.document().find("events")->if_array()->empty());
    EXPECT_EQ(none.member("next_cursor").size(), 18U);
    EXPECT_EQ(server.get("/v1/events/nothing").status, 400);
    EXPECT_EQ(server.get("/v1/events/completion?cursor=xyz").status, 400);
    EXPECT_EQ(server.get("/v1/events/completion?cursor=020000000000000001").status, 400);
    EXPECT_EQ(server.get("/v1/events/completion?limit=0").status, 400);
    EXPECT_EQ(server.get("/v1/events/completion?tag=blue").status, 400);
    EXPECT_EQ(server.get("/v1/events/completion?block_ms=30001").status, 400);
}

TEST(EventsOverHttp, ABadRequestForAStreamIsRefusedAsOne) {
    TestServer server;
    const RawAnswer refused =
        server.ask(request_text("GET", "/v1/events/completion?cursor=020000000000000001", {},
                                {"Accept: text/event-stream"}));
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("invalid event cursor"), std::string::npos) << refused.body;
    const RawAnswer bad_id = server.ask(request_text(
        "GET", "/v1/events/completion", {}, {"Accept: text/event-stream", "Last-Event-ID: zz"}));
    EXPECT_EQ(bad_id.status, 400);
}

TEST(EventsOverHttp, APageWaitsForTheFirstEvent) {
    TestServer server;
    const std::string at = server.get("/v1/events/completion").member("next_cursor");
    RawClient waiting = server.connect();
    ASSERT_TRUE(
        waiting.send(request_text("GET", "/v1/events/completion?block_ms=30000&cursor=" + at)));
    EXPECT_FALSE(waiting.hears_within(std::chrono::milliseconds(50)));
    complete(server);
    const RawAnswer answer = waiting.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.document().find("events")->if_array()->size(), 1U);
}

TEST(EventsOverHttp, NoMoreWaitThanMay) {
    TestOptions options;
    options.service.event_streams_max = 2;
    TestServer server(options);
    EventReader one(server, "/v1/events/completion");
    EventReader two(server, "/v1/events/operator");
    const RawAnswer refused =
        server.ask(request_text("GET", "/v1/events/completion", {}, {"Accept: text/event-stream"}));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(server.get("/v1/events/completion?block_ms=1000").status, 429);
    EXPECT_EQ(server.get("/v1/events/completion").status, 200) << "a look takes no place";
    two.client().reset();
    EXPECT_TRUE(eventually("the place is free again",
                           [&] { return server.server().service().event_streams().taken() == 1; }));
}

TEST(EventsOverHttp, AServerThatStopsSaysGoodbye) {
    TestServer server;
    EventReader events(server, "/v1/events/completion");
    EXPECT_EQ(events.next(), "retry: 1000");
    const json task = started(server);
    EventReader frames(server, stream_path(task) + "stream/sse");
    auto drained = std::async(std::launch::async,
                              [&] { return server.server().drain(std::chrono::seconds(60)); });
    EXPECT_EQ(line_of(events.next_event(), "event"), "bye");
    EXPECT_EQ(events.next_event(), "(end)");
    EXPECT_EQ(line_of(frames.next_event(), "event"), "bye");
    EXPECT_TRUE(drained.get());
}

TEST(EventsOverHttp, AnOlderClientReadsUntilTheEnd) {
    TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(
        client.send("GET /v1/events/completion HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n"));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("chunked"), std::string::npos);
    EXPECT_NE(head.find("Connection: close"), std::string::npos);
    EXPECT_EQ(client.read_until("\n\n"), "retry: 1000\n\n");
    complete(server);
    std::string block = client.read_until("\n\n");
    while (block.starts_with(':')) {
        block = client.read_until("\n\n");
    }
    EXPECT_NE(block.find("event: completed"), std::string::npos) << block;
}

TEST(EventsOverHttp, HeadHasNoBody) {
    TestServer server;
    RawClient client = server.connect();
    ASSERT_TRUE(client.send(
        request_text("HEAD", "/v1/events/completion", {}, {"Accept: text/event-stream"})));
    EXPECT_EQ(client.read_answer(true).status, 200);
    EXPECT_EQ(client.ask(request_text("GET", "/healthz")).status, 200);
}

TEST(EventsOverHttp, ManyEventsComeThroughASlowConnection) {
    TestServer server;
    const std::string id = server.create();
    EventReader reader(server, "/v1/events/instance-tags");
    EXPECT_EQ(reader.next(), "retry: 1000");
    constexpr int count = 2'000;
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(server.engine().run(
            SetExecutionTags{*ExecutionId::parse(id), {{"turn.n", std::to_string(i)}}}));
    }
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(text_of(data_of(reader.next_event()), "value"), std::to_string(i));
    }
}

TEST(EventsOverHttp, WhoComesTooLateIsToldOfTheGap) {
    EngineOptions kept;
    kept.event_rows_max = 2;
    TestOptions options;
    options.engine = *Engine::open("memory:", kept);
    TestServer server(options);
    const std::string beginning = server.get("/v1/events/completion").member("next_cursor");
    for (int i = 0; i < 5; ++i) {
        complete(server);
    }
    ASSERT_TRUE(server.engine().run(RunScanner{"event_trimmer"}));
    EventReader reader(server, "/v1/events/completion?cursor=" + beginning);
    const std::string gap = reader.next_event();
    EXPECT_EQ(line_of(gap, "event"), "gap");
    EXPECT_EQ(line_of(gap, "id"), beginning) << "who breaks off here is told again";
    EXPECT_EQ(text_of(data_of(gap), "missed_from"), beginning);
    EXPECT_GT(text_of(data_of(gap), "oldest"), beginning);
    const std::string next = reader.next_event();
    EXPECT_EQ(line_of(next, "event"), "completed");
    EXPECT_GE(line_of(next, "id"), text_of(data_of(gap), "oldest"));
}

TEST(EventsOverHttp, ATimelineTellsItsGap) {
    EngineOptions kept;
    kept.event_rows_max = 1;
    TestOptions options;
    options.engine = *Engine::open("memory:", kept);
    TestServer server(options);
    const std::string id = server.create();
    EXPECT_FALSE(server.claim().is_null());
    const std::string path = "/v1/executions/" + encoded(id);
    const RawAnswer whole = server.get(path + "/timeline");
    EXPECT_EQ(whole.status, 200) << whole.body;
    EXPECT_EQ(whole.document().find("gap"), nullptr);
    for (const char* turn : {"1", "2", "3"}) {
        ASSERT_TRUE(
            server.engine().run(SetExecutionTags{*ExecutionId::parse(id), {{"turn.n", turn}}}));
    }
    ASSERT_TRUE(server.engine().run(RunScanner{"event_trimmer"}));
    const json told = server.get(path + "/timeline").document();
    ASSERT_NE(told.find("gap"), nullptr);
    EXPECT_GT(text_of(*told.find("gap"), "oldest"),
              text_of(told.find("items")->if_array()->front(), "cursor"));
    EXPECT_LT(text_of(*told.find("gap"), "oldest"),
              text_of(told.find("items")->if_array()->back(), "cursor"));
}

TEST(EventsOverHttp, WhoHasHisPageMayWaitAgainAtOnce) {
    TestOptions options;
    options.service.event_streams_max = 1;
    TestServer server(options);
    complete(server);
    RawClient one = server.connect();
    RawClient two = server.connect();
    const std::string ask =
        request_text("GET", "/v1/events/completion?cursor=earliest&block_ms=30000");
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ((i % 2 == 0 ? one : two).ask(ask).status, 200) << i;
    }
}

// --------------------------------------------------------------------------------------- streams

TEST(StreamsOverHttp, FramesComeAsTheyAreWrittenAndTheEndIsTold) {
    TestServer server;
    const json task = started(server);
    EventReader reader(server, stream_path(task) + "stream/sse");
    EXPECT_EQ(reader.next(), "retry: 1000");
    append(server, task, "one");
    const std::string block = reader.next_event();
    EXPECT_EQ(line_of(block, "event"), "frame");
    EXPECT_EQ(text_of(*data_of(block).find("fields"), "payload"), "one");
    EXPECT_EQ(text_of(data_of(block), "id"), line_of(block, "id"));
    append(server, task, "two");
    EXPECT_EQ(text_of(*data_of(reader.next_event()).find("fields"), "payload"), "two");
    EXPECT_EQ(
        server.post(stream_path(task) + "complete", R"({"fence":)" + fence_of(task) + "}").status,
        200);
    const std::string closed = reader.next_event();
    EXPECT_EQ(line_of(closed, "event"), "closed");
    EXPECT_EQ(text_of(data_of(closed), "closed_reason"), "attempt_success");
    EXPECT_EQ(reader.next_event(), "(end)");
    // The connection goes on with other things.
    EXPECT_EQ(reader.client().ask(request_text("GET", "/healthz")).status, 200);
}

TEST(StreamsOverHttp, LastEventIdGoesOnBehindTheFrameItNames) {
    TestServer server;
    const json task = started(server);
    append(server, task, "one");
    append(server, task, "two");
    EventReader first(server, stream_path(task) + "stream/sse");
    const std::string id = line_of(first.next_event(), "id");
    EventReader again(server, stream_path(task) + "stream/sse", {"Last-Event-ID: " + id});
    EXPECT_EQ(text_of(*data_of(again.next_event()).find("fields"), "payload"), "two");
    EXPECT_EQ(server.get(stream_path(task) + "stream/sse?after=start").status, 400);
}

TEST(StreamsOverHttp, AReaderThatLeavesGivesItsPlaceBack) {
    TestOptions options;
    options.service.stream_ops_max = 1;
    TestServer server(options);
    const json task = started(server);
    EventReader reader(server, stream_path(task) + "stream/sse");
    EXPECT_EQ(server.get(stream_path(task) + "stream").status, 429);
    reader.client().reset();
    EXPECT_TRUE(eventually("the place is free again",
                           [&] { return server.get(stream_path(task) + "stream").status == 200; }));
}

TEST(StreamsOverHttp, ReadsAndTailsShareOnePool) {
    TestOptions options;
    options.service.stream_ops_max = 2;
    TestServer server(options);
    const json task = started(server);
    const std::string at = stream_path(task) + "stream";
    RawClient one = server.connect();
    RawClient two = server.connect();
    ASSERT_TRUE(one.send(request_text("GET", at + "/tail?after=0-0&block_ms=30000")));
    ASSERT_TRUE(two.send(request_text("GET", at + "/tail?after=0-0&block_ms=30000")));
    ASSERT_TRUE(eventually("both wait",
                           [&] { return server.server().service().stream_ops().taken() == 2; }));
    for (const char* rest : {"", "/tail?after=0-0", "/sse"}) {
        const RawAnswer refused = server.get(at + rest);
        EXPECT_EQ(refused.status, 429) << rest;
        EXPECT_NE(refused.body.find("stream_ops"), std::string::npos) << refused.body;
    }
    append(server, task, "one");  // which takes no place
    EXPECT_EQ(one.read_answer().status, 200);
    EXPECT_EQ(two.read_answer().status, 200);
    EXPECT_EQ(server.get(at).status, 200);
}

TEST(StreamsOverHttp, WhoHasHisAnswerMayAskAgainAtOnce) {
    TestOptions options;
    options.service.stream_ops_max = 1;
    TestServer server(options);
    const json task = started(server);
    append(server, task, "one");
    RawClient one = server.connect();
    RawClient two = server.connect();
    for (int i = 0; i < 200; ++i) {
        RawClient& client = i % 2 == 0 ? one : two;
        ASSERT_EQ(client.ask(request_text("GET", stream_path(task) + "stream")).status, 200) << i;
    }
}

// A permit was given back as soon as the engine had answered: any number of large pages could wait
// for clients that did not read.
TEST(StreamsOverHttp, ALargePageKeepsItsPlaceUntilItHasBeenTaken) {
    TestOptions options;
    options.service.stream_ops_max = 1;
    TestServer server(options);
    const ExecutionId id = *ExecutionId::parse(server.create());
    const json task = server.claim();
    AppendFrames op;
    op.lease = LeaseRef(id);
    op.lease.lease_id = *LeaseId::parse(text_of(task, "lease_id"));
    op.lease.lease_epoch = std::stoull(text_of(task, "lease_epoch"));
    op.lease.attempt_id = *AttemptId::parse(text_of(task, "attempt_id"));
    Frame frame;
    frame.payload = std::string(60'000, 'x');
    op.frames.assign(100, frame);
    const auto appended = server.engine().run(op);
    ASSERT_TRUE(appended) << appended.error().message();
    RawClient slow = RawClient::with_small_buffer(server.port());
    const std::string ask = request_text("GET", stream_path(task) + "stream?limit=1000");
    ASSERT_TRUE(slow.send(ask));
    ASSERT_TRUE(slow.hears_within(patience));
    EXPECT_EQ(server.get(stream_path(task) + "stream?limit=1").status, 429);
    EXPECT_GT(slow.read_answer().body.size(), 6'000'000U);
    EXPECT_EQ(slow.ask(request_text("GET", stream_path(task) + "stream?limit=1")).status, 200);
}

}  // namespace
}  // namespace ff::http::test
