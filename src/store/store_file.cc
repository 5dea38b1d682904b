#include "store/store_file.h"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "store/catalogue.h"
#include "store/file_lock.h"
#include "store/location.h"
#include "store/placed_file.h"
#include "store/schema.h"

namespace ff::store {

namespace fs = std::filesystem;

namespace {

constexpr int look_busy_timeout_ms = 5'000;

std::uint64_t size_of(const std::string& path) {
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    return failed ? 0 : size;
}

/// Reads something, so that a file that is no database, or cannot be read, shows itself.
expected<std::unique_ptr<SqliteDb>> open_and_try(const std::string& location) {
    FF_TRY(auto db, SqliteDb::open(location, OpenMode::read_only, look_busy_timeout_ms));
    FF_TRY_VOID(db->execute("PRAGMA query_only = ON; PRAGMA wal_autocheckpoint = 0"));
    if (auto tried = db->scalar("SELECT COUNT(*) FROM sqlite_master"); !tried) {
        return ff::fail(tried.error().code, fault_text(tried.error(), *db));
    }
    return db;
}

/// The parts of a database's header that matter here (SQLite's file format, section 1.3).
struct Header {
    bool uses_log = false;
    std::uint64_t bytes = 0;  ///< how long the file should be; 0: it does not say
};

/// Nothing when the file is no database or is shorter than a header. Not for a file that this
/// process has open in SQLite: closing it here would drop SQLite's locks.
std::optional<Header> read_header(const std::string& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) {
        return std::nullopt;  // a pipe would keep us waiting
    }
    std::array<char, 100> bytes{};
    std::ifstream in(path, std::ios::binary);
    if (!in.read(bytes.data(), bytes.size()) ||
        !std::string_view(bytes.data(), bytes.size()).starts_with("SQLite format 3")) {
        return std::nullopt;
    }
    const auto number = [&](std::size_t at, std::size_t size) {
        std::uint64_t value = 0;
        for (std::size_t i = at; i < at + size; ++i) {
            value = value << 8U | static_cast<unsigned char>(bytes[i]);
        }
        return value;
    };
    Header header;
    header.uses_log = number(19, 1) == 2;
    const std::uint64_t page_bytes = number(16, 2) == 1 ? 65'536 : number(16, 2);
    const bool knows_pages = number(24, 4) == number(92, 4);
    header.bytes = knows_pages ? number(28, 4) * page_bytes : 0;
    return header;
}

std::string immutable_uri(const std::string& path) {
    std::string out = "file:";
    for (char c : path) {
        if (c == '?' || c == '#' || c == '%') {
            constexpr std::string_view digits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(c);
            out += {'%', digits[byte >> 4U], digits[byte & 15U]};
        } else {
            out += c;
        }
    }
    return out + "?immutable=1";
}

Error permission_denied(const std::string& path) {
    return {ErrorCode::store_open_failed, "cannot read " + path + ": permission denied", {}};
}

constexpr std::string_view damage_field = "damage";
constexpr std::string_view damaged_path_field = "damaged_path";
constexpr std::string_view sqlite_field = "sqlite";

Error damaged(ErrorCode code, const std::string& path, const std::string& what,
              const std::string& sqlite) {
    return {code,
            path + " " + what,
            {{std::string(damage_field), "the file " + what},
             {std::string(damaged_path_field), path},
             {std::string(sqlite_field), sqlite}}};
}

Error cannot_read(const std::string& path, const Error& error,
                  const std::optional<Header>& header) {
    if (error.code != ErrorCode::store_corrupt) {
        return {error.code, "cannot read " + path + ": " + error.detail, {}};
    }
    if (error.detail.find("not a database") != std::string::npos) {
        return damaged(ErrorCode::store_open_failed, path, "is not a SQLite database",
                       error.detail);
    }
    const std::uint64_t bytes = size_of(path);
    const bool short_of_bytes = header && header->bytes > bytes && size_of(path + "-wal") == 0;
    const std::string why = short_of_bytes
                                ? "it has " + std::to_string(bytes) + " bytes and should have " +
                                      std::to_string(header->bytes)
                                : error.detail;
    return damaged(ErrorCode::store_corrupt, path, "is damaged or cut short: " + why, error.detail);
}

}  // namespace

FileStamp FileStamp::of(const std::string& path) {
    std::error_code ignored;
    const auto written_at = fs::last_write_time(path, ignored).time_since_epoch().count();
    return {size_of(path), static_cast<std::int64_t>(written_at),
            fs::exists(path + "-wal", ignored)};
}

expected<void> StoreFile::check_unchanged() const {
    if (immutable && FileStamp::of(path) != stamp) {
        return ff::fail(ErrorCode::store_busy,
                        path + " was opened by another process meanwhile; run this again");
    }
    return {};
}

