// `ff profiles`: the names that the profiles file knows.
#pragma once

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

/// Tokens are named as `set`, never shown; addresses without their passwords.
ExitCode list_profiles(Output output);

}  // namespace ff::cli
