// The demo's progress: a dashboard that redraws itself for people, lines for logs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cli/demo_board.h"
#include "cli/terminal.h"

namespace ff::cli {

class DemoScreen {
  public:
    DemoScreen(const DemoBoard& board, std::string title);
    /// Leaves the last picture standing.
    ~DemoScreen();
    DemoScreen(const DemoScreen&) = delete;
    DemoScreen& operator=(const DemoScreen&) = delete;

    /// Call about ten times a second.
    void update();

  private:
    void draw();
    void print_lines();
    void measure_rate();

    const DemoBoard& board_;
    const std::string title_;
    const bool interactive_ = Terminal::output().interactive;
    std::size_t lines_drawn_ = 0;
    std::size_t events_printed_ = 0;
    double printed_at_ = 0;
    double rate_ = 0;  ///< jobs a second of late
    double rate_at_ = 0;
    std::int64_t rate_done_ = 0;
};

/// What a person sees, each line narrower than the terminal. `rate` is in jobs a second.
std::string demo_picture(const DemoBoard& board, std::string_view title, double rate,
                         const Terminal& terminal);

/// `█████░░░░░` of a width in columns.
std::string progress_bar(double part, std::size_t columns);

}  // namespace ff::cli
