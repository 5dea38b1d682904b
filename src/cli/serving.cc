#include "cli/serving.h"

#include <utility>

namespace ff::cli {

Serving::Serving(http::ServerConfig config, Logger& logger, std::shared_ptr<Engine> engine,
                 std::string_view store)
    : config_(std::move(config)),
      log_(logger.target("http")),
      audit_(logger.target("audit")),
      engine_(std::move(engine)),
      metrics_(FF_VERSION, store) {
    metrics_.watch(*engine_);
}

Serving::~Serving() = default;

expected<std::unique_ptr<Serving>> Serving::start(http::ServerConfig config, Logger& logger) {
    // First, as a store that is not there yet would be made for nothing.
    FF_TRY_VOID(http::check_listening(config.listen.host, config.listen.port));
    EngineOptions options = config.engine;
    const Log log = logger.target("engine");
    options.warn = [log](std::string_view text) { log.warn(text); };
    FF_TRY(auto engine, Engine::open(config.store, options));
    return start(std::move(config), logger, std::move(engine));
}

expected<std::unique_ptr<Serving>> Serving::start(http::ServerConfig config, Logger& logger,
                                                  std::shared_ptr<Engine> engine) {
    FF_TRY(const Capabilities store, engine->run(ReadCapabilities{}));
    std::unique_ptr<Serving> serving(
        new Serving(std::move(config), logger, std::move(engine), store.family));
    FF_TRY_VOID(serving->listen());
    serving->deliver_webhooks();
    return serving;
}

expected<void> Serving::listen() {
    http::ServerOptions options;
    options.host = config_.listen.host;
    options.port = config_.listen.port;
    options.threads = static_cast<std::size_t>(config_.http_threads);
    options.connections_max = static_cast<std::size_t>(config_.http_connections_max);
    options.tls_cert = config_.tls_cert;
    options.tls_key = config_.tls_key;
    options.warn = [this](std::string_view text) { log_.warn(text); };
    FF_TRY(server_, http::Server::start(engine_, std::move(options), service_options()));
    return {};
}

http::ServiceOptions Serving::service_options() {
    http::ServiceOptions options;
    options.gate.api_token = config_.api_token;
    options.gate.admin_token = config_.admin_token;
    options.gate.allow_insecure = config_.allow_insecure;
    if (config_.listen.is_loopback()) {
        options.gate.own_host = config_.listen.host;
    }
    options.gate.cors_any = config_.cors.any_origin;
    options.gate.cors_origins = config_.cors.origins;
    options.polls_max = static_cast<std::size_t>(config_.concurrent_polls_max);
    options.stream_ops_max = static_cast<std::size_t>(config_.concurrent_stream_ops_max);
    options.event_streams_max = static_cast<std::size_t>(config_.event_streams_max);
    options.lanes = config_.engine.lanes;
    options.waitpoint_grace_ms = config_.waitpoint_grace_ms;
    options.failed_attempts_max = static_cast<std::size_t>(config_.failed_attempts_max);
    options.audit = [this](std::string_view what, std::string_view about) {
        audit_.info(what, {{"about", about}});
    };
    options.finished = [this](const http::RequestHead& head, const http::Route* route, int status,
                              std::chrono::nanoseconds took) { note(head, route, status, took); };
    options.claimed_from_grant = [this](std::string_view lane, std::chrono::nanoseconds took) {
        metrics_.claim_from_grant(lane).observe(took);
    };
    if (config_.metrics) {
        options.metrics_text = [this] { return metrics_.scrape(); };
    }
    options.config = [this] { return http::config_json(config_); };
    return options;
}

void Serving::note(const http::RequestHead& head, const http::Route* route, int status,
                   std::chrono::nanoseconds took) {
    const std::string_view path = route != nullptr ? std::string_view(route->path) : "unknown";
    if (path != "/metrics") {
        metrics_of(head.method, route).answered(status, took);
    }
    const LogLevel level = status >= 500 ? LogLevel::warn : LogLevel::debug;
    if (log_.on(level)) {
        const double ms = static_cast<double>(took.count()) / 1e6;
        const LogField fields[] = {
            {"method", head.method}, {"route", path}, {"status", status}, {"ms", ms}};
        log_.write(level, "request", fields);
    }
}

http::RouteMetrics& Serving::metrics_of(std::string_view method, const http::Route* route) {
    if (route == nullptr) {
        return metrics_.route(method, "");
    }
    // Loops have threads of their own: each finds a route's figures once. HEAD is counted apart.
    thread_local std::vector<std::pair<const http::Route*, http::RouteMetrics*>> found;
    if (found.size() <= route->index) {
        found.resize(route->index + 1);
    }
    auto& [known, metrics] = found[route->index];
    if (method == "HEAD") {
        return metrics_.route(method, route->path);
    }
    if (known != route) {
        known = route;
        metrics = &metrics_.route(method, route->path);
    }
    return *metrics;
}

void Serving::deliver_webhooks() {
    client::WebhookSenderOptions options;
    options.addresses = config_.webhook_addresses;
    options.holder = "server-" + SystemIdSource().uuid(SystemClock().now()).to_string();
    options.warn = [this](std::string_view text) { log_.warn(text); };
    webhooks_ = std::make_unique<client::WebhookSender>(engine_, std::move(options));
}

std::string Serving::url() const {
    const bool six = config_.listen.host.find(':') != std::string::npos;
    const std::string host = six ? "[" + config_.listen.host + "]" : config_.listen.host;
    return (config_.uses_tls() ? "https://" : "http://") + host + ":" +
           std::to_string(server_->port());
}

void Serving::stop() {
    const std::chrono::milliseconds grace(config_.shutdown_grace_ms);
    if (!server_->drain(grace)) {
        metrics_.shutdown_timeouts().add();
        log_.warn("requests were still running when the server stopped",
                  {{"connections", server_->connections()}});
    }
    server_.reset();
    webhooks_.reset();
    engine_->stop();
}

}  // namespace ff::cli
