// Engine::connect: from an address to an engine, embedded or remote.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <ff/engine.h>
#include <ff/exception.h>

#include "client/remote.h"
#include "store/location.h"

namespace ff {

namespace {

constexpr int postgres_pool_size = 10;

std::string default_address() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment while connecting
    const char* given = std::getenv("FF_CONNECT");
    return given != nullptr && *given != '\0' ? given : "sqlite:flowfabric.db";
}

bool is_remote(std::string_view address) {
    return address.starts_with("http://") || address.starts_with("https://");
}

bool is_postgres(std::string_view address) {
    return address.starts_with("postgres://") || address.starts_with("postgresql://");
}

expected<void> check_token(const std::string& token) {
    if (std::ranges::all_of(token, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); })) {
        return ff::fail(ErrorCode::invalid_config, "bearer_token is empty");
    }
    const auto bad = std::ranges::find_if(token, [](char c) { return c <= ' ' || c > '~'; });
    if (bad != token.end()) {
        return ff::fail(ErrorCode::invalid_config,
                        "bearer_token: a header cannot carry the byte at index " +
                            std::to_string(bad - token.begin()));
    }
    return {};
}

expected<void> check(const ConnectOptions& options) {
    if (options.bearer_token) {
        FF_TRY_VOID(check_token(*options.bearer_token));
    }
    const auto refuse = [](const char* text) { return ff::fail(ErrorCode::invalid_config, text); };
    if (options.request_timeout.count() < 1) {
        return refuse("request_timeout must be at least 1 ms");
    }
    if (options.connect_timeout.count() < 1) {
        return refuse("connect_timeout must be at least 1 ms");
    }
    if (options.retry.tries < 1) {
        return refuse("retry.tries must be at least 1");
    }
    if (options.retry.base.count() < 0) {
        return refuse("retry.base must not be negative");
    }
    if (!(options.retry.factor >= 1.0 && options.retry.factor <= 100.0)) {
        return refuse("retry.factor must be between 1 and 100");
    }
    if (!(options.retry.jitter >= 0.0 && options.retry.jitter <= 1.0)) {
        return refuse("retry.jitter must be between 0 and 1");
    }
    return {};
}

expected<std::shared_ptr<Engine>> open_embedded(std::string address,
                                                const ConnectOptions& options) {
    FF_TRY(const std::optional<bool> in_address, store::take_scanners(address));
    EngineOptions engine = options.engine;
    if (const auto scanners = in_address ? in_address : options.scanners) {
        engine.background = *scanners;
    }
    if (options.pool_size) {
        engine.pool_size = *options.pool_size;
    } else if (is_postgres(address) && engine.pool_size == EngineOptions{}.pool_size) {
        engine.pool_size = postgres_pool_size;
    }
    return Engine::open(address, engine);
}

}  // namespace

expected<std::shared_ptr<Engine>> Engine::try_connect(const std::string& address,
                                                      const ConnectOptions& options) {
    FF_TRY_VOID(check(options));
    if (!is_remote(address)) {
        return open_embedded(address, options);
    }
    std::string url = address;
    while (url.ends_with('/')) {
        url.pop_back();
    }
    return client::open_remote(url, options);
}

expected<std::shared_ptr<Engine>> Engine::try_connect(const ConnectOptions& options) {
    return try_connect(default_address(), options);
}

std::shared_ptr<Engine> Engine::connect(const std::string& address, const ConnectOptions& options) {
    return value_or_throw(try_connect(address, options));
}

std::shared_ptr<Engine> Engine::connect(const ConnectOptions& options) {
    return value_or_throw(try_connect(options));
}

}  // namespace ff
