// Opening a SQLite store: the lock, the settings, the schema, the partition counts.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "store/migrate.h"
#include "store/placed_file.h"
#include "store/schema.h"
#include "store/sqlite_internal.h"
#include "store/store_file.h"

namespace ff::store {

namespace {

/// An open fault in words that say which file it is about and what to do.
Error open_error(const std::string& path, SqliteDb& db, Error error) {
    if ((sqlite3_errcode(db.handle()) & 0xff) == SQLITE_NOTADB) {
        return {ErrorCode::store_open_failed,
                path +
                    " is not a FlowFabric store: the file is not a SQLite database; name "
                    "another file",
                {}};
    }
    const bool named = error.detail.contains(path);
    switch (error.code) {
        case ErrorCode::store_busy:
        case ErrorCode::store_io:
        case ErrorCode::internal:
            error.code = ErrorCode::store_open_failed;
            error.detail = "cannot open " + (named ? "the store" : path) + ": " + error.detail;
            break;
        case ErrorCode::schema_too_new:
        case ErrorCode::store_corrupt:
        case ErrorCode::store_open_failed:
            error.detail = named ? error.detail : path + ": " + error.detail;
            break;
        default: break;
    }
    return error;
}

/// Makes the file if it is missing, and says whether it did; readable by its owner only, and SQLite
/// gives its log the same rights. An existing file is not opened here: closing it again would drop
/// the locks of a connection this process may have on it.
expected<bool> create_private(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path folder = fs::absolute(path, ignored).parent_path();
    if (!fs::is_directory(folder, ignored)) {
        return ff::fail(ErrorCode::store_open_failed,
                        "the folder " + folder.string() + " does not exist; create it first");
    }
    if (fs::is_directory(path, ignored)) {
        return ff::fail(
            ErrorCode::store_open_failed,
            path + " is a folder; name a file in it, for example " + path + "/flowfabric.db");
    }
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        return std::unexpected(not_ordinary(path));
    }
    bool usable = access(path.c_str(), R_OK | W_OK) == 0;
    const bool missing = !usable && errno == ENOENT;
    if (missing) {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        usable = fd >= 0;
        if (usable) {
            close(fd);
        }
    }
    if (!usable) {
        const int fault = errno;
        return ff::fail(ErrorCode::store_open_failed, "cannot open " + path + ": " +
                                                          std::strerror(fault) + "; " +
                                                          std::string(remedy_of(fault)));
    }
    return missing;
}

}  // namespace

expected<int> SqliteDb::schema_version() {
    FF_TRY(const std::string exists,
           scalar("SELECT 1 FROM sqlite_master WHERE name = 'ff_schema_migration'"));
    if (exists.empty()) {
        FF_TRY(const std::string tables, scalar("SELECT COUNT(*) FROM sqlite_master"));
        if (tables != "0") {
            return ff::fail(ErrorCode::store_open_failed,
                            file() +
                                " is not a FlowFabric store: it holds tables of another program; "
                                "name another file");
        }
        return 0;
    }
    FF_TRY(const std::string version,
           scalar("SELECT COALESCE(MAX(version), 0) FROM ff_schema_migration"));
    return stored_version(version);
}

expected<std::string> migrate_sqlite(SqliteDb& db) { return migrate(db); }

expected<std::unique_ptr<SqliteStore>> SqliteStore::open(const Location& location,
                                                         const EngineOptions& options) {
    using Form = Location::Form;
    FF_CHECK(location.form == Form::sqlite_file || location.form == Form::sqlite_private_memory ||
                 location.form == Form::sqlite_named_memory,
             "the location is not one of SQLite");
    std::unique_ptr<SqliteStore> store(new SqliteStore);
    store->warn_ = options.warn ? options.warn : [](std::string_view) {};
    FF_TRY_VOID(location.form == Form::sqlite_file ? store->open_file(location, options)
                                                   : store->open_memory(options));
    if (auto started = store->start(options); !started) {
        Error error = std::move(started).error();
        if (store->path_.empty()) {
            return std::unexpected(std::move(error));
        }
        store->lock_->leave_no_file();
        return std::unexpected(open_error(store->path_, *store->db_, std::move(error)));
    }
    return store;
}

