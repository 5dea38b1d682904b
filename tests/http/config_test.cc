// Settings: their defaults, which source wins, what is refused and in which words.
#include "http/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "http/config_settings.h"
#include "http/config_support.h"
#include "support/temp_dir.h"

namespace ff::http {
namespace {

// -------------------------------------------------------------------------------------- defaults

TEST(Config, NothingGivenIsASafeServerOnThisMachine) {
    const auto config = load({});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->listen, (ListenAddress{"127.0.0.1", 9090}));
    EXPECT_EQ(config->backend, Backend::sqlite);
    EXPECT_EQ(config->store, "sqlite:flowfabric.db");
    EXPECT_EQ(config->engine.pool_size, 4);
    EXPECT_EQ(config->engine.lanes, std::vector<std::string>{"default"});
    EXPECT_EQ(config->engine.retention_ms, EngineOptions().retention_ms);
    EXPECT_EQ(config->engine.event_retention_ms, EngineOptions().event_retention_ms);
    EXPECT_EQ(config->engine.statement_timeout_ms, EngineOptions().statement_timeout_ms);
    EXPECT_EQ(config->engine.cache_mib, EngineOptions().cache_mib);
    EXPECT_EQ(config->engine.synchronous, EngineOptions().synchronous);
    EXPECT_EQ(config->engine.notify, EngineOptions().notify);
    EXPECT_EQ(config->engine.flow_partitions, std::nullopt);
    EXPECT_GE(config->http_threads, 1);
    EXPECT_LE(config->http_threads, 4);
    EXPECT_EQ(config->http_connections_max, 1024);
    EXPECT_EQ(config->concurrent_polls_max, 1024);
    EXPECT_EQ(config->shutdown_grace_ms, 15'000);
    EXPECT_TRUE(config->metrics);
    EXPECT_FALSE(config->allow_insecure);
    EXPECT_FALSE(config->uses_tls());
    EXPECT_FALSE(config->cors.any_origin);
    EXPECT_TRUE(config->cors.origins.empty());
    EXPECT_EQ(config->log.filter.to_string(), "info");
    EXPECT_EQ(config->log.format, LogFormat::text);
}

TEST(Config, EveryDefaultIsAValueOfItsSetting) {
    for (const Setting& setting : settings()) {
        ServerConfig config;
        if (!setting.usual.empty()) {
            const auto taken = setting.take(config, setting.usual);
            EXPECT_TRUE(taken) << setting.name << ": " << taken.error().detail;
        }
    }
}

TEST(Config, NamesAreThereOnceAndEachHasAMeaning) {
    std::set<std::string_view> names;
    for (const Setting& setting : settings()) {
        EXPECT_TRUE(setting.name.starts_with("FF_")) << setting.name;
        EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
        EXPECT_FALSE(setting.help.empty()) << setting.name;
        EXPECT_FALSE(setting.values.empty()) << setting.name;
        EXPECT_EQ(is_ignored(setting.name), Ignored::no) << setting.name;
    }
}

TEST(Config, TheEngineKnowsEveryPassAndHasTheSamePeriods) {
    const auto config = load({});
    ASSERT_TRUE(config);
    const auto engine = Engine::open("memory:");
    ASSERT_TRUE(engine) << engine.error().message();
    const auto scanners = (*engine)->run(ListScanners{});
    ASSERT_TRUE(scanners);
    std::map<std::string, DurationMs> periods;
    for (const ScannerInfo& scanner : *scanners) {
        periods[scanner.scanner] = scanner.period_ms;
    }
    EXPECT_EQ(config->engine.scanner_periods_ms, periods);
}

TEST(Config, AnEngineOpensWithWhatItGives) {
    const auto config = load({{"FF_SQLITE_PATH", ":memory:"}, {"FF_LANES", "mail, reports"}});
    ASSERT_TRUE(config) << config.error().message();
    const auto engine = Engine::open(config->store, config->engine);
    ASSERT_TRUE(engine) << engine.error().message();
    const auto lanes = (*engine)->run(ListLanes{});
    ASSERT_TRUE(lanes);
    EXPECT_EQ(lanes->lanes,
              (std::vector<LaneInfo>{{"mail", LaneState::active}, {"reports", LaneState::active}}));
}

// ------------------------------------------------------------------------------------ precedence

TEST(Config, FlagsWinOverTheEnvironmentWinsOverTheFile) {
    const std::string file = "FF_SQLITE_POOL_SIZE = 7\nFF_SHUTDOWN_GRACE_S = 7\nFF_LANES = \"f\"\n";
    const auto config = load({{"FF_SQLITE_POOL_SIZE", "8"}, {"FF_SHUTDOWN_GRACE_S", "8"}}, file,
                             {{"FF_SQLITE_POOL_SIZE", "9"}});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->engine.pool_size, 9);
    EXPECT_EQ(config->shutdown_grace_ms, 8'000);
    EXPECT_EQ(config->engine.lanes, std::vector<std::string>{"f"});
    EXPECT_EQ(shown(*config, "FF_SQLITE_POOL_SIZE").origin, Origin::flag);
    EXPECT_EQ(shown(*config, "FF_SHUTDOWN_GRACE_S").origin, Origin::environment);
    EXPECT_EQ(shown(*config, "FF_LANES").origin, Origin::file);
    EXPECT_EQ(shown(*config, "FF_LANES").where, "ff.toml:3");
    EXPECT_EQ(shown(*config, "FF_BACKEND").origin, Origin::default_);
}

TEST(Config, AnEmptyValueCountsAsNone) {
    const auto config =
        load({{"FF_BACKEND", ""}, {"FF_API_TOKEN", ""}, {"FF_SQLITE_POOL_SIZE", ""}},
             "FF_SQLITE_POOL_SIZE = 7", {{"FF_SQLITE_POOL_SIZE", ""}});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->backend, Backend::sqlite);
    EXPECT_EQ(config->engine.pool_size, 7);
    EXPECT_EQ(shown(*config, "FF_API_TOKEN").text, "unset");
    EXPECT_EQ(shown(*config, "FF_API_TOKEN").origin, Origin::default_);
}

TEST(Config, TheOldNameOfStreamOpsCountsOnlyWithoutTheNew) {
    EXPECT_EQ(load({{"FF_MAX_CONCURRENT_TAIL", "7"}})->concurrent_stream_ops_max, 7);
    EXPECT_EQ(load({{"FF_MAX_CONCURRENT_TAIL", "7"}, {"FF_MAX_CONCURRENT_STREAM_OPS", "9"}})
                  ->concurrent_stream_ops_max,
              9);
    EXPECT_EQ(load({{"FF_MAX_CONCURRENT_TAIL", "7"}}, "FF_MAX_CONCURRENT_STREAM_OPS = 9\n")
                  ->concurrent_stream_ops_max,
              9)
        << "the new name, wherever it stands";
    EXPECT_EQ(load({})->concurrent_stream_ops_max, 64);
}

TEST(Config, ThePassesOverWaitsHaveTheirPeriods) {
    const auto config =
        load({{"FF_SUSPENSION_TIMEOUT_INTERVAL_S", "3"}, {"FF_PENDING_WP_EXPIRY_INTERVAL_S", "4"}});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->engine.scanner_periods_ms.at("suspension_timeout"), 3'000);
    EXPECT_EQ(config->engine.scanner_periods_ms.at("pending_wp_expiry"), 4'000);
    EXPECT_EQ(warnings(*config).find("does not use"), std::string::npos);
}

TEST(Config, SomeSettingsMayNotBeEmpty) {
    EXPECT_EQ(fault({{"FF_CORS_ORIGINS", ""}}),
              "invalid value for FF_CORS_ORIGINS: it holds no origin; write https://HOST, *, or "
              "leave the setting out");
    EXPECT_EQ(fault({{"FF_LANES", " , "}}),
              "invalid value for FF_LANES: there must be at least one lane");
    EXPECT_EQ(fault({{"FF_LANES", ""}}),
              "invalid value for FF_LANES: there must be at least one lane");
}

// ---------------------------------------------------------------------------------------- values

TEST(Config, BadNumbersAreRefusedByName) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"abc", "\"abc\" is not a whole number"},
        {"4.5", "\"4.5\" is not a whole number"},
        {"0x10", "\"0x10\" is not a whole number"},
        {" ", "\" \" is not a whole number"},
        {"+4", "\"+4\" is not a whole number"},
        {"0", "0 is not between 1 and 1000"},
        {"-1", "-1 is not between 1 and 1000"},
        {"1001", "1001 is not between 1 and 1000"},
        {"99999999999999999999", "99999999999999999999 is not between 1 and 1000"},
    };
    for (const auto& [text, message] : cases) {
        EXPECT_EQ(fault({{"FF_SQLITE_POOL_SIZE", text}}),
                  "invalid value for FF_SQLITE_POOL_SIZE: " + message);
    }
    EXPECT_EQ(load({{"FF_SQLITE_POOL_SIZE", " 12 "}})->engine.pool_size, 12);
}

