// Records in and out of one SQLite connection: statements made from the column lists of tables.h,
// prepared once and kept.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "store/sql_rows.h"
#include "store/sqlite_db.h"

namespace ff::store {

/// Prepared statements by text. A statement is used by one caller at a time and reset after use.
class StatementCache {
  public:
    using Connection = SqliteDb;
    explicit StatementCache(SqliteDb& db) : db_(db) {}
    /// Aborts when the text does not prepare: texts are ours, and a test prepares them all.
    Statement& get(const std::string& text) {
        auto it = statements_.find(text);
        if (it == statements_.end()) {
            auto statement = db_.prepare(text);
            FF_CHECK(statement.has_value(), statement ? "" : statement.error().message().c_str());
            it = statements_.emplace(text, std::move(*statement)).first;
        }
        return it->second;
    }

  private:
    SqliteDb& db_;
    std::unordered_map<std::string, Statement> statements_;
};

/// Writes of one table. Statements differ by which columns they name, so they are kept by mask.
template <class Row>
class RowWriter {
  public:
    explicit RowWriter(SqliteDb& db) : db_(db) {}

    /// A row whose key is new.
    expected<void> insert(const Row& row) {
        return write(inserts_, row, insert_mask(row), "INSERT INTO ");
    }
    /// Rows whose keys are new, many with one statement where they have the same columns: that
    /// costs a fifth less for each.
    expected<void> insert_all(const std::vector<const Row*>& rows) {
        for (std::size_t at = 0; at < rows.size();) {
            const ColumnMask mask = insert_mask(*rows[at]);
            std::size_t end = at + 1;
            while (end < rows.size() && end - at < rows_at_once &&
                   insert_mask(*rows[end]) == mask) {
                ++end;
            }
            if (end - at == rows_at_once) {
                FF_TRY_VOID(insert_set(rows.data() + at, mask));
                at = end;
            }
            for (; at < end; ++at) {
                FF_TRY_VOID(insert(*rows[at]));
            }
        }
        return {};
    }
    /// A row that may replace one of the same key.
    expected<void> put(const Row& row) {
        return write(replaces_, row, insert_mask(row), "INSERT OR REPLACE INTO ");
    }
    /// Only the columns that changed.
    expected<void> update(const Row& before, const Row& after) {
        const ColumnMask mask = difference(before, after);
        if (mask == 0) {
            return {};
        }
        auto it = updates_.find(mask);
        if (it == updates_.end()) {
            FF_TRY(Statement statement, db_.prepare(update_text(table_info<Row>, mask)));
            it = updates_.emplace(mask, std::move(statement)).first;
        }
        put_columns(it->second, after, mask);
        put_columns(it->second, after, key_mask<Row>());
        return it->second.run();
    }
    expected<void> erase(const Row& row) {
        if (!erase_) {
            FF_TRY(erase_, db_.prepare(delete_text(table_info<Row>)));
        }
        put_columns(erase_, row, key_mask<Row>());
        return erase_.run();
    }

  private:
    using Statements = std::unordered_map<ColumnMask, Statement>;

    expected<void> write(Statements& statements, const Row& row, ColumnMask mask,
                         const std::string& verb) {
        auto it = statements.find(mask);
        if (it == statements.end()) {
            std::string text = insert_text(table_info<Row>, mask);
            text.replace(0, std::string("INSERT INTO ").size(), verb);
            FF_TRY(Statement statement, db_.prepare(text));
            it = statements.emplace(mask, std::move(statement)).first;
        }
        put_columns(it->second, row, mask);
        return it->second.run();
    }

    static constexpr std::size_t rows_at_once = 16;

    /// A conflict ends the transaction, as it does anyway: a statement that could be undone alone
    /// would have to keep a journal of its own, which costs more than what is won.
    expected<void> insert_set(const Row* const* rows, ColumnMask mask) {
        auto it = sets_.find(mask);
        if (it == sets_.end()) {
            std::string text = insert_text(table_info<Row>, mask, "", rows_at_once);
            text.replace(0, std::string("INSERT").size(), "INSERT OR ROLLBACK");
            FF_TRY(Statement statement, db_.prepare(text));
            it = sets_.emplace(mask, std::move(statement)).first;
        }
        for (std::size_t i = 0; i < rows_at_once; ++i) {
            put_columns(it->second, *rows[i], mask);
        }
        return it->second.run();
    }

    SqliteDb& db_;
    Statements inserts_;
    Statements sets_;
    Statements replaces_;
    Statements updates_;
    Statement erase_;
};

}  // namespace ff::store
