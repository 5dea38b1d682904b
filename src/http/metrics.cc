#include "http/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace ff::http {

namespace {

std::string_view type_word(MetricType type) {
    switch (type) {
        case MetricType::counter: return "counter";
        case MetricType::gauge: return "gauge";
        case MetricType::histogram: return "histogram";
    }
    return "untyped";
}

enum class Place : std::uint8_t { help, label };

/// The three escapes of the format; a byte that is not UTF-8, which it cannot say, becomes U+FFFD.
void append_escaped(std::string& out, std::string_view text, Place place) {
    std::size_t at = 0;
    while (at < text.size()) {
        const CodePoint c = decode_utf8(text, at);
        at += std::max<std::size_t>(c.bytes, 1);
        if (c.bytes == 0) {
            append_utf8(out, 0xFFFD);
        } else if (c.value == '\\') {
            out += "\\\\";
        } else if (c.value == '\n') {
            out += "\\n";
        } else if (c.value == '"' && place == Place::label) {
            out += "\\\"";
        } else {
            append_utf8(out, c.value);
        }
    }
}

template <class N>
std::string number_text(N value) {
    std::array<char, 32> text{};
    const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

std::string real_text(double value) {
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value > 0 ? "+Inf" : "-Inf";
    }
    return number_text(value);
}

std::string seconds_text(std::uint64_t us) { return real_text(static_cast<double>(us) / 1e6); }

bool is_name(std::string_view text) {
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !text.empty() && letter(text[0]) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

// ---------------------------------------------------------------------------------- exposition

void Exposition::family(std::string_view name, MetricType type, std::string_view help) {
    FF_CHECK(is_name(name), "not the name of a metric");
    FF_CHECK(names_.emplace(name).second, "a family is written once");
    name_ = name;
    text_ += "# HELP " + name_ + " ";
    append_escaped(text_, help, Place::help);
    text_ += "\n# TYPE " + name_ + " " + std::string(type_word(type)) + "\n";
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view bound,
                      std::string_view value) {
    text_ += name_;
    text_ += suffix;
    std::string_view before = "{";
    const auto add = [&](std::string_view name, std::string_view label) {
        text_ += before;
        text_ += name;
        text_ += "=\"";
        append_escaped(text_, label, Place::label);
        text_ += '"';
        before = ",";
    };
    for (const auto& [name, label] : labels) {
        add(name, label);
    }
    if (!bound.empty()) {
        add("le", bound);
    }
    text_ += before == "{" ? " " : "} ";
    text_ += value;
    text_ += '\n';
}

void Exposition::sample(const Labels& labels, std::uint64_t value) {
    line("", labels, "", number_text(value));
}

void Exposition::sample(const Labels& labels, std::int64_t value) {
    line("", labels, "", number_text(value));
}

void Exposition::sample(const Labels& labels, double value) {
    line("", labels, "", real_text(value));
}

void Exposition::sample(const Labels& labels, const DurationHistogram& value) {
    std::uint64_t up_to = 0;
    for (std::size_t i = 0; i < value.counts.size(); ++i) {
        up_to += value.counts[i];
        const bool last = i == DurationHistogram::bounds_us.size();
        line("_bucket", labels, last ? "+Inf" : seconds_text(DurationHistogram::bounds_us[i]),
             number_text(up_to));
    }
    line("_sum", labels, "", seconds_text(value.sum_us));
    line("_count", labels, "", number_text(up_to));
}

// ------------------------------------------------------------------------------------- folding

std::string_view DistinctValues::fold(const Label& label, std::string_view value) {
    if (label.distinct_max == 0) {
        return value;
    }
    const std::lock_guard lock(mutex_);
    auto it = seen_.find(label.name);
    if (it == seen_.end()) {
        it = seen_.emplace(std::string(label.name), std::set<std::string, std::less<>>()).first;
    }
    if (it->second.contains(value)) {
        return value;
    }
    if (it->second.size() >= label.distinct_max) {
        return other_value;
    }
    it->second.emplace(value);
    return value;
}

FamilyBase::FamilyBase(std::string_view name, MetricType type, std::string_view help,
                       std::vector<Label> labels, DistinctValues& distinct)
    : name_(name), type_(type), help_(help), labels_(std::move(labels)), distinct_(distinct) {
    FF_CHECK(is_name(name), "not the name of a metric");
    for (const Label& label : labels_) {
        FF_CHECK(is_name(label.name) && label.name != "le", "not the name of a label");
    }
}

FamilyBase::Values FamilyBase::fold(const Values& values) const {
    Values out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.emplace_back(distinct_.fold(labels_[i], values[i]));
    }
    return out;
}

Exposition::Labels FamilyBase::labels_of(const Values& values) const {
    Exposition::Labels out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.emplace_back(labels_[i].name, values[i]);
    }
    return out;
}

// ------------------------------------------------------------------------------------ registry

template <class Cell>
Family<Cell>& MetricRegistry::make(std::string_view name, MetricType type, std::string_view help,
                                   std::vector<Label> labels) {
    auto family = std::make_unique<Family<Cell>>(name, type, help, std::move(labels), distinct_);
    Family<Cell>& made = *family;
    const std::lock_guard lock(mutex_);
    families_.push_back(std::move(family));
    return made;
}

Family<Counter>& MetricRegistry::counters(std::string_view name, std::string_view help,
                                          std::vector<Label> labels) {
    return make<Counter>(name, MetricType::counter, help, std::move(labels));
}

Family<Gauge>& MetricRegistry::gauges(std::string_view name, std::string_view help,
                                      std::vector<Label> labels) {
    return make<Gauge>(name, MetricType::gauge, help, std::move(labels));
}

Family<AtomicHistogram>& MetricRegistry::histograms(std::string_view name, std::string_view help,
                                                    std::vector<Label> labels) {
    return make<AtomicHistogram>(name, MetricType::histogram, help, std::move(labels));
}

void MetricRegistry::add_source(Source source) {
    const std::lock_guard lock(mutex_);
    sources_.push_back(std::move(source));
}

std::string MetricRegistry::scrape() const {
    Exposition out;
    const std::lock_guard lock(mutex_);
    for (const auto& family : families_) {
        family->write(out);
    }
    for (const Source& source : sources_) {
        source(out);
    }
    return out.take();
}

}  // namespace ff::http
