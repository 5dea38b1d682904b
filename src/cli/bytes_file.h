// Payloads from files and from standard input.
#pragma once

#include <string>

#include <ff/error.h>

namespace ff::cli {

/// Beyond this no engine takes a payload, so there is no use in reading on.
inline constexpr std::size_t payload_bytes_max = 4U << 20;

/// The whole file. A file that is not there is a missing one (see store::is_missing_file).
expected<std::string> read_bytes(const std::string& path);
expected<std::string> read_standard_input();

}  // namespace ff::cli
