// Where output goes: is somebody looking, how wide is the window, may there be colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ff::cli {

enum class Style : std::uint8_t { plain, bold, dim, green, yellow, red, cyan };

struct Terminal {
    bool interactive = false;  ///< a person looks at it
    bool colour = false;       ///< interactive, and NO_COLOR is not set
    std::size_t columns = 0;   ///< 0: no limit
    std::size_t rows = 0;      ///< 0: no limit

    /// What standard output (or standard error) is connected to. Cheap; the window may be resized.
    static Terminal output();
    static Terminal errors();

    /// The text in a style, or as it is without colours.
    [[nodiscard]] std::string paint(std::string_view text, Style style) const;
};

/// Call before anything is opened or printed. From then on a reader who went away is a fault of a
/// write and not the end of the program, and no file gets the number of a closed standard stream.
void prepare_output();
/// Writes to standard output and flushes. After a fault nothing more is written.
void print_out(std::string_view text);
/// The `errno` of the first write that failed; 0 while all is well. EPIPE: the reader went away.
int output_fault();

/// One line of progress on standard error that replaces itself; nothing unless a person looks at
/// it. The line is gone when the object is.
class ProgressLine {
  public:
    ProgressLine() = default;
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::string_view text);
    void clear();

  private:
    Terminal terminal_ = Terminal::errors();
    bool shown_ = false;
};

}  // namespace ff::cli