TEST(Config, EveryNumberHasItsLimits) {
    for (const Setting& setting : settings()) {
        if (setting.kind != Setting::Kind::number) {
            continue;
        }
        const std::size_t to = setting.values.find(" to ");
        ASSERT_NE(to, std::string::npos) << setting.name;
        const std::int64_t low = std::stoll(setting.values.substr(0, to));
        const std::int64_t high = std::stoll(setting.values.substr(to + 4));
        const auto takes = [&](std::int64_t value) {
            ServerConfig config;
            return setting.take(config, std::to_string(value)).has_value();
        };
        EXPECT_TRUE(takes(low) && takes(high)) << setting.name;
        EXPECT_FALSE(takes(low - 1) || takes(high + 1)) << setting.name;
    }
}

TEST(Config, APassCannotBeTurnedOff) {
    EXPECT_EQ(fault({{"FF_UNBLOCK_INTERVAL_S", "0"}}),
              "invalid value for FF_UNBLOCK_INTERVAL_S: 0 is not between 1 and 31622400");
    const auto config =
        load({{"FF_UNBLOCK_INTERVAL_S", "7"}, {"FF_LEASE_EXPIRY_INTERVAL_MS", "250"}});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->engine.scanner_periods_ms.at("unblock"), 7'000);
    EXPECT_EQ(config->engine.scanner_periods_ms.at("lease_expiry"), 250);
}

