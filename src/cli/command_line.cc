// The only unit that sees CLI11, which is slow to compile.
#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/inspect.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/transfer.h"
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

void add_output(CLI::App& app, Output& output,
                const std::string& help = "For people (default) or for programs") {
    add_word(app, "-o,--output", output, help);
}

/// `1,000`, `0.5`.
template <class N>
std::string number_text(N value) {
    if constexpr (std::floating_point<N>) {
        if (value != std::floor(value)) {
            return fmt::format("{}", value);
        }
    }
    return with_commas(static_cast<std::uint64_t>(value));
}

template <class N>
struct Range {
    N low;
    N high;

    [[nodiscard]] std::string text() const {
        return fmt::format("{} to {}", number_text(low), number_text(high));
    }
};

template <class N>
bool parses_as(const std::string& text, N& value, std::errc& fault) {
    const char* end = text.data() + text.size();
    const auto [at, code] = std::from_chars(text.data(), end, value);
    fault = code;
    return at == end && !text.empty() && code != std::errc::invalid_argument;
}

/// What is wrong with a number, or nothing.
template <class N>
std::string fault_of_number(const std::string& text, Range<N> range) {
    N value{};
    double any{};
    std::errc fault{};
    if (!parses_as(text, value, fault)) {
        return parses_as(text, any, fault) ? text + " is not a whole number"
                                           : text + " is not a number";
    }
    const bool inside = fault == std::errc{} && value >= range.low && value <= range.high;
    return inside ? "" : fmt::format("{} is not in the range {}", text, range.text());
}

/// An option that takes a number, or a list of numbers; the help names its limits.
template <class T, class N>
CLI::Option& add_number(CLI::App& app, const std::string& name, T& value, Range<N> range,
                        const std::string& help, const std::string& usual) {
    CLI::Option* option =
        app.add_option(name, value, fmt::format("{} ({}; default {})", help, range.text(), usual));
    option->check(
        CLI::Validator([range](std::string& text) { return fault_of_number(text, range); }, ""));
    option->type_name("N");
    return *option;
}

void add_store(CLI::App& app, std::string& db) {
    app.add_option("--db", db, "The store: a file, or postgres://…")
        ->required()
        ->type_name("STORE");
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
        "  ff demo --db demo.db                  # keeps the store: ff inspect --db demo.db ls\n"
        "In a terminal the store stays open after the last job, for a look into it, until "
        "Ctrl-C.");
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
        "file's log longer, and keeps dead rows in a PostgreSQL database.");
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
        "  ff bench growth --svg plots");
    add_word(bench, "suite", options->suite, "What to measure (default all)");
    add_word(bench, "--store", options->store, "Where executions are kept (default sqlite)");
    bench.add_option("--db", options->folder, "Folder for the files (default: a temporary one)")
        ->type_name("DIR");
    bench
        .add_option("--url", options->url,
                    "A PostgreSQL server whose user may create databases\n"
                    "(default: $FF_BENCH_POSTGRES, $FF_TEST_POSTGRES)")
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
    add_number(list, "--limit", filter.limit, Range{1, 1'000}, "How many at most", "50");
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
    add_store(inspect, args->common.db);
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

// --------------------------------------------------------------------------- what was meant

/// `ff inspect ls`.
std::string path_of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
    const CLI::Option* option = command.get_option_no_throw(name);
    const CLI::App* parent = command.get_parent();
    return option == nullptr && parent != nullptr && command.get_fallthrough()
               ? find_option(*parent, name)
               : option;
}

const CLI::App* find_command(const CLI::App& parent, const std::string& name) {
    const auto found =
        parent.get_subcommands([&](const CLI::App* app) { return app->check_name(name); });
    return found.empty() ? nullptr : found.front();
}

bool takes_commands(const CLI::App& command) {
    return !command.get_subcommands([](const CLI::App*) { return true; }).empty();
}

bool takes_arguments(const CLI::App& command) {
    return !command.get_options([](const CLI::Option* o) { return o->get_positional(); }).empty();
}

/// The command that the words lead to, and the first word that nobody knows.
struct Reading {
    const CLI::App* command;
    std::string fault;  ///< empty: every word is known
};

/// CLI11 reports what is missing before what is misspelt; people need it the other way round.
Reading read_words(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* at = &app;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        const std::string& word = words[i];
        if (word.size() > 1 && word[0] == '-') {
            const bool is_long = word[1] == '-';
            const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
            const CLI::Option* option = find_option(*at, name);
            if (option == nullptr) {
                return {at, "unknown option " + name};
            }
            const bool takes_next = name == word && option->get_items_expected_max() > 0;
            i += takes_next ? 1 : 0;
        } else if (const CLI::App* command = find_command(*at, word); command != nullptr) {
            at = command;
        } else if (takes_commands(*at)) {
            return {at, fmt::format("unknown command \"{}\"", word)};
        } else if (!takes_arguments(*at)) {
            return {at, fmt::format("unexpected argument \"{}\"", word)};
        }
    }
    return {at, ""};
}

/// `ff help doctor` is `ff doctor --help`, `ff version` is `ff --version`.
std::vector<std::string> words_of(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    } else if (!words.empty() && words[0] == "version") {
        words[0] = "--version";
    }
    return words;
}

ExitCode refuse_usage(const CLI::App& command, std::string_view fault) {
    complain(fmt::format("{}; see {} --help", fault, path_of(command)));
    return ExitCode::usage;
}

ExitCode parse_and_run(CLI::App& app, const std::vector<std::string>& words, const Action& action) {
    const Reading reading = read_words(app, words);
    if (!reading.fault.empty()) {
        return refuse_usage(*reading.command, reading.fault);
    }
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants it
    } catch (const CLI::Success& asked) {
        std::ostringstream text;  // help or version
        app.exit(asked, text, text);
        print_out(text.str());
        return ExitCode::ok;
    } catch (const CLI::ParseError& error) {
        const std::string_view fault = error.what();
        return refuse_usage(*reading.command,
                            fault.starts_with("A subcommand") ? "name a command" : fault);
    }
    return action ? action() : ExitCode::usage;
}

/// What could not be printed makes a success a failure. A reader who had enough is no fault.
ExitCode after_output(ExitCode code) {
    const int fault = output_fault();
    if (fault == 0 || fault == EPIPE) {
        return code;
    }
    complain(fmt::format("cannot write output: {}", std::strerror(fault)));
    return code == ExitCode::ok ? ExitCode::failed : code;
}

}  // namespace

ExitCode run_command_line(int argc, const char* const* argv) {
    prepare_output();
    CLI::App app("FlowFabric: durable execution in one program and one file.", "ff");
    Action action;
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  ff demo                               # see it work\n"
        "  ff inspect --db app.db ls             # what is in a store\n"
        "  ff doctor --db app.db                 # is it sound\n"
        "  ff backup --db app.db --to copy.db    # a copy while it runs\n"
        "  ff bench                              # how fast is it here\n"
        "  ff help inspect ls                    # the help of a command\n"
        "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict.");
    add_demo(app, action);
    add_doctor(app, action);
    add_inspect(app, action);
    add_backup(app, action);
    add_export(app, action);
    add_import(app, action);
    add_bench(app, action);
    return after_output(parse_and_run(app, words_of(argc, argv), action));
}

}  // namespace ff::cli
