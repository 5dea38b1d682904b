// Approval links: shown to whoever has one, good for one answer, and nothing to anybody else.
#include <gtest/gtest.h>

#include "http/approval_link.h"
#include "http/approval_page.h"
#include "http/suspended_server.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

class ApprovalLinks : public ::testing::Test {
  protected:
    [[nodiscard]] std::string links_path(const SuspendedExecution& of) const {
        return "/v1/executions/" + encoded(of.id) + "/waitpoints/" +
               of.ticket.waitpoint_id.to_string() + "/approval-links";
    }
    [[nodiscard]] std::string make(
        const std::string& body = R"({"actor":"ada","expires_in_ms":60000})") const {
        const RawAnswer answer = server.post(links_path(wait), body);
        EXPECT_EQ(answer.status, 200) << answer.body;
        EXPECT_EQ(answer.header("Cache-Control"), "no-store");
        return answer.member("url_path");
    }
    [[nodiscard]] RawAnswer choose(std::string_view path, std::string_view choice) const {
        return server.ask(request_text("POST", path, "choice=" + std::string(choice),
                                       {"Content-Type: application/x-www-form-urlencoded"}));
    }
    [[nodiscard]] std::string state(const SuspendedExecution& of) const {
        return server.get("/v1/executions/" + encoded(of.id) + "/state").body;
    }
    [[nodiscard]] js::Array signals() const {
        const json page =
            server.get("/v1/executions/" + encoded(wait.id) + "/signals?with_payload=true")
                .document();
        return *page.find("items")->if_array();
    }

    static TestOptions options() {
        TestOptions made;
        made.service.gate.allow_insecure = true;
        return made;
    }

    TestServer server{options()};
    SuspendedExecution wait = suspend_one(
        server,
        R"("resume_condition":{"Single":{"matcher":"Wildcard"}},"timeout_at":1700003600000,)"
        R"("reason_code":"WaitingForApproval")",
        R"({"namespace":"acme","lane_id":"default","execution_kind":"pay <b>",)"
        R"("input_payload":{"text":"<script>alert(1)</script> & \"q\""},)"
        R"("tags":{"app.<i>":"'x'"}})");
};

TEST_F(ApprovalLinks, ShowWhatIsAskedAndChangeNothing) {
    const std::string path = make(R"({"actor":"ada <a@x>","expires_in_ms":60000,"note":"soon?"})");
    for (int i = 0; i < 2; ++i) {
        const RawAnswer page = server.get(path);
        EXPECT_EQ(page.status, 200) << page.body;
        EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
        EXPECT_EQ(page.header("Cache-Control"), "no-store");
        EXPECT_EQ(page.header("Referrer-Policy"), "no-referrer");
        EXPECT_TRUE(page.header("Content-Security-Policy")->starts_with("default-src 'none';"));
        for (const std::string_view text :
             {"pay &lt;b&gt;", "acme", "default", "waiting_for_approval", "soon?",
              "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;q&quot;",
              "app.&lt;i&gt;=&#39;x&#39;", "ada &lt;a@x&gt;", "2023-11-14 22:13:20 UTC",
              "2023-11-14 23:13:20 UTC", "2023-11-14 22:14:20 UTC", "value=\"approved\"",
              "value=\"rejected\"", "<form method=\"post\">"}) {
            EXPECT_TRUE(page.body.contains(text)) << text << "\n" << page.body;
        }
        EXPECT_FALSE(page.body.contains("<script")) << page.body;
        EXPECT_FALSE(page.body.contains(wait.ticket.waitpoint_token));
    }
    EXPECT_EQ(state(wait), "\"suspended\"");
    EXPECT_TRUE(signals().empty());
}

TEST_F(ApprovalLinks, AreGoodForOneAnswer) {
    const std::string path = make();
    const RawAnswer thanks = choose(path, "rejected");
    EXPECT_EQ(thanks.status, 200) << thanks.body;
    EXPECT_TRUE(thanks.body.contains("Thank you")) << thanks.body;
    EXPECT_TRUE(thanks.body.contains("rejected")) << thanks.body;
    EXPECT_EQ(state(wait), "\"waiting\"");
    ASSERT_EQ(signals().size(), 1U);
    const json signal = signals()[0];
    EXPECT_EQ(text_of(signal, "signal_name"), "rejected");
    EXPECT_EQ(text_of(signal, "signal_category"), "approval");
    EXPECT_EQ(text_of(signal, "source_identity"), "ada");
    for (const RawAnswer& again :
         {choose(path, "rejected"), choose(path, "approved"), server.get(path)}) {
        EXPECT_EQ(again.status, 410);
        EXPECT_TRUE(again.body.contains("This link has been used")) << again.body;
    }
    EXPECT_EQ(signals().size(), 1U);
}

