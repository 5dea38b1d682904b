#include "client/remote.h"

#include "client/remote_engine.h"

namespace ff::client {

expected<std::shared_ptr<Engine>> open_remote(const std::string& url,
                                              const ConnectOptions& options) {
    RemoteOptions remote;
    remote.request_timeout = options.request_timeout;
    remote.connect_timeout = options.connect_timeout;
    remote.bearer_token = options.bearer_token;
    remote.retry_base = options.retry.base;
    remote.retry_factor = options.retry.factor;
    remote.tries = options.retry.tries;
    remote.jitter = options.retry.jitter;
    remote.ca_file = options.ca_file;
    return RemoteEngine::connect(url, remote);
}

}  // namespace ff::client
