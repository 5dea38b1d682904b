// A PostgreSQL database as the source or the target of a transfer; see transfer.h.
#pragma once

#include <memory>

#include "store/transfer.h"

namespace ff::store {

/// Reads in one transaction, beside running engines. While it lasts dead rows cannot be cleared.
expected<std::unique_ptr<ExportSource>> open_postgres_export(const Location& location);

/// Migrates and writes in one transaction. From begin() on engines that have the store open wait
/// with their writes.
expected<std::unique_ptr<ImportTarget>> open_postgres_import(const Location& location);

}  // namespace ff::store
