// Bad input of every command: one clear line, exit code 2, and nothing changed.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/rig.h"

namespace ff::test {
namespace {

struct BadInput {
    std::vector<std::string> arguments;
    std::string says;  ///< part of the line
};

/// `ID` stands for an execution that is there.
const std::vector<BadInput>& bad_inputs() {
    static const std::vector<BadInput> all{
        {{"submit"}, "kind is required"},
        {{"submit", ""}, "kind"},
        {{"submit", "k", "p", "extra"}, "unexpected argument \"extra\""},
        {{"submit", "k", "p", "--file", "f"}, "not both"},
        {{"submit", "k", "{", "--json"}, "the payload is not JSON"},
        {{"submit", "k", "--tag", "novalue"}, "a tag is given as key=value"},
        {{"submit", "k", "--tag", "=v"}, "a tag is given as key=value"},
        {{"submit", "k", "--tag", "a=1", "--tag", "a=2"}, "given twice"},
        {{"submit", "k", "--priority", "high"}, "--priority: high is not a number"},
        {{"submit", "k", "--priority", "9001"}, "not in the range 0 to 9,000"},
        {{"submit", "k", "--delay", "10"}, "--delay: 10 is neither a span"},
        {{"submit", "k", "--deadline", "soon"}, "--deadline: soon is neither"},
        {{"submit", "k", "--deadline", "2020-01-01"}, "--deadline: 2020-01-01 is past"},
        {{"submit", "k", "--backoff", "1s.."}, "--backoff: nothing is not a span of time"},
        {{"submit", "k", "--id", ""}, "--id: \"\" is not an execution id"},
        {{"submit", "k", "--policy", R"({"retry_polcy":{}})"},
         "retry_polcy is not a member that a policy has there"},
        {{"submit", "k", "--policy", R"({"retry_policy":{"backoff":{"type":"linear"}}})"},
         "retry_policy.backoff.type must be fixed or exponential"},
        {{"submit", "k", "--retries", "-1"}, "--retries"},
        {{"submit", "k", "--backoff", "fast"}, "--backoff: fast is not a span"},
        {{"submit", "k", "--timeout", "5"}, "--timeout: 5 is not a span of time"},
        {{"submit", "k", "--capability", "a b"}, "the policy is not right"},
        {{"submit", "k", "--policy", "[]"}, "a policy is a JSON object"},
        {{"submit", "k", "--policy", "{"}, "--policy: "},
        {{"submit", "k", "--id", "17"}, "--id: \"17\" is not an execution id"},
        {{"submit", "k", "--lane", ""}, "--lane"},
        {{"submit", "k", "--lane", "\x01"}, "--lane"},
        {{"submit", "k", "--ns", ""}, "--ns"},
        {{"submit", "k", "--wait-timeout", "x"}, "--wait-timeout: x is not a span"},
        {{"get"}, "id is required"},
        {{"get", "seventeen"}, "not an execution id"},
        {{"get", "12345"}, "its last 6 digits or more will do"},
        {{"get", "ID", "--watch=0"}, "--watch: 0 is not in the range"},
        {{"get", "ID", "-o", "xml"}, "--output: xml not in {text,json,jsonl}"},
        {{"ls", "--state", "sleepy"}, "--state: sleepy not in"},
        {{"ls", "--limit", "0"}, "not in the range 1 to 1,000"},
        {{"ls", "--all", "--limit", "3"}, "excludes"},
        {{"ls", "--all", "--watch"}, "excludes"},
        {{"ls", "--since", "yesterday"}, "--since: yesterday is neither a span"},
        {{"ls", "--tag", "order"}, "a tag is given as key=value"},
        {{"ls", "--tag", "a=1", "--tag", "a=2"}, "the tag a is given twice"},
        {{"ls", "--cursor", "zebra"}, "cursor"},
        {{"ls", "extra"}, "unexpected argument \"extra\""},
        {{"why", "x"}, "not an execution id"},
        {{"result", "x"}, "not an execution id"},
        {{"input", "x"}, "not an execution id"},
        {{"attempts", "x"}, "not an execution id"},
        {{"history", "x"}, "not an execution id"},
        {{"wait", "ID", "--timeout", "forever"}, "--timeout: forever is not a span"},
        {{"wait", "ID", "x"}, "not an execution id"},
        {{"cancel", "ID", "x"}, "not an execution id"},
        {{"replay", "x"}, "not an execution id"},
        {{"priority", "ID"}, "priority is required"},
        {{"priority", "ID", "lots"}, "lots is not a number"},
        {{"priority", "ID", "-1"}, "unknown option -1"},
        {{"revoke"}, "id is required"},
        {{"tag"}, "name a command"},
        {{"tag", "set", "ID"}, "tag is required"},
        {{"tag", "set", "ID", "x"}, "a tag is given as key=value"},
        {{"tag", "set", "ID", "Upper.case=1"}, "Upper.case"},
        {{"tag", "rm", "ID"}, "key is required"},
        {{"lanes", "pause"}, "lane is required"},
        {{"lanes", "pause", ""}, "lane"},
        {{"lanes", "halt", "x"}, "unknown command \"halt\""},
        {{"scanners", "run"}, "name is required"},
        {{"top", "--every", "often"}, "--every: often is not a span"},
        {{"submit", "k", "--wait-timeout", "1s"}, "--wait"},
        {{"budget", "limit", "B"}, "NAME=N is required"},
        {{"completion"}, "shell is required"},
        {{"profiles", "x"}, "unexpected argument \"x\""},
        {{"ls", "--connect", ""}, "the address is empty"},
        {{"inspect", "--db", "http://h:1", "ls"}, "ff inspect looks into a store"},
    };
    return all;
}

class BadInputs : public OnEveryWay {};
INSTANTIATE_TEST_SUITE_P(Ways, BadInputs, every_way(), way_name);

TEST_P(BadInputs, AreOneLineWithExitCodeTwoAndChangeNothing) {
    const std::string id = rig_.create("a").to_string();
    const std::string before = rig_.ff({"get", id, "-o", "json"}).out;
    for (const BadInput& bad : bad_inputs()) {
        std::vector<std::string> arguments = bad.arguments;
        std::ranges::replace(arguments, std::string("ID"), id);
        const Ran ran = rig_.ff(arguments);
        std::string line;
        for (const std::string& word : bad.arguments) {
            line += word + " ";
        }
        EXPECT_EQ(ran.code, 2) << line << "\n" << ran.err;
        EXPECT_EQ(ran.out, "") << line;
        EXPECT_TRUE(ran.err.starts_with("ff: ")) << line << "\n" << ran.err;
        EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << line << "\n" << ran.err;
        EXPECT_TRUE(contains(ran.err, bad.says)) << line << "\n" << ran.err;
    }
    EXPECT_EQ(rig_.ff({"get", id, "-o", "json"}).out, before);
    EXPECT_EQ(rig_.items({"ls"}).size(), 1U);
    EXPECT_EQ(rig_.items({"lanes"}).size(), 1U);
}

}  // namespace
}  // namespace ff::test
