// The dashboard for Grafana asks only for figures that a server has.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <ff/json.h>

#include "http/server_metrics.h"

namespace ff::http {
namespace {

TEST(Dashboard, AsksOnlyForFiguresThatThereAre) {
    std::ifstream file(FF_SOURCE_DIR "/examples/grafana/flowfabric.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_TRUE(js::parse(text)) << "it is not JSON";
    ServerMetrics metrics("1.0", "sqlite");
    metrics.watch([] { return EngineStats{}; });
    const std::string scrape = metrics.scrape();
    std::set<std::string> asked;
    const std::regex name("ff_[a-z0-9_]+");
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
        asked.insert(std::regex_replace(it->str(), std::regex("_bucket$"), ""));
    }
    EXPECT_GE(asked.size(), 8U);
    for (const std::string& figure : asked) {
        EXPECT_NE(scrape.find("# TYPE " + figure + " "), std::string::npos) << figure;
    }
}

}  // namespace
}  // namespace ff::http
