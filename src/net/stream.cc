#include "net/stream.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
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

/// What every connection wants: small pieces go out at once, and programs that this process starts
/// from now on do not inherit it.
void set_up(tcp::socket& socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

/// Says for whom this is, when that is a name: an address is no name of a server (RFC 6066).
error_code name_server(SSL* tls, const std::string& host) {
    error_code no_address;
    asio::ip::make_address(host, no_address);
    if (!no_address || SSL_set_tlsext_host_name(tls, host.c_str()) == 1) {
        return {};
    }
    return {static_cast<int>(ERR_get_error()), asio::error::get_ssl_category()};
}

/// Ends TLS with what the socket takes at this moment. Asio's own way waits for the other side; so
/// the farewell is written to memory and sent from there.
void end_tls(TlsSocket& socket) {
    SSL* const tls = socket.native_handle();
    if (SSL_is_init_finished(tls) == 0 || (SSL_get_shutdown(tls) & SSL_SENT_SHUTDOWN) != 0) {
        return;
    }
    BIO* const usual = SSL_get_wbio(tls);
    BIO* const farewell = BIO_new(BIO_s_mem());
    if (farewell == nullptr) {
        return;
    }
    BIO_up_ref(usual);
    BIO_up_ref(farewell);
    SSL_set0_wbio(tls, farewell);
    SSL_shutdown(tls);
    SSL_set0_wbio(tls, usual);
    char* bytes = nullptr;
    if (const long size = BIO_get_mem_data(farewell, &bytes); size > 0) {
        [[maybe_unused]] const auto taken =
            ::send(socket.next_layer().native_handle(), bytes, static_cast<std::size_t>(size),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    BIO_free(farewell);
    ERR_clear_error();
}

/// A stream over either kind of socket.
template <class Socket>
class SocketStream final : public Stream {
  public:
    explicit SocketStream(Socket socket)
        : held_(std::make_shared<Held>(Held{.socket = std::move(socket)})) {}
    ~SocketStream() override { close(); }
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;

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
        auto told = [held = held_, done = std::move(done)](const error_code& error,
                                                           const tcp::endpoint&) mutable {
            if (!error) {
                set_up(tcp_socket_of(*held));
            }
            done(error);
        };
        asio::async_connect(tcp_socket(), endpoints, std::move(told));
    }

    void greet_client(Done done) override {
        if constexpr (is_tls) {
            greet(asio::ssl::stream_base::server, std::move(done));
        } else {
            done({});
        }
    }

    void greet_server(const std::string& host, Done done) override {
        if constexpr (is_tls) {
            if (const error_code error = name_server(held_->socket.native_handle(), host)) {
                done(error);
                return;
            }
            held_->socket.set_verify_callback(asio::ssl::host_name_verification(host));
            greet(asio::ssl::stream_base::client, std::move(done));
        } else {
            done({});
        }
    }

    void read_some(std::span<char> into, Moved done) override {
        auto told = [held = held_, done = std::move(done)](
                        const error_code& error, std::size_t size) mutable { done(error, size); };
        held_->socket.async_read_some(asio::buffer(into.data(), into.size()), std::move(told));
    }
    void write(std::string_view bytes, Moved done) override {
        held_->writing = true;
        auto told = [held = held_, done = std::move(done)](const error_code& error,
                                                           std::size_t size) mutable {
            held->writing = false;
            done(error, size);
        };
        asio::async_write(held_->socket, asio::buffer(bytes), std::move(told));
    }

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
        say_goodbye();
        tcp_socket().close(ignored);
    }

  private:
    static constexpr bool is_tls = std::is_same_v<Socket, TlsSocket>;

    /// Each operation holds this until it has been told: Asio uses the socket until then.
    struct Held {
        Socket socket;
        bool writing = false;
    };

    static tcp::socket& tcp_socket_of(Held& held) {
        if constexpr (is_tls) {
            return held.socket.next_layer();
        } else {
            return held.socket;
        }
    }
    tcp::socket& tcp_socket() { return tcp_socket_of(*held_); }

    void greet(asio::ssl::stream_base::handshake_type as, Done done) {
        auto told = [held = held_, done = std::move(done)](const error_code& error) mutable {
            done(error);
        };
        held_->socket.async_handshake(as, std::move(told));
    }

    void say_goodbye() {
        if constexpr (is_tls) {
            if (tcp_socket().is_open() && !held_->writing) {
                end_tls(held_->socket);
            }
        }
    }

    void shut(tcp::socket::shutdown_type what) {
        error_code ignored;
        say_goodbye();
        tcp_socket().shutdown(what, ignored);
    }

    const std::shared_ptr<Held> held_;
    std::optional<tcp::resolver> resolver_;
};

std::unique_ptr<Stream> stream_over(tcp::socket socket, const Tls* tls) {
    if (tls != nullptr) {
        return std::make_unique<SocketStream<TlsSocket>>(
            TlsSocket(std::move(socket), tls->context().asio));
    }
    return std::make_unique<SocketStream<tcp::socket>>(std::move(socket));
}

}  // namespace

std::unique_ptr<Stream> make_stream(EventLoop& loop, const Tls* tls) {
    return stream_over(tcp::socket(loop.context()), tls);
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
        return ff::fail(ErrorCode::invalid_config, "cannot read trusted certificates" +
                                                       (ca_file.empty() ? "" : " from " + ca_file) +
                                                       ": " + error.message());
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
        ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
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

void Listener::accept(EventLoop& onto, const Tls* tls, Accepted accepted) {
    acceptor_->asio.async_accept(
        onto.context(),
        [tls, accepted = std::move(accepted)](const error_code& error, tcp::socket socket) mutable {
            if (error) {
                accepted(error, nullptr);
                return;
            }
            set_up(socket);
            accepted(error, stream_over(std::move(socket), tls));
        });
}

void Listener::close() {
    error_code ignored;
    acceptor_->asio.close(ignored);
}

}  // namespace ff::net