TEST(Config, TruthIsSpelledInTwoWays) {
    for (const char* yes : {"1", "true", "TRUE", "True"}) {
        EXPECT_TRUE(load({{"FF_ALLOW_INSECURE", yes}})->allow_insecure) << yes;
    }
    for (const char* no : {"0", "false", "False"}) {
        EXPECT_FALSE(load({{"FF_METRICS", no}})->metrics) << no;
    }
    EXPECT_EQ(fault({{"FF_METRICS", "yes"}}),
              "invalid value for FF_METRICS: \"yes\" is neither 1 nor 0, neither true nor false");
}

TEST(Config, WordsAreTakenInAnyCaseAndOthersRefusedByName) {
    EXPECT_EQ(load({{"FF_BACKEND", "SQLite"}})->backend, Backend::sqlite);
    EXPECT_EQ(load({{"FF_LOG_FORMAT", "JSON"}})->log.format, LogFormat::json_);
    EXPECT_EQ(load({{"FF_SQLITE_SYNCHRONOUS", "normal"}})->engine.synchronous,
              EngineOptions::Synchronous::normal);
    EXPECT_EQ(load({{"FF_POSTGRES_NOTIFY", "off"}})->engine.notify, EngineOptions::Notify::off);
    EXPECT_EQ(fault({{"FF_BACKEND", "oracle"}}),
              "invalid value for FF_BACKEND: \"oracle\" is none of sqlite, postgres");
    EXPECT_EQ(fault({{"FF_LOG", "http=loud"}}),
              "invalid value for FF_LOG: \"loud\" is no level; there are error, warn, info, debug "
              "and trace");
}

