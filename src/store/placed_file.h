// A file that appears whole or not at all: written under another name beside its place, synced,
// then renamed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ff/error.h>

namespace ff::store {

/// What to do with a file that is there already.
enum class Existing : std::uint8_t { keep, replace };

class PlacedFile {
  public:
    /// Makes the empty file path(), readable by its owner only. Errors: see is_in_the_way() for a
    /// target that is there and is to be kept; `store_open_failed` for anything else.
    static expected<PlacedFile> make(const std::string& target, Existing existing);
    PlacedFile(PlacedFile&& other) noexcept;
    PlacedFile& operator=(PlacedFile&&) = delete;
    /// Removes the file unless it was placed.
    ~PlacedFile();

    /// Where to write.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Where it will be: the one name of the target.
    [[nodiscard]] const std::string& target() const { return target_; }
    /// Makes it durable and gives it its name. The caller has closed it.
    expected<void> place();

  private:
    PlacedFile(std::string path, std::string target, Existing existing);

    std::string path_;  // empty: placed
    std::string target_;
    Existing existing_;
};

/// The error of something that exists where something new should be made, and whether an error is
/// that one.
Error in_the_way(const std::string& what, const std::string& sentence);
/// A folder, a pipe or a device where a file is wanted.
Error not_ordinary(const std::string& path);
bool is_in_the_way(const Error& error);
/// What to do about a file that the system does not let us open or write; `fault` is an errno.
std::string_view remedy_of(int fault);

/// The field of an error that says what is not there: see is_missing_file().
inline constexpr std::string_view missing_field = "missing_file";

/// Makes the names of new files in the folder of `path` survive a power cut.
expected<void> sync_folder_of(const std::string& path);

}  // namespace ff::store
