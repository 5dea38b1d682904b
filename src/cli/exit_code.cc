#include "cli/exit_code.h"

#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "cli/text.h"
#include "store/placed_file.h"
#include "store/store_file.h"

namespace ff::cli {

ExitCode exit_code_of(const Error& error) {
    if (store::is_missing_file(error)) {
        return ExitCode::not_found;
    }
    if (error.code == ErrorCode::store_in_use || store::is_in_the_way(error)) {
        return ExitCode::conflict;
    }
    if (error.code == ErrorCode::invalid_config) {
        return ExitCode::usage;
    }
    // Rows that do not read are faults of the input to a client, not to somebody with a file.
    if (error.code == ErrorCode::corruption) {
        return ExitCode::failed;
    }
    switch (info(error.code).kind) {
        case ErrorKind::not_found: return ExitCode::not_found;
        case ErrorKind::validation: return ExitCode::usage;
        case ErrorKind::contention:
        case ErrorKind::conflict:
        case ErrorKind::state: return ExitCode::conflict;
        default: return ExitCode::failed;
    }
}

void complain(std::string_view what) { fmt::print(stderr, "ff: {}\n", printable(what)); }

ExitCode complain(const Error& error) {
    // The code is for programs; people get the sentence, when there is one.
    complain(error.detail.empty() ? error.message() : error.detail);
    return exit_code_of(error);
}

}  // namespace ff::cli
