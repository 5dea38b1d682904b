// Records out of a statement's rows, for every database. A Statement is bound with the calls of
// value_codec.h, stepped, and is the source of the row it stands on.
#pragma once

#include <optional>
#include <vector>

#include "store/value_codec.h"

namespace ff::store {

/// Resets the statement when a column taken from its row was corrupt.
template <class Statement>
expected<void> check_row(Statement& statement) {
    auto ok = statement.check();
    if (!ok) {
        statement.reset();
    }
    return ok;
}

/// Takes one column that must hold what it should.
template <class Statement, class T>
expected<void> take_checked(Statement& statement, const char* name, T& value) {
    take_value(statement, name, value);
    return check_row(statement);
}

/// Takes the row a SELECT of all columns stands on into a new record.
template <class Row, class Statement>
expected<void> take_row(Statement& statement, Row& row) {
    take_columns(statement, row);
    return check_row(statement);
}

/// The first row of a bound SELECT, or nothing.
template <class Row, class Statement>
expected<std::optional<Row>> select_one(Statement& statement) {
    FF_TRY(const bool found, statement.step());
    std::optional<Row> out;
    if (found) {
        FF_TRY_VOID(take_row(statement, out.emplace()));
    }
    statement.reset();
    return out;
}

template <class Row, class Statement>
expected<std::vector<Row>> select_all(Statement& statement) {
    std::vector<Row> out;
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            break;
        }
        FF_TRY_VOID(take_row(statement, out.emplace_back()));
    }
    statement.reset();
    return out;
}

/// The same without those that cannot be read.
template <class Row, class Statement>
expected<std::vector<Row>> select_readable(Statement& statement) {
    std::vector<Row> out;
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            break;
        }
        take_columns(statement, out.emplace_back());
        if (!statement.check()) {
            out.pop_back();
        }
    }
    statement.reset();
    return out;
}

}  // namespace ff::store
