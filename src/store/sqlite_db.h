// A thin wrapper on SQLite's C API: connections and prepared statements. One thread at a time.
//
// Statement texts use $1..$n. SQLite treats these as names and gives them slots by first
// appearance; all our texts mention them in order, which prepare() checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ff/error.h>

#include "store/schema.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ff::store {

class SqliteDb;

/// A prepared statement, used as: bind in order with the sink calls, then step() until it gives
/// false; reset() before the next use (run() does both). Also the Source of the current row.
class Statement {
  public:
    Statement() = default;
    Statement(sqlite3* db, sqlite3_stmt* handle) : db_(db), handle_(handle) {}
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    // Sink: the next parameter. text() and bytes() keep the pointer until reset().
    void null();
    void integer(std::int64_t value);
    void text(std::string_view value);
    void bytes(std::string_view value);
    void text_copy(const std::string& value);
    void bytes_copy(const std::string& value);

    /// True when there is a row. Columns are then taken in order, starting at the first.
    expected<bool> step();
    /// Steps to the end, then resets.
    expected<void> run();
    void reset();

    // Source: the next column.
    [[nodiscard]] bool is_null() const;
    void skip() { ++column_; }
    std::int64_t integer();
    std::string_view bytes();
    /// Remembers the first column that does not hold what it should.
    void corrupt(const char* name, const std::string& value);
    /// `corruption` if any column was corrupt since the last step.
    expected<void> check() const;

    [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

  private:
    void note_bind(int code) { bind_fault_ = bind_fault_ == 0 ? code : bind_fault_; }

    sqlite3* db_ = nullptr;
    sqlite3_stmt* handle_ = nullptr;
    int parameter_ = 0;
    int bind_fault_ = 0;  ///< the first since the last step
    int column_ = 0;
    std::string corrupt_;
};

/// How a connection is opened. `write_at_once` writes each commit to the log in one piece; see
/// log_vfs.h.
enum class OpenMode : std::uint8_t { write, write_at_once, read_only };

class SqliteDb {
  public:
    static constexpr Dialect dialect = Dialect::sqlite;
    static constexpr const char* begin_migration = "BEGIN IMMEDIATE";

    /// `location` is a path or a SQLite URI.
    static expected<std::unique_ptr<SqliteDb>> open(const std::string& location, OpenMode mode,
                                                    int busy_timeout_ms);
    ~SqliteDb();
    SqliteDb(const SqliteDb&) = delete;
    SqliteDb& operator=(const SqliteDb&) = delete;

    expected<Statement> prepare(const std::string& text);
    /// Runs one or more statements that give no rows.
    expected<void> execute(const std::string& text);
    /// The single value of a single row, as text; empty when there is none.
    expected<std::string> scalar(const std::string& text);
    [[nodiscard]] sqlite3* handle() const { return db_; }
    /// The path of its file; empty for a database in memory.
    [[nodiscard]] std::string file() const;
    [[nodiscard]] std::int64_t changes() const;

  private:
    explicit SqliteDb(sqlite3* db) : db_(db) {}
    sqlite3* db_;
};

/// Turns a SQLite result code into an error: `store_busy`, `store_full`, `store_io`,
/// `store_corrupt` or `internal`. It names the file, unless that is in memory.
Error sqlite_error(sqlite3* db, int code, std::string_view doing);
/// The version of the library in use.
std::string sqlite_version();

}  // namespace ff::store
