// The conversations of tests/http/golden, each with a server of its own.
#include "http/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "http/test_server.h"

namespace ff::http::test {
namespace {

const std::string folder = std::string(FF_SOURCE_DIR) + "/tests/http/golden";

std::vector<std::string> conversations() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".txt") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

TestOptions options_of(const GoldenFile& file) {
    TestOptions options;
    for (const auto& [name, value] : file.settings) {
        if (name == "api_token") {
            options.service.gate.api_token = value;
        } else if (name == "admin_token") {
            options.service.gate.admin_token = value;
        } else if (name == "polls_max") {
            options.service.polls_max = std::stoul(value);
        } else if (name == "lanes") {
            options.service.lanes = {value};
        } else {
            ADD_FAILURE() << "no such setting: " << name;
        }
    }
    options.service.metrics_text = [] { return "ff_up 1\n"; };
    options.service.config = [] { return json{{"FF_LANES", "default"}}; };
    return options;
}

class Golden : public testing::TestWithParam<std::string> {
  protected:
    /// Runs an exchange; gives the answer as it is to be written.
    static void run(GoldenStep& step, const GoldenFile& file, const TestServer& server,
                    Names& names, bool write) {
        std::vector<std::string> fields;
        for (const std::string& field : step.fields) {
            fields.push_back(filled_in(field, names));
        }
        RawClient client = server.connect();
        client.send(request_text(step.method, filled_in(step.target, names),
                                 filled_in(step.body, names), fields));
        const RawAnswer answer = client.read_answer(step.method == "HEAD");
        if (write) {
            std::string given;
            for (const GoldenStep& other : file.steps) {
                given += other.before_answer;
            }
            step.answer = answer_to_write(answer, given, names);
            return;
        }
        const std::string fault = compare(step.answer, answer_text(answer), names);
        EXPECT_TRUE(fault.empty())
            << GetParam() << ".txt:" << step.line << ": " << step.title << "\n"
            << fault << "\nthe whole answer:\n"
            << answer_text(answer);
    }
};

TEST_P(Golden, IsAnsweredAsWritten) {
    const std::string path = folder + "/" + GetParam() + ".txt";
    std::ifstream in(path, std::ios::binary);
    GoldenFile file = parse_golden(std::string{std::istreambuf_iterator<char>(in), {}});
    ASSERT_FALSE(file.steps.empty()) << path;
    TestServer server(options_of(file));
    const bool write = std::getenv("FF_GOLDEN_WRITE") != nullptr;
    Names names;
    for (GoldenStep& step : file.steps) {
        if (!step.advance.empty()) {
            server.clock().advance(std::stoll(step.advance));
            ASSERT_TRUE(server.engine().run(RunScanner{"lease_expiry"}));  // all due is done
        } else {
            run(step, file, server, names, write);
        }
    }
    if (write) {
        std::ofstream(path, std::ios::binary) << golden_text(file);
    }
}

INSTANTIATE_TEST_SUITE_P(Conversations, Golden, testing::ValuesIn(conversations()),
                         [](const auto& of) { return of.param; });

// ----------------------------------------------------------------------- the comparison can fail

TEST(GoldenComparison, FindsEveryDifference) {
    Names names;
    EXPECT_EQ(compare("a {{x}} b", "a 17 b", names), "");
    EXPECT_EQ(names["x"], "17");
    EXPECT_EQ(compare("a {{x}} b {{*}}", "a 17 b 5", names), "");
    EXPECT_NE(compare("a {{x}} b", "a 18 b", names), "");
    EXPECT_NE(compare("abc", "ab", names), "");
    EXPECT_NE(compare("ab", "abc", names), "");
    EXPECT_NE(compare("\"{{lease_id}}\"", "\"17\"", names), "");
    EXPECT_NE(compare("\"{{*}}\"", "\"\"", names), "");
}

}  // namespace
}  // namespace ff::http::test
