// Spans, moments, backoffs, policies and misspelt words: what is read without any engine.
#include <gtest/gtest.h>

#include "cli/rig.h"
#include "cli/submit.h"
#include "cli/suggest.h"
#include "cli/times.h"

namespace ff::cli {
namespace {

using test::contains;

TEST(Span, HasANumberAndAUnit) {
    EXPECT_EQ(parse_span("500ms"), 500);
    EXPECT_EQ(parse_span("10s"), 10'000);
    EXPECT_EQ(parse_span("5m"), 300'000);
    EXPECT_EQ(parse_span("2h"), 7'200'000);
    EXPECT_EQ(parse_span("1d"), 86'400'000);
    EXPECT_EQ(parse_span("1.5h"), 5'400'000);
    EXPECT_EQ(parse_span("0s"), 0);
    for (const char* bad : {"", "10", "s", "10 s", "10S", "-1s", "1e3s", "1..2s", "10sec", "1h30m",
                            ".", "ms", "nan", "inf"}) {
        const auto span = parse_span(bad);
        ASSERT_FALSE(span.has_value()) << bad;
        EXPECT_TRUE(contains(span.error().detail, "write one like")) << span.error().detail;
    }
    EXPECT_FALSE(parse_span("99999d").has_value());
    EXPECT_FALSE(parse_span("99999999999999999999999999d").has_value());
}

TEST(Moment, IsASpanFromNowOrATime) {
    constexpr TimestampMs now = 1'700'000'000'000;
    EXPECT_EQ(parse_moment("10s", now, Towards::past), now - 10'000);
    EXPECT_EQ(parse_moment("10s", now, Towards::future), now + 10'000);
    EXPECT_EQ(parse_moment("1970-01-02", now, Towards::past), 86'400'000);
    EXPECT_EQ(parse_moment("2023-11-14T22:13:20Z", now, Towards::past), now);
    EXPECT_EQ(parse_moment("2023-11-14 22:13:20.007Z", now, Towards::past), now + 7);
    EXPECT_EQ(parse_moment("2023-11-14T22:13", now, Towards::past), now - 20'000);
    EXPECT_EQ(parse_moment("2024-02-29", now, Towards::past), 1'709'164'800'000);
    EXPECT_EQ(parse_moment("1700000000000", now, Towards::past), now);
    for (const char* bad :
         {"", "yesterday", "17", "2023-02-29", "2023-13-01", "2023-1-1", "2023-11-14T25:00",
          "2023-11-14T22", "2023-11-14T22:13:20+01:00", "2023-11-14x", "-5s"}) {
        EXPECT_FALSE(parse_moment(bad, now, Towards::past).has_value()) << bad;
    }
}

TEST(Backoff, IsFixedOrGrows) {
    EXPECT_EQ(js::dump(*parse_backoff("5s")), R"({"type":"fixed","delay_ms":5000})");
    EXPECT_EQ(js::dump(*parse_backoff("1s..1m")),
              R"({"type":"exponential","initial_delay_ms":1000,"max_delay_ms":60000,)"
              R"("multiplier":2})");
    const auto full = parse_backoff("500ms..2m,x1.5,jitter");
    ASSERT_TRUE(full.has_value());
    EXPECT_EQ(test::member(*full, "multiplier"), "1.5");
    EXPECT_EQ(test::member(*full, "jitter"), "true");
    for (const char* bad : {"", "5", "1m..1s", "1s..", "..1m", "5s,jitter", "1s..1m,x0.5",
                            "1s..1m,y2", "1s..1m,", "1s..1m,xx", "1s..1m,xnan"}) {
        EXPECT_FALSE(parse_backoff(bad).has_value()) << bad;
    }
}

TEST(SubmitPolicy, IsNoneUnlessSomethingAsksForOne) {
    EXPECT_EQ(*policy_of({}), std::nullopt);
    SubmitOptions options;
    options.policy = "{}";
    EXPECT_EQ(*policy_of(options), std::nullopt);
    options.policy = R"({"priority": 1})";
    EXPECT_EQ(*policy_of(options), R"({"priority":1})");
    options.retries = 2;
    EXPECT_EQ(*policy_of(options), R"({"priority":1,"retry_policy":{"max_retries":2}})");
}

TEST(SubmitPolicy, WhatTheEngineWouldRefuseIsRefusedFirst) {
    for (const char* bad : {"[]", "1", "{", R"({"priority":"high"})", R"({"retry_policy":3})",
                            R"({"prioritaet":1})"}) {
        SubmitOptions options;
        options.policy = bad;
        EXPECT_FALSE(policy_of(options).has_value()) << bad;
    }
    SubmitOptions options;
    options.capabilities = {"a,b"};
    EXPECT_FALSE(policy_of(options).has_value());
}

TEST(Suggestion, IsTheNearestWordIfAnyIsNear) {
    const std::vector<std::string> known{"submit", "get", "ls", "lanes", "cancel"};
    EXPECT_EQ(nearest_word("sumbit", known), "submit") << "two letters swapped";
    EXPECT_EQ(nearest_word("submt", known), "submit");
    EXPECT_EQ(nearest_word("lst", known), "ls");
    EXPECT_EQ(nearest_word("gte", known), "get");
    EXPECT_EQ(nearest_word("cancle", known), "cancel");
    EXPECT_EQ(nearest_word("frobnicate", known), "");
    EXPECT_EQ(nearest_word("x", {}), "");
    EXPECT_EQ(letters_apart("", "abc"), 3U);
    EXPECT_EQ(letters_apart("ab", "ba"), 1U);
}

}  // namespace
}  // namespace ff::cli
