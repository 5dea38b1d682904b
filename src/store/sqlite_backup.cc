#include "store/sqlite_backup.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "store/file_lock.h"
#include "store/store_file.h"

namespace ff::store {

namespace fs = std::filesystem;

namespace {

constexpr int pages_a_step = 256;  // a mebibyte
constexpr int copy_busy_timeout_ms = 5'000;
constexpr const char* count_executions = "SELECT COUNT(*) FROM ff_exec_core";

/// A log that lies where the copy would be belongs to another database: SQLite would take it for
/// the copy's own and write its pages into it.
expected<void> check_target(const std::string& source, const std::string& target) {
    if (source == target) {
        return ff::fail(ErrorCode::invalid_config,
                        target + " is the store itself; name another file for its copy");
    }
    if (const std::string owner = FileLock::owner_of(target); !owner.empty()) {
        return ff::fail(ErrorCode::store_in_use,
                        target + " is in use by " + owner + "; name another file");
    }
    for (const char* part : {"-wal", "-journal"}) {
        std::error_code ignored;
        if (fs::exists(target + part, ignored)) {
            return std::unexpected(
                in_the_way(target + part, target + part +
                                              " lies where the copy would be and is of another "
                                              "store; name another file, or move it away"));
        }
    }
    return {};
}

/// The source's view is held open by the caller: no step begins anew because somebody wrote.
expected<void> copy_pages(SqliteDb& from, SqliteDb& to, const BackupOptions& options) {
    const std::string doing = "copying the store to " + to.file();
    struct Finish {
        void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
    };
    const std::unique_ptr<sqlite3_backup, Finish> backup(
        sqlite3_backup_init(to.handle(), "main", from.handle(), "main"));
    if (!backup) {
        return std::unexpected(sqlite_error(to.handle(), sqlite3_errcode(to.handle()), doing));
    }
    int code = SQLITE_OK;
    while (code == SQLITE_OK) {
        code = sqlite3_backup_step(backup.get(), pages_a_step);
        const int total = sqlite3_backup_pagecount(backup.get());
        const int left = sqlite3_backup_remaining(backup.get());
        if (!options.progress(static_cast<std::uint64_t>(total - left),
                              static_cast<std::uint64_t>(total))) {
            return ff::fail(ErrorCode::shutting_down, "interrupted: there is no copy");
        }
    }
    if (code != SQLITE_DONE) {
        return std::unexpected(sqlite_error(nullptr, code, doing));
    }
    return {};
}

/// Reads the copy as a store and compares it with what was seen in the source.
expected<void> verify(const std::string& path, const std::string& executions, bool quick) {
    FF_TRY(const StoreFile copy, open_store_path(path));
    FF_TRY_VOID(version_of_store(*copy.db));
    FF_TRY(std::string sound,
           copy.db->scalar(quick ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)"));
    if (sound != "ok") {
        std::ranges::replace(sound, '\n', ' ');
        return ff::fail(ErrorCode::store_corrupt, "the copy is not sound (" + sound +
                                                      "); ff doctor says whether the store is");
    }
    FF_TRY(const std::string copied, copy.db->scalar(count_executions));
    if (copied != executions) {
        return ff::fail(ErrorCode::store_corrupt,
                        "the copy has " + copied + " executions, the store " + executions);
    }
    return {};
}

}  // namespace

expected<BackupSummary> backup_sqlite(const Location& from, const std::string& to,
                                      const BackupOptions& options) {
    FF_TRY(const StoreFile source, open_store_path(from.target));
    FF_TRY_VOID(version_of_store(*source.db));  // a store of any version
    FF_TRY_VOID(check_target(source.path, canonical_path(to)));
    FF_TRY(PlacedFile copy, PlacedFile::make(to, options.existing));
    FF_TRY_VOID(source.db->execute("BEGIN"));
    FF_TRY(const std::string executions, source.db->scalar(count_executions));
    {
        FF_TRY(auto db, SqliteDb::open(copy.path(), OpenMode::write, copy_busy_timeout_ms));
        FF_TRY_VOID(copy_pages(*source.db, *db, options));
    }
    FF_TRY_VOID(source.db->execute("ROLLBACK"));
    FF_TRY_VOID(source.check_unchanged());
    FF_TRY_VOID(verify(copy.path(), executions, options.quick));
    BackupSummary summary;
    std::error_code ignored;
    summary.bytes = fs::file_size(copy.path(), ignored);
    summary.executions = std::stoull(executions);
    summary.path = copy.target();
    FF_TRY_VOID(copy.place());
    return summary;
}

}  // namespace ff::store
