#include "store/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ff::store {

namespace {

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

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

}  // namespace

expected<std::unique_ptr<FileLock>> FileLock::take(const std::string& database_path) {
    const std::string path = database_path + "-lock";
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return ff::fail(ErrorCode::store_open_failed,
                        "cannot create " + path + ": " + std::strerror(errno) +
                            "; check that the folder exists and may be written");
    }
    struct flock lock = whole_file();
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        const int fault = errno;
        const std::string owner = read_owner(fd);
        close(fd);
        if (fault != EAGAIN && fault != EACCES) {
            return ff::fail(ErrorCode::store_open_failed,
                            "cannot lock " + path + ": " + std::strerror(fault) +
                                "; the store must be on a file system with locks");
        }
        return ff::fail(ErrorCode::store_in_use, database_path + " is in use by " +
                                                     (owner.empty() ? "another process" : owner) +
                                                     "; stop it first, or connect to it instead");
    }
    const std::string owner = "process " + std::to_string(getpid()) + " on " + host_name();
    if (ftruncate(fd, 0) != 0 ||
        pwrite(fd, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
        const std::string why = std::strerror(errno);
        close(fd);
        return ff::fail(ErrorCode::store_open_failed, "cannot write " + path + ": " + why);
    }
    return std::unique_ptr<FileLock>(new FileLock(fd));
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
    [[maybe_unused]] const int emptied = ftruncate(fd_, 0);
    // Not left to close(): a process forked meanwhile has the same descriptor, and would keep it.
    struct flock lock = whole_file();
    lock.l_type = F_UNLCK;
    [[maybe_unused]] const int unlocked = fcntl(fd_, F_OFD_SETLK, &lock);
    close(fd_);
}

}  // namespace ff::store
