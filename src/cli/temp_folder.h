// A folder of our own for files that nobody needs afterwards.
#pragma once

#include <string>

#include <ff/error.h>

namespace ff::cli {

class TempFolder {
  public:
    /// `<parent>/<prefix>XXXXXX`; the system's temporary folder when `parent` is empty.
    static expected<TempFolder> make(const std::string& prefix, const std::string& parent = "");
    TempFolder() = default;
    TempFolder(TempFolder&& other) noexcept;
    TempFolder& operator=(TempFolder&& other) noexcept;
    /// Removes it with everything in it, unless it was kept.
    ~TempFolder();

    [[nodiscard]] const std::string& path() const { return path_; }
    void keep() { kept_ = true; }

  private:
    std::string path_;  // empty: there is none
    bool kept_ = false;
};

}  // namespace ff::cli
