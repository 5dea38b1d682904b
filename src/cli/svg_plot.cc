#include "cli/svg_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr double plot_width = 640;
constexpr double plot_height = 400;
constexpr double plot_left = 64;
constexpr double plot_right = 150;  // room for the names of the lines
constexpr double plot_top = 40;
constexpr double plot_bottom = 52;
constexpr std::array colours{"#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"};

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            default: out += c;
        }
    }
    return out;
}

/// A round number at or above `value`: 1, 2 or 5 times a power of ten.
double round_up(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0}) {
        if (step * power >= value) {
            return step * power;
        }
    }
    return 10 * power;
}

struct Scale {
    double x_low = 1;
    double x_high = 10;
    double y_high = 1;

    [[nodiscard]] double x(double value) const {
        const double part =
            (std::log10(value) - std::log10(x_low)) / (std::log10(x_high) - std::log10(x_low));
        return plot_left + part * (plot_width - plot_left - plot_right);
    }
    [[nodiscard]] double y(double value) const {
        return plot_height - plot_bottom - value / y_high * (plot_height - plot_top - plot_bottom);
    }
};

Scale scale_of(const std::vector<PlotLine>& lines) {
    Scale scale;
    double x_low = 0;
    double x_high = 0;
    double y_high = 0;
    for (const PlotLine& line : lines) {
        for (const auto& [x, y] : line.points) {
            x_low = x_low == 0 ? x : std::min(x_low, x);
            x_high = std::max(x_high, x);
            y_high = std::max(y_high, y);
        }
    }
    if (x_low > 0) {
        scale.x_low = x_low;
        scale.x_high = x_high > x_low ? x_high : x_low * 10;
    }
    if (y_high > 0) {
        scale.y_high = round_up(y_high);
    }
    return scale;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                       anchor, more, escaped(text));
}

std::string axes(const Scale& scale, const Plot& plot) {
    std::string out;
    constexpr int y_steps = 5;
    for (int i = 0; i <= y_steps; ++i) {
        const double value = scale.y_high * i / y_steps;
        out += fmt::format(
            "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e5e7eb\"/>\n",
            plot_left, plot_width - plot_right, scale.y(value), scale.y(value));
        out += text_at(plot_left - 8, scale.y(value) + 4, "end", fmt::format("{:g}", value));
    }
    const int first = static_cast<int>(std::ceil(std::log10(scale.x_low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(scale.x_high * 1.001)));
    for (int power = first; power <= last; ++power) {
        const double x = std::pow(10, power);
        out += text_at(scale.x(x), plot_height - plot_bottom + 18, "middle",
                       with_commas(static_cast<std::uint64_t>(std::llround(x))));
    }
    out += text_at((plot_left + plot_width - plot_right) / 2, plot_height - 12, "middle",
                   plot.x_label);
    out += text_at(16, (plot_top + plot_height - plot_bottom) / 2, "middle", plot.y_label,
                   fmt::format(" transform=\"rotate(-90 16 {:.1f})\"",
                               (plot_top + plot_height - plot_bottom) / 2));
    return out;
}

std::string line_of(const PlotLine& line, const Scale& scale, const char* colour, double& label_y) {
    if (line.points.empty()) {
        return "";
    }
    std::string points;
    std::string dots;
    for (const auto& [x, y] : line.points) {
        points += fmt::format("{:.1f},{:.1f} ", scale.x(x), scale.y(y));
        if (!line.dashed) {
            dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                                scale.x(x), scale.y(y), colour);
        }
    }
    points.pop_back();
    std::string out = fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n", points,
        colour, line.dashed ? " stroke-dasharray=\"3 4\"" : "");
    // Names stand beside their ends, one below the other where these are close.
    label_y = std::max(label_y + 15, scale.y(line.points.back().second) + 4);
    out += dots + text_at(scale.x(line.points.back().first) + 10, label_y, "start", line.name,
                          fmt::format(" fill=\"{}\"", colour));
    return out;
}

}  // namespace

std::string Plot::svg() const {
    const Scale scale = scale_of(lines);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#374151\">\n"
        "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"white\"/>\n",
        plot_width, plot_height);
    out += text_at(plot_left, 22, "start", title, " font-size=\"15\" font-weight=\"bold\"");
    out += axes(scale, *this);
    // From the highest end down, so that names that are pushed down stay in order.
    std::vector<std::size_t> order(lines.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) {
        return lines[i].points.empty() ? 0.0 : lines[i].points.back().second;
    });
    double label_y = 0;
    for (const std::size_t i : order) {
        out += line_of(lines[i], scale, colours[i % colours.size()], label_y);
    }
    return out + "</svg>\n";
}

}  // namespace ff::cli
