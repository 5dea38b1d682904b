// Commands about flows: run one from a file, look, change its course.
#include "cli/flow_run.h"
#include "cli/flow_show.h"
#include "cli/grammar.h"
#include "cli/watch.h"

namespace ff::cli {

namespace {

FF_WORD_ENUM(FlowStatus, active, completed, failed, cancelled)

struct FlowArgs {
    std::string flow;
    std::vector<std::string> flows;
    std::optional<DurationMs> every_ms;
    FlowFilter filter;
    GraphForm form = GraphForm::dot;
    FlowCancelOptions cancel;
    std::optional<std::string> from;
};
using Args = std::shared_ptr<FlowArgs>;

constexpr const char* flow_help = "The flow: its id, the last 6 digits or more of it, or its name";

void add_flow(CLI::App& app, std::string& flow) {
    app.add_option("flow", flow, flow_help)->required()->type_name("FLOW");
}
void add_flow_list(CLI::App& app, std::vector<std::string>& flows) {
    app.add_option("flow", flows, "Flows: ids, the last 6 digits or more of them, or names")
        ->required()
        ->type_name("FLOW");
}

/// The connection, with a short way to name a store.
void add_common_and_db(CLI::App& app, const Common& common) {
    add_common(app, common);
    app.add_option("--db", common->connect.connect, "A store, as --connect takes it")
        ->type_name("STORE")
        ->group("Connection")
        ->excludes(app.get_option("--connect"))
        ->excludes(app.get_option("--profile"));
}

void add_run(CLI::App& flow, Action& action, const Common& common) {
    auto o = std::make_shared<FlowRunOptions>();
    CLI::App& c = add_command(
        flow, "run", "Run the flow of a file, and show how it goes",
        "  ff flow run build.toml\n"
        "  ff flow run build.toml --jobs 8 --var target=release\n"
        "  ff flow run build.toml --resume            # go on after Ctrl-C or a failure\n"
        "  ff flow run deploy.toml --connect http://127.0.0.1:9090 --no-wait\n"
        "The file is TOML or JSON; docs/flows.md has every key. Runs are kept in .ff/NAME.db\n"
        "beside the file unless --db, --connect or --profile names another store.\n"
        "Exit code 0: the flow completed. 1: it did not. 2: the file is not right.");
    c.add_option("file", o->file, "The file: FLOW.toml or FLOW.json")
        ->required()
        ->type_name("FILE");
    add_number(c, "--jobs", o->jobs, Range{1U, 1'000U}, "Commands at a time",
               "one for each processor");
    c.add_flag_callback("--no-wait", [o] { o->wait = false; }, "Submit it and end; prints its id");
    add_text(c, "--resume", o->resume, "[FLOW]",
             "Go on with the newest unfinished run, or this one; retry what failed");
    add_texts(c, "--var", o->variables, "NAME=VALUE", "Stands for ${NAME} in the file's texts");
    add_common(c, common);
    add_text(c, "--db", o->db, "STORE", "Keep the run in this store (default .ff/NAME.db)")
        .group("Connection")
        ->excludes(c.get_option("--connect"))
        ->excludes(c.get_option("--profile"));
    on_command(c, action, [common, o] { return run_flow(*common, *o); });
}

void add_list(CLI::App& flow, Action& action, const Common& common, const Args& args) {
    CLI::App& c = add_command(flow, "ls", "List flows, newest first",
                              "  ff flow ls --db .ff/build.db\n"
                              "  ff flow ls --status failed -o json\n"
                              "  ff flow ls --watch");
    add_text(c, "--ns", args->filter.ns, "NS", "Of this namespace");
    add_text(c, "--name", args->filter.name, "NAME", "Of this name");
    const auto take = [args](const std::string& word) { args->filter.status = word; };
    c.add_option_function<std::string>("--status", take, "That are this")
        ->check(quiet(CLI::IsMember(words<FlowStatus>())))
        ->type_name(joined(words<FlowStatus>(), "|"));
    add_number(c, "--limit", args->filter.limit, Range{1, 10'000}, "How many at most", "50");
    add_watch(c, args->every_ms);
    add_common_and_db(c, common);
    on_command(c, action, [common, args] {
        return print_or_watch(*common, args->every_ms, "ff flow ls", [&](const Session& session) {
            return show_flows(session, args->filter);
        });
    });
}

void add_looks(CLI::App& flow, Action& action, const Common& common, const Args& args) {
    CLI::App& show = add_command(flow, "show", "Everything about a flow, its nodes as a tree",
                                 "  ff flow show build --db .ff/build.db\n"
                                 "  ff flow show 5f6071 --watch\n"
                                 "  ff flow show 5f6071 -o json | jq -r '.nodes[].node'");
    add_flow(show, args->flow);
    add_watch(show, args->every_ms);
    add_common_and_db(show, common);
    on_command(show, action, [common, args] {
        return print_or_watch(
            *common, args->every_ms, "ff flow show " + args->flow,
            [&](const Session& session) { return show_flow(session, args->flow); });
    });
    CLI::App& graph = add_command(flow, "graph", "A flow drawn for Graphviz or Mermaid",
                                  "  ff flow graph 5f6071 | dot -Tsvg > flow.svg\n"
                                  "  ff flow graph 5f6071 --format mermaid");
    add_flow(graph, args->flow);
    add_word(graph, "--format", args->form, "How it is drawn (default dot)");
    add_common_and_db(graph, common);
    on_command(graph, action, [common, args] {
        return print_from(*common, [&](const Session& session) {
            return show_flow_graph(session, args->flow, args->form);
        });
    });
}

void add_hold(CLI::App& flow, Action& action, const Common& common, const Args& args,
              const std::string& name, const std::string& help, Hold hold) {
    CLI::App& c = add_command(flow, name, help, "  ff flow " + name + " 5f6071");
    add_flow_list(c, args->flows);
    add_common_and_db(c, common);
    on_command(c, action, [common, args, hold] { return hold_flows(*common, args->flows, hold); });
}

void add_changes(CLI::App& flow, Action& action, const Common& common, const Args& args) {
    args->cancel.reason = "cancelled by an operator";
    CLI::App& cancel = add_command(flow, "cancel", "End flows that are not done",
                                   "  ff flow cancel 5f6071 --reason 'wrong branch'\n"
                                   "  ff flow cancel 5f6071 --policy cancel_pending   # what runs "
                                   "may finish");
    add_flow_list(cancel, args->flows);
    add_text(cancel, "--reason", args->cancel.reason, "TEXT", "Why, for those who read it later");
    add_word(cancel, "--policy", args->cancel.policy,
             "What happens to its executions (default cancel_all)");
    add_common_and_db(cancel, common);
    on_command(cancel, action,
               [common, args] { return cancel_flows(*common, args->flows, args->cancel); });

    CLI::App& retry = add_command(flow, "retry", "Run again what failed, and what was skipped",
                                  "  ff flow retry 5f6071\n"
                                  "  ff flow retry 5f6071 --from compile");
    add_flow(retry, args->flow);
    add_text(retry, "--from", args->from, "NODE", "Only this node and what hangs on it");
    add_common_and_db(retry, common);
    on_command(retry, action,
               [common, args] { return retry_flow(*common, args->flow, args->from); });
    add_hold(flow, action, common, args, "pause", "Begin no more of its nodes", Hold::held);
    add_hold(flow, action, common, args, "resume", "Let it go on", Hold::released);
}

}  // namespace

void add_flow_commands(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<FlowArgs>();
    CLI::App& flow = add_command(app, "flow", "Graphs of work: run a file, list, show, change",
                                 "  ff flow run build.toml\n"
                                 "  ff flow show build --db .ff/build.db\n"
                                 "  ff flow retry 5f6071");
    flow.group("Flows");
    flow.require_subcommand(1);
    add_run(flow, action, common);
    add_list(flow, action, common, args);
    add_looks(flow, action, common, args);
    add_changes(flow, action, common, args);
}

}  // namespace ff::cli
