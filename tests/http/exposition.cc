#include "http/exposition.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include <ff/ids.h>

namespace ff::http {

namespace {

bool is_name(std::string_view text) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
        return false;
    }
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') {
            return false;
        }
    }
    return true;
}

bool is_number(std::string_view text) {
    if (text == "+Inf" || text == "-Inf" || text == "NaN") {
        return true;
    }
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    return fault == std::errc() && end == text.data() + text.size();
}

/// Reads one text, line by line; notes what is wrong and goes on.
class Parser {
  public:
    ParsedExposition parse(std::string_view text) {
        if (!is_valid_utf8(text)) {
            fault("not UTF-8");
        }
        if (!text.empty() && !text.ends_with('\n')) {
            fault("the last line does not end");
        }
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            line_ = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            take_line();
        }
        for (const auto& [name, family] : out_.families) {
            if (family.type == "histogram") {
                check_histogram(name, family);
            }
        }
        return std::move(out_);
    }

  private:
    void fault(const std::string& what) { out_.faults.push_back(what + ": " + std::string(line_)); }

    void take_line() {
        if (line_.starts_with("# HELP ")) {
            take_header(line_.substr(7), &MetricFamily::help);
        } else if (line_.starts_with("# TYPE ")) {
            take_header(line_.substr(7), &MetricFamily::type);
        } else {
            take_sample(line_);
        }
    }

    void take_header(std::string_view rest, std::string MetricFamily::* member) {
        const std::size_t space = rest.find(' ');
        const std::string name(rest.substr(0, space));
        if (space == std::string_view::npos || !is_name(name)) {
            return fault("header without name and text");
        }
        const bool first = member == &MetricFamily::help;
        const auto known = out_.families.find(name);
        const bool expected = first ? known == out_.families.end()
                                    : known != out_.families.end() && known->second.type.empty();
        if (!expected) {
            return fault("HELP, then TYPE, once for each family, before its samples");
        }
        current_ = name;
        out_.families[name].*member = rest.substr(space + 1);
        static const std::set<std::string> types{"counter", "gauge", "histogram"};
        if (!first && !types.contains(out_.families[name].type)) {
            fault("unknown type");
        }
    }

    void take_sample(std::string_view rest) {
        Sample sample;
        const std::size_t name_end = rest.find_first_of("{ ");
        sample.name = rest.substr(0, name_end);
        if (name_end == std::string_view::npos || !is_name(sample.name)) {
            return fault("no name");
        }
        rest.remove_prefix(name_end);
        if (rest.starts_with('{') && !take_labels(rest, sample)) {
            return;
        }
        if (!rest.starts_with(' ') || !is_number(rest.substr(1))) {
            return fault("one space and a number must follow");
        }
        sample.value = rest.substr(1);
        auto family = out_.families.find(current_);
        if (family == out_.families.end() || family->second.type.empty() ||
            !belongs(sample, family->second)) {
            return fault("a sample outside its family");
        }
        if (!seen_.insert({sample.name, sample.labels}).second) {
            return fault("the same sample twice");
        }
        family->second.samples.push_back(std::move(sample));
    }

    bool belongs(const Sample& sample, const MetricFamily& family) const {
        if (family.type != "histogram") {
            return sample.name == current_;
        }
        const bool bucket = sample.name == current_ + "_bucket";
        return bucket == sample.labels.contains("le") &&
               (bucket || sample.name == current_ + "_sum" || sample.name == current_ + "_count");
    }

    bool take_labels(std::string_view& rest, Sample& sample) {
        rest.remove_prefix(1);
        for (;;) {
            const std::size_t equals = rest.find('=');
            const std::string name(rest.substr(0, equals));
            if (equals == std::string_view::npos || !is_name(name) ||
                !rest.substr(equals + 1).starts_with('"')) {
                fault("label without name or quote");
                return false;
            }
            rest.remove_prefix(equals + 2);
            auto value = take_quoted(rest);
            if (!value || !sample.labels.emplace(name, *value).second) {
                fault("bad or double label");
                return false;
            }
            const bool more = rest.starts_with(',');
            if (!more && !rest.starts_with('}')) {
                fault("neither , nor } after a label");
                return false;
            }
            rest.remove_prefix(1);
            if (!more) {
                return true;
            }
        }
    }

    /// The text up to the closing quote, which it takes too.
    static std::optional<std::string> take_quoted(std::string_view& rest) {
        std::string out;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            if (rest[i] == '"') {
                rest.remove_prefix(i + 1);
                return out;
            }
            if (rest[i] != '\\') {
                out.push_back(rest[i]);
                continue;
            }
            const char next = i + 1 < rest.size() ? rest[++i] : ' ';
            if (next != '\\' && next != '"' && next != 'n') {
                return std::nullopt;
            }
            out.push_back(next == 'n' ? '\n' : next);
        }
        return std::nullopt;
    }

    /// Buckets rise in bound and count, the last is +Inf and equals the count.
    void check_histogram(const std::string& name, const MetricFamily& family) {
        std::map<std::map<std::string, std::string>, std::vector<std::pair<double, double>>> sets;
        for (const Sample& sample : family.samples) {
            if (sample.name == name + "_bucket") {
                auto labels = sample.labels;
                labels.erase("le");
                sets[labels].emplace_back(std::stod(sample.labels.at("le")), sample.number());
            }
        }
        for (const auto& [labels, buckets] : sets) {
            for (std::size_t i = 1; i < buckets.size(); ++i) {
                if (buckets[i].first <= buckets[i - 1].first ||
                    buckets[i].second < buckets[i - 1].second) {
                    fault("buckets of " + name + " do not rise");
                }
            }
            const auto count = out_.value(name + "_count", labels);
            if (std::isfinite(buckets.back().first) || count != buckets.back().second ||
                !out_.value(name + "_sum", labels)) {
                fault("histogram " + name + " is not whole");
            }
        }
    }

    ParsedExposition out_;
    std::string_view line_;
    std::string current_;
    std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
};

}  // namespace

std::optional<double> ParsedExposition::value(
    std::string_view name, const std::map<std::string, std::string>& labels) const {
    for (const auto& [family_name, family] : families) {
        for (const Sample& sample : family.samples) {
            if (sample.name == name && sample.labels == labels) {
                return sample.number();
            }
        }
    }
    return std::nullopt;
}

ParsedExposition parse_exposition(std::string_view text) { return Parser().parse(text); }

}  // namespace ff::http
