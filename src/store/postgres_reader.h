// Reads over one PostgreSQL connection.
#pragma once

#include "store/postgres_db.h"
#include "store/sql_reader.h"

namespace ff::store {

using PostgresReader = SqlReader<PgStatements>;
extern template class SqlReader<PgStatements>;

}  // namespace ff::store
