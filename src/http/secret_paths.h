// For routes whose path is the credential: who has guessed too often is not heard any more.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/service.h"

namespace ff::http {

/// 429, or nothing when this address may try at that.
inline std::optional<wire::Answer> refuse_guessing(Service& service, std::string_view peer,
                                                   std::string_view target = {}) {
    const std::int64_t seconds = service.failed_attempts().seconds_to_wait(peer, target);
    if (seconds == 0) {
        return std::nullopt;
    }
    const json body{{"error", "too many failed attempts from this address"},
                    {"kind", "resource_exhausted"},
                    {"retryable", true}};
    return wire::Answer{
        429, js::dump(body), "application/json", {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace ff::http
