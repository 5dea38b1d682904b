// Commands that run a server.
#include "cli/grammar.h"
#include "cli/serve.h"
#include "cli/worker_exec.h"

namespace ff::cli {

namespace {

constexpr const char* serve_group = "Servers and workers";

/// A flag that is a setting of the server under another name.
void add_setting(CLI::App& app, ServeOptions& options, const std::string& flag,
                 const std::string& setting, const std::string& type, const std::string& help) {
    app.add_option_function<std::string>(
           flag, [&options, setting](const std::string& value) { options.flags[setting] = value; },
           help + " (" + setting + ")")
        ->type_name(type);
}

void add_serve(CLI::App& app, Action& action) {
    auto options = std::make_shared<ServeOptions>();
    CLI::App& c = add_command(
        app, "serve", "Serve a store over HTTP",
        "  ff serve                                  # flowfabric.db on 127.0.0.1:9090\n"
        "  ff serve --db app.db --listen 127.0.0.1:8080\n"
        "  FF_API_TOKEN=… ff serve --listen 0.0.0.0:9090 --tls-cert c.pem --tls-key k.pem\n"
        "  ff serve --db postgres://user@host/database\n"
        "  ff serve --config ff.toml --print-config  # which settings count, and where from\n"
        "Every setting is an environment variable too: see docs/configuration.md. SIGTERM ends it\n"
        "when the requests that are running have been answered.");
    c.group(serve_group);
    c.add_option_function<std::string>(
         "--db",
         [options](const std::string& db) {
             const bool postgres = db.starts_with("postgres:") || db.starts_with("postgresql:");
             options->flags["FF_BACKEND"] = postgres ? "postgres" : "sqlite";
             options->flags[postgres ? "FF_POSTGRES_URL" : "FF_SQLITE_PATH"] =
                 db.starts_with("sqlite:") ? db.substr(7) : db;
         },
         "The store: a file, or postgres://…")
        ->type_name("STORE");
    add_setting(c, *options, "--listen", "FF_LISTEN_ADDR", "HOST:PORT", "Where to listen");
    add_setting(c, *options, "--lanes", "FF_LANES", "NAMES", "Lanes to make, with commas between");
    add_setting(c, *options, "--tls-cert", "FF_TLS_CERT", "FILE", "Certificate chain, PEM");
    add_setting(c, *options, "--tls-key", "FF_TLS_KEY", "FILE", "Its private key, PEM");
    add_setting(c, *options, "--log", "FF_LOG", "LEVEL", "What is logged");
    add_setting(c, *options, "--log-format", "FF_LOG_FORMAT", "text|json", "How it is logged");
    c.add_option("--config", options->config, "A TOML file of settings")->type_name("FILE");
    c.add_flag("--print-config", options->print_config, "Print the settings that count, and end");
    on_command(c, action, [options] { return run_serve(*options); });
}

void add_dev(CLI::App& app, Action& action) {
    auto options = std::make_shared<DevOptions>();
    CLI::App& c = add_command(app, "dev", "A server for trying things out, on this machine only",
                              "  ff dev                  # in memory, http://127.0.0.1:9090\n"
                              "  ff dev --db dev.db --port 0");
    c.group(serve_group);
    add_text(c, "--db", options->db, "FILE", "Keep the store in a file (default: in memory)");
    add_number(c, "--port", options->port, Range<std::uint16_t>{0, 65'535},
               "Port; 0 takes one that is free", "9090");
    on_command(c, action, [options] { return run_dev(*options); });
}

/// A span whose default is in the options already.
void add_span_of(CLI::App& app, const std::string& name, DurationMs& value,
                 const std::string& help) {
    app.add_option_function<std::string>(
           name, [&value](const std::string& text) { value = parse_span(text).value_or(value); },
           help)
        ->check(CLI::Validator(
            [](std::string& text) {
                const auto span = parse_span(text);
                return span ? std::string() : span.error().detail;
            },
            ""))
        ->type_name("SPAN");
}

void add_worker_exec(CLI::App& worker, Action& action, const Common& common) {
    auto o = std::make_shared<WorkerExecOptions>();
    CLI::App& c = add_command(
        worker, "exec", "Run a program for each execution",
        "  ff worker exec --lane default -- cat                     # gives the input back\n"
        "  ff worker exec --lane video --kind resize --concurrency 4 -- ./resize.sh --fast\n"
        "  ff worker exec --lane mail --capability smtp --lease 2m -- python3 send.py\n"
        "  ff worker exec --connect https://flow.example.org --lane default -- ./work.sh\n"
        "  ff worker exec --lane build --stream -- make             # ff tail shows its lines\n"
        "The input of the execution is the program's standard input; what it prints is the "
        "result.\n"
        "Exit code 0 completes, --permanent-exit fails for good, any other is tried again as the\n"
        "retry policy says; the end of standard error is kept as the reason. The program finds\n"
        "FF_EXECUTION_ID, FF_ATTEMPT_INDEX, FF_KIND, FF_LANE, FF_NAMESPACE, FF_TAGS (JSON) and "
        "more\n"
        "in its environment. It gets SIGTERM when the execution is cancelled, its lease is lost, "
        "or\n"
        "the worker has waited long enough in its own shutdown.");
    add_texts(c, "--lane", o->lanes, "LANE", "Lane to take work from").required();
    add_texts(c, "--kind", o->kinds, "KIND", "Only this kind of work (default all)");
    add_texts(c, "--capability", o->capabilities, "TOKEN", "What this machine can do");
    add_text(c, "--ns", o->ns, "NS", "Namespace (default default)");
    add_text(c, "--worker-id", o->worker_id, "NAME", "Its name (default: that of the program)");
    add_number(c, "--concurrency", o->concurrency, Range{1U, 1'000U}, "Programs at a time", "1");
    add_span_of(c, "--lease", o->lease_ttl_ms, "How long it may be silent, 1s or more (30s)");
    add_span_of(c, "--drain", o->drain_ms, "How long running programs may finish (30s)");
    add_span_of(c, "--kill-after", o->kill_after_ms,
                "From SIGTERM to SIGKILL (10s; 3s at most in a shutdown)");
    add_number(c, "--permanent-exit", o->permanent_exit, Range{1, 255},
               "Exit code of a failure that is not tried again", "100");
    add_text(c, "--encoding", o->encoding, "NAME", "Encoding of the results, json for example");
    add_number(c, "--tasks", o->tasks, Range<std::uint64_t>{1, 1'000'000'000}, "End after so many",
               "");
    c.add_flag("--stream", o->stream,
               "What programs print can be read along, line by line: ff tail");
    add_connection(c, common);
    c.add_option("command", o->command, "The program and its arguments, behind --")
        ->required()
        ->type_name("COMMAND");
    on_command(c, action, [common, o] { return run_worker_exec(*common, *o); });
}

void add_worker(CLI::App& app, Action& action, const Common& common) {
    CLI::App& worker =
        add_command(app, "worker", "Do the work", "  ff worker exec --lane default -- cat");
    worker.group(serve_group);
    worker.require_subcommand(1);
    add_connection(worker, common);
    add_worker_exec(worker, action, common);
}

}  // namespace

void add_serve_commands(CLI::App& app, Action& action, const Common& common) {
    add_serve(app, action);
    add_dev(app, action);
    add_worker(app, action, common);
}

}  // namespace ff::cli
