// Which database a transfer goes from or to.
#include "store/sqlite_transfer.h"
#include "store/transfer.h"

namespace ff::store {

namespace {

std::unexpected<Error> no_transfer(const Location& location) {
    return ff::fail(ErrorCode::invalid_config,
                    location.form == Location::Form::postgres
                        ? "this build has no PostgreSQL store; name a SQLite store's file"
                        : "a store in memory ends with this program; name a store's file");
}

}  // namespace

Result<std::unique_ptr<ExportSource>> open_export_source(const Location& location) {
    switch (location.form) {
        case Location::Form::sqlite_file: return open_sqlite_export(location);
        default: return no_transfer(location);
    }
}

Result<std::unique_ptr<ImportTarget>> open_import_target(const Location& location) {
    switch (location.form) {
        case Location::Form::sqlite_file: return open_sqlite_import(location);
        default: return no_transfer(location);
    }
}

}  // namespace ff::store
