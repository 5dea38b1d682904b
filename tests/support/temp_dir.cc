#include "support/temp_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace ff::support {

TempDir::TempDir() {
    path_ = (std::filesystem::temp_directory_path() / "ff_test_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
        ADD_FAILURE() << "cannot make a temporary folder " << path_;
    }
    path_ = std::filesystem::canonical(path_).string();
}

TempDir::~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace ff::support
