// Files of flows: what they mean, and where it is said that one is not right.
#include <gtest/gtest.h>

#include "cli/flow_file.h"
#include "cli/flow_tree.h"
#include "cli/flow_worker.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

using cli::FlowFile;

constexpr TimestampMs now = 1'700'000'000'000;

expected<FlowFile> read(const std::string& text, const std::string& file = "f.toml",
                        cli::Variables given = {}) {
    FF_TRY(const cli::Doc doc, cli::parse_doc(text, file));
    cli::FlowTerms terms;
    terms.file = file;
    terms.flow_id = FlowId{new_uuid()};
    terms.given = std::move(given);
    terms.now = now;
    return cli::read_flow(doc, terms);
}

std::string fault(const std::string& text, const std::string& file = "f.toml",
                  cli::Variables given = {}) {
    const auto flow = read(text, file, std::move(given));
    return flow ? "no fault" : flow.error().detail;
}

FlowFile good(const std::string& text, const std::string& file = "f.toml",
              cli::Variables given = {}) {
    auto flow = read(text, file, std::move(given));
    EXPECT_TRUE(flow.has_value()) << (flow ? "" : flow.error().detail);
    return flow ? std::move(*flow) : FlowFile();
}

// ---------------------------------------------------------------------------------------- meaning

TEST(FlowFileText, ANodeBecomesAnExecution) {
    const FlowFile flow = good(R"(
name = "nightly"
namespace = "shop"
lane = "jobs"
deadline = "1h"
fail_fast = true
max_active = 3

[node.fetch]
kind = "http.get"
payload_json = { url = "https://example.org", tries = 3 }
priority = 7
retries = 4
backoff = "1s..1m"
timeout = "90s"
capabilities = ["net"]
delay = "10s"

[node.store]
kind = "db.put"
payload = "hello"
lane = "db"
needs = ["fetch"]
)");
    const SubmitFlow& submit = flow.submit;
    EXPECT_EQ(submit.flow_kind, "nightly");
    EXPECT_EQ(submit.ns, "shop");
    EXPECT_EQ(submit.settings.deadline_at, now + 3'600'000);
    EXPECT_EQ(submit.settings.on_member_failure, OnMemberFailure::cancel_rest);
    EXPECT_EQ(submit.settings.max_active_members, 3U);
    ASSERT_EQ(submit.nodes.size(), 2U);
    const CreateExecution& fetch = submit.nodes[0].execution;
    EXPECT_EQ(submit.nodes[0].name, "fetch") << "in the order of the file";
    EXPECT_EQ(fetch.execution_kind, "http.get");
    EXPECT_EQ(fetch.lane_id, "jobs");
    EXPECT_TRUE(contains(fetch.input_payload, R"("url":"https://example.org")"))
        << fetch.input_payload;
    EXPECT_EQ(fetch.payload_encoding, "json");
    EXPECT_EQ(fetch.priority, 7);
    EXPECT_EQ(fetch.delay_until, now + 10'000);
    const auto policy = Policy::parse(fetch.policy.value_or(""));
    ASSERT_TRUE(policy.has_value());
    EXPECT_EQ(policy->retry_policy->max_retries, 4U);
    EXPECT_EQ(policy->timeout_policy->attempt_timeout_ms, 90'000);
    EXPECT_EQ(policy->routing_requirements->required_capabilities, std::vector<std::string>{"net"});
    EXPECT_EQ(submit.nodes[1].execution.lane_id, "db");
    EXPECT_EQ(submit.nodes[1].execution.input_payload, "hello");
    ASSERT_EQ(submit.edges.size(), 1U);
    EXPECT_EQ(submit.edges[0].from, "fetch");
    EXPECT_EQ(submit.edges[0].to, "store");
    EXPECT_TRUE(flow.commands.empty());
}

TEST(FlowFileText, NeedsHaveConditionsAndPassDataOn) {
    const FlowFile flow = good(R"(
[node.a]
kind = "k"
[node.b]
kind = "k"
[node.c]
kind = "k"
needs = [
  { node = "a", when = "$.ok", as = "x", path = "$.y" },
  { node = "b", on = "failure" },
]
join = "any"
on_win = "cancel"
[node.d]
kind = "k"
needs = [{ node = "a", pass = true }, { node = "b", on = "always" }, { node = "c", on = "skip" }]
join = 2
)");
    const auto& edges = flow.submit.edges;
    ASSERT_EQ(edges.size(), 5U);
    EXPECT_EQ(edges[0].when, "$.ok");
    EXPECT_EQ(edges[0].data_passing_ref, R"({"as":"x","path":"$.y"})");
    EXPECT_EQ(edges[1].dependency_kind, DependencyKind::on_failure);
    EXPECT_EQ(edges[2].data_passing_ref, "result");
    EXPECT_EQ(edges[3].dependency_kind, DependencyKind::always);
    EXPECT_EQ(edges[4].dependency_kind, DependencyKind::on_skip);
    EXPECT_EQ(flow.submit.nodes[2].policy, GroupPolicy::any_of(OnSatisfied::cancel_remaining));
    EXPECT_EQ(flow.submit.nodes[3].policy, GroupPolicy::quorum(2));
    EXPECT_EQ(flow.submit.flow_kind, "f") << "the name of the file";
}

TEST(FlowFileText, ACommandIsForTheShellOrAListOfWords) {
    const FlowFile flow = good(R"(
[node.a]
command = "make all"
dir = "sub/../src"
env = { CFLAGS = "-O2" }
[node.b]
command = ["cc", "-c", "x.c"]
capabilities = ["gpu"]
needs = [{ node = "a", as = "log" }]
)",
                               "/some/where/f.toml");
    ASSERT_EQ(flow.commands.size(), 2U);
    const cli::FlowCommand& a = flow.commands.at("a");
    EXPECT_EQ(a.words, (std::vector<std::string>{"sh", "-ec", "make all"}));
    EXPECT_EQ(a.dir, "/some/where/src");
    EXPECT_EQ(a.env.at("CFLAGS"), "-O2");
    EXPECT_FALSE(a.named_inputs);
    const cli::FlowCommand& b = flow.commands.at("b");
    EXPECT_EQ(b.words, (std::vector<std::string>{"cc", "-c", "x.c"}));
    EXPECT_TRUE(b.named_inputs);
    EXPECT_EQ(flow.submit.nodes[0].execution.execution_kind, "ff.exec");
    const auto policy = Policy::parse(flow.submit.nodes[1].execution.policy.value_or(""));
    ASSERT_TRUE(policy.has_value());
    EXPECT_EQ(policy->routing_requirements->required_capabilities.size(), 2U)
        << "its own, and that of the run";
}

TEST(FlowFileText, JsonHasTheSameShape) {
    const FlowFile flow = good(R"({
  "name": "j",
  "node": {
    "b": {"command": "true", "needs": ["a"], "retries": 1},
    "a": {"command": ["echo", "1"], "payload_json": [1, 2.50]}
  }
})",
                               "f.json");
    ASSERT_EQ(flow.submit.nodes.size(), 2U);
    EXPECT_EQ(flow.submit.nodes[0].name, "b");
    EXPECT_EQ(flow.submit.nodes[1].execution.input_payload, "[1,2.50]");
}

TEST(FlowFileText, VariablesArePutIn) {
    const std::string text = R"(
[vars]
who = "world"
[node.a]
kind = "k"
payload = "hello ${who} $${who} $x"
payload_json = 1
)";
    EXPECT_TRUE(contains(fault(text), "f.toml:7:1: give payload or payload_json, not both"));
    const std::string fine = text.substr(0, text.find("payload_json"));
    EXPECT_EQ(good(fine).submit.nodes[0].execution.input_payload, "hello world ${who} $x");
    const FlowFile given = good(fine, "f.toml", {{"who", "you"}});
    EXPECT_EQ(given.submit.nodes[0].execution.input_payload, "hello you ${who} $x");
    EXPECT_EQ(given.variables.at("who"), "you");
    EXPECT_TRUE(contains(fault(fine, "f.toml", {{"hwo", "you"}}), "--var hwo: the file does not"));
    EXPECT_EQ(fault("[node.a]\nkind = \"k\"\npayload = \"${b}\"\n"),
              "f.toml:3:11: ${b} has no value; give one with --var b=… or in [vars], or write "
              "$${b} for the text itself");
    const FlowFile shell = good("[node.a]\ncommand = \"echo ${HOME}\"\n");
    EXPECT_EQ(shell.commands.at("a").words.back(), "echo ${HOME}") << "the shell's own";
}

