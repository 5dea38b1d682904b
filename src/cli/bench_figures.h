// Figures of a benchmark run and how they are told: a table for people, a JSON object a line for
// programs. Progress goes to standard error.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench.h"
#include "cli/terminal.h"

namespace ff::cli {

using SteadyClock = std::chrono::steady_clock;

struct Figure {
    std::string name;
    std::string store;
    double value = 0;
    std::string unit;
    std::optional<double> ceiling;  ///< what it is compared with, in the same unit
    std::optional<double> ratio;    ///< value / ceiling
    std::string durability;

    /// Sets ceiling and ratio.
    Figure& against(double what);
};

class Figures {
  public:
    explicit Figures(Output output) : output_(output) {}

    /// `internal` when a value is not a positive number: a measurement that failed is an error.
    expected<void> add(Figure figure);
    /// Says what is being measured.
    void progress(std::string_view what);
    /// The table of what was added since the last time; nothing for programs, they have it already.
    void print_table(std::string_view title);

  private:
    Output output_;
    std::vector<Figure> figures_;
    ProgressLine line_;
};

/// A value at a share (0..1) of the sorted list; `values` must not be empty.
double quantile(std::vector<double> values, double share);

double seconds_since(SteadyClock::time_point begun);
double ms_since(SteadyClock::time_point begun);

}  // namespace ff::cli
