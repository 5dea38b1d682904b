// Records out of a statement's rows, for every database.
#pragma once

#include <optional>
#include <vector>

#include "store/value_codec.h"

namespace ff::store {

/// Resets the statement when a column taken from its row was corrupt.
expected<void> check_row(SqlStatement& statement);

/// Takes one column that must hold what it should.
template <class T>
expected<void> take_checked(SqlStatement& statement, const char* name, T& value) {
    take_value(statement, name, value);
    return check_row(statement);
}

/// Takes the row a SELECT of all columns stands on into a new record.
expected<void> take_row(SqlStatement& statement, Columns columns, void* row);

/// Adds all rows of a bound SELECT.
expected<void> select_rows(SqlStatement& statement, RowList rows);
/// The same without those that cannot be read.
expected<void> select_readable_rows(SqlStatement& statement, RowList rows);

/// The first row of a bound SELECT, or nothing.
template <class Row>
expected<std::optional<Row>> select_one(SqlStatement& statement) {
    FF_TRY(const bool found, statement.step());
    std::optional<Row> out;
    if (found) {
        FF_TRY_VOID(take_row(statement, columns_of<Row>, &out.emplace()));
    }
    statement.reset();
    return out;
}

template <class Row>
expected<std::vector<Row>> select_all(SqlStatement& statement) {
    std::vector<Row> out;
    FF_TRY_VOID(select_rows(statement, RowList(out)));
    return out;
}

template <class Row>
expected<std::vector<Row>> select_readable(SqlStatement& statement) {
    std::vector<Row> out;
    FF_TRY_VOID(select_readable_rows(statement, RowList(out)));
    return out;
}

}  // namespace ff::store
