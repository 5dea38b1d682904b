// Records in and out of one SQLite connection: statements made from the column lists of tables.h,
// prepared once and kept.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "store/sqlite_db.h"
#include "store/value_codec.h"

namespace ff::store {

/// Prepared statements by text. A statement is used by one caller at a time and reset after use.
class StatementCache {
  public:
    explicit StatementCache(SqliteDb& db) : db_(db) {}
    /// Aborts when the text does not prepare: texts are ours, and a test prepares them all.
    Statement& get(const std::string& text) {
        auto it = statements_.find(text);
        if (it == statements_.end()) {
            auto statement = db_.prepare(text);
            FF_CHECK(statement.has_value(),
                     statement ? "" : statement.error().message().c_str());
            it = statements_.emplace(text, std::move(*statement)).first;
        }
        return it->second;
    }

  private:
    SqliteDb& db_;
    std::unordered_map<std::string, Statement> statements_;
};

/// Resets the statement when a column taken from its row was corrupt.
inline Result<void> check_row(Statement& statement) {
    auto ok = statement.check();
    if (!ok) {
        statement.reset();
    }
    return ok;
}

/// Takes one column that must hold what it should.
template <class T>
Result<void> take_checked(Statement& statement, const char* name, T& value) {
    take_value(statement, name, value);
    return check_row(statement);
}

/// Takes the row a SELECT of all columns stands on.
template <class Row>
Result<Row> take_row(Statement& statement) {
    Row row;
    take_columns(statement, row);
    FF_TRY_VOID(check_row(statement));
    return row;
}

/// The first row of a bound SELECT, or nothing.
template <class Row>
Result<std::optional<Row>> select_one(Statement& statement) {
    FF_TRY(const bool found, statement.step());
    std::optional<Row> out;
    if (found) {
        FF_TRY(out, take_row<Row>(statement));
    }
    statement.reset();
    return out;
}

template <class Row>
Result<std::vector<Row>> select_all(Statement& statement) {
    std::vector<Row> out;
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            break;
        }
        FF_TRY(Row row, take_row<Row>(statement));
        out.push_back(std::move(row));
    }
    statement.reset();
    return out;
}

/// Writes of one table. Statements differ by which columns they name, so they are kept by mask.
template <class Row>
class RowWriter {
  public:
    explicit RowWriter(SqliteDb& db) : db_(db) {}

    /// A row whose key is new.
    Result<void> insert(const Row& row) {
        return write(inserts_, row, insert_mask(row), "INSERT INTO ");
    }
    /// A row that may replace one of the same key.
    Result<void> put(const Row& row) {
        return write(replaces_, row, insert_mask(row), "INSERT OR REPLACE INTO ");
    }
    /// Only the columns that changed.
    Result<void> update(const Row& before, const Row& after) {
        const ColumnMask mask = difference(before, after);
        if (mask == 0) {
            return {};
        }
        auto it = updates_.find(mask);
        if (it == updates_.end()) {
            FF_TRY(Statement statement, db_.prepare(update_text<Row>(mask)));
            it = updates_.emplace(mask, std::move(statement)).first;
        }
        put_columns(it->second, after, mask);
        put_columns(it->second, after, key_mask<Row>());
        return it->second.run();
    }
    Result<void> erase(const Row& row) {
        if (!erase_) {
            FF_TRY(erase_, db_.prepare(delete_text<Row>()));
        }
        put_columns(erase_, row, key_mask<Row>());
        return erase_.run();
    }

  private:
    using Statements = std::unordered_map<ColumnMask, Statement>;

    Result<void> write(Statements& statements, const Row& row, ColumnMask mask,
                       const std::string& verb) {
        auto it = statements.find(mask);
        if (it == statements.end()) {
            std::string text = insert_text<Row>(mask);
            text.replace(0, std::string("INSERT INTO ").size(), verb);
            FF_TRY(Statement statement, db_.prepare(text));
            it = statements.emplace(mask, std::move(statement)).first;
        }
        put_columns(it->second, row, mask);
        return it->second.run();
    }

    SqliteDb& db_;
    Statements inserts_;
    Statements replaces_;
    Statements updates_;
    Statement erase_;
};

}  // namespace ff::store
