// A SQLite file as the source or the target of a transfer; see transfer.h.
#pragma once

#include <memory>

#include "store/transfer.h"

namespace ff::store {

/// Reads in one transaction, beside the owner if there is one. While it lasts the owner's log
/// cannot be reused and grows.
expected<std::unique_ptr<ExportSource>> open_sqlite_export(const Location& location);

/// Owns the file (`store_in_use` when somebody else does) until it is destroyed.
expected<std::unique_ptr<ImportTarget>> open_sqlite_import(const Location& location);

}  // namespace ff::store
