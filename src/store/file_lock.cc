#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "store/placed_file.h"

namespace ff::store {

namespace {

constexpr int turns_max = 100;

std::string read_owner(int fd) {
    std::array<char, 300> text{};
    const ssize_t size = pread(fd, text.data(), text.size() - 1, 0);
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

/// A lock of the open file, not of the process: it goes when the last descriptor does.
struct flock whole_file() {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

/// SQLite locks bytes behind the first gigabyte; no file is as long as this.
struct flock far_byte() {
    struct flock lock = whole_file();
    lock.l_start = std::numeric_limits<off_t>::max() - 1;
    lock.l_len = 1;
    return lock;
}

expected<void> check_names(const std::string& database_path) {
    struct stat found{};
    if (stat(database_path.c_str(), &found) == 0 && found.st_nlink > 1) {
        return ff::fail(ErrorCode::store_open_failed,
                        database_path + " has " + std::to_string(found.st_nlink) +
                            " names (hard links), and each would get a log of its own; remove the "
                            "others, or make a copy with ff backup");
    }
    return {};
}

/// The descriptor that holds the second lock.
Error cannot_lock(const std::string& path, int fault) {
    return {ErrorCode::store_open_failed,
            "cannot lock " + path + ": " + std::strerror(fault) +
                "; the store must be on a file system with locks",
            {}};
}

expected<int> lock_database(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return ff::fail(ErrorCode::store_open_failed,
                        "cannot open " + path + ": " + std::strerror(errno));
    }
    struct flock lock = far_byte();
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        const int fault = errno;
        close(fd);
        if (fault != EAGAIN && fault != EACCES) {
            return std::unexpected(cannot_lock(path, fault));
        }
        return ff::fail(ErrorCode::store_in_use,
                        path + " is in use by another process, whose file " + path +
                            "-lock was removed; stop it first, or connect to it instead");
    }
    return fd;
}

/// Is it still this file that the path names?
bool has_name(int fd, const std::string& path) {
    struct stat mine{};
    struct stat named{};
    return fstat(fd, &mine) == 0 && stat(path.c_str(), &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

Error not_locked(const std::string& database_path, int fault, const std::string& owner) {
    if (fault != EAGAIN && fault != EACCES) {
        return cannot_lock(database_path + "-lock", fault);
    }
    return {ErrorCode::store_in_use,
            database_path + " is in use by " + (owner.empty() ? "another process" : owner) +
                "; stop it first, or connect to it instead",
            {}};
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

}  // namespace

expected<FileLock::LockFile> FileLock::lock_file(const std::string& database_path) {
    const std::string path = database_path + "-lock";
    // Each further turn is a file that another process has made or removed in this moment.
    for (int turn = 0; turn < turns_max; ++turn) {
        LockFile file{open(path.c_str(), O_RDWR | O_CLOEXEC), false};
        if (file.fd < 0 && errno == ENOENT) {
            file = {open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), true};
        }
        if (file.fd < 0 && errno == EEXIST) {
            continue;
        }
        if (file.fd < 0) {
            const int fault = errno;
            return ff::fail(ErrorCode::store_open_failed, "cannot create " + path + ": " +
                                                              std::strerror(fault) + "; " +
                                                              std::string(remedy_of(fault)));
        }
        struct flock lock = whole_file();
        if (fcntl(file.fd, F_OFD_SETLK, &lock) != 0) {
            const int fault = errno;
            const std::string owner = read_owner(file.fd);
            if (file.made && fault != EAGAIN && fault != EACCES) {
                unlink(path.c_str());  // nobody can lock it here
            }
            close(file.fd);
            return std::unexpected(not_locked(database_path, fault, owner));
        }
        if (has_name(file.fd, path)) {
            return file;
        }
        close(file.fd);
    }
    return ff::fail(ErrorCode::store_open_failed,
                    "cannot lock " + path +
                        ": it is made and removed all the time, or is a link that leads nowhere; "
                        "remove it");
}

expected<std::unique_ptr<FileLock>> FileLock::take(const std::string& database_path) {
    FF_TRY_VOID(check_names(database_path));
    FF_TRY(const LockFile file, lock_file(database_path));
    std::unique_ptr<FileLock> lock(new FileLock(database_path + "-lock", file));
    const auto database_fd = lock_database(database_path);
    if (!database_fd) {
        lock->leave_no_file();
        return std::unexpected(database_fd.error());
    }
    lock->database_fd_ = *database_fd;
    const std::string owner = "process " + std::to_string(getpid()) + " on " + host_name();
    if (ftruncate(file.fd, 0) != 0 ||
        pwrite(file.fd, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
        const int fault = errno;
        lock->leave_no_file();
        return ff::fail(ErrorCode::store_open_failed, "cannot write " + lock->path_ + ": " +
                                                          std::strerror(fault) + "; " +
                                                          std::string(remedy_of(fault)));
    }
    return lock;
}

std::string FileLock::owner_of(const std::string& database_path) {
    const int fd = open((database_path + "-lock").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return "";
    }
    std::string owner;
    // Asks without taking: an owner who starts at this moment must not be refused.
    struct flock lock = whole_file();
    if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        owner = read_owner(fd);
        if (owner.empty()) {
            owner = "another process";
        }
    }
    close(fd);
    return owner;
}

FileLock::~FileLock() {
    // So that nobody reads a name that is out of date.
    [[maybe_unused]] const int emptied = ftruncate(file_.fd, 0);
    if (leaves_no_file_ && file_.made && has_name(file_.fd, path_)) {
        unlink(path_.c_str());
    }
    // Not left to close(): a process forked meanwhile has the same descriptor, and would keep it.
    for (auto [fd, lock] : {std::pair{database_fd_, far_byte()}, {file_.fd, whole_file()}}) {
        if (fd < 0) {
            continue;
        }
        lock.l_type = F_UNLCK;
        [[maybe_unused]] const int unlocked = fcntl(fd, F_OFD_SETLK, &lock);
        close(fd);
    }
}

}  // namespace ff::store
