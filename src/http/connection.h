// One connection of a client: requests in, answers out, one at a time and in order.
//
// Lives on one loop and is touched by no other thread. While a request is being worked on it keeps
// reading, so that it hears when the client goes; what comes early is kept, up to a bound.
#pragma once

#include <functional>
#include <memory>

#include "http/loop.h"
#include "http/service.h"
#include "net/stream.h"

namespace ff::http {

/// Starts serving a stream that was accepted for `loop`. The connection holds itself until it ends;
/// the service and the loop outlive it.
void serve_connection(std::unique_ptr<net::Stream> stream, Service& service, Loop& loop,
                      std::function<void()> ended);

}  // namespace ff::http
