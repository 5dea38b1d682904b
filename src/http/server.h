// The listener in front of a service. The engine, whoever made it, outlives the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ff/engine.h>

#include "http/service.h"

namespace ff::http {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 9090;  ///< 0: any that is free
    std::size_t threads = 1;
    /// Then accepting pauses. Fewer when the process may not have so many descriptors.
    std::size_t connections_max = 1'024;
    std::string tls_cert;  ///< paths of PEM files; empty: no TLS
    std::string tls_key;
    std::chrono::milliseconds head_timeout{10'000};
    std::chrono::milliseconds body_timeout{30'000};
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds send_timeout{30'000};
    std::function<void(std::string_view)> warn;  ///< where warnings go; nowhere when absent
};

/// How many connections so many descriptors leave room for when so many of them are in use: some
/// more are kept for the store and for what the server calls itself. At least one.
std::size_t connections_within(std::size_t wanted, std::size_t descriptors, std::size_t in_use);

/// Can one listen there? `invalid_config` says why not. For who makes something else first; the
/// answer is of this moment.
expected<void> check_listening(const std::string& host, std::uint16_t port);

class Server {
  public:
    /// Listens and serves. `invalid_config` says what about the address or the files is wrong.
    static expected<std::unique_ptr<Server>> start(std::shared_ptr<Engine> engine,
                                                   ServerOptions options, ServiceOptions service);
    /// Closes every connection at once; waits until the engine has answered what it was asked.
    virtual ~Server() = default;

    [[nodiscard]] virtual std::uint16_t port() const = 0;
    [[nodiscard]] virtual std::size_t connections() const = 0;
    [[nodiscard]] virtual Service& service() = 0;
    /// Takes no more connections, wakes those that wait, lets running requests end; false when some
    /// had not within `grace`. Blocks; safe to call once.
    virtual bool drain(std::chrono::milliseconds grace) = 0;
};

}  // namespace ff::http
