#include "cli/exit_code.h"

#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::string_view missing_field = "missing_file";

}  // namespace

ExitCode exit_code_of(const Error& error) {
    if (!error.field(missing_field).empty()) {
        return ExitCode::not_found;
    }
    if (error.code == ErrorCode::store_in_use) {
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

Error missing_file(std::string_view path) {
    return {ErrorCode::store_open_failed,
            fmt::format("there is no file {}", path),
            {{std::string(missing_field), std::string(path)}}};
}

}  // namespace ff::cli
