// One owner per store file: OS locks that die with their process.
//
// The first lock is on a file of its own beside the database (`<path>-lock`), which names the
// owner. That file looks like a left-over and may be removed, so there is a second lock, on a byte
// of the database that SQLite never uses. Closing any descriptor of a database drops SQLite's own
// locks on it: a FileLock must go after every connection of its process, and the database is not
// opened for it before the first lock is ours.
//
// Its file stays when the store is closed. Only beside a database that was refused it goes again,
// while it is still locked: whoever opened it before that sees, once it has the lock, that its file
// has lost the name, and begins anew.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ff/error.h>

namespace ff::store {

class FileLock {
  public:
    /// `store_in_use`, naming the owner's process and host, when another process holds it. The
    /// database must be there. `store_open_failed` for one that has several names: SQLite finds its
    /// log by the name, and each name would have one of its own.
    static expected<std::unique_ptr<FileLock>> take(const std::string& database_path);
    /// Who holds the lock now, as `process N on HOST`; empty when nobody does.
    static std::string owner_of(const std::string& database_path);
    ~FileLock();
    /// For a database that is refused: the file goes with the lock, if take() made it.
    void leave_no_file() { leaves_no_file_ = true; }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    struct LockFile {
        int fd = -1;
        bool made = false;  ///< by take(); it was not there before
    };
    /// The first lock.
    static expected<LockFile> lock_file(const std::string& database_path);
    FileLock(std::string path, LockFile file) : path_(std::move(path)), file_(file) {}

    std::string path_;
    LockFile file_;
    int database_fd_ = -1;  ///< -1: the second lock is not taken
    bool leaves_no_file_ = false;
};

}  // namespace ff::store
