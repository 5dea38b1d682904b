// Who may come in: pages of other origins (spec 07 section 1.4), and tokens where golden/tokens.txt
// does not look.
#include <gtest/gtest.h>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

const std::string origin = "Origin: https://app.example.org";

RawAnswer preflight(const TestServer& server, const std::string& from = origin,
                    std::string_view target = "/v1/executions") {
    return server.ask(request_text("OPTIONS", target, {},
                                   {from, "Access-Control-Request-Method: POST",
                                    "Access-Control-Request-Headers: content-type, x-mine"}));
}

TestOptions with_origins(std::vector<std::string> origins) {
    TestOptions options;
    options.service.gate.cors_origins = std::move(origins);
    options.service.metrics_text = [] { return "ff_up 1\n"; };
    return options;
}

std::size_t cors_fields(const RawAnswer& answer) {
    std::size_t found = 0;
    for (const auto& [name, value] : answer.headers) {
        found += name.starts_with("Access-Control-") ? 1 : 0;
    }
    return found;
}

TEST(Cors, NobodyElseIsLetInByDefault) {
    const TestServer server;
    const RawAnswer asked = preflight(server);
    EXPECT_EQ(asked.status, 200);
    EXPECT_EQ(cors_fields(asked), 0U);
    const RawAnswer got = server.ask(request_text("GET", "/healthz", {}, {origin}));
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(cors_fields(got), 0U);
}

