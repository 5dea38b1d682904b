// The bytes of a connection, plain or under TLS, and how one is made: by connecting or listening.
//
// One type for both ends and for both kinds of streams: Asio is seen by this room only, and what it
// makes of each operation is compiled once. Loop thread only, unless said otherwise.
//
// Who is to be told is told once, on the loop, and after the call has returned unless said
// otherwise. What is still under way when a stream is closed ends with an error (is_aborted). What
// had finished by then, and only waits for its turn to be told, is told as it went, success
// included: after close() a handler must look whether anything is still wanted. A stream may go
// before its handlers have been called: what is under way keeps the socket, and ends as after
// close().
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
    /// For this room.
    [[nodiscard]] Context& context() const { return *context_; }

  private:
    const std::unique_ptr<Context> context_;
};

class Stream {
  public:
    using Done = std::move_only_function<void(const error_code&)>;
    using Moved = std::move_only_function<void(const error_code&, std::size_t size)>;
    using Found = std::move_only_function<void(const error_code&, std::vector<std::string>)>;

    /// Closes it.
    virtual ~Stream() = default;

    /// The addresses of a host. The system cannot be stopped looking: after close() this is told
    /// only when the system has answered, and the loop does not end before.
    virtual void resolve(const std::string& host, std::uint16_t port, Found found) = 0;
    /// Connects to the first of the addresses that can be reached.
    virtual void connect(const std::vector<std::string>& addresses, std::uint16_t port,
                         Done done) = 0;
    /// Begins TLS; a plain stream has nothing to do and calls at once.
    virtual void greet_client(Done done) = 0;
    /// The same from the other side: the server must prove to be `host`. Calls at once, too, when
    /// that cannot be the name of a server.
    virtual void greet_server(const std::string& host, Done done) = 0;

    /// One of each at a time. `into` and `bytes` stay until it is told, also after close().
    virtual void read_some(std::span<char> into, Moved done) = 0;
    virtual void write(std::string_view bytes, Moved done) = 0;

    [[nodiscard]] virtual std::string peer() = 0;
    // These end TLS before they end the connection, so that the other side knows that nothing was
    // cut off. Not while a write is under way, and not when the network takes nothing just then:
    // nobody waits for it.
    /// Says that no more will be sent; what comes can still be read.
    virtual void shutdown_send() = 0;
    /// The same, and what is read from now on is the end.
    virtual void shutdown() = 0;
    /// Gives the socket back. What the network has taken is still sent, unless something that came
    /// was not read: then the other side gets a reset, and may lose what it has not read yet.
    virtual void close() = 0;
};

/// One that is not connected yet; with `tls`, which outlives it, under TLS.
std::unique_ptr<Stream> make_stream(EventLoop& loop, const Tls* tls);

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
    /// The next connection, which will live on `onto`; with `tls`, which outlives it, under TLS.
    /// Told on the listener's loop.
    void accept(EventLoop& onto, const Tls* tls, Accepted accepted);
    /// Takes no more. As with a stream, a connection that was accepted before may still be told.
    void close();

  private:
    struct Acceptor;
    const std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace ff::net
