// Other programs, run for what they print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

/// Runs a program, found in PATH unless it is a path, to its end and gives all it printed. Its
/// input is empty. A program that cannot be started or ends badly is `store_io`, with the line in
/// which it says why.
expected<std::string> run_child(std::vector<std::string> words);

/// The path of a program of PostgreSQL: in PATH, or where Debian keeps those of the newest version.
expected<std::string> find_postgres_program(const std::string& name);

/// The line that says what went wrong: the first with `error` in it, else the last.
std::string_view telling_line(std::string_view printed);

}  // namespace ff::cli