TEST(Config, LanesAreCheckedOneByOne) {
    EXPECT_EQ(load({{"FF_LANES", " a ,,b c, "}})->engine.lanes,
              (std::vector<std::string>{"a", "b c"}));
    EXPECT_EQ(fault({{"FF_LANES", "a,b,a"}}),
              "invalid value for FF_LANES: lane \"a\" is there twice");
    EXPECT_EQ(fault({{"FF_LANES", "a,b\x01"}}),
              "invalid value for FF_LANES: \"b?\" cannot be a lane: 1 to 64 printable ASCII "
              "characters");
    EXPECT_NE(fault({{"FF_LANES", std::string(65, 'x')}}), "");
}

TEST(Config, ForeignTextInAMessageStaysOnOneLineAndShort) {
    const std::string message = fault({{"FF_BACKEND", "a\nb\x1b[2J" + std::string(5'000, 'x')}});
    EXPECT_TRUE(message.starts_with("invalid value for FF_BACKEND: \"a?b?[2Jxxx")) << message;
    EXPECT_LT(message.size(), 250U);
    EXPECT_TRUE(fault({{"FF_BACKEND", "größer"}}).contains("\"größer\""));
    EXPECT_TRUE(fault({{"FF_BACKEND", "gr\xf6\xdf"}}).contains("\"gr??\""));
}

TEST(Config, AddressesAreHostAndPort) {
    EXPECT_EQ(load({{"FF_LISTEN_ADDR", "[::1]:0"}})->listen, (ListenAddress{"::1", 0}));
    EXPECT_EQ(load({{"FF_LISTEN_ADDR", "localhost:80"}})->listen.to_string(), "localhost:80");
    EXPECT_EQ(load({{"FF_LISTEN_ADDR", "[::1]:8080"}})->listen.to_string(), "[::1]:8080");
    for (const char* bad :
         {"9090", ":9090", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80x",
          "[::1]", "[nonsense]:80", "a b:80", "http://x:80", "x:9090/"}) {
        EXPECT_TRUE(fault({{"FF_LISTEN_ADDR", bad}})
                        .ends_with("is not HOST:PORT, as in 127.0.0.1:9090 or [::1]:9090"))
            << bad << ": " << fault({{"FF_LISTEN_ADDR", bad}});
    }
}

// ------------------------------------------------------------------------------------- security

TEST(Config, OtherMachinesNeedATokenOrAWordOfConsent) {
    for (const char* open :
         {"0.0.0.0:9090", "[::]:9090", "10.0.0.1:80", "example.org:80", "[::ffff:10.0.0.1]:80"}) {
        EXPECT_EQ(fault({{"FF_LISTEN_ADDR", open}}),
                  "invalid value for FF_LISTEN_ADDR: " + std::string(open) +
                      " can be reached from other machines and FF_API_TOKEN is not set; set a "
                      "token, or FF_ALLOW_INSECURE=1 to serve without one");
        EXPECT_TRUE(load({{"FF_LISTEN_ADDR", open}, {"FF_API_TOKEN", "t"}})) << open;
        EXPECT_TRUE(load({{"FF_LISTEN_ADDR", open}, {"FF_ALLOW_INSECURE", "1"}})) << open;
        EXPECT_NE(fault({{"FF_LISTEN_ADDR", open}, {"FF_ADMIN_TOKEN", "t"}}), "") << open;
    }
    for (const char* own : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "LOCALHOST:1",
                            "[::ffff:127.0.0.1]:1"}) {
        EXPECT_TRUE(load({{"FF_LISTEN_ADDR", own}})) << own;
    }
}

TEST(Config, WithoutATokenTheOperatorIsTold) {
    const auto open = load({});
    ASSERT_TRUE(open);
    ASSERT_EQ(open->warnings.size(), 2U) << warnings(*open);
    EXPECT_TRUE(open->warnings[0].contains("/v1/admin/")) << open->warnings[0];
    const auto half = load({{"FF_ADMIN_TOKEN", "a"}});
    ASSERT_TRUE(half);
    EXPECT_FALSE(warnings(*half).contains("/v1/admin/")) << "the admin token guards these";
    EXPECT_TRUE(load({{"FF_API_TOKEN", "t"}})->warnings.empty());
    EXPECT_TRUE(load({{"FF_API_TOKEN", "t"}, {"FF_CONNECT", "http://x"}, {"FF_PROFILE", "p"}})
                    ->warnings.empty())
        << "these are for other commands";
    EXPECT_TRUE(warnings(*load({{"FF_API_TOKEN", "t"}, {"FF_ADMIN_TOKEN", "t"}}))
                    .contains("keeps nobody out"));
    EXPECT_TRUE(warnings(*load({{"FF_API_TOKEN", "t"}, {"FF_LISTEN_ADDR", "0.0.0.0:1"}}))
                    .contains("in the clear"));
}

TEST(Config, SecretsAreNowhereToBeSeen) {
    const std::string secret = "hunter2-very-secret";
    const Map environment{{"FF_API_TOKEN", secret},
                          {"FF_ADMIN_TOKEN", secret},
                          {"FF_BACKEND", "postgres"},
                          {"FF_POSTGRES_URL", "postgresql://ada:" + secret + "@db.example/ff"}};
    const auto config = load(environment);
    ASSERT_TRUE(config) << config.error().message();
    const std::string all =
        print_config(*config) + js::dump(config_json(*config)) + warnings(*config);
    EXPECT_FALSE(all.contains(secret)) << all;
    EXPECT_EQ(shown(*config, "FF_API_TOKEN").text, "set");
    EXPECT_EQ(shown(*config, "FF_POSTGRES_URL").text, "postgresql://ada@db.example/ff");
    EXPECT_EQ(config->api_token, secret);
    EXPECT_EQ(config->store, environment.at("FF_POSTGRES_URL"));
    for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
             {"FF_API_TOKEN", secret + "\n"},
             {"FF_ADMIN_TOKEN", secret + "ü"},
             {"FF_POSTGRES_URL", "mysql://a:" + secret + "@h/d"},
             {"FF_POSTGRES_URL", "postgresql://a:%zz" + secret}}) {
        const std::string message = fault({{name, text}});
        EXPECT_TRUE(message.starts_with("invalid value for " + name + ": ")) << message;
        EXPECT_FALSE(message.contains(secret)) << message;
    }
}

TEST(Config, OriginsAreSameOriginUnlessConfigured) {
    const auto some =
        load({{"FF_CORS_ORIGINS", "https://App.example:8443, http://localhost:3000"}});
    ASSERT_TRUE(some) << some.error().message();
    EXPECT_EQ(some->cors.origins,
              (std::vector<std::string>{"https://app.example:8443", "http://localhost:3000"}));
    const auto any = load({{"FF_CORS_ORIGINS", "https://a.example,*"}});
    ASSERT_TRUE(any);
    EXPECT_TRUE(any->cors.any_origin);
    EXPECT_EQ(shown(*any, "FF_CORS_ORIGINS").text, "*");
}

TEST(Config, WhatIsNoOriginIsLeftOutWithAWarningAndNeverOpensTheDoor) {
    const auto config =
        load({{"FF_API_TOKEN", "t"},
              {"FF_CORS_ORIGINS", "https://a.example,b.example,https://c.example/"}});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->cors.origins, std::vector<std::string>{"https://a.example"});
    EXPECT_EQ(config->warnings.size(), 2U) << warnings(*config);
    EXPECT_TRUE(config->warnings[0].contains("\"b.example\"")) << config->warnings[0];
    for (const char* bad :
         {"b.example", "https://*", "://x", "https://", "https://a\x01", "null"}) {
        EXPECT_NE(fault({{"FF_CORS_ORIGINS", bad}}), "") << bad;
    }
}

