// The only unit that sees CLI11, which is slow to compile.
#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/inspect.h"
#include "cli/text.h"
#include "store/sqlite_db.h"

namespace ff::cli {

namespace {

/// What the parsed command line asks for.
using Action = std::function<ExitCode()>;

template <class E>
std::vector<std::string> words() {
    return {enum_names<E>.begin(), enum_names<E>.end()};
}

/// The check without its words in the help text, which says it better.
CLI::Validator quiet(const CLI::Validator& check) { return check.description(""); }

template <class E>
void add_word(CLI::App& app, const std::string& name, E& value, const std::string& help) {
    const auto take = [&value](const std::string& word) {
        if (const auto parsed = parse_enum<E>(word)) {
            value = *parsed;
        }
    };
    app.add_option_function<std::string>(name, take, help)
        ->check(quiet(CLI::IsMember(words<E>())))
        ->type_name(joined(words<E>(), "|"));
}

void add_output(CLI::App& app, Output& output) {
    add_word(app, "-o,--output", output, "For people (default) or for programs");
}

void add_db(CLI::App& app, std::string& db) {
    app.add_option("--db", db, "The store's file")->required()->type_name("FILE");
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      const std::string& examples) {
    CLI::App* command = parent.add_subcommand(name, help);
    if (!examples.empty()) {
        command->footer("Examples:\n" + examples);
    }
    return *command;
}

void add_demo(CLI::App& app, Action& action) {
    auto options = std::make_shared<DemoOptions>();
    CLI::App& demo = add_command(
        app, "demo", "Run a small workload and watch it",
        "  ff demo                               # 1,000 jobs on 4 workers, about 6 seconds\n"
        "  ff demo --jobs 20000 --workers 16\n"
        "  ff demo --db demo.db                  # keeps the store: ff inspect --db demo.db ls");
    demo.add_option("--db", options->db, "A file to make (default: a temporary one)")
        ->type_name("FILE");
    demo.add_option("--jobs", options->jobs, "Executions to submit (default 1,000)")
        ->check(quiet(CLI::Range(DemoOptions::jobs_min, 1'000'000)))
        ->type_name("N");
    demo.add_option("--workers", options->workers, "Workers, each one job at a time (default 4)")
        ->check(quiet(CLI::Range(1, DemoOptions::workers_max)))
        ->type_name("N");
    demo.add_option("--seconds", options->seconds, "Time over which the jobs come in (default 5)")
        ->check(quiet(CLI::Range(0.5, 3'600.0)))
        ->type_name("S");
    demo.add_flag("--keep", options->keep, "Leave the temporary store behind");
    demo.callback([&action, options] { action = [options] { return run_demo(*options); }; });
}

void add_doctor(CLI::App& app, Action& action) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App& doctor = add_command(app, "doctor", "Check that a store is sound",
                                   "  ff doctor --db app.db          # may run beside its owner\n"
                                   "  ff doctor --db app.db --quick -o json");
    add_db(doctor, options->db);
    doctor.add_flag("--quick", options->quick, "SQLite's quick check instead of the full one");
    add_output(doctor, options->output);
    doctor.callback([&action, options] { action = [options] { return run_doctor(*options); }; });
}

void add_bench(CLI::App& app, Action& action) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App& bench = add_command(
        app, "bench", "Measure this machine and this engine",
        "  ff bench                              # everything; growth takes minutes and gigabytes\n"
        "  ff bench lifecycle --db /data/bench   # on the disk that matters\n"
        "  ff bench lifecycle --workers 16,64 -o json\n"
        "  ff bench growth --svg plots");
    add_word(bench, "suite", options->suite, "What to measure (default all)");
    add_word(bench, "--store", options->store, "Where executions are kept (default sqlite)");
    bench.add_option("--db", options->folder, "Folder for the files (default: a temporary one)")
        ->type_name("DIR");
    bench
        .add_option("--workers", options->workers, "Workers of claim_complete_<n> (default 16,64)")
        ->delimiter(',')
        ->check(quiet(CLI::Range(1, 1'024)))
        ->type_name("N,N");
    bench.add_option("--backlog", options->backlog, "Executions in a phase (default 20,000)")
        ->check(quiet(CLI::Range(100, 10'000'000)))
        ->type_name("N");
    bench.add_flag("--quick", options->quick, "Small sizes, to see that it works");
    bench.add_option("--svg", options->svg, "Folder for plots of growth")->type_name("DIR");
    add_output(bench, options->output);
    bench.callback([&action, options] { action = [options] { return run_bench(*options); }; });
}

// ---------------------------------------------------------------------------------------- inspect

struct InspectArgs {
    InspectOptions common;
    ListOptions list;
    bool all_leases = false;
};

using InspectFn = ExitCode (*)(const InspectOptions&);

void add_inspect_list(CLI::App& inspect, const std::shared_ptr<InspectArgs>& args, Action& action) {
    CLI::App& list = add_command(inspect, "ls", "List executions, newest first",
                                 "  ff inspect --db app.db ls --state failed --lane email\n"
                                 "  ff inspect --db app.db ls --tag order.id=17 -o json");
    ListOptions& filter = args->list;
    list.add_option("--lane", filter.lane, "Of this lane")->type_name("LANE");
    list.add_option("--state", filter.state, "In this state: " + joined(words<PublicState>()))
        ->check(quiet(CLI::IsMember(words<PublicState>())))
        ->type_name("STATE");
    list.add_option("--ns", filter.ns, "Of this namespace")->type_name("NS");
    list.add_option("--kind", filter.kind, "Of this kind")->type_name("KIND");
    list.add_option("--tag", filter.tag, "With this tag")->type_name("KEY=VALUE");
    list.add_option("--limit", filter.limit, "How many at most (default 50)")
        ->check(quiet(CLI::Range(1, 1'000)))
        ->type_name("N");
    list.add_option("--cursor", filter.cursor, "Continue where a list ended")->type_name("CURSOR");
    list.callback(
        [&action, args] { action = [args] { return inspect_list(args->common, args->list); }; });
}

void add_inspect(CLI::App& app, Action& action) {
    auto args = std::make_shared<InspectArgs>();
    CLI::App& inspect =
        add_command(app, "inspect", "Look into a store without a server",
                    "  ff inspect --db app.db stats\n"
                    "  ff inspect --db app.db ls --state waiting\n"
                    "  ff inspect --db app.db why '{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071'\n"
                    "  ff inspect --db app.db leases --all -o json\n"
                    "An execution is named by its id or by the UUID in it. The store may be in "
                    "use.");
    add_db(inspect, args->common.db);
    add_output(inspect, args->common.output);
    inspect.require_subcommand(1);
    inspect.fallthrough();  // --db and -o may come after the subcommand too
    add_inspect_list(inspect, args, action);
    const auto add_one = [&](const std::string& name, const std::string& help, InspectFn run) {
        CLI::App& command = add_command(inspect, name, help,
                                        "  ff inspect --db app.db " + name +
                                            " 0190b5a2-7c3e-7d4f-8a1b-"
                                            "2c3d4e5f6071");
        command.add_option("id", args->common.id, "The execution")->required()->type_name("ID");
        command.callback(
            [&action, args, run] { action = [args, run] { return run(args->common); }; });
    };
    add_one("get", "Everything about one execution", &inspect_get);
    add_one("why", "Why it is not running", &inspect_why);
    add_one("attempts", "Its attempts", &inspect_attempts);
    add_one("history", "Its lease history", &inspect_history);
    add_one("input", "The bytes it was given, raw", &inspect_input);
    add_one("result", "The bytes it gave back, raw", &inspect_result);
    const auto add_all = [&](const std::string& name, const std::string& help, InspectFn run) {
        add_command(inspect, name, help, "  ff inspect --db app.db " + name)
            .callback([&action, args, run] { action = [args, run] { return run(args->common); }; });
    };
    add_all("lanes", "Lanes and their states", &inspect_lanes);
    add_all("workers", "Live registered workers", &inspect_workers);
    add_all("stats", "Executions by lane and state", &inspect_stats);
    CLI::App& leases = add_command(inspect, "leases", "Leases past their time",
                                   "  ff inspect --db app.db leases\n"
                                   "  ff inspect --db app.db leases --all");
    leases.add_flag("--all", args->all_leases, "Live ones too");
    leases.callback([&action, args] {
        action = [args] {
            return inspect_leases(args->common,
                                  args->all_leases ? LeaseFilter::all : LeaseFilter::expired);
        };
    });
}

std::string version_text() {
    return fmt::format("ff {} (SQLite {})", FF_VERSION, store::sqlite_version());
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv) {
    CLI::App app("FlowFabric: durable execution in one program and one file.", "ff");
    Action action;
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  ff demo                               # see it work\n"
        "  ff inspect --db app.db ls             # what is in a store\n"
        "  ff doctor --db app.db                 # is it sound\n"
        "  ff bench                              # how fast is it here\n"
        "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict.");
    add_demo(app, action);
    add_doctor(app, action);
    add_inspect(app, action);
    add_bench(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
        app.exit(asked);  // help or version, on stdout
        return ExitCode::ok;
    } catch (const CLI::ParseError& error) {
        complain(error.what());
        complain("see ff --help, or --help after a command");
        return ExitCode::usage;
    }
    return action ? action() : ExitCode::usage;
}

}  // namespace ff::cli
