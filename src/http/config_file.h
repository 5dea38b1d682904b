// A configuration file: `NAME = value` lines in TOML.
#pragma once

#include <string>
#include <vector>

#include <ff/error.h>

#include "http/config.h"

namespace ff::http {

/// One setting as the environment would have it: numbers and truth in words, arrays of strings
/// joined by commas.
struct FileSetting {
    std::string name;
    std::string text;
    std::string where;  ///< `ff.toml:3`
};

/// In the order of the file. Knows nothing of which names exist. `invalid_config` with
/// `<file>:<line>: <what>`.
expected<std::vector<FileSetting>> read_config_file(const ConfigFile& file);

}  // namespace ff::http
