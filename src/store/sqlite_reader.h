// Reads over one SQLite connection.
#pragma once

#include "store/sql_reader.h"
#include "store/sqlite_rows.h"

namespace ff::store {

class SqliteReader final : public SqlReader {
  public:
    explicit SqliteReader(SqliteDb& db) : SqlReader(std::make_unique<StatementCache>(db)) {}
};

}  // namespace ff::store
