#include "cli/serve.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "cli/bytes_file.h"
#include "cli/connection.h"
#include "cli/serving.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds same_wish{1};

/// Signals are waited for, not handled: made before any thread, so that all of them leave them be.
class StopSignals {
  public:
    StopSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    void wait() const {
        int signal = 0;
        while (sigwait(&set_, &signal) != 0) {
            // interrupted: wait on
        }
    }
    /// Whoever asks a second time wants it now; within a second it is the same wish.
    void leave_on_next() const {
        std::thread([set = set_, patient_until = SteadyClock::now() + same_wish] {
            for (;;) {
                int signal = 0;
                if (sigwait(&set, &signal) == 0 && SteadyClock::now() >= patient_until) {
                    _exit(130);
                }
            }
        }).detach();
    }

  private:
    sigset_t set_{};
};

expected<std::optional<http::ConfigFile>> read_config(const std::optional<std::string>& path) {
    if (!path) {
        return std::nullopt;
    }
    auto text = read_bytes(*path);
    if (!text) {
        return ff::fail(ErrorCode::invalid_config, sentence_of(text.error()));
    }
    return http::ConfigFile{*path, std::move(*text)};
}

/// 2 when the store is there but not for us, else 1.
ExitCode exit_code_of_boot(const Error& error) {
    switch (error.code) {
        case ErrorCode::store_in_use:
        case ErrorCode::schema_too_new:
        case ErrorCode::partition_mismatch: return ExitCode::usage;
        default: return ExitCode::failed;
    }
}

ExitCode refuse_boot(const Error& error) {
    complain(error.code == ErrorCode::invalid_config ? error.detail : error.message());
    return exit_code_of_boot(error);
}

ExitCode serve_until_told(http::ServerConfig config, const StopSignals& signals,
                          const std::function<void(const std::string& url)>& ready) {
    Logger logger(config.log, std::make_shared<SystemClock>());
    const Log log = logger.target("http");
    for (const std::string& warning : config.warnings) {
        log.warn(warning);
    }
    auto serving = Serving::start(std::move(config), logger);
    if (!serving) {
        return refuse_boot(serving.error());
    }
    if (const auto report = (*serving)->engine().run(ReadStoreReport{})) {
        log.info("store open", {{"store", report->family},
                                {"durability", report->durability},
                                {"schema", report->prepared}});
    } else {
        log.warn("the store does not say what it is", {{"error", report.error().message()}});
    }
    log.info("HTTP API listening", {{"addr", (*serving)->url()}, {"version", FF_VERSION}});
    ready((*serving)->url());
    signals.wait();
    signals.leave_on_next();
    log.info("stopping");
    (*serving)->stop();
    log.info("stopped");
    return ExitCode::ok;
}

}  // namespace

ExitCode run_serve(const ServeOptions& options) {
    http::ConfigSources sources;
    sources.flags = options.flags;
    sources.environment = http::process_environment();
    auto file = read_config(options.config);
    if (!file) {
        return refuse_boot(file.error());
    }
    sources.file = std::move(*file);
    auto config = http::load_config(sources);
    if (!config) {
        return refuse_boot(config.error());
    }
    if (options.print_config) {
        print_out(http::print_config(*config));
        return ExitCode::ok;
    }
    const StopSignals signals;
    return serve_until_told(std::move(*config), signals, [](const std::string&) {});
}

ExitCode run_dev(const DevOptions& options) {
    http::ConfigSources sources;
    sources.flags = {{"FF_SQLITE_PATH", options.db},
                     {"FF_LISTEN_ADDR", fmt::format("127.0.0.1:{}", options.port)},
                     {"FF_LOG", "warn"}};
    auto config = http::load_config(sources);
    if (!config) {
        return refuse_boot(config.error());
    }
    config->warnings.clear();  // the banner says it
    config->allow_insecure = true;
    for (auto& [name, period_ms] : config->engine.scanner_periods_ms) {
        period_ms = std::max<DurationMs>(100, period_ms / 10);
    }
    const StopSignals signals;
    return serve_until_told(std::move(*config), signals, [&](const std::string& url) {
        const Terminal terminal = Terminal::output();
        const std::string elsewhere =
            url == std::string_view(default_server) ? "" : " --connect " + url;
        print_out(fmt::format(
            "{}\n"
            "  address   {}\n"
            "  store     {}\n"
            "  interface {}/v1/openapi.json\n\n"
            "Hand in some work, from another window:\n"
            "  curl -s {}/v1/executions -H 'content-type: application/json' -d \\\n"
            "    '{{\"namespace\":\"default\",\"lane_id\":\"default\",\"execution_kind\":\"hello\","
            "\"input_payload\":{{\"text\":\"world\"}}}}'\n"
            "  ff submit hello world{}\n"
            "Do it:\n"
            "  ff worker exec --lane default{} -- cat\n"
            "Ctrl-C ends it.\n",
            terminal.paint("FlowFabric for trying things out. Not for production: nobody is asked "
                           "who they are.",
                           Style::bold),
            url, options.db == ":memory:" ? "in memory, gone when this ends" : options.db, url, url,
            elsewhere, elsewhere));
    });
}

}  // namespace ff::cli
