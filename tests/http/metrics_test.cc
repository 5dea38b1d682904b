// The registry and its text, read back by a strict parser.
#include "http/metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "http/exposition.h"

namespace ff::http {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

ParsedExposition parsed(const MetricRegistry& registry) {
    const std::string text = registry.scrape();
    ParsedExposition out = parse_exposition(text);
    for (const std::string& fault : out.faults) {
        ADD_FAILURE() << fault;
    }
    return out;
}

TEST(Exposition, TheReaderRefusesWhatIsWrong) {
    const std::string head = "# HELP a x\n# TYPE a counter\n";
    EXPECT_TRUE(parse_exposition(head + "a 1\na{b=\"c\"} 2\n").faults.empty());
    for (const char* bad : {"a",
                            "a ",
                            "a x\n",
                            "a  1\n",
                            "a{} 1\n",
                            "a{b} 1\n",
                            "a{b=c} 1\n",
                            "a{b=\"c\"}1\n",
                            "a{b=\"c\",} 1\n",
                            "a{b=\"c\" 1\n",
                            "a{b=\"\\x\"} 1\n",
                            "b 1\n",
                            "a 1\na 1\n",
                            "a 1",
                            "a{b=\"c\",b=\"d\"} 1\n",
                            "# TYPE a counter\n",
                            "# HELP a x\n",
                            "\n",
                            "# note\n",
                            "a{b=\"\xff\"} 1\n",
                            "a{1b=\"c\"} 1\n"}) {
        EXPECT_FALSE(parse_exposition(head + bad).faults.empty()) << bad;
    }
    const std::string histogram = "# HELP h x\n# TYPE h histogram\n";
    EXPECT_TRUE(parse_exposition(histogram + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n"
                                             "h_sum 3\nh_count 2\n")
                    .faults.empty());
    for (const char* bad : {"h_bucket{le=\"1\"} 1\nh_sum 3\nh_count 1\n",
                            "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n",
                            "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 3\n",
                            "h_bucket{le=\"+Inf\"} 2\nh_count 2\n", "h 1\n", "h_bucket 1\n"}) {
        EXPECT_FALSE(parse_exposition(histogram + bad).faults.empty()) << bad;
    }
}

TEST(Metrics, EachFamilyHasItsHeaderAndItsSamples) {
    MetricRegistry registry;
    auto& requests = registry.counters("x_total", "Things.", {{"kind"}});
    requests.with({"b"}).add(2);
    requests.with({"a"}).add();
    registry.gauges("x_now", "Now.").with({}).set(-3);
    EXPECT_EQ(registry.scrape(),
              "# HELP x_total Things.\n# TYPE x_total counter\n"
              "x_total{kind=\"a\"} 1\nx_total{kind=\"b\"} 2\n"
              "# HELP x_now Now.\n# TYPE x_now gauge\nx_now -3\n");
    parsed(registry);
}

TEST(Metrics, TheSameValuesAreTheSameCell) {
    MetricRegistry registry;
    auto& family = registry.counters("x_total", "Things.", {{"a"}, {"b"}});
    Counter& one = family.with({"1", "2"});
    EXPECT_EQ(&one, &family.with({"1", "2"}));
    EXPECT_NE(&one, &family.with({"2", "1"}));
    EXPECT_NE(&family.with({"12", ""}), &family.with({"1", "2"}));
}

TEST(Metrics, AHistogramCountsUpToEachBoundInclusive) {
    MetricRegistry registry;
    AtomicHistogram& h = registry.histograms("x_seconds", "Time.").with({});
    h.observe(milliseconds(1));                                // exactly the first bound
    h.observe(milliseconds(1) + std::chrono::nanoseconds(1));  // just above it
    h.observe(milliseconds(30));
    h.observe(seconds(30));
    h.observe(seconds(31));
    h.observe(microseconds(-5));  // a clock that went back
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "0.001"}}), 2);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "0.0025"}}), 3);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "0.025"}}), 3);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "0.05"}}), 4);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "30"}}), 5);
    EXPECT_EQ(out.value("x_seconds_bucket", {{"le", "+Inf"}}), 6);
    EXPECT_EQ(out.value("x_seconds_count"), 6);
    EXPECT_NEAR(*out.value("x_seconds_sum"), 61.032, 0.0001);
}

TEST(Metrics, TheBoundsAreThoseOfTheSpecification) {
    MetricRegistry registry;
    registry.histograms("x_seconds", "Time.").with({});
    std::vector<std::string> bounds;
    const ParsedExposition out = parsed(registry);
    for (const Sample& sample : out.families.at("x_seconds").samples) {
        if (sample.labels.contains("le")) {
            bounds.push_back(sample.labels.at("le"));
        }
    }
    EXPECT_EQ(bounds,
              (std::vector<std::string>{"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
                                        "0.25", "0.5", "1", "2.5", "5", "10", "30", "+Inf"}));
}

TEST(Metrics, ForeignTextIsEscapedAndComesBackWhole) {
    MetricRegistry registry;
    auto& family = registry.counters("x_total", "A \\ and a\nline \"end\".", {{"v"}});
    const std::vector<std::string> texts{"a\"b", "a\\b", "a\nb", "\\n",      "\"} 1\nforged 2",
                                         "ü€😀", "",     " ",    "a,b=\"c\""};
    for (const std::string& text : texts) {
        family.with({text}).add();
    }
    const ParsedExposition out = parsed(registry);
    for (const std::string& text : texts) {
        EXPECT_EQ(out.value("x_total", {{"v", text}}), 1) << text;
    }
    EXPECT_EQ(out.families.size(), 1U);
    EXPECT_EQ(out.families.at("x_total").help, "A \\\\ and a\\nline \"end\".");
    family.with({"\xff"}).add();
    EXPECT_EQ(parsed(registry).value("x_total", {{"v", "\xef\xbf\xbd"}}), 1);
}

