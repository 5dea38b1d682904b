// Bringing a database to the newest schema and checking what it holds, for every database.
#pragma once

#include <string>

#include <ff/engine.h>
#include <ff/ids.h>

#include "store/sql_statement.h"

namespace ff::store {

/// `store_corrupt` when a migration up to this version was applied in another form.
expected<void> check_applied(SqlDb& db, int version);

/// The version of a database this program may use. Changes nothing.
expected<int> check_schema(SqlDb& db);

/// Answers what was done. `schema_too_new`, `store_corrupt` (a migration was altered).
expected<std::string> migrate(SqlDb& db);

/// `partition_mismatch` when a store that is there has another count than is asked for.
expected<void> check_partitions(SqlDb& db, const EngineOptions& options);

/// The partition counts of a store: kept when it is new, compared otherwise. `partition_mismatch`.
expected<PartitionCounts> settle_partitions(SqlDb& db, const EngineOptions& options);

}  // namespace ff::store