TEST(Config, TlsNeedsBothFilesAndReadsThem) {
    const support::TempDir dir;
    const std::string cert = dir.file("cert.pem");
    const std::string key = dir.file("key.pem");
    std::ofstream(cert) << "certificate";
    EXPECT_EQ(fault({{"FF_TLS_CERT", cert}}),
              "invalid value for FF_TLS_KEY: it is not set, but FF_TLS_CERT is; TLS needs both");
    EXPECT_EQ(fault({{"FF_TLS_KEY", key}}),
              "invalid value for FF_TLS_CERT: it is not set, but FF_TLS_KEY is; TLS needs both");
    EXPECT_EQ(
        fault({{"FF_TLS_CERT", cert}, {"FF_TLS_KEY", key}}),
        "invalid value for FF_TLS_KEY: cannot read \"" + key + "\": No such file or directory");
    std::ofstream(key) << "";
    EXPECT_TRUE(fault({{"FF_TLS_CERT", cert}, {"FF_TLS_KEY", key}}).ends_with("it is empty"));
    EXPECT_NE(fault({{"FF_TLS_CERT", dir.path()}, {"FF_TLS_KEY", key}}), "") << "a folder";
    std::ofstream(key) << "key";
    const auto config = load({{"FF_TLS_CERT", cert}, {"FF_TLS_KEY", key}});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_TRUE(config->uses_tls());
}

