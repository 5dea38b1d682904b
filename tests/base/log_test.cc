// The log: filters, both formats, and that no foreign text can leave its place.
#include "base/log.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <ff/json.h>

namespace ff {
namespace {

constexpr TimestampMs noon = 1'794'823'200'123;  // 2026-11-16T10:00:00.123Z

/// A logger whose lines stay here.
class Captured {
  public:
    explicit Captured(std::string_view filter = "info", LogFormat format = LogFormat::text)
        : logger_({*LogFilter::parse(filter), format}, std::make_shared<ManualClock>(noon),
                  [this](std::string_view line) { lines.emplace_back(line); }) {}

    Log target(std::string_view name) { return logger_.target(name); }
    /// The one line there is, without what every line begins with.
    std::string rest() {
        EXPECT_EQ(lines.size(), 1U);
        const std::string start = "2026-11-16T10:00:00.123Z INFO http ";
        if (lines.empty() || !lines[0].starts_with(start)) {
            return lines.empty() ? "" : lines[0];
        }
        return lines[0].substr(start.size());
    }

    std::vector<std::string> lines;

  private:
    Logger logger_;
};

std::string text_of(const LogField& field) {
    Captured captured;
    captured.target("http").info("m", {field});
    return captured.rest();
}

js::Value json_of(const LogField& field) {
    Captured captured("info", LogFormat::json_);
    captured.target("http").info("m", {field});
    EXPECT_EQ(captured.lines.size(), 1U);
    const std::string line = captured.lines.at(0);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    const auto parsed = js::parse(std::string_view(line).substr(0, line.size() - 1));
    EXPECT_TRUE(parsed) << line;
    if (!parsed || parsed->find(field.key) == nullptr) {
        return {};
    }
    return *parsed->find(field.key);
}

TEST(Log, ALineSaysWhenHowGraveWhereAndWhat) {
    Captured captured;
    captured.target("http").info("listening", {{"addr", "127.0.0.1:9090"}, {"threads", 2}});
    ASSERT_EQ(captured.lines.size(), 1U);
    EXPECT_EQ(captured.lines[0],
              "2026-11-16T10:00:00.123Z INFO http listening addr=127.0.0.1:9090 threads=2\n");
}

TEST(Log, AJsonLineHoldsTheSame) {
    Captured captured("info", LogFormat::json_);
    captured.target("http").warn("slow", {{"ms", 12.5}, {"route", "/v1"}, {"retry", true}});
    ASSERT_EQ(captured.lines.size(), 1U);
    EXPECT_EQ(captured.lines[0],
              R"({"ts":"2026-11-16T10:00:00.123Z","level":"warn","target":"http","msg":"slow",)"
              R"("ms":12.5,"route":"/v1","retry":true})"
              "\n");
}

TEST(Log, TimesAreUtcFromTheFirstYearToTheLast) {
    EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(utc_text(951'868'799'999), "2000-02-29T23:59:59.999Z");
    EXPECT_EQ(utc_text(noon), "2026-11-16T10:00:00.123Z");
    EXPECT_EQ(utc_text(std::numeric_limits<TimestampMs>::max()), "9999-12-31T23:59:59.999Z");
    EXPECT_EQ(utc_text(std::numeric_limits<TimestampMs>::min()), "0000-01-01T00:00:00.000Z");
}

TEST(LogFilter, OneLevelCountsForAllTargets) {
    const auto filter = LogFilter::parse("warn");
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->level_of("http"), LogLevel::warn);
    EXPECT_EQ(filter->to_string(), "warn");
}

TEST(LogFilter, TargetsMayHaveLevelsOfTheirOwn) {
    const auto filter = LogFilter::parse(" http=debug , Engine = TRACE,error,http=warn");
    ASSERT_TRUE(filter) << filter.error().message();
    EXPECT_EQ(filter->level_of("http"), LogLevel::warn) << "the last one wins";
    EXPECT_EQ(filter->level_of("engine"), LogLevel::trace);
    EXPECT_EQ(filter->level_of("store"), LogLevel::error);
    EXPECT_EQ(filter->to_string(), "error,engine=trace,http=warn");
    EXPECT_EQ(LogFilter::parse(filter->to_string())->to_string(), filter->to_string());
}

TEST(LogFilter, NothingMeansInfo) {
    EXPECT_EQ(LogFilter::parse("")->to_string(), "info");
    EXPECT_EQ(LogFilter::parse("  ")->to_string(), "info");
}

TEST(LogFilter, WhatIsWrongIsNamed) {
    for (const char* bad : {"loud", "http=", "=debug", "info,", "info,,warn", "http=loud", ","}) {
        EXPECT_FALSE(LogFilter::parse(bad)) << bad;
    }
    EXPECT_EQ(LogFilter::parse("info,http=loud").error().detail,
              "\"loud\" is no level; there are error, warn, info, debug and trace");
}

TEST(Log, LevelsBelowTheFilterSayNothing) {
    Captured captured("warn,engine=trace");
    const Log http = captured.target("http");
    const Log engine = captured.target("engine");
    http.info("no");
    http.debug("no");
    http.trace("no");
    EXPECT_TRUE(captured.lines.empty());
    http.error("yes");
    http.warn("yes");
    engine.trace("yes");
    EXPECT_EQ(captured.lines.size(), 3U);
    EXPECT_FALSE(http.on(LogLevel::info));
    EXPECT_TRUE(engine.on(LogLevel::trace));
}

TEST(Log, AuditIsAlwaysOn) {
    Captured captured("error,audit=error");
    captured.target("audit").info("lease revoked", {{"execution_id", "{fp:0}:x"}});
    captured.target("audit").trace("also");
    EXPECT_EQ(captured.lines.size(), 2U);
}

TEST(Log, PlainValuesStandWithoutQuotesAndOthersWithThem) {
    EXPECT_EQ(text_of({"k", "a-b/c:9?x[1]{2}"}), "m k=a-b/c:9?x[1]{2}\n");
    EXPECT_EQ(text_of({"k", ""}), "m k=\"\"\n");
    EXPECT_EQ(text_of({"k", "two words"}), "m k=\"two words\"\n");
    EXPECT_EQ(text_of({"k", "a=b"}), "m k=\"a=b\"\n");
    EXPECT_EQ(text_of({"k", "say \"hi\""}), "m k=\"say \\\"hi\\\"\"\n");
    EXPECT_EQ(text_of({"k", "c:\\x"}), "m k=\"c:\\\\x\"\n");
    EXPECT_EQ(text_of({"k", "Grüße"}), "m k=\"Grüße\"\n");
}

TEST(Log, NumbersAndTruthStandAsThemselves) {
    EXPECT_EQ(text_of({"k", -7}), "m k=-7\n");
    EXPECT_EQ(text_of({"k", std::numeric_limits<std::uint64_t>::max()}),
              "m k=18446744073709551615\n");
    EXPECT_EQ(text_of({"k", 0.25}), "m k=0.25\n");
    EXPECT_EQ(text_of({"k", false}), "m k=false\n");
    EXPECT_EQ(text_of({"k", std::nan("")}), "m k=nan\n");
    EXPECT_TRUE(json_of({"k", std::numeric_limits<double>::infinity()}).is_null());
    EXPECT_EQ(json_of({"k", std::int64_t{-7}}).as_int64(), -7);
}

/// Text that tries to end the line, to forge a field, to move the cursor or to turn the direction.
const std::vector<std::string>& attacks() {
    static const std::vector<std::string> all{
        "a\nINFO http forged",
        "a\r\nb",
        "\x1b[2J\x1b]0;title\x07",
        "x\" level=error y=\"",
        std::string("nul\0here", 8),
        "\x7f\xc2\x85\xc2\x9b",      // DEL, NEL, CSI of eight bits
        "\xe2\x80\xa8\xe2\x80\xa9",  // line and paragraph separator
        "\xe2\x80\xae"
        "gnp.exe",                       // right to left
        "\xff\xfe\xc0\xaf\xed\xa0\x80",  // not UTF-8
        "cut \xe2\x82",                  // ends inside a character
        "\\",
    };
    return all;
}

TEST(Log, ForeignTextStaysInItsPlace) {
    for (const std::string& attack : attacks()) {
        const std::string line = text_of({"k", attack});
        ASSERT_TRUE(line.starts_with("m k=\"")) << line;
        ASSERT_TRUE(line.ends_with("\"\n")) << line;
        const std::string_view inside(line.data() + 5, line.size() - 7);
        for (std::size_t i = 0; i < inside.size(); ++i) {
            const auto c = static_cast<unsigned char>(inside[i]);
            ASSERT_TRUE(c >= 0x20 && c < 0x7F) << "byte " << int{c} << " of " << line;
            ASSERT_NE(c, '"') << line;
            i += c == '\\' ? 1 : 0;
            ASSERT_LT(i, inside.size()) << "the closing quote is escaped: " << line;
        }
    }
}

TEST(Log, ForeignTextComesOutOfJsonAsItWent) {
    for (const std::string& attack : attacks()) {
        const js::Value value = json_of({"k", attack});
        ASSERT_NE(value.if_string(), nullptr);
        if (is_valid_utf8(attack)) {
            EXPECT_EQ(*value.if_string(), attack);
        } else {
            EXPECT_TRUE(value.if_string()->contains("\xef\xbf\xbd"));
        }
    }
}

TEST(Log, MessagesTargetsAndKeysCannotBreakALineEither) {
    for (const LogFormat format : {LogFormat::text, LogFormat::json_}) {
        Captured captured("info", format);
        captured.target("ht\ntp").info("two\nlines", {{"k\ney", "v"}});
        ASSERT_EQ(captured.lines.size(), 1U);
        const std::string& line = captured.lines[0];
        EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
        EXPECT_TRUE(line.contains("two\\nlines")) << line;
    }
}

TEST(Log, LongValuesAreCut) {
    const std::string line = text_of({"k", std::string(100'000, 'x')});
    EXPECT_LT(line.size(), 2'100U);
    EXPECT_TRUE(line.ends_with("x[cut]\"\n"));
    const std::string wide = text_of({"k", std::string(2'047, 'x') + "€uro"});
    EXPECT_TRUE(wide.ends_with("x€[cut]\"\n")) << "never inside a character";
    EXPECT_FALSE(text_of({"k", std::string(2'048, 'x')}).contains("[cut]"));
}

TEST(Log, LinesOfManyThreadsDoNotMix) {
    std::atomic<int> inside = 0;
    std::atomic<bool> overlapped = false;
    std::vector<std::string> lines;
    Logger logger({}, std::make_shared<ManualClock>(noon), [&](std::string_view line) {
        overlapped = overlapped || inside.fetch_add(1) != 0;
        lines.emplace_back(line);
        inside.fetch_sub(1);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&logger, t] {
            const Log log = logger.target("t" + std::to_string(t));
            for (int i = 0; i < 500; ++i) {
                log.info("line", {{"n", i}});
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(overlapped);
    EXPECT_EQ(lines.size(), 4'000U);
    for (const std::string& line : lines) {
        EXPECT_TRUE(line.starts_with("2026-11-16T10:00:00.123Z INFO t")) << line;
        EXPECT_EQ(line.find('\n'), line.size() - 1);
    }
}

TEST(Log, WithoutASinkLinesGoToStderr) {
    testing::internal::CaptureStderr();
    Logger logger({}, std::make_shared<ManualClock>(noon));
    logger.target("http").error("no room", {{"path", "a b"}});
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "2026-11-16T10:00:00.123Z ERROR http no room path=\"a b\"\n");
}

TEST(Log, AStderrThatDoesNotBlockLosesNothing) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    const int saved = dup(STDERR_FILENO);
    ASSERT_GE(dup2(ends[1], STDERR_FILENO), 0);
    constexpr std::size_t count = 2'000;  // more than a pipe holds
    std::string got;
    std::thread reader([&] {
        std::string part(4'096, ' ');
        for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;) {
            got.append(part, 0, static_cast<std::size_t>(n));
        }
    });
    {
        Logger logger({}, std::make_shared<ManualClock>(noon));
        const Log log = logger.target("http");
        for (std::size_t i = 0; i < count; ++i) {
            log.info("filler", {{"x", std::string(100, 'y')}});
        }
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    reader.join();
    close(ends[0]);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(got, '\n')), count);
}

}  // namespace
}  // namespace ff
