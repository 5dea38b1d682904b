// One owner per store file: an OS lock that dies with its process.
//
// The lock is taken on a file of its own beside the database (`<path>-lock`): closing any second
// descriptor of the database file itself would drop SQLite's own locks.
#pragma once

#include <memory>
#include <string>

#include <ff/error.h>

namespace ff::store {

class FileLock {
  public:
    /// `store_in_use`, naming the owner's process and host, when another process holds it.
    static expected<std::unique_ptr<FileLock>> take(const std::string& database_path);
    /// Who holds the lock now, as `process N on HOST`; empty when nobody does.
    static std::string owner_of(const std::string& database_path);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    explicit FileLock(int fd) : fd_(fd) {}
    int fd_;
};

}  // namespace ff::store