// ----------------------------------------------------------------------------------------- store

TEST(Config, PostgresNeedsItsAddress) {
    EXPECT_EQ(fault({{"FF_BACKEND", "postgres"}}),
              "invalid value for FF_POSTGRES_URL: it is not set, and FF_BACKEND=postgres needs it");
    EXPECT_EQ(fault({{"FF_POSTGRES_URL", "host=x"}}),
              "invalid value for FF_POSTGRES_URL: it must begin with postgresql:// or postgres://");
    const auto config = load({{"FF_BACKEND", "postgres"}, {"FF_POSTGRES_URL", "postgres:///ff"}});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->engine.pool_size, 10);
    EXPECT_EQ(config->store, "postgres:///ff");
    EXPECT_TRUE(warnings(*load({{"FF_POSTGRES_URL", "postgres:///ff"}}))
                    .contains("FF_POSTGRES_URL is set but not used"));
}

TEST(Config, AStoreInMemoryIsAllowedWithAWarning) {
    for (const char* path : {":memory:", "file:x?mode=memory&cache=shared"}) {
        const auto config = load({{"FF_SQLITE_PATH", path}});
        ASSERT_TRUE(config) << config.error().message();
        EXPECT_TRUE(warnings(*config).contains("everything is lost")) << path;
    }
    EXPECT_FALSE(warnings(*load({{"FF_SQLITE_PATH", "a:b.db"}})).contains("lost"));
}

TEST(Config, PartitionsAreTheStoresUnlessGiven) {
    EXPECT_EQ(load({{"FF_FLOW_PARTITIONS", "16"}})->engine.flow_partitions, std::uint16_t{16});
    EXPECT_NE(fault({{"FF_FLOW_PARTITIONS", "65536"}}), "");
    EXPECT_NE(fault({{"FF_FLOW_PARTITIONS", "0"}}), "");
}

}  // namespace
}  // namespace ff::http
