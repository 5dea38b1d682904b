// How the program ends: one number for scripts, one line for people.
#pragma once

#include <string>
#include <string_view>

#include <ff/error.h>

namespace ff::cli {

enum class ExitCode : int { ok = 0, failed = 1, usage = 2, not_found = 3, conflict = 4 };

/// `not_found` for missing things, `usage` for bad input, `conflict` when something else is in the
/// way, otherwise `failed`.
ExitCode exit_code_of(const Error& error);

/// The worse of two, for commands that do several things: `failed`, then `usage`, `conflict`,
/// `not_found`, `ok`.
ExitCode worse(ExitCode a, ExitCode b);

/// The field of an error that names what could be more than one thing; its exit code is `conflict`.
inline constexpr std::string_view ambiguous_field = "ambiguous";

/// The error in a sentence for people.
std::string sentence_of(const Error& error);

/// Prints `ff: <what>` on stderr.
void complain(std::string_view what);
/// The same for an error; answers its exit code.
ExitCode complain(const Error& error);

}  // namespace ff::cli
