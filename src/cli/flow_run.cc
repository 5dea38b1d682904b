#include "cli/flow_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <ff/clock.h>

#include "cli/bytes_file.h"
#include "cli/flow_file.h"
#include "cli/flow_follow.h"
#include "cli/flow_show.h"
#include "cli/flow_tree.h"
#include "cli/flow_worker.h"
#include "cli/inspect_json.h"
#include "cli/interrupt.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

namespace fs = std::filesystem;

// Tags of a flow that came from a file.
constexpr const char* name_tag = "flow.name";
constexpr const char* file_tag = "flow.file";
constexpr const char* variables_tag = "flow.vars";
constexpr std::size_t variables_bytes_max = 4'096;  // of a tag
constexpr std::size_t file_tag_bytes_max = 4'096;

constexpr std::chrono::milliseconds look_every{100};
constexpr std::chrono::milliseconds look_every_remote{400};

/// A fault of the file begins with its place, as editors and other tools expect it.
ExitCode complain_of_file(const Error& error) {
    if (error.code != ErrorCode::invalid_config) {
        return complain(error);
    }
    fmt::print(stderr, "{}\n", printable(error.detail));
    return ExitCode::usage;
}

expected<Variables> parse_variables(const std::vector<std::string>& words) {
    Variables out;
    for (const std::string& word : words) {
        const std::size_t split = word.find('=');
        if (split == std::string::npos || split == 0) {
            return ff::fail(ErrorCode::invalid_input,
                            "--var is given as NAME=VALUE, not as " + word);
        }
        out[word.substr(0, split)] = word.substr(split + 1);
    }
    return out;
}

std::string variables_text(const Variables& variables) {
    js::Object object;
    for (const auto& [name, value] : variables) {
        object.emplace_back(name, value);
    }
    return js::dump(object);
}

Variables variables_of(const FlowSnapshot& flow) {
    Variables out;
    const auto tag = flow.tags.find(variables_tag);
    const auto value = tag != flow.tags.end() ? js::parse(tag->second) : js::Value();
    if (value && value->if_object() != nullptr) {
        for (const auto& [name, text] : *value->if_object()) {
            out[name] = text.if_string() != nullptr ? *text.if_string() : "";
        }
    }
    return out;
}

std::string tag_of(const FlowSnapshot& flow, const char* key) {
    const auto tag = flow.tags.find(key);
    return tag != flow.tags.end() ? tag->second : "";
}

/// Made with a note for git: what is in there belongs to one machine.
expected<void> make_folder(const fs::path& folder) {
    std::error_code fault;
    if (fs::exists(folder, fault)) {
        return {};
    }
    if (!fs::create_directories(folder, fault)) {
        return ff::fail(ErrorCode::store_io,
                        fmt::format("cannot make {} for the store ({}); name another with --db",
                                    folder.string(), fault.message()));
    }
    std::ofstream(folder / ".gitignore") << "*\n";
    return {};
}

// ------------------------------------------------------------------------------------------- a run

class Run {
  public:
    Run(const CommonOptions& common, const FlowRunOptions& options)
        : common_(common), options_(options) {}

    ExitCode go() {
        if (const auto read = read_file(); !read) {
            return complain_of_file(read.error());
        }
        if (const auto ready = options_.resume ? prepare_again() : prepare_new(); !ready) {
            return complain_of_file(ready.error());
        }
        if (!options_.wait) {
            return leave();
        }
        return follow();
    }

  private:
    [[nodiscard]] bool resumes_newest() const { return options_.resume == newest_run; }

    // ------------------------------------------------------------------------------- reading

    expected<void> read_file() {
        FF_TRY(given_, parse_variables(options_.variables));
        FF_TRY(const std::string text, read_bytes(options_.file));
        FF_TRY(doc_, parse_doc(text, options_.file));
        FF_TRY(name_, flow_name(doc_, options_.file));
        return choose_store();
    }

    expected<void> choose_store() {
        const bool named = common_.connect.connect || common_.connect.profile;
        ConnectOptions connect = common_.connect;
        if (options_.db) {
            connect.connect = options_.db;
        } else if (!named) {
            connect.connect = "sqlite:" + own_store(options_.file, name_);
        }
        own_ = !options_.db && !named;
        FF_TRY(target_, choose_target(connect));
        return {};
    }

    expected<void> open() {
        if (own_ && !options_.resume) {
            FF_TRY_VOID(make_folder(fs::path(own_store(options_.file, name_)).parent_path()));
        }
        if (options_.resume && target_.is_file()) {
            FF_TRY_VOID(open_engine(target_, Access::look));  // one that is missing is not made
        }
        auto engine = open_engine(target_, Access::work);
        if (!engine && engine.error().code == ErrorCode::store_in_use) {
            const std::string& detail = engine.error().detail;
            return ff::fail(ErrorCode::store_in_use,
                            detail.substr(0, detail.find(';')) +
                                "; if that is another run, wait for it or give this one a store of "
                                "its own with --db");
        }
        FF_TRY(session_.engine, std::move(engine));
        session_.output = common_.output;
        session_.view = {Terminal::output(), SystemClock().now()};
        return {};
    }

