// The parts of a transfer that are the same in every database that speaks SQL: pages of rows, what
// a store is beside its rows, whether it is empty.
#pragma once

#include <string>

#include "store/sql_statement.h"
#include "store/transfer.h"

namespace ff::store {

/// See RowPages::next_page().
expected<void> next_page_on(SqlStatements& statements, RowBatch& batch, std::size_t limit);

/// As stored; 1 where nothing is.
expected<PartitionCounts> stored_partitions(SqlDb& db);

/// Facts of a store whose schema this program knows; `schema` is its version.
expected<StoreFacts> facts_of(SqlDb& db, int schema);

/// Refuses a store that holds anything but lanes, which an engine registers when it makes one.
/// `schema` is its version: tables that came later are not there.
expected<void> check_empty(SqlDb& db, int schema, const std::string& where);

/// In the transaction of an import: what a store that was opened before has must be the same.
expected<void> import_partitions(SqlDb& db, const PartitionCounts& counts);

/// Notes the highest numbers ever given out.
expected<void> note_numbers(SqlStatements& statements, const StoreFacts& facts);

}  // namespace ff::store
