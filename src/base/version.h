// Versions of other programs, as these spell them.
#pragma once

#include <cstdint>
#include <string_view>

namespace ff {

struct Version {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t patch = 0;
    int given = 0;  ///< how many of them there were
};

/// The numbers with dots between them that a text begins with, three at most: `15.18 (Debian …)`.
Version parse_version(std::string_view text);

}  // namespace ff
