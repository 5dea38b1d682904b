// One owner per store file: OS locks that die with their process.
//
// The first lock is on a file of its own beside the database (`<path>-lock`), which names the
// owner. That file looks like a left-over and may be removed, so there is a second lock, on a byte
// of the database that SQLite never uses. Closing any descriptor of a database drops SQLite's own
// locks on it: a FileLock must go after every connection of its process, and the database is not
// opened for it before the first lock is ours.
#pragma once

#include <memory>
#include <string>

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
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    FileLock(int fd, int database_fd) : fd_(fd), database_fd_(database_fd) {}
    int fd_;
    int database_fd_;
};

}  // namespace ff::store
