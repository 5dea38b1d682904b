// Words for programs as people are told them.
#include "cli/plain_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <ff/policy.h>

#include "cli/exit_code.h"
#include "cli/rig.h"

namespace ff::cli {
namespace {

using test::contains;
using test::run_ff;

Error error_of(ErrorCode code, std::string detail) { return {code, std::move(detail), {}}; }

TEST(PlainWords, StandBesideTheWordThatProgramsCompare) {
    EXPECT_EQ(sentence_of(error_of(ErrorCode::invalid_capabilities, "required:empty_token")),
              "capabilities that an execution requires: one is empty; leave it out, or give it a "
              "name (required:empty_token)");
    EXPECT_EQ(sentence_of(error_of(ErrorCode::invalid_config, "capabilities: worker:empty_token")),
              "capabilities: one is empty; leave it out, or give it a name (worker:empty_token)");
    EXPECT_EQ(sentence_of(error_of(ErrorCode::invalid_policy_json,
                                   "node build: retry_policy.max_retries:out_of_range")),
              "node build: retry_policy.max_retries is too large; the most is 10,000 "
              "(retry_policy.max_retries:out_of_range)");
    EXPECT_EQ(sentence_of(error_of(ErrorCode::missing_token, "")),
              "this waitpoint wants its token; give it with --token (missing_token)");
}

TEST(PlainWords, AreNotMadeOfSentences) {
    EXPECT_EQ(plain_words(error_of(ErrorCode::invalid_input, "priority must be at most 9000")), "");
    EXPECT_EQ(plain_words(error_of(ErrorCode::invalid_input, "policy:not_object")), "");
    EXPECT_EQ(plain_words(error_of(ErrorCode::waitpoint_closed, "closed at noon")), "");
    EXPECT_EQ(plain_words(error_of(ErrorCode::internal, "")), "");
}

TEST(PlainWords, ThereAreSomeForEveryFaultOfAPolicy) {
    for (const char* bad :
         {"[]",
          R"({"priority":"high"})",
          R"({"priority":99999999999})",
          R"({"priority":-1})",
          R"({"delay_until":1e400})",
          R"({"delay_until":9007199254740993})",
          R"({"retry_policy":3})",
          R"({"retry_policy":{"retryable_categories":[1]}})",
          R"({"retry_policy":{"retryable_categories":1}})",
          R"({"retry_policy":{"backoff":{"type":"exponential","jitter":1}}})",
          R"({"retry_policy":{"backoff":{"type":"exponential","multiplier":"x"}}})",
          R"({"retry_policy":{"backoff":{"type":"exponential","multiplier":0.5}}})",
          R"({"retry_policy":{"backoff":{"type":"exponential","multiplier":1e400}}})",
          R"({"retry_policy":{"backoff":{"type":"fixed","delay_ms":99999999999}}})",
          R"({"suspension_policy":{"timeout_behavior":"shrug"}})",
          R"({"fallback_policy":{"tiers":[{"provider":"p"}]}})",
          R"({"budget_ids":["x"]})",
          R"({"limit_key":""})",
          R"({"limit_key":"\u0001"})",
          R"({"budget_reserve":{"":1}})",
          R"({"routing_requirements":{"required_capabilities":1}})",
          R"({"routing_requirements":{"required_capabilities":[1]}})",
          R"({"routing_requirements":{"required_capabilities":["a,b"]}})",
          R"({"routing_requirements":{"required_capabilities":["a b"]}})"}) {
        const auto policy = Policy::parse(bad);
        ASSERT_FALSE(policy) << bad;
        const std::string plain = plain_words(policy.error());
        EXPECT_TRUE(plain.ends_with("(" + policy.error().detail + ")")) << bad << ": " << plain;
    }
}

TEST(PlainWords, AreWhatTheProgramSays) {
    const auto submit = run_ff({"submit", "k", "--connect", "nowhere.db", "--capability", ""});
    EXPECT_EQ(submit.code, 2);
    EXPECT_EQ(submit.err,
              "ff: the policy is not right: capabilities that an execution requires: one is empty; "
              "leave it out, or give it a name (required:empty_token)\n");
    const test::Folder folder;
    const auto worker = run_ff({"worker", "exec", "--connect", "sqlite:" + folder.file("a.db"),
                                "--lane", "x", "--capability", "a b", "--", "cat"});
    EXPECT_EQ(worker.code, 2);
    EXPECT_EQ(std::ranges::count(worker.err, '\n'), 1) << worker.err;
    EXPECT_TRUE(contains(worker.err, "ff: capabilities: one has a space")) << worker.err;
}

}  // namespace
}  // namespace ff::cli
