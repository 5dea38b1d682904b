#include "cli/exit_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "cli/plain_words.h"
#include "cli/text.h"
#include "store/placed_file.h"
#include "store/store_file.h"

namespace ff::cli {

ExitCode exit_code_of(const Error& error) {
    if (store::is_missing_file(error)) {
        return ExitCode::not_found;
    }
    if (error.code == ErrorCode::store_in_use || store::is_in_the_way(error) ||
        !error.field(ambiguous_field).empty()) {
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

ExitCode worse(ExitCode a, ExitCode b) {
    constexpr std::array from_bad_to_good{ExitCode::failed, ExitCode::usage, ExitCode::conflict,
                                          ExitCode::not_found, ExitCode::ok};
    return *std::ranges::find_if(from_bad_to_good,
                                 [&](ExitCode code) { return code == a || code == b; });
}

std::string sentence_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::execution_not_found:
            return error.detail.empty() ? "there is no such execution" : error.detail;
        case ErrorCode::budget_not_found:
            return error.detail.empty() ? "there is no such budget" : error.detail;
        case ErrorCode::quota_policy_not_found:
            return error.detail.empty() ? "there is no such quota policy" : error.detail;
        case ErrorCode::execution_not_active:
            if (const auto outcome = error.field("terminal_outcome");
                !outcome.empty() && outcome != "none") {
                return fmt::format("it has ended already: {}", outcome);
            }
            break;
        case ErrorCode::execution_not_terminal:
            return "it has not ended" + (error.detail.empty() ? "" : ": " + error.detail);
        case ErrorCode::execution_not_eligible:
            return "it is not waiting for a worker" +
                   (error.detail.empty() ? "" : " (" + error.detail + ")");
        case ErrorCode::invalid_tag_key:
            return fmt::format(
                "the key of a tag that is set or removed is NAMESPACE.KEY, such as order.id: not "
                "{} (only a submit takes plain ones)",
                error.detail);
        default: break;
    }
    if (std::string plain = plain_words(error); !plain.empty()) {
        return plain;
    }
    // The code is for programs; people get the sentence, when there is one.
    return error.detail.empty() ? error.message() : error.detail;
}

void complain(std::string_view what) { fmt::print(stderr, "ff: {}\n", printable(what)); }

ExitCode complain(const Error& error) {
    complain(sentence_of(error));
    return exit_code_of(error);
}

}  // namespace ff::cli