    expected<void> read_flow_as(const FlowId& id, Variables kept) {
        FlowTerms terms;
        terms.file = options_.file;
        terms.flow_id = id;
        terms.given = given_;
        terms.kept = std::move(kept);
        terms.now = session_.engine ? session_.engine->now() : SystemClock().now();
        FF_TRY(file_, read_flow(doc_, terms));
        if (variables_text(file_.variables).size() > variables_bytes_max) {
            return fault_at(options_.file, {},
                            fmt::format("the values of its variables are too long to be kept with "
                                        "the run (more than {} bytes)",
                                        variables_bytes_max));
        }
        return check_somebody_works();
    }

    /// A file belongs to one process at a time: nobody else would run what has no command.
    expected<void> check_somebody_works() const {
        if (!options_.wait || !target_.is_file()) {
            return {};
        }
        for (const FlowNode& node : file_.submit.nodes) {
            if (!file_.commands.contains(node.name)) {
                return fault_at(options_.file, file_.places.at(node.name),
                                fmt::format("node {} has no command, and no worker can reach {}; "
                                            "give it one, or --connect to a server with workers "
                                            "for {}",
                                            printable(node.name), target_.shown(),
                                            printable(node.execution.execution_kind)));
            }
        }
        return {};
    }

    // ------------------------------------------------------------------------- a run that is new

    expected<void> prepare_new() {
        const FlowId id{new_uuid()};
        FF_TRY_VOID(read_flow_as(id, {}));
        FF_TRY_VOID(open());
        tell_of_unfinished();
        SubmitFlow submit = file_.submit;
        const std::string path = fs::absolute(options_.file).lexically_normal().string();
        submit.tags = {{name_tag, name_}, {variables_tag, variables_text(file_.variables)}};
        if (path.size() <= file_tag_bytes_max) {
            submit.tags[file_tag] = path;
        }
        FF_TRY(const SubmitFlowResult made, session_.ask(std::move(submit)));
        flow_id_ = made.flow_id;
        nodes_ = made.nodes;
        return {};
    }

    /// Somebody who forgot --resume should know; what was begun stays where it is.
    void tell_of_unfinished() {
        FlowFilter filter;
        filter.name = name_;
        filter.ns = file_.submit.ns;
        filter.status = "active";
        filter.limit = 1;
        const auto found = own_ ? find_flows(session_, filter) : std::vector<FlowListItem>();
        if (found && !found->empty()) {
            complain(
                fmt::format("an earlier run, {}, has not ended; this one is new, --resume "
                            "would go on with that one",
                            found->front().flow_id.to_string()));
        }
    }

    // ---------------------------------------------------------------------- a run that goes on

    expected<void> prepare_again() {
        FF_TRY_VOID(open());
        FF_TRY(flow_id_, resumes_newest() ? newest() : find_flow(session_, *options_.resume));
        FF_TRY(const FlowGraph graph, session_.ask(ReadFlowGraph{flow_id_}));
        const FlowState state = graph.flow.public_flow_state;
        if (state == FlowState::cancelled) {
            return ff::fail(ErrorCode::flow_already_terminal,
                            fmt::format("run {} was cancelled; begin a new one without --resume",
                                        flow_id_.to_string()));
        }
        if (tag_of(graph.flow, name_tag) != name_) {
            return ff::fail(
                ErrorCode::flow_already_terminal,
                fmt::format("flow {} is not a run of {} from a file", flow_id_.to_string(), name_));
        }
        FF_TRY_VOID(read_flow_as(flow_id_, variables_of(graph.flow)));
        FF_TRY_VOID(match_nodes(graph));
        return set_going(graph);
    }

    /// The newest run of this file that is not done.
    expected<FlowId> newest() {
        FlowFilter filter;
        filter.name = name_;
        filter.limit = 100;
        FF_TRY(const auto flows, find_flows(session_, filter));
        const std::string path = fs::absolute(options_.file).lexically_normal().string();
        for (const FlowListItem& item : flows) {
            if (item.status != "active" && item.status != "failed") {
                continue;
            }
            FF_TRY(const auto flow, session_.ask(DescribeFlow{item.flow_id}));
            // Elsewhere others may have files whose flows have the same name.
            const bool ours = flow && tag_of(*flow, name_tag) == name_ &&
                              (own_ || tag_of(*flow, file_tag) == path);
            if (ours) {
                return item.flow_id;
            }
        }
        return ff::fail(ErrorCode::flow_not_found,
                        fmt::format("no run of {} in {} is unfinished", name_, target_.shown()));
    }

    /// The graph is that of the run; what the nodes do is read from the file again.
    expected<void> match_nodes(const FlowGraph& graph) {
        for (const GraphNode& node : graph.nodes) {
            nodes_.emplace(node.node, node.execution_id);
            if (!node.node.empty() && !file_.places.contains(node.node)) {
                return fault_at(options_.file, {},
                                fmt::format("the run has a node {} that the file has no more; put "
                                            "it back, or begin a new run without --resume",
                                            printable(node.node)));
            }
        }
        for (const auto& [name, place] : file_.places) {
            if (!nodes_.contains(name)) {
                return fault_at(options_.file, place,
                                fmt::format("node {} is not part of the run; take it out, or begin "
                                            "a new run without --resume",
                                            printable(name)));
            }
        }
        return {};
    }