TEST_F(ApprovalLinks, AreUsedUpAlsoWhenTheWaitGoesOn) {
    const SuspendedExecution two = suspend_one(
        server, R"("waitpoints":[{"Fresh":{"waitpoint_key":"k"}}],"resume_condition":{"Composite":)"
                R"({"kind":"Count","n":2,"count_kind":"DistinctSources","waitpoints":["k"]}})");
    const std::string body = R"("expires_in_ms":60000,"note":"fine by me"})";
    const auto link = [&](const std::string& actor) {
        return server.post(links_path(two), R"({"actor":")" + actor + "\"," + body)
            .member("url_path");
    };
    const std::string ada = link("ada");
    const std::string bob = link("bob");
    EXPECT_EQ(choose(ada, "approved").status, 200);
    EXPECT_EQ(choose(ada, "rejected").status, 410) << "another answer is a second one";
    EXPECT_EQ(server.get(ada).status, 410);
    EXPECT_EQ(state(two), "\"suspended\"");
    EXPECT_EQ(choose(bob, "approved").status, 200);
    EXPECT_EQ(state(two), "\"waiting\"");
}

TEST_F(ApprovalLinks, SayThatNobodyWaitsForAnAnswerThatIsNotAskedFor) {
    const std::string single = R"("resume_condition":{"Single":{"matcher":{"ByName":"approved"}}})";
    const std::string composite =
        R"("waitpoints":[{"Fresh":{"waitpoint_key":"k"}}],"resume_condition":{"Composite":)"
        R"({"kind":"AllOf","members":[)"
        R"({"Single":{"waitpoint_key":"k","matcher":{"ByName":"approved"}}}]}})";
    for (const std::string& condition : {single, composite}) {
        const SuspendedExecution one = suspend_one(server, condition);
        const std::string path =
            server.post(links_path(one), R"({"actor":"ada","expires_in_ms":60000})")
                .member("url_path");
        const RawAnswer page = choose(path, "rejected");
        EXPECT_EQ(page.status, 200) << page.body;
        EXPECT_TRUE(page.body.contains("Recorded, but nothing has changed")) << page.body;
        EXPECT_EQ(state(one), "\"suspended\"") << condition;
    }
}

TEST_F(ApprovalLinks, ThatAreForgedAreAllToldTheSame) {
    const std::string path = make();
    const std::size_t dot = path.find('.');
    std::string tag = path;
    tag[dot + 1] = tag[dot + 1] == 'A' ? 'B' : 'A';
    auto presented = parse_link(path.substr(std::string("/v1/approve/").size()));
    ASSERT_TRUE(presented);
    ApprovalLink changed = presented->link;
    changed.actor = "eve";
    const std::string other_actor = "/v1/approve/" + link_text(changed, "k1:guess");
    // Whoever was given the waitpoint's token may signal it, and cannot speak for an operator.
    const std::string by_token = "/v1/approve/" + link_text(changed, wait.ticket.waitpoint_token);
    changed.waitpoint_id = {new_uuid()};
    const std::string unknown = "/v1/approve/" + link_text(changed, "k1:guess");
    std::string same;
    for (const std::string& wrong : {tag, other_actor, by_token, unknown, path.substr(0, dot),
                                     path + "A", std::string("/v1/approve/x")}) {
        for (const RawAnswer& answer : {server.get(wrong), choose(wrong, "approved")}) {
            EXPECT_EQ(answer.status, 404) << wrong;
            same = same.empty() ? answer.body : same;
            EXPECT_EQ(answer.body, same) << wrong;
        }
    }
    EXPECT_TRUE(signals().empty());
    EXPECT_EQ(choose(path, "approved").status, 200) << "the true one is still good";
}

TEST(ApprovalAccess, EndsForAnAddressThatGuessesTooOften) {
    TestOptions options;
    options.service.gate.allow_insecure = true;
    options.service.failed_attempts_max = 1;
    const TestServer guarded(std::move(options));
    for (std::size_t i = 0; i < FailedAttempts::targets_factor; ++i) {
        EXPECT_EQ(guarded.get("/v1/approve/x").status, 404) << i;
    }
    const RawAnswer refused = guarded.get("/v1/approve/x");
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(refused.header("Retry-After"));
    EXPECT_EQ(guarded.get("/v1/lanes").status, 200) << "nothing else is touched";
}

TEST(ApprovalLinkKeys, FollowFromTheTokenOfTheAdmin) {
    const GateOptions one{.api_token = "user", .admin_token = "boss"};
    const GateOptions same{.api_token = "other", .admin_token = "boss"};
    EXPECT_EQ(link_key(one), link_key(same)) << "after a restart, on another server";
    EXPECT_NE(link_key(one), link_key({.api_token = "user", .admin_token = "new"}));
    EXPECT_EQ(link_key({.api_token = "user"}), link_key({.api_token = "user"}));
    EXPECT_NE(link_key({}), link_key({})) << "nobody can know it";
}

