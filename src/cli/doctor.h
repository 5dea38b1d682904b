// `ff doctor`: is this store sound?
#pragma once

#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

struct DoctorOptions {
    std::string db;
    bool quick = false;
    Output output = Output::text;
};

/// `failed` when anything is wrong; warnings are not.
ExitCode run_doctor(const DoctorOptions& options);

}  // namespace ff::cli