TEST(Metrics, SourcesAreAskedAtEachScrape) {
    MetricRegistry registry;
    std::int64_t depth = 1;
    registry.add_source([&](Exposition& out) {
        out.family("x_depth", MetricType::gauge, "Depth.");
        out.sample({}, depth);
        out.family("x_ratio", MetricType::gauge, "Ratio.");
        out.sample({{"k", "half"}}, 0.5);
        out.sample({{"k", "none"}}, std::numeric_limits<double>::quiet_NaN());
        out.sample({{"k", "all"}}, std::numeric_limits<double>::infinity());
    });
    EXPECT_EQ(parsed(registry).value("x_depth"), 1);
    depth = 7;
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(out.value("x_depth"), 7);
    EXPECT_EQ(out.value("x_ratio", {{"k", "half"}}), 0.5);
    EXPECT_EQ(out.families.at("x_ratio").samples.at(1).value, "NaN");
    EXPECT_EQ(out.families.at("x_ratio").samples.at(2).value, "+Inf");
}

TEST(MetricsDeathTest, TheSameFamilyTwiceIsAMistakeOfTheProgram) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    MetricRegistry registry;
    registry.counters("x_total", "One.");
    registry.counters("x_total", "Two.");
    EXPECT_DEATH({ std::ignore = registry.scrape(); }, "a family is written once");
    EXPECT_DEATH(registry.counters("x-total", "Bad."), "not the name of a metric");
}

// ------------------------------------------------------------------------------------- folding

double sum_of(const ParsedExposition& out, const std::string& name) {
    double sum = 0;
    for (const Sample& sample : out.families.at(name).samples) {
        sum += sample.number();
    }
    return sum;
}

TEST(MetricsFolding, TheSixtyFifthValueAndAllAfterItAreOther) {
    MetricRegistry registry;
    auto& family = registry.counters("x_total", "Things.", {{"lane", distinct_lanes_max}});
    for (int i = 0; i < 200; ++i) {
        family.with({"lane" + std::to_string(i)}).add();
    }
    family.with({"lane63"}).add();
    family.with({"lane64"}).add();
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(out.families.at("x_total").samples.size(), 65U);
    EXPECT_EQ(out.value("x_total", {{"lane", "lane63"}}), 2);
    EXPECT_EQ(out.value("x_total", {{"lane", "lane64"}}), std::nullopt);
    EXPECT_EQ(out.value("x_total", {{"lane", "other"}}), 137);
    EXPECT_EQ(sum_of(out, "x_total"), 202) << "nothing is lost";
}

TEST(MetricsFolding, FamiliesTellTheSameValuesApart) {
    MetricRegistry registry;
    auto& one = registry.counters("x_total", "Things.", {{"lane", 2}});
    auto& two = registry.counters("y_total", "Things.", {{"lane", 2}, {"kind"}});
    one.with({"a"}).add();
    two.with({"b", "k"}).add();
    one.with({"c"}).add();
    two.with({"c", "k"}).add();
    two.with({"a", "k"}).add();
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(out.value("x_total", {{"lane", "other"}}), 1);
    EXPECT_EQ(out.value("y_total", {{"lane", "other"}, {"kind", "k"}}), 1);
    EXPECT_EQ(out.value("y_total", {{"lane", "a"}, {"kind", "k"}}), 1);
}

TEST(MetricsFolding, AFamilyHoldsFewerThanAThousandSets) {
    MetricRegistry registry;
    auto& family = registry.counters("x_total", "Things.", {{"a"}, {"b"}});
    for (int i = 0; i < 3'000; ++i) {
        family.with({std::to_string(i), "x"}).add();
    }
    family.with({"0", "x"}).add();
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(out.families.at("x_total").samples.size(), 999U);
    EXPECT_EQ(out.value("x_total", {{"a", "0"}, {"b", "x"}}), 2);
    EXPECT_EQ(out.value("x_total", {{"a", "other"}, {"b", "other"}}), 2'002);
    EXPECT_EQ(sum_of(out, "x_total"), 3'001);
}

// --------------------------------------------------------------------------------- concurrency

TEST(Metrics, ManyThreadsLoseNothingAndScrapesStayWhole) {
    constexpr int threads = 8;
    constexpr int rounds = 5'000;
    MetricRegistry registry;
    auto& counts = registry.counters("x_total", "Things.", {{"lane", 16}, {"t"}});
    auto& times = registry.histograms("x_seconds", "Time.", {{"lane", 16}});
    std::atomic<bool> done = false;
    std::thread scraper([&] {
        while (!done) {
            parsed(registry);
        }
    });
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                const std::string lane = "lane" + std::to_string((i * 7 + t) % 40);
                counts.with({lane, t % 2 == 0 ? "even" : "odd"}).add();
                times.with({lane}).observe(microseconds(i * 10));
            }
        });
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
    done = true;
    scraper.join();
    const ParsedExposition out = parsed(registry);
    EXPECT_EQ(sum_of(out, "x_total"), threads * rounds);
    double observed = 0;
    for (const Sample& sample : out.families.at("x_seconds").samples) {
        observed += sample.name == "x_seconds_count" ? sample.number() : 0;
    }
    EXPECT_EQ(observed, threads * rounds);
}

}  // namespace
}  // namespace ff::http
