// Commands about a store itself: see it work, check it, measure it, take it elsewhere, look into
// it.
#include "cli/bench.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/grammar.h"
#include "cli/inspect.h"
#include "cli/result.h"
#include "cli/transfer.h"

namespace ff::cli {

namespace {

constexpr const char* store_group = "Stores";

void add_store(CLI::App& app, std::string& db) {
    app.add_option("--db", db, "The store: a file, or postgres://…")
        ->required()
        ->type_name("STORE");
}

void add_demo(CLI::App& app, Action& action) {
    auto options = std::make_shared<DemoOptions>();
    CLI::App& demo = add_command(
        app, "demo", "Run a small workload and watch it",
        "  ff demo                               # 1,000 jobs on 4 workers, about 6 seconds\n"
        "  ff demo --jobs 20000 --workers 16\n"
        "  ff demo --db demo.db                  # keeps the store: ff inspect --db demo.db ls\n"
        "In a terminal the store stays open after the last job, for a look into it, until "
        "Ctrl-C.");
    demo.group(store_group);
    demo.add_option("--db", options->db, "A file to make (default: a temporary one)")
        ->type_name("FILE");
    add_number(demo, "--jobs", options->jobs, Range{DemoOptions::jobs_min, 1'000'000},
               "Executions to submit", "1,000");
    add_number(demo, "--workers", options->workers, Range{1, DemoOptions::workers_max},
               "Workers, each one job at a time", "4");
    add_number(demo, "--seconds", options->seconds, Range{0.5, 3'600.0},
               "Time over which the jobs come in", "5")
        .type_name("S");
    demo.add_flag("--keep", options->keep, "Keep the temporary store; a named one is always kept");
    demo.callback([&action, options] { action = [options] { return run_demo(*options); }; });
}

void add_doctor(CLI::App& app, Action& action) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App& doctor = add_command(app, "doctor", "Check that a store is sound",
                                   "  ff doctor --db app.db          # may run beside its owner\n"
                                   "  ff doctor --db app.db --quick -o json\n"
                                   "  ff doctor --db postgres://user@host/database");
    doctor.group(store_group);
    add_store(doctor, options->db);
    doctor.add_flag("--quick", options->quick, "SQLite's quick check instead of the full one");
    add_output(doctor, options->output);
    doctor.callback([&action, options] { action = [options] { return run_doctor(*options); }; });
}

void add_export(CLI::App& app, Action& action) {
    auto options = std::make_shared<ExportOptions>();
    CLI::App& command = add_command(
        app, "export", "Write everything in a store as JSON lines",
        "  ff export --db app.db --out app.jsonl\n"
        "  ff export --db app.db | gzip > app.jsonl.gz\n"
        "  ff export --db app.db | ff import --db postgres://user@host/database -\n"
        "The store may be in use: the export is of one moment. What is written meanwhile makes a\n"
        "file's log longer, and keeps dead rows in a PostgreSQL database.\n"
        "Waitpoint tokens and the secrets behind them are in it: guard it like the store.");
    command.group(store_group);
    add_store(command, options->db);
    command.add_option("--out", options->out, "A file to make (default -, standard output)")
        ->type_name("FILE");
    command.add_flag("--force", options->force, "Replace the file if it exists");
    add_output(command, options->output,
               "The summary: for people (default) or for programs. Goes to standard error when the "
               "export itself goes to standard output");
    command.callback([&action, options] { action = [options] { return run_export(*options); }; });
}

void add_import(CLI::App& app, Action& action) {
    auto options = std::make_shared<ImportOptions>();
    CLI::App& command =
        add_command(app, "import", "Fill an empty store with an export",
                    "  ff import --db new.db app.jsonl\n"
                    "  gunzip < app.jsonl.gz | ff import --db new.db -\n"
                    "The store is made if it is missing, and must be empty; a file must not be in "
                    "use, a\nPostgreSQL database must exist. Everything is checked first; a file "
                    "that is not right\nchanges nothing.");
    command.group(store_group);
    add_store(command, options->db);
    command.add_option("file", options->file, "The export; - is standard input")
        ->required()
        ->type_name("FILE");
    command.add_flag("--unsound", options->unsound,
                     "Take executions that break an invariant as they are");
    add_output(command, options->output);
    command.callback([&action, options] { action = [options] { return run_import(*options); }; });
}

void add_backup(CLI::App& app, Action& action) {
    auto options = std::make_shared<BackupOptions>();
    CLI::App& command = add_command(
        app, "backup", "Copy a SQLite store while its engine runs",
        "  ff backup --db app.db --to backups/app-monday.db\n"
        "  ff backup --db app.db --to latest.db --force -o json\n"
        "The copy is of one moment, is checked, and opens as a store. Of a PostgreSQL database "
        "pg_dump\nmakes a backup, ff export a copy that any store can import.");
    command.group(store_group);
    add_store(command, options->db);
    command.add_option("--to", options->to, "The copy's file")->required()->type_name("FILE");
    command.add_flag("--force", options->force, "Replace the file if it exists");
    command.add_flag("--quick", options->quick, "SQLite's quick check instead of the full one");
    add_output(command, options->output);
    command.callback([&action, options] { action = [options] { return run_backup(*options); }; });
}

void add_bench(CLI::App& app, Action& action) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App& bench = add_command(
        app, "bench", "Measure this machine and this engine",
        "  ff bench                              # everything; growth takes minutes and gigabytes\n"
        "  ff bench lifecycle --db /data/bench   # on the disk that matters\n"
        "  ff bench lifecycle --workers 16,64 -o json\n"
        "  ff bench --store postgres --url postgresql:///postgres   # in databases of its own\n"
        "  ff bench http                         # a server in another process, on loopback\n"
        "  ff bench --connect http://127.0.0.1:9090\n"
        "  ff bench growth --svg plots");
    bench.group(store_group);
    add_word(bench, "suite", options->suite, "What to measure (default all)");
    add_word(bench, "--store", options->store, "Where executions are kept (default sqlite)");
    bench.add_option("--db", options->folder, "Folder for the files (default: a temporary one)")
        ->type_name("DIR");
    bench
        .add_option("--url", options->url,
                    "A PostgreSQL server whose user may create databases\n"
                    "(default: $FF_BENCH_POSTGRES, $FF_TEST_POSTGRES)")
        ->type_name("URL");
    bench
        .add_option_function<std::string>(
            "--connect",
            [options](const std::string& url) {
                options->connect = url;
                options->suite = BenchSuite::http;
            },
            "Drive this server (suite http) instead of starting one")
        ->type_name("URL");
    add_number(bench, "--workers", options->workers, Range{1, 1'024},
               "Workers of claim_complete_<n>", "16,64")
        .delimiter(',')
        ->type_name("N,N");
    add_number(bench, "--backlog", options->backlog, Range{100, 10'000'000},
               "Executions in a phase", "20,000");
    bench.add_flag("--quick", options->quick, "Small sizes, to see that it works");
    bench.add_option("--svg", options->svg, "Folder for plots of growth")->type_name("DIR");
    add_output(bench, options->output,
               "For people (default) or for programs: json is one JSON object a line");
    bench.callback([&action, options] { action = [options] { return run_bench(*options); }; });
}

// ---------------------------------------------------------------------------------------- inspect

struct InspectArgs {
    InspectOptions options;
    ListFilter filter;
    std::string id;
    bool all_leases = false;

