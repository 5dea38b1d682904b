// Columns by the type of their record. Production code goes over them by address; tests that put
// values of their own into the members need their types.
#pragma once

#include "store/tables.h"

namespace ff::store::test {

/// Calls `fn(column, row.member...)` for each column.
template <class Row, class Fn, class... Rows>
void for_each_column(Fn&& fn, Rows&... rows) {
    Table<Row>::columns(fn, rows...);
}

/// The columns in which two records differ.
template <class Row>
ColumnMask difference(const Row& a, const Row& b) {
    return store::difference(columns_of<Row>, &a, &b);
}

template <class Row>
constexpr ColumnMask all_columns() {
    return ~ColumnMask{0} >> (columns_max - columns_of<Row>.size());
}

}  // namespace ff::store::test
