// The server as a program: `ff serve` on a file, used with curl, killed and started again.
#include "http/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <future>
#include <set>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// Uses a server as a person would. Gives the body; the status must be as expected.
class Curl {
  public:
    explicit Curl(std::string url) : url_(std::move(url)) {}

    [[nodiscard]] std::string get(const std::string& path, int status = 200) const {
        return ask({}, path, status);
    }
    [[nodiscard]] std::string post(const std::string& path, const std::string& body,
                                   int status = 200) const {
        return ask({"-H", "content-type: application/json", "-d", body}, path, status);
    }

  private:
    [[nodiscard]] std::string ask(const std::vector<std::string>& more, const std::string& path,
                                  int status) const {
        std::vector<std::string> words{"curl",          "-s", "-g", "--max-time", "50", "-w",
                                       "\n%{http_code}"};
        words.insert(words.end(), more.begin(), more.end());
        words.push_back(url_ + path);
        const Ran ran = run(std::move(words));
        EXPECT_EQ(ran.code, 0) << path << ran.err;
        const std::size_t split = std::min(ran.out.rfind('\n'), ran.out.size());
        EXPECT_EQ(ran.out.substr(std::min(split + 1, ran.out.size())), std::to_string(status))
            << path << "\n"
            << ran.out;
        return ran.out.substr(0, split);
    }

    std::string url_;
};

json parsed(const std::string& text) {
    auto value = js::parse(text);
    EXPECT_TRUE(value.has_value()) << text;
    return value ? *value : json();
}

json only_task(const std::string& text) {
    const json whole = parsed(text);
    const json* tasks = whole.find("tasks");
    return tasks != nullptr ? tasks->if_array()->at(0) : json();
}

std::string created_id(const std::string& text) {
    const json whole = parsed(text);
    const json* created = whole.find("Created");
    return created != nullptr ? text_of(*created, "execution_id") : text;
}

TEST(ServeProcess, AWholeLifeWithCurlAndAKillInBetween) {
    const support::TempDir folder;
    const std::string db = folder.file("app.db");
    const std::string poll =
        R"({"worker_instance_id":"w-1","lanes":["mail"],"lease_ttl_ms":3600000})";
    const std::string body = R"({"namespace":"n","lane_id":"mail","execution_kind":"k",)"
                             R"("input_payload":{"text":"in"}})";
    std::string done;
    std::string open;
    json task;
    {
        ServeProcess server(db);
        const Curl curl(server.url());
        EXPECT_EQ(curl.get("/healthz"), R"({"status":"ok"})");
        done = created_id(curl.post("/v1/executions", body, 201));
        task = only_task(curl.post("/v1/workers/w/poll", poll));
        EXPECT_EQ(text_of(task, "execution_id"), done);
        EXPECT_NE(curl.post("/v1/executions/" + done + "/attempts/0/complete",
                            R"({"handle":")" + text_of(task, "handle") +
                                R"(","result_payload":{"text":"out"}})")
                      .find("Completed"),
                  std::string::npos);
        open = created_id(curl.post("/v1/executions", body, 201));
        task = only_task(curl.post("/v1/workers/w/poll", poll));
        server.process().send_signal(SIGKILL);
        EXPECT_EQ(server.process().wait(), 128 + SIGKILL);
    }
    ServeProcess server(db);
    const Curl curl(server.url());
    EXPECT_EQ(curl.get("/v1/executions/" + done + "/state"), "\"completed\"");
    EXPECT_EQ(curl.get("/v1/executions/" + done + "/result"), "out");
    EXPECT_EQ(curl.get("/v1/executions/" + open + "/state"), "\"active\"");
    EXPECT_EQ(curl.post("/v1/workers/other/poll", poll, 204), "") << "the lease has survived too";
    EXPECT_NE(curl.post("/v1/executions/" + open + "/attempts/0/complete",
                        R"({"handle":")" + text_of(task, "handle") + "\"}")
                  .find("Completed"),
              std::string::npos)
        << "its holder ends what it began before the kill";
    const std::string granted = created_id(curl.post("/v1/executions", body, 201));
    const json grant =
        parsed(curl.post("/v1/workers/w/claim", R"({"worker_instance_id":"w-1","lane_id":"mail",)"
                                                R"("grant_ttl_ms":60000})"));
    EXPECT_EQ(text_of(grant, "execution_id"), granted);
    EXPECT_NE(curl.post("/v1/executions/" + granted + "/claim",
                        R"({"worker_id":"w","worker_instance_id":"w-1","lane_id":"mail",)"
                        R"("grant_key":")" +
                            text_of(grant, "grant_key") + "\"}")
                  .find(R"("lease_epoch":1)"),
              std::string::npos);
    const std::string metrics = curl.get("/metrics");
    EXPECT_NE(metrics.find("ff_http_requests_total"), std::string::npos);
    EXPECT_NE(metrics.find("ff_claim_from_grant_duration_seconds_count{lane=\"mail\"} 1\n"),
              std::string::npos);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_NE(server.process().err().find("stopped"), std::string::npos);
}

