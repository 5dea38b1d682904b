// A strict reader of the text format 0.0.4 of Prometheus, for tests. Refuses what others forgive.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ff::http {

struct Sample {
    std::string name;
    std::map<std::string, std::string> labels;
    std::string value;  ///< as it was written
    [[nodiscard]] double number() const { return std::stod(value); }
};

struct MetricFamily {
    std::string type;
    std::string help;
    std::vector<Sample> samples;
};

struct ParsedExposition {
    std::map<std::string, MetricFamily> families;
    std::vector<std::string> faults;  ///< empty: the text is right in every respect

    /// The one sample of this name and these labels.
    [[nodiscard]] std::optional<double> value(
        std::string_view name, const std::map<std::string, std::string>& labels = {}) const;
};

ParsedExposition parse_exposition(std::string_view text);

}  // namespace ff::http
