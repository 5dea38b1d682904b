// Is this store sound? Everything a program can find out about a store's file without changing it.
//
// May run beside the owner: rows are visited in pages, each in a short view of its own, so that a
// busy store is not held up and every finding is of one consistent moment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/read_only_store.h"

namespace ff::cli {

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

/// No check failed.
bool all_sound(const std::vector<Check>& checks);

}  // namespace ff::cli