/// Creates executions until the server is gone; gives the ids of those that were acknowledged.
std::set<std::string> create_until_gone(std::uint16_t port) {
    std::set<std::string> acknowledged;
    RawClient client(port);
    for (;;) {
        const RawAnswer answer = client.ask(json_request("POST", "/v1/executions", create_body()));
        if (answer.status != 201) {
            return acknowledged;
        }
        acknowledged.insert(created_id(answer.body));
    }
}

TEST(ServeProcess, KilledUnderLoadItLosesNothingThatWasAcknowledged) {
    const support::TempDir folder;
    std::set<std::string> acknowledged;
    for (int kills = 0; kills < 3; ++kills) {
        ServeProcess server(folder.file("app.db"));
        ASSERT_NE(server.port(), 0);
        std::vector<std::future<std::set<std::string>>> clients;
        for (int i = 0; i < 4; ++i) {
            clients.push_back(std::async(std::launch::async, create_until_gone, server.port()));
        }
        RawClient watcher(server.port());
        ASSERT_TRUE(eventually("there is load", [&] {
            const std::string text = watcher.ask(request_text("GET", "/metrics")).body;
            const std::string name = "ff_store_tx_duration_seconds_count{op=\"transaction\"} ";
            const std::size_t at = text.find(name);
            return at != std::string::npos && std::stod(text.substr(at + name.size())) > 100;
        }));
        server.process().send_signal(SIGKILL);
        for (auto& client : clients) {
            acknowledged.merge(client.get());
        }
    }
    ServeProcess server(folder.file("app.db"));
    RawClient client(server.port());
    std::size_t lost = 0;
    for (const std::string& id : acknowledged) {
        const RawAnswer answer =
            client.ask(request_text("GET", "/v1/executions/" + encoded(id) + "/state"));
        lost += answer.status == 200 ? 0U : 1U;
    }
    EXPECT_GT(acknowledged.size(), 100U);
    EXPECT_EQ(lost, 0U) << "of " << acknowledged.size();
    EXPECT_EQ(server.stop(), 0);
}

TEST(ServeProcess, ASecondOneOnTheSameFileEndsWithOneClearLine) {
    const support::TempDir folder;
    ServeProcess first(folder.file("app.db"));
    const Ran second = run({FF_BINARY, "serve", "--db", folder.file("app.db"), "--listen",
                            "127.0.0.1:0", "--log", "error"});
    EXPECT_EQ(second.code, 2);
    EXPECT_EQ(second.out, "");
    EXPECT_EQ(std::ranges::count(second.err, '\n'), 1) << second.err;
    EXPECT_NE(second.err.find("app.db"), std::string::npos) << second.err;
    EXPECT_EQ(Curl(first.url()).get("/healthz"), R"({"status":"ok"})") << "the first goes on";
    EXPECT_EQ(first.stop(), 0);
}

