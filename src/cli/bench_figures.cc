#include "cli/bench_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <ff/json.h>
#include "base/check.h"
#include "cli/table.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

/// Five significant digits: more would be noise.
js::Value as_number(double value) {
    const int magnitude = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(value)));
    const double step = std::pow(10, magnitude - 4);
    std::string text =
        fmt::format("{:.{}f}", std::round(value / step) * step, std::max(0, 4 - magnitude));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return js::Value(js::Number{std::move(text)});
}

js::Value as_number(const std::optional<double>& value) {
    return value ? as_number(*value) : js::Value();
}

js::Value figure_json(const Figure& figure) {
    return js::Object{{"name", figure.name},
                      {"store", figure.store},
                      {"value", as_number(figure.value)},
                      {"unit", figure.unit},
                      {"ceiling", as_number(figure.ceiling)},
                      {"ratio", as_number(figure.ratio)},
                      {"durability", figure.durability}};
}

}  // namespace

Figure& Figure::against(double what) {
    ceiling = what;
    ratio = value / what;
    return *this;
}

expected<void> Figures::add(Figure figure) {
    const auto sound = [](double value) { return std::isfinite(value) && value > 0; };
    if (!sound(figure.value) || !sound(figure.ceiling.value_or(1))) {
        return ff::fail(ErrorCode::internal, fmt::format("{} could not be measured", figure.name));
    }
    if (for_programs(output_)) {
        line_.clear();
        print_out(js::dump(figure_json(figure)) + "\n");
    }
    if (output_fault() != 0) {
        return ff::fail(ErrorCode::internal, "nobody takes the figures");
    }
    figures_.push_back(std::move(figure));
    return {};
}

void Figures::progress(std::string_view what) {
    if (Terminal::errors().interactive) {
        line_.show(fmt::format("measuring {} …", what));
    } else {
        fmt::print(stderr, "measuring {}\n", what);
        std::fflush(stderr);
    }
}

void Figures::print_table(std::string_view title) {
    line_.clear();
    const auto figures = std::exchange(figures_, {});
    if (for_programs(output_) || figures.empty()) {
        return;
    }
    const Terminal terminal = Terminal::output();
    Table table({{std::string(title)},
                 {"value", Align::right},
                 {"unit"},
                 {"ceiling", Align::right},
                 {"ratio", Align::right},
                 {"store"},
                 {"durability"}});
    for (const Figure& f : figures) {
        table.add({f.name,
                   {rounded(f.value), Style::bold},
                   f.unit,
                   f.ceiling ? rounded(*f.ceiling) : "",
                   f.ratio ? fmt::format("{:.2f}", *f.ratio) : "",
                   f.store,
                   f.durability});
    }
    print_out(table.render(terminal) + "\n");
}

double quantile(std::vector<double> values, double share) {
    FF_CHECK(!values.empty(), "a quantile of nothing");
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(std::lround(at))];
}

double seconds_since(SteadyClock::time_point begun) {
    return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

double ms_since(SteadyClock::time_point begun) { return 1'000 * seconds_since(begun); }

}  // namespace ff::cli
