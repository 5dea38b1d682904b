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

#include "store/sql_statement.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ff::store {

/// A prepared statement. text() and bytes() keep the pointer until reset().
class Statement final : public SqlStatement {
  public:
    Statement() = default;
    Statement(sqlite3* db, sqlite3_stmt* handle) : db_(db), handle_(handle) {}
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    void null() override;
    void integer(std::int64_t value) override;
    void text(std::string_view value) override;
    void bytes(std::string_view value) override;
    void text_copy(const std::string& value) override;
    void bytes_copy(const std::string& value) override;

    expected<bool> step() override;
    expected<void> run() override;
    void reset() override;

    [[nodiscard]] bool is_null() const override;
    void skip() override { ++column_; }
    std::int64_t integer() override;
    std::string_view bytes() override;
    void corrupt(const char* name, const std::string& value) override;
    [[nodiscard]] expected<void> check() const override;

    [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

  private:
    void note_bind(int code) { bind_fault_ = bind_fault_ == 0 ? code : bind_fault_; }

    sqlite3* db_ = nullptr;
    sqlite3_stmt* handle_ = nullptr;
    int parameter_ = 0;
    int bind_fault_ = 0;  ///< the first since the last reset()
    int column_ = 0;
    std::string corrupt_;
};

/// How a connection is opened. `write_at_once` writes each commit to the log in one piece; see
/// log_vfs.h.
enum class OpenMode : std::uint8_t { write, write_at_once, read_only };

class SqliteDb final : public SqlDb {
  public:
    /// `location` is a path or a SQLite URI.
    static expected<std::unique_ptr<SqliteDb>> open(const std::string& location, OpenMode mode,
                                                    int busy_timeout_ms);
    ~SqliteDb();
    SqliteDb(const SqliteDb&) = delete;
    SqliteDb& operator=(const SqliteDb&) = delete;

    expected<Statement> prepare(const std::string& text);
    expected<void> execute(const std::string& text) override;
    expected<std::string> scalar(const std::string& text) override;

    [[nodiscard]] Dialect dialect() const override { return Dialect::sqlite; }
    [[nodiscard]] const char* begin_migration() const override { return "BEGIN IMMEDIATE"; }
    /// `store_open_failed` when it holds tables of another program.
    expected<int> schema_version() override;

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
/// 3'051'003 is 3.51.3.
int sqlite_version_number();

}  // namespace ff::store
