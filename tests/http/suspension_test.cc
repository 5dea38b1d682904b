// Suspension over HTTP where a conversation written down does not reach: callbacks, rotations that
// meet, and who gets credentials.
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include <ff/callback.h>

#include "http/scripted_engine.h"
#include "http/suspended_server.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

// -------------------------------------------------------------------------------------- callbacks

class Callbacks : public ::testing::Test {
  protected:
    [[nodiscard]] RawAnswer call(std::string_view target, std::string_view body,
                                 const std::vector<std::string>& fields = {}) const {
        return server.ask(request_text("POST", target, body, fields));
    }
    /// The newest signal of the ledger, with its payload.
    [[nodiscard]] json last_signal() const {
        const json page =
            server.get("/v1/executions/" + encoded(wait.id) + "/signals?with_payload=true")
                .document();
        const js::Array& items = *page.find("items")->if_array();
        return items.empty() ? json() : items.back();
    }

    TestServer server;
    SuspendedExecution wait = suspend_one(server);
    std::string path = callback_path(wait.ticket);
};

TEST_F(Callbacks, TakeAnyBodyAsThePayload) {
    const std::string bytes("\x00\x01\xff", 3);
    const RawAnswer answer = call(path, bytes, {"Content-Type: image/png"});
    EXPECT_EQ(answer.status, 202) << answer.body;
    const json whole = answer.document();
    ASSERT_NE(whole.find("Accepted"), nullptr) << answer.body;
    EXPECT_EQ(text_of(*whole.find("Accepted"), "effect"), "resume_condition_satisfied");
    const json signal = last_signal();
    EXPECT_EQ(text_of(signal, "signal_name"), "callback");
    EXPECT_EQ(text_of(signal, "signal_category"), "callback");
    EXPECT_EQ(text_of(signal, "source_type"), "webhook");
    EXPECT_EQ(text_of(signal, "source_identity"), "");
    EXPECT_EQ(text_of(signal, "payload_encoding"), "image/png");
    EXPECT_EQ(text_of(*signal.find("payload"), "base64"), "AAH/");
}

TEST_F(Callbacks, MayNameTheSignalAndItsSource) {
    const RawAnswer answer = call(path + "?signal=paid&source=stripe%20eu", R"({"ok":true})",
                                  {"Content-Type: application/vnd.api+json; charset=utf-8"});
    EXPECT_EQ(answer.status, 202) << answer.body;
    const json signal = last_signal();
    EXPECT_EQ(text_of(signal, "signal_name"), "paid");
    EXPECT_EQ(text_of(signal, "source_identity"), "stripe eu");
    EXPECT_EQ(text_of(signal, "payload_encoding"), "json");
}

TEST_F(Callbacks, NeedNoBodyAndNoType) {
    EXPECT_EQ(call(path, "").status, 202);
    const json signal = last_signal();
    EXPECT_EQ(signal.find("payload"), nullptr);
    EXPECT_EQ(text_of(signal, "payload_encoding"), "application/octet-stream");
}

TEST_F(Callbacks, WithAnIdempotencyKeyCountOnce) {
    const std::vector<std::string> key{"Idempotency-Key: evt_1"};
    EXPECT_EQ(call(path, "a", key).status, 202);
    const RawAnswer again = call(path, "a", key);
    EXPECT_EQ(again.status, 200) << "although the waitpoint has closed";
    EXPECT_NE(again.document().find("Duplicate"), nullptr) << again.body;
    const RawAnswer other = call(path, "a", {"Idempotency-Key: evt_2"});
    EXPECT_EQ(other.status, 410) << other.body;
    EXPECT_EQ(other.member("code"), "waitpoint_closed");
}

