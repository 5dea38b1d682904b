// Every example runs and prints what it should.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "examples/command.h"

namespace ff::examples::test {

Output run_example(const std::string& name) {
    return run(std::string(FF_BUILD_DIR) + "/examples/" + name);
}

#define FF_EXPECT_OUTPUT(name, lines)                                                              \
    const Output output = run_example(name);                                                       \
    EXPECT_EQ(output.status, 0);                                                                   \
    EXPECT_EQ(output.text, lines)

TEST(Examples, Hello) {
    FF_EXPECT_OUTPUT("hello",
                     "submitted: waiting\n"
                     "claimed: attempt 0\n"
                     "result: hello, world\n"
                     "replayed: priority 100\n"
                     "listed: cancelled\n");
}

TEST(Examples, HelloTellsWhatIsWrong) {
    const Output output = run_example("hello oracle:x");
    EXPECT_NE(output.status, 0);
    EXPECT_TRUE(output.text.starts_with("hello: invalid_config: ")) << output.text;
}

TEST(Examples, WorkerRuntime) {
    FF_EXPECT_OUTPUT("worker_runtime",
                     "completed: pens for 12\n"
                     "failed: permanent: nothing was ordered\n"
                     "failed: extractor_payload_decode: unknown word at line 1 column 1\n"
                     "failed: handler_error: boom\n"
                     "failed: handler_panic: the handler threw something that is not a "
                     "std::exception\n");
}

TEST(Examples, RetryAndCancel) {
    FF_EXPECT_OUTPUT("retry_and_cancel",
                     "flaky: try 1\n"
                     "flaky: try 2\n"
                     "flaky: try 3\n"
                     "flaky: worked in the end\n"
                     "hopeless: try 1\n"
                     "hopeless: try 2\n"
                     "hopeless: try 3\n"
                     "hopeless: failed after 3 tries: out of luck\n");
}

TEST(Examples, IncidentHandoff) {
    FF_EXPECT_OUTPUT("incident_handoff",
                     "anna took attempt 0 and died\n"
                     "expired: the lease of anna-1\n"
                     "bert took over attempt 1: reclaim\n"
                     "bert died too\n"
                     "carl may not: 1 hand-over is the most\n"
                     "failed: max_reclaims_exceeded\n");
}

TEST(Examples, DeployApproval) {
    FF_EXPECT_OUTPUT("deploy_approval",
                     "tests: unit passed\n"
                     "ann: appended_to_waitpoint\n"
                     "ann: appended_to_waitpoint_duplicate\n"
                     "bob: resume_condition_satisfied\n"
                     "deployed, approved by ann and bob\n");
}

TEST(Examples, ExternalCallback) {
    FF_EXPECT_OUTPUT("external_callback",
                     "tampered token: invalid_token\n"
                     "called back: buffered_for_pending_waitpoint\n"
                     "called back again: a duplicate\n"
                     "the answer was faster\n"
                     "paid: {\"amount\":12}\n");
}

TEST(Examples, CodingAgent) {
    FF_EXPECT_OUTPUT("coding_agent",
                     "patch for issue 7: rejected\n"
                     "patch for issue 7 (add a test): approved\n"
                     "merged\n");
}

TEST(Examples, TokenBudget) {
    FF_EXPECT_OUTPUT("token_budget",
                     "first: answered\n"
                     "second: answered, and it gets tight\n"
                     "third: budget b00d0000-0000-0000-0000-000000000000: tokens 900/1000\n"
                     "fourth: answered, and it gets tight\n"
                     "fifth: budget b00d0000-0000-0000-0000-000000000000: tokens 1000/1000\n"
                     "the next day: answered\n");
}

TEST(Examples, BudgetLedger) {
    FF_EXPECT_OUTPUT("budget_ledger",
                     "spend 60: ok, used 60\n"
                     "spend 60: already_applied, used 60\n"
                     "spend 30: ok, used 90\n"
                     "spend 20: hard_breach, used 90\n"
                     "release: released, used 30\n"
                     "release: nothing there, used 30\n"
                     "spend 20: ok, used 50\n"
                     "release: released, used 0\n");
}

TEST(Examples, FairTenants) {
    FF_EXPECT_OUTPUT("fair_tenants",
                     "round 1: whale 1, shrimp 1, crab 1, whale 2, shrimp 2, crab 2, and no more\n"
                     "round 2: whale 3, crab 3, whale 4, and no more\n"
                     "round 3: whale 5, whale 6, and no more\n");
}

TEST(Examples, TokenStream) {
    FF_EXPECT_OUTPUT("token_stream",
                     "You asked: what is six by seven?\n"
                     "once more:\n"
                     "You asked: what is six by seven? The answer is 42.\n"
                     "summary: {\"tokens\":8,\"finish_reason\":\"stop\"}\n"
                     "result: You asked: what is six by seven? The answer is 42.\n");
}

TEST(Examples, TenantAudit) {
    FF_EXPECT_OUTPUT("tenant_audit",
                     "acme, so far:\n"
                     "  acquired by clerk-1\n"
                     "  revoked by backend: completed\n"
                     "acme, since then:\n"
                     "  acquired by clerk-1\n"
                     "  revoked by backend: failed_terminal\n");
}

TEST(Examples, WorkerRegistry) {
    FF_EXPECT_OUTPUT("worker_registry",
                     "registered: anna-1 bert-1 carl-1\n"
                     "anna-1 is good for another 60 s\n"
                     "carl-1 is good for another 60 s\n"
                     "after 80 s: anna-1 carl-1\n"
                     "bert-1 is to register again\n"
                     "without carl: anna-1\n");
}

TEST(Examples, Guide) {
    FF_EXPECT_OUTPUT("guide",
                     "200 hello from https://x\n"
                     "failed: permanent: no url\n"
                     "resumed after a pause\n"
                     "pages: 2\n");
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

TEST(Examples, EveryOneIsTestedAndListed) {
    const std::filesystem::path source = FF_SOURCE_DIR;
    const std::string tests = read_file(source / "tests/examples/examples_test.cc");
    const std::string list = read_file(source / "examples/README.md");
    for (const auto& entry : std::filesystem::directory_iterator(source / "examples")) {
        if (entry.path().extension() == ".cc") {
            const std::string name = entry.path().stem().string();
            EXPECT_TRUE(tests.contains("FF_EXPECT_OUTPUT(\"" + name + "\"")) << name;
            EXPECT_TRUE(list.contains("[" + name + "](" + name + ".cc)")) << name;
        }
    }
}

/// The code on a page is an example's, line by line, so that it always compiles. How many lines.
int check_page(const std::string& page, const std::string& example) {
    const std::filesystem::path source = FF_SOURCE_DIR;
    std::set<std::string> compiled;
    std::istringstream program(read_file(source / example));
    const auto trimmed = [](const std::string& line) {
        const std::size_t begin = line.find_first_not_of(' ');
        return begin == std::string::npos ? std::string() : line.substr(begin);
    };
    for (std::string line; std::getline(program, line);) {
        compiled.insert(trimmed(line));
    }
    std::istringstream guide(read_file(source / page));
    bool code = false;
    int lines = 0;
    for (std::string line; std::getline(guide, line);) {
        if (line.starts_with("```")) {
            code = line == "```cpp";
        } else if (code && !trimmed(line).empty()) {
            ++lines;
            EXPECT_TRUE(compiled.contains(trimmed(line))) << line;
        }
    }
    return lines;
}

TEST(Examples, TheGuidesShowCodeThatRuns) {
    EXPECT_GT(check_page("docs/worker.md", "examples/guide.cc"), 20);
    EXPECT_GT(check_page("docs/streams.md", "examples/token_stream.cc"), 10);
    EXPECT_GT(check_page("docs/events.md", "examples/tenant_audit.cc"), 5);
}

}  // namespace ff::examples::test
