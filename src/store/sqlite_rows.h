// Records in and out of one SQLite connection: statements made from the column lists of tables.h,
// prepared once and kept.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/sql_rows.h"
#include "store/sqlite_db.h"

namespace ff::store {

/// Prepared statements by text. A statement is used by one caller at a time and reset after use.
class StatementCache final : public SqlStatements {
  public:
    explicit StatementCache(SqliteDb& db) : db_(db) {}
    /// Aborts when the text does not prepare: texts are ours, and a test prepares them all.
    Statement& get(const std::string& text) override;

  private:
    SqliteDb& db_;
    std::unordered_map<std::string, Statement> statements_;
};

/// Writes of one table. Statements differ by which columns they name, so they are kept by mask.
class TableWriter {
  public:
    TableWriter(SqliteDb& db, const TableInfo& table) : db_(db), table_(table) {}

    expected<void> insert(const void* row);
    expected<void> insert_all(const std::vector<const void*>& rows);
    expected<void> put(const void* row);
    expected<void> update(const void* before, const void* after);
    expected<void> erase(const void* row);

  private:
    using Statements = std::unordered_map<ColumnMask, Statement>;

    expected<void> write(Statements& statements, const void* row, ColumnMask mask,
                         const std::string& verb);
    expected<void> insert_one(const void* row, ColumnMask mask);
    expected<void> insert_set(const void* const* rows, ColumnMask mask);

    SqliteDb& db_;
    const TableInfo& table_;
    Statements inserts_;
    Statements sets_;
    Statements replaces_;
    Statements updates_;
    Statement erase_;
};

/// The same with the type of the rows.
template <class Row>
class RowWriter {
  public:
    explicit RowWriter(SqliteDb& db) : writer_(db, table_info<Row>) {}

    /// A row whose key is new.
    expected<void> insert(const Row& row) { return writer_.insert(&row); }
    /// Rows whose keys are new, many with one statement where they have the same columns: that
    /// costs a fifth less for each.
    expected<void> insert_all(const std::vector<const Row*>& rows) {
        return writer_.insert_all(std::vector<const void*>(rows.begin(), rows.end()));
    }
    /// A row that may replace one of the same key.
    expected<void> put(const Row& row) { return writer_.put(&row); }
    /// Only the columns that changed.
    expected<void> update(const Row& before, const Row& after) {
        return writer_.update(&before, &after);
    }
    expected<void> erase(const Row& row) { return writer_.erase(&row); }

  private:
    TableWriter writer_;
};

}  // namespace ff::store
