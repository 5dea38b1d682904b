#include "store/log_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace ff::store {

namespace {

// SQLite's file format, section 4: a log header, then frames of a header and a page.
constexpr sqlite3_int64 log_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::size_t commit_mark_at = 4;  // the database's size in pages; 0 in other frames
constexpr std::size_t commit_mark_bytes = 4;
/// A transaction with more than this is written in several parts.
constexpr std::size_t held_max = 1U << 20;
/// The default VFS counts the bytes of a write with 17 bits.
constexpr std::size_t write_max = 1U << 16;

/// The frames held back, and where in the file they belong.
class HeldFrames {
  public:
    int write(sqlite3_file* file, std::string_view bytes, sqlite3_int64 at) {
        const bool follows = at == end_;
        end_ = at + static_cast<sqlite3_int64>(bytes.size());
        const bool header = bytes.size() == frame_header_bytes;
        if (!follows || (held_.empty() && (!header || at < log_header_bytes))) {
            if (const int fault = flush(file); fault != SQLITE_OK) {
                return fault;
            }
            return file->pMethods->xWrite(file, bytes.data(), static_cast<int>(bytes.size()), at);
        }
        if (held_.empty()) {
            begin_ = at;
        }
        if (header) {
            commits_ = bytes.substr(commit_mark_at, commit_mark_bytes).find_first_not_of('\0') !=
                       std::string_view::npos;
        }
        held_.append(bytes);
        const bool frame_complete = !header;
        return frame_complete && (commits_ || held_.size() > held_max) ? flush(file) : SQLITE_OK;
    }

    /// Before anything that must see the file as SQLite believes it to be.
    int flush(sqlite3_file* file) {
        if (held_.empty()) {
            return SQLITE_OK;
        }
        int fault = SQLITE_OK;
        for (std::size_t at = 0; at < held_.size() && fault == SQLITE_OK; at += write_max) {
            const std::size_t bytes = std::min(write_max, held_.size() - at);
            fault = file->pMethods->xWrite(file, held_.data() + at, static_cast<int>(bytes),
                                           begin_ + static_cast<sqlite3_int64>(at));
        }
        held_.clear();
        return fault;
    }

  private:
    std::string held_;
    sqlite3_int64 begin_ = 0;  // of what is held
    sqlite3_int64 end_ = -1;   // of the last write
    bool commits_ = false;     // the newest frame
};

/// What SQLite holds as a file of ours. The default VFS's own file follows it in memory.
struct LogFile {
    sqlite3_file base;
    HeldFrames* held;

    [[nodiscard]] sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

LogFile* log_file(sqlite3_file* file) { return reinterpret_cast<LogFile*>(file); }

sqlite3_vfs* default_vfs(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

int close_file(sqlite3_file* file) {
    LogFile* log = log_file(file);
    const int flushed = log->held->flush(log->inner());
    delete log->held;
    log->held = nullptr;
    const int closed = log->inner()->pMethods->xClose(log->inner());
    return flushed != SQLITE_OK ? flushed : closed;
}

int write_file(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 at) {
    LogFile* log = log_file(file);
    try {
        return log->held->write(
            log->inner(), {static_cast<const char*>(data), static_cast<std::size_t>(bytes)}, at);
    } catch (const std::bad_alloc&) {
        return SQLITE_NOMEM;
    }
}

/// A method that is the inner file's, once nothing is held back.
template <auto Method, class... Args>
int after_flush(sqlite3_file* file, Args... args) {
    LogFile* log = log_file(file);
    if (const int fault = log->held->flush(log->inner()); fault != SQLITE_OK) {
        return fault;
    }
    return (log->inner()->pMethods->*Method)(log->inner(), args...);
}

template <auto Method, class... Args>
int pass(sqlite3_file* file, Args... args) {
    sqlite3_file* inner = log_file(file)->inner();
    return (inner->pMethods->*Method)(inner, args...);
}

const sqlite3_io_methods* log_methods() {
    using M = sqlite3_io_methods;
    static const sqlite3_io_methods methods = [] {
        sqlite3_io_methods m{};
        m.iVersion = 1;  // a log has no shared memory and is not mapped
        m.xClose = close_file;
        m.xRead = after_flush<&M::xRead, void*, int, sqlite3_int64>;
        m.xWrite = write_file;
        m.xTruncate = after_flush<&M::xTruncate, sqlite3_int64>;
        m.xSync = after_flush<&M::xSync, int>;
        m.xFileSize = after_flush<&M::xFileSize, sqlite3_int64*>;
        m.xLock = pass<&M::xLock, int>;
        m.xUnlock = pass<&M::xUnlock, int>;
        m.xCheckReservedLock = pass<&M::xCheckReservedLock, int*>;
        m.xFileControl = after_flush<&M::xFileControl, int, void*>;
        m.xSectorSize = pass<&M::xSectorSize>;
        m.xDeviceCharacteristics = pass<&M::xDeviceCharacteristics>;
        return m;
    }();
    return &methods;
}

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
              int* out_flags) {
    sqlite3_vfs* inner = default_vfs(vfs);
    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return inner->xOpen(inner, name, file, flags, out_flags);
    }
    LogFile* log = log_file(file);
    log->base.pMethods = nullptr;  // nothing to close, should this fail
    std::unique_ptr<HeldFrames> held(new (std::nothrow) HeldFrames);
    if (!held) {
        return SQLITE_NOMEM;
    }
    const int opened = inner->xOpen(inner, name, log->inner(), flags, out_flags);
    if (opened == SQLITE_OK) {
        log->held = held.release();
        log->base.pMethods = log_methods();
    }
    return opened;
}

}  // namespace

const char* log_vfs_name() {
    static const char* const name = []() -> const char* {
        sqlite3_vfs* inner = sqlite3_vfs_find(nullptr);
        if (inner == nullptr || std::string_view(inner->zName) != "unix") {
            return nullptr;  // the program embedding us has its own: leave it alone
        }
        // A copy: the other methods do not look at the VFS they are called on.
        static sqlite3_vfs vfs = *inner;
        vfs.zName = "ff-log";
        vfs.pNext = nullptr;
        vfs.pAppData = inner;
        vfs.szOsFile = static_cast<int>(sizeof(LogFile)) + inner->szOsFile;
        vfs.xOpen = open_file;
        return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : nullptr;
    }();
    return name;
}

}  // namespace ff::store
