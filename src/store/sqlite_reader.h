// Reads over one SQLite connection.
#pragma once

#include "store/sql_reader.h"
#include "store/sqlite_rows.h"

namespace ff::store {

using SqliteReader = SqlReader<StatementCache>;
extern template class SqlReader<StatementCache>;

}  // namespace ff::store
