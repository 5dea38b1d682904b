// The engine of a server, reached over HTTP.
#pragma once

#include <memory>
#include <string>

#include <ff/engine.h>

namespace ff::client {

/// `url` is `http://host[:port]` or `https://…`. The options have been checked.
expected<std::shared_ptr<Engine>> open_remote(const std::string& url,
                                              const ConnectOptions& options);

}  // namespace ff::client
