// `ff result`: the bytes an execution gave back.
#pragma once

#include <optional>
#include <string>

#include "cli/session.h"

namespace ff::cli {

struct ResultOptions {
    std::string id;
    std::optional<std::string> out;  ///< a file instead of standard output
    bool force = false;              ///< replace the file
};

/// `not_found` when there is no result, `conflict` when the file is there already.
ExitCode run_result(const CommonOptions& common, const ResultOptions& options);

}  // namespace ff::cli
