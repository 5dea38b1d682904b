// The bytes of a connection, plain or under TLS, and how one is made: by connecting or listening.
//
// One type for both ends and for both kinds of streams: Asio is seen by this room only, and what it
// makes of each operation is compiled once. Loop thread only, unless said otherwise. What is still
// under way when a stream is closed ends with an error, on the loop.
#pragma once

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

#include "net/event_loop.h"

namespace ff::net {

using boost::system::error_code;

/// The other side has ended its half properly.
bool is_end(const error_code& error);
/// It was under way when its object was closed.
bool is_aborted(const error_code& error);

/// Certificates and rules of TLS, from 1.2 on.
class Tls {
  public:
    struct Context;

    /// `invalid_config` when the files cannot be used.
    static expected<std::unique_ptr<Tls>> of_server(const std::string& cert_file,
                                                    const std::string& key_file);
    /// Trusts what the file holds, or without one what the system trusts.
    static expected<std::unique_ptr<Tls>> of_client(const std::string& ca_file);
    explicit Tls(std::unique_ptr<Context> context);
    ~Tls();
    [[nodiscard]] Context& context() const { return *context_; }

  private:
    const std::unique_ptr<Context> context_;
};

class Stream {
  public:
    using Done = std::move_only_function<void(const error_code&)>;
    using Moved = std::move_only_function<void(const error_code&, std::size_t size)>;
    using Found = std::move_only_function<void(const error_code&, std::vector<std::string>)>;

    virtual ~Stream() = default;

    /// The addresses of a host.
    virtual void resolve(const std::string& host, std::uint16_t port, Found found) = 0;
    /// Connects to the first of the addresses that can be reached.
    virtual void connect(const std::vector<std::string>& addresses, std::uint16_t port,
                         Done done) = 0;
    /// Begins TLS; a plain stream has nothing to do and calls at once.
    virtual void greet_client(Done done) = 0;
    /// The same from the other side: the server must prove to be `host`.
    virtual void greet_server(const std::string& host, Done done) = 0;

    /// One of each at a time. `into` and `bytes` stay until it is done.
    virtual void read_some(std::span<char> into, Moved done) = 0;
    virtual void write(std::string_view bytes, Moved done) = 0;

    /// Small pieces go out at once.
    virtual void no_delay() = 0;
    /// Programs that this process starts do not inherit it.
    virtual void close_on_exec() = 0;
    [[nodiscard]] virtual std::string peer() = 0;
    /// Says that no more will be sent.
    virtual void shutdown_send() = 0;
    virtual void shutdown() = 0;
    virtual void close() = 0;
};

/// One that is not connected yet; with `tls` under TLS.
std::unique_ptr<Stream> make_stream(EventLoop& loop, const Tls* tls);
/// Puts a plain one, as Listener::accept gives it, under TLS.
std::unique_ptr<Stream> under_tls(std::unique_ptr<Stream> plain, const Tls& tls);

/// Where connections are accepted.
class Listener {
  public:
    using Accepted = std::move_only_function<void(const error_code&, std::unique_ptr<Stream>)>;

    explicit Listener(EventLoop& loop);
    ~Listener();

    /// `invalid_config` when that is not possible.
    expected<void> listen(const std::string& host, std::uint16_t port);
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] bool is_open() const;
    /// The next connection, which will live on `onto`. Told on the listener's loop.
    void accept(EventLoop& onto, Accepted accepted);
    void close();

  private:
    struct Acceptor;
    const std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace ff::net
