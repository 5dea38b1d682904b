// Is this store sound? Everything a program can find out about a store without changing it. May run
// beside its engines.
//
// Rows are visited in pages. Those of a file each in a short view of its own, so that a busy store
// is not held up; those of a PostgreSQL database all in one view. Every finding is of one moment.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ff/states.h>

#include "store/store_file.h"

namespace ff::cli {

using store::Damage;
using store::damage_of;
using store::fault_text;
using store::FileStamp;
using store::open_store_file;
using store::StoreFile;

FF_WORD_ENUM(CheckStatus, ok, warn, fail)

/// One question and its answer.
struct Check {
    static constexpr std::size_t findings_max = 5;

    std::string name;
    CheckStatus status = CheckStatus::ok;
    std::string detail;                 ///< one line
    std::vector<std::string> findings;  ///< the first ones
    std::uint64_t found = 0;            ///< how many there are

    /// Something is wrong: the check fails.
    void add(std::string finding);
};

/// Called now and then with what is being looked at and how far it is (0 of 0: not known).
using CheckProgress =
    std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

struct CheckOptions {
    bool quick = false;  ///< SQLite's quick_check instead of integrity_check
    CheckProgress progress = [](std::string_view, std::uint64_t, std::uint64_t) {};
};

/// Every check in order; those that could not run because an earlier one failed are left out.
std::vector<Check> check_store(StoreFile file, const CheckOptions& options);

/// The report on a file that is so broken that it could not be opened.
std::vector<Check> check_damaged(const Damage& damage);

/// The same for a PostgreSQL database. An error when it cannot be reached.
expected<std::vector<Check>> check_postgres(const std::string& url, const CheckOptions& options);

/// Queries that must find their rows by a key, however long the tables are.
struct HotQuery {
    const char* name;
    const std::string& text;
};
std::span<const HotQuery> hot_queries();

/// No check failed.
bool all_sound(const std::vector<Check>& checks);

}  // namespace ff::cli
