// What may be told of a webhook's address.
#pragma once

#include <string_view>

namespace ff::core {

/// Its host, with the port. The rest is often a credential: it stands in no event and no log.
constexpr std::string_view webhook_host(std::string_view url) {
    const std::size_t scheme = url.find("://");
    const std::string_view rest = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
    return rest.substr(0, rest.find_first_of("/?#"));
}

}  // namespace ff::core
