// Engine::connect: from an address to an engine.
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <ff/client.h>
#include <ff/exception.h>

#include "support/eventually.h"
#include "support/postgres.h"
#include "support/temp_dir.h"

namespace ff::client::test {

using ff::support::TempDir;

std::string message(const expected<std::shared_ptr<Engine>>& engine) {
    return engine ? "connected" : engine.error().message();
}

/// Sets FF_CONNECT, or takes it away, and puts it back as it was.
class ConnectVariable {
  public:
    explicit ConnectVariable(const char* value) {
        const char* was = ::getenv("FF_CONNECT");
        before_ = was != nullptr ? std::optional<std::string>(was) : std::nullopt;
        value != nullptr ? ::setenv("FF_CONNECT", value, 1) : ::unsetenv("FF_CONNECT");
    }
    ~ConnectVariable() {
        before_ ? ::setenv("FF_CONNECT", before_->c_str(), 1) : ::unsetenv("FF_CONNECT");
    }
    ConnectVariable(const ConnectVariable&) = delete;
    ConnectVariable& operator=(const ConnectVariable&) = delete;

  private:
    std::optional<std::string> before_;
};

/// Goes into a folder and back out of it.
class InFolder {
  public:
    explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
        std::filesystem::current_path(folder);
    }
    ~InFolder() { std::filesystem::current_path(before_); }
    InFolder(const InFolder&) = delete;
    InFolder& operator=(const InFolder&) = delete;

  private:
    std::filesystem::path before_;
};

bool delay_ends(const std::shared_ptr<Engine>& engine, std::chrono::seconds limit) {
    Client client(engine);
    const auto id = client.submit(Submit("k").delay(std::chrono::milliseconds(20))).id();
    return support::eventually(
        [&] { return client.inspect(id)->info.public_state == PublicState::waiting; }, limit);
}

TEST(Connect, OpensStoresOfEveryForm) {
    const TempDir folder;
    for (const std::string& address :
         {"sqlite:" + folder.file("a.db"), folder.file("b.db"), std::string("sqlite::memory:"),
          std::string(":memory:"), std::string("memory:")}) {
        const auto engine = Engine::connect(address);
        EXPECT_TRUE(Client(engine).submit(Submit("k")).created()) << address;
    }
}

TEST(Connect, TheEnvironmentNamesTheAddress) {
    const TempDir folder;
    const ConnectVariable variable(("sqlite:" + folder.file("named.db")).c_str());
    const auto engine = Engine::connect();
    EXPECT_TRUE(std::filesystem::exists(folder.file("named.db")));
}

TEST(Connect, WithoutAnythingItIsAFileHere) {
    const TempDir folder;
    const InFolder here(folder.path());
    for (const char* value : {static_cast<const char*>(nullptr), ""}) {
        const ConnectVariable variable(value);
        const auto engine = Engine::connect();
        EXPECT_TRUE(std::filesystem::exists(folder.file("flowfabric.db")));
    }
}

TEST(Connect, AnEmptyAddressIsAMistakeNotADefault) {
    EXPECT_TRUE(message(Engine::try_connect("")).starts_with("invalid_config: "));
}

TEST(Connect, FailuresAreThrownOrGiven) {
    EXPECT_EQ(Engine::try_connect("oracle:x").error().code, ErrorCode::invalid_config);
    try {
        Engine::connect("oracle:x");
        FAIL() << "it must throw";
    } catch (const Exception& thrown) {
        EXPECT_EQ(thrown.code(), ErrorCode::invalid_config);
        EXPECT_EQ(thrown.category(), "config");
        EXPECT_FALSE(thrown.retryable());
        EXPECT_EQ(thrown.http_status(), 0);
        EXPECT_EQ(std::string(thrown.what()), thrown.error().message());
        EXPECT_FALSE(thrown.detail().empty());
    }
}

TEST(Connect, ABlankTokenIsRefusedNotIgnored) {
    for (const char* token : {"", " ", "\t \r\n"}) {
        ConnectOptions options;
        options.bearer_token = token;
        EXPECT_EQ(message(Engine::try_connect("memory:", options)),
                  "invalid_config: bearer_token is empty");
    }
    ConnectOptions options;
    options.bearer_token = "abc\r\nX: y";
    EXPECT_EQ(message(Engine::try_connect("memory:", options)),
              "invalid_config: bearer_token: a header cannot carry the byte at index 3");
    options.bearer_token = "abc.DEF-123_~+/=";
    EXPECT_TRUE(Engine::try_connect("memory:", options));
}

TEST(Connect, OptionsAreChecked) {
    const auto refusal = [](auto change) {
        ConnectOptions options;
        change(options);
        return message(Engine::try_connect("memory:", options));
    };
    using std::chrono::milliseconds;
    EXPECT_EQ(refusal([](auto& o) { o.request_timeout = milliseconds(0); }),
              "invalid_config: request_timeout must be at least 1 ms");
    EXPECT_EQ(refusal([](auto& o) { o.connect_timeout = milliseconds(-1); }),
              "invalid_config: connect_timeout must be at least 1 ms");
    EXPECT_EQ(refusal([](auto& o) { o.retry.tries = 0; }),
              "invalid_config: retry.tries must be at least 1");
    EXPECT_EQ(refusal([](auto& o) { o.retry.factor = 0.5; }),
              "invalid_config: retry.factor must be between 1 and 100");
    EXPECT_EQ(refusal([](auto& o) { o.retry.jitter = 2; }),
              "invalid_config: retry.jitter must be between 0 and 1");
    EXPECT_EQ(refusal([](auto& o) { o.pool_size = 0; }).substr(0, 25), "invalid_config: pool_size");
}

TEST(Connect, ScannersRunInThisProcessUnlessTurnedOff) {
    EXPECT_TRUE(delay_ends(Engine::connect("memory:"), std::chrono::seconds(30)));
    EXPECT_TRUE(
        delay_ends(Engine::connect("memory:", {.scanners = true}), std::chrono::seconds(30)));
    EXPECT_FALSE(
        delay_ends(Engine::connect("memory:", {.scanners = false}), std::chrono::seconds(1)));
}

TEST(Connect, ScannersRunOnPostgresToo) {
    if (support::postgres_address().empty()) {
        GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
    }
    const std::string store = support::postgres_store("connect_scanners");
    EXPECT_TRUE(delay_ends(Engine::connect(store), std::chrono::seconds(30)));
    EXPECT_FALSE(delay_ends(Engine::connect(store + "&scanners=off"), std::chrono::seconds(1)));
}

TEST(Connect, TheAddressMaySayWhetherScannersRun) {
    const TempDir folder;
    const std::string path = "sqlite:" + folder.file("app.db");
    EXPECT_FALSE(delay_ends(Engine::connect(path + "?scanners=off"), std::chrono::seconds(1)));
    EXPECT_TRUE(delay_ends(Engine::connect(path + "?scanners=on", {.scanners = false}),
                           std::chrono::seconds(30)));
    EXPECT_TRUE(std::filesystem::exists(folder.file("app.db")));
    EXPECT_FALSE(delay_ends(Engine::connect("file:named?mode=memory&scanners=off&cache=shared"),
                            std::chrono::seconds(1)));
    EXPECT_EQ(message(Engine::try_connect(path + "?scanners=maybe")),
              "invalid_config: scanners must be on or off (got \"maybe\")");
}

}  // namespace ff::client::test
