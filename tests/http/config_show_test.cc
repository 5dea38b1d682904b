// Settings in a file, names that are none, and what is shown of a configuration.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "http/config_settings.h"
#include "http/config_support.h"

namespace ff::http {
namespace {

// ------------------------------------------------------------------------------------------ file

TEST(ConfigFile, TakesStringsNumbersTruthAndLists) {
    const auto config = load({}, R"(
# a comment
FF_LISTEN_ADDR = "127.0.0.1:80"
FF_LANES = ["a", "b"]
FF_METRICS = false
FF_RETENTION_S = 3_600
)");
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->listen.port, 80);
    EXPECT_EQ(config->engine.lanes, (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(config->metrics);
    EXPECT_EQ(config->engine.retention_ms, 3'600'000);
}

TEST(ConfigFile, FaultsNameFileAndLine) {
    EXPECT_EQ(fault({}, "FF_METRICS = true\n\nFF_METRIKS = 1\n"),
              "ff.toml:3: there is no setting \"FF_METRIKS\"; docs/configuration.md lists them");
    EXPECT_TRUE(fault({}, "listen = \"x\"\n").starts_with("ff.toml:1: there is no setting"));
    EXPECT_TRUE(fault({}, "\nFF_METRICS = \n").starts_with("ff.toml:2: "));
    EXPECT_EQ(fault({}, "\n[server]\nFF_METRICS = true\n"),
              "ff.toml:2: [server] is a table; settings stand at the top level");
    EXPECT_EQ(fault({}, "FF_RETENTION_S = 1.5"),
              "ff.toml:1: FF_RETENTION_S must be a string, a whole number, true or false");
    EXPECT_EQ(fault({}, "FF_LANES = [\"a\", 1]"),
              "ff.toml:1: the list of FF_LANES must hold strings without commas");
    EXPECT_EQ(fault({}, "FF_LANES = [\"a,b\"]"),
              "ff.toml:1: the list of FF_LANES must hold strings without commas");
    EXPECT_EQ(fault({}, "\nFF_RETENTION_S = -1\n"),
              "invalid value for FF_RETENTION_S: -1 is not between 0 and 3162240000 (ff.toml:2)");
    EXPECT_NE(fault({}, "FF_METRICS = true\nFF_METRICS = false\n"), "") << "named twice";
}

TEST(ConfigFile, ABadValueThatSomethingElseOverridesDoesNotMatter) {
    EXPECT_EQ(fault({{"FF_RETENTION_S", "5"}}, "FF_RETENTION_S = -1"), "");
}

// ----------------------------------------------------------------------------------- other names

TEST(Config, UnknownNamesInTheEnvironmentAreToldOnceAndIgnored) {
    const auto config = load({{"FF_API_TOKEN", "t"},
                              {"FF_TYPO", "1"},
                              {"FF_OTHER", "1"},
                              {"PATH", "/bin"},
                              {"OFF_ROAD", "1"}});
    ASSERT_TRUE(config);
    ASSERT_EQ(config->warnings.size(), 1U) << warnings(*config);
    EXPECT_TRUE(config->warnings[0].ends_with(": FF_OTHER, FF_TYPO")) << config->warnings[0];
}

TEST(Config, ObsoleteNamesAreToldInOneLine) {
    const Map environment{{"FF_API_TOKEN", "t"}, {"FF_HOST", "x"}, {"FF_PORT", "1"}};
    for (const auto& config : {load(environment), load(environment, "FF_TLS = true")}) {
        ASSERT_TRUE(config) << config.error().message();
        ASSERT_EQ(config->warnings.size(), 1U) << warnings(*config);
        EXPECT_TRUE(config->warnings[0].contains("FF_HOST, FF_PORT")) << config->warnings[0];
        EXPECT_TRUE(config->warnings[0].contains("no effect any more"));
    }
}

TEST(Config, SettingsOfOtherVersionsAreToldAndDoNotStopTheServer) {
    const auto config =
        load({{"FF_API_TOKEN", "t"}, {"FF_SENTRY_DSN", "x"}}, "FF_QUOTA_PARTITIONS = 5");
    ASSERT_TRUE(config) << config.error().message();
    ASSERT_EQ(config->warnings.size(), 1U) << warnings(*config);
    EXPECT_EQ(config->warnings[0],
              "this version does not use these settings: FF_QUOTA_PARTITIONS, FF_SENTRY_DSN");
}

TEST(Config, AnUnknownFlagIsAnError) {
    EXPECT_EQ(fault({}, "", {{"FF_NONE", "1"}}),
              "there is no setting \"FF_NONE\"; docs/configuration.md lists them");
}

// -------------------------------------------------------------------------------------- printing

TEST(Config, IsPrintedWithTheOriginOfEachValue) {
    const auto config =
        load({{"FF_API_TOKEN", "t"}}, "FF_LANES = [\"a\"]", {{"FF_LISTEN_ADDR", "127.0.0.1:1"}});
    ASSERT_TRUE(config);
    std::map<std::string, std::string> lines;
    std::istringstream text(print_config(*config));
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        std::string name;
        std::string rest;
        words >> name;
        for (std::string word; words >> word;) {
            rest += (rest.empty() ? "" : " ") + word;
        }
        lines[name] = rest;
    }
    EXPECT_EQ(lines.size(), settings().size());
    EXPECT_EQ(lines["FF_API_TOKEN"], "set environment");
    EXPECT_EQ(lines["FF_ADMIN_TOKEN"], "unset default");
    EXPECT_EQ(lines["FF_LANES"], "a file ff.toml:1");
    EXPECT_EQ(lines["FF_LISTEN_ADDR"], "127.0.0.1:1 flag");
    EXPECT_EQ(lines["FF_FLOW_PARTITIONS"], "- default");
}

TEST(Config, JsonKeepsTheTypes) {
    const auto config = load({{"FF_RETENTION_S", "60"}, {"FF_METRICS", "0"}}, "FF_LANES = \"a\"");
    ASSERT_TRUE(config);
    const json all = config_json(*config);
    EXPECT_EQ(js::dump(*all.find("FF_RETENTION_S")), R"({"value":60,"origin":"environment"})");
    EXPECT_EQ(js::dump(*all.find("FF_METRICS")), R"({"value":false,"origin":"environment"})");
    EXPECT_EQ(js::dump(*all.find("FF_LANES")),
              R"({"value":"a","origin":"file","where":"ff.toml:1"})");
    EXPECT_EQ(js::dump(*all.find("FF_FLOW_PARTITIONS")), R"({"value":null,"origin":"default"})");
    EXPECT_EQ(js::dump(*all.find("FF_API_TOKEN")), R"({"value":"unset","origin":"default"})");
}

TEST(Config, TheEnvironmentOfTheProcessIsRead) {
    const auto environment = process_environment();
    const char* path = std::getenv("PATH");
    ASSERT_NE(path, nullptr);
    ASSERT_TRUE(environment.contains("PATH"));
    EXPECT_EQ(environment.at("PATH"), path);
}

// -------------------------------------------------------------------------------------- document

TEST(Config, TheDocumentIsMadeFromTheTable) {
    std::ifstream in(FF_SOURCE_DIR "/docs/configuration.md");
    const std::string document{std::istreambuf_iterator<char>(in), {}};
    const std::string begin = "<!-- settings: made from src/http/config_settings.cc -->\n";
    const std::string end = "<!-- end of settings -->\n";
    const std::size_t from = document.find(begin);
    const std::size_t to = document.find(end);
    ASSERT_NE(from, std::string::npos);
    ASSERT_NE(to, std::string::npos);
    const std::string wanted = "\n" + settings_markdown() + "\n";
    const std::string there = document.substr(from + begin.size(), to - from - begin.size());
    if (there != wanted) {
        const std::string path = testing::TempDir() + "configuration.md";
        std::ofstream(path) << document.substr(0, from + begin.size()) << wanted
                            << document.substr(to);
        ADD_FAILURE() << "docs/configuration.md is not what the table says; the right one is in "
                      << path;
    }
}

}  // namespace
}  // namespace ff::http
