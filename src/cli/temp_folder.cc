#include "cli/temp_folder.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace ff::cli {

namespace fs = std::filesystem;

expected<TempFolder> TempFolder::make(const std::string& prefix, const std::string& parent) {
    std::error_code failed;
    const fs::path root = parent.empty() ? fs::temp_directory_path(failed) : fs::path(parent);
    std::string pattern = (root / (prefix + "XXXXXX")).string();
    if (failed || mkdtemp(pattern.data()) == nullptr) {
        return ff::fail(ErrorCode::store_open_failed,
                        fmt::format("cannot make a folder in {}: {}", root.string(),
                                    failed ? failed.message() : std::strerror(errno)));
    }
    TempFolder folder;
    folder.path_ = std::move(pattern);
    return folder;
}

TempFolder::TempFolder(TempFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(kept_, other.kept_);
    return *this;
}

TempFolder::~TempFolder() {
    if (!path_.empty() && !kept_) {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
}

}  // namespace ff::cli
