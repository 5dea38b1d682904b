// A copy of a SQLite store while its engine runs: the whole store as of one moment, verified.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <ff/error.h>

#include "store/location.h"
#include "store/placed_file.h"

namespace ff::store {

struct BackupOptions {
    Existing existing = Existing::keep;
    bool quick = false;  ///< SQLite's quick_check instead of integrity_check
    /// Called after every step; false stops with `shutting_down`.
    std::function<bool(std::uint64_t pages, std::uint64_t total)> progress =
        [](std::uint64_t, std::uint64_t) { return true; };
};

struct BackupSummary {
    std::string path;  ///< of the copy, canonical
    std::uint64_t bytes = 0;
    std::uint64_t executions = 0;
};

/// Copies a store's file, of whatever schema version, beside its owner if there is one, and places
/// the copy when it has been checked and synced. On any fault there is no copy. The owner is not
/// held up, but cannot reuse its log until the copy is made. Errors: is_in_the_way() for a target
/// that exists, `store_in_use` for one that an engine has open, `store_corrupt` when the copy is
/// not sound.
expected<BackupSummary> backup_sqlite(const Location& from, const std::string& to,
                                      const BackupOptions& options);

}  // namespace ff::store
