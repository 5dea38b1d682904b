#include "client/remote.h"

namespace ff::client {

expected<std::shared_ptr<Engine>> open_remote(const std::string& url, const ConnectOptions&) {
    return ff::fail(ErrorCode::invalid_config,
                    url + ": this build has no HTTP client; write sqlite:PATH or postgres://…");
}

}  // namespace ff::client