TEST(Cors, AnyOriginMayDoAnythingWhenAllAreAllowed) {
    TestOptions options;
    options.service.gate.cors_any = true;
    const TestServer server(std::move(options));
    const RawAnswer asked = preflight(server);
    EXPECT_EQ(asked.status, 200);
    EXPECT_EQ(asked.body, "");
    EXPECT_EQ(asked.header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(asked.header("Access-Control-Allow-Methods"), "*");
    EXPECT_EQ(asked.header("Access-Control-Allow-Headers"), "content-type, x-mine");
    const RawAnswer got = server.ask(request_text("GET", "/v1/nothing", {}, {origin}));
    EXPECT_EQ(got.status, 404);
    EXPECT_EQ(got.header("Access-Control-Allow-Origin"), "*") << "refusals can be read too";
    EXPECT_EQ(got.header("Access-Control-Expose-Headers"), "*");
    EXPECT_EQ(cors_fields(server.get("/healthz")), 0U) << "without an origin nobody asked";
}

TEST(Cors, AListedOriginMayDoWhatTheServerTakes) {
    const TestServer server(with_origins({"https://app.example.org", "http://localhost:3000"}));
    const RawAnswer asked = preflight(server);
    EXPECT_EQ(asked.status, 200);
    EXPECT_EQ(asked.header("Access-Control-Allow-Origin"), "https://app.example.org");
    EXPECT_EQ(asked.header("Access-Control-Allow-Methods"), "GET, POST, PUT, DELETE");
    EXPECT_EQ(asked.header("Access-Control-Allow-Headers"), "content-type");
    EXPECT_EQ(asked.header("Vary"), "Origin");
    const RawAnswer got = server.ask(request_text("GET", "/healthz", {}, {origin}));
    EXPECT_EQ(got.header("Access-Control-Allow-Origin"), "https://app.example.org");
    EXPECT_EQ(got.header("Vary"), "Origin");
    EXPECT_FALSE(got.header("Access-Control-Allow-Credentials"));
}

TEST(Cors, AnOriginThatIsNotListedGetsNothing) {
    const TestServer server(with_origins({"https://app.example.org"}));
    for (const char* const other :
         {"Origin: https://app.example.org.evil.org", "Origin: http://app.example.org",
          "Origin: https://app.example.org:8443", "Origin: null", "Origin: ", "Origin: *"}) {
        EXPECT_EQ(cors_fields(preflight(server, other)), 0U) << other;
        const RawAnswer got = server.ask(request_text("GET", "/healthz", {}, {other}));
        EXPECT_EQ(cors_fields(got), 0U) << other;
        // Whoever keeps this answer must not give it to the listed origin.
        EXPECT_EQ(got.header("Vary"), "Origin") << other;
    }
}

TEST(Cors, TheAuthorizationFieldIsAllowedWhenSomebodyAsksForIt) {
    for (const bool admin_only : {false, true}) {
        TestOptions options = with_origins({"https://app.example.org"});
        (admin_only ? options.service.gate.admin_token : options.service.gate.api_token) = "t";
        const TestServer server(std::move(options));
        const RawAnswer asked = preflight(server);
        EXPECT_EQ(asked.status, 200) << "a preflight needs no token";
        EXPECT_EQ(asked.header("Access-Control-Allow-Headers"), "content-type, authorization");
    }
}

TEST(Cors, AQuestionWithoutItsFieldsIsAnOrdinaryRequest) {
    TestOptions options;
    options.service.gate.cors_any = true;
    const TestServer server(std::move(options));
    EXPECT_EQ(server.ask(request_text("OPTIONS", "/v1/executions", {}, {origin})).status, 405);
    EXPECT_EQ(server
                  .ask(request_text("OPTIONS", "/v1/executions", {},
                                    {"Access-Control-Request-Method: POST"}))
                  .status,
              405);
}

TEST(Cors, MetricsAreForNoPage) {
    const TestServer server(with_origins({"https://app.example.org"}));
    const RawAnswer got = server.ask(request_text("GET", "/metrics", {}, {origin}));
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(cors_fields(got), 0U);
    EXPECT_EQ(cors_fields(preflight(server, origin, "/metrics")), 0U);
}

std::string named(std::string_view host, const std::vector<std::string>& fields = {}) {
    std::string request = json_request("POST", "/v1/executions", create_body(), fields);
    const std::string usual = "Host: localhost\r\n";
    request.replace(request.find(usual), usual.size(), "Host: " + std::string(host) + "\r\n");
    return request;
}

TestOptions on_this_machine(std::string host = "127.0.0.1") {
    TestOptions options;
    options.service.gate.own_host = std::move(host);
    return options;
}

TEST(Pages, ANameThatWasMadeToLeadHereIsRefused) {
    const TestServer server(on_this_machine("Box.internal"));
    for (const char* const own : {"127.0.0.1:9090", "127.8.8.8", "localhost:9090", "LOCALHOST",
                                  "[::1]:9090", "[::1]", "box.INTERNAL:9090"}) {
        EXPECT_EQ(server.ask(named(own)).status, 201) << own;
    }
    for (const char* const other :
         {"evil.example.org:9090", "evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org",
          "10.0.0.1", "[::2]:9090", ""}) {
        EXPECT_EQ(server.ask(named(other)).status, 403) << other;
    }
    const RawAnswer refused = server.ask(named("evil.example.org:9090"));
    EXPECT_EQ(refused.member("code"), "unauthorized");
    EXPECT_EQ(refused.member("error"),
              "a request to the host evil.example.org:9090 may not use a server without an API "
              "token: set FF_API_TOKEN, or call 127.0.0.1 or localhost");
    EXPECT_EQ(server.ask("GET /healthz HTTP/1.1\r\nHost: probe\r\n\r\n").status, 200);
}

TEST(Pages, OfOthersAreRefusedWhatNobodyAskedThemFor) {
    const TestServer server(on_this_machine());
    // A form or a script of any page may send this without asking first.
    for (const char* const page :
         {"Origin: https://evil.example.org", "Origin: null", "Origin: http://localhost:3000",
          "Origin: http://127.0.0.1:9091", "Origin: "}) {
        EXPECT_EQ(server.ask(named("127.0.0.1:9090", {page})).status, 403) << page;
        EXPECT_EQ(server.ask(request_text("GET", "/v1/lanes", {}, {page})).status, 403) << page;
    }
    EXPECT_EQ(server.ask(named("127.0.0.1:9090", {"Origin: http://127.0.0.1:9090"})).status, 201);
    EXPECT_EQ(server.ask(named("127.0.0.1:9090")).status, 201) << "no page at all";
}

TEST(Pages, ThatAreListedMayComeIn) {
    TestOptions options = on_this_machine();
    options.service.gate.cors_origins = {"http://localhost:3000"};
    const TestServer server(std::move(options));
    EXPECT_EQ(server.ask(named("localhost", {"Origin: http://localhost:3000"})).status, 201);
    EXPECT_EQ(server.ask(named("localhost", {"Origin: http://localhost:3001"})).status, 403);
}

TEST(Pages, ATokenIsProofEnough) {
    TestOptions options = on_this_machine();
    options.service.gate.api_token = "t";
    const TestServer server(std::move(options));
    const std::string token = "Authorization: Bearer t";
    EXPECT_EQ(server.ask(named("proxy.example.org", {token})).status, 201);
    EXPECT_EQ(server.ask(named("localhost", {token, "Origin: https://app.example.org"})).status,
              201);
}

TEST(Pages, WhoListensElsewhereHasNamesOfItsOwn) {
    const TestServer server;  // no own_host: not this machine's alone
    EXPECT_EQ(server.ask(named("ff.example.org")).status, 201);
    EXPECT_EQ(server.ask(named("ff.example.org", {"Origin: https://evil.org"})).status, 403);
}

TEST(Tokens, AnAdministratorsAloneLeavesOtherRoutesOpen) {
    TestOptions options;
    options.service.gate.admin_token = "boss";
    const TestServer server(std::move(options));
    EXPECT_EQ(server.get("/v1/capabilities").status, 200);
    EXPECT_EQ(server.get("/v1/admin/store").status, 401);
    EXPECT_EQ(server.ask(request_text("GET", "/v1/admin/store", {}, {"Authorization: Bearer boss"}))
                  .status,
              200);
}

TEST(Tokens, AnOrdinaryOneAloneOpensTheAdministratorsRoutesToo) {
    TestOptions options;
    options.service.gate.api_token = "secret";
    const TestServer server(std::move(options));
    EXPECT_EQ(
        server.ask(request_text("GET", "/v1/admin/store", {}, {"Authorization: Bearer secret"}))
            .status,
        200);
    EXPECT_EQ(server.get("/v1/admin/store").status, 401);
}

TEST(Tokens, NoFieldMakesAnotherRequestOfOne) {
    TestOptions options;
    options.service.gate.api_token = "secret";
    options.service.gate.admin_token = "boss";
    const TestServer server(std::move(options));
    for (const std::string_view field :
         {"X-HTTP-Method-Override: OPTIONS", "X-Original-URL: /healthz", "X-Rewrite-URL: /healthz",
          "X-Forwarded-Prefix: /metrics", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1",
          "Access-Control-Request-Method: GET"}) {
        const auto status_of = [&](std::vector<std::string> fields) {
            fields.emplace_back(field);
            return server.ask(request_text("GET", "/v1/admin/store", {}, fields)).status;
        };
        EXPECT_EQ(status_of({}), 401) << field;
        EXPECT_EQ(status_of({"Authorization: Bearer secret"}), 403) << field;
        EXPECT_EQ(status_of({"Authorization: Bearer boss"}), 200) << field;
        EXPECT_EQ(status_of({"Authorization: Bearer secret", "Authorization: Bearer boss"}), 403)
            << field << ": the first counts";
    }
}

TEST(Tokens, AreNotGivenAway) {
    TestOptions options;
    options.service.gate.api_token = "secret-of-the-house";
    const TestServer server(std::move(options));
    for (const std::string_view field :
         {"Authorization: Bearer secret-of-the-hous", "Authorization: Bearer SECRET-OF-THE-HOUSE",
          "Authorization: Bearersecret-of-the-house", "authorization: Bearer\tsecret-of-the-house",
          "X-Authorization: Bearer secret-of-the-house", "Proxy-Authorization: Bearer x",
          "Cookie: Authorization=Bearer secret-of-the-house"}) {
        const RawAnswer answer =
            server.ask(request_text("GET", "/v1/capabilities", {}, {std::string(field)}));
        EXPECT_EQ(answer.status, 401) << field;
        EXPECT_EQ(answer.body.find("secret"), std::string::npos);
        EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer");
    }
    EXPECT_EQ(server
                  .ask(request_text("GET", "/v1/capabilities", {},
                                    {"AUTHORIZATION: Bearer secret-of-the-house"}))
                  .status,
              200)
        << "names of fields are of any case";
}

}  // namespace
}  // namespace ff::http::test
