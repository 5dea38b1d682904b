// Reads over one PostgreSQL connection.
#pragma once

#include "store/postgres_db.h"
#include "store/sql_reader.h"

namespace ff::store {

class PostgresReader final : public SqlReader {
  public:
    explicit PostgresReader(PgConnection& connection)
        : SqlReader(std::make_unique<PgStatements>(connection)) {}
};

}  // namespace ff::store
