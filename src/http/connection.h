// One connection of a client: requests in, answers out, one at a time and in order.
//
// Lives on one loop and is touched by no other thread. While a request is being worked on it keeps
// reading, so that it hears when the client goes; what comes early is kept, up to a bound.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>

#include "http/loop.h"
#include "http/service.h"

namespace ff::http {

/// Starts serving a socket that was accepted on `loop`. With `tls` the client must speak TLS. The
/// connection holds itself until it ends; the service and the loop outlive it.
void serve_connection(boost::asio::ip::tcp::socket socket, Service& service, Loop& loop,
                      boost::asio::ssl::context* tls, std::function<void()> ended);

}  // namespace ff::http
