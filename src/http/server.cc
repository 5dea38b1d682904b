#include "http/server.h"

#include <openssl/ssl.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "http/connection.h"
#include "http/loop.h"

namespace ff::http {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto accept_pause = std::chrono::milliseconds(50);

class AsioServer final : public Server {
  public:
    AsioServer(std::shared_ptr<Engine> engine, ServerOptions options, ServiceOptions service)
        : options_(std::move(options)), service_(std::move(engine), std::move(service)) {
        const Timeouts timeouts{options_.head_timeout, options_.body_timeout, options_.idle_timeout,
                                options_.send_timeout};
        for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.threads); ++i) {
            loops_.push_back(std::make_unique<Loop>(timeouts));
        }
        acceptor_.emplace(loops_[0]->context());
        pause_.emplace(loops_[0]->context());
    }
    ~AsioServer() override {
        service_.drain();
        stop_accepting();
        for (auto& loop : loops_) {
            loop->post([&loop = *loop] {
                for (Session* session : loop.sessions()) {
                    session->abort();
                }
            });
        }
        {
            // A request that the engine has still to answer holds its connection.
            std::unique_lock lock(mutex_);
            emptied_.wait(lock, [this] { return connections_ == 0; });
        }
        for (auto& loop : loops_) {
            loop->stop();
        }
    }

    expected<void> open() {
        FF_TRY_VOID(load_tls());
        FF_TRY_VOID(listen());
        for (auto& loop : loops_) {
            loop->start();
        }
        loops_[0]->post([this] { accept(); });
        return {};
    }

    [[nodiscard]] std::uint16_t port() const override { return port_; }
    [[nodiscard]] std::size_t connections() const override { return connections_; }
    [[nodiscard]] Service& service() override { return service_; }

    bool drain(std::chrono::milliseconds grace) override {
        service_.drain();
        stop_accepting();
        for (auto& loop : loops_) {
            loop->post([&loop = *loop] {
                for (Session* session : loop.sessions()) {
                    session->drain();
                }
            });
        }
        std::unique_lock lock(mutex_);
        return emptied_.wait_for(lock, grace, [this] { return connections_ == 0; });
    }

  private:
    expected<void> load_tls() {
        if (options_.tls_cert.empty()) {
            return {};
        }
        tls_.emplace(asio::ssl::context::tls_server);
        SSL_CTX_set_min_proto_version(tls_->native_handle(), TLS1_2_VERSION);
        SSL_CTX_set_cipher_list(tls_->native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!eNULL");
        SSL_CTX_set_options(tls_->native_handle(),
                            SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
        error_code error;
        tls_->use_certificate_chain_file(options_.tls_cert, error);
        if (error) {
            return ff::fail(
                ErrorCode::invalid_config,
                "cannot use the certificate " + options_.tls_cert + ": " + error.message());
        }
        tls_->use_private_key_file(options_.tls_key, asio::ssl::context::pem, error);
        if (error || SSL_CTX_check_private_key(tls_->native_handle()) != 1) {
            return ff::fail(
                ErrorCode::invalid_config,
                "cannot use the key " + options_.tls_key +
                    (error ? ": " + error.message() : ": it does not belong to the certificate"));
        }
        return {};
    }

    expected<void> listen() {
        error_code error;
        tcp::resolver resolver(loops_[0]->context());
        const auto found = resolver.resolve(options_.host, std::to_string(options_.port),
                                            tcp::resolver::passive, error);
        const auto refused = [&](std::string_view what) {
            return ff::fail(ErrorCode::invalid_config, "cannot listen on " + options_.host + ":" +
                                                           std::to_string(options_.port) + ": " +
                                                           std::string(what));
        };
        if (error || found.empty()) {
            return refused(error.message());
        }
        const tcp::endpoint at = found.begin()->endpoint();
        acceptor_->open(at.protocol(), error);
        if (!error) {
            acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
        }
        if (!error) {
            acceptor_->bind(at, error);
        }
        if (!error) {
            acceptor_->listen(asio::socket_base::max_listen_connections, error);
        }
        if (error) {
            return refused(error.message());
        }
        port_ = acceptor_->local_endpoint(error).port();
        return {};
    }

    // Loop 0 only.
    void accept() {
        if (!acceptor_->is_open()) {
            return;
        }
        if (connections_ >= options_.connections_max) {
            full_ = true;  // whoever ends next lets the next one in
            return;
        }
        Loop& loop = *loops_[next_loop_++ % loops_.size()];
        acceptor_->async_accept(
            loop.context(), [this, &loop](const error_code& error, tcp::socket socket) {
                if (error == asio::error::operation_aborted) {
                    return;
                }
                if (error) {
                    // Out of descriptors, mostly: a moment later there may be some again.
                    warn("cannot accept a connection: " + error.message());
                    pause_->expires_after(accept_pause);
                    pause_->async_wait([this](const error_code& stopped) {
                        if (!stopped) {
                            accept();
                        }
                    });
                    return;
                }
                ++connections_;
                loop.post([this, &loop, socket = std::move(socket)]() mutable {
                    if (service_.draining()) {
                        ended();
                        return;
                    }
                    serve_connection(std::move(socket), service_, loop, tls_ ? &*tls_ : nullptr,
                                     [this] { ended(); });
                });
                accept();
            });
    }

    /// On the loop of the connection that ended.
    void ended() {
        {
            const std::lock_guard lock(mutex_);
            --connections_;
        }
        emptied_.notify_all();
        if (full_.exchange(false)) {
            loops_[0]->post([this] { accept(); });
        }
    }

    void stop_accepting() {
        loops_[0]->post([this] {
            error_code ignored;
            acceptor_->close(ignored);
            pause_->cancel();
        });
    }

    void warn(std::string_view text) const {
        if (options_.warn) {
            options_.warn(text);
        }
    }

    const ServerOptions options_;
    Service service_;
    std::optional<asio::ssl::context> tls_;
    std::vector<std::unique_ptr<Loop>> loops_;
    std::optional<tcp::acceptor> acceptor_;
    std::optional<asio::steady_timer> pause_;
    std::size_t next_loop_ = 0;
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> connections_{0};
    std::atomic<bool> full_{false};
    std::mutex mutex_;
    std::condition_variable emptied_;
};

}  // namespace

expected<std::unique_ptr<Server>> Server::start(std::shared_ptr<Engine> engine,
                                                ServerOptions options, ServiceOptions service) {
    auto server =
        std::make_unique<AsioServer>(std::move(engine), std::move(options), std::move(service));
    FF_TRY_VOID(server->open());
    return server;
}

}  // namespace ff::http
