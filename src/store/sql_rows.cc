#include "store/sql_rows.h"

namespace ff::store {

expected<void> check_row(SqlStatement& statement) {
    auto ok = statement.check();
    if (!ok) {
        statement.reset();
    }
    return ok;
}

expected<void> take_row(SqlStatement& statement, Columns columns, void* row) {
    take_columns(statement, columns, row);
    return check_row(statement);
}

expected<void> select_rows(SqlStatement& statement, RowList rows) {
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            break;
        }
        FF_TRY_VOID(take_row(statement, rows.table().columns, rows.add()));
    }
    statement.reset();
    return {};
}

expected<void> select_readable_rows(SqlStatement& statement, RowList rows) {
    for (;;) {
        FF_TRY(const bool found, statement.step());
        if (!found) {
            break;
        }
        take_columns(statement, rows.table().columns, rows.add());
        if (!statement.check()) {
            rows.drop_last();
        }
    }
    statement.reset();
    return {};
}

}  // namespace ff::store