/// Closes a file that is refused and leaves all as it was. Its log belongs to whoever wrote it, and
/// closing would copy it into the database and remove it; one that was not there goes by itself.
static Error refuse(OwnedFile file, bool had_log, Error error) {
    error = open_error(file.path, *file.db, std::move(error));
    if (had_log) {
        sqlite3_db_config(file.db->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    file.lock->leave_no_file();
    return error;
}

expected<OwnedFile> OwnedFile::open(const Location& location, OpenMode mode, int busy_timeout_ms) {
    OwnedFile file;
    FF_TRY(file.created, create_private(location.target));
    // The file's one name, as SQLite has it too: a link to a store is that store, with its lock.
    file.path = canonical_path(location.target);
    FF_TRY(file.lock, FileLock::take(file.path));
    std::error_code ignored;
    const bool had_log = std::filesystem::exists(file.path + "-wal", ignored);
    auto db = SqliteDb::open(file.path, mode, busy_timeout_ms);
    if (!db) {
        file.lock->leave_no_file();
        return ff::fail(ErrorCode::store_open_failed, std::move(db).error().detail);
    }
    file.db = std::move(*db);
    // Before anything is changed: the file may be somebody else's.
    if (auto known = check_schema(*file.db); !known) {
        return std::unexpected(refuse(std::move(file), had_log, std::move(known).error()));
    }
    return file;
}

expected<void> SqliteStore::open_file(const Location& location, const EngineOptions& options) {
    FF_TRY(OwnedFile file,
           OwnedFile::open(location, OpenMode::write_at_once, options.busy_timeout_ms));
    path_ = std::move(file.path);
    lock_ = std::move(file.lock);
    db_ = std::move(file.db);
    const bool full = options.synchronous == EngineOptions::Synchronous::full;
    // Automatic checkpoints are off: maintain() makes them between batches, on this connection.
    // The log file is kept at its size: overwriting costs a third less per sync than extending.
    // Only what a long read made it grow to is given back.
    auto settings = db_->execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
        "PRAGMA secure_delete = OFF; PRAGMA wal_autocheckpoint = 0;"
        "PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -" +
        std::to_string(options.cache_mib * 1024));
    if (!settings) {
        lock_->leave_no_file();
        return std::unexpected(open_error(path_, *db_, std::move(settings).error()));
    }
    int persist = 1;
    sqlite3_file_control(db_->handle(), "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
    sqlite3_wal_hook(db_->handle(), &SqliteStore::note_log_pages, this);
    sync_log_ = full;
    info_.durability = full ? "full" : "normal";
    info_.location = location.target;
    if (auto copied = copy_old_log(); !copied) {
        lock_->leave_no_file();
        return std::unexpected(open_error(path_, *db_, std::move(copied).error()));
    }
    return {};
}

expected<void> SqliteStore::copy_old_log() {
    // A sync that failed under a predecessor may have left pages that are in memory and not on the
    // disk, and no later sync of the log tells of them. What is copied into the database and synced
    // there is safe, and new commits do not stand behind a hole.
    int in_log = 0;
    int copied = 0;
    const int code = sqlite3_wal_checkpoint_v2(db_->handle(), nullptr, SQLITE_CHECKPOINT_RESTART,
                                               &in_log, &copied);
    if (code == SQLITE_BUSY) {
        warn_("another program reads " + path_ +
              ": the log of the last run is kept until it is done, and is as safe as the disk was");
        return {};
    }
    return code == SQLITE_OK ? expected<void>()
                             : std::unexpected(sqlite_error(db_->handle(), code,
                                                            "copying the log into " + path_));
}

expected<void> SqliteStore::open_memory(const EngineOptions& options) {
    FF_TRY(db_, SqliteDb::open(":memory:", OpenMode::write, options.busy_timeout_ms));
    FF_TRY_VOID(db_->execute("PRAGMA foreign_keys = ON; PRAGMA journal_mode = MEMORY"));
    info_.durability = "none (in memory)";
    info_.location = "memory";
    return {};
}

expected<void> SqliteStore::start(const EngineOptions& options) {
    info_.backend = BackendTag::sqlite;
    info_.family = "sqlite";
    info_.version = sqlite_version();
    busy_timeout_ms_ = options.busy_timeout_ms;
    FF_TRY_VOID(check_partitions(*db_, options));  // who is refused changes nothing
    FF_TRY(info_.migration, migrate_sqlite(*db_));
    FF_TRY(info_.partitions, settle_partitions(*db_, options));
    if (info_.migration.empty()) {
        FF_TRY_VOID(
            check_texts(*db_, path_, {newest_open_waitpoints, suspension_by_idempotency_index}));
    }
    hot_ = std::make_unique<Hot>(*db_);
    FF_TRY_VOID(load_counters());
    if (path_.empty()) {
        memory_reader_ = std::make_unique<ReadConnection>(*db_);
        return {};
    }
    FF_TRY_VOID(open_log());
    // One for each thread of reads, and one for the passes that the writer's thread makes: it must
    // not wait for long reads of others.
    const int readers = std::max(1, options.pool_size - 1) + 1;
    for (int i = 0; i < readers; ++i) {
        FF_TRY(auto connection, SqliteDb::open(path_, OpenMode::read_only, busy_timeout_ms_));
        FF_TRY_VOID(
            connection->execute("PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0;"
                                "PRAGMA cache_size = -2048"));
        readers_.push_back(std::make_unique<ReadConnection>(std::move(connection)));
        readers_made_ += 1;
    }
    return {};
}

expected<void> SqliteStore::open_log() {
    log_fd_ = ::open((path_ + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
    if (log_fd_ < 0) {
        return ff::fail(ErrorCode::store_open_failed,
                        "cannot open " + path_ + "-wal: " + std::strerror(errno) +
                            "; the store must be on a file system that SQLite's log works on");
    }
    if (!sync_log_) {
        return {};
    }
    // What a killed predecessor had written may be in memory only, and is about to be shown.
    FF_TRY_VOID(sync_folder_of(path_));
    return make_durable();
}

expected<void> SqliteStore::load_counters() {
    // Row numbers are never used twice, though the rows that had them may be gone: the highest
    // ever given out is noted when rows are deleted.
    FF_TRY(const std::string eid, db_->scalar(sql::highest_eid));
    FF_TRY(const std::string event, db_->scalar(sql::highest_event));
    FF_TRY(const std::string route, db_->scalar("SELECT COALESCE(MAX(route), 0) FROM ff_route"));
    FF_TRY(next_eid_, stored_row_number(eid));
    FF_TRY(next_event_, stored_row_number(event));
    FF_TRY(next_route_, stored_row_number(route));  // routes are never deleted
    next_eid_ += 1;
    next_event_ += 1;
    next_route_ += 1;
    FF_TRY(auto rows, select_all<core::Route>(hot_->texts.get(sql::all_routes)));
    for (auto& row : rows) {
        split_capabilities(row);
        routes_.add(std::move(row));
    }
    return {};
}

SqliteStore::~SqliteStore() {
    readers_.clear();
    memory_reader_.reset();
    hot_.reset();
    if (db_ && !path_.empty()) {
        if (is_broken()) {
            // What the log file holds is not known, and copying from it checks nothing. The next
            // opening cuts it where its checksums end and copies what is sound.
            sqlite3_db_config(db_->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        } else {
            // The last connection: bring everything into the database file and let the log go.
            int persist = 0;
            sqlite3_file_control(db_->handle(), "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
        }
    }
    db_.reset();
    if (log_fd_ >= 0) {
        close(log_fd_);
    }
}

}  // namespace ff::store