std::uint64_t StoreFile::bytes() const { return size_of(path); }
std::uint64_t StoreFile::log_bytes() const { return size_of(path + "-wal"); }

expected<StoreFile> open_store_file(const std::string& text) {
    FF_TRY(const Location location, parse_location(text));
    if (location.form != Location::Form::sqlite_file) {
        return ff::fail(ErrorCode::invalid_config,
                        text + " is not a file; name a SQLite store's file");
    }
    return open_store_path(location.target);
}

expected<StoreFile> open_store_path(const std::string& path) {
    std::error_code ignored;
    std::error_code failed;
    if (!fs::exists(path, failed)) {
        return std::unexpected(failed == std::errc::permission_denied ? permission_denied(path)
                                                                      : missing_file(path));
    }
    if (fs::is_directory(path, ignored)) {
        return ff::fail(ErrorCode::store_open_failed, path + " is a folder; name a store's file");
    }
    if (!fs::is_regular_file(path, ignored)) {
        return std::unexpected(not_ordinary(path));  // a pipe would keep us waiting
    }
    StoreFile file;
    file.path = canonical_path(path);
    for (const char* part : {"", "-wal", "-shm"}) {
        const std::string name = file.path + part;
        if (eaccess(name.c_str(), R_OK) != 0 && errno == EACCES) {
            return std::unexpected(permission_denied(name));
        }
    }
    file.stamp = FileStamp::of(file.path);
    const bool owned = !FileLock::owner_of(file.path).empty();
    const std::optional<Header> header = owned ? std::nullopt : read_header(file.path);
    if (!owned && file.stamp.bytes == 0 && file.log_bytes() > 0) {
        // SQLite would remove the log, even for a reader.
        return std::unexpected(damaged(ErrorCode::store_corrupt, file.path,
                                       "is damaged or cut short: it is empty, with a log of " +
                                           std::to_string(file.log_bytes()) + " bytes beside it",
                                       "not asked, since it would remove the log"));
    }
    // Of a file with a log SQLite wants the log and an index beside it, and a reader cannot remove
    // them again. Where there is no log and nobody has the store open, the file is all there is.
    file.immutable = header && header->uses_log && !file.stamp.has_log;
    auto db = open_and_try(file.immutable ? immutable_uri(file.path) : file.path);
    if (!db && db.error().code == ErrorCode::store_io && !owned && file.log_bytes() == 0) {
        // An empty log on a medium that cannot be written.
        file.immutable = true;
        db = open_and_try(immutable_uri(file.path));
    }
    if (!db) {
        return std::unexpected(cannot_read(file.path, db.error(), header));
    }
    file.db = std::move(*db);
    return file;
}

std::optional<Damage> damage_of(const Error& error) {
    const std::string what(error.field(damage_field));
    if (what.empty()) {
        return std::nullopt;
    }
    return Damage{std::string(error.field(damaged_path_field)), what,
                  std::string(error.field(sqlite_field))};
}

std::string fault_text(const Error& error, const SqliteDb& db) {
    switch (error.code) {
        case ErrorCode::store_busy:
        case ErrorCode::store_io:
        case ErrorCode::store_corrupt:
        case ErrorCode::internal: {
            const int code = sqlite3_errcode(db.handle());
            return code == SQLITE_OK ? error.detail : sqlite3_errmsg(db.handle());
        }
        default: return error.detail;
    }
}

expected<int> version_of_store(SqliteDb& db) {
    FF_TRY(const int version, db.schema_version());
    if (version == 0) {
        return ff::fail(ErrorCode::store_open_failed,
                        db.file() +
                            " is empty, nothing has made a store in it yet: hand something in"
                            " (ff submit), serve it (ff serve), or name another file");
    }
    return version;
}

expected<void> check_known_schema(const StoreFile& file) {
    FF_TRY(const int version, version_of_store(*file.db));
    if (auto known = check_known_version(version); !known) {
        Error error = std::move(known).error();
        error.detail = file.path + ": " + error.detail;
        return std::unexpected(std::move(error));
    }
    return check_texts(*file.db, file.path);
}

expected<void> check_texts(SqliteDb& db, const std::string& path,
                           std::initializer_list<std::string> more) {
    std::vector<std::string> texts = sql::all_texts();
    texts.insert(texts.end(), more);
    for (const std::string& text : texts) {
        if (auto statement = db.prepare(text); !statement) {
            return ff::fail(ErrorCode::store_corrupt, path + " has a damaged schema (" +
                                                          fault_text(statement.error(), db) +
                                                          "); see ff doctor");
        }
    }
    return {};
}

Error missing_file(std::string_view path) {
    return {ErrorCode::store_open_failed,
            "there is no file " + std::string(path),
            {{std::string(missing_field), std::string(path)}}};
}

bool is_missing_file(const Error& error) { return !error.field(missing_field).empty(); }

}  // namespace ff::store
