#include "store/sqlite_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "store/log_vfs.h"

namespace ff::store {

namespace {

/// SQLite's global memory counters cost 10 % of the CPU and we read them nowhere. Must happen
/// before the first use in the process; if the host program was first, its settings stay. The
/// threading mode is not touched: the host may rely on it, and our connections say NOMUTEX.
void configure_once() {
    static std::once_flag once;
    std::call_once(once, [] {
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        sqlite3_initialize();
    });
}

std::string file_of(sqlite3* db) {
    const char* path = db != nullptr ? sqlite3_db_filename(db, "main") : nullptr;
    return path != nullptr ? path : "";
}

/// What SQLite says, for people: who reads it may have several stores, and only the file tells
/// which one it is about.
std::string fault_of(const std::string& file, int code, std::string_view doing,
                     const std::string& what) {
    if ((code & 0xff) == SQLITE_CORRUPT && !file.empty()) {
        return file + " is damaged (" + what + "); restore it from a backup";
    }
    std::string text = std::string(doing) + ": " + what;
    if (!file.empty() && !doing.contains(file)) {
        text += " (" + file + ")";
    }
    return (code & 0xff) == SQLITE_FULL ? text + "; make room on its disk" : text;
}

}  // namespace

Error sqlite_error(sqlite3* db, int code, std::string_view doing) {
    ErrorCode kind = ErrorCode::internal;
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED: kind = ErrorCode::store_busy; break;
        case SQLITE_FULL: kind = ErrorCode::store_full; break;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM: kind = ErrorCode::store_io; break;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: kind = ErrorCode::store_corrupt; break;
        default: break;
    }
    std::string detail = fault_of(file_of(db), code, doing,
                                  db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    std::ranges::replace(detail, '\n', ' ');  // an error is one line
    return Error{kind, std::move(detail), {}};
}

std::string sqlite_version() { return sqlite3_libversion(); }
int sqlite_version_number() { return sqlite3_libversion_number(); }

// ---------------------------------------------------------------------------------- statement

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
    if (this != &other) {
        sqlite3_finalize(handle_);
        db_ = other.db_;
        handle_ = std::exchange(other.handle_, nullptr);
        parameter_ = 0;
        bind_fault_ = SQLITE_OK;
        column_ = 0;
        corrupt_.clear();
    }
    return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::null() { note_bind(sqlite3_bind_null(handle_, ++parameter_)); }

void Statement::integer(std::int64_t value) {
    note_bind(sqlite3_bind_int64(handle_, ++parameter_, value));
}

void Statement::text(std::string_view value) {
    note_bind(sqlite3_bind_text64(handle_, ++parameter_,
                                  value.data() != nullptr ? value.data() : "", value.size(),
                                  SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bytes(std::string_view value) {
    // A null pointer would bind NULL; an empty blob is not that.
    note_bind(sqlite3_bind_blob64(handle_, ++parameter_,
                                  value.data() != nullptr ? value.data() : "", value.size(),
                                  SQLITE_STATIC));
}

void Statement::text_copy(const std::string& value) {
    note_bind(sqlite3_bind_text64(handle_, ++parameter_, value.data(), value.size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bytes_copy(const std::string& value) {
    note_bind(
        sqlite3_bind_blob64(handle_, ++parameter_, value.data(), value.size(), SQLITE_TRANSIENT));
}

expected<bool> Statement::step() {
    column_ = 0;
    corrupt_.clear();
    if (bind_fault_ != SQLITE_OK) {
        // What was bound before would be written in its place.
        Error error = sqlite_error(db_, bind_fault_, "binding a value");
        reset();
        return std::unexpected(std::move(error));
    }
    if (parameter_ != sqlite3_bind_parameter_count(handle_) &&
        sqlite3_stmt_isexplain(handle_) == 0) {  // a plan needs no values
        // What is left of a use before may point to what is gone.
        reset();
        return ff::fail(ErrorCode::store_io, "a statement was given too few of its values");
    }
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code == SQLITE_DONE) {
        return false;
    }
    Error error = sqlite_error(db_, sqlite3_extended_errcode(db_), "executing a statement");
    reset();
    return std::unexpected(std::move(error));
}

expected<void> Statement::run() {
    for (;;) {
        FF_TRY(const bool row, step());
        if (!row) {
            break;
        }
    }
    reset();
    return {};
}

void Statement::reset() {
    sqlite3_reset(handle_);
    parameter_ = 0;
    bind_fault_ = SQLITE_OK;
    column_ = 0;
    corrupt_.clear();
}

bool Statement::is_null() const { return sqlite3_column_type(handle_, column_) == SQLITE_NULL; }

std::int64_t Statement::integer() { return sqlite3_column_int64(handle_, column_++); }

std::string_view Statement::bytes() {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column_));
    const int size = sqlite3_column_bytes(handle_, column_++);
    return data == nullptr ? std::string_view() : std::string_view(data, static_cast<size_t>(size));
}

void Statement::corrupt(const char* name, const std::string& value) {
    if (corrupt_.empty()) {
        corrupt_ = std::string(name) + ": " + value;
    }
}

expected<void> Statement::check() const {
    if (!corrupt_.empty()) {
        return ff::fail(ErrorCode::corruption, corrupt_);
    }
    return {};
}

// --------------------------------------------------------------------------------- connection

expected<std::unique_ptr<SqliteDb>> SqliteDb::open(const std::string& location, OpenMode mode,
                                                   int busy_timeout_ms) {
    configure_once();
    sqlite3* db = nullptr;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
    flags |= mode == OpenMode::read_only ? SQLITE_OPEN_READONLY
                                         : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const char* vfs = mode == OpenMode::write_at_once ? log_vfs_name() : nullptr;
    const int code = sqlite3_open_v2(location.c_str(), &db, flags, vfs);
    if (code != SQLITE_OK) {
        Error error = sqlite_error(db, code, "opening " + location);
        sqlite3_close_v2(db);
        return std::unexpected(std::move(error));
    }
    sqlite3_busy_timeout(db, busy_timeout_ms);
    return std::unique_ptr<SqliteDb>(new SqliteDb(db));
}

SqliteDb::~SqliteDb() { sqlite3_close_v2(db_); }

std::string SqliteDb::file() const { return file_of(db_); }

expected<Statement> SqliteDb::prepare(const std::string& text) {
    sqlite3_stmt* handle = nullptr;
    const int code = sqlite3_prepare_v3(db_, text.c_str(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
    if (code != SQLITE_OK) {
        return std::unexpected(sqlite_error(db_, code, "preparing " + text));
    }
    const int parameters = sqlite3_bind_parameter_count(handle);
    for (int i = 1; i <= parameters; ++i) {
        const char* name = sqlite3_bind_parameter_name(handle, i);
        FF_CHECK(name != nullptr && name == "$" + std::to_string(i),
                 "parameters must be $1..$n, first mentioned in order");
    }
    return Statement(db_, handle);
}

expected<void> SqliteDb::execute(const std::string& text) {
    char* message = nullptr;
    const int code = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, &message);
    sqlite3_free(message);
    if (code != SQLITE_OK) {
        return std::unexpected(sqlite_error(db_, code, "executing " + text.substr(0, 60)));
    }
    return {};
}

expected<std::string> SqliteDb::scalar(const std::string& text) {
    FF_TRY(Statement statement, prepare(text));
    FF_TRY(const bool row, statement.step());
    return row ? std::string(statement.bytes()) : std::string();
}

std::int64_t SqliteDb::changes() const { return sqlite3_changes64(db_); }

}  // namespace ff::store
