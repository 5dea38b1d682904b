// The conversations of tests/http/golden, each with a server of its own.
#include "http/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

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

GoldenFile golden_file(const std::string& name) {
    std::ifstream in(folder + "/" + name + ".txt", std::ios::binary);
    return parse_golden(std::string{std::istreambuf_iterator<char>(in), {}});
}

TestOptions options_of(const GoldenFile& file) {
    TestOptions options;
    for (const auto& [name, value] : file.settings) {
        if (name == "api_token") {
            options.service.gate.api_token = value;
        } else if (name == "admin_token") {
            options.service.gate.admin_token = value;
        } else if (name == "allow_insecure") {
            options.service.gate.allow_insecure = value == "1";
        } else if (name == "failed_attempts_max") {
            options.service.failed_attempts_max = std::stoul(value);
        } else if (name == "polls_max") {
            options.service.polls_max = std::stoul(value);
        } else if (name == "lanes") {
            options.service.lanes = {value};
        } else {
            ADD_FAILURE() << "no such setting: " << name;
        }
    }
    options.service.metrics_text = [] { return "ff_up 1"; };
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
    GoldenFile file = golden_file(GetParam());
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

// ---------------------------------------------------------------------------- nothing is left out

/// Every exchange of every file: the route it takes, and the status it ends with.
std::set<std::pair<std::string, int>> routes_taken(const Router& router) {
    std::set<std::pair<std::string, int>> taken;
    for (const std::string& name : conversations()) {
        for (const GoldenStep& step : golden_file(name).steps) {
            const std::string path = step.target.substr(0, step.target.find('?'));
            const Found found = router.find(step.method, path);
            if (found.route != nullptr && !step.answer.empty()) {
                taken.emplace(std::string(to_string(found.route->method)) + " " + found.route->path,
                              std::stoi(step.answer));
            }
        }
    }
    return taken;
}

TEST(GoldenFiles, ShowEveryRouteSucceed) {
    TestServer server(options_of({}));
    const Router& router = server.server().service().router();
    const auto taken = routes_taken(router);
    for (const auto& route : router.routes()) {
        const std::string name = std::string(to_string(route->method)) + " " + route->path;
        const bool succeeds = std::ranges::any_of(taken, [&](const auto& entry) {
            return entry.first == name && entry.second >= 200 && entry.second < 300;
        });
        // The description of the interface has a test of its own, openapi_test.cc, and so have
        // approval links, approval_test.cc; a graph has ids of edges that are new each time;
        // promote is for repair and has nothing to do here.
        const bool elsewhere =
            route->path == "/v1/openapi.json" || route->path == "/v1/approve/{link}" ||
            route->path == "/v1/flows/{id}/graph" || route->path == "/v1/executions/{id}/promote";
        EXPECT_TRUE(succeeds || elsewhere) << name;
    }
}

TEST(GoldenFiles, ShowTheErrorsThatCompatibleRoutesHave) {
    TestServer server(options_of({}));
    const auto taken = routes_taken(server.server().service().router());
    const std::vector<std::pair<std::string, std::vector<int>>> wanted{
        {"POST /v1/executions", {200, 201, 400, 413, 415, 422}},
        {"GET /v1/executions", {200, 400}},
        {"GET /v1/executions/{id}", {200, 400, 404}},
        {"GET /v1/executions/{id}/state", {200, 400, 404}},
        {"GET /v1/executions/{id}/result", {200, 404}},
        {"POST /v1/executions/{id}/cancel", {200, 400, 404, 409, 413}},
        {"PUT /v1/executions/{id}/priority", {200, 404, 409}},
        {"POST /v1/executions/{id}/replay", {200, 404, 409}},
        {"POST /v1/executions/{id}/revoke-lease", {200, 404, 413}},
        {"POST /v1/executions/{id}/reclaim", {200, 400, 404}},
        {"POST /v1/workers/{worker_id}/claim", {200, 204, 400}},
        {"POST /v1/flows", {200, 201, 400, 409, 422}},
        {"POST /v1/flows/{id}/members", {200, 201, 400, 404, 409}},
        {"POST /v1/flows/{id}/edges", {201, 400, 409}},
        {"POST /v1/flows/{id}/edges/apply", {200, 400, 404}},
        {"POST /v1/flows/{id}/cancel", {200, 400, 404}},
    };
    for (const auto& [route, statuses] : wanted) {
        for (const int status : statuses) {
            EXPECT_TRUE(taken.contains({route, status})) << route << " " << status;
        }
    }
}

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