TEST(ServeProcess, ToldToEndItAnswersWhoWaitsAndEndsWithNought) {
    const support::TempDir folder;
    ServeProcess server(folder.file("app.db"));
    RawClient waiting(server.port());
    ASSERT_TRUE(waiting.send(json_request("POST", "/v1/workers/w/poll", poll_body(30'000))));
    RawClient watcher(server.port());
    ASSERT_TRUE(eventually("it waits", [&] {
        return watcher.ask(request_text("GET", "/metrics")).body.find("\nff_poll_waiting 1\n") !=
               std::string::npos;
    }));
    server.process().send_signal(SIGTERM);
    EXPECT_EQ(waiting.read_answer().status, 204);
    EXPECT_EQ(server.process().wait(), 0);
    EXPECT_EQ(server.process().err().find("warn"), std::string::npos) << server.process().err();
}

TEST(ServeProcess, ASecondSignalEndsItWith130) {
    const support::TempDir folder;
    ServeProcess server(folder.file("app.db"), {}, {{"FF_SHUTDOWN_GRACE_S", "60"}});
    // A request whose body does not come holds the server up.
    RawClient half(server.port());
    EXPECT_EQ(half.ask(request_text("POST", "/v1/executions", {},
                                    {"Content-Type: application/json", "Expect: 100-continue",
                                     "Content-Length: 10"}))
                  .status,
              100);
    server.process().send_signal(SIGTERM);
    ASSERT_TRUE(
        eventually("it takes nobody more", [&] { return !RawClient::can_connect(server.port()); }));
    // Within a second of the first it is the same wish.
    ASSERT_TRUE(eventually("it ends at once", [&] {
        if (server.process().runs()) {
            server.process().send_signal(SIGTERM);
        }
        return !server.process().runs();
    }));
    EXPECT_EQ(server.process().wait(), 130);
}

TEST(ServeProcess, AnAddressThatIsTakenIsOneClearLineAndOne) {
    const support::TempDir folder;
    ServeProcess first(folder.file("a.db"));
    const Ran second = run({FF_BINARY, "serve", "--db", folder.file("b.db"), "--listen",
                            "127.0.0.1:" + std::to_string(first.port()), "--log", "error"});
    EXPECT_EQ(second.code, 1);
    EXPECT_EQ(std::ranges::count(second.err, '\n'), 1) << second.err;
    EXPECT_NE(second.err.find("127.0.0.1:" + std::to_string(first.port())), std::string::npos)
        << second.err;
}

TEST(ServeProcess, SecretsAreInNoLine) {
    const support::TempDir folder;
    ServeProcess server(folder.file("app.db"), {"--log", "debug"},
                        {{"FF_API_TOKEN", "s3cret-token"},
                         {"FF_ADMIN_TOKEN", "adm1n-token"},
                         {"FF_WAITPOINT_HMAC_SECRET", std::string(64, 'a') + "bb"},
                         {"FF_KEYSTORE_KEY", std::string(63, 'a') + "b"}});
    RawClient client(server.port());
    const std::string admin = "Authorization: Bearer adm1n-token";
    EXPECT_EQ(client.ask(request_text("GET", "/v1/capabilities")).status, 401);
    EXPECT_EQ(client
                  .ask(request_text("GET", "/v1/capabilities?token=s3cret-token", {},
                                    {"Authorization: Bearer s3cret-token"}))
                  .status,
              200);
    const RawAnswer config = client.ask(request_text("GET", "/v1/admin/config", {}, {admin}));
    EXPECT_EQ(config.status, 200);
    EXPECT_EQ(config.body.find("token\":\"s3"), std::string::npos);
    const std::string metrics = client.ask(request_text("GET", "/metrics")).body;
    EXPECT_EQ(client
                  .ask(json_request("POST", "/v1/executions",
                                    R"({"namespace":"n","lane_id":"l","execution_kind":"k",)"
                                    R"("input_payload":{"text":"pay-l0ad"}})",
                                    {admin}))
                  .status,
              201);
    const std::string digest = "c411back" + std::string(56, '0');
    EXPECT_EQ(client
                  .ask(request_text("POST",
                                    "/v1/callbacks/00000000-0000-0000-0000-000000000001.k1." +
                                        digest + "?source=c411back",
                                    "pay-l0ad"))
                  .status,
              404);
    EXPECT_EQ(client.ask(request_text("GET", "/v1/approve/c411back")).status, 404);
    EXPECT_EQ(
        client
            .ask(json_request(
                "POST", "/v1/admin/rotate-waitpoint-secret",
                R"({"new_kid":"k2","new_secret_hex":")" + std::string(64, 'a') + "\"}", {admin}))
            .status,
        200);
    EXPECT_EQ(server.stop(), 0);
    for (const std::string& text :
         {server.process().err(), server.process().out(), config.body, metrics}) {
        for (const std::string_view secret :
             {"s3cret", "adm1n", "pay-l0ad", "c411back", "aaaaaaaa"}) {
            EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in " << text;
        }
    }
    EXPECT_NE(server.process().err().find("route=/v1/capabilities"), std::string::npos)
        << "requests were logged: " << server.process().err();
    for (const std::string_view route :
         {"route=/v1/callbacks/{token}", "route=/v1/approve/{link}"}) {
        EXPECT_NE(server.process().err().find(route), std::string::npos) << route;
    }
    EXPECT_NE(server.process().err().find("kid=k2"), std::string::npos) << "rotations are told";
}

}  // namespace
}  // namespace ff::http::test
