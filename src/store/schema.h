// The schema, written once for both databases, and how it came to be: numbered migrations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::store {

enum class Dialect : std::uint8_t { sqlite, postgres };

struct Migration {
    int version;
    std::string_view name;
    std::string_view text;  ///< with tokens; see expand()
};

/// All migrations in order. The version of a store is that of the last one applied.
const std::vector<Migration>& migrations();

/// The statements of a migration in one database's words. Tokens: @int, @text, @bytes; @table ends
/// an ordinary table, @keyed one that is found only by its primary key; @postgres takes the rest of
/// its line away from every other database.
std::string expand(std::string_view text, Dialect dialect);

/// Refuses a version other than the newest: `schema_too_new`, or `store_open_failed` for an older
/// one. For who only reads; an engine migrates.
expected<void> check_known_version(int version);

/// A number of the store's own book-keeping, as a scalar gives it: `store_corrupt` when it is none
/// from `low` to `high`.
expected<std::int64_t> stored_number(const std::string& text, const char* what, std::int64_t low,
                                     std::int64_t high);
/// The highest number of a row.
expected<std::int64_t> stored_row_number(const std::string& text);
expected<int> stored_version(const std::string& text);
expected<std::uint16_t> stored_partition_count(const std::string& text);

/// Guards against a migration that was edited after it was applied.
std::string checksum(const Migration& migration);

}  // namespace ff::store
