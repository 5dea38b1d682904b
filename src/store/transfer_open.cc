// Which database a transfer goes from or to.
#include "store/postgres_transfer.h"
#include "store/sqlite_transfer.h"
#include "store/transfer.h"

namespace ff::store {

namespace {

std::unexpected<Error> no_transfer() {
    return ff::fail(ErrorCode::invalid_config,
                    "a store in memory ends with this program; name a store's file");
}

}  // namespace

expected<std::unique_ptr<ExportSource>> open_export_source(const Location& location) {
    switch (location.form) {
        case Location::Form::sqlite_file: return open_sqlite_export(location);
        case Location::Form::postgres: return open_postgres_export(location);
        default: return no_transfer();
    }
}

expected<std::unique_ptr<ImportTarget>> open_import_target(const Location& location) {
    switch (location.form) {
        case Location::Form::sqlite_file: return open_sqlite_import(location);
        case Location::Form::postgres: return open_postgres_import(location);
        default: return no_transfer();
    }
}

}  // namespace ff::store
