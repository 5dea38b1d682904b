// How much memory this process holds, for tests which show that it does not grow.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace ff::http::test {

/// Sanitizers keep what was freed: with one of them the figure says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool memory_is_measurable = false;
#else
inline constexpr bool memory_is_measurable = true;
#endif

/// Resident memory in KiB.
inline std::size_t resident_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) {
            return std::stoul(line.substr(6));
        }
    }
    return 0;
}

}  // namespace ff::http::test
