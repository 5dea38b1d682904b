// SqliteStore's log file: making commits durable, copying them into the database, and the readers
// that look at both.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "store/sqlite_internal.h"

namespace ff::store {

namespace {

/// The writer copies the log into the database after this many pages: about 4 ms of work, between
/// batches.
constexpr int checkpoint_pages = 1'000;
/// A log beyond this size (64 MiB) is worth a warning, and worth making new readers wait for.
constexpr int log_pages_long = 16'384;
constexpr std::chrono::milliseconds readers_hold_max{50};

}  // namespace

// --------------------------------------------------------------------------------- durability

expected<void> SqliteStore::make_durable() {
    // Not the newest number: that one may be of a commit that is not written yet.
    const std::uint64_t target = committed_.load();
    std::optional<Error> failure;
    if (sync_log_ && fdatasync(log_fd_) != 0) {
        failure = Error{ErrorCode::store_io,
                        "syncing " + path_ + "-wal: " + std::strerror(errno) +
                            "; what the disk holds is not known, restart the engine",
                        {}};
    }
    expected<void> outcome;
    {
        std::lock_guard lock(durable_mutex_);
        // For good: the system reports a lost write once, the next sync would succeed without it.
        if (failure && !broken_) {
            broken_ = std::move(failure);
        }
        if (broken_) {
            outcome = std::unexpected(*broken_);
        } else {
            durable_ = std::max(durable_, target);
        }
    }
    durable_changed_.notify_all();
    return outcome;
}

expected<void> SqliteStore::wait_durable(std::uint64_t commit_number) {
    std::unique_lock lock(durable_mutex_);
    durable_changed_.wait(lock, [&] {
        const bool failed = commit_number > failed_after_ && commit_number <= failed_to_;
        return durable_ >= (failed ? failed_after_ : commit_number) || broken_;
    });
    if (broken_) {
        return std::unexpected(*broken_);
    }
    return {};
}

int SqliteStore::note_log_pages(void* self, sqlite3*, const char*, int pages) {
    auto* store = static_cast<SqliteStore*>(self);
    store->log_pages_ = pages;
    if (pages < store->pages_at_checkpoint_) {
        store->pages_at_checkpoint_ = 0;  // it was started anew
    }
    return SQLITE_OK;
}

void SqliteStore::maintain() {
    if (log_pages_ - pages_at_checkpoint_ < checkpoint_pages || is_broken()) {
        return;
    }
    // A log this long means that readers overlap: for a moment no new one may start.
    const bool hold = log_pages_ > log_pages_long;
    const bool all_back = !hold || hold_readers();
    int in_log = 0;
    int copied = 0;
    const int code = sqlite3_wal_checkpoint_v2(db_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                               &in_log, &copied);
    if (hold) {
        release_readers();
    }
    if (code != SQLITE_OK && code != SQLITE_BUSY) {
        pages_at_checkpoint_ = log_pages_;  // not again before as much has come on top
        if (log_pages_ > 2 * warned_pages_) {
            warned_pages_ = log_pages_;
            warn_(sqlite_error(db_->handle(), code, "copying the log into " + path_).message());
        }
        return;
    }
    // All copied: the next commit starts the log anew, unless somebody still reads from it.
    // Otherwise a reader holds some back. We try again when as much has come on top.
    pages_at_checkpoint_ = in_log;
    log_pages_ = in_log;
    warned_pages_ = in_log == copied ? 0 : warned_pages_;
    if (in_log != copied && in_log > log_pages_long && in_log > 2 * warned_pages_) {
        warned_pages_ = in_log;
        warn_("the log " + path_ + "-wal has grown to " + std::to_string(in_log / 256) +
              " MiB because " +
              (all_back ? "another program that reads the store holds an old view of it; end it"
                        : "a read of this process holds an old view of the store; end long reads"));
    }
}

// ------------------------------------------------------------------------------------ reading

bool SqliteStore::is_broken() {
    std::lock_guard lock(durable_mutex_);
    return broken_.has_value();
}

bool SqliteStore::hold_readers() {
    std::unique_lock lock(readers_mutex_);
    readers_held_ = true;
    return reader_free_.wait_for(lock, readers_hold_max,
                                 [&] { return readers_.size() == readers_made_; });
}

void SqliteStore::release_readers() {
    {
        std::lock_guard lock(readers_mutex_);
        readers_held_ = false;
    }
    reader_free_.notify_all();
}

std::unique_ptr<SqliteStore::ReadConnection> SqliteStore::take_reader() {
    std::unique_lock lock(readers_mutex_);
    reader_free_.wait(lock, [&] { return !readers_.empty() && !readers_held_; });
    auto reader = std::move(readers_.back());
    readers_.pop_back();
    return reader;
}

void SqliteStore::give_reader(std::unique_ptr<ReadConnection> reader) {
    {
        std::lock_guard lock(readers_mutex_);
        readers_.push_back(std::move(reader));
    }
    reader_free_.notify_all();  // a reader that waits, or the writer that waits for them all
}

class SqliteStore::Borrowed {
  public:
    explicit Borrowed(SqliteStore& store) : store_(store), connection_(store.take_reader()) {}
    ~Borrowed() {
        if (sqlite3_get_autocommit(connection_->db.handle()) == 0) {
            // Something was thrown through the read.
            [[maybe_unused]] auto ended = connection_->db.execute("ROLLBACK");
        }
        store_.give_reader(std::move(connection_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ReadConnection& operator*() { return *connection_; }

  private:
    SqliteStore& store_;
    std::unique_ptr<ReadConnection> connection_;
};

expected<void> SqliteStore::read_on(ReadConnection& connection,
                                    const std::function<expected<void>(Reader&)>& body,
                                    std::uint64_t& newest) {
    expected<void> outcome = connection.db.execute("BEGIN; SELECT 1 FROM ff_meta LIMIT 1");
    // The view is fixed now. Every commit in it was numbered before it became visible.
    newest = commits_.load();
    if (outcome) {
        outcome = body(connection.reader);
    }
    if (sqlite3_get_autocommit(connection.db.handle()) == 0) {
        if (auto ended = connection.db.execute("COMMIT"); !ended && outcome) {
            outcome = std::move(ended);
        }
    }
    return outcome;
}

expected<void> SqliteStore::read(const std::function<expected<void>(Reader&)>& body) {
    if (path_.empty()) {
        std::lock_guard lock(memory_mutex_);
        return body(memory_reader_->reader);
    }
    std::uint64_t newest = 0;
    {
        Borrowed connection(*this);
        FF_TRY_VOID(read_on(*connection, body, newest));
    }
    return wait_durable(newest);
}

expected<StoreSize> SqliteStore::size() {
    StoreSize size;
    if (path_.empty()) {
        return size;
    }
    struct stat file{};
    struct stat log{};
    if (::stat(path_.c_str(), &file) != 0 || ::fstat(log_fd_, &log) != 0) {
        return ff::fail(ErrorCode::store_io,
                        "cannot see the size of " + path_ + ": " + std::strerror(errno));
    }
    size.bytes = static_cast<std::uint64_t>(file.st_size);
    size.log_bytes = static_cast<std::uint64_t>(log.st_size);
    return size;
}

}  // namespace ff::store