TEST_F(Callbacks, ThatProveNothingAreAllToldTheSame) {
    std::string forged = path;
    forged.back() = forged.back() == '0' ? '1' : '0';
    std::string unknown = path;
    unknown[std::string("/v1/callbacks/").size()] = unknown[14] == 'a' ? 'b' : 'a';
    std::string other_kid = path;
    other_kid.insert(other_kid.size() - 65, "x");
    std::string long_kid = path;
    long_kid.insert(long_kid.size() - 65, std::string(1'100, 'x'));
    std::string odd_kid = path;
    odd_kid.insert(odd_kid.size() - 65, "%00");
    for (const std::string& wrong : {forged, unknown, other_kid, long_kid, odd_kid,
                                     std::string("/v1/callbacks/x"), path + "0"}) {
        const RawAnswer answer = call(wrong, "a");
        EXPECT_EQ(answer.status, 404) << wrong;
        EXPECT_EQ(answer.body, R"({"error":"callback not found"})") << wrong;
    }
    EXPECT_EQ(call(path, "a").status, 202) << "none of them changed anything";
}

TEST_F(Callbacks, AreToldTheSameWhenTheWaitpointIsClosed) {
    EXPECT_EQ(call(path, "a").status, 202);
    std::string forged = path;
    forged.back() = forged.back() == '0' ? '1' : '0';
    EXPECT_EQ(call(forged, "a").status, 404);
    EXPECT_EQ(call(path, "a").status, 410);
}

TEST_F(Callbacks, HaveAtMost64KibOfBody) {
    EXPECT_EQ(call(path, std::string(65'537, 'x')).status, 413);
    EXPECT_EQ(call(path, std::string(65'536, 'x')).status, 202);
}

TEST_F(Callbacks, OfNamesThatAreTooLongAreRefused) {
    const RawAnswer answer = call(path + "?signal=" + std::string(1'025, 'x'), "");
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.member("code"), "invalid_input");
    EXPECT_EQ(call(path, "", {"Idempotency-Key: \xff"}).status, 400);
}

TEST(CallbackAccess, NeedsNoBearerToken) {
    TestOptions options;
    options.service.gate.api_token = "secret";
    const TestServer server(std::move(options));
    const std::string none = "/v1/callbacks/x";
    EXPECT_EQ(server.ask(request_text("POST", none, "a")).status, 404);
    EXPECT_EQ(server.get(none).status, 401) << "other methods do";
}

TEST(CallbackAccess, EndsForAnAddressThatGuessesTooOftenAtAWaitpoint) {
    TestOptions options;
    options.service.failed_attempts_max = 3;
    const TestServer server(std::move(options));
    const SuspendedExecution wait = suspend_one(server);
    const SuspendedExecution other = suspend_one(server);
    std::string wrong = callback_path(wait.ticket);
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(server.ask(request_text("POST", wrong, "a")).status, 404);
    }
    const RawAnswer refused = server.ask(request_text("POST", callback_path(wait.ticket), "a"));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.member("retryable"), "true");
    const int seconds = std::stoi(refused.header("Retry-After").value_or("0"));
    EXPECT_TRUE(seconds >= 1 && seconds <= 60) << seconds;
    EXPECT_EQ(server.ask(request_text("POST", callback_path(other.ticket), "a")).status, 202)
        << "another waitpoint is not touched: the address may be a proxy's";
    EXPECT_EQ(server.get("/v1/lanes").status, 200) << "nothing else is touched";
}

TEST(CallbackAccess, EndsForAnAddressThatGuessesAtManyWaitpoints) {
    TestOptions options;
    options.service.failed_attempts_max = 2;
    const TestServer server(std::move(options));
    const SuspendedExecution wait = suspend_one(server);
    const auto tried = [&](const std::string& path) {
        return server.ask(request_text("POST", path, "a")).status;
    };
    WaitpointTicket nowhere = wait.ticket;
    for (std::size_t i = 1; i < 2 * FailedAttempts::targets_factor; ++i) {
        nowhere.waitpoint_id = {new_uuid()};
        EXPECT_EQ(tried(callback_path(nowhere)), 404) << i;
    }
    EXPECT_EQ(tried("/v1/callbacks/x"), 404) << "what is no callback counts, too";
    EXPECT_EQ(tried("/v1/callbacks/x"), 429);
    EXPECT_EQ(tried(callback_path(nowhere)), 429);
    EXPECT_EQ(server.get("/v1/approve/x").status, 429) << "and so it is for links";
    EXPECT_EQ(tried(callback_path(wait.ticket)), 202)
        << "who has the token is heard: the address may be a proxy's";
}

TEST(CallbackAccess, ARefusalIsNotHeldUpByWhatIsWrittenOfIt) {
    const auto engine = std::make_shared<ScriptedEngine>();
    TestOptions options;
    options.engine = engine;
    const TestServer server(std::move(options));
    const std::string digest(64, 'a');
    const WaitpointTicket ticket{{new_uuid()}, "k", "k1:" + digest};
    WaitpointInfo known;
    known.waitpoint_id = ticket.waitpoint_id;
    known.execution_id = *ExecutionId::parse("{fp:0}:00000000-0000-0000-0000-000000000001");
    known.token_fingerprint = std::string(16, 'b');
    using Found = std::optional<WaitpointInfo>;
    for (const Found& found : {Found(known), Found()}) {
        std::future<RawAnswer> answer = std::async(std::launch::async, [&] {
            return server.ask(request_text("POST", callback_path(ticket), "a"));
        });
        engine->next().done(Reply(std::in_place_type<Found>, found));
        EXPECT_EQ(answer.get().status, 404);
        // The signal that leaves the trace is still under way.
        ScriptedEngine::Call trace = engine->next();
        const auto* signal = ff::get_if<DeliverSignal>(&trace.request);
        ASSERT_NE(signal, nullptr);
        EXPECT_EQ(signal->execution_id, found ? known.execution_id : ExecutionId{});
        EXPECT_EQ(signal->waitpoint_token, ticket.waitpoint_token);
        EXPECT_FALSE(signal->payload) << "what is refused is not kept waiting";
        trace.done(ff::fail(ErrorCode::invalid_token));
    }
}

// ------------------------------------------------------------------------------------- credentials

TEST(WaitpointTokens, AreNotGivenToJustAnybody) {
    TestOptions open;
    const TestServer server(std::move(open));
    const SuspendedExecution wait = suspend_one(server);
    const RawAnswer refused = server.get(wait.token_path());
    EXPECT_EQ(refused.status, 403);
    EXPECT_TRUE(refused.member("error").starts_with("credentials are not given out"));
}

TEST(WaitpointTokens, AreGivenWhenThatIsAllowed) {
    TestOptions options;
    options.service.gate.allow_insecure = true;
    const TestServer server(std::move(options));
    const SuspendedExecution wait = suspend_one(server);
    const RawAnswer answer = server.get(wait.token_path());
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.member("token"), wait.ticket.waitpoint_token);
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
}

TEST(WaitpointTokens, NeedTheAdminTokenIfThereIsOne) {
    TestOptions options;
    options.service.gate.api_token = "ordinary";
    options.service.gate.admin_token = "admin";
    const TestServer server(std::move(options));
    const std::string path = "/v1/executions/" +
                             encoded("{fp:0}:00000000-0000-0000-0000-000000000001") +
                             "/waitpoints/00000000-0000-0000-0000-000000000002/token";
    const auto ask = [&](const std::string& token) {
        return server.ask(request_text("GET", path, {}, {"Authorization: Bearer " + token}));
    };
    EXPECT_EQ(server.get(path).status, 401);
    EXPECT_EQ(ask("ordinary").status, 403);
    EXPECT_EQ(ask("admin").status, 404);
    EXPECT_EQ(ask("admin").header("Cache-Control"), "no-store");
}

// ------------------------------------------------------------------------------------------- keys

const std::string rotate_path = "/v1/admin/rotate-waitpoint-secret";
const std::string secret(64, 'c');

std::string rotate_body(std::string_view kid = "k2") {
    return js::dump(json{{"new_kid", kid}, {"new_secret_hex", secret}});
}

class Rotations : public ::testing::Test {
  protected:
    void start(std::chrono::milliseconds rotation_max = std::chrono::seconds(120)) {
        TestOptions options;
        options.engine = engine;
        options.service.rotation_max = rotation_max;
        options.service.waitpoint_grace_ms = 5;
        options.service.audit = [this](std::string_view what, std::string_view about) {
            const std::lock_guard lock(mutex);
            lines.push_back(std::string(what) + " " + std::string(about));
        };
        server = std::make_unique<TestServer>(std::move(options));
    }
    static void answer(ScriptedEngine::Call call) {
        call.done(Reply(RotateKeyResult{true, "k1", "k2", 0, 7}));
    }

    std::shared_ptr<ScriptedEngine> engine = std::make_shared<ScriptedEngine>();
    std::mutex mutex;
    std::vector<std::string> lines;  // guarded by mutex
    std::unique_ptr<TestServer> server;
};

TEST_F(Rotations, ComeOneAtATime) {
    start();
    RawClient first = server->connect();
    first.send(json_request("POST", rotate_path, rotate_body()));
    auto call = engine->next();
    EXPECT_EQ(ff::get<RotateWaitpointKey>(call.request).grace_ms, 5) << "the server's own";
    const RawAnswer second = server->post(rotate_path, rotate_body());
    EXPECT_EQ(second.status, 429);
    EXPECT_EQ(second.body,
              R"({"error":"too many concurrent admin_rotate calls (server max: 1); retry with )"
              R"(backoff","retryable":true,"code":"resource_exhausted"})");
    answer(std::move(call));
    EXPECT_EQ(first.read_answer().body, R"({"rotated":1,"failed":[],"new_kid":"k2"})");
    first.send(json_request("POST", rotate_path, rotate_body()));
    answer(engine->next());
    EXPECT_EQ(first.read_answer().status, 200);
}

TEST_F(Rotations, AreAnsweredInTime) {
    start(std::chrono::milliseconds(1));
    RawClient client = server->connect();
    client.send(json_request("POST", rotate_path, rotate_body()));
    auto call = engine->next();
    const RawAnswer late = client.read_answer();
    EXPECT_EQ(late.status, 504) << late.body;
    EXPECT_EQ(late.member("retryable"), "true");
    EXPECT_EQ(server->post(rotate_path, rotate_body()).status, 429) << "it is still under way";
    answer(std::move(call));
    client.send(json_request("POST", rotate_path, rotate_body()));
    answer(engine->next());
}

TEST_F(Rotations, AreTold) {
    start();
    RawClient client = server->connect();
    client.send(json_request("POST", rotate_path, rotate_body()));
    answer(engine->next());
    EXPECT_EQ(client.read_answer().status, 200);
    client.send(json_request("POST", rotate_path, rotate_body()));
    engine->next().done(std::unexpected(Error{ErrorCode::rotation_conflict, "k2", {}}));
    EXPECT_EQ(client.read_answer().status, 409);
    const std::lock_guard lock(mutex);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0], "rotate_waitpoint_key kid=k2 caller=127.0.0.1 start");
    EXPECT_EQ(lines[1],
              "rotate_waitpoint_key kid=k2 caller=127.0.0.1 rotated previous=k1 gc=0 "
              "waitpoints_outliving_grace=7");
    EXPECT_EQ(lines[3], "rotate_waitpoint_key kid=k2 caller=127.0.0.1 refused=rotation_conflict");
    for (const std::string& line : lines) {
        EXPECT_FALSE(line.contains("cccc")) << line;
    }
}

}  // namespace
}  // namespace ff::http::test
