// Which store a string names.
#pragma once

#include <optional>
#include <string>

#include <ff/error.h>

namespace ff::store {

struct Location {
    enum class Form { sqlite_file, sqlite_private_memory, sqlite_named_memory, memory, postgres };
    Form form = Form::sqlite_file;
    /// The path, the memory store's name, or the connection string.
    std::string target;
    /// Equal for two strings that name the same store in this process; empty for a private one.
    std::string identity;
};

/// The one name of a file: absolute, without links and dots. The file need not exist.
std::string canonical_path(const std::string& path);

/// Understands the table of spec 09 section 1. Errors: `invalid_config` that says what to write.
expected<Location> parse_location(const std::string& text);

/// Takes `scanners=on` or `scanners=off` out of an address: it says whether the process that opens
/// the store runs its timers and sweeps, and nothing of which store it is.
expected<std::optional<bool>> take_scanners(std::string& address);

}  // namespace ff::store