TEST_F(ApprovalLinks, Expire) {
    const std::string path = make();
    server.clock().advance(59'999);
    EXPECT_EQ(server.get(path).status, 200);
    server.clock().advance(1);
    EXPECT_EQ(server.get(path).status, 410);
    EXPECT_EQ(choose(path, "approved").status, 410);
    EXPECT_TRUE(signals().empty());
}

TEST_F(ApprovalLinks, EndWithTheWaitpoint) {
    const std::string path = make();
    EXPECT_EQ(server.post("/v1/executions/" + encoded(wait.id) + "/resume", "{}").status, 200);
    EXPECT_EQ(server.get(path).status, 410);
    EXPECT_EQ(choose(path, "approved").status, 410);
    EXPECT_EQ(server.post(links_path(wait), R"({"actor":"ada","expires_in_ms":1})").status, 404);
}

TEST_F(ApprovalLinks, TakeOnlyTheirOwnChoices) {
    const std::string path =
        make(R"({"actor":"ada","expires_in_ms":60000,"choices":["ship it","<hold>"]})");
    const RawAnswer page = server.get(path);
    EXPECT_TRUE(page.body.contains("value=\"ship it\"")) << page.body;
    EXPECT_TRUE(page.body.contains("value=\"&lt;hold&gt;\"")) << page.body;
    for (const std::string_view wrong : {"approved", "", "ship"}) {
        EXPECT_EQ(choose(path, wrong).status, 400) << wrong;
    }
    EXPECT_EQ(server.ask(request_text("POST", path, "%zz")).status, 400);
    EXPECT_EQ(choose(path, "ship+it").status, 200);
    EXPECT_EQ(text_of(signals()[0], "signal_name"), "ship it");
}

TEST_F(ApprovalLinks, CannotBeMadeOfJustAnything) {
    const auto refused = [&](const std::string& body) {
        const RawAnswer answer = server.post(links_path(wait), body);
        return std::to_string(answer.status) + " " + answer.member("error");
    };
    EXPECT_EQ(refused(R"({"expires_in_ms":1})"),
              "422 invalid JSON: Unprocessable Entity: actor: missing");
    EXPECT_TRUE(refused(R"({"actor":"a","expires_in_ms":0})").starts_with("422 "));
    EXPECT_TRUE(refused(R"({"actor":"a","expires_in_ms":7776000001})").starts_with("422 "));
    EXPECT_EQ(refused(R"({"actor":"","expires_in_ms":1})"),
              "400 invalid_input: actor: 1 to 1024 bytes");
    EXPECT_EQ(refused(R"({"actor":"a","expires_in_ms":1,"choices":[]})"),
              "400 invalid_input: choices: 1 to 8 of them");
    EXPECT_EQ(refused(R"({"actor":"a","expires_in_ms":1,"choices":[""]})"),
              "400 invalid_input: choices: each 1 to 256 bytes");
}

TEST(ApprovalAccess, LinksAreMadeByAdministratorsAndUsedByAnybody) {
    TestOptions options;
    options.service.gate.api_token = "ordinary";
    options.service.gate.admin_token = "admin";
    const TestServer server(std::move(options));
    const std::string path = "/v1/executions/" +
                             encoded("{fp:0}:00000000-0000-0000-0000-000000000001") +
                             "/waitpoints/00000000-0000-0000-0000-000000000002/approval-links";
    const std::string body = R"({"actor":"a","expires_in_ms":1})";
    const auto ask = [&](const std::string& token) {
        return server.ask(json_request("POST", path, body, {"Authorization: Bearer " + token}))
            .status;
    };
    EXPECT_EQ(ask("ordinary"), 403);
    EXPECT_EQ(ask("admin"), 404);
    EXPECT_EQ(server.get("/v1/approve/x").status, 404);
}

// ------------------------------------------------------------------------------------------ pages

TEST(ApprovalPages, CutLongPayloadsAndLeaveOutBytes) {
    ApprovalLink link;
    link.actor = "a";
    ApprovalSubject subject;
    subject.payload = std::string(4'095, 'x') + "€uro";
    const std::string cut = approval_page(link, subject).body;
    EXPECT_TRUE(cut.contains("xxx\n… (cut)</pre>")) << "a character is not cut in two";
    subject.payload = std::string("\xff\xfe", 2);
    EXPECT_TRUE(approval_page(link, subject).body.contains("2 bytes that are not text"));
    EXPECT_FALSE(approval_page(link, subject).body.contains("\xff"));
}

TEST(ApprovalPages, EscapeWhatIsForeign) {
    EXPECT_EQ(html_escaped("<a href='x' b=\"y\">&"),
              "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
    EXPECT_EQ(html_escaped(std::string("a\0b", 3)),
              "a\xEF\xBF\xBD"
              "b");
}

}  // namespace
}  // namespace ff::http::test