// ----------------------------------------------------------------------------------------- faults

struct Bad {
    const char* text;
    const char* says;
};

TEST(FlowFileText, FaultsNameTheirPlaceAndSayWhatToDo) {
    const std::vector<Bad> all{
        {"[node.a\n", "f.toml:1:"},
        {"nme = \"x\"\n[node.a]\nkind = \"k\"\n",
         "f.toml:1:1: the file has no setting \"nme\"; did you mean name?"},
        {"name = 3\n", "f.toml:1:8: the name of a flow is a text"},
        {"name = \"a/b\"\n", "f.toml:1:8: the name of a flow is a text"},
        {"name = \"x\"\n", "f.toml:1:1: there is no node; write [node.NAME]"},
        {"[node.a]\nkind = 3\n", "f.toml:2:8: kind is a text, not a number; write kind = \"…\""},
        {"[node.a]\ncomand = \"x\"\n",
         "f.toml:2:1: node a has no setting \"comand\"; did you mean command?"},
        {"[node.a]\nretries = 1\n", "f.toml:1:7: node a says nothing of what is to be done"},
        {"[node.a]\nkind = \"k\"\nretries = -1\n",
         "f.toml:3:11: retries is a whole number from 0 to 10000"},
        {"[node.a]\nkind = \"k\"\ntimeout = \"soon\"\n", "f.toml:3:11: timeout: "},
        {"[node.a]\nkind = \"k\"\ntimeout = \"0s\"\n",
         "f.toml:3:11: timeout: nothing is that quick; leave it out for no limit"},
        {"deadline = \"0s\"\n[node.a]\nkind = \"k\"\n",
         "f.toml:1:12: deadline: nothing is that quick"},
        {"[node.a]\nkind = \"k\"\nbackoff = \"x\"\n", "f.toml:3:11: backoff: "},
        {"[node.a]\nkind = \"k\"\nlane = \"\"\n", "f.toml:3:8: lane"},
        {"[node.a]\nkind = \"k\"\ncapabilities = [\"a,b\"]\n", "f.toml:3:16: a capability is"},
        {"[node.a]\nkind = \"k\"\ncapabilities = \"a\"\n",
         "f.toml:3:16: capabilities is a list of texts, not a text"},
        {"[node.a]\nkind = \"k\"\ndir = \"x\"\n", "f.toml:3:1: dir belongs to a command"},
        {"[node.a]\ncommand = 3\n", "f.toml:2:11: a command is a line for the shell"},
        {"[node.a]\ncommand = []\n", "f.toml:2:11: a command is a line for the shell"},
        {"[node.a]\ncommand = \"x\"\nenv = { \"A B\" = \"1\" }\n",
         "f.toml:3:9: a variable is named"},
        {"[node.a]\nkind = \"k\"\nneeds = \"b\"\n", "f.toml:3:9: needs is a list of nodes"},
        {"[node.a]\nkind = \"k\"\nneeds = [\"a\"]\n", "f.toml:3:10: node a needs itself"},
        {"[node.fetch]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [\"ftech\"]\n",
         "f.toml:5:10: there is no node ftech; did you mean fetch?"},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [\"a\", \"a\"]\n",
         "f.toml:5:15: a is needed twice"},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [{ nod = \"a\" }]\n",
         "f.toml:5:10: a need is the name of a node"},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [{ node = \"a\", on = \"x\" }]\n",
         "f.toml:5:29: on is one of success, failure, always, skip, not \"x\""},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [{ node = \"a\", when = \"x\" "
         "}]\n",
         "f.toml:5:31: when"},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [\"a\"]\njoin = 2\n",
         "f.toml:6:8: join is \"all\", \"any\", or how many of the 1 needs must succeed"},
        {"[node.a]\nkind = \"k\"\njoin = \"any\"\n", "f.toml:3:1: join says how needs count"},
        {"[node.a]\nkind = \"k\"\n[node.b]\nkind = \"k\"\nneeds = [\"a\"]\non_win = \"cancel\"\n",
         "f.toml:6:1: on_win goes with join"},
        {"[node.a]\nkind = \"k\"\nneeds = [\"c\"]\n[node.b]\nkind = \"k\"\nneeds = [\"a\"]\n"
         "[node.c]\nkind = \"k\"\nneeds = [\"b\"]\n",
         "f.toml:6:10: a needs c, which needs b, which needs a again: these go round in a circle"},
        {"[node.a]\nkind = \"k\"\n[node.a]\nkind = \"k\"\n", "f.toml:3:"},
    };
    for (const Bad& bad : all) {
        EXPECT_TRUE(fault(bad.text).starts_with(bad.says))
            << bad.text << "says\n  " << fault(bad.text) << "\nnot\n  " << bad.says;
    }
}

TEST(FlowFileText, FaultsOfJsonNameTheirPlaceToo) {
    EXPECT_TRUE(fault("{\n  \"name\": }\n", "f.json").starts_with("f.json:2:11: this is not JSON"))
        << fault("{\n  \"name\": }\n", "f.json");
    EXPECT_EQ(fault("{\"node\": {\n  \"é\": {\"kind\": 3}}}", "f.json"),
              "f.json:2:17: kind is a text, not a number; write kind = \"…\"");
    EXPECT_TRUE(fault(R"({"node": {"a": {"kind": "k"}, "a": {"kind": "k"}}})", "f.json")
                    .starts_with("f.json:1:31: \"a\" is there twice"));
    EXPECT_TRUE(fault("[]", "f.json").starts_with("f.json:1:1: the file is one JSON object"));
}

// ---------------------------------------------------------------------------------------- the tree

GraphNode node(const std::string& name, std::uint8_t number, PublicState state) {
    GraphNode out;
    out.node = name;
    out.execution_id.uuid.bytes[15] = number;
    out.public_state = state;
    return out;
}

EdgeSnapshot edge(const GraphNode& from, const GraphNode& to) {
    EdgeSnapshot out;
    out.upstream_execution_id = from.execution_id;
    out.downstream_execution_id = to.execution_id;
    return out;
}

FlowGraph diamond() {
    FlowGraph graph;
    graph.flow.flow_kind = "build";
    graph.flow.created_at = now;
    graph.nodes = {node("fetch", 1, PublicState::completed), node("a", 2, PublicState::active),
                   node("b", 3, PublicState::failed),
                   node("link", 4, PublicState::waiting_children),
                   node("alone", 5, PublicState::waiting)};
    graph.nodes[1].started_at = now + 1'000;
    graph.nodes[2].failure_reason = "exit code 1";
    graph.edges = {edge(graph.nodes[0], graph.nodes[1]), edge(graph.nodes[0], graph.nodes[2]),
                   edge(graph.nodes[1], graph.nodes[3]), edge(graph.nodes[2], graph.nodes[3])};
    return graph;
}

TEST(FlowTree, NodesStandBelowWhatTheyWaitFor) {
    const cli::View view{{}, now + 3'500};
    EXPECT_EQ(cli::flow_tree(diamond(), view, 0),
              "  ✔ fetch\n"
              "    ▶ a       2.5 s\n"
              "    ✘ b       failed: exit code 1\n"
              "      · link\n"
              "  ○ alone\n");
    EXPECT_EQ(cli::flow_tree(diamond(), view, 3),
              "    ▶ a  2.5 s\n"
              "    ✘ b  failed: exit code 1\n"
              "  … 3 more\n");
    EXPECT_EQ(cli::flow_bar(diamond(), view),
              "build ━━━━━━━━━···············  2/5 done, 1 running, 1 failed, 3.5 s\n");
}

TEST(FlowTree, LinesFitTheWindow) {
    cli::View view{{}, now + 3'500};
    view.terminal.columns = 20;
    for (const std::string& text :
         {cli::flow_tree(diamond(), view, 0), cli::flow_bar(diamond(), view)}) {
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;) {
            std::size_t columns = 0;
            for (std::size_t i = begin; i < end; ++i) {
                columns += (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U ? 0 : 1;
            }
            EXPECT_LT(columns, 30U) << text.substr(begin, end - begin);
            begin = end + 1;
        }
    }
}

TEST(FlowWorkerInputs, NamesAndValues) {
    EXPECT_EQ(cli::input_variable("greet.o"), "FF_INPUT_GREET_O");
    FlowInput a;
    a.name = "a";
    a.value = "{\"n\": 1}\n";
    FlowInput b;
    b.name = "b";
    b.value = "plain text\n";
    EXPECT_EQ(cli::inputs_document({a, b}), "{\"a\":{\"n\":1},\"b\":\"plain text\\n\"}");
}

}  // namespace
}  // namespace ff::test