    expected<void> set_going(const FlowGraph& graph) {
        if (graph.flow.paused) {
            FF_TRY_VOID(session_.ask(ResumeFlow{flow_id_}));
        }
        bool failed = false;
        for (const GraphNode& node : graph.nodes) {
            failed = failed || node.public_state == PublicState::failed ||
                     node.public_state == PublicState::expired;
            // The file was free, so whoever ran this is gone.
            if (target_.is_file() && node.public_state == PublicState::active) {
                RevokeLease revoke;
                revoke.execution_id = node.execution_id;
                revoke.reason = "the run is resumed";
                FF_TRY_VOID(session_.ask(std::move(revoke)));
            }
        }
        if (failed || graph.flow.public_flow_state == FlowState::failed) {
            RetryFlow retry;
            retry.flow_id = flow_id_;
            FF_TRY_VOID(session_.ask(std::move(retry)));
        }
        return {};
    }

    // ---------------------------------------------------------------------------------- the end

    /// `--db …` or `--connect …`, for lines that people copy.
    [[nodiscard]] std::string way() const {
        if (own_) {
            return " --db " + fs::path(own_store(options_.file, name_)).lexically_normal().string();
        }
        if (options_.db) {
            return " --db " + without_password(*options_.db);
        }
        return common_.connect.profile ? " --profile " + *common_.connect.profile
                                       : " --connect " + target_.shown();
    }
    [[nodiscard]] std::string resume_line() const {
        return fmt::format("ff flow run {}{} --resume {}", options_.file, own_ ? "" : way(),
                           flow_id_.to_string());
    }

    ExitCode leave() {
        if (for_programs(common_.output)) {
            js::Object nodes;
            for (const auto& [name, id] : nodes_) {
                nodes.emplace_back(name, id.to_string());
            }
            print_out(document(common_.output, js::Object{{"flow_id", flow_id_.to_string()},
                                                          {"nodes", std::move(nodes)}}));
        } else {
            print_out(flow_id_.to_string() + "\n");
        }
        if (!file_.commands.empty()) {
            complain("its commands run when somebody goes on with it: " + resume_line());
        }
        return ExitCode::ok;
    }

    ExitCode follow() {
        const InterruptGuard guard;
        const bool live = session_.view.terminal.interactive && !for_programs(common_.output);
        FlowWorkerOptions how;
        how.jobs =
            options_.jobs > 0 ? options_.jobs : std::max(1U, std::thread::hardware_concurrency());
        how.errors =
            live && Terminal::errors().interactive ? ExecErrors::kept_only : ExecErrors::passed_on;
        std::optional<FlowWorker> worker;
        if (!file_.commands.empty()) {
            worker.emplace(session_.engine, file_, nodes_, how);
            if (const auto started = worker->start(); !started) {
                return complain(started.error());
            }
        }
        const auto graph =
            follow_flow(session_, flow_id_, target_.is_server() ? look_every_remote : look_every);
        if (worker) {
            const auto stopped = worker->stop();
            if (!stopped) {
                complain(stopped.error());
            }
        }
        if (!graph) {
            complain(graph.error());
            complain("go on with: " + resume_line());
            return exit_code_of(graph.error());
        }
        return tell_end(*graph);
    }

    ExitCode tell_end(const FlowGraph& graph) {
        const bool ended = graph.flow.public_flow_state != FlowState::open;
        if (for_programs(common_.output)) {
            print_out(document(common_.output, common_.output == Output::jsonl ? as_json(graph.flow)
                                                                               : as_json(graph)));
        } else if (ended) {
            print_out(flow_summary(graph, {Terminal::output(), SystemClock().now()}));
        }
        if (!ended) {
            complain("interrupted; what ran was given back. Go on with: " + resume_line());
        } else if (graph.flow.public_flow_state == FlowState::failed) {
            complain(fmt::format("look with: ff flow show {}{}; try what failed again with: {}",
                                 flow_id_.to_string(), way(), resume_line()));
        }
        return graph.flow.public_flow_state == FlowState::completed ? ExitCode::ok
                                                                    : ExitCode::failed;
    }

    const CommonOptions& common_;
    const FlowRunOptions& options_;
    Variables given_;
    Doc doc_;
    std::string name_;
    Target target_;
    bool own_ = false;  ///< the store is the one beside the file
    FlowFile file_;
    Session session_;
    FlowId flow_id_;
    std::map<std::string, ExecutionId> nodes_;
};

}  // namespace

std::string own_store(const std::string& file, const std::string& name) {
    return (fs::path(file).parent_path() / ".ff" / (name + ".db")).string();
}

ExitCode run_flow(const CommonOptions& common, const FlowRunOptions& options) {
    return Run(common, options).go();
}

}  // namespace ff::cli
