#include "store/placed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/file_lock.h"
#include "store/location.h"

namespace ff::store {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view in_the_way_field = "in_the_way";

std::unexpected<Error> cannot(const std::string& doing, int fault) {
    return ff::fail(fault == ENOSPC ? ErrorCode::store_full : ErrorCode::store_open_failed,
                    "cannot " + doing + ": " + std::strerror(fault));
}

Error exists_already(const std::string& target) {
    return in_the_way(target, target + " exists already; name another file, or say --force");
}

/// Opens, syncs and closes.
bool sync_path(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    const int fault = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = fault;
    return synced;
}

/// False with errno set, as rename(). `keep` never replaces a file that came meanwhile.
bool rename_to(const std::string& from, const std::string& to, Existing existing) {
    if (existing == Existing::replace) {
        return std::rename(from.c_str(), to.c_str()) == 0;
    }
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return true;
    }
    // A file system that cannot: make() has looked.
    const bool cannot_ask = errno == EINVAL || errno == ENOSYS;
    return cannot_ask && std::rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

PlacedFile::PlacedFile(std::string path, std::string target, Existing existing)
    : path_(std::move(path)), target_(std::move(target)), existing_(existing) {}

PlacedFile::PlacedFile(PlacedFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      target_(std::move(other.target_)),
      existing_(other.existing_) {}

PlacedFile::~PlacedFile() {
    if (!path_.empty()) {
        unlink(path_.c_str());
    }
}

expected<PlacedFile> PlacedFile::make(const std::string& target, Existing existing) {
    if (target.empty()) {
        return ff::fail(ErrorCode::invalid_config, "the name of the file to make is empty");
    }
    // Through links: what a link names is replaced, not the link.
    const std::string place = canonical_path(target);
    std::error_code ignored;
    const fs::file_status status = fs::status(place, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        return std::unexpected(not_ordinary(target));
    }
    // A store that is open would go on in a file without a name.
    if (const std::string owner = FileLock::owner_of(place); !owner.empty()) {
        return ff::fail(ErrorCode::store_in_use,
                        target + " is in use by " + owner + "; name another file");
    }
    if (fs::exists(status) && existing == Existing::keep) {
        return std::unexpected(exists_already(target));
    }
    std::string path = place + ".XXXXXX";
    const int fd = mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) {
        return cannot("write in the folder of " + target, errno);
    }
    close(fd);
    return PlacedFile(std::move(path), place, existing);
}

expected<void> PlacedFile::place() {
    if (!sync_path(path_, O_RDONLY)) {
        return cannot("sync " + path_, errno);
    }
    if (!rename_to(path_, target_, existing_)) {
        if (errno == EEXIST) {
            return std::unexpected(exists_already(target_));
        }
        return cannot("rename " + path_ + " to " + target_, errno);
    }
    path_.clear();
    return sync_folder_of(target_);
}

Error not_ordinary(const std::string& path) {
    return {ErrorCode::store_open_failed, path + " is not an ordinary file; name another one", {}};
}

Error in_the_way(const std::string& what, const std::string& sentence) {
    return {ErrorCode::store_open_failed, sentence, {{std::string(in_the_way_field), what}}};
}

bool is_in_the_way(const Error& error) { return !error.field(in_the_way_field).empty(); }

std::string_view remedy_of(int fault) {
    return fault == ENOSPC || fault == EDQUOT ? "make room on its disk"
                                              : "check the rights of the file and its folder";
}

expected<void> sync_folder_of(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    if (!sync_path(folder, O_RDONLY | O_DIRECTORY)) {
        return ff::fail(ErrorCode::store_open_failed,
                        "cannot sync the folder " + folder + ": " + std::strerror(errno));
    }
    return {};
}

}  // namespace ff::store
