#include "net/stream.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <optional>
#include <utility>

namespace ff::net {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Tls::Context {
    asio::ssl::context asio;
};

Tls::Tls(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Tls::~Tls() = default;

bool is_end(const error_code& error) { return error == asio::error::eof; }
bool is_aborted(const error_code& error) { return error == asio::error::operation_aborted; }

namespace {

using TlsSocket = asio::ssl::stream<tcp::socket>;

/// A stream over either kind of socket.
template <class Socket>
class SocketStream final : public Stream {
  public:
    explicit SocketStream(Socket socket) : socket_(std::move(socket)) {}

    void resolve(const std::string& host, std::uint16_t port, Found found) override {
        resolver_.emplace(tcp_socket().get_executor());
        resolver_->async_resolve(
            host, std::to_string(port),
            [found = std::move(found)](const error_code& error,
                                       const tcp::resolver::results_type& results) mutable {
                std::vector<std::string> addresses;
                for (const auto& entry : results) {
                    addresses.push_back(entry.endpoint().address().to_string());
                }
                found(error, std::move(addresses));
            });
    }

    void connect(const std::vector<std::string>& addresses, std::uint16_t port,
                 Done done) override {
        std::vector<tcp::endpoint> endpoints;
        for (const std::string& address : addresses) {
            endpoints.emplace_back(asio::ip::make_address(address), port);
        }
        asio::async_connect(
            tcp_socket(), endpoints,
            [done = std::move(done)](const error_code& error, const tcp::endpoint&) mutable {
                done(error);
            });
    }

    void greet_client(Done done) override {
        if constexpr (is_tls) {
            socket_.async_handshake(asio::ssl::stream_base::server, std::move(done));
        } else {
            done({});
        }
    }

    void greet_server(const std::string& host, Done done) override {
        if constexpr (is_tls) {
            SSL_set_tlsext_host_name(socket_.native_handle(), host.c_str());
            socket_.set_verify_callback(asio::ssl::host_name_verification(host));
            socket_.async_handshake(asio::ssl::stream_base::client, std::move(done));
        } else {
            done({});
        }
    }

    void read_some(std::span<char> into, Moved done) override {
        socket_.async_read_some(asio::buffer(into.data(), into.size()), std::move(done));
    }
    void write(std::string_view bytes, Moved done) override {
        asio::async_write(socket_, asio::buffer(bytes), std::move(done));
    }

    void no_delay() override {
        error_code ignored;
        tcp_socket().set_option(tcp::no_delay(true), ignored);
    }
    void close_on_exec() override { ::fcntl(tcp_socket().native_handle(), F_SETFD, FD_CLOEXEC); }
    [[nodiscard]] std::string peer() override {
        error_code ignored;
        return tcp_socket().remote_endpoint(ignored).address().to_string();
    }
    void shutdown_send() override { shut(tcp::socket::shutdown_send); }
    void shutdown() override { shut(tcp::socket::shutdown_both); }
    void close() override {
        error_code ignored;
        if (resolver_) {
            resolver_->cancel();
        }
        tcp_socket().close(ignored);
    }

    tcp::socket& tcp_socket() {
        if constexpr (is_tls) {
            return socket_.next_layer();
        } else {
            return socket_;
        }
    }

  private:
    static constexpr bool is_tls = std::is_same_v<Socket, TlsSocket>;

    void shut(tcp::socket::shutdown_type what) {
        error_code ignored;
        tcp_socket().shutdown(what, ignored);
    }

    Socket socket_;
    std::optional<tcp::resolver> resolver_;
};

using PlainStream = SocketStream<tcp::socket>;
using TlsStream = SocketStream<TlsSocket>;

}  // namespace

std::unique_ptr<Stream> make_stream(EventLoop& loop, const Tls* tls) {
    if (tls != nullptr) {
        return std::make_unique<TlsStream>(TlsSocket(loop.context(), tls->context().asio));
    }
    return std::make_unique<PlainStream>(tcp::socket(loop.context()));
}

std::unique_ptr<Stream> under_tls(std::unique_ptr<Stream> plain, const Tls& tls) {
    auto& stream = dynamic_cast<PlainStream&>(*plain);
    return std::make_unique<TlsStream>(
        TlsSocket(std::move(stream.tcp_socket()), tls.context().asio));
}

// ------------------------------------------------------------------------------------------- TLS

expected<std::unique_ptr<Tls>> Tls::of_server(const std::string& cert_file,
                                              const std::string& key_file) {
    auto made = std::make_unique<Context>(asio::ssl::context(asio::ssl::context::tls_server));
    asio::ssl::context& tls = made->asio;
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(tls.native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!eNULL");
    SSL_CTX_set_options(tls.native_handle(),
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    error_code error;
    tls.use_certificate_chain_file(cert_file, error);
    if (error) {
        return ff::fail(ErrorCode::invalid_config,
                        "cannot use the certificate " + cert_file + ": " + error.message());
    }
    tls.use_private_key_file(key_file, asio::ssl::context::pem, error);
    const auto number = static_cast<unsigned long>(error.value());
    const bool is_another =
        ERR_GET_LIB(number) == ERR_LIB_X509 && ERR_GET_REASON(number) == X509_R_KEY_VALUES_MISMATCH;
    if (error || SSL_CTX_check_private_key(tls.native_handle()) != 1) {
        return ff::fail(
            ErrorCode::invalid_config,
            "cannot use the key " + key_file + ": " +
                (error && !is_another ? error.message() : "it does not belong to the certificate"));
    }
    return std::make_unique<Tls>(std::move(made));
}

expected<std::unique_ptr<Tls>> Tls::of_client(const std::string& ca_file) {
    auto made = std::make_unique<Context>(asio::ssl::context(asio::ssl::context::tls_client));
    asio::ssl::context& tls = made->asio;
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    tls.set_verify_mode(asio::ssl::verify_peer);
    error_code error;
    if (ca_file.empty()) {
        tls.set_default_verify_paths(error);
    } else {
        tls.load_verify_file(ca_file, error);
    }
    if (error) {
        return ff::fail(ErrorCode::invalid_config,
                        "cannot read trusted certificates: " + error.message());
    }
    return std::make_unique<Tls>(std::move(made));
}

// ------------------------------------------------------------------------------------- listening

struct Listener::Acceptor {
    tcp::acceptor asio;
};

Listener::Listener(EventLoop& loop) : acceptor_(new Acceptor{tcp::acceptor(loop.context())}) {}
Listener::~Listener() = default;

expected<void> Listener::listen(const std::string& host, std::uint16_t port) {
    tcp::acceptor& acceptor = acceptor_->asio;
    error_code error;
    tcp::resolver resolver(acceptor.get_executor());
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
    const auto refused = [&](std::string_view what) {
        return ff::fail(
            ErrorCode::invalid_config,
            "cannot listen on " + host + ":" + std::to_string(port) + ": " + std::string(what));
    };
    if (error || found.empty()) {
        return refused(error.message());
    }
    const tcp::endpoint at = found.begin()->endpoint();
    acceptor.open(at.protocol(), error);
    if (!error) {
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
        acceptor.bind(at, error);
    }
    if (!error) {
        acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
        return refused(error.message());
    }
    return {};
}

std::uint16_t Listener::port() const {
    error_code ignored;
    return acceptor_->asio.local_endpoint(ignored).port();
}

bool Listener::is_open() const { return acceptor_->asio.is_open(); }

void Listener::accept(EventLoop& onto, Accepted accepted) {
    acceptor_->asio.async_accept(
        onto.context(),
        [accepted = std::move(accepted)](const error_code& error, tcp::socket socket) mutable {
            accepted(error, error ? nullptr : std::make_unique<PlainStream>(std::move(socket)));
        });
}

void Listener::close() {
    error_code ignored;
    acceptor_->asio.close(ignored);
}

}  // namespace ff::net
