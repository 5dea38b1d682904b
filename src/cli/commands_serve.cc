// Commands that run a server.
#include "cli/grammar.h"
#include "cli/serve.h"

namespace ff::cli {

namespace {

constexpr const char* group = "Servers";

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
    c.group(group);
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
    c.group(group);
    add_text(c, "--db", options->db, "FILE", "Keep the store in a file (default: in memory)");
    add_number(c, "--port", options->port, Range<std::uint16_t>{0, 65'535},
               "Port; 0 takes one that is free", "9090");
    on_command(c, action, [options] { return run_dev(*options); });
}

}  // namespace

void add_serve_commands(CLI::App& app, Action& action) {
    add_serve(app, action);
    add_dev(app, action);
}

}  // namespace ff::cli
