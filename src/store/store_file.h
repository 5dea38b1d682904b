// A store's file, opened to look at and never to change: beside its owner, or when it has none.
//
// One connection, one thread. What is seen is committed; unlike the owner's own readers it may be
// a few milliseconds ahead of the disk.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ff/error.h>
#include <ff/ids.h>

#include "store/sqlite_db.h"

namespace ff::store {

/// What changes when somebody writes to a store.
struct FileStamp {
    std::uint64_t bytes = 0;
    std::int64_t written_at = 0;
    bool has_log = false;

    static FileStamp of(const std::string& path);
    bool operator==(const FileStamp&) const = default;
};

/// A SQLite database opened read-only, of whatever program and schema.
struct StoreFile {
    std::string path;  ///< canonical
    std::unique_ptr<SqliteDb> db;
    /// Nobody had it open, so it was opened as a file that does not change: nothing is locked and
    /// nothing is left beside it. What is seen counts only while `stamp` is still right.
    bool immutable = false;
    FileStamp stamp;

    /// A fault when it was opened as immutable and has changed since: what was seen may be half
    /// old, half new.
    [[nodiscard]] expected<void> check_unchanged() const;
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::uint64_t log_bytes() const;
};

/// `text` as for Engine::open; only files. Errors say what to do; see is_missing_file(). A file
/// that is no database is `store_open_failed`, a broken one `store_corrupt`; see damage_of().
expected<StoreFile> open_store_file(const std::string& text);
/// The same for a file's path.
expected<StoreFile> open_store_path(const std::string& path);

/// What is wrong with the file itself, and what SQLite says about it.
struct Damage {
    std::string path;
    std::string what;  ///< `the file is damaged or cut short: …`
    std::string sqlite;
};
/// Set when open_store_file() refused the file because of what is in it.
std::optional<Damage> damage_of(const Error& error);

/// The error in SQLite's words and without the statement, which says nothing to people. To be
/// called before `db` is used again.
std::string fault_text(const Error& error, const SqliteDb& db);

/// SqliteDb::schema_version() where a store has to be: `store_open_failed` when there is none.
expected<int> version_of_store(SqliteDb& db);
/// Refuses a schema this program does not know exactly: `schema_too_new`, or `store_open_failed`
/// for an older one. Afterwards every text of the catalogue prepares.
expected<void> check_known_schema(const StoreFile& file);
/// `store_corrupt` when a text of the catalogue, or one of `more`, does not prepare: whoever uses
/// them takes that for granted.
expected<void> check_texts(SqliteDb& db, const std::string& path,
                           std::initializer_list<std::string> more = {});

/// The error of a file that is not there, and whether an error is that one, or of a database that
/// is not there.
Error missing_file(std::string_view path);
bool is_missing_file(const Error& error);

}  // namespace ff::store
