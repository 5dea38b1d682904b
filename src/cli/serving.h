// A running server: engine, log, metrics and listener, wired together and taken apart in order.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "base/log.h"
#include "client/webhook_sender.h"
#include "http/config.h"
#include "http/server.h"
#include "http/server_metrics.h"

namespace ff::cli {

class Serving {
  public:
    /// Opens the store and listens. The logger outlives it.
    static expected<std::unique_ptr<Serving>> start(http::ServerConfig config, Logger& logger);
    /// The same in front of an engine that is open already.
    static expected<std::unique_ptr<Serving>> start(http::ServerConfig config, Logger& logger,
                                                    std::shared_ptr<Engine> engine);
    ~Serving();

    /// `http://127.0.0.1:9090`.
    [[nodiscard]] std::string url() const;
    [[nodiscard]] Engine& engine() { return *engine_; }
    /// Ends as spec 07 section 8.3 says; the engine last.
    void stop();

  private:
    Serving(http::ServerConfig config, Logger& logger, std::shared_ptr<Engine> engine,
            std::string_view store);
    expected<void> listen();
    [[nodiscard]] http::ServiceOptions service_options();
    void deliver_webhooks();
    /// After each answer: figures, and a line in the log when somebody reads it.
    void note(const http::RequestHead& head, const http::Route* route, int status,
              std::chrono::nanoseconds took);
    http::RouteMetrics& metrics_of(std::string_view method, const http::Route* route);

    const http::ServerConfig config_;
    const Log log_;
    const Log audit_;
    const std::shared_ptr<Engine> engine_;
    http::ServerMetrics metrics_;
    std::unique_ptr<http::Server> server_;
    std::unique_ptr<client::WebhookSender> webhooks_;
};

}  // namespace ff::cli