    /// The same command on the store, which is only looked at.
    [[nodiscard]] CommonOptions common() const {
        return {{options.db, std::nullopt}, options.output};
    }
};
using Inspect = std::shared_ptr<InspectArgs>;

/// Where the store is said before or after the subcommand, so that neither place can require it.
void add_store_and_output(CLI::App& app, const Inspect& args) {
    add_text(app, "--db", args->options.db, "STORE", "The store: a file, or postgres://…");
    add_output(app, args->options.output);
}

ExitCode inspect_with(const InspectArgs& args, const std::function<ExitCode()>& run) {
    if (args.options.db.empty()) {
        complain("--db is required; see ff inspect --help");
        return ExitCode::usage;
    }
    if (Target{.address = args.options.db}.is_server()) {
        complain(
            "ff inspect looks into a store: --db FILE or postgres://…; of a server ask "
            "ff ls, ff get and so on");
        return ExitCode::usage;
    }
    return run();
}

using InspectShow = std::function<expected<std::string>(const Session&)>;

Action showing(const Inspect& args, const InspectShow& show) {
    return [args, show] {
        return inspect_with(*args, [&] { return print_from(args->common(), show); });
    };
}

using Say = std::function<expected<Said>(const Session&, const ExecutionId&)>;

Action saying(const Inspect& args, const Say& say) {
    return [args, say] {
        return inspect_with(
            *args, [&] { return for_each_id(args->common(), Access::look, {args->id}, say); });
    };
}

void add_inspect_list(CLI::App& inspect, const Inspect& args, Action& action) {
    CLI::App& list = add_command(inspect, "ls", "List executions, newest first",
                                 "  ff inspect --db app.db ls --state failed --lane email\n"
                                 "  ff inspect --db app.db ls --tag order.id=17 -o json");
    add_list_filter(list, args->filter);
    add_store_and_output(list, args);
    on_command(list, action, showing(args, [args](const Session& s) -> expected<std::string> {
                   FF_TRY(const SearchExecutions search, search_of(args->filter, s.view.now));
                   return show_executions(s, search);
               }));
}

void add_inspect_one(CLI::App& inspect, const Inspect& args, Action& action) {
    const auto add = [&](const std::string& name, const std::string& help, const Action& run) {
        CLI::App& command = add_command(
            inspect, name, help,
            "  ff inspect --db app.db " + name + " 0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071");
        add_id(command, args->id);
        add_store_and_output(command, args);
        on_command(command, action, run);
    };
    add("get", "Everything about one execution",
        saying(args, [](const Session& s, const ExecutionId& id) {
            return say_execution(s, id, Input::measured);
        }));
    add("why", "Why it is not running", saying(args, say_why));
    add("attempts", "Its attempts",
        showing(args, [args](const Session& s) { return show_attempts(s, args->id); }));
    add("history", "Its lease history",
        showing(args, [args](const Session& s) { return show_history(s, args->id); }));
    add("input", "The bytes it was given, raw",
        showing(args, [args](const Session& s) { return show_input(s, args->id); }));
    add("result", "The bytes it gave back, raw", [args] {
        return inspect_with(
            *args, [&] { return run_result(args->common(), {args->id, std::nullopt, false}); });
    });
}

void add_inspect(CLI::App& app, Action& action) {
    auto args = std::make_shared<InspectArgs>();
    CLI::App& inspect = add_command(
        app, "inspect", "Look into a store without a server",
        "  ff inspect --db app.db stats\n"
        "  ff inspect --db app.db ls --state waiting\n"
        "  ff inspect --db app.db why '{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071'\n"
        "  ff inspect --db app.db leases --all -o json\n"
        "An execution is named by its id, by the UUID in it, or by the last digits. The "
        "store may be in\nuse.");
    inspect.group(store_group);
    add_store_and_output(inspect, args);
    inspect.require_subcommand(1);
    add_inspect_list(inspect, args, action);
    add_inspect_one(inspect, args, action);
    const auto add = [&](const std::string& name, const std::string& help, const Action& run) {
        CLI::App& command = add_command(inspect, name, help, "  ff inspect --db app.db " + name);
        add_store_and_output(command, args);
        on_command(command, action, run);
    };
    add("lanes", "Lanes and their states", showing(args, show_lanes));
    add("workers", "Live registered workers",
        showing(args, [](const Session& s) { return show_workers(s, std::nullopt); }));
    add("stats", "Executions by lane and state",
        [args] { return inspect_with(*args, [&] { return inspect_stats(args->options); }); });
    CLI::App& leases = add_command(inspect, "leases", "Leases past their time",
                                   "  ff inspect --db app.db leases\n"
                                   "  ff inspect --db app.db leases --all");
    leases.add_flag("--all", args->all_leases, "Live ones too");
    add_store_and_output(leases, args);
    on_command(leases, action, [args] {
        return inspect_with(*args, [&] {
            return args->all_leases ? inspect_all_leases(args->options)
                                    : print_from(args->common(), show_expired_leases);
        });
    });
}

}  // namespace

void add_store_commands(CLI::App& app, Action& action) {
    add_inspect(app, action);
    add_doctor(app, action);
    add_backup(app, action);
    add_export(app, action);
    add_import(app, action);
    add_demo(app, action);
    add_bench(app, action);
}

}  // namespace ff::cli
