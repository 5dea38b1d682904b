// A plain line plot as SVG: logarithmic x, linear y from zero.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ff::cli {

struct PlotLine {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< x above zero, ascending
    bool dashed = false;
};

struct Plot {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::vector<PlotLine> lines;

    [[nodiscard]] std::string svg() const;
};

}  // namespace ff::cli
