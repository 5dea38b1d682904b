// The server with a certificate: who can talk to it, and what is said of files that are wrong.
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <stop_token>

#include "client/http_client.h"
#include "client/remote_engine.h"
#include "http/loopback_listener.h"
#include "http/process.h"
#include "http/test_server.h"

namespace ff::http::test {
namespace {

/// A certificate authority, and a certificate of this machine that it has signed.
class Certificates {
  public:
    Certificates() {
        make({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
              "-days", "2", "-subj", "/CN=Test authority", "-keyout", file("ca.key"), "-out",
              file("ca.pem")});
        make({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
              "/CN=localhost", "-keyout", file("server.key"), "-out", file("server.csr")});
        std::ofstream(file("names")) << "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
        make({"x509", "-req", "-in", file("server.csr"), "-CA", file("ca.pem"), "-CAkey",
              file("ca.key"), "-CAcreateserial", "-days", "2", "-extfile", file("names"), "-out",
              file("server.pem")});
    }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  private:
    static void make(std::vector<std::string> words) {
        words.insert(words.begin(), "openssl");
        const Ran ran = run(std::move(words));
        ASSERT_EQ(ran.code, 0) << ran.err;
    }
    support::TempDir folder_;
};

const Certificates& certificates() {
    static const Certificates made;
    return made;
}

TestOptions with_tls() {
    TestOptions options;
    options.server.tls_cert = certificates().file("server.pem");
    options.server.tls_key = certificates().file("server.key");
    options.server.head_timeout = std::chrono::milliseconds(2'000);
    return options;
}

client::RemoteOptions trusting(const std::string& ca_file) {
    client::RemoteOptions options;
    options.ca_file = ca_file;
    options.tries = 1;
    return options;
}

std::string url_of(const TestServer& server, const std::string& host = "127.0.0.1") {
    return "https://" + host + ":" + std::to_string(server.port());
}

TEST(Tls, AClientThatTrustsTheAuthorityIsServed) {
    TestServer server(with_tls());
    for (const std::string host : {"127.0.0.1", "localhost"}) {
        auto engine = client::RemoteEngine::connect(url_of(server, host),
                                                    trusting(certificates().file("ca.pem")));
        ASSERT_TRUE(engine) << engine.error().message();
        std::string large(500'000, 'x');
        auto created = (*engine)->run(CreateExecution{
            .ns = "n", .lane_id = "l", .execution_kind = "k", .input_payload = large});
        ASSERT_TRUE(created) << created.error().message();
        auto context = (*engine)->run(ReadExecutionContext{created->execution_id});
        ASSERT_TRUE(context);
        EXPECT_EQ(context->input_payload, large);
    }
}

TEST(Tls, AClientThatDoesNotTrustItRefuses) {
    const TestServer server(with_tls());
    // Another authority of the same name.
    const Certificates others;
    for (const std::string& ca_file : {std::string(), others.file("ca.pem")}) {
        auto engine = client::RemoteEngine::connect(url_of(server), trusting(ca_file));
        ASSERT_FALSE(engine);
        EXPECT_EQ(engine.error().code, ErrorCode::store_io);
        EXPECT_NE(engine.error().detail.find("certificate verify failed"), std::string::npos)
            << engine.error().detail;
    }
}

TEST(Tls, APollCanBeLeftAsWithoutIt) {
    TestServer server(with_tls());
    auto engine =
        client::RemoteEngine::connect(url_of(server), trusting(certificates().file("ca.pem")));
    ASSERT_TRUE(engine) << engine.error().message();
    std::stop_source leave;
    std::atomic<int> answered = 0;
    Claim claim{.lanes = {"default"}, .worker_id = "w", .worker_instance_id = "i"};
    claim.max_wait_ms = 20'000;
    claim.abandoned = leave.get_token();
    (*engine)->async(claim, [&](expected<ClaimResult> result) {
        answered = result && result->tasks.empty() ? 1 : 2;
    });
    ASSERT_TRUE(
        eventually("it waits", [&] { return server.engine().stats().waiting_claims == 1; }));
    leave.request_stop();
    EXPECT_TRUE(
        eventually("it is let go", [&] { return server.engine().stats().waiting_claims == 0; }));
    EXPECT_TRUE(eventually("it is answered", [&] { return answered != 0; }));
    EXPECT_EQ(answered.load(), 1);
}

Ran s_client(const TestServer& server, const std::vector<std::string>& more) {
    std::vector<std::string> words{"openssl",  "s_client",
                                   "-connect", "127.0.0.1:" + std::to_string(server.port()),
                                   "-CAfile",  certificates().file("ca.pem"),
                                   "-cipher",  "ALL:@SECLEVEL=0"};
    words.insert(words.end(), more.begin(), more.end());
    return run(std::move(words));
}

TEST(Tls, VersionsBeforeTwelveAreRefused) {
    const TestServer server(with_tls());
    const Ran current = s_client(server, {"-tls1_2"});
    EXPECT_EQ(current.code, 0) << current.err;
    EXPECT_NE(current.out.find("Verify return code: 0 (ok)"), std::string::npos) << current.out;
    EXPECT_EQ(s_client(server, {"-tls1_3"}).code, 0);
    for (const std::string version : {"-tls1_1", "-tls1"}) {
        const Ran old = s_client(server, {version});
        EXPECT_NE(old.code, 0) << version;
        EXPECT_NE(old.err.find("alert protocol version"), std::string::npos) << old.err;
    }
}

TEST(Tls, CiphersWithoutForwardSecrecyAreRefused) {
    const TestServer server(with_tls());
    for (const std::string cipher :
         {"AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA", "NULL", "aNULL"}) {
        EXPECT_NE(s_client(server, {"-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"}).code, 0)
            << cipher;
    }
}

TEST(Tls, WhoSpeaksPlainlyOrSaysNothingIsNotServed) {
    TestServer server(with_tls());
    RawClient plain = server.connect();
    plain.send(request_text("GET", "/healthz"));
    EXPECT_EQ(plain.read_to_end().find("HTTP/"), std::string::npos);
    RawClient silent = server.connect();
    EXPECT_TRUE(silent.is_closed_by_server()) << "a greeting takes no longer than a head";
}

/// Asks over a connection that the server then closes: has it said before that this is the end?
bool ends_properly(const TestServer& server, int version) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    SSL_CTX_set_max_proto_version(context.get(), version);
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> connection(
        BIO_new_ssl_connect(context.get()), &BIO_free_all);
    const std::string at = "127.0.0.1:" + std::to_string(server.port());
    BIO_set_conn_hostname(connection.get(), at.c_str());
    const std::string request = request_text("GET", "/healthz", "", {"Connection: close"});
    EXPECT_EQ(BIO_puts(connection.get(), request.c_str()), static_cast<int>(request.size()));
    std::string answer;
    std::array<char, 1'024> buffer{};
    for (int size = 0; (size = BIO_read(connection.get(), buffer.data(), buffer.size())) > 0;) {
        answer.append(buffer.data(), static_cast<std::size_t>(size));
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    SSL* tls = nullptr;
    BIO_get_ssl(connection.get(), &tls);
    return (SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN) != 0;
}

TEST(Tls, WhatEndsWithItsConnectionIsNotTakenForCutOff) {
    const TestServer server(with_tls());
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        EXPECT_TRUE(ends_properly(server, version)) << version;
    }
}

/// The first bytes that a client sends to `host` under TLS.
std::string greeting_to(const std::string& host) {
    const LoopbackListener listener;
    client::HttpClientOptions how;
    how.host = host;
    how.port = listener.port();
    how.tls = true;
    how.ca_file = certificates().file("ca.pem");
    const auto http = client::HttpClient::make(how);
    EXPECT_TRUE(http.has_value());
    std::promise<bool> answered;
    (*http)->send(
        {wire::Method::get, "/x", ""}, client::Answers::promptly, patience, {},
        [&](expected<wire::Received> received) { answered.set_value(received.has_value()); });
    const int fd = accept(listener.fd(), nullptr, nullptr);
    std::string greeting(4'096, '\0');
    greeting.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, recv(fd, greeting.data(), greeting.size(), 0))));
    close(fd);
    EXPECT_FALSE(answered.get_future().get());
    return greeting;
}

TEST(Tls, AServerIsToldItsNameAndNoAddress) {
    EXPECT_TRUE(greeting_to("localhost").contains("localhost"));
    EXPECT_FALSE(greeting_to("127.0.0.1").contains("127.0.0.1"));
}

// ---------------------------------------------------------------------------- files that are wrong

std::string fault_of(const std::string& cert, const std::string& key) {
    auto engine = Engine::open("memory:");
    ServerOptions options;
    options.port = 0;
    options.tls_cert = cert;
    options.tls_key = key;
    auto server = Server::start(*engine, options, {});
    EXPECT_FALSE(server) << cert << " " << key;
    if (server) {
        return "";
    }
    EXPECT_EQ(server.error().code, ErrorCode::invalid_config);
    EXPECT_EQ(server.error().detail.find('\n'), std::string::npos) << "one line";
    return server.error().detail;
}

TEST(Tls, FilesThatAreWrongAreNamedInOneLine) {
    const Certificates& files = certificates();
    const std::string cert = files.file("server.pem");
    const std::string key = files.file("server.key");
    const auto says = [](const std::string& text, const std::string& word) {
        EXPECT_NE(text.find(word), std::string::npos) << text;
    };
    says(fault_of(files.file("none.pem"), key),
         "cannot use the certificate " + files.file("none.pem") + ": No such file or directory");
    says(fault_of(cert, files.file("none.key")),
         "cannot use the key " + files.file("none.key") + ": No such file or directory");
    says(fault_of(cert, files.file("ca.key")), "it does not belong to the certificate");
    says(fault_of(cert, files.file("ca.key")), files.file("ca.key"));
    says(fault_of(files.file("names"), key), "cannot use the certificate " + files.file("names"));
    says(fault_of(cert, files.file("names")), "cannot use the key " + files.file("names"));
    says(fault_of(cert, cert), "cannot use the key " + cert);
}

TEST(Tls, TheProgramSaysSoToo) {
    const support::TempDir folder;
    const Certificates& files = certificates();
    const Ran ran =
        run({FF_BINARY, "serve", "--db", folder.file("a.db"), "--listen", "127.0.0.1:0", "--log",
             "error", "--tls-cert", files.file("server.pem"), "--tls-key", files.file("ca.key")});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_NE(ran.err.find("does not belong to the certificate"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace ff::http::test
